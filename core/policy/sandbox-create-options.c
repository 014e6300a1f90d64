/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-create-options-private.h"

#include "sandbox-enums.h"
#include "sandbox-error.h"
#include "sandbox-keys-private.h"
#include "sandbox-labels-private.h"
#include "sandbox-network-policy-private.h"
#include "sandbox-paths-private.h"
#include "sandbox-profile-private.h"
#include "sandbox-state-private.h"

/**
 * SandboxCreateOptions:
 *
 * What a session is made with.
 *
 * Its files come from one of three places: a directory of the host
 * ([property@Sandbox.CreateOptions:workspace-path]), an earlier session ([property@Sandbox.CreateOptions:state]), or
 * else a new workspace, with the files of a template ([property@Sandbox.CreateOptions:template-key]) or empty.
 *
 * ```c
 * g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
 *
 * sandbox_create_options_set_template_key (options, sandbox_template_get_key (template));
 * handle = sandbox_backend_create (backend, options, NULL, &error);
 * ```
 *
 * Since: 1.0
 */
struct _SandboxCreateOptions
{
  GObject parent_instance;

  gboolean              frozen;
  SandboxNetworkPolicy *network;
  SandboxProfile       *profile;
  char                 *workspace_path;
  char                 *template_key;
  SandboxState         *state;
  SandboxWorkspaceMode  workspace_mode;
  SandboxRestrictions   required;
  GVariant             *labels;
  guint64               max_file_bytes;
  SandboxIsolation      isolation;
  guint                 idle_ms;
};

typedef enum
{
  PROP_NETWORK = 1,
  PROP_PROFILE,
  PROP_WORKSPACE_PATH,
  PROP_TEMPLATE_KEY,
  PROP_STATE,
  PROP_WORKSPACE_MODE,
  PROP_REQUIRED,
  PROP_LABELS,
  PROP_MAX_FILE_BYTES,
  PROP_ISOLATION,
  PROP_IDLE_MS,
} SandboxCreateOptionsProps;

static GParamSpec *properties[PROP_IDLE_MS + 1];

G_DEFINE_FINAL_TYPE (SandboxCreateOptions, sandbox_create_options, G_TYPE_OBJECT)

static void
sandbox_create_options_finalize (GObject *object)
{
  SandboxCreateOptions *self = SANDBOX_CREATE_OPTIONS (object);

  g_clear_object (&self->network);
  g_clear_object (&self->profile);
  g_free (self->workspace_path);
  g_free (self->template_key);
  g_clear_object (&self->state);
  g_clear_pointer (&self->labels, g_variant_unref);

  G_OBJECT_CLASS (sandbox_create_options_parent_class)->finalize (object);
}

static void
sandbox_create_options_get_property (GObject    *object,
                                     guint       prop_id,
                                     GValue     *value,
                                     GParamSpec *pspec)
{
  SandboxCreateOptions *self = SANDBOX_CREATE_OPTIONS (object);

  switch ((SandboxCreateOptionsProps) prop_id)
    {
    case PROP_NETWORK:
      g_value_set_object (value, sandbox_create_options_get_network (self));
      break;

    case PROP_PROFILE:
      g_value_set_object (value, sandbox_create_options_get_profile (self));
      break;

    case PROP_WORKSPACE_PATH:
      g_value_set_string (value, sandbox_create_options_get_workspace_path (self));
      break;

    case PROP_TEMPLATE_KEY:
      g_value_set_string (value, self->template_key);
      break;

    case PROP_STATE:
      g_value_set_object (value, self->state);
      break;

    case PROP_WORKSPACE_MODE:
      g_value_set_enum (value, self->workspace_mode);
      break;

    case PROP_REQUIRED:
      g_value_set_flags (value, sandbox_create_options_get_required (self));
      break;

    case PROP_LABELS:
      g_value_set_variant (value, sandbox_create_options_get_labels (self));
      break;

    case PROP_MAX_FILE_BYTES:
      g_value_set_uint64 (value, sandbox_create_options_get_max_file_bytes (self));
      break;

    case PROP_ISOLATION:
      g_value_set_enum (value, sandbox_create_options_get_isolation (self));
      break;

    case PROP_IDLE_MS:
      g_value_set_uint (value, sandbox_create_options_get_idle_ms (self));
      break;
    }
}

