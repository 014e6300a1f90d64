/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

/* Every host program of the machine sees the claims on uids here, and nobody but root. */
#define SANDBOX_BUBBLEWRAP_CLAIMS "/run/sandbox-glib"

/* The ids that sessions can have. The first has the files that the library keeps, and nothing ever runs as it. */
typedef struct
{
  guint first;
  guint last;
} SandboxBubblewrapRange;

/* Those that systemd keeps for users made at run time, so that no account has them. */
#define SANDBOX_BUBBLEWRAP_FIRST_UID 61184
#define SANDBOX_BUBBLEWRAP_LAST_UID 65519

typedef enum
{
  SANDBOX_BUBBLEWRAP_WHO_CALLER,   /* the host's own user, who is not root */
  SANDBOX_BUBBLEWRAP_WHO_SESSION,  /* a user of the session's own */
  SANDBOX_BUBBLEWRAP_WHO_OWNER,    /* the workspace's, asked for or for want of mounts that map */
  SANDBOX_BUBBLEWRAP_WHO_LAUNCHER, /* asked for */
  SANDBOX_BUBBLEWRAP_WHO_ROOT,     /* asked for */
} SandboxBubblewrapWho;

/* Who a session's commands are on the host, and how they come by the files of the workspace.
 *
 * An unprivileged host runs them as itself. A host that is root does not, unless the profile asks for it: they get a uid
 * and gid of their own, claimed for the life of the session, and the workspace is mounted so that what its owner has on
 * disk is theirs. */
typedef struct
{
  SandboxBubblewrapWho who;

  guint uid; /* of the commands on the host; G_MAXUINT: that of the host */
  guint gid;
  int   claim_fd; /* holds the claim on uid, or -1 */
  int   map_fd;   /* user namespace that maps the owner to uid, or -1 for a plain bind by bwrap */
  char *unmapped; /* why the owner is used as it is, on a host that is root; nullable */
} SandboxBubblewrapIdentity;

/* Decides for @workspace, by trying on its very directory; not @can_mount: the agent will not be able to mount
 * anything. May block. */
SandboxBubblewrapIdentity *sandbox_bubblewrap_identity_new (SandboxWorkspace             *workspace,
                                                            SandboxProfile               *profile,
                                                            const SandboxBubblewrapRange *range,
                                                            gboolean                      can_mount,
                                                            GError                      **error);
void                       sandbox_bubblewrap_identity_free (SandboxBubblewrapIdentity *self);

/* How that went, as a step of a report. @self may be NULL, with the @error. */
SandboxReportStep *sandbox_bubblewrap_identity_make_step (const SandboxBubblewrapIdentity *self,
                                                          const GError                    *error);

/* Whose the files are that the library keeps: the host's own, or those of a user that nothing runs as. */
void sandbox_bubblewrap_identity_get_storage (const SandboxBubblewrapRange *range,
                                              guint                        *uid,
                                              guint                        *gid);

/* Makes the empty @directory of a probe for @profile, which may be NULL, one that is not root's, where this program is
 * root and may: what goes for the workspaces of others is what a probe has to find out. */
void sandbox_bubblewrap_identity_give_away (const char                   *directory,
                                            SandboxProfile               *profile,
                                            const SandboxBubblewrapRange *range);

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
