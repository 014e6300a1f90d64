/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The one place that decides which paths the workspace has: for files, working directories, templates
 * and tools.
 *
 * A path is relative to the workspace, or @workspace_target (which is the place of the workspace in the
 * guest, absolute), or below it; "." is the workspace. Bytes that are not UTF-8, and backslashes, are
 * written \xHH with lower-case digits; that is their only form, and other backslashes are refused.
 *
 * Returns the bytes of the path relative to the workspace, "." for itself; SANDBOX_ERROR_PATH with the
 * reason for anything else. */
char *sandbox_path_resolve (const char *path,
                            const char *workspace_target,
                            GError    **error);

/* For other places than the workspace. NULL for an absolute path in its only spelling, which is not "/";
 * else the words that follow "The path …". */
const char *sandbox_path_check_absolute (const char *path);

/* Whether @path is @directory or below; both are right for sandbox_path_check_absolute (). */
gboolean sandbox_path_is_within (const char *path,
                                 const char *directory);

/* Whether a link in the directory @directory of a tree ("." for its top) leads to some place in that tree, as its
 * @target is written. */
gboolean sandbox_path_link_stays_inside (const char *directory,
                                         const char *target);

/* The way back: what resolves to these bytes. Bytes that make no path of the workspace stay none. */
char *sandbox_path_escape (const char *bytes);

/* A path, or what was given as one, for an error message: short, and nothing in it that a terminal or a
 * log would take for more than text. */
char *sandbox_path_display (const char *path);

G_END_DECLS
