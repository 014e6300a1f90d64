/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-enums.h"
#include "sandbox-error.h"
#include "sandbox-profile-private.h"
#include "value-checks.h"

#include <json-glib/json-glib.h>
#include <string.h>

static void
test_defaults (void)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("A new profile has the documented defaults");

  value_checks_defaults (G_OBJECT (profile));
  g_assert_cmpuint (sandbox_profile_get_guest_uid (profile), ==, 1000);
  g_assert_cmpuint (sandbox_profile_get_guest_gid (profile), ==, 1000);
  g_assert_cmpint (sandbox_profile_get_required (profile), ==, SANDBOX_RESTRICTIONS_NONE);
  g_assert_nonnull (sandbox_profile_get_environment (profile));
}

static void
test_round_trip (void)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("Each property is read as it was set and notified once");

  value_checks_round_trip (G_OBJECT (profile), NULL);
}

static void
test_range (void)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("A user or group above 65535 is a critical and ignored");

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*guest_uid*");
  sandbox_profile_set_guest_uid (profile, 65536);
  g_test_assert_expected_messages ();
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*guest_gid*");
  sandbox_profile_set_guest_gid (profile, (guint) -1);
  g_test_assert_expected_messages ();
  value_checks_defaults (G_OBJECT (profile));

  sandbox_profile_set_guest_uid (profile, 0);
  g_assert_cmpuint (sandbox_profile_get_guest_uid (profile), ==, 0);
}

static void
test_freeze (void)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxProfile) frozen = NULL;
  g_autoptr (SandboxProfile) again = NULL;

  g_test_summary ("A frozen copy has the same values, the limits copied too, and stays so");

  value_checks_round_trip (G_OBJECT (profile), NULL);
  frozen = sandbox_profile_freeze (profile);
  g_assert_true (frozen != profile);
  value_checks_same (G_OBJECT (profile), G_OBJECT (frozen));
  value_checks_frozen (G_OBJECT (frozen), NULL);

  sandbox_profile_set_guest_uid (profile, 1);
  g_assert_cmpuint (sandbox_profile_get_guest_uid (frozen), ==, 65535);

  again = sandbox_profile_freeze (frozen);
  g_assert_true (again == frozen);
}

static void
test_environment (void)
{
  const char *const twice[] = { "A=1", "A=2", NULL };
  const char *const once[] = { "A=2", NULL };
  const char *const bad[] = { "A=1", "no name", NULL };
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxProfile) frozen = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The environment follows the rules of that of a command");

  sandbox_profile_set_environment (profile, twice);
  g_assert_true (sandbox_profile_validate (profile, &error));
  g_assert_no_error (error);
  frozen = sandbox_profile_freeze (profile);
  g_assert_cmpstrv (sandbox_profile_get_environment (frozen), once);

  sandbox_profile_set_environment (profile, bad);
  g_assert_false (sandbox_profile_validate (profile, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
}

static void
test_mount_values (void)
{
  g_autoptr (SandboxMount) mount = sandbox_mount_new ("/srv/data", "/data", SANDBOX_MOUNT_MODE_READ_WRITE);
  g_autoptr (SandboxMount) mask = sandbox_mount_new (NULL, "/opt/secret", SANDBOX_MOUNT_MODE_MASK);
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxProfile) frozen = NULL;
  g_autoptr (SandboxMount) found = NULL;
  g_autofree char *source = NULL;
  SandboxMountMode mode = SANDBOX_MOUNT_MODE_READ_ONLY;

  g_test_summary ("A mount keeps what it is made with; a profile lists its mounts in order, a frozen copy keeps its own list");

  g_object_get (mount, "source", &source, "mode", &mode, NULL);
  g_assert_cmpstr (source, ==, "/srv/data");
  g_assert_cmpint (mode, ==, SANDBOX_MOUNT_MODE_READ_WRITE);
  g_assert_cmpstr (sandbox_mount_get_target (mount), ==, "/data");
  g_assert_null (sandbox_mount_get_source (mask));

  g_assert_cmpuint (g_list_model_get_n_items (sandbox_profile_get_mounts (profile)), ==, 0);
  sandbox_profile_add_mount (profile, mount);
  frozen = sandbox_profile_freeze (profile);
  sandbox_profile_add_mount (profile, mask);
  g_assert_cmpuint (g_list_model_get_n_items (sandbox_profile_get_mounts (profile)), ==, 2);
  g_assert_cmpuint (g_list_model_get_n_items (sandbox_profile_get_mounts (frozen)), ==, 1);
  found = g_list_model_get_item (sandbox_profile_get_mounts (frozen), 0);
  g_assert_true (found == mount);

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*frozen*");
  sandbox_profile_add_mount (frozen, mask);
  g_test_assert_expected_messages ();
}

static void
assert_refused (SandboxProfile *profile,
                int             code,
                const char     *words)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (sandbox_profile_validate (profile, &error));
  g_assert_error (error, SANDBOX_ERROR, code);
  if (strstr (error->message, words) == NULL)
    g_error ("“%s” does not say “%s”", error->message, words);
}

