/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-sync-private.h"
#include "sandbox-worker-private.h"

#include "../common/test-helpers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* Answers a task on the worker, as most calls of the library end. */
static gboolean
answer_on_worker_cb (gpointer data)
{
  g_task_return_boolean (data, TRUE);

  return G_SOURCE_REMOVE;
}

static void
work_async (GAsyncReadyCallback callback,
            gpointer            user_data)
{
  sandbox_worker_invoke (answer_on_worker_cb, g_task_new (NULL, NULL, callback, user_data), g_object_unref);
}

static void
work (SandboxDispatcher *dispatcher)
{
  SandboxSync sync;

  sandbox_sync_begin (&sync, dispatcher);
  work_async (sandbox_sync_cb, &sync);
  g_assert_true (g_task_propagate_boolean (G_TASK (sandbox_sync_wait (&sync)), NULL));
  sandbox_sync_end (&sync);
}

static void
test_no_loop (void)
{
  g_test_summary ("A synchronous call needs no main loop, and leaves the context of the thread as it was");

  g_assert_false (sandbox_sync_is_below ());
  work (NULL);
  g_assert_null (g_main_context_get_thread_default ());
  g_assert_false (sandbox_sync_is_below ());
}

static gpointer
own_context_thread (gpointer data)
{
  g_autoptr (GMainContext) context = g_main_context_new ();

  g_main_context_push_thread_default (context);
  work (NULL);
  g_assert_true (g_main_context_get_thread_default () == context);
  g_main_context_pop_thread_default (context);
  work (NULL);

  return NULL;
}

static void
test_own_context (void)
{
  g_test_summary ("A thread with a context of its own, or none, can call too");

  g_thread_join (g_thread_new ("own", own_context_thread, NULL));
}

static gboolean
nested_cb (gpointer data)
{
  int *depth = data;

  if (--*depth > 0)
    {
      g_autoptr (GSource) source = g_idle_source_new ();

      g_source_set_callback (source, nested_cb, depth, NULL);
      g_source_attach (source, g_main_context_get_thread_default ());
    }
  work (NULL);

  return G_SOURCE_REMOVE;
}

static gboolean
answer_cb (gpointer data)
{
  g_task_return_boolean (data, TRUE);

  return G_SOURCE_REMOVE;
}

static gboolean
always_ready_cb (gpointer data)
{
  return *(int *) data > 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* Of a context, with the priority of an answer */
static void
attach (GMainContext  *context,
        GSourceFunc    func,
        gpointer       data,
        GDestroyNotify notify)
{
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, func, data, notify);
  g_source_attach (source, context);
}

static void
test_nested (void)
{
  SandboxSync sync;
  SandboxSync inner;
  int         goes_on = 1;

  g_test_summary ("A callback below a synchronous call may make another, which waits also for what goes on in the outer one");

  sandbox_sync_begin (&sync, NULL);
  g_assert_true (sandbox_sync_is_below ());
  attach (sync.context, answer_cb, g_task_new (NULL, NULL, sandbox_sync_cb, &sync), g_object_unref);
  attach (sync.context, answer_cb, g_task_new (NULL, NULL, sandbox_sync_cb, &inner), g_object_unref);
  attach (sync.context, always_ready_cb, &goes_on, NULL);
  sandbox_sync_begin (&inner, NULL);
  g_assert_true (sandbox_sync_is_below ());
  sandbox_sync_wait (&inner);
  sandbox_sync_end (&inner);
  g_assert_true (g_main_context_get_thread_default () == sync.context);
  g_assert_true (sandbox_sync_is_below ());
  goes_on = 0;
  sandbox_sync_wait (&sync);
  sandbox_sync_end (&sync);
  g_assert_false (sandbox_sync_is_below ());
}

static void
test_nested_below_own_context (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  SandboxSync sync;
  SandboxSync inner;

  g_test_summary ("The same, with a context that the callback pushed in between");

  sandbox_sync_begin (&sync, NULL);
  attach (sync.context, answer_cb, g_task_new (NULL, NULL, sandbox_sync_cb, &sync), g_object_unref);
  g_main_context_push_thread_default (context);
  sandbox_sync_begin (&inner, NULL);
  while (sync.result == NULL)
    g_main_context_iteration (inner.context, TRUE);
  work_async (sandbox_sync_cb, &inner);
  sandbox_sync_wait (&inner);
  sandbox_sync_end (&inner);
  g_assert_true (g_main_context_get_thread_default () == context);
  g_main_context_pop_thread_default (context);
  g_assert_true (g_main_context_get_thread_default () == sync.context);
  sandbox_sync_wait (&sync);
  sandbox_sync_end (&sync);
}

