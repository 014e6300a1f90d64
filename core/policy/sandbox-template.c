/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-template-private.h"

#include "sandbox-keys-private.h"

/**
 * SandboxTemplate:
 *
 * A stored workspace from which sessions are made.
 *
 * It is told by its key, which covers the name of the backend, that of the template and all of its content: equal files
 * under one name have one key, in every process and after every restart.
 *
 * Since: 1.0
 */
struct _SandboxTemplate
{
  GObject parent_instance;

  char    *key;
  char    *name;
  gboolean reused;
};

typedef enum
{
  PROP_KEY = 1,
  PROP_NAME,
  PROP_REUSED,
} SandboxTemplateProps;

static GParamSpec *properties[PROP_REUSED + 1];

G_DEFINE_FINAL_TYPE (SandboxTemplate, sandbox_template, G_TYPE_OBJECT)

static void
sandbox_template_finalize (GObject *object)
{
  SandboxTemplate *self = SANDBOX_TEMPLATE (object);

  g_free (self->key);
  g_free (self->name);

  G_OBJECT_CLASS (sandbox_template_parent_class)->finalize (object);
}

static void
sandbox_template_get_property (GObject    *object,
                               guint       prop_id,
                               GValue     *value,
                               GParamSpec *pspec)
{
  SandboxTemplate *self = SANDBOX_TEMPLATE (object);

  switch ((SandboxTemplateProps) prop_id)
    {
    case PROP_KEY:
      g_value_set_string (value, self->key);
      break;

    case PROP_NAME:
      g_value_set_string (value, self->name);
      break;

    case PROP_REUSED:
      g_value_set_boolean (value, self->reused);
      break;
    }
}

static void
sandbox_template_class_init (SandboxTemplateClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_template_finalize;
  object_class->get_property = sandbox_template_get_property;

  /**
   * SandboxTemplate:key: (getter get_key)
   *
   * 64 hexadecimal digits, for [property@Sandbox.State:template-key] and for the options of a session.
   *
   * Since: 1.0
   */
  properties[PROP_KEY] =
      g_param_spec_string ("key", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxTemplate:name: (getter get_name)
   *
   * The name that the host gave.
   *
   * Since: 1.0
   */
  properties[PROP_NAME] =
      g_param_spec_string ("name", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxTemplate:reused: (getter get_reused)
   *
   * Whether it was stored already.
   *
   * Since: 1.0
   */
  properties[PROP_REUSED] =
      g_param_spec_boolean ("reused", NULL, NULL, FALSE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_template_init (SandboxTemplate *self)
{
}

SandboxTemplate *
sandbox_template_new (const char *key,
                      const char *name,
                      gboolean    reused)
{
  SandboxTemplate *self = NULL;

  g_return_val_if_fail (sandbox_key_is_valid (key), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  self = g_object_new (SANDBOX_TYPE_TEMPLATE, NULL);
  self->key = g_strdup (key);
  self->name = g_strdup (name);
  self->reused = reused;

  return self;
}

/**
 * sandbox_template_get_key: (get-property key)
 * @self: a template
 *
 * Gets the key.
 *
 * Returns: (transfer none) (nullable): 64 hexadecimal digits; %NULL only for an object that no call of this library gave
 *
 * Since: 1.0
 */
const char *
sandbox_template_get_key (SandboxTemplate *self)
{
  g_return_val_if_fail (SANDBOX_IS_TEMPLATE (self), NULL);

  return self->key;
}

/**
 * sandbox_template_get_name: (get-property name)
 * @self: a template
 *
 * Gets the name that the host gave.
 *
 * Returns: (transfer none) (nullable): the name; %NULL only for an object that no call of this library gave
 *
 * Since: 1.0
 */
const char *
sandbox_template_get_name (SandboxTemplate *self)
{
  g_return_val_if_fail (SANDBOX_IS_TEMPLATE (self), NULL);

  return self->name;
}

/**
 * sandbox_template_get_reused: (get-property reused)
 * @self: a template
 *
 * Gets whether it was stored already.
 *
 * Returns: %TRUE if nothing had to be written
 *
 * Since: 1.0
 */
gboolean
sandbox_template_get_reused (SandboxTemplate *self)
{
  g_return_val_if_fail (SANDBOX_IS_TEMPLATE (self), FALSE);

  return self->reused;
}
