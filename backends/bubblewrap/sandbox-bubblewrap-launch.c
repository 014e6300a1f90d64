/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-launch.h"

#include "sandbox-bubblewrap-fd.h"
#include "sandbox-bubblewrap-probe.h"
#include "sandbox-bubblewrap-program.h"
#include "sandbox-bubblewrap-rules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

struct _SandboxBubblewrapLaunch
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
};

SandboxBubblewrapLaunch *
sandbox_bubblewrap_launch_ref (SandboxBubblewrapLaunch *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_bubblewrap_launch_unref (SandboxBubblewrapLaunch *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_clear_pointer (&self->bwrap, sandbox_bubblewrap_program_unref);
  g_clear_pointer (&self->agent, sandbox_bubblewrap_program_unref);
  for (guint i = 0; i < G_N_ELEMENTS (self->files); i++)
    g_clear_pointer (&self->files[i], g_bytes_unref);
  for (guint i = 0; i < G_N_ELEMENTS (self->arguments); i++)
    g_clear_pointer (&self->arguments[i], g_bytes_unref);
  g_clear_pointer (&self->rules, g_array_unref);
  g_clear_pointer (&self->plan, sandbox_bubblewrap_plan_free);
  g_clear_pointer (&self->sources, sandbox_bubblewrap_sources_free);
  g_clear_pointer (&self->identity, sandbox_bubblewrap_identity_free);
  g_clear_pointer (&self->workspace_target, g_free);
  g_clear_pointer (&self->overlay_lower, g_free);
  g_clear_pointer (&self->overlay_base, g_free);
  g_clear_object (&self->workspace);
  g_free (self);
}

void
sandbox_bubblewrap_launch_get_ids (SandboxBubblewrapLaunch *self,
                                   guint                   *uid,
                                   guint                   *gid)
{
  *uid = self->identity->uid;
  *gid = self->identity->gid;
}

gboolean
sandbox_bubblewrap_launch_is_root (SandboxBubblewrapLaunch *self)
{
  return self->identity->who == SANDBOX_BUBBLEWRAP_WHO_ROOT;
}

gboolean
sandbox_bubblewrap_launch_is_set_user_id (SandboxBubblewrapLaunch *self)
{
  return self->set_user_id;
}

/* A slot has memory of its own there, over what is mounted below. */
static const char *
sandbox_bubblewrap_launch_get_obstacle_at (const char      *workspace_target,
                                           SandboxIsolation isolation)
{
  if (isolation == SANDBOX_ISOLATION_SHARED ||
      (!g_str_has_prefix (workspace_target, "/tmp/") && !g_str_has_prefix (workspace_target, "/dev/shm/")))
    return NULL;

  return "the “workspace-target” is in /tmp, of which each slot has its own";
}

const char *
sandbox_bubblewrap_launch_get_obstacle (SandboxBubblewrapLaunch *self,
                                        SandboxIsolation         isolation)
{
  /* What is protected is looked for, and held, when a command starts: later ones of a sandbox would miss it if the host
   * has removed it since. */
  for (guint i = 0; i < self->plan->steps->len; i++)
    if (((const SandboxBubblewrapStep *) self->plan->steps->pdata[i])->kind == SANDBOX_BUBBLEWRAP_STEP_PROTECT)
      return "the profile protects a part of the workspace";
  if (self->set_user_id)
    return "bwrap is set-user-ID";
  if (self->sources->seal_proc)
    return "commands are root";

  return sandbox_bubblewrap_launch_get_obstacle_at (self->workspace_target, isolation);
}

gboolean
sandbox_bubblewrap_launch_has_overlay (SandboxBubblewrapLaunch *self)
{
  return self->has_overlay;
}

gboolean
sandbox_bubblewrap_launch_is_view (SandboxBubblewrapLaunch *self,
                                   int                      fd)
{
  const guint   uid = self->identity->uid != G_MAXUINT ? self->identity->uid : geteuid ();
  struct statfs system;
  struct stat   info;

  return fstatfs (fd, &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC && fstat (fd, &info) == 0 && S_ISDIR (info.st_mode) &&
         info.st_uid == uid;
}

gboolean
sandbox_bubblewrap_launch_check_overlay_profile (SandboxProfile  *profile,
                                                 SandboxIsolation isolation,
                                                 GError         **error)
{
  GListModel *mounts = sandbox_profile_get_mounts (profile);
  const char *workspace = sandbox_profile_get_workspace_target (profile);
  const char *why = sandbox_bubblewrap_launch_get_obstacle_at (workspace, isolation);

  if (sandbox_profile_get_identity (profile) == SANDBOX_IDENTITY_HOST && geteuid () == 0)
    why = "commands are root";
  else if (sandbox_profile_get_launcher_uid (profile) != -1)
    why = "the profile has a launcher";
  else if (sandbox_profile_get_workspace_read_only (profile))
    why = "the workspace is read-only";
  for (guint i = 0; why == NULL && i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);
      const char *target = sandbox_mount_get_target (mount);

      if (sandbox_bubblewrap_plan_is_protection (mount) || sandbox_bubblewrap_plan_is_within (target, workspace))
        why = "the profile has mounts in the workspace, or protects a part of it";
      /* What bwrap binds for the agent would be made in there, on the host. */
      else if (sandbox_bubblewrap_plan_is_within (SANDBOX_AGENT_CHANNEL_OVERLAY_LOWER, target))
        why = "the profile has a mount over /run";
    }
  if (why != NULL)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "%s", why);

  return why == NULL;
}

