/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-error.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_REQUEST (sandbox_request_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxRequest, sandbox_request, SANDBOX, REQUEST, GObject)

SANDBOX_AVAILABLE_IN_1_0
void sandbox_request_return_done (SandboxRequest *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_request_return_bytes (SandboxRequest *self,
                                   GBytes         *bytes);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_request_return_object (SandboxRequest *self,
                                    GObject        *object);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_request_return_error (SandboxRequest *self,
                                   const GError   *error);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_request_return_failure (SandboxRequest *self,
                                     SandboxError    code,
                                     const char     *message);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_request_report_progress (SandboxRequest *self,
                                      guint64         bytes,
                                      guint64         files,
                                      guint64         skipped);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_request_is_cancelled (SandboxRequest *self);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_request_may_block (SandboxRequest *self);

G_END_DECLS
