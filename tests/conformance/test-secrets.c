/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a host gives to a session in confidence is nowhere but where it belongs: not on disk, not in a state, a message, a log
 * or a property that somebody could print.
 */
#include "../common/test-sandbox.h"

/* Each in a place of its own, so that a find tells which it was. Never as one word of this program's output. */
#define SECRET_HEADER "s3cret-of-a-header"
#define SECRET_VARIABLE "s3cret-of-a-variable"
#define SECRET_INPUT "s3cret-of-the-input"
#define SECRET "s3cret-of-"

static void
assert_clean (const char *what,
              const char *text,
              gsize       size)
{
  const char *found = text != NULL ? memmem (text, size, SECRET, strlen (SECRET)) : NULL;

  /* Without the secret in the message, which is looked through as well. */
  if (found != NULL)
    g_error ("%s has a secret %td bytes in", what, found - text);
}

static int
look_into_cb (const char        *path,
              const struct stat *info,
              int                kind,
              struct FTW        *place)
{
  g_autofree char *text = NULL;
  gsize            size = 0;

  assert_clean ("A name on disk", path, strlen (path));
  if (kind == FTW_F && S_ISREG (info->st_mode))
    {
      g_assert_true (g_file_get_contents (path, &text, &size, NULL));
      assert_clean (path, text, size);
    }

  return 0;
}

static void look_at_object (GObject    *object,
                            GHashTable *seen);

static void
look_at_value (const char   *name,
               const GValue *value,
               GHashTable   *seen)
{
  g_autofree char *text = g_strdup_value_contents (value);

  assert_clean (name, text, strlen (text));
  if (G_VALUE_HOLDS_OBJECT (value) && g_value_get_object (value) != NULL)
    look_at_object (g_value_get_object (value), seen);
  else if (G_VALUE_HOLDS (value, G_TYPE_BYTES) && g_value_get_boxed (value) != NULL)
    {
      gsize       size = 0;
      const char *data = g_bytes_get_data (g_value_get_boxed (value), &size);

      assert_clean (name, data, size);
    }
  else if (G_VALUE_HOLDS (value, G_TYPE_STRV) && g_value_get_boxed (value) != NULL)
    {
      g_autofree char *joined = g_strjoinv (" ", g_value_get_boxed (value));

      assert_clean (name, joined, strlen (joined));
    }
}

/* Every property that can be read, and of every object that is found in one */
static void
look_at_object (GObject    *object,
                GHashTable *seen)
{
  g_autofree GParamSpec **properties = NULL;
  guint                   n_properties = 0;

  if (!g_hash_table_add (seen, object))
    return;

  properties = g_object_class_list_properties (G_OBJECT_GET_CLASS (object), &n_properties);
  for (guint i = 0; i < n_properties; i++)
    {
      g_auto (GValue) value = G_VALUE_INIT;

      if ((properties[i]->flags & G_PARAM_READABLE) == 0)
        continue;
      g_value_init (&value, properties[i]->value_type);
      g_object_get_property (object, properties[i]->name, &value);
      look_at_value (properties[i]->name, &value, seen);
    }
}

static void
look_at_error (GError **error)
{
  g_assert_nonnull (*error);
  assert_clean ("A message", (*error)->message, strlen ((*error)->message));
  g_clear_error (error);
}

static SandboxCommand *
new_secret_command (const char *script)
{
  const char *const environment[] = { "TOKEN=" SECRET_VARIABLE, NULL };
  SandboxCommand   *command = test_command_new ("sh", "-c", script, NULL);
  g_autoptr (GBytes) input = g_bytes_new_static (SECRET_INPUT, strlen (SECRET_INPUT));

  sandbox_command_set_environment (command, environment);
  sandbox_command_set_stdin (command, input);

  return command;
}