static void
test_from_loop (void)
{
  int depth = 3;

  g_test_summary ("A call from the thread of a main loop returns although that loop does not run meanwhile");

  g_idle_add (nested_cb, &depth);
  test_wait (depth == 0);
}

static void
test_below_own_context (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  SandboxSync sync;

  g_test_summary ("Who pushes a context of its own below a synchronous call is not below it any more");

  sandbox_sync_begin (&sync, NULL);
  g_main_context_push_thread_default (context);
  g_assert_false (sandbox_sync_is_below ());
  g_main_context_pop_thread_default (context);
  g_assert_true (sandbox_sync_is_below ());
  work_async (sandbox_sync_cb, &sync);
  sandbox_sync_wait (&sync);
  sandbox_sync_end (&sync);
}

/* ---- Where code of the host runs */

typedef struct
{
  GMutex   lock;
  GThread *thread;
  int      runs;
  int      freed;
} Hook;

static gboolean
hook_cb (gpointer data)
{
  Hook *hook = data;

  g_mutex_lock (&hook->lock);
  hook->thread = g_thread_self ();
  hook->runs++;
  g_mutex_unlock (&hook->lock);

  return G_SOURCE_REMOVE;
}

static int
hook_get_runs (Hook *hook)
{
  int runs = 0;

  g_mutex_lock (&hook->lock);
  runs = hook->runs;
  g_mutex_unlock (&hook->lock);

  return runs;
}

static void
test_home (void)
{
  SandboxDispatcher *dispatcher = sandbox_dispatcher_new ();
  Hook               hook = { 0 };

  g_test_summary ("Outside of synchronous calls, code of the host runs in the context where the session was made");

  sandbox_dispatcher_invoke (dispatcher, hook_cb, &hook, NULL);
  g_assert_cmpint (hook_get_runs (&hook), ==, 0);
  test_wait (hook_get_runs (&hook) == 1);
  g_assert_true (hook.thread == g_thread_self ());
  sandbox_dispatcher_unref (dispatcher);
}

static gpointer
home_below_sync_thread (gpointer data)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (SandboxDispatcher) dispatcher = NULL;
  SandboxSync outer;
  SandboxSync inner;
  Hook        hook = { 0 };

  g_main_context_push_thread_default (context);
  sandbox_sync_begin (&outer, NULL);
  sandbox_sync_begin (&inner, NULL);
  dispatcher = sandbox_dispatcher_new ();
  work_async (sandbox_sync_cb, &inner);
  sandbox_sync_wait (&inner);
  sandbox_sync_end (&inner);
  work_async (sandbox_sync_cb, &outer);
  sandbox_sync_wait (&outer);
  sandbox_sync_end (&outer);

  sandbox_dispatcher_invoke (dispatcher, hook_cb, &hook, NULL);
  test_wait (hook_get_runs (&hook) == 1);
  g_main_context_pop_thread_default (context);

  return NULL;
}

static void
test_home_below_sync (void)
{
  SandboxSync        sync;
  SandboxDispatcher *dispatcher = NULL;
  Hook               hook = { 0 };

  g_test_summary ("A session that is made in a synchronous call has its home in the caller's context");

  sandbox_sync_begin (&sync, NULL);
  dispatcher = sandbox_dispatcher_new ();
  work_async (sandbox_sync_cb, &sync);
  sandbox_sync_wait (&sync);
  sandbox_sync_end (&sync);

  sandbox_dispatcher_invoke (dispatcher, hook_cb, &hook, NULL);
  test_wait (hook_get_runs (&hook) == 1);
  sandbox_dispatcher_unref (dispatcher);

  g_thread_join (g_thread_new ("home", home_below_sync_thread, NULL));
}

typedef struct
{
  SandboxDispatcher *dispatcher;
  Hook              *hook;
  GTask             *task;
} Inside;

/* A hook first, the answer once it has run. */
static gpointer
inside_thread (gpointer data)
{
  Inside *inside = data;

  sandbox_dispatcher_invoke (inside->dispatcher, hook_cb, inside->hook, NULL);
  while (hook_get_runs (inside->hook) == 0)
    g_usleep (100);
  g_task_return_boolean (inside->task, TRUE);
  g_clear_object (&inside->task);

  return NULL;
}

