/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the library keeps of sessions: templates, workspaces, states and leases, by the calls that a host makes. The
 * backend is one of this file, whose sessions are files and nothing else.
 */

#include "tree-fixture.h"

#include "sandbox-backend-calls.h"
#include "sandbox-handle.h"
#include "sandbox-state-private.h"
#include "sandbox-workspace-private.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILES 40

/* ---- A backend whose files the library keeps */

typedef struct
{
  SandboxBackend parent_instance;

  gboolean          keeps_nothing;
  GError           *failure; /* what create fails with */
  gboolean          waits;   /* create keeps the request */
  SandboxRequest   *request;
  SandboxWorkspace *workspace; /* what it was last handed */
  GCancellable     *cancelled; /* cancelled by create */
  guint             n_created;
  gboolean          overlays; /* can be mounted */
  guint             n_tries;  /* of that */
} KeptBackend;

typedef struct
{
  SandboxBackendClass parent_class;
} KeptBackendClass;

static GType kept_backend_get_type (void);

G_DEFINE_TYPE (KeptBackend, kept_backend, SANDBOX_TYPE_BACKEND)

static gboolean
kept_backend_create_driver (SandboxBackend       *backend,
                            SandboxCreateOptions *options,
                            SandboxWorkspace     *workspace,
                            SandboxRequest       *request,
                            GError              **error)
{
  KeptBackend *self = (KeptBackend *) backend;
  g_autoptr (GObject) driver = NULL;

  self->n_created++;
  g_set_object (&self->workspace, workspace);
  if (self->cancelled != NULL)
    g_cancellable_cancel (self->cancelled);
  if (self->failure != NULL)
    {
      g_propagate_error (error, g_error_copy (self->failure));
      return FALSE;
    }
  if (self->waits)
    {
      g_set_object (&self->request, request);
      return TRUE;
    }

  driver = g_object_new (tree_driver_get_type (), NULL);
  g_set_object (&((TreeDriver *) driver)->workspace, workspace);
  sandbox_request_return_object (request, driver);

  return TRUE;
}

static gboolean
kept_backend_get_storage (SandboxBackend *backend,
                          guint          *uid,
                          guint          *gid)
{
  return !((KeptBackend *) backend)->keeps_nothing;
}

static gboolean
kept_backend_try_overlay (SandboxBackend   *backend,
                          SandboxWorkspace *workspace,
                          GError          **error)
{
  KeptBackend *self = (KeptBackend *) backend;

  self->n_tries++;
  if (self->overlays)
    return TRUE;
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "Told by the backend");

  return FALSE;
}

static void
kept_backend_finalize (GObject *object)
{
  KeptBackend *self = (KeptBackend *) object;

  g_clear_error (&self->failure);
  g_clear_object (&self->request);
  g_clear_object (&self->workspace);
  g_clear_object (&self->cancelled);

  G_OBJECT_CLASS (kept_backend_parent_class)->finalize (object);
}

static void
kept_backend_class_init (KeptBackendClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = kept_backend_finalize;
  SANDBOX_BACKEND_CLASS (klass)->create_driver = kept_backend_create_driver;
  SANDBOX_BACKEND_CLASS (klass)->get_storage = kept_backend_get_storage;
  SANDBOX_BACKEND_CLASS (klass)->try_overlay = kept_backend_try_overlay;
}

static void
kept_backend_init (KeptBackend *self)
{
}

static SandboxBackend *
new_backend (const char *state_directory)
{
  return g_object_new (kept_backend_get_type (), "name", "kept", "state-directory", state_directory, NULL);
}

/* ---- What every test has */

typedef struct
{
  char           *top;
  char           *state; /* the state directory */
  SandboxBackend *backend;
  KeptBackend    *kept; /* the same */
  guint           n_descriptors;
} Kept;

static void
kept_set_up (Kept         *self,
             gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  self->n_descriptors = test_count_descriptors ();
  self->top = g_dir_make_tmp ("sandbox-kept-XXXXXX", &error);
  g_assert_no_error (error);
  self->state = g_build_filename (self->top, "state", NULL);
  self->backend = new_backend (self->state);
  self->kept = (KeptBackend *) self->backend;
}

static void
kept_tear_down (Kept         *self,
                gconstpointer unused)
{
  SandboxBackend *backend = self->backend;

  /* A thread of the pool may be just letting go of it. */
  g_object_add_weak_pointer (G_OBJECT (backend), (gpointer *) &self->backend);
  g_object_unref (backend);
  test_wait (self->backend == NULL);
  test_assert_descriptors (self->n_descriptors);
  test_remove_tree (self->top);
  g_free (self->state);
  g_free (self->top);
}

/* How many entries there are in a directory of the store; 0 when it is not there. */
static guint
count (Kept       *self,
       const char *directory)
{
  g_autofree char *path = g_build_filename (self->state, "kept", directory, NULL);

  return g_file_test (path, G_FILE_TEST_IS_DIR) ? test_count_entries (path) : 0;
}

static void
assert_stored (Kept *self,
               guint n_templates,
               guint n_sessions)
{
  g_assert_cmpuint (count (self, "templates"), ==, n_templates);
  g_assert_cmpuint (count (self, "sessions"), ==, n_sessions);
  g_assert_cmpuint (count (self, "aside"), ==, 0);
}

static void
add_text (SandboxFileSet *files,
          const char     *path,
          const char     *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  sandbox_file_set_add (files, path, bytes);
}

static SandboxFileSet *
make_files (void)
{
  SandboxFileSet *files = sandbox_file_set_new ();

  add_text (files, "a", "of the template");
  add_text (files, "d/e/f", "deep");
  for (guint i = 0; i < FILES; i++)
    {
      g_autofree char *path = g_strdup_printf ("many/%u", i);

      add_text (files, path, path);
    }

  return files;
}

static SandboxTemplate *
prewarm (Kept *self)
{
  g_autoptr (SandboxFileSet) files = make_files ();
  g_autoptr (GError) error = NULL;
  SandboxTemplate *made = sandbox_backend_prewarm (self->backend, "files", files, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (made);

  return made;
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
  g_assert_cmpint (sandbox_handle_get_phase (handle), ==, SANDBOX_PHASE_LIVE);

  return handle;
}

static void
refuse (SandboxBackend *backend,
        const char     *template_key,
        SandboxState   *state,
        SandboxError    code)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (create (backend, template_key, state, &error));
  g_assert_error (error, SANDBOX_ERROR, (int) code);
}

static SandboxState *
capture (SandboxHandle *handle)
{
  g_autoptr (GError) error = NULL;
  SandboxState *state = sandbox_handle_capture_state (handle, &error);

  g_assert_no_error (error);
  g_assert_nonnull (state);

  return state;
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
  g_assert_cmpint (sandbox_handle_get_phase (handle), ==, SANDBOX_PHASE_DELETED);
}

