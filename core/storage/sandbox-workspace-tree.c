/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The functions of SandboxWorkspace that a driver may have beside reading, writing and removing. */

#include "sandbox-workspace-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-contained-copy-private.h"
#include "sandbox-error-private.h"
#include "sandbox-file-stream-private.h"
#include "sandbox-owner-private.h"

static gboolean
sandbox_workspace_job_list (SandboxWorkspaceJob *self,
                            gpointer            *answer,
                            GError             **error)
{
  *answer = sandbox_contained_list (self->root->fd, self->path, (guint) self->max,
                                    sandbox_workspace_job_check, self, error);

  return *answer != NULL;
}

static gboolean
sandbox_workspace_job_query_info (SandboxWorkspaceJob *self,
                                  gpointer            *answer,
                                  GError             **error)
{
  *answer = sandbox_contained_query_info (self->root->fd, self->path, error);

  return *answer != NULL;
}

static gboolean
sandbox_workspace_job_make_directory (SandboxWorkspaceJob *self,
                                      gpointer            *answer,
                                      GError             **error)
{
  return sandbox_contained_make_directory (self->root->fd, self->path, error);
}

static gboolean
sandbox_workspace_job_move (SandboxWorkspaceJob *self,
                            gpointer            *answer,
                            GError             **error)
{
  return sandbox_contained_move (self->root->fd, self->path, self->to, error);
}

static gboolean
sandbox_workspace_job_open_read (SandboxWorkspaceJob *self,
                                 gpointer            *answer,
                                 GError             **error)
{
  *answer = sandbox_file_input_stream_new (self->workspace, self->root, self->path, error);

  return *answer != NULL;
}

static gboolean
sandbox_workspace_job_open_write (SandboxWorkspaceJob *self,
                                  gpointer            *answer,
                                  GError             **error)
{
  *answer = sandbox_file_output_stream_new (self->workspace, self->root, self->path, error);

  return *answer != NULL;
}

static void
sandbox_workspace_job_progress (const SandboxContainedCount *count,
                                gpointer                     data)
{
  SandboxWorkspaceJob *self = data;

  sandbox_request_report_progress (self->request, count->bytes, count->files, count->skipped);
}

static gboolean
sandbox_workspace_job_copy (SandboxWorkspaceJob *self,
                            gboolean             out,
                            int                  source,
                            int                  target,
                            GError             **error)
{
  SandboxContainedCopy copy = {
    .out = out,
    .source = source,
    .target = target,
    .path = self->path,
    .check = sandbox_workspace_job_check,
    .progress = sandbox_workspace_job_progress,
    .data = self,
  };
  gboolean done = FALSE;

  sandbox_workspace_root_get_owner (self->root, self->workspace, &copy.uid, &copy.gid);
  done = sandbox_contained_copy (&copy, error);
  sandbox_workspace_job_progress (&copy.count, self);
  if (copy.count.skipped > 0)
    g_debug ("%" G_GUINT64_FORMAT " entries have been left out of a copy", copy.count.skipped);

  return done;
}

/* The directory in the workspace, as its owner. */
static int
sandbox_workspace_job_open_inside (SandboxWorkspaceJob *self,
                                   const char          *what,
                                   gboolean             make,
                                   GError             **error)
{
  g_auto (SandboxOwner) owner = { FALSE };
  g_autoptr (GError) failure = NULL;
  guint uid, gid;
  int   fd;

  sandbox_workspace_root_get_owner (self->root, self->workspace, &uid, &gid);
  if (!sandbox_owner_enter (&owner, uid, gid, error))
    return -1;
  if (make && strcmp (self->path, ".") != 0 &&
      !sandbox_contained_make_directory (self->root->fd, self->path, &failure) &&
      !g_error_matches (failure, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS))
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return -1;
    }

  fd = sandbox_contained_open (self->root->fd, self->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (fd < 0)
    sandbox_contained_set_error (error, errno, what, self->root->fd, NULL, self->path);

  return fd;
}

static gboolean
sandbox_workspace_job_import (SandboxWorkspaceJob *self,
                              gpointer            *answer,
                              GError             **error)
{
  const char *path = g_file_peek_path (self->directory);
  g_auto (SandboxFd) source = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g_auto (SandboxFd) target = -1;

  if (source < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot import the directory “%s”", path);
      return FALSE;
    }
  target = sandbox_workspace_job_open_inside (self, "import", TRUE, error);

  return target >= 0 && sandbox_workspace_job_copy (self, FALSE, source, target, error);
}

