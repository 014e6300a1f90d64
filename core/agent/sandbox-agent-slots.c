/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-slots-private.h"

#include "sandbox-agent-channel-private.h"
#include "sandbox-agent-protocol.h"
#include "sandbox-error-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-worker-private.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define START_LIMIT_MS 10000
#define END_LIMIT_MS 2000
/* A launcher that lives on with nothing to wait for is no bwrap. */
#define LAUNCHER_LIMIT_MS 200

/* BUILDING → READY → ENDING → OVER, or BUILDING → ENDING → OVER. */
typedef enum
{
  PHASE_BUILDING,
  PHASE_READY,
  PHASE_ENDING,
  PHASE_OVER,
} SandboxAgentSlotsPhase;

struct _SandboxAgentSlots
{
  grefcount ref_count;

  SandboxAgentChannel    *channel;
  SandboxAgentSlotsManner manner;
  SandboxAgentSlotsFunc   func; /* NULL once it is over */
  gpointer                data;
  GDestroyNotify          notify;

  SandboxAgentSlotsPhase phase;
  GError                *failure;
  GQueue                 armed;  /* of SandboxAgentChannel */
  guint                  n_live; /* taken and not released */
  GSource               *socket_watch;
  GSource               *init_watch;
  GSource               *limit;
  GSource               *rest;
  GSource               *launcher_limit;
  gboolean               launcher_ended;
  int                    init_fd; /* pidfd of process 1; gone in a forked child */
  char                  *buffer;
};

static void sandbox_agent_slots_check (SandboxAgentSlots *self);

