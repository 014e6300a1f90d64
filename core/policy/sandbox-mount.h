/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxMountMode:
 * @SANDBOX_MOUNT_MODE_READ_ONLY: commands can read it
 * @SANDBOX_MOUNT_MODE_READ_WRITE: commands can change it, and the host sees the changes
 * @SANDBOX_MOUNT_MODE_MASK: what would be there is hidden: a directory is empty, a file cannot be read
 *
 * What commands can do with a mount.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_MOUNT_MODE_READ_ONLY,
  SANDBOX_MOUNT_MODE_READ_WRITE,
  SANDBOX_MOUNT_MODE_MASK,
} SandboxMountMode;

#define SANDBOX_TYPE_MOUNT (sandbox_mount_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxMount, sandbox_mount, SANDBOX, MOUNT, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxMount *sandbox_mount_new (const char      *source,
                                 const char      *target,
                                 SandboxMountMode mode) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_mount_get_source (SandboxMount *self);
SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_mount_get_target (SandboxMount *self);
SANDBOX_AVAILABLE_IN_1_0
SandboxMountMode sandbox_mount_get_mode (SandboxMount *self);

G_END_DECLS
