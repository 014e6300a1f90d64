/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-driver.h"
#include "sandbox-listing.h"
#include "sandbox-process.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_SESSION (sandbox_session_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxSession, sandbox_session, SANDBOX, SESSION, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxSession *sandbox_session_new_for_driver (SandboxDriver *driver,
                                                GError       **error) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_session_get_id (SandboxSession *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_session_get_workspace_path (SandboxSession *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_session_get_gateway_path (SandboxSession *self);
SANDBOX_AVAILABLE_IN_1_0
char *sandbox_session_resolve_path (SandboxSession *self,
                                    const char     *path,
                                    GError        **error);
SANDBOX_AVAILABLE_IN_1_0
GListModel *sandbox_session_list_processes (SandboxSession *self);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_read_bytes_async (SandboxSession     *self,
                                       const char         *path,
                                       GCancellable       *cancellable,
                                       GAsyncReadyCallback callback,
                                       gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
GBytes *sandbox_session_read_bytes_finish (SandboxSession *self,
                                           GAsyncResult   *result,
                                           GError        **error);
SANDBOX_AVAILABLE_IN_1_0
GBytes *sandbox_session_read_bytes (SandboxSession *self,
                                    const char     *path,
                                    GCancellable   *cancellable,
                                    GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_read_text_async (SandboxSession     *self,
                                      const char         *path,
                                      GCancellable       *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
char *sandbox_session_read_text_finish (SandboxSession *self,
                                        GAsyncResult   *result,
                                        GError        **error);
SANDBOX_AVAILABLE_IN_1_0
char *sandbox_session_read_text (SandboxSession *self,
                                 const char     *path,
                                 GCancellable   *cancellable,
                                 GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_write_bytes_async (SandboxSession     *self,
                                        const char         *path,
                                        GBytes             *bytes,
                                        GCancellable       *cancellable,
                                        GAsyncReadyCallback callback,
                                        gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_write_bytes_finish (SandboxSession *self,
                                             GAsyncResult   *result,
                                             GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_write_bytes (SandboxSession *self,
                                      const char     *path,
                                      GBytes         *bytes,
                                      GCancellable   *cancellable,
                                      GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_write_text_async (SandboxSession     *self,
                                       const char         *path,
                                       const char         *text,
                                       GCancellable       *cancellable,
                                       GAsyncReadyCallback callback,
                                       gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_write_text_finish (SandboxSession *self,
                                            GAsyncResult   *result,
                                            GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_write_text (SandboxSession *self,
                                     const char     *path,
                                     const char     *text,
                                     GCancellable   *cancellable,
                                     GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_remove_path_async (SandboxSession     *self,
                                        const char         *path,
                                        GCancellable       *cancellable,
                                        GAsyncReadyCallback callback,
                                        gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_remove_path_finish (SandboxSession *self,
                                             GAsyncResult   *result,
                                             GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_remove_path (SandboxSession *self,
                                      const char     *path,
                                      GCancellable   *cancellable,
                                      GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_list_directory_async (SandboxSession     *self,
                                           const char         *path,
                                           GCancellable       *cancellable,
                                           GAsyncReadyCallback callback,
                                           gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
SandboxListing *sandbox_session_list_directory_finish (SandboxSession *self,
                                                       GAsyncResult   *result,
                                                       GError        **error);
SANDBOX_AVAILABLE_IN_1_0
SandboxListing *sandbox_session_list_directory (SandboxSession *self,
                                                const char     *path,
                                                GCancellable   *cancellable,
                                                GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_query_info_async (SandboxSession     *self,
                                       const char         *path,
                                       GCancellable       *cancellable,
                                       GAsyncReadyCallback callback,
                                       gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
GFileInfo *sandbox_session_query_info_finish (SandboxSession *self,
                                              GAsyncResult   *result,
                                              GError        **error);
SANDBOX_AVAILABLE_IN_1_0
GFileInfo *sandbox_session_query_info (SandboxSession *self,
                                       const char     *path,
                                       GCancellable   *cancellable,
                                       GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_make_directory_async (SandboxSession     *self,
                                           const char         *path,
                                           GCancellable       *cancellable,
                                           GAsyncReadyCallback callback,
                                           gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_make_directory_finish (SandboxSession *self,
                                                GAsyncResult   *result,
                                                GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_make_directory (SandboxSession *self,
                                         const char     *path,
                                         GCancellable   *cancellable,
                                         GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_move_async (SandboxSession     *self,
                                 const char         *from,
                                 const char         *to,
                                 GCancellable       *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_move_finish (SandboxSession *self,
                                      GAsyncResult   *result,
                                      GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_move (SandboxSession *self,
                               const char     *from,
                               const char     *to,
                               GCancellable   *cancellable,
                               GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_open_read_async (SandboxSession     *self,
                                      const char         *path,
                                      GCancellable       *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
GInputStream *sandbox_session_open_read_finish (SandboxSession *self,
                                                GAsyncResult   *result,
                                                GError        **error);
SANDBOX_AVAILABLE_IN_1_0
GInputStream *sandbox_session_open_read (SandboxSession *self,
                                         const char     *path,
                                         GCancellable   *cancellable,
                                         GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_open_write_async (SandboxSession     *self,
                                       const char         *path,
                                       GCancellable       *cancellable,
                                       GAsyncReadyCallback callback,
                                       gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
GOutputStream *sandbox_session_open_write_finish (SandboxSession *self,
                                                  GAsyncResult   *result,
                                                  GError        **error);
SANDBOX_AVAILABLE_IN_1_0
GOutputStream *sandbox_session_open_write (SandboxSession *self,
                                           const char     *path,
                                           GCancellable   *cancellable,
                                           GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_import_directory_async (SandboxSession     *self,
                                             GFile              *directory,
                                             const char         *path,
                                             GCancellable       *cancellable,
                                             GAsyncReadyCallback callback,
                                             gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_import_directory_finish (SandboxSession *self,
                                                  GAsyncResult   *result,
                                                  GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_import_directory (SandboxSession *self,
                                           GFile          *directory,
                                           const char     *path,
                                           GCancellable   *cancellable,
                                           GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_export_directory_async (SandboxSession     *self,
                                             const char         *path,
                                             GFile              *directory,
                                             GCancellable       *cancellable,
                                             GAsyncReadyCallback callback,
                                             gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_export_directory_finish (SandboxSession *self,
                                                  GAsyncResult   *result,
                                                  GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_export_directory (SandboxSession *self,
                                           const char     *path,
                                           GFile          *directory,
                                           GCancellable   *cancellable,
                                           GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_spawn_async (SandboxSession     *self,
                                  SandboxCommand     *command,
                                  GCancellable       *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
SandboxProcess *sandbox_session_spawn_finish (SandboxSession *self,
                                              GAsyncResult   *result,
                                              GError        **error);
SANDBOX_AVAILABLE_IN_1_0
SandboxProcess *sandbox_session_spawn (SandboxSession *self,
                                       SandboxCommand *command,
                                       GCancellable   *cancellable,
                                       GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_run_async (SandboxSession     *self,
                                SandboxCommand     *command,
                                GCancellable       *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
SandboxResult *sandbox_session_run_finish (SandboxSession *self,
                                           GAsyncResult   *result,
                                           GError        **error);
SANDBOX_AVAILABLE_IN_1_0
SandboxResult *sandbox_session_run (SandboxSession *self,
                                    SandboxCommand *command,
                                    GCancellable   *cancellable,
                                    GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_session_set_network_policy_async (SandboxSession       *self,
                                               SandboxNetworkPolicy *policy,
                                               GCancellable         *cancellable,
                                               GAsyncReadyCallback   callback,
                                               gpointer              user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_set_network_policy_finish (SandboxSession *self,
                                                    GAsyncResult   *result,
                                                    GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_session_set_network_policy (SandboxSession       *self,
                                             SandboxNetworkPolicy *policy,
                                             GCancellable         *cancellable,
                                             GError              **error);

G_END_DECLS
