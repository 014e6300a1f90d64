/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every byte of what real commands read and write, and the limits on it. */
#include "../common/test-sandbox.h"

#include <sys/resource.h>

#define N_TAILS test_rounds (500)
#define N_THREADS 8
#define TAIL_BYTES 60000
#define MEGABYTE (1024 * 1024)
/* What may take a second on an idle machine. */
#define SOON_US (3 * G_USEC_PER_SEC)

static gsize
size_of_output (SandboxResult *result)
{
  return g_bytes_get_size (sandbox_result_get_stdout (result));
}

static gsize
size_of_errors (SandboxResult *result)
{
  return g_bytes_get_size (sandbox_result_get_stderr (result));
}

/* Runs the guest's "write" until @count are done; the bytes are looked at, not only counted. */
static void
run_tails (TestSandbox *self,
           guint        count)
{
  g_autofree char *number = g_strdup_printf ("%d", TAIL_BYTES);

  for (guint i = 0; i < count; i++)
    {
      g_autoptr (SandboxResult) result = test_run (self, "./guest", "write", number, NULL);
      const char *bytes = NULL;
      gsize       size = 0;

      test_assert_exited (result, 0);
      bytes = g_bytes_get_data (sandbox_result_get_stdout (result), &size);
      g_assert_cmpuint (size, ==, TAIL_BYTES);
      for (gsize j = 0; j < size; j++)
        if (bytes[j] != (char) ('a' + j % 26))
          g_error ("byte %" G_GSIZE_FORMAT " is another one", j);
    }
}

static void
test_tail (TestSandbox  *self,
           gconstpointer unused)
{
  g_test_summary ("Case 51: 500 runs, or 125 in a repetition, of a program that writes 60,000 bytes and exits at once give 60,000 bytes");

  run_tails (self, N_TAILS);
}

typedef struct
{
  TestSandbox *sandbox;
  guint        count;
} Tails;

static gpointer
run_tails_thread (gpointer user_data)
{
  Tails *tails = user_data;

  run_tails (tails->sandbox, tails->count);

  return NULL;
}

static void
test_tail_in_threads (TestSandbox  *self,
                      gconstpointer unused)
{
  GThread *threads[N_THREADS];
  Tails    tails[N_THREADS];
  guint    left = N_TAILS;

  g_test_summary ("Case 51: the same from eight threads at once");

  sandbox_backend_set_max_concurrent_commands (self->backend, N_THREADS);
  for (guint i = 0; i < N_THREADS; i++)
    {
      tails[i] = (Tails){ self, left / (N_THREADS - i) };
      left -= tails[i].count;
      threads[i] = g_thread_new ("tails", run_tails_thread, &tails[i]);
    }
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
}

static void
test_tail_of_streams (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autofree char *number = g_strdup_printf ("%d", TAIL_BYTES);

  g_test_summary ("Case 51: the same through spawn and communicate");

  for (guint i = 0; i < test_rounds (100); i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("./guest", "write", number, NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;

      process = sandbox_session_spawn (self->session, command, NULL, &error);
      g_assert_no_error (error);
      result = sandbox_process_communicate (process, NULL, NULL, &error);
      g_assert_no_error (error);
      test_assert_exited (result, 0);
      g_assert_cmpuint (size_of_output (result), ==, TAIL_BYTES);
    }
}

static SandboxResult *
run_split (TestSandbox             *self,
           guint                    output,
           guint                    errors,
           guint64                  limit,
           SandboxOutputLimitAction action)
{
  g_autofree char *first = g_strdup_printf ("%u", output);
  g_autofree char *second = g_strdup_printf ("%u", errors);
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "split", first, second, NULL);

  sandbox_command_set_max_output (command, limit);
  sandbox_command_set_output_limit_action (command, action);

  return test_run_command (self, command);
}

