/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-command-private.h"

#include "sandbox-enums.h"
#include "sandbox-environment-private.h"
#include "sandbox-error.h"
#include "sandbox-limits-private.h"

/**
 * SandboxCommand:
 *
 * One program to run in a sandbox, with everything it is given and its limits.
 *
 * It can be changed until it is used: [method@Sandbox.Session.run] and the other calls that take
 * a command work on a frozen copy, so later changes do not reach them and one object can be used
 * again. Changing a frozen one, which a driver sees, is a critical and does nothing.
 *
 * The strings of [property@Sandbox.Command:argv] reach the program byte for byte, empty ones
 * too. What the program sees of the environment is what the sandbox sets, then the profile, then
 * [property@Sandbox.Command:environment].
 *
 * ```c
 * const char *const argv[] = { "cc", "-c", "main.c", NULL };
 * g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
 *
 * sandbox_command_set_cwd (command, "src");
 * sandbox_command_set_timeout_ms (command, 5000);
 * ```
 *
 * Since: 1.0
 */
struct _SandboxCommand
{
  GObject parent_instance;

  gboolean                 frozen;
  gboolean                 wants_stdin_pipe; /* in a frozen copy for a driver */
  char                   **argv;
  char                    *cwd;
  char                   **environment;
  GBytes                  *input;
  guint                    timeout_ms;
  guint64                  max_output;
  SandboxOutputLimitAction output_limit_action;
  guint                    kill_grace_ms;
  gboolean                 terminal;
  guint                    terminal_rows;
  guint                    terminal_columns;
  SandboxLimits           *limits;
  char                    *label;
};

typedef enum
{
  PROP_ARGV = 1,
  PROP_CWD,
  PROP_ENVIRONMENT,
  PROP_STDIN,
  PROP_TIMEOUT_MS,
  PROP_MAX_OUTPUT,
  PROP_OUTPUT_LIMIT_ACTION,
  PROP_KILL_GRACE_MS,
  PROP_TERMINAL,
  PROP_TERMINAL_ROWS,
  PROP_TERMINAL_COLUMNS,
  PROP_LIMITS,
  PROP_LABEL,
} SandboxCommandProps;

static GParamSpec *properties[PROP_LABEL + 1];

G_DEFINE_FINAL_TYPE (SandboxCommand, sandbox_command, G_TYPE_OBJECT)

static void
sandbox_command_finalize (GObject *object)
{
  SandboxCommand *self = SANDBOX_COMMAND (object);

  g_strfreev (self->argv);
  g_free (self->cwd);
  g_strfreev (self->environment);
  g_clear_pointer (&self->input, g_bytes_unref);
  g_clear_object (&self->limits);
  g_free (self->label);

  G_OBJECT_CLASS (sandbox_command_parent_class)->finalize (object);
}

static void
sandbox_command_get_property (GObject    *object,
                              guint       prop_id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  SandboxCommand *self = SANDBOX_COMMAND (object);

  switch ((SandboxCommandProps) prop_id)
    {
    case PROP_ARGV:
      g_value_set_boxed (value, sandbox_command_get_argv (self));
      break;

    case PROP_CWD:
      g_value_set_string (value, sandbox_command_get_cwd (self));
      break;

    case PROP_ENVIRONMENT:
      g_value_set_boxed (value, sandbox_command_get_environment (self));
      break;

    case PROP_STDIN:
      g_value_set_boxed (value, sandbox_command_get_stdin (self));
      break;

    case PROP_TIMEOUT_MS:
      g_value_set_uint (value, sandbox_command_get_timeout_ms (self));
      break;

    case PROP_MAX_OUTPUT:
      g_value_set_uint64 (value, sandbox_command_get_max_output (self));
      break;

    case PROP_OUTPUT_LIMIT_ACTION:
      g_value_set_enum (value, sandbox_command_get_output_limit_action (self));
      break;

    case PROP_KILL_GRACE_MS:
      g_value_set_uint (value, sandbox_command_get_kill_grace_ms (self));
      break;

    case PROP_TERMINAL:
      g_value_set_boolean (value, sandbox_command_get_terminal (self));
      break;

    case PROP_TERMINAL_ROWS:
      g_value_set_uint (value, sandbox_command_get_terminal_rows (self));
      break;

    case PROP_TERMINAL_COLUMNS:
      g_value_set_uint (value, sandbox_command_get_terminal_columns (self));
      break;

    case PROP_LIMITS:
      g_value_set_object (value, sandbox_command_get_limits (self));
      break;

    case PROP_LABEL:
      g_value_set_string (value, sandbox_command_get_label (self));
      break;
    }
}

