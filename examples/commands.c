/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How commands run and end, in C, with synchronous calls first: none of them needs a main loop. commands.py and commands.js
 * show the same; demo.c is the tour to begin with.
 */
#include <sandbox-glib.h>

#include <glib/gstdio.h>
#include <locale.h>
#include <string.h>

#define COMMAND(...) sandbox_command_new ((const char *const[]){ __VA_ARGS__, NULL })

/* This goes on only where everything works. */
static void
commands_check (const GError *error)
{
  if (error == NULL)
    return;

  g_printerr ("It ends here: %s\n", error->message);
  exit (1);
}

static void
commands_title (const char *title)
{
  g_print ("\n%s\n", title);
}

/* ---- Running a command, and what became of it --------------------------------------------------------------- */

static void
commands_print_lines (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", 0);

  for (guint i = 0; lines[i] != NULL && i < 6; i++)
    if (lines[i][0] != '\0')
      g_print ("      %s\n", lines[i]);
  if (g_strv_length (lines) > 7)
    g_print ("      …\n");
}

static void
commands_print_result (SandboxResult *result)
{
  g_autofree char *output = sandbox_result_dup_stdout_text (result);
  g_autofree char *errors = sandbox_result_dup_stderr_text (result);

  commands_print_lines (output);
  commands_print_lines (errors);

  switch (sandbox_result_get_outcome (result))
    {
    case SANDBOX_OUTCOME_EXITED:
      g_print ("    → exited with %d\n", sandbox_result_get_exit_status (result));
      break;

    case SANDBOX_OUTCOME_SIGNALED:
      g_print ("    → ended by signal %d (%s)\n", sandbox_result_get_signal (result),
               g_strsignal (sandbox_result_get_signal (result)));
      break;

    case SANDBOX_OUTCOME_TIMED_OUT:
      g_print ("    → timed out: killed after %" G_GUINT64_FORMAT " ms\n",
               sandbox_result_get_wall_time_us (result) / 1000);
      break;

    case SANDBOX_OUTCOME_OUTPUT_LIMIT:
      g_print ("    → wrote too much: killed, %" G_GSIZE_FORMAT " bytes are kept\n",
               g_bytes_get_size (sandbox_result_get_stdout (result)));
      break;

    default:
      {
        g_autofree char *outcome = g_enum_to_string (SANDBOX_TYPE_OUTCOME, sandbox_result_get_outcome (result));

        g_print ("    → %s\n", outcome);
      }
      break;
    }
}

/* A line that could be typed into a shell. */
static char *
commands_describe (SandboxCommand *command)
{
  const char *const *argv = sandbox_command_get_argv (command);
  g_autoptr (GString) line = g_string_new (argv[0]);

  for (guint i = 1; argv[i] != NULL; i++)
    {
      g_autofree char *quoted = g_shell_quote (argv[i]);

      g_string_append_printf (line, " %s", strpbrk (argv[i], " $;<>") != NULL ? quoted : argv[i]);
    }

  return g_string_free (g_steal_pointer (&line), FALSE);
}

/* What started gives a result, however it ended; what did not start gives an error. */
static SandboxResult *
commands_run (SandboxSession *session,
              SandboxCommand *command)
{
  g_autofree char *line = commands_describe (command);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_print ("  $ %s\n", line);
  result = sandbox_session_run (session, command, NULL, &error);
  commands_check (error);
  commands_print_result (result);

  return g_steal_pointer (&result);
}

/* ---- The stations ------------------------------------------------------------------------------------------- */

static SandboxHandle *
commands_create (const char *directory)
{
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  commands_title ("1. A session over a directory");
  backend = sandbox_registry_create_backend (sandbox_registry_get_default (), "bubblewrap", NULL, &error);
  commands_check (error);
  sandbox_create_options_set_workspace_path (options, directory);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  commands_check (error);
  g_print ("  %s on the host is %s in the sandbox\n", directory,
           sandbox_session_get_workspace_path (sandbox_handle_get_session (handle)));

  return g_steal_pointer (&handle);
}

