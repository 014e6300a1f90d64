/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-error.h"

G_BEGIN_DECLS

/* The one table from errno to our codes (DESIGN section 4). */
SandboxError sandbox_error_from_errno (int errsv);

/* Sets "PREFIX: STRERROR" with the code of that table. */
void sandbox_set_error_from_errno (GError    **error,
                                   int         errsv,
                                   const char *format,
                                   ...) G_GNUC_PRINTF (3, 4);

/* The error that every cancelled call gives. */
GError *sandbox_error_new_cancelled (void);

G_END_DECLS