static void
sandbox_command_set_property (GObject      *object,
                              guint         prop_id,
                              const GValue *value,
                              GParamSpec   *pspec)
{
  SandboxCommand *self = SANDBOX_COMMAND (object);

  switch ((SandboxCommandProps) prop_id)
    {
    case PROP_ARGV:
      sandbox_command_set_argv (self, g_value_get_boxed (value));
      break;

    case PROP_CWD:
      sandbox_command_set_cwd (self, g_value_get_string (value));
      break;

    case PROP_ENVIRONMENT:
      sandbox_command_set_environment (self, g_value_get_boxed (value));
      break;

    case PROP_STDIN:
      sandbox_command_set_stdin (self, g_value_get_boxed (value));
      break;

    case PROP_TIMEOUT_MS:
      sandbox_command_set_timeout_ms (self, g_value_get_uint (value));
      break;

    case PROP_MAX_OUTPUT:
      sandbox_command_set_max_output (self, g_value_get_uint64 (value));
      break;

    case PROP_OUTPUT_LIMIT_ACTION:
      sandbox_command_set_output_limit_action (self, g_value_get_enum (value));
      break;

    case PROP_KILL_GRACE_MS:
      sandbox_command_set_kill_grace_ms (self, g_value_get_uint (value));
      break;

    case PROP_TERMINAL:
      sandbox_command_set_terminal (self, g_value_get_boolean (value));
      break;

    case PROP_TERMINAL_ROWS:
      sandbox_command_set_terminal_rows (self, g_value_get_uint (value));
      break;

    case PROP_TERMINAL_COLUMNS:
      sandbox_command_set_terminal_columns (self, g_value_get_uint (value));
      break;

    case PROP_LIMITS:
      sandbox_command_set_limits (self, g_value_get_object (value));
      break;

    case PROP_LABEL:
      sandbox_command_set_label (self, g_value_get_string (value));
      break;
    }
}

