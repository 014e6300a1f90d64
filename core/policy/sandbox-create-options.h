/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-isolation.h"
#include "sandbox-network-policy.h"
#include "sandbox-profile.h"
#include "sandbox-restrictions.h"
#include "sandbox-state.h"
#include "sandbox-version-macros.h"
#include "sandbox-workspace-mode.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_CREATE_OPTIONS (sandbox_create_options_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxCreateOptions, sandbox_create_options, SANDBOX, CREATE_OPTIONS, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxCreateOptions *sandbox_create_options_new (void) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
SandboxNetworkPolicy *sandbox_create_options_get_network (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_network (SandboxCreateOptions *self,
                                         SandboxNetworkPolicy *network);

SANDBOX_AVAILABLE_IN_1_0
SandboxProfile *sandbox_create_options_get_profile (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_profile (SandboxCreateOptions *self,
                                         SandboxProfile       *profile);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_create_options_get_workspace_path (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_workspace_path (SandboxCreateOptions *self,
                                                const char           *workspace_path);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_create_options_get_template_key (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_template_key (SandboxCreateOptions *self,
                                              const char           *template_key);

SANDBOX_AVAILABLE_IN_1_0
SandboxState *sandbox_create_options_get_state (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_state (SandboxCreateOptions *self,
                                       SandboxState         *state);

SANDBOX_AVAILABLE_IN_1_0
SandboxWorkspaceMode sandbox_create_options_get_workspace_mode (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_workspace_mode (SandboxCreateOptions *self,
                                                SandboxWorkspaceMode  workspace_mode);

SANDBOX_AVAILABLE_IN_1_0
SandboxRestrictions sandbox_create_options_get_required (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_required (SandboxCreateOptions *self,
                                          SandboxRestrictions   required);

SANDBOX_AVAILABLE_IN_1_0
GVariant *sandbox_create_options_get_labels (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_labels (SandboxCreateOptions *self,
                                        GVariant             *labels);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_create_options_get_max_file_bytes (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_max_file_bytes (SandboxCreateOptions *self,
                                                guint64               max_file_bytes);

SANDBOX_AVAILABLE_IN_1_0
SandboxIsolation sandbox_create_options_get_isolation (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_isolation (SandboxCreateOptions *self,
                                           SandboxIsolation      isolation);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_create_options_get_idle_ms (SandboxCreateOptions *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_create_options_set_idle_ms (SandboxCreateOptions *self,
                                         guint                 idle_ms);

G_END_DECLS
