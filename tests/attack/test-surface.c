/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a guest finds around it, and what of it it can use against the host. */
#include "../common/test-profile.h"

#include <netinet/in.h>
#include <pty.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>

/* How many calls the program of probes/calls.c makes */
#ifdef __x86_64__
# define N_KERNEL_CALLS 92
# define N_SET_ID_CALLS 16
#else
# define N_KERNEL_CALLS 89
# define N_SET_ID_CALLS 11
#endif

/* A word in this program's own environment that no guest may ever see. */
static char *secret;

static void
test_set_up (TestSandbox  *self,
             gconstpointer unused)
{
  test_sandbox_set_up (self, NULL);
  test_install_program (self->workspace, "calls", TEST_CALLS);
}

/* What the program "calls" says, one line for each call: @others maps names to answers, and @usual is the answer to the rest,
 * or NULL when those must fail in whatever way. */
static void
test_calls (TestSandbox *self,
            const char  *set,
            guint        n_calls,
            const char  *usual,
            const char *const (*others)[2])
{
  g_autoptr (SandboxResult) result = test_run (self, "./calls", set, NULL);
  g_autofree char *text = sandbox_result_dup_stdout_text (result);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  test_assert_exited (result, 0);
  g_assert_cmpuint (g_strv_length (lines), ==, n_calls + 1);
  for (guint i = 0; i < n_calls; i++)
    {
      g_auto (GStrv) words = g_strsplit (lines[i], " ", 2);
      const char *expected = usual;

      for (guint j = 0; others != NULL && others[j][0] != NULL; j++)
        if (g_str_equal (words[0], others[j][0]))
          expected = others[j][1];
      if (expected != NULL ? g_strcmp0 (words[1], expected) != 0 : g_strcmp0 (words[1], "done") == 0)
        g_error ("%s: %s instead of %s", words[0], words[1], expected != NULL ? expected : "a failure");
    }
}

static void
test_kernel_calls (TestSandbox  *self,
                   gconstpointer unused)
{
  static const char *const others[][2] = {
    { "clone3", "ENOSYS" },
    { "open_tree", "ENOSYS" },
    { "open_tree_attr", "ENOSYS" },
    { "move_mount", "ENOSYS" },
    { "fsopen", "ENOSYS" },
    { "fsconfig", "ENOSYS" },
    { "fsmount", "ENOSYS" },
    { "fspick", "ENOSYS" },
    { "mount_setattr", "ENOSYS" },
    { "io_uring_setup", "ENOSYS" },
    { "io_uring_enter", "ENOSYS" },
    { "io_uring_register", "ENOSYS" },
    { "memfd_secret", "ENOSYS" },
    { "unknown-call", "ENOSYS" },
    { "socket-packet", "EAFNOSUPPORT" },
    { "socket-key", "EAFNOSUPPORT" },
    { "socket-can", "EAFNOSUPPORT" },
    { "socket-rds", "EAFNOSUPPORT" },
    { "socket-tipc", "EAFNOSUPPORT" },
    { "socket-bluetooth", "EAFNOSUPPORT" },
    { "socket-alg", "EAFNOSUPPORT" },
    { "socket-vsock", "EAFNOSUPPORT" },
    { "socket-xdp", "EAFNOSUPPORT" },
    { "socket-vsock-64-bit", "EAFNOSUPPORT" },
    { "socket-netfilter", "EAFNOSUPPORT" },
    { "socket-audit", "EAFNOSUPPORT" },
    { NULL, NULL },
  };
  g_test_summary ("Cases 14, 15, 17, 18, 19: namespaces, mounts, keys, leases, other processes, odd sockets and the machine are out of reach");

  test_calls (self, "kernel", N_KERNEL_CALLS, "EPERM", others);
}

static void
test_filters (TestSandbox  *self,
              gconstpointer unused)
{
  /* What a debugger is there for, of itself and not of process 1. */
  static const char *const debugger[][2] = { { "ptrace", "done" }, { "personality", "done" }, { NULL, NULL } };
  static const char *const set_id[][2] = { { "openat2", "ENOSYS" }, { NULL, NULL } };

  g_test_summary ("Cases 14 to 19, 92: with each filter the same calls are out of reach, but those that the debugger's is for");

  for (guint i = SANDBOX_FILTER_DEFAULT; i <= SANDBOX_FILTER_DEBUGGER; i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

      sandbox_profile_set_filter (profile, (SandboxFilter) i);
      test_use_profile (self, profile);
      test_calls (self, "kernel", N_KERNEL_CALLS, NULL, i == SANDBOX_FILTER_DEBUGGER ? debugger : NULL);
      test_calls (self, "set-id", N_SET_ID_CALLS, "EPERM", set_id);
      test_calls (self, "files", 25, NULL, NULL);
      g_free (test_sh (self, "rm -rf made-* mine"));
    }
}

