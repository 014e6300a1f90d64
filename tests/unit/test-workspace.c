/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "workspace-fixture.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "sandbox-owner-private.h"
#include "sandbox-request-private.h"
#include "sandbox-sync-private.h"
#include "sandbox-workspace.h"

/* Each test is run twice: below a synchronous call, where the work is done at once, and elsewhere, where
 * it goes to the pool. */

#define OWNER 61234

typedef struct
{
  Fixture           files;
  SandboxWorkspace *workspace;
  gboolean          below;
} WorkspaceFixture;

static void
workspace_set_up (WorkspaceFixture *fixture,
                  gconstpointer     below)
{
  g_autoptr (GError) error = NULL;

  fixture_set_up (&fixture->files, GINT_TO_POINTER (FALSE));
  fixture->below = GPOINTER_TO_INT (below);
  fixture->workspace = sandbox_workspace_new (fixture->files.inside, &error);
  g_assert_no_error (error);
}

static void
workspace_tear_down (WorkspaceFixture *fixture,
                     gconstpointer     below)
{
  g_assert_finalize_object (fixture->workspace);
  fixture_tear_down (&fixture->files, GINT_TO_POINTER (FALSE));
}

/* One call, as the session layer makes it. */
typedef struct
{
  SandboxSync   sync;
  GMutex        lock;
  GCond         cond;
  gboolean      answered;
  GThread      *thread;
  GBytes       *bytes;
  GError       *error;
  GCancellable *cancellable;

  WorkspaceFixture *fixture;
  SandboxRequest   *request;
} Call;

static void
call_answer_cb (gpointer      user_data,
                gpointer      answer,
                const GError *error)
{
  Call *call = user_data;

  g_mutex_lock (&call->lock);
  g_assert_false (call->answered);
  call->answered = TRUE;
  call->thread = g_thread_self ();
  call->bytes = answer != NULL ? g_bytes_ref (answer) : NULL;
  call->error = error != NULL ? g_error_copy (error) : NULL;
  g_cond_signal (&call->cond);
  g_mutex_unlock (&call->lock);
}

static void
call_begin (Call             *call,
            WorkspaceFixture *fixture,
            GType             answer,
            GCancellable     *cancellable)
{
  memset (call, 0, sizeof *call);
  g_mutex_init (&call->lock);
  g_cond_init (&call->cond);
  call->fixture = fixture;
  if (fixture->below)
    sandbox_sync_begin (&call->sync, NULL);
  call->request = sandbox_request_new_internal (answer, cancellable, call_answer_cb, call);
  g_assert_cmpint (sandbox_request_may_block (call->request), ==, fixture->below);
}

/* Gives the bytes, if there are any; @error tells success. */
static GBytes *
call_end (Call    *call,
          gboolean taken,
          GError  *start_error,
          GError **error)
{
  g_assert_cmpint (taken, ==, start_error == NULL);
  /* What is done at once has been answered, or refused */
  if (call->fixture->below)
    g_assert_cmpint (call->answered, ==, taken);
  sandbox_request_dispatched (call->request, taken, start_error);

  g_mutex_lock (&call->lock);
  while (!call->answered)
    g_cond_wait (&call->cond, &call->lock);
  g_mutex_unlock (&call->lock);

  if (taken)
    g_assert_cmpint (call->thread == g_thread_self (), ==, call->fixture->below);

  /* The pool lets go of it after the answer */
  while (g_atomic_int_get (&G_OBJECT (call->request)->ref_count) > 1)
    g_thread_yield ();
  g_assert_finalize_object (call->request);
  if (call->fixture->below)
    sandbox_sync_end (&call->sync);
  g_mutex_clear (&call->lock);
  g_cond_clear (&call->cond);
  if (call->error != NULL)
    g_propagate_error (error, call->error);

  return call->bytes;
}

