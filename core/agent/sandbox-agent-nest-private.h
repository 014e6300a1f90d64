/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-agent-doors-private.h"
#include "sandbox-agent-driver.h"
#include "sandbox-agent-slots-private.h"

G_BEGIN_DECLS

/* Where the slots of a session are: the sandbox that its commands share. There is one at a time; it is made when a command
 * wants a slot, and made anew when it has ended. On the worker, but for new and unref. */
typedef struct _SandboxAgentNest SandboxAgentNest;

/* A channel to a slot of @slots, which is taken over; or why there is none. */
typedef void (*SandboxAgentNestFunc) (gpointer             user_data,
                                      SandboxAgentSlots   *slots,
                                      SandboxAgentChannel *slot,
                                      const GError        *error);

/* @driver opens the channels, and is not kept alive; @doors get what the sandboxes have of these. */
SandboxAgentNest *sandbox_agent_nest_new (SandboxAgentDriver            *driver,
                                          SandboxAgentDoors             *doors,
                                          const SandboxAgentSlotsManner *manner);
void              sandbox_agent_nest_unref (SandboxAgentNest *self);

/* Calls @func once, at once if a sandbox is ready and there is nothing to wait for. With @is_counted it is for a command with
 * a limit of processes. */
void sandbox_agent_nest_take (SandboxAgentNest    *self,
                              gboolean             is_counted,
                              SandboxAgentNestFunc func,
                              gpointer             user_data);

/* Whether @user_data waited; it will not be called then. */
gboolean sandbox_agent_nest_forget (SandboxAgentNest *self,
                                    gpointer          user_data);

/* Ends the sandbox with everything that runs in there; calls @func when nothing of it can run any more. */
void sandbox_agent_nest_end (SandboxAgentNest *self,
                             GDestroyNotify    func,
                             gpointer          user_data);

/* That, and there will be no other. Who waits is told that the session has been stopped. */
void sandbox_agent_nest_close (SandboxAgentNest *self,
                               GDestroyNotify    func,
                               gpointer          user_data);

G_END_DECLS
