/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bench-scale [--json] [--rounds N] [--long] [PART...]
 *
 * What more of everything costs: workers at once, commands one after the other, open sessions, files of a template. With
 * --long, which takes minutes, also what armed slots and open sessions hold while they rest, and whether 10,000 commands
 * leave anything behind.
 *
 * What is compared takes turns, so that what else the machine does falls on both. The table says which rows missed their
 * bar, and then the exit status is 1.
 */

#include "bench-rows.h"
#include "bench-shared.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THROUGHPUT_US (G_USEC_PER_SEC / 2)
#define MAX_WORKERS 8
#define MAX_SESSIONS 200
#define MAX_COMMANDS 10000
#define WARM_UP_COMMANDS 1000
#define ENDS 300 /* of the commands, at both ends */
#define REST_US (2 * G_USEC_PER_SEC)
#define LOAD_US (65 * G_USEC_PER_SEC) /* the average of a minute has followed */
#define IDLE_MS 500
#define SLOT_SESSIONS 13
#define SLOTS 16 /* in each of them: 208 */
/* The kernel gives memory back when it likes: what something takes is the middle one of so many measurements. */
#define MEMORY_TIMES 5

typedef struct
{
  char      *top;
  GPtrArray *rows;
  guint      rounds;
  guint      n_workspaces;
  GPtrArray *names; /* that rows borrow as their baselines */
} Scale;

/* The names of rows live as long as the program. */
static const char *
scale_keep_name (Scale *self,
                 char  *name_taken)
{
  g_ptr_array_add (self->names, name_taken);

  return name_taken;
}

/* ---- Sessions ------------------------------------------------------------------------------------------------------- */

/* Over an empty directory of its own */
static SandboxHandle *
scale_open_session (Scale          *self,
                    SandboxBackend *backend,
                    guint           idle_ms)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *workspace = g_strdup_printf ("%s/workspace-%u", self->top, self->n_workspaces++);
  SandboxHandle   *handle = NULL;

  bench_check (g_mkdir_with_parents (workspace, 0755) == 0, workspace, NULL);
  sandbox_create_options_set_workspace_path (options, workspace);
  if (idle_ms > 0 && g_object_class_find_property (G_OBJECT_GET_CLASS (options), "idle-ms") != NULL)
    g_object_set (options, "idle-ms", idle_ms, NULL);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  bench_check (handle != NULL, "a session", error);

  return handle;
}

static void
scale_close_session (gpointer data)
{
  g_autoptr (SandboxHandle) handle = data;
  g_autoptr (GError) error = NULL;

  bench_check (sandbox_handle_stop (handle, NULL, &error), "stop", error);
}

static GPtrArray *
scale_open_sessions (Scale          *self,
                     SandboxBackend *backend,
                     guint           n_sessions,
                     guint           idle_ms)
{
  GPtrArray *handles = g_ptr_array_new_with_free_func (scale_close_session);

  for (guint i = 0; i < n_sessions; i++)
    g_ptr_array_add (handles, scale_open_session (self, backend, idle_ms));

  return handles;
}

static double
scale_run (GPtrArray *handles,
           guint      at)
{
  return bench_run_true (sandbox_handle_get_session (g_ptr_array_index (handles, at)));
}

static void
scale_run_each (GPtrArray *handles,
                GArray    *times)
{
  for (guint i = 0; i < handles->len; i++)
    {
      double time = scale_run (handles, i);

      if (times != NULL)
        g_array_append_val (times, time);
    }
}

/* ---- Workers at once -------------------------------------------------------------------------------------------------- */

typedef enum
{
  SCALE_SPAWN,
  SCALE_RUN,
  SCALE_BARE,
  SCALE_N_KINDS,
} ScaleKind;

static const char *const kind_names[] = { "posix_spawn", "run", "bare-bwrap" };

/* What one thread does; only it touches what is here until it ends. */
typedef struct
{
  ScaleKind       kind;
  SandboxSession *session;
  BenchBare      *bare;
  double          end; /* no command begins after this */
  GArray         *times;
} ScaleWorker;

