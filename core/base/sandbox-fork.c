/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-fork-private.h"

#include <pthread.h>

#include "sandbox-fd-private.h"

static GMutex     lock;
static GPtrArray *places; /* int *; guarded by the lock */

/* In the child there is only this thread, which has the lock; no memory is asked for or given back. */
static void
sandbox_fork_child (void)
{
  for (guint i = 0; places != NULL && i < places->len; i++)
    sandbox_clear_fd (places->pdata[i]);
  if (places != NULL)
    g_ptr_array_set_size (places, 0);
  g_mutex_unlock (&lock);
}

void
sandbox_fork_lock (void)
{
  static gsize installed = 0;

  if (g_once_init_enter (&installed))
    {
      if (pthread_atfork (sandbox_fork_lock, sandbox_fork_unlock, sandbox_fork_child) != 0)
        g_error ("No memory for the handlers of fork");
      g_once_init_leave (&installed, 1);
    }

  g_mutex_lock (&lock);
}

void
sandbox_fork_unlock (void)
{
  g_mutex_unlock (&lock);
}

void
sandbox_fork_watch (int *fd)
{
  if (*fd < 0)
    return;
  if (places == NULL)
    places = g_ptr_array_new ();
  g_ptr_array_add (places, fd);
}

int
sandbox_fork_steal (int *fd)
{
  if (places != NULL)
    g_ptr_array_remove_fast (places, fd);

  return g_steal_fd (fd);
}

void
sandbox_fork_close (int *fd)
{
  int stolen;

  sandbox_fork_lock ();
  stolen = sandbox_fork_steal (fd);
  sandbox_fork_unlock ();

  sandbox_close_fd (stolen);
}
