/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

#include "sandbox-bubblewrap-plan.h"

G_BEGIN_DECLS

/* The numbers that descriptors have in bwrap. */
typedef enum
{
  SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET = 3,
  SANDBOX_BUBBLEWRAP_FD_ARGUMENTS,
  SANDBOX_BUBBLEWRAP_FD_BWRAP,
  SANDBOX_BUBBLEWRAP_FD_FILES, /* by SandboxBubblewrapFile, the agent first */
  SANDBOX_BUBBLEWRAP_FD_SLOTS = SANDBOX_BUBBLEWRAP_FD_FILES + SANDBOX_BUBBLEWRAP_N_FILES,
} SandboxBubblewrapFdNumber;

/* What bwrap is told beside the plan. */
typedef struct
{
  gboolean    share_network;
  guint       guest_uid;
  guint       guest_gid;
  gboolean    set_user_id;   /* bwrap is: it gives no capabilities, and no sizes */
  gboolean    has_overlay;   /* which the agent mounts */
  const char *overlay_lower; /* its layers on the host, for an agent that gets no descriptors; or NULL */
  const char *overlay_base;
} SandboxBubblewrapNamespaces;

/* The arguments of bwrap, each with its NUL, as --args takes them. Pure. */
GBytes *sandbox_bubblewrap_arguments_new (const SandboxBubblewrapNamespaces *namespaces,
                                          const SandboxBubblewrapPlan       *plan);

G_END_DECLS
