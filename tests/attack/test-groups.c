/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits of memory, tasks and processor share, in real sandboxes. Where a control group is delegated to this program they
 * hold; elsewhere they are refused. With SANDBOX_TEST_CONTROL_GROUPS in the environment there has to be one: ./dev soak has
 * a kernel of its own for that.
 */

#include "../common/test-sandbox.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define MIB G_GUINT64_CONSTANT (1048576)

typedef struct
{
  guint64 memory;
  guint64 tasks;
  guint   percent;
} Wish;

static const Wish        wishes[] = { { 64 * MIB, 0, 0 }, { 0, 16, 0 }, { 0, 0, 50 } };
static const char *const wish_names[] = { "“memory-bytes”", "“tasks”", "“cpu-percent”" };

static char *delegated; /* the group that is; NULL where none is */

static SandboxLimits *
make_limits (Wish wish)
{
  SandboxLimits *limits = sandbox_limits_new ();

  sandbox_limits_set_memory_bytes (limits, wish.memory);
  sandbox_limits_set_tasks (limits, wish.tasks);
  sandbox_limits_set_cpu_percent (limits, wish.percent);

  return limits;
}

static SandboxHandle *
create_with (TestSandbox *self,
             Wish         wish,
             GError     **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxLimits) limits = make_limits (wish);

  sandbox_profile_set_limits (profile, limits);
  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_workspace_path (options, self->workspace);

  return sandbox_backend_create (self->backend, options, NULL, error);
}

static SandboxResult *
run_with (SandboxSession *session,
          Wish            wish,
          const char     *script,
          GError        **error)
{
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", script, NULL);
  g_autoptr (SandboxLimits) limits = make_limits (wish);

  sandbox_command_set_limits (command, limits);
  sandbox_command_set_timeout_ms (command, 60000);

  return sandbox_session_run (session, command, NULL, error);
}

static SandboxResult *
run_limited (TestSandbox *self,
             Wish         wish,
             const char  *script)
{
  g_autoptr (GError) error = NULL;
  SandboxResult *result = run_with (self->session, wish, script, &error);

  g_assert_no_error (error);

  return result;
}

/* The step of that name of the default profile's report */
static SandboxReportStep *
find_step (SandboxBackend *backend)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxReport) report = sandbox_backend_probe (backend, NULL, NULL, &error);
  GListModel *steps = NULL;

  g_assert_no_error (error);
  steps = sandbox_report_get_steps (report);
  for (guint i = 0; i < g_list_model_get_n_items (steps); i++)
    {
      g_autoptr (SandboxReportStep) step = g_list_model_get_item (steps, i);

      if (g_str_equal (sandbox_report_step_get_name (step), "control-groups"))
        return g_steal_pointer (&step);
    }
  g_assert_not_reached ();
}

/* ---- Refused ---------------------------------------------------------------------------------------------------- */

static void
test_case_61_refused (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autoptr (SandboxReportStep) step = find_step (self->backend);

  g_test_summary ("Case 61: without a delegated group the limits are refused by name, for commands and sessions, and the report says so");
  g_assert_false (sandbox_report_step_get_ok (step));
  g_assert_cmpstr (sandbox_report_step_get_evidence (step), !=, "");
  g_assert_nonnull (strstr (sandbox_report_step_get_consequence (step), "memory-bytes"));
  g_assert_nonnull (sandbox_report_step_get_remedy (step));

  for (guint i = 0; i < G_N_ELEMENTS (wishes); i++)
    {
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (SandboxHandle) handle = NULL;
      g_autoptr (GError) error = NULL;

      result = run_with (self->session, wishes[i], "echo ran >ran", &error);
      g_assert_null (result);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
      g_assert_nonnull (strstr (error->message, wish_names[i]));
      g_clear_error (&error);

      handle = create_with (self, wishes[i], &error);
      g_assert_null (handle);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
      g_assert_nonnull (strstr (error->message, wish_names[i]));
    }
  test_assert_exited (test_run (self, "test", "!", "-e", "ran", NULL), 0);
}

