/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A session in real sandboxes, and what a test looks at from outside. A sandbox that does not start fails the test.
 *
 * TEST_GUEST is the path of the program of tests/attack/probes/guest.c; it is in each workspace as "guest".
 */
#pragma once

#include <sandbox-glib.h>

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test-helpers.h"

/* Nothing of a command is alive so long after its end, and what looks for it looks that often. */
#define TEST_GONE_US (3 * G_USEC_PER_SEC)
#define TEST_LOOK_US (100 * 1000)

typedef struct
{
  char            *workspace; /* on the host */
  SandboxRegistry *registry;
  SandboxBackend  *backend;
  SandboxHandle   *handle;
  SandboxSession  *session; /* the handle's */
} TestSandbox;

/* Puts a program into a directory on the host, for whoever owns the directory. */
static inline void
test_install_program (const char *directory,
                      const char *name,
                      const char *source)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);
  g_autofree char *program = NULL;
  g_autoptr (GError) error = NULL;
  struct stat info;
  gsize       size = 0;

  g_file_get_contents (source, &program, &size, &error);
  g_assert_no_error (error);
  g_file_set_contents_full (path, program, size, G_FILE_SET_CONTENTS_NONE, 0755, &error);
  g_assert_no_error (error);
  g_assert_cmpint (chmod (path, 0755), ==, 0);
  g_assert_cmpint (stat (directory, &info), ==, 0);
  if (geteuid () == 0)
    g_assert_cmpint (chown (path, info.st_uid, info.st_gid), ==, 0);
}

static inline char *
test_make_workspace (void)
{
  g_autoptr (GError) error = NULL;
  char *workspace = g_dir_make_tmp ("sandbox-workspace-XXXXXX", &error);

  g_assert_no_error (error);
  test_install_program (workspace, "guest", TEST_GUEST);

  return workspace;
}

/* Whether commands have slots in a sandbox of their session, or each has a sandbox by bwrap */
#ifndef TEST_NESTED
# define TEST_NESTED TRUE
#endif

/* How many children of this process a session that is open has: the bwrap of its sandbox */
#ifndef TEST_N_KEPT
# define TEST_N_KEPT (TEST_NESTED ? 1 : 0)
#endif

/* How many descriptors a session that is open may have more than it had when it answered: the sockets of slots, which are made
 * when nobody waits for anything else */
#define TEST_N_ARMED_FDS (TEST_NESTED ? 2 : 0)

/* In a sandbox with one command there are so many processes beside that command's: its session's agent, those of two slots that
 * wait, each with the process of a command to come, and for a moment the agent of the command before. For the kernel all are of
 * the command's user, so a limit of processes comes on top. */
#define TEST_N_AGENTS_MAX (TEST_NESTED ? 6 : 0)

/* What its commands have in common */
#ifndef TEST_ISOLATION
# define TEST_ISOLATION SANDBOX_ISOLATION_PER_COMMAND
#endif

static inline SandboxBackend *
test_new_backend (SandboxRegistry *registry)
{
  g_autoptr (GError) error = NULL;
  SandboxBackend *backend = sandbox_registry_create_backend (registry, "bubblewrap", NULL, &error);

  g_assert_no_error (error);
  if (!TEST_NESTED)
    g_object_set (backend, "nested", FALSE, NULL);

  return backend;
}

static inline SandboxHandle *
test_create (SandboxBackend *backend,
             const char     *workspace,
             GError        **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  sandbox_create_options_set_workspace_path (options, workspace);
  sandbox_create_options_set_isolation (options, TEST_ISOLATION);

  return sandbox_backend_create (backend, options, NULL, error);
}

static inline void
test_sandbox_set_up (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  self->workspace = test_make_workspace ();
  self->registry = sandbox_registry_new ();
  self->backend = test_new_backend (self->registry);
  self->handle = test_create (self->backend, self->workspace, &error);
  g_assert_no_error (error);
  self->session = sandbox_handle_get_session (self->handle);
}

static inline void
test_sandbox_tear_down (TestSandbox  *self,
                        gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  sandbox_handle_stop (self->handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&self->handle);
  g_clear_object (&self->backend);
  g_clear_object (&self->registry);
  test_remove_tree (self->workspace);
  g_clear_pointer (&self->workspace, g_free);
}

static inline SandboxCommand *
test_command_new_va (const char *program,
                     va_list     arguments)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  for (const char *argument = program; argument != NULL; argument = va_arg (arguments, const char *))
    g_ptr_array_add (argv, (gpointer) argument);
  g_ptr_array_add (argv, NULL);

  return sandbox_command_new ((const char *const *) argv->pdata);
}

static inline SandboxCommand *test_command_new (const char *program,
                                                ...) G_GNUC_NULL_TERMINATED;

static inline SandboxCommand *
test_command_new (const char *program,
                  ...)
{
  SandboxCommand *command = NULL;
  va_list         arguments;

  va_start (arguments, program);
  command = test_command_new_va (program, arguments);
  va_end (arguments);

  return command;
}