SandboxAgentSlots *
sandbox_agent_slots_ref (SandboxAgentSlots *self)
{
  g_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_agent_slots_unref (SandboxAgentSlots *self)
{
  if (!g_ref_count_dec (&self->ref_count))
    return;

  g_queue_clear_full (&self->armed, g_object_unref);
  sandbox_fork_close (&self->init_fd);
  g_clear_object (&self->channel);
  g_clear_error (&self->failure);
  g_free (self->buffer);
  g_free (self);
}

static void
sandbox_agent_slots_unref_cb (gpointer data)
{
  sandbox_agent_slots_unref (data);
}

static void
sandbox_agent_slots_clear_source (GSource **source)
{
  if (*source == NULL)
    return;

  g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

static GSource *
sandbox_agent_slots_attach_timeout (SandboxAgentSlots *self,
                                    guint              ms,
                                    GSourceFunc        func)
{
  GSource *source = g_timeout_source_new (ms);

  g_source_set_callback (source, func, sandbox_agent_slots_ref (self), sandbox_agent_slots_unref_cb);
  g_source_attach (source, sandbox_get_worker_context ());

  return source;
}

static void
sandbox_agent_slots_kill (SandboxAgentSlots *self)
{
  if (self->init_fd < 0 || syscall (SYS_pidfd_send_signal, self->init_fd, SIGKILL, NULL, 0) < 0)
    sandbox_agent_channel_kill (self->channel);
}

static void
sandbox_agent_slots_over (SandboxAgentSlots *self)
{
  const SandboxAgentSlotsFunc func = g_steal_pointer (&self->func);

  self->phase = PHASE_OVER;
  sandbox_agent_slots_clear_source (&self->socket_watch);
  sandbox_agent_slots_clear_source (&self->init_watch);
  sandbox_agent_slots_clear_source (&self->limit);
  sandbox_agent_slots_clear_source (&self->launcher_limit);
  func (self, self->data);
  if (self->notify != NULL)
    self->notify (self->data);
}

static gboolean
sandbox_agent_slots_end_limit_cb (gpointer user_data)
{
  SandboxAgentSlots *self = user_data;

  g_debug ("The end of the sandbox of a session is not proven after %d ms", END_LIMIT_MS);
  sandbox_agent_channel_kill (self->channel);
  sandbox_agent_slots_over (self);

  return G_SOURCE_REMOVE;
}

void
sandbox_agent_slots_end (SandboxAgentSlots *self)
{
  if (self->phase >= PHASE_ENDING)
    return;

  self->phase = PHASE_ENDING;
  g_queue_clear_full (&self->armed, g_object_unref);
  sandbox_agent_slots_clear_source (&self->rest);
  sandbox_agent_slots_clear_source (&self->limit);
  self->limit = sandbox_agent_slots_attach_timeout (self, END_LIMIT_MS, sandbox_agent_slots_end_limit_cb);
  sandbox_agent_slots_kill (self);
}

/* It does not become ready; @error is taken. The first reason stands. */
static void
sandbox_agent_slots_fail (SandboxAgentSlots *self,
                          GError            *error)
{
  if (self->phase != PHASE_BUILDING)
    {
      g_error_free (error);
      return;
    }

  self->failure = error;
  sandbox_agent_slots_end (self);
}

static gboolean
sandbox_agent_slots_start_limit_cb (gpointer user_data)
{
  SandboxAgentSlots *self = user_data;

  sandbox_agent_slots_fail (self, g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                               "The sandbox was not built within %d ms (step: launcher)", START_LIMIT_MS));

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_agent_slots_init_ended_cb (int          fd,
                                   GIOCondition condition,
                                   gpointer     user_data)
{
  SandboxAgentSlots *self = user_data;

  g_clear_pointer (&self->init_watch, g_source_unref);
  sandbox_agent_slots_check (self);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_slots_take_hello (SandboxAgentSlots  *self,
                                SandboxAgentPacket *packet)
{
  if (self->init_fd >= 0)
    return;

  sandbox_fork_lock ();
  self->init_fd = g_steal_fd (&packet->fds[0]);
  sandbox_fork_watch (&self->init_fd);
  sandbox_fork_unlock ();
  self->init_watch = sandbox_worker_watch_fd (self->init_fd, sandbox_agent_slots_init_ended_cb,
                                              sandbox_agent_slots_ref (self), sandbox_agent_slots_unref_cb);
  /* It may have come after the kill. */
  if (self->phase == PHASE_ENDING)
    sandbox_agent_slots_kill (self);
}

static void
sandbox_agent_slots_take_packet (SandboxAgentSlots  *self,
                                 SandboxAgentPacket *packet)
{
  switch ((guint) packet->type)
    {
    case SANDBOX_AGENT_HELLO:
      sandbox_agent_slots_take_hello (self, packet);
      break;

    case SANDBOX_AGENT_READY:
      /* Without a HELLO before it there would be no proof of the end. */
      if (self->phase == PHASE_BUILDING && self->init_fd >= 0)
        {
          self->phase = PHASE_READY;
          sandbox_agent_slots_clear_source (&self->limit);
          self->func (self, self->data);
        }
      else
        sandbox_agent_slots_end (self);
      break;

    case SANDBOX_AGENT_FAILED:
      sandbox_agent_slots_fail (self, g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                                   "The sandbox could not be built (step: %s): %s",
                                                   sandbox_agent_step_to_string (packet->failed.step), g_strerror (packet->failed.error)));
      break;

    default:
      sandbox_agent_slots_end (self);
      break;
    }
}

/* Reads all that has been said. FALSE when nothing will be said any more. */
static gboolean
sandbox_agent_slots_listen (SandboxAgentSlots *self)
{
  for (;;)
    {
      SandboxAgentPacket packet = { .n_fds = 0 };

      switch (sandbox_agent_receive (sandbox_agent_channel_get_socket (self->channel), SANDBOX_AGENT_FROM_AGENT,
                                     self->buffer, SANDBOX_AGENT_PACKET_MAX, &packet))
        {
        case SANDBOX_AGENT_RECEIVED:
          sandbox_agent_slots_take_packet (self, &packet);
          sandbox_agent_packet_close_fds (&packet);
          break;

        case SANDBOX_AGENT_AGAIN:
          return TRUE;

        case SANDBOX_AGENT_REJECTED:
          sandbox_agent_slots_fail (self, g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                                               "The sandbox could not be built (step: launcher): "
                                                               "what was started broke the protocol of the agent"));
          sandbox_agent_slots_end (self);
          return FALSE;

        case SANDBOX_AGENT_END:
        default:
          return FALSE;
        }
    }
}

static gboolean
sandbox_agent_slots_heard_cb (int          fd,
                              GIOCondition condition,
                              gpointer     user_data)
{
  SandboxAgentSlots *self = user_data;

  if (sandbox_agent_slots_listen (self))
    return G_SOURCE_CONTINUE;

  g_clear_pointer (&self->socket_watch, g_source_unref);
  sandbox_agent_slots_check (self);

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_agent_slots_launcher_ended_cb (gpointer user_data)
{
  SandboxAgentSlots *self = user_data;

  self->launcher_ended = TRUE;
  sandbox_agent_slots_check (self);

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_agent_slots_launcher_limit_cb (gpointer user_data)
{
  SandboxAgentSlots *self = user_data;

  sandbox_agent_channel_kill (self->channel);

  return G_SOURCE_REMOVE;
}

/* Looks how far it is: after each of the things that end. */
static void
sandbox_agent_slots_check (SandboxAgentSlots *self)
{
  g_autoptr (SandboxAgentSlots) keep = sandbox_agent_slots_ref (self);
  gboolean init_ended = self->init_fd >= 0 && self->init_watch == NULL;

  if (self->phase == PHASE_OVER)
    return;

  /* What process 1 said last may still be unread, and with a HELLO there is an end to wait for. */
  if (self->socket_watch != NULL && (init_ended || self->launcher_ended) && !sandbox_agent_slots_listen (self))
    sandbox_agent_slots_clear_source (&self->socket_watch);
  init_ended = self->init_fd >= 0 && self->init_watch == NULL;

  if (self->phase == PHASE_BUILDING && self->socket_watch == NULL && self->launcher_ended)
    sandbox_agent_slots_fail (self, sandbox_agent_channel_make_end_error (self->channel, self->init_fd >= 0));
  /* An end of the socket is the end of the sandbox. While it is being built, that of the launcher says why. */
  else if (self->socket_watch == NULL && self->phase == PHASE_READY)
    sandbox_agent_slots_end (self);

  /* Process 1 goes first, and its parent, which is our child, by itself. */
  if (self->socket_watch == NULL && !self->launcher_ended && self->launcher_limit == NULL && (init_ended || self->init_fd < 0))
    self->launcher_limit = sandbox_agent_slots_attach_timeout (self, LAUNCHER_LIMIT_MS, sandbox_agent_slots_launcher_limit_cb);
  if (self->phase == PHASE_ENDING && (init_ended || self->init_fd < 0) && self->launcher_ended)
    sandbox_agent_slots_over (self);
}

SandboxAgentSlots *
sandbox_agent_slots_new (SandboxAgentChannel           *channel,
                         const SandboxAgentSlotsManner *manner,
                         SandboxAgentSlotsFunc          func,
                         gpointer                       data,
                         GDestroyNotify                 notify)
{
  SandboxAgentSlots *self = g_new0 (SandboxAgentSlots, 1);
  GError            *error = NULL;

  g_ref_count_init (&self->ref_count);
  self->channel = g_object_ref (channel);
  self->manner = *manner;
  self->func = func;
  self->data = data;
  self->notify = notify;
  self->init_fd = -1;
  self->buffer = g_malloc (SANDBOX_AGENT_PACKET_MAX);
  g_queue_init (&self->armed);

  self->socket_watch = sandbox_worker_watch_fd (sandbox_agent_channel_get_socket (channel), sandbox_agent_slots_heard_cb,
                                                sandbox_agent_slots_ref (self), sandbox_agent_slots_unref_cb);
  sandbox_agent_channel_watch_launcher (channel, sandbox_agent_slots_launcher_ended_cb,
                                        sandbox_agent_slots_ref (self), sandbox_agent_slots_unref_cb);
  self->limit = sandbox_agent_slots_attach_timeout (self, START_LIMIT_MS, sandbox_agent_slots_start_limit_cb);
  if (!sandbox_agent_channel_send_setup (channel, &error))
    sandbox_agent_slots_fail (self, error);

  return self;
}

gboolean
sandbox_agent_slots_is_ready (SandboxAgentSlots *self)
{
  return self->phase == PHASE_READY;
}

gboolean
sandbox_agent_slots_is_over (SandboxAgentSlots *self)
{
  return self->phase == PHASE_OVER;
}

const GError *
sandbox_agent_slots_get_failure (SandboxAgentSlots *self)
{
  return self->failure;
}

SandboxAgentChannel *
sandbox_agent_slots_take (SandboxAgentSlots *self,
                          GError           **error)
{
  SandboxAgentChannel *slot = g_queue_pop_head (&self->armed);

  while (slot != NULL && sandbox_agent_channel_is_dead (slot))
    {
      g_object_unref (slot);
      slot = g_queue_pop_head (&self->armed);
    }
  if (slot == NULL)
    slot = sandbox_agent_channel_arm (self->channel, error);
  if (slot == NULL)
    return NULL;

  self->n_live++;
  sandbox_agent_slots_clear_source (&self->rest);

  return slot;
}

static void
sandbox_agent_slots_refill (SandboxAgentSlots *self)
{
  while (self->phase == PHASE_READY && g_queue_get_length (&self->armed) < self->manner.n_armed)
    {
      g_autoptr (GError) error = NULL;
      SandboxAgentChannel *slot = sandbox_agent_channel_arm (self->channel, &error);

      if (slot == NULL)
        {
          g_debug ("No slot is armed: %s", error->message);
          return;
        }
      g_queue_push_tail (&self->armed, slot);
    }
}

static gboolean
sandbox_agent_slots_rest_cb (gpointer user_data)
{
  SandboxAgentSlots *self = user_data;

  g_clear_pointer (&self->rest, g_source_unref);
  g_queue_clear_full (&self->armed, g_object_unref);
  if (!self->manner.is_shared)
    sandbox_agent_slots_end (self);

  return G_SOURCE_REMOVE;
}

void
sandbox_agent_slots_release (SandboxAgentSlots *self)
{
  self->n_live--;
  if (self->phase != PHASE_READY)
    return;

  sandbox_agent_slots_refill (self);
  if (self->n_live == 0 && self->manner.idle_ms > 0 && self->rest == NULL)
    self->rest = sandbox_agent_slots_attach_timeout (self, self->manner.idle_ms, sandbox_agent_slots_rest_cb);
}
