/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a sandbox cannot be built: the step that fails is named, with what to do, and nothing runs on the host. The
 * program starts itself below what forbids something ("--inside WORKSPACE [DENIAL]") and looks at what it says there.
 */
#include "../common/test-sandbox.h"

#include <net/if.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#if TEST_IS_SANITIZED
/* Where there is no /proc a sanitizer finds no environment, and it is to look for no leaks there. */
const char *__asan_default_options (void);

const char *
__asan_default_options (void)
{
  return "detect_leaks=0";
}
#endif

/* ---- Inside --------------------------------------------------------------------------------------------------------- */

static void
inside_limit (int         resource,
              const char *value)
{
  const struct rlimit limit = { .rlim_cur = (rlim_t) atoi (value), .rlim_max = (rlim_t) atoi (value) };

  g_assert_cmpint (setrlimit (resource, &limit), ==, 0);
}

/* What a security module or the filter of a container engine refuses. */
static void
inside_deny_calls (const char *what)
{
  scmp_filter_ctx filter = seccomp_init (SCMP_ACT_ALLOW);

  g_assert_nonnull (filter);
  if (g_str_equal (what, "loopback"))
    {
      g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (socket), 1, SCMP_A0 (SCMP_CMP_EQ, AF_NETLINK)), ==, 0);
      g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (ioctl), 1, SCMP_A1 (SCMP_CMP_EQ, SIOCSIFFLAGS)), ==, 0);
    }
  else if (g_str_equal (what, "propagation"))
    g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EACCES), SCMP_SYS (mount), 1, SCMP_A3 (SCMP_CMP_MASKED_EQ, MS_SLAVE, MS_SLAVE)), ==, 0);
  else if (g_str_equal (what, "user-namespaces"))
    {
      g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (unshare), 1, SCMP_A0 (SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)), ==, 0);
      g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (clone), 1, SCMP_A0 (SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)), ==, 0);
    }
  else if (g_str_equal (what, "host-name"))
    g_assert_cmpint (seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (unshare), 1, SCMP_A0 (SCMP_CMP_MASKED_EQ, CLONE_NEWUTS, CLONE_NEWUTS)), ==, 0);
  else
    g_error ("Nothing is known to deny as “%s”", what);
  g_assert_cmpint (seccomp_load (filter), ==, 0);
  seccomp_release (filter);
}

static void
inside_deny (const char *what)
{
  if (g_str_has_prefix (what, "open-files="))
    inside_limit (RLIMIT_NOFILE, strchr (what, '=') + 1);
  else if (g_str_equal (what, "processes"))
    {
      g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
      g_autoptr (SandboxBackend) backend = test_new_backend (registry);
      g_autoptr (SandboxReport) report = NULL;
      g_autoptr (GError) error = NULL;

      /* The threads of this program have to be there before. */
      report = sandbox_backend_probe (backend, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_FULL);
      inside_limit (RLIMIT_NPROC, "1");
    }
  else
    inside_deny_calls (what);
}

/* Whether a session of this profile runs a command, or the error. */
static char *
inside_try (SandboxBackend *backend,
            const char     *workspace,
            SandboxProcMode proc)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxCommand) command = sandbox_command_new ((const char *const[]){ "sh", "-c", "echo ran >ran; test ! -e /proc/self/status", NULL });
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  sandbox_profile_set_proc (profile, proc);
  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_workspace_path (options, workspace);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  if (handle == NULL)
    return g_strdup_printf ("%d %s", error->code, error->message);

  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_true (sandbox_handle_stop (handle, NULL, &error));

  return g_strdup (sandbox_result_get_exit_status (result) == 0 ? "ran without proc" : "ran");
}

static void
inside_tell (const char *name,
             const char *value)
{
  g_print ("%s\t%s\n", name, value != NULL ? value : "");
}

