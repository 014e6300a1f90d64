/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bench-shared.h"

#include "sandbox-bubblewrap-arguments.h"
#include "sandbox-bubblewrap-sources.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct _BenchBare
{
  GPtrArray *argv;
  int        fds[SANDBOX_BUBBLEWRAP_FD_SLOTS];
};

/* ---- What it is compared to --------------------------------------------------------------------------------------- */

void
bench_wait (pid_t pid)
{
  int status = 0;

  while (waitpid (pid, &status, 0) < 0)
    bench_check (errno == EINTR, "waitpid", NULL);
  bench_check (WIFEXITED (status) && WEXITSTATUS (status) == 0, "a program of the comparison failed", NULL);
}

/* A plain process with its output captured, as a run does it */
double
bench_spawn_true (void)
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
 * is process 1, nothing but the program is in the sandbox, and bwrap binds the workspace. Of one thread: the files that bwrap
 * reads have one position. */
BenchBare *
bench_bare_new (const char *workspace)
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
  BenchBare                        *self = g_new0 (BenchBare, 1);
  const SandboxBubblewrapNamespaces namespaces = { .guest_uid = 1000, .guest_gid = 1000 };
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxBubblewrapSources) sources = NULL;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autoptr (GBytes) arguments = NULL;
  g_autoptr (GError) error = NULL;
  const char *at = NULL;
  const char *end = NULL;
  gsize       size = 0;

  sources = sandbox_bubblewrap_sources_new (profile, workspace, NULL, NULL, SANDBOX_BUBBLEWRAP_BIND_BY_PATH, &error);
  if (sources != NULL)
    plan = sandbox_bubblewrap_sources_plan (sources, profile, SANDBOX_PROC_MODE_FRESH, FALSE,
                                            SANDBOX_BUBBLEWRAP_BIND_BY_PATH, workspace, &error);
  bench_check (plan != NULL, "plan", error);
  arguments = sandbox_bubblewrap_arguments_new (&namespaces, plan);

  self->argv = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (self->argv, g_strdup ("bwrap"));
  at = g_bytes_get_data (arguments, &size);
  for (end = at + size; at < end; at += strlen (at) + 1)
    if (strcmp (at, SANDBOX_BUBBLEWRAP_AGENT) == 0)
      g_ptr_array_set_size (self->argv, (int) self->argv->len - 4); /* --perms MODE --file FD */
    else if (strcmp (at, "--as-pid-1") != 0)
      g_ptr_array_add (self->argv, g_strdup (at));
  g_ptr_array_add (self->argv, g_strdup ("--chdir"));
  g_ptr_array_add (self->argv, g_strdup ("/workspace"));
  g_ptr_array_add (self->argv, g_strdup ("/usr/bin/true"));
  g_ptr_array_add (self->argv, NULL);

  for (guint i = 0; i < SANDBOX_BUBBLEWRAP_FD_SLOTS; i++)
    {
      const char *text = i < G_N_ELEMENTS (files) ? files[i] : NULL;
      int         fd = -1;

      self->fds[i] = -1;
      if (text == NULL)
        continue;
      fd = memfd_create ("bench", MFD_CLOEXEC);
      bench_check (fd >= 0 && write (fd, text, strlen (text)) == (ssize_t) strlen (text), "memfd_create", NULL);
      /* Out of the way of the numbers that bwrap is told */
      self->fds[i] = fcntl (fd, F_DUPFD_CLOEXEC, 100);
      bench_check (self->fds[i] >= 0, "fcntl", NULL);
      close (fd);
    }

  return self;
}

double
bench_bare_run (BenchBare *self)
{
  char *const                envp[] = { NULL };
  posix_spawn_file_actions_t actions;
  pid_t                      pid = -1;
  double                     begin = bench_now ();

  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2 (&actions, 0, 1);
  for (guint i = 0; i < G_N_ELEMENTS (self->fds); i++)
    if (self->fds[i] >= 0)
      {
        lseek (self->fds[i], 0, SEEK_SET);
        posix_spawn_file_actions_adddup2 (&actions, self->fds[i], (int) i);
      }
  errno = posix_spawn (&pid, "/usr/bin/bwrap", &actions, NULL, (char *const *) self->argv->pdata, envp);
  bench_check (errno == 0, "posix_spawn", NULL);
  posix_spawn_file_actions_destroy (&actions);
  bench_wait (pid);

  return bench_now () - begin;
}

void
bench_bare_free (BenchBare *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->fds); i++)
    if (self->fds[i] >= 0)
      close (self->fds[i]);
  g_ptr_array_unref (self->argv);
  g_free (self);
}

/* ---- The backend under test ------------------------------------------------------------------------------------------- */

SandboxBackend *
bench_new_backend (BenchMode   mode,
                   const char *state)
{
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  backend = sandbox_registry_create_backend (sandbox_registry_get_default (), "bubblewrap", state, &error);
  bench_check (backend != NULL, "the backend", error);
  g_object_set (backend, "nested", mode != BENCH_ONE_BWRAP, NULL);
  if (mode == BENCH_DISPATCH)
    g_object_set (backend, "armed-slots", 0u, NULL);

  return g_steal_pointer (&backend);
}

/* With slots, as many armed as usual */
SandboxBackend *
bench_new_default_backend (const char *state)
{
  return bench_new_backend (BENCH_ARMED, state);
}

double
bench_run_true (SandboxSession *session)
{
  const char *const argv[] = { "/usr/bin/true", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  double begin = bench_now ();
  double end = 0;

  result = sandbox_session_run (session, command, NULL, &error);
  end = bench_now ();
  bench_check (result != NULL && sandbox_result_check (result, &error), "run", error);

  return end - begin;
}
