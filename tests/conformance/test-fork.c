/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A host that forks and goes on in the child, as multiprocessing in Python and daemons do: test-fork DRIVER. What the
 * parent has goes on as if there were no child, whatever that does with its copies; the child is refused at once, never
 * left waiting, and can have sessions of its own.
 *
 * A child that hangs is ended by its alarm, which fails the test.
 */
#include "../common/test-sandbox.h"
#include "memory-driver.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

/* Above what a new sandbox takes on a busy machine, and what an answer does that needs nothing. */
#define CHILD_LIMIT_S 60
#define AT_ONCE_US (2 * G_USEC_PER_SEC)
#define N_FORKS 150
#define N_RUNNERS 3
#define NO_KEY "0000000000000000000000000000000000000000000000000000000000000000"

static const char *driver;

/* That this program was started with */
static guint n_sockets;
static guint n_pipes;

typedef struct
{
  char            *workspace; /* NULL for a driver that has none */
  SandboxRegistry *registry;
  SandboxBackend  *backend;
  SandboxHandle   *handle;
  SandboxSession  *session;

  /* What a test shows its child */
  SandboxProcess *process;
  GInputStream   *reading;
  GOutputStream  *writing;
  const char     *marker;
  guint           n_children;
  SandboxState   *state;
  const char     *state_directory;
} Fixture;

static gboolean
is_real (void)
{
  return g_str_equal (driver, "bubblewrap");
}

static SandboxBackend *
new_backend (SandboxRegistry *registry)
{
  MemoryBackend *backend = NULL;

  if (is_real ())
    return test_new_backend (registry);

  backend = memory_backend_new ();
  memory_backend_set_pushes (backend, g_str_equal (driver, "memory-push"));

  return SANDBOX_BACKEND (backend);
}

static SandboxHandle *
new_handle (SandboxBackend *backend,
            const char     *workspace)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;
  SandboxHandle *handle = NULL;

  if (is_real ())
    sandbox_create_options_set_workspace_path (options, workspace);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);

  return handle;
}

/* Toys of memory-driver.h, and what is the same in a sandbox. The marker of a test comes last. */
static SandboxCommand *
new_sleep (void)
{
  return is_real () ? test_command_new ("sleep", "1000", NULL) : memory_command ("sleep", "1000000", NULL);
}

static SandboxCommand *
new_exit (void)
{
  return is_real () ? test_command_new ("sh", "-c", "exit 7", NULL) : memory_command ("exit", "7", NULL);
}

static void
set_up (Fixture      *self,
        gconstpointer unused)
{
  if (is_real ())
    self->workspace = test_make_workspace ();
  self->registry = sandbox_registry_new ();
  self->backend = new_backend (self->registry);
  self->handle = new_handle (self->backend, self->workspace);
  self->session = sandbox_handle_get_session (self->handle);
}

static void
tear_down (Fixture      *self,
           gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  if (self->handle != NULL)
    sandbox_handle_stop (self->handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&self->process);
  g_clear_object (&self->handle);
  g_clear_object (&self->backend);
  g_clear_object (&self->registry);
  if (self->workspace != NULL)
    test_remove_tree (self->workspace);
  g_clear_pointer (&self->workspace, g_free);
}

static SandboxProcess *
spawn (Fixture        *self,
       SandboxCommand *taken)
{
  g_autoptr (SandboxCommand) command = taken;
  g_autoptr (GError) error = NULL;
  SandboxProcess *process = sandbox_session_spawn (self->session, command, NULL, &error);

  g_assert_no_error (error);

  return process;
}

static guint
count_processes (Fixture *self)
{
  g_autoptr (GListModel) processes = sandbox_session_list_processes (self->session);

  return g_list_model_get_n_items (processes);
}

/* What runs ends when the test is done with it, not by the clock. */
static void
terminate_processes (Fixture *self)
{
  g_autoptr (GListModel) processes = sandbox_session_list_processes (self->session);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < g_list_model_get_n_items (processes); i++)
    {
      g_autoptr (SandboxProcess) process = g_list_model_get_item (processes, i);

      sandbox_process_send_signal (process, SIGTERM, &error);
      g_assert_no_error (error);
    }
}

static void
assert_runs (SandboxSession *session)
{
  const char *const argv[] = { "echo", "here", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  result = sandbox_session_run (session, command, NULL, &error);
  g_assert_no_error (error);
  test_assert_exited (result, 0);
  test_assert_output (result, "here\n");
}

/* ---- A child ---- */

typedef void (*ChildFunc) (Fixture *self);

/* With its handlers of exit, unless somebody looks then for memory that nobody has any more: threads that are not there
 * had some. */
static void G_GNUC_NORETURN
end_child (void)
{
  if (g_getenv ("SANDBOX_TEST_VALGRIND") != NULL)
    execlp ("true", "true", NULL);
  if (TEST_IS_SANITIZED)
    _exit (0);
  exit (0);
}

/* What is forked while another thread has a lock of GLib's keeps that lock for ever: nobody but the host can see to it
 * that its threads have none. The library does so for its worker; but a toy is a thread of the host's, and so is who
 * calls. So these have come to where they wait. Flushes what would be printed twice, too. */
static pid_t
fork_quietly (void)
{
  pid_t pid;

  if (!is_real ())
    test_wait_for_threads ();
  fflush (NULL);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);

  return pid;
}

