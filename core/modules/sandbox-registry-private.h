/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-registry.h"

G_BEGIN_DECLS

/* A registry of these folders only. */
SandboxRegistry *sandbox_registry_new_for_path (const char *const *directories);

/* STOPPED in a forked child. */
gboolean sandbox_registry_check_own (SandboxRegistry *self,
                                     GError         **error);

/* What may be picked when no name is given, best first: SandboxBackendInfo, at least one. */
GPtrArray *sandbox_registry_dup_candidates (SandboxRegistry *self,
                                            GError         **error);

SandboxBackend *sandbox_registry_make (SandboxRegistry    *self,
                                       SandboxBackendInfo *info,
                                       const char         *state_directory,
                                       GError            **error);

G_END_DECLS
