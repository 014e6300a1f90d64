/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-profile-private.h"

#include "sandbox-enums.h"
#include "sandbox-environment-private.h"
#include "sandbox-limits-private.h"
#include "sandbox-workspace-path.h"

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
  SandboxView         view;
  GListStore         *mounts;
  gboolean            workspace_read_only;
  char               *workspace_target;
  SandboxProcMode     proc;
  char               *self_exe;
  char              **environment;
  SandboxIdentity     identity;
  int                 launcher_uid;
  int                 launcher_gid;
  guint               guest_uid;
  guint               guest_gid;
  SandboxFilter       filter;
  SandboxLimits      *limits;
  SandboxRestrictions required;
};

typedef enum
{
  PROP_VIEW = 1,
  PROP_WORKSPACE_READ_ONLY,
  PROP_WORKSPACE_TARGET,
  PROP_PROC,
  PROP_SELF_EXE,
  PROP_ENVIRONMENT,
  PROP_IDENTITY,
  PROP_LAUNCHER_UID,
  PROP_LAUNCHER_GID,
  PROP_GUEST_UID,
  PROP_GUEST_GID,
  PROP_FILTER,
  PROP_LIMITS,
  PROP_REQUIRED,
} SandboxProfileProps;

static GParamSpec *properties[PROP_REQUIRED + 1];

G_DEFINE_FINAL_TYPE (SandboxProfile, sandbox_profile, G_TYPE_OBJECT)

