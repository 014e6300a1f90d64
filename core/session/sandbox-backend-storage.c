/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a host asks of the files that the library keeps for a backend: templates, and sessions that nobody has. */

#include "sandbox-backend-calls.h"

#include "sandbox-backend-private.h"
#include "sandbox-keys-private.h"
#include "sandbox-state-private.h"
#include "sandbox-storage-private.h"
#include "sandbox-store-session-private.h"
#include "sandbox-sync-private.h"

/* One call. It is the data of its task, which is done with when the files are. */
typedef struct _SandboxStorageCall SandboxStorageCall;

/* Gives an object (taken) for an answer, or NULL for "done" unless there is an error. */
typedef gpointer (*SandboxStorageFunc) (SandboxStorageCall *call,
                                        SandboxStore       *store,
                                        GError            **error);

struct _SandboxStorageCall
{
  GTask             *task; /* which has this; a reference until it is started */
  SandboxStorageFunc work;
  SandboxPool        pool; /* where its work is done */
  guint              uid;
  guint              gid;

  char           *name;
  SandboxFileSet *files;
  char           *key;
  SandboxState   *state;
};

static void
sandbox_storage_call_free (gpointer data)
{
  SandboxStorageCall *call = data;

  g_free (call->name);
  g_clear_object (&call->files);
  g_free (call->key);
  g_clear_object (&call->state);
  g_free (call);
}

static void
sandbox_storage_call_work (gpointer data,
                           gpointer user_data)
{
  g_autoptr (GTask) task = data;
  g_autoptr (SandboxStore) store = NULL;
  SandboxStorageCall *call = g_task_get_task_data (task);
  gpointer            answer = NULL;
  GError             *error = NULL;

  store = sandbox_storage_open (g_task_get_source_object (task), call->uid, call->gid, g_task_get_cancellable (task), &error);
  if (store != NULL)
    answer = call->work (call, store, &error);

  if (error != NULL)
    g_task_return_error (task, error);
  else if (answer != NULL)
    g_task_return_pointer (task, answer, g_object_unref);
  else
    g_task_return_boolean (task, TRUE);
}

/* NULL when the caller has been refused. @what is what cannot be had then. */
static SandboxStorageCall *
sandbox_storage_call_new (SandboxBackend     *backend,
                          const char         *what,
                          SandboxStorageFunc  work,
                          gpointer            source_tag,
                          GCancellable       *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (backend, cancellable, callback, user_data);
  SandboxStorageCall *call = NULL;
  GError             *error = NULL;

  g_task_set_source_tag (task, source_tag);
  if (g_task_return_error_if_cancelled (task))
    return NULL;

  g_task_set_check_cancellable (task, FALSE);
  call = g_new0 (SandboxStorageCall, 1);
  call->work = work;
  g_task_set_task_data (task, call, sandbox_storage_call_free);
  if (!sandbox_backend_check_storage (backend, what, &call->uid, &call->gid, &error))
    {
      g_task_return_error (task, error);
      return NULL;
    }
  call->task = g_steal_pointer (&task);

  return call;
}

/* @call is taken; @error (taken) refuses it. */
static void
sandbox_storage_call_start (SandboxStorageCall *call,
                            GError             *error)
{
  g_autoptr (GTask) task = call->task;

  if (error != NULL)
    g_task_return_error (task, error);
  else
    sandbox_storage_run (call->pool, sandbox_storage_call_work, g_steal_pointer (&task));
}

static gpointer
sandbox_storage_call_propagate (SandboxBackend *backend,
                                GAsyncResult   *result,
                                gpointer        source_tag,
                                GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, backend), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, source_tag), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

