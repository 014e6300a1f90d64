/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-overlay.h"

#include "sandbox-bubblewrap-driver.h"
#include "sandbox-bubblewrap-plan.h"
#include "sandbox-bubblewrap-trial.h"

#include <unistd.h>

gboolean
sandbox_bubblewrap_overlay_refuse (GError    **error,
                                   const char *why)
{
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, why);

  return FALSE;
}

gboolean
sandbox_bubblewrap_overlay_check_profile (SandboxProfile  *profile,
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

/* What an overlay is for: something of the template is changed, and something made in its place. A file system that cannot
 * note that the old content is gone would show it again. */
static gboolean
sandbox_bubblewrap_overlay_change (SandboxSession *session,
                                   GError        **error)
{
  g_autoptr (SandboxListing) left = NULL;

  if (!sandbox_session_write_text (session, "directory/file", "text", NULL, error) ||
      !sandbox_session_remove_path (session, "directory", NULL, error) ||
      !sandbox_session_make_directory (session, "directory", NULL, error))
    return FALSE;
  left = sandbox_session_list_directory (session, "directory", NULL, error);
  if (left == NULL)
    return FALSE;

  return g_list_model_get_n_items (G_LIST_MODEL (left)) == 0 || sandbox_bubblewrap_overlay_refuse (error, "what was removed is there again");
}

typedef struct
{
  GMutex   lock;
  GCond    cond;
  gboolean ended;
} SandboxBubblewrapEnd;

static void
sandbox_bubblewrap_overlay_sandbox_ended (SandboxAgentDriver *driver,
                                          gpointer            data)
{
  SandboxBubblewrapEnd *end = data;

  g_mutex_lock (&end->lock);
  end->ended = TRUE;
  g_cond_signal (&end->cond);
  g_mutex_unlock (&end->lock);
}

static void
sandbox_bubblewrap_overlay_end_sandbox (SandboxDriver *driver)
{
  SandboxBubblewrapEnd end = { .ended = FALSE };

  g_mutex_init (&end.lock);
  g_cond_init (&end.cond);
  sandbox_agent_driver_end_sandbox (SANDBOX_AGENT_DRIVER (driver), sandbox_bubblewrap_overlay_sandbox_ended, &end);
  g_mutex_lock (&end.lock);
  while (!end.ended)
    g_cond_wait (&end.cond, &end.lock);
  g_mutex_unlock (&end.lock);
  g_cond_clear (&end.cond);
  g_mutex_clear (&end.lock);
}

/* In a sandbox as a session gets one. */
static gboolean
sandbox_bubblewrap_overlay_try_in (const char                   *executable,
                                   const SandboxBubblewrapRange *range,
                                   SandboxWorkspace             *workspace,
                                   GError                      **error)
{
  const SandboxBubblewrapSlots slots = { .nested = TRUE };
  const char *const            argv[] = { SANDBOX_BUBBLEWRAP_AGENT, "version", NULL };
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  const SandboxBubblewrapManner manner = sandbox_bubblewrap_trial_get_manner (profile);
  g_autoptr (SandboxReportStep) identity = NULL;
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxBubblewrapLaunch) launch = NULL;
  g_autoptr (SandboxDriver) driver = NULL;
  g_autoptr (SandboxSession) session = NULL;
  g_autoptr (SandboxResult) result = NULL;
  gboolean good = FALSE;

  launch = sandbox_bubblewrap_launch_new (executable, workspace, profile, sandbox_workspace_get_state_directory (workspace), range, &manner, &identity, error);
  if (launch == NULL)
    return FALSE;
  driver = sandbox_bubblewrap_driver_new (launch, workspace, profile, NULL, SANDBOX_RESTRICTIONS_NONE, NULL, &slots);
  session = sandbox_session_new_for_driver (driver, error);
  if (session == NULL)
    return FALSE;

  result = sandbox_session_run (session, command, NULL, error);
  good = result != NULL && sandbox_result_check (result, error) && sandbox_bubblewrap_overlay_change (session, error);
  sandbox_bubblewrap_overlay_end_sandbox (driver);

  return good;
}

gboolean
sandbox_bubblewrap_overlay_try (const char                   *executable,
                                const SandboxBubblewrapRange *range,
                                SandboxWorkspace             *workspace,
                                GError                      **error)
{
  g_autoptr (GError) failure = NULL;

  /* Whatever it is, a session can be made without one. */
  return sandbox_bubblewrap_overlay_try_in (executable, range, workspace, &failure) ||
         sandbox_bubblewrap_overlay_refuse (error, failure->message);
}
