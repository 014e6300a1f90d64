/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits that a guest runs into: each holds inside the sandbox, for that sandbox alone, and is told as what it was. The program
 * starts itself where limits cannot be set ("--refused WORKSPACE"), where the kernel has no Landlock, takes no filter or makes
 * no namespaces in a sandbox ("--no-landlock WORKSPACE", "--no-filter WORKSPACE", "--no-slots WORKSPACE"), and where the disk
 * is small ("--disk DIRECTORY").
 */
#include "../common/test-profile.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/mount.h>
#include <sys/resource.h>

#define MIB (1024 * 1024)

static void
bounds_set_up (TestSandbox  *self,
               gconstpointer unused)
{
  test_sandbox_set_up (self, NULL);
  test_install_program (self->workspace, "bomb", TEST_BOMB);
}

static SandboxResult *
run_limited (TestSandbox   *self,
             SandboxLimits *limits,
             const char    *script)
{
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", script, NULL);

  sandbox_command_set_limits (command, limits);

  return test_run_command (self, command);
}

/* ---- What a command is given ---- */

static void
test_inside (TestSandbox  *self,
             gconstpointer unused)
{
  const struct
  {
    int     resource;
    guint64 soft;
    guint64 hard;
  } wanted[] = {
    { RLIMIT_CPU, 7, 8 }, /* the last second is between the signal and the end */
    { RLIMIT_FSIZE, 4 * MIB, 4 * MIB },
    { RLIMIT_AS, 512 * MIB, 512 * MIB },
    { RLIMIT_NOFILE, 64, 64 },
    { RLIMIT_CORE, 0, 0 },
  };
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (SandboxResult) usual = NULL;
  g_autofree char *text = NULL;
  g_autofree char *usual_text = NULL;
  const char      *processes = NULL;
  guint64          soft = 0;
  guint64          hard = 0;

  g_test_summary ("Cases 67, 68: each limit is there before the command, soft as hard; without being asked for there is none of memory");

  sandbox_limits_set_cpu_seconds (limits, 7);
  sandbox_limits_set_file_size_bytes (limits, 4 * MIB);
  sandbox_limits_set_address_space_bytes (limits, 512 * MIB);
  sandbox_limits_set_processes (limits, 32);
  sandbox_limits_set_open_files (limits, 64);
  result = run_limited (self, limits, "./guest state");
  test_assert_exited (result, 0);
  text = sandbox_result_dup_stdout_text (result);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      g_autofree char *line = g_strdup_printf ("limit %d %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                                               wanted[i].resource, wanted[i].soft, wanted[i].hard);

      if (strstr (text, line) == NULL)
        g_error ("“%s” is not in: %s", line, text);
    }

  processes = strstr (text, "\nlimit 6 ");
  g_assert_nonnull (processes);
  g_assert_cmpint (sscanf (processes, "\nlimit 6 %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n", &soft, &hard), ==, 2);
  test_assert_process_limit (soft, 32);
  g_assert_cmpuint (hard, ==, soft);

  usual = test_run (self, "./guest", "state", NULL);
  usual_text = sandbox_result_dup_stdout_text (usual);
  g_assert_nonnull (strstr (usual_text, "limit 9 18446744073709551615 "));
}

static void
test_raising (TestSandbox  *self,
              gconstpointer unused)
{
  const char *const tries[] = {
    "ulimit -n 65", "ulimit -Hn 65", "ulimit -u 39", "ulimit -f 9000", "ulimit -v 600000", "ulimit -t 100", "ulimit -c 1",
    "prlimit --pid $$ --nofile=65:65", "prlimit --pid $$ --nproc=unlimited", "prlimit --pid $$ --as=unlimited",
    "nice -n -5 true && test $(nice -n -5 nice) -lt 0"
  };
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();

  g_test_summary ("Case 67: no limit can be raised from inside, whoever asks");

  sandbox_limits_set_cpu_seconds (limits, 7);
  sandbox_limits_set_file_size_bytes (limits, 4 * MIB);
  sandbox_limits_set_address_space_bytes (limits, 512 * MIB);
  sandbox_limits_set_processes (limits, 32);
  sandbox_limits_set_open_files (limits, 64);
  for (guint i = 0; i < G_N_ELEMENTS (tries); i++)
    {
      g_autoptr (SandboxResult) result = run_limited (self, limits, tries[i]);

      g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_EXITED);
      if (sandbox_result_get_exit_status (result) == 0 || sandbox_result_get_exit_status (result) == 127)
        g_error ("“%s” ended with %d", tries[i], sandbox_result_get_exit_status (result));
    }
}

