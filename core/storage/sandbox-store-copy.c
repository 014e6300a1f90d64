/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-store-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-owner-private.h"

/* On the stack; a file that fits is copied by two calls. */
#define BUFFER_SIZE (64 * 1024)

static gboolean
sandbox_store_copy_fail (SandboxStoreCopy *self,
                         const char       *path,
                         int               errsv,
                         GError          **error)
{
  g_autofree char *shown = sandbox_contained_display (path);

  if (errsv == ECANCELED)
    g_propagate_error (error, sandbox_error_new_cancelled ());
  else if (errsv == ETIMEDOUT)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "Copying the template %s takes too long", self->key);
  else
    sandbox_set_error_from_errno (error, errsv, "Cannot copy “%s” of the template %s", shown, self->key);

  return FALSE;
}

static gboolean
sandbox_store_copy_fail_stale (SandboxStoreCopy *self,
                               const char       *path,
                               GError          **error)
{
  g_autofree char *shown = sandbox_contained_display (path);

  self->stale = TRUE;
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT, "The template %s has been changed: “%s” is not what it was", self->key, shown);

  return FALSE;
}

/* By errno; EAGAIN when the two cannot share their content. */
static gboolean
sandbox_store_copy_share (int source,
                          int target)
{
  if (ioctl (target, FICLONE, source) == 0)
    return TRUE;
  if (errno == EINVAL || errno == EXDEV || errno == ENOTTY || errno == EOPNOTSUPP || errno == ENOSYS)
    errno = EAGAIN;

  return FALSE;
}

/* By errno; ENODATA when there is less than there was. */
static gboolean
sandbox_store_copy_bytes (SandboxStoreCopy *self,
                          int               source,
                          int               target,
                          guint64           size)
{
  char buffer[BUFFER_SIZE];

  while (size > 0)
    {
      ssize_t n = read (source, buffer, MIN (size, sizeof buffer));

      if (n < 0 && errno == EINTR)
        continue;
      if (n == 0)
        errno = ENODATA;
      if (n <= 0 || !sandbox_contained_write_all (target, buffer, (gsize) n))
        return FALSE;
      size -= (guint64) n;
      errno = size > 0 && self->check != NULL ? self->check (self->data) : 0;
      if (errno != 0)
        return FALSE;
    }

  return TRUE;
}

static gboolean
sandbox_store_copy_content (SandboxStoreCopy         *self,
                            const SandboxStoredEntry *entry,
                            int                       source,
                            int                       target)
{
  if (self->reflink && entry->size > 0)
    {
      if (sandbox_store_copy_share (source, target))
        return TRUE;
      if (errno != EAGAIN || self->strict)
        return FALSE;
    }

  return sandbox_contained_fits (entry->size) && sandbox_store_copy_bytes (self, source, target, entry->size);
}

static gboolean
sandbox_store_copy_file (SandboxStoreCopy         *self,
                         const SandboxStoredEntry *entry,
                         int                       from,
                         int                       to,
                         const char               *name,
                         GError                  **error)
{
  g_auto (SandboxFd) source = sandbox_contained_open (from, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  g_auto (SandboxFd) target = -1;
  struct stat st;

  if (source < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR))
    return sandbox_store_copy_fail_stale (self, entry->path, error);
  if (source < 0 || fstat (source, &st) < 0)
    return sandbox_store_copy_fail (self, entry->path, errno, error);
  if (!sandbox_stored_entry_is_same (entry, &st))
    return sandbox_store_copy_fail_stale (self, entry->path, error);

  target = sandbox_store_make_file (to, name, sandbox_store_get_mode (entry->kind));
  if (target < 0)
    return sandbox_store_copy_fail (self, entry->path, errno, error);

  if (!sandbox_store_copy_content (self, entry, source, target))
    {
      if (errno == ENODATA)
        return sandbox_store_copy_fail_stale (self, entry->path, error);
      if (errno == EAGAIN)
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                       "The file system of “%s” cannot share the content of files: choose copy, not reflink",
                       sandbox_store_get_path (self->store));
          return FALSE;
        }
      return sandbox_store_copy_fail (self, entry->path, errno, error);
    }
  if (close (g_steal_fd (&target)) < 0 && errno != EINTR)
    return sandbox_store_copy_fail (self, entry->path, errno, error);

  return TRUE;
}

static gboolean
sandbox_store_copy_entry (SandboxStoreCopy         *self,
                          const SandboxStoredEntry *entry,
                          SandboxStorePlace        *source,
                          SandboxStorePlace        *target,
                          GError                  **error)
{
  const char *name = NULL;
  int         to = sandbox_store_place_open (target, entry->path, &name);
  int         from;
  int         errsv = self->check != NULL ? self->check (self->data) : 0;

  if (to < 0)
    return sandbox_store_copy_fail (self, entry->path, errno, error);
  if (errsv != 0)
    return sandbox_store_copy_fail (self, entry->path, errsv, error);

  switch (entry->kind)
    {
    case SANDBOX_FILE_KIND_DIRECTORY:
      return sandbox_contained_make_directory_at (to, name) || sandbox_store_copy_fail (self, entry->path, errno, error);

    case SANDBOX_FILE_KIND_LINK:
      return symlinkat (entry->target, to, name) == 0 || sandbox_store_copy_fail (self, entry->path, errno, error);

    case SANDBOX_FILE_KIND_FILE:
    case SANDBOX_FILE_KIND_EXECUTABLE:
      from = sandbox_store_place_open (source, entry->path, &name);
      return from >= 0 ? sandbox_store_copy_file (self, entry, from, to, name, error)
                       : sandbox_store_copy_fail_stale (self, entry->path, error);
    }

  g_return_val_if_reached (FALSE);
}

gboolean
sandbox_store_copy (SandboxStoreCopy *self,
                    GError          **error)
{
  g_autofree char *path = g_build_filename (self->key, SANDBOX_STORE_TREE, NULL);
  g_auto (SandboxFd) tree = sandbox_contained_open (sandbox_store_get_templates (self->store), path, O_RDONLY | O_DIRECTORY);
  g_auto (SandboxStorePlace) source = { tree, NULL, -1 };
  g_auto (SandboxStorePlace) target = { self->target, NULL, -1 };
  g_auto (SandboxOwner) owner = { FALSE };
  guint uid, gid;

  self->stale = FALSE;
  if (tree < 0)
    return sandbox_store_copy_fail_stale (self, SANDBOX_STORE_TREE, error);

  /* Both sides are the owner's, who can read the one and makes the other. */
  sandbox_store_get_owner (self->store, &uid, &gid);
  if (!sandbox_owner_enter (&owner, uid, gid, error))
    return FALSE;
  for (guint i = 0; i < self->stored->entries->len; i++)
    {
      if (!sandbox_store_copy_entry (self, &g_array_index (self->stored->entries, SandboxStoredEntry, i), &source, &target, error))
        return FALSE;
    }

  return TRUE;
}
