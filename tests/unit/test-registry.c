/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a registry lists, trusts, picks and finds. Nothing is loaded here: test-module does that. */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "sandbox-backend-calls.h"
#include "sandbox-backend-private.h"
#include "sandbox-backend-info.h"
#include "sandbox-error.h"
#include "sandbox-registry-private.h"
#include "sandbox-file-trust-private.h"
#include "sandbox-trust-private.h"

#define ALL_RESTRICTIONS (SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_WRITE_CONTAINED | \
                          SANDBOX_RESTRICTIONS_SECRETS_HIDDEN | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED)

/* ---- Backends that are no modules ---- */

typedef struct
{
  SandboxBackend parent_instance;
} TestBackend;

typedef struct
{
  SandboxBackendClass parent_class;

  SandboxGrade        grade;
  SandboxRestrictions restrictions;
  gboolean            fails;
} TestBackendClass;

GType test_backend_get_type (void);

G_DEFINE_ABSTRACT_TYPE (TestBackend, test_backend, SANDBOX_TYPE_BACKEND)

static guint n_probes;

static gboolean
test_backend_probe (SandboxBackend *backend,
                    SandboxProfile *profile,
                    SandboxRequest *request,
                    GError        **error)
{
  TestBackendClass *klass = (TestBackendClass *) G_OBJECT_GET_CLASS (backend);
  g_autoptr (SandboxReport) report = sandbox_report_new (klass->grade);

  n_probes++;
  if (klass->fails)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "the probe fell over");
      return FALSE;
    }

  sandbox_report_set_restrictions (report, klass->restrictions);
  if (klass->grade == SANDBOX_GRADE_UNAVAILABLE)
    sandbox_report_set_reason (report, "no kernel for it");
  sandbox_request_return_object (request, G_OBJECT (report));

  return TRUE;
}

static void
test_backend_class_init (TestBackendClass *klass)
{
  SANDBOX_BACKEND_CLASS (klass)->probe = test_backend_probe;
}

static void
test_backend_init (TestBackend *self)
{
}

#define DEFINE_BACKEND(Type, type, grade_, restrictions_, fails_) \
 typedef TestBackend      Type;                                   \
 typedef TestBackendClass Type##Class;                            \
 GType                    type##_get_type (void);                 \
 G_DEFINE_TYPE (Type, type, test_backend_get_type ())             \
 static void type##_class_init (Type##Class *klass)               \
 {                                                                \
  klass->grade = grade_;                                          \
  klass->restrictions = restrictions_;                            \
  klass->fails = fails_;                                          \
 }                                                                \
 static void type##_init (Type *self)                             \
 {                                                                \
 }

/* clang-format off */
DEFINE_BACKEND (FullBackend, full_backend, SANDBOX_GRADE_FULL, ALL_RESTRICTIONS, FALSE)
DEFINE_BACKEND (WeakBackend, weak_backend, SANDBOX_GRADE_PARTIAL, SANDBOX_RESTRICTIONS_WRITE_CONTAINED, FALSE)
DEFINE_BACKEND (DeadBackend, dead_backend, SANDBOX_GRADE_UNAVAILABLE, ALL_RESTRICTIONS, FALSE)
DEFINE_BACKEND (SickBackend, sick_backend, SANDBOX_GRADE_FULL, ALL_RESTRICTIONS, TRUE)
/* clang-format on */

/* ---- Folders ---- */

static char *
make_folder (void)
{
  g_autoptr (GError) error = NULL;
  char *path = g_dir_make_tmp ("sandbox-modules-XXXXXX", &error);

  g_assert_no_error (error);

  return path;
}

static char *
write_file (const char *folder,
            const char *name,
            const char *text)
{
  g_autoptr (GError) error = NULL;
  char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents_full (path, text, -1, G_FILE_SET_CONTENTS_NONE, 0644, &error));
  g_assert_no_error (error);
  g_assert_cmpint (g_chmod (path, 0644), ==, 0);

  return path;
}

static char *
write_manifest (const char *folder,
                const char *name,
                const char *kind,
                int         priority)
{
  g_autofree char *base = g_strconcat (name, ".sandbox-module", NULL);
  g_autofree char *text = g_strdup_printf ("[Module]\nKind=%s\nName=%s\nLibrary=lib%s.so\nAbi=1\nPriority=%d\nDescription=The %s\n",
                                           kind, name, name, priority, name);

  return write_file (folder, base, text);
}

static void
remove_folder (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name = NULL;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);

      g_assert_cmpint (g_remove (file), ==, 0);
    }
  g_assert_cmpint (g_rmdir (path), ==, 0);
}

static SandboxRegistry *
open_folder (const char *path)
{
  const char *const directories[] = { path, NULL };

  return sandbox_registry_new_for_path (directories);
}

static SandboxRegistry *
open_nothing (void)
{
  const char *const directories[] = { NULL };

  return sandbox_registry_new_for_path (directories);
}

static char *
list_names (SandboxRegistry *registry)
{
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (registry)); i++)
    {
      g_autoptr (SandboxBackendInfo) info = g_list_model_get_item (G_LIST_MODEL (registry), i);

      g_string_append_printf (names, "%s%s", names->len > 0 ? " " : "", sandbox_backend_info_get_name (info));
    }

  return g_string_free (g_steal_pointer (&names), FALSE);
}

