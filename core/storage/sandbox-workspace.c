/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-workspace-private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "sandbox-contained-private.h"
#include "sandbox-error-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-request-private.h"

/* How long work on files waits for an overlay that is being mounted: as long as a backend may take for it, which is the
 * time of a start, and what it waits for open files before. And how often it looks whether it still has to. */
#define MOUNT_LIMIT_US (15 * G_USEC_PER_SEC)
#define MOUNT_LOOK_US (G_USEC_PER_SEC / 20)

/**
 * SandboxWorkspace:
 *
 * The files below one directory of the host, for drivers that keep them there: a directory of the host's own, or one
 * that the library keeps for a session, see [vfunc@Sandbox.Backend.get_storage].
 *
 * The directory is opened once and everything goes through its descriptor: a path cannot lead out of
 * it, over a symbolic link or into another mount, whatever a hostile guest renames meanwhile. Nothing
 * but regular files is opened. Writing replaces files in one step.
 *
 * The file functions have the shape of those of [iface@Sandbox.Driver], so that a driver passes them
 * on in a line. Below a synchronous call they do the work at once; else it goes to threads of the
 * library, four for all.
 *
 * ```c
 * static gboolean
 * my_driver_read (SandboxDriver  *driver,
 *                 const char     *path,
 *                 guint64         offset,
 *                 guint64         max,
 *                 SandboxRequest *request,
 *                 GError        **error)
 * {
 *   return sandbox_workspace_read (MY_DRIVER (driver)->workspace, path, offset, max, request, error);
 * }
 * ```
 *
 * What a host that runs as root makes in here belongs to the owner of the workspace, see
 * [method@Sandbox.Workspace.set_owner].
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (SandboxWorkspace, sandbox_workspace, G_TYPE_OBJECT)

static void
sandbox_workspace_root_clear (gpointer data)
{
  SandboxWorkspaceRoot *self = data;

  if (self->is_view)
    sandbox_fork_close (&self->fd);
  else
    sandbox_clear_fd (&self->fd);
}

void
sandbox_workspace_root_unref (SandboxWorkspaceRoot *self)
{
  g_atomic_rc_box_release_full (self, sandbox_workspace_root_clear);
}

/* Takes @fd. */
static SandboxWorkspaceRoot *
sandbox_workspace_root_new (int fd)
{
  SandboxWorkspaceRoot *self = g_atomic_rc_box_new0 (SandboxWorkspaceRoot);

  self->fd = fd;

  return self;
}

/* The same for a view: as long as a forked child had it, the overlay would stay mounted. NULL for a descriptor that is none. */
static SandboxWorkspaceRoot *
sandbox_workspace_root_new_view (int fd)
{
  SandboxWorkspaceRoot *self = NULL;
  struct stat           st;

  if (fstat (fd, &st) < 0)
    {
      sandbox_close_fd (fd);
      return NULL;
    }
  self = sandbox_workspace_root_new (fd);
  self->is_view = TRUE;
  self->uid = st.st_uid;
  self->gid = st.st_gid;
  sandbox_fork_lock ();
  sandbox_fork_watch (&self->fd);
  sandbox_fork_unlock ();

  return self;
}

void
sandbox_workspace_root_get_owner (SandboxWorkspaceRoot *root,
                                  SandboxWorkspace     *workspace,
                                  guint                *uid,
                                  guint                *gid)
{
  *uid = root->is_view ? root->uid : workspace->uid;
  *gid = root->is_view ? root->gid : workspace->gid;
}

typedef struct
{
  gconstpointer stream; /* only to be compared with */
  GWeakRef      weak;
  void (*revoke) (GObject *stream);
} SandboxWorkspaceHolder;

static void
sandbox_workspace_holder_free (gpointer data)
{
  SandboxWorkspaceHolder *self = data;

  g_weak_ref_clear (&self->weak);
  g_free (self);
}

static void
sandbox_workspace_finalize (GObject *object)
{
  SandboxWorkspace *self = SANDBOX_WORKSPACE (object);

  g_clear_pointer (&self->session, sandbox_store_session_free);
  g_clear_pointer (&self->root, sandbox_workspace_root_unref);
  g_clear_pointer (&self->directory, sandbox_workspace_root_unref);
  g_free (self->path);
  g_free (self->state_directory);
  sandbox_clear_fd (&self->lower);
  sandbox_clear_fd (&self->base);
  g_cond_clear (&self->mounted);
  g_ptr_array_unref (self->queue);
  g_ptr_array_unref (self->holders);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (sandbox_workspace_parent_class)->finalize (object);
}

