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
#include "sandbox-json-private.h"
#include "sandbox-keys-private.h"
#include "sandbox-paths-private.h"
#include "sandbox-template-private.h"
#include "sandbox-workspace-path.h"

/* A list of as many entries as there can be, with paths as long as they can be together, all escaped */
#define MAX_LIST_BYTES (256 * 1024 * 1024)

typedef struct
{
  const char            *key;
  SandboxStoredTemplate *stored;
  GByteArray            *digests; /* of all entries, one after the other */
  GHashTable            *paths;   /* of the entries */
  int                    tree;
  guint                  uid;
  guint64                total;

  SandboxContainedCheck check;
  gpointer              data;
} SandboxVerification;

static void
sandbox_stored_entry_clear (gpointer data)
{
  SandboxStoredEntry *self = data;

  g_free (self->path);
  g_free (self->target);
}

static SandboxStoredTemplate *
sandbox_stored_template_new (void)
{
  SandboxStoredTemplate *self = g_new0 (SandboxStoredTemplate, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->entries = g_array_new (FALSE, FALSE, sizeof (SandboxStoredEntry));
  g_array_set_clear_func (self->entries, sandbox_stored_entry_clear);

  return self;
}

SandboxStoredTemplate *
sandbox_stored_template_ref (SandboxStoredTemplate *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_stored_template_unref (SandboxStoredTemplate *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_array_unref (self->entries);
  g_free (self->name);
  g_free (self);
}

gboolean
sandbox_stored_entry_is_same (const SandboxStoredEntry *self,
                              const struct stat        *st)
{
  return S_ISREG (st->st_mode) && st->st_ino == self->inode && (guint64) st->st_size == self->size &&
         st->st_ctim.tv_sec == self->changed.tv_sec && st->st_ctim.tv_nsec == self->changed.tv_nsec;
}

static void
sandbox_verification_clear (SandboxVerification *self)
{
  g_clear_pointer (&self->paths, g_hash_table_unref);
  g_clear_pointer (&self->digests, g_byte_array_unref);
  g_clear_pointer (&self->stored, sandbox_stored_template_unref);
  sandbox_clear_fd (&self->tree);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxVerification, sandbox_verification_clear)

static gboolean
sandbox_verification_fail (SandboxVerification *self,
                           const char          *path,
                           const char          *problem,
                           GError             **error)
{
  g_autofree char *shown = sandbox_contained_display (path);

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT, "The template %s has been changed: “%s” %s", self->key, shown, problem);

  return FALSE;
}

static gboolean
sandbox_verification_fail_list (SandboxVerification *self,
                                GError             **error)
{
  return sandbox_verification_fail (self, SANDBOX_STORE_TEMPLATE_FILE, "is not as it was written", error);
}

static gboolean
sandbox_verification_fail_errno (SandboxVerification *self,
                                 const char          *path,
                                 int                  errsv,
                                 GError             **error)
{
  g_autofree char *shown = sandbox_contained_display (path);

  if (errsv == ENOENT)
    return sandbox_verification_fail (self, path, "is missing", error);
  if (errsv == ELOOP || errsv == ENOTDIR || errsv == EXDEV)
    return sandbox_verification_fail (self, path, "is something else", error);
  if (errsv == ECANCELED)
    g_propagate_error (error, sandbox_error_new_cancelled ());
  else if (errsv == ETIMEDOUT)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "Reading the template %s takes too long", self->key);
  else
    sandbox_set_error_from_errno (error, errsv, "Cannot read “%s” of the template %s", shown, self->key);

  return FALSE;
}

/* Only the bytes are read here; what they mean is told by the key. */
static gboolean
sandbox_verification_read_digest (const char *digits,
                                  guint8      digest[SANDBOX_DIGEST_BYTES])
{
  if (!sandbox_key_is_valid (digits))
    return FALSE;
  for (gsize i = 0; i < SANDBOX_DIGEST_BYTES; i++)
    digest[i] = (guint8) (g_ascii_xdigit_value (digits[2 * i]) << 4 | g_ascii_xdigit_value (digits[2 * i + 1]));

  return TRUE;
}

