/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is taken is a profile that is good by every rule, it is written and read again as the same, and each of its places
 * can be explained. */

#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "sandbox-error.h"
#include "sandbox-profile-private.h"

static void
fuzz_explain (SandboxProfile *profile,
              const char     *path)
{
  g_autofree char *text = sandbox_profile_explain (profile, path);

  g_assert_true (g_utf8_validate (text, -1, NULL));
  g_assert_cmpuint (strlen (text), <, 2000);
}

int LLVMFuzzerTestOneInput (const uint8_t *data,
                            size_t         size);

int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxProfile) profile = sandbox_profile_new_from_json (text, &error);
  g_autoptr (SandboxProfile) again = NULL;
  g_autoptr (SandboxProfile) frozen = NULL;
  g_autofree char *written = NULL;
  g_autofree char *rewritten = NULL;
  GListModel      *mounts = NULL;

  if (profile == NULL)
    {
      g_assert_true (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID) ||
                     g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_assert_cmpuint (strlen (error->message), <, 2000);
      return 0;
    }

  g_assert_no_error (error);
  g_assert_true (sandbox_profile_validate (profile, NULL));
  written = sandbox_profile_to_json (profile);
  again = sandbox_profile_new_from_json (written, &error);
  g_assert_no_error (error);
  rewritten = sandbox_profile_to_json (again);
  g_assert_cmpstr (rewritten, ==, written);

  frozen = sandbox_profile_freeze (again);
  g_assert_true (sandbox_profile_validate (frozen, NULL));
  mounts = sandbox_profile_get_mounts (frozen);
  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);

      fuzz_explain (frozen, sandbox_mount_get_target (mount));
    }
  fuzz_explain (frozen, sandbox_profile_get_workspace_target (frozen));
  fuzz_explain (frozen, text);

  return 0;
}
