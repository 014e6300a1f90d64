/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-push-stream-private.h"

#include "../common/test-helpers.h"

static GBytes *
make_bytes (gsize size,
            char  fill)
{
  char *data = g_malloc (size);

  memset (data, fill, size);

  return g_bytes_new_take (data, size);
}

static SandboxPush
push_text (SandboxPushStream *stream,
           const char        *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  return sandbox_push_stream_push (stream, bytes);
}

static void
test_queue (void)
{
  g_autoptr (SandboxPushStream) stream = sandbox_push_stream_new (0);
  g_autoptr (GError) error = NULL;
  char  buffer[16] = "";
  gsize done = 0;

  g_test_summary ("What is pushed is read in its order, whatever the sizes of the pieces, and then comes the end");

  g_assert_cmpint (push_text (stream, "abc"), ==, SANDBOX_PUSH_TAKEN);
  g_assert_cmpint (push_text (stream, ""), ==, SANDBOX_PUSH_TAKEN);
  g_assert_cmpint (push_text (stream, "defgh"), ==, SANDBOX_PUSH_TAKEN);

  g_assert_cmpint (g_input_stream_read (G_INPUT_STREAM (stream), buffer, 2, NULL, &error), ==, 2);
  g_assert_cmpmem (buffer, 2, "ab", 2);
  g_assert_cmpint (g_input_stream_read (G_INPUT_STREAM (stream), buffer, 16, NULL, &error), ==, 6);
  g_assert_cmpmem (buffer, 6, "cdefgh", 6);

  g_assert_cmpint (push_text (stream, "tail"), ==, SANDBOX_PUSH_TAKEN);
  sandbox_push_stream_end (stream);
  g_assert_cmpint (push_text (stream, "late"), ==, SANDBOX_PUSH_UNWANTED);
  g_assert_true (g_input_stream_read_all (G_INPUT_STREAM (stream), buffer, 16, &done, NULL, &error));
  g_assert_cmpmem (buffer, done, "tail", 4);
  g_assert_cmpint (g_input_stream_read (G_INPUT_STREAM (stream), buffer, 16, NULL, &error), ==, 0);
  g_assert_no_error (error);
}

static void
test_bound (void)
{
  g_autoptr (SandboxPushStream) stream = sandbox_push_stream_new (0);
  g_autoptr (GBytes) most = make_bytes (SANDBOX_PUSH_STREAM_MAX - 1, 'm');
  g_autoptr (GBytes) huge = make_bytes (SANDBOX_PUSH_STREAM_MAX + 1, 'h');
  char buffer[8];

  g_test_summary ("The queue has a bound, to the byte; reading makes room");

  g_assert_cmpint (sandbox_push_stream_push (stream, huge), ==, SANDBOX_PUSH_FULL);
  g_assert_cmpint (sandbox_push_stream_push (stream, most), ==, SANDBOX_PUSH_TAKEN);
  g_assert_cmpint (push_text (stream, "1"), ==, SANDBOX_PUSH_TAKEN);
  g_assert_cmpint (push_text (stream, "2"), ==, SANDBOX_PUSH_FULL);
  g_assert_cmpint (push_text (stream, ""), ==, SANDBOX_PUSH_TAKEN);
  g_assert_cmpint (g_input_stream_read (G_INPUT_STREAM (stream), buffer, 3, NULL, NULL), ==, 3);
  g_assert_cmpint (push_text (stream, "123"), ==, SANDBOX_PUSH_TAKEN);
  g_assert_cmpint (push_text (stream, "4"), ==, SANDBOX_PUSH_FULL);
}

static void
test_close (void)
{
  g_autoptr (SandboxPushStream) stream = sandbox_push_stream_new (0);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A reader that closes is not fed any more");

  g_assert_cmpint (push_text (stream, "unread"), ==, SANDBOX_PUSH_TAKEN);
  g_input_stream_close_async (G_INPUT_STREAM (stream), G_PRIORITY_DEFAULT, NULL, test_result_cb, &result);
  test_wait (result != NULL);
  g_assert_true (g_input_stream_close_finish (G_INPUT_STREAM (stream), result, &error));
  g_assert_no_error (error);
  g_assert_cmpint (push_text (stream, "more"), ==, SANDBOX_PUSH_UNWANTED);
}

