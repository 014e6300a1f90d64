/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-backend.h"

#include "sandbox-bubblewrap-arguments.h"
#include "sandbox-bubblewrap-driver.h"
#include "sandbox-bubblewrap-network.h"
#include "sandbox-bubblewrap-overlay.h"
#include "sandbox-bubblewrap-plan-json.h"
#include "sandbox-bubblewrap-restrictions.h"
#include "sandbox-bubblewrap-sources.h"
#include "sandbox-bubblewrap-trial.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define DEFAULT_EXECUTABLE "/usr/bin/bwrap"
#define DEFAULT_NESTED TRUE
#define DEFAULT_ARMED_SLOTS 2

/* In a plan: a workspace that is made, or taken, when the session is created. No path begins so. */
#define MANAGED "managed"

/**
 * SandboxBubblewrapBackend:
 *
 * Sandboxes by bubblewrap, with an agent as process 1: one for each session, in which each command has a slot; or one
 * for each command, see [property@Sandbox.BubblewrapBackend:nested].
 *
 * Since: 1.0
 */

struct _SandboxBubblewrapBackend
{
  SandboxBackend parent_instance;

  GMutex                 lock; /* guards what follows */
  char                  *executable;
  SandboxBubblewrapRange range;
  char                  *control_group_path; /* nullable: found */
  gboolean               nested;
  guint                  armed_slots;
  SandboxReport         *report;       /* the last good one for the default profile */
  char                  *stamp;        /* what it looked at */
  guint                  group_wanted; /* another number when a control group has to be looked for anew */

  GMutex               group_lock; /* held while one is looked for, so never waited for in a main loop; guards what follows */
  SandboxControlGroup *control_group;
  char                *group_failure; /* why there is none */
  guint                group_found;   /* which state of group_wanted it is of */
};

typedef enum
{
  PROP_EXECUTABLE = 1,
  PROP_CONTROL_GROUP,
  PROP_FIRST_UID,
  PROP_LAST_UID,
  PROP_NESTED,
  PROP_ARMED_SLOTS,
} SandboxBubblewrapBackendProps;

static GParamSpec *properties[PROP_ARMED_SLOTS + 1];

/* clang-format off */
G_DEFINE_DYNAMIC_TYPE_EXTENDED (SandboxBubblewrapBackend, sandbox_bubblewrap_backend, SANDBOX_TYPE_BACKEND, G_TYPE_FLAG_FINAL, )
/* clang-format on */

static SandboxBubblewrapRange
sandbox_bubblewrap_backend_get_range (SandboxBubblewrapBackend *self)
{
  SandboxBubblewrapRange range;

  g_mutex_lock (&self->lock);
  range = self->range;
  g_mutex_unlock (&self->lock);

  return range;
}

static gboolean
sandbox_bubblewrap_backend_check_range (const SandboxBubblewrapRange *range,
                                        GError                      **error)
{
  if (range->first < range->last)
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
               "The “first-uid” %u is not below the “last-uid” %u, and one uid is for files alone", range->first, range->last);

  return FALSE;
}

/* @options are NULL for a probe. */
static SandboxBubblewrapSlots
sandbox_bubblewrap_backend_get_slots (SandboxBubblewrapBackend *self,
                                      SandboxCreateOptions     *options)
{
  SandboxBubblewrapSlots slots = { 0 };

  g_mutex_lock (&self->lock);
  slots.nested = self->nested;
  slots.n_armed = options != NULL ? self->armed_slots : 0;
  g_mutex_unlock (&self->lock);
  slots.idle_ms = options != NULL ? sandbox_create_options_get_idle_ms (options) : 0;
  slots.isolation = options != NULL ? sandbox_create_options_get_isolation (options) : SANDBOX_ISOLATION_PER_COMMAND;
  /* there is nothing to share else */
  slots.nested = slots.nested || slots.isolation == SANDBOX_ISOLATION_SHARED;

  return slots;
}

static char *
sandbox_bubblewrap_backend_dup_executable (SandboxBubblewrapBackend *self)
{
  char *executable = NULL;

  g_mutex_lock (&self->lock);
  executable = g_strdup (self->executable);
  g_mutex_unlock (&self->lock);

  return executable;
}

