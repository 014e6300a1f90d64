/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-driver.h"

G_BEGIN_DECLS

/* Whether the driver implements the optional function at this place of its interface, for example
 * sandbox_driver_implements (driver, G_STRUCT_OFFSET (SandboxDriverInterface, list)). */
gboolean sandbox_driver_implements (SandboxDriver *self,
                                    gsize          offset);

/* Closes a driver (not taken) that nobody wants any more, in this thread. */
void sandbox_driver_discard (SandboxDriver *self);

G_END_DECLS