static void
test_open_files (TestSandbox  *self,
                 gconstpointer unused)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("Open files end at their limit, even one that leaves room for nothing but the three of every command");

  sandbox_limits_set_open_files (limits, 64);
  result = run_limited (self, limits, "exec ./bomb descriptors");
  test_assert_exited (result, 0);
  test_assert_output (result, "descriptors 64 EMFILE\n");
}

/* ---- Processes ---- */

/* How many children a command with a limit of 64 processes has at most, after @before. */
static int
count_processes (TestSandbox *self,
                 const char  *before)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxResult) result = NULL;
  g_autofree char *script = NULL;
  g_autofree char *text = NULL;
  int              count = 0;

  sandbox_limits_set_processes (limits, 64);
  script = g_strconcat (before, "exec ./bomb processes once", NULL);
  result = run_limited (self, limits, script);
  test_assert_exited (result, 0);
  text = sandbox_result_dup_stdout_text (result);
  g_assert_cmpint (sscanf (text, "processes %d EAGAIN", &count), ==, 1);

  return count;
}

static void
test_processes (TestSandbox  *self,
                gconstpointer unused)
{
  g_autoptr (SandboxHandle) others = NULL;
  g_autoptr (SandboxResult) proof = NULL;
  g_autoptr (SandboxCommand) crowd = test_command_new ("sh", "-c", "i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done; echo ready; wait", NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  char line[8] = { 0 };

  g_test_summary ("Case 59: a limit of processes is the sandbox's own: what else runs as the same user neither breaks nor widens it");

  others = test_create (self->backend, self->workspace, &error);
  g_assert_no_error (error);
  process = sandbox_session_spawn (sandbox_handle_get_session (others), crowd, NULL, &error);
  g_assert_no_error (error);
  g_input_stream_read (sandbox_process_get_stdout (process), line, 6, NULL, &error);
  g_assert_cmpstr (line, ==, "ready\n");

  /* What the session was tried with has ended then. */
  proof = test_run (self, "true", NULL);
  test_assert_exited (proof, 0);
  /* Two that are there count too: process 1 and the first one itself. What has ended before may count for a moment; never is there one
   * more. */
  for (guint i = 0; i < 20; i++)
    {
      const int count = count_processes (self, "");

      g_assert_cmpint (count, <=, 62);
      g_assert_cmpint (count, >=, 60);
    }
  for (guint i = 0; i < 3; i++)
    g_assert_cmpint (count_processes (self, "sleep 0.1; "), ==, 62);
  g_assert_true (sandbox_handle_shutdown (others, NULL, &error));
}

#define N_BESIDE 3

static void
test_processes_beside (TestSandbox  *self,
                       gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "hold", marker, NULL);
  g_autoptr (GPtrArray) processes = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GError) error = NULL;

  g_test_summary ("What makes room for other commands of the session takes nothing of a limit of processes; what these run does where they share a sandbox");

  for (guint i = 0; i < N_BESIDE; i++)
    {
      g_ptr_array_add (processes, sandbox_session_spawn (self->session, command, NULL, &error));
      g_assert_no_error (error);
    }
  test_marker_wait (marker, N_BESIDE);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpint (count_processes (self, "sleep 0.1; "), ==, 62 - (TEST_NESTED ? N_BESIDE : 0));
  for (guint i = 0; i < N_BESIDE; i++)
    {
      g_assert_true (sandbox_process_kill (processes->pdata[i], &error));
      g_assert_true (sandbox_process_wait (processes->pdata[i], NULL, &error));
    }
}

