/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib.h>

/**
 * SANDBOX_WORKSPACE_PATH:
 *
 * Where commands find the workspace of their session.
 *
 * Since: 1.0
 */
#define SANDBOX_WORKSPACE_PATH "/workspace"
