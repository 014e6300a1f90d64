/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SANDBOX_ERROR:
 *
 * The one error domain of this library.
 *
 * A cancelled [class@Gio.Cancellable] is the exception: it always gives
 * %G_IO_ERROR_CANCELLED.
 *
 * Since: 1.0
 */
#define SANDBOX_ERROR (sandbox_error_quark ())

/**
 * SandboxError:
 * @SANDBOX_ERROR_FAILED: something else went wrong; the message says what
 * @SANDBOX_ERROR_INVALID: an argument that makes no sense where it was given, such as a
 *   directory where a file is needed
 * @SANDBOX_ERROR_NOT_FOUND: a file, program, interpreter, working directory, backend or template
 *   does not exist
 * @SANDBOX_ERROR_EXISTS: something of that name exists already
 * @SANDBOX_ERROR_DENIED: permission was refused, or a program is not executable
 * @SANDBOX_ERROR_PATH: the path is not one that the workspace has, or it leads out of it
 * @SANDBOX_ERROR_LIMIT: a limit in size, count or time was passed
 * @SANDBOX_ERROR_BUSY: every command slot is taken, commands are alive, or another owner holds
 *   the session; try again later
 * @SANDBOX_ERROR_STOPPED: the session has been stopped
 * @SANDBOX_ERROR_UNAVAILABLE: this host could not build the sandbox; the message names the step
 * @SANDBOX_ERROR_NOT_SUPPORTED: the backend, or this host, cannot do or enforce what was asked
 * @SANDBOX_ERROR_NETWORK_DENIED: the network policy cannot be enforced or was refused
 * @SANDBOX_ERROR_STATE_MISMATCH: a state does not belong to this backend, template or session
 * @SANDBOX_ERROR_CORRUPT: what is stored on disk has been changed or damaged
 * @SANDBOX_ERROR_MODULE: a module could not be loaded; the message names its file
 *
 * Error codes of the domain `SANDBOX_ERROR`.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_ERROR_FAILED,
  SANDBOX_ERROR_INVALID,
  SANDBOX_ERROR_NOT_FOUND,
  SANDBOX_ERROR_EXISTS,
  SANDBOX_ERROR_DENIED,
  SANDBOX_ERROR_PATH,
  SANDBOX_ERROR_LIMIT,
  SANDBOX_ERROR_BUSY,
  SANDBOX_ERROR_STOPPED,
  SANDBOX_ERROR_UNAVAILABLE,
  SANDBOX_ERROR_NOT_SUPPORTED,
  SANDBOX_ERROR_NETWORK_DENIED,
  SANDBOX_ERROR_STATE_MISMATCH,
  SANDBOX_ERROR_CORRUPT,
  SANDBOX_ERROR_MODULE,
} SandboxError;

SANDBOX_AVAILABLE_IN_1_0
GQuark sandbox_error_quark (void);

G_END_DECLS