static void
sandbox_profile_finalize (GObject *object)
{
  SandboxProfile *self = SANDBOX_PROFILE (object);

  g_clear_object (&self->mounts);
  g_free (self->workspace_target);
  g_free (self->self_exe);
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
    case PROP_VIEW:
      g_value_set_enum (value, sandbox_profile_get_view (self));
      break;

    case PROP_WORKSPACE_READ_ONLY:
      g_value_set_boolean (value, sandbox_profile_get_workspace_read_only (self));
      break;

    case PROP_WORKSPACE_TARGET:
      g_value_set_string (value, sandbox_profile_get_workspace_target (self));
      break;

    case PROP_PROC:
      g_value_set_enum (value, sandbox_profile_get_proc (self));
      break;

    case PROP_SELF_EXE:
      g_value_set_string (value, sandbox_profile_get_self_exe (self));
      break;

    case PROP_ENVIRONMENT:
      g_value_set_boxed (value, sandbox_profile_get_environment (self));
      break;

    case PROP_IDENTITY:
      g_value_set_enum (value, sandbox_profile_get_identity (self));
      break;

    case PROP_LAUNCHER_UID:
      g_value_set_int (value, sandbox_profile_get_launcher_uid (self));
      break;

    case PROP_LAUNCHER_GID:
      g_value_set_int (value, sandbox_profile_get_launcher_gid (self));
      break;

    case PROP_GUEST_UID:
      g_value_set_uint (value, sandbox_profile_get_guest_uid (self));
      break;

    case PROP_GUEST_GID:
      g_value_set_uint (value, sandbox_profile_get_guest_gid (self));
      break;

    case PROP_FILTER:
      g_value_set_enum (value, sandbox_profile_get_filter (self));
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
    case PROP_VIEW:
      sandbox_profile_set_view (self, g_value_get_enum (value));
      break;

    case PROP_WORKSPACE_READ_ONLY:
      sandbox_profile_set_workspace_read_only (self, g_value_get_boolean (value));
      break;

    case PROP_WORKSPACE_TARGET:
      sandbox_profile_set_workspace_target (self, g_value_get_string (value));
      break;

    case PROP_PROC:
      sandbox_profile_set_proc (self, g_value_get_enum (value));
      break;

    case PROP_SELF_EXE:
      sandbox_profile_set_self_exe (self, g_value_get_string (value));
      break;

    case PROP_ENVIRONMENT:
      sandbox_profile_set_environment (self, g_value_get_boxed (value));
      break;

    case PROP_IDENTITY:
      sandbox_profile_set_identity (self, g_value_get_enum (value));
      break;

    case PROP_LAUNCHER_UID:
      sandbox_profile_set_launcher_uid (self, g_value_get_int (value));
      break;

    case PROP_LAUNCHER_GID:
      sandbox_profile_set_launcher_gid (self, g_value_get_int (value));
      break;

    case PROP_GUEST_UID:
      sandbox_profile_set_guest_uid (self, g_value_get_uint (value));
      break;

    case PROP_GUEST_GID:
      sandbox_profile_set_guest_gid (self, g_value_get_uint (value));
      break;

    case PROP_FILTER:
      sandbox_profile_set_filter (self, g_value_get_enum (value));
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
   * SandboxProfile:view:
   *
   * What commands find at the root.
   *
   * The default is %SANDBOX_VIEW_MINIMAL.
   *
   * Since: 1.0
   */
  properties[PROP_VIEW] =
      g_param_spec_enum ("view", NULL, NULL,
                         SANDBOX_TYPE_VIEW, SANDBOX_VIEW_MINIMAL,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:workspace-read-only:
   *
   * Whether commands can only read the workspace. The host can write it all the same.
   *
   * The default is %FALSE.
   *
   * Since: 1.0
   */
  properties[PROP_WORKSPACE_READ_ONLY] =
      g_param_spec_boolean ("workspace-read-only", NULL, NULL,
                            FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:workspace-target:
   *
   * Where commands find the workspace: an absolute path in the guest, without `.`, `..`, empty parts and a
   * final slash. It is also their `HOME`. Programs that write down absolute paths may need the one
   * that the workspace has on the host; a path that the host must not tell is better not used here.
   *
   * It cannot be a directory that sandboxes need for something else, nor lie in `/proc`, `/dev` or `/run`. In `/tmp` it
   * can: but there each command has something of its own, so with bubblewrap one takes longer to start then, see
   * the property `nested` of that backend.
   *
   * The default is `/workspace`.
   *
   * Since: 1.0
   */
  properties[PROP_WORKSPACE_TARGET] =
      g_param_spec_string ("workspace-target", NULL, NULL,
                           SANDBOX_WORKSPACE_PATH,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:proc:
   *
   * What commands find in `/proc`.
   *
   * The default is %SANDBOX_PROC_MODE_FRESH.
   *
   * Since: 1.0
   */
  properties[PROP_PROC] =
      g_param_spec_enum ("proc", NULL, NULL,
                         SANDBOX_TYPE_PROC_MODE, SANDBOX_PROC_MODE_FRESH,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:self-exe:
   *
   * The file that `/proc/self/exe` leads to, an absolute path in the guest. It is needed for
   * %SANDBOX_PROC_MODE_SELF_EXE and refused with every other mode.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_SELF_EXE] =
      g_param_spec_string ("self-exe", NULL, NULL,
                           NULL,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:environment:
   *
   * Variables of every command, to which [property@Sandbox.Command:environment] is added.
   * Each entry is `NAME=value`; a name has ASCII letters, digits and underscores and does
   * not begin with a digit. Of several entries for one name the last one counts. Nothing
   * of the environment of the host is ever inherited.
   *
   * The default is none.
   *
   * Since: 1.0
   */
  properties[PROP_ENVIRONMENT] =
      g_param_spec_boxed ("environment", NULL, NULL,
                          G_TYPE_STRV,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:identity:
   *
   * Who commands are on the host.
   *
   * The default is %SANDBOX_IDENTITY_AUTO.
   *
   * Since: 1.0
   */
  properties[PROP_IDENTITY] =
      g_param_spec_enum ("identity", NULL, NULL,
                         SANDBOX_TYPE_IDENTITY, SANDBOX_IDENTITY_AUTO,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:launcher-uid:
   *
   * The user of the host who starts sandboxes, and who commands then are, or -1 for whom
   * [property@Sandbox.Profile:identity] says. It goes with [property@Sandbox.Profile:launcher-gid] and with
   * %SANDBOX_IDENTITY_AUTO, and is never 0.
   *
   * A host that is root can say any user; that one needs nothing but the right to make a user namespace, and the
   * files of the workspace stay with their owner. Any other host can only say its own, which is how to ask for a
   * program that is set-user-ID to root: without a launcher such a program is refused.
   *
   * The default is -1.
   *
   * Since: 1.0
   */
  properties[PROP_LAUNCHER_UID] =
      g_param_spec_int ("launcher-uid", NULL, NULL,
                        -1, G_MAXINT, -1,
                        G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:launcher-gid:
   *
   * The group of the host that goes with [property@Sandbox.Profile:launcher-uid], or -1.
   *
   * The default is -1.
   *
   * Since: 1.0
   */
  properties[PROP_LAUNCHER_GID] =
      g_param_spec_int ("launcher-gid", NULL, NULL,
                        -1, G_MAXINT, -1,
                        G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:guest-uid:
   *
   * The user id that commands see as their own.
   *
   * The default is 1000.
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
   * The default is 1000.
   *
   * Since: 1.0
   */
  properties[PROP_GUEST_GID] =
      g_param_spec_uint ("guest-gid", NULL, NULL,
                         0, G_MAXUINT16, 1000,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:filter:
   *
   * Which system calls commands can make.
   *
   * The default is %SANDBOX_FILTER_DEFAULT.
   *
   * Since: 1.0
   */
  properties[PROP_FILTER] =
      g_param_spec_enum ("filter", NULL, NULL,
                         SANDBOX_TYPE_FILTER, SANDBOX_FILTER_DEFAULT,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxProfile:limits:
   *
   * Limits of every command, as far as it sets none of its own, or %NULL for the defaults.
   *
   * The default is %NULL.
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
   * The default is %SANDBOX_RESTRICTIONS_NONE.
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
  self->view = SANDBOX_VIEW_MINIMAL;
  self->mounts = g_list_store_new (SANDBOX_TYPE_MOUNT);
  self->workspace_target = g_strdup (SANDBOX_WORKSPACE_PATH);
  self->proc = SANDBOX_PROC_MODE_FRESH;
  self->environment = g_new0 (char *, 1);
  self->identity = SANDBOX_IDENTITY_AUTO;
  self->launcher_uid = -1;
  self->launcher_gid = -1;
  self->guest_uid = 1000;
  self->guest_gid = 1000;
  self->filter = SANDBOX_FILTER_DEFAULT;
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
 * sandbox_profile_get_view:
 * @self: a profile
 *
 * Gets what commands find at the root.
 *
 * Returns: the view
 *
 * Since: 1.0
 */
SandboxView
sandbox_profile_get_view (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), SANDBOX_VIEW_MINIMAL);

  return self->view;
}

/**
 * sandbox_profile_set_view:
 * @self: a profile
 * @view: the view
 *
 * Sets what commands find at the root.
 *
 * Since: 1.0
 */
void
sandbox_profile_set_view (SandboxProfile *self,
                          SandboxView     view)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);

  if (self->view == view)
    return;

  self->view = view;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_VIEW]);
}

/**
 * sandbox_profile_get_mounts:
 * @self: a profile
 *
 * Gets the mounts, in the order in which they were added.
 *
 * Returns: (transfer none): a list of [class@Sandbox.Mount]
 *
 * Since: 1.0
 */
GListModel *
sandbox_profile_get_mounts (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), NULL);

  return G_LIST_MODEL (self->mounts);
}

/**
 * sandbox_profile_add_mount:
 * @self: a profile
 * @mount: a mount
 *
 * Adds a mount to those of the view. The order in which they are added does not matter.
 *
 * A profile is refused with %SANDBOX_ERROR_INVALID when two mounts have one target, and for targets that are
 * `/`, `/run`, `/tmp` or below that, the workspace, above or below that, in `/proc` or `/dev`, or below a
 * mount that commands can write: a command of an earlier session may have put something there. More
 * than 64 mounts are %SANDBOX_ERROR_LIMIT. Where the view has something at the target or below, the mount is
 * there instead.
 *
 * A source in the workspace, or in the source of a read-write mount, is %SANDBOX_ERROR_INVALID when a session is
 * created: commands could put a link to anything in its place. So is a read-write source that has the workspace in
 * it. Neither may a source be in a directory that others than the host write: it is looked up by its path, over
 * links, once for each session.
 *
 * A source that does not exist is %SANDBOX_ERROR_NOT_FOUND when a session is created, and so is a mask of
 * something that does not exist in a directory of the host: it could not be kept from appearing later.
 *
 * A read-only mount without a source, whose target is below that of the workspace, protects what the workspace has
 * there already: commands can read it, and neither change it nor rename or remove it or a directory above it.
 *
 * ```c
 * // Commands can commit, and cannot make git run something when it is used there outside.
 * const char *const control[] = { "/workspace/.git/config", "/workspace/.git/hooks" };
 *
 * for (guint i = 0; i < G_N_ELEMENTS (control); i++)
 *   {
 *     g_autoptr (SandboxMount) mount = sandbox_mount_new (NULL, control[i], SANDBOX_MOUNT_MODE_READ_ONLY);
 *
 *     sandbox_profile_add_mount (profile, mount);
 *   }
 * ```
 *
 * It has to exist, and no part of its path can be a link, for what does not exist yet could not be kept from
 * appearing: else it is %SANDBOX_ERROR_NOT_FOUND or %SANDBOX_ERROR_PATH when a session is created. A file that has a
 * second name (a hard link) is %SANDBOX_ERROR_INVALID; files in a directory are not looked at for that. There can be
 * seven, less than that with mounts that only a host that is root can hand over. A command
 * that is running loses a protection, or a mask, when the host itself renames or replaces what is there, as
 * editors and git do; the next command has it again. The calls of [class@Sandbox.Session] that would do so are refused
 * with %SANDBOX_ERROR_DENIED. Files beside it are not held: with those two protected, a
 * command can still make another repository below, or a `.git/commondir` that has git read its settings elsewhere.
 *
 * Where the host runs as root, commands can read of a read-only mount what every user of the host can read,
 * and they have the rights of the owner of a read-write mount in there.
 *
 * Since: 1.0
 */
void
sandbox_profile_add_mount (SandboxProfile *self,
                           SandboxMount   *mount)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (SANDBOX_IS_MOUNT (mount));

  g_list_store_append (self->mounts, mount);
}

/**
 * sandbox_profile_get_workspace_read_only:
 * @self: a profile
 *
 * Gets whether commands can only read the workspace.
 *
 * Returns: whether they can
 *
 * Since: 1.0
 */
gboolean
sandbox_profile_get_workspace_read_only (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), FALSE);

  return self->workspace_read_only;
}