static pid_t
fork_child (Fixture  *self,
            ChildFunc func)
{
  pid_t pid = fork_quietly ();

  if (pid > 0)
    return pid;

  alarm (CHILD_LIMIT_S);
  func (self);
  end_child ();
}

static void
assert_child (pid_t pid)
{
  int status = -1;

  while (waitpid (pid, &status, 0) < 0)
    g_assert_cmpint (errno, ==, EINTR);
  if (!WIFEXITED (status) || WEXITSTATUS (status) != 0)
    g_error ("The child ended with %s %d", WIFSIGNALED (status) ? "signal" : "status",
             WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status));
}

/* One that is there until it is told to go */
typedef struct
{
  pid_t pid;
  int   go;
} Lingerer;

static Lingerer
fork_lingerer (Fixture  *self,
               ChildFunc func)
{
  int      fds[2];
  Lingerer lingerer;
  char     byte;

  g_assert_cmpint (pipe2 (fds, O_CLOEXEC), ==, 0);
  lingerer.pid = fork_quietly ();
  lingerer.go = fds[1];
  if (lingerer.pid == 0)
    {
      close (fds[1]);
      alarm (CHILD_LIMIT_S);
      if (func != NULL)
        func (self);
      while (read (fds[0], &byte, 1) < 0 && errno == EINTR)
        ;
      end_child ();
    }
  close (fds[0]);

  return lingerer;
}

static void
assert_lingerer (Lingerer lingerer)
{
  g_assert_cmpint (kill (lingerer.pid, 0), ==, 0);
  close (lingerer.go);
  assert_child (lingerer.pid);
}

/* A file that an inherited descriptor of this process keeps open */
static guint
count_descriptors_of (const char *kind)
{
  g_autoptr (GDir) descriptors = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name = NULL;
  guint       count = 0;

  g_assert_nonnull (descriptors);
  while ((name = g_dir_read_name (descriptors)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/proc/self/fd", name, NULL);
      g_autofree char *target = g_file_read_link (path, NULL);

      if (target != NULL && g_str_has_prefix (target, kind))
        count++;
    }

  return count;
}

/* ---- Refused in the child ---- */

#define assert_stopped(expression, error)                                    \
 G_STMT_START                                                                \
 {                                                                           \
  const gint64 stopped_before = g_get_monotonic_time ();                     \
  gboolean     stopped_done = (expression) != 0;                             \
                                                                             \
  g_assert_false (stopped_done);                                             \
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);              \
  g_assert_nonnull (strstr ((error)->message, "forked"));                    \
  g_assert_cmpint (g_get_monotonic_time () - stopped_before, <, AT_ONCE_US); \
  g_clear_error (&(error));                                                  \
 }                                                                           \
 G_STMT_END

