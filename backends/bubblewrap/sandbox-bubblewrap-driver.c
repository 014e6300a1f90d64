/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-driver.h"

#include "sandbox-bubblewrap-fd.h"
#include "sandbox-bubblewrap-network.h"
#include "sandbox-bubblewrap-plan.h"
#include "sandbox-bubblewrap-restrictions.h"
#include "sandbox-bubblewrap-start.h"

#include <string.h>

/* How long a sandbox waits for files of the last one, and how often it looks. */
#define VIEW_LIMIT_US (5 * G_USEC_PER_SEC)
#define VIEW_LOOK_MS 2

struct _SandboxBubblewrapDriver
{
  SandboxAgentDriver parent_instance;

  SandboxWorkspace   *workspace;
  SandboxProfile     *profile;
  SandboxRestrictions required;
  gboolean            is_root;     /* commands are */
  gboolean            has_overlay; /* the workspace is one */
  char              **protections; /* what of the workspace commands must not change, as paths that a driver gets */

  GMutex                   lock;   /* guards what follows */
  SandboxBubblewrapLaunch *launch; /* NULL once closed */
  SandboxNetworkPolicy    *policy; /* NULL: deny all */
  gboolean                 has_gateway;
};

static void sandbox_bubblewrap_driver_iface_init (SandboxDriverInterface *iface);

/* The parent implements the interface already: what a dynamic type changes of it is added statically, which a
 * module that stays loaded may do. */
static const GInterfaceInfo driver_info = { (GInterfaceInitFunc) sandbox_bubblewrap_driver_iface_init, NULL, NULL };

/* clang-format off */
G_DEFINE_DYNAMIC_TYPE_EXTENDED (SandboxBubblewrapDriver, sandbox_bubblewrap_driver, SANDBOX_TYPE_AGENT_DRIVER, G_TYPE_FLAG_FINAL,
                                g_type_add_interface_static (g_define_type_id, SANDBOX_TYPE_DRIVER, &driver_info))
/* clang-format on */

static SandboxDriverInterface *parent_iface;

/* A start on its way to the worker. */
typedef struct
{
  SandboxBubblewrapLaunch *launch;
  SandboxRequest          *request;
  SandboxBubblewrapNetwork network;
  gboolean                 slots;
  gboolean                 is_shared;
  SandboxControlGroup     *control_group; /* nullable, like the limits that the sandbox has a group in it for */
  SandboxLimits           *limits;
  SandboxWorkspace        *overlay; /* nullable */
  gint64                   end;     /* of the wait for the last view of it; monotonic */
} SandboxBubblewrapStart;

static void
sandbox_bubblewrap_start_free (gpointer data)
{
  SandboxBubblewrapStart *start = data;

  sandbox_bubblewrap_launch_unref (start->launch);
  g_object_unref (start->request);
  g_clear_object (&start->control_group);
  g_clear_object (&start->limits);
  g_clear_object (&start->overlay);
  g_free (start);
}

static gboolean
sandbox_bubblewrap_driver_start_cb (gpointer user_data)
{
  SandboxBubblewrapStart *start = user_data;
  g_autoptr (SandboxAgentChannel) channel = NULL;
  g_autoptr (SandboxAgentGroup) group = NULL;
  g_autoptr (GError) error = NULL;

  if (sandbox_request_is_cancelled (start->request))
    {
      g_set_error_literal (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "Operation was cancelled");
      sandbox_request_return_error (start->request, error);
      return G_SOURCE_REMOVE;
    }

  if (start->overlay != NULL && !sandbox_workspace_drop_view (start->overlay))
    {
      if (g_get_monotonic_time () < start->end)
        return G_SOURCE_CONTINUE;
      g_set_error_literal (&error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY,
                           "The workspace is an overlay, which cannot be mounted anew as long as files of it are open on the host: close the streams");
      sandbox_request_return_error (start->request, error);
      return G_SOURCE_REMOVE;
    }

  if (start->limits == NULL || (group = sandbox_agent_group_new (start->control_group, start->limits, &error)) != NULL)
    channel = sandbox_bubblewrap_start (start->launch,
                                        &(SandboxBubblewrapStartManner){ start->network, start->slots, start->is_shared, group },
                                        &error);
  if (channel != NULL)
    sandbox_request_return_object (start->request, G_OBJECT (channel));
  else
    sandbox_request_return_error (start->request, error);

  return G_SOURCE_REMOVE;
}

