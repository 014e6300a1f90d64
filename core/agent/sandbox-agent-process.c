/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-process-private.h"

#include "sandbox-agent-channel-private.h"
#include "sandbox-agent-group-private.h"
#include "sandbox-agent-peer-private.h"
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
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* An agent that was told to kill its command is killed itself so much later. */
#define KILL_LIMIT_MS 250
/* The agent's own deadline is for a host that has been stopped; a host that runs is earlier. */
#define AGENT_DEADLINE_SLACK_MS 500

struct _SandboxAgentProcess
{
  SandboxProcess parent_instance;

  SandboxAgentChannel *channel;
  SandboxAgentPeer    *peer; /* ready: the command runs */
  SandboxCommand      *command;
  char                *program; /* as it may be shown */

  /* the worker's */
  SandboxRequest       *request; /* until it is answered */
  SandboxAgentSlots    *slots;   /* whose slot it is in; until that is released */
  SandboxAgentAgainFunc again;   /* nullable */
  gpointer              again_data;
  GDestroyNotify        again_notify;
  gboolean              is_counted; /* what is left of it would count for the next command */
  gboolean              is_clean;   /* it ended by itself, and the command had not been read */

  gint exited; /* atomic */
};

G_DEFINE_FINAL_TYPE (SandboxAgentProcess, sandbox_agent_process, SANDBOX_TYPE_PROCESS)

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

  if (sandbox_agent_peer_is_ready (self->peer))
    sandbox_agent_peer_kill (self->peer);

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
      sandbox_agent_peer_kill (self->peer);
      return TRUE;
    }

  limit = g_timeout_source_new (KILL_LIMIT_MS);
  g_source_set_callback (limit, sandbox_agent_process_kill_limit_cb, g_object_ref (self), g_object_unref);
  g_source_attach (limit, sandbox_get_worker_context ());

  return TRUE;
}

static void
sandbox_agent_process_finalize (GObject *object)
{
  SandboxAgentProcess *self = SANDBOX_AGENT_PROCESS (object);

  g_clear_pointer (&self->peer, sandbox_agent_peer_unref);
  g_clear_object (&self->channel);
  g_clear_object (&self->command);
  g_clear_object (&self->request);
  g_clear_pointer (&self->program, g_free);

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

static void
sandbox_agent_process_clear_again (SandboxAgentProcess *self)
{
  self->again = NULL;
  if (self->again_data != NULL)
    self->again_notify (g_steal_pointer (&self->again_data));
}

/* FALSE if that may not be now. */
static gboolean
sandbox_agent_process_take_started (SandboxAgentProcess *self)
{
  g_autoptr (SandboxRequest) request = NULL;

  if (!sandbox_agent_peer_set_ready (self->peer))
    return FALSE;

  request = g_steal_pointer (&self->request);
  sandbox_agent_process_clear_again (self);
  sandbox_request_return_object (request, G_OBJECT (self));

  return TRUE;
}

static gboolean
sandbox_agent_process_take_exited (SandboxAgentProcess      *self,
                                   const SandboxAgentExited *exited)
{
  if (!sandbox_agent_peer_is_ready (self->peer))
    return TRUE;

  g_atomic_int_set (&self->exited, TRUE);
  sandbox_agent_process_tell_limits (self, exited);
  sandbox_process_set_exited (SANDBOX_PROCESS (self), exited->wait_status,
                              exited->user_us, exited->system_us, exited->peak_memory);
  /* The last process of a slot is process 1, which takes some time to end: it unmounts. */
  if ((exited->flags & SANDBOX_AGENT_EXITED_ALONE) != 0)
    sandbox_agent_peer_finish (self->peer, self->is_counted);

  return FALSE;
}

static gboolean
sandbox_agent_process_heard (gpointer            user,
                             SandboxAgentPacket *packet)
{
  SandboxAgentProcess *self = user;

  switch ((guint) packet->type)
    {
    case SANDBOX_AGENT_STARTED:
      sandbox_agent_process_take_started (self);
      return TRUE;

    case SANDBOX_AGENT_FAILED:
      sandbox_agent_peer_fail (self->peer, sandbox_agent_process_failed_error (self, &packet->failed));
      return TRUE;

    case SANDBOX_AGENT_EXITED:
      return sandbox_agent_process_take_exited (self, &packet->exited);

    default:
      return TRUE;
    }
}

static void
sandbox_agent_process_silent (gpointer user)
{
  SandboxAgentProcess *self = user;

  /* It told of no start, and yet its program may have run, and have put an end to the agent. That is an end which nobody
   * knows, and not a start that failed. */
  if (sandbox_agent_peer_is_building (self->peer) && sandbox_agent_peer_may_have_read (self->peer))
    sandbox_agent_process_take_started (self);
  /* An agent that has told of the end of its command is ending, and what it leaves to its parent is not to be disturbed. */
  if (sandbox_agent_peer_is_ready (self->peer) && !g_atomic_int_get (&self->exited))
    sandbox_agent_peer_kill (self->peer);
}

/* An agent that is gone without a word, or a launcher that never got so far. */
static GError *
sandbox_agent_process_explain (gpointer user)
{
  SandboxAgentProcess *self = user;
  SandboxAgentGroup   *group = sandbox_agent_channel_get_group (self->channel);
  SandboxOutcome       outcome = SANDBOX_OUTCOME_LOST;
  guint64              value = 0;
  guint64              peak = 0;

  if (group != NULL && sandbox_agent_group_find_outcome (group, TRUE, &outcome, &value, &peak))
    return g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                        "The sandbox itself needs more than the limit of %" G_GUINT64_FORMAT " %s",
                        value, outcome == SANDBOX_OUTCOME_MEMORY_LIMIT ? "bytes of memory" : "processes and threads");

  self->is_clean = TRUE;

  return sandbox_agent_channel_make_end_error (self->channel, sandbox_agent_peer_said_hello (self->peer));
}

