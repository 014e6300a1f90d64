/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What commands may reach, and the gateway through which they do. */

#include "sandbox-network-private.h"

#include "sandbox-backend-private.h"
#include "sandbox-driver-private.h"
#include "sandbox-error-private.h"
#include "sandbox-network-policy-private.h"
#include "sandbox-request-private.h"
#include "sandbox-session-private.h"
#include "sandbox-worker-private.h"

/* A step is waited for as long as it takes, whatever the caller has been told meanwhile: until it is answered nobody
 * knows which policy is in force. */
#define STEP_LIMIT_MS G_MAXINT

#define PROXY "http://127.0.0.1:" G_STRINGIFY (SANDBOX_GATEWAY_PORT)

const char *const sandbox_network_proxy_variables[] = { "http_proxy=" PROXY, "HTTP_PROXY=" PROXY, NULL };

/* A change: the gateway judges by the new policy first, then the driver gets the gateway if it has none yet, and the
 * policy. When one of them does not want it, the gateway is put back to the old one. The steps stand last to first,
 * each in any thread; those that call the driver in one in which it may be called. */
typedef struct
{
  SandboxCore          *core;
  SandboxRequest       *call;        /* whom it is answered to */
  GCancellable         *cancellable; /* of the steps: the call is not wanted any more, or the session is stopped */
  SandboxNetworkPolicy *policy;
  SandboxGateway       *gateway; /* nullable */
  gboolean              is_new;  /* the driver does not have the gateway yet */
  gboolean              is_created;
  GError               *error;
} SandboxChange;

static void
sandbox_change_end (SandboxChange *self)
{
  g_autoptr (GError) stopped = NULL;

  if (self->error == NULL)
    sandbox_core_set_policy (self->core, self->policy);
  sandbox_core_end_change (self->core);

  if (self->error == NULL)
    sandbox_request_return_done (self->call);
  else if (!sandbox_core_check_live (self->core, &stopped))
    sandbox_request_return_error (self->call, stopped);
  else
    sandbox_request_return_error (self->call, self->error);

  g_clear_error (&self->error);
  g_clear_object (&self->gateway);
  g_clear_object (&self->policy);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->call);
  sandbox_core_unref (self->core);
  g_free (self);
}

static void
sandbox_change_was_put_back (gpointer      user_data,
                             gpointer      answer,
                             const GError *error)
{
  SandboxChange *self = user_data;

  /* It may judge by the new policy, which is not in force: then rather by none. */
  if (error != NULL)
    {
      g_debug ("The gateway did not go back to the policy in force, and is closed: %s", error->message);
      sandbox_core_drop_gateway (self->core, TRUE);
    }
  sandbox_change_end (self);
}

/* The change has failed with its error. */
static void
sandbox_change_put_back (SandboxChange *self)
{
  g_autoptr (SandboxNetworkPolicy) old = NULL;
  g_autoptr (SandboxNetworkPolicy) none = NULL;
  g_autoptr (SandboxRequest) request = NULL;
  GError  *error = NULL;
  gboolean taken = FALSE;

  if (self->gateway == NULL || !sandbox_core_check_live (self->core, NULL))
    {
      sandbox_change_end (self);
      return;
    }
  if (self->is_new)
    {
      sandbox_core_drop_gateway (self->core, FALSE);
      sandbox_change_end (self);
      return;
    }

  old = sandbox_core_dup_policy (self->core);
  if (old == NULL)
    {
      none = sandbox_network_policy_new_deny_all ();
      old = sandbox_network_policy_freeze (none);
    }
  request = sandbox_request_new_internal (G_TYPE_NONE, NULL, sandbox_change_was_put_back, self);
  taken = SANDBOX_GATEWAY_GET_IFACE (self->gateway)->set_policy (self->gateway, old, request, &error);
  sandbox_request_dispatched (request, taken, error);
}

/* Whether to go on with the next step, or the error is set. */
static gboolean
sandbox_change_check (SandboxChange *self,
                      const GError  *error)
{
  if (error != NULL)
    self->error = g_error_copy (error);
  else if (sandbox_request_is_cancelled (self->call))
    self->error = sandbox_error_new_cancelled ();
  else
    sandbox_core_check_live (self->core, &self->error);

  return self->error == NULL;
}

static SandboxRequest *
sandbox_change_new_request (SandboxChange    *self,
                            SandboxAnswerFunc func)
{
  SandboxRequest *request = sandbox_request_new_internal (G_TYPE_NONE, self->cancellable, func, self);

  sandbox_request_set_limits (request, STEP_LIMIT_MS, STEP_LIMIT_MS);

  return request;
}

