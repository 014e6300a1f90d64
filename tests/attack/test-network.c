/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What commands reach under each policy: cases 20 to 23. What a gateway lets through is another matter; here it only has to
 * answer at the doors that a sandbox has, and nothing else may answer.
 */
#include "../common/test-profile.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#define N_CHANGES 50 /* case 23 */
#define DOOR SANDBOX_GATEWAY_PATH "\n"
/* In a network of the test's own */
#define RESOLVER_ADDRESS "127.0.0.53"
#define KNOWN_NAME "known.sandbox.test"
#define KNOWN_ADDRESS "127.0.0.9"

static long
landlock_version (void)
{
  return syscall (SYS_landlock_create_ruleset, NULL, 0, 1);
}

static SandboxNetworkPolicy *
new_list (gboolean loopback_door)
{
  SandboxNetworkPolicy *policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (GError) error = NULL;

  sandbox_network_policy_add_origin (policy, "http://allowed.sandbox.test", NULL, &error);
  g_assert_no_error (error);
  sandbox_network_policy_set_loopback_door (policy, loopback_door);

  return policy;
}

static void
use_policy (TestSandbox          *self,
            SandboxNetworkPolicy *policy)
{
  g_autoptr (GError) error = NULL;

  sandbox_session_set_network_policy (self->session, policy, NULL, &error);
  g_assert_no_error (error);
}

/* Sets the session of @self up anew, with a policy from the start; it rests after @idle_ms. */
static void
use_resting (TestSandbox          *self,
             SandboxNetworkPolicy *policy,
             guint                 idle_ms)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_isolation (options, TEST_ISOLATION);
  sandbox_create_options_set_network (options, policy);
  sandbox_create_options_set_idle_ms (options, idle_ms);
  if (self->handle != NULL)
    sandbox_handle_shutdown (self->handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&self->handle);
  self->handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  self->session = sandbox_handle_get_session (self->handle);
}

static void
use_created (TestSandbox          *self,
             SandboxNetworkPolicy *policy)
{
  use_resting (self, policy, 0);
}

/* ---- What listens on the host ---- */

typedef struct
{
  char *name; /* of an abstract socket */
  int   abstract_fd;
  int   port_fd;
  guint port;
} Outside;

static void
outside_open (Outside *self)
{
  struct sockaddr_un abstract = { .sun_family = AF_UNIX };
  struct sockaddr_in port = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_ANY) };
  socklen_t          size = sizeof port;

  self->name = test_marker_new ();
  g_strlcpy (abstract.sun_path + 1, self->name, sizeof abstract.sun_path - 1);
  self->abstract_fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (bind (self->abstract_fd, (struct sockaddr *) &abstract, (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + strlen (self->name))), ==, 0);
  g_assert_cmpint (listen (self->abstract_fd, 64), ==, 0);
  self->port_fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (bind (self->port_fd, (struct sockaddr *) &port, size), ==, 0);
  g_assert_cmpint (listen (self->port_fd, 64), ==, 0);
  g_assert_cmpint (getsockname (self->port_fd, (struct sockaddr *) &port, &size), ==, 0);
  self->port = ntohs (port.sin_port);
}

static void
outside_close (Outside *self)
{
  close (self->abstract_fd);
  close (self->port_fd);
  g_free (self->name);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Outside, outside_close)