static void
test_refused_path (TestSandbox  *self,
                   gconstpointer unused)
{
  static const char *const paths[] = { "/tmp", "/nonexistent", "relative", "/proc" };

  g_test_summary ("A directory that is given and is no control group is refused with the limits, not passed over");
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (SandboxHandle) handle = NULL;
      g_autoptr (SandboxReportStep) step = NULL;
      g_autofree char *path = NULL;
      g_autoptr (GError) error = NULL;

      g_object_set (self->backend, "control-group", paths[i], NULL);
      g_object_get (self->backend, "control-group", &path, NULL);
      g_assert_cmpstr (path, ==, paths[i]);
      step = find_step (self->backend);
      g_assert_false (sandbox_report_step_get_ok (step));
      g_assert_nonnull (strstr (sandbox_report_step_get_evidence (step), paths[i]));
      handle = create_with (self, wishes[1], &error);
      g_assert_null (handle);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
    }
}

/* ---- Held ------------------------------------------------------------------------------------------------------- */

static guint
count_groups (void)
{
  g_autoptr (GDir) directory = g_dir_open (delegated, 0, NULL);
  const char *name = NULL;
  guint       count = 0;

  g_assert_nonnull (directory);
  while ((name = g_dir_read_name (directory)) != NULL)
    count += g_str_has_prefix (name, "sandbox-glib-");

  return count;
}

/* What a command leaves is removed when its last process has been waited for, just after its answer. */
static void
assert_no_groups (void)
{
  gint64 end = g_get_monotonic_time () + TEST_GONE_US;

  while (count_groups () > 0)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_usleep (TEST_LOOK_US);
    }
}

