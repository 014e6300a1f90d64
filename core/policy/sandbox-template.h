/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_TEMPLATE (sandbox_template_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxTemplate, sandbox_template, SANDBOX, TEMPLATE, GObject)

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_template_get_key (SandboxTemplate *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_template_get_name (SandboxTemplate *self);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_template_get_reused (SandboxTemplate *self);

G_END_DECLS
