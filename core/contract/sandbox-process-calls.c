/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a host asks of a process; the states themselves are in sandbox-process.c. */

#include "sandbox-process-private.h"

#include "sandbox-error.h"
#include "sandbox-worker-private.h"

#include <signal.h>

/* Whether there is nothing left that could be told anything. */
static gboolean
sandbox_process_refuse_gone (SandboxProcess *self,
                             GError        **error)
{
  gboolean gone = sandbox_process_is_gone (self);

  if (gone)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The command has ended");

  return gone;
}

/* A task for a call of the host, or NULL when it has been refused. */
static GTask *
sandbox_process_new_task (SandboxProcess     *self,
                          gpointer            source_tag,
                          GCancellable       *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  GError *error = NULL;

  g_task_set_source_tag (task, source_tag);
  if (sandbox_process_check_own (self, &error))
    return g_steal_pointer (&task);

  g_task_return_error (task, error);

  return NULL;
}

/**
 * sandbox_process_send_signal: (virtual send_signal)
 * @self: a process
 * @signum: the number of the signal
 * @error: return location for an error
 *
 * Sends a signal to the process group of the command.
 *
 * Fails with %SANDBOX_ERROR_STOPPED when the command has ended.
 *
 * Returns: whether it was sent
 *
 * Since: 1.0
 */
gboolean
sandbox_process_send_signal (SandboxProcess *self,
                             int             signum,
                             GError        **error)
{
  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), FALSE);
  g_return_val_if_fail (signum > 0 && signum < NSIG, FALSE);

  if (!sandbox_process_check_own (self, error) || sandbox_process_refuse_gone (self, error))
    return FALSE;

  return SANDBOX_PROCESS_GET_CLASS (self)->send_signal (self, signum, error);
}

/**
 * sandbox_process_resize: (virtual resize)
 * @self: a process
 * @rows: lines of text
 * @columns: characters in a line
 * @error: return location for an error
 *
 * Changes the size of the terminal of the command.
 *
 * Fails with %SANDBOX_ERROR_NOT_SUPPORTED when it has none.
 *
 * Returns: whether it was changed
 *
 * Since: 1.0
 */
gboolean
sandbox_process_resize (SandboxProcess *self,
                        guint           rows,
                        guint           columns,
                        GError        **error)
{
  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), FALSE);
  g_return_val_if_fail (rows > 0 && columns > 0, FALSE);

  if (!sandbox_process_check_own (self, error) || sandbox_process_refuse_gone (self, error))
    return FALSE;

  return SANDBOX_PROCESS_GET_CLASS (self)->resize (self, rows, columns, error);
}

/**
 * sandbox_process_kill: (virtual kill)
 * @self: a process
 * @error: return location for an error
 *
 * Kills the command and everything that it has started, at once.
 *
 * The outcome is what the kernel says, most often %SANDBOX_OUTCOME_SIGNALED. A command that has ended
 * needs no killing, which is no error.
 *
 * Returns: whether everything is dead or has been told to die
 *
 * Since: 1.0
 */
gboolean
sandbox_process_kill (SandboxProcess *self,
                      GError        **error)
{
  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), FALSE);

  if (!sandbox_process_check_own (self, error))
    return FALSE;
  if (sandbox_process_refuse_gone (self, NULL))
    return TRUE;

  return sandbox_process_call_kill (self, error);
}

/**
 * sandbox_process_wait_async:
 * @self: a process
 * @cancellable: (nullable): ends the waiting, not the command
 * @callback: (scope async) (closure user_data): called when everything of the command is gone
 * @user_data: data for @callback
 *
 * Waits until nothing of the command is left.
 *
 * Since: 1.0
 */
