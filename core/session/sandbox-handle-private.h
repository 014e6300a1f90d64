/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-core-private.h"
#include "sandbox-handle.h"

G_BEGIN_DECLS

SandboxHandle *sandbox_handle_new_for_core (SandboxCore *core);

G_END_DECLS
