/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox-error.h"
#include "sandbox-fork-private.h"
#include "sandbox-lease-private.h"
#include "sandbox-proc-private.h"
#include "../common/test-helpers.h"

/* A session's directory, with a lease that nobody has. */
typedef struct
{
  char *top;
  int   directory;
  guint n_descriptors;
} Fixture;

static void
fixture_set_up (Fixture      *fixture,
                gconstpointer unused)
{
  g_autoptr (GError) error = NULL;
  SandboxLease *lease = NULL;

  fixture->n_descriptors = test_count_descriptors ();
  fixture->top = g_dir_make_tmp ("sandbox-lease-XXXXXX", &error);
  g_assert_no_error (error);
  fixture->directory = open (fixture->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (fixture->directory, >=, 0);
  lease = sandbox_lease_new (fixture->directory, &error);
  g_assert_no_error (error);
  sandbox_lease_free (lease);
}

static void
fixture_tear_down (Fixture      *fixture,
                   gconstpointer unused)
{
  close (fixture->directory);
  test_remove_tree (fixture->top);
  g_clear_pointer (&fixture->top, g_free);
  test_assert_descriptors (fixture->n_descriptors);
}

static SandboxLease *
fixture_take (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;
  SandboxLease *lease = sandbox_lease_take (fixture->directory, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (lease);
  g_assert_true (sandbox_lease_check (lease, NULL));

  return lease;
}

static void
fixture_assert_free (Fixture *fixture)
{
  sandbox_lease_free (fixture_take (fixture));
}

static void
fixture_assert_refused (Fixture     *fixture,
                        SandboxError code,
                        const char  *word)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (sandbox_lease_take (fixture->directory, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, (int) code);
  if (word != NULL)
    g_assert_nonnull (strstr (error->message, word));
}

static char *
fixture_path (Fixture    *fixture,
              const char *name)
{
  return g_build_filename (fixture->top, name, NULL);
}

static void
fixture_write (Fixture    *fixture,
               const char *name,
               const char *text,
               gssize      size)
{
  int fd = openat (fixture->directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  g_assert_cmpint (write (fd, text, size), ==, size);
  close (fd);
}

/* A process of its own, which tells by one byte that it has done @work, and then waits until it is killed. */
typedef struct
{
  pid_t pid;
  int   ready;
} Other;

static gboolean
other_wait (Other *other)
{
  char    answer = '\0';
  ssize_t size = read (other->ready, &answer, 1);

  close (other->ready);

  return size == 1 && answer == '1';
}

static void
other_start (Other *other,
             void (*work) (Fixture *fixture, int ready),
             Fixture *fixture)
{
  int ends[2];

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  other->pid = fork ();
  if (other->pid == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      close (ends[0]);
      work (fixture, ends[1]);
      for (;;)
        pause ();
    }
  g_assert_cmpint (other->pid, >, 0);
  close (ends[1]);
  other->ready = ends[0];
}

static void
other_run (Other *other,
           void (*work) (Fixture *fixture, int ready),
           Fixture *fixture)
{
  other_start (other, work, fixture);
  g_assert_true (other_wait (other));
}

static void
other_kill (pid_t pid)
{
  int status = 0;

  g_assert_cmpint (kill (pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
}

static void
tell (int      ready,
      gboolean good)
{
  if (write (ready, good ? "1" : "0", 1) != 1)
    _exit (1);
}

static void
own (Fixture *fixture,
     int      ready)
{
  tell (ready, sandbox_lease_take (fixture->directory, NULL, NULL, NULL) != NULL);
}

static void
test_one (Fixture      *fixture,
          gconstpointer unused)
{
  SandboxLease    *lease = fixture_take (fixture);
  g_autofree char *path = fixture_path (fixture, SANDBOX_LEASE_FILE);
  g_autofree char *pid = g_strdup_printf ("process %d", getpid ());
  struct stat      st;

  g_test_summary ("There is one owner, in one process too, until it gives the session up");

  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, pid);
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, pid);
  sandbox_lease_free (lease);
  fixture_assert_free (fixture);
  fixture_assert_free (fixture);

  g_assert_cmpint (stat (path, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0600);
}

static void
test_new (Fixture      *fixture,
          gconstpointer unused)
{
  g_autofree char *sub = fixture_path (fixture, "sub");
  g_autoptr (GError) error = NULL;
  SandboxLease *lease = NULL;
  int           directory;

  g_test_summary ("One that is made is taken; one that is there is not made again");

  g_assert_cmpint (g_mkdir (sub, 0700), ==, 0);
  directory = open (sub, O_PATH | O_DIRECTORY | O_CLOEXEC);
  lease = sandbox_lease_new (directory, &error);
  g_assert_no_error (error);
  g_assert_null (sandbox_lease_take (directory, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  g_assert_null (sandbox_lease_new (directory, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);
  sandbox_lease_free (lease);
  close (directory);
}

static void
test_unrelated_close (Fixture      *fixture,
                      gconstpointer unused)
{
  SandboxLease *lease = fixture_take (fixture);
  struct flock  lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  Other         other;

  g_test_summary ("No other use of the file in the process drops the lock (case 95)");

  for (int i = 0; i < 3; i++)
    {
      int fd = openat (fixture->directory, SANDBOX_LEASE_FILE, O_RDWR | O_CLOEXEC);

      g_assert_cmpint (fd, >=, 0);
      /* A lock of the process would be gone with this close. */
      fcntl (fd, F_SETLK, &lock);
      close (fd);
    }
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, NULL);
  other_start (&other, own, fixture);
  g_assert_false (other_wait (&other));
  other_kill (other.pid);
  sandbox_lease_free (lease);
  fixture_assert_free (fixture);
}

static void
test_killed (Fixture      *fixture,
             gconstpointer unused)
{
  Other     other;
  siginfo_t info;

  g_test_summary ("An owner that is killed frees the session, waited for or not");

  other_run (&other, own, fixture);
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, NULL);
  g_assert_cmpint (kill (other.pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitid (P_PID, other.pid, &info, WEXITED | WNOWAIT), ==, 0);
  fixture_assert_free (fixture);
  g_assert_cmpint (waitpid (other.pid, NULL, 0), ==, other.pid);
  fixture_assert_free (fixture);
}

static void
test_stopped (Fixture      *fixture,
              gconstpointer unused)
{
  Other other;
  int   status = 0;

  g_test_summary ("An owner that does not run is an owner");

  other_run (&other, own, fixture);
  g_assert_cmpint (kill (other.pid, SIGSTOP), ==, 0);
  g_assert_cmpint (waitpid (other.pid, &status, WUNTRACED), ==, other.pid);
  g_assert_true (WIFSTOPPED (status));
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, NULL);
  other_kill (other.pid);
  fixture_assert_free (fixture);
}

static void
own_and_fork (Fixture *fixture,
              int      ready)
{
  SandboxLease *lease = sandbox_lease_take (fixture->directory, NULL, NULL, NULL);
  int           alive = -1;
  gboolean      good = lease != NULL && sandbox_lease_open_alive (lease, fixture->directory, &alive, NULL) && alive >= 0;

  /* The grandchild lives on, with all that it has got; it is killed by the one who reads its number. */
  if (fork () == 0)
    {
      g_autofree char *number = g_strdup_printf ("%d", getpid ());
      g_autoptr (GError) error = NULL;

      good = good && alive == -1 && !sandbox_lease_check (lease, &error) &&
             g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED) &&
             !sandbox_lease_open_alive (lease, fixture->directory, &alive, NULL) && alive == -1;
      fixture_write (fixture, "grandchild", number, (gssize) strlen (number));
      tell (ready, good);
      for (;;)
        pause ();
    }
}

static pid_t
read_grandchild (Fixture *fixture)
{
  g_autofree char *path = fixture_path (fixture, "grandchild");
  g_autofree char *number = NULL;

  g_assert_true (g_file_get_contents (path, &number, NULL, NULL));
  g_assert_cmpint (atoi (number), >, 1);

  return atoi (number);
}

static void
test_forked (Fixture      *fixture,
             gconstpointer unused)
{
  Other other;
  pid_t grandchild;

  g_test_summary ("A forked child has neither the lease nor what keeps a sandbox alive, and lives on without them (case 94)");

  other_run (&other, own_and_fork, fixture);
  grandchild = read_grandchild (fixture);
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, NULL);
  other_kill (other.pid);
  fixture_assert_free (fixture);
  g_assert_cmpint (kill (grandchild, 0), ==, 0);
  kill (grandchild, SIGKILL);
}

static void
own_and_raw_fork (Fixture *fixture,
                  int      ready)
{
  SandboxLease *lease = sandbox_lease_take (fixture->directory, NULL, NULL, NULL);
  pid_t         child;

  /* Without the handlers of fork (). It has a copy of the lock, and ends as a forked program does. */
  child = (pid_t) syscall (SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0)
    {
      g_clear_pointer (&lease, sandbox_lease_free);
      _exit (0);
    }
  tell (ready, lease != NULL && waitpid (child, NULL, 0) == child);
}

static void
forked_child_frees (Fixture *fixture,
                    int      ready)
{
  SandboxLease *lease = sandbox_lease_take (fixture->directory, NULL, NULL, NULL);
  pid_t         child = fork ();

  if (child == 0)
    {
      g_clear_pointer (&lease, sandbox_lease_free);
      _exit (0);
    }
  tell (ready, lease != NULL && waitpid (child, NULL, 0) == child);
}

static void
test_forked_frees (Fixture      *fixture,
                   gconstpointer unused)
{
  Other other;

  g_test_summary ("What a child does with its copy of the lease does nothing to the owner (case 96)");

  other_run (&other, forked_child_frees, fixture);
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, NULL);
  other_kill (other.pid);
  other_run (&other, own_and_raw_fork, fixture);
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, NULL);
  other_kill (other.pid);
  fixture_assert_free (fixture);
}

static void
own_and_spawn (Fixture *fixture,
               int      ready)
{
  char         *argv[] = { (char *) "sleep", (char *) "1000", NULL };
  SandboxLease *lease = sandbox_lease_take (fixture->directory, NULL, NULL, NULL);
  int           alive = -1;
  GPid          pid = 0;
  gboolean      good = lease != NULL && sandbox_lease_open_alive (lease, fixture->directory, &alive, NULL) &&
                  g_spawn_async (NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN,
                                 NULL, NULL, &pid, NULL);
  g_autofree char *number = g_strdup_printf ("%d", pid);

  fixture_write (fixture, "grandchild", number, (gssize) strlen (number));
  tell (ready, good);
}

static void
test_executed (Fixture      *fixture,
               gconstpointer unused)
{
  Other other;
  pid_t grandchild;

  g_test_summary ("Neither has a program that the owner started (case 94)");

  other_run (&other, own_and_spawn, fixture);
  grandchild = read_grandchild (fixture);
  other_kill (other.pid);
  fixture_assert_free (fixture);
  g_assert_cmpint (kill (grandchild, SIGKILL), ==, 0);
}

static void
write_record (Fixture                  *fixture,
              const SandboxLeaseRecord *record)
{
  char text[SANDBOX_LEASE_RECORD_BYTES + 1];

  sandbox_lease_record_format (record, text);
  fixture_write (fixture, SANDBOX_LEASE_FILE, text, SANDBOX_LEASE_RECORD_BYTES);
}

static void
idle (Fixture *fixture,
      int      ready)
{
  tell (ready, TRUE);
}

static gpointer
unlock_later (gpointer data)
{
  g_usleep (100000);
  sandbox_lease_lock (GPOINTER_TO_INT (data), F_UNLCK);

  return NULL;
}

static void
test_orphan (Fixture      *fixture,
             gconstpointer unused)
{
  SandboxLeaseRecord record = { "" };
  char               text[SANDBOX_LEASE_RECORD_BYTES + 1];
  GThread           *thread = NULL;
  gint64             before = 0;
  pid_t              dead = fork ();
  int                fd = openat (fixture->directory, SANDBOX_LEASE_FILE, O_RDWR | O_CLOEXEC);
  g_autoptr (GError) error = NULL;

  g_test_summary ("The lock of a dead owner is waited for, since a child may have it for a moment after its fork; not for long, and not that of a living one");
  if (dead == 0)
    _exit (0);
  g_assert_cmpint (waitpid (dead, NULL, 0), ==, dead);
  fixture_assert_free (fixture);
  g_assert_true (sandbox_lease_record_fill (&record, &error));
  g_assert_no_error (error);
  record.pid = dead;
  sandbox_lease_record_format (&record, text);
  fixture_write (fixture, SANDBOX_LEASE_FILE, text, SANDBOX_LEASE_RECORD_BYTES);

  g_assert_true (sandbox_lease_lock (fd, F_WRLCK));
  before = g_get_monotonic_time ();
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, NULL);
  g_assert_cmpint (g_get_monotonic_time () - before, >, 900000);
  thread = g_thread_new ("unlock", unlock_later, GINT_TO_POINTER (fd));
  fixture_assert_free (fixture);
  g_thread_join (thread);

  record.pid = getppid ();
  g_assert_true (sandbox_proc_get_start (record.pid, &record.start));
  sandbox_lease_record_format (&record, text);
  fixture_write (fixture, SANDBOX_LEASE_FILE, text, SANDBOX_LEASE_RECORD_BYTES);
  g_assert_true (sandbox_lease_lock (fd, F_WRLCK));
  before = g_get_monotonic_time ();
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, NULL);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 500000);
  close (fd);
}

