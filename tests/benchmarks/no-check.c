/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of check.c of the agent: without layers it would find that nothing is refused, and there would be no session to
 * measure. Never installed. */
#include "agent.h"

#include <unistd.h>

#define ANSWER "none 1 1\nend 0 0\n"

void
agent_check (int    argc,
             char **argv)
{
  (void) argc;
  (void) argv;
  _exit (write (STDOUT_FILENO, ANSWER, sizeof ANSWER - 1) < 0);
}
