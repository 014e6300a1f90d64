/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bench [--json] [--rounds N] [--heap MIB] [ROW...]
 *
 * A row is measured in turns with the one that it is compared to, and with nothing else, so that what else the machine does
 * falls on both alike and neither finds the processor's caches full of a third: ratios between rows mean something, times on
 * a machine that others use do not.
 *
 * Whether the size of the host matters is measured in two processes of their own, which differ in nothing but a heap that
 * one of them has filled; they take turns within a round.
 *
 * The table says which rows took longer than they may, and then the exit status is 1.
 */

#include "bench-shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WARM_UP_ROUNDS 10
#define FILE_CALLS_PER_ROUND 10
#define FILE_SIZE 1024
#define LIST_ENTRIES 10000
#define STREAM_SIZE (64 * 1024 * 1024)
#define STREAM_BUFFER (128 * 1024)

typedef struct _Bench Bench;

/* One measured call: how many microseconds it took. */
typedef double (*BenchFunc) (Bench *self);

typedef struct
{
  const char *name;
  const char *baseline; /* the row that the ratio refers to; NULL for one that is only a baseline */
  BenchFunc   func;
  guint       calls; /* in each round */
  double      bar;   /* what the ratio must not exceed; 0 for none */
  double      slack; /* microseconds that the p50 may have beside that */
  GArray     *times;
  GArray     *beside; /* those of the baseline, measured in turns with it */
} BenchRow;

typedef struct
{
  pid_t pid;
  int   fd;
} BenchHost;

struct _Bench
{
  char           *directory;
  int             directory_fd;
  SandboxHandle  *handle;
  SandboxSession *session;
  GBytes         *content;
  BenchBare      *bare;
  BenchHost       hosts[2];              /* without and with a heap */
  SandboxBackend *store;                 /* whose sessions are kept, in a directory of its own */
  SandboxState   *idle;                  /* of one that has been stopped */
  Bench          *beside[BENCH_N_MODES]; /* sessions of each mode; NULL for what the backend cannot do */
  Bench          *unlayered;             /* whose commands are held by namespaces and mounts alone */
};

/* ---- The session under test ------------------------------------------------------------------------------------- */

/* FALSE if the backend cannot work so. */
static gboolean
bench_open_session (Bench      *self,
                    BenchMode   mode,
                    const char *directory)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxBackend) backend = bench_new_backend (mode, NULL);
  g_autoptr (GError) error = NULL;

  if (backend == NULL)
    return FALSE;

  self->directory = g_strdup (directory);
  self->directory_fd = open (directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  bench_check (self->directory_fd >= 0, directory, NULL);
  sandbox_create_options_set_workspace_path (options, directory);
  self->handle = sandbox_backend_create (backend, options, NULL, &error);
  bench_check (self->handle != NULL, "the session", error);
  self->session = sandbox_handle_get_session (self->handle);

  return TRUE;
}

static void
bench_close_session (Bench *self)
{
  g_autoptr (GError) error = NULL;

  bench_check (sandbox_handle_stop (self->handle, NULL, &error), "stop", error);
  g_clear_object (&self->handle);
  close (self->directory_fd);
  g_free (self->directory);
}

/* As a program that sets nothing */
static void
bench_open_default (Bench      *self,
                    const char *directory)
{
  if (!bench_open_session (self, BENCH_ARMED, directory))
    bench_check (bench_open_session (self, BENCH_ONE_BWRAP, directory), "the session", NULL);
}

/* One more session, in a directory of its own */
static Bench *
bench_open_beside (BenchMode mode)
{
  g_autofree char  *directory = NULL;
  g_autofree Bench *self = g_new0 (Bench, 1);
  g_autoptr (GError) error = NULL;

  directory = g_dir_make_tmp ("sandbox-bench-XXXXXX", &error);
  bench_check (directory != NULL, "a directory", error);
  if (bench_open_session (self, mode, directory))
    return g_steal_pointer (&self);

  rmdir (directory);

  return NULL;
}

