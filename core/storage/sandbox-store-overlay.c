/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions that see the files of their template through an overlay. */

#include "sandbox-store-session-private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-lease-private.h"
#include "sandbox-state-private.h"

gboolean
sandbox_store_make_layers (SandboxStore *self,
                           int           base)
{
  g_auto (SandboxFd) upper = sandbox_store_make_directory (self, base, SANDBOX_STORE_UPPER);
  g_auto (SandboxFd) work = upper >= 0 ? sandbox_store_make_directory (self, base, SANDBOX_STORE_WORK) : -1;

  return work >= 0 && fchmod (work, 0700) == 0;
}

gboolean
sandbox_store_try_overlay (SandboxStore          *self,
                           SandboxStoreOverlayTry try_overlay,
                           gpointer               data,
                           GError               **error)
{
  g_autoptr (SandboxStoreWork) work = sandbox_store_work_new (self, error);
  g_auto (SandboxFd) lower = -1;
  g_auto (SandboxFd) directory = -1;
  g_auto (SandboxFd) file = -1;
  g_auto (SandboxFd) base = -1;
  guint uid, gid;

  if (work == NULL)
    return FALSE;
  sandbox_store_get_owner (self, &uid, &gid);
  lower = sandbox_store_make_directory (self, sandbox_store_work_get_fd (work), SANDBOX_STORE_TREE);
  directory = lower >= 0 ? sandbox_store_make_directory (self, lower, "directory") : -1;
  file = directory >= 0 ? sandbox_store_make_file (directory, "file", 0644) : -1;
  base = file >= 0 ? sandbox_store_make_directory (self, sandbox_store_work_get_fd (work), SANDBOX_STORE_FILES) : -1;
  if (base < 0 || (geteuid () == 0 && fchown (file, uid, gid) < 0) || !sandbox_store_make_layers (self, base))
    {
      sandbox_set_error_from_errno (error, errno, "Cannot make a directory in “%s”", sandbox_store_get_path (self));
      return FALSE;
    }

  return try_overlay (lower, base, data, error);
}

/* ---- Templates that are in use ------------------------------------------------------------------------------------ */

/* A lock of the template's list, of type F_RDLCK or F_WRLCK, for as long as *@fd is open. By errno: EAGAIN when somebody
 * else has one that forbids it, ENOENT when the template has gone, or goes at this moment. */
static gboolean
sandbox_store_lock_template (SandboxStore *self,
                             const char   *key,
                             int           type,
                             int          *fd)
{
  g_autofree char *path = g_build_filename (key, SANDBOX_STORE_TEMPLATE_FILE, NULL);
  const int        flags = type == F_WRLCK ? O_RDWR : O_RDONLY;
  int              errsv;

  sandbox_fork_lock ();
  *fd = sandbox_contained_open (sandbox_store_get_templates (self), path, flags | O_NONBLOCK | O_NOCTTY);
  errsv = errno;
  sandbox_fork_watch (fd);
  sandbox_fork_unlock ();
  if (*fd >= 0)
    {
      if (sandbox_lease_lock (*fd, type))
        errsv = sandbox_store_is_there (sandbox_store_get_templates (self), path, *fd) ? 0 : ENOENT;
      else
        errsv = errno;
      if (errsv != 0)
        sandbox_fork_close (fd);
    }
  errno = errsv;

  return *fd >= 0;
}

gboolean
sandbox_store_hold_template (SandboxStore          *self,
                             const char            *key,
                             SandboxStoredTemplate *stored,
                             int                   *fd,
                             gboolean              *stale,
                             GError               **error)
{
  struct stat st;

  if (sandbox_store_lock_template (self, key, F_RDLCK, fd) && fstat (*fd, &st) == 0)
    {
      if (sandbox_stored_entry_is_same (&stored->list, &st))
        return TRUE;
      errno = ENOENT;
    }

  /* Whoever deletes it is done soon. */
  *stale = errno == ENOENT || errno == EAGAIN;
  sandbox_set_error_from_errno (error, errno, "Cannot hold the template %s", key);
  sandbox_fork_close (fd);

  return FALSE;
}

static gboolean
sandbox_store_list_overlay_cb (SandboxStore *self,
                               const char   *id,
                               GPtrArray    *list,
                               GError      **error)
{
  g_autoptr (SandboxState) state = NULL;
  SandboxWorkspaceMode mode;

  if (!sandbox_store_session_read (self, id, &state, &mode, error))
    return FALSE;
  if (mode == SANDBOX_WORKSPACE_MODE_OVERLAY)
    g_ptr_array_add (list, g_steal_pointer (&state));

  return TRUE;
}

static int
sandbox_store_compare_nothing (gconstpointer a,
                               gconstpointer b)
{
  return 0;
}

gboolean
sandbox_store_lock_unused (SandboxStore *self,
                           const char   *key,
                           int          *fd,
                           GError      **error)
{
  g_autoptr (GPtrArray) sessions = NULL;

  /* Without a list it is no template: no session is made from it. */
  if (!sandbox_store_lock_template (self, key, F_WRLCK, fd) && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
    {
      if (errno == EAGAIN)
        g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY, "The template %s is in use: a session is being made from it", key);
      else
        sandbox_set_error_from_errno (error, errno, "Cannot lock the template %s", key);
      return FALSE;
    }

  sessions = sandbox_store_list (self, sandbox_store_get_sessions (self), sandbox_store_list_overlay_cb,
                                 sandbox_store_compare_nothing, NULL, NULL, error);
  for (guint i = 0; sessions != NULL && i < sessions->len; i++)
    {
      if (g_strcmp0 (sandbox_state_get_template_key (sessions->pdata[i]), key) != 0)
        continue;
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY, "The template %s is in use: session %s has its files from there, and has to be deleted first",
                   key, sandbox_state_get_session_id (sessions->pdata[i]));
      g_clear_pointer (&sessions, g_ptr_array_unref);
    }
  if (sessions == NULL)
    sandbox_fork_close (fd);

  return sessions != NULL;
}