static gpointer
blocked_thread (gpointer data)
{
  Inside      inside = *(Inside *) data;
  SandboxSync sync;
  GThread    *thread = NULL;

  sandbox_sync_begin (&sync, inside.dispatcher);
  inside.task = g_task_new (NULL, NULL, sandbox_sync_cb, &sync);
  thread = g_thread_new ("inside", inside_thread, &inside);
  g_assert_true (g_task_propagate_boolean (G_TASK (sandbox_sync_wait (&sync)), NULL));
  sandbox_sync_end (&sync);
  g_thread_join (thread);

  return g_thread_self ();
}

static void
test_blocked (void)
{
  g_autoptr (SandboxDispatcher) dispatcher = sandbox_dispatcher_new ();
  Hook   hook = { 0 };
  Inside inside = { dispatcher, &hook, NULL };

  g_test_summary ("While a thread blocks in a call, code of the host runs in that thread");

  blocked_thread (&inside);
  g_assert_true (hook.thread == g_thread_self ());

  hook.runs = 0;
  g_assert_true (g_thread_join (g_thread_new ("blocked", blocked_thread, &inside)) == hook.thread);
  g_assert_true (hook.thread != g_thread_self ());

  hook.runs = 0;
  sandbox_dispatcher_invoke (dispatcher, hook_cb, &hook, NULL);
  test_wait (hook_get_runs (&hook) == 1);
  g_assert_true (hook.thread == g_thread_self ());
}

static gpointer
working_thread (gpointer data)
{
  work (data);

  return g_thread_self ();
}

static void
hook_freed (gpointer data)
{
  ((Hook *) data)->freed++;
}

static void
test_pending (void)
{
  g_autoptr (SandboxDispatcher) dispatcher = sandbox_dispatcher_new ();
  g_autoptr (GMainContext) context = g_main_context_new ();
  SandboxSync sync;
  Hook        hook = { 0 };

  g_test_summary ("What waits where nobody runs it, at home or in another call, is run in a call that begins later: once");

  sandbox_dispatcher_invoke (dispatcher, hook_cb, &hook, hook_freed);
  work (dispatcher);
  g_assert_cmpint (hook_get_runs (&hook), ==, 1);
  g_assert_cmpint (hook.freed, ==, 1);
  g_assert_false (g_main_context_pending (NULL));

  sandbox_sync_begin (&sync, dispatcher);
  sandbox_dispatcher_invoke (dispatcher, hook_cb, &hook, hook_freed);
  g_assert_true (g_thread_join (g_thread_new ("other", working_thread, dispatcher)) == hook.thread);
  g_assert_cmpint (hook_get_runs (&hook), ==, 2);
  sandbox_sync_end (&sync);
  g_assert_cmpint (hook_get_runs (&hook), ==, 2);
  g_assert_cmpint (hook.freed, ==, 2);

  /* In a context that is not home */
  sandbox_dispatcher_invoke_in (dispatcher, context, hook_cb, &hook, hook_freed);
  g_assert_false (g_main_context_pending (NULL));
  g_assert_true (g_main_context_iteration (context, FALSE));
  g_assert_cmpint (hook_get_runs (&hook), ==, 3);
  sandbox_dispatcher_invoke_in (dispatcher, context, hook_cb, &hook, hook_freed);
  work (dispatcher);
  g_assert_cmpint (hook_get_runs (&hook), ==, 4);
  g_assert_false (g_main_context_pending (context));
  sandbox_sync_begin (&sync, dispatcher);
  sandbox_dispatcher_invoke_in (dispatcher, context, hook_cb, &hook, hook_freed);
  sandbox_dispatcher_invoke_in (dispatcher, sync.context, hook_cb, &hook, hook_freed);
  sandbox_sync_end (&sync);
  g_assert_cmpint (hook_get_runs (&hook), ==, 6);
  g_assert_cmpint (hook.freed, ==, 6);
  g_assert_false (g_main_context_pending (context));
}

/* ---- Bells */

typedef struct
{
  SandboxDispatcher *dispatcher;
  SandboxBell        bell;
  guint              n_rung;
  guint              n_freed;
  GThread           *thread;
} Ringing;

static void
ring_cb (gpointer user_data)
{
  Ringing *ringing = user_data;

  ringing->thread = g_thread_self ();
  g_atomic_int_inc ((int *) &ringing->n_rung);
}

