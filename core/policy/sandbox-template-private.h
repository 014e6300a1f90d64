/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-template.h"

G_BEGIN_DECLS

SandboxTemplate *sandbox_template_new (const char *key,
                                       const char *name,
                                       gboolean    reused);

G_END_DECLS
