/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-admission-private.h"
#include "sandbox-backend.h"

G_BEGIN_DECLS

SandboxAdmission *sandbox_backend_get_admission (SandboxBackend *self);

G_END_DECLS
