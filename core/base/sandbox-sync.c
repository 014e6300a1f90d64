/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-sync-private.h"

#include "sandbox-fork-private.h"

typedef struct _SandboxRing SandboxRing;

/* The innermost synchronous call of this thread, and one context kept for the next. */
static GPrivate innermost;
static GPrivate spare = G_PRIVATE_INIT ((GDestroyNotify) g_main_context_unref);
static GPrivate spare_generation; /* GUINT_TO_POINTER () */

/* In a forked child nothing comes here: the lock, or that of the context, may have been another thread's at the fork,
 * which is not there to give it back. */
struct _SandboxDispatcher
{
  gatomicrefcount ref_count;
  guint           generation;
  GMutex          lock;
  GMainContext   *home;
  GQueue          blocked; /* GMainContext, innermost first, over all threads; guarded by lock */
  GQueue          rings;   /* SandboxRing, those that wait at home; guarded by lock */
  GQueue          errands; /* SandboxErrand, and some that have been run since; guarded by lock */
};

/* What is to be done once. It waits in one context, and in that of each call that begins meanwhile: the first one may be
 * that of a main loop or of an outer call, which nobody runs below the new one. */
typedef struct
{
  gatomicrefcount ref_count; /* of the sources, and the dispatcher */
  int             taken;
  GSourceFunc     func;
  gpointer        data;
  GDestroyNotify  notify;
  GMainContext   *context; /* in which the source waits, unless that is home */
  GSource        *source;  /* NULL if it never waited but in calls */
} SandboxErrand;

SandboxDispatcher *
sandbox_dispatcher_new (void)
{
  SandboxDispatcher *self = g_new0 (SandboxDispatcher, 1);
  SandboxSync       *sync = g_private_get (&innermost);

  g_atomic_ref_count_init (&self->ref_count);
  self->generation = sandbox_fork_get_generation ();
  g_mutex_init (&self->lock);
  g_queue_init (&self->blocked);
  g_queue_init (&self->rings);
  g_queue_init (&self->errands);
  if (sync == NULL || g_main_context_get_thread_default () != sync->context)
    self->home = g_main_context_ref_thread_default ();
  else
    self->home = g_main_context_ref (sync->host != NULL ? sync->host : g_main_context_default ());

  return self;
}

SandboxDispatcher *
sandbox_dispatcher_ref (SandboxDispatcher *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

static void
sandbox_errand_unref (gpointer user_data)
{
  SandboxErrand *errand = user_data;

  if (!g_atomic_ref_count_dec (&errand->ref_count))
    return;

  if (!errand->taken && errand->notify != NULL)
    errand->notify (errand->data);
  g_clear_pointer (&errand->source, g_source_unref);
  g_clear_pointer (&errand->context, g_main_context_unref);
  g_free (errand);
}

static gboolean
sandbox_errand_run_cb (gpointer user_data)
{
  SandboxErrand *errand = user_data;

  if (!g_atomic_int_compare_and_exchange (&errand->taken, FALSE, TRUE))
    return G_SOURCE_REMOVE;

  errand->func (errand->data);
  if (errand->notify != NULL)
    errand->notify (errand->data);

  return G_SOURCE_REMOVE;
}

void
sandbox_dispatcher_unref (SandboxDispatcher *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  if (!sandbox_fork_is_past (self->generation))
    {
      g_queue_clear (&self->blocked);
      g_queue_clear_full (&self->errands, sandbox_errand_unref);
      g_main_context_unref (self->home);
      g_mutex_clear (&self->lock);
    }
  g_free (self);
}

/* Under the lock: a call that is ending takes its context off the list first and runs what it finds there last, so
 * nothing is attached to a context that nobody iterates any more. To be let go of under it too: GLib takes the lock of the
 * context for that, which must not be gone. */
static GSource *
sandbox_dispatcher_attach_locked (GMainContext  *context,
                                  GSourceFunc    func,
                                  gpointer       data,
                                  GDestroyNotify notify)
{
  GSource *source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, func, data, notify);
  g_source_attach (source, context);

  return source;
}

