/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

/* Whether a backend or a gateway, which is what @kind says, can be made of @type: a concrete class below SandboxBackend,
 * or one that implements SandboxGateway. */
gboolean sandbox_library_type_is_a (GType type,
                                    GType kind);

/* Loads the module at @path, once in the process and for ever, and gets the type that it makes, which is of @kind:
 * SANDBOX_TYPE_BACKEND or SANDBOX_TYPE_GATEWAY; G_TYPE_INVALID with SANDBOX_ERROR_MODULE. Any thread. */
GType sandbox_library_load (const char *path,
                            const char *name,
                            GType       kind,
                            GError    **error);

G_END_DECLS
