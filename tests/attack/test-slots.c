/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What commands of one session find of each other, and of what makes room for them, in each way that there is to do that:
 * with slots armed ahead, with slots made when they are needed, with slots that share, and with one bwrap for each
 * command. And what is left when anything of it is killed at random.
 */
#include "../common/test-profile.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#define N_STORMS 12
/* Around what a command takes from the call until it runs */
#define MOMENTS_US 20000

typedef struct
{
  const char      *name;
  gboolean         nested;
  guint            armed;
  SandboxIsolation isolation;
} Way;

static const Way ways[] = {
  { "armed", TRUE, 2, SANDBOX_ISOLATION_PER_COMMAND },
  { "at-dispatch", TRUE, 0, SANDBOX_ISOLATION_PER_COMMAND },
  { "shared", TRUE, 2, SANDBOX_ISOLATION_SHARED },
  { "one-bwrap", FALSE, 0, SANDBOX_ISOLATION_PER_COMMAND },
};

static void
slots_set_up (TestSandbox  *self,
              gconstpointer data)
{
  const Way *way = data;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (GError) error = NULL;

  self->workspace = test_make_workspace ();
  test_install_program (self->workspace, "slots", TEST_SLOTS);
  self->registry = sandbox_registry_new ();
  self->backend = test_new_backend (self->registry);
  g_object_set (self->backend, "nested", way->nested, "armed-slots", way->armed, NULL);
  /* The one that lets commands trace: what they cannot reach then is not there. */
  sandbox_profile_set_filter (profile, SANDBOX_FILTER_DEBUGGER);
  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_isolation (options, way->isolation);
  self->handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  self->session = sandbox_handle_get_session (self->handle);
}

static char *
slots_run (TestSandbox *self,
           const char  *what,
           const char  *word)
{
  g_autoptr (SandboxResult) result = test_run (self, "./slots", what, word, NULL);

  test_assert_exited (result, 0);

  return sandbox_result_dup_stdout_text (result);
}

/* The word after @kind at the start of a line of @text. */
static char *
slots_get (const char *text,
           const char *kind)
{
  g_autofree char *key = g_strdup_printf ("\n%s ", kind);
  g_autofree char *whole = g_strconcat ("\n", text, NULL);
  const char      *found = strstr (whole, key);

  if (found == NULL)
    g_error ("No “%s” in: %s", kind, text);
  found += strlen (key);

  return g_strndup (found, strcspn (found, "\n"));
}

static void
slots_assert (const char *text,
              const char *kind,
              const char *expected)
{
  g_autofree char *found = slots_get (text, kind);

  if (!g_str_equal (found, expected))
    g_error ("%s is “%s” instead of “%s” in: %s", kind, found, expected, text);
}

static void
slots_assert_all (const char *text,
                  const char *workspace,
                  const char *others)
{
  const char *const kinds[] = { "tmp", "shm", "segment", "semaphore", "messages" };

  slots_assert (text, "workspace", workspace);
  /* Nobody may have one. */
  slots_assert (text, "queue", g_str_equal (others, "made") ? "refused" : "absent");
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    slots_assert (text, kinds[i], others);
}

/* A command that holds all it can under @word, once it does. */
static SandboxProcess *
slots_hold (TestSandbox *self,
            const char  *word)
{
  g_autoptr (SandboxCommand) command = test_command_new ("./slots", "hold", word, NULL);
  g_autoptr (GDataInputStream) lines = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  SandboxProcess *process = sandbox_session_spawn (self->session, command, NULL, &error);

  g_assert_no_error (error);
  lines = g_data_input_stream_new (sandbox_process_get_stdout (process));
  g_filter_input_stream_set_close_base_stream (G_FILTER_INPUT_STREAM (lines), FALSE);
  for (;;)
    {
      g_autofree char *line = g_data_input_stream_read_line (lines, NULL, NULL, &error);

      g_assert_no_error (error);
      g_assert_nonnull (line);
      if (g_str_equal (line, "ready"))
        break;
      g_string_append_printf (text, "%s\n", line);
    }
  slots_assert_all (text->str, "made", "made");

  return process;
}

