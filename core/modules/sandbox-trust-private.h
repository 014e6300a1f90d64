/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include <glib.h>

G_BEGIN_DECLS

/* Whom the loader believes. Code that is loaded has every right of the host, so nothing counts that
 * somebody else could have said or written. */

/* Whether the program has rights that its caller has not (setuid, setgid, file capabilities). */
gboolean sandbox_trust_is_secure (void);

/* What an environment variable says: NULL when it is empty, or when the program is @secure. */
const char *sandbox_trust_variable (const char *value,
                                    gboolean    secure);

/* The folders of a colon separated list, in order. */
char **sandbox_trust_split_path (const char *value);

gboolean sandbox_trust_directory (const char *path,
                                  GError    **error);

/* The canonical path of a regular file that is trusted, as the folder is that it is in; symbolic
 * links are followed. */
char *sandbox_trust_file (const char  *path,
                          struct stat *st,
                          GError     **error);

G_END_DECLS