static void
sandbox_create_options_set_property (GObject      *object,
                                     guint         prop_id,
                                     const GValue *value,
                                     GParamSpec   *pspec)
{
  SandboxCreateOptions *self = SANDBOX_CREATE_OPTIONS (object);

  switch ((SandboxCreateOptionsProps) prop_id)
    {
    case PROP_NETWORK:
      sandbox_create_options_set_network (self, g_value_get_object (value));
      break;

    case PROP_PROFILE:
      sandbox_create_options_set_profile (self, g_value_get_object (value));
      break;

    case PROP_WORKSPACE_PATH:
      sandbox_create_options_set_workspace_path (self, g_value_get_string (value));
      break;

    case PROP_TEMPLATE_KEY:
      sandbox_create_options_set_template_key (self, g_value_get_string (value));
      break;

    case PROP_STATE:
      sandbox_create_options_set_state (self, g_value_get_object (value));
      break;

    case PROP_WORKSPACE_MODE:
      sandbox_create_options_set_workspace_mode (self, g_value_get_enum (value));
      break;

    case PROP_REQUIRED:
      sandbox_create_options_set_required (self, g_value_get_flags (value));
      break;

    case PROP_LABELS:
      sandbox_create_options_set_labels (self, g_value_get_variant (value));
      break;

    case PROP_MAX_FILE_BYTES:
      sandbox_create_options_set_max_file_bytes (self, g_value_get_uint64 (value));
      break;

    case PROP_ISOLATION:
      sandbox_create_options_set_isolation (self, g_value_get_enum (value));
      break;

    case PROP_IDLE_MS:
      sandbox_create_options_set_idle_ms (self, g_value_get_uint (value));
      break;
    }
}

