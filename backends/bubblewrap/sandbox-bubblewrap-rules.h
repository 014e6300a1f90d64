/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-bubblewrap-plan.h"

G_BEGIN_DECLS

/* What Landlock lets commands do with the files of a plan: a second wall behind the mounts. Pure. */

typedef struct
{
  char              *path;
  SandboxAgentAccess access;
} SandboxBubblewrapRule;

/* Few: one for each place below which everything is alike. LIMIT where there are more than an agent takes. */
GArray *sandbox_bubblewrap_rules_new (const SandboxBubblewrapPlan *plan,
                                      GError                     **error);

G_END_DECLS
