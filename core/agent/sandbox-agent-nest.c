/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-nest-private.h"

#include "sandbox-agent-channel-private.h"
#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-request-private.h"
#include "sandbox-worker-private.h"

/* So many sandboxes in a row may be killed while they are built before somebody is told. */
#define KILLED_MAX 2
/* A sandbox that takes none of those who wait for so long takes none. */
#define TURN_LIMIT_MS 10000

struct _SandboxAgentNest
{
  gatomicrefcount ref_count;

  GWeakRef                driver;
  SandboxAgentDoors      *doors;
  SandboxAgentSlotsManner manner;
  gboolean                closed;
  SandboxAgentSlots      *slots;    /* until it is over; else NULL */
  GCancellable           *opening;  /* a channel to a new one is on its way; cancelled: it will not do */
  guint                   n_killed; /* since one was ready */
  GQueue                  waiting;  /* of SandboxAgentWaiter: want a slot */
  GSource                *turn;     /* the limit of those who wait while the sandbox is ready */
  GQueue                  endings;  /* of SandboxAgentEnding: want it to end */
};

typedef struct
{
  gboolean             is_counted;
  SandboxAgentNestFunc func;
  gpointer             data;
} SandboxAgentWaiter;

typedef struct
{
  GDestroyNotify func;
  gpointer       data;
} SandboxAgentEnding;

/* A channel on its way */
typedef struct
{
  SandboxAgentNest    *nest;
  GCancellable        *opening;
  SandboxAgentChannel *channel;
  GError              *error;
} SandboxAgentOpening;

static void sandbox_agent_nest_open (SandboxAgentNest *self);

