/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-core-private.h"
#include "sandbox-session.h"

G_BEGIN_DECLS

SandboxSession *sandbox_session_new_for_core (SandboxCore *core);
SandboxCore    *sandbox_session_get_core (SandboxSession *self);

/* The form of a path that drivers get: relative, canonical, UTF-8. */
char *sandbox_session_driver_path (SandboxCore *core,
                                   const char  *path,
                                   GError     **error);

/* A public call that is one function of the driver:
 *
 *   SandboxSessionCall call;
 *
 *   if (!sandbox_session_begin (self, &call, path, answer, source_tag, cancellable, callback, user_data))
 *     return; — the caller has been refused
 *
 *   call.taken = call.iface->foo (call.driver, call.path, …, call.request, &call.error);
 *   sandbox_session_dispatched (&call);
 *
 * Who refuses between the two sets the error and leaves the driver alone. */
typedef struct
{
  SandboxDriver          *driver;
  SandboxDriverInterface *iface;
  SandboxRequest         *request;
  char                   *path; /* as the driver gets it */
  gboolean                taken;
  GError                 *error;
} SandboxSessionCall;

gboolean sandbox_session_begin (SandboxSession     *self,
                                SandboxSessionCall *call,
                                const char         *path,
                                GType               answer,
                                gpointer            source_tag,
                                GCancellable       *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer            user_data);
void     sandbox_session_dispatched (SandboxSessionCall *call);

void sandbox_session_emit_progress (SandboxSession *self,
                                    const char     *path,
                                    guint64         bytes,
                                    guint64         files,
                                    guint64         skipped);

/* In threads of the host */
void sandbox_session_notify_gateway_path (SandboxSession *self);
void sandbox_session_emit_network_denied (SandboxSession *self,
                                          const char     *origin,
                                          const char     *reason);
void sandbox_session_emit_network_request (SandboxSession *self,
                                           const char     *method,
                                           const char     *origin,
                                           guint           status,
                                           guint64         request_bytes,
                                           guint64         response_bytes,
                                           guint64         time_us);

/* Whether anybody listens. */
gboolean sandbox_session_wants_network_denied (SandboxSession *self);
gboolean sandbox_session_wants_network_requests (SandboxSession *self);

G_END_DECLS
