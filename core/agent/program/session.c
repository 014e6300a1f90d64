/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SETUP: what all commands of the sandbox share. No guest code has run here before. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of these the kernel has few for one user of the host. */
#define INOTIFY_INSTANCES_MAX "64"
#define INOTIFY_WATCHES_MAX "65536"

/* Of a command, or of a slot; and what binds process 1 as well, where it makes slots. */
static struct agent_sock_filter command_filter[SANDBOX_AGENT_N_INSTRUCTIONS_MAX] AGENT_PAGE_ALIGNED;
static struct agent_sock_filter session_filter[SANDBOX_AGENT_N_INSTRUCTIONS_MAX];

/* Puts @name of @directory_fd, which then is closed, into a mount of its own unless it is one; leaves a descriptor of
 * that mount, or -1. */
static int
session_isolate (int         directory_fd,
                 const char *name)
{
  int fd = agent_open_path (directory_fd, name, AGENT_RESOLVE_BENEATH | AGENT_RESOLVE_NO_XDEV);
  int mount_fd = -1, error;

  if (fd >= 0)
    mount_fd = (int) syscall (SYS_open_tree, fd, "", AT_EMPTY_PATH | AGENT_RECURSIVE | AGENT_OPEN_TREE_CLONE | O_CLOEXEC);
  else if (errno == EXDEV)
    mount_fd = agent_open_path (directory_fd, name, AGENT_RESOLVE_BENEATH);
  error = errno;
  if (fd >= 0 && mount_fd >= 0 &&
      syscall (SYS_move_mount, mount_fd, "", fd, "", AGENT_MOVE_MOUNT_F_EMPTY_PATH | AGENT_MOVE_MOUNT_T_EMPTY_PATH) < 0)
    {
      error = errno;
      close (mount_fd);
      mount_fd = -1;
    }
  if (fd >= 0)
    close (fd);
  close (directory_fd);
  errno = error;
  return mount_fd;
}

/* What is a mount can be neither renamed nor removed. So each directory on the way becomes one too: nobody gets round
 * what is protected by putting something else in place of what is above it. */
static bool
session_protect (const char *workspace,
                 const char *target)
{
  const struct agent_mount_attr read_only = { .attr_set = AGENT_MOUNT_ATTR_RDONLY };
  char                          name[NAME_MAX + 1];
  const char                   *at = target + strlen (workspace);
  struct stat                   found;
  int                           fd = agent_open_path (AT_FDCWD, workspace, 0);
  int                           error = 0;

  while (fd >= 0 && *at == '/')
    {
      size_t length = strcspn (++at, "/");

      if (length == 0 || length >= sizeof name)
        {
          close (fd);
          errno = length == 0 ? EINVAL : ENAMETOOLONG;
          return false;
        }
      memcpy (name, at, length);
      name[length] = '\0';
      at += length;
      fd = session_isolate (fd, name);
    }
  if (fd < 0)
    return false;
  /* by a second name it would be written all the same */
  if (fstat (fd, &found) < 0)
    error = errno;
  else if (S_ISREG (found.st_mode) && found.st_nlink != 1)
    error = EMLINK;
  else if (syscall (SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AGENT_RECURSIVE, &read_only, sizeof read_only) < 0)
    error = errno;
  close (fd);
  errno = error;
  return error == 0;
}

/* A number of the sandbox's own user namespace. */
static bool
session_set_count (const char *setting,
                   const char *count)
{
  int    fd = open (setting, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  size_t size = strlen (count);
  bool   good = fd >= 0 && write (fd, count, size) == (ssize_t) size;
  int    error = errno;

  if (fd >= 0)
    close (fd);
  errno = error;
  return good;
}

/* What the kernel counts for a user of the host is to be left to others, too. */
static bool
session_forbid_userns (bool proc_is_empty)
{
  int  error;
  bool good;

  /* The number is the namespace's, whatever procfs it is written through: one that the guest never sees will do. */
  if (proc_is_empty && !agent_mount_proc ())
    return false;
  good = session_set_count ("/proc/sys/user/max_user_namespaces", "0") &&
         session_set_count ("/proc/sys/user/max_inotify_instances", INOTIFY_INSTANCES_MAX) &&
         session_set_count ("/proc/sys/user/max_inotify_watches", INOTIFY_WATCHES_MAX);
  error = errno;
  if (proc_is_empty && umount2 ("/proc", MNT_DETACH) < 0)
    return false;
  errno = error;
  return good;
}

int
agent_session_open_workspace (const char         *path,
                              uint64_t            device,
                              uint64_t            inode,
                              struct stat        *found,
                              SandboxAgentFailed *failed)
{
  const int fd = agent_open_path (AT_FDCWD, path, 0);

  *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_WORKSPACE, 0, 0 };
  if (fd < 0 || fstat (fd, found) < 0)
    failed->error = errno;
  else if (!S_ISDIR (found->st_mode))
    failed->error = ENOTDIR;
  else
    {
      failed->step = SANDBOX_AGENT_STEP_WORKSPACE_IDENTITY;
      if (found->st_nlink == 0)
        failed->error = ENOENT;
      else if (inode != 0 && (found->st_ino != inode || found->st_dev != device))
        failed->error = ESTALE;
    }
  if (failed->error == 0)
    return fd;
  if (fd >= 0)
    close (fd);
  return -1;
}

