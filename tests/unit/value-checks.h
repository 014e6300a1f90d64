/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

/* What holds for each value object of core/policy, checked over all of its properties: the default is
 * what the property says, what is set is what is read, a change is notified once, a frozen object
 * cannot be changed. */

static inline char *
value_checks_describe (const GValue *value)
{
  if (G_VALUE_HOLDS (value, G_TYPE_STRV))
    {
      char **strv = g_value_get_boxed (value);

      return strv != NULL ? g_strjoinv ("\n", strv) : g_strdup ("");
    }

  if (G_VALUE_HOLDS (value, G_TYPE_BYTES) || G_VALUE_HOLDS_OBJECT (value))
    return g_strdup_printf ("%p", g_value_peek_pointer (value));

  return g_strdup_value_contents (value);
}

static inline char *
value_checks_read (GObject    *object,
                   const char *name)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_object_get_property (object, name, &value);

  return value_checks_describe (&value);
}

static inline GParamSpec **
value_checks_list (GObject *object,
                   guint   *n_properties)
{
  GParamSpec **properties = g_object_class_list_properties (G_OBJECT_GET_CLASS (object), n_properties);

  g_assert_cmpuint (*n_properties, >, 0);

  return properties;
}

static inline gboolean
value_checks_can_set (GParamSpec *property)
{
  return (property->flags & G_PARAM_WRITABLE) != 0 && (property->flags & G_PARAM_CONSTRUCT_ONLY) == 0;
}

/* Sets @value to something else than the default of @property. @object is for the property that holds
 * an object of an abstract class; without it that stays NULL. */
static inline void
value_checks_sample (GParamSpec *property,
                     GObject    *object,
                     GValue     *value)
{
  static const char *const strings[] = { "A=1", "B_2=x=y", "C=", NULL };

  g_value_init (value, property->value_type);

  if (G_IS_PARAM_SPEC_INT (property))
    g_value_set_int (value, G_PARAM_SPEC_INT (property)->maximum);
  else if (G_IS_PARAM_SPEC_UINT (property))
    g_value_set_uint (value, G_PARAM_SPEC_UINT (property)->maximum);
  else if (G_IS_PARAM_SPEC_UINT64 (property))
    g_value_set_uint64 (value, G_PARAM_SPEC_UINT64 (property)->maximum);
  else if (G_IS_PARAM_SPEC_BOOLEAN (property))
    g_value_set_boolean (value, !G_PARAM_SPEC_BOOLEAN (property)->default_value);
  else if (G_IS_PARAM_SPEC_STRING (property))
    g_value_set_string (value, "/some/thing else");
  else if (G_IS_PARAM_SPEC_ENUM (property))
    g_value_set_enum (value, G_PARAM_SPEC_ENUM (property)->default_value == 1 ? 0 : 1);
  else if (G_IS_PARAM_SPEC_FLAGS (property))
    g_value_set_flags (value, G_PARAM_SPEC_FLAGS (property)->flags_class->mask);
  else if (G_IS_PARAM_SPEC_VARIANT (property))
    g_value_take_variant (value, g_variant_ref_sink (g_variant_new_parsed ("{'a': 'b'}")));
  else if (property->value_type == G_TYPE_STRV)
    g_value_set_boxed (value, strings);
  else if (property->value_type == G_TYPE_BYTES)
    g_value_take_boxed (value, g_bytes_new ("a\0b", 3));
  else if (object != NULL && g_type_is_a (G_OBJECT_TYPE (object), property->value_type))
    g_value_set_object (value, object);
  else if (!G_TYPE_IS_ABSTRACT (property->value_type))
    g_value_take_object (value, g_object_new (property->value_type, NULL));
}

static inline void
value_checks_count_cb (GObject    *object,
                       GParamSpec *property,
                       gpointer    user_data)
{
  guint *count = user_data;

  (*count)++;
}

static inline void
value_checks_defaults (GObject *object)
{
  guint                   n_properties;
  g_autofree GParamSpec **properties = value_checks_list (object, &n_properties);

  for (guint i = 0; i < n_properties; i++)
    {
      g_autofree char *wanted = value_checks_describe (g_param_spec_get_default_value (properties[i]));
      g_autofree char *found = value_checks_read (object, properties[i]->name);

      g_test_message ("default of %s", properties[i]->name);
      g_assert_cmpstr (found, ==, wanted);
    }
}

