/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

/* Whether a backend can be made of @type: a concrete class below SandboxBackend. */
gboolean sandbox_library_type_is_backend (GType type);

/* Loads the module at @path, once in the process and for ever, and gets its backend's type;
 * G_TYPE_INVALID with SANDBOX_ERROR_MODULE. Any thread. */
GType sandbox_library_load_backend (const char *path,
                                    const char *name,
                                    GError    **error);

G_END_DECLS
