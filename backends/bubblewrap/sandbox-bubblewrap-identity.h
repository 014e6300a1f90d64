/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

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
} SandboxBubblewrapIdentity;

/* Decides for @workspace, by trying on its very directory. May block. */
SandboxBubblewrapIdentity *sandbox_bubblewrap_identity_new (SandboxWorkspace *workspace,
                                                            GError          **error);
void                       sandbox_bubblewrap_identity_free (SandboxBubblewrapIdentity *self);

/* A detached mount of the directory for the agent, or -1 with an error. Only with a map. */
int sandbox_bubblewrap_identity_mount (SandboxBubblewrapIdentity *self,
                                       int                        directory_fd,
                                       GError                   **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxBubblewrapIdentity, sandbox_bubblewrap_identity_free)

G_END_DECLS