static void
test_targets (void)
{
  static const struct
  {
    const char *target;
    const char *words; /* NULL: good */
  } targets[] = {
    { "/data", NULL },
    { "/data/deep/er", NULL },
    { "/run/thing", NULL },
    { "/usr", NULL },
    { "/etc/ssl/certs", NULL },
    { "/workspaces", NULL },
    { "/tmpfs", NULL },
    { "/procedure", NULL },
    { "/.hidden", NULL },
    { "/a b/…/c", NULL },
    { "", "not absolute" },
    { "data", "not absolute" },
    { "/", "is the root" },
    { "/data/", "ends in a slash" },
    { "//data", "has an empty part" },
    { "/a//b", "has an empty part" },
    { "/a/./b", "single dot" },
    { "/a/../b", "upwards" },
    { "/..", "upwards" },
    { "/\xff", "not UTF-8" },
    { "/proc", "of their own" },
    { "/proc/self", "of their own" },
    { "/dev", "of their own" },
    { "/dev/shm/x", "of their own" },
    { "/run", "of their own" },
    { "/run/sandbox-agent", "of their own" },
    { "/run/sandbox-glib/x", "of their own" },
    { "/tmp", "of their own" },
    { "/tmp/x", "where commands can write" },
    { "/workspace", "where commands can write" },
    { "/workspace/conf/settings", "where commands can write" },
  };
  g_autofree char *name = g_strnfill (256, 'x');
  g_autofree char *long_name = g_strconcat ("/", name, NULL);

  g_test_summary ("Case 91: targets are absolute and in one spelling, and nothing is mounted where sandboxes have something "
                  "of their own or where commands can write");

  for (guint i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
      g_autoptr (SandboxMount) mount = sandbox_mount_new ("/srv", targets[i].target, SANDBOX_MOUNT_MODE_READ_ONLY);
      g_autoptr (GError) error = NULL;

      g_autofree char *shown = g_strescape (targets[i].target, NULL);

      g_test_message ("%s", shown);
      sandbox_profile_add_mount (profile, mount);
      if (targets[i].words != NULL)
        assert_refused (profile, SANDBOX_ERROR_INVALID, targets[i].words);
      else
        {
          sandbox_profile_validate (profile, &error);
          g_assert_no_error (error);
        }
    }

  {
    g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
    g_autoptr (SandboxMount) mount = sandbox_mount_new ("/srv", long_name, SANDBOX_MOUNT_MODE_READ_ONLY);

    sandbox_profile_add_mount (profile, mount);
    assert_refused (profile, SANDBOX_ERROR_INVALID, "255 bytes");
  }
}

static void
test_mounts_together (void)
{
  g_autoptr (SandboxMount) open = sandbox_mount_new ("/srv/a", "/data", SANDBOX_MOUNT_MODE_READ_WRITE);
  g_autoptr (SandboxMount) closed = sandbox_mount_new ("/srv/a", "/data", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxMount) below = sandbox_mount_new ("/srv/b", "/data/b", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxMount) beside = sandbox_mount_new ("/srv/b", "/data-b", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxMount) mask = sandbox_mount_new ("/srv/b", "/c", SANDBOX_MOUNT_MODE_MASK);
  g_autoptr (SandboxMount) nothing = sandbox_mount_new (NULL, "/c", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxMount) relative = sandbox_mount_new ("srv", "/c", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxProfile) twice = sandbox_profile_new ();
  g_autoptr (SandboxProfile) many = sandbox_profile_new ();

  g_test_summary ("Mounts: one for each target, none below a writable one, a source unless it is a mask, and 64 at most");

  sandbox_profile_add_mount (profile, closed);
  sandbox_profile_add_mount (profile, below);
  sandbox_profile_add_mount (profile, beside);
  g_assert_true (sandbox_profile_validate (profile, NULL));
  sandbox_profile_add_mount (profile, closed);
  assert_refused (profile, SANDBOX_ERROR_INVALID, "twice");

  sandbox_profile_add_mount (twice, below);
  sandbox_profile_add_mount (twice, open);
  assert_refused (twice, SANDBOX_ERROR_INVALID, "below another mount");

  {
    SandboxMount *const wrong[] = { mask, nothing, relative };
    const char *const   words[] = { "has a source", "has no source", "not absolute" };

    for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
      {
        g_autoptr (SandboxProfile) one = sandbox_profile_new ();

        sandbox_profile_add_mount (one, wrong[i]);
        assert_refused (one, SANDBOX_ERROR_INVALID, words[i]);
      }
  }

  for (guint i = 0; i < 65; i++)
    {
      g_autofree char *target = g_strdup_printf ("/m%u", i);
      g_autoptr (SandboxMount) mount = sandbox_mount_new ("/srv", target, SANDBOX_MOUNT_MODE_READ_ONLY);

      sandbox_profile_add_mount (many, mount);
      if (i < 64)
        g_assert_true (sandbox_profile_validate (many, NULL));
    }
  assert_refused (many, SANDBOX_ERROR_LIMIT, "64");
}

