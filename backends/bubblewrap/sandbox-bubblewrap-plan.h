/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

/* What commands of a session find, as steps in the order in which they are done. Pure: nothing here touches the
 * host but through the function that the caller hands in, so a plan can be made, looked at and tested
 * without running anything. */

/* Where the agent is in the sandbox. */
#define SANDBOX_BUBBLEWRAP_AGENT "/run/sandbox-agent"

/* The directory of SANDBOX_GATEWAY_PATH. */
#define SANDBOX_BUBBLEWRAP_DOORS "/run/sandbox-glib"

/* How bwrap comes by something of the host. */
typedef enum
{
  SANDBOX_BUBBLEWRAP_BIND_BY_AGENT, /* not at all: the agent is handed a mount */
  SANDBOX_BUBBLEWRAP_BIND_BY_FD,    /* --bind-fd */
  SANDBOX_BUBBLEWRAP_BIND_BY_PATH,  /* --bind */
} SandboxBubblewrapBind;

typedef enum
{
  SANDBOX_BUBBLEWRAP_KIND_MISSING,
  SANDBOX_BUBBLEWRAP_KIND_DIRECTORY,
  SANDBOX_BUBBLEWRAP_KIND_FILE, /* and whatever else is no directory */
  SANDBOX_BUBBLEWRAP_KIND_LINK,
} SandboxBubblewrapKind;

/* What is at @path of the host, itself no link; @link gets its text for a link. */
typedef SandboxBubblewrapKind (*SandboxBubblewrapLookFunc) (const char *path,
                                                            char      **link,
                                                            gpointer    data);

/* The source of one mount of the profile; one without has zeros. */
typedef struct
{
  const char           *path; /* resolved */
  gboolean              is_directory;
  SandboxBubblewrapBind bind;
} SandboxBubblewrapPlanSource;

typedef struct
{
  SandboxProfile                    *profile; /* valid */
  gboolean                           share_network;
  SandboxProcMode                    proc;            /* instead of AUTO, what it comes to */
  const char                        *state_directory; /* resolved; nullable */
  const char                        *resolver;        /* resolved place of /etc/resolv.conf; nullable */
  const char *const                 *settings;        /* in /etc: where programs of /usr have theirs under a name with a version; nullable */
  const char *const                 *secrets;         /* in /etc: what commands could read and other users could not; nullable */
  gboolean                           seal_proc;       /* a procfs is read-only as a whole */
  const char *const                 *proc_secrets;    /* and of that, what only root reads; nullable */
  SandboxBubblewrapBind              workspace_bind;
  const char                        *workspace_path; /* on the host; for BIND_BY_PATH */
  const SandboxBubblewrapPlanSource *sources;        /* one for each mount of the profile, in its order */
  SandboxBubblewrapLookFunc          look;
  gpointer                           look_data;
} SandboxBubblewrapPlanInput;

typedef enum
{
  SANDBOX_BUBBLEWRAP_STEP_DIRECTORY, /* an empty one */
  SANDBOX_BUBBLEWRAP_STEP_MEMORY,    /* a tmpfs of size */
  SANDBOX_BUBBLEWRAP_STEP_LINK,      /* source is its text */
  SANDBOX_BUBBLEWRAP_STEP_BIND,      /* source is its path on the host */
  SANDBOX_BUBBLEWRAP_STEP_DEVICE,
  SANDBOX_BUBBLEWRAP_STEP_PROC,
  SANDBOX_BUBBLEWRAP_STEP_GENERATED, /* file says which */
  SANDBOX_BUBBLEWRAP_STEP_NOTHING,   /* a file that cannot be opened */
  SANDBOX_BUBBLEWRAP_STEP_PROTECT,   /* what the workspace has there; the agent's */
} SandboxBubblewrapStepKind;

typedef enum
{
  SANDBOX_BUBBLEWRAP_FILE_AGENT,
  SANDBOX_BUBBLEWRAP_FILE_PASSWD,
  SANDBOX_BUBBLEWRAP_FILE_GROUP,
  SANDBOX_BUBBLEWRAP_FILE_HOSTS,
  SANDBOX_BUBBLEWRAP_FILE_NSSWITCH,
  SANDBOX_BUBBLEWRAP_N_FILES,
} SandboxBubblewrapFile;

typedef enum
{
  SANDBOX_BUBBLEWRAP_ORIGIN_VIEW,
  SANDBOX_BUBBLEWRAP_ORIGIN_PROFILE,
  SANDBOX_BUBBLEWRAP_ORIGIN_WORKSPACE,
} SandboxBubblewrapOrigin;

typedef struct
{
  SandboxBubblewrapStepKind kind;
  SandboxBubblewrapOrigin   origin;
  guint                     index; /* of the profile's mount */
  char                     *target;
  char                     *source;
  SandboxBubblewrapBind     bind;
  SandboxBubblewrapFile     file;
  gboolean                  is_directory; /* what is bound */
  gboolean                  read_only;
  gboolean                  optional; /* for a source that has gone since */
  gboolean                  over;     /* what is there is the host's: cover it, make nothing */
  gboolean                  mask;
  gboolean                  sticky;
  gboolean                  seal; /* read-only once all steps are done */
  guint64                   size;
  guint                     slot; /* of BIND_BY_FD: counted from 0 */
} SandboxBubblewrapStep;

typedef struct
{
  GPtrArray *steps; /* of SandboxBubblewrapStep; what is above comes before what is below */
  guint      n_slots;
} SandboxBubblewrapPlan;

/* Whether @path is @directory or below; both have one spelling, and the same beginning. */
gboolean sandbox_bubblewrap_plan_is_within (const char *path,
                                            const char *directory);

/* The directories of the host that a view shows, each with what is below; ends with NULL. */
const char *const *sandbox_bubblewrap_plan_get_roots (SandboxView view);

/* Whether @mount is what the workspace has there already, made read-only. */
gboolean sandbox_bubblewrap_plan_is_protection (SandboxMount *mount);

/* INVALID, NOT_FOUND, NOT_SUPPORTED or LIMIT for what cannot be built. */
SandboxBubblewrapPlan *sandbox_bubblewrap_plan_new (const SandboxBubblewrapPlanInput *input,
                                                    GError                          **error);
void                   sandbox_bubblewrap_plan_free (SandboxBubblewrapPlan *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxBubblewrapPlan, sandbox_bubblewrap_plan_free)

G_END_DECLS
