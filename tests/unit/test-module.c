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
  { "backend-gateway", "makes FixtureBackendGateway, which is no backend" },
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

/* ---- Gateways */

/* A driver that does what it is told, and a backend that makes it */
typedef GObject      DoorDriver;
typedef GObjectClass DoorDriverClass;

static GType door_driver_get_type (void);
static void  door_driver_interface_init (SandboxDriverInterface *iface);

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (DoorDriver, door_driver, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, door_driver_interface_init))
/* clang-format on */

static gboolean
door_driver_set_network_policy (SandboxDriver        *driver,
                                SandboxNetworkPolicy *policy,
                                SandboxRequest       *request,
                                GError              **error)
{
  sandbox_request_return_done (request);

  return TRUE;
}

static gboolean
door_driver_set_gateway (SandboxDriver  *driver,
                         SandboxGateway *gateway,
                         SandboxRequest *request,
                         GError        **error)
{
  sandbox_request_return_done (request);

  return TRUE;
}

static gboolean
door_driver_close (SandboxDriver  *driver,
                   SandboxRequest *request,
                   GError        **error)
{
  sandbox_request_return_done (request);

  return TRUE;
}

static void
door_driver_interface_init (SandboxDriverInterface *iface)
{
  iface->set_network_policy = door_driver_set_network_policy;
  iface->set_gateway = door_driver_set_gateway;
  iface->close = door_driver_close;
}

static void
door_driver_class_init (DoorDriverClass *klass)
{
}

static void
door_driver_init (DoorDriver *self)
{
}

typedef SandboxBackend      DoorBackend;
typedef SandboxBackendClass DoorBackendClass;

static GType door_backend_get_type (void);

G_DEFINE_TYPE (DoorBackend, door_backend, SANDBOX_TYPE_BACKEND)

static gboolean
door_backend_create_driver (SandboxBackend       *backend,
                            SandboxCreateOptions *options,
                            SandboxWorkspace     *workspace,
                            SandboxRequest       *request,
                            GError              **error)
{
  g_autoptr (GObject) driver = g_object_new (door_driver_get_type (), NULL);

  sandbox_request_return_object (request, driver);

  return TRUE;
}

static void
door_backend_class_init (DoorBackendClass *klass)
{
  klass->create_driver = door_backend_create_driver;
}

static void
door_backend_init (DoorBackend *self)
{
}

/* A session of a registry that has this gateway only: the library of a fixture, whatever kind of module that is */
static SandboxHandle *
create_with_gateway (const char *name)
{
  g_autofree char *fixtures = fixture_folder ();
  g_autofree char *library = g_strdup_printf ("%s/libfixture-%s.so", fixtures, name);
  g_autofree char *text = g_strdup_printf ("[Module]\nKind=gateway\nName=%s\nLibrary=lib%s.so\nAbi=%d\nPriority=0\nDescription=It\n",
                                           name, name, SANDBOX_ABI_VERSION);
  g_autofree char *base = g_strconcat (name, ".sandbox-module", NULL);
  g_autofree char *folder = make_module (name, NULL, 0);
  g_autofree char *link = g_strdup_printf ("%s/lib%s.so", folder, name);
  g_autoptr (SandboxRegistry) registry = NULL;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;
  SandboxHandle *handle = NULL;

  write_file (folder, base, text, -1);
  g_assert_cmpint (symlink (library, link), ==, 0);
  registry = open_folder (folder);
  g_assert_true (sandbox_registry_add_type (registry, "door", 0, door_backend_get_type (), &error));
  backend = create (registry, "door");
  g_assert_null (sandbox_registry_create_backend (registry, name, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);
  /* By now it is read what there is. The file that is loaded is the one of the fixtures. */
  g_object_set_data_full (G_OBJECT (handle), "folder", g_steal_pointer (&folder), g_free);

  return handle;
}

static gboolean
list_origin (SandboxHandle *handle,
             GError       **error)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_assert_true (sandbox_network_policy_add_origin (policy, "https://a.example", NULL, NULL));

  return sandbox_session_set_network_policy (sandbox_handle_get_session (handle), policy, NULL, error);
}

static void
test_gateway (void)
{
  g_autoptr (SandboxHandle) handle = create_with_gateway ("gateway");
  g_autoptr (GError) error = NULL;

  g_test_summary ("A gateway is loaded with the first policy that lists an origin, and not before");
  g_assert_cmpuint (g_type_from_name ("FixtureGateway"), ==, 0);
  g_assert_null (sandbox_session_get_gateway_path (sandbox_handle_get_session (handle)));
  list_origin (handle, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_type_from_name ("FixtureGateway"), !=, 0);
  g_assert_cmpstr (sandbox_session_get_gateway_path (sandbox_handle_get_session (handle)), ==, SANDBOX_GATEWAY_PATH);
  g_assert_true (sandbox_handle_stop (handle, NULL, NULL));
  remove_module (g_object_get_data (G_OBJECT (handle), "folder"));
}

static void
test_gateway_broken (void)
{
  static const struct
  {
    const char *name;
    const char *reason;
  } cases[] = {
    { "gateway-backend", "makes FixtureGatewayBackend, which is no gateway" },
    { "gateway-hollow", "FixtureGatewayHollow is no gateway: it lacks a function" },
    { "good", "it is a backend, and no gateway" },
    { "no-symbol", "it has no sandbox_module_descriptor" },
    { "unresolved", "fixture_symbol_that_exists_nowhere" },
    { "wrong-abi", "built for ABI" },
  };
  g_autoptr (SandboxRegistry) registry = open_fixtures ();

  g_test_summary ("A broken gateway leaves the session with the policy that it had, and harms no backend");
  assert_good_works (registry);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SandboxHandle) handle = create_with_gateway (cases[i].name);
      g_autoptr (GError) first = NULL;
      g_autoptr (GError) second = NULL;

      g_assert_false (list_origin (handle, &first));
      g_assert_error (first, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
      g_test_message ("%s", first->message);
      g_assert_nonnull (strstr (first->message, cases[i].reason));
      g_assert_false (list_origin (handle, &second));
      g_assert_cmpstr (second->message, ==, first->message);
      g_assert_null (sandbox_session_get_gateway_path (sandbox_handle_get_session (handle)));
      g_assert_true (sandbox_handle_stop (handle, NULL, NULL));
      remove_module (g_object_get_data (G_OBJECT (handle), "folder"));
    }
  assert_good_works (registry);
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
  g_test_add_func ("/module/gateway", test_gateway);
  g_test_add_func ("/module/gateway-broken", test_gateway_broken);
  g_test_add_func ("/module/stub", test_stub);

  for (gsize i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      g_autofree char *path = g_strconcat ("/module/broken/", broken[i].name, NULL);

      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_broken);
    }

  return g_test_run ();
}
