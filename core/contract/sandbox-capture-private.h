/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Reads the output of a command to its end, on the worker, and keeps at most @max bytes of both
 * streams together. What comes after that is read and dropped, so that the command never blocks. */
typedef struct _SandboxCapture SandboxCapture;

typedef void (*SandboxCaptureFunc) (gpointer user_data);

/* @full is called once when there is more than @max, @drained once when both streams have ended; both
 * on the worker. @notify frees @user_data after that. */
SandboxCapture *sandbox_capture_new (GInputStream      *output,
                                     GInputStream      *errors,
                                     guint64            max,
                                     SandboxCaptureFunc full,
                                     SandboxCaptureFunc drained,
                                     gpointer           user_data,
                                     GDestroyNotify     notify);
/* Before it starts, in place of streams: pipes that nobody else reads, not blocking, which it closes. */
void sandbox_capture_take_pipes (SandboxCapture *self,
                                 int             pipes[2]);
void sandbox_capture_start (SandboxCapture *self);
void sandbox_capture_unref (SandboxCapture *self);

/* Ends the reading although a stream is still open. From any thread. */
void sandbox_capture_cut (SandboxCapture *self);

/* After @drained. */
GBytes *sandbox_capture_get_output (SandboxCapture *self);
GBytes *sandbox_capture_get_errors (SandboxCapture *self);
guint64 sandbox_capture_get_omitted (SandboxCapture *self);

G_END_DECLS
