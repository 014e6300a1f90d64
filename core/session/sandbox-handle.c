/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-handle-private.h"

#include "sandbox-enums.h"
#include "sandbox-process-private.h"
#include "sandbox-request-private.h"
#include "sandbox-session-private.h"
#include "sandbox-worker-private.h"

/* How long after the driver has closed its commands may take to be proven gone. */
#define IDLE_LIMIT_MS 5000

/**
 * SandboxHandle:
 *
 * The owner's end of a session.
 *
 * Whoever created the session holds the handle and ends the session with it; the
 * [property@Sandbox.Handle:session] can be passed on to code that only uses it.
 *
 * A handle that is dropped does not stop the session's commands: they live until their own end, and their
 * time limit is the longest that they can. Call [method@Sandbox.Handle.stop] or
 * [method@Sandbox.Handle.shutdown].
 *
 * The files of a session that the library keeps stay when it is stopped. The host keeps the state, which is small and
 * has no secrets, and goes on with it later, in this or another program:
 *
 * ```c
 * g_autoptr (SandboxState) state = sandbox_handle_capture_state (handle, &error);
 * g_autofree char *text = sandbox_state_to_json (state);
 *
 * sandbox_handle_stop (handle, NULL, &error);
 * // ... and later, with what was kept of text:
 * sandbox_create_options_set_state (options, sandbox_state_new_from_json (text, &error));
 * handle = sandbox_backend_create (backend, options, NULL, &error);
 * ```
 *
 * One handle at a time has such a session, in all programs of the host; that ends with the stop, with the program, or
 * when the handle, the session and their commands are gone. When nobody needs the files any more,
 * [method@Sandbox.Handle.delete] or [method@Sandbox.Backend.delete_session] removes them.
 *
 * Since: 1.0
 */

struct _SandboxHandle
{
  GObject parent_instance;

  SandboxCore    *core;
  SandboxSession *session;
};

typedef enum
{
  PROP_SESSION = 1,
  PROP_PHASE,
  PROP_WORKSPACE_MODE,
} SandboxHandleProps;

static GParamSpec *properties[PROP_WORKSPACE_MODE + 1];

G_DEFINE_FINAL_TYPE (SandboxHandle, sandbox_handle, G_TYPE_OBJECT)

static void
sandbox_handle_get_property (GObject    *object,
                             guint       prop_id,
                             GValue     *value,
                             GParamSpec *pspec)
{
  SandboxHandle *self = SANDBOX_HANDLE (object);

  switch ((SandboxHandleProps) prop_id)
    {
    case PROP_SESSION:
      g_value_set_object (value, sandbox_handle_get_session (self));
      break;

    case PROP_PHASE:
      g_value_set_enum (value, sandbox_handle_get_phase (self));
      break;

    case PROP_WORKSPACE_MODE:
      g_value_set_enum (value, sandbox_handle_get_workspace_mode (self));
      break;
    }
}

static void
sandbox_handle_finalize (GObject *object)
{
  SandboxHandle *self = SANDBOX_HANDLE (object);

  g_clear_object (&self->session);
  g_clear_pointer (&self->core, sandbox_core_unref);

  G_OBJECT_CLASS (sandbox_handle_parent_class)->finalize (object);
}