static gpointer
scale_work_thread (gpointer data)
{
  ScaleWorker *self = data;

  do
    {
      double time = 0;

      switch (self->kind)
        {
        case SCALE_SPAWN:
          time = bench_spawn_true ();
          break;

        case SCALE_RUN:
          time = bench_run_true (self->session);
          break;

        case SCALE_BARE:
        case SCALE_N_KINDS:
          time = bench_bare_run (self->bare);
          break;
        }
      g_array_append_val (self->times, time);
    }
  while (bench_now () < self->end);

  return NULL;
}

/* How many commands came to their end in how long, added to what the row has. */
static void
scale_measure_rate (BenchRow    *row,
                    ScaleWorker *workers,
                    guint        n_workers,
                    ScaleKind    kind,
                    double      *elapsed)
{
  GThread *threads[MAX_WORKERS];
  double   begin = bench_now ();

  for (guint i = 0; i < n_workers; i++)
    {
      workers[i].kind = kind;
      workers[i].end = begin + THROUGHPUT_US;
      workers[i].times = g_array_new (FALSE, FALSE, sizeof (double));
      threads[i] = g_thread_new ("worker", scale_work_thread, &workers[i]);
    }
  for (guint i = 0; i < n_workers; i++)
    g_thread_join (threads[i]);
  *elapsed += bench_now () - begin;
  for (guint i = 0; i < n_workers; i++)
    {
      g_array_append_vals (row->times, workers[i].times->data, workers[i].times->len);
      g_array_unref (workers[i].times);
    }
}

/* A session per worker */
static void
scale_measure_throughput (Scale *self)
{
  static const guint counts[] = { 1, 2, 4, MAX_WORKERS };
  g_autoptr (SandboxBackend) backend = bench_new_default_backend (NULL);
  g_autoptr (GPtrArray) handles = scale_open_sessions (self, backend, MAX_WORKERS, 0);
  ScaleWorker workers[MAX_WORKERS];

  for (guint i = 0; i < MAX_WORKERS; i++)
    {
      g_autofree char *workspace = g_strdup_printf ("%s/workspace-%u", self->top, i);

      workers[i].session = sandbox_handle_get_session (g_ptr_array_index (handles, i));
      workers[i].bare = bench_bare_new (workspace);
    }
  scale_run_each (handles, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      BenchRow   *rows[SCALE_N_KINDS];
      BenchRow   *to_bare = NULL;
      double      elapsed[SCALE_N_KINDS] = { 0 };
      const char *spawn = scale_keep_name (self, g_strdup_printf ("throughput-%u-posix_spawn", counts[i]));
      const char *bare = scale_keep_name (self, g_strdup_printf ("throughput-%u-bare-bwrap", counts[i]));

      for (guint kind = 0; kind < SCALE_N_KINDS; kind++)
        {
          rows[kind] = bench_rows_add (self->rows, g_strdup_printf ("throughput-%u-%s", counts[i], kind_names[kind]), kind != SCALE_SPAWN ? spawn : NULL);
          rows[kind]->unit = "1/s";
        }
      for (guint round = 0; round < 3 * SCALE_N_KINDS; round++)
        scale_measure_rate (rows[round % SCALE_N_KINDS], workers, counts[i], round % SCALE_N_KINDS, &elapsed[round % SCALE_N_KINDS]);
      for (guint kind = 0; kind < SCALE_N_KINDS; kind++)
        rows[kind]->value = rows[kind]->times->len / elapsed[kind] * G_USEC_PER_SEC;
      rows[SCALE_RUN]->at_least = counts[i] == 2 ? 0.4 : counts[i] == MAX_WORKERS ? 0.5
                                                                                  : NAN;
      to_bare = bench_rows_add (self->rows, g_strdup_printf ("throughput-%u-to-bare-bwrap", counts[i]), bare);
      to_bare->unit = "1/s";
      to_bare->value = rows[SCALE_RUN]->value;
      to_bare->at_least = counts[i] == 2 || counts[i] == MAX_WORKERS ? 2.5 : NAN;
    }

  for (guint i = 0; i < MAX_WORKERS; i++)
    bench_bare_free (workers[i].bare);
}

/* ---- One command after the other -------------------------------------------------------------------------------------- */

