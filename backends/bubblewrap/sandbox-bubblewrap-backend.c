/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-backend.h"

#include "sandbox-bubblewrap-arguments.h"
#include "sandbox-bubblewrap-driver.h"
#include "sandbox-bubblewrap-launch.h"
#include "sandbox-bubblewrap-plan-json.h"
#include "sandbox-bubblewrap-sources.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define DEFAULT_EXECUTABLE "/usr/bin/bwrap"
/* A program that every root view has, to prove that one runs. */
#define PROOF "true"
/* A bwrap that does not know an option says so at once; one that hangs is not tried a second time. */
#define REFUSAL_US (5 * G_USEC_PER_SEC)

/**
 * SandboxBubblewrapBackend:
 *
 * Sandboxes by bubblewrap: one for each command, with an agent as process 1.
 *
 * Since: 1.0
 */

struct _SandboxBubblewrapBackend
{
  SandboxBackend parent_instance;

  GMutex         lock; /* guards what follows */
  char          *executable;
  SandboxReport *report; /* the last good one for the default profile */
};

typedef enum
{
  PROP_EXECUTABLE = 1,
} SandboxBubblewrapBackendProps;

static GParamSpec *properties[PROP_EXECUTABLE + 1];

/* clang-format off */
G_DEFINE_DYNAMIC_TYPE_EXTENDED (SandboxBubblewrapBackend, sandbox_bubblewrap_backend, SANDBOX_TYPE_BACKEND, G_TYPE_FLAG_FINAL, )
/* clang-format on */

/* A driver in the making: open what it needs (which may block), then prove that a command runs in it. The
 * steps stand last to first. It is answered by @done, once. */
typedef struct _SandboxBubblewrapTrial SandboxBubblewrapTrial;

typedef void (*SandboxBubblewrapTrialFunc) (SandboxBubblewrapTrial *trial,
                                            SandboxDriver          *driver,
                                            const GError           *error);

struct _SandboxBubblewrapTrial
{
  SandboxBubblewrapBackend  *backend;
  SandboxRequest            *request;
  char                      *executable;
  SandboxWorkspace          *workspace;
  SandboxProfile            *profile;
  SandboxNetworkPolicy      *policy; /* nullable */
  SandboxBubblewrapTrialFunc done;
  char                      *directory;  /* a workspace of our own, removed at the end; nullable */
  gboolean                   is_default; /* no profile was given */

  GCancellable            *cancellable;
  gint64                   began_us; /* the proof; monotonic */
  SandboxBubblewrapManner  manner;
  SandboxBubblewrapLaunch *launch;
  SandboxDriver           *driver;
};

static void
sandbox_bubblewrap_trial_free (SandboxBubblewrapTrial *trial)
{
  if (trial->directory != NULL)
    g_rmdir (trial->directory);
  g_clear_pointer (&trial->launch, sandbox_bubblewrap_launch_unref);
  g_clear_object (&trial->driver);
  g_clear_object (&trial->cancellable);
  g_clear_object (&trial->policy);
  g_clear_object (&trial->profile);
  g_clear_object (&trial->workspace);
  g_clear_object (&trial->request);
  g_clear_object (&trial->backend);
  g_free (trial->executable);
  g_free (trial->directory);
  g_free (trial);
}

static void
sandbox_bubblewrap_trial_end (SandboxBubblewrapTrial *trial,
                              SandboxDriver          *driver,
                              const GError           *error)
{
  trial->done (trial, driver, error);
  sandbox_bubblewrap_trial_free (trial);
}

static void sandbox_bubblewrap_trial_prepare (SandboxBubblewrapTrial *trial);

/* The next way to build it, each a little less than the one before but within what the profile allows. None is
 * left when this is FALSE. */