static void
sandbox_command_class_init (SandboxCommandClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_command_finalize;
  object_class->get_property = sandbox_command_get_property;
  object_class->set_property = sandbox_command_set_property;

  /**
   * SandboxCommand:argv:
   *
   * The program and its arguments, which reach the program byte for byte. Never taken
   * through a shell.
   *
   * The program is a path, or a name that is looked up in the `PATH` of the sandbox.
   *
   * The default has nothing in it, and is refused when it is used.
   *
   * Since: 1.0
   */
  properties[PROP_ARGV] =
      g_param_spec_boxed ("argv", NULL, NULL,
                          G_TYPE_STRV,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:cwd:
   *
   * The working directory, a path of the workspace.
   *
   * The default is `.`, the workspace itself.
   *
   * Since: 1.0
   */
  properties[PROP_CWD] =
      g_param_spec_string ("cwd", NULL, NULL,
                           ".",
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:environment:
   *
   * Variables added to those that the sandbox has by itself. Each entry is `NAME=value`; a
   * name has ASCII letters, digits and underscores and does not begin with a digit. Of
   * several entries for one name the last one counts. Nothing of the environment of the
   * host is ever inherited.
   *
   * The default is none.
   *
   * Since: 1.0
   */
  properties[PROP_ENVIRONMENT] =
      g_param_spec_boxed ("environment", NULL, NULL,
                          G_TYPE_STRV,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:stdin:
   *
   * What the program reads from its standard input, or %NULL for nothing at all.
   *
   * [method@Sandbox.Session.spawn] with %NULL gives the process a stream to write to.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_STDIN] =
      g_param_spec_boxed ("stdin", NULL, NULL,
                          G_TYPE_BYTES,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:timeout-ms:
   *
   * How long the command may run, in milliseconds from its start. Then it is killed and
   * its outcome is %SANDBOX_OUTCOME_TIMED_OUT.
   *
   * The default is 30000, half a minute.
   *
   * Since: 1.0
   */
  properties[PROP_TIMEOUT_MS] =
      g_param_spec_uint ("timeout-ms", NULL, NULL,
                         1, G_MAXINT, 30000,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:max-output:
   *
   * How many bytes the command may write to standard output and standard error together.
   * What happens to the rest is told by [property@Sandbox.Command:output-limit-action].
   *
   * The default is 1048576, 1 MiB.
   *
   * Since: 1.0
   */
  properties[PROP_MAX_OUTPUT] =
      g_param_spec_uint64 ("max-output", NULL, NULL,
                           0, G_MAXINT64, 1048576,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:output-limit-action:
   *
   * What happens to a command that writes more than [property@Sandbox.Command:max-output].
   *
   * The default is %SANDBOX_OUTPUT_LIMIT_ACTION_KILL.
   *
   * Since: 1.0
   */
  properties[PROP_OUTPUT_LIMIT_ACTION] =
      g_param_spec_enum ("output-limit-action", NULL, NULL,
                         SANDBOX_TYPE_OUTPUT_LIMIT_ACTION, SANDBOX_OUTPUT_LIMIT_ACTION_KILL,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:kill-grace-ms:
   *
   * How long a command that is asked to stop has after SIGTERM until SIGKILL, in
   * milliseconds; 0 kills at once.
   *
   * The default is 2000.
   *
   * Since: 1.0
   */
  properties[PROP_KILL_GRACE_MS] =
      g_param_spec_uint ("kill-grace-ms", NULL, NULL,
                         0, G_MAXINT, 2000,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:terminal:
   *
   * Whether the command gets a terminal of its own, which carries its input, output and
   * errors in one.
   *
   * The default is %FALSE.
   *
   * Since: 1.0
   */
  properties[PROP_TERMINAL] =
      g_param_spec_boolean ("terminal", NULL, NULL,
                            FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:terminal-rows:
   *
   * The height of the terminal in characters.
   *
   * The default is 24.
   *
   * Since: 1.0
   */
  properties[PROP_TERMINAL_ROWS] =
      g_param_spec_uint ("terminal-rows", NULL, NULL,
                         1, G_MAXUINT16, 24,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:terminal-columns:
   *
   * The width of the terminal in characters.
   *
   * The default is 80.
   *
   * Since: 1.0
   */
  properties[PROP_TERMINAL_COLUMNS] =
      g_param_spec_uint ("terminal-columns", NULL, NULL,
                         1, G_MAXUINT16, 80,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:limits:
   *
   * Limits of this command, which come over those of the profile one by one: what is 0 here stays as it is there. %NULL
   * for those of the profile alone.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_LIMITS] =
      g_param_spec_object ("limits", NULL, NULL,
                           SANDBOX_TYPE_LIMITS,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxCommand:label:
   *
   * A name of the host for this command, in reports and listings. It does not reach the
   * sandbox.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_LABEL] =
      g_param_spec_string ("label", NULL, NULL,
                           NULL,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_command_init (SandboxCommand *self)
{
  self->argv = g_new0 (char *, 1);
  self->cwd = g_strdup (".");
  self->environment = g_new0 (char *, 1);
  self->timeout_ms = 30000;
  self->max_output = 1048576;
  self->output_limit_action = SANDBOX_OUTPUT_LIMIT_ACTION_KILL;
  self->kill_grace_ms = 2000;
  self->terminal_rows = 24;
  self->terminal_columns = 80;
}

/**
 * sandbox_command_new:
 * @argv: (array zero-terminated=1): the program and its arguments
 *
 * Makes a command.
 *
 * A command without a program, or with too long arguments, is refused when it is used.
 *
 * Returns: (transfer full): the command
 *
 * Since: 1.0
 */
SandboxCommand *
sandbox_command_new (const char *const *argv)
{
  g_return_val_if_fail (argv != NULL, NULL);

  return g_object_new (SANDBOX_TYPE_COMMAND, "argv", argv, NULL);
}

/**
 * sandbox_command_get_argv:
 * @self: a command
 *
 * Gets the program and its arguments.
 *
 * Returns: (transfer none) (array zero-terminated=1): the program and its arguments, at
 * least the final %NULL
 *
 * Since: 1.0
 */
const char *const *
sandbox_command_get_argv (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), NULL);

  return (const char *const *) self->argv;
}

/**
 * sandbox_command_set_argv:
 * @self: a command
 * @argv: (array zero-terminated=1): the program and its arguments
 *
 * Sets the program and its arguments. See [property@Sandbox.Command:argv].
 *
 * Since: 1.0
 */
void
sandbox_command_set_argv (SandboxCommand    *self,
                          const char *const *argv)
{
  static const char *const none[] = { NULL };

  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);

  if (argv == NULL)
    argv = none;

  if (g_strv_equal ((const char *const *) self->argv, argv))
    return;

  g_strfreev (self->argv);
  self->argv = g_strdupv ((char **) argv);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ARGV]);
}

/**
 * sandbox_command_get_cwd:
 * @self: a command
 *
 * Gets the working directory.
 *
 * Returns: (transfer none): the working directory
 *
 * Since: 1.0
 */
const char *
sandbox_command_get_cwd (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), NULL);

  return self->cwd;
}

/**
 * sandbox_command_set_cwd:
 * @self: a command
 * @cwd: (nullable): the working directory, or %NULL for `.`
 *
 * Sets the working directory. See [property@Sandbox.Command:cwd].
 *
 * Since: 1.0
 */
void
sandbox_command_set_cwd (SandboxCommand *self,
                         const char     *cwd)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);

  if (cwd == NULL)
    cwd = ".";

  if (g_strcmp0 (self->cwd, cwd) == 0)
    return;

  g_free (self->cwd);
  self->cwd = g_strdup (cwd);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_CWD]);
}