static void
commands_files (SandboxSession *session)
{
  guint8 every_byte[256];
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GBytes) back = NULL;
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  commands_title ("2. Files, as text and as bytes");
  sandbox_session_write_text (session, "notes.txt", "Grüße aus C\n", NULL, &error);
  commands_check (error);
  text = sandbox_session_read_text (session, "notes.txt", NULL, &error);
  commands_check (error);
  g_print ("  notes.txt says: %s", text);

  for (guint i = 0; i < sizeof every_byte; i++)
    every_byte[i] = i;
  bytes = g_bytes_new (every_byte, sizeof every_byte);
  sandbox_session_write_bytes (session, "bytes.bin", bytes, NULL, &error);
  commands_check (error);
  back = sandbox_session_read_bytes (session, "/workspace/bytes.bin", NULL, &error);
  commands_check (error);
  g_print ("  bytes.bin: wrote %" G_GSIZE_FORMAT " bytes, read %s\n", g_bytes_get_size (bytes),
           g_bytes_equal (bytes, back) ? "the same back" : "something else back");
}

static void
commands_run_some (SandboxSession *session)
{
  static const char input[] = "pears\napples\n";
  g_autoptr (SandboxCommand) hello = COMMAND ("sh", "-c", "echo Hello from $(uname -n); pwd; ls; cat notes.txt");
  g_autoptr (SandboxCommand) sort = COMMAND ("sort");
  g_autoptr (SandboxCommand) failing = COMMAND ("sh", "-c", "echo That went wrong >&2; exit 3");
  g_autoptr (SandboxCommand) crashing = COMMAND ("sh", "-c", "kill -SEGV $$");
  g_autoptr (SandboxCommand) slow = COMMAND ("sleep", "60");
  g_autoptr (SandboxCommand) loud = COMMAND ("yes");
  g_autoptr (SandboxCommand) busy = COMMAND ("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
  g_autoptr (SandboxResult) used = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static (input, strlen (input));

  commands_title ("3. Commands, and how they end");
  g_object_unref (commands_run (session, hello));

  g_print ("  with “pears” and “apples” as its input:\n");
  sandbox_command_set_stdin (sort, bytes);
  g_object_unref (commands_run (session, sort));

  g_object_unref (commands_run (session, failing));
  g_object_unref (commands_run (session, crashing));

  g_print ("  allowed to take 300 ms:\n");
  sandbox_command_set_timeout_ms (slow, 300);
  g_object_unref (commands_run (session, slow));

  g_print ("  allowed to write 1000 bytes:\n");
  sandbox_command_set_max_output (loud, 1000);
  g_object_unref (commands_run (session, loud));

  used = commands_run (session, busy);
  g_print ("    it used %" G_GUINT64_FORMAT " ms of processor time and %" G_GUINT64_FORMAT " KiB of memory\n",
           (sandbox_result_get_user_time_us (used) + sandbox_result_get_system_time_us (used)) / 1000,
           sandbox_result_get_peak_memory_bytes (used) / 1024);
}

static void
commands_borders (SandboxSession *session)
{
  g_autoptr (SandboxCommand) environment = COMMAND ("env");
  g_autoptr (SandboxCommand) secrets = COMMAND ("ls", "/root", "/home", "/etc/shadow");
  g_autoptr (SandboxCommand) network = NULL;
  g_autoptr (GSocketListener) server = g_socket_listener_new ();
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GSocketConnection) connection = NULL;
  g_autofree char *script = NULL;
  g_autoptr (GError) error = NULL;
  guint port = 0;

  commands_title ("4. What a command does not see");
  g_print ("  the environment is the command's own:\n");
  sandbox_command_set_environment (environment, (const char *const[]){ "GREETING=hello", NULL });
  g_object_unref (commands_run (session, environment));
  g_print ("  the host's files are not there:\n");
  g_object_unref (commands_run (session, secrets));

  port = g_socket_listener_add_any_inet_port (server, NULL, &error);
  commands_check (error);
  g_socket_client_set_enable_proxy (client, FALSE);
  connection = g_socket_client_connect_to_host (client, "127.0.0.1", port, NULL, &error);
  commands_check (error);
  script = g_strdup_printf ("echo hello >/dev/tcp/127.0.0.1/%u", port);
  network = COMMAND ("bash", "-c", script);
  g_print ("  there is no network; the server at port %u, which this program has just reached, is not there:\n", port);
  g_object_unref (commands_run (session, network));
}