gboolean
sandbox_bubblewrap_launch_binds_by_fd (SandboxBubblewrapLaunch *self)
{
  return self->plan->n_slots > 0;
}

/* What is opened is looked up there, and reopened by way of it. */
static gboolean
sandbox_bubblewrap_launch_check_proc (GError **error)
{
  if (access ("/proc/self/fd", F_OK) == 0)
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The sandbox could not be built (step: host-proc): /proc/self/fd: %s", g_strerror (errno));

  return FALSE;
}

/* A device that has been replaced by a file would be writable for every sandbox. */
static gboolean
sandbox_bubblewrap_launch_check_devices (GError **error)
{
  static const struct
  {
    const char  *path;
    unsigned int major;
    unsigned int minor;
  } devices[] = {
    { "/dev/null", 1, 3 }, { "/dev/zero", 1, 5 }, { "/dev/full", 1, 7 }, { "/dev/random", 1, 8 }, { "/dev/urandom", 1, 9 }, { "/dev/tty", 5, 0 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (devices); i++)
    {
      struct stat info;

      if (lstat (devices[i].path, &info) < 0 || !S_ISCHR (info.st_mode) ||
          info.st_rdev != makedev (devices[i].major, devices[i].minor))
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                       "The sandbox could not be built (step: devices): “%s” is missing or is not the device of that name: "
                       "make it by mknod, or start this program where /dev is whole",
                       devices[i].path);
          return FALSE;
        }
    }

  return TRUE;
}

/* What programs look up about their user: the sandbox knows its own, root and nobody. */
static void
sandbox_bubblewrap_launch_make_files (SandboxBubblewrapLaunch *self,
                                      SandboxProfile          *profile)
{
  guint uid = sandbox_profile_get_guest_uid (profile);
  guint gid = sandbox_profile_get_guest_gid (profile);
  /* What would end the field is no home. */
  const char      *home = strpbrk (self->workspace_target, ":\n") == NULL ? self->workspace_target : "/";
  g_autofree char *user = uid != 0 ? g_strdup_printf ("sandbox:x:%u:%u:sandbox:%s:/bin/sh\n", uid, gid, home) : g_strdup ("");
  g_autofree char *group = gid != 0 ? g_strdup_printf ("sandbox:x:%u:\n", gid) : g_strdup ("");
  g_autofree char *passwd = g_strconcat ("root:x:0:0:root:", home, ":/bin/sh\n", user,
                                         "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", NULL);
  g_autofree char *groups = g_strconcat ("root:x:0:\n", group, "nogroup:x:65534:\n", NULL);
  const struct
  {
    SandboxBubblewrapFile file;
    const char           *text;
  } files[] = {
    { SANDBOX_BUBBLEWRAP_FILE_PASSWD, passwd },
    { SANDBOX_BUBBLEWRAP_FILE_GROUP, groups },
    { SANDBOX_BUBBLEWRAP_FILE_HOSTS, "127.0.0.1 localhost sandbox\n::1 localhost\n" },
    { SANDBOX_BUBBLEWRAP_FILE_NSSWITCH,
      "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    self->files[files[i].file] = g_bytes_new (files[i].text, strlen (files[i].text));
}

/* In a directory of the host's bwrap would make the places for the layers on the host. */
static gboolean
sandbox_bubblewrap_launch_check_overlay (SandboxBubblewrapLaunch *self,
                                         GError                 **error)
{
  for (guint i = 0; self->overlay_lower != NULL && i < self->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = self->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_BIND &&
          (sandbox_bubblewrap_plan_is_within (SANDBOX_AGENT_CHANNEL_OVERLAY_LOWER, step->target) ||
           sandbox_bubblewrap_plan_is_within (SANDBOX_AGENT_CHANNEL_OVERLAY_BASE, step->target)))
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                       "A workspace that is an overlay cannot be had with a mount at “%s”: create the session with the workspace mode copy",
                       step->target);
          return FALSE;
        }
    }

  return TRUE;
}

