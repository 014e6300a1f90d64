/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-result-private.h"

#include <sys/wait.h>

#include "sandbox-enums.h"
#include "sandbox-error-private.h"

/**
 * SandboxResult:
 *
 * How a command ended, what it wrote and what it used.
 *
 * Nothing is said of an end but what the kernel said: when that is unknown, the outcome is
 * %SANDBOX_OUTCOME_LOST and there is no exit status.
 *
 * ```c
 * if (!sandbox_result_check (result, &error))
 *   return FALSE;
 *
 * text = sandbox_result_dup_stdout_text (result);
 * ```
 *
 * Since: 1.0
 */
struct _SandboxResult
{
  GObject parent_instance;

  SandboxOutcome outcome;
  int            exit_status;
  int            signal;
  GBytes        *output;
  GBytes        *errors;
  gboolean       truncated;
  guint64        omitted_bytes;
  guint64        wall_time_us;
  guint64        user_time_us;
  guint64        system_time_us;
  guint64        peak_memory_bytes;
  guint64        limit_value;
  guint64        limit_peak;
};

typedef enum
{
  PROP_OUTCOME = 1,
  PROP_EXIT_STATUS,
  PROP_SIGNAL,
  PROP_STDOUT,
  PROP_STDERR,
  PROP_TRUNCATED,
  PROP_OMITTED_BYTES,
  PROP_WALL_TIME_US,
  PROP_USER_TIME_US,
  PROP_SYSTEM_TIME_US,
  PROP_PEAK_MEMORY_BYTES,
  PROP_LIMIT_VALUE,
  PROP_LIMIT_PEAK,
} SandboxResultProps;

static GParamSpec *properties[PROP_LIMIT_PEAK + 1];

G_DEFINE_FINAL_TYPE (SandboxResult, sandbox_result, G_TYPE_OBJECT)

static void
sandbox_result_finalize (GObject *object)
{
  SandboxResult *self = SANDBOX_RESULT (object);

  g_bytes_unref (self->output);
  g_bytes_unref (self->errors);

  G_OBJECT_CLASS (sandbox_result_parent_class)->finalize (object);
}

static void
sandbox_result_get_property (GObject    *object,
                             guint       prop_id,
                             GValue     *value,
                             GParamSpec *pspec)
{
  SandboxResult *self = SANDBOX_RESULT (object);

  switch ((SandboxResultProps) prop_id)
    {
    case PROP_OUTCOME:
      g_value_set_enum (value, sandbox_result_get_outcome (self));
      break;

    case PROP_EXIT_STATUS:
      g_value_set_int (value, sandbox_result_get_exit_status (self));
      break;

    case PROP_SIGNAL:
      g_value_set_int (value, sandbox_result_get_signal (self));
      break;

    case PROP_STDOUT:
      g_value_set_boxed (value, sandbox_result_get_stdout (self));
      break;

    case PROP_STDERR:
      g_value_set_boxed (value, sandbox_result_get_stderr (self));
      break;

    case PROP_TRUNCATED:
      g_value_set_boolean (value, sandbox_result_get_truncated (self));
      break;

    case PROP_OMITTED_BYTES:
      g_value_set_uint64 (value, sandbox_result_get_omitted_bytes (self));
      break;

    case PROP_WALL_TIME_US:
      g_value_set_uint64 (value, sandbox_result_get_wall_time_us (self));
      break;

    case PROP_USER_TIME_US:
      g_value_set_uint64 (value, sandbox_result_get_user_time_us (self));
      break;

    case PROP_SYSTEM_TIME_US:
      g_value_set_uint64 (value, sandbox_result_get_system_time_us (self));
      break;

    case PROP_PEAK_MEMORY_BYTES:
      g_value_set_uint64 (value, sandbox_result_get_peak_memory_bytes (self));
      break;

    case PROP_LIMIT_VALUE:
      g_value_set_uint64 (value, sandbox_result_get_limit_value (self));
      break;

    case PROP_LIMIT_PEAK:
      g_value_set_uint64 (value, sandbox_result_get_limit_peak (self));
      break;
    }
}