static void
sandbox_agent_process_answer_failed (SandboxAgentProcess *self)
{
  g_autoptr (SandboxRequest) request = g_steal_pointer (&self->request);

  if (self->is_clean && self->slots != NULL)
    sandbox_agent_slots_look (self->slots);
  if (!self->is_clean || self->again == NULL || !self->again (self->again_data, request))
    sandbox_request_return_error (request, sandbox_agent_peer_get_failure (self->peer));
  sandbox_agent_process_clear_again (self);
}

/* Nothing more is expected; who waited is answered. */
static void
sandbox_agent_process_over (gpointer user)
{
  SandboxAgentProcess *self = user;

  if (self->request != NULL)
    sandbox_agent_process_answer_failed (self);
  else
    {
      /* A sandbox that was killed as a whole has told of no end. */
      if (!g_atomic_int_get (&self->exited))
        sandbox_agent_process_tell_group (self, TRUE);
      sandbox_process_set_gone (SANDBOX_PROCESS (self));
    }

  /* after the answer */
  if (self->slots != NULL && self->is_counted)
    sandbox_agent_slots_add_ending (self->slots);
  else if (self->slots != NULL)
    {
      sandbox_agent_slots_release (self->slots);
      g_clear_pointer (&self->slots, sandbox_agent_slots_unref);
    }
}

static const SandboxAgentPeerFuncs sandbox_agent_process_funcs = {
  .heard = sandbox_agent_process_heard,
  .silent = sandbox_agent_process_silent,
  .explain = sandbox_agent_process_explain,
  .over = sandbox_agent_process_over,
};

/* Nothing is alive that belongs there, and the evidence has been seen. */
static void
sandbox_agent_process_release (gpointer user)
{
  SandboxAgentProcess *self = user;
  SandboxAgentGroup   *group = sandbox_agent_channel_get_group (self->channel);

  if (group != NULL)
    sandbox_agent_group_end (group);
  if (self->slots != NULL)
    sandbox_agent_slots_release_ending (self->slots);
  g_clear_pointer (&self->slots, sandbox_agent_slots_unref);
  g_object_unref (self);
}

