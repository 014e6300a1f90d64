/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories of a workspace: listed, described, made and moved, while a guest does what it can. */

#include "tree-fixture.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>

static void
assert_type (GFileInfo *info,
             GFileType  type)
{
  g_assert_nonnull (info);
  g_assert_cmpint (g_file_info_get_file_type (info), ==, type);
}

static void
test_round_trip (Tree         *tree,
                 gconstpointer data)
{
  g_autoptr (SandboxListing) empty = tree_do (tree, list_directory, ".");
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (GFileInfo) file = NULL;
  g_autoptr (GFileInfo) directory = NULL;
  g_autoptr (GFileInfo) root = NULL;
  g_autoptr (GDateTime) modified = NULL;
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();

  g_test_summary ("Made, listed, described, moved and removed");
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (empty)), ==, 0);
  g_assert_true (g_list_model_get_item_type (G_LIST_MODEL (empty)) == G_TYPE_FILE_INFO);
  g_assert_false (sandbox_listing_get_truncated (empty));

  tree_do (tree, make_directory, "a/b/c");
  tree_do (tree, write_text, "/workspace/a/b/f", "12345");
  g_assert_cmpint (fchmodat (tree->files.root, "a/b/f", 0751, 0), ==, 0);

  listing = tree_do (tree, list_directory, "/workspace/a/b");
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, 2);
  g_assert_null (g_list_model_get_item (G_LIST_MODEL (listing), 2));
  directory = tree_find (listing, "c");
  assert_type (directory, G_FILE_TYPE_DIRECTORY);
  g_assert_cmpuint (g_file_info_get_attribute_uint32 (directory, G_FILE_ATTRIBUTE_UNIX_MODE), ==, S_IFDIR | 0755);
  file = tree_find (listing, "f");
  assert_type (file, G_FILE_TYPE_REGULAR);
  g_assert_cmpint (g_file_info_get_size (file), ==, 5);
  g_assert_cmpstr (g_file_info_get_display_name (file), ==, "f");
  g_assert_cmpuint (g_file_info_get_attribute_uint32 (file, G_FILE_ATTRIBUTE_UNIX_MODE), ==, S_IFREG | 0751);
  modified = g_file_info_get_modification_date_time (file);
  g_assert_cmpint (ABS (g_date_time_difference (now, modified)), <, 60 * G_TIME_SPAN_SECOND);

  g_clear_object (&file);
  file = tree_do (tree, query_info, "a/b/f");
  assert_type (file, G_FILE_TYPE_REGULAR);
  g_assert_cmpstr (g_file_info_get_name (file), ==, "f");
  g_assert_cmpint (g_file_info_get_size (file), ==, 5);
  root = tree_do (tree, query_info, ".");
  assert_type (root, G_FILE_TYPE_DIRECTORY);
  g_assert_cmpstr (g_file_info_get_name (root), ==, ".");

  tree_do (tree, move, "a/b", "moved");
  guest_assert_content (&tree->files, "moved/f", "12345");
  g_assert_cmpuint (tree_count (tree, "a"), ==, 0);
  tree_do (tree, move, "moved/f", "a/f");
  tree_do (tree, remove_path, "moved");
  g_assert_cmpuint (tree_count (tree, "."), ==, 1);
}

static void
test_errors (Tree         *tree,
             gconstpointer data)
{
  g_test_summary ("What goes wrong is told by code and by name");
  guest_make_directory (&tree->files, "d");
  guest_make_directory (&tree->files, "e");
  guest_make_file (&tree->files, "f", "f");
  guest_make_file (&tree->files, "e/x", "x");

  tree_refuse (tree, SANDBOX_ERROR_NOT_FOUND, "Cannot list “none”: No such file or directory", list_directory, "none");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot list “f”: Not a directory", list_directory, "f");
  tree_refuse (tree, SANDBOX_ERROR_NOT_FOUND, "Cannot describe “d/none”: No such file or directory", query_info, "d/none");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot describe “f/x”: “f” is not a directory", query_info, "f/x");

  tree_refuse (tree, SANDBOX_ERROR_EXISTS, "Cannot make the directory “d”: File exists", make_directory, "d");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, make_directory, "f");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, make_directory, ".");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, make_directory, "f/x");

  tree_refuse (tree, SANDBOX_ERROR_NOT_FOUND, "Cannot move “none”: No such file or directory", move, "none", "x");
  tree_refuse (tree, SANDBOX_ERROR_NOT_FOUND, "Cannot move to “none/x”: No such file or directory", move, "f", "none/x");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, "Cannot move to “e”: File exists", move, "f", "e");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, move, "d", "e");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, move, "e", "d");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, move, "f", "f");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, move, "f", ".");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "The workspace itself cannot be moved", move, ".", "x");
  tree_refuse (tree, SANDBOX_ERROR_INVALID, "Cannot move “d” into itself", move, "d", "d/x");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, move, "e/x", "f/x");
  /* A name that begins like another one is another one */
  tree_do (tree, move, "d", "dd");
  tree_do (tree, move, "dd", "e/dd");
  g_assert_cmpuint (guest_count (&tree->files, "e"), ==, 2);
}