static SandboxReportStep *
sandbox_bubblewrap_backend_make_group_step (SandboxControlGroup *group,
                                            const char          *failure)
{
  const char *const *controllers = group != NULL ? sandbox_control_group_get_controllers (group) : NULL;
  const gboolean     all = controllers != NULL && g_strv_length ((char **) controllers) == 3;
  SandboxReportStep *step = sandbox_report_step_new ("control-groups", all);

  if (group != NULL)
    {
      g_autofree char *names = g_strjoinv (", ", (char **) controllers);
      g_autofree char *evidence = g_strdup_printf ("“%s” is delegated to this program, with the controllers %s",
                                                   sandbox_control_group_get_path (group), names);

      sandbox_report_step_set_evidence (step, evidence);
    }
  else
    sandbox_report_step_set_evidence (step, failure);
  if (!all)
    {
      sandbox_report_step_set_consequence (step, group != NULL ? "Those of the limits “memory-bytes”, “tasks” and “cpu-percent” that need another controller are refused"
                                                               : "The limits “memory-bytes”, “tasks” and “cpu-percent” are refused; those of single processes hold");
      sandbox_report_step_set_remedy (step, "Start this program as a unit of systemd with Delegate=yes and DelegateSubgroup=host, or set the property "
                                            "“control-group” to a cgroup2 directory that belongs to this user and has no process of its own");
    }

  return step;
}

SandboxControlGroup *
sandbox_bubblewrap_backend_ref_control_group (SandboxBubblewrapBackend *self,
                                              SandboxReportStep       **step)
{
  g_autofree char     *path = NULL;
  SandboxControlGroup *group = NULL;
  guint                wanted = 0;

  g_mutex_lock (&self->lock);
  path = g_strdup (self->control_group_path);
  wanted = self->group_wanted;
  g_mutex_unlock (&self->lock);

  g_mutex_lock (&self->group_lock);
  if (self->group_found != wanted)
    {
      g_autoptr (GError) error = NULL;

      g_clear_object (&self->control_group);
      g_free (self->group_failure);
      self->control_group = sandbox_control_group_new (path, &error);
      self->group_failure = error != NULL ? g_strdup (error->message) : NULL;
      self->group_found = wanted;
    }
  g_set_object (&group, self->control_group);
  if (step != NULL)
    {
      g_clear_object (step);
      *step = sandbox_bubblewrap_backend_make_group_step (group, self->group_failure);
    }
  g_mutex_unlock (&self->group_lock);

  return group;
}

/* @report is what is known of the default profile as long as what it looked at is as @stamp says; NULL is nothing. */
static void
sandbox_bubblewrap_backend_keep_report (SandboxBubblewrapBackend *self,
                                        SandboxReport            *report,
                                        const char               *stamp)
{
  g_mutex_lock (&self->lock);
  g_set_object (&self->report, report);
  g_free (self->stamp);
  self->stamp = g_strdup (stamp);
  if (report == NULL)
    self->group_wanted++;
  g_mutex_unlock (&self->lock);
}

/* What the options want, and a profile in any case. */
static SandboxProfile *
sandbox_bubblewrap_backend_ref_profile (SandboxCreateOptions *options,
                                        SandboxRestrictions  *required)
{
  SandboxProfile *wanted = sandbox_create_options_get_profile (options);
  SandboxProfile *profile = wanted != NULL ? g_object_ref (wanted) : sandbox_profile_new ();

  *required = sandbox_create_options_get_required (options) | sandbox_profile_get_required (profile);

  return profile;
}

static void
sandbox_bubblewrap_backend_created (SandboxBubblewrapTrial *trial,
                                    SandboxDriver          *driver,
                                    const GError           *error)
{
  if (error != NULL)
    {
      /* What could not be built may be built no more: the next probe looks anew. */
      sandbox_bubblewrap_backend_keep_report (SANDBOX_BUBBLEWRAP_BACKEND (trial->backend), NULL, NULL);
      sandbox_request_return_error (trial->request, error);
    }
  else
    sandbox_request_return_object (trial->request, G_OBJECT (driver));
}

static gboolean
sandbox_bubblewrap_backend_get_storage (SandboxBackend *backend,
                                        guint          *uid,
                                        guint          *gid)
{
  const SandboxBubblewrapRange range = sandbox_bubblewrap_backend_get_range (SANDBOX_BUBBLEWRAP_BACKEND (backend));

  sandbox_bubblewrap_identity_get_storage (&range, uid, gid);

  return TRUE;
}

/* All commands of such a session are in one sandbox, as no two may have an overlay mounted. So where a command can have a
 * sandbox of its own, for its limits, it is only for those who ask for it. */
