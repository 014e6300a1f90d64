/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a command that a host describes to one that runs, and on to its result. */

#include "sandbox-session-private.h"

#include "sandbox-command-private.h"
#include "sandbox-error-private.h"
#include "sandbox-process-private.h"
#include "sandbox-request-private.h"

/* A driver has its own limit for a start, with a better message; this one is for those that have none. */
#define START_LIMIT_MS 15000
/* So long a cancelled start may take to prove that nothing runs. */
#define START_CANCEL_GRACE_MS 3000

typedef struct
{
  SandboxCore    *core;
  SandboxCommand *command;
  gboolean        collects;
} SandboxStart;

static void
sandbox_start_free (gpointer data)
{
  SandboxStart *start = data;

  g_clear_object (&start->command);
  sandbox_core_unref (start->core);
  g_free (start);
}

/* In the thread that answers, which is most often the worker. */
static void
sandbox_session_started (gpointer      user_data,
                         gpointer      answer,
                         const GError *error)
{
  g_autoptr (GTask) task = user_data;
  SandboxStart   *start = g_task_get_task_data (task);
  SandboxDriver  *driver = sandbox_core_get_driver (start->core);
  SandboxProcess *process = answer;
  GCancellable   *cancellable = g_task_get_cancellable (task);

  if (error != NULL)
    {
      GError *stopped = NULL;

      if (g_cancellable_is_cancelled (cancellable))
        g_task_return_error (task, sandbox_error_new_cancelled ());
      else if (!sandbox_core_check_live (start->core, &stopped))
        g_task_return_error (task, stopped);
      else
        g_task_return_error (task, g_error_copy (error));
      return;
    }

  sandbox_process_attach (process, start->command, sandbox_core_get_dispatcher (start->core),
                          SANDBOX_DRIVER_GET_IFACE (driver)->thread_safe);
  if (!sandbox_core_add_process (start->core, process))
    sandbox_process_end_stopped (process);
  if (g_cancellable_is_cancelled (cancellable))
    sandbox_process_end (process, SANDBOX_OUTCOME_CANCELLED);

  if (start->collects)
    sandbox_process_collect (process, g_steal_pointer (&task));
  else if (g_cancellable_is_cancelled (cancellable))
    g_task_return_error (task, sandbox_error_new_cancelled ());
  else
    g_task_return_pointer (task, g_object_ref (process), g_object_unref);
}

/* The frozen command that the driver gets, and leave to start it; or NULL. */
static SandboxCommand *
sandbox_session_prepare (SandboxCore    *core,
                         SandboxCommand *command,
                         gboolean        collects,
                         SandboxTicket **ticket,
                         GError        **error)
{
  g_autofree char *cwd = NULL;

  if (!sandbox_core_check_live (core, error) ||
      !sandbox_command_validate (command, error))
    return NULL;

  cwd = sandbox_session_driver_path (core, sandbox_command_get_cwd (command), error);
  if (cwd == NULL)
    return NULL;

  /* With the ticket the policy stays what it is. */
  *ticket = sandbox_core_admit (core, error);
  if (*ticket == NULL)
    return NULL;

  return sandbox_command_freeze_for_driver (command, cwd, sandbox_core_get_limits (core),
                                            sandbox_core_get_proxy_variables (core), !collects);
}

/* @task is taken. */
static void
sandbox_session_start (SandboxSession *self,
                       SandboxCommand *command,
                       gboolean        collects,
                       GTask          *task_taken)
{
  g_autoptr (GTask) task = task_taken;
  g_autoptr (SandboxCommand) frozen = NULL;
  g_autoptr (SandboxTicket) ticket = NULL;
  g_autoptr (SandboxRequest) request = NULL;
  SandboxCore   *core = sandbox_session_get_core (self);
  SandboxDriver *driver = sandbox_core_get_driver (core);
  SandboxStart  *start = NULL;
  GError        *error = NULL;
  gboolean       taken = FALSE;

  if (g_task_return_error_if_cancelled (task))
    return;
  frozen = sandbox_session_prepare (core, command, collects, &ticket, &error);
  if (frozen == NULL)
    {
      g_task_return_error (task, error);
      return;
    }

  start = g_new (SandboxStart, 1);
  start->core = sandbox_core_ref (core);
  start->command = g_object_ref (frozen);
  start->collects = collects;
  g_task_set_task_data (task, start, sandbox_start_free);
  /* What has started is looked after before the caller hears anything. */
  g_task_set_check_cancellable (task, FALSE);

  request = sandbox_request_new_internal (SANDBOX_TYPE_PROCESS, g_task_get_cancellable (task),
                                          sandbox_session_started, g_object_ref (task));
  sandbox_request_set_limits (request, START_LIMIT_MS, START_CANCEL_GRACE_MS);
  sandbox_request_keep (request, g_steal_pointer (&ticket), sandbox_ticket_free);
  taken = SANDBOX_DRIVER_GET_IFACE (driver)->spawn (driver, frozen, request, &error);
  sandbox_request_dispatched (request, taken, error);
}

