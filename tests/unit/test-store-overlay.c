/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions over the tree of a template. */

#include "sandbox-fork-private.h"
#include "sandbox-request-private.h"
#include "sandbox-state-private.h"
#include "sandbox-store-session-private.h"
#include "sandbox-file-stream-private.h"
#include "store-fixture.h"

/* Up to so many files are copied. */
#define FEW 20

typedef struct
{
  guint        n_tries;
  SandboxError refusal; /* or 0 */
} Trial;

static gboolean
try_cb (int      lower,
        int      base,
        gpointer data,
        GError **error)
{
  Trial      *trial = data;
  struct stat st;

  trial->n_tries++;
  g_assert_cmpint (fstatat (lower, ".", &st, 0), ==, 0);
  g_assert_cmpuint (st.st_uid, ==, OWNER);
  g_assert_cmpint (fstatat (base, "upper", &st, 0), ==, 0);
  g_assert_cmpuint (st.st_uid, ==, OWNER);
  g_assert_cmpuint (st.st_mode, ==, S_IFDIR | 0755);
  g_assert_cmpint (fstatat (base, "work", &st, 0), ==, 0);
  g_assert_cmpuint (st.st_mode, ==, S_IFDIR | 0700);
  if (trial->refusal == 0)
    return TRUE;
  g_set_error_literal (error, SANDBOX_ERROR, (int) trial->refusal, "Told by the trial");

  return FALSE;
}

static SandboxTemplate *
prewarm_files (SandboxStore *store,
               guint         n_files)
{
  g_autoptr (SandboxFileSet) set = sandbox_file_set_new ();
  g_autoptr (SandboxFileSet) frozen = NULL;
  g_autoptr (GBytes) text = g_bytes_new_static ("text", 4);

  for (guint i = 0; i < n_files; i++)
    {
      g_autofree char *name = g_strdup_printf ("d/%u", i);

      sandbox_file_set_add (set, name, text);
    }
  frozen = sandbox_file_set_freeze (set);

  return prewarm (store, frozen);
}

static SandboxStoreSession *
make_session (SandboxStore        *store,
              const char          *key,
              SandboxWorkspaceMode mode)
{
  g_autoptr (GError) error = NULL;
  SandboxStoreSession *session = sandbox_store_session_new (store, key, mode, NULL, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (session);

  return session;
}

static void
assert_new_fails (SandboxStore *store,
                  const char   *key,
                  const char   *words)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (sandbox_store_session_new (store, key, SANDBOX_WORKSPACE_MODE_OVERLAY, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, words));
}

static void
assert_delete_busy (SandboxStore *store,
                    const char   *key,
                    const char   *words)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (sandbox_store_delete_template (store, key, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_assert_nonnull (strstr (error->message, words));
}

static void
delete_session (SandboxStoreSession *session)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_store_session_delete (session, NULL, NULL, &error));
  g_assert_no_error (error);
  sandbox_store_session_free (session);
}

