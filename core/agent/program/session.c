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
#include <sys/vfs.h>
#include <unistd.h>

/* Of these the kernel has few, for the whole machine and for one user of the host. */
#define TERMINALS_MAX "256"
#define INOTIFY_INSTANCES_MAX "64"

static struct agent_sock_filter session_filter[SANDBOX_AGENT_N_INSTRUCTIONS_MAX];

static bool
session_attach (int                      mount_fd,
                const SandboxAgentMount *mount)
{
  struct agent_mount_attr attributes = { .attr_set = AGENT_MOUNT_ATTR_NOSUID | AGENT_MOUNT_ATTR_NODEV };
  int                     target_fd = agent_open_path (AT_FDCWD, mount->target, 0);
  int                     error = 0;

  if (target_fd < 0)
    return false;
  if ((mount->flags & SANDBOX_AGENT_MOUNT_READ_ONLY) != 0)
    attributes.attr_set |= AGENT_MOUNT_ATTR_RDONLY;
  if (syscall (SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0 ||
      syscall (SYS_move_mount, mount_fd, "", target_fd, "", AGENT_MOVE_MOUNT_F_EMPTY_PATH | AGENT_MOVE_MOUNT_T_EMPTY_PATH) < 0)
    error = errno;
  close (target_fd);
  errno = error;
  return error == 0;
}

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
  if (proc_is_empty && mount ("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
    return false;
  good = session_set_count ("/proc/sys/user/max_user_namespaces", "0") &&
         session_set_count ("/proc/sys/user/max_inotify_instances", INOTIFY_INSTANCES_MAX);
  error = errno;
  if (proc_is_empty && umount2 ("/proc", MNT_DETACH) < 0)
    return false;
  errno = error;
  return good;
}

/* Over what is at @target, if anything is: what @source is, to be read only. */
static bool
session_cover (const char *source,
               const char *target,
               uint64_t    attributes)
{
  const struct agent_mount_attr set = { .attr_set = AGENT_MOUNT_ATTR_RDONLY | attributes };
  int                           target_fd = open (target, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  int                           mount_fd = -1;
  int                           error = 0;

  if (target_fd < 0)
    return errno == ENOENT;
  mount_fd = (int) syscall (SYS_open_tree, AT_FDCWD, source, AT_SYMLINK_NOFOLLOW | AGENT_RECURSIVE | AGENT_OPEN_TREE_CLONE | O_CLOEXEC);
  if (mount_fd < 0 ||
      syscall (SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH | AGENT_RECURSIVE, &set, sizeof set) < 0 ||
      syscall (SYS_move_mount, mount_fd, "", target_fd, "", AGENT_MOVE_MOUNT_F_EMPTY_PATH | AGENT_MOVE_MOUNT_T_EMPTY_PATH) < 0)
    error = errno;
  if (mount_fd >= 0)
    close (mount_fd);
  close (target_fd);
  errno = error;
  return error == 0;
}

/* What of procfs is not about processes, and yet open to everybody: the rest belongs to root, who is nobody in here. Settings and
 * triggers of the kernel can be read; keys are in no namespace, and are covered by a device where devices cannot be opened. */
static bool
session_shut_proc (void)
{
  return session_cover ("/proc/sys", "/proc/sys", 0) && session_cover ("/proc/pressure", "/proc/pressure", 0) &&
         session_cover ("/dev/null", "/proc/keys", AGENT_MOUNT_ATTR_NODEV);
}

/* An empty file takes none of the bytes that a memory file system has, but memory of the kernel's. No more names than pages. */
static bool
session_bound_names (const char *directory)
{
  char          options[64] = "nr_inodes=";
  size_t        length = strlen (options);
  struct statfs found;
  char          digits[24];
  size_t        n_digits = 0;

  if (statfs (directory, &found) < 0)
    return errno == ENOENT;
  if (found.f_type != AGENT_TMPFS_MAGIC)
    return true;
  /* the root of it counts, so a very small one gets a few more */
  for (unsigned long long rest = found.f_blocks > 16 ? (unsigned long long) found.f_blocks : 16; n_digits == 0 || rest > 0; rest /= 10)
    digits[n_digits++] = (char) ('0' + rest % 10);
  while (n_digits > 0)
    options[length++] = digits[--n_digits];
  return mount (NULL, directory, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, options) == 0;
}

/* The descriptor stays: cwd is looked up below this very directory. */
static bool
session_open_workspace (AgentSession            *self,
                        const SandboxAgentSetup *setup,
                        SandboxAgentFailed      *failed)
{
  struct stat found;

  failed->step = SANDBOX_AGENT_STEP_WORKSPACE;
  self->workspace_fd = agent_open_path (AT_FDCWD, setup->workspace, 0);
  if (self->workspace_fd < 0 || fstat (self->workspace_fd, &found) < 0)
    {
      failed->error = errno;
      return false;
    }
  if (!S_ISDIR (found.st_mode))
    {
      failed->error = ENOTDIR;
      return false;
    }
  failed->step = SANDBOX_AGENT_STEP_WORKSPACE_IDENTITY;
  failed->error = found.st_nlink == 0 ? ENOENT : ESTALE;
  return found.st_nlink > 0 &&
         (setup->workspace_inode == 0 ||
          (found.st_ino == setup->workspace_inode && found.st_dev == setup->workspace_device));
}

bool
agent_session_prepare (AgentSession             *self,
                       const SandboxAgentPacket *packet,
                       SandboxAgentFailed       *failed)
{
  const SandboxAgentSetup *setup = &packet->setup;

  for (uint32_t i = 0; i < setup->n_mounts; i++)
    {
      bool in_place = (setup->mounts[i].flags & SANDBOX_AGENT_MOUNT_IN_PLACE) != 0;

      if (in_place ? !session_protect (setup->workspace, setup->mounts[i].target)
                   : !session_attach (packet->fds[i], &setup->mounts[i]))
        {
          *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_MOUNT, errno, i };
          return false;
        }
      if (!in_place)
        close (packet->fds[i]);
    }
  /* a further descriptor is the lock: it stays open until the agent ends */

  if ((setup->flags & SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS) != 0 &&
      mount ("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,max=" TERMINALS_MAX) < 0)
    {
      *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_DEVPTS, errno, 0 };
      return false;
    }
  if (!session_open_workspace (self, setup, failed))
    return false;
  if ((setup->flags & SANDBOX_AGENT_SETUP_FORBID_USERNS) != 0 && !session_forbid_userns ((setup->flags & SANDBOX_AGENT_SETUP_NO_PROC) != 0))
    {
      *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_USERNS_LIMIT, errno, 0 };
      return false;
    }
  if ((setup->flags & SANDBOX_AGENT_SETUP_BOUND_NAMES) != 0 && (!session_bound_names ("/tmp") || !session_bound_names ("/dev/shm")))
    {
      *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_MOUNT, errno, setup->n_mounts };
      return false;
    }
  if ((setup->flags & SANDBOX_AGENT_SETUP_SHUT_PROC) != 0 && !session_shut_proc ())
    {
      *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_MOUNT, errno, setup->n_mounts };
      return false;
    }
  /* last: a rule holds for what is at its path now */
  if (!agent_rules_prepare (setup, &self->ruleset_fd, failed))
    return false;

  memcpy (session_filter, setup->filter, (size_t) setup->n_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE);
  self->filter = (struct agent_sock_fprog){ (unsigned short) setup->n_instructions, session_filter };
  return true;
}
