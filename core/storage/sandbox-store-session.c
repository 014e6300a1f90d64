/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-store-session-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-json-private.h"
#include "sandbox-keys-private.h"
#include "sandbox-lease-private.h"
#include "sandbox-random-private.h"
#include "sandbox-state-private.h"

#define WORKSPACE "workspace"
#define WORKSPACE_PATH SANDBOX_STORE_FILES "/" WORKSPACE
#define UPPER_PATH SANDBOX_STORE_FILES "/" SANDBOX_STORE_UPPER
#define MODE_NAME "workspace-mode"

/* A state with its mode, however long its labels */
#define MAX_STATE_BYTES (1024 * 1024)

/* Up to so many files a copy costs no more than an overlay, and files of its own behave like any others. */
#define MAX_FILES_TO_COPY 20

/* How often a template may turn out to have been replaced since it was verified */
#define MAX_TRIES 16

struct _SandboxStoreSession
{
  SandboxStore        *store;
  SandboxState        *state;
  SandboxWorkspaceMode mode;
  SandboxLease        *lease;     /* NULL once it is deleted */
  int                  directory; /* until the lease tells which one it is; else -1 */
  int                  workspace; /* until somebody takes it; else -1 */
};

static SandboxStoreSession *
sandbox_store_session_alloc (SandboxStore *store)
{
  SandboxStoreSession *self = g_new0 (SandboxStoreSession, 1);

  self->store = sandbox_store_ref (store);
  self->directory = self->workspace = -1;

  return self;
}

/* Forgets what it has, and gives the lease up. */
static void
sandbox_store_session_drop (SandboxStoreSession *self)
{
  g_clear_pointer (&self->lease, sandbox_lease_free);
  sandbox_clear_fd (&self->workspace);
  sandbox_clear_fd (&self->directory);
  g_clear_object (&self->state);
  sandbox_store_unref (self->store);
  g_free (self);
}

static const char *const mode_names[] = {
  [SANDBOX_WORKSPACE_MODE_OVERLAY] = "overlay",
  [SANDBOX_WORKSPACE_MODE_REFLINK] = "reflink",
  [SANDBOX_WORKSPACE_MODE_COPY] = "copy",
};

/* AUTO for what is none. */
static SandboxWorkspaceMode
sandbox_store_session_parse_mode (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (mode_names); i++)
    if (g_strcmp0 (name, mode_names[i]) == 0)
      return (SandboxWorkspaceMode) i;

  return SANDBOX_WORKSPACE_MODE_AUTO;
}

static const char *
sandbox_store_session_get_workspace_name (SandboxStoreSession *self)
{
  return self->mode == SANDBOX_WORKSPACE_MODE_OVERLAY ? UPPER_PATH : WORKSPACE_PATH;
}

static gboolean
sandbox_store_session_is_there (SandboxStoreSession *self,
                                const char          *id)
{
  g_auto (SandboxFd) fd = -1;

  if (self->directory >= 0)
    return sandbox_store_is_there (sandbox_store_get_sessions (self->store), id, self->directory);
  fd = sandbox_contained_open (sandbox_store_get_sessions (self->store), id, O_RDONLY | O_DIRECTORY);

  return fd >= 0 && sandbox_lease_is_in (self->lease, fd);
}

static gboolean
sandbox_store_session_fail_missing (GError **error)
{
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "There is no such session any more");

  return FALSE;
}

/* With the lease: the directory, or -1 with an error. */
static int
sandbox_store_session_open_directory (SandboxStoreSession *self,
                                      GError             **error)
{
  g_auto (SandboxFd) fd = sandbox_contained_open (sandbox_store_get_sessions (self->store), sandbox_state_get_session_id (self->state),
                                                  O_RDONLY | O_DIRECTORY);

  if (fd >= 0 && sandbox_lease_is_in (self->lease, fd))
    return g_steal_fd (&fd);

  if (fd >= 0 || errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == EXDEV)
    sandbox_store_session_fail_missing (error);
  else
    sandbox_set_error_from_errno (error, errno, "Cannot open the directory of the session");

  return -1;
}

static gboolean
sandbox_store_session_fail_corrupt (const char *path,
                                    const char *problem,
                                    GError    **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT, "The session is damaged: “%s” %s", path, problem);

  return FALSE;
}

