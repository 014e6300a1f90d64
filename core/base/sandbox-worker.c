/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-worker-private.h"

#include <signal.h>

#define POOL_THREADS 4

static gpointer
sandbox_worker_thread (gpointer data)
{
  GMainContext *context = data;
  sigset_t      all;

  /* This thread only: a write to a closed pipe gives EPIPE, and no handler of the host runs here. */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, NULL);
  g_main_context_push_thread_default (context);
  for (;;)
    g_main_context_iteration (context, TRUE);

  return NULL;
}

/**
 * sandbox_get_worker_context:
 *
 * Gets the main context of the library's own thread.
 *
 * Whatever must outlive the call that starts it (a child watch, a timer, a socket) belongs there:
 * below a synchronous call the thread-default context is a private one that ends with the call.
 * The thread starts at the first use and lives as long as the process; what is attached must never
 * block, touch files, or run code of a host in another language.
 *
 * Returns: (transfer none): the context
 *
 * Since: 1.0
 */
GMainContext *
sandbox_get_worker_context (void)
{
  static GMainContext *context = NULL;

  if (g_once_init_enter (&context))
    {
      GMainContext *made = g_main_context_new ();

      g_thread_unref (g_thread_new ("sandbox-worker", sandbox_worker_thread, made));
      g_once_init_leave (&context, made);
    }

  return context;
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

static void
sandbox_pool_run (gpointer data,
                  gpointer user_data)
{
  g_autofree PoolJob *job = data;

  job->func (job->data, NULL);
}

void
sandbox_pool_push (GFunc    func,
                   gpointer data)
{
  static GThreadPool *pool = NULL;
  PoolJob            *job = g_new (PoolJob, 1);

  if (g_once_init_enter (&pool))
    g_once_init_leave (&pool, g_thread_pool_new (sandbox_pool_run, NULL, POOL_THREADS, FALSE, NULL));

  job->func = func;
  job->data = data;
  /* A thread that cannot be started leaves the job queued for the ones that run. */
  g_thread_pool_push (pool, job, NULL);
}
