/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-backend-calls.h"
#include "sandbox-core-private.h"
#include "sandbox-handle.h"
#include "sandbox-session.h"

#include "../common/test-helpers.h"
#include "memory-driver.h"

#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- A session over a backend of toys */

typedef struct
{
  MemoryBackend  *memory;
  SandboxBackend *backend;
  SandboxHandle  *handle;
  SandboxSession *session;
  MemoryDriver   *driver;
} Fixture;

static SandboxHandle *
create (SandboxBackend *backend,
        guint64         max_file_bytes)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;
  SandboxHandle *handle = NULL;

  sandbox_create_options_set_max_file_bytes (options, max_file_bytes);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);

  return handle;
}

static void
fixture_set_up (Fixture      *fixture,
                gconstpointer data)
{
  fixture->memory = memory_backend_new ();
  fixture->backend = SANDBOX_BACKEND (fixture->memory);
  memory_backend_set_foreign (fixture->memory, g_strcmp0 (data, "foreign") == 0);
  memory_backend_set_pushes (fixture->memory, g_strcmp0 (data, "pushes") == 0);
  fixture->handle = create (fixture->backend, 1000);
  fixture->session = sandbox_handle_get_session (fixture->handle);
  fixture->driver = g_object_ref (memory_backend_get_driver (fixture->memory));
}

static void
fixture_tear_down (Fixture      *fixture,
                   gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_NOW);
  memory_driver_drop_held (fixture->driver);
  memory_driver_release (fixture->driver);
  if (sandbox_handle_get_phase (fixture->handle) == SANDBOX_PHASE_LIVE)
    g_assert_true (sandbox_handle_shutdown (fixture->handle, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (memory_driver_count_live (fixture->driver), ==, 0);
  /* The thread of the last toy, and the worker, may still be on their way out of the last call. */
  test_wait (G_OBJECT (fixture->handle)->ref_count == 1);
  g_assert_finalize_object (fixture->handle);
  test_wait (G_OBJECT (fixture->memory)->ref_count == 1);
  g_assert_finalize_object (fixture->memory);
  test_wait (G_OBJECT (fixture->driver)->ref_count == 1);
  g_assert_finalize_object (fixture->driver);
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

#define assert_run_fails(session, command, domain, code)                                  \
 G_STMT_START                                                                             \
 {                                                                                        \
  g_autoptr (SandboxCommand) failing_command = command;                                   \
  g_autoptr (GError) failing_error = NULL;                                                \
                                                                                          \
  g_assert_null (sandbox_session_run (session, failing_command, NULL, &failing_error));   \
  g_assert_error (failing_error, domain, code);                                           \
  g_clear_error (&failing_error);                                                         \
  g_assert_null (sandbox_session_spawn (session, failing_command, NULL, &failing_error)); \
  g_assert_error (failing_error, domain, code);                                           \
 }                                                                                        \
 G_STMT_END

static void
assert_output (SandboxSession *session,
               SandboxCommand *command,
               const char     *output)
{
  g_autoptr (SandboxResult) result = run (session, command);

  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_EXITED);
  test_assert_bytes (sandbox_result_get_stdout (result), output);
}

/* ---- The host stays as it is */

static char *
describe_host (void)
{
  GString         *text = g_string_new (NULL);
  g_autofree char *cwd = g_get_current_dir ();
  g_auto (GStrv) environment = g_get_environ ();
  g_autofree char *variables = g_strjoinv ("\n", environment);
  g_autofree char *digest = g_compute_checksum_for_string (G_CHECKSUM_SHA256, variables, -1);
  sigset_t         blocked;
  mode_t           mask = umask (0);

  umask (mask);
  g_string_append_printf (text, "umask %o, in %s, locale %s, environment %s\n", mask, cwd, setlocale (LC_ALL, NULL), digest);
  g_assert_cmpint (pthread_sigmask (SIG_SETMASK, NULL, &blocked), ==, 0);
  for (int i = 1; i < NSIG; i++)
    {
      struct sigaction action;

      /* glibc refuses to tell of its own two. */
      if (sigaction (i, NULL, &action) == 0)
        g_string_append_printf (text, "signal %d: %p %d %d\n", i, (void *) action.sa_handler, action.sa_flags, sigismember (&blocked, i));
    }
  for (int i = 0; i < RLIMIT_NLIMITS; i++)
    {
      struct rlimit limit;

      g_assert_cmpint (getrlimit (i, &limit), ==, 0);
      g_string_append_printf (text, "limit %d: %lu %lu\n", i, (gulong) limit.rlim_cur, (gulong) limit.rlim_max);
    }

  return g_string_free (text, FALSE);
}

static void
test_host (void)
{
  g_autofree char *before = describe_host ();
  g_autofree char *after = NULL;
  Fixture          fixture = { 0 };
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("Nothing of the host's process is changed: signals, umask, directory, environment, limits");

  fixture_set_up (&fixture, NULL);
  assert_output (fixture.session, memory_command ("echo", "hello", NULL), "hello\n");
  fixture_tear_down (&fixture, NULL);
  after = describe_host ();
  g_assert_cmpstr (before, ==, after);
}

/* ---- Over a bare driver */

static void
test_bare_driver (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxDriver) empty = memory_driver_new_empty ();
  g_autoptr (SandboxSession) session = NULL;
  g_autoptr (SandboxSession) other = NULL;
  g_autofree char *id = NULL;
  g_autofree char *workspace = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A session has a name of 64 digits that nobody else has; over a driver of nothing there is none");

  session = sandbox_session_new_for_driver (SANDBOX_DRIVER (driver), &error);
  g_assert_no_error (error);
  other = sandbox_session_new_for_driver (SANDBOX_DRIVER (driver), &error);
  g_object_get (session, "id", &id, "workspace-path", &workspace, NULL);
  g_assert_true (g_regex_match_simple ("^[0-9a-f]{64}$", id, 0, 0));
  g_assert_cmpstr (id, !=, sandbox_session_get_id (other));
  g_assert_cmpstr (workspace, ==, "/workspace");
  assert_output (session, memory_command ("echo", "hello", "there", NULL), "hello there\n");

  g_assert_null (sandbox_session_new_for_driver (empty, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "MemoryEmptyDriver"));
}

