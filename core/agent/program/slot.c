/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The session's process 1, and how it makes a slot: a namespace of processes for one command, armed before the command is
 * known. No guest code ever runs as this process or in its namespaces: it keeps the right to make more of them, and what is
 * in a slot can neither see nor signal it.
 */
#include "agent.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* After a slot was asked for: whoever asked is answered first, and so are the next ones of many. */
#define SUPPLY_DELAY_MS 2

static char slot_packet[256];

static bool
slot_fail (SandboxAgentFailed *failed,
           SandboxAgentStep    step,
           uint32_t            detail)
{
  *failed = (SandboxAgentFailed){ step, errno, detail };
  return false;
}

/* What @supply has is used up. */
static bool
slot_mount (const SandboxAgentSetup *setup,
            AgentSupply             *supply,
            SandboxAgentFailed      *failed)
{
  const bool bound_names = (setup->flags & SANDBOX_AGENT_SETUP_BOUND_NAMES) != 0;

  if ((setup->flags & SANDBOX_AGENT_SETUP_NO_PROC) == 0 && !agent_mount_proc ())
    return slot_fail (failed, SANDBOX_AGENT_STEP_MOUNT, setup->n_mounts);
  if ((setup->flags & SANDBOX_AGENT_SETUP_SHUT_PROC) != 0 && !agent_mount_shut_proc ())
    return slot_fail (failed, SANDBOX_AGENT_STEP_MOUNT, setup->n_mounts);
  for (uint32_t i = 0; i < setup->n_memories; i++)
    {
      const int mount_fd = supply->memory_fds[i] >= 0 ? supply->memory_fds[i] : agent_mount_new_memory (&setup->memories[i], bound_names);

      if (!agent_mount_place (mount_fd, setup->memories[i].target))
        return slot_fail (failed, SANDBOX_AGENT_STEP_MOUNT, setup->n_mounts + 1 + i);
    }
  if (agent_slot_owns (setup, AGENT_TERMINALS) &&
      !agent_mount_place (supply->devpts_fd >= 0 ? supply->devpts_fd : agent_mount_new_devpts (), AGENT_TERMINALS))
    return slot_fail (failed, SANDBOX_AGENT_STEP_DEVPTS, 0);
  return true;
}

/* Everything that needs a right, then no right any more; then what binds commands binds this process, and its child by birth. */
static bool
slot_prepare (AgentSession       *self,
              int                 socket_fd,
              AgentSupply        *supply,
              SandboxAgentFailed *failed)
{
  struct stat found;

  self->ruleset_fd = supply->ruleset_fd;
  if (!slot_mount (&self->setup, supply, failed))
    return false;
  /* not the session's socket, not its lock, nothing that leads into its mounts */
  if (!agent_close_descriptors (socket_fd, &self->ruleset_fd))
    _exit (AGENT_EXIT_FAILURE);
  self->workspace_fd = agent_session_open_workspace (self->setup.workspace, self->workspace_device, self->workspace_inode, &found, failed);
  if (self->workspace_fd < 0)
    return false;
  /* after the mounts: a rule holds for what is at its path now */
  if ((self->ruleset_fd < 0 && !agent_rules_begin (&self->setup, &self->ruleset_fd, failed)) ||
      !agent_rules_finish (&self->setup, self->ruleset_fd, failed))
    return false;
  if (!agent_keep_capability (-1) || prctl (PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
    return slot_fail (failed, SANDBOX_AGENT_STEP_CAPABILITIES, 0);
  self->is_filtered = (self->setup.flags & SANDBOX_AGENT_SETUP_LATE_FILTER) == 0;
  if (self->is_filtered && !agent_filter_enforce (&self->filter))
    return slot_fail (failed, SANDBOX_AGENT_STEP_SECCOMP, 0);
  return true;
}

static void
slot_tell_failed (int                       socket_fd,
                  const SandboxAgentFailed *failed)
{
  const SandboxAgentPacket packet = { .type = SANDBOX_AGENT_FAILED, .failed = *failed };

  /* who does not hear it hears the end of the socket */
  sandbox_agent_send (socket_fd, &packet, slot_packet, sizeof slot_packet);
}

static void __attribute__ ((noreturn))
slot_main (AgentSession *session,
           int           socket_fd,
           AgentSupply  *supply)
{
  SandboxAgentFailed failed = { 0 };

  if (!slot_prepare (session, socket_fd, supply, &failed))
    {
      slot_tell_failed (socket_fd, &failed);
      _exit (0);
    }
  agent_init_command (session, socket_fd);
}

/* clone () and not clone3 (), which many filters of containers refuse. */
static void
slot_arm (AgentSession *session,
          int           socket_fd,
          AgentSupply  *supply)
{
  const bool shared = (session->setup.flags & SANDBOX_AGENT_SETUP_SHARED) != 0;
  const long flags = CLONE_NEWPID | CLONE_NEWNS | (shared ? 0 : CLONE_NEWIPC) | SIGCHLD;
  const long pid = syscall (SYS_clone, flags, 0, 0, 0, 0);
  const int  error = errno;

  if (pid == 0)
    slot_main (session, socket_fd, supply);
  agent_supply_drop (supply);
  if (pid < 0)
    slot_tell_failed (socket_fd, &(SandboxAgentFailed){ SANDBOX_AGENT_STEP_SLOT, error, 0 });
  close (socket_fd);
}

static void
slots_receive (AgentSession *session,
               int           socket_fd,
               AgentSupply  *supply)
{
  static SandboxAgentPacket packet;

  switch (sandbox_agent_receive (socket_fd, SANDBOX_AGENT_FROM_HOST, slot_packet, sizeof slot_packet, &packet))
    {
    case SANDBOX_AGENT_AGAIN:
      return;

    case SANDBOX_AGENT_END:
      agent_end ();

    case SANDBOX_AGENT_REJECTED:
      _exit (AGENT_EXIT_FAILURE);

    case SANDBOX_AGENT_RECEIVED:
      break;
    }

  if (packet.type == SANDBOX_AGENT_ARM)
    slot_arm (session, packet.fds[0], supply);
  else if (packet.type == SANDBOX_AGENT_BYE)
    {
      sandbox_agent_send (socket_fd, &packet, slot_packet, sizeof slot_packet);
      agent_end ();
    }
  else
    _exit (AGENT_EXIT_FAILURE);
}

void
agent_slots (AgentSession *session,
             int           socket_fd,
             int           children_fd)
{
  static AgentSupply supply = AGENT_SUPPLY_NONE;
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_READY, .n_fds = 1 };
  struct pollfd      polls[] = { { socket_fd, POLLIN, 0 }, { children_fd, POLLIN, 0 } };

  packet.fds[0] = session->workspace_fd;
  if (!sandbox_agent_send (socket_fd, &packet, slot_packet, sizeof slot_packet))
    _exit (AGENT_EXIT_FAILURE);
  for (;;)
    {
      const int n_ready = poll (polls, 2, supply.is_made ? -1 : SUPPLY_DELAY_MS);

      if (n_ready < 0 && errno != EINTR)
        _exit (AGENT_EXIT_FAILURE);
      if (n_ready == 0)
        agent_supply_make (&supply, &session->setup);
      /* The lifeline goes before anything that is still to be read: no slot is made for a host that is gone. */
      if ((polls[0].revents & (POLLHUP | POLLERR)) != 0)
        agent_end ();
      if (polls[0].revents != 0)
        slots_receive (session, socket_fd, &supply);
      if (polls[1].revents != 0)
        {
          agent_take_signals (children_fd);
          while (waitpid (-1, NULL, WNOHANG) > 0)
            ;
        }
    }
}