static gboolean
sandbox_store_session_write_state (SandboxStoreSession *self,
                                   GError             **error)
{
  g_autofree char *state = sandbox_state_to_json (self->state);
  g_autoptr (JsonNode) root = sandbox_json_parse_object (state, MAX_STATE_BYTES, "state", error);
  g_autofree char *text = NULL;
  g_auto (SandboxFd) fd = -1;

  if (root == NULL)
    return FALSE;

  json_object_set_string_member (json_node_get_object (root), MODE_NAME, mode_names[self->mode]);
  text = sandbox_json_print (root, TRUE);
  fd = sandbox_store_make_file (self->directory, SANDBOX_STORE_STATE_FILE, 0600);
  if (fd >= 0 && sandbox_contained_fits (strlen (text)) && sandbox_contained_write_all (fd, text, strlen (text)) &&
      close (g_steal_fd (&fd)) == 0)
    return TRUE;
  sandbox_set_error_from_errno (error, errno, "Cannot write the state of a session");

  return FALSE;
}

/* CORRUPT unless it is one that was written for this id. */
static gboolean
sandbox_store_session_read_state (SandboxStoreSession *self,
                                  const char          *id,
                                  GError             **error)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (GBytes) bytes = sandbox_contained_read (self->directory, SANDBOX_STORE_STATE_FILE, 0, MAX_STATE_BYTES, &failure);
  g_autofree char *text = bytes != NULL ? g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)) : NULL;
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *rest = NULL;
  g_autoptr (SandboxState) state = NULL;
  JsonObject *object = NULL;
  JsonNode   *node = NULL;

  if (failure != NULL && !sandbox_store_is_damage (failure))
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  if (text == NULL || strlen (text) != g_bytes_get_size (bytes))
    return sandbox_store_session_fail_corrupt (SANDBOX_STORE_STATE_FILE, "cannot be read", error);

  root = sandbox_json_parse_object (text, MAX_STATE_BYTES, "state", NULL);
  object = root != NULL ? json_node_get_object (root) : NULL;
  node = object != NULL ? json_object_get_member (object, MODE_NAME) : NULL;
  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return sandbox_store_session_fail_corrupt (SANDBOX_STORE_STATE_FILE, "is not as it was written", error);

  self->mode = sandbox_store_session_parse_mode (json_node_get_string (node));
  if (self->mode != SANDBOX_WORKSPACE_MODE_AUTO)
    {
      json_object_remove_member (object, MODE_NAME);
      rest = sandbox_json_print (root, FALSE);
      state = sandbox_state_new_from_json (rest, NULL);
    }
  if (state == NULL || strcmp (sandbox_state_get_session_id (state), id) != 0 ||
      (self->mode == SANDBOX_WORKSPACE_MODE_OVERLAY && sandbox_state_get_template_key (state) == NULL) ||
      strcmp (sandbox_state_get_backend (state), sandbox_store_get_backend (self->store)) != 0)
    return sandbox_store_session_fail_corrupt (SANDBOX_STORE_STATE_FILE, "is not as it was written", error);
  self->state = g_steal_pointer (&state);

  return TRUE;
}

/* As an object that has no lease; NOT_FOUND when there is none. */
static SandboxStoreSession *
sandbox_store_session_open (SandboxStore *store,
                            const char   *id,
                            GError      **error)
{
  SandboxStoreSession *self = NULL;
  int                  fd = sandbox_contained_open (sandbox_store_get_sessions (store), id, O_RDONLY | O_DIRECTORY);

  if (fd < 0)
    {
      if (errno == ENOENT)
        g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "There is no such session");
      else if (errno == ELOOP || errno == ENOTDIR || errno == EXDEV)
        sandbox_store_session_fail_corrupt (id, "is no directory", error);
      else
        sandbox_set_error_from_errno (error, errno, "Cannot open the session");
      return NULL;
    }

  self = sandbox_store_session_alloc (store);
  self->directory = fd;

  return self;
}

static gboolean
sandbox_store_session_open_workspace (SandboxStoreSession *self,
                                      GError             **error)
{
  const char *name = sandbox_store_session_get_workspace_name (self);
  struct stat st;
  guint       uid, gid;

  self->workspace = sandbox_contained_open (self->directory, name, O_PATH | O_DIRECTORY);
  if (self->workspace < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == EXDEV))
    return sandbox_store_session_fail_corrupt (name, "is missing", error);
  if (self->workspace < 0 || fstat (self->workspace, &st) < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot open the workspace of the session");
      return FALSE;
    }
  sandbox_store_get_owner (self->store, &uid, &gid);

  if (st.st_uid != uid)
    return sandbox_store_session_fail_corrupt (name, "belongs to another user", error);

  /* A command may have shut everybody out, itself too. */
  if ((st.st_mode & S_IRWXU) == S_IRWXU || sandbox_contained_chmod (self->workspace, (st.st_mode & 07777) | S_IRWXU))
    return TRUE;
  sandbox_set_error_from_errno (error, errno, "Cannot open the workspace of the session to its owner");

  return FALSE;
}