/* Everything that a command could try, one result a line. */
static char *
reach (TestSandbox   *self,
       const Outside *outside)
{
  g_autofree char *script = g_strdup_printf (
      "import os, socket as s\n"
      "def go(what, f, *a):\n"
      "  try: f(*a); print(what, 'reached')\n"
      "  except OSError as e: print(what, e.strerror)\n"
      "def stream(f, a): x = s.socket(f); x.settimeout(5); x.connect(a)\n"
      "def ask(a): x = s.socket(s.AF_INET, s.SOCK_DGRAM); x.settimeout(5); x.connect(a); x.send(b'x'); x.recv(1)\n"
      "go('abstract', stream, s.AF_UNIX, '\\0%s')\n"
      "go('loopback', stream, s.AF_INET, ('127.0.0.1', %u))\n"
      "go('loopback6', stream, s.AF_INET6, ('::1', %u))\n"
      "go('outside', stream, s.AF_INET, ('192.0.2.1', %u))\n"
      "go('resolver', ask, ('127.0.0.53', 53))\n"
      "go('server', ask, ('192.0.2.53', 53))\n"
      "go('name', s.getaddrinfo, 'example.org', 80)\n"
      "go('door', stream, s.AF_UNIX, '%s')\n"
      "go('port', stream, s.AF_INET, ('127.0.0.1', %d))\n"
      "print(*sorted(n for _, n in s.if_nameindex()))\n"
      "print(os.environ.get('http_proxy'), os.path.exists('/etc/resolv.conf'))\n",
      outside->name, outside->port, outside->port, outside->port, SANDBOX_GATEWAY_PATH, SANDBOX_GATEWAY_PORT);
  g_autoptr (SandboxResult) result = test_run (self, "python3", "-c", script, NULL);

  test_assert_exited (result, 0);

  return sandbox_result_dup_stdout_text (result);
}

#define NOWHERE                                                                                 \
 "outside Network is unreachable\nresolver Connection refused\nserver Network is unreachable\n" \
 "name Temporary failure in name resolution\n"
#define ALONE "abstract Connection refused\nloopback Connection refused\nloopback6 Connection refused\n" NOWHERE

/* ---- Cases 20 and 21 ---- */

static void
test_host_network (TestSandbox  *self,
                   gconstpointer unused)
{
  const gboolean scoped = landlock_version () >= 6;
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_all ();
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (Outside) outside;
  g_autofree char *found = NULL;
  gboolean         is_told = FALSE;

  g_test_summary ("Case 20: with the host's network its ports are there, and its abstract sockets are not; or the report says that they are");

  outside_open (&outside);
  use_policy (self, policy);
  found = reach (self, &outside);
  g_assert_true (g_str_has_prefix (found, scoped ? "abstract Operation not permitted\nloopback reached\n" : "abstract reached\nloopback reached\n"));
  g_assert_nonnull (strstr (found, "door No such file or directory\n"));

  report = sandbox_backend_probe (self->backend, NULL, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < g_list_model_get_n_items (sandbox_report_get_steps (report)); i++)
    {
      g_autoptr (SandboxReportStep) step = g_list_model_get_item (sandbox_report_get_steps (report), i);
      const char *evidence = sandbox_report_step_get_evidence (step);
      const char *consequence = sandbox_report_step_get_consequence (step);

      if (!g_str_equal (sandbox_report_step_get_name (step), "landlock"))
        continue;
      is_told = strstr (evidence, "abstract sockets of the host can be reached") != NULL ||
                (consequence != NULL && strstr (consequence, "abstract sockets") != NULL);
    }
  g_assert_cmpint (is_told, ==, !scoped);
}

static void
test_sockets (TestSandbox  *self,
              gconstpointer unused)
{
  static const char find[] = "find / -type s 2>/dev/null; true";
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxNetworkPolicy) all = sandbox_network_policy_new_allow_all ();
  g_autoptr (SandboxNetworkPolicy) empty = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxNetworkPolicy) list = new_list (TRUE);
  g_autoptr (SandboxNetworkPolicy) list_without = new_list (FALSE);

  g_test_summary ("Case 21: the only socket that a command sees is the gateway's, under a policy that has one");

  test_assert_sh (self, find, "");
  use_policy (self, list);
  test_assert_sh (self, find, DOOR);
  use_policy (self, all);
  test_assert_sh (self, find, "");
  use_policy (self, list_without);
  test_assert_sh (self, find, DOOR);
  use_policy (self, empty);
  test_assert_sh (self, find, "");
  use_policy (self, list);
  test_assert_sh (self, find, DOOR);
  use_policy (self, deny);
  test_assert_sh (self, find, "");
  use_created (self, list);
  test_assert_sh (self, find, DOOR);
}

