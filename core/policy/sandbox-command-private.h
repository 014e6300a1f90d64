/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-command.h"

G_BEGIN_DECLS

/* An own copy that nobody can change any more, limits included, with one entry per variable; a frozen
 * one is returned as it is. Frozen objects may be read in any thread. */
SandboxCommand *sandbox_command_freeze (SandboxCommand *self);

/* A frozen copy as drivers get it: the working directory as the session has checked it, limits where the
 * command leaves them unset, variables that it does not set itself, and a pipe for its input if it brings none. */
SandboxCommand *sandbox_command_freeze_for_driver (SandboxCommand    *self,
                                                   const char        *cwd,
                                                   SandboxLimits     *default_limits,
                                                   const char *const *default_environment,
                                                   gboolean           with_pipe);

/* Whether the command could be started anywhere: INVALID without a program or with a variable that is
 * none, LIMIT when the kernel would refuse the size. The working directory is the session's to judge. */
gboolean sandbox_command_validate (SandboxCommand *self,
                                   GError        **error);

G_END_DECLS
