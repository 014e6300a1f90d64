/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* What the kernel takes, each end included: one string, and all strings with their pointers. */
#define SANDBOX_MAX_ARGUMENT_BYTES (128 * 1024)
#define SANDBOX_MAX_ARGUMENTS_BYTES (2 * 1024 * 1024)

/* @base with @changes over it, one entry per variable, the last one. Both may be %NULL. */
char **sandbox_environment_merge (const char *const *base,
                                  const char *const *changes);

/* INVALID for an entry that is not NAME=value, LIMIT for sizes that execve () would refuse. */
gboolean sandbox_arguments_validate (const char *const *argv,
                                     const char *const *environment,
                                     GError           **error);

G_END_DECLS