static gboolean
sandbox_bubblewrap_launch_make_arguments (SandboxBubblewrapLaunch *self,
                                          SandboxProfile          *profile,
                                          GError                 **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->arguments); i++)
    {
      const SandboxBubblewrapNamespaces namespaces = {
        .share_network = i == 1,
        .guest_uid = sandbox_profile_get_guest_uid (profile),
        .guest_gid = sandbox_profile_get_guest_gid (profile),
        .set_user_id = self->set_user_id,
        .has_overlay = self->has_overlay,
        .overlay_lower = self->overlay_lower,
        .overlay_base = self->overlay_base,
      };

      g_clear_pointer (&self->plan, sandbox_bubblewrap_plan_free);
      self->plan = sandbox_bubblewrap_sources_plan (self->sources, profile, self->manner.proc, namespaces.share_network,
                                                    self->workspace_bind, sandbox_workspace_get_path (self->workspace), error);
      if (self->plan == NULL || !sandbox_bubblewrap_launch_check_overlay (self, error))
        return FALSE;
      self->arguments[i] = sandbox_bubblewrap_arguments_new (&namespaces, self->plan);
    }
  self->rules = sandbox_bubblewrap_rules_new (self->plan, error);

  return self->rules != NULL;
}

/* The directory of the workspace, above every number that a descriptor gets in bwrap; of an overlay that which has its upper
 * layer, and in @lower_fd what is below. It is opened by each start, and not held. */
static gboolean
sandbox_bubblewrap_launch_open_workspace (SandboxBubblewrapLaunch *self,
                                          int                     *workspace_fd,
                                          int                     *lower_fd,
                                          GError                 **error)
{
  g_auto (SandboxBubblewrapFd) fd = -1;
  g_autoptr (GError) failure = NULL;

  if (!sandbox_workspace_dup_layers (self->workspace, lower_fd, &fd, &failure) && failure == NULL)
    fd = sandbox_workspace_dup_fd (self->workspace, &failure);
  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }

  *workspace_fd = fcntl (fd, F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD);
  if (*workspace_fd >= 0)
    return TRUE;
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The workspace cannot be held open: %s", g_strerror (errno));

  return FALSE;
}

/* Who the commands are; *@step tells it, or the error. */
static gboolean
sandbox_bubblewrap_launch_take_identity (SandboxBubblewrapLaunch      *self,
                                         SandboxProfile               *profile,
                                         const SandboxBubblewrapRange *range,
                                         SandboxReportStep           **step,
                                         GError                      **error)
{
  g_autoptr (GError) failure = NULL;

  self->identity = sandbox_bubblewrap_identity_new (self->workspace, profile, range, !self->set_user_id, &failure);
  g_clear_object (step);
  *step = sandbox_bubblewrap_identity_make_step (self->identity, failure);
  if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));

  return self->identity != NULL;
}

static gboolean
sandbox_bubblewrap_launch_refuse (GError    **error,
                                  const char *problem)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "A set-user-ID bwrap cannot do this: %s", problem);

  return FALSE;
}

/* Where a descriptor leads to, for bwrap: in the state directory, which nobody but the host can change. */
static char *
sandbox_bubblewrap_launch_read_path (int fd)
{
  char path[64];

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);

  return g_file_read_link (path, NULL);
}

/* The agent mounts it, of descriptors that a host with CAP_SYS_ADMIN gives, or else of what bwrap binds for it. */
static gboolean
sandbox_bubblewrap_launch_choose_overlay (SandboxBubblewrapLaunch *self,
                                          int                      workspace_fd,
                                          int                      lower_fd,
                                          GError                 **error)
{
  const SandboxBubblewrapIdentity *identity = self->identity;

  if (self->set_user_id)
    return sandbox_bubblewrap_launch_refuse (error, "its agent mounts nothing, and the workspace is an overlay");
  if (self->workspace_read_only)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                           "A workspace that is an overlay cannot be read-only: create the session with the workspace mode copy");
      return FALSE;
    }
  self->workspace_bind = SANDBOX_BUBBLEWRAP_BIND_BY_AGENT;
  if (identity->map_fd >= 0 || identity->uid != G_MAXUINT)
    return TRUE;

  self->overlay_lower = sandbox_bubblewrap_launch_read_path (lower_fd);
  self->overlay_base = sandbox_bubblewrap_launch_read_path (workspace_fd);
  if (self->overlay_lower != NULL && self->overlay_base != NULL)
    return TRUE;
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                       "The sandbox could not be built (step: workspace): nobody knows where its layers are");

  return FALSE;
}

/* How the workspace gets there. As somebody else bwrap may not come to it: what the library keeps is in directories
 * which the host alone may search, with mapped owners or without, and a directory of the host's may be. */
static gboolean
sandbox_bubblewrap_launch_choose_bind (SandboxBubblewrapLaunch *self,
                                       int                      workspace_fd,
                                       int                      lower_fd,
                                       GError                 **error)
{
  const SandboxBubblewrapIdentity *identity = self->identity;
  const gboolean                   is_other = identity->uid != G_MAXUINT && identity->uid != geteuid ();
  g_auto (SandboxBubblewrapFd) mount_fd = -1;
  g_autoptr (GError) failure = NULL;

  if (self->has_overlay)
    return sandbox_bubblewrap_launch_choose_overlay (self, workspace_fd, lower_fd, error);
  self->workspace_bind = identity->map_fd >= 0 ? SANDBOX_BUBBLEWRAP_BIND_BY_AGENT : self->manner.bind;
  if (identity->map_fd >= 0 || !is_other || self->set_user_id)
    return TRUE;

  mount_fd = sandbox_bubblewrap_identity_mount (-1, workspace_fd, FALSE, &failure);
  if (mount_fd >= 0)
    self->workspace_bind = SANDBOX_BUBBLEWRAP_BIND_BY_AGENT;
  else if (sandbox_workspace_get_state_directory (self->workspace) != NULL)
    {
      g_propagate_prefixed_error (error, g_steal_pointer (&failure),
                                  "A workspace that this library keeps needs CAP_SYS_ADMIN, or a program that is not root; one given as workspace-path does not: ");
      return FALSE;
    }

  return TRUE;
}

