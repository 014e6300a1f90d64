/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox-error.h"
#include "sandbox-file-set-private.h"
#include "value-checks.h"
#include "../common/test-helpers.h"

/* A directory of the host, and a set. */
typedef struct
{
  char           *top;
  GFile          *directory;
  SandboxFileSet *set;
  guint           n_descriptors;
} Fixture;

static void
fixture_set_up (Fixture      *fixture,
                gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  fixture->n_descriptors = test_count_descriptors ();
  fixture->top = g_dir_make_tmp ("sandbox-file-set-XXXXXX", &error);
  g_assert_no_error (error);
  fixture->directory = g_file_new_build_filename (fixture->top, "given", NULL);
  g_assert_cmpint (g_mkdir (g_file_peek_path (fixture->directory), 0755), ==, 0);
  fixture->set = sandbox_file_set_new ();
}

static void
fixture_tear_down (Fixture      *fixture,
                   gconstpointer unused)
{
  g_assert_finalize_object (fixture->set);
  g_clear_object (&fixture->directory);
  test_remove_tree (fixture->top);
  g_clear_pointer (&fixture->top, g_free);
  test_assert_descriptors (fixture->n_descriptors);
}

static char *
fixture_path (Fixture    *fixture,
              const char *name)
{
  return g_build_filename (g_file_peek_path (fixture->directory), name, NULL);
}

static void
fixture_make_file (Fixture    *fixture,
                   const char *name,
                   const char *content,
                   guint       mode)
{
  g_autofree char *path = fixture_path (fixture, name);
  g_autofree char *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, content, -1, NULL));
  g_assert_cmpint (chmod (path, mode), ==, 0);
}

static void
fixture_make_link (Fixture    *fixture,
                   const char *name,
                   const char *target)
{
  g_autofree char *path = fixture_path (fixture, name);
  g_autofree char *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0755), ==, 0);
  g_assert_cmpint (symlink (target, path), ==, 0);
}

static void
add_text (SandboxFileSet *set,
          const char     *path,
          const char     *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));

  sandbox_file_set_add (set, path, bytes);
}

static char *
read_entry (const SandboxFileEntry *entry)
{
  char    content[256];
  int     fd = -1;
  ssize_t size = 0;

  if (entry->kind == SANDBOX_FILE_KIND_DIRECTORY || (entry->bytes != NULL && g_bytes_get_size (entry->bytes) == 0))
    return g_strdup ("");
  if (entry->bytes != NULL)
    return g_strndup (g_bytes_get_data (entry->bytes, NULL), g_bytes_get_size (entry->bytes));

  fd = openat (sandbox_file_entry_get_directory (entry), entry->source_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  g_assert_cmpint (fd, >=, 0);
  size = read (fd, content, sizeof content);
  g_assert_cmpint (size, >=, 0);
  close (fd);

  return g_strndup (content, size);
}

/* The tree as text: a line for each entry, with its letter, path and content. */
static char *
describe (SandboxFileSet *set)
{
  g_autoptr (GPtrArray) list = sandbox_file_set_list (set);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < list->len; i++)
    {
      const SandboxFileEntry *entry = list->pdata[i];
      g_autofree char        *content = read_entry (entry);

      g_string_append_printf (text, "%c %s=%s\n", "dfxl"[entry->kind], entry -> path, content);
    }

  return g_string_free (text, FALSE);
}

static char *
make_key (SandboxFileSet *set,
          const char     *backend,
          const char     *name)
{
  g_autoptr (SandboxTemplateKey) key = sandbox_template_key_new (backend, name);
  g_autoptr (GPtrArray) list = sandbox_file_set_list (set);

  for (guint i = 0; i < list->len; i++)
    {
      const SandboxFileEntry *entry = list->pdata[i];
      g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
      g_autofree char *content = read_entry (entry);
      guint8           digest[SANDBOX_DIGEST_BYTES];
      gsize            size = sizeof digest;

      g_checksum_update (checksum, (const guchar *) content, strlen (content));
      g_checksum_get_digest (checksum, digest, &size);
      sandbox_template_key_add (key, entry->path, entry->kind, entry->kind == SANDBOX_FILE_KIND_DIRECTORY ? NULL : digest);
    }

  return sandbox_template_key_end (g_steal_pointer (&key));
}