static void
test_case_71 (Tree         *tree,
              gconstpointer data)
{
  const char *const links[] = { "a", "/etc/passwd", "b", "../outside/secret", "c", "c", "d", "../outside" };

  g_test_summary ("Final symlink: described and moved as what it is, never followed");
  for (gsize i = 0; i < G_N_ELEMENTS (links); i += 2)
    {
      g_autoptr (SandboxListing) listing = NULL;
      g_autoptr (GFileInfo) listed = NULL;
      g_autoptr (GFileInfo) asked = NULL;
      g_autofree char *message = g_strdup_printf ("Cannot list “%s”: “%s” is a symbolic link", links[i], links[i]);

      guest_make_link (&tree->files, links[i + 1], links[i]);
      listing = tree_do (tree, list_directory, ".");
      listed = tree_find (listing, links[i]);
      asked = tree_do (tree, query_info, links[i]);
      assert_type (listed, G_FILE_TYPE_SYMBOLIC_LINK);
      assert_type (asked, G_FILE_TYPE_SYMBOLIC_LINK);
      g_assert_cmpstr (g_file_info_get_symlink_target (listed), ==, links[i + 1]);
      g_assert_cmpstr (g_file_info_get_symlink_target (asked), ==, links[i + 1]);
      g_assert_cmpint (g_file_info_get_size (asked), ==, strlen (links[i + 1]));

      tree_refuse (tree, SANDBOX_ERROR_PATH, message, list_directory, links[i]);
      tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, make_directory, links[i]);
      tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, move, "a", links[i]);
      tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, open_read, links[i]);
      tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, open_write, links[i]);
      if (i > 0)
        {
          tree_do (tree, move, links[i], "moved");
          tree_do (tree, remove_path, "moved");
        }
    }
  g_assert_cmpuint (tree_count (tree, "."), ==, 1);
}

static void
test_case_72 (Tree         *tree,
              gconstpointer data)
{
  g_test_summary ("Symlinked parent: refused, and named");
  guest_make_link (&tree->files, "../outside", "d");
  guest_make_directory (&tree->files, "e");
  guest_make_link (&tree->files, "../../outside", "e/d");
  guest_make_file (&tree->files, "x", "x");

  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot list “d/sub”: “d” is a symbolic link", list_directory, "d/sub");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot describe “e/d/x”: “e/d” is a symbolic link", query_info, "e/d/x");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot make the directory “d/new”: “d” is a symbolic link", make_directory, "d/new");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot make the directory “e/d/n/m”: “e/d” is a symbolic link", make_directory, "e/d/n/m");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot move “d/x”: “d” is a symbolic link", move, "d/x", "y");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot move to “e/d/new”: “e/d” is a symbolic link", move, "x", "e/d/new");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot read “d/x”: “d” is a symbolic link", open_read, "d/x");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot write “d/x”: “d” is a symbolic link", open_write, "d/x");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "The path “d/../d/x” leads upwards", open_read, "d/../d/x");
}

static void
test_case_73 (Tree         *tree,
              gconstpointer data)
{
  g_autofree char *huge = g_strnfill (5000, 'a');
  g_autofree char *none = g_build_filename (tree->files.top, "none", NULL);
  g_autoptr (GFile) inside = g_file_new_for_path (tree->files.outside);
  g_autoptr (GFile) outside = g_file_new_for_path (none);
  const char *const paths[] = { "/etc/passwd", "../x", "a/../../x", "./x", "a//x", "", "/", "a/", "/workspace/../etc",
                                "/workspace/", "/workspaces/a", "..", huge, "a\\b", "a\\x41", "\xff" };

  g_test_summary ("Path helpers: the same verdict from every entry point");
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autofree char *resolved = NULL;
      g_autoptr (GError) error = NULL;

      resolved = sandbox_session_resolve_path (tree->session, paths[i], &error);
      g_assert_null (resolved);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      tree_refuse (tree, SANDBOX_ERROR_PATH, error->message, list_directory, paths[i]);
      tree_refuse (tree, SANDBOX_ERROR_PATH, error->message, query_info, paths[i]);
      tree_refuse (tree, SANDBOX_ERROR_PATH, error->message, make_directory, paths[i]);
      tree_refuse (tree, SANDBOX_ERROR_PATH, error->message, move, paths[i], "x");
      tree_refuse (tree, SANDBOX_ERROR_PATH, error->message, move, "x", paths[i]);
      tree_refuse (tree, SANDBOX_ERROR_PATH, error->message, open_read, paths[i]);
      tree_refuse (tree, SANDBOX_ERROR_PATH, error->message, open_write, paths[i]);
      tree_refuse (tree, SANDBOX_ERROR_PATH, error->message, import_directory, inside, paths[i]);
      tree_refuse (tree, SANDBOX_ERROR_PATH, error->message, export_directory, paths[i], outside);
    }
  g_assert_cmpuint (guest_count (&tree->files, "."), ==, 0);
  g_assert_false (g_file_query_exists (outside, NULL));
}

static void
put_link_cb (gpointer    data,
             const char *target,
             const char *path)
{
  Tree *tree = data;

  guest_make_link (&tree->files, target, path);
}

static void
put_hard_link_cb (gpointer    data,
                  const char *target,
                  const char *path)
{
  Tree *tree = data;

  g_assert_cmpint (linkat (AT_FDCWD, target, tree->files.root, path, 0), ==, 0);
}

static void
test_case_74 (Tree         *tree,
              gconstpointer data)
{
  TestWriter writer = { tree->session, tree->async, tree->files.top, put_link_cb, tree };

  g_test_summary ("Writing through a link: no call that writes does it");
  test_writer_try_links (&writer);
}

static void
test_case_75 (Tree         *tree,
              gconstpointer data)
{
  const char *const targets[] = { "/proc/self/root", "/proc/self/fd/3", "/proc/self/cwd" };

  g_test_summary ("Magic links: refused");
  for (gsize i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      guest_make_link (&tree->files, targets[i], "m");
      tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, list_directory, "m");
      tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, query_info, "m/tmp");
      tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, make_directory, "m/x");
      tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, open_read, "m");
      tree_do (tree, move, "m", "n");
      tree_do (tree, remove_path, "n");
    }
}