static void
slots_end (SandboxProcess *process)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_process_wait (process, NULL, &error));
  g_assert_no_error (error);
}

/* The one process of the host with @marker in its arguments. */
static pid_t
slots_find (const char *marker)
{
  g_autoptr (GArray) found = test_marker_find (marker);

  g_assert_cmpuint (found->len, ==, 1);

  return g_array_index (found, pid_t, 0);
}

static pid_t
get_parent (pid_t pid)
{
  return (pid_t) test_read_status (pid, "PPid", 10);
}

/* ---- One after another ---- */

static void
test_fresh (TestSandbox  *self,
            gconstpointer data)
{
  const Way *way = data;

  g_test_summary ("What a command leaves in memory, in System V IPC and in queues is not there for the next, unless that was asked for");

  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *word = test_marker_new ();
      g_autofree char *left = slots_run (self, "leave", word);
      g_autofree char *found = slots_run (self, "look", word);

      slots_assert_all (left, "made", "made");
      slots_assert_all (found, "here", way->isolation == SANDBOX_ISOLATION_SHARED ? "here" : "absent");
      if (way->isolation != SANDBOX_ISOLATION_SHARED)
        slots_assert (found, "objects", "0");
      slots_assert (found, "terminals", "0");
      slots_assert (found, "processes", "2");
      slots_assert (found, "pid", "2");
    }
}

static void
test_relatives (TestSandbox  *self,
                gconstpointer data)
{
  g_test_summary ("Children in sessions of their own, orphans and stopped ones are dead with the command's end, and no later one sees them");

  for (guint i = 0; i < 8; i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (SandboxResult) result = test_run (self, "./guest", "leave", marker, NULL);
      g_autofree char *found = NULL;

      test_assert_exited (result, 0);
      g_assert_cmpuint (test_marker_count (marker), ==, 0);
      found = slots_run (self, "look", marker);
      slots_assert (found, "processes", "2");
    }
}

static void
test_spoiled (TestSandbox  *self,
              gconstpointer data)
{
  g_autofree char *before = test_sh (self, "cut -d' ' -f18,19,40,41 /proc/self/stat; cat /proc/self/limits; ulimit -a");

  g_test_summary ("A command that sends its process 1 every signal, and takes its limits and its share away, does that to itself alone");

  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("./slots", "spoil", NULL);
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;
      g_autofree char *after = NULL;

      sandbox_command_set_timeout_ms (command, 10000);
      result = sandbox_session_run (self->session, command, NULL, &error);
      /* Nothing is made up: a process 1 that is killed for its limits tells of no end, or not even of the start. */
      g_assert_no_error (error);
      if (sandbox_result_get_outcome (result) != SANDBOX_OUTCOME_LOST)
        test_assert_exited (result, 0);
      after = test_sh (self, "cut -d' ' -f18,19,40,41 /proc/self/stat; cat /proc/self/limits; ulimit -a");
      g_assert_cmpstr (after, ==, before);
    }
}

/* ---- Side by side ---- */

