/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said to the kernel about control groups, and understood of what it says, with plain files in its place. The
 * kernel itself is in tests/attack/test-groups.c.
 */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox-agent-group-private.h"
#include "sandbox-control-group-private.h"
#include "sandbox-error.h"
#include "sandbox-proc-private.h"
#include "../common/test-helpers.h"

typedef struct
{
  char *path;
  int   fd;
} Tree;

static void
tree_write (Tree       *self,
            const char *file,
            const char *text)
{
  g_autofree char *path = g_build_filename (self->path, file, NULL);
  g_autoptr (GError) error = NULL;

  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
}

static void
tree_assert (Tree       *self,
             const char *file,
             const char *text)
{
  g_autofree char *path = g_build_filename (self->path, file, NULL);
  g_autofree char *found = NULL;
  g_autoptr (GError) error = NULL;

  g_file_get_contents (path, &found, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (found, ==, text);
}

static gboolean
tree_has (Tree       *self,
          const char *file)
{
  return faccessat (self->fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
tree_set_up (Tree         *self,
             gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  self->path = g_dir_make_tmp ("sandbox-groups-XXXXXX", &error);
  g_assert_no_error (error);
  self->fd = open (self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (self->fd, >=, 0);
}

static void
tree_tear_down (Tree         *self,
                gconstpointer unused)
{
  close (self->fd);
  test_remove_tree (self->path);
  g_free (self->path);
}

static SandboxControlGroup *
tree_open (Tree    *self,
           GError **error)
{
  return sandbox_control_group_new_for_fd (fcntl (self->fd, F_DUPFD_CLOEXEC, 3), self->path, error);
}

/* ---- What the kernel says --------------------------------------------------------------------------------------- */

static void
test_numbers (void)
{
  static const struct
  {
    const char *text;
    gboolean    good;
    guint64     value;
  } cases[] = {
    { "0\n", TRUE, 0 },
    { "17\n", TRUE, 17 },
    { "18446744073709551615\n", TRUE, G_MAXUINT64 },
    { "18446744073709551616\n", FALSE, 0 },
    { "max\n", FALSE, 0 },
    { "17", FALSE, 0 }, /* cut */
    { "", FALSE, 0 },
    { "\n", FALSE, 0 },
    { "17\n18\n", FALSE, 0 },
    { "17 \n", FALSE, 0 },
    { " 17\n", FALSE, 0 },
    { "-1\n", FALSE, 0 },
    { "+1\n", FALSE, 0 },
    { "0x11\n", FALSE, 0 },
  };

  g_test_summary ("A number is digits and the end of the line, and nothing else is");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint64 value = 99;

      g_assert_cmpint (sandbox_control_group_parse_number (cases[i].text, &value), ==, cases[i].good);
      if (cases[i].good)
        g_assert_cmpuint (value, ==, cases[i].value);
    }
}

static void
test_keys (void)
{
  static const char events[] = "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n";
  static const struct
  {
    const char *text;
    const char *key;
    gboolean    good;
    guint64     value;
  } cases[] = {
    { events, "low", TRUE, 1 },
    { events, "oom", TRUE, 4 },
    { events, "oom_kill", TRUE, 5 },
    { events, "oom_group_kill", TRUE, 6 },
    { events, "kill", FALSE, 0 },
    { events, "", FALSE, 0 },
    { "", "max", FALSE, 0 },
    { "max", "max", FALSE, 0 },
    { "max \n", "max", FALSE, 0 },
    { "max 5", "max", FALSE, 0 }, /* cut: 5 of how many digits? */
    { "max x\n", "max", FALSE, 0 },
    { "max 5 6\n", "max", FALSE, 0 },
    { "maximum 5\n", "max", FALSE, 0 },
    { "a 1\nmax 18446744073709551616\n", "max", FALSE, 0 },
  };

  g_test_summary ("The number of a key is found in its own line only, and a line that is cut is none");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint64 value = 99;

      g_assert_cmpint (sandbox_control_group_parse_key (cases[i].text, cases[i].key, &value), ==, cases[i].good);
      if (cases[i].good)
        g_assert_cmpuint (value, ==, cases[i].value);
    }
}

static void
test_locate (void)
{
#define V1 "31 30 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
#define V2(root, target) "40 30 0:37 " root " " target " rw,relatime shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate\n"
  static const struct
  {
    const char *cgroup;
    const char *mountinfo;
    const char *path; /* NULL: not found */
    const char *top;
  } cases[] = {
    { "0::/\n", V2 ("/", "/sys/fs/cgroup"), "/sys/fs/cgroup", "/sys/fs/cgroup" },
    { "0::/a/b\n", V2 ("/", "/sys/fs/cgroup"), "/sys/fs/cgroup/a/b", "/sys/fs/cgroup" },
    { "1:cpu:/x\n0::/a\n", V1 V2 ("/", "/sys/fs/cgroup/unified"), "/sys/fs/cgroup/unified/a", "/sys/fs/cgroup/unified" },
    { "0::/a/b\n", V2 ("/a", "/g"), "/g/b", "/g" },
    { "0::/a\n", V2 ("/a", "/g"), "/g", "/g" },
    { "0::/ab\n", V2 ("/a", "/g"), NULL, NULL },
    { "0::/ab\n", V2 ("/a", "/g") V2 ("/", "/h"), "/h/ab", "/h" },
    { "0::/a b\n", V2 ("/", "/g\\040h"), "/g h/a b", "/g h" },
    { "0::/../x\n", V2 ("/", "/g"), NULL, NULL },
    { "0::/a\n", V2 ("/../..", "/g"), NULL, NULL },
    { "0::/a\n", V1, NULL, NULL },
    { "1:cpu:/x\n", V2 ("/", "/g"), NULL, NULL },
    { "", V2 ("/", "/g"), NULL, NULL },
    { "0::/a\n", "", NULL, NULL },
    { "0::/a\n", "40 30 0:37 / /g rw - cgroup2\n", "/g/a", "/g" },
    { "0::/a\n", "40 30 0:37 / /g rw cgroup2\n", NULL, NULL },
    { "0::/a\n", "40 30 0:37 / /g rw -\n", NULL, NULL },
    { "0::/a\n", "-\n- - - - - - - - cgroup2\n", NULL, NULL },
  };
#undef V1
#undef V2

  g_test_summary ("The own group is found below whatever mount shows it, and only there");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = NULL;
      g_autofree char *top = NULL;

      g_assert_cmpint (sandbox_control_group_locate (cases[i].cgroup, cases[i].mountinfo, &path, &top), ==, cases[i].path != NULL);
      g_assert_cmpstr (path, ==, cases[i].path);
      g_assert_cmpstr (top, ==, cases[i].top);
    }
}

static void
test_names (void)
{
  static const char *const others[] = {
    "", "sandbox-glib-", "sandbox-glib-1-2", "sandbox-glib-1-2-", "sandbox-glib-1-2-0123456789abcde", "sandbox-glib-1-2-0123456789abcdef0",
    "sandbox-glib-1-2-0123456789ABCDEF", "sandbox-glib-0-2-0123456789abcdef", "sandbox-glib--1-2-0123456789abcdef",
    "sandbox-glib-+1-2-0123456789abcdef", "sandbox-glib-2147483648-2-0123456789abcdef", "sandbox-glib-1--2-0123456789abcdef",
    "sandbox-glib-1-2-0123456789abcdef-x", "x-sandbox-glib-1-2-0123456789abcdef", "sandbox-glib-1-2-0123456789abcde/", "user.slice"
  };
  g_autofree char *name = sandbox_control_group_make_name ();
  g_autofree char *other = sandbox_control_group_make_name ();
  guint64          own = 0;
  guint64          start = 0;
  int              pid = 0;

  g_test_summary ("A name tells whose it is; two are never the same, and other names are nobody's");
  g_assert_nonnull (name);
  g_assert_cmpstr (name, !=, other);
  g_assert_true (sandbox_proc_get_start (getpid (), &own));
  g_assert_true (sandbox_control_group_parse_name (name, &pid, &start));
  g_assert_cmpint (pid, ==, getpid ());
  g_assert_cmpuint (start, ==, own);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    g_assert_false (sandbox_control_group_parse_name (others[i], &pid, &start));
}

/* ---- What is delegated ------------------------------------------------------------------------------------------ */

static void
test_controllers (Tree         *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxControlGroup) group = NULL;
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("What is enabled counts, what is there is enabled when it is needed, and the rest is refused by name");
  tree_write (self, "cgroup.controllers", "cpuset cpu io pids hugetlb\n");
  tree_write (self, "cgroup.subtree_control", "pids\n");
  group = tree_open (self, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (sandbox_control_group_get_path (group), ==, self->path);
  g_assert_true (g_strv_equal (sandbox_control_group_get_controllers (group), (const char *const[]){ "pids", "cpu", NULL }));
  tree_assert (self, "cgroup.subtree_control", "pids\n");

  sandbox_limits_set_cpu_seconds (limits, 5);
  sandbox_limits_set_tasks (limits, 5);
  g_assert_true (sandbox_control_group_enable (group, limits, &error));
  g_assert_no_error (error);
  tree_assert (self, "cgroup.subtree_control", "pids\n");
  sandbox_limits_set_cpu_percent (limits, 5);
  g_assert_true (sandbox_control_group_check_limits (group, limits, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_control_group_enable (group, limits, &error));
  g_assert_no_error (error);
  tree_assert (self, "cgroup.subtree_control", "+cpu\n"); /* a plain file is written over from its start */
  tree_write (self, "cgroup.subtree_control", "");
  g_assert_true (sandbox_control_group_enable (group, limits, &error)); /* once is enough */
  g_assert_no_error (error);
  tree_assert (self, "cgroup.subtree_control", "");
  sandbox_limits_set_memory_bytes (limits, 5);
  g_assert_false (sandbox_control_group_check_limits (group, limits, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "“memory-bytes”"));
}

static void
test_no_controller (Tree         *self,
                    gconstpointer unused)
{
  g_autoptr (SandboxControlGroup) group = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A group that gives nothing to those below it is not one to use");
  tree_write (self, "cgroup.controllers", "hugetlb\n");
  tree_write (self, "cgroup.subtree_control", "");
  group = tree_open (self, &error);
  g_assert_null (group);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  tree_assert (self, "cgroup.subtree_control", "");
}

static void
test_case_61_no_such_file_system (Tree         *self,
                                  gconstpointer unused)
{
  const char *const paths[] = { self->path, "/nonexistent", "relative", "" };

  g_test_summary ("Case 61: a directory that is no control group of version 2 is refused, whatever files it has");
  tree_write (self, "cgroup.controllers", "memory pids cpu\n");
  tree_write (self, "cgroup.subtree_control", "memory pids cpu\n");
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (sandbox_control_group_new (paths[i], &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
    }
}

static void
test_inhabited (Tree         *self,
                gconstpointer unused)
{
  g_autoptr (SandboxControlGroup) group = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("In a group that has processes nothing is changed, but for the root of all");
  tree_write (self, "cgroup.controllers", "memory pids cpu\n");
  tree_write (self, "cgroup.subtree_control", "");
  tree_write (self, "cgroup.procs", "1\n");
  tree_write (self, "cgroup.type", "domain\n");
  group = tree_open (self, &error);
  g_assert_null (group);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  tree_assert (self, "cgroup.subtree_control", "");

  tree_write (self, "cgroup.procs", "");
  group = tree_open (self, &error);
  g_assert_no_error (error);
  g_clear_object (&group);

  g_assert_cmpint (unlinkat (self->fd, "cgroup.type", 0), ==, 0);
  tree_write (self, "cgroup.procs", "1\n");
  group = tree_open (self, &error);
  g_assert_no_error (error);
}

/* A process that has ended and has been waited for */
static void
make_dead (int     *pid,
           guint64 *start)
{
  *pid = fork ();
  g_assert_cmpint (*pid, >=, 0);
  if (*pid == 0)
    {
      pause ();
      _exit (0);
    }
  g_assert_true (sandbox_proc_get_start (*pid, start));
  g_assert_cmpint (kill (*pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (*pid, NULL, 0), ==, *pid);
}

static char *
tree_make_group (Tree   *self,
                 int     pid,
                 guint64 start)
{
  char *name = g_strdup_printf ("sandbox-glib-%d-%" G_GUINT64_FORMAT "-%016x", pid, start, g_random_int ());

  g_assert_cmpint (mkdirat (self->fd, name, 0755), ==, 0);

  return name;
}

static void
test_case_69_left_over (Tree         *self,
                        gconstpointer unused)
{
  g_autoptr (SandboxControlGroup) group = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *dead = NULL;
  g_autofree char *reused = NULL;
  g_autofree char *living = NULL;
  g_autofree char *held = NULL;
  g_autofree char *kill_file = NULL;
  guint64          start = 0;
  guint64          own = 0;
  int              pid = 0;
  int              held_fd = -1;

  g_test_summary ("Case 69: groups of dead programs are removed at the first use; of the living none is, nor what is not ours");
  tree_write (self, "cgroup.controllers", "pids\n");
  tree_write (self, "cgroup.subtree_control", "pids\n");
  g_assert_true (sandbox_proc_get_start (getpid (), &own));
  make_dead (&pid, &start);
  dead = tree_make_group (self, pid, start);
  reused = tree_make_group (self, getpid (), own + 1); /* a number that another process has now */
  living = tree_make_group (self, getpid (), own);
  held = tree_make_group (self, pid, start); /* by a program that cannot be seen from here */
  held_fd = openat (self->fd, held, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (flock (held_fd, LOCK_SH), ==, 0);
  g_assert_cmpint (mkdirat (self->fd, "user.slice", 0755), ==, 0);
  g_assert_cmpint (mkdirat (self->fd, "sandbox-glib-1-1-x", 0755), ==, 0);
  g_assert_cmpint (symlinkat ("user.slice", self->fd, "sandbox-glib-1-1-0123456789abcdef"), ==, 0);

  group = tree_open (self, &error);
  g_assert_no_error (error);
  g_assert_false (tree_has (self, dead));
  g_assert_false (tree_has (self, reused));
  g_assert_true (tree_has (self, living));
  g_assert_true (tree_has (self, held));
  g_assert_true (tree_has (self, "user.slice"));
  g_assert_true (tree_has (self, "sandbox-glib-1-1-x"));
  g_assert_true (tree_has (self, "sandbox-glib-1-1-0123456789abcdef"));
  close (held_fd);

  /* What is in there is killed. */
  kill_file = g_build_filename (held, "cgroup.kill", NULL);
  tree_write (self, kill_file, "");
  g_clear_object (&group);
  group = tree_open (self, &error);
  g_assert_no_error (error);
  tree_assert (self, kill_file, "1");
}

/* ---- The group of one sandbox ----------------------------------------------------------------------------------- */

static void
test_write_limits (Tree         *self,
                   gconstpointer unused)
{
  static const char *const files[] = { "memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max" };
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxLimits) memory = sandbox_limits_new ();
  g_autoptr (SandboxLimits) largest = sandbox_limits_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("Each limit is written as the kernel wants it, and one that cannot be is an error");
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    tree_write (self, files[i], "");
  sandbox_limits_set_cpu_seconds (limits, 7);
  g_assert_true (sandbox_agent_group_write_limits (self->fd, limits, &error));
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    tree_assert (self, files[i], "");

  sandbox_limits_set_memory_bytes (limits, 1048576);
  sandbox_limits_set_tasks (limits, 1);
  sandbox_limits_set_cpu_percent (limits, 150);
  g_assert_true (sandbox_agent_group_write_limits (self->fd, limits, &error));
  g_assert_no_error (error);
  tree_assert (self, "memory.max", "1048576");
  tree_assert (self, "memory.swap.max", "0");
  tree_assert (self, "memory.oom.group", "1");
  tree_assert (self, "pids.max", "3"); /* bwrap and the agent are in there too */
  tree_assert (self, "cpu.max", "150000 100000");

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    tree_write (self, files[i], "");
  sandbox_limits_set_memory_bytes (largest, G_MAXINT64);
  sandbox_limits_set_tasks (largest, G_MAXINT64);
  sandbox_limits_set_cpu_percent (largest, G_MAXINT);
  g_assert_true (sandbox_agent_group_write_limits (self->fd, largest, &error));
  g_assert_no_error (error);
  tree_assert (self, "memory.max", "9223372036854775807");
  tree_assert (self, "pids.max", "4194304");
  tree_assert (self, "cpu.max", "6553600000 100000");

  sandbox_limits_set_memory_bytes (memory, 1048576);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_cmpint (unlinkat (self->fd, files[i], 0), ==, 0);
      g_assert_false (sandbox_agent_group_write_limits (self->fd, memory, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
      g_assert_nonnull (strstr (error->message, "“memory-bytes”"));
      g_clear_error (&error);
      tree_write (self, files[i], "");
    }
}

static void
test_group_fails (Tree         *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxControlGroup) parent = NULL;
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (GError) error = NULL;
  GDir       *directory = NULL;
  const char *name = NULL;

  g_test_summary ("A group that cannot be made whole is an error, and is not left behind");
  tree_write (self, "cgroup.controllers", "pids\n");
  tree_write (self, "cgroup.subtree_control", "pids\n");
  parent = tree_open (self, &error);
  g_assert_no_error (error);

  sandbox_limits_set_tasks (limits, 5);
  g_assert_null (sandbox_agent_group_new (parent, limits, &error)); /* no kernel fills it with files */
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_clear_error (&error);
  directory = g_dir_open (self->path, 0, NULL);
  g_assert_nonnull (directory);
  while ((name = g_dir_read_name (directory)) != NULL)
    g_assert_false (g_str_has_prefix (name, "sandbox-glib-"));
  g_dir_close (directory);

  sandbox_limits_set_memory_bytes (limits, 5);
  g_assert_null (sandbox_agent_group_new (parent, limits, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
}

static void
test_judge (Tree         *self,
            gconstpointer unused)
{
  static const struct
  {
    const char    *memory_events;
    const char    *memory_peak; /* NULL: a kernel that has no such file */
    const char    *pids_events;
    const char    *pids_peak;
    gboolean       failed;
    SandboxOutcome outcome; /* EXITED: nothing */
    guint64        value;
    guint64        peak;
  } cases[] = {
    { "oom 0\noom_kill 0\n", "5\n", "max 0\n", "5\n", TRUE, SANDBOX_OUTCOME_EXITED, 0, 0 },
    { "oom 1\noom_kill 3\n", "2000000\n", "max 0\n", "5\n", TRUE, SANDBOX_OUTCOME_MEMORY_LIMIT, 2000000, 2000000 },
    { "oom 1\noom_kill 3\n", "1990000\n", "max 9\n", "12\n", TRUE, SANDBOX_OUTCOME_MEMORY_LIMIT, 2000000, 1990000 },
    { "oom 1\noom_kill 3\n", NULL, "max 0\n", NULL, TRUE, SANDBOX_OUTCOME_MEMORY_LIMIT, 2000000, 2000000 },
    { "oom 1\noom_kill 3\n", "max\n", "max 0\n", NULL, TRUE, SANDBOX_OUTCOME_MEMORY_LIMIT, 2000000, 2000000 },
    /* the whole machine had no memory left, or the kernel only refused some */
    { "oom 0\noom_kill 3\n", "5\n", "max 0\n", "5\n", TRUE, SANDBOX_OUTCOME_EXITED, 0, 0 },
    { "oom 3\noom_kill 0\n", "5\n", "max 0\n", "5\n", TRUE, SANDBOX_OUTCOME_EXITED, 0, 0 },
    { "oom 1\noom_kill x\n", "5\n", "max 0\n", "5\n", TRUE, SANDBOX_OUTCOME_EXITED, 0, 0 },
    { "oom 0\noom_kill 0\n", "5\n", "max 7\n", "12\n", TRUE, SANDBOX_OUTCOME_TASKS_LIMIT, 10, 10 },
    { "oom 0\noom_kill 0\n", "5\n", "max 7\n", NULL, TRUE, SANDBOX_OUTCOME_TASKS_LIMIT, 10, 10 },
    /* it could do without, or a group above was full */
    { "oom 0\noom_kill 0\n", "5\n", "max 7\n", "12\n", FALSE, SANDBOX_OUTCOME_EXITED, 0, 0 },
    { "oom 0\noom_kill 0\n", "5\n", "max 7\n", "11\n", TRUE, SANDBOX_OUTCOME_EXITED, 0, 0 },
  };
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxLimits) none = sandbox_limits_new ();

  g_test_summary ("A limit is named only when the kernel counted it, in this group, and only if it was asked for");
  sandbox_limits_set_memory_bytes (limits, 2000000);
  sandbox_limits_set_tasks (limits, 10);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      SandboxOutcome outcome = SANDBOX_OUTCOME_EXITED;
      guint64        value = 0;
      guint64        peak = 0;

      unlinkat (self->fd, "memory.peak", 0);
      unlinkat (self->fd, "pids.peak", 0);
      tree_write (self, "memory.events", cases[i].memory_events);
      tree_write (self, "pids.events", cases[i].pids_events);
      if (cases[i].memory_peak != NULL)
        tree_write (self, "memory.peak", cases[i].memory_peak);
      if (cases[i].pids_peak != NULL)
        tree_write (self, "pids.peak", cases[i].pids_peak);

      g_assert_cmpint (sandbox_agent_group_judge (self->fd, limits, cases[i].failed, &outcome, &value, &peak), ==,
                       cases[i].outcome != SANDBOX_OUTCOME_EXITED);
      g_assert_cmpint (outcome, ==, cases[i].outcome);
      g_assert_cmpuint (value, ==, cases[i].value);
      g_assert_cmpuint (peak, ==, cases[i].peak);
      g_assert_false (sandbox_agent_group_judge (self->fd, none, TRUE, &outcome, &value, &peak));
    }
}

#define ADD(name, function) g_test_add ("/control-group/" name, Tree, NULL, tree_set_up, function, tree_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/control-group/numbers", test_numbers);
  g_test_add_func ("/control-group/keys", test_keys);
  g_test_add_func ("/control-group/locate", test_locate);
  g_test_add_func ("/control-group/names", test_names);
  ADD ("controllers", test_controllers);
  ADD ("no-controller", test_no_controller);
  ADD ("inhabited", test_inhabited);
  ADD ("case-61-no-such-file-system", test_case_61_no_such_file_system);
  ADD ("case-69-left-over", test_case_69_left_over);
  ADD ("write-limits", test_write_limits);
  ADD ("group-fails", test_group_fails);
  ADD ("judge", test_judge);

  return g_test_run ();
}
