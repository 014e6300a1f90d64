/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-trial.h"

#include "sandbox-bubblewrap-backend.h"
#include "sandbox-bubblewrap-driver.h"
#include "sandbox-bubblewrap-network.h"

#include <errno.h>
#include <glib/gstdio.h>

/* A bwrap that does not know an option says so at once; one that hangs is not tried a second time. */
#define REFUSAL_US (5 * G_USEC_PER_SEC)

/* By filter: what bwrap and agent were (a quark of the stamp) when each call was last found refused. Atomic. */
static guint trial_proved[SANDBOX_FILTER_DEBUGGER + 1];

/* The steps stand last to first. */

static void
sandbox_bubblewrap_trial_free (SandboxBubblewrapTrial *trial)
{
  if (trial->directory != NULL)
    g_rmdir (trial->directory);
  g_clear_pointer (&trial->probe, sandbox_bubblewrap_probe_free);
  g_clear_pointer (&trial->launch, sandbox_bubblewrap_launch_unref);
  g_clear_object (&trial->process);
  g_clear_object (&trial->driver);
  g_clear_object (&trial->identity);
  g_clear_object (&trial->filter);
  g_clear_object (&trial->control_groups);
  g_clear_object (&trial->control_group);
  g_clear_object (&trial->cancellable);
  g_clear_object (&trial->policy);
  g_clear_object (&trial->profile);
  g_clear_object (&trial->workspace);
  g_clear_object (&trial->request);
  g_clear_object (&trial->backend);
  g_clear_error (&trial->error);
  g_free (trial->executable);
  g_free (trial->directory);
  g_free (trial->stamp);
  g_free (trial);
}

static gpointer
sandbox_bubblewrap_trial_thread (gpointer data)
{
  g_autoptr (GTask) task = data;
  SandboxBubblewrapTrial *trial = g_task_get_task_data (task);

  trial->blocking (task, trial->backend, trial, NULL);

  return NULL;
}

/* Runs @func, which may block: here below a synchronous call, else in a thread. That is one of its own: in a forked child
 * the idle threads of GLib's pool, which it would ask, are not there. */
static void
sandbox_bubblewrap_trial_run_blocking (SandboxBubblewrapTrial *trial,
                                       GTaskThreadFunc         func,
                                       GAsyncReadyCallback     callback)
{
  g_autoptr (GTask) task = g_task_new (trial->backend, NULL, callback, trial);
  GThread *thread = NULL;

  g_task_set_source_tag (task, sandbox_bubblewrap_trial_run_blocking);
  g_task_set_task_data (task, trial, NULL);
  if (sandbox_request_may_block (trial->request))
    {
      func (task, trial->backend, trial, NULL);
      return;
    }

  trial->blocking = func;
  thread = g_thread_try_new ("sandbox-trial", sandbox_bubblewrap_trial_thread, g_object_ref (task), NULL);
  if (thread != NULL)
    g_thread_unref (thread);
  else
    {
      g_object_unref (task);
      g_task_run_in_thread (task, func);
    }
}

static void
sandbox_bubblewrap_trial_answer (SandboxBubblewrapTrial *trial)
{
  trial->done (trial, trial->error == NULL ? trial->driver : NULL, trial->error);
  sandbox_bubblewrap_trial_free (trial);
}

static void
sandbox_bubblewrap_trial_explain (GTask        *task,
                                  gpointer      source_object,
                                  gpointer      task_data,
                                  GCancellable *cancellable)
{
  SandboxBubblewrapTrial *trial = task_data;
  guint                   uid = G_MAXUINT;
  guint                   gid = G_MAXUINT;

  if (trial->launch != NULL)
    sandbox_bubblewrap_launch_get_ids (trial->launch, &uid, &gid);
  trial->probe = sandbox_bubblewrap_probe_new (trial->executable, uid, gid, trial->profile);
  g_task_return_boolean (task, TRUE);
}