/* ---- Cases 22 and 23 ---- */

static void
test_nothing (TestSandbox  *self,
              gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxNetworkPolicy) empty = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxNetworkPolicy) all = sandbox_network_policy_new_allow_all ();
  SandboxNetworkPolicy *const policies[] = { NULL, deny, empty };
  g_auto (Outside) outside;

  g_test_summary ("Case 22: a list of nothing, and no policy at all, are the same as to deny everything");

  outside_open (&outside);
  for (guint i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      g_autofree char *created = NULL;

      use_created (self, policies[i]);
      created = reach (self, &outside);
      g_assert_cmpstr (created, ==, ALONE "door No such file or directory\nport Connection refused\nlo\nNone False\n");
      if (policies[i] != NULL)
        {
          g_autofree char *changed = NULL;

          use_policy (self, all);
          use_policy (self, policies[i]);
          changed = reach (self, &outside);
          g_assert_cmpstr (changed, ==, created);
        }
    }
}

static void
test_unchanged (TestSandbox  *self,
                gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) list = new_list (TRUE);
  g_auto (Outside) outside;

  g_test_summary ("Case 23: whatever else changes, and however often the policy is set again, what it keeps out stays out");

  outside_open (&outside);
  for (guint i = 0; i < N_CHANGES; i++)
    {
      g_autofree char *found = NULL;

      sandbox_network_policy_set_timeout_ms (list, 1000 + i);
      sandbox_network_policy_set_max_requests (list, 1 + i % 16);
      sandbox_network_policy_set_max_request_bytes (list, 1000 + i);
      sandbox_network_policy_set_max_response_bytes (list, 1000 + i);
      sandbox_network_policy_set_allow_private_addresses (list, i % 2 == 0);
      sandbox_network_policy_set_allow_plain_credentials (list, i % 3 == 0);
      g_object_set (self->backend, "armed-slots", i % 4, "max-concurrent-commands", 1 + i, NULL);
      use_policy (self, list);
      if (i % 10 == 9)
        use_created (self, list);
      found = reach (self, &outside);
      g_assert_cmpstr (found, ==, ALONE "door reached\nport reached\nlo\nhttp://127.0.0.1:3128 False\n");
    }
}

/* ---- The doors ---- */

/* What answers at both doors to a request for somebody who is not on the list. */
static void
assert_answered (TestSandbox *self,
                 gboolean     has_port)
{
  test_assert_sh (self,
                  "python3 -c \"\n"
                  "import socket as s\n"
                  "for f, a in ((s.AF_UNIX, '" SANDBOX_GATEWAY_PATH "'), (s.AF_INET, ('127.0.0.1', 3128))):\n"
                  "  x = s.socket(f)\n"
                  "  try:\n"
                  "    x.connect(a); x.sendall(b'GET / HTTP/1.1\\r\\nHost: evil.sandbox.test\\r\\n\\r\\n'); print(x.recv(12).decode())\n"
                  "  except OSError as e: print(e.strerror)\n\"",
                  has_port ? "HTTP/1.1 403\nHTTP/1.1 403\n" : "HTTP/1.1 403\nConnection refused\n");
}

/* Which sandbox the commands of the session have in common: the process that launched it, as the number of a namespace is given to
 * another one soon. 0 where each has one of its own. */
static pid_t
get_sandbox (void)
{
  g_autoptr (GArray) pids = test_list_processes ();

  for (guint i = 0; TEST_NESTED && i < pids->len; i++)
    if (test_read_status (g_array_index (pids, pid_t, i), "PPid", 10) == getpid ())
      return g_array_index (pids, pid_t, i);

  return 0;
}