static void
bench_close_beside (Bench *self)
{
  g_autofree char *directory = NULL;

  if (self == NULL)
    return;

  directory = g_strdup (self->directory);
  bench_close_session (self);
  rmdir (directory);
  g_free (self);
}

/* By an agent that was built without Landlock, filter and drop of privileges. What a command is limited by stays. */
static void
bench_open_unlayered (Bench *self)
{
  g_autofree char *agent = g_strdup (g_getenv ("SANDBOX_AGENT_PATH"));

  g_setenv ("SANDBOX_AGENT_PATH", BENCH_AGENT, TRUE);
  self->unlayered = bench_open_beside (BENCH_ONE_BWRAP);
  if (agent != NULL)
    g_setenv ("SANDBOX_AGENT_PATH", agent, TRUE);
  else
    g_unsetenv ("SANDBOX_AGENT_PATH");
}

static double
bench_run_unlayered (Bench *self)
{
  return bench_run_true (self->unlayered->session);
}

static double
bench_run_armed (Bench *self)
{
  return bench_run_true (self->beside[BENCH_ARMED]->session);
}

static double
bench_run_dispatch (Bench *self)
{
  return bench_run_true (self->beside[BENCH_DISPATCH]->session);
}

static double
bench_run_one_bwrap (Bench *self)
{
  return bench_run_true (self->beside[BENCH_ONE_BWRAP]->session);
}

static double
bench_bare (Bench *self)
{
  return bench_bare_run (self->bare);
}

static double
bench_spawn (Bench *self)
{
  return bench_spawn_true ();
}

/* ---- A session that lasts ---------------------------------------------------------------------------------------- */

static void
bench_make_idle (Bench *self)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *state = g_build_filename (self->directory, "state", NULL);

  self->store = sandbox_registry_create_backend (sandbox_registry_get_default (), "bubblewrap", state, &error);
  bench_check (self->store != NULL, "the backend", error);
  handle = sandbox_backend_create (self->store, options, NULL, &error);
  bench_check (handle != NULL, "a session that is kept", error);
  self->idle = sandbox_handle_capture_state (handle, &error);
  bench_check (sandbox_handle_stop (handle, NULL, &error), "stop", error);
}

static void
bench_remove_idle (Bench *self)
{
  g_autofree char *state = g_build_filename (self->directory, "state", NULL);
  g_autoptr (GError) error = NULL;

  bench_check (sandbox_backend_delete_session (self->store, self->idle, NULL, &error), "delete_session", error);
  g_clear_object (&self->idle);
  g_clear_object (&self->store);
  bench_remove (state);
}

/* Until commands can run in it: which one has. */
static double
bench_attach (Bench *self)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  double begin = bench_now ();
  double end = 0;

  sandbox_create_options_set_state (options, self->idle);
  handle = sandbox_backend_create (self->store, options, NULL, &error);
  end = bench_now ();
  bench_check (handle != NULL, "attach", error);
  bench_check (sandbox_handle_stop (handle, NULL, &error), "stop", error);

  return end - begin;
}

/* ---- Hosts of different sizes ------------------------------------------------------------------------------------- */

/* The other side of bench_start_host(): fills a heap, then runs the command once for each byte that it reads. */
static int
bench_serve (const char *directory,
             gsize       heap)
{
  Bench self = { .directory_fd = -1 };
  char  byte = 0;

  if (heap > 0)
    {
      void *memory = mmap (NULL, heap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

      bench_check (memory != MAP_FAILED, "mmap", NULL);
      /* Small pages: the more there is to copy in a fork. */
      madvise (memory, heap, MADV_NOHUGEPAGE);
      memset (memory, 1, heap);
    }

  bench_open_default (&self, directory);
  while (read (0, &byte, 1) == 1)
    {
      double time = bench_run_true (self.session);

      bench_check (write (0, &time, sizeof time) == sizeof time, "write", NULL);
    }
  bench_close_session (&self);

  return 0;
}

static void
bench_start_host (Bench      *self,
                  BenchHost  *host,
                  const char *program,
                  guint       heap_mib)
{
  g_autofree char           *heap = g_strdup_printf ("%u", heap_mib);
  char *const                argv[] = { (char *) program, (char *) "--serve", self->directory, heap, NULL };
  posix_spawn_file_actions_t actions;
  int                        sockets[2];

  bench_check (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0, "socketpair", NULL);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, sockets[1], 0);
  errno = posix_spawn (&host->pid, "/proc/self/exe", &actions, NULL, argv, environ);
  bench_check (errno == 0, "posix_spawn", NULL);
  posix_spawn_file_actions_destroy (&actions);
  close (sockets[1]);
  host->fd = sockets[0];
}