static void
sandbox_bubblewrap_trial_explained_cb (GObject      *object,
                                       GAsyncResult *result,
                                       gpointer      user_data)
{
  SandboxBubblewrapTrial *trial = user_data;

  g_task_propagate_boolean (G_TASK (result), NULL);
  if (trial->error != NULL)
    {
      g_autoptr (GError) error = g_steal_pointer (&trial->error);

      trial->error = sandbox_bubblewrap_probe_explain (trial->probe, error);
    }
  sandbox_bubblewrap_trial_answer (trial);
}

static void
sandbox_bubblewrap_trial_sandbox_ended (SandboxAgentDriver *driver,
                                        gpointer            data)
{
  g_autoptr (GTask) task = data;

  g_task_return_boolean (task, TRUE);
}

/* Goes on with @next when nothing is left of the sandbox. */
static void
sandbox_bubblewrap_trial_close (SandboxBubblewrapTrial *trial,
                                GAsyncReadyCallback     next)
{
  GTask *task = g_task_new (trial->backend, NULL, next, trial);

  g_task_set_source_tag (task, sandbox_bubblewrap_trial_close);
  sandbox_agent_driver_end_sandbox (SANDBOX_AGENT_DRIVER (trial->driver), sandbox_bubblewrap_trial_sandbox_ended, task);
}

static void
sandbox_bubblewrap_trial_conclude (SandboxBubblewrapTrial *trial)
{
  const GError  *error = trial->error;
  const gboolean is_probe = trial->directory != NULL;

  if (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE) || (is_probe && error == NULL))
    sandbox_bubblewrap_trial_run_blocking (trial, sandbox_bubblewrap_trial_explain, sandbox_bubblewrap_trial_explained_cb);
  else
    sandbox_bubblewrap_trial_answer (trial);
}

static void
sandbox_bubblewrap_trial_closed_cb (GObject      *object,
                                    GAsyncResult *result,
                                    gpointer      user_data)
{
  sandbox_bubblewrap_trial_conclude (user_data);
}

/* It is known what came of the whole; @error is taken. */
static void
sandbox_bubblewrap_trial_end (SandboxBubblewrapTrial *trial,
                              GError                 *error)
{
  trial->error = error;
  if (trial->driver != NULL && (error != NULL || trial->directory != NULL))
    sandbox_bubblewrap_trial_close (trial, sandbox_bubblewrap_trial_closed_cb);
  else
    sandbox_bubblewrap_trial_conclude (trial);
}

/* The next way to build it, each a little less than the one before but within what the profile allows. None is
 * left when this is FALSE. */
static gboolean
sandbox_bubblewrap_trial_fall_back (SandboxBubblewrapTrial *trial)
{
  SandboxBubblewrapManner *manner = &trial->manner;

  /* A bwrap without --bind-fd says so by failing; by path the agent verifies what it finds. */
  if (sandbox_bubblewrap_launch_binds_by_fd (trial->launch))
    {
      manner->bind = SANDBOX_BUBBLEWRAP_BIND_BY_PATH;
      return TRUE;
    }

  /* Where sandboxes cannot be in each other, each command has one by bwrap. */
  manner->bind = SANDBOX_BUBBLEWRAP_BIND_BY_FD;
  if (trial->slots.nested && trial->wanted.isolation != SANDBOX_ISOLATION_SHARED && !sandbox_bubblewrap_launch_has_overlay (trial->launch))
    {
      trial->slots.nested = FALSE;
      return TRUE;
    }

  trial->slots.nested = trial->wanted.nested;
  if (manner->proc == SANDBOX_PROC_MODE_FRESH && sandbox_profile_get_proc (trial->profile) == SANDBOX_PROC_MODE_AUTO)
    {
      manner->proc = SANDBOX_PROC_MODE_NONE;
      return TRUE;
    }
  /* Where no procfs can be mounted, further user namespaces are left to the filter. */
  if (manner->proc != SANDBOX_PROC_MODE_FRESH && manner->forbid_userns)
    {
      manner->forbid_userns = FALSE;
      return TRUE;
    }

  return FALSE;
}

static void sandbox_bubblewrap_trial_prepare (SandboxBubblewrapTrial *trial);

