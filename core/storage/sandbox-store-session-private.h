/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-state.h"
#include "sandbox-store-private.h"
#include "sandbox-workspace-mode.h"

G_BEGIN_DECLS

/* A session in a store, with its lease. What it is made of is
 *
 *   lease, alive     who has it; see sandbox-lease-private.h
 *   state.json       the state, and how it came by its files
 *   files/workspace  which belongs to the owner of what is stored, as files/ does; or, for an overlay,
 *   files/upper      what it has changed, and
 *   files/work       what the kernel needs for it
 *
 * All calls may block, and @check is asked meanwhile. */
typedef struct _SandboxStoreSession SandboxStoreSession;

#define SANDBOX_STORE_STATE_FILE "state.json"

/* Makes one, with the files of a template unless @template_key is NULL. It is there whole or not at all: nothing of it
 * stays after a failure. The template is verified when it is used for the first time, and again when it was touched
 * since; for an overlay, when it was made anew since: NOT_FOUND, CORRUPT. NOT_SUPPORTED for a mode that cannot be had. */
SandboxStoreSession *sandbox_store_session_new (SandboxStore         *store,
                                                const char           *template_key,
                                                SandboxWorkspaceMode  mode,
                                                GVariant             *labels,
                                                SandboxContainedCheck check,
                                                gpointer              data,
                                                GError              **error);

/* Takes the lease of one that is there. NOT_FOUND; STATE_MISMATCH when the state is of another backend, or not the one
 * that is stored; BUSY when there is an owner, or a sandbox after 5 seconds; CORRUPT. Makes and changes nothing then. */
SandboxStoreSession *sandbox_store_session_attach (SandboxStore         *store,
                                                   SandboxState         *state,
                                                   SandboxContainedCheck check,
                                                   gpointer              data,
                                                   GError              **error);

/* As it is stored, so with the labels that it was made with. */
SandboxState        *sandbox_store_session_get_state (SandboxStoreSession *self);
SandboxWorkspaceMode sandbox_store_session_get_mode (SandboxStoreSession *self); /* never AUTO */

/* An O_PATH descriptor, which stays with the session; for an overlay only what has been changed. -1 once it was taken. */
int sandbox_store_session_get_workspace (SandboxStoreSession *self);

/* The same, for the caller. */
int sandbox_store_session_take_workspace (SandboxStoreSession *self);

/* For an overlay: the tree of the template, and the directory that has upper/ and work/. O_PATH descriptors, for the
 * caller; CORRUPT. */
gboolean sandbox_store_session_open_layers (SandboxStoreSession *self,
                                            int                 *lower,
                                            int                 *base,
                                            GError             **error);

/* On the host, for messages and plans. */
char *sandbox_store_session_dup_workspace_path (SandboxStoreSession *self);

/* See sandbox_lease_open_alive (). STOPPED after a deletion, and in a forked child of the owner. */
gboolean sandbox_store_session_open_alive (SandboxStoreSession *self,
                                           int                 *fd,
                                           GError             **error);

/* Ends it with all of its files: moved aside with the lease held, and removed. BUSY when a sandbox of it is still alive
 * after 5 seconds, and then nothing is changed. TRUE when it has been deleted already. An error in the removal leaves the
 * rest aside for a collector; the session is gone all the same. */
gboolean sandbox_store_session_delete (SandboxStoreSession  *self,
                                       SandboxContainedCheck check,
                                       gpointer              data,
                                       GError              **error);

/* Gives the lease up. In a private store nobody can come back to it, and it is deleted; in a forked child it is only
 * forgotten. */
void sandbox_store_session_free (SandboxStoreSession *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxStoreSession, sandbox_store_session_free)

/* The same for one that nobody has: takes the lease first. TRUE when there is none. A damaged state file does not save
 * a session from that, damaged files of the lease do: nobody could tell whether it is in use. */
gboolean sandbox_store_delete_session (SandboxStore         *self,
                                       SandboxState         *state,
                                       SandboxContainedCheck check,
                                       gpointer              data,
                                       GError              **error);

/* What stands in the state file of a session, which nobody needs to have for that. */
gboolean sandbox_store_session_read (SandboxStore         *store,
                                     const char           *id,
                                     SandboxState        **state,
                                     SandboxWorkspaceMode *mode,
                                     GError              **error);

/* All of them (SandboxState), in use or not, sorted by id. Damaged ones are left out. */
GPtrArray *sandbox_store_list_sessions (SandboxStore         *self,
                                        SandboxContainedCheck check,
                                        gpointer              data,
                                        GError              **error);

G_END_DECLS
