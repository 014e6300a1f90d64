/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A bwrap that is missing, fake, hanging or breaks: no session, nothing runs on the host, and nothing is left. */
#define TEST_N_KEPT 0
#include "../common/test-sandbox.h"

/* A start is given up after ten seconds; an answer comes soon after. */
#define HANGING_US (16 * G_USEC_PER_SEC)

/* A backend without a session, a directory to put programs into, and a workspace. */
typedef struct
{
  SandboxRegistry *registry;
  SandboxBackend  *backend;
  char            *directory;
  char            *workspace;
  char            *witness; /* what a fake that was executed on the host could write */
  guint            descriptors;
} Launch;

static void
launch_set_up (Launch       *self,
               gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  self->registry = sandbox_registry_new ();
  self->backend = test_new_backend (self->registry);
  self->workspace = test_make_workspace ();
  self->directory = g_dir_make_tmp ("sandbox-launch-XXXXXX", &error);
  g_assert_no_error (error);
  g_assert_cmpint (chmod (self->directory, 0755), ==, 0);
  self->witness = g_build_filename (self->directory, "witness", NULL);

  /* What stays for ever is there after the first session. */
  handle = test_create (self->backend, self->workspace, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_handle_stop (handle, NULL, &error));
  g_clear_object (&handle);
  g_assert_cmpuint (test_count_claims (), ==, 0);
  self->descriptors = test_count_descriptors ();
}

static void
launch_tear_down (Launch       *self,
                  gconstpointer unused)
{
  g_clear_object (&self->backend);
  g_clear_object (&self->registry);
  test_remove_tree (self->directory);
  test_remove_tree (self->workspace);
  g_clear_pointer (&self->directory, g_free);
  g_clear_pointer (&self->workspace, g_free);
  g_clear_pointer (&self->witness, g_free);
}

static char *
launch_install (Launch     *self,
                const char *name,
                const char *content,
                gssize      size,
                int         mode)
{
  g_autofree char *path = g_build_filename (self->directory, name, NULL);
  g_autoptr (GError) error = NULL;

  g_file_set_contents (path, content, size, &error);
  g_assert_no_error (error);
  g_assert_cmpint (chmod (path, mode), ==, 0);

  return g_steal_pointer (&path);
}

/* A working bwrap of our own. */
static char *
launch_copy_bwrap (Launch *self,
                   int     mode)
{
  g_autofree char *program = NULL;
  gsize            size = 0;

  g_assert_true (g_file_get_contents ("/usr/bin/bwrap", &program, &size, NULL));

  return launch_install (self, "bwrap", program, (gssize) size, mode);
}

/* The message of the refusal, which names @why. */
static char *
launch_refused (Launch     *self,
                const char *executable,
                const char *why)
{
  const guint before = test_count_entries (self->workspace);
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (GError) error = NULL;

  g_object_set (self->backend, "executable", executable, NULL);
  handle = test_create (self->backend, self->workspace, &error);
  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  if (strstr (error->message, why) == NULL)
    g_error ("“%s” is not in “%s”", why, error->message);

  test_assert_nothing_left (self->descriptors);
  g_assert_cmpuint (test_count_claims (), ==, 0);
  g_assert_cmpuint (test_count_entries (self->workspace), ==, before);
  g_assert_false (g_file_test (self->witness, G_FILE_TEST_EXISTS));

  return g_strdup (error->message);
}

static void
test_no_program (Launch       *self,
                 gconstpointer unused)
{
  g_autofree char *missing = g_build_filename (self->directory, "missing", NULL);
  g_autofree char *dangling = g_build_filename (self->directory, "dangling", NULL);
  g_autofree char *plain = launch_copy_bwrap (self, 0644);
  g_autofree char *said = NULL;

  g_test_summary ("Case 10: a bwrap that is missing, a directory, a device or not executable refuses the session");

  g_assert_cmpint (symlink ("nowhere", dangling), ==, 0);
  g_free (launch_refused (self, missing, missing));
  g_free (launch_refused (self, dangling, dangling));
  g_free (launch_refused (self, self->directory, "not an executable file"));
  g_free (launch_refused (self, plain, "not an executable file"));
  g_free (launch_refused (self, "/dev/null", "not an executable file"));
}