static void
assert_names (SandboxRegistry *registry,
              const char      *expected)
{
  g_autofree char *names = list_names (registry);

  g_assert_cmpstr (names, ==, expected);
}

/* That @name is listed, is broken, and is refused with an error that names @path and has @reason. */
static void
assert_broken (SandboxRegistry *registry,
               const char      *name,
               const char      *path,
               const char      *reason)
{
  g_autoptr (SandboxBackendInfo) info = sandbox_registry_lookup (registry, name);
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (info);
  backend = sandbox_registry_create_backend (registry, name, NULL, &error);
  g_assert_null (backend);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, path));
  g_assert_nonnull (strstr (error->message, reason));
  g_assert_error (sandbox_backend_info_get_load_error (info), SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
  g_assert_cmpstr (sandbox_backend_info_get_load_error (info)->message, ==, error->message);
}

/* ---- Listing ---- */

static void
test_list (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *file = write_manifest (folder, "middle", "backend", 10);
  g_autofree char *low = write_manifest (folder, "low", "backend", -100);
  g_autofree char *zebra = write_manifest (folder, "zebra", "backend", 50);
  g_autofree char *ant = write_manifest (folder, "ant", "backend", 50);
  g_autofree char *noise = write_file (folder, "README", "not a manifest\n");
  g_autofree char *hidden = write_file (folder, ".sandbox-module", "not a manifest\n");
  g_autofree char *name = NULL;
  g_autofree char *description = NULL;
  g_autofree char *kind = NULL;
  g_autofree char *path = NULL;
  g_autoptr (SandboxRegistry) registry = NULL;
  g_autoptr (SandboxBackendInfo) info = NULL;
  g_autoptr (GError) load_error = NULL;
  int priority;

  g_test_summary ("The highest priority is first, then the alphabet rules; libraries need not exist");
  registry = open_folder (folder);
  assert_names (registry, "ant zebra middle low");
  g_assert_true (g_list_model_get_item_type (G_LIST_MODEL (registry)) == SANDBOX_TYPE_BACKEND_INFO);
  g_assert_null (g_list_model_get_item (G_LIST_MODEL (registry), 4));

  info = sandbox_registry_lookup (registry, "middle");
  g_object_get (info,
                "name", &name,
                "description", &description,
                "priority", &priority,
                "kind", &kind,
                "file", &path,
                "load-error", &load_error,
                NULL);
  g_assert_cmpstr (name, ==, "middle");
  g_assert_cmpstr (description, ==, "The middle");
  g_assert_cmpint (priority, ==, 10);
  g_assert_cmpstr (kind, ==, "backend");
  g_assert_cmpstr (path, ==, file);
  g_assert_no_error (load_error);
  g_assert_null (sandbox_registry_lookup (registry, "nobody"));

  g_clear_object (&info);
  g_assert_finalize_object (g_steal_pointer (&registry));
  remove_folder (folder);
}

static void
test_broken_manifests (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *good = write_manifest (folder, "good", "backend", 1);
  g_autofree char *empty = write_file (folder, "empty.sandbox-module", "");
  g_autofree char *unknown = write_file (folder, "unknown.sandbox-module",
                                         "[Module]\nKind=backend\nName=unknown\nLibrary=libunknown.so\nAbi=1\nPriority=1\nDescription=It\nExtra=1\n");
  g_autofree char *alias = write_file (folder, "alias.sandbox-module",
                                       "[Module]\nKind=backend\nName=good\nLibrary=libgood.so\nAbi=1\nPriority=1\nDescription=It\n");
  g_autofree char *abi = write_file (folder, "abi.sandbox-module",
                                     "[Module]\nKind=backend\nName=abi\nLibrary=libabi.so\nAbi=2\nPriority=1\nDescription=It\n");
  g_autofree char *missing = g_build_filename (folder, "dangling.sandbox-module", NULL);
  g_autofree char *pipe = g_build_filename (folder, "pipe.sandbox-module", NULL);
  g_autofree char *directory = g_build_filename (folder, "directory.sandbox-module", NULL);
  g_autofree char *odd = g_build_filename (folder, "\xff.sandbox-module", NULL);
  g_autofree char *padding = g_strnfill (65537, '#');
  g_autofree char *huge = write_file (folder, "huge.sandbox-module", padding);
  g_autoptr (SandboxRegistry) registry = NULL;

  g_test_summary ("What is wrong with a manifest stays with it, and nothing hangs");
  g_assert_cmpint (symlink ("nowhere", missing), ==, 0);
  g_assert_cmpint (mkfifo (pipe, 0644), ==, 0);
  g_assert_cmpint (g_mkdir (directory, 0755), ==, 0);
  g_assert_cmpint (symlink ("good.sandbox-module", odd), ==, 0);

  registry = open_folder (folder);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (registry)), ==, 10);
  assert_broken (registry, "empty", empty, "empty");
  assert_broken (registry, "unknown", unknown, "unknown key Extra");
  assert_broken (registry, "alias", alias, "Name is good");
  assert_broken (registry, "abi", abi, "ABI 2");
  assert_broken (registry, "dangling", missing, "No such file");
  assert_broken (registry, "pipe", pipe, "regular file");
  assert_broken (registry, "directory", directory, "regular file");
  assert_broken (registry, "huge", huge, "64 KiB");
  assert_broken (registry, "\xef\xbf\xbd", folder, "Name is good");
  assert_broken (registry, "good", "libgood.so", "No such file");

  remove_folder (folder);
}