static void
assert_problem (SandboxFileSet *set,
                SandboxError    code)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (sandbox_file_set_validate (set, &error));
  g_assert_error (error, SANDBOX_ERROR, (int) code);
}

static void
test_add (Fixture      *fixture,
          gconstpointer unused)
{
  g_autofree char *text = NULL;
  guint            n_notified = 0;

  g_test_summary ("Bytes make files, and paths the directories that they need");

  value_checks_defaults (G_OBJECT (fixture->set));
  g_signal_connect (fixture->set, "notify", G_CALLBACK (value_checks_count_cb), &n_notified);
  add_text (fixture->set, "b/c/d", "deep");
  add_text (fixture->set, "/workspace/a", "at the top");
  add_text (fixture->set, "b/caf\xc3\xa9\\xff", "");

  g_assert_true (sandbox_file_set_validate (fixture->set, NULL));
  text = describe (fixture->set);
  g_assert_cmpstr (text, ==, "f a=at the top\nd b=\nd b/c=\nf b/c/d=deep\nf b/caf\xc3\xa9\xff=\n");
  g_assert_cmpuint (sandbox_file_set_get_n_files (fixture->set), ==, 3);
  g_assert_cmpuint (sandbox_file_set_get_total_bytes (fixture->set), ==, 14);
  g_assert_cmpuint (n_notified, ==, 5);
}

static void
test_bytes_copied (Fixture      *fixture,
                   gconstpointer unused)
{
  char buffer[] = "as it was given";
  g_autoptr (GBytes) bytes = g_bytes_new_static (buffer, strlen (buffer));
  g_autofree char *text = NULL;

  g_test_summary ("A caller that changes its buffer afterwards changes no set (case 102)");

  sandbox_file_set_add (fixture->set, "a", bytes);
  memset (buffer, 'X', sizeof buffer - 1);
  text = describe (fixture->set);
  g_assert_cmpstr (text, ==, "f a=as it was given\n");
}

static void
test_impossible (Fixture      *fixture,
                 gconstpointer unused)
{
  static const struct
  {
    const char  *first;
    const char  *second;
    SandboxError code;
  } trees[] = {
    { "a", "a/b", SANDBOX_ERROR_PATH },
    { "a/b", "a", SANDBOX_ERROR_EXISTS },
    { "a", "a", SANDBOX_ERROR_EXISTS },
    { "a", "/workspace/a", SANDBOX_ERROR_EXISTS },
    { "a", ".", SANDBOX_ERROR_PATH },
    { "a", "/workspace", SANDBOX_ERROR_PATH },
    { "a", "b/", SANDBOX_ERROR_PATH },
    { "a", "", SANDBOX_ERROR_PATH },
    { "a", "../b", SANDBOX_ERROR_PATH },
    { "a", "b/./c", SANDBOX_ERROR_PATH },
    { "a", "/etc/passwd", SANDBOX_ERROR_PATH },
    { "a", "b\\c", SANDBOX_ERROR_PATH },
  };

  g_test_summary ("A tree that cannot be is refused when the set is used, whatever is added later (case 106)");

  for (guint i = 0; i < G_N_ELEMENTS (trees); i++)
    {
      g_autoptr (SandboxFileSet) set = sandbox_file_set_new ();
      g_autoptr (SandboxFileSet) frozen = NULL;
      g_autofree char *before = NULL;
      g_autofree char *after = NULL;

      g_test_message ("%s, then %s", trees[i].first, trees[i].second);
      add_text (set, trees[i].first, "1");
      before = describe (set);
      add_text (set, trees[i].second, "2");
      after = describe (set);
      g_assert_cmpstr (after, ==, before);
      g_assert_cmpuint (sandbox_file_set_get_n_files (set), ==, 1);
      g_assert_cmpuint (sandbox_file_set_get_total_bytes (set), ==, 1);

      add_text (set, "z", "3");
      assert_problem (set, trees[i].code);
      frozen = sandbox_file_set_freeze (set);
      assert_problem (frozen, trees[i].code);
    }
}