static void
test_doors (TestSandbox  *self,
            gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) both = new_list (TRUE);
  g_autoptr (SandboxNetworkPolicy) one = new_list (FALSE);
  g_autoptr (SandboxNetworkPolicy) more = new_list (TRUE);
  g_autoptr (GError) error = NULL;
  pid_t first = 0;
  pid_t second = 0;
  pid_t third = 0;

  g_test_summary ("The gateway answers at the doors of a policy, also before it has changed; a sandbox is made anew only for other doors");

  sandbox_network_policy_add_origin (more, "http://more.sandbox.test", NULL, &error);
  g_assert_no_error (error);
  use_created (self, both);
  assert_answered (self, TRUE);
  first = get_sandbox ();
  use_policy (self, more);
  assert_answered (self, TRUE);
  second = get_sandbox ();
  use_policy (self, one);
  assert_answered (self, FALSE);
  third = get_sandbox ();
  g_assert_cmpint (first, ==, second);
  if (TEST_NESTED)
    g_assert_cmpint (second, !=, third);
  use_policy (self, both);
  assert_answered (self, TRUE);
}

static void
test_required (TestSandbox  *self,
               gconstpointer unused)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxNetworkPolicy) list = new_list (FALSE);
  g_autoptr (SandboxNetworkPolicy) empty = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Who requires that no network is reached gets no session with a door, from the start or later; a list of nothing will do");

  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_isolation (options, TEST_ISOLATION);
  sandbox_create_options_set_required (options, SANDBOX_RESTRICTIONS_NETWORK_DENIED);
  sandbox_create_options_set_network (options, list);
  handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "network-denied"));
  g_clear_error (&error);

  sandbox_create_options_set_network (options, empty);
  handle = sandbox_backend_create (self->backend, options, NULL, &error);
  g_assert_no_error (error);
  g_assert_false (sandbox_session_set_network_policy (sandbox_handle_get_session (handle), list, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "network-denied"));
  g_clear_error (&error);
  g_assert_true (sandbox_handle_shutdown (handle, NULL, &error));
  g_assert_no_error (error);
}

static void
test_held (TestSandbox  *self,
           gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) list = new_list (TRUE);

  g_test_summary ("No command takes a door away, or puts something in its place, for itself or for those after it");

  use_created (self, list);
  test_assert_sh (self,
                  "cd /run/sandbox-glib; for c in 'unlink gateway.sock' 'mv gateway.sock x' 'mv gateway.sock /tmp/x' 'touch x' 'chmod 777 gateway.sock' 'chmod 777 .' "
                  "'ln -s /tmp/x gateway.sock' 'rmdir /run/sandbox-glib' 'mv /run/sandbox-glib /tmp/x' 'mount -t tmpfs x /run/sandbox-glib' 'umount /run/sandbox-glib'; do "
                  "$c 2>/dev/null && echo \"$c\"; done; true",
                  "");
  test_assert_sh (self,
                  "python3 -c \"\n"
                  "import socket as s\n"
                  "for a in ('127.0.0.1', ''):\n"
                  "  for o in (s.SO_REUSEADDR, s.SO_REUSEPORT):\n"
                  "    x = s.socket(); x.setsockopt(s.SOL_SOCKET, o, 1)\n"
                  "    try: x.bind((a, 3128)); x.listen(); print('taken')\n"
                  "    except OSError: pass\n\"",
                  "");
  assert_answered (self, TRUE);
}

static void
test_profiles (TestSandbox  *self,
               gconstpointer unused)
{
  const SandboxView views[] = { SANDBOX_VIEW_MINIMAL, SANDBOX_VIEW_SYSTEM };
  g_autoptr (SandboxNetworkPolicy) list = new_list (TRUE);

  g_test_summary ("Whatever view and filter commands have, they come to the doors");

  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    for (guint filter = SANDBOX_FILTER_DEFAULT; filter <= SANDBOX_FILTER_DEBUGGER; filter++)
      {
        g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

        sandbox_profile_set_view (profile, views[i]);
        sandbox_profile_set_filter (profile, filter);
        test_use_profile (self, profile);
        use_policy (self, list);
        assert_answered (self, TRUE);
        test_assert_sh (self, "find / -type s 2>/dev/null; true", DOOR);
      }
}

