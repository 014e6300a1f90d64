/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a host program passes on to its commands, knowingly or not, and what of the host program the library changes.
 *
 * Where the state of a whole program counts, a test runs this program once more, as the host it needs.
 */
#include "../common/test-sandbox.h"

#include <glib-unix.h>
#include <locale.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define N_DESCRIPTOR_RUNS 60
#define N_OPENERS 4
#define N_RUNS 200
#define MEGABYTE (1024 * 1024)

/* ---- Descriptors ---- */

typedef struct
{
  const char *directory;
  gint        stop;
} Opener;

/* A program of the usual kind: nothing that it opens is close-on-exec. */
static gpointer
opener_thread (gpointer user_data)
{
  Opener          *opener = user_data;
  g_autofree char *file = g_build_filename (opener->directory, "guest", NULL);

  while (!g_atomic_int_get (&opener->stop))
    {
      int fds[5];

      fds[0] = open (file, O_RDONLY);
      fds[1] = open (opener->directory, O_RDONLY | O_DIRECTORY);
      fds[2] = socket (AF_UNIX, SOCK_STREAM, 0);
      g_assert_cmpint (pipe (fds + 3), ==, 0);
      g_usleep (500);
      for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
        {
          g_assert_cmpint (fds[i], >=, 0);
          close (fds[i]);
        }
    }

  return NULL;
}

/* The lines of "guest fds": 0 is /dev/null, 1 and 2 are pipes, and that is all. */
static void
assert_three_descriptors (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  if (g_strv_length (lines) != 4 || !g_str_has_prefix (lines[0], "0 ") ||
      !g_str_has_prefix (lines[1], "1 pipe:[") || !g_str_has_prefix (lines[2], "2 pipe:[") || lines[3][0] != '\0')
    g_error ("Not three descriptors: %s", text);
}

static void
test_descriptors (TestSandbox  *self,
                  gconstpointer unused)
{
  GThread *threads[N_OPENERS];
  Opener   opener = { self->workspace, FALSE };
  int      kept = open (self->workspace, O_RDONLY | O_DIRECTORY);
  int      last = fcntl (kept, F_DUPFD, 900);

  g_test_summary ("Cases 26, 27: a command has 0, 1 and 2, whatever the host holds open and opens meanwhile, and nothing of the library's");

  g_assert_cmpint (last, >=, 900);
  for (guint i = 0; i < N_OPENERS; i++)
    threads[i] = g_thread_new ("opener", opener_thread, &opener);
  for (guint i = 0; i < N_DESCRIPTOR_RUNS; i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("./guest", "fds", NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (SandboxResult) result = NULL;
      g_autofree char *text = NULL;
      g_autoptr (GError) error = NULL;

      if (i % 2 == 0)
        result = test_run_command (self, command);
      else
        {
          process = sandbox_session_spawn (self->session, command, NULL, &error);
          g_assert_no_error (error);
          result = sandbox_process_communicate (process, NULL, NULL, &error);
          g_assert_no_error (error);
        }
      test_assert_exited (result, 0);
      text = sandbox_result_dup_stdout_text (result);
      assert_three_descriptors (text);
    }
  g_atomic_int_set (&opener.stop, TRUE);
  for (guint i = 0; i < N_OPENERS; i++)
    g_thread_join (threads[i]);
  close (kept);
  close (last);
}

static void
test_descriptors_of_others (TestSandbox  *self,
                            gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "hold", marker, NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GArray) found = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *links = NULL;

  g_test_summary ("Case 27: seen from outside too, a command holds three descriptors");

  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, 1);
  found = test_marker_find (marker);
  links = g_strdup_printf ("/proc/%d/fd", (int) g_array_index (found, pid_t, 0));
  g_assert_cmpuint (test_count_entries (links), ==, 3);
  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_true (sandbox_process_wait (process, NULL, &error));
}

/* So many sessions, of which each has run a command and rests */
#define N_RESTING 16

static void
run_true (SandboxHandle *handle)
{
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_no_error (error);
  test_assert_exited (result, 0);
}