static void
sandbox_handle_class_init (SandboxHandleClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = sandbox_handle_get_property;
  object_class->finalize = sandbox_handle_finalize;

  /**
   * SandboxHandle:session: (getter get_session)
   *
   * The session.
   *
   * Since: 1.0
   */
  properties[PROP_SESSION] =
      g_param_spec_object ("session", NULL, NULL, SANDBOX_TYPE_SESSION,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxHandle:phase: (getter get_phase)
   *
   * Where the session is in its life.
   *
   * It changes when a stop or a delete has ended, without a notification.
   *
   * Since: 1.0
   */
  properties[PROP_PHASE] =
      g_param_spec_enum ("phase", NULL, NULL, SANDBOX_TYPE_PHASE, SANDBOX_PHASE_LIVE,
                         G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxHandle:workspace-mode: (getter get_workspace_mode)
   *
   * How the workspace came by its files.
   *
   * It is never %SANDBOX_WORKSPACE_MODE_AUTO for a workspace that the library keeps, and always for another one.
   *
   * Since: 1.0
   */
  properties[PROP_WORKSPACE_MODE] =
      g_param_spec_enum ("workspace-mode", NULL, NULL, SANDBOX_TYPE_WORKSPACE_MODE, SANDBOX_WORKSPACE_MODE_AUTO,
                         G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_handle_init (SandboxHandle *self)
{
}

SandboxHandle *
sandbox_handle_new_for_core (SandboxCore *core)
{
  SandboxHandle *self = g_object_new (SANDBOX_TYPE_HANDLE, NULL);

  self->core = sandbox_core_ref (core);
  self->session = sandbox_session_new_for_core (core);

  return self;
}

/**
 * sandbox_handle_get_session: (get-property session)
 * @self: a handle
 *
 * Gets the session.
 *
 * Returns: (transfer none): the session
 *
 * Since: 1.0
 */
SandboxSession *
sandbox_handle_get_session (SandboxHandle *self)
{
  g_return_val_if_fail (SANDBOX_IS_HANDLE (self), NULL);

  return self->session;
}

/**
 * sandbox_handle_get_phase: (get-property phase)
 * @self: a handle
 *
 * Gets where the session is in its life.
 *
 * Returns: the phase
 *
 * Since: 1.0
 */
SandboxPhase
sandbox_handle_get_phase (SandboxHandle *self)
{
  g_return_val_if_fail (SANDBOX_IS_HANDLE (self), SANDBOX_PHASE_STOPPED);

  return sandbox_core_get_phase (self->core);
}

/**
 * sandbox_handle_get_workspace_mode: (get-property workspace-mode)
 * @self: a handle
 *
 * Gets how the workspace came by its files.
 *
 * Returns: the mode
 *
 * Since: 1.0
 */
SandboxWorkspaceMode
sandbox_handle_get_workspace_mode (SandboxHandle *self)
{
  SandboxKeptSession *kept = NULL;

  g_return_val_if_fail (SANDBOX_IS_HANDLE (self), SANDBOX_WORKSPACE_MODE_AUTO);

  kept = sandbox_core_get_kept (self->core);

  return kept != NULL ? sandbox_kept_session_get_mode (kept) : SANDBOX_WORKSPACE_MODE_AUTO;
}

/**
 * sandbox_handle_capture_state:
 * @self: a handle
 * @error: return location for an error
 *
 * Gets what a host keeps of the session to go on with it later; see [property@Sandbox.CreateOptions:state].
 *
 * It is the same for the life of the session, and may be captured before or after it is stopped. Nothing of
 * the network policy, the profile or other options is in it. That of a backend without a state directory is good for
 * nothing once the session is stopped, as its files are gone then.
 *
 * Fails with %SANDBOX_ERROR_NOT_SUPPORTED when the library does not keep the workspace: it is a directory of the
 * host's own, or the backend has its own place for it; and with %SANDBOX_ERROR_STOPPED when the session has been
 * deleted.
 *
 * Returns: (transfer full): the state
 *
 * Since: 1.0
 */
SandboxState *
sandbox_handle_capture_state (SandboxHandle *self,
                              GError       **error)
{
  SandboxKeptSession *kept = NULL;

  g_return_val_if_fail (SANDBOX_IS_HANDLE (self), NULL);

  if (!sandbox_core_check_own (self->core, error))
    return NULL;

  kept = sandbox_core_get_kept (self->core);
  if (sandbox_core_get_phase (self->core) == SANDBOX_PHASE_DELETED)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The session has been deleted");
  else if (kept == NULL)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                         "The workspace of the session is not kept by this library, so it has no state");
  else
    return g_object_ref (sandbox_kept_session_get_state (kept));

  return NULL;
}

/* A stop: end the commands, close the driver, wait for what was just being started, close the gateway, give up the lease. It
 * goes on by itself: whoever waits for it, perhaps below the call that began it, may keep the context of that call from
 * being run. So the steps, which stand last to first, are made by the worker, but the driver is closed where it may be
 * called. */

typedef struct
{
  SandboxCore    *core;
  GMainContext   *context; /* of the call */
  GPtrArray      *processes;
  guint           alive;
  SandboxGateway *gateway;
  GError         *error;
} SandboxStop;

/* Answers everybody who waits, once everything that can be released is. */
static void
sandbox_stop_end (gpointer data,
                  gpointer user_data)
{
  SandboxStop        *self = data;
  SandboxCore        *core = self->core;
  GError             *error = self->error;
  SandboxKeptSession *kept = sandbox_core_get_kept (core);

  /* With a lease that a delete goes on with, nobody comes in between. What is not proven to be gone holds up the next
   * owner by itself. */
  if (kept != NULL && (error != NULL || !sandbox_core_is_deleting (core)))
    sandbox_kept_session_release (kept);

  g_clear_object (&self->gateway);
  g_main_context_unref (self->context);
  g_free (self);
  sandbox_core_set_stopped (core, error);
}

static gboolean
sandbox_stop_release_cb (gpointer user_data)
{
  SandboxStop *self = user_data;

  if (sandbox_core_get_kept (self->core) != NULL)
    sandbox_storage_run (SANDBOX_POOL_CALLS, sandbox_stop_end, self);
  else
    sandbox_stop_end (self, NULL);

  return G_SOURCE_REMOVE;
}

static void
sandbox_stop_gateway_closed (gpointer      user_data,
                             gpointer      answer,
                             const GError *error)
{
  SandboxStop *self = user_data;

  if (error != NULL && self->error == NULL)
    self->error = g_error_copy (error);
  sandbox_worker_invoke (sandbox_stop_release_cb, self, NULL);
}

static gboolean
sandbox_stop_close_gateway_cb (gpointer user_data)
{
  SandboxStop *self = user_data;
  g_autoptr (SandboxRequest) request = NULL;
  GError  *error = NULL;
  gboolean taken = FALSE;

  self->gateway = sandbox_core_steal_gateway (self->core);
  if (self->gateway == NULL)
    return sandbox_stop_release_cb (self);

  request = sandbox_request_new_internal (G_TYPE_NONE, NULL, sandbox_stop_gateway_closed, self);
  taken = SANDBOX_GATEWAY_GET_IFACE (self->gateway)->close (self->gateway, request, &error);
  sandbox_request_dispatched (request, taken, error);

  return G_SOURCE_REMOVE;
}

/* Who tells this may have the session, and should not be the last. */
static void
sandbox_stop_is_idle (gpointer user_data,
                      gboolean idle)
{
  SandboxStop *self = user_data;
  g_autoptr (GSource) source = g_idle_source_new ();

  if (!idle && self->error == NULL)
    g_set_error_literal (&self->error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED,
                         "The commands of the session, or a change of its network policy, are not proven to be over");

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, sandbox_stop_close_gateway_cb, self, NULL);
  g_source_attach (source, sandbox_get_worker_context ());
}

static gboolean
sandbox_stop_wait_idle_cb (gpointer user_data)
{
  SandboxStop *self = user_data;

  sandbox_core_wait_idle (self->core, sandbox_stop_is_idle, self, IDLE_LIMIT_MS);

  return G_SOURCE_REMOVE;
}

static void
sandbox_stop_driver_closed (gpointer      user_data,
                            gpointer      answer,
                            const GError *error)
{
  SandboxStop *self = user_data;

  if (error != NULL && !g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED)) /* nothing to close is fine */
    self->error = g_error_copy (error);
  sandbox_worker_invoke (sandbox_stop_wait_idle_cb, self, NULL);
}

static gboolean
sandbox_stop_close_driver_cb (gpointer user_data)
{
  SandboxStop   *self = user_data;
  SandboxDriver *driver = sandbox_core_get_driver (self->core);
  g_autoptr (SandboxRequest) request = NULL;
  GError  *error = NULL;
  gboolean taken = FALSE;

  g_clear_pointer (&self->processes, g_ptr_array_unref);
  request = sandbox_request_new_internal (G_TYPE_NONE, NULL, sandbox_stop_driver_closed, self);
  sandbox_request_set_timed_by_worker (request);
  taken = SANDBOX_DRIVER_GET_IFACE (driver)->close (driver, request, &error);
  sandbox_request_dispatched (request, taken, error);

  return G_SOURCE_REMOVE;
}

static void
sandbox_stop_gone_cb (GObject      *object,
                      GAsyncResult *result,
                      gpointer      user_data)
{
  SandboxStop *self = user_data;

  if (--self->alive == 0)
    sandbox_core_invoke_for_driver (self->core, self->context, sandbox_stop_close_driver_cb, self, NULL);
}

static gboolean
sandbox_stop_wait_gone_cb (gpointer user_data)
{
  SandboxStop *self = user_data;

  for (guint i = 0; i < self->processes->len; i++)
    {
      SandboxProcess *process = self->processes->pdata[i];

      sandbox_process_wait_with_task (process, g_task_new (process, NULL, sandbox_stop_gone_cb, self));
    }

  return G_SOURCE_REMOVE;
}

/* Tells @func what became of the one stop. With @gently, commands get TERM and their grace. */
static void
sandbox_handle_end (SandboxHandle  *self,
                    gboolean        gently,
                    SandboxStopFunc func,
                    gpointer        user_data)
{
  SandboxStop *stop = NULL;

  if (!sandbox_core_begin_stop (self->core, func, user_data))
    return;

  stop = g_new0 (SandboxStop, 1);
  stop->core = sandbox_core_ref (self->core);
  stop->context = g_main_context_ref_thread_default ();
  stop->processes = sandbox_core_dup_processes (self->core);
  stop->alive = stop->processes->len;
  if (stop->alive == 0)
    {
      sandbox_stop_close_driver_cb (stop);
      return;
    }
  for (guint i = 0; i < stop->processes->len; i++)
    {
      SandboxProcess *process = stop->processes->pdata[i];
      guint           grace = sandbox_command_get_kill_grace_ms (sandbox_process_get_command (process));

      sandbox_process_terminate (process, SANDBOX_OUTCOME_STOPPED, gently ? grace : 0);
    }
  sandbox_worker_invoke (sandbox_stop_wait_gone_cb, stop, NULL);
}

static void
sandbox_handle_stopped (gpointer      user_data,
                        const GError *error)
{
  sandbox_core_answer_task (user_data, error);
}

/* @task is taken. */
static void
sandbox_handle_end_with_task (SandboxHandle *self,
                              gboolean       gently,
                              GTask         *task)
{
  if (g_task_return_error_if_cancelled (task))
    g_object_unref (task);
  else
    sandbox_handle_end (self, gently, sandbox_handle_stopped, task);
}

/**
 * sandbox_handle_stop_async:
 * @self: a handle
 * @cancellable: (nullable): a cancellable; a stop that has begun goes on to its end
 * @callback: (scope async) (closure user_data): called when everything is released
 * @user_data: data for @callback
 *
 * Ends the session: its commands get `SIGTERM`, and what is left of each after its
 * [property@Sandbox.Command:kill-grace-ms] is killed.
 *
 * The files of the workspace stay, and the session can be gone on with by its state; only a backend without a state
 * directory removes them. Later calls of the session fail with %SANDBOX_ERROR_STOPPED, and so does the closing of a
 * stream that still writes a file. Stopping again, at the same time or later, changes nothing and tells what became of
 * the one stop; a handler of a signal may do it too, whatever call of the session it is told in.
 *
 * Since: 1.0
 */
void
sandbox_handle_stop_async (SandboxHandle      *self,
                           GCancellable       *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer            user_data)
{
  GTask *task = NULL;

  g_return_if_fail (SANDBOX_IS_HANDLE (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, sandbox_handle_stop_async);
  sandbox_handle_end_with_task (self, TRUE, task);
}

/**
 * sandbox_handle_stop_finish:
 * @self: a handle
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Handle.stop_async].
 *
 * Returns: whether everything is released
 *
 * Since: 1.0
 */
gboolean
sandbox_handle_stop_finish (SandboxHandle *self,
                            GAsyncResult  *result,
                            GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_handle_stop_async), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * sandbox_handle_stop:
 * @self: a handle
 * @cancellable: (nullable): a cancellable; a stop that has begun goes on to its end
 * @error: return location for an error
 *
 * Ends the session. See [method@Sandbox.Handle.stop_async].
 *
 * Returns: whether everything is released
 *
 * Since: 1.0
 */
gboolean
sandbox_handle_stop (SandboxHandle *self,
                     GCancellable  *cancellable,
                     GError       **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_HANDLE (self), FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (self->core));
  sandbox_handle_stop_async (self, cancellable, sandbox_sync_cb, &sync);

  return sandbox_handle_stop_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_handle_shutdown_async:
 * @self: a handle
 * @cancellable: (nullable): a cancellable; a shutdown that has begun goes on to its end
 * @callback: (scope async) (closure user_data): called when everything is released
 * @user_data: data for @callback
 *
 * Ends the session like [method@Sandbox.Handle.stop_async], but kills its commands at once.
 *
 * Since: 1.0
 */
void
sandbox_handle_shutdown_async (SandboxHandle      *self,
                               GCancellable       *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer            user_data)
{
  GTask *task = NULL;

  g_return_if_fail (SANDBOX_IS_HANDLE (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, sandbox_handle_shutdown_async);
  sandbox_handle_end_with_task (self, FALSE, task);
}

/**
 * sandbox_handle_shutdown_finish:
 * @self: a handle
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Handle.shutdown_async].
 *
 * Returns: whether everything is released
 *
 * Since: 1.0
 */
gboolean
sandbox_handle_shutdown_finish (SandboxHandle *self,
                                GAsyncResult  *result,
                                GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_handle_shutdown_async), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * sandbox_handle_shutdown:
 * @self: a handle
 * @cancellable: (nullable): a cancellable; a shutdown that has begun goes on to its end
 * @error: return location for an error
 *
 * Ends the session and kills its commands at once. See [method@Sandbox.Handle.shutdown_async].
 *
 * Returns: whether everything is released
 *
 * Since: 1.0
 */
gboolean
sandbox_handle_shutdown (SandboxHandle *self,
                         GCancellable  *cancellable,
                         GError       **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_HANDLE (self), FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (self->core));
  sandbox_handle_shutdown_async (self, cancellable, sandbox_sync_cb, &sync);

  return sandbox_handle_shutdown_finish (self, sandbox_sync_wait (&sync), error);
}

/* A delete: stop, then remove. The steps stand last to first, and go on by themselves too. */

static void
sandbox_handle_remove (gpointer data,
                       gpointer user_data)
{
  GTask         *task = data;
  SandboxHandle *self = SANDBOX_HANDLE (g_task_get_source_object (task));
  GError        *error = NULL;

  sandbox_kept_session_delete (sandbox_core_get_kept (self->core), &error);
  sandbox_core_end_delete (self->core, task, error);
}

static void
sandbox_handle_stopped_to_delete (gpointer      user_data,
                                  const GError *error)
{
  GTask         *task = user_data;
  SandboxHandle *self = SANDBOX_HANDLE (g_task_get_source_object (task));

  /* After a stop that failed the lease has been given up. Whoever takes it knows what of the session is alive. */
  if (sandbox_core_get_kept (self->core) != NULL)
    sandbox_storage_run (SANDBOX_POOL_REMOVALS, sandbox_handle_remove, task);
  else
    sandbox_core_end_delete (self->core, task, error != NULL ? g_error_copy (error) : NULL);
}

/**
 * sandbox_handle_delete_async:
 * @self: a handle
 * @cancellable: (nullable): a cancellable; a delete that has begun goes on to its end
 * @callback: (scope async) (closure user_data): called when the files are removed
 * @user_data: data for @callback
 *
 * Ends the session like [method@Sandbox.Handle.stop_async], and removes its workspace with all files and its state.
 * The template that it was made from stays.
 *
 * A directory of the host's own is left alone; see [property@Sandbox.CreateOptions:workspace-path]. Deleting again, at
 * the same time or later, changes nothing. After a failure it can be tried again.
 *
 * Fails with %SANDBOX_ERROR_BUSY, and removes nothing, when the session had been stopped and somebody has it again by
 * its state, or when something of it is still alive. For that, such as for a sandbox that was being started when the
 * session was stopped, it waits 5 seconds at the most.
 *
 * Since: 1.0
 */
void
sandbox_handle_delete_async (SandboxHandle      *self,
                             GCancellable       *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer            user_data)
{
  g_autoptr (GTask) task = NULL;

  g_return_if_fail (SANDBOX_IS_HANDLE (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, sandbox_handle_delete_async);
  if (g_task_return_error_if_cancelled (task))
    return;
  g_task_set_check_cancellable (task, FALSE);
  if (sandbox_core_begin_delete (self->core, task))
    sandbox_handle_end (self, TRUE, sandbox_handle_stopped_to_delete, g_steal_pointer (&task));
}

/**
 * sandbox_handle_delete_finish:
 * @self: a handle
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Handle.delete_async].
 *
 * Returns: whether the session is gone
 *
 * Since: 1.0
 */
gboolean
sandbox_handle_delete_finish (SandboxHandle *self,
                              GAsyncResult  *result,
                              GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_handle_delete_async), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * sandbox_handle_delete:
 * @self: a handle
 * @cancellable: (nullable): a cancellable; a delete that has begun goes on to its end
 * @error: return location for an error
 *
 * Ends the session and removes its files. See [method@Sandbox.Handle.delete_async].
 *
 * Returns: whether the session is gone
 *
 * Since: 1.0
 */
gboolean
sandbox_handle_delete (SandboxHandle *self,
                       GCancellable  *cancellable,
                       GError       **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_HANDLE (self), FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (self->core));
  sandbox_handle_delete_async (self, cancellable, sandbox_sync_cb, &sync);

  return sandbox_handle_delete_finish (self, sandbox_sync_wait (&sync), error);
}
