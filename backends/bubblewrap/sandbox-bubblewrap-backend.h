/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

#define SANDBOX_BUBBLEWRAP_TYPE_BACKEND (sandbox_bubblewrap_backend_get_type ())
G_DECLARE_FINAL_TYPE (SandboxBubblewrapBackend, sandbox_bubblewrap_backend, SANDBOX_BUBBLEWRAP, BACKEND, SandboxBackend)

void sandbox_bubblewrap_backend_register (GTypeModule *module);

G_END_DECLS
