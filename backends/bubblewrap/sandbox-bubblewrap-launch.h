/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

#include "sandbox-bubblewrap-arguments.h"
#include "sandbox-bubblewrap-identity.h"
#include "sandbox-bubblewrap-sources.h"

#include <spawn.h>

G_BEGIN_DECLS

/* What a session's sandboxes are started with; fixed once made, but for the network. Shared with the
 * worker. */
typedef struct _SandboxBubblewrapLaunch SandboxBubblewrapLaunch;

/* How a sandbox is built where there is more than one way. */
typedef struct
{
  SandboxBubblewrapBind bind;          /* of what bwrap binds: BY_FD or BY_PATH */
  SandboxProcMode       proc;          /* never AUTO */
  gboolean              forbid_userns; /* by the kernel, not only by the filter */
  gboolean              is_probe;      /* the workspace is empty and nobody's: nothing in it to protect */
} SandboxBubblewrapManner;

/* Verifies everything that a start needs, and opens what has to stay what it is. May block. *@identity_step is replaced as soon as it is known who
 * the commands are, or why they can be nobody. */
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

/* The agent by its descriptor, with no environment and no signal blocked or ignored. 0 or an errno. */
int sandbox_bubblewrap_launch_spawn_agent (int                         agent_fd,
                                           posix_spawn_file_actions_t *actions,
                                           const char *const          *argv,
                                           pid_t                      *pid);

/* Why commands cannot have slots in a sandbox of the session, or NULL when they can: not without rights for the agent, not
 * where all of /proc is read-only, as that is made by bwrap, not where something of the workspace is protected, and not
 * where that is hidden by what a slot has of its own. */
const char *sandbox_bubblewrap_launch_get_obstacle (SandboxBubblewrapLaunch *self,
                                                    SandboxIsolation         isolation);

/* Whether the workspace is an overlay: then only one sandbox at a time, with slots. */
gboolean sandbox_bubblewrap_launch_has_overlay (SandboxBubblewrapLaunch *self);

/* Whether this is where the overlay is mounted: the host works there with the rights of whom it belongs to. */
gboolean sandbox_bubblewrap_launch_is_view (SandboxBubblewrapLaunch *self,
                                            int                      fd);

/* Whether the profile leaves a workspace that is an overlay alone, and goes with slots as far as it can tell. NOT_SUPPORTED. */
gboolean sandbox_bubblewrap_launch_check_overlay_profile (SandboxProfile  *profile,
                                                          SandboxIsolation isolation,
                                                          GError         **error);

/* Whether bwrap is given something by descriptor. */
gboolean sandbox_bubblewrap_launch_binds_by_fd (SandboxBubblewrapLaunch *self);

/* What a start differs in from others of the session */
typedef struct
{
  gboolean           share_network;
  gboolean           slots;     /* for all commands of the session */
  gboolean           is_shared; /* what is private to a slot else */
  SandboxAgentGroup *group;     /* nullable */
} SandboxBubblewrapStartManner;

/* Starts bwrap, which builds a sandbox with a waiting agent. On the worker only: the sandbox dies with the thread that
 * started it. */
SandboxAgentChannel *sandbox_bubblewrap_launch_start (SandboxBubblewrapLaunch            *self,
                                                      const SandboxBubblewrapStartManner *manner,
                                                      GError                            **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxBubblewrapLaunch, sandbox_bubblewrap_launch_unref)

G_END_DECLS
