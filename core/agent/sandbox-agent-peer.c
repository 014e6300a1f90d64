/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-peer-private.h"

#include "sandbox-agent-channel-private.h"
#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-worker-private.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define START_LIMIT_MS 10000
/* What was told to end is waited for so long. */
#define END_LIMIT_MS 2000
/* A launcher whose process 1 has ended waits for it, then ends by itself. One that lives on without anybody who speaks for
 * it is no bwrap; but the status of one that is about to end tells more than our signal would. */
#define LAUNCHER_LIMIT_MS 200
/* Who has been answered gets the processor first: what ends unmounts, which takes a while. */
#define FINISH_DELAY_MS 1

/* BUILDING → READY → OVER, with ENDING before OVER if it was told to end. ENDING waits until nothing can run any more, so
 * that an error means that nothing runs. */
typedef enum
{
  PHASE_BUILDING,
  PHASE_READY,
  PHASE_ENDING,
  PHASE_OVER,
} SandboxAgentPeerPhase;

struct _SandboxAgentPeer
{
  gatomicrefcount ref_count;

  SandboxAgentChannel         *channel;
  SandboxAgentPeer            *outer; /* nullable */
  const SandboxAgentPeerFuncs *funcs;
  gpointer                     user; /* until all is over */
  GDestroyNotify               notify;

  SandboxAgentPeerPhase phase;
  GError               *failure;
  GSource              *socket_watch; /* NULL: nothing will be said any more */
  GSource              *end_watch;    /* for the end of one that has no launcher, and no pidfd */
  GSource              *init_watch;
  GSource              *limit;
  GSource              *launcher_limit;
  gboolean              has_launcher;
  gboolean              launcher_ended;
  gboolean              has_hung_up; /* what end_watch was for */
  gboolean              is_sent;     /* what it may have read */
  gboolean              left_unread;
  gboolean              lost_init; /* it said HELLO, and there was no descriptor left for the pidfd */
  gboolean              has_doors;
  gboolean              in_outer;    /* then what it may have read ends with what it is in, for which there is a pidfd */
  gboolean              is_followed; /* beyond its being over */
  int                   spare_fd;    /* makes room for the next one */
  int                   init_fd;     /* pidfd of process 1; set before READY, closed with the object or in a forked child */
};

/* Packets pass through here one at a time: what an agent says has nothing in it that points into it. */
static char worker_buffer[SANDBOX_AGENT_PACKET_MAX];

static void sandbox_agent_peer_check (SandboxAgentPeer *self);

SandboxAgentPeer *
sandbox_agent_peer_ref (SandboxAgentPeer *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_agent_peer_unref (SandboxAgentPeer *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  sandbox_clear_fd (&self->spare_fd);
  sandbox_fork_close (&self->init_fd);
  g_clear_pointer (&self->outer, sandbox_agent_peer_unref);
  g_clear_object (&self->channel);
  g_clear_error (&self->failure);
  g_free (self);
}

static void
sandbox_agent_peer_unref_cb (gpointer data)
{
  sandbox_agent_peer_unref (data);
}

static void
sandbox_agent_peer_clear_source (GSource **source)
{
  if (*source == NULL)
    return;

  g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

static GSource *
sandbox_agent_peer_attach_timeout (SandboxAgentPeer *self,
                                   guint             ms,
                                   GSourceFunc       func)
{
  GSource *source = g_timeout_source_new (ms);

  g_source_set_callback (source, func, sandbox_agent_peer_ref (self), sandbox_agent_peer_unref_cb);
  g_source_attach (source, sandbox_get_worker_context ());

  return source;
}

/* The pidfd of whose end proves that of this one, or -1. */
static int
sandbox_agent_peer_get_init (SandboxAgentPeer *self)
{
  return self->in_outer ? self->outer->init_fd : self->init_fd;
}

static gboolean
sandbox_agent_peer_init_has_ended (SandboxAgentPeer *self)
{
  return sandbox_agent_peer_get_init (self) >= 0 && self->init_watch == NULL;
}

/* An agent without a launcher cannot say HELLO any more, and without that it reads no command. One that has said it is told
 * to end, and cannot answer that either. */
static void
sandbox_agent_peer_silence (SandboxAgentPeer *self)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_BYE };
  char               buffer[64];

  sandbox_agent_channel_silence (self->channel);
  if (self->lost_init)
    sandbox_agent_send (sandbox_agent_channel_get_socket (self->channel), &packet, buffer, sizeof buffer);
}