/* Whether there is nothing in it; -1 with errno when nobody knows. */
static int
sandbox_workspace_is_empty (int fd)
{
  int                  own = fcntl (fd, F_DUPFD_CLOEXEC, 3);
  DIR                 *dir = own >= 0 ? fdopendir (own) : NULL;
  const struct dirent *entry = NULL;
  int                  errsv;

  if (dir == NULL)
    {
      sandbox_close_fd (own);
      return -1;
    }
  do
    {
      errno = 0;
      entry = readdir (dir);
    }
  while (entry != NULL && (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0));
  errsv = errno;
  closedir (dir);
  errno = errsv;

  return entry == NULL && errno != 0 ? -1 : entry == NULL;
}

static gboolean
sandbox_workspace_job_export (SandboxWorkspaceJob *self,
                              gpointer            *answer,
                              GError             **error)
{
  const char *path = g_file_peek_path (self->directory);
  g_auto (SandboxFd) source = sandbox_workspace_job_open_inside (self, "export", FALSE, error);
  g_auto (SandboxFd) target = -1;
  int empty = -1;

  if (source < 0)
    return FALSE;

  if (mkdir (path, 0755) == 0 || errno == EEXIST)
    target = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (target >= 0)
    empty = sandbox_workspace_is_empty (target);
  if (empty == 0)
    errno = ENOTEMPTY;
  if (empty <= 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot export to the directory “%s”", path);
      return FALSE;
    }

  return sandbox_workspace_job_copy (self, TRUE, source, target, error);
}