static gboolean
sandbox_storage_call_propagate_done (SandboxBackend *backend,
                                     GAsyncResult   *result,
                                     gpointer        source_tag,
                                     GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, backend), FALSE);
  g_return_val_if_fail (g_async_result_is_tagged (result, source_tag), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/* For SandboxContainedCheck. */
static int
sandbox_storage_call_check (gpointer data)
{
  SandboxStorageCall *call = data;

  return sandbox_storage_check (g_task_get_cancellable (call->task));
}

static GListModel *
sandbox_storage_make_list (GType      type,
                           GPtrArray *items)
{
  GListStore *list = g_list_store_new (type);

  if (items->len > 0)
    g_list_store_splice (list, 0, 0, items->pdata, items->len);

  return G_LIST_MODEL (list);
}

/* ---- Templates */

typedef struct
{
  SandboxBackend *backend;
  char           *name;
  guint64         bytes;
  guint64         files;
} SandboxPrewarmProgress;

static void
sandbox_prewarm_progress_free (gpointer data)
{
  SandboxPrewarmProgress *progress = data;

  g_object_unref (progress->backend);
  g_free (progress->name);
  g_free (progress);
}

static gboolean
sandbox_prewarm_progress_cb (gpointer user_data)
{
  SandboxPrewarmProgress *progress = user_data;

  sandbox_backend_emit_prewarm_progress (progress->backend, progress->name, progress->bytes, progress->files);

  return G_SOURCE_REMOVE;
}

/* In the context of the call and before its answer, which comes there the same way. */
static void
sandbox_storage_prewarm_progressed (guint64  files,
                                    guint64  bytes,
                                    gpointer data)
{
  SandboxStorageCall     *call = data;
  SandboxBackend         *backend = g_task_get_source_object (call->task);
  SandboxPrewarmProgress *progress = NULL;
  g_autoptr (GSource) source = NULL;

  if (g_main_context_is_owner (g_task_get_context (call->task)))
    {
      sandbox_backend_emit_prewarm_progress (backend, call->name, bytes, files);
      return;
    }

  progress = g_new (SandboxPrewarmProgress, 1);
  progress->backend = g_object_ref (backend);
  progress->name = g_strdup (call->name);
  progress->bytes = bytes;
  progress->files = files;
  source = g_idle_source_new ();
  g_source_set_priority (source, g_task_get_priority (call->task));
  g_source_set_callback (source, sandbox_prewarm_progress_cb, progress, sandbox_prewarm_progress_free);
  g_source_attach (source, g_task_get_context (call->task));
}

static gpointer
sandbox_storage_prewarm (SandboxStorageCall *call,
                         SandboxStore       *store,
                         GError            **error)
{
  return sandbox_store_prewarm (store, call->name, call->files, sandbox_storage_call_check,
                                sandbox_storage_prewarm_progressed, call, error);
}

/**
 * sandbox_backend_prewarm_async:
 * @self: a backend
 * @name: a name for the template, of 1 to 255 bytes
 * @files: (nullable): the files, or %NULL for none; the set is copied
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the template
 * @user_data: data for @callback
 *
 * Makes sure that there is a template of these files: a tree from which sessions begin, see
 * [property@Sandbox.CreateOptions:template-key].
 *
 * The key of a template comes from the names of the backend and of the template and from all that the files are. So
 * the same call gives the same template, at the same time from several programs too, and what is there already is used
 * again; changed files give another one. [signal@Sandbox.Backend::prewarm-progress] tells how far it is.
 *
 * Files that were added by their place on the host are read now. Fails with
 *
 * - %SANDBOX_ERROR_NOT_SUPPORTED when nothing is kept for this backend,
 * - %SANDBOX_ERROR_INVALID or %SANDBOX_ERROR_PATH for a name or a set that makes no sense,
 * - %SANDBOX_ERROR_NOT_FOUND, %SANDBOX_ERROR_DENIED or %SANDBOX_ERROR_PATH when a file cannot be read, or is none,
 * - %SANDBOX_ERROR_LIMIT when there is too much, or the disk is full,
 * - %SANDBOX_ERROR_DENIED when the state directory is not safe.
 *
 * Then no template has been made.
 *
 * Since: 1.0
 */
void
sandbox_backend_prewarm_async (SandboxBackend     *self,
                               const char         *name,
                               SandboxFileSet     *files,
                               GCancellable       *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer            user_data)
{
  SandboxStorageCall *call = NULL;

  g_return_if_fail (SANDBOX_IS_BACKEND (self));
  g_return_if_fail (name != NULL);
  g_return_if_fail (files == NULL || SANDBOX_IS_FILE_SET (files));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  call = sandbox_storage_call_new (self, "A template", sandbox_storage_prewarm, sandbox_backend_prewarm_async,
                                   cancellable, callback, user_data);
  if (call == NULL)
    return;

  call->name = g_strdup (name);
  if (files != NULL)
    call->files = sandbox_file_set_freeze (files);
  else
    {
      g_autoptr (SandboxFileSet) none = sandbox_file_set_new ();

      call->files = sandbox_file_set_freeze (none);
    }
  sandbox_storage_call_start (call, NULL);
}

/**
 * sandbox_backend_prewarm_finish:
 * @self: a backend
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Backend.prewarm_async].
 *
 * Returns: (transfer full): the template
 *
 * Since: 1.0
 */
SandboxTemplate *
sandbox_backend_prewarm_finish (SandboxBackend *self,
                                GAsyncResult   *result,
                                GError        **error)
{
  return sandbox_storage_call_propagate (self, result, sandbox_backend_prewarm_async, error);
}

/**
 * sandbox_backend_prewarm:
 * @self: a backend
 * @name: a name for the template, of 1 to 255 bytes
 * @files: (nullable): the files, or %NULL for none; the set is copied
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Makes sure that there is a template of these files. See [method@Sandbox.Backend.prewarm_async].
 *
 * Returns: (transfer full): the template
 *
 * Since: 1.0
 */
SandboxTemplate *
sandbox_backend_prewarm (SandboxBackend *self,
                         const char     *name,
                         SandboxFileSet *files,
                         GCancellable   *cancellable,
                         GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  sandbox_sync_begin (&sync, NULL);
  sandbox_backend_prewarm_async (self, name, files, cancellable, sandbox_sync_cb, &sync);

  return sandbox_backend_prewarm_finish (self, sandbox_sync_wait (&sync), error);
}

static gpointer
sandbox_storage_list_templates (SandboxStorageCall *call,
                                SandboxStore       *store,
                                GError            **error)
{
  g_autoptr (GPtrArray) templates = sandbox_store_list_templates (store, sandbox_storage_call_check, call, error);

  return templates != NULL ? sandbox_storage_make_list (SANDBOX_TYPE_TEMPLATE, templates) : NULL;
}

/**
 * sandbox_backend_list_templates_async:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the list
 * @user_data: data for @callback
 *
 * Lists the templates that are stored for this backend, in the order of their keys.
 *
 * It is how things are now, and does not change. What others remove meanwhile may be missing, and what is damaged is. Fails with
 * %SANDBOX_ERROR_NOT_SUPPORTED when nothing is kept for this backend.
 *
 * Since: 1.0
 */
void
sandbox_backend_list_templates_async (SandboxBackend     *self,
                                      GCancellable       *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer            user_data)
{
  SandboxStorageCall *call = NULL;

  g_return_if_fail (SANDBOX_IS_BACKEND (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  call = sandbox_storage_call_new (self, "A list of templates", sandbox_storage_list_templates,
                                   sandbox_backend_list_templates_async, cancellable, callback, user_data);
  if (call != NULL)
    sandbox_storage_call_start (call, NULL);
}

/**
 * sandbox_backend_list_templates_finish:
 * @self: a backend
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Backend.list_templates_async].
 *
 * Returns: (transfer full): a list of [class@Sandbox.Template]
 *
 * Since: 1.0
 */
GListModel *
sandbox_backend_list_templates_finish (SandboxBackend *self,
                                       GAsyncResult   *result,
                                       GError        **error)
{
  return sandbox_storage_call_propagate (self, result, sandbox_backend_list_templates_async, error);
}

/**
 * sandbox_backend_list_templates:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Lists the stored templates. See [method@Sandbox.Backend.list_templates_async].
 *
 * Returns: (transfer full): a list of [class@Sandbox.Template]
 *
 * Since: 1.0
 */
GListModel *
sandbox_backend_list_templates (SandboxBackend *self,
                                GCancellable   *cancellable,
                                GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), NULL);

  sandbox_sync_begin (&sync, NULL);
  sandbox_backend_list_templates_async (self, cancellable, sandbox_sync_cb, &sync);

  return sandbox_backend_list_templates_finish (self, sandbox_sync_wait (&sync), error);
}

static gpointer
sandbox_storage_delete_template (SandboxStorageCall *call,
                                 SandboxStore       *store,
                                 GError            **error)
{
  sandbox_store_delete_template (store, call->key, sandbox_storage_call_check, call, error);

  return NULL;
}

/**
 * sandbox_backend_delete_template_async:
 * @self: a backend
 * @key: the key of a template
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when it is removed
 * @user_data: data for @callback
 *
 * Removes a stored template. It is no error when there is none.
 *
 * Sessions that have files of their own stay as they are. As long as there is one that is an overlay over the template, in
 * use or not, or one is being made, it is %SANDBOX_ERROR_BUSY. Fails with %SANDBOX_ERROR_INVALID for what is no key, and with
 * %SANDBOX_ERROR_NOT_SUPPORTED when nothing is kept for this backend. A template whose removal was cancelled, or failed
 * half-way, is gone too.
 *
 * Since: 1.0
 */
void
sandbox_backend_delete_template_async (SandboxBackend     *self,
                                       const char         *key,
                                       GCancellable       *cancellable,
                                       GAsyncReadyCallback callback,
                                       gpointer            user_data)
{
  SandboxStorageCall *call = NULL;
  GError             *error = NULL;

  g_return_if_fail (SANDBOX_IS_BACKEND (self));
  g_return_if_fail (key != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  call = sandbox_storage_call_new (self, "A template", sandbox_storage_delete_template,
                                   sandbox_backend_delete_template_async, cancellable, callback, user_data);
  if (call == NULL)
    return;

  call->pool = SANDBOX_POOL_REMOVALS;
  call->key = g_strdup (key);
  if (!sandbox_key_is_valid (key))
    g_set_error_literal (&error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                         "The key of a template has 64 hexadecimal digits in lower case, and this is none");
  sandbox_storage_call_start (call, error);
}

/**
 * sandbox_backend_delete_template_finish:
 * @self: a backend
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Backend.delete_template_async].
 *
 * Returns: whether there is no such template any more
 *
 * Since: 1.0
 */
gboolean
sandbox_backend_delete_template_finish (SandboxBackend *self,
                                        GAsyncResult   *result,
                                        GError        **error)
{
  return sandbox_storage_call_propagate_done (self, result, sandbox_backend_delete_template_async, error);
}

/**
 * sandbox_backend_delete_template:
 * @self: a backend
 * @key: the key of a template
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Removes a stored template. See [method@Sandbox.Backend.delete_template_async].
 *
 * Returns: whether there is no such template any more
 *
 * Since: 1.0
 */
gboolean
sandbox_backend_delete_template (SandboxBackend *self,
                                 const char     *key,
                                 GCancellable   *cancellable,
                                 GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), FALSE);
  g_return_val_if_fail (key != NULL, FALSE);

  sandbox_sync_begin (&sync, NULL);
  sandbox_backend_delete_template_async (self, key, cancellable, sandbox_sync_cb, &sync);

  return sandbox_backend_delete_template_finish (self, sandbox_sync_wait (&sync), error);
}