static void
assert_limit (SandboxResult *result,
              SandboxOutcome outcome,
              guint64        value,
              guint64        least_peak)
{
  g_autofree char *errors = sandbox_result_dup_stderr_text (result);
  g_autoptr (GError) error = NULL;

  g_test_message ("outcome %d, status %d, value %" G_GUINT64_FORMAT ", peak %" G_GUINT64_FORMAT ": %s", sandbox_result_get_outcome (result),
                  sandbox_result_get_exit_status (result), sandbox_result_get_limit_value (result), sandbox_result_get_limit_peak (result), errors);
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, outcome);
  g_assert_cmpuint (sandbox_result_get_limit_value (result), ==, value);
  g_assert_cmpuint (sandbox_result_get_limit_peak (result), >=, least_peak);
  g_assert_cmpuint (sandbox_result_get_limit_peak (result), <=, value);
  g_assert_false (sandbox_result_check (result, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
}

static void
test_report (TestSandbox  *self,
             gconstpointer unused)
{
  g_autoptr (SandboxReportStep) step = find_step (self->backend);

  g_test_summary ("The report names the group and its controllers");
  g_assert_true (sandbox_report_step_get_ok (step));
  g_assert_nonnull (strstr (sandbox_report_step_get_evidence (step), delegated));
  g_assert_nonnull (strstr (sandbox_report_step_get_evidence (step), "memory, pids, cpu"));
}

static void
test_memory (TestSandbox  *self,
             gconstpointer unused)
{
  const Wish wish = { 48 * MIB, 0, 0 };

  g_test_summary ("A command that wants more memory than its limit is killed with all it started, on the heap, in /tmp and in a child");
  {
    g_autoptr (SandboxResult) heap = run_limited (self, wish, "head -c 200M /dev/zero | tail -c 150M | wc -c");

    assert_limit (heap, SANDBOX_OUTCOME_MEMORY_LIMIT, wish.memory, wish.memory / 2);
  }
  {
    g_autoptr (SandboxResult) files = run_limited (self, wish, "head -c 200M /dev/zero >/tmp/large; echo alive");

    assert_limit (files, SANDBOX_OUTCOME_MEMORY_LIMIT, wish.memory, wish.memory / 2);
    test_assert_output (files, "");
  }
  {
    g_autofree char *marker = test_marker_new ();
    g_autofree char *script = g_strdup_printf ("sh -c 'sleep 600; : %s' & head -c 200M /dev/zero | tail -c 150M & wait; echo alive", marker);
    g_autoptr (SandboxResult) child = run_limited (self, wish, script);

    assert_limit (child, SANDBOX_OUTCOME_MEMORY_LIMIT, wish.memory, wish.memory / 2);
    test_marker_assert_gone (marker);
  }
  {
    g_autoptr (SandboxResult) enough = run_limited (self, wish, "head -c 8M /dev/zero | tail -c 8M | wc -c");

    test_assert_exited (enough, 0);
    test_assert_output (enough, "8388608\n");
    g_assert_cmpuint (sandbox_result_get_limit_value (enough), ==, 0);
  }
  assert_no_groups ();
}

static void
test_tasks (TestSandbox  *self,
            gconstpointer unused)
{
  const Wish wish = { 0, 12, 0 };

  g_test_summary ("A tree has so many processes and threads, and no more; a command that copes with it is not told to have failed");
  {
    g_autoptr (SandboxResult) bomb = run_limited (self, wish, "i=0; while [ $i -lt 40 ]; do sleep 30 & i=$((i + 1)); done");

    assert_limit (bomb, SANDBOX_OUTCOME_TASKS_LIMIT, 12, 12);
  }
  {
    g_autoptr (SandboxResult) copes = run_limited (self, wish, "(i=0; while [ $i -lt 40 ]; do sleep 30 & i=$((i + 1)); done) 2>/dev/null; exit 0");

    test_assert_exited (copes, 0);
  }
  {
    g_autoptr (SandboxResult) least = run_limited (self, (Wish){ 0, 1, 0 }, "exec true");

    test_assert_exited (least, 0);
  }
  {
    g_autoptr (SandboxResult) enough = run_limited (self, wish, "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1 & done; wait");

    test_assert_exited (enough, 0);
  }
  assert_no_groups ();
}

static void
test_case_60_fork_bomb (TestSandbox  *self,
                        gconstpointer unused)
{
  g_autoptr (SandboxHandle) other = NULL;
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "bomb () { bomb | bomb & }; bomb; sleep 3", NULL);
  g_autoptr (SandboxCommand) harmless = test_command_new ("true", NULL);
  g_autoptr (SandboxLimits) limits = make_limits ((Wish){ 64 * MIB, 32, 50 });
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxResult) beside = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 60: a fork bomb stays in its tree, and a second session goes on meanwhile");
  other = test_create (self->backend, self->workspace, &error);
  g_assert_no_error (error);
  sandbox_command_set_limits (command, limits);
  sandbox_command_set_timeout_ms (command, 20000);
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 5; i++)
    {
      g_clear_object (&beside);
      beside = sandbox_session_run (sandbox_handle_get_session (other), harmless, NULL, &error);
      g_assert_no_error (error);
      test_assert_exited (beside, 0);
    }
  sandbox_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (sandbox_process_get_result (process));
  assert_no_groups ();
  sandbox_handle_stop (other, NULL, &error);
  g_assert_no_error (error);
}

static void
test_cpu (TestSandbox  *self,
          gconstpointer unused)
{
  const char *script = "timeout 4 sh -c 'while :; do :; done' & timeout 4 sh -c 'while :; do :; done' & wait";
  g_autoptr (SandboxResult) result = run_limited (self, (Wish){ 0, 0, 20 }, script);
  guint64 used = 0;

  g_test_summary ("A tree gets its share of processor time, however many are in it");
  test_assert_exited (result, 0);
  used = sandbox_result_get_user_time_us (result) + sandbox_result_get_system_time_us (result);
  g_test_message ("%" G_GUINT64_FORMAT " us of %" G_GUINT64_FORMAT " us", used, sandbox_result_get_wall_time_us (result));
  g_assert_cmpuint (used, >, 0);
  g_assert_cmpuint (used, <, sandbox_result_get_wall_time_us (result) * 30 / 100);
  assert_no_groups ();
}

