/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-command-private.h"
#include "sandbox-environment-private.h"
#include "sandbox-error.h"
#include "value-checks.h"

static const char *const true_argv[] = { "true", NULL };

static void
test_defaults (void)
{
  g_autoptr (SandboxCommand) command = sandbox_command_new (true_argv);
  g_autoptr (SandboxCommand) empty = g_object_new (SANDBOX_TYPE_COMMAND, NULL);

  g_test_summary ("A new command has the documented defaults, and lists that are never NULL");

  value_checks_defaults (G_OBJECT (empty));
  g_assert_cmpstrv (sandbox_command_get_argv (command), true_argv);
  g_assert_nonnull (sandbox_command_get_argv (empty));
  g_assert_null (sandbox_command_get_argv (empty)[0]);
  g_assert_nonnull (sandbox_command_get_environment (empty));
  g_assert_null (sandbox_command_get_environment (empty)[0]);
  g_assert_cmpstr (sandbox_command_get_cwd (command), ==, ".");
  g_assert_cmpuint (sandbox_command_get_timeout_ms (command), ==, 30000);
  g_assert_cmpuint (sandbox_command_get_max_output (command), ==, 1048576);
  g_assert_cmpint (sandbox_command_get_output_limit_action (command), ==, SANDBOX_OUTPUT_LIMIT_ACTION_KILL);
  g_assert_cmpuint (sandbox_command_get_kill_grace_ms (command), ==, 2000);
  g_assert_false (sandbox_command_get_terminal (command));
  g_assert_cmpuint (sandbox_command_get_terminal_rows (command), ==, 24);
  g_assert_cmpuint (sandbox_command_get_terminal_columns (command), ==, 80);
}

static void
test_round_trip (void)
{
  g_autoptr (SandboxCommand) command = sandbox_command_new (true_argv);

  g_test_summary ("Each property is read as it was set and notified once");

  value_checks_round_trip (G_OBJECT (command), NULL);
}

static void
test_reset (void)
{
  g_autoptr (SandboxCommand) command = sandbox_command_new (true_argv);

  g_test_summary ("NULL brings the defaults back");

  value_checks_round_trip (G_OBJECT (command), NULL);
  sandbox_command_set_cwd (command, NULL);
  sandbox_command_set_environment (command, NULL);
  sandbox_command_set_stdin (command, NULL);
  sandbox_command_set_limits (command, NULL);
  sandbox_command_set_label (command, NULL);

  g_assert_cmpstr (sandbox_command_get_cwd (command), ==, ".");
  g_assert_null (sandbox_command_get_environment (command)[0]);
  g_assert_null (sandbox_command_get_stdin (command));
  g_assert_null (sandbox_command_get_limits (command));
  g_assert_null (sandbox_command_get_label (command));
}

static void
test_range (void)
{
  g_autoptr (SandboxCommand) command = sandbox_command_new (true_argv);

  g_test_summary ("A number out of its range is a critical and ignored");

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*timeout_ms*");
  sandbox_command_set_timeout_ms (command, 0);
  g_test_assert_expected_messages ();
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*timeout_ms*");
  sandbox_command_set_timeout_ms (command, (guint) G_MAXINT + 1);
  g_test_assert_expected_messages ();
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*terminal_rows*");
  sandbox_command_set_terminal_rows (command, 65536);
  g_test_assert_expected_messages ();
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*terminal_columns*");
  sandbox_command_set_terminal_columns (command, 0);
  g_test_assert_expected_messages ();

  g_assert_cmpuint (sandbox_command_get_timeout_ms (command), ==, 30000);
  g_assert_cmpuint (sandbox_command_get_terminal_rows (command), ==, 24);
  g_assert_cmpuint (sandbox_command_get_terminal_columns (command), ==, 80);
}

