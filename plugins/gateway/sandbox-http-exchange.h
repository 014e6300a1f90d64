/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-http-body-stream.h"
#include "sandbox-http-reader.h"
#include "sandbox-http-rules.h"

G_BEGIN_DECLS

/* One request to an origin, and its answer. In the thread of the gateways. */
typedef struct _SandboxHttpExchange SandboxHttpExchange;

/* The head of the answer is there, or with @error there is none. */
typedef void (*SandboxHttpExchangeFunc) (SandboxHttpExchange *self,
                                         const GError        *error,
                                         gpointer             data);

/* What of @head may be said is in it afterwards. @released is called when nothing of it is left, after the last reference is gone. */
SandboxHttpExchange *sandbox_http_exchange_new (SandboxHttpRules      *rules,
                                                SandboxHttpOrigin     *origin,
                                                const SandboxHttpHead *head,
                                                GDestroyNotify         released,
                                                gpointer               data);
void                 sandbox_http_exchange_unref (SandboxHttpExchange *self);

const char *sandbox_http_exchange_get_method (SandboxHttpExchange *self);
const char *sandbox_http_exchange_get_origin (SandboxHttpExchange *self);

/* The one that it was judged by. */
SandboxNetworkPolicy *sandbox_http_exchange_get_policy (SandboxHttpExchange *self);

/* The body of the request: the whole, or as it comes. @length: -1 unless the guest has said it. */
void sandbox_http_exchange_set_bytes (SandboxHttpExchange *self,
                                      GBytes              *bytes);
void sandbox_http_exchange_set_stream (SandboxHttpExchange   *self,
                                       SandboxHttpBodyStream *stream,
                                       gint64                 length);

/* @func is called once, unless it is cancelled before. */
void sandbox_http_exchange_send (SandboxHttpExchange    *self,
                                 SandboxHttpExchangeFunc func,
                                 gpointer                data);

/* Lets go of the origin at once. @func is not called any more. */
void sandbox_http_exchange_cancel (SandboxHttpExchange *self);

/* Of the answer, once there: */
guint sandbox_http_exchange_get_status (SandboxHttpExchange *self);

/* How many bytes its body has; -1 when nobody has said. */
gint64 sandbox_http_exchange_get_length (SandboxHttpExchange *self);

/* Whether its body ends with the connection. */
gboolean sandbox_http_exchange_is_unframed (SandboxHttpExchange *self);

/* Those of its headers that guests may see, as lines. */
void sandbox_http_exchange_append_headers (SandboxHttpExchange *self,
                                           GString             *lines);

/* Bytes of its body, if there are some now; 0: its end, and it is whole. */
gssize sandbox_http_exchange_read (SandboxHttpExchange *self,
                                   char                *buffer,
                                   gsize                size,
                                   GError             **error);

/* For when it may be read on. */
GSource *sandbox_http_exchange_create_source (SandboxHttpExchange *self);

/* The body was read to its end: the connection to the origin is free for others. */
void sandbox_http_exchange_finish (SandboxHttpExchange *self);

G_END_DECLS
