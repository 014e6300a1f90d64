/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-http-service.h"

G_BEGIN_DECLS

/* Serves one connection of a guest, which came in at @door, until it is closed. @socket is its own then. */
SandboxHttpConnection *sandbox_http_connection_new (SandboxHttpService *service,
                                                    GSocket            *door,
                                                    GSocket            *socket);
void                   sandbox_http_connection_unref (SandboxHttpConnection *self);

GSocket *sandbox_http_connection_get_door (SandboxHttpConnection *self);

/* Whether an origin has been asked, or is answering. */
gboolean sandbox_http_connection_is_busy (SandboxHttpConnection *self);

/* Since when it is waited for; monotonic. */
gint64 sandbox_http_connection_get_since (SandboxHttpConnection *self);

/* At once, whatever is under way. */
void sandbox_http_connection_close (SandboxHttpConnection *self);

G_END_DECLS