static void
test_side_by_side (TestSandbox  *self,
                   gconstpointer data)
{
  const Way       *way = data;
  const gboolean   shared = way->isolation == SANDBOX_ISOLATION_SHARED;
  g_autofree char *first = test_marker_new ();
  g_autofree char *second = test_marker_new ();
  g_autoptr (SandboxProcess) one = slots_hold (self, first);
  g_autoptr (SandboxProcess) two = slots_hold (self, second);
  g_autofree char *found = slots_run (self, "look", first);
  g_autofree char *met = NULL;

  g_test_summary ("Commands that run at once have the workspace and the network in common, and nothing else unless that was asked for");

  slots_assert_all (found, "here", shared ? "here" : "absent");
  slots_assert (found, "terminals", shared ? "2" : "0");
  slots_assert (found, "processes", "2");
  slots_assert (found, "pid", "2");
  if (!shared)
    slots_assert (found, "objects", "0");
  if (way->nested)
    {
      const char *const kinds[] = { "net", "pid", "mnt", "ipc" };

      met = slots_run (self, "meet", second);
      g_assert_cmpstr (met, ==, "met\n");
      for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
        {
          g_autofree char *one_path = g_strdup_printf ("/proc/%d/ns/%s", (int) slots_find (first), kinds[i]);
          g_autofree char *two_path = g_strdup_printf ("/proc/%d/ns/%s", (int) slots_find (second), kinds[i]);
          g_autofree char *one_link = g_file_read_link (one_path, NULL);
          g_autofree char *two_link = g_file_read_link (two_path, NULL);

          g_assert_nonnull (one_link);
          g_assert_nonnull (two_link);
          g_assert_true (g_str_equal (one_link, two_link) == (i == 0 || (i == 3 && shared)));
        }
    }
  slots_end (one);
  slots_end (two);
}

static void
test_strike (TestSandbox  *self,
             gconstpointer data)
{
  g_autofree char *first = test_marker_new ();
  g_autofree char *second = test_marker_new ();
  g_autoptr (SandboxProcess) one = slots_hold (self, first);
  g_autoptr (SandboxProcess) two = slots_hold (self, second);
  const pid_t pids[] = { slots_find (first), slots_find (second), get_parent (slots_find (first)), get_parent (get_parent (slots_find (first))) };

  g_test_summary ("No number of a process is one of a neighbour's or of the session's agent: not to signal, to trace, to read or to limit");

  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (SandboxResult) result = test_run (self, "./slots", "strike", NULL);

      test_assert_exited (result, 0);
      test_assert_output (result, "end\n");
    }
  for (guint i = 0; i < G_N_ELEMENTS (pids); i++)
    {
      g_autofree char *status = test_read_proc (pids[i], "status", NULL);

      /* asleep or at work, not stopped, dead or traced */
      if (status == NULL || (strstr (status, "\nState:\tS") == NULL && strstr (status, "\nState:\tR") == NULL) ||
          strstr (status, "\nTracerPid:\t0\n") == NULL)
        g_error ("Process %d was hurt: %s", (int) pids[i], status);
    }
  slots_end (one);
  slots_end (two);
}

/* ---- Descriptors ---- */

/* Whether the mount that a descriptor of @pid is on is one of those that @pid sees. */
static gboolean
is_on_own_mount (pid_t       pid,
                 const char *fd)
{
  g_autofree char *file = g_strconcat ("fdinfo/", fd, NULL);
  g_autofree char *info = test_read_proc (pid, file, NULL);
  g_autofree char *mounts = test_read_proc (pid, "mountinfo", NULL);
  g_autofree char *lines = g_strconcat ("\n", mounts, NULL);
  g_autofree char *id = NULL;
  const char      *found = info != NULL ? strstr (info, "mnt_id:") : NULL;

  g_assert_nonnull (found);
  id = g_strdup_printf ("\n%d ", atoi (found + strlen ("mnt_id:")));

  return strstr (lines, id) != NULL;
}

static void
test_descriptors (TestSandbox  *self,
                  gconstpointer data)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxProcess) process = slots_hold (self, marker);

  g_test_summary ("A command has three descriptors, whatever runs beside it");

  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (SandboxResult) result = test_run (self, "./guest", "fds", NULL);
      g_autofree char *text = sandbox_result_dup_stdout_text (result);
      g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

      test_assert_exited (result, 0);
      g_assert_cmpuint (g_strv_length (lines), ==, 4);
      for (guint j = 0; j < 3; j++)
        g_assert_cmpint (atoi (lines[j]), ==, j);
    }
  slots_end (process);
}