static void
sandbox_workspace_class_init (SandboxWorkspaceClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = sandbox_workspace_finalize;
}

static void
sandbox_workspace_init (SandboxWorkspace *self)
{
  self->lower = -1;
  self->base = -1;
  g_mutex_init (&self->lock);
  self->holders = g_ptr_array_new_with_free_func (sandbox_workspace_holder_free);
  self->queue = g_ptr_array_new ();
  g_cond_init (&self->mounted);
}

/* What is in there are no files, and tells of the whole host. */
static gboolean
sandbox_workspace_is_kernels (const struct statfs *system)
{
  static const guint32 magics[] = {
    PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
    SECURITYFS_MAGIC, BPF_FS_MAGIC, DEVPTS_SUPER_MAGIC
  };

  for (guint i = 0; i < G_N_ELEMENTS (magics); i++)
    if ((guint32) system->f_type == magics[i])
      return TRUE;

  return FALSE;
}

/**
 * sandbox_workspace_new:
 * @path: (type filename): an absolute path of the host
 * @error: return location for an error
 *
 * Opens a directory as a workspace.
 *
 * Symbolic links in @path are followed, now and never again: the workspace stays the directory that
 * it is now, whatever later stands at @path. The owner of the directory becomes the owner of the
 * workspace.
 *
 * A path that is not absolute, the root directory of the host, and what is of its procfs, sysfs or the like are refused with
 * %SANDBOX_ERROR_INVALID. Other errors are %SANDBOX_ERROR_NOT_FOUND, %SANDBOX_ERROR_DENIED, and
 * %SANDBOX_ERROR_PATH for what is no directory.
 *
 * Returns: (transfer full): a workspace, or %NULL with an error
 *
 * Since: 1.0
 */
SandboxWorkspace *
sandbox_workspace_new (const char *path,
                       GError    **error)
{
  g_autoptr (SandboxWorkspace) self = NULL;
  g_auto (SandboxFd) fd = -1;
  struct stat   st, top;
  struct statfs system;

  g_return_val_if_fail (path != NULL, NULL);

  if (!g_path_is_absolute (path))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "The workspace directory “%s” is not an absolute path", path);
      return NULL;
    }

  self = g_object_new (SANDBOX_TYPE_WORKSPACE, NULL);
  self->path = realpath (path, NULL);
  if (self->path != NULL)
    fd = open (self->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat (fd, &st) < 0 || fstatfs (fd, &system) < 0 || stat ("/", &top) < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot open the workspace directory “%s”", path);
      return NULL;
    }
  /* By what it is: it may be mounted elsewhere too. */
  if (st.st_dev == top.st_dev && st.st_ino == top.st_ino)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "The workspace directory “%s” is the root directory of this host", path);
      return NULL;
    }

  if (sandbox_workspace_is_kernels (&system))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "The workspace directory “%s” is of the kernel's own (procfs, sysfs or the like)", path);
      return NULL;
    }

  self->directory = sandbox_workspace_root_new (g_steal_fd (&fd));
  self->root = g_atomic_rc_box_acquire (self->directory);
  self->uid = st.st_uid;
  self->gid = st.st_gid;

  return g_steal_pointer (&self);
}

SandboxWorkspace *
sandbox_workspace_new_for_session (SandboxStoreSession *session,
                                   const char          *state_directory,
                                   GError             **error)
{
  g_autoptr (SandboxWorkspace) self = g_object_new (SANDBOX_TYPE_WORKSPACE, NULL);
  g_auto (SandboxFd) fd = sandbox_store_session_take_workspace (session);
  struct stat st;

  if (fd < 0 || fstat (fd, &st) < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot open the workspace of the session");
      return NULL;
    }
  self->directory = sandbox_workspace_root_new (g_steal_fd (&fd));
  if (sandbox_store_session_get_mode (session) != SANDBOX_WORKSPACE_MODE_OVERLAY)
    self->root = g_atomic_rc_box_acquire (self->directory);
  self->path = sandbox_store_session_dup_workspace_path (session);
  self->state_directory = g_strdup (state_directory);
  self->uid = st.st_uid;
  self->gid = st.st_gid;
  self->session = session;

  return g_steal_pointer (&self);
}

