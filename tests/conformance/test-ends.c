/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How commands end in a real sandbox, and how those that do not start are told apart. */
#include "../common/test-sandbox.h"

#include <sys/prctl.h>

static void
test_exit_status (TestSandbox  *self,
                  gconstpointer unused)
{
  const int statuses[] = { 0, 1, 126, 127, 137, 255 };

  g_test_summary ("Each exit status is the command's own, also those that shells give a meaning");

  for (guint i = 0; i < G_N_ELEMENTS (statuses); i++)
    {
      g_autofree char *script = g_strdup_printf ("echo out; echo err >&2; exit %d", statuses[i]);
      g_autoptr (SandboxResult) result = test_run (self, "sh", "-c", script, NULL);
      g_autoptr (GError) error = NULL;

      test_assert_exited (result, statuses[i]);
      test_assert_bytes (sandbox_result_get_stdout (result), "out\n");
      test_assert_bytes (sandbox_result_get_stderr (result), "err\n");
      g_assert_true (sandbox_result_check (result, &error) == (statuses[i] == 0));
      if (statuses[i] != 0)
        g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
    }
}

static void
test_signals (TestSandbox  *self,
              gconstpointer unused)
{
  const struct
  {
    const char *name;
    int         signum;
  } signals[] = { { "TERM", SIGTERM }, { "KILL", SIGKILL }, { "SEGV", SIGSEGV }, { "ABRT", SIGABRT }, { "HUP", SIGHUP } };

  g_test_summary ("Death by a signal is told as that, not as an exit status");

  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      g_autofree char *script = g_strdup_printf ("echo before; kill -%s $$; echo after", signals[i].name);
      g_autoptr (SandboxResult) result = test_run (self, "sh", "-c", script, NULL);

      test_assert_signaled (result, signals[i].signum);
      test_assert_output (result, "before\n");
    }
}

static void
test_no_core (TestSandbox  *self,
              gconstpointer unused)
{
  const guint before = test_count_entries (self->workspace);
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("Case 35: the core limit is 0, hard too, and a crash leaves no file");

  result = test_run (self, "sh", "-c", "ulimit -Sc; ulimit -Hc; ulimit -c unlimited 2>/dev/null; kill -SEGV $$", NULL);
  test_assert_signaled (result, SIGSEGV);
  test_assert_output (result, "0\n0\n");
  g_assert_cmpuint (test_count_entries (self->workspace), ==, before);
}

static void
test_missing_program (TestSandbox  *self,
                      gconstpointer unused)
{
  const char *const programs[] = { "no-such-program", "./no-such-program", "/usr/bin/no-such-program", "/nowhere/true", "guest/true" };

  g_test_summary ("A program that is not there is NOT_FOUND");

  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      g_autoptr (GError) error = test_refused (self, programs[i], NULL);

      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
      g_assert_nonnull (strstr (error->message, programs[i]));
    }
}

static void
test_install (TestSandbox *self,
              const char  *name,
              const char  *content,
              gssize       size,
              int          mode)
{
  g_autofree char *path = g_build_filename (self->workspace, name, NULL);
  g_autoptr (GError) error = NULL;

  g_file_set_contents (path, content, size, &error);
  g_assert_no_error (error);
  g_assert_cmpint (chmod (path, mode), ==, 0);
}

static void
test_not_executable (TestSandbox  *self,
                     gconstpointer unused)
{
  const char *const programs[] = { "./plain", "./closed", "./rubbish", "./empty", "/workspace", "/usr" };

  g_test_summary ("What is there but cannot be executed is DENIED, and given to no shell");

  test_install (self, "plain", "#!/bin/sh\necho ran >witness\n", -1, 0644);
  test_install (self, "closed", "#!/bin/sh\necho ran >witness\n", -1, 0000);
  test_install (self, "rubbish", "echo ran >witness\n", -1, 0755);
  test_install (self, "empty", "", 0, 0755);
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      g_autoptr (GError) error = test_refused (self, programs[i], NULL);

      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
    }
  {
    g_autofree char *witness = g_build_filename (self->workspace, "witness", NULL);

    g_assert_false (g_file_test (witness, G_FILE_TEST_EXISTS));
  }
}

