/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams and whole trees, in and out of a workspace, while a guest does what it can. */

#include "sandbox-contained-copy-private.h"
#include "sandbox-fd-private.h"
#include "tree-fixture.h"

#include <signal.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/socket.h>

static void
test_streams (Tree         *tree,
              gconstpointer data)
{
  const gsize      size = 3 * 1024 * 1024 + 17;
  g_autofree char *content = g_malloc (size);
  g_autofree char *back = NULL;
  g_autoptr (GOutputStream) out = NULL;
  g_autoptr (GInputStream) in = NULL;
  g_autoptr (GError) error = NULL;
  GSeekable *seekable = NULL;
  char       part[8] = { 0 };
  gsize      back_size = 0;

  g_test_summary ("More than a call of bytes may have, written and read by streams");
  for (gsize i = 0; i < size; i++)
    content[i] = (char) (i * 31 >> 3);
  out = tree_do (tree, open_write, "a/b/f");
  for (gsize at = 0; at < size; at += 100000)
    {
      g_output_stream_write_all (out, content + at, MIN (100000, size - at), NULL, NULL, &error);
      g_assert_no_error (error);
    }
  g_assert_false (guest_has (&tree->files, "a/b/f"));
  g_output_stream_close (out, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (guest_count (&tree->files, "a/b"), ==, 1);
  g_assert_cmpuint (guest_get_mode (&tree->files, "a/b/f"), ==, 0644);

  in = tree_do (tree, open_read, "/workspace/a/b/f");
  back = tree_read_stream (in, &back_size);
  g_assert_cmpmem (back, back_size, content, size);
  g_clear_object (&in);

  in = tree_do (tree, open_read, "a/b/f");
  seekable = G_SEEKABLE (in);
  g_assert_true (g_seekable_can_seek (seekable));
  g_assert_true (g_seekable_seek (seekable, 1000, G_SEEK_SET, NULL, &error));
  g_assert_cmpint (g_input_stream_skip (in, 500, NULL, &error), ==, 500);
  g_assert_cmpint (g_seekable_tell (seekable), ==, 1500);
  g_assert_cmpint (g_input_stream_read (in, part, sizeof part, NULL, &error), ==, sizeof part);
  g_assert_cmpmem (part, sizeof part, content + 1500, sizeof part);
  g_assert_true (g_seekable_seek (seekable, -4, G_SEEK_END, NULL, &error));
  g_assert_cmpint (g_input_stream_skip (in, 500, NULL, &error), ==, 4);
  g_assert_true (g_seekable_seek (seekable, -4, G_SEEK_CUR, NULL, &error));
  g_assert_cmpint (g_input_stream_read (in, part, sizeof part, NULL, &error), ==, 4);
  g_assert_no_error (error);
  g_assert_false (g_seekable_seek (seekable, -1, G_SEEK_SET, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_false (g_seekable_can_truncate (seekable));
  g_assert_false (g_seekable_truncate (seekable, 0, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
}

static void
test_streams_async (Tree         *tree,
                    gconstpointer data)
{
  g_autoptr (GOutputStream) out = tree_do (tree, open_write, "f");
  g_autoptr (GInputStream) in = NULL;
  g_autoptr (GAsyncResult) written = NULL;
  g_autoptr (GAsyncResult) closed = NULL;
  g_autoptr (GAsyncResult) read = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The asynchronous calls of streams");
  g_output_stream_write_async (out, "content", 7, G_PRIORITY_DEFAULT, NULL, test_result_cb, &written);
  test_wait (written != NULL);
  g_assert_cmpint (g_output_stream_write_finish (out, written, &error), ==, 7);
  g_output_stream_close_async (out, G_PRIORITY_DEFAULT, NULL, test_result_cb, &closed);
  test_wait (closed != NULL);
  g_assert_true (g_output_stream_close_finish (out, closed, &error));
  g_assert_no_error (error);

  in = tree_do (tree, open_read, "f");
  g_input_stream_read_bytes_async (in, 100, G_PRIORITY_DEFAULT, NULL, test_result_cb, &read);
  test_wait (read != NULL);
  bytes = g_input_stream_read_bytes_finish (in, read, &error);
  g_assert_no_error (error);
  test_assert_bytes (bytes, "content");
}

/* A stream over "f" with something in it. */
static GOutputStream *
begin_new (Tree *tree)
{
  GOutputStream *stream = tree_do (tree, open_write, "f");

  g_assert_cmpint (g_output_stream_write (stream, "new", 3, NULL, NULL), ==, 3);
  g_assert_cmpuint (guest_count (&tree->files, "."), ==, 2);

  return stream;
}

static void
assert_old (Tree *tree)
{
  test_wait (guest_count (&tree->files, ".") == 1);
  guest_assert_content (&tree->files, "f", "old");
}

static void
test_aborted (Tree         *tree,
              gconstpointer data)
{
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();
  g_autoptr (GOutputStream) stream = NULL;
  g_autoptr (GAsyncResult) closed = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A stream that is not closed, closed as cancelled, or has lost something: the old file stays");
  guest_make_file (&tree->files, "f", "old");
  g_cancellable_cancel (cancelled);

  stream = begin_new (tree);
  g_clear_object (&stream);
  assert_old (tree);

  stream = begin_new (tree);
  g_assert_false (g_output_stream_close (stream, cancelled, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  assert_old (tree);
  g_clear_object (&stream);

  stream = begin_new (tree);
  g_output_stream_close_async (stream, G_PRIORITY_DEFAULT, cancelled, test_result_cb, &closed);
  test_wait (closed != NULL);
  g_assert_false (g_output_stream_close_finish (stream, closed, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  assert_old (tree);
  g_clear_object (&stream);

  stream = begin_new (tree);
  g_assert_cmpint (g_output_stream_write (stream, "more", 4, cancelled, &error), ==, -1);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_false (g_output_stream_close (stream, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
  g_assert_cmpstr (error->message, ==, "Cannot write “f”: not all of it has been written");
  assert_old (tree);
}

static void
test_call_cancelled (Tree         *tree,
                     gconstpointer data)
{
  g_test_summary ("A stream that comes when nobody waits for it any more changes nothing");
  guest_make_file (&tree->files, "f", "old");
  for (guint i = 0; i < 50; i++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GOutputStream) stream = NULL;
      g_autoptr (GError) error = NULL;

      sandbox_session_open_write_async (tree->session, "f", cancellable, test_result_cb, &result);
      if (i % 2 == 0)
        g_usleep (i * 20);
      g_cancellable_cancel (cancellable);
      test_wait (result != NULL);
      stream = sandbox_session_open_write_finish (tree->session, result, &error);
      /* It may have been there before */
      if (stream == NULL)
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    }
  assert_old (tree);
}

static void
test_case_74 (Tree         *tree,
              gconstpointer data)
{
  const char *const places[] = { "link", "directory", "fifo" };

  g_test_summary ("Replace through a link: what is put there after the stream was opened stays, and what it names too");
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autoptr (GOutputStream) stream = tree_do (tree, open_write, "f");
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (g_output_stream_write (stream, "new", 3, NULL, NULL), ==, 3);
      if (i == 0)
        guest_make_link (&tree->files, "../outside/secret", "f");
      else if (i == 1)
        guest_make_directory (&tree->files, "f");
      else
        g_assert_cmpint (mkfifoat (tree->files.root, "f", 0666), ==, 0);
      g_assert_false (g_output_stream_close (stream, NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, (int) (i == 0 ? SANDBOX_ERROR_PATH : SANDBOX_ERROR_INVALID));
      g_assert_cmpuint (guest_count (&tree->files, "."), ==, 1);
      tree_do (tree, remove_path, "f");
    }
}

static void
test_parent_moved (Tree         *tree,
                   gconstpointer data)
{
  g_autoptr (GOutputStream) stream = tree_do (tree, open_write, "d/f");
  g_autoptr (GOutputStream) gone = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A directory that is swapped for a link under an open stream: the file goes where the directory went");
  g_assert_cmpint (g_output_stream_write (stream, "new", 3, NULL, NULL), ==, 3);
  tree_do (tree, move, "d", "e");
  guest_make_link (&tree->files, "../outside", "d");
  g_output_stream_close (stream, NULL, &error);
  g_assert_no_error (error);
  guest_assert_content (&tree->files, "e/f", "new");

  gone = tree_do (tree, open_write, "e/g");
  tree_do (tree, remove_path, "e");
  g_assert_false (g_output_stream_close (gone, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static void
test_case_76 (Tree         *tree,
              gconstpointer data)
{
  g_autofree char *secret = g_build_filename (tree->files.outside, "secret", NULL);
  g_autofree char *copy = g_build_filename (tree->files.top, "hard", NULL);
  g_autofree char *from = g_build_filename (tree->files.top, "from", NULL);
  g_autofree char *in_it = g_build_filename (from, "h", NULL);
  g_autofree char *content = NULL;
  g_autoptr (GFile) source = g_file_new_for_path (from);

  g_test_summary ("Hard link to a file outside: streams and imports cut it");
  g_assert_true (g_file_set_contents (copy, MARKER, -1, NULL));
  g_assert_cmpint (g_mkdir (from, 0755), ==, 0);
  g_assert_true (g_file_set_contents (in_it, "imported", -1, NULL));
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *at = g_build_filename (tree->files.inside, "h", NULL);

      g_assert_cmpint (link (copy, at), ==, 0);
      if (i == 0)
        tree_write_stream (tree, "h", "new");
      else
        tree_do (tree, import_directory, source, ".");
      guest_assert_content (&tree->files, "h", i == 0 ? "new" : "imported");
      g_clear_pointer (&content, g_free);
      g_assert_true (g_file_get_contents (copy, &content, NULL, NULL));
      g_assert_cmpstr (content, ==, MARKER);
      tree_do (tree, remove_path, "h");
    }
}

static void
test_case_79 (Tree         *tree,
              gconstpointer data)
{
  g_autofree char *to = g_build_filename (tree->files.top, "to", NULL);
  g_autofree char *copied = g_build_filename (to, "giant", NULL);
  g_autofree char *giant = g_build_filename (tree->files.inside, "giant", NULL);
  g_autoptr (GFile) target = g_file_new_for_path (to);
  g_autoptr (GInputStream) stream = NULL;
  g_autoptr (GFileInfo) info = NULL;
  g_autoptr (GError) error = NULL;
  char part[4] = "abcd";

  g_test_summary ("Sparse giant: described and read in parts; not copied");
  guest_make_file (&tree->files, "giant", "");
  g_assert_cmpint (truncate (giant, G_GINT64_CONSTANT (1) << 40), ==, 0);
  info = tree_do (tree, query_info, "giant");
  g_assert_cmpint (g_file_info_get_size (info), ==, G_GINT64_CONSTANT (1) << 40);
  stream = tree_do (tree, open_read, "giant");
  g_assert_true (g_seekable_seek (G_SEEKABLE (stream), -4, G_SEEK_END, NULL, &error));
  g_assert_cmpint (g_input_stream_read (stream, part, sizeof part, NULL, &error), ==, 4);
  g_assert_cmpmem (part, 4, "\0\0\0\0", 4);
  tree_refuse (tree, SANDBOX_ERROR_LIMIT, "Cannot export “.”: it has too many bytes", export_directory, ".", target);
  g_assert_false (g_file_test (copied, G_FILE_TEST_EXISTS));
}

static void
test_case_80 (Tree         *tree,
              gconstpointer data)
{
  g_autofree char *path = g_build_filename (tree->files.inside, "f", NULL);
  g_autoptr (GInputStream) stream = NULL;
  g_autoptr (GError) error = NULL;
  char part[4];

  g_test_summary ("A file that becomes shorter under a stream: its end, and nothing worse");
  guest_make_file (&tree->files, "f", "0123456789");
  stream = tree_do (tree, open_read, "f");
  g_assert_cmpint (g_input_stream_read (stream, part, sizeof part, NULL, &error), ==, 4);
  g_assert_cmpint (truncate (path, 2), ==, 0);
  g_assert_cmpint (g_input_stream_skip (stream, 4, NULL, &error), ==, 0);
  g_assert_cmpint (g_input_stream_read (stream, part, sizeof part, NULL, &error), ==, 0);
  g_assert_no_error (error);
}

static void
test_case_84 (Tree         *tree,
              gconstpointer data)
{
  const mode_t modes[] = { 0644, 0755, 0600, 0444, 04755, 02755, 0111 };
  mode_t       mask = umask (0077);

  g_test_summary ("Mode bits after a stream: kept, but never set-id; new ones whatever the umask");
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      guest_make_file (&tree->files, "f", "old");
      g_assert_cmpint (fchmodat (tree->files.root, "f", modes[i], 0), ==, 0);
      tree_write_stream (tree, "f", "new");
      g_assert_cmpuint (guest_get_mode (&tree->files, "f"), ==, modes[i] & 0777);
      g_assert_cmpint (unlinkat (tree->files.root, "f", 0), ==, 0);
    }
  tree_write_stream (tree, "d/f", "new");
  g_assert_cmpuint (guest_get_mode (&tree->files, "d/f"), ==, 0644);
  g_assert_cmpuint (guest_get_mode (&tree->files, "d"), ==, 0755);
  umask (mask);
}

static void
test_case_88 (Tree         *tree,
              gconstpointer data)
{
  g_autofree char *full = g_build_filename (tree->files.inside, "full", NULL);
  g_autofree char *from = g_build_filename (tree->files.top, "from", NULL);
  g_autofree char *in_it = g_build_filename (from, "f", NULL);
  g_autofree char *content = g_malloc0 (1024 * 1024);
  g_autoptr (GFile) source = g_file_new_for_path (from);
  g_autoptr (GOutputStream) stream = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Disk full during a stream or an import: old content, no temporary file, and the error says so");
  if (!tree_enter_mount_namespace (tree))
    return;

  g_assert_cmpint (g_mkdir (from, 0755), ==, 0);
  g_assert_true (g_file_set_contents (in_it, content, 1024 * 1024, NULL));
  guest_make_directory (&tree->files, "full");
  g_assert_cmpint (mount ("tmpfs", full, "tmpfs", 0, "size=256k"), ==, 0);

  /* The workspace is what is full: a mount inside it would not be entered. */
  close (tree->files.root);
  tree->files.root = open (full, O_PATH | O_DIRECTORY | O_CLOEXEC);
  tree_close (tree);
  tree->driver = g_object_new (tree_driver_get_type (), NULL);
  tree->driver->workspace = sandbox_workspace_new (full, &error);
  g_assert_no_error (error);
  tree->session = sandbox_session_new_for_driver (SANDBOX_DRIVER (tree->driver), &error);
  g_assert_no_error (error);

  tree_do (tree, write_text, "f", "old");
  stream = tree_do (tree, open_write, "f");
  g_assert_false (g_output_stream_write_all (stream, content, 1024 * 1024, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_cmpstr (error->message, ==, "Cannot write “f”: No space left on device");
  g_clear_error (&error);
  g_assert_false (g_output_stream_close (stream, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
  assert_old (tree);
  tree_refuse (tree, SANDBOX_ERROR_LIMIT, "Cannot import “f”: No space left on device", import_directory, source, ".");
  assert_old (tree);

  tree_close (tree);
  close (tree->files.root);
  tree->files.root = open (tree->files.inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_clear_object (&stream);
  g_assert_cmpint (umount (full), ==, 0);
}

static void
test_file_size_limit (Tree         *tree,
                      gconstpointer data)
{
  const struct rlimit limit = { 1000, 1000 };
  g_autofree char    *content = g_malloc0 (2000);
  g_autoptr (GOutputStream) stream = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The limit of the host for the size of files ends a stream, and not the host");
  if (!fixture_is_subprocess (&tree->files))
    return;

  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  stream = tree_do (tree, open_write, "f");
  g_assert_cmpint (g_output_stream_write (stream, content, 900, NULL, &error), ==, 900);
  g_assert_cmpint (g_output_stream_write (stream, content, 200, NULL, &error), ==, -1);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_false (g_output_stream_close (stream, NULL, NULL));
  g_assert_cmpuint (guest_count (&tree->files, "."), ==, 0);
}

/* ---- Trees ---- */

static char *
host_path (Tree       *tree,
           const char *path)
{
  return g_build_filename (tree->files.top, path, NULL);
}

static void
host_make_directory (Tree       *tree,
                     const char *path)
{
  g_autofree char *full = host_path (tree, path);

  g_assert_cmpint (g_mkdir (full, 0755), ==, 0);
}

static void
host_make_file (Tree       *tree,
                const char *path,
                const char *content,
                mode_t      mode)
{
  g_autofree char *full = host_path (tree, path);

  g_assert_true (g_file_set_contents (full, content, -1, NULL));
  g_assert_cmpint (g_chmod (full, mode), ==, 0);
}

static void
host_make_link (Tree       *tree,
                const char *target,
                const char *path)
{
  g_autofree char *full = host_path (tree, path);

  g_assert_cmpint (symlink (target, full), ==, 0);
}

static gboolean
host_has (Tree       *tree,
          const char *path)
{
  g_autofree char *full = host_path (tree, path);
  struct stat      st;

  return lstat (full, &st) == 0;
}

static void
host_assert_file (Tree       *tree,
                  const char *path,
                  const char *content,
                  mode_t      mode)
{
  g_autofree char *full = host_path (tree, path);
  g_autofree char *text = NULL;
  struct stat      st;

  g_assert_cmpint (lstat (full, &st), ==, 0);
  g_assert_cmpuint (st.st_mode, ==, S_IFREG | mode);
  g_assert_cmpuint (st.st_uid, ==, geteuid ());
  g_assert_true (g_file_get_contents (full, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, content);
}

static GFile *
host_file (Tree       *tree,
           const char *path)
{
  g_autofree char *full = host_path (tree, path);

  return g_file_new_for_path (full);
}

static void
assert_link (Tree       *tree,
             const char *path,
             const char *target)
{
  g_autoptr (GFileInfo) info = tree_do (tree, query_info, path);

  g_assert_cmpint (g_file_info_get_file_type (info), ==, G_FILE_TYPE_SYMBOLIC_LINK);
  g_assert_cmpstr (g_file_info_get_symlink_target (info), ==, target);
}

/* What the signal told last. */
typedef struct
{
  guint64  bytes;
  guint64  files;
  guint64  skipped;
  guint    count;
  char    *path;
  GThread *thread;
} Progress;

static void
progress_clear (Progress *progress)
{
  g_free (progress->path);
  memset (progress, 0, sizeof *progress);
}

static void
progress_cb (SandboxSession *session,
             const char     *path,
             guint64         bytes,
             guint64         files,
             guint64         skipped,
             gpointer        user_data)
{
  Progress *progress = user_data;

  g_assert_cmpuint (bytes, >=, progress->bytes);
  progress->bytes = bytes;
  progress->files = files;
  progress->skipped = skipped;
  progress->count++;
  progress->thread = g_thread_self ();
  g_free (progress->path);
  progress->path = g_strdup (path);
}

static void
test_trees (Tree         *tree,
            gconstpointer data)
{
  g_autoptr (GFile) from = host_file (tree, "from");
  g_autoptr (GFile) to = host_file (tree, "to");
  g_autoptr (GFile) empty = host_file (tree, "empty");
  Progress progress = { 0 };
  gulong   handler = g_signal_connect (tree->session, "transfer-progress", G_CALLBACK (progress_cb), &progress);

  g_test_summary ("In and out again: what is kept, and what is left out");
  host_make_directory (tree, "from");
  host_make_directory (tree, "from/d");
  host_make_directory (tree, "from/d/e");
  host_make_directory (tree, "from/none");
  host_make_file (tree, "from/f", "file", 0600);
  host_make_file (tree, "from/d/run", "program", 04711);
  host_make_file (tree, "from/d/e/bad\xffname", "bad", 0644);
  host_make_link (tree, "f", "from/link");
  host_make_link (tree, "../../f", "from/d/e/up");
  host_make_link (tree, "../../../f", "from/d/e/out");
  host_make_link (tree, "/etc/passwd", "from/absolute");
  host_make_link (tree, "../outside/secret", "from/d/in-name-only");
  {
    g_autofree char *fifo = host_path (tree, "from/fifo");

    g_assert_cmpint (mkfifo (fifo, 0666), ==, 0);
  }

  tree_do (tree, import_directory, from, "a/b");
  guest_assert_content (&tree->files, "a/b/f", "file");
  guest_assert_content (&tree->files, "a/b/d/run", "program");
  guest_assert_content (&tree->files, "a/b/d/e/bad\xffname", "bad");
  g_assert_cmpuint (guest_get_mode (&tree->files, "a/b/f"), ==, 0644);
  g_assert_cmpuint (guest_get_mode (&tree->files, "a/b/d/run"), ==, 0755);
  g_assert_cmpuint (guest_get_mode (&tree->files, "a/b/d"), ==, 0755);
  g_assert_cmpuint (guest_count (&tree->files, "a/b/none"), ==, 0);
  assert_link (tree, "a/b/link", "f");
  assert_link (tree, "a/b/d/e/up", "../../f");
  assert_link (tree, "a/b/d/in-name-only", "../outside/secret");
  g_assert_cmpuint (guest_count (&tree->files, "a/b"), ==, 4);
  g_assert_cmpuint (guest_count (&tree->files, "a/b/d/e"), ==, 2);
  g_assert_cmpstr (progress.path, ==, "a/b");
  g_assert_cmpuint (progress.bytes, ==, strlen ("file"
                                                "program"
                                                "bad"));
  g_assert_cmpuint (progress.files, ==, 6);
  g_assert_cmpuint (progress.skipped, ==, 3);
  g_assert_cmpuint (progress.count, >=, 1);
  g_assert_true (progress.thread == g_thread_self ());

  /* Once more: files are replaced, the rest stays */
  guest_make_file (&tree->files, "a/b/f", "changed");
  guest_make_file (&tree->files, "a/b/own", "own");
  progress_clear (&progress);
  tree_do (tree, import_directory, from, "a/b");
  guest_assert_content (&tree->files, "a/b/f", "file");
  guest_assert_content (&tree->files, "a/b/own", "own");

  /* Out: into a new one, and into an empty one */
  guest_make_link (&tree->files, "../outside", "a/b/d/outside");
  progress_clear (&progress);
  tree_do (tree, export_directory, "a/b", to);
  host_assert_file (tree, "to/f", "file", 0644);
  host_assert_file (tree, "to/own", "own", 0644);
  host_assert_file (tree, "to/d/run", "program", 0755);
  host_assert_file (tree, "to/d/e/bad\xffname", "bad", 0644);
  g_assert_true (host_has (tree, "to/none"));
  g_assert_false (host_has (tree, "to/link"));
  g_assert_false (host_has (tree, "to/d/outside"));
  g_assert_false (host_has (tree, "to/d/e/up"));
  g_assert_cmpuint (progress.files, ==, 4);
  g_assert_cmpuint (progress.skipped, ==, 4);
  progress_clear (&progress);
  host_make_directory (tree, "empty");
  tree_do (tree, export_directory, "a/b/d", empty);
  host_assert_file (tree, "empty/run", "program", 0755);
  progress_clear (&progress);
  g_signal_handler_disconnect (tree->session, handler);
}

static void
test_tree_errors (Tree         *tree,
                  gconstpointer data)
{
  g_autoptr (GFile) from = host_file (tree, "from");
  g_autoptr (GFile) missing = host_file (tree, "none/none");
  g_autoptr (GFile) file = host_file (tree, "from/f");
  g_autoptr (GFile) remote = g_file_new_for_uri ("http://example.org/x");
  g_autoptr (GFile) to = host_file (tree, "to");

  g_test_summary ("What cannot be copied is told by code");
  host_make_directory (tree, "from");
  host_make_file (tree, "from/f", "x", 0644);
  host_make_directory (tree, "from/d");
  guest_make_directory (&tree->files, "in");
  guest_make_directory (&tree->files, "in/f");
  guest_make_file (&tree->files, "d", "x");
  guest_make_link (&tree->files, "../outside", "link");

  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, NULL, import_directory, remote, "x");
  tree_refuse (tree, SANDBOX_ERROR_NOT_SUPPORTED, NULL, export_directory, ".", remote);
  tree_refuse (tree, SANDBOX_ERROR_NOT_FOUND, NULL, import_directory, missing, "x");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, import_directory, file, "x");
  tree_refuse (tree, SANDBOX_ERROR_INVALID, "Cannot import “in/f”: Is a directory", import_directory, from, "in");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, import_directory, from, "d");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, import_directory, from, ".");
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot import “link”: “link” is a symbolic link", import_directory, from, "link");
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, import_directory, from, "link/x");
  g_assert_false (guest_has (&tree->files, "x"));

  tree_refuse (tree, SANDBOX_ERROR_NOT_FOUND, "Cannot export “none”: No such file or directory", export_directory, "none", to);
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, export_directory, "d", to);
  tree_refuse (tree, SANDBOX_ERROR_PATH, "Cannot export “link”: “link” is a symbolic link", export_directory, "link", to);
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, export_directory, "link/sub", to);
  g_assert_false (host_has (tree, "to"));
  tree_refuse (tree, SANDBOX_ERROR_NOT_FOUND, NULL, export_directory, ".", missing);
  tree_refuse (tree, SANDBOX_ERROR_EXISTS, NULL, export_directory, ".", from);
  tree_refuse (tree, SANDBOX_ERROR_PATH, NULL, export_directory, ".", file);
  host_assert_file (tree, "from/f", "x", 0644);
}

static void
test_into_itself (Tree         *tree,
                  gconstpointer data)
{
  g_autoptr (GFile) inside = host_file (tree, "inside");
  g_autoptr (GFile) inner = host_file (tree, "inside/out");

  g_test_summary ("A copy into itself comes to an end");
  guest_make_directory (&tree->files, "d");
  guest_make_file (&tree->files, "d/f", "x");
  tree_do (tree, import_directory, inside, "d/again");
  guest_assert_content (&tree->files, "d/again/d/f", "x");
  g_assert_false (guest_has (&tree->files, "d/again/d/again"));
  tree_do (tree, export_directory, ".", inner);
  g_assert_false (guest_has (&tree->files, "out/out"));
  guest_assert_content (&tree->files, "out/d/f", "x");
}

static void
test_depth (Tree         *tree,
            gconstpointer data)
{
  g_autoptr (GFile) from = host_file (tree, "from");
  g_autoptr (GFile) to = host_file (tree, "to");
  g_autofree char *top = host_path (tree, "from");
  g_autoptr (GString) path = g_string_new (top);

  g_test_summary ("As many levels as there may be, and one more");
  g_string_append (path, "/d");
  for (guint i = 1; i < SANDBOX_TRANSFER_MAX_DEPTH; i++)
    g_string_append (path, "/d");
  g_assert_cmpint (g_mkdir_with_parents (path->str, 0755), ==, 0);
  tree_do (tree, import_directory, from, ".");
  tree_do (tree, export_directory, ".", to);
  g_string_append (path, "/d");
  g_assert_cmpint (g_mkdir (path->str, 0755), ==, 0);
  tree_refuse (tree, SANDBOX_ERROR_LIMIT, "Cannot import “again”: it has too many levels", import_directory, from, "again");
}

static gpointer
cancel_when_begun (gpointer data)
{
  GCancellable *cancellable = data;
  const char   *path = g_object_get_data (G_OBJECT (cancellable), "path");

  while (!g_file_test (path, G_FILE_TEST_EXISTS))
    g_usleep (100);
  g_cancellable_cancel (cancellable);

  return NULL;
}

static void
test_cancelled_during (Tree         *tree,
                       gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GFile) from = host_file (tree, "from");
  g_autofree char *big = host_path (tree, "from/big");
  g_autoptr (GError) error = NULL;
  GThread *thread = NULL;

  g_test_summary ("An import is cancelled on its way, within a file too");
  host_make_directory (tree, "from");
  host_make_file (tree, "from/big", "", 0644);
  g_assert_cmpint (truncate (big, G_GINT64_CONSTANT (2000) << 20), ==, 0);
  g_object_set_data_full (G_OBJECT (cancellable), "path", g_build_filename (tree->files.inside, "d", NULL), g_free);

  thread = g_thread_new ("cancel", cancel_when_begun, cancellable);
  tree_call (tree, import_directory, cancellable, &error, from, "d");
  g_thread_join (thread);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  test_wait (guest_count (&tree->files, "d") == 0);
}

static void
test_unreadable (Tree         *tree,
                 gconstpointer data)
{
  g_autoptr (GFile) to = host_file (tree, "to");

  g_test_summary ("What may not be read is told by name");
  guest_make_directory (&tree->files, "d");
  guest_make_file (&tree->files, "d/f", "x");
  if (geteuid () == 0)
    {
      g_assert_cmpint (chown (tree->files.inside, 61234, 61235), ==, 0);
      tree_close (tree);
      tree_open (tree);
    }
  g_assert_cmpint (fchmodat (tree->files.root, "d/f", 0, 0), ==, 0);
  tree_refuse (tree, SANDBOX_ERROR_DENIED, "Cannot export “d/f”: Permission denied", export_directory, ".", to);
  tree_refuse (tree, SANDBOX_ERROR_DENIED, "Cannot read “d/f”: Permission denied", open_read, "d/f");
}

static void
assert_owner (Tree       *tree,
              const char *path,
              guint       uid,
              guint       gid)
{
  struct stat st;

  g_assert_cmpint (fstatat (tree->files.root, path, &st, AT_SYMLINK_NOFOLLOW), ==, 0);
  g_assert_cmpuint (st.st_uid, ==, uid);
  g_assert_cmpuint (st.st_gid, ==, gid);
}

static void
test_owner (Tree         *tree,
            gconstpointer data)
{
  g_autoptr (GFile) from = host_file (tree, "from");
  g_autoptr (GFile) to = host_file (tree, "to");
  g_autoptr (GOutputStream) stream = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("What root puts in belongs to the owner, what it takes out to root, and each side is read with its own rights");
  g_assert_cmpint (chown (tree->files.inside, 61234, 61235), ==, 0);
  tree_close (tree);
  tree_open (tree);
  host_make_directory (tree, "from");
  host_make_directory (tree, "from/d");
  host_make_file (tree, "from/d/private", "secret of root", 0600);
  host_make_link (tree, "private", "from/d/link");

  tree_do (tree, import_directory, from, "a/b");
  assert_owner (tree, "a", 61234, 61235);
  assert_owner (tree, "a/b/d", 61234, 61235);
  assert_owner (tree, "a/b/d/private", 61234, 61235);
  assert_owner (tree, "a/b/d/link", 61234, 61235);
  tree_do (tree, export_directory, "a/b", to);
  host_assert_file (tree, "to/d/private", "secret of root", 0644);

  stream = tree_do (tree, open_write, "c/f");
  g_assert_cmpint (g_output_stream_write (stream, "x", 1, NULL, &error), ==, 1);
  g_output_stream_close (stream, NULL, &error);
  g_assert_no_error (error);
  assert_owner (tree, "c", 61234, 61235);
  assert_owner (tree, "c/f", 61234, 61235);

  /* Somebody else's directory: neither by a stream nor by a copy */
  guest_make_directory (&tree->files, "locked");
  tree_refuse (tree, SANDBOX_ERROR_DENIED, NULL, open_write, "locked/f");
  tree_refuse (tree, SANDBOX_ERROR_DENIED, NULL, import_directory, from, "locked");
  g_assert_cmpuint (guest_count (&tree->files, "locked"), ==, 0);
}

static void
told_as_root_cb (const SandboxContainedCount *count,
                 gpointer                     data)
{
  guint *in_file = data;

  g_assert_cmpint (setfsuid (-1), ==, 0);
  g_assert_cmpint (setfsgid (-1), ==, 0);
  if (count->bytes == 0 || count->files > 0 || ++*in_file > 2)
    return;
  g_usleep (60 * 1000); /* so that the next one is due */
}

static void
test_owner_told (Tree         *tree,
                 gconstpointer data)
{
  g_autofree char *path = host_path (tree, "from");
  g_autofree char *content = g_strnfill (2 << 20, 'x');
  g_auto (SandboxFd) from = -1;
  g_autoptr (GError) error = NULL;
  guint                in_file = 0;
  SandboxContainedCopy copy = { .path = ".", .uid = 61234, .gid = 61235, .progress = told_as_root_cb, .data = &in_file };
  struct stat          st;

  g_test_summary ("The host is told in the middle of a file as root, not as the owner for whom that is written");
  g_assert_cmpint (chown (tree->files.inside, 61234, 61235), ==, 0);
  host_make_directory (tree, "from");
  host_make_file (tree, "from/large", content, 0600);
  from = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  copy.source = from;
  copy.target = tree->files.root;
  sandbox_contained_copy (&copy, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (in_file, >=, 3);
  assert_owner (tree, "large", 61234, 61235);
  g_assert_cmpint (fstatat (tree->files.root, "large", &st, 0), ==, 0);
  g_assert_cmpint (st.st_size, ==, 2 << 20);
}

int
main (int    argc,
      char **argv)
{
  static const TreeTest tests[] = {
    { "streams", test_streams },
    { "streams-async", test_streams_async },
    { "aborted", test_aborted },
    { "call-cancelled", test_call_cancelled },
    { "parent-moved", test_parent_moved },
    { "file-size-limit", test_file_size_limit },
    { "trees", test_trees },
    { "tree-errors", test_tree_errors },
    { "into-itself", test_into_itself },
    { "depth", test_depth },
    { "cancelled-during", test_cancelled_during },
    { "unreadable", test_unreadable },
    { "case-74-link-under-a-stream", test_case_74 },
    { "case-76-hard-link", test_case_76 },
    { "case-79-sparse-giant", test_case_79 },
    { "case-80-shorter-file", test_case_80 },
    { "case-84-modes", test_case_84 },
    { "case-88-disk-full", test_case_88 },
  };
  static const TreeTest root_tests[] = { { "owner", test_owner }, { "owner-told", test_owner_told } };

  g_test_init (&argc, &argv, NULL);
  tree_prime ();
  tree_add_tests ("/transfer/", tests, G_N_ELEMENTS (tests));
  if (geteuid () == 0)
    tree_add_tests ("/transfer/", root_tests, G_N_ELEMENTS (root_tests));
  else
    g_print ("# The test owner needs root: nobody else can work as another user\n");

  return g_test_run ();
}
