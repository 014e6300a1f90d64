/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-contained-copy-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-owner-private.h"
#include "sandbox-paths-private.h"
#include "sandbox-workspace.h"

#define BUFFER_SIZE (128 * 1024)

/* The paths of directories that wait take memory, and whoever made the tree decides how much. */
#define MAX_WAITING (32 * 1024 * 1024)
/* Between two times that the host is told in the middle of a file of somebody else's */
#define PROGRESS_US (50 * 1000)

typedef struct
{
  SandboxContainedCopy *copy;
  GPtrArray            *waiting; /* paths of directories in the tree, "." first */
  gsize                 waiting_size;
  guint64               entries;
  struct stat           target_top;
  char                 *buffer;
  SandboxOwner         *owner; /* while something is copied as another one than the host is */
  gint64                told;  /* when the host was told meanwhile */
} SandboxCopying;

/* The directory that is being copied. */
typedef struct
{
  const char *path; /* in the tree */
  DIR        *source;
  int         target;
} SandboxCopyingDirectory;

static void
sandbox_copying_clear (SandboxCopying *self)
{
  g_clear_pointer (&self->waiting, g_ptr_array_unref);
  g_clear_pointer (&self->buffer, g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxCopying, sandbox_copying_clear)

static void
sandbox_copying_directory_clear (SandboxCopyingDirectory *self)
{
  g_clear_pointer (&self->source, closedir);
  sandbox_clear_fd (&self->target);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxCopyingDirectory, sandbox_copying_directory_clear)

/* "Cannot export “PATH”", with the path as the workspace has it or is to have it. */
static gboolean
sandbox_copying_fail (SandboxCopying *self,
                      int             errsv,
                      int             dirfd,
                      const char     *directory,
                      const char     *name,
                      GError        **error)
{
  g_autoptr (GString) prefix = g_string_new (NULL);

  if (strcmp (self->copy->path, ".") != 0)
    g_string_append (prefix, self->copy->path);
  if (directory != NULL && strcmp (directory, ".") != 0)
    g_string_append_printf (prefix, "%s%s", prefix->len > 0 ? "/" : "", directory);
  if (strcmp (name, ".") == 0 && prefix->len > 0)
    sandbox_contained_set_error (error, errsv, self->copy->out ? "export" : "import", dirfd, NULL, prefix->str);
  else
    sandbox_contained_set_error (error, errsv, self->copy->out ? "export" : "import", dirfd,
                                 prefix->len > 0 ? prefix->str : NULL, name);

  return FALSE;
}

static gboolean
sandbox_copying_refuse (SandboxCopying *self,
                        const char     *why,
                        GError        **error)
{
  g_autofree char *shown = sandbox_contained_display (self->copy->path);

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "Cannot %s “%s”: it has %s",
               self->copy->out ? "export" : "import", shown, why);

  return FALSE;
}

static gboolean
sandbox_copying_skip (SandboxCopying *self)
{
  self->copy->count.skipped++;

  return TRUE;
}

/* What we looked at has gone, or is a link or a mount point by now. */
static gboolean
sandbox_copying_is_elsewhere (int errsv)
{
  return errsv == ENOENT || errsv == ENOTDIR || errsv == ELOOP || errsv == EXDEV;
}

/* Works on one side from here on; the other one is the host's own. */
static gboolean
sandbox_copying_enter (SandboxCopying *self,
                       gboolean        source,
                       SandboxOwner   *owner,
                       GError        **error)
{
  if (source != self->copy->out)
    return TRUE;

  return sandbox_owner_enter (owner, self->copy->uid, self->copy->gid, error);
}