static void
test_set_id_calls (TestSandbox  *self,
                   gconstpointer unused)
{
  static const char *const others[][2] = { { "openat2", "ENOSYS" }, { NULL, NULL } };
  g_autofree char         *found = NULL;

  g_test_summary ("Case 92: no way to a set-user-ID or set-group-ID file, a device node or file capabilities in the workspace");

  test_calls (self, "set-id", N_SET_ID_CALLS, "EPERM", others);
  found = test_sh (self, "chmod u+s mine 2>/dev/null; chmod 2755 . 2>/dev/null; cp -p mine copy; install -m 4755 mine made 2>/dev/null;"
                         "find . -perm /6000 -o -type b -o -type c");
  g_assert_cmpstr (found, ==, "");
}

static void
test_kernel_files (TestSandbox  *self,
                   gconstpointer unused)
{
  g_test_summary ("Cases 2, 24: the view is read-only, and neither the agent nor the kernel's settings can be opened");

  test_calls (self, "files", 25, NULL, NULL);
}

#ifdef __x86_64__
static void
test_other_gates (TestSandbox  *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxResult) gate = NULL;
  g_autoptr (SandboxResult) x32 = NULL;

  g_test_summary ("Case 16: calls by the 32-bit gate kill the process, those of x32 do not exist");

  /* A kernel without that gate answers with a fault of its own. */
  gate = test_run (self, "./calls", "int80", NULL);
  g_assert_cmpint (sandbox_result_get_outcome (gate), ==, SANDBOX_OUTCOME_SIGNALED);
  g_assert_true (sandbox_result_get_signal (gate) == SIGSYS || sandbox_result_get_signal (gate) == SIGSEGV);
  test_assert_output (gate, "");

  x32 = test_run (self, "./calls", "x32", NULL);
  test_assert_exited (x32, 0);
  test_assert_output (x32, "x32 ENOSYS\n");
}
#endif

/* ---- A host on a terminal, which is this program again ---- */

static int
terminal_main (const char *workspace)
{
  TestSandbox      self = { .workspace = (char *) workspace, .registry = sandbox_registry_new () };
  g_autofree char *answers = g_build_filename (workspace, "answers", NULL);
  g_autoptr (GError) error = NULL;

  self.backend = test_new_backend (self.registry);
  self.handle = test_create (self.backend, workspace, &error);
  g_assert_no_error (error);
  self.session = sandbox_handle_get_session (self.handle);
  test_calls (&self, "terminal", 8, "EPERM", NULL);
  g_assert_true (sandbox_handle_stop (self.handle, NULL, &error));
  g_clear_object (&self.handle);
  g_clear_object (&self.backend);
  g_clear_object (&self.registry);
  g_assert_true (g_file_set_contents (answers, "refused", -1, NULL));

  return 0;
}

static void
take_terminal_cb (gpointer user_data)
{
  setsid ();
  ioctl (0, TIOCSCTTY, 0);
}

static int
count_waiting (int fd)
{
  int count = -1;

  g_assert_cmpint (ioctl (fd, FIONREAD, &count), ==, 0);

  return count;
}

