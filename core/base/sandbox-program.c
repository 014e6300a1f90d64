/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-program.h"

#include "sandbox-error.h"
#include "sandbox-fd-private.h"
#include "sandbox-file-trust-private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/**
 * sandbox_open_program:
 * @path: (type filename): the program
 * @what: what it is called in an error, such as `program bwrap`
 * @error: return location for an error
 *
 * Opens a program that is about to get the host's trust.
 *
 * It has to be named by an absolute path, and to be an executable file that nobody can change but root and
 * the user of this process. A backend executes the descriptor, so that what runs is what was looked at,
 * whatever the path leads to by then.
 *
 * In a user namespace that does not have the owner, such as a container's, the file has to be on a mount
 * that is read-only.
 *
 * Fails with %SANDBOX_ERROR_UNAVAILABLE.
 *
 * Returns: a descriptor that is closed on exec, or -1
 *
 * Since: 1.0
 */
int
sandbox_open_program (const char *path,
                      const char *what,
                      GError    **error)
{
  g_auto (SandboxFd) fd = -1;
  g_autofree char *display = NULL;
  g_autofree char *opened = NULL;
  const char      *reason = NULL;
  struct stat      info;

  g_return_val_if_fail (path != NULL, -1);
  g_return_val_if_fail (what != NULL, -1);

  if (!g_path_is_absolute (path))
    reason = "it is not given by an absolute path";
  else if ((fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) < 0 || fstat (fd, &info) < 0)
    reason = g_strerror (errno);
  else if (!S_ISREG (info.st_mode) || (info.st_mode & 0111) == 0)
    reason = "it is not an executable file";
  else
    {
      opened = g_strdup_printf ("/proc/self/fd/%d", fd);
      reason = sandbox_file_trust_refuse (opened, &info, geteuid ());
    }
  if (reason == NULL)
    return g_steal_fd (&fd);

  display = g_filename_display_name (path);
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE, "The %s “%s” cannot be used: %s", what, display, reason);

  return -1;
}