SandboxWorkspace *
sandbox_workspace_new_for_layers (int         lower,
                                  int         base,
                                  const char *state_directory,
                                  GError    **error)
{
  g_autoptr (SandboxWorkspace) self = g_object_new (SANDBOX_TYPE_WORKSPACE, NULL);
  g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", base);
  g_auto (SandboxFd) fd = fcntl (base, F_DUPFD_CLOEXEC, 3);
  struct stat st;

  self->lower = fcntl (lower, F_DUPFD_CLOEXEC, 3);
  self->base = fcntl (base, F_DUPFD_CLOEXEC, 3);
  self->path = g_file_read_link (link, NULL);
  if (fd < 0 || self->lower < 0 || self->base < 0 || self->path == NULL || fstat (fd, &st) < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot open the directories for an overlay");
      return NULL;
    }
  self->directory = sandbox_workspace_root_new (g_steal_fd (&fd));
  self->state_directory = g_strdup (state_directory);
  self->uid = st.st_uid;
  self->gid = st.st_gid;

  return g_steal_pointer (&self);
}

GError *
sandbox_workspace_new_stopped (void)
{
  return g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The session has been stopped");
}

static gboolean
sandbox_workspace_fail_ended (GError **error)
{
  g_propagate_error (error, sandbox_workspace_new_stopped ());

  return FALSE;
}

/* Locked. */
static SandboxWorkspaceRoot *
sandbox_workspace_acquire_root (SandboxWorkspace *self,
                                GError          **error)
{
  if (self->root != NULL)
    return g_atomic_rc_box_acquire (self->root);
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                       "The workspace is an overlay, which is there once the sandbox of the session has been started");

  return NULL;
}

/* Locked. */
static gboolean
sandbox_workspace_is_being_mounted (SandboxWorkspace *self)
{
  return self->mounts && !self->ended && g_get_monotonic_time () < self->mounts_end;
}

/* Locked. */
static SandboxWorkspaceRoot *
sandbox_workspace_enter_locked (SandboxWorkspace *self,
                                GError          **error)
{
  SandboxWorkspaceRoot *root = NULL;

  if (self->ended)
    sandbox_workspace_fail_ended (error);
  else
    root = sandbox_workspace_acquire_root (self, error);
  if (root != NULL)
    self->n_users++;

  return root;
}

SandboxWorkspaceRoot *
sandbox_workspace_enter (SandboxWorkspace     *self,
                         SandboxContainedCheck check,
                         gpointer              data,
                         GError              **error)
{
  SandboxWorkspaceRoot *root = NULL;

  g_mutex_lock (&self->lock);
  while (sandbox_workspace_is_being_mounted (self) && (check == NULL || check (data) == 0))
    g_cond_wait_until (&self->mounted, &self->lock, g_get_monotonic_time () + MOUNT_LOOK_US);
  root = sandbox_workspace_enter_locked (self, error);
  g_mutex_unlock (&self->lock);

  return root;
}

static void
sandbox_workspace_resume_queue (SandboxWorkspace *self)
{
  g_autoptr (GPtrArray) queue = NULL;
  g_autoptr (GSource) end = NULL;

  g_mutex_lock (&self->lock);
  g_cond_broadcast (&self->mounted);
  end = g_steal_pointer (&self->queue_end);
  queue = g_steal_pointer (&self->queue);
  self->queue = g_ptr_array_new ();
  g_mutex_unlock (&self->lock);

  if (end != NULL)
    g_source_destroy (end);
  for (guint i = 0; i < queue->len; i++)
    sandbox_workspace_job_push (queue->pdata[i]);
}

static gboolean
sandbox_workspace_queue_end_cb (gpointer user_data)
{
  sandbox_workspace_resume_queue (user_data);

  return G_SOURCE_REMOVE;
}

