/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of a workspace commands cannot change, and what of it never runs on the host. */
#include "../common/test-profile.h"

#define PROTECTED "/workspace/.git/hooks", "/workspace/.git/config"

static SandboxProfile *new_protecting (const char *target,
                                       ...) G_GNUC_NULL_TERMINATED;

static SandboxProfile *
new_protecting (const char *target,
                ...)
{
  SandboxProfile *profile = sandbox_profile_new ();
  va_list         list;

  va_start (list, target);
  for (; target != NULL; target = va_arg (list, const char *))
    test_add_mount (profile, NULL, target, SANDBOX_MOUNT_MODE_READ_ONLY);
  va_end (list);

  return profile;
}

/* A repository with one commit, made by a session without protection. */
static void
make_repository (TestSandbox *self)
{
  g_autoptr (SandboxProfile) plain = sandbox_profile_new ();

  test_use_profile (self, plain);
  test_assert_sh (self,
                  "git init -q . 2>/dev/null && echo 1 >.git/hooks/mark && git add guest &&"
                  "git -c user.name=n -c user.email=e@example.invalid commit -q -m first && git log --format=%s",
                  "first\n");
}

static char *
read_control (TestSandbox *self)
{
  return test_sh (self, "cat .git/config; ls -lR .git/hooks; cat .git/hooks/*");
}

static void
test_git (TestSandbox  *self,
          gconstpointer unused)
{
  static const char *const attempts[] = {
    "echo x >>.git/config",
    "echo x >.git/hooks/post-commit",
    "echo x >.git/hooks/mark",
    "rm .git/config",
    "rm -r .git/hooks",
    "chmod 777 .git/config",
    "touch .git/hooks",
    "ln .git/config other",
    "mv .git/config other",
    "mv .git/hooks other",
    "mv .git other",
    "mkdir other && mv -T other .git",
    "mkdir -p other && mv -T other .git/hooks",
    "echo x >file && mv file .git/config",
    "ln -sfT /tmp .git/hooks",
    "mount --bind /tmp .git/hooks",
    "umount .git/hooks",
    "umount .git",
    "mount -o remount,rw,bind .git/hooks",
    "git config user.name x",
    "git config core.hooksPath /tmp",
    "/usr/bin/python3 -c 'import os; os.rename (\".git\", \"other\")'",
  };
  g_autoptr (SandboxProfile) profile = new_protecting (PROTECTED, NULL);
  g_autofree char *before = NULL;
  g_autofree char *after = NULL;

  g_test_summary ("Case 90: with its control files protected, a repository is worked with and they stay as they are");

  make_repository (self);
  before = read_control (self);
  test_use_profile (self, profile);
  for (guint i = 0; i < G_N_ELEMENTS (attempts); i++)
    {
      g_autofree char *script = g_strdup_printf ("(%s) >/dev/null 2>&1 || echo refused; rm -rf other file", attempts[i]);

      g_test_message ("%s", attempts[i]);
      test_assert_sh (self, script, "refused\n");
    }
  test_assert_sh (self,
                  "echo text >file && git add file && git -c user.name=n -c user.email=e@example.invalid commit -q -m second &&"
                  "git branch other && git checkout -q other && git gc -q && git log --format=%s && git status --short",
                  "second\nfirst\n");

  after = read_control (self);
  g_assert_cmpstr (before, ==, after);
}

