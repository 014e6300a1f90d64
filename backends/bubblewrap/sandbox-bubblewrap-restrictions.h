/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

/* What @profile, and @policy (NULL: deny all), leave of all that can be enforced. */
SandboxRestrictions sandbox_bubblewrap_restrictions_get (SandboxProfile       *profile,
                                                         SandboxNetworkPolicy *policy);

/* Whether that is all of @required; an error names what is not. */
gboolean sandbox_bubblewrap_restrictions_check (SandboxRestrictions   required,
                                                SandboxProfile       *profile,
                                                SandboxNetworkPolicy *policy,
                                                GError              **error);

G_END_DECLS
