/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Nothing outlives its command, its session or its host, at whatever moment that ends. What runs in a sandbox has a marker
 * in its arguments, which is counted from outside, in the host's /proc.
 */
#include "../common/test-sandbox.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

/* Fewer in the way that is left where there can be no slots */
#define N_HOST_KILLS test_rounds (TEST_NESTED ? 100 : 25)
#define N_CANCELS test_rounds (TEST_NESTED ? 120 : 30)
#define N_STOPS test_rounds (TEST_NESTED ? 200 : 50)
/* Around what a command takes from the call until it runs, on a machine that does something else too. */
#define MOMENTS_US 60000
/* The processes of "guest family": the first, one in a session of its own, an orphan, a stopped one. */
#define FAMILY 4

/* ---- Signals by number ---- */

static gint strange_kills;

/* Takes the place of the C library's: whom this process signals by number, or whose group, must be a child that has not
 * been waited for, since any other number may be somebody else's by now. */
int
kill (pid_t pid,
      int   signum)
{
  if (ABS (pid) <= 1 || test_read_status (ABS (pid), "PPid", 10) != getpid ())
    g_atomic_int_inc (&strange_kills);

  return (int) syscall (SYS_kill, pid, signum);
}

/* ---- What is left ----
 *
 * This program takes in orphans, so that nothing can hide behind a parent that is dead. */

static void G_GNUC_NORETURN
fail_for_children (void)
{
  g_autoptr (GArray) pids = test_list_processes ();
  g_autoptr (GString) children = g_string_new (NULL);

  for (guint i = 0; i < pids->len; i++)
    {
      pid_t            pid = g_array_index (pids, pid_t, i);
      g_autofree char *arguments = NULL;
      g_autofree char *state = NULL;

      if (test_read_status (pid, "PPid", 10) != getpid ())
        continue;
      arguments = test_read_proc (pid, "cmdline", NULL);
      state = test_read_proc (pid, "stat", NULL);
      g_string_append_printf (children, "%s: %s\n", arguments, state);
    }
  g_error ("Left: %s", children->str);
}

/* Waits for dead orphans, of which the library knows nothing. */
static void
reap_orphans (void)
{
  while (waitpid (-1, NULL, WNOHANG | __WALL) > 0)
    ;
}

/* Its own children the library waits for itself: it is given so long for that. */
static void
assert_nothing_left_within (guint  n_kept,
                            guint  descriptors,
                            gint64 own_us)
{
  const gint64 start = g_get_monotonic_time ();

  while (test_count_children () > n_kept || test_count_descriptors () > descriptors)
    {
      if (g_get_monotonic_time () > start + TEST_GONE_US)
        {
          g_assert_cmpuint (test_count_descriptors (), <=, descriptors);
          fail_for_children ();
        }
      if (!g_main_context_iteration (NULL, FALSE))
        g_usleep (5000);
      if (g_get_monotonic_time () >= start + own_us)
        reap_orphans ();
    }
}

static void
assert_nothing_left (guint descriptors)
{
  assert_nothing_left_within (TEST_N_KEPT, descriptors, TEST_GONE_US / 10);
}

/* ---- Commands with relatives ---- */

/* What a command is that a test ends. */
static SandboxCommand *
new_family (const char *marker)
{
  SandboxCommand *command = test_command_new ("./guest", "family", marker, NULL);

  sandbox_command_set_kill_grace_ms (command, 200);

  return command;
}

static void
test_late_child (TestSandbox  *self,
                 gconstpointer unused)
{
  g_autofree char *late = g_build_filename (self->workspace, "late", NULL);
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("Case 36: a child in a session of its own does not outlive the command");

  result = test_run (self, "sh", "-c", "(setsid sh -c 'sleep 1; echo late >late' $1 </dev/null >/dev/null 2>&1 &)", "sh", marker, NULL);
  test_assert_exited (result, 0);
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
  g_usleep (2 * G_USEC_PER_SEC);
  g_assert_false (g_file_test (late, G_FILE_TEST_EXISTS));
}

