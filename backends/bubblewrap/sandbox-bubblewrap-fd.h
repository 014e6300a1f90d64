/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <unistd.h>

G_BEGIN_DECLS

/* What starts are made from lies above every number that one of them gets in bwrap. */
#define SANDBOX_BUBBLEWRAP_HIGH_FD 128

/* A descriptor that closes itself at the end of its block; modules do not see the library's own. */
typedef int SandboxBubblewrapFd;

static inline void
sandbox_bubblewrap_fd_close (int fd)
{
  if (fd >= 0)
    close (fd);
}

static inline void
sandbox_bubblewrap_fd_clear (int *fd)
{
  sandbox_bubblewrap_fd_close (g_steal_fd (fd));
}

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (SandboxBubblewrapFd, sandbox_bubblewrap_fd_close, -1)

G_END_DECLS
