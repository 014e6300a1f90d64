/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-http-rules.h"

G_BEGIN_DECLS

/* What serves one session: its doors, the connections that came in at them, and the rules that are in force. In the thread of the
 * gateways, all of it but for _new (), _ref () and _unref (). */
typedef struct _SandboxHttpService SandboxHttpService;

/* What it has to say is emitted by @gateway as long as that is there. */
SandboxHttpService *sandbox_http_service_new (SandboxGateway *gateway);
SandboxHttpService *sandbox_http_service_ref (SandboxHttpService *self);
void                sandbox_http_service_unref (SandboxHttpService *self);

/* Of the thread of all gateways of this process, which begins with the first one and stays. */
GMainContext *sandbox_http_service_get_context (SandboxHttpService *self);

/* In place of the rules before; NULL lets nothing through. What is under way under those is aborted. */
void sandbox_http_service_set_rules (SandboxHttpService *self,
                                     SandboxHttpRules   *rules);

void sandbox_http_service_add_door (SandboxHttpService *self,
                                    GSocket            *door);
void sandbox_http_service_remove_door (SandboxHttpService *self,
                                       GSocket            *door);

/* Closes everything; @request, which may be NULL, is answered when nothing is left. */
void sandbox_http_service_close (SandboxHttpService *self,
                                 SandboxRequest     *request);

/* ---- For its connections ---- */

SandboxHttpRules *sandbox_http_service_get_rules (SandboxHttpService *self);

/* Room for one more request; each one taken is given back by _release (). */
gboolean sandbox_http_service_has_room (SandboxHttpService *self);
void     sandbox_http_service_take (SandboxHttpService *self);
void     sandbox_http_service_release (SandboxHttpService *self);

/* Exchanges that live, those that are being cancelled too: what is closed waits for them. */
void sandbox_http_service_hold (SandboxHttpService *self);
void sandbox_http_service_unhold (gpointer self);

typedef struct _SandboxHttpConnection SandboxHttpConnection;

/* It has been closed. */
void sandbox_http_service_forget (SandboxHttpService    *self,
                                  SandboxHttpConnection *connection);

void sandbox_http_service_emit_answered (SandboxHttpService *self,
                                         const char         *method,
                                         const char         *origin,
                                         guint               status,
                                         guint64             request_bytes,
                                         guint64             response_bytes,
                                         guint64             time_us);
void sandbox_http_service_emit_denied (SandboxHttpService *self,
                                       const char         *origin,
                                       const char         *reason);
void sandbox_http_service_emit_failed (SandboxHttpService *self,
                                       const GError       *error);

G_END_DECLS