SandboxAgentNest *
sandbox_agent_nest_new (SandboxAgentDriver            *driver,
                        SandboxAgentDoors             *doors,
                        const SandboxAgentSlotsManner *manner)
{
  SandboxAgentNest *self = g_new0 (SandboxAgentNest, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_weak_ref_init (&self->driver, driver);
  self->doors = sandbox_agent_doors_ref (doors);
  self->manner = *manner;
  g_queue_init (&self->waiting);
  g_queue_init (&self->endings);

  return self;
}

static SandboxAgentNest *
sandbox_agent_nest_ref (SandboxAgentNest *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_agent_nest_unref (SandboxAgentNest *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_weak_ref_clear (&self->driver);
  sandbox_agent_doors_unref (self->doors);
  g_free (self);
}

static void
sandbox_agent_nest_unref_cb (gpointer data)
{
  sandbox_agent_nest_unref (data);
}

/* Where the workspace is mounted; -1 for nowhere, when nothing came of a sandbox. */
static void
sandbox_agent_nest_pass_view (SandboxAgentNest *self,
                              int               fd)
{
  g_autoptr (SandboxAgentDriver) driver = g_weak_ref_get (&self->driver);

  if (driver != NULL)
    SANDBOX_AGENT_DRIVER_GET_CLASS (driver)->take_view (driver, fd);
  else
    sandbox_close_fd (fd);
}

static GError *
sandbox_agent_nest_new_stopped (void)
{
  return g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The session has been stopped");
}

static void
sandbox_agent_nest_fail_waiting (SandboxAgentNest *self,
                                 const GError     *error)
{
  SandboxAgentWaiter *next = NULL;

  while ((next = g_queue_pop_head (&self->waiting)) != NULL)
    {
      g_autofree SandboxAgentWaiter *waiter = next;

      waiter->func (waiter->data, NULL, NULL, error);
    }
}

static gboolean
sandbox_agent_nest_turn_cb (gpointer user_data)
{
  SandboxAgentNest *self = user_data;
  g_autoptr (GError) error = g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                          "The sandbox of the session took no command within %d ms", TURN_LIMIT_MS);

  g_clear_pointer (&self->turn, g_source_unref);
  sandbox_agent_nest_fail_waiting (self, error);

  return G_SOURCE_REMOVE;
}

/* Counts the time anew for those who wait for a sandbox that is ready. */
static void
sandbox_agent_nest_limit_turn (SandboxAgentNest *self)
{
  if (self->turn != NULL)
    g_source_destroy (self->turn);
  g_clear_pointer (&self->turn, g_source_unref);
  if (g_queue_is_empty (&self->waiting) || self->slots == NULL || !sandbox_agent_slots_is_ready (self->slots))
    return;

  self->turn = g_timeout_source_new (TURN_LIMIT_MS);
  g_source_set_callback (self->turn, sandbox_agent_nest_turn_cb, sandbox_agent_nest_ref (self), sandbox_agent_nest_unref_cb);
  g_source_attach (self->turn, sandbox_get_worker_context ());
}

/* FALSE if whoever wants a slot has to wait. */
static gboolean
sandbox_agent_nest_serve (SandboxAgentNest    *self,
                          gboolean             is_counted,
                          SandboxAgentNestFunc func,
                          gpointer             user_data)
{
  g_autoptr (GError) error = NULL;
  SandboxAgentChannel *slot = NULL;

  if (self->closed)
    error = sandbox_agent_nest_new_stopped ();
  else if (self->slots != NULL && sandbox_agent_slots_is_ready (self->slots))
    slot = sandbox_agent_slots_take (self->slots, is_counted, &error);
  if (slot == NULL && error == NULL)
    return FALSE;

  func (user_data, self->slots, slot, error);

  return TRUE;
}

/* What waits gets slots, one after another, for as long as there are any. */
static void
sandbox_agent_nest_serve_waiting (SandboxAgentNest *self)
{
  SandboxAgentWaiter *waiter = NULL;

  while ((waiter = g_queue_pop_head (&self->waiting)) != NULL && sandbox_agent_nest_serve (self, waiter->is_counted, waiter->func, waiter->data))
    g_free (waiter);
  if (waiter != NULL)
    g_queue_push_head (&self->waiting, waiter);
  sandbox_agent_nest_limit_turn (self);
}

static void
sandbox_agent_nest_answer_endings (SandboxAgentNest *self)
{
  SandboxAgentEnding *next = NULL;

  while ((next = g_queue_pop_head (&self->endings)) != NULL)
    {
      g_autofree SandboxAgentEnding *ending = next;

      ending->func (ending->data);
    }
}

/* The sandbox is ready, takes more, or is over. */
static void
sandbox_agent_nest_slots_changed (SandboxAgentSlots *slots,
                                  gpointer           data)
{
  SandboxAgentNest *self = data;
  const GError     *failure = sandbox_agent_slots_get_failure (slots);

  if (sandbox_agent_slots_is_ready (slots))
    {
      const int view_fd = sandbox_agent_slots_steal_view (slots);

      self->n_killed = 0;
      if (view_fd >= 0)
        sandbox_agent_nest_pass_view (self, view_fd);
      sandbox_agent_nest_serve_waiting (self);
      return;
    }

  if (failure != NULL && (!sandbox_agent_slots_was_killed (slots) || ++self->n_killed > KILLED_MAX))
    {
      self->n_killed = 0;
      sandbox_agent_nest_pass_view (self, -1);
      sandbox_agent_nest_fail_waiting (self, failure);
    }
  g_clear_pointer (&self->slots, sandbox_agent_slots_unref);
  sandbox_agent_nest_limit_turn (self);
  sandbox_agent_nest_answer_endings (self);
  sandbox_agent_nest_open (self);
  /* Nobody is to wait for a view that does not come: the sandbox may have been ended while it was built. */
  if (self->slots == NULL && self->opening == NULL)
    sandbox_agent_nest_pass_view (self, -1);
}

static void
sandbox_agent_opening_free (gpointer data)
{
  SandboxAgentOpening *opening = data;

  g_clear_object (&opening->channel);
  g_clear_object (&opening->opening);
  g_clear_pointer (&opening->nest, sandbox_agent_nest_unref);
  g_clear_error (&opening->error);
  g_free (opening);
}

static gboolean
sandbox_agent_nest_opened_cb (gpointer user_data)
{
  SandboxAgentOpening *opening = user_data;
  SandboxAgentNest    *self = opening->nest;

  g_clear_object (&self->opening);
  if (g_cancellable_is_cancelled (opening->opening))
    {
      /* What it was to be has changed meanwhile. */
      g_clear_object (&opening->channel);
      sandbox_agent_nest_pass_view (self, -1);
      sandbox_agent_nest_open (self);
      return G_SOURCE_REMOVE;
    }
  if (opening->channel != NULL && !sandbox_agent_channel_has_slots (opening->channel))
    g_set_error_literal (&opening->error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE, "The driver made a sandbox that has no slots");
  if (opening->error != NULL)
    {
      sandbox_agent_nest_pass_view (self, -1);
      sandbox_agent_nest_fail_waiting (self, opening->error);
      return G_SOURCE_REMOVE;
    }

  sandbox_agent_channel_set_doors (opening->channel, self->doors);
  self->slots = sandbox_agent_slots_new (opening->channel, &self->manner, sandbox_agent_nest_slots_changed,
                                         sandbox_agent_nest_ref (self), sandbox_agent_nest_unref_cb);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_nest_opened (gpointer      user_data,
                           gpointer      answer,
                           const GError *error)
{
  SandboxAgentOpening *opening = user_data;

  g_set_object (&opening->channel, answer);
  opening->error = error != NULL ? g_error_copy (error) : NULL;
  sandbox_worker_invoke (sandbox_agent_nest_opened_cb, opening, sandbox_agent_opening_free);
}

/* If somebody waits for one and none is on its way. One that is ending is waited for: two never have the same files. */
static void
sandbox_agent_nest_open (SandboxAgentNest *self)
{
  g_autoptr (SandboxAgentDriver) driver = g_weak_ref_get (&self->driver);
  g_autoptr (SandboxRequest) request = NULL;
  SandboxAgentOpening *opening = NULL;
  GError              *refused = NULL;
  gboolean             taken = FALSE;

  /* Who waits keeps the driver. */
  if (driver == NULL || self->slots != NULL || self->opening != NULL || g_queue_is_empty (&self->waiting))
    return;

  self->opening = g_cancellable_new ();
  opening = g_new0 (SandboxAgentOpening, 1);
  opening->nest = sandbox_agent_nest_ref (self);
  opening->opening = g_object_ref (self->opening);
  request = sandbox_request_new_internal (SANDBOX_TYPE_AGENT_CHANNEL, self->opening, sandbox_agent_nest_opened, opening);
  taken = SANDBOX_AGENT_DRIVER_GET_CLASS (driver)->open_channel (driver, request, &refused);
  sandbox_request_dispatched (request, taken, refused);
}

void
sandbox_agent_nest_take (SandboxAgentNest    *self,
                         gboolean             is_counted,
                         SandboxAgentNestFunc func,
                         gpointer             user_data)
{
  SandboxAgentWaiter *waiter = NULL;

  /* Nobody gets past those who wait. */
  if ((g_queue_is_empty (&self->waiting) || self->closed) && sandbox_agent_nest_serve (self, is_counted, func, user_data))
    return;

  waiter = g_new (SandboxAgentWaiter, 1);
  waiter->is_counted = is_counted;
  waiter->func = func;
  waiter->data = user_data;
  g_queue_push_tail (&self->waiting, waiter);
  if (self->turn == NULL)
    sandbox_agent_nest_limit_turn (self);
  sandbox_agent_nest_open (self);
}

gboolean
sandbox_agent_nest_forget (SandboxAgentNest *self,
                           gpointer          user_data)
{
  for (GList *at = self->waiting.head; at != NULL; at = at->next)
    {
      SandboxAgentWaiter *waiter = at->data;

      if (waiter->data == user_data)
        {
          g_queue_delete_link (&self->waiting, at);
          g_free (waiter);
          if (g_queue_is_empty (&self->waiting))
            sandbox_agent_nest_limit_turn (self);
          return TRUE;
        }
    }

  return FALSE;
}

void
sandbox_agent_nest_end (SandboxAgentNest *self,
                        GDestroyNotify    func,
                        gpointer          user_data)
{
  SandboxAgentEnding *ending = NULL;

  if (self->opening != NULL)
    g_cancellable_cancel (self->opening);
  if (self->slots == NULL)
    {
      func (user_data);
      return;
    }

  ending = g_new (SandboxAgentEnding, 1);
  ending->func = func;
  ending->data = user_data;
  g_queue_push_tail (&self->endings, ending);
  sandbox_agent_slots_end (self->slots);
}

void
sandbox_agent_nest_close (SandboxAgentNest *self,
                          GDestroyNotify    func,
                          gpointer          user_data)
{
  g_autoptr (GError) stopped = sandbox_agent_nest_new_stopped ();

  self->closed = TRUE;
  sandbox_agent_nest_fail_waiting (self, stopped);
  sandbox_agent_nest_limit_turn (self);
  sandbox_agent_nest_end (self, func, user_data);
}
