/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-file-stream-private.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-contained-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-held-file-private.h"

struct _SandboxFileInputStream
{
  GInputStream parent_instance;

  SandboxHeldFile file;
};

static void sandbox_file_input_stream_seekable_init (GSeekableIface *iface);

/* clang-format off */
G_DEFINE_FINAL_TYPE_WITH_CODE (SandboxFileInputStream, sandbox_file_input_stream, G_TYPE_INPUT_STREAM,
                               G_IMPLEMENT_INTERFACE (G_TYPE_SEEKABLE, sandbox_file_input_stream_seekable_init))
/* clang-format on */

static gssize
sandbox_file_input_stream_read (GInputStream *stream,
                                void         *buffer,
                                gsize         count,
                                GCancellable *cancellable,
                                GError      **error)
{
  SandboxFileInputStream *self = SANDBOX_FILE_INPUT_STREAM (stream);
  ssize_t                 n;

  if (!sandbox_fork_check (self->file.generation, "stream", error))
    return -1;
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return -1;

  g_mutex_lock (&self->file.lock);
  do
    n = read (self->file.fd, buffer, count);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    sandbox_held_file_set_error (&self->file, "read", error);
  g_mutex_unlock (&self->file.lock);

  return n;
}

/* GIO's own would take it for a fault of the program, and end it, that a file is shorter than it was. */
static gssize
sandbox_file_input_stream_skip (GInputStream *stream,
                                gsize         count,
                                GCancellable *cancellable,
                                GError      **error)
{
  SandboxFileInputStream *self = SANDBOX_FILE_INPUT_STREAM (stream);
  struct stat             st;
  off_t                   at = -1;
  gsize                   skipped = 0;

  if (!sandbox_fork_check (self->file.generation, "stream", error))
    return -1;
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return -1;

  g_mutex_lock (&self->file.lock);
  if (fstat (self->file.fd, &st) == 0)
    at = lseek (self->file.fd, 0, SEEK_CUR);
  if (at >= 0 && st.st_size > at)
    {
      skipped = MIN (count, (guint64) (st.st_size - at));
      at = lseek (self->file.fd, (off_t) skipped, SEEK_CUR);
    }
  if (at < 0)
    sandbox_held_file_set_error (&self->file, "read", error);
  g_mutex_unlock (&self->file.lock);

  return at >= 0 ? (gssize) skipped : -1;
}

/* Lets go of the file. */
static void
sandbox_file_input_stream_revoke (GObject *object)
{
  SandboxFileInputStream *self = SANDBOX_FILE_INPUT_STREAM (object);

  /* In a forked child it is closed, and locks may be as somebody left them who is not there. */
  if (sandbox_fork_is_past (self->file.generation))
    return;

  g_mutex_lock (&self->file.lock);
  sandbox_held_file_unlock (&self->file, object, TRUE);
}

static gboolean
sandbox_file_input_stream_close (GInputStream *stream,
                                 GCancellable *cancellable,
                                 GError      **error)
{
  sandbox_file_input_stream_revoke (G_OBJECT (stream));

  return TRUE;
}

static void
sandbox_file_input_stream_finalize (GObject *object)
{
  sandbox_held_file_clear (&SANDBOX_FILE_INPUT_STREAM (object)->file, object);

  G_OBJECT_CLASS (sandbox_file_input_stream_parent_class)->finalize (object);
}

static void
sandbox_file_input_stream_class_init (SandboxFileInputStreamClass *klass)
{
  GInputStreamClass *stream_class = G_INPUT_STREAM_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = sandbox_file_input_stream_finalize;
  stream_class->read_fn = sandbox_file_input_stream_read;
  stream_class->skip = sandbox_file_input_stream_skip;
  stream_class->close_fn = sandbox_file_input_stream_close;
}

static void
sandbox_file_input_stream_init (SandboxFileInputStream *self)
{
  sandbox_held_file_init (&self->file);
}

static goffset
sandbox_file_input_stream_tell (GSeekable *seekable)
{
  SandboxFileInputStream *self = SANDBOX_FILE_INPUT_STREAM (seekable);
  goffset                 at = 0;

  g_mutex_lock (&self->file.lock);
  at = lseek (self->file.fd, 0, SEEK_CUR);
  g_mutex_unlock (&self->file.lock);

  return MAX (at, 0);
}

static gboolean
sandbox_file_input_stream_can_seek (GSeekable *seekable)
{
  return TRUE;
}

static gboolean
sandbox_file_input_stream_seek (GSeekable    *seekable,
                                goffset       offset,
                                GSeekType     type,
                                GCancellable *cancellable,
                                GError      **error)
{
  SandboxFileInputStream *self = SANDBOX_FILE_INPUT_STREAM (seekable);
  int                     whence = type == G_SEEK_SET ? SEEK_SET : type == G_SEEK_CUR ? SEEK_CUR
                                                                                      : SEEK_END;
  gboolean                done = FALSE;

  if (!sandbox_fork_check (self->file.generation, "stream", error))
    return FALSE;
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  g_mutex_lock (&self->file.lock);
  done = lseek (self->file.fd, offset, whence) >= 0;
  if (!done)
    sandbox_held_file_set_error (&self->file, "read", error);
  g_mutex_unlock (&self->file.lock);

  return done;
}

static gboolean
sandbox_file_input_stream_can_truncate (GSeekable *seekable)
{
  return FALSE;
}

static gboolean
sandbox_file_input_stream_truncate (GSeekable    *seekable,
                                    goffset       offset,
                                    GCancellable *cancellable,
                                    GError      **error)
{
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "A stream to read from changes no file");

  return FALSE;
}

static void
sandbox_file_input_stream_seekable_init (GSeekableIface *iface)
{
  iface->tell = sandbox_file_input_stream_tell;
  iface->can_seek = sandbox_file_input_stream_can_seek;
  iface->seek = sandbox_file_input_stream_seek;
  iface->can_truncate = sandbox_file_input_stream_can_truncate;
  iface->truncate_fn = sandbox_file_input_stream_truncate;
}

GInputStream *
sandbox_file_input_stream_new (SandboxWorkspace     *workspace,
                               SandboxWorkspaceRoot *root,
                               const char           *path,
                               GError              **error)
{
  g_autoptr (SandboxFileInputStream) self = NULL;
  struct stat st;
  gboolean    held = FALSE;
  g_auto (SandboxFd) fd = sandbox_contained_open_file (root->fd, path, "read", &st, error);

  if (fd < 0)
    return NULL;

  self = g_object_new (SANDBOX_TYPE_FILE_INPUT_STREAM, NULL);
  g_mutex_lock (&self->file.lock);
  held = sandbox_held_file_hold (&self->file, workspace, root, path, G_OBJECT (self), sandbox_file_input_stream_revoke, error);
  if (held)
    {
      sandbox_fork_lock ();
      self->file.fd = g_steal_fd (&fd);
      sandbox_fork_watch (&self->file.fd);
      sandbox_fork_unlock ();
    }
  g_mutex_unlock (&self->file.lock);

  return held ? G_INPUT_STREAM (g_steal_pointer (&self)) : NULL;
}
