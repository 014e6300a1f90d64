/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Descriptors that keep something alive or locked for as long as anybody has them. A host that forks, and goes on in
 * the child without an exec, would give the child all of them. So the child closes the ones that are watched, before
 * fork () returns there, and their places hold -1.
 *
 *   sandbox_fork_lock ();
 *   self->fd = open (…);
 *   sandbox_fork_watch (&self->fd);
 *   sandbox_fork_unlock ();
 *   …
 *   sandbox_fork_close (&self->fd);
 *
 * Between lock and unlock no fork comes; what is done there must be short, and must not fork. No fork comes either
 * while the worker runs something: it needs the lock for the watching alone. */
void sandbox_fork_lock (void);
void sandbox_fork_unlock (void);

/* Locked; nothing for -1. The place must stay where it is. */
void sandbox_fork_watch (int *fd);

/* Locked; for a descriptor that something else closes, such as a stream. In the child its number is then that of
 * something which can be neither read nor written. It may have been closed before; the watching ends with
 * sandbox_fork_forget (), not locked, of everything of @owner. */
void sandbox_fork_cover (gpointer owner,
                         int      fd);
void sandbox_fork_forget (gpointer owner);

/* Not locked. Keeps errno. */
void sandbox_fork_close (int *fd);

/* Ends the watching, of a descriptor that goes elsewhere. Locked. */
int sandbox_fork_steal (int *fd);

/* A number that is another one in a forked child. What has to do with threads of the library, or speaks for something
 * outside of the process, keeps the number of when it was made, and in a child is left alone: */
guint    sandbox_fork_get_generation (void);
gboolean sandbox_fork_is_past (guint generation);

/* Fails with STOPPED for what was made before the fork; @what is what it is, as "session". Takes no lock. */
gboolean sandbox_fork_check (guint       generation,
                             const char *what,
                             GError    **error);

G_END_DECLS