void
sandbox_process_wait_async (SandboxProcess     *self,
                            GCancellable       *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer            user_data)
{
  GTask *task = NULL;

  g_return_if_fail (SANDBOX_IS_PROCESS (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = sandbox_process_new_task (self, sandbox_process_wait_async, cancellable, callback, user_data);
  if (task != NULL)
    sandbox_process_wait_with_task (self, task);
}

/**
 * sandbox_process_wait_finish:
 * @self: a process
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Process.wait_async].
 *
 * Returns: %TRUE, or %FALSE with an error when the waiting was cancelled
 *
 * Since: 1.0
 */
gboolean
sandbox_process_wait_finish (SandboxProcess *self,
                             GAsyncResult   *result,
                             GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_process_wait_async), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * sandbox_process_wait:
 * @self: a process
 * @cancellable: (nullable): ends the waiting, not the command
 * @error: return location for an error
 *
 * Waits until nothing of the command is left. Needs no main loop.
 *
 * Returns: %TRUE, or %FALSE with an error when the waiting was cancelled
 *
 * Since: 1.0
 */
gboolean
sandbox_process_wait (SandboxProcess *self,
                      GCancellable   *cancellable,
                      GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), FALSE);

  sandbox_sync_begin (&sync, sandbox_process_get_dispatcher (self));
  sandbox_process_wait_async (self, cancellable, sandbox_sync_cb, &sync);

  return sandbox_process_wait_finish (self, sandbox_sync_wait (&sync), error);
}