static void
test_lives_on (void)
{
  MemoryDriver *driver = memory_driver_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (SandboxCommand) command = memory_command ("sleep", "50", NULL);
  g_autoptr (SandboxResult) done = NULL;
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  SandboxSession *session = sandbox_session_new_for_driver (SANDBOX_DRIVER (driver), NULL);

  g_test_summary ("A session that is dropped lives until its commands have ended, and calls nothing of its driver then");

  process = spawn (session, memory_command ("sleep", "100", NULL));
  sandbox_session_run_async (session, command, NULL, test_result_cb, &result);
  g_clear_object (&session);
  test_wait (result != NULL);
  done = sandbox_session_run_finish (SANDBOX_SESSION (g_task_get_source_object (G_TASK (result))), result, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_outcome (done), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_true (sandbox_process_wait (process, NULL, NULL));
  g_clear_object (&process);
  g_clear_object (&result);
  test_wait (G_OBJECT (driver)->ref_count == 1);
  g_assert_cmpuint (memory_driver_count_calls (driver, NULL), ==, 2);
  g_assert_finalize_object (driver);
}

/* ---- Paths */

static void
test_paths (Fixture      *fixture,
            gconstpointer data)
{
  static const struct
  {
    const char *path;
    const char *resolved;
  } good[] = {
    { ".", "/workspace" },
    { "/workspace", "/workspace" },
    { "a", "/workspace/a" },
    { "a/b c", "/workspace/a/b c" },
    { "/workspace/a/b", "/workspace/a/b" },
    { "\\xff", "/workspace/\\xff" },
  };
  static const char *const bad[] = {
    "",
    "/",
    "/etc/passwd",
    "..",
    "a/../b",
    "a/..",
    "./a",
    "a/./b",
    "a//b",
    "/workspacex",
    "/workspace/../etc",
    "\\x41",
    "a\\b",
    "\\xFF",
    "\\x00",
  };

  g_test_summary ("What is no path of the workspace is refused before any driver sees it, in every call");

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *resolved = sandbox_session_resolve_path (fixture->session, good[i].path, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (resolved, ==, good[i].resolved);
    }

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
      SandboxCommand *command = NULL;
      GError         *errors[6] = { NULL };

      g_assert_null (sandbox_session_resolve_path (fixture->session, bad[i], &errors[0]));
      g_assert_null (sandbox_session_read_bytes (fixture->session, bad[i], NULL, &errors[1]));
      g_assert_null (sandbox_session_read_text (fixture->session, bad[i], NULL, &errors[2]));
      g_assert_false (sandbox_session_write_bytes (fixture->session, bad[i], bytes, NULL, &errors[3]));
      g_assert_false (sandbox_session_write_text (fixture->session, bad[i], "x", NULL, &errors[4]));
      g_assert_false (sandbox_session_remove_path (fixture->session, bad[i], NULL, &errors[5]));
      for (guint k = 0; k < G_N_ELEMENTS (errors); k++)
        {
          g_assert_error (errors[k], SANDBOX_ERROR, SANDBOX_ERROR_PATH);
          g_clear_error (&errors[k]);
        }
      command = memory_command ("pwd", NULL);
      sandbox_command_set_cwd (command, bad[i]);
      assert_run_fails (fixture->session, command, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
    }
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, NULL), ==, 0);
}