/* The real uid of the process with this command line, as the host sees it; -1 without one. */
static int
commands_find_uid (const char *cmdline,
                   gsize       cmdline_size)
{
  g_autoptr (GDir) processes = g_dir_open ("/proc", 0, NULL);
  const char *name = NULL;

  while ((name = g_dir_read_name (processes)) != NULL)
    {
      g_autofree char *cmdline_path = g_build_filename ("/proc", name, "cmdline", NULL);
      g_autofree char *status_path = g_build_filename ("/proc", name, "status", NULL);
      g_autofree char *found = NULL;
      g_autofree char *status = NULL;
      gsize            size = 0;
      int              uid = -1;

      if (g_file_get_contents (cmdline_path, &found, &size, NULL) &&
          size == cmdline_size && memcmp (found, cmdline, size) == 0 &&
          g_file_get_contents (status_path, &status, NULL, NULL) && strstr (status, "Uid:") != NULL &&
          sscanf (strstr (status, "Uid:"), "Uid:\t%d", &uid) == 1)
        return uid;
    }

  return -1;
}

static void
commands_identity (SandboxSession *session,
                   const char     *directory)
{
  static const char cmdline[] = "sleep\0"
                                "4711.5";
  g_autoptr (SandboxCommand) inside = COMMAND ("sh", "-c", "id; touch made-inside; stat -c \"%n belongs to uid %u\" made-inside");
  g_autoptr (SandboxCommand) sleeping = COMMAND ("sleep", "4711.5");
  g_autofree char *path = g_build_filename (directory, "made-inside", NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  GStatBuf info;

  commands_title ("5. Who a command is, seen from both sides");
  g_object_unref (commands_run (session, inside));

  process = sandbox_session_spawn (session, sleeping, NULL, &error);
  commands_check (error);
  g_print ("  outside: this program is uid %u, a command of its sandbox uid %d\n",
           (guint) getuid (), commands_find_uid (cmdline, sizeof cmdline));
  sandbox_process_kill (process, &error);
  commands_check (error);
  sandbox_process_wait (process, NULL, &error);
  commands_check (error);
  if (g_stat (path, &info) == 0)
    g_print ("  outside: made-inside belongs to uid %u, as its directory does\n", (guint) info.st_uid);
}

static void
commands_streams (SandboxSession *session)
{
  g_autoptr (SandboxCommand) command = COMMAND ("sh", "-c", "while read word; do echo \"you said $word\"; done");
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GDataInputStream) answers = NULL;
  GOutputStream *input = NULL;
  g_autoptr (GError) error = NULL;

  commands_title ("6. Talking to a command while it runs");
  process = sandbox_session_spawn (session, command, NULL, &error);
  commands_check (error);
  input = sandbox_process_get_stdin (process);
  answers = g_data_input_stream_new (sandbox_process_get_stdout (process));

  for (guint i = 1; i <= 2; i++)
    {
      g_autofree char *answer = NULL;

      g_output_stream_printf (input, NULL, NULL, &error, "word-%u\n", i);
      commands_check (error);
      answer = g_data_input_stream_read_line_utf8 (answers, NULL, NULL, &error);
      commands_check (error);
      g_print ("  said word-%u, heard “%s”\n", i, answer);
    }

  g_output_stream_close (input, NULL, &error);
  commands_check (error);
  sandbox_process_wait (process, NULL, &error);
  commands_check (error);
  g_print ("  closed its input; it exited with %d\n", sandbox_result_get_exit_status (sandbox_process_get_result (process)));
}

static void
commands_errors (SandboxSession *session)
{
  g_autoptr (SandboxCommand) missing = COMMAND ("no-such-program");
  g_autoptr (SandboxCommand) failing = COMMAND ("false");
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) not_found = NULL;
  g_autoptr (GError) outside = NULL;
  g_autoptr (GError) failed = NULL;
  g_autoptr (GError) error = NULL;

  commands_title ("7. Errors have codes");
  sandbox_session_run (session, missing, NULL, &not_found);
  if (g_error_matches (not_found, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND))
    g_print ("  NOT_FOUND: %s\n", not_found->message);

  sandbox_session_read_text (session, "../outside", NULL, &outside);
  if (g_error_matches (outside, SANDBOX_ERROR, SANDBOX_ERROR_PATH))
    g_print ("  PATH: %s\n", outside->message);

  /* A command that fails is no error by itself; who wants one asks for it. */
  result = sandbox_session_run (session, failing, NULL, &error);
  commands_check (error);
  if (!sandbox_result_check (result, &failed))
    g_print ("  FAILED: %s\n", failed->message);
}

