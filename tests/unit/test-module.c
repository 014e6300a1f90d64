/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Modules that are really loaded, good and broken ones; linked as a host is. */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <sandbox-glib.h>

/* All that is wrong with the fixtures of modules/meson.build, as the error tells it */
static const struct
{
  const char *name;
  const char *reason;
} broken[] = {
  { "abstract-type", "makes SandboxBackend, which is no backend" },
  { "dependency-symbol", "no sandbox_module_descriptor" },
  { "foreign-type", "makes FixtureGood, which belongs to" },
  { "init-refuses", "this module does not want to" },
  { "no-name", "calls itself nothing" },
  { "no-register", "no register function" },
  { "no-symbol", "no sandbox_module_descriptor" },
  { "no-type", "makes no type" },
  { "object-type", "makes GObject" },
  { "unresolved", "fixture_symbol_that_exists_nowhere" },
  { "wrong-abi", "built for ABI" },
  { "wrong-name", "calls itself another" },
  { "wrong-size", "8 bytes" },
};

static char *
fixture_folder (void)
{
  return g_test_build_filename (G_TEST_BUILT, "unit", "modules", NULL);
}

static SandboxRegistry *
open_folder (const char *folder)
{
  g_assert_true (g_setenv ("SANDBOX_MODULE_PATH", folder, TRUE));

  return sandbox_registry_new ();
}

static SandboxRegistry *
open_fixtures (void)
{
  g_autofree char *folder = fixture_folder ();

  return open_folder (folder);
}

static SandboxBackend *
create (SandboxRegistry *registry,
        const char      *name)
{
  g_autoptr (GError) error = NULL;
  SandboxBackend *backend = sandbox_registry_create_backend (registry, name, NULL, &error);

  g_assert_no_error (error);

  return backend;
}

static void
write_file (const char *folder,
            const char *name,
            const char *data,
            gssize      size)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (path, data, size, &error));
  g_assert_no_error (error);
  g_assert_cmpint (g_chmod (path, 0644), ==, 0);
}

/* A folder with one module whose library has these bytes, or does not exist when @data is NULL */
static char *
make_module (const char *name,
             const char *data,
             gssize      size)
{
  g_autofree char *manifest = g_strconcat (name, ".sandbox-module", NULL);
  g_autofree char *library = g_strconcat ("lib", name, ".so", NULL);
  g_autofree char *text = g_strdup_printf ("[Module]\nKind=backend\nName=%s\nLibrary=%s\nAbi=%d\nPriority=0\nDescription=It\n",
                                           name, library, SANDBOX_ABI_VERSION);
  g_autoptr (GError) error = NULL;
  char *folder = g_dir_make_tmp ("sandbox-modules-XXXXXX", &error);

  g_assert_no_error (error);
  write_file (folder, manifest, text, -1);
  if (data != NULL)
    write_file (folder, library, data, size);

  return folder;
}

static void
remove_module (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name = NULL;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      g_assert_cmpint (g_remove (path), ==, 0);
    }
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

static void
count_notify_cb (GObject    *object,
                 GParamSpec *pspec,
                 gpointer    user_data)
{
  guint *count = user_data;

  (*count)++;
}

