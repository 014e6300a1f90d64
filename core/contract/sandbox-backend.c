/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-backend-private.h"

#include "sandbox-fork-private.h"
#include "sandbox-keys-private.h"

#include <unistd.h>

/**
 * SandboxBackend:
 *
 * A way to make sandboxes.
 *
 * Hosts get one from [method@Sandbox.Registry.create_backend] and make sessions with
 * [method@Sandbox.Backend.create]. Authors of backends derive a class and implement
 * [vfunc@Sandbox.Backend.create_driver] and [vfunc@Sandbox.Backend.probe]; the library keeps files for a backend that
 * asks for it with [vfunc@Sandbox.Backend.get_storage].
 *
 * What a backend cannot do or enforce, it refuses; nothing ever runs on the host instead.
 *
 * Since: 1.0
 */

typedef struct
{
  guint             generation;
  char             *name;
  char             *state_directory;
  SandboxAdmission *admission;

  SandboxGatewayFunc gateway_func;
  gpointer           gateway_data;
  GDestroyNotify     gateway_notify;
} SandboxBackendPrivate;

typedef enum
{
  PROP_NAME = 1,
  PROP_STATE_DIRECTORY,
  PROP_MAX_CONCURRENT_COMMANDS,
} SandboxBackendProps;

static GParamSpec *properties[PROP_MAX_CONCURRENT_COMMANDS + 1];

typedef enum
{
  SIGNAL_PREWARM_PROGRESS,
  SIGNAL_GATEWAY_ERROR,
} SandboxBackendSignals;

static guint signals[SIGNAL_GATEWAY_ERROR + 1];

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (SandboxBackend, sandbox_backend, G_TYPE_OBJECT)

static gboolean
sandbox_backend_real_probe (SandboxBackend *self,
                            SandboxProfile *profile,
                            SandboxRequest *request,
                            GError        **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "%s cannot be probed", G_OBJECT_TYPE_NAME (self));

  return FALSE;
}

static gboolean
sandbox_backend_real_create_driver (SandboxBackend       *self,
                                    SandboxCreateOptions *options,
                                    SandboxWorkspace     *workspace,
                                    SandboxRequest       *request,
                                    GError              **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "%s makes no sandboxes", G_OBJECT_TYPE_NAME (self));

  return FALSE;
}

static char *
sandbox_backend_real_plan (SandboxBackend       *self,
                           SandboxCommand       *command,
                           SandboxCreateOptions *options,
                           GError              **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "%s does not tell its plans", G_OBJECT_TYPE_NAME (self));

  return NULL;
}

static gboolean
sandbox_backend_real_get_storage (SandboxBackend *self,
                                  guint          *uid,
                                  guint          *gid)
{
  return FALSE;
}

static gboolean
sandbox_backend_real_try_overlay (SandboxBackend   *self,
                                  SandboxWorkspace *workspace,
                                  GError          **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "%s mounts no overlays", G_OBJECT_TYPE_NAME (self));

  return FALSE;
}

static gboolean
sandbox_backend_real_check_overlay (SandboxBackend       *self,
                                    SandboxCreateOptions *options,
                                    GError              **error)
{
  return TRUE;
}

static void
sandbox_backend_get_property (GObject    *object,
                              guint       prop_id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  SandboxBackend *self = SANDBOX_BACKEND (object);

  switch ((SandboxBackendProps) prop_id)
    {
    case PROP_NAME:
      g_value_set_string (value, sandbox_backend_get_name (self));
      break;

    case PROP_STATE_DIRECTORY:
      g_value_set_string (value, sandbox_backend_get_state_directory (self));
      break;

    case PROP_MAX_CONCURRENT_COMMANDS:
      g_value_set_uint (value, sandbox_backend_get_max_concurrent_commands (self));
      break;
    }
}

static void
sandbox_backend_set_property (GObject      *object,
                              guint         prop_id,
                              const GValue *value,
                              GParamSpec   *pspec)
{
  SandboxBackend        *self = SANDBOX_BACKEND (object);
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  switch ((SandboxBackendProps) prop_id)
    {
    case PROP_NAME:
      priv->name = g_value_dup_string (value);
      break;

    case PROP_STATE_DIRECTORY:
      priv->state_directory = g_value_dup_string (value);
      break;

    case PROP_MAX_CONCURRENT_COMMANDS:
      sandbox_backend_set_max_concurrent_commands (self, g_value_get_uint (value));
      break;
    }
}

