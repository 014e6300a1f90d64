/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What commands find in each view, and what programs make of it. */
#include "../common/test-profile.h"

#include <sched.h>
#include <sys/mount.h>

#define N_VIEWS 2

static const SandboxView views[N_VIEWS] = { SANDBOX_VIEW_MINIMAL, SANDBOX_VIEW_SYSTEM };

static SandboxProfile *
new_profile (SandboxView view)
{
  SandboxProfile *profile = sandbox_profile_new ();

  sandbox_profile_set_view (profile, view);

  return profile;
}

/* ---- Programs ---- */

typedef struct
{
  const char *name;
  const char *program; /* on the host, where it need not be installed; NULL for what every test machine has */
  const char *script;
  const char *output;
} Program;

static const Program programs[] = {
  { "git", NULL,
    "git init -q r 2>/dev/null && cd r && echo text >file && git add file &&"
    "git -c user.name=n -c user.email=e@example.invalid commit -q -m first && git log --format=%s &&"
    "git gc -q && git clone -q . ../copy && cat ../copy/file",
    "first\ntext\n" },
  { "gcc-and-make", NULL,
    "printf '#include <stdio.h>\\nint main (void) { return puts (\"built\") < 0; }\\n' >p.c &&"
    "printf 'p: p.c\\n\\tgcc -O2 -Wall -o p p.c\\n' >Makefile && make -s -j2 && ./p",
    "built\n" },
  { "python-threads", NULL,
    "/usr/bin/python3 -c 'import threading; t = threading.Thread (target=print, args=(\"thread\",)); t.start (); t.join ()'",
    "thread\n" },
  { "python-asyncio", NULL,
    "/usr/bin/python3 -c 'import asyncio\nasync def main ():\n p = await asyncio.create_subprocess_exec (\"echo\", \"child\"); await p.wait (); print (p.returncode)\nasyncio.run (main ())'",
    "child\n0\n" },
  { "python-multiprocessing", NULL,
    "/usr/bin/python3 -c 'import multiprocessing as m; print (m.Pool (2).map (abs, [-1, -2])); q = m.Queue (); q.put (3); print (q.get ())'",
    "[1, 2]\n3\n" },
  { "python-venv", NULL,
    "/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'import os, sys; print (os.path.relpath (sys.prefix))'",
    "v\n" },
  { "perl", NULL,
    "perl -e 'use strict; use POSIX (); use Cwd (); my %h = (a => 1); print POSIX::floor (42.5), \" \", scalar (keys %h), \"\\n\"'",
    "42 1\n" },
  { "sqlite3", NULL,
    "sqlite3 d.db 'create table t (a); begin; insert into t values (42); commit; select a from t; pragma integrity_check'",
    "42\nok\n" },
  { "node", "/usr/bin/node",
    "node -e 'const { Worker } = require (\"worker_threads\"); const c = require (\"child_process\");"
    "console.log (c.execFileSync (\"echo\", [\"child\"], { encoding: \"utf8\" }).trim ());"
    "new Worker (\"console.log (42)\", { eval: true })'",
    "child\n42\n" },
  { "bash-process-substitution", NULL, "bash -c 'cat <(echo one) <(echo two)'", "one\ntwo\n" },
  { "id", NULL, "id -un && id -gn && id -u && whoami", "sandbox\nsandbox\n1000\nsandbox\n" },
  { "locale", NULL, "LC_ALL=C.UTF-8 locale charmap", "UTF-8\n" },
  { "date", NULL, "date -u -d @0 +%Y-%m-%dT%H:%M:%S%Z && test -n \"$(date)\"", "1970-01-01T00:00:00UTC\n" },
  /* Where the host has it so, the link goes by way of /etc/alternatives. */
  { "awk-through-alternatives", NULL,
    "test -e \"$(readlink -f /usr/bin/awk)\" && echo a b | awk '{ print $2 }'",
    "b\n" },
};

/* The strict filter is to let them run too, in whatever view. */
static const struct
{
  const char   *name;
  SandboxView   view;
  SandboxFilter filter;
} program_ways[] = {
  { "minimal", SANDBOX_VIEW_MINIMAL, SANDBOX_FILTER_DEFAULT },
  { "system", SANDBOX_VIEW_SYSTEM, SANDBOX_FILTER_DEFAULT },
  { "strict", SANDBOX_VIEW_MINIMAL, SANDBOX_FILTER_STRICT },
};

typedef struct
{
  const Program *program;
  guint          way;
} ProgramCase;

static void
test_program (TestSandbox  *self,
              gconstpointer data)
{
  const ProgramCase *one = data;
  g_autoptr (SandboxProfile) profile = new_profile (program_ways[one->way].view);

  g_test_summary ("A program finds what it needs, and may do what it has to");

  sandbox_profile_set_filter (profile, program_ways[one->way].filter);
  test_use_profile (self, profile);
  test_assert_sh (self, one->program->script, one->program->output);
}

/* Not in each view, as it unpacks for seconds. */
static void
test_pip (TestSandbox  *self,
          gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = new_profile (SANDBOX_VIEW_MINIMAL);

  g_test_summary ("An environment of Python's with pip can be made, in the view that is the default");

  test_use_profile (self, profile);
  test_assert_sh (self, "/usr/bin/python3 -m venv v && v/bin/pip --version | cut -d' ' -f1", "pip\n");
}

/* ---- The views ---- */

static void
test_roots (TestSandbox  *self,
            gconstpointer unused)
{
  static const char *const wanted[] = {
    "", /* nothing beyond what stands below */
    "app\ndata\nhome\nopt\nroot\nvar\n",
  };

  g_test_summary ("Case 2: the root, /dev, /etc and what a view shows of the host are read-only, memory has a size");

  for (guint i = 0; i < N_VIEWS; i++)
    {
      g_autoptr (SandboxProfile) profile = new_profile (views[i]);
      g_autofree char *found = NULL;
      g_auto (GStrv) names = NULL;

      test_use_profile (self, profile);
      found = test_sh (self, "ls -A / | grep -vxE 'bin|dev|etc|lib|lib32|lib64|libx32|proc|run|sbin|tmp|usr|workspace'; true");
      names = g_strsplit (found, "\n", -1);
      for (guint j = 0; names[j] != NULL && names[j][0] != '\0'; j++)
        {
          g_autofree char *line = g_strconcat (names[j], "\n", NULL);

          g_assert_nonnull (strstr (wanted[i], line));
        }
      test_assert_sh (self, "for d in / /dev /etc /run /usr /etc/ssl /opt /home /root /var /data; do touch $d/x 2>/dev/null && echo $d; done; true", "");
      test_assert_sh (self, "df -k --output=size /tmp /dev/shm | tail -n +2 | tr -d ' '", "262144\n16384\n");
      test_assert_sh (self, "touch /tmp/x /dev/shm/x workspace-file && : <>/dev/null", "");
    }
}