/* In a call, with the dispatcher, which has home. */
typedef struct
{
  SandboxDispatcher *dispatcher;
  SandboxErrand     *errand;
} SandboxErrandInCall;

static void
sandbox_errand_in_call_free (gpointer user_data)
{
  SandboxErrandInCall *self = user_data;

  sandbox_errand_unref (self->errand);
  sandbox_dispatcher_unref (self->dispatcher);
  g_free (self);
}

/* Where it waited first it waits no more, as perhaps nobody ever runs that. */
static gboolean
sandbox_errand_in_call_cb (gpointer user_data)
{
  SandboxErrandInCall *self = user_data;

  if (self->errand->source != NULL)
    g_source_destroy (self->errand->source);

  return sandbox_errand_run_cb (self->errand);
}

static void
sandbox_dispatcher_errand_in_call_locked (SandboxDispatcher *self,
                                          GMainContext      *context,
                                          SandboxErrand     *errand)
{
  SandboxErrandInCall *in_call = g_new (SandboxErrandInCall, 1);

  in_call->dispatcher = sandbox_dispatcher_ref (self);
  in_call->errand = errand;
  g_atomic_ref_count_inc (&errand->ref_count);
  g_source_unref (sandbox_dispatcher_attach_locked (context, sandbox_errand_in_call_cb, in_call, sandbox_errand_in_call_free));
}

/* What has been run is let go of here, outside of the lock by the caller. */
static GList *
sandbox_dispatcher_sort_errands_locked (SandboxDispatcher *self)
{
  GList *done = NULL;

  for (GList *link = self->errands.head, *next = NULL; link != NULL; link = next)
    {
      SandboxErrand *errand = link->data;

      next = link->next;
      if (!g_atomic_int_get (&errand->taken))
        continue;
      g_queue_unlink (&self->errands, link);
      done = g_list_concat (link, done);
    }

  return done;
}

void
sandbox_dispatcher_invoke_in (SandboxDispatcher *self,
                              GMainContext      *context,
                              GSourceFunc        func,
                              gpointer           data,
                              GDestroyNotify     notify)
{
  SandboxErrand *errand = g_new0 (SandboxErrand, 1);
  GMainContext  *call = NULL;
  GList         *done = NULL;

  g_atomic_ref_count_init (&errand->ref_count);
  errand->func = func;
  errand->data = data;
  errand->notify = notify;

  g_mutex_lock (&self->lock);
  done = sandbox_dispatcher_sort_errands_locked (self);
  g_queue_push_tail (&self->errands, errand);
  call = g_queue_peek_head (&self->blocked);
  if (context != NULL ? context != call : call == NULL)
    {
      if (context != NULL && context != self->home)
        errand->context = g_main_context_ref (context);
      /* Before it is attached, as it may be run at once. */
      errand->source = g_idle_source_new ();
      g_source_set_priority (errand->source, G_PRIORITY_DEFAULT);
      g_atomic_ref_count_inc (&errand->ref_count);
      g_source_set_callback (errand->source, sandbox_errand_run_cb, errand, sandbox_errand_unref);
      g_source_attach (errand->source, context != NULL ? context : self->home);
    }
  if (call != NULL)
    sandbox_dispatcher_errand_in_call_locked (self, call, errand);
  g_mutex_unlock (&self->lock);

  g_list_free_full (done, sandbox_errand_unref);
}

void
sandbox_dispatcher_invoke (SandboxDispatcher *self,
                           GSourceFunc        func,
                           gpointer           data,
                           GDestroyNotify     notify)
{
  sandbox_dispatcher_invoke_in (self, NULL, func, data, notify);
}

/* Somebody who waits: at home, or in a call, or in both. */
struct _SandboxRing
{
  gatomicrefcount    ref_count; /* of the sources */
  SandboxDispatcher *dispatcher;
  SandboxBell       *bell; /* in the data */
  GSource           *home; /* guarded by the dispatcher */
  GSourceOnceFunc    func;
  gpointer           data;
  GDestroyNotify     notify;
};

