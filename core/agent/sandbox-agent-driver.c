/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-driver.h"

#include "sandbox-agent-channel-private.h"
#include "sandbox-agent-process-private.h"
#include "sandbox-control-group-private.h"
#include "sandbox-environment-private.h"
#include "sandbox-error-private.h"
#include "sandbox-process-private.h"
#include "sandbox-request-private.h"
#include "sandbox-worker-private.h"

/**
 * SandboxAgentDriver:
 *
 * A driver whose sandboxes have an agent as process 1.
 *
 * Everything about commands is done here, by what the library and the agent say to each other. A derived
 * class implements [vfunc@Sandbox.AgentDriver.open_channel], and of [iface@Sandbox.Driver] the files and the
 * network policy.
 *
 * Since: 1.0
 */

typedef struct
{
  char               **environment;
  SandboxLimits       *limits;
  SandboxControlGroup *control_group; /* nullable */

  GMutex     lock; /* guards what follows */
  GPtrArray *live; /* GWeakRef of SandboxAgentProcess: those that have not ended */
  gboolean   closed;
} SandboxAgentDriverPrivate;

typedef enum
{
  PROP_ENVIRONMENT = 1,
  PROP_LIMITS,
  PROP_CONTROL_GROUP,
} SandboxAgentDriverProps;

static GParamSpec *properties[PROP_CONTROL_GROUP + 1];

/* On the request for a channel: the limits that its sandbox has a control group for */
static GQuark sandbox_agent_driver_limits_quark (void);
G_DEFINE_QUARK (sandbox - agent - driver - limits, sandbox_agent_driver_limits)

static void sandbox_agent_driver_iface_init (SandboxDriverInterface *iface);

/* clang-format off */
G_DEFINE_ABSTRACT_TYPE_WITH_CODE (SandboxAgentDriver, sandbox_agent_driver, G_TYPE_OBJECT,
                                  G_ADD_PRIVATE (SandboxAgentDriver)
                                  G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, sandbox_agent_driver_iface_init))
/* clang-format on */

/* One start: from the driver's spawn until a process has taken the request over. Shared by the handler of
 * the request's cancellation and the steps of the start. */
typedef struct
{
  gatomicrefcount     ref_count;
  SandboxAgentDriver *driver;
  SandboxCommand     *command;
  GCancellable       *cancellable; /* of the channel */
  SandboxRequest     *request;     /* until it is answered or taken over */

  /* the worker's */
  SandboxAgentChannel *channel;
  SandboxAgentProcess *process;
} SandboxAgentStart;

static SandboxAgentStart *
sandbox_agent_start_ref (SandboxAgentStart *start)
{
  g_atomic_ref_count_inc (&start->ref_count);

  return start;
}

static void
sandbox_agent_start_unref (gpointer data)
{
  SandboxAgentStart *start = data;

  if (!g_atomic_ref_count_dec (&start->ref_count))
    return;

  g_clear_object (&start->process);
  g_clear_object (&start->channel);
  g_clear_object (&start->request);
  g_clear_object (&start->cancellable);
  g_clear_object (&start->command);
  g_clear_object (&start->driver);
  g_free (start);
}

static void
sandbox_agent_start_closure_unref (gpointer  data,
                                   GClosure *closure)
{
  sandbox_agent_start_unref (data);
}

static void
sandbox_agent_driver_free_weak (gpointer data)
{
  g_weak_ref_clear (data);
  g_free (data);
}

/* FALSE when the driver has been closed. */
static gboolean
sandbox_agent_driver_add_live (SandboxAgentDriver  *self,
                               SandboxAgentProcess *process)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);
  GWeakRef                  *weak = g_new (GWeakRef, 1);
  gboolean                   closed = FALSE;

  g_weak_ref_init (weak, process);
  g_mutex_lock (&priv->lock);
  for (guint i = priv->live->len; i > 0; i--)
    {
      g_autoptr (GObject) alive = g_weak_ref_get (priv->live->pdata[i - 1]);

      if (alive == NULL)
        g_ptr_array_remove_index_fast (priv->live, i - 1);
    }
  g_ptr_array_add (priv->live, weak);
  closed = priv->closed;
  g_mutex_unlock (&priv->lock);

  return !closed;
}