static int
inside_main (const char *workspace,
             const char *denial)
{
  static const char *const spare[] = { "control-groups", "disk", "tls", NULL };
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (SandboxBackend) backend = NULL;
  g_autofree char *fresh = NULL;
  g_autofree char *automatic = NULL;
  g_autofree char *none = NULL;
  g_autoptr (GError) error = NULL;
  GListModel        *steps = NULL;
  const char *const *gaps = NULL;

  if (denial != NULL)
    inside_deny (denial);
  backend = sandbox_registry_create_backend (registry, "bubblewrap", NULL, &error);
  g_assert_no_error (error);
  report = sandbox_backend_probe (backend, NULL, NULL, &error);
  g_assert_no_error (error);

  inside_tell ("grade", sandbox_report_get_grade (report) == SANDBOX_GRADE_FULL      ? "full"
                        : sandbox_report_get_grade (report) == SANDBOX_GRADE_PARTIAL ? "partial"
                                                                                     : "unavailable");
  inside_tell ("reason", sandbox_report_get_reason (report));
  gaps = sandbox_report_get_gaps (report);
  for (guint i = 0; gaps[i] != NULL; i++)
    inside_tell ("gap", gaps[i]);
  steps = sandbox_report_get_steps (report);
  for (guint i = 0; i < g_list_model_get_n_items (steps); i++)
    {
      g_autoptr (SandboxReportStep) step = g_list_model_get_item (steps, i);

      /* What no session here needs: limits of control groups, a bound of the disk, a gateway with TLS */
      if (sandbox_report_step_get_ok (step) || g_strv_contains (spare, sandbox_report_step_get_name (step)))
        continue;
      inside_tell ("failed", sandbox_report_step_get_name (step));
      inside_tell (sandbox_report_step_get_name (step), sandbox_report_step_get_remedy (step));
      if (sandbox_report_step_get_consequence (step) != NULL)
        inside_tell ("consequence", sandbox_report_step_get_consequence (step));
    }

  fresh = inside_try (backend, workspace, SANDBOX_PROC_MODE_FRESH);
  automatic = inside_try (backend, workspace, SANDBOX_PROC_MODE_AUTO);
  none = inside_try (backend, workspace, SANDBOX_PROC_MODE_NONE);
  inside_tell ("fresh", fresh);
  inside_tell ("auto", automatic);
  inside_tell ("none", none);

  return 0;
}

/* A user without rights, and with an entry in no database: containers of root's own have no ids to run commands as. */
#define USER 65533

/* ---- Outside -------------------------------------------------------------------------------------------------------- */

typedef struct
{
  char *directory; /* bound read-write wherever the program runs, and its temporary one */
  char *workspace; /* in it */
} Place;

static void
place_set_up (Place        *self,
              gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  self->directory = g_dir_make_tmp ("sandbox-probe-test-XXXXXX", &error);
  g_assert_no_error (error);
  self->workspace = g_build_filename (self->directory, "workspace", NULL);
  g_assert_cmpint (g_mkdir (self->workspace, 0755), ==, 0);
}

static void
place_tear_down (Place        *self,
                 gconstpointer unused)
{
  test_remove_tree (self->directory);
  g_free (self->directory);
  g_free (self->workspace);
}

static void add_words (GPtrArray *argv,
                       ...) G_GNUC_NULL_TERMINATED;

static void
add_words (GPtrArray *argv,
           ...)
{
  const char *word = NULL;
  va_list     words;

  va_start (words, argv);
  while ((word = va_arg (words, const char *)) != NULL)
    g_ptr_array_add (argv, (char *) word);
  va_end (words);
}

/* For a shell. */
#define BECOME_USER "/usr/bin/setpriv --reuid=" G_STRINGIFY (USER) " --regid=" G_STRINGIFY (USER) " --clear-groups"

static void
give_to_user (Place *self)
{
  g_assert_cmpint (chown (self->directory, USER, USER), ==, 0);
  g_assert_cmpint (chown (self->workspace, USER, USER), ==, 0);
}

/* A container as an ordinary user's engine makes it, with these further options of bwrap's. */
static GPtrArray *make_container (Place *self,
                                  ...) G_GNUC_NULL_TERMINATED;