static void
write_text (SandboxHandle *handle,
            const char    *path,
            const char    *text)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_session_write_text (sandbox_handle_get_session (handle), path, text, NULL, &error));
  g_assert_no_error (error);
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

/* ---- A life */

static void
test_life (Kept         *self,
           gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  const char *key = sandbox_template_get_key (made);
  g_autoptr (SandboxTemplate) again = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxHandle) other = NULL;
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (SandboxState) parsed = NULL;
  g_autoptr (SandboxState) same = NULL;
  g_autofree char *json = NULL;
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Template, create, stop, going on with the state, delete: files are where they should be");

  g_assert_false (sandbox_template_get_reused (made));
  again = prewarm (self);
  g_assert_true (sandbox_template_get_reused (again));
  g_assert_cmpstr (sandbox_template_get_key (again), ==, key);
  assert_stored (self, 1, 0);

  handle = create_ok (self->backend, key, NULL);
  other = create_ok (self->backend, key, NULL);
  g_assert_cmpint (sandbox_handle_get_workspace_mode (handle), !=, SANDBOX_WORKSPACE_MODE_AUTO);
  assert_stored (self, 1, 2);
  assert_text (handle, "a", "of the template");
  assert_text (handle, "d/e/f", "deep");
  write_text (handle, "a", "changed");
  write_text (handle, "new", "kept");
  assert_text (other, "a", "of the template");

  state = capture (handle);
  g_assert_cmpstr (sandbox_state_get_backend (state), ==, "kept");
  g_assert_cmpstr (sandbox_state_get_template_key (state), ==, key);
  g_assert_cmpstr (sandbox_state_get_session_id (state), ==, sandbox_session_get_id (sandbox_handle_get_session (handle)));
  json = sandbox_state_to_json (state);

  /* Somebody has it. */
  refuse (self->backend, NULL, state, SANDBOX_ERROR_BUSY);

  stop (handle);
  g_assert_cmpint (sandbox_handle_get_phase (handle), ==, SANDBOX_PHASE_STOPPED);
  text = sandbox_session_read_text (sandbox_handle_get_session (handle), "a", NULL, &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  same = capture (handle);
  g_assert_true (sandbox_state_equal (state, same));

  parsed = sandbox_state_new_from_json (json, &error);
  g_assert_no_error (error);
  next = create_ok (self->backend, NULL, parsed);
  g_assert_cmpstr (sandbox_session_get_id (sandbox_handle_get_session (next)), ==, sandbox_state_get_session_id (state));
  g_assert_cmpint (sandbox_handle_get_workspace_mode (next), ==, sandbox_handle_get_workspace_mode (handle));
  assert_text (next, "a", "changed");
  assert_text (next, "new", "kept");

  /* What it was made from is not its own. */
  delete (next);
  delete (other);
  assert_stored (self, 1, 0);
  g_assert_null (sandbox_handle_capture_state (next, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  refuse (self->backend, NULL, parsed, SANDBOX_ERROR_NOT_FOUND);
  assert_stored (self, 1, 0);
}

static void
test_empty (Kept         *self,
            gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxHandle) of_template = NULL;
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Without a template, or from one of no files, a workspace is empty");

  handle = create_ok (self->backend, NULL, NULL);
  listing = sandbox_session_list_directory (sandbox_handle_get_session (handle), ".", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, 0);
  state = capture (handle);
  g_assert_null (sandbox_state_get_template_key (state));

  made = sandbox_backend_prewarm (self->backend, "nothing", NULL, NULL, &error);
  g_assert_no_error (error);
  of_template = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  write_text (of_template, "a/b", "c");
  delete (of_template);
  delete (handle);
  assert_stored (self, 1, 0);
}

/* ---- Backends and sessions without */

static void
test_not_supported (Kept         *self,
                    gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxState) state = sandbox_state_new ("kept", ID, NULL, NULL);
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("For a backend that has its own place for files nothing is kept, and what would need it is refused by name");

  self->kept->keeps_nothing = TRUE;
  g_assert_null (sandbox_backend_prewarm (self->backend, "files", NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "KeptBackend"));
  g_clear_error (&error);
  g_assert_null (sandbox_backend_list_templates (self->backend, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_null (sandbox_backend_list_sessions (self->backend, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_false (sandbox_backend_delete_template (self->backend, ID, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_false (sandbox_backend_delete_session (self->backend, state, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  refuse (self->backend, ID, NULL, SANDBOX_ERROR_NOT_SUPPORTED);
  refuse (self->backend, NULL, state, SANDBOX_ERROR_NOT_SUPPORTED);
  sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_COPY);
  g_assert_null (sandbox_backend_create (self->backend, options, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_cmpuint (self->kept->n_created, ==, 0);

  handle = create_ok (self->backend, NULL, NULL);
  g_assert_null (self->kept->workspace);
  g_assert_cmpint (sandbox_handle_get_workspace_mode (handle), ==, SANDBOX_WORKSPACE_MODE_AUTO);
  g_assert_null (sandbox_handle_capture_state (handle, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  delete (handle);
  g_assert_false (g_file_test (self->state, G_FILE_TEST_EXISTS));
}

static void
test_no_name (Kept         *self,
              gconstpointer unused)
{
  g_autoptr (SandboxBackend) backend = g_object_new (kept_backend_get_type (), "state-directory", self->state, NULL);

  g_test_summary ("A backend object without a name has no place on disk, and makes no session that would need one");

  refuse (backend, NULL, NULL, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_false (g_file_test (self->state, G_FILE_TEST_EXISTS));
}

static void
test_host_directory (Kept         *self,
                     gconstpointer unused)
{
  g_autofree char *directory = g_build_filename (self->top, "project", NULL);
  g_autofree char *file = g_build_filename (directory, "a", NULL);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  int alive = 7;

  g_test_summary ("Of a directory of the host's own there is no state, and deleting the session leaves it alone");

  g_assert_cmpint (g_mkdir (directory, 0755), ==, 0);
  sandbox_create_options_set_workspace_path (options, directory);
  handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  write_text (handle, "a", "b");
  g_assert_cmpint (sandbox_handle_get_workspace_mode (handle), ==, SANDBOX_WORKSPACE_MODE_AUTO);
  g_assert_null (sandbox_workspace_get_state_directory (self->kept->workspace));
  g_assert_true (sandbox_workspace_lend_alive (self->kept->workspace, &alive, &error));
  g_assert_no_error (error);
  g_assert_cmpint (alive, ==, -1);
  g_assert_null (sandbox_handle_capture_state (handle, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);

  delete (handle);
  delete (handle);
  g_assert_true (g_file_test (file, G_FILE_TEST_IS_REGULAR));
  g_assert_false (sandbox_session_write_text (sandbox_handle_get_session (handle), "a", "c", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_assert_false (g_file_test (self->state, G_FILE_TEST_EXISTS));
}

static void
test_private (Kept         *self,
              gconstpointer unused)
{
  g_autoptr (SandboxBackend) backend = new_backend (NULL);
  g_autoptr (SandboxHandle) handle = create_ok (backend, NULL, NULL);
  g_autoptr (SandboxHandle) dropped = create_ok (backend, NULL, NULL);
  g_autoptr (SandboxHandle) deleted = create_ok (backend, NULL, NULL);
  g_autofree char *place = g_strdup (sandbox_workspace_get_state_directory (((KeptBackend *) backend)->workspace));
  g_autofree char *sessions = g_build_filename (place, "kept", "sessions", NULL);
  g_autoptr (SandboxState) state = capture (handle);
  struct stat st;

  g_test_summary ("Without a state directory there is a private one: a session goes when it is stopped, the rest with the backend");

  g_assert_null (sandbox_backend_get_state_directory (backend));
  g_assert_cmpint (stat (place, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0700);
  g_assert_cmpuint (test_count_entries (sessions), ==, 3);

  stop (handle);
  g_assert_cmpuint (test_count_entries (sessions), ==, 2);
  refuse (backend, NULL, state, SANDBOX_ERROR_NOT_FOUND);
  delete (handle);
  delete (deleted);
  g_clear_object (&((KeptBackend *) backend)->workspace);
  g_clear_object (&dropped);
  test_wait (test_count_entries (sessions) == 0);

  g_clear_object (&handle);
  g_clear_object (&deleted);
  /* Its removal may still be at work. */
  test_wait (G_OBJECT (backend)->ref_count == 1);
  g_clear_object (&backend);
  test_wait (!g_file_test (place, G_FILE_TEST_EXISTS));
}

/* ---- Owners */

static void
test_old_handle (Kept         *self,
                 gconstpointer unused)
{
  g_autoptr (SandboxBackend) backend = new_backend (self->state);
  g_autoptr (SandboxHandle) old = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxHandle) owner = NULL;
  g_autoptr (SandboxState) state = capture (old);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 97: the handle of before cannot delete a session that somebody else has by now");

  write_text (old, "a", "b");
  refuse (backend, NULL, state, SANDBOX_ERROR_BUSY);
  g_assert_false (sandbox_backend_delete_session (backend, state, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  stop (old);
  owner = create_ok (backend, NULL, state);

  g_assert_false (sandbox_handle_delete (old, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  g_assert_cmpint (sandbox_handle_get_phase (old), ==, SANDBOX_PHASE_STOPPED);
  assert_text (owner, "a", "b");
  write_text (owner, "a", "c");
  assert_stored (self, 0, 1);

  /* Once that one is done with it, it can. */
  stop (owner);
  delete (old);
  assert_stored (self, 0, 0);
  delete (owner);
}

static void
test_dropped (Kept         *self,
              gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxSession) session = g_object_ref (sandbox_handle_get_session (handle));
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = capture (handle);

  g_test_summary ("A session that is let go of without a stop can be had by its state, once nobody has anything of it");

  write_text (handle, "a", "b");
  g_clear_object (&handle);
  refuse (self->backend, NULL, state, SANDBOX_ERROR_BUSY);
  g_clear_object (&session);
  next = create_ok (self->backend, NULL, state);
  assert_text (next, "a", "b");
  delete (next);
}

/* As many as the pool has threads for file work */
#define N_ATTACHES 4

static void
test_attach_waits (Kept         *self,
                   gconstpointer unused)
{
  char *const argv[] = { (char *) "sleep", (char *) "60", NULL };
  char *const environment[] = { NULL };
  g_autoptr (SandboxHandle) other = create_ok (self->backend, NULL, NULL);
  GAsyncResult              *results[N_ATTACHES] = { NULL };
  GAsyncResult              *result = NULL;
  SandboxHandle             *handles[N_ATTACHES];
  int                        locks[N_ATTACHES];
  posix_spawn_file_actions_t actions;
  pid_t                      sandbox = -1;
  g_autoptr (GError) error = NULL;

  g_test_summary ("While sessions are waited for that the sandboxes of their last owner hold up, other sessions work");

  write_text (other, "a", "b");
  posix_spawn_file_actions_init (&actions);
  for (int i = 0; i < N_ATTACHES; i++)
    {
      handles[i] = create_ok (self->backend, NULL, NULL);
      g_assert_true (sandbox_workspace_lend_alive (self->kept->workspace, &locks[i], &error));
      g_assert_no_error (error);
      posix_spawn_file_actions_adddup2 (&actions, locks[i], 100 + i);
    }
  g_assert_cmpint (posix_spawnp (&sandbox, "sleep", &actions, NULL, argv, environment), ==, 0);
  posix_spawn_file_actions_destroy (&actions);
  for (guint i = 0; i < N_ATTACHES; i++)
    {
      g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
      g_autoptr (SandboxState) state = capture (handles[i]);

      sandbox_workspace_return_alive (&locks[i]);
      stop (handles[i]);
      sandbox_create_options_set_state (options, state);
      sandbox_backend_create_async (self->backend, options, NULL, test_result_cb, &results[i]);
    }

  sandbox_session_read_text_async (sandbox_handle_get_session (other), "a", NULL, test_result_cb, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_free (sandbox_session_read_text_finish (sandbox_handle_get_session (other), result, &error));
  g_assert_no_error (error);
  g_object_unref (result);
  for (guint i = 0; i < N_ATTACHES; i++)
    g_assert_null (results[i]);

  g_assert_cmpint (kill (sandbox, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (sandbox, NULL, 0), ==, sandbox);
  for (guint i = 0; i < N_ATTACHES; i++)
    {
      g_autoptr (SandboxHandle) next = NULL;

      while (results[i] == NULL)
        g_main_context_iteration (NULL, TRUE);
      next = sandbox_backend_create_finish (self->backend, results[i], &error);
      g_assert_no_error (error);
      delete (next);
      g_object_unref (results[i]);
      g_object_unref (handles[i]);
    }
  delete (other);
}

/* A sandbox of a host that is gone holds the session up, and what a workspace lends does that. */
static void
test_alive (Kept         *self,
            gconstpointer unused)
{
  char *const argv[] = { (char *) "sleep", (char *) "60", NULL };
  char *const environment[] = { NULL };
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = capture (handle);
  g_autoptr (SandboxWorkspace) workspace = g_object_ref (self->kept->workspace);
  g_autoptr (GError) error = NULL;
  posix_spawn_file_actions_t actions;
  gint64                     begun;
  pid_t                      sandbox = -1;
  int                        alive = -1;

  g_test_summary ("Nobody gets a session before what was started in it is dead, and then at once");

  g_assert_true (sandbox_workspace_lend_alive (workspace, &alive, &error));
  g_assert_no_error (error);
  g_assert_cmpint (fcntl (alive, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, alive, 3);
  g_assert_cmpint (posix_spawnp (&sandbox, "sleep", &actions, NULL, argv, environment), ==, 0);
  posix_spawn_file_actions_destroy (&actions);
  sandbox_workspace_return_alive (&alive);
  g_assert_cmpint (alive, ==, -1);
  stop (handle);
  g_assert_false (sandbox_workspace_lend_alive (workspace, &alive, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);

  begun = g_get_monotonic_time ();
  refuse (self->backend, NULL, state, SANDBOX_ERROR_BUSY);
  g_assert_cmpint (g_get_monotonic_time () - begun, >=, 5 * G_USEC_PER_SEC);
  g_assert_false (sandbox_handle_delete (handle, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  assert_stored (self, 0, 1);

  g_assert_cmpint (kill (sandbox, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (sandbox, NULL, 0), ==, sandbox);
  next = create_ok (self->backend, NULL, state);
  delete (next);
}

static gpointer
stop_in_thread (gpointer data)
{
  stop (data);

  return NULL;
}

static gpointer
delete_in_thread (gpointer data)
{
  delete (data);

  return NULL;
}

static void
test_ends (Kept         *self,
           gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 98: stops and deletes, together and again, have one outcome");

  for (guint round = 0; round < 50; round++)
    {
      g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
      const GThreadFunc funcs[][4] = {
        { stop_in_thread, stop_in_thread, stop_in_thread, stop_in_thread },
        { stop_in_thread, delete_in_thread, stop_in_thread, delete_in_thread },
        { delete_in_thread, stop_in_thread, delete_in_thread, delete_in_thread },
      };
      GThread *threads[4];

      write_text (handle, "d/a", "b");
      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        threads[i] = g_thread_new ("end", funcs[round % 3][i], handle);
      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        g_thread_join (threads[i]);

      g_assert_cmpint (sandbox_handle_get_phase (handle), ==, round % 3 == 0 ? SANDBOX_PHASE_STOPPED : SANDBOX_PHASE_DELETED);
      assert_stored (self, 0, round % 3 == 0 ? 1 : 0);
      delete (handle);
      delete (handle);
      stop (handle);
      assert_stored (self, 0, 0);
      g_assert_null (sandbox_handle_capture_state (handle, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
      g_clear_error (&error);
    }
}

static void
test_ends_async (Kept         *self,
                 gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();
  GAsyncResult *results[5] = { NULL };
  g_autoptr (GError) error = NULL;

  g_test_summary ("The same by asynchronous calls; one that was cancelled before it began does nothing");

  g_cancellable_cancel (cancelled);
  sandbox_handle_delete_async (handle, cancelled, test_result_cb, &results[0]);
  test_wait (results[0] != NULL);
  g_assert_false (sandbox_handle_delete_finish (handle, results[0], &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_cmpint (sandbox_handle_get_phase (handle), ==, SANDBOX_PHASE_LIVE);

  sandbox_handle_stop_async (handle, NULL, test_result_cb, &results[1]);
  sandbox_handle_delete_async (handle, NULL, test_result_cb, &results[2]);
  sandbox_handle_delete_async (handle, NULL, test_result_cb, &results[3]);
  sandbox_handle_shutdown_async (handle, NULL, test_result_cb, &results[4]);
  test_wait (results[1] != NULL && results[2] != NULL && results[3] != NULL && results[4] != NULL);
  g_assert_true (sandbox_handle_stop_finish (handle, results[1], &error));
  g_assert_true (sandbox_handle_delete_finish (handle, results[2], &error));
  g_assert_true (sandbox_handle_delete_finish (handle, results[3], &error));
  g_assert_true (sandbox_handle_shutdown_finish (handle, results[4], &error));
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_handle_get_phase (handle), ==, SANDBOX_PHASE_DELETED);
  assert_stored (self, 0, 0);
  for (guint i = 0; i < G_N_ELEMENTS (results); i++)
    g_object_unref (results[i]);
}

static gboolean
close_badly (SandboxDriver  *driver,
             SandboxRequest *request,
             GError        **error)
{
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "It hangs");

  return FALSE;
}

static void
test_bad_stop (Kept         *self,
               gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxHandle) other = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = capture (handle);
  g_autoptr (GError) error = NULL;
  SandboxDriverInterface *iface = g_type_interface_peek (g_type_class_peek (tree_driver_get_type ()), SANDBOX_TYPE_DRIVER);
  gboolean (*before) (SandboxDriver *, SandboxRequest *, GError **) = iface->close;

  g_test_summary ("A stop that fails gives the session up too: it can be had again, or deleted");

  iface->close = close_badly;
  g_assert_false (sandbox_handle_stop (handle, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
  g_clear_error (&error);
  g_assert_cmpint (sandbox_handle_get_phase (handle), ==, SANDBOX_PHASE_STOPPED);
  delete (other);
  iface->close = before;

  next = create_ok (self->backend, NULL, state);
  g_assert_false (sandbox_handle_delete (handle, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  stop (next);
  delete (handle);
  assert_stored (self, 0, 0);
}

/* ---- States */

static void
test_foreign_states (Kept         *self,
                     gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  g_autoptr (SandboxState) state = capture (handle);
  g_autoptr (SandboxState) of_another = sandbox_state_new ("other", sandbox_state_get_session_id (state), NULL, NULL);
  g_autoptr (SandboxState) of_nobody = sandbox_state_new ("kept", ID, NULL, NULL);
  g_autoptr (SandboxState) other_template = sandbox_state_new ("kept", sandbox_state_get_session_id (state), ID, NULL);
  g_autoptr (SandboxState) no_template = sandbox_state_new ("kept", sandbox_state_get_session_id (state), NULL, NULL);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 99: a state of something else is refused, and leaves no trace on disk");

  write_text (handle, "a", "b");
  stop (handle);
  refuse (self->backend, NULL, of_another, SANDBOX_ERROR_STATE_MISMATCH);
  refuse (self->backend, NULL, of_nobody, SANDBOX_ERROR_NOT_FOUND);
  refuse (self->backend, NULL, other_template, SANDBOX_ERROR_STATE_MISMATCH);
  refuse (self->backend, NULL, no_template, SANDBOX_ERROR_STATE_MISMATCH);
  refuse (self->backend, ID, state, SANDBOX_ERROR_STATE_MISMATCH);
  g_assert_false (sandbox_backend_delete_session (self->backend, of_another, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STATE_MISMATCH);
  g_clear_error (&error);
  g_assert_false (sandbox_backend_delete_session (self->backend, other_template, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STATE_MISMATCH);
  g_clear_error (&error);
  g_assert_true (sandbox_backend_delete_session (self->backend, of_nobody, NULL, &error));
  g_assert_no_error (error);
  assert_stored (self, 1, 1);

  next = create_ok (self->backend, sandbox_template_get_key (made), state);
  assert_text (next, "a", "b");
  delete (next);
}

static void
test_labels (Kept         *self,
             gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GVariant) labels = g_variant_ref_sink (g_variant_new_parsed ("{'job': '7', 'user': 'é'}"));
  g_autoptr (GVariant) others = g_variant_ref_sink (g_variant_new_parsed ("{'job': '8'}"));
  g_autoptr (GListModel) sessions = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (SandboxState) listed = NULL;
  g_autoptr (SandboxState) bare = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Labels stay with the session, tell it apart in a list, and are not needed to go on with it");

  sandbox_create_options_set_labels (options, labels);
  handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  state = capture (handle);
  g_assert_true (g_variant_equal (sandbox_state_get_labels (state), labels));
  sessions = sandbox_backend_list_sessions (self->backend, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (sessions), ==, 1);
  listed = g_list_model_get_item (sessions, 0);
  g_assert_true (g_variant_equal (sandbox_state_get_labels (listed), labels));

  stop (handle);
  bare = sandbox_state_new ("kept", sandbox_state_get_session_id (state), NULL, NULL);
  sandbox_create_options_set_state (options, bare);
  sandbox_create_options_set_labels (options, others);
  next = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&state);
  state = capture (next);
  g_assert_true (g_variant_equal (sandbox_state_get_labels (state), labels));
  delete (next);
}

static void
test_lists (Kept         *self,
            gconstpointer unused)
{
  g_autoptr (SandboxBackend) backend = new_backend (self->state);
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxTemplate) empty = NULL;
  g_autoptr (GListModel) templates = NULL;
  g_autoptr (GListModel) sessions = NULL;
  g_autoptr (SandboxHandle) one = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxHandle) two = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  g_autoptr (SandboxState) state = capture (two);
  GAsyncResult *results[4] = { NULL };
  g_autoptr (GError) error = NULL;
  const char *last = "";

  g_test_summary ("What is stored is listed in the order of the keys, by any object, and can be removed by those");

  empty = sandbox_backend_prewarm (self->backend, "nothing", NULL, NULL, &error);
  g_assert_no_error (error);
  sandbox_backend_list_templates_async (backend, NULL, test_result_cb, &results[0]);
  sandbox_backend_list_sessions_async (backend, NULL, test_result_cb, &results[1]);
  test_wait (results[0] != NULL && results[1] != NULL);
  templates = sandbox_backend_list_templates_finish (backend, results[0], &error);
  g_assert_no_error (error);
  sessions = sandbox_backend_list_sessions_finish (backend, results[1], &error);
  g_assert_no_error (error);

  g_assert_true (g_list_model_get_item_type (templates) == SANDBOX_TYPE_TEMPLATE);
  g_assert_cmpuint (g_list_model_get_n_items (templates), ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (SandboxTemplate) listed = g_list_model_get_item (templates, i);
      const char *key = sandbox_template_get_key (listed);

      g_assert_cmpstr (last, <, key);
      last = g_str_equal (key, sandbox_template_get_key (made)) ? sandbox_template_get_key (made) : sandbox_template_get_key (empty);
      g_assert_cmpstr (key, ==, last);
      g_assert_cmpstr (sandbox_template_get_name (listed), ==,
                       g_str_equal (key, sandbox_template_get_key (made)) ? "files" : "nothing");
    }
  g_assert_true (g_list_model_get_item_type (sessions) == SANDBOX_TYPE_STATE);
  g_assert_cmpuint (g_list_model_get_n_items (sessions), ==, 2);
  last = "";
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (SandboxState) listed = g_list_model_get_item (sessions, i);
      gboolean is_two = g_str_equal (sandbox_state_get_session_id (listed), sandbox_state_get_session_id (state));

      g_assert_cmpstr (last, <, sandbox_state_get_session_id (listed));
      last = is_two ? sandbox_state_get_session_id (state)
                    : sandbox_session_get_id (sandbox_handle_get_session (one));
      g_assert_cmpstr (sandbox_state_get_session_id (listed), ==, last);
      g_assert_cmpstr (sandbox_state_get_template_key (listed), ==, is_two ? sandbox_template_get_key (made) : NULL);
    }

  /* A template goes without its sessions. */
  sandbox_backend_delete_template_async (backend, sandbox_template_get_key (made), NULL, test_result_cb, &results[2]);
  test_wait (results[2] != NULL);
  g_assert_true (sandbox_backend_delete_template_finish (backend, results[2], &error));
  g_assert_true (sandbox_backend_delete_template (backend, sandbox_template_get_key (made), NULL, &error));
  g_assert_no_error (error);
  assert_stored (self, 1, 2);
  assert_text (two, "a", "of the template");
  refuse (backend, sandbox_template_get_key (made), NULL, SANDBOX_ERROR_NOT_FOUND);
  g_assert_false (sandbox_backend_delete_template (backend, "../../x", NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);

  stop (two);
  sandbox_backend_delete_session_async (backend, state, NULL, test_result_cb, &results[3]);
  test_wait (results[3] != NULL);
  g_assert_true (sandbox_backend_delete_session_finish (backend, results[3], &error));
  g_assert_true (sandbox_backend_delete_session (backend, state, NULL, &error));
  g_assert_no_error (error);
  assert_stored (self, 1, 1);
  delete (two);
  delete (one);
  for (guint i = 0; i < G_N_ELEMENTS (results); i++)
    g_object_unref (results[i]);
}

/* ---- What goes wrong */

static void
test_create_fails (Kept         *self,
                   gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 108: when the sandbox cannot be had, what is new is removed, and what was there is as it was");

  handle = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  write_text (handle, "a", "b");
  state = capture (handle);
  stop (handle);

  self->kept->failure = g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE, "no sandbox here");
  refuse (self->backend, NULL, NULL, SANDBOX_ERROR_UNAVAILABLE);
  refuse (self->backend, sandbox_template_get_key (made), NULL, SANDBOX_ERROR_UNAVAILABLE);
  refuse (self->backend, NULL, state, SANDBOX_ERROR_UNAVAILABLE);
  assert_stored (self, 1, 1);

  sandbox_create_options_set_template_key (options, sandbox_template_get_key (made));
  sandbox_backend_create_async (self->backend, options, NULL, test_result_cb, &result);
  test_wait (result != NULL);
  g_assert_null (sandbox_backend_create_finish (self->backend, result, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  assert_stored (self, 1, 1);
  g_clear_error (&self->kept->failure);
  g_assert_cmpuint (self->kept->n_created, ==, 5);

  next = create_ok (self->backend, NULL, state);
  assert_text (next, "a", "b");
  delete (next);
}

static void
test_create_cancelled (Kept         *self,
                       gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 108: cancelled at any moment, there is no session, no lease and nothing aside");

  sandbox_create_options_set_template_key (options, sandbox_template_get_key (made));
  for (guint wait_us = 0; wait_us < 20000; wait_us += 200)
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

  /* While the backend is at work, in both ways of a call */
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GAsyncResult) result = NULL;

      g_clear_object (&self->kept->cancelled);
      self->kept->cancelled = g_cancellable_new ();
      if (i == 0)
        g_assert_null (sandbox_backend_create (self->backend, options, self->kept->cancelled, &error));
      else
        {
          sandbox_backend_create_async (self->backend, options, self->kept->cancelled, test_result_cb, &result);
          test_wait (result != NULL);
          g_assert_null (sandbox_backend_create_finish (self->backend, result, &error));
        }
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_clear_error (&error);
      assert_stored (self, 1, 0);
    }
}

static void
test_attach_cancelled (Kept         *self,
                       gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxState) state = capture (handle);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A cancelled attempt to go on with a session leaves it as it was, for the next to take");

  write_text (handle, "a", "b");
  stop (handle);
  sandbox_create_options_set_state (options, state);
  self->kept->cancelled = g_cancellable_new ();
  g_assert_null (sandbox_backend_create (self->backend, options, self->kept->cancelled, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  next = create_ok (self->backend, NULL, state);
  assert_text (next, "a", "b");
  delete (next);
}

static void
test_full_disk (Kept         *self,
                gconstpointer unused)
{
  Fixture          place = { .inside = self->top, .root = -1 };
  g_autofree char *disk = g_build_filename (self->top, "disk", NULL);
  g_autofree char *large = g_strnfill (150 * 1024, 'x');
  g_autoptr (SandboxFileSet) files = sandbox_file_set_new ();
  g_autoptr (SandboxTemplate) made = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxHandle) copy = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 108: on a full disk nothing of a new session stays, and those that are there can be stopped, had again and deleted");

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
      g_test_trap_assert_passed ();
      return;
    }

  g_assert_cmpint (g_mkdir (disk, 0700), ==, 0);
  guest_enter_mount_namespace (&place);
  close (place.root);
  g_assert_cmpint (mount ("tmpfs", disk, "tmpfs", 0, "size=320k,mode=0700"), ==, 0);
  g_clear_object (&self->backend);
  g_free (self->state);
  self->state = g_build_filename (disk, "state", NULL);
  self->backend = new_backend (self->state);
  self->kept = (KeptBackend *) self->backend;

  add_text (files, "large", large);
  made = sandbox_backend_prewarm (self->backend, "large", files, NULL, &error);
  g_assert_no_error (error);
  handle = create_ok (self->backend, NULL, NULL);
  write_text (handle, "a", "old");
  write_text (handle, "more", large);
  refuse (self->backend, sandbox_template_get_key (made), NULL, SANDBOX_ERROR_LIMIT);
  assert_stored (self, 1, 1);
  g_assert_false (sandbox_session_write_text (sandbox_handle_get_session (handle), "a", large, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  assert_text (handle, "a", "old");

  state = capture (handle);
  stop (handle);
  next = create_ok (self->backend, NULL, state);
  assert_text (next, "a", "old");
  delete (next);
  copy = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  delete (copy);
  assert_stored (self, 1, 0);

  /* What was to be warmed up has not been, in here. */
  g_clear_object (&self->kept->workspace);
  self->n_descriptors = G_MAXINT;
  g_assert_cmpint (umount2 (disk, MNT_DETACH), ==, 0);
}

/* A backend that answers a session that nobody waits for any more */
static void
test_late_answer (Kept         *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GObject) driver = g_object_new (tree_driver_get_type (), NULL);
  g_autoptr (GError) error = NULL;
  int alive = -1;

  g_test_summary ("A sandbox that comes after its session was given up finds neither its files nor its lock");

  self->kept->waits = TRUE;
  sandbox_backend_create_async (self->backend, options, cancellable, test_result_cb, &result);
  test_wait (self->kept->request != NULL);
  assert_stored (self, 0, 1);
  g_cancellable_cancel (cancellable);
  test_wait (result != NULL);
  g_assert_null (sandbox_backend_create_finish (self->backend, result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  assert_stored (self, 0, 0);

  g_assert_false (sandbox_workspace_lend_alive (self->kept->workspace, &alive, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_set_object (&((TreeDriver *) driver)->workspace, self->kept->workspace);
  sandbox_request_return_object (self->kept->request, driver);
}

static void
test_open_stream (Kept         *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxState) state = capture (handle);
  g_autoptr (GOutputStream) stream = NULL;
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A stream of a session that has been stopped changes no file of its next owner's");

  write_text (handle, "a", "old");
  stream = sandbox_session_open_write (sandbox_handle_get_session (handle), "a", NULL, &error);
  g_assert_no_error (error);
  g_output_stream_write_all (stream, "new", 3, NULL, NULL, &error);
  g_assert_no_error (error);
  stop (handle);
  next = create_ok (self->backend, NULL, state);
  g_assert_false (g_output_stream_close (stream, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  assert_text (next, "a", "old");
  listing = sandbox_session_list_directory (sandbox_handle_get_session (next), ".", NULL, &error);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, 1);
  delete (next);
}

/* As a thread of the pool does while it copies a large tree */
static void
test_under_way (Kept         *self,
                gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxState) state = capture (handle);
  g_autoptr (SandboxWorkspace) workspace = g_object_ref (self->kept->workspace);
  SandboxWorkspaceRoot *root = NULL;
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A change of files that is under way when the session is stopped keeps it until its end, and none begins after");

  root = sandbox_workspace_enter (workspace, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_workspace_enter (workspace, NULL, NULL, &error) == root);
  stop (handle);
  g_assert_null (sandbox_workspace_enter (workspace, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  refuse (self->backend, NULL, state, SANDBOX_ERROR_BUSY);
  sandbox_workspace_leave (workspace, root);
  refuse (self->backend, NULL, state, SANDBOX_ERROR_BUSY);
  sandbox_workspace_leave (workspace, root);
  next = create_ok (self->backend, NULL, state);

  /* A delete does not wait for it: what is written goes with the rest. */
  g_set_object (&workspace, self->kept->workspace);
  g_clear_error (&error);
  root = sandbox_workspace_enter (workspace, NULL, NULL, &error);
  g_assert_no_error (error);
  stop (next);
  delete (next);
  assert_stored (self, 0, 0);
  sandbox_workspace_leave (workspace, root);
}

/* ---- Modes and progress */

static void
test_modes (Kept         *self,
            gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxHandle) shared = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A mode is had or refused, never replaced by another one");

  sandbox_create_options_set_template_key (options, sandbox_template_get_key (made));
  sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_COPY);
  handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_handle_get_workspace_mode (handle), ==, SANDBOX_WORKSPACE_MODE_COPY);
  delete (handle);

  sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_OVERLAY);
  g_assert_null (sandbox_backend_create (self->backend, options, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);

  sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_REFLINK);
  shared = sandbox_backend_create (self->backend, options, NULL, &error);
  if (shared != NULL)
    {
      g_assert_cmpint (sandbox_handle_get_workspace_mode (shared), ==, SANDBOX_WORKSPACE_MODE_REFLINK);
      delete (shared);
    }
  else
    g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  assert_stored (self, 1, 0);
}

static void
test_overlay (Kept         *self,
              gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxHandle) plain = NULL;
  g_autoptr (GError) error = NULL;
  int lower = -1;
  int base = -1;

  g_test_summary ("A backend that can mount an overlay is handed one where it is asked for, but not for a workspace that is read-only; its template "
                  "stays as long as the session");

  self->kept->overlays = TRUE;
  sandbox_create_options_set_template_key (options, sandbox_template_get_key (made));
  sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_OVERLAY);
  handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (self->kept->n_tries, ==, 1);
  g_assert_cmpint (sandbox_handle_get_workspace_mode (handle), ==, SANDBOX_WORKSPACE_MODE_OVERLAY);
  g_assert_true (sandbox_workspace_dup_layers (self->kept->workspace, &lower, &base, &error));
  g_assert_no_error (error);
  close (lower);
  close (base);
  g_assert_false (sandbox_backend_delete_template (self->backend, sandbox_template_get_key (made), NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);

  sandbox_profile_set_workspace_read_only (profile, TRUE);
  sandbox_create_options_set_profile (options, profile);
  g_assert_null (sandbox_backend_create (self->backend, options, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  sandbox_create_options_set_workspace_mode (options, SANDBOX_WORKSPACE_MODE_AUTO);
  plain = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_handle_get_workspace_mode (plain), !=, SANDBOX_WORKSPACE_MODE_OVERLAY);
  g_assert_cmpuint (self->kept->n_tries, ==, 1);
  delete (plain);

  delete (handle);
  g_assert_true (sandbox_backend_delete_template (self->backend, sandbox_template_get_key (made), NULL, &error));
  g_assert_no_error (error);
  assert_stored (self, 0, 0);
}

typedef struct
{
  GThread *thread;
  guint    n_calls;
  guint64  bytes;
  guint64  files;
  gboolean answered;
} Progress;

static void
progress_cb (SandboxBackend *backend,
             const char     *name,
             guint64         bytes,
             guint64         files,
             gpointer        user_data)
{
  Progress *progress = user_data;

  g_assert_cmpstr (name, ==, "files");
  g_assert_true (progress->thread == g_thread_self ());
  g_assert_false (progress->answered);
  g_assert_cmpuint (bytes, >=, progress->bytes);
  g_assert_cmpuint (files, >=, progress->files);
  progress->n_calls++;
  progress->bytes = bytes;
  progress->files = files;
}

static void
progress_done_cb (GObject      *object,
                  GAsyncResult *result,
                  gpointer      user_data)
{
  Progress *progress = user_data;
  g_autoptr (SandboxTemplate) made = NULL;
  g_autoptr (GError) error = NULL;

  made = sandbox_backend_prewarm_finish (SANDBOX_BACKEND (object), result, &error);
  g_assert_no_error (error);
  progress->answered = TRUE;
}

static void
test_progress (Kept         *self,
               gconstpointer unused)
{
  g_autoptr (SandboxFileSet) files = make_files ();
  g_autoptr (SandboxTemplate) made = NULL;
  g_autoptr (GError) error = NULL;
  Progress async = { .thread = g_thread_self () };
  Progress sync = { .thread = g_thread_self () };
  gulong   handler = 0;

  g_test_summary ("A prewarm tells how far it is, in the thread of the call and before its answer, with all at the end");

  handler = g_signal_connect (self->backend, "prewarm-progress", G_CALLBACK (progress_cb), &async);
  sandbox_backend_prewarm_async (self->backend, "files", files, NULL, progress_done_cb, &async);
  test_wait (async.answered);
  g_signal_handler_disconnect (self->backend, handler);
  g_assert_cmpuint (async.n_calls, >=, 1);
  g_assert_cmpuint (async.files, ==, FILES + 2);
  g_assert_cmpuint (async.bytes, ==, sandbox_file_set_get_total_bytes (files));

  add_text (files, "one-more", "x");
  handler = g_signal_connect (self->backend, "prewarm-progress", G_CALLBACK (progress_cb), &sync);
  made = sandbox_backend_prewarm (self->backend, "files", files, NULL, &error);
  g_assert_no_error (error);
  g_signal_handler_disconnect (self->backend, handler);
  g_assert_cmpuint (sync.n_calls, >=, 1);
  g_assert_cmpuint (sync.files, ==, FILES + 3);
  g_assert_cmpuint (sync.bytes, ==, sandbox_file_set_get_total_bytes (files));
}

static void
test_prewarm_refused (Kept         *self,
                      gconstpointer unused)
{
  g_autoptr (SandboxFileSet) files = make_files ();
  g_autoptr (SandboxFileSet) impossible = sandbox_file_set_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("Of a prewarm that fails or is cancelled nothing stays, and the set may be changed after the call");

  g_assert_null (sandbox_backend_prewarm (self->backend, "", files, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  add_text (impossible, "a", "x");
  add_text (impossible, "a/b", "x");
  g_assert_null (sandbox_backend_prewarm (self->backend, "files", impossible, NULL, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_cancellable_cancel (cancellable);
  g_assert_null (sandbox_backend_prewarm (self->backend, "files", files, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  assert_stored (self, 0, 0);

  for (guint wait_us = 0; wait_us < 10000; wait_us += 200)
    {
      g_autoptr (GCancellable) later = g_cancellable_new ();
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (SandboxTemplate) made = NULL;
      g_autofree char *path = g_strdup_printf ("added-%u", wait_us);
      const guint      before = count (self, "templates");

      sandbox_backend_prewarm_async (self->backend, "files", files, later, test_result_cb, &result);
      add_text (files, path, "x");
      g_usleep (wait_us);
      g_cancellable_cancel (later);
      test_wait (result != NULL);
      made = sandbox_backend_prewarm_finish (self->backend, result, &error);
      if (made == NULL)
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_clear_error (&error);
      assert_stored (self, before + (made != NULL ? 1 : 0), 0);
    }
}

static void
test_unsafe (Kept         *self,
             gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 110: in a state directory that others can write to nothing is made");

  g_assert_cmpint (g_mkdir (self->state, 0700), ==, 0);
  g_assert_cmpint (chmod (self->state, 0770), ==, 0);
  refuse (self->backend, NULL, NULL, SANDBOX_ERROR_DENIED);
  g_assert_null (sandbox_backend_list_sessions (self->backend, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  g_assert_cmpuint (test_count_entries (self->state), ==, 0);
  g_assert_cmpuint (self->kept->n_created, ==, 0);

  /* It is looked at anew once it has been mended. */
  g_assert_cmpint (chmod (self->state, 0700), ==, 0);
  handle = create_ok (self->backend, NULL, NULL);
  delete (handle);
}

static void
test_umask (Kept         *self,
            gconstpointer unused)
{
  const mode_t before = umask (0777);
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  g_autoptr (SandboxHandle) next = NULL;
  g_autoptr (SandboxState) state = capture (handle);
  struct stat st;

  g_test_summary ("Case 110: with a umask that takes everything the state directory is 0700, and all goes on");

  assert_text (handle, "d/e/f", "deep");
  write_text (handle, "new", "text");
  stop (handle);
  g_assert_cmpint (stat (self->state, &st), ==, 0);
  g_assert_cmpint (st.st_mode & 07777, ==, 0700);
  next = create_ok (self->backend, NULL, state);
  assert_text (next, "new", "text");
  delete (next);
  umask (before);
  assert_stored (self, 1, 0);
}

static void
test_inside (Kept         *self,
             gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxState) state = capture (handle);
  g_autofree char  *session = g_build_filename (self->state, "kept/sessions", sandbox_state_get_session_id (state), NULL);
  g_autofree char  *workspace = g_build_filename (session, "files/workspace", NULL);
  const char *const paths[] = { self->state, session, workspace };

  g_test_summary ("Nothing of the state directory is a workspace of the host's own");

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
      g_autoptr (GError) error = NULL;

      sandbox_create_options_set_workspace_path (options, paths[i]);
      g_assert_null (sandbox_backend_create (self->backend, options, NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
    }
  g_assert_cmpuint (self->kept->n_created, ==, 1);
  delete (handle);
}

static void
test_shut (Kept         *self,
           gconstpointer unused)
{
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, NULL, NULL);
  g_autoptr (SandboxState) state = capture (handle);
  g_autofree char *workspace = g_build_filename (self->state, "kept/sessions", sandbox_state_get_session_id (state), "files/workspace", NULL);
  g_autoptr (SandboxHandle) next = NULL;
  struct stat st;

  g_test_summary ("A workspace whose modes its commands have taken away can be had again");

  write_text (handle, "a", "b");
  g_assert_cmpint (chmod (workspace, 0), ==, 0);
  stop (handle);
  next = create_ok (self->backend, NULL, state);
  assert_text (next, "a", "b");
  g_assert_cmpint (stat (workspace, &st), ==, 0);
  g_assert_cmpint (st.st_mode & 07777, ==, 0700);
  delete (next);
}

static void
test_few_descriptors (Kept         *self,
                      gconstpointer unused)
{
  g_autoptr (SandboxTemplate) made = prewarm (self);
  g_autoptr (SandboxHandle) handle = create_ok (self->backend, sandbox_template_get_key (made), NULL);
  g_autoptr (SandboxBackend) other = new_backend (self->state);
  guint         n_told = 0;
  struct rlimit limit;
  struct rlimit few;

  g_test_summary ("A host that has no more descriptors is not told that what is stored is damaged, or that there is nothing");

  stop (handle);
  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  few = limit;
  for (guint i = 0; i < 24; i++)
    {
      g_autoptr (GListModel) sessions = NULL;
      g_autoptr (GListModel) templates = NULL;
      g_autoptr (SandboxHandle) next = NULL;
      g_autoptr (GError) error = NULL;

      few.rlim_cur = test_count_descriptors () - 1 + i;
      g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &few), ==, 0);
      sessions = sandbox_backend_list_sessions (self->backend, NULL, NULL);
      templates = sandbox_backend_list_templates (self->backend, NULL, NULL);
      next = create (other, sandbox_template_get_key (made), NULL, &error);
      g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &limit), ==, 0);

      g_assert_true (sessions == NULL || g_list_model_get_n_items (sessions) == 1);
      g_assert_true (templates == NULL || g_list_model_get_n_items (templates) == 1);
      g_assert_false (g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT));
      n_told += error != NULL ? 1 : 0;
      if (next != NULL)
        delete (next);
    }
  g_assert_cmpuint (n_told, >, 0);
  g_assert_cmpuint (n_told, <, 24);
  delete (handle);
}

/* What the library and GLib open once, and keep */
static void
warm_up (void)
{
  g_autoptr (SandboxBackend) backend = new_backend (NULL);
  g_autoptr (SandboxHandle) handle = create_ok (backend, NULL, NULL);

  delete (handle);
  sandbox_get_worker_context ();
  g_main_context_iteration (NULL, FALSE);
}

#define ADD(path, func) g_test_add ("/kept" path, Kept, NULL, kept_set_up, func, kept_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  /* Not in a process that is to enter a namespace, which one with threads cannot. */
  if (!g_test_subprocess ())
    warm_up ();
  ADD ("/life", test_life);
  ADD ("/empty", test_empty);
  ADD ("/not-supported", test_not_supported);
  ADD ("/no-name", test_no_name);
  ADD ("/host-directory", test_host_directory);
  ADD ("/private", test_private);
  ADD ("/old-handle", test_old_handle);
  ADD ("/dropped", test_dropped);
  ADD ("/alive", test_alive);
  ADD ("/attach-waits", test_attach_waits);
  ADD ("/ends", test_ends);
  ADD ("/ends-async", test_ends_async);
  ADD ("/bad-stop", test_bad_stop);
  ADD ("/foreign-states", test_foreign_states);
  ADD ("/labels", test_labels);
  ADD ("/lists", test_lists);
  ADD ("/create-fails", test_create_fails);
  ADD ("/create-cancelled", test_create_cancelled);
  ADD ("/attach-cancelled", test_attach_cancelled);
  ADD ("/full-disk", test_full_disk);
  ADD ("/late-answer", test_late_answer);
  ADD ("/open-stream", test_open_stream);
  ADD ("/under-way", test_under_way);
  ADD ("/modes", test_modes);
  ADD ("/overlay", test_overlay);
  ADD ("/progress", test_progress);
  ADD ("/prewarm-refused", test_prewarm_refused);
  ADD ("/unsafe", test_unsafe);
  ADD ("/umask", test_umask);
  ADD ("/inside", test_inside);
  ADD ("/shut", test_shut);
  ADD ("/few-descriptors", test_few_descriptors);

  return g_test_run ();
}
