/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-backend.h"
#include "sandbox-file-set.h"
#include "sandbox-handle.h"
#include "sandbox-state.h"
#include "sandbox-template.h"

G_BEGIN_DECLS

SANDBOX_AVAILABLE_IN_1_0
void sandbox_backend_probe_async (SandboxBackend     *self,
                                  SandboxProfile     *profile,
                                  GCancellable       *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
SandboxReport *sandbox_backend_probe_finish (SandboxBackend *self,
                                             GAsyncResult   *result,
                                             GError        **error);
SANDBOX_AVAILABLE_IN_1_0
SandboxReport *sandbox_backend_probe (SandboxBackend *self,
                                      SandboxProfile *profile,
                                      GCancellable   *cancellable,
                                      GError        **error);

SANDBOX_AVAILABLE_IN_1_0
char *sandbox_backend_plan (SandboxBackend       *self,
                            SandboxCommand       *command,
                            SandboxCreateOptions *options,
                            GError              **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_backend_create_async (SandboxBackend       *self,
                                   SandboxCreateOptions *options,
                                   GCancellable         *cancellable,
                                   GAsyncReadyCallback   callback,
                                   gpointer              user_data);
SANDBOX_AVAILABLE_IN_1_0
SandboxHandle *sandbox_backend_create_finish (SandboxBackend *self,
                                              GAsyncResult   *result,
                                              GError        **error);
SANDBOX_AVAILABLE_IN_1_0
SandboxHandle *sandbox_backend_create (SandboxBackend       *self,
                                       SandboxCreateOptions *options,
                                       GCancellable         *cancellable,
                                       GError              **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_backend_prewarm_async (SandboxBackend     *self,
                                    const char         *name,
                                    SandboxFileSet     *files,
                                    GCancellable       *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
SandboxTemplate *sandbox_backend_prewarm_finish (SandboxBackend *self,
                                                 GAsyncResult   *result,
                                                 GError        **error);
SANDBOX_AVAILABLE_IN_1_0
SandboxTemplate *sandbox_backend_prewarm (SandboxBackend *self,
                                          const char     *name,
                                          SandboxFileSet *files,
                                          GCancellable   *cancellable,
                                          GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_backend_list_templates_async (SandboxBackend     *self,
                                           GCancellable       *cancellable,
                                           GAsyncReadyCallback callback,
                                           gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
GListModel *sandbox_backend_list_templates_finish (SandboxBackend *self,
                                                   GAsyncResult   *result,
                                                   GError        **error);
SANDBOX_AVAILABLE_IN_1_0
GListModel *sandbox_backend_list_templates (SandboxBackend *self,
                                            GCancellable   *cancellable,
                                            GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_backend_list_sessions_async (SandboxBackend     *self,
                                          GCancellable       *cancellable,
                                          GAsyncReadyCallback callback,
                                          gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
GListModel *sandbox_backend_list_sessions_finish (SandboxBackend *self,
                                                  GAsyncResult   *result,
                                                  GError        **error);
SANDBOX_AVAILABLE_IN_1_0
GListModel *sandbox_backend_list_sessions (SandboxBackend *self,
                                           GCancellable   *cancellable,
                                           GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_backend_delete_template_async (SandboxBackend     *self,
                                            const char         *key,
                                            GCancellable       *cancellable,
                                            GAsyncReadyCallback callback,
                                            gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_backend_delete_template_finish (SandboxBackend *self,
                                                 GAsyncResult   *result,
                                                 GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_backend_delete_template (SandboxBackend *self,
                                          const char     *key,
                                          GCancellable   *cancellable,
                                          GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_backend_delete_session_async (SandboxBackend     *self,
                                           SandboxState       *state,
                                           GCancellable       *cancellable,
                                           GAsyncReadyCallback callback,
                                           gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_backend_delete_session_finish (SandboxBackend *self,
                                                GAsyncResult   *result,
                                                GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_backend_delete_session (SandboxBackend *self,
                                         SandboxState   *state,
                                         GCancellable   *cancellable,
                                         GError        **error);

G_END_DECLS
