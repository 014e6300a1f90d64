/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-session-private.h"

#include "sandbox-driver-private.h"
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
  PROP_GATEWAY_PATH,
} SandboxSessionProps;

static GParamSpec *properties[PROP_GATEWAY_PATH + 1];

enum
{
  SIGNAL_TRANSFER_PROGRESS,
  SIGNAL_NETWORK_DENIED,
  SIGNAL_NETWORK_REQUEST,
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

    case PROP_GATEWAY_PATH:
      g_value_set_string (value, sandbox_session_get_gateway_path (self));
      break;
    }
}

/* While there is still a reference: who is about to tell it something may take another one until this is done. */
static void
sandbox_session_dispose (GObject *object)
{
  SandboxSession *self = SANDBOX_SESSION (object);

  if (self->core != NULL)
    sandbox_core_set_session (self->core, NULL);

  G_OBJECT_CLASS (sandbox_session_parent_class)->dispose (object);
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
  object_class->dispose = sandbox_session_dispose;
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

  /**
   * SandboxSession:gateway-path: (getter get_gateway_path)
   *
   * Where commands find the gateway: %SANDBOX_GATEWAY_PATH, a Unix socket, or %NULL when they have none.
   *
   * They have one under a policy that lists origins, unless the driver holds them to the list in its own way. It is a
   * path in the guest.
   *
   * Since: 1.0
   */
  properties[PROP_GATEWAY_PATH] =
      g_param_spec_string ("gateway-path", NULL, NULL, NULL,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

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

  /**
   * SandboxSession::network-denied:
   * @self: a session
   * @origin: (nullable): the host that a command asked for, if that is what was wrong, or %NULL
   * @reason: why it was refused, one of a fixed set of texts
   *
   * A request of a command was refused, and nothing of it has left the host. Only a body that grows too large without having said its
   * length is refused on its way; [signal@Sandbox.Session::network-request] tells of that request as well.
   *
   * It is emitted where [signal@Sandbox.Session::network-request] is. @origin comes from the command: it is no origin of
   * the policy, and not to be trusted.
   *
   * Since: 1.0
   */
  signals[SIGNAL_NETWORK_DENIED] =
      g_signal_new ("network-denied", SANDBOX_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                    G_TYPE_NONE, 2, G_TYPE_STRING, G_TYPE_STRING);

  /**
   * SandboxSession::network-request:
   * @self: a session
   * @method: the method, such as `GET`
   * @origin: the origin that was asked, as the policy writes it
   * @status: the HTTP status that the command was told
   * @request_bytes: how many bytes of a body the command sent
   * @response_bytes: how many bytes of the answer's body were passed on; a command that breaks off has read fewer
   * @time_us: how long that took, in microseconds
   *
   * A request of a command was passed on to an origin, and its answer is complete, or was aborted.
   *
   * This is for a log of what commands do: there is no path, query or header in it. It is emitted in the main context in
   * which the session was made; while a thread of the host waits in a synchronous call of the session, in that thread.
   * Commands do not wait for it. At most 256 of these wait to be emitted, beside as many of
   * [signal@Sandbox.Session::network-denied] and of [signal@Sandbox.Backend::gateway-error]: what a command does to
   * be refused takes no room from what it does otherwise. What comes then is left out, and [signal@Sandbox.Backend::gateway-error]
   * tells how much that was.
   *
   * Since: 1.0
   */
  signals[SIGNAL_NETWORK_REQUEST] =
      g_signal_new ("network-request", SANDBOX_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                    G_TYPE_NONE, 6, G_TYPE_STRING, G_TYPE_STRING, G_TYPE_UINT, G_TYPE_UINT64, G_TYPE_UINT64, G_TYPE_UINT64);
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
  sandbox_core_set_session (core, self);

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

void
sandbox_session_notify_gateway_path (SandboxSession *self)
{
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_GATEWAY_PATH]);
}

gboolean
sandbox_session_wants_network_denied (SandboxSession *self)
{
  return g_signal_has_handler_pending (self, signals[SIGNAL_NETWORK_DENIED], 0, FALSE);
}

void
sandbox_session_emit_network_denied (SandboxSession *self,
                                     const char     *origin,
                                     const char     *reason)
{
  g_signal_emit (self, signals[SIGNAL_NETWORK_DENIED], 0, origin, reason);
}

gboolean
sandbox_session_wants_network_requests (SandboxSession *self)
{
  return g_signal_has_handler_pending (self, signals[SIGNAL_NETWORK_REQUEST], 0, FALSE);
}

void
sandbox_session_emit_network_request (SandboxSession *self,
                                      const char     *method,
                                      const char     *origin,
                                      guint           status,
                                      guint64         request_bytes,
                                      guint64         response_bytes,
                                      guint64         time_us)
{
  g_signal_emit (self, signals[SIGNAL_NETWORK_REQUEST], 0, method, origin, status, request_bytes, response_bytes, time_us);
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

/**
 * sandbox_session_get_gateway_path: (get-property gateway-path)
 * @self: a session
 *
 * Gets where commands find the gateway. See [property@Sandbox.Session:gateway-path].
 *
 * Returns: (transfer none) (nullable): an absolute path in the guest, or %NULL when they have none
 *
 * Since: 1.0
 */
const char *
sandbox_session_get_gateway_path (SandboxSession *self)
{
  g_return_val_if_fail (SANDBOX_IS_SESSION (self), NULL);

  return sandbox_core_get_gateway_path (self->core);
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