/* In both forms; the asynchronous one in a context of the child's own. */
#define assert_call_stopped(function, object, ...)                                   \
 G_STMT_START                                                                        \
 {                                                                                   \
  g_autoptr (GError) call_error = NULL;                                              \
  g_autoptr (GAsyncResult) call_result = NULL;                                       \
                                                                                     \
  assert_stopped (function (object, __VA_ARGS__, &call_error), call_error);          \
  function##_async (object, __VA_ARGS__, test_result_cb, &call_result);              \
  test_wait (call_result != NULL);                                                   \
  assert_stopped (function##_finish (object, call_result, &call_error), call_error); \
 }                                                                                   \
 G_STMT_END

static void
be_refused (Fixture *self)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (SandboxCommand) command = new_exit ();
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  g_autoptr (GFile) folder = g_file_new_for_path (g_get_tmp_dir ());
  g_autoptr (GListModel) processes = NULL;
  g_autoptr (GError) error = NULL;
  SandboxSession *session = self->session;
  SandboxProcess *process = self->process;
  char            buffer[8];

  g_main_context_push_thread_default (context);

  assert_call_stopped (sandbox_session_read_bytes, session, "f", NULL);
  assert_call_stopped (sandbox_session_read_text, session, "f", NULL);
  assert_call_stopped (sandbox_session_write_bytes, session, "f", bytes, NULL);
  assert_call_stopped (sandbox_session_write_text, session, "f", "x", NULL);
  assert_call_stopped (sandbox_session_remove_path, session, "f", NULL);
  assert_call_stopped (sandbox_session_list_directory, session, ".", NULL);
  assert_call_stopped (sandbox_session_query_info, session, "f", NULL);
  assert_call_stopped (sandbox_session_make_directory, session, "d", NULL);
  assert_call_stopped (sandbox_session_move, session, "f", "g", NULL);
  assert_call_stopped (sandbox_session_open_read, session, "f", NULL);
  assert_call_stopped (sandbox_session_open_write, session, "f", NULL);
  assert_call_stopped (sandbox_session_import_directory, session, folder, "d", NULL);
  assert_call_stopped (sandbox_session_export_directory, session, "d", folder, NULL);
  assert_call_stopped (sandbox_session_spawn, session, command, NULL);
  assert_call_stopped (sandbox_session_run, session, command, NULL);
  assert_call_stopped (sandbox_session_set_network_policy, session, policy, NULL);
  processes = sandbox_session_list_processes (session);
  g_assert_cmpuint (g_list_model_get_n_items (processes), ==, 0);

  assert_call_stopped (sandbox_process_wait, process, NULL);
  assert_call_stopped (sandbox_process_communicate, process, NULL, NULL);
  assert_call_stopped (sandbox_process_stop, process, NULL);
  assert_stopped (sandbox_process_kill (process, &error), error);
  assert_stopped (sandbox_process_send_signal (process, SIGKILL, &error), error);
  assert_stopped (sandbox_process_resize (process, 10, 10, &error), error);
  g_assert_null (sandbox_process_get_result (process));
  g_assert_cmpint (g_input_stream_read (sandbox_process_get_stdout (process), buffer, sizeof buffer, NULL, &error), ==, -1);
  g_assert_nonnull (error);
  g_clear_error (&error);

  assert_call_stopped (sandbox_handle_stop, self->handle, NULL);
  assert_call_stopped (sandbox_handle_shutdown, self->handle, NULL);
  assert_call_stopped (sandbox_handle_delete, self->handle, NULL);
  assert_stopped (sandbox_handle_capture_state (self->handle, &error), error);
  g_assert_cmpint (sandbox_handle_get_phase (self->handle), ==, SANDBOX_PHASE_STOPPED);

  assert_call_stopped (sandbox_backend_probe, self->backend, NULL, NULL);
  assert_call_stopped (sandbox_backend_create, self->backend, options, NULL);
  assert_call_stopped (sandbox_backend_prewarm, self->backend, "t", NULL, NULL);
  assert_call_stopped (sandbox_backend_list_templates, self->backend, NULL);
  assert_call_stopped (sandbox_backend_list_sessions, self->backend, NULL);
  assert_call_stopped (sandbox_backend_delete_template, self->backend, NO_KEY, NULL);
  assert_stopped (sandbox_backend_plan (self->backend, command, options, &error), error);
  assert_stopped (sandbox_registry_create_backend (self->registry, "stub", NULL, &error), error);
  assert_stopped (sandbox_registry_add_type (self->registry, "mine", 0, MEMORY_TYPE_BACKEND, &error), error);
  assert_call_stopped (sandbox_registry_find_backend, self->registry, SANDBOX_RESTRICTIONS_NONE, NULL, NULL);

  g_main_context_pop_thread_default (context);
}

static void
test_calls_refused (Fixture      *self,
                    gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 96: in a forked child every call of what the parent has is refused at once, and the parent goes on");

  self->process = spawn (self, new_sleep ());
  assert_child (fork_child (self, be_refused));

  g_assert_null (sandbox_process_get_result (self->process));
  assert_runs (self->session);
  sandbox_process_kill (self->process, &error);
  g_assert_no_error (error);
  sandbox_process_wait (self->process, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_signal (sandbox_process_get_result (self->process)), ==, SIGKILL);
}

/* ---- Dropped in the child ---- */

static void
drop_everything (Fixture *self)
{
  g_clear_object (&self->process);
  g_clear_object (&self->reading);
  g_clear_object (&self->writing);
  g_clear_object (&self->handle);
  g_clear_object (&self->backend);
  g_clear_object (&self->registry);
}

static void
test_dropped (Fixture      *self,
              gconstpointer unused)
{
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GBytes) fed = g_bytes_new_static ("fed", 3);
  g_autoptr (GError) error = NULL;
  const char *const argv[] = { "cat", NULL };
  const gboolean    has_input = !g_str_equal (driver, "memory-push");

  g_test_summary ("Case 96: a child that lets go of its copies, and exits with its handlers, ends nothing of the parent's");

  self->process = spawn (self, has_input ? sandbox_command_new (argv) : new_sleep ());
  for (guint i = 0; i < 5; i++)
    assert_child (fork_child (self, drop_everything));

  g_assert_null (sandbox_process_get_result (self->process));
  if (!has_input)
    terminate_processes (self);
  result = sandbox_process_communicate (self->process, has_input ? fed : NULL, NULL, &error);
  g_assert_no_error (error);
  if (has_input)
    test_assert_exited (result, 0);
  else
    test_assert_signaled (result, SIGTERM);
  test_assert_output (result, has_input ? "fed" : "");
  assert_runs (self->session);
}

