/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-process-private.h"

#include "sandbox-command-private.h"
#include "sandbox-error-private.h"
#include "sandbox-push-stream-private.h"
#include "sandbox-session.h"
#include "sandbox-worker-private.h"

#include "../common/test-helpers.h"
#include "memory-driver.h"

#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A process without any program: the test itself says what happens to it */

#define TEST_TYPE_PROCESS (test_process_get_type ())
G_DECLARE_FINAL_TYPE (TestProcess, test_process, TEST, PROCESS, SandboxProcess)

struct _TestProcess
{
  SandboxProcess parent_instance;

  int      terms;
  int      kills;
  gboolean dies_of_term;
  gboolean exits_of_term; /* and leaves something behind */
  gboolean dies_of_kill;
  gboolean refuses_signals;
  gint64   killed_us;
};

G_DEFINE_FINAL_TYPE (TestProcess, test_process, SANDBOX_TYPE_PROCESS)

static gboolean
test_process_send_signal (SandboxProcess *process,
                          int             signum,
                          GError        **error)
{
  TestProcess *self = TEST_PROCESS (process);

  if (self->refuses_signals)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "No signals here");
      return FALSE;
    }

  g_assert_cmpint (signum, ==, SIGTERM);
  g_atomic_int_inc (&self->terms);
  if (self->dies_of_term || self->exits_of_term)
    sandbox_process_set_exited (process, W_EXITCODE (0, SIGTERM), 0, 0, 0);
  if (self->dies_of_term)
    sandbox_process_set_gone (process);

  return TRUE;
}

static gboolean
test_process_kill (SandboxProcess *process,
                   GError        **error)
{
  TestProcess *self = TEST_PROCESS (process);

  self->killed_us = g_get_monotonic_time ();
  g_atomic_int_inc (&self->kills);
  if (self->dies_of_kill)
    {
      sandbox_process_set_exited (process, W_EXITCODE (0, SIGKILL), 0, 0, 0);
      sandbox_process_set_gone (process);
    }

  return TRUE;
}

static void
test_process_class_init (TestProcessClass *klass)
{
  SandboxProcessClass *process_class = SANDBOX_PROCESS_CLASS (klass);

  process_class->send_signal = test_process_send_signal;
  process_class->kill = test_process_kill;
}

static void
test_process_init (TestProcess *self)
{
}

static SandboxCommand *
new_command (void)
{
  static const char *const argv[] = { "none", NULL };

  return sandbox_command_new (argv);
}

/* @command is taken; NULL for a plain one. */
static TestProcess *
new_process (SandboxCommand *command)
{
  TestProcess *self = g_object_new (TEST_TYPE_PROCESS, NULL);
  g_autoptr (SandboxCommand) own = command != NULL ? command : new_command ();
  g_autoptr (SandboxCommand) frozen = sandbox_command_freeze (own);
  g_autoptr (SandboxDispatcher) dispatcher = sandbox_dispatcher_new ();

  self->dies_of_kill = TRUE;
  sandbox_process_attach (SANDBOX_PROCESS (self), frozen, dispatcher, TRUE);

  return self;
}

static SandboxCommand *
new_command_with (guint timeout_ms,
                  guint grace_ms)
{
  SandboxCommand *command = new_command ();

  sandbox_command_set_timeout_ms (command, timeout_ms);
  sandbox_command_set_kill_grace_ms (command, grace_ms);

  return command;
}

static SandboxOutcome
wait_outcome (gpointer process)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_process_wait (process, NULL, &error));
  g_assert_no_error (error);

  return sandbox_result_get_outcome (sandbox_process_get_result (process));
}

static void
count_cb (gpointer data)
{
  g_atomic_int_inc ((int *) data);
}

/* ---- The ends */

static void
test_ends (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The end that counts is the one of everything, and the status is that of the command");

  sandbox_process_wait_async (process, NULL, test_result_cb, &result);
  g_assert_null (sandbox_process_get_result (process));
  sandbox_process_set_exited (process, W_EXITCODE (7, 0), 30, 20, 10);
  test_run_for (20);
  g_assert_null (result);
  g_assert_null (sandbox_process_get_result (process));
  g_assert_false (sandbox_process_is_gone (process));

  sandbox_process_set_exited (process, W_EXITCODE (8, 0), 0, 0, 0);
  sandbox_process_set_gone (process);
  sandbox_process_set_gone (process);
  sandbox_process_set_exited (process, W_EXITCODE (9, 0), 0, 0, 0);
  test_wait (result != NULL);
  g_assert_true (sandbox_process_wait_finish (process, result, &error));
  g_assert_no_error (error);

  g_assert_true (sandbox_process_is_gone (process));
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpint (sandbox_result_get_exit_status (sandbox_process_get_result (process)), ==, 7);
  g_assert_cmpuint (sandbox_result_get_user_time_us (sandbox_process_get_result (process)), ==, 30);
  g_assert_cmpuint (sandbox_result_get_system_time_us (sandbox_process_get_result (process)), ==, 20);
  g_assert_cmpuint (sandbox_result_get_peak_memory_bytes (sandbox_process_get_result (process)), ==, 10);
  g_assert_cmpint (test->kills, ==, 0);
}

static void
test_wall_time (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  guint64         limit = g_get_monotonic_time ();

  g_test_summary ("The wall time is that of the command, not of what it leaves behind");

  g_usleep (30000);
  sandbox_process_set_exited (process, 0, 0, 0, 0);
  limit = g_get_monotonic_time () - limit + 100000;
  g_usleep (200000);
  sandbox_process_set_gone (process);
  g_assert_cmpint (wait_outcome (process), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpuint (sandbox_result_get_wall_time_us (sandbox_process_get_result (process)), >=, 30000);
  g_assert_cmpuint (sandbox_result_get_wall_time_us (sandbox_process_get_result (process)), <, limit);
}

static void
test_lost (void)
{
  g_autoptr (TestProcess) vanished = new_process (NULL);
  g_autoptr (TestProcess) lost = new_process (NULL);
  g_autoptr (TestProcess) exited = new_process (NULL);

  g_test_summary ("An end that nobody saw is LOST, never 0");

  sandbox_process_set_gone (SANDBOX_PROCESS (vanished));
  g_assert_cmpint (wait_outcome (vanished), ==, SANDBOX_OUTCOME_LOST);
  g_assert_cmpint (sandbox_result_get_exit_status (sandbox_process_get_result (SANDBOX_PROCESS (vanished))), ==, -1);

  sandbox_process_set_lost (SANDBOX_PROCESS (lost));
  g_assert_cmpint (wait_outcome (lost), ==, SANDBOX_OUTCOME_LOST);

  sandbox_process_set_exited (SANDBOX_PROCESS (exited), 0, 0, 0, 0);
  sandbox_process_set_lost (SANDBOX_PROCESS (exited));
  g_assert_cmpint (wait_outcome (exited), ==, SANDBOX_OUTCOME_EXITED);
}

static void
test_ended_lost (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);

  g_test_summary ("A command that the library ended, and that is gone without a status, ended for that reason");

  test->dies_of_kill = FALSE;
  sandbox_process_end (SANDBOX_PROCESS (test), SANDBOX_OUTCOME_STOPPED);
  sandbox_process_set_gone (SANDBOX_PROCESS (test));
  g_assert_cmpint (wait_outcome (test), ==, SANDBOX_OUTCOME_STOPPED);
  g_assert_cmpint (sandbox_result_get_exit_status (sandbox_process_get_result (SANDBOX_PROCESS (test))), ==, -1);
}

