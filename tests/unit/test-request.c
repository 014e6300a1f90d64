/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-request-private.h"

#include "sandbox-driver.h"
#include "sandbox-error-private.h"
#include "sandbox-process-private.h"
#include "sandbox-sync-private.h"

#include "../common/test-helpers.h"
#include "memory-driver.h"

#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <sys/socket.h>
#include <unistd.h>

/* The tag of the calls in here */
static void
call (void)
{
}

static SandboxRequest *
new_request (GType          answer,
             GCancellable  *cancellable,
             GAsyncResult **result)
{
  return sandbox_request_new (NULL, call, answer, cancellable, test_result_cb, result);
}

static gpointer
wait_pointer (GAsyncResult **result,
              GError       **error)
{
  gpointer answer = NULL;

  test_wait (*result != NULL);
  answer = sandbox_request_propagate_pointer (*result, NULL, call, error);
  g_clear_object (result);

  return answer;
}

static gboolean
wait_done (GAsyncResult **result,
           GError       **error)
{
  gboolean done = FALSE;

  test_wait (*result != NULL);
  done = sandbox_request_propagate_done (*result, NULL, call, error);
  g_clear_object (result);

  return done;
}

#define assert_failed(result, domain, code)             \
 G_STMT_START                                           \
 {                                                      \
  g_autoptr (GError) failed_error = NULL;               \
                                                        \
  g_assert_null (wait_pointer (result, &failed_error)); \
  g_assert_error (failed_error, domain, code);          \
 }                                                      \
 G_STMT_END

static void
answer_bytes (SandboxRequest *request,
              const char     *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  sandbox_request_return_bytes (request, bytes);
}

static gpointer
answer_thread (gpointer data)
{
  g_autoptr (SandboxRequest) request = data;

  g_usleep (10000);
  answer_bytes (request, "thread");

  return NULL;
}

static void
count_cb (gpointer data)
{
  g_atomic_int_inc ((int *) data);
}

static void
cancelled_cb (SandboxRequest *request,
              int            *counter)
{
  g_assert_true (sandbox_request_is_cancelled (request));
  (*counter)++;
}

static void
test_kinds (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) given = g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_EXISTS, "there");
  SandboxRequest *request = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GFileInfo) info = NULL;
  g_autoptr (GFileInfo) answer = g_file_info_new ();

  g_test_summary ("Each kind of answer reaches the caller, in its context and not before the call has returned");

  request = new_request (G_TYPE_NONE, NULL, &result);
  sandbox_request_return_done (request);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  g_assert_null (result);
  g_assert_true (wait_done (&result, &error));
  g_assert_no_error (error);

  request = new_request (G_TYPE_BYTES, NULL, &result);
  answer_bytes (request, "bytes");
  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  bytes = wait_pointer (&result, &error);
  g_assert_no_error (error);
  test_assert_bytes (bytes, "bytes");

  request = new_request (G_TYPE_FILE_INFO, NULL, &result);
  sandbox_request_dispatched (request, TRUE, NULL);
  sandbox_request_return_object (request, G_OBJECT (answer));
  g_object_unref (request);
  info = wait_pointer (&result, &error);
  g_assert_no_error (error);
  g_assert_true (info == answer);

  request = new_request (G_TYPE_BYTES, NULL, &result);
  sandbox_request_return_error (request, given);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);

  request = new_request (G_TYPE_BYTES, NULL, &result);
  sandbox_request_return_failure (request, SANDBOX_ERROR_PATH, "no way");
  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
}

static void
test_subtypes (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GInputStream) stream = g_memory_input_stream_new ();
  g_autoptr (GInputStream) answer = NULL;
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxDriver) made = NULL;
  SandboxRequest *request = NULL;

  g_test_summary ("An object of a derived class, or of a class that implements the interface, is of the right kind");

  request = new_request (G_TYPE_INPUT_STREAM, NULL, &result);
  sandbox_request_return_object (request, G_OBJECT (stream));
  g_object_unref (request);
  answer = wait_pointer (&result, &error);
  g_assert_no_error (error);
  g_assert_true (answer == stream);

  request = new_request (SANDBOX_TYPE_DRIVER, NULL, &result);
  sandbox_request_return_object (request, G_OBJECT (driver));
  g_object_unref (request);
  made = wait_pointer (&result, &error);
  g_assert_no_error (error);
  g_assert_true (SANDBOX_DRIVER (driver) == made);
}

static void
test_refused (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  SandboxRequest *request = NULL;

  g_test_summary ("FALSE with an error is that error; without one it is a fault of the driver; at once");

  request = new_request (G_TYPE_BYTES, NULL, &result);
  sandbox_request_dispatched (request, FALSE, g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_DENIED, "no"));
  g_object_unref (request);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);

  request = new_request (G_TYPE_BYTES, NULL, &result);
  sandbox_request_dispatched (request, FALSE, NULL);
  g_assert_null (wait_pointer (&result, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "returned FALSE without an error"));
  g_object_unref (request);

  request = new_request (G_TYPE_BYTES, NULL, &result);
  answer_bytes (request, "all the same");
  sandbox_request_dispatched (request, TRUE, g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_DENIED, "stray"));
  g_object_unref (request);
  g_bytes_unref (wait_pointer (&result, NULL));
}

