/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest that opens everything it can name: nothing of the host, of other sessions and of other commands can be written, and
 * what is secret there is nowhere to be read. What is looked for is planted before; the program probes/walk.c looks.
 */
#include "../common/test-profile.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

/* As in probes/walk.c */
#define MARKER_MASK 0x55

#define KEY_USER_KEYRING (-4)
#define KEY_UNLINK 9

/* Where a word is that no guest may find; the first one is the guest's own, so that it shows whether the search finds. */
typedef enum
{
  PLACE_GUEST,
  PLACE_HOST_ENVIRONMENT,
  PLACE_HOST_PROCESS,
  PLACE_HOST_FILES,
  PLACE_HOST_SOCKET,
  PLACE_HOST_KEY,
  PLACE_STATE_DIRECTORY,
  PLACE_OTHER_WORKSPACE,
  PLACE_OTHER_COMMAND,
  PLACE_OTHER_MEMORY_FILES,
  PLACE_EARLIER_COMMAND,
  N_PLACES,
} Place;

static const char *const place_names[N_PLACES] = {
  "the guest's own", "the host's environment", "a process of the host", "files of the host", "an abstract socket of the host", "a key of the host",
  "the state directory", "the workspace of another session", "a command of another session", "/tmp and /dev/shm of another session",
  "an earlier command of the same session"
};

static char *markers[N_PLACES];

typedef struct
{
  char            *top;
  char            *state;
  SandboxRegistry *registry;
  SandboxBackend  *backend;
  GSubprocess     *stranger;
  TestSandbox      other; /* with a command that runs */
  SandboxProcess  *command;
  GPtrArray       *files; /* on the host, to be removed */
  int              socket_fd;
  long             key;
} Walk;

/* ---- What is planted ---- */

static void
walk_plant_file (Walk       *self,
                 const char *directory,
                 Place       place)
{
  g_autofree char *name = g_strdup_printf ("%s.file", markers[place]);
  char            *path = g_build_filename (directory, name, NULL);
  g_autoptr (GError) error = NULL;

  g_ptr_array_add (self->files, path);
  g_file_set_contents_full (path, markers[place], -1, G_FILE_SET_CONTENTS_NONE, 0644, &error);
  g_assert_no_error (error);
}

static void
walk_plant_on_host (Walk *self)
{
  const char        *argv[] = { TEST_GUEST, "hold", markers[PLACE_HOST_PROCESS], NULL };
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  g_autoptr (GError) error = NULL;

  self->stranger = g_subprocess_newv (argv, G_SUBPROCESS_FLAGS_STDOUT_SILENCE, &error);
  g_assert_no_error (error);
  test_marker_wait (markers[PLACE_HOST_PROCESS], 1);

  g_assert_cmpint (g_mkdir_with_parents (g_get_home_dir (), 0755), ==, 0);
  walk_plant_file (self, g_get_home_dir (), PLACE_HOST_FILES);
  walk_plant_file (self, g_get_tmp_dir (), PLACE_HOST_FILES);
  walk_plant_file (self, "/dev/shm", PLACE_HOST_FILES);

  g_strlcpy (address.sun_path + 1, markers[PLACE_HOST_SOCKET], sizeof address.sun_path - 1);
  self->socket_fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (bind (self->socket_fd, (struct sockaddr *) &address,
                         (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + strlen (markers[PLACE_HOST_SOCKET]))),
                   ==, 0);
  g_assert_cmpint (listen (self->socket_fd, 1), ==, 0);

  /* Not every kernel has keys. */
  self->key = syscall (SYS_add_key, "user", markers[PLACE_HOST_KEY], "payload", 7, KEY_USER_KEYRING);
}

static void
walk_plant_in_other_session (Walk *self)
{
  g_autofree char  *variable = g_strdup_printf ("MARKER=%s", markers[PLACE_OTHER_COMMAND]);
  g_autofree char  *script = g_strdup_printf ("echo \"$1\" >/tmp/\"$1\"; echo \"$1\" >/dev/shm/\"$1\"; echo %s >secret; exec sleep 1000",
                                              markers[PLACE_OTHER_WORKSPACE]);
  const char *const variables[] = { variable, NULL };
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", script, "sh", markers[PLACE_OTHER_MEMORY_FILES], markers[PLACE_OTHER_COMMAND], NULL);
  g_autoptr (GError) error = NULL;

  self->other.handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  self->other.session = sandbox_handle_get_session (self->other.handle);
  sandbox_command_set_environment (command, variables);
  sandbox_command_set_timeout_ms (command, 600000);
  self->command = sandbox_session_spawn (self->other.session, command, NULL, &error);
  g_assert_no_error (error);
  for (;;)
    {
      g_autofree char *text = sandbox_session_read_text (self->other.session, "secret", NULL, NULL);

      if (text != NULL && strstr (text, markers[PLACE_OTHER_WORKSPACE]) != NULL)
        return;
      g_usleep (TEST_LOOK_US);
    }
}

