/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-process-private.h"

#include "sandbox-agent-channel-private.h"
#include "sandbox-agent-group-private.h"
#include "sandbox-agent-protocol.h"
#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-paths-private.h"
#include "sandbox-pipe-stream-private.h"
#include "sandbox-process-private.h"
#include "sandbox-worker-private.h"
#include "sandbox-workspace-path.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <glib-unix.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_LIMIT_MS 10000
/* A sandbox that was killed before its command ran is waited for so long. */
#define END_LIMIT_MS 2000
/* A bwrap that has lost its agent ends by itself; its status tells more than our signal would. */
#define LAUNCHER_LIMIT_MS 200
/* An agent that was told to kill its command is killed itself so much later. */
#define KILL_LIMIT_MS 250
/* The agent's own deadline is for a host that has been stopped; a host that runs is earlier. */
#define AGENT_DEADLINE_SLACK_MS 500

/* BUILDING → RUNNING → OVER, or BUILDING → FAILING → OVER. All of it happens on the worker; other threads
 * only kill and signal. FAILING waits until nothing of the sandbox can run any more, so that an error means
 * that nothing runs. */
typedef enum
{
  PHASE_BUILDING,
  PHASE_FAILING,
  PHASE_RUNNING,
  PHASE_OVER,
} SandboxAgentPhase;

struct _SandboxAgentProcess
{
  SandboxProcess parent_instance;

  SandboxAgentChannel *channel;
  SandboxCommand      *command;
  char                *program; /* as it may be shown */

  /* the worker's */
  SandboxAgentPhase phase;
  SandboxRequest   *request;
  GError           *failure;
  GSource          *socket_watch;
  GSource          *init_watch;
  GSource          *limit;
  GSource          *launcher_limit;
  gboolean          launcher_ended;
  char             *buffer;

  SandboxAgentSlots *slots; /* whose slot it is in; until it is over */

  int  init_fd; /* pidfd of process 1; set before RUNNING, closed with the object */
  gint exited;  /* atomic */
};

G_DEFINE_FINAL_TYPE (SandboxAgentProcess, sandbox_agent_process, SANDBOX_TYPE_PROCESS)

static void sandbox_agent_process_check (SandboxAgentProcess *self);