/* NULL unless there is a string at @index. */
static const char *
sandbox_verification_peek_string (JsonArray *array,
                                  guint      index)
{
  JsonNode *node = index < json_array_get_length (array) ? json_array_get_element (array, index) : NULL;

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return NULL;

  return json_node_get_string (node);
}

static gboolean
sandbox_verification_read_entry (SandboxVerification *self,
                                 JsonNode            *node)
{
  static const char *const kinds[] = { "directory", "file", "executable", "link", NULL };
  SandboxStoredEntry       entry = { NULL };
  guint8                   digest[SANDBOX_DIGEST_BYTES] = { 0 };
  JsonArray               *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  const char              *path = array != NULL ? sandbox_verification_peek_string (array, 0) : NULL;
  const char              *kind = array != NULL ? sandbox_verification_peek_string (array, 1) : NULL;

  if (path == NULL || kind == NULL || !g_strv_contains (kinds, kind))
    return FALSE;
  while (strcmp (kinds[entry.kind], kind) != 0)
    entry.kind++;
  if (entry.kind == SANDBOX_FILE_KIND_DIRECTORY ? json_array_get_length (array) != 2
                                                : json_array_get_length (array) != 3 ||
                                                      !sandbox_verification_read_digest (sandbox_verification_peek_string (array, 2), digest))
    return FALSE;

  entry.path = sandbox_path_resolve (path, SANDBOX_WORKSPACE_PATH, NULL);
  if (entry.path == NULL)
    return FALSE;
  g_array_append_val (self->stored->entries, entry);
  g_byte_array_append (self->digests, digest, sizeof digest);

  return TRUE;
}

/* Whether the list is the one of this key. */
static gboolean
sandbox_verification_check_key (SandboxVerification *self,
                                const char          *backend)
{
  SandboxTemplateKey *key = sandbox_template_key_new (backend, self->stored->name);
  g_autofree char    *found = NULL;

  for (guint i = 0; i < self->stored->entries->len; i++)
    {
      const SandboxStoredEntry *entry = &g_array_index (self->stored->entries, SandboxStoredEntry, i);

      sandbox_template_key_add (key, entry->path, entry->kind,
                                entry->kind == SANDBOX_FILE_KIND_DIRECTORY ? NULL : self->digests->data + (gsize) i * SANDBOX_DIGEST_BYTES);
      g_hash_table_add (self->paths, entry->path);
    }
  found = sandbox_template_key_end (key);

  return strcmp (found, self->key) == 0;
}

static gboolean
sandbox_verification_read_list (SandboxVerification *self,
                                int                  directory,
                                const char          *backend,
                                GError             **error)
{
  g_auto (SandboxFd) fd = -1;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) failure = NULL;
  g_autofree char *text = NULL;
  g_autoptr (JsonNode) root = NULL;
  JsonObject *object = NULL;
  JsonNode   *name = NULL;
  JsonNode   *entries = NULL;

  bytes = sandbox_contained_read (directory, SANDBOX_STORE_TEMPLATE_FILE, 0, MAX_LIST_BYTES, &failure);
  if (bytes == NULL && !sandbox_store_is_damage (failure))
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  if (bytes == NULL)
    return sandbox_verification_fail (self, SANDBOX_STORE_TEMPLATE_FILE, "cannot be read", error);
  text = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  root = sandbox_json_parse_object (text != NULL ? text : "", MAX_LIST_BYTES, "list", NULL);
  object = root != NULL ? json_node_get_object (root) : NULL;
  name = object != NULL ? json_object_get_member (object, "name") : NULL;
  entries = object != NULL ? json_object_get_member (object, "entries") : NULL;
  if (name == NULL || !JSON_NODE_HOLDS_VALUE (name) || json_node_get_value_type (name) != G_TYPE_STRING ||
      entries == NULL || !JSON_NODE_HOLDS_ARRAY (entries))
    return sandbox_verification_fail_list (self, error);

  self->stored->name = g_strdup (json_node_get_string (name));
  for (guint i = 0; i < json_array_get_length (json_node_get_array (entries)); i++)
    {
      if (!sandbox_verification_read_entry (self, json_array_get_element (json_node_get_array (entries), i)))
        return sandbox_verification_fail_list (self, error);
    }

  return sandbox_verification_check_key (self, backend) || sandbox_verification_fail_list (self, error);
}