static void
test_devices (TestSandbox  *self,
              gconstpointer unused)
{
  g_test_summary ("Case 3: each view has the devices that programs need, and no other");

  for (guint i = 0; i < N_VIEWS; i++)
    {
      g_autoptr (SandboxProfile) profile = new_profile (views[i]);

      test_use_profile (self, profile);
      test_assert_sh (self, "ls -A /dev", "fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n");
      test_assert_sh (self, "head -c 1 /dev/urandom >/dev/null && git --version >/dev/null && head -c 2 /dev/zero | wc -c && find / -xdev -type b 2>/dev/null", "2\n");
    }
}

static void
test_system_hides (TestSandbox  *self,
                   gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = new_profile (SANDBOX_VIEW_SYSTEM);
  g_autofree char *etc = NULL;

  g_test_summary ("The system view: home directories and data are empty, secrets of /etc cannot be read, its user is known");

  test_use_profile (self, profile);
  test_assert_sh (self, "for d in /data /home /root /var; do ls -A $d; done", "");
  test_assert_sh (self, "for f in /etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow-; do test -r $f && echo $f; done; ls /etc/ssl/private 2>/dev/null; true", "");
  test_assert_sh (self, "cut -d: -f1 /etc/passwd", "root\nsandbox\nnobody\n");
  test_assert_sh (self, "find /etc ! -type l ! -perm -004 -readable 2>/dev/null; true", "");
  /* It is the host's. */
  etc = test_sh (self, "ls /etc | wc -l");
  g_assert_cmpint (g_ascii_strtoll (etc, NULL, 10), >, 20);
}

static void
test_allow_all (TestSandbox  *self,
                gconstpointer unused)
{
  static const char *const script = "getent passwd $(id -u) | cut -d: -f1; grep -c . /etc/services; cat /etc/resolv.conf; ls /etc/ssl/certs 2>/dev/null | wc -l";
  g_autofree char         *expected = NULL;
  g_autofree char         *outside = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("With the network of the host there is what finds names and trusts hosts, and still a user of its own");

  g_assert_true (g_spawn_command_line_sync ("sh -c 'grep -c . /etc/services; cat /etc/resolv.conf; ls /etc/ssl/certs 2>/dev/null | wc -l'",
                                            &outside, NULL, NULL, &error));
  g_assert_no_error (error);
  expected = g_strconcat ("sandbox\n", outside, NULL);
  for (guint i = 0; i < N_VIEWS; i++)
    {
      g_autoptr (SandboxProfile) profile = new_profile (views[i]);
      g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_all ();

      test_use_profile (self, profile);
      g_assert_true (sandbox_session_set_network_policy (self->session, policy, NULL, &error));
      g_assert_no_error (error);
      test_assert_sh (self, script, expected);
    }
}