static void
sandbox_backend_finalize (GObject *object)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (SANDBOX_BACKEND (object));

  g_clear_pointer (&priv->name, g_free);
  g_clear_pointer (&priv->state_directory, g_free);
  g_clear_pointer (&priv->admission, sandbox_admission_unref);
  if (priv->gateway_notify != NULL)
    priv->gateway_notify (g_steal_pointer (&priv->gateway_data));

  G_OBJECT_CLASS (sandbox_backend_parent_class)->finalize (object);
}

static void
sandbox_backend_class_init (SandboxBackendClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = sandbox_backend_get_property;
  object_class->set_property = sandbox_backend_set_property;
  object_class->finalize = sandbox_backend_finalize;

  klass->probe = sandbox_backend_real_probe;
  klass->create_driver = sandbox_backend_real_create_driver;
  klass->plan = sandbox_backend_real_plan;
  klass->get_storage = sandbox_backend_real_get_storage;
  klass->try_overlay = sandbox_backend_real_try_overlay;
  klass->check_overlay = sandbox_backend_real_check_overlay;

  /**
   * SandboxBackend:name: (getter get_name)
   *
   * The name of the backend, as its module declares it.
   *
   * The default is %NULL; a registry sets it.
   *
   * Since: 1.0
   */
  properties[PROP_NAME] =
      g_param_spec_string ("name", NULL, NULL, NULL,
                           G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxBackend:state-directory: (getter get_state_directory)
   *
   * The host directory in which templates and sessions are kept, or %NULL for a private one, in the directory for
   * temporary files: a session in there is removed when it is stopped, and the rest with this object.
   *
   * It is made when it is missing. One that belongs to somebody else, is a link, or has a mode other than 0700 is
   * refused with %SANDBOX_ERROR_DENIED when it is first needed. Several objects and programs may use one at once.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_STATE_DIRECTORY] =
      g_param_spec_string ("state-directory", NULL, NULL, NULL,
                           G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxBackend:max-concurrent-commands: (getter get_max_concurrent_commands) (setter set_max_concurrent_commands)
   *
   * How many commands may be alive at once, over all sessions of this object.
   *
   * One more is refused with %SANDBOX_ERROR_BUSY before anything starts. File calls do not count.
   *
   * The default is 8, and 1024 are possible.
   *
   * Since: 1.0
   */
  properties[PROP_MAX_CONCURRENT_COMMANDS] =
      g_param_spec_uint ("max-concurrent-commands", NULL, NULL,
                         1, SANDBOX_ADMISSION_MAX, SANDBOX_ADMISSION_DEFAULT,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);

  /**
   * SandboxBackend::prewarm-progress:
   * @self: a backend
   * @name: the name of the template
   * @bytes: how many bytes have been read
   * @files: how many files have been read
   *
   * Emitted while [method@Sandbox.Backend.prewarm_async] is at work, in the main context of the call; during a
   * synchronous call in its thread. It comes ten times a second at most, and with the last numbers before the call
   * is answered.
   *
   * Since: 1.0
   */
  signals[SIGNAL_PREWARM_PROGRESS] =
      g_signal_new ("prewarm-progress", SANDBOX_TYPE_BACKEND, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                    G_TYPE_NONE, 3, G_TYPE_STRING, G_TYPE_UINT64, G_TYPE_UINT64);

  /**
   * SandboxBackend::gateway-error:
   * @self: a backend
   * @error: the cause
   *
   * A request of a command was let through to an origin but failed.
   *
   * The command is told that it failed, and not why: this is for the log of the host. It is emitted where
   * [signal@Sandbox.Session::network-request] of the session is, and is bounded like that. When something was left out of the
   * three signals, as the host did not keep up, this one is emitted with %SANDBOX_ERROR_LIMIT and a message that says how
   * much of each, as soon as there is room again.
   *
   * Since: 1.0
   */
  signals[SIGNAL_GATEWAY_ERROR] =
      g_signal_new ("gateway-error", SANDBOX_TYPE_BACKEND, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                    G_TYPE_NONE, 1, G_TYPE_ERROR);
}

static void
sandbox_backend_init (SandboxBackend *self)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  priv->generation = sandbox_fork_get_generation ();
  priv->admission = sandbox_admission_new ();
}

gboolean
sandbox_backend_check_own (SandboxBackend *self,
                           GError        **error)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  return sandbox_fork_check (priv->generation, "backend", error);
}

