/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-contained-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-paths-private.h"

/* Names and targets of links take memory that a guest decides about: so many bytes of them end a listing. */
#define MAX_TEXT (32 * 1024 * 1024)

/* Between two looks at the time. */
#define ENTRIES_PER_CHECK 64

#define WANTED (STATX_TYPE | STATX_MODE | STATX_SIZE | STATX_MTIME | STATX_MNT_ID)

static GFileType
sandbox_contained_type_of (mode_t mode)
{
  if (S_ISREG (mode))
    return G_FILE_TYPE_REGULAR;
  if (S_ISDIR (mode))
    return G_FILE_TYPE_DIRECTORY;

  return S_ISLNK (mode) ? G_FILE_TYPE_SYMBOLIC_LINK : G_FILE_TYPE_SPECIAL;
}

/* The link may have become something else since we looked, and then has no target. */
static char *
sandbox_contained_read_link (int         dirfd,
                             const char *name)
{
  char    target[PATH_MAX];
  ssize_t length = readlinkat (dirfd, name, target, sizeof target - 1);

  target[MAX (length, 0)] = '\0';

  return sandbox_path_escape (target);
}

/* @st is NULL for what may not be looked at; then @type is all that is known. What was taken for texts
 * is added to *@text. */
static GFileInfo *
sandbox_contained_new_info (int                 dirfd,
                            const char         *bytes,
                            GFileType           type,
                            const struct statx *st,
                            gsize              *text)
{
  GFileInfo       *info = g_file_info_new ();
  g_autofree char *name = sandbox_path_escape (bytes);
  g_autofree char *shown = sandbox_path_display (name);

  g_file_info_set_name (info, name);
  g_file_info_set_display_name (info, shown);
  g_file_info_set_file_type (info, type);
  g_file_info_set_size (info, st != NULL ? (goffset) st->stx_size : 0);
  *text += strlen (name) + strlen (shown);
  if (st != NULL)
    {
      g_file_info_set_attribute_uint32 (info, G_FILE_ATTRIBUTE_UNIX_MODE, st->stx_mode);
      g_file_info_set_attribute_uint64 (info, G_FILE_ATTRIBUTE_TIME_MODIFIED, st->stx_mtime.tv_sec);
      g_file_info_set_attribute_uint32 (info, G_FILE_ATTRIBUTE_TIME_MODIFIED_USEC, st->stx_mtime.tv_nsec / 1000);
    }
  if (type == G_FILE_TYPE_SYMBOLIC_LINK)
    {
      g_autofree char *target = sandbox_contained_read_link (dirfd, bytes);

      g_file_info_set_symlink_target (info, target);
      *text += strlen (target);
    }

  return info;
}

/* An entry of the directory @dirfd, or NULL with errno when there is none any more. A mount point is
 * known by its name and no more: what is mounted there is not of the workspace. */
static GFileInfo *
sandbox_contained_look_at_entry (int                  dirfd,
                                 const struct statx  *top,
                                 const struct dirent *entry,
                                 gsize               *text)
{
  struct statx st;

  if (statx (dirfd, entry->d_name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, WANTED, &st) == 0)
    {
      GFileType type = sandbox_contained_type_of (st.stx_mode);

      return sandbox_contained_new_info (dirfd, entry->d_name, type,
                                         sandbox_contained_same_mount (top, &st) ? &st : NULL, text);
    }

  /* A directory may allow to read names and nothing else. */
  if (errno != EACCES)
    return NULL;

  return sandbox_contained_new_info (dirfd, entry->d_name,
                                     entry->d_type == DT_UNKNOWN ? G_FILE_TYPE_UNKNOWN
                                                                 : sandbox_contained_type_of (DTTOIF (entry->d_type)),
                                     NULL, text);
}

static gboolean
sandbox_contained_fill_listing (DIR                  *dir,
                                SandboxListing       *listing,
                                guint                 max,
                                SandboxContainedCheck check,
                                gpointer              data)
{
  struct statx top;
  gsize        text = 0;
  guint        n_entries = 0;

  if (statx (dirfd (dir), "", AT_EMPTY_PATH, WANTED, &top) < 0)
    return FALSE;

  for (guint i = 0;; i++)
    {
      const struct dirent *entry = NULL;
      g_autoptr (GFileInfo) info = NULL;

      errno = check != NULL && i % ENTRIES_PER_CHECK == 0 ? check (data) : 0;
      if (errno != 0)
        return FALSE;

      entry = readdir (dir);
      if (entry == NULL)
        return errno == 0;
      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0 ||
          sandbox_contained_is_temporary (entry->d_name))
        continue;
      if (n_entries == max || text > MAX_TEXT)
        {
          sandbox_listing_set_truncated (listing, TRUE);
          return TRUE;
        }

      info = sandbox_contained_look_at_entry (dirfd (dir), &top, entry, &text);
      if (info == NULL && errno != ENOENT)
        return FALSE;
      if (info == NULL)
        continue;
      sandbox_listing_add (listing, info);
      n_entries++;
    }
}