/* ---- A bwrap with rights of its own ------------------------------------------------------------------------------ */

gboolean
sandbox_bubblewrap_launch_has_set_user_id (int fd)
{
  struct stat info;

  return (fstat (fd, &info) == 0 && (info.st_mode & S_ISUID) != 0) || fgetxattr (fd, "security.capability", NULL, 0) > 0;
}

/* Such a bwrap is root whoever starts it, which somebody has to have asked for. 0.11.0 and 0.11.1 let whoever started
 * them reach more than they should. */
static gboolean
sandbox_bubblewrap_launch_check_bwrap (SandboxBubblewrapLaunch *self,
                                       SandboxProfile          *profile,
                                       const char              *executable,
                                       GError                 **error)
{
  const int        uid = sandbox_profile_get_launcher_uid (profile);
  const gboolean   is_root = geteuid () == 0 && sandbox_profile_get_identity (profile) == SANDBOX_IDENTITY_HOST;
  g_autofree char *version = NULL;
  guint            numbers[3] = { 0 };

  self->set_user_id = sandbox_bubblewrap_launch_has_set_user_id (self->bwrap->fd) && !is_root;
  if (!self->set_user_id)
    return TRUE;
  if (uid == -1)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "The sandbox could not be built (step: set-user-id): “%s” has rights of its own, and the profile has no “launcher-uid” that asks for that",
                   executable);
      return FALSE;
    }

  version = sandbox_bubblewrap_probe_ask_version (self->agent->fd, self->bwrap->fd,
                                                  geteuid () == 0 ? (guint) uid : G_MAXUINT,
                                                  geteuid () == 0 ? (guint) sandbox_profile_get_launcher_gid (profile) : G_MAXUINT);
  if (version == NULL || sscanf (version, "bubblewrap %u.%u.%u", &numbers[0], &numbers[1], &numbers[2]) < 2)
    return sandbox_bubblewrap_launch_refuse (error, "it does not say its version");
  if (numbers[0] == 0 && numbers[1] == 11 && numbers[2] < 2)
    return sandbox_bubblewrap_launch_refuse (error, "its versions 0.11.0 and 0.11.1 let users reach more than they should; 0.11.2 is safe");

  return TRUE;
}

/* Each thing that it cannot give, by the name by which it was asked for. */
static gboolean
sandbox_bubblewrap_launch_check_rest (SandboxBubblewrapLaunch *self,
                                      SandboxProfile          *profile,
                                      GError                 **error)
{
  SandboxLimits *limits = sandbox_profile_get_limits (profile);

  if (self->identity->who == SANDBOX_BUBBLEWRAP_WHO_ROOT && limits != NULL && sandbox_limits_get_processes (limits) > 0)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                           "The limit “processes” cannot be enforced with the “identity” host: the kernel counts no processes of root");
      return FALSE;
    }
  if (!self->set_user_id)
    return TRUE;

  if (limits == NULL || sandbox_limits_get_tmp_bytes (limits) != 0 || sandbox_limits_get_shm_bytes (limits) != 0)
    return sandbox_bubblewrap_launch_refuse (error, "it cannot bound /tmp and /dev/shm: set “tmp-bytes” and “shm-bytes” of the profile's limits to 0 to go without");
  for (guint i = 0; i < self->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = self->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_PROTECT)
        return sandbox_bubblewrap_launch_refuse (error, "it cannot protect what a workspace has: leave out mounts without a source");
      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_BIND && step->bind == SANDBOX_BUBBLEWRAP_BIND_BY_AGENT)
        {
          g_autofree char *problem = g_strdup_printf ("it cannot mount “%s” for the launcher, who may not come to it", step->target);

          return sandbox_bubblewrap_launch_refuse (error, problem);
        }
    }

  return TRUE;
}

