/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-capture-private.h"

#include "sandbox-worker-private.h"

#include "../common/test-helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <signal.h>
#include <unistd.h>

typedef struct
{
  SandboxCapture *capture;
  int             full;
  int             drained;
  int             freed;
  int             elsewhere; /* calls that were not made on the worker */
} Fixture;

static void
count (int *counter,
       int *elsewhere)
{
  if (!sandbox_worker_is_current ())
    g_atomic_int_inc (elsewhere);
  g_atomic_int_inc (counter);
}

static void
full_cb (gpointer user_data)
{
  Fixture *fixture = user_data;

  count (&fixture->full, &fixture->elsewhere);
}

static void
drained_cb (gpointer user_data)
{
  Fixture *fixture = user_data;

  count (&fixture->drained, &fixture->elsewhere);
}

static void
freed_cb (gpointer user_data)
{
  Fixture *fixture = user_data;

  count (&fixture->freed, &fixture->elsewhere);
}

/* By way of GIO, as it can block; in place; or in place and no stream at all */
typedef enum
{
  PIPE_BLOCKING,
  PIPE_IN_PLACE,
  PIPE_BARE,
} PipeKind;

#define BARE "test-bare"

/* What a bare pipe is made of, of which there is no stream any more. */
static int
take_bare (GInputStream **stream)
{
  g_autoptr (GInputStream) taken = NULL;

  if (*stream == NULL || g_object_get_data (G_OBJECT (*stream), BARE) == NULL)
    return -1;
  taken = g_steal_pointer (stream);
  g_unix_input_stream_set_close_fd (G_UNIX_INPUT_STREAM (taken), FALSE);

  return g_unix_input_stream_get_fd (G_UNIX_INPUT_STREAM (taken));
}

/* @output and @errors are taken. */
static void
fixture_start (Fixture      *fixture,
               GInputStream *output,
               GInputStream *errors,
               guint64       max)
{
  int pipes[2] = { take_bare (&output), take_bare (&errors) };

  memset (fixture, 0, sizeof *fixture);
  fixture->capture = sandbox_capture_new (output, errors, max, full_cb, drained_cb, fixture, freed_cb);
  sandbox_capture_take_pipes (fixture->capture, pipes);
  g_clear_object (&output);
  g_clear_object (&errors);
  sandbox_capture_start (fixture->capture);
}

static void
fixture_wait (Fixture *fixture)
{
  test_wait (g_atomic_int_get (&fixture->freed) > 0);
  g_assert_cmpint (g_atomic_int_get (&fixture->drained), ==, 1);
  g_assert_cmpint (g_atomic_int_get (&fixture->freed), ==, 1);
  g_assert_cmpint (g_atomic_int_get (&fixture->elsewhere), ==, 0);
}

static GInputStream *
make_stream (gsize size,
             char  fill)
{
  char *data = g_malloc (size + 1);

  memset (data, fill, size + 1);

  return g_memory_input_stream_new_from_data (data, size, g_free);
}

static GInputStream *
make_pipe (PipeKind kind,
           int     *write_end)
{
  GInputStream *stream = NULL;
  int           ends[2];

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  if (kind != PIPE_BLOCKING)
    g_assert_cmpint (fcntl (ends[0], F_SETFL, O_NONBLOCK), ==, 0);
  *write_end = ends[1];
  stream = g_unix_input_stream_new (ends[0], TRUE);
  if (kind == PIPE_BARE)
    g_object_set_data (G_OBJECT (stream), BARE, stream);

  return stream;
}

static void
test_bound (void)
{
  static const struct
  {
    gsize output;
    gsize errors;
    gsize omitted;
  } cases[] = {
    { 0, 0, 0 },
    { 999, 0, 0 },
    { 1000, 0, 0 },
    { 1001, 0, 1 },
    { 0, 1000, 0 },
    { 0, 1001, 1 },
    { 500, 499, 0 },
    { 500, 500, 0 },
    { 500, 501, 1 },
    { 501, 500, 1 },
    { 300000, 300000, 599000 },
  };

  g_test_summary ("Both streams share one bound, exact to the byte, and what is over it is counted");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Fixture fixture;
      gsize   kept = 0;

      fixture_start (&fixture, make_stream (cases[i].output, 'o'), make_stream (cases[i].errors, 'e'), 1000);
      fixture_wait (&fixture);

      kept = g_bytes_get_size (sandbox_capture_get_output (fixture.capture)) +
             g_bytes_get_size (sandbox_capture_get_errors (fixture.capture));
      g_assert_cmpuint (kept, ==, cases[i].output + cases[i].errors - cases[i].omitted);
      g_assert_cmpuint (sandbox_capture_get_omitted (fixture.capture), ==, cases[i].omitted);
      g_assert_cmpint (fixture.full, ==, cases[i].omitted > 0 ? 1 : 0);
      sandbox_capture_unref (fixture.capture);
    }
}