/* Lists up to @max entries of a directory. */
SandboxListing *
sandbox_contained_list (int                   root,
                        const char           *path,
                        guint                 max,
                        SandboxContainedCheck check,
                        gpointer              data,
                        GError              **error)
{
  g_autoptr (SandboxListing) listing = sandbox_listing_new ();
  g_auto (SandboxFd) fd = sandbox_contained_open (root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  DIR     *dir = fd >= 0 ? fdopendir (fd) : NULL;
  gboolean done = FALSE;
  int      errsv;

  if (dir == NULL)
    {
      sandbox_contained_set_error (error, errno, "list", root, NULL, path);
      return NULL;
    }
  g_steal_fd (&fd);

  done = sandbox_contained_fill_listing (dir, listing, max, check, data);
  errsv = errno;
  closedir (dir);
  if (!done)
    {
      sandbox_contained_set_error (error, errsv, "list", root, NULL, path);
      return NULL;
    }

  return g_steal_pointer (&listing);
}

/* Describes a file, or a link and not its target. */
GFileInfo *
sandbox_contained_query_info (int         root,
                              const char *path,
                              GError    **error)
{
  g_auto (SandboxContainedParent) parent = { -1, -1, NULL };
  struct statx top, st;
  gsize        text = 0;

  if (!sandbox_contained_open_parent (&parent, root, path, FALSE) ||
      statx (parent.fd, "", AT_EMPTY_PATH, WANTED, &top) < 0 ||
      statx (parent.fd, parent.name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, WANTED, &st) < 0)
    {
      sandbox_contained_set_error (error, errno, "describe", root, NULL, path);
      return NULL;
    }
  if (!sandbox_contained_same_mount (&top, &st))
    {
      sandbox_contained_set_error (error, EXDEV, "describe", root, NULL, path);
      return NULL;
    }

  return sandbox_contained_new_info (parent.fd, parent.name, sandbox_contained_type_of (st.stx_mode), &st, &text);
}

/* Makes a directory with its missing parents. */
gboolean
sandbox_contained_make_directory (int         root,
                                  const char *path,
                                  GError    **error)
{
  g_auto (SandboxContainedParent) parent = { -1, -1, NULL };

  if (sandbox_contained_open_parent (&parent, root, path, TRUE) &&
      sandbox_contained_make_directory_at (parent.fd, parent.name))
    return TRUE;
  sandbox_contained_set_error (error, errno, "make the directory", root, NULL, path);

  return FALSE;
}

/* For file systems that cannot rename without replacing. What comes to stand at the new place is made
 * there first, which fails when anything is; nothing but an empty directory is ever replaced. */
static gboolean
sandbox_contained_move_by_hand (const SandboxContainedParent *from,
                                const SandboxContainedParent *to)
{
  struct stat st;
  int         errsv;

  if (fstatat (from->fd, from->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return FALSE;
  if (!S_ISDIR (st.st_mode))
    return linkat (from->fd, from->name, to->fd, to->name, 0) == 0 && unlinkat (from->fd, from->name, 0) == 0;

  if (mkdirat (to->fd, to->name, 0700) < 0)
    return FALSE;
  if (renameat (from->fd, from->name, to->fd, to->name) == 0)
    return TRUE;
  errsv = errno;
  unlinkat (to->fd, to->name, AT_REMOVEDIR);
  errno = errsv;

  return FALSE;
}

/* Whether a directory of that file system could not be renamed for being of a lower layer. */
static gboolean
sandbox_contained_is_overlay (int fd)
{
  struct statfs system;

  return fstatfs (fd, &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* Renames anything, a link too; nothing may stand at @to. */
gboolean
sandbox_contained_move (int         root,
                        const char *from,
                        const char *to,
                        GError    **error)
{
  g_auto (SandboxContainedParent) source = { -1, -1, NULL };
  g_auto (SandboxContainedParent) target = { -1, -1, NULL };
  g_autofree char *shown = NULL;
  gsize            length = strlen (from);
  struct stat      st;

  if (strcmp (from, ".") == 0)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH, "The workspace itself cannot be moved");
      return FALSE;
    }
  if (strncmp (from, to, length) == 0 && to[length] == '/')
    {
      shown = sandbox_contained_display (from);
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "Cannot move “%s” into itself", shown);
      return FALSE;
    }

  if (!sandbox_contained_open_parent (&source, root, from, FALSE) ||
      fstatat (source.fd, source.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    {
      sandbox_contained_set_error (error, errno, "move", root, NULL, from);
      return FALSE;
    }
  if (!sandbox_contained_open_parent (&target, root, to, FALSE))
    {
      sandbox_contained_set_error (error, errno, "move to", root, NULL, to);
      return FALSE;
    }

  if (renameat2 (source.fd, source.name, target.fd, target.name, RENAME_NOREPLACE) == 0)
    return TRUE;
  if ((errno == EINVAL || errno == ENOSYS) && sandbox_contained_move_by_hand (&source, &target))
    return TRUE;

  /* Of the two paths, the one that is in the way. */
  if (errno == EEXIST || errno == ENOTEMPTY)
    sandbox_contained_set_error (error, errno, "move to", root, NULL, to);
  else if (errno == EXDEV && S_ISDIR (st.st_mode) && sandbox_contained_is_overlay (source.fd))
    {
      shown = sandbox_contained_display (from);
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH,
                   "Cannot move “%s”: it is a directory of the lower layer of an overlay, as those of a template are: "
                   "make a new one and move what is in it, or create the session with the workspace mode copy",
                   shown);
    }
  else
    sandbox_contained_set_error (error, errno, "move", root, NULL, from);

  return FALSE;
}
