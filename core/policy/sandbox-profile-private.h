/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-profile.h"

G_BEGIN_DECLS

/* See sandbox_command_freeze (). */
SandboxProfile *sandbox_profile_freeze (SandboxProfile *self);

/* Everything about a profile that is wrong on every host: INVALID, or LIMIT for too much. Pure. */
gboolean sandbox_profile_validate (SandboxProfile *self,
                                   GError        **error);

G_END_DECLS
