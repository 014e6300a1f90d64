/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The profiles for usual purposes, in real sandboxes: what each is for works, and what it bounds holds. */
#include "../common/test-profile.h"

static void
use_preset (TestSandbox *self,
            const char  *name)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new_preset (name);

  test_use_profile (self, profile);
}

/* A session of @name that has the network of the host, or the error. */
static SandboxHandle *
create_with_network (TestSandbox *self,
                     const char  *name,
                     GError     **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new_preset (name);
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_all ();

  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_network (options, policy);

  return sandbox_backend_create (self->backend, options, NULL, error);
}

static void
assert_network_had (TestSandbox *self,
                    const char  *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxHandle) handle = create_with_network (self, name, &error);

  g_assert_no_error (error);
  g_assert_true (sandbox_handle_stop (handle, NULL, &error));
}

static const char work[] =
    "git init -q r && cd r && echo text >file && git add file &&"
    "git -c user.name=n -c user.email=e@example.invalid commit -q -m first && git log --format=%s && git gc -q &&"
    "printf '#include <stdio.h>\nint main (void) { return puts (\"built\") < 0; }\n' >p.c &&"
    "printf 'p: p.c\n\tgcc -O2 -o p p.c\n' >Makefile && make -s -j4 && ./p &&"
    "/usr/bin/python3 -c 'import multiprocessing as m; print (m.Pool (4).map (abs, [-1, -2]))' &&"
    "if [ -x /usr/bin/node ]; then node -e 'new (require (\"worker_threads\").Worker) (\"console.log (42)\", { eval: true })'; else echo 42; fi";

static void
test_agent (TestSandbox  *self,
            gconstpointer unused)
{
  g_test_summary ("agent: git, a compiler, make, Python and Node work; nothing but the minimal view is there, and a network can be had");

  assert_network_had (self, "agent");
  use_preset (self, "agent");
  test_assert_sh (self, work, "first\nbuilt\n[1, 2]\n42\n");
  test_assert_sh (self, "echo $LANG $PAGER $GIT_TERMINAL_PROMPT; bash -c 'ulimit -u -n' | grep -o '[0-9]*$'; df -k --output=size /tmp /dev/shm | tail -n +2 | tr -d ' '; ls -d /opt /home 2>/dev/null; true",
                  "C.UTF-8 cat 0\n1024\n4096\n1048576\n65536\n");
}

static void
test_build (TestSandbox  *self,
            gconstpointer unused)
{
  g_test_summary ("build: the same in the system view, with more of everything, and a network can be had");

  assert_network_had (self, "build");
  use_preset (self, "build");
  test_assert_sh (self, work, "first\nbuilt\n[1, 2]\n42\n");
  test_assert_sh (self, "bash -c 'ulimit -u -n' | grep -o '[0-9]*$'; df -k --output=size /tmp /dev/shm | tail -n +2 | tr -d ' '; ls -d /opt /home", "4096\n16384\n4194304\n262144\n/home\n/opt\n");
}

static void
add (const char *path,
     void (*test) (TestSandbox *self, gconstpointer unused))
{
  g_test_add (path, TestSandbox, NULL, test_profile_set_up, test, test_profile_tear_down);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  add ("/presets/agent", test_agent);
  add ("/presets/build", test_build);

  return g_test_run ();
}
