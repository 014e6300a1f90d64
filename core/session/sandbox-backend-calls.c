/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a host asks of a backend; the class that authors derive is in the contract folder. */

#include "sandbox-backend-calls.h"

#include "sandbox-backend-private.h"
#include "sandbox-command-private.h"
#include "sandbox-core-private.h"
#include "sandbox-create-options-private.h"
#include "sandbox-driver-private.h"
#include "sandbox-error-private.h"
#include "sandbox-handle-private.h"
#include "sandbox-network-policy-private.h"
#include "sandbox-network-private.h"
#include "sandbox-paths-private.h"
#include "sandbox-profile-private.h"
#include "sandbox-request-private.h"
#include "sandbox-state-private.h"
#include "sandbox-storage-private.h"
#include "sandbox-worker-private.h"
#include "sandbox-workspace-path.h"
#include "sandbox-workspace.h"

/* Building and proving a sandbox takes real starts of programs, on a busy host too. */
#define CREATE_LIMIT_MS 60000
#define CREATE_CANCEL_GRACE_MS 3000

/**
 * sandbox_backend_probe_async:
 * @self: a backend
 * @profile: (nullable): what is wanted, or %NULL for the default
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the report
 * @user_data: data for @callback
 *
 * Finds out what the backend can enforce on this host, by trying it.
 *
 * That no sandbox can be made is a report too, not an error.
 *
 * Since: 1.0
 */
void
sandbox_backend_probe_async (SandboxBackend     *self,
                             SandboxProfile     *profile,
                             GCancellable       *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer            user_data)
{
  g_autoptr (SandboxRequest) request = NULL;
  g_autoptr (SandboxProfile) frozen = NULL;
  GError  *error = NULL;
  gboolean taken = FALSE;

  g_return_if_fail (SANDBOX_IS_BACKEND (self));
  g_return_if_fail (profile == NULL || SANDBOX_IS_PROFILE (profile));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  request = sandbox_request_new (self, sandbox_backend_probe_async, SANDBOX_TYPE_REPORT,
                                 cancellable, callback, user_data);
  sandbox_request_set_limits (request, CREATE_LIMIT_MS, 0);
  if (!g_cancellable_set_error_if_cancelled (cancellable, &error) &&
      sandbox_backend_check_own (self, &error) &&
      (profile == NULL || sandbox_profile_validate (profile, &error)))
    {
      frozen = profile != NULL ? sandbox_profile_freeze (profile) : NULL;
      taken = SANDBOX_BACKEND_GET_CLASS (self)->probe (self, frozen, request, &error);
    }
  sandbox_request_dispatched (request, taken, error);
}

/**
 * sandbox_backend_probe_finish:
 * @self: a backend
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Backend.probe_async].
 *
 * Returns: (transfer full): the report
 *
 * Since: 1.0
 */
SandboxReport *
sandbox_backend_probe_finish (SandboxBackend *self,
                              GAsyncResult   *result,
                              GError        **error)
{
  return sandbox_request_propagate_pointer (result, self, sandbox_backend_probe_async, error);
}

/**
 * sandbox_backend_probe:
 * @self: a backend
 * @profile: (nullable): what is wanted, or %NULL for the default
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Finds out what the backend can enforce on this host. See [method@Sandbox.Backend.probe_async].
 *
 * Returns: (transfer full): the report
 *
 * Since: 1.0
 */
SandboxReport *
sandbox_backend_probe (SandboxBackend *self,
                       SandboxProfile *profile,
                       GCancellable   *cancellable,
                       GError        **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), NULL);

  sandbox_sync_begin (&sync, NULL);
  sandbox_backend_probe_async (self, profile, cancellable, sandbox_sync_cb, &sync);

  return sandbox_backend_probe_finish (self, sandbox_sync_wait (&sync), error);
}