/* ---- Sessions */

static gpointer
sandbox_storage_list_sessions (SandboxStorageCall *call,
                               SandboxStore       *store,
                               GError            **error)
{
  g_autoptr (GPtrArray) sessions = sandbox_store_list_sessions (store, sandbox_storage_call_check, call, error);

  return sessions != NULL ? sandbox_storage_make_list (SANDBOX_TYPE_STATE, sessions) : NULL;
}

/**
 * sandbox_backend_list_sessions_async:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the list
 * @user_data: data for @callback
 *
 * Lists the sessions that are stored for this backend, in the order of their ids, those that somebody has too.
 *
 * A host can find those that it has lost the state of, by their labels or all of them. It is how things are now, and
 * does not change. What others remove meanwhile may be missing, and what is damaged is. Fails with
 * %SANDBOX_ERROR_NOT_SUPPORTED when nothing is kept for this backend.
 *
 * Since: 1.0
 */
void
sandbox_backend_list_sessions_async (SandboxBackend     *self,
                                     GCancellable       *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer            user_data)
{
  SandboxStorageCall *call = NULL;

  g_return_if_fail (SANDBOX_IS_BACKEND (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  call = sandbox_storage_call_new (self, "A list of sessions", sandbox_storage_list_sessions,
                                   sandbox_backend_list_sessions_async, cancellable, callback, user_data);
  if (call != NULL)
    sandbox_storage_call_start (call, NULL);
}

/**
 * sandbox_backend_list_sessions_finish:
 * @self: a backend
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Backend.list_sessions_async].
 *
 * Returns: (transfer full): a list of [class@Sandbox.State]
 *
 * Since: 1.0
 */
GListModel *
sandbox_backend_list_sessions_finish (SandboxBackend *self,
                                      GAsyncResult   *result,
                                      GError        **error)
{
  return sandbox_storage_call_propagate (self, result, sandbox_backend_list_sessions_async, error);
}

/**
 * sandbox_backend_list_sessions:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Lists the stored sessions. See [method@Sandbox.Backend.list_sessions_async].
 *
 * Returns: (transfer full): a list of [class@Sandbox.State]
 *
 * Since: 1.0
 */
GListModel *
sandbox_backend_list_sessions (SandboxBackend *self,
                               GCancellable   *cancellable,
                               GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), NULL);

  sandbox_sync_begin (&sync, NULL);
  sandbox_backend_list_sessions_async (self, cancellable, sandbox_sync_cb, &sync);

  return sandbox_backend_list_sessions_finish (self, sandbox_sync_wait (&sync), error);
}

