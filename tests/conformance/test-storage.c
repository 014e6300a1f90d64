/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions whose files the library keeps, in real sandboxes: what lasts, who owns it, and who can come back to it. */
#include "../common/test-sandbox.h"

#define STORAGE_ID 61184
#define FIRST_ID (STORAGE_ID + 1)
#define LAST_ID 65519

typedef struct
{
  char            *top;
  char            *state;
  SandboxRegistry *registry;
  SandboxBackend  *backend;
} Storage;

static SandboxBackend *
new_backend (Storage    *self,
             const char *state_directory)
{
  g_autoptr (GError) error = NULL;
  SandboxBackend *backend = sandbox_registry_create_backend (self->registry, "bubblewrap", state_directory, &error);

  g_assert_no_error (error);

  return backend;
}

static void
storage_set_up (Storage      *self,
                gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  self->top = g_dir_make_tmp ("sandbox-storage-XXXXXX", &error);
  g_assert_no_error (error);
  self->state = g_build_filename (self->top, "state", NULL);
  self->registry = sandbox_registry_new ();
  self->backend = new_backend (self, self->state);
}

static void
storage_tear_down (Storage      *self,
                   gconstpointer unused)
{
  g_clear_object (&self->backend);
  g_clear_object (&self->registry);
  test_remove_tree (self->top);
  g_free (self->state);
  g_free (self->top);
}

static SandboxHandle *
create (SandboxBackend *backend,
        const char     *template_key,
        SandboxState   *state,
        GError        **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  sandbox_create_options_set_template_key (options, template_key);
  sandbox_create_options_set_state (options, state);

  return sandbox_backend_create (backend, options, NULL, error);
}

static SandboxHandle *
create_ok (SandboxBackend *backend,
           const char     *template_key,
           SandboxState   *state)
{
  g_autoptr (GError) error = NULL;
  SandboxHandle *handle = create (backend, template_key, state, &error);

  g_assert_no_error (error);

  return handle;
}

static SandboxState *
capture (SandboxHandle *handle)
{
  g_autoptr (GError) error = NULL;
  SandboxState *state = sandbox_handle_capture_state (handle, &error);

  g_assert_no_error (error);

  return state;
}

/* Runs a script in the session of @handle, which must exit with 0. */
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

static char *
get_place (Storage    *self,
           const char *directory,
           const char *name)
{
  return g_build_filename (self->state, "bubblewrap", directory, name, NULL);
}

static void
assert_stored (Storage *self,
               guint    n_templates,
               guint    n_sessions)
{
  g_autofree char *templates = get_place (self, "templates", NULL);
  g_autofree char *sessions = get_place (self, "sessions", NULL);
  g_autofree char *aside = get_place (self, "aside", NULL);

  g_assert_cmpuint (test_count_entries (templates), ==, n_templates);
  g_assert_cmpuint (test_count_entries (sessions), ==, n_sessions);
  g_assert_cmpuint (test_count_entries (aside), ==, 0);
}

/* A directory of the host with files of every kind, as a template. */
static SandboxTemplate *
prewarm (Storage *self)
{
  g_autofree char *directory = g_build_filename (self->top, "project", NULL);
  g_autofree char *below = g_build_filename (directory, "source", NULL);
  g_autofree char *file = g_build_filename (below, "hello.c", NULL);
  g_autofree char *script = g_build_filename (directory, "run", NULL);
  g_autofree char *link = g_build_filename (directory, "link", NULL);
  g_autoptr (GFile) source = g_file_new_for_path (directory);
  g_autoptr (SandboxFileSet) files = sandbox_file_set_new ();
  g_autoptr (GError) error = NULL;
  SandboxTemplate *made = NULL;

  if (!g_file_test (directory, G_FILE_TEST_EXISTS))
    {
      g_assert_cmpint (g_mkdir_with_parents (below, 0755), ==, 0);
      g_file_set_contents (file, "#include <stdio.h>\nint main (void) { puts (\"hello\"); return 0; }\n", -1, &error);
      g_assert_no_error (error);
      g_file_set_contents_full (script, "#!/bin/sh\necho ran\n", -1, G_FILE_SET_CONTENTS_NONE, 0755, &error);
      g_assert_no_error (error);
      g_assert_cmpint (symlink ("source/hello.c", link), ==, 0);
    }
  g_assert_true (sandbox_file_set_add_directory (files, ".", source, &error));
  g_assert_no_error (error);
  made = sandbox_backend_prewarm (self->backend, "project", files, NULL, &error);
  g_assert_no_error (error);

  return made;
}