/* All of them, the session and its end too: from how many on it pays to have made one */
static void
scale_measure_commands (Scale *self)
{
  static const guint counts[] = { 1, 10, 100, 1000 };
  g_autoptr (SandboxBackend) backend = bench_new_default_backend (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      const char *name = scale_keep_name (self, g_strdup_printf ("commands-%u-posix_spawn", counts[i]));
      BenchRow   *spawn = bench_rows_add (self->rows, g_strdup (name), NULL);
      BenchRow   *run = bench_rows_add (self->rows, g_strdup_printf ("commands-%u", counts[i]), name);

      for (guint round = 0; round < MAX (1, MIN (self->rounds, 100 / counts[i])); round++)
        {
          SandboxHandle *handle = NULL;
          double         begin = bench_now ();
          double         time = 0;

          for (guint j = 0; j < counts[i]; j++)
            bench_spawn_true ();
          time = bench_now () - begin;
          g_array_append_val (spawn->times, time);

          begin = bench_now ();
          handle = scale_open_session (self, backend, 0);
          for (guint j = 0; j < counts[i]; j++)
            bench_run_true (sandbox_handle_get_session (handle));
          scale_close_session (handle);
          time = bench_now () - begin;
          g_array_append_val (run->times, time);
        }
    }
}

/* ---- Sessions at once --------------------------------------------------------------------------------------------------- */

/* A command in each of the open ones, in turns with a plain process */
static void
scale_measure_sessions (Scale *self)
{
  static const guint counts[] = { 1, 10, 50, MAX_SESSIONS };
  g_autoptr (SandboxBackend) backend = bench_new_default_backend (NULL);
  g_autoptr (GPtrArray) handles = g_ptr_array_new_with_free_func (scale_close_session);

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      const char *name = scale_keep_name (self, g_strdup_printf ("sessions-%u-posix_spawn", counts[i]));
      BenchRow   *spawn = bench_rows_add (self->rows, g_strdup (name), NULL);
      BenchRow   *run = bench_rows_add (self->rows, g_strdup_printf ("sessions-%u", counts[i]), name);

      while (handles->len < counts[i])
        g_ptr_array_add (handles, scale_open_session (self, backend, 0));
      scale_run_each (handles, NULL);
      for (guint call = 0; call < MAX (100, counts[i]); call++)
        {
          double time = 0;

          g_usleep (BENCH_SETTLE_US);
          time = bench_spawn_true ();
          g_array_append_val (spawn->times, time);
          g_usleep (BENCH_SETTLE_US);
          time = scale_run (handles, call % counts[i]);
          g_array_append_val (run->times, time);
        }
    }
}

/* ---- Files of a template -------------------------------------------------------------------------------------------------- */

static SandboxTemplate *
scale_make_template (SandboxBackend *backend,
                     guint           n_files)
{
  g_autoptr (SandboxFileSet) set = sandbox_file_set_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *name = g_strdup_printf ("%u files", n_files);
  SandboxTemplate *template = NULL;

  for (guint i = 0; i < n_files; i++)
    {
      g_autofree char *path = g_strdup_printf ("part-%u/file-%u", i / 100, i);
      g_autofree char *text = g_strdup_printf ("%01024u\n", i);
      g_autoptr (GBytes) content = g_bytes_new (text, strlen (text));

      sandbox_file_set_add (set, path, content);
    }
  template = sandbox_backend_prewarm (backend, name, set, NULL, &error);
  bench_check (template != NULL, "prewarm", error);

  return template;
}

/* Adds how long it took until the session was there, and until its first command was answered. Returns whether that is too
 * long to do it often: the files were copied. */
static gboolean
scale_create (SandboxBackend *backend,
              SandboxTemplate *template,
              GArray *created,
              GArray *answered)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  double   begin = bench_now ();
  double   time = 0;
  gboolean copied = FALSE;

  sandbox_create_options_set_template_key (options, sandbox_template_get_key (template));
  handle = sandbox_backend_create (backend, options, NULL, &error);
  time = bench_now () - begin;
  bench_check (handle != NULL, "a session of a template", error);
  g_array_append_val (created, time);
  if (answered != NULL)
    {
      bench_run_true (sandbox_handle_get_session (handle));
      time = bench_now () - begin;
      g_array_append_val (answered, time);
    }
  copied = sandbox_handle_get_workspace_mode (handle) != SANDBOX_WORKSPACE_MODE_OVERLAY;
  bench_check (sandbox_handle_delete (handle, NULL, &error), "delete", error);

  return copied;
}

