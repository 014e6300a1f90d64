/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * soak [RUNS]
 *
 * Runs commands of every end, 10,000 of them, and looks at what the host is left with: descriptors, threads, children and
 * memory must be what they were after the first thousand. TAP.
 */

#include <sandbox-glib.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_RUNS 10000
#define MEMORY_SLACK_KIB 2048
/* What is on its way out when the last answer has come is gone after this. */
#define SETTLE_US (2 * G_USEC_PER_SEC)

#define COMMAND(...) sandbox_command_new ((const char *const[]){ __VA_ARGS__, NULL })

typedef struct
{
  guint descriptors;
  guint threads;
  guint children; /* those that have not been waited for, too */
  guint memory_kib;
} SoakState;

static guint tests;
static guint failures;

static void
soak_report (gboolean    good,
             const char *name,
             const char *details)
{
  tests++;
  failures += !good;
  printf ("%s %u /soak/%s\n", good ? "ok" : "not ok", tests, name);
  if (details != NULL)
    printf ("# %s\n", details);
  fflush (stdout);
}

static void
soak_check (const GError *error)
{
  if (error == NULL)
    return;

  printf ("Bail out! %s\n", error->message);
  exit (1);
}

/* ---- What the host holds ---------------------------------------------------------------------------------------------- */

static guint
soak_count_entries (const char *path)
{
  g_autoptr (GDir) directory = g_dir_open (path, 0, NULL);
  guint count = 0;

  while (g_dir_read_name (directory) != NULL)
    count++;

  return count;
}

static guint
soak_count_words (const char *path)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) words = NULL;
  guint count = 0;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return 0;
  words = g_strsplit (text, " ", -1);
  for (guint i = 0; words[i] != NULL; i++)
    count += words[i][0] != '\0';

  return count;
}

static guint
soak_count_children (void)
{
  g_autoptr (GDir) tasks = g_dir_open ("/proc/self/task", 0, NULL);
  const char *name = NULL;
  guint       count = 0;

  while ((name = g_dir_read_name (tasks)) != NULL)
    {
      g_autofree char *path = g_strdup_printf ("/proc/self/task/%s/children", name);

      count += soak_count_words (path);
    }

  return count;
}

static guint
soak_read_memory_kib (void)
{
  g_autofree char *status = NULL;
  guint            kib = 0;

  if (g_file_get_contents ("/proc/self/status", &status, NULL, NULL) && strstr (status, "VmRSS:") != NULL)
    sscanf (strstr (status, "VmRSS:"), "VmRSS: %u", &kib);

  return kib;
}

static SoakState
soak_look (void)
{
  SoakState state;

  g_usleep (SETTLE_US);
  state.descriptors = soak_count_entries ("/proc/self/fd");
  state.threads = soak_count_entries ("/proc/self/task");
  state.children = soak_count_children ();
  state.memory_kib = soak_read_memory_kib ();

  return state;
}

/* ---- One run of each kind --------------------------------------------------------------------------------------------- */

static gboolean
soak_run (SandboxSession *session,
          SandboxCommand *command_taken,
          SandboxOutcome  expected)
{
  g_autoptr (SandboxCommand) command = command_taken;
  g_autoptr (SandboxResult) result = sandbox_session_run (session, command, NULL, NULL);

  return result != NULL && sandbox_result_get_outcome (result) == expected;
}

static gboolean
soak_output (SandboxSession *session)
{
  g_autoptr (SandboxCommand) command = COMMAND ("head", "-c", "60000", "/dev/zero");
  g_autoptr (SandboxResult) result = sandbox_session_run (session, command, NULL, NULL);

  return result != NULL && g_bytes_get_size (sandbox_result_get_stdout (result)) == 60000;
}

static gboolean
soak_limit (SandboxSession *session)
{
  SandboxCommand *command = COMMAND ("yes");

  sandbox_command_set_max_output (command, 1000);

  return soak_run (session, command, SANDBOX_OUTCOME_OUTPUT_LIMIT);
}

static gboolean
soak_timeout (SandboxSession *session)
{
  SandboxCommand *command = COMMAND ("sleep", "60");

  sandbox_command_set_timeout_ms (command, 20);

  return soak_run (session, command, SANDBOX_OUTCOME_TIMED_OUT);
}

