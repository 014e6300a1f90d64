/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Sync over async: the call runs on a private main context of this thread, which needs no main loop
 * of the host. A call that is made below another one shares its context: it may wait for what goes on in there. Use:
 *
 *   g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;
 *
 *   sandbox_sync_begin (&sync, dispatcher or NULL);
 *   foo_async (self, …, sandbox_sync_cb, &sync);
 *
 *   return foo_finish (self, sandbox_sync_wait (&sync), error);
 */
typedef struct _SandboxSync       SandboxSync;
typedef struct _SandboxDispatcher SandboxDispatcher;

struct _SandboxSync
{
  GMainContext      *context;
  GMainContext      *host; /* the caller's own context, NULL for the default one */
  GAsyncResult      *result;
  SandboxDispatcher *dispatcher;
  SandboxSync       *outer;
  gboolean           is_inner; /* and shares the context of the outer one */
  guint              generation;
};

#define SANDBOX_SYNC_INIT \
 {                        \
  .context = NULL         \
 }

void          sandbox_sync_begin (SandboxSync       *self,
                                  SandboxDispatcher *dispatcher);
void          sandbox_sync_cb (GObject      *source,
                               GAsyncResult *result,
                               gpointer      user_data);
GAsyncResult *sandbox_sync_wait (SandboxSync *self);
void          sandbox_sync_end (SandboxSync *self); /* also of one that has not begun */

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxSync, sandbox_sync_end)

/* Whether the innermost main context of this thread is that of a synchronous call: then the caller
 * waits anyway, and short blocking work may be done in place. */
gboolean sandbox_sync_is_below (void);

/* Where code of the host may run: the context (the caller's own, not that of a synchronous call) in
 * which the session was made, or, while threads of
 * the host block in synchronous calls of it, the innermost of those. Code in Python may run in any of
 * these threads, code in JavaScript only in its one thread, which is always among them. */
SandboxDispatcher *sandbox_dispatcher_new (void);
SandboxDispatcher *sandbox_dispatcher_ref (SandboxDispatcher *self);
void               sandbox_dispatcher_unref (SandboxDispatcher *self);
void               sandbox_dispatcher_invoke (SandboxDispatcher *self,
                                              GSourceFunc        func,
                                              gpointer           data,
                                              GDestroyNotify     notify);

/* In @context (NULL: home) or in a call, whichever comes first. What waits is also run in a call that begins later: in its
 * thread, or below its main loop or outer call, nothing else may run. */
void sandbox_dispatcher_invoke_in (SandboxDispatcher *self,
                                   GMainContext      *context,
                                   GSourceFunc        func,
                                   gpointer           data,
                                   GDestroyNotify     notify);

/* For one who looks what there is to do, and is told of it often. However often the bell rings, @func waits once at home,
 * where it may be for ever, and once in the calls that block, also in one that begins later. FALSE when it waits there
 * already: @data, in which the bell is, was not taken. */
typedef struct
{
  struct _SandboxRing *at_home; /* both guarded by the dispatcher; nothing at first */
  gboolean             in_call;
} SandboxBell;

gboolean sandbox_dispatcher_ring (SandboxDispatcher *self,
                                  SandboxBell       *bell,
                                  GSourceOnceFunc    func,
                                  gpointer           data,
                                  GDestroyNotify     notify);

/* It waits at home no more. */
void sandbox_dispatcher_silence (SandboxDispatcher *self,
                                 SandboxBell       *bell);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxDispatcher, sandbox_dispatcher_unref)

G_END_DECLS