static void
test_agent_descriptors (TestSandbox  *self,
                        gconstpointer data)
{
  g_test_summary ("Process 1 of a command has no descriptor that leads out of its own mounts, and nobody's socket or pipe but its own socket");

  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (SandboxProcess) process = slots_hold (self, marker);
      const pid_t      agent = get_parent (slots_find (marker));
      g_autofree char *fds = g_strdup_printf ("/proc/%d/fd", (int) agent);
      g_autoptr (GDir) directory = g_dir_open (fds, 0, NULL);
      const char *name = NULL;
      guint       n_sockets = 0;

      g_assert_nonnull (directory);
      while ((name = g_dir_read_name (directory)) != NULL)
        {
          g_autofree char *path = g_build_filename (fds, name, NULL);
          g_autofree char *target = g_file_read_link (path, NULL);

          g_assert_nonnull (target);
          if (g_str_has_prefix (target, "socket:"))
            n_sockets++;
          else if (target[0] == '/' ? !is_on_own_mount (agent, name) : !g_str_has_prefix (target, "anon_inode:"))
            g_error ("Process 1 of a command holds %s as %s", target, name);
        }
      g_assert_cmpuint (n_sockets, ==, 1);
      slots_end (process);
    }
}

/* ---- Killed at random ----
 *
 * This program takes in orphans, so that nothing can hide behind a parent that is dead. */

static guint
get_rounds (void)
{
  const char *rounds = g_getenv ("SANDBOX_TEST_STORM_ROUNDS");

  return rounds != NULL ? (guint) atoi (rounds) : test_rounds (N_STORMS);
}

/* Kills one of them, whichever. Any may be gone by then, and as long as it is not waited for its number is no other's:
 * by a pidfd, and only if it still descends from there. */
static void
kill_one (pid_t top)
{
  g_autoptr (GArray) found = test_list_descendants (top);
  pid_t victim = found->len > 0 ? g_array_index (found, pid_t, g_random_int_range (0, (gint) found->len)) : 0;
  int   pidfd = victim > 0 ? (int) syscall (SYS_pidfd_open, victim, 0) : -1;

  if (pidfd < 0)
    return;
  g_array_unref (g_steal_pointer (&found));
  found = test_list_descendants (top);
  for (guint i = 0; i < found->len; i++)
    if (g_array_index (found, pid_t, i) == victim)
      syscall (SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
  close (pidfd);
}

typedef struct
{
  guint after_us;
} Killer;

static gpointer
killer_thread (gpointer user_data)
{
  Killer *killer = user_data;

  g_usleep (killer->after_us);
  kill_one (getpid ());

  return NULL;
}

static guint
count_mounts (void)
{
  g_autofree char *text = NULL;
  guint            count = 0;

  g_assert_true (g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL));
  for (const char *at = text; *at != '\0'; at++)
    count += *at == '\n';

  return count;
}

/* What a killed parent leaves to this process dies by itself; what lives on fails the test. */
static void
assert_no_children (guint descriptors)
{
  const gint64 start = g_get_monotonic_time ();

  while (test_count_children () > 0 || test_count_descriptors () > descriptors)
    {
      if (g_get_monotonic_time () > start + TEST_GONE_US)
        {
          g_autoptr (GArray) left = test_list_descendants (getpid ());

          for (guint i = 0; i < left->len; i++)
            {
              g_autofree char *status = test_read_proc (g_array_index (left, pid_t, i), "status", NULL);

              g_test_message ("left: %s", status);
            }
          g_error ("%u processes are left, and %u descriptors of at most %u", left->len, test_count_descriptors (), descriptors);
        }
      if (!g_main_context_iteration (NULL, FALSE))
        g_usleep (5000);
      /* The library had time to wait for its own. */
      if (g_get_monotonic_time () > start + TEST_GONE_US / 10)
        while (waitpid (-1, NULL, WNOHANG | __WALL) > 0)
          ;
    }
}

/* What has died may have to be met before it is known: then a command does not start, and says so; or nobody can say whether
 * it did, as what was killed dies only now. */
