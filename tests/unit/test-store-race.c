/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Several owners, objects and processes at one state directory. */

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "sandbox-fork-private.h"
#include "sandbox-lease-private.h"
#include "sandbox-proc-private.h"
#include "sandbox-state-private.h"
#include "sandbox-store-session-private.h"
#include "store-fixture.h"

#define ROUNDS test_rounds (100)

static SandboxStoreSession *
make_session (SandboxStore *store)
{
  g_autoptr (GError) error = NULL;
  SandboxStoreSession *session = sandbox_store_session_new (store, NULL, SANDBOX_WORKSPACE_MODE_AUTO, NULL, NULL, NULL, &error);

  g_assert_no_error (error);

  return session;
}

static gpointer
map_shared (gsize size)
{
  gpointer shared = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  g_assert_true (shared != MAP_FAILED);

  return shared;
}

/* Ends with the test, whatever happens to that. */
static pid_t
fork_child (void)
{
  pid_t parent = getpid ();
  pid_t child = fork ();

  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      if (getppid () != parent)
        child_end ();
    }

  return child;
}

/* Of all racers, in shared memory */
typedef struct
{
  pthread_barrier_t barrier;
  int               n_racers;
  int               n_winners;
  int               n_busy;
  int               n_bad;
} Race;

static void
race_to_attach (Race         *race,
                SandboxStore *store,
                SandboxState *state)
{
  g_autoptr (GError) error = NULL;
  SandboxStoreSession *session = NULL;

  pthread_barrier_wait (&race->barrier);
  session = sandbox_store_session_attach (store, state, NULL, NULL, &error);
  if (session != NULL)
    {
      g_atomic_int_inc (&race->n_winners);
      /* Whoever comes late must not find it free. */
      while (g_atomic_int_get (&race->n_busy) + g_atomic_int_get (&race->n_bad) + g_atomic_int_get (&race->n_winners) < race->n_racers)
        g_usleep (100);
      sandbox_store_session_free (session);
    }
  else if (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY))
    g_atomic_int_inc (&race->n_busy);
  else
    g_atomic_int_inc (&race->n_bad);
}

static void
test_attach (Fixture      *fixture,
             gconstpointer data)
{
  const int            n_racers = GPOINTER_TO_INT (data);
  SandboxStoreSession *session = make_session (fixture->store);
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  Race                 *race = map_shared (sizeof *race);
  g_autofree pid_t     *children = g_new0 (pid_t, n_racers);
  pthread_barrierattr_t attributes;

  g_test_summary ("Of many processes that want a session at once one gets it, and the others are told that it is busy");

  sandbox_store_session_free (session);
  race->n_racers = n_racers;
  pthread_barrierattr_init (&attributes);
  pthread_barrierattr_setpshared (&attributes, PTHREAD_PROCESS_SHARED);
  g_assert_cmpint (pthread_barrier_init (&race->barrier, &attributes, (guint) n_racers + 1), ==, 0);

  for (int i = 0; i < n_racers; i++)
    {
      children[i] = fork_child ();
      if (children[i] == 0)
        {
          SandboxStore *store = open_store (fixture->state, "backend");

          for (guint round = 0; round < ROUNDS; round++)
            {
              race_to_attach (race, store, state);
              pthread_barrier_wait (&race->barrier);
            }
          child_end ();
        }
    }
  for (guint round = 0; round < ROUNDS; round++)
    {
      race->n_winners = race->n_busy = race->n_bad = 0;
      pthread_barrier_wait (&race->barrier);
      pthread_barrier_wait (&race->barrier);
      g_assert_cmpint (race->n_winners, ==, 1);
      g_assert_cmpint (race->n_busy, ==, n_racers - 1);
    }
  for (int i = 0; i < n_racers; i++)
    child_wait (children[i]);
  pthread_barrier_destroy (&race->barrier);
  pthread_barrierattr_destroy (&attributes);
  munmap (race, sizeof *race);
}

