/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions whose files the library keeps, in real sandboxes: what lasts, who owns it, and who can come back to it. */
#include "../common/test-sandbox.h"

#include <poll.h>

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

#define ADD(path, func) g_test_add ("/storage" path, Storage, NULL, storage_set_up, func, storage_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/storage/subprocess/come-back", test_come_back);
  ADD ("/life", test_life);

  return g_test_run ();
}