static void
walk_set_up (Walk         *self,
             gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  self->files = g_ptr_array_new_with_free_func (g_free);
  self->top = g_dir_make_tmp ("sandbox-walk-XXXXXX", &error);
  g_assert_no_error (error);
  self->state = g_build_filename (self->top, "state", NULL);
  self->registry = sandbox_registry_new ();
  self->backend = sandbox_registry_create_backend (self->registry, "bubblewrap", self->state, &error);
  g_assert_no_error (error);
  walk_plant_on_host (self);
  walk_plant_in_other_session (self);
  walk_plant_file (self, self->state, PLACE_STATE_DIRECTORY);
}

static void
walk_tear_down (Walk         *self,
                gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  g_clear_object (&self->command);
  g_assert_true (sandbox_handle_shutdown (self->other.handle, NULL, &error));
  g_clear_object (&self->other.handle);
  g_clear_object (&self->backend);
  g_clear_object (&self->registry);
  g_subprocess_force_exit (self->stranger);
  g_assert_true (g_subprocess_wait (self->stranger, NULL, &error));
  g_clear_object (&self->stranger);
  close (self->socket_fd);
  if (self->key > 0)
    syscall (SYS_keyctl, KEY_UNLINK, self->key, KEY_USER_KEYRING);
  for (guint i = 0; i < self->files->len; i++)
    unlink (self->files->pdata[i]);
  g_ptr_array_unref (self->files);
  test_remove_tree (self->top);
  g_free (self->state);
  g_free (self->top);
}

/* ---- What is found ---- */

static void
leave_traces (TestSandbox *sandbox)
{
  const char       *marker = markers[PLACE_EARLIER_COMMAND];
  g_autofree char  *variable = g_strdup_printf ("MARKER=%s", marker);
  const char *const variables[] = { variable, NULL };
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", "cat >/tmp/a; cp /tmp/a /dev/shm/\"$1\"; cat /dev/shm/\"$1\"", "sh", marker, NULL);
  g_autoptr (GBytes) input = g_bytes_new (marker, strlen (marker));
  g_autoptr (SandboxResult) result = NULL;

  sandbox_command_set_environment (command, variables);
  sandbox_command_set_stdin (command, input);
  result = test_run_command (sandbox, command);
  test_assert_exited (result, 0);
  test_assert_output (result, marker);
}

static GBytes *
new_walk_input (gint64 since)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%" G_GINT64_FORMAT "\n", since);
  for (guint i = 0; i < N_PLACES; i++)
    {
      for (const char *at = markers[i]; *at != '\0'; at++)
        g_string_append_printf (text, "%02x", (guint) *at ^ MARKER_MASK);
      g_string_append_c (text, '\n');
    }

  return g_string_free_to_bytes (text);
}

static gboolean
is_below (const char        *path,
          const char *const *directories)
{
  for (guint i = 0; directories[i] != NULL; i++)
    if (g_str_has_prefix (path, directories[i]) && (path[strlen (directories[i])] == '/' || path[strlen (directories[i])] == '\0'))
      return TRUE;

  return FALSE;
}

/* Of process 1 and of nothing in /proc beside the processes. */
static gboolean
is_of_own_process (const char *path)
{
  return g_str_has_prefix (path, "/proc/") && g_ascii_isdigit (path[6]) && !g_str_has_prefix (path, "/proc/1/");
}

