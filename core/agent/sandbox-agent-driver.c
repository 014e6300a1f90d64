/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-driver.h"

#include "sandbox-agent-channel-private.h"
#include "sandbox-agent-doors-private.h"
#include "sandbox-agent-nest-private.h"
#include "sandbox-agent-process-private.h"
#include "sandbox-control-group-private.h"
#include "sandbox-enums.h"
#include "sandbox-environment-private.h"
#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-fork-private.h"
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
 * network policy. For a list of origins it makes channels with %SANDBOX_AGENT_CHANNEL_FLAGS_DOOR; the doors are given to the
 * gateway here.
 *
 * Since: 1.0
 */

/* A command that is proven not to have run, as its slot or the sandbox of the session was killed, is tried again so often. */
#define AGAIN_MAX 2

typedef struct
{
  char               **environment;
  SandboxLimits       *limits;
  SandboxControlGroup *control_group; /* nullable */
  gboolean             nested;
  guint                armed_slots;
  guint                idle_ms;
  SandboxIsolation     isolation;
  SandboxAgentNest    *nest; /* NULL unless nested */
  SandboxAgentDoors   *doors;
  guint                generation;

  GMutex     lock; /* guards what follows */
  GPtrArray *live; /* GWeakRef of SandboxAgentProcess: those that have not ended */
  gboolean   closed;
} SandboxAgentDriverPrivate;

typedef enum
{
  PROP_ENVIRONMENT = 1,
  PROP_LIMITS,
  PROP_CONTROL_GROUP,
  PROP_NESTED,
  PROP_ARMED_SLOTS,
  PROP_IDLE_MS,
  PROP_ISOLATION,
} SandboxAgentDriverProps;

static GParamSpec *properties[PROP_ISOLATION + 1];

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
  guint                n_again;
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
sandbox_agent_driver_is_closed (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);
  gboolean                   closed = FALSE;

  g_mutex_lock (&priv->lock);
  closed = priv->closed;
  g_mutex_unlock (&priv->lock);

  return closed;
}

/* Answers a start that comes to nothing. */
static void
sandbox_agent_start_fail (SandboxAgentStart *start,
                          const GError      *error)
{
  g_autoptr (SandboxRequest) request = g_steal_pointer (&start->request);
  g_autoptr (GError) cancelled = sandbox_request_is_cancelled (request) ? sandbox_error_new_cancelled () : NULL;

  g_clear_object (&start->channel);
  sandbox_request_return_error (request, cancelled != NULL ? cancelled : error);
}

static gboolean
sandbox_agent_start_is_counted (SandboxAgentStart *start)
{
  SandboxLimits *limits = sandbox_command_get_limits (start->command);

  return limits != NULL && sandbox_agent_slots_is_counted (sandbox_limits_get_processes (limits));
}

static void sandbox_agent_start_take_slot (gpointer             user_data,
                                           SandboxAgentSlots   *slots,
                                           SandboxAgentChannel *slot,
                                           const GError        *error);

static gboolean
sandbox_agent_start_again (gpointer        user_data,
                           SandboxRequest *request)
{
  SandboxAgentStart         *start = user_data;
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (start->driver);

  if (start->n_again == AGAIN_MAX || sandbox_request_is_cancelled (request))
    return FALSE;

  start->n_again++;
  start->request = g_object_ref (request);
  g_clear_object (&start->channel);
  g_clear_object (&start->process);
  sandbox_agent_nest_take (priv->nest, sandbox_agent_start_is_counted (start), sandbox_agent_start_take_slot, sandbox_agent_start_ref (start));

  return TRUE;
}

/* Sends the command to the start's channel, which is in a slot of @slots or has a sandbox for itself. */
static void
sandbox_agent_start_run (SandboxAgentStart *start,
                         SandboxAgentSlots *slots)
{
  g_autoptr (SandboxRequest) request = g_steal_pointer (&start->request);
  g_auto (GStrv) environment = sandbox_environment_merge (sandbox_agent_driver_get_environment (start->driver),
                                                          sandbox_command_get_environment (start->command));

  start->process = sandbox_agent_process_start (start->channel, slots, start->command,
                                                (const char *const *) environment, request,
                                                slots != NULL ? sandbox_agent_start_again : NULL,
                                                sandbox_agent_start_ref (start), sandbox_agent_start_unref);
  if (!sandbox_agent_driver_add_live (start->driver, start->process))
    sandbox_agent_process_abort (start->process);
}