static void
assert_busy (SandboxStore *store,
             SandboxState *state)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (sandbox_store_session_attach (store, state, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  g_assert_false (sandbox_store_delete_session (store, state, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
}

static void
assert_free (SandboxStore *store,
             SandboxState *state)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxStoreSession) session = sandbox_store_session_attach (store, state, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (session);
}

/* Waits for one byte, or for the end: 0. */
static int
wait_byte (int fd)
{
  char byte = '\0';

  return (int) read (fd, &byte, 1);
}

/* A child that owns the session until it is killed; its own child, if it has one, ends when the pipe @keep does. */
static pid_t
fork_owner (Fixture      *fixture,
            SandboxState *state,
            const int    *keep)
{
  int   ends[2];
  pid_t child;

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  child = fork_child ();
  if (child == 0)
    {
      SandboxStore        *store = open_store (fixture->state, "backend");
      SandboxStoreSession *session = sandbox_store_session_attach (store, state, NULL, NULL, NULL);

      g_assert_nonnull (session);
      if (keep != NULL && fork () == 0)
        {
          close (ends[1]);
          close (keep[1]);
          wait_byte (keep[0]);
          child_end ();
        }
      g_assert_cmpint (write (ends[1], "1", 1), ==, 1);
      for (;;)
        pause ();
    }
  close (ends[1]);
  g_assert_cmpint (wait_byte (ends[0]), ==, 1);
  close (ends[0]);

  return child;
}

static void
kill_child (pid_t child)
{
  g_assert_cmpint (kill (child, SIGKILL), ==, 0);
  child_wait (child);
}

static void
test_owners (Fixture      *fixture,
             gconstpointer unused)
{
  SandboxStoreSession *session = make_session (fixture->store);
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  int   keep[2];
  int   status = 0;
  pid_t child;

  g_test_summary ("An owner that is stopped keeps its session; one that was killed does not, not even by a child that lives on (case 94)");

  sandbox_store_session_free (session);
  child = fork_owner (fixture, state, NULL);
  assert_busy (fixture->store, state);
  g_assert_cmpint (kill (child, SIGSTOP), ==, 0);
  g_assert_cmpint (waitpid (child, &status, WUNTRACED), ==, child);
  g_assert_true (WIFSTOPPED (status));
  assert_busy (fixture->store, state);
  kill_child (child);
  assert_free (fixture->store, state);

  g_assert_cmpint (pipe2 (keep, O_CLOEXEC), ==, 0);
  child = fork_owner (fixture, state, keep);
  assert_busy (fixture->store, state);
  kill_child (child);
  assert_free (fixture->store, state);
  close (keep[1]);
  close (keep[0]);
  assert_free (fixture->store, state);
}

static void
write_record (const char               *path,
              const SandboxLeaseRecord *record)
{
  char text[SANDBOX_LEASE_RECORD_BYTES + 1];
  int  fd = open (path, O_WRONLY | O_CLOEXEC);

  sandbox_lease_record_format (record, text);
  g_assert_cmpint (write (fd, text, SANDBOX_LEASE_RECORD_BYTES), ==, SANDBOX_LEASE_RECORD_BYTES);
  close (fd);
}

static void
test_stale (Fixture      *fixture,
            gconstpointer unused)
{
  SandboxStoreSession *session = make_session (fixture->store);
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  g_autofree char   *path = g_build_filename (fixture->state, "backend", "sessions", sandbox_state_get_session_id (state), "lease", NULL);
  pid_t              other = fork_child ();
  SandboxLeaseRecord own = { "" };
  SandboxLeaseRecord record = { "" };
  g_autoptr (GError) error = NULL;

  g_test_summary ("A record of a pid that is another process by now, or of another boot, is stale; one of a living owner is not");

  if (other == 0)
    for (;;)
      pause ();
  sandbox_store_session_free (session);
  g_assert_true (sandbox_lease_record_fill (&own, &error));
  g_assert_no_error (error);

  for (guint round = 0; round < ROUNDS; round++)
    {
      record = own;
      record.pid = other;
      g_assert_true (sandbox_proc_get_start (other, &record.start));
      write_record (path, &record);
      assert_busy (fixture->store, state);

      record.start -= 1;
      write_record (path, &record);
      assert_free (fixture->store, state);

      record.start += 1;
      record.boot[0] = record.boot[0] == '0' ? '1' : '0';
      write_record (path, &record);
      assert_free (fixture->store, state);
    }
  record = own;
  record.pid = other;
  g_assert_true (sandbox_proc_get_start (other, &record.start));
  write_record (path, &record);
  kill_child (other);
  assert_free (fixture->store, state);
}

/* Everything at once */

#define STRESS_PROCESSES 3
#define STRESS_THREADS 2
#define STRESS_ROUNDS test_rounds (150)

typedef struct
{
  Fixture        *fixture;
  SandboxFileSet *files;
  const char     *key;
  guint32         seed;
  SandboxStore   *store;
} Stress;

static gboolean
is_expected (const GError *error)
{
  return g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY) || g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static void
stress_assert_complete (Stress              *stress,
                        SandboxStoreSession *session)
{
  int         workspace = sandbox_store_session_get_workspace (session);
  char        buffer[8] = "";
  struct stat st;
  int         fd = openat (workspace, "a", O_RDONLY | O_CLOEXEC);

  g_assert_cmpint (read (fd, buffer, sizeof buffer - 1), ==, 4);
  g_assert_cmpstr (buffer, ==, "text");
  close (fd);
  g_assert_cmpint (fstatat (workspace, "given/tool", &st, AT_SYMLINK_NOFOLLOW), ==, 0);
  g_assert_cmpint (st.st_size, ==, 2);
}

static void
stress_create (Stress  *stress,
               GError **error)
{
  SandboxStoreSession *session = sandbox_store_session_new (stress->store, stress->key, SANDBOX_WORKSPACE_MODE_AUTO, NULL, NULL, NULL, error);

  if (session == NULL)
    return;
  stress_assert_complete (stress, session);
  sandbox_store_session_free (session);
}

/* Comes back to some session, or deletes it. */
static void
stress_use_any (Stress  *stress,
                GRand   *rand,
                GError **error)
{
  g_autoptr (GPtrArray) list = sandbox_store_list_sessions (stress->store, NULL, NULL, error);
  SandboxStoreSession *session = NULL;
  SandboxState        *state = NULL;

  g_assert_nonnull (list);
  if (list->len == 0)
    return;
  state = list->pdata[g_rand_int_range (rand, 0, (int) list->len)];
  if (g_rand_boolean (rand))
    {
      sandbox_store_delete_session (stress->store, state, NULL, NULL, error);
      return;
    }
  session = sandbox_store_session_attach (stress->store, state, NULL, NULL, error);
  if (session == NULL)
    return;
  stress_assert_complete (stress, session);
  if (g_rand_boolean (rand))
    g_assert_true (sandbox_store_session_delete (session, NULL, NULL, error));
  sandbox_store_session_free (session);
}

static gpointer
stress_thread (gpointer data)
{
  Stress       *stress = data;
  SandboxStore *own = open_store (stress->fixture->state, "backend");
  GRand        *rand = g_rand_new_with_seed (stress->seed);

  for (guint round = 0; round < STRESS_ROUNDS; round++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (SandboxTemplate) made = NULL;

      switch (g_rand_int_range (rand, 0, 12))
        {
        case 0:
          sandbox_store_delete_template (stress->store, stress->key, NULL, NULL, &error);
          break;
        case 1:
          sandbox_store_collect (own, NULL, NULL);
          break;
        case 2:
        case 3:
        case 4:
          made = prewarm (own, stress->files);
          g_assert_cmpstr (sandbox_template_get_key (made), ==, stress->key);
          break;
        case 5:
        case 6:
        case 7:
        case 8:
          stress_create (stress, &error);
          break;
        default:
          stress_use_any (stress, rand, &error);
          break;
        }
      if (error != NULL && !is_expected (error))
        g_assert_no_error (error);
    }
  g_rand_free (rand);
  sandbox_store_unref (own);

  return NULL;
}

static void
test_stress (Fixture      *fixture,
             gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  g_autoptr (SandboxTemplate) last = NULL;
  g_autoptr (GPtrArray) list = NULL;
  pid_t children[STRESS_PROCESSES];

  g_test_summary ("Objects and processes that prewarm, create, attach, delete and collect in one directory do each other no harm (case 107)");

  for (guint i = 0; i < STRESS_PROCESSES; i++)
    {
      children[i] = fork_child ();
      if (children[i] == 0)
        {
          SandboxStore *store = open_store (fixture->state, "backend");
          GThread      *threads[STRESS_THREADS];
          Stress        stresses[STRESS_THREADS];

          for (guint j = 0; j < STRESS_THREADS; j++)
            {
              stresses[j] = (Stress){ fixture, files, sandbox_template_get_key (made), i * STRESS_THREADS + j, store };
              threads[j] = g_thread_new ("stress", stress_thread, &stresses[j]);
            }
          for (guint j = 0; j < STRESS_THREADS; j++)
            g_thread_join (threads[j]);
          child_end ();
        }
    }
  for (guint i = 0; i < STRESS_PROCESSES; i++)
    child_wait (children[i]);

  g_assert_cmpuint (count_aside (fixture), ==, 0);
  g_assert_cmpuint (count_templates (fixture), <=, 1);
  last = prewarm (fixture->store, files);
  assert_sound (fixture->store, sandbox_template_get_key (last));
  list = sandbox_store_list_sessions (fixture->store, NULL, NULL, NULL);
  g_assert_cmpuint (list->len, ==, count_sessions (fixture));
  for (guint i = 0; i < list->len; i++)
    {
      Stress               stress = { fixture, files, NULL, 0, fixture->store };
      SandboxStoreSession *session = sandbox_store_session_attach (fixture->store, list->pdata[i], NULL, NULL, NULL);

      g_assert_nonnull (session);
      stress_assert_complete (&stress, session);
      g_assert_true (sandbox_store_session_delete (session, NULL, NULL, NULL));
      sandbox_store_session_free (session);
    }
  g_assert_cmpuint (count_sessions (fixture), ==, 0);
  free_files (files);
}

#define ADD(path, data, function) g_test_add ("/store-race/" path, Fixture, data, fixture_set_up, function, fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("attach/2", GINT_TO_POINTER (2), test_attach);
  ADD ("attach/64", GINT_TO_POINTER (64), test_attach);
  ADD ("owners", NULL, test_owners);
  ADD ("stale", NULL, test_stale);
  ADD ("stress", NULL, test_stress);

  return g_test_run ();
}
