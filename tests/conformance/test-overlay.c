/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions whose workspace is an overlay over their template, in real sandboxes. */
#include "../common/test-disk.h"
#include "../common/test-sandbox.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/statfs.h>

/* More than are copied when nothing is asked for */
#define MANY 21

/* What a command appends to while its sandbox is killed */
#define LARGE (4 * 1024 * 1024)

typedef struct
{
  char            *top;
  char            *state;
  SandboxRegistry *registry;
  SandboxBackend  *backend;
  SandboxTemplate *template;
  char *tree; /* of the template, on the host */
} Overlay;

static SandboxBackend *
new_backend (Overlay *self)
{
  g_autoptr (GError) error = NULL;
  SandboxBackend *backend = sandbox_registry_create_backend (self->registry, "bubblewrap", self->state, &error);

  g_assert_no_error (error);
  g_object_set (backend, "nested", TRUE, NULL);

  return backend;
}

static SandboxTemplate *
prewarm (Overlay    *self,
         const char *name,
         guint       n_files)
{
  g_autoptr (SandboxFileSet) files = sandbox_file_set_new ();
  g_autoptr (GBytes) text = g_bytes_new_static ("text\n", 5);
  g_autoptr (GBytes) large = g_bytes_new_take (g_malloc0 (LARGE), LARGE);
  g_autoptr (GError) error = NULL;
  SandboxTemplate *template = NULL;

  sandbox_file_set_add (files, "large", large);
  for (guint i = 1; i < n_files; i++)
    {
      g_autofree char *path = g_strdup_printf ("d/%u", i);

      sandbox_file_set_add (files, path, text);
    }
  template = sandbox_backend_prewarm (self->backend, name, files, NULL, &error);
  g_assert_no_error (error);

  return template;
}

static void
overlay_open (Overlay *self)
{
  self->state = g_build_filename (self->top, "state", NULL);
  self->registry = sandbox_registry_new ();
  self->backend = new_backend (self);
  self->template = prewarm (self, "many", MANY);
  self->tree = g_build_filename (self->state, "bubblewrap", "templates", sandbox_template_get_key (self->template), "tree", NULL);
}

static void
overlay_set_up (Overlay      *self,
                gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  self->top = g_dir_make_tmp ("sandbox-overlay-XXXXXX", &error);
  g_assert_no_error (error);
  overlay_open (self);
}

static void
overlay_tear_down (Overlay      *self,
                   gconstpointer unused)
{
  g_clear_object (&self->template);
  g_clear_object (&self->backend);
  g_clear_object (&self->registry);
  test_remove_tree (self->top);
  g_free (self->tree);
  g_free (self->state);
  g_free (self->top);
}

static SandboxCreateOptions *
new_options (Overlay *self)
{
  SandboxCreateOptions *options = sandbox_create_options_new ();

  sandbox_create_options_set_template_key (options, sandbox_template_get_key (self->template));

  return options;
}

static SandboxHandle *
create_with (Overlay              *self,
             SandboxCreateOptions *options)
{
  g_autoptr (GError) error = NULL;
  SandboxHandle *handle = sandbox_backend_create (self->backend, options, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpint (sandbox_handle_get_workspace_mode (handle), ==, SANDBOX_WORKSPACE_MODE_OVERLAY);

  return handle;
}

static SandboxHandle *
create (Overlay *self)
{
  g_autoptr (SandboxCreateOptions) options = new_options (self);

  return create_with (self, options);
}

static char *
sh (SandboxHandle *handle,
    const char    *script)
{
  TestSandbox sandbox = { .handle = handle, .session = sandbox_handle_get_session (handle) };

  return test_sh (&sandbox, script);
}

static void
assert_sh (SandboxHandle *handle,
           const char    *script,
           const char    *output)
{
  g_autofree char *found = sh (handle, script);

  g_assert_cmpstr (found, ==, output);
}

static void
assert_text (SandboxHandle *handle,
             const char    *path,
             const char    *text)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *found = sandbox_session_read_text (sandbox_handle_get_session (handle), path, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (found, ==, text);
}

static void
assert_missing (SandboxHandle *handle,
                const char    *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *found = sandbox_session_read_text (sandbox_handle_get_session (handle), path, NULL, &error);

  g_assert_null (found);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static void
write_text (SandboxHandle *handle,
            const char    *path,
            const char    *text)
{
  g_autoptr (GError) error = NULL;

  sandbox_session_write_text (sandbox_handle_get_session (handle), path, text, NULL, &error);
  g_assert_no_error (error);
}

static void
stop (SandboxHandle *handle)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_handle_stop (handle, NULL, &error));
  g_assert_no_error (error);
}

