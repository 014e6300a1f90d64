/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Streams and whole trees of the workspace: each is one function of the driver, which it may have or not. */

#include "sandbox-session-private.h"

#include "sandbox-request-private.h"

/* A tree may be large, and disks slow. */
#define TRANSFER_TIME_LIMIT_MS (10 * 60 * 1000)

typedef struct
{
  SandboxSession *session;
  char           *path;
} SandboxTransfer;

static void
sandbox_transfer_free (gpointer data)
{
  SandboxTransfer *transfer = data;

  g_object_unref (transfer->session);
  g_free (transfer->path);
  g_free (transfer);
}

static void
sandbox_transfer_progressed (gpointer user_data,
                             guint64  bytes,
                             guint64  files,
                             guint64  skipped)
{
  SandboxTransfer *transfer = user_data;

  sandbox_session_emit_progress (transfer->session, transfer->path, bytes, files, skipped);
}

static void
sandbox_session_prepare_transfer (SandboxSession *self,
                                  SandboxRequest *request,
                                  const char     *driver_path)
{
  SandboxTransfer *transfer = g_new (SandboxTransfer, 1);

  transfer->session = g_object_ref (self);
  transfer->path = g_strdup (driver_path);
  sandbox_request_set_limits (request, TRANSFER_TIME_LIMIT_MS, 0);
  sandbox_request_set_progress (request, sandbox_transfer_progressed, transfer, sandbox_transfer_free);
}

/**
 * sandbox_session_open_read_async:
 * @self: a session
 * @path: a file of the workspace
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the stream
 * @user_data: data for @callback
 *
 * Opens a file for reading, however large it is.
 *
 * A guest may change the file while it is read.
 *
 * Close the stream soon where the workspace is an overlay: as long as it is open, the sandbox cannot be started anew, and
 * after 5 seconds a command that needs that fails with %SANDBOX_ERROR_BUSY. See [enum@Sandbox.WorkspaceMode].
 *
 * Fails with %SANDBOX_ERROR_NOT_FOUND when there is none, with %SANDBOX_ERROR_INVALID for what is no regular file,
 * and with %SANDBOX_ERROR_PATH when the path is refused or leads over a link.
 *
 * Since: 1.0
 */