static gboolean
sandbox_bubblewrap_backend_check_overlay (SandboxBackend       *backend,
                                          SandboxCreateOptions *options,
                                          GError              **error)
{
  SandboxBubblewrapBackend *self = SANDBOX_BUBBLEWRAP_BACKEND (backend);
  SandboxRestrictions       required = SANDBOX_RESTRICTIONS_NONE;
  g_autoptr (SandboxProfile) profile = sandbox_bubblewrap_backend_ref_profile (options, &required);
  g_autoptr (SandboxControlGroup) group = NULL;

  if (!sandbox_bubblewrap_backend_get_slots (self, options).nested)
    return sandbox_bubblewrap_overlay_refuse (error, "the property “nested” of the backend is FALSE");
  if (!sandbox_bubblewrap_overlay_check_profile (profile, sandbox_create_options_get_isolation (options), error))
    return FALSE;
  if (!sandbox_agent_driver_check_limits (sandbox_profile_get_limits (profile), NULL, NULL))
    return sandbox_bubblewrap_overlay_refuse (error, "the profile has a limit that needs a control group");
  if (sandbox_create_options_get_workspace_mode (options) == SANDBOX_WORKSPACE_MODE_OVERLAY)
    return TRUE;
  group = sandbox_bubblewrap_backend_ref_control_group (self, NULL);

  return group == NULL || sandbox_bubblewrap_overlay_refuse (error, "commands can have limits here that need a control group");
}

static gboolean
sandbox_bubblewrap_backend_try_overlay (SandboxBackend   *backend,
                                        SandboxWorkspace *workspace,
                                        GError          **error)
{
  SandboxBubblewrapBackend    *self = SANDBOX_BUBBLEWRAP_BACKEND (backend);
  const SandboxBubblewrapRange range = sandbox_bubblewrap_backend_get_range (self);
  g_autofree char             *executable = sandbox_bubblewrap_backend_dup_executable (self);

  return sandbox_bubblewrap_overlay_try (executable, &range, workspace, error);
}

static gboolean
sandbox_bubblewrap_backend_create_driver (SandboxBackend       *backend,
                                          SandboxCreateOptions *options,
                                          SandboxWorkspace     *workspace,
                                          SandboxRequest       *request,
                                          GError              **error)
{
  SandboxNetworkPolicy *policy = sandbox_create_options_get_network (options);
  SandboxRestrictions   required = SANDBOX_RESTRICTIONS_NONE;
  g_autoptr (SandboxProfile) profile = sandbox_bubblewrap_backend_ref_profile (options, &required);
  const SandboxBubblewrapRange range = sandbox_bubblewrap_backend_get_range (SANDBOX_BUBBLEWRAP_BACKEND (backend));
  const SandboxBubblewrapSlots slots = sandbox_bubblewrap_backend_get_slots (SANDBOX_BUBBLEWRAP_BACKEND (backend), options);
  g_autofree char             *executable = NULL;

  if (!sandbox_bubblewrap_backend_check_range (&range, error) ||
      !sandbox_bubblewrap_restrictions_check (required, profile, policy, error))
    return FALSE;

  executable = sandbox_bubblewrap_backend_dup_executable (SANDBOX_BUBBLEWRAP_BACKEND (backend));
  sandbox_bubblewrap_trial_begin (backend, executable, &range, workspace, profile, policy, required, &slots, NULL,
                                  sandbox_bubblewrap_backend_created, request);

  return TRUE;
}

static void
sandbox_bubblewrap_backend_add_gap (SandboxReport *report,
                                    const char    *gap)
{
  sandbox_report_add_gap (report, gap);
  sandbox_report_set_grade (report, SANDBOX_GRADE_PARTIAL);
}

/* What the sandbox has less than it could have elsewhere, or may lack later. */
static void
sandbox_bubblewrap_backend_add_gaps (SandboxBubblewrapTrial *trial,
                                     SandboxReport          *report)
{
  if (sandbox_profile_get_proc (trial->profile) == SANDBOX_PROC_MODE_AUTO && trial->manner.proc == SANDBOX_PROC_MODE_NONE)
    sandbox_bubblewrap_backend_add_gap (report, "No procfs can be mounted on this host: commands have none");
  if (!trial->manner.forbid_userns)
    sandbox_bubblewrap_backend_add_gap (report, "Further user namespaces are forbidden by the system call filter alone");
  if (sandbox_bubblewrap_launch_is_set_user_id (trial->launch))
    sandbox_bubblewrap_backend_add_gap (report, "bwrap has root's rights while it builds a sandbox; /tmp and /dev/shm have no bound but half of the memory, "
                                                "and further user namespaces are forbidden by the system call filter alone");
  if (!sandbox_report_step_get_ok (trial->identity))
    sandbox_bubblewrap_backend_add_gap (report, sandbox_report_step_get_consequence (trial->identity));
  for (guint i = 0; i < trial->probe->steps->len; i++)
    {
      SandboxReportStep *step = trial->probe->steps->pdata[i];

      if (g_str_equal (sandbox_report_step_get_name (step), "landlock") && !sandbox_report_step_get_ok (step))
        sandbox_bubblewrap_backend_add_gap (report, sandbox_report_step_get_consequence (step));
    }
  if (trial->probe->failed != NULL)
    {
      g_autofree char *gap = g_strdup_printf ("A command ran, but the step “%s” failed after it: sessions may fail later",
                                              sandbox_report_step_get_name (trial->probe->failed));

      sandbox_bubblewrap_backend_add_gap (report, gap);
    }
}

