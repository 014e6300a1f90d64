/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-slots-private.h"

#include "sandbox-agent-channel-private.h"
#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-worker-private.h"

#include <glib-unix.h>

#define REFILL_DELAY_MS 1

struct _SandboxAgentSlots
{
  grefcount ref_count;

  SandboxAgentChannel    *channel;
  SandboxAgentPeer       *peer;
  SandboxAgentSlotsManner manner;
  SandboxAgentSlotsFunc   func;
  gpointer                data;
  GDestroyNotify          notify;

  GQueue   armed;     /* of SandboxAgentChannel */
  guint    n_live;    /* taken and not released */
  guint    n_ending;  /* of these, agents that have nothing left to do */
  guint    n_counted; /* of these, slots of commands whose processes are counted */
  GSource *refill;
  GSource *room; /* it is not asked for more slots before it has read of those that it was asked for */
  GSource *rest;
  gboolean was_killed;
  int      view_fd;
};

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

  g_clear_pointer (&self->peer, sandbox_agent_peer_unref);
  sandbox_clear_fd (&self->view_fd);
  g_clear_object (&self->channel);
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

/* Nothing is made or waited for in there any more. */
static void
sandbox_agent_slots_clear (SandboxAgentSlots *self)
{
  g_queue_clear_full (&self->armed, g_object_unref);
  sandbox_agent_slots_clear_source (&self->room);
  sandbox_agent_slots_clear_source (&self->rest);
}

void
sandbox_agent_slots_end (SandboxAgentSlots *self)
{
  sandbox_agent_slots_clear (self);
  sandbox_agent_peer_end (self->peer);
}

static gboolean
sandbox_agent_slots_heard (gpointer            user,
                           SandboxAgentPacket *packet)
{
  SandboxAgentSlots *self = user;

  switch ((guint) packet->type)
    {
    case SANDBOX_AGENT_READY:
      if (sandbox_agent_peer_set_ready (self->peer))
        {
          sandbox_agent_channel_limit_unread (self->channel);
          self->view_fd = g_steal_fd (&packet->fds[0]);
          self->func (self, self->data);
        }
      else
        sandbox_agent_slots_end (self);
      break;

    case SANDBOX_AGENT_FAILED:
      sandbox_agent_peer_fail (self->peer, g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                                        "The sandbox could not be built (step: %s): %s",
                                                        sandbox_agent_step_to_string (packet->failed.step), g_strerror (packet->failed.error)));
      break;

    default:
      sandbox_agent_slots_end (self);
      break;
    }

  return TRUE;
}

static void
sandbox_agent_slots_silent (gpointer user)
{
  SandboxAgentSlots *self = user;

  if (sandbox_agent_peer_is_ready (self->peer))
    sandbox_agent_slots_end (self);
}

static GError *
sandbox_agent_slots_explain (gpointer user)
{
  SandboxAgentSlots *self = user;
  const gboolean     said_hello = sandbox_agent_peer_said_hello (self->peer);

  /* A launcher that cannot build the sandbox ends by itself, an agent says what it cannot do. */
  self->was_killed = said_hello || sandbox_agent_channel_launcher_was_killed (self->channel);

  return sandbox_agent_channel_make_end_error (self->channel, said_hello);
}

static void
sandbox_agent_slots_over (gpointer user)
{
  SandboxAgentSlots *self = user;

  sandbox_agent_slots_clear (self);
  self->func (self, self->data);
  self->notify (self->data);
}

static const SandboxAgentPeerFuncs sandbox_agent_slots_funcs = {
  .needs_launcher_end = TRUE,
  .heard = sandbox_agent_slots_heard,
  .silent = sandbox_agent_slots_silent,
  .explain = sandbox_agent_slots_explain,
  .over = sandbox_agent_slots_over,
};

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
  self->view_fd = -1;
  g_queue_init (&self->armed);
  self->peer = sandbox_agent_peer_new (channel, NULL, &sandbox_agent_slots_funcs, sandbox_agent_slots_ref (self), sandbox_agent_slots_unref_cb);
  sandbox_agent_channel_send_setup (channel, &error);
  sandbox_agent_peer_watch (self->peer);
  if (error != NULL)
    sandbox_agent_peer_fail (self->peer, error);

  return self;
}

gboolean
sandbox_agent_slots_is_ready (SandboxAgentSlots *self)
{
  return sandbox_agent_peer_is_ready (self->peer);
}

SandboxAgentPeer *
sandbox_agent_slots_get_peer (SandboxAgentSlots *self)
{
  return self->peer;
}

const GError *
sandbox_agent_slots_get_failure (SandboxAgentSlots *self)
{
  return sandbox_agent_peer_get_failure (self->peer);
}

gboolean
sandbox_agent_slots_was_killed (SandboxAgentSlots *self)
{
  return self->was_killed;
}

void
sandbox_agent_slots_look (SandboxAgentSlots *self)
{
  if (sandbox_agent_peer_is_ready (self->peer) && sandbox_agent_channel_is_dead (self->channel))
    sandbox_agent_slots_end (self);
}

static void sandbox_agent_slots_refill (SandboxAgentSlots *self, guint delay_ms);

