/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-workspace.h"

G_BEGIN_DECLS

struct _SandboxWorkspace
{
  GObject parent_instance;

  int   fd;
  char *path;
  guint uid;
  guint gid;
};

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
