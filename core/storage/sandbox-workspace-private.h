/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-store-session-private.h"
#include "sandbox-workspace.h"

G_BEGIN_DECLS

struct _SandboxWorkspace
{
  GObject parent_instance;

  int   fd;
  char *path;
  char *state_directory; /* NULL for a directory of the host's own */
  guint uid;
  guint gid;

  GMutex               lock;    /* guards what follows */
  SandboxStoreSession *session; /* whose workspace it is; NULL for none, or once that is given up */
  int                  alive;   /* its lock for sandboxes, opened beforehand: lending must not touch the disk; watched */
  gboolean             ended;   /* it has been */
  guint                n_users; /* what is changing files */
};

/* The workspace of a session that is kept in the store below @state_directory. Takes the session, but not when it fails. */
SandboxWorkspace *sandbox_workspace_new_for_session (SandboxStoreSession *session,
                                                     const char          *state_directory,
                                                     GError             **error);

/* Gives the session up, so that somebody else can have it: at once, or when the last change of files that is under way
 * has ended. Whatever comes after is STOPPED. May block. */
void sandbox_workspace_give_up (SandboxWorkspace *self);

/* The same, but hands the session to the caller; NULL when it has been given up. */
SandboxStoreSession *sandbox_workspace_steal_session (SandboxWorkspace *self);

/* Around every change of files: keeps the session until the end. STOPPED when it has been given up. */
gboolean sandbox_workspace_enter (SandboxWorkspace *self,
                                  GError          **error);
void     sandbox_workspace_leave (SandboxWorkspace *self);

/* One file operation. */
typedef struct _SandboxWorkspaceJob SandboxWorkspaceJob;

struct _SandboxWorkspaceJob
{
  /* Works as the owner of the workspace, unless it enters that itself. */
  gboolean (*run) (SandboxWorkspaceJob *self,
                   gpointer            *answer,
                   GError             **error);

  SandboxWorkspace *workspace;
  SandboxRequest   *request;
  char             *path; /* decoded */
  char             *to;   /* decoded, or NULL */
  gint64            end;  /* monotonic */
  gboolean          gives_object;
  gboolean          enters_itself;

  guint64 offset;
  guint64 max;
  GBytes *bytes;
  GFile  *directory;
  guint   mode;
  guint   flags;
};

/* Does what @job says, at once or in the pool. Everything in it is borrowed. */
gboolean sandbox_workspace_start (SandboxWorkspaceJob *job,
                                  const char          *path,
                                  const char          *to,
                                  GError             **error);

/* For SandboxContainedCheck. */
int sandbox_workspace_job_check (gpointer data);

G_END_DECLS