static void
test_case_75_writes (Tree         *tree,
                     gconstpointer data)
{
  TestWriter writer = { tree->session, tree->async, tree->files.top, put_link_cb, tree };

  g_test_summary ("Magic links: no call that writes follows one");
  test_writer_try_magic_links (&writer);
}

static void
test_case_76 (Tree         *tree,
              gconstpointer data)
{
  TestWriter writer = { tree->session, tree->async, tree->files.top, put_hard_link_cb, tree };

  g_test_summary ("Hard link to a file outside: every call that writes cuts it");
  test_writer_try_hard_links (&writer);
}

static void
test_case_78 (Tree         *tree,
              gconstpointer data)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const char *const  names[] = { "fifo", "socket", "device" };
  const gsize        n_names = geteuid () == 0 ? 3 : 2;
  char               events[4096];
  int                inotify = inotify_init1 (IN_NONBLOCK | IN_CLOEXEC);
  int                sock = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_autoptr (SandboxListing) listing = NULL;

  g_test_summary ("FIFOs, sockets and devices: listed as special, refused at once, never opened");
  guest_make_directory (&tree->files, "d");
  g_assert_cmpint (mkfifoat (tree->files.root, "d/fifo", 0666), ==, 0);
  g_snprintf (address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/d/socket", tree->files.root);
  g_assert_cmpint (bind (sock, (struct sockaddr *) &address, sizeof address), ==, 0);
  if (n_names == 3)
    g_assert_cmpint (mknodat (tree->files.root, "d/device", S_IFCHR | 0666, makedev (1, 5)), ==, 0);

  listing = tree_do (tree, list_directory, "d");
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, n_names);
  for (gsize i = 0; i < n_names; i++)
    {
      g_autofree char *path = g_build_filename ("d", names[i], NULL);
      g_autofree char *read = g_strdup_printf ("Cannot read “%s”: it is not a regular file", path);
      g_autofree char *full = g_build_filename (tree->files.inside, path, NULL);
      g_autoptr (GFileInfo) listed = tree_find (listing, names[i]);
      g_autoptr (GFileInfo) asked = NULL;

      g_assert_cmpint (inotify_add_watch (inotify, full, IN_OPEN), >=, 0);
      assert_type (listed, G_FILE_TYPE_SPECIAL);
      asked = tree_do (tree, query_info, path);
      assert_type (asked, G_FILE_TYPE_SPECIAL);
      tree_refuse (tree, SANDBOX_ERROR_INVALID, read, open_read, path);
      tree_refuse (tree, SANDBOX_ERROR_INVALID, NULL, open_write, path);
      tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, list_directory, path);
      tree_do (tree, move, path, "moved");
      tree_do (tree, move, "moved", path);
    }
  g_assert_cmpint (read (inotify, events, sizeof events), ==, -1);
  g_assert_cmpint (errno, ==, EAGAIN);
  close (inotify);
  close (sock);
}

/* Whatever the name: an entry is reached by the name that the listing gives. */
static void
names_round_trip (Tree              *tree,
                  const char *const *names,
                  gsize              n_names)
{
  g_autoptr (SandboxListing) listing = NULL;

  guest_make_directory (&tree->files, "d");
  for (gsize i = 0; i < n_names; i++)
    {
      g_autofree char *path = g_strconcat ("d/", names[i], NULL);

      guest_make_file (&tree->files, path, names[i]);
    }

  listing = tree_do (tree, list_directory, "d");
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, n_names);
  for (gsize i = 0; i < n_names; i++)
    {
      g_autoptr (GFileInfo) entry = g_list_model_get_item (G_LIST_MODEL (listing), i);
      g_autofree char *path = g_strconcat ("d/", g_file_info_get_name (entry), NULL);
      g_autofree char *content = NULL;
      g_autoptr (GFileInfo) info = tree_do (tree, query_info, path);
      g_autoptr (GInputStream) stream = tree_do (tree, open_read, path);
      const char *shown = g_file_info_get_display_name (entry);

      g_assert_true (g_utf8_validate (g_file_info_get_name (entry), -1, NULL));
      g_assert_cmpstr (g_file_info_get_name (info), ==, g_file_info_get_name (entry));
      for (const char *at = shown; *at != '\0'; at = g_utf8_next_char (at))
        g_assert_true (g_unichar_isprint (g_utf8_get_char (at)));

      content = tree_read_stream (stream, NULL);
      g_assert_true (g_strv_contains (names, content));
      tree_do (tree, move, path, "moved");
      guest_assert_content (&tree->files, "moved", content);
      tree_write_stream (tree, path, "new");
      g_clear_pointer (&path, g_free);
      path = g_strconcat ("d/", content, NULL);
      guest_assert_content (&tree->files, path, "new");
      tree_do (tree, remove_path, "moved");
    }
  g_assert_cmpuint (guest_count (&tree->files, "d"), ==, n_names);
}

static void
test_case_81 (Tree         *tree,
              gconstpointer data)
{
  const char *const names[] = { "bad\xff\xfename", "\x80", "back\\slash", "\\xff", "ümlaut", "\xc3", "ordinary", NULL };
  g_autoptr (GFileInfo) link = NULL;

  g_test_summary ("Names that are not UTF-8: the escaped form round-trips");
  names_round_trip (tree, names, G_N_ELEMENTS (names) - 1);

  guest_make_link (&tree->files, "to\xff\\", "link");
  link = tree_do (tree, query_info, "link");
  g_assert_cmpstr (g_file_info_get_symlink_target (link), ==, "to\\xff\\x5c");
}