static void
sandbox_agent_process_clear_source (GSource **source)
{
  if (*source == NULL)
    return;

  g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

/* A source of the worker that keeps the process alive. */
static GSource *
sandbox_agent_process_attach (SandboxAgentProcess *self,
                              GSource             *source,
                              GSourceFunc          func)
{
  g_source_set_callback (source, func, g_object_ref (self), g_object_unref);
  g_source_attach (source, sandbox_get_worker_context ());

  return source;
}

/* Process 1 takes the sandbox along, and its parent, which waits for it, ends by itself. Before there is a
 * process 1, or where it may not be killed, the launcher goes with all that it has made. */
static void
sandbox_agent_process_kill_all (SandboxAgentProcess *self)
{
  if (self->init_fd < 0 || syscall (SYS_pidfd_send_signal, self->init_fd, SIGKILL, NULL, 0) < 0)
    sandbox_agent_channel_kill (self->channel);
}

static gboolean
sandbox_agent_process_send_signal (SandboxProcess *process,
                                   int             signum,
                                   GError        **error)
{
  SandboxAgentProcess *self = SANDBOX_AGENT_PROCESS (process);
  SandboxAgentPacket   packet = { .type = SANDBOX_AGENT_SIGNAL, .signal.signum = signum };
  char                 buffer[64];

  if (!g_atomic_int_get (&self->exited) &&
      sandbox_agent_send (sandbox_agent_channel_get_socket (self->channel), &packet, buffer, sizeof buffer))
    return TRUE;

  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The command has ended");

  return FALSE;
}

static gboolean
sandbox_agent_process_kill_limit_cb (gpointer user_data)
{
  SandboxAgentProcess *self = user_data;

  if (self->phase == PHASE_RUNNING)
    sandbox_agent_process_kill_all (self);

  return G_SOURCE_REMOVE;
}

/* By way of the agent, which then tells the true end and what was used, and takes the rest along. An agent
 * that does not get it done is killed itself. */
static gboolean
sandbox_agent_process_kill (SandboxProcess *process,
                            GError        **error)
{
  SandboxAgentProcess *self = SANDBOX_AGENT_PROCESS (process);
  g_autoptr (GSource) limit = NULL;

  if (!sandbox_agent_process_send_signal (process, SIGKILL, NULL))
    {
      sandbox_agent_process_kill_all (self);
      return TRUE;
    }

  limit = sandbox_agent_process_attach (self, g_timeout_source_new (KILL_LIMIT_MS), sandbox_agent_process_kill_limit_cb);

  return TRUE;
}

static void
sandbox_agent_process_finalize (GObject *object)
{
  SandboxAgentProcess *self = SANDBOX_AGENT_PROCESS (object);

  g_clear_object (&self->channel);
  g_clear_object (&self->command);
  g_clear_object (&self->request);
  g_clear_error (&self->failure);
  g_clear_pointer (&self->program, g_free);
  g_clear_pointer (&self->buffer, g_free);
  sandbox_fork_close (&self->init_fd);

  G_OBJECT_CLASS (sandbox_agent_process_parent_class)->finalize (object);
}

static void
sandbox_agent_process_class_init (SandboxAgentProcessClass *klass)
{
  SandboxProcessClass *process_class = SANDBOX_PROCESS_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = sandbox_agent_process_finalize;
  process_class->kill = sandbox_agent_process_kill;
  process_class->send_signal = sandbox_agent_process_send_signal;
}

static void
sandbox_agent_process_init (SandboxAgentProcess *self)
{
  self->init_fd = -1;
}

static gboolean
sandbox_agent_process_launcher_limit_cb (gpointer user_data)
{
  SandboxAgentProcess *self = user_data;

  sandbox_agent_channel_kill (self->channel);

  return G_SOURCE_REMOVE;
}

/* A launcher that lives on with nothing to wait for is no bwrap. */
static void
sandbox_agent_process_limit_launcher (SandboxAgentProcess *self,
                                      guint                limit_ms)
{
  if (!self->launcher_ended && self->launcher_limit == NULL)
    self->launcher_limit = sandbox_agent_process_attach (self, g_timeout_source_new (limit_ms),
                                                         sandbox_agent_process_launcher_limit_cb);
}

/* The kernel's word on the limits of the group, if there is one. FALSE when it has nothing to say. */
static gboolean
sandbox_agent_process_tell_group (SandboxAgentProcess *self,
                                  gboolean             failed)
{
  SandboxAgentGroup *group = sandbox_agent_channel_get_group (self->channel);
  SandboxOutcome     outcome = SANDBOX_OUTCOME_LOST;
  guint64            value = 0;
  guint64            peak = 0;

  if (group == NULL || !sandbox_agent_group_find_outcome (group, failed, &outcome, &value, &peak))
    return FALSE;
  sandbox_process_set_outcome (SANDBOX_PROCESS (self), outcome, value, peak);

  return TRUE;
}

/* When nothing is alive that belongs there, and the evidence has been seen. */
static void
sandbox_agent_process_end_group (SandboxAgentProcess *self)
{
  SandboxAgentGroup *group = sandbox_agent_channel_get_group (self->channel);

  if (group != NULL && self->phase == PHASE_OVER && self->launcher_ended)
    sandbox_agent_group_end (group);
}

/* Nothing more is expected; who waited is answered. */
static void
sandbox_agent_process_over (SandboxAgentProcess *self)
{
  gboolean ran = self->phase == PHASE_RUNNING;
  g_autoptr (SandboxRequest) request = g_steal_pointer (&self->request);

  self->phase = PHASE_OVER;
  sandbox_agent_process_limit_launcher (self, END_LIMIT_MS);
  sandbox_agent_process_clear_source (&self->socket_watch);
  sandbox_agent_process_clear_source (&self->init_watch);
  sandbox_agent_process_clear_source (&self->limit);
  g_clear_pointer (&self->buffer, g_free);

  /* A sandbox that was killed as a whole has told of no end. */
  if (ran && !g_atomic_int_get (&self->exited))
    sandbox_agent_process_tell_group (self, TRUE);
  sandbox_agent_process_end_group (self);

  if (ran)
    sandbox_process_set_gone (SANDBOX_PROCESS (self));
  else
    sandbox_request_return_error (request, self->failure);

  /* after the answer */
  if (self->slots != NULL)
    sandbox_agent_slots_release (self->slots);
  g_clear_pointer (&self->slots, sandbox_agent_slots_unref);
}

static gboolean
sandbox_agent_process_end_limit_cb (gpointer user_data)
{
  SandboxAgentProcess *self = user_data;

  g_debug ("The end of a sandbox that never ran its command is not proven after %d ms", END_LIMIT_MS);
  sandbox_agent_process_over (self);

  return G_SOURCE_REMOVE;
}

/* The command does not run, and will not; @error is taken. The first reason stands. */
static void
sandbox_agent_process_fail (SandboxAgentProcess *self,
                            GError              *error)
{
  if (self->phase != PHASE_BUILDING)
    {
      g_error_free (error);
      return;
    }

  self->phase = PHASE_FAILING;
  self->failure = error;
  sandbox_agent_process_clear_source (&self->limit);
  self->limit = sandbox_agent_process_attach (self, g_timeout_source_new (END_LIMIT_MS), sandbox_agent_process_end_limit_cb);
  sandbox_agent_process_kill_all (self);
}

static SandboxError
sandbox_agent_process_failed_code (const SandboxAgentFailed *failed)
{
  switch ((SandboxAgentStep) failed->step)
    {
    case SANDBOX_AGENT_STEP_EXEC_NOT_FOUND:
    case SANDBOX_AGENT_STEP_EXEC_INTERPRETER:
      return SANDBOX_ERROR_NOT_FOUND;

    case SANDBOX_AGENT_STEP_EXEC:
      return failed->error == E2BIG                               ? SANDBOX_ERROR_LIMIT
             : failed->error == EAGAIN || failed->error == ENOMEM ? SANDBOX_ERROR_UNAVAILABLE
                                                                  : SANDBOX_ERROR_DENIED;

    case SANDBOX_AGENT_STEP_CHDIR:
      return sandbox_error_from_errno (failed->error);

    case SANDBOX_AGENT_STEP_LAUNCH:
    case SANDBOX_AGENT_STEP_IDENTITY:
    case SANDBOX_AGENT_STEP_PARENT_GONE:
    case SANDBOX_AGENT_STEP_EXEC_BWRAP:
    case SANDBOX_AGENT_STEP_MOUNT:
    case SANDBOX_AGENT_STEP_DEVPTS:
    case SANDBOX_AGENT_STEP_WORKSPACE:
    case SANDBOX_AGENT_STEP_WORKSPACE_IDENTITY:
    case SANDBOX_AGENT_STEP_USERNS_LIMIT:
    case SANDBOX_AGENT_STEP_CAPABILITIES:
    case SANDBOX_AGENT_STEP_STRINGS:
    case SANDBOX_AGENT_STEP_FORK:
    case SANDBOX_AGENT_STEP_DESCRIPTORS:
    case SANDBOX_AGENT_STEP_RLIMIT:
    case SANDBOX_AGENT_STEP_SECCOMP:
    case SANDBOX_AGENT_STEP_LANDLOCK:
    case SANDBOX_AGENT_STEP_CONTROL_GROUP:
    default:
      return SANDBOX_ERROR_UNAVAILABLE;
    }
}

/* What the agent reports is told apart by step and errno, never by text. */
static GError *
sandbox_agent_process_failed_error (SandboxAgentProcess      *self,
                                    const SandboxAgentFailed *failed)
{
  SandboxError code = sandbox_agent_process_failed_code (failed);
  const char  *reason = g_strerror (failed->error);

  switch ((guint) failed->step)
    {
    case SANDBOX_AGENT_STEP_EXEC_NOT_FOUND:
      return g_error_new (SANDBOX_ERROR, (int) code, "Cannot run “%s”: there is no such program in the sandbox", self->program);

    case SANDBOX_AGENT_STEP_EXEC_INTERPRETER:
      return g_error_new (SANDBOX_ERROR, (int) code, "Cannot run “%s”: its interpreter is missing in the sandbox", self->program);

    case SANDBOX_AGENT_STEP_EXEC:
      return g_error_new (SANDBOX_ERROR, (int) code, "Cannot run “%s”: %s", self->program, reason);

    case SANDBOX_AGENT_STEP_CHDIR:
      {
        g_autofree char *cwd = sandbox_path_display (sandbox_command_get_cwd (self->command));

        return g_error_new (SANDBOX_ERROR, (int) code, "Cannot run “%s” in the directory “%s”: %s", self->program, cwd, reason);
      }

    default:
      return g_error_new (SANDBOX_ERROR, (int) code, "The sandbox could not be built (step: %s): %s",
                          sandbox_agent_step_to_string (failed->step), reason);
    }
}

/* A reason that the wait status does not tell, from figures of the kernel. */
static void
sandbox_agent_process_tell_limits (SandboxAgentProcess      *self,
                                   const SandboxAgentExited *exited)
{
  SandboxProcess *process = SANDBOX_PROCESS (self);
  SandboxLimits  *limits = sandbox_command_get_limits (self->command);
  guint64         cpu = limits != NULL ? sandbox_limits_get_cpu_seconds (limits) : 0;
  guint64         file_size = limits != NULL ? sandbox_limits_get_file_size_bytes (limits) : 0;
  guint64         cpu_used = (exited->user_us + exited->system_us + G_USEC_PER_SEC / 2) / G_USEC_PER_SEC;
  int             signum = WIFSIGNALED (exited->wait_status) ? WTERMSIG (exited->wait_status) : 0;

  if ((exited->flags & SANDBOX_AGENT_EXITED_DEADLINE) != 0)
    sandbox_process_set_outcome (process, SANDBOX_OUTCOME_TIMED_OUT, 0, 0);
  else if (file_size > 0 && signum == SIGXFSZ) /* no file has become larger */
    sandbox_process_set_outcome (process, SANDBOX_OUTCOME_FILE_SIZE_LIMIT, file_size, file_size);
  /* The signal alone proves nothing: a command can send it to itself. Whoever goes on at the limit is killed soon after. */
  else if (cpu > 0 && (signum == SIGXCPU || signum == SIGKILL) && cpu_used >= cpu)
    sandbox_process_set_outcome (process, SANDBOX_OUTCOME_CPU_LIMIT, cpu, cpu_used);
  else
    sandbox_agent_process_tell_group (self, exited->wait_status != 0);
}

static gboolean
sandbox_agent_process_init_ended_cb (int          fd,
                                     GIOCondition condition,
                                     gpointer     user_data)
{
  SandboxAgentProcess *self = user_data;

  /* Destroyed by its own return: what is looked at now is whether it still stands. */
  g_clear_pointer (&self->init_watch, g_source_unref);
  sandbox_agent_process_check (self);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_process_take_hello (SandboxAgentProcess *self,
                                  SandboxAgentPacket  *packet)
{
  if (self->init_fd >= 0)
    return;

  sandbox_fork_lock ();
  self->init_fd = g_steal_fd (&packet->fds[0]);
  sandbox_fork_watch (&self->init_fd);
  sandbox_fork_unlock ();
  self->init_watch = sandbox_worker_watch_fd (self->init_fd, sandbox_agent_process_init_ended_cb,
                                              g_object_ref (self), g_object_unref);
  /* It may have come after the kill. */
  if (self->phase == PHASE_FAILING)
    sandbox_agent_process_kill_all (self);
}

static void
sandbox_agent_process_take_started (SandboxAgentProcess *self)
{
  g_autoptr (SandboxRequest) request = g_steal_pointer (&self->request);

  self->phase = PHASE_RUNNING;
  sandbox_agent_process_clear_source (&self->limit);
  sandbox_request_return_object (request, G_OBJECT (self));
}

static void
sandbox_agent_process_take_exited (SandboxAgentProcess      *self,
                                   const SandboxAgentExited *exited)
{
  if (!g_atomic_int_compare_and_exchange (&self->exited, FALSE, TRUE))
    return;

  sandbox_agent_process_tell_limits (self, exited);
  sandbox_process_set_exited (SANDBOX_PROCESS (self), exited->wait_status,
                              exited->user_us, exited->system_us, exited->peak_memory);
}

static void
sandbox_agent_process_take_packet (SandboxAgentProcess *self,
                                   SandboxAgentPacket  *packet)
{
  switch ((guint) packet->type)
    {
    case SANDBOX_AGENT_HELLO:
      sandbox_agent_process_take_hello (self, packet);
      break;

    case SANDBOX_AGENT_STARTED:
      /* Without a HELLO before it there would be no proof of the end. */
      if (self->phase == PHASE_BUILDING && self->init_fd >= 0)
        sandbox_agent_process_take_started (self);
      else
        sandbox_agent_process_kill_all (self);
      break;

    case SANDBOX_AGENT_FAILED:
      sandbox_agent_process_fail (self, sandbox_agent_process_failed_error (self, &packet->failed));
      break;

    case SANDBOX_AGENT_EXITED:
      if (self->phase == PHASE_RUNNING)
        sandbox_agent_process_take_exited (self, &packet->exited);
      break;

    default:
      break;
    }
}

/* Reads all that has been said. FALSE when nothing will be said any more. */
static gboolean
sandbox_agent_process_listen (SandboxAgentProcess *self)
{
  int socket_fd = sandbox_agent_channel_get_socket (self->channel);

  for (;;)
    {
      SandboxAgentPacket packet = { .n_fds = 0 };

      switch (sandbox_agent_receive (socket_fd, SANDBOX_AGENT_FROM_AGENT, self->buffer, SANDBOX_AGENT_PACKET_MAX, &packet))
        {
        case SANDBOX_AGENT_RECEIVED:
          sandbox_agent_process_take_packet (self, &packet);
          sandbox_agent_packet_close_fds (&packet);
          break;

        case SANDBOX_AGENT_AGAIN:
          return TRUE;

        case SANDBOX_AGENT_REJECTED:
          /* Before the end that we give it is taken for the reason. */
          sandbox_agent_process_fail (self, g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                                                 "The sandbox could not be built (step: launcher): "
                                                                 "what was started broke the protocol of the agent"));
          sandbox_agent_process_kill_all (self);
          return FALSE;

        case SANDBOX_AGENT_END:
        default:
          return FALSE;
        }
    }
}

static gboolean
sandbox_agent_process_heard_cb (int          fd,
                                GIOCondition condition,
                                gpointer     user_data)
{
  SandboxAgentProcess *self = user_data;

  if (sandbox_agent_process_listen (self))
    return G_SOURCE_CONTINUE;

  g_clear_pointer (&self->socket_watch, g_source_unref);
  sandbox_agent_process_check (self);

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_agent_process_launcher_ended_cb (gpointer user_data)
{
  SandboxAgentProcess *self = user_data;

  self->launcher_ended = TRUE;
  sandbox_agent_process_clear_source (&self->launcher_limit);
  sandbox_agent_process_end_group (self);
  sandbox_agent_process_check (self);

  return G_SOURCE_REMOVE;
}

/* An agent that is gone without a word, or a launcher that never got so far. */
static GError *
sandbox_agent_process_silent_error (SandboxAgentProcess *self)
{
  SandboxAgentGroup *group = sandbox_agent_channel_get_group (self->channel);
  SandboxOutcome     outcome = SANDBOX_OUTCOME_LOST;
  guint64            value = 0;
  guint64            peak = 0;

  if (group != NULL && sandbox_agent_group_find_outcome (group, TRUE, &outcome, &value, &peak))
    return g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                        "The sandbox itself needs more than the limit of %" G_GUINT64_FORMAT " %s",
                        value, outcome == SANDBOX_OUTCOME_MEMORY_LIMIT ? "bytes of memory" : "processes and threads");

  return sandbox_agent_channel_make_end_error (self->channel, self->init_fd >= 0);
}

/* Looks whether this is over: after each of the things that end. */
static void
sandbox_agent_process_check (SandboxAgentProcess *self)
{
  g_autoptr (SandboxAgentProcess) keep = g_object_ref (self);
  gboolean init_ended = self->init_fd >= 0 && self->init_watch == NULL;

  if (self->phase == PHASE_OVER)
    return;

  /* What process 1 said last may still be unread, and with a HELLO there is an end to wait for. */
  if (self->socket_watch != NULL && (init_ended || self->launcher_ended) && !sandbox_agent_process_listen (self))
    sandbox_agent_process_clear_source (&self->socket_watch);
  init_ended = self->init_fd >= 0 && self->init_watch == NULL;

  if (self->phase == PHASE_BUILDING && self->socket_watch == NULL && self->launcher_ended)
    sandbox_agent_process_fail (self, sandbox_agent_process_silent_error (self));
  /* An end of the socket is the end of the sandbox, whoever closed it. An agent that has told of the end of
   * its command is ending, and what it leaves to its parent is not to be disturbed. */
  if (self->socket_watch == NULL && self->phase == PHASE_BUILDING && self->init_fd < 0)
    sandbox_agent_process_limit_launcher (self, LAUNCHER_LIMIT_MS);
  else if (self->socket_watch == NULL && !g_atomic_int_get (&self->exited))
    sandbox_agent_process_kill_all (self);

  if (self->phase == PHASE_RUNNING && init_ended)
    sandbox_agent_process_over (self);
  else if (self->phase == PHASE_FAILING && (init_ended || (self->init_fd < 0 && self->launcher_ended)))
    sandbox_agent_process_over (self);
}

static gboolean
sandbox_agent_process_start_limit_cb (gpointer user_data)
{
  SandboxAgentProcess *self = user_data;

  sandbox_agent_process_fail (self, g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                                 "The sandbox was not built within %d ms (step: %s)", START_LIMIT_MS,
                                                 self->init_fd >= 0 ? "command" : "launcher"));

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_agent_process_abort_cb (gpointer user_data)
{
  SandboxAgentProcess *self = user_data;

  if (self->phase == PHASE_BUILDING)
    sandbox_agent_process_fail (self,
                                self->request != NULL && sandbox_request_is_cancelled (self->request)
                                    ? sandbox_error_new_cancelled ()
                                    : g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The session has been stopped"));
  else if (self->phase == PHASE_RUNNING)
    sandbox_process_end (SANDBOX_PROCESS (self), SANDBOX_OUTCOME_STOPPED);

  return G_SOURCE_REMOVE;
}

void
sandbox_agent_process_abort (SandboxAgentProcess *self)
{
  sandbox_worker_invoke (sandbox_agent_process_abort_cb, g_object_ref (self), g_object_unref);
}

/* The command's three descriptors; the host's ends become its streams. */
static gboolean
sandbox_agent_process_open_streams (SandboxAgentProcess *self,
                                    int                  fds[3],
                                    GError             **error)
{
  GBytes *input = sandbox_command_get_stdin (self->command);
  g_autoptr (GOutputStream) input_stream = NULL;
  g_autoptr (GInputStream) output_stream = NULL;
  g_autoptr (GInputStream) error_stream = NULL;
  int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };

  if (sandbox_command_wants_stdin_pipe (self->command))
    {
      if (pipe2 (pipes[0], O_CLOEXEC) == 0)
        {
          fds[0] = pipes[0][0];
          input_stream = sandbox_pipe_stream_new_take_fd (pipes[0][1]);
          g_unix_set_fd_nonblocking (pipes[0][1], TRUE, NULL);
        }
    }
  else if (input != NULL && g_bytes_get_size (input) > 0)
    fds[0] = sandbox_fd_new_sealed ("stdin", g_bytes_get_data (input, NULL), g_bytes_get_size (input));
  else
    fds[0] = open ("/dev/null", O_RDONLY | O_CLOEXEC);

  for (guint i = 1; i < 3 && fds[i - 1] >= 0; i++)
    if (pipe2 (pipes[i], O_CLOEXEC) == 0)
      fds[i] = pipes[i][1];

  if (pipes[1][0] >= 0)
    output_stream = g_unix_input_stream_new (pipes[1][0], TRUE);
  if (pipes[2][0] >= 0)
    error_stream = g_unix_input_stream_new (pipes[2][0], TRUE);
  if (fds[2] < 0 ||
      (pipes[0][0] >= 0 && !sandbox_agent_channel_own_fd (self->channel, pipes[0][0])) ||
      !sandbox_agent_channel_own_fd (self->channel, pipes[1][1]) ||
      !sandbox_agent_channel_own_fd (self->channel, pipes[2][1]))
    {
      sandbox_set_error_from_errno (error, errno, "Cannot open the streams of the command");
      return FALSE;
    }

  g_unix_set_fd_nonblocking (pipes[1][0], TRUE, NULL);
  g_unix_set_fd_nonblocking (pipes[2][0], TRUE, NULL);
  sandbox_process_set_streams (SANDBOX_PROCESS (self), input_stream, output_stream, error_stream);

  return TRUE;
}

static void
sandbox_agent_process_add_limit (SandboxAgentExec *exec,
                                 guint             resource,
                                 guint64           value)
{
  if (value == 0)
    return;

  exec->limits[exec->n_limits].resource = resource;
  exec->limits[exec->n_limits].value = value;
  exec->n_limits++;
}

static void
sandbox_agent_process_fill_limits (SandboxAgentProcess *self,
                                   SandboxAgentExec    *exec)
{
  SandboxLimits *limits = sandbox_command_get_limits (self->command);

  if (limits == NULL)
    return;

  sandbox_agent_process_add_limit (exec, RLIMIT_CPU, sandbox_limits_get_cpu_seconds (limits));
  sandbox_agent_process_add_limit (exec, RLIMIT_AS, sandbox_limits_get_address_space_bytes (limits));
  sandbox_agent_process_add_limit (exec, RLIMIT_FSIZE, sandbox_limits_get_file_size_bytes (limits));
  sandbox_agent_process_add_limit (exec, RLIMIT_NPROC, sandbox_limits_get_processes (limits));
  sandbox_agent_process_add_limit (exec, RLIMIT_NOFILE, sandbox_limits_get_open_files (limits));
}

static gboolean
sandbox_agent_process_send_exec (SandboxAgentProcess *self,
                                 const char *const   *environment,
                                 GError             **error)
{
  const char *const *argv = sandbox_command_get_argv (self->command);
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_EXEC, .n_fds = 3, .fds = { -1, -1, -1, -1 } };
  g_autofree char   *strings = NULL;
  g_autofree char   *cwd = sandbox_path_resolve (sandbox_command_get_cwd (self->command), SANDBOX_WORKSPACE_PATH, error);
  gsize              size = sandbox_agent_pack_strings (argv, environment, NULL, 0);
  gboolean           sent = FALSE;

  if (cwd == NULL)
    return FALSE;

  strings = g_malloc (size);
  sandbox_agent_pack_strings (argv, environment, strings, size);
  packet.exec.deadline_us = ((guint64) sandbox_command_get_timeout_ms (self->command) + AGENT_DEADLINE_SLACK_MS) * 1000;
  packet.exec.cwd = cwd;
  packet.exec.argc = g_strv_length ((char **) argv);
  packet.exec.envc = g_strv_length ((char **) environment);
  packet.exec.strings_size = MIN (size, G_MAXUINT32);
  packet.exec.strings = strings;
  sandbox_agent_process_fill_limits (self, &packet.exec);

  if (sandbox_agent_process_open_streams (self, packet.fds, error))
    {
      if (size > SANDBOX_AGENT_INLINE_MAX)
        {
          packet.exec.flags |= SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD;
          packet.exec.strings = NULL;
          packet.fds[3] = sandbox_fd_new_sealed ("arguments", strings, size);
          packet.n_fds = 4;
        }
      /* An agent that is gone already is told by the end of the socket, with the reason. */
      sent = (packet.n_fds == 3 || packet.fds[3] >= 0) &&
             (sandbox_agent_send (sandbox_agent_channel_get_socket (self->channel), &packet, self->buffer, SANDBOX_AGENT_PACKET_MAX) ||
              errno == EPIPE || errno == ECONNRESET);
      if (!sent)
        sandbox_set_error_from_errno (error, errno == EMSGSIZE ? E2BIG : errno, "Cannot hand “%s” to the sandbox", self->program);
    }

  for (guint i = 0; i < G_N_ELEMENTS (packet.fds) && i < 4; i++)
    sandbox_close_fd (packet.fds[i]);

  return sent;
}