static gboolean
sandbox_agent_driver_start_cb (gpointer user_data)
{
  SandboxAgentStart *start = user_data;
  g_autoptr (SandboxRequest) request = g_steal_pointer (&start->request);
  g_auto (GStrv) environment = NULL;

  if (sandbox_request_is_cancelled (request))
    {
      g_autoptr (GError) error = sandbox_error_new_cancelled ();

      g_clear_object (&start->channel);
      sandbox_request_return_error (request, error);
      return G_SOURCE_REMOVE;
    }

  environment = sandbox_environment_merge (sandbox_agent_driver_get_environment (start->driver),
                                           sandbox_command_get_environment (start->command));
  start->process = sandbox_agent_process_start (start->channel, start->command,
                                                (const char *const *) environment, request);
  if (!sandbox_agent_driver_add_live (start->driver, start->process))
    sandbox_agent_process_abort (start->process);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_driver_channel_opened (gpointer      user_data,
                                     gpointer      answer,
                                     const GError *error)
{
  SandboxAgentStart *start = user_data;

  if (error != NULL)
    {
      g_autoptr (SandboxRequest) request = g_steal_pointer (&start->request);

      sandbox_request_return_error (request, error);
      sandbox_agent_start_unref (start);
      return;
    }

  start->channel = g_object_ref (answer);
  /* Limits that nobody holds are not passed over. */
  if (sandbox_control_group_find_limit (sandbox_command_get_limits (start->command)) != NULL &&
      sandbox_agent_channel_get_group (start->channel) == NULL)
    {
      g_autoptr (SandboxRequest) request = g_steal_pointer (&start->request);
      g_autoptr (GError) refused = g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                                                "%s put the sandbox into no control group", G_OBJECT_TYPE_NAME (start->driver));

      g_clear_object (&start->channel);
      sandbox_request_return_error (request, refused);
      sandbox_agent_start_unref (start);
      return;
    }
  sandbox_worker_invoke (sandbox_agent_driver_start_cb, start, sandbox_agent_start_unref);
}

static gboolean
sandbox_agent_driver_abort_cb (gpointer user_data)
{
  SandboxAgentStart *start = user_data;

  if (start->process != NULL)
    sandbox_agent_process_abort (start->process);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_driver_start_cancelled_cb (SandboxRequest *request,
                                         gpointer        user_data)
{
  SandboxAgentStart *start = user_data;

  g_cancellable_cancel (start->cancellable);
  sandbox_worker_invoke (sandbox_agent_driver_abort_cb, sandbox_agent_start_ref (start), sandbox_agent_start_unref);
}

/**
 * sandbox_agent_driver_check_limits:
 * @limits: (nullable): the limits of a profile or a command
 * @group: (nullable): the control group that sandboxes get theirs in
 * @error: return location for an error
 *
 * Checks that an agent can enforce these limits, for backends that refuse a session before it is created.
 *
 * Fails with %SANDBOX_ERROR_NOT_SUPPORTED, naming the first that cannot be enforced.
 *
 * Returns: whether all can be enforced
 *
 * Since: 1.0
 */
gboolean
sandbox_agent_driver_check_limits (SandboxLimits       *limits,
                                   SandboxControlGroup *group,
                                   GError             **error)
{
  const char *what = NULL;

  g_return_val_if_fail (limits == NULL || SANDBOX_IS_LIMITS (limits), FALSE);
  g_return_val_if_fail (group == NULL || SANDBOX_IS_CONTROL_GROUP (group), FALSE);

  what = sandbox_control_group_find_limit (limits);
  if (what == NULL)
    return TRUE;
  if (group != NULL)
    return sandbox_control_group_check_limits (group, limits, error);

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "The limit “%s” cannot be enforced here: it needs a control group that is delegated to this program", what);

  return FALSE;
}

/**
 * sandbox_agent_driver_get_channel_limits:
 * @self: a driver
 * @request: what [vfunc@Sandbox.AgentDriver.open_channel] was called with
 *
 * Gets the limits for which the sandbox of this channel must have a control group.
 *
 * There are some only if the driver has [property@Sandbox.AgentDriver:control-group]. The group is made by
 * [ctor@Sandbox.AgentGroup.new] and given to the channel by [method@Sandbox.AgentChannel.take_group]; without it
 * the command is refused.
 *
 * Returns: (transfer none) (nullable): the limits, or %NULL when no group is needed
 *
 * Since: 1.0
 */
SandboxLimits *
sandbox_agent_driver_get_channel_limits (SandboxAgentDriver *self,
                                         SandboxRequest     *request)
{
  g_return_val_if_fail (SANDBOX_IS_AGENT_DRIVER (self), NULL);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), NULL);

  return g_object_get_qdata (G_OBJECT (request), sandbox_agent_driver_limits_quark ());
}

