/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-contained-private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-paths-private.h"

/* openat2 () answers EAGAIN when a rename somewhere might have led it out; a guest can go on for ever. */
#define MAX_TRIES 32

/* How often a file may shrink under a reader. */
#define MAX_READS 8

/* Room for a file of up to this size is made at once; beyond, it grows with what is really read. */
#define FIRST_BUFFER (4 * 1024 * 1024)

#define DIRECTORY_MODE 0755

int sandbox_contained_always_walk = FALSE;

static gboolean
sandbox_contained_stat_fd (int           fd,
                           struct statx *st)
{
  return statx (fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, st) == 0;
}

gboolean
sandbox_contained_same_mount (const struct statx *a,
                              const struct statx *b)
{
  if (a->stx_dev_major != b->stx_dev_major || a->stx_dev_minor != b->stx_dev_minor)
    return FALSE;

  return (a->stx_mask & b->stx_mask & STATX_MNT_ID) == 0 || a->stx_mnt_id == b->stx_mnt_id;
}

/* What openat2 () does, by hand: one name after the other, each looked at before it is entered. Where it
 * fails, *@end is the end of the name that is in the way. */
static int
sandbox_contained_walk (int          dirfd,
                        const char  *path,
                        int          flags,
                        const char **end)
{
  g_auto (SandboxFd) held = -1;
  struct statx top, st;
  int          at = dirfd;

  *end = path;
  if (!sandbox_contained_stat_fd (dirfd, &top))
    return -1;

  for (;;)
    {
      char     name[NAME_MAX + 1];
      gsize    length = strcspn (path, "/");
      gboolean last = path[length] == '\0';
      g_auto (SandboxFd) next = -1;

      *end = path + length;
      if (length > NAME_MAX)
        {
          errno = ENAMETOOLONG;
          return -1;
        }
      memcpy (name, path, length);
      name[length] = '\0';

      if (length == 0 || strcmp (name, "..") == 0)
        {
          errno = EXDEV;
          return -1;
        }
      next = openat (at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
      if (next < 0 || !sandbox_contained_stat_fd (next, &st))
        return -1;

      errno = 0;
      if (!sandbox_contained_same_mount (&top, &st))
        errno = EXDEV;
      else if (S_ISLNK (st.stx_mode))
        errno = ELOOP;
      else if (!S_ISDIR (st.stx_mode) && (!last || (flags & O_DIRECTORY) != 0))
        errno = ENOTDIR;
      if (errno != 0)
        return -1;

      if (last && (flags & O_PATH) != 0)
        return g_steal_fd (&next);
      if (last)
        return openat (at, name, flags | O_NOFOLLOW | O_CLOEXEC);

      sandbox_clear_fd (&held);
      held = at = g_steal_fd (&next);
      path += length + 1;
    }
}

int
sandbox_contained_open (int         dirfd,
                        const char *path,
                        int         flags)
{
  struct open_how how = {
    .flags = flags | O_CLOEXEC,
    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
  };
  const char *end = NULL;

  if (!g_atomic_int_get (&sandbox_contained_always_walk))
    {
      int tries = 0;
      int fd;

      do
        fd = syscall (SYS_openat2, dirfd, path, &how, sizeof how);
      while (fd < 0 && (errno == EAGAIN || errno == EINTR) && ++tries < MAX_TRIES);

      /* Old containers say EPERM for every call that they do not know; the walk tells which it is. */
      if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
      if (errno == ENOSYS)
        g_atomic_int_set (&sandbox_contained_always_walk, TRUE);
    }

  return sandbox_contained_walk (dirfd, path, flags, &end);
}

gboolean
sandbox_contained_chmod (int    fd,
                         mode_t mode)
{
  char path[sizeof "/proc/self/fd/" + 3 * sizeof fd];

  snprintf (path, sizeof path, "/proc/self/fd/%d", fd);

  return chmod (path, mode) == 0;
}

/* The umask of the host has no say in the mode. The guest may have put another directory of its own in this
 * place: one of somebody else is left alone. */
static gboolean
sandbox_contained_mend_mode (int fd)
{
  struct stat st;

  if (fstat (fd, &st) < 0)
    return FALSE;

  return (st.st_mode & DIRECTORY_MODE) == DIRECTORY_MODE || st.st_uid != (uid_t) setfsuid (-1) ||
         sandbox_contained_chmod (fd, (st.st_mode & 07777) | DIRECTORY_MODE);
}

gboolean
sandbox_contained_make_directory_at (int         dirfd,
                                     const char *name)
{
  g_auto (SandboxFd) fd = -1;

  if (mkdirat (dirfd, name, DIRECTORY_MODE) < 0)
    return FALSE;
  fd = sandbox_contained_open (dirfd, name, O_PATH | O_DIRECTORY);

  return fd >= 0 && sandbox_contained_mend_mode (fd);
}

/* Opens the directory @path below @root, making what is missing. */
static int
sandbox_contained_make_directories (int         root,
                                    const char *path)
{
  g_auto (SandboxFd) held = -1;
  int at = root;

  for (;;)
    {
      char  name[NAME_MAX + 1];
      gsize length = strcspn (path, "/");
      g_auto (SandboxFd) next = -1;

      if (length > NAME_MAX)
        {
          errno = ENAMETOOLONG;
          return -1;
        }
      memcpy (name, path, length);
      name[length] = '\0';

      next = sandbox_contained_open (at, name, O_PATH | O_DIRECTORY);
      if (next < 0 && errno == ENOENT)
        {
          if (!sandbox_contained_make_directory_at (at, name) && errno != EEXIST)
            return -1;
          next = sandbox_contained_open (at, name, O_PATH | O_DIRECTORY);
        }
      if (next < 0)
        return -1;
      if (path[length] == '\0')
        return g_steal_fd (&next);

      sandbox_clear_fd (&held);
      held = at = g_steal_fd (&next);
      path += length + 1;
    }
}

gboolean
sandbox_contained_open_parent (SandboxContainedParent *self,
                               int                     root,
                               const char             *path,
                               gboolean                make)
{
  const char *slash = strrchr (path, '/');
  char        directory[PATH_MAX];

  self->fd = root;
  self->owned = -1;
  self->name = slash != NULL ? slash + 1 : path;
  if (path[0] == '/' || strcmp (self->name, "..") == 0)
    {
      errno = EXDEV;
      return FALSE;
    }
  if (slash == NULL)
    return TRUE;

  if ((gsize) (slash - path) >= sizeof directory)
    {
      errno = ENAMETOOLONG;
      return FALSE;
    }
  memcpy (directory, path, slash - path);
  directory[slash - path] = '\0';

  self->owned = sandbox_contained_open (root, directory, O_PATH | O_DIRECTORY);
  if (self->owned < 0 && errno == ENOENT && make)
    self->owned = sandbox_contained_make_directories (root, directory);
  self->fd = self->owned;

  return self->fd >= 0;
}

char *
sandbox_contained_display (const char *bytes)
{
  g_autofree char *escaped = sandbox_path_escape (bytes);

  return sandbox_path_display (escaped);
}

void
sandbox_contained_set_error (GError    **error,
                             int         errsv,
                             const char *what,
                             int         dirfd,
                             const char *prefix,
                             const char *path)
{
  g_autofree char *bytes = prefix == NULL ? g_strdup (path) : g_strconcat (prefix, "/", path, NULL);
  g_autofree char *shown = sandbox_contained_display (bytes);
  g_autofree char *culprit = NULL;
  const char      *why = NULL;
  const char      *end = NULL;

  if (errsv == ECANCELED)
    {
      g_propagate_error (error, sandbox_error_new_cancelled ());
      return;
    }
  if (errsv == ETIMEDOUT)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "Cannot %s “%s”: it takes too long", what, shown);
      return;
    }

  /* Which name is in the way is only looked for when there is one. */
  if (errsv == ELOOP || errsv == ENOTDIR || errsv == EXDEV || errsv == EBUSY)
    {
      g_auto (SandboxFd) fd = sandbox_contained_walk (dirfd, path, O_PATH, &end);

      /* Removing or replacing a mount point is EBUSY, which says less. */
      if (fd < 0 && errno == EXDEV && errsv == EBUSY)
        errsv = EXDEV;
      if (fd < 0 && errno == errsv)
        {
          g_autofree char *part = g_strndup (bytes, strlen (bytes) - strlen (end));

          culprit = sandbox_contained_display (part);
        }
    }

  if (culprit != NULL)
    why = errsv == ELOOP ? "is a symbolic link" : errsv == ENOTDIR ? "is not a directory"
                                                                   : "leads out of the workspace";

  if (why != NULL)
    g_set_error (error, SANDBOX_ERROR, (int) sandbox_error_from_errno (errsv),
                 "Cannot %s “%s”: “%s” %s", what, shown, culprit, why);
  else
    sandbox_set_error_from_errno (error, errsv, "Cannot %s “%s”", what, shown);
}

