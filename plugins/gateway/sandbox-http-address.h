/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Whether @address is one of the internet: not of this machine, of a private network, or of a use of its own. */
gboolean sandbox_http_address_is_public (GInetAddress *address);

/* The name and port of an origin, as what a client connects to and checks a certificate against. Each address is looked at
 * when it is found, and only what is handed out is dialled: an answer that changes afterwards changes nothing. */
#define SANDBOX_HTTP_TYPE_ADDRESS (sandbox_http_address_get_type ())
G_DECLARE_FINAL_TYPE (SandboxHttpAddress, sandbox_http_address, SANDBOX_HTTP, ADDRESS, GNetworkAddress)

void sandbox_http_address_register (GTypeModule *module);

/* With @any_address it may lead anywhere; so may a @host that is an address itself. */
GSocketConnectable *sandbox_http_address_new (const char *host,
                                              guint16     port,
                                              gboolean    any_address);

G_END_DECLS