static void
test_not_to_be_trusted (Launch       *self,
                        gconstpointer unused)
{
  g_autofree char *path = launch_copy_bwrap (self, 0757);

  g_test_summary ("Case 11: a bwrap that others can write, or that belongs to another user, is not executed");

  g_free (launch_refused (self, path, "others can write to it"));
  g_assert_cmpint (chmod (path, 0775), ==, 0);
  g_free (launch_refused (self, path, "others can write to it"));
  if (geteuid () == 0)
    {
      g_assert_cmpint (chmod (path, 0755), ==, 0);
      g_assert_cmpint (chown (path, 1000, 1000), ==, 0);
      g_free (launch_refused (self, path, "belongs to another user"));
    }
}

static void
test_relative (Launch       *self,
               gconstpointer unused)
{
  const char *const executables[] = { "bwrap", "./bwrap", "" };
  g_autofree char  *script = g_strdup_printf ("#!/bin/sh\necho ran >%s\nexec /usr/bin/bwrap \"$@\"\n", self->witness);
  g_autofree char  *planted = launch_install (self, "bwrap", script, -1, 0755);
  g_autofree char  *before = g_get_current_dir ();
  g_autofree char  *path = g_strdup (g_getenv ("PATH"));
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 11: a bwrap in the working directory, first in PATH, is never what is executed");

  g_assert_cmpint (g_chdir (self->directory), ==, 0);
  g_setenv ("PATH", ".:/usr/bin", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (executables); i++)
    g_free (launch_refused (self, executables[i], "absolute"));

  /* And the default is the system's. */
  backend = test_new_backend (self->registry);
  handle = test_create (backend, self->workspace, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_handle_stop (handle, NULL, &error));
  g_assert_false (g_file_test (self->witness, G_FILE_TEST_EXISTS));
  g_setenv ("PATH", path, TRUE);
  g_assert_cmpint (g_chdir (before), ==, 0);
}

static void
test_fake (Launch       *self,
           gconstpointer unused)
{
  const struct
  {
    const char *script;
    const char *why;
  } fakes[] = {
    { "exit 0", "exit status 0" },
    { "exit 1", "exit status 1" },
    { "kill -KILL $$", "signal 9" },
    { "echo \"bwrap: Can't mount proc on /newroot/proc: Operation not permitted\" >&2; exit 1", "Can't mount proc" },
    { "echo 'bwrap: Kann /proc nicht einhängen' >&2; exit 1", "Kann /proc nicht" },
    { "echo ready; echo '{\"child-pid\": 1}'; exit 0", "exit status 0" },
    { "printf 'a\\377b\\033[31m\\000' >&2; exit 3", "exit status 3" },
    { "printf 'garbage' >&3; exit 0", "broke the protocol of the agent" },
    { "exec 3>&-; exit 0", "step: launcher" },
    /* what ends by itself a little later is not said to have ended by our signal */
    { "exec 3>&-; sleep 0.05; exit 7", "exit status 7" },
    /* what speaks nonsense, or not at all, while it stays alive */
    { "printf 'garbage' >&3; exec sleep 1000", "broke the protocol of the agent" },
    { "exec 3>&-; exec sleep 1000", "signal 9" },
  };

  g_test_summary ("Case 6: a program that only pretends to be bwrap is UNAVAILABLE, whatever it says and in whatever words");

  for (guint i = 0; i < G_N_ELEMENTS (fakes); i++)
    {
      g_autofree char *script = g_strdup_printf ("#!/bin/sh\n%s\n", fakes[i].script);
      g_autofree char *path = launch_install (self, "fake", script, -1, 0755);
      g_autofree char *said = launch_refused (self, path, fakes[i].why);

      g_assert_true (g_utf8_validate (said, -1, NULL));
      g_assert_null (strchr (said, '\033'));
    }
}

