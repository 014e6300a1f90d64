/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-bubblewrap-network.h"
#include "sandbox-bubblewrap-plan.h"

G_BEGIN_DECLS

/* A plan as text for people and audits; see sandbox_backend_plan (). @arguments are those of bwrap, @environment what
 * every command has. Values of an environment are secrets, so only the names are told. */
char *sandbox_bubblewrap_plan_to_json (const SandboxBubblewrapPlan *self,
                                       const char                  *executable,
                                       GBytes                      *arguments,
                                       SandboxCommand              *command,
                                       const char *const           *environment,
                                       SandboxProfile              *profile,
                                       SandboxBubblewrapNetwork     network);

G_END_DECLS
