/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-store-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-json-private.h"
#include "sandbox-keys-private.h"
#include "sandbox-template-private.h"

/* The list of a template begins with its name, which takes no more, however it is escaped. */
#define MAX_HEAD_BYTES 4096
#define ENTRIES ",\"entries\":["

gboolean
sandbox_store_is_damage (const GError *error)
{
  static const SandboxError damage[] = {
    SANDBOX_ERROR_CORRUPT,
    SANDBOX_ERROR_NOT_FOUND,
    SANDBOX_ERROR_PATH,
    SANDBOX_ERROR_INVALID,
    SANDBOX_ERROR_LIMIT,
    SANDBOX_ERROR_DENIED,
  };

  for (guint i = 0; i < G_N_ELEMENTS (damage); i++)
    {
      if (g_error_matches (error, SANDBOX_ERROR, (int) damage[i]))
        return TRUE;
    }

  return FALSE;
}

GPtrArray *
sandbox_store_list (SandboxStore         *self,
                    int                   directory,
                    SandboxStoreListFunc  func,
                    GCompareFunc          compare,
                    SandboxContainedCheck check,
                    gpointer              data,
                    GError              **error)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (g_object_unref);
  g_auto (SandboxFd) fd = openat (directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR                 *entries = fd >= 0 ? fdopendir (fd) : NULL;
  const struct dirent *entry = NULL;
  int                  errsv = entries != NULL ? 0 : errno;

  if (entries != NULL)
    g_steal_fd (&fd);
  while (errsv == 0)
    {
      g_autoptr (GError) problem = NULL;

      errsv = check != NULL ? check (data) : 0;
      if (errsv != 0)
        break;
      errno = 0;
      entry = readdir (entries);
      errsv = errno;
      if (entry == NULL)
        break;
      if (!sandbox_key_is_valid (entry->d_name) || func (self, entry->d_name, list, &problem))
        continue;
      if (!sandbox_store_is_damage (problem))
        {
          g_propagate_error (error, g_steal_pointer (&problem));
          closedir (entries);
          return NULL;
        }
      g_debug ("%s is left out: %s", entry->d_name, problem->message);
    }
  g_clear_pointer (&entries, closedir);

  if (errsv == ECANCELED)
    g_propagate_error (error, sandbox_error_new_cancelled ());
  else if (errsv == ETIMEDOUT)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "Listing what is stored takes too long");
  else if (errsv != 0)
    sandbox_set_error_from_errno (error, errsv, "Cannot list what is stored in “%s”", sandbox_store_get_path (self));
  if (errsv != 0)
    return NULL;
  g_ptr_array_sort (list, compare);

  return g_steal_pointer (&list);
}

static int
sandbox_store_compare_templates (gconstpointer a,
                                 gconstpointer b)
{
  return strcmp (sandbox_template_get_key (*(SandboxTemplate *const *) a), sandbox_template_get_key (*(SandboxTemplate *const *) b));
}

static gboolean
sandbox_store_list_template_cb (SandboxStore *self,
                                const char   *key,
                                GPtrArray    *list,
                                GError      **error)
{
  g_autofree char *path = g_build_filename (key, SANDBOX_STORE_TEMPLATE_FILE, NULL);
  g_autoptr (GBytes) bytes = sandbox_contained_read (sandbox_store_get_templates (self), path, 0, MAX_HEAD_BYTES, error);
  g_autofree char *text = NULL;
  g_autoptr (JsonNode) root = NULL;
  char       *end = NULL;
  const char *name = NULL;

  if (bytes == NULL)
    return FALSE;

  /* A quotation mark in the name is escaped. */
  text = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  end = text != NULL ? strstr (text, ENTRIES) : NULL;
  if (end != NULL)
    {
      strcpy (end, "}");
      root = sandbox_json_parse_object (text, MAX_HEAD_BYTES, "list", error);
      if (root == NULL)
        return FALSE;
      name = json_object_get_string_member_with_default (json_node_get_object (root), "name", NULL);
    }
  if (name == NULL)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT, "It has no list, or a damaged one");
      return FALSE;
    }
  g_ptr_array_add (list, sandbox_template_new (key, name, TRUE));

  return TRUE;
}

GPtrArray *
sandbox_store_list_templates (SandboxStore         *self,
                              SandboxContainedCheck check,
                              gpointer              data,
                              GError              **error)
{
  return sandbox_store_list (self, sandbox_store_get_templates (self), sandbox_store_list_template_cb, sandbox_store_compare_templates,
                             check, data, error);
}