/**
 * sandbox_backend_plan: (virtual plan)
 * @self: a backend
 * @command: what would be run
 * @options: what would be created
 * @error: return location for an error
 *
 * Tells as JSON what would be started, for audits and tests. Starts nothing.
 *
 * Of the environment it has only the names, and of a workspace that the library would make or go on with only that
 * it does: its source is `managed`. The same command and options give the same text as long as
 * the host does not change. The bubblewrap backend tells
 *
 * - `executable` and `arguments`: bwrap, and what it is told; numbers in there are of descriptors,
 * - `command`, `cwd`, `environment`, `timeout-ms` and `limits` (0 for what is unset) of the command,
 * - `view`, `proc` and `self-exe` of the profile,
 * - `mounts`: everything in the guest in the order in which it is put there, with `target`, `source` (a path of the
 *   host, or the text of a link) and `mode`: `read-only`, `read-write`, `mask`, `directory`, `memory` (with its
 *   `bytes`), `link`, `device`, `proc` or `generated`,
 * - `network`: `none` or `host`,
 * - `identity`: `host` is `caller` for commands that run as this user and `session` for those that get a user of
 *   their own, and the user and group that they see as theirs.
 *
 * Fails as a session of these options would when they cannot be had, with %SANDBOX_ERROR_PATH when the working
 * directory is outside of the workspace, and with %SANDBOX_ERROR_NOT_SUPPORTED when the backend does not tell
 * its plans.
 *
 * Returns: (transfer full): the plan
 *
 * Since: 1.0
 */
char *
sandbox_backend_plan (SandboxBackend       *self,
                      SandboxCommand       *command,
                      SandboxCreateOptions *options,
                      GError              **error)
{
  g_autoptr (SandboxCommand) frozen_command = NULL;
  g_autoptr (SandboxCreateOptions) frozen_options = NULL;
  g_autofree char      *bytes = NULL;
  g_autofree char      *cwd = NULL;
  SandboxProfile       *profile = NULL;
  SandboxNetworkPolicy *network = NULL;
  const char *const    *variables = NULL;

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), NULL);
  g_return_val_if_fail (SANDBOX_IS_COMMAND (command), NULL);
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (options), NULL);

  if (!sandbox_backend_check_own (self, error) ||
      !sandbox_command_validate (command, error) ||
      !sandbox_create_options_validate (options, error))
    return NULL;

  frozen_options = sandbox_create_options_freeze (options);
  profile = sandbox_create_options_get_profile (frozen_options);
  bytes = sandbox_path_resolve (sandbox_command_get_cwd (command),
                                profile != NULL ? sandbox_profile_get_workspace_target (profile) : SANDBOX_WORKSPACE_PATH,
                                error);
  if (bytes == NULL)
    return NULL;

  cwd = sandbox_path_escape (bytes);
  network = sandbox_create_options_get_network (frozen_options);
  if (network != NULL && sandbox_network_policy_lists_origins (network) && sandbox_network_policy_get_loopback_door (network))
    variables = sandbox_network_proxy_variables;
  frozen_command = sandbox_command_freeze_for_driver (command, cwd,
                                                      profile != NULL ? sandbox_profile_get_limits (profile) : NULL,
                                                      variables, FALSE);

  return SANDBOX_BACKEND_GET_CLASS (self)->plan (self, frozen_command, frozen_options, error);
}

/* A create: open the workspace (which may block), let the backend make the driver, put a session over it, and a gateway
 * beside it if the policy lists origins. When that fails, what was made on disk is removed before anybody is told. The steps stand last to first. */

typedef struct
{
  SandboxCreateOptions *options;
  SandboxDispatcher    *dispatcher;
  guint                 uid; /* whose what the library keeps is */
  guint                 gid;
  SandboxWorkspace     *workspace;
  SandboxKeptSession   *kept; /* nullable */
  SandboxCore          *core; /* which has what is kept */
  GError               *error;
} SandboxCreate;

static void
sandbox_create_free (gpointer data)
{
  SandboxCreate *create = data;

  g_clear_object (&create->options);
  g_clear_pointer (&create->dispatcher, sandbox_dispatcher_unref);
  g_clear_object (&create->workspace);
  g_clear_pointer (&create->kept, sandbox_kept_session_free);
  g_clear_pointer (&create->core, sandbox_core_unref);
  g_clear_error (&create->error);
  g_free (create);
}

static void
sandbox_backend_undo_create (gpointer data,
                             gpointer user_data)
{
  g_autoptr (GTask) task = data;
  SandboxCreate *create = g_task_get_task_data (task);

  g_clear_object (&create->workspace);
  sandbox_kept_session_undo (create->core != NULL ? sandbox_core_get_kept (create->core) : create->kept);
  g_clear_pointer (&create->kept, sandbox_kept_session_free);
  g_clear_pointer (&create->core, sandbox_core_unref);
  g_task_return_error (task, g_steal_pointer (&create->error));
}