/* Another end than success, of a command that runs while there are children. */
static void
test_true_end (Fixture      *self,
               gconstpointer unused)
{
  g_autoptr (GAsyncResult) answer = NULL;
  g_autoptr (SandboxCommand) command = new_sleep ();
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  Lingerer lingerer;

  g_test_summary ("Case 96: a command ends in the parent as it does, while a child lives");

  sandbox_session_run_async (self->session, command, NULL, test_result_cb, &answer);
  test_wait (count_processes (self) == 1);
  lingerer = fork_lingerer (self, drop_everything);
  terminate_processes (self);
  test_wait (answer != NULL);
  result = sandbox_session_run_finish (self->session, answer, &error);
  g_assert_no_error (error);
  test_assert_signaled (result, SIGTERM);
  assert_lingerer (lingerer);
}

static void
test_dropped_streams (Fixture      *self,
                      gconstpointer unused)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  char             buffer[3];

  g_test_summary ("Case 96: a file that is half written or half read in the parent is left alone by a child that drops the stream");

  sandbox_session_write_text (self->session, "in", "abcdef", NULL, &error);
  g_assert_no_error (error);
  self->reading = sandbox_session_open_read (self->session, "in", NULL, &error);
  g_assert_no_error (error);
  self->writing = sandbox_session_open_write (self->session, "out", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (g_input_stream_read (self->reading, buffer, 3, NULL, &error), ==, 3);
  g_assert_cmpint (g_output_stream_write (self->writing, "one", 3, NULL, &error), ==, 3);

  assert_child (fork_child (self, drop_everything));

  g_assert_cmpint (g_input_stream_read (self->reading, buffer, 3, NULL, &error), ==, 3);
  g_assert_cmpmem (buffer, 3, "def", 3);
  g_assert_cmpint (g_output_stream_write (self->writing, "two", 3, NULL, &error), ==, 3);
  g_output_stream_close (self->writing, NULL, &error);
  g_assert_no_error (error);
  text = sandbox_session_read_text (self->session, "out", NULL, &error);
  g_assert_cmpstr (text, ==, "onetwo");
  g_clear_object (&self->reading);
  g_clear_object (&self->writing);
}

static void
use_streams (Fixture *self)
{
  g_autoptr (GError) error = NULL;
  char buffer[3];

  assert_stopped (g_input_stream_read (self->reading, buffer, 3, NULL, &error) + 1, error);
  assert_stopped (g_input_stream_skip (self->reading, 3, NULL, &error) + 1, error);
  assert_stopped (g_seekable_seek (G_SEEKABLE (self->reading), 0, G_SEEK_SET, NULL, &error), error);
  assert_stopped (g_output_stream_write (self->writing, "no!", 3, NULL, &error) + 1, error);
  assert_stopped (g_output_stream_close (self->writing, NULL, &error), error);
}

static void
test_used_streams (Fixture      *self,
                   gconstpointer unused)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  char             buffer[3];

  g_test_summary ("Case 96: a child neither moves where the parent reads, nor writes into what it writes");

  sandbox_session_write_text (self->session, "in", "abcdef", NULL, &error);
  g_assert_no_error (error);
  self->reading = sandbox_session_open_read (self->session, "in", NULL, &error);
  g_assert_no_error (error);
  self->writing = sandbox_session_open_write (self->session, "out", NULL, &error);
  g_assert_no_error (error);

  assert_child (fork_child (self, use_streams));

  g_assert_cmpint (g_input_stream_read (self->reading, buffer, 3, NULL, &error), ==, 3);
  g_assert_cmpmem (buffer, 3, "abc", 3);
  g_assert_cmpint (g_output_stream_write (self->writing, "yes", 3, NULL, &error), ==, 3);
  g_output_stream_close (self->writing, NULL, &error);
  g_assert_no_error (error);
  text = sandbox_session_read_text (self->session, "out", NULL, &error);
  g_assert_cmpstr (text, ==, "yes");
  g_clear_object (&self->reading);
  g_clear_object (&self->writing);
}

/* ---- A child that lives on ---- */

/* The child has none of what keeps a sandbox alive or a number claimed. */
static void
look_at_descriptors (Fixture *self)
{
  g_assert_cmpuint (count_descriptors_of ("socket:"), ==, n_sockets);
  g_assert_cmpuint (count_descriptors_of ("anon_inode:[pidfd]"), ==, 0);
  /* but that on which it is told to go */
  g_assert_cmpuint (count_descriptors_of ("pipe:"), ==, n_pipes + 1);
  g_assert_cmpuint (test_count_claims (), ==, 0);
}

