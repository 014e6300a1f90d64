/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a fuzz target over its seeds, where no libFuzzer does: each file of the folders given is one test. */

#include <glib.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
test_seed (gconstpointer user_data)
{
  const char         *path = user_data;
  g_autofree char    *data = NULL;
  g_autofree uint8_t *exact = NULL;
  g_autoptr (GError) error = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (path, &data, &size, &error));
  g_assert_no_error (error);

  /* Without the byte that GLib appends, so that a read past the end is seen. */
  exact = g_malloc (MAX (size, 1));
  memcpy (exact, data, size);
  g_assert_cmpint (LLVMFuzzerTestOneInput (exact, size), ==, 0);
}

static void
add_seeds (const char *folder)
{
  g_autoptr (GDir) dir = NULL;
  g_autoptr (GError) error = NULL;
  const char *name;
  guint       n_seeds = 0;

  dir = g_dir_open (folder, 0, &error);
  g_assert_no_error (error);

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *test = g_strdup_printf ("/seeds/%s", name);

      g_test_add_data_func_full (test, g_build_filename (folder, name, NULL), test_seed, g_free);
      n_seeds++;
    }

  g_assert_cmpuint (n_seeds, >, 0);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_assert_cmpint (argc, >, 1);
  for (int i = 1; i < argc; i++)
    add_seeds (argv[i]);

  return g_test_run ();
}