SandboxBubblewrapLaunch *
sandbox_bubblewrap_launch_new (const char                    *executable,
                               SandboxWorkspace              *workspace,
                               SandboxProfile                *profile,
                               const char                    *state_directory,
                               const SandboxBubblewrapRange  *range,
                               const SandboxBubblewrapManner *manner,
                               SandboxReportStep            **identity_step,
                               GError                       **error)
{
  g_autoptr (SandboxBubblewrapLaunch) self = g_new0 (SandboxBubblewrapLaunch, 1);
  g_auto (SandboxBubblewrapFd) workspace_fd = -1;
  g_auto (SandboxBubblewrapFd) lower_fd = -1;
  g_autofree char *agent_path = NULL;
  struct stat      info;
  guint            owner = 0;
  guint            group = 0;

  g_atomic_ref_count_init (&self->ref_count);
  self->workspace = g_object_ref (workspace);
  self->workspace_target = g_strdup (sandbox_profile_get_workspace_target (profile));
  self->workspace_read_only = sandbox_profile_get_workspace_read_only (profile);
  self->filter = sandbox_profile_get_filter (profile);
  self->manner = *manner;

  if (!sandbox_bubblewrap_launch_check_proc (error) ||
      (self->bwrap = sandbox_bubblewrap_program_new (executable, "program bwrap", error)) == NULL ||
      (agent_path = sandbox_get_agent_path (error)) == NULL ||
      (self->agent = sandbox_bubblewrap_program_new (agent_path, "agent", error)) == NULL ||
      !sandbox_bubblewrap_launch_check_bwrap (self, profile, executable, error) ||
      !sandbox_bubblewrap_launch_check_devices (error) ||
      !sandbox_workspace_check (workspace, error) ||
      !sandbox_bubblewrap_launch_open_workspace (self, &workspace_fd, &lower_fd, error) ||
      !sandbox_bubblewrap_launch_take_identity (self, profile, range, identity_step, error) ||
      (self->sources = sandbox_bubblewrap_sources_new (profile, manner->is_probe ? NULL : sandbox_workspace_get_path (workspace), state_directory,
                                                       self->identity, manner->bind, error)) == NULL)
    return NULL;

  /* Commands that are root could write more of it than the agent shuts; and this agent shuts nothing. */
  if (self->set_user_id || self->identity->who == SANDBOX_BUBBLEWRAP_WHO_ROOT)
    sandbox_bubblewrap_sources_seal_proc (self->sources);
  if (fstat (workspace_fd, &info) < 0)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "The sandbox could not be built (step: workspace): %s", g_strerror (errno));
      return NULL;
    }
  self->has_overlay = lower_fd >= 0;
  sandbox_bubblewrap_launch_make_files (self, profile);
  if (!sandbox_bubblewrap_launch_choose_bind (self, workspace_fd, lower_fd, error) ||
      !sandbox_bubblewrap_launch_make_arguments (self, profile, error) ||
      !sandbox_bubblewrap_launch_check_rest (self, profile, error))
    return NULL;
  /* Nobody knows yet which numbers the root of an overlay will have. */
  if (!self->has_overlay)
    {
      self->workspace_device = info.st_dev;
      self->workspace_inode = info.st_ino;
    }

  /* What the host writes belongs to whom the files on disk belong. */
  if (!self->has_overlay && geteuid () == 0)
    {
      sandbox_workspace_get_owner (workspace, &owner, &group);
      sandbox_workspace_set_owner (workspace, owner, group);
    }

  return g_steal_pointer (&self);
}

/* ---- A start ------------------------------------------------------------------------------------------------------ */

/* What one start hands on. Nothing of it is held between two: what a session at rest holds counts where there are many. */
typedef struct
{
  int workspace_fd; /* of an overlay the directory that has its upper layer */
  int lower_fd;     /* of an overlay what is below, or -1 */
  int agent_socket;
  int words_fd;
  int group_fd; /* or -1 */
  int arguments_fd;
  int file_fds[SANDBOX_BUBBLEWRAP_N_FILES]; /* -1 for that of the agent */
} SandboxBubblewrapHanded;

static void
sandbox_bubblewrap_handed_init (SandboxBubblewrapHanded *handed)
{
  handed->workspace_fd = handed->lower_fd = handed->agent_socket = handed->words_fd = handed->group_fd = handed->arguments_fd = -1;
  for (guint i = 0; i < G_N_ELEMENTS (handed->file_fds); i++)
    handed->file_fds[i] = -1;
}