static gpointer
sandbox_storage_delete_session (SandboxStorageCall *call,
                                SandboxStore       *store,
                                GError            **error)
{
  sandbox_store_delete_session (store, call->state, sandbox_storage_call_check, call, error);

  return NULL;
}

/**
 * sandbox_backend_delete_session_async:
 * @self: a backend
 * @state: the state of a session
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when it is removed
 * @user_data: data for @callback
 *
 * Removes a stored session with all its files. It is no error when there is none.
 *
 * The template that it was made from stays. Fails with %SANDBOX_ERROR_BUSY when somebody has it, or something of it is
 * alive for more than 5 seconds, with %SANDBOX_ERROR_STATE_MISMATCH when the state is of another backend or is not what
 * is stored, with %SANDBOX_ERROR_CORRUPT when what is stored has been damaged, and with %SANDBOX_ERROR_NOT_SUPPORTED
 * when nothing is kept for this backend; then nothing is removed. A session whose removal was cancelled once it had
 * begun, or failed half-way, is gone too.
 *
 * ```python
 * # Whatever a crash, or a host that forgot, has left
 * for state in backend.list_sessions(None):
 *     try:
 *         backend.delete_session(state, None)
 *     except GLib.Error as error:
 *         if not error.matches(Sandbox.error_quark(), Sandbox.Error.BUSY):  # it is somebody's
 *             raise
 * ```
 *
 * Since: 1.0
 */