static void
test_reasons (void)
{
  g_autoptr (TestProcess) first = new_process (NULL);
  g_autoptr (TestProcess) limited = new_process (NULL);
  g_autoptr (TestProcess) late = new_process (NULL);
  g_autoptr (TestProcess) full = new_process (NULL);
  SandboxResult *result = NULL;

  g_test_summary ("The first reason stands; after the command's own end only its output counts");

  first->dies_of_kill = FALSE;
  sandbox_process_end (SANDBOX_PROCESS (first), SANDBOX_OUTCOME_CANCELLED);
  sandbox_process_end (SANDBOX_PROCESS (first), SANDBOX_OUTCOME_TIMED_OUT);
  sandbox_process_end (SANDBOX_PROCESS (first), SANDBOX_OUTCOME_OUTPUT_LIMIT);
  sandbox_process_set_outcome (SANDBOX_PROCESS (first), SANDBOX_OUTCOME_MEMORY_LIMIT, 1, 2);
  g_assert_cmpint (first->kills, ==, 3);
  sandbox_process_set_exited (SANDBOX_PROCESS (first), W_EXITCODE (0, SIGKILL), 0, 0, 0);
  sandbox_process_set_gone (SANDBOX_PROCESS (first));
  g_assert_cmpint (wait_outcome (first), ==, SANDBOX_OUTCOME_CANCELLED);

  sandbox_process_set_outcome (SANDBOX_PROCESS (limited), SANDBOX_OUTCOME_MEMORY_LIMIT, 100, 101);
  sandbox_process_end (SANDBOX_PROCESS (limited), SANDBOX_OUTCOME_STOPPED);
  g_assert_cmpint (wait_outcome (limited), ==, SANDBOX_OUTCOME_MEMORY_LIMIT);
  result = sandbox_process_get_result (SANDBOX_PROCESS (limited));
  g_assert_cmpuint (sandbox_result_get_limit_value (result), ==, 100);
  g_assert_cmpuint (sandbox_result_get_limit_peak (result), ==, 101);

  sandbox_process_set_exited (SANDBOX_PROCESS (late), W_EXITCODE (3, 0), 0, 0, 0);
  sandbox_process_end (SANDBOX_PROCESS (late), SANDBOX_OUTCOME_TIMED_OUT);
  g_assert_cmpint (wait_outcome (late), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpint (sandbox_result_get_exit_status (sandbox_process_get_result (SANDBOX_PROCESS (late))), ==, 3);

  sandbox_process_set_exited (SANDBOX_PROCESS (full), 0, 0, 0, 0);
  sandbox_process_end (SANDBOX_PROCESS (full), SANDBOX_OUTCOME_OUTPUT_LIMIT);
  g_assert_cmpint (wait_outcome (full), ==, SANDBOX_OUTCOME_OUTPUT_LIMIT);
}

static void
free_slowly (gpointer data)
{
  g_usleep (50000);
  g_atomic_int_inc ((int *) data);
}

static gpointer
set_gone_thread (gpointer data)
{
  sandbox_process_set_exited (data, 0, 0, 0, 0);
  sandbox_process_set_gone (data);

  return NULL;
}

static void
test_release (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  g_autoptr (GAsyncResult) collected = NULL;
  g_autoptr (GAsyncResult) waited = NULL;
  GThread *thread = NULL;
  int      freed = 0;

  g_test_summary ("Nobody hears of the end before what the command held is free, whichever thread is first");

  sandbox_process_keep (process, &freed, free_slowly);
  sandbox_process_communicate_async (process, NULL, NULL, test_result_cb, &collected);
  thread = g_thread_new ("gone", set_gone_thread, process);
  while (!sandbox_process_is_gone (process))
    g_usleep (100);
  sandbox_process_wait_async (process, NULL, test_result_cb, &waited);
  test_wait (collected != NULL || waited != NULL);
  g_assert_cmpint (g_atomic_int_get (&freed), ==, 1);
  test_wait (collected != NULL && waited != NULL);
  g_thread_join (thread);
}

/* ---- What the library does by itself */

static void
test_timeout (void)
{
  g_autoptr (TestProcess) test = new_process (new_command_with (100, 2000));
  gint64 before = g_get_monotonic_time ();

  g_test_summary ("A command that takes too long is killed, without asking it first");

  g_assert_cmpint (wait_outcome (test), ==, SANDBOX_OUTCOME_TIMED_OUT);
  g_assert_cmpuint (sandbox_result_get_limit_value (sandbox_process_get_result (SANDBOX_PROCESS (test))), ==, 100);
  g_assert_cmpint (test->kills, ==, 1);
  g_assert_cmpint (test->terms, ==, 0);
  g_assert_cmpint (test->killed_us - before, >=, 90000);
}

static void
test_timeout_after_exit (void)
{
  g_autoptr (TestProcess) test = new_process (new_command_with (60, 2000));

  g_test_summary ("The time limit is that of the command: what it leaves behind makes no TIMED_OUT");

  sandbox_process_set_exited (SANDBOX_PROCESS (test), 0, 0, 0, 0);
  g_assert_cmpint (wait_outcome (test), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpint (test->kills, ==, 1);
}

static void
test_left_behind (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  gint64 before = g_get_monotonic_time ();

  g_test_summary ("What a command leaves behind is killed 250 ms after its own end");

  sandbox_process_set_exited (SANDBOX_PROCESS (test), W_EXITCODE (4, 0), 0, 0, 0);
  g_assert_cmpint (test->kills, ==, 0);
  g_assert_cmpint (wait_outcome (test), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpint (test->kills, ==, 1);
  g_assert_cmpint (test->killed_us - before, >=, 240000);
  g_assert_cmpint (test->killed_us - before, <, 2 * G_USEC_PER_SEC);
}

static void
test_give_up (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  SandboxResult  *given_up = NULL;
  gint64          before = g_get_monotonic_time ();
  int             freed = 0;

  g_test_summary ("A driver that cannot prove the end keeps the caller for 5 s, and what the command holds for ever");

  test->dies_of_kill = FALSE;
  sandbox_process_keep (process, &freed, count_cb);
  sandbox_process_end (process, SANDBOX_OUTCOME_STOPPED);
  g_assert_cmpint (wait_outcome (process), ==, SANDBOX_OUTCOME_STOPPED);
  g_assert_cmpint (g_get_monotonic_time () - before, >=, 4900000);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 8000000);
  g_assert_cmpint (freed, ==, 0);
  g_assert_false (sandbox_process_is_gone (process));

  given_up = sandbox_process_get_result (process);
  sandbox_process_set_exited (process, W_EXITCODE (0, SIGKILL), 5, 5, 5);
  sandbox_process_set_gone (process);
  g_assert_cmpint (freed, ==, 1);
  g_assert_cmpint (wait_outcome (process), ==, SANDBOX_OUTCOME_STOPPED);
  /* Whoever got the first result still has it. */
  g_assert_cmpint (sandbox_result_get_outcome (given_up), ==, SANDBOX_OUTCOME_STOPPED);
}

static void
test_result_stays (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  SandboxResult  *result = NULL;
  g_autoptr (SandboxResult) full = NULL;

  g_test_summary ("A result that was handed out lives as long as its process, whoever waits afterwards");

  sandbox_process_set_exited (process, W_EXITCODE (2, 0), 0, 0, 0);
  sandbox_process_set_gone (process);
  wait_outcome (process);
  result = sandbox_process_get_result (process);
  wait_outcome (process);
  g_assert_true (sandbox_process_get_result (process) == result);
  full = sandbox_process_communicate (process, NULL, NULL, NULL);
  g_assert_nonnull (full);
  g_assert_true (sandbox_process_get_result (process) == full);
  g_assert_cmpint (sandbox_result_get_exit_status (result), ==, 2);
  g_assert_cmpint (sandbox_result_get_exit_status (full), ==, 2);
}

/* ---- Stopping */

static void
stop (TestProcess *test)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_process_stop (SANDBOX_PROCESS (test), NULL, &error));
  g_assert_no_error (error);
}