static void delete (SandboxHandle *handle)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_handle_delete (handle, NULL, &error));
  g_assert_no_error (error);
}

static SandboxState *
capture (SandboxHandle *handle)
{
  g_autoptr (GError) error = NULL;
  SandboxState *state = sandbox_handle_capture_state (handle, &error);

  g_assert_no_error (error);

  return state;
}

static SandboxHandle *
attach (Overlay      *self,
        SandboxState *state)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  sandbox_create_options_set_state (options, state);

  return create_with (self, options);
}

/* The template is as it was. */
static void
assert_template (Overlay *self)
{
  g_autofree char *large = g_build_filename (self->tree, "large", NULL);
  struct stat      st;

  g_assert_cmpint (stat (large, &st), ==, 0);
  g_assert_cmpint (st.st_size, ==, LARGE);
  g_assert_cmpuint (test_count_entries (self->tree), ==, 2);
  for (guint i = 1; i < MANY; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/d/%u", self->tree, i);
      g_autofree char *text = NULL;

      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      g_assert_cmpstr (text, ==, "text\n");
    }
}

static void
test_choice (Overlay      *self,
             gconstpointer unused)
{
  g_autoptr (SandboxTemplate) few = prewarm (self, "few", MANY - 1);
  g_autoptr (SandboxCreateOptions) options = new_options (self);
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxProfile) in_tmp = sandbox_profile_new ();
  g_autoptr (SandboxMount) mount = sandbox_mount_new (NULL, "/workspace/d", SANDBOX_MOUNT_MODE_READ_ONLY);
  const struct
  {
    SandboxProfile *profile;
    const char     *words;
  } obstacles[] = { { profile, "protects" }, { in_tmp, "“workspace-target”" }, { NULL, "“nested”" } };
  g_autoptr (SandboxHandle) first = create (self);
  g_autoptr (SandboxHandle) second = create (self);
  g_autoptr (SandboxHandle) other = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("An overlay is chosen for many files, not for few nor where it does not go with the rest; asked for, it is had or refused with the reason");

  assert_sh (first, "echo changed >d/1; ls d | wc -l", "20\n");
  assert_sh (second, "cat d/1", "text\n");
  delete (first);
  delete (second);

  sandbox_create_options_set_template_key (options, sandbox_template_get_key (few));
  other = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_handle_get_workspace_mode (other), !=, SANDBOX_WORKSPACE_MODE_OVERLAY);
  delete (other);
  g_clear_object (&other);

  sandbox_create_options_set_template_key (options, sandbox_template_get_key (self->template));
  sandbox_profile_add_mount (profile, mount);
  sandbox_profile_set_workspace_target (in_tmp, "/tmp/here");
  for (guint i = 0; i < G_N_ELEMENTS (obstacles); i++)
    {
      if (obstacles[i].profile == NULL)
        g_object_set (self->backend, "nested", FALSE, NULL);
      sandbox_create_options_set_profile (options, obstacles[i].profile);
      sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_AUTO);
      other = sandbox_backend_create (self->backend, options, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (sandbox_handle_get_workspace_mode (other), !=, SANDBOX_WORKSPACE_MODE_OVERLAY);
      delete (other);
      g_clear_object (&other);

      sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_OVERLAY);
      g_assert_null (sandbox_backend_create (self->backend, options, NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
      g_assert_nonnull (strstr (error->message, obstacles[i].words));
      g_clear_error (&error);
    }
  assert_template (self);
}