static void
sandbox_bubblewrap_trial_again_cb (GObject      *object,
                                   GAsyncResult *result,
                                   gpointer      user_data)
{
  SandboxBubblewrapTrial *trial = user_data;

  g_clear_object (&trial->process);
  g_clear_pointer (&trial->launch, sandbox_bubblewrap_launch_unref);
  g_clear_object (&trial->driver);
  sandbox_bubblewrap_trial_prepare (trial);
}

/* @error, which is taken, tells why no program runs; NULL when one did. */
static void
sandbox_bubblewrap_trial_proved (SandboxBubblewrapTrial *trial,
                                 GError                 *error)
{
  /* That program is there for everybody, so it is its directory. */
  if (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED))
    {
      g_clear_error (&error);
      g_set_error (&error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED,
                   "Commands cannot enter the workspace directory “%s”: %s", sandbox_workspace_get_path (trial->workspace), g_strerror (EACCES));
    }

  if (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE) &&
      g_get_monotonic_time () - trial->began_us < REFUSAL_US &&
      sandbox_bubblewrap_trial_fall_back (trial))
    {
      g_error_free (error);
      sandbox_bubblewrap_trial_close (trial, sandbox_bubblewrap_trial_again_cb);
      return;
    }

  sandbox_bubblewrap_trial_end (trial, error);
}

static void
sandbox_bubblewrap_trial_gone_cb (GObject      *object,
                                  GAsyncResult *result,
                                  gpointer      user_data)
{
  SandboxBubblewrapTrial *trial = user_data;
  g_autoptr (GError) failed = NULL;
  GError *error = NULL;

  if (sandbox_process_wait_finish (SANDBOX_PROCESS (object), result, &error) &&
      !sandbox_result_check (sandbox_process_get_result (SANDBOX_PROCESS (object)), &failed))
    g_set_error (&error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox was built, but no program runs in it: %s", failed->message);
  sandbox_bubblewrap_trial_proved (trial, error);
}

/* What the program of the proof has said of its filter: each call that must be refused was made. FALSE with an error where
 * one was not; *@complete is FALSE where it has not come to its end. */
static gboolean
sandbox_bubblewrap_trial_judge_filter (SandboxBubblewrapTrial *trial,
                                       gsize                   size,
                                       gboolean               *complete,
                                       GError                **error)
{
  g_autofree char *text = g_strndup (trial->answer, size);
  g_autofree char *missed = NULL;

  g_clear_object (&trial->filter);
  if (!trial->checks)
    {
      *complete = g_str_has_suffix (text, "\n");
      return TRUE;
    }
  trial->filter = sandbox_bubblewrap_probe_judge_filter (text, &missed);
  *complete = trial->filter != NULL;
  if (missed == NULL)
    {
      if (*complete)
        g_atomic_int_set (&trial_proved[sandbox_profile_get_filter (trial->profile)], trial->stamp_id);
      return TRUE;
    }

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The sandbox was built, but its system call filter does not refuse what it must (step: filter): %s", missed);

  return FALSE;
}

/* A program that has said what it had to say has run. A session does not wait for the end of its sandbox; for a probe
 * nothing may be left, and where it has said nothing the end tells why. */
static void
sandbox_bubblewrap_trial_said_cb (GObject      *object,
                                  GAsyncResult *result,
                                  gpointer      user_data)
{
  SandboxBubblewrapTrial *trial = user_data;
  gsize                   size = 0;
  gboolean                complete = FALSE;
  GError                 *error = NULL;

  /* What came before an error is no less there. */
  g_input_stream_read_all_finish (G_INPUT_STREAM (object), result, &size, NULL);
  if (!sandbox_bubblewrap_trial_judge_filter (trial, size, &complete, &error))
    sandbox_bubblewrap_trial_end (trial, error); /* no other way of building makes it better */
  else if (complete && trial->directory == NULL)
    sandbox_bubblewrap_trial_proved (trial, NULL);
  else
    sandbox_process_wait_async (trial->process, trial->cancellable, sandbox_bubblewrap_trial_gone_cb, trial);
}

static void
sandbox_bubblewrap_trial_started_cb (GObject      *object,
                                     GAsyncResult *result,
                                     gpointer      user_data)
{
  SandboxBubblewrapTrial *trial = user_data;
  GError                 *error = NULL;

  trial->process = sandbox_session_spawn_finish (SANDBOX_SESSION (object), result, &error);
  if (trial->process != NULL)
    g_input_stream_read_all_async (sandbox_process_get_stdout (trial->process), trial->answer, sizeof trial->answer,
                                   G_PRIORITY_DEFAULT, trial->cancellable, sandbox_bubblewrap_trial_said_cb, trial);
  else
    sandbox_bubblewrap_trial_proved (trial, error);
}

/* Each command has a sandbox by bwrap where slots cannot be had, unless it is one that all have to share. */
static gboolean
sandbox_bubblewrap_trial_check_slots (SandboxBubblewrapTrial *trial,
                                      GError                **error)
{
  const char *obstacle = sandbox_bubblewrap_launch_get_obstacle (trial->launch, trial->slots.isolation);
  const char *what = NULL;

  trial->slots.nested = trial->slots.nested && obstacle == NULL;
  if (!trial->slots.nested && trial->slots.isolation == SANDBOX_ISOLATION_SHARED)
    what = "The isolation “shared”";
  else if (!trial->slots.nested && sandbox_bubblewrap_launch_has_overlay (trial->launch))
    what = "A workspace that is an overlay";
  if (what == NULL)
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "%s needs one sandbox for all commands of the session, which cannot be had: %s",
               what, obstacle != NULL ? obstacle : "the property “nested” of the backend is FALSE");

  return FALSE;
}