static void
test_bad_interpreter (TestSandbox  *self,
                      gconstpointer unused)
{
  const char *const programs[] = { "./script", "./elf" };
  g_autofree char  *elf = NULL;
  gsize             size = 0;
  char             *loader = NULL;

  g_test_summary ("A missing interpreter or loader is NOT_FOUND, and named as the reason");

  test_install (self, "script", "#!/usr/bin/no-such-interpreter\n", -1, 0755);
  g_assert_true (g_file_get_contents ("/usr/bin/true", &elf, &size, NULL));
  loader = memmem (elf, size, "/ld-", 4);
  g_assert_nonnull (loader);
  memcpy (loader, "/no-", 4);
  test_install (self, "elf", elf, (gssize) size, 0755);

  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      g_autoptr (GError) error = test_refused (self, programs[i], NULL);

      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
      g_assert_nonnull (strstr (error->message, "interpreter"));
    }
}

static void
test_working_directory (TestSandbox  *self,
                        gconstpointer unused)
{
  const struct
  {
    const char  *cwd;
    SandboxError code;
  } cases[] = {
    { "missing", SANDBOX_ERROR_NOT_FOUND },
    { "removed", SANDBOX_ERROR_NOT_FOUND },
    { "guest", SANDBOX_ERROR_PATH },
    { "guest/below", SANDBOX_ERROR_PATH },
    { "out", SANDBOX_ERROR_PATH },
    { "out/etc", SANDBOX_ERROR_PATH },
    { "up", SANDBOX_ERROR_PATH },
    { "inside", SANDBOX_ERROR_PATH },
    { "magic", SANDBOX_ERROR_PATH },
    { "closed", SANDBOX_ERROR_DENIED },
    { "/etc", SANDBOX_ERROR_PATH },
    { "..", SANDBOX_ERROR_PATH },
    { "good/../..", SANDBOX_ERROR_PATH },
  };
  g_autofree char *witness = g_build_filename (self->workspace, "witness", NULL);
  g_autofree char *text = NULL;

  g_test_summary ("Case 34: a working directory that is gone, no directory, a link or closed; nothing runs elsewhere");

  text = test_sh (self, "mkdir good closed removed; ln -s / out; ln -s ../.. up; ln -s good inside; ln -s /proc/self/cwd magic;"
                        "rmdir removed; chmod 0 closed");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "touch /workspace/witness", NULL);
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;

      sandbox_command_set_cwd (command, cases[i].cwd);
      result = sandbox_session_run (self->session, command, NULL, &error);
      g_assert_null (result);
      g_assert_error (error, SANDBOX_ERROR, (int) cases[i].code);
    }
  g_assert_false (g_file_test (witness, G_FILE_TEST_EXISTS));

  {
    g_autoptr (SandboxCommand) command = test_command_new ("pwd", NULL);
    g_autoptr (SandboxResult) result = NULL;

    sandbox_command_set_cwd (command, "/workspace/good");
    result = test_run_command (self, command);
    test_assert_output (result, "/workspace/good\n");
  }
  g_free (g_steal_pointer (&text));
  text = test_sh (self, "chmod 755 closed");
}

static void
test_removed_workspace (TestSandbox  *self,
                        gconstpointer unused)
{
  guint descriptors = 0;

  g_test_summary ("A workspace that has been removed is UNAVAILABLE, also when another takes its place");

  descriptors = test_count_descriptors () + TEST_N_ARMED_FDS;
  test_remove_tree (self->workspace);
  for (guint i = 0; i < 10; i++)
    {
      g_autoptr (GError) error = test_refused (self, "true", NULL);

      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
      test_assert_nothing_left (descriptors);
      if (i == 0)
        g_assert_cmpint (g_mkdir (self->workspace, 0700), ==, 0);
    }
}

static void
test_words_of_others (TestSandbox  *self,
                      gconstpointer unused)
{
  const char *const words[] = {
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    "bwrap: execvp /run/sandbox-agent: No such file or directory",
    "bwrap: setting up uid map: Permission denied",
    "The sandbox could not be built (step: launcher): exit status 1",
  };

  g_test_summary ("Case 6: a guest that says what bwrap says, with bwrap's exit status, is a guest that exited");

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autofree char *text = g_strconcat (words[i], "\n", NULL);
      g_autoptr (SandboxResult) result = test_run (self, "sh", "-c", "echo \"$1\" >&2; exit 1", "sh", words[i], NULL);

      test_assert_exited (result, 1);
      test_assert_output (result, "");
      test_assert_bytes (sandbox_result_get_stderr (result), text);
    }
}

