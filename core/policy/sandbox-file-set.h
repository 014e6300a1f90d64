/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SANDBOX_FILE_SET_MAX_ENTRIES:
 *
 * How many files, links and directories a set may have, those that stand only in paths included.
 *
 * Since: 1.0
 */
#define SANDBOX_FILE_SET_MAX_ENTRIES 65536

/**
 * SANDBOX_FILE_SET_MAX_BYTES:
 *
 * How many bytes the files of a set may have together: 2 GiB.
 *
 * Since: 1.0
 */
#define SANDBOX_FILE_SET_MAX_BYTES G_GUINT64_CONSTANT (2147483648)

/**
 * SANDBOX_FILE_SET_MAX_DEPTH:
 *
 * How many directories of a set may be in each other.
 *
 * Since: 1.0
 */
#define SANDBOX_FILE_SET_MAX_DEPTH 256

#define SANDBOX_TYPE_FILE_SET (sandbox_file_set_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxFileSet, sandbox_file_set, SANDBOX, FILE_SET, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxFileSet *sandbox_file_set_new (void) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
void sandbox_file_set_add (SandboxFileSet *self,
                           const char     *path,
                           GBytes         *bytes);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_file_set_add_file (SandboxFileSet *self,
                                    const char     *path,
                                    GFile          *file,
                                    GError        **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_file_set_add_directory (SandboxFileSet *self,
                                         const char     *path,
                                         GFile          *directory,
                                         GError        **error);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_file_set_get_n_files (SandboxFileSet *self);
SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_file_set_get_total_bytes (SandboxFileSet *self);

G_END_DECLS
