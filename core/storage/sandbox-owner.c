/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-owner-private.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox-error-private.h"

/* Every change of the file system uid makes the kernel forget two things: that the process may be dumped
 * (and with it, who owns its files in /proc), and the parent-death signal of the thread. The first belongs
 * to all threads: whoever looks while another thread is in between would put the wrong thing back. */
static GMutex lock;

static void
sandbox_owner_switch (int uid,
                      int gid)
{
  int dumpable;
  int death_signal = 0;

  g_mutex_lock (&lock);
  dumpable = prctl (PR_GET_DUMPABLE);
  prctl (PR_GET_PDEATHSIG, &death_signal);

  setfsgid (gid);
  setfsuid (uid);

  /* 2, which is only for root to read, is nothing that one can ask for. */
  if (dumpable == 0 || dumpable == 1)
    prctl (PR_SET_DUMPABLE, dumpable);
  if (death_signal != 0)
    prctl (PR_SET_PDEATHSIG, death_signal);
  g_mutex_unlock (&lock);
}

gboolean
sandbox_owner_enter (SandboxOwner *self,
                     guint         uid,
                     guint         gid,
                     GError      **error)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

  self->entered = FALSE;
  if (geteuid () != 0)
    return TRUE;

  self->uid = setfsuid (-1);
  self->gid = setfsgid (-1);
  if ((guint) self->uid == uid && (guint) self->gid == gid)
    return TRUE;

  /* Coming back to 0 gives every permitted file capability, wanted before or not. */
  if (syscall (SYS_capget, &header, self->capabilities) < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot read the capabilities of this thread");
      return FALSE;
    }

  self->entered = TRUE;
  sandbox_owner_switch (uid, gid);

  /* These two calls do not tell that they failed. */
  if ((guint) setfsuid (-1) != uid || (guint) setfsgid (-1) != gid)
    {
      sandbox_owner_leave (self);
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "Cannot work on files as their owner, uid %u and gid %u: "
                   "the capabilities to change the file system uid and gid are missing",
                   uid, gid);
      return FALSE;
    }

  return TRUE;
}

void
sandbox_owner_leave (SandboxOwner *self)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  int                             errsv = errno;

  if (!self->entered)
    return;

  /* None of this fails, unless the whole process has dropped these rights meanwhile; then they stay lost. */
  sandbox_owner_switch (self->uid, self->gid);
  syscall (SYS_capset, &header, self->capabilities);
  self->entered = FALSE;
  errno = errsv;
}