/* Whether an overlay is worth it. */
static gboolean
sandbox_store_session_has_many (SandboxStoredTemplate *stored)
{
  guint n_files = 0;

  for (guint i = 0; stored != NULL && i < stored->entries->len && n_files <= MAX_FILES_TO_COPY; i++)
    n_files += g_array_index (stored->entries, SandboxStoredEntry, i).kind != SANDBOX_FILE_KIND_DIRECTORY ? 1 : 0;

  return n_files > MAX_FILES_TO_COPY;
}

static gboolean
sandbox_store_session_choose_mode (SandboxStoreSession   *self,
                                   SandboxStoredTemplate *stored,
                                   SandboxWorkspaceMode   mode,
                                   GError               **error)
{
  g_autoptr (GError) failure = NULL;

  if (mode == SANDBOX_WORKSPACE_MODE_OVERLAY && stored == NULL)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "The workspace mode overlay is for sessions that have a template");
      return FALSE;
    }
  if (mode == SANDBOX_WORKSPACE_MODE_OVERLAY ||
      (mode == SANDBOX_WORKSPACE_MODE_AUTO && sandbox_store_session_has_many (stored)))
    {
      self->mode = SANDBOX_WORKSPACE_MODE_OVERLAY;
      if (sandbox_store_can_overlay (self->store, &failure))
        return TRUE;
      if (mode == SANDBOX_WORKSPACE_MODE_OVERLAY)
        {
          g_propagate_prefixed_error (error, g_steal_pointer (&failure), "The workspace mode overlay cannot be had: ");
          return FALSE;
        }
      g_debug ("The files are copied: %s", failure->message);
    }
  self->mode = mode != SANDBOX_WORKSPACE_MODE_COPY && sandbox_store_can_reflink (self->store, self->directory)
                   ? SANDBOX_WORKSPACE_MODE_REFLINK
                   : SANDBOX_WORKSPACE_MODE_COPY;
  if (mode == SANDBOX_WORKSPACE_MODE_REFLINK && self->mode != mode)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                   "The file system of “%s” cannot share the content of files: choose copy, not reflink",
                   sandbox_store_get_path (self->store));
      return FALSE;
    }

  return TRUE;
}

/* In the directory of the session, which is aside. *@stale tells that it can be tried again. *@hold keeps the template
 * until the session is in its place, where it does so itself. */
static gboolean
sandbox_store_session_fill (SandboxStoreSession  *self,
                            SandboxWorkspaceMode  mode,
                            SandboxContainedCheck check,
                            gpointer              data,
                            int                  *hold,
                            gboolean             *stale,
                            GError              **error)
{
  const char *key = sandbox_state_get_template_key (self->state);
  g_autoptr (SandboxStoredTemplate) stored = key != NULL ? sandbox_store_get_template (self->store, key, check, data, error) : NULL;
  g_auto (SandboxFd) files = -1;
  SandboxStoreCopy copy = { .store = self->store, .key = key, .stored = stored, .check = check, .data = data };
  gboolean         made = FALSE;

  if (key != NULL && stored == NULL)
    return FALSE;
  if (!sandbox_store_session_choose_mode (self, stored, mode, error))
    return FALSE;

  files = sandbox_store_make_directory (self->store, self->directory, SANDBOX_STORE_FILES);
  if (self->mode == SANDBOX_WORKSPACE_MODE_OVERLAY)
    made = files >= 0 && sandbox_store_make_layers (self->store, files);
  else
    made = files >= 0 && (self->workspace = sandbox_store_make_directory (self->store, files, WORKSPACE)) >= 0;
  if (!made)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot make the workspace of a session");
      return FALSE;
    }
  if (self->mode == SANDBOX_WORKSPACE_MODE_OVERLAY)
    {
      if (!sandbox_store_hold_template (self->store, key, stored, hold, stale, error))
        {
          if (*stale)
            sandbox_store_forget_template (self->store, key, stored);
          return FALSE;
        }
      return sandbox_store_session_open_workspace (self, error) && sandbox_store_session_write_state (self, error);
    }

  copy.target = self->workspace;
  copy.reflink = self->mode == SANDBOX_WORKSPACE_MODE_REFLINK;
  copy.strict = mode == SANDBOX_WORKSPACE_MODE_REFLINK;
  if (stored != NULL && !sandbox_store_copy (&copy, error))
    {
      *stale = copy.stale;
      if (copy.stale)
        sandbox_store_forget_template (self->store, key, stored);
      return FALSE;
    }

  sandbox_clear_fd (&self->workspace);

  return sandbox_store_session_open_workspace (self, error) && sandbox_store_session_write_state (self, error);
}

