/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bytes and text of the workspace: the limits and the text are ours, the bytes the driver's. */

#include "sandbox-session-private.h"

#include "sandbox-paths-private.h"
#include "sandbox-request-private.h"

#include <string.h>

typedef struct
{
  char   *path; /* as it may be shown */
  guint64 max;
} SandboxRead;

static void
sandbox_read_free (gpointer data)
{
  SandboxRead *read = data;

  g_free (read->path);
  g_free (read);
}

/* A file that is one byte too long is refused whole: part of it would look like all of it. */
static void
sandbox_session_read_answered (gpointer      user_data,
                               gpointer      answer,
                               const GError *error)
{
  g_autoptr (GTask) task = user_data;
  SandboxRead *read = g_task_get_task_data (task);

  if (error != NULL)
    g_task_return_error (task, g_error_copy (error));
  else if (g_bytes_get_size (answer) > read->max)
    g_task_return_new_error (task, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                             "Cannot read “%s”: it has more than %" G_GUINT64_FORMAT " bytes",
                             read->path, read->max);
  else
    g_task_return_pointer (task, g_bytes_ref (answer), (GDestroyNotify) g_bytes_unref);
}

static void
sandbox_session_read (SandboxSession     *self,
                      const char         *path,
                      gpointer            source_tag,
                      GCancellable       *cancellable,
                      GAsyncReadyCallback callback,
                      gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  g_autoptr (SandboxRequest) request = NULL;
  g_autofree char *driver_path = NULL;
  SandboxCore     *core = sandbox_session_get_core (self);
  SandboxDriver   *driver = sandbox_core_get_driver (core);
  SandboxRead     *read = NULL;
  GError          *error = NULL;
  gboolean         taken = FALSE;

  g_task_set_source_tag (task, source_tag);
  if (g_task_return_error_if_cancelled (task))
    return;
  if (!sandbox_core_check_live (core, &error) ||
      (driver_path = sandbox_session_driver_path (core, path, &error)) == NULL)
    {
      g_task_return_error (task, error);
      return;
    }

  read = g_new (SandboxRead, 1);
  read->path = sandbox_path_display (driver_path);
  read->max = sandbox_core_get_max_file_bytes (core);
  g_task_set_task_data (task, read, sandbox_read_free);

  request = sandbox_request_new_internal (G_TYPE_BYTES, cancellable, sandbox_session_read_answered,
                                          g_object_ref (task));
  taken = SANDBOX_DRIVER_GET_IFACE (driver)->read (driver, driver_path, 0, read->max + 1, request, &error);
  sandbox_request_dispatched (request, taken, error);
}

/**
 * sandbox_session_read_bytes_async:
 * @self: a session
 * @path: a file of the workspace
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the content
 * @user_data: data for @callback
 *
 * Reads a whole file.
 *
 * Fails with %SANDBOX_ERROR_LIMIT when it is larger than [property@Sandbox.CreateOptions:max-file-bytes],
 * %SANDBOX_ERROR_NOT_FOUND when there is none, and %SANDBOX_ERROR_PATH when the path is refused or leads over
 * a link.
 *
 * Since: 1.0
 */
void
sandbox_session_read_bytes_async (SandboxSession     *self,
                                  const char         *path,
                                  GCancellable       *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer            user_data)
{
  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  sandbox_session_read (self, path, sandbox_session_read_bytes_async, cancellable, callback, user_data);
}

/**
 * sandbox_session_read_bytes_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.read_bytes_async].
 *
 * Returns: (transfer full): the content
 *
 * Since: 1.0
 */
GBytes *
sandbox_session_read_bytes_finish (SandboxSession *self,
                                   GAsyncResult   *result,
                                   GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_session_read_bytes_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * sandbox_session_read_bytes:
 * @self: a session
 * @path: a file of the workspace
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Reads a whole file. See [method@Sandbox.Session.read_bytes_async].
 *
 * Returns: (transfer full): the content
 *
 * Since: 1.0
 */
GBytes *
sandbox_session_read_bytes (SandboxSession *self,
                            const char     *path,
                            GCancellable   *cancellable,
                            GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_read_bytes_async (self, path, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_read_bytes_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_read_text_async:
 * @self: a session
 * @path: a file of the workspace
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the text
 * @user_data: data for @callback
 *
 * Reads a whole file as text.
 *
 * Fails like [method@Sandbox.Session.read_bytes_async], and with %SANDBOX_ERROR_INVALID when the content is
 * not UTF-8 or has a NUL byte.
 *
 * Since: 1.0
 */
void
sandbox_session_read_text_async (SandboxSession     *self,
                                 const char         *path,
                                 GCancellable       *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data)
{
  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  sandbox_session_read (self, path, sandbox_session_read_text_async, cancellable, callback, user_data);
}

/**
 * sandbox_session_read_text_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.read_text_async].
 *
 * Returns: (transfer full): the text
 *
 * Since: 1.0
 */
char *
sandbox_session_read_text_finish (SandboxSession *self,
                                  GAsyncResult   *result,
                                  GError        **error)
{
  g_autoptr (GBytes) bytes = NULL;
  SandboxRead *read = NULL;
  const char  *data = NULL;
  gsize        size = 0;

  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_session_read_text_async), NULL);

  bytes = g_task_propagate_pointer (G_TASK (result), error);
  if (bytes == NULL)
    return NULL;

  read = g_task_get_task_data (G_TASK (result));
  data = g_bytes_get_data (bytes, &size);
  if (size > 0 && !g_utf8_validate_len (data, size, NULL))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "Cannot read “%s” as text: it %s",
                   read->path, memchr (data, '\0', size) != NULL ? "has a NUL byte" : "is not UTF-8");
      return NULL;
    }

  return g_strndup (size > 0 ? data : "", size);
}