static gboolean
sandbox_bubblewrap_trial_fall_back (SandboxBubblewrapTrial *trial)
{
  SandboxBubblewrapManner *manner = &trial->manner;

  /* A bwrap without --bind-fd says so by failing; by path the agent verifies what it finds. */
  if (sandbox_bubblewrap_launch_binds_by_fd (trial->launch))
    {
      manner->bind = SANDBOX_BUBBLEWRAP_BIND_BY_PATH;
      return TRUE;
    }

  manner->bind = SANDBOX_BUBBLEWRAP_BIND_BY_FD;
  if (manner->proc == SANDBOX_PROC_MODE_FRESH && sandbox_profile_get_proc (trial->profile) == SANDBOX_PROC_MODE_AUTO)
    {
      manner->proc = SANDBOX_PROC_MODE_NONE;
      return TRUE;
    }
  /* Where no procfs can be mounted, further user namespaces are left to the filter. */
  if (manner->proc != SANDBOX_PROC_MODE_FRESH && manner->forbid_userns)
    {
      manner->forbid_userns = FALSE;
      return TRUE;
    }

  return FALSE;
}

static void
sandbox_bubblewrap_trial_ran_cb (GObject      *object,
                                 GAsyncResult *result,
                                 gpointer      user_data)
{
  SandboxBubblewrapTrial *trial = user_data;
  g_autoptr (SandboxResult) proof = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) failed = NULL;

  proof = sandbox_session_run_finish (SANDBOX_SESSION (object), result, &error);
  if (proof != NULL && !sandbox_result_check (proof, &failed))
    g_set_error (&error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox was built, but “%s” did not run in it: %s", PROOF, failed->message);

  /* A custom view need not have any program. That one was looked for proves the rest. */
  if (sandbox_profile_get_view (trial->profile) == SANDBOX_VIEW_CUSTOM &&
      g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND))
    g_clear_error (&error);

  if (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE) &&
      g_get_monotonic_time () - trial->began_us < REFUSAL_US &&
      sandbox_bubblewrap_trial_fall_back (trial))
    {
      g_clear_pointer (&trial->launch, sandbox_bubblewrap_launch_unref);
      g_clear_object (&trial->driver);
      sandbox_bubblewrap_trial_prepare (trial);
      return;
    }

  sandbox_bubblewrap_trial_end (trial, error == NULL ? trial->driver : NULL, error);
}

static void
sandbox_bubblewrap_trial_prove (SandboxBubblewrapTrial *trial)
{
  const char *const argv[] = { PROOF, NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxSession) session = NULL;
  g_autoptr (GError) error = NULL;

  trial->driver = sandbox_bubblewrap_driver_new (trial->launch, trial->workspace, trial->profile, trial->policy);
  session = sandbox_session_new_for_driver (trial->driver, &error);
  if (session == NULL)
    {
      sandbox_bubblewrap_trial_end (trial, NULL, error);
      return;
    }

  trial->began_us = g_get_monotonic_time ();
  sandbox_session_run_async (session, command, trial->cancellable, sandbox_bubblewrap_trial_ran_cb, trial);
}

