/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sandbox-agent launch PARENT_PID UID GID EXEC_FD KEEP GROUP_FD ARGV0 [ARG...]   on the host, before bwrap
 * sandbox-agent init FD                                                          process 1 of a sandbox
 * sandbox-agent probe                                                            what the kernel lets this user do
 * sandbox-agent check FILTER set-id|any                                          a command: tries all that its filter refuses
 * sandbox-agent version                                                          the version of the protocol; proves that a program runs
 */
#include "agent.h"

#include <string.h>
#include <unistd.h>

#define STRINGIFY(value) #value
#define VERSION_LINE(value) STRINGIFY (value) "\n"
#define AGENT_VERSION_LINE VERSION_LINE (SANDBOX_AGENT_VERSION)

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
  if (argc > 1 && strcmp (argv[1], "check") == 0)
    agent_check (argc - 2, argv + 2);
  if (argc == 2 && strcmp (argv[1], "version") == 0)
    return write (STDOUT_FILENO, AGENT_VERSION_LINE, sizeof AGENT_VERSION_LINE - 1) < 0;
  return AGENT_EXIT_FAILURE;
}
