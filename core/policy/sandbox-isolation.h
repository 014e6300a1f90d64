/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxIsolation:
 * @SANDBOX_ISOLATION_PER_COMMAND: each command has `/tmp`, `/dev/shm`, processes, terminals and System V IPC to itself, and
 *   nothing of that is left after it
 * @SANDBOX_ISOLATION_SHARED: `/tmp`, `/dev/shm`, terminals and System V IPC are the session's: what a command leaves there
 *   the next one finds, until the session is stopped; a command still sees no process but its own, and all of them end with it
 *
 * What the commands of one session have to themselves.
 *
 * The workspace and the network (loopback and abstract sockets too) are the session's in any case.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_ISOLATION_PER_COMMAND,
  SANDBOX_ISOLATION_SHARED,
} SandboxIsolation;

G_END_DECLS