static void
sandbox_create_options_class_init (SandboxCreateOptionsClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_create_options_finalize;
  object_class->get_property = sandbox_create_options_get_property;
  object_class->set_property = sandbox_create_options_set_property;

  /**
   * SandboxCreateOptions:network:
   *
   * What reaches the network, or %NULL for nothing.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_NETWORK] =
      g_param_spec_object ("network", NULL, NULL,
                           SANDBOX_TYPE_NETWORK_POLICY,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:profile:
   *
   * What the sandbox looks like, or %NULL for the default of the backend.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_PROFILE] =
      g_param_spec_object ("profile", NULL, NULL,
                           SANDBOX_TYPE_PROFILE,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:workspace-path: (type filename)
   *
   * An absolute path of an existing host directory that is the workspace, or %NULL for one
   * that the library keeps.
   *
   * Its content is open to the sandbox, for changes too. It is the host's own: no state of the session is kept, and
   * deleting the session leaves it alone. So it goes with none of
   * [property@Sandbox.CreateOptions:template-key], [property@Sandbox.CreateOptions:state] and
   * [property@Sandbox.CreateOptions:workspace-mode].
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_WORKSPACE_PATH] =
      g_param_spec_string ("workspace-path", NULL, NULL,
                           NULL,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:template-key:
   *
   * The key of the template whose files a new workspace begins with, see [property@Sandbox.Template:key], or %NULL for
   * an empty one.
   *
   * With a [property@Sandbox.CreateOptions:state] it need not be given, and has to be that of the state if it is.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_TEMPLATE_KEY] =
      g_param_spec_string ("template-key", NULL, NULL,
                           NULL,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:state:
   *
   * The stopped session to go on with, see [method@Sandbox.Handle.capture_state], or %NULL for a new one.
   *
   * Its files are there again. Everything else is as these options say, for nothing else is kept.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_STATE] =
      g_param_spec_object ("state", NULL, NULL,
                           SANDBOX_TYPE_STATE,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:workspace-mode:
   *
   * How a new workspace comes by the files of its template. What cannot be had here is refused with
   * %SANDBOX_ERROR_NOT_SUPPORTED.
   *
   * With a [property@Sandbox.CreateOptions:state] the workspace is there already and stays in the mode that it was made
   * in: then this is not looked at. [property@Sandbox.Handle:workspace-mode] tells which it is.
   *
   * The default is %SANDBOX_WORKSPACE_MODE_AUTO.
   *
   * Since: 1.0
   */
  properties[PROP_WORKSPACE_MODE] =
      g_param_spec_enum ("workspace-mode", NULL, NULL,
                         SANDBOX_TYPE_WORKSPACE_MODE, SANDBOX_WORKSPACE_MODE_AUTO,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:required:
   *
   * Restrictions that the backend must be able to enforce; else nothing is created.
   *
   * The default is %SANDBOX_RESTRICTIONS_NONE.
   *
   * Since: 1.0
   */
  properties[PROP_REQUIRED] =
      g_param_spec_flags ("required", NULL, NULL,
                          SANDBOX_TYPE_RESTRICTIONS, SANDBOX_RESTRICTIONS_NONE,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:labels:
   *
   * Names and values of the host for this session, of type `a{ss}`, or %NULL for none: at
   * most 64, names of 1 to 128 bytes, values of at most 1024. They do not reach the
   * sandbox.
   *
   * They are kept with the session, see [property@Sandbox.State:labels], and readable to whoever can read the state
   * directory: no place for secrets. With a [property@Sandbox.CreateOptions:state] they stay what they were.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_LABELS] =
      g_param_spec_variant ("labels", NULL, NULL,
                            G_VARIANT_TYPE ("a{ss}"), NULL,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:max-file-bytes:
   *
   * How many bytes one call that reads or writes a whole file may move. Streams are not
   * bounded.
   *
   * The default is 1048576, 1 MiB.
   *
   * Since: 1.0
   */
  properties[PROP_MAX_FILE_BYTES] =
      g_param_spec_uint64 ("max-file-bytes", NULL, NULL,
                           1, G_MAXINT64, 1048576,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:isolation:
   *
   * What the commands of the session have to themselves. What a backend cannot give is refused with
   * %SANDBOX_ERROR_NOT_SUPPORTED.
   *
   * What commands share in `/tmp` and `/dev/shm` is the sandbox's and not the workspace's: it is gone when the session
   * has been stopped, and not there when a later one takes up its [property@Sandbox.CreateOptions:state].
   *
   * The default is %SANDBOX_ISOLATION_PER_COMMAND.
   *
   * Since: 1.0
   */
  properties[PROP_ISOLATION] =
      g_param_spec_enum ("isolation", NULL, NULL,
                         SANDBOX_TYPE_ISOLATION, SANDBOX_ISOLATION_PER_COMMAND,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCreateOptions:idle-ms:
   *
   * After how many milliseconds without a command the session rests, or 0 for never.
   *
   * A session at rest has no process, and its next command takes as long as the first one did. With
   * %SANDBOX_ISOLATION_SHARED the sandbox itself stays, as commands may have left something in there.
   *
   * Where the workspace is an overlay, close the streams of [method@Sandbox.Session.open_read] and
   * [method@Sandbox.Session.open_write] before the next command: as long as one is open the sandbox of a session at rest
   * cannot be started anew, and after 5 seconds the command fails with %SANDBOX_ERROR_BUSY.
   *
   * The default is 0.
   *
   * Since: 1.0
   */
  properties[PROP_IDLE_MS] =
      g_param_spec_uint ("idle-ms", NULL, NULL,
                         0, G_MAXINT, 0,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_create_options_init (SandboxCreateOptions *self)
{
  self->max_file_bytes = 1048576;
}

/**
 * sandbox_create_options_new:
 *
 * Makes the default options: no network, the default profile of the backend, a new workspace.
 *
 * Returns: (transfer full): the options
 *
 * Since: 1.0
 */
SandboxCreateOptions *
sandbox_create_options_new (void)
{
  return g_object_new (SANDBOX_TYPE_CREATE_OPTIONS, NULL);
}

/**
 * sandbox_create_options_get_network:
 * @self: an options object
 *
 * Gets the network policy.
 *
 * Returns: (transfer none) (nullable): the policy
 *
 * Since: 1.0
 */
SandboxNetworkPolicy *
sandbox_create_options_get_network (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), NULL);

  return self->network;
}

/**
 * sandbox_create_options_set_network:
 * @self: an options object
 * @network: (nullable): the policy, or %NULL to deny everything
 *
 * Sets the network policy. See [property@Sandbox.CreateOptions:network].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_network (SandboxCreateOptions *self,
                                    SandboxNetworkPolicy *network)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (network == NULL || SANDBOX_IS_NETWORK_POLICY (network));

  if (!g_set_object (&self->network, network))
    return;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_NETWORK]);
}

/**
 * sandbox_create_options_get_profile:
 * @self: an options object
 *
 * Gets the profile.
 *
 * Returns: (transfer none) (nullable): the profile
 *
 * Since: 1.0
 */
SandboxProfile *
sandbox_create_options_get_profile (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), NULL);

  return self->profile;
}

/**
 * sandbox_create_options_set_profile:
 * @self: an options object
 * @profile: (nullable): the profile
 *
 * Sets the profile. See [property@Sandbox.CreateOptions:profile].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_profile (SandboxCreateOptions *self,
                                    SandboxProfile       *profile)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (profile == NULL || SANDBOX_IS_PROFILE (profile));

  if (!g_set_object (&self->profile, profile))
    return;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_PROFILE]);
}

/**
 * sandbox_create_options_get_workspace_path:
 * @self: an options object
 *
 * Gets the host directory to use as the workspace.
 *
 * Returns: (transfer none) (nullable) (type filename): the path
 *
 * Since: 1.0
 */
const char *
sandbox_create_options_get_workspace_path (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), NULL);

  return self->workspace_path;
}

