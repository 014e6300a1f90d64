/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxNetworkMode:
 * @SANDBOX_NETWORK_MODE_DENY_ALL: nothing; the sandbox has a network of its own with only a loopback
 * @SANDBOX_NETWORK_MODE_ALLOW_ALL: everything that the host reaches, the loopback of the host included
 * @SANDBOX_NETWORK_MODE_ALLOW_LIST: HTTP requests to listed origins, through the gateway
 *
 * What a network policy lets through.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_NETWORK_MODE_DENY_ALL,
  SANDBOX_NETWORK_MODE_ALLOW_ALL,
  SANDBOX_NETWORK_MODE_ALLOW_LIST,
} SandboxNetworkMode;

#define SANDBOX_TYPE_NETWORK_POLICY (sandbox_network_policy_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxNetworkPolicy, sandbox_network_policy, SANDBOX, NETWORK_POLICY, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxNetworkPolicy *sandbox_network_policy_new_deny_all (void) G_GNUC_WARN_UNUSED_RESULT;
SANDBOX_AVAILABLE_IN_1_0
SandboxNetworkPolicy *sandbox_network_policy_new_allow_all (void) G_GNUC_WARN_UNUSED_RESULT;
SANDBOX_AVAILABLE_IN_1_0
SandboxNetworkPolicy *sandbox_network_policy_new_allow_list (void) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_network_policy_add_origin (SandboxNetworkPolicy *self,
                                            const char           *origin,
                                            GVariant             *headers,
                                            GError              **error);
SANDBOX_AVAILABLE_IN_1_0
char **sandbox_network_policy_dup_origins (SandboxNetworkPolicy *self);
SANDBOX_AVAILABLE_IN_1_0
GVariant *sandbox_network_policy_get_headers (SandboxNetworkPolicy *self,
                                              const char           *origin);

SANDBOX_AVAILABLE_IN_1_0
SandboxNetworkMode sandbox_network_policy_get_mode (SandboxNetworkPolicy *self);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_network_policy_get_max_request_bytes (SandboxNetworkPolicy *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_network_policy_set_max_request_bytes (SandboxNetworkPolicy *self,
                                                   guint64               max_request_bytes);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_network_policy_get_max_response_bytes (SandboxNetworkPolicy *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_network_policy_set_max_response_bytes (SandboxNetworkPolicy *self,
                                                    guint64               max_response_bytes);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_network_policy_get_max_requests (SandboxNetworkPolicy *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_network_policy_set_max_requests (SandboxNetworkPolicy *self,
                                              guint                 max_requests);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_network_policy_get_timeout_ms (SandboxNetworkPolicy *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_network_policy_set_timeout_ms (SandboxNetworkPolicy *self,
                                            guint                 timeout_ms);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_network_policy_get_loopback_door (SandboxNetworkPolicy *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_network_policy_set_loopback_door (SandboxNetworkPolicy *self,
                                               gboolean              loopback_door);

SANDBOX_AVAILABLE_IN_1_0
GTlsDatabase *sandbox_network_policy_get_tls_database (SandboxNetworkPolicy *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_network_policy_set_tls_database (SandboxNetworkPolicy *self,
                                              GTlsDatabase         *tls_database);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_network_policy_get_allow_private_addresses (SandboxNetworkPolicy *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_network_policy_set_allow_private_addresses (SandboxNetworkPolicy *self,
                                                         gboolean              allow_private_addresses);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_network_policy_get_allow_plain_credentials (SandboxNetworkPolicy *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_network_policy_set_allow_plain_credentials (SandboxNetworkPolicy *self,
                                                         gboolean              allow_plain_credentials);

G_END_DECLS
