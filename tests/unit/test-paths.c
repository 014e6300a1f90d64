/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>

#include "sandbox-error.h"
#include "sandbox-paths-private.h"

static void
test_accepted (void)
{
  static const struct
  {
    const char *path;
    const char *bytes;
  } rows[] = {
    { ".", "." },
    { "/workspace", "." },
    { "a", "a" },
    { "a/b/c", "a/b/c" },
    { "/workspace/a", "a" },
    { "/workspace/a/b", "a/b" },
    { "workspace", "workspace" },
    { "/workspace/workspace", "workspace" },
    { ".hidden", ".hidden" },
    { "...", "..." },
    { "..a/a..", "..a/a.." },
    { "-rf", "-rf" },
    { " ", " " },
    { "a b\tc\nx", "a b\tc\nx" },
    { "~", "~" },
    { "%2e%2e", "%2e%2e" },
    { "\xc3\xa9/\xe6\x97\xa5\xe6\x9c\xac", "\xc3\xa9/\xe6\x97\xa5\xe6\x9c\xac" },
    { "bad\\xff\\xfename", "bad\xff\xfename" },
    { "/workspace/bad\\xff", "bad\xff" },
    { "a\\x5cb", "a\\b" },
    { "\\x5cx41", "\\x41" },
    { "\\x80", "\x80" },
    { "\\xc3(", "\xc3(" },
    { "\\xc3\xc3\xa9", "\xc3\xc3\xa9" },
  };

  g_test_summary ("Behaviour 23: a workspace path in each of its spellings gives its bytes");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *bytes = sandbox_path_resolve (rows[i].path, "/workspace", &error);

      g_test_message ("row %u", i);
      g_assert_no_error (error);
      g_assert_cmpstr (bytes, ==, rows[i].bytes);
    }
}