static char *
run_after_storm (TestSandbox *self)
{
  const gint64 end = g_get_monotonic_time () + TEST_GONE_US;
  g_autoptr (SandboxCommand) command = test_command_new ("echo", "works", NULL);

  for (;;)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (SandboxResult) result = sandbox_session_run (self->session, command, NULL, &error);

      if (result != NULL && sandbox_result_get_outcome (result) != SANDBOX_OUTCOME_LOST)
        {
          test_assert_exited (result, 0);
          return sandbox_result_dup_stdout_text (result);
        }
      g_test_message ("Then: %s", error != NULL ? error->message : "lost");
      if (result == NULL)
        g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
      g_assert_cmpint (g_get_monotonic_time (), <, end);
    }
}

static void
test_storm (TestSandbox  *self,
            gconstpointer data)
{
  const guint rounds = get_rounds ();
  const guint mounts = count_mounts ();
  guint       n_ended = 0;

  g_test_summary ("Whatever is killed at whatever moment, agents and bwrap too: no end is made up, nothing lives on, and the next command runs");

  g_free (test_sh (self, "true"));
  for (guint i = 0; i < rounds; i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "echo one; sleep 0.01; echo two; exit 7", marker, NULL);
      g_autoptr (SandboxResult) result = NULL;
      g_autofree char *text = NULL;
      g_autoptr (GError) error = NULL;
      Killer   killer = { (guint) g_random_int_range (0, MOMENTS_US) };
      GThread *thread = g_thread_new ("killer", killer_thread, &killer);
      gint64   before = g_get_monotonic_time ();

      result = sandbox_session_run (self->session, command, NULL, &error);
      g_assert_cmpint (g_get_monotonic_time () - before, <, 10 * G_USEC_PER_SEC);
      g_thread_join (thread);
      test_marker_assert_gone (marker);
      if (result == NULL)
        {
          g_test_message ("%s", error->message);
          g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
        }
      else if (sandbox_result_get_outcome (result) == SANDBOX_OUTCOME_EXITED && sandbox_result_get_exit_status (result) == 7)
        {
          /* "sleep" may have been the one. */
          test_assert_output (result, "one\ntwo\n");
          n_ended++;
        }
      else if (sandbox_result_get_outcome (result) == SANDBOX_OUTCOME_SIGNALED)
        test_assert_signaled (result, SIGKILL);
      else
        g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_LOST);
      text = run_after_storm (self);
      g_assert_cmpstr (text, ==, "works\n");
    }
  g_test_message ("%u of %u commands came to their own end", n_ended, rounds);
  g_assert_cmpuint (count_mounts (), ==, mounts);
  {
    g_autoptr (GError) error = NULL;

    g_assert_true (sandbox_handle_stop (self->handle, NULL, &error));
    g_assert_no_error (error);
  }
  assert_no_children (G_MAXUINT);
}

/* ---- Killed hosts ---- */

static SandboxHandle *
create_kept (SandboxBackend *backend,
             const Way      *way,
             SandboxState   *state,
             GError        **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  g_object_set (backend, "nested", way->nested, "armed-slots", way->armed, NULL);
  sandbox_create_options_set_isolation (options, way->isolation);
  sandbox_create_options_set_state (options, state);

  return sandbox_backend_create (backend, options, NULL, error);
}

/* This program as a host of its own, which is killed: tells the state of its session, then runs one command after another. */
static void G_GNUC_NORETURN
run_as_host (const char *directory,
             const char *way,
             const char *marker)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "echo here >kept; sleep 0.01; (setsid sleep 60 &) </dev/null >/dev/null 2>&1; :", marker, NULL);
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  /* A test that fails leaves no host behind. */
  g_assert_cmpint (prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), ==, 0);
  backend = sandbox_registry_create_backend (registry, "bubblewrap", directory, &error);
  g_assert_no_error (error);
  handle = create_kept (backend, &ways[atoi (way)], NULL, &error);
  g_assert_no_error (error);
  state = sandbox_handle_capture_state (handle, &error);
  g_assert_no_error (error);
  text = g_strdelimit (sandbox_state_to_json (state), "\n", ' ');
  printf ("%s\n", text);
  fflush (stdout);
  for (;;)
    {
      g_autoptr (SandboxResult) result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);

      g_assert_no_error (error);
    }
}

