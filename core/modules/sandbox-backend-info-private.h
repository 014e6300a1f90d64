/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-backend-info.h"

G_BEGIN_DECLS

/* From a manifest, without loading anything. What is wrong with it becomes the load error, so there is
 * always an info. */
SandboxBackendInfo *sandbox_backend_info_new_for_manifest (const char *path);

SandboxBackendInfo *sandbox_backend_info_new_for_type (const char *name,
                                                       int         priority,
                                                       GType       type);

/* Whether it is a backend, or is broken and may have been meant as one. */
gboolean sandbox_backend_info_is_backend (SandboxBackendInfo *self);

gboolean sandbox_backend_info_is_gateway (SandboxBackendInfo *self);

/* The type to make; loads the module when that has not been done. What fails once fails for as long
 * as this info lives, with the same error. */
GType sandbox_backend_info_load (SandboxBackendInfo *self,
                                 GError            **error);

G_END_DECLS