static void
test_rest (TestSandbox  *self,
           gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) list = new_list (TRUE);
  pid_t first = 0;
  pid_t second = 0;

  g_test_summary ("A sandbox that was given up at rest, and the next one, have doors of their own");

  use_resting (self, list, 100);
  assert_answered (self, TRUE);
  first = get_sandbox ();
  if (TEST_ISOLATION == SANDBOX_ISOLATION_PER_COMMAND)
    test_wait (test_count_children () == 0);
  assert_answered (self, TRUE);
  second = get_sandbox ();
  if (TEST_NESTED && TEST_ISOLATION == SANDBOX_ISOLATION_PER_COMMAND)
    g_assert_cmpint (first, !=, second);
  else
    g_assert_cmpint (first, ==, second);
}

static void
test_killed (TestSandbox  *self,
             gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) list = new_list (TRUE);

  g_test_summary ("A sandbox that somebody kills takes its doors along, and the next command finds new ones");

  use_created (self, list);
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("sleep", "1000", NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (GError) error = NULL;

      assert_answered (self, TRUE);
      process = sandbox_session_spawn (self->session, command, NULL, &error);
      g_assert_no_error (error);
      test_kill_sandboxes ();
      g_assert_true (sandbox_process_wait (process, NULL, &error));
      g_assert_no_error (error);
    }
  assert_answered (self, TRUE);
}

static void
test_forked (TestSandbox  *self,
             gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) list = new_list (TRUE);
  pid_t pid = 0;
  int   status = 0;

  g_test_summary ("A forked child of a host that has a gateway makes sessions with a gateway of its own");

  use_created (self, list);
  assert_answered (self, TRUE);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      TestSandbox mine = { 0 };

      alarm (60);
      g_main_context_push_thread_default (g_main_context_new ());
      test_sandbox_set_up (&mine, NULL);
      use_created (&mine, list);
      assert_answered (&mine, TRUE);
      test_sandbox_tear_down (&mine, NULL);
      _exit (0);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
  assert_answered (self, TRUE);
}

/* A lock that the gateway had at a fork shows itself once in some hundreds of them. */
#define N_FORKS 800

static void
ignore_cb (void)
{
}

static void
test_forked_busy (TestSandbox  *self,
                  gconstpointer unused)
{
  static const char script[] = "import socket as s\n"
                               "while True:\n"
                               "  x = s.socket(s.AF_UNIX); x.connect('" SANDBOX_GATEWAY_PATH "')\n"
                               "  x.sendall(b'GET / HTTP/1.1\\r\\nHost: evil.sandbox.test\\r\\n\\r\\n'); x.recv(500); x.close()\n";
  g_autoptr (SandboxNetworkPolicy) list = new_list (FALSE);
  SandboxProcess *processes[2];
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 96: forked children of a host whose gateway is at work let go of its objects, and end");

  use_created (self, list);
  assert_answered (self, FALSE);
  g_signal_connect (self->session, "network-denied", G_CALLBACK (ignore_cb), NULL);
  for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("python3", "-c", script, NULL);

      sandbox_command_set_timeout_ms (command, 120000);
      processes[i] = sandbox_session_spawn (self->session, command, NULL, &error);
      g_assert_no_error (error);
    }
  for (guint i = 0; i < N_FORKS; i++)
    {
      pid_t pid = fork ();
      int   status = -1;

      g_assert_cmpint (pid, >=, 0);
      if (pid == 0)
        {
          alarm (20);
          for (guint j = 0; j < G_N_ELEMENTS (processes); j++)
            g_clear_object (&processes[j]);
          g_clear_object (&self->handle);
          g_clear_object (&self->backend);
          g_clear_object (&self->registry);
          _exit (0);
        }
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      g_assert_cmpint (status, ==, 0);
    }
  for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
    {
      g_assert_true (sandbox_process_stop (processes[i], NULL, &error));
      g_assert_no_error (error);
      g_object_unref (processes[i]);
    }
  assert_answered (self, FALSE);
}