static gboolean
soak_missing (SandboxSession *session)
{
  g_autoptr (SandboxCommand) command = COMMAND ("no-such-program");
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxResult) result = sandbox_session_run (session, command, NULL, &error);

  return result == NULL && g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static gpointer
soak_cancel_thread (gpointer data)
{
  g_usleep (g_random_int_range (0, 20000));
  g_cancellable_cancel (data);

  return NULL;
}

static gboolean
soak_cancelled (SandboxSession *session)
{
  g_autoptr (SandboxCommand) command = COMMAND ("sleep", "60");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxResult) result = NULL;
  GThread *thread = g_thread_new ("cancel", soak_cancel_thread, cancellable);

  result = sandbox_session_run (session, command, cancellable, &error);
  g_thread_join (thread);

  return result == NULL && g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static gboolean
soak_talk (SandboxSession *session)
{
  g_autoptr (SandboxCommand) command = COMMAND ("cat");
  g_autoptr (SandboxProcess) process = sandbox_session_spawn (session, command, NULL, NULL);
  g_autoptr (GBytes) input = g_bytes_new_static ("hello", 5);
  g_autoptr (SandboxResult) result = NULL;

  if (process != NULL)
    result = sandbox_process_communicate (process, input, NULL, NULL);

  return result != NULL && g_bytes_equal (sandbox_result_get_stdout (result), input);
}

static gboolean
soak_dropped (SandboxSession *session)
{
  g_autoptr (SandboxCommand) command = COMMAND ("sleep", "60");
  g_autoptr (SandboxProcess) process = sandbox_session_spawn (session, command, NULL, NULL);

  return process != NULL && sandbox_process_kill (process, NULL) && sandbox_process_wait (process, NULL, NULL);
}

static gboolean
soak_one (SandboxSession *session,
          guint           i)
{
  switch (i % 10)
    {
    case 0:
      return soak_output (session);

    case 1:
      return soak_limit (session);

    case 2:
      return soak_timeout (session);

    case 3:
      return soak_missing (session);

    case 4:
      return soak_cancelled (session);

    case 5:
      return soak_talk (session);

    case 6:
      return soak_dropped (session);

    default:
      return soak_run (session, COMMAND ("true"), SANDBOX_OUTCOME_EXITED);
    }
}

static guint
soak_many (SandboxSession *session,
           guint           n_runs)
{
  guint wrong = 0;

  for (guint i = 0; i < n_runs; i++)
    wrong += !soak_one (session, i);

  return wrong;
}

/* ---- The whole -------------------------------------------------------------------------------------------------------- */

static void
soak_compare (const char *name,
              guint       before,
              guint       after,
              guint       slack)
{
  g_autofree char *details = g_strdup_printf ("%u before, %u after", before, after);

  soak_report (after <= before + slack, name, details);
}

int
main (int    argc,
      char **argv)
{
  guint            n_runs = argc > 1 ? (guint) g_ascii_strtoull (argv[1], NULL, 10) : N_RUNS;
  guint            n_first = n_runs / 10;
  g_autofree char *directory = NULL;
  g_autofree char *runs = NULL;
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  SandboxSession *session = NULL;
  SoakState       before;
  SoakState       after;
  guint           wrong = 0;

  printf ("TAP version 13\n1..6\n");
  directory = g_dir_make_tmp ("sandbox-soak-XXXXXX", &error);
  soak_check (error);
  backend = sandbox_registry_create_backend (sandbox_registry_get_default (), "bubblewrap", NULL, &error);
  soak_check (error);
  sandbox_create_options_set_workspace_path (options, directory);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  soak_check (error);
  session = sandbox_handle_get_session (handle);

  wrong = soak_many (session, n_first);
  before = soak_look ();
  wrong += soak_many (session, n_runs - n_first);
  after = soak_look ();

  runs = g_strdup_printf ("%u of %u runs ended otherwise than they should", wrong, n_runs);
  soak_report (wrong == 0, "ends", runs);
  soak_compare ("descriptors", before.descriptors, after.descriptors, 0);
  soak_compare ("threads", before.threads, after.threads, 0);
  soak_compare ("children", before.children, after.children, 0);
  soak_compare ("memory-kib", before.memory_kib, after.memory_kib, MEMORY_SLACK_KIB);

  soak_report (sandbox_handle_stop (handle, NULL, NULL) && soak_count_children () == 0, "stop", NULL);
  rmdir (directory);

  return failures > 0 ? 1 : 0;
}
