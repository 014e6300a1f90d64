/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is taken leads to no other place, and is written and read again as the same. */

#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "sandbox-error.h"
#include "sandbox-state-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data,
                            size_t         size);

static void
check_name (const char *name,
            gsize       max)
{
  gsize length = strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789-");

  g_assert_cmpuint (length, >, 0);
  g_assert_cmpuint (length, <=, max);
  g_assert_cmpuint (strlen (name), ==, length);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxState) state = sandbox_state_new_from_json (text, &error);
  g_autoptr (SandboxState) again = NULL;
  g_autofree char *written = NULL;
  g_autofree char *rewritten = NULL;

  if (state == NULL)
    {
      g_assert_true (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID) ||
                     g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_assert_cmpuint (strlen (error->message), <, 2000);
      return 0;
    }

  g_assert_no_error (error);
  check_name (sandbox_state_get_backend (state), 64);
  check_name (sandbox_state_get_session_id (state), 64);
  if (sandbox_state_get_template_key (state) != NULL)
    check_name (sandbox_state_get_template_key (state), 64);

  written = sandbox_state_to_json (state);
  again = sandbox_state_new_from_json (written, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_state_equal (state, again));
  g_assert_true (sandbox_state_get_labels (state) == NULL ? sandbox_state_get_labels (again) == NULL
                                                          : g_variant_equal (sandbox_state_get_labels (state), sandbox_state_get_labels (again)));
  rewritten = sandbox_state_to_json (again);
  g_assert_cmpstr (rewritten, ==, written);

  return 0;
}