static SandboxStoreSession *
sandbox_store_session_make (SandboxStore         *store,
                            SandboxState         *state,
                            SandboxWorkspaceMode  mode,
                            SandboxContainedCheck check,
                            gpointer              data,
                            gboolean             *stale,
                            GError              **error)
{
  g_autoptr (SandboxStoreWork) work = sandbox_store_work_new (store, error);
  SandboxStoreSession *self = NULL;
  g_autoptr (GError) failure = NULL;
  int hold = -1;

  if (work == NULL)
    return NULL;

  self = sandbox_store_session_alloc (store);
  self->state = g_object_ref (state);
  self->directory = fcntl (sandbox_store_work_get_fd (work), F_DUPFD_CLOEXEC, 0);
  self->lease = sandbox_lease_new (sandbox_store_work_get_fd (work), error);
  if (self->lease != NULL && sandbox_store_session_fill (self, mode, check, data, &hold, stale, error))
    {
      if (sandbox_store_work_publish (g_steal_pointer (&work), sandbox_store_get_sessions (store),
                                      sandbox_state_get_session_id (state), &failure))
        {
          sandbox_fork_close (&hold);
          sandbox_clear_fd (&self->directory);
          return self;
        }
      if (failure != NULL)
        g_propagate_error (error, g_steal_pointer (&failure));
      else
        g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS, "There is a session of this id already");
    }
  sandbox_fork_close (&hold);
  sandbox_store_session_drop (self);

  return NULL;
}

SandboxStoreSession *
sandbox_store_session_new (SandboxStore         *store,
                           const char           *template_key,
                           SandboxWorkspaceMode  mode,
                           GVariant             *labels,
                           SandboxContainedCheck check,
                           gpointer              data,
                           GError              **error)
{
  char id[SANDBOX_KEY_LENGTH + 1];
  g_autoptr (SandboxState) state = NULL;

  g_return_val_if_fail (template_key == NULL || sandbox_key_is_valid (template_key), NULL);

  if (!sandbox_random_fill_digits (id, SANDBOX_KEY_LENGTH / 2))
    {
      sandbox_set_error_from_errno (error, errno, "The kernel gives no random numbers");
      return NULL;
    }
  state = sandbox_state_new (sandbox_store_get_backend (store), id, template_key, labels);

  for (int i = 0; i < MAX_TRIES; i++)
    {
      gboolean stale = FALSE;
      g_autoptr (GError) failure = NULL;
      SandboxStoreSession *self = sandbox_store_session_make (store, state, mode, check, data, &stale, &failure);

      if (self != NULL)
        return self;
      /* It may have been made anew with the same content. If not, verifying finds that out. */
      if (!stale)
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return NULL;
        }
    }
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY, "The template %s is replaced all the time", template_key);

  return NULL;
}

static gboolean
sandbox_store_session_check_state (SandboxStoreSession *self,
                                   SandboxState        *state,
                                   GError             **error)
{
  if (sandbox_state_equal (self->state, state))
    return TRUE;
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STATE_MISMATCH, "The state is not the one of the session of this id");

  return FALSE;
}

/* The lease, of a session that is still in its place then. */
static gboolean
sandbox_store_session_take (SandboxStoreSession  *self,
                            const char           *id,
                            SandboxContainedCheck check,
                            gpointer              data,
                            GError              **error)
{
  self->lease = sandbox_lease_take (self->directory, check, data, error);

  return self->lease != NULL &&
         (sandbox_store_session_is_there (self, id) || sandbox_store_session_fail_missing (error));
}