static void
test_files (Overlay      *self,
            gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create (self);
  SandboxSession  *session = sandbox_handle_get_session (handle);
  g_autofree char *before = sh (handle, "stat -c %i d/1 d large");
  g_autofree char *after = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Commands and host see each other's changes, files keep their number when they are first changed, whoever changes them; the template stays");

  assert_sh (handle, "stat -c '%u %g %a' . d d/1", "1000 1000 755\n1000 1000 755\n1000 1000 644\n");
  assert_sh (handle, "echo more >>d/1 && chmod 600 d/2 && rm d/3 && touch -d @1 d/4 && ln d/5 linked && rm -r large && mkdir large", "");
  assert_text (handle, "d/1", "text\nmore\n");
  assert_missing (handle, "d/3");
  after = sh (handle, "stat -c %i d/1 d");
  g_assert_true (g_str_has_prefix (before, after));

  write_text (handle, "d/6", "host\n");
  write_text (handle, "new/file", "new\n");
  sandbox_session_remove_path (session, "d/7", NULL, &error);
  g_assert_no_error (error);
  sandbox_session_move (session, "d/8", "moved", NULL, &error);
  g_assert_no_error (error);
  assert_sh (handle, "cat d/6 new/file moved && test ! -e d/7 && test ! -e d/8 && echo a >>d/6 && echo b >>new/file && stat -c %u d/6 new new/file",
             "host\nnew\ntext\n1000\n1000\n1000\n");

  delete (handle);
  assert_template (self);
}

static void
test_rename (Overlay      *self,
             gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create (self);
  SandboxSession *session = sandbox_handle_get_session (handle);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A directory of the template cannot be renamed: the host is told, and programs copy it");

  g_assert_false (sandbox_session_move (session, "d", "e", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_assert_nonnull (strstr (error->message, "of an overlay"));
  g_assert_nonnull (strstr (error->message, "workspace mode copy"));
  assert_sh (handle, "mv d e && ls e | wc -l && test ! -e d && mkdir d && ls d && mv d f && mv f d", "20\n");
  g_clear_error (&error);
  sandbox_session_move (session, "d", "g", NULL, &error);
  g_assert_no_error (error);

  delete (handle);
  assert_template (self);
}

static void
test_unreachable (Overlay      *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create (self);
  g_autofree char *mounts = sh (handle, "cat /proc/self/mountinfo");
  g_auto (GStrv) lines = g_strsplit (mounts, "\n", -1);
  guint n_overlays = 0;

  g_test_summary ("Neither the template nor what the session has changed can be reached from inside, but through the overlay");

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) fields = g_strsplit (lines[i], " ", -1);

      if (fields[0] == NULL || fields[0][0] == '\0')
        continue;
      /* The root of a mount within its file system, and where it is */
      g_assert_null (strstr (fields[3], "/tree"));
      g_assert_null (strstr (fields[3], "/files"));
      g_assert_false (g_str_has_prefix (fields[4], "/run/sandbox-"));
      if (strstr (lines[i], " - overlay ") != NULL && g_str_equal (fields[4], "/workspace"))
        n_overlays++;
    }
  g_assert_cmpuint (n_overlays, ==, 1);
  assert_sh (handle, "find / -xdev -name '*.json' -path '*state*' 2>/dev/null; find /run/sandbox-lower /run/sandbox-base -mindepth 1 2>/dev/null; "
                     "umount /workspace 2>/dev/null; mount -o remount,rw /workspace 2>/dev/null; cat d/1",
             "text\n");

  delete (handle);
  assert_template (self);
}

static void
wait_for_rest (void)
{
  test_wait (test_count_children () == 0);
}

