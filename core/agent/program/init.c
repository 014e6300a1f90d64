/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Process 1 of a sandbox. It waits in poll() and nowhere else, so neither a hanging exec nor a silent host holds it up;
 * when it ends, for whatever reason, the kernel kills everything in the sandbox. The guest has the same uid: it may send
 * it signals (all blocked, and process 1 ignores the deadly ones), but cannot trace it or look into it.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A guest that makes children without end must not keep us from the socket and the deadline. */
#define REAPED_PER_TURN 64

typedef enum
{
  INIT_EXPECTS_SETUP,
  INIT_STARTING, /* the process of the command waits for EXEC, or is on its way to exec */
  INIT_RUNNING,
} InitPhase;

typedef enum
{
  POLL_SOCKET,
  POLL_CHILDREN,
  POLL_DEADLINE,
  POLL_REPORT,
  N_POLLS,
} InitPoll;

typedef struct
{
  InitPhase     phase;
  int           socket_fd;
  struct pollfd polls[N_POLLS];
  AgentSession *session;
  AgentCommand  command;
  uint64_t      started_us;
  bool          deadline_passed;
} Init;

static char               init_packet[SANDBOX_AGENT_PACKET_MAX] AGENT_PAGE_ALIGNED; /* SETUP, which is needed until a command waits */
static SandboxAgentPacket init_received;
static char               init_answer[256];

static void
init_send (Init                     *self,
           const SandboxAgentPacket *packet)
{
  /* who does not hear has let go */
  if (!sandbox_agent_send (self->socket_fd, packet, init_answer, sizeof init_answer))
    agent_end ();
}

static void __attribute__ ((noreturn))
init_fail (Init                     *self,
           const SandboxAgentFailed *failed)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_FAILED, .failed = *failed };

  init_send (self, &packet);
  _exit (0);
}

/* By a system call: the vDSO costs three page faults before its first answer, and this asks twice. */
static uint64_t
init_now_us (void)
{
  struct timespec now;

  syscall (SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

static uint64_t
timeval_to_us (struct timeval value)
{
  return (uint64_t) value.tv_sec * 1000000 + (uint64_t) value.tv_usec;
}

static void
init_hello (Init *self)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_HELLO, .n_fds = 1 };

  packet.fds[0] = (int) syscall (SYS_pidfd_open, getpid (), 0);
  if (packet.fds[0] < 0)
    _exit (AGENT_EXIT_FAILURE);
  init_send (self, &packet);
  close (packet.fds[0]);
}

static bool
init_is_slot (const Init *self)
{
  return (self->session->setup.flags & SANDBOX_AGENT_SETUP_SLOTS) != 0;
}

static void __attribute__ ((noreturn))
init_bye (Init *self)
{
  init_send (self, &(SandboxAgentPacket){ .type = SANDBOX_AGENT_BYE });
  agent_end ();
}

/* From here on the socket is the command's until it runs; only its end is looked for. */
static void
init_prepare (Init *self)
{
  if (!agent_command_prepare (&self->command, self->session, self->socket_fd))
    init_fail (self, &(SandboxAgentFailed){ SANDBOX_AGENT_STEP_FORK, errno, 0 });
  self->polls[POLL_SOCKET].events = 0;
  self->polls[POLL_REPORT].fd = self->command.report_fd;
  self->phase = INIT_STARTING;
}

static void
init_setup (Init               *self,
            SandboxAgentPacket *packet)
{
  const bool         slots = (packet->setup.flags & SANDBOX_AGENT_SETUP_SLOTS) != 0;
  SandboxAgentFailed failed = { 0 };
  uint32_t           resource;

  if (!agent_session_prepare (self->session, packet, &failed))
    init_fail (self, &failed);
  if (!agent_command_limit (&resource))
    init_fail (self, &(SandboxAgentFailed){ SANDBOX_AGENT_STEP_RLIMIT, errno, resource });
  /* With one command only, nothing below needs a capability any more, and the command inherits their absence. */
  if (!agent_drop_privileges (slots ? AGENT_CAP_SYS_ADMIN : -1))
    init_fail (self, &(SandboxAgentFailed){ SANDBOX_AGENT_STEP_CAPABILITIES, errno, 0 });
  if (!agent_doors_hand_out (self->session, self->socket_fd))
    agent_end ();
  if (slots)
    {
      if (!agent_session_enforce (self->session))
        init_fail (self, &(SandboxAgentFailed){ SANDBOX_AGENT_STEP_SECCOMP, errno, 0 });
      close (self->polls[POLL_DEADLINE].fd);
      agent_slots (self->session, self->socket_fd, self->polls[POLL_CHILDREN].fd);
    }
  init_prepare (self);
}

