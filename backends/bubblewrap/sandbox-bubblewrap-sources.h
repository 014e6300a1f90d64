/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

#include "sandbox-bubblewrap-identity.h"
#include "sandbox-bubblewrap-plan.h"

G_BEGIN_DECLS

/* What a profile and its view take of the host: found and opened once, when a session is created. */
typedef struct
{
  GArray    *mounts;          /* of SandboxBubblewrapSource, one for each mount of the profile */
  GPtrArray *host_mounts;     /* what was mounted where when this was made */
  char      *state_directory; /* resolved; NULL for none */
  char      *resolver;        /* where /etc/resolv.conf really is; NULL for nowhere */
  char     **settings;        /* in /etc, for the minimal view */
  char     **secrets;         /* in /etc, for the system view */
  gboolean   seal_proc;       /* /proc is read-only */
  char     **proc_secrets;    /* and this is hidden there */
} SandboxBubblewrapSources;

typedef struct
{
  int                   fd; /* O_PATH; -1 for a mask */
  char                 *path;
  gboolean              is_directory;
  SandboxBubblewrapBind bind;
  int                   map_fd; /* for BIND_BY_AGENT: user namespace that maps its owner to the commands', or -1 */
} SandboxBubblewrapSource;

/* Opens and checks every source, and what is protected in @workspace_path, which is NULL for one that nobody keeps
 * anything in. @identity tells who will read them; without one (for a plan only) it is found out
 * whether anybody can. May block. */
SandboxBubblewrapSources *sandbox_bubblewrap_sources_new (SandboxProfile            *profile,
                                                          const char                *workspace_path,
                                                          const char                *state_directory,
                                                          SandboxBubblewrapIdentity *identity,
                                                          SandboxBubblewrapBind      bind,
                                                          GError                   **error);
void                      sandbox_bubblewrap_sources_free (SandboxBubblewrapSources *self);

/* Fails when what stands at the path of a source that is bound by it is not that source any more. */
gboolean sandbox_bubblewrap_sources_check (SandboxBubblewrapSources *self,
                                           GError                  **error);

/* From now on plans have a /proc that is read-only, without what only root may read there and without keys. */
void sandbox_bubblewrap_sources_seal_proc (SandboxBubblewrapSources *self);

/* Plans with these sources; see sandbox_bubblewrap_plan_new (). @workspace_path is for BIND_BY_PATH. */
SandboxBubblewrapPlan *sandbox_bubblewrap_sources_plan (SandboxBubblewrapSources *self,
                                                        SandboxProfile           *profile,
                                                        SandboxProcMode           proc,
                                                        gboolean                  share_network,
                                                        SandboxBubblewrapBind     workspace_bind,
                                                        const char               *workspace_path,
                                                        GError                  **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxBubblewrapSources, sandbox_bubblewrap_sources_free)

G_END_DECLS