static void
test_rubbish (Launch       *self,
              gconstpointer unused)
{
  g_autofree char *path = launch_install (self, "rubbish", "\177ELF rubbish", -1, 0755);
  g_autofree char *said = NULL;

  g_test_summary ("An executable file that is no program is UNAVAILABLE, and the step is named");

  said = launch_refused (self, path, "step: ");
}

static void
test_flood (Launch       *self,
            gconstpointer unused)
{
  g_autofree char *path = launch_install (self, "flood", "#!/bin/sh\nhead -c 20000000 /dev/zero | tr '\\0' x >&2\nexit 1\n", -1, 0755);
  g_autofree char *said = NULL;

  g_test_summary ("A bwrap that says too much neither blocks nor fills an error message");

  said = launch_refused (self, path, "");
  g_assert_cmpuint (strlen (said), <, 2048);
}

static void
test_hanging (Launch       *self,
              gconstpointer unused)
{
  g_autofree char *path = launch_install (self, "hanging", "#!/bin/sh\nexec sleep 1000\n", -1, 0755);
  gint64           before = g_get_monotonic_time ();

  g_test_summary ("A bwrap that hangs is UNAVAILABLE in little more than ten seconds, the step is named, and it is dead");

  g_free (launch_refused (self, path, "step: launcher"));
  g_assert_cmpint (g_get_monotonic_time () - before, <, HANGING_US);
}

static void
test_hanging_cancelled (Launch       *self,
                        gconstpointer unused)
{
  g_autofree char *path = launch_install (self, "hanging", "#!/bin/sh\nexec sleep 1000\n", -1, 0755);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  gint64 before = g_get_monotonic_time ();

  g_test_summary ("A create over a bwrap that hangs can be cancelled, and that kills it");

  g_object_set (self->backend, "executable", path, NULL);
  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_backend_create_async (self->backend, options, cancellable, test_result_cb, &result);
  test_run_for (300);
  g_assert_null (result);
  g_cancellable_cancel (cancellable);
  test_wait (result != NULL);
  handle = sandbox_backend_create_finish (self->backend, result, &error);
  g_assert_null (handle);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 5 * G_USEC_PER_SEC);
  g_clear_object (&result);
  test_assert_nothing_left (self->descriptors);
  g_assert_cmpuint (test_count_claims (), ==, 0);
}

static void
test_breaks_later (Launch       *self,
                   gconstpointer unused)
{
  g_autofree char *path = launch_copy_bwrap (self, 0755);
  g_autofree char *aside = g_build_filename (self->directory, "aside", NULL);
  g_autofree char *script = g_strdup_printf ("#!/bin/sh\necho ran >%s\nexit 0\n", self->witness);
  g_autofree char *program = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  TestSandbox sandbox = { .workspace = self->workspace, .backend = self->backend };
  gsize       size = 0;
  int         fd = -1;

  g_test_summary ("A bwrap that is replaced after the create changes nothing; one that is overwritten is UNAVAILABLE at each run, and "
                  "works again when it is mended");

  /* at each run it is started only where each command has a sandbox */
  g_object_set (self->backend, "nested", FALSE, NULL);
  sandbox_backend_set_max_concurrent_commands (self->backend, 1);
  g_object_set (self->backend, "executable", path, NULL);
  handle = test_create (self->backend, self->workspace, &error);
  g_assert_no_error (error);
  sandbox.session = sandbox_handle_get_session (handle);

  g_assert_cmpint (g_rename (path, aside), ==, 0);
  g_free (launch_install (self, "bwrap", script, -1, 0755));
  g_free (test_sh (&sandbox, "true"));
  g_assert_false (g_file_test (self->witness, G_FILE_TEST_EXISTS));

  /* The very file; as long as one runs, it cannot be opened. */
  test_assert_nothing_left (G_MAXUINT);
  g_assert_true (g_file_get_contents (aside, &program, &size, NULL));
  fd = open (aside, O_WRONLY | O_TRUNC | O_CLOEXEC);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, "#!/bin/sh\nexit 0\n", 17), ==, 17);
  close (fd);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (GError) refused = test_refused (&sandbox, "true", NULL);

      g_assert_error (refused, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
    }

  test_assert_nothing_left (G_MAXUINT);
  fd = open (aside, O_WRONLY | O_TRUNC | O_CLOEXEC);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, program, size), ==, (gssize) size);
  close (fd);
  g_free (test_sh (&sandbox, "true"));

  g_assert_true (sandbox_handle_stop (handle, NULL, &error));
  g_clear_object (&handle);
  test_assert_nothing_left (self->descriptors);
}