static GBytes *
call_read_full (WorkspaceFixture *fixture,
                const char       *path,
                GCancellable     *cancellable,
                GError          **error)
{
  Call     call;
  GError  *start_error = NULL;
  gboolean taken;

  call_begin (&call, fixture, G_TYPE_BYTES, cancellable);
  taken = sandbox_workspace_read (fixture->workspace, path, 0, 1000, call.request, &start_error);

  return call_end (&call, taken, start_error, error);
}

static GBytes *
call_read (WorkspaceFixture *fixture,
           const char       *path,
           GError          **error)
{
  return call_read_full (fixture, path, NULL, error);
}

static void
call_write_full (WorkspaceFixture *fixture,
                 const char       *path,
                 const char       *content,
                 SandboxWriteFlags flags,
                 GCancellable     *cancellable,
                 GError          **error)
{
  Call     call;
  GError  *start_error = NULL;
  gboolean taken;

  call_begin (&call, fixture, G_TYPE_NONE, cancellable);
  {
    /* Gone before the pool comes to it */
    g_autoptr (GBytes) bytes = g_bytes_new (content, strlen (content));

    taken = sandbox_workspace_write (fixture->workspace, path, bytes, 0, flags, call.request, &start_error);
  }
  g_assert_null (call_end (&call, taken, start_error, error));
}

static void
call_write (WorkspaceFixture *fixture,
            const char       *path,
            const char       *content,
            GError          **error)
{
  call_write_full (fixture, path, content, SANDBOX_WRITE_FLAGS_PARENTS, NULL, error);
}

static void
call_remove_full (WorkspaceFixture  *fixture,
                  const char        *path,
                  SandboxRemoveFlags flags,
                  GCancellable      *cancellable,
                  GError           **error)
{
  Call     call;
  GError  *start_error = NULL;
  gboolean taken;

  call_begin (&call, fixture, G_TYPE_NONE, cancellable);
  taken = sandbox_workspace_remove (fixture->workspace, path, flags, call.request, &start_error);
  g_assert_null (call_end (&call, taken, start_error, error));
}

static void
call_remove (WorkspaceFixture *fixture,
             const char       *path,
             GError          **error)
{
  call_remove_full (fixture, path, SANDBOX_REMOVE_FLAGS_RECURSIVE, NULL, error);
}

static void
test_round_trip (WorkspaceFixture *fixture,
                 gconstpointer     below)
{
  const char *const paths[] = { "f", "d/e/f", "/workspace/f", "/workspace/d/e/g" };

  g_test_summary ("Written, read and removed, by every form of a path");
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) bytes = NULL;

      call_write (fixture, paths[i], paths[i], &error);
      g_assert_no_error (error);
      bytes = call_read (fixture, paths[i], &error);
      g_assert_no_error (error);
      g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), paths[i], strlen (paths[i]));
      call_remove (fixture, paths[i], &error);
      g_assert_no_error (error);
    }
}

