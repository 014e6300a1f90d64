/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-program.h"

#include "sandbox-bubblewrap-fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

/* Those that are in use; it owns none of them. */
static GPtrArray *programs;
G_LOCK_DEFINE_STATIC (programs);

/* Locked. What is open here and there is the same file as long as its numbers are the same: neither can be given to another
 * one meanwhile. */
static SandboxBubblewrapProgram *
sandbox_bubblewrap_program_find (const struct stat *info)
{
  for (guint i = 0; programs != NULL && i < programs->len; i++)
    {
      SandboxBubblewrapProgram *self = programs->pdata[i];

      if (self->device == info->st_dev && self->inode == info->st_ino)
        return self;
    }

  return NULL;
}

/* Locked. */
static SandboxBubblewrapProgram *
sandbox_bubblewrap_program_add (const struct stat *info,
                                int                fd,
                                const char        *path)
{
  SandboxBubblewrapProgram *self = NULL;
  const int                 high = fcntl (fd, F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD);

  if (high < 0)
    return NULL;

  self = g_new0 (SandboxBubblewrapProgram, 1);
  self->device = info->st_dev;
  self->inode = info->st_ino;
  self->fd = high;
  self->path = g_strdup (path);
  if (programs == NULL)
    programs = g_ptr_array_new ();
  g_ptr_array_add (programs, self);

  return self;
}

SandboxBubblewrapProgram *
sandbox_bubblewrap_program_new (const char *path,
                                const char *what,
                                GError    **error)
{
  g_auto (SandboxBubblewrapFd) fd = sandbox_open_program (path, what, error);
  SandboxBubblewrapProgram *self = NULL;
  struct stat               info;
  int                       errsv = 0;

  if (fd < 0)
    return NULL;

  G_LOCK (programs);
  if (fstat (fd, &info) == 0)
    {
      self = sandbox_bubblewrap_program_find (&info);
      if (self == NULL)
        self = sandbox_bubblewrap_program_add (&info, fd, path);
      if (self != NULL)
        self->n_users++;
    }
  errsv = errno;
  G_UNLOCK (programs);

  if (self == NULL)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The %s “%s” cannot be held open: %s", what, path,
                 errsv == EINVAL ? "this process may have too few open files (RLIMIT_NOFILE)" : g_strerror (errsv));

  return self;
}

void
sandbox_bubblewrap_program_unref (SandboxBubblewrapProgram *self)
{
  gboolean is_last = FALSE;

  G_LOCK (programs);
  is_last = --self->n_users == 0;
  if (is_last)
    g_ptr_array_remove_fast (programs, self);
  G_UNLOCK (programs);

  if (!is_last)
    return;

  sandbox_bubblewrap_fd_clear (&self->fd);
  g_free (self->path);
  g_free (self);
}

int
sandbox_bubblewrap_program_spawn_agent (int                         agent_fd,
                                        posix_spawn_file_actions_t *actions,
                                        const char *const          *argv,
                                        pid_t                      *pid)
{
  /* The descriptor was verified, so that is what runs, whatever its path leads to by now. */
  g_autofree char  *agent = g_strdup_printf ("/proc/self/fd/%d", agent_fd);
  const char *const environment[] = { NULL };
  posix_spawnattr_t attributes;
  sigset_t          none;
  sigset_t          all;
  int               failure = 0;

  sigemptyset (&none);
  sigfillset (&all);
  posix_spawnattr_init (&attributes);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setsigdefault (&attributes, &all);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  failure = posix_spawn (pid, agent, actions, &attributes, (char *const *) argv, (char *const *) environment);
  posix_spawnattr_destroy (&attributes);

  return failure;
}