static inline SandboxResult *
test_run_command (TestSandbox    *self,
                  SandboxCommand *command)
{
  g_autoptr (GError) error = NULL;
  SandboxResult *result = sandbox_session_run (self->session, command, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (result);

  return result;
}

static inline SandboxResult *test_run (TestSandbox *self,
                                       const char  *program,
                                       ...) G_GNUC_NULL_TERMINATED;

static inline SandboxResult *
test_run (TestSandbox *self,
          const char  *program,
          ...)
{
  g_autoptr (SandboxCommand) command = NULL;
  va_list arguments;

  va_start (arguments, program);
  command = test_command_new_va (program, arguments);
  va_end (arguments);

  return test_run_command (self, command);
}

/* The same for what must not start; returns the error. */
static inline GError *test_refused (TestSandbox *self,
                                    const char  *program,
                                    ...) G_GNUC_NULL_TERMINATED;

static inline GError *
test_refused (TestSandbox *self,
              const char  *program,
              ...)
{
  g_autoptr (SandboxCommand) command = NULL;
  g_autoptr (SandboxResult) result = NULL;
  GError *error = NULL;
  va_list arguments;

  va_start (arguments, program);
  command = test_command_new_va (program, arguments);
  va_end (arguments);
  result = sandbox_session_run (self->session, command, NULL, &error);
  g_assert_null (result);
  g_assert_nonnull (error);

  return error;
}

/* A limit of processes as a command finds it, which asked for @wanted. */
static inline void
test_assert_process_limit (guint64 found,
                           guint64 wanted)
{
  g_assert_cmpuint (found, >=, wanted);
  g_assert_cmpuint (found, <=, wanted + TEST_N_AGENTS_MAX);
}

/* Runs a script, which must exit with 0, and returns what it printed. */
static inline char *
test_sh (TestSandbox *self,
         const char  *script)
{
  g_autoptr (SandboxResult) result = test_run (self, "sh", "-c", script, NULL);
  g_autofree char *errors = sandbox_result_dup_stderr_text (result);

  if (sandbox_result_get_outcome (result) != SANDBOX_OUTCOME_EXITED || sandbox_result_get_exit_status (result) != 0)
    g_error ("“%s” ended with outcome %d, status %d: %s", script, sandbox_result_get_outcome (result),
             sandbox_result_get_exit_status (result), errors);

  return sandbox_result_dup_stdout_text (result);
}

static inline void
test_assert_exited (SandboxResult *result,
                    int            status)
{
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpint (sandbox_result_get_exit_status (result), ==, status);
  g_assert_cmpint (sandbox_result_get_signal (result), ==, 0);
}

static inline void
test_assert_signaled (SandboxResult *result,
                      int            signum)
{
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_SIGNALED);
  g_assert_cmpint (sandbox_result_get_exit_status (result), ==, -1);
  g_assert_cmpint (sandbox_result_get_signal (result), ==, signum);
}

static inline void
test_assert_output (SandboxResult *result,
                    const char    *output)
{
  g_autofree char *text = sandbox_result_dup_stdout_text (result);

  g_assert_cmpstr (text, ==, output);
}

/* ---- From outside: the host's /proc ---- */

/* A word that nothing else on this machine has in its arguments. */
static inline char *
test_marker_new (void)
{
  return g_strdup_printf ("marker-%d-%08x%08x", (int) getpid (), g_random_int (), g_random_int ());
}

/* The pids of the host's processes; with no directory entry missed that was there all the time. */
static inline GArray *
test_list_processes (void)
{
  g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
  GArray     *pids = g_array_new (FALSE, FALSE, sizeof (pid_t));
  const char *name = NULL;

  g_assert_nonnull (proc);
  while ((name = g_dir_read_name (proc)) != NULL)
    {
      pid_t pid = (pid_t) g_ascii_strtoll (name, NULL, 10);

      if (pid > 0)
        g_array_append_val (pids, pid);
    }

  return pids;
}

/* A file of /proc/PID, or NULL when that is gone or may not be read. */
static inline char *
test_read_proc (pid_t       pid,
                const char *file,
                gsize      *size)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/%s", (int) pid, file);
  char            *text = NULL;

  return g_file_get_contents (path, &text, size, NULL) ? text : NULL;
}

static inline gboolean
test_bytes_have (const char *bytes,
                 gsize       size,
                 const char *word)
{
  return bytes != NULL && memmem (bytes, size, word, strlen (word)) != NULL;
}

/* The processes that have @marker in their arguments. */
static inline GArray *
test_marker_find (const char *marker)
{
  g_autoptr (GArray) pids = test_list_processes ();
  GArray *found = g_array_new (FALSE, FALSE, sizeof (pid_t));

  for (guint i = 0; i < pids->len; i++)
    {
      pid_t            pid = g_array_index (pids, pid_t, i);
      gsize            size = 0;
      g_autofree char *arguments = test_read_proc (pid, "cmdline", &size);

      if (test_bytes_have (arguments, size, marker))
        g_array_append_val (found, pid);
    }

  return found;
}

