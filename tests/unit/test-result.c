/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-error.h"
#include "sandbox-result-private.h"
#include "value-checks.h"

#include <signal.h>

#define EXITED(status) ((status) << 8)

static void
test_defaults (void)
{
  g_autoptr (SandboxResult) result = g_object_new (SANDBOX_TYPE_RESULT, NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = sandbox_result_dup_stdout_text (result);

  g_test_summary ("A result that nobody filled says that nothing is known, and is no success");

  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_LOST);
  g_assert_cmpint (sandbox_result_get_exit_status (result), ==, -1);
  g_assert_cmpint (sandbox_result_get_signal (result), ==, 0);
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (result)), ==, 0);
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stderr (result)), ==, 0);
  g_assert_cmpstr (text, ==, "");
  g_assert_false (sandbox_result_check (result, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
}

static void
test_fields (void)
{
  g_autoptr (GBytes) out = g_bytes_new_static ("out", 3);
  g_autoptr (GBytes) err = g_bytes_new_static ("error", 5);
  SandboxResultFields fields = { SANDBOX_OUTCOME_EXITED, EXITED (7), out, err, TRUE, 1, 2, 3, 4, 5, 6, G_MAXUINT64 };
  g_autoptr (SandboxResult) result = sandbox_result_new (&fields);
  g_autoptr (GBytes) got_out = NULL;
  g_autoptr (GBytes) got_err = NULL;
  SandboxOutcome outcome;
  int            exit_status;
  int            signal_number;
  gboolean       truncated;
  guint64        numbers[7];

  g_test_summary ("Every field is read as it was given, by getter and by property");

  g_object_get (result,
                "outcome", &outcome,
                "exit-status", &exit_status,
                "signal", &signal_number,
                "stdout", &got_out,
                "stderr", &got_err,
                "truncated", &truncated,
                "omitted-bytes", &numbers[0],
                "wall-time-us", &numbers[1],
                "user-time-us", &numbers[2],
                "system-time-us", &numbers[3],
                "peak-memory-bytes", &numbers[4],
                "limit-value", &numbers[5],
                "limit-peak", &numbers[6],
                NULL);

  g_assert_cmpint (outcome, ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpint (exit_status, ==, 7);
  g_assert_cmpint (signal_number, ==, 0);
  g_assert_true (got_out == out && got_err == err);
  g_assert_true (truncated);
  for (guint i = 0; i < 6; i++)
    g_assert_cmpuint (numbers[i], ==, i + 1);
  g_assert_cmpuint (numbers[6], ==, G_MAXUINT64);

  g_assert_true (sandbox_result_get_truncated (result));
  g_assert_cmpuint (sandbox_result_get_omitted_bytes (result), ==, 1);
  g_assert_cmpuint (sandbox_result_get_wall_time_us (result), ==, 2);
  g_assert_cmpuint (sandbox_result_get_user_time_us (result), ==, 3);
  g_assert_cmpuint (sandbox_result_get_system_time_us (result), ==, 4);
  g_assert_cmpuint (sandbox_result_get_peak_memory_bytes (result), ==, 5);
  g_assert_cmpuint (sandbox_result_get_limit_value (result), ==, 6);
  g_assert_cmpuint (sandbox_result_get_limit_peak (result), ==, G_MAXUINT64);
}

static void
test_wait_status (void)
{
  static const struct
  {
    SandboxOutcome given;
    int            wait_status;
    SandboxOutcome outcome;
    int            exit_status;
    int            signal;
  } rows[] = {
    { SANDBOX_OUTCOME_EXITED, EXITED (0), SANDBOX_OUTCOME_EXITED, 0, 0 },
    { SANDBOX_OUTCOME_EXITED, EXITED (1), SANDBOX_OUTCOME_EXITED, 1, 0 },
    { SANDBOX_OUTCOME_EXITED, EXITED (126), SANDBOX_OUTCOME_EXITED, 126, 0 },
    { SANDBOX_OUTCOME_EXITED, EXITED (137), SANDBOX_OUTCOME_EXITED, 137, 0 },
    { SANDBOX_OUTCOME_EXITED, EXITED (255), SANDBOX_OUTCOME_EXITED, 255, 0 },
    { SANDBOX_OUTCOME_SIGNALED, SIGKILL, SANDBOX_OUTCOME_SIGNALED, -1, SIGKILL },
    { SANDBOX_OUTCOME_SIGNALED, SIGSEGV | 0x80, SANDBOX_OUTCOME_SIGNALED, -1, SIGSEGV },
    { SANDBOX_OUTCOME_SIGNALED, 64, SANDBOX_OUTCOME_SIGNALED, -1, 64 },
    /* the status rules over what was given */
    { SANDBOX_OUTCOME_EXITED, SIGTERM, SANDBOX_OUTCOME_SIGNALED, -1, SIGTERM },
    { SANDBOX_OUTCOME_SIGNALED, EXITED (3), SANDBOX_OUTCOME_EXITED, 3, 0 },
    { SANDBOX_OUTCOME_EXITED, -1, SANDBOX_OUTCOME_LOST, -1, 0 },
    { SANDBOX_OUTCOME_SIGNALED, -1, SANDBOX_OUTCOME_LOST, -1, 0 },
    { SANDBOX_OUTCOME_EXITED, 0x137f, SANDBOX_OUTCOME_LOST, -1, 0 }, /* stopped */
    { SANDBOX_OUTCOME_LOST, EXITED (0), SANDBOX_OUTCOME_LOST, -1, 0 },
    /* the reason stays, and the status beside it */
    { SANDBOX_OUTCOME_TIMED_OUT, SIGKILL, SANDBOX_OUTCOME_TIMED_OUT, -1, SIGKILL },
    { SANDBOX_OUTCOME_STOPPED, EXITED (143), SANDBOX_OUTCOME_STOPPED, 143, 0 },
    { SANDBOX_OUTCOME_CANCELLED, -1, SANDBOX_OUTCOME_CANCELLED, -1, 0 },
  };

  g_test_summary ("Nothing is said of an end but what the wait status says; an unknown one is never 0");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      SandboxResultFields fields = { .outcome = rows[i].given, .wait_status = rows[i].wait_status };
      g_autoptr (SandboxResult) result = sandbox_result_new (&fields);

      g_test_message ("row %u", i);
      g_assert_cmpint (sandbox_result_get_outcome (result), ==, rows[i].outcome);
      g_assert_cmpint (sandbox_result_get_exit_status (result), ==, rows[i].exit_status);
      g_assert_cmpint (sandbox_result_get_signal (result), ==, rows[i].signal);
    }
}

static void
test_check (void)
{
  static const struct
  {
    SandboxOutcome outcome;
    int            wait_status;
    guint64        limit_value;
    int            code; /* -1 is cancelled */
    const char    *words;
  } rows[] = {
    { SANDBOX_OUTCOME_EXITED, EXITED (3), 0, SANDBOX_ERROR_FAILED, "exited with status 3" },
    { SANDBOX_OUTCOME_SIGNALED, SIGKILL, 0, SANDBOX_ERROR_FAILED, "signal 9 (" },
    { SANDBOX_OUTCOME_TIMED_OUT, SIGKILL, 1500, SANDBOX_ERROR_LIMIT, "ran longer than its limit of 1500 ms" },
    { SANDBOX_OUTCOME_TIMED_OUT, EXITED (0), 0, SANDBOX_ERROR_LIMIT, "ran longer than its limit" },
    { SANDBOX_OUTCOME_OUTPUT_LIMIT, SIGKILL, 10, SANDBOX_ERROR_LIMIT, "more output than its limit of 10 bytes" },
    { SANDBOX_OUTCOME_CANCELLED, SIGKILL, 0, -1, "cancelled" },
    { SANDBOX_OUTCOME_STOPPED, SIGTERM, 0, SANDBOX_ERROR_STOPPED, "was stopped" },
    { SANDBOX_OUTCOME_MEMORY_LIMIT, SIGKILL, 7, SANDBOX_ERROR_LIMIT, "more memory than its limit of 7 bytes" },
    { SANDBOX_OUTCOME_TASKS_LIMIT, EXITED (1), 7, SANDBOX_ERROR_LIMIT, "processes and threads than its limit of 7" },
    { SANDBOX_OUTCOME_CPU_LIMIT, SIGXCPU, 7, SANDBOX_ERROR_LIMIT, "processor time than its limit of 7 s" },
    { SANDBOX_OUTCOME_FILE_SIZE_LIMIT, SIGXFSZ, 7, SANDBOX_ERROR_LIMIT, "a larger file than its limit of 7 bytes" },
    { SANDBOX_OUTCOME_LOST, -1, 0, SANDBOX_ERROR_FAILED, "unknown" },
  };
  SandboxResultFields good = { .outcome = SANDBOX_OUTCOME_EXITED, .wait_status = EXITED (0) };
  g_autoptr (SandboxResult) success = sandbox_result_new (&good);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Only exit status 0 passes; each other end has its code and a message that names it");

  g_assert_true (sandbox_result_check (success, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_result_check (success, NULL));

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      SandboxResultFields fields = {
        .outcome = rows[i].outcome,
        .wait_status = rows[i].wait_status,
        .limit_value = rows[i].limit_value,
      };
      g_autoptr (SandboxResult) result = sandbox_result_new (&fields);

      g_test_message ("row %u", i);
      g_assert_false (sandbox_result_check (result, NULL));
      g_assert_false (sandbox_result_check (result, &error));
      if (rows[i].code >= 0)
        g_assert_error (error, SANDBOX_ERROR, rows[i].code);
      else
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_assert_nonnull (strstr (error->message, rows[i].words));
      g_clear_error (&error);
    }
}

static void
test_text (void)
{
  static const char bytes[] = { 'a', '\0', 'b', '\xff', '\xc3', '\xa9', '\xe2', '\x82' };
  g_autoptr (GBytes) out = g_bytes_new_static (bytes, sizeof bytes);
  g_autoptr (GBytes) err = g_bytes_new_static ("plain", 5);
  SandboxResultFields fields = { .outcome = SANDBOX_OUTCOME_EXITED, .output = out, .errors = err };
  g_autoptr (SandboxResult) result = sandbox_result_new (&fields);
  g_autofree char *text = sandbox_result_dup_stdout_text (result);
  g_autofree char *plain = sandbox_result_dup_stderr_text (result);

  g_test_summary ("Text is complete and valid: a NUL and each byte that is not UTF-8 is U+FFFD");

  g_assert_cmpstr (text, ==, "a\357\277\275b\357\277\275é\357\277\275\357\277\275");
  g_assert_cmpstr (plain, ==, "plain");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/result/defaults", test_defaults);
  g_test_add_func ("/result/fields", test_fields);
  g_test_add_func ("/result/wait-status", test_wait_status);
  g_test_add_func ("/result/check", test_check);
  g_test_add_func ("/result/text", test_text);

  return g_test_run ();
}