/* What its files are over, as when it was made: nobody can delete it, but it may be damaged. */
static gboolean
sandbox_store_session_check_template (SandboxStoreSession  *self,
                                      SandboxContainedCheck check,
                                      gpointer              data,
                                      GError              **error)
{
  g_autoptr (SandboxStoredTemplate) stored = NULL;
  g_autoptr (GError) failure = NULL;

  if (self->mode != SANDBOX_WORKSPACE_MODE_OVERLAY)
    return TRUE;
  stored = sandbox_store_get_template (self->store, sandbox_state_get_template_key (self->state), check, data, &failure);
  if (g_error_matches (failure, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT, "The session is damaged: its template %s is missing",
                 sandbox_state_get_template_key (self->state));
  else if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));

  return stored != NULL;
}

SandboxStoreSession *
sandbox_store_session_attach (SandboxStore         *store,
                              SandboxState         *state,
                              SandboxContainedCheck check,
                              gpointer              data,
                              GError              **error)
{
  const char          *id = sandbox_state_get_session_id (state);
  SandboxStoreSession *self = NULL;

  g_return_val_if_fail (sandbox_state_is_complete (state), NULL);

  self = sandbox_state_check_backend (state, sandbox_store_get_backend (store), error) ? sandbox_store_session_open (store, id, error) : NULL;
  if (self == NULL)
    return NULL;

  {
    g_autoptr (GError) failure = NULL;

    if (sandbox_store_session_read_state (self, id, &failure) && sandbox_store_session_check_state (self, state, &failure) &&
        sandbox_store_session_take (self, id, check, data, &failure) && sandbox_store_session_open_workspace (self, &failure) &&
        sandbox_store_session_check_template (self, check, data, &failure))
      {
        sandbox_clear_fd (&self->directory);
        return self;
      }

    /* One that is being deleted falls apart under our hands. */
    if (g_error_matches (failure, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT) && !sandbox_store_session_is_there (self, id))
      sandbox_store_session_fail_missing (error);
    else
      g_propagate_error (error, g_steal_pointer (&failure));
  }
  sandbox_store_session_drop (self);

  return NULL;
}

SandboxState *
sandbox_store_session_get_state (SandboxStoreSession *self)
{
  return self->state;
}

SandboxWorkspaceMode
sandbox_store_session_get_mode (SandboxStoreSession *self)
{
  return self->mode;
}

int
sandbox_store_session_get_workspace (SandboxStoreSession *self)
{
  return self->workspace;
}

int
sandbox_store_session_take_workspace (SandboxStoreSession *self)
{
  return g_steal_fd (&self->workspace);
}

char *
sandbox_store_session_dup_workspace_path (SandboxStoreSession *self)
{
  return g_build_filename (sandbox_store_get_path (self->store), sandbox_store_get_backend (self->store), "sessions",
                           sandbox_state_get_session_id (self->state), sandbox_store_session_get_workspace_name (self), NULL);
}

gboolean
sandbox_store_session_open_layers (SandboxStoreSession *self,
                                   int                 *lower,
                                   int                 *base,
                                   GError             **error)
{
  const char      *key = sandbox_state_get_template_key (self->state);
  g_autofree char *tree = g_build_filename (key, SANDBOX_STORE_TREE, NULL);
  g_auto (SandboxFd) lower_fd = sandbox_contained_open (sandbox_store_get_templates (self->store), tree, O_PATH | O_DIRECTORY);
  g_auto (SandboxFd) directory_fd = -1;
  g_auto (SandboxFd) base_fd = -1;

  if (lower_fd >= 0)
    {
      directory_fd = sandbox_store_session_open_directory (self, error);
      if (directory_fd < 0)
        return FALSE;
      base_fd = sandbox_contained_open (directory_fd, SANDBOX_STORE_FILES, O_PATH | O_DIRECTORY);
    }
  if (base_fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == EXDEV))
    return sandbox_store_session_fail_corrupt (lower_fd < 0 ? tree : SANDBOX_STORE_FILES, "is missing", error);
  if (base_fd < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot open what the files of the session are made of");
      return FALSE;
    }

  *lower = g_steal_fd (&lower_fd);
  *base = g_steal_fd (&base_fd);

  return TRUE;
}

gboolean
sandbox_store_session_open_alive (SandboxStoreSession *self,
                                  int                 *fd,
                                  GError             **error)
{
  g_auto (SandboxFd) directory_fd = -1;

  *fd = -1;
  if (self->lease != NULL)
    {
      if (!sandbox_lease_check (self->lease, error))
        return FALSE;
      directory_fd = sandbox_store_session_open_directory (self, error);
      return directory_fd >= 0 && sandbox_lease_open_alive (self->lease, directory_fd, fd, error);
    }

  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The session has been deleted");

  return FALSE;
}

