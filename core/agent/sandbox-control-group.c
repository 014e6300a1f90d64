/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-control-group-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-proc-private.h"
#include "sandbox-random-private.h"

/* sandbox-glib-PID-START-RANDOM */
#define NAME_PREFIX "sandbox-glib-"
#define NAME_RANDOM_BYTES 8

/* What dead hosts left is killed, and so long waited for, each. */
#define COLLECT_LIMIT_MS 200

/**
 * SandboxControlGroup:
 *
 * A control group (cgroup v2) of the host that has been delegated to it.
 *
 * The limits [property@Sandbox.Limits:memory-bytes], [property@Sandbox.Limits:tasks] and
 * [property@Sandbox.Limits:cpu-percent] count for all processes of a sandbox together, and the kernel has them for
 * groups of processes alone. For each sandbox that has such a limit a group is made in this one, and removed
 * afterwards.
 *
 * It may be shared by several programs. No process that is not of a sandbox is moved.
 *
 * Since: 1.0
 */

struct _SandboxControlGroup
{
  GObject parent_instance;

  int    fd;
  char  *path;
  char **controllers;
  gint   enabled; /* atomic; a bit for each need: seen to be */
};

static const char *const known_controllers[] = { "memory", "pids", "cpu" };

G_DEFINE_FINAL_TYPE (SandboxControlGroup, sandbox_control_group, G_TYPE_OBJECT)

static void
sandbox_control_group_finalize (GObject *object)
{
  SandboxControlGroup *self = SANDBOX_CONTROL_GROUP (object);

  sandbox_clear_fd (&self->fd);
  g_free (self->path);
  g_strfreev (self->controllers);

  G_OBJECT_CLASS (sandbox_control_group_parent_class)->finalize (object);
}

static void
sandbox_control_group_class_init (SandboxControlGroupClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = sandbox_control_group_finalize;
}

static void
sandbox_control_group_init (SandboxControlGroup *self)
{
  self->fd = -1;
}

/* ---- What the kernel's files say -------------------------------------------------------------------------------- */

gboolean
sandbox_control_group_parse_number (const char *text,
                                    guint64    *value)
{
  gsize            length = strcspn (text, "\n");
  g_autofree char *number = g_strndup (text, length);

  return strcmp (text + length, "\n") == 0 && g_ascii_string_to_unsigned (number, 10, 0, G_MAXUINT64, value, NULL);
}

gboolean
sandbox_control_group_parse_key (const char *text,
                                 const char *key,
                                 guint64    *value)
{
  g_autofree char *start = g_strconcat (key, " ", NULL);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  /* What comes after the last line, which is nothing unless that was cut, is no line. */
  for (guint i = 0; lines[i] != NULL && lines[i + 1] != NULL; i++)
    if (g_str_has_prefix (lines[i], start))
      return g_ascii_string_to_unsigned (lines[i] + strlen (start), 10, 0, G_MAXUINT64, value, NULL);

  return FALSE;
}

