/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-mount.h"

#include "sandbox-enums.h"

/**
 * SandboxMount:
 *
 * A file or directory of the host that commands find somewhere, or something that they do not find.
 *
 * It does not change once it is made; see [method@Sandbox.Profile.add_mount].
 *
 * Since: 1.0
 */
struct _SandboxMount
{
  GObject parent_instance;

  char            *source;
  char            *target;
  SandboxMountMode mode;
};

typedef enum
{
  PROP_SOURCE = 1,
  PROP_TARGET,
  PROP_MODE,
} SandboxMountProps;

static GParamSpec *properties[PROP_MODE + 1];

G_DEFINE_FINAL_TYPE (SandboxMount, sandbox_mount, G_TYPE_OBJECT)

static void
sandbox_mount_finalize (GObject *object)
{
  SandboxMount *self = SANDBOX_MOUNT (object);

  g_free (self->source);
  g_free (self->target);

  G_OBJECT_CLASS (sandbox_mount_parent_class)->finalize (object);
}

static void
sandbox_mount_get_property (GObject    *object,
                            guint       prop_id,
                            GValue     *value,
                            GParamSpec *pspec)
{
  SandboxMount *self = SANDBOX_MOUNT (object);

  switch ((SandboxMountProps) prop_id)
    {
    case PROP_SOURCE:
      g_value_set_string (value, self->source);
      break;

    case PROP_TARGET:
      g_value_set_string (value, self->target);
      break;

    case PROP_MODE:
      g_value_set_enum (value, self->mode);
      break;
    }
}

static void
sandbox_mount_set_property (GObject      *object,
                            guint         prop_id,
                            const GValue *value,
                            GParamSpec   *pspec)
{
  SandboxMount *self = SANDBOX_MOUNT (object);

  switch ((SandboxMountProps) prop_id)
    {
    case PROP_SOURCE:
      self->source = g_value_dup_string (value);
      break;

    case PROP_TARGET:
      self->target = g_value_dup_string (value);
      break;

    case PROP_MODE:
      self->mode = g_value_get_enum (value);
      break;
    }
}

static void
sandbox_mount_class_init (SandboxMountClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_mount_finalize;
  object_class->get_property = sandbox_mount_get_property;
  object_class->set_property = sandbox_mount_set_property;

  /**
   * SandboxMount:source: (getter get_source)
   *
   * The absolute path on the host, or %NULL for a mask and for what is in the workspace already. Links in it are
   * followed when a session is created, and never again.
   *
   * Since: 1.0
   */
  properties[PROP_SOURCE] =
      g_param_spec_string ("source", NULL, NULL, NULL,
                           G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxMount:target: (getter get_target)
   *
   * The absolute path in the guest, without `.`, `..`, empty parts and a final slash.
   *
   * Since: 1.0
   */
  properties[PROP_TARGET] =
      g_param_spec_string ("target", NULL, NULL, NULL,
                           G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxMount:mode: (getter get_mode)
   *
   * What commands can do with it.
   *
   * Since: 1.0
   */
  properties[PROP_MODE] =
      g_param_spec_enum ("mode", NULL, NULL, SANDBOX_TYPE_MOUNT_MODE, SANDBOX_MOUNT_MODE_READ_ONLY,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_mount_init (SandboxMount *self)
{
}

/**
 * sandbox_mount_new:
 * @source: (nullable) (type filename): an absolute path on the host, or %NULL for a mask and for what is in the
 *   workspace already
 * @target: an absolute path in the guest
 * @mode: what commands can do with it
 *
 * Makes a mount. Whether a profile can have it is found out when that is used; see
 * [method@Sandbox.Profile.add_mount].
 *
 * Returns: (transfer full): a mount
 *
 * Since: 1.0
 */
SandboxMount *
sandbox_mount_new (const char      *source,
                   const char      *target,
                   SandboxMountMode mode)
{
  g_return_val_if_fail (target != NULL, NULL);

  return g_object_new (SANDBOX_TYPE_MOUNT, "source", source, "target", target, "mode", mode, NULL);
}

/**
 * sandbox_mount_get_source: (get-property source)
 * @self: a mount
 *
 * Gets the path on the host.
 *
 * Returns: (transfer none) (nullable) (type filename): the path, or %NULL for a mask and for what is in the
 * workspace already
 *
 * Since: 1.0
 */
const char *
sandbox_mount_get_source (SandboxMount *self)
{
  g_return_val_if_fail (SANDBOX_IS_MOUNT (self), NULL);

  return self->source;
}

/**
 * sandbox_mount_get_target: (get-property target)
 * @self: a mount
 *
 * Gets the path in the guest.
 *
 * Returns: (transfer none) (nullable): the path; %NULL only for an object made without one, which no profile
 * can have
 *
 * Since: 1.0
 */
const char *
sandbox_mount_get_target (SandboxMount *self)
{
  g_return_val_if_fail (SANDBOX_IS_MOUNT (self), NULL);

  return self->target;
}

/**
 * sandbox_mount_get_mode: (get-property mode)
 * @self: a mount
 *
 * Gets what commands can do with it.
 *
 * Returns: the mode
 *
 * Since: 1.0
 */
SandboxMountMode
sandbox_mount_get_mode (SandboxMount *self)
{
  g_return_val_if_fail (SANDBOX_IS_MOUNT (self), SANDBOX_MOUNT_MODE_MASK);

  return self->mode;
}
