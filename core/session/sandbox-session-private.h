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

G_END_DECLS