/* What no agent enforces is refused by name before anything starts. */
static gboolean
sandbox_agent_driver_check_command (SandboxAgentDriver *self,
                                    SandboxCommand     *command,
                                    GError            **error)
{
  SandboxLimits *limits = sandbox_command_get_limits (command);
  SandboxLimits *own = sandbox_agent_driver_get_limits (self);
  const char    *what = NULL;

  if (!sandbox_agent_driver_check_limits (limits, sandbox_agent_driver_get_control_group (self), error))
    return FALSE;

  if (sandbox_command_get_terminal (command))
    what = "terminal";
  else if (limits == NULL)
    return TRUE;
  else if (sandbox_limits_get_tmp_bytes (limits) != sandbox_limits_get_tmp_bytes (own))
    what = "tmp-bytes limit of its own";
  else if (sandbox_limits_get_shm_bytes (limits) != sandbox_limits_get_shm_bytes (own))
    what = "shm-bytes limit of its own";

  if (what != NULL)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                 "A command cannot have a %s here", what);

  return what == NULL;
}

static gboolean
sandbox_agent_driver_spawn (SandboxDriver  *driver,
                            SandboxCommand *command,
                            SandboxRequest *request,
                            GError        **error)
{
  SandboxAgentDriver *self = SANDBOX_AGENT_DRIVER (driver);
  g_autoptr (SandboxRequest) channel_request = NULL;
  SandboxAgentStart *start = NULL;
  GError            *refused = NULL;
  gboolean           taken = FALSE;

  if (!sandbox_agent_driver_check_command (self, command, error))
    return FALSE;

  start = g_new0 (SandboxAgentStart, 1);
  g_atomic_ref_count_init (&start->ref_count);
  start->driver = g_object_ref (self);
  start->command = g_object_ref (command);
  start->request = g_object_ref (request);
  start->cancellable = g_cancellable_new ();
  g_signal_connect_data (request, "cancelled", G_CALLBACK (sandbox_agent_driver_start_cancelled_cb),
                         sandbox_agent_start_ref (start), sandbox_agent_start_closure_unref, 0);

  channel_request = sandbox_request_new_internal (SANDBOX_TYPE_AGENT_CHANNEL, start->cancellable,
                                                  sandbox_agent_driver_channel_opened, start);
  if (sandbox_control_group_find_limit (sandbox_command_get_limits (command)) != NULL)
    g_object_set_qdata_full (G_OBJECT (channel_request), sandbox_agent_driver_limits_quark (),
                             g_object_ref (sandbox_command_get_limits (command)), g_object_unref);
  taken = SANDBOX_AGENT_DRIVER_GET_CLASS (self)->open_channel (self, channel_request, &refused);
  sandbox_request_dispatched (channel_request, taken, refused);

  return TRUE;
}

static gboolean
sandbox_agent_driver_close (SandboxDriver  *driver,
                            SandboxRequest *request,
                            GError        **error)
{
  SandboxAgentDriver        *self = SANDBOX_AGENT_DRIVER (driver);
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);
  g_autoptr (GPtrArray) live = NULL;

  g_mutex_lock (&priv->lock);
  priv->closed = TRUE;
  live = g_steal_pointer (&priv->live);
  priv->live = g_ptr_array_new_with_free_func (sandbox_agent_driver_free_weak);
  g_mutex_unlock (&priv->lock);

  for (guint i = 0; i < live->len; i++)
    {
      g_autoptr (SandboxAgentProcess) process = g_weak_ref_get (live->pdata[i]);

      if (process != NULL)
        sandbox_agent_process_abort (process);
    }
  sandbox_request_return_done (request);

  return TRUE;
}

static void
sandbox_agent_driver_iface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = TRUE;
  iface->spawn = sandbox_agent_driver_spawn;
  iface->close = sandbox_agent_driver_close;
}

static gboolean
sandbox_agent_driver_real_open_channel (SandboxAgentDriver *self,
                                        SandboxRequest     *request,
                                        GError            **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "%s makes no sandboxes", G_OBJECT_TYPE_NAME (self));

  return FALSE;
}

static void
sandbox_agent_driver_get_property (GObject    *object,
                                   guint       prop_id,
                                   GValue     *value,
                                   GParamSpec *pspec)
{
  SandboxAgentDriver *self = SANDBOX_AGENT_DRIVER (object);

  switch ((SandboxAgentDriverProps) prop_id)
    {
    case PROP_ENVIRONMENT:
      g_value_set_boxed (value, sandbox_agent_driver_get_environment (self));
      break;

    case PROP_LIMITS:
      g_value_set_object (value, sandbox_agent_driver_get_limits (self));
      break;

    case PROP_CONTROL_GROUP:
      g_value_set_object (value, sandbox_agent_driver_get_control_group (self));
      break;
    }
}

