/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "workspace-fixture.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

/* The three operations, each with what is expected of it. */

static void
assert_read (Fixture    *fixture,
             const char *path,
             const char *content)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = sandbox_contained_read (fixture->root, path, 0, 1024 * 1024, &error);

  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), content, strlen (content));
}

static void
assert_write (Fixture          *fixture,
              const char       *path,
              const char       *content,
              SandboxWriteFlags flags)
{
  g_autoptr (GError) error = NULL;

  sandbox_contained_write (fixture->root, path, content, strlen (content), 0, flags, &error);
  g_assert_no_error (error);
}

static void
assert_remove (Fixture           *fixture,
               const char        *path,
               SandboxRemoveFlags flags)
{
  g_autoptr (GError) error = NULL;

  sandbox_contained_remove (fixture->root, path, flags, NULL, NULL, &error);
  g_assert_no_error (error);
}

static void
assert_read_fails (Fixture     *fixture,
                   const char  *path,
                   SandboxError code,
                   const char  *message)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = sandbox_contained_read (fixture->root, path, 0, 1024 * 1024, &error);

  g_assert_error (error, SANDBOX_ERROR, (int) code);
  g_assert_null (bytes);
  if (message != NULL)
    g_assert_cmpstr (error->message, ==, message);
  g_assert_null (strstr (error->message, fixture->top));
}

static void
assert_write_fails (Fixture          *fixture,
                    const char       *path,
                    SandboxWriteFlags flags,
                    SandboxError      code,
                    const char       *message)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (sandbox_contained_write (fixture->root, path, "new", 3, 0, flags, &error));
  g_assert_error (error, SANDBOX_ERROR, (int) code);
  if (message != NULL)
    g_assert_cmpstr (error->message, ==, message);
  g_assert_null (strstr (error->message, fixture->top));
}

static void
assert_remove_fails (Fixture           *fixture,
                     const char        *path,
                     SandboxRemoveFlags flags,
                     SandboxError       code,
                     const char        *message)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (sandbox_contained_remove (fixture->root, path, flags, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, (int) code);
  if (message != NULL)
    g_assert_cmpstr (error->message, ==, message);
  g_assert_null (strstr (error->message, fixture->top));
}

static void
test_read (Fixture      *fixture,
           gconstpointer walk)
{
  const struct
  {
    guint64     offset;
    guint64     max;
    const char *content;
  } parts[] = {
    { 0, 10, "0123456789" }, { 0, 4, "0123" }, { 3, 4, "3456" }, { 8, 4, "89" }, { 0, 0, "" }, { 10, 1, "" }, { 11, 1, "" }, { G_MAXUINT64, G_MAXUINT64, "" }, { 0, G_MAXUINT64, "0123456789" }, { 9, G_MAXUINT64, "9" }
  };

  g_test_summary ("Parts of a file, and what is none");
  guest_make_directory (fixture, "d");
  guest_make_directory (fixture, "d/e");
  guest_make_file (fixture, "d/e/f", "0123456789");
  guest_make_file (fixture, "empty", "");

  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) bytes = sandbox_contained_read (fixture->root, "d/e/f", parts[i].offset, parts[i].max, &error);

      g_assert_no_error (error);
      g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes),
                       parts[i].content, strlen (parts[i].content));
    }
  assert_read (fixture, "empty", "");

  assert_read_fails (fixture, "d/e/none", SANDBOX_ERROR_NOT_FOUND, "Cannot read “d/e/none”: No such file or directory");
  assert_read_fails (fixture, "none/f", SANDBOX_ERROR_NOT_FOUND, NULL);
  assert_read_fails (fixture, "d/e", SANDBOX_ERROR_INVALID, "Cannot read “d/e”: Is a directory");
  assert_read_fails (fixture, ".", SANDBOX_ERROR_INVALID, NULL);
  assert_read_fails (fixture, "d/e/f/g", SANDBOX_ERROR_PATH, "Cannot read “d/e/f/g”: “d/e/f” is not a directory");
}

static void
test_read_large (Fixture      *fixture,
                 gconstpointer walk)
{
  const gsize      size = 9 * 1024 * 1024 + 5;
  g_autofree char *data = g_malloc (size);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;

  g_test_summary ("More than the first buffer holds, written and read");
  for (gsize i = 0; i < size; i++)
    data[i] = i % 251;

  sandbox_contained_write (fixture->root, "large", data, size, 0, SANDBOX_WRITE_FLAGS_NONE, &error);
  g_assert_no_error (error);
  bytes = sandbox_contained_read (fixture->root, "large", 0, G_MAXUINT64, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), data, size);
}

static void
test_write (Fixture      *fixture,
            gconstpointer walk)
{
  g_test_summary ("New, replaced, exclusive, with parents");
  assert_write (fixture, "f", "one", SANDBOX_WRITE_FLAGS_NONE);
  guest_assert_content (fixture, "f", "one");
  assert_write (fixture, "f", "", SANDBOX_WRITE_FLAGS_NONE);
  guest_assert_content (fixture, "f", "");
  assert_write (fixture, "g", "two", SANDBOX_WRITE_FLAGS_EXCLUSIVE);
  guest_assert_content (fixture, "g", "two");

  assert_write_fails (fixture, "g", SANDBOX_WRITE_FLAGS_EXCLUSIVE, SANDBOX_ERROR_EXISTS,
                      "Cannot write “g”: File exists");
  assert_write_fails (fixture, "a/b/c", SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_NOT_FOUND, NULL);
  assert_write (fixture, "a/b/c", "three", SANDBOX_WRITE_FLAGS_PARENTS);
  guest_assert_content (fixture, "a/b/c", "three");
  assert_write (fixture, "a/b/d", "four", SANDBOX_WRITE_FLAGS_PARENTS | SANDBOX_WRITE_FLAGS_EXCLUSIVE);
  assert_write_fails (fixture, "a", SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_INVALID, "Cannot write “a”: Is a directory");
  assert_write_fails (fixture, ".", SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_INVALID, NULL);
  assert_write_fails (fixture, "f/x", SANDBOX_WRITE_FLAGS_PARENTS, SANDBOX_ERROR_PATH,
                      "Cannot write “f/x”: “f” is not a directory");
  g_assert_cmpuint (guest_count (fixture, "."), ==, 3);
  g_assert_cmpuint (guest_count (fixture, "a/b"), ==, 2);
}

