/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-contained-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"

/* Directories held open at once: the top and the deepest ones. */
#define MAX_OPEN 12

/* And others on the way, as far apart as they have to be. */
#define MAX_KEPT 14

/* How often something may turn out different from what it was a moment ago, or a directory that has just
 * been emptied may be full again. */
#define MAX_SURPRISES 1024

#define MAX_TRIES 32

/* Of a longer path, an error names both ends. */
#define MAX_SHOWN 40

/* A directory on the way down. */
typedef struct
{
  DIR     *dir;  /* NULL while closed */
  char    *name; /* in the level above */
  dev_t    dev;
  ino_t    ino;
  gboolean repaired;
} SandboxRemovalLevel;

typedef struct
{
  GArray *levels; /* SandboxRemovalLevel, the top first */
  guint   step;   /* between those that are kept open */
  guint   surprises;
  guint   refills; /* of one directory */
  char   *failed;  /* what could not be removed: its name in the deepest level */
} SandboxRemoval;

static void
sandbox_removal_level_clear (gpointer data)
{
  SandboxRemovalLevel *level = data;

  g_clear_pointer (&level->dir, closedir);
  g_clear_pointer (&level->name, g_free);
}

static void
sandbox_removal_clear (SandboxRemoval *self)
{
  int errsv = errno;

  g_clear_pointer (&self->levels, g_array_unref);
  g_clear_pointer (&self->failed, g_free);
  errno = errsv;
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxRemoval, sandbox_removal_clear)

static SandboxRemovalLevel *
sandbox_removal_get_level (SandboxRemoval *self,
                           guint           depth)
{
  return &g_array_index (self->levels, SandboxRemovalLevel, depth);
}

static SandboxRemovalLevel *
sandbox_removal_get_deepest (SandboxRemoval *self)
{
  return sandbox_removal_get_level (self, self->levels->len - 1);
}

/* Removes anything but a directory that is not empty: ENOTEMPTY. */
static gboolean
sandbox_removal_unlink (int         dirfd,
                        const char *name)
{
  for (int i = 0; i < MAX_TRIES; i++)
    {
      if (unlinkat (dirfd, name, 0) == 0)
        return TRUE;
      if (errno != EISDIR)
        return FALSE;
      if (unlinkat (dirfd, name, AT_REMOVEDIR) == 0)
        return TRUE;
      if (errno == EEXIST)
        errno = ENOTEMPTY;
      /* No directory any more: somebody is faster than we are. */
      if (errno != ENOTDIR)
        return FALSE;
    }

  return FALSE;
}

