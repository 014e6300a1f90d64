/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The layers must leave the work of the innocent alone: large programs that use much of the kernel, with the filters that
 * sessions usually have. What is not installed for this user is named, and has no test then.
 */
#include "../common/test-profile.h"

#define RUST_TARGET "/rust"

typedef struct
{
  const char *name;
  const char *program; /* on the host */
  const char *script;
  const char *output;
} Program;

static const Program programs[] = {
  { "git", "git",
    "git init -q --bare origin.git 2>/dev/null && git clone -q origin.git one 2>/dev/null && cd one && git config user.name n && git config user.email e@example.invalid &&"
    "for i in 1 2 3 4 5 6 7 8; do seq $i 2000 >f$i && git add f$i && git commit -q -m c$i || exit 1; done && git push -q origin HEAD 2>/dev/null &&"
    "git gc -q --aggressive --prune=now && git repack -q -a -d && git fsck 2>/dev/null && cd .. && git clone -q origin.git two && git -C two log --format=%s | wc -l",
    "8\n" },
  { "cargo", "rustc",
    "export PATH=" RUST_TARGET "/bin:$PATH CARGO_HOME=/tmp/cargo && mkdir -p crate/src && cd crate &&"
    "printf '[package]\\nname = \"crate\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n' >Cargo.toml &&"
    "printf 'fn main () { let t = std::thread::spawn (|| println! (\"built\")); t.join ().unwrap (); }\\n' >src/main.rs &&"
    "cargo build -q --offline && ./target/debug/crate",
    "built\n" },
  { "java", "javac",
    "mkdir -p java && cd java &&"
    "printf 'public class P { public static void main (String[] a) throws Exception { Thread t = new Thread (() -> System.out.println (\"ran\")); t.start (); t.join (); }}\\n' >P.java &&"
    "javac P.java && java P",
    "ran\n" },
};

static const struct
{
  const char   *name;
  SandboxView   view;
  SandboxFilter filter;
} places[] = {
  { "minimal", SANDBOX_VIEW_MINIMAL, SANDBOX_FILTER_DEFAULT },
  { "system", SANDBOX_VIEW_SYSTEM, SANDBOX_FILTER_DEFAULT },
  { "strict", SANDBOX_VIEW_MINIMAL, SANDBOX_FILTER_STRICT },
};

typedef struct
{
  const Program *program;
  guint          place;
} ProgramCase;

/* Where rustc has its tools, often in the home directory of a user; NULL when there are none. */
static char *
get_rust_directory (void)
{
  const char      *argv[] = { "rustc", "--print", "sysroot", NULL };
  g_autofree char *directory = NULL;
  int              status = -1;

  if (!g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &directory, NULL, &status, NULL) ||
      status != 0)
    return NULL;

  return g_strchomp (g_steal_pointer (&directory));
}

static void
test_program (TestSandbox  *self,
              gconstpointer data)
{
  const ProgramCase *one = data;
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", one->program->script, NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autofree char *errors = NULL;

  g_test_summary ("A program that uses much of the kernel does its work");

  sandbox_profile_set_view (profile, places[one->place].view);
  sandbox_profile_set_filter (profile, places[one->place].filter);
  if (g_str_equal (one->program->program, "rustc"))
    {
      g_autofree char *directory = get_rust_directory ();

      test_add_mount (profile, directory, RUST_TARGET, SANDBOX_MOUNT_MODE_READ_ONLY);
    }
  test_use_profile (self, profile);
  sandbox_command_set_timeout_ms (command, 120000);
  result = test_run_command (self, command);
  errors = sandbox_result_dup_stderr_text (result);
  if (sandbox_result_get_exit_status (result) != 0)
    g_error ("%s: %s", one->program->name, errors);
  test_assert_output (result, one->program->output);
}

/* Also that this user may come to it: an unprivileged one does not come to root's home. */
static gboolean
is_installed (const char *program)
{
  g_autofree char *found = g_str_equal (program, "rustc") ? get_rust_directory () : g_find_program_in_path (program);

  return found != NULL;
}

int
main (int    argc,
      char **argv)
{
  static ProgramCase cases[G_N_ELEMENTS (programs) * G_N_ELEMENTS (places)];
  guint              n_cases = 0;

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      if (!is_installed (programs[i].program))
        {
          g_test_message ("not installed for this user: %s", programs[i].program);
          continue;
        }
      for (guint j = 0; j < G_N_ELEMENTS (places); j++)
        {
          g_autofree char *path = g_strdup_printf ("/programs/%s/%s", programs[i].name, places[j].name);

          cases[n_cases] = (ProgramCase){ &programs[i], j };
          g_test_add (path, TestSandbox, &cases[n_cases++], test_profile_set_up, test_program, test_profile_tear_down);
        }
    }

  return g_test_run ();
}