static void
sandbox_bubblewrap_trial_open (GTask        *task,
                               gpointer      source_object,
                               gpointer      task_data,
                               GCancellable *cancellable)
{
  SandboxBubblewrapTrial *trial = task_data;
  GError                 *error = NULL;

  trial->launch = sandbox_bubblewrap_launch_new (trial->executable, trial->workspace, trial->profile,
                                                 sandbox_backend_get_state_directory (SANDBOX_BACKEND (trial->backend)),
                                                 &trial->manner, &error);
  if (trial->launch == NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

static void
sandbox_bubblewrap_trial_opened_cb (GObject      *object,
                                    GAsyncResult *result,
                                    gpointer      user_data)
{
  SandboxBubblewrapTrial *trial = user_data;
  g_autoptr (GError) error = NULL;

  if (!g_task_propagate_boolean (G_TASK (result), &error))
    sandbox_bubblewrap_trial_end (trial, NULL, error);
  else
    sandbox_bubblewrap_trial_prove (trial);
}

static void
sandbox_bubblewrap_trial_prepare (SandboxBubblewrapTrial *trial)
{
  g_autoptr (GTask) task = g_task_new (trial->backend, NULL, sandbox_bubblewrap_trial_opened_cb, trial);

  g_task_set_source_tag (task, sandbox_bubblewrap_trial_prepare);
  g_task_set_task_data (task, trial, NULL);
  if (sandbox_request_may_block (trial->request))
    sandbox_bubblewrap_trial_open (task, trial->backend, trial, NULL);
  else
    g_task_run_in_thread (task, sandbox_bubblewrap_trial_open);
}

/* The best way to build what @profile wants. */
static SandboxBubblewrapManner
sandbox_bubblewrap_backend_get_manner (SandboxProfile *profile)
{
  SandboxProcMode proc = sandbox_profile_get_proc (profile);

  return (SandboxBubblewrapManner){
    .bind = SANDBOX_BUBBLEWRAP_BIND_BY_FD,
    .proc = proc == SANDBOX_PROC_MODE_AUTO ? SANDBOX_PROC_MODE_FRESH : proc,
    .forbid_userns = TRUE,
  };
}

/* Takes @directory. */
static void
sandbox_bubblewrap_trial_begin (SandboxBubblewrapBackend  *backend,
                                SandboxWorkspace          *workspace,
                                SandboxProfile            *profile,
                                SandboxNetworkPolicy      *policy,
                                char                      *directory,
                                SandboxBubblewrapTrialFunc done,
                                SandboxRequest            *request)
{
  SandboxBubblewrapTrial *trial = g_new0 (SandboxBubblewrapTrial, 1);

  trial->backend = g_object_ref (backend);
  trial->request = g_object_ref (request);
  trial->workspace = g_object_ref (workspace);
  trial->profile = profile != NULL ? g_object_ref (profile) : sandbox_profile_new ();
  trial->is_default = profile == NULL;
  g_set_object (&trial->policy, policy);
  trial->directory = directory;
  trial->done = done;
  trial->manner = sandbox_bubblewrap_backend_get_manner (trial->profile);
  trial->manner.is_probe = directory != NULL;
  trial->cancellable = g_cancellable_new ();
  g_mutex_lock (&backend->lock);
  trial->executable = g_strdup (backend->executable);
  g_mutex_unlock (&backend->lock);

  g_signal_connect_object (request, "cancelled", G_CALLBACK (g_cancellable_cancel), trial->cancellable, G_CONNECT_SWAPPED);
  sandbox_bubblewrap_trial_prepare (trial);
}

static void
sandbox_bubblewrap_backend_created (SandboxBubblewrapTrial *trial,
                                    SandboxDriver          *driver,
                                    const GError           *error)
{
  if (error != NULL)
    {
      /* What could not be built may be built no more: the next probe looks anew. */
      g_mutex_lock (&trial->backend->lock);
      g_clear_object (&trial->backend->report);
      g_mutex_unlock (&trial->backend->lock);
      sandbox_request_return_error (trial->request, error);
    }
  else
    sandbox_request_return_object (trial->request, G_OBJECT (driver));
}

/* Whether @path is of the programs of the host, which each view shows. */
static gboolean
sandbox_bubblewrap_backend_is_program (const char *path)
{
  static const char *const roots[] = { "/usr/", "/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/" };
  g_autofree char         *whole = g_strconcat (path, "/", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    {
      if (g_str_has_prefix (whole, roots[i]))
        return TRUE;
    }

  return FALSE;
}

/* What @profile leaves of all. */
static SandboxRestrictions
sandbox_bubblewrap_backend_get_restrictions (SandboxProfile       *profile,
                                             SandboxNetworkPolicy *policy)
{
  SandboxRestrictions restrictions = SANDBOX_RESTRICTIONS_WRITE_CONTAINED |
                                     SANDBOX_RESTRICTIONS_SECRETS_HIDDEN |
                                     SANDBOX_RESTRICTIONS_PROCESS_CONTAINED;
  GListModel *mounts = profile != NULL ? sandbox_profile_get_mounts (profile) : NULL;

  /* Of /etc and /opt it can only be said who may read them, not what is in there. */
  if (profile != NULL && sandbox_profile_get_view (profile) == SANDBOX_VIEW_SYSTEM)
    restrictions &= ~SANDBOX_RESTRICTIONS_SECRETS_HIDDEN;
  for (guint i = 0; mounts != NULL && i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);
      const char *source = sandbox_mount_get_source (mount);

      if (sandbox_mount_get_mode (mount) == SANDBOX_MOUNT_MODE_READ_WRITE)
        restrictions &= ~SANDBOX_RESTRICTIONS_WRITE_CONTAINED;
      if (source != NULL && !sandbox_bubblewrap_backend_is_program (source))
        restrictions &= ~SANDBOX_RESTRICTIONS_SECRETS_HIDDEN;
    }
  if (policy == NULL || sandbox_network_policy_get_mode (policy) != SANDBOX_NETWORK_MODE_ALLOW_ALL)
    restrictions |= SANDBOX_RESTRICTIONS_NETWORK_DENIED;

  return restrictions;
}

static gboolean
sandbox_bubblewrap_backend_check_required (SandboxCreateOptions *options,
                                           GError              **error)
{
  SandboxProfile     *profile = sandbox_create_options_get_profile (options);
  SandboxRestrictions required = sandbox_create_options_get_required (options);
  SandboxRestrictions missing = SANDBOX_RESTRICTIONS_NONE;
  g_autofree char    *names = NULL;

  if (profile != NULL)
    required |= sandbox_profile_get_required (profile);
  missing = required & ~sandbox_bubblewrap_backend_get_restrictions (profile, sandbox_create_options_get_network (options));
  if (missing == SANDBOX_RESTRICTIONS_NONE)
    return TRUE;

  names = g_flags_to_string (SANDBOX_TYPE_RESTRICTIONS, missing);
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "What is required cannot be enforced with this network policy, view and mounts: %s", names);

  return FALSE;
}

static gboolean
sandbox_bubblewrap_backend_check_workspace (gboolean given,
                                            GError **error)
{
  if (!given)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                         "The options name no workspace-path, and this backend keeps no workspaces of its own");

  return given;
}

