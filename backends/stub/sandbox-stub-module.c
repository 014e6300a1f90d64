/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-stub-backend.h"

static GType
sandbox_stub_module_register (GTypeModule *module)
{
  sandbox_stub_backend_register (module);

  return SANDBOX_TYPE_STUB_BACKEND;
}

SANDBOX_MODULE_DEFINE ("stub", sandbox_stub_module_register)