static void
test_order (void)
{
  g_autofree char  *first = make_folder ();
  g_autofree char  *second = make_folder ();
  g_autofree char  *third = make_folder ();
  g_autofree char  *same1 = write_manifest (first, "same", "backend", 1);
  g_autofree char  *same2 = write_manifest (second, "same", "backend", 99);
  g_autofree char  *same3 = write_manifest (third, "same", "backend", 100);
  g_autofree char  *more3 = write_manifest (third, "more", "backend", 2);
  const char *const directories[] = { first, second, NULL };
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new_for_path (directories);
  g_autoptr (SandboxBackendInfo) info = sandbox_registry_lookup (registry, "same");

  g_test_summary ("The first of a name counts, whatever its priority");
  g_assert_cmpstr (sandbox_backend_info_get_file (info), ==, same1);
  assert_names (registry, "same");

  sandbox_registry_add_search_path (registry, third);
  assert_names (registry, "more same");
  g_clear_object (&info);
  info = sandbox_registry_lookup (registry, "same");
  g_assert_cmpstr (sandbox_backend_info_get_file (info), ==, same1);

  remove_folder (first);
  remove_folder (second);
  remove_folder (third);
}

static void
test_broken_shadows (void)
{
  g_autofree char  *first = make_folder ();
  g_autofree char  *second = make_folder ();
  g_autofree char  *broken = write_file (first, "same.sandbox-module", "[Module]\n");
  g_autofree char  *good = write_manifest (second, "same", "backend", 1);
  const char *const directories[] = { first, second, NULL };
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new_for_path (directories);

  g_test_summary ("A broken module hides a later one of its name; that is never taken silently");
  assert_broken (registry, "same", broken, "Kind");

  remove_folder (first);
  remove_folder (second);
}

/* ---- Trust ---- */