static void
test_terminal (TestSandbox  *self,
               gconstpointer unused)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_NONE);
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *answers = g_build_filename (self->workspace, "answers", NULL);
  g_autoptr (GSubprocess) host = NULL;
  g_autoptr (GError) error = NULL;
  struct termios settings;
  int            master = -1;
  int            slave = -1;

  g_test_summary ("Case 13: a guest types nothing into the terminal that its host runs on");

  g_assert_cmpint (openpty (&master, &slave, NULL, NULL, NULL), ==, 0);
  g_assert_cmpint (tcgetattr (slave, &settings), ==, 0);
  cfmakeraw (&settings);
  g_assert_cmpint (tcsetattr (slave, TCSANOW, &settings), ==, 0);
  for (int i = 0; i < 3; i++)
    {
      int fd = fcntl (slave, F_DUPFD_CLOEXEC, 3);

      if (i == 0)
        g_subprocess_launcher_take_stdin_fd (launcher, fd);
      else if (i == 1)
        g_subprocess_launcher_take_stdout_fd (launcher, fd);
      else
        g_subprocess_launcher_take_stderr_fd (launcher, fd);
    }
  g_subprocess_launcher_set_child_setup (launcher, take_terminal_cb, NULL, NULL);
  host = g_subprocess_launcher_spawn (launcher, &error, program, "--terminal", self->workspace, NULL);
  g_assert_no_error (error);
  g_assert_true (g_subprocess_wait (host, NULL, &error));
  g_assert_true (g_file_test (answers, G_FILE_TEST_EXISTS));
  /* What is typed is seen, if not at once, and it is the only thing. */
  g_assert_cmpint (write (master, "y", 1), ==, 1);
  test_wait (count_waiting (slave) > 0);
  g_assert_cmpint (count_waiting (slave), ==, 1);
  close (master);
  close (slave);
}

static char *
get_digest (const char *path)
{
  g_autofree char *bytes = NULL;
  gsize            size = 0;

  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));

  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) bytes, size);
}

static void
test_helper_programs (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autoptr (GError) error = NULL;
  g_autofree char  *agent = sandbox_get_agent_path (&error);
  const char *const helpers[] = { agent, "/usr/bin/bwrap" };
  char             *before[G_N_ELEMENTS (helpers)] = { NULL };
  g_autoptr (SandboxResult) tricked = NULL;
  g_autofree char *opened = NULL;
  g_autofree char *works = NULL;

  g_test_summary ("Case 24: by no name, not as the interpreter of its own script either, does a guest come to write what the host runs");

  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (helpers); i++)
    before[i] = get_digest (helpers[i]);

  /* Whoever executes this executes itself. */
  g_free (test_sh (self, "printf '#!/proc/self/exe init 9\\n' >trick; chmod 755 trick"));
  tricked = test_run (self, "./trick", NULL);
  g_assert_cmpint (sandbox_result_get_outcome (tricked), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpint (sandbox_result_get_exit_status (tricked), !=, 0);
  opened = test_sh (self, "./trick & exec 8</proc/self/exe; for i in 1 2 3; do for name in /proc/[0-9]*/exe /proc/[0-9]*/task/*/exe /proc/self/fd/8"
                          " /run/sandbox-agent /usr/bin/bwrap; do (: >>$name) 2>/dev/null && echo $name; (: <>$name) 2>/dev/null && echo $name;"
                          " chmod u+w $name 2>/dev/null && echo $name; done; done; wait; true");
  g_assert_cmpstr (opened, ==, "");

  for (guint i = 0; i < G_N_ELEMENTS (helpers); i++)
    {
      g_autofree char *after = get_digest (helpers[i]);

      g_assert_cmpstr (after, ==, before[i]);
      g_free (g_steal_pointer (&before[i]));
    }
  works = test_sh (self, "echo here");
  g_assert_cmpstr (works, ==, "here\n");
}

static void
test_rights (TestSandbox  *self,
             gconstpointer unused)
{
  const char *const lines[] = {
    "\nUid:\t1000\t1000\t1000\t1000\n",
    "\nGid:\t1000\t1000\t1000\t1000\n",
    "\nGroups:\t \n",
    "\nCapInh:\t0000000000000000\n",
    "\nCapPrm:\t0000000000000000\n",
    "\nCapEff:\t0000000000000000\n",
    "\nCapBnd:\t0000000000000000\n",
    "\nCapAmb:\t0000000000000000\n",
    "\nNoNewPrivs:\t1\n",
    "\nSeccomp:\t2\n",
  };
  g_autofree char *status = NULL;

  g_test_summary ("A command has no capability, can gain none, and is filtered");

  status = test_sh (self, "cat /proc/self/status");
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    if (strstr (status, lines[i]) == NULL)
      g_error ("“%s” is not in: %s", lines[i], status);
}

