/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of a slot is made before it is asked for, so that one which is asked for at once is there sooner. What is missing here, for
 * whatever reason, the slot makes itself, and tells of what it cannot make. */
#include "agent.h"

#include <string.h>
#include <unistd.h>

static bool
supply_is_within (const char *path,
                  const char *directory)
{
  const size_t length = strlen (directory);

  return strncmp (path, directory, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

bool
agent_slot_owns (const SandboxAgentSetup *setup,
                 const char              *path)
{
  if ((setup->flags & SANDBOX_AGENT_SETUP_NO_PROC) == 0 && supply_is_within (path, "/proc"))
    return true;
  if ((setup->flags & (SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS | SANDBOX_AGENT_SETUP_SHARED)) == SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS &&
      supply_is_within (path, AGENT_TERMINALS))
    return true;
  for (uint32_t i = 0; i < setup->n_memories; i++)
    if (supply_is_within (path, setup->memories[i].target))
      return true;
  return false;
}

bool
agent_slots_share (const SandboxAgentSetup *setup,
                   const char              *path)
{
  return !agent_slot_owns (setup, path) && !supply_is_within (path, setup->workspace);
}

static void
supply_close (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

void
agent_supply_make (AgentSupply             *self,
                   const SandboxAgentSetup *setup)
{
  SandboxAgentFailed failed;

  self->is_made = true;
  if (!agent_rules_begin (setup, &self->ruleset_fd, &failed))
    supply_close (&self->ruleset_fd);
  for (uint32_t i = 0; i < setup->n_memories; i++)
    self->memory_fds[i] = agent_mount_new_memory (&setup->memories[i], (setup->flags & SANDBOX_AGENT_SETUP_BOUND_NAMES) != 0);
  if (agent_slot_owns (setup, AGENT_TERMINALS))
    self->devpts_fd = agent_mount_new_devpts ();
}

void
agent_supply_drop (AgentSupply *self)
{
  supply_close (&self->ruleset_fd);
  for (int i = 0; i < SANDBOX_AGENT_N_MEMORIES_MAX; i++)
    supply_close (&self->memory_fds[i]);
  supply_close (&self->devpts_fd);
  self->is_made = false;
}