static void
scale_measure_files (Scale *self)
{
  static const guint       counts[] = { 1, 20, 200, 2000, 20000 };
  static const char *const names[] = { "create-1", "create-20", "create-200", "create-2000", "create-20000-overlay" };
  g_autofree char         *state = g_build_filename (self->top, "state", NULL);
  g_autofree char         *workspace = g_build_filename (self->top, "bare", NULL);
  g_autoptr (SandboxBackend) backend = bench_new_default_backend (state);
  g_autoptr (BenchBare) bare = NULL;
  SandboxTemplate *templates[G_N_ELEMENTS (counts)];
  gboolean         copied[G_N_ELEMENTS (counts)] = { FALSE };
  BenchRow        *rows[G_N_ELEMENTS (counts)];
  BenchRow        *plain = bench_rows_add (self->rows, g_strdup ("bare-bwrap"), NULL);
  BenchRow        *first = bench_rows_add (self->rows, g_strdup ("create-first-command"), "bare-bwrap");

  bench_check (g_mkdir_with_parents (workspace, 0755) == 0, workspace, NULL);
  bare = bench_bare_new (workspace);
  first->at_most = 2;
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (double));

      rows[i] = bench_rows_add (self->rows, g_strdup (names[i]), i > 0 ? "create-1" : NULL);
      templates[i] = scale_make_template (backend, counts[i]);
      /* The first one of a template is not measured. */
      copied[i] = scale_create (backend, templates[i], times, NULL);
    }
  rows[G_N_ELEMENTS (counts) - 1]->at_most = 1.5;
  bench_bare_run (bare);

  for (guint round = 0; round < self->rounds; round++)
    {
      double time = bench_bare_run (bare);

      g_array_append_val (plain->times, time);
      for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
        if (round < 3 || !copied[i] || counts[i] < 1000)
          scale_create (backend, templates[i], rows[i]->times, i == 0 ? first->times : NULL);
    }

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    g_object_unref (templates[i]);
}

/* ---- What the host holds ---------------------------------------------------------------------------------------------- */

static guint
scale_count_entries (const char *path)
{
  g_autoptr (GDir) directory = g_dir_open (path, 0, NULL);
  guint count = 0;

  bench_check (directory != NULL, path, NULL);
  while (g_dir_read_name (directory) != NULL)
    count++;

  return count;
}

/* The number after a word in a file of procfs; 0 without */
static double
scale_read_number (const char *path,
                   const char *word)
{
  g_autofree char *text = NULL;
  const char      *at = NULL;

  bench_check (g_file_get_contents (path, &text, NULL, NULL), path, NULL);
  at = strstr (text, word);

  return at != NULL ? g_ascii_strtod (at + strlen (word), NULL) : 0;
}

static guint
scale_count_lines (const char *path)
{
  g_autofree char *text = NULL;
  guint            count = 0;

  /* Of processes that may not be looked at, none */
  if (g_file_get_contents (path, &text, NULL, NULL))
    for (const char *at = text; (at = strchr (at, '\n')) != NULL; at++)
      count++;

  return count;
}

/* Of one process and all below it, those that have not been waited for too; and the mounts that they see */
static void
scale_count_family (guint64 pid,
                    guint  *n_processes,
                    guint  *n_mounts)
{
  g_autofree char *mounts = g_strdup_printf ("/proc/%" G_GUINT64_FORMAT "/mountinfo", pid);
  g_autofree char *path = g_strdup_printf ("/proc/%" G_GUINT64_FORMAT "/task", pid);
  g_autoptr (GDir) tasks = g_dir_open (path, 0, NULL);
  const char *task = NULL;

  *n_processes += 1;
  *n_mounts += scale_count_lines (mounts);
  while (tasks != NULL && (task = g_dir_read_name (tasks)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, task, "children", NULL);
      g_autofree char *text = NULL;
      g_auto (GStrv) pids = NULL;

      if (!g_file_get_contents (file, &text, NULL, NULL))
        continue;
      pids = g_strsplit (text, " ", -1);
      for (guint i = 0; pids[i] != NULL; i++)
        if (pids[i][0] != '\0')
          scale_count_family (g_ascii_strtoull (pids[i], NULL, 10), n_processes, n_mounts);
    }
}

static double
scale_read_available_kib (void)
{
  return scale_read_number ("/proc/meminfo", "MemAvailable:");
}

/* ---- At rest, and after much ------------------------------------------------------------------------------------------- */