static void
test_profile (TestSandbox  *self,
              gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxResult) more = NULL;
  g_autoptr (SandboxResult) less = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The limits of a profile hold for each command, and a command's own come over them");
  handle = create_with (self, (Wish){ 48 * MIB, 12, 0 }, &error);
  g_assert_no_error (error);
  more = run_with (sandbox_handle_get_session (handle), (Wish){ 0 }, "head -c 200M /dev/zero | tail -c 150M | wc -c", &error);
  g_assert_no_error (error);
  assert_limit (more, SANDBOX_OUTCOME_MEMORY_LIMIT, 48 * MIB, 24 * MIB);
  less = run_with (sandbox_handle_get_session (handle), (Wish){ 32 * MIB, 0, 0 }, "head -c 200M /dev/zero | tail -c 150M | wc -c", &error);
  g_assert_no_error (error);
  assert_limit (less, SANDBOX_OUTCOME_MEMORY_LIMIT, 32 * MIB, 16 * MIB);
  sandbox_handle_stop (handle, NULL, &error);
  g_assert_no_error (error);
  assert_no_groups ();
}

static void
test_too_small (TestSandbox  *self,
                gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A limit in which not even the sandbox fits is an error that says so; nothing ran, and nothing is left");
  handle = create_with (self, (Wish){ 65536, 0, 0 }, &error);
  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  result = run_with (self->session, (Wish){ 65536, 0, 0 }, "echo ran >ran", &error);
  g_assert_null (result);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  assert_no_groups ();
  test_assert_exited (test_run (self, "test", "!", "-e", "ran", NULL), 0);
}

static void
test_ends (TestSandbox  *self,
           gconstpointer unused)
{
  g_autoptr (SandboxCommand) command = test_command_new ("sleep", "600", NULL);
  g_autoptr (SandboxLimits) limits = make_limits ((Wish){ 64 * MIB, 16, 50 });
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxResult) late = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A limit that did not matter changes no other outcome, and each end removes the group");
  sandbox_command_set_limits (command, limits);
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (count_groups (), ==, 1);
  sandbox_process_kill (process, &error);
  g_assert_no_error (error);
  sandbox_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  test_assert_signaled (sandbox_process_get_result (process), SIGKILL);
  assert_no_groups ();

  sandbox_command_set_timeout_ms (command, 1000);
  late = test_run_command (self, command);
  g_assert_cmpint (sandbox_result_get_outcome (late), ==, SANDBOX_OUTCOME_TIMED_OUT);
  assert_no_groups ();
}

static void
test_unseen (TestSandbox  *self,
             gconstpointer unused)
{
  g_autoptr (SandboxResult) result = run_limited (self, (Wish){ 64 * MIB, 16, 0 },
                                                  "cat /proc/self/cgroup; ls /sys/fs/cgroup 2>/dev/null; grep cgroup /proc/self/mountinfo; exit 0");

  g_test_summary ("A command sees neither the name of its group nor the file system of groups");
  test_assert_exited (result, 0);
  test_assert_output (result, "0::/\n");
}

static void
test_given (TestSandbox  *self,
            gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A group that is given is used");
  g_object_set (self->backend, "control-group", delegated, NULL);
  handle = create_with (self, (Wish){ 48 * MIB, 0, 0 }, &error);
  g_assert_no_error (error);
  result = run_with (sandbox_handle_get_session (handle), (Wish){ 0 }, "head -c 200M /dev/zero | tail -c 150M | wc -c", &error);
  g_assert_no_error (error);
  assert_limit (result, SANDBOX_OUTCOME_MEMORY_LIMIT, 48 * MIB, 24 * MIB);
  sandbox_handle_stop (handle, NULL, &error);
  g_assert_no_error (error);
}

