/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-create-options.h"

G_BEGIN_DECLS

/* See sandbox_command_freeze (). */
SandboxCreateOptions *sandbox_create_options_freeze (SandboxCreateOptions *self);

/* INVALID or LIMIT for labels, a place of the files or a profile that make no sense on any host; STATE_MISMATCH for a
 * state and a template that do not go together. */
gboolean sandbox_create_options_validate (SandboxCreateOptions *self,
                                          GError              **error);

G_END_DECLS
