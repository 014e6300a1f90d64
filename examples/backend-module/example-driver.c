/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "example-driver.h"

#include <string.h>

/* One sandbox. Its files are all in the workspace itself, by name. */
struct _ExampleDriver
{
  GObject parent_instance;

  GMutex      lock;
  GHashTable *files; /* name → GBytes; guarded by lock */
};

static void example_driver_iface_init (SandboxDriverInterface *iface);

/* clang-format off */
G_DEFINE_DYNAMIC_TYPE_EXTENDED (ExampleDriver, example_driver, G_TYPE_OBJECT,
                                G_TYPE_FLAG_FINAL,
                                G_IMPLEMENT_INTERFACE_DYNAMIC (SANDBOX_TYPE_DRIVER, example_driver_iface_init))
/* clang-format on */

static gboolean
example_driver_check_path (const char *path,
                           GError    **error)
{
  if (g_str_equal (path, "."))
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The workspace is a directory");
      return FALSE;
    }

  if (strchr (path, '/') != NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "%s: the example has no directories", path);
      return FALSE;
    }

  return TRUE;
}

/* The bytes of a file, or NULL with an error */
static GBytes *
example_driver_dup_file (ExampleDriver *self,
                         const char    *path,
                         GError       **error)
{
  g_autoptr (GMutexLocker) locker = NULL;
  GBytes *bytes = NULL;

  if (!example_driver_check_path (path, error))
    return NULL;

  locker = g_mutex_locker_new (&self->lock);
  bytes = g_hash_table_lookup (self->files, path);
  if (bytes == NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "%s does not exist", path);
      return NULL;
    }

  return g_bytes_ref (bytes);
}

static gboolean
example_driver_read (SandboxDriver  *driver,
                     const char     *path,
                     guint64         offset,
                     guint64         max,
                     SandboxRequest *request,
                     GError        **error)
{
  g_autoptr (GBytes) bytes = example_driver_dup_file (EXAMPLE_DRIVER (driver), path, error);
  g_autoptr (GBytes) part = NULL;
  gsize start;

  if (bytes == NULL)
    return FALSE;

  start = MIN (offset, g_bytes_get_size (bytes));
  part = g_bytes_new_from_bytes (bytes, start, MIN (max, g_bytes_get_size (bytes) - start));
  sandbox_request_return_bytes (request, part);

  return TRUE;
}

static gboolean
example_driver_write (SandboxDriver    *driver,
                      const char       *path,
                      GBytes           *bytes,
                      guint             mode,
                      SandboxWriteFlags flags,
                      SandboxRequest   *request,
                      GError          **error)
{
  ExampleDriver *self = EXAMPLE_DRIVER (driver);
  gboolean       refused = FALSE;

  if (!example_driver_check_path (path, error))
    return FALSE;

  g_mutex_lock (&self->lock);
  refused = (flags & SANDBOX_WRITE_FLAGS_EXCLUSIVE) != 0 && g_hash_table_contains (self->files, path);
  if (!refused)
    g_hash_table_replace (self->files, g_strdup (path), g_bytes_ref (bytes));
  g_mutex_unlock (&self->lock);

  if (refused)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS, "%s exists already", path);
      return FALSE;
    }

  /* Without the lock: what waits for the answer may call again at once. */
  sandbox_request_return_done (request);

  return TRUE;
}

static gboolean
example_driver_remove (SandboxDriver     *driver,
                       const char        *path,
                       SandboxRemoveFlags flags,
                       SandboxRequest    *request,
                       GError           **error)
{
  ExampleDriver *self = EXAMPLE_DRIVER (driver);
  gboolean       removed = FALSE;

  if (!example_driver_check_path (path, error))
    return FALSE;

  g_mutex_lock (&self->lock);
  removed = g_hash_table_remove (self->files, path);
  g_mutex_unlock (&self->lock);

  if (!removed && (flags & SANDBOX_REMOVE_FLAGS_MISSING_OK) == 0)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "%s does not exist", path);
      return FALSE;
    }

  sandbox_request_return_done (request);

  return TRUE;
}

gboolean
example_driver_check_network (SandboxNetworkPolicy *policy,
                              GError              **error)
{
  if (policy == NULL || sandbox_network_policy_get_mode (policy) == SANDBOX_NETWORK_MODE_DENY_ALL)
    return TRUE;

  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED, "The example has no network");

  return FALSE;
}

static gboolean
example_driver_set_network_policy (SandboxDriver        *driver,
                                   SandboxNetworkPolicy *policy,
                                   SandboxRequest       *request,
                                   GError              **error)
{
  if (!example_driver_check_network (policy, error))
    return FALSE;

  sandbox_request_return_done (request);

  return TRUE;
}

static gboolean
example_driver_close (SandboxDriver  *driver,
                      SandboxRequest *request,
                      GError        **error)
{
  ExampleDriver *self = EXAMPLE_DRIVER (driver);

  g_mutex_lock (&self->lock);
  g_hash_table_remove_all (self->files);
  g_mutex_unlock (&self->lock);
  sandbox_request_return_done (request);

  return TRUE;
}

/* What is not set here, spawn above all, answers that it is not supported. */
static void
example_driver_iface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = TRUE;
  iface->read = example_driver_read;
  iface->write = example_driver_write;
  iface->remove = example_driver_remove;
  iface->set_network_policy = example_driver_set_network_policy;
  iface->close = example_driver_close;
}

static void
example_driver_finalize (GObject *object)
{
  ExampleDriver *self = EXAMPLE_DRIVER (object);

  g_hash_table_unref (self->files);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (example_driver_parent_class)->finalize (object);
}

static void
example_driver_class_init (ExampleDriverClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = example_driver_finalize;
}

static void
example_driver_class_finalize (ExampleDriverClass *klass)
{
}

static void
example_driver_init (ExampleDriver *self)
{
  g_mutex_init (&self->lock);
  self->files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_bytes_unref);
}

void
example_driver_register (GTypeModule *module)
{
  example_driver_register_type (module);
}
