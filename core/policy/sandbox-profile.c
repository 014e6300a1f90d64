/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-profile-private.h"

#include "sandbox-enums.h"
#include "sandbox-environment-private.h"
#include "sandbox-limits-private.h"

/**
 * SandboxProfile:
 *
 * What a sandbox looks like to its commands.
 *
 * ```c
 * const char *const environment[] = { "LANG=C.UTF-8", NULL };
 * g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
 *
 * sandbox_profile_set_environment (profile, environment);
 * sandbox_create_options_set_profile (options, profile);
 * ```
 *
 * Since: 1.0
 */
struct _SandboxProfile
{
  GObject parent_instance;

  gboolean            frozen;
  char              **environment;
  guint               guest_uid;
  guint               guest_gid;
  SandboxLimits      *limits;
  SandboxRestrictions required;
};

typedef enum
{
  PROP_ENVIRONMENT = 1,
  PROP_GUEST_UID,
  PROP_GUEST_GID,
  PROP_LIMITS,
  PROP_REQUIRED,
} SandboxProfileProps;

static GParamSpec *properties[PROP_REQUIRED + 1];

G_DEFINE_FINAL_TYPE (SandboxProfile, sandbox_profile, G_TYPE_OBJECT)

static void
sandbox_profile_finalize (GObject *object)
{
  SandboxProfile *self = SANDBOX_PROFILE (object);

  g_strfreev (self->environment);
  g_clear_object (&self->limits);

  G_OBJECT_CLASS (sandbox_profile_parent_class)->finalize (object);
}

static void
sandbox_profile_get_property (GObject    *object,
                              guint       prop_id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  SandboxProfile *self = SANDBOX_PROFILE (object);

  switch ((SandboxProfileProps) prop_id)
    {
    case PROP_ENVIRONMENT:
      g_value_set_boxed (value, sandbox_profile_get_environment (self));
      break;

    case PROP_GUEST_UID:
      g_value_set_uint (value, sandbox_profile_get_guest_uid (self));
      break;

    case PROP_GUEST_GID:
      g_value_set_uint (value, sandbox_profile_get_guest_gid (self));
      break;

    case PROP_LIMITS:
      g_value_set_object (value, sandbox_profile_get_limits (self));
      break;

    case PROP_REQUIRED:
      g_value_set_flags (value, sandbox_profile_get_required (self));
      break;
    }
}

static void
sandbox_profile_set_property (GObject      *object,
                              guint         prop_id,
                              const GValue *value,
                              GParamSpec   *pspec)
{
  SandboxProfile *self = SANDBOX_PROFILE (object);

  switch ((SandboxProfileProps) prop_id)
    {
    case PROP_ENVIRONMENT:
      sandbox_profile_set_environment (self, g_value_get_boxed (value));
      break;

    case PROP_GUEST_UID:
      sandbox_profile_set_guest_uid (self, g_value_get_uint (value));
      break;

    case PROP_GUEST_GID:
      sandbox_profile_set_guest_gid (self, g_value_get_uint (value));
      break;

    case PROP_LIMITS:
      sandbox_profile_set_limits (self, g_value_get_object (value));
      break;

    case PROP_REQUIRED:
      sandbox_profile_set_required (self, g_value_get_flags (value));
      break;
    }
}