static void
ring_freed (gpointer data)
{
  g_atomic_int_inc ((int *) &((Ringing *) data)->n_freed);
}

static gboolean
ring (Ringing *ringing)
{
  return sandbox_dispatcher_ring (ringing->dispatcher, &ringing->bell, ring_cb, ringing, ring_freed);
}

static gpointer
ring_thread (gpointer data)
{
  Ringing *ringing = data;

  g_assert_true (ring (ringing));
  while (g_atomic_int_get ((int *) &ringing->n_rung) < 2)
    g_usleep (100);
  g_assert_true (ring (ringing));

  return NULL;
}

static void
test_bell (void)
{
  g_autoptr (SandboxDispatcher) dispatcher = sandbox_dispatcher_new ();
  Ringing     ringing = { .dispatcher = dispatcher };
  SandboxSync sync;
  GThread    *thread = NULL;

  g_test_summary ("However often it rings, who looks waits once at home and once in calls, and neither keeps the other");

  g_assert_true (ring (&ringing));
  for (guint i = 0; i < 1000; i++)
    g_assert_false (ring (&ringing));

  /* Nobody is at home; a call that begins looks as well. */
  sandbox_sync_begin (&sync, dispatcher);
  g_assert_false (ring (&ringing));
  work_async (sandbox_sync_cb, &sync);
  while (g_atomic_int_get ((int *) &ringing.n_rung) < 1)
    g_main_context_iteration (sync.context, TRUE);
  thread = g_thread_new ("ring", ring_thread, &ringing);
  while (g_atomic_int_get ((int *) &ringing.n_rung) < 3)
    g_main_context_iteration (sync.context, TRUE);
  g_assert_false (ringing.bell.in_call);
  sandbox_sync_wait (&sync);
  g_thread_join (thread);
  sandbox_sync_end (&sync);
  g_assert_cmpuint (ringing.n_rung, ==, 3);
  g_assert_cmpuint (ringing.n_freed, ==, 2);

  /* It still waits at home. */
  g_assert_false (ring (&ringing));
  test_wait (ringing.n_rung == 4);
  g_assert_true (ring (&ringing));
  test_wait (ringing.n_rung == 5);
  g_assert_cmpuint (ringing.n_freed, ==, 4);
  g_assert_true (ringing.thread == g_thread_self ());

  g_assert_true (ring (&ringing));
  sandbox_dispatcher_silence (dispatcher, &ringing.bell);
  g_assert_cmpuint (ringing.n_freed, ==, 5);
  sandbox_dispatcher_silence (dispatcher, &ringing.bell);
  test_run_for (5);
  g_assert_cmpuint (ringing.n_rung, ==, 5);
  g_assert_true (ring (&ringing));
  test_wait (ringing.n_rung == 6);
}

/* ---- In a forked child */

typedef struct
{
  GMainContext      *context;
  SandboxDispatcher *dispatcher;
  gboolean           held;
  gboolean           done;
} Holder;

/* GLib calls this with the lock of the context. */
static void
holder_ref_cb (gpointer data)
{
  Holder *holder = data;

  g_atomic_int_set (&holder->held, TRUE);
  while (!g_atomic_int_get (&holder->done))
    g_usleep (1000);
}

static void
holder_unref_cb (gpointer data)
{
}

static gboolean
nothing_cb (gpointer data)
{
  return G_SOURCE_REMOVE;
}

static void
holder_get_cb (gpointer     data,
               GSource     *source,
               GSourceFunc *func,
               gpointer    *func_data)
{
  *func = nothing_cb;
  *func_data = NULL;
}

static gpointer
holder_thread (gpointer data)
{
  static GSourceCallbackFuncs funcs = { holder_ref_cb, holder_unref_cb, holder_get_cb };
  g_autoptr (GSource) source = g_idle_source_new ();
  Holder *holder = data;

  g_source_set_callback_indirect (source, holder, &funcs);
  g_source_attach (source, holder->context);
  g_main_context_iteration (holder->context, TRUE);

  return NULL;
}

static gpointer
invoking_thread (gpointer data)
{
  Holder *holder = data;

  sandbox_dispatcher_invoke (holder->dispatcher, nothing_cb, NULL, NULL);

  return NULL;
}

