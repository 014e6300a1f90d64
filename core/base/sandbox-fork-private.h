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
 * Between lock and unlock no fork comes; what is done there must be short, and must not fork. */
void sandbox_fork_lock (void);
void sandbox_fork_unlock (void);

/* Locked; nothing for -1. The place must stay where it is. */
void sandbox_fork_watch (int *fd);

/* Not locked. Keeps errno. */
void sandbox_fork_close (int *fd);

/* Ends the watching, of a descriptor that goes elsewhere. Locked. */
int sandbox_fork_steal (int *fd);

G_END_DECLS
