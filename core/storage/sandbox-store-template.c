/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-store-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-json-private.h"
#include "sandbox-keys-private.h"
#include "sandbox-paths-private.h"
#include "sandbox-store-hasher-private.h"
#include "sandbox-template-private.h"

/* On the stack: memory of this size would come from the kernel, and go back there, with each file. */
#define BUFFER_SIZE (64 * 1024)
#define MAX_NAME_BYTES 255

#define PROGRESS_US (100 * 1000)

/* A template on its way to the disk, or only to its key. */
typedef struct
{
  SandboxStore         *store;
  const char           *name;
  GPtrArray            *entries; /* of the set */
  SandboxStorePlace     source;  /* in the directory of the host that was read last */
  int                   tree;    /* -1 while nothing is written */
  JsonBuilder          *json;    /* with it */
  guint64               total;
  guint64               n_files;
  gint64                told; /* when progress was last told */
  SandboxContainedCheck check;
  SandboxStoreProgress  progress;
  gpointer              data;
} SandboxStoreWriter;

guint
sandbox_store_get_mode (SandboxFileKind kind)
{
  return kind == SANDBOX_FILE_KIND_FILE ? 0644 : 0755;
}

int
sandbox_store_place_open (SandboxStorePlace *self,
                          const char        *path,
                          const char       **name)
{
  const char *slash = strrchr (path, '/');
  gsize       length = slash != NULL ? (gsize) (slash - path) : 0;

  *name = slash != NULL ? slash + 1 : path;
  if (slash == NULL)
    return self->top;
  if (self->path != NULL && strncmp (self->path, path, length) == 0 && self->path[length] == '\0')
    return self->fd;

  sandbox_store_place_clear (self);
  self->path = g_strndup (path, length);
  self->fd = sandbox_contained_open (self->top, self->path, O_PATH | O_DIRECTORY);

  return self->fd;
}

void
sandbox_store_place_clear (SandboxStorePlace *self)
{
  sandbox_clear_fd (&self->fd);
  g_clear_pointer (&self->path, g_free);
}

/* Of what has been read, or of bytes. */
static gboolean
sandbox_store_take (GChecksum    *checksum,
                    gconstpointer data,
                    gsize         size,
                    int           target,
                    guint64      *file_size,
                    guint64      *total)
{
  if (size > SANDBOX_FILE_SET_MAX_BYTES - *total)
    {
      errno = EDQUOT;
      return FALSE;
    }
  *total += size;
  *file_size += size;
  g_checksum_update (checksum, data, (gssize) size);

  return target < 0 || (sandbox_contained_fits (*file_size) && sandbox_contained_write_all (target, data, size));
}

gboolean
sandbox_store_read (int                   source,
                    GBytes               *bytes,
                    int                   target,
                    guint64              *total,
                    SandboxContainedCheck check,
                    gpointer              data,
                    guint8                digest[SANDBOX_DIGEST_BYTES])
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
  char    buffer[BUFFER_SIZE];
  gsize   digest_size = SANDBOX_DIGEST_BYTES;
  guint64 size = 0;

  if (bytes != NULL && !sandbox_store_take (checksum, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), target, &size, total))
    return FALSE;

  while (bytes == NULL)
    {
      ssize_t n = read (source, buffer, BUFFER_SIZE);

      if (n < 0 && errno == EINTR)
        continue;
      if (n == 0)
        break;
      if (n < 0 || !sandbox_store_take (checksum, buffer, (gsize) n, target, &size, total))
        return FALSE;
      errno = check != NULL ? check (data) : 0;
      if (errno != 0)
        return FALSE;
    }
  g_checksum_get_digest (checksum, digest, &digest_size);

  return TRUE;
}