gboolean
sandbox_contained_check_regular (const struct stat *st,
                                 const char        *what,
                                 int                root,
                                 const char        *path,
                                 GError           **error)
{
  g_autofree char *shown = NULL;

  if (S_ISREG (st->st_mode))
    return TRUE;

  if (S_ISDIR (st->st_mode) || S_ISLNK (st->st_mode))
    {
      sandbox_contained_set_error (error, S_ISDIR (st->st_mode) ? EISDIR : ELOOP, what, root, NULL, path);
      return FALSE;
    }

  shown = sandbox_contained_display (path);
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
               "Cannot %s “%s”: it is not a regular file", what, shown);

  return FALSE;
}

/* Reads @size bytes from @offset; fewer at the end of the file. */
static gboolean
sandbox_contained_fill_buffer (int     fd,
                               guint64 offset,
                               guint64 size,
                               char  **buffer,
                               gsize  *length)
{
  g_autofree char *data = NULL;
  gsize            room = MIN (size, FIRST_BUFFER);
  gsize            got = 0;

  data = g_try_malloc (room);
  for (;;)
    {
      ssize_t n;

      if (data == NULL)
        {
          errno = ENOMEM;
          return FALSE;
        }
      n = pread (fd, data + got, room - got, offset + got);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return FALSE;
      got += n;
      if (n == 0 || got == size)
        break;
      if (got == room)
        {
          char *more = NULL;

          room = MIN (size, (guint64) room * 2);
          more = g_try_realloc (data, room);
          if (more == NULL)
            {
              errno = ENOMEM;
              return FALSE;
            }
          g_steal_pointer (&data);
          data = more;
        }
    }

  *buffer = g_steal_pointer (&data);
  *length = got;

  return TRUE;
}