/**
 * sandbox_create_options_set_workspace_path:
 * @self: an options object
 * @workspace_path: (nullable) (type filename): the absolute path
 *
 * Sets the host directory to use as the workspace. See
 * [property@Sandbox.CreateOptions:workspace-path].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_workspace_path (SandboxCreateOptions *self,
                                           const char           *workspace_path)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);

  if (g_strcmp0 (self->workspace_path, workspace_path) == 0)
    return;

  g_free (self->workspace_path);
  self->workspace_path = g_strdup (workspace_path);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_WORKSPACE_PATH]);
}

/**
 * sandbox_create_options_get_template_key:
 * @self: an options object
 *
 * Gets the key of the template that a new workspace is made from.
 *
 * Returns: (transfer none) (nullable): the key
 *
 * Since: 1.0
 */
const char *
sandbox_create_options_get_template_key (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), NULL);

  return self->template_key;
}

/**
 * sandbox_create_options_set_template_key:
 * @self: an options object
 * @template_key: (nullable): the key, 64 hexadecimal digits
 *
 * Sets the template that a new workspace is made from. See [property@Sandbox.CreateOptions:template-key].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_template_key (SandboxCreateOptions *self,
                                         const char           *template_key)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);

  if (g_strcmp0 (self->template_key, template_key) == 0)
    return;

  g_free (self->template_key);
  self->template_key = g_strdup (template_key);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TEMPLATE_KEY]);
}

/**
 * sandbox_create_options_get_state:
 * @self: an options object
 *
 * Gets the session to go on with.
 *
 * Returns: (transfer none) (nullable): the state
 *
 * Since: 1.0
 */
SandboxState *
sandbox_create_options_get_state (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), NULL);

  return self->state;
}

/**
 * sandbox_create_options_set_state:
 * @self: an options object
 * @state: (nullable): the state
 *
 * Sets the session to go on with. See [property@Sandbox.CreateOptions:state].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_state (SandboxCreateOptions *self,
                                  SandboxState         *state)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (state == NULL || SANDBOX_IS_STATE (state));

  if (!g_set_object (&self->state, state))
    return;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
}

/**
 * sandbox_create_options_get_workspace_mode:
 * @self: an options object
 *
 * Gets how a new workspace comes by its files.
 *
 * Returns: the mode
 *
 * Since: 1.0
 */