/* ---- Where limits cannot be set ---- */

static int
refused_main (const char *workspace)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  TestSandbox     sandbox = { .workspace = (char *) workspace, .registry = sandbox_registry_new () };
  scmp_filter_ctx filter = seccomp_init (SCMP_ACT_ALLOW);
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "echo ran >ran", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (filter);
  g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (prlimit64), 2,
                                     SCMP_A1 (SCMP_CMP_EQ, RLIMIT_NPROC), SCMP_A2 (SCMP_CMP_NE, 0)),
                   ==, 0);
  g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (setrlimit), 1, SCMP_A0 (SCMP_CMP_EQ, RLIMIT_NPROC)), ==, 0);
  g_assert_cmpint (seccomp_load (filter), ==, 0);
  seccomp_release (filter);

  sandbox.backend = test_new_backend (sandbox.registry);
  sandbox_create_options_set_workspace_path (options, workspace);
  sandbox.handle = sandbox_backend_create (sandbox.backend, options, NULL, &error);
  if (sandbox.handle != NULL)
    {
      sandbox_limits_set_processes (limits, 64);
      sandbox_command_set_limits (command, limits);
      result = sandbox_session_run (sandbox_handle_get_session (sandbox.handle), command, NULL, &error);
      g_assert_true (sandbox_handle_shutdown (sandbox.handle, NULL, NULL));
      g_clear_object (&sandbox.handle);
    }
  g_assert_null (result);
  g_print ("%s %d %s\n", g_quark_to_string (error->domain), error->code, error->message);
  g_clear_object (&sandbox.backend);
  g_clear_object (&sandbox.registry);

  return 0;
}

/* ---- Where a layer is missing ---- */

#define NR_LANDLOCK_CREATE_RULESET 444
#define PR_SET_SECCOMP 22

static int
absent_main (const char *layer,
             const char *workspace)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  scmp_filter_ctx filter = seccomp_init (SCMP_ACT_ALLOW);
  GListModel     *steps = NULL;

  g_assert_nonnull (filter);
  if (g_str_equal (layer, "landlock"))
    g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (ENOSYS), NR_LANDLOCK_CREATE_RULESET, 0), ==, 0);
  else if (g_str_equal (layer, "slots"))
    g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (clone), 1,
                                       SCMP_A0 (SCMP_CMP_MASKED_EQ, CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER, CLONE_NEWPID | CLONE_NEWNS)),
                     ==, 0);
  else
    {
      g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EINVAL), SCMP_SYS (prctl), 1, SCMP_A0 (SCMP_CMP_EQ, PR_SET_SECCOMP)), ==, 0);
      g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (ENOSYS), SCMP_SYS (seccomp), 0), ==, 0);
    }
  g_assert_cmpint (seccomp_load (filter), ==, 0);
  seccomp_release (filter);

  backend = test_new_backend (registry);
  report = sandbox_backend_probe (backend, NULL, NULL, &error);
  g_assert_no_error (error);
  steps = sandbox_report_get_steps (report);
  for (guint i = 0; i < g_list_model_get_n_items (steps); i++)
    {
      g_autoptr (SandboxReportStep) step = g_list_model_get_item (steps, i);

      g_print ("step %s %s\n", sandbox_report_step_get_name (step), sandbox_report_step_get_ok (step) ? "good" : "bad");
    }
  for (const char *const *gaps = sandbox_report_get_gaps (report); gaps != NULL && *gaps != NULL; gaps++)
    g_print ("gap %s\n", *gaps);

  handle = test_create (backend, workspace, &error);
  if (handle != NULL)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "echo ran >ran", NULL);
      g_autoptr (SandboxResult) result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);

      g_assert_no_error (error);
      test_assert_exited (result, 0);
      g_assert_true (sandbox_handle_stop (handle, NULL, &error));
    }
  else
    g_print ("refused %d\n", error->code);
  g_clear_error (&error);
  if (g_str_equal (layer, "slots"))
    {
      g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
      g_autoptr (SandboxHandle) shared = NULL;

      sandbox_create_options_set_workspace_path (options, workspace);
      sandbox_create_options_set_isolation (options, SANDBOX_ISOLATION_SHARED);
      shared = sandbox_backend_create (backend, options, NULL, &error);
      g_print ("shared %s\n", shared != NULL ? "session" : error->message);
    }

  return 0;
}