static SandboxNetworkPolicy *
new_secret_policy (void)
{
  SandboxNetworkPolicy *policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (GVariant) headers = NULL;
  g_autoptr (GError) error = NULL;
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
  g_variant_builder_add (&builder, "{ss}", "Authorization", "Bearer " SECRET_HEADER);
  headers = g_variant_ref_sink (g_variant_builder_end (&builder));
  sandbox_network_policy_add_origin (policy, "https://example.org", headers, &error);
  g_assert_no_error (error);
  /* One that is refused: neither the header nor its value is told. */
  g_assert_false (sandbox_network_policy_add_origin (policy, "https://" SECRET_HEADER "@example.org", headers, &error));
  look_at_error (&error);

  return policy;
}

/* What a command has of a policy: its doors. */
static void
look_at_network (SandboxSession *session)
{
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "env; cat /proc/self/mountinfo /proc/net/unix; ls -laR /run; find / -type s 2>/dev/null; true", NULL);
  g_autoptr (SandboxNetworkPolicy) nothing = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  result = sandbox_session_run (session, command, NULL, &error);
  g_assert_no_error (error);
  text = sandbox_result_dup_stdout_text (result);
  g_assert_nonnull (strstr (text, SANDBOX_GATEWAY_PATH));
  assert_clean ("A command", text, strlen (text));
  g_assert_true (sandbox_session_set_network_policy (session, nothing, NULL, &error));
  g_assert_no_error (error);
}

/* What may go wrong with such a command and such a policy */
static void
look_at_refusals (SandboxBackend *backend,
                  SandboxSession *session)
{
  g_autoptr (SandboxNetworkPolicy) policy = new_secret_policy ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxCommand) command = new_secret_command ("true");
  g_autoptr (SandboxCommand) slow = new_secret_command ("sleep 100");
  g_autoptr (SandboxCommand) failing = new_secret_command ("exit 3");
  g_autoptr (SandboxCommand) missing = test_command_new ("no-such-program", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char  *plan = NULL;
  const char *const environment[] = { "TOKEN=" SECRET_VARIABLE, NULL };
  const char *const bad[] = { "TOK\nEN=" SECRET_VARIABLE, "=" SECRET_VARIABLE, NULL };

  sandbox_create_options_set_network (options, policy);
  sandbox_create_options_set_required (options, SANDBOX_RESTRICTIONS_NETWORK_DENIED);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_null (handle);
  look_at_error (&error);
  sandbox_create_options_set_required (options, SANDBOX_RESTRICTIONS_NONE);
  /* where there is a gateway it is put in force, and else refused: both say nothing of the headers */
  if (sandbox_session_set_network_policy (session, policy, NULL, &error))
    look_at_network (session);
  else
    look_at_error (&error);

  plan = sandbox_backend_plan (backend, command, options, &error);
  g_assert_no_error (error);
  assert_clean ("A plan", plan, strlen (plan));

  sandbox_command_set_environment (missing, environment);
  result = sandbox_session_run (session, missing, NULL, &error);
  look_at_error (&error);
  sandbox_command_set_environment (missing, bad);
  result = sandbox_session_run (session, missing, NULL, &error);
  look_at_error (&error);

  result = sandbox_session_run (session, failing, NULL, &error);
  g_assert_no_error (error);
  sandbox_result_check (result, &error);
  look_at_error (&error);
  g_clear_object (&result);
  sandbox_command_set_timeout_ms (slow, 100);
  result = sandbox_session_run (session, slow, NULL, &error);
  g_assert_no_error (error);
  sandbox_result_check (result, &error);
  look_at_error (&error);
}