/* Case 64: what is not there is not passed over. */
static SandboxReportStep *
sandbox_bubblewrap_backend_make_disk_step (void)
{
  SandboxReportStep *step = sandbox_report_step_new ("disk", FALSE);

  sandbox_report_step_set_evidence (step, "Nothing here bounds what commands write into their workspace");
  sandbox_report_step_set_consequence (step, "Commands can fill the disk that the workspace is on; sessions can be stopped and deleted then all the same");
  sandbox_report_step_set_remedy (step, "Keep workspaces on a file system of their own, or set a quota there");

  return step;
}

static SandboxReportStep *
sandbox_bubblewrap_backend_make_slots_step (SandboxBubblewrapTrial *trial)
{
  SandboxReportStep *step = sandbox_report_step_new ("slots", trial->slots.nested);
  const char        *obstacle = sandbox_bubblewrap_launch_get_obstacle (trial->launch, trial->slots.isolation);
  g_autofree char   *evidence = NULL;

  if (trial->slots.nested)
    {
      sandbox_report_step_set_evidence (step, "The command ran in a slot: in namespaces of its own, inside a sandbox of the session");
      return step;
    }

  if (obstacle != NULL)
    evidence = g_strdup_printf ("The profile does not go with slots: %s", obstacle);
  sandbox_report_step_set_evidence (step, evidence != NULL ? evidence : "Namespaces inside a sandbox cannot be made, or not furnished, on this host");
  sandbox_report_step_set_consequence (step, "Each command has a sandbox by bwrap, which is as tight and takes longer to start");
  sandbox_report_step_set_remedy (step, "Run this program where a procfs can be mounted in a user namespace, with the default “identity”, nothing of the workspace protected, and a “workspace-target” outside of /tmp");

  return step;
}

static void
sandbox_bubblewrap_backend_probed (SandboxBubblewrapTrial *trial,
                                   SandboxDriver          *driver,
                                   const GError           *error)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (error == NULL ? SANDBOX_GRADE_FULL : SANDBOX_GRADE_UNAVAILABLE);
  g_autoptr (SandboxReportStep) step = sandbox_report_step_new ("sandbox", error == NULL);
  g_autoptr (SandboxReportStep) disk = sandbox_bubblewrap_backend_make_disk_step ();
  gboolean is_good = FALSE;

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      sandbox_request_return_error (trial->request, error);
      return;
    }

  for (guint i = 0; trial->probe != NULL && i < trial->probe->steps->len; i++)
    {
      SandboxReportStep *known = trial->probe->steps->pdata[i];

      /* That the kernel takes a filter is less than that each call was refused. */
      if (trial->filter != NULL && g_str_equal (sandbox_report_step_get_name (known), "filter"))
        known = trial->filter;
      sandbox_report_add_step (report, known);
    }
  if (trial->identity != NULL)
    sandbox_report_add_step (report, trial->identity);
  if (trial->control_groups != NULL)
    sandbox_report_add_step (report, trial->control_groups);
  sandbox_report_add_step (report, disk);
  sandbox_report_step_set_evidence (step, error == NULL ? "A command ran in a sandbox and exited with status 0" : error->message);
  if (error != NULL)
    {
      sandbox_report_step_set_consequence (step, "No session of this profile can be created");
      sandbox_report_set_reason (report, error->message);
    }
  else
    {
      sandbox_report_set_restrictions (report, sandbox_bubblewrap_restrictions_get (trial->profile, NULL));
      sandbox_bubblewrap_backend_add_gaps (trial, report);
    }
  sandbox_report_add_step (report, step);
  if (error == NULL && trial->wanted.nested)
    {
      g_autoptr (SandboxReportStep) slots = sandbox_bubblewrap_backend_make_slots_step (trial);

      sandbox_report_add_step (report, slots);
    }

  /* A profile of its own says nothing of the default one but that building has failed, as part of it may have. */
  is_good = error == NULL && trial->probe->failed == NULL;
  if (!is_good || trial->is_default)
    sandbox_bubblewrap_backend_keep_report (SANDBOX_BUBBLEWRAP_BACKEND (trial->backend), is_good ? report : NULL, trial->stamp);
  sandbox_request_return_object (trial->request, G_OBJECT (report));
}