static char *
run_myself (const char *what,
            const char *where)
{
  const char      *argv[] = { "/proc/self/exe", what, where, NULL };
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autoptr (GError) error = NULL;
  char *said = NULL;
  int   status = -1;

  argv[0] = program;
  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &said, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);

  return said;
}

static void
test_unset (void)
{
  g_autofree char *workspace = test_make_workspace ();
  g_autofree char *witness = g_build_filename (workspace, "ran", NULL);
  g_autofree char *said = NULL;
  g_autofree char *code = g_strdup_printf ("sandbox-error-quark %d ", SANDBOX_ERROR_UNAVAILABLE);

  g_test_summary ("Case 62: where limits cannot be set, nothing runs without them");

  said = run_myself ("--refused", workspace);
  g_assert_true (g_str_has_prefix (said, code));
  g_assert_nonnull (strstr (said, "step: resource limit"));
  g_assert_false (g_file_test (witness, G_FILE_TEST_EXISTS));
  test_remove_tree (workspace);
}

static void
test_absent_layers (void)
{
  g_autofree char *workspace = test_make_workspace ();
  g_autofree char *ran = g_build_filename (workspace, "ran", NULL);
  g_autofree char *refused = g_strdup_printf ("refused %d\n", SANDBOX_ERROR_UNAVAILABLE);
  g_autofree char *filter = NULL;
  g_autofree char *landlock = NULL;

  g_test_summary ("Case 25: without Landlock a session runs and the report says what is missing; without filters there is no session");

  filter = run_myself ("--no-filter", workspace);
  g_assert_nonnull (strstr (filter, "step filter bad\n"));
  g_assert_nonnull (strstr (filter, refused));
  g_assert_false (g_file_test (ran, G_FILE_TEST_EXISTS));

  landlock = run_myself ("--no-landlock", workspace);
  g_assert_null (strstr (landlock, "step filter bad\n"));
  g_assert_nonnull (strstr (landlock, "step landlock bad\n"));
  g_assert_nonnull (strstr (landlock, "gap "));
  g_assert_nonnull (strstr (landlock, "Landlock"));
  g_assert_true (g_file_test (ran, G_FILE_TEST_EXISTS));
  test_remove_tree (workspace);
}

static void
test_no_slots (void)
{
  g_autofree char *workspace = test_make_workspace ();
  g_autofree char *ran = g_build_filename (workspace, "ran", NULL);
  g_autofree char *said = NULL;

  g_test_summary ("Where no sandbox can be made in another, each command has one by bwrap, the report says so, and what cannot do without is refused");

  said = run_myself ("--no-slots", workspace);
  g_assert_true ((strstr (said, "step slots bad\n") != NULL) == TEST_NESTED);
  g_assert_null (strstr (said, "step slots good\n"));
  g_assert_null (strstr (said, "refused"));
  g_assert_true (g_file_test (ran, G_FILE_TEST_EXISTS));
  g_assert_nonnull (strstr (said, "shared The sandbox could not be built"));
  test_remove_tree (workspace);
}

/* ---- Memory ---- */

static guint64
read_shared_memory (void)
{
  g_autofree char *text = NULL;
  const char      *found = NULL;

  g_assert_true (g_file_get_contents ("/proc/meminfo", &text, NULL, NULL));
  found = strstr (text, "\nShmem:");

  return found != NULL ? g_ascii_strtoull (found + strlen ("\nShmem:"), NULL, 10) * 1024 : 0;
}

