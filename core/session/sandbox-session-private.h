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

/* A request for @answer about @path, with the path for the driver; or NULL when it has been refused. */
SandboxRequest *sandbox_session_begin (SandboxSession     *self,
                                       const char         *path,
                                       GType               answer,
                                       gpointer            source_tag,
                                       GCancellable       *cancellable,
                                       GAsyncReadyCallback callback,
                                       gpointer            user_data,
                                       char              **driver_path);

void sandbox_session_emit_progress (SandboxSession *self,
                                    const char     *path,
                                    guint64         bytes,
                                    guint64         files,
                                    guint64         skipped);

G_END_DECLS
