/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

#include "sandbox-bubblewrap-identity.h"

G_BEGIN_DECLS

/* Sets NOT_SUPPORTED, and is FALSE. */
gboolean sandbox_bubblewrap_overlay_refuse (GError    **error,
                                            const char *why);

/* Whether the profile leaves a workspace that is an overlay alone, and goes with slots as far as it can tell. NOT_SUPPORTED. */
gboolean sandbox_bubblewrap_overlay_check_profile (SandboxProfile  *profile,
                                                   SandboxIsolation isolation,
                                                   GError         **error);

/* Whether one over the layers of @workspace can be had in a sandbox, and does there what it is for. NOT_SUPPORTED. May block. */
gboolean sandbox_bubblewrap_overlay_try (const char                   *executable,
                                         const SandboxBubblewrapRange *range,
                                         SandboxWorkspace             *workspace,
                                         GError                      **error);

G_END_DECLS
