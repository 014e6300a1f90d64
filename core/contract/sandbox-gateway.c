/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-gateway.h"

/**
 * SandboxGateway:
 *
 * What stands between the commands of one session and the network: it asks the origins that a policy names in their place.
 *
 * A gateway is a module of the kind `gateway`; hosts never call it. The library makes one object for each session that
 * gets an allow list, the driver gives it the doors by [method@Sandbox.Gateway.add_door], and what it emits becomes the signals of [class@Sandbox.Session] and
 * [class@Sandbox.Backend]. Guests are hostile: what they send is bounded, and what they hear says nothing of the host.
 *
 * Since: 1.0
 */

enum
{
  ANSWERED,
  DENIED,
  FAILED,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

G_DEFINE_INTERFACE (SandboxGateway, sandbox_gateway, G_TYPE_OBJECT)

static void
sandbox_gateway_default_init (SandboxGatewayInterface *iface)
{
  /**
   * SandboxGateway::answered:
   * @self: a gateway
   * @method: the method of the request
   * @origin: the origin that was asked, as the policy writes it
   * @status: the status that the guest was told
   * @request_bytes: of the body that the guest sent
   * @response_bytes: of the body that the guest was sent
   * @time_us: from the last byte of the head to the last of the answer, in microseconds
   *
   * A request was passed on, and its answer is complete, or was aborted. Emitted in any thread.
   *
   * Since: 1.0
   */
  signals[ANSWERED] =
      g_signal_new ("answered", SANDBOX_TYPE_GATEWAY, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                    G_TYPE_NONE, 6, G_TYPE_STRING, G_TYPE_STRING, G_TYPE_UINT, G_TYPE_UINT64, G_TYPE_UINT64, G_TYPE_UINT64);

  /**
   * SandboxGateway::denied:
   * @self: a gateway
   * @origin: (nullable): whom the guest asked for, made harmless; %NULL if it cannot be said
   * @reason: why it was refused, one of a fixed set of texts
   *
   * A request was refused, and nothing of it has left the host. Emitted in any thread.
   *
   * Since: 1.0
   */
  signals[DENIED] =
      g_signal_new ("denied", SANDBOX_TYPE_GATEWAY, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                    G_TYPE_NONE, 2, G_TYPE_STRING, G_TYPE_STRING);

  /**
   * SandboxGateway::failed:
   * @self: a gateway
   * @error: the cause
   *
   * A request was let through but failed; the guest is not told why. Emitted in any thread.
   *
   * Since: 1.0
   */
  signals[FAILED] =
      g_signal_new ("failed", SANDBOX_TYPE_GATEWAY, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                    G_TYPE_NONE, 1, G_TYPE_ERROR);
}

/**
 * sandbox_gateway_add_door:
 * @self: a gateway
 * @door: a socket that listens, and that only the guests of the session can connect to
 *
 * Lets the gateway serve what comes in at a socket; for drivers, from their function `set_gateway` on. The gateway keeps @door
 * until it is removed, and closes it then, or when the session ends.
 *
 * It may be called in any thread, and does not block.
 *
 * Since: 1.0
 */
void
sandbox_gateway_add_door (SandboxGateway *self,
                          GSocket        *door)
{
  g_return_if_fail (SANDBOX_IS_GATEWAY (self));
  g_return_if_fail (G_IS_SOCKET (door));

  SANDBOX_GATEWAY_GET_IFACE (self)->add_door (self, door);
}

/**
 * sandbox_gateway_remove_door:
 * @self: a gateway
 * @door: one that was added
 *
 * Closes a door, and the connections that came in at it; for drivers, when the sandbox that it leads into has ended.
 *
 * It may be called in any thread, and does not block.
 *
 * Since: 1.0
 */
void
sandbox_gateway_remove_door (SandboxGateway *self,
                             GSocket        *door)
{
  g_return_if_fail (SANDBOX_IS_GATEWAY (self));
  g_return_if_fail (G_IS_SOCKET (door));

  SANDBOX_GATEWAY_GET_IFACE (self)->remove_door (self, door);
}

/**
 * sandbox_gateway_emit_answered:
 * @self: a gateway
 * @method: the method of the request
 * @origin: the origin that was asked
 * @status: the status that the guest was told
 * @request_bytes: of the body that the guest sent
 * @response_bytes: of the body that the guest was sent
 * @time_us: microseconds
 *
 * Emits [signal@Sandbox.Gateway::answered]. For gateways.
 *
 * Since: 1.0
 */
void
sandbox_gateway_emit_answered (SandboxGateway *self,
                               const char     *method,
                               const char     *origin,
                               guint           status,
                               guint64         request_bytes,
                               guint64         response_bytes,
                               guint64         time_us)
{
  g_return_if_fail (SANDBOX_IS_GATEWAY (self));

  g_signal_emit (self, signals[ANSWERED], 0, method, origin, status, request_bytes, response_bytes, time_us);
}

/**
 * sandbox_gateway_emit_denied:
 * @self: a gateway
 * @origin: (nullable): whom the guest asked for, made harmless
 * @reason: why it was refused
 *
 * Emits [signal@Sandbox.Gateway::denied]. For gateways.
 *
 * Since: 1.0
 */
void
sandbox_gateway_emit_denied (SandboxGateway *self,
                             const char     *origin,
                             const char     *reason)
{
  g_return_if_fail (SANDBOX_IS_GATEWAY (self));

  g_signal_emit (self, signals[DENIED], 0, origin, reason);
}

/**
 * sandbox_gateway_emit_failed:
 * @self: a gateway
 * @error: the cause
 *
 * Emits [signal@Sandbox.Gateway::failed]. For gateways.
 *
 * Since: 1.0
 */
void
sandbox_gateway_emit_failed (SandboxGateway *self,
                             const GError   *error)
{
  g_return_if_fail (SANDBOX_IS_GATEWAY (self));
  g_return_if_fail (error != NULL);

  g_signal_emit (self, signals[FAILED], 0, error);
}
