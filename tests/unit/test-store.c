/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store-fixture.h"

static void
assert_refused (const char  *state,
                SandboxError code,
                const char  *word)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (sandbox_store_new (state, "backend", OWNER, OWNER, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, (int) code);
  g_assert_nonnull (strstr (error->message, word));
}

static void
test_state_directory (Fixture      *fixture,
                      gconstpointer unused)
{
  static const mode_t masks[] = { 0, 022, 0277 };

  g_test_summary ("What is made has mode 0700, whatever the umask, and its parents are made too (case 110)");

  for (guint i = 0; i < G_N_ELEMENTS (masks); i++)
    {
      g_autofree char *name = g_strdup_printf ("made-%u", i);
      g_autofree char *state = g_build_filename (fixture->top, name, NULL);
      g_autofree char *aside = g_build_filename (state, "backend", "aside", NULL);
      mode_t           before = umask (masks[i]);
      struct stat      st;

      sandbox_store_unref (open_store (state, "backend"));
      umask (before);
      g_assert_cmpint (stat (state, &st), ==, 0);
      g_assert_cmpuint (st.st_mode & 07777, ==, 0700);
      g_assert_cmpint (stat (aside, &st), ==, 0);
      g_assert_cmpuint (st.st_mode & 07777, ==, 0700);
    }
  {
    g_autofree char *deep = g_build_filename (fixture->top, "x", "y", "state", NULL);

    sandbox_store_unref (open_store (deep, "backend"));
  }
}

static void
test_unsafe (Fixture      *fixture,
             gconstpointer unused)
{
  g_autofree char *link = g_build_filename (fixture->top, "link", NULL);
  g_autofree char *slash = g_strconcat (link, "/", NULL);
  g_autofree char *file = g_build_filename (fixture->top, "file", NULL);
  g_autofree char *below = g_build_filename (file, "state", NULL);
  g_autofree char *backend = g_build_filename (fixture->state, "backend", NULL);
  g_autofree char *templates = g_build_filename (backend, "templates", NULL);
  g_autofree char *elsewhere = g_build_filename (fixture->top, "elsewhere", NULL);

  g_test_summary ("One that others could change or look into, a link and a file are refused with the reason (case 110)");

  assert_refused ("state", SANDBOX_ERROR_INVALID, "absolute");
  g_assert_cmpint (chmod (fixture->state, 0770), ==, 0);
  assert_refused (fixture->state, SANDBOX_ERROR_DENIED, "write");
  g_assert_cmpint (chmod (fixture->state, 0707), ==, 0);
  assert_refused (fixture->state, SANDBOX_ERROR_DENIED, "write");
  g_assert_cmpint (chmod (fixture->state, 0755), ==, 0);
  assert_refused (fixture->state, SANDBOX_ERROR_DENIED, "0700");
  g_assert_cmpint (chmod (fixture->state, 0700), ==, 0);

  g_assert_cmpint (symlink ("state", link), ==, 0);
  assert_refused (link, SANDBOX_ERROR_DENIED, "link");
  assert_refused (slash, SANDBOX_ERROR_DENIED, "link");
  g_assert_true (g_file_set_contents (file, "x", 1, NULL));
  assert_refused (file, SANDBOX_ERROR_DENIED, "directory");
  assert_refused (below, SANDBOX_ERROR_PATH, "state");

  g_assert_cmpint (rename (templates, elsewhere), ==, 0);
  g_assert_cmpint (symlink (elsewhere, templates), ==, 0);
  assert_refused (fixture->state, SANDBOX_ERROR_DENIED, "link");
  g_assert_cmpint (unlink (templates), ==, 0);
  g_assert_cmpint (rename (elsewhere, templates), ==, 0);
  g_assert_cmpint (chmod (backend, 0720), ==, 0);
  assert_refused (fixture->state, SANDBOX_ERROR_DENIED, "write");
  g_assert_cmpint (chmod (backend, 0700), ==, 0);
  sandbox_store_unref (open_store (fixture->state, "backend"));
}