static gboolean
is_device (const char *path)
{
  static const char *const devices[] = { "/dev/full", "/dev/null", "/dev/ptmx", "/dev/pts/ptmx", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero", NULL };

  return g_strv_contains (devices, path);
}

static gboolean
has_line (char      **lines,
          const char *word,
          const char *path)
{
  g_autofree char *line = g_strconcat (word, " ", path, NULL);

  return g_strv_contains ((const char *const *) lines, line);
}

/* Runs the walk, which may write below @writable. The most names are below /usr: to go through them in each view will do. */
static void
check_walk (TestSandbox       *sandbox,
            const char *const *writable,
            const char        *left_out)
{
  const char *const programs_own[] = { "/workspace", NULL };
  const char *const memory[] = { "/tmp", "/dev/shm", NULL };
  g_autofree char  *variable = g_strdup_printf ("MARKER=%s", markers[PLACE_GUEST]);
  const char *const variables[] = { variable, NULL };
  g_autoptr (SandboxCommand) command = test_command_new ("./walk", markers[PLACE_GUEST], left_out, NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GBytes) input = new_walk_input (time (NULL) - 60);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  g_autoptr (GString) faults = g_string_new (NULL);
  guint found = 0;

  g_assert_true (sandbox_session_write_text (sandbox->session, "control", markers[PLACE_GUEST], NULL, &error));
  leave_traces (sandbox);
  sandbox_command_set_environment (command, variables);
  sandbox_command_set_stdin (command, input);
  sandbox_command_set_timeout_ms (command, 120000);
  result = test_run_command (sandbox, command);
  test_assert_exited (result, 0);
  text = sandbox_result_dup_stdout_text (result);
  lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++)
    {
      g_auto (GStrv) words = g_strsplit (lines[i], " ", 2);
      const char *what = words[0];
      const char *path = words[1];

      if (g_str_equal (what, "create") && (is_below (path, memory) || is_below (path, writable)))
        continue;
      if (g_str_equal (what, "write") && (is_below (path, memory) || is_below (path, writable) || is_device (path) || is_of_own_process (path)))
        continue;
      if (g_str_equal (what, "marker") && g_str_has_prefix (path, "0 ") && (is_of_own_process (path + 2) || is_below (path + 2, programs_own)))
        found++;
      else if (g_str_equal (what, "marker"))
        g_string_append_printf (faults, "%s: found at%s\n", place_names[MIN (N_PLACES - 1, atoi (path))], strchr (path, ' '));
      else if (!g_str_equal (what, "walked"))
        g_string_append_printf (faults, "%s %s\n", what, path);
      else
        g_assert_cmpint (atoi (path), >, 500);
    }

  g_assert_cmpstr (faults->str, ==, "");

  /* The search finds what is there: in a file, a name, arguments, variables and memory. */
  g_test_message ("%s, %u of the guest's own words", lines[MAX (g_strv_length (lines), 2) - 2], found);
  g_assert_true (has_line (lines, "marker 0", "/workspace/control"));
  g_assert_true (has_line (lines, "marker 0", "/proc/2/cmdline"));
  g_assert_true (has_line (lines, "marker 0", "/proc/2/environ"));
  g_assert_true (has_line (lines, "marker 0", "/proc/2/mem"));
  g_assert_true (has_line (lines, "create", "/tmp"));
  g_assert_true (has_line (lines, "create", "/dev/shm"));
  g_assert_true (has_line (lines, "write", "/dev/null"));
}

/* In a session of its own over a directory of the host's. */
static void
walk_external (Walk           *self,
               SandboxProfile *profile,
               const char     *left_out)
{
  const char *const writable[] = { "/workspace", NULL };
  g_autoptr (GError) error = NULL;
  TestSandbox sandbox = { .backend = self->backend };

  sandbox.workspace = test_make_workspace ();
  test_install_program (sandbox.workspace, "walk", TEST_WALK);
  sandbox.handle = test_create_for (&sandbox, profile, &error);
  g_assert_no_error (error);
  sandbox.session = sandbox_handle_get_session (sandbox.handle);
  check_walk (&sandbox, writable, left_out);
  g_assert_true (sandbox_handle_stop (sandbox.handle, NULL, &error));
  g_clear_object (&sandbox.handle);
  test_remove_tree (sandbox.workspace);
  g_free (sandbox.workspace);
}

static void
test_external (Walk         *self,
               gconstpointer view)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("A guest over a directory of the host's writes there and to its own memory, and finds nobody's secrets");

  sandbox_profile_set_view (profile, (SandboxView) GPOINTER_TO_INT (view));
  walk_external (self, profile, NULL);
}