static void
test_content (gconstpointer kind)
{
  Fixture          fixture;
  int              ends[2];
  g_autofree char *data = g_malloc (200000);

  g_test_summary ("Each stream is kept whole and apart from the other");

  for (guint i = 0; i < 200000; i++)
    data[i] = (char) (i * 7);

  fixture_start (&fixture, g_memory_input_stream_new_from_data (data, 200000, NULL), make_pipe (GPOINTER_TO_INT (kind), &ends[1]), 1 << 20);
  g_assert_cmpint (write (ends[1], "oh ", 3), ==, 3);
  test_run_for (5);
  g_assert_cmpint (write (ends[1], "no", 2), ==, 2);
  close (ends[1]);
  fixture_wait (&fixture);

  g_assert_cmpmem (g_bytes_get_data (sandbox_capture_get_output (fixture.capture), NULL),
                   g_bytes_get_size (sandbox_capture_get_output (fixture.capture)), data, 200000);
  test_assert_bytes (sandbox_capture_get_errors (fixture.capture), "oh no");
  sandbox_capture_unref (fixture.capture);
}

static void
test_missing (void)
{
  Fixture fixture;

  g_test_summary ("A stream that is not there has ended already");

  fixture_start (&fixture, make_stream (5, 'o'), NULL, 10);
  fixture_wait (&fixture);
  test_assert_bytes (sandbox_capture_get_output (fixture.capture), "ooooo");
  g_assert_cmpuint (g_bytes_get_size (sandbox_capture_get_errors (fixture.capture)), ==, 0);
  sandbox_capture_unref (fixture.capture);

  fixture_start (&fixture, NULL, NULL, 10);
  fixture_wait (&fixture);
  g_assert_cmpuint (g_bytes_get_size (sandbox_capture_get_output (fixture.capture)), ==, 0);
  sandbox_capture_unref (fixture.capture);
}

static void
test_cut (gconstpointer kind)
{
  Fixture fixture;
  int     ends[2];

  g_test_summary ("A stream that does not end is cut, and what came before is kept");

  fixture_start (&fixture, make_pipe (GPOINTER_TO_INT (kind), &ends[0]), make_pipe (GPOINTER_TO_INT (kind), &ends[1]), 100);
  g_assert_cmpint (write (ends[0], "before", 6), ==, 6);
  close (ends[1]);
  test_run_for (50);
  g_assert_cmpint (g_atomic_int_get (&fixture.drained), ==, 0);
  sandbox_capture_cut (fixture.capture);
  sandbox_capture_cut (fixture.capture);
  fixture_wait (&fixture);

  test_assert_bytes (sandbox_capture_get_output (fixture.capture), "before");
  sandbox_capture_unref (fixture.capture);
  close (ends[0]);
}

static void
test_cut_early (gconstpointer kind)
{
  Fixture fixture;
  int     write_end = -1;

  g_test_summary ("A capture that is cut before it has begun ends too");

  memset (&fixture, 0, sizeof fixture);
  {
    g_autoptr (GInputStream) output = make_pipe (GPOINTER_TO_INT (kind), &write_end);
    int pipes[2] = { take_bare (&output), -1 };

    fixture.capture = sandbox_capture_new (output, NULL, 10, full_cb, drained_cb, &fixture, freed_cb);
    sandbox_capture_take_pipes (fixture.capture, pipes);
  }
  sandbox_capture_cut (fixture.capture);
  sandbox_capture_start (fixture.capture);
  fixture_wait (&fixture);
  sandbox_capture_unref (fixture.capture);
  close (write_end);
}

/* A stream of a driver that blocks in its read and knows nothing of cancellation. */
#define TEST_TYPE_BLOCKER (test_blocker_get_type ())
G_DECLARE_FINAL_TYPE (TestBlocker, test_blocker, TEST, BLOCKER, GInputStream)

struct _TestBlocker
{
  GInputStream parent_instance;

  GMutex   lock;
  GCond    changed;
  gboolean open;
  gboolean reading;
};

