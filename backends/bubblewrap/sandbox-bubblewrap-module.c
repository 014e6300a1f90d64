/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-backend.h"
#include "sandbox-bubblewrap-driver.h"

static GType
sandbox_bubblewrap_module_register (GTypeModule *module)
{
  sandbox_bubblewrap_driver_register (module);
  sandbox_bubblewrap_backend_register (module);

  return SANDBOX_BUBBLEWRAP_TYPE_BACKEND;
}

SANDBOX_MODULE_DEFINE ("bubblewrap", sandbox_bubblewrap_module_register)