static gpointer
push_later_thread (gpointer data)
{
  g_usleep (20000);
  push_text (data, "later");

  return NULL;
}

static void
test_async (void)
{
  g_autoptr (SandboxPushStream) stream = sandbox_push_stream_new (0);
  g_autoptr (GAsyncResult) first = NULL;
  g_autoptr (GAsyncResult) second = NULL;
  g_autoptr (GAsyncResult) third = NULL;
  g_autoptr (GError) error = NULL;
  GThread *thread = NULL;
  char     buffer[16];

  g_test_summary ("An asynchronous read is answered in the reader's context: at once, by a later push, or by the end");

  push_text (stream, "now");
  g_input_stream_read_async (G_INPUT_STREAM (stream), buffer, sizeof buffer, G_PRIORITY_DEFAULT, NULL, test_result_cb, &first);
  g_assert_null (first);
  test_wait (first != NULL);
  g_assert_cmpint (g_input_stream_read_finish (G_INPUT_STREAM (stream), first, &error), ==, 3);

  g_input_stream_read_async (G_INPUT_STREAM (stream), buffer, sizeof buffer, G_PRIORITY_DEFAULT, NULL, test_result_cb, &second);
  thread = g_thread_new ("push", push_later_thread, stream);
  test_wait (second != NULL);
  g_assert_cmpint (g_input_stream_read_finish (G_INPUT_STREAM (stream), second, &error), ==, 5);
  g_assert_cmpmem (buffer, 5, "later", 5);
  g_thread_join (thread);

  g_input_stream_read_async (G_INPUT_STREAM (stream), buffer, sizeof buffer, G_PRIORITY_DEFAULT, NULL, test_result_cb, &third);
  test_run_for (10);
  g_assert_null (third);
  sandbox_push_stream_end (stream);
  test_wait (third != NULL);
  g_assert_cmpint (g_input_stream_read_finish (G_INPUT_STREAM (stream), third, &error), ==, 0);
  g_assert_no_error (error);
}

static void
test_cancel (void)
{
  g_autoptr (SandboxPushStream) stream = sandbox_push_stream_new (0);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  char buffer[16];

  g_test_summary ("A cancelled read loses nothing of what comes after it");

  g_input_stream_read_async (G_INPUT_STREAM (stream), buffer, sizeof buffer, G_PRIORITY_DEFAULT, cancellable, test_result_cb, &result);
  test_run_for (5);
  g_cancellable_cancel (cancellable);
  test_wait (result != NULL);
  g_assert_cmpint (g_input_stream_read_finish (G_INPUT_STREAM (stream), result, &error), ==, -1);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);

  g_assert_cmpint (g_input_stream_read (G_INPUT_STREAM (stream), buffer, sizeof buffer, cancellable, &error), ==, -1);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);

  push_text (stream, "kept");
  g_assert_cmpint (g_input_stream_read (G_INPUT_STREAM (stream), buffer, sizeof buffer, NULL, &error), ==, 4);
  g_assert_no_error (error);
}

static gpointer
cancel_later_thread (gpointer data)
{
  g_usleep (50000);
  g_cancellable_cancel (data);

  return NULL;
}

static void
test_cancel_blocked (void)
{
  g_autoptr (SandboxPushStream) stream = sandbox_push_stream_new (0);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("cancel", cancel_later_thread, cancellable);
  char     buffer[16];

  g_test_summary ("A blocked read ends soon after it is cancelled");

  g_assert_cmpint (g_input_stream_read (G_INPUT_STREAM (stream), buffer, sizeof buffer, cancellable, &error), ==, -1);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_thread_join (thread);
}

#define PIECES 20000

static gpointer
push_pieces_thread (gpointer data)
{
  for (guint32 i = 0; i < PIECES; i++)
    {
      g_autoptr (GBytes) bytes = g_bytes_new (&i, sizeof i);

      g_assert_cmpint (sandbox_push_stream_push (data, bytes), ==, SANDBOX_PUSH_TAKEN);
    }
  sandbox_push_stream_end (data);

  return NULL;
}