static void
test_workspace_target (void)
{
  static const char *const good[] = { "/workspace", "/home/user/project", "/tmp/project", "/srv", "/usr/src/project" };
  static const char *const bad[] = { "", "/", "here", "/a/", "/a/../b", "/proc", "/proc/1", "/dev/shm/a", "/run",
                                     "/run/a", "/tmp", "/usr", "/etc", "/bin", "/lib64" };
  g_autoptr (SandboxMount) mount = sandbox_mount_new ("/srv", "/home/user", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxProfile) below = sandbox_profile_new ();

  g_test_summary ("The workspace can be anywhere but where programs are or sandboxes have something of their own");

  for (guint i = 0; i < G_N_ELEMENTS (good) + G_N_ELEMENTS (bad); i++)
    {
      gboolean    is_good = i < G_N_ELEMENTS (good);
      const char *target = is_good ? good[i] : bad[i - G_N_ELEMENTS (good)];
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

      g_test_message ("%s", target);
      sandbox_profile_set_workspace_target (profile, target);
      if (is_good)
        g_assert_true (sandbox_profile_validate (profile, NULL));
      else
        assert_refused (profile, SANDBOX_ERROR_INVALID, "workspace target");
    }

  sandbox_profile_set_workspace_target (below, "/home/user/project");
  sandbox_profile_add_mount (below, mount);
  assert_refused (below, SANDBOX_ERROR_INVALID, "above it");
}

static void
test_proc (void)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("A self-exe goes with its own proc mode, and only with that");

  sandbox_profile_set_proc (profile, SANDBOX_PROC_MODE_SELF_EXE);
  assert_refused (profile, SANDBOX_ERROR_INVALID, "needs a self-exe");
  sandbox_profile_set_self_exe (profile, "node");
  assert_refused (profile, SANDBOX_ERROR_INVALID, "not absolute");
  sandbox_profile_set_self_exe (profile, "/usr/bin/node");
  g_assert_true (sandbox_profile_validate (profile, NULL));

  for (int mode = SANDBOX_PROC_MODE_AUTO; mode < SANDBOX_PROC_MODE_SELF_EXE; mode++)
    {
      sandbox_profile_set_proc (profile, mode);
      assert_refused (profile, SANDBOX_ERROR_INVALID, "only for the proc mode");
    }
}

static void
test_presets (void)
{
  static const struct
  {
    const char         *name;
    SandboxView         view;
    gboolean            read_only;
    SandboxFilter       filter;
    SandboxRestrictions missing;
  } presets[] = {
    { "agent", SANDBOX_VIEW_MINIMAL, FALSE, SANDBOX_FILTER_DEFAULT, SANDBOX_RESTRICTIONS_NETWORK_DENIED },
    { "build", SANDBOX_VIEW_SYSTEM, FALSE, SANDBOX_FILTER_DEBUGGER, SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_SECRETS_HIDDEN },
    { "inspect", SANDBOX_VIEW_MINIMAL, TRUE, SANDBOX_FILTER_STRICT, SANDBOX_RESTRICTIONS_NONE },
    { "converter", SANDBOX_VIEW_MINIMAL, FALSE, SANDBOX_FILTER_STRICT, SANDBOX_RESTRICTIONS_NONE },
  };
  static const char *const  unknown[] = { "", "Agent", "agents", "agent ", "default" };
  const SandboxRestrictions all = SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_WRITE_CONTAINED |
                                  SANDBOX_RESTRICTIONS_SECRETS_HIDDEN | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED;

  g_test_summary ("Each preset is a good profile that needs no control group and can be changed; another name gives none");

  for (guint i = 0; i < G_N_ELEMENTS (presets); i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new_preset (presets[i].name);
      g_autoptr (SandboxProfile) read = NULL;
      g_autoptr (GError) error = NULL;
      g_autofree char *text = NULL;
      SandboxLimits   *limits = NULL;

      g_test_message ("%s", presets[i].name);
      g_assert_true (sandbox_profile_validate (profile, &error));
      g_assert_no_error (error);
      g_assert_cmpint (sandbox_profile_get_view (profile), ==, presets[i].view);
      g_assert_cmpint (sandbox_profile_get_workspace_read_only (profile), ==, presets[i].read_only);
      g_assert_cmpint (sandbox_profile_get_filter (profile), ==, presets[i].filter);
      g_assert_cmpint (sandbox_profile_get_required (profile), ==, all & ~presets[i].missing);
      g_assert_nonnull (g_environ_getenv ((char **) sandbox_profile_get_environment (profile), "LANG"));

      limits = sandbox_profile_get_limits (profile);
      g_assert_cmpuint (sandbox_limits_get_memory_bytes (limits), ==, 0);
      g_assert_cmpuint (sandbox_limits_get_tasks (limits), ==, 0);
      g_assert_cmpuint (sandbox_limits_get_cpu_percent (limits), ==, 0);
      g_assert_cmpuint (sandbox_limits_get_processes (limits), >, 0);
      g_assert_cmpuint (sandbox_limits_get_open_files (limits), >, 0);
      g_assert_cmpuint (sandbox_limits_get_tmp_bytes (limits), >, 0);
      g_assert_cmpuint (sandbox_limits_get_shm_bytes (limits), >, 0);

      text = sandbox_profile_to_json (profile);
      read = sandbox_profile_new_from_json (text, &error);
      g_assert_no_error (error);
      value_checks_same (G_OBJECT (profile), G_OBJECT (read));

      sandbox_limits_set_tasks (limits, 5);
      sandbox_profile_set_guest_uid (profile, 5);
      {
        g_autoptr (SandboxProfile) again = sandbox_profile_new_preset (presets[i].name);

        g_assert_cmpuint (sandbox_limits_get_tasks (sandbox_profile_get_limits (again)), ==, 0);
        g_assert_cmpuint (sandbox_profile_get_guest_uid (again), ==, 1000);
      }
    }

  for (guint i = 0; i < G_N_ELEMENTS (unknown); i++)
    g_assert_null (sandbox_profile_new_preset (unknown[i]));
}

