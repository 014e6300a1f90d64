/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* A descriptor that closes itself at the end of its block; -1 is none, and g_steal_fd () hands it
 * on. GLib has this from 2.76 only, and a backport under GLib's name would clash there. */
typedef int SandboxFd;

/* Closes @fd unless it is -1; errno survives. */
void sandbox_close_fd (int fd);

/* The same, and leaves -1 behind. */
void sandbox_clear_fd (int *fd);

/* A sealed memfd with these bytes, at offset 0; -1 with errno set. Never blocks on a guest. */
int sandbox_fd_new_sealed (const char   *name,
                           gconstpointer data,
                           gsize         size);

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (SandboxFd, sandbox_close_fd, -1)

G_END_DECLS
