/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-worker-private.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "sandbox-fork-private.h"

/* What the worker and threads like it run is short. Should one wait for a lock of the host's that the forking thread has,
 * such as the one of an interpreter, then the fork comes first. */
#define PAUSE_LIMIT_US (250 * 1000)

/* Threads do not come along when the host forks: a child gets others when it needs them, and what these had in
 * their hands stays as it was in between two things. */
static GMutex        lock; /* guards what follows; held by who forks */
static GCond         idle;
static GCond         resumed;
static guint         n_pausing; /* threads that fork, or wait for that: who wakes lets them go first */
static GMainContext *worker;    /* read without the lock too */
static guint         n_busy;    /* the worker and the others, while they do not wait */
static GPrivate      busy;      /* whether this thread is one of them */

static struct
{
  const guint  max_threads;
  guint        n_threads;
  GAsyncQueue *jobs;
} pools[SANDBOX_N_POOLS] = {
  [SANDBOX_POOL_CALLS] = { .max_threads = 4 },
  [SANDBOX_POOL_REMOVALS] = { .max_threads = 2 },
  [SANDBOX_POOL_ATTACHES] = { .max_threads = 4 },
};

/* A child that comes back to here, though it must not, is not counted. */
static void
sandbox_worker_rest (void)
{
  g_mutex_lock (&lock);
  if (g_private_get (&busy) != NULL)
    {
      g_private_set (&busy, NULL);
      n_busy--;
      g_cond_broadcast (&idle);
    }
  g_mutex_unlock (&lock);
}

/* Here it stays while there is a fork. */
static void
sandbox_worker_wake (void)
{
  g_mutex_lock (&lock);
  while (n_pausing > 0)
    g_cond_wait (&resumed, &lock);
  g_private_set (&busy, &busy);
  n_busy++;
  g_mutex_unlock (&lock);
}

static int
sandbox_worker_poll (GPollFD *fds,
                     guint    n_fds,
                     int      timeout)
{
  int n_ready = 0;

  sandbox_worker_rest ();
  n_ready = g_poll (fds, n_fds, timeout);
  sandbox_worker_wake ();

  return n_ready;
}

/* The same for a thread in which handlers of the host may run. One that forks must not find the lock in its own hands. */
static int
sandbox_served_poll (GPollFD *fds,
                     guint    n_fds,
                     int      timeout)
{
  sigset_t all;
  sigset_t before;
  int      n_ready = 0;
  int      errsv = 0;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  sandbox_worker_rest ();
  pthread_sigmask (SIG_SETMASK, &before, NULL);

  n_ready = g_poll (fds, n_fds, timeout);
  errsv = errno;

  pthread_sigmask (SIG_SETMASK, &all, NULL);
  sandbox_worker_wake ();
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  errno = errsv;

  return n_ready;
}

void
sandbox_worker_pause (void)
{
  gint64 end = g_get_monotonic_time () + PAUSE_LIMIT_US;
  guint  n_own = 0;

  g_mutex_lock (&lock);
  if (n_busy > 0 && g_private_get (&busy) != NULL)
    n_own = 1;
  n_pausing++;
  while (n_busy > n_own && g_cond_wait_until (&idle, &lock, end))
    ;
  n_pausing--;
}

void
sandbox_worker_resume (void)
{
  g_cond_broadcast (&resumed);
  g_mutex_unlock (&lock);
}

void
sandbox_worker_resume_in_child (void)
{
  g_atomic_pointer_set (&worker, NULL);
  if (n_busy > 0 && g_private_get (&busy) != NULL)
    g_private_set (&busy, NULL);
  n_busy = 0;
  n_pausing = 0;
  for (guint i = 0; i < SANDBOX_N_POOLS; i++)
    {
      pools[i].jobs = NULL;
      pools[i].n_threads = 0;
    }
  g_mutex_unlock (&lock);
}

/* Of a thread that runs a context */
typedef struct
{
  GMainContext *context;
  int           wakeup_fd; /* by which GLib has the context look again; -1: unknown */
} ServedThread;

/* @context is taken, and has no source yet. */
static ServedThread *
sandbox_served_new (GMainContext *context)
{
  ServedThread *self = g_new (ServedThread, 1);
  GPollFD       polled = { -1, 0, 0 };
  int           timeout = 0;

  self->context = context;
  self->wakeup_fd = -1;
  if (!g_main_context_acquire (context))
    return self;
  if (g_main_context_query (context, G_MAXINT, &timeout, &polled, 1) == 1)
    self->wakeup_fd = polled.fd;
  g_main_context_release (context);

  return self;
}

/* What comes from now on is seen before the next wait, as the context is looked through before that. GLib tells a thread also of
 * what it has done to its own sources, and it would wait in vain once more for each turn in which it has. */
static void
sandbox_served_forget_wakeup (ServedThread *self)
{
  char word[16];

  if (self->wakeup_fd >= 0)
    while (read (self->wakeup_fd, word, sizeof word) == sizeof word)
      ;
}

static gpointer
sandbox_served_thread (gpointer data)
{
  ServedThread *self = data;

  g_private_set (&busy, &busy);
  g_main_context_push_thread_default (self->context);
  for (;;)
    {
      g_main_context_iteration (self->context, TRUE);
      sandbox_served_forget_wakeup (self);
    }

  return NULL;
}

