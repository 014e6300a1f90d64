/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A store in a directory of its own, and what tests do with it. */
#pragma once

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox-error.h"
#include "sandbox-store-private.h"
#include "../common/test-helpers.h"

/* Whose the files are: a root host never keeps them as its own. */
#define OWNER (geteuid () == 0 ? 61184 : geteuid ())

typedef struct
{
  char         *top;
  char         *state;
  SandboxStore *store;
  guint         n_descriptors;
} Fixture;

static inline SandboxStore *
open_store (const char *state,
            const char *backend)
{
  g_autoptr (GError) error = NULL;
  SandboxStore *store = sandbox_store_new (state, backend, OWNER, OWNER, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (store);

  return store;
}

static inline void
fixture_set_up (Fixture      *fixture,
                gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  fixture->n_descriptors = test_count_descriptors ();
  fixture->top = g_dir_make_tmp ("sandbox-store-XXXXXX", &error);
  g_assert_no_error (error);
  fixture->state = g_build_filename (fixture->top, "state", NULL);
  fixture->store = open_store (fixture->state, "backend");
}

static inline void
fixture_tear_down (Fixture      *fixture,
                   gconstpointer unused)
{
  g_clear_pointer (&fixture->store, sandbox_store_unref);
  test_remove_tree (fixture->top);
  g_clear_pointer (&fixture->state, g_free);
  g_clear_pointer (&fixture->top, g_free);
  test_assert_descriptors (fixture->n_descriptors);
}

static inline guint
count_below (Fixture    *fixture,
             const char *name)
{
  g_autofree char *path = g_build_filename (fixture->state, "backend", name, NULL);

  return test_count_entries (path);
}

static inline guint
count_aside (Fixture *fixture)
{
  return count_below (fixture, "aside");
}

static inline guint
count_templates (Fixture *fixture)
{
  return count_below (fixture, "templates");
}

static inline guint
count_sessions (Fixture *fixture)
{
  return count_below (fixture, "sessions");
}

static inline SandboxFileSet *
make_files (void)
{
  g_autoptr (SandboxFileSet) set = sandbox_file_set_new ();
  g_autoptr (GBytes) text = g_bytes_new_static ("text", 4);
  g_autoptr (GBytes) empty = g_bytes_new_static ("", 0);
  g_autofree char *path = g_dir_make_tmp ("sandbox-given-XXXXXX", NULL);
  g_autofree char *tool = g_build_filename (path, "tool", NULL);
  g_autofree char *link = g_build_filename (path, "link", NULL);
  g_autofree char *hollow = g_build_filename (path, "hollow", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (tool);
  g_autoptr (GError) error = NULL;
  SandboxFileSet *frozen = NULL;

  g_assert_true (g_file_set_contents (tool, "#!", 2, NULL));
  g_assert_cmpint (chmod (tool, 0700), ==, 0);
  g_assert_cmpint (symlink ("tool", link), ==, 0);
  g_assert_cmpint (g_mkdir (hollow, 0700), ==, 0);

  sandbox_file_set_add (set, "a", text);
  sandbox_file_set_add (set, "d/e/empty", empty);
  sandbox_file_set_add (set, "d/quote\"\\x5c\\xff", text);
  sandbox_file_set_add (set, "d/\x1f\x01\x7f", empty);
  {
    g_autoptr (GFile) directory = g_file_new_for_path (path);

    g_assert_true (sandbox_file_set_add_directory (set, "given", directory, &error));
    g_assert_no_error (error);
  }
  frozen = sandbox_file_set_freeze (set);
  /* Its files are read when the set is used. */
  g_object_set_data_full (G_OBJECT (frozen), "given", g_steal_pointer (&path), g_free);

  return frozen;
}

static inline void
free_files (SandboxFileSet *files)
{
  test_remove_tree (g_object_get_data (G_OBJECT (files), "given"));
  g_assert_finalize_object (files);
}

static inline SandboxTemplate *
prewarm (SandboxStore   *store,
         SandboxFileSet *files)
{
  g_autoptr (GError) error = NULL;
  SandboxTemplate *made = sandbox_store_prewarm (store, "name", files, NULL, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (made);

  return made;
}

static inline void
assert_sound (SandboxStore *store,
              const char   *key)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxTemplate) found = sandbox_store_verify (store, key, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (sandbox_template_get_key (found), ==, key);
  g_assert_cmpstr (sandbox_template_get_name (found), ==, "name");
}

/* How a child ends that has done all that it had to: nothing looks at its copies of what the parent has. */
static inline void
child_end (void)
{
  kill (getpid (), SIGKILL);
}

static inline void
child_wait (pid_t child)
{
  int status = 0;

  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);
}

static inline gboolean
write_text (const char *path,
            const char *text)
{
  int     fd = open (path, O_WRONLY | O_CLOEXEC);
  ssize_t size = fd >= 0 ? write (fd, text, strlen (text)) : -1;

  close (fd);

  return size == (ssize_t) strlen (text);
}

/* Mounts of its own for this process, in which it is still the user that it was. */
static inline gboolean
enter_namespace (void)
{
  guint            uid = geteuid ();
  guint            gid = getegid ();
  g_autofree char *uids = g_strdup_printf ("%u %u 1\n", uid, uid);
  g_autofree char *gids = g_strdup_printf ("%u %u 1\n", gid, gid);

  if (unshare (uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
    return FALSE;
  if (uid != 0 && (!write_text ("/proc/self/uid_map", uids) || !write_text ("/proc/self/setgroups", "deny") ||
                   !write_text ("/proc/self/gid_map", gids)))
    return FALSE;

  return mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0;
}

static inline int
compare_names (gconstpointer a,
               gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* What a tree has, but for times and numbers of its files. */
static inline void
describe_tree (GString    *text,
               const char *top,
               const char *path)
{
  g_autofree char *place = g_build_filename (top, path, NULL);
  struct stat      st;

  g_assert_cmpint (lstat (place, &st), ==, 0);
  g_string_append_printf (text, "%s %o %u %u", path, st.st_mode, st.st_uid, st.st_gid);
  if (S_ISREG (st.st_mode))
    {
      g_autofree char *content = NULL;
      g_autofree char *digest = NULL;
      gsize            size = 0;

      g_assert_true (g_file_get_contents (place, &content, &size, NULL));
      digest = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) content, size);
      g_string_append_printf (text, " %s", digest);
    }
  if (S_ISLNK (st.st_mode))
    {
      char target[256] = "";

      g_assert_cmpint (readlink (place, target, sizeof target - 1), >, 0);
      g_string_append_printf (text, " %s", target);
    }
  g_string_append_c (text, '\n');

  if (S_ISDIR (st.st_mode))
    {
      g_autoptr (GDir) dir = g_dir_open (place, 0, NULL);
      g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
      const char *name = NULL;

      g_assert_nonnull (dir);
      while ((name = g_dir_read_name (dir)) != NULL)
        g_ptr_array_add (names, path[0] != '\0' ? g_build_filename (path, name, NULL) : g_strdup (name));
      g_ptr_array_sort (names, compare_names);
      for (guint i = 0; i < names->len; i++)
        describe_tree (text, top, names->pdata[i]);
    }
}

static inline void
assert_same_tree (const char *a,
                  const char *b)
{
  g_autoptr (GString) first = g_string_new (NULL);
  g_autoptr (GString) second = g_string_new (NULL);

  describe_tree (first, a, "");
  describe_tree (second, b, "");
  g_assert_cmpstr (first->str, ==, second->str);
}

/* The same, and nothing can be changed but what is below the directory for temporary files, which is empty and in memory. For
 * root, and before there are threads. */
static inline gboolean
enter_read_only (void)
{
  struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY };

  return enter_namespace () &&
         syscall (SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) == 0 &&
         mount ("tmpfs", g_get_tmp_dir (), "tmpfs", 0, "mode=1777") == 0;
}
