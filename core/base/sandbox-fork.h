/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

SANDBOX_AVAILABLE_IN_1_0
void sandbox_keep_from_children (int *fd);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_close_kept (int *fd);

G_END_DECLS