static void
test_descriptors_at_rest (TestSandbox  *self,
                          gconstpointer unused)
{
  static const char *const kinds[] = { "a directory of the host's own", "a directory that the library keeps" };
  g_autofree char         *state = g_dir_make_tmp ("sandbox-state-XXXXXX", NULL);
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A session that rests holds no more than four descriptors, and runs commands afterwards");

  backend = sandbox_registry_create_backend (self->registry, "bubblewrap", state, &error);
  g_assert_no_error (error);
  g_object_set (backend, "nested", TRUE, NULL);
  for (guint kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    {
      SandboxHandle *handles[N_RESTING + 1];
      guint          before = 0;

      for (guint i = 0; i < G_N_ELEMENTS (handles); i++)
        {
          g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

          if (kind == 0)
            sandbox_create_options_set_workspace_path (options, self->workspace);
          sandbox_create_options_set_idle_ms (options, 100);
          handles[i] = sandbox_backend_create (backend, options, NULL, &error);
          g_assert_no_error (error);
          run_true (handles[i]);
          if (i > 0)
            continue;
          /* It has what all share, too. */
          test_wait (test_count_children () == TEST_N_KEPT);
          before = test_count_descriptors ();
        }
      test_wait (test_count_descriptors () <= before + N_RESTING * 4);
      g_test_message ("%s: %u for %d sessions", kinds[kind], test_count_descriptors () - before, N_RESTING);
      for (guint i = 0; i < G_N_ELEMENTS (handles); i++)
        {
          run_true (handles[i]);
          g_assert_true (sandbox_handle_stop (handles[i], NULL, &error));
          g_object_unref (handles[i]);
        }
    }
  g_clear_object (&backend);
  test_remove_tree (state);
}

static void
test_injected_files (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autofree char *text = NULL;

  g_test_summary ("Case 28: each of the files that are made for the sandbox has its own content, time after time");

  for (guint i = 0; i < 3; i++)
    {
      g_clear_pointer (&text, g_free);
      text = test_sh (self, "for f in passwd group hosts nsswitch.conf; do head -n1 /etc/$f; done; id -un; id -gn");
      g_assert_cmpstr (text, ==,
                       "root:x:0:0:root:/workspace:/bin/sh\n"
                       "root:x:0:\n"
                       "127.0.0.1 localhost sandbox\n"
                       "passwd: files\n"
                       "sandbox\nsandbox\n");
    }
}

/* ---- Environment and arguments ---- */

static void
test_secret_environment (TestSandbox  *self,
                         gconstpointer unused)
{
  g_autofree char *secret = g_strdup_printf ("secret-%08x%08x", g_random_int (), g_random_int ());
  g_autofree char *variable = g_strconcat ("TOKEN=", secret, NULL);
  g_autofree char *marker = test_marker_new ();
  const char      *environment[] = { variable, "LD_PRELOAD=/workspace/none.so", "GCONV_PATH=/workspace", NULL };
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "hold", marker, NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GArray) everybody = NULL;
  g_autoptr (GArray) descendants = NULL;
  g_autoptr (GError) error = NULL;
  guint    n_helpers = 0;
  gboolean seen = FALSE;

  g_test_summary ("Cases 29, 30: a command's variables are in no process's arguments, and bwrap's own environment is empty");

  sandbox_command_set_environment (command, environment);
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, 1);

  everybody = test_list_processes ();
  for (guint i = 0; i < everybody->len; i++)
    {
      gsize            size = 0;
      g_autofree char *arguments = test_read_proc (g_array_index (everybody, pid_t, i), "cmdline", &size);

      g_assert_false (test_bytes_have (arguments, size, secret));
    }
  descendants = test_list_descendants (getpid ());
  for (guint i = 0; i < descendants->len; i++)
    {
      pid_t            pid = g_array_index (descendants, pid_t, i);
      gsize            arguments_size = 0;
      gsize            size = 0;
      g_autofree char *arguments = test_read_proc (pid, "cmdline", &arguments_size);
      g_autofree char *variables = test_read_proc (pid, "environ", &size);

      /* the agent of a command before, which has ended meanwhile */
      if (arguments_size == 0)
        continue;
      if (test_bytes_have (arguments, arguments_size, marker))
        seen = test_bytes_have (variables, size, secret) && test_bytes_have (variables, size, "LD_PRELOAD=/workspace/none.so");
      else
        {
          /* bwrap and the agent, which has what bwrap gives everybody, and that is where it is; only root can look at that */
          g_assert_true (test_bytes_have (arguments, arguments_size, "sandbox-agent"));
          if (size > 0)
            {
              g_assert_true (g_str_has_prefix (variables, "PWD=/"));
              g_assert_cmpuint (strlen (variables) + 1, ==, size);
            }
          n_helpers++;
        }
    }
  g_assert_true (seen);
  /* bwrap and the command's agent; in slots the session's too, and two each of those that wait, with the process that a
   * command will be, and of a command before */
  g_assert_cmpuint (n_helpers, >=, TEST_NESTED ? 3 : 2);
  g_assert_cmpuint (n_helpers, <=, TEST_NESTED ? 9 : 2);
  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_true (sandbox_process_wait (process, NULL, &error));
}