static gboolean
sandbox_agent_slots_room_cb (int          fd,
                             GIOCondition condition,
                             gpointer     user_data)
{
  SandboxAgentSlots *self = user_data;

  g_clear_pointer (&self->room, g_source_unref);
  sandbox_agent_slots_refill (self, 0);
  self->func (self, self->data);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_slots_await_room (SandboxAgentSlots *self)
{
  if (self->room != NULL)
    return;

  self->room = g_unix_fd_source_new (sandbox_agent_channel_get_socket (self->channel), G_IO_OUT);
  g_source_set_callback (self->room, G_SOURCE_FUNC (sandbox_agent_slots_room_cb), sandbox_agent_slots_ref (self), sandbox_agent_slots_unref_cb);
  g_source_attach (self->room, sandbox_get_worker_context ());
}

/* NULL without an error if the sandbox has come to its end, or has no room yet. */
static SandboxAgentChannel *
sandbox_agent_slots_arm (SandboxAgentSlots *self,
                         GError           **error)
{
  g_autoptr (GError) reason = NULL;
  SandboxAgentChannel *slot = sandbox_agent_channel_arm (self->channel, &reason);

  if (slot != NULL)
    return slot;

  sandbox_agent_slots_look (self);
  if (!sandbox_agent_peer_is_ready (self->peer))
    return NULL;

  if (g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
    sandbox_agent_slots_await_room (self);
  else
    g_propagate_error (error, g_steal_pointer (&reason));

  return NULL;
}

int
sandbox_agent_slots_steal_view (SandboxAgentSlots *self)
{
  return g_steal_fd (&self->view_fd);
}

SandboxAgentChannel *
sandbox_agent_slots_take (SandboxAgentSlots *self,
                          gboolean           is_counted,
                          GError           **error)
{
  SandboxAgentChannel *slot = NULL;

  if (is_counted && self->n_ending > 0)
    return NULL;

  slot = g_queue_pop_head (&self->armed);
  while (slot != NULL && sandbox_agent_channel_is_dead (slot))
    {
      g_object_unref (slot);
      slot = g_queue_pop_head (&self->armed);
    }
  if (slot == NULL)
    slot = sandbox_agent_slots_arm (self, error);
  if (slot == NULL)
    return NULL;

  self->n_live++;
  sandbox_agent_slots_clear_source (&self->rest);

  return slot;
}

/* When the worker has nothing else to do: the answer comes first to who has just released a slot, who gets the processor, too. */
static gboolean
sandbox_agent_slots_refill_cb (gpointer user_data)
{
  SandboxAgentSlots *self = user_data;

  g_clear_pointer (&self->refill, g_source_unref);
  while (sandbox_agent_peer_is_ready (self->peer) && self->n_counted == 0 && g_queue_get_length (&self->armed) < self->manner.n_armed)
    {
      g_autoptr (GError) error = NULL;
      SandboxAgentChannel *slot = sandbox_agent_slots_arm (self, &error);

      if (slot == NULL)
        {
          g_debug ("No slot is armed: %s", error != NULL ? error->message : "the sandbox has ended, or will say when");
          break;
        }
      g_queue_push_tail (&self->armed, slot);
    }

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_slots_refill (SandboxAgentSlots *self,
                            guint              delay_ms)
{
  if (self->manner.n_armed == 0)
    return;

  if (self->refill == NULL)
    {
      self->refill = g_timeout_source_new (delay_ms);
      g_source_set_priority (self->refill, G_PRIORITY_DEFAULT_IDLE);
      g_source_set_callback (self->refill, sandbox_agent_slots_refill_cb, sandbox_agent_slots_ref (self), sandbox_agent_slots_unref_cb);
      g_source_attach (self->refill, sandbox_get_worker_context ());
    }
  else if (delay_ms == 0)
    g_source_set_ready_time (self->refill, 0);
}

guint
sandbox_agent_slots_count_others (SandboxAgentSlots *self,
                                  gboolean           is_counted)
{
  /* No slot is made while somebody's processes are counted. */
  const guint n_armed = is_counted ? g_queue_get_length (&self->armed) : self->manner.n_armed;

  if (is_counted)
    self->n_counted++;

  /* The session's own, those that are armed, each with the process of a command to come, and those of the others. */
  return 1 + 2 * n_armed + self->n_live - 1;
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
  if (!sandbox_agent_peer_is_ready (self->peer))
    return;

  sandbox_agent_slots_refill (self, REFILL_DELAY_MS);
  if (self->n_live > 0 || self->manner.idle_ms == 0 || self->rest != NULL)
    return;

  self->rest = g_timeout_source_new (self->manner.idle_ms);
  g_source_set_callback (self->rest, sandbox_agent_slots_rest_cb, sandbox_agent_slots_ref (self), sandbox_agent_slots_unref_cb);
  g_source_attach (self->rest, sandbox_get_worker_context ());
}

void
sandbox_agent_slots_add_ending (SandboxAgentSlots *self)
{
  self->n_ending++;
}

void
sandbox_agent_slots_release_ending (SandboxAgentSlots *self)
{
  self->n_ending--;
  self->n_counted--;
  sandbox_agent_slots_release (self);
  if (self->n_ending == 0 && sandbox_agent_peer_is_ready (self->peer))
    self->func (self, self->data);
}