static void
test_usage (TestSandbox  *self,
            gconstpointer unused)
{
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("What a command used is told with its end");

  result = test_run (self, "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.2", NULL);
  test_assert_exited (result, 0);
  g_assert_cmpuint (sandbox_result_get_wall_time_us (result), >=, 200000);
  g_assert_cmpuint (sandbox_result_get_user_time_us (result) + sandbox_result_get_system_time_us (result), >, 0);
  g_assert_cmpuint (sandbox_result_get_peak_memory_bytes (result), >, 100000);
}

static void
test_cpu_limit (TestSandbox  *self,
                gconstpointer unused)
{
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "while :; do :; done", NULL);
  g_autoptr (SandboxCommand) killed = test_command_new ("sh", "-c", "kill -KILL $$", NULL);
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (SandboxResult) other = NULL;

  g_test_summary ("The limit of CPU time is named when it was passed, and a KILL by somebody else is none");

  sandbox_limits_set_cpu_seconds (limits, 1);
  sandbox_command_set_limits (command, limits);
  result = test_run_command (self, command);
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_CPU_LIMIT);
  g_assert_cmpuint (sandbox_result_get_limit_value (result), ==, 1);

  sandbox_command_set_limits (killed, limits);
  other = test_run_command (self, killed);
  test_assert_signaled (other, SIGKILL);
}

static void
test_streams_by_name (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("A command can open its output again by name, whoever it is on the host");

  result = test_run (self, "sh", "-c", "echo out >/dev/stdout; echo err >/dev/stderr", NULL);
  test_assert_exited (result, 0);
  test_assert_bytes (sandbox_result_get_stdout (result), "out\n");
  test_assert_bytes (sandbox_result_get_stderr (result), "err\n");
}

static void
test_no_orphans (TestSandbox  *self,
                 gconstpointer unused)
{
  int n_orphans = 0;

  g_test_summary ("Nothing is left to be waited for by whoever adopts the host's orphans");

  /* That is this process, as it is in a container whose first process it is. */
  g_assert_no_errno (prctl (PR_SET_CHILD_SUBREAPER, 1));
  for (guint i = 0; i < 20; i++)
    {
      g_autoptr (SandboxResult) result = test_run (self, "sh", "-c", "(sleep 100 &)", NULL);

      test_assert_exited (result, 0);
    }
  g_usleep (500 * 1000);
  while (waitpid (-1, NULL, WNOHANG) > 0)
    n_orphans++;
  g_assert_no_errno (prctl (PR_SET_CHILD_SUBREAPER, 0));
  g_assert_cmpint (n_orphans, ==, 0);
}

static void
test_required_policy (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxNetworkPolicy) everything = sandbox_network_policy_new_allow_all ();
  g_autoptr (SandboxNetworkPolicy) nothing = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  SandboxSession *session = NULL;

  g_test_summary ("What a session requires holds for its life: a policy that would break it is refused");

  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_required (options, SANDBOX_RESTRICTIONS_NETWORK_DENIED);
  handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  session = sandbox_handle_get_session (handle);

  g_assert_false (sandbox_session_set_network_policy (session, everything, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_true (sandbox_session_set_network_policy (session, nothing, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_handle_stop (handle, NULL, &error));
  g_assert_no_error (error);
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
  add ("/ends/exit-status", test_exit_status);
  add ("/ends/signals", test_signals);
  add ("/ends/no-core", test_no_core);
  add ("/ends/missing-program", test_missing_program);
  add ("/ends/not-executable", test_not_executable);
  add ("/ends/bad-interpreter", test_bad_interpreter);
  add ("/ends/working-directory", test_working_directory);
  add ("/ends/removed-workspace", test_removed_workspace);
  add ("/ends/words-of-others", test_words_of_others);
  add ("/ends/usage", test_usage);
  add ("/ends/cpu-limit", test_cpu_limit);
  add ("/ends/streams-by-name", test_streams_by_name);
  add ("/ends/no-orphans", test_no_orphans);
  add ("/ends/required-policy", test_required_policy);

  return g_test_run ();
}