/* Process 1 takes the sandbox along, and its parent, which waits for it, ends by itself. Before there is a process 1, or
 * where it may not be killed, the launcher goes with all that it has made. */
void
sandbox_agent_peer_kill (SandboxAgentPeer *self)
{
  if (self->in_outer)
    sandbox_agent_peer_kill (self->outer);
  else if (self->init_fd < 0 && !self->has_launcher)
    sandbox_agent_peer_silence (self);
  else if (self->lost_init)
    sandbox_agent_channel_hang_up (self->channel);
  /* One that is gone already has a launcher that knows why. */
  else if (self->init_fd < 0 || (syscall (SYS_pidfd_send_signal, self->init_fd, SIGKILL, NULL, 0) < 0 && errno != ESRCH))
    sandbox_agent_channel_kill (self->channel);
}

static void
sandbox_agent_peer_over (SandboxAgentPeer *self)
{
  self->phase = PHASE_OVER;
  sandbox_agent_peer_clear_source (&self->socket_watch);
  sandbox_agent_peer_clear_source (&self->end_watch);
  if (!self->is_followed)
    sandbox_agent_peer_clear_source (&self->init_watch);
  sandbox_agent_peer_clear_source (&self->limit);
  if (self->has_doors)
    sandbox_agent_doors_remove (sandbox_agent_channel_get_doors (self->channel), self);
  self->funcs->over (self->user);
}

static gboolean
sandbox_agent_peer_end_limit_cb (gpointer user_data)
{
  SandboxAgentPeer *self = user_data;

  g_debug ("The end of a sandbox is not proven after %d ms", END_LIMIT_MS);
  sandbox_agent_channel_kill (self->channel);
  sandbox_agent_peer_over (self);
  sandbox_agent_peer_check (self);

  return G_SOURCE_REMOVE;
}

void
sandbox_agent_peer_end (SandboxAgentPeer *self)
{
  if (self->phase >= PHASE_ENDING)
    return;

  self->phase = PHASE_ENDING;
  sandbox_agent_peer_clear_source (&self->limit);
  self->limit = sandbox_agent_peer_attach_timeout (self, END_LIMIT_MS, sandbox_agent_peer_end_limit_cb);
  sandbox_agent_peer_kill (self);
}

static gboolean
sandbox_agent_peer_finish_cb (gpointer user_data)
{
  sandbox_agent_peer_kill (user_data);

  return G_SOURCE_REMOVE;
}

/* Process 1 is not trusted either: whatever it has not told of goes with it. */
void
sandbox_agent_peer_finish (SandboxAgentPeer *self,
                           gboolean          follow)
{
  if (self->phase != PHASE_READY || !self->launcher_ended)
    return;

  self->is_followed = follow;
  sandbox_agent_peer_over (self);
  if (follow)
    sandbox_agent_peer_kill (self);
  else
    g_source_unref (sandbox_agent_peer_attach_timeout (self, FINISH_DELAY_MS, sandbox_agent_peer_finish_cb));
}

void
sandbox_agent_peer_fail (SandboxAgentPeer *self,
                         GError           *error)
{
  if (self->phase != PHASE_BUILDING)
    {
      g_error_free (error);
      return;
    }

  self->failure = error;
  sandbox_agent_peer_end (self);
}

static gboolean
sandbox_agent_peer_start_limit_cb (gpointer user_data)
{
  SandboxAgentPeer *self = user_data;

  sandbox_agent_peer_fail (self, g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                              "The sandbox did not say within %d ms that it is ready, and was killed (step: %s)", START_LIMIT_MS,
                                              self->init_fd >= 0 ? "command" : "launcher"));

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_agent_peer_init_ended_cb (int          fd,
                                  GIOCondition condition,
                                  gpointer     user_data)
{
  SandboxAgentPeer *self = user_data;

  /* Destroyed by its own return: what is looked at now is whether it still stands. */
  g_clear_pointer (&self->init_watch, g_source_unref);
  sandbox_agent_peer_check (self);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_peer_take_hello (SandboxAgentPeer   *self,
                               SandboxAgentPacket *packet)
{
  if (self->init_fd >= 0 || self->lost_init)
    return;

  sandbox_fork_lock ();
  self->init_fd = g_steal_fd (&packet->fds[0]);
  sandbox_fork_watch (&self->init_fd);
  sandbox_fork_unlock ();
  self->init_watch = sandbox_worker_watch_fd (self->init_fd, sandbox_agent_peer_init_ended_cb,
                                              sandbox_agent_peer_ref (self), sandbox_agent_peer_unref_cb);
  /* It may have come after the kill. */
  if (self->phase == PHASE_ENDING)
    sandbox_agent_peer_kill (self);
}

/* FALSE: nothing more is expected. */
static gboolean
sandbox_agent_peer_fail_doors (SandboxAgentPeer *self)
{
  sandbox_agent_peer_fail (self, g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                              "The sandbox could not be built (step: %s): the agent did not hand out what it was asked for",
                                              sandbox_agent_step_to_string (SANDBOX_AGENT_STEP_DOOR)));
  sandbox_agent_peer_kill (self);

  return FALSE;
}

