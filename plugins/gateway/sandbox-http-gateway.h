/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

/* A gateway as the library sees it: every call becomes work of the service in the thread of the gateways. */
#define SANDBOX_HTTP_TYPE_GATEWAY (sandbox_http_gateway_get_type ())
G_DECLARE_FINAL_TYPE (SandboxHttpGateway, sandbox_http_gateway, SANDBOX_HTTP, GATEWAY, GObject)

void sandbox_http_gateway_register (GTypeModule *module);

G_END_DECLS
