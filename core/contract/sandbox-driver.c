/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-driver-private.h"

#include "sandbox-request-private.h"

/**
 * SandboxDriver:
 *
 * What a backend implements: byte I/O, spawn and policy enforcement for one sandbox.
 *
 * The session layer adds text, paths, limits, deadlines and `run` once for every driver; hosts use
 * [class@Sandbox.Session] and never call a driver themselves. A driver in Python or JavaScript is
 * called only in threads that its own program brought in.
 *
 * A driver that implements nothing answers everything with %SANDBOX_ERROR_NOT_SUPPORTED.
 *
 * Since: 1.0
 */

G_DEFINE_INTERFACE (SandboxDriver, sandbox_driver, G_TYPE_OBJECT)

static gboolean
sandbox_driver_refuse (SandboxDriver *self,
                       const char    *what,
                       GError       **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "%s %s", G_OBJECT_TYPE_NAME (self), what);

  return FALSE;
}

static gboolean
sandbox_driver_real_read (SandboxDriver *self, const char *path, guint64 offset, guint64 max, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot read files", error);
}

static gboolean
sandbox_driver_real_write (SandboxDriver *self, const char *path, GBytes *bytes, guint mode, SandboxWriteFlags flags, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot write files", error);
}

static gboolean
sandbox_driver_real_remove (SandboxDriver *self, const char *path, SandboxRemoveFlags flags, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot remove files", error);
}

static gboolean
sandbox_driver_real_spawn (SandboxDriver *self, SandboxCommand *command, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot start commands", error);
}

static gboolean
sandbox_driver_real_set_network_policy (SandboxDriver *self, SandboxNetworkPolicy *policy, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot enforce a network policy", error);
}

static gboolean
sandbox_driver_real_close (SandboxDriver *self, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot be closed", error);
}

static gboolean
sandbox_driver_real_list (SandboxDriver *self, const char *path, guint max, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot list directories", error);
}

static gboolean
sandbox_driver_real_query_info (SandboxDriver *self, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot describe files", error);
}

static gboolean
sandbox_driver_real_make_directory (SandboxDriver *self, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot make directories", error);
}

static gboolean
sandbox_driver_real_move (SandboxDriver *self, const char *from, const char *to, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot move files", error);
}

static gboolean
sandbox_driver_real_open_read (SandboxDriver *self, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot open files for reading", error);
}

static gboolean
sandbox_driver_real_open_write (SandboxDriver *self, const char *path, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot open files for writing", error);
}

static gboolean
sandbox_driver_real_import_tree (SandboxDriver *self, const char *path, GFile *directory, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot import directories", error);
}

static gboolean
sandbox_driver_real_export_tree (SandboxDriver *self, const char *path, GFile *directory, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot export directories", error);
}

static gboolean
sandbox_driver_real_connect_port (SandboxDriver *self, guint port, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "cannot connect to ports", error);
}

static gboolean
sandbox_driver_real_set_gateway (SandboxDriver *self, SandboxGateway *gateway, SandboxRequest *request, GError **error)
{
  return sandbox_driver_refuse (self, "has no doors to a gateway", error);
}

static void
sandbox_driver_default_init (SandboxDriverInterface *iface)
{
  iface->read = sandbox_driver_real_read;
  iface->write = sandbox_driver_real_write;
  iface->remove = sandbox_driver_real_remove;
  iface->spawn = sandbox_driver_real_spawn;
  iface->set_network_policy = sandbox_driver_real_set_network_policy;
  iface->close = sandbox_driver_real_close;
  iface->list = sandbox_driver_real_list;
  iface->query_info = sandbox_driver_real_query_info;
  iface->make_directory = sandbox_driver_real_make_directory;
  iface->move = sandbox_driver_real_move;
  iface->open_read = sandbox_driver_real_open_read;
  iface->open_write = sandbox_driver_real_open_write;
  iface->import_tree = sandbox_driver_real_import_tree;
  iface->export_tree = sandbox_driver_real_export_tree;
  iface->connect_port = sandbox_driver_real_connect_port;
  iface->set_gateway = sandbox_driver_real_set_gateway;
}

gboolean
sandbox_driver_implements (SandboxDriver *self,
                           gsize          offset)
{
  gpointer iface = SANDBOX_DRIVER_GET_IFACE (self);
  gpointer fallback = g_type_default_interface_peek (SANDBOX_TYPE_DRIVER);

  return G_STRUCT_MEMBER (gpointer, iface, offset) != G_STRUCT_MEMBER (gpointer, fallback, offset);
}

static void
sandbox_driver_discarded (gpointer      user_data,
                          gpointer      answer,
                          const GError *error)
{
  g_object_unref (user_data);
}

void
sandbox_driver_discard (SandboxDriver *self)
{
  g_autoptr (SandboxRequest) request = NULL;
  GError  *error = NULL;
  gboolean taken = FALSE;

  request = sandbox_request_new_internal (G_TYPE_NONE, NULL, sandbox_driver_discarded, g_object_ref (self));
  taken = SANDBOX_DRIVER_GET_IFACE (self)->close (self, request, &error);
  sandbox_request_dispatched (request, taken, error);
}
