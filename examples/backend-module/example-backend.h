/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

#define EXAMPLE_TYPE_BACKEND (example_backend_get_type ())
G_DECLARE_FINAL_TYPE (ExampleBackend, example_backend, EXAMPLE, BACKEND, SandboxBackend)

void example_backend_register (GTypeModule *module);

G_END_DECLS
