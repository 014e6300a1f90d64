/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Names that nobody guesses and that nobody else has: two hexadecimal digits for each of at most 256 bytes, and a NUL.
 * By errno. */
gboolean sandbox_random_fill_digits (char *digits,
                                     gsize n_bytes);

G_END_DECLS