/* What is told of @path has all of @words, which are separated by |. */
static void
assert_explained (SandboxProfile *profile,
                  const char     *path,
                  const char     *words)
{
  g_autofree char *text = sandbox_profile_explain (profile, path);
  g_auto (GStrv) parts = g_strsplit (words, "|", -1);

  g_test_message ("%s", text);
  g_assert_true (g_str_has_prefix (text, "“"));
  g_assert_true (g_str_has_suffix (text, "."));
  for (guint i = 0; parts[i] != NULL; i++)
    if (strstr (text, parts[i]) == NULL)
      g_error ("“%s” does not say “%s”", text, parts[i]);
}

static void
test_explain (void)
{
  static const struct
  {
    const char *path;
    const char *minimal;
    const char *system;
    const char *custom;
  } places[] = {
    { "/", "own|not make anything", "own", "own" },
    { "/usr", "“/usr” of the host|minimal view|not change", "“/usr” of the host|system view|not change", "is not there|custom view" },
    { "/usr/bin/git", "“/usr/bin/git” of the host|not change", "“/usr/bin/git” of the host|not change", "is not there" },
    { "/usrlocal", "is not there", "is not there", "is not there" },
    { "/lib64/ld.so", "“/lib64/ld.so” of the host", "“/lib64/ld.so” of the host", "is not there" },
    { "/etc", "made for the sandbox|no secret", "“/etc” of the host|every user|is hidden", "is not there" },
    { "/etc/passwd", "made for the sandbox|no account", "made for the sandbox|no account", "is not there" },
    { "/etc/shadow", "is not there|“/etc” is made", "“/etc/shadow” of the host|every user|is hidden", "is not there" },
    { "/etc/ssl/certs/a.pem", "certificates|not change", "“/etc/ssl/certs/a.pem” of the host", "is not there" },
    { "/etc/fonts/fonts.conf", "“/etc/fonts/fonts.conf” of the host", "of the host", "is not there" },
    { "/etc/java-17-openjdk/security", "“/etc/java-17-openjdk/security” of the host|not change", "“/etc/java-17-openjdk/security” of the host", "is not there" },
    { "/etc/ssl/private", "is not there", "every user", "is not there" },
    { "/etc/resolv.conf", "for sessions that have its network", "of the host", "is not there" },
    { "/opt/tool", "is not there", "“/opt/tool” of the host|not change", "is not there" },
    { "/home/user/.ssh", "is not there", "is not there|“/home” is an empty directory", "is not there" },
    { "/root", "is not there", "an empty directory", "is not there" },
    { "/tmp", "memory|256.0\u00a0MiB|read and write", "memory", "memory" },
    { "/tmp/x/y", "memory|read and write", "memory", "memory" },
    { "/dev/shm/x", "memory|16.0\u00a0MiB", "memory", "memory" },
    { "/dev/null", "device", "device", "device" },
    { "/dev/sda", "is not there|“/dev” is", "is not there", "is not there" },
    { "/dev/pts/0", "terminals", "terminals", "terminals" },
    { "/run/user/1000/bus", "is not there|“/run” is", "is not there", "is not there" },
    { "/sys", "is not there", "is not there", "is not there" },
    { "/proc/1/environ", "procfs of the sandbox's own", "procfs", "procfs" },
    { "/workspace", "“.” of the workspace|read and write", "“.” of the workspace", "“.” of the workspace" },
    { "/workspace/src/a.c", "“src/a.c” of the workspace|read and write", "workspace", "workspace" },
    { "/workspaces", "is not there", "is not there", "is not there" },
    { "src/a.c", "no path of a sandbox: it is not absolute", "not absolute", "not absolute" },
    { "", "not absolute", "not absolute", "not absolute" },
    { "/usr/../etc", "no path of a sandbox", "upwards", "upwards" },
    { "/usr/\x1b[31m\n", "\\x1b[31m\\x0a", "of the host", "is not there" },
    { "/\xff", "not UTF-8", "not UTF-8", "not UTF-8" },
  };

  g_test_summary ("Each view is explained place by place: what it is, whose, and whether commands can change it, also where nothing is");

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      const char *const words[] = { places[i].minimal, places[i].system, places[i].custom };

      for (guint view = 0; view < G_N_ELEMENTS (words); view++)
        {
          g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

          sandbox_profile_set_view (profile, view);
          assert_explained (profile, places[i].path, words[view]);
        }
    }
}