/* Opens the host's file of an entry; what was a regular file may be something else by now. */
static int
sandbox_store_writer_open_source (SandboxStoreWriter     *self,
                                  const SandboxFileEntry *entry,
                                  GError                **error)
{
  const int directory = sandbox_file_entry_get_directory (entry);
  g_auto (SandboxFd) fd = -1;
  const char *name = NULL;
  struct stat st;
  int         at;

  if (directory >= 0)
    {
      if (directory != self->source.top)
        {
          sandbox_store_place_clear (&self->source);
          self->source.top = directory;
        }
      at = sandbox_store_place_open (&self->source, entry->source_path, &name);
      fd = at >= 0 ? sandbox_contained_open_file (at, name, "read", &st, NULL) : -1;
      /* Once more by the whole path, for the message */
      return fd >= 0 ? g_steal_fd (&fd) : sandbox_contained_open_file (directory, entry->source_path, "read", &st, error);
    }

  /* Looked at before it is opened, and again after. */
  errno = 0;
  if (stat (entry->source_path, &st) == 0 && S_ISREG (st.st_mode))
    fd = open (entry->source_path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  else if (errno == 0)
    errno = EINVAL;
  if (fd < 0 || fstat (fd, &st) < 0 || !S_ISREG (st.st_mode))
    {
      int              errsv = errno;
      g_autofree char *shown = sandbox_contained_display (entry->source_path);

      sandbox_set_error_from_errno (error, errsv, "Cannot read “%s” as a regular file", shown);
      return -1;
    }

  return g_steal_fd (&fd);
}

static void
sandbox_store_writer_clear (SandboxStoreWriter *self)
{
  sandbox_store_place_clear (&self->source);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxStoreWriter, sandbox_store_writer_clear)

static void
sandbox_store_writer_tell (SandboxStoreWriter *self,
                           gboolean            at_once)
{
  gint64 now = self->progress != NULL ? g_get_monotonic_time () : 0;

  if (self->progress == NULL || (!at_once && now - self->told < PROGRESS_US))
    return;
  self->told = now;
  self->progress (self->n_files, self->total, self->data);
}

/* Asked for everything that is read, too. */
static int
sandbox_store_writer_check_cb (gpointer data)
{
  SandboxStoreWriter *self = data;

  sandbox_store_writer_tell (self, FALSE);

  return self->check != NULL ? self->check (self->data) : 0;
}

static gboolean
sandbox_store_writer_fail (SandboxStoreWriter *self,
                           const char         *path,
                           int                 errsv,
                           GError            **error)
{
  g_autofree char *shown = sandbox_contained_display (path);

  if (errsv == EDQUOT && self->total > SANDBOX_FILE_SET_MAX_BYTES - BUFFER_SIZE)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "Cannot store “%s”: all files together have more than 2 GiB by now", shown);
  else if (errsv == ECANCELED)
    g_propagate_error (error, sandbox_error_new_cancelled ());
  else if (errsv == ETIMEDOUT)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "Cannot store “%s”: it takes too long", shown);
  else
    sandbox_set_error_from_errno (error, errsv, "Cannot store “%s”", shown);

  return FALSE;
}

/* Makes the entry, which nothing else is in the way of. A descriptor of a file goes to *@fd. By errno.
 *
 * A root host makes it as root and gives it away: working as the owner, in turns with reading as what the host is, takes
 * longer than all else together. Nobody else gets at what is aside. */