static void
test_count_limit (Fixture      *fixture,
                  gconstpointer unused)
{
  g_test_summary ("Entries are counted, the directories of paths among them; what is over is not kept (case 106)");

  for (guint i = 0; i < SANDBOX_FILE_SET_MAX_ENTRIES - 1; i++)
    {
      char name[16];

      g_snprintf (name, sizeof name, "d/%u", i);
      add_text (fixture->set, name, "x");
    }
  g_assert_true (sandbox_file_set_validate (fixture->set, NULL));
  g_assert_cmpuint (sandbox_file_set_get_n_files (fixture->set), ==, SANDBOX_FILE_SET_MAX_ENTRIES - 1);

  add_text (fixture->set, "e", "x");
  assert_problem (fixture->set, SANDBOX_ERROR_LIMIT);
  g_assert_cmpuint (sandbox_file_set_get_n_files (fixture->set), ==, SANDBOX_FILE_SET_MAX_ENTRIES - 1);
}

static void
test_depth_limit (Fixture      *fixture,
                  gconstpointer unused)
{
  g_autoptr (GString) path = g_string_new (NULL);
  g_autofree char *deeper = NULL;
  g_autofree char *before = NULL;
  g_autofree char *after = NULL;

  g_test_summary ("So are levels");

  for (guint i = 0; i < SANDBOX_FILE_SET_MAX_DEPTH; i++)
    g_string_append (path, "d/");
  g_string_append_c (path, 'f');
  add_text (fixture->set, path->str, "x");
  g_assert_true (sandbox_file_set_validate (fixture->set, NULL));

  before = describe (fixture->set);
  deeper = g_strconcat ("e/", path->str, NULL);
  add_text (fixture->set, deeper, "x");
  assert_problem (fixture->set, SANDBOX_ERROR_LIMIT);
  after = describe (fixture->set);
  g_assert_cmpstr (after, ==, before);
}

