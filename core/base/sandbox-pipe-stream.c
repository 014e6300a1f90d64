/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-pipe-stream-private.h"

#include <signal.h>

struct _SandboxPipeStream
{
  GUnixOutputStream parent_instance;
};

G_DEFINE_FINAL_TYPE (SandboxPipeStream, sandbox_pipe_stream, G_TYPE_UNIX_OUTPUT_STREAM)

/* SIGPIPE of a write is sent to the writing thread. So it is blocked there, and taken back if it came from
 * this write and not from an earlier one of the host's. */
typedef struct
{
  sigset_t before;
  gboolean was_pending;
} PipeGuard;

static void
pipe_guard_sigset (sigset_t *set)
{
  sigemptyset (set);
  sigaddset (set, SIGPIPE);
}

static void
pipe_guard_begin (PipeGuard *guard)
{
  sigset_t pipe_set;
  sigset_t pending;

  pipe_guard_sigset (&pipe_set);
  sigpending (&pending);
  guard->was_pending = sigismember (&pending, SIGPIPE) == 1;
  pthread_sigmask (SIG_BLOCK, &pipe_set, &guard->before);
}

static void
pipe_guard_end (PipeGuard *guard)
{
  const struct timespec no_time = { 0 };
  sigset_t              pipe_set;

  pipe_guard_sigset (&pipe_set);
  if (!guard->was_pending)
    sigtimedwait (&pipe_set, NULL, &no_time);
  pthread_sigmask (SIG_SETMASK, &guard->before, NULL);
}

static gssize
sandbox_pipe_stream_write (GOutputStream *stream,
                           const void    *buffer,
                           gsize          count,
                           GCancellable  *cancellable,
                           GError       **error)
{
  PipeGuard guard;
  gssize    written = 0;

  pipe_guard_begin (&guard);
  written = G_OUTPUT_STREAM_CLASS (sandbox_pipe_stream_parent_class)->write_fn (stream, buffer, count, cancellable, error);
  pipe_guard_end (&guard);

  return written;
}

static gboolean
sandbox_pipe_stream_writev (GOutputStream       *stream,
                            const GOutputVector *vectors,
                            gsize                n_vectors,
                            gsize               *bytes_written,
                            GCancellable        *cancellable,
                            GError             **error)
{
  PipeGuard guard;
  gboolean  done = FALSE;

  pipe_guard_begin (&guard);
  done = G_OUTPUT_STREAM_CLASS (sandbox_pipe_stream_parent_class)->writev_fn (stream, vectors, n_vectors, bytes_written, cancellable, error);
  pipe_guard_end (&guard);

  return done;
}

static void
sandbox_pipe_stream_class_init (SandboxPipeStreamClass *klass)
{
  GOutputStreamClass *stream_class = G_OUTPUT_STREAM_CLASS (klass);

  /* The non-blocking writes of GPollableOutputStream come through these too. */
  stream_class->write_fn = sandbox_pipe_stream_write;
  stream_class->writev_fn = sandbox_pipe_stream_writev;
}

static void
sandbox_pipe_stream_init (SandboxPipeStream *self)
{
}

GOutputStream *
sandbox_pipe_stream_new_take_fd (int fd)
{
  return g_object_new (SANDBOX_TYPE_PIPE_STREAM, "fd", fd, "close-fd", TRUE, NULL);
}