/* Locked. */
static void
sandbox_workspace_queue (SandboxWorkspace    *self,
                         SandboxWorkspaceJob *job)
{
  const gint64 left = self->mounts_end - g_get_monotonic_time ();

  g_ptr_array_add (self->queue, job);
  if (self->queue_end != NULL)
    return;

  self->queue_end = g_timeout_source_new ((guint) (MAX (left, 0) / G_TIME_SPAN_MILLISECOND) + 1);
  g_source_set_callback (self->queue_end, sandbox_workspace_queue_end_cb, g_object_ref (self), g_object_unref);
  g_source_attach (self->queue_end, sandbox_get_worker_context ());
}

gboolean
sandbox_workspace_enter_or_queue (SandboxWorkspace      *self,
                                  SandboxWorkspaceJob   *job,
                                  SandboxWorkspaceRoot **root,
                                  GError               **error)
{
  gboolean queued = FALSE;

  if (sandbox_request_is_cancelled (job->request))
    {
      g_propagate_error (error, sandbox_error_new_cancelled ());
      return TRUE;
    }

  g_mutex_lock (&self->lock);
  queued = sandbox_workspace_is_being_mounted (self);
  if (queued)
    sandbox_workspace_queue (self, job);
  else
    *root = sandbox_workspace_enter_locked (self, error);
  g_mutex_unlock (&self->lock);

  return !queued;
}

/* Streams of an overlay that are still open. One that is on its way to be finalized releases itself. */
static void
sandbox_workspace_revoke_streams (SandboxWorkspace *self)
{
  g_autoptr (GPtrArray) holders = NULL;

  g_mutex_lock (&self->lock);
  holders = g_steal_pointer (&self->holders);
  self->holders = g_ptr_array_new_with_free_func (sandbox_workspace_holder_free);
  g_mutex_unlock (&self->lock);

  for (guint i = 0; i < holders->len; i++)
    {
      SandboxWorkspaceHolder *holder = holders->pdata[i];
      g_autoptr (GObject) stream = g_weak_ref_get (&holder->weak);

      if (stream != NULL)
        holder->revoke (stream);
    }
}

/* Locked. */
static SandboxStoreSession *
sandbox_workspace_steal_session_locked (SandboxWorkspace *self)
{
  /* Whoever gets the session next mounts its overlay again, which must not be mounted here any more then. */
  if (self->root != self->directory)
    g_clear_pointer (&self->root, sandbox_workspace_root_unref);

  return g_steal_pointer (&self->session);
}

SandboxStoreSession *
sandbox_workspace_steal_session (SandboxWorkspace *self)
{
  SandboxStoreSession *session = NULL;

  g_mutex_lock (&self->lock);
  self->ended = self->session != NULL || self->ended;
  g_mutex_unlock (&self->lock);
  sandbox_workspace_resume_queue (self);
  sandbox_workspace_revoke_streams (self);
  g_mutex_lock (&self->lock);
  session = sandbox_workspace_steal_session_locked (self);
  g_mutex_unlock (&self->lock);

  return session;
}

void
sandbox_workspace_give_up (SandboxWorkspace *self)
{
  SandboxStoreSession *session = NULL;

  g_mutex_lock (&self->lock);
  self->ended = self->session != NULL || self->ended;
  g_mutex_unlock (&self->lock);
  sandbox_workspace_resume_queue (self);
  sandbox_workspace_revoke_streams (self);
  g_mutex_lock (&self->lock);
  if (self->n_users == 0)
    session = sandbox_workspace_steal_session_locked (self);
  g_mutex_unlock (&self->lock);

  g_clear_pointer (&session, sandbox_store_session_free);
}

SandboxWorkspaceRoot *
sandbox_workspace_return (SandboxWorkspace     *self,
                          SandboxWorkspaceRoot *root,
                          GError              **error)
{
  gboolean done = FALSE;

  /* Where the view has been dropped, it is mounted all the same until whoever holds it lets go. */
  g_mutex_lock (&self->lock);
  if (self->ended)
    sandbox_workspace_fail_ended (error);
  else if (self->root != NULL && self->root != root)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                         "The sandbox has been started anew while the file was being written");
  else
    done = TRUE;
  if (done)
    self->n_users++;
  g_mutex_unlock (&self->lock);

  return done ? g_atomic_rc_box_acquire (root) : NULL;
}