static void
test_preload (TestSandbox  *self,
              gconstpointer unused)
{
  const char *environment[] = { "LD_PRELOAD=/workspace/preload.so", NULL };
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autofree char *said = NULL;

  g_test_summary ("Case 30: LD_PRELOAD is the command's own affair");

  /* Without a library there the loader says so, in whatever process it is asked for one. */
  sandbox_command_set_environment (command, environment);
  result = test_run_command (self, command);
  test_assert_exited (result, 0);
  said = sandbox_result_dup_stderr_text (result);
  g_assert_nonnull (strstr (said, "/workspace/preload.so"));
  g_assert_null (strstr (strstr (said, "/workspace/preload.so") + 1, "/workspace/preload.so"));
}

static void
test_environment (TestSandbox  *self,
                  gconstpointer unused)
{
  const char *environment[] = { "EMPTY=", "EQUALS=a=b=c", "NEWLINE=a\nb", "PATH=/usr/bin:/workspace", "QUOTES='\"$HOME", "BYTES=\303\244\377", NULL };
  g_autoptr (SandboxCommand) command = test_command_new ("env", "-0", NULL);
  g_autoptr (SandboxResult) result = NULL;
  const char *bytes = NULL;
  gsize       size = 0;

  g_test_summary ("Variables arrive byte for byte, over the few that every command has");

  sandbox_command_set_environment (command, environment);
  result = test_run_command (self, command);
  test_assert_exited (result, 0);
  bytes = g_bytes_get_data (sandbox_result_get_stdout (result), &size);
  for (guint i = 0; environment[i] != NULL; i++)
    g_assert_nonnull (memmem (bytes, size, environment[i], strlen (environment[i]) + 1));
  g_assert_nonnull (memmem (bytes, size, "HOME=/workspace", sizeof "HOME=/workspace"));
  g_assert_null (memmem (bytes, size, "PATH=/usr/bin:/bin", sizeof "PATH=/usr/bin:/bin"));
}

static void
test_arguments (TestSandbox  *self,
                gconstpointer unused)
{
  const char *const arguments[] = { "-", "--", "", "-c", "--bind", "--args", "3", " ", "a\nb\tc", "$(id)", "*", "\303\244", "\377\376", "%s", "'\"\\" };
  const char       *argv[G_N_ELEMENTS (arguments) + 3] = { "./guest", "argv" };
  g_autoptr (GString) expected = g_string_new (NULL);
  g_autoptr (SandboxCommand) command = NULL;
  g_autoptr (SandboxResult) result = NULL;

  g_test_summary ("Case 31: arguments arrive byte for byte, empty ones and those that look like options too");

  for (guint i = 0; i < G_N_ELEMENTS (arguments); i++)
    {
      argv[i + 2] = arguments[i];
      for (const char *at = arguments[i]; *at != '\0'; at++)
        g_string_append_printf (expected, "%02x", (guint8) *at);
      g_string_append_c (expected, '\n');
    }
  command = sandbox_command_new (argv);
  result = test_run_command (self, command);
  test_assert_exited (result, 0);
  test_assert_output (result, expected->str);
}

