/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-error-private.h"

#include <errno.h>

/**
 * sandbox_error_quark:
 *
 * The domain of the errors of this library.
 *
 * Returns: the error domain
 * Since: 1.0
 */
/* clang-format off */
G_DEFINE_QUARK (sandbox-error-quark, sandbox_error)
/* clang-format on */

SandboxError
sandbox_error_from_errno (int errsv)
{
  switch (errsv)
    {
    case ENOENT:
      return SANDBOX_ERROR_NOT_FOUND;

    case EEXIST:
    case ENOTEMPTY:
      return SANDBOX_ERROR_EXISTS;

    case EACCES:
    case EPERM:
      return SANDBOX_ERROR_DENIED;

    case ELOOP:
    case EXDEV:
    case ENOTDIR:
    case ENAMETOOLONG:
      return SANDBOX_ERROR_PATH;

    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case E2BIG:
      return SANDBOX_ERROR_LIMIT;

    case EISDIR:
    case EINVAL:
      return SANDBOX_ERROR_INVALID;

    default:
      return SANDBOX_ERROR_FAILED;
    }
}

void
sandbox_set_error_from_errno (GError    **error,
                              int         errsv,
                              const char *format,
                              ...)
{
  g_autofree char *prefix = NULL;
  va_list          args;

  va_start (args, format);
  prefix = g_strdup_vprintf (format, args);
  va_end (args);

  g_set_error (error, SANDBOX_ERROR, (int) sandbox_error_from_errno (errsv),
               "%s: %s", prefix, g_strerror (errsv));
}

GError *
sandbox_error_new_cancelled (void)
{
  return g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "Operation was cancelled");
}
