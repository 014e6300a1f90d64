/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between the host's posix_spawn() and bwrap: what posix_spawn() cannot do, done in a process of its own so that the
 * host's memory, credentials and dumpable flag are never touched.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SOCKET_FD 3

/* of ioprio_get () */
#define IO_OF_PROCESS 1
#define IO_CLASS_SHIFT 13
#define IO_CLASS_REAL_TIME 1

extern char **environ;

static void __attribute__ ((noreturn))
launch_fail (SandboxAgentStep step,
             int              error)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_FAILED, .failed = { .step = step, .error = error != 0 ? error : EINVAL } };
  char               buffer[64];

  sandbox_agent_send (SOCKET_FD, &packet, buffer, sizeof buffer);
  _exit (AGENT_EXIT_FAILURE);
}

static void
launch_change_identity (uid_t uid,
                        gid_t gid)
{
  uid_t uids[3];
  gid_t gids[3];

  if (uid == (uid_t) -1 && gid == (gid_t) -1)
    return;
  if (setgroups (0, NULL) < 0 ||
      setresgid (gid, gid, gid) < 0 ||
      setresuid (uid, uid, uid) < 0)
    launch_fail (SANDBOX_AGENT_STEP_IDENTITY, errno);
  /* the kernel drops them by itself unless the host's securebits forbid it; inheritable ones always stay */
  if (uid != 0 && uid != (uid_t) -1 && !agent_keep_capability (-1))
    launch_fail (SANDBOX_AGENT_STEP_IDENTITY, errno);
  if (getresuid (&uids[0], &uids[1], &uids[2]) < 0 || getresgid (&gids[0], &gids[1], &gids[2]) < 0 || getgroups (0, NULL) != 0)
    launch_fail (SANDBOX_AGENT_STEP_IDENTITY, EPERM);
  for (int i = 0; i < 3; i++)
    if ((uid != (uid_t) -1 && uids[i] != uid) || (gid != (gid_t) -1 && gids[i] != gid))
      launch_fail (SANDBOX_AGENT_STEP_IDENTITY, EPERM);
}

/* What the host was given to be faster, or to be spared, is not for its guests; to be slower is. */
static void
launch_give_up_precedence (void)
{
  const long scheduler = syscall (SYS_sched_getscheduler, 0);
  const long io = syscall (SYS_ioprio_get, IO_OF_PROCESS, 0);
  const int  spared_fd = open ("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  char       sign = '\0';

  if (scheduler != SCHED_OTHER && scheduler != SCHED_BATCH && scheduler != SCHED_IDLE)
    syscall (SYS_sched_setscheduler, 0, SCHED_OTHER, &(struct sched_param){ 0 });
  if (getpriority (PRIO_PROCESS, 0) < 0)
    setpriority (PRIO_PROCESS, 0, 0);
  if (io >> IO_CLASS_SHIFT == IO_CLASS_REAL_TIME)
    syscall (SYS_ioprio_set, IO_OF_PROCESS, 0, 0);
  if (spared_fd >= 0 && read (spared_fd, &sign, 1) == 1 && sign == '-' && pwrite (spared_fd, "0", 1, 0) < 0)
    launch_fail (SANDBOX_AGENT_STEP_LAUNCH, errno); /* only where procfs is read-only */
  if (spared_fd >= 0)
    close (spared_fd);
}

/* What comes after is in there with everything that it starts. @group_fd is the host's cgroup.procs, or -1. */
static void
launch_enter_group (long group_fd)
{
  if (group_fd >= 0 && write ((int) group_fd, "0", 1) != 1)
    launch_fail (SANDBOX_AGENT_STEP_CONTROL_GROUP, errno);
}

void
agent_launch (int    argc,
              char **argv)
{
  const struct rlimit no_core = { 0, 0 };
  long                parent, uid, gid, exec_fd, keep, group_fd;
  unsigned            first_free;

  if (argc < 7 ||
      !agent_parse_number (argv[0], 1, INT_MAX, &parent) ||
      !agent_parse_number (argv[1], -1, UINT32_MAX - 1L, &uid) ||
      !agent_parse_number (argv[2], -1, UINT32_MAX - 1L, &gid) ||
      !agent_parse_number (argv[3], SOCKET_FD, INT_MAX, &exec_fd) ||
      !agent_parse_number (argv[4], 1, 1024, &keep) ||
      !agent_parse_number (argv[5], -1, INT_MAX, &group_fd) ||
      exec_fd >= SOCKET_FD + keep ||
      (group_fd >= 0 && group_fd < SOCKET_FD + keep)) /* it is not for bwrap */
    launch_fail (SANDBOX_AGENT_STEP_LAUNCH, EINVAL);

  launch_enter_group (group_fd);
  first_free = (unsigned) (SOCKET_FD + keep);
  if (syscall (SYS_close_range, first_free, UINT_MAX, 0) < 0)
    launch_fail (SANDBOX_AGENT_STEP_LAUNCH, errno);
  for (int fd = SOCKET_FD; fd < (int) first_free; fd++)
    if (fcntl (fd, F_SETFD, 0) < 0)
      launch_fail (SANDBOX_AGENT_STEP_LAUNCH, errno);
  if (!agent_reset_signals () || !agent_set_signal_mask (0) || setrlimit (RLIMIT_CORE, &no_core) < 0)
    launch_fail (SANDBOX_AGENT_STEP_LAUNCH, errno);
  if (setsid () < 0 && getsid (0) != getpid ())
    launch_fail (SANDBOX_AGENT_STEP_LAUNCH, errno);
  umask (022);
  launch_give_up_precedence ();

  launch_change_identity ((uid_t) uid, (gid_t) gid);

  /* The parent-death signal is left to bwrap (--die-with-parent), which sets it right before it lets its child go on.
   * Set earlier it would make a bwrap die with a host between these two, and leave the child waiting for ever. A bwrap
   * that outlives its host meanwhile builds to the end: the agent finds the end of its socket and ends everything. */
  if (getppid () != (pid_t) parent)
    launch_fail (SANDBOX_AGENT_STEP_PARENT_GONE, ESRCH);

  syscall (SYS_execveat, (int) exec_fd, "", argv + 6, environ, AT_EMPTY_PATH);
  launch_fail (SANDBOX_AGENT_STEP_EXEC_BWRAP, errno);
}