static void
test_silent_child (TestSandbox  *self,
                   gconstpointer unused)
{
  g_test_summary ("Cases 37, 38: a child that keeps the output open holds up neither run nor communicate");

  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "./guest hold $1 >&2 & sleep 60 & echo hi", "sh", marker, NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;
      gint64 before = g_get_monotonic_time ();

      if (i == 0)
        result = test_run_command (self, command);
      else
        {
          process = sandbox_session_spawn (self->session, command, NULL, &error);
          g_assert_no_error (error);
          result = sandbox_process_communicate (process, NULL, NULL, &error);
          g_assert_no_error (error);
        }
      test_assert_exited (result, 0);
      test_assert_output (result, "hi\n");
      g_assert_cmpint (g_get_monotonic_time () - before, <, 2 * G_USEC_PER_SEC);
      g_assert_cmpuint (test_marker_count (marker), ==, 0);
    }
}

static void
test_family_left_behind (TestSandbox  *self,
                         gconstpointer unused)
{
  g_test_summary ("Relatives of every kind, stopped ones and orphans too, end with the first process");

  for (guint i = 0; i < 10; i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (SandboxResult) result = test_run (self, "./guest", "leave", marker, NULL);

      test_assert_exited (result, 0);
      g_assert_cmpuint (test_marker_count (marker), ==, 0);
    }
}

static void
test_timeout (TestSandbox  *self,
              gconstpointer unused)
{
  const guint timeouts[] = { 1, 50, 200 };

  g_test_summary ("Case 39: a timeout ends all of a command, and says so");

  for (guint i = 0; i < G_N_ELEMENTS (timeouts); i++)
    for (guint j = 0; j < 2; j++)
      {
        g_autofree char *marker = test_marker_new ();
        g_autoptr (SandboxCommand) command = j == 0 ? new_family (marker) : test_command_new ("sh", "-c", "sleep 300 & wait", marker, NULL);
        g_autoptr (SandboxResult) result = NULL;
        g_autoptr (GError) error = NULL;

        sandbox_command_set_timeout_ms (command, timeouts[i]);
        result = test_run_command (self, command);
        g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_TIMED_OUT);
        g_assert_cmpint (sandbox_result_get_exit_status (result), ==, -1);
        g_assert_cmpuint (sandbox_result_get_wall_time_us (result), >=, timeouts[i] * 1000);
        g_assert_cmpuint (sandbox_result_get_wall_time_us (result), <, timeouts[i] * 1000 + 2 * G_USEC_PER_SEC);
        g_assert_cmpuint (sandbox_result_get_limit_value (result), ==, timeouts[i]);
        g_assert_false (sandbox_result_check (result, &error));
        g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
        g_assert_cmpuint (test_marker_count (marker), ==, 0);
      }
}

