/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-file-set-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-paths-private.h"
#include "sandbox-workspace-path.h"

/* What the paths of all entries take; whoever made a directory decides how long its names are. */
#define MAX_PATHS_BYTES (32 * 1024 * 1024)

/**
 * SandboxFileSet:
 *
 * The files of a template: what is in the workspace of each session that is made from it.
 *
 * ```c
 * g_autoptr (SandboxFileSet) files = sandbox_file_set_new ();
 * g_autoptr (GFile) project = g_file_new_for_path ("/home/me/project");
 * g_autoptr (GBytes) notes = g_bytes_new_static ("Read this first.\n", 17);
 *
 * sandbox_file_set_add (files, "NOTES", notes);
 * if (!sandbox_file_set_add_directory (files, "project", project, &error))
 *   return FALSE;
 * ```
 *
 * Of a file the content counts, and whether its owner may execute it; it has mode 0755 then, else 0644. Owners, times,
 * other bits of the mode and extended attributes are not kept.
 *
 * A set is limited to [const@Sandbox.FILE_SET_MAX_ENTRIES] entries, [const@Sandbox.FILE_SET_MAX_BYTES] of content and
 * [const@Sandbox.FILE_SET_MAX_DEPTH] levels. It may be filled in any thread, in one at a time.
 *
 * Since: 1.0
 */
struct _SandboxFileSet
{
  GObject parent_instance;

  gboolean    frozen;
  GHashTable *entries; /* path, of the entry → SandboxFileEntry */
  guint       n_files;
  guint64     total_bytes;
  gsize       paths_bytes;
  GError     *problem; /* the first one that add () could not tell */
};

typedef enum
{
  PROP_N_FILES = 1,
  PROP_TOTAL_BYTES,
} SandboxFileSetProps;

static GParamSpec *properties[PROP_TOTAL_BYTES + 1];

G_DEFINE_FINAL_TYPE (SandboxFileSet, sandbox_file_set, G_TYPE_OBJECT)

struct _SandboxFileSource
{
  int fd;
};

static void
sandbox_file_source_clear (gpointer data)
{
  SandboxFileSource *self = data;

  sandbox_clear_fd (&self->fd);
}

static void
sandbox_file_source_unref (SandboxFileSource *self)
{
  g_atomic_rc_box_release_full (self, sandbox_file_source_clear);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxFileSource, sandbox_file_source_unref)

static SandboxFileEntry *
sandbox_file_entry_new (const char     *path,
                        SandboxFileKind kind)
{
  SandboxFileEntry *self = g_atomic_rc_box_new0 (SandboxFileEntry);

  self->path = g_strdup (path);
  self->kind = kind;

  return self;
}

static void
sandbox_file_entry_clear (gpointer data)
{
  SandboxFileEntry *self = data;

  g_free (self->path);
  g_clear_pointer (&self->bytes, g_bytes_unref);
  g_clear_pointer (&self->source, sandbox_file_source_unref);
  g_free (self->source_path);
}

static void
sandbox_file_entry_unref (gpointer data)
{
  g_atomic_rc_box_release_full (data, sandbox_file_entry_clear);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxFileEntry, sandbox_file_entry_unref)

int
sandbox_file_entry_get_directory (const SandboxFileEntry *self)
{
  return self->source != NULL ? self->source->fd : -1;
}

static void
sandbox_file_set_finalize (GObject *object)
{
  SandboxFileSet *self = SANDBOX_FILE_SET (object);

  g_clear_pointer (&self->entries, g_hash_table_unref);
  g_clear_error (&self->problem);

  G_OBJECT_CLASS (sandbox_file_set_parent_class)->finalize (object);
}

static void
sandbox_file_set_get_property (GObject    *object,
                               guint       prop_id,
                               GValue     *value,
                               GParamSpec *pspec)
{
  SandboxFileSet *self = SANDBOX_FILE_SET (object);

  switch ((SandboxFileSetProps) prop_id)
    {
    case PROP_N_FILES:
      g_value_set_uint (value, sandbox_file_set_get_n_files (self));
      break;

    case PROP_TOTAL_BYTES:
      g_value_set_uint64 (value, sandbox_file_set_get_total_bytes (self));
      break;
    }
}

