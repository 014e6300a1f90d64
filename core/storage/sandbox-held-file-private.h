/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-workspace-private.h"

G_BEGIN_DECLS

/* What a stream has open of a workspace. The end of the session takes it back, from a thread of its own, so whoever uses
 * it holds the lock. A forked child may not: the position is shared, and a file that was begun is the parent's to end. */
typedef struct
{
  guint             generation;
  SandboxWorkspace *workspace; /* NULL before it is opened, like what follows */
  char             *path;      /* decoded */

  GMutex                lock; /* guards what follows */
  SandboxWorkspaceRoot *root; /* of when it was opened; NULL once it has been given back */
  int                   fd;   /* not in a forked child, where it would keep an overlay mounted; -1 for none */
} SandboxHeldFile;

void sandbox_held_file_init (SandboxHeldFile *self);

/* For @stream, which is being finalized: gives back what has not been. */
void sandbox_held_file_clear (SandboxHeldFile *self,
                              GObject         *stream);

/* Begins to hold something below @root, for @stream; see sandbox_workspace_hold (). Locked. */
gboolean sandbox_held_file_hold (SandboxHeldFile      *self,
                                 SandboxWorkspace     *workspace,
                                 SandboxWorkspaceRoot *root,
                                 const char           *path,
                                 GObject              *stream,
                                 void (*revoke) (GObject *stream),
                                 GError **error);

/* Unlocks, and with @ended closes the file and gives it back before. */
void sandbox_held_file_unlock (SandboxHeldFile *self,
                               GObject         *stream,
                               gboolean         ended);

/* For errno: STOPPED once it has been given back. Locked. */
void sandbox_held_file_set_error (SandboxHeldFile *self,
                                  const char      *what,
                                  GError         **error);

G_END_DECLS