/* Not from an agent whose command may have run already. */
static gboolean
sandbox_agent_peer_take_doors (SandboxAgentPeer   *self,
                               SandboxAgentPacket *packet)
{
  SandboxAgentDoors *doors = sandbox_agent_channel_get_doors (self->channel);

  if (self->phase >= PHASE_ENDING)
    return TRUE;
  if (self->phase != PHASE_BUILDING || !sandbox_agent_peer_said_hello (self) || doors == NULL || self->has_doors)
    return sandbox_agent_peer_fail_doors (self);

  /* also if only some of them are: what has been added is removed at the end */
  self->has_doors = TRUE;

  return sandbox_agent_doors_add (doors, self, packet, sandbox_agent_channel_get_n_doors (self->channel)) ||
         sandbox_agent_peer_fail_doors (self);
}

static gboolean
sandbox_agent_peer_take_other (SandboxAgentPeer   *self,
                               SandboxAgentPacket *packet)
{
  const gboolean is_ready = packet->type == SANDBOX_AGENT_STARTED || packet->type == SANDBOX_AGENT_READY;

  /* Without its doors it is not the sandbox that was asked for. */
  if (is_ready && self->phase == PHASE_BUILDING && !self->has_doors && sandbox_agent_channel_get_n_doors (self->channel) > 0)
    return sandbox_agent_peer_fail_doors (self);

  return self->funcs->heard (self->user, packet);
}

/* FALSE when nothing more is expected. */
static gboolean
sandbox_agent_peer_take_packet (SandboxAgentPeer   *self,
                                SandboxAgentPacket *packet)
{
  switch ((guint) packet->type)
    {
    case SANDBOX_AGENT_HELLO:
      sandbox_agent_peer_take_hello (self, packet);
      return TRUE;

    case SANDBOX_AGENT_LISTEN:
      return sandbox_agent_peer_take_doors (self, packet);

    default:
      return sandbox_agent_peer_take_other (self, packet);
    }
}

/* What nobody understands ends the conversation, and what is at the other end. */
static void
sandbox_agent_peer_take_rejected (SandboxAgentPeer   *self,
                                  SandboxAgentPacket *packet)
{
  if (packet->lost_fds && self->init_fd < 0)
    self->lost_init = TRUE;

  if (!sandbox_agent_peer_may_have_read (self))
    /* Before the end that we give it is taken for the reason. */
    sandbox_agent_peer_fail (self, g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                                "The sandbox could not be built (step: launcher): %s",
                                                packet->lost_fds ? "this program can open no more files"
                                                                 : "what was started broke the protocol of the agent"));
  else if (self->lost_init && self->outer != NULL)
    {
      self->in_outer = TRUE;
      self->init_watch = sandbox_worker_watch_fd (self->outer->init_fd, sandbox_agent_peer_init_ended_cb,
                                                  sandbox_agent_peer_ref (self), sandbox_agent_peer_unref_cb);
    }
  sandbox_agent_peer_kill (self);
}

/* Reads all that has been said. FALSE when nothing will be said any more. */
static gboolean
sandbox_agent_peer_listen (SandboxAgentPeer *self)
{
  const int socket_fd = sandbox_agent_channel_get_socket (self->channel);
  gboolean  more = TRUE;

  while (more)
    {
      SandboxAgentPacket  packet = { .n_fds = 0 };
      SandboxAgentReceipt receipt = SANDBOX_AGENT_END;

      sandbox_clear_fd (&self->spare_fd);
      receipt = sandbox_agent_receive (socket_fd, SANDBOX_AGENT_FROM_AGENT, worker_buffer, sizeof worker_buffer, &packet);
      self->left_unread |= packet.left_unread;
      switch (receipt)
        {
        case SANDBOX_AGENT_RECEIVED:
          more = sandbox_agent_peer_take_packet (self, &packet);
          sandbox_agent_packet_close_fds (&packet);
          break;

        case SANDBOX_AGENT_AGAIN:
          return TRUE;

        case SANDBOX_AGENT_REJECTED:
          sandbox_agent_peer_take_rejected (self, &packet);
          more = FALSE;
          break;

        case SANDBOX_AGENT_END:
        default:
          more = FALSE;
          break;
        }
    }

  return FALSE;
}

