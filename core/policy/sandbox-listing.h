/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SANDBOX_LISTING_MAX_ENTRIES:
 *
 * How many entries of a directory a session asks its driver for.
 *
 * Since: 1.0
 */
#define SANDBOX_LISTING_MAX_ENTRIES 100000

#define SANDBOX_TYPE_LISTING (sandbox_listing_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxListing, sandbox_listing, SANDBOX, LISTING, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxListing *sandbox_listing_new (void) G_GNUC_WARN_UNUSED_RESULT;
SANDBOX_AVAILABLE_IN_1_0
void sandbox_listing_add (SandboxListing *self,
                          GFileInfo      *info);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_listing_get_truncated (SandboxListing *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_listing_set_truncated (SandboxListing *self,
                                    gboolean        truncated);

G_END_DECLS