static void
test_size_limit (Fixture      *fixture,
                 gconstpointer unused)
{
  g_autofree char *path = fixture_path (fixture, "large");
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GError) error = NULL;
  int fd;

  g_test_summary ("So are bytes, of files that have only been looked at too");

  fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  g_assert_cmpint (ftruncate (fd, SANDBOX_FILE_SET_MAX_BYTES), ==, 0);
  g_assert_true (sandbox_file_set_add_file (fixture->set, "a", file, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (sandbox_file_set_get_total_bytes (fixture->set), ==, SANDBOX_FILE_SET_MAX_BYTES);

  g_assert_false (sandbox_file_set_add_file (fixture->set, "new/b", file, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  g_assert_false (sandbox_file_set_add_directory (fixture->set, "new", fixture->directory, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_cmpuint (sandbox_file_set_get_n_files (fixture->set), ==, 1);
  g_assert_true (sandbox_file_set_validate (fixture->set, NULL));
  add_text (fixture->set, "c", "");
  g_assert_true (sandbox_file_set_validate (fixture->set, NULL));
  add_text (fixture->set, "d", "x");
  assert_problem (fixture->set, SANDBOX_ERROR_LIMIT);
  close (fd);
}

static void
test_add_file (Fixture      *fixture,
               gconstpointer unused)
{
  g_autofree char *plain_path = fixture_path (fixture, "plain");
  g_autofree char *script_path = fixture_path (fixture, "script");
  g_autofree char *link_path = fixture_path (fixture, "link");
  g_autoptr (GFile) plain = g_file_new_for_path (plain_path);
  g_autoptr (GFile) script = g_file_new_for_path (script_path);
  g_autoptr (GFile) link = g_file_new_for_path (link_path);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("A file of the host keeps its executable bit and no other, and is read when the set is used");

  fixture_make_file (fixture, "plain", "old", 0666);
  fixture_make_file (fixture, "script", "#!", 04711);
  fixture_make_link (fixture, "link", "script");
  g_assert_true (sandbox_file_set_add_file (fixture->set, "p", plain, &error));
  g_assert_true (sandbox_file_set_add_file (fixture->set, "bin/s", script, &error));
  g_assert_true (sandbox_file_set_add_file (fixture->set, "bin/l", link, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (sandbox_file_set_get_total_bytes (fixture->set), ==, 7);

  fixture_make_file (fixture, "plain", "as it is then", 0666);
  /* The helper of this test follows no link; a store does for a file that was given by its path. */
  g_assert_cmpint (unlink (link_path), ==, 0);
  fixture_make_file (fixture, "link", "#!", 0755);
  text = describe (fixture->set);
  g_assert_cmpstr (text, ==, "d bin=\nx bin/l=#!\nx bin/s=#!\nf p=as it is then\n");
}

static void
test_add_file_refused (Fixture      *fixture,
                       gconstpointer unused)
{
  g_autofree char *fifo_path = fixture_path (fixture, "fifo");
  g_autofree char *plain_path = fixture_path (fixture, "plain");
  g_autofree char *missing_path = fixture_path (fixture, "missing");
  g_autoptr (GFile) fifo = g_file_new_for_path (fifo_path);
  g_autoptr (GFile) plain = g_file_new_for_path (plain_path);
  g_autoptr (GFile) missing = g_file_new_for_path (missing_path);
  g_autoptr (GFile) device = g_file_new_for_path ("/dev/null");
  g_autoptr (GFile) elsewhere = g_file_new_for_uri ("resource:///x");
  const struct
  {
    const char  *path;
    GFile       *file;
    SandboxError code;
    const char  *word;
  } calls[] = {
    { "new/a", fifo, SANDBOX_ERROR_INVALID, "FIFO" },
    { "new/a", device, SANDBOX_ERROR_INVALID, "device" },
    { "new/a", fixture->directory, SANDBOX_ERROR_INVALID, "directory" },
    { "new/a", missing, SANDBOX_ERROR_NOT_FOUND, "missing" },
    { "new/a", elsewhere, SANDBOX_ERROR_NOT_SUPPORTED, "bytes" },
    { "../a", plain, SANDBOX_ERROR_PATH, "../a" },
    { ".", plain, SANDBOX_ERROR_PATH, "workspace" },
    { "there", plain, SANDBOX_ERROR_EXISTS, "there" },
    { "there/below", plain, SANDBOX_ERROR_PATH, "there" },
  };

  g_test_summary ("What cannot be a file of a template is refused at once, and nothing of it stays");

  g_assert_cmpint (mkfifo (fifo_path, 0600), ==, 0);
  fixture_make_file (fixture, "plain", "x", 0644);
  add_text (fixture->set, "there", "1");
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *text = NULL;

      g_test_message ("%s", calls[i].path);
      g_assert_false (sandbox_file_set_add_file (fixture->set, calls[i].path, calls[i].file, &error));
      g_assert_error (error, SANDBOX_ERROR, (int) calls[i].code);
      g_assert_nonnull (strstr (error->message, calls[i].word));
      text = describe (fixture->set);
      g_assert_cmpstr (text, ==, "f there=1\n");
    }
  g_assert_true (sandbox_file_set_validate (fixture->set, NULL));
}

static void
test_add_directory (Fixture      *fixture,
                    gconstpointer unused)
{
  g_autofree char *empty = fixture_path (fixture, "empty");
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("A directory comes whole: hidden files, empty directories, odd names, links that stay inside");

  fixture_make_file (fixture, ".hidden", "h", 0600);
  fixture_make_file (fixture, "sub/tool", "t", 0700);
  fixture_make_file (fixture, "sub/\xff", "bytes", 0644);
  fixture_make_file (fixture, "back\\slash", "b", 0644);
  fixture_make_link (fixture, "sub/up", "../.hidden");
  fixture_make_link (fixture, "dangling", "sub/none");
  g_assert_cmpint (g_mkdir (empty, 0700), ==, 0);
  add_text (fixture->set, "p/sub/mine", "m");

  g_assert_true (sandbox_file_set_add_directory (fixture->set, "p", fixture->directory, &error));
  g_assert_no_error (error);
  text = describe (fixture->set);
  g_assert_cmpstr (text, ==,
                   "d p=\nf p/.hidden=h\nf p/back\\slash=b\nl p/dangling=sub/none\nd p/empty=\nd p/sub=\n"
                   "f p/sub/mine=m\nx p/sub/tool=t\nl p/sub/up=../.hidden\nf p/sub/\xff=bytes\n");
  g_assert_cmpuint (sandbox_file_set_get_n_files (fixture->set), ==, 7);
  g_assert_cmpuint (sandbox_file_set_get_total_bytes (fixture->set), ==, 9);

  g_assert_false (sandbox_file_set_add_directory (fixture->set, "p", fixture->directory, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);
}

static void
test_add_directory_root (Fixture      *fixture,
                         gconstpointer unused)
{
  g_autofree char *link_path = g_build_filename (fixture->top, "way", NULL);
  g_autoptr (GFile) link = g_file_new_for_path (link_path);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("It may be the workspace itself, and the host may name it by a link");

  fixture_make_file (fixture, "a/b", "1", 0644);
  g_assert_cmpint (symlink ("given", link_path), ==, 0);
  g_assert_true (sandbox_file_set_add_directory (fixture->set, ".", link, &error));
  g_assert_no_error (error);
  text = describe (fixture->set);
  g_assert_cmpstr (text, ==, "d a=\nf a/b=1\n");
}

static void
make_socket (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int                fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_assert_cmpuint (g_strlcpy (address.sun_path, path, sizeof address.sun_path), <, sizeof address.sun_path);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  close (fd);
}

static void
test_add_directory_refused (Fixture      *fixture,
                            gconstpointer unused)
{
  static const struct
  {
    const char *target; /* of a link */
    mode_t      mode;   /* of something else */
    const char *word;
  } kinds[] = {
    { "/etc/passwd", 0, "link" },
    { "../../outside", 0, "link" },
    { "../deep/../../given/x", 0, "link" },
    { NULL, S_IFIFO, "FIFO" },
    { NULL, S_IFSOCK, "socket" },
    { NULL, S_IFCHR, "device" },
  };
  g_autofree char *path = fixture_path (fixture, "deep/culprit");
  g_autofree char *missing_path = fixture_path (fixture, "missing");
  g_autofree char *file_path = fixture_path (fixture, "deep/file");
  g_autoptr (GFile) missing = g_file_new_for_path (missing_path);
  g_autoptr (GFile) file = g_file_new_for_path (file_path);
  g_autoptr (GFile) elsewhere = g_file_new_for_uri ("resource:///x");
  g_autoptr (GError) error = NULL;

  g_test_summary ("What no template can have is refused with its name and its kind, and nothing of the directory stays");

  fixture_make_file (fixture, "deep/file", "1", 0644);
  add_text (fixture->set, "there", "1");
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autofree char *text = NULL;

      /* Only root can make one. */
      if (kinds[i].mode == S_IFCHR && geteuid () != 0)
        continue;

      if (kinds[i].target != NULL)
        g_assert_cmpint (symlink (kinds[i].target, path), ==, 0);
      else if (kinds[i].mode == S_IFSOCK)
        make_socket (path);
      else
        g_assert_cmpint (mknod (path, kinds[i].mode | 0600, 0), ==, 0);

      g_assert_false (sandbox_file_set_add_directory (fixture->set, "p", fixture->directory, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_assert_nonnull (strstr (error->message, "deep/culprit"));
      g_assert_nonnull (strstr (error->message, kinds[i].word));
      g_clear_error (&error);
      text = describe (fixture->set);
      g_assert_cmpstr (text, ==, "f there=1\n");
      g_assert_cmpint (unlink (path), ==, 0);
    }

  g_assert_false (sandbox_file_set_add_directory (fixture->set, "p", missing, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_false (sandbox_file_set_add_directory (fixture->set, "p", file, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_false (sandbox_file_set_add_directory (fixture->set, "p", elsewhere, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_false (sandbox_file_set_add_directory (fixture->set, "there", fixture->directory, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);
  g_clear_error (&error);
  g_assert_false (sandbox_file_set_add_directory (fixture->set, "there/p", fixture->directory, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_assert_true (sandbox_file_set_validate (fixture->set, NULL));
}

/* In a child, as namespaces are for a whole process. */
static void
test_add_directory_mount (Fixture      *fixture,
                          gconstpointer unused)
{
  g_autofree char *mounted = fixture_path (fixture, "deep/mounted");
  pid_t            child;
  int              status = 0;

  g_test_summary ("What is mounted in a directory is not part of it");

  fixture_make_file (fixture, "deep/file", "1", 0644);
  g_assert_cmpint (g_mkdir (mounted, 0755), ==, 0);
  child = fork ();
  if (child == 0)
    {
      g_autoptr (GError) error = NULL;

      if (unshare (geteuid () == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
          mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
          mount (fixture->top, mounted, "none", MS_BIND, NULL) < 0)
        _exit (2);
      if (sandbox_file_set_add_directory (fixture->set, "p", fixture->directory, &error) ||
          !g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID) ||
          strstr (error->message, "deep/mounted") == NULL)
        _exit (1);
      /* Nothing looks at its copies of what the parent has. */
      kill (getpid (), SIGKILL);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);
}

static void
test_key (Fixture      *fixture,
          gconstpointer unused)
{
  static const struct
  {
    const char *backend;
    const char *name;
    const char *files[5]; /* path, content, … */
  } templates[] = {
    { "b", "n", { "a", "bc" } },
    { "b", "n", { "ab", "c" } },
    { "b", "n", { "a", "", "bc", "" } },
    { "b", "n", { "a", "bc", "d", "" } },
    { "b", "n", { "d/a", "bc" } },
    { "b", "n", { NULL } },
    { "b", "nd", { NULL } },
    { "bn", "d", { NULL } },
    { "b", "n/d", { NULL } },
    { "b", "", { NULL } },
    { "", "b", { NULL } },
    { "b", "n\nf", { NULL } },
  };
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  g_test_summary ("No two templates that differ have one key (case 101)");

  for (guint i = 0; i < G_N_ELEMENTS (templates); i++)
    {
      g_autoptr (SandboxFileSet) set = sandbox_file_set_new ();
      char *key = NULL;

      for (guint j = 0; templates[i].files[j] != NULL; j += 2)
        add_text (set, templates[i].files[j], templates[i].files[j + 1]);
      key = make_key (set, templates[i].backend, templates[i].name);
      g_assert_cmpuint (strspn (key, "0123456789abcdef"), ==, 64);
      g_assert_cmpuint (strlen (key), ==, 64);
      g_assert_true (g_hash_table_add (keys, key));
    }
}

static void
test_key_kinds (Fixture      *fixture,
                gconstpointer unused)
{
  static const SandboxFileKind kinds[] = { SANDBOX_FILE_KIND_FILE, SANDBOX_FILE_KIND_EXECUTABLE, SANDBOX_FILE_KIND_LINK };
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  SandboxTemplateKey *key = NULL;
  guint8              digest[SANDBOX_DIGEST_BYTES] = { 'd', 0, 0, 0, 0, 0, 0, 0, 1, 'x' };

  g_test_summary ("Neither have a file, a program, a link and an empty directory of one name");

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      key = sandbox_template_key_new ("b", "n");
      sandbox_template_key_add (key, "a", kinds[i], digest);
      g_assert_true (g_hash_table_add (keys, sandbox_template_key_end (key)));
    }
  key = sandbox_template_key_new ("b", "n");
  sandbox_template_key_add (key, "a", SANDBOX_FILE_KIND_DIRECTORY, NULL);
  g_assert_true (g_hash_table_add (keys, sandbox_template_key_end (key)));
  key = sandbox_template_key_new ("b", "n");
  g_assert_true (g_hash_table_add (keys, sandbox_template_key_end (key)));

  /* A digest that looks like what could follow it */
  key = sandbox_template_key_new ("b", "n");
  sandbox_template_key_add (key, "a", SANDBOX_FILE_KIND_FILE, digest);
  sandbox_template_key_add (key, "b", SANDBOX_FILE_KIND_DIRECTORY, NULL);
  g_assert_true (g_hash_table_add (keys, sandbox_template_key_end (key)));
}

static void
test_key_same (Fixture      *fixture,
               gconstpointer unused)
{
  static const char *const locales[] = { "C", "C.UTF-8" };
  g_autoptr (SandboxFileSet) other = sandbox_file_set_new ();
  g_autofree char *key = NULL;
  g_autofree char *other_key = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The same tree has the same key, however it was put together and in every locale");

  fixture_make_file (fixture, "B/b", "1", 0755);
  fixture_make_file (fixture, "a-", "2", 0600);
  fixture_make_file (fixture, "a/x", "3", 0644);
  fixture_make_file (fixture, "\xc3\xa9", "4", 0644);
  g_assert_true (sandbox_file_set_add_directory (fixture->set, ".", fixture->directory, &error));
  g_assert_no_error (error);

  add_text (other, "\xc3\xa9", "4");
  add_text (other, "a/x", "3");
  {
    g_autofree char *path = fixture_path (fixture, "B/b");
    g_autoptr (GFile) file = g_file_new_for_path (path);

    g_assert_true (sandbox_file_set_add_file (other, "B/b", file, &error));
  }
  add_text (other, "a-", "2");

  for (guint i = 0; i < G_N_ELEMENTS (locales); i++)
    {
      g_autofree char *again = NULL;

      g_assert_nonnull (setlocale (LC_ALL, locales[i]));
      again = make_key (fixture->set, "bubblewrap", "project");
      if (key == NULL)
        key = g_steal_pointer (&again);
      else
        g_assert_cmpstr (again, ==, key);
    }
  other_key = make_key (other, "bubblewrap", "project");
  g_assert_cmpstr (other_key, ==, key);

  /* Calculated by another program from the description in the header: a key of today is one of tomorrow. */
  g_assert_cmpstr (key, ==, "cdf1742b09b3d6a759344446b7689c64ddd32b9bd2081bf1085d59273c75f56a");
}

static void
test_freeze (Fixture      *fixture,
             gconstpointer unused)
{
  g_autoptr (SandboxFileSet) frozen = NULL;
  g_autoptr (SandboxFileSet) again = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("A set that is used is a copy that nobody can change");

  fixture_make_file (fixture, "f", "1", 0644);
  g_assert_true (sandbox_file_set_add_directory (fixture->set, ".", fixture->directory, NULL));
  frozen = sandbox_file_set_freeze (fixture->set);
  add_text (fixture->set, "later", "2");
  add_text (fixture->set, "../bad", "3");

  again = sandbox_file_set_freeze (frozen);
  g_assert_true (again == frozen);
  g_assert_true (sandbox_file_set_validate (frozen, NULL));
  g_assert_cmpuint (sandbox_file_set_get_n_files (frozen), ==, 1);
  g_assert_cmpuint (sandbox_file_set_get_total_bytes (frozen), ==, 1);

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*frozen*");
  add_text (frozen, "x", "1");
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*frozen*");
  g_assert_false (sandbox_file_set_add_directory (frozen, "x", fixture->directory, &error));
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*frozen*");
  g_assert_false (sandbox_file_set_add_file (frozen, "x", fixture->directory, &error));
  g_test_assert_expected_messages ();

  text = describe (frozen);
  g_assert_cmpstr (text, ==, "f f=1\n");
}

#define ADD(path, function) g_test_add ("/file-set/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("add", test_add);
  ADD ("bytes-copied", test_bytes_copied);
  ADD ("impossible", test_impossible);
  ADD ("count-limit", test_count_limit);
  ADD ("depth-limit", test_depth_limit);
  ADD ("size-limit", test_size_limit);
  ADD ("add-file", test_add_file);
  ADD ("add-file-refused", test_add_file_refused);
  ADD ("add-directory", test_add_directory);
  ADD ("add-directory-root", test_add_directory_root);
  ADD ("add-directory-refused", test_add_directory_refused);
  ADD ("add-directory-mount", test_add_directory_mount);
  ADD ("key", test_key);
  ADD ("key-kinds", test_key_kinds);
  ADD ("key-same", test_key_same);
  ADD ("freeze", test_freeze);

  return g_test_run ();
}
