/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What holds commands beside the namespaces and mounts: Landlock and the system call filter. */
#include "../common/test-profile.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* ---- Landlock ---- */

static long
landlock_version (void)
{
  return syscall (SYS_landlock_create_ruleset, NULL, 0, 1);
}

static void
test_signals (TestSandbox  *self,
              gconstpointer unused)
{
  g_test_summary ("The rules are in force: with them a command cannot even ask whether process 1 is there; its own processes it can signal");

  test_sandbox_set_up (self, NULL);
  test_assert_sh (self, "kill -0 1 2>/dev/null || echo no; { sleep 9 & kill $! && wait $!; } 2>/dev/null; echo $?",
                  landlock_version () >= 6 ? "no\n143\n" : "143\n");
}

static void
test_abstract_sockets (TestSandbox  *self,
                       gconstpointer unused)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  g_autofree char   *name = test_marker_new ();
  g_autofree char   *script = NULL;
  int                fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_all ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("The network of the host does not bring its abstract sockets, where the kernel's Landlock knows of them; a command's own work");

  g_strlcpy (address.sun_path + 1, name, sizeof address.sun_path - 1);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + strlen (name))), ==, 0);
  g_assert_cmpint (listen (fd, 8), ==, 0);

  test_sandbox_set_up (self, NULL);
  g_assert_true (sandbox_session_set_network_policy (self->session, policy, NULL, &error));
  g_assert_no_error (error);
  script = g_strdup_printf ("import socket as s\n"
                            "def go(a):\n"
                            "    try: s.socket(s.AF_UNIX).connect(a); print('reached')\n"
                            "    except OSError as e: print(type(e).__name__)\n"
                            "go('\\0%s')\n"
                            "own = s.socket(s.AF_UNIX); own.bind('\\0own-%s'); own.listen(); go('\\0own-%s')\n",
                            name, name, name);
  {
    g_autoptr (SandboxResult) result = test_run (self, "python3", "-c", script, NULL);

    test_assert_output (result, landlock_version () >= 6 ? "PermissionError\nreached\n" : "reached\nreached\n");
  }
  close (fd);
}

/* An opened file that is a standard stream, and the devices, are the same as without rules. */
static void
test_streams (TestSandbox  *self,
              gconstpointer unused)
{
  g_test_summary ("What a command needs of /proc and /dev is there: its streams opened again, a terminal, its own settings");

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

      sandbox_profile_set_view (profile, i == 0 ? SANDBOX_VIEW_MINIMAL : SANDBOX_VIEW_SYSTEM);
      test_use_profile (self, profile);
      test_assert_sh (self, "cat /dev/stdin; echo one >/dev/stdout; echo two >/dev/stderr 2>/dev/null; cat /dev/fd/3 3<<end\nthree\nend", "one\nthree\n");
      test_assert_sh (self, "echo name >/proc/self/comm; echo 500 >/proc/self/oom_score_adj && cat /proc/self/oom_score_adj", "500\n");
      test_assert_sh (self, "python3 -c 'import pty; pty.spawn ([\"sh\", \"-c\", \"tty; stty -echo; echo x >/dev/tty\"])'", "/dev/pts/0\r\nx\r\n");
    }
}

/* ---- The filter ---- */

static void
test_use_filter (TestSandbox  *self,
                 SandboxFilter filter)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  sandbox_profile_set_filter (profile, filter);
  test_use_profile (self, profile);
}