SandboxWorkspaceRoot *
sandbox_workspace_hold (SandboxWorkspace     *self,
                        SandboxWorkspaceRoot *root,
                        GObject              *stream,
                        void (*revoke) (GObject *stream),
                        GError **error)
{
  SandboxWorkspaceHolder *holder = NULL;
  gboolean                ended = FALSE;

  if (!root->is_view)
    return g_atomic_rc_box_acquire (root);

  holder = g_new (SandboxWorkspaceHolder, 1);
  holder->stream = stream;
  g_weak_ref_init (&holder->weak, stream);
  holder->revoke = revoke;
  g_mutex_lock (&self->lock);
  ended = self->ended;
  if (!ended)
    {
      self->n_users++;
      g_ptr_array_add (self->holders, holder);
    }
  g_mutex_unlock (&self->lock);
  if (!ended)
    return g_atomic_rc_box_acquire (root);

  sandbox_workspace_holder_free (holder);
  sandbox_workspace_fail_ended (error);

  return NULL;
}

void
sandbox_workspace_release (SandboxWorkspace     *self,
                           SandboxWorkspaceRoot *root,
                           GObject              *stream)
{
  if (!root->is_view)
    {
      sandbox_workspace_root_unref (root);
      return;
    }

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->holders->len; i++)
    {
      SandboxWorkspaceHolder *holder = self->holders->pdata[i];

      if (holder->stream == stream)
        {
          g_ptr_array_remove_index_fast (self->holders, i);
          break;
        }
    }
  g_mutex_unlock (&self->lock);
  sandbox_workspace_leave (self, root);
}

void
sandbox_workspace_leave (SandboxWorkspace     *self,
                         SandboxWorkspaceRoot *root)
{
  SandboxStoreSession *session = NULL;

  sandbox_workspace_root_unref (root);
  g_mutex_lock (&self->lock);
  if (--self->n_users == 0 && self->ended)
    session = sandbox_workspace_steal_session_locked (self);
  g_mutex_unlock (&self->lock);

  g_clear_pointer (&session, sandbox_store_session_free);
}

/**
 * sandbox_workspace_lend_alive: (skip)
 * @self: a workspace
 * @fd: (out): where the descriptor goes; the place has to stay where it is until the descriptor is given back
 * @error: return location for an error
 *
 * Gets a lock for process 1 of a sandbox that can change the files.
 *
 * As long as anybody has it, nobody else gets the session, whatever became of this program. So a backend hands it to
 * each sandbox before any command runs there, and what is in the sandbox must not be able to close it. For a
 * directory of the host's own there is none, and @fd is -1.
 *
 * The descriptor is closed on exec, and in a forked child. Give it back with
 * [func@Sandbox.Workspace.return_alive], or on with [method@Sandbox.AgentChannel.take_lock].
 *
 * Returns: %TRUE, or %FALSE with an error: %SANDBOX_ERROR_STOPPED when the session has ended
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_lend_alive (SandboxWorkspace *self,
                              int              *fd,
                              GError          **error)
{
  gboolean lent = FALSE;

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (fd != NULL, FALSE);

  *fd = -1;
  g_mutex_lock (&self->lock);
  if (self->session != NULL && !self->ended)
    lent = sandbox_store_session_open_alive (self->session, fd, error);
  else if (self->ended)
    sandbox_workspace_fail_ended (error);
  else
    lent = TRUE;
  g_mutex_unlock (&self->lock);

  return lent;
}

/**
 * sandbox_workspace_return_alive: (skip)
 * @fd: the place that [method@Sandbox.Workspace.lend_alive] was given; it gets -1
 *
 * Gives the lock back. Whoever else got it keeps it.
 *
 * Since: 1.0
 */
void
sandbox_workspace_return_alive (int *fd)
{
  g_return_if_fail (fd != NULL);

  sandbox_fork_close (fd);
}

/**
 * sandbox_workspace_get_state_directory:
 * @self: a workspace
 *
 * Gets the directory of the host below which the library keeps this workspace, and those of other sessions.
 *
 * No sandbox may see anything of it but the workspace itself.
 *
 * Returns: (transfer none) (nullable) (type filename): the directory, or %NULL for a workspace that is a directory of
 *   the host's own
 *
 * Since: 1.0
 */
