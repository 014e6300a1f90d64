/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include "sandbox-workspace-private.h"

G_BEGIN_DECLS

/* Streams over one regular file of a workspace, however large. What blocks is the disk: their asynchronous
 * calls go to a thread, as GIO does for every stream that cannot be polled. */

#define SANDBOX_TYPE_FILE_INPUT_STREAM (sandbox_file_input_stream_get_type ())
G_DECLARE_FINAL_TYPE (SandboxFileInputStream, sandbox_file_input_stream, SANDBOX, FILE_INPUT_STREAM, GInputStream)

#define SANDBOX_TYPE_FILE_OUTPUT_STREAM (sandbox_file_output_stream_get_type ())
G_DECLARE_FINAL_TYPE (SandboxFileOutputStream, sandbox_file_output_stream, SANDBOX, FILE_OUTPUT_STREAM, GOutputStream)

/* @path is decoded, and below @root. The caller works as the owner of the workspace. */
GInputStream *sandbox_file_input_stream_new (SandboxWorkspace     *workspace,
                                             SandboxWorkspaceRoot *root,
                                             const char           *path,
                                             GError              **error);

/* Writes aside. The file takes its place when the stream is closed, if every write went well; it vanishes
 * when the stream is closed with a cancelled cancellable, after an error, or not at all. */
GOutputStream *sandbox_file_output_stream_new (SandboxWorkspace     *workspace,
                                               SandboxWorkspaceRoot *root,
                                               const char           *path,
                                               GError              **error);

G_END_DECLS