gboolean
sandbox_store_session_delete (SandboxStoreSession  *self,
                              SandboxContainedCheck check,
                              gpointer              data,
                              GError              **error)
{
  const char *id = sandbox_state_get_session_id (self->state);
  g_auto (SandboxFd) directory_fd = -1;
  gboolean done = FALSE;

  if (self->lease == NULL)
    return TRUE;
  if (!sandbox_lease_check (self->lease, error))
    return FALSE;
  directory_fd = sandbox_store_session_open_directory (self, error);
  if (directory_fd < 0 || !sandbox_lease_wait (self->lease, directory_fd, check, data, error))
    return FALSE;

  done = !sandbox_store_session_is_there (self, id) ||
         sandbox_store_discard (self->store, sandbox_store_get_sessions (self->store), id, check, data, error);
  if (done || !sandbox_store_session_is_there (self, id))
    g_clear_pointer (&self->lease, sandbox_lease_free);

  return done;
}

void
sandbox_store_session_free (SandboxStoreSession *self)
{
  g_autoptr (GError) error = NULL;

  if (self->lease != NULL && sandbox_store_is_private (self->store) && sandbox_lease_check (self->lease, NULL) &&
      !sandbox_store_session_delete (self, NULL, NULL, &error))
    g_debug ("A session stays until its store goes: %s", error->message);
  sandbox_store_session_drop (self);
}

gboolean
sandbox_store_delete_session (SandboxStore         *self,
                              SandboxState         *state,
                              SandboxContainedCheck check,
                              gpointer              data,
                              GError              **error)
{
  const char          *id = sandbox_state_get_session_id (state);
  SandboxStoreSession *session = NULL;
  g_autoptr (GError) failure = NULL;

  g_return_val_if_fail (sandbox_state_is_complete (state), FALSE);

  if (!sandbox_state_check_backend (state, sandbox_store_get_backend (self), error))
    return FALSE;

  session = sandbox_store_session_open (self, id, &failure);
  if (session != NULL)
    {
      if (sandbox_store_session_take (session, id, check, data, &failure))
        {
          if (!sandbox_store_session_read_state (session, id, NULL))
            session->state = g_object_ref (state);
          if (sandbox_store_session_check_state (session, state, &failure))
            sandbox_store_session_delete (session, check, data, &failure);
        }
      else if (g_error_matches (failure, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT) && !sandbox_store_session_is_there (session, id))
        {
          g_clear_error (&failure);
          sandbox_store_session_fail_missing (&failure);
        }
      sandbox_store_session_drop (session);
    }

  if (failure == NULL || g_error_matches (failure, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));

  return FALSE;
}

static int
sandbox_store_compare_sessions (gconstpointer a,
                                gconstpointer b)
{
  return strcmp (sandbox_state_get_session_id (*(SandboxState *const *) a), sandbox_state_get_session_id (*(SandboxState *const *) b));
}

gboolean
sandbox_store_session_read (SandboxStore         *store,
                            const char           *id,
                            SandboxState        **state,
                            SandboxWorkspaceMode *mode,
                            GError              **error)
{
  SandboxStoreSession *session = sandbox_store_session_open (store, id, error);
  gboolean             read = session != NULL && sandbox_store_session_read_state (session, id, error);

  if (read)
    {
      *state = g_object_ref (session->state);
      *mode = session->mode;
    }
  g_clear_pointer (&session, sandbox_store_session_drop);

  return read;
}

static gboolean
sandbox_store_list_session_cb (SandboxStore *self,
                               const char   *id,
                               GPtrArray    *list,
                               GError      **error)
{
  SandboxState        *state = NULL;
  SandboxWorkspaceMode mode;

  if (!sandbox_store_session_read (self, id, &state, &mode, error))
    return FALSE;
  g_ptr_array_add (list, state);

  return TRUE;
}

GPtrArray *
sandbox_store_list_sessions (SandboxStore         *self,
                             SandboxContainedCheck check,
                             gpointer              data,
                             GError              **error)
{
  return sandbox_store_list (self, sandbox_store_get_sessions (self), sandbox_store_list_session_cb, sandbox_store_compare_sessions,
                             check, data, error);
}