static void
test_limit (TestSandbox  *self,
            gconstpointer unused)
{
  const guint limits[] = { 1, 2, 1000, 65536, 200000 };

  g_test_summary ("Case 52: with a limit of N over both streams, N-1 and N bytes are complete and N+1 are over it");

  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    for (int more = -1; more <= 1; more++)
      for (guint share = 0; share < 3; share++)
        {
          guint total = (guint) ((int) limits[i] + more);
          guint errors = share == 0 ? 0 : share == 1 ? total / 3
                                                     : total;
          g_autoptr (SandboxResult) killed = run_split (self, total - errors, errors, limits[i], SANDBOX_OUTPUT_LIMIT_ACTION_KILL);
          g_autoptr (SandboxResult) cut = run_split (self, total - errors, errors, limits[i], SANDBOX_OUTPUT_LIMIT_ACTION_TRUNCATE);

          test_assert_exited (cut, 0);
          g_assert_cmpuint (size_of_output (cut) + size_of_errors (cut), ==, MIN (total, limits[i]));
          g_assert_cmpuint (sandbox_result_get_omitted_bytes (cut), ==, more > 0 ? 1 : 0);
          g_assert_true (sandbox_result_get_truncated (cut) == (more > 0));

          g_assert_cmpuint (size_of_output (killed) + size_of_errors (killed), ==, MIN (total, limits[i]));
          if (more <= 0)
            {
              test_assert_exited (killed, 0);
              g_assert_false (sandbox_result_get_truncated (killed));
              g_assert_cmpuint (size_of_output (killed), ==, total - errors);
              g_assert_cmpuint (size_of_errors (killed), ==, errors);
            }
          else
            {
              g_autoptr (GError) error = NULL;

              g_assert_cmpint (sandbox_result_get_outcome (killed), ==, SANDBOX_OUTCOME_OUTPUT_LIMIT);
              g_assert_cmpuint (sandbox_result_get_limit_value (killed), ==, limits[i]);
              g_assert_true (sandbox_result_get_truncated (killed));
              g_assert_false (sandbox_result_check (killed, &error));
              g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
            }
        }
}

static guint64
resident_bytes (void)
{
  return (guint64) test_read_status (getpid (), "VmRSS", 10) * 1024;
}

static void
test_flood (TestSandbox  *self,
            gconstpointer unused)
{
  const char *const floods[] = { "exec yes", "exec cat /dev/zero", "exec cat /dev/zero >&2", "cat /dev/zero & cat /dev/zero >&2 & wait",
                                 "trap '' TERM INT; while :; do echo x; done" };
  const guint64     before = resident_bytes ();

  g_test_summary ("Case 49: a flood ends at its limit within a second, takes no memory of the host, and the process is gone");

  for (guint i = 0; i < G_N_ELEMENTS (floods); i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autofree char *script = g_strconcat (floods[i], " # ", NULL);
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", script, marker, NULL);
      g_autoptr (SandboxResult) result = NULL;
      gint64 start = g_get_monotonic_time ();

      sandbox_command_set_max_output (command, 65536);
      result = test_run_command (self, command);
      g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_OUTPUT_LIMIT);
      g_assert_cmpuint (size_of_output (result) + size_of_errors (result), ==, 65536);
      g_assert_cmpint (g_get_monotonic_time () - start, <, SOON_US);
      g_assert_cmpuint (test_marker_count (marker), ==, 0);
    }
  /* A sanitizer keeps what has been freed. */
  if (!TEST_IS_SANITIZED)
    g_assert_cmpuint (resident_bytes (), <, before + 8 * MEGABYTE);
}

static void
test_truncated_flood (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "head -c 30000000 /dev/zero; echo end >&2; exit 7", NULL);
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("A truncated flood runs to its own end, and what was left out is counted");

  sandbox_command_set_max_output (command, 4096);
  sandbox_command_set_output_limit_action (command, SANDBOX_OUTPUT_LIMIT_ACTION_TRUNCATE);
  result = test_run_command (self, command);
  test_assert_exited (result, 7);
  g_assert_cmpuint (size_of_output (result) + size_of_errors (result), ==, 4096);
  g_assert_cmpuint (sandbox_result_get_omitted_bytes (result), ==, 30000000 + 4 - 4096);
}

static void
test_both_pipes (TestSandbox  *self,
                 gconstpointer unused)
{
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero", NULL);
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("Case 50: a megabyte to stderr before anything goes to stdout; both are complete");

  sandbox_command_set_max_output (command, 4 * MEGABYTE);
  result = test_run_command (self, command);
  test_assert_exited (result, 0);
  g_assert_cmpuint (size_of_output (result), ==, 1000000);
  g_assert_cmpuint (size_of_errors (result), ==, 1000000);
}