static void
test_foreign (Fixture      *fixture,
              gconstpointer unused)
{
  g_test_summary ("So is one of another user (case 110)");

  g_assert_cmpint (chown (fixture->state, 65533, 65533), ==, 0);
  assert_refused (fixture->state, SANDBOX_ERROR_DENIED, "another user");
}

static void
test_private (Fixture      *fixture,
              gconstpointer unused)
{
  SandboxStore    *store = open_store (NULL, "backend");
  g_autofree char *path = g_strdup (sandbox_store_get_path (store));
  SandboxFileSet  *files = make_files ();
  pid_t            child;
  struct stat      st;

  g_test_summary ("Without one there is a private one, which goes with the store, and not with that of a forked child");

  g_object_unref (prewarm (store, files));
  g_assert_cmpint (stat (path, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0700);
  child = fork ();
  if (child == 0)
    {
      sandbox_store_unref (store);
      child_end ();
    }
  child_wait (child);
  g_assert_cmpint (stat (path, &st), ==, 0);
  sandbox_store_unref (store);
  g_assert_cmpint (stat (path, &st), ==, -1);
  free_files (files);
}

static void
test_private_left (Fixture      *fixture,
                   gconstpointer unused)
{
  SandboxStore   *live = open_store (NULL, "backend");
  SandboxStore   *next = NULL;
  SandboxFileSet *files = make_files ();
  char            path[PATH_MAX] = "";
  int             ends[2];
  int             status = 0;
  pid_t           child;

  g_test_summary ("That of a program which was killed goes with the next one; those of the living stay");

  g_assert_cmpint (pipe (ends), ==, 0);
  child = fork ();
  if (child == 0)
    {
      SandboxStore *store = open_store (NULL, "backend");
      const char   *own = sandbox_store_get_path (store);

      g_object_unref (prewarm (store, files));
      if (write (ends[1], own, strlen (own)) < 0)
        _exit (1);
      kill (getpid (), SIGKILL);
    }
  close (ends[1]);
  g_assert_cmpint (read (ends[0], path, sizeof path - 1), >, 0);
  close (ends[0]);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFSIGNALED (status));
  g_assert_cmpint (access (path, F_OK), ==, 0);

  next = open_store (NULL, "backend");
  g_assert_cmpint (access (path, F_OK), <, 0);
  g_assert_cmpint (access (sandbox_store_get_path (live), F_OK), ==, 0);
  sandbox_store_unref (next);
  sandbox_store_unref (live);
  g_object_unref (files);
}

static void
test_prewarm (Fixture      *fixture,
              gconstpointer unused)
{
  static const struct
  {
    const char *path;
    mode_t      mode;
    const char *content;
  } stored[] = {
    { "a", S_IFREG | 0644, "text" },
    { "d", S_IFDIR | 0755, NULL },
    { "d/e", S_IFDIR | 0755, NULL },
    { "d/e/empty", S_IFREG | 0644, "" },
    { "d/quote\"\\\xff", S_IFREG | 0644, "text" },
    { "given/hollow", S_IFDIR | 0755, NULL },
    { "given/tool", S_IFREG | 0755, "#!" },
    { "given/link", S_IFLNK | 0777, "#!" },
  };
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = NULL;
  g_autoptr (SandboxTemplate) again = NULL;
  g_autoptr (SandboxTemplate) other = NULL;
  mode_t before = umask (077);

  g_test_summary ("A template has what it was given, with two modes and one owner; the same is not stored twice");

  made = prewarm (fixture->store, files);
  umask (before);
  g_assert_false (sandbox_template_get_reused (made));
  for (guint i = 0; i < G_N_ELEMENTS (stored); i++)
    {
      g_autofree char *path = g_build_filename (fixture->state, "backend", "templates", sandbox_template_get_key (made), "tree",
                                                stored[i].path, NULL);
      g_autofree char *content = NULL;
      struct stat      st;

      g_assert_cmpint (lstat (path, &st), ==, 0);
      g_assert_cmpuint (st.st_mode, ==, stored[i].mode);
      g_assert_cmpuint (st.st_uid, ==, OWNER);
      if (stored[i].content == NULL)
        continue;
      g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
      g_assert_cmpstr (content, ==, stored[i].content);
    }

  again = prewarm (fixture->store, files);
  g_assert_true (sandbox_template_get_reused (again));
  g_assert_cmpstr (sandbox_template_get_key (again), ==, sandbox_template_get_key (made));
  other = sandbox_store_prewarm (fixture->store, "other name", files, NULL, NULL, NULL, NULL);
  g_assert_false (sandbox_template_get_reused (other));
  g_assert_cmpstr (sandbox_template_get_key (other), !=, sandbox_template_get_key (made));
  g_assert_cmpuint (count_templates (fixture), ==, 2);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  assert_sound (fixture->store, sandbox_template_get_key (made));
  free_files (files);
}