static void
test_choice (Fixture      *fixture,
             gconstpointer unused)
{
  Trial refusing = { 0, SANDBOX_ERROR_NOT_SUPPORTED };
  Trial failing = { 0, SANDBOX_ERROR_UNAVAILABLE };
  Trial trial = { 0 };
  g_autoptr (SandboxTemplate) few = prewarm_files (fixture->store, FEW);
  g_autoptr (SandboxTemplate) many = prewarm_files (fixture->store, FEW + 1);
  const char          *key = sandbox_template_get_key (many);
  SandboxStore        *other = NULL;
  SandboxStoreSession *session = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Overlay is chosen for a template of many files where it can be had, which is tried once; asked for and "
                  "impossible, it is refused with the reason");

  assert_new_fails (fixture->store, key, "makes no overlays");
  assert_new_fails (fixture->store, NULL, "have a template");
  delete_session (make_session (fixture->store, key, SANDBOX_WORKSPACE_MODE_AUTO));

  other = open_store (fixture->state, "backend");
  sandbox_store_set_overlay (other, try_cb, &refusing);
  session = make_session (other, key, SANDBOX_WORKSPACE_MODE_AUTO);
  g_assert_cmpint (sandbox_store_session_get_mode (session), !=, SANDBOX_WORKSPACE_MODE_OVERLAY);
  delete_session (session);
  assert_new_fails (other, key, "Told by the trial");
  assert_new_fails (other, key, "Told by the trial");
  g_assert_cmpuint (refusing.n_tries, ==, 1);
  sandbox_store_unref (other);

  /* What says nothing of overlays is forgotten. */
  other = open_store (fixture->state, "backend");
  sandbox_store_set_overlay (other, try_cb, &failing);
  g_assert_null (sandbox_store_session_new (other, key, SANDBOX_WORKSPACE_MODE_OVERLAY, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  failing.refusal = 0;
  delete_session (make_session (other, key, SANDBOX_WORKSPACE_MODE_OVERLAY));
  g_assert_cmpuint (failing.n_tries, ==, 2);
  sandbox_store_unref (other);

  other = open_store (fixture->state, "backend");
  sandbox_store_set_overlay (other, try_cb, &trial);
  session = make_session (other, sandbox_template_get_key (few), SANDBOX_WORKSPACE_MODE_AUTO);
  g_assert_cmpint (sandbox_store_session_get_mode (session), !=, SANDBOX_WORKSPACE_MODE_OVERLAY);
  delete_session (session);
  session = make_session (other, NULL, SANDBOX_WORKSPACE_MODE_AUTO);
  g_assert_cmpint (sandbox_store_session_get_mode (session), !=, SANDBOX_WORKSPACE_MODE_OVERLAY);
  delete_session (session);
  g_assert_cmpuint (trial.n_tries, ==, 0);
  assert_new_fails (other, NULL, "have a template");
  for (guint i = 0; i < 2; i++)
    {
      session = make_session (other, key, SANDBOX_WORKSPACE_MODE_AUTO);
      g_assert_cmpint (sandbox_store_session_get_mode (session), ==, SANDBOX_WORKSPACE_MODE_OVERLAY);
      delete_session (session);
    }
  session = make_session (other, sandbox_template_get_key (few), SANDBOX_WORKSPACE_MODE_OVERLAY);
  g_assert_cmpint (sandbox_store_session_get_mode (session), ==, SANDBOX_WORKSPACE_MODE_OVERLAY);
  delete_session (session);
  session = make_session (other, key, SANDBOX_WORKSPACE_MODE_COPY);
  g_assert_cmpint (sandbox_store_session_get_mode (session), ==, SANDBOX_WORKSPACE_MODE_COPY);
  delete_session (session);
  g_assert_cmpuint (trial.n_tries, ==, 1);
  sandbox_store_unref (other);
  g_assert_cmpuint (count_sessions (fixture), ==, 0);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
}

static void
test_attach (Fixture      *fixture,
             gconstpointer unused)
{
  Trial trial = { 0 };
  g_autoptr (SandboxTemplate) made = prewarm_files (fixture->store, 2);
  const char      *key = sandbox_template_get_key (made);
  g_autofree char *file = g_build_filename (fixture->state, "backend", "templates", key, "tree", "d", "1", NULL);
  g_autofree char *directory = g_build_filename (fixture->state, "backend", "templates", key, NULL);
  g_autofree char *away = g_strconcat (directory, "-away", NULL);
  g_autoptr (SandboxState) state = NULL;
  SandboxStore        *other = open_store (fixture->state, "backend");
  SandboxStoreSession *session = NULL;
  struct stat          st;
  int                  lower = -1;
  int                  base = -1;
  g_autoptr (GError) error = NULL;

  g_test_summary ("An overlay session comes back as one, with its layers, also to somebody who could make none; not over a template that was damaged");

  sandbox_store_set_overlay (fixture->store, try_cb, &trial);
  session = make_session (fixture->store, key, SANDBOX_WORKSPACE_MODE_OVERLAY);
  state = g_object_ref (sandbox_store_session_get_state (session));
  sandbox_store_session_free (session);

  session = sandbox_store_session_attach (other, state, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_store_session_get_mode (session), ==, SANDBOX_WORKSPACE_MODE_OVERLAY);
  g_assert_true (sandbox_store_session_open_layers (session, &lower, &base, &error));
  g_assert_no_error (error);
  g_assert_cmpint (faccessat (lower, "d/1", R_OK, 0), ==, 0);
  g_assert_cmpint (fstatat (base, "upper", &st, 0), ==, 0);
  g_assert_cmpuint (st.st_uid, ==, OWNER);
  g_assert_cmpint (fstatat (base, "work", &st, 0), ==, 0);
  close (lower);
  close (base);
  sandbox_store_session_free (session);
  sandbox_store_unref (other);

  g_assert_true (g_file_set_contents (file, "TEXT", 4, NULL));
  other = open_store (fixture->state, "backend");
  g_assert_null (sandbox_store_session_attach (other, state, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT);
  g_clear_error (&error);
  g_assert_cmpint (rename (directory, away), ==, 0);
  g_assert_null (sandbox_store_session_attach (other, state, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_CORRUPT);
  g_clear_error (&error);

  /* It can be deleted all the same. */
  g_assert_true (sandbox_store_delete_session (other, state, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (count_sessions (fixture), ==, 0);
  sandbox_store_unref (other);
}

static void
test_in_use (Fixture      *fixture,
             gconstpointer unused)
{
  Trial trial = { 0 };
  g_autoptr (SandboxTemplate) made = prewarm_files (fixture->store, 2);
  const char   *key = sandbox_template_get_key (made);
  SandboxStore *other = open_store (fixture->state, "backend");
  g_autoptr (SandboxState) state = NULL;
  SandboxStoreSession *session = NULL;
  SandboxStoreSession *copy = NULL;
  g_autoptr (GError) error = NULL;
  pid_t child;

  g_test_summary ("The template of an overlay session is BUSY to everybody until the session is deleted: in use, at rest, and after a crash");

  sandbox_store_set_overlay (fixture->store, try_cb, &trial);
  copy = make_session (fixture->store, key, SANDBOX_WORKSPACE_MODE_COPY);
  session = make_session (fixture->store, key, SANDBOX_WORKSPACE_MODE_OVERLAY);
  state = g_object_ref (sandbox_store_session_get_state (session));
  assert_delete_busy (fixture->store, key, sandbox_state_get_session_id (state));
  assert_delete_busy (other, key, sandbox_state_get_session_id (state));
  sandbox_store_session_free (session);
  assert_delete_busy (other, key, sandbox_state_get_session_id (state));
  g_assert_true (sandbox_store_delete_session (other, state, NULL, NULL, &error));
  g_assert_no_error (error);

  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      SandboxStore *own = open_store (fixture->state, "backend");

      sandbox_store_set_overlay (own, try_cb, &trial);
      make_session (own, key, SANDBOX_WORKSPACE_MODE_OVERLAY);
      child_end ();
    }
  child_wait (child);
  g_assert_cmpuint (count_sessions (fixture), ==, 2);
  assert_delete_busy (other, key, "has to be deleted first");
  {
    g_autoptr (GPtrArray) list = sandbox_store_list_sessions (other, NULL, NULL, &error);

    g_assert_no_error (error);
    for (guint i = 0; i < list->len; i++)
      if (!sandbox_state_equal (list->pdata[i], sandbox_store_session_get_state (copy)))
        g_assert_true (sandbox_store_delete_session (other, list->pdata[i], NULL, NULL, NULL));
  }

  /* A session that has its own files keeps nothing. */
  g_assert_true (sandbox_store_delete_template (other, key, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (count_templates (fixture), ==, 0);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  delete_session (copy);
  sandbox_store_unref (other);
}

static void
test_meanwhile (Fixture      *fixture,
                gconstpointer unused)
{
  Trial trial = { 0 };
  g_autoptr (SandboxTemplate) made = prewarm_files (fixture->store, 2);
  g_autofree char *key = g_strdup (sandbox_template_get_key (made));
  SandboxStore    *other = open_store (fixture->state, "backend");
  g_autoptr (SandboxStoredTemplate) stored = NULL;
  gboolean stale = FALSE;
  int      hold = -1;
  int      lock = -1;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A template is not deleted while a session is made over it, nor is a session made while it is deleted; one that was "
                  "made anew is used");

  sandbox_store_set_overlay (fixture->store, try_cb, &trial);
  stored = sandbox_store_get_template (fixture->store, key, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_store_hold_template (fixture->store, key, stored, &hold, &stale, &error));
  g_assert_no_error (error);
  assert_delete_busy (other, key, "is being made");
  sandbox_fork_close (&hold);

  g_assert_true (sandbox_store_lock_unused (other, key, &lock, &error));
  g_assert_no_error (error);
  g_assert_null (sandbox_store_session_new (fixture->store, key, SANDBOX_WORKSPACE_MODE_OVERLAY, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  sandbox_fork_close (&lock);

  g_assert_true (sandbox_store_delete_template (other, key, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (sandbox_store_hold_template (fixture->store, key, stored, &hold, &stale, &error));
  g_assert_true (stale);
  g_clear_error (&error);
  g_assert_null (sandbox_store_session_new (fixture->store, key, SANDBOX_WORKSPACE_MODE_OVERLAY, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);

  g_object_unref (prewarm_files (other, 2));
  stale = FALSE;
  g_assert_false (sandbox_store_hold_template (fixture->store, key, stored, &hold, &stale, &error));
  g_assert_true (stale);
  g_clear_error (&error);
  delete_session (make_session (fixture->store, key, SANDBOX_WORKSPACE_MODE_OVERLAY));
  g_assert_true (sandbox_store_delete_template (fixture->store, key, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  g_assert_cmpuint (count_sessions (fixture), ==, 0);
  sandbox_store_unref (other);
}

/* In a process of its own, whose mounts nobody else sees. */
static gboolean
use_overlay (const char *lower,
             const char *base,
             const char *target)
{
  g_autofree char *options = g_strdup_printf ("lowerdir=%s,upperdir=%s/upper,workdir=%s/work,userxattr", lower, base, base);
  g_autofree char *changed = g_build_filename (target, "d", "0", NULL);
  g_autofree char *removed = g_build_filename (target, "d", "1", NULL);
  g_autofree char *shut = g_build_filename (target, "shut", NULL);
  g_autofree char *inside = g_build_filename (shut, "inside", NULL);

  return enter_namespace () && g_mkdir (target, 0700) == 0 && mount ("overlay", target, "overlay", 0, options) == 0 &&
         write_text (changed, "TEXT") && unlink (removed) == 0 &&
         g_mkdir (shut, 0700) == 0 && g_mkdir (inside, 0) == 0 && chmod (shut, 0) == 0;
}

static void
test_mounted (Fixture      *fixture,
              gconstpointer unused)
{
  Trial trial = { 0 };
  g_autoptr (SandboxTemplate) made = prewarm_files (fixture->store, 2);
  const char          *key = sandbox_template_get_key (made);
  g_autofree char     *lower = g_build_filename (fixture->state, "backend", "templates", key, "tree", NULL);
  g_autofree char     *target = g_build_filename (fixture->top, "target", NULL);
  g_autofree char     *base = NULL;
  g_autofree char     *upper = NULL;
  g_autofree char     *work = NULL;
  SandboxStoreSession *session = NULL;
  struct stat          st;
  pid_t                child;

  g_test_summary ("What the kernel leaves behind of a mounted overlay, whiteouts and a closed working directory, goes with the session; "
                  "the template stays as it was");

  sandbox_store_set_overlay (fixture->store, try_cb, &trial);
  session = make_session (fixture->store, key, SANDBOX_WORKSPACE_MODE_OVERLAY);
  upper = sandbox_store_session_dup_workspace_path (session);
  base = g_path_get_dirname (upper);
  work = g_build_filename (base, "work", "work", NULL);

  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      if (use_overlay (lower, base, target))
        child_end ();
      _exit (1);
    }
  child_wait (child);
  g_assert_cmpint (stat (work, &st), ==, 0);
  g_assert_cmpuint (st.st_mode & 07777, ==, 0);

  delete_session (session);
  g_assert_cmpuint (count_sessions (fixture), ==, 0);
  g_assert_cmpuint (count_aside (fixture), ==, 0);
  assert_sound (fixture->store, key);
}

/* A place for a view, of whom the files belong to */
static char *
make_place (Fixture    *fixture,
            const char *name)
{
  char *path = g_build_filename (fixture->top, name, NULL);

  g_assert_cmpint (g_mkdir (path, 0755), ==, 0);
  g_assert_cmpint (chown (path, OWNER, OWNER), ==, 0);

  return path;
}

static void
take_view (SandboxWorkspace *workspace,
           const char       *path)
{
  int fd = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  sandbox_workspace_take_view (workspace, fd);
}

static void
assert_root (SandboxWorkspaceRoot *root,
             const char           *path)
{
  struct stat a, b;

  g_assert_nonnull (root);
  g_assert_cmpint (fstat (root->fd, &a), ==, 0);
  g_assert_cmpint (stat (path, &b), ==, 0);
  g_assert_true (a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

static SandboxWorkspace *
make_workspace (Fixture             *fixture,
                const char          *key,
                SandboxWorkspaceMode mode)
{
  g_autoptr (GError) error = NULL;
  SandboxWorkspace *workspace = sandbox_workspace_new_for_session (make_session (fixture->store, key, mode), fixture->state, &error);

  g_assert_no_error (error);

  return workspace;
}

static void
test_view (Fixture      *fixture,
           gconstpointer unused)
{
  Trial trial = { 0 };
  g_autoptr (SandboxTemplate) made = prewarm_files (fixture->store, 2);
  g_autofree char  *first = make_place (fixture, "first");
  g_autofree char  *second = make_place (fixture, "second");
  SandboxWorkspace *workspace = NULL;
  SandboxWorkspace *plain = NULL;
  guint             n_descriptors;
  int               lower = -1;
  int               base = -1;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The files of an overlay are where it is mounted: nowhere before that, elsewhere after the next one, but for what is under way; "
                  "a plain workspace has no layers");

  sandbox_store_set_overlay (fixture->store, try_cb, &trial);
  plain = make_workspace (fixture, sandbox_template_get_key (made), SANDBOX_WORKSPACE_MODE_COPY);
  g_assert_false (sandbox_workspace_dup_layers (plain, &lower, &base, &error));
  g_assert_no_error (error);
  sandbox_workspace_give_up (plain);
  g_assert_false (sandbox_workspace_dup_layers (plain, &lower, &base, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  g_assert_finalize_object (plain);

  workspace = make_workspace (fixture, sandbox_template_get_key (made), SANDBOX_WORKSPACE_MODE_OVERLAY);
  g_assert_true (sandbox_workspace_dup_layers (workspace, &lower, &base, &error));
  g_assert_no_error (error);
  g_assert_cmpint (faccessat (lower, "d/1", R_OK, 0), ==, 0);
  g_assert_cmpint (faccessat (base, "upper", R_OK, 0), ==, 0);
  close (lower);
  close (base);
  g_assert_true (sandbox_workspace_check (workspace, &error));
  g_assert_null (sandbox_workspace_enter (workspace, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);
  g_assert_cmpint (sandbox_workspace_dup_fd (workspace, &error), ==, -1);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);

  n_descriptors = test_count_descriptors ();
  take_view (workspace, first);
  {
    SandboxWorkspaceRoot *old = sandbox_workspace_enter (workspace, NULL, NULL, &error);
    SandboxWorkspaceRoot *new = NULL;

    assert_root (old, first);
    take_view (workspace, second);
    assert_root (old, first);
    new = sandbox_workspace_enter (workspace, NULL, NULL, &error);
    assert_root (new, second);
    sandbox_workspace_leave (workspace, new);
    g_assert_cmpuint (test_count_descriptors (), ==, n_descriptors + 2);
    sandbox_workspace_leave (workspace, old);
    g_assert_cmpuint (test_count_descriptors (), ==, n_descriptors + 1);
  }

  {
    SandboxWorkspaceRoot *root = sandbox_workspace_enter (workspace, NULL, NULL, &error);
    g_autoptr (GOutputStream) stream = sandbox_file_output_stream_new (workspace, root, "file", &error);

    g_assert_no_error (error);
    sandbox_workspace_leave (workspace, root);
    g_assert_cmpint (g_output_stream_write (stream, "text", 4, NULL, &error), ==, 4);
    take_view (workspace, first);
    g_assert_false (g_output_stream_close (stream, NULL, &error));
    g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
    g_clear_error (&error);
  }
  g_assert_cmpuint (test_count_entries (first), ==, 0);
  g_assert_cmpuint (test_count_entries (second), ==, 0);

  /* Whoever has the session next mounts it again. */
  sandbox_workspace_give_up (workspace);
  g_assert_null (sandbox_workspace_enter (workspace, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  g_clear_error (&error);
  g_assert_cmpuint (test_count_descriptors (), <, n_descriptors);
  g_assert_finalize_object (workspace);
}

/* More than the pool has threads */
#define N_READS 6

typedef struct
{
  GMutex  lock; /* guards what follows */
  GCond   cond;
  guint   n_done;
  guint   n_failed;
  GError *error; /* the last one */
} Reads;

static void
read_answer_cb (gpointer      user_data,
                gpointer      answer,
                const GError *error)
{
  Reads *reads = user_data;

  g_mutex_lock (&reads->lock);
  if (error != NULL)
    {
      reads->n_failed++;
      g_clear_error (&reads->error);
      reads->error = g_error_copy (error);
    }
  else
    reads->n_done++;
  g_cond_signal (&reads->cond);
  g_mutex_unlock (&reads->lock);
}

/* In the pool. */
static void
begin_reads (Reads            *reads,
             SandboxWorkspace *workspace,
             guint             n,
             GCancellable     *cancellable)
{
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (SandboxRequest) request = sandbox_request_new_internal (G_TYPE_BYTES, cancellable, read_answer_cb, reads);
      g_autoptr (GError) error = NULL;

      g_assert_true (sandbox_workspace_read (workspace, "file", 0, 16, request, &error));
      g_assert_no_error (error);
      sandbox_request_dispatched (request, TRUE, NULL);
    }
}

static void
wait_for_reads (Reads *reads,
                guint  n_done,
                guint  n_failed)
{
  gint64 end = g_get_monotonic_time () + 5 * G_USEC_PER_SEC;

  g_mutex_lock (&reads->lock);
  while (reads->n_done + reads->n_failed < n_done + n_failed && g_cond_wait_until (&reads->cond, &reads->lock, end))
    ;
  g_assert_cmpuint (reads->n_done, ==, n_done);
  g_assert_cmpuint (reads->n_failed, ==, n_failed);
  g_mutex_unlock (&reads->lock);
}

/* Until the pool has had all of them in its hands */
static void
wait_for_queue (SandboxWorkspace *workspace,
                guint             n)
{
  guint length = 0;

  for (gint64 end = g_get_monotonic_time () + 5 * G_USEC_PER_SEC; length < n && g_get_monotonic_time () < end; g_usleep (1000))
    {
      g_mutex_lock (&workspace->lock);
      length = workspace->queue->len;
      g_mutex_unlock (&workspace->lock);
    }
  g_assert_cmpuint (length, ==, n);
}

static void
test_queue (Fixture      *fixture,
            gconstpointer unused)
{
  Trial trial = { 0 };
  Reads waiting = { 0 };
  Reads others = { 0 };
  g_autoptr (SandboxTemplate) made = prewarm_files (fixture->store, 2);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autofree char  *place = make_place (fixture, "place");
  g_autofree char  *file = g_build_filename (place, "file", NULL);
  SandboxWorkspace *workspace = NULL;
  SandboxWorkspace *other = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Work on files that waits for an overlay holds no thread of the pool, so that of other sessions is done meanwhile; "
                  "it goes on with the view, at the end of the session, and when nothing has come for long");

  g_mutex_init (&waiting.lock);
  g_cond_init (&waiting.cond);
  g_mutex_init (&others.lock);
  g_cond_init (&others.cond);
  g_assert_true (g_file_set_contents (file, "text", 4, &error));
  g_assert_no_error (error);
  g_assert_cmpint (chmod (file, 0644), ==, 0);
  other = sandbox_workspace_new (place, &error);
  g_assert_no_error (error);
  sandbox_store_set_overlay (fixture->store, try_cb, &trial);
  workspace = make_workspace (fixture, sandbox_template_get_key (made), SANDBOX_WORKSPACE_MODE_OVERLAY);

  g_assert_true (sandbox_workspace_drop_view (workspace));
  begin_reads (&waiting, workspace, N_READS, NULL);
  begin_reads (&others, other, N_READS, NULL);
  wait_for_reads (&others, N_READS, 0);
  wait_for_queue (workspace, N_READS);
  wait_for_reads (&waiting, 0, 0);
  take_view (workspace, place);
  wait_for_reads (&waiting, N_READS, 0);

  /* Whoever does not want it any more is not waited for */
  g_assert_true (sandbox_workspace_drop_view (workspace));
  g_cancellable_cancel (cancellable);
  begin_reads (&waiting, workspace, 1, cancellable);
  wait_for_reads (&waiting, N_READS, 1);
  g_assert_error (waiting.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

  /* The backend has let its time pass */
  workspace->mounts_end = g_get_monotonic_time () + G_USEC_PER_SEC / 2;
  begin_reads (&waiting, workspace, 1, NULL);
  wait_for_queue (workspace, 1);
  wait_for_reads (&waiting, N_READS, 2);
  g_assert_error (waiting.error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);

  take_view (workspace, place);
  g_assert_true (sandbox_workspace_drop_view (workspace));
  begin_reads (&waiting, workspace, N_READS, NULL);
  wait_for_queue (workspace, N_READS);
  sandbox_workspace_give_up (workspace);
  wait_for_reads (&waiting, N_READS, 2 + N_READS);
  g_assert_error (waiting.error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);

  g_clear_error (&waiting.error);
  g_assert_finalize_object (workspace);
  g_assert_finalize_object (other);
  g_mutex_clear (&waiting.lock);
  g_cond_clear (&waiting.cond);
  g_mutex_clear (&others.lock);
  g_cond_clear (&others.cond);
}

#define ADD(name, data, function) \
 g_test_add ("/store-overlay/" name, Fixture, data, fixture_set_up, function, fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  /* They have a descriptor each from the first use on */
  sandbox_get_worker_context ();
  g_main_context_default ();

  ADD ("choice", NULL, test_choice);
  ADD ("attach", NULL, test_attach);
  ADD ("in-use", NULL, test_in_use);
  ADD ("meanwhile", NULL, test_meanwhile);
  ADD ("mounted", NULL, test_mounted);
  ADD ("view", NULL, test_view);
  ADD ("queue", NULL, test_queue);

  return g_test_run ();
}
