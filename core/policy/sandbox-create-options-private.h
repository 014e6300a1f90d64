/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-create-options.h"

G_BEGIN_DECLS

/* See sandbox_command_freeze (). */
SandboxCreateOptions *sandbox_create_options_freeze (SandboxCreateOptions *self);

/* INVALID or LIMIT for labels, a workspace path or a profile that make no sense on any host. */
gboolean sandbox_create_options_validate (SandboxCreateOptions *self,
                                          GError              **error);

G_END_DECLS