static void
test_workspace_kept (Fixture      *fixture,
                     gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("The workspace itself is not removed, whatever its spelling");

  g_assert_false (sandbox_session_remove_path (fixture->session, ".", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_clear_error (&error);
  g_assert_false (sandbox_session_remove_path (fixture->session, "/workspace", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, NULL), ==, 0);
}

/* ---- Files */

static GBytes *
make_bytes (gsize size)
{
  return g_bytes_new_take (g_malloc0 (MAX (size, 1)), size);
}

static void
test_file_bound (Fixture      *fixture,
                 gconstpointer data)
{
  g_autoptr (SandboxHandle) larger = create (fixture->backend, 4000);
  g_autoptr (MemoryDriver) driver = g_object_ref (memory_backend_get_driver (fixture->memory));
  SandboxSession *session = sandbox_handle_get_session (larger);

  g_test_summary ("Files of exactly the bound pass in both directions, one byte more is refused whole");

  for (gsize size = 3999; size <= 4001; size++)
    {
      g_autoptr (GBytes) bytes = make_bytes (size);
      g_autoptr (GBytes) read = NULL;
      g_autoptr (GError) error = NULL;
      guint    calls = memory_driver_count_calls (driver, "write");
      gboolean written = sandbox_session_write_bytes (session, "file", bytes, NULL, &error);

      if (size <= 4000)
        {
          g_assert_no_error (error);
          g_assert_true (written);
          read = sandbox_session_read_bytes (session, "file", NULL, &error);
          g_assert_no_error (error);
          g_assert_true (g_bytes_equal (read, bytes));
          continue;
        }
      g_assert_false (written);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
      g_assert_cmpuint (memory_driver_count_calls (driver, "write"), ==, calls);
      g_clear_error (&error);

      /* The driver itself has no bound: put one there that is too large, behind the session's back. */
      {
        g_autoptr (SandboxSession) behind = sandbox_session_new_for_driver (SANDBOX_DRIVER (driver), NULL);

        g_assert_true (sandbox_session_write_bytes (behind, "file", bytes, NULL, &error));
      }
      g_assert_null (sandbox_session_read_bytes (session, "file", NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
      g_clear_error (&error);
      g_assert_null (sandbox_session_read_text (session, "file", NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
    }

  g_assert_true (sandbox_handle_shutdown (larger, NULL, NULL));
}

static void
test_default_bound (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxSession) session = sandbox_session_new_for_driver (SANDBOX_DRIVER (driver), NULL);
  g_autoptr (GBytes) exact = make_bytes (1 << 20);
  g_autoptr (GBytes) over = make_bytes ((1 << 20) + 1);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Without options the bound is one mebibyte");

  g_assert_true (sandbox_session_write_bytes (session, "f", exact, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (sandbox_session_write_bytes (session, "f", over, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
}

static void
test_text (Fixture      *fixture,
           gconstpointer data)
{
  static const struct
  {
    const char *data;
    gsize       size;
  } bad[] = {
    { "a\377b", 3 },
    { "a\0b", 3 },
    { "\0", 1 },
    { "\303", 1 },
  };
  static const char *const good[] = { "", "plain\n", "Größe €\r\n\t\001" };
  g_autoptr (GBytes) empty = g_bytes_new (NULL, 0);
  g_autoptr (GError) error = NULL;
  g_autofree char *nothing = NULL;

  g_test_summary ("Text is UTF-8 without NUL, or it is an error that says so; an empty file is an empty text");

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autofree char *text = NULL;

      g_assert_true (sandbox_session_write_text (fixture->session, "dir/text", good[i], NULL, &error));
      text = sandbox_session_read_text (fixture->session, "dir/text", NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (text, ==, good[i]);
    }

  g_assert_true (sandbox_session_write_bytes (fixture->session, "empty", empty, NULL, &error));
  nothing = sandbox_session_read_text (fixture->session, "empty", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (nothing, ==, "");

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GBytes) bytes = g_bytes_new_static (bad[i].data, bad[i].size);
      g_autoptr (GBytes) read = NULL;

      g_assert_true (sandbox_session_write_bytes (fixture->session, "bad", bytes, NULL, &error));
      g_assert_null (sandbox_session_read_text (fixture->session, "bad", NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_assert_nonnull (strstr (error->message, memchr (bad[i].data, '\0', bad[i].size) != NULL ? "has a NUL byte" : "is not UTF-8"));
      g_clear_error (&error);
      read = sandbox_session_read_bytes (fixture->session, "bad", NULL, &error);
      g_assert_no_error (error);
      g_assert_true (g_bytes_equal (read, bytes));
    }
}

static void
test_file_errors (Fixture      *fixture,
                  gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("What the driver says of a file reaches the caller as it is");

  g_assert_null (sandbox_session_read_bytes (fixture->session, "missing", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_true (sandbox_session_write_text (fixture->session, "dir/file", "x", NULL, &error));
  g_assert_null (sandbox_session_read_text (fixture->session, "dir", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_false (sandbox_session_write_text (fixture->session, "dir/file/below", "x", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_clear_error (&error);

  g_assert_true (sandbox_session_remove_path (fixture->session, "dir", NULL, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_session_remove_path (fixture->session, "dir", NULL, &error));
  g_assert_no_error (error);
  g_assert_null (sandbox_session_read_text (fixture->session, "dir/file", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

/* ---- Commands */

static void
test_run (Fixture      *fixture,
          gconstpointer data)
{
  static const char *const environment[] = { "COLOUR=blue", NULL };
  g_autoptr (GBytes) input = g_bytes_new_static ("from the host", 13);
  g_autoptr (SandboxResult) result = NULL;
  SandboxCommand *command = NULL;

  g_test_summary ("A command gets its words, environment, directory and input, and its end comes back");

  assert_output (fixture->session, memory_command ("echo", "", "two  words", NULL), " two  words\n");

  command = memory_command ("env", "COLOUR", NULL);
  sandbox_command_set_environment (command, environment);
  assert_output (fixture->session, command, "blue\n");

  g_assert_true (sandbox_session_write_text (fixture->session, "here/file", "in a file", NULL, NULL));
  command = memory_command ("pwd", NULL);
  sandbox_command_set_cwd (command, "/workspace/here");
  assert_output (fixture->session, command, "/workspace/here\n");

  command = memory_command ("cat", NULL);
  sandbox_command_set_stdin (command, input);
  assert_output (fixture->session, command, "from the host");
  assert_output (fixture->session, memory_command ("cat", NULL), "");
  assert_output (fixture->session, memory_command ("cat", "here/file", NULL), "in a file");

  result = run (fixture->session, memory_command ("exit", "3", NULL));
  g_assert_cmpint (sandbox_result_get_exit_status (result), ==, 3);
  g_assert_cmpuint (sandbox_result_get_user_time_us (result), ==, 2000);
}

static void
test_run_refused (Fixture      *fixture,
                  gconstpointer data)
{
  g_autofree char *huge = g_strnfill (200 * 1024, 'x');
  SandboxCommand  *command = NULL;

  g_test_summary ("What does not start is an error, and what could start nowhere never reaches the driver");

  assert_run_fails (fixture->session, memory_command ("", NULL), SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  assert_run_fails (fixture->session, memory_command ("echo", huge, NULL), SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, "spawn"), ==, 0);

  assert_run_fails (fixture->session, memory_command ("nothing", NULL), SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  assert_run_fails (fixture->session, memory_command ("--ro-bind", "/", "/h", NULL), SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_assert_true (sandbox_session_write_text (fixture->session, "script", "x", NULL, NULL));
  assert_run_fails (fixture->session, memory_command ("script", NULL), SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  command = memory_command ("pwd", NULL);
  sandbox_command_set_cwd (command, "missing");
  assert_run_fails (fixture->session, command, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  command = memory_command ("pwd", NULL);
  sandbox_command_set_terminal (command, TRUE);
  assert_run_fails (fixture->session, command, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
}

static void
test_command_copied (Fixture      *fixture,
                     gconstpointer data)
{
  static const char *const other[] = { "exit", "9", NULL };
  g_autoptr (SandboxCommand) command = memory_command ("echo", "first", NULL);
  g_autoptr (GAsyncResult) answer = NULL;
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("A command that is changed after the call was made is run as it was");

  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_IDLE);
  sandbox_session_run_async (fixture->session, command, NULL, test_result_cb, &answer);
  sandbox_command_set_argv (command, other);
  test_wait (answer != NULL);
  result = sandbox_session_run_finish (fixture->session, answer, NULL);
  test_assert_bytes (sandbox_result_get_stdout (result), "first\n");
}

static void
test_list_processes (Fixture      *fixture,
                     gconstpointer data)
{
  g_autoptr (SandboxProcess) first = spawn (fixture->session, memory_command ("hang", NULL));
  g_autoptr (SandboxProcess) second = spawn (fixture->session, memory_command ("hang", NULL));
  g_autoptr (GListModel) two = sandbox_session_list_processes (fixture->session);
  g_autoptr (GListModel) one = NULL;
  g_autoptr (GListModel) none = NULL;
  g_autoptr (SandboxProcess) left = NULL;

  g_test_summary ("Live commands are listed, and the list that was given out does not change");

  g_assert_cmpuint (g_list_model_get_n_items (two), ==, 2);
  g_assert_true (g_list_model_get_item_type (two) == SANDBOX_TYPE_PROCESS);
  g_assert_true (sandbox_process_kill (first, NULL));
  g_assert_true (sandbox_process_wait (first, NULL, NULL));
  one = sandbox_session_list_processes (fixture->session);
  g_assert_cmpuint (g_list_model_get_n_items (one), ==, 1);
  left = g_list_model_get_item (one, 0);
  g_assert_true (left == second);
  g_assert_cmpuint (g_list_model_get_n_items (two), ==, 2);
  g_assert_true (sandbox_process_kill (second, NULL));
  g_assert_true (sandbox_process_wait (second, NULL, NULL));
  none = sandbox_session_list_processes (fixture->session);
  g_assert_cmpuint (g_list_model_get_n_items (none), ==, 0);
}

static void
test_cancelled (Fixture      *fixture,
                gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  g_autoptr (SandboxCommand) command = memory_command ("echo", NULL);
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_deny_all ();
  GError *errors[6] = { NULL };

  g_test_summary ("A call that is cancelled from the start does nothing at all");

  g_cancellable_cancel (cancellable);
  g_assert_null (sandbox_session_read_bytes (fixture->session, "f", cancellable, &errors[0]));
  g_assert_false (sandbox_session_write_bytes (fixture->session, "f", bytes, cancellable, &errors[1]));
  g_assert_false (sandbox_session_remove_path (fixture->session, "f", cancellable, &errors[2]));
  g_assert_null (sandbox_session_run (fixture->session, command, cancellable, &errors[3]));
  g_assert_null (sandbox_session_spawn (fixture->session, command, cancellable, &errors[4]));
  g_assert_false (sandbox_session_set_network_policy (fixture->session, policy, cancellable, &errors[5]));
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    {
      g_assert_error (errors[i], G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_clear_error (&errors[i]);
    }
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, NULL), ==, 0);
}

static gpointer
cancel_later_thread (gpointer data)
{
  g_usleep (50000);
  g_cancellable_cancel (data);

  return NULL;
}

static void
test_run_cancelled (Fixture      *fixture,
                    gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (SandboxCommand) command = memory_command ("hang", NULL);
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("cancel", cancel_later_thread, cancellable);

  g_test_summary ("A cancelled run is answered when the command is dead");

  g_assert_null (sandbox_session_run (fixture->session, command, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_thread_join (thread);
  test_wait (memory_driver_count_live (fixture->driver) == 0);
}

static void
test_start_cancelled (Fixture      *fixture,
                      gconstpointer data)
{
  g_autoptr (GCancellable) first = g_cancellable_new ();
  g_autoptr (GCancellable) second = g_cancellable_new ();
  g_autoptr (SandboxCommand) command = memory_command ("hang", NULL);
  g_autoptr (GAsyncResult) in_time = NULL;
  g_autoptr (GAsyncResult) late = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A start that is cancelled is waited for a while; whenever its command comes, it is killed");

  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_HELD);
  sandbox_backend_set_max_concurrent_commands (fixture->backend, 1);

  sandbox_session_run_async (fixture->session, command, first, test_result_cb, &in_time);
  test_wait (memory_driver_count_held (fixture->driver) == 1);
  g_cancellable_cancel (first);
  test_run_for (50);
  g_assert_null (in_time);
  memory_driver_answer_held (fixture->driver);
  test_wait (in_time != NULL);
  g_assert_null (sandbox_session_run_finish (fixture->session, in_time, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  test_wait (memory_driver_count_live (fixture->driver) == 0);

  sandbox_session_spawn_async (fixture->session, command, second, test_result_cb, &late);
  test_wait (memory_driver_count_held (fixture->driver) == 1);
  g_cancellable_cancel (second);
  test_wait (late != NULL);
  g_assert_null (sandbox_session_spawn_finish (fixture->session, late, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

  /* Its place is taken until the driver has spoken and the command is dead. */
  assert_run_fails (fixture->session, memory_command ("echo", NULL), SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  memory_driver_answer_held (fixture->driver);
  test_wait (memory_driver_count_live (fixture->driver) == 0);
  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_NOW);
  assert_output (fixture->session, memory_command ("echo", NULL), "\n");
}

/* ---- Drivers that behave badly */

typedef struct
{
  MemoryAnswer answer;
  GQuark (*domain) (void); /* NULL: the call succeeds */
  int         code;
  const char *critical; /* that a fault of the driver logs */
} Behaviour;

static const Behaviour behaviours[] = {
  { MEMORY_ANSWER_NOW, NULL, 0, NULL },
  { MEMORY_ANSWER_IDLE, NULL, 0, NULL },
  { MEMORY_ANSWER_THREAD, NULL, 0, NULL },
  { MEMORY_ANSWER_TWICE, NULL, 0, "*answered twice*" },
  { MEMORY_ANSWER_BOTH, NULL, 0, "*answered twice*" },
  { MEMORY_ANSWER_WRONG_TYPE, sandbox_error_quark, SANDBOX_ERROR_FAILED, "*was answered with*" },
  { MEMORY_ANSWER_DROPPED, sandbox_error_quark, SANDBOX_ERROR_FAILED, NULL },
  { MEMORY_ANSWER_RAISE, sandbox_error_quark, SANDBOX_ERROR_FAILED, NULL },
  { MEMORY_ANSWER_REFUSE, sandbox_error_quark, SANDBOX_ERROR_DENIED, NULL },
};

static void
expect_fault (const Behaviour *behaviour)
{
  if (behaviour->critical != NULL)
    g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, behaviour->critical);
}

static void
check_outcome (const Behaviour *behaviour,
               gboolean         done,
               GError         **error)
{
  g_test_assert_expected_messages ();
  if (behaviour->domain == NULL)
    {
      g_assert_no_error (*error);
      g_assert_true (done);
    }
  else
    {
      g_assert_false (done);
      g_assert_error (*error, behaviour->domain (), behaviour->code);
    }
  g_clear_error (error);
}

static void
test_behaviours (Fixture      *fixture,
                 gconstpointer data)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_deny_all ();

  g_test_summary ("Whatever a driver does with a request, each call comes back once with a value or an error, and nothing is left");

  g_assert_true (sandbox_session_write_text (fixture->session, "file", "content", NULL, NULL));
  sandbox_backend_set_max_concurrent_commands (fixture->backend, 1);

  for (guint i = 0; i < G_N_ELEMENTS (behaviours); i++)
    {
      const Behaviour *behaviour = &behaviours[i];
      g_autoptr (SandboxCommand) command = memory_command ("hang", NULL);
      g_autoptr (SandboxCommand) echo = memory_command ("echo", NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GBytes) bytes = NULL;
      g_autofree char *text = NULL;
      GError          *error = NULL;

      memory_driver_set_answer (fixture->driver, behaviour->answer);

      expect_fault (behaviour);
      bytes = sandbox_session_read_bytes (fixture->session, "file", NULL, &error);
      check_outcome (behaviour, bytes != NULL, &error);
      expect_fault (behaviour);
      text = sandbox_session_read_text (fixture->session, "file", NULL, &error);
      check_outcome (behaviour, g_strcmp0 (text, "content") == 0, &error);
      expect_fault (behaviour);
      check_outcome (behaviour, sandbox_session_write_text (fixture->session, "other", "x", NULL, &error), &error);
      expect_fault (behaviour);
      check_outcome (behaviour, sandbox_session_remove_path (fixture->session, "other", NULL, &error), &error);
      expect_fault (behaviour);
      check_outcome (behaviour, sandbox_session_set_network_policy (fixture->session, policy, NULL, &error), &error);

      expect_fault (behaviour);
      process = sandbox_session_spawn (fixture->session, command, NULL, &error);
      check_outcome (behaviour, process != NULL, &error);
      if (process != NULL && behaviour->answer != MEMORY_ANSWER_TWICE)
        {
          assert_run_fails (fixture->session, memory_command ("echo", NULL), SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
          g_assert_true (sandbox_process_kill (process, NULL));
        }
      /* A process that a faulty driver started and did not hand out is its own; here the test ends it. */
      memory_driver_release (fixture->driver);
      test_wait (memory_driver_count_live (fixture->driver) == 0);

      expect_fault (behaviour);
      result = sandbox_session_run (fixture->session, echo, NULL, &error);
      check_outcome (behaviour, result != NULL, &error);
      test_wait (memory_driver_count_live (fixture->driver) == 0);
    }
  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_NOW);
  assert_output (fixture->session, memory_command ("echo", NULL), "\n");
}

static void
test_never_answers (Fixture      *fixture,
                    gconstpointer data)
{
  g_autoptr (SandboxCommand) command = memory_command ("hang", NULL);
  g_autoptr (GError) error = NULL;
  gint64 before = g_get_monotonic_time ();

  g_test_summary ("A driver that never answers a start is given up, and what it starts later is killed");

  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_HELD);
  g_assert_null (sandbox_session_run (fixture->session, command, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_cmpint (g_get_monotonic_time () - before, >=, 10 * G_USEC_PER_SEC);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 25 * G_USEC_PER_SEC);
  memory_driver_answer_held (fixture->driver);
  test_wait (memory_driver_count_live (fixture->driver) == 0);
}

static void
test_read_abandoned (Fixture      *fixture,
                     gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("cancel", cancel_later_thread, cancellable);

  g_test_summary ("A file call that is never answered can be cancelled, without a main loop too");

  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_HELD);
  g_assert_null (sandbox_session_read_bytes (fixture->session, "f", cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  memory_driver_answer_held (fixture->driver);
  g_thread_join (thread);
}

/* ---- Places for commands */

static void
test_busy (Fixture      *fixture,
           gconstpointer data)
{
  g_autoptr (SandboxHandle) other = create (fixture->backend, 1000);
  g_autoptr (MemoryDriver) other_driver = g_object_ref (memory_backend_get_driver (fixture->memory));
  SandboxSession *session = sandbox_handle_get_session (other);

  g_test_summary ("The places of a backend are one counter for all its sessions; file calls need none");

  sandbox_backend_set_max_concurrent_commands (fixture->backend, 2);
  for (guint i = 0; i < 200; i++)
    {
      g_autoptr (SandboxProcess) first = spawn (fixture->session, memory_command ("hang", NULL));
      g_autoptr (SandboxProcess) second = spawn (session, memory_command ("hang", NULL));

      if (i == 0)
        {
          assert_run_fails (fixture->session, memory_command ("echo", NULL), SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
          assert_run_fails (session, memory_command ("echo", NULL), SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
          g_assert_true (sandbox_session_write_text (session, "file", "x", NULL, NULL));
        }
      /* Whoever has seen the end gets the very next place. */
      g_assert_true (sandbox_process_kill (first, NULL));
      g_assert_true (sandbox_process_wait (first, NULL, NULL));
      assert_output (session, memory_command ("echo", NULL), "\n");
      g_assert_true (sandbox_process_kill (second, NULL));
      g_assert_true (sandbox_process_wait (second, NULL, NULL));
    }

  g_assert_true (sandbox_handle_stop (other, NULL, NULL));
  g_assert_cmpuint (memory_driver_count_live (other_driver), ==, 0);
}

static void
test_places_returned (Fixture      *fixture,
                      gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();

  g_test_summary ("A command that does not start, or is cancelled before, gives its place back at once");

  g_cancellable_cancel (cancellable);
  sandbox_backend_set_max_concurrent_commands (fixture->backend, 1);
  for (guint i = 0; i < 100; i++)
    {
      g_autoptr (SandboxCommand) command = memory_command ("echo", NULL);

      assert_run_fails (fixture->session, memory_command ("nothing", NULL), SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
      g_assert_null (sandbox_session_run (fixture->session, command, cancellable, NULL));
      assert_output (fixture->session, memory_command ("echo", "x", NULL), "x\n");
    }
}

static void
test_place_kept (Fixture      *fixture,
                 gconstpointer data)
{
  g_autoptr (SandboxCommand) command = memory_command ("immortal", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A command that nobody can prove dead keeps its place, though its caller was answered");

  sandbox_backend_set_max_concurrent_commands (fixture->backend, 1);
  sandbox_command_set_timeout_ms (command, 50);
  result = sandbox_session_run (fixture->session, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_TIMED_OUT);
  assert_run_fails (fixture->session, memory_command ("echo", NULL), SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  memory_driver_release (fixture->driver);
  test_wait (memory_driver_count_live (fixture->driver) == 0);
  assert_output (fixture->session, memory_command ("echo", NULL), "\n");
}

/* ---- The network policy */

static void
test_policy (Fixture      *fixture,
             gconstpointer data)
{
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxNetworkPolicy) allow = sandbox_network_policy_new_allow_all ();
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A policy changes only while nothing runs, and what cannot be enforced is refused");

  process = spawn (fixture->session, memory_command ("hang", NULL));
  g_assert_false (sandbox_session_set_network_policy (fixture->session, deny, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, "set_network_policy"), ==, 0);
  g_assert_true (sandbox_process_kill (process, NULL));
  g_assert_true (sandbox_process_wait (process, NULL, NULL));

  g_assert_true (sandbox_session_set_network_policy (fixture->session, deny, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (sandbox_session_set_network_policy (fixture->session, allow, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  assert_output (fixture->session, memory_command ("echo", NULL), "\n");
}

static void
test_policy_changing (Fixture      *fixture,
                      gconstpointer data)
{
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("No command starts until the driver has said which policy is in force, cancelled or not");

  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_HELD);
  sandbox_session_set_network_policy_async (fixture->session, deny, cancellable, test_result_cb, &result);
  test_wait (memory_driver_count_held (fixture->driver) == 1);
  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_NOW);
  assert_run_fails (fixture->session, memory_command ("echo", NULL), SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_assert_false (sandbox_session_set_network_policy (fixture->session, deny, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);

  g_cancellable_cancel (cancellable);
  test_wait (result != NULL);
  g_assert_false (sandbox_session_set_network_policy_finish (fixture->session, result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_run_fails (fixture->session, memory_command ("echo", NULL), SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  memory_driver_answer_held (fixture->driver);
  assert_output (fixture->session, memory_command ("echo", NULL), "\n");
}

/* ---- Stopping */

static void
check_stopped (SandboxSession *session)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_deny_all ();
  GError *errors[4] = { NULL };

  g_assert_null (sandbox_session_read_bytes (session, "f", NULL, &errors[0]));
  g_assert_false (sandbox_session_write_bytes (session, "f", bytes, NULL, &errors[1]));
  g_assert_false (sandbox_session_remove_path (session, "f", NULL, &errors[2]));
  g_assert_false (sandbox_session_set_network_policy (session, policy, NULL, &errors[3]));
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    {
      g_assert_error (errors[i], SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
      g_clear_error (&errors[i]);
    }
  assert_run_fails (session, memory_command ("echo", NULL), SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
}

static void
test_stop (Fixture      *fixture,
           gconstpointer data)
{
  g_autoptr (SandboxProcess) polite = spawn (fixture->session, memory_command ("sleep", NULL));
  SandboxCommand *stubborn_command = memory_command ("hang", NULL);
  g_autoptr (SandboxProcess) stubborn = NULL;
  g_autoptr (GAsyncResult) running = NULL;
  g_autoptr (SandboxCommand) command = memory_command ("sleep", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  SandboxPhase phase;
  guint        calls = 0;

  g_test_summary ("A stop ends every command, TERM first, and everything of the session is refused after it");

  sandbox_command_set_kill_grace_ms (stubborn_command, 100);
  stubborn = spawn (fixture->session, stubborn_command);
  sandbox_session_run_async (fixture->session, command, NULL, test_result_cb, &running);
  test_wait (memory_driver_count_live (fixture->driver) == 3);
  g_assert_cmpint (sandbox_handle_get_phase (fixture->handle), ==, SANDBOX_PHASE_LIVE);

  g_assert_true (sandbox_handle_stop (fixture->handle, NULL, &error));
  g_assert_no_error (error);
  g_object_get (fixture->handle, "phase", &phase, NULL);
  g_assert_cmpint (phase, ==, SANDBOX_PHASE_STOPPED);
  g_assert_cmpuint (memory_driver_count_live (fixture->driver), ==, 0);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (polite)), ==, SANDBOX_OUTCOME_STOPPED);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (stubborn)), ==, SANDBOX_OUTCOME_STOPPED);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, "send_signal"), ==, 3);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, "kill"), ==, 1);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, "close"), ==, 1);

  test_wait (running != NULL);
  result = sandbox_session_run_finish (fixture->session, running, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_STOPPED);

  calls = memory_driver_count_calls (fixture->driver, NULL);
  check_stopped (fixture->session);
  g_assert_true (sandbox_handle_stop (fixture->handle, NULL, &error));
  g_assert_true (sandbox_handle_shutdown (fixture->handle, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, NULL), ==, calls);
}

static void
test_shutdown (Fixture      *fixture,
               gconstpointer data)
{
  SandboxCommand *command = memory_command ("hang", NULL);
  g_autoptr (SandboxProcess) process = NULL;
  gint64 before = 0;

  g_test_summary ("A shutdown asks nobody first");

  sandbox_command_set_kill_grace_ms (command, 20000);
  process = spawn (fixture->session, command);
  before = g_get_monotonic_time ();

  g_assert_true (sandbox_handle_shutdown (fixture->handle, NULL, NULL));
  g_assert_cmpint (g_get_monotonic_time () - before, <, 15 * G_USEC_PER_SEC);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, "send_signal"), ==, 0);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_STOPPED);
}

static gpointer
stop_thread (gpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_handle_stop (data, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_handle_get_phase (data), ==, SANDBOX_PHASE_STOPPED);

  return NULL;
}

static void
test_stop_concurrent (Fixture      *fixture,
                      gconstpointer data)
{
  g_autoptr (SandboxProcess) process = spawn (fixture->session, memory_command ("sleep", NULL));
  g_autoptr (GAsyncResult) first = NULL;
  g_autoptr (GAsyncResult) second = NULL;
  g_autoptr (GError) error = NULL;
  GThread *threads[4];

  g_test_summary ("Whoever stops at the same time, in whatever thread, waits for the one stop");

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("stop", stop_thread, fixture->handle);
  sandbox_handle_stop_async (fixture->handle, NULL, test_result_cb, &first);
  sandbox_handle_shutdown_async (fixture->handle, NULL, test_result_cb, &second);
  test_wait (first != NULL && second != NULL);
  g_assert_true (sandbox_handle_stop_finish (fixture->handle, first, &error));
  g_assert_true (sandbox_handle_shutdown_finish (fixture->handle, second, &error));
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, "close"), ==, 1);
}

static void
test_stop_joined (Fixture      *fixture,
                  gconstpointer data)
{
  static const MemoryAnswer answers[] = { MEMORY_ANSWER_NOW, MEMORY_ANSWER_THREAD };

  g_test_summary ("A synchronous stop, shutdown or delete ends while one that began in a main loop waits for it to be run again");

  for (guint i = 0; i < 12; i++)
    {
      g_autoptr (SandboxHandle) handle = create (fixture->backend, 1000);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (GAsyncResult) first = NULL;
      g_autoptr (GError) error = NULL;
      MemoryDriver *driver = memory_backend_get_driver (fixture->memory);
      gboolean      ended = FALSE;

      if (i % 2 == 1)
        process = spawn (sandbox_handle_get_session (handle), memory_command ("sleep", NULL));
      memory_driver_set_answer (driver, answers[i % 4 / 2]);
      if (i < 4)
        sandbox_handle_stop_async (handle, NULL, test_result_cb, &first);
      else if (i < 8)
        sandbox_handle_shutdown_async (handle, NULL, test_result_cb, &first);
      else
        sandbox_handle_delete_async (handle, NULL, test_result_cb, &first);

      if (i % 3 == 0)
        ended = sandbox_handle_stop (handle, NULL, &error);
      else if (i % 3 == 1)
        ended = sandbox_handle_shutdown (handle, NULL, &error);
      else
        ended = sandbox_handle_delete (handle, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (ended);
      g_assert_null (first);
      g_assert_cmpuint (memory_driver_count_live (driver), ==, 0);
      g_assert_cmpuint (memory_driver_count_calls (driver, "close"), ==, 1);
      test_wait (first != NULL);
      g_assert_true (g_task_propagate_boolean (G_TASK (first), NULL));
      g_clear_object (&first);
      test_wait (G_OBJECT (handle)->ref_count == 1);
    }
}

static void
test_kill_pending (Fixture      *fixture,
                   gconstpointer data)
{
  g_autoptr (SandboxProcess) process = spawn (fixture->session, memory_command ("hang", NULL));
  g_autoptr (GAsyncResult) stopping = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A kill that waits for a main loop is done in the synchronous call in which somebody waits for its effect");

  sandbox_handle_shutdown_async (fixture->handle, NULL, test_result_cb, &stopping);
  g_assert_cmpuint (memory_driver_count_live (fixture->driver), ==, 1);
  g_assert_true (sandbox_process_wait (process, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_STOPPED);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, "kill"), ==, 1);
  test_wait (stopping != NULL);
  g_assert_true (sandbox_handle_shutdown_finish (fixture->handle, stopping, &error));
  g_assert_cmpuint (memory_driver_count_calls_outside (fixture->driver, g_thread_self (), NULL), ==, 0);
}

static gpointer
stop_soon_thread (gpointer data)
{
  g_usleep (g_random_int_range (0, 1000));

  return stop_thread (data);
}

static void
test_stop_during_start (gconstpointer data)
{
  static const MemoryAnswer answers[] = { MEMORY_ANSWER_NOW, MEMORY_ANSWER_THREAD, MEMORY_ANSWER_IDLE };
  const guint               n_rounds = test_rounds (200);
  guint                     stopped_early = 0;

  g_test_summary ("Many times: a stop from another thread while a command is starting; it settles as stopped, nothing survives");

  for (guint i = 0; i < n_rounds; i++)
    {
      Fixture fixture = { 0 };
      g_autoptr (SandboxCommand) command = memory_command ("hang", NULL);
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;
      GThread *thread = NULL;

      fixture_set_up (&fixture, data);
      memory_driver_set_answer (fixture.driver, answers[i % G_N_ELEMENTS (answers)]);
      sandbox_command_set_kill_grace_ms (command, 1);
      thread = g_thread_new ("stop", stop_soon_thread, fixture.handle);
      g_usleep (g_random_int_range (0, 400));
      result = sandbox_session_run (fixture.session, command, NULL, &error);
      if (result != NULL)
        g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_STOPPED);
      else
        {
          g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
          stopped_early++;
        }
      g_thread_join (thread);
      g_assert_cmpuint (memory_driver_count_live (fixture.driver), ==, 0);
      fixture_tear_down (&fixture, data);
    }
  g_test_message ("%u of %u were stopped before they had started", stopped_early, n_rounds);
}

static void
test_stop_held_start (Fixture      *fixture,
                      gconstpointer data)
{
  g_autoptr (SandboxCommand) command = memory_command ("hang", NULL);
  g_autoptr (GAsyncResult) running = NULL;
  g_autoptr (GAsyncResult) stopping = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A command that arrives while the session stops is killed, and the stop waits for it");

  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_HELD);
  sandbox_session_run_async (fixture->session, command, NULL, test_result_cb, &running);
  test_wait (memory_driver_count_held (fixture->driver) == 1);
  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_NOW);
  sandbox_handle_stop_async (fixture->handle, NULL, test_result_cb, &stopping);
  test_run_for (50);
  g_assert_null (stopping);
  memory_driver_answer_held (fixture->driver);
  test_wait (running != NULL && stopping != NULL);
  result = sandbox_session_run_finish (fixture->session, running, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_handle_stop_finish (fixture->handle, stopping, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (memory_driver_count_live (fixture->driver), ==, 0);
}

static void
test_stop_unproven (Fixture      *fixture,
                    gconstpointer data)
{
  SandboxCommand *command = memory_command ("immortal", NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  gint64 before = g_get_monotonic_time ();

  g_test_summary ("A stop that cannot prove the end says so, in bounded time");

  sandbox_command_set_kill_grace_ms (command, 10);
  process = spawn (fixture->session, command);
  /* The driver's close waits for the immortal: it is not asked about that here. */
  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_REFUSE);
  {
    g_autoptr (GAsyncResult) stopping = NULL;

    sandbox_handle_stop_async (fixture->handle, NULL, test_result_cb, &stopping);
    test_run_for (6000);
    g_assert_null (stopping);
    memory_driver_release (fixture->driver);
    test_wait (stopping != NULL);
    g_assert_true (sandbox_handle_stop_finish (fixture->handle, stopping, &error));
    g_assert_no_error (error);
  }
  g_assert_cmpint (g_get_monotonic_time () - before, <, 20 * G_USEC_PER_SEC);
}

static void
test_close_fails (Fixture      *fixture,
                  gconstpointer data)
{
  g_autoptr (GAsyncResult) first = NULL;
  g_autoptr (GAsyncResult) second = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A driver that cannot close makes the stop fail, for everybody who asks; the session is stopped all the same");

  memory_driver_set_answer (fixture->driver, MEMORY_ANSWER_REFUSE);
  sandbox_handle_stop_async (fixture->handle, NULL, test_result_cb, &first);
  sandbox_handle_shutdown_async (fixture->handle, NULL, test_result_cb, &second);
  test_wait (first != NULL && second != NULL);
  g_assert_false (sandbox_handle_stop_finish (fixture->handle, first, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  g_clear_error (&error);
  g_assert_false (sandbox_handle_shutdown_finish (fixture->handle, second, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  g_clear_error (&error);
  g_assert_false (sandbox_handle_stop (fixture->handle, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  g_assert_cmpint (sandbox_handle_get_phase (fixture->handle), ==, SANDBOX_PHASE_STOPPED);
  check_stopped (fixture->session);
}

static void
test_stop_cancelled (Fixture      *fixture,
                     gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("A stop that is cancelled before it begins does not begin");

  g_cancellable_cancel (cancellable);
  g_assert_false (sandbox_handle_stop (fixture->handle, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpint (sandbox_handle_get_phase (fixture->handle), ==, SANDBOX_PHASE_LIVE);
  assert_output (fixture->session, memory_command ("echo", NULL), "\n");
}

static void
test_handle_dropped (void)
{
  g_autoptr (MemoryBackend) memory = memory_backend_new ();
  SandboxHandle *handle = create (SANDBOX_BACKEND (memory), 1000);
  g_autoptr (SandboxSession) session = g_object_ref (sandbox_handle_get_session (handle));
  MemoryDriver *driver = g_object_ref (memory_backend_get_driver (memory));
  g_autoptr (SandboxProcess) process = spawn (session, memory_command ("sleep", "100", NULL));

  g_test_summary ("A handle that is dropped calls nothing of the driver; session and commands live on");

  g_assert_finalize_object (handle);
  assert_output (session, memory_command ("echo", NULL), "\n");
  g_clear_object (&session);
  g_assert_true (sandbox_process_wait (process, NULL, NULL));
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpuint (memory_driver_count_calls (driver, NULL), ==, 2);
  g_clear_object (&process);
  g_clear_object (&memory);
  test_wait (G_OBJECT (driver)->ref_count == 1);
  g_assert_finalize_object (driver);
}

/* ---- The backend's own calls */

static void
test_backend (Fixture      *fixture,
              gconstpointer data)
{
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (SandboxReport) again = NULL;
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxCommand) command = memory_command ("echo", NULL);
  g_autoptr (SandboxCommand) empty = memory_command ("", NULL);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *plan = NULL;

  g_test_summary ("A backend is probed and tells its plans; what is invalid does not reach it");

  report = sandbox_backend_probe (fixture->backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_PARTIAL);
  sandbox_backend_probe_async (fixture->backend, profile, NULL, test_result_cb, &result);
  test_wait (result != NULL);
  again = sandbox_backend_probe_finish (fixture->backend, result, &error);
  g_assert_no_error (error);
  g_assert_nonnull (again);

  plan = sandbox_backend_plan (fixture->backend, command, options, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (plan, ==, "{\"program\":\"echo\"}");
  g_assert_null (sandbox_backend_plan (fixture->backend, empty, options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
}

static void
test_create_refused (Fixture      *fixture,
                     gconstpointer data)
{
  g_autoptr (SandboxCreateOptions) networked = sandbox_create_options_new ();
  g_autoptr (SandboxCreateOptions) missing = sandbox_create_options_new ();
  g_autoptr (SandboxCreateOptions) there = sandbox_create_options_new ();
  g_autoptr (SandboxNetworkPolicy) allow = sandbox_network_policy_new_allow_all ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("What cannot be enforced or opened makes no session");

  sandbox_create_options_set_network (networked, allow);
  g_assert_null (sandbox_backend_create (fixture->backend, networked, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  g_clear_error (&error);

  sandbox_create_options_set_workspace_path (missing, "/nowhere/at/all");
  g_assert_null (sandbox_backend_create (fixture->backend, missing, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  sandbox_backend_create_async (fixture->backend, missing, NULL, test_result_cb, &result);
  test_wait (result != NULL);
  g_assert_null (sandbox_backend_create_finish (fixture->backend, result, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);

  sandbox_create_options_set_workspace_path (there, g_get_user_data_dir ());
  g_assert_cmpint (g_mkdir_with_parents (g_get_user_data_dir (), 0755), ==, 0);
  g_assert_null (sandbox_backend_create (fixture->backend, there, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
}

static void
test_create_behaviours (Fixture      *fixture,
                        gconstpointer data)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  g_test_summary ("Whatever a backend does with a request, creating and probing come back once");

  for (guint i = 0; i < G_N_ELEMENTS (behaviours); i++)
    {
      const Behaviour *behaviour = &behaviours[i];
      g_autoptr (SandboxHandle) handle = NULL;
      g_autoptr (SandboxReport) report = NULL;
      g_autoptr (MemoryDriver) driver = NULL;
      GError *error = NULL;

      memory_backend_set_answer (fixture->memory, behaviour->answer);
      expect_fault (behaviour);
      report = sandbox_backend_probe (fixture->backend, NULL, NULL, &error);
      check_outcome (behaviour, report != NULL, &error);
      expect_fault (behaviour);
      handle = sandbox_backend_create (fixture->backend, options, NULL, &error);
      driver = g_object_ref (memory_backend_get_driver (fixture->memory));
      check_outcome (behaviour, handle != NULL, &error);
      if (behaviour->answer == MEMORY_ANSWER_TWICE)
        {
          /* The second answer was the same driver: it has been closed as one that nobody wants. */
          g_assert_cmpuint (memory_driver_count_calls (driver, "close"), ==, 1);
        }
      if (handle != NULL)
        g_assert_true (sandbox_handle_shutdown (handle, NULL, NULL));
    }
}

static void
test_create_cancelled (Fixture      *fixture,
                       gconstpointer data)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GCancellable) before = g_cancellable_new ();
  g_autoptr (GCancellable) in_time = g_cancellable_new ();
  g_autoptr (GCancellable) late = g_cancellable_new ();
  g_autoptr (GAsyncResult) first = NULL;
  g_autoptr (GAsyncResult) second = NULL;
  g_autoptr (MemoryDriver) first_driver = NULL;
  g_autoptr (MemoryDriver) second_driver = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A driver that is made for a cancelled call is closed, in time or late");

  g_cancellable_cancel (before);
  g_assert_null (sandbox_backend_create (fixture->backend, options, before, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_true (memory_backend_get_driver (fixture->memory) == fixture->driver);

  memory_backend_set_answer (fixture->memory, MEMORY_ANSWER_HELD);
  sandbox_backend_create_async (fixture->backend, options, in_time, test_result_cb, &first);
  first_driver = g_object_ref (memory_backend_get_driver (fixture->memory));
  g_assert_true (first_driver != fixture->driver);
  g_cancellable_cancel (in_time);
  test_run_for (20);
  memory_backend_answer_held (fixture->memory);
  test_wait (first != NULL);
  g_assert_null (sandbox_backend_create_finish (fixture->backend, first, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_cmpuint (memory_driver_count_calls (first_driver, "close"), ==, 1);

  sandbox_backend_create_async (fixture->backend, options, late, test_result_cb, &second);
  second_driver = g_object_ref (memory_backend_get_driver (fixture->memory));
  g_cancellable_cancel (late);
  test_wait (second != NULL);
  g_assert_null (sandbox_backend_create_finish (fixture->backend, second, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (memory_driver_count_calls (second_driver, "close"), ==, 0);
  memory_backend_answer_held (fixture->memory);
  test_wait (memory_driver_count_calls (second_driver, "close") == 1);
}

static void
test_home (Fixture      *fixture,
           gconstpointer data)
{
  g_autoptr (SandboxCommand) command = memory_command ("hang", NULL);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (SandboxResult) done = NULL;

  g_test_summary ("A session that a synchronous call made has its home in the main loop of who called");

  sandbox_command_set_timeout_ms (command, 50);
  sandbox_session_run_async (fixture->session, command, NULL, test_result_cb, &result);
  test_wait (result != NULL);
  done = sandbox_session_run_finish (fixture->session, result, NULL);
  g_assert_cmpint (sandbox_result_get_outcome (done), ==, SANDBOX_OUTCOME_TIMED_OUT);
  g_assert_cmpuint (memory_driver_count_calls (fixture->driver, "kill"), ==, 1);
  g_assert_cmpuint (memory_driver_count_calls_outside (fixture->driver, g_thread_self (), NULL), ==, 0);
}

/* ---- Many */

typedef struct
{
  SandboxSession *session;
  guint           number;
} Worker;

static gpointer
worker_thread (gpointer data)
{
  Worker          *worker = data;
  g_autofree char *path = g_strdup_printf ("thread/%u", worker->number);

  for (guint i = 0; i < 150; i++)
    {
      g_autofree char *text = g_strdup_printf ("%u of %u", i, worker->number);
      g_autofree char *back = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_true (sandbox_session_write_text (worker->session, path, text, NULL, &error));
      g_assert_no_error (error);
      back = sandbox_session_read_text (worker->session, path, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (back, ==, text);
      assert_output (worker->session, memory_command ("cat", path, NULL), text);
    }

  return NULL;
}

static void
test_threads (Fixture      *fixture,
              gconstpointer data)
{
  Worker   workers[6];
  GThread *threads[G_N_ELEMENTS (workers)];

  g_test_summary ("Six threads use one session at once, synchronously, and get each their own");

  for (guint i = 0; i < G_N_ELEMENTS (workers); i++)
    {
      workers[i].session = fixture->session;
      workers[i].number = i;
      threads[i] = g_thread_new ("worker", worker_thread, &workers[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (workers); i++)
    g_thread_join (threads[i]);
}

static void
test_flat (Fixture      *fixture,
           gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  guint descriptors = 0;
  guint threads = 0;

  g_test_summary ("Ten thousand calls leave no descriptor and no thread");

  g_cancellable_cancel (cancellable);
  for (guint i = 0; i < 10000; i++)
    {
      g_autofree char *text = NULL;

      switch (i % 10)
        {
        case 0:
          assert_output (fixture->session, memory_command ("echo", "x", NULL), "x\n");
          break;

        case 1:
          assert_run_fails (fixture->session, memory_command ("nothing", NULL), SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
          break;

        case 2:
          g_assert_null (sandbox_session_read_text (fixture->session, "file", cancellable, NULL));
          break;

        case 3:
          g_assert_true (sandbox_session_write_text (fixture->session, "file", "x", NULL, NULL));
          break;

        default:
          text = sandbox_session_read_text (fixture->session, "file", NULL, NULL);
          g_assert_true (i < 10 || text != NULL);
          break;
        }
      if (i == 200)
        {
          test_wait (memory_driver_count_live (fixture->driver) == 0);
          test_run_for (50);
          descriptors = test_count_descriptors ();
          threads = test_count_threads ();
        }
    }
  /* Threads of toys and of GLib's pool that end soon are not counted. */
  test_wait (test_count_threads () <= threads + 1);
  test_assert_descriptors (descriptors);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

#define ADD(path, data, func) g_test_add (path, Fixture, data, fixture_set_up, func, fixture_tear_down)
  g_test_add_func ("/session/host", test_host);
  g_test_add_func ("/session/bare-driver", test_bare_driver);
  g_test_add_func ("/session/lives-on", test_lives_on);
  ADD ("/session/paths", NULL, test_paths);
  ADD ("/session/workspace-kept", NULL, test_workspace_kept);
  ADD ("/session/file-bound", NULL, test_file_bound);
  g_test_add_func ("/session/default-bound", test_default_bound);
  ADD ("/session/text", NULL, test_text);
  ADD ("/session/file-errors", NULL, test_file_errors);
  ADD ("/session/run", NULL, test_run);
  ADD ("/session/run-pushed", "pushes", test_run);
  ADD ("/session/run-foreign", "foreign", test_run);
  ADD ("/session/run-refused", NULL, test_run_refused);
  ADD ("/session/command-copied", NULL, test_command_copied);
  ADD ("/session/list-processes", NULL, test_list_processes);
  ADD ("/session/cancelled", NULL, test_cancelled);
  ADD ("/session/run-cancelled", NULL, test_run_cancelled);
  ADD ("/session/run-cancelled-foreign", "foreign", test_run_cancelled);
  ADD ("/session/start-cancelled", NULL, test_start_cancelled);
  ADD ("/session/behaviours", NULL, test_behaviours);
  ADD ("/session/behaviours-foreign", "foreign", test_behaviours);
  ADD ("/session/never-answers", NULL, test_never_answers);
  ADD ("/session/read-abandoned", NULL, test_read_abandoned);
  ADD ("/session/busy", NULL, test_busy);
  ADD ("/session/places-returned", NULL, test_places_returned);
  ADD ("/session/place-kept", NULL, test_place_kept);
  ADD ("/session/policy", NULL, test_policy);
  ADD ("/session/policy-changing", NULL, test_policy_changing);
  ADD ("/handle/stop", NULL, test_stop);
  ADD ("/handle/stop-foreign", "foreign", test_stop);
  ADD ("/handle/shutdown", NULL, test_shutdown);
  ADD ("/handle/stop-concurrent", NULL, test_stop_concurrent);
  ADD ("/handle/stop-joined", NULL, test_stop_joined);
  ADD ("/handle/stop-joined-foreign", "foreign", test_stop_joined);
  ADD ("/handle/kill-pending", "foreign", test_kill_pending);
  g_test_add_data_func ("/handle/stop-during-start", NULL, test_stop_during_start);
  g_test_add_data_func ("/handle/stop-during-start-foreign", "foreign", test_stop_during_start);
  ADD ("/handle/stop-held-start", NULL, test_stop_held_start);
  ADD ("/handle/stop-unproven", NULL, test_stop_unproven);
  ADD ("/handle/close-fails", NULL, test_close_fails);
  ADD ("/handle/stop-cancelled", NULL, test_stop_cancelled);
  g_test_add_func ("/handle/dropped", test_handle_dropped);
  ADD ("/backend/calls", NULL, test_backend);
  ADD ("/backend/create-refused", NULL, test_create_refused);
  ADD ("/backend/create-behaviours", NULL, test_create_behaviours);
  ADD ("/backend/create-cancelled", NULL, test_create_cancelled);
  ADD ("/backend/home", "foreign", test_home);
  ADD ("/session/threads", NULL, test_threads);
  ADD ("/session/threads-foreign", "foreign", test_threads);
  ADD ("/session/flat", NULL, test_flat);
#undef ADD

  return g_test_run ();
}