static void
sandbox_bubblewrap_trial_prove (SandboxBubblewrapTrial *trial)
{
  /* No program of the view, of which there may be none, nor one that a command has left in the workspace */
  const SandboxFilter kind = sandbox_profile_get_filter (trial->profile);
  const char *const   kind_name = kind == SANDBOX_FILTER_STRICT ? "strict" : kind == SANDBOX_FILTER_DEBUGGER ? "debugger"
                                                                                                             : "default";
  g_autofree char    *stamp = sandbox_bubblewrap_probe_stamp (trial->executable);
  const char *const   check_argv[] = { SANDBOX_BUBBLEWRAP_AGENT, "check", kind_name, "set-id", NULL };
  const char *const   argv[] = { SANDBOX_BUBBLEWRAP_AGENT, "version", NULL };
  g_autoptr (SandboxCommand) command = NULL;
  g_autoptr (SandboxSession) session = NULL;
  SandboxLimits *limits = sandbox_profile_get_limits (trial->profile);
  GError        *error = NULL;

  if (!sandbox_bubblewrap_trial_check_slots (trial, &error))
    {
      sandbox_bubblewrap_trial_end (trial, error);
      return;
    }

  /* The filter and the kernel stay what they are: a later session only shows that a program runs. A probe looks anew. */
  trial->stamp_id = g_quark_from_string (stamp);
  trial->checks = trial->directory != NULL || (guint) g_atomic_int_get (&trial_proved[kind]) != trial->stamp_id;
  command = sandbox_command_new (trial->checks ? check_argv : argv);
  /* That a control group can be entered, and that the sandbox fits in there, is proved too. */
  if (!sandbox_agent_driver_check_limits (limits, NULL, NULL))
    sandbox_command_set_limits (command, limits);
  trial->driver = sandbox_bubblewrap_driver_new (trial->launch, trial->workspace, trial->profile, trial->policy, trial->required,
                                                 trial->control_group, &trial->slots);
  session = sandbox_session_new_for_driver (trial->driver, &error);
  if (session == NULL)
    {
      sandbox_bubblewrap_trial_end (trial, error);
      return;
    }

  trial->began_us = g_get_monotonic_time ();
  sandbox_session_spawn_async (session, command, trial->cancellable, sandbox_bubblewrap_trial_started_cb, trial);
}

