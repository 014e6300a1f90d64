/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-backend.h"
#include "sandbox-create-options.h"
#include "sandbox-state.h"
#include "sandbox-store-private.h"
#include "sandbox-worker-private.h"
#include "sandbox-workspace.h"

G_BEGIN_DECLS

/* What the library keeps on disk for a backend object, and for its sessions. */

/* Does @work (@data), which may block, and takes it: here below a synchronous call, else in the
 * pool. */
void sandbox_storage_run (SandboxPool pool,
                          GFunc       work,
                          gpointer    data);

/* For SandboxContainedCheck; @data is a cancellable or NULL. */
int sandbox_storage_check (gpointer data);

/* INVALID for a directory that is part of what is kept for the backend: who writes there writes to all its sessions. */
gboolean sandbox_storage_check_outside (SandboxBackend   *backend,
                                        SandboxWorkspace *workspace,
                                        GError          **error);

/* The store of a backend object, opened when it is first needed and then kept with the object. May block. */
SandboxStore *sandbox_storage_open (SandboxBackend *backend,
                                    guint           uid,
                                    guint           gid,
                                    GCancellable   *cancellable,
                                    GError        **error);

/* A session with its place in the store, and its lease until that is released. */
typedef struct _SandboxKeptSession SandboxKeptSession;

/* Makes a new one, or takes the one of the state in @options. May block. */
SandboxKeptSession *sandbox_kept_session_new (SandboxBackend       *backend,
                                              SandboxStore         *store,
                                              SandboxCreateOptions *options,
                                              GCancellable         *cancellable,
                                              GError              **error);

/* Gives up what still is held; does not block. */
void sandbox_kept_session_free (SandboxKeptSession *self);

SandboxWorkspace    *sandbox_kept_session_get_workspace (SandboxKeptSession *self);
SandboxState        *sandbox_kept_session_get_state (SandboxKeptSession *self);
SandboxWorkspaceMode sandbox_kept_session_get_mode (SandboxKeptSession *self);

/* Gives the lease up, so that somebody else can take the session. May block. */
void sandbox_kept_session_release (SandboxKeptSession *self);

/* Nothing came of it: one that was made is removed, one that was taken is given up as it was. May block. */
void sandbox_kept_session_undo (SandboxKeptSession *self);

/* Removes the session; takes the lease first if it has been released, and waits for what still is alive in there then.
 * May block. */
gboolean sandbox_kept_session_delete (SandboxKeptSession *self,
                                      GError            **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxKeptSession, sandbox_kept_session_free)

G_END_DECLS
