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
};

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

void
sandbox_dispatcher_unref (SandboxDispatcher *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  if (!sandbox_fork_is_past (self->generation))
    {
      g_queue_clear (&self->blocked);
      g_main_context_unref (self->home);
      g_mutex_clear (&self->lock);
    }
  g_free (self);
}

/* Under the lock: a call that is ending takes its context off the list first and runs what it finds there last, so
 * nothing is attached to a context that nobody iterates any more. To be let go of under it too: GLib takes the lock of the
 * context for that, which must not be gone. */
static GSource *
sandbox_dispatcher_attach_locked (SandboxDispatcher *self,
                                  GSourceFunc        func,
                                  gpointer           data,
                                  GDestroyNotify     notify)
{
  GSource      *source = g_idle_source_new ();
  GMainContext *context = g_queue_peek_head (&self->blocked);

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, func, data, notify);
  g_source_attach (source, context != NULL ? context : self->home);

  return source;
}

void
sandbox_dispatcher_invoke (SandboxDispatcher *self,
                           GSourceFunc        func,
                           gpointer           data,
                           GDestroyNotify     notify)
{
  g_mutex_lock (&self->lock);
  g_source_unref (sandbox_dispatcher_attach_locked (self, func, data, notify));
  g_mutex_unlock (&self->lock);
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
  g_source_unref (sandbox_dispatcher_attach_locked (self, sandbox_ring_call_cb, ring, sandbox_ring_unref));
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
      ring->home = sandbox_dispatcher_attach_locked (self, sandbox_ring_home_cb, ring, sandbox_ring_unref);
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
  g_mutex_lock (&self->lock);
  g_queue_push_head (&self->blocked, context);
  for (GList *link = self->rings.head; link != NULL; link = link->next)
    {
      SandboxRing *ring = link->data;

      if (ring->bell->in_call)
        continue;
      g_atomic_ref_count_inc (&ring->ref_count);
      sandbox_dispatcher_ring_in_call_locked (self, ring);
    }
  g_mutex_unlock (&self->lock);
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
  self->context = sandbox_sync_take_context ();

  self->outer = g_private_get (&innermost);
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
  while (!sandbox_fork_is_past (self->generation) && g_main_context_iteration (self->context, FALSE))
    ;

  g_private_set (&innermost, self->outer);
  g_main_context_pop_thread_default (self->context);
  if (g_private_get (&spare) == NULL && !sandbox_fork_is_past (self->generation))
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
