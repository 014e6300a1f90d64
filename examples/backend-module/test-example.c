/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A host of the module, which is found by SANDBOX_MODULE_PATH. */

#include <sandbox-glib.h>

static SandboxBackend *
make_backend (void)
{
  g_autoptr (GError) error = NULL;
  SandboxBackend *backend = NULL;

  backend = sandbox_registry_create_backend (sandbox_registry_get_default (), "example", NULL, &error);
  g_assert_no_error (error);

  return backend;
}

static SandboxHandle *
make_sandbox (void)
{
  g_autoptr (SandboxBackend) backend = make_backend ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;
  SandboxHandle *handle = sandbox_backend_create (backend, options, NULL, &error);

  g_assert_no_error (error);

  return handle;
}

static void
test_probe (void)
{
  g_autoptr (SandboxBackend) backend = make_backend ();
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (GError) error = NULL;

  report = sandbox_backend_probe (backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_PARTIAL);
}

static void
test_files (void)
{
  g_autoptr (SandboxHandle) handle = make_sandbox ();
  SandboxSession *session = sandbox_handle_get_session (handle);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  g_assert_true (sandbox_session_write_text (session, "notes.txt", "hello", NULL, &error));
  g_assert_no_error (error);
  text = sandbox_session_read_text (session, "/workspace/notes.txt", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (text, ==, "hello");

  g_assert_true (sandbox_session_remove_path (session, "notes.txt", NULL, &error));
  g_assert_no_error (error);
  g_assert_null (sandbox_session_read_text (session, "notes.txt", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static void
test_refusals (void)
{
  static const char *const argv[] = { "true", NULL };
  g_autoptr (SandboxBackend) backend = make_backend ();
  g_autoptr (SandboxHandle) handle = make_sandbox ();
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_all ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_assert_null (sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);

  sandbox_create_options_set_network (options, policy);
  g_assert_null (sandbox_backend_create (backend, options, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
}

/* What the example cannot promise, it must not seem to accept. */
static void
test_promises (void)
{
  const SandboxRestrictions kept = SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_WRITE_CONTAINED |
                                   SANDBOX_RESTRICTIONS_SECRETS_HIDDEN;
  g_autoptr (SandboxBackend) backend = make_backend ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  sandbox_create_options_set_required (options, kept);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (handle);

  sandbox_create_options_set_required (options, kept | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED);
  g_assert_null (sandbox_backend_create (backend, options, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (g_strrstr (error->message, "process-contained"));
  g_clear_error (&error);

  sandbox_create_options_set_required (options, SANDBOX_RESTRICTIONS_NONE);
  sandbox_create_options_set_profile (options, profile);
  g_assert_null (sandbox_backend_create (backend, options, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_null (sandbox_backend_probe (backend, profile, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/example/probe", test_probe);
  g_test_add_func ("/example/files", test_files);
  g_test_add_func ("/example/refusals", test_refusals);
  g_test_add_func ("/example/promises", test_promises);

  return g_test_run ();
}