/* ---- What lasts */

/* Run by another process of this program, see below. */
static void
test_come_back (void)
{
  const char *state_directory = g_getenv ("TEST_STATE_DIRECTORY");
  g_autoptr (SandboxRegistry) registry = NULL;
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GError) error = NULL;

  if (!g_test_subprocess ())
    return;

  registry = sandbox_registry_new ();
  backend = sandbox_registry_create_backend (registry, "bubblewrap", state_directory, &error);
  g_assert_no_error (error);
  state = sandbox_state_new_from_json (g_getenv ("TEST_STATE"), &error);
  g_assert_no_error (error);
  handle = create_ok (backend, NULL, state);
  assert_sh (handle, "cat made; ./run; echo second >>made", "first\nran\n");
  stop (handle);
}

static void
test_life (Storage      *self,
           gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxHandle) last = NULL;
  g_autoptr (SandboxState) state = capture (handle);
  g_autofree char *json = sandbox_state_to_json (state);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Template, create, run, stop, going on in this process and in another one, delete");

  assert_sh (handle, "./run; cat link | head -1; ls -A; [ -x run ] && [ ! -x source/hello.c ] && pwd", "ran\n#include <stdio.h>\nlink\nrun\nsource\n/workspace\n");
  assert_sh (handle, "echo first >made; mkdir -m 0 closed; rm source/hello.c; chmod 400 made", "");
  text = sandbox_session_read_text (sandbox_handle_get_session (handle), "made", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (text, ==, "first\n");
  stop (handle);

  next = create_ok (self->backend, NULL, state);
  assert_sh (next, "cat made; ls -A; stat -c %a made closed; chmod 600 made", "first\nclosed\nlink\nmade\nrun\nsource\n400\n0\n");
  stop (next);

  g_assert_true (g_setenv ("TEST_STATE_DIRECTORY", self->state, TRUE));
  g_assert_true (g_setenv ("TEST_STATE", json, TRUE));
  g_test_trap_subprocess ("/storage/subprocess/come-back", 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();

  last = create_ok (self->backend, NULL, state);
  assert_sh (last, "cat made", "first\nsecond\n");
  assert_stored (self, 1, 1);
  delete (last);
  delete (next);
  delete (handle);
  assert_stored (self, 1, 0);
}

/* ---- Who owns it */

/* Every file below @path belongs to @uid, and is of no use to whoever runs it. */
static void
assert_owners (const char *path,
               guint       uid)
{
  g_autoptr (GDir) entries = g_dir_open (path, 0, NULL);
  const char *name = NULL;
  struct stat info;

  g_assert_cmpint (lstat (path, &info), ==, 0);
  if (info.st_uid != uid || info.st_gid != (uid == geteuid () ? getegid () : uid))
    g_error ("%s belongs to %u:%u, not to %u", path, info.st_uid, info.st_gid, uid);
  g_assert_cmpuint (info.st_mode & (S_ISUID | S_ISGID), ==, 0);
  if (S_ISDIR (info.st_mode))
    g_assert_nonnull (entries);
  while (entries != NULL && (name = g_dir_read_name (entries)) != NULL)
    {
      g_autofree char *below = g_build_filename (path, name, NULL);

      assert_owners (below, uid);
    }
}

/* Who a command of the session is on the host, by what stands in its arguments. */
static guint
find_uid (SandboxHandle *handle)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "sleep 60; :", marker, NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GArray) found = NULL;
  g_autoptr (GError) error = NULL;
  gint64 uid = -1;

  process = sandbox_session_spawn (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, 1);
  found = test_marker_find (marker);
  uid = test_read_status (g_array_index (found, pid_t, 0), "Uid", 10);
  g_assert_cmpint (uid, >=, 0);
  g_assert_true (sandbox_process_stop (process, NULL, &error));
  g_assert_no_error (error);
  test_marker_assert_gone (marker);

  return (guint) uid;
}