static void
test_dropped (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = new_request (G_TYPE_BYTES, NULL, &result);

  g_test_summary ("A driver that drops the request has failed, and the caller hears of it soon");

  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
}

static gboolean
collect_cb (gpointer data)
{
  gpointer      *pair = data;
  GAsyncResult **result = pair[1];

  g_object_unref (pair[0]);
  g_assert_null (*result);

  return G_SOURCE_REMOVE;
}

static void
test_collected (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = new_request (G_TYPE_BYTES, NULL, &result);
  gpointer        pair[2] = { request, &result };

  g_test_summary ("Nobody is called back from where the request was dropped: that may be a garbage collector");

  sandbox_request_dispatched (request, TRUE, NULL);
  g_timeout_add (1, collect_cb, pair);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
}

static void
test_twice (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  SandboxRequest *request = new_request (G_TYPE_BYTES, NULL, &result);

  g_test_summary ("The first answer stands, the second is a bug of the driver");

  answer_bytes (request, "first");
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*answered twice*");
  answer_bytes (request, "second");
  g_test_assert_expected_messages ();
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*answered twice*");
  sandbox_request_return_failure (request, SANDBOX_ERROR_FAILED, "third");
  g_test_assert_expected_messages ();
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*answered twice*");
  sandbox_request_dispatched (request, FALSE, g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_DENIED, "refused too"));
  g_test_assert_expected_messages ();
  g_object_unref (request);

  bytes = wait_pointer (&result, &error);
  g_assert_no_error (error);
  test_assert_bytes (bytes, "first");
}

static void
test_wrong_kind (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GObject) object = g_object_new (G_TYPE_OBJECT, NULL);
  g_autoptr (GError) error = NULL;
  SandboxRequest *request = NULL;

  g_test_summary ("An answer of another kind is a bug of the driver and an error for the caller");

  request = new_request (G_TYPE_BYTES, NULL, &result);
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*GBytes*answered with void*");
  sandbox_request_return_done (request);
  g_test_assert_expected_messages ();
  g_object_unref (request);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);

  request = new_request (G_TYPE_NONE, NULL, &result);
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*void*answered with GBytes*");
  answer_bytes (request, "too much");
  g_test_assert_expected_messages ();
  g_object_unref (request);
  g_assert_false (wait_done (&result, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);

  request = new_request (G_TYPE_FILE_INFO, NULL, &result);
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*GFileInfo*answered with GObject*");
  sandbox_request_return_object (request, object);
  g_test_assert_expected_messages ();
  g_object_unref (request);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
}

static void
test_thread (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  SandboxRequest *request = new_request (G_TYPE_BYTES, NULL, &result);
  GThread        *thread = g_thread_new ("answer", answer_thread, g_object_ref (request));

  g_test_summary ("An answer may come from any thread");

  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  bytes = wait_pointer (&result, &error);
  g_assert_no_error (error);
  test_assert_bytes (bytes, "thread");
  g_thread_join (thread);
}

typedef struct
{
  GMainContext *context;
  GMainLoop    *loop;
} OwnCaller;

static void
own_caller_cb (GObject      *object,
               GAsyncResult *result,
               gpointer      user_data)
{
  OwnCaller *caller = user_data;
  g_autoptr (GBytes) bytes = sandbox_request_propagate_pointer (result, NULL, call, NULL);

  g_assert_nonnull (bytes);
  g_assert_true (g_main_context_is_owner (caller->context));
  g_main_loop_quit (caller->loop);
}

static gpointer
own_caller_thread (gpointer data)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GMainLoop) loop = g_main_loop_new (context, FALSE);
  OwnCaller       caller = { context, loop };
  SandboxRequest *request = NULL;

  g_main_context_push_thread_default (context);
  request = sandbox_request_new (NULL, call, G_TYPE_BYTES, NULL, own_caller_cb, &caller);
  g_thread_unref (g_thread_new ("answer", answer_thread, request));
  g_main_loop_run (loop);
  g_main_context_pop_thread_default (context);

  return NULL;
}

static void
test_context (void)
{
  g_test_summary ("The callback runs in the context of the thread that called");

  g_thread_join (g_thread_new ("caller", own_caller_thread, NULL));
}

/* ---- Cancellation */

