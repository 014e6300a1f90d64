/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-core-private.h"
#include "sandbox-request.h"

G_BEGIN_DECLS

/* What sends programs to the door of the gateway at the loopback: NAME=value, up to a NULL. */
extern const char *const sandbox_network_proxy_variables[];

/* Whether the session needs a gateway for the policy that it is created with. */
gboolean sandbox_network_needs_gateway (SandboxCore *core);

/* Puts @policy (frozen) in force and answers @call. With @is_created the driver was made with that policy, and only
 * has to get the gateway. FALSE when nothing has begun: BUSY or STOPPED. */
gboolean sandbox_network_begin (SandboxCore          *core,
                                SandboxNetworkPolicy *policy,
                                gboolean              is_created,
                                SandboxRequest       *call,
                                GError              **error);

G_END_DECLS