static void
sandbox_agent_driver_set_property (GObject      *object,
                                   guint         prop_id,
                                   const GValue *value,
                                   GParamSpec   *pspec)
{
  SandboxAgentDriver        *self = SANDBOX_AGENT_DRIVER (object);
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  switch ((SandboxAgentDriverProps) prop_id)
    {
    case PROP_ENVIRONMENT:
      priv->environment = g_value_dup_boxed (value);
      break;

    case PROP_LIMITS:
      priv->limits = g_value_dup_object (value);
      break;

    case PROP_CONTROL_GROUP:
      priv->control_group = g_value_dup_object (value);
      break;
    }
}

static void
sandbox_agent_driver_constructed (GObject *object)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (SANDBOX_AGENT_DRIVER (object));

  if (priv->limits == NULL)
    priv->limits = sandbox_limits_new ();

  G_OBJECT_CLASS (sandbox_agent_driver_parent_class)->constructed (object);
}

static void
sandbox_agent_driver_finalize (GObject *object)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (SANDBOX_AGENT_DRIVER (object));

  g_clear_pointer (&priv->environment, g_strfreev);
  g_clear_pointer (&priv->live, g_ptr_array_unref);
  g_clear_object (&priv->limits);
  g_clear_object (&priv->control_group);
  g_mutex_clear (&priv->lock);

  G_OBJECT_CLASS (sandbox_agent_driver_parent_class)->finalize (object);
}

static void
sandbox_agent_driver_class_init (SandboxAgentDriverClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = sandbox_agent_driver_get_property;
  object_class->set_property = sandbox_agent_driver_set_property;
  object_class->constructed = sandbox_agent_driver_constructed;
  object_class->finalize = sandbox_agent_driver_finalize;
  klass->open_channel = sandbox_agent_driver_real_open_channel;

  /**
   * SandboxAgentDriver:environment: (getter get_environment)
   *
   * The environment of every command, as `NAME=value`; a command's own variables come over it.
   *
   * Since: 1.0
   */
  properties[PROP_ENVIRONMENT] =
      g_param_spec_boxed ("environment", NULL, NULL, G_TYPE_STRV,
                          G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxAgentDriver:limits: (getter get_limits)
   *
   * The limits that sandboxes are built with. A command cannot have other sizes of `/tmp` and `/dev/shm`.
   *
   * Since: 1.0
   */
  properties[PROP_LIMITS] =
      g_param_spec_object ("limits", NULL, NULL, SANDBOX_TYPE_LIMITS,
                           G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxAgentDriver:control-group: (getter get_control_group)
   *
   * Where sandboxes get control groups, for the limits that need one. %NULL: a command with such a limit is refused.
   *
   * Since: 1.0
   */
  properties[PROP_CONTROL_GROUP] =
      g_param_spec_object ("control-group", NULL, NULL, SANDBOX_TYPE_CONTROL_GROUP,
                           G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_agent_driver_init (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  g_mutex_init (&priv->lock);
  priv->live = g_ptr_array_new_with_free_func (sandbox_agent_driver_free_weak);
}

/**
 * sandbox_agent_driver_get_environment: (get-property environment)
 * @self: a driver
 *
 * Gets the environment of every command.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): the variables
 *
 * Since: 1.0
 */
const char *const *
sandbox_agent_driver_get_environment (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_AGENT_DRIVER (self), NULL);

  return (const char *const *) priv->environment;
}

/**
 * sandbox_agent_driver_get_limits: (get-property limits)
 * @self: a driver
 *
 * Gets the limits that sandboxes are built with.
 *
 * Returns: (transfer none): the limits
 *
 * Since: 1.0
 */
SandboxLimits *
sandbox_agent_driver_get_limits (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_AGENT_DRIVER (self), NULL);

  return priv->limits;
}

/**
 * sandbox_agent_driver_get_control_group: (get-property control-group)
 * @self: a driver
 *
 * Gets where sandboxes get control groups.
 *
 * Returns: (transfer none) (nullable): the group
 *
 * Since: 1.0
 */
SandboxControlGroup *
sandbox_agent_driver_get_control_group (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_AGENT_DRIVER (self), NULL);

  return priv->control_group;
}