static void
test_stop (void)
{
  g_autoptr (TestProcess) polite = new_process (new_command_with (30000, 10000));
  g_autoptr (TestProcess) rude = new_process (new_command_with (30000, 150));
  g_autoptr (TestProcess) impatient = new_process (new_command_with (30000, 0));
  g_autoptr (TestProcess) deaf = new_process (new_command_with (30000, 10000));
  g_autoptr (TestProcess) parent = new_process (new_command_with (30000, 10000));
  gint64 before = 0;

  g_test_summary ("TERM first; KILL after the grace, or at once without one");

  polite->dies_of_term = TRUE;
  stop (polite);
  g_assert_cmpint (polite->terms, ==, 1);
  g_assert_cmpint (polite->kills, ==, 0);
  g_assert_cmpint (wait_outcome (polite), ==, SANDBOX_OUTCOME_STOPPED);

  before = g_get_monotonic_time ();
  stop (rude);
  g_assert_cmpint (rude->terms, ==, 1);
  g_assert_cmpint (rude->kills, ==, 1);
  g_assert_cmpint (rude->killed_us - before, >=, 140000);
  g_assert_cmpint (wait_outcome (rude), ==, SANDBOX_OUTCOME_STOPPED);

  stop (impatient);
  g_assert_cmpint (impatient->terms, ==, 0);
  g_assert_cmpint (impatient->kills, ==, 1);

  deaf->refuses_signals = TRUE;
  stop (deaf);
  g_assert_cmpint (deaf->kills, ==, 1);
  g_assert_cmpint (wait_outcome (deaf), ==, SANDBOX_OUTCOME_STOPPED);

  /* The leader dies of TERM, a child of it ignores it. */
  parent->exits_of_term = TRUE;
  before = g_get_monotonic_time ();
  stop (parent);
  g_assert_cmpint (parent->kills, ==, 1);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 3 * G_USEC_PER_SEC);
}

static void
test_stop_twice (void)
{
  g_autoptr (TestProcess) test = new_process (new_command_with (30000, 100));
  SandboxProcess *process = SANDBOX_PROCESS (test);
  g_autoptr (GAsyncResult) first = NULL;
  g_autoptr (GAsyncResult) second = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Stopping again waits for the same end; stopping what has ended is fine");

  sandbox_process_stop_async (process, NULL, test_result_cb, &first);
  sandbox_process_stop_async (process, NULL, test_result_cb, &second);
  test_wait (first != NULL && second != NULL);
  g_assert_true (sandbox_process_stop_finish (process, first, &error));
  g_assert_true (sandbox_process_stop_finish (process, second, &error));
  g_assert_no_error (error);
  g_assert_cmpint (test->kills, ==, 1);
  stop (test);
  g_assert_cmpint (test->kills, ==, 1);
}