static void
test_freeze (void)
{
  const char *const other[] = { "false", "", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (true_argv);
  g_autoptr (SandboxCommand) frozen = NULL;
  g_autoptr (SandboxCommand) again = NULL;

  g_test_summary ("A frozen copy has the same values, the limits copied too, and stays so");

  value_checks_round_trip (G_OBJECT (command), NULL);
  frozen = sandbox_command_freeze (command);
  g_assert_true (frozen != command);
  value_checks_same (G_OBJECT (command), G_OBJECT (frozen));
  value_checks_frozen (G_OBJECT (frozen), NULL);

  sandbox_command_set_argv (command, other);
  sandbox_limits_set_tasks (sandbox_command_get_limits (command), 7);
  g_assert_cmpstr (sandbox_command_get_argv (frozen)[0], ==, "A=1");
  g_assert_cmpuint (sandbox_limits_get_tasks (sandbox_command_get_limits (frozen)), ==, 0);

  again = sandbox_command_freeze (frozen);
  g_assert_true (again == frozen);
}

static void
test_freeze_for_driver (void)
{
  const char *const argv[] = { "true", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxLimits) own = sandbox_limits_new ();
  g_autoptr (GBytes) input = g_bytes_new_static ("in", 2);
  g_autoptr (SandboxCommand) plain = NULL;
  g_autoptr (SandboxCommand) full = NULL;

  g_test_summary ("A driver's copy has the checked directory, default limits, and a pipe only where no input is given");

  sandbox_limits_set_cpu_seconds (limits, 7);
  plain = sandbox_command_freeze_for_driver (command, "src", limits, NULL, TRUE);
  g_assert_cmpstr (sandbox_command_get_cwd (plain), ==, "src");
  g_assert_cmpuint (sandbox_limits_get_cpu_seconds (sandbox_command_get_limits (plain)), ==, 7);
  g_assert_true (sandbox_command_wants_stdin_pipe (plain));
  g_assert_cmpstr (sandbox_command_get_cwd (command), ==, ".");
  g_assert_null (sandbox_command_get_limits (command));

  sandbox_limits_set_cpu_seconds (own, 3);
  sandbox_limits_set_open_files (limits, 99);
  sandbox_limits_set_tmp_bytes (limits, 4096);
  sandbox_command_set_limits (command, own);
  sandbox_command_set_stdin (command, input);
  full = sandbox_command_freeze_for_driver (command, ".", limits, NULL, TRUE);
  g_assert_cmpuint (sandbox_limits_get_cpu_seconds (sandbox_command_get_limits (full)), ==, 3);
  g_assert_cmpuint (sandbox_limits_get_open_files (sandbox_command_get_limits (full)), ==, 99);
  g_assert_cmpuint (sandbox_limits_get_tmp_bytes (sandbox_command_get_limits (full)), ==, 4096);
  g_assert_false (sandbox_command_wants_stdin_pipe (full));
}

static void
test_arguments_byte_exact (void)
{
  const char *const argv[] = { "--bind", "", "-", "\xff\xfe", " \n\t", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxCommand) frozen = sandbox_command_freeze (command);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 31: a program called like an option, empty arguments and odd bytes stay as they are");

  g_assert_true (sandbox_command_validate (command, &error));
  g_assert_no_error (error);
  g_assert_cmpstrv (sandbox_command_get_argv (frozen), argv);
}

static void
test_no_program (void)
{
  const char *const none[] = { NULL };
  const char *const empty[] = { "", "x", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (none);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A command without a program, or one with an empty name, is INVALID");

  g_assert_false (sandbox_command_validate (command, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);

  sandbox_command_set_argv (command, empty);
  g_assert_false (sandbox_command_validate (command, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
}

static void
test_environment_names (void)
{
  static const char *const good[] = { "A=", "_=1", "a9_Z=x=y", "B=\xff\n" };
  static const char *const bad[] = { "", "=", "=x", "A", "9A=1", "A B=1", "A-B=1", "\xc3\xa9=1", "A\n=1", "A.B=" };
  g_autoptr (GError) error = NULL;

  g_test_summary ("A variable has a name of letters, digits and underscores, and a value");

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      const char *const environment[] = { good[i], NULL };
      g_autoptr (SandboxCommand) command = sandbox_command_new (true_argv);

      sandbox_command_set_environment (command, environment);
      g_assert_true (sandbox_command_validate (command, &error));
      g_assert_no_error (error);
    }

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      const char *const environment[] = { "GOOD=secret", bad[i], NULL };
      g_autoptr (SandboxCommand) command = sandbox_command_new (true_argv);

      sandbox_command_set_environment (command, environment);
      g_assert_false (sandbox_command_validate (command, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_assert_nonnull (strstr (error->message, "entry 1 "));
      g_clear_error (&error);
    }
}

static void
test_environment_secret (void)
{
  const char *const environment[] = { "hunter2", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (true_argv);
  g_autoptr (GError) error = NULL;

  g_test_summary ("The message of a bad variable does not repeat it");

  sandbox_command_set_environment (command, environment);
  g_assert_false (sandbox_command_validate (command, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_assert_null (strstr (error->message, "hunter2"));
}

static void
test_environment_last_wins (void)
{
  const char *const environment[] = { "A=1", "B=2", "A=3", "AB=4", "B=5", NULL };
  const char *const merged[] = { "A=3", "B=5", "AB=4", NULL };
  const char *const base[] = { "PATH=/bin", "A=0", NULL };
  const char *const over[] = { "PATH=/bin", "A=3", "B=5", "AB=4", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (true_argv);
  g_autoptr (SandboxCommand) frozen = NULL;
  g_auto (GStrv) both = sandbox_environment_merge (base, environment);
  g_auto (GStrv) first = sandbox_environment_merge (base, NULL);
  g_auto (GStrv) neither = sandbox_environment_merge (NULL, NULL);

  g_test_summary ("Of several entries for one variable the last one counts, over a base as well");

  sandbox_command_set_environment (command, environment);
  frozen = sandbox_command_freeze (command);
  g_assert_cmpstrv (sandbox_command_get_environment (frozen), merged);
  g_assert_cmpstrv (both, over);
  g_assert_cmpstrv (first, base);
  g_assert_nonnull (neither);
  g_assert_null (neither[0]);
}

/* A command of @count strings of @size bytes, each end included, as arguments or as variables. */
static SandboxCommand *
new_command_of_size (guint    count,
                     gsize    size,
                     gboolean in_environment)
{
  g_autoptr (GPtrArray) strings = g_ptr_array_new_with_free_func (g_free);
  SandboxCommand *command = sandbox_command_new (true_argv);

  for (guint i = 0; i < count; i++)
    {
      char *string = g_strnfill (size - 1, 'x');

      if (in_environment)
        string[1] = '=';
      g_ptr_array_add (strings, string);
    }
  g_ptr_array_add (strings, NULL);

  if (in_environment)
    sandbox_command_set_environment (command, (const char *const *) strings->pdata);
  else
    sandbox_command_set_argv (command, (const char *const *) strings->pdata);

  return command;
}

static void
test_long_argument (void)
{
  g_test_summary ("Case 33: one argument or variable with its end is 128 KiB at the most");

  for (int in_environment = 0; in_environment < 2; in_environment++)
    {
      g_autoptr (SandboxCommand) fits = new_command_of_size (1, 131072, in_environment);
      g_autoptr (SandboxCommand) long_one = new_command_of_size (1, 131073, in_environment);
      g_autoptr (GError) error = NULL;

      g_assert_true (sandbox_command_validate (fits, &error));
      g_assert_no_error (error);
      g_assert_false (sandbox_command_validate (long_one, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
      g_assert_nonnull (strstr (error->message, "131072"));
    }
}

static void
test_long_arguments (void)
{
  g_test_summary ("Case 33: all arguments and variables with their ends and pointers are 2 MiB at the most");

  /* 16 strings of 131064 bytes and a pointer are 2 MiB; "true" stands before the variables. */
  for (int in_environment = 0; in_environment < 2; in_environment++)
    {
      g_autoptr (SandboxCommand) fits = new_command_of_size (16, 131064 - in_environment, in_environment);
      g_autoptr (SandboxCommand) over = new_command_of_size (16, 131065, in_environment);
      g_autoptr (GError) error = NULL;

      g_assert_true (sandbox_command_validate (fits, &error));
      g_assert_no_error (error);
      g_assert_false (sandbox_command_validate (over, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
      g_assert_nonnull (strstr (error->message, "2097152"));
    }
}

static void
test_many_arguments (void)
{
  g_autoptr (SandboxCommand) command = new_command_of_size (3000, 1001, FALSE);
  g_autoptr (SandboxCommand) tiny = new_command_of_size (300000, 1, FALSE);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 33: 3000 arguments of 1000 bytes are too much, and so are 300000 empty ones");

  g_assert_false (sandbox_command_validate (command, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);

  sandbox_command_set_argv (command, true_argv);
  sandbox_command_set_environment (command, NULL);
  g_assert_true (sandbox_command_validate (command, &error));
  g_assert_no_error (error);

  g_assert_false (sandbox_arguments_validate (sandbox_command_get_argv (tiny), NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/command/defaults", test_defaults);
  g_test_add_func ("/command/round-trip", test_round_trip);
  g_test_add_func ("/command/reset", test_reset);
  g_test_add_func ("/command/range", test_range);
  g_test_add_func ("/command/freeze", test_freeze);
  g_test_add_func ("/command/freeze-for-driver", test_freeze_for_driver);
  g_test_add_func ("/command/arguments-byte-exact", test_arguments_byte_exact);
  g_test_add_func ("/command/no-program", test_no_program);
  g_test_add_func ("/command/environment-names", test_environment_names);
  g_test_add_func ("/command/environment-secret", test_environment_secret);
  g_test_add_func ("/command/environment-last-wins", test_environment_last_wins);
  g_test_add_func ("/command/long-argument", test_long_argument);
  g_test_add_func ("/command/long-arguments", test_long_arguments);
  g_test_add_func ("/command/many-arguments", test_many_arguments);

  return g_test_run ();
}
