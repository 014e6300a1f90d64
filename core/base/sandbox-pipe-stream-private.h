/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gunixoutputstream.h>

G_BEGIN_DECLS

/* An output stream over a pipe whose writes give an error, and never SIGPIPE, when nobody reads any more:
 * the disposition of that signal belongs to the host. */
#define SANDBOX_TYPE_PIPE_STREAM (sandbox_pipe_stream_get_type ())
G_DECLARE_FINAL_TYPE (SandboxPipeStream, sandbox_pipe_stream, SANDBOX, PIPE_STREAM, GUnixOutputStream)

GOutputStream *sandbox_pipe_stream_new_take_fd (int fd);

G_END_DECLS