static gboolean
sandbox_bubblewrap_backend_create_driver (SandboxBackend       *backend,
                                          SandboxCreateOptions *options,
                                          SandboxWorkspace     *workspace,
                                          SandboxRequest       *request,
                                          GError              **error)
{
  SandboxNetworkPolicy *policy = sandbox_create_options_get_network (options);

  if (!sandbox_bubblewrap_backend_check_workspace (workspace != NULL, error) ||
      !sandbox_bubblewrap_backend_check_required (options, error) ||
      (policy != NULL && !sandbox_bubblewrap_driver_check_policy (policy, error)))
    return FALSE;

  sandbox_bubblewrap_trial_begin (SANDBOX_BUBBLEWRAP_BACKEND (backend), workspace,
                                  sandbox_create_options_get_profile (options), policy, NULL,
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

/* What the sandbox has less than it could have elsewhere. */
static void
sandbox_bubblewrap_backend_add_gaps (SandboxBubblewrapTrial *trial,
                                     SandboxReport          *report)
{
  if (sandbox_profile_get_proc (trial->profile) == SANDBOX_PROC_MODE_AUTO && trial->manner.proc == SANDBOX_PROC_MODE_NONE)
    sandbox_bubblewrap_backend_add_gap (report, "No procfs can be mounted on this host: commands have none");
  if (!trial->manner.forbid_userns)
    sandbox_bubblewrap_backend_add_gap (report, "Further user namespaces are forbidden by the system call filter alone");
}

static void
sandbox_bubblewrap_backend_probed (SandboxBubblewrapTrial *trial,
                                   SandboxDriver          *driver,
                                   const GError           *error)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (error == NULL ? SANDBOX_GRADE_FULL : SANDBOX_GRADE_UNAVAILABLE);
  g_autoptr (SandboxReportStep) step = sandbox_report_step_new ("sandbox", error == NULL);

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      sandbox_request_return_error (trial->request, error);
      return;
    }

  sandbox_report_step_set_evidence (step, error == NULL ? "A command ran in a sandbox and exited with status 0" : error->message);
  if (error != NULL)
    {
      sandbox_report_step_set_consequence (step, "No session can be created");
      sandbox_report_set_reason (report, error->message);
    }
  sandbox_report_add_step (report, step);
  if (error == NULL)
    {
      sandbox_report_set_restrictions (report, sandbox_bubblewrap_backend_get_restrictions (trial->profile, NULL));
      sandbox_bubblewrap_backend_add_gaps (trial, report);
    }

  g_mutex_lock (&trial->backend->lock);
  if (error != NULL || trial->is_default)
    g_clear_object (&trial->backend->report);
  if (error == NULL && trial->is_default)
    trial->backend->report = g_object_ref (report);
  g_mutex_unlock (&trial->backend->lock);

  sandbox_request_return_object (trial->request, G_OBJECT (report));
}

