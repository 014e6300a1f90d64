/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-limits.h"
#include "sandbox-restrictions.h"
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_PROFILE (sandbox_profile_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxProfile, sandbox_profile, SANDBOX, PROFILE, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxProfile *sandbox_profile_new (void) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
const char *const *sandbox_profile_get_environment (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_environment (SandboxProfile    *self,
                                      const char *const *environment);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_profile_get_guest_uid (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_guest_uid (SandboxProfile *self,
                                    guint           guest_uid);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_profile_get_guest_gid (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_guest_gid (SandboxProfile *self,
                                    guint           guest_gid);

SANDBOX_AVAILABLE_IN_1_0
SandboxLimits *sandbox_profile_get_limits (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_limits (SandboxProfile *self,
                                 SandboxLimits  *limits);

SANDBOX_AVAILABLE_IN_1_0
SandboxRestrictions sandbox_profile_get_required (SandboxProfile *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_profile_set_required (SandboxProfile     *self,
                                   SandboxRestrictions required);

G_END_DECLS
