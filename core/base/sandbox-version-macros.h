/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib.h>

/**
 * SANDBOX_MAJOR_VERSION:
 *
 * The major version of the headers that a program is compiled against.
 *
 * Since: 1.0
 */
#define SANDBOX_MAJOR_VERSION (1)

/**
 * SANDBOX_MINOR_VERSION:
 *
 * The minor version of the headers that a program is compiled against.
 *
 * Since: 1.0
 */
#define SANDBOX_MINOR_VERSION (0)

/**
 * SANDBOX_MICRO_VERSION:
 *
 * The micro version of the headers that a program is compiled against.
 *
 * Since: 1.0
 */
#define SANDBOX_MICRO_VERSION (0)

/**
 * SANDBOX_ABI_VERSION:
 *
 * The number that a module must have been built for.
 *
 * It changes when a class or interface structure that modules fill in changes in a way that an
 * older module cannot follow. The loader refuses a module of another number.
 *
 * Since: 1.0
 */
#define SANDBOX_ABI_VERSION (1)

/* Visibility is set here, not by config.h: a file that forgets an include must not lose its exports. */
#define SANDBOX_EXTERN __attribute__ ((visibility ("default"))) extern

#define SANDBOX_AVAILABLE_IN_1_0 SANDBOX_EXTERN
