/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-state-private.h"

#include "sandbox-error.h"
#include "sandbox-json-private.h"
#include "sandbox-keys-private.h"
#include "sandbox-paths-private.h"

#define VERSION 1
#define MAX_BYTES 4096

#define VERSION_NAME "version"
#define BACKEND_NAME "backend"
#define SESSION_NAME "session-id"
#define TEMPLATE_NAME "template-key"

/**
 * SandboxState:
 *
 * What a host keeps of a session to come back to it: which one it is, and nothing secret.
 *
 * ```c
 * g_autofree char *text = sandbox_state_to_json (state);
 *
 * g_file_set_contents ("session.json", text, -1, &error);
 * ```
 *
 * In another process, later:
 *
 * ```c
 * g_autoptr (SandboxState) state = sandbox_state_new_from_json (text, &error);
 * ```
 *
 * Neither the files nor the policies of the session are in it: the files stay where they are, policies are given
 * again. It does not change once it is made.
 *
 * Since: 1.0
 */
struct _SandboxState
{
  GObject parent_instance;

  char *backend;
  char *session_id;
  char *template_key;
};

typedef enum
{
  PROP_BACKEND = 1,
  PROP_SESSION_ID,
  PROP_TEMPLATE_KEY,
} SandboxStateProps;

static GParamSpec *properties[PROP_TEMPLATE_KEY + 1];

G_DEFINE_FINAL_TYPE (SandboxState, sandbox_state, G_TYPE_OBJECT)

static void
sandbox_state_finalize (GObject *object)
{
  SandboxState *self = SANDBOX_STATE (object);

  g_free (self->backend);
  g_free (self->session_id);
  g_free (self->template_key);

  G_OBJECT_CLASS (sandbox_state_parent_class)->finalize (object);
}

static void
sandbox_state_get_property (GObject    *object,
                            guint       prop_id,
                            GValue     *value,
                            GParamSpec *pspec)
{
  SandboxState *self = SANDBOX_STATE (object);

  switch ((SandboxStateProps) prop_id)
    {
    case PROP_BACKEND:
      g_value_set_string (value, self->backend);
      break;

    case PROP_SESSION_ID:
      g_value_set_string (value, self->session_id);
      break;

    case PROP_TEMPLATE_KEY:
      g_value_set_string (value, self->template_key);
      break;
    }
}

