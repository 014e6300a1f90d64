/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-contained-private.h"

G_BEGIN_DECLS

/* Who has a session: one owner at a time, in all processes of the host.
 *
 * Two files in the directory of the session tell. `lease` has a lock of its open file description, which ends with the
 * owner, however that ends; no close of the same file elsewhere in the process drops it, and a second object in the
 * process is refused like another process. In the file stands a record of the owner. It is the second witness: a living
 * process that says there it is the owner is left alone even if its lock has been lost. `alive` is locked for reading by
 * process 1 of each sandbox, so that nobody gets the session before its last process is dead.
 *
 * The lock is not inherited: a program that is executed does not get it, and a forked child closes it at once. */
typedef struct _SandboxLease SandboxLease;

/* How long a new owner waits for the sandboxes of the last one, which die with it, but not in no time. */
#define SANDBOX_LEASE_WAIT_MS 5000

#define SANDBOX_LEASE_FILE "lease"
#define SANDBOX_LEASE_ALIVE_FILE "alive"

/* Makes both files in a directory in which nobody else is yet, and takes the lease. */
SandboxLease *sandbox_lease_new (int      directory,
                                 GError **error);

/* Takes the lease of a session. BUSY when there is an owner, or a sandbox after SANDBOX_LEASE_WAIT_MS; NOT_FOUND when
 * the session has been deleted; CORRUPT when the files are not what an owner made of them, and then they stay so.
 * Blocks; @check is asked meanwhile, and may be NULL. */
SandboxLease *sandbox_lease_take (int                   directory,
                                  SandboxContainedCheck check,
                                  gpointer              data,
                                  GError              **error);

/* Whether this is the directory of the session. It is not held open: there may be very many. */
gboolean sandbox_lease_is_in (SandboxLease *self,
                              int           directory);

/* Waits until no sandbox of the owner is left, as a new owner would: BUSY. For one who is going to delete the session, and
 * gives its directory. */
gboolean sandbox_lease_wait (SandboxLease         *self,
                             int                   directory,
                             SandboxContainedCheck check,
                             gpointer              data,
                             GError              **error);

/* STOPPED in a forked child of the owner. */
gboolean sandbox_lease_check (SandboxLease *self,
                              GError      **error);

/* A descriptor for process 1 of a sandbox, which holds up the next owner for as long as anybody has it. It goes to *@fd,
 * which must stay where it is, and is given up by sandbox_fork_close (). */
gboolean sandbox_lease_open_alive (SandboxLease *self,
                                   int           directory,
                                   int          *fd,
                                   GError      **error);

/* Gives the session up; in a forked child only forgets it. */
void sandbox_lease_free (SandboxLease *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxLease, sandbox_lease_free)

/* A lock of the open file description, of type F_WRLCK, F_RDLCK or F_UNLCK, without waiting. By errno: EAGAIN when somebody
 * else has one that forbids it. */
gboolean sandbox_lease_lock (int fd,
                             int type);

/* What stands in the file; a pid of 0 says nobody. Open for tests. */
#define SANDBOX_LEASE_BOOT_LENGTH 36
#define SANDBOX_LEASE_TOKEN_LENGTH 64
#define SANDBOX_LEASE_RECORD_BYTES 320

typedef struct
{
  char    boot[SANDBOX_LEASE_BOOT_LENGTH + 1];
  int     pid; /* in its namespace */
  guint64 start;
  guint64 pid_namespace;
  char    token[SANDBOX_LEASE_TOKEN_LENGTH + 1];
} SandboxLeaseRecord;

void     sandbox_lease_record_format (const SandboxLeaseRecord *self,
                                      char                      text[SANDBOX_LEASE_RECORD_BYTES + 1]);
gboolean sandbox_lease_record_parse (SandboxLeaseRecord *self,
                                     const char         *text,
                                     gsize               size);

/* Of this process. */
gboolean sandbox_lease_record_fill (SandboxLeaseRecord *self,
                                    GError            **error);

G_END_DECLS
