/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-limits.h"

G_BEGIN_DECLS

/* See sandbox_command_freeze (). */
SandboxLimits *sandbox_limits_freeze (SandboxLimits *self);

/* A frozen copy in which @defaults fill what @limits leaves unset. */
SandboxLimits *sandbox_limits_merge (SandboxLimits *limits,
                                     SandboxLimits *defaults);

G_END_DECLS