static void
test_case_82 (Tree         *tree,
              gconstpointer data)
{
  g_autofree char  *longest = g_strnfill (255, 'n');
  g_autofree char  *longest_bytes = g_strnfill (255, '\xff');
  const char *const names[] = { "-rf", "--", "new\nline", "tab\there", "$(x)", ".hidden", "   ", "...", "\x1b[31mred",
                                "\xe2\x80\xaegnp", longest, longest_bytes, NULL };

  g_test_summary ("Names that look like options or lines, and long ones");
  names_round_trip (tree, names, G_N_ELEMENTS (names) - 1);
}

static void
test_case_83 (Tree         *tree,
              gconstpointer data)
{
  GOutputStream *streams[3] = { NULL };
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (GFileInfo) forged = NULL;
  g_autofree char *longest = g_strnfill (255, 'n');

  g_test_summary ("Temporary names: absent from a listing, and a guest hides nothing behind one of that form");
  for (gsize i = 0; i < G_N_ELEMENTS (streams); i++)
    streams[i] = tree_do (tree, open_write, i == 0 ? longest : "f");
  guest_make_file (&tree->files, ".sandbox-0123456789abcdef01234567", "forged");
  g_assert_cmpuint (guest_count (&tree->files, "."), ==, 4);

  listing = tree_do (tree, list_directory, ".");
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, 1);
  forged = tree_find (listing, ".sandbox-0123456789abcdef01234567");
  assert_type (forged, G_FILE_TYPE_REGULAR);
  for (gsize i = 0; i < G_N_ELEMENTS (streams); i++)
    {
      g_assert_true (g_output_stream_close (streams[i], NULL, NULL));
      g_object_unref (streams[i]);
    }
  g_assert_cmpuint (tree_count (tree, "."), ==, 3);
  g_assert_true (guest_has (&tree->files, longest));
}

static void
test_modes (Tree         *tree,
            gconstpointer data)
{
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (GFileInfo) file = NULL;
  g_autoptr (GFileInfo) link = NULL;
  mode_t mask = umask (0077);

  g_test_summary ("Modes do not depend on the umask; what may not be looked at is listed by name");
  tree_do (tree, make_directory, "a/b");
  umask (mask);
  g_assert_cmpuint (guest_get_mode (&tree->files, "a"), ==, 0755);
  g_assert_cmpuint (guest_get_mode (&tree->files, "a/b"), ==, 0755);

  /* Root needs no permission */
  if (geteuid () == 0)
    return;

  guest_make_file (&tree->files, "a/f", "x");
  guest_make_link (&tree->files, "target", "a/l");
  g_assert_cmpint (fchmodat (tree->files.root, "a", 0444, 0), ==, 0);
  listing = tree_do (tree, list_directory, "a");
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, 3);
  file = tree_find (listing, "f");
  assert_type (file, G_FILE_TYPE_REGULAR);
  g_assert_cmpint (g_file_info_get_size (file), ==, 0);
  g_assert_false (g_file_info_has_attribute (file, G_FILE_ATTRIBUTE_UNIX_MODE));
  link = tree_find (listing, "l");
  assert_type (link, G_FILE_TYPE_SYMBOLIC_LINK);
  g_assert_cmpstr (g_file_info_get_symlink_target (link), ==, "");
  tree_refuse (tree, SANDBOX_ERROR_DENIED, NULL, query_info, "a/f");
  g_assert_cmpint (fchmodat (tree->files.root, "a", 0, 0), ==, 0);
  tree_refuse (tree, SANDBOX_ERROR_DENIED, "Cannot list “a”: Permission denied", list_directory, "a");
}

/* What looks at every allocation takes minutes for many entries */
#define IS_SLOW (TEST_IS_SANITIZED || g_getenv ("SANDBOX_TEST_VALGRIND") != NULL)

/* The memory of this process, in KiB. */
static guint64
get_resident (void)
{
  g_autofree char *text = NULL;
  const char      *line = NULL;

  g_assert_true (g_file_get_contents ("/proc/self/status", &text, NULL, NULL));
  line = strstr (text, "VmRSS:");
  g_assert_nonnull (line);

  return g_ascii_strtoull (line + strlen ("VmRSS:"), NULL, 10);
}

/* A call is to be back within a second. This is of the processor's time, whatever else the machine does, and three times as
 * much, for slow machines; what looks at every allocation takes as long as it likes. */
static void
assert_quick (clock_t begin)
{
  if (!IS_SLOW)
    g_assert_cmpint (clock () - begin, <, 3 * CLOCKS_PER_SEC);
}

/* Removed in parts, each as long as the driver has. */
static void
remove_by_and_by (Tree       *tree,
                  const char *path)
{
  const gint64 limit = 50 * G_TIME_SPAN_MILLISECOND;
  guint        n_entries = guest_count (&tree->files, path);
  guint        n_calls = 0;

  for (gboolean gone = FALSE; !gone; n_calls++)
    {
      const gint64 begin = g_get_monotonic_time ();
      guint        n_left = 0;
      g_autoptr (GError) error = NULL;

      tree->driver->time_limit_ms = limit / G_TIME_SPAN_MILLISECOND;
      gone = tree_call (tree, remove_path, NULL, &error, path);
      tree->driver->time_limit_ms = 0;
      g_assert_cmpint (g_get_monotonic_time () - begin, <, limit + 5 * G_TIME_SPAN_SECOND);
      if (gone)
        break;

      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
      /* In the pool, what was given up may be at its last entries still. */
      if (!guest_has (&tree->files, path))
        continue;
      n_left = guest_count (&tree->files, path);
      g_assert_cmpuint (n_left, <, n_entries);
      n_entries = n_left;
    }
  g_test_message ("Removed in %u calls", n_calls + 1);
  g_assert_cmpuint (n_calls, >, 0);
}

