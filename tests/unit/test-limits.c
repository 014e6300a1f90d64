/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-limits-private.h"
#include "value-checks.h"

static void
test_defaults (void)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();

  g_test_summary ("A new object has no limit but the sizes of /tmp and /dev/shm");

  value_checks_defaults (G_OBJECT (limits));
  g_assert_cmpuint (sandbox_limits_get_tmp_bytes (limits), ==, 256 * 1024 * 1024);
  g_assert_cmpuint (sandbox_limits_get_shm_bytes (limits), ==, 16 * 1024 * 1024);
  g_assert_cmpuint (sandbox_limits_get_memory_bytes (limits), ==, 0);
}

static void
test_round_trip (void)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();

  g_test_summary ("Each limit is read as it was set, up to its maximum, and notified once");

  value_checks_round_trip (G_OBJECT (limits), NULL);
  g_assert_cmpuint (sandbox_limits_get_cpu_seconds (limits), ==, G_MAXINT64);
  g_assert_cmpuint (sandbox_limits_get_cpu_percent (limits), ==, G_MAXINT);
}

static void
test_range (void)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();

  g_test_summary ("What would be no limit for the kernel is a critical and ignored");

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*G_MAXINT64*");
  sandbox_limits_set_file_size_bytes (limits, G_MAXUINT64);
  g_test_assert_expected_messages ();
  g_assert_cmpuint (sandbox_limits_get_file_size_bytes (limits), ==, 0);
}

static void
test_freeze (void)
{
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxLimits) frozen = NULL;
  g_autoptr (SandboxLimits) again = NULL;

  g_test_summary ("A frozen copy has the same limits, stays so, and is not copied again");

  value_checks_round_trip (G_OBJECT (limits), NULL);
  frozen = sandbox_limits_freeze (limits);
  g_assert_true (frozen != limits);
  value_checks_same (G_OBJECT (limits), G_OBJECT (frozen));
  value_checks_frozen (G_OBJECT (frozen), NULL);

  sandbox_limits_set_tasks (limits, 7);
  g_assert_cmpuint (sandbox_limits_get_tasks (frozen), ==, G_MAXINT64);

  again = sandbox_limits_freeze (frozen);
  g_assert_true (again == frozen);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/limits/defaults", test_defaults);
  g_test_add_func ("/limits/round-trip", test_round_trip);
  g_test_add_func ("/limits/range", test_range);
  g_test_add_func ("/limits/freeze", test_freeze);

  return g_test_run ();
}