static void
test_option_as_program (TestSandbox  *self,
                        gconstpointer unused)
{
  const char *const nothing[] = { NULL };
  const struct
  {
    const char  *argv[8];
    SandboxError code;
  } cases[] = {
    { { "--ro-bind", "/", "/h", "cat", "/h/etc/shadow", NULL }, SANDBOX_ERROR_NOT_FOUND },
    { { "--", "true", NULL }, SANDBOX_ERROR_NOT_FOUND },
    { { "-", NULL }, SANDBOX_ERROR_NOT_FOUND },
    { { "--args", "3", NULL }, SANDBOX_ERROR_NOT_FOUND },
    { { "", NULL }, SANDBOX_ERROR_INVALID },
  };
  g_autoptr (SandboxCommand) empty = sandbox_command_new (nothing);
  g_autoptr (SandboxResult) none = NULL;
  g_autoptr (GError) invalid = NULL;

  g_test_summary ("Case 31: a program with the name of an option is a program, and none is none");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SandboxCommand) command = sandbox_command_new (cases[i].argv);
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;

      result = sandbox_session_run (self->session, command, NULL, &error);
      g_assert_null (result);
      g_assert_error (error, SANDBOX_ERROR, (int) cases[i].code);
    }
  none = sandbox_session_run (self->session, empty, NULL, &invalid);
  g_assert_null (none);
  g_assert_error (invalid, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);

  /* And one that is there runs. */
  g_free (test_sh (self, "mkdir bin && cp guest bin/--ro-bind"));
  {
    const char *environment[] = { "PATH=/workspace/bin", NULL };
    g_autoptr (SandboxCommand) command = test_command_new ("--ro-bind", "argv", "/", NULL);
    g_autoptr (SandboxResult) result = NULL;

    sandbox_command_set_environment (command, environment);
    result = test_run_command (self, command);
    test_assert_exited (result, 0);
    test_assert_output (result, "2f\n");
  }
}

static char *
new_word (gsize size)
{
  char *word = g_malloc (size + 1);

  memset (word, 'w', size);
  word[size] = '\0';

  return word;
}

static void
test_long_arguments (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autofree char *huge = new_word (200000);
  g_autofree char *thousand = new_word (1000);
  g_autofree char *fitting = new_word (131071);
  g_autoptr (GPtrArray) many = g_ptr_array_new ();
  g_autoptr (SandboxCommand) too_many = NULL;
  g_autoptr (SandboxCommand) longest = NULL;
  g_autoptr (SandboxCommand) variables = test_command_new ("sh", "-c", "echo ${#V0} ${#V7}; env | wc -c", NULL);
  g_autoptr (GPtrArray) environment = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (SandboxResult) refused = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (SandboxResult) big = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("Case 33: what no kernel takes is LIMIT before anything starts; what it takes arrives, a megabyte of variables too");

  error = test_refused (self, "true", huge, NULL);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_nonnull (strstr (error->message, "131072"));
  g_clear_error (&error);

  g_ptr_array_add (many, (gpointer) "true");
  for (guint i = 0; i < 3000; i++)
    g_ptr_array_add (many, thousand);
  g_ptr_array_add (many, NULL);
  too_many = sandbox_command_new ((const char *const *) many->pdata);
  refused = sandbox_session_run (self->session, too_many, NULL, &error);
  g_assert_null (refused);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_assert_nonnull (strstr (error->message, "2097152"));
  g_clear_error (&error);

  longest = test_command_new ("sh", "-c", "echo ${#1}", "sh", fitting, NULL);
  result = test_run_command (self, longest);
  test_assert_exited (result, 0);
  test_assert_output (result, "131071\n");

  for (guint i = 0; i < 16; i++)
    g_ptr_array_add (environment, g_strdup_printf ("V%u=%.65000s", i, huge));
  g_ptr_array_add (environment, NULL);
  sandbox_command_set_environment (variables, (const char *const *) environment->pdata);
  big = test_run_command (self, variables);
  test_assert_exited (big, 0);
  text = sandbox_result_dup_stdout_text (big);
  g_assert_true (g_str_has_prefix (text, "65000 65000\n1040"));
}