static void
test_records (Fixture      *fixture,
              gconstpointer unused)
{
  SandboxLeaseRecord record = { "" };
  SandboxLeaseRecord changed = { "" };
  g_autoptr (GError) error = NULL;
  guint64   start = 0;
  siginfo_t info;
  Other     other;

  g_test_summary ("Without its lock an owner is believed to live when the record is that of a living process, and of no other");

  g_assert_true (sandbox_lease_record_fill (&record, &error));
  g_assert_no_error (error);
  write_record (fixture, &record);
  fixture_assert_free (fixture); /* this process itself */

  other_run (&other, idle, fixture);
  g_assert_true (sandbox_proc_get_start (other.pid, &start));
  record.pid = other.pid;
  record.start = start;
  write_record (fixture, &record);
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, "process");
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, "process");

  changed = record;
  changed.start--; /* the number has been used again */
  write_record (fixture, &changed);
  fixture_assert_free (fixture);

  changed = record;
  changed.boot[0] = changed.boot[0] == '0' ? '1' : '0';
  write_record (fixture, &changed);
  fixture_assert_free (fixture);

  changed = record;
  changed.pid_namespace++;
  write_record (fixture, &changed);
  fixture_assert_free (fixture);

  write_record (fixture, &record);
  g_assert_cmpint (kill (other.pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitid (P_PID, other.pid, &info, WEXITED | WNOWAIT), ==, 0);
  fixture_assert_free (fixture);
  write_record (fixture, &record);
  g_assert_cmpint (waitpid (other.pid, NULL, 0), ==, other.pid);
  fixture_assert_free (fixture);
}

