/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "sandbox-fork-private.h"
#include "sandbox-state-private.h"
#include "sandbox-store-session-private.h"
#include "store-fixture.h"

#define ID "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static SandboxStoreSession *
make_session (SandboxStore *store,
              const char   *key)
{
  g_autoptr (GError) error = NULL;
  SandboxStoreSession *session = sandbox_store_session_new (store, key, SANDBOX_WORKSPACE_MODE_AUTO, NULL, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (session);

  return session;
}

static SandboxStoreSession *
attach (SandboxStore *store,
        SandboxState *state)
{
  g_autoptr (GError) error = NULL;
  SandboxStoreSession *session = sandbox_store_session_attach (store, state, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (session);

  return session;
}

static void
assert_attach_fails (SandboxStore *store,
                     SandboxState *state,
                     SandboxError  code)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (sandbox_store_session_attach (store, state, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, (int) code);
}

static void
assert_new_fails (SandboxStore        *store,
                  const char          *key,
                  SandboxWorkspaceMode mode,
                  SandboxError         code)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (sandbox_store_session_new (store, key, mode, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, (int) code);
}

/* The directory of a session, or a place in it. */
static char *
get_place (Fixture      *fixture,
           SandboxState *state,
           const char   *name)
{
  return g_build_filename (fixture->state, "backend", "sessions", sandbox_state_get_session_id (state), name, NULL);
}

static void
write_file (SandboxStoreSession *session,
            const char          *name,
            const char          *text)
{
  int fd = openat (sandbox_store_session_get_workspace (session), name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, text, strlen (text)), ==, (int) strlen (text));
  close (fd);
}

static void
assert_file (SandboxStoreSession *session,
             const char          *name,
             const char          *text)
{
  char buffer[256] = "";
  int  fd = openat (sandbox_store_session_get_workspace (session), name, O_RDONLY | O_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (read (fd, buffer, sizeof buffer - 1), >=, 0);
  close (fd);
  g_assert_cmpstr (buffer, ==, text);
}

/* Whether the file system of the tests shares content. */
static gboolean
has_reflinks (Fixture *fixture)
{
  g_autofree char *a = g_build_filename (fixture->top, "a", NULL);
  g_autofree char *b = g_build_filename (fixture->top, "b", NULL);
  int              from, to;
  gboolean         has;

  g_assert_true (g_file_set_contents (a, "text", 4, NULL));
  from = open (a, O_RDONLY | O_CLOEXEC);
  to = open (b, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  has = ioctl (to, FICLONE, from) == 0;
  close (from);
  close (to);

  return has;
}

static void
test_new (Fixture      *fixture,
          gconstpointer unused)
{
  static const struct
  {
    const char *name;
    mode_t      mode;
    gboolean    is_guests;
  } places[] = {
    { "", S_IFDIR | 0700, FALSE },
    { "lease", S_IFREG | 0600, FALSE },
    { "alive", S_IFREG | 0600, FALSE },
    { "state.json", S_IFREG | 0600, FALSE },
    { "files", S_IFDIR | 0755, TRUE },
    { "files/workspace", S_IFDIR | 0755, TRUE },
  };
  mode_t               before = umask (0277);
  SandboxStoreSession *session = make_session (fixture->store, NULL);
  SandboxState        *state = sandbox_store_session_get_state (session);
  g_autofree char     *path = sandbox_store_session_dup_workspace_path (session);
  g_autofree char     *expected = get_place (fixture, state, "files/workspace");
  g_autofree char     *top = get_place (fixture, state, NULL);
  struct stat          st;
  struct stat          found;

  g_test_summary ("A new session has its lease, its state and an empty workspace of its owner, whatever the umask");

  umask (before);
  g_assert_cmpstr (sandbox_state_get_backend (state), ==, "backend");
  g_assert_null (sandbox_state_get_template_key (state));
  g_assert_null (sandbox_state_get_labels (state));
  g_assert_cmpint (sandbox_store_session_get_mode (session), ==,
                   has_reflinks (fixture) ? SANDBOX_WORKSPACE_MODE_REFLINK : SANDBOX_WORKSPACE_MODE_COPY);
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *place = get_place (fixture, state, places[i].name);

      g_assert_cmpint (lstat (place, &st), ==, 0);
      g_assert_cmpuint (st.st_mode, ==, places[i].mode);
      g_assert_cmpuint (st.st_uid, ==, places[i].is_guests ? OWNER : geteuid ());
      g_assert_cmpuint (st.st_gid, ==, places[i].is_guests ? OWNER : getegid ());
    }
  g_assert_cmpuint (test_count_entries (top), ==, 4);
  g_assert_cmpuint (test_count_entries (path), ==, 0);
  g_assert_cmpstr (path, ==, expected);
  g_assert_cmpint (stat (path, &st), ==, 0);
  g_assert_cmpint (fstat (sandbox_store_session_get_workspace (session), &found), ==, 0);
  g_assert_cmpuint (st.st_ino, ==, found.st_ino);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  sandbox_store_session_free (session);
}

static void
test_template (Fixture      *fixture,
               gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  const char          *key = sandbox_template_get_key (made);
  mode_t               before = umask (0277);
  SandboxStoreSession *session = make_session (fixture->store, key);
  g_autofree char     *path = sandbox_store_session_dup_workspace_path (session);
  g_autofree char     *tree = g_build_filename (fixture->state, "backend", "templates", key, "tree", NULL);
  g_autoptr (GString) stored = g_string_new (NULL);
  g_autoptr (GString) now = g_string_new (NULL);
  SandboxStoreSession *second = NULL;

  g_test_summary ("A session has the files of its template, as they were stored, and what it does to them is its own affair");

  umask (before);
  g_assert_cmpstr (sandbox_state_get_template_key (sandbox_store_session_get_state (session)), ==, key);
  assert_same_tree (path, tree);
  describe_tree (stored, tree, "");

  write_file (session, "a", "changed");
  write_file (session, "new", "new");
  g_assert_cmpint (unlinkat (sandbox_store_session_get_workspace (session), "given/tool", 0), ==, 0);
  describe_tree (now, tree, "");
  g_assert_cmpstr (now->str, ==, stored->str);

  second = make_session (fixture->store, key);
  assert_file (second, "a", "text");
  assert_file (second, "given/link", "#!");
  g_assert_cmpstr (sandbox_state_get_session_id (sandbox_store_session_get_state (second)), !=,
                   sandbox_state_get_session_id (sandbox_store_session_get_state (session)));
  sandbox_store_session_free (second);
  sandbox_store_session_free (session);
  free_files (files);
}

static void
test_attach (Fixture      *fixture,
             gconstpointer unused)
{
  SandboxStore *other = open_store (fixture->state, "backend");
  g_autoptr (GVariant) labels = g_variant_ref_sink (g_variant_new_parsed ("{'owner': 'somebody'}"));
  SandboxStoreSession *session = sandbox_store_session_new (fixture->store, NULL, SANDBOX_WORKSPACE_MODE_COPY, labels, NULL, NULL, NULL);
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  g_autoptr (SandboxState) bare = sandbox_state_new ("backend", sandbox_state_get_session_id (state), NULL, NULL);
  g_autofree char *place = get_place (fixture, state, "state.json");
  g_autofree char *text = NULL;

  g_test_summary ("It can be come back to when it is free, by the state with or without labels, and is as it was");

  write_file (session, "kept", "text");
  assert_attach_fails (fixture->store, state, SANDBOX_ERROR_BUSY);
  assert_attach_fails (other, state, SANDBOX_ERROR_BUSY);
  sandbox_store_session_free (session);

  session = attach (other, bare);
  assert_attach_fails (fixture->store, state, SANDBOX_ERROR_BUSY);
  assert_file (session, "kept", "text");
  g_assert_cmpvariant (sandbox_state_get_labels (sandbox_store_session_get_state (session)), labels);
  g_assert_cmpint (sandbox_store_session_get_mode (session), ==, SANDBOX_WORKSPACE_MODE_COPY);
  sandbox_store_session_free (session);

  g_assert_true (g_file_get_contents (place, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "\"workspace-mode\" : \"copy\""));
  g_assert_nonnull (strstr (text, "somebody"));
  sandbox_store_unref (other);
}

static void
test_mismatch (Fixture      *fixture,
               gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  SandboxStoreSession *session = make_session (fixture->store, sandbox_template_get_key (made));
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  const char *id = sandbox_state_get_session_id (state);
  g_autoptr (SandboxState) unknown = sandbox_state_new ("backend", ID, NULL, NULL);
  g_autoptr (SandboxState) no_template = sandbox_state_new ("backend", id, NULL, NULL);
  g_autoptr (SandboxState) other_template = sandbox_state_new ("backend", id, ID, NULL);
  g_autoptr (SandboxState) other_backend = sandbox_state_new ("other", id, sandbox_template_get_key (made), NULL);
  g_autoptr (GString) before = g_string_new (NULL);
  g_autoptr (GString) after = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A state that is not the stored one is refused, free or not, and nothing is made or changed (case 99)");

  for (guint i = 0; i < 2; i++)
    {
      g_string_truncate (before, 0);
      g_string_truncate (after, 0);
      describe_tree (before, fixture->state, "");
      assert_attach_fails (fixture->store, unknown, SANDBOX_ERROR_NOT_FOUND);
      assert_attach_fails (fixture->store, no_template, SANDBOX_ERROR_STATE_MISMATCH);
      assert_attach_fails (fixture->store, other_template, SANDBOX_ERROR_STATE_MISMATCH);
      assert_attach_fails (fixture->store, other_backend, SANDBOX_ERROR_STATE_MISMATCH);
      g_assert_true (sandbox_store_delete_session (fixture->store, unknown, NULL, NULL, &error));
      g_assert_no_error (error);
      g_assert_false (sandbox_store_delete_session (fixture->store, other_backend, NULL, NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STATE_MISMATCH);
      g_clear_error (&error);
      g_assert_false (sandbox_store_delete_session (fixture->store, other_template, NULL, NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, (session != NULL ? SANDBOX_ERROR_BUSY : SANDBOX_ERROR_STATE_MISMATCH));
      g_clear_error (&error);
      describe_tree (after, fixture->state, "");
      if (session != NULL)
        g_assert_cmpstr (before->str, ==, after->str);
      g_clear_pointer (&session, sandbox_store_session_free);
    }

  session = attach (fixture->store, state);
  sandbox_store_session_free (session);
  free_files (files);
}

/* Each damages one thing of a session. */

static void
damage_state_cut (const char *top)
{
  g_autofree char *path = g_build_filename (top, "state.json", NULL);

  g_assert_cmpint (truncate (path, 20), ==, 0);
}

static void
damage_state_missing (const char *top)
{
  g_autofree char *path = g_build_filename (top, "state.json", NULL);

  g_assert_cmpint (unlink (path), ==, 0);
}

static void
damage_state_link (const char *top)
{
  g_autofree char *path = g_build_filename (top, "state.json", NULL);
  g_autofree char *other = g_build_filename (top, "other", NULL);

  g_assert_cmpint (rename (path, other), ==, 0);
  g_assert_cmpint (symlink ("other", path), ==, 0);
}

static void
replace_in_state (const char *top,
                  const char *from,
                  const char *to)
{
  g_autofree char *path = g_build_filename (top, "state.json", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GString) changed = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  changed = g_string_new (text);
  g_assert_cmpuint (g_string_replace (changed, from, to, 1), ==, 1);
  g_assert_true (g_file_set_contents (path, changed->str, -1, NULL));
}

static void
damage_state_mode (const char *top)
{
  replace_in_state (top, "\"workspace-mode\"", "\"workspace-node\"");
}

static void
damage_state_unknown (const char *top)
{
  replace_in_state (top, "\"version\"", "\"more\" : 1, \"version\"");
}

static void
damage_state_backend (const char *top)
{
  replace_in_state (top, "\"backend\" : \"backend\"", "\"backend\" : \"other\"");
}

static void
damage_workspace_missing (const char *top)
{
  g_autofree char *path = g_build_filename (top, "files", "workspace", NULL);

  g_assert_cmpint (rmdir (path), ==, 0);
}

static void
damage_workspace_link (const char *top)
{
  g_autofree char *path = g_build_filename (top, "files", "workspace", NULL);

  g_assert_cmpint (rmdir (path), ==, 0);
  g_assert_cmpint (symlink ("/", path), ==, 0);
}

static void
damage_files_link (const char *top)
{
  g_autofree char *path = g_build_filename (top, "files", NULL);
  g_autofree char *other = g_build_filename (top, "other", NULL);

  g_assert_cmpint (rename (path, other), ==, 0);
  g_assert_cmpint (symlink ("other", path), ==, 0);
}

static void
damage_lease (const char *top)
{
  g_autofree char *path = g_build_filename (top, "lease", NULL);

  g_assert_cmpint (unlink (path), ==, 0);
}

static void
damage_alive (const char *top)
{
  g_autofree char *path = g_build_filename (top, "alive", NULL);

  g_assert_cmpint (unlink (path), ==, 0);
  g_assert_cmpint (symlink ("lease", path), ==, 0);
}

static void
test_damaged (Fixture      *fixture,
              gconstpointer unused)
{
  static const struct
  {
    void (*damage) (const char *top);
    gboolean is_listed;
    gboolean can_be_deleted;
  } damages[] = {
    { damage_state_cut, FALSE, TRUE },
    { damage_state_missing, FALSE, TRUE },
    { damage_state_link, FALSE, TRUE },
    { damage_state_mode, FALSE, TRUE },
    { damage_state_unknown, FALSE, TRUE },
    { damage_state_backend, FALSE, TRUE },
    { damage_workspace_missing, TRUE, TRUE },
    { damage_workspace_link, TRUE, TRUE },
    { damage_files_link, TRUE, TRUE },
    { damage_lease, TRUE, FALSE },
    { damage_alive, TRUE, FALSE },
  };

  g_test_summary ("A damaged session is CORRUPT, and can be deleted unless nobody can tell whether it is in use (cases 93, 99, 100)");

  for (guint i = 0; i < G_N_ELEMENTS (damages); i++)
    {
      SandboxStoreSession *session = make_session (fixture->store, NULL);
      g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
      g_autofree char *top = get_place (fixture, state, NULL);
      g_autoptr (GPtrArray) list = NULL;
      g_autoptr (GError) error = NULL;

      g_test_message ("%u", i);
      sandbox_store_session_free (session);
      damages[i].damage (top);
      assert_attach_fails (fixture->store, state, SANDBOX_ERROR_CORRUPT);
      list = sandbox_store_list_sessions (fixture->store, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (list->len, ==, damages[i].is_listed ? 1 : 0);
      g_assert_true (sandbox_store_delete_session (fixture->store, state, NULL, NULL, &error) == damages[i].can_be_deleted);
      if (!damages[i].can_be_deleted)
        {
          g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT);
          test_remove_tree (top);
        }
      g_assert_cmpuint (count_sessions (fixture), ==, 0);
      g_assert_cmpuint (count_aside (fixture), ==, 0);
    }
}

static void
test_delete (Fixture      *fixture,
             gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  SandboxStoreSession *session = make_session (fixture->store, sandbox_template_get_key (made));
  SandboxStoreSession *second = make_session (fixture->store, sandbox_template_get_key (made));
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  g_autoptr (SandboxState) second_state = g_object_ref (sandbox_store_session_get_state (second));
  g_autoptr (GError) error = NULL;
  int fd = -1;

  g_test_summary ("A deleted session is gone with its files, once and for all; its template and other sessions stay");

  g_assert_true (sandbox_store_session_delete (session, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (count_sessions (fixture), ==, 1);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  assert_attach_fails (fixture->store, state, SANDBOX_ERROR_NOT_FOUND);
  g_assert_true (sandbox_store_session_delete (session, NULL, NULL, &error));
  g_assert_true (sandbox_store_delete_session (fixture->store, state, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_state_equal (sandbox_store_session_get_state (session), state));
  g_assert_false (sandbox_store_session_open_alive (session, &fd, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  sandbox_store_session_free (session);

  g_assert_false (sandbox_store_delete_session (fixture->store, second_state, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  assert_file (second, "a", "text");
  sandbox_store_session_free (second);
  g_assert_true (sandbox_store_delete_session (fixture->store, second_state, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (count_sessions (fixture), ==, 0);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  assert_sound (fixture->store, sandbox_template_get_key (made));
  free_files (files);
}

static void
test_replaced (Fixture      *fixture,
               gconstpointer unused)
{
  SandboxStoreSession *session = make_session (fixture->store, NULL);
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  g_autofree char *place = get_place (fixture, state, NULL);
  g_autofree char *away = g_build_filename (fixture->state, "away", NULL);
  g_autofree char *lease = get_place (fixture, state, "lease");
  g_autofree char *alive = get_place (fixture, state, "alive");
  g_autoptr (GError) error = NULL;
  int fd = -1;

  g_test_summary ("Another directory in the place of a session is not taken for it, nor deleted with it");

  g_assert_cmpint (rename (place, away), ==, 0);
  g_assert_false (sandbox_store_session_open_alive (session, &fd, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);

  g_assert_cmpint (g_mkdir (place, 0700), ==, 0);
  g_assert_true (g_file_set_contents (lease, "", 0, &error));
  g_assert_true (g_file_set_contents (alive, "", 0, &error));
  g_assert_false (sandbox_store_session_open_alive (session, &fd, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_false (sandbox_store_session_delete (session, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_true (g_file_test (alive, G_FILE_TEST_EXISTS));

  /* Its own is one again when it is back. */
  g_assert_cmpint (g_unlink (lease), ==, 0);
  g_assert_cmpint (g_unlink (alive), ==, 0);
  g_assert_cmpint (g_rmdir (place), ==, 0);
  g_assert_cmpint (rename (away, place), ==, 0);
  g_assert_true (sandbox_store_session_delete (session, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (count_sessions (fixture), ==, 0);
  sandbox_store_session_free (session);
}

static int
end_cb (gpointer data)
{
  return GPOINTER_TO_INT (data);
}

static void
test_sandbox_alive (Fixture      *fixture,
                    gconstpointer unused)
{
  SandboxStoreSession *session = make_session (fixture->store, NULL);
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  g_autoptr (GError) error = NULL;
  int fd = -1;

  g_test_summary ("Nobody gets or deletes the files of a sandbox that is still alive, not even the owner");

  g_assert_true (sandbox_store_session_open_alive (session, &fd, &error));
  g_assert_no_error (error);
  g_assert_false (sandbox_store_session_delete (session, end_cb, GINT_TO_POINTER (ECANCELED), &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  write_file (session, "kept", "text");
  sandbox_store_session_free (session);

  assert_attach_fails (fixture->store, state, SANDBOX_ERROR_BUSY);
  sandbox_fork_close (&fd);
  session = attach (fixture->store, state);
  assert_file (session, "kept", "text");
  g_assert_true (sandbox_store_session_delete (session, NULL, NULL, &error));
  g_assert_no_error (error);
  sandbox_store_session_free (session);
}

static void
test_modes (Fixture      *fixture,
            gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  const char          *key = sandbox_template_get_key (made);
  SandboxStoreSession *session = sandbox_store_session_new (fixture->store, key, SANDBOX_WORKSPACE_MODE_COPY, NULL, NULL, NULL, NULL);

  g_test_summary ("copy can be had everywhere, reflink where the file system has it, overlay where the backend mounts it; a refusal leaves nothing");

  g_assert_cmpint (sandbox_store_session_get_mode (session), ==, SANDBOX_WORKSPACE_MODE_COPY);
  assert_file (session, "a", "text");
  sandbox_store_session_free (session);
  assert_new_fails (fixture->store, key, SANDBOX_WORKSPACE_MODE_OVERLAY, SANDBOX_ERROR_NOT_SUPPORTED);
  if (has_reflinks (fixture))
    {
      session = sandbox_store_session_new (fixture->store, key, SANDBOX_WORKSPACE_MODE_REFLINK, NULL, NULL, NULL, NULL);
      g_assert_cmpint (sandbox_store_session_get_mode (session), ==, SANDBOX_WORKSPACE_MODE_REFLINK);
      assert_file (session, "a", "text");
      sandbox_store_session_free (session);
    }
  else
    {
      assert_new_fails (fixture->store, key, SANDBOX_WORKSPACE_MODE_REFLINK, SANDBOX_ERROR_NOT_SUPPORTED);
      assert_new_fails (fixture->store, NULL, SANDBOX_WORKSPACE_MODE_REFLINK, SANDBOX_ERROR_NOT_SUPPORTED);
      g_assert_cmpuint (count_sessions (fixture), ==, 1);
    }
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  free_files (files);
}

static void
append_to (const char *path)
{
  int fd = open (path, O_WRONLY | O_APPEND | O_CLOEXEC);

  g_assert_cmpint (write (fd, "!", 1), ==, 1);
  close (fd);
}

static void
test_template_changed (Fixture      *fixture,
                       gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  g_autoptr (SandboxTemplate) again = NULL;
  g_autofree char     *key = g_strdup (sandbox_template_get_key (made));
  g_autofree char     *tree = g_build_filename (fixture->state, "backend", "templates", key, "tree", NULL);
  g_autofree char     *file = g_build_filename (tree, "a", NULL);
  g_autofree char     *added = g_build_filename (tree, "added", NULL);
  SandboxStore        *other = open_store (fixture->state, "backend");
  SandboxStoreSession *session = NULL;

  g_test_summary ("A template that is changed is not used, before its first use and after it; touched or made anew, it is (case 105)");

  assert_new_fails (fixture->store, ID, SANDBOX_WORKSPACE_MODE_AUTO, SANDBOX_ERROR_NOT_FOUND);
  sandbox_store_session_free (make_session (fixture->store, key));

  /* The same content, at another time */
  g_assert_cmpint (chmod (file, 0644), ==, 0);
  sandbox_store_session_free (make_session (fixture->store, key));

  append_to (file);
  assert_new_fails (fixture->store, key, SANDBOX_WORKSPACE_MODE_AUTO, SANDBOX_ERROR_CORRUPT);
  assert_new_fails (other, key, SANDBOX_WORKSPACE_MODE_AUTO, SANDBOX_ERROR_CORRUPT);
  g_assert_true (sandbox_store_delete_template (other, key, NULL, NULL, NULL));
  assert_new_fails (fixture->store, key, SANDBOX_WORKSPACE_MODE_AUTO, SANDBOX_ERROR_NOT_FOUND);

  again = prewarm (other, files);
  g_assert_cmpstr (sandbox_template_get_key (again), ==, key);
  session = make_session (fixture->store, key);
  assert_file (session, "a", "text");
  sandbox_store_session_free (session);

  /* Between two uses: gone, and made anew */
  g_assert_true (sandbox_store_delete_template (other, key, NULL, NULL, NULL));
  assert_new_fails (fixture->store, key, SANDBOX_WORKSPACE_MODE_AUTO, SANDBOX_ERROR_NOT_FOUND);
  g_object_unref (prewarm (other, files));
  session = make_session (fixture->store, key);
  sandbox_store_session_free (session);
  g_assert_true (sandbox_store_delete_template (other, key, NULL, NULL, NULL));
  g_object_unref (prewarm (other, files));
  session = make_session (fixture->store, key);
  assert_file (session, "a", "text");
  sandbox_store_session_free (session);

  /* What was added after the first use does not come along. */
  g_assert_true (g_file_set_contents (added, "x", 1, NULL));
  session = make_session (fixture->store, key);
  g_assert_cmpint (faccessat (sandbox_store_session_get_workspace (session), "added", F_OK, 0), ==, -1);
  sandbox_store_session_free (session);
  sandbox_store_unref (other);
  other = open_store (fixture->state, "backend");
  assert_new_fails (other, key, SANDBOX_WORKSPACE_MODE_AUTO, SANDBOX_ERROR_CORRUPT);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  sandbox_store_unref (other);
  free_files (files);
}

typedef struct
{
  int left;
  int errsv;
} Limit;

static int
limit_cb (gpointer data)
{
  Limit *limit = data;

  return limit->left-- > 0 ? 0 : limit->errsv;
}

static void
test_cancelled (Fixture      *fixture,
                gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  guint n_failed = 0;

  g_test_summary ("Cancelled or out of time wherever it is, a session is not made, and nothing of it stays (case 108)");

  for (int i = 0;; i++)
    {
      Limit limit = { i, i % 2 == 0 ? ECANCELED : ETIMEDOUT };
      g_autoptr (GError) error = NULL;
      SandboxStoreSession *session = sandbox_store_session_new (fixture->store, sandbox_template_get_key (made), SANDBOX_WORKSPACE_MODE_AUTO,
                                                                NULL, limit_cb, &limit, &error);

      if (session != NULL)
        {
          sandbox_store_session_free (session);
          break;
        }
      n_failed++;
      if (limit.errsv == ECANCELED)
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      else
        g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
      g_assert_cmpuint (count_sessions (fixture), ==, 0);
      g_assert_cmpuint (count_aside (fixture), ==, 0);
    }
  g_assert_cmpuint (n_failed, >=, 10);
  free_files (files);
}

static void
test_list (Fixture      *fixture,
           gconstpointer unused)
{
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture->store, files);
  g_autoptr (SandboxTemplate) odd = sandbox_store_prewarm (fixture->store, "\",\"entries\":[ \\ \x1f ü", files, NULL, NULL, NULL, NULL);
  g_autoptr (GVariant) labels = g_variant_ref_sink (g_variant_new_parsed ("{'number': 'one'}"));
  SandboxStoreSession *sessions[3] = {
    make_session (fixture->store, NULL),
    sandbox_store_session_new (fixture->store, sandbox_template_get_key (made), SANDBOX_WORKSPACE_MODE_AUTO, labels, NULL, NULL, NULL),
    make_session (fixture->store, NULL),
  };
  g_autofree char *foreign = g_build_filename (fixture->state, "backend", "sessions", "foreign", NULL);
  g_autofree char *hollow = g_build_filename (fixture->state, "backend", "templates", ID, NULL);
  g_autoptr (GPtrArray) list = NULL;
  g_autoptr (GError) error = NULL;
  guint n_labelled = 0;

  g_test_summary ("Templates and sessions are listed, in use or not, sorted, with their names and labels; what is none is left out");

  g_assert_cmpint (g_mkdir (foreign, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (hollow, 0700), ==, 0);
  sandbox_store_session_free (sessions[2]);

  list = sandbox_store_list_sessions (fixture->store, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (list->len, ==, 3);
  for (guint i = 0; i < list->len; i++)
    {
      SandboxState *state = list->pdata[i];

      if (i > 0)
        g_assert_cmpstr (sandbox_state_get_session_id (state), >, sandbox_state_get_session_id (list->pdata[i - 1]));
      if (sandbox_state_get_labels (state) != NULL)
        {
          n_labelled++;
          g_assert_cmpvariant (sandbox_state_get_labels (state), labels);
          g_assert_true (sandbox_state_equal (state, sandbox_store_session_get_state (sessions[1])));
        }
    }
  g_assert_cmpuint (n_labelled, ==, 1);
  g_clear_pointer (&list, g_ptr_array_unref);

  list = sandbox_store_list_templates (fixture->store, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (list->len, ==, 2);
  g_assert_cmpstr (sandbox_template_get_key (list->pdata[0]), <, sandbox_template_get_key (list->pdata[1]));
  for (guint i = 0; i < list->len; i++)
    {
      gboolean is_odd = g_str_equal (sandbox_template_get_key (list->pdata[i]), sandbox_template_get_key (odd));

      g_assert_cmpstr (sandbox_template_get_name (list->pdata[i]), ==, is_odd ? sandbox_template_get_name (odd) : "name");
    }
  g_clear_pointer (&list, g_ptr_array_unref);

  g_assert_null (sandbox_store_list_sessions (fixture->store, end_cb, GINT_TO_POINTER (ECANCELED), &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  sandbox_store_session_free (sessions[0]);
  sandbox_store_session_free (sessions[1]);
  free_files (files);
}

static void
test_private (Fixture      *fixture,
              gconstpointer unused)
{
  SandboxStore        *store = open_store (NULL, "backend");
  SandboxStoreSession *session = make_session (store, NULL);
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  g_autofree char *path = g_strdup (sandbox_store_get_path (store));
  g_autoptr (GPtrArray) list = NULL;
  pid_t child;

  g_test_summary ("In a private store a session goes with its owner, and the store with its last session");

  write_file (session, "a", "text");
  child = fork ();
  if (child == 0)
    {
      sandbox_store_session_free (session);
      sandbox_store_unref (store);
      child_end ();
    }
  child_wait (child);
  assert_file (session, "a", "text");
  sandbox_store_session_free (session);
  list = sandbox_store_list_sessions (store, NULL, NULL, NULL);
  g_assert_cmpuint (list->len, ==, 0);
  assert_attach_fails (store, state, SANDBOX_ERROR_NOT_FOUND);

  session = make_session (store, NULL);
  sandbox_store_unref (store);
  write_file (session, "a", "text");
  sandbox_store_session_free (session);
  g_assert_cmpint (access (path, F_OK), ==, -1);
}

static void
test_forked (Fixture      *fixture,
             gconstpointer unused)
{
  SandboxStoreSession *session = make_session (fixture->store, NULL);
  g_autoptr (SandboxState) state = g_object_ref (sandbox_store_session_get_state (session));
  int   alive = -1;
  pid_t child = fork ();

  g_test_summary ("A forked child has no session, cannot delete it, and its end changes nothing (case 96)");

  if (child == 0)
    {
      g_autoptr (GError) error = NULL;
      int fd = -1;

      g_assert_false (sandbox_store_session_open_alive (session, &fd, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
      g_clear_error (&error);
      g_assert_false (sandbox_store_session_delete (session, NULL, NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
      sandbox_store_session_free (session);
      child_end ();
    }
  child_wait (child);
  g_assert_true (sandbox_store_session_open_alive (session, &alive, NULL));
  sandbox_fork_close (&alive);
  assert_attach_fails (fixture->store, state, SANDBOX_ERROR_BUSY);
  sandbox_store_session_free (session);
  sandbox_store_session_free (attach (fixture->store, state));
}

#define ADD(path, function) g_test_add ("/store-session/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("new", test_new);
  ADD ("template", test_template);
  ADD ("attach", test_attach);
  ADD ("mismatch", test_mismatch);
  ADD ("damaged", test_damaged);
  ADD ("delete", test_delete);
  ADD ("replaced", test_replaced);
  ADD ("sandbox-alive", test_sandbox_alive);
  ADD ("modes", test_modes);
  ADD ("template-changed", test_template_changed);
  ADD ("cancelled", test_cancelled);
  ADD ("list", test_list);
  ADD ("private", test_private);
  ADD ("forked", test_forked);

  return g_test_run ();
}