static void
test_owners (Storage      *self,
             gconstpointer unused)
{
  const guint owner = geteuid () == 0 ? STORAGE_ID : geteuid ();
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  g_autoptr (SandboxHandle) other = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = capture (handle);
  g_autofree char *tree = g_build_filename (self->state, "bubblewrap", "templates", sandbox_template_get_key (made), "tree", NULL);
  g_autofree char *session = get_place (self, "sessions", sandbox_state_get_session_id (state));
  g_autofree char *files = g_build_filename (session, "files", NULL);
  g_autofree char *stored = g_build_filename (session, "state.json", NULL);
  g_autofree char *json = NULL;
  g_autoptr (GError) error = NULL;
  struct stat info;
  guint       uid, other_uid, next_uid;

  g_test_summary ("What is stored belongs to one user; commands run as another, see it as theirs, and so does the next owner's");

  assert_sh (handle, "set -e; umask 0; echo x >made; mkdir -p d/e; ln -s made link2; mkfifo pipe; echo >>run; mv source moved; chmod 4777 made 2>/dev/null || true;"
                     "stat -c %u:%g . run moved/hello.c d made | sort -u",
             "1000:1000\n");
  g_assert_true (sandbox_session_write_text (sandbox_handle_get_session (handle), "by/host", "h", NULL, &error));
  g_assert_no_error (error);
  uid = find_uid (handle);
  other_uid = find_uid (other);
  assert_owners (tree, owner);
  assert_owners (files, owner);
  if (geteuid () == 0)
    {
      g_assert_cmpuint (uid, >=, FIRST_ID);
      g_assert_cmpuint (uid, <=, LAST_ID);
      g_assert_cmpuint (other_uid, >=, FIRST_ID);
      g_assert_cmpuint (uid, !=, other_uid);
    }
  else
    g_assert_cmpuint (uid, ==, geteuid ());

  /* What tells of the session is the host's alone. */
  g_assert_cmpint (lstat (session, &info), ==, 0);
  g_assert_cmpuint (info.st_uid, ==, geteuid ());
  g_assert_cmpuint (info.st_mode & 07777, ==, 0700);
  g_assert_cmpint (lstat (stored, &info), ==, 0);
  g_assert_cmpuint (info.st_uid, ==, geteuid ());
  g_assert_cmpuint (info.st_mode & 07777, ==, 0600);
  stop (handle);

  next = create_ok (self->backend, NULL, state);
  next_uid = find_uid (next);
  if (geteuid () == 0)
    g_assert_cmpuint (next_uid, >=, FIRST_ID);
  assert_sh (next, "set -e; stat -c %u:%g . run moved/hello.c by by/host made pipe | sort -u; echo y >>made; rm -r by pipe; mv moved source; mkdir new; cat made", "1000:1000\nx\ny\n");
  assert_owners (files, owner);
  delete (next);
  delete (other);
  assert_stored (self, 1, 0);
}

static void
test_tools (Storage      *self,
            gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = capture (handle);

  g_test_summary ("git and gcc work in a workspace that the library keeps, and what they made is there later");

  assert_sh (handle, "set -e; git init -q .; git config user.email a@b; git config user.name c; git add -A; git commit -qm one; git status --short; git log --oneline | wc -l",
             "1\n");
  assert_sh (handle, "gcc -o hello source/hello.c && ./hello", "hello\n");
  stop (handle);
  next = create_ok (self->backend, NULL, state);
  assert_sh (next, "set -e; ./hello; git add hello; git commit -qm two; git log --oneline | wc -l; git fsck --no-progress --strict; ar -t /dev/null 2>/dev/null || true", "hello\n2\n");
  delete (next);
}