/**
 * sandbox_command_get_environment:
 * @self: a command
 *
 * Gets the environment.
 *
 * Returns: (transfer none) (array zero-terminated=1): `NAME=value` entries, at least the
 * final %NULL
 *
 * Since: 1.0
 */
const char *const *
sandbox_command_get_environment (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), NULL);

  return (const char *const *) self->environment;
}

/**
 * sandbox_command_set_environment:
 * @self: a command
 * @environment: (nullable) (array zero-terminated=1): `NAME=value` entries, or %NULL for
 * none
 *
 * Sets the environment. See [property@Sandbox.Command:environment].
 *
 * Since: 1.0
 */
void
sandbox_command_set_environment (SandboxCommand    *self,
                                 const char *const *environment)
{
  static const char *const none[] = { NULL };

  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);

  if (environment == NULL)
    environment = none;

  if (g_strv_equal ((const char *const *) self->environment, environment))
    return;

  g_strfreev (self->environment);
  self->environment = g_strdupv ((char **) environment);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ENVIRONMENT]);
}

/**
 * sandbox_command_get_stdin:
 * @self: a command
 *
 * Gets what the program reads from its standard input.
 *
 * Returns: (transfer none) (nullable): the bytes
 *
 * Since: 1.0
 */
GBytes *
sandbox_command_get_stdin (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), NULL);

  return self->input;
}