/* Counts down, and then does something to its own process. */
typedef struct
{
  int left;
  int ready; /* told, and then it waits; or -1, and then it dies */
  int errsv; /* or else this is its answer */
} Fuse;

static int
fuse_cb (gpointer data)
{
  Fuse *fuse = data;

  if (fuse->left-- > 0)
    return 0;
  if (fuse->errsv != 0)
    return fuse->errsv;
  if (fuse->ready < 0)
    kill (getpid (), SIGKILL);
  g_assert_cmpint (write (fuse->ready, "1", 1), ==, 1);
  for (;;)
    pause ();
}

typedef struct
{
  guint   n_calls;
  guint64 files;
  guint64 bytes;
} Progress;

static void
progress_cb (guint64  files,
             guint64  bytes,
             gpointer data)
{
  Progress *progress = data;

  g_assert_cmpuint (files, >=, progress->files);
  g_assert_cmpuint (bytes, >=, progress->bytes);
  progress->n_calls++;
  progress->files = files;
  progress->bytes = bytes;
}

#define N_MANY 300

static void
test_many (Fixture      *fixture,
           gconstpointer unused)
{
  g_autofree char *given = g_build_filename (fixture->top, "given", NULL);
  g_autofree char *data = g_malloc (3 * 1024 * 1024);
  g_autoptr (GFile) directory = g_file_new_for_path (given);
  g_autoptr (SandboxFileSet) set = sandbox_file_set_new ();
  g_autoptr (SandboxTemplate) made = NULL;
  g_autoptr (SandboxTemplate) again = NULL;
  Progress progress = { 0 };
  guint64  total = 0;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Many files, and large ones, are stored as they are, while their progress is told");

  g_assert_cmpint (g_mkdir (given, 0755), ==, 0);
  for (gsize i = 0; i < 3 * 1024 * 1024; i++)
    data[i] = (char) (i * 31 + (i >> 8) * 7);
  for (guint i = 0; i < N_MANY; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s/file-%u", given, i);
      gsize            size = i == 7 ? 3 * 1024 * 1024 : (i * 1009) % (160 * 1024);

      g_assert_true (g_file_set_contents_full (name, data + (i % 64), (gssize) (size >= 64 ? size - 64 : size), G_FILE_SET_CONTENTS_NONE, 0644, NULL));
      total += size >= 64 ? size - 64 : size;
    }

  g_assert_true (sandbox_file_set_add_directory (set, "given", directory, &error));
  made = sandbox_store_prewarm (fixture->store, "name", set, NULL, progress_cb, &progress, &error);
  g_assert_no_error (error);
  g_assert_false (sandbox_template_get_reused (made));
  assert_sound (fixture->store, sandbox_template_get_key (made));
  g_assert_cmpuint (progress.n_calls, >=, 1);
  g_assert_cmpuint (progress.files, ==, N_MANY);
  g_assert_cmpuint (progress.bytes, ==, total);

  progress = (Progress){ 0 };
  again = sandbox_store_prewarm (fixture->store, "name", set, NULL, progress_cb, &progress, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_template_get_reused (again));
  g_assert_cmpuint (progress.files, ==, N_MANY);

  g_assert_true (sandbox_store_delete_template (fixture->store, sandbox_template_get_key (made), NULL, NULL, NULL));
  for (int i = 1; i < 2 * N_MANY; i += 97)
    {
      Fuse fuse = { i, -1, ECANCELED };

      g_assert_null (sandbox_store_prewarm (fixture->store, "name", set, fuse_cb, NULL, &fuse, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_clear_error (&error);
      g_assert_cmpuint (count_aside (fixture), ==, 0);
    }
}

static void
test_backends_apart (Fixture      *fixture,
                     gconstpointer unused)
{
  SandboxStore   *store = open_store (fixture->state, "other");
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  g_autoptr (SandboxTemplate) theirs = prewarm (store, files);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Each backend has its own, and other keys");

  g_assert_false (sandbox_template_get_reused (theirs));
  g_assert_cmpstr (sandbox_template_get_key (made), !=, sandbox_template_get_key (theirs));
  g_assert_null (sandbox_store_verify (store, sandbox_template_get_key (made), NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  sandbox_store_unref (store);
  free_files (files);
}

/* Each changes one thing of a stored template. */

static void
change_content (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "a", NULL);
  int              fd = open (path, O_WRONLY | O_CLOEXEC);

  g_assert_cmpint (write (fd, "T", 1), ==, 1);
  close (fd);
}

static void
change_mode (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "a", NULL);

  g_assert_cmpint (chmod (path, 0755), ==, 0);
}

static void
change_tree_mode (const char *tree)
{
  g_assert_cmpint (chmod (tree, 0777), ==, 0);
}

static void
add_file (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "d", "e", "new", NULL);

  g_assert_true (g_file_set_contents (path, "", 0, NULL));
}

static void
add_directory (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "given", "hollow", "new", NULL);

  g_assert_cmpint (g_mkdir (path, 0755), ==, 0);
}

