/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-command.h"
#include "sandbox-gateway.h"
#include "sandbox-network-policy.h"
#include "sandbox-request.h"

G_BEGIN_DECLS

/**
 * SandboxWriteFlags:
 * @SANDBOX_WRITE_FLAGS_NONE: replace what is there; the parents must exist
 * @SANDBOX_WRITE_FLAGS_EXCLUSIVE: fail with %SANDBOX_ERROR_EXISTS when something is there
 * @SANDBOX_WRITE_FLAGS_PARENTS: make missing parent directories
 *
 * How [vfunc@Sandbox.Driver.write] writes.
 *
 * Since: 1.0
 */
typedef enum /*< flags >*/
{
  SANDBOX_WRITE_FLAGS_NONE = 0,
  SANDBOX_WRITE_FLAGS_EXCLUSIVE = 1 << 0,
  SANDBOX_WRITE_FLAGS_PARENTS = 1 << 1,
} SandboxWriteFlags;

/**
 * SandboxRemoveFlags:
 * @SANDBOX_REMOVE_FLAGS_NONE: a file, a link or an empty directory, which must exist
 * @SANDBOX_REMOVE_FLAGS_RECURSIVE: a directory with all that is in it
 * @SANDBOX_REMOVE_FLAGS_MISSING_OK: nothing there is no error
 *
 * How [vfunc@Sandbox.Driver.remove] removes.
 *
 * Since: 1.0
 */
typedef enum /*< flags >*/
{
  SANDBOX_REMOVE_FLAGS_NONE = 0,
  SANDBOX_REMOVE_FLAGS_RECURSIVE = 1 << 0,
  SANDBOX_REMOVE_FLAGS_MISSING_OK = 1 << 1,
} SandboxRemoveFlags;

#define SANDBOX_TYPE_DRIVER (sandbox_driver_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (SandboxDriver, sandbox_driver, SANDBOX, DRIVER, GObject)

/**
 * SandboxDriverInterface:
 * @parent_iface: the parent
 * @thread_safe: (skip): whether the library may call from any thread of its own. Only for drivers
 *   in C: leave it %FALSE in every other language. The process objects of such a driver are called
 *   from any thread too
 * @read: reads a part of a file
 * @write: replaces a file
 * @remove: removes a file or directory
 * @spawn: starts a command
 * @set_network_policy: enforces a network policy from now on
 * @close: ends the sandbox
 * @list: lists a directory; optional
 * @query_info: describes a file; optional
 * @make_directory: makes a directory with its parents; optional
 * @move: renames; optional
 * @open_read: opens a stream to read from; optional
 * @open_write: opens a stream to write to; optional
 * @import_tree: copies a host directory in; optional
 * @export_tree: copies a directory out; optional
 * @connect_port: connects to a port inside the sandbox; optional
 * @set_gateway: opens doors to a gateway in the sandbox; optional
 *
 * What a driver does.
 *
 * Every function returns %TRUE and answers its request now, later, or from any thread; or it returns
 * %FALSE with an error. It never blocks unless [method@Sandbox.Request.may_block] allows it.
 *
 * Paths are relative to the workspace, `.` for the workspace itself, never empty, without `..`;
 * they have been checked by the session layer, and bytes that are not UTF-8 are written `\xHH`.
 *
 * Optional functions are announced by being implemented. What is not implemented answers
 * %SANDBOX_ERROR_NOT_SUPPORTED. The structure grows at its end only.
 *
 * Since: 1.0
 */
struct _SandboxDriverInterface
{
  GTypeInterface parent_iface;

  gboolean thread_safe;