static void
test_explain_profile (void)
{
  g_autoptr (SandboxMount) models = sandbox_mount_new ("/srv/models", "/models/v1", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxMount) cache = sandbox_mount_new ("/srv/cache", "/usr/cache", SANDBOX_MOUNT_MODE_READ_WRITE);
  g_autoptr (SandboxMount) mask = sandbox_mount_new (NULL, "/usr/share/doc", SANDBOX_MOUNT_MODE_MASK);
  g_autoptr (SandboxMount) hooks = sandbox_mount_new (NULL, "/home/user/project/.git/hooks", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();

  g_test_summary ("What a profile adds is explained by its mounts, masks, workspace, proc and limits");

  sandbox_profile_set_view (profile, SANDBOX_VIEW_SYSTEM);
  sandbox_profile_add_mount (profile, models);
  sandbox_profile_add_mount (profile, cache);
  sandbox_profile_add_mount (profile, mask);
  sandbox_profile_add_mount (profile, hooks);
  sandbox_profile_set_workspace_target (profile, "/home/user/project");
  sandbox_limits_set_tmp_bytes (limits, 0);
  sandbox_profile_set_limits (profile, limits);
  g_assert_true (sandbox_profile_validate (profile, NULL));

  assert_explained (profile, "/models/v1/a/b", "“/srv/models/a/b” of the host|mount at “/models/v1”|not change");
  assert_explained (profile, "/models", "a directory of the sandbox's own|“/models/v1”|cannot make");
  assert_explained (profile, "/models/v2", "is not there");
  assert_explained (profile, "/usr/cache/x", "“/srv/cache/x” of the host|read and write it, on the host too");
  assert_explained (profile, "/usr/cached", "“/usr/cached” of the host|system view");
  assert_explained (profile, "/usr/share/doc", "hidden by a mask");
  assert_explained (profile, "/usr/share/doc/a", "is not there|mask at “/usr/share/doc”");
  assert_explained (profile, "/home", "empty directory");
  assert_explained (profile, "/home/user", "a directory of the sandbox's own|“/home/user/project”");
  assert_explained (profile, "/home/user/project", "“.” of the workspace|read and write");
  assert_explained (profile, "/home/user/project/.git", "not rename or remove it|.git/hooks” below it is protected");
  assert_explained (profile, "/home/user/project/.git/hooks/a", "protected by a mount|not change");
  assert_explained (profile, "/home/user/project/.git/config", "read and write it, and so can the host");
  assert_explained (profile, "/workspace", "is not there");
  assert_explained (profile, "/tmp/a", "as much as the kernel gives");

  sandbox_profile_set_workspace_read_only (profile, TRUE);
  assert_explained (profile, "/home/user/project/a", "the workspace is read-only");

  sandbox_profile_set_proc (profile, SANDBOX_PROC_MODE_AUTO);
  assert_explained (profile, "/proc/self", "where the host cannot mount one, it is not there");
  sandbox_profile_set_proc (profile, SANDBOX_PROC_MODE_NONE);
  assert_explained (profile, "/proc", "an empty directory");
  assert_explained (profile, "/proc/self", "is not there");
  sandbox_profile_set_proc (profile, SANDBOX_PROC_MODE_SELF_EXE);
  sandbox_profile_set_self_exe (profile, "/usr/bin/node");
  assert_explained (profile, "/proc/self", "nothing but /proc/self/exe");
  assert_explained (profile, "/proc/self/exe", "a link to “/usr/bin/node”");
  assert_explained (profile, "/proc/self/fd", "is not there");
}

static void
test_launcher (void)
{
  static const struct
  {
    int             uid;
    int             gid;
    SandboxIdentity identity;
    const char     *words; /* NULL: good */
  } launchers[] = {
    { -1, -1, SANDBOX_IDENTITY_HOST, NULL },
    { 1, 0, SANDBOX_IDENTITY_AUTO, NULL },
    { G_MAXINT, G_MAXINT, SANDBOX_IDENTITY_AUTO, NULL },
    { 1, -1, SANDBOX_IDENTITY_AUTO, "go together" },
    { -1, 1, SANDBOX_IDENTITY_AUTO, "go together" },
    { 0, 1, SANDBOX_IDENTITY_AUTO, "root’s" },
    { 1, 1, SANDBOX_IDENTITY_OWNER, "“identity” is auto" },
    { 1, 1, SANDBOX_IDENTITY_HOST, "“identity” is auto" },
  };
  g_autoptr (SandboxProfile) range = sandbox_profile_new ();

  g_test_summary ("A launcher is a user and a group, not root, and goes with no other identity");

  for (guint i = 0; i < G_N_ELEMENTS (launchers); i++)
    {
      g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

      sandbox_profile_set_launcher_uid (profile, launchers[i].uid);
      sandbox_profile_set_launcher_gid (profile, launchers[i].gid);
      sandbox_profile_set_identity (profile, launchers[i].identity);
      if (launchers[i].words == NULL)
        g_assert_true (sandbox_profile_validate (profile, NULL));
      else
        assert_refused (profile, SANDBOX_ERROR_INVALID, launchers[i].words);
    }

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*launcher_uid >= -1*");
  sandbox_profile_set_launcher_uid (range, -2);
  g_test_assert_expected_messages ();
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*launcher_gid >= -1*");
  sandbox_profile_set_launcher_gid (range, G_MININT);
  g_test_assert_expected_messages ();
  value_checks_defaults (G_OBJECT (range));
}

static void
test_json_round_trip (void)
{
  g_autoptr (SandboxProfile) plain = sandbox_profile_new ();
  g_autoptr (SandboxProfile) full = sandbox_profile_new ();
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxMount) mount = sandbox_mount_new ("/srv/\"models\"", "/models", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxMount) mask = sandbox_mount_new (NULL, "/opt/secret", SANDBOX_MOUNT_MODE_MASK);
  const char *const     environment[] = { "A=1", "B=x=\xc3\xa9\n", NULL };
  SandboxProfile *const profiles[] = { plain, full };

  g_test_summary ("What is written is read again as the same profile, and written as the same text");

  sandbox_limits_set_cpu_seconds (limits, G_MAXINT64);
  sandbox_profile_set_view (full, SANDBOX_VIEW_SYSTEM);
  sandbox_profile_add_mount (full, mount);
  sandbox_profile_add_mount (full, mask);
  sandbox_profile_set_workspace_read_only (full, TRUE);
  sandbox_profile_set_workspace_target (full, "/home/user/project");
  sandbox_profile_set_proc (full, SANDBOX_PROC_MODE_SELF_EXE);
  sandbox_profile_set_self_exe (full, "/usr/bin/node");
  sandbox_profile_set_environment (full, environment);
  sandbox_profile_set_launcher_uid (full, G_MAXINT);
  sandbox_profile_set_launcher_gid (full, 0);
  sandbox_profile_set_filter (full, SANDBOX_FILTER_STRICT);
  sandbox_profile_set_guest_uid (full, 0);
  sandbox_profile_set_guest_gid (full, 65535);
  sandbox_profile_set_limits (full, limits);
  sandbox_profile_set_required (full, SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_SECRETS_HIDDEN);

  for (guint i = 0; i < G_N_ELEMENTS (profiles); i++)
    {
      g_autofree char *text = sandbox_profile_to_json (profiles[i]);
      g_autofree char *again = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (SandboxProfile) read = sandbox_profile_new_from_json (text, &error);

      g_assert_no_error (error);
      value_checks_same (G_OBJECT (profiles[i]), G_OBJECT (read));
      again = sandbox_profile_to_json (read);
      g_assert_cmpstr (again, ==, text);
    }
}

