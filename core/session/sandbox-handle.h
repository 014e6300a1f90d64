/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-session.h"
#include "sandbox-state.h"
#include "sandbox-workspace-mode.h"

G_BEGIN_DECLS

/**
 * SandboxPhase:
 * @SANDBOX_PHASE_LIVE: commands can run
 * @SANDBOX_PHASE_STOPPED: everything of the session is dead and released; its files stay, but for those of a backend
 *   without a state directory
 * @SANDBOX_PHASE_DELETED: the files are removed too
 *
 * Where a session is in its life.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_PHASE_LIVE,
  SANDBOX_PHASE_STOPPED,
  SANDBOX_PHASE_DELETED,
} SandboxPhase;

#define SANDBOX_TYPE_HANDLE (sandbox_handle_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxHandle, sandbox_handle, SANDBOX, HANDLE, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxSession *sandbox_handle_get_session (SandboxHandle *self);
SANDBOX_AVAILABLE_IN_1_0
SandboxPhase sandbox_handle_get_phase (SandboxHandle *self);

SANDBOX_AVAILABLE_IN_1_0
SandboxWorkspaceMode sandbox_handle_get_workspace_mode (SandboxHandle *self);
SANDBOX_AVAILABLE_IN_1_0
SandboxState *sandbox_handle_capture_state (SandboxHandle *self,
                                            GError       **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_handle_stop_async (SandboxHandle      *self,
                                GCancellable       *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_handle_stop_finish (SandboxHandle *self,
                                     GAsyncResult  *result,
                                     GError       **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_handle_stop (SandboxHandle *self,
                              GCancellable  *cancellable,
                              GError       **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_handle_shutdown_async (SandboxHandle      *self,
                                    GCancellable       *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_handle_shutdown_finish (SandboxHandle *self,
                                         GAsyncResult  *result,
                                         GError       **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_handle_shutdown (SandboxHandle *self,
                                  GCancellable  *cancellable,
                                  GError       **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_handle_delete_async (SandboxHandle      *self,
                                  GCancellable       *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_handle_delete_finish (SandboxHandle *self,
                                       GAsyncResult  *result,
                                       GError       **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_handle_delete (SandboxHandle *self,
                                GCancellable  *cancellable,
                                GError       **error);

G_END_DECLS