static void
test_namespace_tools (TestSandbox  *self,
                      gconstpointer unused)
{
  const char *const tools[] = { "unshare -U true", "unshare -Ur id", "unshare -Urm true", "unshare -Urn true", "unshare -Urpf true",
                                "mount -t tmpfs none /tmp", "umount /proc", "mount -o remount,rw /", "nsenter -t 1 -m true" };

  g_test_summary ("Case 14: the tools that make namespaces and mounts fail");

  for (guint i = 0; i < G_N_ELEMENTS (tools); i++)
    {
      g_autoptr (SandboxResult) result = test_run (self, "sh", "-c", tools[i], NULL);

      g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_EXITED);
      g_assert_cmpint (sandbox_result_get_exit_status (result), !=, 0);
      g_assert_cmpint (sandbox_result_get_exit_status (result), !=, 127);
    }
}

static void
test_view (TestSandbox  *self,
           gconstpointer unused)
{
  g_autofree char *root = NULL;
  g_autofree char *devices = NULL;
  g_autofree char *etc = NULL;
  g_autofree char *sizes = NULL;
  g_autofree char *works = NULL;

  g_test_summary ("Cases 2, 3, 21: the view holds what it has to and no more; what is writable is bounded");

  root = test_sh (self, "ls -A / | grep -vxE 'bin|dev|etc|lib|lib32|lib64|libx32|proc|run|sbin|tmp|usr|workspace'; true");
  g_assert_cmpstr (root, ==, "");
  devices = test_sh (self, "ls -A /dev; for f in /dev/*; do [ -c $f ] || [ -L $f ] || [ -d $f ] || echo $f; done");
  g_assert_cmpstr (devices, ==, "fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n");
  etc = test_sh (self, "ls -A /etc | grep -vxE 'alternatives|fonts|group|hosts|java-[0-9]*-openjdk|ld.so.cache|localtime|nsswitch.conf|passwd|ssl'; ls -A /etc/ssl | grep -vxE 'certs|openssl.cnf'; true");
  g_assert_cmpstr (etc, ==, "");
  sizes = test_sh (self, "df -k --output=size /tmp /dev/shm | tail -n +2 | tr -d ' '; find / -xdev -type s 2>/dev/null");
  g_assert_cmpstr (sizes, ==, "262144\n16384\n");
  works = test_sh (self, "touch /tmp/a /dev/shm/b && head -c 1 /dev/urandom >/dev/null && : <>/dev/null && git --version >/dev/null &&"
                         "python3 -c 'import multiprocessing as m; print (m.Pool (2).map (abs, [-1, -2]))'");
  g_assert_cmpstr (works, ==, "[1, 2]\n");
}

static void
test_tmp_is_bounded (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (SandboxCommand) command = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A guest that fills its memory file systems gets no more than they were given");

  sandbox_limits_set_tmp_bytes (limits, 1048576);
  sandbox_limits_set_shm_bytes (limits, 524288);
  sandbox_profile_set_limits (profile, limits);
  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_isolation (options, TEST_ISOLATION);
  handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);

  command = test_command_new ("sh", "-c", "cat /dev/zero >/tmp/a; cat /dev/zero >/dev/shm/a; stat -c %s /tmp/a /dev/shm/a", NULL);
  result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
  g_assert_no_error (error);
  test_assert_exited (result, 0);
  test_assert_output (result, "1048576\n524288\n");
  g_assert_true (sandbox_handle_shutdown (handle, NULL, &error));
}