gboolean
sandbox_control_group_write (int         directory_fd,
                             const char *file,
                             const char *text)
{
  g_auto (SandboxFd) fd = openat (directory_fd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  const gsize size = strlen (text);
  ssize_t     written = fd >= 0 ? write (fd, text, size) : -1;

  if (written >= 0 && (gsize) written != size)
    errno = EIO;

  return written >= 0 && (gsize) written == size;
}

/* The names in a file of names, such as cgroup.controllers */
static gboolean
sandbox_control_group_has_name (int         directory_fd,
                                const char *file,
                                const char *name)
{
  char text[SANDBOX_CONTROL_GROUP_TEXT_MAX];
  g_auto (GStrv) names = NULL;

  if (!sandbox_proc_read (directory_fd, file, text, sizeof text))
    return FALSE;
  names = g_strsplit_set (text, " \n", -1);

  return g_strv_contains ((const char *const *) names, name);
}

/* ---- Names, and what the dead leave ----------------------------------------------------------------------------- */

char *
sandbox_control_group_make_name (void)
{
  char    digits[2 * NAME_RANDOM_BYTES + 1];
  guint64 start = 0;

  if (!sandbox_proc_get_start (getpid (), &start) || !sandbox_random_fill_digits (digits, NAME_RANDOM_BYTES))
    return NULL;

  return g_strdup_printf (NAME_PREFIX "%d-%" G_GUINT64_FORMAT "-%s", (int) getpid (), start, digits);
}

gboolean
sandbox_control_group_parse_name (const char *name,
                                  int        *pid,
                                  guint64    *start)
{
  g_auto (GStrv) parts = NULL;
  gint64 number = 0;

  if (!g_str_has_prefix (name, NAME_PREFIX))
    return FALSE;
  parts = g_strsplit (name + strlen (NAME_PREFIX), "-", 4);
  if (g_strv_length (parts) != 3 ||
      !g_ascii_string_to_signed (parts[0], 10, 1, G_MAXINT, &number, NULL) || parts[0][0] == '+' ||
      !g_ascii_string_to_unsigned (parts[1], 10, 0, G_MAXUINT64, start, NULL) ||
      strlen (parts[2]) != 2 * NAME_RANDOM_BYTES || strspn (parts[2], "0123456789abcdef") != 2 * NAME_RANDOM_BYTES)
    return FALSE;
  *pid = (int) number;

  return TRUE;
}

/* One that cannot be told from a living one is living. */
static gboolean
sandbox_control_group_is_owner_alive (int     pid,
                                      guint64 start)
{
  guint64 found = 0;

  if (sandbox_proc_get_start (pid, &found))
    return found == start;

  return errno != ESRCH && (kill (pid, 0) == 0 || errno == EPERM);
}

/* Waits until nothing is alive in a group, for so long at the most. */
static void
sandbox_control_group_wait_empty (int    group_fd,
                                  gint64 end_us)
{
  g_auto (SandboxFd) fd = openat (group_fd, "cgroup.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  char          text[SANDBOX_CONTROL_GROUP_TEXT_MAX];
  struct pollfd watch = { .fd = fd, .events = POLLPRI };
  guint64       populated = 0;
  gint64        now = 0;

  while (fd >= 0 && (now = g_get_monotonic_time ()) < end_us)
    {
      /* Reading arms the next word of the kernel. */
      ssize_t size = pread (fd, text, sizeof text - 1, 0);

      text[MAX (size, 0)] = '\0';
      if (!sandbox_control_group_parse_key (text, "populated", &populated) || populated == 0)
        return;
      poll (&watch, 1, (int) ((end_us - now) / 1000) + 1);
    }
}

/* The host of it is dead, by its number and by the lock that it held. */
static void
sandbox_control_group_remove_dead (int         fd,
                                   const char *name)
{
  g_auto (SandboxFd) group_fd = openat (fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

  /* A host that is not seen from here, as in another namespace of processes, holds it all the same. */
  if (group_fd < 0 || flock (group_fd, LOCK_EX | LOCK_NB) < 0)
    return;

  if (sandbox_control_group_write (group_fd, "cgroup.kill", "1"))
    sandbox_control_group_wait_empty (group_fd, g_get_monotonic_time () + COLLECT_LIMIT_MS * 1000);
  if (unlinkat (fd, name, AT_REMOVEDIR) < 0)
    g_debug ("The control group “%s” of a dead program cannot be removed: %s", name, g_strerror (errno));
}

static void
sandbox_control_group_collect (SandboxControlGroup *self)
{
  int            fd = openat (self->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR           *directory = fd >= 0 ? fdopendir (fd) : NULL;
  struct dirent *entry = NULL;

  if (directory == NULL)
    {
      sandbox_close_fd (fd);
      return;
    }

  while ((entry = readdir (directory)) != NULL)
    {
      int     pid = 0;
      guint64 start = 0;

      if (sandbox_control_group_parse_name (entry->d_name, &pid, &start) && !sandbox_control_group_is_owner_alive (pid, start))
        sandbox_control_group_remove_dead (self->fd, entry->d_name);
    }
  closedir (directory);
}

/* ---- The delegated group ---------------------------------------------------------------------------------------- */

/* Whether there are processes in the group itself. The kernel would enable some controllers all the same, and then let
 * nothing enter the groups below. Only the root of all can have both. */
static gboolean
sandbox_control_group_is_inhabited (int fd)
{
  char text[SANDBOX_CONTROL_GROUP_TEXT_MAX];

  return faccessat (fd, "cgroup.type", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
         (!sandbox_proc_read (fd, "cgroup.procs", text, sizeof text) || text[0] != '\0');
}

/* Of the directory of a group: what is enabled for groups below it, or can be. Nothing is changed before it is needed:
 * others may live below it too. */
static char **
sandbox_control_group_list_controllers (int fd)
{
  g_autoptr (GStrvBuilder) controllers = g_strv_builder_new ();
  const gboolean can_enable = faccessat (fd, "cgroup.subtree_control", W_OK, AT_EACCESS) == 0;

  for (guint i = 0; i < G_N_ELEMENTS (known_controllers); i++)
    {
      const char *name = known_controllers[i];

      if (sandbox_control_group_has_name (fd, "cgroup.subtree_control", name) ||
          (can_enable && sandbox_control_group_has_name (fd, "cgroup.controllers", name)))
        g_strv_builder_add (controllers, name);
    }

  return g_strv_builder_end (controllers);
}

SandboxControlGroup *
sandbox_control_group_new_for_fd (int         fd,
                                  const char *path,
                                  GError    **error)
{
  g_autoptr (SandboxControlGroup) self = g_object_new (SANDBOX_TYPE_CONTROL_GROUP, NULL);

  self->fd = fd;
  self->path = g_strdup (path);
  if (sandbox_control_group_is_inhabited (fd))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                   "The control group “%s” has processes of its own, and so can have no groups with limits below it", path);
      return NULL;
    }
  self->controllers = sandbox_control_group_list_controllers (fd);
  if (self->controllers[0] == NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                   "The control group “%s” has none of the controllers memory, pids and cpu for groups below it", path);
      return NULL;
    }
  sandbox_control_group_collect (self);

  return g_steal_pointer (&self);
}

static gboolean
sandbox_control_group_is_owned (int         fd,
                                const char *file,
                                uid_t       user)
{
  struct stat info;

  return fstatat (fd, file, &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_uid == user && (info.st_mode & S_IWUSR) != 0;
}

static gboolean
sandbox_control_group_is_marked (int         fd,
                                 const char *attribute)
{
  char value[8];

  return fgetxattr (fd, attribute, value, sizeof value) == 1 && value[0] == '1';
}

/* Root may write to every group, so only what is said to be delegated is. */
static gboolean
sandbox_control_group_is_delegated (int fd)
{
  const uid_t user = geteuid ();

  if (user == 0)
    return sandbox_control_group_is_marked (fd, "user.delegate") || sandbox_control_group_is_marked (fd, "trusted.delegate");

  return sandbox_control_group_is_owned (fd, ".", user) &&
         sandbox_control_group_is_owned (fd, "cgroup.procs", user) &&
         sandbox_control_group_is_owned (fd, "cgroup.subtree_control", user);
}

static int
sandbox_control_group_open (const char *path)
{
  g_auto (SandboxFd) fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct statfs info;

  if (fd < 0)
    return -1;
  if (fstatfs (fd, &info) < 0 || info.f_type != CGROUP2_SUPER_MAGIC)
    {
      errno = ENOTSUP;
      return -1;
    }

  return g_steal_fd (&fd);
}

/* The part of @path below @top; NULL when it is not below it. */
static const char *
sandbox_control_group_get_below (const char *path,
                                 const char *top)
{
  const gsize length = strcmp (top, "/") == 0 ? 0 : strlen (top);

  if (strncmp (path, top, length) != 0 || (path[length] != '\0' && path[length] != '/'))
    return NULL;

  return path + length + strspn (path + length, "/");
}

/* One line of mountinfo: ID PARENT DEVICE ROOT TARGET OPTIONS [FIELD…] - TYPE SOURCE OPTIONS */
static gboolean
sandbox_control_group_parse_mount (const char *line,
                                   char      **root,
                                   char      **target)
{
  g_auto (GStrv) fields = g_strsplit (line, " ", -1);
  guint n_fields = g_strv_length (fields);
  guint i = 6;

  while (i < n_fields && strcmp (fields[i], "-") != 0)
    i++;
  if (i + 1 >= n_fields || strcmp (fields[i + 1], "cgroup2") != 0 || fields[3][0] != '/' || fields[4][0] != '/')
    return FALSE;

  *root = g_strcompress (fields[3]);
  *target = g_strcompress (fields[4]);

  return TRUE;
}

gboolean
sandbox_control_group_locate (const char *cgroup,
                              const char *mountinfo,
                              char      **path,
                              char      **top)
{
  g_auto (GStrv) groups = g_strsplit (cgroup, "\n", -1);
  g_auto (GStrv) mounts = g_strsplit (mountinfo, "\n", -1);
  const char *own = NULL;

  for (guint i = 0; groups[i] != NULL; i++)
    if (g_str_has_prefix (groups[i], "0::/"))
      own = groups[i] + strlen ("0::");
  /* From a namespace of its own, a group that is not below its root */
  if (own == NULL || g_str_has_prefix (own, "/.."))
    return FALSE;

  for (guint i = 0; mounts[i] != NULL; i++)
    {
      g_autofree char *root = NULL;
      g_autofree char *target = NULL;
      const char      *below = NULL;

      if (!sandbox_control_group_parse_mount (mounts[i], &root, &target) ||
          (below = sandbox_control_group_get_below (own, root)) == NULL)
        continue;
      *path = below[0] != '\0' ? g_build_filename (target, below, NULL) : g_strdup (target);
      *top = g_steal_pointer (&target);
      return TRUE;
    }

  return FALSE;
}

/* The nearest that is delegated and of use, from the own group upwards. */
static SandboxControlGroup *
sandbox_control_group_find (GError **error)
{
  g_autofree char *cgroup = NULL;
  g_autofree char *mountinfo = NULL;
  g_autofree char *own = NULL;
  g_autofree char *top = NULL;
  g_autofree char *path = NULL;
  g_autoptr (GError) refused = NULL;

  if (!g_file_get_contents ("/proc/self/cgroup", &cgroup, NULL, NULL) ||
      !g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL) ||
      !sandbox_control_group_locate (cgroup, mountinfo, &own, &top))
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                           "This program is in no control group of version 2 that it could see");
      return NULL;
    }

  path = g_strdup (own);
  for (;;)
    {
      g_auto (SandboxFd) fd = sandbox_control_group_open (path);
      g_autofree char *parent = g_path_get_dirname (path);

      if (fd >= 0 && sandbox_control_group_is_delegated (fd))
        {
          g_autoptr (SandboxControlGroup) self = NULL;

          g_clear_error (&refused);
          self = sandbox_control_group_new_for_fd (g_steal_fd (&fd), path, &refused);
          if (self != NULL)
            return g_steal_pointer (&self);
        }
      if (strcmp (path, top) == 0)
        break;
      g_free (path);
      path = g_steal_pointer (&parent);
    }

  if (refused != NULL)
    g_propagate_error (error, g_steal_pointer (&refused));
  else
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                 "Neither the control group of this program, “%s”, nor one above it has been delegated to it", own);

  return NULL;
}