static void
bench_end_host (BenchHost *host)
{
  close (host->fd);
  bench_wait (host->pid);
}

static double
bench_ask (BenchHost *host)
{
  double time = 0;

  bench_check (write (host->fd, "", 1) == 1 && read (host->fd, &time, sizeof time) == sizeof time, "a host of the comparison ended", NULL);

  return time;
}

static double
bench_run_small_host (Bench *self)
{
  return bench_ask (&self->hosts[0]);
}

static double
bench_run_large_host (Bench *self)
{
  return bench_ask (&self->hosts[1]);
}

/* ---- Files ---------------------------------------------------------------------------------------------------------- */

static int
bench_openat2 (Bench      *self,
               const char *path,
               int         flags,
               int         mode)
{
  struct open_how how = {
    .flags = (guint64) flags | O_CLOEXEC,
    .mode = (guint64) mode,
    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  int fd = (int) syscall (SYS_openat2, self->directory_fd, path, &how, sizeof how);

  bench_check (fd >= 0, path, NULL);

  return fd;
}

static double
bench_read_bare (Bench *self)
{
  char   buffer[FILE_SIZE];
  double begin = bench_now ();
  int    fd = bench_openat2 (self, "file", O_RDONLY, 0);

  bench_check (read (fd, buffer, sizeof buffer) == sizeof buffer, "read", NULL);
  close (fd);

  return bench_now () - begin;
}

static double
bench_read (Bench *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  double begin = bench_now ();
  double end = 0;

  bytes = sandbox_session_read_bytes (self->session, "file", NULL, &error);
  end = bench_now ();
  bench_check (bytes != NULL && g_bytes_get_size (bytes) == FILE_SIZE, "read_bytes", error);

  return end - begin;
}

/* Written aside and renamed, as the library does it: an atomic replacement, or a new file. */
static double
bench_put_bare (Bench      *self,
                const char *name)
{
  gsize       size = 0;
  const void *data = g_bytes_get_data (self->content, &size);
  double      begin = bench_now ();
  int         fd = bench_openat2 (self, "aside", O_WRONLY | O_CREAT | O_EXCL, 0644);

  bench_check (fallocate (fd, FALLOC_FL_KEEP_SIZE, 0, (off_t) size) == 0 || errno == EOPNOTSUPP, "fallocate", NULL);
  bench_check (write (fd, data, size) == (ssize_t) size, "write", NULL);
  bench_check (renameat (self->directory_fd, "aside", self->directory_fd, name) == 0, "renameat", NULL);
  close (fd);

  return bench_now () - begin;
}

static double
bench_put (Bench      *self,
           const char *name)
{
  g_autoptr (GError) error = NULL;
  double   begin = bench_now ();
  gboolean written = sandbox_session_write_bytes (self->session, name, self->content, NULL, &error);
  double   end = bench_now ();

  bench_check (written, "write_bytes", error);

  return end - begin;
}

static double
bench_write_bare (Bench *self)
{
  return bench_put_bare (self, "file");
}

static double
bench_write (Bench *self)
{
  return bench_put (self, "file");
}

static double
bench_write_new_bare (Bench *self)
{
  double time = bench_put_bare (self, "new");

  bench_check (unlinkat (self->directory_fd, "new", 0) == 0, "unlinkat", NULL);

  return time;
}

static double
bench_write_new (Bench *self)
{
  double time = bench_put (self, "new");

  bench_check (unlinkat (self->directory_fd, "new", 0) == 0, "unlinkat", NULL);

  return time;
}

/* What any listing of sizes and times has to do. */
static double
bench_list_bare (Bench *self)
{
  double               begin = bench_now ();
  DIR                 *dir = fdopendir (bench_openat2 (self, "many", O_RDONLY | O_DIRECTORY, 0));
  const struct dirent *entry = NULL;
  guint                n_entries = 0;

  bench_check (dir != NULL, "fdopendir", NULL);
  while ((entry = readdir (dir)) != NULL)
    {
      struct statx info;

      bench_check (statx (dirfd (dir), entry->d_name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &info) == 0, "statx", NULL);
      n_entries++;
    }
  closedir (dir);
  bench_check (n_entries == LIST_ENTRIES + 2, "readdir", NULL);

  return bench_now () - begin;
}

static double
bench_list (Bench *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxListing) listing = NULL;
  double begin = bench_now ();
  double end = 0;

  listing = sandbox_session_list_directory (self->session, "many", NULL, &error);
  end = bench_now ();
  bench_check (listing != NULL && g_list_model_get_n_items (G_LIST_MODEL (listing)) == LIST_ENTRIES, "list_directory", error);

  return end - begin;
}