static void
sandbox_bubblewrap_handed_clear (SandboxBubblewrapHanded *handed)
{
  sandbox_bubblewrap_fd_clear (&handed->workspace_fd);
  sandbox_bubblewrap_fd_clear (&handed->lower_fd);
  sandbox_bubblewrap_fd_clear (&handed->agent_socket);
  sandbox_bubblewrap_fd_clear (&handed->words_fd);
  sandbox_bubblewrap_fd_clear (&handed->group_fd);
  sandbox_bubblewrap_fd_clear (&handed->arguments_fd);
  for (guint i = 0; i < G_N_ELEMENTS (handed->file_fds); i++)
    sandbox_bubblewrap_fd_clear (&handed->file_fds[i]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxBubblewrapHanded, sandbox_bubblewrap_handed_clear)

/* A file for bwrap alone, which reads it from its beginning. */
static int
sandbox_bubblewrap_launch_new_file (const char *name,
                                    GBytes     *bytes)
{
  g_auto (SandboxBubblewrapFd) fd = memfd_create (name, MFD_CLOEXEC);
  gsize       size = 0;
  const void *data = g_bytes_get_data (bytes, &size);

  if (fd < 0 || pwrite (fd, data, size, 0) != (gssize) size)
    return -1;

  return fcntl (fd, F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD);
}

static gboolean
sandbox_bubblewrap_launch_open_files (SandboxBubblewrapLaunch *self,
                                      gboolean                 share_network,
                                      SandboxBubblewrapHanded *handed,
                                      GError                 **error)
{
  gboolean opened = FALSE;

  handed->arguments_fd = sandbox_bubblewrap_launch_new_file ("arguments", self->arguments[share_network ? 1 : 0]);
  opened = handed->arguments_fd >= 0;
  for (guint i = 0; opened && i < SANDBOX_BUBBLEWRAP_N_FILES; i++)
    if (self->files[i] != NULL)
      {
        handed->file_fds[i] = sandbox_bubblewrap_launch_new_file ("file", self->files[i]);
        opened = handed->file_fds[i] >= 0;
      }
  if (!opened)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox could not be built (step: files): %s", g_strerror (errno));

  return opened;
}

/* What is at a step that binds something of the profile's, or the workspace. */
static SandboxBubblewrapSource
sandbox_bubblewrap_launch_get_source (SandboxBubblewrapLaunch       *self,
                                      const SandboxBubblewrapHanded *handed,
                                      const SandboxBubblewrapStep   *step)
{
  if (step->origin == SANDBOX_BUBBLEWRAP_ORIGIN_WORKSPACE)
    return (SandboxBubblewrapSource){ .fd = handed->workspace_fd, .map_fd = self->identity->map_fd };

  return g_array_index (self->sources->mounts, SandboxBubblewrapSource, step->index);
}

/* Of what others read too, one that is opened anew in the child, for an offset of its own */
static void
sandbox_bubblewrap_launch_add_shared_file (posix_spawn_file_actions_t *actions,
                                           int                         fd,
                                           int                         number)
{
  char path[64];

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  posix_spawn_file_actions_addopen (actions, number, path, O_RDONLY, 0);
}

/* What bwrap gets, by number. All of it comes from above those numbers, so none is lost while they are filled. */
static void
sandbox_bubblewrap_launch_add_descriptors (SandboxBubblewrapLaunch       *self,
                                           const SandboxBubblewrapHanded *handed,
                                           posix_spawn_file_actions_t    *actions)
{
  posix_spawn_file_actions_addopen (actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2 (actions, handed->words_fd, 1);
  posix_spawn_file_actions_adddup2 (actions, handed->words_fd, 2);
  posix_spawn_file_actions_adddup2 (actions, handed->agent_socket, SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET);
  posix_spawn_file_actions_adddup2 (actions, self->bwrap->fd, SANDBOX_BUBBLEWRAP_FD_BWRAP);
  posix_spawn_file_actions_adddup2 (actions, handed->arguments_fd, SANDBOX_BUBBLEWRAP_FD_ARGUMENTS);
  for (int i = 0; i < SANDBOX_BUBBLEWRAP_N_FILES; i++)
    if (i == SANDBOX_BUBBLEWRAP_FILE_AGENT)
      sandbox_bubblewrap_launch_add_shared_file (actions, self->agent->fd, SANDBOX_BUBBLEWRAP_FD_FILES + i);
    else
      posix_spawn_file_actions_adddup2 (actions, handed->file_fds[i], SANDBOX_BUBBLEWRAP_FD_FILES + i);
  for (guint i = 0; i < self->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = self->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_BIND && step->bind == SANDBOX_BUBBLEWRAP_BIND_BY_FD)
        posix_spawn_file_actions_adddup2 (actions, sandbox_bubblewrap_launch_get_source (self, handed, step).fd,
                                          SANDBOX_BUBBLEWRAP_FD_SLOTS + (int) step->slot);
    }
  /* The agent's own, closed before bwrap */
  if (handed->group_fd >= 0)
    posix_spawn_file_actions_adddup2 (actions, handed->group_fd, SANDBOX_BUBBLEWRAP_FD_SLOTS + (int) self->plan->n_slots);
}

int
sandbox_bubblewrap_launch_spawn_agent (int                         agent_fd,
                                       posix_spawn_file_actions_t *actions,
                                       const char *const          *argv,
                                       pid_t                      *pid)
{
  /* The descriptor was verified, so that is what runs, whatever its path leads to by now. */
  g_autofree char  *agent = g_strdup_printf ("/proc/self/fd/%d", agent_fd);
  const char *const environment[] = { NULL };
  posix_spawnattr_t attributes;
  sigset_t          none;
  sigset_t          all;
  int               failure = 0;

  sigemptyset (&none);
  sigfillset (&all);
  posix_spawnattr_init (&attributes);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setsigdefault (&attributes, &all);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  failure = posix_spawn (pid, agent, actions, &attributes, (char *const *) argv, (char *const *) environment);
  posix_spawnattr_destroy (&attributes);

  return failure;
}

static gboolean
sandbox_bubblewrap_launch_spawn (SandboxBubblewrapLaunch       *self,
                                 const SandboxBubblewrapHanded *handed,
                                 pid_t                         *pid,
                                 GError                       **error)
{
  SandboxBubblewrapIdentity *identity = self->identity;
  g_autofree char           *parent = g_strdup_printf ("%d", (int) getpid ());
  g_autofree char           *uid = identity->uid == G_MAXUINT ? g_strdup ("-1") : g_strdup_printf ("%u", identity->uid);
  g_autofree char           *gid = identity->gid == G_MAXUINT ? g_strdup ("-1") : g_strdup_printf ("%u", identity->gid);
  g_autofree char           *program = g_strdup_printf ("%d", SANDBOX_BUBBLEWRAP_FD_BWRAP);
  g_autofree char           *keep = g_strdup_printf ("%u", SANDBOX_BUBBLEWRAP_FD_SLOTS + self->plan->n_slots - SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET);
  g_autofree char           *group = g_strdup_printf ("%d", handed->group_fd < 0 ? -1 : (int) (SANDBOX_BUBBLEWRAP_FD_SLOTS + self->plan->n_slots));
  g_autofree char           *arguments = g_strdup_printf ("%d", SANDBOX_BUBBLEWRAP_FD_ARGUMENTS);
  g_autofree char           *socket_number = g_strdup_printf ("%d", SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET);
  const char *const          argv[] = {
             "sandbox-agent", "launch", parent, uid, gid, program, keep, group,
             "bwrap", "--args", arguments, "--", SANDBOX_BUBBLEWRAP_AGENT, "init", socket_number, NULL
  };
  posix_spawn_file_actions_t actions;
  int                        failure = 0;

  posix_spawn_file_actions_init (&actions);
  sandbox_bubblewrap_launch_add_descriptors (self, handed, &actions);
  failure = sandbox_bubblewrap_launch_spawn_agent (self->agent->fd, &actions, argv, pid);
  posix_spawn_file_actions_destroy (&actions);
  if (failure == 0)
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The sandbox could not be built (step: launcher): the agent “%s” cannot be started: %s",
               self->agent->path, g_strerror (failure));

  return FALSE;
}