static void
test_stop_cancelled (void)
{
  g_autoptr (TestProcess) test = new_process (new_command_with (30000, 100));
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("A cancelled stop ends the waiting; the command is stopped all the same");

  g_cancellable_cancel (cancellable);
  g_assert_false (sandbox_process_stop (SANDBOX_PROCESS (test), cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpint (wait_outcome (test), ==, SANDBOX_OUTCOME_STOPPED);
  g_assert_cmpint (test->kills, ==, 1);
}

static void
test_kill (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A kill of the host is told as what it is; what has ended takes no more signals");

  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_no_error (error);
  g_assert_cmpint (wait_outcome (process), ==, SANDBOX_OUTCOME_SIGNALED);
  g_assert_cmpint (sandbox_result_get_signal (sandbox_process_get_result (process)), ==, SIGKILL);

  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_no_error (error);
  g_assert_cmpint (test->kills, ==, 1);
  g_assert_false (sandbox_process_send_signal (process, SIGTERM, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  g_assert_false (sandbox_process_resize (process, 24, 80, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_assert_cmpint (test->terms, ==, 0);
}

/* A process class that implements nothing */
typedef SandboxProcess      BareProcess;
typedef SandboxProcessClass BareProcessClass;

GType bare_process_get_type (void);

G_DEFINE_TYPE (BareProcess, bare_process, SANDBOX_TYPE_PROCESS)

static void
bare_process_class_init (BareProcessClass *klass)
{
}

static void
bare_process_init (BareProcess *self)
{
}

static void
test_bare (void)
{
  g_autoptr (SandboxProcess) process = g_object_new (bare_process_get_type (), NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("What a driver does not implement is refused");

  g_assert_false (sandbox_process_send_signal (process, SIGTERM, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_false (sandbox_process_resize (process, 24, 80, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_false (sandbox_process_kill (process, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  sandbox_process_set_lost (process);
}

/* ---- Waiting */

static gpointer
cancel_thread (gpointer data)
{
  g_usleep (50000);
  g_cancellable_cancel (data);

  return NULL;
}

static void
test_wait_cancelled (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("cancel", cancel_thread, cancellable);
  gint64   before = g_get_monotonic_time ();

  g_test_summary ("A cancelled wait ends at once, and the command lives on");

  g_assert_false (sandbox_process_wait (process, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 3 * G_USEC_PER_SEC);
  g_thread_join (thread);
  g_assert_cmpint (test->kills, ==, 0);

  sandbox_process_wait_async (process, cancellable, test_result_cb, &result);
  test_wait (result != NULL);
  g_assert_false (sandbox_process_wait_finish (process, result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);

  sandbox_process_set_exited (process, 0, 0, 0, 0);
  sandbox_process_set_gone (process);
  g_assert_false (sandbox_process_wait (process, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_true (sandbox_process_wait (process, NULL, &error));
  g_assert_no_error (error);
}

static void
test_wait_many (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  GAsyncResult   *results[20] = { NULL };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) cancelled = NULL;

  g_test_summary ("Everybody who waits is answered once; one who gives up disturbs nobody");

  for (guint i = 0; i < G_N_ELEMENTS (results); i++)
    sandbox_process_wait_async (process, NULL, test_result_cb, &results[i]);
  sandbox_process_wait_async (process, cancellable, test_result_cb, &cancelled);
  g_cancellable_cancel (cancellable);
  test_wait (cancelled != NULL);
  test_run_for (5);
  g_assert_null (results[0]);

  sandbox_process_set_gone (process);
  for (guint i = 0; i < G_N_ELEMENTS (results); i++)
    {
      test_wait (results[i] != NULL);
      g_assert_true (sandbox_process_wait_finish (process, results[i], NULL));
      g_object_unref (results[i]);
    }
}

static gpointer
gone_thread (gpointer data)
{
  g_usleep (g_random_int_range (0, 300));
  sandbox_process_set_exited (data, 0, 0, 0, 0);
  sandbox_process_set_gone (data);

  return NULL;
}

static gpointer
cancel_soon_thread (gpointer data)
{
  g_usleep (g_random_int_range (0, 300));
  g_cancellable_cancel (data);

  return NULL;
}

static void
test_wait_races (void)
{
  g_test_summary ("An end and a cancellation that race give one answer, and nothing is left of either");

  for (guint i = 0; i < 400; i++)
    {
      TestProcess *test = new_process (NULL);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GError) error = NULL;
      GThread *gone = g_thread_new ("gone", gone_thread, test);
      GThread *cancel = g_thread_new ("cancel", cancel_soon_thread, cancellable);

      sandbox_process_wait_async (SANDBOX_PROCESS (test), cancellable, test_result_cb, &result);
      test_wait (result != NULL);
      if (!sandbox_process_wait_finish (SANDBOX_PROCESS (test), result, &error))
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_thread_join (gone);
      g_thread_join (cancel);
      g_clear_object (&result);
      test_wait (G_OBJECT (test)->ref_count == 1);
      g_assert_finalize_object (test);
    }
}

/* ---- Streams */

static void
test_properties (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  g_autoptr (TestProcess) other = new_process (NULL);
  g_autofree char *id = NULL;
  g_autoptr (GInputStream) output = NULL;
  g_autoptr (GInputStream) errors = NULL;
  g_autoptr (GOutputStream) input = NULL;
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("A process has a name of its own, and the streams that its driver gave it or that are pushed to");

  g_object_get (test, "id", &id, "stdin", &input, "stdout", &output, "stderr", &errors, "result", &result, NULL);
  g_assert_cmpstr (id, ==, sandbox_process_get_id (SANDBOX_PROCESS (test)));
  g_assert_cmpstr (id, !=, sandbox_process_get_id (SANDBOX_PROCESS (other)));
  g_assert_null (input);
  g_assert_true (SANDBOX_IS_PUSH_STREAM (output));
  g_assert_true (SANDBOX_IS_PUSH_STREAM (errors));
  g_assert_true (output != errors);
  g_assert_null (result);
}

static void
test_streams_once (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  g_autoptr (GInputStream) stream = g_memory_input_stream_new ();
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);

  g_test_summary ("Streams are handed over once, and nothing is pushed to a driver's own");

  sandbox_process_set_streams (process, NULL, stream, NULL);
  g_assert_true (sandbox_process_get_stdout (process) == stream);
  g_assert_null (sandbox_process_get_stderr (process));

  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*!had_streams*");
  sandbox_process_set_streams (process, NULL, stream, NULL);
  g_test_assert_expected_messages ();
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*stream != NULL*");
  g_assert_false (sandbox_process_push_stdout (process, bytes));
  g_test_assert_expected_messages ();
}

/* What is written to the ends that it leaves is what the process says. */
static void
take_pipes (TestProcess *test,
            int          writers[2])
{
  int pipes[2];

  for (guint i = 0; i < 2; i++)
    {
      int ends[2];

      g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
      g_assert_cmpint (fcntl (ends[0], F_SETFL, O_NONBLOCK), ==, 0);
      pipes[i] = ends[0];
      writers[i] = ends[1];
    }
  sandbox_process_take_pipes (SANDBOX_PROCESS (test), NULL, pipes);
  g_assert_cmpint (pipes[0], ==, -1);
  g_assert_cmpint (pipes[1], ==, -1);
}

static void
test_pipes (void)
{
  const char *const words[] = { "said", "warned" };

  g_test_summary ("Pipes of the library's own are streams for who asks, are collected as they are by who does not, and are closed for all");

  for (guint asks = 0; asks < 3; asks++)
    {
      g_autoptr (TestProcess) test = new_process (NULL);
      SandboxProcess *process = SANDBOX_PROCESS (test);
      int             writers[2];

      take_pipes (test, writers);
      for (guint i = 0; i < 2; i++)
        g_assert_cmpint (write (writers[i], words[i], strlen (words[i])), ==, (gssize) strlen (words[i]));
      if (asks == 0)
        {
          sandbox_process_set_gone (process);
          g_clear_object (&test);
          for (guint i = 0; i < 2; i++)
            {
              GPollFD polled = { writers[i], G_IO_OUT, 0 };

              g_assert_cmpint (g_poll (&polled, 1, 10000), ==, 1);
              g_assert_cmpint (polled.revents & G_IO_ERR, ==, G_IO_ERR);
            }
        }
      else if (asks == 1)
        {
          char buffer[16] = "";

          g_assert_true (G_IS_UNIX_INPUT_STREAM (sandbox_process_get_stdout (process)));
          g_assert_true (sandbox_process_get_stdout (process) == sandbox_process_get_stdout (process));
          g_assert_cmpint (g_input_stream_read (sandbox_process_get_stderr (process), buffer, sizeof buffer, NULL, NULL), ==, 6);
          g_assert_cmpstr (buffer, ==, "warned");
          sandbox_process_set_gone (process);
        }
      else
        {
          g_autoptr (GAsyncResult) done = NULL;
          g_autoptr (SandboxResult) result = NULL;

          sandbox_process_collect (process, g_task_new (process, NULL, test_result_cb, &done));
          /* a session lists its processes, also those that are collected */
          g_assert_true (g_input_stream_is_closed (sandbox_process_get_stdout (process)));
          g_assert_true (g_input_stream_is_closed (sandbox_process_get_stderr (process)));
          for (guint i = 0; i < 2; i++)
            close (g_steal_fd (&writers[i]));
          sandbox_process_set_exited (process, 0, 0, 0, 0);
          sandbox_process_set_gone (process);
          test_wait (done != NULL);
          result = g_task_propagate_pointer (G_TASK (done), NULL);
          test_assert_bytes (sandbox_result_get_stdout (result), "said");
          test_assert_bytes (sandbox_result_get_stderr (result), "warned");
        }
      for (guint i = 0; i < 2; i++)
        if (writers[i] >= 0)
          close (writers[i]);
    }
}

static void
test_push (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  g_autoptr (GBytes) output = g_bytes_new_static ("out", 3);
  g_autoptr (GBytes) errors = g_bytes_new_static ("err", 3);
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("What is pushed is collected; nothing is wanted after the end");

  g_assert_true (sandbox_process_push_stdout (process, output));
  g_assert_true (sandbox_process_push_stderr (process, errors));
  sandbox_process_set_exited (process, 0, 0, 0, 0);
  g_assert_true (sandbox_process_push_stdout (process, output));
  sandbox_process_set_gone (process);
  g_assert_false (sandbox_process_push_stdout (process, output));
  result = sandbox_process_communicate (process, NULL, NULL, NULL);
  g_assert_nonnull (result);
  test_assert_bytes (sandbox_result_get_stdout (result), "outout");
  test_assert_bytes (sandbox_result_get_stderr (result), "err");
}

static void
test_push_flood (void)
{
  g_autoptr (TestProcess) early = g_object_new (TEST_TYPE_PROCESS, NULL);
  g_autoptr (TestProcess) test = new_process (NULL);
  g_autoptr (GBytes) huge = g_bytes_new_take (g_malloc0 (SANDBOX_PUSH_STREAM_MAX), SANDBOX_PUSH_STREAM_MAX);
  g_autoptr (GBytes) more = g_bytes_new_static ("x", 1);
  g_autoptr (SandboxCommand) command = new_command ();
  g_autoptr (SandboxDispatcher) dispatcher = sandbox_dispatcher_new ();

  g_test_summary ("A flood that nobody reads is bounded and kills, before the process is even known too");

  g_assert_true (sandbox_process_push_stdout (SANDBOX_PROCESS (test), huge));
  g_assert_false (sandbox_process_push_stdout (SANDBOX_PROCESS (test), more));
  g_assert_cmpint (wait_outcome (test), ==, SANDBOX_OUTCOME_OUTPUT_LIMIT);

  early->dies_of_kill = TRUE;
  g_assert_true (sandbox_process_push_stderr (SANDBOX_PROCESS (early), huge));
  g_assert_false (sandbox_process_push_stderr (SANDBOX_PROCESS (early), more));
  g_assert_cmpint (early->kills, ==, 1);
  sandbox_process_attach (SANDBOX_PROCESS (early), command, dispatcher, TRUE);
  g_assert_cmpint (wait_outcome (early), ==, SANDBOX_OUTCOME_OUTPUT_LIMIT);
}

static int
set_pipe (TestProcess *test)
{
  g_autoptr (GInputStream) stream = NULL;
  int ends[2];

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  stream = g_unix_input_stream_new (ends[0], TRUE);
  sandbox_process_set_streams (SANDBOX_PROCESS (test), NULL, stream, NULL);

  return ends[1];
}

static void
test_drained (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  SandboxProcess *process = SANDBOX_PROCESS (test);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (SandboxResult) done = NULL;
  int fd = set_pipe (test);

  g_test_summary ("Who collects is answered when everything is gone and the streams have ended, not before");

  sandbox_process_communicate_async (process, NULL, NULL, test_result_cb, &result);
  g_assert_cmpint (write (fd, "one", 3), ==, 3);
  close (fd);
  test_run_for (30);
  g_assert_null (result);
  sandbox_process_set_exited (process, 0, 0, 0, 0);
  test_run_for (30);
  g_assert_null (result);
  sandbox_process_set_gone (process);
  test_wait (result != NULL);
  done = sandbox_process_communicate_finish (process, result, NULL);
  test_assert_bytes (sandbox_result_get_stdout (done), "one");
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stderr (done)), ==, 0);
}

static void
test_held_open (void)
{
  g_autoptr (TestProcess) test = new_process (NULL);
  g_autoptr (TestProcess) later = new_process (NULL);
  g_autoptr (SandboxResult) done = NULL;
  g_autoptr (SandboxResult) done_later = NULL;
  gint64 before = 0;
  int    fd = set_pipe (test);
  int    fd_later = set_pipe (later);

  g_test_summary ("A stream that somebody else holds open is cut 250 ms after everything is gone");

  g_assert_cmpint (write (fd, "one", 3), ==, 3);
  sandbox_process_set_exited (SANDBOX_PROCESS (test), 0, 0, 0, 0);
  sandbox_process_set_gone (SANDBOX_PROCESS (test));
  before = g_get_monotonic_time ();
  done = sandbox_process_communicate (SANDBOX_PROCESS (test), NULL, NULL, NULL);
  g_assert_cmpint (g_get_monotonic_time () - before, >=, 240000);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 3 * G_USEC_PER_SEC);
  test_assert_bytes (sandbox_result_get_stdout (done), "one");
  close (fd);

  /* The same when the collecting began long after the end. */
  g_assert_cmpint (write (fd_later, "two", 3), ==, 3);
  sandbox_process_set_exited (SANDBOX_PROCESS (later), 0, 0, 0, 0);
  sandbox_process_set_gone (SANDBOX_PROCESS (later));
  g_usleep (300000);
  done_later = sandbox_process_communicate (SANDBOX_PROCESS (later), NULL, NULL, NULL);
  test_assert_bytes (sandbox_result_get_stdout (done_later), "two");
  close (fd_later);
}

static gboolean
sleep_cb (gpointer data)
{
  g_usleep (GPOINTER_TO_UINT (data) * 1000);

  return G_SOURCE_REMOVE;
}

static gpointer
write_and_go_thread (gpointer data)
{
  gpointer        *pair = data;
  g_autofree char *buffer = g_malloc0 (600000);

  g_assert_cmpint (fcntl (GPOINTER_TO_INT (pair[1]), F_SETPIPE_SZ, 1 << 20), >=, 600000);
  g_assert_cmpint (write (GPOINTER_TO_INT (pair[1]), buffer, 600000), ==, 600000);
  close (GPOINTER_TO_INT (pair[1]));
  sandbox_process_set_exited (pair[0], 0, 0, 0, 0);
  sandbox_process_set_gone (pair[0]);

  return NULL;
}

static void
test_busy_machine (void)
{
  g_test_summary ("The end of the output is not cut off because the machine is too busy to read it in time");

  for (guint i = 0; i < 10; i++)
    {
      g_autoptr (TestProcess) test = new_process (NULL);
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (SandboxResult) done = NULL;
      gpointer pair[2] = { test, GINT_TO_POINTER (set_pipe (test)) };
      GThread *thread = NULL;

      sandbox_process_communicate_async (SANDBOX_PROCESS (test), NULL, NULL, test_result_cb, &result);
      test_run_for (5);
      sandbox_worker_invoke (sleep_cb, GUINT_TO_POINTER (300), NULL);
      test_run_for (5);
      thread = g_thread_new ("write", write_and_go_thread, pair);
      test_wait (result != NULL);
      g_thread_join (thread);
      done = sandbox_process_communicate_finish (SANDBOX_PROCESS (test), result, NULL);
      g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (done)), ==, 600000);
    }
}

/* ---- Over a session: commands as hosts see them */

static SandboxSession *
new_session (MemoryDriver *driver)
{
  g_autoptr (GError) error = NULL;
  SandboxSession *session = sandbox_session_new_for_driver (SANDBOX_DRIVER (driver), &error);

  g_assert_no_error (error);

  return session;
}

/* @command is taken. */
static SandboxResult *
run (SandboxSession *session,
     SandboxCommand *command)
{
  g_autoptr (GError) error = NULL;
  SandboxResult *result = sandbox_session_run (session, command, NULL, &error);

  g_assert_no_error (error);
  g_object_unref (command);

  return result;
}

static SandboxProcess *
spawn (SandboxSession *session,
       SandboxCommand *command)
{
  g_autoptr (GError) error = NULL;
  SandboxProcess *process = sandbox_session_spawn (session, command, NULL, &error);

  g_assert_no_error (error);
  g_object_unref (command);

  return process;
}

static void
check_bound (MemoryDriver            *driver,
             const char              *program,
             gsize                    output,
             gsize                    errors,
             SandboxOutputLimitAction action)
{
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autofree char *first = g_strdup_printf ("%" G_GSIZE_FORMAT, output);
  g_autofree char *second = g_strdup_printf ("%" G_GSIZE_FORMAT, errors);
  SandboxCommand  *command = memory_command (program, first, second, NULL);
  g_autoptr (SandboxResult) result = NULL;
  gsize over = output + errors > 100000 ? output + errors - 100000 : 0;
  gsize kept = 0;

  sandbox_command_set_max_output (command, 100000);
  sandbox_command_set_output_limit_action (command, action);
  result = run (session, command);
  kept = g_bytes_get_size (sandbox_result_get_stdout (result)) + g_bytes_get_size (sandbox_result_get_stderr (result));

  g_assert_cmpuint (kept, ==, output + errors - over);
  g_assert_cmpint (sandbox_result_get_truncated (result), ==, over > 0);
  if (over > 0 && action == SANDBOX_OUTPUT_LIMIT_ACTION_KILL)
    {
      g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_OUTPUT_LIMIT);
      g_assert_cmpuint (sandbox_result_get_limit_value (result), ==, 100000);
      g_assert_false (sandbox_result_check (result, NULL));
    }
  else
    {
      g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_EXITED);
      g_assert_cmpint (sandbox_result_get_exit_status (result), ==, 0);
      g_assert_cmpuint (sandbox_result_get_omitted_bytes (result), ==, over);
    }
}

static void
test_output_bound (void)
{
  static const gsize splits[][2] = {
    { 99999, 0 },
    { 100000, 0 },
    { 100001, 0 },
    { 0, 99999 },
    { 0, 100000 },
    { 0, 100001 },
    { 50000, 49999 },
    { 50000, 50000 },
    { 50000, 50001 },
    { 1, 100000 },
    { 100000, 1 },
    { 0, 0 },
    { 700000, 600000 },
  };
  static const char *const programs[] = { "flood", "interleave" };

  g_test_summary ("Both streams share the bound, exact to the byte, however they take turns and whatever carries them");

  for (guint i = 0; i < G_N_ELEMENTS (splits); i++)
    for (guint k = 0; k < 8; k++)
      {
        g_autoptr (MemoryDriver) driver = memory_driver_new ();

        memory_driver_set_pushes (driver, (k & 1) != 0);
        check_bound (driver, programs[(k >> 1) & 1], splits[i][0], splits[i][1],
                     (k & 4) != 0 ? SANDBOX_OUTPUT_LIMIT_ACTION_TRUNCATE : SANDBOX_OUTPUT_LIMIT_ACTION_KILL);
      }
}

static void
test_endless (void)
{
  g_test_summary ("A command that writes for ever is ended by its output or by its time, by pipe or by push");

  for (guint k = 0; k < 2; k++)
    {
      g_autoptr (MemoryDriver) driver = memory_driver_new ();
      g_autoptr (SandboxSession) session = new_session (driver);
      g_autoptr (SandboxResult) bounded = NULL;
      g_autoptr (SandboxResult) timed = NULL;
      SandboxCommand *command = memory_command ("yes", NULL);

      memory_driver_set_pushes (driver, k == 1);
      sandbox_command_set_max_output (command, 65536);
      bounded = run (session, command);
      g_assert_cmpint (sandbox_result_get_outcome (bounded), ==, SANDBOX_OUTCOME_OUTPUT_LIMIT);
      g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (bounded)), ==, 65536);

      command = memory_command ("yes", NULL);
      sandbox_command_set_max_output (command, 65536);
      sandbox_command_set_output_limit_action (command, SANDBOX_OUTPUT_LIMIT_ACTION_TRUNCATE);
      sandbox_command_set_timeout_ms (command, 200);
      timed = run (session, command);
      g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (timed)), ==, 65536);
      g_assert_cmpuint (sandbox_result_get_omitted_bytes (timed), >, 0);
      /* A driver that pushes faster than we read is stopped by the queue. */
      if (k == 0 || sandbox_result_get_outcome (timed) != SANDBOX_OUTCOME_OUTPUT_LIMIT)
        g_assert_cmpint (sandbox_result_get_outcome (timed), ==, SANDBOX_OUTCOME_TIMED_OUT);
      test_wait (memory_driver_count_live (driver) == 0);
    }
}

static void
test_tail (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = new_session (driver);

  g_test_summary ("Of five hundred commands that write and exit at once, none loses its tail");

  for (guint i = 0; i < 500; i++)
    {
      g_autoptr (SandboxResult) result = NULL;

      memory_driver_set_pushes (driver, i % 2 == 1);
      result = run (session, memory_command ("flood", "60000", "10", NULL));
      g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (result)), ==, 60000);
      g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stderr (result)), ==, 10);
    }
}

