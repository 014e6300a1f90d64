/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's calls of files while a real guest bends the workspace: each in both forms, with its work done at once and in the pool. */
#include "../common/test-sandbox.h"
#include "../common/test-session-files.h"

typedef struct
{
  TestSandbox sandbox; /* its workspace is TOP/inside */
  char       *top;
  char       *outside;
  char       *before; /* what is outside */
  gboolean    async;
} Files;

static void
files_set_up (Files        *self,
              gconstpointer form)
{
  g_autoptr (GError) error = NULL;

  self->async = g_str_equal (form, "pool");
  self->top = g_dir_make_tmp ("sandbox-files-XXXXXX", &error);
  g_assert_no_error (error);
  self->outside = g_build_filename (self->top, "outside", NULL);
  test_make_outside (self->outside);
  self->before = test_look_outside (self->outside);

  self->sandbox.workspace = g_build_filename (self->top, "inside", NULL);
  g_assert_cmpint (g_mkdir (self->sandbox.workspace, 0755), ==, 0);
  test_install_program (self->sandbox.workspace, "guest", TEST_GUEST);
  self->sandbox.registry = sandbox_registry_new ();
  self->sandbox.backend = test_new_backend (self->sandbox.registry);
  self->sandbox.handle = test_create (self->sandbox.backend, self->sandbox.workspace, &error);
  g_assert_no_error (error);
  self->sandbox.session = sandbox_handle_get_session (self->sandbox.handle);
}

static void
files_tear_down (Files        *self,
                 gconstpointer form)
{
  g_autofree char *after = test_look_outside (self->outside);

  g_assert_cmpstr (after, ==, self->before);
  test_sandbox_tear_down (&self->sandbox, NULL);
  test_remove_tree (self->top);
  g_free (self->top);
  g_free (self->outside);
  g_free (self->before);
}

static void
put_link_cb (gpointer    data,
             const char *target,
             const char *path)
{
  Files *self = data;
  g_autoptr (SandboxResult) result = test_run (&self->sandbox, "ln", "-s", "--", target, path, NULL);

  test_assert_exited (result, 0);
}

/* A guest cannot make one to a file that it does not have: this stands for what was in the directory before. */
static void
put_hard_link_cb (gpointer    data,
                  const char *target,
                  const char *path)
{
  Files           *self = data;
  g_autofree char *full = g_build_filename (self->sandbox.workspace, path, NULL);

  g_assert_cmpint (link (target, full), ==, 0);
}

static void
test_case_74 (Files        *self,
              gconstpointer form)
{
  TestWriter writer = { self->sandbox.session, self->async, self->top, put_link_cb, self };

  g_test_summary ("Case 74: no call that writes goes through a link that a guest has made");
  test_writer_try_links (&writer);
}

static void
test_case_75 (Files        *self,
              gconstpointer form)
{
  TestWriter writer = { self->sandbox.session, self->async, self->top, put_link_cb, self };

  g_test_summary ("Case 75: no call that writes follows a magic link that a guest has made");
  test_writer_try_magic_links (&writer);
}

static void
test_case_76 (Files        *self,
              gconstpointer form)
{
  TestWriter writer = { self->sandbox.session, self->async, self->top, put_hard_link_cb, self };

  g_test_summary ("Case 76: every call that writes cuts a hard link to a file outside");
  test_writer_try_hard_links (&writer);
}

static void
test_race (Files        *self,
           gconstpointer form)
{
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "swap", NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *made = NULL;
  TestRace         race = { .session = self->sandbox.session, .async = self->async, .top = self->top };
  char             ready[6] = "";

  g_test_summary ("A guest swaps links and directories all the time: no call of the host reaches anything outside");
  made = test_sh (&self->sandbox, "mkdir -p d/e d/t t; for file in d/x d/e/x f; do printf inside >$file; done; ln -s ../outside d-link;"
                                  "ln -s ../outside/secret f-link; ln -s ../outside t-link; ln -s ../../outside d/e-link");
  sandbox_command_set_timeout_ms (command, G_MAXINT);
  process = sandbox_session_spawn (self->sandbox.session, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (g_input_stream_read (sandbox_process_get_stdout (process), ready, sizeof ready, NULL, &error), ==, sizeof ready);
  g_assert_cmpmem (ready, sizeof ready, "ready\n", 6);

  test_race_run (&race);

  /* It has gone on to the end. */
  g_assert_null (sandbox_process_get_result (process));
  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_true (sandbox_process_wait (process, NULL, &error));
}

int
main (int    argc,
      char **argv)
{
  static const struct
  {
    const char *name;
    void (*test) (Files *self, gconstpointer form);
  } tests[] = {
    { "case-74-every-write", test_case_74 },
    { "case-75-every-write", test_case_75 },
    { "case-76-every-write", test_case_76 },
    { "race", test_race },
  };
  static const char *const forms[] = { "at-once", "pool" };

  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (tests); i++)
    for (gsize j = 0; j < G_N_ELEMENTS (forms); j++)
      {
        g_autofree char *path = g_strdup_printf ("/files/%s/%s", forms[j], tests[i].name);

        g_test_add (path, Files, forms[j], files_set_up, tests[i].test, files_tear_down);
      }

  return g_test_run ();
}