/* ---- What the guest sees */

static void
test_hidden (Storage      *self,
             gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxMount) mount = sandbox_mount_new (self->top, "/mnt/top", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxBackend) backend = new_backend (self, NULL);
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxHandle) of_private = NULL;
  g_autofree char *script = g_strdup_printf ("ls -d %s %s/* /mnt 2>/dev/null; grep -c /bubblewrap/ /proc/self/mountinfo; ls /proc/self/fd | wc -l", self->state, self->top);
  g_autofree char *told = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A guest sees nothing of what is stored but its workspace, has no lock, and no mount may show it");

  told = sh (handle, script);
  /* Its own mount tells where it is from, as far as the kernel does; ls itself has a directory open. */
  g_assert_null (strstr (told, self->top));
  g_assert_true (g_str_has_suffix (told, "\n4\n"));

  sandbox_profile_add_mount (profile, mount);
  sandbox_create_options_set_profile (options, profile);
  g_assert_null (sandbox_backend_create (self->backend, options, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  assert_stored (self, 0, 1);

  /* A private directory is in the one for temporary files. */
  {
    g_autoptr (SandboxProfile) shows = sandbox_profile_new ();
    g_autoptr (SandboxMount) temporary = sandbox_mount_new (g_get_tmp_dir (), "/mnt/tmp", SANDBOX_MOUNT_MODE_READ_ONLY);

    sandbox_profile_add_mount (shows, temporary);
    sandbox_create_options_set_profile (options, shows);
    of_private = sandbox_backend_create (backend, options, NULL, &error);
    g_assert_null (of_private);
    g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  }
  delete (handle);
}

static void
test_plan (Storage      *self,
           gconstpointer unused)
{
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;
  g_autofree char *with_state = NULL;
  g_autofree char *after = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GError) error = NULL;
  const guint n_children = test_count_children ();

  g_test_summary ("A plan over a workspace of the library's says so, is always the same, and makes nothing");

  first = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_no_error (error);
  second = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_cmpstr (first, ==, second);
  g_assert_nonnull (strstr (first, "\"source\" : \"managed\""));
  g_assert_false (g_file_test (self->state, G_FILE_TEST_EXISTS));
  g_assert_cmpuint (test_count_children (), ==, n_children);

  handle = create_ok (self->backend, NULL, NULL);
  state = capture (handle);
  sandbox_create_options_set_state (options, state);
  with_state = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (first, ==, with_state);
  stop (handle);
  assert_stored (self, 0, 1);
  delete (handle);
  after = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_cmpstr (first, ==, after);
}

/* ---- What goes wrong */