static void
test_case_86_wide (Tree         *tree,
                   gconstpointer data)
{
  /* All of them once by each way of looking names up: the pool changes nothing, nor does another user. */
  const gboolean   few = test_is_again () || tree->async;
  const guint      max = few ? 1000 : SANDBOX_LISTING_MAX_ENTRIES;
  guint64          before = 0;
  clock_t          begin = clock ();
  clock_t          made = 0;
  g_autofree char *to = g_build_filename (tree->files.top, "to", NULL);
  g_autoptr (GFile) target = g_file_new_for_path (to);
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (GFileInfo) last = NULL;
  g_autofree char *path = NULL;

  g_test_summary ("Directory bombs: 200,000 entries are listed up to the limit, and removed, if need be in several calls");
  guest_make_directory (&tree->files, "big");
  for (guint i = 0; i < 2 * max; i++)
    {
      char name[32];

      g_snprintf (name, sizeof name, "big/%u", i);
      g_assert_cmpint (mknodat (tree->files.root, name, S_IFREG | 0644, 0), ==, 0);
    }
  made = clock () - begin;

  tree->driver->max = few ? max : 0;
  before = get_resident ();
  begin = clock ();
  listing = tree_do (tree, list_directory, "big");
  g_test_message ("%.0f ms of %.0f for the making, %" G_GUINT64_FORMAT " KiB", (double) (clock () - begin) * 1000 / CLOCKS_PER_SEC,
                  (double) made * 1000 / CLOCKS_PER_SEC, get_resident () - before);
  /* A second alone, up to seven where others use the memory that the kernel keeps entries in; what grew with their square
   * would take minutes. */
  if (!IS_SLOW)
    g_assert_cmpint (clock () - begin, <, MAX (30 * CLOCKS_PER_SEC, 4 * made));
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, max);
  g_assert_true (sandbox_listing_get_truncated (listing));
  if (!few)
    g_assert_cmpuint (get_resident (), <, before + 200 * 1024);

  last = g_list_model_get_item (G_LIST_MODEL (listing), max - 1);
  path = g_build_filename ("big", g_file_info_get_name (last), NULL);
  tree_do (tree, remove_path, path);
  g_assert_false (guest_has (&tree->files, path));
  g_clear_object (&last);
  g_clear_object (&listing);

  if (few)
    tree_do (tree, remove_path, "big");
  else
    {
      /* Copies as many as are allowed first: once is enough */
      if (GPOINTER_TO_UINT (data) == TREE_IN_MEMORY)
        tree_refuse (tree, SANDBOX_ERROR_LIMIT, "Cannot export “big”: it has too many entries", export_directory, "big", target);
      before = get_resident ();
      remove_by_and_by (tree, "big");
      g_assert_cmpuint (get_resident (), <, before + 32 * 1024);
    }
  g_assert_cmpuint (guest_count (&tree->files, "."), ==, 0);
}

/* Whatever a guest can put into a directory, here by names of every byte and of every length that there is. */
static guint
make_everything (Tree *tree)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  g_autofree char   *target = g_strnfill (4000, '\xff');
  const char *const  names[] = { "fifo", "socket", "giant", "link", "device" };
  const guint        n_names = geteuid () == 0 ? 5 : 4; /* only root can make a device */
  int                sock = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int                at = -1;

  guest_make_directory (&tree->files, "all");
  g_assert_cmpint (mkfifoat (tree->files.root, "all/fifo", 0666), ==, 0);
  g_snprintf (address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/all/socket", tree->files.root);
  g_assert_cmpint (bind (sock, (struct sockaddr *) &address, sizeof address), ==, 0);
  close (sock);
  if (n_names == G_N_ELEMENTS (names))
    g_assert_cmpint (mknodat (tree->files.root, "all/device", S_IFCHR | 0666, makedev (1, 5)), ==, 0);
  guest_make_file (&tree->files, "all/giant", "");
  at = openat (tree->files.root, "all/giant", O_WRONLY | O_CLOEXEC);
  g_assert_cmpint (ftruncate (at, G_GINT64_CONSTANT (1) << 40), ==, 0);
  close (at);
  guest_make_link (&tree->files, target, "all/link");

  at = openat (tree->files.root, "all", O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (guint i = 0; i < 3000; i++)
    {
      int next;

      g_assert_cmpint (mkdirat (at, "deep", 0755), ==, 0);
      next = openat (at, "deep", O_PATH | O_DIRECTORY | O_CLOEXEC);
      g_assert_cmpint (next, >=, 0);
      close (at);
      at = next;
    }
  close (at);

  for (guint byte = 1; byte < 256; byte++)
    if (byte != '/')
      {
        char name[256 + 4] = "all/";

        memset (name + 4, (int) byte, 255);
        guest_make_file (&tree->files, name, "x");
      }

  return n_names + 1 + 254;
}

static void
test_case_86_all (Tree         *tree,
                  gconstpointer data)
{
  const guint   n = make_everything (tree);
  const guint64 before = get_resident ();
  clock_t       begin = clock ();
  g_autoptr (SandboxListing) listing = tree_do (tree, list_directory, "all");

  g_test_summary ("Whatever a guest makes: each is listed, described and removed, and no call waits or takes much memory");
  assert_quick (begin);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, n);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GFileInfo) listed = g_list_model_get_item (G_LIST_MODEL (listing), i);
      g_autofree char *path = g_strconcat ("all/", g_file_info_get_name (listed), NULL);
      const gboolean   is_directory = g_file_info_get_file_type (listed) == G_FILE_TYPE_DIRECTORY;
      const gboolean   is_file = g_file_info_get_file_type (listed) == G_FILE_TYPE_REGULAR;
      gboolean         written = FALSE;
      g_autoptr (GFileInfo) info = NULL;
      g_autoptr (GBytes) bytes = NULL;
      g_autoptr (GError) error = NULL;

      begin = clock ();
      info = tree_do (tree, query_info, path);
      g_assert_cmpint (g_file_info_get_file_type (info), ==, g_file_info_get_file_type (listed));
      bytes = tree_call (tree, read_bytes, NULL, &error, path);
      g_assert_cmpint (bytes != NULL, ==, is_file && g_file_info_get_size (listed) == 1);
      g_clear_error (&error);
      written = tree_call (tree, write_text, NULL, &error, path, "new");
      g_assert_cmpint (written, ==, is_file);
      tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, make_directory, path);
      if (is_directory)
        {
          g_autoptr (SandboxListing) inner = tree_do (tree, list_directory, path);

          g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (inner)), ==, 1);
        }
      tree_do (tree, remove_path, path);
      assert_quick (begin);
    }
  g_assert_cmpuint (guest_count (&tree->files, "all"), ==, 0);
  if (!IS_SLOW)
    g_assert_cmpuint (get_resident (), <, before + 32 * 1024);
}