/**
 * sandbox_control_group_new:
 * @path: (nullable) (type filename): the absolute path of a directory of a cgroup2 file system, or %NULL to find one
 * @error: return location for an error
 *
 * Opens a control group that has been delegated to this program, for backends. It may block for some milliseconds.
 *
 * With %NULL it is the nearest, of this program's own group and those above it, that has been delegated: to a
 * user by owning it, to root by its attribute `user.delegate` or `trusted.delegate`, which systemd sets for `Delegate=yes`. The
 * kernel lets a group have limited groups below it only when no process is in it directly, as with `DelegateSubgroup=`.
 *
 * Of the controllers `memory`, `pids` and `cpu` those that a limit needs are enabled in it when the first such sandbox is
 * made. Groups that programs of this library left there, and are dead, are killed and removed at once.
 *
 * Fails with %SANDBOX_ERROR_NOT_SUPPORTED.
 *
 * Returns: (transfer full): the group
 *
 * Since: 1.0
 */
SandboxControlGroup *
sandbox_control_group_new (const char *path,
                           GError    **error)
{
  g_auto (SandboxFd) fd = -1;

  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (path == NULL)
    return sandbox_control_group_find (error);

  errno = EINVAL;
  fd = path[0] == '/' ? sandbox_control_group_open (path) : -1;
  if (fd < 0)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "“%s” is no control group of version 2: %s",
                   path, g_strerror (errno));
      return NULL;
    }

  return sandbox_control_group_new_for_fd (g_steal_fd (&fd), path, error);
}