static double
bench_cat (Bench *self)
{
  g_autofree char           *path = g_build_filename (self->directory, "large", NULL);
  char *const                argv[] = { (char *) "cat", path, NULL };
  char *const                envp[] = { NULL };
  posix_spawn_file_actions_t actions;
  pid_t                      pid = -1;
  double                     begin = bench_now ();

  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_addopen (&actions, 1, "/dev/null", O_WRONLY, 0);
  errno = posix_spawn (&pid, "/usr/bin/cat", &actions, NULL, argv, envp);
  bench_check (errno == 0, "posix_spawn", NULL);
  posix_spawn_file_actions_destroy (&actions);
  bench_wait (pid);

  return bench_now () - begin;
}

static double
bench_stream (Bench *self)
{
  static char buffer[STREAM_BUFFER];
  g_autoptr (GError) error = NULL;
  g_autoptr (GInputStream) stream = NULL;
  gssize size = 0;
  gsize  all = 0;
  double begin = bench_now ();

  stream = sandbox_session_open_read (self->session, "large", NULL, &error);
  bench_check (stream != NULL, "open_read", error);
  while ((size = g_input_stream_read (stream, buffer, sizeof buffer, NULL, &error)) > 0)
    all += (gsize) size;
  bench_check (all == STREAM_SIZE && g_input_stream_close (stream, NULL, &error), "a stream", error);

  return bench_now () - begin;
}

/* ---- Rows ----------------------------------------------------------------------------------------------------------- */

static BenchRow rows[] = {
  { "posix_spawn", NULL, bench_spawn, 1, 0, 0 },
  { "run-true-armed", "posix_spawn", bench_run_armed, 1, 1.25, 0 },
  { "run-true-dispatch", "posix_spawn", bench_run_dispatch, 1, 1.8, 0 },
  { "run-true-one-bwrap", "posix_spawn", bench_run_one_bwrap, 1, 0, 0 },
  { "run-true-bare-bwrap", "posix_spawn", bench_bare, 1, 0, 0 },
  { "one-bwrap-to-bare-bwrap", "run-true-bare-bwrap", bench_run_one_bwrap, 1, 1.25, 0 },
  { "run-true-no-layers", NULL, bench_run_unlayered, 1, 0, 0 },
  { "run-true-layers", "run-true-no-layers", bench_run_one_bwrap, 1, 1.10, 0 },
  { "attach-idle", "run-true-bare-bwrap", bench_attach, 1, 1.2, 0 },
  { "run-true-small-host", NULL, bench_run_small_host, 1, 0, 0 },
  { "run-true-large-host", "run-true-small-host", bench_run_large_host, 1, 1.15, 0 },
  { "read-1k-bare", NULL, bench_read_bare, FILE_CALLS_PER_ROUND, 0, 0 },
  { "read-1k", "read-1k-bare", bench_read, FILE_CALLS_PER_ROUND, 8, 0 },
  { "write-1k-bare", NULL, bench_write_bare, FILE_CALLS_PER_ROUND, 0, 0 },
  { "write-1k", "write-1k-bare", bench_write, FILE_CALLS_PER_ROUND, 1.5, 20 },
  { "write-new-1k-bare", NULL, bench_write_new_bare, FILE_CALLS_PER_ROUND, 0, 0 },
  { "write-new-1k", "write-new-1k-bare", bench_write_new, FILE_CALLS_PER_ROUND, 4, 0 },
  { "list-10k-bare", NULL, bench_list_bare, 1, 0, 0 },
  { "list-10k", "list-10k-bare", bench_list, 1, 5, 0 },
  { "cat-64m", NULL, bench_cat, 1, 0, 0 },
  { "stream-64m", "cat-64m", bench_stream, 1, 1.25, 0 },
};