static void
test_cancelled_before (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = NULL;
  int             signals = 0;

  g_test_summary ("A call that is cancelled before it starts is answered so, whatever the driver says");

  g_cancellable_cancel (cancellable);
  request = new_request (G_TYPE_BYTES, cancellable, &result);
  g_signal_connect (request, "cancelled", G_CALLBACK (cancelled_cb), &signals);
  g_assert_true (sandbox_request_is_cancelled (request));
  answer_bytes (request, "unwanted");
  sandbox_request_dispatched (request, TRUE, NULL);
  assert_failed (&result, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_object_unref (request);
  g_assert_cmpint (signals, ==, 0);

  request = new_request (G_TYPE_BYTES, cancellable, &result);
  sandbox_request_dispatched (request, TRUE, NULL);
  assert_failed (&result, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_object_unref (request);
}

static void
test_cancelled_while (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = new_request (G_TYPE_BYTES, cancellable, &result);
  int             signals = 0;

  g_test_summary ("A cancellation answers the caller at once and tells the driver; a late answer is no fault");

  g_signal_connect (request, "cancelled", G_CALLBACK (cancelled_cb), &signals);
  sandbox_request_dispatched (request, TRUE, NULL);
  test_run_for (10);
  g_assert_null (result);
  g_assert_false (sandbox_request_is_cancelled (request));

  g_cancellable_cancel (cancellable);
  g_cancellable_cancel (cancellable);
  assert_failed (&result, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  test_run_for (10);
  g_assert_cmpint (signals, ==, 1);

  answer_bytes (request, "late");
  test_run_for (10);
  g_assert_null (result);
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*answered twice*");
  answer_bytes (request, "later");
  g_test_assert_expected_messages ();
  g_object_unref (request);
}

static void
test_cancelled_after (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  SandboxRequest *request = new_request (G_TYPE_BYTES, cancellable, &result);
  int             signals = 0;

  g_test_summary ("A cancellation after the answer changes nothing");

  g_signal_connect (request, "cancelled", G_CALLBACK (cancelled_cb), &signals);
  sandbox_request_dispatched (request, TRUE, NULL);
  answer_bytes (request, "in time");
  g_cancellable_cancel (cancellable);
  bytes = wait_pointer (&result, &error);
  g_assert_no_error (error);
  test_assert_bytes (bytes, "in time");
  test_run_for (10);
  g_assert_cmpint (signals, ==, 0);
  g_object_unref (request);
}

static void
cancel_in_callback_cb (GObject      *object,
                       GAsyncResult *result,
                       gpointer      user_data)
{
  g_cancellable_cancel (g_task_get_cancellable (G_TASK (result)));
  test_result_cb (object, result, user_data);
}

static void
test_cancelled_in_callback (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  SandboxRequest *request = NULL;

  g_test_summary ("A callback may cancel: its own answer stands, and nothing locks up");

  request = sandbox_request_new (NULL, call, G_TYPE_NONE, cancellable, cancel_in_callback_cb, &result);
  sandbox_request_dispatched (request, TRUE, NULL);
  sandbox_request_return_done (request);
  g_assert_true (wait_done (&result, &error));
  g_assert_no_error (error);
  g_assert_true (g_cancellable_is_cancelled (cancellable));
  g_object_unref (request);
}

static void
cancel_more_cb (SandboxRequest *request,
                GCancellable   *cancellable)
{
  g_cancellable_cancel (cancellable);
  sandbox_request_return_failure (request, SANDBOX_ERROR_FAILED, "as you wish");
}

static void
test_answered_in_signal (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = new_request (G_TYPE_BYTES, cancellable, &result);

  g_test_summary ("A driver may answer in its handler of the cancellation; the caller hears CANCELLED all the same");

  g_signal_connect (request, "cancelled", G_CALLBACK (cancel_more_cb), cancellable);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (g_object_ref (request));
  g_cancellable_cancel (cancellable);
  assert_failed (&result, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_object_unref (request);
}

static gpointer
cancel_thread (gpointer data)
{
  g_usleep (g_random_int_range (0, 400));
  g_cancellable_cancel (data);

  return NULL;
}

static gpointer
answer_soon_thread (gpointer data)
{
  g_autoptr (SandboxRequest) request = data;

  g_usleep (g_random_int_range (0, 400));
  answer_bytes (request, "race");

  return NULL;
}

static gpointer
drop_soon_thread (gpointer data)
{
  g_usleep (g_random_int_range (0, 400));
  g_object_unref (data);

  return NULL;
}

static void
test_races (void)
{
  guint cancelled = 0;
  guint answered = 0;

  g_test_summary ("Answer, drop and cancellation race in three threads: one outcome each time, and nothing else");

  for (guint i = 0; i < 600; i++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) bytes = NULL;
      SandboxRequest *request = new_request (G_TYPE_BYTES, cancellable, &result);
      GThread        *canceller = g_thread_new ("cancel", cancel_thread, cancellable);
      GThread        *driver = g_thread_new ("driver", i % 3 == 0 ? drop_soon_thread : answer_soon_thread,
                                             g_object_ref (request));

      sandbox_request_dispatched (request, TRUE, NULL);
      g_object_unref (request);
      bytes = wait_pointer (&result, &error);
      g_thread_join (canceller);
      g_thread_join (driver);

      if (bytes != NULL)
        answered++;
      else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        cancelled++;
      else
        {
          g_assert_cmpuint (i % 3, ==, 0);
          g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
        }
    }
  g_assert_cmpuint (answered, >, 0);
  g_assert_cmpuint (cancelled, >, 0);
}

static void
test_grace (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = NULL;
  gint64          before = 0;
  int             signals = 0;

  g_test_summary ("With a grace, a cancelled driver is waited for: until it answers, or until the grace ends");

  request = new_request (G_TYPE_BYTES, cancellable, &result);
  sandbox_request_set_limits (request, 10000, 10000);
  g_signal_connect (request, "cancelled", G_CALLBACK (cancelled_cb), &signals);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_cancellable_cancel (cancellable);
  test_wait (signals == 1);
  test_run_for (20);
  g_assert_null (result);
  answer_bytes (request, "ended");
  assert_failed (&result, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_object_unref (request);

  request = new_request (G_TYPE_BYTES, cancellable, &result);
  sandbox_request_set_limits (request, 10000, 100);
  sandbox_request_dispatched (request, TRUE, NULL);
  before = g_get_monotonic_time ();
  assert_failed (&result, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpint (g_get_monotonic_time () - before, >=, 90000);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 5 * G_USEC_PER_SEC);
  answer_bytes (request, "late");
  g_object_unref (request);
}

static void
test_deadline (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = new_request (G_TYPE_BYTES, NULL, &result);
  gint64          before = g_get_monotonic_time ();
  int             signals = 0;

  g_test_summary ("A driver that never answers costs the caller no more than the time limit");

  sandbox_request_set_limits (request, 100, 0);
  g_signal_connect (request, "cancelled", G_CALLBACK (cancelled_cb), &signals);
  sandbox_request_dispatched (request, TRUE, NULL);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_cmpint (g_get_monotonic_time () - before, >=, 90000);
  test_wait (signals == 1);
  g_assert_true (sandbox_request_is_cancelled (request));
  answer_bytes (request, "late");
  g_object_unref (request);
}

/* ---- The internal end */

typedef struct
{
  int      calls;
  gpointer answer; /* compared only */
  GError  *error;
} Internal;

static void
internal_cb (gpointer      user_data,
             gpointer      answer,
             const GError *error)
{
  Internal *internal = user_data;

  g_assert_true (answer == NULL || error == NULL);
  internal->answer = answer;
  if (error != NULL)
    internal->error = g_error_copy (error);
  g_atomic_int_inc (&internal->calls);
}

static void
internal_clear (Internal *internal)
{
  g_clear_error (&internal->error);
  memset (internal, 0, sizeof *internal);
}

static void
test_internal (void)
{
  Internal        internal = { 0 };
  SandboxRequest *request = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static ("b", 1);

  g_test_summary ("The internal end is called once, in the thread that answers");

  request = sandbox_request_new_internal (G_TYPE_BYTES, NULL, internal_cb, &internal);
  sandbox_request_return_bytes (request, bytes);
  g_assert_cmpint (internal.calls, ==, 1);
  g_assert_true (internal.answer == bytes);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  g_assert_cmpint (internal.calls, ==, 1);
  internal_clear (&internal);

  request = sandbox_request_new_internal (G_TYPE_NONE, NULL, internal_cb, &internal);
  sandbox_request_return_done (request);
  g_assert_cmpint (internal.calls, ==, 1);
  g_assert_null (internal.answer);
  g_assert_no_error (internal.error);
  g_object_unref (request);
  internal_clear (&internal);

  request = sandbox_request_new_internal (G_TYPE_NONE, NULL, internal_cb, &internal);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  test_wait (g_atomic_int_get (&internal.calls) == 1);
  g_assert_error (internal.error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
  internal_clear (&internal);
}

static void
test_internal_cancelled (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Internal        internal = { 0 };
  SandboxRequest *request = sandbox_request_new_internal (G_TYPE_BYTES, cancellable, internal_cb, &internal);

  g_test_summary ("The internal end hears of a cancellation, and nothing of an answer after it");

  sandbox_request_dispatched (request, TRUE, NULL);
  g_cancellable_cancel (cancellable);
  test_wait (internal.calls == 1);
  g_assert_error (internal.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  answer_bytes (request, "late");
  g_object_unref (request);
  g_assert_cmpint (internal.calls, ==, 1);
  internal_clear (&internal);
}

/* ---- Below a synchronous call */

static void
test_may_block (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = NULL;
  SandboxSync     sync;

  g_test_summary ("Only below a synchronous call may a driver block");

  request = new_request (G_TYPE_NONE, NULL, &result);
  g_assert_false (sandbox_request_may_block (request));
  sandbox_request_return_done (request);
  g_object_unref (request);
  g_assert_true (wait_done (&result, NULL));

  sandbox_sync_begin (&sync, NULL);
  request = sandbox_request_new (NULL, call, G_TYPE_NONE, NULL, sandbox_sync_cb, &sync);
  g_assert_true (sandbox_request_may_block (request));
  sandbox_request_dispatched (request, TRUE, NULL);
  sandbox_request_return_done (request);
  g_object_unref (request);
  g_assert_true (sandbox_request_propagate_done (sandbox_sync_wait (&sync), NULL, call, NULL));
  sandbox_sync_end (&sync);
}

static void
test_deadline_by_worker (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  SandboxRequest *request = NULL;
  Internal        internal = { 0 };
  int             signals = 0;

  g_test_summary ("Where another call waits for the end of one below it, the time limit holds though nobody runs its context");

  g_main_context_push_thread_default (context);
  request = sandbox_request_new_internal (G_TYPE_NONE, NULL, internal_cb, &internal);
  g_main_context_pop_thread_default (context);
  sandbox_request_set_limits (request, 50, 0);
  sandbox_request_set_timed_by_worker (request);
  g_signal_connect (request, "cancelled", G_CALLBACK (cancelled_cb), &signals);
  sandbox_request_dispatched (request, TRUE, NULL);
  while (g_atomic_int_get (&internal.calls) == 0)
    g_usleep (1000);
  g_assert_error (internal.error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_cmpint (signals, ==, 0);
  g_assert_true (sandbox_request_is_cancelled (request));
  while (g_main_context_iteration (context, FALSE))
    ;
  g_assert_cmpint (signals, ==, 1);
  g_assert_cmpint (internal.calls, ==, 1);
  g_clear_error (&internal.error);
  sandbox_request_return_done (request);
  g_assert_cmpint (internal.calls, ==, 1);
  g_object_unref (request);
}

static void
test_sync_deadline (void)
{
  SandboxRequest *request = NULL;
  SandboxSync     sync;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  GThread *thread = NULL;

  g_test_summary ("Time limit and cancellation work in a call that blocks its thread");

  sandbox_sync_begin (&sync, NULL);
  request = sandbox_request_new (NULL, call, G_TYPE_NONE, NULL, sandbox_sync_cb, &sync);
  sandbox_request_set_limits (request, 50, 0);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_assert_false (sandbox_request_propagate_done (sandbox_sync_wait (&sync), NULL, call, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  sandbox_sync_end (&sync);
  g_object_unref (request);

  sandbox_sync_begin (&sync, NULL);
  request = sandbox_request_new (NULL, call, G_TYPE_NONE, cancellable, sandbox_sync_cb, &sync);
  sandbox_request_dispatched (request, TRUE, NULL);
  thread = g_thread_new ("cancel", cancel_thread, cancellable);
  g_assert_false (sandbox_request_propagate_done (sandbox_sync_wait (&sync), NULL, call, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  sandbox_sync_end (&sync);
  g_object_unref (request);
  g_thread_join (thread);
}

static void
test_flat (void)
{
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func (g_object_unref);
  guint descriptors = test_count_descriptors ();

  g_test_summary ("A garbage collector that keeps ten thousand answered requests keeps no descriptor with them");

  for (guint i = 0; i < 10000; i++)
    {
      SandboxRequest *request = NULL;
      SandboxSync     sync;

      sandbox_sync_begin (&sync, NULL);
      request = sandbox_request_new (NULL, call, G_TYPE_NONE, NULL, sandbox_sync_cb, &sync);
      sandbox_request_dispatched (request, TRUE, NULL);
      sandbox_request_return_done (request);
      g_assert_true (sandbox_request_propagate_done (sandbox_sync_wait (&sync), NULL, call, NULL));
      sandbox_sync_end (&sync);
      g_ptr_array_add (kept, request);
    }
  g_assert_cmpuint (test_count_descriptors (), <=, descriptors + 2);
}

/* ---- What an answer that nobody wants leaves behind */

static SandboxRequest *
abandoned_request (GType answer)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = new_request (answer, cancellable, &result);

  sandbox_request_dispatched (request, TRUE, NULL);
  g_cancellable_cancel (cancellable);
  assert_failed (&result, G_IO_ERROR, G_IO_ERROR_CANCELLED);

  return request;
}

static gboolean
is_open (int fd)
{
  return fcntl (fd, F_GETFD) >= 0;
}

static void
test_late_streams (void)
{
  int ends[2];

  g_test_summary ("Streams that come too late are closed");

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  {
    g_autoptr (SandboxRequest) request = abandoned_request (G_TYPE_INPUT_STREAM);
    g_autoptr (GInputStream) stream = g_unix_input_stream_new (ends[0], TRUE);

    sandbox_request_return_object (request, G_OBJECT (stream));
    test_wait (!is_open (ends[0]));
    test_wait (g_input_stream_is_closed (stream));
  }
  {
    g_autoptr (SandboxRequest) request = abandoned_request (G_TYPE_OUTPUT_STREAM);
    g_autoptr (GOutputStream) stream = g_unix_output_stream_new (ends[1], TRUE);

    sandbox_request_return_object (request, G_OBJECT (stream));
    test_wait (!is_open (ends[1]));
    test_wait (g_output_stream_is_closed (stream));
  }
  {
    g_autoptr (SandboxRequest) request = abandoned_request (G_TYPE_IO_STREAM);
    g_autoptr (GSocket) socket = NULL;
    g_autoptr (GSocketConnection) connection = NULL;

    g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), ==, 0);
    socket = g_socket_new_from_fd (ends[0], NULL);
    connection = g_socket_connection_factory_create_connection (socket);
    sandbox_request_return_object (request, G_OBJECT (connection));
    test_wait (g_io_stream_is_closed (G_IO_STREAM (connection)));
    close (ends[1]);
  }
}

static gpointer
answer_object_thread (gpointer data)
{
  gpointer *pair = data;

  sandbox_request_return_object (pair[0], pair[1]);

  return NULL;
}

static void
test_late_stream_without_loop (void)
{
  g_autoptr (SandboxRequest) request = abandoned_request (G_TYPE_INPUT_STREAM);
  g_autoptr (GInputStream) stream = NULL;
  gpointer pair[2];
  int      ends[2];

  g_test_summary ("They are closed without a main loop too, from a thread that has none");

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  stream = g_unix_input_stream_new (ends[0], TRUE);
  pair[0] = request;
  pair[1] = stream;
  g_thread_join (g_thread_new ("answer", answer_object_thread, pair));
  for (guint i = 0; i < 10000 && !g_input_stream_is_closed (stream); i++)
    g_usleep (1000);
  g_assert_true (g_input_stream_is_closed (stream));
  for (guint i = 0; i < 10000 && G_OBJECT (stream)->ref_count > 1; i++)
    g_usleep (1000);
  g_assert_cmpuint (G_OBJECT (stream)->ref_count, ==, 1);
  close (ends[1]);
}

static void
process_cb (gpointer      user_data,
            gpointer      answer,
            const GError *error)
{
  g_assert_no_error (error);
  *(SandboxProcess **) user_data = g_object_ref (answer);
}

static SandboxProcess *
spawn_toy (MemoryDriver      *driver,
           const char *const *argv)
{
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxRequest) request = NULL;
  SandboxProcess *process = NULL;

  request = sandbox_request_new_internal (SANDBOX_TYPE_PROCESS, NULL, process_cb, &process);
  g_assert_true (SANDBOX_DRIVER_GET_IFACE (driver)->spawn (SANDBOX_DRIVER (driver), command, request, NULL));
  g_assert_nonnull (process);

  return process;
}

static void
test_late_process (void)
{
  const char *const argv[] = { "hang", NULL };
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxRequest) request = abandoned_request (SANDBOX_TYPE_PROCESS);
  g_autoptr (SandboxProcess) process = spawn_toy (driver, argv);

  g_test_summary ("A process that comes too late is killed");

  g_assert_cmpuint (memory_driver_count_live (driver), ==, 1);
  sandbox_request_return_object (request, G_OBJECT (process));
  test_wait (memory_driver_count_live (driver) == 0);
  g_assert_cmpuint (memory_driver_count_calls (driver, "kill"), ==, 1);
}

static void
test_late_driver (void)
{
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxRequest) request = abandoned_request (SANDBOX_TYPE_DRIVER);

  g_test_summary ("A driver that comes too late is closed");

  sandbox_request_return_object (request, G_OBJECT (driver));
  test_wait (memory_driver_count_calls (driver, "close") == 1);
  test_wait (G_OBJECT (driver)->ref_count == 1);
}

static void
test_unwanted (void)
{
  const char *const argv[] = { "hang", NULL };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxProcess) process = spawn_toy (driver, argv);
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = new_request (SANDBOX_TYPE_PROCESS, cancellable, &result);

  g_test_summary ("An answer to a cancelled call is disposed of although no source has run yet");

  g_cancellable_cancel (cancellable);
  sandbox_request_return_object (request, G_OBJECT (process));
  assert_failed (&result, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  test_wait (memory_driver_count_live (driver) == 0);
  g_object_unref (request);
}

/* ---- What a request keeps: the admission of a command */

static void
test_keep (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = NULL;
  int             freed = 0;

  g_test_summary ("What a request keeps is freed when the driver has answered, before the caller hears of it");

  request = new_request (G_TYPE_BYTES, NULL, &result);
  sandbox_request_keep (request, &freed, count_cb);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_assert_cmpint (freed, ==, 0);
  answer_bytes (request, "x");
  g_assert_cmpint (freed, ==, 1);
  g_bytes_unref (wait_pointer (&result, NULL));
  g_object_unref (request);
  g_assert_cmpint (freed, ==, 1);

  request = new_request (G_TYPE_BYTES, NULL, &result);
  sandbox_request_keep (request, &freed, count_cb);
  sandbox_request_dispatched (request, FALSE, NULL);
  g_assert_cmpint (freed, ==, 2);
  g_object_unref (request);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);

  request = new_request (G_TYPE_BYTES, NULL, &result);
  sandbox_request_keep (request, &freed, count_cb);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  assert_failed (&result, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
  g_assert_cmpint (freed, ==, 3);
}

static void
test_keep_abandoned (void)
{
  g_autoptr (SandboxRequest) late = abandoned_request (G_TYPE_BYTES);
  SandboxRequest *dropped = abandoned_request (G_TYPE_BYTES);
  int             freed = 0;

  g_test_summary ("It is kept on after a cancellation, until the driver answers or lets go");

  sandbox_request_keep (late, &freed, count_cb);
  test_run_for (10);
  g_assert_cmpint (freed, ==, 0);
  answer_bytes (late, "late");
  g_assert_cmpint (freed, ==, 1);

  sandbox_request_keep (dropped, &freed, count_cb);
  g_assert_cmpint (freed, ==, 1);
  g_object_unref (dropped);
  g_assert_cmpint (freed, ==, 2);
}

static void
test_keep_process (void)
{
  const char *const argv[] = { "immortal", NULL };
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  g_autoptr (SandboxProcess) process = spawn_toy (driver, argv);
  g_autoptr (SandboxProcess) second = spawn_toy (driver, argv);
  g_autoptr (SandboxRequest) late = abandoned_request (SANDBOX_TYPE_PROCESS);
  g_autoptr (GAsyncResult) result = NULL;
  SandboxRequest *request = new_request (SANDBOX_TYPE_PROCESS, NULL, &result);
  int             freed = 0;

  g_test_summary ("A process takes it over until everything of it is gone, late or not");

  sandbox_request_keep (request, &freed, count_cb);
  sandbox_request_dispatched (request, TRUE, NULL);
  sandbox_request_return_object (request, G_OBJECT (process));
  g_object_unref (request);
  g_object_unref (wait_pointer (&result, NULL));
  sandbox_request_keep (late, &freed, count_cb);
  sandbox_request_return_object (late, G_OBJECT (second));

  g_assert_cmpuint (memory_driver_count_live (driver), ==, 2);
  g_assert_cmpint (g_atomic_int_get (&freed), ==, 0);
  memory_driver_release (driver);
  test_wait (g_atomic_int_get (&freed) == 2);
}

static void
test_keep_unreported (void)
{
  const char *const argv[] = { "immortal", NULL };
  g_autoptr (MemoryDriver) driver = memory_driver_new ();
  SandboxProcess *process = spawn_toy (driver, argv);
  int             freed = 0;

  g_test_summary ("A process that is gone already keeps nothing");

  memory_driver_release (driver);
  test_wait (memory_driver_count_live (driver) == 0);
  sandbox_process_keep (process, &freed, count_cb);
  g_assert_cmpint (freed, ==, 1);
  g_object_unref (process);
}

typedef struct
{
  guint64  bytes;
  guint64  files;
  guint64  skipped;
  guint    count;
  guint    freed;
  GThread *thread;
} Progress;

static void
progress_cb (gpointer user_data,
             guint64  bytes,
             guint64  files,
             guint64  skipped)
{
  Progress *progress = user_data;

  g_assert_cmpuint (bytes, >, progress->bytes);
  progress->bytes = bytes;
  progress->files = files;
  progress->skipped = skipped;
  progress->count++;
  progress->thread = g_thread_self ();
}

static void
progress_free (gpointer user_data)
{
  ((Progress *) user_data)->freed++;
}

#define PROGRESS_REPORTS 5000

static gpointer
report_thread (gpointer data)
{
  g_autoptr (SandboxRequest) request = data;

  for (guint i = 1; i <= PROGRESS_REPORTS; i++)
    {
      sandbox_request_report_progress (request, i, i / 10, i / 100);
      if (i % 50 == 0)
        g_usleep (3000);
    }
  sandbox_request_return_done (request);

  return NULL;
}

static void
test_progress (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  Progress        progress = { 0 };
  SandboxRequest *request = new_request (G_TYPE_NONE, NULL, &result);
  gint64          begin = g_get_monotonic_time ();
  GThread        *thread = NULL;

  g_test_summary ("Progress: in the context of the call, seldom, and the last numbers before the answer");
  sandbox_request_set_progress (request, progress_cb, &progress, progress_free);
  thread = g_thread_new ("report", report_thread, g_object_ref (request));
  sandbox_request_dispatched (request, TRUE, NULL);
  g_assert_true (wait_done (&result, &error));
  g_assert_no_error (error);
  g_thread_join (thread);

  g_assert_cmpuint (progress.bytes, ==, PROGRESS_REPORTS);
  g_assert_cmpuint (progress.files, ==, PROGRESS_REPORTS / 10);
  g_assert_cmpuint (progress.skipped, ==, PROGRESS_REPORTS / 100);
  g_assert_cmpuint (progress.count, >=, 2);
  g_assert_cmpuint (progress.count, <=, (g_get_monotonic_time () - begin) / (100 * 1000) + 2);
  g_assert_true (progress.thread == g_thread_self ());
  g_assert_cmpuint (progress.freed, ==, 0);
  g_assert_finalize_object (request);
  g_assert_cmpuint (progress.freed, ==, 1);
}

static void
test_progress_at_once (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  Progress        progress = { 0 };
  SandboxRequest *request = NULL;
  SandboxSync     sync;

  g_test_summary ("Progress of work that is done at once: while it is done");
  sandbox_sync_begin (&sync, NULL);
  request = new_request (G_TYPE_NONE, NULL, &result);
  sandbox_request_set_progress (request, progress_cb, &progress, progress_free);
  sandbox_request_report_progress (request, 1, 0, 0);
  g_assert_cmpuint (progress.count, ==, 1);
  sandbox_request_report_progress (request, 2, 0, 0);
  g_assert_cmpuint (progress.count, ==, 1);
  sandbox_request_return_done (request);
  g_assert_cmpuint (progress.bytes, ==, 2);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_assert_true (wait_done (&result, &error));
  g_assert_finalize_object (request);
  sandbox_sync_end (&sync);
  g_assert_cmpuint (progress.freed, ==, 1);
}

static void
test_progress_unwanted (void)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  Progress        progress = { 0 };
  SandboxRequest *request = new_request (G_TYPE_NONE, cancellable, &result);

  g_test_summary ("Progress that nobody waits for any more, or nobody asked for, is told to nobody");
  sandbox_request_set_progress (request, progress_cb, &progress, progress_free);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_cancellable_cancel (cancellable);
  g_assert_false (wait_done (&result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  sandbox_request_report_progress (request, 1, 0, 0);
  sandbox_request_return_done (request);
  test_run_for (5);
  g_assert_cmpuint (progress.count, ==, 0);
  g_assert_finalize_object (request);
  g_assert_cmpuint (progress.freed, ==, 1);
  g_clear_error (&error);

  /* Dropped in the middle */
  request = new_request (G_TYPE_NONE, NULL, &result);
  sandbox_request_set_progress (request, progress_cb, &progress, progress_free);
  sandbox_request_dispatched (request, TRUE, NULL);
  sandbox_request_report_progress (request, 1, 0, 0);
  g_object_unref (request);
  g_assert_false (wait_done (&result, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
  g_assert_cmpuint (progress.freed, ==, 2);

  request = new_request (G_TYPE_NONE, NULL, &result);
  sandbox_request_report_progress (request, 1, 0, 0);
  sandbox_request_return_done (request);
  sandbox_request_dispatched (request, TRUE, NULL);
  g_object_unref (request);
  g_clear_error (&error);
  g_assert_true (wait_done (&result, &error));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/request/kinds", test_kinds);
  g_test_add_func ("/request/subtypes", test_subtypes);
  g_test_add_func ("/request/refused", test_refused);
  g_test_add_func ("/request/dropped", test_dropped);
  g_test_add_func ("/request/collected", test_collected);
  g_test_add_func ("/request/twice", test_twice);
  g_test_add_func ("/request/wrong-kind", test_wrong_kind);
  g_test_add_func ("/request/thread", test_thread);
  g_test_add_func ("/request/context", test_context);
  g_test_add_func ("/request/cancelled-before", test_cancelled_before);
  g_test_add_func ("/request/cancelled-while", test_cancelled_while);
  g_test_add_func ("/request/cancelled-after", test_cancelled_after);
  g_test_add_func ("/request/cancelled-in-callback", test_cancelled_in_callback);
  g_test_add_func ("/request/answered-in-signal", test_answered_in_signal);
  g_test_add_func ("/request/races", test_races);
  g_test_add_func ("/request/grace", test_grace);
  g_test_add_func ("/request/deadline", test_deadline);
  g_test_add_func ("/request/internal", test_internal);
  g_test_add_func ("/request/internal-cancelled", test_internal_cancelled);
  g_test_add_func ("/request/may-block", test_may_block);
  g_test_add_func ("/request/deadline-by-worker", test_deadline_by_worker);
  g_test_add_func ("/request/sync-deadline", test_sync_deadline);
  g_test_add_func ("/request/flat", test_flat);
  g_test_add_func ("/request/late-streams", test_late_streams);
  g_test_add_func ("/request/late-stream-without-loop", test_late_stream_without_loop);
  g_test_add_func ("/request/late-process", test_late_process);
  g_test_add_func ("/request/late-driver", test_late_driver);
  g_test_add_func ("/request/unwanted", test_unwanted);
  g_test_add_func ("/request/progress", test_progress);
  g_test_add_func ("/request/progress-at-once", test_progress_at_once);
  g_test_add_func ("/request/progress-unwanted", test_progress_unwanted);
  g_test_add_func ("/request/keep", test_keep);
  g_test_add_func ("/request/keep-abandoned", test_keep_abandoned);
  g_test_add_func ("/request/keep-process", test_keep_process);
  g_test_add_func ("/request/keep-gone", test_keep_unreported);

  return g_test_run ();
}