static GPtrArray *
make_container (Place *self,
                ...)
{
  GPtrArray  *argv = g_ptr_array_new ();
  const char *option = NULL;
  va_list     options;

  if (geteuid () == 0)
    {
      give_to_user (self);
      add_words (argv, "/bin/sh", "-c", "exec " BECOME_USER " \"$@\"", "sh", NULL);
    }
  add_words (argv, "/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--bind", self->directory, self->directory, NULL);
  va_start (options, self);
  while ((option = va_arg (options, const char *)) != NULL)
    g_ptr_array_add (argv, (char *) option);
  va_end (options);

  return argv;
}

/* What the program says below @before (NULL: here), by name; @before is taken. */
static GHashTable *
run_inside (Place      *self,
            const char *denial,
            GPtrArray  *before)
{
  g_autoptr (GHashTable) said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_autoptr (GSubprocess) process = NULL;
  g_autoptr (GPtrArray) argv = before != NULL ? before : g_ptr_array_new ();
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  g_autoptr (GError) error = NULL;

  add_words (argv, program, "--inside", self->workspace, denial, NULL);
  g_ptr_array_add (argv, NULL);

  g_subprocess_launcher_setenv (launcher, "TMPDIR", self->directory, TRUE);
  /* A leak sanitizer needs what is forbidden there; outside it looks at the same code. */
  g_subprocess_launcher_setenv (launcher, "ASAN_OPTIONS", "detect_leaks=0", TRUE);
  process = g_subprocess_launcher_spawnv (launcher, (const char *const *) argv->pdata, &error);
  g_assert_no_error (error);
  g_assert_true (g_subprocess_communicate_utf8 (process, NULL, NULL, &text, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (g_subprocess_get_successful (process));

  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++)
    {
      g_auto (GStrv) pair = g_strsplit (lines[i], "\t", 2);

      g_test_message ("%s", lines[i]);
      g_assert_cmpuint (g_strv_length (pair), ==, 2);
      /* The first of several is the one that counts. */
      if (!g_hash_table_contains (said, pair[0]))
        g_hash_table_insert (said, g_strdup (pair[0]), g_strdup (pair[1]));
    }

  return g_steal_pointer (&said);
}

static void
assert_contains (GHashTable *said,
                 const char *name,
                 const char *part)
{
  const char *value = g_hash_table_lookup (said, name);

  if (value == NULL || strstr (value, part) == NULL)
    g_error ("“%s” is not in “%s”: %s", part, name, value);
}

/* No session of any kind; the step is named everywhere, with what to do, and nothing has run. */
static void
assert_unavailable (Place      *self,
                    GHashTable *said,
                    const char *step,
                    const char *remedy)
{
  g_autofree char *named = g_strdup_printf ("(step: %s)", step);
  g_autofree char *code = g_strdup_printf ("%d ", SANDBOX_ERROR_UNAVAILABLE);
  g_autofree char *ran = g_build_filename (self->workspace, "ran", NULL);

  g_assert_cmpstr (g_hash_table_lookup (said, "grade"), ==, "unavailable");
  g_assert_cmpstr (g_hash_table_lookup (said, "failed"), ==, step);
  assert_contains (said, step, remedy);
  assert_contains (said, "reason", named);
  assert_contains (said, "reason", remedy);
  g_assert_true (g_str_has_prefix (g_hash_table_lookup (said, "fresh"), code));
  assert_contains (said, "fresh", named);
  assert_contains (said, "fresh", remedy);
  g_assert_true (g_str_has_prefix (g_hash_table_lookup (said, "auto"), code));
  g_assert_true (g_str_has_prefix (g_hash_table_lookup (said, "none"), code));
  g_assert_false (g_file_test (ran, G_FILE_TEST_EXISTS));
}

static void
test_here (Place        *self,
           gconstpointer unused)
{
  g_autoptr (GHashTable) said = run_inside (self, NULL, NULL);

  g_test_summary ("The same program where nothing is forbidden: it finds a sandbox, and every session runs");

  g_assert_cmpstr (g_hash_table_lookup (said, "grade"), ==, "full");
  g_assert_null (g_hash_table_lookup (said, "gap"));
  g_assert_null (g_hash_table_lookup (said, "failed"));
  g_assert_cmpstr (g_hash_table_lookup (said, "fresh"), ==, "ran");
  g_assert_cmpstr (g_hash_table_lookup (said, "auto"), ==, "ran");
  g_assert_cmpstr (g_hash_table_lookup (said, "none"), ==, "ran without proc");
}

static void
test_covered_proc (Place        *self,
                   gconstpointer unused)
{
  g_autoptr (GHashTable) said = run_inside (self, NULL, make_container (self, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", NULL));

  g_test_summary ("Case 4: in a container with a covered /proc, a session with a fresh one is refused and says why; without one it runs");

  g_assert_cmpstr (g_hash_table_lookup (said, "grade"), ==, "unavailable");
  g_assert_cmpstr (g_hash_table_lookup (said, "failed"), ==, "fresh-proc");
  assert_contains (said, "fresh-proc", "uncovered /proc");
  assert_contains (said, "reason", "(step: fresh-proc)");
  assert_contains (said, "fresh", "(step: fresh-proc)");
  assert_contains (said, "fresh", "uncovered /proc");
  g_assert_cmpstr (g_hash_table_lookup (said, "auto"), ==, "ran without proc");
  g_assert_cmpstr (g_hash_table_lookup (said, "none"), ==, "ran without proc");
}

static void
test_no_user_namespaces (Place        *self,
                         gconstpointer unused)
{
  g_autoptr (GHashTable) said = run_inside (self, NULL, make_container (self, "--unshare-user", "--disable-userns", "--proc", "/proc", NULL));

  g_test_summary ("Where the sysctl allows no user namespaces, it is named");

  assert_unavailable (self, said, "user-namespace", "user.max_user_namespaces");
}

static void
test_denied (Place        *self,
             gconstpointer unused)
{
  const struct
  {
    const char *denial;
    const char *step;
    const char *remedy;
  } cases[] = {
    { "user-namespaces", "user-namespace", "seccomp profile" },
    { "loopback", "loopback", "configuring a network" },
    { "propagation", "mount-namespace", "forbids mounts" },
  };

  g_test_summary ("Cases 8 and 9: a loopback device, a mount propagation or a user namespace that is refused ends the create, never a later command");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GHashTable) said = run_inside (self, cases[i].denial, NULL);

      assert_unavailable (self, said, cases[i].step, cases[i].remedy);
    }
}

static void
test_open_files (Place        *self,
                 gconstpointer unused)
{
  static const char *const denials[] = { "open-files=64", "open-files=80", "open-files=100" };

  g_test_summary ("Where too few files can be open, it is that limit that is named");

  for (guint i = 0; i < G_N_ELEMENTS (denials); i++)
    {
      g_autoptr (GHashTable) said = run_inside (self, denials[i], NULL);

      assert_unavailable (self, said, "open-files", "RLIMIT_NOFILE");
    }
}

static void
test_processes (Place        *self,
                gconstpointer unused)
{
  g_autoptr (GHashTable) said = run_inside (self, "processes", make_container (self, "--proc", "/proc", NULL));

  g_test_summary ("Where no process can be started, not even the trials end, and it is the limits that are named");

  assert_unavailable (self, said, "agent", "RLIMIT_NPROC");
}

static void
test_used_up (Place        *self,
              gconstpointer unused)
{
  static const char script[] = "echo 0 >\"/proc/sys/user/$1\" && shift && exec /usr/bin/setpriv --ambient-caps=-all \"$@\"";
  const struct
  {
    const char *step;
    const char *limit;
  } cases[] = {
    { "user-namespace", "max_user_namespaces" },
    { "host-name", "max_uts_namespaces" },
    { "ipc-namespace", "max_ipc_namespaces" },
    { "cgroup-namespace", "max_cgroup_namespaces" },
    { "network-namespace", "max_net_namespaces" },
    { "mount-namespace", "max_mnt_namespaces" },
    { "process-namespace", "max_pid_namespaces" },
  };

  g_test_summary ("Where namespaces of a kind are used up, the remedy names the sysctl of that kind");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *sysctl = g_strconcat ("sysctl user.", cases[i].limit, "=", NULL);
      g_autoptr (GHashTable) said = run_inside (self, NULL, make_container (self, "--proc", "/proc", "--cap-add", "CAP_SYS_RESOURCE", "/bin/sh", "-c", script, "sh", cases[i].limit, NULL));

      assert_unavailable (self, said, cases[i].step, sysctl);
    }
}