/* Of what is asked for, all but what the backend cannot do */
static gboolean
bench_is_wanted (Bench             *self,
                 const BenchRow    *row,
                 const char *const *names)
{
  if ((row->func == bench_run_armed && self->beside[BENCH_ARMED] == NULL) ||
      (row->func == bench_run_dispatch && self->beside[BENCH_DISPATCH] == NULL))
    return FALSE;

  return names == NULL || g_strv_contains (names, row->name);
}

static gboolean
bench_wants (const char *const *names,
             const char        *first,
             const char        *second)
{
  return names == NULL || g_strv_contains (names, first) || g_strv_contains (names, second);
}

/* What the rows of files read. */
static void
bench_fill_workspace (Bench             *self,
                      const char *const *names)
{
  g_autoptr (GError) error = NULL;

  bench_write (self);
  if (bench_wants (names, "list-10k-bare", "list-10k"))
    {
      bench_check (sandbox_session_make_directory (self->session, "many", NULL, &error), "make_directory", error);
      for (guint i = 0; i < LIST_ENTRIES; i++)
        {
          char name[32];

          g_snprintf (name, sizeof name, "many/entry-%u", i);
          bench_check (mknodat (self->directory_fd, name, S_IFREG | 0644, 0) == 0, "mknodat", NULL);
        }
    }
  if (bench_wants (names, "cat-64m", "stream-64m"))
    {
      static char buffer[STREAM_BUFFER];
      g_autoptr (GOutputStream) stream = sandbox_session_open_write (self->session, "large", NULL, &error);

      bench_check (stream != NULL, "open_write", error);
      memset (buffer, 'x', sizeof buffer);
      for (gsize at = 0; at < STREAM_SIZE; at += sizeof buffer)
        bench_check (g_output_stream_write_all (stream, buffer, sizeof buffer, NULL, NULL, &error), "write", error);
      bench_check (g_output_stream_close (stream, NULL, &error), "close", error);
    }
}

static void
bench_empty_workspace (Bench *self)
{
  static const char *const paths[] = { "file", "many", "large" };

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) error = NULL;

      bench_check (sandbox_session_remove_path (self->session, paths[i], NULL, &error), "remove_path", error);
    }
}

static gboolean
bench_needs_hosts (const char *const *names)
{
  return bench_wants (names, "run-true-small-host", "run-true-large-host");
}

/* What a row is measured in turns with, if that can be had */
static BenchRow *
bench_find_baseline (Bench             *self,
                     const BenchRow    *row,
                     const char *const *names)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows) && row->baseline != NULL; i++)
    if (strcmp (rows[i].name, row->baseline) == 0 && bench_is_wanted (self, &rows[i], names))
      return &rows[i];

  return NULL;
}