static void
sandbox_result_class_init (SandboxResultClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_result_finalize;
  object_class->get_property = sandbox_result_get_property;

  /**
   * SandboxResult:outcome:
   *
   * How the command ended.
   *
   * Since: 1.0
   */
  properties[PROP_OUTCOME] =
      g_param_spec_enum ("outcome", NULL, NULL,
                         SANDBOX_TYPE_OUTCOME, SANDBOX_OUTCOME_LOST,
                         G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:exit-status:
   *
   * The status the program exited with, 0 to 255, or -1 unless it exited.
   *
   * It is what the kernel said. A program that was told to stop and then exited by itself
   * has one too.
   *
   * Since: 1.0
   */
  properties[PROP_EXIT_STATUS] =
      g_param_spec_int ("exit-status", NULL, NULL,
                        -1, 255, -1,
                        G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:signal:
   *
   * The number of the signal that ended the program, or 0 unless a signal did.
   *
   * Since: 1.0
   */
  properties[PROP_SIGNAL] =
      g_param_spec_int ("signal", NULL, NULL,
                        0, 64, 0,
                        G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:stdout:
   *
   * What was kept of standard output.
   *
   * Since: 1.0
   */
  properties[PROP_STDOUT] =
      g_param_spec_boxed ("stdout", NULL, NULL,
                          G_TYPE_BYTES,
                          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:stderr:
   *
   * What was kept of standard error.
   *
   * Since: 1.0
   */
  properties[PROP_STDERR] =
      g_param_spec_boxed ("stderr", NULL, NULL,
                          G_TYPE_BYTES,
                          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:truncated:
   *
   * Whether the command wrote more than what is here.
   *
   * Since: 1.0
   */
  properties[PROP_TRUNCATED] =
      g_param_spec_boolean ("truncated", NULL, NULL,
                            FALSE,
                            G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:omitted-bytes:
   *
   * How many bytes of both streams were read and dropped. A command that was killed at the
   * limit may have had more to say.
   *
   * Since: 1.0
   */
  properties[PROP_OMITTED_BYTES] =
      g_param_spec_uint64 ("omitted-bytes", NULL, NULL,
                           0, G_MAXUINT64, 0,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:wall-time-us:
   *
   * The time from the start of the command to its end, in microseconds.
   *
   * Since: 1.0
   */
  properties[PROP_WALL_TIME_US] =
      g_param_spec_uint64 ("wall-time-us", NULL, NULL,
                           0, G_MAXUINT64, 0,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:user-time-us:
   *
   * Processor time in user mode, in microseconds.
   *
   * Since: 1.0
   */
  properties[PROP_USER_TIME_US] =
      g_param_spec_uint64 ("user-time-us", NULL, NULL,
                           0, G_MAXUINT64, 0,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:system-time-us:
   *
   * Processor time in the kernel, in microseconds.
   *
   * Since: 1.0
   */
  properties[PROP_SYSTEM_TIME_US] =
      g_param_spec_uint64 ("system-time-us", NULL, NULL,
                           0, G_MAXUINT64, 0,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:peak-memory-bytes:
   *
   * The largest resident size, in bytes, or 0 when it is unknown.
   *
   * Since: 1.0
   */
  properties[PROP_PEAK_MEMORY_BYTES] =
      g_param_spec_uint64 ("peak-memory-bytes", NULL, NULL,
                           0, G_MAXUINT64, 0,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:limit-value:
   *
   * The limit that ended the command, or 0: milliseconds for %SANDBOX_OUTCOME_TIMED_OUT,
   * seconds for %SANDBOX_OUTCOME_CPU_LIMIT, a count for %SANDBOX_OUTCOME_TASKS_LIMIT, else
   * bytes.
   *
   * Since: 1.0
   */
  properties[PROP_LIMIT_VALUE] =
      g_param_spec_uint64 ("limit-value", NULL, NULL,
                           0, G_MAXUINT64, 0,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxResult:limit-peak:
   *
   * The largest use seen of what the limit that ended the command counts, in the same
   * unit, or 0 when it is unknown.
   *
   * For a file it is the limit, as none has become larger; for memory too where the kernel does not count it (before 5.19).
   *
   * Since: 1.0
   */
  properties[PROP_LIMIT_PEAK] =
      g_param_spec_uint64 ("limit-peak", NULL, NULL,
                           0, G_MAXUINT64, 0,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_result_init (SandboxResult *self)
{
  self->outcome = SANDBOX_OUTCOME_LOST;
  self->exit_status = -1;
  self->output = g_bytes_new_static (NULL, 0);
  self->errors = g_bytes_new_static (NULL, 0);
}

SandboxResult *
sandbox_result_new (const SandboxResultFields *fields)
{
  SandboxResult *self = g_object_new (SANDBOX_TYPE_RESULT, NULL);

  self->outcome = fields->outcome;

  if (fields->wait_status != -1 && fields->outcome != SANDBOX_OUTCOME_LOST)
    {
      if (WIFEXITED (fields->wait_status))
        self->exit_status = WEXITSTATUS (fields->wait_status);
      else if (WIFSIGNALED (fields->wait_status))
        self->signal = WTERMSIG (fields->wait_status);
    }

  /* An end by itself is only believed when the status tells one. */
  if (fields->outcome == SANDBOX_OUTCOME_EXITED || fields->outcome == SANDBOX_OUTCOME_SIGNALED)
    {
      if (self->exit_status != -1)
        self->outcome = SANDBOX_OUTCOME_EXITED;
      else if (self->signal != 0)
        self->outcome = SANDBOX_OUTCOME_SIGNALED;
      else
        self->outcome = SANDBOX_OUTCOME_LOST;
    }

  if (fields->output != NULL)
    {
      g_bytes_unref (self->output);
      self->output = g_bytes_ref (fields->output);
    }

  if (fields->errors != NULL)
    {
      g_bytes_unref (self->errors);
      self->errors = g_bytes_ref (fields->errors);
    }

  self->truncated = !!fields->truncated;
  self->omitted_bytes = fields->omitted_bytes;
  self->wall_time_us = fields->wall_time_us;
  self->user_time_us = fields->user_time_us;
  self->system_time_us = fields->system_time_us;
  self->peak_memory_bytes = fields->peak_memory_bytes;
  self->limit_value = fields->limit_value;
  self->limit_peak = fields->limit_peak;

  return self;
}

/**
 * sandbox_result_get_outcome:
 * @self: a result
 *
 * Gets how the command ended.
 *
 * Returns: the outcome
 *
 * Since: 1.0
 */
SandboxOutcome
sandbox_result_get_outcome (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), SANDBOX_OUTCOME_LOST);

  return self->outcome;
}

/**
 * sandbox_result_get_exit_status:
 * @self: a result
 *
 * Gets the exit status.
 *
 * Returns: the status, or -1
 *
 * Since: 1.0
 */
int
sandbox_result_get_exit_status (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), -1);

  return self->exit_status;
}

/**
 * sandbox_result_get_signal:
 * @self: a result
 *
 * Gets the signal that ended the program.
 *
 * Returns: the number, or 0
 *
 * Since: 1.0
 */
int
sandbox_result_get_signal (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), 0);

  return self->signal;
}

/**
 * sandbox_result_get_stdout:
 * @self: a result
 *
 * Gets the standard output.
 *
 * Returns: (transfer none): the bytes
 *
 * Since: 1.0
 */
GBytes *
sandbox_result_get_stdout (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), NULL);

  return self->output;
}

/**
 * sandbox_result_get_stderr:
 * @self: a result
 *
 * Gets the standard error.
 *
 * Returns: (transfer none): the bytes
 *
 * Since: 1.0
 */
GBytes *
sandbox_result_get_stderr (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), NULL);

  return self->errors;
}

/**
 * sandbox_result_get_truncated:
 * @self: a result
 *
 * Gets whether output is missing.
 *
 * Returns: whether output is missing
 *
 * Since: 1.0
 */
gboolean
sandbox_result_get_truncated (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), FALSE);

  return self->truncated;
}

/**
 * sandbox_result_get_omitted_bytes:
 * @self: a result
 *
 * Gets how many bytes of output are missing.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_result_get_omitted_bytes (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), 0);

  return self->omitted_bytes;
}

/**
 * sandbox_result_get_wall_time_us:
 * @self: a result
 *
 * Gets the time from start to end.
 *
 * Returns: microseconds
 *
 * Since: 1.0
 */
guint64
sandbox_result_get_wall_time_us (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), 0);

  return self->wall_time_us;
}