static void
test_rest (Overlay      *self,
           gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = new_options (self);
  g_autoptr (SandboxHandle) handle = NULL;
  SandboxSession *session = NULL;
  g_autoptr (GInputStream) in = NULL;
  g_autoptr (GOutputStream) out = NULL;
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  char buffer[8];

  g_test_summary ("Files are there while the sandbox is at rest; the next one waits for what has them open, and says so in the end");

  sandbox_create_options_set_idle_ms (options, 20);
  handle = create_with (self, options);
  session = sandbox_handle_get_session (handle);
  for (guint i = 0; i < 5; i++)
    {
      assert_sh (handle, "echo command >>d/1", "");
      wait_for_rest ();
      assert_text (handle, "d/2", "text\n");
      write_text (handle, "d/3", "rest\n");
      assert_sh (handle, "cat d/3", "rest\n");
    }
  assert_text (handle, "d/1", "text\ncommand\ncommand\ncommand\ncommand\ncommand\n");

  /* What is written is there for the next command. */
  wait_for_rest ();
  out = sandbox_session_open_write (session, "d/4", NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_output_stream_write_all (out, "stream\n", 7, NULL, NULL, &error));
  g_assert_true (g_output_stream_close (out, NULL, &error));
  g_assert_no_error (error);
  assert_sh (handle, "cat d/4", "stream\n");

  wait_for_rest ();
  in = sandbox_session_open_read (session, "d/4", NULL, &error);
  g_assert_no_error (error);
  result = sandbox_session_run (session, command, NULL, &error);
  g_assert_null (result);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  g_assert_cmpint (g_input_stream_read (in, buffer, sizeof buffer, NULL, &error), ==, 7);
  g_assert_true (g_input_stream_close (in, NULL, &error));
  assert_sh (handle, "cat d/4", "stream\n");

  delete (handle);
  assert_template (self);
}

static void
test_reattach (Overlay      *self,
               gconstpointer unused)
{
  g_autoptr (SandboxBackend) other = new_backend (self);
  g_autoptr (SandboxHandle) handle = create (self);
  g_autoptr (SandboxState) state = capture (handle);

  g_test_summary ("Who comes back to a session finds what was changed, and what was removed gone; the template cannot be deleted meanwhile");

  assert_sh (handle, "echo more >>d/1; rm d/2; rm -r large; mkdir large; echo new >large/new", "");
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (GError) error = NULL;

      write_text (handle, "host", i == 0 ? "0" : i == 1 ? "1"
                                                        : "2");
      stop (handle);
      g_clear_object (&handle);
      g_assert_false (sandbox_backend_delete_template (self->backend, sandbox_template_get_key (self->template), NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
      handle = attach (self, state);
      assert_text (handle, "host", i == 0 ? "0" : i == 1 ? "1"
                                                         : "2");
      assert_sh (handle, "cat d/1; test ! -e d/2; ls large; stat -c %u d/1 d/3", "text\nmore\nnew\n1000\n1000\n");
    }
  delete (handle);
  assert_template (self);
}

static void
test_limits (Overlay      *self,
             gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = new_options (self);
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A command with a limit for which it would need a sandbox of its own is refused by name");

  sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_OVERLAY);
  handle = create_with (self, options);
  sandbox_limits_set_tasks (limits, 10);
  sandbox_command_set_limits (command, limits);
  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_null (result);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "“tasks”"));
  delete (handle);
}

static void
test_killed (Overlay      *self,
             gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create (self);
  const guint n_rounds = test_rounds (20);

  g_test_summary ("A file whose first change is cut short is as it was or changed, never in between, and the next sandbox goes on with it");

  for (guint i = 0; i < n_rounds; i++)
    {
      g_autofree char *script = g_strdup_printf ("for i in %u %u %u; do echo x >>d/$i; done; echo x >>large; rm large; cp /dev/null large", i % 20 + 1,
                                                 i % 19 + 1, i % 18 + 1);
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", script, NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (GError) error = NULL;

      process = sandbox_session_spawn (sandbox_handle_get_session (handle), command, NULL, &error);
      g_assert_no_error (error);
      g_usleep (g_random_int_range (0, 8000));
      test_kill_sandboxes ();
      sandbox_process_wait (process, NULL, NULL);

      /* The large one may have been removed, and be a new one. */
      assert_sh (handle, "for i in d/*; do test \"$(head -n 1 $i)\" = text || echo $i; done; ls d | wc -l; "
                         "test ! -s large || test $(stat -c %s large) -ge 4194304 || cat large",
                 "20\n");
      assert_sh (handle, "rm -f large", "");
      delete (handle);
      g_clear_object (&handle);
      handle = create (self);
    }
  delete (handle);
  assert_template (self);
}

/* A host that works on a session until it is killed. */
static void G_GNUC_NORETURN
work (const char *state_directory,
      const char *json)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = sandbox_registry_create_backend (registry, "bubblewrap", state_directory, NULL);
  g_autoptr (SandboxState) state = sandbox_state_new_from_json (json, NULL);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  g_object_set (backend, "nested", TRUE, NULL);
  sandbox_create_options_set_state (options, state);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);
  printf ("ready\n");
  fflush (stdout);
  for (;;)
    {
      g_autofree char *output = sh (handle, "echo x >>d/1; cp large copy; mv copy large; rm -f d/2");

      write_text (handle, "d/3", "host\n");
    }
}

