/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-body-stream.h"

#include <string.h>

struct _SandboxHttpBodyStream
{
  GInputStream parent_instance;

  GByteArray *bytes; /* pushed and not read yet; what pushes bounds it */
  gboolean    is_finished;
  GError     *error;

  GTask *reader; /* of a read that waits */
  void  *target;
  gsize  count;

  SandboxHttpBodyStreamFunc func;
  gpointer                  data;
};

G_DEFINE_DYNAMIC_TYPE_EXTENDED (SandboxHttpBodyStream, sandbox_http_body_stream, G_TYPE_INPUT_STREAM, G_TYPE_FLAG_FINAL, {})

/* Answers the read that waits, if there is something to say. */
static void
sandbox_http_body_stream_answer (SandboxHttpBodyStream *self)
{
  g_autoptr (GTask) reader = NULL;
  gsize n_read = 0;

  if (self->reader == NULL || (self->bytes->len == 0 && !self->is_finished))
    return;

  reader = g_steal_pointer (&self->reader);
  if (self->bytes->len > 0)
    {
      n_read = MIN (self->count, self->bytes->len);
      memcpy (self->target, self->bytes->data, n_read);
      g_byte_array_remove_range (self->bytes, 0, (guint) n_read);
      g_task_return_int (reader, (gssize) n_read);
      if (self->bytes->len == 0 && !self->is_finished && self->func != NULL)
        self->func (self->data);
    }
  else if (self->error != NULL)
    g_task_return_error (reader, g_error_copy (self->error));
  else
    g_task_return_int (reader, 0);
}

static gssize
sandbox_http_body_stream_read (GInputStream *stream,
                               void         *buffer,
                               gsize         count,
                               GCancellable *cancellable,
                               GError      **error)
{
  g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, "It is read asynchronously only");

  return -1;
}

static void
sandbox_http_body_stream_read_async (GInputStream       *stream,
                                     void               *buffer,
                                     gsize               count,
                                     int                 io_priority,
                                     GCancellable       *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer            user_data)
{
  SandboxHttpBodyStream *self = SANDBOX_HTTP_BODY_STREAM (stream);
  GTask                 *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, sandbox_http_body_stream_read_async);
  g_task_set_priority (task, io_priority);
  g_assert (self->reader == NULL);
  self->reader = task;
  self->target = buffer;
  self->count = count;
  sandbox_http_body_stream_answer (self);
}

static gssize
sandbox_http_body_stream_read_finish (GInputStream *stream,
                                      GAsyncResult *result,
                                      GError      **error)
{
  return g_task_propagate_int (G_TASK (result), error);
}

static void
sandbox_http_body_stream_finalize (GObject *object)
{
  SandboxHttpBodyStream *self = SANDBOX_HTTP_BODY_STREAM (object);

  g_clear_pointer (&self->bytes, g_byte_array_unref);
  g_clear_error (&self->error);

  G_OBJECT_CLASS (sandbox_http_body_stream_parent_class)->finalize (object);
}

static void
sandbox_http_body_stream_class_init (SandboxHttpBodyStreamClass *klass)
{
  GInputStreamClass *stream_class = G_INPUT_STREAM_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = sandbox_http_body_stream_finalize;
  stream_class->read_fn = sandbox_http_body_stream_read;
  stream_class->read_async = sandbox_http_body_stream_read_async;
  stream_class->read_finish = sandbox_http_body_stream_read_finish;
}

static void
sandbox_http_body_stream_class_finalize (SandboxHttpBodyStreamClass *klass)
{
}

static void
sandbox_http_body_stream_init (SandboxHttpBodyStream *self)
{
  self->bytes = g_byte_array_new ();
}

void
sandbox_http_body_stream_register (GTypeModule *module)
{
  sandbox_http_body_stream_register_type (module);
}

SandboxHttpBodyStream *
sandbox_http_body_stream_new (void)
{
  return g_object_new (SANDBOX_HTTP_TYPE_BODY_STREAM, NULL);
}

void
sandbox_http_body_stream_set_func (SandboxHttpBodyStream    *self,
                                   SandboxHttpBodyStreamFunc func,
                                   gpointer                  data)
{
  self->func = func;
  self->data = data;
}

void
sandbox_http_body_stream_push (SandboxHttpBodyStream *self,
                               const char            *bytes,
                               gsize                  size)
{
  g_byte_array_append (self->bytes, (const guint8 *) bytes, (guint) size);
  sandbox_http_body_stream_answer (self);
}

void
sandbox_http_body_stream_finish (SandboxHttpBodyStream *self,
                                 GError                *error)
{
  if (!self->is_finished)
    {
      self->is_finished = TRUE;
      self->error = error;
      /* Who breaks off has nothing more to say. */
      if (error != NULL)
        g_byte_array_set_size (self->bytes, 0);
    }
  else
    g_clear_error (&error);
  sandbox_http_body_stream_answer (self);
}