static gboolean
sandbox_agent_driver_start_cb (gpointer user_data)
{
  SandboxAgentStart *start = user_data;

  if (sandbox_request_is_cancelled (start->request))
    sandbox_agent_start_fail (start, NULL);
  else
    sandbox_agent_start_run (start, NULL);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_start_take_slot (gpointer             user_data,
                               SandboxAgentSlots   *slots,
                               SandboxAgentChannel *slot,
                               const GError        *error)
{
  SandboxAgentStart *start = user_data;

  start->channel = slot;
  if (slot != NULL)
    sandbox_agent_start_run (start, slots);
  else
    sandbox_agent_start_fail (start, error);
  sandbox_agent_start_unref (start);
}

static gboolean
sandbox_agent_driver_place_cb (gpointer user_data)
{
  SandboxAgentStart         *start = user_data;
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (start->driver);

  if (sandbox_request_is_cancelled (start->request))
    sandbox_agent_start_fail (start, NULL);
  else
    sandbox_agent_nest_take (priv->nest, sandbox_agent_start_is_counted (start), sandbox_agent_start_take_slot, sandbox_agent_start_ref (start));

  return G_SOURCE_REMOVE;
}

/* Somebody who wants the sandbox of the session to end */
typedef struct
{
  SandboxAgentDriver         *driver;
  SandboxAgentDriverEndedFunc func;
  gpointer                    data;
  gboolean                    is_close;
} SandboxAgentDriverEnd;

static void
sandbox_agent_driver_sandbox_ended (gpointer user_data)
{
  g_autofree SandboxAgentDriverEnd *end = user_data;

  end->func (end->driver, end->data);
  g_object_unref (end->driver);
}

static gboolean
sandbox_agent_driver_end_sandbox_cb (gpointer user_data)
{
  SandboxAgentDriverEnd     *end = user_data;
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (end->driver);

  if (priv->nest == NULL)
    sandbox_agent_driver_sandbox_ended (end);
  else if (end->is_close)
    sandbox_agent_nest_close (priv->nest, sandbox_agent_driver_sandbox_ended, end);
  else
    sandbox_agent_nest_end (priv->nest, sandbox_agent_driver_sandbox_ended, end);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_driver_end_nest (SandboxAgentDriver         *self,
                               gboolean                    is_close,
                               SandboxAgentDriverEndedFunc func,
                               gpointer                    user_data)
{
  SandboxAgentDriverEnd *end = g_new (SandboxAgentDriverEnd, 1);

  end->driver = g_object_ref (self);
  end->func = func;
  end->data = user_data;
  end->is_close = is_close;
  sandbox_worker_invoke (sandbox_agent_driver_end_sandbox_cb, end, NULL);
}

/**
 * sandbox_agent_driver_end_sandbox: (skip)
 * @self: a driver
 * @func: (scope async) (closure user_data): called when nothing of it can run any more
 * @user_data: data for @func
 *
 * Ends the sandbox that the commands of the session share, with everything that runs in there. The next command gets a
 * new one.
 *
 * For drivers that build the next one differently. Does nothing to commands that have a sandbox for themselves.
 *
 * Since: 1.0
 */
void
sandbox_agent_driver_end_sandbox (SandboxAgentDriver         *self,
                                  SandboxAgentDriverEndedFunc func,
                                  gpointer                    user_data)
{
  g_return_if_fail (SANDBOX_IS_AGENT_DRIVER (self));
  g_return_if_fail (func != NULL);

  sandbox_agent_driver_end_nest (self, FALSE, func, user_data);
}

static void
sandbox_agent_driver_channel_opened (gpointer      user_data,
                                     gpointer      answer,
                                     const GError *error)
{
  SandboxAgentStart         *start = user_data;
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (start->driver);

  if (error != NULL)
    {
      g_autoptr (SandboxRequest) request = g_steal_pointer (&start->request);

      sandbox_request_return_error (request, error);
      sandbox_agent_start_unref (start);
      return;
    }

  start->channel = g_object_ref (answer);
  sandbox_agent_channel_set_doors (start->channel, priv->doors);
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
  SandboxAgentStart         *start = user_data;
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (start->driver);

  if (start->process != NULL)
    sandbox_agent_process_abort (start->process);
  else if (priv->nest != NULL && sandbox_agent_nest_forget (priv->nest, start))
    {
      sandbox_agent_start_fail (start, NULL);
      sandbox_agent_start_unref (start);
    }

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

  if (sandbox_agent_driver_get_isolation (self) == SANDBOX_ISOLATION_SHARED && sandbox_control_group_find_limit (limits) != NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                   "The limit “%s” needs a sandbox of its own, which a command cannot have in a session with the isolation “shared”",
                   sandbox_control_group_find_limit (limits));
      return FALSE;
    }

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

  /* A control group is for one command. */
  if (sandbox_agent_driver_get_nested (self) &&
      sandbox_control_group_find_limit (sandbox_command_get_limits (command)) == NULL)
    {
      sandbox_worker_invoke (sandbox_agent_driver_place_cb, start, sandbox_agent_start_unref);
      return TRUE;
    }

  channel_request = sandbox_request_new_internal (SANDBOX_TYPE_AGENT_CHANNEL, start->cancellable,
                                                  sandbox_agent_driver_channel_opened, start);
  if (sandbox_control_group_find_limit (sandbox_command_get_limits (command)) != NULL)
    g_object_set_qdata_full (G_OBJECT (channel_request), sandbox_agent_driver_limits_quark (),
                             g_object_ref (sandbox_command_get_limits (command)), g_object_unref);
  taken = SANDBOX_AGENT_DRIVER_GET_CLASS (self)->open_channel (self, channel_request, &refused);
  sandbox_request_dispatched (channel_request, taken, refused);

  return TRUE;
}

/* On its way to the worker, where doors come and go. */
typedef struct
{
  SandboxAgentDriver *driver;
  SandboxGateway     *gateway;
  SandboxRequest     *request;
} SandboxAgentDriverGateway;

static gboolean
sandbox_agent_driver_set_gateway_cb (gpointer user_data)
{
  g_autofree SandboxAgentDriverGateway *set = user_data;
  g_autoptr (SandboxAgentDriver) self = set->driver;
  g_autoptr (SandboxGateway) gateway = set->gateway;
  g_autoptr (SandboxRequest) request = set->request;
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  if (!sandbox_agent_driver_is_closed (self))
    sandbox_agent_doors_set_gateway (priv->doors, gateway);
  sandbox_request_return_done (request);

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_agent_driver_set_gateway (SandboxDriver  *driver,
                                  SandboxGateway *gateway,
                                  SandboxRequest *request,
                                  GError        **error)
{
  SandboxAgentDriverGateway *set = g_new (SandboxAgentDriverGateway, 1);

  set->driver = g_object_ref (SANDBOX_AGENT_DRIVER (driver));
  set->gateway = g_object_ref (gateway);
  set->request = g_object_ref (request);
  sandbox_worker_invoke (sandbox_agent_driver_set_gateway_cb, set, NULL);

  return TRUE;
}

/* A gateway is called no more once this is answered, whatever is still ending. */
static void
sandbox_agent_driver_closed (SandboxAgentDriver *self,
                             gpointer            data)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);
  g_autoptr (SandboxRequest) request = data;

  sandbox_agent_doors_set_gateway (priv->doors, NULL);
  sandbox_request_return_done (request);
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
  sandbox_agent_driver_end_nest (self, TRUE, sandbox_agent_driver_closed, g_object_ref (request));

  return TRUE;
}