SandboxAgentProcess *
sandbox_agent_process_start (SandboxAgentChannel *channel,
                             SandboxAgentSlots   *slots,
                             SandboxCommand      *command,
                             const char *const   *environment,
                             SandboxRequest      *request)
{
  g_autoptr (SandboxAgentProcess) self = g_object_new (SANDBOX_TYPE_AGENT_PROCESS, NULL);
  int     socket_fd = sandbox_agent_channel_get_socket (channel);
  GError *error = NULL;

  self->channel = g_object_ref (channel);
  self->slots = slots != NULL ? sandbox_agent_slots_ref (slots) : NULL;
  self->command = g_object_ref (command);
  self->program = sandbox_path_display (sandbox_command_get_argv (command)[0]);
  self->request = g_object_ref (request);
  self->buffer = g_malloc (SANDBOX_AGENT_PACKET_MAX);

  self->socket_watch = sandbox_worker_watch_fd (socket_fd, sandbox_agent_process_heard_cb, g_object_ref (self), g_object_unref);
  sandbox_agent_channel_watch_launcher (channel, sandbox_agent_process_launcher_ended_cb,
                                        g_object_ref (self), g_object_unref);
  self->limit = sandbox_agent_process_attach (self, g_timeout_source_new (START_LIMIT_MS),
                                              sandbox_agent_process_start_limit_cb);

  if (!sandbox_agent_channel_send_setup (channel, &error) ||
      !sandbox_agent_process_send_exec (self, environment, &error))
    sandbox_agent_process_fail (self, error);

  return g_steal_pointer (&self);
}
