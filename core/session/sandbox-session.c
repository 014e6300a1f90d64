/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-session-private.h"

#include "sandbox-driver-private.h"
#include "sandbox-network-policy-private.h"
#include "sandbox-paths-private.h"
#include "sandbox-request-private.h"

/**
 * SandboxSession:
 *
 * A workspace in which untrusted commands run.
 *
 * A session belongs to a [class@Sandbox.Handle], which ends it; see [method@Sandbox.Backend.create].
 * [ctor@Sandbox.Session.new_for_driver] puts a session over a driver of one's own.
 *
 * Every call comes in three forms: asynchronous with its finish function, answered in the
 * thread-default main context of the caller, and synchronous, which needs no main loop at all. All of
 * them may be called from any thread.
 *
 * Paths are relative to the workspace, or [property@Sandbox.Session:workspace-path], or below it; `.` is the
 * workspace. Bytes of a name that are not UTF-8, and backslashes, are written `\xHH`. Everything else (other
 * absolute paths, `..`, empty segments) is refused with %SANDBOX_ERROR_PATH.
 *
 * ```c
 * static gboolean
 * greet (SandboxSession *session,
 *        GError        **error)
 * {
 *   const char *const argv[] = { "cat", "greeting", NULL };
 *   g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
 *   g_autoptr (SandboxResult) result = NULL;
 *
 *   if (!sandbox_session_write_text (session, "greeting", "hello\n", NULL, error))
 *     return FALSE;
 *
 *   result = sandbox_session_run (session, command, NULL, error);
 *   return result != NULL && sandbox_result_check (result, error);
 * }
 * ```
 *
 * Since: 1.0
 */

struct _SandboxSession
{
  GObject parent_instance;

  SandboxCore *core;
};

typedef enum
{
  PROP_ID = 1,
  PROP_WORKSPACE_PATH,
} SandboxSessionProps;

static GParamSpec *properties[PROP_WORKSPACE_PATH + 1];

enum
{
  SIGNAL_TRANSFER_PROGRESS,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (SandboxSession, sandbox_session, G_TYPE_OBJECT)

static void
sandbox_session_get_property (GObject    *object,
                              guint       prop_id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  SandboxSession *self = SANDBOX_SESSION (object);

  switch ((SandboxSessionProps) prop_id)
    {
    case PROP_ID:
      g_value_set_string (value, sandbox_session_get_id (self));
      break;

    case PROP_WORKSPACE_PATH:
      g_value_set_string (value, sandbox_session_get_workspace_path (self));
      break;
    }
}

static void
sandbox_session_finalize (GObject *object)
{
  SandboxSession *self = SANDBOX_SESSION (object);

  g_clear_pointer (&self->core, sandbox_core_unref);

  G_OBJECT_CLASS (sandbox_session_parent_class)->finalize (object);
}

static void
sandbox_session_class_init (SandboxSessionClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = sandbox_session_get_property;
  object_class->finalize = sandbox_session_finalize;

  /**
   * SandboxSession:id: (getter get_id)
   *
   * The name of the session: 64 hexadecimal digits.
   *
   * Since: 1.0
   */
  properties[PROP_ID] =
      g_param_spec_string ("id", NULL, NULL, NULL,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxSession:workspace-path: (getter get_workspace_path)
   *
   * Where commands find the workspace.
   *
   * Since: 1.0
   */
  properties[PROP_WORKSPACE_PATH] =
      g_param_spec_string ("workspace-path", NULL, NULL, NULL,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);

  /**
   * SandboxSession::transfer-progress:
   * @self: a session
   * @path: the directory of the workspace that is imported or exported
   * @bytes: how many bytes have been copied
   * @files: how many files and links have been copied
   * @skipped: how many things have been left out
   *
   * Emitted while [method@Sandbox.Session.import_directory_async] or
   * [method@Sandbox.Session.export_directory_async] is at work, in the main context of the call; during a
   * synchronous call in its thread. It comes ten times a second at most, and with the last numbers before
   * the call is answered.
   *
   * Since: 1.0
   */
  signals[SIGNAL_TRANSFER_PROGRESS] =
      g_signal_new ("transfer-progress", SANDBOX_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                    G_TYPE_NONE, 4, G_TYPE_STRING, G_TYPE_UINT64, G_TYPE_UINT64, G_TYPE_UINT64);
}

static void
sandbox_session_init (SandboxSession *self)
{
}

SandboxSession *
sandbox_session_new_for_core (SandboxCore *core)
{
  SandboxSession *self = g_object_new (SANDBOX_TYPE_SESSION, NULL);

  self->core = sandbox_core_ref (core);

  return self;
}

SandboxCore *
sandbox_session_get_core (SandboxSession *self)
{
  return self->core;
}

void
sandbox_session_emit_progress (SandboxSession *self,
                               const char     *path,
                               guint64         bytes,
                               guint64         files,
                               guint64         skipped)
{
  g_signal_emit (self, signals[SIGNAL_TRANSFER_PROGRESS], 0, path, bytes, files, skipped);
}

/**
 * sandbox_session_new_for_driver:
 * @driver: a driver
 * @error: return location for an error
 *
 * Puts the session layer over a driver.
 *
 * The driver is called in the thread of this call's main context, and in threads of the host that
 * wait in a synchronous call. At most 8 commands may be alive at once. Nobody closes the driver but its
 * owner.
 *
 * Fails with %SANDBOX_ERROR_NOT_SUPPORTED when the driver can neither start commands nor read or write files.
 *
 * Returns: (transfer full): a session
 *
 * Since: 1.0
 */
SandboxSession *
sandbox_session_new_for_driver (SandboxDriver *driver,
                                GError       **error)
{
  g_autoptr (SandboxDispatcher) dispatcher = NULL;
  g_autoptr (SandboxCore) core = NULL;

  g_return_val_if_fail (SANDBOX_IS_DRIVER (driver), NULL);

  if (!sandbox_driver_implements (driver, G_STRUCT_OFFSET (SandboxDriverInterface, spawn)) &&
      !sandbox_driver_implements (driver, G_STRUCT_OFFSET (SandboxDriverInterface, read)) &&
      !sandbox_driver_implements (driver, G_STRUCT_OFFSET (SandboxDriverInterface, write)))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                   "%s can neither start commands nor read or write files", G_OBJECT_TYPE_NAME (driver));
      return NULL;
    }

