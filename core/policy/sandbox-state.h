/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_STATE (sandbox_state_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxState, sandbox_state, SANDBOX, STATE, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxState *sandbox_state_new_from_json (const char *text,
                                           GError    **error) G_GNUC_WARN_UNUSED_RESULT;
SANDBOX_AVAILABLE_IN_1_0
char *sandbox_state_to_json (SandboxState *self);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_state_get_backend (SandboxState *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_state_get_session_id (SandboxState *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_state_get_template_key (SandboxState *self);
SANDBOX_AVAILABLE_IN_1_0
GVariant *sandbox_state_get_labels (SandboxState *self);

G_END_DECLS
