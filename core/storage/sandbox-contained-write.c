/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-contained-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-random-private.h"

/* How often a random name may be taken already. */
#define MAX_TRIES 32

#define FILE_MODE 0644

/* Never derived from the name it stands for, which may be as long as names get. */
#define TEMPORARY_PREFIX ".sandbox-"
#define TEMPORARY_RANDOM 12

G_STATIC_ASSERT (sizeof TEMPORARY_PREFIX + 2 * TEMPORARY_RANDOM <= SANDBOX_CONTAINED_TEMPORARY_SIZE);

/* The names that are in use now: the form alone would let a guest hide files of its own from us. */
static GMutex      temporaries_lock;
static GHashTable *temporaries; /* name, owned */

gboolean
sandbox_contained_is_temporary (const char *name)
{
  gboolean found = FALSE;

  if (strncmp (name, TEMPORARY_PREFIX, strlen (TEMPORARY_PREFIX)) != 0)
    return FALSE;

  g_mutex_lock (&temporaries_lock);
  found = temporaries != NULL && g_hash_table_contains (temporaries, name);
  g_mutex_unlock (&temporaries_lock);

  return found;
}

static void
sandbox_contained_remember_temporary (const char *name)
{
  g_mutex_lock (&temporaries_lock);
  if (temporaries == NULL)
    temporaries = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_add (temporaries, g_strdup (name));
  g_mutex_unlock (&temporaries_lock);
}

static void
sandbox_contained_forget_temporary (const char *name)
{
  g_mutex_lock (&temporaries_lock);
  g_hash_table_remove (temporaries, name);
  g_mutex_unlock (&temporaries_lock);
}

int
sandbox_contained_make_temporary (int  dirfd,
                                  char name[SANDBOX_CONTAINED_TEMPORARY_SIZE])
{
  for (int i = 0; i < MAX_TRIES; i++)
    {
      int fd;

      if (!sandbox_random_fill_digits (stpcpy (name, TEMPORARY_PREFIX), TEMPORARY_RANDOM))
        return -1;

      sandbox_contained_remember_temporary (name);
      fd = openat (dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
      if (fd >= 0)
        return fd;
      sandbox_contained_forget_temporary (name);
      if (errno != EEXIST && errno != EINTR)
        return -1;
    }

  return -1;
}

void
sandbox_contained_drop_temporary (int         dirfd,
                                  const char *name)
{
  int errsv = errno;

  unlinkat (dirfd, name, 0);
  sandbox_contained_forget_temporary (name);
  errno = errsv;
}

gboolean
sandbox_contained_fits (guint64 end)
{
  struct rlimit limit;

  /* Going on past the limit would be answered with a signal that ends the host. */
  if (getrlimit (RLIMIT_FSIZE, &limit) < 0 || end <= limit.rlim_cur)
    return TRUE;
  errno = EFBIG;

  return FALSE;
}

gboolean
sandbox_contained_write_all (int         fd,
                             const char *data,
                             gsize       size)
{
  while (size > 0)
    {
      ssize_t written = write (fd, data, size);

      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return FALSE;
      data += written;
      size -= written;
    }

  return TRUE;
}

static gboolean
sandbox_contained_fill (int         fd,
                        const char *data,
                        gsize       size)
{
  if (!sandbox_contained_fits (size))
    return FALSE;

  /* With its blocks allocated, ext4 does not write a file out in a hurry when it is renamed over
   * another. Only a hint: what matters of its errors comes again with the writing. */
  if (size > 0)
    fallocate (fd, FALLOC_FL_KEEP_SIZE, 0, size);

  return sandbox_contained_write_all (fd, data, size);
}

static gboolean
sandbox_contained_rename (int         dirfd,
                          const char *temporary,
                          const char *name,
                          gboolean    exclusive)
{
  if (!exclusive)
    return renameat (dirfd, temporary, dirfd, name) == 0;

  if (renameat2 (dirfd, temporary, dirfd, name, RENAME_NOREPLACE) == 0)
    return TRUE;
  /* Not every file system has that. */
  if (errno != EINVAL && errno != ENOSYS)
    return FALSE;

  return linkat (dirfd, temporary, dirfd, name, 0) == 0 && unlinkat (dirfd, temporary, 0) == 0;
}

gboolean
sandbox_contained_publish (int         dirfd,
                           int         fd,
                           const char *temporary,
                           const char *name,
                           mode_t      mode,
                           gboolean    exclusive)
{
  gboolean done = fchmod (fd, mode & 0777) == 0;

  /* Some file systems find out at the end that there is no room: closing counts too. */
  if (!done)
    sandbox_close_fd (fd);
  else
    done = close (fd) == 0 || errno == EINTR;

  if (done && sandbox_contained_rename (dirfd, temporary, name, exclusive))
    {
      sandbox_contained_forget_temporary (temporary);
      return TRUE;
    }
  sandbox_contained_drop_temporary (dirfd, temporary);

  return FALSE;
}

gboolean
sandbox_contained_look_at_target (const SandboxContainedParent *parent,
                                  int                           root,
                                  const char                   *path,
                                  gboolean                      exclusive,
                                  guint                        *mode,
                                  GError                      **error)
{
  struct stat st;

  if (fstatat (parent->fd, parent->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
    {
      if (exclusive)
        {
          sandbox_contained_set_error (error, EEXIST, "write", root, NULL, path);
          return FALSE;
        }
      if (!sandbox_contained_check_regular (&st, "write", root, path, error))
        return FALSE;
      *mode = st.st_mode;
    }
  else if (errno != ENOENT)
    {
      sandbox_contained_set_error (error, errno, "write", root, NULL, path);
      return FALSE;
    }
  else if (*mode == 0)
    *mode = FILE_MODE;

  return TRUE;
}

/* Replaces a regular file, or makes one: a reader sees the old content or the new. It is written aside
 * and renamed, so a link of any kind to another file is cut and never written through. */
gboolean
sandbox_contained_write (int               root,
                         const char       *path,
                         gconstpointer     data,
                         gsize             size,
                         guint             mode,
                         SandboxWriteFlags flags,
                         GError          **error)
{
  g_auto (SandboxContainedParent) parent = { -1, -1, NULL };
  g_auto (SandboxFd) fd = -1;
  gboolean exclusive = (flags & SANDBOX_WRITE_FLAGS_EXCLUSIVE) != 0;
  char     temporary[SANDBOX_CONTAINED_TEMPORARY_SIZE];

  if (!sandbox_contained_open_parent (&parent, root, path, (flags & SANDBOX_WRITE_FLAGS_PARENTS) != 0))
    {
      sandbox_contained_set_error (error, errno, "write", root, NULL, path);
      return FALSE;
    }

  /* Looked at first, for its mode and so that nothing is begun in vain. The renaming decides. */
  if (!sandbox_contained_look_at_target (&parent, root, path, exclusive, &mode, error))
    return FALSE;

  fd = sandbox_contained_make_temporary (parent.fd, temporary);
  if (fd < 0)
    {
      sandbox_contained_set_error (error, errno, "write", root, NULL, path);
      return FALSE;
    }

  if (!sandbox_contained_fill (fd, data, size))
    sandbox_contained_drop_temporary (parent.fd, temporary);
  else if (sandbox_contained_publish (parent.fd, g_steal_fd (&fd), temporary, parent.name, mode, exclusive))
    return TRUE;

  sandbox_contained_set_error (error, errno, "write", root, NULL, path);

  return FALSE;
}
