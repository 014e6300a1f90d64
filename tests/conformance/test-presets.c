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
assert_network_refused (TestSandbox *self,
                        const char  *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxHandle) handle = create_with_network (self, name, &error);

  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "network-denied"));
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

static void
assert_processes (TestSandbox *self,
                  guint        wanted)
{
  g_autofree char *text = test_sh (self, "bash -c 'ulimit -u'");

  test_assert_process_limit (g_ascii_strtoull (text, NULL, 10), wanted);
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
  test_assert_sh (self, "echo $LANG $PAGER $GIT_TERMINAL_PROMPT; bash -c 'ulimit -n' | grep -o '[0-9]*$'; df -k --output=size /tmp /dev/shm | tail -n +2 | tr -d ' '; ls -d /opt /home 2>/dev/null; true",
                  "C.UTF-8 cat 0\n4096\n1048576\n65536\n");
  assert_processes (self, 1024);
}

static void
test_build (TestSandbox  *self,
            gconstpointer unused)
{
  g_test_summary ("build: the same in the system view, with more of everything, and a network can be had");

  assert_network_had (self, "build");
  use_preset (self, "build");
  test_assert_sh (self, work, "first\nbuilt\n[1, 2]\n42\n");
  test_assert_sh (self, "bash -c 'ulimit -n' | grep -o '[0-9]*$'; df -k --output=size /tmp /dev/shm | tail -n +2 | tr -d ' '; ls -d /opt /home", "16384\n4194304\n262144\n/home\n/opt\n");
  assert_processes (self, 4096);
}

static void
test_inspect (TestSandbox  *self,
              gconstpointer unused)
{
  g_test_summary ("inspect: a repository can be read and nothing of it changed; files, processes and network are bounded");

  use_preset (self, "agent");
  test_assert_sh (self, "git init -q . && echo text >file && git add file && git -c user.name=n -c user.email=e@example.invalid commit -q -m first", "");
  assert_network_refused (self, "inspect");
  use_preset (self, "inspect");
  test_assert_sh (self, "git log --format=%s && git status --short file && git diff && grep -r text --include=file . && find . -name file && wc -l <file && "
                        "/usr/bin/python3 -c 'import hashlib; print (len (hashlib.sha256 (open (\"file\", \"rb\").read ()).hexdigest ()))'",
                  "first\n./file:text\n./file\n1\n64\n");
  test_assert_sh (self, "touch x 2>/dev/null || echo refused; rm file 2>/dev/null || echo refused; git commit -q --allow-empty -m x 2>/dev/null || echo refused; echo $HOME; touch ~/x && echo written",
                  "refused\nrefused\nrefused\n/tmp\nwritten\n");
  test_assert_sh (self, "bash -c 'ulimit -t -n' | grep -o '[0-9]*$'; dd if=/dev/zero of=/tmp/x bs=1M count=100 2>/dev/null || echo bounded; [ $(stat -c %s /tmp/x) -gt 67108864 ] && echo more; ls /dev/shm | wc -l",
                  "60\n256\nbounded\n0\n");
  assert_processes (self, 64);
}

static void
test_converter (TestSandbox  *self,
                gconstpointer unused)
{
  g_test_summary ("converter: one file becomes another without a procfs; time, memory, files and processes are bounded, and there is no network");

  assert_network_refused (self, "converter");
  use_preset (self, "converter");
  test_assert_sh (self, "printf 'b\\303\\251\\na\\n' >in && iconv -f UTF-8 -t ISO-8859-1 in | od -An -tx1 | tr -d ' \\n' && echo && sort in | gzip -9 | zcat | head -n 1 &&"
                        "tar cJf in.tar.xz in && tar xJOf in.tar.xz | tail -n 1 && awk 'END { print NR }' in && sed s/a/c/ in | tail -n 1 &&"
                        "/usr/bin/python3 -c 'import json, zlib; print (json.dumps ({\"n\": len (zlib.compress (b\"x\" * 9999)) < 99}))' && perl -ne 'print if /^a/' in",
                  "62e90a610a\na\na\n2\nc\n{\"n\": true}\na\n");
  test_assert_sh (self, "ls -A /proc; bash -c 'ulimit -t -v -f -n' | grep -o '[0-9]*$'; echo $HOME; ls -A ~", "120\n4194304\n524288\n256\n/tmp\n");
  assert_processes (self, 64);
  test_assert_sh (self, "/usr/bin/python3 -c 'b = bytearray (5 << 30)' 2>&1 | tail -n 1", "MemoryError\n");
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
  add ("/presets/inspect", test_inspect);
  add ("/presets/converter", test_converter);

  return g_test_run ();
}
