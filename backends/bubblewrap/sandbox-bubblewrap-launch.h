/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

#include "sandbox-bubblewrap-arguments.h"
#include "sandbox-bubblewrap-identity.h"
#include "sandbox-bubblewrap-program.h"
#include "sandbox-bubblewrap-sources.h"

G_BEGIN_DECLS

/* How a sandbox is built where there is more than one way. */
typedef struct
{
  SandboxBubblewrapBind bind;          /* of what bwrap binds: BY_FD or BY_PATH */
  SandboxProcMode       proc;          /* never AUTO */
  gboolean              forbid_userns; /* by the kernel, not only by the filter */
  gboolean              is_probe;      /* the workspace is empty and nobody's: nothing in it to protect */
} SandboxBubblewrapManner;

/* What a session's sandboxes are started with; fixed once made, but for the network. Shared with the worker. */
typedef struct
{
  gatomicrefcount ref_count;

  SandboxBubblewrapProgram  *bwrap;
  SandboxBubblewrapProgram  *agent;
  GBytes                    *files[SANDBOX_BUBBLEWRAP_N_FILES]; /* NULL for that of the agent */
  GBytes                    *arguments[2];                      /* by share_network */
  guint64                    workspace_device;
  guint64                    workspace_inode;
  SandboxWorkspace          *workspace;
  SandboxBubblewrapIdentity *identity;
  SandboxBubblewrapManner    manner;
  gboolean                   set_user_id;
  SandboxFilter              filter;
  SandboxBubblewrapBind      workspace_bind;
  char                      *workspace_target;
  gboolean                   workspace_read_only;
  gboolean                   has_overlay;
  char                      *overlay_lower; /* what bwrap binds for an overlay, or NULL */
  char                      *overlay_base;
  SandboxBubblewrapSources  *sources;
  SandboxBubblewrapPlan     *plan;  /* the two differ in nothing that needs a descriptor or the agent */
  GArray                    *rules; /* of SandboxBubblewrapRule */
} SandboxBubblewrapLaunch;

/* Verifies everything that a start needs, and opens what has to stay what it is. May block. *@identity_step is
 * replaced as soon as it is known who the commands are, or why they can be nobody. */
SandboxBubblewrapLaunch *sandbox_bubblewrap_launch_new (const char                    *executable,
                                                        SandboxWorkspace              *workspace,
                                                        SandboxProfile                *profile,
                                                        const char                    *state_directory,
                                                        const SandboxBubblewrapRange  *range,
                                                        const SandboxBubblewrapManner *manner,
                                                        SandboxReportStep            **identity_step,
                                                        GError                       **error);
SandboxBubblewrapLaunch *sandbox_bubblewrap_launch_ref (SandboxBubblewrapLaunch *self);
void                     sandbox_bubblewrap_launch_unref (SandboxBubblewrapLaunch *self);

/* Who its commands are on the host; G_MAXUINT for the host's own ids. */
void sandbox_bubblewrap_launch_get_ids (SandboxBubblewrapLaunch *self,
                                        guint                   *uid,
                                        guint                   *gid);

/* Whether its commands are root, for whom the kernel counts no processes. */
gboolean sandbox_bubblewrap_launch_is_root (SandboxBubblewrapLaunch *self);

/* Whether bwrap has root's rights while it builds, which the profile's launcher allows. */
gboolean sandbox_bubblewrap_launch_is_set_user_id (SandboxBubblewrapLaunch *self);

/* Whether the program has rights of its own: by the bit, or by capabilities of the file. */
gboolean sandbox_bubblewrap_launch_has_set_user_id (int fd);

/* Why commands cannot have slots in a sandbox of the session, or NULL when they can: not without rights for the agent, not
 * where all of /proc is read-only, as that is made by bwrap, not where something of the workspace is protected, and not
 * where that is hidden by what a slot has of its own. */
const char *sandbox_bubblewrap_launch_get_obstacle (SandboxBubblewrapLaunch *self,
                                                    SandboxIsolation         isolation);

/* The part of it that the places alone decide. */
const char *sandbox_bubblewrap_launch_get_obstacle_at (const char      *workspace_target,
                                                       SandboxIsolation isolation);

/* Whether the workspace is an overlay: then only one sandbox at a time, with slots. */
gboolean sandbox_bubblewrap_launch_has_overlay (SandboxBubblewrapLaunch *self);

/* Whether this is where the overlay is mounted: the host works there with the rights of whom it belongs to. */
gboolean sandbox_bubblewrap_launch_is_view (SandboxBubblewrapLaunch *self,
                                            int                      fd);

/* The directory of the workspace, above every number that a descriptor gets in bwrap; of an overlay that which has its upper
 * layer, and in @lower_fd what is below. It is opened by each start, and not held. */
gboolean sandbox_bubblewrap_launch_open_workspace (SandboxBubblewrapLaunch *self,
                                                   int                     *workspace_fd,
                                                   int                     *lower_fd,
                                                   GError                 **error);

/* Whether bwrap is given something by descriptor. */
gboolean sandbox_bubblewrap_launch_binds_by_fd (SandboxBubblewrapLaunch *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxBubblewrapLaunch, sandbox_bubblewrap_launch_unref)

G_END_DECLS