static void
test_remove (Fixture      *fixture,
             gconstpointer walk)
{
  g_test_summary ("Files, directories, and what is missing");
  assert_write (fixture, "d/e/f", "x", SANDBOX_WRITE_FLAGS_PARENTS);
  assert_write (fixture, "d/g", "x", SANDBOX_WRITE_FLAGS_NONE);

  assert_remove_fails (fixture, "d", SANDBOX_REMOVE_FLAGS_NONE, SANDBOX_ERROR_EXISTS,
                       "Cannot remove “d”: Directory not empty");
  assert_remove (fixture, "d/e/f", SANDBOX_REMOVE_FLAGS_NONE);
  assert_remove (fixture, "d/e", SANDBOX_REMOVE_FLAGS_NONE);
  assert_remove_fails (fixture, "d/e", SANDBOX_REMOVE_FLAGS_RECURSIVE, SANDBOX_ERROR_NOT_FOUND, NULL);
  assert_remove_fails (fixture, "d/e/f", SANDBOX_REMOVE_FLAGS_NONE, SANDBOX_ERROR_NOT_FOUND, NULL);
  assert_remove (fixture, "d/e", SANDBOX_REMOVE_FLAGS_MISSING_OK);
  assert_remove (fixture, "d/e/f", SANDBOX_REMOVE_FLAGS_MISSING_OK | SANDBOX_REMOVE_FLAGS_RECURSIVE);
  assert_remove_fails (fixture, "d/g/h", SANDBOX_REMOVE_FLAGS_MISSING_OK, SANDBOX_ERROR_PATH, NULL);
  assert_remove_fails (fixture, ".", SANDBOX_REMOVE_FLAGS_RECURSIVE | SANDBOX_REMOVE_FLAGS_MISSING_OK,
                       SANDBOX_ERROR_PATH, NULL);
  g_assert_true (guest_has (fixture, "d/g"));
  assert_remove (fixture, "d", SANDBOX_REMOVE_FLAGS_RECURSIVE);
  g_assert_cmpuint (guest_count (fixture, "."), ==, 0);
}

static void
test_case_71 (Fixture      *fixture,
              gconstpointer walk)
{
  const char *const targets[] = { "/etc/passwd", "../outside/secret", "c", "nowhere", "../outside", "." };

  g_test_summary ("Final symlink: refused, and only the link is removed");
  for (gsize i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      guest_make_link (fixture, targets[i], "c");
      assert_read_fails (fixture, "c", SANDBOX_ERROR_PATH, "Cannot read “c”: “c” is a symbolic link");
      assert_write_fails (fixture, "c", SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_PATH,
                          "Cannot write “c”: “c” is a symbolic link");
      assert_write_fails (fixture, "c", SANDBOX_WRITE_FLAGS_EXCLUSIVE, SANDBOX_ERROR_EXISTS, NULL);
      assert_remove (fixture, "c", i % 2 == 0 ? SANDBOX_REMOVE_FLAGS_NONE : SANDBOX_REMOVE_FLAGS_RECURSIVE);
      g_assert_cmpuint (guest_count (fixture, "."), ==, 0);
    }
}

static void
test_case_72 (Fixture      *fixture,
              gconstpointer walk)
{
  const char *const targets[] = { "../outside", "/tmp", "real", "." };

  g_test_summary ("Symlinked parent: refused, and named");
  guest_make_directory (fixture, "real");
  guest_make_file (fixture, "real/x", "inside");
  for (gsize i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      guest_make_link (fixture, targets[i], "real/d");
      assert_read_fails (fixture, "real/d/x", SANDBOX_ERROR_PATH,
                         "Cannot read “real/d/x”: “real/d” is a symbolic link");
      assert_read_fails (fixture, "real/d/deep/x", SANDBOX_ERROR_PATH, NULL);
      assert_write_fails (fixture, "real/d/x", SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_PATH,
                          "Cannot write “real/d/x”: “real/d” is a symbolic link");
      assert_write_fails (fixture, "real/d/new/x", SANDBOX_WRITE_FLAGS_PARENTS, SANDBOX_ERROR_PATH, NULL);
      assert_remove_fails (fixture, "real/d/x", SANDBOX_REMOVE_FLAGS_RECURSIVE, SANDBOX_ERROR_PATH,
                           "Cannot remove “real/d/x”: “real/d” is a symbolic link");
      assert_remove_fails (fixture, "real/d/sub", SANDBOX_REMOVE_FLAGS_RECURSIVE | SANDBOX_REMOVE_FLAGS_MISSING_OK,
                           SANDBOX_ERROR_PATH, NULL);
      assert_remove (fixture, "real/d", SANDBOX_REMOVE_FLAGS_RECURSIVE);
    }
  guest_assert_content (fixture, "real/x", "inside");
}

static void
test_case_73 (Fixture      *fixture,
              gconstpointer walk)
{
  const char *const paths[] = { "..", "../outside/x", "real/../../outside/x", "real/..", "/etc/passwd", "/" };

  g_test_summary ("Escapes: even what the one function for paths never lets through leads nowhere");
  guest_make_directory (fixture, "real");
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      assert_read_fails (fixture, paths[i], SANDBOX_ERROR_PATH, NULL);
      assert_write_fails (fixture, paths[i], SANDBOX_WRITE_FLAGS_PARENTS, SANDBOX_ERROR_PATH, NULL);
      assert_remove_fails (fixture, paths[i], SANDBOX_REMOVE_FLAGS_RECURSIVE | SANDBOX_REMOVE_FLAGS_MISSING_OK,
                           SANDBOX_ERROR_PATH, NULL);
    }
}

static void
test_case_74 (Fixture      *fixture,
              gconstpointer walk)
{
  g_test_summary ("Replace through a link: whatever is written, the outside file stays");
  guest_make_link (fixture, "../outside/secret", "link");
  assert_write_fails (fixture, "link", SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_PATH, NULL);
  assert_write_fails (fixture, "link", SANDBOX_WRITE_FLAGS_PARENTS, SANDBOX_ERROR_PATH, NULL);
  assert_write_fails (fixture, "link", SANDBOX_WRITE_FLAGS_EXCLUSIVE, SANDBOX_ERROR_EXISTS, NULL);
  g_assert_cmpuint (guest_count (fixture, "."), ==, 1);
}

