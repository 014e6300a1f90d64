/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-limits.h"
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxOutputLimitAction:
 * @SANDBOX_OUTPUT_LIMIT_ACTION_KILL: the command is killed; its outcome is
 *   %SANDBOX_OUTCOME_OUTPUT_LIMIT
 * @SANDBOX_OUTPUT_LIMIT_ACTION_TRUNCATE: the command runs on; the rest of its output is read,
 *   counted and dropped
 *
 * What happens to a command that writes too much.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_OUTPUT_LIMIT_ACTION_KILL,
  SANDBOX_OUTPUT_LIMIT_ACTION_TRUNCATE,
} SandboxOutputLimitAction;

#define SANDBOX_TYPE_COMMAND (sandbox_command_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxCommand, sandbox_command, SANDBOX, COMMAND, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxCommand *sandbox_command_new (const char *const *argv) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
const char *const *sandbox_command_get_argv (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_argv (SandboxCommand    *self,
                               const char *const *argv);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_command_get_cwd (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_cwd (SandboxCommand *self,
                              const char     *cwd);

SANDBOX_AVAILABLE_IN_1_0
const char *const *sandbox_command_get_environment (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_environment (SandboxCommand    *self,
                                      const char *const *environment);

SANDBOX_AVAILABLE_IN_1_0
GBytes *sandbox_command_get_stdin (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_stdin (SandboxCommand *self,
                                GBytes         *bytes);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_command_get_timeout_ms (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_timeout_ms (SandboxCommand *self,
                                     guint           timeout_ms);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_command_get_max_output (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_max_output (SandboxCommand *self,
                                     guint64         max_output);

SANDBOX_AVAILABLE_IN_1_0
SandboxOutputLimitAction sandbox_command_get_output_limit_action (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_output_limit_action (SandboxCommand          *self,
                                              SandboxOutputLimitAction output_limit_action);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_command_get_kill_grace_ms (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_kill_grace_ms (SandboxCommand *self,
                                        guint           kill_grace_ms);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_command_get_terminal (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_terminal (SandboxCommand *self,
                                   gboolean        terminal);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_command_get_terminal_rows (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_terminal_rows (SandboxCommand *self,
                                        guint           terminal_rows);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_command_get_terminal_columns (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_terminal_columns (SandboxCommand *self,
                                           guint           terminal_columns);

SANDBOX_AVAILABLE_IN_1_0
SandboxLimits *sandbox_command_get_limits (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_limits (SandboxCommand *self,
                                 SandboxLimits  *limits);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_command_get_label (SandboxCommand *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_command_set_label (SandboxCommand *self,
                                const char     *label);

/* For drivers */
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_command_wants_stdin_pipe (SandboxCommand *self);

G_END_DECLS