static bool
session_mount (const SandboxAgentPacket *packet,
               SandboxAgentFailed       *failed)
{
  const SandboxAgentSetup *setup = &packet->setup;
  uint32_t                 at = 0;

  for (uint32_t i = 0; i < setup->n_mounts; i++)
    {
      const SandboxAgentMount *mount = &setup->mounts[i];
      const int               *fds = packet->fds + at;
      uint32_t                 n_fds = 1;
      bool                     good;

      if ((mount->flags & SANDBOX_AGENT_MOUNT_IN_PLACE) != 0)
        {
          n_fds = 0;
          good = session_protect (setup->workspace, mount->target);
        }
      else if ((mount->flags & SANDBOX_AGENT_MOUNT_OVERLAY) != 0)
        {
          n_fds = (mount->flags & SANDBOX_AGENT_MOUNT_BOUND) != 0 ? 0 : 2;
          good = agent_mount_overlay (mount, fds);
        }
      else
        good = agent_mount_attach (fds[0], mount);
      if (!good)
        {
          *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_MOUNT, errno, i };
          return false;
        }
      for (uint32_t j = 0; j < n_fds; j++)
        close (fds[j]);
      at += n_fds;
    }
  /* a further descriptor is the lock: it stays open until the agent ends */
  return true;
}

static void
session_set_filter (AgentSession  *self,
                    const uint8_t *filter,
                    uint32_t       n_instructions)
{
  memcpy (command_filter, filter, (size_t) n_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE);
  self->filter = (struct agent_sock_fprog){ (unsigned short) n_instructions, command_filter };
}

bool
agent_session_enforce (const AgentSession *self)
{
  const struct agent_sock_fprog filter = { (unsigned short) self->setup.n_instructions, session_filter };

  return agent_filter_enforce (&filter);
}

/* What is each slot's own is made with the slot. */
bool
agent_session_prepare (AgentSession             *self,
                       const SandboxAgentPacket *packet,
                       SandboxAgentFailed       *failed)
{
  const SandboxAgentSetup *setup = &packet->setup;
  const bool               slots = (setup->flags & SANDBOX_AGENT_SETUP_SLOTS) != 0;
  const bool               shared = !slots || (setup->flags & SANDBOX_AGENT_SETUP_SHARED) != 0;
  struct stat              found;

  self->setup = *setup;
  if (slots)
    {
      memcpy (session_filter, setup->filter, (size_t) setup->n_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE);
      session_set_filter (self, setup->slot_filter, setup->n_slot_instructions);
    }
  else
    session_set_filter (self, setup->filter, setup->n_instructions);

  /* What happens to the mounts of the host or of a slot stays there. */
  if (slots && mount (NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0)
    {
      *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_MOUNT, errno, setup->n_mounts };
      return false;
    }
  if (!session_mount (packet, failed))
    return false;
  if (shared && (setup->flags & SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS) != 0 && !agent_mount_place (agent_mount_new_devpts (), AGENT_TERMINALS))
    {
      *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_DEVPTS, errno, 0 };
      return false;
    }
  if (!agent_doors_make (self, failed))
    return false;
  self->workspace_fd = agent_session_open_workspace (setup->workspace, setup->workspace_device, setup->workspace_inode, &found, failed);
  if (self->workspace_fd < 0)
    return false;
  self->workspace_device = found.st_dev;
  self->workspace_inode = found.st_ino;
  if ((setup->flags & SANDBOX_AGENT_SETUP_FORBID_USERNS) != 0 && !session_forbid_userns ((setup->flags & SANDBOX_AGENT_SETUP_NO_PROC) != 0))
    {
      *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_USERNS_LIMIT, errno, 0 };
      return false;
    }
  if (((setup->flags & SANDBOX_AGENT_SETUP_BOUND_NAMES) != 0 && (!agent_mount_bound_names ("/tmp") || !agent_mount_bound_names ("/dev/shm"))) ||
      (!slots && (setup->flags & SANDBOX_AGENT_SETUP_SHUT_PROC) != 0 && !agent_mount_shut_proc ()))
    {
      *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_MOUNT, errno, setup->n_mounts };
      return false;
    }
  /* last: a rule holds for what is at its path now */
  return slots || (agent_rules_begin (setup, &self->ruleset_fd, failed) && agent_rules_finish (setup, self->ruleset_fd, failed));
}