/* Two overlays over the same files at once would spoil them. */
static gboolean
sandbox_bubblewrap_driver_begin_cb (gpointer user_data)
{
  g_autoptr (GSource) source = NULL;

  if (sandbox_bubblewrap_driver_start_cb (user_data) == G_SOURCE_REMOVE)
    {
      sandbox_bubblewrap_start_free (user_data);
      return G_SOURCE_REMOVE;
    }

  source = g_timeout_source_new (VIEW_LOOK_MS);
  g_source_set_callback (source, sandbox_bubblewrap_driver_start_cb, user_data, sandbox_bubblewrap_start_free);
  g_source_attach (source, sandbox_get_worker_context ());

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_bubblewrap_driver_open_channel (SandboxAgentDriver *driver,
                                        SandboxRequest     *request,
                                        GError            **error)
{
  SandboxBubblewrapDriver *self = SANDBOX_BUBBLEWRAP_DRIVER (driver);
  SandboxBubblewrapStart  *start = NULL;
  g_autoptr (SandboxNetworkPolicy) policy = NULL;

  g_mutex_lock (&self->lock);
  g_set_object (&policy, self->policy);
  if (self->launch != NULL)
    {
      start = g_new0 (SandboxBubblewrapStart, 1);
      start->launch = sandbox_bubblewrap_launch_ref (self->launch);
      start->network = sandbox_bubblewrap_network_get (policy);
    }
  g_mutex_unlock (&self->lock);

  if (start == NULL)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The session has been stopped");
      return FALSE;
    }

  start->request = g_object_ref (request);
  g_set_object (&start->control_group, sandbox_agent_driver_get_control_group (driver));
  g_set_object (&start->limits, sandbox_agent_driver_get_channel_limits (driver, request));
  start->slots = sandbox_agent_driver_get_nested (driver) && start->limits == NULL;
  start->is_shared = sandbox_agent_driver_get_isolation (driver) == SANDBOX_ISOLATION_SHARED;
  /* Create has looked at it; what is built now is what counts. */
  if (!sandbox_bubblewrap_restrictions_check (self->required, self->profile, policy, error))
    {
      sandbox_bubblewrap_start_free (start);
      return FALSE;
    }
  if (self->has_overlay)
    start->overlay = g_object_ref (self->workspace);
  start->end = g_get_monotonic_time () + VIEW_LIMIT_US;
  g_main_context_invoke_full (sandbox_get_worker_context (), G_PRIORITY_DEFAULT,
                              sandbox_bubblewrap_driver_begin_cb, start, NULL);

  return TRUE;
}

/* Of an overlay, which is where the host reads and writes files too. */
static void
sandbox_bubblewrap_driver_take_view (SandboxAgentDriver *driver,
                                     int                 fd)
{
  SandboxBubblewrapDriver *self = SANDBOX_BUBBLEWRAP_DRIVER (driver);
  g_auto (SandboxBubblewrapFd) view_fd = fd;

  if (!self->has_overlay)
    return;

  g_mutex_lock (&self->lock);
  if (view_fd >= 0 && (self->launch == NULL || !sandbox_bubblewrap_launch_is_view (self->launch, view_fd)))
    sandbox_bubblewrap_fd_clear (&view_fd);
  g_mutex_unlock (&self->lock);
  sandbox_workspace_take_view (self->workspace, g_steal_fd (&view_fd));
}

/* Of the limits of a command, what holds for every user but root. */
static gboolean
sandbox_bubblewrap_driver_spawn (SandboxDriver  *driver,
                                 SandboxCommand *command,
                                 SandboxRequest *request,
                                 GError        **error)
{
  SandboxBubblewrapDriver *self = SANDBOX_BUBBLEWRAP_DRIVER (driver);
  SandboxLimits           *limits = sandbox_command_get_limits (command);

  if (self->is_root && limits != NULL && sandbox_limits_get_processes (limits) > 0)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                           "The limit “processes” cannot be enforced with the “identity” host: the kernel counts no processes of root");
      return FALSE;
    }

  /* Such a command has a sandbox of its own. */
  if (self->has_overlay && !sandbox_agent_driver_check_limits (limits, NULL, NULL))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                   "The limit “%s” cannot be had in a session whose workspace is an overlay: create it with the workspace mode copy",
                   sandbox_limits_get_memory_bytes (limits) > 0 ? "memory-bytes" : sandbox_limits_get_tasks (limits) > 0 ? "tasks"
                                                                                                                         : "cpu-percent");
      return FALSE;
    }

  /* The sandbox is there already, and its workspace may have gone. */
  if (sandbox_agent_driver_get_nested (SANDBOX_AGENT_DRIVER (driver)) && !sandbox_workspace_check (self->workspace, error))
    return FALSE;

  return parent_iface->spawn (driver, command, request, error);
}