SandboxWorkspaceMode
sandbox_create_options_get_workspace_mode (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), SANDBOX_WORKSPACE_MODE_AUTO);

  return self->workspace_mode;
}

/**
 * sandbox_create_options_set_workspace_mode:
 * @self: an options object
 * @workspace_mode: the mode
 *
 * Sets how a new workspace comes by its files. See [property@Sandbox.CreateOptions:workspace-mode].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_workspace_mode (SandboxCreateOptions *self,
                                           SandboxWorkspaceMode  workspace_mode)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (workspace_mode >= SANDBOX_WORKSPACE_MODE_AUTO && workspace_mode <= SANDBOX_WORKSPACE_MODE_COPY);

  if (self->workspace_mode == workspace_mode)
    return;

  self->workspace_mode = workspace_mode;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_WORKSPACE_MODE]);
}

/**
 * sandbox_create_options_get_required:
 * @self: an options object
 *
 * Gets the restrictions that must hold.
 *
 * Returns: the restrictions
 *
 * Since: 1.0
 */
SandboxRestrictions
sandbox_create_options_get_required (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), SANDBOX_RESTRICTIONS_NONE);

  return self->required;
}

/**
 * sandbox_create_options_set_required:
 * @self: an options object
 * @required: the restrictions
 *
 * Sets the restrictions that must hold. See [property@Sandbox.CreateOptions:required].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_required (SandboxCreateOptions *self,
                                     SandboxRestrictions   required)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);

  if (self->required == required)
    return;

  self->required = required;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_REQUIRED]);
}

/**
 * sandbox_create_options_get_labels:
 * @self: an options object
 *
 * Gets the labels.
 *
 * Returns: (transfer none) (nullable): the labels
 *
 * Since: 1.0
 */
GVariant *
sandbox_create_options_get_labels (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), NULL);

  return self->labels;
}

/**
 * sandbox_create_options_set_labels:
 * @self: an options object
 * @labels: (nullable): the labels
 *
 * Sets the labels. See [property@Sandbox.CreateOptions:labels].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_labels (SandboxCreateOptions *self,
                                   GVariant             *labels)
{
  g_autoptr (GVariant) old = NULL;

  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (labels == NULL || g_variant_is_of_type (labels, G_VARIANT_TYPE ("a{ss}")));

  if (self->labels == labels)
    return;

  old = g_steal_pointer (&self->labels);
  self->labels = labels != NULL ? g_variant_ref_sink (labels) : NULL;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LABELS]);
}

/**
 * sandbox_create_options_get_max_file_bytes:
 * @self: an options object
 *
 * Gets the limit of file calls.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_create_options_get_max_file_bytes (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), 0);

  return self->max_file_bytes;
}

/**
 * sandbox_create_options_set_max_file_bytes:
 * @self: an options object
 * @max_file_bytes: bytes, from 1 to %G_MAXINT64
 *
 * Sets the limit of file calls. See [property@Sandbox.CreateOptions:max-file-bytes].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_max_file_bytes (SandboxCreateOptions *self,
                                           guint64               max_file_bytes)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (max_file_bytes >= 1 && max_file_bytes <= G_MAXINT64);

  if (self->max_file_bytes == max_file_bytes)
    return;

  self->max_file_bytes = max_file_bytes;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MAX_FILE_BYTES]);
}

/**
 * sandbox_create_options_get_isolation:
 * @self: an options object
 *
 * Gets what commands have to themselves.
 *
 * Returns: the isolation
 *
 * Since: 1.0
 */
SandboxIsolation
sandbox_create_options_get_isolation (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), SANDBOX_ISOLATION_PER_COMMAND);

  return self->isolation;
}