static void
test_input_ends (Fixture      *self,
                 gconstpointer unused)
{
  const char *const argv[] = { "cat", NULL };
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  GOutputStream *input = NULL;
  Lingerer       lingerer;

  g_test_summary ("Case 96: a command sees the end of its input while a child of the host lives that never closed it");

  self->process = spawn (self, sandbox_command_new (argv));
  input = sandbox_process_get_stdin (self->process);
  g_output_stream_write_all (input, "abc", 3, NULL, NULL, &error);
  g_assert_no_error (error);
  lingerer = fork_lingerer (self, NULL);
  g_output_stream_close (input, NULL, &error);
  g_assert_no_error (error);
  result = sandbox_process_communicate (self->process, NULL, NULL, &error);
  g_assert_no_error (error);
  test_assert_exited (result, 0);
  test_assert_output (result, "abc");
  assert_lingerer (lingerer);
}

static void
test_output_ends (Fixture      *self,
                  gconstpointer unused)
{
  g_autoptr (GError) error = NULL;
  Lingerer lingerer;

  g_test_summary ("Case 96: a command is told that nobody reads its output any more, while a child of the host lives");

  self->process = spawn (self, test_command_new ("sh", "-c", "exec yes", NULL));
  lingerer = fork_lingerer (self, look_at_descriptors);
  g_input_stream_close (sandbox_process_get_stdout (self->process), NULL, &error);
  g_assert_no_error (error);
  sandbox_process_wait (self->process, NULL, &error);
  g_assert_no_error (error);
  test_assert_signaled (sandbox_process_get_result (self->process), SIGPIPE);
  assert_lingerer (lingerer);
}

static void
test_lives_on (Fixture      *self,
               gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (GError) error = NULL;
  Lingerer lingerer;

  g_test_summary ("Case 96: the parent stops its session, and nothing of it is left, while a child lives; a new one is as good");

  self->process = spawn (self, test_command_new ("./guest", "family", marker, NULL));
  lingerer = fork_lingerer (self, look_at_descriptors);
  sandbox_handle_stop (self->handle, NULL, &error);
  g_assert_no_error (error);
  test_marker_assert_gone (marker);
  g_clear_object (&self->process);
  g_clear_object (&self->handle);

  self->handle = new_handle (self->backend, self->workspace);
  self->session = sandbox_handle_get_session (self->handle);
  assert_runs (self->session);
  assert_lingerer (lingerer);
}

/* A host that dies while its child lives: what it had started goes with it. The host is a child of this program, and
 * the child its own. */
static void
die_before_child (Fixture *self)
{
  g_autoptr (SandboxProcess) process = NULL;
  Fixture mine = { .workspace = self->workspace };

  mine.registry = sandbox_registry_new ();
  mine.backend = new_backend (mine.registry);
  mine.handle = new_handle (mine.backend, mine.workspace);
  mine.session = sandbox_handle_get_session (mine.handle);
  process = spawn (&mine, test_command_new ("./guest", "family", self->marker, NULL));
  test_marker_wait (self->marker, 1);
  if (fork () == 0)
    for (;;)
      pause ();
  kill (getpid (), SIGKILL);
}

static void
test_parent_dies (Fixture      *self,
                  gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (GArray) pids = NULL;
  g_autoptr (GError) error = NULL;
  gint64 end = 0;
  pid_t  host;
  pid_t  child = 0;
  int    status = 0;

  g_test_summary ("Case 96: a sandbox ends with its host, also when a child of the host lives on");

  /* Its sandbox would be a child here too. */
  g_assert_true (sandbox_handle_stop (self->handle, NULL, &error));
  g_assert_cmpint (prctl (PR_SET_CHILD_SUBREAPER, 1), ==, 0);
  self->marker = marker;
  host = fork_child (self, die_before_child);
  g_assert_cmpint (waitpid (host, &status, 0), ==, host);
  g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);

  test_marker_assert_gone (marker);
  end = g_get_monotonic_time () + TEST_GONE_US;
  /* The one orphan that still lives is the child. */
  while (test_count_children () > 1)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      if (waitpid (-1, &status, WNOHANG | __WALL) <= 0)
        g_usleep (5000);
    }
  pids = test_list_processes ();
  for (guint i = 0; i < pids->len; i++)
    if (test_read_status (g_array_index (pids, pid_t, i), "PPid", 10) == getpid ())
      child = g_array_index (pids, pid_t, i);
  g_assert_cmpint (child, >, 0);
  g_assert_cmpint (kill (child, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFSIGNALED (status));
  g_assert_cmpint (prctl (PR_SET_CHILD_SUBREAPER, 0), ==, 0);
}