/* The process of the command has executed the program, or ended. */
static void
init_look (Init *self)
{
  const SandboxAgentExec *exec;
  SandboxAgentFailed      failed;
  struct itimerspec       deadline = { 0 };

  switch (agent_command_look (&self->command, &failed, &exec))
    {
    case AGENT_COMMAND_FAILED:
      init_fail (self, &failed);

    case AGENT_COMMAND_BYE:
      init_bye (self);

    case AGENT_COMMAND_REJECTED:
      _exit (AGENT_EXIT_FAILURE);

    case AGENT_COMMAND_RUNS:
      break;
    }

  self->polls[POLL_REPORT].fd = -1;
  self->polls[POLL_SOCKET].events = POLLIN;
  self->started_us = init_now_us ();
  deadline.it_value.tv_sec = (time_t) (exec->deadline_us / 1000000);
  deadline.it_value.tv_nsec = (long) (exec->deadline_us % 1000000) * 1000;
  /* all zero: no timer */
  if (timerfd_settime (self->polls[POLL_DEADLINE].fd, 0, &deadline, NULL) < 0)
    _exit (AGENT_EXIT_FAILURE);
  self->phase = INIT_RUNNING;
  init_send (self, &(SandboxAgentPacket){ .type = SANDBOX_AGENT_STARTED });
}

/* Whatever loses its parent in here becomes a child of process 1. So without a child there is no process, unless one is
 * overlooked: __WALL counts also those that were made to end without SIGCHLD. */
static bool
init_is_alone (void)
{
  pid_t pid = 1;

  for (int i = 0; i < REAPED_PER_TURN && pid > 0; i++)
    pid = waitpid (-1, NULL, WNOHANG | __WALL);
  return pid < 0 && errno == ECHILD;
}

static void
init_wait_for_hangup (Init *self)
{
  struct pollfd hangup = { self->socket_fd, 0, 0 };

  while (poll (&hangup, 1, -1) < 0 && errno == EINTR)
    ;
}

static void __attribute__ ((noreturn))
init_exited (Init *self,
             int   wait_status)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_EXITED, .exited = { .wait_status = wait_status } };
  const bool         alone = init_is_alone ();
  struct rusage      usage = { 0 };

  /* of the first process and of all that have been waited for */
  getrusage (RUSAGE_CHILDREN, &usage);
  packet.exited.user_us = timeval_to_us (usage.ru_utime);
  packet.exited.system_us = timeval_to_us (usage.ru_stime);
  packet.exited.peak_memory = (uint64_t) usage.ru_maxrss * 1024;
  packet.exited.wall_us = init_now_us () - self->started_us;
  /* it may have ended by itself in the moment in which we killed */
  if (self->deadline_passed && WIFSIGNALED (wait_status) && WTERMSIG (wait_status) == SIGKILL)
    packet.exited.flags |= SANDBOX_AGENT_EXITED_DEADLINE;
  if (alone)
    packet.exited.flags |= SANDBOX_AGENT_EXITED_ALONE;
  init_send (self, &packet);
  /* Whom the host kills then has no need to end by itself: the kernel's work for that would come before the host's. */
  if (alone && init_is_slot (self))
    init_wait_for_hangup (self);
  _exit (0);
}

/* True if there may be more. The first process of the command is only waited for once it may be reported: until then
 * its number, and that of its process group, cannot be given to anybody else. */
static bool
init_reap (Init *self)
{
  int wait_status;

  /* before waiting, so that a child that ends meanwhile wakes us again */
  if (self->polls[POLL_CHILDREN].revents != 0)
    agent_take_signals (self->polls[POLL_CHILDREN].fd);
  if (self->phase != INIT_RUNNING)
    return false;
  for (int i = 0; i < REAPED_PER_TURN; i++)
    {
      pid_t pid = waitpid (-1, &wait_status, WNOHANG);

      if (pid == self->command.leader)
        init_exited (self, wait_status);
      if (pid <= 0)
        return false;
    }
  return true;
}

