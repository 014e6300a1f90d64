/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-lease-private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-proc-private.h"

#define FIRST_PAUSE_US 1000
#define LONGEST_PAUSE_US 50000
#define ORPHAN_LIMIT_MS 1000

struct _SandboxLease
{
  int   fd;  /* locked */
  pid_t pid; /* the owner, of which a forked child is none */
  dev_t dev; /* what the descriptor is, in case somebody closes what is not theirs */
  ino_t ino;

  SandboxLeaseRecord record;
};

static const SandboxLeaseRecord nobody = {
  .boot = "00000000-0000-0000-0000-000000000000",
  .token = "0000000000000000000000000000000000000000000000000000000000000000",
};

static gboolean
sandbox_lease_fail_corrupt (GError    **error,
                            const char *name,
                            const char *problem)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT, "The file “%s” of the session is damaged: %s", name, problem);

  return FALSE;
}

/* NULL, or why this cannot be what an owner made. */
static const char *
sandbox_lease_refuse (const struct stat *st)
{
  if (S_ISLNK (st->st_mode))
    return "it is a link";
  if (!S_ISREG (st->st_mode))
    return "it is no regular file";
  if (st->st_uid != geteuid ())
    return "it belongs to another user";
  if (st->st_nlink > 1)
    return "it has another name elsewhere";

  return NULL;
}

/* Opens one of the files of a session, and nothing that is none. @fd is watched then. */
static gboolean
sandbox_lease_open (int          directory,
                    const char  *name,
                    int          flags,
                    int         *fd,
                    struct stat *st,
                    GError     **error)
{
  const char *problem = NULL;
  int         errsv;

  /* Before it is opened: a FIFO or a device notices that. */
  if (fstatat (directory, name, st, AT_SYMLINK_NOFOLLOW) == 0)
    {
      problem = sandbox_lease_refuse (st);
      if (problem != NULL)
        return sandbox_lease_fail_corrupt (error, name, problem);

      sandbox_fork_lock ();
      *fd = openat (directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
      errsv = errno;
      sandbox_fork_watch (fd);
      sandbox_fork_unlock ();
      errno = errsv;
    }
  if (*fd < 0 || fstat (*fd, st) < 0)
    {
      struct stat top;

      errsv = errno;
      if (errsv == ENOENT && fstat (directory, &top) == 0 && top.st_nlink > 0)
        return sandbox_lease_fail_corrupt (error, name, "it is missing");
      if (errsv == ENOENT)
        g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "The session has been deleted");
      else
        sandbox_set_error_from_errno (error, errsv, "Cannot open the file “%s” of the session", name);
      return FALSE;
    }

  problem = sandbox_lease_refuse (st);

  return problem == NULL || sandbox_lease_fail_corrupt (error, name, problem);
}

gboolean
sandbox_lease_lock (int fd,
                    int type)
{
  struct flock lock = { .l_type = (short) type, .l_whence = SEEK_SET };
  int          result;

  do
    result = fcntl (fd, F_OFD_SETLK, &lock);
  while (result < 0 && errno == EINTR);
  if (result < 0 && errno == EACCES)
    errno = EAGAIN;

  return result == 0;
}

static gboolean
sandbox_lease_fail_lock (int         errsv,
                         const char *name,
                         GError    **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "Cannot lock the file “%s” of the session, which needs a file system with locks: %s", name, g_strerror (errsv));

  return FALSE;
}

static gboolean
sandbox_lease_read (int                 fd,
                    SandboxLeaseRecord *record)
{
  char    text[SANDBOX_LEASE_RECORD_BYTES + 1];
  ssize_t size;

  do
    size = pread (fd, text, sizeof text, 0);
  while (size < 0 && errno == EINTR);

  return size >= 0 && sandbox_lease_record_parse (record, text, (gsize) size);
}

static gboolean
sandbox_lease_write (int                       fd,
                     const SandboxLeaseRecord *record)
{
  char    text[SANDBOX_LEASE_RECORD_BYTES + 1];
  ssize_t size;

  sandbox_lease_record_format (record, text);
  do
    size = pwrite (fd, text, SANDBOX_LEASE_RECORD_BYTES, 0);
  while (size < 0 && errno == EINTR);
  if (size >= 0 && size < SANDBOX_LEASE_RECORD_BYTES)
    errno = EIO;

  return size == SANDBOX_LEASE_RECORD_BYTES;
}

static gboolean
sandbox_lease_fail_busy (const SandboxLeaseRecord *record,
                         GError                  **error)
{
  if (record != NULL && record->pid > 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY, "The session is in use by process %d", record->pid);
  else
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY, "The session is in use");

  return FALSE;
}

/* Whether the process that the record names lives, as far as it can be known from here, and is another one than this. The
 * lock is free: what cannot be known is taken for dead. */
static gboolean
sandbox_lease_owner_lives (const SandboxLeaseRecord *record,
                           const SandboxLeaseRecord *own)
{
  guint64 start = 0;

  if (record->pid == 0 || strcmp (record->boot, own->boot) != 0 || record->pid_namespace != own->pid_namespace)
    return FALSE;
  if (record->pid == own->pid)
    return FALSE;
  if (sandbox_proc_get_start (record->pid, &start))
    return start == record->start;

  /* Some hosts hide the processes of other users. */
  return errno != ESRCH && (kill (record->pid, 0) == 0 || errno == EPERM);
}

