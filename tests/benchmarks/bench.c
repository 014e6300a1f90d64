/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bench [--json] [--rounds N] [--heap MIB] [ROW...]
 *
 * Everything is measured in one run, round by round, so that what else the machine does falls on all rows alike: ratios
 * between rows mean something, times on a machine that others use do not.
 *
 * Whether the size of the host matters is measured in two processes of their own, which differ in nothing but a heap that
 * one of them has filled; they take turns within a round.
 *
 * The table says which rows took longer than they may, and then the exit status is 1.
 */

#include <sandbox-glib.h>

#include "sandbox-bubblewrap-arguments.h"
#include "sandbox-bubblewrap-sources.h"

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
#include <sys/wait.h>
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
  SandboxCommand *command;
  GBytes         *content;
  GPtrArray      *bare_argv;
  int             bare_fds[SANDBOX_BUBBLEWRAP_FD_SLOTS];
  BenchHost       hosts[2];  /* without and with a heap */
  SandboxBackend *store;     /* whose sessions are kept, in a directory of its own */
  SandboxState   *idle;      /* of one that has been stopped */
  Bench          *unlayered; /* whose commands are held by namespaces and mounts alone */
};

static double
bench_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);

  return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static void
bench_check (gboolean      good,
             const char   *what,
             const GError *error)
{
  if (good)
    return;

  g_printerr ("bench: %s: %s\n", what, error != NULL ? error->message : g_strerror (errno));
  exit (1);
}

/* ---- The session under test ------------------------------------------------------------------------------------- */

static void
bench_open_session (Bench      *self,
                    const char *directory)
{
  const char *const argv[] = { "/usr/bin/true", NULL };
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  self->directory = g_strdup (directory);
  self->directory_fd = open (directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  bench_check (self->directory_fd >= 0, directory, NULL);
  backend = sandbox_registry_create_backend (sandbox_registry_get_default (), "bubblewrap", NULL, &error);
  bench_check (backend != NULL, "the backend", error);
  sandbox_create_options_set_workspace_path (options, directory);
  self->handle = sandbox_backend_create (backend, options, NULL, &error);
  bench_check (self->handle != NULL, "the session", error);
  self->session = sandbox_handle_get_session (self->handle);
  self->command = sandbox_command_new (argv);
}

static void
bench_close_session (Bench *self)
{
  g_autoptr (GError) error = NULL;

  bench_check (sandbox_handle_stop (self->handle, NULL, &error), "stop", error);
  g_clear_object (&self->command);
  g_clear_object (&self->handle);
  close (self->directory_fd);
  g_free (self->directory);
}

static double
bench_run (Bench *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxResult) result = NULL;
  double begin = bench_now ();
  double end = 0;

  result = sandbox_session_run (self->session, self->command, NULL, &error);
  end = bench_now ();
  bench_check (result != NULL && sandbox_result_check (result, &error), "run", error);

  return end - begin;
}

/* By an agent that was built without Landlock, filter and drop of privileges. What a command is limited by stays. */
static void
bench_open_unlayered (Bench *self)
{
  g_autofree char *agent = g_strdup (g_getenv ("SANDBOX_AGENT_PATH"));
  g_autofree char *directory = NULL;
  g_autoptr (GError) error = NULL;

  directory = g_dir_make_tmp ("sandbox-bench-XXXXXX", &error);
  bench_check (directory != NULL, "a directory", error);
  self->unlayered = g_new0 (Bench, 1);
  g_setenv ("SANDBOX_AGENT_PATH", BENCH_AGENT, TRUE);
  bench_open_session (self->unlayered, directory);
  if (agent != NULL)
    g_setenv ("SANDBOX_AGENT_PATH", agent, TRUE);
  else
    g_unsetenv ("SANDBOX_AGENT_PATH");
}

static void
bench_close_unlayered (Bench *self)
{
  g_autofree char *directory = g_strdup (self->unlayered->directory);

  bench_close_session (self->unlayered);
  rmdir (directory);
  g_clear_pointer (&self->unlayered, g_free);
}

