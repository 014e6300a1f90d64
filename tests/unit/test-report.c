/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <json-glib/json-glib.h>

#include "sandbox-report-private.h"
#include "sandbox-report-step-private.h"
#include "value-checks.h"

static void
test_defaults (void)
{
  g_autoptr (SandboxReport) bare = g_object_new (SANDBOX_TYPE_REPORT, NULL);
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_FULL);
  g_autoptr (SandboxReportStep) step = g_object_new (SANDBOX_TYPE_REPORT_STEP, NULL);

  g_test_summary ("A report that nobody filled promises nothing, a step that nobody filled did not work");

  value_checks_defaults (G_OBJECT (bare));
  value_checks_defaults (G_OBJECT (step));
  g_assert_cmpint (sandbox_report_get_grade (bare), ==, SANDBOX_GRADE_UNAVAILABLE);
  g_assert_cmpint (sandbox_report_get_restrictions (bare), ==, SANDBOX_RESTRICTIONS_NONE);
  g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_FULL);
  g_assert_nonnull (sandbox_report_get_gaps (report));
  g_assert_null (sandbox_report_get_gaps (report)[0]);
  g_assert_cmpuint (g_list_model_get_n_items (sandbox_report_get_steps (report)), ==, 0);
  g_assert_true (g_list_model_get_item_type (sandbox_report_get_steps (report)) == SANDBOX_TYPE_REPORT_STEP);
  g_assert_false (sandbox_report_step_get_ok (step));
  g_assert_cmpstr (sandbox_report_step_get_name (step), ==, "");
}

static void
test_round_trip (void)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_UNAVAILABLE);
  g_autoptr (SandboxReportStep) step = sandbox_report_step_new ("fork", FALSE);

  g_test_summary ("Each property is read as it was set and notified once");

  value_checks_round_trip (G_OBJECT (report), NULL);
  value_checks_round_trip (G_OBJECT (step), NULL);
  g_assert_cmpint (sandbox_report_get_restrictions (report),
                   ==,
                   SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_WRITE_CONTAINED |
                       SANDBOX_RESTRICTIONS_SECRETS_HIDDEN | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED);
}

static void
test_gaps (void)
{
  const char *const both[] = { "no cgroups", "no idmapped mounts", NULL };
  const char *const one[] = { "other", NULL };
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_PARTIAL);
  guint n_notified = 0;

  g_test_summary ("Gaps are added one by one or set together");

  g_signal_connect (report, "notify::gaps", G_CALLBACK (value_checks_count_cb), &n_notified);
  sandbox_report_add_gap (report, both[0]);
  sandbox_report_add_gap (report, both[1]);
  g_assert_cmpstrv (sandbox_report_get_gaps (report), both);
  g_assert_cmpuint (n_notified, ==, 2);

  sandbox_report_set_gaps (report, one);
  g_assert_cmpstrv (sandbox_report_get_gaps (report), one);
  sandbox_report_set_gaps (report, NULL);
  g_assert_null (sandbox_report_get_gaps (report)[0]);
}

static void
test_steps (void)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_PARTIAL);
  g_autoptr (SandboxReportStep) step = sandbox_report_step_new ("fork", FALSE);
  g_autoptr (SandboxReportStep) kept = NULL;

  g_test_summary ("A report keeps a frozen copy of each step, in their order");

  value_checks_round_trip (G_OBJECT (step), NULL);
  sandbox_report_add_step (report, step);
  sandbox_report_step_set_name (step, "mount");
  sandbox_report_add_step (report, step);
  sandbox_report_step_set_name (step, "changed");

  g_assert_cmpuint (g_list_model_get_n_items (sandbox_report_get_steps (report)), ==, 2);
  kept = g_list_model_get_item (sandbox_report_get_steps (report), 1);
  g_assert_true (kept != step);
  g_assert_cmpstr (sandbox_report_step_get_name (kept), ==, "mount");
  sandbox_report_step_set_name (step, "mount");
  value_checks_same (G_OBJECT (step), G_OBJECT (kept));
  value_checks_frozen (G_OBJECT (kept), NULL);
}