/* ---- Sessions of the child's own ---- */

static void
own_session (Fixture *self)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (SandboxCommand) command = new_exit ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GAsyncResult) answer = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  Fixture          mine = { .workspace = self->workspace };

  /* Not the default context, whose wakeups are the parent's too. */
  g_main_context_push_thread_default (context);
  mine.registry = sandbox_registry_get_default ();
  g_assert_true (sandbox_registry_get_default () == mine.registry);
  mine.backend = new_backend (mine.registry);
  mine.handle = new_handle (mine.backend, mine.workspace);
  mine.session = sandbox_handle_get_session (mine.handle);
  assert_runs (mine.session);
  sandbox_session_write_text (mine.session, "mine", "x", NULL, &error);
  g_assert_no_error (error);
  sandbox_session_remove_path (mine.session, "mine", NULL, &error);
  g_assert_no_error (error);
  sandbox_handle_stop (mine.handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&mine.handle);

  /* And in the other form, with a driver in threads where there is one */
  if (is_real ())
    sandbox_create_options_set_workspace_path (options, mine.workspace);
  sandbox_backend_create_async (mine.backend, options, NULL, test_result_cb, &answer);
  test_wait (answer != NULL);
  mine.handle = sandbox_backend_create_finish (mine.backend, answer, &error);
  g_assert_no_error (error);
  mine.session = sandbox_handle_get_session (mine.handle);
  g_clear_object (&answer);
  sandbox_session_run_async (mine.session, command, NULL, test_result_cb, &answer);
  test_wait (answer != NULL);
  result = sandbox_session_run_finish (mine.session, answer, &error);
  g_assert_no_error (error);
  test_assert_exited (result, 7);
  g_clear_object (&answer);
  sandbox_session_write_text_async (mine.session, "mine", "x", NULL, test_result_cb, &answer);
  test_wait (answer != NULL);
  g_assert_true (sandbox_session_write_text_finish (mine.session, answer, &error));
  g_clear_object (&answer);
  sandbox_session_remove_path_async (mine.session, "mine", NULL, test_result_cb, &answer);
  test_wait (answer != NULL);
  g_assert_true (sandbox_session_remove_path_finish (mine.session, answer, &error));
  g_clear_object (&answer);
  sandbox_handle_shutdown_async (mine.handle, NULL, test_result_cb, &answer);
  test_wait (answer != NULL);
  g_assert_true (sandbox_handle_shutdown_finish (mine.handle, answer, &error));

  g_clear_object (&mine.handle);
  g_clear_object (&mine.backend);
  g_main_context_pop_thread_default (context);
}

static void
own_session_twice (Fixture *self)
{
  own_session (self);
  /* What is the child's own now is the parent of the next. */
  assert_child (fork_child (self, own_session));
  own_session (self);
}

static void
nothing_cb (GTask        *task,
            gpointer      object,
            gpointer      data,
            GCancellable *cancellable)
{
  g_task_return_boolean (task, TRUE);
}

/* Leaves idle threads behind: those of the library's pool, and of GLib's, which a child would wait for in vain. */
static void
warm_up (Fixture *self)
{
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 6; i++)
    {
      g_autoptr (GAsyncResult) written = NULL;
      g_autoptr (GAsyncResult) ran = NULL;
      g_autoptr (GTask) task = g_task_new (NULL, NULL, test_result_cb, &ran);

      sandbox_session_write_text_async (self->session, "warm", "x", NULL, test_result_cb, &written);
      g_task_run_in_thread (task, nothing_cb);
      test_wait (written != NULL && ran != NULL);
      g_assert_true (sandbox_session_write_text_finish (self->session, written, &error));
      g_assert_no_error (error);
    }
}

static void
test_own_session (Fixture      *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  pid_t children[3];

  g_test_summary ("Case 96: a child makes sessions of its own, in both forms, and so does its child");

  g_assert_nonnull (sandbox_registry_get_default ());
  warm_up (self);
  self->process = spawn (self, new_sleep ());
  assert_child (fork_child (self, own_session_twice));
  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    children[i] = fork_child (self, own_session);
  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    assert_child (children[i]);

  g_assert_null (sandbox_process_get_result (self->process));
  terminate_processes (self);
  result = sandbox_process_communicate (self->process, NULL, NULL, &error);
  g_assert_no_error (error);
  test_assert_signaled (result, SIGTERM);
  assert_runs (self->session);
}

/* ---- Sessions that are kept ---- */

static SandboxHandle *
attach (SandboxBackend *backend,
        SandboxState   *state,
        GError        **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  sandbox_create_options_set_state (options, state);

  return sandbox_backend_create (backend, options, NULL, error);
}