const char *
sandbox_workspace_get_state_directory (SandboxWorkspace *self)
{
  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), NULL);

  return self->state_directory;
}

/**
 * sandbox_workspace_get_path:
 * @self: a workspace
 *
 * Gets the path of the directory when it was opened, without symbolic links.
 *
 * It is for messages to the host. Never open it, and never show it to a guest or a model.
 *
 * Returns: (transfer none) (type filename): the path
 *
 * Since: 1.0
 */
const char *
sandbox_workspace_get_path (SandboxWorkspace *self)
{
  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), NULL);

  return self->path;
}

/**
 * sandbox_workspace_get_owner:
 * @self: a workspace
 * @uid: (out) (optional): its user
 * @gid: (out) (optional): its group
 *
 * Gets whom the files belong to.
 *
 * Since: 1.0
 */
void
sandbox_workspace_get_owner (SandboxWorkspace *self,
                             guint            *uid,
                             guint            *gid)
{
  g_return_if_fail (SANDBOX_IS_WORKSPACE (self));

  if (uid != NULL)
    *uid = self->uid;
  if (gid != NULL)
    *gid = self->gid;
}

/**
 * sandbox_workspace_set_owner:
 * @self: a workspace
 * @uid: a user
 * @gid: a group
 *
 * Sets whom the files belong to, before the first of them is touched.
 *
 * A host that runs as root does all file work in here with the rights of this owner, and what it
 * makes belongs to it; for user 0 these are all rights. For other hosts it changes nothing: they work
 * as themselves. Nor does it change anything for an overlay, whose files are handled as the owner that they have where
 * it is mounted.
 *
 * Since: 1.0
 */
void
sandbox_workspace_set_owner (SandboxWorkspace *self,
                             guint             uid,
                             guint             gid)
{
  g_return_if_fail (SANDBOX_IS_WORKSPACE (self));
  g_return_if_fail (uid != G_MAXUINT);
  g_return_if_fail (gid != G_MAXUINT);

  self->uid = uid;
  self->gid = gid;
}

/**
 * sandbox_workspace_dup_fd: (skip)
 * @self: a workspace
 * @error: return location for an error
 *
 * Gets a descriptor of the directory.
 *
 * It is opened with `O_PATH` and closed on exec. That of an overlay is the one that
 * [method@Sandbox.Workspace.take_view] was given last; before that it is %SANDBOX_ERROR_UNAVAILABLE.
 *
 * Returns: a descriptor, which the caller closes, or -1 with an error
 *
 * Since: 1.0
 */
int
sandbox_workspace_dup_fd (SandboxWorkspace *self,
                          GError          **error)
{
  g_autoptr (SandboxWorkspaceRoot) root = NULL;
  int fd = -1;

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), -1);

  g_mutex_lock (&self->lock);
  root = sandbox_workspace_acquire_root (self, error);
  g_mutex_unlock (&self->lock);
  if (root == NULL)
    return -1;

  fd = fcntl (root->fd, F_DUPFD_CLOEXEC, 3);
  if (fd < 0)
    sandbox_set_error_from_errno (error, errno, "Cannot duplicate the descriptor of the workspace directory");

  return fd;
}

static gboolean
sandbox_workspace_dup_tried_layers (SandboxWorkspace *self,
                                    int              *lower_fd,
                                    int              *base_fd,
                                    GError          **error)
{
  g_auto (SandboxFd) lower = fcntl (self->lower, F_DUPFD_CLOEXEC, 3);
  g_auto (SandboxFd) base = fcntl (self->base, F_DUPFD_CLOEXEC, 3);

  if (lower < 0 || base < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot duplicate the descriptors of an overlay");
      return FALSE;
    }
  *lower_fd = g_steal_fd (&lower);
  *base_fd = g_steal_fd (&base);

  return TRUE;
}

/* Locked. */
static gboolean
sandbox_workspace_open_layers (SandboxWorkspace *self,
                               int              *lower_fd,
                               int              *base_fd,
                               GError          **error)
{
  if (self->ended)
    return sandbox_workspace_fail_ended (error);
  if (self->lower >= 0)
    return sandbox_workspace_dup_tried_layers (self, lower_fd, base_fd, error);
  if (self->session == NULL || sandbox_store_session_get_mode (self->session) != SANDBOX_WORKSPACE_MODE_OVERLAY)
    return FALSE;

  return sandbox_store_session_open_layers (self->session, lower_fd, base_fd, error);
}

