/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

/* What a policy comes to for the sandboxes of a session; they are built anew when it becomes another one. */
typedef enum
{
  SANDBOX_BUBBLEWRAP_NETWORK_NONE,
  SANDBOX_BUBBLEWRAP_NETWORK_HOST,
  SANDBOX_BUBBLEWRAP_NETWORK_GATEWAY,          /* none, and a door at a path */
  SANDBOX_BUBBLEWRAP_NETWORK_GATEWAY_LOOPBACK, /* another one at a port */
} SandboxBubblewrapNetwork;

/* NULL: deny all. So does a list of nothing, which needs no door. */
SandboxBubblewrapNetwork sandbox_bubblewrap_network_get (SandboxNetworkPolicy *policy);

gboolean sandbox_bubblewrap_network_has_door (SandboxBubblewrapNetwork self);

/* NETWORK_DENIED for what a bwrap with rights of its own cannot build. */
gboolean sandbox_bubblewrap_network_check (SandboxBubblewrapNetwork self,
                                           gboolean                 set_user_id,
                                           GError                 **error);

G_END_DECLS
