/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A host that is killed at any of its system calls. It is traced, and killed when it is about to make its N-th call of those
 * that change something, for every N until it gets to its end. */

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "sandbox-state-private.h"
#include "sandbox-store-session-private.h"
#include "store-fixture.h"

typedef struct
{
  Fixture              base;
  SandboxFileSet      *files;
  char                *key;     /* of the template */
  char                *content; /* of its files */
  SandboxState        *state;
  SandboxStoreSession *session; /* in the child */
} KillFixture;

/* What is done to a store by a host that may not come to the end of it. All of it is called for each N. */
typedef struct
{
  void (*before) (KillFixture *fixture); /* in this process */
  void (*begin) (KillFixture *fixture);  /* in the child, before it is traced; may be NULL */
  void (*act) (KillFixture *fixture);    /* in the child */
  void (*after) (KillFixture *fixture);  /* in this process, when the child is dead */
  int min_calls;
} Operation;

static gboolean
changes_something (guint64 number)
{
  static const int numbers[] = {
    SYS_openat,
    SYS_openat2,
    SYS_close,
    SYS_mkdirat,
    SYS_symlinkat,
    SYS_linkat,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_write,
    SYS_pwrite64,
    SYS_copy_file_range,
    SYS_sendfile,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_fcntl,
    SYS_flock,
    SYS_ioctl,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_clone,
    SYS_clone3,
#ifdef SYS_rename
    /* Of architectures that have both */
    SYS_open,
    SYS_mkdir,
    SYS_rmdir,
    SYS_unlink,
    SYS_rename,
    SYS_symlink,
    SYS_link,
    SYS_chmod,
    SYS_chown,
#endif
  };

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    if ((guint64) numbers[i] == number)
      return TRUE;

  return FALSE;
}

