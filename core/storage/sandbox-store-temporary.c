/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-store-temporary-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-lease-private.h"

#define PREFIX "sandbox-private-"
#define LOCK "owner"
#define MAX_TRIES 32

/* Whether nobody uses it any more, and it is still what @name leads to; *@lock keeps others from finding the same. */
static gboolean
sandbox_store_temporary_is_left (int         parent,
                                 const char *name,
                                 int        *lock)
{
  g_auto (SandboxFd) fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat own;
  struct stat found;

  if (fd < 0 || fstat (fd, &own) < 0 || own.st_uid != geteuid () || (own.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return FALSE;
  *lock = openat (fd, LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

  return *lock >= 0 && sandbox_lease_lock (*lock, F_WRLCK) &&
         fstatat (parent, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && found.st_dev == own.st_dev && found.st_ino == own.st_ino;
}

static void
sandbox_store_temporary_collect (const char           *directory,
                                 SandboxContainedCheck check,
                                 gpointer              data)
{
  DIR           *entries = opendir (directory);
  struct dirent *entry = NULL;

  while (entries != NULL && (check == NULL || check (data) == 0) && (entry = readdir (entries)) != NULL)
    {
      g_auto (SandboxFd) lock = -1;
      g_autoptr (GError) error = NULL;

      if (strncmp (entry->d_name, PREFIX, strlen (PREFIX)) == 0 &&
          sandbox_store_temporary_is_left (dirfd (entries), entry->d_name, &lock) &&
          !sandbox_contained_remove (dirfd (entries), entry->d_name, SANDBOX_REMOVE_FLAGS_RECURSIVE | SANDBOX_REMOVE_FLAGS_MISSING_OK,
                                     check, data, &error))
        g_debug ("What a dead program left in “%s” stays: %s", directory, error->message);
    }
  g_clear_pointer (&entries, closedir);
}

/* Whatever the umask of the host. FALSE by errno; EAGAIN when a collector was there between the file and its lock. */
static gboolean
sandbox_store_temporary_lock (const char *path,
                              int        *lock)
{
  g_autofree char *file = g_build_filename (path, LOCK, NULL);
  g_auto (SandboxFd) fd = -1;

  if (chmod (path, 0700) < 0 ||
      (fd = open (file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0 || fchmod (fd, 0600) < 0 ||
      !sandbox_lease_lock (fd, F_WRLCK))
    return FALSE;
  *lock = g_steal_fd (&fd);

  return TRUE;
}

char *
sandbox_store_make_temporary (int                  *lock,
                              SandboxContainedCheck check,
                              gpointer              data,
                              GError              **error)
{
  sandbox_store_temporary_collect (g_get_tmp_dir (), check, data);

  for (guint i = 0; i < MAX_TRIES; i++)
    {
      g_autofree char *path = g_build_filename (g_get_tmp_dir (), PREFIX "XXXXXX", NULL);

      if (mkdtemp (path) == NULL)
        break;
      if (sandbox_store_temporary_lock (path, lock))
        return g_steal_pointer (&path);
      if (errno != EAGAIN && errno != ENOENT)
        {
          int errsv = errno;

          rmdir (path);
          errno = errsv;
          break;
        }
    }
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE, "Cannot make a private state directory in “%s”: %s",
               g_get_tmp_dir (), g_strerror (errno));

  return NULL;
}
