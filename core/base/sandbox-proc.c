/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-proc-private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sandbox-fd-private.h"

gboolean
sandbox_proc_read (int         directory_fd,
                   const char *path,
                   char       *buffer,
                   gsize       size)
{
  g_auto (SandboxFd) fd = openat (directory_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  ssize_t n;

  if (fd < 0)
    return FALSE;
  do
    n = read (fd, buffer, size - 1);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    return FALSE;
  buffer[n] = '\0';

  return TRUE;
}

gboolean
sandbox_proc_get_start (int      pid,
                        guint64 *start)
{
  char        path[32];
  char        stat[1024];
  char        state = '\0';
  uint64_t    ticks = 0;
  const char *end = NULL;

  g_snprintf (path, sizeof path, "/proc/%d/stat", pid);
  if (!sandbox_proc_read (AT_FDCWD, path, stat, sizeof stat))
    return FALSE;

  /* A name in brackets, which may have anything in it, then the state, then 18 numbers that do not matter here. */
  end = strrchr (stat, ')');
  if (end == NULL ||
      sscanf (end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64, &state, &ticks) != 2)
    {
      errno = EPROTO;
      return FALSE;
    }
  /* One that is dead, and only waited for, has no descriptor and no thread any more. */
  if (state == 'Z' || state == 'X')
    {
      errno = ESRCH;
      return FALSE;
    }
  *start = ticks;

  return TRUE;
}
