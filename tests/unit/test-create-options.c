/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-create-options-private.h"
#include "sandbox-error.h"
#include "sandbox-state-private.h"
#include "value-checks.h"

static void
test_defaults (void)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("New options deny the network, have no profile of their own, and are valid");

  value_checks_defaults (G_OBJECT (options));
  g_assert_null (sandbox_create_options_get_network (options));
  g_assert_null (sandbox_create_options_get_profile (options));
  g_assert_null (sandbox_create_options_get_workspace_path (options));
  g_assert_null (sandbox_create_options_get_template_key (options));
  g_assert_null (sandbox_create_options_get_state (options));
  g_assert_cmpint (sandbox_create_options_get_workspace_mode (options), ==, SANDBOX_WORKSPACE_MODE_AUTO);
  g_assert_null (sandbox_create_options_get_labels (options));
  g_assert_cmpuint (sandbox_create_options_get_max_file_bytes (options), ==, 1048576);
  g_assert_true (sandbox_create_options_validate (options, &error));
  g_assert_no_error (error);
}

static void
test_round_trip (void)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  g_test_summary ("Each property is read as it was set and notified once");

  value_checks_round_trip (G_OBJECT (options), NULL);
}

static void
test_range (void)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  g_test_summary ("A file limit of 0 is a critical and ignored");

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*max_file_bytes*");
  sandbox_create_options_set_max_file_bytes (options, 0);
  g_test_assert_expected_messages ();
  value_checks_defaults (G_OBJECT (options));
}

static void
test_freeze (void)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxCreateOptions) frozen = NULL;
  g_autoptr (SandboxCreateOptions) again = NULL;

  g_test_summary ("A frozen copy has copies of policy and profile, and nothing of it can be changed");

  value_checks_round_trip (G_OBJECT (options), NULL);
  frozen = sandbox_create_options_freeze (options);
  g_assert_true (frozen != options);
  value_checks_same (G_OBJECT (options), G_OBJECT (frozen));
  value_checks_frozen (G_OBJECT (frozen), NULL);

  sandbox_profile_set_guest_uid (sandbox_create_options_get_profile (options), 5);
  sandbox_network_policy_set_max_requests (sandbox_create_options_get_network (options), 5);
  g_assert_cmpuint (sandbox_profile_get_guest_uid (sandbox_create_options_get_profile (frozen)), ==, 1000);
  g_assert_cmpuint (sandbox_network_policy_get_max_requests (sandbox_create_options_get_network (frozen)), ==, 16);

  again = sandbox_create_options_freeze (frozen);
  g_assert_true (again == frozen);
}