static void
test_toys (void)
{
  static const struct
  {
    const char    *argv[3];
    SandboxOutcome outcome;
    const char    *output;
  } cases[] = {
    { { "orphan", "hi" }, SANDBOX_OUTCOME_EXITED, "hi" },
    { { "hold", "hi" }, SANDBOX_OUTCOME_EXITED, "hi" },
    { { "vanish", "hi" }, SANDBOX_OUTCOME_LOST, "hi" },
    { { "lost", "hi" }, SANDBOX_OUTCOME_LOST, "hi" },
    { { "limited", "hi" }, SANDBOX_OUTCOME_MEMORY_LIMIT, "hi" },
    { { "signal", "11" }, SANDBOX_OUTCOME_SIGNALED, "" },
    { { "exit", "5" }, SANDBOX_OUTCOME_EXITED, "" },
  };

  g_test_summary ("Every end that a driver can report comes out as what it is, with the output that came before");

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (MemoryDriver) driver = memory_driver_new ();
      g_autoptr (SandboxSession) session = new_session (driver);
      g_autoptr (SandboxResult) result = NULL;
      guint  k = i / 2;
      gint64 before = g_get_monotonic_time ();

      memory_driver_set_pushes (driver, i % 2 == 1);
      result = run (session, sandbox_command_new (cases[k].argv));
      g_assert_cmpint (sandbox_result_get_outcome (result), ==, cases[k].outcome);
      test_assert_bytes (sandbox_result_get_stdout (result), cases[k].output);
      g_assert_cmpint (g_get_monotonic_time () - before, <, 3 * G_USEC_PER_SEC);
      test_wait (memory_driver_count_live (driver) == 0);
    }
}