static void
sandbox_state_class_init (SandboxStateClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_state_finalize;
  object_class->get_property = sandbox_state_get_property;

  /**
   * SandboxState:backend: (getter get_backend)
   *
   * The name of the backend that made the session.
   *
   * Since: 1.0
   */
  properties[PROP_BACKEND] =
      g_param_spec_string ("backend", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxState:session-id: (getter get_session_id)
   *
   * The id of the session: 64 hexadecimal digits in lower case.
   *
   * Since: 1.0
   */
  properties[PROP_SESSION_ID] =
      g_param_spec_string ("session-id", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxState:template-key: (getter get_template_key)
   *
   * The key of the template that the session was made from, or %NULL for none.
   *
   * Since: 1.0
   */
  properties[PROP_TEMPLATE_KEY] =
      g_param_spec_string ("template-key", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_state_init (SandboxState *self)
{
}

SandboxState *
sandbox_state_new (const char *backend,
                   const char *session_id,
                   const char *template_key)
{
  SandboxState *self = NULL;

  g_return_val_if_fail (sandbox_backend_name_is_valid (backend), NULL);
  g_return_val_if_fail (sandbox_key_is_valid (session_id), NULL);
  g_return_val_if_fail (template_key == NULL || sandbox_key_is_valid (template_key), NULL);

  self = g_object_new (SANDBOX_TYPE_STATE, NULL);
  self->backend = g_strdup (backend);
  self->session_id = g_strdup (session_id);
  self->template_key = g_strdup (template_key);

  return self;
}

static gboolean
sandbox_state_fail (GError    **error,
                    const char *name,
                    const char *problem)
{
  g_autofree char *shown = sandbox_path_display (name);

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The state has “%s”, which %s", shown, problem);

  return FALSE;
}

static const char *
sandbox_state_peek_string (JsonObject *object,
                           const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return NULL;

  return json_node_get_string (node);
}

static gboolean
sandbox_state_check_names (JsonObject *object,
                           GError    **error)
{
  static const char *const names[] = { VERSION_NAME, BACKEND_NAME, SESSION_NAME, TEMPLATE_NAME, NULL };
  g_autoptr (GList) members = json_object_get_members (object);

  for (guint i = 0; names[i] != NULL; i++)
    {
      if (!json_object_has_member (object, names[i]))
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The state has no “%s”", names[i]);
          return FALSE;
        }
    }
  for (GList *member = members; member != NULL; member = member->next)
    {
      if (!g_strv_contains (names, member->data))
        return sandbox_state_fail (error, member->data, "is unknown");
    }

  return TRUE;
}

/* Before all else: what another version has beside it, this one cannot judge. */
static gboolean
sandbox_state_check_version (JsonObject *object,
                             GError    **error)
{
  JsonNode *node = json_object_get_member (object, VERSION_NAME);

  if (node == NULL)
    return TRUE;
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
    return sandbox_state_fail (error, VERSION_NAME, "is no whole number");

  return json_node_get_int (node) == VERSION ||
         sandbox_state_fail (error, VERSION_NAME, "is not the one that this library reads");
}

/**
 * sandbox_state_new_from_json:
 * @text: JSON
 * @error: return location for an error
 *
 * Makes a state of what [method@Sandbox.State.to_json] gave.
 *
 * It is strict: a name that is missing, unknown or stands twice, an id that is not 64 hexadecimal digits in lower case,
 * another version are %SANDBOX_ERROR_INVALID, more than 4 KiB are %SANDBOX_ERROR_LIMIT. Whether there is such a
 * session is found out when the state is used. `state.schema.json`, which comes with these pages, is a JSON schema.
 *
 * Returns: (transfer full): a state
 *
 * Since: 1.0
 */
SandboxState *
sandbox_state_new_from_json (const char *text,
                             GError    **error)
{
  g_autoptr (JsonNode) root = NULL;
  JsonObject *object = NULL;
  const char *backend = NULL;
  const char *session_id = NULL;
  const char *template_key = NULL;

  g_return_val_if_fail (text != NULL, NULL);

  root = sandbox_json_parse_object (text, MAX_BYTES, "state", error);
  if (root == NULL)
    return NULL;

  object = json_node_get_object (root);
  if (!sandbox_state_check_version (object, error) || !sandbox_state_check_names (object, error))
    return NULL;

  backend = sandbox_state_peek_string (object, BACKEND_NAME);
  session_id = sandbox_state_peek_string (object, SESSION_NAME);
  template_key = sandbox_state_peek_string (object, TEMPLATE_NAME);
  if (!sandbox_backend_name_is_valid (backend))
    sandbox_state_fail (error, BACKEND_NAME, "is no name of a backend");
  else if (!sandbox_key_is_valid (session_id))
    sandbox_state_fail (error, SESSION_NAME, "is no id of a session");
  else if (!sandbox_key_is_valid (template_key) && !json_object_get_null_member (object, TEMPLATE_NAME))
    sandbox_state_fail (error, TEMPLATE_NAME, "is neither the key of a template nor null");
  else
    return sandbox_state_new (backend, session_id, template_key);

  return NULL;
}

/**
 * sandbox_state_to_json:
 * @self: a state
 *
 * Gets the state as JSON that [ctor@Sandbox.State.new_from_json] reads. Equal states give equal text.
 *
 * Returns: (transfer full): the text
 *
 * Since: 1.0
 */
char *
sandbox_state_to_json (SandboxState *self)
{
  g_autoptr (JsonBuilder) builder = NULL;
  g_autoptr (JsonNode) root = NULL;

  g_return_val_if_fail (SANDBOX_IS_STATE (self), NULL);
  g_return_val_if_fail (sandbox_state_is_complete (self), NULL);

  builder = json_builder_new ();
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, VERSION_NAME);
  json_builder_add_int_value (builder, VERSION);
  json_builder_set_member_name (builder, BACKEND_NAME);
  json_builder_add_string_value (builder, self->backend);
  json_builder_set_member_name (builder, SESSION_NAME);
  json_builder_add_string_value (builder, self->session_id);
  json_builder_set_member_name (builder, TEMPLATE_NAME);
  if (self->template_key != NULL)
    json_builder_add_string_value (builder, self->template_key);
  else
    json_builder_add_null_value (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);

  return json_to_string (root, TRUE);
}

/**
 * sandbox_state_get_backend: (get-property backend)
 * @self: a state
 *
 * Gets the name of the backend that made the session.
 *
 * Returns: (transfer none) (nullable): the name; %NULL only for an object that no call of this library gave
 *
 * Since: 1.0
 */
const char *
sandbox_state_get_backend (SandboxState *self)
{
  g_return_val_if_fail (SANDBOX_IS_STATE (self), NULL);

  return self->backend;
}

/**
 * sandbox_state_get_session_id: (get-property session-id)
 * @self: a state
 *
 * Gets the id of the session.
 *
 * Returns: (transfer none) (nullable): 64 hexadecimal digits; %NULL only for an object that no call of this library gave
 *
 * Since: 1.0
 */
const char *
sandbox_state_get_session_id (SandboxState *self)
{
  g_return_val_if_fail (SANDBOX_IS_STATE (self), NULL);

  return self->session_id;
}

/**
 * sandbox_state_get_template_key: (get-property template-key)
 * @self: a state
 *
 * Gets the key of the template that the session was made from.
 *
 * Returns: (transfer none) (nullable): 64 hexadecimal digits, or %NULL for no template
 *
 * Since: 1.0
 */
const char *
sandbox_state_get_template_key (SandboxState *self)
{
  g_return_val_if_fail (SANDBOX_IS_STATE (self), NULL);

  return self->template_key;
}

gboolean
sandbox_state_is_complete (SandboxState *self)
{
  g_return_val_if_fail (SANDBOX_IS_STATE (self), FALSE);

  return self->backend != NULL;
}

gboolean
sandbox_state_equal (SandboxState *self,
                     SandboxState *other)
{
  g_return_val_if_fail (SANDBOX_IS_STATE (self), FALSE);
  g_return_val_if_fail (SANDBOX_IS_STATE (other), FALSE);

  return g_strcmp0 (self->backend, other->backend) == 0 &&
         g_strcmp0 (self->session_id, other->session_id) == 0 &&
         g_strcmp0 (self->template_key, other->template_key) == 0;
}
