/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-contained-private.h"
#include "sandbox-error.h"
#include "../common/test-helpers.h"
#include "../common/test-outside.h"

/* A workspace, and beside it what must never be touched: each test ends with a look at that, and at the
 * number of open descriptors. */

typedef struct
{
  char *top;
  char *inside;
  char *outside;
  int   root;
  char *before; /* what is outside */
  guint n_descriptors;
} Fixture;

/* For the next fixture: one with many entries is made in memory, as a disk takes minutes over them. */
static gboolean fixture_in_memory;

static inline char *
fixture_make_top (void)
{
  g_autofree char *template = g_strdup ("/dev/shm/sandbox-workspace-XXXXXX");
  g_autoptr (GError) error = NULL;
  char *top = NULL;

  if (fixture_in_memory && g_mkdtemp (template) != NULL)
    return g_steal_pointer (&template);

  top = g_dir_make_tmp ("sandbox-workspace-XXXXXX", &error);
  g_assert_no_error (error);

  return top;
}

static inline void
fixture_set_up (Fixture      *fixture,
                gconstpointer walk)
{

  sandbox_contained_always_walk = GPOINTER_TO_INT (walk);
  fixture->n_descriptors = test_count_descriptors ();
  fixture->top = fixture_make_top ();
  fixture->inside = g_build_filename (fixture->top, "inside", NULL);
  fixture->outside = g_build_filename (fixture->top, "outside", NULL);
  g_assert_cmpint (g_mkdir (fixture->inside, 0755), ==, 0);
  test_make_outside (fixture->outside);

  fixture->root = open (fixture->inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (fixture->root, >=, 0);
  fixture->before = test_look_outside (fixture->outside);
}

static inline void
fixture_tear_down (Fixture      *fixture,
                   gconstpointer walk)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *after = test_look_outside (fixture->outside);
  g_autofree char *name = g_path_get_basename (fixture->top);
  g_autofree char *place = g_path_get_dirname (fixture->top);
  int              parent = open (place, O_PATH | O_DIRECTORY | O_CLOEXEC);

  g_assert_cmpstr (after, ==, fixture->before);

  close (fixture->root);
  sandbox_contained_remove (parent, name, SANDBOX_REMOVE_FLAGS_RECURSIVE, NULL, NULL, &error);
  g_assert_no_error (error);
  close (parent);
  test_assert_descriptors (fixture->n_descriptors);
  sandbox_contained_always_walk = FALSE;

  g_free (fixture->top);
  g_free (fixture->inside);
  g_free (fixture->outside);
  g_free (fixture->before);
}

/* FALSE once the rest of the test has been run by a process of its own. */
static inline gboolean
fixture_is_subprocess (Fixture *fixture)
{
  guint n_descriptors = test_count_descriptors ();

  if (g_test_subprocess ())
    return TRUE;

  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
  /* GLib may have begun to watch children, and goes on with that. */
  fixture->n_descriptors += test_count_descriptors () - n_descriptors;

  return FALSE;
}

/* What a guest does, by plain calls. */

static inline void
guest_make_file (Fixture    *fixture,
                 const char *path,
                 const char *content)
{
  int    fd = openat (fixture->root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  size_t size = strlen (content);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, content, size), ==, (ssize_t) size);
  g_assert_cmpint (close (fd), ==, 0);
}

static inline void
guest_make_directory (Fixture    *fixture,
                      const char *path)
{
  g_assert_cmpint (mkdirat (fixture->root, path, 0755), ==, 0);
}

static inline void
guest_make_link (Fixture    *fixture,
                 const char *target,
                 const char *path)
{
  g_assert_cmpint (symlinkat (target, fixture->root, path), ==, 0);
}

static inline gboolean
guest_has (Fixture    *fixture,
           const char *path)
{
  struct stat st;

  return fstatat (fixture->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline mode_t
guest_get_mode (Fixture    *fixture,
                const char *path)
{
  struct stat st;

  g_assert_cmpint (fstatat (fixture->root, path, &st, AT_SYMLINK_NOFOLLOW), ==, 0);

  return st.st_mode & 07777;
}

static inline void
guest_assert_content (Fixture    *fixture,
                      const char *path,
                      const char *content)
{
  char    buffer[4096];
  int     fd = openat (fixture->root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  ssize_t length;

  g_assert_cmpint (fd, >=, 0);
  length = read (fd, buffer, sizeof buffer - 1);
  g_assert_cmpint (length, >=, 0);
  close (fd);
  buffer[length] = '\0';
  g_assert_cmpstr (buffer, ==, content);
}

/* How many entries a directory has, those with a leading dot too. */
static inline guint
guest_count (Fixture    *fixture,
             const char *path)
{
  int   fd = openat (fixture->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR  *dir = fdopendir (fd);
  guint count = 0;

  g_assert_nonnull (dir);
  while (readdir (dir) != NULL)
    count++;
  closedir (dir);

  return count - 2;
}

/* Mounts are only to be had in a namespace of our own. */
static inline void
guest_enter_mount_namespace (Fixture *fixture)
{
  uid_t uid = geteuid ();
  gid_t gid = getegid ();

  if (uid != 0)
    {
      g_autofree char  *uid_map = g_strdup_printf ("%u %u 1", uid, uid);
      g_autofree char  *gid_map = g_strdup_printf ("%u %u 1", gid, gid);
      const char *const files[] = { "setgroups", "deny", "uid_map", uid_map, "gid_map", gid_map };

      g_assert_cmpint (unshare (CLONE_NEWUSER | CLONE_NEWNS), ==, 0);
      for (gsize i = 0; i < G_N_ELEMENTS (files); i += 2)
        {
          g_autofree char *path = g_build_filename ("/proc/self", files[i], NULL);
          int              fd = open (path, O_WRONLY | O_CLOEXEC);

          g_assert_cmpint (fd, >=, 0);
          g_assert_cmpint (write (fd, files[i + 1], strlen (files[i + 1])), ==, (ssize_t) strlen (files[i + 1]));
          close (fd);
        }
    }
  else
    g_assert_cmpint (unshare (CLONE_NEWNS), ==, 0);
  g_assert_cmpint (mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), ==, 0);

  /* The old descriptor stays in the old namespace. */
  close (fixture->root);
  fixture->root = open (fixture->inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (fixture->root, >=, 0);
}
