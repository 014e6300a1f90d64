/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tour of the library in C: a template of real files, a session made from it, work, files in and out, another process
 * that goes on with it, the end. Each call here waits, and none needs a main loop. demo.py takes the same tour, and demo.js
 * with promises; commands.c shows how commands run and end.
 */
#include <sandbox-glib.h>

#include <locale.h>
#include <string.h>

#define STREAM_BYTES 20000000
#define STREAM_BYTES_TEXT G_STRINGIFY (STREAM_BYTES)

#define RUN(session, ...) tour_run (session, (const char *const[]){ __VA_ARGS__, NULL })

/* What development packages put on every machine; together more than a thousand files */
static const char *const directories[] = {
  "/usr/include/linux",
  "/usr/include/asm-generic",
  "/usr/include/glib-2.0",
  "/usr/include/json-glib-1.0",
};

static const char count_program[] =
    "#define _GNU_SOURCE\n"
    "#include <ftw.h>\n"
    "#include <stdio.h>\n"
    "static int n;\n"
    "static int count (const char *path, const struct stat *st, int type, struct FTW *ftw) { n += type != FTW_D; return 0; }\n"
    "int main (void) { nftw (\"files\", count, 16, FTW_PHYS); printf (\"%d\\n\", n); }\n";

/* ---- What goes wrong ends the tour ---------------------------------------------------------------------------- */

static void
tour_check (const GError *error)
{
  if (error == NULL)
    return;

  g_printerr ("The tour ends here: %s\n", error->message);
  exit (1);
}

static void
tour_expect (gboolean    fact,
             const char *words)
{
  if (fact)
    return;

  g_printerr ("The tour ends here, as this is not true: %s\n", words);
  exit (1);
}

/* Runs a command to its end, and gives what it printed, without the last newline. One that fails ends the tour. */
static char *
tour_run (SandboxSession    *session,
          const char *const *argv)
{
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  result = sandbox_session_run (session, command, NULL, &error);
  tour_check (error);
  if (!sandbox_result_check (result, &error))
    {
      g_autofree char *words = sandbox_result_dup_stderr_text (result);

      g_prefix_error (&error, "%s: %s", argv[0], words);
    }
  tour_check (error);

  return g_strchomp (sandbox_result_dup_stdout_text (result));
}

static void
tour_show_refusal (const GError *error,
                   SandboxError  code,
                   const char   *words)
{
  g_autofree char *name = g_enum_to_string (SANDBOX_TYPE_ERROR, (int) code);

  tour_expect (g_error_matches (error, SANDBOX_ERROR, (int) code), words);
  g_print ("  %s: %s, “%s”\n", words, name + strlen ("SANDBOX_ERROR_"), error->message);
}

/* ---- The stations --------------------------------------------------------------------------------------------- */

static SandboxTemplate *
tour_template (SandboxBackend *backend,
               guint          *n_files)
{
  g_autoptr (SandboxFileSet) files = sandbox_file_set_new ();
  g_autoptr (GBytes) program = g_bytes_new_static (count_program, strlen (count_program));
  g_autoptr (SandboxTemplate) template = NULL;
  g_autoptr (SandboxTemplate) again = NULL;
  g_autoptr (GError) error = NULL;

  g_print ("\n1. A template of real files\n");
  for (guint i = 0; i < G_N_ELEMENTS (directories); i++)
    {
      g_autoptr (GFile) directory = g_file_new_for_path (directories[i]);
      g_autofree char *name = g_file_get_basename (directory);
      g_autofree char *path = g_build_filename ("files", name, NULL);

      sandbox_file_set_add_directory (files, path, directory, &error);
      tour_check (error);
      g_print ("  %s\n", directories[i]);
    }
  *n_files = sandbox_file_set_get_n_files (files);
  sandbox_file_set_add (files, "count.c", program);
  tour_expect (*n_files >= 1000, "these directories have a thousand files");

  template = sandbox_backend_prewarm (backend, "tour", files, NULL, &error);
  tour_check (error);
  g_print ("  %u files, %" G_GUINT64_FORMAT " KiB: template %.12s…\n", *n_files,
           sandbox_file_set_get_total_bytes (files) / 1024, sandbox_template_get_key (template));

  again = sandbox_backend_prewarm (backend, "tour", files, NULL, &error);
  tour_check (error);
  tour_expect (sandbox_template_get_reused (again) &&
                   strcmp (sandbox_template_get_key (template), sandbox_template_get_key (again)) == 0,
               "the same files are the same template");
  g_print ("  the same files again: the same template, reused\n");

  return g_steal_pointer (&template);
}

static SandboxHandle *
tour_create (SandboxBackend *backend,
             SandboxTemplate *template)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  sandbox_create_options_set_template_key (options, sandbox_template_get_key (template));
  handle = sandbox_backend_create (backend, options, NULL, &error);
  tour_check (error);

  return g_steal_pointer (&handle);
}