/* That there is nothing in the directory @path but what the list has. */
static gboolean
sandbox_verification_check_directory (SandboxVerification *self,
                                      const char          *path,
                                      GError             **error)
{
  g_auto (SandboxFd) fd = sandbox_contained_open (self->tree, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  DIR     *entries = fd >= 0 ? fdopendir (fd) : NULL;
  gboolean good = TRUE;

  if (entries == NULL)
    return sandbox_verification_fail_errno (self, path, errno, error);
  g_steal_fd (&fd);

  while (good)
    {
      const struct dirent *entry = NULL;
      g_autofree char     *child = NULL;

      errno = 0;
      entry = readdir (entries);
      if (entry == NULL)
        {
          good = errno == 0 || sandbox_verification_fail_errno (self, path, errno, error);
          break;
        }
      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
        continue;
      child = strcmp (path, ".") == 0 ? g_strdup (entry->d_name) : g_strconcat (path, "/", entry->d_name, NULL);
      good = g_hash_table_contains (self->paths, child) || sandbox_verification_fail (self, child, "was added", error);
    }
  closedir (entries);

  return good;
}

/* Reads all of it, and notes what tells whether it is touched later. */
static gboolean
sandbox_verification_check_content (SandboxVerification *self,
                                    SandboxStoredEntry  *entry,
                                    const guint8        *digest,
                                    int                  at,
                                    const char          *name,
                                    GError             **error)
{
  g_auto (SandboxFd) fd = -1;
  g_autoptr (GBytes) target = NULL;
  guint8      found[SANDBOX_DIGEST_BYTES];
  struct stat st;

  if (entry->kind == SANDBOX_FILE_KIND_LINK)
    {
      char    text[PATH_MAX];
      ssize_t length = readlinkat (at, name, text, sizeof text);

      if (length < 0)
        return sandbox_verification_fail_errno (self, entry->path, errno, error);
      target = g_bytes_new (text, (gsize) length);
      entry->target = g_strndup (text, (gsize) length);
    }
  else
    {
      fd = sandbox_contained_open (at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
      if (fd < 0 || fstat (fd, &st) < 0)
        return sandbox_verification_fail_errno (self, entry->path, errno, error);
      entry->inode = st.st_ino;
      entry->size = (guint64) st.st_size;
      entry->changed = st.st_ctim;
    }
  if (!sandbox_store_read (fd, target, -1, &self->total, self->check, self->data, found))
    return sandbox_verification_fail_errno (self, entry->path, errno, error);

  return memcmp (found, digest, sizeof found) == 0 ||
         sandbox_verification_fail (self, entry->path, "has another content", error);
}

static gboolean
sandbox_verification_check_entry (SandboxVerification *self,
                                  SandboxStoredEntry  *entry,
                                  const guint8        *digest,
                                  SandboxStorePlace   *place,
                                  GError             **error)
{
  static const mode_t types[] = {
    [SANDBOX_FILE_KIND_DIRECTORY] = S_IFDIR,
    [SANDBOX_FILE_KIND_FILE] = S_IFREG,
    [SANDBOX_FILE_KIND_EXECUTABLE] = S_IFREG,
    [SANDBOX_FILE_KIND_LINK] = S_IFLNK,
  };
  const char *name = NULL;
  int         at = sandbox_store_place_open (place, entry->path, &name);
  int         errsv = self->check != NULL ? self->check (self->data) : 0;
  struct stat st;

  if (at < 0 || fstatat (at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return sandbox_verification_fail_errno (self, entry->path, errno, error);
  if (errsv != 0)
    return sandbox_verification_fail_errno (self, entry->path, errsv, error);
  if ((st.st_mode & S_IFMT) != types[entry->kind])
    return sandbox_verification_fail (self, entry->path, "is something else", error);
  if (st.st_uid != self->uid)
    return sandbox_verification_fail (self, entry->path, "belongs to another user", error);
  if (entry->kind != SANDBOX_FILE_KIND_LINK && (st.st_mode & 07777) != sandbox_store_get_mode (entry->kind))
    return sandbox_verification_fail (self, entry->path, "has another mode", error);
  /* Whoever has the other name could change it afterwards. */
  if (entry->kind != SANDBOX_FILE_KIND_DIRECTORY && st.st_nlink != 1)
    return sandbox_verification_fail (self, entry->path, "has another name elsewhere", error);

  if (entry->kind == SANDBOX_FILE_KIND_DIRECTORY)
    return sandbox_verification_check_directory (self, entry->path, error);

  return sandbox_verification_check_content (self, entry, digest, at, name, error);
}

static gboolean
sandbox_verification_check_tree (SandboxVerification *self,
                                 int                  directory,
                                 GError             **error)
{
  g_auto (SandboxStorePlace) place = { -1, NULL, -1 };
  struct stat st;

  self->tree = sandbox_contained_open (directory, SANDBOX_STORE_TREE, O_RDONLY | O_DIRECTORY);
  if (self->tree < 0 || fstat (self->tree, &st) < 0)
    return sandbox_verification_fail_errno (self, SANDBOX_STORE_TREE, errno, error);
  if (st.st_uid != self->uid || (st.st_mode & 07777) != sandbox_store_get_mode (SANDBOX_FILE_KIND_DIRECTORY))
    return sandbox_verification_fail (self, SANDBOX_STORE_TREE, "has another mode or owner", error);
  if (!sandbox_verification_check_directory (self, ".", error))
    return FALSE;

  place.top = self->tree;
  for (guint i = 0; i < self->stored->entries->len; i++)
    {
      if (!sandbox_verification_check_entry (self, &g_array_index (self->stored->entries, SandboxStoredEntry, i),
                                             self->digests->data + (gsize) i * SANDBOX_DIGEST_BYTES, &place, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
sandbox_verification_fail_missing (const char *key,
                                   GError    **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "There is no template %s", key);

  return FALSE;
}

SandboxStoredTemplate *
sandbox_stored_template_new_verified (SandboxStore         *store,
                                      const char           *key,
                                      SandboxContainedCheck check,
                                      gpointer              data,
                                      GError              **error)
{
  g_auto (SandboxVerification) verification = { .tree = -1 };
  g_auto (SandboxFd) directory = -1;
  g_autoptr (GError) failure = NULL;
  struct stat st;
  guint       gid;

  g_return_val_if_fail (sandbox_key_is_valid (key), NULL);

  directory = sandbox_contained_open (sandbox_store_get_templates (store), key, O_RDONLY | O_DIRECTORY);
  if (directory < 0)
    {
      if (errno == ENOENT)
        sandbox_verification_fail_missing (key, error);
      else
        sandbox_set_error_from_errno (error, errno, "Cannot open the template %s", key);
      return NULL;
    }

  verification.key = key;
  verification.stored = sandbox_stored_template_new ();
  verification.digests = g_byte_array_new ();
  verification.paths = g_hash_table_new (g_str_hash, g_str_equal);
  verification.check = check;
  verification.data = data;
  sandbox_store_get_owner (store, &verification.uid, &gid);

  if (fstatat (directory, SANDBOX_STORE_TEMPLATE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0)
    {
      verification.stored->list.inode = st.st_ino;
      verification.stored->list.size = (guint64) st.st_size;
      verification.stored->list.changed = st.st_ctim;
    }
  if (sandbox_verification_read_list (&verification, directory, sandbox_store_get_backend (store), &failure) &&
      sandbox_verification_check_tree (&verification, directory, &failure))
    return g_steal_pointer (&verification.stored);

  /* One that is being deleted falls apart under our hands. */
  if (g_error_matches (failure, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT) &&
      !sandbox_store_is_there (sandbox_store_get_templates (store), key, directory))
    sandbox_verification_fail_missing (key, error);
  else
    g_propagate_error (error, g_steal_pointer (&failure));

  return NULL;
}

SandboxTemplate *
sandbox_store_verify (SandboxStore         *self,
                      const char           *key,
                      SandboxContainedCheck check,
                      gpointer              data,
                      GError              **error)
{
  g_autoptr (SandboxStoredTemplate) stored = sandbox_stored_template_new_verified (self, key, check, data, error);

  return stored != NULL ? sandbox_template_new (key, stored->name, TRUE) : NULL;
}