/* Another host, which says when its command runs and then only waits. */
static int
host_main (const char *workspace)
{
  TestSandbox self = { .workspace = g_strdup (workspace) };
  g_autoptr (SandboxLimits) limits = make_limits ((Wish){ 64 * MIB, 16, 50 });
  g_autoptr (SandboxCommand) command = test_command_new ("sleep", "600", NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;

  self.registry = sandbox_registry_new ();
  self.backend = test_new_backend (self.registry);
  self.handle = test_create (self.backend, self.workspace, &error);
  g_assert_no_error (error);
  sandbox_command_set_limits (command, limits);
  process = sandbox_session_spawn (sandbox_handle_get_session (self.handle), command, NULL, &error);
  g_assert_no_error (error);
  if (write (STDOUT_FILENO, "!", 1) == 1)
    pause ();

  return 1;
}

static const char *program;

static void
test_case_69_killed_host (TestSandbox  *self,
                          gconstpointer unused)
{
  const char *const argv[] = { program, "--host", self->workspace, NULL };
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxReportStep) step = NULL;
  g_autoptr (GError) error = NULL;
  GPid pid = 0;
  int  output = -1;
  char byte = '\0';

  g_test_summary ("Case 69: what a killed host leaves is removed by the next, and what a living one has is not");
  g_assert_cmpuint (count_groups (), ==, 0);
  g_spawn_async_with_pipes (NULL, (char **) argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, NULL, &output, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (read (output, &byte, 1), ==, 1);
  g_assert_cmpuint (count_groups (), ==, 1);
  backend = test_new_backend (registry);
  step = find_step (backend);
  g_assert_true (sandbox_report_step_get_ok (step));
  g_assert_cmpuint (count_groups (), ==, 1);

  g_assert_cmpint (kill (pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  close (output);
  g_assert_cmpuint (count_groups (), ==, 1);
  g_clear_object (&backend);
  backend = test_new_backend (registry);
  handle = test_create (backend, self->workspace, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (count_groups (), ==, 0);
  sandbox_handle_stop (handle, NULL, &error);
  g_assert_no_error (error);
}

static void
add (const char *path,
     void (*test) (TestSandbox *self, gconstpointer unused))
{
  g_test_add (path, TestSandbox, NULL, test_sandbox_set_up, test, test_sandbox_tear_down);
}

/* Between the quotes of the step's evidence */
static char *
find_delegated (void)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = test_new_backend (registry);
  g_autoptr (SandboxReportStep) step = find_step (backend);
  const char *evidence = sandbox_report_step_get_evidence (step);
  const char *start = strstr (evidence, "“");
  const char *end = strstr (evidence, "”");

  if (!sandbox_report_step_get_ok (step))
    {
      if (g_getenv ("SANDBOX_TEST_CONTROL_GROUPS") != NULL)
        g_error ("There has to be a delegated control group, but: %s", evidence);
      return NULL;
    }
  start += strlen ("“");

  return g_strndup (start, end - start);
}

int
main (int    argc,
      char **argv)
{
  if (argc == 3 && g_str_equal (argv[1], "--host"))
    return host_main (argv[2]);

  program = argv[0];
  g_test_init (&argc, &argv, NULL);
  delegated = find_delegated ();
  add ("/groups/refused/path", test_refused_path);
  if (delegated == NULL)
    add ("/groups/refused/case-61-hybrid", test_case_61_refused);
  else
    {
      add ("/groups/report", test_report);
      add ("/groups/memory", test_memory);
      add ("/groups/tasks", test_tasks);
      add ("/groups/case-60-fork-bomb", test_case_60_fork_bomb);
      add ("/groups/cpu", test_cpu);
      add ("/groups/profile", test_profile);
      add ("/groups/too-small", test_too_small);
      add ("/groups/ends", test_ends);
      add ("/groups/unseen", test_unseen);
      add ("/groups/given", test_given);
      add ("/groups/case-69-killed-host", test_case_69_killed_host);
    }

  return g_test_run ();
}