/* ---- Asynchronous calls ------------------------------------------------------------------------------------- */

typedef struct
{
  GMainLoop *loop;
  guint      waiting;
  guint      succeeded;
  char      *cancelled;
} Together;

static void
commands_ran_cb (GObject      *object,
                 GAsyncResult *async_result,
                 gpointer      user_data)
{
  Together *together = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxResult) result = sandbox_session_run_finish (SANDBOX_SESSION (object), async_result, &error);

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    together->cancelled = g_strdup (error->message);
  else if (result != NULL && sandbox_result_check (result, NULL))
    together->succeeded++;
  if (--together->waiting == 0)
    g_main_loop_quit (together->loop);
}

static gboolean
commands_cancel_cb (gpointer user_data)
{
  g_cancellable_cancel (user_data);

  return G_SOURCE_REMOVE;
}

static void
commands_async (SandboxSession *session)
{
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (SandboxCommand) nap = COMMAND ("sleep", "0.5");
  g_autoptr (SandboxCommand) sleep = COMMAND ("sleep", "60");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Together together = { .loop = loop, .waiting = 4 };
  gint64   started = g_get_monotonic_time ();

  commands_title ("8. Several at once, with callbacks");
  for (guint i = 0; i < 3; i++)
    sandbox_session_run_async (session, nap, NULL, commands_ran_cb, &together);
  sandbox_session_run_async (session, sleep, cancellable, commands_ran_cb, &together);
  g_timeout_add (200, commands_cancel_cb, cancellable);
  g_main_loop_run (loop);

  g_print ("  %u commands that sleep 500 ms took %" G_GINT64_FORMAT " ms together\n",
           together.succeeded, (g_get_monotonic_time () - started) / 1000);
  g_print ("  the one that sleeps a minute, which has been cancelled: %s\n", together.cancelled);
  g_free (together.cancelled);
}

static void
commands_stop (SandboxHandle *handle)
{
  SandboxSession *session = sandbox_handle_get_session (handle);
  g_autoptr (SandboxCommand) sleeping = COMMAND ("sleep", "60");
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxProcess) none = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *outcome = NULL;

  commands_title ("9. The end");
  process = sandbox_session_spawn (session, sleeping, NULL, &error);
  commands_check (error);
  sandbox_handle_stop (handle, NULL, &error);
  commands_check (error);
  g_print ("  stopped; what still ran is dead: %s\n",
           sandbox_result_get_outcome (sandbox_process_get_result (process)) == SANDBOX_OUTCOME_STOPPED ? "yes" : "no");
  none = sandbox_session_spawn (session, sleeping, NULL, &error);
  if (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED))
    g_print ("  STOPPED: %s\n", error->message);
}

/* The files stay: they are the host's. */
static void
commands_clean_up (const char *directory)
{
  g_autoptr (GDir) files = g_dir_open (directory, 0, NULL);
  const char *name = NULL;
  guint       n_files = 0;

  while ((name = g_dir_read_name (files)) != NULL)
    {
      g_autofree char *path = g_build_filename (directory, name, NULL);

      n_files++;
      g_remove (path);
    }
  g_rmdir (directory);
  g_print ("  the directory still had its %u files; they are removed now\n", n_files);
}

int
main (void)
{
  g_autoptr (SandboxHandle) handle = NULL;
  g_autofree char *directory = NULL;
  g_autoptr (GError) error = NULL;
  SandboxSession *session = NULL;

  setlocale (LC_ALL, "");
  g_print ("How commands run and end, in C\n");
  directory = g_dir_make_tmp ("sandbox-commands-XXXXXX", &error);
  commands_check (error);
  handle = commands_create (directory);
  session = sandbox_handle_get_session (handle);

  commands_files (session);
  commands_run_some (session);
  commands_borders (session);
  commands_identity (session, directory);
  commands_streams (session);
  commands_errors (session);
  commands_async (session);
  commands_stop (handle);
  commands_clean_up (directory);

  return 0;
}