static void
sandbox_change_driver_told (gpointer      user_data,
                            gpointer      answer,
                            const GError *error)
{
  SandboxChange *self = user_data;

  /* What the driver does holds, also when nobody waits for it any more. */
  if (error == NULL)
    {
      sandbox_change_end (self);
      return;
    }
  self->error = g_error_copy (error);
  sandbox_change_put_back (self);
}

static gboolean
sandbox_change_tell_driver_cb (gpointer user_data)
{
  SandboxChange *self = user_data;
  SandboxDriver *driver = sandbox_core_get_driver (self->core);
  g_autoptr (SandboxRequest) request = NULL;
  GError  *error = NULL;
  gboolean taken = FALSE;

  if (!sandbox_change_check (self, NULL))
    {
      sandbox_change_put_back (self);
      return G_SOURCE_REMOVE;
    }

  request = sandbox_change_new_request (self, sandbox_change_driver_told);
  taken = SANDBOX_DRIVER_GET_IFACE (driver)->set_network_policy (driver, self->policy, request, &error);
  sandbox_request_dispatched (request, taken, error);

  return G_SOURCE_REMOVE;
}

static void
sandbox_change_gateway_given (gpointer      user_data,
                              gpointer      answer,
                              const GError *error)
{
  SandboxChange *self = user_data;

  if (!sandbox_change_check (self, error))
    {
      sandbox_change_put_back (self);
      return;
    }

  self->is_new = FALSE;
  if (self->is_created)
    sandbox_change_end (self);
  else
    sandbox_core_invoke_for_driver (self->core, NULL, sandbox_change_tell_driver_cb, self, NULL);
}

static gboolean
sandbox_change_give_gateway_cb (gpointer user_data)
{
  SandboxChange *self = user_data;
  SandboxDriver *driver = sandbox_core_get_driver (self->core);
  g_autoptr (SandboxRequest) request = NULL;
  GError  *error = NULL;
  gboolean taken = FALSE;

  if (!sandbox_change_check (self, NULL))
    {
      sandbox_change_put_back (self);
      return G_SOURCE_REMOVE;
    }

  request = sandbox_change_new_request (self, sandbox_change_gateway_given);
  taken = SANDBOX_DRIVER_GET_IFACE (driver)->set_gateway (driver, self->gateway, request, &error);
  sandbox_request_dispatched (request, taken, error);

  return G_SOURCE_REMOVE;
}

static void
sandbox_change_gateway_told (gpointer      user_data,
                             gpointer      answer,
                             const GError *error)
{
  SandboxChange *self = user_data;

  if (!sandbox_change_check (self, error))
    sandbox_change_put_back (self);
  else
    sandbox_core_invoke_for_driver (self->core, NULL, self->is_new ? sandbox_change_give_gateway_cb : sandbox_change_tell_driver_cb,
                                    self, NULL);
}

static gboolean
sandbox_change_tell_gateway_cb (gpointer user_data)
{
  SandboxChange *self = user_data;
  g_autoptr (SandboxRequest) request = sandbox_change_new_request (self, sandbox_change_gateway_told);
  GError  *error = NULL;
  gboolean taken = FALSE;

  taken = SANDBOX_GATEWAY_GET_IFACE (self->gateway)->set_policy (self->gateway, self->policy, request, &error);
  sandbox_request_dispatched (request, taken, error);

  return G_SOURCE_REMOVE;
}

/* In the pool, as its module may have to be loaded. */
static void
sandbox_change_make_gateway (gpointer data,
                             gpointer user_data)
{
  SandboxChange  *self = data;
  SandboxBackend *backend = sandbox_core_get_backend (self->core);
  g_autoptr (SandboxGateway) gateway = NULL;

  if (backend != NULL)
    gateway = sandbox_backend_make_gateway (backend, &self->error);
  else
    g_set_error (&self->error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED,
                 "A list of origins needs a gateway, and a session over a bare %s comes by none",
                 G_OBJECT_TYPE_NAME (sandbox_core_get_driver (self->core)));

  if (gateway == NULL || !sandbox_core_take_gateway (self->core, gateway, &self->error))
    {
      sandbox_change_end (self);
      return;
    }

  self->gateway = g_steal_pointer (&gateway);
  self->is_new = TRUE;
  sandbox_worker_invoke (sandbox_change_tell_gateway_cb, self, NULL);
}

/* A driver without doors holds commands to a list in its own way, or refuses it. */
static gboolean
sandbox_network_wants_gateway (SandboxCore          *core,
                               SandboxNetworkPolicy *policy)
{
  return policy != NULL && sandbox_network_policy_lists_origins (policy) &&
         sandbox_driver_implements (sandbox_core_get_driver (core), G_STRUCT_OFFSET (SandboxDriverInterface, set_gateway));
}