/**
 * sandbox_profile_set_workspace_read_only:
 * @self: a profile
 * @workspace_read_only: whether commands can only read
 *
 * Sets whether commands can only read the workspace. See [property@Sandbox.Profile:workspace-read-only].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_workspace_read_only (SandboxProfile *self,
                                         gboolean        workspace_read_only)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);

  workspace_read_only = !!workspace_read_only;
  if (self->workspace_read_only == workspace_read_only)
    return;

  self->workspace_read_only = workspace_read_only;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_WORKSPACE_READ_ONLY]);
}

/**
 * sandbox_profile_get_workspace_target:
 * @self: a profile
 *
 * Gets where commands find the workspace.
 *
 * Returns: (transfer none): an absolute path in the guest
 *
 * Since: 1.0
 */
const char *
sandbox_profile_get_workspace_target (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), NULL);

  return self->workspace_target;
}

/**
 * sandbox_profile_set_workspace_target:
 * @self: a profile
 * @workspace_target: (nullable): an absolute path in the guest, or %NULL for `/workspace`
 *
 * Sets where commands find the workspace. See [property@Sandbox.Profile:workspace-target].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_workspace_target (SandboxProfile *self,
                                      const char     *workspace_target)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);

  if (workspace_target == NULL)
    workspace_target = SANDBOX_WORKSPACE_PATH;
  if (g_str_equal (self->workspace_target, workspace_target))
    return;

  g_free (self->workspace_target);
  self->workspace_target = g_strdup (workspace_target);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_WORKSPACE_TARGET]);
}

/**
 * sandbox_profile_get_proc:
 * @self: a profile
 *
 * Gets what commands find in `/proc`.
 *
 * Returns: the mode
 *
 * Since: 1.0
 */