/* Opens a directory for reading; one of our own that forbids it is made to allow it. */
static int
sandbox_removal_open (int         dirfd,
                      const char *name)
{
  g_auto (SandboxFd) closed = -1;
  struct stat st;
  int         fd = sandbox_contained_open (dirfd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);

  if (fd >= 0 || errno != EACCES)
    return fd;

  closed = sandbox_contained_open (dirfd, name, O_PATH | O_DIRECTORY);
  if (closed < 0 || fstat (closed, &st) < 0)
    return -1;
  if (!sandbox_contained_chmod (closed, (st.st_mode & 07777) | S_IRWXU))
    {
      errno = EACCES;
      return -1;
    }

  return sandbox_contained_open (dirfd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
}

/* The same for one that is open, when an entry of it may not be removed. */
static gboolean
sandbox_removal_repair (SandboxRemovalLevel *level)
{
  struct stat st;
  int         errsv = errno;

  if (level->repaired)
    return FALSE;
  level->repaired = TRUE;
  if (fstat (dirfd (level->dir), &st) == 0 && fchmod (dirfd (level->dir), (st.st_mode & 07777) | S_IRWXU) == 0)
    return TRUE;
  errno = errsv;

  return FALSE;
}

/* Closes what is far above the deepest level, but for a few that make the way back up short. */
static void
sandbox_removal_close_some (SandboxRemoval *self)
{
  guint end;

  if (self->levels->len <= MAX_OPEN)
    return;

  end = self->levels->len - MAX_OPEN;
  for (; end / self->step > MAX_KEPT; self->step *= 2)
    for (guint i = self->step; i <= end; i += 2 * self->step)
      g_clear_pointer (&sandbox_removal_get_level (self, i)->dir, closedir);
  if (end % self->step != 0)
    g_clear_pointer (&sandbox_removal_get_level (self, end)->dir, closedir);
}

/* Takes @fd. */
static gboolean
sandbox_removal_enter (SandboxRemoval *self,
                       int             fd,
                       const char     *name)
{
  g_auto (SandboxFd) owned = fd;
  SandboxRemovalLevel level = { NULL };
  struct stat         st;

  if (owned < 0 || fstat (owned, &st) < 0)
    return FALSE;
  level.dir = fdopendir (owned);
  if (level.dir == NULL)
    return FALSE;
  g_steal_fd (&owned);

  level.name = g_strdup (name);
  level.dev = st.st_dev;
  level.ino = st.st_ino;
  g_array_append_val (self->levels, level);

  sandbox_removal_close_some (self);

  return TRUE;
}

/* Opens the levels above the deepest again, from one that is open down and by name, never upwards: a directory that
 * somebody moves out of here meanwhile cannot take us along. Each must be the one that it was. Those half way, half
 * of the rest of the way and so on stay open, so that the next time the way is short. FALSE when the way is not there
 * any more. */
static gboolean
sandbox_removal_reopen (SandboxRemoval *self)
{
  g_auto (SandboxFd) held = -1;
  const guint last = self->levels->len - 2;
  guint       first = last;
  guint       half;
  int         at = -1;

  while (sandbox_removal_get_level (self, first)->dir == NULL)
    first--;
  at = dirfd (sandbox_removal_get_level (self, first)->dir);
  half = first + (last - first) / 2;

  for (guint i = first + 1; i <= last; i++)
    {
      SandboxRemovalLevel *level = sandbox_removal_get_level (self, i);
      g_auto (SandboxFd) fd = sandbox_removal_open (at, level->name);
      struct stat st;

      if (fd < 0 || fstat (fd, &st) < 0 || st.st_dev != level->dev || st.st_ino != level->ino)
        return FALSE;

      sandbox_clear_fd (&held);
      if (i == half)
        half += (last - half) / 2;
      else if (last - i >= MAX_OPEN - 2)
        {
          held = at = g_steal_fd (&fd);
          continue;
        }
      level->dir = fdopendir (fd);
      if (level->dir == NULL)
        return FALSE;
      at = g_steal_fd (&fd);
    }

  return TRUE;
}

/* Goes up from the deepest level; its name, now one of the level above, goes to *@name. When the way up is
 * lost, all is begun again at the top, and *@name is NULL. */
static void
sandbox_removal_ascend (SandboxRemoval *self,
                        char          **name)
{
  SandboxRemovalLevel *above = sandbox_removal_get_level (self, self->levels->len - 2);

  if (above->dir == NULL && !sandbox_removal_reopen (self))
    {
      g_array_set_size (self->levels, 1);
      rewinddir (sandbox_removal_get_deepest (self)->dir);
      return;
    }

  *name = g_steal_pointer (&sandbox_removal_get_deepest (self)->name);
  g_array_set_size (self->levels, self->levels->len - 1);
}

static gboolean
sandbox_removal_is_too_often (guint *count)
{
  if (++*count <= MAX_SURPRISES)
    return FALSE;
  errno = ENOTEMPTY;

  return TRUE;
}

/* Removes one entry of the deepest level, or enters it. */
static gboolean
sandbox_removal_take (SandboxRemoval *self,
                      const char     *name)
{
  SandboxRemovalLevel *level = sandbox_removal_get_deepest (self);
  int                  at = dirfd (level->dir);

  while (!sandbox_removal_unlink (at, name))
    {
      if (errno == ENOENT)
        break;
      if (errno == EACCES && sandbox_removal_repair (level))
        continue;
      if (errno != ENOTEMPTY)
        return FALSE;
      if (sandbox_removal_enter (self, sandbox_removal_open (at, name), name))
        break;
      /* Gone, or no directory any more. */
      if ((errno != ENOENT && errno != ENOTDIR && errno != ELOOP) ||
          sandbox_removal_is_too_often (&self->surprises))
        return FALSE;
    }

  return TRUE;
}

/* Empties the directory @name of @top. Needs neither a deep stack nor many descriptors however deep the
 * tree is. */
static gboolean
sandbox_removal_empty (SandboxRemoval       *self,
                       int                   top,
                       const char           *name,
                       SandboxContainedCheck check,
                       gpointer              data)
{
  if (!sandbox_removal_enter (self, sandbox_removal_open (top, name), name))
    return FALSE;

  for (;;)
    {
      g_autofree char     *emptied = NULL;
      const char          *next = NULL;
      const struct dirent *entry = NULL;
      guint                depth;

      errno = check != NULL ? check (data) : 0;
      if (errno != 0)
        return FALSE;

      entry = readdir (sandbox_removal_get_deepest (self)->dir);
      if (entry == NULL && errno != 0)
        return FALSE;
      if (entry == NULL && self->levels->len == 1)
        {
          g_array_set_size (self->levels, 0);
          return TRUE;
        }

      if (entry == NULL)
        {
          sandbox_removal_ascend (self, &emptied);
          if (emptied == NULL && sandbox_removal_is_too_often (&self->surprises))
            return FALSE;
        }
      next = entry != NULL ? entry->d_name : emptied;
      if (next == NULL || strcmp (next, ".") == 0 || strcmp (next, "..") == 0)
        continue;

      depth = self->levels->len;
      if (!sandbox_removal_take (self, next))
        {
          self->failed = g_strdup (next);
          return FALSE;
        }
      if (emptied == NULL)
        continue;
      if (self->levels->len == depth)
        self->refills = 0;
      else if (sandbox_removal_is_too_often (&self->refills))
        return FALSE;
    }
}

static gboolean
sandbox_removal_run (SandboxRemoval       *self,
                     int                   top,
                     const char           *name,
                     gboolean              recursive,
                     SandboxContainedCheck check,
                     gpointer              data)
{
  while (!sandbox_removal_unlink (top, name))
    {
      if (errno != ENOTEMPTY || !recursive)
        return FALSE;
      if (!sandbox_removal_empty (self, top, name, check, data) &&
          (self->levels->len > 0 || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)))
        return FALSE;
      if (sandbox_removal_is_too_often (&self->surprises))
        return FALSE;
    }

  return TRUE;
}