static gboolean
sandbox_agent_process_abort_cb (gpointer user_data)
{
  SandboxAgentProcess *self = user_data;

  if (sandbox_agent_peer_is_building (self->peer))
    sandbox_agent_peer_fail (self->peer,
                             self->request != NULL && sandbox_request_is_cancelled (self->request)
                                 ? sandbox_error_new_cancelled ()
                                 : g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The session has been stopped"));
  else if (sandbox_agent_peer_is_ready (self->peer))
    sandbox_process_end (SANDBOX_PROCESS (self), SANDBOX_OUTCOME_STOPPED);

  return G_SOURCE_REMOVE;
}

void
sandbox_agent_process_abort (SandboxAgentProcess *self)
{
  sandbox_worker_invoke (sandbox_agent_process_abort_cb, g_object_ref (self), g_object_unref);
}

/* The command's three descriptors, and the other ends of those that are pipes. What is open is closed by the caller. */
static gboolean
sandbox_agent_process_open_pipes (SandboxAgentProcess *self,
                                  int                  guest[3],
                                  int                  host[3],
                                  GError             **error)
{
  const gboolean has_pipe = sandbox_command_wants_stdin_pipe (self->command);
  GBytes        *input = sandbox_command_get_stdin (self->command);
  gboolean       good = TRUE;

  if (!has_pipe)
    {
      guest[0] = input != NULL && g_bytes_get_size (input) > 0
                     ? sandbox_fd_new_sealed ("stdin", g_bytes_get_data (input, NULL), g_bytes_get_size (input))
                     : open ("/dev/null", O_RDONLY | O_CLOEXEC);
      good = guest[0] >= 0;
    }
  for (guint i = has_pipe ? 0 : 1; i < 3 && good; i++)
    {
      int ends[2] = { -1, -1 };

      good = pipe2 (ends, O_CLOEXEC) == 0;
      guest[i] = ends[i == 0 ? 0 : 1];
      host[i] = ends[i == 0 ? 1 : 0];
      good = good && sandbox_agent_channel_own_fd (self->channel, guest[i]);
    }
  if (!good)
    sandbox_set_error_from_errno (error, errno, "Cannot open the streams of the command");

  return good;
}

/* The host's ends become what the process has. */
static void
sandbox_agent_process_take_pipes (SandboxAgentProcess *self,
                                  int                  host[3])
{
  g_autoptr (GOutputStream) input_stream = NULL;

  /* these flags, and no others: they are new */
  for (guint i = 0; i < 3; i++)
    if (host[i] >= 0)
      fcntl (host[i], F_SETFL, O_NONBLOCK);
  if (host[0] >= 0)
    input_stream = sandbox_pipe_stream_new_take_fd (g_steal_fd (&host[0]));
  sandbox_process_take_pipes (SANDBOX_PROCESS (self), input_stream, &host[1]);
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
  guint64        processes = limits != NULL ? sandbox_limits_get_processes (limits) : 0;

  if (limits == NULL)
    return;

  /* The kernel counts the agents of all slots, and a command gets what it asked for. */
  self->is_counted = self->slots != NULL && sandbox_agent_slots_is_counted (processes);
  if (self->slots != NULL && processes > 0)
    processes += sandbox_agent_slots_count_others (self->slots, self->is_counted);

  sandbox_agent_process_add_limit (exec, RLIMIT_CPU, sandbox_limits_get_cpu_seconds (limits));
  sandbox_agent_process_add_limit (exec, RLIMIT_AS, sandbox_limits_get_address_space_bytes (limits));
  sandbox_agent_process_add_limit (exec, RLIMIT_FSIZE, sandbox_limits_get_file_size_bytes (limits));
  sandbox_agent_process_add_limit (exec, RLIMIT_NPROC, processes);
  sandbox_agent_process_add_limit (exec, RLIMIT_NOFILE, sandbox_limits_get_open_files (limits));
}

static gboolean
sandbox_agent_process_send_exec (SandboxAgentProcess *self,
                                 const char *const   *environment,
                                 int                  host[3],
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

  if (sandbox_agent_process_open_pipes (self, packet.fds, host, error))
    {
      if (size > SANDBOX_AGENT_INLINE_MAX)
        {
          packet.exec.flags |= SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD;
          packet.exec.strings = NULL;
          packet.fds[3] = sandbox_fd_new_sealed ("arguments", strings, size);
          packet.n_fds = 4;
        }
      sent = (packet.n_fds == 3 || packet.fds[3] >= 0) && (sandbox_agent_peer_send (self->peer, &packet) || errno == EPIPE);
      if (!sent)
        sandbox_set_error_from_errno (error, errno == EMSGSIZE ? E2BIG : errno, "Cannot hand “%s” to the sandbox", self->program);
    }

  /* Nobody waits for the end of an input that is no pipe. */
  if (sent && host[0] < 0)
    sandbox_agent_peer_take_spare (self->peer, g_steal_fd (&packet.fds[0]));
  for (guint i = 0; i < 4; i++)
    sandbox_close_fd (packet.fds[i]);

  return sent;
}

SandboxAgentProcess *
sandbox_agent_process_start (SandboxAgentChannel  *channel,
                             SandboxAgentSlots    *slots,
                             SandboxCommand       *command,
                             const char *const    *environment,
                             SandboxRequest       *request,
                             SandboxAgentAgainFunc again,
                             gpointer              again_data,
                             GDestroyNotify        again_notify)
{
  g_autoptr (SandboxAgentProcess) self = g_object_new (SANDBOX_TYPE_AGENT_PROCESS, NULL);
  int     host[3] = { -1, -1, -1 };
  GError *error = NULL;

  self->channel = g_object_ref (channel);
  self->slots = slots != NULL ? sandbox_agent_slots_ref (slots) : NULL;
  self->command = g_object_ref (command);
  self->program = sandbox_path_display (sandbox_command_get_argv (command)[0]);
  self->request = g_object_ref (request);
  self->again = again;
  self->again_data = again_data;
  self->again_notify = again_notify;

  self->peer = sandbox_agent_peer_new (channel, slots != NULL ? sandbox_agent_slots_get_peer (slots) : NULL, &sandbox_agent_process_funcs, g_object_ref (self), sandbox_agent_process_release);
  /* First of all: everything else is done while the agent is at it. One that has said HELLO has only waited for this, and gets the
   * processor; another one needs longer than what is left to be done here. */
  if (sandbox_agent_channel_send_setup (channel, &error) &&
      sandbox_agent_process_send_exec (self, environment, host, &error))
    {
      if (sandbox_agent_channel_has_news (channel))
        g_thread_yield ();
      sandbox_agent_process_take_pipes (self, host);
    }
  sandbox_agent_peer_watch (self->peer);
  if (error != NULL)
    sandbox_agent_peer_fail (self->peer, error);
  for (guint i = 0; i < G_N_ELEMENTS (host); i++)
    sandbox_clear_fd (&host[i]);

  return g_steal_pointer (&self);
}