/**
 * sandbox_session_spawn_async:
 * @self: a session
 * @command: what to start; it is copied
 * @cancellable: (nullable): a cancellable; it counts until the command has started
 * @callback: (scope async) (closure user_data): called when the program runs
 * @user_data: data for @callback
 *
 * Starts a command and hands out its streams.
 *
 * A command without [property@Sandbox.Command:stdin] gets a stream to write its input to, which has to be
 * closed: a process that is dropped with its input open lives, and keeps its place, until its time is over. The
 * output is not bounded by [property@Sandbox.Command:max-output]: it waits until it is read.
 *
 * What does not start is an error: %SANDBOX_ERROR_NOT_FOUND for a missing program, interpreter or working
 * directory, %SANDBOX_ERROR_DENIED for a program that is not executable, %SANDBOX_ERROR_LIMIT for arguments
 * that are too long, %SANDBOX_ERROR_UNAVAILABLE when the host could not build the sandbox,
 * %SANDBOX_ERROR_BUSY when [property@Sandbox.Backend:max-concurrent-commands] are alive.
 *
 * Since: 1.0
 */
void
sandbox_session_spawn_async (SandboxSession     *self,
                             SandboxCommand     *command,
                             GCancellable       *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer            user_data)
{
  GTask *task = NULL;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (SANDBOX_IS_COMMAND (command));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, sandbox_session_spawn_async);
  sandbox_session_start (self, command, FALSE, task);
}

/**
 * sandbox_session_spawn_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.spawn_async].
 *
 * Returns: (transfer full): the running command
 *
 * Since: 1.0
 */
SandboxProcess *
sandbox_session_spawn_finish (SandboxSession *self,
                              GAsyncResult   *result,
                              GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_session_spawn_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * sandbox_session_spawn:
 * @self: a session
 * @command: what to start; it is copied
 * @cancellable: (nullable): a cancellable; it counts until the command has started
 * @error: return location for an error
 *
 * Starts a command and hands out its streams. See [method@Sandbox.Session.spawn_async].
 *
 * Returns: (transfer full): the running command
 *
 * Since: 1.0
 */
SandboxProcess *
sandbox_session_spawn (SandboxSession *self,
                       SandboxCommand *command,
                       GCancellable   *cancellable,
                       GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);
  g_return_val_if_fail (SANDBOX_IS_COMMAND (command), NULL);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_spawn_async (self, command, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_spawn_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_session_run_async:
 * @self: a session
 * @command: what to run; it is copied
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when everything of the command is gone
 * @user_data: data for @callback
 *
 * Runs a command to its end and collects its output.
 *
 * The answer comes when the output has ended and nothing of the command is left: what it leaves running
 * is killed. A command without [property@Sandbox.Command:stdin] reads an empty input.
 *
 * What does not start is an error, as at [method@Sandbox.Session.spawn_async]. What started gives a
 * result, however it ended; a cancelled call gives %G_IO_ERROR_CANCELLED, and the command is dead.
 *
 * Since: 1.0
 */
void
sandbox_session_run_async (SandboxSession     *self,
                           SandboxCommand     *command,
                           GCancellable       *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer            user_data)
{
  GTask *task = NULL;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (SANDBOX_IS_COMMAND (command));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, sandbox_session_run_async);
  sandbox_session_start (self, command, TRUE, task);
}

/**
 * sandbox_session_run_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.run_async].
 *
 * Returns: (transfer full): how the command ended, with its output
 *
 * Since: 1.0
 */
SandboxResult *
sandbox_session_run_finish (SandboxSession *self,
                            GAsyncResult   *result,
                            GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_session_run_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * sandbox_session_run:
 * @self: a session
 * @command: what to run; it is copied
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Runs a command to its end and collects its output. See [method@Sandbox.Session.run_async].
 *
 * Returns: (transfer full): how the command ended, with its output
 *
 * Since: 1.0
 */
SandboxResult *
sandbox_session_run (SandboxSession *self,
                     SandboxCommand *command,
                     GCancellable   *cancellable,
                     GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);
  g_return_val_if_fail (SANDBOX_IS_COMMAND (command), NULL);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_run_async (self, command, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_run_finish (self, sandbox_sync_wait (&sync), error);
}