static gboolean
sandbox_bubblewrap_launch_add_overlay (SandboxBubblewrapLaunch       *self,
                                       const SandboxBubblewrapHanded *handed,
                                       SandboxAgentChannel           *channel,
                                       GError                       **error)
{
  g_auto (SandboxBubblewrapFd) lower_fd = -1;
  g_auto (SandboxBubblewrapFd) base_fd = -1;

  if (self->overlay_lower == NULL)
    {
      lower_fd = sandbox_bubblewrap_identity_mount (self->identity->map_fd, handed->lower_fd, TRUE, error);
      if (lower_fd < 0)
        return FALSE;
      base_fd = sandbox_bubblewrap_identity_mount (self->identity->map_fd, handed->workspace_fd, FALSE, error);
      if (base_fd < 0)
        return FALSE;
    }
  sandbox_agent_channel_take_overlay (channel, self->workspace_target, g_steal_fd (&lower_fd), g_steal_fd (&base_fd));

  return TRUE;
}

/* What bwrap, which is not root, cannot come to. */
static gboolean
sandbox_bubblewrap_launch_add_mounts (SandboxBubblewrapLaunch       *self,
                                      const SandboxBubblewrapHanded *handed,
                                      SandboxAgentChannel           *channel,
                                      GError                       **error)
{
  for (guint i = 0; i < self->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = self->plan->steps->pdata[i];
      SandboxBubblewrapSource      source;
      int                          mount_fd = -1;

      if (step->kind != SANDBOX_BUBBLEWRAP_STEP_BIND || step->bind != SANDBOX_BUBBLEWRAP_BIND_BY_AGENT)
        continue;
      if (step->origin == SANDBOX_BUBBLEWRAP_ORIGIN_WORKSPACE && self->has_overlay)
        {
          if (!sandbox_bubblewrap_launch_add_overlay (self, handed, channel, error))
            return FALSE;
          continue;
        }
      source = sandbox_bubblewrap_launch_get_source (self, handed, step);
      mount_fd = sandbox_bubblewrap_identity_mount (source.map_fd, source.fd, step->read_only, error);
      if (mount_fd < 0)
        return FALSE;
      sandbox_agent_channel_take_mount (channel, step->target, mount_fd, step->read_only);
    }

  /* The workspace has to be there before. */
  for (guint i = 0; i < self->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = self->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_PROTECT && !self->manner.is_probe)
        sandbox_agent_channel_protect (channel, step->target);
    }

  return TRUE;
}

/* A mount of the profile's in the place of a memory file system is the host's. */
static gboolean
sandbox_bubblewrap_launch_owns_memory (SandboxBubblewrapLaunch *self)
{
  for (guint i = 0; i < self->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = self->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_BIND && (g_str_equal (step->target, "/tmp") || g_str_equal (step->target, "/dev/shm")))
        return FALSE;
    }

  return TRUE;
}