/* It is looked at before it is opened: opening a FIFO, or a device that somebody left there, does things
 * to them. */
int
sandbox_contained_open_file (int          root,
                             const char  *path,
                             const char  *what,
                             struct stat *st,
                             GError     **error)
{
  g_auto (SandboxContainedParent) parent = { -1, -1, NULL };
  g_auto (SandboxFd) fd = -1;

  if (!sandbox_contained_open_parent (&parent, root, path, FALSE) ||
      fstatat (parent.fd, parent.name, st, AT_SYMLINK_NOFOLLOW) < 0)
    {
      sandbox_contained_set_error (error, errno, what, root, NULL, path);
      return -1;
    }
  if (!sandbox_contained_check_regular (st, what, root, path, error))
    return -1;

  fd = sandbox_contained_open (parent.fd, parent.name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat (fd, st) < 0)
    {
      sandbox_contained_set_error (error, errno, what, root, NULL, path);
      return -1;
    }
  if (!sandbox_contained_check_regular (st, what, root, path, error))
    return -1;

  return g_steal_fd (&fd);
}

/* Reads up to @max bytes of a regular file as long as it was when we looked. */
GBytes *
sandbox_contained_read (int         root,
                        const char *path,
                        guint64     offset,
                        guint64     max,
                        GError    **error)
{
  g_auto (SandboxFd) fd = -1;
  struct stat      st;
  g_autofree char *shown = NULL;

  fd = sandbox_contained_open_file (root, path, "read", &st, error);
  if (fd < 0)
    return NULL;

  for (int i = 0; i < MAX_READS; i++)
    {
      g_autofree char *buffer = NULL;
      gsize            length = 0;
      guint64          size = (guint64) st.st_size > offset ? MIN (max, (guint64) st.st_size - offset) : 0;

      if (size == 0)
        return g_bytes_new_static ("", 0);
      if (!sandbox_contained_fill_buffer (fd, offset, size, &buffer, &length))
        {
          sandbox_contained_set_error (error, errno, "read", root, NULL, path);
          return NULL;
        }
      if (length == size)
        return g_bytes_new_take (g_steal_pointer (&buffer), length);
      if (fstat (fd, &st) < 0)
        {
          sandbox_contained_set_error (error, errno, "read", root, NULL, path);
          return NULL;
        }
    }

  shown = sandbox_contained_display (path);
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED,
               "Cannot read “%s”: it keeps changing while it is read", shown);

  return NULL;
}