/**
 * sandbox_workspace_dup_layers: (skip)
 * @self: a workspace
 * @lower_fd: (out): the files of the template
 * @base_fd: (out): the directory that has `upper` and `work`
 * @error: return location for an error
 *
 * Gets what a workspace is made of that is an overlay over the files of a template.
 *
 * The backend mounts it in the sandbox, where nothing may reach either of the two afterwards: the lower one belongs to
 * other sessions too. Then it hands a descriptor of the overlay to [method@Sandbox.Workspace.take_view]. No two of
 * them may be mounted at the same time, so before the next one it calls [method@Sandbox.Workspace.drop_view].
 *
 * Both descriptors are opened with `O_PATH` and closed on exec; the caller closes them. Their files belong to
 * [method@Sandbox.Workspace.get_owner].
 *
 * Returns: whether it is an overlay; %FALSE without an error when it is a plain directory
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_dup_layers (SandboxWorkspace *self,
                              int              *lower_fd,
                              int              *base_fd,
                              GError          **error)
{
  gboolean opened = FALSE;

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (lower_fd != NULL, FALSE);
  g_return_val_if_fail (base_fd != NULL, FALSE);

  g_mutex_lock (&self->lock);
  opened = sandbox_workspace_open_layers (self, lower_fd, base_fd, error);
  g_mutex_unlock (&self->lock);

  return opened;
}

/**
 * sandbox_workspace_take_view: (skip)
 * @self: a workspace that is an overlay
 * @fd: a descriptor of the directory where it is mounted, which the workspace takes over; -1 when nothing came of the mount
 *
 * Sets where the files of an overlay are read and changed from now on, until [method@Sandbox.Workspace.drop_view].
 *
 * They are so also when the sandbox has come to its end: the descriptor keeps the overlay mounted.
 *
 * Since: 1.0
 */
void
sandbox_workspace_take_view (SandboxWorkspace *self,
                             int               fd)
{
  SandboxWorkspaceRoot *view = NULL;

  g_return_if_fail (SANDBOX_IS_WORKSPACE (self));

  if (fd >= 0)
    view = sandbox_workspace_root_new_view (fd);
  g_mutex_lock (&self->lock);
  /* The next owner of the session mounts it again. */
  if (view != NULL && !self->ended)
    {
      SandboxWorkspaceRoot *old = self->root;

      self->root = view;
      view = old;
    }
  self->mounts = FALSE;
  g_mutex_unlock (&self->lock);
  sandbox_workspace_resume_queue (self);
  g_clear_pointer (&view, sandbox_workspace_root_unref);
}

/**
 * sandbox_workspace_drop_view: (skip)
 * @self: a workspace that is an overlay
 *
 * Gives up the view of an overlay that is going to be mounted anew.
 *
 * Work on files that is under way, and files of it that are open, keep the old one mounted; so this is called again until
 * it is %TRUE. Other work waits for the new one, or until [method@Sandbox.Workspace.take_view] is called with -1. It does
 * not block.
 *
 * Returns: whether the overlay is mounted nowhere any more, as far as this program goes
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_drop_view (SandboxWorkspace *self)
{
  SandboxWorkspaceRoot *old = NULL;
  gboolean              dropped = FALSE;

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);

  /* Whoever leaves has let go before. If somebody never does, the old one is still there. */
  g_mutex_lock (&self->lock);
  if (!self->mounts)
    self->mounts_end = g_get_monotonic_time () + MOUNT_LIMIT_US;
  self->mounts = TRUE;
  dropped = self->n_users == 0;
  if (dropped && self->root != self->directory)
    old = g_steal_pointer (&self->root);
  g_mutex_unlock (&self->lock);
  g_clear_pointer (&old, sandbox_workspace_root_unref);

  return dropped;
}

