/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names that a test knows, and nobody else: in place of the resolver of this process, from the first use on.
 *
 * A name has one answer after another: each look-up of it moves on, and the last answer stays.
 */
#pragma once

#include <gio/gio.h>

#define TEST_TYPE_RESOLVER (test_resolver_get_type ())
G_DECLARE_FINAL_TYPE (TestResolver, test_resolver, TEST, RESOLVER, GResolver)

struct _TestResolver
{
  GResolver parent_instance;

  GMutex      lock;
  GHashTable *names; /* GPtrArray of strv: the addresses of each answer */
};

G_DEFINE_TYPE (TestResolver, test_resolver, G_TYPE_RESOLVER)

static void
test_resolver_free_addresses (gpointer addresses)
{
  g_list_free_full (addresses, g_object_unref);
}

/* An answer is asked for once for each family, and moves on when that of IPv6 has been told, which is the second. */
static GList *
test_resolver_find (TestResolver            *self,
                    const char              *name,
                    GResolverNameLookupFlags flags,
                    GError                 **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);
  GPtrArray         *answers = g_hash_table_lookup (self->names, name);
  const char *const *answer = answers != NULL ? g_ptr_array_index (answers, 0) : NULL;
  GList             *addresses = NULL;

  for (guint i = 0; answer != NULL && answer[i] != NULL; i++)
    {
      g_autoptr (GInetAddress) address = g_inet_address_new_from_string (answer[i]);
      gboolean is_ipv6 = g_inet_address_get_family (address) == G_SOCKET_FAMILY_IPV6;

      if ((flags & (is_ipv6 ? G_RESOLVER_NAME_LOOKUP_FLAGS_IPV4_ONLY : G_RESOLVER_NAME_LOOKUP_FLAGS_IPV6_ONLY)) == 0)
        addresses = g_list_append (addresses, g_steal_pointer (&address));
    }
  if (answers != NULL && answers->len > 1 && flags != G_RESOLVER_NAME_LOOKUP_FLAGS_IPV4_ONLY)
    g_ptr_array_remove_index (answers, 0);
  if (addresses == NULL)
    g_set_error (error, G_RESOLVER_ERROR, G_RESOLVER_ERROR_NOT_FOUND, "No address of “%s” here", name);

  return addresses;
}

static GList *
test_resolver_lookup_by_name_with_flags (GResolver               *resolver,
                                         const char              *name,
                                         GResolverNameLookupFlags flags,
                                         GCancellable            *cancellable,
                                         GError                 **error)
{
  return test_resolver_find (TEST_RESOLVER (resolver), name, flags, error);
}

static void
test_resolver_lookup_by_name_with_flags_async (GResolver               *resolver,
                                               const char              *name,
                                               GResolverNameLookupFlags flags,
                                               GCancellable            *cancellable,
                                               GAsyncReadyCallback      callback,
                                               gpointer                 user_data)
{
  g_autoptr (GTask) task = g_task_new (resolver, cancellable, callback, user_data);
  g_autoptr (GError) error = NULL;
  GList *addresses = test_resolver_find (TEST_RESOLVER (resolver), name, flags, &error);

  g_task_set_source_tag (task, test_resolver_lookup_by_name_with_flags_async);
  if (addresses != NULL)
    g_task_return_pointer (task, addresses, test_resolver_free_addresses);
  else
    g_task_return_error (task, g_steal_pointer (&error));
}

static GList *
test_resolver_lookup_by_name_with_flags_finish (GResolver    *resolver,
                                                GAsyncResult *result,
                                                GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static GList *
test_resolver_lookup_by_name (GResolver    *resolver,
                              const char   *name,
                              GCancellable *cancellable,
                              GError      **error)
{
  return test_resolver_find (TEST_RESOLVER (resolver), name, G_RESOLVER_NAME_LOOKUP_FLAGS_DEFAULT, error);
}

static void
test_resolver_lookup_by_name_async (GResolver          *resolver,
                                    const char         *name,
                                    GCancellable       *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer            user_data)
{
  test_resolver_lookup_by_name_with_flags_async (resolver, name, G_RESOLVER_NAME_LOOKUP_FLAGS_DEFAULT, cancellable, callback, user_data);
}

static void
test_resolver_class_init (TestResolverClass *klass)
{
  GResolverClass *resolver_class = G_RESOLVER_CLASS (klass);

  resolver_class->lookup_by_name = test_resolver_lookup_by_name;
  resolver_class->lookup_by_name_async = test_resolver_lookup_by_name_async;
  resolver_class->lookup_by_name_finish = test_resolver_lookup_by_name_with_flags_finish;
  resolver_class->lookup_by_name_with_flags = test_resolver_lookup_by_name_with_flags;
  resolver_class->lookup_by_name_with_flags_async = test_resolver_lookup_by_name_with_flags_async;
  resolver_class->lookup_by_name_with_flags_finish = test_resolver_lookup_by_name_with_flags_finish;
}

static void
test_resolver_init (TestResolver *self)
{
  g_mutex_init (&self->lock);
  self->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_ptr_array_unref);
}

/* The addresses of @name from now on: those of one answer with commas between them, and the answers with semicolons. */
static inline void
test_resolver_set (const char *name,
                   const char *addresses)
{
  static TestResolver *resolver = NULL;
  g_auto (GStrv) answers = g_strsplit (addresses, ";", -1);
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);

  if (resolver == NULL)
    {
      resolver = g_object_new (TEST_TYPE_RESOLVER, NULL);
      g_resolver_set_default (G_RESOLVER (resolver));
    }
  for (guint i = 0; answers[i] != NULL; i++)
    g_ptr_array_add (list, g_strsplit (answers[i], ",", -1));
  g_mutex_lock (&resolver->lock);
  g_hash_table_insert (resolver->names, g_strdup (name), list);
  g_mutex_unlock (&resolver->lock);
}