static void
test_places (TestSandbox  *self,
             gconstpointer unused)
{
  static const char *const targets[][8] = {
    { "/workspace/a", "/workspace/a/b/c", NULL },
    { "/workspace/a/b/c", "/workspace/a", NULL },
    { "/workspace/a/b/c", "/workspace/a/b/d", "/workspace/a/b/c/file", NULL },
    { "/workspace/a/b/c/file", "/workspace/a/b/c", NULL },
    { "/workspace/a/b", "/workspace/a/b/c", "/workspace/a/b/d", "/workspace/a/b/c/file", "/workspace/e", "/workspace/guest", NULL },
  };

  g_test_summary ("Files and directories, deep, one in the other and in any order: all of it is protected, what is beside it is not");

  for (guint i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      g_autoptr (SandboxProfile) plain = sandbox_profile_new ();
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

      test_use_profile (self, plain);
      test_assert_sh (self, "mkdir -p a/b/c a/b/d e f && echo text >a/b/c/file", "");
      for (guint j = 0; targets[i][j] != NULL; j++)
        test_add_mount (profile, NULL, targets[i][j], SANDBOX_MOUNT_MODE_READ_ONLY);
      test_use_profile (self, profile);
      for (guint j = 0; targets[i][j] != NULL; j++)
        {
          g_autofree char *script = g_strdup_printf ("p=%s; chmod 700 $p 2>/dev/null || echo kept; touch $p/x 2>/dev/null || echo kept; "
                                                     "mv a x 2>/dev/null; rm -rf $p 2>/dev/null; test -e $p && echo there",
                                                     targets[i][j]);

          test_assert_sh (self, script, "kept\nkept\nthere\n");
        }
      test_assert_sh (self, "touch f/x && rm f/x && rmdir f && cat a/b/c/file", "text\n");
    }
}

static void
test_same_path (TestSandbox  *self,
                gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autofree char *target = g_build_filename (self->workspace, "kept", NULL);

  g_test_summary ("Where the workspace is at its own path, so is what is protected, also when bwrap binds nothing else there");

  g_assert_cmpint (mkdir (target, 0755), ==, 0);
  sandbox_profile_set_view (profile, SANDBOX_VIEW_SYSTEM);
  sandbox_profile_set_workspace_target (profile, self->workspace);
  test_add_mount (profile, NULL, target, SANDBOX_MOUNT_MODE_READ_ONLY);
  test_use_profile (self, profile);
  test_assert_sh (self, "touch kept/x 2>/dev/null || echo refused; mv kept other 2>/dev/null || echo refused; touch beside", "refused\nrefused\n");
}

static void
test_absent (TestSandbox  *self,
             gconstpointer unused)
{
  g_autoptr (SandboxProfile) absent = new_protecting ("/workspace/conf/settings", NULL);
  g_autoptr (SandboxProfile) plain = sandbox_profile_new ();
  g_autoptr (SandboxProfile) linked = new_protecting ("/workspace/link/file", NULL);
  g_autoptr (SandboxProfile) link = new_protecting ("/workspace/link", NULL);
  g_autoptr (SandboxProfile) below = new_protecting ("/workspace/guest/file", NULL);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autofree char *conf = g_build_filename (self->workspace, "conf", NULL);
  g_autofree char *settings = g_build_filename (conf, "settings", NULL);
  g_autofree char *plan = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 91: what does not exist is refused, not left open, and nothing of it appears; so is what a link leads to");

  test_assert_refused (self, absent, SANDBOX_ERROR_NOT_FOUND, "conf/settings");
  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_profile (options, absent);
  plan = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_null (plan);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_false (g_file_test (conf, G_FILE_TEST_EXISTS));

  test_use_profile (self, plain);
  test_assert_sh (self, "mkdir -p conf/real && ln -s conf link && echo text >conf/file", "");
  test_assert_refused (self, absent, SANDBOX_ERROR_NOT_FOUND, "conf/settings");
  test_assert_refused (self, linked, SANDBOX_ERROR_PATH, "link");
  test_assert_refused (self, link, SANDBOX_ERROR_PATH, "link");
  test_assert_refused (self, below, SANDBOX_ERROR_NOT_FOUND, "guest/file");
  g_assert_false (g_file_test (settings, G_FILE_TEST_EXISTS));

  /* The host takes it away: no command can make it, for none runs. */
  test_assert_sh (self, "mkdir -p conf/settings", "");
  test_use_profile (self, absent);
  test_assert_sh (self, "touch conf/settings/x 2>/dev/null || echo refused", "refused\n");
  test_remove_tree (conf);
  error = test_refused (self, "sh", "-c", "mkdir -p conf/settings", NULL);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);
  g_assert_false (g_file_test (conf, G_FILE_TEST_EXISTS));
  g_assert_cmpint (g_mkdir (conf, 0755), ==, 0);
  g_assert_true (g_file_set_contents (settings, "of the host\n", -1, &error));
  g_assert_no_error (error);
  g_assert_cmpint (chmod (settings, 0644), ==, 0);
  test_assert_sh (self, "cat conf/settings; echo x 2>/dev/null >conf/settings || echo refused; mv conf x 2>/dev/null || echo refused",
                  "of the host\nrefused\nrefused\n");
}

