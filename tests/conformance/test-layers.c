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

  g_test_summary ("Case 22: the network of the host does not bring its abstract sockets, where the kernel's Landlock knows of them; a command's own work");

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

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add ("/layers/signals", TestSandbox, NULL, NULL, test_signals, test_sandbox_tear_down);
  g_test_add ("/layers/abstract-sockets", TestSandbox, NULL, NULL, test_abstract_sockets, test_sandbox_tear_down);
  g_test_add ("/layers/streams", TestSandbox, NULL, test_profile_set_up, test_streams, test_profile_tear_down);

  return g_test_run ();
}
