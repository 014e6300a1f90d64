/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A wall clock that jumps. This program's own clock_gettime() takes the place of the C library's, for the library and GLib
 * too: the wall clock is an hour early or late, and another one at each call. What the agent measures with is monotonic
 * as well (CLOCK_MONOTONIC and a timerfd of that clock), and it knows of no other.
 */
#include "../common/test-sandbox.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#define HOUR G_GINT64_CONSTANT (3600)

static gint n_jumps;

static time_t
jump (void)
{
  return g_atomic_int_add (&n_jumps, 1) % 2 == 0 ? HOUR : -HOUR;
}

int
clock_gettime (clockid_t        clock,
               struct timespec *now)
{
  int result = (int) syscall (SYS_clock_gettime, clock, now);

  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += jump ();

  return result;
}

int
gettimeofday (struct timeval *restrict now,
              void *restrict zone)
{
  struct timespec precise;

  if (clock_gettime (CLOCK_REALTIME, &precise) < 0)
    return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;

  return 0;
}

time_t
time (time_t *now)
{
  struct timespec precise;

  clock_gettime (CLOCK_REALTIME, &precise);
  if (now != NULL)
    *now = precise.tv_sec;

  return precise.tv_sec;
}

static gpointer
jumping_thread (gpointer user_data)
{
  while (!g_atomic_int_get ((gint *) user_data))
    {
      gint64 first = g_get_real_time ();
      gint64 second = g_get_real_time ();

      g_assert_cmpint (ABS (second - first), >, HOUR * G_USEC_PER_SEC);
      g_usleep (1000);
    }

  return NULL;
}

static void
test_deadline (TestSandbox  *self,
               gconstpointer unused)
{
  gint     stop = FALSE;
  GThread *thread = g_thread_new ("jumping", jumping_thread, &stop);

  g_test_summary ("Case 47: a wall clock that jumps by hours neither ends a command nor keeps one alive");

  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (SandboxCommand) enough = test_command_new ("sleep", "0.3", NULL);
      g_autoptr (SandboxCommand) forever = test_command_new ("sleep", "1000", NULL);
      g_autoptr (SandboxResult) ended = NULL;
      g_autoptr (SandboxResult) timed_out = NULL;

      sandbox_command_set_timeout_ms (enough, 20000);
      ended = test_run_command (self, enough);
      test_assert_exited (ended, 0);
      /* the clock starts when the host is told of the start, and the command does not wait for that */
      g_assert_cmpuint (sandbox_result_get_wall_time_us (ended), >=, 290000);
      g_assert_cmpuint (sandbox_result_get_wall_time_us (ended), <, 10 * G_USEC_PER_SEC);

      sandbox_command_set_timeout_ms (forever, 300);
      timed_out = test_run_command (self, forever);
      g_assert_cmpint (sandbox_result_get_outcome (timed_out), ==, SANDBOX_OUTCOME_TIMED_OUT);
      g_assert_cmpuint (sandbox_result_get_wall_time_us (timed_out), >=, 300000);
      g_assert_cmpuint (sandbox_result_get_wall_time_us (timed_out), <, 10 * G_USEC_PER_SEC);
    }
  g_atomic_int_set (&stop, TRUE);
  g_thread_join (thread);
  g_assert_cmpint (g_atomic_int_get (&n_jumps), >, 100);
}

static void
test_grace (TestSandbox  *self,
            gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "family", marker, NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  gint     stop = FALSE;
  GThread *thread = g_thread_new ("jumping", jumping_thread, &stop);
  gint64   before = 0;

  g_test_summary ("Case 47: the grace of a stop is as long as it was meant to be");

  sandbox_command_set_kill_grace_ms (command, 400);
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, 4);
  before = g_get_monotonic_time ();
  g_assert_true (sandbox_process_stop (process, NULL, &error));
  g_assert_cmpint (g_get_monotonic_time () - before, <, 5 * G_USEC_PER_SEC);
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
  g_atomic_int_set (&stop, TRUE);
  g_thread_join (thread);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add ("/clock/deadline", TestSandbox, NULL, test_sandbox_set_up, test_deadline, test_sandbox_tear_down);
  g_test_add ("/clock/grace", TestSandbox, NULL, test_sandbox_set_up, test_grace, test_sandbox_tear_down);

  return g_test_run ();
}
