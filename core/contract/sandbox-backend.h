/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-command.h"
#include "sandbox-create-options.h"
#include "sandbox-driver.h"
#include "sandbox-profile.h"
#include "sandbox-report.h"
#include "sandbox-request.h"

G_BEGIN_DECLS

/* Contained files; the storage layer has it, and a backend is only handed one. */
typedef struct _SandboxWorkspace SandboxWorkspace;

#define SANDBOX_TYPE_BACKEND (sandbox_backend_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_DERIVABLE_TYPE (SandboxBackend, sandbox_backend, SANDBOX, BACKEND, GObject)

/**
 * SandboxBackendClass:
 * @parent_class: the parent
 * @probe: finds out what this host can enforce
 * @create_driver: makes one sandbox
 * @plan: tells what would be started
 * @get_storage: tells whether the library keeps the files of sessions for this backend
 * @try_overlay: tries whether its sandboxes can show the files of a template through an overlay
 * @check_overlay: tells whether a session can have such a workspace
 *
 * What a backend does. See [iface@Sandbox.Driver] for the manner of these functions.
 *
 * Since: 1.0
 */
struct _SandboxBackendClass
{
  GObjectClass parent_class;

  /**
   * SandboxBackendClass::probe:
   * @self: a backend
   * @profile: (nullable): what is wanted, or %NULL for the default
   * @request: answered with a [class@Sandbox.Report]
   * @error: return location for an error
   *
   * Finds out what can be enforced here, by trying it.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*probe) (SandboxBackend *self,
                     SandboxProfile *profile,
                     SandboxRequest *request,
                     GError        **error);

  /**
   * SandboxBackendClass::create_driver:
   * @self: a backend
   * @options: what is wanted; frozen
   * @workspace: (nullable): the files of the session, or %NULL for a backend that keeps them elsewhere, see
   *   [vfunc@Sandbox.Backend.get_storage]
   * @request: answered with a [iface@Sandbox.Driver]
   * @error: return location for an error
   *
   * Makes one sandbox with the network policy of @options in force. It has been proven to work
   * when the request is answered; what cannot be enforced is refused.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*create_driver) (SandboxBackend       *self,
                             SandboxCreateOptions *options,
                             SandboxWorkspace     *workspace,
                             SandboxRequest       *request,
                             GError              **error);

  /**
   * SandboxBackendClass::plan:
   * @self: a backend
   * @command: what would be run
   * @options: what would be created
   * @error: return location for an error
   *
   * Tells as JSON what would be started. Starts nothing.
   *
   * Returns: (transfer full) (nullable): the plan, or %NULL with an error
   *
   * Since: 1.0
   */
  char *(*plan) (SandboxBackend       *self,
                 SandboxCommand       *command,
                 SandboxCreateOptions *options,
                 GError              **error);

  /**
   * SandboxBackendClass::get_storage:
   * @self: a backend
   * @uid: (out): whose the files on disk are, for a host that is root
   * @gid: (out): their group, for a host that is root
   *
   * Tells whether the library keeps templates and the workspaces of sessions for this backend, in directories of the
   * host below [property@Sandbox.Backend:state-directory].
   *
   * Then [vfunc@Sandbox.Backend.create_driver] is handed a workspace for every session, and hosts can use templates
   * and go on with stopped sessions. The answer is the same for the life of the object. Without this function the
   * answer is no.
   *
   * The ids are the ones of the program itself unless it is root. A host that is root gives an unprivileged user
   * that no process runs as; commands see the files as their own by a mapped mount.
   *
   * Returns: whether it does
   *
   * Since: 1.0
   */
  gboolean (*get_storage) (SandboxBackend *self,
                           guint          *uid,
                           guint          *gid);

  /**
   * SandboxBackendClass::try_overlay: (skip)
   * @self: a backend
   * @workspace: one whose [method@Sandbox.Workspace.dup_layers] gives the like of those of sessions; of the template it has
   *   a directory `directory` with a file `file`
   * @error: return location for an error
   *
   * Tries whether sandboxes of this backend can have a workspace that is an overlay, by mounting this one and changing it.
   *
   * Then sessions may be made that have one. All of them are on one file system, so one answer is for all. It is called in
   * any thread, and may block. Nothing of it may be mounted any more when it returns.
   *
   * Without this function the answer is %SANDBOX_ERROR_NOT_SUPPORTED.
   *
   * Returns: whether they can, or %FALSE with an error: %SANDBOX_ERROR_NOT_SUPPORTED when they never will, with the
   *   reason
   *
   * Since: 1.0
   */
  gboolean (*try_overlay) (SandboxBackend   *self,
                           SandboxWorkspace *workspace,
                           GError          **error);

  /**
   * SandboxBackendClass::check_overlay:
   * @self: a backend
   * @options: what is wanted; the workspace mode in there is %SANDBOX_WORKSPACE_MODE_OVERLAY or
   *   %SANDBOX_WORKSPACE_MODE_AUTO
   * @error: return location for an error
   *
   * Finds out whether a session with these options can have a workspace that is an overlay, before one is made. It is called
   * in any thread, and may block.
   *
   * With %SANDBOX_WORKSPACE_MODE_AUTO the session gets files of its own where it is %FALSE, so that is the answer wherever
   * it could be missed. Without this function the answer is %TRUE.
   *
   * Returns: whether it can, or %FALSE with an error: %SANDBOX_ERROR_NOT_SUPPORTED with the reason
   *
   * Since: 1.0
   */
  gboolean (*check_overlay) (SandboxBackend       *self,
                             SandboxCreateOptions *options,
                             GError              **error);

  /*< private >*/
  gpointer _reserved[9];
};

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_backend_get_name (SandboxBackend *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_backend_get_state_directory (SandboxBackend *self);
SANDBOX_AVAILABLE_IN_1_0
guint sandbox_backend_get_max_concurrent_commands (SandboxBackend *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_backend_set_max_concurrent_commands (SandboxBackend *self,
                                                  guint           max_concurrent_commands);

G_END_DECLS