/* A command that was there before cannot take it away from one that comes after. */
static void
test_two (TestSandbox  *self,
          gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = new_protecting ("/workspace/kept/inner", NULL);
  g_autoptr (SandboxCommand) command = test_command_new (
      "sh", "-c", "echo ready; i=0; while test $i -lt 200; do mv kept other && exit 1; mv other kept; rm -rf kept/inner; i=$((i+1)); done 2>/dev/null; exit 0", NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autofree char *inner = g_build_filename (self->workspace, "kept", "inner", NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Commands that run at once in one session do not undo the protection for each other");

  g_assert_cmpint (g_mkdir_with_parents (inner, 0755), ==, 0);
  test_use_profile (self, profile);
  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 5; i++)
    test_assert_sh (self, "touch kept/inner/x 2>/dev/null || echo refused; rm -rf kept/inner 2>/dev/null; mv kept other 2>/dev/null || echo refused", "refused\nrefused\n");
  g_assert_true (sandbox_process_wait (process, NULL, &error));
  g_assert_no_error (error);
  test_assert_exited (sandbox_process_get_result (process), 0);
  g_assert_true (g_file_test (inner, G_FILE_TEST_IS_DIR));
}

static void
test_refused_mounts (TestSandbox  *self,
                     gconstpointer unused)
{
  static const struct
  {
    const char      *source;
    const char      *target;
    SandboxMountMode mode;
  } mounts[] = {
    { "/etc/hosts", "/workspace/file", SANDBOX_MOUNT_MODE_READ_ONLY },
    { NULL, "/workspace/guest", SANDBOX_MOUNT_MODE_READ_WRITE },
    { NULL, "/workspace/guest", SANDBOX_MOUNT_MODE_MASK },
    { NULL, "/workspace", SANDBOX_MOUNT_MODE_READ_ONLY },
    { NULL, "/srv/data", SANDBOX_MOUNT_MODE_READ_ONLY },
    { NULL, "/workspace/../guest", SANDBOX_MOUNT_MODE_READ_ONLY },
  };
  g_autoptr (SandboxProfile) many = sandbox_profile_new ();
  g_autoptr (SandboxProfile) linked = new_protecting ("/workspace/guest", NULL);
  g_autofree char *guest = g_build_filename (self->workspace, "guest", NULL);
  g_autofree char *other = g_build_filename (self->workspace, "other", NULL);

  g_test_summary ("Nothing else can be mounted in a workspace, nothing else be protected so, no file of two names, and there is a limit");

  g_assert_cmpint (link (guest, other), ==, 0);
  test_assert_refused (self, linked, SANDBOX_ERROR_INVALID, "another name");

  for (guint i = 0; i < G_N_ELEMENTS (mounts); i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

      test_add_mount (profile, mounts[i].source, mounts[i].target, mounts[i].mode);
      test_assert_refused (self, profile, SANDBOX_ERROR_INVALID, mounts[i].target);
    }

  for (guint i = 0; i < 9; i++)
    {
      g_autofree char *target = g_strdup_printf ("/workspace/d%u", i);
      g_autofree char *path = g_build_filename (self->workspace, strrchr (target, '/'), NULL);

      g_assert_cmpint (mkdir (path, 0755), ==, 0);
      test_add_mount (many, NULL, target, SANDBOX_MOUNT_MODE_READ_ONLY);
    }
  test_assert_refused (self, many, SANDBOX_ERROR_LIMIT, "limit is 8");
}

/* ---- Nothing of the workspace runs outside ---- */

/* All that git runs on its own, with @program in each place. */
static void
plant (TestSandbox *self,
       const char  *program)
{
  static const char *const hooks[] = { "pre-commit", "post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction" };
  g_autofree char         *config = g_strdup_printf ("[core]\n\tfsmonitor = %s\n\tpager = %s\n\teditor = %s\n\tsshCommand = %s\n\thooksPath = .git/hooks\n"
                                                             "[diff]\n\texternal = %s\n[filter \"f\"]\n\tclean = %s\n\tsmudge = %s\n\tprocess = %s\n\trequired = true\n"
                                                             "[alias]\n\tstatus = !%s\n[credential]\n\thelper = !%s\n",
                                                     program, program, program, program, program, program, program, program, program, program);
  g_autofree char         *script = g_strdup_printf ("#!/bin/sh\n%s\n", program);
  g_autofree char         *make = g_strdup_printf ("all:\n\t%s\n", program);
  const char *const        files[][2] = {
           { ".git/config", config }, { ".gitattributes", "* filter=f diff=f\n" }, { ".envrc", script }, { "Makefile", make }, { "bwrap", script }, { "git", script }
  };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    g_assert_true (sandbox_session_write_text (self->session, files[i][0], files[i][1], NULL, &error));
  for (guint i = 0; i < G_N_ELEMENTS (hooks); i++)
    {
      g_autofree char *path = g_build_filename (".git/hooks", hooks[i], NULL);

      g_assert_true (sandbox_session_write_text (self->session, path, script, NULL, &error));
    }
  test_assert_sh (self, "chmod 755 .git/hooks/* .envrc bwrap git", "");
}

static void
test_host_tools (TestSandbox  *self,
                 gconstpointer unused)
{
  g_autofree char *top = g_dir_make_tmp ("sandbox-outside-XXXXXX", NULL);
  g_autofree char *ran = g_build_filename (top, "ran", NULL);
  g_autofree char *program = g_strdup_printf ("touch %s", ran);
  g_autofree char *cwd = g_get_current_dir ();
  g_autofree char *copy_path = g_build_filename (top, "copy", NULL);
  g_autofree char *path = g_strconcat (".:", g_getenv ("PATH"), NULL);
  g_autofree char *old_path = g_strdup (g_getenv ("PATH"));
  g_autoptr (GFile) copy = g_file_new_for_path (copy_path);
  g_autoptr (SandboxProfile) profile = NULL;
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("make", "all", NULL);
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (GFileInfo) info = NULL;
  g_autoptr (GInputStream) input = NULL;
  g_autoptr (GOutputStream) output = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *plan = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 90: whatever a workspace has for git, make or a shell to run, no call of the library runs it on the host");

  g_assert_nonnull (top);
  g_assert_cmpint (chmod (top, 0777), ==, 0);
  make_repository (self);
  plant (self, program);
  /* It works where it may: git in the sandbox runs what is planted, and does not reach the file. */
  test_assert_sh (self, "/usr/bin/git diff >/dev/null 2>&1; /usr/bin/git add -A >/dev/null 2>&1; touch here; ls here", "here\n");
  g_assert_false (g_file_test (ran, G_FILE_TEST_EXISTS));

  /* The worst place and path for a host to be in */
  g_assert_cmpint (chdir (self->workspace), ==, 0);
  g_setenv ("PATH", path, TRUE);

  bytes = sandbox_session_read_bytes (self->session, ".git/config", NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_session_write_text (self->session, "file", "text\n", NULL, &error));
  listing = sandbox_session_list_directory (self->session, ".", NULL, &error);
  g_assert_no_error (error);
  info = sandbox_session_query_info (self->session, ".git/hooks/pre-commit", NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_session_make_directory (self->session, "new", NULL, &error));
  g_assert_true (sandbox_session_move (self->session, "file", "new/file", NULL, &error));
  input = sandbox_session_open_read (self->session, "Makefile", NULL, &error);
  g_assert_true (g_input_stream_close (input, NULL, &error));
  output = sandbox_session_open_write (self->session, ".git/index", NULL, &error);
  g_assert_true (g_output_stream_close (output, NULL, &error));
  g_assert_true (sandbox_session_export_directory (self->session, ".", copy, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_session_import_directory (self->session, copy, "again", NULL, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_session_remove_path (self->session, "new", NULL, &error));
  g_assert_no_error (error);

  profile = new_protecting (PROTECTED, NULL);
  test_use_profile (self, profile);
  report = sandbox_backend_probe (self->backend, profile, NULL, &error);
  g_assert_no_error (error);
  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_profile (options, profile);
  plan = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_no_error (error);
  test_assert_sh (self, "true", "");

  g_setenv ("PATH", old_path, TRUE);
  g_assert_cmpint (chdir (cwd), ==, 0);
  g_assert_false (g_file_test (ran, G_FILE_TEST_EXISTS));

  test_remove_tree (top);
}

static void
test_host_changes (TestSandbox  *self,
                   gconstpointer unused)
{
  static const char *const paths[] = { ".git/config", ".git/config/x", ".git", ".git/hooks", ".git/hooks/new" };
  g_autoptr (SandboxProfile) profile = new_protecting (PROTECTED, NULL);
  g_autofree char *directory_path = g_dir_make_tmp ("sandbox-protect-XXXXXX", NULL);
  g_autoptr (GFile) directory = g_file_new_for_path (directory_path);
  g_autoptr (GError) error = NULL;

  g_test_summary ("What would end a protection of a running command is refused to the host as well, in this session");

  make_repository (self);
  test_use_profile (self, profile);
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GOutputStream) output = NULL;

      g_assert_false (sandbox_session_write_text (self->session, paths[i], "x", NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
      g_clear_error (&error);
      g_assert_false (sandbox_session_remove_path (self->session, paths[i], NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
      g_clear_error (&error);
      g_assert_false (sandbox_session_make_directory (self->session, paths[i], NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
      g_clear_error (&error);
      g_assert_false (sandbox_session_move (self->session, paths[i], "elsewhere", NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
      g_clear_error (&error);
      g_assert_false (sandbox_session_move (self->session, "guest", paths[i], NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
      g_clear_error (&error);
      output = sandbox_session_open_write (self->session, paths[i], NULL, &error);
      g_assert_null (output);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
      g_clear_error (&error);
      g_assert_false (sandbox_session_import_directory (self->session, directory, paths[i], NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
      g_clear_error (&error);
    }
  g_assert_false (sandbox_session_import_directory (self->session, directory, ".", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  g_clear_error (&error);

  /* All else goes on, what has a similar name as well. */
  g_assert_true (sandbox_session_write_text (self->session, ".git/config.other", "x", NULL, &error));
  g_assert_true (sandbox_session_write_text (self->session, ".gitignore", "x", NULL, &error));
  g_assert_true (sandbox_session_import_directory (self->session, directory, "imported", NULL, &error));
  g_assert_no_error (error);
  test_remove_tree (directory_path);
}

static void
test_later_name (TestSandbox  *self,
                 gconstpointer unused)
{
  g_autoptr (SandboxProfile) plain = sandbox_profile_new ();
  g_autoptr (SandboxProfile) profile = new_protecting ("/workspace/file", NULL);
  g_autofree char *path = g_build_filename (self->workspace, "file", NULL);
  g_autofree char *other = g_build_filename (self->workspace, "other", NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A file that gets a second name after the session was created runs nothing any more: it could be changed by it");

  test_use_profile (self, plain);
  g_assert_true (sandbox_session_write_text (self->session, "file", "x", NULL, &error));
  g_assert_no_error (error);
  test_use_profile (self, profile);
  test_assert_sh (self, "cat file", "x");
  g_assert_cmpint (link (path, other), ==, 0);
  error = test_refused (self, "sh", "-c", "echo y >other", NULL);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_assert_cmpint (g_unlink (other), ==, 0);
  test_assert_sh (self, "cat file", "x");
}

#define ADD(path, func) g_test_add ("/protect/" path, TestSandbox, NULL, test_profile_set_up, func, test_profile_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("git", test_git);
  ADD ("places", test_places);
  ADD ("same-path", test_same_path);
  ADD ("absent", test_absent);
  ADD ("two", test_two);
  ADD ("refused-mounts", test_refused_mounts);
  ADD ("host-tools", test_host_tools);
  ADD ("host-changes", test_host_changes);
  ADD ("later-name", test_later_name);

  return g_test_run ();
}
