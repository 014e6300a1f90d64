/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-sync-private.h"

#include "sandbox-fork-private.h"

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
 * nothing is attached to a context that nobody iterates any more. Let go of under it too: GLib takes the lock of the
 * context for that, which must not be gone. */
static void
sandbox_dispatcher_attach_locked (SandboxDispatcher *self,
                                  GSourceFunc        func,
                                  gpointer           data,
                                  GDestroyNotify     notify)
{
  g_autoptr (GSource) source = g_idle_source_new ();
  GMainContext *context = g_queue_peek_head (&self->blocked);

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, func, data, notify);
  g_source_attach (source, context != NULL ? context : self->home);
}

void
sandbox_dispatcher_invoke (SandboxDispatcher *self,
                           GSourceFunc        func,
                           gpointer           data,
                           GDestroyNotify     notify)
{
  g_mutex_lock (&self->lock);
  sandbox_dispatcher_attach_locked (self, func, data, notify);
  g_mutex_unlock (&self->lock);
}

typedef struct
{
  SandboxDispatcher *dispatcher;
  gboolean          *waits; /* of the bell, which is there as long as the data */
  GSourceOnceFunc    func;
  gpointer           data;
  GDestroyNotify     notify;
} SandboxRing;

static void
sandbox_ring_free (gpointer user_data)
{
  SandboxRing *ring = user_data;

  if (ring->notify != NULL)
    ring->notify (ring->data);
  sandbox_dispatcher_unref (ring->dispatcher);
  g_free (ring);
}

static gboolean
sandbox_ring_cb (gpointer user_data)
{
  SandboxRing *ring = user_data;

  /* Before it looks: what comes from now on rings again. */
  g_mutex_lock (&ring->dispatcher->lock);
  *ring->waits = FALSE;
  g_mutex_unlock (&ring->dispatcher->lock);
  ring->func (ring->data);

  return G_SOURCE_REMOVE;
}

gboolean
sandbox_dispatcher_ring (SandboxDispatcher *self,
                         SandboxBell       *bell,
                         GSourceOnceFunc    func,
                         gpointer           data,
                         GDestroyNotify     notify)
{
  gboolean *waits = NULL;
  gboolean  rings = FALSE;

  g_mutex_lock (&self->lock);
  waits = g_queue_is_empty (&self->blocked) ? &bell->at_home : &bell->in_call;
  rings = !*waits;
  if (rings)
    {
      SandboxRing *ring = g_new (SandboxRing, 1);

      *waits = TRUE;
      *ring = (SandboxRing){ sandbox_dispatcher_ref (self), waits, func, data, notify };
      sandbox_dispatcher_attach_locked (self, sandbox_ring_cb, ring, sandbox_ring_free);
    }
  g_mutex_unlock (&self->lock);

  return rings;
}

static void
sandbox_dispatcher_enter (SandboxDispatcher *self,
                          GMainContext      *context)
{
  g_mutex_lock (&self->lock);
  g_queue_push_head (&self->blocked, context);
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