static void
test_json_strict (void)
{
  static const struct
  {
    const char *text;
    const char *words; /* NULL: good */
  } texts[] = {
    { "{}", NULL },
    { " {\r\n\t\"view\" : \"custom\" } ", NULL },
    { "{\"limits\": null, \"self-exe\": null}", NULL },
    { "{\"required\": [\"network-denied\"], \"environment\": [\"A=\\ud83d\\ude00\"]}", NULL },
    { "", "the text is empty" },
    { " \n", "the text is empty" },
    { "[]", "object" },
    { "null", "object" },
    { "{} {}", "after the end" },
    { "{,}", "string" },
    { "{\"view\": \"system\",}", "comma" },
    { "{\"view\" \"system\"}", "colon" },
    { "{'view': 'system'}", "string" },
    { "{view: \"system\"}", "string" },
    { "// words\n{}", "object" },
    { "{\"view\": /* words */ \"system\"}", "no value" },
    { "var profile = {}", "object" },
    { "{\"view\": \"system\"", "ends early" },
    { "{\"view\": \"sys", "without an end; the text ends early" },
    { "{\"view\": \"a\nb\"}", "control character" },
    { "{\"view\": \"\\x41\"}", "escape" },
    { "{\"view\": \"\\u0000\"}", "NUL" },
    { "{\"view\": \"\\ud800\"}", "surrogate" },
    { "{\"view\": \"\xff\"}", "UTF-8" },
    { "{\"guest-uid\": 01}", "no value" },
    { "{\"guest-uid\": 0x10}", "comma" },
    { "{\"guest-uid\": +1}", "no value" },
    { "{\"guest-uid\": 1.}", "without an end" },
    { "{\"guest-uid\": NaN}", "no value" },
    { "{\"guest-uid\": 99999999999999999999}", "too large" },
    { "{\"view\": \"system\", \"view\": \"minimal\"}", "the name “view” twice" },
    { "{\"view\": \"system\", \"vi\\u0065w\": \"minimal\"}", "twice" },
    { "{\"limits\": {\"tasks\": 1, \"tasks\": 2}, \"limits\": null}", "the name “tasks” twice" },
    { "{\"veiw\": \"system\"}", "“veiw”, which is unknown" },
    { "{\"guest_uid\": 1}", "“guest_uid”, which is unknown" },
    { "{\"limits\": {\"tasks\": -1}}", "“limits.tasks” is -1" },
    { "{\"limits\": {\"cpu\": 1}}", "“limits.cpu”, which is unknown" },
    { "{\"limits\": []}", "limits" },
    { "{\"view\": \"whole\"}", "“view” is “whole”; it can be minimal, system or custom" },
    { "{\"view\": \"\\u001b[31m\"}", "“view” is “\\x1b[31m”" },
    { "{\"view\": 1}", "“view” is 1; it can be minimal" },
    { "{\"view\": null}", "“view” is null" },
    { "{\"identity\": \"host\", \"filter\": \"debugger\", \"launcher-uid\": -1, \"launcher-gid\": -1}", NULL },
    { "{\"launcher-uid\": 2147483647, \"launcher-gid\": 0}", NULL },
    { "{\"launcher-uid\": 5}", "go together" },
    { "{\"launcher-uid\": -2}", "“launcher-uid” is -2; it can be a number from -1 to 2147483647" },
    { "{\"launcher-gid\": 2147483648}", "“launcher-gid” is 2147483648; it can be" },
    { "{\"launcher-gid\": -9223372036854775808}", "“launcher-gid” is -9223372036854775808; it can be" },
    { "{\"launcher-uid\": 0, \"launcher-gid\": 0}", "root’s" },
    { "{\"identity\": \"root\"}", "“identity” is “root”; it can be auto, owner or host" },
    { "{\"filter\": \"none\"}", "“filter” is “none”; it can be default, strict or debugger" },
    { "{\"guest-uid\": 65536}", "“guest-uid” is 65536; it can be a number from 0 to 65535" },
    { "{\"guest-uid\": -1}", "guest-uid" },
    { "{\"guest-uid\": 4294967296}", "guest-uid" },
    { "{\"guest-uid\": 1.5}", "guest-uid" },
    { "{\"guest-uid\": \"1\"}", "guest-uid" },
    { "{\"workspace-read-only\": 1}", "it can be true or false" },
    { "{\"workspace-target\": null}", "workspace-target" },
    { "{\"workspace-target\": \"/\"}", "is the root" },
    { "{\"required\": \"network-denied\"}", "required" },
    { "{\"required\": [\"none\"]}", "once at most: network-denied, write-contained" },
    { "{\"required\": [\"network-denied\", \"network-denied\"]}", "required" },
    { "{\"environment\": [1]}", "environment" },
    { "{\"environment\": {\"A\": \"1\"}}", "environment" },
    { "{\"environment\": [\"no name\"]}", "NAME=value" },
    { "{\"self-exe\": \"/bin/true\"}", "only for" },
    { "{\"mounts\": {}}", "mounts" },
    { "{\"mounts\": [1]}", "mounts" },
    { "{\"mounts\": [{\"source\": \"/a\", \"target\": \"/b\"}]}", "mode" },
    { "{\"mounts\": [{\"source\": \"/a\", \"mode\": \"read-only\"}]}", "target" },
    { "{\"mounts\": [{\"source\": \"/a\", \"target\": \"/b\", \"mode\": \"ro\"}]}", "“mounts[0].mode” is “ro”; it can be read-only, read-write or mask" },
    { "{\"mounts\": [{\"source\": \"/a\", \"target\": \"/b\", \"mode\": \"read-only\", \"x\": 1}]}", "mounts[0].x" },
    { "{\"mounts\": [{\"source\": \"/a\", \"target\": \"/proc\", \"mode\": \"read-only\"}]}", "of their own" },
  };

  g_test_summary ("JSON is read strictly: what is unknown, doubled, of another kind or out of range is named and refused");

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (SandboxProfile) profile = sandbox_profile_new_from_json (texts[i].text, &error);

      g_autofree char *shown = g_strescape (texts[i].text, NULL);

      g_test_message ("%s", shown);
      if (texts[i].words == NULL)
        {
          g_assert_no_error (error);
          g_assert_nonnull (profile);
          continue;
        }
      g_assert_null (profile);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      if (strstr (error->message, texts[i].words) == NULL)
        g_error ("“%s” does not say “%s”", error->message, texts[i].words);
    }
}

