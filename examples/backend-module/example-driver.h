/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

#define EXAMPLE_TYPE_DRIVER (example_driver_get_type ())
G_DECLARE_FINAL_TYPE (ExampleDriver, example_driver, EXAMPLE, DRIVER, GObject)

void example_driver_register (GTypeModule *module);

/* Whether a policy, or NULL for none, is one that this driver can enforce. */
gboolean example_driver_check_network (SandboxNetworkPolicy *policy,
                                       GError              **error);

G_END_DECLS
