/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <json-glib/json-glib.h>

#include "sandbox-error.h"
#include "sandbox-state-private.h"
#include "sandbox-template-private.h"
#include "value-checks.h"

#define ID "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

static char *
make_text (const char *version,
           const char *backend,
           const char *session_id,
           const char *template_key,
           const char *more)
{
  return g_strdup_printf ("{\"version\": %s, \"backend\": %s, \"session-id\": %s, \"template-key\": %s%s}",
                          version, backend, session_id, template_key, more);
}

static void
test_json (void)
{
  static const char *const keys[] = { KEY, NULL };

  g_test_summary ("A state that is written is read as the same, and has these four members and no other");

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      g_autoptr (SandboxState) state = sandbox_state_new ("bubblewrap", ID, keys[i], NULL);
      g_autoptr (SandboxState) again = NULL;
      g_autoptr (GError) error = NULL;
      g_autofree char *text = sandbox_state_to_json (state);
      g_autofree char *second = NULL;
      g_autoptr (JsonNode) root = json_from_string (text, &error);
      JsonObject *object = NULL;

      g_assert_no_error (error);
      object = json_node_get_object (root);
      g_assert_cmpuint (json_object_get_size (object), ==, 4);
      g_assert_cmpint (json_object_get_int_member (object, "version"), ==, 1);
      g_assert_cmpstr (json_object_get_string_member (object, "backend"), ==, "bubblewrap");
      g_assert_cmpstr (json_object_get_string_member (object, "session-id"), ==, ID);
      g_assert_true (json_object_get_null_member (object, "template-key") == (keys[i] == NULL));

      again = sandbox_state_new_from_json (text, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (sandbox_state_get_backend (again), ==, "bubblewrap");
      g_assert_cmpstr (sandbox_state_get_session_id (again), ==, ID);
      g_assert_cmpstr (sandbox_state_get_template_key (again), ==, keys[i]);
      g_assert_true (sandbox_state_equal (state, again));
      second = sandbox_state_to_json (again);
      g_assert_cmpstr (second, ==, text);
    }
}

/* As they stand in a text, names all different; every byte is written with an escape. */
static char *
make_labels (guint n_labels,
             guint name_bytes,
             guint value_bytes)
{
  GString *text = g_string_new (", \"labels\": {");

  for (guint i = 0; i < n_labels; i++)
    {
      g_string_append_printf (text, "%s\"\\u00%02x", i > 0 ? ", " : "", 0x10 + i);
      for (guint j = 1; j < name_bytes; j++)
        g_string_append (text, "\\u0001");
      g_string_append (text, "\": \"");
      for (guint j = 0; j < value_bytes; j++)
        g_string_append (text, "\\u0002");
      g_string_append (text, "\"");
    }
  g_string_append (text, "}");

  return g_string_free (text, FALSE);
}

static void
test_labels (void)
{
  g_autoptr (GVariant) labels = g_variant_ref_sink (g_variant_new_parsed ("{'owner': 'Jürgen \"x\"', 'a': ''}"));
  g_autoptr (GVariant) sorted = g_variant_ref_sink (g_variant_new_parsed ("{'a': '', 'owner': 'Jürgen \"x\"'}"));
  g_autoptr (GVariant) none = g_variant_ref_sink (g_variant_new_array (G_VARIANT_TYPE ("{ss}"), NULL, 0));
  g_autoptr (SandboxState) state = sandbox_state_new ("bubblewrap", ID, KEY, labels);
  g_autoptr (SandboxState) bare = sandbox_state_new ("bubblewrap", ID, KEY, none);
  g_autoptr (SandboxState) again = NULL;
  g_autoptr (SandboxState) largest = NULL;
  g_autoptr (GVariant) kept = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = sandbox_state_to_json (state);
  g_autofree char *second = NULL;
  g_autofree char *bare_text = sandbox_state_to_json (bare);
  g_autofree char *most = make_labels (64, 128, 1024);
  g_autofree char *most_text = make_text ("1", "\"b\"", "\"" ID "\"", "null", most);

  g_test_summary ("Labels are kept, in one order, as many and as long as they can be; they do not tell states apart");

  g_object_get (state, "labels", &kept, NULL);
  g_assert_true (kept == sandbox_state_get_labels (state));
  g_assert_cmpvariant (kept, sorted);
  again = sandbox_state_new_from_json (text, &error);
  g_assert_no_error (error);
  g_assert_cmpvariant (sandbox_state_get_labels (again), kept);
  second = sandbox_state_to_json (again);
  g_assert_cmpstr (second, ==, text);

  g_assert_null (sandbox_state_get_labels (bare));
  g_assert_null (strstr (bare_text, "labels"));
  g_assert_true (sandbox_state_equal (state, bare));

  largest = sandbox_state_new_from_json (most_text, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_variant_n_children (sandbox_state_get_labels (largest)), ==, 64);
  g_clear_object (&again);
  g_clear_pointer (&text, g_free);
  text = sandbox_state_to_json (largest);
  again = sandbox_state_new_from_json (text, &error);
  g_assert_no_error (error);
  g_assert_cmpvariant (sandbox_state_get_labels (again), sandbox_state_get_labels (largest));
}

