/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-fd-private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

void
sandbox_close_fd (int fd)
{
  int errsv = errno;

  /* EINTR means closed on Linux: never retried, the number may already be somebody else's. */
  if (fd >= 0)
    close (fd);
  errno = errsv;
}

void
sandbox_clear_fd (int *fd)
{
  sandbox_close_fd (g_steal_fd (fd));
}

int
sandbox_fd_new_sealed (const char   *name,
                       gconstpointer data,
                       gsize         size)
{
  g_auto (SandboxFd) fd = memfd_create (name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const char *at = data;

  if (fd < 0)
    return -1;

  while (size > 0)
    {
      ssize_t written = write (fd, at, size);

      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return -1;
      at += written;
      size -= written;
    }

  if (lseek (fd, 0, SEEK_SET) < 0 ||
      fcntl (fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
    return -1;

  return g_steal_fd (&fd);
}