static gboolean
sandbox_bubblewrap_backend_check_limits (SandboxBubblewrapBackend *self,
                                         SandboxLimits            *limits,
                                         GError                  **error)
{
  g_autoptr (SandboxControlGroup) group = NULL;

  if (sandbox_agent_driver_check_limits (limits, NULL, NULL))
    return TRUE;
  group = sandbox_bubblewrap_backend_ref_control_group (self, NULL);

  return sandbox_agent_driver_check_limits (limits, group, error);
}

/* What a session would find out by the open program. */
static gboolean
sandbox_bubblewrap_backend_uses_set_user_id (const char     *executable,
                                             SandboxProfile *profile)
{
  GStatBuf info;

  return sandbox_profile_get_launcher_uid (profile) != -1 && g_stat (executable, &info) == 0 && (info.st_mode & S_ISUID) != 0;
}

static char *
sandbox_bubblewrap_backend_plan (SandboxBackend       *backend,
                                 SandboxCommand       *command,
                                 SandboxCreateOptions *options,
                                 GError              **error)
{
  SandboxBubblewrapBackend *self = SANDBOX_BUBBLEWRAP_BACKEND (backend);
  SandboxNetworkPolicy     *policy = sandbox_create_options_get_network (options);
  SandboxRestrictions       required = SANDBOX_RESTRICTIONS_NONE;
  g_autoptr (SandboxProfile) profile = sandbox_bubblewrap_backend_ref_profile (options, &required);
  const SandboxBubblewrapManner  manner = sandbox_bubblewrap_trial_get_manner (profile);
  const SandboxBubblewrapNetwork network = sandbox_bubblewrap_network_get (policy);
  SandboxBubblewrapNamespaces    namespaces = {
       .share_network = network == SANDBOX_BUBBLEWRAP_NETWORK_HOST,
       .guest_uid = sandbox_profile_get_guest_uid (profile),
       .guest_gid = sandbox_profile_get_guest_gid (profile),
  };
  g_autoptr (SandboxBubblewrapSources) sources = NULL;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autoptr (GBytes) arguments = NULL;
  g_auto (GStrv) environment = NULL;
  g_autofree char *executable = sandbox_bubblewrap_backend_dup_executable (self);
  const char      *workspace_path = sandbox_create_options_get_workspace_path (options);
  gboolean         is_mapped = FALSE;

  if (!sandbox_bubblewrap_restrictions_check (required, profile, policy, error) ||
      !sandbox_bubblewrap_backend_check_limits (self, sandbox_profile_get_limits (profile), error) ||
      !sandbox_bubblewrap_backend_check_limits (self, sandbox_command_get_limits (command), error))
    return NULL;

  if (workspace_path != NULL)
    {
      g_autoptr (SandboxWorkspace) workspace = sandbox_workspace_new (workspace_path, error);

      if (workspace == NULL)
        return NULL;
    }

  /* The identity is claimed with a session, so here it is the one that commands of a root host usually have. */
  sources = sandbox_bubblewrap_sources_new (profile, workspace_path, sandbox_backend_get_state_directory (backend), NULL,
                                            manner.bind, error);
  if (sources == NULL)
    return NULL;
  namespaces.set_user_id = sandbox_bubblewrap_backend_uses_set_user_id (executable, profile);
  if (!sandbox_bubblewrap_network_check (network, namespaces.set_user_id, error))
    return NULL;
  if (namespaces.set_user_id)
    sandbox_bubblewrap_sources_seal_proc (sources);
  is_mapped = geteuid () == 0 && !namespaces.set_user_id && sandbox_profile_get_identity (profile) != SANDBOX_IDENTITY_HOST;
  plan = sandbox_bubblewrap_sources_plan (sources, profile, manner.proc, namespaces.share_network,
                                          is_mapped ? SANDBOX_BUBBLEWRAP_BIND_BY_AGENT : manner.bind,
                                          workspace_path != NULL ? workspace_path : MANAGED, error);
  if (plan == NULL)
    return NULL;

  arguments = sandbox_bubblewrap_arguments_new (&namespaces, plan);
  environment = sandbox_bubblewrap_driver_make_environment (profile);

  return sandbox_bubblewrap_plan_to_json (plan, executable, arguments, command, (const char *const *) environment,
                                          profile, network);
}