static void
sandbox_file_set_class_init (SandboxFileSetClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_file_set_finalize;
  object_class->get_property = sandbox_file_set_get_property;

  /**
   * SandboxFileSet:n-files:
   *
   * How many files and links there are. Directories do not count.
   *
   * Since: 1.0
   */
  properties[PROP_N_FILES] =
      g_param_spec_uint ("n-files", NULL, NULL, 0, SANDBOX_FILE_SET_MAX_ENTRIES, 0,
                         G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxFileSet:total-bytes:
   *
   * How many bytes the files have, as they were when they were added.
   *
   * Since: 1.0
   */
  properties[PROP_TOTAL_BYTES] =
      g_param_spec_uint64 ("total-bytes", NULL, NULL, 0, SANDBOX_FILE_SET_MAX_BYTES, 0,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_file_set_init (SandboxFileSet *self)
{
  self->entries = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, sandbox_file_entry_unref);
}

/**
 * sandbox_file_set_new:
 *
 * Makes a set without files. A template of it has an empty workspace.
 *
 * Returns: (transfer full): a set
 *
 * Since: 1.0
 */
SandboxFileSet *
sandbox_file_set_new (void)
{
  return g_object_new (SANDBOX_TYPE_FILE_SET, NULL);
}

/**
 * sandbox_file_set_get_n_files:
 * @self: a set
 *
 * Gets how many files and links there are.
 *
 * Returns: the number
 *
 * Since: 1.0
 */
guint
sandbox_file_set_get_n_files (SandboxFileSet *self)
{
  g_return_val_if_fail (SANDBOX_IS_FILE_SET (self), 0);

  return self->n_files;
}

/**
 * sandbox_file_set_get_total_bytes:
 * @self: a set
 *
 * Gets how many bytes the files have, as they were when they were added.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_file_set_get_total_bytes (SandboxFileSet *self)
{
  g_return_val_if_fail (SANDBOX_IS_FILE_SET (self), 0);

  return self->total_bytes;
}

static void
sandbox_file_set_notify (SandboxFileSet *self,
                         guint           n_files,
                         guint64         total_bytes)
{
  if (self->n_files != n_files)
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_N_FILES]);
  if (self->total_bytes != total_bytes)
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TOTAL_BYTES]);
}

static char *
sandbox_file_set_display (const char *bytes)
{
  g_autofree char *escaped = sandbox_path_escape (bytes);

  return sandbox_path_display (escaped);
}

static gboolean
sandbox_file_set_fail (GError     **error,
                       SandboxError code,
                       const char  *path,
                       const char  *problem)
{
  g_autofree char *shown = sandbox_file_set_display (path);

  g_set_error (error, SANDBOX_ERROR, (int) code, "Cannot add “%s”: %s", shown, problem);

  return FALSE;
}

/* Takes a new entry, or nothing. */
static gboolean
sandbox_file_set_insert (SandboxFileSet   *self,
                         SandboxFileEntry *entry,
                         GPtrArray        *inserted,
                         GError          **error)
{
  g_autoptr (SandboxFileEntry) owned = entry;
  gsize length = strlen (entry->path);

  if (g_hash_table_size (self->entries) >= SANDBOX_FILE_SET_MAX_ENTRIES)
    return sandbox_file_set_fail (error, SANDBOX_ERROR_LIMIT, entry->path,
                                  "there are " G_STRINGIFY (SANDBOX_FILE_SET_MAX_ENTRIES) " files and directories already");
  if (length > MAX_PATHS_BYTES - self->paths_bytes)
    return sandbox_file_set_fail (error, SANDBOX_ERROR_LIMIT, entry->path, "all paths together have 32 MiB already");
  if (entry->size > SANDBOX_FILE_SET_MAX_BYTES - self->total_bytes)
    return sandbox_file_set_fail (error, SANDBOX_ERROR_LIMIT, entry->path, "all files together would have more than 2 GiB");

  self->paths_bytes += length;
  self->total_bytes += entry->size;
  if (entry->kind != SANDBOX_FILE_KIND_DIRECTORY)
    self->n_files++;
  g_ptr_array_add (inserted, entry->path);
  g_hash_table_insert (self->entries, entry->path, g_steal_pointer (&owned));

  return TRUE;
}

/* The directories in which @path stands, which need not have been added. */
static gboolean
sandbox_file_set_insert_parents (SandboxFileSet *self,
                                 const char     *path,
                                 GPtrArray      *inserted,
                                 GError        **error)
{
  g_autofree char *parent = g_strdup (path);
  guint            depth = 0;

  for (char *slash = strchr (parent, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    {
      const SandboxFileEntry *found = NULL;

      if (++depth > SANDBOX_FILE_SET_MAX_DEPTH)
        return sandbox_file_set_fail (error, SANDBOX_ERROR_LIMIT, path,
                                      "there are more than " G_STRINGIFY (SANDBOX_FILE_SET_MAX_DEPTH) " directories in each other");

      *slash = '\0';
      found = g_hash_table_lookup (self->entries, parent);
      if (found != NULL && found->kind != SANDBOX_FILE_KIND_DIRECTORY)
        {
          g_autofree char *shown = sandbox_file_set_display (parent);
          g_autofree char *problem = g_strdup_printf ("“%s” is no directory in this set", shown);

          return sandbox_file_set_fail (error, SANDBOX_ERROR_PATH, path, problem);
        }
      if (found == NULL &&
          !sandbox_file_set_insert (self, sandbox_file_entry_new (parent, SANDBOX_FILE_KIND_DIRECTORY), inserted, error))
        return FALSE;
      *slash = '/';
    }

  return TRUE;
}

/* Takes @entry. A directory may be there already. */
static gboolean
sandbox_file_set_put (SandboxFileSet   *self,
                      SandboxFileEntry *entry,
                      GPtrArray        *inserted,
                      GError          **error)
{
  g_autoptr (SandboxFileEntry) owned = entry;
  const SandboxFileEntry *found = NULL;

  if (strcmp (entry->path, ".") == 0)
    return entry->kind == SANDBOX_FILE_KIND_DIRECTORY ||
           sandbox_file_set_fail (error, SANDBOX_ERROR_PATH, entry->path, "a file cannot be the workspace itself");
  if (strlen (entry->path) >= PATH_MAX)
    return sandbox_file_set_fail (error, SANDBOX_ERROR_PATH, entry->path, "the path is too long");
  if (!sandbox_file_set_insert_parents (self, entry->path, inserted, error))
    return FALSE;

  found = g_hash_table_lookup (self->entries, entry->path);
  if (found == NULL)
    return sandbox_file_set_insert (self, g_steal_pointer (&owned), inserted, error);
  if (found->kind == SANDBOX_FILE_KIND_DIRECTORY && entry->kind == SANDBOX_FILE_KIND_DIRECTORY)
    return TRUE;

  return sandbox_file_set_fail (error, SANDBOX_ERROR_EXISTS, entry->path, "it is in this set already");
}

/* Takes out what has been put in since @inserted was empty. */
static void
sandbox_file_set_take_back (SandboxFileSet *self,
                            GPtrArray      *inserted)
{
  for (guint i = 0; i < inserted->len; i++)
    {
      const SandboxFileEntry *entry = g_hash_table_lookup (self->entries, inserted->pdata[i]);

      self->paths_bytes -= strlen (entry->path);
      self->total_bytes -= entry->size;
      if (entry->kind != SANDBOX_FILE_KIND_DIRECTORY)
        self->n_files--;
      g_hash_table_remove (self->entries, entry->path);
    }
}

/* Takes @entry; all or nothing. */
static gboolean
sandbox_file_set_put_one (SandboxFileSet   *self,
                          SandboxFileEntry *entry,
                          GError          **error)
{
  g_autoptr (GPtrArray) inserted = g_ptr_array_new ();
  guint   n_files = self->n_files;
  guint64 total_bytes = self->total_bytes;

  if (!sandbox_file_set_put (self, entry, inserted, error))
    {
      sandbox_file_set_take_back (self, inserted);
      return FALSE;
    }
  sandbox_file_set_notify (self, n_files, total_bytes);

  return TRUE;
}

/**
 * sandbox_file_set_add:
 * @self: a set
 * @path: where the file is in the workspace
 * @bytes: its content
 *
 * Adds a file with this content, which is not executable. The bytes are copied at once, and the directories in
 * @path come with it.
 *
 * A path that the workspace cannot have, or that does not go with what has been added before, and a content over the
 * limits are told when the set is used: %SANDBOX_ERROR_PATH, %SANDBOX_ERROR_EXISTS or %SANDBOX_ERROR_LIMIT for the first such
 * file, before anything is written. Here nothing is added then.
 *
 * Since: 1.0
 */
void
sandbox_file_set_add (SandboxFileSet *self,
                      const char     *path,
                      GBytes         *bytes)
{
  g_autofree char *resolved = NULL;
  g_autoptr (SandboxFileEntry) entry = NULL;
  g_autoptr (GError) problem = NULL;
  gconstpointer data = NULL;
  gsize         size = 0;

  g_return_if_fail (SANDBOX_IS_FILE_SET (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (path != NULL);
  g_return_if_fail (bytes != NULL);

  resolved = sandbox_path_resolve (path, SANDBOX_WORKSPACE_PATH, &problem);
  if (resolved != NULL)
    {
      data = g_bytes_get_data (bytes, &size);
      entry = sandbox_file_entry_new (resolved, SANDBOX_FILE_KIND_FILE);
      entry->size = size;
      /* Only what has room is copied. */
      if (size <= SANDBOX_FILE_SET_MAX_BYTES - self->total_bytes)
        entry->bytes = g_bytes_new (data, size);
      sandbox_file_set_put_one (self, g_steal_pointer (&entry), &problem);
    }
  if (problem != NULL && self->problem == NULL)
    self->problem = g_steal_pointer (&problem);
}

/* The absolute path of a local file. */
static const char *
sandbox_file_set_peek_path (const char *path,
                            GFile      *file,
                            GError    **error)
{
  const char *host_path = g_file_peek_path (file);

  if (host_path == NULL)
    sandbox_file_set_fail (error, SANDBOX_ERROR_NOT_SUPPORTED, path, "what is not on a disk of this host has to be given as bytes");

  return host_path;
}

static const char *
sandbox_file_set_name_kind (mode_t mode)
{
  switch (mode & S_IFMT)
    {
    case S_IFDIR:
      return "it is a directory";

    case S_IFLNK:
      return "it is a link that leads out of the directory";

    case S_IFIFO:
      return "it is a FIFO";

    case S_IFSOCK:
      return "it is a socket";

    case S_IFCHR:
    case S_IFBLK:
      return "it is a device";

    case S_IFREG:
      return "it is a file";

    default:
      return "it is of an unknown kind";
    }
}

/* A file that is read when the set is used. */
static SandboxFileEntry *
sandbox_file_entry_new_for_file (const char *path,
                                 mode_t      mode,
                                 guint64     size,
                                 char       *source_path)
{
  SandboxFileEntry *self = sandbox_file_entry_new (path, (mode & S_IXUSR) != 0 ? SANDBOX_FILE_KIND_EXECUTABLE
                                                                               : SANDBOX_FILE_KIND_FILE);

  self->size = size;
  self->source_path = source_path;

  return self;
}

/**
 * sandbox_file_set_add_file:
 * @self: a set
 * @path: where the file is in the workspace
 * @file: a regular file of this host
 * @error: return location for an error
 *
 * Adds a file of the host. Links on the way to @file are followed.
 *
 * Now it is only looked at; its content is read when the set is used, as it is then.
 *
 * A path that the workspace cannot have, or that is below a file, is %SANDBOX_ERROR_PATH; one that is in the set
 * already %SANDBOX_ERROR_EXISTS; what is no regular file %SANDBOX_ERROR_INVALID; a file that is not on a disk of this host
 * %SANDBOX_ERROR_NOT_SUPPORTED; one over the limits %SANDBOX_ERROR_LIMIT. Then the set stays as it was.
 *
 * Returns: %TRUE unless an error is set
 *
 * Since: 1.0
 */
gboolean
sandbox_file_set_add_file (SandboxFileSet *self,
                           const char     *path,
                           GFile          *file,
                           GError        **error)
{
  g_autofree char *resolved = NULL;
  const char      *host_path = NULL;
  struct stat      st;

  g_return_val_if_fail (SANDBOX_IS_FILE_SET (self), FALSE);
  g_return_val_if_fail (!self->frozen, FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (G_IS_FILE (file), FALSE);

  resolved = sandbox_path_resolve (path, SANDBOX_WORKSPACE_PATH, error);
  if (resolved == NULL)
    return FALSE;
  host_path = sandbox_file_set_peek_path (resolved, file, error);
  if (host_path == NULL)
    return FALSE;
  if (stat (host_path, &st) < 0)
    {
      g_autofree char *shown = sandbox_file_set_display (host_path);

      sandbox_set_error_from_errno (error, errno, "Cannot add “%s”", shown);
      return FALSE;
    }
  if (!S_ISREG (st.st_mode))
    return sandbox_file_set_fail (error, SANDBOX_ERROR_INVALID, host_path, sandbox_file_set_name_kind (st.st_mode));

  return sandbox_file_set_put_one (self,
                                   sandbox_file_entry_new_for_file (resolved, st.st_mode, (guint64) st.st_size,
                                                                    g_strdup (host_path)),
                                   error);
}

/* A directory on its way into a set. */
typedef struct
{
  SandboxFileSet    *set;
  const char        *path; /* where it will be */
  SandboxFileSource *source;
  guint64            mount;
  GPtrArray         *waiting; /* paths in it of directories that are still to be read, "." first */
  GPtrArray         *inserted;
} SandboxFileSetWalk;

static gboolean
sandbox_file_set_walk_fail (int         errsv,
                            const char *path,
                            GError    **error)
{
  g_autofree char *shown = sandbox_file_set_display (path);

  sandbox_set_error_from_errno (error, errsv, "Cannot add “%s” of the directory", shown);

  return FALSE;
}

static gboolean
sandbox_file_set_stat (int           dirfd,
                       const char   *name,
                       struct statx *st)
{
  return statx (dirfd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH,
                STATX_TYPE | STATX_MODE | STATX_SIZE | STATX_MNT_ID, st) == 0;
}

/* Opens the directory @path below @top name by name, so that no link is followed, and for reading. */
static int
sandbox_file_set_walk_open (int         top,
                            const char *path)
{
  g_auto (SandboxFd) held = -1;
  g_autofree char *names = g_strdup (path);
  char            *name = names;
  int              at = top;

  for (char *slash = strchr (name, '/'); slash != NULL; slash = strchr (name, '/'))
    {
      int next;

      *slash = '\0';
      next = openat (at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      sandbox_clear_fd (&held);
      held = at = next;
      if (next < 0)
        return -1;
      name = slash + 1;
    }

  return openat (at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* The entry of a link that stays inside; NULL with an error for any other. */
static SandboxFileEntry *
sandbox_file_set_walk_read_link (SandboxFileSetWalk *self,
                                 int                 dirfd,
                                 const char         *name,
                                 const char         *directory,
                                 const char         *source_path,
                                 const char         *path,
                                 GError            **error)
{
  SandboxFileEntry *entry = NULL;
  char              target[PATH_MAX];
  ssize_t           length = readlinkat (dirfd, name, target, sizeof target - 1);

  if (length < 0)
    {
      sandbox_file_set_walk_fail (errno, source_path, error);
      return NULL;
    }
  target[length] = '\0';
  if (!sandbox_path_link_stays_inside (directory, target))
    {
      sandbox_file_set_fail (error, SANDBOX_ERROR_INVALID, source_path, sandbox_file_set_name_kind (S_IFLNK));
      return NULL;
    }

  entry = sandbox_file_entry_new (path, SANDBOX_FILE_KIND_LINK);
  entry->bytes = g_bytes_new (target, length);

  return entry;
}

static gboolean
sandbox_file_set_walk_take (SandboxFileSetWalk *self,
                            int                 dirfd,
                            const char         *directory,
                            const char         *name,
                            GError            **error)
{
  g_autofree char  *source_path = strcmp (directory, ".") == 0 ? g_strdup (name) : g_strconcat (directory, "/", name, NULL);
  g_autofree char  *path = strcmp (self->path, ".") == 0 ? g_strdup (source_path)
                                                         : g_strconcat (self->path, "/", source_path, NULL);
  SandboxFileEntry *entry = NULL;
  struct statx      st;

  if (!sandbox_file_set_stat (dirfd, name, &st))
    return errno == ENOENT || sandbox_file_set_walk_fail (errno, source_path, error);
  if (st.stx_mnt_id != self->mount)
    return sandbox_file_set_fail (error, SANDBOX_ERROR_INVALID, source_path, "something else is mounted there");

  if (S_ISREG (st.stx_mode))
    {
      entry = sandbox_file_entry_new_for_file (path, st.stx_mode, st.stx_size, g_strdup (source_path));
      entry->source = g_atomic_rc_box_acquire (self->source);
    }
  else if (S_ISDIR (st.stx_mode))
    {
      entry = sandbox_file_entry_new (path, SANDBOX_FILE_KIND_DIRECTORY);
      g_ptr_array_add (self->waiting, g_steal_pointer (&source_path));
    }
  else if (S_ISLNK (st.stx_mode))
    {
      entry = sandbox_file_set_walk_read_link (self, dirfd, name, directory, source_path, path, error);
      if (entry == NULL)
        return FALSE;
    }
  else
    return sandbox_file_set_fail (error, SANDBOX_ERROR_INVALID, source_path, sandbox_file_set_name_kind (st.stx_mode));

  return sandbox_file_set_put (self->set, entry, self->inserted, error);
}

static gboolean
sandbox_file_set_walk_read (SandboxFileSetWalk *self,
                            const char         *directory,
                            GError            **error)
{
  g_auto (SandboxFd) fd = sandbox_file_set_walk_open (self->source->fd, directory);
  DIR     *entries = fd >= 0 ? fdopendir (fd) : NULL;
  gboolean done = TRUE;

  if (entries == NULL)
    return sandbox_file_set_walk_fail (errno, directory, error);
  g_steal_fd (&fd);

  while (done)
    {
      const struct dirent *entry = NULL;

      errno = 0;
      entry = readdir (entries);
      if (entry == NULL)
        {
          done = errno == 0 || sandbox_file_set_walk_fail (errno, directory, error);
          break;
        }
      if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
        done = sandbox_file_set_walk_take (self, dirfd (entries), directory, entry->d_name, error);
    }
  closedir (entries);

  return done;
}

static gboolean
sandbox_file_set_walk_run (SandboxFileSetWalk *self,
                           GError            **error)
{
  g_ptr_array_add (self->waiting, g_strdup ("."));
  if (!sandbox_file_set_put (self->set, sandbox_file_entry_new (self->path, SANDBOX_FILE_KIND_DIRECTORY), self->inserted, error))
    return FALSE;

  while (self->waiting->len > 0)
    {
      g_autofree char *directory = g_ptr_array_steal_index_fast (self->waiting, self->waiting->len - 1);

      if (!sandbox_file_set_walk_read (self, directory, error))
        return FALSE;
    }

  return TRUE;
}

/**
 * sandbox_file_set_add_directory:
 * @self: a set
 * @path: where the directory is in the workspace; `.` for the workspace itself
 * @directory: a directory of this host
 * @error: return location for an error
 *
 * Adds a directory of the host with all that is in it, empty directories and hidden files too.
 *
 * This call reads names and sizes, and blocks for as long as the disk takes: some milliseconds for a thousand files that
 * have been used lately, up to seconds for as many as a set can have. A program with a user interface makes it in a
 * thread of its own. The content of files is read when the set is used, as it is then, and each directory that has been
 * added keeps one descriptor open until the set is gone. What vanishes meanwhile is an error then.
 *
 * Links on the way to @directory are followed, those in it never. A link that stays in @directory, as it is
 * written, becomes the same link in the workspace; one that is absolute or leads out, a FIFO, a socket, a device and
 * what is mounted inside are %SANDBOX_ERROR_INVALID, with their names. Other errors are those of
 * [method@Sandbox.FileSet.add_file]. After an error the set is as it was.
 *
 * Returns: %TRUE unless an error is set
 *
 * Since: 1.0
 */
gboolean
sandbox_file_set_add_directory (SandboxFileSet *self,
                                const char     *path,
                                GFile          *directory,
                                GError        **error)
{
  g_autofree char *resolved = NULL;
  g_autoptr (SandboxFileSource) source = NULL;
  g_autoptr (GPtrArray) waiting = NULL;
  g_autoptr (GPtrArray) inserted = NULL;
  SandboxFileSetWalk walk = { NULL };
  const char        *host_path = NULL;
  struct statx       st;
  guint              n_files;
  guint64            total_bytes;

  g_return_val_if_fail (SANDBOX_IS_FILE_SET (self), FALSE);
  g_return_val_if_fail (!self->frozen, FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (G_IS_FILE (directory), FALSE);

  resolved = sandbox_path_resolve (path, SANDBOX_WORKSPACE_PATH, error);
  if (resolved == NULL)
    return FALSE;
  host_path = sandbox_file_set_peek_path (resolved, directory, error);
  if (host_path == NULL)
    return FALSE;

  source = g_atomic_rc_box_new0 (SandboxFileSource);
  source->fd = open (host_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (source->fd < 0 || !sandbox_file_set_stat (source->fd, "", &st))
    {
      int              errsv = errno;
      g_autofree char *shown = sandbox_file_set_display (host_path);

      if (errsv == ENOTDIR)
        return sandbox_file_set_fail (error, SANDBOX_ERROR_INVALID, host_path, "it is no directory");
      sandbox_set_error_from_errno (error, errsv, "Cannot add “%s”", shown);
      return FALSE;
    }

  waiting = g_ptr_array_new_with_free_func (g_free);
  inserted = g_ptr_array_new ();
  walk.set = self;
  walk.path = resolved;
  walk.source = source;
  walk.mount = st.stx_mnt_id;
  walk.waiting = waiting;
  walk.inserted = inserted;
  n_files = self->n_files;
  total_bytes = self->total_bytes;

  if (!sandbox_file_set_walk_run (&walk, error))
    {
      sandbox_file_set_take_back (self, inserted);
      return FALSE;
    }
  sandbox_file_set_notify (self, n_files, total_bytes);

  return TRUE;
}

SandboxFileSet *
sandbox_file_set_freeze (SandboxFileSet *self)
{
  SandboxFileSet *copy = NULL;
  GHashTableIter  iter;
  gpointer        entry = NULL;

  g_return_val_if_fail (SANDBOX_IS_FILE_SET (self), NULL);

  if (self->frozen)
    return g_object_ref (self);

  copy = sandbox_file_set_new ();
  g_hash_table_iter_init (&iter, self->entries);
  while (g_hash_table_iter_next (&iter, NULL, &entry))
    g_hash_table_insert (copy->entries, ((SandboxFileEntry *) entry)->path, g_atomic_rc_box_acquire (entry));
  copy->n_files = self->n_files;
  copy->total_bytes = self->total_bytes;
  copy->paths_bytes = self->paths_bytes;
  copy->problem = self->problem != NULL ? g_error_copy (self->problem) : NULL;
  copy->frozen = TRUE;

  return copy;
}

gboolean
sandbox_file_set_validate (SandboxFileSet *self,
                           GError        **error)
{
  g_return_val_if_fail (SANDBOX_IS_FILE_SET (self), FALSE);

  if (self->problem != NULL)
    g_propagate_error (error, g_error_copy (self->problem));

  return self->problem == NULL;
}

/* Of bytes, in every locale. */
static int
sandbox_file_set_compare_cb (gconstpointer a,
                             gconstpointer b)
{
  const SandboxFileEntry *const *first = a;
  const SandboxFileEntry *const *second = b;

  return strcmp ((*first)->path, (*second)->path);
}

GPtrArray *
sandbox_file_set_list (SandboxFileSet *self)
{
  GPtrArray     *list = NULL;
  GHashTableIter iter;
  gpointer       entry = NULL;

  g_return_val_if_fail (SANDBOX_IS_FILE_SET (self), NULL);

  list = g_ptr_array_sized_new (g_hash_table_size (self->entries));
  g_hash_table_iter_init (&iter, self->entries);
  while (g_hash_table_iter_next (&iter, NULL, &entry))
    g_ptr_array_add (list, entry);
  g_ptr_array_sort (list, sandbox_file_set_compare_cb);

  return list;
}
