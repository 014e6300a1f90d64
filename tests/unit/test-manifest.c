/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "sandbox-error.h"
#include "sandbox-manifest-private.h"

#define KIND "Kind=backend\n"
#define NAME "Name=good\n"
#define LIBRARY "Library=libgood.so\n"
#define ABI "Abi=1\n"
#define PRIORITY "Priority=10\n"
#define DESCRIPTION "Description=Some words\n"

#define MANIFEST(kind, name, library, abi, priority, description) \
 "[Module]\n" kind name library abi priority description

static const char good[] = MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, DESCRIPTION);

/* What is wrong with it is in the message. */
static const struct
{
  const char *name;
  const char *text;
  const char *message;
} broken[] = {
  { "empty", "", "empty" },
  { "comment", "# nothing\n", "no group [Module]" },
  { "no-group", "Name=good\n", "group" },
  { "other-group", "[Backend]\nName=good\n", "unknown group [Backend]" },
  { "second-group", MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, DESCRIPTION) "[More]\n", "unknown group [More]" },
  { "empty-group", "[Module]\n", "no good Kind" },
  { "unknown-key", MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, DESCRIPTION) "Extra=1\n", "unknown key Extra" },
  { "translated-key", MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, DESCRIPTION) "Description[de]=Worte\n", "unknown key Description[de]" },
  { "key-case", MANIFEST (KIND, "name=good\n", LIBRARY, ABI, PRIORITY, DESCRIPTION), "unknown key name" },
  { "no-kind", MANIFEST ("", NAME, LIBRARY, ABI, PRIORITY, DESCRIPTION), "no good Kind" },
  { "no-name", MANIFEST (KIND, "", LIBRARY, ABI, PRIORITY, DESCRIPTION), "no good Name" },
  { "no-library", MANIFEST (KIND, NAME, "", ABI, PRIORITY, DESCRIPTION), "no good Library" },
  { "no-abi", MANIFEST (KIND, NAME, LIBRARY, "", PRIORITY, DESCRIPTION), "no good Abi" },
  { "no-priority", MANIFEST (KIND, NAME, LIBRARY, ABI, "", DESCRIPTION), "no good Priority" },
  { "no-description", MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, ""), "no good Description" },
  { "empty-description", MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, "Description=\n"), "no good Description" },
  { "kind", MANIFEST ("Kind=driver\n", NAME, LIBRARY, ABI, PRIORITY, DESCRIPTION), "Kind is none of" },
  { "name-upper", MANIFEST (KIND, "Name=Good\n", LIBRARY, ABI, PRIORITY, DESCRIPTION), "Name is not" },
  { "name-slash", MANIFEST (KIND, "Name=a/b\n", LIBRARY, ABI, PRIORITY, DESCRIPTION), "Name is not" },
  { "name-dots", MANIFEST (KIND, "Name=..\n", LIBRARY, ABI, PRIORITY, DESCRIPTION), "Name is not" },
  { "name-long", MANIFEST (KIND, "Name=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", LIBRARY, ABI, PRIORITY, DESCRIPTION), "Name is not" },
  { "library-absolute", MANIFEST (KIND, NAME, "Library=/tmp/libgood.so\n", ABI, PRIORITY, DESCRIPTION), "Library is not" },
  { "library-relative", MANIFEST (KIND, NAME, "Library=../libgood.so\n", ABI, PRIORITY, DESCRIPTION), "Library is not" },
  { "library-hidden", MANIFEST (KIND, NAME, "Library=.so\n", ABI, PRIORITY, DESCRIPTION), "Library is not" },
  { "library-libtool", MANIFEST (KIND, NAME, "Library=libgood.la\n", ABI, PRIORITY, DESCRIPTION), "Library is not" },
  { "library-newline", MANIFEST (KIND, NAME, "Library=lib\\ngood.so\n", ABI, PRIORITY, DESCRIPTION), "no good Library" },
  { "abi-zero", MANIFEST (KIND, NAME, LIBRARY, "Abi=0\n", PRIORITY, DESCRIPTION), "Abi is not" },
  { "abi-negative", MANIFEST (KIND, NAME, LIBRARY, "Abi=-1\n", PRIORITY, DESCRIPTION), "Abi is not" },
  { "abi-plus", MANIFEST (KIND, NAME, LIBRARY, "Abi=+1\n", PRIORITY, DESCRIPTION), "Abi is not" },
  { "abi-text", MANIFEST (KIND, NAME, LIBRARY, "Abi=1.0\n", PRIORITY, DESCRIPTION), "Abi is not" },
  { "abi-huge", MANIFEST (KIND, NAME, LIBRARY, "Abi=4294967296\n", PRIORITY, DESCRIPTION), "Abi is not" },
  { "priority-text", MANIFEST (KIND, NAME, LIBRARY, ABI, "Priority=high\n", DESCRIPTION), "Priority is not" },
  { "priority-hex", MANIFEST (KIND, NAME, LIBRARY, ABI, "Priority=0x10\n", DESCRIPTION), "Priority is not" },
  { "priority-plus", MANIFEST (KIND, NAME, LIBRARY, ABI, "Priority=+1\n", DESCRIPTION), "Priority is not" },
  { "priority-huge", MANIFEST (KIND, NAME, LIBRARY, ABI, "Priority=2147483648\n", DESCRIPTION), "Priority is not" },
  { "escape", MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, "Description=a\\q\n"), "no good Description" },
  { "control", MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, "Description=\033[2J\n"), "no good Description" },
  { "lines", MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, "Description=a\\nb\n"), "no good Description" },
  { "not-utf8", MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, "Description=\xff\n"), "not UTF-8" },
  { "no-key-file", "\177ELF and so on", "" },
};