static void
test_custom (TestSandbox  *self,
             gconstpointer unused)
{
  g_autoptr (SandboxProfile) nothing = new_profile (SANDBOX_VIEW_CUSTOM);
  g_autoptr (SandboxProfile) profile = new_profile (SANDBOX_VIEW_CUSTOM);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The custom view has what is mounted; without any program nothing can be run, and nothing else happens");

  test_use_profile (self, nothing);
  error = test_refused (self, "/usr/bin/true", NULL);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  result = test_run (self, "./guest", "write", "3", NULL);
  test_assert_output (result, "abc");

  test_add_mount (profile, "/usr", "/usr", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_add_mount (profile, "/bin", "/bin", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_add_mount (profile, "/lib", "/lib", SANDBOX_MOUNT_MODE_READ_ONLY);
  if (g_file_test ("/lib64", G_FILE_TEST_IS_DIR))
    test_add_mount (profile, "/lib64", "/lib64", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_use_profile (self, profile);
  test_assert_sh (self, "ls -A / | grep -vx lib64", "bin\ndev\nlib\nproc\nrun\ntmp\nusr\nworkspace\n");
}

/* ---- Mounts ---- */

/* A directory of the test's own beside the workspace: "open" and "shut" (0700) with a file "file" in a directory
 * "inner". */
static char *
make_sources (void)
{
  g_autoptr (GError) error = NULL;
  char *top = g_dir_make_tmp ("sandbox-sources-XXXXXX", &error);

  g_assert_no_error (error);
  g_assert_cmpint (chmod (top, 0755), ==, 0);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *outer = g_build_filename (top, i == 0 ? "open" : "shut", NULL);
      g_autofree char *inner = g_build_filename (outer, "inner", NULL);
      g_autofree char *file = g_build_filename (inner, "file", NULL);

      g_assert_cmpint (mkdir (outer, 0755), ==, 0);
      g_assert_cmpint (mkdir (inner, 0755), ==, 0);
      g_file_set_contents_full (file, "text\n", -1, G_FILE_SET_CONTENTS_NONE, 0644, &error);
      g_assert_no_error (error);
      g_assert_cmpint (chmod (outer, i == 0 ? 0755 : 0700), ==, 0);
    }

  return top;
}

static void
test_mounts (TestSandbox  *self,
             gconstpointer unused)
{
  static const char *const places[] = { "open", "shut" };
  g_autofree char         *top = make_sources ();

  g_test_summary ("Behind directories that only the host may search too: files and directories, read-only and writable");

  for (guint i = 0; i < N_VIEWS * G_N_ELEMENTS (places); i++)
    {
      const char      *place = places[i / N_VIEWS];
      g_autofree char *inner = g_build_filename (top, place, "inner", NULL);
      g_autofree char *file = g_build_filename (inner, "file", NULL);
      g_autofree char *made = g_build_filename (inner, "made", NULL);
      g_autofree char *text = NULL;
      g_autoptr (SandboxProfile) reading = new_profile (views[i % N_VIEWS]);
      g_autoptr (SandboxProfile) writing = new_profile (views[i % N_VIEWS]);
      struct stat of_inner;
      struct stat of_made;

      test_add_mount (reading, inner, "/srv/read", SANDBOX_MOUNT_MODE_READ_ONLY);
      test_add_mount (reading, file, "/srv/file", SANDBOX_MOUNT_MODE_READ_ONLY);
      test_use_profile (self, reading);
      test_assert_sh (self, "cat /srv/read/file /srv/file", "text\ntext\n");
      test_assert_sh (self, "touch /srv/read/x 2>/dev/null || echo refused; echo x 2>/dev/null >/srv/file || echo refused", "refused\nrefused\n");

      test_add_mount (writing, inner, "/srv/write", SANDBOX_MOUNT_MODE_READ_WRITE);
      test_use_profile (self, writing);
      test_assert_sh (self, "cat /srv/write/file", "text\n");
      test_assert_sh (self, "echo new >/srv/write/made && cat /srv/write/made && chmod u+s /srv/write/made 2>/dev/null || echo refused", "new\nrefused\n");

      g_assert_true (g_file_get_contents (made, &text, NULL, NULL));
      g_assert_cmpstr (text, ==, "new\n");
      g_assert_cmpint (stat (inner, &of_inner), ==, 0);
      g_assert_cmpint (stat (made, &of_made), ==, 0);
      g_assert_cmpuint (of_made.st_uid, ==, of_inner.st_uid);
      g_assert_cmpuint (of_made.st_mode & 07000, ==, 0);
      g_assert_cmpint (unlink (made), ==, 0);
    }

  test_remove_tree (top);
}

static void
test_mount_below_mask (TestSandbox  *self,
                       gconstpointer unused)
{
  g_autofree char *top = make_sources ();
  g_autofree char *inner = g_build_filename (top, "open", "inner", NULL);
  g_autoptr (SandboxProfile) profile = new_profile (SANDBOX_VIEW_SYSTEM);

  g_test_summary ("A mount below a masked root shows that mount and nothing beside it");

  test_add_mount (profile, inner, "/home/user/data", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_use_profile (self, profile);
  test_assert_sh (self, "find /home | sort; touch /home/user/x 2>/dev/null || echo refused",
                  "/home\n/home/user\n/home/user/data\n/home/user/data/file\nrefused\n");

  test_remove_tree (top);
}

static void
test_masks (TestSandbox  *self,
            gconstpointer unused)
{
  g_test_summary ("A masked directory is empty and stays so, a masked file can be neither read nor run");

  for (guint i = 0; i < N_VIEWS; i++)
    {
      g_autoptr (SandboxProfile) profile = new_profile (views[i]);

      test_add_mount (profile, NULL, "/usr/share", SANDBOX_MOUNT_MODE_MASK);
      test_add_mount (profile, NULL, "/usr/bin/env", SANDBOX_MOUNT_MODE_MASK);
      test_add_mount (profile, NULL, "/srv/nothing", SANDBOX_MOUNT_MODE_MASK);
      test_use_profile (self, profile);
      test_assert_sh (self, "ls -A /usr/share /srv/nothing; touch /usr/share/x /srv/nothing/x 2>/dev/null || echo refused", "/srv/nothing:\n\n/usr/share:\nrefused\n");
      test_assert_sh (self, "cat /usr/bin/env 2>/dev/null || echo refused; /usr/bin/env 2>/dev/null || echo refused", "refused\nrefused\n");
    }
}

static void
test_absent_path (TestSandbox  *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxProfile) inside = sandbox_profile_new ();
  g_autoptr (SandboxProfile) outside = sandbox_profile_new ();
  g_autoptr (SandboxProfile) masked = sandbox_profile_new ();
  g_autofree char *conf = g_build_filename (self->workspace, "conf", NULL);

  g_test_summary ("Case 91: what does not exist cannot be protected, so it is refused, and nothing appears in the workspace");

  test_add_mount (inside, "/etc/hosts", "/workspace/conf/settings", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_assert_refused (self, inside, SANDBOX_ERROR_INVALID, "where commands can write");
  test_add_mount (masked, NULL, "/workspace/conf", SANDBOX_MOUNT_MODE_MASK);
  test_assert_refused (self, masked, SANDBOX_ERROR_INVALID, "where commands can write");
  test_add_mount (outside, NULL, "/usr/share/not-there", SANDBOX_MOUNT_MODE_MASK);
  test_assert_refused (self, outside, SANDBOX_ERROR_NOT_FOUND, "not there");
  g_assert_false (g_file_test (conf, G_FILE_TEST_EXISTS));
}

static void
test_links (TestSandbox  *self,
            gconstpointer unused)
{
  g_autofree char *top = make_sources ();
  g_autofree char *link = g_build_filename (top, "link", NULL);
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxProfile) behind = sandbox_profile_new ();

  g_test_summary ("Case 7: links in sources are followed when the session is created and never again; targets are never links");

  g_assert_cmpint (symlink ("open/inner", link), ==, 0);
  test_add_mount (profile, link, "/srv/linked", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_use_profile (self, profile);
  test_assert_sh (self, "cat /srv/linked/file", "text\n");
  g_assert_cmpint (unlink (link), ==, 0);
  g_assert_cmpint (symlink ("/etc", link), ==, 0);
  test_assert_sh (self, "cat /srv/linked/file; readlink -f /srv/linked", "text\n/srv/linked\n");

  test_add_mount (behind, top, "/bin/tool", SANDBOX_MOUNT_MODE_READ_ONLY);
  if (g_file_test ("/bin", G_FILE_TEST_IS_SYMLINK))
    test_assert_refused (self, behind, SANDBOX_ERROR_INVALID, "behind a link");

  test_remove_tree (top);
}

static void
test_swapped_source (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autofree char *top = make_sources ();
  g_autofree char *open = g_build_filename (top, "open", NULL);
  g_autofree char *aside = g_build_filename (top, "aside", NULL);
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("cat", "/srv/moved/inner/file", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Another directory at the place of a source is never mounted instead of it");

  test_add_mount (profile, open, "/srv/moved", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_use_profile (self, profile);
  g_assert_cmpint (rename (open, aside), ==, 0);
  g_assert_cmpint (symlink ("/etc", open), ==, 0);
  result = sandbox_session_run (self->session, command, NULL, &error);
  if (result != NULL)
    test_assert_output (result, "text\n");
  else
    g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);

  test_remove_tree (top);
}

static void
test_refused_sources (TestSandbox  *self,
                      gconstpointer unused)
{
  static const struct
  {
    const char *source;
    int         code;
    const char *words;
  } sources[] = {
    { "/nonexistent/directory", SANDBOX_ERROR_NOT_FOUND, "cannot be opened" },
    { "/proc", SANDBOX_ERROR_INVALID, "procfs" },
    { "/proc/self/fd", SANDBOX_ERROR_INVALID, "procfs" },
    { "/dev/null", SANDBOX_ERROR_INVALID, "neither" },
    { "/run", SANDBOX_ERROR_INVALID, "all sessions" },
    { "/", SANDBOX_ERROR_INVALID, "the root" },
  };

  g_test_summary ("Case 5: sources that are missing, of the host's procfs, devices, or that show all sessions are refused");

  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

      test_add_mount (profile, sources[i].source, "/srv/x", SANDBOX_MOUNT_MODE_READ_ONLY);
      test_assert_refused (self, profile, sources[i].code, sources[i].words);
    }
}

static void
test_guests_sources (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autofree char *top = make_sources ();
  g_autofree char *inner = g_build_filename (top, "shut", "inner", NULL);
  g_autofree char *cache = g_build_filename (self->workspace, "cache", NULL);
  g_autofree char *above = g_path_get_dirname (self->workspace);
  const struct
  {
    const char      *sources[2];
    SandboxMountMode modes[2];
    const char      *words;
  } cases[] = {
    { { cache, NULL }, { SANDBOX_MOUNT_MODE_READ_ONLY }, "in its place" },
    { { cache, NULL }, { SANDBOX_MOUNT_MODE_READ_WRITE }, "in its place" },
    { { self->workspace, NULL }, { SANDBOX_MOUNT_MODE_READ_WRITE }, "in its place" },
    { { above, NULL }, { SANDBOX_MOUNT_MODE_READ_WRITE }, "two ways" },
    { { top, inner }, { SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_MOUNT_MODE_READ_ONLY }, "in its place" },
    { { inner, top }, { SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_MOUNT_MODE_READ_WRITE }, "in its place" },
    { { top, top }, { SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_MOUNT_MODE_READ_ONLY }, "in its place" },
  };

  g_test_summary ("A source that commands could replace by a link, or write by another way, is refused");

  g_assert_cmpint (g_mkdir (cache, 0755), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

      test_add_mount (profile, cases[i].sources[0], "/srv/one", cases[i].modes[0]);
      if (cases[i].sources[1] != NULL)
        test_add_mount (profile, cases[i].sources[1], "/srv/two", cases[i].modes[1]);
      test_assert_refused (self, profile, SANDBOX_ERROR_INVALID, cases[i].words);
    }

  test_remove_tree (top);
}

static void
test_root_unreadable_source (TestSandbox  *self,
                             gconstpointer unused)
{
  g_autofree char *top = make_sources ();
  g_autofree char *shut = g_build_filename (top, "shut", NULL);
  g_autoptr (SandboxProfile) reads = sandbox_profile_new ();
  g_autoptr (SandboxProfile) many = sandbox_profile_new ();

  g_test_summary ("A host that is root hands out to read only what everybody may read, and no more mounts than the agent takes");

  test_add_mount (reads, shut, "/srv/shut", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_assert_refused (self, reads, SANDBOX_ERROR_DENIED, "not readable");

  for (guint i = 0; i < 8; i++)
    {
      g_autofree char *inner = g_build_filename (shut, "inner", NULL);
      g_autofree char *target = g_strdup_printf ("/srv/%u", i);

      test_add_mount (many, inner, target, SANDBOX_MOUNT_MODE_READ_ONLY);
    }
  test_assert_refused (self, many, SANDBOX_ERROR_LIMIT, "limit is 8");

  test_remove_tree (top);
}

/* Who owns it on the host has it in the sandbox, and what is made there is the owner's. */
static void
test_root_owned_source (TestSandbox  *self,
                        gconstpointer unused)
{
  g_autofree char *top = make_sources ();
  g_autofree char *inner = g_build_filename (top, "shut", "inner", NULL);
  g_autofree char *made = g_build_filename (inner, "made", NULL);
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  struct stat info;

  g_test_summary ("A host that is root: commands have the rights of a writable mount's owner there, and only there");

  g_assert_cmpint (chown (inner, 1234, 1235), ==, 0);
  test_add_mount (profile, inner, "/srv/theirs", SANDBOX_MOUNT_MODE_READ_WRITE);
  test_use_profile (self, profile);
  test_assert_sh (self, "echo x >/srv/theirs/made && stat -c %u /srv/theirs /srv/theirs/made", "1000\n1000\n");
  g_assert_cmpint (stat (made, &info), ==, 0);
  g_assert_cmpuint (info.st_uid, ==, 1234);
  g_assert_cmpuint (info.st_gid, ==, 1235);

  test_remove_tree (top);
}

/* ---- State ---- */

static void
test_state_directory (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autofree char *top = make_sources ();
  g_autofree char *state = g_build_filename (top, "open", "state-directory", NULL);
  g_autofree char *outer = g_build_filename (top, "open", NULL);
  g_autofree char *within = g_build_filename (state, "sessions", NULL);
  g_autofree char *later = g_build_filename (top, "open", "later", "state", NULL);
  const char      *sources[] = { outer, state, within, top };
  g_autoptr (SandboxProfile) early = sandbox_profile_new ();
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 1: a mount that would show the state directory, or lies in it, is refused; without one commands see nothing of it");

  g_assert_cmpint (g_mkdir_with_parents (within, 0700), ==, 0);
  g_clear_object (&self->backend);
  self->backend = sandbox_registry_create_backend (self->registry, "bubblewrap", state, &error);
  g_assert_no_error (error);

  for (guint i = 0; i < N_VIEWS * G_N_ELEMENTS (sources); i++)
    {
      g_autoptr (SandboxProfile) profile = new_profile (views[i % N_VIEWS]);

      test_add_mount (profile, sources[i / N_VIEWS], "/srv/x", SANDBOX_MOUNT_MODE_READ_ONLY);
      test_assert_refused (self, profile, SANDBOX_ERROR_INVALID, "state directory");
    }
  /* The other way round: a workspace that has it below */
  handle = test_create (self->backend, outer, &error);
  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  for (guint i = 0; i < N_VIEWS; i++)
    {
      g_autoptr (SandboxProfile) profile = new_profile (views[i]);

      test_use_profile (self, profile);
      test_assert_sh (self, "find / -name 'state-director*' 2>/dev/null; touch here && rm here", "");
    }

  /* One that is made only later */
  sandbox_handle_shutdown (self->handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&self->handle);
  g_clear_object (&self->backend);
  self->backend = sandbox_registry_create_backend (self->registry, "bubblewrap", later, &error);
  g_assert_no_error (error);
  test_add_mount (early, outer, "/srv/x", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_assert_refused (self, early, SANDBOX_ERROR_INVALID, "state directory");

  test_remove_tree (top);
}

static void
bind_at (const char *source,
         const char *target)
{
  g_assert_cmpint (g_mkdir_with_parents (target, 0755), ==, 0);
  g_assert_cmpint (mount (source, target, NULL, MS_BIND, NULL), ==, 0);
}

static void
test_root_state_alias (TestSandbox  *self,
                       gconstpointer unused)
{
  g_autofree char *top = NULL;
  g_autofree char *state = NULL;
  g_autofree char *sessions = NULL;
  g_autofree char *outer = NULL;
  g_autofree char *above = NULL;
  g_autofree char *inner = NULL;
  g_autofree char *below = NULL;
  g_autofree char *holder = NULL;
  g_autofree char *free_place = NULL;
  g_autoptr (SandboxProfile) good = sandbox_profile_new ();
  g_autoptr (SandboxProfile) system = new_profile (SANDBOX_VIEW_SYSTEM);
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 1: the state directory is not shown by another name either, at which it, what is above it or what is in it is mounted");

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
      g_test_trap_assert_passed ();
      return;
    }

  g_assert_cmpint (unshare (CLONE_NEWNS), ==, 0);
  g_assert_cmpint (mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), ==, 0);
  top = g_dir_make_tmp ("sandbox-alias-XXXXXX", &error);
  g_assert_no_error (error);
  g_assert_cmpint (chmod (top, 0755), ==, 0);
  g_assert_cmpint (mount ("none", top, "tmpfs", 0, "mode=0755"), ==, 0);
  outer = g_build_filename (top, "outer", NULL);
  state = g_build_filename (outer, "state-directory", NULL);
  sessions = g_build_filename (state, "bubblewrap", "sessions", NULL);
  above = g_build_filename (top, "above", NULL);
  inner = g_build_filename (top, "inner", NULL);
  holder = g_build_filename (top, "holder", NULL);
  below = g_build_filename (holder, "deep", "below", NULL);
  free_place = g_build_filename (top, "free", NULL);
  g_assert_cmpint (g_mkdir_with_parents (outer, 0755), ==, 0);
  g_assert_cmpint (g_mkdir_with_parents (sessions, 0700), ==, 0);
  g_assert_cmpint (g_mkdir_with_parents (free_place, 0755), ==, 0);
  bind_at (outer, above);
  bind_at (sessions, inner);
  bind_at (state, below);
  g_clear_object (&self->backend);
  self->backend = sandbox_registry_create_backend (self->registry, "bubblewrap", state, &error);
  g_assert_no_error (error);

  {
    const char *const sources[] = { above, inner, below, holder };

    for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
      {
        g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

        test_add_mount (profile, sources[i], "/srv/x", SANDBOX_MOUNT_MODE_READ_ONLY);
        test_assert_refused (self, profile, SANDBOX_ERROR_INVALID, "by another name");
      }
  }
  {
    const char *const workspaces[] = { above, holder };

    for (guint i = 0; i < G_N_ELEMENTS (workspaces); i++)
      {
        handle = test_create (self->backend, workspaces[i], &error);
        g_assert_null (handle);
        g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
        g_assert_nonnull (strstr (error->message, "by another name"));
        g_clear_error (&error);
      }
  }

  test_add_mount (good, free_place, "/srv/x", SANDBOX_MOUNT_MODE_READ_ONLY);
  test_use_profile (self, good);
  test_use_profile (self, system);
  g_assert_cmpint (mount ("none", "/opt", "tmpfs", 0, "mode=0755"), ==, 0);
  bind_at (outer, "/opt/other");
  test_assert_refused (self, system, SANDBOX_ERROR_INVALID, "by another name");

  g_assert_true (sandbox_handle_shutdown (self->handle, NULL, &error));
  g_clear_object (&self->handle);
  g_clear_object (&self->backend);
  g_assert_cmpint (umount2 (top, MNT_DETACH), ==, 0);
  g_assert_cmpint (g_rmdir (top), ==, 0);
}

/* ---- The workspace ---- */

static void
test_read_only_workspace (TestSandbox  *self,
                          gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("A read-only workspace is for commands; the host writes, and commands see it");

  sandbox_profile_set_workspace_read_only (profile, TRUE);
  test_use_profile (self, profile);
  g_assert_true (sandbox_session_write_text (self->session, "given", "from the host\n", NULL, &error));
  g_assert_no_error (error);
  test_assert_sh (self, "cat given; touch x 2>/dev/null || echo refused; rm given 2>/dev/null || echo refused; chmod 600 given 2>/dev/null || echo refused",
                  "from the host\nrefused\nrefused\nrefused\n");
}

static void
test_same_path (TestSandbox  *self,
                gconstpointer unused)
{
  g_test_summary ("The workspace can be where the host has it: for commands, for paths of the session, as home");

  for (guint i = 0; i < N_VIEWS; i++)
    {
      g_autoptr (SandboxProfile) profile = new_profile (views[i]);
      g_autofree char *absolute = g_build_filename (self->workspace, "file", NULL);
      g_autofree char *resolved = NULL;
      g_autofree char *text = NULL;
      g_autofree char *found = NULL;
      g_autofree char *expected = g_strdup_printf ("%s\n%s\n%s\ntext\n", self->workspace, self->workspace, self->workspace);
      g_autoptr (SandboxCommand) command = test_command_new ("pwd", NULL);
      g_autoptr (SandboxResult) result = NULL;
      g_autofree char *output = g_strconcat (self->workspace, "/sub\n", NULL);
      g_autofree char *sub = g_build_filename (self->workspace, "sub", NULL);
      g_autoptr (GError) error = NULL;

      sandbox_profile_set_workspace_target (profile, self->workspace);
      test_use_profile (self, profile);
      g_assert_cmpstr (sandbox_session_get_workspace_path (self->session), ==, self->workspace);
      g_assert_true (sandbox_session_write_text (self->session, absolute, "text\n", NULL, &error));
      g_assert_no_error (error);
      found = test_sh (self, "pwd; echo $HOME; getent passwd $(id -u) | cut -d: -f6; cat file; mkdir -p sub; test ! -e /workspace");
      g_assert_cmpstr (found, ==, expected);

      text = sandbox_session_read_text (self->session, absolute, NULL, &error);
      g_assert_cmpstr (text, ==, "text\n");
      resolved = sandbox_session_resolve_path (self->session, "file", &error);
      g_assert_cmpstr (resolved, ==, absolute);
      g_assert_null (sandbox_session_resolve_path (self->session, "/workspace/file", &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      g_clear_error (&error);

      sandbox_command_set_cwd (command, sub);
      result = sandbox_session_run (self->session, command, NULL, &error);
      g_assert_no_error (error);
      test_assert_output (result, output);
    }
}

/* ---- The environment ---- */

static void
test_environment (TestSandbox  *self,
                  gconstpointer unused)
{
  static const char *const of_profile[] = { "A=profile", "B=profile", "PATH=/usr/bin", NULL };
  static const char *const of_command[] = { "B=command", "C=", NULL };
  g_autoptr (SandboxProfile) plain = sandbox_profile_new ();
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("/usr/bin/env", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The environment is complete and nothing of it is the host's; the command's variables go over the profile's");

  test_use_profile (self, plain);
  result = test_run (self, "/usr/bin/env", NULL);
  test_assert_output (result, "PATH=/usr/bin:/bin\nHOME=/workspace\n");
  g_clear_object (&result);

  sandbox_profile_set_environment (profile, of_profile);
  sandbox_command_set_environment (command, of_command);
  test_use_profile (self, profile);
  result = sandbox_session_run (self->session, command, NULL, &error);
  g_assert_no_error (error);
  test_assert_output (result, "PATH=/usr/bin\nHOME=/workspace\nA=profile\nB=command\nC=\n");
}

/* ---- Procfs ---- */

static void
test_proc_modes (TestSandbox  *self,
                 gconstpointer unused)
{
  static const struct
  {
    SandboxProcMode mode;
    const char     *self_exe;
    const char     *found; /* NULL for a whole procfs */
  } modes[] = {
    { SANDBOX_PROC_MODE_FRESH, NULL, NULL },
    { SANDBOX_PROC_MODE_AUTO, NULL, NULL },
    { SANDBOX_PROC_MODE_NONE, NULL, "/proc\n" },
    { SANDBOX_PROC_MODE_SELF_EXE, "/usr/bin/cat", "/proc\n/proc/self\n/proc/self/exe\n" },
  };
  g_autofree char *marker = test_marker_new ();
  g_autofree char *file = NULL;
  const char      *argv[] = { TEST_GUEST, "hold", marker, NULL };
  g_autoptr (GSubprocess) process = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Cases 4, 5: each procfs mode shows what it says and never a process of the host; commands run in all of them");

  process = g_subprocess_newv (argv, G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_SILENCE, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, 1);
  file = g_build_filename (self->workspace, "marker", NULL);
  g_assert_true (g_file_set_contents_full (file, marker, -1, G_FILE_SET_CONTENTS_NONE, 0644, NULL));

  for (guint i = 0; i < N_VIEWS * G_N_ELEMENTS (modes); i++)
    {
      g_autoptr (SandboxProfile) profile = new_profile (views[i % N_VIEWS]);
      guint mode = i / N_VIEWS;
      sandbox_profile_set_proc (profile, modes[mode].mode);
      sandbox_profile_set_self_exe (profile, modes[mode].self_exe);
      test_use_profile (self, profile);
      /* The marker is in a file, so that what looks for it does not have it in its own arguments. */
      test_assert_sh (self, "test -s marker && grep -laFf marker /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null; true", "");
      /* A whole one has process 1 and the shell. */
      if (modes[mode].found != NULL)
        test_assert_sh (self, "find /proc", modes[mode].found);
      else
        test_assert_sh (self, "set -- /proc/[0-9]*; echo $#", "2\n");
      test_assert_sh (self, "touch /proc/x 2>/dev/null || echo refused; unshare -U true 2>/dev/null || echo refused", "refused\nrefused\n");
    }
  test_assert_sh (self, "readlink /proc/self/exe; echo text | /proc/self/exe", "/usr/bin/cat\ntext\n");

  g_subprocess_force_exit (process);
  g_subprocess_wait (process, NULL, NULL);
}

static void
test_proc_refused (TestSandbox  *self,
                   gconstpointer unused)
{
  g_autoptr (SandboxProfile) both = sandbox_profile_new ();
  g_autoptr (SandboxProfile) missing = sandbox_profile_new ();

  g_test_summary ("A self-exe with another procfs, and one that is no file, are refused");

  sandbox_profile_set_self_exe (both, "/usr/bin/cat");
  test_assert_refused (self, both, SANDBOX_ERROR_INVALID, "only for");
  sandbox_profile_set_proc (missing, SANDBOX_PROC_MODE_SELF_EXE);
  sandbox_profile_set_self_exe (missing, "/usr/bin/not-there");
  test_assert_refused (self, missing, SANDBOX_ERROR_NOT_FOUND, "self-exe");
}

/* Hides a part of the procfs, as containers do: then no user namespace may mount a fresh one. In a mount namespace
 * of this process alone. */
static void
forbid_fresh_proc (void)
{
  g_assert_cmpint (unshare (CLONE_NEWNS), ==, 0);
  g_assert_cmpint (mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), ==, 0);
  g_assert_cmpint (mount ("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL), ==, 0);
  g_assert_cmpint (mount (NULL, "/proc/sys", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
}

static void
test_root_without_fresh_proc (TestSandbox  *self,
                              gconstpointer unused)
{
  static const SandboxProcMode modes[] = { SANDBOX_PROC_MODE_AUTO, SANDBOX_PROC_MODE_NONE };
  g_autoptr (SandboxProfile) fresh = sandbox_profile_new ();

  g_test_summary ("Case 4: where no fresh procfs can be had, that is refused, auto does without and says so, none works");

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
      g_test_trap_assert_passed ();
      return;
    }

  forbid_fresh_proc ();
  test_assert_refused (self, fresh, SANDBOX_ERROR_UNAVAILABLE, "could not be built");

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
      g_autoptr (SandboxReport) report = NULL;
      g_autofree char *gaps = NULL;
      g_autoptr (GError) error = NULL;

      sandbox_profile_set_proc (profile, modes[i]);
      test_use_profile (self, profile);
      test_assert_sh (self, "find /proc; unshare -U true 2>/dev/null || echo refused", "/proc\nrefused\n");

      report = sandbox_backend_probe (self->backend, profile, NULL, &error);
      g_assert_no_error (error);
      gaps = g_strjoinv ("; ", (char **) sandbox_report_get_gaps (report));
      g_assert_true ((strstr (gaps, "No procfs") != NULL) == (modes[i] == SANDBOX_PROC_MODE_AUTO));
      g_assert_nonnull (strstr (gaps, "by the system call filter alone"));
      g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_PARTIAL);
    }
}

/* ---- The plan ---- */

static void
test_plan (TestSandbox  *self,
           gconstpointer unused)
{
  static const char *const secret[] = { "TOKEN=very-secret-value", NULL };
  static const char *const more[] = { "OTHER=another-secret-value", NULL };
  static const char *const wanted[] = {
    "\"executable\" : \"/usr/bin/bwrap\"", "\"TOKEN\"", "\"OTHER\"", "\"HOME\"", "\"--unshare-net\"", "\"network\" : \"none\"",
    "\"view\" : \"system\"", "\"cwd\" : \"/srv/work/sub\"", "\"target\" : \"/home/data\"", "\"mode\" : \"read-only\"",
    "\"mode\" : \"mask\"", "\"cpu-seconds\" : 7", "\"guest-uid\" : 1000"
  };
  static const char *const networks[] = {
    "\"network\" : \"none\",\n  \"doors\" : []",
    "\"network\" : \"host\",\n  \"doors\" : []",
    "\"network\" : \"gateway\",\n  \"doors\" : [\n    \"/run/sandbox-glib/gateway.sock\"\n  ]",
    "\"network\" : \"gateway\",\n  \"doors\" : [\n    \"/run/sandbox-glib/gateway.sock\",\n    \"127.0.0.1:3128\"\n  ]",
  };
  g_autoptr (SandboxProfile) profile = new_profile (SANDBOX_VIEW_SYSTEM);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxNetworkPolicy) all = sandbox_network_policy_new_allow_all ();
  g_autoptr (SandboxNetworkPolicy) list = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxCommand) command = test_command_new ("make", "all", NULL);
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;
  g_autofree char *refused = NULL;
  guint            descriptors = 0;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A plan tells everything but secrets, twice the same, and starts nothing; what could not be had is no plan");

  sandbox_network_policy_add_origin (list, "https://example.org", NULL, &error);
  g_assert_no_error (error);
  sandbox_limits_set_cpu_seconds (limits, 7);
  sandbox_profile_set_limits (profile, limits);
  sandbox_profile_set_environment (profile, secret);
  sandbox_profile_set_workspace_target (profile, "/srv/work");
  test_add_mount (profile, "/usr/share", "/home/data", SANDBOX_MOUNT_MODE_READ_ONLY);
  sandbox_command_set_environment (command, more);
  sandbox_command_set_cwd (command, "sub");
  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_profile (options, profile);

  /* What sessions before this one had is released a moment after their end. */
  test_assert_nothing_left (G_MAXUINT);
  first = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_no_error (error);
  descriptors = test_count_descriptors ();
  second = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (first, ==, second);
  g_assert_cmpuint (test_count_descriptors (), <=, descriptors);
  g_assert_cmpuint (test_count_children (), ==, 0);
  g_assert_cmpuint (test_count_claims (), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      if (strstr (first, wanted[i]) == NULL)
        g_error ("no %s in %s", wanted[i], first);
    }
  g_assert_null (strstr (first, "secret-value"));
  for (guint i = 0; i < G_N_ELEMENTS (networks); i++)
    {
      g_autofree char *text = NULL;

      sandbox_network_policy_set_loopback_door (list, i == 3);
      sandbox_create_options_set_network (options, i == 0 ? deny : i == 1 ? all
                                                                          : list);
      text = sandbox_backend_plan (self->backend, command, options, &error);
      g_assert_no_error (error);
      if (strstr (text, networks[i]) == NULL)
        g_error ("no %s in %s", networks[i], text);
    }

  sandbox_command_set_cwd (command, "/usr");
  refused = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_null (refused);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  g_clear_error (&error);
  sandbox_command_set_cwd (command, ".");
  test_add_mount (profile, "/nonexistent", "/home/other", SANDBOX_MOUNT_MODE_READ_WRITE);
  refused = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_null (refused);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static void
test_required (TestSandbox  *self,
               gconstpointer unused)
{
  g_autofree char *top = make_sources ();
  g_autofree char *source = g_build_filename (top, "open", "inner", NULL);
  const struct
  {
    SandboxView         view;
    const char         *source; /* of a mount; NULL for none */
    SandboxMountMode    mode;
    SandboxRestrictions missing;
  } profiles[] = {
    { SANDBOX_VIEW_MINIMAL, NULL, SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_RESTRICTIONS_NONE },
    { SANDBOX_VIEW_MINIMAL, "/usr/share", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_RESTRICTIONS_NONE },
    { SANDBOX_VIEW_MINIMAL, source, SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_RESTRICTIONS_WRITE_CONTAINED | SANDBOX_RESTRICTIONS_SECRETS_HIDDEN },
    { SANDBOX_VIEW_MINIMAL, "/etc/passwd", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_RESTRICTIONS_SECRETS_HIDDEN },
    { SANDBOX_VIEW_SYSTEM, NULL, SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_RESTRICTIONS_SECRETS_HIDDEN },
  };
  const SandboxRestrictions all = SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_WRITE_CONTAINED |
                                  SANDBOX_RESTRICTIONS_SECRETS_HIDDEN | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED;

  static const char *const names[] = { ": network-denied", ": write-contained", ": secrets-hidden", ": process-contained" };

  g_test_summary ("What a view and its mounts show and let change is not promised, neither by a probe nor to who requires it");

  for (guint i = 0; i < G_N_ELEMENTS (profiles); i++)
    {
      g_autoptr (SandboxProfile) profile = new_profile (profiles[i].view);
      g_autoptr (SandboxReport) report = NULL;
      g_autoptr (SandboxReport) of_default = NULL;
      g_autoptr (GError) error = NULL;

      if (profiles[i].source != NULL)
        test_add_mount (profile, profiles[i].source, "/srv/x", profiles[i].mode);
      report = sandbox_backend_probe (self->backend, profile, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (sandbox_report_get_restrictions (report), ==, all & ~profiles[i].missing);
      /* What is remembered is of the default profile. */
      of_default = sandbox_backend_probe (self->backend, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (sandbox_report_get_restrictions (of_default), ==, all);

      sandbox_profile_set_required (profile, all & ~profiles[i].missing);
      test_use_profile (self, profile);
      for (guint bit = 0; bit < 4; bit++)
        {
          sandbox_profile_set_required (profile, profiles[i].missing & (1 << bit));
          if ((profiles[i].missing & (1 << bit)) != 0)
            test_assert_refused (self, profile, SANDBOX_ERROR_NOT_SUPPORTED, names[bit]);
        }
    }

  test_remove_tree (top);
}

static void
test_refused_wishes (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autoptr (SandboxProfile) secrets = new_profile (SANDBOX_VIEW_SYSTEM);
  g_autoptr (SandboxProfile) memory = sandbox_profile_new ();
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  SandboxProfile *profiles[] = { secrets, memory };

  g_test_summary ("A probe says of a profile that cannot be had what a create of it says");

  sandbox_profile_set_required (secrets, SANDBOX_RESTRICTIONS_SECRETS_HIDDEN);
  g_object_set (self->backend, "control-group", "/nonexistent", NULL);
  sandbox_limits_set_memory_bytes (limits, 1 << 20);
  sandbox_profile_set_limits (memory, limits);
  for (guint i = 0; i < G_N_ELEMENTS (profiles); i++)
    {
      g_autoptr (SandboxReport) report = NULL;
      g_autoptr (SandboxHandle) handle = NULL;
      g_autoptr (GError) error = NULL;

      report = sandbox_backend_probe (self->backend, profiles[i], NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_UNAVAILABLE);
      handle = test_create_for (self, profiles[i], &error);
      g_assert_null (handle);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
      g_assert_cmpstr (error->message, ==, sandbox_report_get_reason (report));
    }
}

static void
test_planted_proof (TestSandbox  *self,
                    gconstpointer unused)
{
  static const char *const environment[] = { "PATH=/workspace/bin:/usr/bin:/bin", NULL };
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("What a command leaves in the workspace decides nothing about later sessions, whatever PATH they have");

  sandbox_profile_set_environment (profile, environment);
  test_use_profile (self, profile);
  test_assert_sh (self, "mkdir bin && for i in true sandbox-agent; do printf '#!/bin/sh\nexit 1\n' >bin/$i; chmod +x bin/$i; done", "");
  test_use_profile (self, profile);
  test_assert_sh (self, "rm -r bin; echo done", "done\n");
}

#define ADD(path, func) g_test_add ("/views/" path, TestSandbox, NULL, test_profile_set_up, func, test_profile_tear_down)

int
main (int    argc,
      char **argv)
{
  static ProgramCase cases[G_N_ELEMENTS (program_ways) * G_N_ELEMENTS (programs)];

  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = NULL;

      cases[i] = (ProgramCase){ &programs[i / G_N_ELEMENTS (program_ways)], i % G_N_ELEMENTS (program_ways) };
      if (cases[i].program->program != NULL && !g_file_test (cases[i].program->program, G_FILE_TEST_IS_EXECUTABLE))
        continue;
      path = g_strdup_printf ("/views/%s/%s", program_ways[cases[i].way].name, cases[i].program->name);
      g_test_add (path, TestSandbox, &cases[i], test_profile_set_up, test_program, test_profile_tear_down);
    }

  ADD ("pip", test_pip);
  ADD ("roots", test_roots);
  ADD ("devices", test_devices);
  ADD ("system-hides", test_system_hides);
  ADD ("allow-all", test_allow_all);
  ADD ("custom", test_custom);
  ADD ("mounts", test_mounts);
  ADD ("mount-below-mask", test_mount_below_mask);
  ADD ("masks", test_masks);
  ADD ("absent-path", test_absent_path);
  ADD ("links", test_links);
  ADD ("swapped-source", test_swapped_source);
  ADD ("refused-sources", test_refused_sources);
  ADD ("guests-sources", test_guests_sources);
  ADD ("state-directory", test_state_directory);
  ADD ("read-only-workspace", test_read_only_workspace);
  ADD ("same-path", test_same_path);
  ADD ("environment", test_environment);
  ADD ("proc/modes", test_proc_modes);
  ADD ("proc/refused", test_proc_refused);
  ADD ("plan", test_plan);
  ADD ("required", test_required);
  ADD ("refused-wishes", test_refused_wishes);
  ADD ("planted-proof", test_planted_proof);
  if (geteuid () == 0)
    {
      ADD ("root/unreadable-source", test_root_unreadable_source);
      ADD ("root/owned-source", test_root_owned_source);
      ADD ("root/state-alias", test_root_state_alias);
      ADD ("root/without-fresh-proc", test_root_without_fresh_proc);
    }

  return g_test_run ();
}