static void
test_needed_later (Place        *self,
                   gconstpointer unused)
{
  g_autoptr (GHashTable) said = run_inside (self, "host-name", NULL);

  g_test_summary ("Where a command ran and a step that it needs fails after it, the report is partial and names the step");

  g_assert_cmpstr (g_hash_table_lookup (said, "grade"), ==, "partial");
  g_assert_cmpstr (g_hash_table_lookup (said, "failed"), ==, "host-name");
  assert_contains (said, "gap", "host-name");
  g_assert_cmpstr (g_hash_table_lookup (said, "fresh"), ==, "ran");
}

static void
test_devices (Place        *self,
              gconstpointer unused)
{
  g_autoptr (GHashTable) said = run_inside (self, NULL, make_container (self, "--proc", "/proc", "--tmpfs", "/dev", "--dev-bind", "/dev/null", "/dev/null", NULL));

  g_test_summary ("A device that is missing is named, with what to do");

  g_assert_cmpstr (g_hash_table_lookup (said, "grade"), ==, "unavailable");
  assert_contains (said, "reason", "(step: devices)");
  assert_contains (said, "reason", "/dev/zero");
  assert_contains (said, "fresh", "mknod");
}

/* This program below @script, which has the mounts for itself, as root. */
static GHashTable *
run_below_script (Place      *self,
                  const char *script)
{
  GPtrArray       *argv = g_ptr_array_new ();
  g_autofree char *text = g_strconcat (script, " && exec \"$@\"", NULL);

  add_words (argv, "/usr/bin/unshare", "--mount", "/bin/sh", "-c", text, "sh", NULL);

  return run_inside (self, NULL, argv);
}