/* A host with a command of some processes, which runs until it is killed. */
static void G_GNUC_NORETURN
hold (const char *state_directory,
      const char *json,
      const char *marker)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = sandbox_registry_create_backend (registry, "bubblewrap", state_directory, NULL);
  g_autoptr (SandboxState) state = sandbox_state_new_from_json (json, NULL);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "for i in 1 2 3 4 5 6; do sh -c 'sleep 1000; :' \"$0\" & done; wait", marker, NULL);
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  sandbox_create_options_set_state (options, state);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  g_assert_no_error (error);
  sandbox_command_set_timeout_ms (command, 100000);
  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
  g_error ("The command came to an end");
}

static void
test_killed_host (Overlay      *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create (self);
  g_autoptr (SandboxState) state = capture (handle);
  g_autofree char *json = sandbox_state_to_json (state);
  g_autofree char *path = g_file_read_link ("/proc/self/exe", NULL);

  g_test_summary ("Who gets a session of a killed host finds nothing of its commands alive: two overlays would have the same files");

  stop (handle);
  for (guint i = 0; i < 6; i++)
    {
      g_autofree char  *marker = test_marker_new ();
      const char *const argv[] = { path, "--hold", self->state, json, marker, NULL };
      g_autoptr (SandboxHandle) next = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (GSubprocess) host = g_subprocess_newv (argv, G_SUBPROCESS_FLAGS_NONE, &error);

      g_assert_no_error (error);
      test_marker_wait (marker, 7);
      g_subprocess_force_exit (host);
      g_assert_true (g_subprocess_wait (host, NULL, NULL));
      next = attach (self, state);
      g_assert_cmpuint (test_marker_count (marker), ==, 0);
      assert_sh (next, "cat d/1", "text\n");
      stop (next);
    }
}

static void
test_crash (Overlay      *self,
            gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create (self);
  g_autoptr (SandboxState) state = capture (handle);
  g_autofree char *json = sandbox_state_to_json (state);
  g_autofree char *path = g_file_read_link ("/proc/self/exe", NULL);
  const guint      n_rounds = test_rounds (8);

  g_test_summary ("A session whose host was killed at any moment is taken by the next one, whole");

  stop (handle);
  for (guint i = 0; i < n_rounds; i++)
    {
      const char *const argv[] = { path, "--work", self->state, json, NULL };
      g_autoptr (GSubprocess) host = NULL;
      g_autoptr (SandboxHandle) next = NULL;
      g_autoptr (GError) error = NULL;
      char ready[8];

      host = g_subprocess_newv (argv, G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error);
      g_assert_no_error (error);
      g_assert_cmpint (g_input_stream_read (g_subprocess_get_stdout_pipe (host), ready, 6, NULL, &error), ==, 6);
      g_usleep (g_random_int_range (0, 40000));
      g_subprocess_force_exit (host);
      g_subprocess_wait (host, NULL, &error);
      g_assert_no_error (error);

      next = attach (self, state);
      assert_sh (next, "test \"$(head -n 1 d/1)\" = text && test $(stat -c %s large) = 4194304 && grep -qx -e text -e host d/3 && ls d | grep -vx -e 2 | wc -l",
                 "19\n");
      stop (next);
    }
  g_clear_object (&handle);
  handle = attach (self, state);
  delete (handle);
  assert_template (self);
}

#define ADD(name, test) g_test_add ("/overlay/" name, Overlay, NULL, overlay_set_up, test, overlay_tear_down)