static gboolean
sandbox_bubblewrap_driver_read (SandboxDriver  *driver,
                                const char     *path,
                                guint64         offset,
                                guint64         max,
                                SandboxRequest *request,
                                GError        **error)
{
  return sandbox_workspace_read (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, offset, max, request, error);
}

/* The mount that protects something for a running command goes when the host puts something else there. So the host
 * does not, by way of this session; nor with what is above or below. */
static gboolean
sandbox_bubblewrap_driver_check_change (SandboxDriver *driver,
                                        const char    *path,
                                        GError       **error)
{
  SandboxBubblewrapDriver *self = SANDBOX_BUBBLEWRAP_DRIVER (driver);

  for (guint i = 0; self->protections[i] != NULL; i++)
    {
      if (!g_str_equal (path, ".") && !sandbox_bubblewrap_plan_is_within (path, self->protections[i]) &&
          !sandbox_bubblewrap_plan_is_within (self->protections[i], path))
        continue;
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED,
                   "“%s” stays as it is in this session: its profile protects “%s”", path, self->protections[i]);
      return FALSE;
    }

  return TRUE;
}

static gboolean
sandbox_bubblewrap_driver_write (SandboxDriver    *driver,
                                 const char       *path,
                                 GBytes           *bytes,
                                 guint             mode,
                                 SandboxWriteFlags flags,
                                 SandboxRequest   *request,
                                 GError          **error)
{
  return sandbox_bubblewrap_driver_check_change (driver, path, error) &&
         sandbox_workspace_write (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, bytes, mode, flags, request, error);
}

static gboolean
sandbox_bubblewrap_driver_remove (SandboxDriver     *driver,
                                  const char        *path,
                                  SandboxRemoveFlags flags,
                                  SandboxRequest    *request,
                                  GError           **error)
{
  return sandbox_bubblewrap_driver_check_change (driver, path, error) &&
         sandbox_workspace_remove (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, flags, request, error);
}

static gboolean
sandbox_bubblewrap_driver_list (SandboxDriver *driver, const char *path, guint max, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_list (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, max, request, error);
}

static gboolean
sandbox_bubblewrap_driver_query_info (SandboxDriver *driver, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_query_info (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, request, error);
}

static gboolean
sandbox_bubblewrap_driver_make_directory (SandboxDriver *driver, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_bubblewrap_driver_check_change (driver, path, error) &&
         sandbox_workspace_make_directory (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, request, error);
}

static gboolean
sandbox_bubblewrap_driver_move (SandboxDriver *driver, const char *from, const char *to, SandboxRequest *request, GError **error)
{
  return sandbox_bubblewrap_driver_check_change (driver, from, error) &&
         sandbox_bubblewrap_driver_check_change (driver, to, error) &&
         sandbox_workspace_move (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, from, to, request, error);
}

static gboolean
sandbox_bubblewrap_driver_open_read (SandboxDriver *driver, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_open_read (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, request, error);
}

static gboolean
sandbox_bubblewrap_driver_open_write (SandboxDriver *driver, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_bubblewrap_driver_check_change (driver, path, error) &&
         sandbox_workspace_open_write (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, request, error);
}

static gboolean
sandbox_bubblewrap_driver_import_tree (SandboxDriver *driver, const char *path, GFile *directory, SandboxRequest *request, GError **error)
{
  return sandbox_bubblewrap_driver_check_change (driver, path, error) &&
         sandbox_workspace_import_tree (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, directory, request, error);
}

static gboolean
sandbox_bubblewrap_driver_export_tree (SandboxDriver *driver, const char *path, GFile *directory, SandboxRequest *request, GError **error)
{
  return sandbox_workspace_export_tree (SANDBOX_BUBBLEWRAP_DRIVER (driver)->workspace, path, directory, request, error);
}