static void
remove_file (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "a", NULL);

  g_assert_cmpint (unlink (path), ==, 0);
}

static void
remove_directory (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "given", "hollow", NULL);

  g_assert_cmpint (rmdir (path), ==, 0);
}

static void
replace_by_link (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "a", NULL);
  g_autofree char *other = g_build_filename (tree, "..", "same", NULL);

  g_assert_cmpint (rename (path, other), ==, 0);
  g_assert_cmpint (symlink ("../same", path), ==, 0);
}

static void
replace_directory (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "d", NULL);
  g_autofree char *other = g_build_filename (tree, "..", "same", NULL);

  g_assert_cmpint (rename (path, other), ==, 0);
  g_assert_cmpint (symlink ("../same", path), ==, 0);
}

static void
replace_by_fifo (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "a", NULL);

  g_assert_cmpint (unlink (path), ==, 0);
  g_assert_cmpint (mkfifo (path, 0644), ==, 0);
}

static void
change_link (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "given", "link", NULL);

  g_assert_cmpint (unlink (path), ==, 0);
  g_assert_cmpint (symlink ("../a", path), ==, 0);
  g_assert_cmpint (lchown (path, OWNER, OWNER), ==, 0);
}

static void
add_name (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "a", NULL);
  g_autofree char *other = g_build_filename (tree, "..", "same", NULL);

  g_assert_cmpint (link (path, other), ==, 0);
}

static void
change_list (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "..", SANDBOX_STORE_TEMPLATE_FILE, NULL);
  g_autofree char *text = NULL;
  char            *at = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  at = strstr (text, "\"a\"");
  g_assert_nonnull (at);
  at[1] = 'b';
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
cut_list (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "..", SANDBOX_STORE_TEMPLATE_FILE, NULL);

  g_assert_cmpint (truncate (path, 20), ==, 0);
}

static void
remove_list (const char *tree)
{
  g_autofree char *path = g_build_filename (tree, "..", SANDBOX_STORE_TEMPLATE_FILE, NULL);

  g_assert_cmpint (unlink (path), ==, 0);
}