static double
bench_run_unlayered (Bench *self)
{
  return bench_run (self->unlayered);
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
  g_autofree char         *state = g_build_filename (self->directory, "state", NULL);
  g_autofree char         *backend = g_build_filename (state, "bubblewrap", NULL);
  static const char *const names[] = { "templates", "sessions", "aside" };
  g_autoptr (GError) error = NULL;

  bench_check (sandbox_backend_delete_session (self->store, self->idle, NULL, &error), "delete_session", error);
  g_clear_object (&self->idle);
  g_clear_object (&self->store);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (backend, names[i], NULL);

      rmdir (path);
    }
  rmdir (backend);
  rmdir (state);
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

/* ---- What it is compared to --------------------------------------------------------------------------------------- */

static void
bench_wait (pid_t pid)
{
  int status = 0;

  while (waitpid (pid, &status, 0) < 0)
    bench_check (errno == EINTR, "waitpid", NULL);
  bench_check (WIFEXITED (status) && WEXITSTATUS (status) == 0, "a program of the comparison failed", NULL);
}

/* A plain process with its output captured. */
static double
bench_spawn (Bench *self)
{
  char *const                argv[] = { (char *) "/usr/bin/true", NULL };
  char *const                envp[] = { (char *) "PATH=/usr/bin:/bin", NULL };
  posix_spawn_file_actions_t actions;
  int                        pipes[2][2];
  pid_t                      pid = -1;
  double                     begin = bench_now ();

  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDONLY, 0);
  for (guint i = 0; i < 2; i++)
    {
      bench_check (pipe2 (pipes[i], O_CLOEXEC) == 0, "pipe2", NULL);
      posix_spawn_file_actions_adddup2 (&actions, pipes[i][1], 1 + (int) i);
    }
  errno = posix_spawn (&pid, argv[0], &actions, NULL, argv, envp);
  bench_check (errno == 0, "posix_spawn", NULL);
  posix_spawn_file_actions_destroy (&actions);
  for (guint i = 0; i < 2; i++)
    {
      char buffer[64];

      close (pipes[i][1]);
      bench_check (read (pipes[i][0], buffer, sizeof buffer) == 0, "read", NULL);
      close (pipes[i][0]);
    }
  bench_wait (pid);

  return bench_now () - begin;
}

/* The backend's own arguments, so that mounts and namespaces are the same, but for what belongs to the agent: bwrap itself
 * is process 1, nothing but the program is in the sandbox, and bwrap binds the workspace. */