G_DEFINE_FINAL_TYPE (TestBlocker, test_blocker, G_TYPE_INPUT_STREAM)

static gssize
test_blocker_read (GInputStream *stream,
                   void         *buffer,
                   gsize         count_bytes,
                   GCancellable *cancellable,
                   GError      **error)
{
  TestBlocker *self = TEST_BLOCKER (stream);

  g_mutex_lock (&self->lock);
  self->reading = TRUE;
  g_cond_broadcast (&self->changed);
  while (!self->open)
    g_cond_wait (&self->changed, &self->lock);
  self->reading = FALSE;
  g_mutex_unlock (&self->lock);
  memset (buffer, 'l', count_bytes);

  return count_bytes;
}

static void
test_blocker_finalize (GObject *object)
{
  TestBlocker *self = TEST_BLOCKER (object);

  g_cond_clear (&self->changed);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (test_blocker_parent_class)->finalize (object);
}

static void
test_blocker_class_init (TestBlockerClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = test_blocker_finalize;
  G_INPUT_STREAM_CLASS (klass)->read_fn = test_blocker_read;
}

static void
test_blocker_init (TestBlocker *self)
{
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
}

static void
test_blocker_set_open (TestBlocker *self)
{
  g_mutex_lock (&self->lock);
  self->open = TRUE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

static gboolean
test_blocker_is_reading (TestBlocker *self)
{
  gboolean reading = FALSE;

  g_mutex_lock (&self->lock);
  reading = self->reading;
  g_mutex_unlock (&self->lock);

  return reading;
}

static void
test_cut_blocked (void)
{
  Fixture      fixture;
  TestBlocker *blocker = g_object_new (TEST_TYPE_BLOCKER, NULL);
  int          write_end = -1;
  gint64       before = 0;
  g_autoptr (GInputStream) errors = make_pipe (TRUE, &write_end);

  g_test_summary ("A stream whose read never returns does not keep the caller; what it gives later is dropped");

  fixture_start (&fixture, g_object_ref (G_INPUT_STREAM (blocker)), g_object_ref (errors), 10);
  g_assert_cmpint (write (write_end, "eee", 3), ==, 3);
  close (write_end);
  test_wait (test_blocker_is_reading (blocker) && g_input_stream_is_closed (errors));
  before = g_get_monotonic_time ();
  sandbox_capture_cut (fixture.capture);
  fixture_wait (&fixture);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 5 * G_USEC_PER_SEC);
  g_assert_cmpuint (g_bytes_get_size (sandbox_capture_get_output (fixture.capture)), ==, 0);
  test_assert_bytes (sandbox_capture_get_errors (fixture.capture), "eee");
  g_assert_true (test_blocker_is_reading (blocker));

  test_blocker_set_open (blocker);
  test_wait (!test_blocker_is_reading (blocker));
  test_run_for (20);
  g_assert_cmpuint (g_bytes_get_size (sandbox_capture_get_output (fixture.capture)), ==, 0);
  g_assert_cmpuint (sandbox_capture_get_omitted (fixture.capture), ==, 0);
  g_assert_cmpint (g_atomic_int_get (&fixture.drained), ==, 1);
  sandbox_capture_unref (fixture.capture);
  test_wait (G_OBJECT (blocker)->ref_count == 1);
  g_object_unref (blocker);
}

static gpointer
flood_thread (gpointer data)
{
  int              write_end = GPOINTER_TO_INT (data);
  g_autofree char *block = g_malloc (50000);

  memset (block, 'p', 50000);
  for (guint i = 0; i < 20; i++)
    for (gssize done = 0; done < 50000;)
      {
        gssize size = write (write_end, block + done, 50000 - done);

        g_assert_cmpint (size, >, 0);
        done += size;
      }
  close (write_end);

  return NULL;
}

static void
test_flood (gconstpointer kind)
{
  Fixture  fixture;
  GThread *threads[2];
  int      ends[2];

  g_test_summary ("Two pipes at once: all of it is read, and the bound is exact");

  fixture_start (&fixture, make_pipe (GPOINTER_TO_INT (kind), &ends[0]), make_pipe (GPOINTER_TO_INT (kind), &ends[1]), 123456);
  for (guint i = 0; i < 2; i++)
    threads[i] = g_thread_new ("flood", flood_thread, GINT_TO_POINTER (ends[i]));
  fixture_wait (&fixture);
  for (guint i = 0; i < 2; i++)
    g_thread_join (threads[i]);

  g_assert_cmpuint (g_bytes_get_size (sandbox_capture_get_output (fixture.capture)) +
                        g_bytes_get_size (sandbox_capture_get_errors (fixture.capture)),
                    ==, 123456);
  g_assert_cmpuint (sandbox_capture_get_omitted (fixture.capture), ==, 2000000 - 123456);
  g_assert_cmpint (fixture.full, ==, 1);
  sandbox_capture_unref (fixture.capture);
}