static void
test_threads (void)
{
  g_autoptr (SandboxPushStream) stream = sandbox_push_stream_new (0);
  g_autoptr (GByteArray) all = g_byte_array_new ();
  GThread *thread = g_thread_new ("push", push_pieces_thread, stream);
  gssize   size = 0;

  g_test_summary ("Nothing is lost, doubled or put out of order between a pusher and reads of both kinds");

  for (guint turn = 0;; turn++)
    {
      g_autoptr (GError) error = NULL;
      guint8 buffer[997];

      if (turn % 2 == 0)
        size = g_input_stream_read (G_INPUT_STREAM (stream), buffer, sizeof buffer, NULL, &error);
      else
        {
          g_autoptr (GAsyncResult) result = NULL;

          g_input_stream_read_async (G_INPUT_STREAM (stream), buffer, sizeof buffer, G_PRIORITY_DEFAULT, NULL, test_result_cb, &result);
          test_wait (result != NULL);
          size = g_input_stream_read_finish (G_INPUT_STREAM (stream), result, &error);
        }
      g_assert_no_error (error);
      if (size == 0)
        break;
      g_byte_array_append (all, buffer, size);
    }
  g_thread_join (thread);

  g_assert_cmpuint (all->len, ==, PIECES * sizeof (guint32));
  for (guint32 i = 0; i < PIECES; i++)
    g_assert_cmpuint (((guint32 *) (void *) all->data)[i], ==, i);
}

static gpointer
cancel_storm_thread (gpointer data)
{
  GCancellable **cancellable = data;

  for (guint i = 0; i < 300; i++)
    {
      g_cancellable_cancel (g_atomic_pointer_get (cancellable));
      g_usleep (g_random_int_range (0, 300));
    }

  return NULL;
}

static void
test_cancel_storm (void)
{
  g_autoptr (SandboxPushStream) stream = sandbox_push_stream_new (0);
  g_autoptr (GPtrArray) cancellables = g_ptr_array_new_with_free_func (g_object_unref);
  GCancellable *current = g_cancellable_new ();
  GThread      *pusher = NULL;
  GThread      *canceller = NULL;
  guint64       total = 0;
  gssize        size = -1;

  g_test_summary ("Reads that are cancelled while pushes come lose no byte");

  g_ptr_array_add (cancellables, current);
  pusher = g_thread_new ("push", push_pieces_thread, stream);
  canceller = g_thread_new ("cancel", cancel_storm_thread, &current);
  while (size != 0)
    {
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GError) error = NULL;
      char buffer[8];

      g_input_stream_read_async (G_INPUT_STREAM (stream), buffer, sizeof buffer, G_PRIORITY_DEFAULT, current, test_result_cb, &result);
      while (result == NULL)
        g_main_context_iteration (NULL, TRUE);
      size = g_input_stream_read_finish (G_INPUT_STREAM (stream), result, &error);
      if (size > 0)
        total += size;
      if (g_cancellable_is_cancelled (current))
        {
          g_autoptr (GCancellable) next = g_cancellable_new ();

          g_ptr_array_add (cancellables, g_object_ref (next));
          g_atomic_pointer_set (&current, next);
        }
    }
  g_thread_join (pusher);
  g_thread_join (canceller);

  g_assert_cmpuint (total, ==, PIECES * sizeof (guint32));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/push-stream/queue", test_queue);
  g_test_add_func ("/push-stream/bound", test_bound);
  g_test_add_func ("/push-stream/close", test_close);
  g_test_add_func ("/push-stream/async", test_async);
  g_test_add_func ("/push-stream/cancel", test_cancel);
  g_test_add_func ("/push-stream/cancel-blocked", test_cancel_blocked);
  g_test_add_func ("/push-stream/threads", test_threads);
  g_test_add_func ("/push-stream/cancel-storm", test_cancel_storm);

  return g_test_run ();
}
