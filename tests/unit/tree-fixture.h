/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A session over a workspace and nothing else, for the calls of its files. Every test runs in several forms: with
 * synchronous calls, where the work is done at once; with asynchronous ones, where it goes to the pool; and without
 * openat2 ().
 */
#pragma once

#include "workspace-fixture.h"

#include "sandbox-request-private.h"
#include "sandbox-session.h"
#include "sandbox-worker.h"
#include "sandbox-workspace.h"
#include "../common/test-helpers.h"
#include "../common/test-session-files.h"

#define TREE_ASYNC (1 << 0)
#define TREE_WALK (1 << 1)
#define TREE_IN_MEMORY (1 << 2)

typedef struct
{
  GObject           parent_instance;
  SandboxWorkspace *workspace;
  guint             max;           /* of entries in a listing, unless it is 0 */
  guint             time_limit_ms; /* for a removal, unless it is 0 */
} TreeDriver;

typedef struct
{
  GObjectClass parent_class;
} TreeDriverClass;

static void tree_driver_interface_init (SandboxDriverInterface *iface);

static GType tree_driver_get_type (void);

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (TreeDriver, tree_driver, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, tree_driver_interface_init))
/* clang-format on */

#define TREE_WORKSPACE(driver) (((TreeDriver *) (driver))->workspace)

static gboolean
tree_driver_read (SandboxDriver *driver, const char *path, guint64 offset, guint64 max, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_read (TREE_WORKSPACE (driver), path, offset, max, request, error);
}

static gboolean
tree_driver_write (SandboxDriver *driver, const char *path, GBytes *bytes, guint mode, SandboxWriteFlags flags, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_write (TREE_WORKSPACE (driver), path, bytes, mode, flags, request, error);
}

static gboolean
tree_driver_remove (SandboxDriver *driver, const char *path, SandboxRemoveFlags flags, SandboxRequest *request, GError **error)
{
  TreeDriver *self = (TreeDriver *) driver;

  if (self->time_limit_ms > 0)
    sandbox_request_set_limits (request, self->time_limit_ms, 0);

  return sandbox_workspace_remove (self->workspace, path, flags, request, error);
}

static gboolean
tree_driver_list (SandboxDriver *driver, const char *path, guint max, SandboxRequest *request, GError **error)
{
  TreeDriver *self = (TreeDriver *) driver;

  return sandbox_workspace_list (self->workspace, path, self->max > 0 ? self->max : max, request, error);
}

static gboolean
tree_driver_query_info (SandboxDriver *driver, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_query_info (TREE_WORKSPACE (driver), path, request, error);
}

static gboolean
tree_driver_make_directory (SandboxDriver *driver, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_make_directory (TREE_WORKSPACE (driver), path, request, error);
}

static gboolean
tree_driver_move (SandboxDriver *driver, const char *from, const char *to, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_move (TREE_WORKSPACE (driver), from, to, request, error);
}

static gboolean
tree_driver_open_read (SandboxDriver *driver, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_open_read (TREE_WORKSPACE (driver), path, request, error);
}

static gboolean
tree_driver_open_write (SandboxDriver *driver, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_open_write (TREE_WORKSPACE (driver), path, request, error);
}

static gboolean
tree_driver_import_tree (SandboxDriver *driver, const char *path, GFile *directory, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_import_tree (TREE_WORKSPACE (driver), path, directory, request, error);
}

static gboolean
tree_driver_export_tree (SandboxDriver *driver, const char *path, GFile *directory, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_export_tree (TREE_WORKSPACE (driver), path, directory, request, error);
}

static void
tree_driver_interface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = TRUE;
  iface->read = tree_driver_read;
  iface->write = tree_driver_write;
  iface->remove = tree_driver_remove;
  iface->list = tree_driver_list;
  iface->query_info = tree_driver_query_info;
  iface->make_directory = tree_driver_make_directory;
  iface->move = tree_driver_move;
  iface->open_read = tree_driver_open_read;
  iface->open_write = tree_driver_open_write;
  iface->import_tree = tree_driver_import_tree;
  iface->export_tree = tree_driver_export_tree;
}

static void
tree_driver_finalize (GObject *object)
{
  g_clear_object (&((TreeDriver *) object)->workspace);

  G_OBJECT_CLASS (tree_driver_parent_class)->finalize (object);
}

static void
tree_driver_class_init (TreeDriverClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = tree_driver_finalize;
}

static void
tree_driver_init (TreeDriver *self)
{
}

typedef struct
{
  Fixture         files;
  TreeDriver     *driver;
  SandboxSession *session;
  gboolean        async;
} Tree;

static inline void
tree_open (Tree *tree)
{
  g_autoptr (GError) error = NULL;

  tree->driver = g_object_new (tree_driver_get_type (), NULL);
  tree->driver->workspace = sandbox_workspace_new (tree->files.inside, &error);
  g_assert_no_error (error);
  tree->session = sandbox_session_new_for_driver (SANDBOX_DRIVER (tree->driver), &error);
  g_assert_no_error (error);
}

static inline void
tree_close (Tree *tree)
{
  g_clear_object (&tree->session);
  g_clear_object (&tree->driver);
}

static inline void
tree_set_up (Tree         *tree,
             gconstpointer data)
{
  guint form = GPOINTER_TO_UINT (data);

  fixture_in_memory = (form & TREE_IN_MEMORY) != 0;
  fixture_set_up (&tree->files, GINT_TO_POINTER ((form & TREE_WALK) != 0));
  tree->async = (form & TREE_ASYNC) != 0;
  tree_open (tree);
}

