/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-storage-private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-store-session-private.h"
#include "sandbox-sync-private.h"
#include "sandbox-worker-private.h"
#include "sandbox-workspace-private.h"

void
sandbox_storage_run (SandboxPool pool,
                     GFunc       work,
                     gpointer    data)
{
  if (sandbox_sync_is_below ())
    work (data, NULL);
  else
    sandbox_pool_push (pool, work, data);
}

int
sandbox_storage_check (gpointer data)
{
  return g_cancellable_is_cancelled (data) ? ECANCELED : 0;
}

/* The directory above, in the place of *@fd; FALSE with errno 0 at the top. */
static gboolean
sandbox_storage_go_up (int         *fd,
                       struct stat *st)
{
  g_auto (SandboxFd) parent = openat (*fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat above;

  if (parent < 0 || fstat (parent, &above) < 0)
    return FALSE;
  errno = 0;
  if (above.st_dev == st->st_dev && above.st_ino == st->st_ino)
    return FALSE;

  *st = above;
  close (*fd);
  *fd = g_steal_fd (&parent);

  return TRUE;
}

gboolean
sandbox_storage_check_outside (SandboxBackend   *backend,
                               SandboxWorkspace *workspace,
                               GError          **error)
{
  const char *path = sandbox_backend_get_state_directory (backend);
  g_auto (SandboxFd) fd = -1;
  struct stat kept;
  struct stat st;
  gboolean    inside = FALSE;
  int         errsv = 0;

  if (path == NULL || stat (path, &kept) < 0)
    return TRUE; /* nothing is kept yet */

  fd = sandbox_workspace_dup_fd (workspace, error);
  if (fd < 0)
    return FALSE;
  if (fstat (fd, &st) < 0)
    errsv = errno;
  else
    {
      do
        inside = st.st_dev == kept.st_dev && st.st_ino == kept.st_ino;
      while (!inside && sandbox_storage_go_up (&fd, &st));
      errsv = inside ? 0 : errno;
    }

  if (inside)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                 "The workspace “%s” is part of the state directory, which is for all sessions", sandbox_workspace_get_path (workspace));
  else if (errsv != 0)
    sandbox_set_error_from_errno (error, errsv, "Cannot tell where the workspace “%s” is", sandbox_workspace_get_path (workspace));

  return !inside && errsv == 0;
}

/* ---- The store of a backend object */

typedef struct
{
  GMutex        lock;
  SandboxStore *store;
} SandboxStorage;

static void
sandbox_storage_free (gpointer data)
{
  SandboxStorage *self = data;

  g_clear_pointer (&self->store, sandbox_store_unref);
  g_mutex_clear (&self->lock);
  g_free (self);
}

/* It lives as long as the object. */
static SandboxStorage *
sandbox_storage_get (SandboxBackend *backend)
{
  static GMutex   lock;
  const GQuark    quark = g_quark_from_static_string ("sandbox-storage");
  SandboxStorage *self = NULL;

  g_mutex_lock (&lock);
  self = g_object_get_qdata (G_OBJECT (backend), quark);
  if (self == NULL)
    {
      self = g_new0 (SandboxStorage, 1);
      g_mutex_init (&self->lock);
      g_object_set_qdata_full (G_OBJECT (backend), quark, self, sandbox_storage_free);
    }
  g_mutex_unlock (&lock);

  return self;
}

static gboolean
sandbox_storage_try_overlay_cb (int      lower,
                                int      base,
                                gpointer data,
                                GError **error)
{
  SandboxBackend *backend = data;
  g_autoptr (SandboxWorkspace) workspace = NULL;

  /* whose store is there, as it asks */
  workspace = sandbox_workspace_new_for_layers (lower, base, sandbox_store_get_path (sandbox_storage_get (backend)->store), error);

  return workspace != NULL && SANDBOX_BACKEND_GET_CLASS (backend)->try_overlay (backend, workspace, error);
}

SandboxStore *
sandbox_storage_open (SandboxBackend *backend,
                      guint           uid,
                      guint           gid,
                      GCancellable   *cancellable,
                      GError        **error)
{
  SandboxStorage *self = sandbox_storage_get (backend);
  SandboxStore   *store = NULL;

  /* Who comes meanwhile waits, as nothing can be done without it. */
  g_mutex_lock (&self->lock);
  if (self->store == NULL)
    {
      self->store = sandbox_store_new (sandbox_backend_get_state_directory (backend), sandbox_backend_get_name (backend),
                                       uid, gid, sandbox_storage_check, cancellable, error);
      /* Sessions are made for the backend alone, and so while it lives. */
      if (self->store != NULL)
        sandbox_store_set_overlay (self->store, sandbox_storage_try_overlay_cb, backend);
    }
  if (self->store != NULL)
    store = sandbox_store_ref (self->store);
  g_mutex_unlock (&self->lock);

  return store;
}

/* ---- A session */

struct _SandboxKeptSession
{
  SandboxStore        *store;
  SandboxState        *state;
  SandboxWorkspace    *workspace; /* has the session, with its lease */
  SandboxWorkspaceMode mode;
  gboolean             is_new;
};

static gboolean
sandbox_kept_session_check_overlay (SandboxBackend       *backend,
                                    SandboxCreateOptions *options,
                                    GError              **error)
{
  SandboxProfile *profile = sandbox_create_options_get_profile (options);

  /* What changes nothing needs no overlay, which cannot be mounted without being changed. */
  if (profile == NULL || !sandbox_profile_get_workspace_read_only (profile))
    return SANDBOX_BACKEND_GET_CLASS (backend)->check_overlay (backend, options, error);
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "the profile has a workspace that is read-only");

  return FALSE;
}