static void
sandbox_agent_driver_iface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = TRUE;
  iface->spawn = sandbox_agent_driver_spawn;
  iface->close = sandbox_agent_driver_close;
  iface->set_gateway = sandbox_agent_driver_set_gateway;
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
sandbox_agent_driver_real_take_view (SandboxAgentDriver *self,
                                     int                 fd)
{
  sandbox_close_fd (fd);
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

    case PROP_NESTED:
      g_value_set_boolean (value, sandbox_agent_driver_get_nested (self));
      break;

    case PROP_ARMED_SLOTS:
      g_value_set_uint (value, sandbox_agent_driver_get_armed_slots (self));
      break;

    case PROP_IDLE_MS:
      g_value_set_uint (value, sandbox_agent_driver_get_idle_ms (self));
      break;

    case PROP_ISOLATION:
      g_value_set_enum (value, sandbox_agent_driver_get_isolation (self));
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

    case PROP_NESTED:
      priv->nested = g_value_get_boolean (value);
      break;

    case PROP_ARMED_SLOTS:
      priv->armed_slots = g_value_get_uint (value);
      break;

    case PROP_IDLE_MS:
      priv->idle_ms = g_value_get_uint (value);
      break;

    case PROP_ISOLATION:
      priv->isolation = g_value_get_enum (value);
      break;
    }
}

static void
sandbox_agent_driver_constructed (GObject *object)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (SANDBOX_AGENT_DRIVER (object));

  if (priv->limits == NULL)
    priv->limits = sandbox_limits_new ();
  if (priv->nested)
    priv->nest = sandbox_agent_nest_new (SANDBOX_AGENT_DRIVER (object), priv->doors,
                                         &(SandboxAgentSlotsManner){
                                             .n_armed = priv->armed_slots,
                                             .idle_ms = priv->idle_ms,
                                             .is_shared = priv->isolation == SANDBOX_ISOLATION_SHARED,
                                         });

  G_OBJECT_CLASS (sandbox_agent_driver_parent_class)->constructed (object);
}

