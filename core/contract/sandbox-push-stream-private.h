/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* More than this in the queue means that nobody reads: what a guest can make grow has a bound. */
#define SANDBOX_PUSH_STREAM_MAX (16 * 1024 * 1024)

/* An input stream that is fed from any thread: for drivers that have no descriptor to hand out. */
#define SANDBOX_TYPE_PUSH_STREAM (sandbox_push_stream_get_type ())
G_DECLARE_FINAL_TYPE (SandboxPushStream, sandbox_push_stream, SANDBOX, PUSH_STREAM, GInputStream)

/* Of a command made in this generation; see sandbox-fork-private.h. */
SandboxPushStream *sandbox_push_stream_new (guint generation);

typedef enum
{
  SANDBOX_PUSH_TAKEN,
  SANDBOX_PUSH_UNWANTED, /* the reader has closed, or the end has been pushed */
  SANDBOX_PUSH_FULL,
} SandboxPush;

SandboxPush sandbox_push_stream_push (SandboxPushStream *self,
                                      GBytes            *bytes);

/* After what is queued comes the end. */
void sandbox_push_stream_end (SandboxPushStream *self);

G_END_DECLS