static void
test_changed (Fixture      *fixture,
              gconstpointer unused)
{
  static const struct
  {
    void (*change) (const char *tree);
    const char *word;
  } changes[] = {
    { change_content, "“a” has another content" },
    { change_mode, "“a” has another mode" },
    { change_tree_mode, "“tree” has another mode" },
    { add_file, "“d/e/new” was added" },
    { add_directory, "“given/hollow/new” was added" },
    { remove_file, "“a” is missing" },
    { remove_directory, "“given/hollow” is missing" },
    { replace_by_link, "“a” is something else" },
    { replace_directory, "“d” is something else" },
    { replace_by_fifo, "“a” is something else" },
    { change_link, "“given/link” has another content" },
    { add_name, "“a” has another name" },
    { change_list, "template.json" },
    { cut_list, "template.json" },
    { remove_list, "template.json" },
  };

  g_test_summary ("Whatever is changed in a stored template is found, and told by its name (case 105)");

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      SandboxFileSet *files = make_files ();
      g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
      g_autofree char *tree = g_build_filename (fixture->state, "backend", "templates", sandbox_template_get_key (made), "tree", NULL);
      g_autoptr (GError) error = NULL;

      g_test_message ("%s", changes[i].word);
      assert_sound (fixture->store, sandbox_template_get_key (made));
      changes[i].change (tree);
      g_assert_null (sandbox_store_verify (fixture->store, sandbox_template_get_key (made), NULL, NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT);
      g_assert_nonnull (strstr (error->message, changes[i].word));

      /* It can be deleted all the same, and made anew. */
      g_clear_error (&error);
      g_assert_true (sandbox_store_delete_template (fixture->store, sandbox_template_get_key (made), NULL, NULL, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (count_templates (fixture), ==, 0);
      g_assert_cmpuint (count_aside (fixture), ==, 0);
      free_files (files);
    }
}

static int
end_cb (gpointer data)
{
  return GPOINTER_TO_INT (data);
}

static void
test_refused (Fixture      *fixture,
              gconstpointer unused)
{
  g_autoptr (SandboxFileSet) impossible = sandbox_file_set_new ();
  g_autoptr (SandboxFileSet) vanished = sandbox_file_set_new ();
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  g_autofree char *path = g_build_filename (fixture->top, "file", NULL);
  g_autofree char *long_name = g_strnfill (256, 'n');
  g_autoptr (GFile) file = g_file_new_for_path (path);
  SandboxFileSet *files = make_files ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("What cannot be stored, and what is cancelled, leaves nothing (case 106)");

  sandbox_file_set_add (impossible, "a", bytes);
  sandbox_file_set_add (impossible, "a/b", bytes);
  g_assert_null (sandbox_store_prewarm (fixture->store, "name", impossible, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_clear_error (&error);

  g_assert_true (g_file_set_contents (path, "x", 1, NULL));
  g_assert_true (sandbox_file_set_add_file (vanished, "a", file, NULL));
  g_assert_cmpint (unlink (path), ==, 0);
  g_assert_null (sandbox_store_prewarm (fixture->store, "name", vanished, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  g_assert_null (sandbox_store_prewarm (fixture->store, "name", vanished, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);

  g_assert_null (sandbox_store_prewarm (fixture->store, "", files, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_null (sandbox_store_prewarm (fixture->store, long_name, files, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_null (sandbox_store_prewarm (fixture->store, "name", files, end_cb, NULL, GINT_TO_POINTER (ECANCELED), &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (count_templates (fixture), ==, 0);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  free_files (files);
}

static void
test_delete_cancelled (Fixture      *fixture,
                       gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A deletion that is cancelled has deleted, and leaves the rest aside for the next one who collects");

  g_assert_false (sandbox_store_delete_template (fixture->store, sandbox_template_get_key (made), end_cb,
                                                 GINT_TO_POINTER (ECANCELED), &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (count_templates (fixture), ==, 0);
  g_assert_cmpuint (sandbox_store_collect (fixture->store, NULL, NULL), ==, 1);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  g_assert_true (sandbox_store_delete_template (fixture->store, sandbox_template_get_key (made), NULL, NULL, NULL));
  free_files (files);
}

#define RACERS 16

typedef struct
{
  const char     *state;
  SandboxFileSet *files;
  char           *key;
  int            *n_made; /* of all processes */
} Race;

static gpointer
race_thread (gpointer data)
{
  Race *race = data;
  g_autoptr (SandboxStore) store = open_store (race->state, "backend");
  g_autoptr (SandboxTemplate) made = prewarm (store, race->files);

  g_assert_cmpstr (sandbox_template_get_key (made), ==, race->key);
  assert_sound (store, race->key);
  if (!sandbox_template_get_reused (made))
    g_atomic_int_inc (race->n_made);

  return NULL;
}

static void
test_race (Fixture      *fixture,
           gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) first = prewarm (fixture->store, files);
  Race race = { fixture->state, files, g_strdup (sandbox_template_get_key (first)), NULL };

  g_test_summary ("Of 32 that store one template at once, in threads and processes, all get it whole and one has made it (case 104)");

  race.n_made = mmap (NULL, sizeof *race.n_made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_assert_true (race.n_made != MAP_FAILED);
  for (guint round = 0; round < 5; round++)
    {
      GThread *threads[RACERS];
      pid_t    children[RACERS];

      g_assert_true (sandbox_store_delete_template (fixture->store, race.key, NULL, NULL, NULL));
      *race.n_made = 0;
      for (guint i = 0; i < RACERS; i++)
        {
          children[i] = fork ();
          if (children[i] == 0)
            {
              race_thread (&race);
              child_end ();
            }
        }
      for (guint i = 0; i < RACERS; i++)
        threads[i] = g_thread_new ("racer", race_thread, &race);
      for (guint i = 0; i < RACERS; i++)
        {
          g_thread_join (threads[i]);
          child_wait (children[i]);
        }
      g_assert_cmpint (*race.n_made, ==, 1);
      g_assert_cmpuint (count_templates (fixture), ==, 1);
      g_assert_cmpuint (count_aside (fixture), ==, 0);
    }
  munmap (race.n_made, sizeof *race.n_made);
  g_free (race.key);
  free_files (files);
}

/* How often it is asked in all. */
static int
count_checks (SandboxFileSet *files)
{
  SandboxStore *store = open_store (NULL, "backend");
  Fuse          fuse = { G_MAXINT, -1 };
  g_autoptr (SandboxTemplate) made = sandbox_store_prewarm (store, "name", files, fuse_cb, NULL, &fuse, NULL);

  g_assert_nonnull (made);
  sandbox_store_unref (store);

  return G_MAXINT - fuse.left;
}

static void
test_killed (Fixture      *fixture,
             gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  int             n_checks = count_checks (files);

  g_test_summary ("Killed wherever it is, a prewarm leaves a whole template or none, and debris that is collected (case 103)");

  g_assert_cmpint (n_checks, >=, 10);
  for (int i = 0; i < n_checks; i++)
    {
      pid_t child = fork ();
      int   status = 0;
      g_autoptr (SandboxTemplate) made = NULL;

      if (child == 0)
        {
          Fuse fuse = { i, -1 };

          sandbox_store_prewarm (fixture->store, "name", files, fuse_cb, NULL, &fuse, NULL);
          _exit (0);
        }
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_assert_true (WIFSIGNALED (status));
      g_assert_cmpuint (count_templates (fixture), ==, 0);
      sandbox_store_collect (fixture->store, NULL, NULL);
      g_assert_cmpuint (count_aside (fixture), ==, 0);

      made = prewarm (fixture->store, files);
      g_assert_false (sandbox_template_get_reused (made));
      assert_sound (fixture->store, sandbox_template_get_key (made));
      g_assert_true (sandbox_store_delete_template (fixture->store, sandbox_template_get_key (made), NULL, NULL, NULL));
    }
  free_files (files);
}

static void
test_live (Fixture      *fixture,
           gconstpointer unused)
{
  SandboxFileSet   *files = make_files ();
  SandboxStore     *other = open_store (fixture->state, "backend");
  SandboxStoreWork *mine = NULL;
  g_autofree char  *foreign = g_build_filename (fixture->state, "backend", "aside", "somebody", NULL);
  int               ends[2];
  char              byte = '\0';
  pid_t             child;

  g_test_summary ("What the living do aside is left to them, in this process and in others, stopped or not (case 107)");

  mine = sandbox_store_work_new (fixture->store, NULL);
  g_assert_cmpuint (sandbox_store_collect (other, NULL, NULL), ==, 0);
  g_assert_cmpuint (count_aside (fixture), ==, 2);
  g_assert_cmpint (faccessat (sandbox_store_work_get_fd (mine), ".", F_OK, 0), ==, 0);
  sandbox_store_work_free (mine);
  g_assert_cmpuint (count_aside (fixture), ==, 0);

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  child = fork ();
  if (child == 0)
    {
      /* Amidst its writing */
      Fuse fuse = { count_checks (files) - 3, ends[1] };

      prctl (PR_SET_PDEATHSIG, SIGKILL);
      sandbox_store_prewarm (fixture->store, "name", files, fuse_cb, NULL, &fuse, NULL);
      _exit (1);
    }
  close (ends[1]);
  g_assert_cmpint (read (ends[0], &byte, 1), ==, 1);
  close (ends[0]);
  g_assert_cmpuint (count_aside (fixture), ==, 2);
  g_assert_cmpuint (sandbox_store_collect (other, NULL, NULL), ==, 0);
  g_assert_cmpint (kill (child, SIGSTOP), ==, 0);
  g_assert_cmpuint (sandbox_store_collect (other, NULL, NULL), ==, 0);
  g_assert_cmpuint (count_aside (fixture), ==, 2);

  g_assert_cmpint (kill (child, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (child, NULL, 0), ==, child);
  g_assert_cmpint (g_mkdir (foreign, 0700), ==, 0);
  g_assert_cmpuint (sandbox_store_collect (other, NULL, NULL), ==, 1);
  g_assert_cmpuint (count_aside (fixture), ==, 1); /* what is not ours stays */
  g_assert_cmpint (rmdir (foreign), ==, 0);
  sandbox_store_unref (other);
  free_files (files);
}

/* In a child, which has a disk of its own. */
static void
test_full (Fixture      *fixture,
           gconstpointer unused)
{
  g_autofree char *disk = g_build_filename (fixture->top, "disk", NULL);
  pid_t            child;

  g_test_summary ("A full disk is LIMIT, leaves nothing, and takes what has room");

  g_assert_cmpint (g_mkdir (disk, 0700), ==, 0);
  child = fork ();
  if (child == 0)
    {
      g_autofree char *state = g_build_filename (disk, "state", NULL);
      g_autofree char *data = g_malloc0 (1024 * 1024);
      g_autoptr (GBytes) large = g_bytes_new_static (data, 1024 * 1024);
      g_autoptr (GBytes) small = g_bytes_new_static (data, 1024);
      g_autoptr (SandboxFileSet) much = sandbox_file_set_new ();
      g_autoptr (SandboxFileSet) little = sandbox_file_set_new ();
      g_autoptr (SandboxTemplate) made = NULL;
      g_autoptr (GError) error = NULL;
      Fixture full = { .state = state };

      if (!enter_namespace () || mount ("tmpfs", disk, "tmpfs", 0, "size=256k,mode=0700") < 0)
        _exit (2);
      full.store = open_store (state, "backend");
      sandbox_file_set_add (much, "first", small);
      sandbox_file_set_add (much, "second", large);
      sandbox_file_set_add (little, "first", small);

      g_assert_null (sandbox_store_prewarm (full.store, "name", much, NULL, NULL, NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
      g_assert_nonnull (strstr (error->message, "second"));
      g_clear_error (&error);
      g_assert_cmpuint (count_templates (&full), ==, 0);
      g_assert_cmpuint (count_aside (&full), ==, 0);
      made = sandbox_store_prewarm (full.store, "name", little, NULL, NULL, NULL, &error);
      g_assert_no_error (error);
      assert_sound (full.store, sandbox_template_get_key (made));
      child_end ();
    }
  child_wait (child);
}

#define ADD(path, function) g_test_add ("/store/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("state-directory", test_state_directory);
  ADD ("unsafe", test_unsafe);
  if (geteuid () == 0)
    ADD ("foreign", test_foreign);
  ADD ("private", test_private);
  ADD ("private-left", test_private_left);
  ADD ("prewarm", test_prewarm);
  ADD ("many", test_many);
  ADD ("backends-apart", test_backends_apart);
  ADD ("changed", test_changed);
  ADD ("refused", test_refused);
  ADD ("delete-cancelled", test_delete_cancelled);
  ADD ("race", test_race);
  ADD ("killed", test_killed);
  ADD ("live", test_live);
  ADD ("full", test_full);

  return g_test_run ();
}