/**
 * sandbox_result_get_user_time_us:
 * @self: a result
 *
 * Gets the processor time in user mode.
 *
 * Returns: microseconds
 *
 * Since: 1.0
 */
guint64
sandbox_result_get_user_time_us (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), 0);

  return self->user_time_us;
}

/**
 * sandbox_result_get_system_time_us:
 * @self: a result
 *
 * Gets the processor time in the kernel.
 *
 * Returns: microseconds
 *
 * Since: 1.0
 */
guint64
sandbox_result_get_system_time_us (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), 0);

  return self->system_time_us;
}

/**
 * sandbox_result_get_peak_memory_bytes:
 * @self: a result
 *
 * Gets the peak of memory.
 *
 * Returns: bytes, or 0 when unknown
 *
 * Since: 1.0
 */
guint64
sandbox_result_get_peak_memory_bytes (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), 0);

  return self->peak_memory_bytes;
}

/**
 * sandbox_result_get_limit_value:
 * @self: a result
 *
 * Gets the limit that was passed.
 *
 * Returns: the limit, or 0
 *
 * Since: 1.0
 */
guint64
sandbox_result_get_limit_value (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), 0);

  return self->limit_value;
}

/**
 * sandbox_result_get_limit_peak:
 * @self: a result
 *
 * Gets the largest use of what was limited.
 *
 * Returns: the peak, or 0
 *
 * Since: 1.0
 */
