/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Directories of the workspace: each is one function of the driver, which it may have or not. */

#include "sandbox-session-private.h"

#include "sandbox-request-private.h"

/**
 * sandbox_session_list_directory_async:
 * @self: a session
 * @path: a directory of the workspace
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the listing
 * @user_data: data for @callback
 *
 * Lists a directory.
 *
 * The listing has %SANDBOX_LISTING_MAX_ENTRIES entries at the most, and
 * [property@Sandbox.Listing:truncated] tells whether there are more. No link is followed.
 *
 * Fails with %SANDBOX_ERROR_NOT_FOUND when there is none, and with %SANDBOX_ERROR_PATH when the path is refused,
 * leads over a link or is no directory.
 *
 * Since: 1.0
 */
void
sandbox_session_list_directory_async (SandboxSession     *self,
                                      const char         *path,
                                      GCancellable       *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer            user_data)
{
  SandboxSessionCall call;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  if (!sandbox_session_begin (self, &call, path, SANDBOX_TYPE_LISTING, sandbox_session_list_directory_async,
                              cancellable, callback, user_data))
    return;

  call.taken = call.iface->list (call.driver, call.path, SANDBOX_LISTING_MAX_ENTRIES, call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_list_directory_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.list_directory_async].
 *
 * Returns: (transfer full): what is in it
 *
 * Since: 1.0
 */
SandboxListing *
sandbox_session_list_directory_finish (SandboxSession *self,
                                       GAsyncResult   *result,
                                       GError        **error)
{
  return sandbox_request_propagate_pointer (result, self, sandbox_session_list_directory_async, error);
}

/**
 * sandbox_session_list_directory:
 * @self: a session
 * @path: a directory of the workspace
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Lists a directory. See [method@Sandbox.Session.list_directory_async].
 *
 * Returns: (transfer full): what is in it
 *
 * Since: 1.0
 */
SandboxListing *
sandbox_session_list_directory (SandboxSession *self,
                                const char     *path,
                                GCancellable   *cancellable,
                                GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_list_directory_async (self, path, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_list_directory_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_query_info_async:
 * @self: a session
 * @path: a file or directory of the workspace
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with what is known
 * @user_data: data for @callback
 *
 * Describes a file, a directory, or a link and not its target.
 *
 * [class@Sandbox.Listing] tells which attributes there are.
 *
 * Fails with %SANDBOX_ERROR_NOT_FOUND when there is nothing, and with %SANDBOX_ERROR_PATH when the path is refused
 * or leads over a link.
 *
 * Since: 1.0
 */
void
sandbox_session_query_info_async (SandboxSession     *self,
                                  const char         *path,
                                  GCancellable       *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer            user_data)
{
  SandboxSessionCall call;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  if (!sandbox_session_begin (self, &call, path, G_TYPE_FILE_INFO, sandbox_session_query_info_async,
                              cancellable, callback, user_data))
    return;

  call.taken = call.iface->query_info (call.driver, call.path, call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_query_info_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.query_info_async].
 *
 * Returns: (transfer full): what is known of it
 *
 * Since: 1.0
 */
GFileInfo *
sandbox_session_query_info_finish (SandboxSession *self,
                                   GAsyncResult   *result,
                                   GError        **error)
{
  return sandbox_request_propagate_pointer (result, self, sandbox_session_query_info_async, error);
}

/**
 * sandbox_session_query_info:
 * @self: a session
 * @path: a file or directory of the workspace
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Describes a file, a directory, or a link and not its target. See [method@Sandbox.Session.query_info_async].
 *
 * Returns: (transfer full): what is known of it
 *
 * Since: 1.0
 */
GFileInfo *
sandbox_session_query_info (SandboxSession *self,
                            const char     *path,
                            GCancellable   *cancellable,
                            GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_query_info_async (self, path, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_query_info_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_make_directory_async:
 * @self: a session
 * @path: a directory of the workspace
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when it is made
 * @user_data: data for @callback
 *
 * Makes a directory with its missing parents.
 *
 * Fails with %SANDBOX_ERROR_EXISTS when something is there already, and with %SANDBOX_ERROR_PATH when the path is
 * refused or leads over a link.
 *
 * Since: 1.0
 */
void
sandbox_session_make_directory_async (SandboxSession     *self,
                                      const char         *path,
                                      GCancellable       *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer            user_data)
{
  SandboxSessionCall call;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  if (!sandbox_session_begin (self, &call, path, G_TYPE_NONE, sandbox_session_make_directory_async,
                              cancellable, callback, user_data))
    return;

  call.taken = call.iface->make_directory (call.driver, call.path, call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_make_directory_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.make_directory_async].
 *
 * Returns: whether it has been made
 *
 * Since: 1.0
 */
gboolean
sandbox_session_make_directory_finish (SandboxSession *self,
                                       GAsyncResult   *result,
                                       GError        **error)
{
  return sandbox_request_propagate_done (result, self, sandbox_session_make_directory_async, error);
}

/**
 * sandbox_session_make_directory:
 * @self: a session
 * @path: a directory of the workspace
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Makes a directory with its missing parents. See [method@Sandbox.Session.make_directory_async].
 *
 * Returns: whether it has been made
 *
 * Since: 1.0
 */
gboolean
sandbox_session_make_directory (SandboxSession *self,
                                const char     *path,
                                GCancellable   *cancellable,
                                GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_make_directory_async (self, path, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_make_directory_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_move_async:
 * @self: a session
 * @from: a file or directory of the workspace
 * @to: where it is to be; nothing may be there
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when it is there
 * @user_data: data for @callback
 *
 * Renames a file, a link or a directory.
 *
 * Fails with %SANDBOX_ERROR_EXISTS when something is at @to, with %SANDBOX_ERROR_NOT_FOUND when nothing is at
 * @from or the parent of @to is missing, with %SANDBOX_ERROR_INVALID when a directory would come into itself, and
 * with %SANDBOX_ERROR_PATH for the workspace itself, for a directory of the template where the workspace is an overlay
 * (see [enum@Sandbox.WorkspaceMode]), and when a path is refused or leads over a link.
 *
 * Since: 1.0
 */
void
sandbox_session_move_async (SandboxSession     *self,
                            const char         *from,
                            const char         *to,
                            GCancellable       *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer            user_data)
{
  SandboxSessionCall call;
  g_autofree char   *driver_to = NULL;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (from != NULL);
  g_return_if_fail (to != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  if (!sandbox_session_begin (self, &call, from, G_TYPE_NONE, sandbox_session_move_async,
                              cancellable, callback, user_data))
    return;

  driver_to = sandbox_session_driver_path (sandbox_session_get_core (self), to, &call.error);
  if (driver_to != NULL && g_str_equal (call.path, "."))
    call.error = g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_PATH, "The workspace itself cannot be moved");
  else if (driver_to != NULL)
    call.taken = call.iface->move (call.driver, call.path, driver_to, call.request, &call.error);
  sandbox_session_dispatched (&call);
}

/**
 * sandbox_session_move_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.move_async].
 *
 * Returns: whether it is there
 *
 * Since: 1.0
 */
gboolean
sandbox_session_move_finish (SandboxSession *self,
                             GAsyncResult   *result,
                             GError        **error)
{
  return sandbox_request_propagate_done (result, self, sandbox_session_move_async, error);
}

/**
 * sandbox_session_move:
 * @self: a session
 * @from: a file or directory of the workspace
 * @to: where it is to be; nothing may be there
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Renames a file, a link or a directory. See [method@Sandbox.Session.move_async].
 *
 * Returns: whether it is there
 *
 * Since: 1.0
 */
gboolean
sandbox_session_move (SandboxSession *self,
                      const char     *from,
                      const char     *to,
                      GCancellable   *cancellable,
                      GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), FALSE);
  g_return_val_if_fail (from != NULL, FALSE);
  g_return_val_if_fail (to != NULL, FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_move_async (self, from, to, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_move_finish (self, sandbox_sync_wait (&sync), error);
}