static void
test_recycled_id (TestSandbox  *self,
                  gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autoptr (SandboxCommand) family = new_family (marker);
  g_autoptr (SandboxProcess) ended = NULL;
  g_autoptr (SandboxProcess) killed = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 41: what has ended is never signalled, and nothing is signalled by a number that could be a stranger's");

  ended = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_process_wait (ended, NULL, &error));
  g_assert_true (sandbox_process_kill (ended, &error));
  g_assert_no_error (error);
  g_assert_false (sandbox_process_send_signal (ended, SIGTERM, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  g_assert_true (sandbox_process_stop (ended, NULL, &error));

  killed = sandbox_session_spawn (self->session, family, NULL, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, FAMILY);
  g_assert_true (sandbox_process_kill (killed, &error));
  g_assert_true (sandbox_process_kill (killed, &error));
  g_assert_true (sandbox_process_wait (killed, NULL, &error));
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
  test_assert_signaled (sandbox_process_get_result (killed), SIGKILL);

  g_assert_cmpint (g_atomic_int_get (&strange_kills), ==, 0);
}

static void
wait_until_stopped (const char *marker)
{
  gint64 end = g_get_monotonic_time () + TEST_LIMIT_US;

  for (;;)
    {
      g_autoptr (GArray) found = test_marker_find (marker);
      g_autofree char *status = found->len == 1 ? test_read_proc (g_array_index (found, pid_t, 0), "status", NULL) : NULL;

      if (status != NULL && strstr (status, "\nState:\tT") != NULL)
        return;
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_usleep (2000);
    }
}

static void
test_stop_of_process (TestSandbox  *self,
                      gconstpointer unused)
{
  const struct
  {
    const char *script; /* stops itself, or is ready */
    gboolean    to_the_end;
  } cases[] = {
    { "trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done", FALSE },
    { "trap '' TERM; echo ready; while :; do sleep 0.05; done", TRUE },
    { "kill -STOP $$", TRUE },
  };

  g_test_summary ("stop: TERM reaches the command itself; what does not heed it is killed after its grace");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", cases[i].script, marker, NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (GError) error = NULL;
      char         line[8] = { 0 };
      gint64       before = 0;
      const gint64 grace = cases[i].to_the_end ? 500 : 10000;
      gint64       took = 0;

      sandbox_command_set_kill_grace_ms (command, grace);
      process = sandbox_session_spawn (self->session, command, NULL, &error);
      g_assert_no_error (error);
      if (i < 2)
        {
          g_input_stream_read (sandbox_process_get_stdout (process), line, 6, NULL, &error);
          g_assert_cmpstr (line, ==, "ready\n");
        }
      else
        wait_until_stopped (marker);
      before = g_get_monotonic_time ();
      g_assert_true (sandbox_process_stop (process, NULL, &error));
      took = g_get_monotonic_time () - before;
      g_assert_cmpuint (test_marker_count (marker), ==, 0);
      g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_STOPPED);
      g_assert_true ((took >= grace * 1000) == cases[i].to_the_end);
      g_assert_cmpint (took, <, 5 * G_USEC_PER_SEC);
    }
}

static void
test_deaf_grandchild (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c",
                                                         "trap 'exit 0' TERM; (trap '' TERM; exec ./guest hold \"$1\") >/dev/null & echo ready; while :; do sleep 0.05; done",
                                                         "sh", marker, NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  char   line[8] = { 0 };
  gint64 end = 0;

  g_test_summary ("Case 40: a first process that heeds TERM takes along a grandchild that does not, grace or no grace");

  sandbox_command_set_kill_grace_ms (command, 20000);
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  g_input_stream_read (sandbox_process_get_stdout (process), line, 6, NULL, &error);
  g_assert_cmpstr (line, ==, "ready\n");
  test_marker_wait (marker, 2);
  end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC;
  g_assert_true (sandbox_process_stop (process, NULL, &error));
  g_assert_cmpint (g_get_monotonic_time (), <, end);
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_STOPPED);
}

static void
test_stop_of_session (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = new_family (marker);
  g_autoptr (GError) error = NULL;

  g_test_summary ("The stop of a session ends every command with all relatives; a second one has nothing to do");

  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (SandboxProcess) process = sandbox_session_spawn (self->session, command, NULL, &error);

      g_assert_no_error (error);
    }
  test_marker_wait (marker, 3 * FAMILY);
  g_assert_true (sandbox_handle_stop (self->handle, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
  g_assert_true (sandbox_handle_stop (self->handle, NULL, &error));
  {
    g_autoptr (GError) refused = test_refused (self, "true", NULL);

    g_assert_error (refused, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  }
  assert_nothing_left_within (0, G_MAXUINT, TEST_GONE_US / 10);
}

static void
test_shutdown_of_session (TestSandbox  *self,
                          gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = new_family (marker);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  gint64 before = 0;

  g_test_summary ("A shutdown waits for no grace");

  sandbox_command_set_kill_grace_ms (command, 20000);
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, FAMILY);
  before = g_get_monotonic_time ();
  g_assert_true (sandbox_handle_shutdown (self->handle, NULL, &error));
  g_assert_cmpint (g_get_monotonic_time () - before, <, 3 * G_USEC_PER_SEC);
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
}

static void
test_dropped_process (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = new_family (marker);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A process that the host lets go of runs until its deadline, and no longer");

  sandbox_command_set_timeout_ms (command, 500);
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, FAMILY);
  g_clear_object (&process);
  test_marker_assert_gone (marker);
}

