/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-backend.h"
#include "sandbox-driver.h"
#include "sandbox-request.h"

G_BEGIN_DECLS

/**
 * SANDBOX_TRANSFER_MAX_ENTRIES:
 *
 * How many files and directories an import or export may have.
 *
 * Since: 1.0
 */
#define SANDBOX_TRANSFER_MAX_ENTRIES 100000

/**
 * SANDBOX_TRANSFER_MAX_BYTES:
 *
 * How many bytes an import or export may have: 2 GiB.
 *
 * Since: 1.0
 */
#define SANDBOX_TRANSFER_MAX_BYTES G_GUINT64_CONSTANT (2147483648)

/**
 * SANDBOX_TRANSFER_MAX_DEPTH:
 *
 * How many directories may be in each other in an import or export.
 *
 * Since: 1.0
 */
#define SANDBOX_TRANSFER_MAX_DEPTH 256

#define SANDBOX_TYPE_WORKSPACE (sandbox_workspace_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxWorkspace, sandbox_workspace, SANDBOX, WORKSPACE, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxWorkspace *sandbox_workspace_new (const char *path,
                                         GError    **error) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_workspace_get_path (SandboxWorkspace *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_workspace_get_state_directory (SandboxWorkspace *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_workspace_get_owner (SandboxWorkspace *self,
                                  guint            *uid,
                                  guint            *gid);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_workspace_set_owner (SandboxWorkspace *self,
                                  guint             uid,
                                  guint             gid);

SANDBOX_AVAILABLE_IN_1_0
int sandbox_workspace_dup_fd (SandboxWorkspace *self,
                              GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_dup_layers (SandboxWorkspace *self,
                                       int              *lower_fd,
                                       int              *base_fd,
                                       GError          **error);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_workspace_take_view (SandboxWorkspace *self,
                                  int               fd);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_drop_view (SandboxWorkspace *self);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_check (SandboxWorkspace *self,
                                  GError          **error);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_lend_alive (SandboxWorkspace *self,
                                       int              *fd,
                                       GError          **error);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_workspace_return_alive (int *fd);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_read (SandboxWorkspace *self,
                                 const char       *path,
                                 guint64           offset,
                                 guint64           max,
                                 SandboxRequest   *request,
                                 GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_write (SandboxWorkspace *self,
                                  const char       *path,
                                  GBytes           *bytes,
                                  guint             mode,
                                  SandboxWriteFlags flags,
                                  SandboxRequest   *request,
                                  GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_remove (SandboxWorkspace  *self,
                                   const char        *path,
                                   SandboxRemoveFlags flags,
                                   SandboxRequest    *request,
                                   GError           **error);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_list (SandboxWorkspace *self,
                                 const char       *path,
                                 guint             max,
                                 SandboxRequest   *request,
                                 GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_query_info (SandboxWorkspace *self,
                                       const char       *path,
                                       SandboxRequest   *request,
                                       GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_make_directory (SandboxWorkspace *self,
                                           const char       *path,
                                           SandboxRequest   *request,
                                           GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_move (SandboxWorkspace *self,
                                 const char       *from,
                                 const char       *to,
                                 SandboxRequest   *request,
                                 GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_open_read (SandboxWorkspace *self,
                                      const char       *path,
                                      SandboxRequest   *request,
                                      GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_open_write (SandboxWorkspace *self,
                                       const char       *path,
                                       SandboxRequest   *request,
                                       GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_import_tree (SandboxWorkspace *self,
                                        const char       *path,
                                        GFile            *directory,
                                        SandboxRequest   *request,
                                        GError          **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_workspace_export_tree (SandboxWorkspace *self,
                                        const char       *path,
                                        GFile            *directory,
                                        SandboxRequest   *request,
                                        GError          **error);

G_END_DECLS
