/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-agent-group.h"

#include "sandbox-result.h"

G_BEGIN_DECLS

/* How many processes of a sandbox are not the command's: bwrap and the agent. */
#define SANDBOX_AGENT_GROUP_OWN_TASKS 2

/* Writes what @limits say into the files of the group @fd. */
gboolean sandbox_agent_group_write_limits (int            fd,
                                           SandboxLimits *limits,
                                           GError       **error);

/* Whether the kernel has it in the group @fd that a limit ended a command, or kept it from something if it @failed:
 * which, and how far it came. */
gboolean sandbox_agent_group_judge (int             fd,
                                    SandboxLimits  *limits,
                                    gboolean        failed,
                                    SandboxOutcome *outcome,
                                    guint64        *limit_value,
                                    guint64        *limit_peak);

gboolean sandbox_agent_group_find_outcome (SandboxAgentGroup *self,
                                           gboolean           failed,
                                           SandboxOutcome    *outcome,
                                           guint64           *limit_value,
                                           guint64           *limit_peak);

/* Kills everything in it. From any thread. */
void sandbox_agent_group_kill (SandboxAgentGroup *self);

/* Kills everything in it, and removes it as soon as it is empty. Once; the end of the object does the same. */
void sandbox_agent_group_end (SandboxAgentGroup *self);

G_END_DECLS