static void
test_memory_files (TestSandbox  *self,
                   gconstpointer unused)
{
  const char *const script = "./bomb bytes /x once; ./bomb bytes /run/x once; ./bomb bytes /dev/x once;"
                             "./bomb bytes /tmp/x once >1 & ./bomb bytes /dev/shm/x once >2; wait; cat 1 2";
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autofree char *text = NULL;
  guint64          before = 0;
  gint64           end = 0;

  g_test_summary ("Case 63: what all file systems of memory hold is what they were given, ENOSPC is the end, and it is free afterwards");

  sandbox_limits_set_tmp_bytes (limits, 96 * MIB);
  sandbox_limits_set_shm_bytes (limits, 32 * MIB);
  sandbox_profile_set_limits (profile, limits);
  test_use_profile (self, profile);
  before = read_shared_memory ();
  for (guint i = 0; i < 4; i++)
    {
      g_clear_pointer (&text, g_free);
      text = test_sh (self, script);
      g_assert_cmpstr (text, ==, "open 0 Read-only file system\nopen 0 Read-only file system\nopen 0 Read-only file system\n"
                                 "bytes 100663296 ENOSPC\nbytes 33554432 ENOSPC\n");
    }
  /* Four times as much was written; others may use some meanwhile. */
  end = g_get_monotonic_time () + TEST_LIMIT_US;
  while (read_shared_memory () > before + 192 * MIB)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_usleep (TEST_LOOK_US);
    }
}

static void
test_address_space (TestSandbox  *self,
                    gconstpointer unused)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxResult) bomb = NULL;
  g_autofree char *text = NULL;
  unsigned long    bytes = 0;

  g_test_summary ("Case 68: the limit of addresses ends a process's memory with ENOMEM, and nothing else");

  sandbox_limits_set_address_space_bytes (limits, 64 * MIB);
  bomb = run_limited (self, limits, "exec ./bomb memory once");
  test_assert_exited (bomb, 0);
  text = sandbox_result_dup_stdout_text (bomb);
  g_assert_cmpint (sscanf (text, "memory %lu ENOMEM", &bytes), ==, 1);
  g_assert_cmpuint (bytes, >, 32 * MIB);
  g_assert_cmpuint (bytes, <=, 64 * MIB);
}

/* A limit that needs a control group holds, or the session is refused by the limit's name before anything starts. */
static void
check_group_limit (TestSandbox   *self,
                   const char    *name,
                   SandboxLimits *limits,
                   const char    *script,
                   SandboxOutcome outcome,
                   guint64        value)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", script, NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  sandbox_profile_set_limits (profile, limits);
  handle = test_create_for (self, profile, &error);
  if (handle == NULL)
    {
      g_autofree char *ran = g_build_filename (self->workspace, "ran", NULL);

      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
      g_assert_nonnull (strstr (error->message, name));
      g_clear_error (&error);
      sandbox_command_set_limits (command, limits);
      result = sandbox_session_run (self->session, command, NULL, &error);
      g_assert_null (result);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
      g_assert_nonnull (strstr (error->message, name));
      g_assert_false (g_file_test (ran, G_FILE_TEST_EXISTS));
      g_test_message ("%s is refused here", name);
      return;
    }

  g_test_message ("%s is enforced here", name);
  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, outcome);
  if (outcome != SANDBOX_OUTCOME_EXITED)
    {
      g_assert_cmpuint (sandbox_result_get_limit_value (result), ==, value);
      g_assert_cmpuint (sandbox_result_get_limit_peak (result), >, 0);
    }
  g_assert_true (sandbox_handle_shutdown (handle, NULL, &error));
}