SandboxProcMode
sandbox_profile_get_proc (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), SANDBOX_PROC_MODE_FRESH);

  return self->proc;
}

/**
 * sandbox_profile_set_proc:
 * @self: a profile
 * @proc: the mode
 *
 * Sets what commands find in `/proc`.
 *
 * Since: 1.0
 */
void
sandbox_profile_set_proc (SandboxProfile *self,
                          SandboxProcMode proc)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);

  if (self->proc == proc)
    return;

  self->proc = proc;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_PROC]);
}

/**
 * sandbox_profile_get_self_exe:
 * @self: a profile
 *
 * Gets the file that `/proc/self/exe` leads to.
 *
 * Returns: (transfer none) (nullable): an absolute path in the guest
 *
 * Since: 1.0
 */
const char *
sandbox_profile_get_self_exe (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), NULL);

  return self->self_exe;
}

/**
 * sandbox_profile_set_self_exe:
 * @self: a profile
 * @self_exe: (nullable): an absolute path in the guest
 *
 * Sets the file that `/proc/self/exe` leads to. See [property@Sandbox.Profile:self-exe].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_self_exe (SandboxProfile *self,
                              const char     *self_exe)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);

  if (g_strcmp0 (self->self_exe, self_exe) == 0)
    return;

  g_free (self->self_exe);
  self->self_exe = g_strdup (self_exe);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SELF_EXE]);
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
 * sandbox_profile_get_identity:
 * @self: a profile
 *
 * Gets who commands are on the host.
 *
 * Returns: the identity
 *
 * Since: 1.0
 */