SandboxAdmission *
sandbox_backend_get_admission (SandboxBackend *self)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  return priv->admission;
}

gboolean
sandbox_backend_check_storage (SandboxBackend *self,
                               const char     *what,
                               guint          *uid,
                               guint          *gid,
                               GError        **error)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  if (!sandbox_backend_check_own (self, error))
    return FALSE;

  *uid = geteuid ();
  *gid = getegid ();
  if (!SANDBOX_BACKEND_GET_CLASS (self)->get_storage (self, uid, gid))
    {
      if (what != NULL)
        g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                     "%s cannot be had: nothing is kept on disk for %s", what, G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }
  if (!sandbox_backend_name_is_valid (priv->name))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                   "This %s has no name under which its files could be kept", G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }

  return TRUE;
}

void
sandbox_backend_set_gateway_func (SandboxBackend    *self,
                                  SandboxGatewayFunc func,
                                  gpointer           data,
                                  GDestroyNotify     notify)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  g_return_if_fail (priv->gateway_func == NULL);

  priv->gateway_func = func;
  priv->gateway_data = data;
  priv->gateway_notify = notify;
}

SandboxGateway *
sandbox_backend_make_gateway (SandboxBackend *self,
                              GError        **error)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  if (priv->gateway_func != NULL)
    return priv->gateway_func (priv->gateway_data, error);

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED,
               "A list of origins needs a gateway, and this %s was not made by a registry, which finds them",
               G_OBJECT_TYPE_NAME (self));

  return NULL;
}

gboolean
sandbox_backend_wants_gateway_errors (SandboxBackend *self)
{
  return g_signal_has_handler_pending (self, signals[SIGNAL_GATEWAY_ERROR], 0, FALSE);
}

void
sandbox_backend_emit_gateway_error (SandboxBackend *self,
                                    const GError   *error)
{
  g_signal_emit (self, signals[SIGNAL_GATEWAY_ERROR], 0, error);
}

void
sandbox_backend_emit_prewarm_progress (SandboxBackend *self,
                                       const char     *name,
                                       guint64         bytes,
                                       guint64         files)
{
  g_signal_emit (self, signals[SIGNAL_PREWARM_PROGRESS], 0, name, bytes, files);
}

/**
 * sandbox_backend_get_name: (get-property name)
 * @self: a backend
 *
 * Gets the name of the backend.
 *
 * Returns: (transfer none) (nullable): the name, or %NULL for an object made without a registry
 *
 * Since: 1.0
 */
const char *
sandbox_backend_get_name (SandboxBackend *self)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), NULL);

  return priv->name;
}

/**
 * sandbox_backend_get_state_directory: (get-property state-directory)
 * @self: a backend
 *
 * Gets the host directory in which templates and sessions are kept.
 *
 * Returns: (transfer none) (nullable) (type filename): the directory, or %NULL for a private one
 *
 * Since: 1.0
 */
const char *
sandbox_backend_get_state_directory (SandboxBackend *self)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), NULL);

  return priv->state_directory;
}

/**
 * sandbox_backend_get_max_concurrent_commands: (get-property max-concurrent-commands)
 * @self: a backend
 *
 * Gets how many commands may be alive at once.
 *
 * Returns: the number
 *
 * Since: 1.0
 */
guint
sandbox_backend_get_max_concurrent_commands (SandboxBackend *self)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), 0);

  return sandbox_admission_get_limit (priv->admission);
}

/**
 * sandbox_backend_set_max_concurrent_commands: (set-property max-concurrent-commands)
 * @self: a backend
 * @max_concurrent_commands: the number, from 1 to 1024
 *
 * Sets how many commands may be alive at once. Commands that are alive already stay so.
 *
 * Since: 1.0
 */
void
sandbox_backend_set_max_concurrent_commands (SandboxBackend *self,
                                             guint           max_concurrent_commands)
{
  SandboxBackendPrivate *priv = sandbox_backend_get_instance_private (self);

  g_return_if_fail (SANDBOX_IS_BACKEND (self));
  g_return_if_fail (max_concurrent_commands >= 1 && max_concurrent_commands <= SANDBOX_ADMISSION_MAX);

  if (sandbox_admission_get_limit (priv->admission) == max_concurrent_commands)
    return;

  sandbox_admission_set_limit (priv->admission, max_concurrent_commands);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MAX_CONCURRENT_COMMANDS]);
}