  /**
   * SandboxDriverInterface::read:
   * @self: a driver
   * @path: the file
   * @offset: the first byte
   * @max: how many bytes at the most
   * @request: answered with bytes, fewer than @max at the end of the file
   * @error: return location for an error
   *
   * Reads a part of a regular file. Anything else than a regular file is refused.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*read) (SandboxDriver  *self,
                    const char     *path,
                    guint64         offset,
                    guint64         max,
                    SandboxRequest *request,
                    GError        **error);

  /**
   * SandboxDriverInterface::write:
   * @self: a driver
   * @path: the file
   * @bytes: its new content
   * @mode: permission bits for a new file, 0 for 0644; an existing one keeps its execute bits
   * @flags: how
   * @request: answered when done
   * @error: return location for an error
   *
   * Replaces a regular file, or makes it. A reader sees the old content or the new, never a mixture.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*write) (SandboxDriver    *self,
                     const char       *path,
                     GBytes           *bytes,
                     guint             mode,
                     SandboxWriteFlags flags,
                     SandboxRequest   *request,
                     GError          **error);

  /**
   * SandboxDriverInterface::remove:
   * @self: a driver
   * @path: the file or directory
   * @flags: how
   * @request: answered when done
   * @error: return location for an error
   *
   * Removes a file, a link (never its target) or a directory.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*remove) (SandboxDriver     *self,
                      const char        *path,
                      SandboxRemoveFlags flags,
                      SandboxRequest    *request,
                      GError           **error);

  /**
   * SandboxDriverInterface::spawn:
   * @self: a driver
   * @command: what to start; frozen and checked, its `cwd` relative to the workspace
   * @request: answered with a [class@Sandbox.Process] once the program runs
   * @error: return location for an error
   *
   * Starts a command. Whatever of the command cannot be enforced (limits, a terminal) is refused
   * with %SANDBOX_ERROR_NOT_SUPPORTED before anything starts.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*spawn) (SandboxDriver  *self,
                     SandboxCommand *command,
                     SandboxRequest *request,
                     GError        **error);

  /**
   * SandboxDriverInterface::set_network_policy:
   * @self: a driver
   * @policy: the policy; frozen
   * @request: answered when it is in force
   * @error: return location for an error
   *
   * Enforces a policy from now on. No command is alive at that time. What cannot be enforced is
   * refused with %SANDBOX_ERROR_NETWORK_DENIED, and the old policy stays in force.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*set_network_policy) (SandboxDriver        *self,
                                  SandboxNetworkPolicy *policy,
                                  SandboxRequest       *request,
                                  GError              **error);

  /**
   * SandboxDriverInterface::close:
   * @self: a driver
   * @request: answered when everything is released
   * @error: return location for an error
   *
   * Ends the sandbox: kills what still runs and releases what is held. The workspace stays.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*close) (SandboxDriver  *self,
                     SandboxRequest *request,
                     GError        **error);

  /**
   * SandboxDriverInterface::list:
   * @self: a driver
   * @path: the directory
   * @max: how many entries at the most
   * @request: answered with a listing
   * @error: return location for an error
   *
   * Lists a directory. Optional.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*list) (SandboxDriver  *self,
                    const char     *path,
                    guint           max,
                    SandboxRequest *request,
                    GError        **error);

  /**
   * SandboxDriverInterface::query_info:
   * @self: a driver
   * @path: the file
   * @request: answered with a [class@Gio.FileInfo]
   * @error: return location for an error
   *
   * Describes a file without following a link. Optional.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*query_info) (SandboxDriver  *self,
                          const char     *path,
                          SandboxRequest *request,
                          GError        **error);

  /**
   * SandboxDriverInterface::make_directory:
   * @self: a driver
   * @path: the directory
   * @request: answered when done
   * @error: return location for an error
   *
   * Makes a directory and its missing parents. Optional.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*make_directory) (SandboxDriver  *self,
                              const char     *path,
                              SandboxRequest *request,
                              GError        **error);

  /**
   * SandboxDriverInterface::move:
   * @self: a driver
   * @from: the old path
   * @to: the new path; nothing may be there
   * @request: answered when done
   * @error: return location for an error
   *
   * Renames a file or directory. Optional.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*move) (SandboxDriver  *self,
                    const char     *from,
                    const char     *to,
                    SandboxRequest *request,
                    GError        **error);

  /**
   * SandboxDriverInterface::open_read:
   * @self: a driver
   * @path: the file
   * @request: answered with a [class@Gio.InputStream]
   * @error: return location for an error
   *
   * Opens a regular file for reading. Optional.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*open_read) (SandboxDriver  *self,
                         const char     *path,
                         SandboxRequest *request,
                         GError        **error);

  /**
   * SandboxDriverInterface::open_write:
   * @self: a driver
   * @path: the file
   * @request: answered with a [class@Gio.OutputStream]
   * @error: return location for an error
   *
   * Opens a regular file for writing; its content is replaced when the stream is closed without an
   * error. Optional.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*open_write) (SandboxDriver  *self,
                          const char     *path,
                          SandboxRequest *request,
                          GError        **error);

  /**
   * SandboxDriverInterface::import_tree:
   * @self: a driver
   * @path: where to
   * @directory: a directory of the host
   * @request: answered when done
   * @error: return location for an error
   *
   * Copies a directory of the host into the workspace. Optional.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*import_tree) (SandboxDriver  *self,
                           const char     *path,
                           GFile          *directory,
                           SandboxRequest *request,
                           GError        **error);

  /**
   * SandboxDriverInterface::export_tree:
   * @self: a driver
   * @path: what
   * @directory: a directory of the host, which is made
   * @request: answered when done
   * @error: return location for an error
   *
   * Copies a directory of the workspace out to the host. Optional.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*export_tree) (SandboxDriver  *self,
                           const char     *path,
                           GFile          *directory,
                           SandboxRequest *request,
                           GError        **error);

  /**
   * SandboxDriverInterface::connect_port:
   * @self: a driver
   * @port: a TCP port on the loopback of the sandbox
   * @request: answered with a [class@Gio.SocketConnection]
   * @error: return location for an error
   *
   * Connects to a server that runs inside the sandbox. Optional.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*connect_port) (SandboxDriver  *self,
                            guint           port,
                            SandboxRequest *request,
                            GError        **error);

  /**
   * SandboxDriverInterface::set_gateway:
   * @self: a driver
   * @gateway: the gateway of the session
   * @request: answered when @gateway has what doors there are
   * @error: return location for an error
   *
   * Gives the doors of the sandbox to @gateway from now on, by [method@Sandbox.Gateway.add_door]. Called before a list of origins is in force, once; after a
   * failure there may be another call, with another gateway.
   *
   * Under a policy that lists origins, each sandbox has a door at %SANDBOX_GATEWAY_PATH, with
   * [property@Sandbox.NetworkPolicy:loopback-door] another one at %SANDBOX_GATEWAY_PORT, and no other way to the network.
   * They are there before a command runs, and are removed from @gateway when the sandbox has ended. Optional: a driver
   * without this function either holds commands to a list in its own way, or refuses it.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*set_gateway) (SandboxDriver  *self,
                           SandboxGateway *gateway,
                           SandboxRequest *request,
                           GError        **error);
};

G_END_DECLS
