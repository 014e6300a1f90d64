/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-fork.h"

#include "sandbox-fork-private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error.h"
#include "sandbox-fd-private.h"
#include "sandbox-worker-private.h"

/* The number alone does not tell: whoever owns it may have closed it, and it may be something else by now. */
typedef struct
{
  gpointer owner;
  int      fd;
  dev_t    dev;
  ino_t    ino;
} ForkCover;

static GMutex     lock;
static GPtrArray *places; /* int *; guarded by the lock, like all below but the last */
static GArray    *covers; /* ForkCover */
static guint      generation;

static void
sandbox_fork_cover_one (const ForkCover *cover,
                        int             *nothing)
{
  struct stat st;

  if (fstat (cover->fd, &st) < 0 || st.st_dev != cover->dev || st.st_ino != cover->ino)
    return;

  if (*nothing < 0)
    *nothing = open ("/", O_PATH | O_CLOEXEC);
  if (*nothing < 0 || dup3 (*nothing, cover->fd, O_CLOEXEC) < 0)
    close (cover->fd);
}

/* In the child there is only this thread, which has the locks; no memory is asked for or given back. */
static void
sandbox_fork_child (void)
{
  int nothing = -1;

  for (guint i = 0; places != NULL && i < places->len; i++)
    sandbox_clear_fd (places->pdata[i]);
  for (guint i = 0; covers != NULL && i < covers->len; i++)
    sandbox_fork_cover_one (&g_array_index (covers, ForkCover, i), &nothing);
  sandbox_close_fd (nothing);
  if (places != NULL)
    g_ptr_array_set_size (places, 0);
  if (covers != NULL)
    g_array_set_size (covers, 0);
  g_atomic_int_inc ((int *) &generation);

  g_mutex_unlock (&lock);
  sandbox_worker_resume_in_child ();
}

static void
sandbox_fork_prepare (void)
{
  sandbox_worker_pause ();
  g_mutex_lock (&lock);
}

static void
sandbox_fork_parent (void)
{
  g_mutex_unlock (&lock);
  sandbox_worker_resume ();
}

static void
sandbox_fork_install (void)
{
  static gsize installed = 0;

  if (g_once_init_enter (&installed))
    {
      if (pthread_atfork (sandbox_fork_prepare, sandbox_fork_parent, sandbox_fork_child) != 0)
        g_error ("No memory for the handlers of fork");
      g_once_init_leave (&installed, 1);
    }
}

void
sandbox_fork_lock (void)
{
  sandbox_fork_install ();
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

void
sandbox_fork_cover (gpointer owner,
                    int      fd)
{
  ForkCover   cover = { .owner = owner, .fd = fd };
  struct stat st;

  if (fd < 0 || fstat (fd, &st) < 0)
    return;
  cover.dev = st.st_dev;
  cover.ino = st.st_ino;
  if (covers == NULL)
    covers = g_array_new (FALSE, FALSE, sizeof (ForkCover));
  g_array_append_val (covers, cover);
}

void
sandbox_fork_forget (gpointer owner)
{
  g_mutex_lock (&lock);
  for (guint i = covers != NULL ? covers->len : 0; i > 0; i--)
    if (g_array_index (covers, ForkCover, i - 1).owner == owner)
      g_array_remove_index_fast (covers, i - 1);
  g_mutex_unlock (&lock);
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
  int errsv = errno;
  int stolen;

  if (*fd < 0)
    return;

  sandbox_fork_lock ();
  stolen = sandbox_fork_steal (fd);
  sandbox_fork_unlock ();
  errno = errsv;

  sandbox_close_fd (stolen);
}

guint
sandbox_fork_get_generation (void)
{
  sandbox_fork_install ();

  return (guint) g_atomic_int_get ((int *) &generation);
}

gboolean
sandbox_fork_is_past (guint made)
{
  return made != (guint) g_atomic_int_get ((int *) &generation);
}

gboolean
sandbox_fork_check (guint       made,
                    const char *what,
                    GError    **error)
{
  if (!sandbox_fork_is_past (made))
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED,
               "The %s belongs to the process from which this one was forked", what);

  return FALSE;
}

/**
 * sandbox_keep_from_children: (skip)
 * @fd: where a descriptor stands, or -1; it has to stay there
 *
 * Has a forked child of this program close the descriptor before fork() returns there, which leaves -1 in its place.
 *
 * For backends in C: what says by being open that something is alive, or is locked, must not live on in a child of the
 * host that knows nothing of it. Close it with [func@Sandbox.close_kept].
 *
 * Since: 1.0
 */
void
sandbox_keep_from_children (int *fd)
{
  g_return_if_fail (fd != NULL);

  sandbox_fork_lock ();
  sandbox_fork_watch (fd);
  sandbox_fork_unlock ();
}

/**
 * sandbox_close_kept: (skip)
 * @fd: where a descriptor stands, or -1
 *
 * Closes what was given to [func@Sandbox.keep_from_children], and leaves -1 behind.
 *
 * Since: 1.0
 */
void
sandbox_close_kept (int *fd)
{
  g_return_if_fail (fd != NULL);

  sandbox_fork_close (fd);
}
