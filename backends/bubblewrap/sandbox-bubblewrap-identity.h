/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

/* Every host program of the machine sees the claims on uids here, and nobody but root. */
#define SANDBOX_BUBBLEWRAP_CLAIMS "/run/sandbox-glib"

/* Who a session's commands are on the host, and how they come by the files of the workspace.
 *
 * An unprivileged host runs them as itself. A host that is root never runs them as root: they get a uid and
 * gid of their own, claimed for the life of the session, and the workspace is mounted so that what its owner
 * has on disk is theirs. */
typedef struct
{
  guint uid; /* of the commands on the host; G_MAXUINT: that of the host */
  guint gid;
  int   claim_fd; /* holds the claim on uid, or -1 */
  int   map_fd;   /* user namespace that maps the owner to uid, or -1 for a plain bind by bwrap */
  char *unmapped; /* why the owner is used as it is, on a host that is root; nullable */
} SandboxBubblewrapIdentity;

/* Decides for @workspace, by trying on its very directory. May block. */
SandboxBubblewrapIdentity *sandbox_bubblewrap_identity_new (SandboxWorkspace *workspace,
                                                            GError          **error);
void                       sandbox_bubblewrap_identity_free (SandboxBubblewrapIdentity *self);

/* How that went, as a step of a report. @self may be NULL, with the @error. */
SandboxReportStep *sandbox_bubblewrap_identity_make_step (const SandboxBubblewrapIdentity *self,
                                                          const GError                    *error);

/* Whose the files are that the library keeps: the host's own, or those of a user that nothing runs as. */
void sandbox_bubblewrap_identity_get_storage (guint *uid,
                                              guint *gid);

/* Makes the empty @directory of a probe one that is not root's, where this program is root and may: what goes for the
 * workspaces of others is what a probe has to find out. */
void sandbox_bubblewrap_identity_give_away (const char *directory);

/* A user namespace that maps @owner and @group to those of the commands, or -1 with an error. */
int sandbox_bubblewrap_identity_open_map (SandboxBubblewrapIdentity *self,
                                          guint                      owner,
                                          guint                      group,
                                          GError                   **error);

/* A detached mount of a directory or file for the agent, or -1 with an error. With a @map_fd of -1 everybody has
 * the rights there that he has on the host. */
int sandbox_bubblewrap_identity_mount (int      map_fd,
                                       int      source_fd,
                                       gboolean read_only,
                                       GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxBubblewrapIdentity, sandbox_bubblewrap_identity_free)

G_END_DECLS