static void
test_record_form (Fixture      *fixture,
                  gconstpointer unused)
{
  SandboxLeaseRecord record = { "" };
  SandboxLeaseRecord again = { "" };
  char               text[SANDBOX_LEASE_RECORD_BYTES + 1];

  g_test_summary ("A record is read in the one form in which it is written: no byte of it can be another");

  g_assert_true (sandbox_lease_record_fill (&record, NULL));
  sandbox_lease_record_format (&record, text);
  g_assert_true (sandbox_lease_record_parse (&again, text, SANDBOX_LEASE_RECORD_BYTES));
  g_assert_cmpmem (&record, sizeof record, &again, sizeof again);

  for (guint i = 0; i < SANDBOX_LEASE_RECORD_BYTES; i++)
    {
      char kept = text[i];

      /* Another digit gives another record; what is no digit does not. */
      text[i] = kept == '!' ? '?' : '!';
      g_assert_false (sandbox_lease_record_parse (&again, text, SANDBOX_LEASE_RECORD_BYTES));
      text[i] = '\0';
      g_assert_false (sandbox_lease_record_parse (&again, text, SANDBOX_LEASE_RECORD_BYTES));
      text[i] = kept;
    }
}

static void
test_damaged (Fixture      *fixture,
              gconstpointer unused)
{
  char             garbage[SANDBOX_LEASE_RECORD_BYTES + 1];
  g_autofree char *lease = fixture_path (fixture, SANDBOX_LEASE_FILE);
  g_autofree char *alive = fixture_path (fixture, SANDBOX_LEASE_ALIVE_FILE);
  g_autofree char *target = fixture_path (fixture, "target");
  g_autofree char *good = NULL;
  g_autofree char *text = NULL;
  gsize            size = 0;
  struct stat      before, after;

  g_test_summary ("A lease that no owner left so is CORRUPT, is never taken, never followed, and stays as it is (case 93)");

  g_assert_true (g_file_get_contents (lease, &good, &size, NULL));
  g_assert_cmpuint (size, ==, SANDBOX_LEASE_RECORD_BYTES);

  memset (garbage, 'x', sizeof garbage);
  fixture_write (fixture, SANDBOX_LEASE_FILE, "", 0);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "lease");
  fixture_write (fixture, SANDBOX_LEASE_FILE, good, 100);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "lease");
  fixture_write (fixture, SANDBOX_LEASE_FILE, garbage, SANDBOX_LEASE_RECORD_BYTES);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "lease");
  memcpy (garbage, good, SANDBOX_LEASE_RECORD_BYTES);
  fixture_write (fixture, SANDBOX_LEASE_FILE, garbage, sizeof garbage);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "lease");
  g_assert_true (g_file_get_contents (lease, &text, &size, NULL));
  g_assert_cmpmem (text, size, garbage, sizeof garbage);

  g_assert_cmpint (unlink (lease), ==, 0);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "missing");
  g_assert_cmpint (mkdir (lease, 0700), ==, 0);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "regular");
  g_assert_cmpint (rmdir (lease), ==, 0);
  g_assert_cmpint (mkfifo (lease, 0600), ==, 0);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "regular");
  g_assert_cmpint (unlink (lease), ==, 0);

  /* What a link leads to is a perfect lease. */
  fixture_write (fixture, "target", good, SANDBOX_LEASE_RECORD_BYTES);
  g_assert_cmpint (stat (target, &before), ==, 0);
  g_assert_cmpint (symlink ("target", lease), ==, 0);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "link");
  g_assert_cmpint (unlink (lease), ==, 0);
  g_assert_cmpint (link (target, lease), ==, 0);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "another name");
  g_assert_cmpint (unlink (lease), ==, 0);
  g_assert_cmpint (stat (target, &after), ==, 0);
  g_assert_cmpint (before.st_mtim.tv_nsec, ==, after.st_mtim.tv_nsec);

  fixture_write (fixture, SANDBOX_LEASE_FILE, good, SANDBOX_LEASE_RECORD_BYTES);
  g_assert_cmpint (unlink (alive), ==, 0);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "alive");
  g_assert_cmpint (symlink ("target", alive), ==, 0);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "alive");
  g_assert_cmpint (unlink (alive), ==, 0);
  fixture_write (fixture, SANDBOX_LEASE_ALIVE_FILE, "", 0);
  fixture_assert_free (fixture);
}

