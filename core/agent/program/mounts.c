/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* File systems that the agent puts in place: what the host hands in, what of its own a sandbox or a slot gets. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Of these the kernel has few, for the whole machine. */
#define TERMINALS_MAX "256"
/* A memory file system has at least so many names: its root counts. */
#define NAMES_MIN 16

/* Closes, and leaves errno as it was. */
static void
mount_close (int fd)
{
  const int error = errno;

  if (fd >= 0)
    close (fd);
  errno = error;
}

bool
agent_mount_attach (int                      mount_fd,
                    const SandboxAgentMount *mount)
{
  struct agent_mount_attr attributes = { .attr_set = AGENT_MOUNT_ATTR_NOSUID | AGENT_MOUNT_ATTR_NODEV, .propagation = MS_PRIVATE };
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

#define ATTRIBUTES (AGENT_MOUNT_ATTR_NOSUID | AGENT_MOUNT_ATTR_NODEV)

/* An option is a name and its value, NULL for a flag. */
static int
mount_new (const char        *type,
           const char *const *options,
           uint64_t           attributes)
{
  const int fd = (int) syscall (SYS_fsopen, type, AGENT_FSOPEN_CLOEXEC);
  int       mount_fd = -1;
  bool      good = fd >= 0;

  for (; good && *options != NULL; options += 2)
    good = syscall (SYS_fsconfig, fd, options[1] != NULL ? AGENT_FSCONFIG_SET_STRING : AGENT_FSCONFIG_SET_FLAG, options[0], options[1], 0) == 0;
  if (good && syscall (SYS_fsconfig, fd, AGENT_FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
    mount_fd = (int) syscall (SYS_fsmount, fd, AGENT_FSMOUNT_CLOEXEC, attributes);
  mount_close (fd);
  return mount_fd;
}

static bool
mount_move (int         mount_fd,
            int         directory_fd,
            const char *name)
{
  const unsigned flags = AGENT_MOVE_MOUNT_F_EMPTY_PATH | (name[0] == '\0' ? AGENT_MOVE_MOUNT_T_EMPTY_PATH : 0);

  return syscall (SYS_move_mount, mount_fd, "", directory_fd, name, flags) == 0;
}

static int
mount_new_overlay (const char *lower,
                   const char *upper,
                   const char *work)
{
  const char *const options[] = { "lowerdir", lower, "upperdir", upper, "workdir", work, "index", "off", "userxattr", NULL, NULL };

  return mount_new ("overlay", options, ATTRIBUTES);
}

/* An overlay asks for its layers by their paths, so they are mounted for a moment: on top of @target_fd, where nothing can be
 * missing. It keeps clones of its own that nobody can reach. */
static int
mount_new_overlay_from (int       target_fd,
                        const int fds[2])
{
  static const char *const      options[] = { "mode", "0700", NULL };
  const struct agent_mount_attr below = { .attr_set = AGENT_MOUNT_ATTR_RDONLY | AGENT_MOUNT_ATTR_NOSUID | AGENT_MOUNT_ATTR_NODEV,
                                          .propagation = MS_PRIVATE };
  const struct agent_mount_attr base = { .attr_set = AGENT_MOUNT_ATTR_NOSUID | AGENT_MOUNT_ATTR_NODEV, .propagation = MS_PRIVATE };
  const int                     place_fd = mount_new ("tmpfs", options, ATTRIBUTES);
  int                           overlay_fd = -1;

  if (place_fd >= 0 && mkdirat (place_fd, "lower", 0700) == 0 && mkdirat (place_fd, "base", 0700) == 0 &&
      syscall (SYS_mount_setattr, fds[0], "", AT_EMPTY_PATH, &below, sizeof below) == 0 &&
      syscall (SYS_mount_setattr, fds[1], "", AT_EMPTY_PATH, &base, sizeof base) == 0 &&
      mount_move (place_fd, target_fd, "") && fchdir (place_fd) == 0)
    {
      if (mount_move (fds[0], place_fd, "lower") && mount_move (fds[1], place_fd, "base"))
        overlay_fd = mount_new_overlay ("lower", "base/upper", "base/work");
      /* with all that is mounted in it */
      if (umount2 (".", MNT_DETACH) < 0 || chdir ("/") < 0)
        {
          mount_close (overlay_fd);
          overlay_fd = -1;
        }
    }
  mount_close (place_fd);
  return overlay_fd;
}

bool
agent_mount_overlay (const SandboxAgentMount *mount,
                     const int                fds[2])
{
  const bool bound = (mount->flags & SANDBOX_AGENT_MOUNT_BOUND) != 0;
  const int  target_fd = agent_open_path (AT_FDCWD, mount->target, 0);
  int        overlay_fd = -1;
  bool       good;

  if (target_fd >= 0)
    overlay_fd = bound ? mount_new_overlay (SANDBOX_AGENT_OVERLAY_LOWER, SANDBOX_AGENT_OVERLAY_BASE "/upper", SANDBOX_AGENT_OVERLAY_BASE "/work")
                       : mount_new_overlay_from (target_fd, fds);
  good = overlay_fd >= 0 && (!bound || (umount2 (SANDBOX_AGENT_OVERLAY_LOWER, MNT_DETACH) == 0 && umount2 (SANDBOX_AGENT_OVERLAY_BASE, MNT_DETACH) == 0)) &&
         mount_move (overlay_fd, target_fd, "");
  mount_close (overlay_fd);
  mount_close (target_fd);
  return good;
}

int
agent_mount_new_devpts (void)
{
  static const char *const options[] = { "newinstance", NULL, "ptmxmode", "0666", "mode", "0620", "max", TERMINALS_MAX, NULL };

  return mount_new ("devpts", options, AGENT_MOUNT_ATTR_NOSUID | AGENT_MOUNT_ATTR_NOEXEC);
}

bool
agent_mount_proc (void)
{
  return mount ("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

/* Over what is at @target, if anything is: what @source is, to be read only. Neither is a link, nor reached by one. */
static bool
mount_cover (const char *source,
             const char *target,
             uint64_t    attributes)
{
  const struct agent_mount_attr set = { .attr_set = AGENT_MOUNT_ATTR_RDONLY | attributes };
  const int                     mount_fd = (int) syscall (SYS_open_tree, AT_FDCWD, source, AT_SYMLINK_NOFOLLOW | AGENT_RECURSIVE | AGENT_OPEN_TREE_CLONE | O_CLOEXEC);
  bool                          good;

  if (mount_fd < 0)
    return source == target && errno == ENOENT;
  good = syscall (SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH | AGENT_RECURSIVE, &set, sizeof set) == 0 &&
         (mount_move (mount_fd, AT_FDCWD, target) || errno == ENOENT);
  mount_close (mount_fd);
  return good;
}

/* What of procfs is not about processes, and yet open to everybody: the rest belongs to root, who is nobody in here. Settings and
 * triggers of the kernel can be read; keys are in no namespace, and are covered by a device where devices cannot be opened. */
bool
agent_mount_shut_proc (void)
{
  static const char settings[] = "/proc/sys", triggers[] = "/proc/pressure";

  return mount_cover (settings, settings, 0) && mount_cover (triggers, triggers, 0) && mount_cover ("/dev/null", "/proc/keys", AGENT_MOUNT_ATTR_NODEV);
}

int
agent_mount_new_memory (const SandboxAgentMemory *memory,
                        bool                      bound_names)
{
  const uint64_t n_pages = memory->size / (uint64_t) sysconf (_SC_PAGESIZE);
  char           size[AGENT_NUMBER_SIZE], names[AGENT_NUMBER_SIZE];
  const char    *options[7] = { "mode", "1777", NULL };
  size_t         n_options = 2;

  agent_format_number (memory->size, size);
  agent_format_number (n_pages > NAMES_MIN ? n_pages : NAMES_MIN, names);
  if (memory->size != 0)
    {
      options[n_options++] = "size";
      options[n_options++] = size;
    }
  /* without a size the kernel's number of names is bounded, too */
  if (memory->size != 0 && bound_names)
    {
      options[n_options++] = "nr_inodes";
      options[n_options++] = names;
    }
  options[n_options] = NULL;
  return mount_new ("tmpfs", options, ATTRIBUTES);
}

/* The way to @target may be the guest's by now, so no link is followed. */
bool
agent_mount_place (int         mount_fd,
                   const char *target)
{
  const int  target_fd = mount_fd >= 0 ? agent_open_path (AT_FDCWD, target, 0) : -1;
  const bool good = target_fd >= 0 && mount_move (mount_fd, target_fd, "");

  mount_close (target_fd);
  mount_close (mount_fd);
  return good;
}

bool
agent_mount_names (const char *target,
                   uint64_t    n_names)
{
  char              names[AGENT_NUMBER_SIZE];
  const char *const options[] = { "mode", "0755", "size", "4096", "nr_inodes", names, NULL };

  agent_format_number (n_names + 1, names); /* the directory counts */
  return agent_mount_place (mount_new ("tmpfs", options, ATTRIBUTES), target);
}

/* The file system and this mount of it, of which slots get copies. */
bool
agent_mount_close (const char *target)
{
  return mount (NULL, target, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) == 0;
}

/* An empty file takes none of the bytes that a memory file system has, but memory of the kernel's. No more names than pages. */
bool
agent_mount_bound_names (const char *directory)
{
  char          options[16 + AGENT_NUMBER_SIZE] = "nr_inodes=";
  struct statfs found;

  if (statfs (directory, &found) < 0)
    return errno == ENOENT;
  if (found.f_type != AGENT_TMPFS_MAGIC)
    return true;
  agent_format_number (found.f_blocks > NAMES_MIN ? (uint64_t) found.f_blocks : NAMES_MIN, options + strlen (options));
  return mount (NULL, directory, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, options) == 0;
}
