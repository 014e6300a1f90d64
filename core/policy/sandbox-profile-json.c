/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-profile-private.h"

#include "sandbox-enums.h"
#include "sandbox-error.h"
#include "sandbox-json-private.h"
#include "sandbox-paths-private.h"

/* Several environments of the largest size are no profile. */
#define MAX_BYTES (256 * 1024)
#define MOUNTS "mounts"

/* The names are those of the properties, and their kinds say how values are written: enumerations and flags by
 * their nicks, a list of strings as an array, limits and mounts as objects of their own. */

static gboolean
sandbox_profile_json_read (GObject    *object,
                           JsonObject *json,
                           const char *where,
                           GError    **error);

/* Writes all properties of @object, in the order in which the class has them. */
static void sandbox_profile_json_write (GObject     *object,
                                        JsonBuilder *builder);

static void
sandbox_profile_json_write_flags (const GValue *value,
                                  JsonBuilder  *builder)
{
  g_autoptr (GFlagsClass) klass = g_type_class_ref (G_VALUE_TYPE (value));
  guint flags = g_value_get_flags (value);

  json_builder_begin_array (builder);
  for (guint i = 0; i < klass->n_values; i++)
    {
      if (klass->values[i].value != 0 && (flags & klass->values[i].value) == klass->values[i].value)
        json_builder_add_string_value (builder, klass->values[i].value_nick);
    }
  json_builder_end_array (builder);
}

static void
sandbox_profile_json_write_value (const GValue *value,
                                  JsonBuilder  *builder)
{
  if (G_VALUE_HOLDS_BOOLEAN (value))
    json_builder_add_boolean_value (builder, g_value_get_boolean (value));
  else if (G_VALUE_HOLDS_INT (value))
    json_builder_add_int_value (builder, g_value_get_int (value));
  else if (G_VALUE_HOLDS_UINT (value))
    json_builder_add_int_value (builder, g_value_get_uint (value));
  else if (G_VALUE_HOLDS_UINT64 (value))
    json_builder_add_int_value (builder, (gint64) g_value_get_uint64 (value));
  else if (G_VALUE_HOLDS_ENUM (value))
    {
      g_autoptr (GEnumClass) klass = g_type_class_ref (G_VALUE_TYPE (value));

      json_builder_add_string_value (builder, g_enum_get_value (klass, g_value_get_enum (value))->value_nick);
    }
  else if (G_VALUE_HOLDS_FLAGS (value))
    sandbox_profile_json_write_flags (value, builder);
  else if (G_VALUE_HOLDS_STRING (value) && g_value_get_string (value) != NULL)
    {
      g_autofree char *text = g_utf8_make_valid (g_value_get_string (value), -1);

      json_builder_add_string_value (builder, text);
    }
  else if (G_VALUE_HOLDS (value, G_TYPE_STRV))
    {
      char **strings = g_value_get_boxed (value);

      json_builder_begin_array (builder);
      for (guint i = 0; strings != NULL && strings[i] != NULL; i++)
        {
          g_autofree char *text = g_utf8_make_valid (strings[i], -1);

          json_builder_add_string_value (builder, text);
        }
      json_builder_end_array (builder);
    }
  else if (G_VALUE_HOLDS_OBJECT (value) && g_value_get_object (value) != NULL)
    {
      json_builder_begin_object (builder);
      sandbox_profile_json_write (g_value_get_object (value), builder);
      json_builder_end_object (builder);
    }
  else
    json_builder_add_null_value (builder);
}

static void
sandbox_profile_json_write (GObject     *object,
                            JsonBuilder *builder)
{
  guint                   n_properties = 0;
  g_autofree GParamSpec **properties = g_object_class_list_properties (G_OBJECT_GET_CLASS (object), &n_properties);

  for (guint i = 0; i < n_properties; i++)
    {
      g_auto (GValue) value = G_VALUE_INIT;

      g_object_get_property (object, properties[i]->name, &value);
      json_builder_set_member_name (builder, properties[i]->name);
      sandbox_profile_json_write_value (&value, builder);
    }
}