/**
 * sandbox_command_set_stdin:
 * @self: a command
 * @bytes: (nullable): the bytes
 *
 * Sets what the program reads from its standard input. See [property@Sandbox.Command:stdin].
 *
 * Since: 1.0
 */
void
sandbox_command_set_stdin (SandboxCommand *self,
                           GBytes         *bytes)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);

  if (self->input == bytes)
    return;

  g_clear_pointer (&self->input, g_bytes_unref);
  if (bytes != NULL)
    self->input = g_bytes_ref (bytes);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STDIN]);
}

/**
 * sandbox_command_get_timeout_ms:
 * @self: a command
 *
 * Gets the time limit.
 *
 * Returns: milliseconds
 *
 * Since: 1.0
 */
guint
sandbox_command_get_timeout_ms (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), 0);

  return self->timeout_ms;
}

/**
 * sandbox_command_set_timeout_ms:
 * @self: a command
 * @timeout_ms: milliseconds, from 1 to %G_MAXINT
 *
 * Sets the time limit. See [property@Sandbox.Command:timeout-ms].
 *
 * Since: 1.0
 */
void
sandbox_command_set_timeout_ms (SandboxCommand *self,
                                guint           timeout_ms)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (timeout_ms >= 1 && timeout_ms <= G_MAXINT);

  if (self->timeout_ms == timeout_ms)
    return;

  self->timeout_ms = timeout_ms;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TIMEOUT_MS]);
}

/**
 * sandbox_command_get_max_output:
 * @self: a command
 *
 * Gets the output limit.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_command_get_max_output (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), 0);

  return self->max_output;
}

/**
 * sandbox_command_set_max_output:
 * @self: a command
 * @max_output: bytes, up to %G_MAXINT64
 *
 * Sets the output limit. See [property@Sandbox.Command:max-output].
 *
 * Since: 1.0
 */
void
sandbox_command_set_max_output (SandboxCommand *self,
                                guint64         max_output)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (max_output <= G_MAXINT64);

  if (self->max_output == max_output)
    return;

  self->max_output = max_output;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MAX_OUTPUT]);
}

/**
 * sandbox_command_get_output_limit_action:
 * @self: a command
 *
 * Gets what happens at the output limit.
 *
 * Returns: the action
 *
 * Since: 1.0
 */
SandboxOutputLimitAction
sandbox_command_get_output_limit_action (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), SANDBOX_OUTPUT_LIMIT_ACTION_KILL);

  return self->output_limit_action;
}

/**
 * sandbox_command_set_output_limit_action:
 * @self: a command
 * @output_limit_action: the action
 *
 * Sets what happens at the output limit. See [property@Sandbox.Command:output-limit-action].
 *
 * Since: 1.0
 */
void
sandbox_command_set_output_limit_action (SandboxCommand          *self,
                                         SandboxOutputLimitAction output_limit_action)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);

  if (self->output_limit_action == output_limit_action)
    return;

  self->output_limit_action = output_limit_action;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_OUTPUT_LIMIT_ACTION]);
}

/**
 * sandbox_command_get_kill_grace_ms:
 * @self: a command
 *
 * Gets the grace between TERM and KILL.
 *
 * Returns: milliseconds
 *
 * Since: 1.0
 */
guint
sandbox_command_get_kill_grace_ms (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), 0);

  return self->kill_grace_ms;
}

/**
 * sandbox_command_set_kill_grace_ms:
 * @self: a command
 * @kill_grace_ms: milliseconds, up to %G_MAXINT
 *
 * Sets the grace between TERM and KILL. See [property@Sandbox.Command:kill-grace-ms].
 *
 * Since: 1.0
 */