/* A child that the host was just making has what the host had until it becomes another program, or is dead. */
static SandboxHandle *
attach (SandboxBackend *backend,
        const Way      *way,
        SandboxState   *state)
{
  const gint64 end = g_get_monotonic_time () + TEST_GONE_US;

  for (;;)
    {
      g_autoptr (GError) error = NULL;
      SandboxHandle *handle = create_kept (backend, way, state, &error);

      if (handle != NULL)
        return handle;
      g_test_message ("%s", error->message);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_usleep (20000);
    }
}

static void
test_killed_host (gconstpointer data)
{
  const Way *way = data;
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autofree char *number = g_strdup_printf ("%d", (int) (way - ways));
  g_autoptr (GError) error = NULL;
  g_autofree char *directory = g_dir_make_tmp ("sandbox-slots-XXXXXX", &error);
  g_autofree char *sessions = g_build_filename (directory, "bubblewrap", "sessions", NULL);
  const guint      mounts = count_mounts ();

  g_test_summary ("After a host that is killed at any moment nothing is alive, mounted or locked: its session goes on in another one");

  backend = sandbox_registry_create_backend (registry, "bubblewrap", directory, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < get_rounds (); i++)
    {
      g_autofree char *marker = test_marker_new ();
      g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);
      g_autoptr (GSubprocess) host = NULL;
      g_autoptr (GDataInputStream) lines = NULL;
      g_autofree char *line = NULL;
      g_autofree char *found = NULL;
      g_autoptr (SandboxState) state = NULL;
      g_autoptr (SandboxHandle) handle = NULL;
      TestSandbox sandbox = { 0 };

      /* The marker goes by the environment: in the arguments it would count. */
      g_subprocess_launcher_setenv (launcher, "SANDBOX_TEST_HOST", marker, TRUE);
      host = g_subprocess_launcher_spawn (launcher, &error, "/proc/self/exe", directory, number, NULL);
      g_assert_no_error (error);
      lines = g_data_input_stream_new (g_subprocess_get_stdout_pipe (host));
      line = g_data_input_stream_read_line (lines, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_nonnull (line);
      state = sandbox_state_new_from_json (line, &error);
      g_assert_no_error (error);
      g_usleep ((gulong) g_random_int_range (0, 4 * MOMENTS_US));
      g_subprocess_force_exit (host);
      g_assert_true (g_subprocess_wait (host, NULL, &error));
      g_assert_true (g_subprocess_get_if_signaled (host));
      test_marker_assert_gone (marker);

      handle = attach (backend, way, state);
      sandbox.handle = handle;
      sandbox.session = sandbox_handle_get_session (handle);
      found = test_sh (&sandbox, "cat kept 2>/dev/null; echo works");
      g_assert_true (g_str_has_suffix (found, "works\n"));
      g_assert_true (sandbox_handle_delete (handle, NULL, &error));
      g_assert_no_error (error);
      g_clear_object (&handle);
      assert_no_children (G_MAXUINT);
      g_assert_cmpuint (test_count_entries (sessions), ==, 0);
      g_assert_cmpuint (count_mounts (), ==, mounts);
      g_assert_cmpuint (test_count_claims (), ==, 0);
    }
  g_clear_object (&backend);
  g_clear_object (&registry);
  test_remove_tree (directory);
}