/* Sets every property to something else, and leaves it so. */
static inline void
value_checks_round_trip (GObject *object,
                         GObject *sample)
{
  guint                   n_properties;
  g_autofree GParamSpec **properties = value_checks_list (object, &n_properties);

  for (guint i = 0; i < n_properties; i++)
    {
      const char *name = properties[i]->name;
      g_auto (GValue) value = G_VALUE_INIT;
      g_autofree char *signal = g_strconcat ("notify::", name, NULL);
      g_autofree char *before = value_checks_read (object, name);
      g_autofree char *wanted = NULL;
      g_autofree char *found = NULL;
      guint            n_notified = 0;
      gulong           handler;

      if (!value_checks_can_set (properties[i]))
        continue;

      g_test_message ("round trip of %s", name);
      value_checks_sample (properties[i], sample, &value);
      wanted = value_checks_describe (&value);
      g_assert_cmpstr (before, !=, wanted);

      handler = g_signal_connect (object, signal, G_CALLBACK (value_checks_count_cb), &n_notified);
      g_object_set_property (object, name, &value);
      found = value_checks_read (object, name);
      g_assert_cmpstr (found, ==, wanted);
      g_assert_cmpuint (n_notified, ==, 1);

      g_object_set_property (object, name, &value);
      g_assert_cmpuint (n_notified, ==, 1);
      g_signal_handler_disconnect (object, handler);
    }
}

/* @copy has what @object has; objects inside are copies of their own. */
/* Whether something of an object of this type could be changed. */
static inline gboolean
value_checks_can_change (GType type)
{
  GObjectClass           *klass = g_type_class_ref (type);
  guint                   n_properties;
  g_autofree GParamSpec **properties = g_object_class_list_properties (klass, &n_properties);
  gboolean                can = FALSE;

  for (guint i = 0; i < n_properties; i++)
    can = can || value_checks_can_set (properties[i]);
  g_type_class_unref (klass);

  return can;
}

static inline void
value_checks_same (GObject *object,
                   GObject *copy)
{
  guint                   n_properties;
  g_autofree GParamSpec **properties = value_checks_list (object, &n_properties);

  g_assert_true (G_OBJECT_TYPE (object) == G_OBJECT_TYPE (copy));

  for (guint i = 0; i < n_properties; i++)
    {
      const char      *name = properties[i]->name;
      g_autofree char *a = NULL;
      g_autofree char *b = NULL;

      g_test_message ("copy of %s", name);

      if (G_IS_PARAM_SPEC_OBJECT (properties[i]) && !G_TYPE_IS_ABSTRACT (properties[i]->value_type))
        {
          g_autoptr (GObject) inner = NULL;
          g_autoptr (GObject) inner_copy = NULL;

          g_object_get (object, name, &inner, NULL);
          g_object_get (copy, name, &inner_copy, NULL);
          g_assert_true ((inner == NULL) == (inner_copy == NULL));

          if (inner != NULL)
            {
              g_assert_true (inner != inner_copy || !value_checks_can_change (properties[i]->value_type));
              value_checks_same (inner, inner_copy);
            }

          continue;
        }

      a = value_checks_read (object, name);
      b = value_checks_read (copy, name);
      g_assert_cmpstr (a, ==, b);
    }
}

/* Nothing of @object can be changed, and nothing of the objects inside. */
static inline void
value_checks_frozen (GObject *object,
                     GObject *sample)
{
  guint                   n_properties;
  g_autofree GParamSpec **properties = value_checks_list (object, &n_properties);

  for (guint i = 0; i < n_properties; i++)
    {
      const char *name = properties[i]->name;
      g_auto (GValue) value = G_VALUE_INIT;
      g_autofree char *before = NULL;
      g_autofree char *after = NULL;

      if (!value_checks_can_set (properties[i]))
        continue;

      g_test_message ("frozen %s", name);
      before = value_checks_read (object, name);
      value_checks_sample (properties[i], sample, &value);

      g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*frozen*");
      g_object_set_property (object, name, &value);
      g_test_assert_expected_messages ();

      after = value_checks_read (object, name);
      g_assert_cmpstr (after, ==, before);

      if (G_IS_PARAM_SPEC_OBJECT (properties[i]) && !G_TYPE_IS_ABSTRACT (properties[i]->value_type))
        {
          g_autoptr (GObject) inner = NULL;

          g_object_get (object, name, &inner, NULL);

          if (inner != NULL)
            value_checks_frozen (inner, NULL);
        }
    }
}