static void
test_workspace_path (void)
{
  static const char *const bad[] = { "", ".", "relative", "./x", "~/x", "a\nb" };
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("A workspace path is absolute; the message shows what it was, harmless");

  sandbox_create_options_set_workspace_path (options, "/srv/project");
  g_assert_true (sandbox_create_options_validate (options, &error));
  g_assert_no_error (error);

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      sandbox_create_options_set_workspace_path (options, bad[i]);
      g_assert_false (sandbox_create_options_validate (options, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_assert_null (strchr (error->message, '\n'));
      g_clear_error (&error);
    }
}

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde0"

static void
test_template_key (void)
{
  static const char *const bad[] = {
    "",
    "../../x",
    "/abs",
    "0123456789abcdef",
    KEY "0",
    "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n",
  };
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("The key of a template is 64 digits and nothing else");

  sandbox_create_options_set_template_key (options, KEY);
  g_assert_true (sandbox_create_options_validate (options, &error));
  g_assert_no_error (error);

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_test_message ("key %u", i);
      sandbox_create_options_set_template_key (options, bad[i]);
      g_assert_false (sandbox_create_options_validate (options, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_clear_error (&error);
    }
}

static void
test_state (void)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxState) state = sandbox_state_new ("memory", OTHER_KEY, KEY, NULL);
  g_autoptr (SandboxState) without = sandbox_state_new ("memory", OTHER_KEY, NULL, NULL);
  g_autoptr (SandboxState) empty = g_object_new (SANDBOX_TYPE_STATE, NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A state goes with its own template or none, and one that nobody captured is refused");

  sandbox_create_options_set_state (options, state);
  g_assert_true (sandbox_create_options_validate (options, &error));
  g_assert_no_error (error);
  sandbox_create_options_set_template_key (options, KEY);
  g_assert_true (sandbox_create_options_validate (options, &error));
  g_assert_no_error (error);

  sandbox_create_options_set_template_key (options, OTHER_KEY);
  g_assert_false (sandbox_create_options_validate (options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STATE_MISMATCH);
  g_clear_error (&error);
  sandbox_create_options_set_state (options, without);
  g_assert_false (sandbox_create_options_validate (options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STATE_MISMATCH);
  g_clear_error (&error);

  sandbox_create_options_set_template_key (options, NULL);
  sandbox_create_options_set_state (options, empty);
  g_assert_false (sandbox_create_options_validate (options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
}

static void
test_workspace_excludes (void)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxState) state = sandbox_state_new ("memory", OTHER_KEY, KEY, NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A directory of the host goes with no template, no state and no mode; the message names which");

  sandbox_create_options_set_workspace_path (options, "/srv/project");
  sandbox_create_options_set_template_key (options, KEY);
  g_assert_false (sandbox_create_options_validate (options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "template-key"));
  g_clear_error (&error);

  sandbox_create_options_set_template_key (options, NULL);
  sandbox_create_options_set_state (options, state);
  g_assert_false (sandbox_create_options_validate (options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "state"));
  g_clear_error (&error);

  sandbox_create_options_set_state (options, NULL);
  sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_COPY);
  g_assert_false (sandbox_create_options_validate (options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "workspace-mode"));
  g_clear_error (&error);

  sandbox_create_options_set_workspace_path (options, NULL);
  g_assert_true (sandbox_create_options_validate (options, &error));
  g_assert_no_error (error);
}

static void
test_labels_floating (void)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  GVariant *labels = g_variant_new_parsed ("@a{ss} {'job': '7'}");

  g_test_summary ("A floating value is taken over, another type is a critical");

  sandbox_create_options_set_labels (options, labels);
  g_assert_false (g_variant_is_floating (labels));
  g_assert_true (sandbox_create_options_get_labels (options) == labels);
  sandbox_create_options_set_labels (options, labels);
  g_assert_true (sandbox_create_options_get_labels (options) == labels);

  {
    g_autoptr (GVariant) other = g_variant_ref_sink (g_variant_new_string ("job"));

    g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*a{ss}*");
    sandbox_create_options_set_labels (options, other);
    g_test_assert_expected_messages ();
  }

  g_assert_true (sandbox_create_options_get_labels (options) == labels);
  sandbox_create_options_set_labels (options, NULL);
  g_assert_null (sandbox_create_options_get_labels (options));
}

/* Labels with a name and a value of these sizes, @count times. */
static GVariant *
new_labels (guint count,
            gsize name_size,
            gsize value_size)
{
  GVariantBuilder  builder;
  g_autofree char *value = g_strnfill (value_size, 'v');

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
  for (guint i = 0; i < count; i++)
    {
      g_autofree char *name = g_strdup_printf ("%0*u", (int) name_size, i);

      g_variant_builder_add (&builder, "{ss}", name, value);
    }

  return g_variant_builder_end (&builder);
}

static void
test_labels_bounds (void)
{
  static const struct
  {
    guint count;
    gsize name_size;
    gsize value_size;
    int   code; /* -1 is right */
  } rows[] = {
    { 0, 1, 1, -1 },
    { 64, 128, 1024, -1 },
    { 65, 2, 0, SANDBOX_ERROR_LIMIT },
    { 1, 129, 0, SANDBOX_ERROR_LIMIT },
    { 1, 1, 1025, SANDBOX_ERROR_LIMIT },
  };
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("Labels are bounded in number and size");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_test_message ("row %u", i);
      sandbox_create_options_set_labels (options, new_labels (rows[i].count, rows[i].name_size, rows[i].value_size));
      g_assert_true (sandbox_create_options_validate (options, &error) == (rows[i].code == -1));
      if (rows[i].code == -1)
        g_assert_no_error (error);
      else
        g_assert_error (error, SANDBOX_ERROR, rows[i].code);
      g_clear_error (&error);
    }
}

static void
test_labels_names (void)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("A label has a name, and only one label has it");

  sandbox_create_options_set_labels (options, g_variant_new_parsed ("{'': 'x'}"));
  g_assert_false (sandbox_create_options_validate (options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);

  sandbox_create_options_set_labels (options, g_variant_new_parsed ("{'a': 'x', 'b': 'x', 'a': 'y'}"));
  g_assert_false (sandbox_create_options_validate (options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
}

static void
test_profile (void)
{
  const char *const bad[] = { "no name", NULL };
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("A profile that makes no sense makes the options invalid");

  sandbox_create_options_set_profile (options, profile);
  g_assert_true (sandbox_create_options_validate (options, &error));
  g_assert_no_error (error);

  sandbox_profile_set_environment (profile, bad);
  g_assert_false (sandbox_create_options_validate (options, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/create-options/defaults", test_defaults);
  g_test_add_func ("/create-options/round-trip", test_round_trip);
  g_test_add_func ("/create-options/range", test_range);
  g_test_add_func ("/create-options/freeze", test_freeze);
  g_test_add_func ("/create-options/workspace-path", test_workspace_path);
  g_test_add_func ("/create-options/template-key", test_template_key);
  g_test_add_func ("/create-options/state", test_state);
  g_test_add_func ("/create-options/workspace-excludes", test_workspace_excludes);
  g_test_add_func ("/create-options/labels-floating", test_labels_floating);
  g_test_add_func ("/create-options/labels-bounds", test_labels_bounds);
  g_test_add_func ("/create-options/labels-names", test_labels_names);
  g_test_add_func ("/create-options/profile", test_profile);

  return g_test_run ();
}