static inline guint
test_marker_count (const char *marker)
{
  g_autoptr (GArray) found = test_marker_find (marker);

  return found->len;
}

static inline void
test_marker_assert_gone (const char *marker)
{
  gint64 end = g_get_monotonic_time () + TEST_GONE_US;

  while (test_marker_count (marker) > 0)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_usleep (TEST_LOOK_US);
    }
}

/* Waits until @marker is in the arguments of at least @count processes. */
static inline void
test_marker_wait (const char *marker,
                  guint       count)
{
  gint64 end = g_get_monotonic_time () + TEST_LIMIT_US;

  while (test_marker_count (marker) < count)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_usleep (2000);
    }
}

/* The number after @key in /proc/PID/status, in base @base; -1 when the process is gone. */
static inline gint64
test_read_status (pid_t       pid,
                  const char *key,
                  int         base)
{
  g_autofree char *status = test_read_proc (pid, "status", NULL);
  g_autofree char *line = g_strconcat ("\n", key, ":", NULL);
  const char      *found = status != NULL ? strstr (status, line) : NULL;

  return found != NULL ? g_ascii_strtoll (found + strlen (line), NULL, base) : -1;
}

/* All that descend from @top, those that are nearer first; with the dead. */
static inline GArray *
test_list_descendants (pid_t top)
{
  g_autoptr (GArray) pids = test_list_processes ();
  GArray  *found = g_array_new (FALSE, FALSE, sizeof (pid_t));
  gboolean more = TRUE;

  g_array_append_val (found, top);
  while (more)
    {
      more = FALSE;
      for (guint i = 0; i < pids->len; i++)
        {
          pid_t  pid = g_array_index (pids, pid_t, i);
          gint64 parent = pid != 0 ? test_read_status (pid, "PPid", 10) : -1;

          for (guint j = 0; j < found->len && parent > 0; j++)
            if (g_array_index (found, pid_t, j) == parent)
              {
                g_array_append_val (found, pid);
                g_array_index (pids, pid_t, i) = 0;
                more = TRUE;
                break;
              }
        }
    }
  g_array_remove_index (found, 0);

  return found;
}

static inline gboolean
test_is_dead (pid_t pid)
{
  g_autofree char *status = test_read_proc (pid, "status", NULL);

  return status == NULL || strstr (status, "\nState:\tZ") != NULL || strstr (status, "\nState:\tX") != NULL;
}

/* Kills the sandboxes, whose launchers are the only children. All of them are dead after this: a command that began in one that
 * is still dying would be lost, and rightly so. */
static inline void
test_kill_sandboxes (void)
{
  g_autoptr (GArray) pids = test_list_descendants (getpid ());

  for (guint i = 0; i < pids->len; i++)
    if (test_read_status (g_array_index (pids, pid_t, i), "PPid", 10) == getpid ())
      kill (g_array_index (pids, pid_t, i), SIGKILL);
  for (guint i = 0; i < pids->len; i++)
    test_wait (test_is_dead (g_array_index (pids, pid_t, i)));
}

/* Children of this process, dead ones that nobody has waited for too. */
static inline guint
test_count_children (void)
{
  g_autoptr (GArray) pids = test_list_processes ();
  guint count = 0;

  for (guint i = 0; i < pids->len; i++)
    if (test_read_status (g_array_index (pids, pid_t, i), "PPid", 10) == getpid ())
      count++;

  return count;
}

/* After an end: no child but those that are kept, no zombie, and no descriptor more than @descriptors. */
static inline void
test_assert_nothing_left (guint descriptors)
{
  gint64 end = g_get_monotonic_time () + TEST_GONE_US;

  while (test_count_children () > TEST_N_KEPT || test_count_descriptors () > descriptors)
    {
      if (g_get_monotonic_time () > end)
        {
          g_assert_cmpuint (test_count_children (), <=, TEST_N_KEPT);
          g_assert_cmpuint (test_count_descriptors (), <=, descriptors);
        }
      if (!g_main_context_iteration (g_main_context_get_thread_default (), FALSE))
        g_usleep (5000);
    }
}

/* The claims on a uid that this process holds; there are none without root. */
static inline guint
test_count_claims (void)
{
  g_autoptr (GDir) descriptors = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name = NULL;
  guint       count = 0;

  g_assert_nonnull (descriptors);
  while ((name = g_dir_read_name (descriptors)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/proc/self/fd", name, NULL);
      g_autofree char *target = g_file_read_link (path, NULL);

      if (target != NULL && g_str_has_prefix (target, "/run/sandbox-glib/uid-"))
        count++;
    }

  return count;
}