guint64
sandbox_result_get_limit_peak (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), 0);

  return self->limit_peak;
}

/* g_utf8_make_valid () takes a NUL inside of the length it is given for an invalid byte. */
static char *
sandbox_result_dup_text (GBytes *bytes)
{
  gsize       size;
  const char *data = g_bytes_get_data (bytes, &size);

  return size > 0 ? g_utf8_make_valid (data, size) : g_strdup ("");
}

/**
 * sandbox_result_dup_stdout_text:
 * @self: a result
 *
 * Gets standard output as text.
 *
 * Every byte that is not UTF-8, and every NUL, is replaced by U+FFFD, so the text is always valid
 * and complete. [method@Sandbox.Result.get_stdout] has the bytes.
 *
 * The rest is as the command wrote it, terminal escapes too: filter them before showing it in a terminal.
 *
 * Returns: (transfer full): the text
 *
 * Since: 1.0
 */
char *
sandbox_result_dup_stdout_text (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), NULL);

  return sandbox_result_dup_text (self->output);
}

/**
 * sandbox_result_dup_stderr_text:
 * @self: a result
 *
 * Gets standard error as text.
 *
 * Every byte that is not UTF-8, and every NUL, is replaced by U+FFFD, so the text is always valid
 * and complete. [method@Sandbox.Result.get_stderr] has the bytes.
 *
 * The rest is as the command wrote it, terminal escapes too: filter them before showing it in a terminal.
 *
 * Returns: (transfer full): the text
 *
 * Since: 1.0
 */
char *
sandbox_result_dup_stderr_text (SandboxResult *self)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), NULL);

  return sandbox_result_dup_text (self->errors);
}

/* One sentence for a limit; its value is left out when nobody told it. */
static void
sandbox_result_set_limit_error (SandboxResult *self,
                                const char    *what,
                                const char    *unit,
                                GError       **error)
{
  if (self->limit_value > 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                 "The command %s than its limit of %" G_GUINT64_FORMAT "%s",
                 what, self->limit_value, unit);
  else
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                 "The command %s than its limit", what);
}

/**
 * sandbox_result_check:
 * @self: a result
 * @error: return location for an error
 *
 * Checks that the command did what it should: exited by itself with status 0.
 *
 * A limit of time, output or resources that was passed gives %SANDBOX_ERROR_LIMIT, a stopped
 * command %SANDBOX_ERROR_STOPPED, a cancelled one %G_IO_ERROR_CANCELLED, everything else, another
 * exit status among it, %SANDBOX_ERROR_FAILED.
 *
 * Returns: %TRUE if the command exited with status 0
 *
 * Since: 1.0
 */
gboolean
sandbox_result_check (SandboxResult *self,
                      GError       **error)
{
  g_return_val_if_fail (SANDBOX_IS_RESULT (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  switch (self->outcome)
    {
    case SANDBOX_OUTCOME_EXITED:
      if (self->exit_status == 0)
        return TRUE;

      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED,
                   "The command exited with status %d", self->exit_status);
      return FALSE;

    case SANDBOX_OUTCOME_SIGNALED:
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED,
                   "The command was ended by signal %d (%s)",
                   self->signal, g_strsignal (self->signal));
      return FALSE;

    case SANDBOX_OUTCOME_TIMED_OUT:
      sandbox_result_set_limit_error (self, "ran longer", " ms", error);
      return FALSE;

    case SANDBOX_OUTCOME_OUTPUT_LIMIT:
      sandbox_result_set_limit_error (self, "wrote more output", " bytes", error);
      return FALSE;

    case SANDBOX_OUTCOME_CANCELLED:
      g_propagate_error (error, sandbox_error_new_cancelled ());
      return FALSE;

    case SANDBOX_OUTCOME_STOPPED:
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The command was stopped");
      return FALSE;

    case SANDBOX_OUTCOME_MEMORY_LIMIT:
      sandbox_result_set_limit_error (self, "used more memory", " bytes", error);
      return FALSE;

    case SANDBOX_OUTCOME_TASKS_LIMIT:
      sandbox_result_set_limit_error (self, "made more processes and threads", "", error);
      return FALSE;

    case SANDBOX_OUTCOME_CPU_LIMIT:
      sandbox_result_set_limit_error (self, "used more processor time", " s", error);
      return FALSE;

    case SANDBOX_OUTCOME_FILE_SIZE_LIMIT:
      sandbox_result_set_limit_error (self, "wrote a larger file", " bytes", error);
      return FALSE;

    case SANDBOX_OUTCOME_LOST:
      break;
    }

  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED,
                       "The end of the command is unknown");
  return FALSE;
}