/* ---- Cancellation ---- */

typedef struct
{
  GCancellable *cancellable;
  guint         after_us;
} Cancel;

static gpointer
cancel_thread (gpointer user_data)
{
  Cancel *cancel = user_data;

  g_usleep (cancel->after_us);
  g_cancellable_cancel (cancel->cancellable);
  g_cancellable_cancel (cancel->cancellable);

  return NULL;
}

/* A cancelled call has one answer, and with it nothing is alive. A call that was faster has its result. */
static void
check_cancelled (SandboxResult *result,
                 const GError  *error,
                 const char    *marker)
{
  if (result == NULL)
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  else
    {
      g_assert_no_error (error);
      test_assert_exited (result, 0);
    }
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
}

static void
test_cancel_from_another_thread (TestSandbox  *self,
                                 gconstpointer unused)
{
  guint descriptors = 0;

  g_test_summary ("Cancelled by another thread at any moment: CANCELLED, and with the answer nothing is alive");

  g_free (test_sh (self, "true"));
  assert_nothing_left (G_MAXUINT);
  descriptors = test_count_descriptors () + TEST_N_ARMED_FDS;
  for (guint i = 0; i < N_CANCELS; i++)
    {
      g_autofree char *marker = test_marker_new ();
      /* one that would go on for ever, and one whose end the cancellation may meet */
      g_autoptr (SandboxCommand) command = i % 2 == 0 ? new_family (marker) : test_command_new ("./guest", "leave", marker, NULL);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;
      Cancel   cancel = { cancellable, (guint) g_test_rand_int_range (0, MOMENTS_US) };
      GThread *thread = g_thread_new ("cancel", cancel_thread, &cancel);

      result = sandbox_session_run (self->session, command, cancellable, &error);
      check_cancelled (result, error, marker);
      if (i % 2 == 0)
        g_assert_null (result);
      g_thread_join (thread);
    }
  assert_nothing_left (descriptors);
}

static gboolean
cancel_cb (gpointer user_data)
{
  g_cancellable_cancel (user_data);

  return G_SOURCE_REMOVE;
}

static void
test_cancel_from_the_same_thread (TestSandbox  *self,
                                  gconstpointer unused)
{
  guint descriptors = 0;

  g_test_summary ("Cancelled by the caller's own main loop at any moment: the same, and the loop was never held up");

  g_free (test_sh (self, "true"));
  assert_nothing_left (G_MAXUINT);
  descriptors = test_count_descriptors () + TEST_N_ARMED_FDS;
  for (guint i = 0; i < N_CANCELS; i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (SandboxCommand) command = i % 2 == 0 ? new_family (marker) : test_command_new ("./guest", "leave", marker, NULL);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GAsyncResult) answer = NULL;
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;

      sandbox_session_run_async (self->session, command, cancellable, test_result_cb, &answer);
      g_timeout_add ((guint) g_test_rand_int_range (0, MOMENTS_US / 1000), cancel_cb, cancellable);
      test_wait (answer != NULL);
      result = sandbox_session_run_finish (self->session, answer, &error);
      check_cancelled (result, error, marker);
      test_wait (g_cancellable_is_cancelled (cancellable));
      g_clear_object (&answer);
    }
  assert_nothing_left (descriptors);
}

static void
cancelled_in_callback_cb (GObject      *object,
                          GAsyncResult *result,
                          gpointer      user_data)
{
  test_result_cb (object, result, user_data);
  g_cancellable_cancel (g_task_get_cancellable (G_TASK (result)));
}