/* ---- Leaks ---- */

static void
run_of_one_kind (TestSandbox *self,
                 guint        kind)
{
  g_autoptr (SandboxCommand) command = kind == 0 ? test_command_new ("true", NULL) : kind == 1 ? test_command_new ("no-such-program", NULL)
                                                                                               : test_command_new ("sleep", "1000", NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) answer = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  sandbox_session_run_async (self->session, command, cancellable, test_result_cb, &answer);
  if (kind == 2)
    {
      test_run_for (5);
      g_cancellable_cancel (cancellable);
    }
  test_wait (answer != NULL);
  result = sandbox_session_run_finish (self->session, answer, &error);
  if (kind == 0)
    test_assert_exited (result, 0);
  else if (kind == 1)
    g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  else
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
test_leaks (TestSandbox  *self,
            gconstpointer unused)
{
  guint  descriptors = 0;
  guint  threads = 0;
  gint64 memory = 0;

  g_test_summary ("Case 44: after hundreds of runs, a third failing and a third cancelled, descriptors, threads and memory are what they were");

  for (guint i = 0; i < N_RUNS; i++)
    {
      run_of_one_kind (self, i % 3);
      if (i == N_RUNS / 4)
        {
          test_assert_nothing_left (G_MAXUINT);
          descriptors = test_count_descriptors () + TEST_N_ARMED_FDS;
          threads = test_count_threads ();
          memory = test_read_status (getpid (), "VmRSS", 10);
        }
    }
  test_assert_nothing_left (descriptors);
  test_wait (test_count_threads () <= threads);
  if (!TEST_IS_SANITIZED)
    g_assert_cmpint (test_read_status (getpid (), "VmRSS", 10), <, memory + 2048);
}

/* ---- Hosts in a state of their own ---- */

/* What a host of its own prints, once it has ended well. */
static char *
run_host (const char *kind,
          const char *workspace,
          GBytes     *input)
{
  g_autoptr (GSubprocess) host = NULL;
  g_autoptr (GBytes) output = NULL;
  g_autoptr (GError) error = NULL;

  host = g_subprocess_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | (input != NULL ? G_SUBPROCESS_FLAGS_STDIN_PIPE : 0), &error,
                           "/proc/self/exe", "--host", kind, workspace, NULL);
  g_assert_no_error (error);
  g_subprocess_communicate (host, input, NULL, &output, NULL, &error);
  g_assert_no_error (error);
  if (!g_subprocess_get_if_exited (host) || g_subprocess_get_exit_status (host) != 0)
    g_error ("The host “%s” ended with wait status %d", kind, g_subprocess_get_status (host));

  return g_strndup (g_bytes_get_data (output, NULL), g_bytes_get_size (output));
}

typedef void (*HostFunc) (TestSandbox *self);

/* A host whose signals, umask and limits are not the usual. */
static void
host_odd (TestSandbox *self)
{
  g_autofree char *state = NULL;

  state = test_sh (self, "./guest state");
  fputs (state, stdout);
}

static void
make_odd (void)
{
  sigset_t            all;
  const struct rlimit cores = { 12345, 12345678 };

  sigfillset (&all);
  g_assert_cmpint (sigprocmask (SIG_BLOCK, &all, NULL), ==, 0);
  for (int signum = 1; signum < NSIG; signum++)
    if (signum != SIGCHLD)
      signal (signum, SIG_IGN);
  umask (077);
  setrlimit (RLIMIT_CORE, &cores);
}