int
sandbox_control_group_get_fd (SandboxControlGroup *self)
{
  return self->fd;
}

/**
 * sandbox_control_group_get_path:
 * @self: a control group
 *
 * Gets its directory.
 *
 * Returns: (transfer none) (type filename): an absolute path
 *
 * Since: 1.0
 */
const char *
sandbox_control_group_get_path (SandboxControlGroup *self)
{
  g_return_val_if_fail (SANDBOX_IS_CONTROL_GROUP (self), NULL);

  return self->path;
}

/**
 * sandbox_control_group_get_controllers:
 * @self: a control group
 *
 * Gets what can be limited in it: of `memory`, `pids` and `cpu`.
 *
 * Returns: (transfer none) (array zero-terminated=1): names of controllers, one at least
 *
 * Since: 1.0
 */
const char *const *
sandbox_control_group_get_controllers (SandboxControlGroup *self)
{
  g_return_val_if_fail (SANDBOX_IS_CONTROL_GROUP (self), NULL);

  return (const char *const *) self->controllers;
}

typedef struct
{
  const char *limit;
  const char *controller;
  gboolean    wanted;
} SandboxControlGroupNeed;

#define N_NEEDS 3

static void
sandbox_control_group_list_needs (SandboxLimits           *limits,
                                  SandboxControlGroupNeed *needs)
{
  needs[0] = (SandboxControlGroupNeed){ "memory-bytes", "memory", limits != NULL && sandbox_limits_get_memory_bytes (limits) > 0 };
  needs[1] = (SandboxControlGroupNeed){ "tasks", "pids", limits != NULL && sandbox_limits_get_tasks (limits) > 0 };
  needs[2] = (SandboxControlGroupNeed){ "cpu-percent", "cpu", limits != NULL && sandbox_limits_get_cpu_percent (limits) > 0 };
}