/**
 * sandbox_session_read_text:
 * @self: a session
 * @path: a file of the workspace
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Reads a whole file as text. See [method@Sandbox.Session.read_text_async].
 *
 * Returns: (transfer full): the text
 *
 * Since: 1.0
 */
char *
sandbox_session_read_text (SandboxSession *self,
                           const char     *path,
                           GCancellable   *cancellable,
                           GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_read_text_async (self, path, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_read_text_finish (self, sandbox_sync_wait (&sync), error);
}

gboolean
sandbox_session_begin (SandboxSession     *self,
                       SandboxSessionCall *call,
                       const char         *path,
                       GType               answer,
                       gpointer            source_tag,
                       GCancellable       *cancellable,
                       GAsyncReadyCallback callback,
                       gpointer            user_data)
{
  SandboxCore *core = sandbox_session_get_core (self);

  call->driver = sandbox_core_get_driver (core);
  call->iface = SANDBOX_DRIVER_GET_IFACE (call->driver);
  call->request = sandbox_request_new (self, source_tag, answer, cancellable, callback, user_data);
  call->path = NULL;
  call->taken = FALSE;
  call->error = NULL;

  if (!g_cancellable_set_error_if_cancelled (cancellable, &call->error) &&
      sandbox_core_check_live (core, &call->error))
    call->path = sandbox_session_driver_path (core, path, &call->error);
  if (call->path == NULL)
    sandbox_session_dispatched (call);

  return call->path != NULL;
}

void
sandbox_session_dispatched (SandboxSessionCall *call)
{
  sandbox_request_dispatched (call->request, call->taken, g_steal_pointer (&call->error));
  g_clear_object (&call->request);
  g_clear_pointer (&call->path, g_free);
}

static void
sandbox_session_write (SandboxSession     *self,
                       const char         *path,
                       GBytes             *bytes,
                       gpointer            source_tag,
                       GCancellable       *cancellable,
                       GAsyncReadyCallback callback,
                       gpointer            user_data)
{
  SandboxSessionCall call;
  guint64            max = sandbox_core_get_max_file_bytes (sandbox_session_get_core (self));

  if (!sandbox_session_begin (self, &call, path, G_TYPE_NONE, source_tag, cancellable, callback, user_data))
    return;

  if (g_bytes_get_size (bytes) > max)
    {
      g_autofree char *shown = sandbox_path_display (call.path);

      call.error = g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                                "Cannot write “%s”: %" G_GSIZE_FORMAT " bytes are more than %" G_GUINT64_FORMAT,
                                shown, g_bytes_get_size (bytes), max);
    }
  else
    call.taken = call.iface->write (call.driver, call.path, bytes, 0, SANDBOX_WRITE_FLAGS_PARENTS, call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_write_bytes_async:
 * @self: a session
 * @path: a file of the workspace
 * @bytes: the content
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when it is written
 * @user_data: data for @callback
 *
 * Replaces a file, or makes it with its parent directories. Whoever reads it meanwhile sees the old
 * content or the new.
 *
 * Fails with %SANDBOX_ERROR_LIMIT when there is more than [property@Sandbox.CreateOptions:max-file-bytes]
 * or no space, and %SANDBOX_ERROR_PATH when the path is refused or leads over a link.
 *
 * Since: 1.0
 */
void
sandbox_session_write_bytes_async (SandboxSession     *self,
                                   const char         *path,
                                   GBytes             *bytes,
                                   GCancellable       *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer            user_data)
{
  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (bytes != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  sandbox_session_write (self, path, bytes, sandbox_session_write_bytes_async, cancellable, callback, user_data);
}

/**
 * sandbox_session_write_bytes_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.write_bytes_async].
 *
 * Returns: whether it was written
 *
 * Since: 1.0
 */
gboolean
sandbox_session_write_bytes_finish (SandboxSession *self,
                                    GAsyncResult   *result,
                                    GError        **error)
{
  return sandbox_request_propagate_done (result, self, sandbox_session_write_bytes_async, error);
}

/**
 * sandbox_session_write_bytes:
 * @self: a session
 * @path: a file of the workspace
 * @bytes: the content
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Replaces a file, or makes it. See [method@Sandbox.Session.write_bytes_async].
 *
 * Returns: whether it was written
 *
 * Since: 1.0
 */
gboolean
sandbox_session_write_bytes (SandboxSession *self,
                             const char     *path,
                             GBytes         *bytes,
                             GCancellable   *cancellable,
                             GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (bytes != NULL, FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_write_bytes_async (self, path, bytes, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_write_bytes_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_write_text_async:
 * @self: a session
 * @path: a file of the workspace
 * @text: the content
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when it is written
 * @user_data: data for @callback
 *
 * Replaces a file with text, or makes it. See [method@Sandbox.Session.write_bytes_async].
 *
 * Since: 1.0
 */
void
sandbox_session_write_text_async (SandboxSession     *self,
                                  const char         *path,
                                  const char         *text,
                                  GCancellable       *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer            user_data)
{
  g_autoptr (GBytes) bytes = NULL;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (text != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  bytes = g_bytes_new (text, strlen (text));
  sandbox_session_write (self, path, bytes, sandbox_session_write_text_async, cancellable, callback, user_data);
}

/**
 * sandbox_session_write_text_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.write_text_async].
 *
 * Returns: whether it was written
 *
 * Since: 1.0
 */
gboolean
sandbox_session_write_text_finish (SandboxSession *self,
                                   GAsyncResult   *result,
                                   GError        **error)
{
  return sandbox_request_propagate_done (result, self, sandbox_session_write_text_async, error);
}

/**
 * sandbox_session_write_text:
 * @self: a session
 * @path: a file of the workspace
 * @text: the content
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Replaces a file with text, or makes it. See [method@Sandbox.Session.write_bytes_async].
 *
 * Returns: whether it was written
 *
 * Since: 1.0
 */
gboolean
sandbox_session_write_text (SandboxSession *self,
                            const char     *path,
                            const char     *text,
                            GCancellable   *cancellable,
                            GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (text != NULL, FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_write_text_async (self, path, text, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_write_text_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_remove_path_async:
 * @self: a session
 * @path: a file or directory of the workspace
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when it is removed
 * @user_data: data for @callback
 *
 * Removes a file, a link (never what it leads to), or a directory with all that is in it. What is not
 * there needs no removing.
 *
 * Fails with %SANDBOX_ERROR_LIMIT when there is so much that it is not gone after 30 seconds: what has been removed
 * until then stays removed, and another call goes on. Fails with %SANDBOX_ERROR_PATH for the workspace itself.
 *
 * Since: 1.0
 */
void
sandbox_session_remove_path_async (SandboxSession     *self,
                                   const char         *path,
                                   GCancellable       *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer            user_data)
{
  SandboxSessionCall call;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  if (!sandbox_session_begin (self, &call, path, G_TYPE_NONE, sandbox_session_remove_path_async,
                              cancellable, callback, user_data))
    return;

  if (g_str_equal (call.path, "."))
    call.error = g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_PATH, "The workspace itself cannot be removed");
  else
    call.taken = call.iface->remove (call.driver, call.path, SANDBOX_REMOVE_FLAGS_RECURSIVE | SANDBOX_REMOVE_FLAGS_MISSING_OK,
                                     call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_remove_path_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.remove_path_async].
 *
 * Returns: whether it is gone
 *
 * Since: 1.0
 */
gboolean
sandbox_session_remove_path_finish (SandboxSession *self,
                                    GAsyncResult   *result,
                                    GError        **error)
{
  return sandbox_request_propagate_done (result, self, sandbox_session_remove_path_async, error);
}

/**
 * sandbox_session_remove_path:
 * @self: a session
 * @path: a file or directory of the workspace
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Removes a file, a link or a directory. See [method@Sandbox.Session.remove_path_async].
 *
 * Returns: whether it is gone
 *
 * Since: 1.0
 */
gboolean
sandbox_session_remove_path (SandboxSession *self,
                             const char     *path,
                             GCancellable   *cancellable,
                             GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_remove_path_async (self, path, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_remove_path_finish (self, sandbox_sync_wait (&sync), error);
}