/**
 * sandbox_workspace_list:
 * @self: a workspace
 * @path: the directory
 * @max: how many entries at the most
 * @request: answered with a [class@Sandbox.Listing]
 * @error: return location for an error
 *
 * Lists a directory, see [vfunc@Sandbox.Driver.list].
 *
 * A listing is cut at @max entries, and when its names and the targets of links have 32 MiB. What is
 * being written at that time has no entry. Mount points are listed and not looked at.
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_list (SandboxWorkspace *self,
                        const char       *path,
                        guint             max,
                        SandboxRequest   *request,
                        GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_list, self, request, .max = max, .gives_object = TRUE };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_start (&job, path, NULL, error);
}

/**
 * sandbox_workspace_query_info:
 * @self: a workspace
 * @path: the file
 * @request: answered with a [class@Gio.FileInfo]
 * @error: return location for an error
 *
 * Describes a file, a directory or a link, which is not followed; see [vfunc@Sandbox.Driver.query_info].
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_query_info (SandboxWorkspace *self,
                              const char       *path,
                              SandboxRequest   *request,
                              GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_query_info, self, request, .gives_object = TRUE };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_start (&job, path, NULL, error);
}

/**
 * sandbox_workspace_make_directory:
 * @self: a workspace
 * @path: the directory
 * @request: answered when done
 * @error: return location for an error
 *
 * Makes a directory and its missing parents, of mode 0755 whatever the umask; see
 * [vfunc@Sandbox.Driver.make_directory].
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_make_directory (SandboxWorkspace *self,
                                  const char       *path,
                                  SandboxRequest   *request,
                                  GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_make_directory, self, request };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_start (&job, path, NULL, error);
}

/**
 * sandbox_workspace_move:
 * @self: a workspace
 * @from: the old path
 * @to: the new path
 * @request: answered when done
 * @error: return location for an error
 *
 * Renames anything, a link too; see [vfunc@Sandbox.Driver.move].
 *
 * Whatever stands at @to stays, and the answer is %SANDBOX_ERROR_EXISTS. The workspace itself is
 * %SANDBOX_ERROR_PATH, and a directory that would come into itself %SANDBOX_ERROR_INVALID.
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_move (SandboxWorkspace *self,
                        const char       *from,
                        const char       *to,
                        SandboxRequest   *request,
                        GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_move, self, request };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (from != NULL, FALSE);
  g_return_val_if_fail (to != NULL, FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_start (&job, from, to, error);
}

/**
 * sandbox_workspace_open_read:
 * @self: a workspace
 * @path: the file
 * @request: answered with a [class@Gio.InputStream]
 * @error: return location for an error
 *
 * Opens a regular file for reading, see [vfunc@Sandbox.Driver.open_read].
 *
 * The stream can be sought in. It reads the file that was opened, whatever stands at @path later.
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_open_read (SandboxWorkspace *self,
                             const char       *path,
                             SandboxRequest   *request,
                             GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_open_read, self, request, .gives_object = TRUE };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_start (&job, path, NULL, error);
}

/**
 * sandbox_workspace_open_write:
 * @self: a workspace
 * @path: the file
 * @request: answered with a [class@Gio.OutputStream]
 * @error: return location for an error
 *
 * Opens a regular file for writing, with its missing parents; see [vfunc@Sandbox.Driver.open_write].
 *
 * What is written goes to a new file aside, which takes the place of the old one when the stream is
 * closed: see [method@Sandbox.Workspace.write] for what is kept of that. When a write has failed or was
 * cancelled, when closing is cancelled, and when the stream is let go of without being closed, the old
 * file stays as it was.
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_open_write (SandboxWorkspace *self,
                              const char       *path,
                              SandboxRequest   *request,
                              GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_open_write, self, request, .gives_object = TRUE };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_start (&job, path, NULL, error);
}

static gboolean
sandbox_workspace_check_local (GFile      *directory,
                               const char *what,
                               GError    **error)
{
  if (g_file_peek_path (directory) != NULL)
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "Cannot %s a directory that has no path on this host", what);

  return FALSE;
}

/**
 * sandbox_workspace_import_tree:
 * @self: a workspace
 * @path: where to; made with its parents when it is missing
 * @directory: a directory of the host, which has a path
 * @request: answered when done
 * @error: return location for an error
 *
 * Copies what is in a directory of the host into the workspace, see [vfunc@Sandbox.Driver.import_tree].
 *
 * Files get mode 0644, or 0755 when their owner may execute them, and replace others of their name as
 * [method@Sandbox.Workspace.write] does; directories get 0755. No link of @directory is followed: a
 * relative one that stays inside is made again, others are left out, as are sockets, devices and what is
 * mounted inside.
 *
 * A tree of more than %SANDBOX_TRANSFER_MAX_ENTRIES, %SANDBOX_TRANSFER_MAX_BYTES or
 * %SANDBOX_TRANSFER_MAX_DEPTH is %SANDBOX_ERROR_LIMIT. What was copied before an error stays.
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_import_tree (SandboxWorkspace *self,
                               const char       *path,
                               GFile            *directory,
                               SandboxRequest   *request,
                               GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_import, self, request, .directory = directory, .enters_itself = TRUE };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (G_IS_FILE (directory), FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_check_local (directory, "import", error) && sandbox_workspace_start (&job, path, NULL, error);
}

/**
 * sandbox_workspace_export_tree:
 * @self: a workspace
 * @path: a directory
 * @directory: a directory of the host, which has a path; it is made, or is empty
 * @request: answered when done
 * @error: return location for an error
 *
 * Copies what is in a directory of the workspace out to the host, see [vfunc@Sandbox.Driver.export_tree].
 *
 * Files get mode 0644, or 0755 when their owner may execute them, and directories 0755, as far as the
 * umask of the host allows. They belong to whom the host is. Links, sockets, devices and what is mounted
 * inside are left out.
 *
 * A directory that is not empty is %SANDBOX_ERROR_EXISTS. The limits are those of
 * [method@Sandbox.Workspace.import_tree]. What was copied before an error stays.
 *
 * Returns: whether the request was taken
 *
 * Since: 1.0
 */
gboolean
sandbox_workspace_export_tree (SandboxWorkspace *self,
                               const char       *path,
                               GFile            *directory,
                               SandboxRequest   *request,
                               GError          **error)
{
  SandboxWorkspaceJob job = { sandbox_workspace_job_export, self, request, .directory = directory, .enters_itself = TRUE };

  g_return_val_if_fail (SANDBOX_IS_WORKSPACE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (G_IS_FILE (directory), FALSE);
  g_return_val_if_fail (SANDBOX_IS_REQUEST (request), FALSE);

  return sandbox_workspace_check_local (directory, "export", error) && sandbox_workspace_start (&job, path, NULL, error);
}