static void
test_case_75 (Fixture      *fixture,
              gconstpointer walk)
{
  const char *const targets[] = { "/proc/self/root", "/proc/self/cwd", "/proc/self/fd/0", "/proc/self/exe" };

  g_test_summary ("Magic links: refused");
  for (gsize i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      guest_make_link (fixture, targets[i], "m");
      assert_read_fails (fixture, "m", SANDBOX_ERROR_PATH, NULL);
      assert_read_fails (fixture, "m/etc/passwd", SANDBOX_ERROR_PATH, NULL);
      assert_write_fails (fixture, "m/tmp/x", SANDBOX_WRITE_FLAGS_PARENTS, SANDBOX_ERROR_PATH, NULL);
      assert_write_fails (fixture, "m", SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_PATH, NULL);
      assert_remove (fixture, "m", SANDBOX_REMOVE_FLAGS_RECURSIVE);
    }
}

static void
test_case_76 (Fixture      *fixture,
              gconstpointer walk)
{
  g_autofree char *secret = g_build_filename (fixture->outside, "secret", NULL);

  g_test_summary ("Hard link to a file outside: writing cuts it, the outside file is unchanged");
  g_assert_cmpint (linkat (AT_FDCWD, secret, fixture->root, "h", 0), ==, 0);
  assert_read (fixture, "h", MARKER);
  assert_write (fixture, "h", "inside", SANDBOX_WRITE_FLAGS_NONE);
  guest_assert_content (fixture, "h", "inside");
}

static void
test_case_77 (Fixture      *fixture,
              gconstpointer walk)
{
  struct rlimit    limit, small = { 1000, 1000 };
  g_autofree char *data = g_malloc0 (5000);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Truncation before the check: a refused write leaves the old content");
  guest_make_file (fixture, "f", "old");
  assert_write_fails (fixture, "f", SANDBOX_WRITE_FLAGS_EXCLUSIVE, SANDBOX_ERROR_EXISTS, NULL);
  guest_assert_content (fixture, "f", "old");

  /* Over the limit of this process, which the kernel would tell with a signal */
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  small.rlim_max = limit.rlim_max;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &small), ==, 0);
  g_assert_false (sandbox_contained_write (fixture->root, "f", data, 5000, 0, SANDBOX_WRITE_FLAGS_NONE, &error));
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  guest_assert_content (fixture, "f", "old");
  g_assert_cmpuint (guest_count (fixture, "."), ==, 1);
}

static void
test_case_78 (Fixture      *fixture,
              gconstpointer walk)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const char *const  names[] = { "fifo", "socket", "device" };
  const gsize        n_names = geteuid () == 0 ? 3 : 2;
  char               events[4096];
  int                inotify = inotify_init1 (IN_NONBLOCK | IN_CLOEXEC);
  int                sock = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_test_summary ("FIFOs, sockets and devices: refused at once, never opened, removed like files");
  g_assert_cmpint (mkfifoat (fixture->root, "fifo", 0666), ==, 0);
  g_snprintf (address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", fixture->root);
  g_assert_cmpint (bind (sock, (struct sockaddr *) &address, sizeof address), ==, 0);
  /* Only root can make one */
  if (n_names == 3)
    g_assert_cmpint (mknodat (fixture->root, "device", S_IFCHR | 0666, makedev (1, 5)), ==, 0);

  g_assert_cmpint (inotify_add_watch (inotify, fixture->inside, IN_OPEN), >=, 0);
  for (gsize i = 0; i < n_names; i++)
    {
      g_autofree char *read = g_strdup_printf ("Cannot read “%s”: it is not a regular file", names[i]);
      g_autofree char *write = g_strdup_printf ("Cannot write “%s”: it is not a regular file", names[i]);
      g_autofree char *below = g_strdup_printf ("%s/x", names[i]);

      assert_read_fails (fixture, names[i], SANDBOX_ERROR_INVALID, read);
      assert_write_fails (fixture, names[i], SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_INVALID, write);
      assert_read_fails (fixture, below, SANDBOX_ERROR_PATH, NULL);
      g_assert_true (guest_has (fixture, names[i]));
    }
  g_assert_cmpint (read (inotify, events, sizeof events), ==, -1);
  g_assert_cmpint (errno, ==, EAGAIN);

  for (gsize i = 0; i < n_names; i++)
    assert_remove (fixture, names[i], SANDBOX_REMOVE_FLAGS_NONE);
  g_assert_cmpuint (guest_count (fixture, "."), ==, 0);
  close (sock);
  close (inotify);
}

static void
test_case_79 (Fixture      *fixture,
              gconstpointer walk)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GBytes) late = NULL;
  g_autofree char *zeros = g_malloc0 (1024 * 1024);
  struct rusage    before, after;
  int              fd;

  g_test_summary ("Sparse giant: costs what is asked for");
  guest_make_file (fixture, "giant", "");
  fd = openat (fixture->root, "giant", O_WRONLY | O_CLOEXEC);
  g_assert_cmpint (ftruncate (fd, G_GINT64_CONSTANT (1) << 40), ==, 0);
  close (fd);

  g_assert_cmpint (getrusage (RUSAGE_SELF, &before), ==, 0);
  bytes = sandbox_contained_read (fixture->root, "giant", 0, 1024 * 1024, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), zeros, 1024 * 1024);
  late = sandbox_contained_read (fixture->root, "giant", (G_GUINT64_CONSTANT (1) << 40) - 10, 1024 * 1024, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (late, NULL), g_bytes_get_size (late), zeros, 10);
  g_assert_cmpint (getrusage (RUSAGE_SELF, &after), ==, 0);
  g_assert_cmpint (after.ru_maxrss - before.ru_maxrss, <, 64 * 1024);
  assert_remove (fixture, "giant", SANDBOX_REMOVE_FLAGS_NONE);
}

typedef struct
{
  Fixture *fixture;
  int      stop;
} Mutator;

static gpointer
case_80_replace (gpointer data)
{
  Mutator         *mutator = data;
  g_autofree char *text = g_malloc (40000);

  for (guint i = 0; !g_atomic_int_get (&mutator->stop); i++)
    {
      g_autoptr (GError) error = NULL;

      memset (text, i % 2 == 0 ? 'a' : 'b', 40000);
      sandbox_contained_write (mutator->fixture->root, "whole", text, i % 2 == 0 ? 40000 : 20000, 0,
                               SANDBOX_WRITE_FLAGS_NONE, &error);
      g_assert_no_error (error);
    }

  return NULL;
}