/* Whether it is known that nobody can have the lock by right. */
static gboolean
sandbox_lease_owner_is_dead (const SandboxLeaseRecord *record,
                             const SandboxLeaseRecord *own)
{
  return record->pid != 0 && record->pid != own->pid && strcmp (record->boot, own->boot) == 0 &&
         record->pid_namespace == own->pid_namespace && !sandbox_lease_owner_lives (record, own);
}

/* Waits until no sandbox of an earlier owner is left. */
static gboolean
sandbox_lease_wait_alive (int                   directory,
                          SandboxContainedCheck check,
                          gpointer              data,
                          GError              **error)
{
  gint64      end = g_get_monotonic_time () + SANDBOX_LEASE_WAIT_MS * G_TIME_SPAN_MILLISECOND;
  gulong      pause = FIRST_PAUSE_US;
  struct stat st;
  gboolean    done = FALSE;
  int         errsv;
  int         fd = -1;

  if (!sandbox_lease_open (directory, SANDBOX_LEASE_ALIVE_FILE, O_RDWR, &fd, &st, error))
    {
      sandbox_fork_close (&fd);
      return FALSE;
    }
  for (;;)
    {
      done = sandbox_lease_lock (fd, F_WRLCK);
      errsv = errno;
      if (done || errsv != EAGAIN)
        break;
      errsv = check != NULL ? check (data) : 0;
      if (errsv != 0)
        break;
      errsv = EAGAIN;
      if (g_get_monotonic_time () >= end)
        break;
      g_usleep (pause);
      pause = MIN (2 * pause, LONGEST_PAUSE_US);
    }
  /* At once, and not only by the close: the sandboxes of the new owner want it. */
  if (done)
    sandbox_lease_lock (fd, F_UNLCK);
  sandbox_fork_close (&fd);

  if (!done && errsv == ECANCELED)
    g_propagate_error (error, sandbox_error_new_cancelled ());
  else if (!done && errsv == ETIMEDOUT)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "Taking the session takes too long");
  else if (!done && errsv == EAGAIN)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY, "A sandbox of the session is still alive");
  else if (!done)
    sandbox_lease_fail_lock (errsv, SANDBOX_LEASE_ALIVE_FILE, error);

  return done;
}

/* Takes over the open and watched descriptor of @self, or leaves it. */
static gboolean
sandbox_lease_lock_first (SandboxLease         *self,
                          SandboxContainedCheck check,
                          gpointer              data,
                          GError              **error)
{
  const gint64       end = g_get_monotonic_time () + ORPHAN_LIMIT_MS * G_TIME_SPAN_MILLISECOND;
  SandboxLeaseRecord record = { "" };
  gulong             pause = FIRST_PAUSE_US;
  gboolean           is_known = FALSE;
  int                errsv;

  while (!sandbox_lease_lock (self->fd, F_WRLCK))
    {
      errsv = errno;
      if (errsv != EAGAIN)
        return sandbox_lease_fail_lock (errsv, SANDBOX_LEASE_FILE, error);

      /* The lock of a dead owner is held by a child in the moment after its fork, before it has given it up. */
      is_known = sandbox_lease_read (self->fd, &record);
      if (!is_known || !sandbox_lease_owner_is_dead (&record, &self->record) || g_get_monotonic_time () >= end ||
          (check != NULL && check (data) != 0))
        return sandbox_lease_fail_busy (is_known ? &record : NULL, error);
      g_usleep (pause);
      pause = MIN (2 * pause, LONGEST_PAUSE_US);
    }

  return TRUE;
}

static SandboxLease *
sandbox_lease_alloc (GError **error)
{
  g_autofree SandboxLease *self = g_new0 (SandboxLease, 1);

  self->fd = -1;
  if (!sandbox_lease_record_fill (&self->record, error))
    return NULL;
  self->pid = self->record.pid;

  return g_steal_pointer (&self);
}

/* Gives up without a trace in the record. */
static void
sandbox_lease_drop (SandboxLease *self)
{
  /* The lock first: with a child that has been forked in some other way, closing would not be enough. */
  if (self->fd >= 0 && self->pid == getpid ())
    sandbox_lease_lock (self->fd, F_UNLCK);
  sandbox_fork_close (&self->fd);
  g_free (self);
}

static gboolean
sandbox_lease_remember (SandboxLease *self,
                        GError      **error)
{
  struct stat st;

  if (fstat (self->fd, &st) < 0 || !sandbox_lease_write (self->fd, &self->record))
    {
      sandbox_set_error_from_errno (error, errno, "Cannot write the file “" SANDBOX_LEASE_FILE "” of the session");
      return FALSE;
    }
  self->dev = st.st_dev;
  self->ino = st.st_ino;

  return TRUE;
}

