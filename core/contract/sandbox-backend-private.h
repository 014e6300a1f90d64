/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-admission-private.h"
#include "sandbox-backend.h"
#include "sandbox-gateway.h"

G_BEGIN_DECLS

/* STOPPED in a forked child: every call of a backend comes by here first. */
gboolean sandbox_backend_check_own (SandboxBackend *self,
                                    GError        **error);

SandboxAdmission *sandbox_backend_get_admission (SandboxBackend *self);

/* Asks the backend; NOT_SUPPORTED when nothing is kept for it, and @what would have to be. Without a @what that is no
 * error. */
gboolean sandbox_backend_check_storage (SandboxBackend *self,
                                        const char     *what,
                                        guint          *uid,
                                        guint          *gid,
                                        GError        **error);

/* Where gateways for the sessions of a backend come from: set once by whoever made the object, before anybody else has
 * it. @func makes a new one at each call, in any thread, and may block to load it. */
typedef SandboxGateway *(*SandboxGatewayFunc) (gpointer data,
                                               GError **error);

void sandbox_backend_set_gateway_func (SandboxBackend    *self,
                                       SandboxGatewayFunc func,
                                       gpointer           data,
                                       GDestroyNotify     notify);

/* NETWORK_DENIED when there is none, MODULE when it is broken. May block. */
SandboxGateway *sandbox_backend_make_gateway (SandboxBackend *self,
                                              GError        **error);

/* Whether anybody listens. */
gboolean sandbox_backend_wants_gateway_errors (SandboxBackend *self);

void sandbox_backend_emit_gateway_error (SandboxBackend *self,
                                         const GError   *error);

/* In the context of the call. */
void sandbox_backend_emit_prewarm_progress (SandboxBackend *self,
                                            const char     *name,
                                            guint64         bytes,
                                            guint64         files);

G_END_DECLS
