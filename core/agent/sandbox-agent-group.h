/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-control-group.h"
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_AGENT_GROUP (sandbox_agent_group_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxAgentGroup, sandbox_agent_group, SANDBOX, AGENT_GROUP, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxAgentGroup *sandbox_agent_group_new (SandboxControlGroup *parent,
                                            SandboxLimits       *limits,
                                            GError             **error) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
int sandbox_agent_group_get_fd (SandboxAgentGroup *self);

G_END_DECLS