/* The worst of all: the guest is root on this machine, because somebody asked for it. */
static void
test_root (Walk         *self,
           gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("A guest that runs as root opens nothing of the machine's either");

  sandbox_profile_set_identity (profile, SANDBOX_IDENTITY_HOST);
  walk_external (self, profile, "/usr");
}

static void
test_kept (Walk         *self,
           gconstpointer unused)
{
  const char *const writable[] = { "/workspace", NULL };
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) program = NULL;
  g_autofree char *bytes = NULL;
  gsize            size = 0;
  TestSandbox      sandbox = { .backend = self->backend };

  g_test_summary ("A guest whose workspace lies beside those of others sees its own alone");

  sandbox.handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  sandbox.session = sandbox_handle_get_session (sandbox.handle);
  g_assert_true (g_file_get_contents (TEST_WALK, &bytes, &size, &error));
  program = g_bytes_new (bytes, size);
  g_assert_true (sandbox_session_write_bytes (sandbox.session, "walk", program, NULL, &error));
  g_free (test_sh (&sandbox, "chmod 755 walk"));
  check_walk (&sandbox, writable, "/usr");
  g_assert_true (sandbox_handle_delete (sandbox.handle, NULL, &error));
  g_clear_object (&sandbox.handle);
}

static void
test_mounts (Walk         *self,
             gconstpointer unused)
{
  const char *const writable[] = { "/srv/open", NULL };
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (GError) error = NULL;
  TestSandbox      sandbox = { .backend = self->backend };
  g_autofree char *open_directory = g_build_filename (self->top, "open", NULL);
  g_autofree char *shut_directory = g_build_filename (self->top, "shut", NULL);
  g_autofree char *masked = g_build_filename (shut_directory, "masked", NULL);

  g_test_summary ("Of what a profile mounts a guest writes what it was given to write; a workspace that is read-only stays so");

  g_assert_cmpint (chmod (self->top, 0755), ==, 0);
  g_assert_cmpint (g_mkdir (open_directory, 0755), ==, 0);
  g_assert_cmpint (g_mkdir (shut_directory, 0755), ==, 0);
  g_assert_cmpint (g_mkdir (masked, 0755), ==, 0);
  walk_plant_file (self, masked, PLACE_HOST_FILES);
  sandbox.workspace = test_make_workspace ();
  test_install_program (sandbox.workspace, "walk", TEST_WALK);
  test_add_mount (profile, open_directory, "/srv/open", SANDBOX_MOUNT_MODE_READ_WRITE);
  test_add_mount (profile, shut_directory, "/srv/shut", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_add_mount (profile, NULL, "/srv/shut/masked", SANDBOX_MOUNT_MODE_MASK);
  sandbox_profile_set_workspace_read_only (profile, TRUE);
  sandbox.handle = test_create_for (&sandbox, profile, &error);
  g_assert_no_error (error);
  sandbox.session = sandbox_handle_get_session (sandbox.handle);
  check_walk (&sandbox, writable, "/usr");
  g_assert_true (sandbox_handle_stop (sandbox.handle, NULL, &error));
  g_clear_object (&sandbox.handle);
  test_remove_tree (sandbox.workspace);
  g_free (sandbox.workspace);
}

int
main (int    argc,
      char **argv)
{
  for (guint i = 0; i < N_PLACES; i++)
    markers[i] = g_strdup_printf ("marker-%u-%08x%08x%08x", i, g_random_int (), g_random_int (), g_random_int ());
  g_setenv ("SANDBOX_TEST_MARKER", markers[PLACE_HOST_ENVIRONMENT], TRUE);
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add ("/walk/minimal", Walk, GINT_TO_POINTER (SANDBOX_VIEW_MINIMAL), walk_set_up, test_external, walk_tear_down);
  g_test_add ("/walk/system", Walk, GINT_TO_POINTER (SANDBOX_VIEW_SYSTEM), walk_set_up, test_external, walk_tear_down);
  if (geteuid () == 0)
    g_test_add ("/walk/root/as-root", Walk, NULL, walk_set_up, test_root, walk_tear_down);
  g_test_add ("/walk/kept", Walk, NULL, walk_set_up, test_kept, walk_tear_down);
  g_test_add ("/walk/mounts", Walk, NULL, walk_set_up, test_mounts, walk_tear_down);

  return g_test_run ();
}