static char *
sandbox_bubblewrap_backend_plan (SandboxBackend       *backend,
                                 SandboxCommand       *command,
                                 SandboxCreateOptions *options,
                                 GError              **error)
{
  SandboxBubblewrapBackend *self = SANDBOX_BUBBLEWRAP_BACKEND (backend);
  SandboxNetworkPolicy     *policy = sandbox_create_options_get_network (options);
  SandboxProfile           *wanted = sandbox_create_options_get_profile (options);
  g_autoptr (SandboxProfile) profile = wanted != NULL ? g_object_ref (wanted) : sandbox_profile_new ();
  const SandboxBubblewrapManner manner = sandbox_bubblewrap_backend_get_manner (profile);
  SandboxBubblewrapNamespaces   namespaces = {
      .share_network = policy != NULL && sandbox_network_policy_get_mode (policy) == SANDBOX_NETWORK_MODE_ALLOW_ALL,
      .guest_uid = sandbox_profile_get_guest_uid (profile),
      .guest_gid = sandbox_profile_get_guest_gid (profile),
  };
  g_autoptr (SandboxBubblewrapSources) sources = NULL;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autoptr (GBytes) arguments = NULL;
  g_auto (GStrv) environment = NULL;
  g_autofree char *executable = NULL;
  const char      *workspace_path = sandbox_create_options_get_workspace_path (options);

  if (!sandbox_bubblewrap_backend_check_workspace (workspace_path != NULL, error) ||
      !sandbox_bubblewrap_backend_check_required (options, error) ||
      (policy != NULL && !sandbox_bubblewrap_driver_check_policy (policy, error)))
    return NULL;

  /* The identity is claimed with a session, so here it is the one that commands of a root host usually have. */
  sources = sandbox_bubblewrap_sources_new (profile, workspace_path, sandbox_backend_get_state_directory (backend), NULL,
                                            manner.bind, error);
  if (sources == NULL)
    return NULL;
  plan = sandbox_bubblewrap_sources_plan (sources, profile, manner.proc, namespaces.share_network,
                                          geteuid () == 0 ? SANDBOX_BUBBLEWRAP_BIND_BY_AGENT : manner.bind,
                                          workspace_path, error);
  if (plan == NULL)
    return NULL;

  arguments = sandbox_bubblewrap_arguments_new (&namespaces, plan);
  environment = sandbox_bubblewrap_driver_make_environment (profile);
  g_mutex_lock (&self->lock);
  executable = g_strdup (self->executable);
  g_mutex_unlock (&self->lock);

  return sandbox_bubblewrap_plan_to_json (plan, executable, arguments, command, (const char *const *) environment,
                                          profile, namespaces.share_network);
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
  g_autofree char *directory = NULL;
  g_autoptr (GError) failure = NULL;

  g_mutex_lock (&self->lock);
  if (profile == NULL)
    g_set_object (&known, self->report);
  g_mutex_unlock (&self->lock);
  if (known != NULL)
    {
      sandbox_request_return_object (request, G_OBJECT (known));
      return TRUE;
    }

  directory = g_dir_make_tmp ("sandbox-probe-XXXXXX", &failure);
  workspace = directory != NULL ? sandbox_workspace_new (directory, &failure) : NULL;
  if (workspace == NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "There is no temporary directory to probe in: %s", failure->message);
      return FALSE;
    }

  sandbox_bubblewrap_trial_begin (self, workspace, profile, NULL, g_steal_pointer (&directory),
                                  sandbox_bubblewrap_backend_probed, request);

  return TRUE;
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
          g_clear_object (&self->report);
        }
      g_mutex_unlock (&self->lock);
      if (changed)
        g_object_notify_by_pspec (object, properties[PROP_EXECUTABLE]);
      break;
    }
}

static void
sandbox_bubblewrap_backend_finalize (GObject *object)
{
  SandboxBubblewrapBackend *self = SANDBOX_BUBBLEWRAP_BACKEND (object);

  g_clear_object (&self->report);
  g_clear_pointer (&self->executable, g_free);
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
  self->executable = g_strdup (DEFAULT_EXECUTABLE);
}

void
sandbox_bubblewrap_backend_register (GTypeModule *module)
{
  sandbox_bubblewrap_backend_register_type (module);
}