static void
sandbox_agent_driver_unref_nest (gpointer data)
{
  sandbox_agent_nest_unref (data);
}

static gboolean
sandbox_agent_driver_close_nest_cb (gpointer user_data)
{
  SandboxAgentNest *nest = user_data;

  sandbox_agent_nest_close (nest, sandbox_agent_driver_unref_nest, nest);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_driver_finalize (GObject *object)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (SANDBOX_AGENT_DRIVER (object));

  /* In a forked child it is the parent's. */
  if (priv->nest != NULL && !sandbox_fork_is_past (priv->generation))
    sandbox_worker_invoke (sandbox_agent_driver_close_nest_cb, g_steal_pointer (&priv->nest), NULL);

  g_clear_pointer (&priv->doors, sandbox_agent_doors_unref);
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
  klass->take_view = sandbox_agent_driver_real_take_view;

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

  /**
   * SandboxAgentDriver:nested: (getter get_nested)
   *
   * Whether the commands share a sandbox of the session, in which each has a slot: namespaces of its own that are used
   * once. Channels need %SANDBOX_AGENT_CHANNEL_FLAGS_SLOTS then, but for those with
   * [method@Sandbox.AgentDriver.get_channel_limits]. Else each command has a sandbox for itself.
   *
   * A command that is proven not to have run, as its slot or that sandbox was killed, is tried again in another one.
   *
   * The default is %FALSE.
   *
   * Since: 1.0
   */
  properties[PROP_NESTED] =
      g_param_spec_boolean ("nested", NULL, NULL, FALSE,
                            G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxAgentDriver:armed-slots: (getter get_armed_slots)
   *
   * How many slots wait for commands. A command that finds none has one made then, which takes about half a millisecond.
   *
   * The default is 2.
   *
   * Since: 1.0
   */
  properties[PROP_ARMED_SLOTS] =
      g_param_spec_uint ("armed-slots", NULL, NULL, 0, SANDBOX_AGENT_DRIVER_MAX_ARMED_SLOTS, 2,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxAgentDriver:idle-ms: (getter get_idle_ms)
   *
   * After how many milliseconds without a command the sandbox of the session is given up until the next one; with
   * %SANDBOX_ISOLATION_SHARED only its armed slots are. 0: never.
   *
   * Since: 1.0
   */
  properties[PROP_IDLE_MS] =
      g_param_spec_uint ("idle-ms", NULL, NULL, 0, G_MAXINT, 0,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxAgentDriver:isolation: (getter get_isolation)
   *
   * What commands have to themselves; see [property@Sandbox.CreateOptions:isolation].
   *
   * Since: 1.0
   */
  properties[PROP_ISOLATION] =
      g_param_spec_enum ("isolation", NULL, NULL, SANDBOX_TYPE_ISOLATION, SANDBOX_ISOLATION_PER_COMMAND,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_agent_driver_init (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  g_mutex_init (&priv->lock);
  priv->generation = sandbox_fork_get_generation ();
  priv->doors = sandbox_agent_doors_new ();
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

/**
 * sandbox_agent_driver_get_nested: (get-property nested)
 * @self: a driver
 *
 * Gets whether the commands share a sandbox of the session.
 *
 * Returns: whether they do
 *
 * Since: 1.0
 */
gboolean
sandbox_agent_driver_get_nested (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_AGENT_DRIVER (self), FALSE);

  return priv->nested;
}

/**
 * sandbox_agent_driver_get_armed_slots: (get-property armed-slots)
 * @self: a driver
 *
 * Gets how many slots wait for commands.
 *
 * Returns: how many
 *
 * Since: 1.0
 */
guint
sandbox_agent_driver_get_armed_slots (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_AGENT_DRIVER (self), 0);

  return priv->armed_slots;
}

/**
 * sandbox_agent_driver_get_idle_ms: (get-property idle-ms)
 * @self: a driver
 *
 * Gets after how long without a command the sandbox of the session is given up.
 *
 * Returns: milliseconds, or 0 for never
 *
 * Since: 1.0
 */
guint
sandbox_agent_driver_get_idle_ms (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_AGENT_DRIVER (self), 0);

  return priv->idle_ms;
}

/**
 * sandbox_agent_driver_get_isolation: (get-property isolation)
 * @self: a driver
 *
 * Gets what commands have to themselves.
 *
 * Returns: the isolation
 *
 * Since: 1.0
 */
SandboxIsolation
sandbox_agent_driver_get_isolation (SandboxAgentDriver *self)
{
  SandboxAgentDriverPrivate *priv = sandbox_agent_driver_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_AGENT_DRIVER (self), SANDBOX_ISOLATION_PER_COMMAND);

  return priv->isolation;
}