static void
sandbox_backend_end_create (GTask *task)
{
  SandboxCreate *create = g_task_get_task_data (task);
  g_autoptr (SandboxCore) core = g_steal_pointer (&create->core);

  g_task_return_pointer (task, sandbox_handle_new_for_core (core), g_object_unref);
}

/* With the error of the create; @task is taken. */
static void
sandbox_backend_fail_create (GTask   *task_taken,
                             gboolean has_kept)
{
  g_autoptr (GTask) task = task_taken;
  SandboxCreate *create = g_task_get_task_data (task);

  if (has_kept)
    sandbox_storage_run (SANDBOX_POOL_REMOVALS, sandbox_backend_undo_create, g_steal_pointer (&task));
  else
    g_task_return_error (task, g_steal_pointer (&create->error));
}

static gboolean
sandbox_backend_discard_driver_cb (gpointer user_data)
{
  sandbox_driver_discard (user_data);

  return G_SOURCE_REMOVE;
}

static void
sandbox_backend_network_ready (gpointer      user_data,
                               gpointer      answer,
                               const GError *error)
{
  g_autoptr (GTask) task = user_data;
  SandboxCreate *create = g_task_get_task_data (task);

  if (g_cancellable_is_cancelled (g_task_get_cancellable (task)))
    create->error = sandbox_error_new_cancelled ();
  else if (error != NULL)
    create->error = g_error_copy (error);

  if (create->error == NULL)
    {
      sandbox_backend_end_create (task);
      return;
    }
  sandbox_core_invoke_for_driver (create->core, NULL, sandbox_backend_discard_driver_cb,
                                  g_object_ref (sandbox_core_get_driver (create->core)), g_object_unref);
  sandbox_backend_fail_create (g_object_ref (task), sandbox_core_get_kept (create->core) != NULL);
}

/* On the worker, whose context outlives the call. */
static gboolean
sandbox_backend_begin_network_cb (gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (SandboxNetworkPolicy) policy = NULL;
  g_autoptr (SandboxRequest) request = NULL;
  SandboxCreate *create = g_task_get_task_data (task);
  GError        *error = NULL;
  gboolean       taken = FALSE;

  policy = sandbox_core_dup_policy (create->core);
  request = sandbox_request_new_internal (G_TYPE_NONE, g_task_get_cancellable (task), sandbox_backend_network_ready,
                                          g_object_ref (task));
  sandbox_request_set_limits (request, CREATE_LIMIT_MS, 0);
  taken = sandbox_network_begin (create->core, policy, TRUE, request, &error);
  sandbox_request_dispatched (request, taken, error);

  return G_SOURCE_REMOVE;
}

static void
sandbox_backend_driver_created (gpointer      user_data,
                                gpointer      answer,
                                const GError *error)
{
  g_autoptr (GTask) task = user_data;
  SandboxCreate *create = g_task_get_task_data (task);

  if (g_cancellable_is_cancelled (g_task_get_cancellable (task)))
    {
      if (answer != NULL)
        sandbox_driver_discard (answer);
      create->error = sandbox_error_new_cancelled ();
    }
  else if (error != NULL)
    create->error = g_error_copy (error);

  if (create->error != NULL)
    {
      sandbox_backend_fail_create (g_steal_pointer (&task), create->kept != NULL);
      return;
    }

  create->core = sandbox_core_new (answer, g_task_get_source_object (task), create->options,
                                   g_steal_pointer (&create->kept), create->dispatcher);
  if (sandbox_network_needs_gateway (create->core))
    sandbox_worker_invoke (sandbox_backend_begin_network_cb, g_steal_pointer (&task), NULL);
  else
    sandbox_backend_end_create (task);
}

static void
sandbox_backend_create_driver (GTask *task)
{
  SandboxBackend *self = g_task_get_source_object (task);
  SandboxCreate  *create = g_task_get_task_data (task);
  g_autoptr (SandboxRequest) request = NULL;
  GError  *error = NULL;
  gboolean taken = FALSE;

  request = sandbox_request_new_internal (SANDBOX_TYPE_DRIVER, g_task_get_cancellable (task),
                                          sandbox_backend_driver_created, g_object_ref (task));
  sandbox_request_set_limits (request, CREATE_LIMIT_MS, CREATE_CANCEL_GRACE_MS);
  taken = SANDBOX_BACKEND_GET_CLASS (self)->create_driver (self, create->options, create->workspace, request, &error);
  sandbox_request_dispatched (request, taken, error);
}