static void
test_case_86_text (Tree         *tree,
                   gconstpointer data)
{
  g_autofree char *target = g_strnfill (4000, '\xff');
  const guint      n = 6000;
  guint            n_entries = 0;
  g_autoptr (SandboxListing) listing = NULL;

  g_test_summary ("Directory bombs: links with long targets end a listing before they fill the memory");
  guest_make_directory (&tree->files, "big");
  for (guint i = 0; i < n; i++)
    {
      char name[32];

      g_snprintf (name, sizeof name, "big/%u", i);
      guest_make_link (&tree->files, target, name);
    }
  listing = tree_do (tree, list_directory, "big");
  n_entries = g_list_model_get_n_items (G_LIST_MODEL (listing));
  g_assert_true (sandbox_listing_get_truncated (listing));
  g_assert_cmpuint (n_entries, >, 32 * 1024 * 1024 / (4 * 4000 + 64));
  g_assert_cmpuint (n_entries, <, 32 * 1024 * 1024 / (4 * 4000) + 2);
}

static void
test_case_86_deep (Tree         *tree,
                   gconstpointer data)
{
  const guint n = 3000;
  int         at = dup (tree->files.root);
  g_autoptr (GString) path = g_string_new (NULL);
  g_autofree char *to = g_build_filename (tree->files.top, "to", NULL);
  g_autoptr (GFile) target = g_file_new_for_path (to);

  g_test_summary ("3,000 levels: what a path reaches is reached, the rest is refused, all is removed");
  for (guint i = 0; i < n; i++)
    {
      int next;

      g_assert_cmpint (mkdirat (at, "d", 0755), ==, 0);
      next = openat (at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
      close (at);
      at = next;
      if (2 * i < 4090)
        g_string_append (path, i == 0 ? "d" : "/d");
    }
  close (at);

  g_assert_cmpuint (tree_count (tree, path->str), ==, 1);
  g_string_append (path, "/ddddddd");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, list_directory, path->str);
  tree_refuse (tree, SANDBOX_ERROR_LIMIT, "Cannot export “.”: it has too many levels", export_directory, ".", target);
  tree_do (tree, move, "d", "e");
  tree_do (tree, remove_path, "e");
  g_assert_cmpuint (guest_count (&tree->files, "."), ==, 0);
}

static void
test_mounts (Tree         *tree,
             gconstpointer data)
{
  g_autofree char *again = g_build_filename (tree->files.inside, "again", NULL);
  g_autofree char *file = g_build_filename (tree->files.inside, "file", NULL);
  g_autofree char *secret = g_build_filename (tree->files.outside, "secret", NULL);
  g_autofree char *to = g_build_filename (tree->files.top, "to", NULL);
  g_autoptr (GFile) target = g_file_new_for_path (to);
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (GFileInfo) directory = NULL;
  g_autoptr (GFileInfo) bound = NULL;

  g_test_summary ("Mounts inside: listed by name, never looked at, entered or moved");
  if (!tree_enter_mount_namespace (tree))
    return;

  guest_make_directory (&tree->files, "again");
  guest_make_file (&tree->files, "file", "under");
  guest_make_file (&tree->files, "x", "x");
  g_assert_cmpint (mount (tree->files.outside, again, NULL, MS_BIND, NULL), ==, 0);
  g_assert_cmpint (mount (secret, file, NULL, MS_BIND, NULL), ==, 0);

  listing = tree_do (tree, list_directory, ".");
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, 3);
  directory = tree_find (listing, "again");
  assert_type (directory, G_FILE_TYPE_DIRECTORY);
  g_assert_false (g_file_info_has_attribute (directory, G_FILE_ATTRIBUTE_UNIX_MODE));
  bound = tree_find (listing, "file");
  assert_type (bound, G_FILE_TYPE_REGULAR);
  g_assert_cmpint (g_file_info_get_size (bound), ==, 0);

  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot list “again”: “again” leads out of the workspace", list_directory, "again");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot describe “again”: “again” leads out of the workspace", query_info, "again");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, query_info, "file");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, query_info, "again/x");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, make_directory, "again/new");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, move, "again", "moved");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, move, "x", "again/new");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, open_read, "file");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, open_read, "again/secret");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, open_write, "again/new");
  tree_do (tree, export_directory, ".", target);

  g_assert_cmpint (umount (again), ==, 0);
  g_assert_cmpint (umount (file), ==, 0);
  {
    g_autofree char *copied = g_build_filename (to, "again", "secret", NULL);
    g_autofree char *copied_file = g_build_filename (to, "file", NULL);
    g_autofree char *content = NULL;

    g_assert_false (g_file_test (copied, G_FILE_TEST_EXISTS));
    g_assert_false (g_file_test (copied_file, G_FILE_TEST_EXISTS));
  }
}