  dispatcher = sandbox_dispatcher_new ();
  core = sandbox_core_new (driver, NULL, NULL, NULL, dispatcher);

  return sandbox_session_new_for_core (core);
}

/**
 * sandbox_session_get_id: (get-property id)
 * @self: a session
 *
 * Gets the name of the session.
 *
 * Returns: (transfer none): 64 hexadecimal digits
 *
 * Since: 1.0
 */
const char *
sandbox_session_get_id (SandboxSession *self)
{
  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);

  return sandbox_core_get_id (self->core);
}

/**
 * sandbox_session_get_workspace_path: (get-property workspace-path)
 * @self: a session
 *
 * Gets where commands find the workspace.
 *
 * Returns: (transfer none): an absolute path in the guest
 *
 * Since: 1.0
 */
const char *
sandbox_session_get_workspace_path (SandboxSession *self)
{
  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);

  return sandbox_core_get_workspace_target (self->core);
}

char *
sandbox_session_driver_path (SandboxCore *core,
                             const char  *path,
                             GError     **error)
{
  g_autofree char *bytes = sandbox_path_resolve (path, sandbox_core_get_workspace_target (core), error);

  return bytes != NULL ? sandbox_path_escape (bytes) : NULL;
}

/**
 * sandbox_session_resolve_path:
 * @self: a session
 * @path: a path of the workspace
 * @error: return location for an error
 *
 * Tells where commands find a file of the workspace. Whether it exists does not matter.
 *
 * Fails with %SANDBOX_ERROR_PATH when the path is none of the workspace.
 *
 * Returns: (transfer full): an absolute path in the guest, in the form described at [class@Sandbox.Session]
 *
 * Since: 1.0
 */
char *
sandbox_session_resolve_path (SandboxSession *self,
                              const char     *path,
                              GError        **error)
{
  g_autofree char *relative = NULL;
  const char      *target = NULL;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  target = sandbox_core_get_workspace_target (self->core);
  relative = sandbox_session_driver_path (self->core, path, error);
  if (relative == NULL)
    return NULL;
  if (g_str_equal (relative, "."))
    return g_strdup (target);

  return g_strconcat (target, "/", relative, NULL);
}

