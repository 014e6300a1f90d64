/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-limits.h"
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_CONTROL_GROUP (sandbox_control_group_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxControlGroup, sandbox_control_group, SANDBOX, CONTROL_GROUP, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxControlGroup *sandbox_control_group_new (const char *path,
                                                GError    **error) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_control_group_get_path (SandboxControlGroup *self);
SANDBOX_AVAILABLE_IN_1_0
const char *const *sandbox_control_group_get_controllers (SandboxControlGroup *self);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_control_group_check_limits (SandboxControlGroup *self,
                                             SandboxLimits       *limits,
                                             GError             **error);

G_END_DECLS