static void
test_freeze (void)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_UNAVAILABLE);
  g_autoptr (SandboxReportStep) step = sandbox_report_step_new ("fork", TRUE);
  g_autoptr (SandboxReport) frozen = NULL;
  g_autoptr (SandboxReport) again = NULL;

  g_test_summary ("A frozen copy has the same values and steps, and stays so");

  value_checks_round_trip (G_OBJECT (report), NULL);
  sandbox_report_add_step (report, step);
  frozen = sandbox_report_freeze (report);
  g_assert_true (frozen != report);
  value_checks_same (G_OBJECT (report), G_OBJECT (frozen));
  value_checks_frozen (G_OBJECT (frozen), NULL);

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*frozen*");
  sandbox_report_add_gap (frozen, "gap");
  g_test_assert_expected_messages ();
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*frozen*");
  sandbox_report_add_step (frozen, step);
  g_test_assert_expected_messages ();

  sandbox_report_add_step (report, step);
  g_assert_cmpuint (g_list_model_get_n_items (sandbox_report_get_steps (frozen)), ==, 1);

  again = sandbox_report_freeze (frozen);
  g_assert_true (again == frozen);
}

static void
test_json (void)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_PARTIAL);
  g_autoptr (SandboxReportStep) good = sandbox_report_step_new ("fork", TRUE);
  g_autoptr (SandboxReportStep) bad = sandbox_report_step_new ("user \"namespaces\"", FALSE);
  g_autofree char *json = NULL;

  g_test_summary ("The JSON has every field, null for what is unset");

  sandbox_report_set_restrictions (report, SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_SECRETS_HIDDEN);
  sandbox_report_add_gap (report, "no cgroups");
  sandbox_report_add_step (report, good);
  sandbox_report_step_set_evidence (bad, "unshare: EPERM");
  sandbox_report_step_set_consequence (bad, "one bwrap per command");
  sandbox_report_step_set_remedy (bad, "set kernel.unprivileged_userns_clone");
  sandbox_report_add_step (report, bad);

  json = sandbox_report_to_json (report);
  g_assert_cmpstr (json, ==,
                   "{\"grade\":\"partial\","
                   "\"restrictions\":[\"network-denied\",\"secrets-hidden\"],"
                   "\"gaps\":[\"no cgroups\"],"
                   "\"reason\":null,"
                   "\"steps\":["
                   "{\"name\":\"fork\",\"ok\":true,\"evidence\":null,\"consequence\":null,\"remedy\":null},"
                   "{\"name\":\"user \\\"namespaces\\\"\",\"ok\":false,\"evidence\":\"unshare: EPERM\","
                   "\"consequence\":\"one bwrap per command\","
                   "\"remedy\":\"set kernel.unprivileged_userns_clone\"}]}");
}

static void
test_json_bytes (void)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_UNAVAILABLE);
  g_autoptr (SandboxReportStep) step = sandbox_report_step_new ("bwrap", FALSE);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *json = NULL;
  JsonObject      *object;

  g_test_summary ("Evidence that is not UTF-8 or has control characters still gives JSON");

  sandbox_report_set_reason (report, "bad \xff byte");
  sandbox_report_step_set_evidence (step, "a\n\x01\xfe");
  sandbox_report_add_step (report, step);
  json = sandbox_report_to_json (report);

  g_assert_true (g_utf8_validate (json, -1, NULL));
  g_assert_true (json_parser_load_from_data (parser, json, -1, &error));
  g_assert_no_error (error);
  object = json_node_get_object (json_parser_get_root (parser));
  g_assert_cmpstr (json_object_get_string_member (object, "reason"), ==, "bad \357\277\275 byte");
  g_assert_cmpstr (json_object_get_string_member (object, "grade"), ==, "unavailable");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/report/defaults", test_defaults);
  g_test_add_func ("/report/round-trip", test_round_trip);
  g_test_add_func ("/report/gaps", test_gaps);
  g_test_add_func ("/report/steps", test_steps);
  g_test_add_func ("/report/freeze", test_freeze);
  g_test_add_func ("/report/json", test_json);
  g_test_add_func ("/report/json-bytes", test_json_bytes);

  return g_test_run ();
}
