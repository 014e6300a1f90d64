/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

#include "sandbox-bubblewrap-launch.h"
#include "sandbox-bubblewrap-network.h"

G_BEGIN_DECLS

/* What a start differs in from others of the session */
typedef struct
{
  SandboxBubblewrapNetwork network;
  gboolean                 slots;     /* for all commands of the session */
  gboolean                 is_shared; /* what is private to a slot else */
  SandboxAgentGroup       *group;     /* nullable */
} SandboxBubblewrapStartManner;

/* Starts bwrap, which builds a sandbox with a waiting agent. On the worker only: the sandbox dies with the thread that
 * started it. */
SandboxAgentChannel *sandbox_bubblewrap_start (SandboxBubblewrapLaunch            *launch,
                                               const SandboxBubblewrapStartManner *manner,
                                               GError                            **error);

G_END_DECLS
