/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-file-stream-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "sandbox-contained-private.h"
#include "sandbox-error-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-held-file-private.h"
#include "sandbox-owner-private.h"

/* Room is made ahead in steps that double. */
#define FIRST_STEP (1024 * 1024)
#define LAST_STEP (64 * 1024 * 1024)

struct _SandboxFileOutputStream
{
  GOutputStream parent_instance;

  SandboxHeldFile file;    /* what is written; its lock guards what follows */
  gboolean        revoked; /* by the end of the session */
  int             dirfd;   /* where the last name of the path stands; -1 as that of the file */
  char            temporary[SANDBOX_CONTAINED_TEMPORARY_SIZE];
  guint64         size;
  guint64         room;
  gboolean        failed; /* something is missing in it */
};

G_DEFINE_FINAL_TYPE (SandboxFileOutputStream, sandbox_file_output_stream, G_TYPE_OUTPUT_STREAM)

/* See sandbox_contained_write (): only a hint. */
static void
sandbox_file_output_stream_make_room (SandboxFileOutputStream *self,
                                      guint64                  end)
{
  guint64 step = CLAMP (self->room, FIRST_STEP, LAST_STEP);

  if (end <= self->room || !sandbox_contained_fits (end + step))
    return;
  self->room = end + step;
  fallocate (self->file.fd, FALLOC_FL_KEEP_SIZE, (off_t) self->size, (off_t) (self->room - self->size));
}

/* A write that failed or was cancelled has left nobody knows what: then there is no file. */
static gssize
sandbox_file_output_stream_write (GOutputStream *stream,
                                  const void    *buffer,
                                  gsize          count,
                                  GCancellable  *cancellable,
                                  GError       **error)
{
  SandboxFileOutputStream *self = SANDBOX_FILE_OUTPUT_STREAM (stream);
  ssize_t                  n = -1;

  if (!sandbox_fork_check (self->file.generation, "stream", error))
    return -1;
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    {
      self->failed = TRUE;
      return -1;
    }

  g_mutex_lock (&self->file.lock);
  if (!self->revoked && sandbox_contained_fits (self->size + count))
    {
      sandbox_file_output_stream_make_room (self, self->size + count);
      do
        n = write (self->file.fd, buffer, count);
      while (n < 0 && errno == EINTR);
    }
  if (n >= 0)
    self->size += (guint64) n;
  else
    {
      self->failed = TRUE;
      sandbox_held_file_set_error (&self->file, "write", error);
    }
  g_mutex_unlock (&self->file.lock);

  return n;
}

/* Puts the file into its place, as the owner. What stands there may have changed since the stream was
 * opened, and so the same is asked of it again. */
static gboolean
sandbox_file_output_stream_publish (SandboxFileOutputStream *self,
                                    GError                 **error)
{
  const char            *slash = strrchr (self->file.path, '/');
  SandboxContainedParent parent = { self->dirfd, -1, slash != NULL ? slash + 1 : self->file.path };
  guint                  mode = 0;
  int                    fd = -1;

  if (self->room > self->size && ftruncate (self->file.fd, (off_t) self->size) < 0)
    {
      sandbox_held_file_set_error (&self->file, "write", error);
      return FALSE;
    }
  if (!sandbox_contained_look_at_target (&parent, self->file.root->fd, self->file.path, FALSE, &mode, error))
    return FALSE;
  sandbox_fork_lock ();
  fd = sandbox_fork_steal (&self->file.fd);
  sandbox_fork_unlock ();
  if (sandbox_contained_publish (self->dirfd, fd, self->temporary, parent.name, mode, FALSE))
    return TRUE;
  sandbox_held_file_set_error (&self->file, "write", error);

  return FALSE;
}

/* With a @refusal (taken) the file is dropped. */
static gboolean
sandbox_file_output_stream_end (SandboxFileOutputStream *self,
                                GCancellable            *cancellable,
                                GError                  *refusal,
                                GError                 **error)
{
  g_auto (SandboxOwner) owner = { FALSE };
  g_autoptr (GError) refused = refusal;
  g_autofree char *shown = NULL;
  gboolean         done = FALSE;
  guint            uid, gid;

  /* Without the rights to do it as the owner, the file that was begun stays where it is. */
  sandbox_workspace_root_get_owner (self->file.root, self->file.workspace, &uid, &gid);
  if (!sandbox_owner_enter (&owner, uid, gid, error))
    return FALSE;

  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    done = FALSE;
  else if (refused != NULL)
    g_propagate_error (error, g_steal_pointer (&refused));
  else if (self->failed)
    {
      shown = sandbox_contained_display (self->file.path);
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED,
                   "Cannot write “%s”: not all of it has been written", shown);
    }
  else
    done = sandbox_file_output_stream_publish (self, error);

  if (self->file.fd >= 0)
    {
      sandbox_contained_drop_temporary (self->dirfd, self->temporary);
      sandbox_fork_close (&self->file.fd);
    }
  sandbox_fork_close (&self->dirfd);

  return done;
}

/* Locked; unlocks. */
static void
sandbox_file_output_stream_unlock (SandboxFileOutputStream *self)
{
  sandbox_held_file_unlock (&self->file, G_OBJECT (self), self->file.fd < 0 && self->dirfd < 0);
}