/* Of a profile that asks for what is never enforced here, nothing has to be tried. */
static SandboxReport *
sandbox_bubblewrap_backend_refuse_profile (SandboxProfile *profile)
{
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (SandboxReportStep) step = NULL;
  g_autoptr (GError) error = NULL;

  if (sandbox_bubblewrap_restrictions_check (sandbox_profile_get_required (profile), profile, NULL, &error))
    return NULL;

  report = sandbox_report_new (SANDBOX_GRADE_UNAVAILABLE);
  sandbox_report_set_reason (report, error->message);
  step = sandbox_report_step_new ("profile", FALSE);
  sandbox_report_step_set_evidence (step, error->message);
  sandbox_report_step_set_consequence (step, "No session of this profile can be created");
  sandbox_report_step_set_remedy (step, "Ask for less, or use another backend");
  sandbox_report_add_step (report, step);

  return g_steal_pointer (&report);
}

static gboolean
sandbox_bubblewrap_backend_probe (SandboxBackend *backend,
                                  SandboxProfile *profile,
                                  SandboxRequest *request,
                                  GError        **error)
{
  SandboxBubblewrapBackend *self = SANDBOX_BUBBLEWRAP_BACKEND (backend);
  g_autoptr (SandboxReport) known = NULL;
  g_autoptr (SandboxWorkspace) workspace = NULL;
  g_autofree char *executable = sandbox_bubblewrap_backend_dup_executable (self);
  g_autofree char *stamp = sandbox_bubblewrap_probe_stamp (executable);
  g_autofree char *directory = NULL;
  g_autoptr (GError) failure = NULL;
  const SandboxBubblewrapRange range = sandbox_bubblewrap_backend_get_range (self);
  const SandboxBubblewrapSlots slots = sandbox_bubblewrap_backend_get_slots (self, NULL);

  if (!sandbox_bubblewrap_backend_check_range (&range, error))
    return FALSE;
  if (profile != NULL)
    known = sandbox_bubblewrap_backend_refuse_profile (profile);
  g_mutex_lock (&self->lock);
  if (profile == NULL && g_strcmp0 (stamp, self->stamp) == 0)
    g_set_object (&known, self->report);
  g_mutex_unlock (&self->lock);
  if (known != NULL)
    {
      sandbox_request_return_object (request, G_OBJECT (known));
      return TRUE;
    }

  directory = g_dir_make_tmp ("sandbox-probe-XXXXXX", &failure);
  if (directory != NULL)
    sandbox_bubblewrap_identity_give_away (directory, profile, &range);
  workspace = directory != NULL ? sandbox_workspace_new (directory, &failure) : NULL;
  if (workspace == NULL)
    {
      if (directory != NULL)
        g_rmdir (directory);
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "There is no temporary directory to probe in: %s", failure->message);
      return FALSE;
    }

  sandbox_bubblewrap_trial_begin (backend, executable, &range, workspace, profile, NULL, SANDBOX_RESTRICTIONS_NONE, &slots, g_steal_pointer (&directory),
                                  sandbox_bubblewrap_backend_probed, request);

  return TRUE;
}

static void
sandbox_bubblewrap_backend_set_uid (SandboxBubblewrapBackend *self,
                                    guint                    *place,
                                    guint                     uid,
                                    GParamSpec               *property)
{
  gboolean changed = FALSE;

  g_mutex_lock (&self->lock);
  changed = *place != uid;
  *place = uid;
  if (changed)
    g_clear_pointer (&self->stamp, g_free); /* what is known is of other ids */
  g_mutex_unlock (&self->lock);
  if (changed)
    g_object_notify_by_pspec (G_OBJECT (self), property);
}

static void
sandbox_bubblewrap_backend_get_property (GObject    *object,
                                         guint       prop_id,
                                         GValue     *value,
                                         GParamSpec *pspec)
{
  SandboxBubblewrapBackend *self = SANDBOX_BUBBLEWRAP_BACKEND (object);

  switch ((SandboxBubblewrapBackendProps) prop_id)
    {
    case PROP_EXECUTABLE:
      g_mutex_lock (&self->lock);
      g_value_set_string (value, self->executable);
      g_mutex_unlock (&self->lock);
      break;

    case PROP_CONTROL_GROUP:
      g_mutex_lock (&self->lock);
      g_value_set_string (value, self->control_group_path);
      g_mutex_unlock (&self->lock);
      break;

    case PROP_FIRST_UID:
      g_value_set_uint (value, sandbox_bubblewrap_backend_get_range (self).first);
      break;

    case PROP_LAST_UID:
      g_value_set_uint (value, sandbox_bubblewrap_backend_get_range (self).last);
      break;

    case PROP_NESTED:
      g_mutex_lock (&self->lock);
      g_value_set_boolean (value, self->nested);
      g_mutex_unlock (&self->lock);
      break;

    case PROP_ARMED_SLOTS:
      g_mutex_lock (&self->lock);
      g_value_set_uint (value, self->armed_slots);
      g_mutex_unlock (&self->lock);
      break;
    }
}