static void
init_deadline (Init *self)
{
  self->deadline_passed = true;
  self->polls[POLL_DEADLINE].fd = -1;
  kill (-1, SIGKILL);
}

static void
init_receive (Init *self)
{
  SandboxAgentPacket *packet = &init_received;

  switch (sandbox_agent_receive (self->socket_fd, SANDBOX_AGENT_FROM_HOST, init_packet, sizeof init_packet, packet))
    {
    case SANDBOX_AGENT_AGAIN:
      return;

    case SANDBOX_AGENT_END:
      agent_end ();

    case SANDBOX_AGENT_REJECTED:
      _exit (AGENT_EXIT_FAILURE);

    case SANDBOX_AGENT_RECEIVED:
      break;
    }

  if (packet->type == SANDBOX_AGENT_SETUP && self->phase == INIT_EXPECTS_SETUP)
    init_setup (self, packet);
  else if (packet->type == SANDBOX_AGENT_SIGNAL && self->phase == INIT_RUNNING)
    kill (-self->command.leader, (int) packet->signal.signum);
  else if (packet->type == SANDBOX_AGENT_BYE)
    init_bye (self);
  else
    _exit (AGENT_EXIT_FAILURE);
}

static void __attribute__ ((noreturn))
init_loop (Init *self)
{
  bool more_children = false;

  for (;;)
    {
      if (poll (self->polls, N_POLLS, more_children ? 0 : -1) < 0 && errno != EINTR)
        _exit (AGENT_EXIT_FAILURE);
      /* The lifeline goes before anything that is still to be read: no command starts for a host that is gone. */
      if ((self->polls[POLL_SOCKET].revents & (POLLHUP | POLLERR)) != 0)
        agent_end ();
      if (self->polls[POLL_REPORT].revents != 0)
        init_look (self);
      if (self->polls[POLL_DEADLINE].revents != 0)
        init_deadline (self);
      if (self->polls[POLL_SOCKET].revents != 0)
        init_receive (self);
      more_children = init_reap (self);
    }
}

static void
init_watch (Init *self,
            int   socket_fd)
{
  self->socket_fd = socket_fd;
  self->polls[POLL_SOCKET] = (struct pollfd){ socket_fd, POLLIN, 0 };
  self->polls[POLL_CHILDREN] = (struct pollfd){ agent_watch_signals (), POLLIN, 0 };
  self->polls[POLL_DEADLINE] = (struct pollfd){ timerfd_create (CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), POLLIN, 0 };
  self->polls[POLL_REPORT] = (struct pollfd){ -1, POLLIN, 0 };
  /* kill (-1) anywhere else would be a disaster */
  if (getpid () != 1 || self->polls[POLL_CHILDREN].fd < 0 || self->polls[POLL_DEADLINE].fd < 0)
    _exit (AGENT_EXIT_FAILURE);
}

/* From here on only what every filter allows: a slot is held by its own already. */
void
agent_init_command (AgentSession *session,
                    int           socket_fd)
{
  static Init self;

  self.session = session;
  init_watch (&self, socket_fd);
  /* before there is a command, which could keep this from saying anything: limits and signals of its process 1 are a guest's */
  init_hello (&self);
  init_prepare (&self);
  init_loop (&self);
}

void
agent_init (int    argc,
            char **argv)
{
  static AgentSession session = { .workspace_fd = -1, .ruleset_fd = -1 };
  static Init         self = { .session = &session };
  long                socket_fd;

  if (argc != 1 || !agent_parse_number (argv[0], 3, INT_MAX, &socket_fd) ||
      !agent_set_signal_mask (UINT64_MAX) || !agent_reset_signals () ||
      prctl (PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || !agent_follow_parent () ||
      !agent_close_descriptors ((int) socket_fd, NULL))
    _exit (AGENT_EXIT_FAILURE);
  init_watch (&self, (int) socket_fd);
  init_hello (&self);
  init_loop (&self);
}