/* Of those that are asked for, with what they are compared to; NULL for all of them */
static char **
bench_complete_names (char **asked)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; asked != NULL && asked[i] != NULL; i++)
    {
      const BenchRow *row = NULL;

      for (guint j = 0; j < G_N_ELEMENTS (rows) && row == NULL; j++)
        if (strcmp (rows[j].name, asked[i]) == 0)
          row = &rows[j];
      errno = ENOENT;
      bench_check (row != NULL, asked[i], NULL);
      g_ptr_array_add (names, g_strdup (row->name));
      if (row->baseline != NULL)
        g_ptr_array_add (names, g_strdup (row->baseline));
    }
  if (asked == NULL)
    return NULL;
  g_ptr_array_add (names, NULL);

  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

static gboolean
bench_is_baseline (Bench             *self,
                   const BenchRow    *row,
                   const char *const *names)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (bench_is_wanted (self, &rows[i], names) && bench_find_baseline (self, &rows[i], names) == row)
      return TRUE;

  return FALSE;
}

/* To @also as well, which may be NULL */
static void
bench_call (Bench    *self,
            BenchRow *row,
            GArray   *times,
            GArray   *also)
{
  g_usleep (BENCH_SETTLE_US);
  for (guint i = 0; i < row->calls; i++)
    {
      const double time = row->func (self);

      if (times != NULL)
        g_array_append_val (times, time);
      if (also != NULL)
        g_array_append_val (also, time);
    }
}

static void
bench_measure_pair (Bench    *self,
                    BenchRow *row,
                    BenchRow *baseline, /* nullable */
                    guint     rounds)
{
  for (guint round = 0; round < WARM_UP_ROUNDS + rounds; round++)
    {
      const gboolean counts = round >= WARM_UP_ROUNDS;

      if (baseline != NULL)
        bench_call (self, baseline, counts ? row->beside : NULL, counts && baseline->baseline == NULL ? baseline->times : NULL);
      bench_call (self, row, counts ? row->times : NULL, NULL);
    }
}

static void
bench_measure (Bench             *self,
               const char *const *names,
               guint              rounds)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      /* What is only a baseline is measured with those that refer to it. */
      if (bench_is_wanted (self, &rows[i], names) && (rows[i].baseline != NULL || !bench_is_baseline (self, &rows[i], names)))
        bench_measure_pair (self, &rows[i], bench_find_baseline (self, &rows[i], names), rounds);
    }
}

/* The p50 of the row that this one is compared to; 0 without one. */
static double
bench_baseline (const BenchRow *row)
{
  return row->beside->len > 0 ? bench_percentile (row->beside, 50) : 0;
}

static double
bench_ratio (const BenchRow *row)
{
  double baseline = bench_baseline (row);

  return baseline > 0 ? bench_percentile (row->times, 50) / baseline : 0;
}

static gboolean
bench_is_kept (const BenchRow *row)
{
  return row->bar <= 0 || bench_percentile (row->times, 50) <= row->bar * bench_baseline (row) + row->slack;
}

/* What was measured beside a row that it is compared to, and took too long. */
static guint
bench_count_missed (void)
{
  guint missed = 0;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    missed += rows[i].times->len > 0 && bench_baseline (&rows[i]) > 0 && !bench_is_kept (&rows[i]);

  return missed;
}

static void
bench_print_json (Bench             *self,
                  const char *const *names)
{
  const char *separator = "[";

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const BenchRow *row = &rows[i];
      double          ratio = bench_ratio (row);

      if (!bench_is_wanted (self, row, names))
        continue;
      if (ratio > 0)
        printf ("%s\n  {\"name\": \"%s\", \"baseline\": \"%s\", \"ratio\": %.3f", separator, row->name, row->baseline, ratio);
      else
        printf ("%s\n  {\"name\": \"%s\", \"baseline\": null, \"ratio\": null", separator, row->name);
      printf (", \"p50_us\": %.1f, \"p95_us\": %.1f}", bench_percentile (row->times, 50), bench_percentile (row->times, 95));
      separator = ",";
    }
  printf ("\n]\n");
}

