/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* The body of a request on its way from a guest: what is put in at one end is read at the other. One thread, one reader, only
 * asynchronous reads. */
#define SANDBOX_HTTP_TYPE_BODY_STREAM (sandbox_http_body_stream_get_type ())
G_DECLARE_FINAL_TYPE (SandboxHttpBodyStream, sandbox_http_body_stream, SANDBOX_HTTP, BODY_STREAM, GInputStream)

/* It wants more: called when its reader has taken all there was. */
typedef void (*SandboxHttpBodyStreamFunc) (gpointer data);

void sandbox_http_body_stream_register (GTypeModule *module);

SandboxHttpBodyStream *sandbox_http_body_stream_new (void);

/* From when on @func is called; with NULL it is no longer. */
void sandbox_http_body_stream_set_func (SandboxHttpBodyStream    *self,
                                        SandboxHttpBodyStreamFunc func,
                                        gpointer                  data);

void sandbox_http_body_stream_push (SandboxHttpBodyStream *self,
                                    const char            *bytes,
                                    gsize                  size);

/* There is nothing more to come: the end, or with @error (taken) no end. */
void sandbox_http_body_stream_finish (SandboxHttpBodyStream *self,
                                      GError                *error);

G_END_DECLS