static gpointer
case_80_in_place (gpointer data)
{
  Mutator         *mutator = data;
  g_autofree char *text = g_malloc (40000);
  int              fd = openat (mutator->fixture->root, "shared", O_RDWR | O_CLOEXEC);

  memset (text, 'c', 40000);
  while (!g_atomic_int_get (&mutator->stop))
    {
      g_assert_cmpint (pwrite (fd, text, 40000, 0), ==, 40000);
      g_assert_cmpint (pwrite (fd, text, 40000, 40000), ==, 40000);
      g_assert_cmpint (ftruncate (fd, 100), ==, 0);
      g_assert_cmpint (ftruncate (fd, 0), ==, 0);
    }
  close (fd);

  return NULL;
}

static void
test_case_80 (Fixture      *fixture,
              gconstpointer walk)
{
  Mutator mutator = { fixture, FALSE };
  g_autoptr (GThread) replace = NULL;
  g_autoptr (GThread) in_place = NULL;
  guint changed = 0;

  g_test_summary ("A file that changes while it is read: whole, or an error, and never over the bound");
  assert_write (fixture, "whole", "", SANDBOX_WRITE_FLAGS_NONE);
  assert_write (fixture, "shared", "", SANDBOX_WRITE_FLAGS_NONE);
  replace = g_thread_new ("replace", case_80_replace, &mutator);
  in_place = g_thread_new ("in-place", case_80_in_place, &mutator);

  for (guint i = 0; i < 1000; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) whole = sandbox_contained_read (fixture->root, "whole", 0, 100000, &error);
      g_autoptr (GBytes) shared = NULL;
      const char *text;
      gsize       size;

      g_assert_no_error (error);
      text = g_bytes_get_data (whole, &size);
      g_assert_true (size == 0 || (size == 40000 && text[0] == 'a') || (size == 20000 && text[0] == 'b'));
      for (gsize j = 1; j < size; j++)
        g_assert_true (text[j] == text[0]);

      shared = sandbox_contained_read (fixture->root, "shared", 0, 50000, &error);
      if (shared == NULL)
        {
          g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
          changed++;
          continue;
        }
      text = g_bytes_get_data (shared, &size);
      g_assert_cmpuint (size, <=, 50000);
      for (gsize j = 0; j < size; j++)
        g_assert_true (text[j] == 'c' || text[j] == '\0');
    }

  g_atomic_int_set (&mutator.stop, TRUE);
  g_thread_join (g_steal_pointer (&replace));
  g_thread_join (g_steal_pointer (&in_place));
  g_test_message ("%u of 1000 reads were given up", changed);
}

static void
test_names (Fixture           *fixture,
            const char *const *names)
{
  guint n = g_strv_length ((GStrv) names);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *deep = g_strdup_printf ("dir%u/%s", i, names[i]);

      assert_write (fixture, names[i], names[i], SANDBOX_WRITE_FLAGS_EXCLUSIVE);
      assert_write (fixture, deep, names[i], SANDBOX_WRITE_FLAGS_PARENTS);
    }
  g_assert_cmpuint (guest_count (fixture, "."), ==, 2 * n);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *dir = g_strdup_printf ("dir%u", i);
      g_autofree char *below = g_strdup_printf ("%s/x", names[i]);
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) none = NULL;

      guest_assert_content (fixture, names[i], names[i]);
      assert_read (fixture, names[i], names[i]);
      assert_write (fixture, names[i], "new", SANDBOX_WRITE_FLAGS_NONE);
      assert_read (fixture, names[i], "new");

      /* What an error says is text of one line */
      none = sandbox_contained_read (fixture->root, below, 0, 1, &error);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      for (const char *at = error->message; *at != '\0'; at++)
        g_assert_false (g_ascii_iscntrl (*at));

      assert_remove (fixture, names[i], SANDBOX_REMOVE_FLAGS_NONE);
      assert_remove (fixture, dir, SANDBOX_REMOVE_FLAGS_RECURSIVE);
      g_assert_cmpuint (guest_count (fixture, "."), ==, 2 * (n - i - 1));
    }
}

static void
test_case_81 (Fixture      *fixture,
              gconstpointer walk)
{
  const char *const names[] = { "bad\xff\xfename", "\x80", "\xc3", "a\xed\xa0\x80", "\\xff", "\\", NULL };

  g_test_summary ("Names that are not UTF-8");
  test_names (fixture, names);
}

static void
test_case_82 (Fixture      *fixture,
              gconstpointer walk)
{
  g_autofree char  *longest = g_strnfill (255, 'n');
  g_autofree char  *bytes = g_strnfill (255, '\xfe');
  const char *const names[] = { "-rf", "--", "a\nb", "\t", "$(x)", longest, bytes, ".hidden", "...", "   ", "*",
                                "\x1b[31m", ".sandbox-000000000000000000000000", NULL };
  g_autofree char  *too_long = g_strnfill (256, 'n');
  g_autofree char  *below = g_strconcat (too_long, "/x", NULL);

  g_test_summary ("Names that look like options or lines");
  test_names (fixture, names);
  assert_read_fails (fixture, too_long, SANDBOX_ERROR_PATH, NULL);
  assert_write_fails (fixture, too_long, SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_PATH, NULL);
  assert_write_fails (fixture, below, SANDBOX_WRITE_FLAGS_PARENTS, SANDBOX_ERROR_PATH, NULL);
  assert_remove_fails (fixture, too_long, SANDBOX_REMOVE_FLAGS_RECURSIVE, SANDBOX_ERROR_PATH, NULL);
  g_assert_cmpuint (guest_count (fixture, "."), ==, 0);
}

static gpointer
case_83_write (gpointer data)
{
  Fixture *fixture = data;

  for (guint i = 0; i < 300; i++)
    assert_write (fixture, "both", "complete", SANDBOX_WRITE_FLAGS_NONE);

  return NULL;
}

