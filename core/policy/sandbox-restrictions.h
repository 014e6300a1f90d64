/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxRestrictions:
 * @SANDBOX_RESTRICTIONS_NONE: nothing
 * @SANDBOX_RESTRICTIONS_NETWORK_DENIED: commands reach no network, not even the loopback of the host
 * @SANDBOX_RESTRICTIONS_WRITE_CONTAINED: commands change nothing outside of the workspace
 * @SANDBOX_RESTRICTIONS_SECRETS_HIDDEN: commands see no files of the host beyond its programs and
 *   what these need to run; a mount of anything else, and the system view, end that
 * @SANDBOX_RESTRICTIONS_PROCESS_CONTAINED: commands see and signal no process outside, and none of
 *   theirs outlives the sandbox
 *
 * What a sandbox keeps from its commands.
 *
 * Since: 1.0
 */
typedef enum /*< flags >*/
{
  SANDBOX_RESTRICTIONS_NONE = 0,
  SANDBOX_RESTRICTIONS_NETWORK_DENIED = 1 << 0,
  SANDBOX_RESTRICTIONS_WRITE_CONTAINED = 1 << 1,
  SANDBOX_RESTRICTIONS_SECRETS_HIDDEN = 1 << 2,
  SANDBOX_RESTRICTIONS_PROCESS_CONTAINED = 1 << 3,
} SandboxRestrictions;

G_END_DECLS