static GBytes *
make_input (gsize size)
{
  char *data = g_malloc (size);

  for (gsize i = 0; i < size; i++)
    data[i] = (char) (i * 31 + i / 4096);

  return g_bytes_new_take (data, size);
}

static void
test_communicate (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (GBytes) input = make_input (5 << 20);
  g_autoptr (SandboxProcess) cat = NULL;
  g_autoptr (SandboxProcess) empty = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (SandboxResult) nothing = NULL;
  g_autoptr (GError) error = NULL;
  SandboxCommand *command = memory_command ("cat", NULL);

  g_test_summary ("Five megabytes go through a command and come back; no input is the end of the input");

  sandbox_command_set_max_output (command, 8 << 20);
  cat = spawn (session, command);
  result = sandbox_process_communicate (cat, input, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (sandbox_result_get_stdout (result), input));

  empty = spawn (session, memory_command ("cat", NULL));
  nothing = sandbox_process_communicate (empty, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_exit_status (nothing), ==, 0);
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (nothing)), ==, 0);
}

static void
test_communicate_unread (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (GBytes) input = make_input (5 << 20);
  g_autoptr (SandboxProcess) brief = NULL;
  g_autoptr (SandboxProcess) deaf = NULL;
  g_autoptr (SandboxProcess) held = NULL;
  g_autoptr (SandboxResult) ended = NULL;
  g_autoptr (SandboxResult) timed = NULL;
  g_autoptr (SandboxResult) gone = NULL;
  g_autoptr (GError) error = NULL;
  SandboxCommand *command = NULL;
  guint           descriptors = test_count_descriptors ();
  gint64          before = 0;

  g_test_summary ("Input that a command does not read is no error, blocks nothing of the library, and is let go at the end");

  brief = spawn (session, memory_command ("sleep", "50", NULL));
  ended = sandbox_process_communicate (brief, input, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_exit_status (ended), ==, 0);

  /* The worker still keeps the time limit of a command that it feeds. */
  command = memory_command ("hang", NULL);
  sandbox_command_set_timeout_ms (command, 200);
  deaf = spawn (session, command);
  before = g_get_monotonic_time ();
  timed = sandbox_process_communicate (deaf, input, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_outcome (timed), ==, SANDBOX_OUTCOME_TIMED_OUT);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 4 * G_USEC_PER_SEC);

  /* Somebody holds the reading end for ever. */
  held = spawn (session, memory_command ("hold", "x", NULL));
  gone = sandbox_process_communicate (held, input, NULL, &error);
  g_assert_no_error (error);
  test_wait (g_output_stream_is_closed (sandbox_process_get_stdin (held)));

  g_clear_object (&brief);
  g_clear_object (&deaf);
  g_clear_object (&held);
  test_assert_descriptors (descriptors);
  test_wait (((GObject *) driver)->ref_count <= 2);
}