const char *
sandbox_control_group_find_limit (SandboxLimits *limits)
{
  SandboxControlGroupNeed needs[N_NEEDS];

  sandbox_control_group_list_needs (limits, needs);
  for (guint i = 0; i < N_NEEDS; i++)
    if (needs[i].wanted)
      return needs[i].limit;

  return NULL;
}

/**
 * sandbox_control_group_check_limits:
 * @self: a control group
 * @limits: the limits of a profile or a command
 * @error: return location for an error
 *
 * Checks that those of these limits can be held here that need a control group.
 *
 * Fails with %SANDBOX_ERROR_NOT_SUPPORTED, naming the first that cannot.
 *
 * Returns: whether all can be held
 *
 * Since: 1.0
 */
gboolean
sandbox_control_group_check_limits (SandboxControlGroup *self,
                                    SandboxLimits       *limits,
                                    GError             **error)
{
  SandboxControlGroupNeed needs[N_NEEDS];

  g_return_val_if_fail (SANDBOX_IS_CONTROL_GROUP (self), FALSE);
  g_return_val_if_fail (SANDBOX_IS_LIMITS (limits), FALSE);

  sandbox_control_group_list_needs (limits, needs);
  for (guint i = 0; i < N_NEEDS; i++)
    {
      if (!needs[i].wanted || g_strv_contains ((const char *const *) self->controllers, needs[i].controller))
        continue;
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                   "The limit “%s” cannot be enforced here: the control group “%s” has no controller “%s”",
                   needs[i].limit, self->path, needs[i].controller);
      return FALSE;
    }

  return TRUE;
}

gboolean
sandbox_control_group_enable (SandboxControlGroup *self,
                              SandboxLimits       *limits,
                              GError             **error)
{
  SandboxControlGroupNeed needs[N_NEEDS];

  sandbox_control_group_list_needs (limits, needs);
  for (guint i = 0; i < N_NEEDS; i++)
    {
      g_autofree char *text = g_strconcat ("+", needs[i].controller, NULL);

      if (!needs[i].wanted || (g_atomic_int_get (&self->enabled) & (1 << i)) != 0)
        continue;
      if (!sandbox_control_group_has_name (self->fd, "cgroup.subtree_control", needs[i].controller) &&
          !sandbox_control_group_write (self->fd, "cgroup.subtree_control", text))
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                       "The limit “%s” cannot be enforced here: the controller “%s” cannot be enabled in “%s”: %s",
                       needs[i].limit, needs[i].controller, self->path, g_strerror (errno));
          return FALSE;
        }
      g_atomic_int_or ((guint *) &self->enabled, 1 << i);
    }

  return TRUE;
}