static void
sandbox_bubblewrap_backend_set_property (GObject      *object,
                                         guint         prop_id,
                                         const GValue *value,
                                         GParamSpec   *pspec)
{
  SandboxBubblewrapBackend *self = SANDBOX_BUBBLEWRAP_BACKEND (object);
  const char               *executable = NULL;
  const char               *path = NULL;
  gboolean                  changed = FALSE;

  switch ((SandboxBubblewrapBackendProps) prop_id)
    {
    case PROP_EXECUTABLE:
      executable = g_value_get_string (value) != NULL ? g_value_get_string (value) : DEFAULT_EXECUTABLE;
      g_mutex_lock (&self->lock);
      changed = g_strcmp0 (self->executable, executable) != 0;
      if (changed)
        {
          g_free (self->executable);
          self->executable = g_strdup (executable);
        }
      g_mutex_unlock (&self->lock);
      if (changed)
        g_object_notify_by_pspec (object, properties[PROP_EXECUTABLE]);
      break;

    case PROP_CONTROL_GROUP:
      path = g_value_get_string (value);
      g_mutex_lock (&self->lock);
      changed = g_strcmp0 (self->control_group_path, path) != 0;
      if (changed)
        {
          g_free (self->control_group_path);
          self->control_group_path = g_strdup (path);
          g_clear_object (&self->report);
          self->group_wanted++;
        }
      g_mutex_unlock (&self->lock);
      if (changed)
        g_object_notify_by_pspec (object, properties[PROP_CONTROL_GROUP]);
      break;

    case PROP_FIRST_UID:
      sandbox_bubblewrap_backend_set_uid (self, &self->range.first, g_value_get_uint (value), properties[PROP_FIRST_UID]);
      break;

    case PROP_LAST_UID:
      sandbox_bubblewrap_backend_set_uid (self, &self->range.last, g_value_get_uint (value), properties[PROP_LAST_UID]);
      break;

    case PROP_NESTED:
      g_mutex_lock (&self->lock);
      changed = self->nested != g_value_get_boolean (value);
      self->nested = g_value_get_boolean (value);
      if (changed)
        g_clear_pointer (&self->stamp, g_free); /* what is known is of the other way */
      g_mutex_unlock (&self->lock);
      if (changed)
        g_object_notify_by_pspec (object, properties[PROP_NESTED]);
      break;

    case PROP_ARMED_SLOTS:
      g_mutex_lock (&self->lock);
      changed = self->armed_slots != g_value_get_uint (value);
      self->armed_slots = g_value_get_uint (value);
      g_mutex_unlock (&self->lock);
      if (changed)
        g_object_notify_by_pspec (object, properties[PROP_ARMED_SLOTS]);
      break;
    }
}

static void
sandbox_bubblewrap_backend_finalize (GObject *object)
{
  SandboxBubblewrapBackend *self = SANDBOX_BUBBLEWRAP_BACKEND (object);

  g_clear_object (&self->report);
  g_clear_pointer (&self->stamp, g_free);
  g_clear_pointer (&self->executable, g_free);
  g_clear_pointer (&self->control_group_path, g_free);
  g_clear_object (&self->control_group);
  g_clear_pointer (&self->group_failure, g_free);
  g_mutex_clear (&self->group_lock);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (sandbox_bubblewrap_backend_parent_class)->finalize (object);
}

