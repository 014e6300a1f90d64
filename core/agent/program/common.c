/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_SIGNALS 64
#define CAPABILITY_VERSION_3 0x20080522
#define OPEN_ATTEMPTS 32
/* When the parent has died. Not one that kills: see agent_end (). */
#define PARENT_SIGNAL SIGTERM

bool
agent_reset_signals (void)
{
  static const uint64_t action[8]; /* no structure of a kernel is larger, and 0 is SIG_DFL */

  for (int signum = 1; signum <= N_SIGNALS; signum++)
    if (signum != SIGKILL && signum != SIGSTOP &&
        syscall (SYS_rt_sigaction, signum, action, NULL, sizeof (uint64_t)) < 0)
      return false;
  return true;
}

bool
agent_set_signal_mask (uint64_t blocked)
{
  return syscall (SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof blocked) == 0;
}

int
agent_open_path (int         directory_fd,
                 const char *path,
                 uint64_t    resolve)
{
  struct agent_open_how how = {
    .flags = O_PATH | O_CLOEXEC,
    .resolve = AGENT_RESOLVE_NO_SYMLINKS | AGENT_RESOLVE_NO_MAGICLINKS | resolve,
  };
  long fd = -1;

  /* EAGAIN: somebody renamed on the way */
  for (int i = 0; i < OPEN_ATTEMPTS; i++)
    if ((fd = syscall (SYS_openat2, directory_fd, path, &how, sizeof how)) >= 0 || errno != EAGAIN)
      break;
  return (int) fd;
}

bool
agent_close_descriptors (int  socket_fd,
                         int *kept_fd)
{
  int last_fd = socket_fd;

  if (kept_fd != NULL && *kept_fd >= 0)
    {
      last_fd++;
      if (*kept_fd != last_fd && dup3 (*kept_fd, last_fd, O_CLOEXEC) < 0)
        return false;
      *kept_fd = last_fd;
    }
  if (syscall (SYS_close_range, 0, socket_fd - 1, 0) < 0 ||
      syscall (SYS_close_range, last_fd + 1, UINT_MAX, 0) < 0 ||
      fcntl (socket_fd, F_SETFD, FD_CLOEXEC) < 0)
    return false;
  for (int i = 0; i < 3; i++)
    if (open ("/", O_PATH | O_CLOEXEC) != i)
      return false;
  return true;
}

bool
agent_keep_capability (int kept)
{
  const uint32_t header[2] = { CAPABILITY_VERSION_3, 0 };
  const uint32_t bit = kept < 0 ? 0 : 1u << kept;
  const uint32_t sets[6] = { bit, bit };

  return syscall (SYS_capset, header, sets) == 0;
}

bool
agent_get_capabilities (uint32_t sets[6])
{
  const uint32_t header[2] = { CAPABILITY_VERSION_3, 0 };

  return syscall (SYS_capget, header, sets) == 0;
}

bool
agent_parse_number (const char *text,
                    long        minimum,
                    long        maximum,
                    long       *number)
{
  char *end;

  errno = 0;
  *number = strtol (text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && *number >= minimum && *number <= maximum;
}

int
agent_watch_signals (void)
{
  sigset_t signals;

  sigemptyset (&signals);
  sigaddset (&signals, SIGCHLD);
  sigaddset (&signals, PARENT_SIGNAL);
  return signalfd (-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool
agent_follow_parent (void)
{
  return prctl (PR_SET_PDEATHSIG, PARENT_SIGNAL, 0, 0, 0) == 0;
}

void
agent_take_signals (int signals_fd)
{
  struct signalfd_siginfo found[4];
  const ssize_t           size = read (signals_fd, found, sizeof found);

  if (size < 0 && errno != EAGAIN)
    _exit (AGENT_EXIT_FAILURE);
  /* One from a guest has a number, or is a guest's own end. */
  for (size_t i = 0; size > 0 && i < (size_t) size / sizeof found[0]; i++)
    if (found[i].ssi_signo == PARENT_SIGNAL && found[i].ssi_pid == 0)
      agent_end ();
}

void
agent_end (void)
{
  pid_t pid;

  kill (-1, SIGKILL);
  do
    pid = waitpid (-1, NULL, __WALL);
  while (pid > 0 || errno == EINTR);
  _exit (0);
}

void
agent_touch (void  *memory,
             size_t size)
{
  volatile char *bytes = memory;

  for (size_t i = 0; i < size; i += AGENT_PAGE_SIZE)
    bytes[i] = 0;
}

void
agent_format_number (uint64_t number,
                     char     text[AGENT_NUMBER_SIZE])
{
  char   digits[AGENT_NUMBER_SIZE];
  size_t n_digits = 0;

  for (; n_digits == 0 || number > 0; number /= 10)
    digits[n_digits++] = (char) ('0' + number % 10);
  while (n_digits > 0)
    *text++ = digits[--n_digits];
  *text = '\0';
}
