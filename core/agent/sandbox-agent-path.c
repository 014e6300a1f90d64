/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-path.h"

#include "sandbox-error.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/**
 * sandbox_get_agent_path:
 * @error: return location for an error
 *
 * Gets the path of the agent, the small static program that is process 1 of a sandbox.
 *
 * It is the installed one, or `SANDBOX_AGENT_PATH` unless the program runs with raised privileges.
 *
 * Fails with %SANDBOX_ERROR_UNAVAILABLE when it is missing, is no absolute path of an executable file, or
 * could have been changed by somebody else.
 *
 * Returns: (transfer full) (type filename): an absolute path
 *
 * Since: 1.0
 */
char *
sandbox_get_agent_path (GError **error)
{
  const char *path = getauxval (AT_SECURE) == 0 ? g_getenv ("SANDBOX_AGENT_PATH") : NULL;
  struct stat info;

  if (path == NULL || path[0] == '\0')
    path = SANDBOX_LIBEXECDIR "/sandbox-agent";

  if (!g_path_is_absolute (path))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The agent “%s” is not given by an absolute path", path);
  else if (stat (path, &info) < 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The agent “%s” cannot be used: %s", path, g_strerror (errno));
  else if (!S_ISREG (info.st_mode) || (info.st_mode & 0111) == 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The agent “%s” is not an executable file", path);
  else if ((info.st_uid != 0 && info.st_uid != geteuid ()) || (info.st_mode & 0022) != 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The agent “%s” could be changed by others", path);
  else
    return g_strdup (path);

  return NULL;
}
