/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-capture-private.h"

#include "sandbox-fd-private.h"
#include "sandbox-worker-private.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <unistd.h>

#define CAPTURE_BUFFER_SIZE 65536

typedef struct
{
  SandboxCapture *capture;
  GInputStream   *stream;  /* nullable */
  int             pipe_fd; /* in its place; or -1 */
  GByteArray     *data;
  GBytes         *bytes; /* once ended */
  char           *buffer;
  gboolean        reading;
  GSource        *watch; /* of a pipe, which is read in place */
} CaptureStream;

struct _SandboxCapture
{
  gatomicrefcount    ref_count;
  CaptureStream      streams[2];
  GCancellable      *cut;
  guint64            max;
  SandboxCaptureFunc full;
  SandboxCaptureFunc drained;
  gpointer           user_data;
  GDestroyNotify     notify;

  /* the worker's */
  guint64 kept;
  guint64 omitted;
  guint   open;
};

static void sandbox_capture_read (CaptureStream *stream);

static SandboxCapture *
sandbox_capture_ref (SandboxCapture *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_capture_unref (SandboxCapture *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  for (guint i = 0; i < G_N_ELEMENTS (self->streams); i++)
    {
      g_clear_object (&self->streams[i].stream);
      g_clear_pointer (&self->streams[i].data, g_byte_array_unref);
      g_clear_pointer (&self->streams[i].bytes, g_bytes_unref);
      sandbox_clear_fd (&self->streams[i].pipe_fd);
      g_free (self->streams[i].buffer);
    }
  g_clear_object (&self->cut);
  g_free (self);
}

static void
sandbox_capture_close (CaptureStream *stream)
{
  g_clear_pointer (&stream->buffer, g_free);
  if (stream->watch != NULL)
    {
      g_source_destroy (stream->watch);
      g_clear_pointer (&stream->watch, g_source_unref);
      if (stream->stream != NULL)
        {
          g_input_stream_clear_pending (stream->stream);
          g_input_stream_close (stream->stream, NULL, NULL);
        }
    }
  else if (stream->stream != NULL)
    g_input_stream_close_async (stream->stream, G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  sandbox_clear_fd (&stream->pipe_fd);
}

static void
sandbox_capture_stream_ended (CaptureStream *stream)
{
  SandboxCapture *self = stream->capture;

  stream->bytes = g_byte_array_free_to_bytes (g_steal_pointer (&stream->data));
  /* A read that is still out has the buffer, and closes when it comes back. */
  if (!stream->reading)
    sandbox_capture_close (stream);

  if (--self->open == 0)
    {
      self->drained (self->user_data);
      self->notify (self->user_data);
    }
}

static void
sandbox_capture_take (CaptureStream *stream,
                      gsize          size)
{
  SandboxCapture *self = stream->capture;
  gsize           keep = MIN (size, self->max - self->kept);
  gboolean        first = self->omitted == 0;

  g_byte_array_append (stream->data, (const guint8 *) stream->buffer, keep);
  self->kept += keep;
  self->omitted += size - keep;
  if (first && self->omitted > 0)
    self->full (self->user_data);
}

static void
sandbox_capture_read_cb (GObject      *object,
                         GAsyncResult *result,
                         gpointer      user_data)
{
  CaptureStream  *stream = user_data;
  SandboxCapture *self = stream->capture;
  gssize          size = g_input_stream_read_finish (G_INPUT_STREAM (object), result, NULL);

  stream->reading = FALSE;
  if (stream->bytes != NULL)
    sandbox_capture_close (stream);
  else if (size > 0)
    {
      sandbox_capture_take (stream, size);
      sandbox_capture_read (stream);
    }
  else
    {
      /* An error is an end too: whoever reads a stream of ours meanwhile, or a driver's stream that
       * breaks, leaves nothing to wait for. */
      sandbox_capture_stream_ended (stream);
    }

  sandbox_capture_unref (self);
}

static void
sandbox_capture_read (CaptureStream *stream)
{
  sandbox_capture_ref (stream->capture);
  stream->reading = TRUE;
  g_input_stream_read_async (stream->stream, stream->buffer, CAPTURE_BUFFER_SIZE, G_PRIORITY_DEFAULT,
                             stream->capture->cut, sandbox_capture_read_cb, stream);
}

/* The descriptor of a pipe that nobody can make us wait for, or -1. Only of the very type: a derived one may
 * have something else to say than what the descriptor has. */
static int
sandbox_capture_get_pipe (GInputStream *stream)
{
  int fd = -1;
  int flags = 0;

  if (G_OBJECT_TYPE (stream) != G_TYPE_UNIX_INPUT_STREAM ||
      !g_pollable_input_stream_can_poll (G_POLLABLE_INPUT_STREAM (stream)))
    return -1;

  fd = g_unix_input_stream_get_fd (G_UNIX_INPUT_STREAM (stream));
  flags = fcntl (fd, F_GETFL);

  return flags >= 0 && (flags & O_NONBLOCK) != 0 ? fd : -1;
}

static void
sandbox_capture_unwatched_cb (gpointer user_data)
{
  CaptureStream *stream = user_data;

  sandbox_capture_unref (stream->capture);
}

static gboolean
sandbox_capture_ready_cb (int          fd,
                          GIOCondition condition,
                          gpointer     user_data)
{
  CaptureStream *stream = user_data;
  gssize         size = read (fd, stream->buffer, CAPTURE_BUFFER_SIZE);

  if (size > 0)
    sandbox_capture_take (stream, size);
  else if (size == 0 || (errno != EAGAIN && errno != EINTR))
    sandbox_capture_stream_ended (stream);

  return G_SOURCE_CONTINUE;
}

/* Pipes, which is what most streams are, are read in place: no task for each piece, and no thread to close
 * them. FALSE when somebody else is at the stream. */
static gboolean
sandbox_capture_watch (CaptureStream *stream,
                       int            fd)
{
  if (stream->stream != NULL && !g_input_stream_set_pending (stream->stream, NULL))
    return FALSE;

  stream->watch = sandbox_worker_watch_fd (fd, sandbox_capture_ready_cb, stream, sandbox_capture_unwatched_cb);
  sandbox_capture_ref (stream->capture);

  return TRUE;
}

static gboolean
sandbox_capture_start_cb (gpointer user_data)
{
  SandboxCapture *self = user_data;

  for (guint i = 0; i < G_N_ELEMENTS (self->streams); i++)
    {
      CaptureStream *stream = &self->streams[i];
      int            fd = stream->pipe_fd;

      stream->data = g_byte_array_new ();
      if ((fd < 0 && stream->stream == NULL) || g_cancellable_is_cancelled (self->cut))
        {
          sandbox_capture_stream_ended (stream);
          continue;
        }
      stream->buffer = g_malloc (CAPTURE_BUFFER_SIZE);
      if (fd < 0)
        fd = sandbox_capture_get_pipe (stream->stream);
      if (fd < 0)
        sandbox_capture_read (stream);
      else if (!sandbox_capture_watch (stream, fd))
        sandbox_capture_stream_ended (stream);
    }

  return G_SOURCE_REMOVE;
}

SandboxCapture *
sandbox_capture_new (GInputStream      *output,
                     GInputStream      *errors,
                     guint64            max,
                     SandboxCaptureFunc full,
                     SandboxCaptureFunc drained,
                     gpointer           user_data,
                     GDestroyNotify     notify)
{
  SandboxCapture *self = g_new0 (SandboxCapture, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->streams[0].stream = output != NULL ? g_object_ref (output) : NULL;
  self->streams[1].stream = errors != NULL ? g_object_ref (errors) : NULL;
  for (guint i = 0; i < G_N_ELEMENTS (self->streams); i++)
    {
      self->streams[i].capture = self;
      self->streams[i].pipe_fd = -1;
    }
  self->open = G_N_ELEMENTS (self->streams);
  self->cut = g_cancellable_new ();
  self->max = max;
  self->full = full;
  self->drained = drained;
  self->user_data = user_data;
  self->notify = notify;

  return self;
}

void
sandbox_capture_take_pipes (SandboxCapture *self,
                            int             pipes[2])
{
  for (guint i = 0; i < G_N_ELEMENTS (self->streams); i++)
    self->streams[i].pipe_fd = g_steal_fd (&pipes[i]);
}

void
sandbox_capture_start (SandboxCapture *self)
{
  sandbox_worker_invoke (sandbox_capture_start_cb, sandbox_capture_ref (self),
                         (GDestroyNotify) sandbox_capture_unref);
}

/* Does not wait for the cancelled reads: a driver's stream may block and know nothing of that. */
static gboolean
sandbox_capture_cut_cb (gpointer user_data)
{
  SandboxCapture *self = user_data;

  for (guint i = 0; i < G_N_ELEMENTS (self->streams); i++)
    if (self->streams[i].data != NULL)
      sandbox_capture_stream_ended (&self->streams[i]);

  return G_SOURCE_REMOVE;
}

void
sandbox_capture_cut (SandboxCapture *self)
{
  g_cancellable_cancel (self->cut);
  sandbox_worker_invoke (sandbox_capture_cut_cb, sandbox_capture_ref (self),
                         (GDestroyNotify) sandbox_capture_unref);
}

GBytes *
sandbox_capture_get_output (SandboxCapture *self)
{
  return self->streams[0].bytes;
}

GBytes *
sandbox_capture_get_errors (SandboxCapture *self)
{
  return self->streams[1].bytes;
}

guint64
sandbox_capture_get_omitted (SandboxCapture *self)
{
  return self->omitted;
}