static gboolean
sandbox_store_writer_make (SandboxStoreWriter     *self,
                           const SandboxFileEntry *entry,
                           SandboxStorePlace      *place,
                           int                    *fd)
{
  const char      *name = NULL;
  int              at = sandbox_store_place_open (place, entry->path, &name);
  g_autofree char *target = NULL;
  guint            uid, gid;

  if (at < 0)
    return FALSE;

  switch (entry->kind)
    {
    case SANDBOX_FILE_KIND_DIRECTORY:
      if (!sandbox_contained_make_directory_at (at, name))
        return FALSE;
      break;

    case SANDBOX_FILE_KIND_LINK:
      target = g_strndup (g_bytes_get_data (entry->bytes, NULL), g_bytes_get_size (entry->bytes));
      if (symlinkat (target, at, name) < 0)
        return FALSE;
      break;

    case SANDBOX_FILE_KIND_FILE:
    case SANDBOX_FILE_KIND_EXECUTABLE:
      *fd = sandbox_store_make_file (at, name, sandbox_store_get_mode (entry->kind));
      if (*fd < 0)
        return FALSE;
      break;
    }
  if (geteuid () != 0)
    return TRUE;
  sandbox_store_get_owner (self->store, &uid, &gid);

  return *fd >= 0 ? fchown (*fd, uid, gid) == 0 : fchownat (at, name, uid, gid, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
sandbox_store_writer_note (SandboxStoreWriter     *self,
                           const SandboxFileEntry *entry,
                           const guint8           *digest)
{
  static const char *const kinds[] = { "directory", "file", "executable", "link" };
  g_autofree char         *escaped = sandbox_path_escape (entry->path);
  char                     digits[2 * SANDBOX_DIGEST_BYTES + 1] = "";

  json_builder_begin_array (self->json);
  json_builder_add_string_value (self->json, escaped);
  json_builder_add_string_value (self->json, kinds[entry->kind]);
  if (digest != NULL)
    {
      for (gsize i = 0; i < SANDBOX_DIGEST_BYTES; i++)
        g_snprintf (digits + 2 * i, 3, "%02x", digest[i]);
      json_builder_add_string_value (self->json, digits);
    }
  json_builder_end_array (self->json);
}

/* Copies a file of the host, or only reads it. By errno; EDQUOT when all together is too much. */
static gboolean
sandbox_store_writer_copy (SandboxStoreWriter *self,
                           SandboxStoreHasher *hasher,
                           guint               index,
                           int                 source,
                           int                 target)
{
  guint64 size = 0;

  for (;;)
    {
      char   *buffer = sandbox_store_hasher_get_buffer (hasher);
      ssize_t n = read (source, buffer, SANDBOX_STORE_HASHER_BUFFER_SIZE);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return FALSE;
      if ((guint64) n > SANDBOX_FILE_SET_MAX_BYTES - self->total)
        {
          errno = EDQUOT;
          return FALSE;
        }
      self->total += (guint64) n;
      size += (guint64) n;
      sandbox_store_hasher_put (hasher, index, (gsize) n, n == 0);
      if (n == 0)
        return TRUE;
      if (target >= 0 && (!sandbox_contained_fits (size) || !sandbox_contained_write_all (target, buffer, (gsize) n)))
        return FALSE;
      errno = sandbox_store_writer_check_cb (self);
      if (errno != 0)
        return FALSE;
    }
}

static gboolean
sandbox_store_writer_put (SandboxStoreWriter *self,
                          SandboxStoreHasher *hasher,
                          guint               index,
                          SandboxStorePlace  *place,
                          GError            **error)
{
  const SandboxFileEntry *entry = self->entries->pdata[index];
  g_auto (SandboxFd) source = -1;
  g_auto (SandboxFd) target = -1;
  gboolean done = TRUE;
  int      errsv = sandbox_store_writer_check_cb (self);

  if (errsv != 0)
    return sandbox_store_writer_fail (self, entry->path, errsv, error);

  if (entry->kind != SANDBOX_FILE_KIND_DIRECTORY && entry->bytes == NULL)
    {
      source = sandbox_store_writer_open_source (self, entry, error);
      if (source < 0)
        return FALSE;
    }
  if (self->tree >= 0 && !sandbox_store_writer_make (self, entry, place, &target))
    return sandbox_store_writer_fail (self, entry->path, errno, error);
  if (source >= 0)
    done = sandbox_store_writer_copy (self, hasher, index, source, target);
  else if (entry->bytes != NULL)
    done = sandbox_store_read (-1, entry->bytes, target, &self->total, NULL, NULL, sandbox_store_hasher_get_digest (hasher, index));
  if (!done || (target >= 0 && close (g_steal_fd (&target)) < 0 && errno != EINTR))
    return sandbox_store_writer_fail (self, entry->path, errno, error);
  self->n_files += entry->kind != SANDBOX_FILE_KIND_DIRECTORY ? 1 : 0;

  return TRUE;
}

/* Goes over all entries; the key. */
static char *
sandbox_store_writer_run (SandboxStoreWriter *self,
                          GError            **error)
{
  g_autoptr (SandboxTemplateKey) key = sandbox_template_key_new (sandbox_store_get_backend (self->store), self->name);
  g_autoptr (SandboxStoreHasher) hasher = sandbox_store_hasher_new (self->entries->len);
  g_auto (SandboxStorePlace) place = { self->tree, NULL, -1 };

  self->total = self->n_files = 0;
  for (guint i = 0; i < self->entries->len; i++)
    {
      if (!sandbox_store_writer_put (self, hasher, i, &place, error))
        return NULL;
    }

  sandbox_store_hasher_finish (hasher);
  for (guint i = 0; i < self->entries->len; i++)
    {
      const SandboxFileEntry *entry = self->entries->pdata[i];
      const guint8           *digest = entry->kind != SANDBOX_FILE_KIND_DIRECTORY ? sandbox_store_hasher_get_digest (hasher, i) : NULL;

      sandbox_template_key_add (key, entry->path, entry->kind, digest);
      if (self->json != NULL)
        sandbox_store_writer_note (self, entry, digest);
    }

  return sandbox_template_key_end (g_steal_pointer (&key));
}

int
sandbox_store_make_directory (SandboxStore *self,
                              int           parent,
                              const char   *name)
{
  g_auto (SandboxFd) fd = -1;
  guint uid, gid;

  sandbox_store_get_owner (self, &uid, &gid);
  if (mkdirat (parent, name, 0755) == 0)
    fd = sandbox_store_open_made (parent, name, 0755);
  if (fd < 0 || (geteuid () == 0 && fchown (fd, uid, gid) < 0))
    return -1;

  return g_steal_fd (&fd);
}

int
sandbox_store_make_file (int         directory,
                         const char *name,
                         guint       mode)
{
  g_auto (SandboxFd) fd = openat (directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

  /* Whatever the umask of the host */
  if (fd < 0 || fchmod (fd, mode) < 0)
    return -1;

  return g_steal_fd (&fd);
}

static gboolean
sandbox_store_write_json (int          directory,
                          JsonBuilder *builder,
                          GError     **error)
{
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree char *text = sandbox_json_print (root, FALSE);
  g_auto (SandboxFd) fd = sandbox_store_make_file (directory, SANDBOX_STORE_TEMPLATE_FILE, 0600);

  if (fd >= 0 && sandbox_contained_fits (strlen (text)) && sandbox_contained_write_all (fd, text, strlen (text)) &&
      close (g_steal_fd (&fd)) == 0)
    return TRUE;
  sandbox_set_error_from_errno (error, errno, "Cannot write the list of a template");

  return FALSE;
}

/* As far as its entries */
static JsonBuilder *
sandbox_store_begin_list (const char *name)
{
  JsonBuilder *builder = json_builder_new ();

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "version");
  json_builder_add_int_value (builder, 1);
  json_builder_set_member_name (builder, "name");
  json_builder_add_string_value (builder, name);
  json_builder_set_member_name (builder, "entries");
  json_builder_begin_array (builder);

  return builder;
}

/* The whole template aside; its key. */
static char *
sandbox_store_writer_write (SandboxStoreWriter *self,
                            int                 directory,
                            GError            **error)
{
  g_auto (SandboxFd) tree = sandbox_store_make_directory (self->store, directory, SANDBOX_STORE_TREE);
  g_autoptr (JsonBuilder) builder = NULL;
  g_autofree char *key = NULL;

  if (tree < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot make the tree of a template");
      return NULL;
    }

  builder = sandbox_store_begin_list (self->name);
  self->tree = tree;
  self->json = builder;
  key = sandbox_store_writer_run (self, error);
  self->tree = -1;
  self->json = NULL;
  json_builder_end_array (builder);
  json_builder_end_object (builder);

  if (key == NULL || !sandbox_store_write_json (directory, builder, error))
    return NULL;

  return g_steal_pointer (&key);
}

/* Whether a template of this name may be stored: only then one can be the same, as the key has the name too. Its list
 * begins like one of the same name without entries. */
static gboolean
sandbox_store_has_name (SandboxStore *self,
                        const char   *name)
{
  g_autoptr (JsonBuilder) builder = sandbox_store_begin_list (name);
  g_autoptr (JsonNode) root = NULL;
  g_autofree char     *begin = NULL;
  g_autofree char     *found = NULL;
  gsize                length;
  DIR                 *entries = NULL;
  gboolean             has = FALSE;
  const struct dirent *entry = NULL;
  g_auto (SandboxFd) fd = openat (sandbox_store_get_templates (self), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  json_builder_end_array (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  begin = sandbox_json_print (root, FALSE);
  length = strlen (begin) - strlen ("]}");
  found = g_malloc (length);

  /* What cannot be told may be. */
  entries = fd >= 0 ? fdopendir (fd) : NULL;
  if (entries == NULL)
    return TRUE;
  g_steal_fd (&fd);
  while (!has && (entry = readdir (entries)) != NULL)
    {
      g_autofree char *path = g_build_filename (entry->d_name, SANDBOX_STORE_TEMPLATE_FILE, NULL);
      g_auto (SandboxFd) list = sandbox_contained_open (dirfd (entries), path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

      has = list >= 0 && pread (list, found, length, 0) == (ssize_t) length && memcmp (found, begin, length) == 0;
    }
  closedir (entries);

  return has;
}

static gboolean
sandbox_store_has_template (SandboxStore *self,
                            const char   *key)
{
  g_autofree char *path = g_build_filename (key, SANDBOX_STORE_TEMPLATE_FILE, NULL);
  struct stat      st;

  return fstatat (sandbox_store_get_templates (self), path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static gboolean
sandbox_store_check_name (const char *name,
                          GError    **error)
{
  if (name[0] != '\0' && strlen (name) <= MAX_NAME_BYTES && g_utf8_validate (name, -1, NULL))
    return TRUE;
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The name of a template has 1 to %d bytes of UTF-8", MAX_NAME_BYTES);

  return FALSE;
}

SandboxTemplate *
sandbox_store_prewarm (SandboxStore         *self,
                       const char           *name,
                       SandboxFileSet       *files,
                       SandboxContainedCheck check,
                       SandboxStoreProgress  progress,
                       gpointer              data,
                       GError              **error)
{
  g_autoptr (GPtrArray) entries = NULL;
  g_autoptr (SandboxStoreWork) work = NULL;
  g_autofree char *key = NULL;
  g_autoptr (GError) failure = NULL;
  g_auto (SandboxStoreWriter) writer = { .source = { -1, NULL, -1 }, .tree = -1 };

  if (!sandbox_store_check_name (name, error) || !sandbox_file_set_validate (files, error))
    return NULL;

  entries = sandbox_file_set_list (files);
  writer.store = self;
  writer.name = name;
  writer.entries = entries;
  writer.told = g_get_monotonic_time ();
  writer.check = check;
  writer.progress = progress;
  writer.data = data;

  /* Most of the time it is there already, and reading is far cheaper than writing and removing. */
  if (sandbox_store_has_name (self, name))
    {
      key = sandbox_store_writer_run (&writer, error);
      if (key == NULL)
        return NULL;
      if (sandbox_store_has_template (self, key))
        {
          sandbox_store_writer_tell (&writer, TRUE);
          return sandbox_template_new (key, name, TRUE);
        }
      g_clear_pointer (&key, g_free);
    }

  work = sandbox_store_work_new (self, error);
  if (work == NULL)
    return NULL;

  /* Files may have changed since: what counts is what has been written. */
  key = sandbox_store_writer_write (&writer, sandbox_store_work_get_fd (work), error);
  if (key == NULL)
    return NULL;
  sandbox_store_writer_tell (&writer, TRUE);
  if (sandbox_store_work_publish (g_steal_pointer (&work), sandbox_store_get_templates (self), key, &failure))
    return sandbox_template_new (key, name, FALSE);
  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return NULL;
    }

  /* Somebody else was faster with the same. */
  return sandbox_template_new (key, name, TRUE);
}

gboolean
sandbox_store_delete_template (SandboxStore         *self,
                               const char           *key,
                               SandboxContainedCheck check,
                               gpointer              data,
                               GError              **error)
{
  int      lock = -1;
  gboolean done = FALSE;

  g_return_val_if_fail (sandbox_key_is_valid (key), FALSE);

  /* It goes with the lock, so that nobody makes a session from it meanwhile. */
  done = sandbox_store_lock_unused (self, key, &lock, error) &&
         sandbox_store_discard (self, sandbox_store_get_templates (self), key, check, data, error);
  sandbox_fork_close (&lock);

  return done;
}