static void
sandbox_backend_workspace_opened_cb (GObject      *object,
                                     GAsyncResult *result,
                                     gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;

  if (!g_task_propagate_boolean (G_TASK (result), &error))
    g_task_return_error (task, error);
  else
    sandbox_backend_create_driver (task);
}

/* Of the library's own workspaces, a new one or one to go on with. */
static gboolean
sandbox_backend_take_kept (SandboxBackend *self,
                           SandboxCreate  *create,
                           GCancellable   *cancellable,
                           GError        **error)
{
  g_autoptr (SandboxStore) store = sandbox_storage_open (self, create->uid, create->gid, cancellable, error);

  if (store == NULL)
    return FALSE;
  create->kept = sandbox_kept_session_new (self, store, create->options, cancellable, error);
  if (create->kept != NULL)
    g_set_object (&create->workspace, sandbox_kept_session_get_workspace (create->kept));

  return create->kept != NULL;
}

static void
sandbox_backend_open_workspace (gpointer data,
                                gpointer user_data)
{
  g_autoptr (GTask) task = data;
  SandboxCreate *create = g_task_get_task_data (task);
  const char    *path = sandbox_create_options_get_workspace_path (create->options);
  GError        *error = NULL;

  if (path != NULL)
    {
      create->workspace = sandbox_workspace_new (path, &error);
      if (create->workspace != NULL)
        sandbox_storage_check_outside (g_task_get_source_object (task), create->workspace, &error);
    }
  else
    sandbox_backend_take_kept (g_task_get_source_object (task), create, g_task_get_cancellable (task), &error);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

/* Whether a workspace has to be opened; FALSE with an error when the one that is wanted cannot be had. */
static gboolean
sandbox_backend_wants_workspace (SandboxBackend *self,
                                 SandboxCreate  *create,
                                 GError        **error)
{
  SandboxState *state = sandbox_create_options_get_state (create->options);
  const char   *wanted = NULL;

  if (sandbox_create_options_get_workspace_path (create->options) != NULL)
    return TRUE;

  if (state != NULL)
    wanted = "The session of a state";
  else if (sandbox_create_options_get_template_key (create->options) != NULL)
    wanted = "A workspace from a template";
  else if (sandbox_create_options_get_workspace_mode (create->options) != SANDBOX_WORKSPACE_MODE_AUTO)
    wanted = "A workspace mode";
  if (!sandbox_backend_check_storage (self, wanted, &create->uid, &create->gid, error))
    return FALSE;

  return state == NULL || sandbox_state_check_backend (state, sandbox_backend_get_name (self), error);
}

static void
sandbox_backend_begin_create (SandboxBackend       *self,
                              SandboxCreateOptions *options,
                              SandboxDispatcher    *dispatcher,
                              GCancellable         *cancellable,
                              GAsyncReadyCallback   callback,
                              gpointer              user_data)
{
  g_autoptr (GTask) task = NULL;
  g_autoptr (GTask) opening = NULL;
  SandboxCreate *create = NULL;
  GError        *error = NULL;

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, sandbox_backend_create_async);
  if (g_task_return_error_if_cancelled (task))
    return;
  g_task_set_check_cancellable (task, FALSE);
  if (!sandbox_backend_check_own (self, &error) ||
      !sandbox_create_options_validate (options, &error))
    {
      g_task_return_error (task, error);
      return;
    }

  create = g_new0 (SandboxCreate, 1);
  create->options = sandbox_create_options_freeze (options);
  create->dispatcher = sandbox_dispatcher_ref (dispatcher);
  g_task_set_task_data (task, create, sandbox_create_free);

  if (sandbox_backend_wants_workspace (self, create, &error))
    {
      opening = g_task_new (self, cancellable, sandbox_backend_workspace_opened_cb, g_object_ref (task));
      g_task_set_source_tag (opening, sandbox_backend_open_workspace);
      g_task_set_check_cancellable (opening, FALSE);
      g_task_set_task_data (opening, create, NULL); /* which @task has */
      sandbox_storage_run (sandbox_create_options_get_state (create->options) != NULL ? SANDBOX_POOL_ATTACHES : SANDBOX_POOL_CALLS,
                           sandbox_backend_open_workspace, g_steal_pointer (&opening));
    }
  else if (error != NULL)
    g_task_return_error (task, error);
  else
    sandbox_backend_create_driver (task);
}