static void
tour_work (SandboxSession *session,
           guint           n_files)
{
  g_autofree char *want = g_strdup_printf ("%u", n_files);
  g_autofree char *counted = NULL;
  g_autofree char *commit = NULL;
  g_autofree char *committed = NULL;

  g_free (RUN (session, "gcc", "-O2", "-Wall", "-o", "count", "count.c"));
  counted = RUN (session, "./count");
  tour_expect (strcmp (counted, want) == 0, "the session has all files of the template");
  g_print ("  gcc: a program in C, compiled and run in there, counts %s files\n", counted);

  g_free (RUN (session, "git", "init", "-q"));
  g_free (RUN (session, "git", "add", "files"));
  g_free (RUN (session, "git", "-c", "user.name=Tourist", "-c", "user.email=tourist@example.org", "commit", "-qm", "From the tour"));
  commit = RUN (session, "git", "rev-parse", "HEAD");
  committed = RUN (session, "sh", "-c", "git ls-tree -r --name-only HEAD | wc -l");
  tour_expect (strcmp (committed, want) == 0, "git has committed all files");
  g_print ("  git: init, add, commit; commit %.12s has %s files\n", commit, committed);
}

/* The SHA-256 of a file in the workspace of any size, which is never in memory as a whole. */
static char *
tour_digest (SandboxSession *session,
             const char     *path,
             guint64        *size)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autoptr (GInputStream) stream = NULL;
  g_autoptr (GError) error = NULL;
  guint8 buffer[65536];
  gssize n_read = 0;

  *size = 0;
  stream = sandbox_session_open_read (session, path, NULL, &error);
  tour_check (error);
  while ((n_read = g_input_stream_read (stream, buffer, sizeof buffer, NULL, &error)) > 0)
    {
      g_checksum_update (checksum, buffer, n_read);
      *size += (guint64) n_read;
    }
  tour_check (error);

  return g_strdup (g_checksum_get_string (checksum));
}

/* Returns: the SHA-256 of the file “stream” */
static char *
tour_files (SandboxSession *session)
{
  const char *greeting = "Grüße aus C\n";
  guint8      every_byte[256];
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GBytes) bytes_back = NULL;
  g_autofree char *text = NULL;
  g_autofree char *seen = NULL;
  g_autofree char *summed = NULL;
  g_autofree char *digest = NULL;
  g_autoptr (GError) error = NULL;
  guint64 size = 0;

  g_print ("\n3. What goes in and comes out\n");
  sandbox_session_write_text (session, "notes.txt", greeting, NULL, &error);
  tour_check (error);
  text = sandbox_session_read_text (session, "notes.txt", NULL, &error);
  tour_check (error);
  seen = RUN (session, "cat", "notes.txt");
  tour_expect (strcmp (text, greeting) == 0 && strcmp (seen, g_strchomp (text)) == 0, "text comes back as it went in");
  g_print ("  text: “%s” comes back as it went in\n", seen);

  for (guint i = 0; i < sizeof every_byte; i++)
    every_byte[i] = i;
  bytes = g_bytes_new (every_byte, sizeof every_byte);
  sandbox_session_write_bytes (session, "bytes", bytes, NULL, &error);
  tour_check (error);
  bytes_back = sandbox_session_read_bytes (session, "/workspace/bytes", NULL, &error);
  tour_check (error);
  tour_expect (g_bytes_equal (bytes, bytes_back), "bytes come back as they went in");
  g_print ("  bytes: each of the 256 comes back as it went in\n");

  summed = RUN (session, "sh", "-c", "head -c " STREAM_BYTES_TEXT " /dev/urandom | tee stream | sha256sum");
  digest = tour_digest (session, "stream", &size);
  tour_expect (size == STREAM_BYTES && g_str_has_prefix (summed, digest), "the stream gives what the command has made");
  g_print ("  stream: %d bytes made in there, streamed out here, with the same SHA-256\n", STREAM_BYTES);

  return g_steal_pointer (&digest);
}

static SandboxHandle *
tour_attach (SandboxBackend *backend,
             SandboxState   *state,
             GError        **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  sandbox_create_options_set_state (options, state);

  return sandbox_backend_create (backend, options, NULL, error);
}

/* Gives the session to another process, and waits for that. */
static SandboxState *
tour_hand_over (SandboxBackend *backend,
                SandboxHandle  *handle,
                const char     *digest)
{
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (SandboxHandle) none = NULL;
  g_autoptr (GSubprocess) process = NULL;
  g_autofree char *json = NULL;
  g_autofree char *said = NULL;
  g_autoptr (GError) busy = NULL;
  g_autoptr (GError) error = NULL;

  g_print ("\n4. Stopped, and taken up by another process\n");
  state = sandbox_handle_capture_state (handle, &error);
  tour_check (error);
  none = tour_attach (backend, state, &busy);
  tour_show_refusal (busy, SANDBOX_ERROR_BUSY, "a session has one owner");

  sandbox_handle_stop (handle, NULL, &error);
  tour_check (error);
  json = sandbox_state_to_json (state);
  g_print ("  stopped; this is all that has to be kept:\n%s\n", json);

  process = g_subprocess_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error, "/proc/self/exe",
                              "--attach", sandbox_backend_get_state_directory (backend), json, digest, NULL);
  tour_check (error);
  g_subprocess_communicate_utf8 (process, NULL, NULL, &said, NULL, &error);
  tour_check (error);
  tour_expect (g_subprocess_get_successful (process), "the other process has found everything");
  g_print ("%s", said);

  return g_steal_pointer (&state);
}