/* The words that a guest finds when it looks everywhere in its /proc. */
static void
test_host_is_hidden (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  const char      *argv[] = { TEST_GUEST, "hold", marker, NULL };
  g_autoptr (GSubprocess) stranger = NULL;
  g_autofree char *script = NULL;
  g_autofree char *found = NULL;
  g_autofree char *pids = NULL;
  g_autofree char *environment = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 5: no process, argument or variable of the host is anywhere in the guest's /proc");

  stranger = g_subprocess_newv (argv, G_SUBPROCESS_FLAGS_STDOUT_SILENCE, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, 1);

  /* The script comes by stdin and the words by a file, so that the guest's own arguments do not hold them. */
  script = g_strdup_printf ("grep -aslF -f /dev/fd/3 /proc/[0-9]*/cmdline /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ /proc/[0-9]*/comm"
                            " /proc/keys /proc/self/mountinfo 3<<end\n%s\n%s\nend\n"
                            "test $? -gt 0 && grep -asl sandbox-agent /proc/[0-9]*/cmdline\n",
                            marker, secret);
  {
    g_autoptr (SandboxCommand) command = test_command_new ("sh", NULL);
    g_autoptr (GBytes) input = g_bytes_new (script, strlen (script));
    g_autoptr (SandboxResult) result = NULL;

    sandbox_command_set_stdin (command, input);
    result = test_run_command (self, command);
    test_assert_exited (result, 0);
    found = sandbox_result_dup_stdout_text (result);
  }
  /* And the search finds what is there. */
  g_assert_cmpstr (found, ==, "/proc/1/cmdline\n");

  pids = test_sh (self, "cd /proc; echo [0-9]*");
  g_assert_cmpstr (pids, ==, "1 2\n");
  environment = test_sh (self, "env | cut -d= -f1 | sort | grep -vxE '_|PWD|OLDPWD|SHLVL'");
  g_assert_cmpstr (environment, ==, "HOME\nPATH\n");

  g_subprocess_force_exit (stranger);
  g_assert_true (g_subprocess_wait (stranger, NULL, &error));
}

static void
test_process_1 (TestSandbox  *self,
                gconstpointer unused)
{
  g_autofree char *survived = NULL;
  g_autoptr (SandboxResult) everybody = NULL;

  g_test_summary ("A guest cannot kill, stop or fool process 1 of its sandbox");

  survived = test_sh (self, "for s in KILL STOP TERM INT SEGV HUP CHLD USR1 ABRT; do kill -$s 1; done; for s in 34 63 64; do kill -$s 1; done;"
                            "sleep 0.1; echo here");
  g_assert_cmpstr (survived, ==, "here\n");
  everybody = test_run (self, "sh", "-c", "echo before; kill -KILL -1; kill -KILL $$", NULL);
  test_assert_signaled (everybody, SIGKILL);
  test_assert_output (everybody, "before\n");
}

static int
test_listen (int                    family,
             const struct sockaddr *address,
             socklen_t              size)
{
  int fd = socket (family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (bind (fd, address, size), ==, 0);
  g_assert_cmpint (listen (fd, 8), ==, 0);

  return fd;
}

static void
test_network (TestSandbox  *self,
              gconstpointer unused)
{
  struct sockaddr_in loopback = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
  struct sockaddr_un hidden = { .sun_family = AF_UNIX };
  socklen_t          size = sizeof loopback;
  g_autofree char   *name = test_marker_new ();
  g_autofree char   *script = NULL;
  g_autofree char   *interfaces = NULL;
  int                tcp_fd = -1;
  int                unix_fd = -1;

  g_test_summary ("Case 22: without a policy, with deny-all and with an empty list, neither the network nor the host's loopback nor its "
                  "abstract sockets are there");

  tcp_fd = test_listen (AF_INET, (struct sockaddr *) &loopback, sizeof loopback);
  g_assert_cmpint (getsockname (tcp_fd, (struct sockaddr *) &loopback, &size), ==, 0);
  g_strlcpy (hidden.sun_path + 1, name, sizeof hidden.sun_path - 1);
  unix_fd = test_listen (AF_UNIX, (struct sockaddr *) &hidden, (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + strlen (name)));

  script = g_strdup_printf ("import socket as s\n"
                            "def go(f, a):\n"
                            "    x = s.socket(f); x.settimeout(2)\n"
                            "    try: x.connect(a); print('reached', a)\n"
                            "    except OSError as e: print(type(e).__name__)\n"
                            "go(s.AF_INET, ('127.0.0.1', %d))\n"
                            "go(s.AF_UNIX, '\\0%s')\n"
                            "go(s.AF_INET, ('192.0.2.1', 80))\n"
                            "go(s.AF_INET6, ('2001:db8::1', 80))\n"
                            "try: s.getaddrinfo('example.com', 80); print('name')\n"
                            "except s.gaierror as e: print('no name')\n",
                            ntohs (loopback.sin_port), name);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (SandboxNetworkPolicy) policy = i == 1   ? sandbox_network_policy_new_deny_all ()
                                                : i == 2 ? sandbox_network_policy_new_allow_list ()
                                                         : NULL;
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;

      if (policy != NULL)
        {
          sandbox_session_set_network_policy (self->session, policy, NULL, &error);
          g_assert_no_error (error);
        }
      result = test_run (self, "python3", "-c", script, NULL);
      test_assert_exited (result, 0);
      test_assert_output (result, "ConnectionRefusedError\nConnectionRefusedError\nOSError\nOSError\nno name\n");
      g_assert_cmpint (accept (tcp_fd, NULL, NULL), <, 0);
      g_assert_cmpint (accept (unix_fd, NULL, NULL), <, 0);
    }
  interfaces = test_sh (self, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '");
  g_assert_cmpstr (interfaces, ==, "lo\n");
  close (tcp_fd);
  close (unix_fd);
}

static void
test_network_allowed (TestSandbox  *self,
                      gconstpointer unused)
{
  struct sockaddr_in loopback = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
  socklen_t          size = sizeof loopback;
  g_autofree char   *script = NULL;
  int                fd = -1;

  g_test_summary ("With allow-all the network is the host's, and with the next deny-all it is gone again");

  fd = test_listen (AF_INET, (struct sockaddr *) &loopback, sizeof loopback);
  g_assert_cmpint (getsockname (fd, (struct sockaddr *) &loopback, &size), ==, 0);
  script = g_strdup_printf ("import socket as s\n"
                            "try: s.create_connection(('127.0.0.1', %d), 5); print('reached')\n"
                            "except OSError as e: print(type(e).__name__)\n",
                            ntohs (loopback.sin_port));
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (SandboxNetworkPolicy) policy = i % 2 == 0 ? sandbox_network_policy_new_allow_all ()
                                                           : sandbox_network_policy_new_deny_all ();
      g_autoptr (SandboxResult) result = NULL;
      g_autoptr (GError) error = NULL;

      sandbox_session_set_network_policy (self->session, policy, NULL, &error);
      g_assert_no_error (error);
      result = test_run (self, "python3", "-c", script, NULL);
      test_assert_exited (result, 0);
      test_assert_output (result, i % 2 == 0 ? "reached\n" : "ConnectionRefusedError\n");
    }
  close (fd);
}