static void
test_cancel_at_the_edges (TestSandbox  *self,
                          gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "leave", marker, NULL);
  g_autoptr (SandboxCommand) holding = new_family (marker);
  g_autoptr (GCancellable) early = g_cancellable_new ();
  g_autoptr (GCancellable) at_once = g_cancellable_new ();
  g_autoptr (GCancellable) in_callback = g_cancellable_new ();
  g_autoptr (GCancellable) twice = g_cancellable_new ();
  g_autoptr (GAsyncResult) answer = NULL;
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 48: cancelled before the call, right after it, in its callback, after the end and twice; each call has one answer");

  g_cancellable_cancel (early);
  result = sandbox_session_run (self->session, command, early, &error);
  g_assert_null (result);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);

  sandbox_session_run_async (self->session, holding, at_once, test_result_cb, &answer);
  g_cancellable_cancel (at_once);
  g_assert_null (answer);
  test_wait (answer != NULL);
  result = sandbox_session_run_finish (self->session, answer, &error);
  g_assert_null (result);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_clear_object (&answer);
  g_assert_cmpuint (test_marker_count (marker), ==, 0);

  /* Done is done. */
  sandbox_session_run_async (self->session, command, in_callback, cancelled_in_callback_cb, &answer);
  test_wait (answer != NULL);
  g_assert_true (g_cancellable_is_cancelled (in_callback));
  test_run_for (300);
  result = sandbox_session_run_finish (self->session, answer, &error);
  if (result == NULL)
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  else
    test_assert_exited (result, 0);
  g_clear_error (&error);
  g_clear_object (&result);
  g_clear_object (&answer);

  /* A spawn is over once the program runs: the cancellable has no more part in it. */
  process = sandbox_session_spawn (self->session, holding, twice, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, FAMILY);
  g_cancellable_cancel (twice);
  g_cancellable_cancel (twice);
  g_usleep (300000);
  g_assert_cmpuint (test_marker_count (marker), ==, FAMILY);
  g_assert_false (sandbox_process_wait (process, twice, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  result = sandbox_process_communicate (process, NULL, twice, &error);
  g_assert_null (result);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
  assert_nothing_left (G_MAXUINT);
}

static void
test_cancel_stopped (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "kill -STOP $$", marker, NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) answer = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  gint64 before = 0;

  g_test_summary ("Case 42: a command that has stopped itself is dead within a second of its cancellation");

  sandbox_session_run_async (self->session, command, cancellable, test_result_cb, &answer);
  wait_until_stopped (marker);
  g_assert_null (answer);
  before = g_get_monotonic_time ();
  g_cancellable_cancel (cancellable);
  test_wait (answer != NULL);
  g_assert_cmpint (g_get_monotonic_time () - before, <, G_USEC_PER_SEC);
  result = sandbox_session_run_finish (self->session, answer, &error);
  g_assert_null (result);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
}

/* ---- Admission ---- */

static void
assert_admitted (TestSandbox *self)
{
  g_free (test_sh (self, "true"));
}

static void
test_admission (TestSandbox  *self,
                gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = new_family (marker);
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) answer = NULL;
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 45: with one place, the next command is admitted when the last one is cleaned away, however it ended");

  sandbox_backend_set_max_concurrent_commands (self->backend, 1);
  assert_admitted (self);

  /* a child that survives the first process */
  result = test_run (self, "./guest", "leave", marker, NULL);
  test_assert_exited (result, 0);
  g_clear_object (&result);
  assert_admitted (self);

  /* what does not start */
  error = test_refused (self, "no-such-program", NULL);
  g_clear_error (&error);
  assert_admitted (self);

  /* cancelled before the call, and while it starts */
  g_cancellable_cancel (cancelled);
  g_assert_null (sandbox_session_run (self->session, command, cancelled, &error));
  g_clear_error (&error);
  assert_admitted (self);
  sandbox_session_run_async (self->session, command, cancellable, test_result_cb, &answer);
  g_cancellable_cancel (cancellable);
  test_wait (answer != NULL);
  g_assert_null (sandbox_session_run_finish (self->session, answer, &error));
  g_clear_error (&error);
  assert_admitted (self);

  /* as long as one lives, there is no place; afterwards there is */
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 10; i++)
    {
      g_autoptr (GError) busy = test_refused (self, "true", NULL);

      g_assert_error (busy, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
    }
  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_true (sandbox_process_wait (process, NULL, &error));
  assert_admitted (self);
  g_clear_object (&process);

  /* one that nobody holds any more still has its place */
  sandbox_command_set_timeout_ms (command, 400);
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&process);
  {
    g_autoptr (GError) busy = test_refused (self, "true", NULL);

    g_assert_error (busy, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  }
  test_marker_assert_gone (marker);
  g_usleep (200000);
  assert_admitted (self);
}

