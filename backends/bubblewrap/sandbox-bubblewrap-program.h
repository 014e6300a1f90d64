/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

#include <spawn.h>

G_BEGIN_DECLS

/* A program that has been verified and is held open, so that this is what is executed whatever its path leads to by then.
 * All who use the same file share one descriptor, which is above every number that one gets in bwrap. */
typedef struct
{
  guint   n_users;
  guint64 device;
  guint64 inode;
  int     fd;
  char   *path; /* as whoever came first gave it */
} SandboxBubblewrapProgram;

/* Like sandbox_open_program (): it is opened and verified anew each time. May block. */
SandboxBubblewrapProgram *sandbox_bubblewrap_program_new (const char *path,
                                                          const char *what,
                                                          GError    **error);
void                      sandbox_bubblewrap_program_unref (SandboxBubblewrapProgram *self);

/* The agent by its descriptor, with no environment and no signal blocked or ignored. 0 or an errno. */
int sandbox_bubblewrap_program_spawn_agent (int                         agent_fd,
                                            posix_spawn_file_actions_t *actions,
                                            const char *const          *argv,
                                            pid_t                      *pid);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxBubblewrapProgram, sandbox_bubblewrap_program_unref)

G_END_DECLS