static void
test_bad_byte (TestSandbox  *self,
               gconstpointer unused)
{
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("Case 53: output that is not UTF-8 keeps its bytes, and is text with replacement characters");

  result = test_run (self, "sh", "-c", "printf 'a\\377b'; printf '\\303' >&2; exit 3", NULL);
  test_assert_exited (result, 3);
  test_assert_bytes (sandbox_result_get_stdout (result), "a\377b");
  test_assert_output (result, "a\357\277\275b");
}

static GBytes *
new_input (gsize size)
{
  guint8 *data = g_malloc (size);

  for (gsize i = 0; i < size; i++)
    data[i] = (guint8) (i * 31 + i / 4096);

  return g_bytes_new_take (data, size);
}

static void
test_unread_input (TestSandbox  *self,
                   gconstpointer unused)
{
  g_autoptr (GBytes) input = new_input (5 * 1000 * 1000);
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "echo ok", NULL);
  g_autoptr (SandboxCommand) streaming = test_command_new ("sh", "-c", "echo ok", NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (SandboxResult) streamed = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 54: a command that ends without reading its 5 MB of input has ended well");

  sandbox_command_set_stdin (command, input);
  result = test_run_command (self, command);
  test_assert_exited (result, 0);
  test_assert_output (result, "ok\n");

  process = sandbox_session_spawn (self->session, streaming, NULL, &error);
  g_assert_no_error (error);
  streamed = sandbox_process_communicate (process, input, NULL, &error);
  g_assert_no_error (error);
  test_assert_exited (streamed, 0);
  test_assert_output (streamed, "ok\n");
}

static void
test_big_input_and_output (TestSandbox  *self,
                           gconstpointer unused)
{
  g_autoptr (GBytes) input = new_input (50 * 1000 * 1000);

  g_test_summary ("Case 56: 50 MB through cat, by run and by communicate, are the same 50 MB");

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("cat", NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;

      sandbox_command_set_max_output (command, 64 * MEGABYTE);
      if (i == 0)
        {
          sandbox_command_set_stdin (command, input);
          result = test_run_command (self, command);
        }
      else
        {
          process = sandbox_session_spawn (self->session, command, NULL, &error);
          g_assert_no_error (error);
          result = sandbox_process_communicate (process, input, NULL, &error);
          g_assert_no_error (error);
        }
      test_assert_exited (result, 0);
      g_assert_true (g_bytes_equal (sandbox_result_get_stdout (result), input));
    }
}

static void
test_input_is_exact (TestSandbox  *self,
                     gconstpointer unused)
{
  const gsize sizes[] = { 0, 1, 4095, 4096, 65536, 65537 };

  g_test_summary ("The input of a command is what it was given, at sizes around those of pages and pipes");

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr (GBytes) input = new_input (sizes[i]);
      g_autoptr (SandboxCommand) command = test_command_new ("cat", NULL);
      g_autoptr (SandboxResult) result = NULL;

      sandbox_command_set_stdin (command, input);
      result = test_run_command (self, command);
      test_assert_exited (result, 0);
      g_assert_true (g_bytes_equal (sandbox_result_get_stdout (result), input));
    }
}

static void
test_file_over_the_bound (TestSandbox  *self,
                          gconstpointer unused)
{
  g_autofree char *text = NULL;
  g_autoptr (GBytes) whole = NULL;
  g_autoptr (GBytes) over = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 58: a file of one byte over the bound is an error, never a part of it");

  text = test_sh (self, "head -c 1048576 /dev/zero >whole; head -c 1048577 /dev/zero >over");
  whole = sandbox_session_read_bytes (self->session, "whole", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (whole), ==, MEGABYTE);
  over = sandbox_session_read_bytes (self->session, "over", NULL, &error);
  g_assert_null (over);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
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
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  add ("/output/tail", test_tail);
  add ("/output/tail-in-threads", test_tail_in_threads);
  add ("/output/tail-of-streams", test_tail_of_streams);
  add ("/output/limit", test_limit);
  add ("/output/flood", test_flood);
  add ("/output/truncated-flood", test_truncated_flood);
  add ("/output/both-pipes", test_both_pipes);
  add ("/output/bad-byte", test_bad_byte);
  add ("/output/unread-input", test_unread_input);
  add ("/output/big-input-and-output", test_big_input_and_output);
  add ("/output/input-is-exact", test_input_is_exact);
  add ("/output/file-over-the-bound", test_file_over_the_bound);

  return g_test_run ();
}