/* Without a search for leaks, of what threads had that are not there */
static void G_GNUC_NORETURN
leave_child (int status)
{
  if (status == 0 && g_getenv ("SANDBOX_TEST_VALGRIND") != NULL)
    execlp ("true", "true", NULL);
  _exit (status);
}

static void G_GNUC_NORETURN
call_in_child (SandboxDispatcher *dispatcher)
{
  SandboxSync sync;

  alarm (10);
  sandbox_sync_begin (&sync, dispatcher);
  sandbox_sync_end (&sync);
  sandbox_dispatcher_unref (dispatcher);
  leave_child (0);
}

static void
test_forked (void)
{
  Holder   holder = { .context = g_main_context_new () };
  GThread *holding = NULL;
  GThread *invoking = NULL;
  pid_t    pid = 0;
  int      status = -1;

  g_test_summary ("Case 96: a call in a forked child does not wait for a thread of the parent's that had the lock at the fork");

  g_main_context_push_thread_default (holder.context);
  holder.dispatcher = sandbox_dispatcher_new ();
  g_main_context_pop_thread_default (holder.context);
  holding = g_thread_new ("holding", holder_thread, &holder);
  test_wait (g_atomic_int_get (&holder.held));
  invoking = g_thread_new ("invoking", invoking_thread, &holder);
  test_wait_for_threads ();

  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    call_in_child (holder.dispatcher);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);

  g_atomic_int_set (&holder.done, TRUE);
  g_thread_join (holding);
  g_thread_join (invoking);
  sandbox_dispatcher_unref (holder.dispatcher);
  g_main_context_unref (holder.context);
}

static gpointer
many_calls_thread (gpointer data)
{
  for (guint i = 0; i < 1500; i++)
    work (data);

  return NULL;
}

static void
test_ends (void)
{
  g_autoptr (SandboxDispatcher) dispatcher = sandbox_dispatcher_new ();
  GThread *threads[4];
  Hook     hook = { 0 };
  int      invoked = 0;

  g_test_summary ("What is invoked while calls begin and end runs once, wherever: none is left behind in an ended call");

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("many", many_calls_thread, dispatcher);
  for (; invoked < 3000; invoked++)
    sandbox_dispatcher_invoke (dispatcher, hook_cb, &hook, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  test_wait (hook_get_runs (&hook) == invoked);
}

static gboolean
later_cb (gpointer data)
{
  (*(int *) data)++;

  return G_SOURCE_REMOVE;
}

static void
count_freed (gpointer data)
{
  (*(int *) data)++;
}

static void
test_dispatcher_gone (void)
{
  SandboxDispatcher *dispatcher = sandbox_dispatcher_new ();
  Hook               hook = { 0 };
  int                freed = 0;

  g_test_summary ("A dispatcher may go while its calls wait; what they hold is freed once");

  sandbox_dispatcher_invoke (dispatcher, hook_cb, &hook, NULL);
  sandbox_dispatcher_invoke (dispatcher, later_cb, &freed, count_freed);
  sandbox_dispatcher_unref (dispatcher);
  g_assert_cmpint (freed, ==, 0);
  test_wait (hook_get_runs (&hook) == 1 && freed == 2);
}

typedef struct
{
  SandboxDispatcher *dispatcher;
  GTask             *task;
} ShortCall;

static gboolean
short_call_answer_cb (gpointer data)
{
  g_autoptr (GTask) task = data;

  g_task_return_boolean (task, TRUE);

  return G_SOURCE_REMOVE;
}

/* One call, whose context goes with the thread. */
static gpointer
short_call_thread (gpointer data)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;
  ShortCall *call = data;

  sandbox_sync_begin (&sync, call->dispatcher);
  g_atomic_pointer_set (&call->task, g_task_new (NULL, NULL, sandbox_sync_cb, &sync));
  sandbox_sync_wait (&sync);

  return NULL;
}

static gpointer
short_calls_thread (gpointer data)
{
  g_autoptr (SandboxDispatcher) dispatcher = sandbox_dispatcher_new ();

  for (guint i = 0; i < 1500; i++)
    {
      ShortCall call = { .dispatcher = dispatcher };
      GThread  *thread = g_thread_new ("short-call", short_call_thread, &call);

      while (g_atomic_pointer_get (&call.task) == NULL)
        g_thread_yield ();
      sandbox_dispatcher_invoke (dispatcher, short_call_answer_cb, call.task, NULL);
      g_thread_join (thread);
    }

  return NULL;
}