/* The error of what failed, deep inside perhaps. */
static void
sandbox_removal_set_error (SandboxRemoval *self,
                           int             errsv,
                           int             root,
                           const char     *path,
                           GError        **error)
{
  g_autoptr (GString) prefix = NULL;
  SandboxRemovalLevel *deepest = NULL;

  if (self->levels->len == 0 || errsv == ECANCELED || errsv == ETIMEDOUT)
    {
      sandbox_contained_set_error (error, errsv, "remove", root, NULL, path);
      return;
    }

  deepest = sandbox_removal_get_deepest (self);
  prefix = g_string_new (path);
  for (guint i = 1; i < self->levels->len; i++)
    {
      g_string_append_c (prefix, '/');
      if (prefix->len > MAX_SHOWN && i < self->levels->len - 1)
        {
          g_string_append (prefix, "…/");
          i = self->levels->len - 1;
        }
      g_string_append (prefix, sandbox_removal_get_level (self, i)->name);
    }

  if (self->failed != NULL)
    sandbox_contained_set_error (error, errsv, "remove", dirfd (deepest->dir), prefix->str, self->failed);
  else
    {
      g_autofree char *shown = sandbox_contained_display (prefix->str);

      sandbox_set_error_from_errno (error, errsv, "Cannot remove “%s”", shown);
    }
}

gboolean
sandbox_contained_remove (int                   root,
                          const char           *path,
                          SandboxRemoveFlags    flags,
                          SandboxContainedCheck check,
                          gpointer              data,
                          GError              **error)
{
  g_auto (SandboxContainedParent) parent = { -1, -1, NULL };
  g_auto (SandboxRemoval) removal = { NULL };

  if (strcmp (path, ".") == 0)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH, "The workspace itself cannot be removed");
      return FALSE;
    }

  removal.step = MAX_OPEN;
  removal.levels = g_array_new (FALSE, FALSE, sizeof (SandboxRemovalLevel));
  g_array_set_clear_func (removal.levels, sandbox_removal_level_clear);

  if (sandbox_contained_open_parent (&parent, root, path, FALSE) &&
      sandbox_removal_run (&removal, parent.fd, parent.name,
                           (flags & SANDBOX_REMOVE_FLAGS_RECURSIVE) != 0, check, data))
    return TRUE;
  if (errno == ENOENT && (flags & SANDBOX_REMOVE_FLAGS_MISSING_OK) != 0)
    return TRUE;

  sandbox_removal_set_error (&removal, errno, root, path, error);

  return FALSE;
}