/**
 * sandbox_profile_to_json:
 * @self: a profile
 *
 * Gets the profile as JSON that [ctor@Sandbox.Profile.new_from_json] reads: an object with all properties by
 * their names, and `mounts`. Equal profiles give equal text.
 *
 * The text has the values of [property@Sandbox.Profile:environment], which may be secrets.
 *
 * Returns: (transfer full): the text
 *
 * Since: 1.0
 */
char *
sandbox_profile_to_json (SandboxProfile *self)
{
  g_autoptr (JsonBuilder) builder = NULL;
  g_autoptr (JsonNode) root = NULL;
  GListModel *mounts = NULL;

  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), NULL);

  builder = json_builder_new ();
  mounts = sandbox_profile_get_mounts (self);
  json_builder_begin_object (builder);
  sandbox_profile_json_write (G_OBJECT (self), builder);
  json_builder_set_member_name (builder, MOUNTS);
  json_builder_begin_array (builder);
  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (GObject) mount = g_list_model_get_item (mounts, i);

      json_builder_begin_object (builder);
      sandbox_profile_json_write (mount, builder);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);

  return sandbox_json_print (root, TRUE);
}

static gboolean
sandbox_profile_json_fail (GError    **error,
                           const char *where,
                           const char *name,
                           const char *problem)
{
  g_autofree char *shown = sandbox_path_display (name);

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The profile has “%s%s”, which %s", where, shown, problem);

  return FALSE;
}

static gboolean
sandbox_profile_json_is_string (JsonNode *node)
{
  return JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING;
}

/* A value for a message; never one of an environment, which may be a secret */
static char *
sandbox_profile_json_show (GParamSpec *property,
                           JsonNode   *node)
{
  g_autofree char *text = NULL;

  if (JSON_NODE_HOLDS_OBJECT (node))
    return g_strdup ("an object");
  if (JSON_NODE_HOLDS_ARRAY (node))
    return g_strdup (G_IS_PARAM_SPEC_FLAGS (property) || property->value_type == G_TYPE_STRV ? "an array of something else" : "an array");
  if (property->value_type == G_TYPE_STRV)
    return g_strdup ("something that is no array");
  if (!sandbox_profile_json_is_string (node))
    return sandbox_json_print (node, FALSE);

  text = sandbox_path_display (json_node_get_string (node));

  return g_strdup_printf ("“%s”", text);
}

/* Adds the nicks of @klass as in "a, b or c", or those of flags as in "a, b, c". */
static void
sandbox_profile_json_add_nicks (GString *text,
                                GType    type)
{
  g_autoptr (GTypeClass) klass = g_type_class_ref (type);

  if (G_IS_ENUM_CLASS (klass))
    {
      const GEnumClass *values = G_ENUM_CLASS (klass);

      for (guint i = 0; i < values->n_values; i++)
        g_string_append_printf (text, "%s%s", i == 0 ? "" : i + 1 < values->n_values ? ", "
                                                                                     : " or ",
                                values->values[i].value_nick);
      return;
    }

  for (guint i = 0, n = 0; i < G_FLAGS_CLASS (klass)->n_values; i++)
    {
      const GFlagsValue *value = &G_FLAGS_CLASS (klass)->values[i];

      if (value->value != 0)
        g_string_append_printf (text, "%s%s", n++ > 0 ? ", " : "", value->value_nick);
    }
}