static void
test_foreign (Fixture      *fixture,
              gconstpointer unused)
{
  g_autofree char *lease = fixture_path (fixture, SANDBOX_LEASE_FILE);

  g_test_summary ("So is one of another user (case 93)");

  g_assert_cmpint (chown (lease, 65533, 65533), ==, 0);
  fixture_assert_refused (fixture, SANDBOX_ERROR_CORRUPT, "another user");
  g_assert_cmpint (chown (lease, 0, 0), ==, 0);
  fixture_assert_free (fixture);
}

static void
test_deleted (Fixture      *fixture,
              gconstpointer unused)
{
  g_autofree char *sub = fixture_path (fixture, "sub");
  g_autofree char *lease = g_build_filename (sub, SANDBOX_LEASE_FILE, NULL);
  g_autofree char *alive = g_build_filename (sub, SANDBOX_LEASE_ALIVE_FILE, NULL);
  Fixture          deleted = { .top = sub };

  g_test_summary ("A session that is deleted meanwhile is not there, rather than damaged");

  g_assert_cmpint (g_mkdir (sub, 0700), ==, 0);
  deleted.directory = open (sub, O_PATH | O_DIRECTORY | O_CLOEXEC);
  sandbox_lease_free (sandbox_lease_new (deleted.directory, NULL));
  g_assert_cmpint (unlink (lease), ==, 0);
  g_assert_cmpint (unlink (alive), ==, 0);
  g_assert_cmpint (rmdir (sub), ==, 0);
  fixture_assert_refused (&deleted, SANDBOX_ERROR_NOT_FOUND, "deleted");
  close (deleted.directory);
}