/* Whether @thread is about to make such a call. */
static gboolean
is_before_change (pid_t thread)
{
  struct __ptrace_syscall_info info;

  return ptrace (PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0 &&
         info.op == PTRACE_SYSCALL_INFO_ENTRY && changes_something (info.entry.nr);
}

/* Follows a child that has stopped itself, with its threads. Gives how many calls it made; *@ended is FALSE when it was
 * killed at the one of number @last. */
static int
follow (pid_t     child,
        int       last,
        gboolean *ended)
{
  int   n_calls = 0;
  int   status = 0;
  pid_t thread = child;

  g_assert_cmpint (waitpid (child, &status, __WALL), ==, child);
  g_assert_true (WIFSTOPPED (status) && WSTOPSIG (status) == SIGSTOP);
  g_assert_cmpint (ptrace (PTRACE_SETOPTIONS, child, NULL,
                           (gpointer) (PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)),
                   ==, 0);
  ptrace (PTRACE_SYSCALL, child, NULL, NULL);

  for (;;)
    {
      int signal_number = 0;

      thread = waitpid (-1, &status, __WALL);
      g_assert_cmpint (thread, >, 0);
      if (WIFEXITED (status) || WIFSIGNALED (status))
        {
          if (thread != child)
            continue;
          *ended = WIFEXITED (status);
          g_assert_true (WIFEXITED (status) ? WEXITSTATUS (status) == 0 : WTERMSIG (status) == SIGKILL);
          return n_calls;
        }
      if (WSTOPSIG (status) == (SIGTRAP | 0x80))
        {
          if (is_before_change (thread) && ++n_calls == last)
            {
              g_assert_cmpint (kill (child, SIGKILL), ==, 0);
              continue;
            }
        }
      else if (WSTOPSIG (status) != SIGTRAP && WSTOPSIG (status) != SIGSTOP)
        signal_number = WSTOPSIG (status);
      ptrace (PTRACE_SYSCALL, thread, NULL, (gpointer) (gintptr) signal_number);
    }
}

static void
test_killed (KillFixture  *fixture,
             gconstpointer data)
{
  const Operation *operation = data;
  gboolean         ended = FALSE;
  int              n_calls = 0;
  /* Every one, in the first of several runs. */
  const int step = test_is_again () ? 4 : 1;

  g_test_summary ("Killed at any system call, it is done or not begun, the next call succeeds, and nothing is left (cases 100, 103)");

  for (int last = g_random_int_range (1, step + 1); !ended; last += step)
    {
      pid_t child;

      operation->before (fixture);
      child = fork ();
      if (child == 0)
        {
          prctl (PR_SET_PDEATHSIG, SIGKILL);
          if (operation->begin != NULL)
            operation->begin (fixture);
          ptrace (PTRACE_TRACEME, 0, NULL, NULL);
          raise (SIGSTOP);
          operation->act (fixture);
          _exit (0);
        }
      n_calls = follow (child, last, &ended);

      /* Whoever comes next collects. */
      g_clear_pointer (&fixture->base.store, sandbox_store_unref);
      fixture->base.store = open_store (fixture->base.state, "backend");
      g_assert_cmpuint (count_aside (&fixture->base), ==, 0);
      operation->after (fixture);
      g_assert_cmpuint (count_aside (&fixture->base), ==, 0);
    }
  g_test_message ("%d calls", n_calls);
  g_assert_cmpint (n_calls, >=, operation->min_calls);
}

static SandboxStoreSession *
make_session (KillFixture *fixture)
{
  g_autoptr (GError) error = NULL;
  SandboxStoreSession *session = sandbox_store_session_new (fixture->base.store, fixture->key, SANDBOX_WORKSPACE_MODE_AUTO, NULL,
                                                            NULL, NULL, &error);

  g_assert_no_error (error);

  return session;
}

static void
assert_complete (KillFixture         *fixture,
                 SandboxStoreSession *session)
{
  g_autoptr (GString) content = g_string_new (NULL);
  g_autofree char *path = sandbox_store_session_dup_workspace_path (session);

  describe_tree (content, path, "");
  g_assert_cmpstr (content->str, ==, fixture->content);
}

/* That every session that is there can be come back to, and is complete, and then that it can be deleted; their number. */
static guint
take_all_sessions (KillFixture *fixture)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) list = sandbox_store_list_sessions (fixture->base.store, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (list->len, ==, count_sessions (&fixture->base));
  for (guint i = 0; i < list->len; i++)
    {
      SandboxStoreSession *session = sandbox_store_session_attach (fixture->base.store, list->pdata[i], NULL, NULL, &error);

      g_assert_no_error (error);
      assert_complete (fixture, session);
      sandbox_store_session_free (session);
      g_assert_true (sandbox_store_delete_session (fixture->base.store, list->pdata[i], NULL, NULL, &error));
      g_assert_no_error (error);
    }
  g_assert_cmpuint (count_sessions (&fixture->base), ==, 0);

  return list->len;
}

static void
delete_template (KillFixture *fixture)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_store_delete_template (fixture->base.store, fixture->key, NULL, NULL, &error));
  g_assert_no_error (error);
}

static void
make_template (KillFixture *fixture)
{
  g_object_unref (prewarm (fixture->base.store, fixture->files));
}

static void
check_template (KillFixture *fixture)
{
  guint n_templates = count_templates (&fixture->base);
  g_autoptr (SandboxTemplate) made = NULL;

  g_assert_cmpuint (n_templates, <=, 1);
  if (n_templates == 1)
    assert_sound (fixture->base.store, fixture->key);
  made = prewarm (fixture->base.store, fixture->files);
  g_assert_cmpstr (sandbox_template_get_key (made), ==, fixture->key);
  g_assert_true (sandbox_template_get_reused (made) == (n_templates == 1));
  assert_sound (fixture->base.store, fixture->key);
}

static void
do_nothing (KillFixture *fixture)
{
}

static void
create_session (KillFixture *fixture)
{
  sandbox_store_session_free (make_session (fixture));
}

static void
check_create (KillFixture *fixture)
{
  g_assert_cmpuint (take_all_sessions (fixture), <=, 1);
  create_session (fixture);
  g_assert_cmpuint (take_all_sessions (fixture), ==, 1);
}

/* One session that nobody has */
static void
leave_session (KillFixture *fixture)
{
  SandboxStoreSession *session = make_session (fixture);

  g_set_object (&fixture->state, sandbox_store_session_get_state (session));
  sandbox_store_session_free (session);
}

