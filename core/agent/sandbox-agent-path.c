/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-path.h"

#include "sandbox-fd-private.h"
#include "sandbox-program.h"

#include <sys/auxv.h>

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
  g_auto (SandboxFd) fd = -1;

  if (path == NULL || path[0] == '\0')
    path = SANDBOX_LIBEXECDIR "/sandbox-agent";

  fd = sandbox_open_program (path, "agent", error);

  return fd >= 0 ? g_strdup (path) : NULL;
}