/* What the value of @property can be, for a message */
static char *
sandbox_profile_json_describe (GParamSpec *property)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (G_IS_PARAM_SPEC_UINT (property))
    g_string_append_printf (text, "a number from %u to %u", G_PARAM_SPEC_UINT (property)->minimum, G_PARAM_SPEC_UINT (property)->maximum);
  else if (G_IS_PARAM_SPEC_INT (property))
    g_string_append_printf (text, "a number from %d to %d", G_PARAM_SPEC_INT (property)->minimum, G_PARAM_SPEC_INT (property)->maximum);
  else if (G_IS_PARAM_SPEC_UINT64 (property))
    g_string_append_printf (text, "a number from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                            G_PARAM_SPEC_UINT64 (property)->minimum, G_PARAM_SPEC_UINT64 (property)->maximum);
  else if (G_IS_PARAM_SPEC_BOOLEAN (property))
    g_string_append (text, "true or false");
  else if (G_IS_PARAM_SPEC_ENUM (property))
    sandbox_profile_json_add_nicks (text, property->value_type);
  else if (G_IS_PARAM_SPEC_FLAGS (property))
    {
      g_string_append (text, "an array, with each of these once at most: ");
      sandbox_profile_json_add_nicks (text, property->value_type);
    }
  else if (property->value_type == G_TYPE_STRV)
    g_string_append (text, "an array of strings");
  else
    g_string_append_printf (text, "a string%s", G_PARAM_SPEC_STRING (property)->default_value == NULL ? " or null" : "");

  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
sandbox_profile_json_fail_value (GError    **error,
                                 const char *where,
                                 GParamSpec *property,
                                 JsonNode   *node)
{
  g_autofree char *shown = sandbox_profile_json_show (property, node);
  g_autofree char *allowed = sandbox_profile_json_describe (property);

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "In the profile, “%s%s” is %s; it can be %s",
               where, property->name, shown, allowed);

  return FALSE;
}

/* NULL unless @node is an array of strings. */
static char **
sandbox_profile_json_get_strings (JsonNode *node)
{
  g_autoptr (GStrvBuilder) strings = g_strv_builder_new ();
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (array == NULL)
    return NULL;
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      if (!sandbox_profile_json_is_string (json_array_get_element (array, i)))
        return NULL;
      g_strv_builder_add (strings, json_array_get_string_element (array, i));
    }

  return g_strv_builder_end (strings);
}

/* The functions below fill @value, which is of the type of @property; FALSE when @node is nothing for it. */

static gboolean
sandbox_profile_json_read_number (GParamSpec *property,
                                  JsonNode   *node,
                                  GValue     *value)
{
  gint64 number = 0;

  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
    return FALSE;
  number = json_node_get_int (node);
  if (G_IS_PARAM_SPEC_INT (property))
    {
      if (number < G_MININT || number > G_MAXINT)
        return FALSE;
      g_value_set_int (value, (int) number);
    }
  else if (number < 0)
    return FALSE;
  else if (G_IS_PARAM_SPEC_UINT (property))
    {
      if (number > G_MAXUINT)
        return FALSE;
      g_value_set_uint (value, (guint) number);
    }
  else
    g_value_set_uint64 (value, (guint64) number);

  /* TRUE: it had to be changed */
  return !g_param_value_validate (property, value);
}

static gboolean
sandbox_profile_json_read_flags (JsonNode *node,
                                 GValue   *value)
{
  g_autoptr (GFlagsClass) klass = g_type_class_ref (G_VALUE_TYPE (value));
  g_auto (GStrv) nicks = sandbox_profile_json_get_strings (node);
  guint flags = 0;

  if (nicks == NULL)
    return FALSE;
  for (guint i = 0; nicks[i] != NULL; i++)
    {
      GFlagsValue *flag = g_flags_get_value_by_nick (klass, nicks[i]);

      if (flag == NULL || flag->value == 0 || (flags & flag->value) != 0)
        return FALSE;
      flags |= flag->value;
    }
  g_value_set_flags (value, flags);

  return TRUE;
}

