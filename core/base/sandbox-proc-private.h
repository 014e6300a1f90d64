/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* What a file of the kernel's says, @size - 1 bytes of it at the most, and a NUL. @directory_fd as in openat (). By errno. */
gboolean sandbox_proc_read (int         directory_fd,
                            const char *path,
                            char       *buffer,
                            gsize       size);

/* When a process started, in ticks since the machine did: with its number that is a name which nobody else has. By errno;
 * ESRCH for one that is dead, waited for or not. */
gboolean sandbox_proc_get_start (int      pid,
                                 guint64 *start);

G_END_DECLS
