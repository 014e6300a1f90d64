/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-random-private.h"

#include <sys/random.h>

#define MAX_BYTES 256

gboolean
sandbox_random_fill_digits (char *digits,
                            gsize n_bytes)
{
  guint8 bytes[MAX_BYTES];

  g_return_val_if_fail (n_bytes <= MAX_BYTES, FALSE);

  /* So many never come short. */
  if (getrandom (bytes, n_bytes, 0) != (ssize_t) n_bytes)
    return FALSE;
  for (gsize i = 0; i < n_bytes; i++)
    g_snprintf (digits + 2 * i, 3, "%02x", bytes[i]);

  return TRUE;
}