static void
test_json_secrets (void)
{
  static const char *const texts[] = {
    "{\"environment\": \"TOKEN=hush\"}",
    "{\"environment\": [\"TOKEN=hush\", 1]}",
    "{\"environment\": {\"TOKEN\": \"hush\"}}",
    "{\"environment\": [\"TOKEN=hush\"",
    "{\"environment\": [\"1TOKEN=hush\"]}",
  };

  g_test_summary ("No message repeats a value of an environment");

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (sandbox_profile_new_from_json (texts[i], &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_assert_null (strstr (error->message, "hush"));
    }
}

static void
test_json_size (void)
{
  g_autofree char *blanks = g_strnfill (256 * 1024, ' ');
  g_autofree char *large = g_strconcat (blanks, "{}", NULL);
  g_autofree char *brackets = g_strnfill (100000, '[');
  g_autofree char *deep = g_strconcat ("{\"mounts\": ", brackets, NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("What is too long or too deep is refused before it is read");

  g_assert_null (sandbox_profile_new_from_json (large, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  g_assert_null (sandbox_profile_new_from_json (deep, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "levels"));
}

static JsonObject *
load_schema (JsonParser *parser)
{
  g_autofree char *path = g_build_filename (g_getenv ("SANDBOX_TEST_DATA"), "..", "introspection", "profile.schema.json", NULL);
  g_autoptr (GError) error = NULL;

  json_parser_load_from_file (parser, path, &error);
  g_assert_no_error (error);

  return json_node_get_object (json_parser_get_root (parser));
}

/* The nicks of an enumeration or of flags without their none. */
static guint
check_schema_nicks (GType      type,
                    JsonArray *nicks)
{
  g_autoptr (GTypeClass) klass = g_type_class_ref (type);
  guint n_values = 0;

  for (guint i = 0; i < json_array_get_length (nicks); i++)
    {
      const char *nick = json_array_get_string_element (nicks, i);

      if (G_TYPE_IS_ENUM (type))
        g_assert_nonnull (g_enum_get_value_by_nick (G_ENUM_CLASS (klass), nick));
      else
        g_assert_nonnull (g_flags_get_value_by_nick (G_FLAGS_CLASS (klass), nick));
    }
  if (G_TYPE_IS_ENUM (type))
    n_values = G_ENUM_CLASS (klass)->n_values;
  else
    for (guint i = 0; i < G_FLAGS_CLASS (klass)->n_values; i++)
      n_values += G_FLAGS_CLASS (klass)->values[i].value != 0 ? 1 : 0;

  return n_values;
}

/* @schema says about the properties of @type what the type says; @more is the name of one that is none. */
static void
check_schema (JsonObject *schema,
              GType       type,
              const char *more)
{
  g_autoptr (GTypeClass) klass = g_type_class_ref (type);
  JsonObject             *members = json_object_get_object_member (schema, "properties");
  guint                   n_properties = 0;
  g_autofree GParamSpec **properties = g_object_class_list_properties (G_OBJECT_CLASS (klass), &n_properties);

  g_assert_false (json_object_get_boolean_member (schema, "additionalProperties"));
  g_assert_cmpuint (json_object_get_size (members), ==, n_properties + (more != NULL ? 1 : 0));
  if (more != NULL)
    g_assert_true (json_object_has_member (members, more));

  for (guint i = 0; i < n_properties; i++)
    {
      JsonObject *member = NULL;

      g_test_message ("%s", properties[i]->name);
      g_assert_true (json_object_has_member (members, properties[i]->name));
      member = json_object_get_object_member (members, properties[i]->name);
      if (G_IS_PARAM_SPEC_ENUM (properties[i]))
        {
          JsonArray *nicks = json_object_get_array_member (member, "enum");

          g_assert_cmpuint (json_array_get_length (nicks), ==, check_schema_nicks (properties[i]->value_type, nicks));
        }
      else if (G_IS_PARAM_SPEC_FLAGS (properties[i]))
        {
          JsonArray *nicks = json_object_get_array_member (json_object_get_object_member (member, "items"), "enum");

          g_assert_cmpuint (json_array_get_length (nicks), ==, check_schema_nicks (properties[i]->value_type, nicks));
        }
      else if (G_IS_PARAM_SPEC_INT (properties[i]))
        {
          g_assert_cmpint (json_object_get_int_member (member, "minimum"), ==, G_PARAM_SPEC_INT (properties[i])->minimum);
          g_assert_cmpint (json_object_get_int_member (member, "maximum"), ==, G_PARAM_SPEC_INT (properties[i])->maximum);
        }
      else if (G_IS_PARAM_SPEC_UINT (properties[i]))
        g_assert_cmpint (json_object_get_int_member (member, "maximum"), ==, G_PARAM_SPEC_UINT (properties[i])->maximum);
      else if (G_IS_PARAM_SPEC_UINT64 (properties[i]))
        g_assert_cmpint (json_object_get_int_member (member, "maximum"), ==, (gint64) G_PARAM_SPEC_UINT64 (properties[i])->maximum);
      else if (properties[i]->value_type == SANDBOX_TYPE_LIMITS)
        check_schema (member, SANDBOX_TYPE_LIMITS, NULL);
    }
}

static void
test_json_schema (void)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *schema = load_schema (parser);
  JsonObject *mounts = json_object_get_object_member (json_object_get_object_member (schema, "properties"), "mounts");

  g_test_summary ("The schema has exactly the names, ranges and words that the parser knows");

  check_schema (schema, SANDBOX_TYPE_PROFILE, "mounts");
  check_schema (json_object_get_object_member (mounts, "items"), SANDBOX_TYPE_MOUNT, NULL);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/profile/defaults", test_defaults);
  g_test_add_func ("/profile/round-trip", test_round_trip);
  g_test_add_func ("/profile/range", test_range);
  g_test_add_func ("/profile/freeze", test_freeze);
  g_test_add_func ("/profile/environment", test_environment);
  g_test_add_func ("/profile/mount", test_mount_values);
  g_test_add_func ("/profile/targets", test_targets);
  g_test_add_func ("/profile/mounts-together", test_mounts_together);
  g_test_add_func ("/profile/workspace-target", test_workspace_target);
  g_test_add_func ("/profile/proc", test_proc);
  g_test_add_func ("/profile/launcher", test_launcher);
  g_test_add_func ("/profile/presets", test_presets);
  g_test_add_func ("/profile/explain", test_explain);
  g_test_add_func ("/profile/explain-profile", test_explain_profile);
  g_test_add_func ("/profile/json/round-trip", test_json_round_trip);
  g_test_add_func ("/profile/json/strict", test_json_strict);
  g_test_add_func ("/profile/json/secrets", test_json_secrets);
  g_test_add_func ("/profile/json/size", test_json_size);
  g_test_add_func ("/profile/json/schema", test_json_schema);

  return g_test_run ();
}
