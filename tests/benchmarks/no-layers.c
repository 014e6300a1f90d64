/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of layers.c of the agent, to measure what the layers cost and to see that their absence is found out. Never
 * installed. */
#include "agent.h"

bool
agent_drop_privileges (int kept)
{
  (void) kept;
  return true;
}

bool
agent_rules_begin (const SandboxAgentSetup *setup,
                   int                     *ruleset_fd,
                   SandboxAgentFailed      *failed)
{
  (void) setup;
  (void) failed;
  *ruleset_fd = -1;
  return true;
}

bool
agent_rules_finish (const SandboxAgentSetup *setup,
                    int                      ruleset_fd,
                    SandboxAgentFailed      *failed)
{
  (void) setup;
  (void) ruleset_fd;
  (void) failed;
  return true;
}

bool
agent_rules_enforce (int ruleset_fd)
{
  (void) ruleset_fd;
  return true;
}

bool
agent_filter_enforce (const struct agent_sock_fprog *filter)
{
  (void) filter;
  return true;
}
