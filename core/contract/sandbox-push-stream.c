/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-push-stream-private.h"

#include "sandbox-fork-private.h"

#include <string.h>

/* Readers wait on `changed` (synchronous) or in `pending` (asynchronous, at most one: GInputStream
 * sees to that). Whoever takes `pending` under the lock answers it. */
struct _SandboxPushStream
{
  GInputStream parent_instance;

  guint generation;

  GMutex   lock; /* guards what follows */
  GCond    changed;
  GQueue   chunks; /* GBytes */
  gsize    queued;
  gboolean ended;
  gboolean closed;
  GTask   *pending;
  GSource *pending_watch;
};

typedef struct
{
  void *buffer;
  gsize count;
} PendingRead;

G_DEFINE_FINAL_TYPE (SandboxPushStream, sandbox_push_stream, G_TYPE_INPUT_STREAM)

static gboolean
sandbox_push_stream_is_readable_locked (SandboxPushStream *self)
{
  return self->queued > 0 || self->ended || self->closed;
}

static gsize
sandbox_push_stream_take_locked (SandboxPushStream *self,
                                 void              *buffer,
                                 gsize              count)
{
  gsize done = 0;

  while (done < count && !g_queue_is_empty (&self->chunks))
    {
      GBytes       *chunk = g_queue_pop_head (&self->chunks);
      gsize         size = 0;
      gconstpointer data = g_bytes_get_data (chunk, &size);
      gsize         part = MIN (size, count - done);

      memcpy ((char *) buffer + done, data, part);
      done += part;
      if (part < size)
        g_queue_push_head (&self->chunks, g_bytes_new_from_bytes (chunk, part, size - part));
      g_bytes_unref (chunk);
    }
  self->queued -= done;

  return done;
}

/* Answers an asynchronous read that can be answered now. */
static void
sandbox_push_stream_wake (SandboxPushStream *self)
{
  g_autoptr (GTask) task = NULL;
  g_autoptr (GSource) watch = NULL;
  gssize done = 0;

  g_mutex_lock (&self->lock);
  g_cond_broadcast (&self->changed);
  if (self->pending != NULL && sandbox_push_stream_is_readable_locked (self))
    {
      PendingRead *read = NULL;

      task = g_steal_pointer (&self->pending);
      watch = g_steal_pointer (&self->pending_watch);
      read = g_task_get_task_data (task);
      done = sandbox_push_stream_take_locked (self, read->buffer, read->count);
    }
  g_mutex_unlock (&self->lock);

  if (watch != NULL)
    g_source_destroy (watch);
  if (task != NULL)
    g_task_return_int (task, done);
}

static gssize
sandbox_push_stream_read (GInputStream *stream,
                          void         *buffer,
                          gsize         count,
                          GCancellable *cancellable,
                          GError      **error)
{
  SandboxPushStream *self = SANDBOX_PUSH_STREAM (stream);
  gssize             done = 0;

  if (!sandbox_fork_check (self->generation, "command", error))
    return -1;

  g_mutex_lock (&self->lock);
  while (!sandbox_push_stream_is_readable_locked (self) && !g_cancellable_is_cancelled (cancellable))
    g_cond_wait_until (&self->changed, &self->lock, g_get_monotonic_time () + 100 * G_TIME_SPAN_MILLISECOND);
  done = sandbox_push_stream_take_locked (self, buffer, count);
  g_mutex_unlock (&self->lock);

  if (done == 0 && g_cancellable_set_error_if_cancelled (cancellable, error))
    return -1;

  return done;
}

static gboolean
sandbox_push_stream_cancelled_cb (GCancellable *cancellable,
                                  gpointer      user_data)
{
  GTask             *task = user_data;
  SandboxPushStream *self = g_task_get_source_object (task);
  g_autoptr (GTask) mine = NULL;

  g_mutex_lock (&self->lock);
  if (self->pending == task)
    {
      mine = g_steal_pointer (&self->pending);
      g_clear_pointer (&self->pending_watch, g_source_unref);
    }
  g_mutex_unlock (&self->lock);

  if (mine != NULL)
    g_task_return_new_error (mine, G_IO_ERROR, G_IO_ERROR_CANCELLED, "Operation was cancelled");

  return G_SOURCE_REMOVE;
}