/* The memory file systems that commands can write to. */
static void
sandbox_bubblewrap_launch_add_memories (SandboxBubblewrapLaunch *self,
                                        SandboxAgentChannel     *channel)
{
  for (guint i = 0; i < self->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = self->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_MEMORY && step->sticky)
        sandbox_agent_channel_add_memory (channel, step->target, step->size);
    }
}

SandboxAgentChannel *
sandbox_bubblewrap_launch_start (SandboxBubblewrapLaunch            *self,
                                 const SandboxBubblewrapStartManner *manner,
                                 GError                            **error)
{
  SandboxAgentGroup *group = manner->group;
  g_autoptr (SandboxAgentChannel) channel = NULL;
  g_auto (SandboxBubblewrapHanded) handed;
  int                      sockets[2] = { -1, -1 };
  int                      words[2] = { -1, -1 };
  int                      pid_fd = -1;
  int                      lock_fd = -1;
  pid_t                    pid = -1;
  gboolean                 spawned = FALSE;
  SandboxAgentChannelFlags flags = SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_SET_ID;

  sandbox_bubblewrap_handed_init (&handed);
  /* Without capabilities the agent mounts and forbids nothing. */
  if (!self->set_user_id)
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_PRIVATE_DEVPTS | SANDBOX_AGENT_CHANNEL_FLAGS_SHUT_PROC;
  if (!self->set_user_id && sandbox_bubblewrap_launch_owns_memory (self))
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_BOUND_NAMES;
  if (self->manner.forbid_userns && !self->set_user_id)
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_USERNS;
  /* or one that is read-only */
  if (self->manner.proc != SANDBOX_PROC_MODE_FRESH || self->sources->seal_proc)
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_NO_PROC;
  if (manner->slots)
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_SLOTS | (manner->is_shared ? SANDBOX_AGENT_CHANNEL_FLAGS_SHARED : 0);

  if (!sandbox_workspace_check (self->workspace, error) ||
      !sandbox_bubblewrap_sources_check (self->sources, error) ||
      !sandbox_bubblewrap_launch_open_workspace (self, &handed.workspace_fd, &handed.lower_fd, error) ||
      !sandbox_bubblewrap_launch_open_files (self, manner->share_network, &handed, error) ||
      !sandbox_workspace_lend_alive (self->workspace, &lock_fd, error))
    return NULL;

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0 ||
      pipe2 (words, O_CLOEXEC | O_NONBLOCK) < 0 ||
      (handed.agent_socket = fcntl (sockets[1], F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD)) < 0 ||
      (handed.words_fd = fcntl (words[1], F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD)) < 0 ||
      (group != NULL && (handed.group_fd = fcntl (sandbox_agent_group_get_fd (group), F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD)) < 0))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox could not be built (step: descriptors): %s", g_strerror (errno));
  else
    spawned = sandbox_bubblewrap_launch_spawn (self, &handed, &pid, error);
  /* Their end is told by the last who has them. */
  sandbox_bubblewrap_fd_close (sockets[1]);
  sandbox_bubblewrap_fd_close (words[1]);
  sandbox_bubblewrap_fd_clear (&handed.agent_socket);
  sandbox_bubblewrap_fd_clear (&handed.words_fd);

  /* Our own child, not yet waited for: the number is still its. */
  if (spawned)
    pid_fd = (int) syscall (SYS_pidfd_open, pid, 0);
  if (pid_fd >= 0)
    {
      channel = sandbox_agent_channel_new_take_fd (sockets[0], flags);
      sandbox_agent_channel_take_launcher (channel, pid_fd, words[0]);
      sandbox_agent_channel_take_lock (channel, &lock_fd);
      if (group != NULL)
        sandbox_agent_channel_take_group (channel, g_object_ref (group));
      if (self->identity->uid != G_MAXUINT)
        sandbox_agent_channel_set_owner (channel, self->identity->uid, self->identity->gid);
      sandbox_agent_channel_set_workspace (channel, self->workspace_target, self->workspace_device, self->workspace_inode);
      sandbox_agent_channel_set_filter (channel, self->filter);
      if (manner->slots && !manner->is_shared)
        sandbox_bubblewrap_launch_add_memories (self, channel);
      for (guint i = 0; i < self->rules->len; i++)
        {
          const SandboxBubblewrapRule *rule = &g_array_index (self->rules, SandboxBubblewrapRule, i);

          sandbox_agent_channel_add_rule (channel, rule->path, rule->access);
        }
      /* On failure the channel ends what has been started. */
      return sandbox_bubblewrap_launch_add_mounts (self, &handed, channel, error) ? g_steal_pointer (&channel) : NULL;
    }

  if (spawned)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox could not be built (step: launcher): %s", g_strerror (errno));
  sandbox_bubblewrap_fd_close (sockets[0]);
  sandbox_bubblewrap_fd_close (words[0]);
  sandbox_workspace_return_alive (&lock_fd);

  return NULL;
}