void
sandbox_backend_delete_session_async (SandboxBackend     *self,
                                      SandboxState       *state,
                                      GCancellable       *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer            user_data)
{
  SandboxStorageCall *call = NULL;
  GError             *error = NULL;

  g_return_if_fail (SANDBOX_IS_BACKEND (self));
  g_return_if_fail (SANDBOX_IS_STATE (state));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  call = sandbox_storage_call_new (self, "A session", sandbox_storage_delete_session,
                                   sandbox_backend_delete_session_async, cancellable, callback, user_data);
  if (call == NULL)
    return;

  call->pool = SANDBOX_POOL_REMOVALS;
  call->state = g_object_ref (state);
  if (!sandbox_state_is_complete (state))
    g_set_error_literal (&error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The state is empty");
  else
    sandbox_state_check_backend (state, sandbox_backend_get_name (self), &error);
  sandbox_storage_call_start (call, error);
}

/**
 * sandbox_backend_delete_session_finish:
 * @self: a backend
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Backend.delete_session_async].
 *
 * Returns: whether there is no such session any more
 *
 * Since: 1.0
 */
gboolean
sandbox_backend_delete_session_finish (SandboxBackend *self,
                                       GAsyncResult   *result,
                                       GError        **error)
{
  return sandbox_storage_call_propagate_done (self, result, sandbox_backend_delete_session_async, error);
}

/**
 * sandbox_backend_delete_session:
 * @self: a backend
 * @state: the state of a session
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Removes a stored session with all its files. See [method@Sandbox.Backend.delete_session_async].
 *
 * Returns: whether there is no such session any more
 *
 * Since: 1.0
 */
gboolean
sandbox_backend_delete_session (SandboxBackend *self,
                                SandboxState   *state,
                                GCancellable   *cancellable,
                                GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), FALSE);
  g_return_val_if_fail (SANDBOX_IS_STATE (state), FALSE);

  sandbox_sync_begin (&sync, NULL);
  sandbox_backend_delete_session_async (self, state, cancellable, sandbox_sync_cb, &sync);

  return sandbox_backend_delete_session_finish (self, sandbox_sync_wait (&sync), error);
}