static void
test_signals_and_umask (void)
{
  g_autofree char *workspace = test_make_workspace ();
  g_autofree char *state = NULL;

  g_test_summary ("Case 32: signals that the host blocks or ignores, its umask and core limit are not its commands'");

  state = run_host ("odd", workspace, NULL);
  if (!g_str_has_prefix (state, "umask 022\ncwd /workspace\n"
                                "SigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n"
                                "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n") ||
      strstr (state, "\nlimit 4 0 0\n") == NULL)
    g_error ("Not the usual: %s", state);
  test_remove_tree (workspace);
}

/* A plain program that has never thought of SIGPIPE, and writes to commands that do not read. */
static void
host_pipe (TestSandbox *self)
{
  g_autoptr (GBytes) input = g_bytes_new_take (g_malloc0 (5000000), 5000000);
  g_autoptr (GError) error = NULL;
  struct sigaction action;

  for (guint i = 0; i < 10; i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", i % 2 == 0 ? "echo ok" : "exec 0<&-; echo ok; sleep 0.1", NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (SandboxResult) result = NULL;

      process = sandbox_session_spawn (self->session, command, NULL, &error);
      g_assert_no_error (error);
      if (i < 6)
        result = sandbox_process_communicate (process, input, NULL, &error);
      else
        {
          GOutputStream *stream = sandbox_process_get_stdin (process);
          g_autoptr (GError) broken = NULL;

          /* the program's own writing, in its own thread */
          g_assert_false (g_output_stream_write_all (stream, g_bytes_get_data (input, NULL), g_bytes_get_size (input), NULL, NULL, &broken));
          g_assert_error (broken, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE);
          result = sandbox_process_communicate (process, NULL, NULL, &error);
        }
      g_assert_no_error (error);
      test_assert_exited (result, 0);
      test_assert_output (result, "ok\n");
    }
  g_assert_cmpint (sigaction (SIGPIPE, NULL, &action), ==, 0);
  g_assert_true (action.sa_handler == SIG_DFL);
  fputs ("alive", stdout);
}

static void
make_default_signals (void)
{
  sigset_t none;

  for (int signum = 1; signum < NSIG; signum++)
    signal (signum, SIG_DFL);
  sigemptyset (&none);
  g_assert_cmpint (sigprocmask (SIG_SETMASK, &none, NULL), ==, 0);
}

static void
test_sigpipe (void)
{
  g_autofree char *workspace = test_make_workspace ();
  g_autofree char *said = NULL;

  g_test_summary ("Case 55: a host with the default SIGPIPE survives writing to commands that do not read");

  said = run_host ("pipe", workspace, NULL);
  g_assert_cmpstr (said, ==, "alive");
  test_remove_tree (workspace);
}

/* A host whose own input is not its commands'. */
static void
host_input (TestSandbox *self)
{
  char    line[64] = { 0 };
  ssize_t size = 0;

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("cat", NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;

      if (i == 0)
        result = test_run_command (self, command);
      else
        {
          process = sandbox_session_spawn (self->session, command, NULL, &error);
          g_assert_no_error (error);
          result = sandbox_process_communicate (process, NULL, NULL, &error);
          g_assert_no_error (error);
        }
      test_assert_exited (result, 0);
      test_assert_output (result, "");
    }
  size = read (STDIN_FILENO, line, sizeof line - 1);
  g_assert_cmpint (size, >, 0);
  fputs (line, stdout);
}

static void
test_host_input (void)
{
  g_autofree char *workspace = test_make_workspace ();
  g_autoptr (GBytes) input = g_bytes_new_static ("for the host", 12);
  g_autofree char *said = NULL;

  g_test_summary ("Case 57: a command without input reads an end at once, and what waits for the host stays there");

  said = run_host ("input", workspace, input);
  g_assert_cmpstr (said, ==, "for the host");
  test_remove_tree (workspace);
}

/* ---- What the library changes ---- */