static void
test_end (TestSandbox  *self,
          gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) list = new_list (TRUE);
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  guint descriptors = 0;
  g_autoptr (GError) error = NULL;

  g_test_summary ("When a sandbox has ended the host has nothing left of its doors");

  for (guint i = 0; i < 12; i++)
    {
      use_policy (self, list);
      assert_answered (self, TRUE);
      use_policy (self, deny);
      g_free (test_sh (self, "true"));
      /* what the gateway has for good is there by now */
      if (i == 1)
        descriptors = test_count_descriptors () + TEST_N_ARMED_FDS;
    }
  test_assert_nothing_left (descriptors);
}

/* ---- Names, with the host's network ---- */

/* One resolver, for all who ask. */
static gpointer
resolver_thread (gpointer data)
{
  const int fd = GPOINTER_TO_INT (data);

  for (;;)
    {
      guint8             packet[512];
      struct sockaddr_in peer;
      socklen_t          peer_size = sizeof peer;
      const ssize_t      size = recvfrom (fd, packet, sizeof packet - 16, 0, (struct sockaddr *) &peer, &peer_size);
      ssize_t            end = 12;
      gboolean           is_address;

      if (size < 17)
        return NULL;
      while (end < size && packet[end] != 0)
        end += packet[end] + 1;
      end += 5;
      is_address = end <= size && packet[end - 3] == 1 && memmem (packet, (gsize) end, "\5known\7sandbox\4test", 19) != NULL;
      packet[2] = 0x84;
      packet[3] = is_address ? 0 : (packet[end - 3] == 28 ? 0 : 3);
      memset (packet + 6, 0, 6);
      packet[7] = is_address;
      if (is_address)
        {
          const guint8 answer[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 127, 0, 0, 9 };

          memcpy (packet + end, answer, sizeof answer);
          end += sizeof answer;
        }
      sendto (fd, packet, (gsize) end, 0, (struct sockaddr *) &peer, peer_size);
    }
}

/* This process, which has one thread, gets a network and mounts of its own. */
static void
leave_network (const char *resolver)
{
  char        *real = realpath ("/etc/resolv.conf", NULL);
  struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
  int          fd;

  g_assert_nonnull (real);
  g_assert_cmpint (unshare (CLONE_NEWNET | CLONE_NEWNS), ==, 0);
  g_assert_cmpint (mount (NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL), ==, 0);
  g_assert_cmpint (mount (resolver, real, NULL, MS_BIND, NULL), ==, 0);
  fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (ioctl (fd, SIOCSIFFLAGS, &loopback), ==, 0);
  close (fd);
  free (real);
}

static void
test_names_apart (void)
{
  static const char  settings[] = "nameserver " RESOLVER_ADDRESS "\noptions timeout:5\n";
  g_autofree char   *path = NULL;
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons (53), .sin_addr.s_addr = inet_addr (RESOLVER_ADDRESS) };
  const SandboxView  views[] = { SANDBOX_VIEW_MINIMAL, SANDBOX_VIEW_SYSTEM };
  g_autoptr (SandboxNetworkPolicy) all = sandbox_network_policy_new_allow_all ();
  TestSandbox sandbox = { 0 };
  int         fd = g_file_open_tmp ("resolver-XXXXXX", &path, NULL);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (fchmod (fd, 0644), ==, 0);
  g_assert_cmpint (write (fd, settings, strlen (settings)), ==, strlen (settings));
  close (fd);
  leave_network (path);
  fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  g_thread_unref (g_thread_new ("resolver", resolver_thread, GINT_TO_POINTER (fd)));

  test_profile_set_up (&sandbox, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

      sandbox_profile_set_view (profile, views[i]);
      test_use_profile (&sandbox, profile);
      use_policy (&sandbox, all);
      test_assert_sh (&sandbox, "cat /etc/resolv.conf", settings);
      test_assert_sh (&sandbox,
                      "python3 -c '\n"
                      "import socket\n"
                      "for name in (\"localhost\", \"" KNOWN_NAME "\", \"unknown.sandbox.test\"):\n"
                      "  try: print (socket.gethostbyname (name))\n"
                      "  except OSError as e: print (e.strerror)\n'",
                      "127.0.0.1\n" KNOWN_ADDRESS "\nName or service not known\n");
      test_assert_sh (&sandbox, "getent hosts " KNOWN_NAME " | tr -s ' '", KNOWN_ADDRESS " " KNOWN_NAME "\n");
    }
  test_profile_tear_down (&sandbox, NULL);
  shutdown (fd, SHUT_RDWR);
  g_unlink (path);
}

