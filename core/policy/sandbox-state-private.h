/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-state.h"

G_BEGIN_DECLS

/* All are right; the last two may be NULL. */
SandboxState *sandbox_state_new (const char *backend,
                                 const char *session_id,
                                 const char *template_key,
                                 GVariant   *labels);

/* FALSE only for an object that was not made by a function of this library. */
gboolean sandbox_state_is_complete (SandboxState *self);

/* STATE_MISMATCH for the state of another backend than @backend. */
gboolean sandbox_state_check_backend (SandboxState *self,
                                      const char   *backend,
                                      GError      **error);

/* Whether both are of one session. Labels do not tell that. */
gboolean sandbox_state_equal (SandboxState *self,
                              SandboxState *other);

G_END_DECLS