static gpointer
sandbox_worker_thread (gpointer data)
{
  sigset_t all;

  /* This thread only: a write to a closed pipe gives EPIPE, and no handler of the host runs here. */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, NULL);

  return sandbox_served_thread (data);
}

/* Locked: the thread counts as busy before it is there. */
static void
sandbox_worker_start (const char   *name,
                      GThreadFunc   func,
                      GMainContext *context)
{
  n_busy++;
  g_thread_unref (g_thread_new (name, func, sandbox_served_new (context)));
}

/**
 * sandbox_get_worker_context:
 *
 * Gets the main context of the library's own thread.
 *
 * Whatever must outlive the call that starts it (a child watch, a timer, a socket) belongs there:
 * below a synchronous call the thread-default context is a private one that ends with the call.
 * The thread starts at the first use and lives as long as the process; what is attached must never
 * block, touch files, or run code of a host in another language. A child that is forked from the process
 * gets a context and a thread of its own, at the first use there.
 *
 * Returns: (transfer none): the context
 *
 * Since: 1.0
 */
GMainContext *
sandbox_get_worker_context (void)
{
  GMainContext *context = g_atomic_pointer_get (&worker);

  if (context != NULL)
    return context;

  sandbox_fork_get_generation ();
  g_mutex_lock (&lock);
  context = worker;
  if (context == NULL)
    {
      context = g_main_context_new ();
      g_main_context_set_poll_func (context, sandbox_worker_poll);
      sandbox_worker_start ("sandbox-worker", sandbox_worker_thread, context);
      g_atomic_pointer_set (&worker, context);
    }
  g_mutex_unlock (&lock);

  return context;
}

/**
 * sandbox_serve_context: (skip)
 * @context: a main context of the caller's own, which nothing has run yet
 * @name: the name of the thread, short
 *
 * Starts a thread that runs the context, which is its thread-default one, for as long as the process lives.
 *
 * For modules in C whose work is too long for the one of [func@Sandbox.get_worker_context]. A fork () of the host waits until this
 * thread is done with what it is at, and holds it back meanwhile, so that the child finds no lock of GLib's in its hands.
 * So what is attached must not block. A child does not have the thread: whoever starts one remembers the process.
 *
 * Since: 1.0
 */
void
sandbox_serve_context (GMainContext *context,
                       const char   *name)
{
  g_return_if_fail (context != NULL);
  g_return_if_fail (name != NULL);

  sandbox_fork_get_generation ();
  g_main_context_set_poll_func (context, sandbox_served_poll);
  g_mutex_lock (&lock);
  sandbox_worker_start (name, sandbox_served_thread, g_main_context_ref (context));
  g_mutex_unlock (&lock);
}

void
sandbox_worker_invoke (GSourceFunc    func,
                       gpointer       data,
                       GDestroyNotify notify)
{
  g_main_context_invoke_full (sandbox_get_worker_context (), G_PRIORITY_DEFAULT, func, data, notify);
}

gboolean
sandbox_worker_is_current (void)
{
  return g_main_context_is_owner (sandbox_get_worker_context ());
}

GSource *
sandbox_worker_watch_fd (int               fd,
                         GUnixFDSourceFunc func,
                         gpointer          data,
                         GDestroyNotify    notify)
{
  GSource *source = g_unix_fd_source_new (fd, G_IO_IN);

  /* GLib would take the descriptor out of its poll for each call and put it back, and wake the worker up for
   * both, in case the context is run from within the call. Nothing does that here. */
  g_source_set_can_recurse (source, TRUE);
  g_source_set_callback (source, G_SOURCE_FUNC (func), data, notify);
  g_source_attach (source, sandbox_get_worker_context ());

  return source;
}

typedef struct
{
  GFunc    func;
  gpointer data;
} PoolJob;

static gpointer
sandbox_pool_thread (gpointer data)
{
  GAsyncQueue *queue = data;

  for (;;)
    {
      g_autofree PoolJob *job = g_async_queue_pop (queue);

      job->func (job->data, NULL);
    }

  return NULL;
}

/* Not a pool of GLib's: its idle threads serve every pool of the process, and a child waits for them in vain. */
void
sandbox_pool_push (SandboxPool pool,
                   GFunc       func,
                   gpointer    data)
{
  PoolJob *job = g_new (PoolJob, 1);
  GThread *thread = NULL;

  job->func = func;
  job->data = data;

  sandbox_fork_get_generation ();
  g_mutex_lock (&lock);
  if (pools[pool].jobs == NULL)
    pools[pool].jobs = g_async_queue_new ();
  g_async_queue_push (pools[pool].jobs, job);
  /* A thread that cannot be started leaves the job queued for the ones that run. */
  if (pools[pool].n_threads < pools[pool].max_threads && g_async_queue_length (pools[pool].jobs) > 0 &&
      (thread = g_thread_try_new ("sandbox-pool", sandbox_pool_thread, pools[pool].jobs, NULL)) != NULL)
    {
      pools[pool].n_threads++;
      g_thread_unref (thread);
    }
  g_mutex_unlock (&lock);
}
