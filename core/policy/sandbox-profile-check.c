/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-profile-private.h"

#include "sandbox-environment-private.h"
#include "sandbox-error.h"
#include "sandbox-paths-private.h"

#define MAX_MOUNTS 64

/* Where sandboxes have something of their own, and nobody else anything at, above or below. */
static const char *const closed[] = { "/proc", "/dev", "/run/sandbox-agent", "/run/sandbox-glib" };
/* Where there may be something below. */
static const char *const kept[] = { "/run", "/tmp" };
/* The workspace is not in place of what programs need; as mounts these are what a custom view is made of. */
static const char *const roots[] = { "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };

static gboolean
sandbox_profile_fail_path (GError    **error,
                           const char *what,
                           const char *path,
                           const char *problem)
{
  g_autofree char *shown = sandbox_path_display (path);

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The %s “%s” %s", what, shown, problem);

  return FALSE;
}

static gboolean
sandbox_profile_check_path (const char *what,
                            const char *path,
                            GError    **error)
{
  const char *problem = sandbox_path_check_absolute (path);

  return problem == NULL || sandbox_profile_fail_path (error, what, path, problem);
}

/* What no place in the guest can be, whatever is to be there. */
static gboolean
sandbox_profile_check_target (const char *what,
                              const char *target,
                              GError    **error)
{
  if (!sandbox_profile_check_path (what, target, error))
    return FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (closed); i++)
    {
      if (sandbox_path_is_within (target, closed[i]) || sandbox_path_is_within (closed[i], target))
        return sandbox_profile_fail_path (error, what, target, "is where sandboxes have something of their own");
    }
  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    {
      if (sandbox_path_is_within (kept[i], target))
        return sandbox_profile_fail_path (error, what, target, "is where sandboxes have something of their own");
    }

  return TRUE;
}

static gboolean
sandbox_profile_check_workspace (SandboxProfile *self,
                                 GError        **error)
{
  const char *target = sandbox_profile_get_workspace_target (self);

  if (!sandbox_profile_check_target ("workspace target", target, error))
    return FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    {
      if (g_str_equal (target, roots[i]))
        return sandbox_profile_fail_path (error, "workspace target", target, "is where programs are");
    }

  return sandbox_path_is_within (target, "/run")
             ? sandbox_profile_fail_path (error, "workspace target", target, "is in /run")
             : TRUE;
}

/* By itself */
static gboolean
sandbox_profile_check_mount (SandboxProfile *self,
                             SandboxMount   *mount,
                             GError        **error)
{
  const char *workspace = sandbox_profile_get_workspace_target (self);
  const char *source = sandbox_mount_get_source (mount);
  const char *target = sandbox_mount_get_target (mount);
  gboolean    is_mask = sandbox_mount_get_mode (mount) == SANDBOX_MOUNT_MODE_MASK;
  gboolean    is_read_only = sandbox_mount_get_mode (mount) == SANDBOX_MOUNT_MODE_READ_ONLY;

  if (target == NULL)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "A mount has no target");
      return FALSE;
    }
  if (!sandbox_profile_check_target ("mount target", target, error))
    return FALSE;
  if (is_mask && source != NULL)
    return sandbox_profile_fail_path (error, "mask", target, "has a source");
  /* What the workspace has there already can be protected, and nothing else be put there. */
  if (is_read_only && source == NULL && sandbox_path_is_within (target, workspace) && !g_str_equal (target, workspace))
    return TRUE;
  if (!is_mask && source == NULL)
    return sandbox_profile_fail_path (error, "mount target", target, "has no source");
  if (source != NULL && !sandbox_profile_check_path ("mount source", source, error))
    return FALSE;

  if (sandbox_path_is_within (target, workspace) || sandbox_path_is_within (workspace, target))
    return sandbox_profile_fail_path (error, "mount target", target,
                                      "is the workspace, above it, or in it, where commands can write");
  if (sandbox_path_is_within (target, "/tmp"))
    return sandbox_profile_fail_path (error, "mount target", target, "is in /tmp, where commands can write");

  return TRUE;
}

static gboolean
sandbox_profile_check_mounts (SandboxProfile *self,
                              GError        **error)
{
  GListModel *mounts = sandbox_profile_get_mounts (self);
  guint       n_mounts = g_list_model_get_n_items (mounts);

  if (n_mounts > MAX_MOUNTS)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                   "There are %u mounts, the limit is %d", n_mounts, MAX_MOUNTS);
      return FALSE;
    }

  for (guint i = 0; i < n_mounts; i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);

      if (!sandbox_profile_check_mount (self, mount, error))
        return FALSE;
    }

  for (guint i = 0; i < n_mounts; i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);
      const char *target = sandbox_mount_get_target (mount);

      for (guint j = 0; j < n_mounts; j++)
        {
          g_autoptr (SandboxMount) other = g_list_model_get_item (mounts, j);

          if (i == j)
            continue;
          if (g_str_equal (target, sandbox_mount_get_target (other)))
            return sandbox_profile_fail_path (error, "mount target", target, "is given twice");
          if (sandbox_mount_get_mode (other) == SANDBOX_MOUNT_MODE_READ_WRITE &&
              sandbox_path_is_within (target, sandbox_mount_get_target (other)))
            return sandbox_profile_fail_path (error, "mount target", target,
                                              "is below another mount, where commands can write");
        }
    }

  return TRUE;
}

static gboolean
sandbox_profile_check_proc (SandboxProfile *self,
                            GError        **error)
{
  const char *self_exe = sandbox_profile_get_self_exe (self);
  gboolean    wanted = sandbox_profile_get_proc (self) == SANDBOX_PROC_MODE_SELF_EXE;

  if (wanted && self_exe == NULL)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                           "The proc mode self-exe needs a self-exe");
      return FALSE;
    }
  if (self_exe != NULL && !wanted)
    return sandbox_profile_fail_path (error, "self-exe", self_exe, "is only for the proc mode self-exe");

  return self_exe == NULL || sandbox_profile_check_path ("self-exe", self_exe, error);
}

static gboolean
sandbox_profile_check_launcher (SandboxProfile *self,
                                GError        **error)
{
  const int   uid = sandbox_profile_get_launcher_uid (self);
  const int   gid = sandbox_profile_get_launcher_gid (self);
  const char *problem = NULL;

  if (uid == -1 && gid == -1)
    return TRUE;
  if (uid == -1 || gid == -1)
    problem = "“launcher-uid” and “launcher-gid” go together";
  else if (uid == 0)
    problem = "The “launcher-uid” cannot be root’s";
  else if (sandbox_profile_get_identity (self) != SANDBOX_IDENTITY_AUTO)
    problem = "With a “launcher-uid” commands are that user, and “identity” is auto";
  if (problem == NULL)
    return TRUE;

  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, problem);

  return FALSE;
}

gboolean
sandbox_profile_validate (SandboxProfile *self,
                          GError        **error)
{
  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), FALSE);

  return sandbox_arguments_validate (NULL, sandbox_profile_get_environment (self), error) &&
         sandbox_profile_check_workspace (self, error) &&
         sandbox_profile_check_mounts (self, error) &&
         sandbox_profile_check_proc (self, error) &&
         sandbox_profile_check_launcher (self, error);
}