void
sandbox_session_open_read_async (SandboxSession     *self,
                                 const char         *path,
                                 GCancellable       *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data)
{
  SandboxSessionCall call;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  if (!sandbox_session_begin (self, &call, path, G_TYPE_INPUT_STREAM, sandbox_session_open_read_async,
                              cancellable, callback, user_data))
    return;

  call.taken = call.iface->open_read (call.driver, call.path, call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_open_read_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.open_read_async].
 *
 * Returns: (transfer full): a stream, which the caller closes
 *
 * Since: 1.0
 */
GInputStream *
sandbox_session_open_read_finish (SandboxSession *self,
                                  GAsyncResult   *result,
                                  GError        **error)
{
  return sandbox_request_propagate_pointer (result, self, sandbox_session_open_read_async, error);
}

/**
 * sandbox_session_open_read:
 * @self: a session
 * @path: a file of the workspace
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Opens a file for reading, however large it is. See [method@Sandbox.Session.open_read_async].
 *
 * Returns: (transfer full): a stream, which the caller closes
 *
 * Since: 1.0
 */
GInputStream *
sandbox_session_open_read (SandboxSession *self,
                           const char     *path,
                           GCancellable   *cancellable,
                           GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_open_read_async (self, path, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_open_read_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_open_write_async:
 * @self: a session
 * @path: a file of the workspace
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the stream
 * @user_data: data for @callback
 *
 * Opens a file for writing, however large it becomes.
 *
 * Its parent directories are made. The file has its new content when the stream has been closed, and not
 * before. When a write has failed, when closing is cancelled, and when the stream is let go of without being
 * closed, the file stays as it was. Close it soon where the workspace is an overlay, as
 * [method@Sandbox.Session.open_read_async] tells.
 *
 * Fails with %SANDBOX_ERROR_INVALID for what is no regular file, and with %SANDBOX_ERROR_PATH when the path is
 * refused or leads over a link.
 *
 * Since: 1.0
 */
void
sandbox_session_open_write_async (SandboxSession     *self,
                                  const char         *path,
                                  GCancellable       *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer            user_data)
{
  SandboxSessionCall call;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  if (!sandbox_session_begin (self, &call, path, G_TYPE_OUTPUT_STREAM, sandbox_session_open_write_async,
                              cancellable, callback, user_data))
    return;

  call.taken = call.iface->open_write (call.driver, call.path, call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_open_write_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.open_write_async].
 *
 * Returns: (transfer full): a stream, which the caller closes
 *
 * Since: 1.0
 */
GOutputStream *
sandbox_session_open_write_finish (SandboxSession *self,
                                   GAsyncResult   *result,
                                   GError        **error)
{
  return sandbox_request_propagate_pointer (result, self, sandbox_session_open_write_async, error);
}

/**
 * sandbox_session_open_write:
 * @self: a session
 * @path: a file of the workspace
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Opens a file for writing, however large it becomes. See [method@Sandbox.Session.open_write_async].
 *
 * Returns: (transfer full): a stream, which the caller closes
 *
 * Since: 1.0
 */
GOutputStream *
sandbox_session_open_write (SandboxSession *self,
                            const char     *path,
                            GCancellable   *cancellable,
                            GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_open_write_async (self, path, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_open_write_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_import_directory_async:
 * @self: a session
 * @directory: a directory of the host
 * @path: where to; made with its parents when it is missing
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when all is copied
 * @user_data: data for @callback
 *
 * Copies what is in a directory of the host into the workspace.
 *
 * Files replace others of the same name; the rest of @path stays. The bit that makes a file executable is
 * kept. No link of @directory is followed: relative ones that stay inside are made again, others are left out, as
 * are sockets and devices. [signal@Sandbox.Session::transfer-progress] tells how far it has come.
 *
 * Fails with %SANDBOX_ERROR_LIMIT when there are more than %SANDBOX_TRANSFER_MAX_ENTRIES entries,
 * %SANDBOX_TRANSFER_MAX_BYTES bytes or %SANDBOX_TRANSFER_MAX_DEPTH levels, or after ten minutes; with
 * %SANDBOX_ERROR_NOT_SUPPORTED when @directory has no path on this host; and with %SANDBOX_ERROR_PATH when the path
 * is refused or leads over a link. What was copied before an error stays.
 *
 * Since: 1.0
 */
void
sandbox_session_import_directory_async (SandboxSession     *self,
                                        GFile              *directory,
                                        const char         *path,
                                        GCancellable       *cancellable,
                                        GAsyncReadyCallback callback,
                                        gpointer            user_data)
{
  SandboxSessionCall call;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (G_IS_FILE (directory));
  g_return_if_fail (path != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  if (!sandbox_session_begin (self, &call, path, G_TYPE_NONE, sandbox_session_import_directory_async,
                              cancellable, callback, user_data))
    return;

  sandbox_session_prepare_transfer (self, call.request, call.path);
  call.taken = call.iface->import_tree (call.driver, call.path, directory, call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_import_directory_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.import_directory_async].
 *
 * Returns: whether all is copied
 *
 * Since: 1.0
 */
gboolean
sandbox_session_import_directory_finish (SandboxSession *self,
                                         GAsyncResult   *result,
                                         GError        **error)
{
  return sandbox_request_propagate_done (result, self, sandbox_session_import_directory_async, error);
}

/**
 * sandbox_session_import_directory:
 * @self: a session
 * @directory: a directory of the host
 * @path: where to; made with its parents when it is missing
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Copies what is in a directory of the host into the workspace. See [method@Sandbox.Session.import_directory_async].
 *
 * Returns: whether all is copied
 *
 * Since: 1.0
 */
gboolean
sandbox_session_import_directory (SandboxSession *self,
                                  GFile          *directory,
                                  const char     *path,
                                  GCancellable   *cancellable,
                                  GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), FALSE);
  g_return_val_if_fail (G_IS_FILE (directory), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_import_directory_async (self, directory, path, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_import_directory_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_export_directory_async:
 * @self: a session
 * @path: a directory of the workspace
 * @directory: a directory of the host, which is made, or is empty
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when all is copied
 * @user_data: data for @callback
 *
 * Copies what is in a directory of the workspace out to the host.
 *
 * The bit that makes a file executable is kept, and nothing else of its mode. Links, sockets and devices are
 * left out. [signal@Sandbox.Session::transfer-progress] tells how far it has come.
 *
 * What comes out is what a guest made of it: nobody should run it, or let a tool act on what it says.
 *
 * Fails with %SANDBOX_ERROR_EXISTS when @directory is not empty, with %SANDBOX_ERROR_LIMIT and
 * %SANDBOX_ERROR_NOT_SUPPORTED as [method@Sandbox.Session.import_directory_async] does, and with
 * %SANDBOX_ERROR_PATH when the path is refused or leads over a link. What was copied before an error stays.
 *
 * Since: 1.0
 */
void
sandbox_session_export_directory_async (SandboxSession     *self,
                                        const char         *path,
                                        GFile              *directory,
                                        GCancellable       *cancellable,
                                        GAsyncReadyCallback callback,
                                        gpointer            user_data)
{
  SandboxSessionCall call;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (G_IS_FILE (directory));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  if (!sandbox_session_begin (self, &call, path, G_TYPE_NONE, sandbox_session_export_directory_async,
                              cancellable, callback, user_data))
    return;

  sandbox_session_prepare_transfer (self, call.request, call.path);
  call.taken = call.iface->export_tree (call.driver, call.path, directory, call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_export_directory_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.export_directory_async].
 *
 * Returns: whether all is copied
 *
 * Since: 1.0
 */
gboolean
sandbox_session_export_directory_finish (SandboxSession *self,
                                         GAsyncResult   *result,
                                         GError        **error)
{
  return sandbox_request_propagate_done (result, self, sandbox_session_export_directory_async, error);
}

/**
 * sandbox_session_export_directory:
 * @self: a session
 * @path: a directory of the workspace
 * @directory: a directory of the host, which is made, or is empty
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Copies what is in a directory of the workspace out to the host. See [method@Sandbox.Session.export_directory_async].
 *
 * Returns: whether all is copied
 *
 * Since: 1.0
 */
gboolean
sandbox_session_export_directory (SandboxSession *self,
                                  const char     *path,
                                  GFile          *directory,
                                  GCancellable   *cancellable,
                                  GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (G_IS_FILE (directory), FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_export_directory_async (self, path, directory, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_export_directory_finish (self, sandbox_sync_wait (&sync), error);
}