static gboolean
sandbox_lease_create_file (int         directory,
                           const char *name,
                           int        *fd,
                           GError    **error)
{
  int errsv;

  sandbox_fork_lock ();
  *fd = openat (directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  errsv = errno;
  sandbox_fork_watch (fd);
  sandbox_fork_unlock ();
  /* Whatever the umask of the host */
  if (*fd >= 0 && fchmod (*fd, 0600) == 0)
    return TRUE;
  sandbox_set_error_from_errno (error, *fd < 0 ? errsv : errno, "Cannot make the file “%s” of the session", name);

  return FALSE;
}

SandboxLease *
sandbox_lease_new (int      directory,
                   GError **error)
{
  SandboxLease *self = sandbox_lease_alloc (error);
  int           alive = -1;
  gboolean      done = FALSE;

  if (self == NULL)
    return NULL;

  done = sandbox_lease_create_file (directory, SANDBOX_LEASE_ALIVE_FILE, &alive, error);
  sandbox_fork_close (&alive);
  if (done &&
      sandbox_lease_create_file (directory, SANDBOX_LEASE_FILE, &self->fd, error) &&
      sandbox_lease_lock_first (self, NULL, NULL, error) &&
      sandbox_lease_remember (self, error))
    return self;
  sandbox_lease_drop (self);

  return NULL;
}

/* With the lock. */
static gboolean
sandbox_lease_look (SandboxLease *self,
                    GError      **error)
{
  SandboxLeaseRecord record = { "" };
  struct stat        st;

  if (fstat (self->fd, &st) < 0 || st.st_nlink == 0)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "The session has been deleted");
      return FALSE;
    }
  if (!sandbox_lease_read (self->fd, &record))
    return sandbox_lease_fail_corrupt (error, SANDBOX_LEASE_FILE, "no owner has written that");

  return !sandbox_lease_owner_lives (&record, &self->record) || sandbox_lease_fail_busy (&record, error);
}

SandboxLease *
sandbox_lease_take (int                   directory,
                    SandboxContainedCheck check,
                    gpointer              data,
                    GError              **error)
{
  SandboxLease *self = sandbox_lease_alloc (error);
  struct stat   st;

  if (self == NULL)
    return NULL;
  if (sandbox_lease_open (directory, SANDBOX_LEASE_FILE, O_RDWR, &self->fd, &st, error) &&
      sandbox_lease_lock_first (self, check, data, error) &&
      sandbox_lease_look (self, error) &&
      sandbox_lease_wait_alive (directory, check, data, error) &&
      sandbox_lease_remember (self, error))
    return self;
  sandbox_lease_drop (self);

  return NULL;
}

gboolean
sandbox_lease_check (SandboxLease *self,
                     GError      **error)
{
  if (self->pid == getpid ())
    return TRUE;
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED,
                       "The session belongs to the process that this one was forked from");

  return FALSE;
}

gboolean
sandbox_lease_is_in (SandboxLease *self,
                     int           directory)
{
  struct stat st;

  /* It is held open, so no other file has got its number. */
  return fstatat (directory, SANDBOX_LEASE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == self->dev && st.st_ino == self->ino;
}

gboolean
sandbox_lease_wait (SandboxLease         *self,
                    int                   directory,
                    SandboxContainedCheck check,
                    gpointer              data,
                    GError              **error)
{
  return sandbox_lease_check (self, error) && sandbox_lease_wait_alive (directory, check, data, error);
}

gboolean
sandbox_lease_open_alive (SandboxLease *self,
                          int           directory,
                          int          *fd,
                          GError      **error)
{
  struct stat st;

  *fd = -1;
  if (!sandbox_lease_check (self, error))
    return FALSE;
  if (!sandbox_lease_open (directory, SANDBOX_LEASE_ALIVE_FILE, O_RDONLY, fd, &st, error))
    {
      sandbox_fork_close (fd);
      return FALSE;
    }
  if (!sandbox_lease_lock (*fd, F_RDLCK))
    {
      int errsv = errno;

      sandbox_fork_close (fd);
      /* Whoever waits for it has no lease, and goes at once. */
      if (errsv == EAGAIN)
        g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY, "Somebody else has locked the session");
      else
        sandbox_lease_fail_lock (errsv, SANDBOX_LEASE_ALIVE_FILE, error);
      return FALSE;
    }

  return TRUE;
}

/* FALSE when somebody has closed all descriptors of the process, and other files have come under their numbers. */
static gboolean
sandbox_lease_has_descriptors (SandboxLease *self)
{
  struct stat st;

  return self->fd >= 0 && fstat (self->fd, &st) == 0 && st.st_dev == self->dev && st.st_ino == self->ino;
}

void
sandbox_lease_free (SandboxLease *self)
{
  SandboxLeaseRecord record = { "" };

  if (self->pid == getpid ())
    {
      if (!sandbox_lease_has_descriptors (self))
        {
          sandbox_fork_lock ();
          sandbox_fork_steal (&self->fd);
          sandbox_fork_unlock ();
        }
      else if (sandbox_lease_read (self->fd, &record) && strcmp (record.token, self->record.token) == 0 &&
               !sandbox_lease_write (self->fd, &nobody))
        g_debug ("The lease still names this process: %s", g_strerror (errno));
    }
  sandbox_lease_drop (self);
}