static void
test_no_proc (Place        *self,
              gconstpointer unused)
{
  g_autoptr (GHashTable) root = run_below_script (self, "umount -l /proc");
  g_autoptr (GHashTable) user = NULL;

  g_test_summary ("Where no procfs is mounted, that is the first step, for root and for a user");

  assert_unavailable (self, root, "host-proc", "Mount procfs on /proc");

  give_to_user (self);
  user = run_below_script (self, "umount -l /proc && set -- " BECOME_USER " \"$@\"");
  assert_unavailable (self, user, "host-proc", "Mount procfs on /proc");
}

static void
test_claims (Place        *self,
             gconstpointer unused)
{
  const struct
  {
    const char *script;
    const char *remedy;
  } cases[] = {
    { "mount -t tmpfs none /run && mount -o remount,ro /run", "that this program can make" },
    { "mount -t tmpfs none /run && mkdir -m 0755 /run/sandbox-glib", "chmod it to 0700" },
    { "mount -t tmpfs none /run && mkdir -m 0700 /run/sandbox-glib && chown 1 /run/sandbox-glib", "chown it to root" },
  };

  g_test_summary ("Where no uid can be claimed, the step is named and what to do");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GHashTable) said = run_below_script (self, cases[i].script);

      g_assert_cmpstr (g_hash_table_lookup (said, "grade"), ==, "unavailable");
      g_assert_cmpstr (g_hash_table_lookup (said, "failed"), ==, "identity");
      assert_contains (said, "reason", "(step: identity)");
      assert_contains (said, "reason", cases[i].remedy);
      assert_contains (said, "fresh", cases[i].remedy);
    }
}