static gboolean
sandbox_profile_json_read_enum (JsonNode *node,
                                GValue   *value)
{
  g_autoptr (GEnumClass) klass = g_type_class_ref (G_VALUE_TYPE (value));
  GEnumValue *found = NULL;

  if (sandbox_profile_json_is_string (node))
    found = g_enum_get_value_by_nick (klass, json_node_get_string (node));
  if (found != NULL)
    g_value_set_enum (value, found->value);

  return found != NULL;
}

static gboolean
sandbox_profile_json_read_value (GParamSpec *property,
                                 JsonNode   *node,
                                 GValue     *value)
{
  if (G_IS_PARAM_SPEC_INT (property) || G_IS_PARAM_SPEC_UINT (property) || G_IS_PARAM_SPEC_UINT64 (property))
    return sandbox_profile_json_read_number (property, node, value);
  if (G_IS_PARAM_SPEC_ENUM (property))
    return sandbox_profile_json_read_enum (node, value);
  if (G_IS_PARAM_SPEC_FLAGS (property))
    return sandbox_profile_json_read_flags (node, value);
  if (G_IS_PARAM_SPEC_BOOLEAN (property))
    {
      if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
        return FALSE;
      g_value_set_boolean (value, json_node_get_boolean (node));
      return TRUE;
    }
  if (property->value_type == G_TYPE_STRV)
    {
      g_value_take_boxed (value, sandbox_profile_json_get_strings (node));
      return g_value_get_boxed (value) != NULL;
    }
  if (G_IS_PARAM_SPEC_STRING (property))
    {
      gboolean nullable = G_PARAM_SPEC_STRING (property)->default_value == NULL;

      if (sandbox_profile_json_is_string (node))
        g_value_set_string (value, json_node_get_string (node));
      return sandbox_profile_json_is_string (node) || (nullable && JSON_NODE_HOLDS_NULL (node));
    }

  return FALSE;
}