static void
test_good (void)
{
  g_autoptr (SandboxManifest) manifest = NULL;
  g_autoptr (GError) error = NULL;

  manifest = sandbox_manifest_parse (good, strlen (good), &error);
  g_assert_no_error (error);
  g_assert_cmpstr (manifest->kind, ==, "backend");
  g_assert_cmpstr (manifest->name, ==, "good");
  g_assert_cmpstr (manifest->library, ==, "libgood.so");
  g_assert_cmpuint (manifest->abi, ==, 1);
  g_assert_cmpint (manifest->priority, ==, 10);
  g_assert_cmpstr (manifest->description, ==, "Some words");
}

static void
test_edges (void)
{
  static const char *const texts[] = {
    MANIFEST ("Kind=gateway\n", NAME, LIBRARY, ABI, "Priority=-2147483648\n", "Description=W\xc3\xb6rter\n"),
    MANIFEST ("Kind=tool\n", "Name=0-a\n", "Library=a.b.so\n", "Abi=4294967295\n", "Priority=2147483647\n", DESCRIPTION),
    MANIFEST (KIND, "Name=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", LIBRARY, ABI, PRIORITY, DESCRIPTION),
    "# a comment\n\n" MANIFEST (KIND, NAME, LIBRARY, ABI, PRIORITY, "Description=no newline at the end"),
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (SandboxManifest) manifest = NULL;
      g_autoptr (GError) error = NULL;

      manifest = sandbox_manifest_parse (texts[i], strlen (texts[i]), &error);
      g_assert_no_error (error);
      g_assert_nonnull (manifest);
    }
}

static void
test_broken (gconstpointer data)
{
  gsize i = GPOINTER_TO_SIZE (data);
  g_autoptr (SandboxManifest) manifest = NULL;
  g_autoptr (GError) error = NULL;

  manifest = sandbox_manifest_parse (broken[i].text, strlen (broken[i].text), &error);
  g_assert_null (manifest);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
  g_assert_nonnull (strstr (error->message, broken[i].message));
}

static void
test_nul (void)
{
  static const char text[] = "[Module]\n" KIND NAME "Library=libgood.so\0.txt\n" ABI PRIORITY DESCRIPTION;
  g_autoptr (SandboxManifest) manifest = NULL;
  g_autoptr (GError) error = NULL;

  manifest = sandbox_manifest_parse (text, sizeof text - 1, &error);
  g_assert_null (manifest);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
}

static void
test_size (void)
{
  g_autoptr (GString) text = g_string_new (good);
  g_autoptr (GError) error = NULL;
  SandboxManifest *manifest = NULL;

  g_string_append_c (text, '#');
  while (text->len < SANDBOX_MANIFEST_MAX_BYTES)
    g_string_append_c (text, 'x');

  manifest = sandbox_manifest_parse (text->str, text->len, &error);
  g_assert_no_error (error);
  g_clear_pointer (&manifest, sandbox_manifest_free);

  g_string_append_c (text, 'x');
  manifest = sandbox_manifest_parse (text->str, text->len, &error);
  g_assert_null (manifest);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
}

static int
salvage (const char *text)
{
  return sandbox_manifest_salvage_priority (text, strlen (text));
}

static void
test_salvage (void)
{
  g_test_summary ("A broken manifest of a backend keeps its place when it tells it");

  g_assert_cmpint (salvage (good), ==, 10);
  g_assert_cmpint (salvage (MANIFEST (KIND, NAME, "", "", PRIORITY, "Extra=1\n")), ==, 10);
  g_assert_cmpint (salvage (MANIFEST ("Kind=tool\n", NAME, "", "", PRIORITY, "Extra=1\n")), ==, -1);
  g_assert_cmpint (salvage (MANIFEST (KIND, NAME, LIBRARY, ABI, "Priority=high\n", "")), ==, -1);
  g_assert_cmpint (salvage (MANIFEST (KIND, NAME, LIBRARY, ABI, "", "")), ==, -1);
  g_assert_cmpint (salvage (""), ==, -1);
  g_assert_cmpint (salvage ("[Module"), ==, -1);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/manifest/good", test_good);
  g_test_add_func ("/manifest/edges", test_edges);
  g_test_add_func ("/manifest/nul", test_nul);
  g_test_add_func ("/manifest/size", test_size);
  g_test_add_func ("/manifest/salvage", test_salvage);

  for (gsize i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      g_autofree char *path = g_strconcat ("/manifest/broken/", broken[i].name, NULL);

      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_broken);
    }

  return g_test_run ();
}