/* The session has come to its end: what was begun vanishes. */
static void
sandbox_file_output_stream_revoke (GObject *object)
{
  SandboxFileOutputStream *self = SANDBOX_FILE_OUTPUT_STREAM (object);

  g_mutex_lock (&self->file.lock);
  if (self->file.root != NULL)
    {
      sandbox_file_output_stream_end (self, NULL, sandbox_workspace_new_stopped (), NULL);
      sandbox_fork_close (&self->file.fd);
      sandbox_fork_close (&self->dirfd);
      self->revoked = TRUE;
    }
  sandbox_file_output_stream_unlock (self);
}

/* Locked. */
static gboolean
sandbox_file_output_stream_finish (SandboxFileOutputStream *self,
                                   GCancellable            *cancellable,
                                   GError                 **error)
{
  SandboxWorkspaceRoot *root = NULL;
  GError               *refusal = NULL;
  gboolean              done = FALSE;

  if (self->file.root == NULL)
    {
      if (self->revoked)
        g_propagate_error (error, sandbox_workspace_new_stopped ());
      return !self->revoked;
    }

  /* The files of a session that has been stopped may be somebody else's by now. */
  root = sandbox_workspace_return (self->file.workspace, self->file.root, &refusal);
  done = sandbox_file_output_stream_end (self, cancellable, refusal, error);
  if (root != NULL)
    sandbox_workspace_leave (self->file.workspace, root);

  return done;
}

static gboolean
sandbox_file_output_stream_close (GOutputStream *stream,
                                  GCancellable  *cancellable,
                                  GError       **error)
{
  SandboxFileOutputStream *self = SANDBOX_FILE_OUTPUT_STREAM (stream);
  gboolean                 done = FALSE;

  /* The file that was begun is the parent's to end. */
  if (sandbox_fork_is_past (self->file.generation))
    return self->file.root == NULL || sandbox_fork_check (self->file.generation, "stream", error);

  g_mutex_lock (&self->file.lock);
  done = sandbox_file_output_stream_finish (self, cancellable, error);
  sandbox_file_output_stream_unlock (self);

  return done;
}

/* GIO closes a stream that is let go of. Nobody has said then that the file is complete. */
static void
sandbox_file_output_stream_dispose (GObject *object)
{
  SANDBOX_FILE_OUTPUT_STREAM (object)->failed = TRUE;

  G_OBJECT_CLASS (sandbox_file_output_stream_parent_class)->dispose (object);
}

static void
sandbox_file_output_stream_finalize (GObject *object)
{
  SandboxFileOutputStream *self = SANDBOX_FILE_OUTPUT_STREAM (object);

  sandbox_fork_close (&self->dirfd);
  sandbox_held_file_clear (&self->file, object);

  G_OBJECT_CLASS (sandbox_file_output_stream_parent_class)->finalize (object);
}

static void
sandbox_file_output_stream_class_init (SandboxFileOutputStreamClass *klass)
{
  GObjectClass       *object_class = G_OBJECT_CLASS (klass);
  GOutputStreamClass *stream_class = G_OUTPUT_STREAM_CLASS (klass);

  object_class->dispose = sandbox_file_output_stream_dispose;
  object_class->finalize = sandbox_file_output_stream_finalize;
  stream_class->write_fn = sandbox_file_output_stream_write;
  stream_class->close_fn = sandbox_file_output_stream_close;
}

static void
sandbox_file_output_stream_init (SandboxFileOutputStream *self)
{
  sandbox_held_file_init (&self->file);
  self->dirfd = -1;
}

/* Locked. */
static gboolean
sandbox_file_output_stream_open (SandboxFileOutputStream *self,
                                 SandboxWorkspace        *workspace,
                                 SandboxWorkspaceRoot    *root,
                                 const char              *path,
                                 GError                 **error)
{
  g_auto (SandboxContainedParent) parent = { -1, -1, NULL };
  guint mode = 0;

  if (!sandbox_held_file_hold (&self->file, workspace, root, path, G_OBJECT (self), sandbox_file_output_stream_revoke, error))
    return FALSE;
  if (!sandbox_contained_open_parent (&parent, root->fd, self->file.path, TRUE))
    {
      sandbox_held_file_set_error (&self->file, "write", error);
      return FALSE;
    }
  if (!sandbox_contained_look_at_target (&parent, root->fd, self->file.path, FALSE, &mode, error))
    return FALSE;

  self->dirfd = fcntl (parent.fd, F_DUPFD_CLOEXEC, 3);
  if (self->dirfd >= 0)
    self->file.fd = sandbox_contained_make_temporary (self->dirfd, self->temporary);
  if (self->file.fd < 0)
    {
      sandbox_held_file_set_error (&self->file, "write", error);
      return FALSE;
    }
  sandbox_fork_lock ();
  sandbox_fork_watch (&self->dirfd);
  sandbox_fork_watch (&self->file.fd);
  sandbox_fork_unlock ();

  return TRUE;
}

GOutputStream *
sandbox_file_output_stream_new (SandboxWorkspace     *workspace,
                                SandboxWorkspaceRoot *root,
                                const char           *path,
                                GError              **error)
{
  g_autoptr (SandboxFileOutputStream) self = g_object_new (SANDBOX_TYPE_FILE_OUTPUT_STREAM, NULL);
  gboolean opened = FALSE;

  g_mutex_lock (&self->file.lock);
  opened = sandbox_file_output_stream_open (self, workspace, root, path, error);
  g_mutex_unlock (&self->file.lock);

  return opened ? G_OUTPUT_STREAM (g_steal_pointer (&self)) : NULL;
}
