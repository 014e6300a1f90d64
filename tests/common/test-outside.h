/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What must never be touched: made before a test, and looked at before and after. */
#pragma once

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#define MARKER "the marker outside"

/* Its names are some that the tests have inside too, so that a step too far finds something. */
static inline void
test_make_outside (const char *path)
{
  const char *const names[] = { "secret", "x", "y" };
  g_autofree char  *sub = g_build_filename (path, "sub", NULL);

  g_assert_cmpint (g_mkdir (path, 0755), ==, 0);
  g_assert_cmpint (g_mkdir (sub, 0500), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *file = g_build_filename (path, names[i], NULL);

      g_assert_true (g_file_set_contents (file, MARKER, -1, NULL));
    }
}

/* All that is known of a tree but times of access. */
static inline void
test_describe (GString    *string,
               const char *path)
{
  struct stat st;

  g_assert_cmpint (lstat (path, &st), ==, 0);
  g_string_append_printf (string, "%s %o %u %u %" G_GUINT64_FORMAT " %" G_GINT64_FORMAT ".%09ld %" G_GINT64_FORMAT,
                          path, st.st_mode, st.st_uid, st.st_gid, (guint64) st.st_ino,
                          (gint64) st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (gint64) st.st_size);
  if (S_ISREG (st.st_mode))
    {
      g_autofree char *content = NULL;

      g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
      g_string_append_printf (string, " %s", content);
    }
  g_string_append_c (string, '\n');

  if (S_ISDIR (st.st_mode))
    {
      g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
      const char *name;

      g_assert_nonnull (dir);
      while ((name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *child = g_build_filename (path, name, NULL);

          test_describe (string, child);
        }
    }
}

static inline char *
test_look_outside (const char *path)
{
  GString *string = g_string_new (NULL);

  test_describe (string, path);

  return g_string_free (string, FALSE);
}