static void
test_errors (WorkspaceFixture *fixture,
             gconstpointer     below)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("What goes wrong is told by code, and never with a path of the host");
  g_assert_null (call_read (fixture, "none", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_assert_cmpstr (error->message, ==, "Cannot read “none”: No such file or directory");
  g_clear_error (&error);

  call_write_full (fixture, "none/f", "x", SANDBOX_WRITE_FLAGS_NONE, NULL, &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);

  call_remove_full (fixture, "none", SANDBOX_REMOVE_FLAGS_NONE, NULL, &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  call_remove_full (fixture, "none", SANDBOX_REMOVE_FLAGS_MISSING_OK, NULL, &error);
  g_assert_no_error (error);

  guest_make_link (&fixture->files, "../outside", "link");
  g_assert_null (call_read (fixture, "link/secret", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_assert_cmpstr (error->message, ==, "Cannot read “link/secret”: “link” is a symbolic link");
}

static void
test_case_73 (WorkspaceFixture *fixture,
              gconstpointer     below)
{
  g_autofree char  *huge = g_strnfill (5000, 'a');
  g_autofree char  *deep = g_malloc0 (5001);
  const char *const paths[] = { "/etc/passwd", "../x", "a/../../x", "./x", "a/./x", "a//x", "", "/", "//", "a/", "./",
                                "/workspace/../etc", "/workspace/", "/workspace//a", "/workspaces/a", "..", "a/..",
                                huge, deep, "a\\b", "a\\x41", "\xff" };

  g_test_summary ("Path helpers: the same verdict from every entry point");
  for (guint i = 0; i < 2500; i++)
    memcpy (deep + 2 * i, "a/", 2);

  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) read_error = NULL;
      g_autoptr (GError) write_error = NULL;
      g_autoptr (GError) remove_error = NULL;

      g_assert_null (call_read (fixture, paths[i], &read_error));
      g_assert_error (read_error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      call_write (fixture, paths[i], "x", &write_error);
      g_assert_error (write_error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      call_remove_full (fixture, paths[i], SANDBOX_REMOVE_FLAGS_RECURSIVE | SANDBOX_REMOVE_FLAGS_MISSING_OK, NULL, &remove_error);
      g_assert_error (remove_error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      g_assert_cmpstr (read_error->message, ==, write_error->message);
      g_assert_cmpstr (read_error->message, ==, remove_error->message);
    }
  g_assert_cmpuint (guest_count (&fixture->files, "."), ==, 0);
}

static void
test_workspace_itself (WorkspaceFixture *fixture,
                       gconstpointer     below)
{
  const char *const paths[] = { ".", "/workspace" };

  g_test_summary ("The workspace is no file, and cannot be removed");
  guest_make_file (&fixture->files, "f", "stays");
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (call_read (fixture, paths[i], &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_clear_error (&error);
      call_write (fixture, paths[i], "x", &error);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_clear_error (&error);
      call_remove (fixture, paths[i], &error);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
    }
  guest_assert_content (&fixture->files, "f", "stays");
}

static void
test_case_81 (WorkspaceFixture *fixture,
              gconstpointer     below)
{
  const struct
  {
    const char *path;
    const char *bytes;
  } names[] = { { "bad\\xff\\xfename", "bad\xff\xfename" }, { "d/\\x80", "d/\x80" }, { "back\\x5cslash", "back\\slash" }, { "\\x5cxff", "\\xff" }, { "ümlaut", "ümlaut" } };

  g_test_summary ("Names that are not UTF-8: their escaped form is the way to them");
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *below_it = g_strconcat (names[i].path, "/x", NULL);
      g_autofree char *message = g_strdup_printf ("Cannot read “%s”: “%s” is not a directory", below_it, names[i].path);
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) bytes = NULL;

      call_write (fixture, names[i].path, "content", &error);
      g_assert_no_error (error);
      guest_assert_content (&fixture->files, names[i].bytes, "content");
      bytes = call_read (fixture, names[i].path, &error);
      g_assert_no_error (error);
      g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), "content", 7);
      g_assert_null (call_read (fixture, below_it, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      g_assert_cmpstr (error->message, ==, message);
      g_clear_error (&error);
      call_remove (fixture, names[i].path, &error);
      g_assert_no_error (error);
      g_assert_false (guest_has (&fixture->files, names[i].bytes));
    }
}

static void
test_case_87 (WorkspaceFixture *fixture,
              gconstpointer     below)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("A backslash is no separator, and no path in itself");
  guest_make_directory (&fixture->files, "secret");
  guest_make_file (&fixture->files, "secret/x", "secret");
  g_assert_null (call_read (fixture, "secret\\x", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_clear_error (&error);
  g_assert_null (call_read (fixture, "secret\\x5cx", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static void
test_cancelled_before (WorkspaceFixture *fixture,
                       gconstpointer     below)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("A call that is cancelled already does nothing");
  guest_make_file (&fixture->files, "f", "old");
  g_cancellable_cancel (cancellable);

  g_assert_null (call_read_full (fixture, "f", cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  call_write_full (fixture, "f", "new", SANDBOX_WRITE_FLAGS_NONE, cancellable, &error);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  call_remove_full (fixture, "f", SANDBOX_REMOVE_FLAGS_NONE, cancellable, &error);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  guest_assert_content (&fixture->files, "f", "old");
}

/* Cancels when the removal has begun, which shows in the directory. */
typedef struct
{
  WorkspaceFixture *fixture;
  GCancellable     *cancellable;
  guint             full;
} Watcher;

static gpointer
cancel_when_begun (gpointer data)
{
  Watcher *watcher = data;

  while (guest_count (&watcher->fixture->files, "big") == watcher->full)
    g_thread_yield ();
  g_cancellable_cancel (watcher->cancellable);

  return NULL;
}

static void
test_cancelled_during (WorkspaceFixture *fixture,
                       gconstpointer     below)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Watcher watcher = { fixture, cancellable, 20000 };
  g_autoptr (GError) error = NULL;
  GThread *thread = NULL;

  g_test_summary ("A removal is cancelled on its way");
  guest_make_directory (&fixture->files, "big");
  for (guint i = 0; i < watcher.full; i++)
    {
      char name[32];

      g_snprintf (name, sizeof name, "big/%u", i);
      g_assert_cmpint (mknodat (fixture->files.root, name, S_IFREG | 0644, 0), ==, 0);
    }

  thread = g_thread_new ("cancel", cancel_when_begun, &watcher);
  call_remove_full (fixture, "big", SANDBOX_REMOVE_FLAGS_RECURSIVE, cancellable, &error);
  g_thread_join (thread);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (guest_count (&fixture->files, "big"), >, 0);
}

static void
test_removed (WorkspaceFixture *fixture,
              gconstpointer     below)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("A workspace that somebody has removed is told apart from a missing file");
  g_assert_true (sandbox_workspace_check (fixture->workspace, &error));
  g_assert_no_error (error);
  g_assert_cmpint (g_rmdir (fixture->files.inside), ==, 0);

  g_assert_false (sandbox_workspace_check (fixture->workspace, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_assert_cmpstr (error->message, ==, "The workspace directory has been removed");
  g_clear_error (&error);
  g_assert_null (call_read (fixture, "f", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);
  call_write (fixture, "f", "x", &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);
  call_write (fixture, "d/f", "x", &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);
  call_remove (fixture, "f", &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
}

static void
test_many (WorkspaceFixture *fixture,
           gconstpointer     below)
{
  Call calls[100];

  g_test_summary ("Many calls at once");
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      g_autofree char *path = g_strdup_printf ("d%" G_GSIZE_FORMAT "/f", i % 7);
      g_autofree char *text = g_strdup_printf ("%" G_GSIZE_FORMAT, i % 7);
      g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
      GError  *error = NULL;
      gboolean taken;

      call_begin (&calls[i], fixture, G_TYPE_NONE, NULL);
      taken = sandbox_workspace_write (fixture->workspace, path, bytes, 0, SANDBOX_WRITE_FLAGS_PARENTS,
                                       calls[i].request, &error);
      g_assert_no_error (error);
      g_assert_true (taken);
      if (fixture->below)
        call_end (&calls[i], taken, NULL, NULL);
    }

  for (gsize i = 0; i < G_N_ELEMENTS (calls) && !fixture->below; i++)
    {
      g_autoptr (GError) error = NULL;

      call_end (&calls[i], TRUE, NULL, &error);
      g_assert_no_error (error);
    }
  for (guint i = 0; i < 7; i++)
    {
      g_autofree char *path = g_strdup_printf ("d%u/f", i);
      g_autofree char *text = g_strdup_printf ("%u", i);
      g_autofree char *dir = g_strdup_printf ("d%u", i);

      guest_assert_content (&fixture->files, path, text);
      g_assert_cmpuint (guest_count (&fixture->files, dir), ==, 1);
    }
}

static void
test_new (WorkspaceFixture *fixture,
          gconstpointer     below)
{
  g_autofree char *link = g_build_filename (fixture->files.top, "link", NULL);
  g_autofree char *root_link = g_build_filename (fixture->files.top, "root-link", NULL);
  g_autofree char *secret = g_build_filename (fixture->files.outside, "secret", NULL);
  g_autofree char *under_file = g_build_filename (secret, "x", NULL);
  g_autofree char *missing = g_build_filename (fixture->files.top, "missing", NULL);
  g_autofree char *dots = g_strconcat (fixture->files.inside, "/../inside/.", NULL);
  g_autofree char *real = realpath (fixture->files.inside, NULL);
  g_autoptr (SandboxWorkspace) workspace = NULL;
  g_autoptr (SandboxWorkspace) dotted = NULL;
  g_autoptr (GError) error = NULL;
  guint uid, gid;
  int   fd;
  const struct
  {
    const char  *path;
    SandboxError code;
  } wrong[] = {
    { "relative", SANDBOX_ERROR_INVALID }, { "", SANDBOX_ERROR_INVALID }, { ".", SANDBOX_ERROR_INVALID }, { "/", SANDBOX_ERROR_INVALID }, { "//", SANDBOX_ERROR_INVALID }, { "/..", SANDBOX_ERROR_INVALID }, { "/proc/self/root", SANDBOX_ERROR_INVALID }, { root_link, SANDBOX_ERROR_INVALID }, { missing, SANDBOX_ERROR_NOT_FOUND }, { secret, SANDBOX_ERROR_PATH }, { under_file, SANDBOX_ERROR_PATH }
  };

  g_test_summary ("Which directories become a workspace");
  g_assert_cmpint (symlink ("/", root_link), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) refused = NULL;

      g_assert_null (sandbox_workspace_new (wrong[i].path, &refused));
      g_assert_error (refused, SANDBOX_ERROR, (int) wrong[i].code);
      g_assert_nonnull (strstr (refused->message, wrong[i].path));
    }

  /* A link is followed once: what it says later does not matter */
  g_assert_cmpint (symlink ("inside", link), ==, 0);
  guest_make_file (&fixture->files, "f", "x");
  workspace = sandbox_workspace_new (link, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (sandbox_workspace_get_path (workspace), ==, real);
  g_assert_cmpint (unlink (link), ==, 0);
  g_assert_cmpint (symlink ("outside", link), ==, 0);
  fd = sandbox_workspace_dup_fd (workspace, &error);
  g_assert_no_error (error);
  g_assert_cmpint (fcntl (fd, F_GETFD), ==, FD_CLOEXEC);
  g_assert_cmpint (fcntl (fd, F_GETFL) & O_PATH, ==, O_PATH);
  g_assert_cmpint (faccessat (fd, "f", F_OK, 0), ==, 0);
  g_clear_object (&workspace);
  g_assert_cmpint (faccessat (fd, "f", F_OK, 0), ==, 0);
  close (fd);

  dotted = sandbox_workspace_new (dots, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (sandbox_workspace_get_path (dotted), ==, real);
  sandbox_workspace_get_owner (dotted, &uid, &gid);
  g_assert_cmpuint (uid, ==, geteuid ());
  g_assert_cmpuint (gid, ==, getegid ());
  sandbox_workspace_set_owner (dotted, 5, 6);
  sandbox_workspace_get_owner (dotted, &uid, &gid);
  g_assert_cmpuint (uid, ==, 5);
  g_assert_cmpuint (gid, ==, 6);
  sandbox_workspace_get_owner (dotted, NULL, NULL);
}

/* All of a thread that working as somebody else might leave behind. */
typedef struct
{
  int                           uid;
  int                           gid;
  int                           dumpable;
  int                           death_signal;
  struct __user_cap_data_struct capabilities[2];
} Self;

static void
self_look (Self *self)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

  memset (self, 0, sizeof *self);
  self->uid = setfsuid (-1);
  self->gid = setfsgid (-1);
  self->dumpable = prctl (PR_GET_DUMPABLE);
  g_assert_cmpint (prctl (PR_GET_PDEATHSIG, &self->death_signal), ==, 0);
  g_assert_cmpint (syscall (SYS_capget, &header, self->capabilities), ==, 0);
}

static void
self_drop_effective (guint capability)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  Self                            self;

  self_look (&self);
  self.capabilities[CAP_TO_INDEX (capability)].effective &= ~CAP_TO_MASK (capability);
  g_assert_cmpint (syscall (SYS_capset, &header, self.capabilities), ==, 0);
}

static void
assert_owner (WorkspaceFixture *fixture,
              const char       *path,
              guint             uid,
              guint             gid)
{
  struct stat st;

  g_assert_cmpint (fstatat (fixture->files.root, path, &st, AT_SYMLINK_NOFOLLOW), ==, 0);
  g_assert_cmpuint (st.st_uid, ==, uid);
  g_assert_cmpuint (st.st_gid, ==, gid);
}

static void
owner_set_up (WorkspaceFixture *fixture,
              gconstpointer     below)
{
  workspace_set_up (fixture, below);
  g_clear_object (&fixture->workspace);
  g_assert_cmpint (chown (fixture->files.inside, OWNER, OWNER + 1), ==, 0);
  fixture->workspace = sandbox_workspace_new (fixture->files.inside, NULL);
  g_assert_nonnull (fixture->workspace);
}

static void
test_owner_files (WorkspaceFixture *fixture,
                  gconstpointer     below)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  guint uid, gid;

  g_test_summary ("What root makes belongs to the owner of the directory");
  sandbox_workspace_get_owner (fixture->workspace, &uid, &gid);
  g_assert_cmpuint (uid, ==, OWNER);
  g_assert_cmpuint (gid, ==, OWNER + 1);

  call_write (fixture, "a/b/f", "x", &error);
  g_assert_no_error (error);
  assert_owner (fixture, "a", OWNER, OWNER + 1);
  assert_owner (fixture, "a/b", OWNER, OWNER + 1);
  assert_owner (fixture, "a/b/f", OWNER, OWNER + 1);
  bytes = call_read (fixture, "a/b/f", &error);
  g_assert_no_error (error);
  call_write (fixture, "a/b/f", "y", &error);
  g_assert_no_error (error);
  assert_owner (fixture, "a/b/f", OWNER, OWNER + 1);
  call_remove (fixture, "a", &error);
  g_assert_no_error (error);

  /* Somebody else's: the rights of root are gone, too */
  guest_make_file (&fixture->files, "private", "x");
  g_assert_cmpint (fchmodat (fixture->files.root, "private", 0600, 0), ==, 0);
  guest_make_directory (&fixture->files, "locked");
  guest_make_file (&fixture->files, "locked/f", "x");
  g_assert_null (call_read (fixture, "private", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  g_clear_error (&error);
  call_write (fixture, "locked/g", "x", &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  g_clear_error (&error);
  call_remove (fixture, "locked", &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  g_assert_cmpstr (error->message, ==, "Cannot remove “locked/f”: Permission denied");
  g_clear_error (&error);

  /* As set, not as found */
  g_assert_cmpint (fchmodat (fixture->files.root, ".", 0777, 0), ==, 0);
  sandbox_workspace_set_owner (fixture->workspace, OWNER + 5, OWNER + 6);
  call_write (fixture, "other", "x", &error);
  g_assert_no_error (error);
  assert_owner (fixture, "other", OWNER + 5, OWNER + 6);
  sandbox_workspace_set_owner (fixture->workspace, 0, 0);
  call_write (fixture, "root", "x", &error);
  g_assert_no_error (error);
  assert_owner (fixture, "root", 0, 0);
  g_clear_pointer (&bytes, g_bytes_unref);
  bytes = call_read (fixture, "private", &error);
  g_assert_no_error (error);
}

/* Reads, with an error and without. */
static void
owner_use (WorkspaceFixture *fixture)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = call_read (fixture, "f", &error);

  g_assert_no_error (error);
  g_assert_nonnull (bytes);
  g_assert_null (call_read (fixture, "none", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static void
test_owner_restored (WorkspaceFixture *fixture,
                     gconstpointer     below)
{
  g_test_summary ("The thread, and the process, are afterwards what they were");
  if (!fixture_is_subprocess (&fixture->files))
    return;

  guest_make_file (&fixture->files, "f", "x");
  g_assert_cmpint (prctl (PR_SET_PDEATHSIG, SIGUSR1), ==, 0);
  for (int i = 0; i < 4; i++)
    {
      Self before, after;

      g_assert_cmpint (prctl (PR_SET_DUMPABLE, i % 2), ==, 0);
      if (i == 2)
        self_drop_effective (CAP_DAC_READ_SEARCH);
      self_look (&before);
      g_assert_cmpint (before.dumpable, ==, i % 2);
      g_assert_cmpint (before.death_signal, ==, SIGUSR1);
      owner_use (fixture);
      self_look (&after);
      g_assert_cmpmem (&before, sizeof before, &after, sizeof after);
    }

  /* Between, it is the owner */
  {
    g_auto (SandboxOwner) owner = { FALSE };
    g_autoptr (GError) error = NULL;
    Self between;

    g_assert_true (sandbox_owner_enter (&owner, OWNER, OWNER + 1, &error));
    g_assert_no_error (error);
    self_look (&between);
    g_assert_cmpint (between.uid, ==, OWNER);
    g_assert_cmpint (between.gid, ==, OWNER + 1);
    g_assert_cmpint (between.dumpable, ==, 1);
    g_assert_cmpint (between.death_signal, ==, SIGUSR1);
    g_assert_cmpuint (between.capabilities[0].effective & CAP_TO_MASK (CAP_DAC_OVERRIDE), ==, 0);
  }
}

static gpointer
owner_use_often (gpointer data)
{
  for (guint i = 0; i < 500; i++)
    owner_use (data);

  return NULL;
}

static void
test_owner_threads (WorkspaceFixture *fixture,
                    gconstpointer     below)
{
  GThread *threads[4];

  g_test_summary ("Threads that work as somebody else at once leave the process dumpable");
  guest_make_file (&fixture->files, "f", "x");
  g_assert_cmpint (prctl (PR_SET_DUMPABLE, 1), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("use", owner_use_often, fixture);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpint (prctl (PR_GET_DUMPABLE), ==, 1);
}

static void
test_owner_refused (WorkspaceFixture *fixture,
                    gconstpointer     below)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  g_autoptr (GError) error = NULL;
  Self before, after;

  g_test_summary ("Root without the capability to be somebody else refuses to work as itself");
  if (!fixture_is_subprocess (&fixture->files))
    return;

  guest_make_file (&fixture->files, "f", "x");
  self_look (&before);
  before.capabilities[0].effective &= ~CAP_TO_MASK (CAP_SETUID);
  g_assert_cmpint (syscall (SYS_capset, &header, before.capabilities), ==, 0);
  self_look (&before);
  call_write (fixture, "new", "x", &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_assert_false (guest_has (&fixture->files, "new"));
  self_look (&after);
  g_assert_cmpmem (&before, sizeof before, &after, sizeof after);
}

static void
test_unprivileged_owner (WorkspaceFixture *fixture,
                         gconstpointer     below)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("A host that is not root works as itself, whoever the owner is");
  sandbox_workspace_set_owner (fixture->workspace, OWNER, OWNER);
  call_write (fixture, "f", "x", &error);
  g_assert_no_error (error);
  assert_owner (fixture, "f", geteuid (), getegid ());
}

static void
test_denied (WorkspaceFixture *fixture,
             gconstpointer     below)
{
  g_autofree char *locked = g_build_filename (fixture->files.top, "locked", NULL);
  g_autofree char *in_it = g_build_filename (locked, "workspace", NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("What one's own rights forbid is told so");
  g_assert_cmpint (g_mkdir (locked, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (in_it, 0700), ==, 0);
  g_assert_cmpint (g_chmod (locked, 0), ==, 0);
  g_assert_null (sandbox_workspace_new (in_it, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
  g_clear_error (&error);

  guest_make_file (&fixture->files, "f", "x");
  g_assert_cmpint (fchmodat (fixture->files.root, "f", 0, 0), ==, 0);
  g_assert_null (call_read (fixture, "f", &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED);
}

typedef struct
{
  const char *name;
  void (*set_up) (WorkspaceFixture *, gconstpointer);
  void (*test) (WorkspaceFixture *, gconstpointer);
} Test;

static void
add_tests (const Test *tests,
           gsize       n_tests)
{
  for (gsize i = 0; i < n_tests; i++)
    {
      g_autofree char *below = g_strconcat ("/workspace/at-once/", tests[i].name, NULL);
      g_autofree char *pool = g_strconcat ("/workspace/pool/", tests[i].name, NULL);

      g_test_add (below, WorkspaceFixture, GINT_TO_POINTER (TRUE), tests[i].set_up, tests[i].test, workspace_tear_down);
      g_test_add (pool, WorkspaceFixture, GINT_TO_POINTER (FALSE), tests[i].set_up, tests[i].test, workspace_tear_down);
    }
}

int
main (int    argc,
      char **argv)
{
  static const Test tests[] = {
    { "new", workspace_set_up, test_new },
    { "round-trip", workspace_set_up, test_round_trip },
    { "errors", workspace_set_up, test_errors },
    { "itself", workspace_set_up, test_workspace_itself },
    { "removed", workspace_set_up, test_removed },
    { "many", workspace_set_up, test_many },
    { "cancelled-before", workspace_set_up, test_cancelled_before },
    { "cancelled-during", workspace_set_up, test_cancelled_during },
    { "case-73-path-verdicts", workspace_set_up, test_case_73 },
    { "case-81-names-not-utf8", workspace_set_up, test_case_81 },
    { "case-87-backslash", workspace_set_up, test_case_87 },
  };
  static const Test root_tests[] = {
    { "owner-files", owner_set_up, test_owner_files },
    { "owner-restored", owner_set_up, test_owner_restored },
    { "owner-threads", owner_set_up, test_owner_threads },
    { "owner-refused", owner_set_up, test_owner_refused },
  };
  static const Test user_tests[] = {
    { "owner-unprivileged", workspace_set_up, test_unprivileged_owner },
    { "denied", workspace_set_up, test_denied },
  };

  SandboxSync sync;

  g_test_init (&argc, &argv, NULL);

  /* The contexts of this thread keep descriptors, which are not to be counted. */
  g_main_context_default ();
  sandbox_sync_begin (&sync, NULL);
  sandbox_sync_end (&sync);

  add_tests (tests, G_N_ELEMENTS (tests));
  if (geteuid () == 0)
    add_tests (root_tests, G_N_ELEMENTS (root_tests));
  else
    {
      g_print ("# The tests owner-files, owner-restored, owner-threads and owner-refused need root: "
               "nobody else can work as another user\n");
      add_tests (user_tests, G_N_ELEMENTS (user_tests));
    }

  return g_test_run ();
}