static void
hold_alive (Fixture *fixture,
            int      ready)
{
  struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
  int          fd = openat (fixture->directory, SANDBOX_LEASE_ALIVE_FILE, O_RDONLY | O_CLOEXEC);

  tell (ready, fd >= 0 && fcntl (fd, F_OFD_SETLK, &lock) == 0);
}

static gboolean
kill_later_cb (gpointer data)
{
  g_usleep (300000);
  kill (GPOINTER_TO_INT (data), SIGKILL);

  return FALSE;
}

static int
cancel_cb (gpointer data)
{
  return GPOINTER_TO_INT (data);
}

static void
test_alive (Fixture      *fixture,
            gconstpointer unused)
{
  Other         sandboxes[2];
  SandboxLease *lease = NULL;
  GThread      *killer = NULL;
  g_autoptr (GError) error = NULL;
  gint64 begin;
  int    alive[2] = { -1, -1 };

  g_test_summary ("A new owner waits for the last sandbox of the one before, for five seconds at most, or until it is told to stop");

  other_run (&sandboxes[0], hold_alive, fixture);
  other_run (&sandboxes[1], hold_alive, fixture);
  begin = g_get_monotonic_time ();
  fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, "alive");
  g_assert_cmpint (g_get_monotonic_time () - begin, >=, SANDBOX_LEASE_WAIT_MS * G_TIME_SPAN_MILLISECOND);
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 4 * SANDBOX_LEASE_WAIT_MS * G_TIME_SPAN_MILLISECOND);

  begin = g_get_monotonic_time ();
  g_assert_null (sandbox_lease_take (fixture->directory, cancel_cb, GINT_TO_POINTER (ECANCELED), &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_null (sandbox_lease_take (fixture->directory, cancel_cb, GINT_TO_POINTER (ETIMEDOUT), &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_cmpint (g_get_monotonic_time () - begin, <, SANDBOX_LEASE_WAIT_MS * G_TIME_SPAN_MILLISECOND);

  other_kill (sandboxes[0].pid);
  killer = g_thread_new ("killer", (GThreadFunc) kill_later_cb, GINT_TO_POINTER (sandboxes[1].pid));
  lease = fixture_take (fixture);
  g_thread_join (killer);
  g_assert_cmpint (waitpid (sandboxes[1].pid, NULL, 0), ==, sandboxes[1].pid);

  /* The new owner's own are not held up. */
  g_assert_true (sandbox_lease_open_alive (lease, fixture->directory, &alive[0], NULL));
  g_assert_true (sandbox_lease_open_alive (lease, fixture->directory, &alive[1], NULL));
  sandbox_fork_close (&alive[0]);
  sandbox_fork_close (&alive[1]);
  g_assert_cmpint (alive[0], ==, -1);
  sandbox_lease_free (lease);
  fixture_assert_free (fixture);
}

static void
test_closed_by_host (Fixture      *fixture,
                     gconstpointer unused)
{
  int status = 0;

  g_test_summary ("A host that closes all descriptors is an owner still, and writes its record into no other file");

  if (fork () == 0)
    {
      g_autofree char *path = fixture_path (fixture, "innocent");
      g_autofree char *text = NULL;
      SandboxLease    *lease = sandbox_lease_take (fixture->directory, NULL, NULL, NULL);
      gsize            size = 0;
      pid_t            child;

      for (int fd = 3; fd < 256; fd++)
        close (fd);
      fixture->directory = open (fixture->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
      for (int i = 0; i < 32; i++)
        g_assert_cmpint (open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), >=, 0);

      child = fork ();
      if (child == 0)
        {
          fixture_assert_refused (fixture, SANDBOX_ERROR_BUSY, "process");
          _exit (0);
        }
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_assert_cmpint (status, ==, 0);

      sandbox_lease_free (lease);
      g_assert_true (g_file_get_contents (path, &text, &size, NULL));
      g_assert_cmpuint (size, ==, 0);
      _exit (0);
    }
  g_assert_cmpint (wait (&status), >, 0);
  g_assert_cmpint (status, ==, 0);
  fixture_assert_free (fixture);
}

#define ROUNDS 100

/* In memory that all have. */
typedef struct
{
  pthread_barrier_t barrier;
  int               n_winners[ROUNDS];
  int               n_busy[ROUNDS];
} Race;

static void
race_run (Race    *race,
          Fixture *fixture)
{
  for (guint i = 0; i < ROUNDS; i++)
    {
      g_autoptr (GError) error = NULL;
      SandboxLease *lease = NULL;

      pthread_barrier_wait (&race->barrier);
      lease = sandbox_lease_take (fixture->directory, NULL, NULL, &error);
      if (lease != NULL)
        g_atomic_int_inc (&race->n_winners[i]);
      else if (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY))
        g_atomic_int_inc (&race->n_busy[i]);

      /* The winner is one until all have answered. */
      pthread_barrier_wait (&race->barrier);
      g_clear_pointer (&lease, sandbox_lease_free);
    }
  _exit (0);
}

static void
test_race (Fixture      *fixture,
           gconstpointer data)
{
  const int             n_children = g_getenv ("SANDBOX_TEST_VALGRIND") != NULL ? 2 : GPOINTER_TO_INT (data);
  g_autofree pid_t     *children = g_new (pid_t, n_children);
  Race                 *race = mmap (NULL, sizeof *race, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrierattr_t attributes;

  g_test_summary ("Of many that come at once, one wins and all others are told BUSY, a hundred times");

  g_assert_true (race != MAP_FAILED);
  pthread_barrierattr_init (&attributes);
  pthread_barrierattr_setpshared (&attributes, PTHREAD_PROCESS_SHARED);
  g_assert_cmpint (pthread_barrier_init (&race->barrier, &attributes, n_children), ==, 0);

  for (int i = 0; i < n_children; i++)
    {
      children[i] = fork ();
      if (children[i] == 0)
        {
          prctl (PR_SET_PDEATHSIG, SIGKILL);
          race_run (race, fixture);
        }
      g_assert_cmpint (children[i], >, 0);
    }
  for (int i = 0; i < n_children; i++)
    {
      int status = 0;

      g_assert_cmpint (waitpid (children[i], &status, 0), ==, children[i]);
      g_assert_cmpint (status, ==, 0);
    }
  for (guint i = 0; i < ROUNDS; i++)
    {
      g_assert_cmpint (race->n_winners[i], ==, 1);
      g_assert_cmpint (race->n_busy[i], ==, n_children - 1);
    }
  munmap (race, sizeof *race);
  fixture_assert_free (fixture);
}

#define ADD(path, function) g_test_add ("/lease/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("one", test_one);
  ADD ("new", test_new);
  ADD ("unrelated-close", test_unrelated_close);
  ADD ("killed", test_killed);
  ADD ("stopped", test_stopped);
  ADD ("forked", test_forked);
  ADD ("forked-frees", test_forked_frees);
  ADD ("executed", test_executed);
  ADD ("orphan", test_orphan);
  ADD ("records", test_records);
  ADD ("record-form", test_record_form);
  ADD ("damaged", test_damaged);
  if (geteuid () == 0)
    ADD ("foreign", test_foreign);
  ADD ("deleted", test_deleted);
  ADD ("alive", test_alive);
  ADD ("closed-by-host", test_closed_by_host);
  g_test_add ("/lease/race/2", Fixture, GINT_TO_POINTER (2), fixture_set_up, test_race, fixture_tear_down);
  g_test_add ("/lease/race/64", Fixture, GINT_TO_POINTER (64), fixture_set_up, test_race, fixture_tear_down);

  return g_test_run ();
}