/* All that belongs to a program as a whole and could be changed, as text. */
static char *
describe_program (void)
{
  GString         *text = g_string_new (NULL);
  g_autofree char *directory = g_get_current_dir ();
  mode_t           mask = umask (022);
  uid_t            uids[3];
  gid_t            gids[3];
  int              subreaper = -1;

  umask (mask);
  getresuid (&uids[0], &uids[1], &uids[2]);
  getresgid (&gids[0], &gids[1], &gids[2]);
  g_string_append_printf (text, "umask %03o\ndirectory %s\nlocale %s\n", mask, directory, setlocale (LC_ALL, NULL));
  g_string_append_printf (text, "uids %u %u %u\ngids %u %u %u\n", uids[0], uids[1], uids[2], gids[0], gids[1], gids[2]);
  g_string_append_printf (text, "session %d\ngroup %d\nnice %d\n", getsid (0), getpgrp (), getpriority (PRIO_PROCESS, 0));
  for (guint i = 0; environ[i] != NULL; i++)
    g_string_append_printf (text, "variable %s\n", environ[i]);
  for (int signum = 1; signum < NSIG; signum++)
    {
      struct sigaction action = { 0 };

      if (sigaction (signum, NULL, &action) == 0)
        g_string_append_printf (text, "signal %d %p %x\n", signum, (void *) action.sa_handler, (unsigned) action.sa_flags);
    }
  for (int resource = 0; resource < 16; resource++)
    {
      struct rlimit limit = { 0, 0 };

      getrlimit ((__rlimit_resource_t) resource, &limit);
      g_string_append_printf (text, "limit %d %llu %llu\n", resource, (unsigned long long) limit.rlim_cur, (unsigned long long) limit.rlim_max);
    }
  prctl (PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
  g_string_append_printf (text, "dumpable %d\nsubreaper %d\nno-new-privileges %d\nkeep-capabilities %d\nsecurebits %d\npersonality %lx\n",
                          prctl (PR_GET_DUMPABLE, 0, 0, 0, 0), subreaper, prctl (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl (PR_GET_KEEPCAPS, 0, 0, 0, 0),
                          prctl (PR_GET_SECUREBITS, 0, 0, 0, 0), syscall (SYS_personality, 0xffffffff));
  {
    g_autofree char *status = test_read_proc (getpid (), "status", NULL);
    g_auto (GStrv) lines = g_strsplit (status, "\n", -1);
    const char *const keys[] = { "Umask:", "Uid:", "Gid:", "Groups:", "SigBlk:", "SigIgn:", "SigCgt:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "Seccomp:" };

    for (guint i = 0; lines[i] != NULL; i++)
      for (guint j = 0; j < G_N_ELEMENTS (keys); j++)
        if (g_str_has_prefix (lines[i], keys[j]))
          g_string_append_printf (text, "%s\n", lines[i]);
  }

  return g_string_free (text, FALSE);
}

typedef struct
{
  gint stop;
  gint changed;
} Watch;

/* Looks all the time: a change that is taken back counts as well. */
static gpointer
watch_thread (gpointer user_data)
{
  Watch *watch = user_data;

  while (!g_atomic_int_get (&watch->stop))
    if (prctl (PR_GET_DUMPABLE, 0, 0, 0, 0) != 1)
      g_atomic_int_inc (&watch->changed);

  return NULL;
}

/* Everything that a host does with the library. */
static void
use_the_library (const char *workspace)
{
  TestSandbox self = { .workspace = (char *) workspace, .registry = sandbox_registry_new () };
  g_autoptr (GError) error = NULL;

  self.backend = test_new_backend (self.registry);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (SandboxReport) report = sandbox_backend_probe (self.backend, NULL, NULL, &error);
      g_autofree char *text = NULL;

      g_assert_no_error (error);
      self.handle = test_create (self.backend, workspace, &error);
      g_assert_no_error (error);
      self.session = sandbox_handle_get_session (self.handle);
      for (guint kind = 0; kind < 3; kind++)
        run_of_one_kind (&self, kind);
      g_assert_true (sandbox_session_write_text (self.session, "below/file", "text", NULL, &error));
      text = sandbox_session_read_text (self.session, "below/file", NULL, &error);
      g_assert_cmpstr (text, ==, "text");
      g_assert_true (sandbox_session_remove_path (self.session, "below", NULL, &error));
      g_assert_true (sandbox_handle_stop (self.handle, NULL, &error));
      g_clear_object (&self.handle);
    }
  g_clear_object (&self.backend);
  g_clear_object (&self.registry);
}

/* In a program that has done nothing else yet. */
static int
run_unchanged (const char *workspace)
{
  g_autofree char *before = NULL;
  g_autofree char *after = NULL;
  Watch            watch = { FALSE, 0 };
  GThread         *thread = NULL;

  setlocale (LC_ALL, "C.UTF-8");
  umask (027);
  g_assert_cmpint (chdir ("/usr"), ==, 0);
  /* With its first thread a program gets a signal handler of libc's. */
  thread = g_thread_new ("watch", watch_thread, &watch);
  before = describe_program ();
  use_the_library (workspace);
  g_atomic_int_set (&watch.stop, TRUE);
  g_thread_join (thread);
  after = describe_program ();
  g_assert_cmpstr (before, ==, after);
  g_assert_cmpint (watch.changed, ==, 0);
  fputs ("unchanged", stdout);

  return 0;
}

static void
test_unchanged (void)
{
  g_autofree char *workspace = test_make_workspace ();
  g_autofree char *said = NULL;

  g_test_summary ("Case 190: signals, umask, directory, locale, variables, limits, rights and the dumpable flag of the host stay as they are");

  said = run_host ("unchanged", workspace, NULL);
  g_assert_cmpstr (said, ==, "unchanged");
  test_remove_tree (workspace);
}

/* ---- This program as a host of its own ---- */

static int
be_host (const char *kind,
         const char *workspace)
{
  const struct
  {
    const char *name;
    void (*prepare) (void);
    HostFunc run;
  } kinds[] = {
    { "odd", make_odd, host_odd },
    { "pipe", make_default_signals, host_pipe },
    { "input", make_default_signals, host_input },
  };
  TestSandbox self = { 0 };
  g_autoptr (GError) error = NULL;

  if (g_str_equal (kind, "unchanged"))
    return run_unchanged (workspace);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_equal (kind, kinds[i].name))
      {
        kinds[i].prepare ();
        self.workspace = g_strdup (workspace);
        self.registry = sandbox_registry_new ();
        self.backend = test_new_backend (self.registry);
        self.handle = test_create (self.backend, workspace, &error);
        g_assert_no_error (error);
        self.session = sandbox_handle_get_session (self.handle);
        kinds[i].run (&self);
        g_assert_true (sandbox_handle_stop (self.handle, NULL, &error));
        g_clear_object (&self.handle);
        g_clear_object (&self.backend);
        g_clear_object (&self.registry);
        g_free (self.workspace);
        return 0;
      }

  return 1;
}

static void
add (const char *path,
     void (*test) (TestSandbox *self, gconstpointer unused))
{
  g_test_add (path, TestSandbox, NULL, test_sandbox_set_up, test, test_sandbox_tear_down);
}

int
main (int    argc,
      char **argv)
{
  if (argc == 4 && g_str_equal (argv[1], "--host"))
    return be_host (argv[2], argv[3]);

  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  add ("/host/descriptors", test_descriptors);
  add ("/host/descriptors-of-others", test_descriptors_of_others);
  add ("/host/descriptors-at-rest", test_descriptors_at_rest);
  add ("/host/injected-files", test_injected_files);
  add ("/host/secret-environment", test_secret_environment);
  add ("/host/preload", test_preload);
  add ("/host/environment", test_environment);
  add ("/host/arguments", test_arguments);
  add ("/host/option-as-program", test_option_as_program);
  add ("/host/long-arguments", test_long_arguments);
  add ("/host/leaks", test_leaks);
  g_test_add_func ("/host/signals-and-umask", test_signals_and_umask);
  g_test_add_func ("/host/sigpipe", test_sigpipe);
  g_test_add_func ("/host/input", test_host_input);
  g_test_add_func ("/host/unchanged", test_unchanged);

  return g_test_run ();
}
