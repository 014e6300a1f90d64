/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-held-file-private.h"

#include <errno.h>

#include "sandbox-contained-private.h"
#include "sandbox-fork-private.h"

void
sandbox_held_file_init (SandboxHeldFile *self)
{
  self->generation = sandbox_fork_get_generation ();
  g_mutex_init (&self->lock);
  self->fd = -1;
}

void
sandbox_held_file_clear (SandboxHeldFile *self,
                         GObject         *stream)
{
  /* In a forked child it is closed, and locks may be as somebody left them who is not there. */
  if (!sandbox_fork_is_past (self->generation))
    {
      g_mutex_lock (&self->lock);
      sandbox_held_file_unlock (self, stream, TRUE);
    }
  g_clear_object (&self->workspace);
  g_mutex_clear (&self->lock);
  g_free (self->path);
}

gboolean
sandbox_held_file_hold (SandboxHeldFile      *self,
                        SandboxWorkspace     *workspace,
                        SandboxWorkspaceRoot *root,
                        const char           *path,
                        GObject              *stream,
                        void (*revoke) (GObject *stream),
                        GError **error)
{
  self->workspace = g_object_ref (workspace);
  self->path = g_strdup (path);
  self->root = sandbox_workspace_hold (workspace, root, stream, revoke, error);

  return self->root != NULL;
}

void
sandbox_held_file_unlock (SandboxHeldFile *self,
                          GObject         *stream,
                          gboolean         ended)
{
  SandboxWorkspaceRoot *root = NULL;

  if (ended)
    {
      sandbox_fork_close (&self->fd);
      root = g_steal_pointer (&self->root);
    }
  g_mutex_unlock (&self->lock);
  if (root != NULL)
    sandbox_workspace_release (self->workspace, root, stream);
}

void
sandbox_held_file_set_error (SandboxHeldFile *self,
                             const char      *what,
                             GError         **error)
{
  if (self->root == NULL)
    g_propagate_error (error, sandbox_workspace_new_stopped ());
  else
    sandbox_contained_set_error (error, errno, what, self->root->fd, NULL, self->path);
}