static void
test_unmapped (Place        *self,
               gconstpointer unused)
{
  g_autofree char *code = g_strdup_printf ("%d ", SANDBOX_ERROR_UNAVAILABLE);

  g_test_summary ("Root of a container, who may not mount with mapped owners: sessions run as the owner of their directory, and root's are refused");

  g_assert_cmpint (chmod (self->directory, 0755), ==, 0);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GHashTable) said = NULL;
      GPtrArray *argv = g_ptr_array_new ();

      g_assert_cmpint (chown (self->workspace, i == 0 ? 0 : USER, i == 0 ? 0 : USER), ==, 0);
      add_words (argv, "/usr/bin/setpriv", "--bounding-set", "-sys_admin", NULL);
      said = run_inside (self, NULL, argv);

      g_assert_cmpstr (g_hash_table_lookup (said, "grade"), ==, "partial");
      g_assert_cmpstr (g_hash_table_lookup (said, "failed"), ==, "identity");
      assert_contains (said, "identity", "CAP_SYS_ADMIN");
      assert_contains (said, "consequence", "share a uid, and directories of root's are refused");
      assert_contains (said, "gap", "directories of root's are refused");
      if (i == 0)
        {
          g_assert_true (g_str_has_prefix (g_hash_table_lookup (said, "fresh"), code));
          assert_contains (said, "fresh", "as root");
        }
      else
        {
          g_assert_cmpstr (g_hash_table_lookup (said, "fresh"), ==, "ran");
          g_assert_cmpstr (g_hash_table_lookup (said, "none"), ==, "ran without proc");
        }
    }
}

static void
test_chroot (Place        *self,
             gconstpointer unused)
{
  static const char script[] = "mount --rbind / \"$1\" && shift && exec /usr/sbin/chroot \"$@\"";
  g_autofree char  *root = g_build_filename (self->directory, "root", NULL);
  g_autoptr (GHashTable) said = NULL;
  GPtrArray *argv = g_ptr_array_new ();

  g_test_summary ("Below a chroot, where the kernel gives no user namespaces to users, that is the step");

  g_assert_cmpint (g_mkdir (root, 0755), ==, 0);
  add_words (argv, "/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, "sh", root, root, NULL);
  said = run_inside (self, NULL, argv);
  assert_unavailable (self, said, "user-namespace", "pivot_root");
}

/* A backend with a bwrap of its own, which is in the place. */
static SandboxBackend *
new_backend_with_bwrap (Place           *self,
                        SandboxRegistry *registry)
{
  SandboxBackend  *backend = test_new_backend (registry);
  g_autofree char *path = g_build_filename (self->directory, "bwrap", NULL);

  g_assert_cmpint (chmod (self->directory, 0755), ==, 0);
  test_install_program (self->directory, "bwrap", "/usr/bin/bwrap");
  g_object_set (backend, "executable", path, NULL);

  return backend;
}

static void
test_set_user_id (Place        *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = new_backend_with_bwrap (self, registry);
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autofree char *path = g_build_filename (self->directory, "bwrap", NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 12: a set-user-ID bwrap is told by the file, not by its words; what it cannot give is refused");

  g_assert_cmpint (chmod (path, 04755), ==, 0);

  report = sandbox_backend_probe (backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_UNAVAILABLE);
  g_assert_nonnull (strstr (sandbox_report_get_reason (report), "(step: set-user-id)"));
  g_assert_nonnull (strstr (sandbox_report_get_reason (report), "chmod u-s"));
  handle = test_create (backend, self->workspace, &error);
  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_assert_nonnull (strstr (error->message, "(step: set-user-id)"));
}

static void
test_replaced (Place        *self,
               gconstpointer unused)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = new_backend_with_bwrap (self, registry);
  g_autofree char *bwrap = g_build_filename (self->directory, "bwrap", NULL);
  g_autofree char *agent = g_build_filename (self->directory, "agent", NULL);
  g_autofree char *installed = g_strdup (g_getenv ("SANDBOX_AGENT_PATH"));
  g_autoptr (GError) error = NULL;

  g_test_summary ("A report does not outlive the bwrap and the agent that it looked at");

  test_install_program (self->directory, "agent", installed);
  g_setenv ("SANDBOX_AGENT_PATH", agent, TRUE);
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (SandboxReport) report = sandbox_backend_probe (backend, NULL, NULL, &error);
      g_autoptr (SandboxReport) again = sandbox_backend_probe (backend, NULL, NULL, NULL);
      g_autoptr (SandboxReport) anew = NULL;

      g_assert_no_error (error);
      g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_FULL);
      g_assert_true (again == report);

      if (i == 0)
        test_install_program (self->directory, "bwrap", "/usr/bin/bwrap");
      else if (i == 1)
        test_install_program (self->directory, "agent", installed);
      else if (i == 2)
        g_assert_cmpint (chmod (bwrap, 0555), ==, 0);
      else
        g_assert_cmpint (g_unlink (bwrap), ==, 0);
      anew = sandbox_backend_probe (backend, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (anew != report);
      g_assert_cmpint (sandbox_report_get_grade (anew), ==, i < 3 ? SANDBOX_GRADE_FULL : SANDBOX_GRADE_UNAVAILABLE);
    }
  g_setenv ("SANDBOX_AGENT_PATH", installed, TRUE);
}