static void
test_nothing_persists (TestSandbox  *self,
                       gconstpointer unused)
{
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;

  g_test_summary ("Of what a command writes only the workspace is there for the next, unless commands share the rest");

  first = test_sh (self, "touch /tmp/here /dev/shm/here here && ls /tmp /dev/shm");
  g_assert_cmpstr (first, ==, "/dev/shm:\nhere\n\n/tmp:\nhere\n");
  second = test_sh (self, "ls /tmp /dev/shm; ls here");
  g_assert_cmpstr (second, ==, TEST_ISOLATION == SANDBOX_ISOLATION_SHARED ? "/dev/shm:\nhere\n\n/tmp:\nhere\nhere\n" : "/dev/shm:\n\n/tmp:\nhere\n");
}

static void
add (const char *path,
     void (*test) (TestSandbox *self, gconstpointer unused))
{
  g_test_add (path, TestSandbox, NULL, test_set_up, test, test_sandbox_tear_down);
}

int
main (int    argc,
      char **argv)
{
  if (argc == 3 && g_str_equal (argv[1], "--terminal"))
    return terminal_main (argv[2]);

  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  secret = g_strdup_printf ("host-secret-%08x%08x%08x", g_random_int (), g_random_int (), g_random_int ());
  g_setenv ("SANDBOX_TEST_SECRET", secret, TRUE);

  add ("/surface/kernel-calls", test_kernel_calls);
  add ("/surface/filters", test_filters);
  add ("/surface/set-id-calls", test_set_id_calls);
  add ("/surface/kernel-files", test_kernel_files);
#ifdef __x86_64__
  add ("/surface/other-gates", test_other_gates);
#endif
  add ("/surface/terminal", test_terminal);
  add ("/surface/helper-programs", test_helper_programs);
  add ("/surface/rights", test_rights);
  add ("/surface/namespace-tools", test_namespace_tools);
  add ("/surface/view", test_view);
  add ("/surface/tmp-is-bounded", test_tmp_is_bounded);
  add ("/surface/host-is-hidden", test_host_is_hidden);
  add ("/surface/process-1", test_process_1);
  add ("/surface/network", test_network);
  add ("/surface/network-allowed", test_network_allowed);
  add ("/surface/nothing-persists", test_nothing_persists);

  return g_test_run ();
}