static void
test_groups (TestSandbox  *self,
             gconstpointer unused)
{
  g_autoptr (SandboxLimits) memory = sandbox_limits_new ();
  g_autoptr (SandboxLimits) tasks = sandbox_limits_new ();
  g_autoptr (SandboxLimits) processors = sandbox_limits_new ();

  g_test_summary ("Case 61: limits of control groups hold where there is one to use, and are refused by name where not, before anything runs");

  sandbox_limits_set_memory_bytes (memory, 64 * MIB);
  check_group_limit (self, "memory-bytes", memory, "echo >ran; exec ./bomb memory once", SANDBOX_OUTCOME_MEMORY_LIMIT, 64 * MIB);
  sandbox_limits_set_tasks (tasks, 32);
  check_group_limit (self, "tasks", tasks, "echo >ran; ./bomb processes once; exit 1", SANDBOX_OUTCOME_TASKS_LIMIT, 32);
  sandbox_limits_set_cpu_percent (processors, 50);
  check_group_limit (self, "cpu-percent", processors, "echo >ran", SANDBOX_OUTCOME_EXITED, 0);
}

/* ---- Files and time ---- */

static void
test_file_size (TestSandbox  *self,
                gconstpointer unused)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxResult) result = NULL;
  g_autofree char *size = NULL;

  g_test_summary ("Case 65: a file that outgrows its limit is told as that, and is as large as the limit");

  sandbox_limits_set_file_size_bytes (limits, 1000);
  result = run_limited (self, limits, "exec ./bomb bytes large once");
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_FILE_SIZE_LIMIT);
  g_assert_cmpint (sandbox_result_get_signal (result), ==, SIGXFSZ);
  g_assert_cmpuint (sandbox_result_get_limit_value (result), ==, 1000);
  size = test_sh (self, "stat -c %s large");
  g_assert_cmpstr (size, ==, "1000\n");
}

static void
test_processor_time (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autofree char *script = g_strdup_printf ("./bomb time 8 %s & wait; sleep 1000", marker);
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", script, NULL);
  g_autoptr (SandboxResult) leader = NULL;
  g_autoptr (SandboxResult) family = NULL;

  g_test_summary ("Case 66: processor time is each process's own, and the deadline ends what goes on with new ones");

  sandbox_limits_set_cpu_seconds (limits, 1);
  leader = run_limited (self, limits, "exec ./bomb time 4");
  g_assert_cmpint (sandbox_result_get_outcome (leader), ==, SANDBOX_OUTCOME_CPU_LIMIT);
  g_assert_cmpuint (sandbox_result_get_limit_value (leader), ==, 1);

  sandbox_command_set_limits (command, limits);
  sandbox_command_set_timeout_ms (command, 1500);
  family = test_run_command (self, command);
  g_assert_cmpint (sandbox_result_get_outcome (family), ==, SANDBOX_OUTCOME_TIMED_OUT);
  test_marker_assert_gone (marker);
}

static void
test_forged_end (TestSandbox  *self,
                 gconstpointer unused)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxResult) sent = NULL;
  g_autoptr (SandboxResult) deaf = NULL;

  g_test_summary ("A command that sends itself the signal of a limit has reached none, and one that is deaf to it has");

  sandbox_limits_set_cpu_seconds (limits, 50);
  sent = run_limited (self, limits, "kill -XCPU $$");
  test_assert_signaled (sent, SIGXCPU);
  g_assert_cmpuint (sandbox_result_get_limit_value (sent), ==, 0);

  sandbox_limits_set_cpu_seconds (limits, 1);
  deaf = run_limited (self, limits, "trap '' XCPU; exec ./bomb time 2");
  g_assert_cmpint (sandbox_result_get_outcome (deaf), ==, SANDBOX_OUTCOME_CPU_LIMIT);
  g_assert_cmpuint (sandbox_result_get_limit_value (deaf), ==, 1);
  g_assert_cmpuint (sandbox_result_get_limit_peak (deaf), >=, 1);
}

