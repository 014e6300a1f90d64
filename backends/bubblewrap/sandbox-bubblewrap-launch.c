/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-launch.h"

#include "sandbox-bubblewrap-fd.h"
#include "sandbox-bubblewrap-probe.h"
#include "sandbox-bubblewrap-rules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

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
const char *
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

gboolean
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
