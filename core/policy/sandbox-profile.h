/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-filter.h"
#include "sandbox-limits.h"
#include "sandbox-mount.h"
#include "sandbox-restrictions.h"
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxView:
 * @SANDBOX_VIEW_MINIMAL: the programs of the host and a made-up `/etc`, nothing else
 * @SANDBOX_VIEW_SYSTEM: the host's `/usr`, `/etc`, `/opt` and `/app`, read-only; what is secret in `/etc` is hidden
 * @SANDBOX_VIEW_CUSTOM: only what the mounts of the profile bring
 *
 * What commands find at the root. Each has a `/dev`, `/tmp` and `/run` of its own.
 *
 * In the system view `/data`, `/home`, `/root` and `/var` are empty directories, `passwd`, `group` and `hosts` are made up, and what
 * is hidden in `/etc` is what commands could read there and not every user of the host. Of `/usr`, `/opt` and `/app`
 * commands see what the host may read, or every user where that is root.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_VIEW_MINIMAL,
  SANDBOX_VIEW_SYSTEM,
  SANDBOX_VIEW_CUSTOM,
} SandboxView;

/**
 * SandboxProcMode:
 * @SANDBOX_PROC_MODE_AUTO: like %SANDBOX_PROC_MODE_FRESH where this host allows it, else like
 *   %SANDBOX_PROC_MODE_NONE, which the report tells
 * @SANDBOX_PROC_MODE_FRESH: a procfs of the sandbox's own
 * @SANDBOX_PROC_MODE_NONE: an empty directory
 * @SANDBOX_PROC_MODE_SELF_EXE: nothing but `/proc/self/exe`, a link to one file
 *
 * What commands find in `/proc`. It is never the procfs of the host.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_PROC_MODE_AUTO,
  SANDBOX_PROC_MODE_FRESH,
  SANDBOX_PROC_MODE_NONE,
  SANDBOX_PROC_MODE_SELF_EXE,
} SandboxProcMode;

/**
 * SandboxIdentity:
 * @SANDBOX_IDENTITY_AUTO: a user of the session's own where the host is root, else the user of the host
 * @SANDBOX_IDENTITY_OWNER: the user and the group to whom the workspace belongs; never root
 * @SANDBOX_IDENTITY_HOST: the user of the host; where that is root, commands run as root, in a user namespace
 *
 * Who commands are on the host. What they see as their own number is [property@Sandbox.Profile:guest-uid].
 *
 * With %SANDBOX_IDENTITY_AUTO the sessions of a root host have nothing in common: no limit that the kernel counts by
 * user, no keyring, no process that another could signal. The files of the workspace stay with their owner.
 *
 * With %SANDBOX_IDENTITY_OWNER commands share all of that with the processes of the owner. It is for hosts that are root
 * and where owners cannot be mapped, as on some network file systems. A host that is not root can be nobody else than
 * itself, and refuses a workspace of another owner.
 *
 * %SANDBOX_IDENTITY_HOST is what root has to ask for by name: the kernel counts no processes for root, and much in `/proc`
 * and `/sys` is root's to write wherever it can be reached. A report tells this as a gap.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_IDENTITY_AUTO,
  SANDBOX_IDENTITY_OWNER,
  SANDBOX_IDENTITY_HOST,
} SandboxIdentity;

#define SANDBOX_TYPE_PROFILE (sandbox_profile_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxProfile, sandbox_profile, SANDBOX, PROFILE, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxProfile *sandbox_profile_new (void) G_GNUC_WARN_UNUSED_RESULT;
SANDBOX_AVAILABLE_IN_1_0
SandboxProfile *sandbox_profile_new_preset (const char *name) G_GNUC_WARN_UNUSED_RESULT;
SANDBOX_AVAILABLE_IN_1_0
SandboxProfile *sandbox_profile_new_from_json (const char *text,
                                               GError    **error) G_GNUC_WARN_UNUSED_RESULT;
SANDBOX_AVAILABLE_IN_1_0
char *sandbox_profile_to_json (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
char *sandbox_profile_explain (SandboxProfile *self,
                               const char     *path);

SANDBOX_AVAILABLE_IN_1_0
SandboxView sandbox_profile_get_view (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_view (SandboxProfile *self,
                               SandboxView     view);

SANDBOX_AVAILABLE_IN_1_0
GListModel *sandbox_profile_get_mounts (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_add_mount (SandboxProfile *self,
                                SandboxMount   *mount);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_profile_get_workspace_read_only (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_workspace_read_only (SandboxProfile *self,
                                              gboolean        workspace_read_only);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_profile_get_workspace_target (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_workspace_target (SandboxProfile *self,
                                           const char     *workspace_target);

SANDBOX_AVAILABLE_IN_1_0
SandboxProcMode sandbox_profile_get_proc (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_proc (SandboxProfile *self,
                               SandboxProcMode proc);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_profile_get_self_exe (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_self_exe (SandboxProfile *self,
                                   const char     *self_exe);

SANDBOX_AVAILABLE_IN_1_0
const char *const *sandbox_profile_get_environment (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_environment (SandboxProfile    *self,
                                      const char *const *environment);

SANDBOX_AVAILABLE_IN_1_0
SandboxIdentity sandbox_profile_get_identity (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_identity (SandboxProfile *self,
                                   SandboxIdentity identity);

SANDBOX_AVAILABLE_IN_1_0
int sandbox_profile_get_launcher_uid (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_launcher_uid (SandboxProfile *self,
                                       int             launcher_uid);

SANDBOX_AVAILABLE_IN_1_0
int sandbox_profile_get_launcher_gid (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_launcher_gid (SandboxProfile *self,
                                       int             launcher_gid);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_profile_get_guest_uid (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_guest_uid (SandboxProfile *self,
                                    guint           guest_uid);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_profile_get_guest_gid (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_guest_gid (SandboxProfile *self,
                                    guint           guest_gid);

SANDBOX_AVAILABLE_IN_1_0
SandboxFilter sandbox_profile_get_filter (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_filter (SandboxProfile *self,
                                 SandboxFilter   filter);

SANDBOX_AVAILABLE_IN_1_0
SandboxLimits *sandbox_profile_get_limits (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_limits (SandboxProfile *self,
                                 SandboxLimits  *limits);

SANDBOX_AVAILABLE_IN_1_0
SandboxRestrictions sandbox_profile_get_required (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_required (SandboxProfile     *self,
                                   SandboxRestrictions required);

G_END_DECLS
