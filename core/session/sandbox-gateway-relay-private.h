/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-backend.h"
#include "sandbox-gateway.h"
#include "sandbox-session.h"
#include "sandbox-sync-private.h"

G_BEGIN_DECLS

/* Brings what a gateway tells, in threads of its own, to the signals of the session and the backend, in threads of the
 * host. Guests decide how much that is: what nobody listens for goes no further, and the rest is
 * bounded, each kind by itself; how much was left out is told as well. */
typedef struct _SandboxGatewayRelay SandboxGatewayRelay;

/* Listens to @gateway from now on. */
SandboxGatewayRelay *sandbox_gateway_relay_new (SandboxGateway    *gateway,
                                                SandboxDispatcher *dispatcher);
void                 sandbox_gateway_relay_unref (gpointer relay);

/* Where it goes: neither is kept alive, and whoever goes away says so before. */
void sandbox_gateway_relay_set_session (SandboxGatewayRelay *self,
                                        SandboxSession      *session);
void sandbox_gateway_relay_set_backend (SandboxGatewayRelay *self,
                                        SandboxBackend      *backend);

/* Nothing goes anywhere any more, whatever the gateway tells. */
void sandbox_gateway_relay_close (SandboxGatewayRelay *self);

G_END_DECLS