static void
test_communicate_refused (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (GBytes) input = g_bytes_new_static ("x", 1);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  SandboxCommand *command = memory_command ("cat", NULL);

  g_test_summary ("A command that brought its input takes no other");

  sandbox_command_set_stdin (command, input);
  process = spawn (session, command);
  g_assert_null (sandbox_process_get_stdin (process));
  g_assert_null (sandbox_process_communicate (process, input, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  result = sandbox_process_communicate (process, NULL, NULL, &error);
  g_assert_no_error (error);
  test_assert_bytes (sandbox_result_get_stdout (result), "x");
}

static void
test_communicate_twice (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (GBytes) input = make_input (300000);
  g_autoptr (SandboxProcess) process = spawn (session, memory_command ("cat", NULL));
  g_autoptr (GAsyncResult) first = NULL;
  g_autoptr (GAsyncResult) second = NULL;
  g_autoptr (SandboxResult) one = NULL;
  g_autoptr (SandboxResult) two = NULL;
  g_autoptr (SandboxResult) three = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Whoever communicates too, at the same time or later, gets the same end and the same output");

  sandbox_process_communicate_async (process, input, NULL, test_result_cb, &first);
  sandbox_process_communicate_async (process, NULL, NULL, test_result_cb, &second);
  test_wait (first != NULL && second != NULL);
  one = sandbox_process_communicate_finish (process, first, &error);
  g_assert_no_error (error);
  two = sandbox_process_communicate_finish (process, second, &error);
  g_assert_no_error (error);
  three = sandbox_process_communicate (process, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (sandbox_result_get_stdout (one), input));
  g_assert_true (g_bytes_equal (sandbox_result_get_stdout (two), input));
  g_assert_true (g_bytes_equal (sandbox_result_get_stdout (three), input));
  g_assert_true (sandbox_process_wait (process, NULL, NULL));
  g_assert_true (sandbox_process_get_result (process) == three);
}

static void
test_communicate_cancelled (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (SandboxProcess) process = spawn (session, memory_command ("hang", NULL));
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("cancel", cancel_thread, cancellable);

  g_test_summary ("A cancelled communicate is answered when the command is dead");

  g_assert_null (sandbox_process_communicate (process, NULL, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_true (sandbox_process_is_gone (process));
  g_assert_cmpint (wait_outcome (process), ==, SANDBOX_OUTCOME_CANCELLED);
  g_thread_join (thread);
}

static void
test_streams_read (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (SandboxProcess) process = spawn (session, memory_command ("cat", NULL));
  g_autoptr (GError) error = NULL;
  char  buffer[16];
  gsize done = 0;

  g_test_summary ("A host that spawns talks to the command itself");

  g_assert_true (g_output_stream_write_all (sandbox_process_get_stdin (process), "ping", 4, NULL, NULL, &error));
  g_assert_cmpint (g_input_stream_read (sandbox_process_get_stdout (process), buffer, sizeof buffer, NULL, &error), ==, 4);
  g_assert_cmpmem (buffer, 4, "ping", 4);
  g_assert_true (g_output_stream_close (sandbox_process_get_stdin (process), NULL, &error));
  g_assert_true (g_input_stream_read_all (sandbox_process_get_stdout (process), buffer, sizeof buffer, &done, NULL, &error));
  g_assert_cmpuint (done, ==, 0);
  g_assert_no_error (error);
  g_assert_cmpint (wait_outcome (process), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (sandbox_process_get_result (process))), ==, 0);
}

static void
test_full_pipe (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (SandboxProcess) process = spawn (session, memory_command ("hang", NULL));
  g_autoptr (GBytes) input = make_input (1 << 20);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  gint64 before = g_get_monotonic_time ();

  g_test_summary ("Writing to a command that does not read does not block the host's main loop");

  g_output_stream_write_all_async (sandbox_process_get_stdin (process), g_bytes_get_data (input, NULL), 1 << 20,
                                   G_PRIORITY_DEFAULT, cancellable, test_result_cb, &result);
  test_run_for (50);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 5 * G_USEC_PER_SEC);
  g_assert_null (result);
  g_cancellable_cancel (cancellable);
  test_wait (result != NULL);
  g_assert_false (g_output_stream_write_all_finish (sandbox_process_get_stdin (process), result, NULL, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_true (sandbox_process_kill (process, NULL));
  wait_outcome (process);
}

/* ---- The threads of drivers in other languages */

static SandboxCommand *
timed_toy (const char *name,
           guint       timeout_ms)
{
  SandboxCommand *command = memory_command (name, NULL);

  sandbox_command_set_timeout_ms (command, timeout_ms);

  return command;
}

static void
test_foreign_sync (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new_foreign ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxResult) timed = NULL;
  g_autoptr (SandboxResult) flooded = NULL;
  g_autoptr (SandboxResult) left = NULL;

  g_test_summary ("Below synchronous calls, such a driver is called only in the thread that blocks in them");

  timed = run (session, timed_toy ("hang", 100));
  g_assert_cmpint (sandbox_result_get_outcome (timed), ==, SANDBOX_OUTCOME_TIMED_OUT);
  flooded = run (session, memory_command ("yes", NULL));
  g_assert_cmpint (sandbox_result_get_outcome (flooded), ==, SANDBOX_OUTCOME_OUTPUT_LIMIT);
  left = run (session, memory_command ("orphan", "x", NULL));
  g_assert_cmpint (sandbox_result_get_outcome (left), ==, SANDBOX_OUTCOME_EXITED);
  process = spawn (session, memory_command ("hang", NULL));
  g_assert_true (sandbox_process_stop (process, NULL, NULL));

  g_assert_cmpuint (memory_driver_count_calls (driver, "kill"), >=, 4);
  g_assert_cmpuint (memory_driver_count_calls_outside (driver, g_thread_self (), NULL), ==, 0);
}

static void
test_foreign_async (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new_foreign ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (SandboxCommand) command = timed_toy ("hang", 100);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (SandboxCommand) forever = memory_command ("hang", NULL);
  g_autoptr (GAsyncResult) first = NULL;
  g_autoptr (GAsyncResult) second = NULL;
  g_autoptr (SandboxResult) timed = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Outside of them it is called only in the home context of the session");

  sandbox_session_run_async (session, command, NULL, test_result_cb, &first);
  sandbox_session_run_async (session, forever, cancellable, test_result_cb, &second);
  test_wait (first != NULL);
  timed = sandbox_session_run_finish (session, first, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_outcome (timed), ==, SANDBOX_OUTCOME_TIMED_OUT);
  g_cancellable_cancel (cancellable);
  test_wait (second != NULL);
  g_assert_null (sandbox_session_run_finish (session, second, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

  g_assert_cmpuint (memory_driver_count_calls (driver, "kill"), ==, 2);
  g_assert_cmpuint (memory_driver_count_calls_outside (driver, g_thread_self (), NULL), ==, 0);
}

static gpointer
foreign_caller_thread (gpointer data)
{
  g_autoptr (SandboxResult) result = run (data, timed_toy ("hang", 100));

  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_TIMED_OUT);

  return g_thread_ref (g_thread_self ());
}

static void
test_foreign_threads (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new_foreign ();
  g_autoptr (SandboxSession) session = new_session (driver);
  GThread *thread = g_thread_new ("caller", foreign_caller_thread, session);
  GThread *other = NULL;

  g_test_summary ("A call from another thread of the host brings that thread in, and nobody else's");

  other = g_thread_join (thread);
  g_assert_cmpuint (memory_driver_count_calls (driver, "kill"), ==, 1);
  g_assert_cmpuint (memory_driver_count_calls_outside (driver, other, NULL), ==, 0);
  g_thread_unref (other);
}

static void
test_safe_threads (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = new_session (driver);
  g_autoptr (SandboxProcess) process = spawn (session, timed_toy ("hang", 100));

  g_test_summary ("A thread-safe driver is told to kill although no thread of the host listens");

  for (guint i = 0; i < 10000 && memory_driver_count_live (driver) > 0; i++)
    g_usleep (1000);
  g_assert_cmpuint (memory_driver_count_live (driver), ==, 0);
  g_assert_cmpuint (memory_driver_count_calls_outside (driver, g_thread_self (), NULL), ==, 1);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/process/ends", test_ends);
  g_test_add_func ("/process/wall-time", test_wall_time);
  g_test_add_func ("/process/lost", test_lost);
  g_test_add_func ("/process/ended-lost", test_ended_lost);
  g_test_add_func ("/process/reasons", test_reasons);
  g_test_add_func ("/process/release", test_release);
  g_test_add_func ("/process/timeout", test_timeout);
  g_test_add_func ("/process/timeout-after-exit", test_timeout_after_exit);
  g_test_add_func ("/process/left-behind", test_left_behind);
  g_test_add_func ("/process/give-up", test_give_up);
  g_test_add_func ("/process/result-stays", test_result_stays);
  g_test_add_func ("/process/stop", test_stop);
  g_test_add_func ("/process/stop-twice", test_stop_twice);
  g_test_add_func ("/process/stop-cancelled", test_stop_cancelled);
  g_test_add_func ("/process/kill", test_kill);
  g_test_add_func ("/process/bare", test_bare);
  g_test_add_func ("/process/wait-cancelled", test_wait_cancelled);
  g_test_add_func ("/process/wait-many", test_wait_many);
  g_test_add_func ("/process/wait-races", test_wait_races);
  g_test_add_func ("/process/properties", test_properties);
  g_test_add_func ("/process/streams-once", test_streams_once);
  g_test_add_func ("/process/pipes", test_pipes);
  g_test_add_func ("/process/push", test_push);
  g_test_add_func ("/process/push-flood", test_push_flood);
  g_test_add_func ("/process/drained", test_drained);
  g_test_add_func ("/process/held-open", test_held_open);
  g_test_add_func ("/process/busy-machine", test_busy_machine);
  g_test_add_func ("/process/output-bound", test_output_bound);
  g_test_add_func ("/process/endless", test_endless);
  g_test_add_func ("/process/tail", test_tail);
  g_test_add_func ("/process/toys", test_toys);
  g_test_add_func ("/process/communicate", test_communicate);
  g_test_add_func ("/process/communicate-unread", test_communicate_unread);
  g_test_add_func ("/process/communicate-refused", test_communicate_refused);
  g_test_add_func ("/process/communicate-twice", test_communicate_twice);
  g_test_add_func ("/process/communicate-cancelled", test_communicate_cancelled);
  g_test_add_func ("/process/streams-read", test_streams_read);
  g_test_add_func ("/process/full-pipe", test_full_pipe);
  g_test_add_func ("/process/foreign-sync", test_foreign_sync);
  g_test_add_func ("/process/foreign-async", test_foreign_async);
  g_test_add_func ("/process/foreign-threads", test_foreign_threads);
  g_test_add_func ("/process/safe-threads", test_safe_threads);

  return g_test_run ();
}