static void
test_case_83 (Fixture      *fixture,
              gconstpointer walk)
{
  g_autofree char *longest = g_strnfill (255, 'n');
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GThread) other = NULL;
  char    events[16384] __attribute__ ((aligned (8)));
  int     inotify = inotify_init1 (IN_NONBLOCK | IN_CLOEXEC);
  ssize_t length;

  g_test_summary ("Temporary names: short, random, used once, gone afterwards");
  assert_write (fixture, longest, "old", SANDBOX_WRITE_FLAGS_NONE);
  g_assert_cmpint (inotify_add_watch (inotify, fixture->inside, IN_CREATE), >=, 0);
  for (guint i = 0; i < 50; i++)
    assert_write (fixture, longest, "new", SANDBOX_WRITE_FLAGS_NONE);
  guest_assert_content (fixture, longest, "new");

  length = read (inotify, events, sizeof events);
  g_assert_cmpint (length, >, 0);
  for (char *at = events; at < events + length;)
    {
      struct inotify_event *event = (struct inotify_event *) at;

      g_assert_true (g_str_has_prefix (event->name, ".sandbox-"));
      g_assert_cmpuint (strlen (event->name), <, 40);
      g_assert_true (g_hash_table_add (seen, g_strdup (event->name)));
      at += sizeof *event + event->len;
    }
  g_assert_cmpuint (g_hash_table_size (seen), ==, 50);
  close (inotify);

  other = g_thread_new ("other", case_83_write, fixture);
  case_83_write (fixture);
  g_thread_join (g_steal_pointer (&other));
  guest_assert_content (fixture, "both", "complete");
  g_assert_cmpuint (guest_count (fixture, "."), ==, 2);
}

static void
test_case_84 (Fixture      *fixture,
              gconstpointer walk)
{
  const struct
  {
    mode_t before;
    mode_t after;
  } modes[] = {
    { 0755, 0755 }, { 0644, 0644 }, { 0700, 0700 }, { 0444, 0444 }, { 04755, 0755 }, { 06711, 0711 }, { 01600, 0600 }, { 0, 0 }, { 0111, 0111 }
  };
  const struct
  {
    guint  asked;
    mode_t made;
  } fresh[] = { { 0, 0644 }, { 0600, 0600 }, { 0755, 0755 }, { 06755, 0755 }, { 0100777, 0777 }, { 0400, 0400 } };
  mode_t mask;

  g_test_summary ("Mode bits after replace: kept, but never set-id; new ones as asked, whatever the umask");
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      guest_make_file (fixture, "script", "old");
      g_assert_cmpint (fchmodat (fixture->root, "script", modes[i].before, 0), ==, 0);
      assert_write (fixture, "script", "new", SANDBOX_WRITE_FLAGS_NONE);
      g_assert_cmpint (guest_get_mode (fixture, "script"), ==, modes[i].after);
      assert_remove (fixture, "script", SANDBOX_REMOVE_FLAGS_NONE);
    }

  mask = umask (077);
  for (gsize i = 0; i < G_N_ELEMENTS (fresh); i++)
    {
      g_autoptr (GError) error = NULL;

      sandbox_contained_write (fixture->root, "a/b/fresh", "x", 1, fresh[i].asked, SANDBOX_WRITE_FLAGS_PARENTS, &error);
      g_assert_no_error (error);
      g_assert_cmpint (guest_get_mode (fixture, "a/b/fresh"), ==, fresh[i].made);
      g_assert_cmpint (guest_get_mode (fixture, "a"), ==, 0755);
      g_assert_cmpint (guest_get_mode (fixture, "a/b"), ==, 0755);
      assert_remove (fixture, "a", SANDBOX_REMOVE_FLAGS_RECURSIVE);
    }
  umask (mask);
}

/* A chain of directories with something at each step. */
static void
case_85_make_deep (Fixture    *fixture,
                   const char *name,
                   guint       depth)
{
  int at = -1;

  guest_make_directory (fixture, name);
  at = openat (fixture->root, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (guint i = 0; i < depth; i++)
    {
      int next;

      g_assert_cmpint (symlinkat ("../../outside", at, "link"), ==, 0);
      if (i % 10 == 0)
        {
          g_assert_cmpint (mkdirat (at, "full", 0755), ==, 0);
          g_assert_cmpint (symlinkat ("/", at, "full/link"), ==, 0);
        }
      g_assert_cmpint (mkdirat (at, "sub", 0755), ==, 0);
      next = openat (at, "sub", O_PATH | O_DIRECTORY | O_CLOEXEC);
      g_assert_cmpint (next, >=, 0);
      close (at);
      at = next;
    }
  close (at);
}

static void
test_case_85_deep (Fixture      *fixture,
                   gconstpointer walk)
{
  struct rlimit limit, few;

  g_test_summary ("Recursive delete: 3,000 levels with few descriptors");
  case_85_make_deep (fixture, "deep", 3000);
  guest_make_file (fixture, "other", "stays");

  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  few = limit;
  few.rlim_cur = test_count_descriptors () + 30;
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &few), ==, 0);
  assert_remove (fixture, "deep", SANDBOX_REMOVE_FLAGS_RECURSIVE);
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  guest_assert_content (fixture, "other", "stays");
  g_assert_cmpuint (guest_count (fixture, "."), ==, 1);
}

static void
test_case_85_wide (Fixture      *fixture,
                   gconstpointer walk)
{
  /* Each entry takes the same way in both modes */
  const guint n = GPOINTER_TO_INT (walk) || g_getenv ("SANDBOX_TEST_VALGRIND") != NULL ? 10000 : 300000;
  char        name[32];

  g_test_summary ("Recursive delete: 300,000 entries");
  guest_make_directory (fixture, "wide");
  for (guint i = 0; i < n; i++)
    {
      g_snprintf (name, sizeof name, "wide/%u", i);
      if (i % 100 == 0)
        guest_make_directory (fixture, name);
      else
        g_assert_cmpint (mknodat (fixture->root, name, S_IFREG | 0644, 0), ==, 0);
    }

  g_test_timer_start ();
  assert_remove (fixture, "wide", SANDBOX_REMOVE_FLAGS_RECURSIVE);
  g_test_message ("%u entries were removed in %.3f s", n, g_test_timer_elapsed ());
  g_assert_false (guest_has (fixture, "wide"));
}

