/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The input is a manifest. What is taken names a plain file, can be shown, and says the same when it is
 * written out again. */

#include <stdint.h>
#include <string.h>

#include "sandbox-error.h"
#include "sandbox-manifest-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data,
                            size_t         size);

static void
check_again (const SandboxManifest *manifest)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autoptr (SandboxManifest) again = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *abi = g_strdup_printf ("%u", manifest->abi);
  g_autofree char *text = NULL;
  gsize            size;

  g_key_file_set_string (file, "Module", "Kind", manifest->kind);
  g_key_file_set_string (file, "Module", "Name", manifest->name);
  g_key_file_set_string (file, "Module", "Library", manifest->library);
  g_key_file_set_string (file, "Module", "Description", manifest->description);
  g_key_file_set_string (file, "Module", "Abi", abi);
  g_key_file_set_integer (file, "Module", "Priority", manifest->priority);
  text = g_key_file_to_data (file, &size, NULL);

  /* With its escapes it may have become too large. */
  if (size > SANDBOX_MANIFEST_MAX_BYTES)
    return;

  again = sandbox_manifest_parse (text, size, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (again->kind, ==, manifest->kind);
  g_assert_cmpstr (again->name, ==, manifest->name);
  g_assert_cmpstr (again->library, ==, manifest->library);
  g_assert_cmpstr (again->description, ==, manifest->description);
  g_assert_cmpuint (again->abi, ==, manifest->abi);
  g_assert_cmpint (again->priority, ==, manifest->priority);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autoptr (SandboxManifest) manifest = NULL;
  g_autoptr (GError) error = NULL;
  int priority = sandbox_manifest_salvage_priority ((const char *) data, size);

  manifest = sandbox_manifest_parse ((const char *) data, size, &error);
  if (manifest == NULL)
    {
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      return 0;
    }

  g_assert_no_error (error);
  g_assert_cmpuint (size, <=, SANDBOX_MANIFEST_MAX_BYTES);
  g_assert_true (sandbox_manifest_name_is_valid (manifest->name));
  g_assert_null (strchr (manifest->library, '/'));
  g_assert_true (g_str_has_suffix (manifest->library, ".so"));
  g_assert_true (*manifest->library != '.');
  g_assert_cmpuint (manifest->abi, >=, 1);
  g_assert_true (g_utf8_validate (manifest->description, -1, NULL));
  g_assert_cmpint (priority, ==, g_str_equal (manifest->kind, "backend") ? manifest->priority : SANDBOX_MANIFEST_NO_PRIORITY);
  check_again (manifest);

  return 0;
}
