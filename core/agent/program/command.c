/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One command, up to exec. Its process is there before the command is known, and waits for EXEC on the socket itself: so
 * neither a fork nor a change of processes lies between the host's word and exec.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/bin:/bin"

/* No dumps, no locked memory to speak of, no message queues, which count for a user and not for a sandbox, no better place in
 * the queue for a processor: whatever the host has. */
static const SandboxAgentLimit command_limits[] = {
  { RLIMIT_CORE, 0 }, { RLIMIT_MEMLOCK, 65536 }, { RLIMIT_MSGQUEUE, 0 }, { RLIMIT_NICE, 0 }, { RLIMIT_RTPRIO, 0 }
};

static SandboxAgentPacket command_packet; /* EXEC, once it has come */
static char               command_bytes[SANDBOX_AGENT_PACKET_MAX] AGENT_PAGE_ALIGNED;
static char              *command_strings[SANDBOX_AGENT_N_STRINGS_MAX + 2] AGENT_PAGE_ALIGNED;

/* The child shares the memory of process 1, also errno, until it executes the program. Meanwhile process 1 touches nothing of
 * this, nor the socket, and calls nothing that fails unless it ends by that; what the child says here is there even if it was
 * killed, and exec takes it out of the guest's reach. */
static volatile AgentCommandState  command_state = AGENT_COMMAND_FAILED;
static volatile SandboxAgentFailed command_report = { .step = SANDBOX_AGENT_STEP_FORK };
static char                        command_stack[32768] AGENT_PAGE_ALIGNED;

typedef struct
{
  const AgentSession *session;
  int                 socket_fd;
} CommandStart;

static void __attribute__ ((noreturn))
command_fail (int error)
{
  command_report.error = error;
  _exit (AGENT_EXIT_FAILURE);
}

static const char *
command_search_path (char **envp)
{
  for (; *envp != NULL; envp++)
    if (strncmp (*envp, "PATH=", 5) == 0)
      return *envp + 5;
  return DEFAULT_PATH;
}

/* Tries one file; comes back only if that failed, with ENOENT turned into ELIBBAD when the file itself is there. */
static int
command_try (const char *file,
             char      **argv,
             char      **envp)
{
  execve (file, argv, envp);
  if (errno == ENOENT && faccessat (AT_FDCWD, file, F_OK, 0) == 0)
    return ELIBBAD;
  return errno;
}

/* As execvp() does, but what is no program is not given to a shell. Returns why not. */
static int
command_exec (char **argv,
              char **envp)
{
  static char file[PATH_MAX + NAME_MAX + 2] AGENT_PAGE_ALIGNED;
  const char *name = argv[0];
  size_t      name_length = strlen (name);
  int         seen = ENOENT;

  if (name_length == 0)
    return ENOENT;
  if (strchr (name, '/') != NULL)
    return command_try (name, argv, envp);
  if (name_length > NAME_MAX)
    return ENAMETOOLONG;

  for (const char *at = command_search_path (envp);; at++)
    {
      size_t length = strcspn (at, ":");

      if (length < PATH_MAX)
        {
          int error;

          /* an empty entry is the working directory */
          memcpy (file, at, length);
          file[length] = '/';
          memcpy (file + length + (length > 0), name, name_length + 1);
          error = command_try (file, argv, envp);
          if (error == EACCES || error == ELIBBAD)
            seen = error;
          else if (error != ENOENT && error != ENOTDIR)
            return error;
        }
      at += length;
      if (*at == '\0')
        return seen;
    }
}

static bool
command_limit (uint32_t resource,
               uint64_t value)
{
  /* At the hard limit of CPU time there is a KILL like any other; a second before it, a signal that says why. */
  const uint64_t hard = resource == RLIMIT_CPU ? value + 1 : value;
  struct rlimit  limit;

  if (getrlimit ((int) resource, &limit) < 0)
    return false;
  if (limit.rlim_max > hard)
    limit.rlim_max = hard;
  limit.rlim_cur = limit.rlim_max > value ? value : limit.rlim_max;
  return setrlimit ((int) resource, &limit) == 0;
}

bool
agent_command_limit (uint32_t *resource)
{
  for (size_t i = 0; i < sizeof command_limits / sizeof command_limits[0]; i++)
    {
      *resource = command_limits[i].resource;
      if (!command_limit (command_limits[i].resource, command_limits[i].value))
        return false;
    }
  return true;
}

/* The directory of the command, below the workspace and by way of no link. openat2 () would do it at once, but not every
 * filter allows that. */