/* No policy of a session is another one before it is known that it can be held. */
static gboolean
sandbox_bubblewrap_driver_check_network (SandboxBubblewrapDriver *self,
                                         SandboxBubblewrapNetwork network,
                                         GError                 **error)
{
  gboolean has_gateway = FALSE;
  gboolean set_user_id = FALSE;

  g_mutex_lock (&self->lock);
  has_gateway = self->has_gateway;
  set_user_id = self->launch != NULL && sandbox_bubblewrap_launch_is_set_user_id (self->launch);
  g_mutex_unlock (&self->lock);

  if (!sandbox_bubblewrap_network_check (network, set_user_id, error))
    return FALSE;
  if (has_gateway || !sandbox_bubblewrap_network_has_door (network))
    return TRUE;

  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED,
                       "A list of allowed origins needs a gateway, and there is none here");

  return FALSE;
}

static void
sandbox_bubblewrap_driver_policy_set (SandboxAgentDriver *driver,
                                      gpointer            data)
{
  g_autoptr (SandboxRequest) request = data;

  sandbox_request_return_done (request);
}

static gboolean
sandbox_bubblewrap_driver_set_network_policy (SandboxDriver        *driver,
                                              SandboxNetworkPolicy *policy,
                                              SandboxRequest       *request,
                                              GError              **error)
{
  SandboxBubblewrapDriver       *self = SANDBOX_BUBBLEWRAP_DRIVER (driver);
  const SandboxBubblewrapNetwork network = sandbox_bubblewrap_network_get (policy);
  SandboxBubblewrapNetwork       old = SANDBOX_BUBBLEWRAP_NETWORK_NONE;

  if (!sandbox_bubblewrap_driver_check_network (self, network, error) ||
      !sandbox_bubblewrap_restrictions_check (self->required, self->profile, policy, error))
    return FALSE;

  /* No command is alive: the next one gets a sandbox that is built with it. */
  g_mutex_lock (&self->lock);
  old = sandbox_bubblewrap_network_get (self->policy);
  g_set_object (&self->policy, policy);
  g_mutex_unlock (&self->lock);
  if (network != old)
    sandbox_agent_driver_end_sandbox (SANDBOX_AGENT_DRIVER (self), sandbox_bubblewrap_driver_policy_set, g_object_ref (request));
  else
    sandbox_request_return_done (request);

  return TRUE;
}

static gboolean
sandbox_bubblewrap_driver_set_gateway (SandboxDriver  *driver,
                                       SandboxGateway *gateway,
                                       SandboxRequest *request,
                                       GError        **error)
{
  SandboxBubblewrapDriver *self = SANDBOX_BUBBLEWRAP_DRIVER (driver);

  g_mutex_lock (&self->lock);
  self->has_gateway = TRUE;
  g_mutex_unlock (&self->lock);

  return parent_iface->set_gateway (driver, gateway, request, error);
}

static gboolean
sandbox_bubblewrap_driver_close (SandboxDriver  *driver,
                                 SandboxRequest *request,
                                 GError        **error)
{
  SandboxBubblewrapDriver *self = SANDBOX_BUBBLEWRAP_DRIVER (driver);
  g_autoptr (SandboxBubblewrapLaunch) launch = NULL;

  g_mutex_lock (&self->lock);
  launch = g_steal_pointer (&self->launch);
  g_mutex_unlock (&self->lock);

  return parent_iface->close (driver, request, error);
}

static void
sandbox_bubblewrap_driver_iface_init (SandboxDriverInterface *iface)
{
  parent_iface = g_type_interface_peek_parent (iface);
  iface->spawn = sandbox_bubblewrap_driver_spawn;
  iface->read = sandbox_bubblewrap_driver_read;
  iface->write = sandbox_bubblewrap_driver_write;
  iface->remove = sandbox_bubblewrap_driver_remove;
  iface->set_network_policy = sandbox_bubblewrap_driver_set_network_policy;
  iface->set_gateway = sandbox_bubblewrap_driver_set_gateway;
  iface->close = sandbox_bubblewrap_driver_close;
  iface->list = sandbox_bubblewrap_driver_list;
  iface->query_info = sandbox_bubblewrap_driver_query_info;
  iface->make_directory = sandbox_bubblewrap_driver_make_directory;
  iface->move = sandbox_bubblewrap_driver_move;
  iface->open_read = sandbox_bubblewrap_driver_open_read;
  iface->open_write = sandbox_bubblewrap_driver_open_write;
  iface->import_tree = sandbox_bubblewrap_driver_import_tree;
  iface->export_tree = sandbox_bubblewrap_driver_export_tree;
}