/**
 * sandbox_session_list_processes:
 * @self: a session
 *
 * Lists the commands that are alive.
 *
 * Returns: (transfer full): a list of [class@Sandbox.Process] as it is now; it does not change
 *
 * Since: 1.0
 */
GListModel *
sandbox_session_list_processes (SandboxSession *self)
{
  g_autoptr (GPtrArray) processes = NULL;
  GListStore *list = NULL;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);

  processes = sandbox_core_dup_processes (self->core);
  list = g_list_store_new (SANDBOX_TYPE_PROCESS);
  g_list_store_splice (list, 0, 0, processes->pdata, processes->len);

  return G_LIST_MODEL (list);
}

static void
sandbox_session_end_change (gpointer data)
{
  g_autoptr (SandboxCore) core = data;

  sandbox_core_end_change (core);
}

static void
sandbox_session_policy_changed (gpointer      user_data,
                                gpointer      answer,
                                const GError *error)
{
  g_autoptr (GTask) task = user_data;

  if (error != NULL)
    g_task_return_error (task, g_error_copy (error));
  else
    g_task_return_boolean (task, TRUE);
}

/**
 * sandbox_session_set_network_policy_async:
 * @self: a session
 * @policy: the policy; it is copied
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called when it is in force
 * @user_data: data for @callback
 *
 * Changes what commands may reach. No command may be alive.
 *
 * Fails with %SANDBOX_ERROR_BUSY while commands are alive, with %SANDBOX_ERROR_NETWORK_DENIED when the
 * policy cannot be enforced, and with %SANDBOX_ERROR_NOT_SUPPORTED when it would break what
 * [property@Sandbox.CreateOptions:required] asked for. Then the old policy stays in force.
 *
 * Since: 1.0
 */
void
sandbox_session_set_network_policy_async (SandboxSession       *self,
                                          SandboxNetworkPolicy *policy,
                                          GCancellable         *cancellable,
                                          GAsyncReadyCallback   callback,
                                          gpointer              user_data)
{
  g_autoptr (GTask) task = NULL;
  g_autoptr (SandboxRequest) request = NULL;
  g_autoptr (SandboxNetworkPolicy) frozen = NULL;
  SandboxDriver *driver = NULL;
  GError        *error = NULL;
  gboolean       taken = FALSE;

  g_return_if_fail (SANDBOX_IS_SESSION (self));
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (policy));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, sandbox_session_set_network_policy_async);
  if (g_task_return_error_if_cancelled (task))
    return;
  if (!sandbox_core_check_policy (self->core, policy, &error) ||
      !sandbox_core_begin_change (self->core, &error))
    {
      g_task_return_error (task, error);
      return;
    }

  frozen = sandbox_network_policy_freeze (policy);
  driver = sandbox_core_get_driver (self->core);
  request = sandbox_request_new_internal (G_TYPE_NONE, cancellable, sandbox_session_policy_changed,
                                          g_steal_pointer (&task));
  /* Until the driver has spoken it may be in the middle of the change, whatever the caller was told. */
  sandbox_request_keep (request, sandbox_core_ref (self->core), sandbox_session_end_change);
  taken = SANDBOX_DRIVER_GET_IFACE (driver)->set_network_policy (driver, frozen, request, &error);
  sandbox_request_dispatched (request, taken, error);
}

/**
 * sandbox_session_set_network_policy_finish:
 * @self: a session
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Session.set_network_policy_async].
 *
 * Returns: whether the policy is in force
 *
 * Since: 1.0
 */
gboolean
sandbox_session_set_network_policy_finish (SandboxSession *self,
                                           GAsyncResult   *result,
                                           GError        **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_session_set_network_policy_async), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * sandbox_session_set_network_policy:
 * @self: a session
 * @policy: the policy; it is copied
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Changes what commands may reach. See [method@Sandbox.Session.set_network_policy_async].
 *
 * Returns: whether the policy is in force
 *
 * Since: 1.0
 */
gboolean
sandbox_session_set_network_policy (SandboxSession       *self,
                                    SandboxNetworkPolicy *policy,
                                    GCancellable         *cancellable,
                                    GError              **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_SESSION (self), FALSE);

  sandbox_sync_begin (&sync, sandbox_core_get_dispatcher (self->core));
  sandbox_session_set_network_policy_async (self, policy, cancellable, sandbox_sync_cb, &sync);

  return sandbox_session_set_network_policy_finish (self, sandbox_sync_wait (&sync), error);
}
