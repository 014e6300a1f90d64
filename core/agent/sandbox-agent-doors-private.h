/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-agent-protocol.h"
#include "sandbox-gateway.h"

G_BEGIN_DECLS

/* The doors of all sandboxes that a driver has, and the gateway that serves them. On the worker, unless it says otherwise. */
typedef struct _SandboxAgentDoors SandboxAgentDoors;

/* From any thread. */
SandboxAgentDoors *sandbox_agent_doors_new (void);
SandboxAgentDoors *sandbox_agent_doors_ref (SandboxAgentDoors *self);
void               sandbox_agent_doors_unref (SandboxAgentDoors *self);

/* Gives @gateway the doors that there are, and those that come. Without a gateway who connects to one waits; NULL takes
 * all of them back. */
void sandbox_agent_doors_set_gateway (SandboxAgentDoors *self,
                                      SandboxGateway    *gateway);

/* What a sandbox hands out, of which @owner stands for one; the descriptors are taken over. FALSE if these are no @n_doors doors. */
gboolean sandbox_agent_doors_add (SandboxAgentDoors  *self,
                                  gpointer            owner,
                                  SandboxAgentPacket *packet,
                                  guint               n_doors);

/* Nobody of that sandbox is there any more. */
void sandbox_agent_doors_remove (SandboxAgentDoors *self,
                                 gpointer           owner);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxAgentDoors, sandbox_agent_doors_unref)

G_END_DECLS
