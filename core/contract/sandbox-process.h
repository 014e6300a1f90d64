/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-result.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_PROCESS (sandbox_process_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_DERIVABLE_TYPE (SandboxProcess, sandbox_process, SANDBOX, PROCESS, GObject)

/**
 * SandboxProcessClass:
 * @parent_class: the parent
 * @send_signal: sends a signal to the command
 * @resize: changes the size of the terminal
 * @kill: ends the command with everything that it started, at once
 *
 * What a process of a driver can be asked.
 *
 * The functions return at once and never wait for an effect.
 *
 * Since: 1.0
 */
struct _SandboxProcessClass
{
  GObjectClass parent_class;

  /**
   * SandboxProcessClass::send_signal:
   * @self: a process
   * @signum: the number of the signal
   * @error: return location for an error
   *
   * Sends a signal to the process group of the command.
   *
   * Returns: whether it was sent
   *
   * Since: 1.0
   */
  gboolean (*send_signal) (SandboxProcess *self,
                           int             signum,
                           GError        **error);

  /**
   * SandboxProcessClass::resize:
   * @self: a process
   * @rows: lines of text
   * @columns: characters in a line
   * @error: return location for an error
   *
   * Changes the size of the terminal.
   *
   * Returns: whether it was changed
   *
   * Since: 1.0
   */
  gboolean (*resize) (SandboxProcess *self,
                      guint           rows,
                      guint           columns,
                      GError        **error);

  /**
   * SandboxProcessClass::kill:
   * @self: a process
   * @error: return location for an error
   *
   * Kills the command and everything that it has started, whatever process group it is in.
   *
   * Returns: whether everything has been told to die
   *
   * Since: 1.0
   */
  gboolean (*kill) (SandboxProcess *self,
                    GError        **error);

  /*< private >*/
  gpointer _reserved[8];
};

/* For hosts */
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_process_get_id (SandboxProcess *self);
SANDBOX_AVAILABLE_IN_1_0
GOutputStream *sandbox_process_get_stdin (SandboxProcess *self);
SANDBOX_AVAILABLE_IN_1_0
GInputStream *sandbox_process_get_stdout (SandboxProcess *self);
SANDBOX_AVAILABLE_IN_1_0
GInputStream *sandbox_process_get_stderr (SandboxProcess *self);
SANDBOX_AVAILABLE_IN_1_0
SandboxResult *sandbox_process_get_result (SandboxProcess *self);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_process_send_signal (SandboxProcess *self,
                                      int             signum,
                                      GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_process_resize (SandboxProcess *self,
                                 guint           rows,
                                 guint           columns,
                                 GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_process_kill (SandboxProcess *self,
                               GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_process_wait_async (SandboxProcess     *self,
                                 GCancellable       *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_process_wait_finish (SandboxProcess *self,
                                      GAsyncResult   *result,
                                      GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_process_wait (SandboxProcess *self,
                               GCancellable   *cancellable,
                               GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_process_communicate_async (SandboxProcess     *self,
                                        GBytes             *stdin_bytes,
                                        GCancellable       *cancellable,
                                        GAsyncReadyCallback callback,
                                        gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
SandboxResult *sandbox_process_communicate_finish (SandboxProcess *self,
                                                   GAsyncResult   *result,
                                                   GError        **error);
SANDBOX_AVAILABLE_IN_1_0
SandboxResult *sandbox_process_communicate (SandboxProcess *self,
                                            GBytes         *stdin_bytes,
                                            GCancellable   *cancellable,
                                            GError        **error);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_process_stop_async (SandboxProcess     *self,
                                 GCancellable       *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_process_stop_finish (SandboxProcess *self,
                                      GAsyncResult   *result,
                                      GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_process_stop (SandboxProcess *self,
                               GCancellable   *cancellable,
                               GError        **error);

/* For drivers; from any thread */
SANDBOX_AVAILABLE_IN_1_0
void sandbox_process_set_streams (SandboxProcess *self,
                                  GOutputStream  *stdin_stream,
                                  GInputStream   *stdout_stream,
                                  GInputStream   *stderr_stream);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_process_push_stdout (SandboxProcess *self,
                                      GBytes         *bytes);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_process_push_stderr (SandboxProcess *self,
                                      GBytes         *bytes);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_process_set_exited (SandboxProcess *self,
                                 int             wait_status,
                                 guint64         user_time_us,
                                 guint64         system_time_us,
                                 guint64         peak_memory_bytes);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_process_set_outcome (SandboxProcess *self,
                                  SandboxOutcome  outcome,
                                  guint64         limit_value,
                                  guint64         limit_peak);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_process_set_gone (SandboxProcess *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_process_set_lost (SandboxProcess *self);

G_END_DECLS