static void
test_case_85_modes (Fixture      *fixture,
                    gconstpointer walk)
{
  const mode_t modes[] = { 0, 0100, 0200, 0300, 0400, 0500, 0600, 0700 };
  g_autoptr (GString) path = g_string_new ("deep");
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  g_test_summary ("Recursive delete: directories that forbid it");
  guest_make_directory (fixture, "t");
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *dir = g_strdup_printf ("t/%03o", modes[i]);
      g_autofree char *sub = g_strconcat (dir, "/sub", NULL);
      g_autofree char *file = g_strconcat (dir, "/sub/file", NULL);

      guest_make_directory (fixture, dir);
      guest_make_directory (fixture, sub);
      guest_make_file (fixture, file, "x");
      g_assert_cmpint (fchmodat (fixture->root, sub, modes[i], 0), ==, 0);
      g_assert_cmpint (fchmodat (fixture->root, dir, modes[i], 0), ==, 0);
    }
  assert_remove (fixture, "t", SANDBOX_REMOVE_FLAGS_RECURSIVE);
  g_assert_cmpuint (guest_count (fixture, "."), ==, 0);

  /* Deep enough that the way up leads through directories that have been closed meanwhile */
  case_85_make_deep (fixture, "deep", 60);
  for (guint i = 0; i < 60; i++)
    {
      g_string_append (path, "/sub");
      g_ptr_array_add (paths, g_strdup (path->str));
    }
  for (guint i = paths->len; i > 0; i--)
    g_assert_cmpint (fchmodat (fixture->root, g_ptr_array_index (paths, i - 1), modes[i % 8], 0), ==, 0);
  assert_remove (fixture, "deep", SANDBOX_REMOVE_FLAGS_RECURSIVE);
  g_assert_cmpuint (guest_count (fixture, "."), ==, 0);
}

/* Something happens in the middle of a removal. */
typedef struct
{
  Fixture *fixture;
  guint    at;
  guint    calls;
  int      errsv;
  void (*act) (Fixture *fixture);
} Middle;

static int
middle_check (gpointer data)
{
  Middle *middle = data;

  if (++middle->calls != middle->at)
    return 0;
  if (middle->act != NULL)
    middle->act (middle->fixture);

  return middle->errsv;
}

static void
case_85_move_away (Fixture *fixture)
{
  g_autoptr (GString) path = g_string_new ("deep");

  for (guint i = 0; i < 20; i++)
    g_string_append (path, "/sub");
  /* No longer there, perhaps */
  renameat (fixture->root, path->str, fixture->root, "aside");
}

static void
case_85_swap_for_link (Fixture *fixture)
{
  /* No longer there, perhaps */
  renameat2 (fixture->root, "t/sub", fixture->root, "link", RENAME_EXCHANGE);
}

static void
test_case_85_moves (Fixture      *fixture,
                    gconstpointer walk)
{
  g_test_summary ("Recursive delete: directories that are moved or swapped for links meanwhile");

  /* Moved up at every moment, nearly. Where it goes, the same names stand, and must stay. */
  guest_make_file (fixture, "sub", "stays");
  guest_make_file (fixture, "full", "stays");
  guest_make_file (fixture, "link", "stays");
  for (guint at = 1;; at += 3)
    {
      Middle middle = { fixture, at, .act = case_85_move_away };
      g_autoptr (GError) error = NULL;

      case_85_make_deep (fixture, "deep", 40);
      sandbox_contained_remove (fixture->root, "deep", SANDBOX_REMOVE_FLAGS_RECURSIVE, middle_check, &middle, &error);
      g_assert_no_error (error);
      g_assert_false (guest_has (fixture, "deep"));
      guest_assert_content (fixture, "sub", "stays");
      guest_assert_content (fixture, "full", "stays");
      guest_assert_content (fixture, "link", "stays");
      if (!guest_has (fixture, "aside"))
        {
          g_assert_cmpuint (at, >, 100);
          break;
        }
      assert_remove (fixture, "aside", SANDBOX_REMOVE_FLAGS_RECURSIVE);
    }
  assert_remove (fixture, "link", SANDBOX_REMOVE_FLAGS_NONE);

  for (guint at = 1; at < 12; at++)
    {
      Middle middle = { fixture, at, .act = case_85_swap_for_link };
      g_autoptr (GError) error = NULL;

      assert_write (fixture, "t/sub/x", "x", SANDBOX_WRITE_FLAGS_PARENTS);
      assert_write (fixture, "t/sub/sub/y", "x", SANDBOX_WRITE_FLAGS_PARENTS);
      guest_make_link (fixture, "../../outside", "link");
      sandbox_contained_remove (fixture->root, "t", SANDBOX_REMOVE_FLAGS_RECURSIVE, middle_check, &middle, &error);
      g_assert_no_error (error);
      g_assert_false (guest_has (fixture, "t"));
      assert_remove (fixture, "link", SANDBOX_REMOVE_FLAGS_RECURSIVE);
      if (middle.calls < at)
        break;
    }
}