static void
bench_prepare_bare (Bench *self)
{
  static const char *const files[] = {
    [SANDBOX_BUBBLEWRAP_FD_FILES + SANDBOX_BUBBLEWRAP_FILE_PASSWD] = "root:x:0:0:root:/workspace:/bin/sh\nsandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n",
    [SANDBOX_BUBBLEWRAP_FD_FILES +
        SANDBOX_BUBBLEWRAP_FILE_GROUP] = "root:x:0:\nsandbox:x:1000:\n",
    [SANDBOX_BUBBLEWRAP_FD_FILES +
        SANDBOX_BUBBLEWRAP_FILE_HOSTS] = "127.0.0.1 localhost sandbox\n",
    [SANDBOX_BUBBLEWRAP_FD_FILES +
        SANDBOX_BUBBLEWRAP_FILE_NSSWITCH] = "passwd: files\ngroup: files\nhosts: files dns\n",
  };
  const SandboxBubblewrapNamespaces namespaces = { .guest_uid = 1000, .guest_gid = 1000 };
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxBubblewrapSources) sources = NULL;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autoptr (GBytes) arguments = NULL;
  g_autoptr (GError) error = NULL;
  const char *at = NULL;
  const char *end = NULL;
  gsize       size = 0;

  sources = sandbox_bubblewrap_sources_new (profile, self->directory, NULL, NULL, SANDBOX_BUBBLEWRAP_BIND_BY_PATH, &error);
  if (sources != NULL)
    plan = sandbox_bubblewrap_sources_plan (sources, profile, SANDBOX_PROC_MODE_FRESH, FALSE,
                                            SANDBOX_BUBBLEWRAP_BIND_BY_PATH, self->directory, &error);
  bench_check (plan != NULL, "plan", error);
  arguments = sandbox_bubblewrap_arguments_new (&namespaces, plan);

  self->bare_argv = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (self->bare_argv, g_strdup ("bwrap"));
  at = g_bytes_get_data (arguments, &size);
  for (end = at + size; at < end; at += strlen (at) + 1)
    if (strcmp (at, SANDBOX_BUBBLEWRAP_AGENT) == 0)
      g_ptr_array_set_size (self->bare_argv, (int) self->bare_argv->len - 4); /* --perms MODE --file FD */
    else if (strcmp (at, "--as-pid-1") != 0)
      g_ptr_array_add (self->bare_argv, g_strdup (at));
  g_ptr_array_add (self->bare_argv, g_strdup ("--chdir"));
  g_ptr_array_add (self->bare_argv, g_strdup ("/workspace"));
  g_ptr_array_add (self->bare_argv, g_strdup ("/usr/bin/true"));
  g_ptr_array_add (self->bare_argv, NULL);

  for (guint i = 0; i < SANDBOX_BUBBLEWRAP_FD_SLOTS; i++)
    {
      const char *text = i < G_N_ELEMENTS (files) ? files[i] : NULL;
      int         fd = -1;

      self->bare_fds[i] = -1;
      if (text == NULL)
        continue;
      fd = memfd_create ("bench", MFD_CLOEXEC);
      bench_check (fd >= 0 && write (fd, text, strlen (text)) == (ssize_t) strlen (text), "memfd_create", NULL);
      /* Out of the way of the numbers that bwrap is told */
      self->bare_fds[i] = fcntl (fd, F_DUPFD_CLOEXEC, 100);
      bench_check (self->bare_fds[i] >= 0, "fcntl", NULL);
      close (fd);
    }
}

static double
bench_bare (Bench *self)
{
  char *const                envp[] = { NULL };
  posix_spawn_file_actions_t actions;
  pid_t                      pid = -1;
  double                     begin = bench_now ();

  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2 (&actions, 0, 1);
  for (guint i = 0; i < G_N_ELEMENTS (self->bare_fds); i++)
    if (self->bare_fds[i] >= 0)
      {
        lseek (self->bare_fds[i], 0, SEEK_SET);
        posix_spawn_file_actions_adddup2 (&actions, self->bare_fds[i], (int) i);
      }
  errno = posix_spawn (&pid, "/usr/bin/bwrap", &actions, NULL, (char *const *) self->bare_argv->pdata, envp);
  bench_check (errno == 0, "posix_spawn", NULL);
  posix_spawn_file_actions_destroy (&actions);
  bench_wait (pid);

  return bench_now () - begin;
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

  bench_open_session (&self, directory);
  while (read (0, &byte, 1) == 1)
    {
      double time = bench_run (&self);

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
  { "posix-spawn-true", NULL, bench_spawn, 1, 0, 0 },
  { "run-true-bare-bwrap", "posix-spawn-true", bench_bare, 1, 0, 0 },
  { "run-true-one-bwrap", "run-true-bare-bwrap", bench_run, 1, 1.25, 0 },
  { "run-true-no-layers", NULL, bench_run_unlayered, 1, 0, 0 },
  { "run-true-layers", "run-true-no-layers", bench_run, 1, 1.10, 0 },
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

static gboolean
bench_is_wanted (const BenchRow    *row,
                 const char *const *names)
{
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

static void
bench_measure (Bench             *self,
               const char *const *names,
               guint              rounds)
{
  for (guint round = 0; round < WARM_UP_ROUNDS + rounds; round++)
    for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
      {
        /* Each round begins with another row: none always follows the same one. */
        BenchRow *row = &rows[(round + i) % G_N_ELEMENTS (rows)];

        if (!bench_is_wanted (row, names))
          continue;
        for (guint call = 0; call < row->calls; call++)
          {
            double time = row->func (self);

            if (round >= WARM_UP_ROUNDS)
              g_array_append_val (row->times, time);
          }
      }
}

static int
bench_compare (gconstpointer a,
               gconstpointer b)
{
  double left = *(const double *) a;
  double right = *(const double *) b;

  return left < right ? -1 : left > right ? 1
                                          : 0;
}

/* Of sorted times; 0 without any. */
static double
bench_percentile (const BenchRow *row,
                  guint           percent)
{
  return row->times->len > 0 ? g_array_index (row->times, double, (row->times->len - 1) * percent / 100) : 0;
}

/* The p50 of the row that this one is compared to; 0 without one. */
static double
bench_baseline (const BenchRow *row)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows) && row->baseline != NULL; i++)
    if (strcmp (rows[i].name, row->baseline) == 0)
      return bench_percentile (&rows[i], 50);

  return 0;
}