static void
test_strict_breaks (TestSandbox  *self,
                    gconstpointer unused)
{
  static const char *const scripts[] = {
    "nice -n 5 true 2>&1",
    "renice 19 $$ 2>&1 >/dev/null",
    "ionice -c 3 true 2>&1",
    "chrt -b 0 true 2>&1",
    "taskset -p 1 $$ 2>&1 >/dev/null",
    "ulimit -n 64 2>&1",
    "prlimit --nofile=64 true 2>&1",
    "python3 -c 'import os; os.nice (1)' 2>&1",
    "python3 -c 'import os; os.sched_setaffinity (0, os.sched_getaffinity (0))' 2>&1",
    "python3 -c 'import resource as r; r.setrlimit (r.RLIMIT_NOFILE, (64, 64))' 2>&1",
    "python3 -c 'import os; os.setuid (os.getuid ())' 2>&1",
    "python3 -c 'import ctypes; assert ctypes.CDLL (None).personality (0) == 0' 2>&1",
  };
  static const char *const works[] = {
    "ulimit -c 0 2>&1",
    "ulimit -a >/dev/null 2>&1 || echo no",
    "python3 -c 'import os; os.seteuid (os.getuid ())' 2>&1",
    "python3 -c 'import os; os.sched_getaffinity (0); os.getpriority (0, 0)' 2>&1",
    "! command -v gpg >/dev/null || gpg --version >/dev/null 2>&1 || echo no",
    "printf 'a:\\n\\t@true\\n' | make -s -f - 2>&1",
    "getent ahosts localhost >/dev/null 2>&1 || echo no",
  };

  g_test_summary ("What the manual says that the strict filter breaks does break, works with the others, and what is beside it works with all");

  for (guint i = 0; i < 3; i++)
    {
      test_use_filter (self, (SandboxFilter) i);
      for (guint j = 0; j < G_N_ELEMENTS (works); j++)
        test_assert_sh (self, works[j], "");
      for (guint j = 0; j < G_N_ELEMENTS (scripts); j++)
        {
          g_autofree char *script = g_strconcat (scripts[j], "; true", NULL);
          g_autofree char *text = test_sh (self, script);

          if ((text[0] != '\0') != (i == SANDBOX_FILTER_STRICT))
            g_error ("filter %u, %s: “%s”", i, scripts[j], text);
        }
    }
}

static void
test_tracing (TestSandbox  *self,
              gconstpointer unused)
{
  /* A child that asks to be traced: EPERM without a debugger's filter. Its addresses are not random then. */
  static const char *const trace = "python3 -c 'import ctypes, os; c = ctypes.CDLL (None, use_errno=True); print (c.ptrace (0, 0, 0, 0), os.strerror (ctypes.get_errno ()))'";
  static const char *const maps = "setarch -R grep -c 'stack' /proc/self/maps 2>/dev/null || echo refused";

  g_test_summary ("Commands trace each other with the debugger filter only, and never what is not theirs");

  for (guint i = 0; i < 3; i++)
    {
      const gboolean is_debugger = i == SANDBOX_FILTER_DEBUGGER;

      test_use_filter (self, (SandboxFilter) i);
      test_assert_sh (self, trace, is_debugger ? "0 Success\n" : "-1 Operation not permitted\n");
      test_assert_sh (self, maps, is_debugger ? "1\n" : "refused\n");
      if (g_file_test ("/usr/bin/gdb", G_FILE_TEST_IS_EXECUTABLE))
        test_assert_sh (self, "gdb -q -batch -ex 'break exit' -ex run -ex 'print 6 * 7' --args /usr/bin/true 2>&1 | grep -c 'Breakpoint 1, '; true", is_debugger ? "1\n" : "0\n");
      if (g_file_test ("/usr/bin/strace", G_FILE_TEST_IS_EXECUTABLE))
        test_assert_sh (self, "strace -f sh -c 'true; true' 2>&1 | grep -c execve; true", is_debugger ? "1\n" : "0\n");
      /* Process 1 has another identity to the kernel, whatever the filter allows. */
      test_assert_sh (self, "python3 -c 'import ctypes; print (ctypes.CDLL (None).ptrace (16, 1, 0, 0))'", "-1\n");
    }
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
        return step; /* the report's */
    }

  g_error ("the report has no step “%s”", name);
}

static void
assert_says (SandboxReportStep *step,
             const char        *part)
{
  if (strstr (sandbox_report_step_get_evidence (step), part) == NULL)
    g_error ("“%s” is not in: %s", part, sandbox_report_step_get_evidence (step));
}

