/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include <glib.h>

G_BEGIN_DECLS

/* Who could change a file or folder that the host is about to believe. @path is where it is found (or
 * `/proc/self/fd/N`), @st what it is, @user the host's. */

/* Whether it belongs to somebody else than root and @user. */
gboolean sandbox_file_trust_is_foreign (const char        *path,
                                        const struct stat *st,
                                        uid_t              user);

/* NULL, or why it is not believed: its owner, or others who can write to it. */
const char *sandbox_file_trust_refuse (const char        *path,
                                       const struct stat *st,
                                       uid_t              user);

G_END_DECLS