/* Puts a session that the library keeps in the place of the fixture's. */
static void
keep_session (Fixture    *self,
              const char *state_directory)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  sandbox_handle_stop (self->handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&self->handle);
  g_clear_object (&self->backend);
  self->backend = sandbox_registry_create_backend (self->registry, "bubblewrap", state_directory, &error);
  g_assert_no_error (error);
  self->handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  self->session = sandbox_handle_get_session (self->handle);
  sandbox_session_write_text (self->session, "f", "kept", NULL, &error);
  g_assert_no_error (error);
}

static void
assert_kept (SandboxSession *session)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = sandbox_session_read_text (session, "f", NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (text, ==, "kept");
  assert_runs (session);
}

/* Refused as any other process while the parent has the session. */
static void
attach_in_vain (Fixture *self)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  backend = sandbox_registry_create_backend (registry, "bubblewrap", self->state_directory, &error);
  g_assert_no_error (error);
  handle = attach (backend, self->state, &error);
  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  sandbox_backend_delete_session (backend, self->state, NULL, &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
}

static void
test_kept (Fixture      *self,
           gconstpointer unused)
{
  g_autofree char *directory = g_dir_make_tmp ("sandbox-state-XXXXXX", NULL);
  g_autoptr (SandboxBackend) other = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  Lingerer lingerer;

  g_test_summary ("Case 96: a session on disk stays the parent's, with its lease and its files, whatever a child does; and the child holds up no next owner");

  keep_session (self, directory);
  self->state_directory = directory;
  self->state = sandbox_handle_capture_state (self->handle, &error);
  g_assert_no_error (error);
  self->process = spawn (self, new_sleep ());

  assert_child (fork_child (self, be_refused));
  assert_child (fork_child (self, drop_everything));
  assert_child (fork_child (self, attach_in_vain));
  assert_kept (self->session);

  /* The child was there while a sandbox was, and still is when the next owner comes. */
  lingerer = fork_lingerer (self, drop_everything);
  sandbox_handle_stop (self->handle, NULL, &error);
  g_assert_no_error (error);
  other = sandbox_registry_create_backend (self->registry, "bubblewrap", directory, &error);
  g_assert_no_error (error);
  handle = attach (other, self->state, &error);
  g_assert_no_error (error);
  assert_kept (sandbox_handle_get_session (handle));
  sandbox_handle_delete (handle, NULL, &error);
  g_assert_no_error (error);
  assert_lingerer (lingerer);

  g_clear_object (&handle);
  g_clear_object (&other);
  g_clear_object (&self->process);
  g_clear_object (&self->state);
  g_clear_object (&self->handle);
  g_clear_object (&self->backend);
  test_remove_tree (directory);
}