static void
test_report (TestSandbox  *self,
             gconstpointer unused)
{
  g_test_summary ("A report names each call that was refused, with its errno, and says what the kernel's Landlock gives and misses");

  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
      g_autoptr (SandboxReport) report = NULL;
      g_autoptr (GError) error = NULL;
      SandboxReportStep *step = NULL;

      sandbox_profile_set_filter (profile, (SandboxFilter) i);
      report = sandbox_backend_probe (self->backend, profile, NULL, &error);
      g_assert_no_error (error);
      step = find_step (report, "filter");
      g_assert_true (sandbox_report_step_get_ok (step));
      assert_says (step, ". EPERM: mount, umount2, ");
      assert_says (step, "clone-user");
      assert_says (step, "chmod-set-id");
      assert_says (step, ". ENOSYS: clone3, io_uring_setup, ");
      assert_says (step, ". EAFNOSUPPORT: ");
      assert_says (step, "sockets of 59 families");
      g_assert_cmpint (strstr (sandbox_report_step_get_evidence (step), "ptrace") != NULL, ==, i != SANDBOX_FILTER_DEBUGGER);
      g_assert_cmpint (strstr (sandbox_report_step_get_evidence (step), "setrlimit") != NULL, ==, i == SANDBOX_FILTER_STRICT);

      step = find_step (report, "landlock");
      g_assert_cmpint (sandbox_report_step_get_ok (step), ==, landlock_version () >= 2);
      if (landlock_version () >= 2)
        {
          g_autofree char *version = g_strdup_printf ("version %ld. ", landlock_version ());

          assert_says (step, version);
          assert_says (step, landlock_version () >= 6 ? "neither their signals nor their abstract sockets" : "abstract sockets of the host can be reached");
        }
    }
}

static void
test_unenforced (TestSandbox  *self,
                 gconstpointer unused)
{
  g_autofree char *agent = g_strdup (g_getenv ("SANDBOX_AGENT_PATH"));
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxReport) report = NULL;
  SandboxReportStep *step = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Where the calls are made and not refused, there is no session, and it is said which calls");

  g_setenv ("SANDBOX_AGENT_PATH", TEST_AGENT_WITHOUT_LAYERS, TRUE);
  handle = test_create_for (self, profile, &error);
  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, "(step: filter): "));
  g_assert_nonnull (strstr (error->message, "ptrace"));
  g_assert_nonnull (strstr (error->message, "personality-no-randomize"));
  g_clear_error (&error);

  report = sandbox_backend_probe (self->backend, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_UNAVAILABLE);
  step = find_step (report, "filter");
  g_assert_false (sandbox_report_step_get_ok (step));
  assert_says (step, "ptrace");
  g_assert_nonnull (sandbox_report_step_get_remedy (step));
  g_assert_nonnull (sandbox_report_step_get_consequence (step));

  g_setenv ("SANDBOX_AGENT_PATH", agent, TRUE);
  test_use_profile (self, profile);
  test_assert_sh (self, "echo ran", "ran\n");

  /* What was proved of one agent says nothing of another. */
  g_setenv ("SANDBOX_AGENT_PATH", TEST_AGENT_WITHOUT_LAYERS, TRUE);
  test_assert_refused (self, profile, SANDBOX_ERROR_UNAVAILABLE, "(step: filter): ");
  g_setenv ("SANDBOX_AGENT_PATH", agent, TRUE);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add ("/layers/signals", TestSandbox, NULL, NULL, test_signals, test_sandbox_tear_down);
  g_test_add ("/layers/abstract-sockets", TestSandbox, NULL, NULL, test_abstract_sockets, test_sandbox_tear_down);
  g_test_add ("/layers/streams", TestSandbox, NULL, test_profile_set_up, test_streams, test_profile_tear_down);
  g_test_add ("/layers/strict-breaks", TestSandbox, NULL, test_profile_set_up, test_strict_breaks, test_profile_tear_down);
  g_test_add ("/layers/tracing", TestSandbox, NULL, test_profile_set_up, test_tracing, test_profile_tear_down);
  g_test_add ("/layers/report", TestSandbox, NULL, test_profile_set_up, test_report, test_profile_tear_down);
  g_test_add ("/layers/unenforced", TestSandbox, NULL, test_profile_set_up, test_unenforced, test_profile_tear_down);

  return g_test_run ();
}
