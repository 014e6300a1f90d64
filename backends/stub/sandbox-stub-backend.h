/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

#define SANDBOX_TYPE_STUB_BACKEND (sandbox_stub_backend_get_type ())
G_DECLARE_FINAL_TYPE (SandboxStubBackend, sandbox_stub_backend, SANDBOX, STUB_BACKEND, SandboxBackend)

void sandbox_stub_backend_register (GTypeModule *module);

G_END_DECLS
