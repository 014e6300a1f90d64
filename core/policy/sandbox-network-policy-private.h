/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-network-policy.h"

G_BEGIN_DECLS

/* See sandbox_command_freeze (). */
SandboxNetworkPolicy *sandbox_network_policy_freeze (SandboxNetworkPolicy *self);

/* Whether it is a list that lets something through: one without an origin is the same as to deny all. */
gboolean sandbox_network_policy_lists_origins (SandboxNetworkPolicy *self);

/* Whether both let through the same, with the same headers. */
gboolean sandbox_network_policy_equal (SandboxNetworkPolicy *self,
                                       SandboxNetworkPolicy *other);

G_END_DECLS