/* What the kernel counts for the whole machine, or for a user of the host. */
static void
test_shared_counts (TestSandbox  *self,
                    gconstpointer unused)
{
  static const char script[] =
      "import ctypes, os\n"
      "libc = ctypes.CDLL (None, use_errno=True)\n"
      "def count (make):\n"
      "    n = 0\n"
      "    while n < 1000 and make () >= 0:\n"
      "        n += 1\n"
      "    return n\n"
      "def terminal ():\n"
      "    try:\n"
      "        return os.open ('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)\n"
      "    except OSError:\n"
      "        return -1\n"
      "n_terminals = count (terminal)\n"
      "n_watchers = count (libc.inotify_init)\n"
      "context = ctypes.c_ulong (0)\n"
      "n_contexts = count (lambda: libc.syscall (ctypes.c_long (N_IO_SETUP), 1, ctypes.byref (context)))\n"
      "print (0 < n_terminals <= 256, 0 < n_watchers <= 64, n_contexts)\n";
  g_autofree char *number = g_strdup_printf ("%d", SCMP_SYS (io_setup));
  g_auto (GStrv) parts = g_strsplit (script, "N_IO_SETUP", -1);
  g_autofree char *program = g_strjoinv (number, parts);
  g_autoptr (SandboxResult) result = test_run (self, "python3", "-c", program, NULL);

  g_test_summary ("One guest does not take all terminals, watchers and contexts of asynchronous I/O that the host has");

  test_assert_exited (result, 0);
  test_assert_bytes (sandbox_result_get_stdout (result), "True True 0\n");
}

/* ---- Disks ---- */

/* In memory: the names of a disk take a minute. */
static void
test_many_names (void)
{
  char        state[] = "/dev/shm/sandbox-names-XXXXXX";
  TestSandbox kept = { .registry = sandbox_registry_new () };
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (SandboxCommand) command = test_command_new ("./bomb", "names", ".", "120000", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GBytes) program = NULL;
  g_autofree char *bytes = NULL;
  g_autoptr (GError) error = NULL;
  gsize size = 0;

  g_test_summary ("Case 70: a directory of more names than are listed says so, and the session can be deleted");

  g_assert_nonnull (g_mkdtemp (state));
  kept.backend = sandbox_registry_create_backend (kept.registry, "bubblewrap", state, &error);
  g_assert_no_error (error);
  kept.handle = sandbox_backend_create (kept.backend, options, NULL, &error);
  g_assert_no_error (error);
  kept.session = sandbox_handle_get_session (kept.handle);
  g_assert_true (g_file_get_contents (TEST_BOMB, &bytes, &size, &error));
  program = g_bytes_new (bytes, size);
  g_assert_true (sandbox_session_write_bytes (kept.session, "bomb", program, NULL, &error));
  g_free (test_sh (&kept, "chmod 755 bomb"));
  sandbox_command_set_timeout_ms (command, 120000);
  result = test_run_command (&kept, command);
  test_assert_output (result, "names 120000 no-error\n");
  test_assert_exited (result, 0);

  listing = sandbox_session_list_directory (kept.session, ".", NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_listing_get_truncated (listing));
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, SANDBOX_LISTING_MAX_ENTRIES);
  g_assert_true (sandbox_handle_delete (kept.handle, NULL, &error));
  g_assert_no_error (error);
  g_clear_object (&kept.handle);
  g_clear_object (&kept.backend);
  g_clear_object (&kept.registry);
  nftw (state, test_remove_cb, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
  g_assert_false (g_file_test (state, G_FILE_TEST_EXISTS));
}

