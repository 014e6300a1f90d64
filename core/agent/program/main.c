/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sandbox-agent launch PARENT_PID UID GID EXEC_FD KEEP ARGV0 [ARG...]   on the host, before bwrap
 * sandbox-agent init FD                                                 process 1 of a sandbox
 * sandbox-agent probe                                                   what the kernel lets this user do
 */
#include "agent.h"

#include <string.h>

int
main (int    argc,
      char **argv)
{
  if (argc > 1 && strcmp (argv[1], "launch") == 0)
    agent_launch (argc - 2, argv + 2);
  if (argc > 1 && strcmp (argv[1], "init") == 0)
    agent_init (argc - 2, argv + 2);
  if (argc > 1 && strcmp (argv[1], "probe") == 0)
    agent_probe (argc - 2);
  return AGENT_EXIT_FAILURE;
}
