/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is taken is a path below the workspace and has one spelling; what is on the disk has one too. */

#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "sandbox-error.h"
#include "sandbox-paths-private.h"

#define TARGET "/workspace"

int LLVMFuzzerTestOneInput (const uint8_t *data,
                            size_t         size);

static void
check_contained (const char *bytes)
{
  g_auto (GStrv) names = g_strsplit (bytes, "/", -1);

  g_assert_cmpuint (strlen (bytes), <=, 4095);

  if (strcmp (bytes, ".") == 0)
    return;

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_assert_cmpstr (names[i], !=, "");
      g_assert_cmpstr (names[i], !=, ".");
      g_assert_cmpstr (names[i], !=, "..");
      g_assert_cmpuint (strlen (names[i]), <=, 255);
    }
}

static void
check_text (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *bytes = sandbox_path_resolve (path, TARGET, &error);
  g_autofree char *escaped = NULL;
  g_autofree char *again = NULL;

  if (bytes == NULL)
    {
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_assert_cmpuint (strlen (error->message), <, 2000);
      return;
    }

  g_assert_no_error (error);
  check_contained (bytes);

  escaped = sandbox_path_escape (bytes);
  again = sandbox_path_resolve (escaped, TARGET, NULL);
  g_assert_cmpstr (again, ==, bytes);

  if (path[0] != '/')
    g_assert_cmpstr (escaped, ==, path);
  else if (strcmp (bytes, ".") != 0)
    g_assert_cmpstr (escaped, ==, path + strlen (TARGET "/"));
}

static void
check_bytes (const char *bytes)
{
  g_autofree char *escaped = sandbox_path_escape (bytes);
  g_autofree char *again = NULL;

  g_assert_true (g_utf8_validate (escaped, -1, NULL));

  again = sandbox_path_resolve (escaped, TARGET, NULL);

  if (again != NULL && bytes[0] != '/')
    g_assert_cmpstr (again, ==, bytes);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_autofree char *shown = sandbox_path_display (text);

  g_assert_true (g_utf8_validate (shown, -1, NULL));
  check_text (text);
  check_bytes (text);

  return 0;
}