static int
disk_main (const char *directory)
{
  g_autofree char *state = g_build_filename (directory, "state", NULL);
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxCreateOptions) again = sandbox_create_options_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxState) saved = NULL;
  g_autofree char *full = NULL;
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) large = g_string_new (NULL);
  TestSandbox sandbox = { 0 };

  /* Nobody else sees this disk. */
  g_assert_cmpint (unshare (CLONE_NEWNS), ==, 0);
  g_assert_cmpint (mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), ==, 0);
  g_assert_cmpint (mount ("disk", directory, "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=0755"), ==, 0);

  backend = sandbox_registry_create_backend (registry, "bubblewrap", state, &error);
  g_assert_no_error (error);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);
  sandbox.session = sandbox_handle_get_session (handle);
  full = test_sh (&sandbox, "echo kept >kept; cat /dev/zero >full 2>errors; df --output=avail . | tail -n 1 | tr -d ' '");
  g_assert_cmpstr (full, ==, "0\n");
  for (guint i = 0; i < 64 * 1024; i++)
    g_string_append_c (large, 'x');
  g_assert_false (sandbox_session_write_text (sandbox.session, "more", large->str, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  text = sandbox_session_read_text (sandbox.session, "kept", NULL, &error);
  g_assert_cmpstr (text, ==, "kept\n");
  saved = sandbox_handle_capture_state (handle, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_handle_stop (handle, NULL, &error));
  g_clear_object (&handle);

  sandbox_create_options_set_state (again, saved);
  handle = sandbox_backend_create (backend, again, NULL, &error);
  g_assert_no_error (error);
  sandbox.session = sandbox_handle_get_session (handle);
  g_clear_pointer (&text, g_free);
  text = test_sh (&sandbox, "cat kept; ls");
  g_assert_cmpstr (text, ==, "kept\nerrors\nfull\nkept\n");
  g_assert_true (sandbox_handle_delete (handle, NULL, &error));
  g_assert_no_error (error);
  g_clear_object (&handle);

  /* and the room is there again */
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_session_write_text (sandbox_handle_get_session (handle), "more", large->str, NULL, &error));
  g_assert_true (sandbox_handle_delete (handle, NULL, &error));
  g_print ("done\n");

  return 0;
}

static void
test_full_disk (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *directory = g_dir_make_tmp ("sandbox-disk-XXXXXX", &error);
  g_autofree char *said = NULL;

  g_test_summary ("Case 64: a guest fills the disk; what the host does there fails as LIMIT, and stop, attach and delete work");

  g_assert_no_error (error);
  said = run_myself ("--disk", directory);
  g_assert_cmpstr (said, ==, "done\n");
  test_remove_tree (directory);
}

static void
add (const char *path,
     void (*test) (TestSandbox *self, gconstpointer unused))
{
  g_test_add (path, TestSandbox, NULL, bounds_set_up, test, test_sandbox_tear_down);
}

int
main (int    argc,
      char **argv)
{
  if (argc == 3 && g_str_equal (argv[1], "--refused"))
    return refused_main (argv[2]);
  if (argc == 3 && (g_str_equal (argv[1], "--no-landlock") || g_str_equal (argv[1], "--no-filter") || g_str_equal (argv[1], "--no-slots")))
    return absent_main (argv[1] + strlen ("--no-"), argv[2]);
  if (argc == 3 && g_str_equal (argv[1], "--disk"))
    return disk_main (argv[2]);

  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  add ("/bounds/inside", test_inside);
  add ("/bounds/raising", test_raising);
  add ("/bounds/open-files", test_open_files);
  add ("/bounds/processes", test_processes);
  add ("/bounds/processes-beside", test_processes_beside);
  g_test_add_func ("/bounds/refused", test_unset);
  g_test_add_func ("/bounds/absent-layers", test_absent_layers);
  g_test_add_func ("/bounds/no-slots", test_no_slots);
  add ("/bounds/memory-files", test_memory_files);
  add ("/bounds/address-space", test_address_space);
  add ("/bounds/groups", test_groups);
  add ("/bounds/file-size", test_file_size);
  add ("/bounds/processor-time", test_processor_time);
  add ("/bounds/forged-end", test_forged_end);
  add ("/bounds/shared-counts", test_shared_counts);
  g_test_add_func ("/bounds/many-names", test_many_names);
  if (geteuid () == 0)
    g_test_add_func ("/bounds/root/full-disk", test_full_disk);

  return g_test_run ();
}
