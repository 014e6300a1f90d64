/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories of the host with long names: what is in them is reached by descriptors, so that no limit of a socket's or a
 * path's length is met half-way. Either it works, or create says what is wrong.
 */
#include "../common/test-sandbox.h"

#include <limits.h>

#define LONG_NAME 150
#define LONGER_NAME 3000
#define SEGMENT 200

/* A folder below @top whose path has at least @length characters */
static char *
make_long_folder (const char *top,
                  gsize       length)
{
  g_autoptr (GString) path = g_string_new (top);

  while (path->len < length)
    {
      gsize size = MIN (SEGMENT, MAX (length - path->len, 2) - 1);

      g_string_append_c (path, '/');
      for (gsize i = 0; i < size; i++)
        g_string_append_c (path, 'd');
      g_assert_cmpint (g_mkdir (path->str, 0700), ==, 0);
    }

  return g_string_free (g_steal_pointer (&path), FALSE);
}

/* The life of a session in @directory, or below the folder for temporary files when that is NULL */
static void
live (const char *directory)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxFileSet) files = sandbox_file_set_new ();
  g_autoptr (SandboxTemplate) template = NULL;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxCommand) command = test_command_new ("cat", "f", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static ("there", 5);
  g_autoptr (GError) error = NULL;

  backend = sandbox_registry_create_backend (registry, "bubblewrap", directory, &error);
  g_assert_no_error (error);
  sandbox_file_set_add (files, "f", bytes);
  template = sandbox_backend_prewarm (backend, "t", files, NULL, &error);
  g_assert_no_error (error);
  sandbox_create_options_set_template_key (options, sandbox_template_get_key (template));
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);
  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_no_error (error);
  test_assert_exited (result, 0);
  test_assert_output (result, "there");
  if (directory == NULL)
    {
      sandbox_handle_stop (handle, NULL, &error);
      g_assert_no_error (error);
      g_clear_object (&handle);
      g_clear_object (&backend);
      /* A thread of the library may be the last that lets go of it. */
      test_wait (test_count_entries (g_get_tmp_dir ()) == 0);
      return;
    }

  state = sandbox_handle_capture_state (handle, &error);
  g_assert_no_error (error);
  sandbox_handle_stop (handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&handle);
  sandbox_create_options_set_template_key (options, NULL);
  sandbox_create_options_set_state (options, state);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&result);
  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_no_error (error);
  test_assert_output (result, "there");
  sandbox_handle_delete (handle, NULL, &error);
  g_assert_no_error (error);
}

static void
test_state_directory (gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *top = g_dir_make_tmp ("places-XXXXXX", &error);
  g_autofree char *folder = make_long_folder (top, GPOINTER_TO_UINT (data));
  g_autofree char *directory = g_build_filename (folder, "state", NULL);

  g_test_summary ("Case 109: a state directory with a long path works");

  g_assert_no_error (error);
  live (directory);
  test_remove_tree (top);
}

static void
test_impossible (void)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autofree char *name = g_strnfill (PATH_MAX, 'd');
  g_autofree char *directory = g_build_filename (g_get_tmp_dir (), name, NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 109: a state directory that the kernel has no path for is an error of create, which says so");

  backend = sandbox_registry_create_backend (registry, "bubblewrap", directory, &error);
  g_assert_no_error (error);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_null (handle);
  g_assert_nonnull (error);
  g_assert_true (error->domain == SANDBOX_ERROR);
  g_assert_nonnull (strstr (error->message, g_strerror (ENAMETOOLONG)));
}

static void
test_temporary_host (void)
{
  live (NULL);
}

static void
test_temporary (gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *top = g_dir_make_tmp ("places-XXXXXX", &error);
  g_autofree char *folder = make_long_folder (top, GPOINTER_TO_UINT (data));
  g_autofree char *before = g_strdup (g_getenv ("TMPDIR"));

  g_test_summary ("Case 109: a folder for temporary files with a long path works, and nothing stays in it");

  g_assert_no_error (error);
  g_setenv ("TMPDIR", folder, TRUE);
  g_test_trap_subprocess ("/places/temporary/subprocess", 0, G_TEST_SUBPROCESS_DEFAULT);
  if (before != NULL)
    g_setenv ("TMPDIR", before, TRUE);
  else
    g_unsetenv ("TMPDIR");
  g_test_trap_assert_passed ();
  g_assert_cmpuint (test_count_entries (folder), ==, 0);
  test_remove_tree (top);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_data_func ("/places/state-directory/150", GUINT_TO_POINTER (LONG_NAME), test_state_directory);
  g_test_add_data_func ("/places/state-directory/3000", GUINT_TO_POINTER (LONGER_NAME), test_state_directory);
  g_test_add_func ("/places/state-directory/impossible", test_impossible);
  g_test_add_data_func ("/places/temporary/150", GUINT_TO_POINTER (LONG_NAME), test_temporary);
  g_test_add_data_func ("/places/temporary/3000", GUINT_TO_POINTER (LONGER_NAME), test_temporary);
  g_test_add_func ("/places/temporary/subprocess", test_temporary_host);

  return g_test_run ();
}