/* What sessions with so many slots each take while they rest */
static double
scale_measure_slots (Scale  *self,
                     guint   n_slots,
                     double *load)
{
  g_autoptr (SandboxBackend) backend = bench_new_default_backend (NULL);
  g_autoptr (GPtrArray) handles = NULL;
  double before = 0;
  double after = 0;

  g_object_set (backend, "armed-slots", n_slots, NULL);
  g_usleep (REST_US);
  before = scale_read_available_kib ();
  handles = scale_open_sessions (self, backend, SLOT_SESSIONS, 0);
  scale_run_each (handles, NULL);
  g_usleep (load != NULL ? LOAD_US : REST_US);
  after = scale_read_available_kib ();
  if (load != NULL)
    *load = scale_read_number ("/proc/loadavg", "");

  return before - after;
}

/* A row for what each of @n takes, by these differences. A little less than nothing is noise; more than that is what others gave back:
 * it was no quiet machine. */
static void
scale_add_memory (Scale  *self,
                  char   *name,
                  GArray *differences,
                  guint   n,
                  double  at_most)
{
  BenchRow *row = bench_rows_add (self->rows, name, NULL);

  bench_sort (differences);
  row->value = bench_percentile (differences, 50) / n;
  row->unit = "KiB";
  row->at_most = at_most;
  row->at_least = -at_most / 20;
}

static void
scale_measure_slot_memory (Scale *self)
{
  g_autoptr (SandboxBackend) backend = bench_new_backend (BENCH_DISPATCH, NULL);
  g_autoptr (GArray) differences = g_array_new (FALSE, FALSE, sizeof (double));
  BenchRow *load = NULL;
  double    load_before = 0;
  double    load_after = 0;

  if (backend == NULL)
    return;

  scale_measure_slots (self, 0, &load_before);
  scale_measure_slots (self, SLOTS, &load_after);
  for (guint i = 0; i < MEMORY_TIMES; i++)
    {
      const double without = scale_measure_slots (self, 0, NULL);
      const double difference = scale_measure_slots (self, SLOTS, NULL) - without;

      g_array_append_val (differences, difference);
    }

  scale_add_memory (self, g_strdup ("slot-memory"), differences, SLOT_SESSIONS * SLOTS, 400);
  load = bench_rows_add (self->rows, g_strdup ("slot-load"), NULL);
  load->value = load_after - load_before;
  load->unit = "";
  load->at_most = 1;
}

static void
scale_measure_resting_sessions (Scale *self)
{
  g_autoptr (SandboxBackend) backend = bench_new_default_backend (NULL);
  g_autoptr (GPtrArray) handles = NULL;
  g_autoptr (GArray) differences = g_array_new (FALSE, FALSE, sizeof (double));
  BenchRow *use = bench_rows_add (self->rows, g_strdup_printf ("sessions-%u-after-rest", MAX_SESSIONS), NULL);
  BenchRow *descriptors = NULL;
  guint     n_fds = 0;

  /* What the first session of a backend keeps for all is not counted. */
  scale_close_session (scale_open_session (self, backend, 0));
  for (guint i = 0; i < MEMORY_TIMES; i++)
    {
      double difference = 0;

      g_clear_pointer (&handles, g_ptr_array_unref);
      g_usleep (REST_US);
      difference = scale_read_available_kib ();
      n_fds = scale_count_entries ("/proc/self/fd");
      handles = scale_open_sessions (self, backend, MAX_SESSIONS, IDLE_MS);
      scale_run_each (handles, NULL);
      g_usleep (REST_US);
      difference -= scale_read_available_kib ();
      g_array_append_val (differences, difference);
    }

  scale_add_memory (self, g_strdup_printf ("sessions-%u-memory", MAX_SESSIONS), differences, MAX_SESSIONS, 3072);
  descriptors = bench_rows_add (self->rows, g_strdup_printf ("sessions-%u-descriptors", MAX_SESSIONS), NULL);
  descriptors->value = ((double) scale_count_entries ("/proc/self/fd") - n_fds) / MAX_SESSIONS;
  descriptors->unit = "each";
  descriptors->at_most = 4;
  scale_run_each (handles, use->times);
}

typedef struct
{
  guint  descriptors;
  guint  threads;
  guint  processes;
  guint  mounts;
  double memory_kib;
} ScaleState;

