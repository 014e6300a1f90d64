/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxOutcome:
 * @SANDBOX_OUTCOME_EXITED: the program exited by itself
 * @SANDBOX_OUTCOME_SIGNALED: a signal ended the program
 * @SANDBOX_OUTCOME_TIMED_OUT: it ran longer than its time limit and was killed
 * @SANDBOX_OUTCOME_OUTPUT_LIMIT: it wrote more than its output limit and was killed
 * @SANDBOX_OUTCOME_CANCELLED: the host cancelled it
 * @SANDBOX_OUTCOME_STOPPED: the host stopped it, or its session
 * @SANDBOX_OUTCOME_MEMORY_LIMIT: it used more memory than its limit
 * @SANDBOX_OUTCOME_TASKS_LIMIT: it failed after it had as many processes and threads as [property@Sandbox.Limits:tasks] lets it
 * @SANDBOX_OUTCOME_CPU_LIMIT: it used more processor time than its limit
 * @SANDBOX_OUTCOME_FILE_SIZE_LIMIT: it wrote a file larger than its limit
 * @SANDBOX_OUTCOME_LOST: nobody knows how it ended
 *
 * How a command ended.
 *
 * %SANDBOX_OUTCOME_CPU_LIMIT and %SANDBOX_OUTCOME_FILE_SIZE_LIMIT are for limits of a single process, and are seen when they
 * end the command's first process by a signal. In a child of a shell, or in a program that ignores the signal, as Python does
 * with SIGXFSZ, the command ends as it will, perhaps with 0. Limits of address space, of the number of processes
 * ([property@Sandbox.Limits:processes]) and of open files have no outcome: programs get ENOMEM, EAGAIN and EMFILE.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_OUTCOME_EXITED,
  SANDBOX_OUTCOME_SIGNALED,
  SANDBOX_OUTCOME_TIMED_OUT,
  SANDBOX_OUTCOME_OUTPUT_LIMIT,
  SANDBOX_OUTCOME_CANCELLED,
  SANDBOX_OUTCOME_STOPPED,
  SANDBOX_OUTCOME_MEMORY_LIMIT,
  SANDBOX_OUTCOME_TASKS_LIMIT,
  SANDBOX_OUTCOME_CPU_LIMIT,
  SANDBOX_OUTCOME_FILE_SIZE_LIMIT,
  SANDBOX_OUTCOME_LOST,
} SandboxOutcome;

#define SANDBOX_TYPE_RESULT (sandbox_result_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxResult, sandbox_result, SANDBOX, RESULT, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxOutcome sandbox_result_get_outcome (SandboxResult *self);

SANDBOX_AVAILABLE_IN_1_0
int sandbox_result_get_exit_status (SandboxResult *self);
SANDBOX_AVAILABLE_IN_1_0
int sandbox_result_get_signal (SandboxResult *self);

SANDBOX_AVAILABLE_IN_1_0
GBytes *sandbox_result_get_stdout (SandboxResult *self);
SANDBOX_AVAILABLE_IN_1_0
GBytes *sandbox_result_get_stderr (SandboxResult *self);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_result_get_truncated (SandboxResult *self);
SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_result_get_omitted_bytes (SandboxResult *self);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_result_get_wall_time_us (SandboxResult *self);
SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_result_get_user_time_us (SandboxResult *self);
SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_result_get_system_time_us (SandboxResult *self);
SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_result_get_peak_memory_bytes (SandboxResult *self);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_result_get_limit_value (SandboxResult *self);
SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_result_get_limit_peak (SandboxResult *self);

SANDBOX_AVAILABLE_IN_1_0
char *sandbox_result_dup_stdout_text (SandboxResult *self);
SANDBOX_AVAILABLE_IN_1_0
char *sandbox_result_dup_stderr_text (SandboxResult *self);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_result_check (SandboxResult *self,
                               GError       **error);

G_END_DECLS