static void
sandbox_push_stream_read_async (GInputStream       *stream,
                                void               *buffer,
                                gsize               count,
                                int                 io_priority,
                                GCancellable       *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer            user_data)
{
  SandboxPushStream *self = SANDBOX_PUSH_STREAM (stream);
  GTask             *task = g_task_new (self, cancellable, callback, user_data);
  PendingRead       *read = NULL;
  GError            *error = NULL;

  g_task_set_source_tag (task, sandbox_push_stream_read_async);
  g_task_set_priority (task, io_priority);
  g_task_set_check_cancellable (task, FALSE);
  if (!sandbox_fork_check (self->generation, "command", &error))
    {
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }

  read = g_new (PendingRead, 1);
  read->buffer = buffer;
  read->count = count;
  g_task_set_task_data (task, read, g_free);

  g_mutex_lock (&self->lock);
  self->pending = task;
  if (cancellable != NULL)
    {
      self->pending_watch = g_cancellable_source_new (cancellable);
      g_source_set_callback (self->pending_watch, G_SOURCE_FUNC (sandbox_push_stream_cancelled_cb),
                             g_object_ref (task), g_object_unref);
      g_source_attach (self->pending_watch, g_task_get_context (task));
    }
  g_mutex_unlock (&self->lock);

  sandbox_push_stream_wake (self);
}

static gssize
sandbox_push_stream_read_finish (GInputStream *stream,
                                 GAsyncResult *result,
                                 GError      **error)
{
  return g_task_propagate_int (G_TASK (result), error);
}

static gboolean
sandbox_push_stream_close (GInputStream *stream,
                           GCancellable *cancellable,
                           GError      **error)
{
  SandboxPushStream *self = SANDBOX_PUSH_STREAM (stream);

  g_mutex_lock (&self->lock);
  self->closed = TRUE;
  g_queue_clear_full (&self->chunks, (GDestroyNotify) g_bytes_unref);
  self->queued = 0;
  g_mutex_unlock (&self->lock);
  sandbox_push_stream_wake (self);

  return TRUE;
}

/* Closing never blocks, so it is done in place rather than in a thread. */
static void
sandbox_push_stream_close_async (GInputStream       *stream,
                                 int                 io_priority,
                                 GCancellable       *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (stream, cancellable, callback, user_data);

  g_task_set_source_tag (task, sandbox_push_stream_close_async);
  sandbox_push_stream_close (stream, NULL, NULL);
  g_task_return_boolean (task, TRUE);
}

static gboolean
sandbox_push_stream_close_finish (GInputStream *stream,
                                  GAsyncResult *result,
                                  GError      **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

static void
sandbox_push_stream_finalize (GObject *object)
{
  SandboxPushStream *self = SANDBOX_PUSH_STREAM (object);

  g_queue_clear_full (&self->chunks, (GDestroyNotify) g_bytes_unref);
  g_cond_clear (&self->changed);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (sandbox_push_stream_parent_class)->finalize (object);
}

static void
sandbox_push_stream_class_init (SandboxPushStreamClass *klass)
{
  GObjectClass      *object_class = G_OBJECT_CLASS (klass);
  GInputStreamClass *stream_class = G_INPUT_STREAM_CLASS (klass);

  object_class->finalize = sandbox_push_stream_finalize;
  stream_class->read_fn = sandbox_push_stream_read;
  stream_class->read_async = sandbox_push_stream_read_async;
  stream_class->read_finish = sandbox_push_stream_read_finish;
  stream_class->close_fn = sandbox_push_stream_close;
  stream_class->close_async = sandbox_push_stream_close_async;
  stream_class->close_finish = sandbox_push_stream_close_finish;
}

static void
sandbox_push_stream_init (SandboxPushStream *self)
{
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  g_queue_init (&self->chunks);
}

SandboxPushStream *
sandbox_push_stream_new (guint generation)
{
  SandboxPushStream *self = g_object_new (SANDBOX_TYPE_PUSH_STREAM, NULL);

  self->generation = generation;

  return self;
}

SandboxPush
sandbox_push_stream_push (SandboxPushStream *self,
                          GBytes            *bytes)
{
  gsize       size = g_bytes_get_size (bytes);
  SandboxPush push = SANDBOX_PUSH_TAKEN;

  g_mutex_lock (&self->lock);
  if (self->ended || self->closed)
    push = SANDBOX_PUSH_UNWANTED;
  else if (size > SANDBOX_PUSH_STREAM_MAX - self->queued)
    push = SANDBOX_PUSH_FULL;
  else if (size > 0)
    {
      g_queue_push_tail (&self->chunks, g_bytes_ref (bytes));
      self->queued += size;
    }
  g_mutex_unlock (&self->lock);
  sandbox_push_stream_wake (self);

  return push;
}

void
sandbox_push_stream_end (SandboxPushStream *self)
{
  g_mutex_lock (&self->lock);
  self->ended = TRUE;
  g_mutex_unlock (&self->lock);
  sandbox_push_stream_wake (self);
}