static void
test_trust_stat (void)
{
  static const struct
  {
    uid_t    owner;
    uid_t    user;
    mode_t   mode;
    gboolean trusted;
  } rows[] = {
    { 0, 0, 0755, TRUE },
    { 0, 1000, 0755, TRUE },
    { 1000, 1000, 0700, TRUE },
    { 1000, 1000, 0755, TRUE },
    { 1000, 0, 0755, FALSE },
    { 1001, 1000, 0755, FALSE },
    { 65534, 1000, 0755, FALSE },
    { 0, 1000, 0775, FALSE },
    { 0, 0, 0757, FALSE },
    { 1000, 1000, 0720, FALSE },
    { 1000, 1000, 0702, FALSE },
    { 0, 0, 01777, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      struct stat st = { .st_uid = rows[i].owner, .st_mode = S_IFDIR | rows[i].mode };

      g_assert_true ((sandbox_file_trust_refuse ("/", &st, rows[i].user) == NULL) == rows[i].trusted);
    }
}

static void
test_trust_variable (void)
{
  g_test_summary ("With rights that the caller has not, the environment says nothing");

  g_assert_cmpstr (sandbox_trust_variable ("/modules", FALSE), ==, "/modules");
  g_assert_null (sandbox_trust_variable ("/modules", TRUE));
  g_assert_null (sandbox_trust_variable ("", FALSE));
  g_assert_null (sandbox_trust_variable (NULL, FALSE));
  g_assert_null (sandbox_trust_variable (NULL, TRUE));
  g_assert_false (sandbox_trust_is_secure ());
}

static void
test_trust_split (void)
{
  static const char *const expected[] = { "modules", "/a", "./x", "../y", "/b/c", NULL };
  g_auto (GStrv) parts = sandbox_trust_split_path ("modules:/a::./x:../y:/b/c:");
  g_auto (GStrv) none = sandbox_trust_split_path (NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Only absolute folders count: another depends on where the program stands");
  g_assert_cmpstrv (parts, expected);
  g_assert_cmpuint (g_strv_length (none), ==, 0);
  g_assert_false (sandbox_trust_directory ("modules", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
  g_assert_nonnull (strstr (error->message, "from modules: the path is not absolute"));
}

static void
test_trust_environment (void)
{
  g_autofree char *open = make_folder ();
  g_autofree char *folder = make_folder ();
  g_autofree char *evil = write_manifest (open, "test-evil", "backend", G_MAXINT);
  g_autofree char *mine = write_manifest (folder, "test-mine", "backend", G_MAXINT);
  g_autofree char *path = g_strconcat ("tests:.:", open, ":", folder, NULL);
  g_autofree char *here = g_get_current_dir ();
  g_autoptr (SandboxRegistry) registry = NULL;
  g_autoptr (SandboxRegistry) relative = NULL;
  g_autoptr (SandboxBackendInfo) info = NULL;
  g_autofree char *base = g_path_get_basename (folder);
  g_autofree char *looked = NULL;
  g_autofree char *not_looked = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_chmod (open, 0777), ==, 0);
  g_assert_true (g_setenv ("SANDBOX_MODULE_PATH", path, TRUE));
  registry = sandbox_registry_new ();
  g_assert_null (sandbox_registry_lookup (registry, "test-evil"));
  info = sandbox_registry_lookup (registry, "test-mine");
  g_assert_cmpstr (sandbox_backend_info_get_file (info), ==, mine);
  g_clear_object (&info);

  /* The same folder by a relative path, from where it would be found */
  g_assert_cmpint (chdir (g_get_tmp_dir ()), ==, 0);
  g_assert_true (g_setenv ("SANDBOX_MODULE_PATH", base, TRUE));
  relative = sandbox_registry_new ();
  g_assert_cmpint (chdir (here), ==, 0);
  g_assert_null (sandbox_registry_lookup (relative, "test-mine"));
  g_unsetenv ("SANDBOX_MODULE_PATH");

  g_test_message ("Who misses a name is told which there are, where they were looked for, and where not and why");
  looked = g_strdup_printf ("Looked in: %s", folder);
  not_looked = g_strdup_printf ("from %s: others can write to it", open);
  g_assert_null (sandbox_registry_create_backend (registry, "nope", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_assert_nonnull (strstr (error->message, "no backend “nope”. Known: test-mine"));
  g_assert_nonnull (strstr (error->message, looked));
  g_assert_nonnull (strstr (error->message, not_looked));
  g_assert_nonnull (strstr (error->message, "from tests: the path is not absolute"));

  remove_folder (open);
  remove_folder (folder);
}

static void
test_trust_folder (void)
{
  static const mode_t modes[] = { 0777, 01777, 0707, 0770, 0720, 0702 };
  g_autofree char    *folder = make_folder ();
  g_autofree char    *file = write_manifest (folder, "good", "backend", 1);
  g_autofree char    *reason = g_strdup_printf ("from %s: others can write to it", folder);

  g_test_summary ("Nothing in it is listed, and who misses something is told why");
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autoptr (SandboxRegistry) registry = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (g_chmod (folder, modes[i]), ==, 0);
      registry = open_folder (folder);
      assert_names (registry, "");
      g_assert_null (sandbox_registry_create_backend (registry, "good", NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
      g_assert_nonnull (strstr (error->message, reason));
      sandbox_registry_add_search_path (registry, folder);
      assert_names (registry, "");
    }

  g_assert_cmpint (g_chmod (folder, 0755), ==, 0);
  {
    g_autoptr (SandboxRegistry) registry = open_folder (folder);

    assert_names (registry, "good");
  }

  remove_folder (folder);
}

static void
test_trust_ancestor (void)
{
  const struct
  {
    mode_t      mode;
    const char *names;
  } cases[] = { { 0777, "" }, { 0757, "" }, { 01777, "good" }, { 0755, "good" } };
  g_autofree char *above = make_folder ();
  g_autofree char *folder = g_build_filename (above, "modules", NULL);
  g_autofree char *file = NULL;

  g_test_summary ("A folder that others could replace, as they can write to the one above it, is not believed");

  g_assert_cmpint (g_mkdir (folder, 0755), ==, 0);
  file = write_manifest (folder, "good", "backend", 1);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SandboxRegistry) registry = NULL;

      g_assert_cmpint (g_chmod (above, cases[i].mode), ==, 0);
      registry = open_folder (folder);
      assert_names (registry, cases[i].names);
    }

  remove_folder (folder);
  g_assert_cmpint (g_rmdir (above), ==, 0);
}

static void
test_trust_manifest (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *group = write_manifest (folder, "group", "backend", 1);
  g_autofree char *world = write_manifest (folder, "world", "backend", 1);
  g_autoptr (SandboxRegistry) registry = NULL;

  g_assert_cmpint (g_chmod (group, 0664), ==, 0);
  g_assert_cmpint (g_chmod (world, 0646), ==, 0);
  registry = open_folder (folder);
  assert_names (registry, "group world");
  assert_broken (registry, "group", group, "others can write");
  assert_broken (registry, "world", world, "others can write");

  remove_folder (folder);
}

static void
test_trust_library (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *manifest = write_manifest (folder, "good", "backend", 1);
  g_autofree char *library = write_file (folder, "libgood.so", "not even a library");
  g_autoptr (SandboxRegistry) registry = open_folder (folder);

  g_test_summary ("A library that others can write to is not opened");
  g_assert_cmpint (g_chmod (library, 0664), ==, 0);
  assert_broken (registry, "good", library, "others can write");

  remove_folder (folder);
}

static void
test_trust_link (void)
{
  g_autofree char *open = make_folder ();
  g_autofree char *folder = make_folder ();
  g_autofree char *evil = write_manifest (open, "evil", "backend", 1);
  g_autofree char *link = g_build_filename (folder, "evil.sandbox-module", NULL);
  g_autofree char *good = write_manifest (folder, "good", "backend", 2);
  g_autofree char *library = write_file (open, "libevil.so", "not even a library");
  g_autofree char *library_link = g_build_filename (folder, "libgood.so", NULL);
  g_autoptr (SandboxRegistry) registry = NULL;

  g_test_summary ("A link leads to where the file is, and that folder counts");
  g_assert_cmpint (symlink (evil, link), ==, 0);
  g_assert_cmpint (symlink (library, library_link), ==, 0);
  g_assert_cmpint (g_chmod (open, 0777), ==, 0);
  registry = open_folder (folder);
  assert_names (registry, "good evil");
  assert_broken (registry, "evil", link, "others can write");
  assert_broken (registry, "good", library_link, "others can write");

  remove_folder (open);
  remove_folder (folder);
}

static void
test_trust_owner (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *manifest = write_manifest (folder, "manifest", "backend", 2);
  g_autofree char *good = write_manifest (folder, "good", "backend", 1);
  g_autofree char *library = write_file (folder, "libgood.so", "not even a library");
  g_autoptr (SandboxRegistry) registry = NULL;
  g_autoptr (SandboxRegistry) foreign = NULL;

  g_test_summary ("What belongs to another user is not believed, even by root");
  g_assert_cmpint (chown (manifest, 12345, 0), ==, 0);
  g_assert_cmpint (chown (library, 12345, 0), ==, 0);
  registry = open_folder (folder);
  assert_names (registry, "good manifest");
  assert_broken (registry, "manifest", manifest, "another user");
  assert_broken (registry, "good", library, "another user");

  g_assert_cmpint (chown (folder, 12345, 0), ==, 0);
  foreign = open_folder (folder);
  assert_names (foreign, "");

  remove_folder (folder);
}

/* ---- Types and picks ---- */

static void
record_change_cb (GListModel *model,
                  guint       position,
                  guint       removed,
                  guint       added,
                  gpointer    user_data)
{
  g_string_append_printf (user_data, "%u-%u+%u ", position, removed, added);
}

static void
test_add_type (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *one = write_manifest (folder, "one", "backend", 1);
  g_autofree char *two = write_manifest (folder, "two", "backend", 2);
  g_autoptr (SandboxRegistry) registry = open_nothing ();
  g_autoptr (SandboxBackendInfo) info = NULL;
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GString) changes = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  g_signal_connect (registry, "items-changed", G_CALLBACK (record_change_cb), changes);
  g_assert_true (sandbox_registry_add_type (registry, "full", 5, full_backend_get_type (), &error));
  g_assert_no_error (error);
  sandbox_registry_add_search_path (registry, folder);
  sandbox_registry_add_search_path (registry, folder);
  g_assert_cmpstr (changes->str, ==, "0-0+1 0-1+3 ");
  assert_names (registry, "full two one");

  info = sandbox_registry_lookup (registry, "full");
  g_assert_cmpint (sandbox_backend_info_get_priority (info), ==, 5);
  g_assert_cmpstr (sandbox_backend_info_get_kind (info), ==, "backend");
  g_assert_null (sandbox_backend_info_get_file (info));
  g_assert_null (sandbox_backend_info_get_description (info));
  g_assert_no_error (sandbox_backend_info_get_load_error (info));

  backend = sandbox_registry_create_backend (registry, "full", "/state", &error);
  g_assert_no_error (error);
  g_assert_true (G_OBJECT_TYPE (backend) == full_backend_get_type ());
  g_assert_cmpstr (sandbox_backend_get_name (backend), ==, "full");
  g_assert_cmpstr (sandbox_backend_get_state_directory (backend), ==, "/state");

  remove_folder (folder);
}

static void
test_add_type_refused (void)
{
  static const char *const names[] = { "", "Full", "a/b", "a b", "ä", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
  const GType              types[] = { SANDBOX_TYPE_BACKEND, test_backend_get_type (), G_TYPE_OBJECT, G_TYPE_STRING, G_TYPE_INVALID };
  g_autoptr (SandboxRegistry) registry = open_nothing ();
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_assert_false (sandbox_registry_add_type (registry, names[i], 0, full_backend_get_type (), &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_clear_error (&error);
    }

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_assert_false (sandbox_registry_add_type (registry, "name", 0, types[i], &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_clear_error (&error);
    }

  g_assert_true (sandbox_registry_add_type (registry, "name", 0, full_backend_get_type (), NULL));
  g_assert_false (sandbox_registry_add_type (registry, "name", 9, weak_backend_get_type (), &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);
  assert_names (registry, "name");
}

static void
assert_pick (SandboxRegistry *registry,
             const char      *name)
{
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  backend = sandbox_registry_create_backend (registry, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (sandbox_backend_get_name (backend), ==, name);
  g_assert_null (sandbox_backend_get_state_directory (backend));
}

static void
assert_no_pick (SandboxRegistry *registry,
                const char      *name,
                SandboxError     code)
{
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  backend = sandbox_registry_create_backend (registry, name, NULL, &error);
  g_assert_null (backend);
  g_assert_error (error, SANDBOX_ERROR, (int) code);
  g_test_message ("%s", error->message);
}

static void
test_pick (void)
{
  g_autoptr (SandboxRegistry) registry = open_nothing ();
  g_autoptr (SandboxBackend) backend = NULL;

  assert_no_pick (registry, NULL, SANDBOX_ERROR_NOT_FOUND);
  g_assert_true (sandbox_registry_add_type (registry, "dead", -1, dead_backend_get_type (), NULL));
  assert_no_pick (registry, NULL, SANDBOX_ERROR_NOT_FOUND);
  assert_no_pick (registry, "nobody", SANDBOX_ERROR_NOT_FOUND);

  g_test_message ("What is never picked by itself can be named");
  backend = sandbox_registry_create_backend (registry, "dead", NULL, NULL);
  g_assert_nonnull (backend);

  g_assert_true (sandbox_registry_add_type (registry, "weak", 0, weak_backend_get_type (), NULL));
  assert_pick (registry, "weak");
  g_assert_true (sandbox_registry_add_type (registry, "full", 1, full_backend_get_type (), NULL));
  assert_pick (registry, "full");
}

static void
test_pick_broken (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *broken = write_file (folder, "broken.sandbox-module", "[Module]\nKind=backend\nPriority=500\n");
  g_autofree char *lost = write_file (folder, "lost.sandbox-module", "[Module]\nKind=backend\n");
  g_autofree char *tool = write_file (folder, "odd.sandbox-module", "[Module]\nKind=tool\nPriority=900\n");
  g_autoptr (SandboxRegistry) registry = open_folder (folder);

  g_test_summary ("A broken backend of the highest priority is an error, not a reason to take a weaker one");
  assert_no_pick (registry, NULL, SANDBOX_ERROR_MODULE);
  g_assert_true (sandbox_registry_add_type (registry, "weak", 100, weak_backend_get_type (), NULL));
  assert_no_pick (registry, NULL, SANDBOX_ERROR_MODULE);
  g_assert_true (sandbox_registry_add_type (registry, "full", 501, full_backend_get_type (), NULL));
  assert_pick (registry, "full");

  remove_folder (folder);
}

static void
test_pick_kinds (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *gateway = write_manifest (folder, "gateway", "gateway", 900);
  g_autofree char *tool = write_manifest (folder, "tool", "tool", 900);
  g_autoptr (SandboxRegistry) registry = open_folder (folder);
  g_autoptr (SandboxBackendInfo) info = sandbox_registry_lookup (registry, "gateway");

  g_test_summary ("Modules of other kinds are listed, and are no backends");
  assert_names (registry, "gateway tool");
  g_assert_cmpstr (sandbox_backend_info_get_kind (info), ==, "gateway");
  assert_no_pick (registry, "gateway", SANDBOX_ERROR_INVALID);
  assert_no_pick (registry, "tool", SANDBOX_ERROR_INVALID);
  assert_no_pick (registry, NULL, SANDBOX_ERROR_NOT_FOUND);

  remove_folder (folder);
}

static void
test_pick_environment (void)
{
  g_autoptr (SandboxRegistry) registry = open_nothing ();

  g_assert_true (sandbox_registry_add_type (registry, "full", 10, full_backend_get_type (), NULL));
  g_assert_true (sandbox_registry_add_type (registry, "weak", -1, weak_backend_get_type (), NULL));

  g_assert_true (g_setenv ("SANDBOX_BACKEND", "weak", TRUE));
  assert_pick (registry, "weak");
  g_assert_true (g_setenv ("SANDBOX_BACKEND", "nobody", TRUE));
  assert_no_pick (registry, NULL, SANDBOX_ERROR_NOT_FOUND);
  g_assert_true (g_setenv ("SANDBOX_BACKEND", "", TRUE));
  assert_pick (registry, "full");
  g_unsetenv ("SANDBOX_BACKEND");
  assert_pick (registry, "full");
}

/* ---- Gateways ---- */

static void
assert_no_gateway (SandboxRegistry *registry,
                   int              code,
                   const char      *reason)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxBackend) backend = sandbox_registry_create_backend (registry, "full", NULL, &error);

  g_assert_no_error (error);
  g_assert_null (sandbox_backend_make_gateway (backend, &error));
  g_assert_error (error, SANDBOX_ERROR, code);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, reason));
}

static void
test_gateway_none (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *unwanted = write_manifest (folder, "unwanted", "gateway", -1);
  g_autofree char *tool = write_manifest (folder, "tool", "tool", 900);
  g_autoptr (SandboxRegistry) registry = open_folder (folder);
  g_autoptr (SandboxBackend) backend = g_object_new (full_backend_get_type (), NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Without a gateway that may be taken, the error says what to install");
  g_assert_true (sandbox_registry_add_type (registry, "full", 10, full_backend_get_type (), NULL));
  assert_no_gateway (registry, SANDBOX_ERROR_NETWORK_DENIED, "install one");
  assert_no_gateway (registry, SANDBOX_ERROR_NETWORK_DENIED, "unwanted");

  g_assert_null (sandbox_backend_make_gateway (backend, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  g_assert_nonnull (strstr (error->message, "FullBackend was not made by a registry"));

  remove_folder (folder);
}

static void
test_gateway_broken (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *best = write_manifest (folder, "best", "gateway", 900);
  g_autofree char *other = write_manifest (folder, "other", "gateway", 800);
  g_autoptr (SandboxRegistry) registry = open_folder (folder);
  g_autoptr (SandboxBackendInfo) first = sandbox_registry_lookup (registry, "best");
  g_autoptr (SandboxBackendInfo) second = sandbox_registry_lookup (registry, "other");

  g_test_summary ("The gateway of the highest priority is the one, also when it is broken, and never before it is needed");
  g_assert_true (sandbox_registry_add_type (registry, "full", 10, full_backend_get_type (), NULL));
  assert_pick (registry, "full");
  g_assert_no_error (sandbox_backend_info_get_load_error (first));
  assert_no_gateway (registry, SANDBOX_ERROR_MODULE, "libbest.so");
  assert_no_gateway (registry, SANDBOX_ERROR_MODULE, "libbest.so");
  g_assert_error (sandbox_backend_info_get_load_error (first), SANDBOX_ERROR, SANDBOX_ERROR_MODULE);
  g_assert_no_error (sandbox_backend_info_get_load_error (second));
  assert_pick (registry, "full");

  remove_folder (folder);
}

static gpointer
find_in_thread (gpointer data)
{
  return sandbox_registry_find_backend (data, SANDBOX_RESTRICTIONS_NONE, NULL, NULL, NULL);
}

static void
test_gateway_found (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *best = write_manifest (folder, "best", "gateway", 900);
  SandboxRegistry *registry = open_folder (folder);
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A backend that was found knows its registry as well, and keeps it");
  g_assert_true (sandbox_registry_add_type (registry, "full", 10, full_backend_get_type (), NULL));
  backend = g_thread_join (g_thread_new ("find", find_in_thread, registry));
  g_assert_nonnull (backend);
  g_object_unref (registry);
  g_assert_null (sandbox_backend_make_gateway (backend, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);

  remove_folder (folder);
}

/* ---- Finding ---- */

static SandboxRegistry *
open_types (const char *names)
{
  g_auto (GStrv) parts = g_strsplit (names, " ", -1);
  SandboxRegistry *registry = open_nothing ();

  for (guint i = 0; parts[i] != NULL; i++)
    {
      GType type = G_TYPE_INVALID;

      if (g_str_equal (parts[i], "full"))
        type = full_backend_get_type ();
      else if (g_str_equal (parts[i], "weak"))
        type = weak_backend_get_type ();
      else if (g_str_equal (parts[i], "dead"))
        type = dead_backend_get_type ();
      else if (g_str_equal (parts[i], "sick"))
        type = sick_backend_get_type ();

      /* In the order given */
      g_assert_true (sandbox_registry_add_type (registry, parts[i], 100 - i, type, NULL));
    }

  n_probes = 0;

  return registry;
}

static void
test_find (void)
{
  static const struct
  {
    const char         *names;
    SandboxRestrictions required;
    const char         *found;
    SandboxError        code;
    guint               n_probes;
  } rows[] = {
    { "full weak", ALL_RESTRICTIONS, "full", 0, 1 },
    { "weak full", SANDBOX_RESTRICTIONS_NONE, "weak", 0, 1 },
    { "weak full", SANDBOX_RESTRICTIONS_WRITE_CONTAINED, "weak", 0, 1 },
    { "weak full", SANDBOX_RESTRICTIONS_NETWORK_DENIED, "full", 0, 2 },
    { "dead sick full", ALL_RESTRICTIONS, "full", 0, 3 },
    { "dead sick", SANDBOX_RESTRICTIONS_NONE, NULL, SANDBOX_ERROR_UNAVAILABLE, 2 },
    { "dead weak", SANDBOX_RESTRICTIONS_NETWORK_DENIED, NULL, SANDBOX_ERROR_NOT_SUPPORTED, 2 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (SandboxRegistry) registry = open_types (rows[i].names);
      g_autoptr (SandboxBackend) backend = NULL;
      g_autoptr (GError) error = NULL;

      backend = sandbox_registry_find_backend (registry, rows[i].required, "/state", NULL, &error);
      g_assert_cmpuint (n_probes, ==, rows[i].n_probes);
      if (rows[i].found != NULL)
        {
          g_assert_no_error (error);
          g_assert_cmpstr (sandbox_backend_get_name (backend), ==, rows[i].found);
          g_assert_cmpstr (sandbox_backend_get_state_directory (backend), ==, "/state");
        }
      else
        {
          g_assert_null (backend);
          g_assert_error (error, SANDBOX_ERROR, (int) rows[i].code);
        }
    }
}

static void
test_find_reasons (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *broken = write_file (folder, "broken.sandbox-module", "[Module]\nKind=backend\nPriority=500\n");
  g_autoptr (SandboxRegistry) registry = open_types ("dead sick weak");
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The error tells what is wrong with each one");
  sandbox_registry_add_search_path (registry, folder);
  backend = sandbox_registry_find_backend (registry, ALL_RESTRICTIONS, NULL, NULL, &error);
  g_assert_null (backend);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, broken));
  g_assert_nonnull (strstr (error->message, "dead: no kernel for it"));
  g_assert_nonnull (strstr (error->message, "sick: the probe fell over"));
  g_assert_nonnull (strstr (error->message, "weak: it does not enforce network-denied secrets-hidden process-contained"));

  remove_folder (folder);
}

static void
test_find_environment (void)
{
  g_autoptr (SandboxRegistry) registry = open_types ("full dead");
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("What the environment names is the only one that is tried");
  g_assert_true (g_setenv ("SANDBOX_BACKEND", "dead", TRUE));
  backend = sandbox_registry_find_backend (registry, SANDBOX_RESTRICTIONS_NONE, NULL, NULL, &error);
  g_unsetenv ("SANDBOX_BACKEND");
  g_assert_null (backend);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_assert_cmpuint (n_probes, ==, 1);
}

static void
test_find_nothing (void)
{
  g_autoptr (SandboxRegistry) registry = open_nothing ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_registry_add_type (registry, "full", -1, full_backend_get_type (), NULL));
  backend = sandbox_registry_find_backend (registry, SANDBOX_RESTRICTIONS_NONE, NULL, NULL, &error);
  g_assert_null (backend);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static void
find_cb (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  GAsyncResult **answer = user_data;

  *answer = g_object_ref (result);
}

static void
test_find_cancelled (void)
{
  g_autoptr (SandboxRegistry) registry = open_types ("dead full");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Cancelled before the call and between two probes");
  sandbox_registry_find_backend_async (registry, SANDBOX_RESTRICTIONS_NONE, NULL, cancellable, find_cb, &result);
  g_assert_null (result);
  g_assert_cmpuint (n_probes, ==, 1);
  g_cancellable_cancel (cancellable);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  backend = sandbox_registry_find_backend_finish (registry, result, &error);
  g_assert_null (backend);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (n_probes, ==, 1);

  g_clear_error (&error);
  backend = sandbox_registry_find_backend (registry, SANDBOX_RESTRICTIONS_NONE, NULL, cancellable, &error);
  g_assert_null (backend);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (n_probes, ==, 1);
}

static void
test_find_async (void)
{
  g_autoptr (SandboxRegistry) registry = open_types ("dead full");
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  sandbox_registry_find_backend_async (registry, ALL_RESTRICTIONS, NULL, NULL, find_cb, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  backend = sandbox_registry_find_backend_finish (registry, result, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (sandbox_backend_get_name (backend), ==, "full");
  g_clear_object (&result);
  g_assert_finalize_object (g_steal_pointer (&backend));
}

static void
test_default (void)
{
  g_assert_true (SANDBOX_IS_REGISTRY (sandbox_registry_get_default ()));
  g_assert_true (sandbox_registry_get_default () == sandbox_registry_get_default ());
}

int
main (int    argc,
      char **argv)
{
  g_unsetenv ("SANDBOX_BACKEND");
  g_unsetenv ("SANDBOX_MODULE_PATH");
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/registry/list", test_list);
  g_test_add_func ("/registry/broken-manifests", test_broken_manifests);
  g_test_add_func ("/registry/order", test_order);
  g_test_add_func ("/registry/broken-shadows", test_broken_shadows);
  g_test_add_func ("/registry/default", test_default);
  g_test_add_func ("/registry/trust/stat", test_trust_stat);
  g_test_add_func ("/registry/trust/variable", test_trust_variable);
  g_test_add_func ("/registry/trust/split", test_trust_split);
  g_test_add_func ("/registry/trust/environment", test_trust_environment);
  g_test_add_func ("/registry/trust/folder", test_trust_folder);
  g_test_add_func ("/registry/trust/ancestor", test_trust_ancestor);
  g_test_add_func ("/registry/trust/manifest", test_trust_manifest);
  g_test_add_func ("/registry/trust/library", test_trust_library);
  g_test_add_func ("/registry/trust/link", test_trust_link);
  if (geteuid () == 0)
    g_test_add_func ("/registry/trust/owner", test_trust_owner);
  g_test_add_func ("/registry/add-type", test_add_type);
  g_test_add_func ("/registry/add-type-refused", test_add_type_refused);
  g_test_add_func ("/registry/pick", test_pick);
  g_test_add_func ("/registry/pick-broken", test_pick_broken);
  g_test_add_func ("/registry/pick-kinds", test_pick_kinds);
  g_test_add_func ("/registry/pick-environment", test_pick_environment);
  g_test_add_func ("/registry/gateway-none", test_gateway_none);
  g_test_add_func ("/registry/gateway-broken", test_gateway_broken);
  g_test_add_func ("/registry/gateway-found", test_gateway_found);
  g_test_add_func ("/registry/find", test_find);
  g_test_add_func ("/registry/find-reasons", test_find_reasons);
  g_test_add_func ("/registry/find-environment", test_find_environment);
  g_test_add_func ("/registry/find-nothing", test_find_nothing);
  g_test_add_func ("/registry/find-cancelled", test_find_cancelled);
  g_test_add_func ("/registry/find-async", test_find_async);

  return g_test_run ();
}
