/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_BACKEND_INFO (sandbox_backend_info_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxBackendInfo, sandbox_backend_info, SANDBOX, BACKEND_INFO, GObject)

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_backend_info_get_name (SandboxBackendInfo *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_backend_info_get_description (SandboxBackendInfo *self);
SANDBOX_AVAILABLE_IN_1_0
int sandbox_backend_info_get_priority (SandboxBackendInfo *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_backend_info_get_kind (SandboxBackendInfo *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_backend_info_get_file (SandboxBackendInfo *self);
SANDBOX_AVAILABLE_IN_1_0
const GError *sandbox_backend_info_get_load_error (SandboxBackendInfo *self);

G_END_DECLS
