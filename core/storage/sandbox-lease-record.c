/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-lease-private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-proc-private.h"
#include "sandbox-random-private.h"

/* One page at most, and always of one size: it is written over in place by one call, which a kill does not cut in two
 * and for which a full disk has room. */
#define FORMAT "sandbox-glib lease 1\nboot %s\npid %d\nstart %" PRIu64 "\npid-namespace %" PRIu64 "\ntoken %s\n"
#define PARSE "sandbox-glib lease 1\nboot %36[0-9a-f-]\npid %d\nstart %" SCNu64 "\npid-namespace %" SCNu64 "\ntoken %64[0-9a-f]\n"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define PID_NAMESPACE "/proc/self/ns/pid"

void
sandbox_lease_record_format (const SandboxLeaseRecord *self,
                             char                      text[SANDBOX_LEASE_RECORD_BYTES + 1])
{
  int length;

  memset (text, ' ', SANDBOX_LEASE_RECORD_BYTES);
  length = snprintf (text, SANDBOX_LEASE_RECORD_BYTES, FORMAT,
                     self->boot, self->pid, (uint64_t) self->start, (uint64_t) self->pid_namespace, self->token);
  g_assert (length < SANDBOX_LEASE_RECORD_BYTES);
  text[length] = ' ';
  text[SANDBOX_LEASE_RECORD_BYTES - 1] = '\n';
  text[SANDBOX_LEASE_RECORD_BYTES] = '\0';
}

gboolean
sandbox_lease_record_parse (SandboxLeaseRecord *self,
                            const char         *text,
                            gsize               size)
{
  SandboxLeaseRecord record = { "" };
  char               copy[SANDBOX_LEASE_RECORD_BYTES + 1];
  char               again[SANDBOX_LEASE_RECORD_BYTES + 1];
  uint64_t           start = 0;
  uint64_t           pid_namespace = 0;

  if (size != SANDBOX_LEASE_RECORD_BYTES)
    return FALSE;
  memcpy (copy, text, size);
  copy[size] = '\0';
  if (sscanf (copy, PARSE, record.boot, &record.pid, &start, &pid_namespace, record.token) != 5 ||
      record.pid < 0 ||
      strlen (record.boot) != SANDBOX_LEASE_BOOT_LENGTH ||
      strlen (record.token) != SANDBOX_LEASE_TOKEN_LENGTH)
    return FALSE;

  /* There is one way to write it. */
  record.start = start;
  record.pid_namespace = pid_namespace;
  sandbox_lease_record_format (&record, again);
  if (memcmp (copy, again, sizeof again) != 0)
    return FALSE;
  *self = record;

  return TRUE;
}

gboolean
sandbox_lease_record_fill (SandboxLeaseRecord *self,
                           GError            **error)
{
  char        boot[64] = "";
  struct stat st;

  self->pid = getpid ();
  if (!sandbox_proc_read (AT_FDCWD, BOOT_ID, boot, sizeof boot) ||
      stat (PID_NAMESPACE, &st) < 0 ||
      !sandbox_proc_get_start (self->pid, &self->start))
    {
      int errsv = errno;

      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "Cannot tell this process from others, /proc is needed for that: %s", g_strerror (errsv));
      return FALSE;
    }
  if (strspn (boot, "0123456789abcdef-") != SANDBOX_LEASE_BOOT_LENGTH)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE, BOOT_ID " has no boot id");
      return FALSE;
    }
  memcpy (self->boot, boot, SANDBOX_LEASE_BOOT_LENGTH);
  self->boot[SANDBOX_LEASE_BOOT_LENGTH] = '\0';
  self->pid_namespace = st.st_ino;

  if (!sandbox_random_fill_digits (self->token, SANDBOX_LEASE_TOKEN_LENGTH / 2))
    {
      sandbox_set_error_from_errno (error, errno, "The kernel gives no random numbers");
      return FALSE;
    }

  return TRUE;
}