static int
command_open_directory (int         workspace_fd,
                        const char *path)
{
  int fd = openat (workspace_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

  while (fd >= 0 && *path != '\0')
    {
      const size_t length = strcspn (path, "/");
      char         name[NAME_MAX + 1] = ".";
      struct stat  found;
      int          next_fd = -1;
      int          error = 0;

      if (length > 0 && length <= NAME_MAX)
        {
          memcpy (name, path, length);
          name[length] = '\0';
        }
      if (length > NAME_MAX)
        error = ENAMETOOLONG;
      else if (strcmp (name, "..") == 0)
        error = EXDEV;
      else if ((next_fd = openat (fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        error = errno;
      if (error == ENOTDIR && fstatat (fd, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK (found.st_mode))
        error = ELOOP;
      close (fd);
      errno = error;
      fd = next_fd;
      path += length;
      path += strspn (path, "/");
    }
  return fd;
}

/* argv and environment as execve() wants them, from the packet or from the memfd. */
static bool
command_read_strings (const SandboxAgentPacket *packet)
{
  const int               seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
  const SandboxAgentExec *exec = &packet->exec;
  char                   *strings = (char *) exec->strings;
  struct stat             found;
  int                     held;

  if (strings == NULL)
    {
      if ((held = fcntl (packet->fds[3], F_GET_SEALS)) < 0 || fstat (packet->fds[3], &found) < 0)
        return false;
      errno = EBADMSG;
      if ((held & seals) != seals || found.st_size != (off_t) exec->strings_size || found.st_size == 0)
        return false;
      strings = mmap (NULL, exec->strings_size, PROT_READ, MAP_PRIVATE, packet->fds[3], 0);
      if (strings == MAP_FAILED)
        return false;
    }
  errno = EBADMSG;
  return sandbox_agent_unpack_strings (strings, exec->strings_size, exec->argc, exec->envc, command_strings);
}

/* Comes back with EXEC. No command starts for a host that is gone, whatever that has said before. */
static void
command_wait (int socket_fd)
{
  struct pollfd       polled = { socket_fd, POLLIN, 0 };
  SandboxAgentReceipt receipt = SANDBOX_AGENT_AGAIN;

  while (receipt == SANDBOX_AGENT_AGAIN)
    {
      poll (&polled, 1, -1);
      receipt = (polled.revents & (POLLHUP | POLLERR)) != 0
                    ? SANDBOX_AGENT_END
                    : sandbox_agent_receive (socket_fd, SANDBOX_AGENT_FROM_HOST, command_bytes, sizeof command_bytes, &command_packet);
    }
  if (receipt == SANDBOX_AGENT_RECEIVED && command_packet.type == SANDBOX_AGENT_EXEC)
    return;
  command_state = receipt == SANDBOX_AGENT_RECEIVED && command_packet.type == SANDBOX_AGENT_BYE ? AGENT_COMMAND_BYE : AGENT_COMMAND_REJECTED;
  _exit (AGENT_EXIT_FAILURE);
}

/* What needs no EXEC to be known, before it. */
static int
command_child (void *data)
{
  const CommandStart     *start = data;
  const AgentSession     *session = start->session;
  const SandboxAgentExec *exec = &command_packet.exec;
  int                     cwd_fd, error;

  /* the dispositions are the agent's: all default */
  if (setsid () < 0 || !agent_set_signal_mask (0))
    command_fail (errno);
  umask (022);
  command_report.step = SANDBOX_AGENT_STEP_LANDLOCK;
  /* not by process 1 too, which commands could signal then */
  if (!agent_rules_enforce (session->ruleset_fd))
    command_fail (errno);
  /* what is told if somebody kills it while it waits */
  command_report.step = SANDBOX_AGENT_STEP_FORK;
  agent_touch (command_bytes, AGENT_PAGE_SIZE);
  agent_touch (command_strings, AGENT_PAGE_SIZE);
  command_wait (start->socket_fd);

  command_report.step = SANDBOX_AGENT_STEP_STRINGS;
  if (!command_read_strings (&command_packet))
    command_fail (errno);

  command_report.step = SANDBOX_AGENT_STEP_DESCRIPTORS;
  for (int i = 0; i < 3; i++)
    {
      command_report.detail = (uint32_t) i;
      if (dup2 (command_packet.fds[i], i) < 0)
        command_fail (errno);
    }
  if (syscall (SYS_close_range, 3, UINT_MAX, AGENT_CLOSE_RANGE_CLOEXEC) < 0)
    command_fail (errno);
  command_report.detail = 0;

  command_report.step = SANDBOX_AGENT_STEP_CHDIR;
  cwd_fd = command_open_directory (session->workspace_fd, exec->cwd);
  if (cwd_fd < 0 || fchdir (cwd_fd) < 0)
    command_fail (errno);

  /* from here on no descriptor is needed, so any limit will do */
  command_report.step = SANDBOX_AGENT_STEP_RLIMIT;
  for (uint32_t i = 0; i < exec->n_limits; i++)
    {
      command_report.detail = exec->limits[i].resource;
      if (!command_limit (exec->limits[i].resource, exec->limits[i].value))
        command_fail (errno);
    }
  command_report.detail = 0;

  command_report.step = SANDBOX_AGENT_STEP_SECCOMP;
  if (!session->is_filtered && !agent_filter_enforce (&session->filter))
    command_fail (errno);

  command_report.step = SANDBOX_AGENT_STEP_EXEC;
  command_state = AGENT_COMMAND_RUNS;
  error = command_exec (command_strings, command_strings + exec->argc + 1);
  command_state = AGENT_COMMAND_FAILED;
  if (error == ENOENT || error == ENOTDIR)
    command_report.step = SANDBOX_AGENT_STEP_EXEC_NOT_FOUND;
  else if (error == ELIBBAD)
    {
      command_report.step = SANDBOX_AGENT_STEP_EXEC_INTERPRETER;
      error = ENOENT;
    }
  command_fail (error);
}

bool
agent_command_prepare (AgentCommand       *self,
                       const AgentSession *session,
                       int                 socket_fd)
{
  static CommandStart start;
  int                 report[2];

  agent_touch (command_stack + sizeof command_stack - AGENT_PAGE_SIZE, AGENT_PAGE_SIZE);
  if (pipe2 (report, O_CLOEXEC) < 0)
    return false;
  start = (CommandStart){ session, socket_fd };
  self->leader = clone (command_child, command_stack + sizeof command_stack, CLONE_VM | SIGCHLD, &start);
  if (self->leader < 0)
    return false;
  close (report[1]);
  self->report_fd = report[0];
  return true;
}

AgentCommandState
agent_command_look (AgentCommand            *self,
                    SandboxAgentFailed      *failed,
                    const SandboxAgentExec **exec)
{
  close (self->report_fd);
  self->report_fd = -1;
  *failed = command_report;
  if (failed->error == 0)
    failed->error = ECHILD; /* somebody killed it on the way */
  *exec = &command_packet.exec;
  return command_state;
}