static ScaleState
scale_look (void)
{
  ScaleState state = { 0 };

  g_usleep (REST_US);
  state.descriptors = scale_count_entries ("/proc/self/fd");
  state.threads = scale_count_entries ("/proc/self/task");
  scale_count_family ((guint64) getpid (), &state.processes, &state.mounts);
  state.memory_kib = scale_read_number ("/proc/self/status", "VmRSS:");

  return state;
}

static void
scale_add_growth (Scale      *self,
                  const char *what,
                  double      before,
                  double      after,
                  double      at_most)
{
  BenchRow *row = bench_rows_add (self->rows, g_strdup_printf ("commands-%u-%s", MAX_COMMANDS, what), NULL);

  row->value = after - before;
  row->unit = strcmp (what, "memory") == 0 ? "KiB" : "more";
  row->at_most = at_most;
}

static void
scale_measure_many_commands (Scale *self)
{
  g_autoptr (SandboxBackend) backend = bench_new_default_backend (NULL);
  g_autoptr (GPtrArray) handles = scale_open_sessions (self, backend, 1, 0);
  const char *name = scale_keep_name (self, g_strdup_printf ("commands-%u-first", MAX_COMMANDS));
  BenchRow   *first = bench_rows_add (self->rows, g_strdup (name), NULL);
  BenchRow   *last = bench_rows_add (self->rows, g_strdup_printf ("commands-%u-last", MAX_COMMANDS), name);
  ScaleState  before;
  ScaleState  after;

  last->at_most = 1.25;
  for (guint i = 0; i < WARM_UP_COMMANDS; i++)
    scale_run (handles, 0);
  before = scale_look ();
  for (guint i = 0; i < MAX_COMMANDS; i++)
    {
      double time = scale_run (handles, 0);

      if (i < ENDS)
        g_array_append_val (first->times, time);
      else if (i >= MAX_COMMANDS - ENDS)
        g_array_append_val (last->times, time);
    }
  after = scale_look ();
  scale_add_growth (self, "descriptors", before.descriptors, after.descriptors, 0);
  scale_add_growth (self, "threads", before.threads, after.threads, 0);
  scale_add_growth (self, "processes", before.processes, after.processes, 0);
  scale_add_growth (self, "mounts", before.mounts, after.mounts, 0);
  scale_add_growth (self, "memory", before.memory_kib, after.memory_kib, 1024);
}

typedef struct
{
  const char *name;
  void (*measure) (Scale *self);
  gboolean is_long;
} ScalePart;

static const ScalePart parts[] = {
  { "throughput", scale_measure_throughput, FALSE },
  { "commands", scale_measure_commands, FALSE },
  { "sessions", scale_measure_sessions, FALSE },
  { "files", scale_measure_files, FALSE },
  { "slots", scale_measure_slot_memory, TRUE },
  { "rest", scale_measure_resting_sessions, TRUE },
  { "many-commands", scale_measure_many_commands, TRUE },
};

int
main (int    argc,
      char **argv)
{
  gboolean json = FALSE;
  gboolean is_long = FALSE;
  int      rounds = 20;
  g_auto (GStrv) remaining = NULL;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print the rows as JSON", NULL },
    { "rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "How often sessions are made for each row (20)", "N" },
    { "long", 0, 0, G_OPTION_ARG_NONE, &is_long, "Measure what rests, and 10,000 commands, too", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &remaining, NULL, "[PART…]" },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) rows = bench_rows_new ();
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *top = NULL;
  Scale            self = { .rows = rows, .names = names };
  guint            n_missed = 0;

  g_option_context_add_main_entries (context, entries, NULL);
  bench_check (g_option_context_parse (context, &argc, &argv, &error), "options", error);
  bench_check (rounds > 0, "options", NULL);
  top = g_dir_make_tmp ("sandbox-bench-XXXXXX", &error);
  bench_check (top != NULL, "a directory", error);
  self.top = top;
  self.rounds = (guint) rounds;

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (remaining != NULL ? g_strv_contains ((const char *const *) remaining, parts[i].name) : is_long || !parts[i].is_long)
      parts[i].measure (&self);

  bench_rows_finish (rows);
  if (json)
    bench_rows_print_json (rows);
  else
    n_missed = bench_rows_print_table (rows, self.rounds);
  bench_remove (top);

  return n_missed > 0 ? 1 : 0;
}