gboolean
sandbox_network_needs_gateway (SandboxCore *core)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_core_dup_policy (core);

  return sandbox_network_wants_gateway (core, policy);
}

static void
sandbox_change_cancel_freed (gpointer  data,
                             GClosure *closure)
{
  g_object_unref (data);
}

gboolean
sandbox_network_begin (SandboxCore          *core,
                       SandboxNetworkPolicy *policy,
                       gboolean              is_created,
                       SandboxRequest       *call,
                       GError              **error)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  SandboxChange *self = NULL;

  if (!sandbox_core_begin_change (core, cancellable, error))
    return FALSE;

  self = g_new0 (SandboxChange, 1);
  self->core = sandbox_core_ref (core);
  self->call = g_object_ref (call);
  self->cancellable = g_object_ref (cancellable);
  self->policy = g_object_ref (policy);
  self->gateway = sandbox_core_dup_gateway (core);
  self->is_created = is_created;
  /* With a reference: the call may be cancelled in one thread while the change ends in another. */
  g_signal_connect_data (call, "cancelled", G_CALLBACK (g_cancellable_cancel), g_object_ref (cancellable),
                         sandbox_change_cancel_freed, G_CONNECT_SWAPPED);

  if (self->gateway != NULL)
    sandbox_change_tell_gateway_cb (self);
  else if (sandbox_network_wants_gateway (core, policy))
    sandbox_pool_push (SANDBOX_POOL_CALLS, sandbox_change_make_gateway, self);
  else
    sandbox_change_tell_driver_cb (self);

  return TRUE;
}

/**
 * sandbox_session_set_network_policy_async:
 * @self: a session
 * @policy: the policy; it is copied
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when it is in force
 * @user_data: data for @callback
 *
 * Changes what commands may reach. No command may be alive.
 *
 * What went through the gateway under the old policy is aborted: no answer to it comes any more.
 *
 * Fails with %SANDBOX_ERROR_BUSY while commands are alive, with %SANDBOX_ERROR_NETWORK_DENIED when the
 * policy cannot be enforced, such as a list of origins where no gateway is installed, with %SANDBOX_ERROR_MODULE when
 * the gateway is broken, and with %SANDBOX_ERROR_NOT_SUPPORTED when the policy would break what
 * [property@Sandbox.CreateOptions:required] asked for. Then the old policy stays in force.
 *
 * A call that is cancelled, or that takes more than 30 seconds, is answered at once, and no command starts before it is
 * known which policy is in force. It may be the new one; set one again to be sure.
 *
 * Since: 1.0
 */
void
sandbox_session_set_network_policy_async (SandboxSession       *self,
                                          SandboxNetworkPolicy *policy,
                                          GCancellable         *cancellable,
                                          GAsyncReadyCallback   callback,
                                          gpointer              user_data)
{
  g_autoptr (SandboxNetworkPolicy) frozen = NULL;
  g_autoptr (SandboxRequest) request = NULL;
  SandboxCore *core = NULL;
  GError      *error = NULL;
  gboolean     taken = FALSE;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (policy));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  core = sandbox_session_get_core (self);
  request = sandbox_request_new (self, sandbox_session_set_network_policy_async, G_TYPE_NONE,
                                 cancellable, callback, user_data);
  if (!g_cancellable_set_error_if_cancelled (cancellable, &error) &&
      sandbox_core_check_policy (core, policy, &error))
    {
      frozen = sandbox_network_policy_freeze (policy);
      taken = sandbox_network_begin (core, frozen, FALSE, request, &error);
    }
  sandbox_request_dispatched (request, taken, error);
}

/**
 * sandbox_session_set_network_policy_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.set_network_policy_async].
 *
 * Returns: whether the policy is in force
 *
 * Since: 1.0
 */
gboolean
sandbox_session_set_network_policy_finish (SandboxSession *self,
                                           GAsyncResult   *result,
                                           GError        **error)
{
  return sandbox_request_propagate_done (result, self, sandbox_session_set_network_policy_async, error);
}

/**
 * sandbox_session_set_network_policy:
 * @self: a session
 * @policy: the policy; it is copied
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Changes what commands may reach. See [method@Sandbox.Session.set_network_policy_async].
 *
 * Returns: whether the policy is in force
 *
 * Since: 1.0
 */
gboolean
sandbox_session_set_network_policy (SandboxSession       *self,
                                    SandboxNetworkPolicy *policy,
                                    GCancellable         *cancellable,
                                    GError              **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (sandbox_session_get_core (self)));
  sandbox_session_set_network_policy_async (self, policy, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_set_network_policy_finish (self, sandbox_sync_wait (&sync), error);
}