void
sandbox_command_set_kill_grace_ms (SandboxCommand *self,
                                   guint           kill_grace_ms)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (kill_grace_ms <= G_MAXINT);

  if (self->kill_grace_ms == kill_grace_ms)
    return;

  self->kill_grace_ms = kill_grace_ms;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_KILL_GRACE_MS]);
}

/**
 * sandbox_command_get_terminal:
 * @self: a command
 *
 * Gets whether the command gets a terminal.
 *
 * Returns: whether it gets a terminal
 *
 * Since: 1.0
 */
gboolean
sandbox_command_get_terminal (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), FALSE);

  return self->terminal;
}

/**
 * sandbox_command_set_terminal:
 * @self: a command
 * @terminal: whether it gets a terminal
 *
 * Sets whether the command gets a terminal. See [property@Sandbox.Command:terminal].
 *
 * Since: 1.0
 */
void
sandbox_command_set_terminal (SandboxCommand *self,
                              gboolean        terminal)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);

  if (self->terminal == !!terminal)
    return;

  self->terminal = !!terminal;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TERMINAL]);
}

/**
 * sandbox_command_get_terminal_rows:
 * @self: a command
 *
 * Gets the height of the terminal.
 *
 * Returns: rows
 *
 * Since: 1.0
 */
guint
sandbox_command_get_terminal_rows (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), 0);

  return self->terminal_rows;
}

/**
 * sandbox_command_set_terminal_rows:
 * @self: a command
 * @terminal_rows: rows, from 1 to 65535
 *
 * Sets the height of the terminal. See [property@Sandbox.Command:terminal-rows].
 *
 * Since: 1.0
 */
void
sandbox_command_set_terminal_rows (SandboxCommand *self,
                                   guint           terminal_rows)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (terminal_rows >= 1 && terminal_rows <= G_MAXUINT16);

  if (self->terminal_rows == terminal_rows)
    return;

  self->terminal_rows = terminal_rows;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TERMINAL_ROWS]);
}

/**
 * sandbox_command_get_terminal_columns:
 * @self: a command
 *
 * Gets the width of the terminal.
 *
 * Returns: columns
 *
 * Since: 1.0
 */
guint
sandbox_command_get_terminal_columns (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), 0);

  return self->terminal_columns;
}

/**
 * sandbox_command_set_terminal_columns:
 * @self: a command
 * @terminal_columns: columns, from 1 to 65535
 *
 * Sets the width of the terminal. See [property@Sandbox.Command:terminal-columns].
 *
 * Since: 1.0
 */
void
sandbox_command_set_terminal_columns (SandboxCommand *self,
                                      guint           terminal_columns)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (terminal_columns >= 1 && terminal_columns <= G_MAXUINT16);

  if (self->terminal_columns == terminal_columns)
    return;

  self->terminal_columns = terminal_columns;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TERMINAL_COLUMNS]);
}

/**
 * sandbox_command_get_limits:
 * @self: a command
 *
 * Gets the limits of this command.
 *
 * Returns: (transfer none) (nullable): the limits
 *
 * Since: 1.0
 */
SandboxLimits *
sandbox_command_get_limits (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), NULL);

  return self->limits;
}

/**
 * sandbox_command_set_limits:
 * @self: a command
 * @limits: (nullable): the limits
 *
 * Sets the limits of this command. See [property@Sandbox.Command:limits].
 *
 * Since: 1.0
 */
void
sandbox_command_set_limits (SandboxCommand *self,
                            SandboxLimits  *limits)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (limits == NULL || SANDBOX_IS_LIMITS (limits));

  if (!g_set_object (&self->limits, limits))
    return;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LIMITS]);
}

/**
 * sandbox_command_get_label:
 * @self: a command
 *
 * Gets the label.
 *
 * Returns: (transfer none) (nullable): the label
 *
 * Since: 1.0
 */
const char *
sandbox_command_get_label (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), NULL);

  return self->label;
}