static void
forbid_renameat2 (int errsv)
{
  struct sock_filter filter[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errsv),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { G_N_ELEMENTS (filter), filter };

  g_assert_cmpint (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
  g_assert_cmpint (prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), ==, 0);
}

static void
test_move_by_hand (Tree         *tree,
                   gconstpointer data)
{
  g_test_summary ("A file system that cannot rename without replacing: nothing is replaced either");
  if (!fixture_is_subprocess (&tree->files))
    return;

  forbid_renameat2 (EINVAL);
  guest_make_directory (&tree->files, "d");
  guest_make_file (&tree->files, "d/x", "x");
  guest_make_directory (&tree->files, "empty");
  guest_make_file (&tree->files, "f", "f");
  guest_make_link (&tree->files, "../outside", "l");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, "Cannot move to “empty”: File exists", move, "d", "empty");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, move, "f", "empty");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, move, "f", "l");
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, move, "d", "f");
  tree_do (tree, move, "d", "e");
  guest_assert_content (&tree->files, "e/x", "x");
  tree_do (tree, move, "f", "e/f");
  guest_assert_content (&tree->files, "e/f", "f");
  tree_do (tree, move, "l", "e/l");
  g_assert_cmpuint (guest_count (&tree->files, "e"), ==, 3);
  g_assert_cmpuint (guest_count (&tree->files, "."), ==, 2);
}

static void
test_cancelled (Tree         *tree,
                gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autofree char *to = g_build_filename (tree->files.top, "to", NULL);
  g_autoptr (GFile) target = g_file_new_for_path (to);
  g_autoptr (GFile) source = g_file_new_for_path (tree->files.outside);

  g_test_summary ("A call that is cancelled already does nothing");
  guest_make_file (&tree->files, "f", "f");
  g_cancellable_cancel (cancellable);
#define ASSERT_CANCELLED(name, ...)                          \
 do                                                          \
  {                                                          \
   g_autoptr (GError) error = NULL;                          \
                                                             \
   tree_call (tree, name, cancellable, &error, __VA_ARGS__); \
   g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED); \
  }                                                          \
 while (0)
  ASSERT_CANCELLED (list_directory, ".");
  ASSERT_CANCELLED (query_info, "f");
  ASSERT_CANCELLED (make_directory, "d");
  ASSERT_CANCELLED (move, "f", "g");
  ASSERT_CANCELLED (open_read, "f");
  ASSERT_CANCELLED (open_write, "f");
  ASSERT_CANCELLED (import_directory, source, "d");
  ASSERT_CANCELLED (export_directory, ".", target);
#undef ASSERT_CANCELLED
  g_assert_cmpuint (guest_count (&tree->files, "."), ==, 1);
  guest_assert_content (&tree->files, "f", "f");
  g_assert_false (g_file_test (to, G_FILE_TEST_EXISTS));
}

static void
test_removed (Tree         *tree,
              gconstpointer data)
{
  g_test_summary ("A workspace that somebody has removed is told apart from a missing file");
  g_assert_cmpint (g_rmdir (tree->files.inside), ==, 0);
  tree_refuse (tree, SANDBOX_ERROR_UNAVAILABLE, "The workspace directory has been removed", query_info, "f");
  tree_refuse (tree, SANDBOX_ERROR_UNAVAILABLE, NULL, make_directory, "d");
  tree_refuse (tree, SANDBOX_ERROR_UNAVAILABLE, NULL, move, "a", "b");
  tree_refuse (tree, SANDBOX_ERROR_UNAVAILABLE, NULL, open_read, "f");
  tree_refuse (tree, SANDBOX_ERROR_UNAVAILABLE, NULL, open_write, "f");
}

/* A guest that is quick: with links to what is outside, and directories, it swaps all that the host names. */
typedef struct
{
  Fixture *fixture;
  int      stop;
} Guest;