/* Told of once where slots are asked for, with @obstacle of the profile, or NULL. */
static void
assert_reported (TestSandbox    *self,
                 const Way      *way,
                 SandboxProfile *profile,
                 const char     *obstacle)
{
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (GError) error = NULL;
  guint n_steps = 0;

  report = sandbox_backend_probe (self->backend, profile, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < g_list_model_get_n_items (sandbox_report_get_steps (report)); i++)
    {
      g_autoptr (SandboxReportStep) step = g_list_model_get_item (sandbox_report_get_steps (report), i);

      if (!g_str_equal (sandbox_report_step_get_name (step), "slots"))
        continue;
      g_assert_cmpint (sandbox_report_step_get_ok (step), ==, obstacle == NULL);
      if (obstacle != NULL)
        g_assert_nonnull (strstr (sandbox_report_step_get_evidence (step), obstacle));
      n_steps++;
    }
  g_assert_cmpuint (n_steps, ==, way->nested ? 1 : 0);
}

static void
test_reported (TestSandbox  *self,
               gconstpointer data)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("Where slots are asked for, the probe tells that a command ran in one, or what of the profile does not go with them; "
                  "else it does not speak of them");

  assert_reported (self, data, NULL, NULL);
  sandbox_profile_set_workspace_target (profile, "/tmp/here");
  assert_reported (self, data, profile, "“workspace-target”");
}

static void
test_in_tmp (TestSandbox  *self,
             gconstpointer data)
{
  const Way       *way = data;
  g_autofree char *workspace = test_make_workspace ();
  g_autofree char *found = NULL;
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  TestSandbox sandbox = { .workspace = workspace, .backend = self->backend };
  g_autoptr (GError) error = NULL;

  g_test_summary ("A workspace in /tmp is there for each command, in a /tmp of its own unless that is shared");

  sandbox_profile_set_workspace_target (profile, "/tmp/a/here");
  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_workspace_path (options, workspace);
  sandbox_create_options_set_isolation (options, way->isolation);
  handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  sandbox.handle = handle;
  sandbox.session = sandbox_handle_get_session (handle);
  g_free (test_sh (&sandbox, "echo text >kept; touch /tmp/left"));
  found = test_sh (&sandbox, "pwd; cat kept; ls /tmp");
  g_assert_cmpstr (found, ==, way->isolation == SANDBOX_ISOLATION_SHARED ? "/tmp/a/here\ntext\na\nleft\n" : "/tmp/a/here\ntext\na\n");
  g_assert_true (sandbox_handle_delete (handle, NULL, &error));
  g_assert_no_error (error);
  test_remove_tree (workspace);
}

int
main (int    argc,
      char **argv)
{
  const struct
  {
    const char *name;
    void (*run) (TestSandbox *self, gconstpointer data);
    gboolean needs_root; /* nobody else may look into process 1 */
  } tests[] = {
    { "fresh", test_fresh },
    { "relatives", test_relatives },
    { "spoiled", test_spoiled },
    { "side-by-side", test_side_by_side },
    { "strike", test_strike },
    { "descriptors", test_descriptors },
    { "root/descriptors", test_agent_descriptors, TRUE },
    { "storm", test_storm },
    { "reported", test_reported },
    { "in-tmp", test_in_tmp },
  };

  if (g_getenv ("SANDBOX_TEST_HOST") != NULL && argc == 3)
    run_as_host (argv[1], argv[2], g_getenv ("SANDBOX_TEST_HOST"));

  g_assert_cmpint (prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), ==, 0);
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autofree char *killed = g_strdup_printf ("/slots/%s/killed-host", ways[i].name);

      for (guint j = 0; j < G_N_ELEMENTS (tests); j++)
        {
          g_autofree char *path = g_strdup_printf ("/slots/%s/%s", ways[i].name, tests[j].name);

          if (!tests[j].needs_root || geteuid () == 0)
            g_test_add (path, TestSandbox, &ways[i], slots_set_up, tests[j].run, test_sandbox_tear_down);
        }
      g_test_add_data_func (killed, &ways[i], test_killed_host);
    }

  return g_test_run ();
}