/* Tries twice: the error is kept. The good one beside it is not harmed. */
static void
assert_broken (SandboxRegistry *registry,
               const char      *name,
               const char      *reason)
{
  g_autoptr (SandboxBackendInfo) info = sandbox_registry_lookup (registry, name);
  g_autofree char *file = g_strdup_printf ("%s.so", name);
  g_autoptr (GError) first = NULL;
  g_autoptr (GError) second = NULL;
  guint n_notified = 0;

  g_assert_nonnull (info);
  g_assert_no_error (sandbox_backend_info_get_load_error (info));
  g_signal_connect (info, "notify::load-error", G_CALLBACK (count_notify_cb), &n_notified);

  g_assert_null (sandbox_registry_create_backend (registry, name, NULL, &first));
  g_assert_error (first, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
  g_test_message ("%s", first->message);
  g_assert_nonnull (strstr (first->message, file));
  g_assert_nonnull (strstr (first->message, reason));
  g_assert_cmpuint (n_notified, ==, 1);
  g_assert_error (sandbox_backend_info_get_load_error (info), SANDBOX_ERROR, SANDBOX_ERROR_MODULE);

  g_assert_null (sandbox_registry_create_backend (registry, name, NULL, &second));
  g_assert_error (second, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
  g_assert_cmpstr (second->message, ==, first->message);
  g_assert_cmpstr (sandbox_backend_info_get_load_error (info)->message, ==, first->message);
  g_assert_cmpuint (n_notified, ==, 1);
}

static void
assert_good_works (SandboxRegistry *registry)
{
  g_autoptr (SandboxBackend) good = create (registry, "good");

  g_assert_cmpstr (G_OBJECT_TYPE_NAME (good), ==, "FixtureGood");
}

static void
test_lazy (void)
{
  g_autoptr (SandboxRegistry) registry = open_fixtures ();
  g_autoptr (SandboxBackendInfo) info = sandbox_registry_lookup (registry, "other");
  g_autoptr (SandboxBackend) backend = NULL;

  g_test_summary ("Listing loads no code; the first create does");
  g_assert_nonnull (info);
  g_assert_cmpuint (g_type_from_name ("FixtureOther"), ==, 0);
  backend = create (registry, "other");
  g_assert_cmpuint (g_type_from_name ("FixtureOther"), ==, G_OBJECT_TYPE (backend));
  g_assert_cmpuint (g_type_from_name ("FixtureNoType"), ==, 0);
}

static void
test_create (void)
{
  g_autoptr (SandboxRegistry) registry = open_fixtures ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  backend = sandbox_registry_create_backend (registry, "good", "/state", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (G_OBJECT_TYPE_NAME (backend), ==, "FixtureGood");
  g_assert_cmpstr (sandbox_backend_get_name (backend), ==, "good");
  g_assert_cmpstr (sandbox_backend_get_state_directory (backend), ==, "/state");
  g_assert_finalize_object (g_steal_pointer (&backend));
}

static void
test_again (void)
{
  GType type = G_TYPE_INVALID;

  g_test_summary ("Loaded, used, dropped and loaded again, it is the same type");
  for (guint i = 0; i < 100; i++)
    {
      g_autoptr (SandboxRegistry) registry = open_fixtures ();
      SandboxBackend *backend = create (registry, "good");

      g_assert_true (type == G_TYPE_INVALID || type == G_OBJECT_TYPE (backend));
      type = G_OBJECT_TYPE (backend);
      g_assert_finalize_object (backend);
    }
}

static void
test_two_registries (void)
{
  g_autoptr (SandboxRegistry) one = open_fixtures ();
  g_autoptr (SandboxRegistry) two = open_fixtures ();
  g_autoptr (SandboxBackend) first = create (one, "good");
  g_autoptr (SandboxBackend) second = create (two, "good");

  g_assert_true (first != second);
  g_assert_true (G_OBJECT_TYPE (first) == G_OBJECT_TYPE (second));
}

static gpointer
create_many (gpointer data)
{
  for (guint i = 0; i < 50; i++)
    {
      g_autoptr (SandboxBackend) good = create (data, "good");
      g_autoptr (SandboxBackend) other = create (data, "other");
      g_autoptr (GError) error = NULL;

      g_assert_cmpstr (G_OBJECT_TYPE_NAME (good), ==, "FixtureGood");
      g_assert_cmpstr (G_OBJECT_TYPE_NAME (other), ==, "FixtureOther");
      g_assert_null (sandbox_registry_create_backend (data, "wrong-abi", NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
    }

  return NULL;
}

static void
test_threads (void)
{
  g_autoptr (SandboxRegistry) registry = open_fixtures ();
  GThread *threads[8];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("test-module", create_many, registry);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

static void
test_broken (gconstpointer data)
{
  gsize i = GPOINTER_TO_SIZE (data);
  g_autoptr (SandboxRegistry) registry = open_fixtures ();

  assert_good_works (registry);
  assert_broken (registry, broken[i].name, broken[i].reason);
  assert_good_works (registry);
}

static void
test_silent (void)
{
  if (g_test_subprocess ())
    {
      g_autoptr (SandboxRegistry) registry = open_fixtures ();

      assert_good_works (registry);
      for (gsize i = 0; i < G_N_ELEMENTS (broken); i++)
        g_assert_null (sandbox_registry_create_backend (registry, broken[i].name, NULL, NULL));
      return;
    }

  g_test_summary ("Whatever is wrong with a module, nothing is printed");
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("");
}

static void
test_recursive (void)
{
  g_autoptr (SandboxRegistry) registry = open_fixtures ();
  g_autoptr (SandboxBackend) backend = create (registry, "recursive");

  g_test_summary ("A module that asks for itself while it is being loaded gets an error, and is loaded");
  g_assert_cmpstr (G_OBJECT_TYPE_NAME (backend), ==, "FixtureRecursive");
}

static void
test_clash (void)
{
  if (g_test_subprocess ())
    {
      g_autoptr (SandboxRegistry) registry = open_fixtures ();

      g_log_set_always_fatal (G_LOG_FATAL_MASK);
      assert_good_works (registry);
      assert_broken (registry, "clash", "makes no type");
      assert_good_works (registry);
      return;
    }

  g_test_summary ("Two modules that name their types alike: GLib tells the author, the host gets an error");
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*tried to register 'FixtureGood'*");
}

static void
test_second_file (void)
{
  g_autofree char *folder = make_module ("good", "", 0);
  g_autoptr (SandboxRegistry) registry = open_fixtures ();
  g_autoptr (SandboxRegistry) second = NULL;

  g_test_summary ("Another file of a name that is loaded is refused before it is opened");
  assert_good_works (registry);
  second = open_folder (folder);
  assert_broken (second, "good", "good has been loaded from");
  assert_good_works (registry);

  remove_module (folder);
}

static void
test_link (void)
{
  g_autofree char *fixtures = fixture_folder ();
  g_autofree char *library = g_build_filename (fixtures, "libfixture-good.so", NULL);
  g_autofree char *folder = make_module ("good", NULL, 0);
  g_autofree char *link = g_build_filename (folder, "libgood.so", NULL);
  g_autoptr (SandboxRegistry) registry = open_fixtures ();
  g_autoptr (SandboxRegistry) second = NULL;

  g_test_summary ("A link to a file that is loaded is that file");
  assert_good_works (registry);
  g_assert_cmpint (symlink (library, link), ==, 0);
  second = open_folder (folder);
  assert_good_works (second);

  remove_module (folder);
}

static void
assert_library_refused (const char *data,
                        gssize      size,
                        const char *reason)
{
  g_autofree char *folder = make_module ("junk", data, size);
  g_autoptr (SandboxRegistry) registry = open_folder (folder);

  assert_broken (registry, "junk", reason);
  remove_module (folder);
}

static void
test_not_a_library (void)
{
  g_autofree char *fixtures = fixture_folder ();
  g_autofree char *path = g_build_filename (fixtures, "libfixture-no-type.so", NULL);
  g_autofree char *data = NULL;
  gsize            size;

  assert_library_refused (NULL, 0, "No such file");
  assert_library_refused ("", 0, "too short");
  assert_library_refused ("#!/bin/sh\necho 'A script of more bytes than the header of a library, and no library'\n", -1, "invalid ELF header");

  /* For a machine that nobody has: e_machine is at offset 18 of every ELF header */
  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  data[18] = data[19] = 0x7f;
  assert_library_refused (data, size, "junk");
}

static void
test_stub (void)
{
  g_autoptr (SandboxRegistry) registry = NULL;
  g_autoptr (SandboxBackendInfo) info = NULL;
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxBackend) picked = NULL;
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_test_build_filename (G_TEST_BUILT, "..", "backends", "stub", NULL);

  g_test_summary ("The stub says no, and is never picked by itself");
  registry = open_folder (folder);
  info = sandbox_registry_lookup (registry, "stub");
  g_assert_cmpint (sandbox_backend_info_get_priority (info), <, 0);

  backend = create (registry, "stub");
  report = sandbox_backend_probe (backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_UNAVAILABLE);
  g_assert_cmpint (sandbox_report_get_restrictions (report), ==, SANDBOX_RESTRICTIONS_NONE);
  g_assert_nonnull (sandbox_report_get_reason (report));

  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);

  /* Another one may be installed on this host. */
  picked = sandbox_registry_create_backend (registry, NULL, NULL, &error);
  if (picked != NULL)
    g_assert_cmpstr (sandbox_backend_get_name (picked), !=, "stub");
  else
    g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);

  g_assert_true (g_setenv ("SANDBOX_BACKEND", "stub", TRUE));
  g_clear_object (&picked);
  picked = sandbox_registry_create_backend (registry, NULL, NULL, NULL);
  g_assert_cmpstr (sandbox_backend_get_name (picked), ==, "stub");
  g_unsetenv ("SANDBOX_BACKEND");
}

int
main (int    argc,
      char **argv)
{
  g_unsetenv ("SANDBOX_BACKEND");
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/module/lazy", test_lazy);
  g_test_add_func ("/module/create", test_create);
  g_test_add_func ("/module/again", test_again);
  g_test_add_func ("/module/two-registries", test_two_registries);
  g_test_add_func ("/module/threads", test_threads);
  g_test_add_func ("/module/silent", test_silent);
  g_test_add_func ("/module/recursive", test_recursive);
  g_test_add_func ("/module/clash", test_clash);
  g_test_add_func ("/module/second-file", test_second_file);
  g_test_add_func ("/module/link", test_link);
  g_test_add_func ("/module/not-a-library", test_not_a_library);
  g_test_add_func ("/module/stub", test_stub);

  for (gsize i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      g_autofree char *path = g_strconcat ("/module/broken/", broken[i].name, NULL);

      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_broken);
    }

  return g_test_run ();
}