static double
bench_ratio (const BenchRow *row)
{
  double baseline = bench_baseline (row);

  return baseline > 0 ? bench_percentile (row, 50) / baseline : 0;
}

static gboolean
bench_is_kept (const BenchRow *row)
{
  return row->bar <= 0 || bench_percentile (row, 50) <= row->bar * bench_baseline (row) + row->slack;
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
bench_print_json (const char *const *names)
{
  const char *separator = "[";

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const BenchRow *row = &rows[i];
      double          ratio = bench_ratio (row);

      if (!bench_is_wanted (row, names))
        continue;
      if (ratio > 0)
        printf ("%s\n  {\"name\": \"%s\", \"baseline\": \"%s\", \"ratio\": %.3f", separator, row->name, row->baseline, ratio);
      else
        printf ("%s\n  {\"name\": \"%s\", \"baseline\": null, \"ratio\": null", separator, row->name);
      printf (", \"p50_us\": %.1f, \"p95_us\": %.1f}", bench_percentile (row, 50), bench_percentile (row, 95));
      separator = ",";
    }
  printf ("\n]\n");
}

static void
bench_print_table (const char *const *names,
                   guint              rounds)
{
  printf ("%u rounds, as uid %u; times in microseconds\n\n", rounds, (guint) getuid ());
  printf ("%-22s %10s %10s %8s  %s\n", "row", "p50", "p95", "ratio", "of");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const BenchRow *row = &rows[i];
      double          ratio = bench_ratio (row);

      if (!bench_is_wanted (row, names))
        continue;
      printf ("%-22s %10.1f %10.1f", row->name, bench_percentile (row, 50), bench_percentile (row, 95));
      if (ratio > 0)
        printf (" %8.3f  %s", ratio, row->baseline);
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
  g_auto (GStrv) remaining = NULL;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print the rows as JSON", NULL },
    { "rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "How often each row is measured (300)", "N" },
    { "heap", 0, 0, G_OPTION_ARG_INT, &heap_mib, "The heap of the large host (1024)", "MIB" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &remaining, NULL, "[ROW…]" },
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

  directory = g_dir_make_tmp ("sandbox-bench-XXXXXX", &error);
  bench_check (directory != NULL, "a directory", error);
  bench_open_session (&self, directory);
  bench_open_unlayered (&self);
  bench_prepare_bare (&self);
  self.content = g_bytes_new (content, sizeof content);
  bench_fill_workspace (&self, (const char *const *) remaining);
  bench_make_idle (&self);
  if (bench_needs_hosts ((const char *const *) remaining))
    {
      bench_start_host (&self, &self.hosts[0], argv[0], 0);
      bench_start_host (&self, &self.hosts[1], argv[0], (guint) heap_mib);
    }
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    rows[i].times = g_array_new (FALSE, FALSE, sizeof (double));

  bench_measure (&self, (const char *const *) remaining, (guint) rounds);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_array_sort (rows[i].times, bench_compare);
  if (json)
    bench_print_json ((const char *const *) remaining);
  else
    bench_print_table ((const char *const *) remaining, (guint) rounds);

  if (bench_needs_hosts ((const char *const *) remaining))
    {
      bench_end_host (&self.hosts[0]);
      bench_end_host (&self.hosts[1]);
    }
  bench_remove_idle (&self);
  bench_close_unlayered (&self);
  bench_empty_workspace (&self);
  bench_close_session (&self);
  rmdir (directory);

  return !json && bench_count_missed () > 0 ? 1 : 0;
}