static void
test_names (void)
{
  if (g_test_subprocess ())
    {
      test_names_apart ();
      return;
    }

  g_test_summary ("With the host's network commands find names where the host does, by its resolv.conf");
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
}

static void
test_files (TestSandbox  *self,
            gconstpointer unused)
{
  static const char script[] = "import os, ssl; p = ssl.get_default_verify_paths ()\n"
                               "c = ssl.create_default_context (); c.load_default_certs ()\n"
                               "n = len (os.listdir ('/etc/ssl/certs')) if os.path.isdir ('/etc/ssl/certs') else 0\n"
                               "b = [len (open (f).read ()) for f in ('/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt') if os.path.exists (f)]\n"
                               "print (p.cafile, p.capath, c.cert_store_stats (), n, b)\n";
  const char *const argv[] = { "/usr/bin/python3", "-c", script, NULL };
  /* somebody may look elsewhere */
  const char *const envp[] = { "PATH=/usr/bin:/bin", NULL };
  const SandboxView views[] = { SANDBOX_VIEW_MINIMAL, SANDBOX_VIEW_SYSTEM };
  g_autofree char  *outside = NULL;
  g_autofree char  *resolver = NULL;
  g_autoptr (SandboxNetworkPolicy) all = sandbox_network_policy_new_allow_all ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("With the host's network the files by which it finds names, and the certificates that it trusts, are where programs look for them");

  g_spawn_sync (NULL, (char **) argv, (char **) envp, G_SPAWN_DEFAULT, NULL, NULL, &outside, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (strlen (outside), >, 0);
  g_file_get_contents ("/etc/resolv.conf", &resolver, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
      g_autoptr (SandboxResult) result = NULL;

      sandbox_profile_set_view (profile, views[i]);
      test_use_profile (self, profile);
      use_policy (self, all);
      result = test_run (self, "/usr/bin/python3", "-c", script, NULL);
      test_assert_output (result, outside);
      test_assert_sh (self, "cat /etc/resolv.conf", resolver);
      test_assert_sh (self, "python3 -c 'import socket; print (socket.gethostbyname (\"localhost\"), socket.getservbyname (\"https\"))'", "127.0.0.1 443\n");
    }
}

#define ADD(name, function) \
 g_test_add ("/network/" name, TestSandbox, NULL, test_sandbox_set_up, function, test_sandbox_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  ADD ("host", test_host_network);
  ADD ("sockets", test_sockets);
  ADD ("nothing", test_nothing);
  ADD ("unchanged", test_unchanged);
  ADD ("doors", test_doors);
  ADD ("required", test_required);
  ADD ("held", test_held);
  ADD ("profiles", test_profiles);
  ADD ("rest", test_rest);
  ADD ("killed", test_killed);
  ADD ("forked", test_forked);
  ADD ("forked-busy", test_forked_busy);
  ADD ("end", test_end);
  ADD ("files", test_files);
  /* who makes a network and mounts of its own is root, or modules belong to nobody there */
  if (geteuid () == 0)
    g_test_add_func ("/network/root/names", test_names);

  return g_test_run ();
}