static void
begin_attached (KillFixture *fixture)
{
  fixture->session = sandbox_store_session_attach (fixture->base.store, fixture->state, NULL, NULL, NULL);
  g_assert_nonnull (fixture->session);
}

static void
attach_session (KillFixture *fixture)
{
  begin_attached (fixture);
}

static void
stop_session (KillFixture *fixture)
{
  sandbox_store_session_free (fixture->session);
}

static void
check_there (KillFixture *fixture)
{
  g_assert_cmpuint (take_all_sessions (fixture), ==, 1);
}

static void
delete_own_session (KillFixture *fixture)
{
  g_assert_true (sandbox_store_session_delete (fixture->session, NULL, NULL, NULL));
}

static void
delete_session (KillFixture *fixture)
{
  g_assert_true (sandbox_store_delete_session (fixture->base.store, fixture->state, NULL, NULL, NULL));
}

static void
check_deleted (KillFixture *fixture)
{
  g_assert_cmpuint (take_all_sessions (fixture), <=, 1);
  delete_session (fixture);
}

/* What somebody left who was killed in the midst of it */
static void
leave_debris (KillFixture *fixture)
{
  pid_t child = fork ();

  if (child == 0)
    {
      SandboxStoreWork *work = sandbox_store_work_new (fixture->base.store, NULL);
      int               fd = sandbox_store_work_get_fd (work);

      if (mkdirat (fd, "a", 0700) < 0 || mkdirat (fd, "a/b", 0700) < 0 || symlinkat ("/", fd, "a/b/c") < 0)
        _exit (1);
      child_end ();
    }
  child_wait (child);
}

static void
collect (KillFixture *fixture)
{
  sandbox_store_unref (open_store (fixture->base.state, "backend"));
}

static const Operation prewarming = { delete_template, NULL, make_template, check_template, 50 };
static const Operation comparing = { make_template, NULL, make_template, check_template, 5 };
static const Operation creating = { do_nothing, NULL, create_session, check_create, 50 };
static const Operation attaching = { leave_session, NULL, attach_session, check_there, 8 };
static const Operation stopping = { leave_session, begin_attached, stop_session, check_there, 3 };
static const Operation deleting_own = { leave_session, begin_attached, delete_own_session, check_deleted, 20 };
static const Operation deleting = { leave_session, NULL, delete_session, check_deleted, 20 };
static const Operation deleting_template = { make_template, NULL, delete_template, check_template, 20 };
static const Operation collecting = { leave_debris, NULL, collect, do_nothing, 10 };

static void
kill_fixture_set_up (KillFixture  *fixture,
                     gconstpointer data)
{
  g_autoptr (SandboxTemplate) made = NULL;
  g_autoptr (GString) content = g_string_new (NULL);
  g_autofree char *tree = NULL;

  fixture_set_up (&fixture->base, NULL);
  fixture->files = make_files ();
  made = prewarm (fixture->base.store, fixture->files);
  fixture->key = g_strdup (sandbox_template_get_key (made));
  tree = g_build_filename (fixture->base.state, "backend", "templates", fixture->key, "tree", NULL);
  describe_tree (content, tree, "");
  fixture->content = g_string_free (g_steal_pointer (&content), FALSE);
}

static void
kill_fixture_tear_down (KillFixture  *fixture,
                        gconstpointer data)
{
  free_files (fixture->files);
  g_clear_object (&fixture->state);
  g_clear_pointer (&fixture->content, g_free);
  g_clear_pointer (&fixture->key, g_free);
  fixture_tear_down (&fixture->base, NULL);
}

#define ADD(path, operation) \
 g_test_add ("/store-kill/" path, KillFixture, &operation, kill_fixture_set_up, test_killed, kill_fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  /* What goes wrong here removes trees. */
  if (geteuid () == 0 && !enter_read_only ())
    g_error ("No file system of its own for this test: %s", g_strerror (errno));

  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("prewarm", prewarming);
  ADD ("prewarm-again", comparing);
  ADD ("create", creating);
  ADD ("attach", attaching);
  ADD ("stop", stopping);
  ADD ("delete", deleting_own);
  ADD ("delete-session", deleting);
  ADD ("delete-template", deleting_template);
  ADD ("collect", collecting);

  return g_test_run ();
}