static SandboxReportStep *
find_step (SandboxReport *report,
           const char    *name)
{
  GListModel *steps = sandbox_report_get_steps (report);

  for (guint i = 0; i < g_list_model_get_n_items (steps); i++)
    {
      g_autoptr (SandboxReportStep) step = g_list_model_get_item (steps, i);

      if (g_str_equal (sandbox_report_step_get_name (step), name))
        return step; /* the report keeps it */
    }
  g_error ("There is no step “%s”", name);
}

static void
test_report (Place        *self,
             gconstpointer unused)
{
  static const char *const names[] = {
    "host-proc", "open-files", "bwrap", "bwrap-version", "set-user-id", "user-namespace", "identity-map", "nested-user-namespace",
    "host-name", "ipc-namespace", "cgroup-namespace", "network-namespace", "loopback", "mount-namespace", "mounts", "process-namespace", "fresh-proc", "forbid-user-namespaces", "filter", "identity", "sandbox"
  };
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = test_new_backend (registry);
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (SandboxReport) again = NULL;
  g_autoptr (SandboxReport) anew = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Every step is tried and says what it found; the report is kept, until the backend is told of another bwrap");

  report = sandbox_backend_probe (backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_FULL);
  g_assert_cmpuint (g_strv_length ((char **) sandbox_report_get_gaps (report)), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      SandboxReportStep *step = find_step (report, names[i]);

      g_assert_true (sandbox_report_step_get_ok (step));
      g_assert_cmpstr (sandbox_report_step_get_evidence (step), !=, "");
    }
  g_assert_nonnull (strstr (sandbox_report_step_get_evidence (find_step (report, "bwrap-version")), "bubblewrap "));

  /* What nothing bounds is told, and is no gap: it was not asked for. */
  g_assert_false (sandbox_report_step_get_ok (find_step (report, "disk")));
  g_assert_nonnull (strstr (sandbox_report_step_get_consequence (find_step (report, "disk")), "fill the disk"));

  /* That is for this program, not for its sandboxes. */
  g_assert_true (sandbox_report_step_get_ok (find_step (report, "tls")) == g_tls_backend_supports_tls (g_tls_backend_get_default ()));
  g_assert_nonnull (strstr (sandbox_report_step_get_evidence (find_step (report, "tls")), "TLS backend"));

  again = sandbox_backend_probe (backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (again == report);
  g_object_set (backend, "executable", "/usr/bin/../bin/bwrap", NULL);
  anew = sandbox_backend_probe (backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (anew != report);
}

static void
add (const char *path,
     void (*test) (Place *self, gconstpointer unused))
{
  g_test_add (path, Place, NULL, place_set_up, test, place_tear_down);
}

int
main (int    argc,
      char **argv)
{
  if (argc >= 3 && g_str_equal (argv[1], "--inside"))
    return inside_main (argv[2], argv[3]);

  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  add ("/probe/report", test_report);
  add ("/probe/here", test_here);
  add ("/probe/covered-proc", test_covered_proc);
  add ("/probe/no-user-namespaces", test_no_user_namespaces);
  add ("/probe/denied", test_denied);
  add ("/probe/open-files", test_open_files);
  add ("/probe/processes", test_processes);
  add ("/probe/used-up", test_used_up);
  add ("/probe/needed-later", test_needed_later);
  add ("/probe/devices", test_devices);
  add ("/probe/replaced", test_replaced);
  if (geteuid () == 0)
    {
      add ("/probe/root/no-proc", test_no_proc);
      add ("/probe/root/claims", test_claims);
      add ("/probe/root/unmapped", test_unmapped);
      add ("/probe/chroot", test_chroot);
      add ("/probe/set-user-id", test_set_user_id);
    }

  return g_test_run ();
}
