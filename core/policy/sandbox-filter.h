/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxFilter:
 * @SANDBOX_FILTER_DEFAULT: all but the calls that no ordinary program needs, and that have let sandboxes be left
 * @SANDBOX_FILTER_STRICT: only the calls that ordinary programs are made of
 * @SANDBOX_FILTER_DEBUGGER: like %SANDBOX_FILTER_DEFAULT, but commands can trace each other, as `gdb` and `strace` do
 *
 * Which system calls commands can make.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_FILTER_DEFAULT,
  SANDBOX_FILTER_STRICT,
  SANDBOX_FILTER_DEBUGGER,
} SandboxFilter;

G_END_DECLS
