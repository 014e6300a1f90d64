/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-contained-private.h"

G_BEGIN_DECLS

/* The state directory of a store that has none given: in the directory for temporary files, and locked by whoever uses
 * it. So the next one that is made, by whatever program of this user, finds those whose users are dead, and removes
 * them, until @check ends that. Fails with UNAVAILABLE. */
char *sandbox_store_make_temporary (int                  *lock,
                                    SandboxContainedCheck check,
                                    gpointer              data,
                                    GError              **error);

G_END_DECLS