static void
test_context_goes (void)
{
  GThread *threads[6];

  g_test_summary ("Whoever hands something to a call that then ends, and its context with it, does not wait for that context");

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("short-calls", short_calls_thread, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

static void
test_flat (void)
{
  guint descriptors = 0;
  guint threads = 0;

  g_test_summary ("Ten thousand calls leave no descriptor and no thread");

  work (NULL);
  descriptors = test_count_descriptors ();
  threads = test_count_threads ();
  for (guint i = 0; i < 10000; i++)
    work (NULL);
  test_assert_descriptors (descriptors);
  test_wait (test_count_threads () <= threads);
}

static void
test_drained (void)
{
  g_autoptr (GSource) source = NULL;
  SandboxSync sync;
  int         runs = 0;

  g_test_summary ("What is ready when a call ends is run before the call returns");

  sandbox_sync_begin (&sync, NULL);
  source = g_idle_source_new ();
  g_source_set_callback (source, later_cb, &runs, NULL);
  g_source_attach (source, sync.context);
  work_async (sandbox_sync_cb, &sync);
  sandbox_sync_wait (&sync);
  sandbox_sync_end (&sync);
  g_assert_cmpint (runs, ==, 1);
}

/* ---- The worker and the pools */

static gboolean
is_worker_cb (gpointer data)
{
  g_atomic_int_set ((int *) data, sandbox_worker_is_current () ? 1 : -1);

  return G_SOURCE_REMOVE;
}

static void
test_worker (void)
{
  int answer = 0;

  g_test_summary ("There is one worker thread, and it is no thread of the host");

  g_assert_false (sandbox_worker_is_current ());
  g_assert_true (sandbox_get_worker_context () == sandbox_get_worker_context ());
  sandbox_worker_invoke (is_worker_cb, &answer, NULL);
  test_wait (g_atomic_int_get (&answer) != 0);
  g_assert_cmpint (answer, ==, 1);
}

typedef struct
{
  int running;
  int most;
  int done;
} Pool;

static void
pool_cb (gpointer data,
         gpointer user_data)
{
  Pool *pool = data;
  int   running = g_atomic_int_add (&pool->running, 1) + 1;

  g_assert_false (sandbox_worker_is_current ());
  if (running > g_atomic_int_get (&pool->most))
    g_atomic_int_set (&pool->most, running);
  g_usleep (2000);
  g_atomic_int_add (&pool->running, -1);
  g_atomic_int_inc (&pool->done);
}

static void
test_pool (void)
{
  Pool pool = { 0 };

  g_test_summary ("The pool runs everything, and at most four at a time");

  for (guint i = 0; i < 100; i++)
    sandbox_pool_push (SANDBOX_POOL_CALLS, pool_cb, &pool);
  test_wait (g_atomic_int_get (&pool.done) == 100);
  g_assert_cmpint (pool.most, <=, 4);
  g_assert_cmpint (pool.most, >, 1);
}

static void
pool_wait_cb (gpointer data,
              gpointer user_data)
{
  int *is_open = data;

  while (!g_atomic_int_get (is_open))
    g_usleep (1000);
}

static void
test_removals (void)
{
  Pool pool = { 0 };
  int  is_open = FALSE;

  g_test_summary ("Removals that take for ever hold up no other call");

  for (guint i = 0; i < 8; i++)
    sandbox_pool_push (SANDBOX_POOL_REMOVALS, pool_wait_cb, &is_open);
  sandbox_pool_push (SANDBOX_POOL_REMOVALS, pool_cb, &pool);
  sandbox_pool_push (SANDBOX_POOL_CALLS, pool_cb, &pool);
  test_wait (g_atomic_int_get (&pool.done) == 1);
  g_atomic_int_set (&is_open, TRUE);
  test_wait (g_atomic_int_get (&pool.done) == 2);
}

/* ---- A thread of a module's */

typedef struct
{
  GMainContext *context;
  pthread_t     thread;
  int           is_known;
  int           is_inside;
  int           turns;
  int           done;
} Served;

static gboolean
served_cb (gpointer data)
{
  Served *served = data;

  served->thread = pthread_self ();
  g_atomic_int_set (&served->is_known, TRUE);
  g_atomic_int_set (&served->is_inside, TRUE);
  g_usleep (500);
  g_atomic_int_set (&served->is_inside, FALSE);
  g_atomic_int_inc (&served->turns);

  return g_atomic_int_get (&served->done) ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

static void
served_invoke (Served     *self,
               GSourceFunc func)
{
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_callback (source, func, self, NULL);
  g_source_attach (source, self->context);
}

/* It stays, as the thread does. */
static Served *
served_get (void)
{
  static Served served;

  if (served.context == NULL)
    {
      served.context = g_main_context_new ();
      sandbox_serve_context (served.context, "served");
    }
  g_atomic_int_set (&served.done, FALSE);

  return &served;
}

static void
assert_left (pid_t pid)
{
  int status = -1;

  while (waitpid (pid, &status, 0) < 0)
    g_assert_cmpint (errno, ==, EINTR);
  g_assert_cmpint (status, ==, 0);
}

static void
test_served (void)
{
  Served *served = served_get ();
  int     turns = 0;

  g_test_summary ("Case 96: a thread of a module's is never in the midst of something when the host forks");

  served_invoke (served, served_cb);
  test_wait (g_atomic_int_get (&served->is_known));
  for (guint i = 0; i < 100; i++)
    {
      pid_t pid = fork ();

      g_assert_cmpint (pid, >=, 0);
      if (pid == 0)
        {
          alarm (20);
          leave_child (g_atomic_int_get (&served->is_inside));
        }
      assert_left (pid);
    }
  turns = g_atomic_int_get (&served->turns);
  test_wait (g_atomic_int_get (&served->turns) > turns + 1);
  g_atomic_int_set (&served->done, TRUE);
}

static int n_handled;

static void
fork_handler (int number)
{
  int   errsv = errno;
  int   status = -1;
  pid_t pid = fork ();

  if (pid == 0)
    leave_child (0);
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  if (status == 0)
    g_atomic_int_inc (&n_handled);
  errno = errsv;
}

static gboolean
raise_cb (gpointer data)
{
  Served *served = data;

  served->thread = pthread_self ();
  raise (SIGUSR1);

  return G_SOURCE_REMOVE;
}

static void
test_served_handler (void)
{
  struct sigaction action = { .sa_handler = fork_handler, .sa_flags = SA_RESTART };
  struct sigaction before;
  Served          *served = served_get ();
  gint64           begin = 0;

  g_test_summary ("A handler of the host that forks in a thread of a module's waits for nobody, wherever it finds the thread");

  g_assert_cmpint (sigaction (SIGUSR1, &action, &before), ==, 0);
  served_invoke (served, raise_cb);
  test_wait (g_atomic_int_get (&n_handled) == 1);

  begin = g_get_monotonic_time ();
  for (int i = 1; i < 300; i++)
    {
      g_main_context_wakeup (served->context);
      g_assert_cmpint (pthread_kill (served->thread, SIGUSR1), ==, 0);
      test_wait (g_atomic_int_get (&n_handled) == i + 1);
    }
  /* far less than the time after which a fork waits no more */
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 300 * 200 * 1000);
  g_assert_cmpint (sigaction (SIGUSR1, &before, NULL), ==, 0);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/sync/no-loop", test_no_loop);
  g_test_add_func ("/sync/own-context", test_own_context);
  g_test_add_func ("/sync/nested", test_nested);
  g_test_add_func ("/sync/nested-below-own-context", test_nested_below_own_context);
  g_test_add_func ("/sync/from-loop", test_from_loop);
  g_test_add_func ("/sync/below-own-context", test_below_own_context);
  g_test_add_func ("/sync/drained", test_drained);
  g_test_add_func ("/sync/context-goes", test_context_goes);
  g_test_add_func ("/sync/flat", test_flat);
  g_test_add_func ("/dispatcher/home", test_home);
  g_test_add_func ("/dispatcher/home-below-sync", test_home_below_sync);
  g_test_add_func ("/dispatcher/blocked", test_blocked);
  g_test_add_func ("/dispatcher/pending", test_pending);
  g_test_add_func ("/dispatcher/bell", test_bell);
  g_test_add_func ("/dispatcher/ends", test_ends);
  g_test_add_func ("/dispatcher/gone", test_dispatcher_gone);
  g_test_add_func ("/dispatcher/forked", test_forked);
  g_test_add_func ("/worker/one", test_worker);
  g_test_add_func ("/worker/pool", test_pool);
  g_test_add_func ("/worker/served", test_served);
  g_test_add_func ("/worker/served-handler", test_served_handler);
  g_test_add_func ("/sync/removals", test_removals);

  return g_test_run ();
}