static void
test_no_sandbox (Storage      *self,
                 gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = capture (handle);
  g_autofree char *executable = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 108: a bwrap that fails leaves no new session, and an earlier one as it was");

  stop (handle);
  g_object_get (self->backend, "executable", &executable, NULL);
  g_object_set (self->backend, "executable", "/bin/false", NULL);
  g_assert_null (create (self->backend, sandbox_template_get_key (made), NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);
  g_assert_null (create (self->backend, NULL, state, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);
  assert_stored (self, 1, 1);

  g_object_set (self->backend, "executable", executable, NULL);
  next = create_ok (self->backend, NULL, state);
  assert_sh (next, "./run", "ran\n");
  delete (next);
}

static void
test_cancelled (Storage      *self,
                gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 108: a create that is cancelled at any moment leaves no session, no process and no claim");

  sandbox_create_options_set_template_key (options, sandbox_template_get_key (made));
  for (guint wait_us = 0; wait_us < 40000; wait_us += 2000)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (SandboxHandle) handle = NULL;
      gint64 end = g_get_monotonic_time () + wait_us;

      sandbox_backend_create_async (self->backend, options, cancellable, test_result_cb, &result);
      while (g_get_monotonic_time () < end && result == NULL)
        g_main_context_iteration (NULL, FALSE);
      g_cancellable_cancel (cancellable);
      test_wait (result != NULL);
      handle = sandbox_backend_create_finish (self->backend, result, &error);
      if (handle != NULL)
        delete (handle);
      else
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_clear_error (&error);
      assert_stored (self, 1, 0);
    }
  test_wait (test_count_children () == 0 && test_count_claims () == 0);
}

/* What the other process does, see below: a host that is killed. */
static int
be_a_host (const char *state_directory,
           const char *marker)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = sandbox_registry_create_backend (registry, "bubblewrap", state_directory, NULL);
  g_autoptr (SandboxHandle) handle = create_ok (backend, NULL, NULL);
  g_autoptr (SandboxState) state = capture (handle);
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "echo x >log; echo begun >new; mv new begun; while :; do echo x >>log; done", marker, NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autofree char *json = sandbox_state_to_json (state);
  g_autoptr (GError) error = NULL;

  process = sandbox_session_spawn (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_no_error (error);
  printf ("%s\n", json);
  fflush (stdout);
  for (;;)
    pause ();

  return 1;
}

static void
test_killed_host (Storage      *self,
                  gconstpointer program)
{
  g_autofree char  *marker = test_marker_new ();
  g_autofree char  *self_path = g_file_read_link ("/proc/self/exe", NULL);
  const char *const argv[] = { self_path, "--host", self->state, marker, NULL };
  g_autofree char  *session = NULL;
  g_autofree char  *begun = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GError) error = NULL;
  char   json[8192];
  gssize size = 0;
  gssize n = 0;
  GPid   pid = 0;
  int    output = -1;

  g_test_summary ("Case 94: a host is killed while its command writes: somebody else gets the session once that is dead, and not before");

  g_assert_true (g_spawn_async_with_pipes (NULL, (char **) argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, NULL, &output, NULL, &error));
  g_assert_no_error (error);
  while (size < (gssize) sizeof json - 1 && memchr (json, '\n', size) == NULL && (n = read (output, json + size, sizeof json - 1 - size)) > 0)
    size += n;
  json[size] = '\0';
  state = sandbox_state_new_from_json (json, &error);
  g_assert_no_error (error);
  session = get_place (self, "sessions", sandbox_state_get_session_id (state));
  begun = g_build_filename (session, "files", "workspace", "begun", NULL);
  test_wait (g_file_test (begun, G_FILE_TEST_EXISTS));

  /* Stopped is not dead. */
  g_assert_cmpint (kill (pid, SIGSTOP), ==, 0);
  g_assert_null (create (self->backend, NULL, state, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  g_assert_false (sandbox_backend_delete_session (self->backend, state, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);

  g_assert_cmpint (kill (pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  handle = create_ok (self->backend, NULL, state);
  g_assert_cmpuint (test_marker_count (marker), ==, 0);
  assert_sh (handle, "cat begun; wc -c <log >one; sleep 0.2; wc -c <log >two; cmp one two", "begun\n");
  g_spawn_close_pid (pid);
  close (output);
  delete (handle);
  assert_stored (self, 0, 0);
}

/* What another process does, see below: one session, of which it tells who the commands are or what is wrong. */
static int
try_once (const char *state_directory)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = sandbox_registry_create_backend (registry, "bubblewrap", state_directory, NULL);
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  handle = create (backend, NULL, NULL, &error);
  if (handle == NULL)
    printf ("%d %s\n", error->code, error->message);
  else
    {
      assert_sh (handle, "echo a >b && stat -c %u b && cat b", "1000\na\n");
      printf ("%u\n", find_uid (handle));
      delete (handle);
    }

  return 0;
}

/* What try_once () tells below a script, which has the mounts for itself; $1 is a directory that it can use. */
static char *
try_below (Storage    *self,
           const char *script)
{
  g_autofree char  *place = g_build_filename (self->top, "place", NULL);
  g_autofree char  *self_path = g_file_read_link ("/proc/self/exe", NULL);
  const char *const argv[] = { "/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, "sh", place, self_path, "--once", NULL };
  g_autoptr (GError) error = NULL;
  char *output = NULL;
  int   status = -1;

  g_assert_cmpint (g_mkdir (place, 0755), ==, 0);
  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, &output, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);

  return output;
}

static void
test_without_rights (Storage      *self,
                     gconstpointer unused)
{
  g_autofree char *told = try_below (self, "exec setpriv --bounding-set -sys_admin \"$2\" \"$3\" \"$1/state\"");
  g_autofree char *code = g_strdup_printf ("%d ", SANDBOX_ERROR_UNAVAILABLE);
  g_autofree char *sessions = g_build_filename (self->top, "place", "state", "bubblewrap", "sessions", NULL);

  g_test_summary ("Root of a container that may not mount anything is told so, with what to do, and nothing stays");

  g_assert_true (g_str_has_prefix (told, code));
  g_assert_nonnull (strstr (told, "CAP_SYS_ADMIN"));
  g_assert_nonnull (strstr (told, "workspace-path"));
  g_assert_cmpuint (test_count_entries (sessions), ==, 0);
}

static void
test_unmapped (Storage      *self,
               gconstpointer unused)
{
  g_autofree char *told = try_below (self, "mount -t tmpfs none \"$1\" && cd \"$1\" && mkdir lower upper work merged && "
                                           "mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work merged && "
                                           "exec \"$2\" \"$3\" \"$1/merged/state\"");
  guint64          uid = g_ascii_strtoull (told, NULL, 10);

  g_test_summary ("Where no owners can be mapped, as on a container's own root, commands run as whom the files belong to, never as root");

  if (uid < STORAGE_ID || uid > LAST_ID)
    g_error ("%s", told);
}

static void
test_stop_frees (Storage      *self,
                 gconstpointer unused)
{
  g_autoptr (SandboxBackend) other = new_backend (self, self->state);
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxState) state = capture (handle);

  g_test_summary ("Two objects of one state directory hand a session back and forth, with commands that live when it is stopped");

  for (guint i = 0; i < 10; i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "trap '' TERM; echo $$ >>ran; sleep 60", NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (GError) error = NULL;

      sandbox_command_set_kill_grace_ms (command, 50);
      process = sandbox_session_spawn (sandbox_handle_get_session (handle), command, NULL, &error);
      g_assert_no_error (error);
      g_assert_null (create (i % 2 == 0 ? other : self->backend, NULL, state, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
      stop (handle);
      g_clear_object (&handle);
      handle = create_ok (i % 2 == 0 ? other : self->backend, NULL, state);
    }
  delete (handle);
  assert_stored (self, 0, 0);
}

static void
test_private (Storage      *self,
              gconstpointer unused)
{
  g_autoptr (SandboxBackend) backend = new_backend (self, NULL);
  g_autoptr (SandboxHandle) handle = create_ok (backend, NULL, NULL);
  g_autoptr (SandboxState) state = capture (handle);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Without a state directory sessions work, and are gone when they are stopped");

  assert_sh (handle, "echo a >b; cat b; pwd", "a\n/workspace\n");
  stop (handle);
  g_assert_null (create (backend, NULL, state, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

#define ADD(path, func) g_test_add ("/storage" path, Storage, NULL, storage_set_up, func, storage_tear_down)

int
main (int    argc,
      char **argv)
{
  if (argc == 4 && g_str_equal (argv[1], "--host"))
    return be_a_host (argv[2], argv[3]);

  if (argc == 3 && g_str_equal (argv[1], "--once"))
    return try_once (argv[2]);

  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/storage/subprocess/come-back", test_come_back);
  ADD ("/life", test_life);
  ADD ("/owners", test_owners);
  ADD ("/tools", test_tools);
  ADD ("/hidden", test_hidden);
  ADD ("/plan", test_plan);
  ADD ("/no-sandbox", test_no_sandbox);
  ADD ("/cancelled", test_cancelled);
  ADD ("/killed-host", test_killed_host);
  ADD ("/stop-frees", test_stop_frees);
  ADD ("/private", test_private);
  if (geteuid () == 0)
    {
      ADD ("/root/without-rights", test_without_rights);
      ADD ("/root/unmapped", test_unmapped);
    }

  return g_test_run ();
}