static void
test_refused (void)
{
  static const struct
  {
    const char *path;
    const char *reason;
  } rows[] = {
    { "", "is empty" },
    { "/", "absolute" },
    { "//", "absolute" },
    { "/etc/passwd", "absolute" },
    { "/workspac", "absolute" },
    { "/workspaces", "absolute" },
    { "/workspaces/a", "absolute" },
    { "/Workspace/a", "absolute" },
    { "//workspace/a", "absolute" },
    { "/workspace/", "ends in a slash" },
    { "/workspace//a", "empty part" },
    { "/workspace/.", "single dot" },
    { "/workspace/..", "upwards" },
    { "/workspace/../etc", "upwards" },
    { "/workspace/a/../../etc", "upwards" },
    { "/workspace/../workspace/a", "upwards" },
    { "..", "upwards" },
    { "../x", "upwards" },
    { "a/..", "upwards" },
    { "a/../b", "upwards" },
    { "a/../../x", "upwards" },
    { "./x", "single dot" },
    { "a/.", "single dot" },
    { "a/./b", "single dot" },
    { "./.", "single dot" },
    { "./", "single dot" },
    { "a/", "ends in a slash" },
    { "a//", "empty part" },
    { "a//b", "empty part" },
    { "a\xff", "not UTF-8" },
    { "\xc3", "not UTF-8" },
    { "a/\xed\xa0\x80", "not UTF-8" },
    /* escapes that are none, or that hide something */
    { "\\", "backslash" },
    { "a\\b", "backslash" },
    { "..\\..\\x", "backslash" },
    { "\\\\", "backslash" },
    { "\\x", "backslash" },
    { "\\x5", "backslash" },
    { "\\x5C", "backslash" },
    { "\\X5c", "backslash" },
    { "\\xFF", "backslash" },
    { "\\xfg", "backslash" },
    { "\\377", "backslash" },
    { "a\\x00b", "backslash" },
    { "\\x2e\\x2e/x", "backslash" },
    { "a\\x2fb", "backslash" },
    { "\\x41", "backslash" },
    { "\\x7f", "backslash" },
    { "\\xc3\\xa9", "backslash" },
    { "/workspace/\\x2e", "backslash" },
    { "\\x2fetc", "backslash" },
  };

  g_test_summary ("Behaviour 23, case 73: everything that is no path of the workspace is PATH, with the reason");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;

      g_test_message ("row %u", i);
      g_assert_null (sandbox_path_resolve (rows[i].path, "/workspace", NULL));
      g_assert_null (sandbox_path_resolve (rows[i].path, "/workspace", &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      g_assert_nonnull (strstr (error->message, rows[i].reason));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
    }
}

static void
test_other_target (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *root = sandbox_path_resolve ("/home/me/src", "/home/me/src", &error);
  g_autofree char *file = sandbox_path_resolve ("/home/me/src/a", "/home/me/src", &error);
  g_autofree char *relative = sandbox_path_resolve ("a", "/home/me/src", &error);

  g_test_summary ("The workspace may stand elsewhere in the guest; /workspace is nothing then");

  g_assert_no_error (error);
  g_assert_cmpstr (root, ==, ".");
  g_assert_cmpstr (file, ==, "a");
  g_assert_cmpstr (relative, ==, "a");
  g_assert_null (sandbox_path_resolve ("/workspace/a", "/home/me/src", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
}

/* A relative path of @size bytes in names of 100. */
static char *
new_path_of_size (gsize size)
{
  char *path = g_strnfill (size, 'a');

  for (gsize i = 100; i + 1 < size; i += 101)
    path[i] = '/';

  return path;
}

static void
test_lengths (void)
{
  static const struct
  {
    gsize    size;
    gboolean fits;
  } rows[] = { { 1000, TRUE }, { 4095, TRUE }, { 4096, FALSE }, { 5000, FALSE }, { 1000000, FALSE } };
  g_autofree char *name = g_strnfill (256, 'n');
  g_autofree char *below = NULL;
  g_autofree char *bytes = NULL;

  g_test_summary ("Case 73: a path has 4096 bytes with its end at the most, a name 255, in the bytes of the disk");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = new_path_of_size (rows[i].size);
      g_autofree char *absolute = g_strconcat ("/workspace/", path, NULL);
      g_autofree char *a = sandbox_path_resolve (path, "/workspace", NULL);
      g_autofree char *b = sandbox_path_resolve (absolute, "/workspace", &error);

      g_assert_true ((a != NULL) == rows[i].fits);
      g_assert_cmpstr (a, ==, b);
      if (!rows[i].fits)
        {
          g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
          g_assert_nonnull (strstr (error->message, "too long"));
          g_assert_cmpuint (strlen (error->message), <, 200);
        }
    }

  g_assert_null (sandbox_path_resolve (name, "/workspace", NULL));
  below = g_strconcat ("a/", name, "/b", NULL);
  g_assert_null (sandbox_path_resolve (below, "/workspace", NULL));
  name[255] = '\0';
  bytes = sandbox_path_resolve (name, "/workspace", NULL);
  g_assert_cmpstr (bytes, ==, name);
}

static void
test_escaped_lengths (void)
{
  g_autofree char *bytes = g_strnfill (255, '\xff');
  g_autofree char *escaped = sandbox_path_escape (bytes);
  g_autofree char *resolved = sandbox_path_resolve (escaped, "/workspace", NULL);
  g_autofree char *deep = g_strnfill (4095, '\xff');
  g_autofree char *deep_escaped = NULL;
  g_autofree char *deep_resolved = NULL;

  g_test_summary ("A name of 255 bytes that are not UTF-8, and the longest path of them, are had too");

  g_assert_cmpuint (strlen (escaped), ==, 4 * 255);
  g_assert_cmpstr (resolved, ==, bytes);

  for (gsize i = 100; i < 4094; i += 101)
    deep[i] = '/';
  deep_escaped = sandbox_path_escape (deep);
  deep_resolved = sandbox_path_resolve (deep_escaped, "/workspace", NULL);
  g_assert_cmpstr (deep_resolved, ==, deep);
}

static void
test_every_byte (void)
{
  g_test_summary ("Case 81: a name with any byte in it is escaped as text and comes back as it was");

  for (int byte = 1; byte < 256; byte++)
    {
      char             bytes[] = { 'a', (char) byte, 'b', '\0' };
      g_autofree char *escaped = sandbox_path_escape (bytes);
      g_autofree char *again = NULL;
      g_autoptr (GError) error = NULL;

      g_test_message ("byte %d", byte);
      g_assert_true (g_utf8_validate (escaped, -1, NULL));
      again = sandbox_path_resolve (escaped, "/workspace", &error);
      g_assert_no_error (error);
      g_assert_cmpstr (again, ==, bytes);

      if (byte < 128 && byte != '\\')
        g_assert_cmpstr (escaped, ==, bytes);
      else
        g_assert_cmpuint (strlen (escaped), ==, 6);
    }
}

static void
test_unique (void)
{
  g_test_summary ("Of all ways to spell one byte, at most one is taken, so no two spellings are one file");

  for (int byte = 0; byte < 256; byte++)
    {
      g_autofree char *lower = g_strdup_printf ("a\\x%02x", byte);
      g_autofree char *upper = g_strdup_printf ("a\\x%02X", byte);
      g_autofree char *from_lower = sandbox_path_resolve (lower, "/workspace", NULL);
      g_autofree char *from_upper = strcmp (lower, upper) != 0 ? sandbox_path_resolve (upper, "/workspace", NULL) : NULL;

      g_test_message ("byte %d", byte);
      g_assert_null (from_upper);
      g_assert_true ((from_lower != NULL) == (byte == '\\' || byte >= 128));
    }
}

static void
test_display (void)
{
  g_autofree char *plain = sandbox_path_display ("a/\xc3\xa9");
  g_autofree char *odd = sandbox_path_display ("a\n\x1b[31m\xff\xe2\x80\xae\x7f");
  g_autofree char *many = g_strnfill (1000, 'a');
  g_autofree char *clipped = sandbox_path_display (many);
  g_autofree char *empty = sandbox_path_display ("");

  g_test_summary ("In messages a path is short and holds nothing that a terminal would obey");

  g_assert_cmpstr (plain, ==, "a/\xc3\xa9");
  g_assert_cmpstr (odd, ==, "a\\x0a\\x1b[31m\\xff\\xe2\\x80\\xae\\x7f");
  g_assert_cmpint (g_utf8_strlen (clipped, -1), ==, 81);
  g_assert_true (g_str_has_suffix (clipped, "a…"));
  g_assert_cmpstr (empty, ==, "");
}

static void
test_message (void)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("The message shows the path as it was given, escaped, and why it was refused");

  g_assert_null (sandbox_path_resolve ("a\n//b", "/workspace", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_assert_cmpstr (error->message, ==, "The path “a\\x0a//b” has an empty part");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/paths/accepted", test_accepted);
  g_test_add_func ("/paths/refused", test_refused);
  g_test_add_func ("/paths/other-target", test_other_target);
  g_test_add_func ("/paths/lengths", test_lengths);
  g_test_add_func ("/paths/escaped-lengths", test_escaped_lengths);
  g_test_add_func ("/paths/every-byte", test_every_byte);
  g_test_add_func ("/paths/unique", test_unique);
  g_test_add_func ("/paths/display", test_display);
  g_test_add_func ("/paths/message", test_message);

  return g_test_run ();
}