static gboolean
sandbox_profile_json_read_limits (SandboxProfile *self,
                                  JsonNode       *node,
                                  GError        **error)
{
  g_autoptr (SandboxLimits) limits = NULL;

  if (JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return sandbox_profile_json_fail (error, "", "limits", "is no object");

  limits = sandbox_limits_new ();
  if (!sandbox_profile_json_read (G_OBJECT (limits), json_node_get_object (node), "limits.", error))
    return FALSE;
  sandbox_profile_set_limits (self, limits);

  return TRUE;
}

/* Mounts do not change once they are made, so their members are read here. */
static gboolean
sandbox_profile_json_read_mount (SandboxProfile *self,
                                 guint           index,
                                 JsonNode       *node,
                                 GError        **error)
{
  g_autoptr (GTypeClass) klass = g_type_class_ref (SANDBOX_TYPE_MOUNT);
  g_autoptr (SandboxMount) mount = NULL;
  g_autoptr (GList) names = NULL;
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  g_auto (GValue) source = G_VALUE_INIT;
  g_auto (GValue) target = G_VALUE_INIT;
  g_auto (GValue) mode = G_VALUE_INIT;
  g_autofree char *here = g_strdup_printf (MOUNTS "[%u]", index);
  g_autofree char *where = g_strconcat (here, ".", NULL);

  if (object == NULL)
    return sandbox_profile_json_fail (error, "", here, "is no object");

  g_value_init (&source, G_TYPE_STRING);
  g_value_init (&target, G_TYPE_STRING);
  g_value_init (&mode, SANDBOX_TYPE_MOUNT_MODE);
  names = json_object_get_members (object);
  for (GList *name = names; name != NULL; name = name->next)
    {
      GParamSpec *property = g_object_class_find_property (G_OBJECT_CLASS (klass), name->data);
      GValue     *value = NULL;

      if (property == NULL)
        return sandbox_profile_json_fail (error, where, name->data, "is no member of a mount");
      if (g_str_equal (name->data, "source"))
        value = &source;
      else
        value = g_str_equal (name->data, "target") ? &target : &mode;
      if (!sandbox_profile_json_read_value (property, json_object_get_member (object, name->data), value))
        return sandbox_profile_json_fail_value (error, where, property, json_object_get_member (object, name->data));
    }
  if (g_value_get_string (&target) == NULL || !json_object_has_member (object, "mode"))
    return sandbox_profile_json_fail (error, "", here,
                                      g_value_get_string (&target) == NULL ? "has no target" : "has no mode");

  mount = sandbox_mount_new (g_value_get_string (&source), g_value_get_string (&target), g_value_get_enum (&mode));
  sandbox_profile_add_mount (self, mount);

  return TRUE;
}

static gboolean
sandbox_profile_json_read_mounts (SandboxProfile *self,
                                  JsonNode       *node,
                                  GError        **error)
{
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (array == NULL)
    return sandbox_profile_json_fail (error, "", MOUNTS, "is no array");
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      if (!sandbox_profile_json_read_mount (self, i, json_array_get_element (array, i), error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
sandbox_profile_json_read (GObject    *object,
                           JsonObject *json,
                           const char *where,
                           GError    **error)
{
  g_autoptr (GList) names = json_object_get_members (json);

  for (GList *name = names; name != NULL; name = name->next)
    {
      JsonNode   *node = json_object_get_member (json, name->data);
      GParamSpec *property = g_object_class_find_property (G_OBJECT_GET_CLASS (object), name->data);
      g_auto (GValue) value = G_VALUE_INIT;

      if (SANDBOX_IS_PROFILE (object) && g_str_equal (name->data, MOUNTS))
        {
          if (!sandbox_profile_json_read_mounts (SANDBOX_PROFILE (object), node, error))
            return FALSE;
          continue;
        }
      /* A property is found by other spellings too. */
      if (property == NULL || !g_str_equal (property->name, name->data))
        return sandbox_profile_json_fail (error, where, name->data, "is unknown");
      if (property->value_type == SANDBOX_TYPE_LIMITS)
        {
          if (!sandbox_profile_json_read_limits (SANDBOX_PROFILE (object), node, error))
            return FALSE;
          continue;
        }

      g_value_init (&value, property->value_type);
      if (!sandbox_profile_json_read_value (property, node, &value))
        return sandbox_profile_json_fail_value (error, where, property, node);
      g_object_set_property (object, property->name, &value);
    }

  return TRUE;
}

/**
 * sandbox_profile_new_from_json:
 * @text: JSON
 * @error: return location for an error
 *
 * Makes a profile of what [method@Sandbox.Profile.to_json] gives. What is not in there has its default.
 *
 * ```json
 * {
 *   "view": "system",
 *   "mounts": [ { "source": "/srv/models", "target": "/models", "mode": "read-only" } ],
 *   "environment": [ "LANG=C.UTF-8" ]
 * }
 * ```
 *
 * It is strict: a name that is unknown or stands twice, a value of another kind or out of its range, a comment
 * are %SANDBOX_ERROR_INVALID, more than 256 KiB are %SANDBOX_ERROR_LIMIT. A profile that no host could use is refused
 * too, see [method@Sandbox.Profile.add_mount]. `profile.schema.json`, which comes with these pages, is a JSON schema.
 *
 * Returns: (transfer full): a profile
 *
 * Since: 1.0
 */
SandboxProfile *
sandbox_profile_new_from_json (const char *text,
                               GError    **error)
{
  g_autoptr (SandboxProfile) self = NULL;
  g_autoptr (JsonNode) root = NULL;

  g_return_val_if_fail (text != NULL, NULL);

  root = sandbox_json_parse_object (text, MAX_BYTES, "profile", error);
  if (root == NULL)
    return NULL;

  self = sandbox_profile_new ();
  if (!sandbox_profile_json_read (G_OBJECT (self), json_node_get_object (root), "", error) ||
      !sandbox_profile_validate (self, error))
    return NULL;

  return g_steal_pointer (&self);
}