static void
test_interrupted (Fixture      *fixture,
                  gconstpointer walk)
{
  Middle cancelled = { fixture, 3, .errsv = ECANCELED };
  Middle late = { fixture, 3, .errsv = ETIMEDOUT };
  g_autoptr (GError) error = NULL;

  g_test_summary ("A removal ends between two entries");
  case_85_make_deep (fixture, "deep", 20);
  g_assert_false (sandbox_contained_remove (fixture->root, "deep", SANDBOX_REMOVE_FLAGS_RECURSIVE,
                                            middle_check, &cancelled, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (cancelled.calls, ==, 3);
  g_clear_error (&error);
  g_assert_false (sandbox_contained_remove (fixture->root, "deep", SANDBOX_REMOVE_FLAGS_RECURSIVE,
                                            middle_check, &late, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_true (guest_has (fixture, "deep"));
}

static void
test_case_85_mounts (Fixture      *fixture,
                     gconstpointer walk)
{
  g_autofree char *tree = g_build_filename (fixture->inside, "tree/m", NULL);
  g_autofree char *file = g_build_filename (fixture->inside, "file", NULL);
  g_autofree char *secret = g_build_filename (fixture->outside, "secret", NULL);
  g_autofree char *again = g_build_filename (fixture->inside, "again", NULL);

  g_test_summary ("Mounts inside: of the same file system too, nothing enters or removes them");
  if (!fixture_is_subprocess (fixture))
    return;

  guest_enter_mount_namespace (fixture);
  guest_make_directory (fixture, "tree");
  guest_make_directory (fixture, "tree/m");
  guest_make_directory (fixture, "again");
  guest_make_file (fixture, "file", "under");
  g_assert_cmpint (mount (fixture->outside, tree, NULL, MS_BIND, NULL), ==, 0);
  g_assert_cmpint (mount (secret, file, NULL, MS_BIND, NULL), ==, 0);
  g_assert_cmpint (mount ("tmpfs", again, "tmpfs", 0, NULL), ==, 0);

  assert_read_fails (fixture, "tree/m/secret", SANDBOX_ERROR_PATH,
                     "Cannot read “tree/m/secret”: “tree/m” leads out of the workspace");
  assert_read_fails (fixture, "file", SANDBOX_ERROR_PATH, "Cannot read “file”: “file” leads out of the workspace");
  assert_write_fails (fixture, "tree/m/new", SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_PATH, NULL);
  assert_write_fails (fixture, "tree/m/deep/new", SANDBOX_WRITE_FLAGS_PARENTS, SANDBOX_ERROR_PATH, NULL);
  assert_write_fails (fixture, "again/new", SANDBOX_WRITE_FLAGS_PARENTS, SANDBOX_ERROR_PATH, NULL);
  assert_write_fails (fixture, "file", SANDBOX_WRITE_FLAGS_NONE, SANDBOX_ERROR_PATH,
                      "Cannot write “file”: “file” leads out of the workspace");
  assert_remove_fails (fixture, "tree/m/secret", SANDBOX_REMOVE_FLAGS_NONE, SANDBOX_ERROR_PATH, NULL);
  assert_remove_fails (fixture, "tree/m", SANDBOX_REMOVE_FLAGS_RECURSIVE, SANDBOX_ERROR_PATH, NULL);
  assert_remove_fails (fixture, "tree", SANDBOX_REMOVE_FLAGS_RECURSIVE, SANDBOX_ERROR_PATH,
                       "Cannot remove “tree/m”: “tree/m” leads out of the workspace");
  assert_remove_fails (fixture, "file", SANDBOX_REMOVE_FLAGS_NONE, SANDBOX_ERROR_PATH, NULL);
  assert_remove_fails (fixture, "again", SANDBOX_REMOVE_FLAGS_RECURSIVE, SANDBOX_ERROR_PATH, NULL);

  g_assert_cmpint (umount (tree), ==, 0);
  g_assert_cmpint (umount (file), ==, 0);
  g_assert_cmpint (umount (again), ==, 0);
  guest_assert_content (fixture, "file", "under");
}

static void
test_case_88 (Fixture      *fixture,
              gconstpointer walk)
{
  g_autofree char *full = g_build_filename (fixture->inside, "full", NULL);
  g_autofree char *data = g_malloc0 (1024 * 1024);
  g_autoptr (GError) error = NULL;
  int root;

  g_test_summary ("Disk full during a write: old content, no temporary file, and the error says so");
  if (!fixture_is_subprocess (fixture))
    return;

  guest_enter_mount_namespace (fixture);
  guest_make_directory (fixture, "full");
  g_assert_cmpint (mount ("tmpfs", full, "tmpfs", 0, "size=256k"), ==, 0);
  root = open (full, O_PATH | O_DIRECTORY | O_CLOEXEC);
  sandbox_contained_write (root, "f", "old", 3, 0, SANDBOX_WRITE_FLAGS_NONE, &error);
  g_assert_no_error (error);

  for (guint i = 0; i < 3; i++)
    {
      const SandboxWriteFlags flags[] = { SANDBOX_WRITE_FLAGS_NONE, SANDBOX_WRITE_FLAGS_EXCLUSIVE, SANDBOX_WRITE_FLAGS_PARENTS };
      const char *const       names[] = { "f", "new", "g" };
      g_autoptr (GError) full_error = NULL;
      g_autofree char *message = g_strdup_printf ("Cannot write “%s”: No space left on device", names[i]);

      g_assert_false (sandbox_contained_write (root, names[i], data, 1024 * 1024, 0, flags[i], &full_error));
      g_assert_error (full_error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
      g_assert_cmpstr (full_error->message, ==, message);
    }
  guest_assert_content (fixture, "full/f", "old");
  g_assert_cmpuint (guest_count (fixture, "full"), ==, 1);
  close (root);
  g_assert_cmpint (umount (full), ==, 0);
}

static void
case_89_forbid_openat2 (int errsv)
{
  struct sock_filter filter[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errsv),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { G_N_ELEMENTS (filter), filter };

  g_assert_cmpint (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
  g_assert_cmpint (prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), ==, 0);
}

static void
test_case_89 (Fixture      *fixture,
              gconstpointer data)
{
  const int       errsv = GPOINTER_TO_INT (data);
  struct open_how how = { .flags = O_PATH };

  g_test_summary ("openat2 () missing, or forbidden as old containers do: the walk has the same verdicts");
  if (!fixture_is_subprocess (fixture))
    return;

  sandbox_contained_always_walk = FALSE;
  case_89_forbid_openat2 (errsv);
  g_assert_cmpint (syscall (SYS_openat2, fixture->root, ".", &how, sizeof how), ==, -1);
  g_assert_cmpint (errno, ==, errsv);

  assert_write (fixture, "d/e/f", "content", SANDBOX_WRITE_FLAGS_PARENTS);
  assert_read (fixture, "d/e/f", "content");
  guest_make_link (fixture, "../outside", "link");
  assert_read_fails (fixture, "link/secret", SANDBOX_ERROR_PATH, "Cannot read “link/secret”: “link” is a symbolic link");
  assert_write_fails (fixture, "link/new", SANDBOX_WRITE_FLAGS_PARENTS, SANDBOX_ERROR_PATH, NULL);
  assert_read_fails (fixture, "../outside/secret", SANDBOX_ERROR_PATH, NULL);
  assert_remove (fixture, "link", SANDBOX_REMOVE_FLAGS_RECURSIVE);
  assert_remove (fixture, "d", SANDBOX_REMOVE_FLAGS_RECURSIVE);
  g_assert_cmpuint (guest_count (fixture, "."), ==, 0);
}

/* A guest that is quick. It has no way out itself: what it swaps is named by descriptors of its own. */
static gpointer
races_mutate (gpointer data)
{
  Mutator *mutator = data;
  int      root = mutator->fixture->root;
  int      inner = openat (root, "d", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

  while (!g_atomic_int_get (&mutator->stop))
    {
      renameat2 (root, "d", root, "d-link", RENAME_EXCHANGE);
      renameat2 (root, "f", root, "f-link", RENAME_EXCHANGE);
      renameat2 (inner, "e", inner, "e-link", RENAME_EXCHANGE);
      renameat2 (inner, "t", inner, "e-link", RENAME_EXCHANGE);
      renameat2 (root, "t", inner, "t", RENAME_EXCHANGE);
      renameat2 (root, "t", root, "t-link", RENAME_EXCHANGE);
    }
  close (inner);

  return NULL;
}

/* Any verdict is right but one: that something outside was reached. */
static void
races_note (GError **error,
            guint   *done,
            guint   *refused)
{
  if (*error == NULL)
    (*done)++;
  else
    (*refused)++;
  g_assert_true (*error == NULL || (*error)->domain == SANDBOX_ERROR);
  g_clear_error (error);
}

static gboolean
races_have_all (const guint done[3],
                const guint refused[3])
{
  for (gsize i = 0; i < 3; i++)
    {
      if (done[i] == 0 || refused[i] == 0)
        return FALSE;
    }

  return TRUE;
}

static void
test_races (Fixture      *fixture,
            gconstpointer walk)
{
  Mutator mutator = { fixture, FALSE };
  g_autoptr (GThread) thread = NULL;
  gint64 end = g_get_monotonic_time () + 2 * G_TIME_SPAN_SECOND;
  guint  done[3] = { 0 }, refused[3] = { 0 };

  g_test_summary ("Links and directories swapped all the time: nothing outside is read, written or removed");
  guest_make_directory (fixture, "d");
  guest_make_directory (fixture, "d/e");
  guest_make_file (fixture, "d/x", "inside");
  guest_make_file (fixture, "d/e/x", "inside");
  guest_make_file (fixture, "f", "inside");
  guest_make_link (fixture, "../outside", "d-link");
  guest_make_link (fixture, "../outside/secret", "f-link");
  guest_make_link (fixture, "../outside", "t-link");
  guest_make_link (fixture, "../../outside", "d/e-link");
  thread = g_thread_new ("mutate", races_mutate, &mutator);

  /* Both have to be seen of each, however slow the machine is */
  for (gint64 now = 0; now < end || (now < end + 60 * G_TIME_SPAN_SECOND && !races_have_all (done, refused));
       now = g_get_monotonic_time ())
    {
      const char *const readable[] = { "d/x", "f", "d/e/x", "d-link/x", "f-link", "d/t/x", "t/sub/x" };
      const char *const writable[] = { "d/x", "f", "d/e/x", "d/new", "d/t/sub/x", "t/x", "t/sub/sub/y", "d-link/x" };
      const char *const removable[] = { "d/new", "d/t", "t", "d/y", "d/sub", "d/e/sub", "t/sub" };
      g_autoptr (GError) error = NULL;

      for (gsize i = 0; i < G_N_ELEMENTS (readable); i++)
        {
          g_autoptr (GBytes) bytes = sandbox_contained_read (fixture->root, readable[i], 0, 100, &error);

          if (bytes != NULL)
            g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), "inside", 6);
          races_note (&error, &done[0], &refused[0]);
        }
      for (gsize i = 0; i < G_N_ELEMENTS (writable); i++)
        {
          sandbox_contained_write (fixture->root, writable[i], "inside", 6, 0, SANDBOX_WRITE_FLAGS_PARENTS, &error);
          races_note (&error, &done[1], &refused[1]);
        }
      for (gsize i = 0; i < G_N_ELEMENTS (removable); i++)
        {
          sandbox_contained_remove (fixture->root, removable[i], SANDBOX_REMOVE_FLAGS_RECURSIVE, NULL, NULL, &error);
          races_note (&error, &done[2], &refused[2]);
        }
    }

  g_atomic_int_set (&mutator.stop, TRUE);
  g_thread_join (g_steal_pointer (&thread));
  for (gsize i = 0; i < 3; i++)
    {
      const char *const names[] = { "reads", "writes", "removals" };

      g_test_message ("%s: %u done, %u refused", names[i], done[i], refused[i]);
    }
  g_assert_true (races_have_all (done, refused));
}

static void
set_up_in_memory (Fixture      *fixture,
                  gconstpointer walk)
{
  fixture_in_memory = TRUE;
  fixture_set_up (fixture, walk);
  fixture_in_memory = FALSE;
}

int
main (int    argc,
      char **argv)
{
  static const struct
  {
    const char *name;
    void (*test) (Fixture *, gconstpointer);
    gboolean in_memory;
  } tests[] = {
    { "read", test_read },
    { "read-large", test_read_large },
    { "write", test_write },
    { "remove", test_remove },
    { "interrupted", test_interrupted },
    { "case-71-final-symlink", test_case_71 },
    { "case-72-symlinked-parent", test_case_72 },
    { "case-73-escapes", test_case_73 },
    { "case-74-write-through-link", test_case_74 },
    { "case-75-magic-links", test_case_75 },
    { "case-76-hard-link", test_case_76 },
    { "case-77-truncation", test_case_77 },
    { "case-78-special-files", test_case_78 },
    { "case-79-sparse-giant", test_case_79 },
    { "case-80-changing-file", test_case_80 },
    { "case-81-names-not-utf8", test_case_81 },
    { "case-82-odd-names", test_case_82 },
    { "case-83-temporary-names", test_case_83 },
    { "case-84-modes", test_case_84 },
    { "case-85-deep", test_case_85_deep, TRUE },
    { "case-85-wide", test_case_85_wide, TRUE },
    { "case-85-modes", test_case_85_modes },
    { "case-85-moves", test_case_85_moves, TRUE },
    { "case-85-mounts", test_case_85_mounts },
    { "case-88-disk-full", test_case_88 },
    { "case-89-races", test_races },
  };

  g_test_init (&argc, &argv, NULL);

  /* Every test on both ways to resolve a path */
  for (gsize i = 0; i < G_N_ELEMENTS (tests); i++)
    {
      g_autofree char *plain = g_strconcat ("/contained/openat2/", tests[i].name, NULL);
      g_autofree char *walk = g_strconcat ("/contained/walk/", tests[i].name, NULL);

      void (*set_up) (Fixture *, gconstpointer) = tests[i].in_memory ? set_up_in_memory : fixture_set_up;

      g_test_add (plain, Fixture, GINT_TO_POINTER (FALSE), set_up, tests[i].test, fixture_tear_down);
      g_test_add (walk, Fixture, GINT_TO_POINTER (TRUE), set_up, tests[i].test, fixture_tear_down);
    }
  g_test_add ("/contained/case-89-missing", Fixture, GINT_TO_POINTER (ENOSYS),
              fixture_set_up, test_case_89, fixture_tear_down);
  g_test_add ("/contained/case-89-forbidden", Fixture, GINT_TO_POINTER (EPERM),
              fixture_set_up, test_case_89, fixture_tear_down);

  return g_test_run ();
}