static void
sandbox_profile_class_init (SandboxProfileClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_profile_finalize;
  object_class->get_property = sandbox_profile_get_property;
  object_class->set_property = sandbox_profile_set_property;

  /**
   * SandboxProfile:environment:
   *
   * Variables of every command, to which [property@Sandbox.Command:environment] is added.
   * Each entry is `NAME=value`; a name has ASCII letters, digits and underscores and does
   * not begin with a digit. Of several entries for one name the last one counts. Nothing
   * of the environment of the host is ever inherited.
   *
   * Since: 1.0
   */
  properties[PROP_ENVIRONMENT] =
      g_param_spec_boxed ("environment", NULL, NULL,
                          G_TYPE_STRV,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:guest-uid:
   *
   * The user id that commands see as their own.
   *
   * Since: 1.0
   */
  properties[PROP_GUEST_UID] =
      g_param_spec_uint ("guest-uid", NULL, NULL,
                         0, G_MAXUINT16, 1000,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:guest-gid:
   *
   * The group id that commands see as their own.
   *
   * Since: 1.0
   */
  properties[PROP_GUEST_GID] =
      g_param_spec_uint ("guest-gid", NULL, NULL,
                         0, G_MAXUINT16, 1000,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:limits:
   *
   * Limits of every command that brings none of its own, or %NULL for the defaults.
   *
   * Since: 1.0
   */
  properties[PROP_LIMITS] =
      g_param_spec_object ("limits", NULL, NULL,
                           SANDBOX_TYPE_LIMITS,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:required:
   *
   * Restrictions that the backend must be able to enforce; else it refuses the profile.
   *
   * Since: 1.0
   */
  properties[PROP_REQUIRED] =
      g_param_spec_flags ("required", NULL, NULL,
                          SANDBOX_TYPE_RESTRICTIONS, SANDBOX_RESTRICTIONS_NONE,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_profile_init (SandboxProfile *self)
{
  self->environment = g_new0 (char *, 1);
  self->guest_uid = 1000;
  self->guest_gid = 1000;
}

/**
 * sandbox_profile_new:
 *
 * Makes the default profile.
 *
 * Returns: (transfer full): the profile
 *
 * Since: 1.0
 */
SandboxProfile *
sandbox_profile_new (void)
{
  return g_object_new (SANDBOX_TYPE_PROFILE, NULL);
}

/**
 * sandbox_profile_get_environment:
 * @self: a profile
 *
 * Gets the environment of every command.
 *
 * Returns: (transfer none) (array zero-terminated=1): `NAME=value` entries, at least the
 * final %NULL
 *
 * Since: 1.0
 */
const char *const *
sandbox_profile_get_environment (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), NULL);

  return (const char *const *) self->environment;
}

/**
 * sandbox_profile_set_environment:
 * @self: a profile
 * @environment: (nullable) (array zero-terminated=1): `NAME=value` entries, or %NULL for
 * none
 *
 * Sets the environment of every command. See [property@Sandbox.Profile:environment].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_environment (SandboxProfile    *self,
                                 const char *const *environment)
{
  static const char *const none[] = { NULL };

  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);

  if (environment == NULL)
    environment = none;

  if (g_strv_equal ((const char *const *) self->environment, environment))
    return;

  g_strfreev (self->environment);
  self->environment = g_strdupv ((char **) environment);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ENVIRONMENT]);
}

/**
 * sandbox_profile_get_guest_uid:
 * @self: a profile
 *
 * Gets the user id inside.
 *
 * Returns: the user id
 *
 * Since: 1.0
 */
guint
sandbox_profile_get_guest_uid (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), 0);

  return self->guest_uid;
}

/**
 * sandbox_profile_set_guest_uid:
 * @self: a profile
 * @guest_uid: the user id, up to 65535
 *
 * Sets the user id inside. See [property@Sandbox.Profile:guest-uid].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_guest_uid (SandboxProfile *self,
                               guint           guest_uid)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (guest_uid <= G_MAXUINT16);

  if (self->guest_uid == guest_uid)
    return;

  self->guest_uid = guest_uid;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_GUEST_UID]);
}

/**
 * sandbox_profile_get_guest_gid:
 * @self: a profile
 *
 * Gets the group id inside.
 *
 * Returns: the group id
 *
 * Since: 1.0
 */
guint
sandbox_profile_get_guest_gid (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), 0);

  return self->guest_gid;
}

/**
 * sandbox_profile_set_guest_gid:
 * @self: a profile
 * @guest_gid: the group id, up to 65535
 *
 * Sets the group id inside. See [property@Sandbox.Profile:guest-gid].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_guest_gid (SandboxProfile *self,
                               guint           guest_gid)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (guest_gid <= G_MAXUINT16);

  if (self->guest_gid == guest_gid)
    return;

  self->guest_gid = guest_gid;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_GUEST_GID]);
}

/**
 * sandbox_profile_get_limits:
 * @self: a profile
 *
 * Gets the limits of every command.
 *
 * Returns: (transfer none) (nullable): the limits
 *
 * Since: 1.0
 */
SandboxLimits *
sandbox_profile_get_limits (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), NULL);

  return self->limits;
}

/**
 * sandbox_profile_set_limits:
 * @self: a profile
 * @limits: (nullable): the limits
 *
 * Sets the limits of every command. See [property@Sandbox.Profile:limits].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_limits (SandboxProfile *self,
                            SandboxLimits  *limits)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (limits == NULL || SANDBOX_IS_LIMITS (limits));

  if (!g_set_object (&self->limits, limits))
    return;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LIMITS]);
}

/**
 * sandbox_profile_get_required:
 * @self: a profile
 *
 * Gets the restrictions that must hold.
 *
 * Returns: the restrictions
 *
 * Since: 1.0
 */
SandboxRestrictions
sandbox_profile_get_required (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), SANDBOX_RESTRICTIONS_NONE);

  return self->required;
}

/**
 * sandbox_profile_set_required:
 * @self: a profile
 * @required: the restrictions
 *
 * Sets the restrictions that must hold. See [property@Sandbox.Profile:required].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_required (SandboxProfile     *self,
                              SandboxRestrictions required)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);

  if (self->required == required)
    return;

  self->required = required;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_REQUIRED]);
}

SandboxProfile *
sandbox_profile_freeze (SandboxProfile *self)
{
  SandboxProfile *copy;

  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), NULL);

  if (self->frozen)
    return g_object_ref (self);

  copy = sandbox_profile_new ();
  g_strfreev (copy->environment);
  copy->environment = sandbox_environment_merge (NULL, (const char *const *) self->environment);
  copy->guest_uid = self->guest_uid;
  copy->guest_gid = self->guest_gid;
  copy->limits = self->limits != NULL ? sandbox_limits_freeze (self->limits) : NULL;
  copy->required = self->required;
  copy->frozen = TRUE;

  return copy;
}

gboolean
sandbox_profile_validate (SandboxProfile *self,
                          GError        **error)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), FALSE);

  return sandbox_arguments_validate (NULL, (const char *const *) self->environment, error);
}