static inline void
tree_tear_down (Tree         *tree,
                gconstpointer data)
{
  tree_close (tree);
  if (g_test_subprocess ())
    tree->files.n_descriptors = test_count_descriptors () - 1;
  fixture_tear_down (&tree->files, NULL);
}

/* In a mount namespace of its own the workspace is another one. */
static inline gboolean
tree_enter_mount_namespace (Tree *tree)
{
  if (!fixture_is_subprocess (&tree->files))
    return FALSE;

  guest_enter_mount_namespace (&tree->files);
  tree_close (tree);
  tree_open (tree);

  return TRUE;
}

/* sandbox_session_NAME (session, …), in the form of this test. */
#define tree_call(tree, name, cancellable, error, ...) \
 test_session_call ((tree)->session, (tree)->async, name, cancellable, error, __VA_ARGS__)

/* Succeeds, and gives what the call gives. */
#define tree_do(tree, name, ...)                                                   \
 ({                                                                                \
 g_autoptr (GError) tree_error = NULL;                                             \
 __auto_type tree_answer = tree_call (tree, name, NULL, &tree_error, __VA_ARGS__); \
                                                                                   \
 g_assert_no_error (tree_error);                                                   \
 tree_answer;                                                                      \
 })

/* Fails with a code, and with these words unless they are NULL; no path of the host in them. */
#define tree_refuse(tree, code, words, name, ...)                      \
 do                                                                    \
  {                                                                    \
   g_autoptr (GError) tree_error = NULL;                               \
                                                                       \
   tree_call (tree, name, NULL, &tree_error, __VA_ARGS__);             \
   g_assert_error (tree_error, SANDBOX_ERROR, (int) (code));           \
   if ((words) != NULL)                                                \
    g_assert_cmpstr (tree_error->message, ==, (const char *) (words)); \
   g_assert_null (strstr (tree_error->message, (tree)->files.inside)); \
  }                                                                    \
 while (0)

static inline GFileInfo *
tree_find (SandboxListing *listing,
           const char     *name)
{
  guint n_entries = g_list_model_get_n_items (G_LIST_MODEL (listing));

  for (guint i = 0; i < n_entries; i++)
    {
      g_autoptr (GFileInfo) info = g_list_model_get_item (G_LIST_MODEL (listing), i);

      if (g_str_equal (g_file_info_get_name (info), name))
        return g_steal_pointer (&info);
    }

  return NULL;
}

/* How many entries a directory has, as a listing says. */
static inline guint
tree_count (Tree       *tree,
            const char *path)
{
  g_autoptr (SandboxListing) listing = tree_do (tree, list_directory, path);

  return g_list_model_get_n_items (G_LIST_MODEL (listing));
}

/* All that a stream gives, and a NUL. */
static inline char *
tree_read_stream (GInputStream *stream,
                  gsize        *size)
{
  g_autoptr (GOutputStream) memory = g_memory_output_stream_new_resizable ();
  g_autoptr (GError) error = NULL;
  gssize n;

  n = g_output_stream_splice (memory, stream, G_OUTPUT_STREAM_SPLICE_CLOSE_SOURCE, NULL, &error);
  g_assert_no_error (error);
  g_output_stream_write_all (memory, "", 1, NULL, NULL, NULL);
  g_output_stream_close (memory, NULL, NULL);
  if (size != NULL)
    *size = n;

  return g_memory_output_stream_steal_data (G_MEMORY_OUTPUT_STREAM (memory));
}

static inline void
tree_assert_stream (Tree       *tree,
                    const char *path,
                    const char *content)
{
  g_autoptr (GInputStream) stream = tree_do (tree, open_read, path);
  g_autofree char *text = tree_read_stream (stream, NULL);

  g_assert_cmpstr (text, ==, content);
}

static inline void
tree_write_stream (Tree       *tree,
                   const char *path,
                   const char *content)
{
  g_autoptr (GOutputStream) stream = tree_do (tree, open_write, path);
  g_autoptr (GError) error = NULL;

  g_output_stream_write_all (stream, content, strlen (content), NULL, NULL, &error);
  g_assert_no_error (error);
  g_output_stream_close (stream, NULL, &error);
  g_assert_no_error (error);
}

typedef struct
{
  const char *name;
  void (*test) (Tree *, gconstpointer);
  guint form; /* TREE_IN_MEMORY where there is much to make */
} TreeTest;

static inline void
tree_add_tests (const char     *prefix,
                const TreeTest *tests,
                gsize           n_tests)
{
  static const struct
  {
    const char *name;
    guint       form;
  } forms[] = {
    { "at-once", 0 },
    { "pool", TREE_ASYNC },
    { "walk", TREE_WALK },
  };

  for (gsize i = 0; i < n_tests; i++)
    for (gsize j = 0; j < G_N_ELEMENTS (forms); j++)
      {
        g_autofree char *path = g_strconcat (prefix, forms[j].name, "/", tests[i].name, NULL);

        g_test_add (path, Tree, GUINT_TO_POINTER (forms[j].form | tests[i].form), tree_set_up, tests[i].test, tree_tear_down);
      }
}

/* Before the first test: what the library and GLib keep open from the first use on is not to be counted. */
static inline void
tree_prime (void)
{
  Tree tree = { { NULL } };

  /* There, nobody has started a thread before the test enters namespaces of its own. */
  if (g_test_subprocess ())
    return;

  sandbox_get_worker_context ();
  fixture_set_up (&tree.files, NULL);
  tree_open (&tree);
  g_assert_cmpuint (tree_count (&tree, "."), ==, 0);
  tree.async = TRUE;
  g_assert_cmpuint (tree_count (&tree, "."), ==, 0);
  tree_close (&tree);
  tree.files.n_descriptors = test_count_descriptors () - 1;
  fixture_tear_down (&tree.files, NULL);
}
