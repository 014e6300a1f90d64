/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-network-policy.h"
#include "sandbox-request.h"

G_BEGIN_DECLS

/**
 * SANDBOX_GATEWAY_PATH:
 *
 * Where commands find the gateway: a Unix socket.
 *
 * Since: 1.0
 */
#define SANDBOX_GATEWAY_PATH "/run/sandbox-glib/gateway.sock"

/**
 * SANDBOX_GATEWAY_PORT:
 *
 * Where commands find the gateway as well, if [property@Sandbox.NetworkPolicy:loopback-door] says so: a TCP port at 127.0.0.1.
 *
 * Since: 1.0
 */
#define SANDBOX_GATEWAY_PORT 3128

#define SANDBOX_TYPE_GATEWAY (sandbox_gateway_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (SandboxGateway, sandbox_gateway, SANDBOX, GATEWAY, GObject)

/**
 * SandboxGatewayInterface:
 * @parent_iface: the parent
 * @set_policy: judges by a policy from now on
 * @add_door: serves what comes in at a socket
 * @remove_door: serves it no longer
 * @close: ends everything
 *
 * What a gateway does. Every function may be called in any thread, and none of them blocks.
 *
 * Since: 1.0
 */
struct _SandboxGatewayInterface
{
  GTypeInterface parent_iface;

  /**
   * SandboxGatewayInterface::set_policy:
   * @self: a gateway
   * @policy: the policy; frozen
   * @request: answered when it is in force
   * @error: return location for an error
   *
   * Judges requests by @policy from now on. What was under way under the policy before is aborted: when @request is
   * answered, nothing that came of that one is sent to a guest any more.
   *
   * A policy that is no list lets nothing through here. One that cannot be enforced is refused with
   * %SANDBOX_ERROR_NETWORK_DENIED, and the old one stays in force.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*set_policy) (SandboxGateway       *self,
                          SandboxNetworkPolicy *policy,
                          SandboxRequest       *request,
                          GError              **error);

  /**
   * SandboxGatewayInterface::add_door:
   * @self: a gateway
   * @door: a socket that listens, made inside the sandbox: only its guests can connect to it
   *
   * Serves requests that come in at @door. Without a policy each of them is refused.
   *
   * Since: 1.0
   */
  void (*add_door) (SandboxGateway *self,
                    GSocket        *door);

  /**
   * SandboxGatewayInterface::remove_door:
   * @self: a gateway
   * @door: one that was added
   *
   * Closes @door, and the connections that came in at it.
   *
   * Since: 1.0
   */
  void (*remove_door) (SandboxGateway *self,
                       GSocket        *door);

  /**
   * SandboxGatewayInterface::close:
   * @self: a gateway
   * @request: answered when everything is released
   * @error: return location for an error
   *
   * Ends what is under way, and closes all doors and connections. Nothing else is called afterwards.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*close) (SandboxGateway *self,
                     SandboxRequest *request,
                     GError        **error);

  /*< private >*/
  gpointer _reserved[8];
};

SANDBOX_AVAILABLE_IN_1_0
void sandbox_gateway_add_door (SandboxGateway *self,
                               GSocket        *door);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_gateway_remove_door (SandboxGateway *self,
                                  GSocket        *door);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_gateway_emit_answered (SandboxGateway *self,
                                    const char     *method,
                                    const char     *origin,
                                    guint           status,
                                    guint64         request_bytes,
                                    guint64         response_bytes,
                                    guint64         time_us);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_gateway_emit_denied (SandboxGateway *self,
                                  const char     *origin,
                                  const char     *reason);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_gateway_emit_failed (SandboxGateway *self,
                                  const GError   *error);

G_END_DECLS
