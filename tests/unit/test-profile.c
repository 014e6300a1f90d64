/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-error.h"
#include "sandbox-profile-private.h"
#include "value-checks.h"

static void
test_defaults (void)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("A new profile has the documented defaults");

  value_checks_defaults (G_OBJECT (profile));
  g_assert_cmpuint (sandbox_profile_get_guest_uid (profile), ==, 1000);
  g_assert_cmpuint (sandbox_profile_get_guest_gid (profile), ==, 1000);
  g_assert_cmpint (sandbox_profile_get_required (profile), ==, SANDBOX_RESTRICTIONS_NONE);
  g_assert_nonnull (sandbox_profile_get_environment (profile));
}

static void
test_round_trip (void)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("Each property is read as it was set and notified once");

  value_checks_round_trip (G_OBJECT (profile), NULL);
}

static void
test_range (void)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("A user or group above 65535 is a critical and ignored");

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*guest_uid*");
  sandbox_profile_set_guest_uid (profile, 65536);
  g_test_assert_expected_messages ();
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*guest_gid*");
  sandbox_profile_set_guest_gid (profile, (guint) -1);
  g_test_assert_expected_messages ();
  value_checks_defaults (G_OBJECT (profile));

  sandbox_profile_set_guest_uid (profile, 0);
  g_assert_cmpuint (sandbox_profile_get_guest_uid (profile), ==, 0);
}

static void
test_freeze (void)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxProfile) frozen = NULL;
  g_autoptr (SandboxProfile) again = NULL;

  g_test_summary ("A frozen copy has the same values, the limits copied too, and stays so");

  value_checks_round_trip (G_OBJECT (profile), NULL);
  frozen = sandbox_profile_freeze (profile);
  g_assert_true (frozen != profile);
  value_checks_same (G_OBJECT (profile), G_OBJECT (frozen));
  value_checks_frozen (G_OBJECT (frozen), NULL);

  sandbox_profile_set_guest_uid (profile, 1);
  g_assert_cmpuint (sandbox_profile_get_guest_uid (frozen), ==, 65535);

  again = sandbox_profile_freeze (frozen);
  g_assert_true (again == frozen);
}

static void
test_environment (void)
{
  const char *const twice[] = { "A=1", "A=2", NULL };
  const char *const once[] = { "A=2", NULL };
  const char *const bad[] = { "A=1", "no name", NULL };
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxProfile) frozen = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The environment follows the rules of that of a command");

  sandbox_profile_set_environment (profile, twice);
  g_assert_true (sandbox_profile_validate (profile, &error));
  g_assert_no_error (error);
  frozen = sandbox_profile_freeze (profile);
  g_assert_cmpstrv (sandbox_profile_get_environment (frozen), once);

  sandbox_profile_set_environment (profile, bad);
  g_assert_false (sandbox_profile_validate (profile, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/profile/defaults", test_defaults);
  g_test_add_func ("/profile/round-trip", test_round_trip);
  g_test_add_func ("/profile/range", test_range);
  g_test_add_func ("/profile/freeze", test_freeze);
  g_test_add_func ("/profile/environment", test_environment);

  return g_test_run ();
}