/* ---- The end of a session while a command starts ---- */

typedef struct
{
  SandboxHandle *handle;
  guint          after_us;
} Stop;

static gpointer
stop_thread (gpointer user_data)
{
  Stop *stop = user_data;
  g_autoptr (GError) error = NULL;

  g_usleep (stop->after_us);
  sandbox_handle_stop (stop->handle, NULL, &error);
  g_assert_no_error (error);

  return NULL;
}

static void
test_stop_while_starting (TestSandbox  *self,
                          gconstpointer unused)
{
  guint descriptors = 0;

  g_test_summary ("Case 46: 200 sessions, or 50 in a repetition, that are stopped by another thread while a command starts in them: it is stopped, and nothing is left");

  g_free (test_sh (self, "true"));
  assert_nothing_left (G_MAXUINT);
  descriptors = test_count_descriptors () + TEST_N_ARMED_FDS;
  for (guint i = 0; i < N_STOPS; i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (SandboxCommand) command = new_family (marker);
      g_autoptr (SandboxHandle) handle = NULL;
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;
      GThread *thread = NULL;
      Stop     stop;

      sandbox_command_set_kill_grace_ms (command, 10);
      handle = test_create (self->backend, self->workspace, &error);
      g_assert_no_error (error);
      stop = (Stop){ handle, (guint) g_test_rand_int_range (0, MOMENTS_US) };
      thread = g_thread_new ("stop", stop_thread, &stop);
      result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
      if (result != NULL)
        g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_STOPPED);
      else
        g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
      g_thread_join (thread);
      g_assert_cmpuint (test_marker_count (marker), ==, 0);
    }
  assert_nothing_left (descriptors);
}

/* ---- The end of the host ---- */

/* This program as a host of its own, which is killed: says when its session is there, then runs a command. */
static int
run_as_host (const char *workspace,
             const char *marker)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = test_new_backend (registry);
  g_autoptr (SandboxCommand) command = new_family (marker);
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  /* A test that fails leaves no host behind, stopped or not. */
  g_assert_cmpint (prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), ==, 0);
  if (g_getenv ("SANDBOX_TEST_TIMEOUT") != NULL)
    sandbox_command_set_timeout_ms (command, (guint) atoi (g_getenv ("SANDBOX_TEST_TIMEOUT")));
  handle = test_create (backend, workspace, &error);
  g_assert_no_error (error);
  if (write (STDOUT_FILENO, "r", 1) != 1)
    return 1;
  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);

  return 1;
}

/* The marker goes by the environment: in the arguments it would count. */
static GSubprocess *
start_host (const char *workspace,
            const char *marker)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_autoptr (GSubprocess) host = NULL;
  g_autoptr (GError) error = NULL;

  g_subprocess_launcher_setenv (launcher, "SANDBOX_TEST_HOST", marker, TRUE);
  host = g_subprocess_launcher_spawn (launcher, &error, "/proc/self/exe", workspace, NULL);
  g_assert_no_error (error);

  return g_steal_pointer (&host);
}

