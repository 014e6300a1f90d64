/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-network.h"

SandboxBubblewrapNetwork
sandbox_bubblewrap_network_get (SandboxNetworkPolicy *policy)
{
  g_auto (GStrv) origins = NULL;

  if (policy == NULL)
    return SANDBOX_BUBBLEWRAP_NETWORK_NONE;

  switch (sandbox_network_policy_get_mode (policy))
    {
    case SANDBOX_NETWORK_MODE_ALLOW_ALL:
      return SANDBOX_BUBBLEWRAP_NETWORK_HOST;

    case SANDBOX_NETWORK_MODE_ALLOW_LIST:
      origins = sandbox_network_policy_dup_origins (policy);
      if (origins == NULL || origins[0] == NULL)
        return SANDBOX_BUBBLEWRAP_NETWORK_NONE;
      return sandbox_network_policy_get_loopback_door (policy) ? SANDBOX_BUBBLEWRAP_NETWORK_GATEWAY_LOOPBACK
                                                               : SANDBOX_BUBBLEWRAP_NETWORK_GATEWAY;

    case SANDBOX_NETWORK_MODE_DENY_ALL:
    default:
      return SANDBOX_BUBBLEWRAP_NETWORK_NONE;
    }
}

gboolean
sandbox_bubblewrap_network_has_door (SandboxBubblewrapNetwork self)
{
  return self == SANDBOX_BUBBLEWRAP_NETWORK_GATEWAY || self == SANDBOX_BUBBLEWRAP_NETWORK_GATEWAY_LOOPBACK;
}

/* Its agent could make a socket, and nothing that keeps commands from putting another one in its place. */
gboolean
sandbox_bubblewrap_network_check (SandboxBubblewrapNetwork self,
                                  gboolean                 set_user_id,
                                  GError                 **error)
{
  if (!set_user_id || !sandbox_bubblewrap_network_has_door (self))
    return TRUE;

  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED,
                       "A set-user-ID bwrap cannot do this: it makes no door to a gateway, which a list of allowed origins needs");

  return FALSE;
}