static SandboxStoreSession *
sandbox_kept_session_make (SandboxStore         *store,
                           SandboxCreateOptions *options,
                           SandboxWorkspaceMode  mode,
                           GCancellable         *cancellable,
                           GError              **error)
{
  return sandbox_store_session_new (store, sandbox_create_options_get_template_key (options), mode,
                                    sandbox_create_options_get_labels (options), sandbox_storage_check, cancellable, error);
}

/* In the mode that is asked for, without one that does not go with the rest. */
static SandboxStoreSession *
sandbox_kept_session_make_as_asked (SandboxBackend       *backend,
                                    SandboxStore         *store,
                                    SandboxCreateOptions *options,
                                    GCancellable         *cancellable,
                                    GError              **error)
{
  const SandboxWorkspaceMode mode = sandbox_create_options_get_workspace_mode (options);
  SandboxStoreSession       *session = NULL;
  g_autoptr (GError) refusal = NULL;
  g_autoptr (GError) failure = NULL;

  if ((mode != SANDBOX_WORKSPACE_MODE_AUTO && mode != SANDBOX_WORKSPACE_MODE_OVERLAY) ||
      sandbox_create_options_get_template_key (options) == NULL ||
      sandbox_kept_session_check_overlay (backend, options, &refusal))
    return sandbox_kept_session_make (store, options, mode, cancellable, error);

  if (mode == SANDBOX_WORKSPACE_MODE_OVERLAY)
    {
      g_propagate_prefixed_error (error, g_steal_pointer (&refusal), "The workspace mode overlay cannot be had: ");
      return NULL;
    }
  session = sandbox_kept_session_make (store, options, SANDBOX_WORKSPACE_MODE_REFLINK, cancellable, &failure);
  if (g_error_matches (failure, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED))
    session = sandbox_kept_session_make (store, options, SANDBOX_WORKSPACE_MODE_COPY, cancellable, error);
  else if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));

  return session;
}

SandboxKeptSession *
sandbox_kept_session_new (SandboxBackend       *backend,
                          SandboxStore         *store,
                          SandboxCreateOptions *options,
                          GCancellable         *cancellable,
                          GError              **error)
{
  g_autoptr (SandboxStoreSession) session = NULL;
  SandboxState       *state = sandbox_create_options_get_state (options);
  SandboxWorkspace   *workspace = NULL;
  SandboxKeptSession *self = NULL;

  if (state != NULL)
    session = sandbox_store_session_attach (store, state, sandbox_storage_check, cancellable, error);
  else
    session = sandbox_kept_session_make_as_asked (backend, store, options, cancellable, error);
  if (session == NULL)
    return NULL;

  workspace = sandbox_workspace_new_for_session (session, sandbox_store_get_path (store), error);
  if (workspace == NULL)
    {
      if (state == NULL && !sandbox_store_session_delete (session, NULL, NULL, NULL))
        g_debug ("A session that nobody has stays");
      return NULL;
    }

  self = g_new0 (SandboxKeptSession, 1);
  self->store = sandbox_store_ref (store);
  self->state = g_object_ref (sandbox_store_session_get_state (session));
  self->mode = sandbox_store_session_get_mode (session);
  self->workspace = workspace;
  self->is_new = state == NULL;
  g_steal_pointer (&session); /* the workspace has it */

  return self;
}

static void
sandbox_kept_session_release_cb (gpointer data,
                                 gpointer user_data)
{
  SandboxKeptSession *self = data;

  sandbox_kept_session_release (self);
  g_clear_object (&self->workspace);
  g_clear_object (&self->state);
  g_clear_pointer (&self->store, sandbox_store_unref);
  g_free (self);
}

void
sandbox_kept_session_free (SandboxKeptSession *self)
{
  /* A lease is given up at once; only what is removed with it takes its time. */
  if (sandbox_store_is_private (self->store))
    sandbox_pool_push (SANDBOX_POOL_REMOVALS, sandbox_kept_session_release_cb, self);
  else
    sandbox_kept_session_release_cb (self, NULL);
}

SandboxWorkspace *
sandbox_kept_session_get_workspace (SandboxKeptSession *self)
{
  return self->workspace;
}

SandboxState *
sandbox_kept_session_get_state (SandboxKeptSession *self)
{
  return self->state;
}

SandboxWorkspaceMode
sandbox_kept_session_get_mode (SandboxKeptSession *self)
{
  return self->mode;
}

void
sandbox_kept_session_release (SandboxKeptSession *self)
{
  sandbox_workspace_give_up (self->workspace);
}

gboolean
sandbox_kept_session_delete (SandboxKeptSession *self,
                             GError            **error)
{
  g_autoptr (SandboxStoreSession) session = sandbox_workspace_steal_session (self->workspace);

  if (session != NULL)
    return sandbox_store_session_delete (session, NULL, NULL, error);

  return sandbox_store_delete_session (self->store, self->state, NULL, NULL, error);
}

void
sandbox_kept_session_undo (SandboxKeptSession *self)
{
  g_autoptr (GError) error = NULL;

  if (!self->is_new)
    sandbox_kept_session_release (self);
  else if (!sandbox_kept_session_delete (self, &error))
    g_debug ("A session that nobody has stays: %s", error->message);
}
