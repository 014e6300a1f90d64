/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-state-private.h"

#include <string.h>

#include "sandbox-error.h"
#include "sandbox-json-private.h"
#include "sandbox-keys-private.h"
#include "sandbox-labels-private.h"
#include "sandbox-paths-private.h"

#define VERSION 1
/* As many labels as there can be, with every byte escaped, have room. */
#define MAX_BYTES (512 * 1024)

#define VERSION_NAME "version"
#define BACKEND_NAME "backend"
#define SESSION_NAME "session-id"
#define TEMPLATE_NAME "template-key"
#define LABELS_NAME "labels"

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
 * again. Labels are, and are what the session was made with. It does not change once it is made.
 *
 * Since: 1.0
 */
struct _SandboxState
{
  GObject parent_instance;

  char     *backend;
  char     *session_id;
  char     *template_key;
  GVariant *labels;
};

typedef enum
{
  PROP_BACKEND = 1,
  PROP_SESSION_ID,
  PROP_TEMPLATE_KEY,
  PROP_LABELS,
} SandboxStateProps;

static GParamSpec *properties[PROP_LABELS + 1];

G_DEFINE_FINAL_TYPE (SandboxState, sandbox_state, G_TYPE_OBJECT)

static void
sandbox_state_finalize (GObject *object)
{
  SandboxState *self = SANDBOX_STATE (object);

  g_free (self->backend);
  g_free (self->session_id);
  g_free (self->template_key);
  g_clear_pointer (&self->labels, g_variant_unref);

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

    case PROP_LABELS:
      g_value_set_variant (value, self->labels);
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

  /**
   * SandboxState:labels: (getter get_labels)
   *
   * Names and values of the host for the session, of type `a{ss}`, or %NULL for none. They tell people which session this
   * is, and are in the order of their names.
   *
   * Since: 1.0
   */
  properties[PROP_LABELS] =
      g_param_spec_variant ("labels", NULL, NULL,
                            G_VARIANT_TYPE ("a{ss}"), NULL,
                            G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_state_init (SandboxState *self)
{
}

static int
sandbox_state_compare_labels (gconstpointer a,
                              gconstpointer b)
{
  const char *name_a = NULL;
  const char *name_b = NULL;

  g_variant_get_child (*(GVariant *const *) a, 0, "&s", &name_a);
  g_variant_get_child (*(GVariant *const *) b, 0, "&s", &name_b);

  return strcmp (name_a, name_b);
}

/* In one order; NULL for none. */
static GVariant *
sandbox_state_sort_labels (GVariant *labels)
{
  g_autoptr (GPtrArray) entries = NULL;
  gsize n_labels = labels != NULL ? g_variant_n_children (labels) : 0;

  if (n_labels == 0)
    return NULL;

  entries = g_ptr_array_new_full ((guint) n_labels, (GDestroyNotify) g_variant_unref);
  for (gsize i = 0; i < n_labels; i++)
    g_ptr_array_add (entries, g_variant_get_child_value (labels, i));
  g_ptr_array_sort (entries, sandbox_state_compare_labels);

  return g_variant_ref_sink (g_variant_new_array (G_VARIANT_TYPE ("{ss}"), (GVariant *const *) entries->pdata, n_labels));
}

SandboxState *
sandbox_state_new (const char *backend,
                   const char *session_id,
                   const char *template_key,
                   GVariant   *labels)
{
  SandboxState *self = NULL;

  g_return_val_if_fail (sandbox_backend_name_is_valid (backend), NULL);
  g_return_val_if_fail (sandbox_key_is_valid (session_id), NULL);
  g_return_val_if_fail (template_key == NULL || sandbox_key_is_valid (template_key), NULL);
  g_return_val_if_fail (labels == NULL || g_variant_is_of_type (labels, G_VARIANT_TYPE ("a{ss}")), NULL);

  self = g_object_new (SANDBOX_TYPE_STATE, NULL);
  self->backend = g_strdup (backend);
  self->session_id = g_strdup (session_id);
  self->template_key = g_strdup (template_key);
  self->labels = sandbox_state_sort_labels (labels);

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
      if (!g_strv_contains (names, member->data) && strcmp (member->data, LABELS_NAME) != 0)
        return sandbox_state_fail (error, member->data, "is unknown");
    }

  return TRUE;
}

/* FALSE for what is no object of strings, or not one that a session can have. */
static gboolean
sandbox_state_read_labels (JsonObject *object,
                           GVariant  **labels,
                           GError    **error)
{
  g_auto (GVariantBuilder) builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a{ss}"));
  JsonNode *node = json_object_get_member (object, LABELS_NAME);
  g_autoptr (GList) names = NULL;

  if (node == NULL)
    return TRUE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return sandbox_state_fail (error, LABELS_NAME, "is no object");

  names = json_object_get_members (json_node_get_object (node));
  for (GList *name = names; name != NULL; name = name->next)
    {
      const char *value = sandbox_state_peek_string (json_node_get_object (node), name->data);

      if (value == NULL)
        return sandbox_state_fail (error, LABELS_NAME, "has a value that is no string");
      g_variant_builder_add (&builder, "{ss}", (const char *) name->data, value);
    }
  *labels = g_variant_ref_sink (g_variant_builder_end (&builder));

  return sandbox_labels_validate (*labels, error);
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
 * another version are %SANDBOX_ERROR_INVALID, more than 512 KiB, or more labels than a session can have, are
 * %SANDBOX_ERROR_LIMIT. Only the labels may be missing. Whether there is such a
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
  g_autoptr (GVariant) labels = NULL;

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
  else if (sandbox_state_read_labels (object, &labels, error))
    return sandbox_state_new (backend, session_id, template_key, labels);

  return NULL;
}

static void
sandbox_state_write_labels (SandboxState *self,
                            JsonBuilder  *builder)
{
  GVariantIter iter;
  const char  *name = NULL;
  const char  *value = NULL;

  json_builder_set_member_name (builder, LABELS_NAME);
  json_builder_begin_object (builder);
  g_variant_iter_init (&iter, self->labels);
  while (g_variant_iter_next (&iter, "{&s&s}", &name, &value))
    {
      json_builder_set_member_name (builder, name);
      json_builder_add_string_value (builder, value);
    }
  json_builder_end_object (builder);
}

/**
 * sandbox_state_to_json:
 * @self: a state
 *
 * Gets the state as JSON that [ctor@Sandbox.State.new_from_json] reads. Equal states with equal labels give equal text.
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
  if (self->labels != NULL)
    sandbox_state_write_labels (self, builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);

  return sandbox_json_print (root, TRUE);
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

/**
 * sandbox_state_get_labels: (get-property labels)
 * @self: a state
 *
 * Gets the labels. See [property@Sandbox.State:labels].
 *
 * Returns: (transfer none) (nullable): the labels, of type `a{ss}`, or %NULL for none
 *
 * Since: 1.0
 */
GVariant *
sandbox_state_get_labels (SandboxState *self)
{
  g_return_val_if_fail (SANDBOX_IS_STATE (self), NULL);

  return self->labels;
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

gboolean
sandbox_state_check_backend (SandboxState *self,
                             const char   *backend,
                             GError      **error)
{
  g_return_val_if_fail (SANDBOX_IS_STATE (self), FALSE);

  if (g_strcmp0 (self->backend, backend) == 0)
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STATE_MISMATCH,
               "The state is of a session of the backend “%s”, and this one is “%s”", self->backend, backend);

  return FALSE;
}