static void
sandbox_bubblewrap_driver_finalize (GObject *object)
{
  SandboxBubblewrapDriver *self = SANDBOX_BUBBLEWRAP_DRIVER (object);

  g_clear_pointer (&self->launch, sandbox_bubblewrap_launch_unref);
  g_strfreev (self->protections);
  g_clear_object (&self->policy);
  g_clear_object (&self->profile);
  g_clear_object (&self->workspace);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (sandbox_bubblewrap_driver_parent_class)->finalize (object);
}

static void
sandbox_bubblewrap_driver_class_init (SandboxBubblewrapDriverClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = sandbox_bubblewrap_driver_finalize;
  SANDBOX_AGENT_DRIVER_CLASS (klass)->open_channel = sandbox_bubblewrap_driver_open_channel;
  SANDBOX_AGENT_DRIVER_CLASS (klass)->take_view = sandbox_bubblewrap_driver_take_view;
}

static void
sandbox_bubblewrap_driver_class_finalize (SandboxBubblewrapDriverClass *klass)
{
}

static void
sandbox_bubblewrap_driver_init (SandboxBubblewrapDriver *self)
{
  g_mutex_init (&self->lock);
}

void
sandbox_bubblewrap_driver_register (GTypeModule *module)
{
  sandbox_bubblewrap_driver_register_type (module);
}

char **
sandbox_bubblewrap_driver_make_environment (SandboxProfile *profile)
{
  const char *const *own = sandbox_profile_get_environment (profile);
  char             **environment = NULL;

  environment = g_environ_setenv (environment, "PATH", "/usr/bin:/bin", TRUE);
  environment = g_environ_setenv (environment, "HOME", sandbox_profile_get_workspace_target (profile), TRUE);
  for (guint i = 0; own != NULL && own[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (own[i], "=", 2);

      environment = g_environ_setenv (environment, parts[0], parts[1], TRUE);
    }

  return environment;
}

static char **
sandbox_bubblewrap_driver_list_protections (SandboxProfile *profile)
{
  g_autoptr (GStrvBuilder) protections = g_strv_builder_new ();
  GListModel *mounts = sandbox_profile_get_mounts (profile);
  const gsize inside = strlen (sandbox_profile_get_workspace_target (profile)) + 1;

  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);
      g_auto (GStrv) parts = NULL;
      g_autofree char *path = NULL;

      if (!sandbox_bubblewrap_plan_is_protection (mount))
        continue;
      /* As paths of the workspace are written. */
      parts = g_strsplit (sandbox_mount_get_target (mount) + inside, "\\", -1);
      path = g_strjoinv ("\\x5c", parts);
      g_strv_builder_add (protections, path);
    }

  return g_strv_builder_end (protections);
}

SandboxDriver *
sandbox_bubblewrap_driver_new (SandboxBubblewrapLaunch      *launch,
                               SandboxWorkspace             *workspace,
                               SandboxProfile               *profile,
                               SandboxNetworkPolicy         *policy,
                               SandboxRestrictions           required,
                               SandboxControlGroup          *control_group,
                               const SandboxBubblewrapSlots *slots)
{
  g_auto (GStrv) environment = sandbox_bubblewrap_driver_make_environment (profile);
  SandboxBubblewrapDriver *self = NULL;

  self = g_object_new (SANDBOX_BUBBLEWRAP_TYPE_DRIVER,
                       "environment", environment,
                       "limits", sandbox_profile_get_limits (profile),
                       "control-group", control_group,
                       "nested", slots->nested,
                       "armed-slots", slots->n_armed,
                       "idle-ms", slots->idle_ms,
                       "isolation", slots->isolation,
                       NULL);
  self->launch = sandbox_bubblewrap_launch_ref (launch);
  self->is_root = sandbox_bubblewrap_launch_is_root (launch);
  self->has_overlay = sandbox_bubblewrap_launch_has_overlay (launch);
  self->workspace = g_object_ref (workspace);
  self->profile = g_object_ref (profile);
  self->protections = sandbox_bubblewrap_driver_list_protections (profile);
  self->required = required;
  g_set_object (&self->policy, policy);

  return SANDBOX_DRIVER (self);
}