static void
bench_print_table (Bench             *self,
                   const char *const *names,
                   guint              rounds)
{
  printf ("%u rounds, as uid %u; times in microseconds\n\n", rounds, (guint) getuid ());
  printf ("%-24s %10s %10s %8s  %s\n", "row", "p50", "p95", "ratio", "of");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const BenchRow *row = &rows[i];
      double          ratio = bench_ratio (row);

      if (!bench_is_wanted (self, row, names))
        continue;
      printf ("%-24s %10.1f %10.1f", row->name, bench_percentile (row->times, 50), bench_percentile (row->times, 95));
      if (ratio > 0)
        printf (" %8.3f  %s, %.1f", ratio, row->baseline, bench_baseline (row));
      if (ratio > 0 && row->bar > 0)
        printf (", at most %.2f", row->bar);
      if (ratio > 0 && row->slack > 0)
        printf (" and %.0f us", row->slack);
      if (ratio > 0 && row->bar > 0)
        printf (": %s", bench_is_kept (row) ? "kept" : "MISSED");
      printf ("\n");
    }
}

int
main (int    argc,
      char **argv)
{
  gboolean json = FALSE;
  int      rounds = 300;
  int      heap_mib = 1024;
  g_auto (GStrv) asked = NULL;
  g_auto (GStrv) remaining = NULL;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print the rows as JSON", NULL },
    { "rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "How often each row is measured (300)", "N" },
    { "heap", 0, 0, G_OPTION_ARG_INT, &heap_mib, "The heap of the large host (1024)", "MIB" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &asked, NULL, "[ROW…]" },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *directory = NULL;
  char             content[FILE_SIZE] = { 0 };
  Bench            self = { .directory_fd = -1 };

  if (argc == 4 && strcmp (argv[1], "--serve") == 0)
    return bench_serve (argv[2], (gsize) g_ascii_strtoull (argv[3], NULL, 10) << 20);

  context = g_option_context_new (NULL);
  g_option_context_add_main_entries (context, entries, NULL);
  bench_check (g_option_context_parse (context, &argc, &argv, &error), "options", error);
  bench_check (rounds > 0 && heap_mib > 0, "options", NULL);
  remaining = bench_complete_names (asked);

  directory = g_dir_make_tmp ("sandbox-bench-XXXXXX", &error);
  bench_check (directory != NULL, "a directory", error);
  bench_open_default (&self, directory);
  for (BenchMode mode = 0; mode < BENCH_N_MODES; mode++)
    self.beside[mode] = bench_open_beside (mode);
  bench_open_unlayered (&self);
  self.bare = bench_bare_new (directory);
  self.content = g_bytes_new (content, sizeof content);
  bench_fill_workspace (&self, (const char *const *) remaining);
  bench_make_idle (&self);
  if (bench_needs_hosts ((const char *const *) remaining))
    {
      bench_start_host (&self, &self.hosts[0], argv[0], 0);
      bench_start_host (&self, &self.hosts[1], argv[0], (guint) heap_mib);
    }
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      rows[i].times = g_array_new (FALSE, FALSE, sizeof (double));
      rows[i].beside = g_array_new (FALSE, FALSE, sizeof (double));
    }

  bench_measure (&self, (const char *const *) remaining, (guint) rounds);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      bench_sort (rows[i].times);
      bench_sort (rows[i].beside);
    }
  if (json)
    bench_print_json (&self, (const char *const *) remaining);
  else
    bench_print_table (&self, (const char *const *) remaining, (guint) rounds);

  if (bench_needs_hosts ((const char *const *) remaining))
    {
      bench_end_host (&self.hosts[0]);
      bench_end_host (&self.hosts[1]);
    }
  bench_remove_idle (&self);
  bench_close_beside (self.unlayered);
  for (BenchMode mode = 0; mode < BENCH_N_MODES; mode++)
    bench_close_beside (self.beside[mode]);
  bench_bare_free (self.bare);
  bench_empty_workspace (&self);
  bench_close_session (&self);
  rmdir (directory);

  return !json && bench_count_missed () > 0 ? 1 : 0;
}
