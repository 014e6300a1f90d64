/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-backend-info.h"
#include "sandbox-backend.h"
#include "sandbox-restrictions.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_REGISTRY (sandbox_registry_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxRegistry, sandbox_registry, SANDBOX, REGISTRY, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxRegistry *sandbox_registry_get_default (void);
SANDBOX_AVAILABLE_IN_1_0
SandboxRegistry *sandbox_registry_new (void) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
SandboxBackendInfo *sandbox_registry_lookup (SandboxRegistry *self,
                                             const char      *name);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_registry_add_type (SandboxRegistry *self,
                                    const char      *name,
                                    int              priority,
                                    GType            type,
                                    GError         **error);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_registry_add_search_path (SandboxRegistry *self,
                                       const char      *path);

SANDBOX_AVAILABLE_IN_1_0
SandboxBackend *sandbox_registry_create_backend (SandboxRegistry *self,
                                                 const char      *name,
                                                 const char      *state_directory,
                                                 GError         **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_registry_find_backend_async (SandboxRegistry    *self,
                                          SandboxRestrictions required,
                                          const char         *state_directory,
                                          GCancellable       *cancellable,
                                          GAsyncReadyCallback callback,
                                          gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
SandboxBackend *sandbox_registry_find_backend_finish (SandboxRegistry *self,
                                                      GAsyncResult    *result,
                                                      GError         **error);
SANDBOX_AVAILABLE_IN_1_0
SandboxBackend *sandbox_registry_find_backend (SandboxRegistry    *self,
                                               SandboxRestrictions required,
                                               const char         *state_directory,
                                               GCancellable       *cancellable,
                                               GError            **error);

G_END_DECLS