static void
test_streams (Overlay      *self,
              gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create (self);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = capture (handle);
  SandboxSession *session = sandbox_handle_get_session (handle);
  g_autoptr (GInputStream) input = sandbox_session_open_read (session, "large", NULL, NULL);
  g_autoptr (GOutputStream) output = sandbox_session_open_write (session, "d/1", NULL, NULL);
  g_autoptr (GError) error = NULL;
  char    byte = 'x';
  goffset at = 0;

  g_test_summary ("Streams that nobody has closed keep nobody from a session that was stopped; they say that it was, and leave nothing");

  g_assert_true (input != NULL && output != NULL);
  g_assert_cmpint (g_input_stream_read (input, &byte, 1, NULL, NULL), ==, 1);
  g_assert_cmpint (g_output_stream_write (output, &byte, 1, NULL, NULL), ==, 1);
  stop (handle);
  next = attach (self, state);
  assert_sh (next, "cat d/1; ls -A d | wc -l", "text\n20\n");

  g_assert_cmpint (g_input_stream_read (input, &byte, 1, NULL, &error), ==, -1);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  g_assert_false (g_seekable_seek (G_SEEKABLE (input), at, G_SEEK_SET, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  g_assert_true (g_input_stream_close (input, NULL, NULL));
  g_assert_cmpint (g_output_stream_write (output, &byte, 1, NULL, &error), ==, -1);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  g_assert_false (g_output_stream_close (output, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  assert_sh (next, "cat d/1; ls -A d | wc -l", "text\n20\n");
  delete (next);
}

/* On a disk of its own, below @place, with room for a change of the large file, but not for two. */
static void G_GNUC_NORETURN
fill (const char *place)
{
  g_autofree char *image = g_build_filename (place, "image", NULL);
  g_autofree char *disk = g_build_filename (place, "disk", NULL);
  Overlay          self = { .top = disk };
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autofree char *much = g_strnfill (LARGE, 'x');
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (unshare (CLONE_NEWNS), ==, 0);
  g_assert_cmpint (mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL), ==, 0);
  g_assert_cmpint (g_mkdir (disk, 0755), ==, 0);
  g_assert_true (test_disk_mount_ext4 (image, disk, "12m", "512"));
  g_assert_cmpint (chmod (disk, 0755), ==, 0);
  overlay_open (&self);
  handle = create (&self);

  /* nothing of a change that does not find room is seen */
  assert_sh (handle, "dd if=/dev/zero of=filler bs=4k 2>/dev/null; { echo y >>large; } 2>/dev/null || echo full; cat d/1; stat -c %s large",
             "full\ntext\n4194304\n");
  g_assert_false (sandbox_session_write_text (sandbox_handle_get_session (handle), "d/1", much, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  assert_text (handle, "d/1", "text\n");

  /* nor after a while, by the next owner, and what is removed makes room */
  state = capture (handle);
  stop (handle);
  g_clear_object (&handle);
  handle = attach (&self, state);
  assert_sh (handle, "{ echo y >>large; } 2>/dev/null || echo full; rm filler; echo y >>large; tail -c 2 large; stat -c %s large",
             "full\ny\n4194306\n");
  stop (handle);
  assert_template (&self);
  exit (0);
}

static void
test_full (Overlay      *self,
           gconstpointer unused)
{
  g_autofree char *path = g_file_read_link ("/proc/self/exe", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) child = NULL;

  g_test_summary ("On a full disk a change of what the template has is refused as a whole, and works again when there is room");

  child = g_subprocess_new (G_SUBPROCESS_FLAGS_NONE, &error, path, "--fill", self->top, NULL);
  g_assert_no_error (error);
  g_assert_true (g_subprocess_wait_check (child, NULL, &error));
  g_assert_no_error (error);
}

int
main (int    argc,
      char **argv)
{
  if (argc == 4 && g_str_equal (argv[1], "--work"))
    work (argv[2], argv[3]);
  if (argc == 5 && g_str_equal (argv[1], "--hold"))
    hold (argv[2], argv[3], argv[4]);
  if (argc == 3 && g_str_equal (argv[1], "--fill"))
    fill (argv[2]);

  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("choice", test_choice);
  ADD ("files", test_files);
  ADD ("rename", test_rename);
  ADD ("unreachable", test_unreachable);
  ADD ("rest", test_rest);
  ADD ("reattach", test_reattach);
  ADD ("streams", test_streams);
  ADD ("limits", test_limits);
  ADD ("killed", test_killed);
  ADD ("killed-host", test_killed_host);
  ADD ("crash", test_crash);
  if (geteuid () == 0)
    ADD ("full", test_full);

  return g_test_run ();
}