static void
sandbox_bubblewrap_trial_open (GTask        *task,
                               gpointer      source_object,
                               gpointer      task_data,
                               GCancellable *cancellable)
{
  SandboxBubblewrapTrial *trial = task_data;
  GError                 *error = NULL;
  const char             *state_directory = sandbox_workspace_get_state_directory (trial->workspace);

  g_clear_object (&trial->control_group);
  trial->control_group = sandbox_bubblewrap_backend_ref_control_group (SANDBOX_BUBBLEWRAP_BACKEND (trial->backend), &trial->control_groups);
  if (!sandbox_agent_driver_check_limits (sandbox_profile_get_limits (trial->profile), trial->control_group, &error))
    {
      g_task_return_error (task, error);
      return;
    }

  /* Whatever else is kept for this backend is hidden from commands over a directory of the host's too. */
  if (state_directory == NULL)
    state_directory = sandbox_backend_get_state_directory (trial->backend);
  trial->launch = sandbox_bubblewrap_launch_new (trial->executable, trial->workspace, trial->profile, state_directory,
                                                 &trial->range, &trial->manner, &trial->identity, &error);
  if (trial->launch == NULL ||
      !sandbox_bubblewrap_network_check (sandbox_bubblewrap_network_get (trial->policy),
                                         sandbox_bubblewrap_launch_is_set_user_id (trial->launch), &error))
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

static void
sandbox_bubblewrap_trial_opened_cb (GObject      *object,
                                    GAsyncResult *result,
                                    gpointer      user_data)
{
  SandboxBubblewrapTrial *trial = user_data;
  GError                 *error = NULL;

  if (!g_task_propagate_boolean (G_TASK (result), &error))
    sandbox_bubblewrap_trial_end (trial, error);
  else
    sandbox_bubblewrap_trial_prove (trial);
}

static void
sandbox_bubblewrap_trial_prepare (SandboxBubblewrapTrial *trial)
{
  sandbox_bubblewrap_trial_run_blocking (trial, sandbox_bubblewrap_trial_open, sandbox_bubblewrap_trial_opened_cb);
}

SandboxBubblewrapManner
sandbox_bubblewrap_trial_get_manner (SandboxProfile *profile)
{
  SandboxProcMode proc = sandbox_profile_get_proc (profile);

  return (SandboxBubblewrapManner){
    .bind = SANDBOX_BUBBLEWRAP_BIND_BY_FD,
    .proc = proc == SANDBOX_PROC_MODE_AUTO ? SANDBOX_PROC_MODE_FRESH : proc,
    .forbid_userns = TRUE,
  };
}

void
sandbox_bubblewrap_trial_begin (SandboxBackend               *backend,
                                const char                   *executable,
                                const SandboxBubblewrapRange *range,
                                SandboxWorkspace             *workspace,
                                SandboxProfile               *profile,
                                SandboxNetworkPolicy         *policy,
                                SandboxRestrictions           required,
                                const SandboxBubblewrapSlots *slots,
                                char                         *directory,
                                SandboxBubblewrapTrialFunc    done,
                                SandboxRequest               *request)
{
  SandboxBubblewrapTrial *trial = g_new0 (SandboxBubblewrapTrial, 1);

  trial->backend = g_object_ref (backend);
  trial->request = g_object_ref (request);
  trial->executable = g_strdup (executable);
  trial->range = *range;
  trial->workspace = g_object_ref (workspace);
  trial->profile = profile != NULL ? g_object_ref (profile) : sandbox_profile_new ();
  trial->is_default = profile == NULL;
  g_set_object (&trial->policy, policy);
  trial->required = required;
  trial->wanted = *slots;
  trial->slots = *slots;
  trial->stamp = directory != NULL ? sandbox_bubblewrap_probe_stamp (executable) : NULL;
  trial->directory = directory;
  trial->done = done;
  trial->manner = sandbox_bubblewrap_trial_get_manner (trial->profile);
  trial->manner.is_probe = directory != NULL;
  trial->cancellable = g_cancellable_new ();

  g_signal_connect_object (request, "cancelled", G_CALLBACK (g_cancellable_cancel), trial->cancellable, G_CONNECT_SWAPPED);
  sandbox_bubblewrap_trial_prepare (trial);
}
