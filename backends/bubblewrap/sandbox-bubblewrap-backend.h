/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

#define SANDBOX_BUBBLEWRAP_TYPE_BACKEND (sandbox_bubblewrap_backend_get_type ())
G_DECLARE_FINAL_TYPE (SandboxBubblewrapBackend, sandbox_bubblewrap_backend, SANDBOX_BUBBLEWRAP, BACKEND, SandboxBackend)

void sandbox_bubblewrap_backend_register (GTypeModule *module);

/* Where sandboxes get control groups, or NULL when there is no such place; and what to report of it. Looks for it the
 * first time, which may block for some milliseconds. */
SandboxControlGroup *sandbox_bubblewrap_backend_ref_control_group (SandboxBubblewrapBackend *self,
                                                                   SandboxReportStep       **step);

G_END_DECLS
