/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

SANDBOX_AVAILABLE_IN_1_0
GMainContext *sandbox_get_worker_context (void);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_serve_context (GMainContext *context,
                            const char   *name);

G_END_DECLS