/* The other process: all it knows of the session is where such sessions are, and the state. */
static int
tour_second_process (const char *state_directory,
                     const char *json,
                     const char *digest)
{
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autofree char *text = NULL;
  g_autofree char *subject = NULL;
  g_autofree char *found = NULL;
  g_autoptr (GError) error = NULL;
  SandboxSession *session = NULL;
  guint64         size = 0;

  state = sandbox_state_new_from_json (json, &error);
  tour_check (error);
  backend = sandbox_registry_create_backend (sandbox_registry_get_default (), sandbox_state_get_backend (state), state_directory, &error);
  tour_check (error);
  handle = tour_attach (backend, state, &error);
  tour_check (error);

  session = sandbox_handle_get_session (handle);
  text = sandbox_session_read_text (session, "notes.txt", NULL, &error);
  tour_check (error);
  subject = RUN (session, "git", "log", "-1", "--format=%s");
  found = tour_digest (session, "stream", &size);
  tour_expect (strcmp (subject, "From the tour") == 0 && g_str_has_prefix (text, "Grüße") && strcmp (found, digest) == 0,
               "the second process finds what the first has left");
  g_print ("  another process has taken it up, and found the notes, the commit and the %d bytes\n", STREAM_BYTES);

  sandbox_handle_stop (handle, NULL, &error);
  tour_check (error);

  return 0;
}

static void
tour_end (SandboxBackend *backend,
          SandboxHandle  *handle,
          SandboxTemplate *template,
          SandboxState *state)
{
  g_autoptr (SandboxHandle) none = NULL;
  g_autoptr (GListModel) sessions = NULL;
  g_autoptr (GListModel) templates = NULL;
  g_autoptr (GSubprocess) rm = NULL;
  g_autoptr (GError) gone = NULL;
  g_autoptr (GError) error = NULL;

  g_print ("\n5. The end\n");
  sandbox_handle_delete (handle, NULL, &error);
  tour_check (error);
  none = tour_attach (backend, state, &gone);
  tour_show_refusal (gone, SANDBOX_ERROR_NOT_FOUND, "the session is deleted");

  sandbox_backend_delete_template (backend, sandbox_template_get_key (template), NULL, &error);
  tour_check (error);
  sessions = sandbox_backend_list_sessions (backend, NULL, &error);
  tour_check (error);
  templates = sandbox_backend_list_templates (backend, NULL, &error);
  tour_check (error);
  tour_expect (g_list_model_get_n_items (sessions) == 0 && g_list_model_get_n_items (templates) == 0, "everything is deleted");
  g_print ("  the template is deleted too, and no other is left\n");

  rm = g_subprocess_new (G_SUBPROCESS_FLAGS_NONE, &error, "rm", "-r", sandbox_backend_get_state_directory (backend), NULL);
  tour_check (error);
  g_subprocess_wait_check (rm, NULL, &error);
  tour_check (error);
}

static int
tour (void)
{
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxTemplate) template = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autofree char *state_directory = NULL;
  g_autofree char *digest = NULL;
  g_autoptr (GError) error = NULL;
  gint64 started = 0;
  guint  n_files = 0;

  g_print ("A tour of sandbox-glib, in C\n");
  state_directory = g_dir_make_tmp ("sandbox-tour-XXXXXX", &error);
  tour_check (error);
  backend = sandbox_registry_create_backend (sandbox_registry_get_default (), "bubblewrap", state_directory, &error);
  tour_check (error);
  template = tour_template (backend, &n_files);

  g_print ("\n2. A session made from it\n");
  started = g_get_monotonic_time ();
  handle = tour_create (backend, template);
  g_print ("  made in %" G_GINT64_FORMAT " ms; its files are in %s\n", (g_get_monotonic_time () - started) / 1000,
           sandbox_session_get_workspace_path (sandbox_handle_get_session (handle)));
  tour_work (sandbox_handle_get_session (handle), n_files);

  digest = tour_files (sandbox_handle_get_session (handle));
  state = tour_hand_over (backend, handle, digest);
  tour_end (backend, handle, template, state);

  return 0;
}

int
main (int    argc,
      char **argv)
{
  setlocale (LC_ALL, "");
  if (argc == 5 && strcmp (argv[1], "--attach") == 0)
    return tour_second_process (argv[2], argv[3], argv[4]);

  return tour ();
}