static void
sandbox_process_fed_cb (GObject      *object,
                        GAsyncResult *result,
                        gpointer      user_data)
{
  GOutputStream *stream = G_OUTPUT_STREAM (object);

  /* What the command did not want to read is no error. */
  g_output_stream_write_all_finish (stream, result, NULL, NULL);
  g_output_stream_close_async (stream, G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  g_bytes_unref (user_data);
}

typedef struct
{
  GOutputStream *stream;
  GBytes        *bytes;
  GCancellable  *cancellable;
} SandboxFeed;

/* Somebody else may hold the reading end for ever. */
static void
sandbox_process_stop_feeding (gpointer data)
{
  g_autoptr (GCancellable) cancellable = data;

  g_cancellable_cancel (cancellable);
}

static gboolean
sandbox_process_feed_cb (gpointer user_data)
{
  g_autofree SandboxFeed *feed = user_data;
  g_autoptr (GOutputStream) stream = feed->stream;
  g_autoptr (GCancellable) cancellable = feed->cancellable;
  gsize         size = 0;
  gconstpointer data = g_bytes_get_data (feed->bytes, &size);

  g_output_stream_write_all_async (stream, data, size, G_PRIORITY_DEFAULT, cancellable,
                                   sandbox_process_fed_cb, feed->bytes);

  return G_SOURCE_REMOVE;
}

/**
 * sandbox_process_communicate_async:
 * @self: a process
 * @stdin_bytes: (nullable): the input of the command
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when everything of the command is gone
 * @user_data: data for @callback
 *
 * Gives the command its input, collects its output, and waits until nothing of it is left.
 *
 * The input ends after @stdin_bytes; what the command does not read of it is no error. The output is
 * bounded by [property@Sandbox.Command:max-output]. A cancellation kills the command.
 *
 * Fails with %SANDBOX_ERROR_INVALID when there are bytes but no stream to write them to, because the
 * command was started with input of its own.
 *
 * Since: 1.0
 */
void
sandbox_process_communicate_async (SandboxProcess     *self,
                                   GBytes             *stdin_bytes,
                                   GCancellable       *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer            user_data)
{
  g_autoptr (GTask) task = NULL;
  GOutputStream *input = NULL;

  g_return_if_fail (SANDBOX_IS_PROCESS (self));
  g_return_if_fail (sandbox_process_get_command (self) != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = sandbox_process_new_task (self, sandbox_process_communicate_async, cancellable, callback, user_data);
  if (task == NULL)
    return;

  /* A host that has the process may ask for its streams at any time. */
  sandbox_process_get_stdout (self);
  input = sandbox_process_get_stdin (self);
  if (input == NULL && stdin_bytes != NULL && g_bytes_get_size (stdin_bytes) > 0)
    {
      g_task_return_new_error (task, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                               "The command has no stream to write its input to");
      return;
    }

  if (input != NULL)
    {
      SandboxFeed *feed = g_new (SandboxFeed, 1);

      feed->stream = g_object_ref (input);
      feed->bytes = stdin_bytes != NULL ? g_bytes_ref (stdin_bytes) : g_bytes_new (NULL, 0);
      feed->cancellable = g_cancellable_new ();
      sandbox_process_keep (self, g_object_ref (feed->cancellable), sandbox_process_stop_feeding);
      sandbox_worker_invoke (sandbox_process_feed_cb, feed, NULL);
    }
  sandbox_process_collect (self, g_steal_pointer (&task));
}

/**
 * sandbox_process_communicate_finish:
 * @self: a process
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Process.communicate_async].
 *
 * Returns: (transfer full): how the command ended, with its output
 *
 * Since: 1.0
 */
SandboxResult *
sandbox_process_communicate_finish (SandboxProcess *self,
                                    GAsyncResult   *result,
                                    GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_process_communicate_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * sandbox_process_communicate:
 * @self: a process
 * @stdin_bytes: (nullable): the input of the command
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Gives the command its input, collects its output, and waits until nothing of it is left. Needs no
 * main loop. See [method@Sandbox.Process.communicate_async].
 *
 * Returns: (transfer full): how the command ended, with its output
 *
 * Since: 1.0
 */
SandboxResult *
sandbox_process_communicate (SandboxProcess *self,
                             GBytes         *stdin_bytes,
                             GCancellable   *cancellable,
                             GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), NULL);

  sandbox_sync_begin (&sync, sandbox_process_get_dispatcher (self));
  sandbox_process_communicate_async (self, stdin_bytes, cancellable, sandbox_sync_cb, &sync);

  return sandbox_process_communicate_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_process_stop_async:
 * @self: a process
 * @cancellable: (nullable): ends the waiting; the command is stopped all the same
 * @callback: (scope async) (closure user_data): called when everything of the command is gone
 * @user_data: data for @callback
 *
 * Asks the command to end, and kills what is left after its grace.
 *
 * The command gets `SIGTERM`; [property@Sandbox.Command:kill-grace-ms] later everything is killed. The
 * outcome is %SANDBOX_OUTCOME_STOPPED unless the command had ended before.
 *
 * Since: 1.0
 */
void
sandbox_process_stop_async (SandboxProcess     *self,
                            GCancellable       *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer            user_data)
{
  GTask *task = NULL;

  g_return_if_fail (SANDBOX_IS_PROCESS (self));
  g_return_if_fail (sandbox_process_get_command (self) != NULL);
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = sandbox_process_new_task (self, sandbox_process_stop_async, cancellable, callback, user_data);
  if (task == NULL)
    return;

  sandbox_process_terminate (self, SANDBOX_OUTCOME_STOPPED, sandbox_command_get_kill_grace_ms (sandbox_process_get_command (self)));
  sandbox_process_wait_with_task (self, task);
}

/**
 * sandbox_process_stop_finish:
 * @self: a process
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Process.stop_async].
 *
 * Returns: %TRUE, or %FALSE with an error when the waiting was cancelled
 *
 * Since: 1.0
 */
gboolean
sandbox_process_stop_finish (SandboxProcess *self,
                             GAsyncResult   *result,
                             GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_process_stop_async), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * sandbox_process_stop:
 * @self: a process
 * @cancellable: (nullable): ends the waiting; the command is stopped all the same
 * @error: return location for an error
 *
 * Asks the command to end, kills what is left after its grace, and waits until nothing of it is
 * left. Needs no main loop. See [method@Sandbox.Process.stop_async].
 *
 * Returns: %TRUE, or %FALSE with an error when the waiting was cancelled
 *
 * Since: 1.0
 */
gboolean
sandbox_process_stop (SandboxProcess *self,
                      GCancellable   *cancellable,
                      GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), FALSE);

  sandbox_sync_begin (&sync, sandbox_process_get_dispatcher (self));
  sandbox_process_stop_async (self, cancellable, sandbox_sync_cb, &sync);

  return sandbox_process_stop_finish (self, sandbox_sync_wait (&sync), error);
}