static void
test_report (Launch       *self,
             gconstpointer unused)
{
  g_autofree char *path = launch_install (self, "fake", "#!/bin/sh\nexit 1\n", -1, 0755);
  g_autoptr (SandboxReport) bad = NULL;
  g_autoptr (SandboxReport) good = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A probe that fails is a report with the reason; a good one comes as soon as the cause is gone");

  g_object_set (self->backend, "executable", path, NULL);
  bad = sandbox_backend_probe (self->backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_report_get_grade (bad), ==, SANDBOX_GRADE_UNAVAILABLE);
  g_assert_nonnull (strstr (sandbox_report_get_reason (bad), "exit status 1"));
  test_assert_nothing_left (self->descriptors);

  g_object_set (self->backend, "executable", NULL, NULL);
  good = sandbox_backend_probe (self->backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_report_get_grade (good), !=, SANDBOX_GRADE_UNAVAILABLE);
  test_assert_nothing_left (self->descriptors);
}

static void
test_workspace (Launch       *self,
                gconstpointer unused)
{
  g_autofree char *missing = g_build_filename (self->workspace, "missing", NULL);
  g_autofree char *file = g_build_filename (self->workspace, "guest", NULL);
  g_autofree char *closed = g_build_filename (self->directory, "closed", NULL);
  const struct
  {
    const char  *path;
    SandboxError code;
  } cases[] = {
    { missing, SANDBOX_ERROR_NOT_FOUND },
    { file, SANDBOX_ERROR_PATH },
    { "relative", SANDBOX_ERROR_INVALID },
    { "/", SANDBOX_ERROR_INVALID },
    { "/proc", SANDBOX_ERROR_INVALID },
    { "/proc/self/fdinfo", SANDBOX_ERROR_INVALID },
    { "/sys", SANDBOX_ERROR_INVALID },
    { "/usr", SANDBOX_ERROR_INVALID },
    { "/etc", SANDBOX_ERROR_INVALID },
    { closed, SANDBOX_ERROR_DENIED },
  };

  g_test_summary ("A directory that cannot be a workspace refuses the session; one of the host's procfs is none (case 5)");

  g_assert_cmpint (g_mkdir (closed, 0600), ==, 0);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SandboxHandle) handle = NULL;
      g_autoptr (GError) error = NULL;

      handle = test_create (self->backend, cases[i].path, &error);
      g_assert_null (handle);
      g_assert_error (error, SANDBOX_ERROR, (int) cases[i].code);
      test_assert_nothing_left (self->descriptors);
    }
}

static void
add (const char *path,
     void (*test) (Launch *self, gconstpointer unused))
{
  g_test_add (path, Launch, NULL, launch_set_up, test, launch_tear_down);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  add ("/launch/no-program", test_no_program);
  add ("/launch/not-to-be-trusted", test_not_to_be_trusted);
  add ("/launch/relative", test_relative);
  add ("/launch/fake", test_fake);
  add ("/launch/rubbish", test_rubbish);
  add ("/launch/flood", test_flood);
  add ("/launch/hanging", test_hanging);
  add ("/launch/hanging-cancelled", test_hanging_cancelled);
  add ("/launch/breaks-later", test_breaks_later);
  add ("/launch/report", test_report);
  add ("/launch/workspace", test_workspace);

  return g_test_run ();
}