/* The host; what it prints and logs is looked through by the test. */
static void
test_host (void)
{
  g_autofree char *directory = g_dir_make_tmp ("secrets-XXXXXX", NULL);
  g_autofree char *place = g_build_filename (directory, "state", NULL);
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxTemplate) template = NULL;
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxCommand) command = new_secret_command ("test \"$(cat)\" = " SECRET_INPUT " && test -n \"$TOKEN\"");
  g_autoptr (SandboxCommand) quiet = test_command_new ("sh", "-c", "test -n \"$TOKEN\"; sleep 100", NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char  *json = NULL;
  g_autofree char  *described = NULL;
  const char *const environment[] = { "TOKEN=" SECRET_VARIABLE, NULL };

  backend = sandbox_registry_create_backend (registry, "bubblewrap", place, &error);
  g_assert_no_error (error);
  template = sandbox_backend_prewarm (backend, "t", NULL, NULL, &error);
  g_assert_no_error (error);
  sandbox_create_options_set_template_key (options, sandbox_template_get_key (template));
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);

  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_no_error (error);
  test_assert_exited (result, 0);
  sandbox_command_set_environment (quiet, environment);
  process = sandbox_session_spawn (sandbox_handle_get_session (handle), quiet, NULL, &error);
  g_assert_no_error (error);

  /* While a command has it, and when none does */
  nftw (place, look_into_cb, 16, FTW_PHYS);
  look_at_object (G_OBJECT (handle), seen);
  look_at_object (G_OBJECT (backend), seen);
  look_at_object (G_OBJECT (process), seen);
  look_at_object (G_OBJECT (result), seen);
  look_at_object (G_OBJECT (template), seen);
  look_at_object (G_OBJECT (registry), seen);
  sandbox_process_kill (process, &error);
  g_assert_no_error (error);
  sandbox_process_wait (process, NULL, &error);
  g_assert_no_error (error);

  look_at_refusals (backend, sandbox_handle_get_session (handle));
  report = sandbox_backend_probe (backend, NULL, NULL, &error);
  g_assert_no_error (error);
  described = sandbox_report_to_json (report);
  assert_clean ("A report", described, strlen (described));

  state = sandbox_handle_capture_state (handle, &error);
  g_assert_no_error (error);
  json = sandbox_state_to_json (state);
  assert_clean ("A state", json, strlen (json));
  sandbox_handle_stop (handle, NULL, &error);
  g_assert_no_error (error);
  g_hash_table_remove_all (seen);
  look_at_object (G_OBJECT (handle), seen);
  look_at_object (G_OBJECT (backend), seen);
  look_at_object (G_OBJECT (process), seen);
  look_at_object (G_OBJECT (state), seen);
  nftw (place, look_into_cb, 16, FTW_PHYS);

  sandbox_handle_delete (handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&process);
  g_clear_object (&handle);
  g_clear_object (&backend);
  test_remove_tree (directory);
}

static void
test_secrets (void)
{
  g_autofree char *before = g_strdup (g_getenv ("G_MESSAGES_DEBUG"));

  g_test_summary ("Case 111: the header of a policy, the environment and the input of a command are not on disk, nor in a state, a "
                  "plan, a report, a message, a log of any domain, or a property");

  g_setenv ("G_MESSAGES_DEBUG", "all", TRUE);
  g_test_trap_subprocess ("/secrets/subprocess", 0, G_TEST_SUBPROCESS_DEFAULT);
  if (before != NULL)
    g_setenv ("G_MESSAGES_DEBUG", before, TRUE);
  else
    g_unsetenv ("G_MESSAGES_DEBUG");
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout_unmatched ("*" SECRET "*");
  g_test_trap_assert_stderr_unmatched ("*" SECRET "*");
  /* It was looked through: there are messages. */
  g_test_trap_assert_stdout ("*Sandbox-DEBUG*");
}

/* What looks is itself looked at: a secret where none should be is found. */
static void
test_found_host (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (SandboxCommand) command = new_secret_command ("true");

  look_at_object (G_OBJECT (command), seen);
}

static void
test_found (void)
{
  g_test_summary ("Case 111: what looks for secrets finds the one in a command, where it belongs");

  g_test_trap_subprocess ("/secrets/found/subprocess", 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr ("*has a secret*");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/secrets/absent", test_secrets);
  g_test_add_func ("/secrets/subprocess", test_host);
  g_test_add_func ("/secrets/found", test_found);
  g_test_add_func ("/secrets/found/subprocess", test_found_host);

  return g_test_run ();
}