static gpointer
guest_swap (gpointer data)
{
  Guest *guest = data;
  int    root = guest->fixture->root;
  int    inner = openat (root, "d", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

  while (!g_atomic_int_get (&guest->stop))
    {
      renameat2 (root, "d", root, "d-link", RENAME_EXCHANGE);
      renameat2 (root, "f", root, "f-link", RENAME_EXCHANGE);
      renameat2 (inner, "e", inner, "e-link", RENAME_EXCHANGE);
      renameat2 (root, "t", inner, "t", RENAME_EXCHANGE);
      renameat2 (root, "t", root, "t-link", RENAME_EXCHANGE);
    }
  close (inner);

  return NULL;
}

static void
test_race (Tree         *tree,
           gconstpointer data)
{
  Guest    guest = { &tree->files, FALSE };
  TestRace race = { .session = tree->session, .async = tree->async, .top = tree->files.top };
  g_autoptr (GThread) thread = NULL;

  g_test_summary ("Links and directories swapped all the time: no call reaches anything outside");
  guest_make_directory (&tree->files, "d");
  guest_make_directory (&tree->files, "d/e");
  guest_make_file (&tree->files, "d/x", "inside");
  guest_make_file (&tree->files, "d/e/x", "inside");
  guest_make_file (&tree->files, "f", "inside");
  guest_make_link (&tree->files, "../outside", "d-link");
  guest_make_link (&tree->files, "../outside/secret", "f-link");
  guest_make_link (&tree->files, "../outside", "t-link");
  guest_make_link (&tree->files, "../../outside", "d/e-link");
  guest_make_directory (&tree->files, "d/t");
  guest_make_directory (&tree->files, "t");
  thread = g_thread_new ("guest", guest_swap, &guest);

  test_race_run (&race);

  g_atomic_int_set (&guest.stop, TRUE);
  g_thread_join (g_steal_pointer (&thread));
}

/* A driver with none of the optional functions. */
typedef GObject      PlainDriver;
typedef GObjectClass PlainDriverClass;

static void
plain_driver_interface_init (SandboxDriverInterface *iface)
{
  iface->read = tree_driver_read;
}

static GType plain_driver_get_type (void);

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (PlainDriver, plain_driver, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, plain_driver_interface_init))
/* clang-format on */

static void
plain_driver_class_init (PlainDriverClass *klass)
{
}

static void
plain_driver_init (PlainDriver *self)
{
}

static void
test_not_supported (Tree         *tree,
                    gconstpointer data)
{
  g_autoptr (GObject) driver = g_object_new (plain_driver_get_type (), NULL);
  g_autoptr (GFile) file = g_file_new_for_path (tree->files.top);

  g_test_summary ("What a driver does not have is refused by name");
  g_clear_object (&tree->session);
  tree->session = sandbox_session_new_for_driver (SANDBOX_DRIVER (driver), NULL);
  g_assert_nonnull (tree->session);
  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, "PlainDriver cannot list directories", list_directory, "d");
  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, "PlainDriver cannot describe files", query_info, "d");
  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, "PlainDriver cannot make directories", make_directory, "d");
  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, "PlainDriver cannot move files", move, "d", "e");
  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, "PlainDriver cannot open files for reading", open_read, "d");
  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, "PlainDriver cannot open files for writing", open_write, "d");
  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, "PlainDriver cannot import directories", import_directory, file, "d");
  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, "PlainDriver cannot export directories", export_directory, "d", file);
}

static void
test_owner (Tree         *tree,
            gconstpointer data)
{
  struct stat st;

  g_test_summary ("What root makes belongs to the owner, and what the owner may not do it does not do");
  g_assert_cmpint (chown (tree->files.inside, 61234, 61235), ==, 0);
  tree_close (tree);
  tree_open (tree);
  tree_do (tree, make_directory, "a/b");
  tree_do (tree, move, "a/b", "c");
  g_assert_cmpint (fstatat (tree->files.root, "c", &st, 0), ==, 0);
  g_assert_cmpuint (st.st_uid, ==, 61234);
  g_assert_cmpuint (st.st_gid, ==, 61235);

  guest_make_directory (&tree->files, "locked");
  guest_make_file (&tree->files, "locked/f", "x");
  g_assert_cmpint (fchmodat (tree->files.root, "locked", 0700, 0), ==, 0);
  tree_refuse (tree, SANDBOX_ERROR_DENIED, "Cannot list “locked”: Permission denied", list_directory, "locked");
  tree_refuse (tree, SANDBOX_ERROR_DENIED, NULL, query_info, "locked/f");
  tree_refuse (tree, SANDBOX_ERROR_DENIED, NULL, make_directory, "locked/d");
  tree_refuse (tree, SANDBOX_ERROR_DENIED, NULL, move, "locked/f", "f");
}

int
main (int    argc,
      char **argv)
{
  static const TreeTest tests[] = {
    { "round-trip", test_round_trip },
    { "errors", test_errors },
    { "modes", test_modes },
    { "mounts", test_mounts },
    { "move-by-hand", test_move_by_hand },
    { "cancelled", test_cancelled },
    { "removed", test_removed },
    { "not-supported", test_not_supported },
    { "case-71-final-symlink", test_case_71 },
    { "case-72-symlinked-parent", test_case_72 },
    { "case-73-path-verdicts", test_case_73 },
    { "case-74-every-write", test_case_74 },
    { "case-75-magic-links", test_case_75 },
    { "case-75-every-write", test_case_75_writes },
    { "case-76-every-write", test_case_76 },
    { "case-78-special-files", test_case_78 },
    { "case-81-names-not-utf8", test_case_81 },
    { "case-82-odd-names", test_case_82 },
    { "case-83-temporary-names", test_case_83 },
    { "case-86-all", test_case_86_all, TREE_IN_MEMORY },
    { "case-86-deep", test_case_86_deep, TREE_IN_MEMORY },
    { "case-86-text", test_case_86_text, TREE_IN_MEMORY },
    { "case-86-wide", test_case_86_wide, TREE_IN_MEMORY },
    { "race", test_race },
  };
  static const TreeTest root_tests[] = { { "owner", test_owner } };

  g_test_init (&argc, &argv, NULL);
  tree_prime ();
  tree_add_tests ("/workspace-tree/", tests, G_N_ELEMENTS (tests));
  if (geteuid () == 0)
    tree_add_tests ("/workspace-tree/", root_tests, G_N_ELEMENTS (root_tests));
  else
    g_print ("# The test owner needs root: nobody else can work as another user\n");

  return g_test_run ();
}
