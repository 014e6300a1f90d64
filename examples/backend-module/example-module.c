/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "example-backend.h"
#include "example-driver.h"

static GType
example_module_register (GTypeModule *module)
{
  example_driver_register (module);
  example_backend_register (module);

  return EXAMPLE_TYPE_BACKEND;
}

SANDBOX_MODULE_DEFINE ("example", example_module_register)