static void
sandbox_ring_unref (gpointer user_data)
{
  SandboxRing *ring = user_data;

  if (!g_atomic_ref_count_dec (&ring->ref_count))
    return;

  if (ring->notify != NULL)
    ring->notify (ring->data);
  sandbox_dispatcher_unref (ring->dispatcher);
  g_free (ring);
}

/* The source that waits at home, for the caller to let go of when the lock has been. */
static GSource *
sandbox_dispatcher_leave_home_locked (SandboxDispatcher *self,
                                      SandboxBell       *bell)
{
  SandboxRing *ring = g_steal_pointer (&bell->at_home);

  g_queue_remove (&self->rings, ring);

  return g_steal_pointer (&ring->home);
}

static gboolean
sandbox_ring_home_cb (gpointer user_data)
{
  SandboxRing *ring = user_data;
  g_autoptr (GSource) source = NULL;

  /* Before it looks: what comes from now on rings again. */
  g_mutex_lock (&ring->dispatcher->lock);
  if (ring->bell->at_home == ring)
    source = sandbox_dispatcher_leave_home_locked (ring->dispatcher, ring->bell);
  g_mutex_unlock (&ring->dispatcher->lock);
  if (source != NULL)
    ring->func (ring->data);

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_ring_call_cb (gpointer user_data)
{
  SandboxRing *ring = user_data;

  g_mutex_lock (&ring->dispatcher->lock);
  ring->bell->in_call = FALSE;
  g_mutex_unlock (&ring->dispatcher->lock);
  ring->func (ring->data);

  return G_SOURCE_REMOVE;
}

/* @ring is taken. */
static void
sandbox_dispatcher_ring_in_call_locked (SandboxDispatcher *self,
                                        SandboxRing       *ring)
{
  ring->bell->in_call = TRUE;
  g_source_unref (sandbox_dispatcher_attach_locked (g_queue_peek_head (&self->blocked), sandbox_ring_call_cb, ring,
                                                    sandbox_ring_unref));
}

gboolean
sandbox_dispatcher_ring (SandboxDispatcher *self,
                         SandboxBell       *bell,
                         GSourceOnceFunc    func,
                         gpointer           data,
                         GDestroyNotify     notify)
{
  SandboxRing *ring = NULL;
  gboolean     at_home = FALSE;

  g_mutex_lock (&self->lock);
  at_home = g_queue_is_empty (&self->blocked);
  if (at_home ? bell->at_home == NULL : !bell->in_call)
    {
      ring = g_new0 (SandboxRing, 1);
      g_atomic_ref_count_init (&ring->ref_count);
      ring->dispatcher = sandbox_dispatcher_ref (self);
      ring->bell = bell;
      ring->func = func;
      ring->data = data;
      ring->notify = notify;
    }
  if (ring != NULL && at_home)
    {
      bell->at_home = ring;
      g_queue_push_tail (&self->rings, ring);
      ring->home = sandbox_dispatcher_attach_locked (self->home, sandbox_ring_home_cb, ring, sandbox_ring_unref);
    }
  else if (ring != NULL)
    sandbox_dispatcher_ring_in_call_locked (self, ring);
  g_mutex_unlock (&self->lock);

  return ring != NULL;
}

void
sandbox_dispatcher_silence (SandboxDispatcher *self,
                            SandboxBell       *bell)
{
  g_autoptr (GSource) source = NULL;

  g_mutex_lock (&self->lock);
  if (bell->at_home != NULL)
    source = sandbox_dispatcher_leave_home_locked (self, bell);
  g_mutex_unlock (&self->lock);

  /* Whose context is there as long as this dispatcher */
  if (source != NULL)
    g_source_destroy (source);
}

static void
sandbox_dispatcher_enter (SandboxDispatcher *self,
                          GMainContext      *context)
{
  GList *done = NULL;

  g_mutex_lock (&self->lock);
  g_queue_push_head (&self->blocked, context);
  done = sandbox_dispatcher_sort_errands_locked (self);
  for (GList *link = self->errands.head; link != NULL; link = link->next)
    sandbox_dispatcher_errand_in_call_locked (self, context, link->data);
  for (GList *link = self->rings.head; link != NULL; link = link->next)
    {
      SandboxRing *ring = link->data;

      if (ring->bell->in_call)
        continue;
      g_atomic_ref_count_inc (&ring->ref_count);
      sandbox_dispatcher_ring_in_call_locked (self, ring);
    }
  g_mutex_unlock (&self->lock);

  g_list_free_full (done, sandbox_errand_unref);
}

static void
sandbox_dispatcher_leave (SandboxDispatcher *self,
                          GMainContext      *context)
{
  g_mutex_lock (&self->lock);
  g_queue_remove (&self->blocked, context);
  g_mutex_unlock (&self->lock);
}

/* What wakes a context up is shared with the process from which this one was forked: whoever runs it here might swallow
 * the word that a call there waits for. */
static GMainContext *
sandbox_sync_take_context (void)
{
  GMainContext *context = g_private_get (&spare);

  if (context == NULL)
    return g_main_context_new ();

  g_private_set (&spare, NULL);
  if (!sandbox_fork_is_past (GPOINTER_TO_UINT (g_private_get (&spare_generation))))
    return context;
  g_main_context_unref (context);

  return g_main_context_new ();
}

void
sandbox_sync_begin (SandboxSync       *self,
                    SandboxDispatcher *dispatcher)
{
  self->result = NULL;
  self->generation = sandbox_fork_get_generation ();
  self->outer = g_private_get (&innermost);
  self->is_inner = self->outer != NULL && !sandbox_fork_is_past (self->outer->generation);
  self->context = self->is_inner ? g_main_context_ref (self->outer->context) : sandbox_sync_take_context ();

  self->host = g_main_context_get_thread_default ();
  if (self->outer != NULL && self->host == self->outer->context)
    self->host = self->outer->host;
  g_main_context_push_thread_default (self->context);
  g_private_set (&innermost, self);

  self->dispatcher = NULL;
  if (dispatcher != NULL && !sandbox_fork_is_past (dispatcher->generation))
    {
      self->dispatcher = sandbox_dispatcher_ref (dispatcher);
      sandbox_dispatcher_enter (self->dispatcher, self->context);
    }
}

void
sandbox_sync_cb (GObject      *source,
                 GAsyncResult *result,
                 gpointer      user_data)
{
  SandboxSync *self = user_data;

  self->result = g_object_ref (result);
}

GAsyncResult *
sandbox_sync_wait (SandboxSync *self)
{
  /* A child that was forked below this call, and comes back to it, waits for nothing. */
  while (self->result == NULL && !sandbox_fork_is_past (self->generation))
    g_main_context_iteration (self->context, TRUE);

  return self->result;
}

void
sandbox_sync_end (SandboxSync *self)
{
  if (self->context == NULL)
    return;

  g_clear_object (&self->result);
  if (self->dispatcher != NULL && !sandbox_fork_is_past (self->generation))
    sandbox_dispatcher_leave (self->dispatcher, self->context);
  /* Once for an inner call: the outer one does the rest, of which there may always be more. */
  while (!sandbox_fork_is_past (self->generation) && g_main_context_iteration (self->context, FALSE) && !self->is_inner)
    ;

  g_private_set (&innermost, self->outer);
  g_main_context_pop_thread_default (self->context);
  if (!self->is_inner && g_private_get (&spare) == NULL && !sandbox_fork_is_past (self->generation))
    {
      g_private_set (&spare, self->context);
      g_private_set (&spare_generation, GUINT_TO_POINTER (self->generation));
    }
  else
    g_main_context_unref (self->context);
  self->context = NULL;
  g_clear_pointer (&self->dispatcher, sandbox_dispatcher_unref);
}

gboolean
sandbox_sync_is_below (void)
{
  SandboxSync *self = g_private_get (&innermost);

  return self != NULL && g_main_context_get_thread_default () == self->context;
}