/* Code of the host may run in there, in this thread, and as what the host is. */
static gboolean
sandbox_copying_tell (SandboxCopying *self)
{
  const gint64 now = self->owner != NULL ? g_get_monotonic_time () : 0;

  if (self->copy->progress == NULL || (self->owner != NULL && now - self->told < PROGRESS_US))
    return TRUE;

  self->told = now;
  if (self->owner != NULL)
    sandbox_owner_leave (self->owner);
  self->copy->progress (&self->copy->count, self->copy->data);

  return self->owner == NULL || sandbox_owner_enter (self->owner, self->copy->uid, self->copy->gid, NULL);
}

static int
sandbox_copying_check (SandboxCopying *self)
{
  if (!sandbox_copying_tell (self))
    return EPERM;

  return self->copy->check != NULL ? self->copy->check (self->copy->data) : 0;
}

static gboolean
sandbox_copying_is_same (const struct stat *a,
                         const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static gboolean
sandbox_copying_add_directory (SandboxCopying                *self,
                               const SandboxCopyingDirectory *directory,
                               const char                    *name,
                               GError                       **error)
{
  g_auto (SandboxOwner) owner = { FALSE };
  g_autofree char *path = strcmp (directory->path, ".") == 0 ? g_strdup (name)
                                                             : g_strconcat (directory->path, "/", name, NULL);
  guint            depth = 1;
  gboolean         made = FALSE;

  for (const char *at = path; *at != '\0'; at++)
    if (*at == '/')
      depth++;
  if (depth > SANDBOX_TRANSFER_MAX_DEPTH)
    return sandbox_copying_refuse (self, "too many levels", error);
  self->waiting_size += strlen (path);
  if (self->waiting_size > MAX_WAITING)
    return sandbox_copying_refuse (self, "too many directories", error);

  if (!sandbox_copying_enter (self, FALSE, &owner, error))
    return FALSE;
  /* The umask is the host's affair on its own side only. */
  made = self->copy->out ? mkdirat (directory->target, name, 0755) == 0
                         : sandbox_contained_make_directory_at (directory->target, name);
  if (!made && errno != EEXIST)
    return sandbox_copying_fail (self, errno, directory->target, directory->path, name, error);
  g_ptr_array_add (self->waiting, g_steal_pointer (&path));

  return TRUE;
}

/* Copies what is in @source, which may grow meanwhile, to @target. Tells by errno: EDQUOT for the limit. */
static gboolean
sandbox_copying_copy_bytes (SandboxCopying *self,
                            int             source,
                            int             target)
{
  guint64 size = 0;

  for (;;)
    {
      ssize_t n = read (source, self->buffer, BUFFER_SIZE);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return n == 0;
      self->copy->count.bytes += n;
      size += n;
      if (self->copy->count.bytes > SANDBOX_TRANSFER_MAX_BYTES)
        {
          errno = EDQUOT;
          return FALSE;
        }
      if (!sandbox_contained_fits (size) || !sandbox_contained_write_all (target, self->buffer, n))
        return FALSE;

      errno = sandbox_copying_check (self);
      if (errno != 0)
        return FALSE;
    }
}

/* A file of the host's, which is new. */
static gboolean
sandbox_copying_write_out (SandboxCopying                *self,
                           const SandboxCopyingDirectory *directory,
                           const char                    *name,
                           int                            source,
                           mode_t                         mode)
{
  g_auto (SandboxFd) target = openat (directory->target, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  int errsv;

  if (target < 0)
    return FALSE;
  if (sandbox_copying_copy_bytes (self, source, target) && (close (g_steal_fd (&target)) == 0 || errno == EINTR))
    return TRUE;

  errsv = errno;
  unlinkat (directory->target, name, 0);
  errno = errsv;

  return FALSE;
}

/* A file of the workspace's, new or in place of another one. */
static gboolean
sandbox_copying_write_in (SandboxCopying                *self,
                          const SandboxCopyingDirectory *directory,
                          const char                    *name,
                          int                            source,
                          mode_t                         mode)
{
  char temporary[SANDBOX_CONTAINED_TEMPORARY_SIZE];
  int  target = sandbox_contained_make_temporary (directory->target, temporary);

  if (target < 0)
    return FALSE;
  if (sandbox_copying_copy_bytes (self, source, target))
    return sandbox_contained_publish (directory->target, target, temporary, name, mode, FALSE);

  sandbox_close_fd (target);
  sandbox_contained_drop_temporary (directory->target, temporary);

  return FALSE;
}

static gboolean
sandbox_copying_copy_file (SandboxCopying                *self,
                           const SandboxCopyingDirectory *directory,
                           const char                    *name,
                           GError                       **error)
{
  int from = dirfd (directory->source);
  g_auto (SandboxFd) source = -1;
  gboolean    done = FALSE;
  struct stat st;
  mode_t      mode;

  {
    g_auto (SandboxOwner) owner = { FALSE };

    if (!sandbox_copying_enter (self, TRUE, &owner, error))
      return FALSE;
    source = sandbox_contained_open (from, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (source < 0 || fstat (source, &st) < 0)
      {
        return sandbox_copying_is_elsewhere (errno) ? sandbox_copying_skip (self)
                                                    : sandbox_copying_fail (self, errno, from, directory->path, name, error);
      }
  }
  if (!S_ISREG (st.st_mode))
    return sandbox_copying_skip (self);
  /* A file of holes is refused before it is written out. */
  if ((guint64) st.st_size > SANDBOX_TRANSFER_MAX_BYTES - self->copy->count.bytes)
    return sandbox_copying_refuse (self, "too many bytes", error);

  mode = (st.st_mode & S_IXUSR) != 0 ? 0755 : 0644;
  {
    g_auto (SandboxOwner) owner = { FALSE };

    if (!sandbox_copying_enter (self, FALSE, &owner, error))
      return FALSE;
    self->owner = owner.entered ? &owner : NULL;
    done = self->copy->out ? sandbox_copying_write_out (self, directory, name, source, mode)
                           : sandbox_copying_write_in (self, directory, name, source, mode);
    self->owner = NULL;
  }
  if (!done && self->copy->count.bytes > SANDBOX_TRANSFER_MAX_BYTES)
    return sandbox_copying_refuse (self, "too many bytes", error);
  if (!done)
    return sandbox_copying_fail (self, errno, directory->target, directory->path, name, error);
  self->copy->count.files++;

  return TRUE;
}

/* Only from the host to the workspace. */
static gboolean
sandbox_copying_copy_link (SandboxCopying                *self,
                           const SandboxCopyingDirectory *directory,
                           const char                    *name,
                           GError                       **error)
{
  g_auto (SandboxOwner) owner = { FALSE };
  char    target[PATH_MAX];
  char    before[PATH_MAX];
  ssize_t length = readlinkat (dirfd (directory->source), name, target, sizeof target - 1);
  ssize_t length_before;

  if (length < 0)
    return errno == ENOENT || sandbox_copying_fail (self, errno, dirfd (directory->source), directory->path, name, error);
  target[length] = '\0';
  if (!sandbox_path_link_stays_inside (directory->path, target))
    return sandbox_copying_skip (self);

  if (!sandbox_copying_enter (self, FALSE, &owner, error))
    return FALSE;
  if (symlinkat (target, directory->target, name) < 0)
    {
      if (errno != EEXIST)
        return sandbox_copying_fail (self, errno, directory->target, directory->path, name, error);
      length_before = readlinkat (directory->target, name, before, sizeof before);
      if (length_before != length || memcmp (before, target, length) != 0)
        return sandbox_copying_fail (self, EEXIST, directory->target, directory->path, name, error);
    }
  self->copy->count.files++;

  return TRUE;
}

static gboolean
sandbox_copying_copy_entry (SandboxCopying                *self,
                            const SandboxCopyingDirectory *directory,
                            const char                    *name,
                            GError                       **error)
{
  struct stat st;

  if (++self->entries > SANDBOX_TRANSFER_MAX_ENTRIES)
    return sandbox_copying_refuse (self, "too many entries", error);

  {
    g_auto (SandboxOwner) owner = { FALSE };

    if (!sandbox_copying_enter (self, TRUE, &owner, error))
      return FALSE;
    if (fstatat (dirfd (directory->source), name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
      return errno == ENOENT ||
             sandbox_copying_fail (self, errno, dirfd (directory->source), directory->path, name, error);
  }

  if (S_ISREG (st.st_mode))
    return sandbox_copying_copy_file (self, directory, name, error);
  if (S_ISLNK (st.st_mode) && !self->copy->out)
    return sandbox_copying_copy_link (self, directory, name, error);
  /* One of the two places may be inside the other, which would never end. */
  if (S_ISDIR (st.st_mode) && !sandbox_copying_is_same (&st, &self->target_top))
    return sandbox_copying_add_directory (self, directory, name, error);

  return sandbox_copying_skip (self);
}

/* By its path from the top: what has been moved meanwhile is not there, and nothing else is entered. Then
 * there is no source. */
static gboolean
sandbox_copying_open (SandboxCopying          *self,
                      SandboxCopyingDirectory *directory,
                      GError                 **error)
{
  g_auto (SandboxFd) source = -1;

  {
    g_auto (SandboxOwner) owner = { FALSE };

    if (!sandbox_copying_enter (self, TRUE, &owner, error))
      return FALSE;
    source = sandbox_contained_open (self->copy->source, directory->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (source < 0 && sandbox_copying_is_elsewhere (errno))
      return sandbox_copying_skip (self);
    directory->source = source >= 0 ? fdopendir (source) : NULL;
    if (directory->source == NULL)
      return sandbox_copying_fail (self, errno, self->copy->source, NULL, directory->path, error);
    g_steal_fd (&source);
  }
  {
    g_auto (SandboxOwner) owner = { FALSE };

    if (!sandbox_copying_enter (self, FALSE, &owner, error))
      return FALSE;
    directory->target = sandbox_contained_open (self->copy->target, directory->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (directory->target < 0)
      return sandbox_copying_fail (self, errno, self->copy->target, NULL, directory->path, error);
  }

  return TRUE;
}

static gboolean
sandbox_copying_copy_directory (SandboxCopying *self,
                                const char     *path,
                                GError        **error)
{
  g_auto (SandboxCopyingDirectory) directory = { path, NULL, -1 };

  if (!sandbox_copying_open (self, &directory, error))
    return FALSE;

  while (directory.source != NULL)
    {
      const struct dirent *entry = NULL;

      errno = sandbox_copying_check (self);
      if (errno != 0)
        return sandbox_copying_fail (self, errno, dirfd (directory.source), NULL, path, error);
      entry = readdir (directory.source);
      if (entry == NULL && errno != 0)
        return sandbox_copying_fail (self, errno, dirfd (directory.source), NULL, path, error);
      if (entry == NULL)
        return TRUE;
      if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0 &&
          !sandbox_contained_is_temporary (entry->d_name) &&
          !sandbox_copying_copy_entry (self, &directory, entry->d_name, error))
        return FALSE;
    }

  return TRUE;
}

gboolean
sandbox_contained_copy (SandboxContainedCopy *copy,
                        GError              **error)
{
  g_auto (SandboxCopying) self = { copy };

  if (fstat (copy->target, &self.target_top) < 0)
    return sandbox_copying_fail (&self, errno, copy->target, NULL, ".", error);

  self.waiting = g_ptr_array_new_with_free_func (g_free);
  self.buffer = g_malloc (BUFFER_SIZE);
  g_ptr_array_add (self.waiting, g_strdup ("."));

  while (self.waiting->len > 0)
    {
      g_autofree char *path = g_ptr_array_steal_index (self.waiting, self.waiting->len - 1);

      self.waiting_size -= MIN (self.waiting_size, strlen (path));
      if (!sandbox_copying_copy_directory (&self, path, error))
        return FALSE;
    }

  return TRUE;
}