static void
test_taken (gconstpointer kind)
{
  Fixture fixture;
  int     write_end = -1;
  g_autoptr (GInputStream) output = make_pipe (GPOINTER_TO_INT (kind), &write_end);

  g_test_summary ("A stream that somebody else is reading has ended, and is left to him");

  g_assert_true (g_input_stream_set_pending (output, NULL));
  fixture_start (&fixture, g_object_ref (output), make_stream (3, 'e'), 10);
  fixture_wait (&fixture);
  test_assert_bytes (sandbox_capture_get_errors (fixture.capture), "eee");
  g_assert_cmpuint (g_bytes_get_size (sandbox_capture_get_output (fixture.capture)), ==, 0);
  sandbox_capture_unref (fixture.capture);

  g_input_stream_clear_pending (output);
  g_assert_false (g_input_stream_is_closed (output));
  close (write_end);
}

static void
test_closed (gconstpointer kind)
{
  Fixture fixture;
  int     write_end = -1;
  g_autoptr (GInputStream) output = make_pipe (GPOINTER_TO_INT (kind), &write_end);

  g_test_summary ("A stream is closed at its end, so that who writes more is told");

  fixture_start (&fixture, g_object_ref (output), NULL, 10);
  g_assert_cmpint (write (write_end, "x", 1), ==, 1);
  close (write_end);
  fixture_wait (&fixture);
  test_wait (g_input_stream_is_closed (output));
  g_assert_false (g_input_stream_has_pending (output));
  test_assert_bytes (sandbox_capture_get_output (fixture.capture), "x");
  sandbox_capture_unref (fixture.capture);
}

static void
test_broken (void)
{
  Fixture fixture;
  int     fd = open ("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  g_test_summary ("A stream that breaks has ended");

  g_assert_cmpint (fd, >=, 0);
  fixture_start (&fixture, g_unix_input_stream_new (fd, TRUE), make_stream (3, 'e'), 10);
  fixture_wait (&fixture);
  test_assert_bytes (sandbox_capture_get_errors (fixture.capture), "eee");
  sandbox_capture_unref (fixture.capture);
}

static void
test_unread (void)
{
  Fixture fixture = { NULL };
  int     write_end = -1;
  g_autoptr (GInputStream) output = make_pipe (PIPE_BARE, &write_end);
  int pipes[2] = { take_bare (&output), -1 };

  g_test_summary ("A pipe that was taken is closed although nobody reads it");

  fixture.capture = sandbox_capture_new (NULL, NULL, 10, full_cb, drained_cb, &fixture, freed_cb);
  sandbox_capture_take_pipes (fixture.capture, pipes);
  sandbox_capture_unref (fixture.capture);
  g_assert_cmpint (write (write_end, "x", 1), <, 0);
  g_assert_cmpint (errno, ==, EPIPE);
  close (write_end);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  signal (SIGPIPE, SIG_IGN);

#define ADD_BOTH(path, func)                                         \
 g_test_add_data_func (path, GINT_TO_POINTER (PIPE_BLOCKING), func); \
 g_test_add_data_func (path "-in-place", GINT_TO_POINTER (PIPE_IN_PLACE), func)
#define ADD_ALL(path, func) \
 ADD_BOTH (path, func);     \
 g_test_add_data_func (path "-bare", GINT_TO_POINTER (PIPE_BARE), func)
  g_test_add_func ("/capture/bound", test_bound);
  ADD_ALL ("/capture/content", test_content);
  g_test_add_func ("/capture/missing", test_missing);
  ADD_ALL ("/capture/flood", test_flood);
  ADD_BOTH ("/capture/taken", test_taken);
  ADD_BOTH ("/capture/closed", test_closed);
  ADD_ALL ("/capture/cut", test_cut);
  ADD_ALL ("/capture/cut-early", test_cut_early);
  g_test_add_func ("/capture/cut-blocked", test_cut_blocked);
  g_test_add_func ("/capture/broken", test_broken);
  g_test_add_func ("/capture/unread", test_unread);

  return g_test_run ();
}
