/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the agent finds when it tries what a sandbox is made of: here, and where some of it is forbidden. */
#include <errno.h>
#include <gio/gio.h>
#include <stdlib.h>

#define BWRAP "/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev"

/* By name: errno, and the value of the step. */
typedef struct
{
  int  error;
  long value;
} Step;

static GHashTable *
probe (const char *const *before)
{
  g_autoptr (GHashTable) steps = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GSubprocess) process = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  for (guint i = 0; before != NULL && before[i] != NULL; i++)
    g_ptr_array_add (argv, (char *) before[i]);
  g_ptr_array_add (argv, (char *) g_getenv ("SANDBOX_AGENT_PATH"));
  g_ptr_array_add (argv, (char *) "probe");
  g_ptr_array_add (argv, NULL);

  process = g_subprocess_newv ((const char *const *) argv->pdata, G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error);
  g_assert_no_error (error);
  g_assert_true (g_subprocess_communicate_utf8 (process, NULL, NULL, &text, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (g_subprocess_get_successful (process));

  g_assert_true (g_str_has_suffix (text, "\nend 0 0\n"));
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i][0] != '\0'; i++)
    {
      g_auto (GStrv) words = g_strsplit (lines[i], " ", -1);
      Step *step = g_new (Step, 1);

      g_test_message ("%s", lines[i]);
      g_assert_cmpuint (g_strv_length (words), ==, 3);
      step->error = atoi (words[1]);
      step->value = atol (words[2]);
      g_assert_true (g_hash_table_insert (steps, g_strdup (words[0]), step));
    }

  return g_steal_pointer (&steps);
}

static void
assert_step (GHashTable *steps,
             const char *name,
             int         error)
{
  Step *step = g_hash_table_lookup (steps, name);

  if (step == NULL)
    g_error ("“%s” was not tried", name);
  if (step->error != error)
    g_error ("“%s” ended with %s instead of %s", name, g_strerror (step->error), g_strerror (error));
}

static void
test_everything (void)
{
  static const char *const names[] = {
    "user-namespace", "identity-map", "nested-user-namespace", "host-name", "ipc-namespace", "cgroup-namespace", "network-namespace", "loopback", "mount-namespace",
    "mounts", "process-namespace", "fresh-proc", "forbid-user-namespaces", "filter", "landlock", "end"
  };
  g_autoptr (GHashTable) steps = probe (NULL);
  Step *landlock = g_hash_table_lookup (steps, "landlock");

  g_test_summary ("On a machine where a sandbox can be built, every step is tried and goes well");

  g_assert_cmpuint (g_hash_table_size (steps), ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (names[i], "landlock"))
      g_assert_true (landlock->error == 0 ? landlock->value > 0 : landlock->error == ENOSYS || landlock->error == EOPNOTSUPP);
    else
      assert_step (steps, names[i], 0);
}

static void
test_covered_proc (void)
{
  static const char *const inside[] = { BWRAP, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", NULL };
  g_autoptr (GHashTable) steps = probe (inside);

  g_test_summary ("Case 4: in a container whose /proc is covered, it is the fresh /proc that is refused, and nothing else");

  assert_step (steps, "user-namespace", 0);
  assert_step (steps, "mounts", 0);
  assert_step (steps, "loopback", 0);
  assert_step (steps, "process-namespace", 0);
  assert_step (steps, "fresh-proc", EPERM);
  g_assert_null (g_hash_table_lookup (steps, "forbid-user-namespaces"));
}

static void
test_no_user_namespaces (void)
{
  static const char *const inside[] = { BWRAP, "--unshare-user", "--disable-userns", "--proc", "/proc", NULL };
  g_autoptr (GHashTable) steps = probe (inside);

  g_test_summary ("Where user namespaces are used up or switched off, that is the step that fails; what needs one is left out");

  assert_step (steps, "user-namespace", ENOSPC);
  assert_step (steps, "filter", 0);
  g_assert_null (g_hash_table_lookup (steps, "identity-map"));
  g_assert_null (g_hash_table_lookup (steps, "mounts"));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent-probe/everything", test_everything);
  g_test_add_func ("/agent-probe/covered-proc", test_covered_proc);
  g_test_add_func ("/agent-probe/no-user-namespaces", test_no_user_namespaces);

  return g_test_run ();
}
