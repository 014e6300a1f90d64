/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-address.h"
#include "sandbox-http-body-stream.h"
#include "sandbox-http-gateway.h"

static GType
sandbox_http_module_register (GTypeModule *module)
{
  sandbox_http_address_register (module);
  sandbox_http_body_stream_register (module);
  sandbox_http_gateway_register (module);

  return SANDBOX_HTTP_TYPE_GATEWAY;
}

SANDBOX_MODULE_DEFINE ("http-gateway", sandbox_http_module_register)