static void
test_killed_host (void)
{
  g_autofree char *workspace = test_make_workspace ();
  guint            n_seen = 0;

  g_test_summary ("Case 43: a host that is killed at a random moment of a start, many times, leaves nothing alive for three seconds");

  for (guint i = 0; i < N_HOST_KILLS; i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (GSubprocess) host = start_host (workspace, marker);
      g_autoptr (GError) error = NULL;
      char ready = '\0';

      /* while the session is made, or while a command starts in it */
      if (i % 4 != 0)
        {
          g_input_stream_read (g_subprocess_get_stdout_pipe (host), &ready, 1, NULL, &error);
          g_assert_no_error (error);
          g_assert_cmpint (ready, ==, 'r');
        }
      /* the first one certainly before it has a command */
      if (i > 0)
        g_usleep ((gulong) g_test_rand_int_range (0, MOMENTS_US));
      if (i % 8 == 1)
        test_marker_wait (marker, FAMILY);
      n_seen += test_marker_count (marker) > 0 ? 1 : 0;
      g_subprocess_force_exit (host);
      g_assert_true (g_subprocess_wait (host, NULL, &error));
      g_assert_true (g_subprocess_get_if_signaled (host));
      test_marker_assert_gone (marker);
      /* All that are left are of that host, whom the library here does not know. */
      assert_nothing_left_within (0, G_MAXUINT, 0);
    }
  test_remove_tree (workspace);

  /* Some were killed with a command alive, some without. */
  g_test_message ("%u of %u hosts had a command when they were killed", n_seen, N_HOST_KILLS);
  g_assert_cmpuint (n_seen, >, N_HOST_KILLS / 20);
  g_assert_cmpuint (n_seen, <, N_HOST_KILLS);
}

static void
test_stopped_host (void)
{
  g_autofree char *workspace = test_make_workspace ();
  g_autofree char *marker = test_marker_new ();
  g_autoptr (GSubprocess) host = NULL;
  g_autoptr (GError) error = NULL;
  pid_t pid = 0;

  g_test_summary ("A host that is stopped keeps its command alive no longer than that command's time");

  g_setenv ("SANDBOX_TEST_TIMEOUT", "2000", TRUE);
  host = start_host (workspace, marker);
  g_unsetenv ("SANDBOX_TEST_TIMEOUT");
  pid = (pid_t) g_ascii_strtoll (g_subprocess_get_identifier (host), NULL, 10);
  test_marker_wait (marker, FAMILY);
  g_assert_cmpint (kill (pid, SIGSTOP), ==, 0);
  /* One that is just replacing itself has no arguments for a moment. */
  test_marker_wait (marker, FAMILY);
  test_marker_assert_gone (marker);
  g_assert_cmpint (kill (pid, SIGCONT), ==, 0);
  g_assert_true (g_subprocess_wait (host, NULL, &error));
  test_remove_tree (workspace);
}

static void
add (const char *path,
     void (*test) (TestSandbox *self, gconstpointer unused))
{
  g_test_add (path, TestSandbox, NULL, test_sandbox_set_up, test, test_sandbox_tear_down);
}

int
main (int    argc,
      char **argv)
{
  if (g_getenv ("SANDBOX_TEST_HOST") != NULL && argc == 2)
    return run_as_host (argv[1], g_getenv ("SANDBOX_TEST_HOST"));

  g_assert_cmpint (prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), ==, 0);
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  add ("/kill/late-child", test_late_child);
  add ("/kill/silent-child", test_silent_child);
  add ("/kill/family-left-behind", test_family_left_behind);
  add ("/kill/timeout", test_timeout);
  add ("/kill/recycled-id", test_recycled_id);
  add ("/kill/stop-of-process", test_stop_of_process);
  add ("/kill/deaf-grandchild", test_deaf_grandchild);
  add ("/kill/stop-of-session", test_stop_of_session);
  add ("/kill/shutdown-of-session", test_shutdown_of_session);
  add ("/kill/dropped-process", test_dropped_process);
  add ("/kill/cancel-from-another-thread", test_cancel_from_another_thread);
  add ("/kill/cancel-from-the-same-thread", test_cancel_from_the_same_thread);
  add ("/kill/cancel-at-the-edges", test_cancel_at_the_edges);
  add ("/kill/cancel-stopped", test_cancel_stopped);
  add ("/kill/admission", test_admission);
  add ("/kill/stop-while-starting", test_stop_while_starting);
  g_test_add_func ("/kill/killed-host", test_killed_host);
  g_test_add_func ("/kill/stopped-host", test_stopped_host);

  return g_test_run ();
}