/**
 * sandbox_command_set_label:
 * @self: a command
 * @label: (nullable): the label
 *
 * Sets the label. See [property@Sandbox.Command:label].
 *
 * Since: 1.0
 */
void
sandbox_command_set_label (SandboxCommand *self,
                           const char     *label)
{
  g_return_if_fail (SANDBOX_IS_COMMAND (self));
  g_return_if_fail (!self->frozen);

  if (g_strcmp0 (self->label, label) == 0)
    return;

  g_free (self->label);
  self->label = g_strdup (label);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LABEL]);
}

static SandboxCommand *
sandbox_command_copy (SandboxCommand *self)
{
  SandboxCommand *copy = sandbox_command_new ((const char *const *) self->argv);

  g_free (copy->cwd);
  copy->cwd = g_strdup (self->cwd);
  g_strfreev (copy->environment);
  copy->environment = sandbox_environment_merge (NULL, (const char *const *) self->environment);
  copy->input = self->input != NULL ? g_bytes_ref (self->input) : NULL;
  copy->timeout_ms = self->timeout_ms;
  copy->max_output = self->max_output;
  copy->output_limit_action = self->output_limit_action;
  copy->kill_grace_ms = self->kill_grace_ms;
  copy->terminal = self->terminal;
  copy->terminal_rows = self->terminal_rows;
  copy->terminal_columns = self->terminal_columns;
  copy->limits = self->limits != NULL ? sandbox_limits_freeze (self->limits) : NULL;
  copy->label = g_strdup (self->label);
  copy->frozen = TRUE;

  return copy;
}

SandboxCommand *
sandbox_command_freeze (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), NULL);

  return self->frozen ? g_object_ref (self) : sandbox_command_copy (self);
}

SandboxCommand *
sandbox_command_freeze_for_driver (SandboxCommand    *self,
                                   const char        *cwd,
                                   SandboxLimits     *default_limits,
                                   const char *const *default_environment,
                                   gboolean           with_pipe)
{
  SandboxCommand *copy = NULL;

  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), NULL);
  g_return_val_if_fail (cwd != NULL, NULL);

  copy = sandbox_command_copy (self);
  g_free (copy->cwd);
  copy->cwd = g_strdup (cwd);
  if (default_limits != NULL && copy->limits == NULL)
    copy->limits = sandbox_limits_freeze (default_limits);
  else if (default_limits != NULL)
    {
      g_autoptr (SandboxLimits) own = g_steal_pointer (&copy->limits);

      copy->limits = sandbox_limits_merge (own, default_limits);
    }
  if (default_environment != NULL)
    {
      g_auto (GStrv) own = g_steal_pointer (&copy->environment);

      copy->environment = sandbox_environment_merge (default_environment, (const char *const *) own);
    }
  copy->wants_stdin_pipe = with_pipe && copy->input == NULL;

  return copy;
}

/**
 * sandbox_command_wants_stdin_pipe:
 * @self: a command that a driver was given
 *
 * Tells a driver that the host writes the input of the command to a stream. Otherwise the input is
 * [property@Sandbox.Command:stdin], or empty.
 *
 * Returns: whether [property@Sandbox.Process:stdin] has to be a stream
 *
 * Since: 1.0
 */
gboolean
sandbox_command_wants_stdin_pipe (SandboxCommand *self)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), FALSE);

  return self->wants_stdin_pipe;
}

gboolean
sandbox_command_validate (SandboxCommand *self,
                          GError        **error)
{
  g_return_val_if_fail (SANDBOX_IS_COMMAND (self), FALSE);

  if (self->argv[0] == NULL || self->argv[0][0] == '\0')
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                           self->argv[0] == NULL ? "The command has no program"
                                                 : "The program of the command has an empty name");
      return FALSE;
    }

  return sandbox_arguments_validate ((const char *const *) self->argv,
                                     (const char *const *) self->environment,
                                     error);
}