/**
 * sandbox_workspace_check:
 * @self: a workspace
 * @error: return location for an error
 *
 * Finds out whether the directory still exists.
 *
 * Returns: %TRUE, or %FALSE with %SANDBOX_ERROR_UNAVAILABLE when it has been removed
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_check (SandboxWorkspace *self,
                         GError          **error)
{
  struct stat st;

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);

  if (fstat (self->directory->fd, &st) < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot look at the workspace directory");
      return FALSE;
    }
  if (!S_ISDIR (st.st_mode) || st.st_nlink == 0)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                           "The workspace directory has been removed");
      return FALSE;
    }

  return TRUE;
}

static gboolean
sandbox_workspace_job_read (SandboxWorkspaceJob *self,
                            gpointer            *answer,
                            GError             **error)
{
  *answer = sandbox_contained_read (self->root->fd, self->path, self->offset, self->max, error);

  return *answer != NULL;
}

static gboolean
sandbox_workspace_job_write (SandboxWorkspaceJob *self,
                             gpointer            *answer,
                             GError             **error)
{
  gsize         size;
  gconstpointer data = g_bytes_get_data (self->bytes, &size);

  return sandbox_contained_write (self->root->fd, self->path, data, size, self->mode, self->flags, error);
}

static gboolean
sandbox_workspace_job_remove (SandboxWorkspaceJob *self,
                              gpointer            *answer,
                              GError             **error)
{
  return sandbox_contained_remove (self->root->fd, self->path, self->flags,
                                   sandbox_workspace_job_check, self, error);
}

/**
 * sandbox_workspace_read:
 * @self: a workspace
 * @path: the file
 * @offset: the first byte
 * @max: how many bytes at the most
 * @request: answered with bytes, fewer than @max at the end of the file
 * @error: return location for an error
 *
 * Reads a part of a regular file, see [vfunc@Sandbox.Driver.read].
 *
 * Never more than @max bytes of memory are taken, whatever the size of the file. A file that shrinks
 * again and again while it is read is %SANDBOX_ERROR_FAILED.
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_read (SandboxWorkspace *self,
                        const char       *path,
                        guint64           offset,
                        guint64           max,
                        SandboxRequest   *request,
                        GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_read, self, request, .offset = offset, .max = max };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_start (&job, path, NULL, error);
}

/**
 * sandbox_workspace_write:
 * @self: a workspace
 * @path: the file
 * @bytes: its new content
 * @mode: permission bits for a new file, 0 for 0644
 * @flags: how
 * @request: answered when done
 * @error: return location for an error
 *
 * Replaces a regular file, or makes it, see [vfunc@Sandbox.Driver.write].
 *
 * The content is written to a new file aside, which is renamed. So a failure leaves the old content;
 * another name of the old file (a hard link) keeps it; extended attributes, and the owner where it was
 * somebody else, are not kept; and a file that forbids writing is replaced where its directory allows
 * that. The permission bits stay as they were, without set-user-ID, set-group-ID and sticky; those of
 * a new file and of directories made for it (0755) do not depend on the umask. Nothing is forced to
 * the disk.
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_write (SandboxWorkspace *self,
                         const char       *path,
                         GBytes           *bytes,
                         guint             mode,
                         SandboxWriteFlags flags,
                         SandboxRequest   *request,
                         GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_write, self, request,
                              .bytes = bytes, .mode = mode, .flags = flags };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (bytes != NULL, FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_start (&job, path, NULL, error);
}

/**
 * sandbox_workspace_remove:
 * @self: a workspace
 * @path: the file or directory
 * @flags: how
 * @request: answered when done
 * @error: return location for an error
 *
 * Removes a file, a link (never its target) or a directory, see [vfunc@Sandbox.Driver.remove].
 *
 * Directories on the way down that forbid it are given `u+rwx` where they are ours. It ends at the
 * first thing that cannot be removed, which the error names, at a cancellation, and after 30 seconds
 * with %SANDBOX_ERROR_LIMIT; what was removed by then is gone. A mount point inside and the workspace
 * itself are %SANDBOX_ERROR_PATH.
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_remove (SandboxWorkspace  *self,
                          const char        *path,
                          SandboxRemoveFlags flags,
                          SandboxRequest    *request,
                          GError           **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_remove, self, request, .flags = flags, .pool = SANDBOX_POOL_REMOVALS };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_start (&job, path, NULL, error);
}