static void
sandbox_bubblewrap_backend_class_init (SandboxBubblewrapBackendClass *klass)
{
  GObjectClass        *object_class = G_OBJECT_CLASS (klass);
  SandboxBackendClass *backend_class = SANDBOX_BACKEND_CLASS (klass);

  object_class->get_property = sandbox_bubblewrap_backend_get_property;
  object_class->set_property = sandbox_bubblewrap_backend_set_property;
  object_class->finalize = sandbox_bubblewrap_backend_finalize;
  backend_class->probe = sandbox_bubblewrap_backend_probe;
  backend_class->create_driver = sandbox_bubblewrap_backend_create_driver;
  backend_class->plan = sandbox_bubblewrap_backend_plan;
  backend_class->get_storage = sandbox_bubblewrap_backend_get_storage;
  backend_class->try_overlay = sandbox_bubblewrap_backend_try_overlay;
  backend_class->check_overlay = sandbox_bubblewrap_backend_check_overlay;

  /**
   * SandboxBubblewrapBackend:executable:
   *
   * The absolute path of bwrap. It counts for sessions that are created later.
   *
   * Since: 1.0
   */
  properties[PROP_EXECUTABLE] =
      g_param_spec_string ("executable", NULL, NULL, DEFAULT_EXECUTABLE,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxBubblewrapBackend:control-group:
   *
   * The absolute path of a cgroup2 directory in which sandboxes get control groups, for limits of memory, tasks and
   * processor share. %NULL: the nearest that is delegated to this program, if there is one. It counts for sessions that
   * are created later. See [ctor@Sandbox.ControlGroup.new].
   *
   * Since: 1.0
   */
  properties[PROP_CONTROL_GROUP] =
      g_param_spec_string ("control-group", NULL, NULL, NULL,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxBubblewrapBackend:first-uid:
   *
   * The first of the user and group ids that sessions of a root host have. It has the files that the library keeps, so
   * it stays the same as long as there is a state directory; the others up to
   * [property@Sandbox.BubblewrapBackend:last-uid] have sessions. None may belong to anybody else.
   *
   * The default is 61184, where the range of systemd for users made at run time begins.
   *
   * Since: 1.0
   */
  properties[PROP_FIRST_UID] =
      g_param_spec_uint ("first-uid", NULL, NULL,
                         1, G_MAXINT, SANDBOX_BUBBLEWRAP_FIRST_UID,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxBubblewrapBackend:last-uid:
   *
   * The last of the user and group ids that sessions of a root host have.
   *
   * The default is 65519, the end of that range.
   *
   * Since: 1.0
   */
  properties[PROP_LAST_UID] =
      g_param_spec_uint ("last-uid", NULL, NULL,
                         1, G_MAXINT, SANDBOX_BUBBLEWRAP_LAST_UID,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxBubblewrapBackend:nested:
   *
   * Whether the commands of a session share a sandbox by bwrap, in which each has a slot: namespaces, `/proc`, `/tmp`,
   * Landlock rules and filter of its own, used once. Else, and where that cannot be had, each command has a
   * sandbox by bwrap, which is as tight and takes longer to start. So has each command with a limit that needs a control
   * group.
   *
   * It cannot be had on some hosts, with a bwrap that is set-user-ID, and with a profile that makes commands root, protects
   * a part of the workspace, or has its [property@Sandbox.Profile:workspace-target] in `/tmp` (but with
   * %SANDBOX_ISOLATION_SHARED). The step `slots` of what [method@Sandbox.Backend.probe] reports for the profile tells.
   *
   * With slots the limit [property@Sandbox.Limits:processes] counts all commands of a session that run at a time
   * together, as the kernel counts them for a user in a user namespace. What the library runs there for itself comes
   * on top.
   *
   * It counts for sessions that are created later. The default is %TRUE.
   *
   * Since: 1.0
   */
  properties[PROP_NESTED] =
      g_param_spec_boolean ("nested", NULL, NULL, DEFAULT_NESTED,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxBubblewrapBackend:armed-slots:
   *
   * How many slots of each session wait for commands, which is what makes these as fast as without a sandbox. One
   * takes about a hundred KiB of memory, and half a millisecond when it has to be made for a command that waits.
   *
   * It counts for sessions that are created later. The default is 2.
   *
   * Since: 1.0
   */
  properties[PROP_ARMED_SLOTS] =
      g_param_spec_uint ("armed-slots", NULL, NULL, 0, SANDBOX_AGENT_DRIVER_MAX_ARMED_SLOTS, DEFAULT_ARMED_SLOTS,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_bubblewrap_backend_class_finalize (SandboxBubblewrapBackendClass *klass)
{
}

static void
sandbox_bubblewrap_backend_init (SandboxBubblewrapBackend *self)
{
  g_mutex_init (&self->lock);
  g_mutex_init (&self->group_lock);
  self->executable = g_strdup (DEFAULT_EXECUTABLE);
  self->range = (SandboxBubblewrapRange){ SANDBOX_BUBBLEWRAP_FIRST_UID, SANDBOX_BUBBLEWRAP_LAST_UID };
  self->group_wanted = 1;
  self->nested = DEFAULT_NESTED;
  self->armed_slots = DEFAULT_ARMED_SLOTS;
}

void
sandbox_bubblewrap_backend_register (GTypeModule *module)
{
  sandbox_bubblewrap_backend_register_type (module);
}