/**
 * sandbox_backend_create_async:
 * @self: a backend
 * @options: what is wanted; it is copied
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the handle
 * @user_data: data for @callback
 *
 * Creates a session.
 *
 * The backend proves that the sandbox works before this is answered. Without
 * [property@Sandbox.CreateOptions:network], commands reach no network.
 *
 * Where its files are, @options say: in a directory of the host, in a new workspace with the files of a template or
 * none, or in that of an earlier session. The last two the library keeps below
 * [property@Sandbox.Backend:state-directory], if the backend lets it.
 *
 * Fails with
 *
 * - %SANDBOX_ERROR_UNAVAILABLE when this host cannot build the sandbox (the message names the step),
 * - %SANDBOX_ERROR_NOT_SUPPORTED or %SANDBOX_ERROR_NETWORK_DENIED when something that was asked for cannot be
 *   enforced, or cannot be had from this backend,
 * - %SANDBOX_ERROR_MODULE when the policy lists origins and the gateway is broken,
 * - %SANDBOX_ERROR_NOT_FOUND when there is no such template, or no such session any more,
 * - %SANDBOX_ERROR_BUSY when somebody has the session, or what its last owner left is alive for more than 5 seconds,
 * - %SANDBOX_ERROR_STATE_MISMATCH when the state is of another backend or template, or is not what is stored,
 * - %SANDBOX_ERROR_CORRUPT when what is stored has been changed from outside,
 * - %SANDBOX_ERROR_LIMIT when the disk is full,
 * - %SANDBOX_ERROR_DENIED when the state directory is not safe.
 *
 * Then nothing is left behind: what was new is removed, and an earlier session is as it was, for anybody to go on
 * with.
 *
 * Since: 1.0
 */
void
sandbox_backend_create_async (SandboxBackend       *self,
                              SandboxCreateOptions *options,
                              GCancellable         *cancellable,
                              GAsyncReadyCallback   callback,
                              gpointer              user_data)
{
  g_autoptr (SandboxDispatcher) dispatcher = NULL;

  g_return_if_fail (SANDBOX_IS_BACKEND (self));
  g_return_if_fail (SANDBOX_IS_CREATE_OPTIONS (options));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  dispatcher = sandbox_dispatcher_new ();
  sandbox_backend_begin_create (self, options, dispatcher, cancellable, callback, user_data);
}

/**
 * sandbox_backend_create_finish:
 * @self: a backend
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Backend.create_async].
 *
 * Returns: (transfer full): the owner's end of the session
 *
 * Since: 1.0
 */
SandboxHandle *
sandbox_backend_create_finish (SandboxBackend *self,
                               GAsyncResult   *result,
                               GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_backend_create_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * sandbox_backend_create:
 * @self: a backend
 * @options: what is wanted; it is copied
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Creates a session. See [method@Sandbox.Backend.create_async].
 *
 * Returns: (transfer full): the owner's end of the session
 *
 * Since: 1.0
 */
SandboxHandle *
sandbox_backend_create (SandboxBackend       *self,
                        SandboxCreateOptions *options,
                        GCancellable         *cancellable,
                        GError              **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;
  g_autoptr (SandboxDispatcher) dispatcher = NULL;

  g_return_val_if_fail (SANDBOX_IS_BACKEND (self), NULL);
  g_return_val_if_fail (SANDBOX_IS_CREATE_OPTIONS (options), NULL);

  /* This thread waits for the driver of the new session too, which may be one that is called nowhere else. */
  dispatcher = sandbox_dispatcher_new ();
  sandbox_sync_begin (&sync, dispatcher);
  sandbox_backend_begin_create (self, options, dispatcher, cancellable, sandbox_sync_cb, &sync);

  return sandbox_backend_create_finish (self, sandbox_sync_wait (&sync), error);
}