/**
 * sandbox_create_options_set_isolation:
 * @self: an options object
 * @isolation: the isolation
 *
 * Sets what commands have to themselves. See [property@Sandbox.CreateOptions:isolation].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_isolation (SandboxCreateOptions *self,
                                      SandboxIsolation      isolation)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (isolation >= SANDBOX_ISOLATION_PER_COMMAND && isolation <= SANDBOX_ISOLATION_SHARED);

  if (self->isolation == isolation)
    return;

  self->isolation = isolation;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ISOLATION]);
}

/**
 * sandbox_create_options_get_idle_ms:
 * @self: an options object
 *
 * Gets after how long without a command the session rests.
 *
 * Returns: milliseconds, or 0 for never
 *
 * Since: 1.0
 */
guint
sandbox_create_options_get_idle_ms (SandboxCreateOptions *self)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), 0);

  return self->idle_ms;
}

/**
 * sandbox_create_options_set_idle_ms:
 * @self: an options object
 * @idle_ms: milliseconds, or 0 for never
 *
 * Sets after how long without a command the session rests. See [property@Sandbox.CreateOptions:idle-ms].
 *
 * Since: 1.0
 */
void
sandbox_create_options_set_idle_ms (SandboxCreateOptions *self,
                                    guint                 idle_ms)
{
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (idle_ms <= G_MAXINT);

  if (self->idle_ms == idle_ms)
    return;

  self->idle_ms = idle_ms;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_IDLE_MS]);
}

SandboxCreateOptions *
sandbox_create_options_freeze (SandboxCreateOptions *self)
{
  SandboxCreateOptions *copy;

  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), NULL);

  if (self->frozen)
    return g_object_ref (self);

  copy = sandbox_create_options_new ();
  copy->network = self->network != NULL ? sandbox_network_policy_freeze (self->network) : NULL;
  copy->profile = self->profile != NULL ? sandbox_profile_freeze (self->profile) : NULL;
  copy->workspace_path = g_strdup (self->workspace_path);
  copy->template_key = g_strdup (self->template_key);
  g_set_object (&copy->state, self->state);
  copy->workspace_mode = self->workspace_mode;
  copy->required = self->required;
  copy->labels = self->labels != NULL ? g_variant_ref (self->labels) : NULL;
  copy->max_file_bytes = self->max_file_bytes;
  copy->isolation = self->isolation;
  copy->idle_ms = self->idle_ms;
  copy->frozen = TRUE;

  return copy;
}

/* Where the files come from, in one way only. */
static gboolean
sandbox_create_options_validate_workspace (SandboxCreateOptions *self,
                                           GError              **error)
{
  if (self->workspace_path != NULL && !g_path_is_absolute (self->workspace_path))
    {
      g_autofree char *shown = sandbox_path_display (self->workspace_path);

      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "The workspace path “%s” is not absolute", shown);
      return FALSE;
    }
  if (self->workspace_path != NULL &&
      (self->template_key != NULL || self->state != NULL || self->workspace_mode != SANDBOX_WORKSPACE_MODE_AUTO))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The options have both workspace-path and %s",
                   self->template_key != NULL ? "template-key" : self->state != NULL ? "state"
                                                                                     : "workspace-mode");
      return FALSE;
    }
  if (self->template_key != NULL && !sandbox_key_is_valid (self->template_key))
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                           "template-key is not the key of a template, which has 64 hexadecimal digits in lower case");
      return FALSE;
    }
  if (self->state != NULL && !sandbox_state_is_complete (self->state))
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The state is empty");
      return FALSE;
    }
  if (self->state != NULL && self->template_key != NULL &&
      g_strcmp0 (self->template_key, sandbox_state_get_template_key (self->state)) != 0)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STATE_MISMATCH,
                           "The state is of a session that was not made from the template of template-key");
      return FALSE;
    }

  return TRUE;
}

gboolean
sandbox_create_options_validate (SandboxCreateOptions *self,
                                 GError              **error)
{
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (self), FALSE);

  if (!sandbox_create_options_validate_workspace (self, error))
    return FALSE;

  if (self->labels != NULL && !sandbox_labels_validate (self->labels, error))
    return FALSE;

  return self->profile == NULL || sandbox_profile_validate (self->profile, error);
}