SandboxIdentity
sandbox_profile_get_identity (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), SANDBOX_IDENTITY_AUTO);

  return self->identity;
}

/**
 * sandbox_profile_set_identity:
 * @self: a profile
 * @identity: the identity
 *
 * Sets who commands are on the host. See [enum@Sandbox.Identity].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_identity (SandboxProfile *self,
                              SandboxIdentity identity)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);

  if (self->identity == identity)
    return;

  self->identity = identity;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_IDENTITY]);
}

/**
 * sandbox_profile_get_launcher_uid:
 * @self: a profile
 *
 * Gets the user who starts sandboxes.
 *
 * Returns: the user id, or -1
 *
 * Since: 1.0
 */
int
sandbox_profile_get_launcher_uid (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), -1);

  return self->launcher_uid;
}

/**
 * sandbox_profile_set_launcher_uid:
 * @self: a profile
 * @launcher_uid: the user id, or -1
 *
 * Sets the user who starts sandboxes. See [property@Sandbox.Profile:launcher-uid].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_launcher_uid (SandboxProfile *self,
                                  int             launcher_uid)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (launcher_uid >= -1);

  if (self->launcher_uid == launcher_uid)
    return;

  self->launcher_uid = launcher_uid;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LAUNCHER_UID]);
}

/**
 * sandbox_profile_get_launcher_gid:
 * @self: a profile
 *
 * Gets the group that starts sandboxes.
 *
 * Returns: the group id, or -1
 *
 * Since: 1.0
 */
int
sandbox_profile_get_launcher_gid (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), -1);

  return self->launcher_gid;
}

/**
 * sandbox_profile_set_launcher_gid:
 * @self: a profile
 * @launcher_gid: the group id, or -1
 *
 * Sets the group that starts sandboxes. See [property@Sandbox.Profile:launcher-gid].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_launcher_gid (SandboxProfile *self,
                                  int             launcher_gid)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (launcher_gid >= -1);

  if (self->launcher_gid == launcher_gid)
    return;

  self->launcher_gid = launcher_gid;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LAUNCHER_GID]);
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
 * sandbox_profile_get_filter:
 * @self: a profile
 *
 * Gets which system calls commands can make.
 *
 * Returns: the filter
 *
 * Since: 1.0
 */
SandboxFilter
sandbox_profile_get_filter (SandboxProfile *self)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), SANDBOX_FILTER_DEFAULT);

  return self->filter;
}

/**
 * sandbox_profile_set_filter:
 * @self: a profile
 * @filter: the filter
 *
 * Sets which system calls commands can make. See [enum@Sandbox.Filter].
 *
 * Since: 1.0
 */
void
sandbox_profile_set_filter (SandboxProfile *self,
                            SandboxFilter   filter)
{
  g_return_if_fail (SANDBOX_IS_PROFILE (self));
  g_return_if_fail (!self->frozen);

  if (self->filter == filter)
    return;

  self->filter = filter;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_FILTER]);
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
  copy->view = self->view;
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->mounts)); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (G_LIST_MODEL (self->mounts), i);

      g_list_store_append (copy->mounts, mount);
    }
  copy->workspace_read_only = self->workspace_read_only;
  g_free (copy->workspace_target);
  copy->workspace_target = g_strdup (self->workspace_target);
  copy->proc = self->proc;
  copy->self_exe = g_strdup (self->self_exe);
  g_strfreev (copy->environment);
  copy->environment = sandbox_environment_merge (NULL, (const char *const *) self->environment);
  copy->identity = self->identity;
  copy->launcher_uid = self->launcher_uid;
  copy->launcher_gid = self->launcher_gid;
  copy->guest_uid = self->guest_uid;
  copy->guest_gid = self->guest_gid;
  copy->filter = self->filter;
  copy->limits = self->limits != NULL ? sandbox_limits_freeze (self->limits) : NULL;
  copy->required = self->required;
  copy->frozen = TRUE;

  return copy;
}