/* The folder of sessions that the library has open */
static char *
find_sessions (void)
{
  g_autoptr (GDir) descriptors = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name = NULL;

  g_assert_nonnull (descriptors);
  while ((name = g_dir_read_name (descriptors)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/proc/self/fd", name, NULL);
      g_autofree char *target = g_file_read_link (path, NULL);

      if (target != NULL && g_str_has_suffix (target, "/bubblewrap/sessions"))
        return g_steal_pointer (&target);
    }
  g_assert_not_reached ();
}

static void
test_private_state (Fixture      *self,
                    gconstpointer unused)
{
  g_autofree char *sessions = NULL;
  g_autoptr (GError) error = NULL;
  Lingerer lingerer;

  g_test_summary ("Case 96: a private state directory is removed by the process that made it, and not by its child");

  keep_session (self, NULL);
  sessions = find_sessions ();
  assert_child (fork_child (self, drop_everything));
  assert_kept (self->session);
  lingerer = fork_lingerer (self, drop_everything);
  assert_kept (self->session);
  sandbox_handle_stop (self->handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&self->handle);
  g_clear_object (&self->backend);
  test_wait (!g_file_test (sessions, G_FILE_TEST_EXISTS));
  assert_lingerer (lingerer);
}

/* ---- At any moment ---- */

static void
be_refused_once (Fixture *self)
{
  const char *const argv[] = { "echo", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 3; i++)
    assert_stopped (sandbox_session_run (self->session, command, NULL, &error), error);
  drop_everything (self);
}

/* What keeps the worker busy: commands that are started again when they end */
typedef struct
{
  Fixture *fixture;
  gboolean stop;
  guint    n_alive;
  guint    n_ended;
} Runner;

static void runner_start (Runner *self);

static void
runner_ended_cb (GObject      *object,
                 GAsyncResult *answer,
                 gpointer      user_data)
{
  Runner *self = user_data;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  result = sandbox_session_run_finish (SANDBOX_SESSION (object), answer, &error);
  g_assert_no_error (error);
  test_assert_exited (result, 0);
  test_assert_output (result, "here\n");
  self->n_alive--;
  self->n_ended++;
  if (!self->stop)
    runner_start (self);
}

static void
runner_start (Runner *self)
{
  const char *const argv[] = { "echo", "here", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);

  self->n_alive++;
  sandbox_session_run_async (self->fixture->session, command, NULL, runner_ended_cb, self);
}

static void
test_any_moment (Fixture      *self,
                 gconstpointer unused)
{
  Runner runner = { .fixture = self };
  pid_t  children[4] = { 0 };

  g_test_summary ("Case 96: forks at any moment of commands that start, run and end");

  for (guint i = 0; i < N_RUNNERS; i++)
    runner_start (&runner);
  for (guint i = 0; i < N_FORKS; i++)
    {
      pid_t *child = &children[i % G_N_ELEMENTS (children)];

      if (*child > 0)
        assert_child (*child);
      *child = fork_child (self, be_refused_once);
      g_usleep (g_random_int_range (0, 3000));
      g_main_context_iteration (NULL, FALSE);
    }
  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    assert_child (children[i]);
  runner.stop = TRUE;
  test_wait (runner.n_alive == 0);
  g_test_message ("%u commands around %d forks", runner.n_ended, N_FORKS);
  g_assert_cmpuint (runner.n_ended, >, N_RUNNERS);
}

static gpointer
caller_thread (gpointer user_data)
{
  Fixture *self = user_data;
  g_autoptr (SandboxCommand) command = new_sleep ();
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  result = sandbox_session_run (self->session, command, NULL, &error);
  g_assert_no_error (error);
  test_assert_signaled (result, SIGTERM);

  return NULL;
}

static void
test_other_threads (Fixture      *self,
                    gconstpointer unused)
{
  GThread *threads[N_RUNNERS];

  g_test_summary ("Case 96: other threads of the parent, which wait in synchronous calls, are answered");

  for (guint i = 0; i < N_RUNNERS; i++)
    threads[i] = g_thread_new ("caller", caller_thread, self);
  test_wait (count_processes (self) == N_RUNNERS);
  test_wait_for_threads ();
  for (guint i = 0; i < 20; i++)
    assert_child (fork_child (self, be_refused_once));
  g_assert_cmpuint (count_processes (self), ==, N_RUNNERS);
  terminate_processes (self);
  for (guint i = 0; i < N_RUNNERS; i++)
    g_thread_join (threads[i]);
  assert_runs (self->session);
}

/* ---- A fork below a call ---- */

static void
fork_in_handler_cb (SandboxSession *session,
                    const char     *path,
                    guint64         bytes,
                    guint64         files,
                    guint64         skipped,
                    gpointer        user_data)
{
  Fixture *self = user_data;

  self->n_children++;
  assert_child (fork_child (self, be_refused_once));
}

static void
test_in_handler (Fixture      *self,
                 gconstpointer unused)
{
  g_autofree char *path = g_dir_make_tmp ("sandbox-fork-XXXXXX", NULL);
  g_autofree char *name = g_build_filename (path, "f", NULL);
  g_autoptr (GFile) folder = g_file_new_for_path (path);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 96: a fork in a handler, below a synchronous call, which then ends as it should");

  g_file_set_contents (name, "x", 1, &error);
  g_assert_no_error (error);
  g_signal_connect (self->session, "transfer-progress", G_CALLBACK (fork_in_handler_cb), self);
  sandbox_session_import_directory (self->session, folder, "d", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (self->n_children, >, 0);
  g_signal_handlers_disconnect_by_data (self->session, self);
  assert_runs (self->session);
  test_remove_tree (path);
}

static void
add (const char *name,
     void (*test) (Fixture *, gconstpointer))
{
  g_autofree char *path = g_strdup_printf ("/fork/%s/%s", driver, name);

  g_test_add (path, Fixture, NULL, set_up, test, tear_down);
}

int
main (int    argc,
      char **argv)
{
  n_sockets = count_descriptors_of ("socket:");
  n_pipes = count_descriptors_of ("pipe:");
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  if (argc != 2)
    {
      g_printerr ("Usage: %s memory|memory-push|bubblewrap\n", argv[0]);
      return 2;
    }
  driver = argv[1];

  add ("refused", test_calls_refused);
  add ("dropped", test_dropped);
  add ("true-end", test_true_end);
  add ("own-session", test_own_session);
  add ("other-threads", test_other_threads);
  if (!is_real ())
    return g_test_run ();

  /* The memory driver has threads that work; a child can find locks of GLib's taken by them. */
  add ("any-moment", test_any_moment);
  add ("dropped-streams", test_dropped_streams);
  add ("used-streams", test_used_streams);
  add ("input-ends", test_input_ends);
  add ("output-ends", test_output_ends);
  add ("lives-on", test_lives_on);
  add ("parent-dies", test_parent_dies);
  add ("in-handler", test_in_handler);
  add ("kept", test_kept);
  add ("private-state", test_private_state);

  return g_test_run ();
}