static void
test_equal (void)
{
  g_autoptr (SandboxState) state = sandbox_state_new ("bubblewrap", ID, KEY, NULL);
  g_autoptr (SandboxState) other_backend = sandbox_state_new ("other", ID, KEY, NULL);
  g_autoptr (SandboxState) other_id = sandbox_state_new ("bubblewrap", KEY, KEY, NULL);
  g_autoptr (SandboxState) other_key = sandbox_state_new ("bubblewrap", ID, ID, NULL);
  g_autoptr (SandboxState) no_key = sandbox_state_new ("bubblewrap", ID, NULL, NULL);

  g_test_summary ("All of a state has to be the same");

  g_assert_true (sandbox_state_equal (state, state));
  g_assert_false (sandbox_state_equal (state, other_backend));
  g_assert_false (sandbox_state_equal (state, other_id));
  g_assert_false (sandbox_state_equal (state, other_key));
  g_assert_false (sandbox_state_equal (state, no_key));
  g_assert_false (sandbox_state_equal (no_key, state));
}

static void
test_tampered (void)
{
  g_autofree char *long_id = g_strnfill (10240, 'a');
  g_autofree char *quoted = g_strconcat ("\"", long_id, "\"", NULL);
  g_autofree char *huge_id = g_strnfill (512 * 1024, 'a');
  g_autofree char *huge = g_strconcat ("\"", huge_id, "\"", NULL);
  g_autofree char *many = make_labels (65, 1, 1);
  g_autofree char *long_label = make_labels (1, 129, 1);
  const struct
  {
    const char  *version;
    const char  *backend;
    const char  *session_id;
    const char  *template_key;
    const char  *more;
    SandboxError code;
  } states[] = {
    { "1", "\"b\"", "\"../../x\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"/abs\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"AABB2233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "0\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\\n\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\\u0000\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "null", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "[\"" ID "\"]", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", quoted, "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", huge, "null", "", SANDBOX_ERROR_LIMIT },
    { "1", "\"../b\"", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\".\"", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"\"", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "7", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "null", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "\"..\"", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "false", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "{}", "", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "null", ", \"policy\": \"allow-all\"", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "null", ", \"backend\": \"b\"", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "null", ", \"labels\": null", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "null", ", \"labels\": [[\"a\", \"b\"]]", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "null", ", \"labels\": {\"a\": 1}", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "null", ", \"labels\": {\"a\": {}}", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "null", ", \"labels\": {\"\": \"b\"}", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "null", ", \"labels\": {\"a\": \"b\", \"a\": \"c\"}", SANDBOX_ERROR_INVALID },
    { "1", "\"b\"", "\"" ID "\"", "null", many, SANDBOX_ERROR_LIMIT },
    { "1", "\"b\"", "\"" ID "\"", "null", long_label, SANDBOX_ERROR_LIMIT },
    { "2", "\"b\"", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
    { "2", "\"b\"", "\"" ID "\"", "null", ", \"new\": 1", SANDBOX_ERROR_INVALID },
    { "0", "\"b\"", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
    { "1.0", "\"b\"", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
    { "\"1\"", "\"b\"", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
    { "null", "\"b\"", "\"" ID "\"", "null", "", SANDBOX_ERROR_INVALID },
  };

  g_test_summary ("A state that was changed is refused, before anything is looked for (case 99)");

  for (guint i = 0; i < G_N_ELEMENTS (states); i++)
    {
      g_autofree char *text = make_text (states[i].version, states[i].backend, states[i].session_id,
                                         states[i].template_key, states[i].more);
      g_autoptr (GError) error = NULL;

      g_test_message ("%.200s", text);
      g_assert_null (sandbox_state_new_from_json (text, &error));
      g_assert_error (error, SANDBOX_ERROR, (int) states[i].code);
      g_assert_cmpuint (strlen (error->message), <, 200);
    }
}

static void
test_future (void)
{
  g_autofree char *text = make_text ("2", "\"b\"", "\"" ID "\"", "null", ", \"new\": 1");
  g_autoptr (GError) error = NULL;

  g_test_summary ("Of a state from the future the version is told, not what else this library does not know");

  g_assert_null (sandbox_state_new_from_json (text, &error));
  g_assert_nonnull (strstr (error->message, "version"));
  g_assert_null (strstr (error->message, "new"));
}

static void
test_missing (void)
{
  static const char *const names[] = { "version", "backend", "session-id", "template-key" };

  g_test_summary ("A state without one of its members is told so");

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (SandboxState) state = sandbox_state_new ("bubblewrap", ID, NULL, NULL);
      g_autofree char *text = sandbox_state_to_json (state);
      g_autoptr (JsonNode) root = json_from_string (text, NULL);
      g_autofree char *cut = NULL;
      g_autoptr (GError) error = NULL;

      json_object_remove_member (json_node_get_object (root), names[i]);
      cut = json_to_string (root, FALSE);
      g_assert_null (sandbox_state_new_from_json (cut, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_assert_nonnull (strstr (error->message, names[i]));
    }
}

static void
test_incomplete (void)
{
  g_autoptr (SandboxState) state = g_object_new (SANDBOX_TYPE_STATE, NULL);

  g_test_summary ("An object that no call gave is none, and a caller's bug");

  value_checks_defaults (G_OBJECT (state));
  g_assert_false (sandbox_state_is_complete (state));
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*is_complete*");
  g_assert_null (sandbox_state_to_json (state));
  g_test_assert_expected_messages ();
}

static void
test_schema (void)
{
  g_autofree char *path = g_build_filename (g_getenv ("SANDBOX_TEST_DATA"), "..", "introspection", "state.schema.json", NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GVariant) labels = g_variant_ref_sink (g_variant_new_parsed ("{'a': 'b'}"));
  g_autoptr (SandboxState) state = sandbox_state_new ("bubblewrap", ID, KEY, labels);
  g_autofree char *text = sandbox_state_to_json (state);
  g_autoptr (JsonNode) root = json_from_string (text, NULL);
  g_autoptr (GList) members = json_object_get_members (json_node_get_object (root));
  g_autoptr (GError) error = NULL;
  JsonObject *schema = NULL;
  JsonObject *properties = NULL;
  JsonArray  *required = NULL;

  g_test_summary ("The schema has exactly the members that are written, and their patterns take the same names");

  json_parser_load_from_file (parser, path, &error);
  g_assert_no_error (error);
  schema = json_node_get_object (json_parser_get_root (parser));
  properties = json_object_get_object_member (schema, "properties");
  required = json_object_get_array_member (schema, "required");
  g_assert_false (json_object_get_boolean_member (schema, "additionalProperties"));
  g_assert_cmpuint (json_object_get_size (properties), ==, g_list_length (members));
  g_assert_cmpuint (json_array_get_length (required), ==, g_list_length (members) - 1);
  for (GList *member = members; member != NULL; member = member->next)
    g_assert_true (json_object_has_member (properties, member->data));

  for (guint i = 0; i < json_array_get_length (required); i++)
    {
      const char *name = json_array_get_string_element (required, i);
      JsonObject *property = json_object_get_object_member (properties, name);
      const char *value = NULL;

      g_assert_true (json_object_has_member (json_node_get_object (root), name));
      if (json_object_has_member (property, "const"))
        {
          g_assert_cmpint (json_object_get_int_member (property, "const"), ==,
                           json_object_get_int_member (json_node_get_object (root), name));
          continue;
        }
      value = json_object_get_string_member (json_node_get_object (root), name);
      g_assert_true (g_regex_match_simple (json_object_get_string_member (property, "pattern"), value, G_REGEX_DOLLAR_ENDONLY, 0));
      g_assert_false (g_regex_match_simple (json_object_get_string_member (property, "pattern"), "..", G_REGEX_DOLLAR_ENDONLY, 0));
    }
}

static void
test_template (void)
{
  g_autoptr (SandboxTemplate) made = sandbox_template_new (KEY, "my project", TRUE);
  g_autoptr (SandboxTemplate) empty = g_object_new (SANDBOX_TYPE_TEMPLATE, NULL);
  g_autofree char *key = NULL;
  g_autofree char *name = NULL;
  gboolean         reused = FALSE;

  g_test_summary ("A template tells its key, its name, and whether it was there already");

  value_checks_defaults (G_OBJECT (empty));
  g_object_get (made, "key", &key, "name", &name, "reused", &reused, NULL);
  g_assert_cmpstr (key, ==, KEY);
  g_assert_cmpstr (name, ==, "my project");
  g_assert_true (reused);
  g_assert_cmpstr (sandbox_template_get_key (made), ==, KEY);
  g_assert_cmpstr (sandbox_template_get_name (made), ==, "my project");
  g_assert_true (sandbox_template_get_reused (made));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/state/json", test_json);
  g_test_add_func ("/state/labels", test_labels);
  g_test_add_func ("/state/equal", test_equal);
  g_test_add_func ("/state/tampered", test_tampered);
  g_test_add_func ("/state/future", test_future);
  g_test_add_func ("/state/missing", test_missing);
  g_test_add_func ("/state/incomplete", test_incomplete);
  g_test_add_func ("/state/schema", test_schema);
  g_test_add_func ("/state/template", test_template);

  return g_test_run ();
}