static void
sandbox_agent_peer_hear (SandboxAgentPeer *self)
{
  if (self->socket_watch == NULL || sandbox_agent_peer_listen (self))
    return;

  sandbox_agent_peer_clear_source (&self->socket_watch);
  if (self->phase < PHASE_ENDING)
    self->funcs->silent (self->user);
}

static gboolean
sandbox_agent_peer_heard_cb (int          fd,
                             GIOCondition condition,
                             gpointer     user_data)
{
  SandboxAgentPeer *self = user_data;

  sandbox_agent_peer_hear (self);
  if (self->socket_watch != NULL)
    return G_SOURCE_CONTINUE;

  sandbox_agent_peer_check (self);

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_agent_peer_launcher_ended_cb (gpointer user_data)
{
  SandboxAgentPeer *self = user_data;

  self->launcher_ended = TRUE;
  sandbox_agent_peer_clear_source (&self->launcher_limit);
  sandbox_agent_peer_check (self);

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_agent_peer_launcher_limit_cb (gpointer user_data)
{
  SandboxAgentPeer *self = user_data;

  sandbox_agent_channel_kill (self->channel);

  return G_SOURCE_REMOVE;
}

/* Once it has nothing to wait for. */
static void
sandbox_agent_peer_limit_launcher (SandboxAgentPeer *self)
{
  const gboolean had_init = self->init_fd >= 0;

  if (self->launcher_ended || self->launcher_limit != NULL)
    return;

  if (had_init ? sandbox_agent_peer_init_has_ended (self) : self->socket_watch == NULL)
    self->launcher_limit = sandbox_agent_peer_attach_timeout (self, sandbox_agent_peer_said_hello (self) ? END_LIMIT_MS : LAUNCHER_LIMIT_MS,
                                                              sandbox_agent_peer_launcher_limit_cb);
}

static gboolean
sandbox_agent_peer_hung_up_cb (int          fd,
                               GIOCondition condition,
                               gpointer     user_data)
{
  SandboxAgentPeer *self = user_data;

  g_clear_pointer (&self->end_watch, g_source_unref);
  self->has_hung_up = TRUE;
  sandbox_agent_peer_check (self);

  return G_SOURCE_REMOVE;
}

/* An agent that has not said HELLO is being made, or is yet to be. It has ended when nobody has its socket. */
static void
sandbox_agent_peer_watch_end (SandboxAgentPeer *self)
{
  if (sandbox_agent_peer_get_init (self) >= 0 || self->has_launcher || self->socket_watch != NULL ||
      self->end_watch != NULL || self->has_hung_up || self->phase == PHASE_OVER)
    return;

  self->end_watch = g_unix_fd_source_new (sandbox_agent_channel_get_socket (self->channel), G_IO_HUP);
  g_source_set_callback (self->end_watch, G_SOURCE_FUNC (sandbox_agent_peer_hung_up_cb),
                         sandbox_agent_peer_ref (self), sandbox_agent_peer_unref_cb);
  g_source_attach (self->end_watch, sandbox_get_worker_context ());
}

/* Without a process 1 there is only what may still make one. */
static gboolean
sandbox_agent_peer_is_dead (SandboxAgentPeer *self)
{
  if (sandbox_agent_peer_get_init (self) >= 0)
    return sandbox_agent_peer_init_has_ended (self);

  return self->phase > PHASE_BUILDING && (self->has_launcher ? self->launcher_ended : self->has_hung_up);
}

/* What is still being built and says nothing any more will not be ready. */
static void
sandbox_agent_peer_check_building (SandboxAgentPeer *self)
{
  if (self->phase != PHASE_BUILDING || self->socket_watch != NULL)
    return;

  /* The end of the launcher says why. */
  if (self->launcher_ended)
    sandbox_agent_peer_fail (self, self->funcs->explain (self->user));
  else if (self->init_fd >= 0 && !sandbox_agent_peer_init_has_ended (self))
    sandbox_agent_peer_kill (self);
}

/* Looks how far it is: after each of the things that end. */
static void
sandbox_agent_peer_check (SandboxAgentPeer *self)
{
  g_autoptr (SandboxAgentPeer) keep = sandbox_agent_peer_ref (self);

  /* What process 1 said last may still be unread, and with a HELLO there is an end to wait for. */
  if (sandbox_agent_peer_init_has_ended (self) || self->launcher_ended)
    sandbox_agent_peer_hear (self);
  sandbox_agent_peer_check_building (self);
  sandbox_agent_peer_watch_end (self);
  /* One that was never ready is over with its reason, for which the launcher is waited for. */
  if (self->phase < PHASE_OVER && sandbox_agent_peer_is_dead (self) &&
      (self->launcher_ended || (!self->funcs->needs_launcher_end && self->phase != PHASE_BUILDING)))
    sandbox_agent_peer_over (self);

  sandbox_agent_peer_limit_launcher (self);
  if (self->phase == PHASE_OVER && self->launcher_ended && self->user != NULL &&
      (!self->is_followed || sandbox_agent_peer_init_has_ended (self)))
    self->notify (g_steal_pointer (&self->user));
}

SandboxAgentPeer *
sandbox_agent_peer_new (SandboxAgentChannel         *channel,
                        SandboxAgentPeer            *outer,
                        const SandboxAgentPeerFuncs *funcs,
                        gpointer                     user,
                        GDestroyNotify               notify)
{
  SandboxAgentPeer *self = g_new0 (SandboxAgentPeer, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->channel = g_object_ref (channel);
  self->outer = outer != NULL ? sandbox_agent_peer_ref (outer) : NULL;
  self->funcs = funcs;
  self->user = user;
  self->notify = notify;
  self->spare_fd = -1;
  self->init_fd = -1;

  return self;
}

void
sandbox_agent_peer_watch (SandboxAgentPeer *self)
{
  self->socket_watch = sandbox_worker_watch_fd (sandbox_agent_channel_get_socket (self->channel), sandbox_agent_peer_heard_cb,
                                                sandbox_agent_peer_ref (self), sandbox_agent_peer_unref_cb);
  self->has_launcher = sandbox_agent_channel_watch_launcher (self->channel, sandbox_agent_peer_launcher_ended_cb,
                                                             sandbox_agent_peer_ref (self), sandbox_agent_peer_unref_cb);
  self->launcher_ended = !self->has_launcher;
  self->limit = sandbox_agent_peer_attach_timeout (self, START_LIMIT_MS, sandbox_agent_peer_start_limit_cb);
}

gboolean
sandbox_agent_peer_send (SandboxAgentPeer         *self,
                         const SandboxAgentPacket *packet)
{
  if (sandbox_agent_send (sandbox_agent_channel_get_socket (self->channel), packet, worker_buffer, sizeof worker_buffer))
    {
      self->is_sent = TRUE;
      return TRUE;
    }

  if (errno == ECONNRESET)
    {
      self->left_unread = TRUE;
      errno = EPIPE;
    }

  return FALSE;
}

void
sandbox_agent_peer_take_spare (SandboxAgentPeer *self,
                               int               fd)
{
  sandbox_close_fd (self->spare_fd);
  self->spare_fd = fd;
}

gboolean
sandbox_agent_peer_set_ready (SandboxAgentPeer *self)
{
  /* Without a HELLO before it there would be no proof of the end. */
  if (self->phase != PHASE_BUILDING || !sandbox_agent_peer_said_hello (self))
    {
      sandbox_agent_peer_kill (self);
      return FALSE;
    }

  self->phase = PHASE_READY;
  sandbox_agent_peer_clear_source (&self->limit);

  return TRUE;
}

gboolean
sandbox_agent_peer_is_ready (SandboxAgentPeer *self)
{
  return self->phase == PHASE_READY;
}

gboolean
sandbox_agent_peer_is_building (SandboxAgentPeer *self)
{
  return self->phase == PHASE_BUILDING;
}

gboolean
sandbox_agent_peer_is_over (SandboxAgentPeer *self)
{
  return self->phase == PHASE_OVER;
}

const GError *
sandbox_agent_peer_get_failure (SandboxAgentPeer *self)
{
  return self->failure;
}

gboolean
sandbox_agent_peer_said_hello (SandboxAgentPeer *self)
{
  return self->init_fd >= 0 || self->lost_init;
}

gboolean
sandbox_agent_peer_may_have_read (SandboxAgentPeer *self)
{
  return self->is_sent && sandbox_agent_peer_said_hello (self) && !self->left_unread;
}
