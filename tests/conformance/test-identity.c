/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who commands are on the host, read from outside, and whose the files are that they and the host write. */
#include "../common/test-sandbox.h"

#include <grp.h>
#include <sys/file.h>

#define CLAIMS "/run/sandbox-glib"
/* The one before has what is stored, and nobody else. */
#define FIRST_ID 61185
#define LAST_ID 65519
/* A user with nothing to do with any workspace */
#define OTHER_ID 12345

static void
assert_ids (pid_t       pid,
            const char *key,
            guint       id)
{
  g_autofree char *status = test_read_proc (pid, "status", NULL);
  g_autofree char *line = g_strdup_printf ("\n%s:\t%u\t%u\t%u\t%u\n", key, id, id, id, id);

  g_assert_nonnull (status);
  if (strstr (status, line) == NULL)
    g_error ("%s of %d is not %u: %s", key, (int) pid, id, status);
}

/* The one uid that the processes with @marker have, real, effective, saved and for files. */
static guint
find_uid (const char *marker)
{
  g_autoptr (GArray) found = NULL;
  gint64 uid = -1;

  test_marker_wait (marker, 1);
  found = test_marker_find (marker);
  for (guint i = 0; i < found->len; i++)
    {
      pid_t pid = g_array_index (found, pid_t, i);

      if (i == 0)
        uid = test_read_status (pid, "Uid", 10);
      g_assert_cmpint (uid, >=, 0);
      assert_ids (pid, "Uid", (guint) uid);
      if (geteuid () == 0)
        assert_ids (pid, "Gid", (guint) uid);
    }

  return (guint) uid;
}

/* Whether somebody holds the claim on @uid. */
static gboolean
is_claimed (guint uid)
{
  g_autofree char *path = g_strdup_printf ("%s/uid-%u", CLAIMS, uid);
  struct flock     lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  int              fd = open (path, O_RDWR | O_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (fcntl (fd, F_OFD_GETLK, &lock), ==, 0);
  close (fd);

  return lock.l_type != F_UNLCK;
}

static void
assert_owner (const char *directory,
              const char *name,
              uid_t       uid,
              gid_t       gid)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);
  struct stat      info;

  g_assert_cmpint (lstat (path, &info), ==, 0);
  if (info.st_uid != uid || info.st_gid != gid)
    g_error ("%s belongs to %u:%u, not to %u:%u", name, info.st_uid, info.st_gid, uid, gid);
  g_assert_cmpuint (info.st_mode & (S_ISUID | S_ISGID), ==, 0);
}

/* A session that writes in every way, over @workspace, whose files belong to @uid and @gid. */
static void
check_files (TestSandbox *self,
             uid_t        uid,
             gid_t        gid)
{
  g_autofree char *told = NULL;
  g_autofree char *text = NULL;
  g_autofree char *seen = NULL;
  g_autoptr (GError) error = NULL;
  const char *const names[] = { "made", "directory", "directory/below", "link", "pipe", "copy", "by-host", "host-directory", "host-directory/file", "replaced" };

  g_assert_true (sandbox_session_write_text (self->session, "by-host", "from the host", NULL, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_session_write_text (self->session, "host-directory/file", "below", NULL, &error));
  g_assert_no_error (error);

  /* The guest sees all of it as its own, and can do with it what an owner can. */
  told = test_sh (self, "set -e; umask 0; echo x >made; mkdir directory; echo y >directory/below; ln -s made link; mkfifo pipe; cp guest copy;"
                        "cat by-host; echo >>by-host; chmod 600 by-host; echo more >>host-directory/file; mv host-directory/file host-directory/b;"
                        "mv host-directory/b host-directory/file; echo old >replaced; touch -d 2001-01-01 made;"
                        "stat -c '%u:%g' . made directory by-host host-directory host-directory/file guest | sort -u");
  g_assert_cmpstr (told, ==, "from the host1000:1000\n");

  /* And so does the host. */
  g_assert_true (sandbox_session_write_text (self->session, "replaced", "new", NULL, &error));
  g_assert_no_error (error);
  text = sandbox_session_read_text (self->session, "host-directory/file", NULL, &error);
  g_assert_cmpstr (text, ==, "belowmore\n");
  seen = test_sh (self, "cat replaced; echo end >>replaced");
  g_assert_cmpstr (seen, ==, "new");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    assert_owner (self->workspace, names[i], uid, gid);

  g_assert_true (sandbox_session_remove_path (self->session, "directory", NULL, &error));
  g_assert_true (sandbox_session_remove_path (self->session, "by-host", NULL, &error));
  g_assert_no_error (error);
}

static void
test_own_files (TestSandbox  *self,
                gconstpointer unused)
{
  g_test_summary ("What commands and the host write belongs to the workspace's owner on disk, and to the guest inside");

  check_files (self, geteuid (), getegid ());
}

static void
become_other_cb (gpointer unused)
{
  if (setgroups (0, NULL) < 0 || setresgid (OTHER_ID, OTHER_ID, OTHER_ID) < 0 || setresuid (OTHER_ID, OTHER_ID, OTHER_ID) < 0)
    _exit (99);
}

/* Who a program of the workspace is when another user of the host runs it */
static void
assert_ids_of_other (TestSandbox *self,
                     const char  *name)
{
  g_autofree char *path = g_build_filename (self->workspace, name, NULL);
  const char      *argv[] = { path, NULL, NULL };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *output = NULL;

      argv[1] = i == 0 ? "-u" : "-g";
      g_spawn_sync ("/", (char **) argv, NULL, G_SPAWN_DEFAULT, become_other_cb, NULL, &output, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (output, ==, G_STRINGIFY (OTHER_ID) "\n");
    }
}

static mode_t
get_mode (const char *directory,
          const char *name)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);
  struct stat      info;

  g_assert_cmpint (lstat (path, &info), ==, 0);

  return info.st_mode & 07777;
}

static void
test_case_92 (TestSandbox  *self,
              gconstpointer unused)
{
  static const char *const names[] = { ".", "chmod", "raised", "group", "installed", "copied", "folder", "old", "brought", "brought/tool" };
  g_autofree char         *old = g_build_filename (self->workspace, "old", NULL);
  g_autofree char         *top = g_dir_make_tmp ("sandbox-identity-XXXXXX", NULL);
  g_autofree char         *from = g_build_filename (top, "from", NULL);
  g_autofree char         *to = g_build_filename (top, "to", NULL);
  g_autofree char         *tool = g_build_filename (from, "tool", NULL);
  g_autofree char         *told = NULL;
  g_autoptr (GFile) source = g_file_new_for_path (from);
  g_autoptr (GFile) target = g_file_new_for_path (to);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 92: no program that a guest makes in a workspace has another user's rights, whoever runs it");

  /* The worst place: anybody may enter it. */
  g_assert_cmpint (chmod (self->workspace, 0755), ==, 0);
  test_install_program (self->workspace, "old", "/usr/bin/id");
  g_assert_cmpint (chmod (old, 06755), ==, 0);
  g_assert_cmpint (g_mkdir (from, 0755), ==, 0);
  test_install_program (from, "tool", "/usr/bin/id");
  g_assert_cmpint (chmod (tool, 06755), ==, 0);
  g_assert_true (sandbox_session_import_directory (self->session, source, "brought", NULL, &error));
  g_assert_no_error (error);

  told = test_sh (self, "umask 0; for name in chmod raised group copied; do cp /usr/bin/id $name; chmod 755 $name; done;"
                        "chmod 4755 chmod 2>/dev/null || echo chmod; chmod u+s raised 2>/dev/null || echo u+s; chmod g+s group 2>/dev/null || echo g+s;"
                        "install -m 6755 /usr/bin/id installed 2>/dev/null || echo install; cp /usr/bin/id installed;"
                        "mkdir -m 2755 folder 2>/dev/null || echo mkdir; [ -e folder ] || mkdir folder; chmod 2755 . 2>/dev/null || echo here;"
                        "cp -p old copied 2>/dev/null || echo cp;"
                        "echo >>old; chmod 755 copied installed");
  g_assert_cmpstr (told, ==, "chmod\nu+s\ng+s\ninstall\nmkdir\nhere\ncp\n");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_cmpint (get_mode (self->workspace, names[i]) & 07000, ==, 0);

  /* Nor does one that comes out have them. */
  g_assert_true (sandbox_session_export_directory (self->session, "brought", target, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (get_mode (to, "tool"), ==, 0755);

  if (geteuid () == 0)
    for (guint i = 1; i < 6; i++)
      assert_ids_of_other (self, names[i]);
  test_remove_tree (top);
}

static void
test_unprivileged (TestSandbox  *self,
                   gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "family", marker, NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("The commands of a host that is not root are that host's user");

  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (find_uid (marker), ==, geteuid ());
  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_true (sandbox_process_wait (process, NULL, &error));
}

/* ---- Hosts that are root ---- */

static void
test_never_root (TestSandbox  *self,
                 gconstpointer unused)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "family", marker, NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GArray) pids = NULL;
  g_autoptr (GError) error = NULL;
  guint uid = 0;
  guint n_found = 0;

  g_test_summary ("No process of a root host's sandbox is root, bwrap and the agent neither: they have a uid of their own, without groups");

  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  test_marker_wait (marker, 4);
  uid = find_uid (marker);
  g_assert_cmpuint (uid, >=, FIRST_ID);
  g_assert_cmpuint (uid, <=, LAST_ID);
  g_assert_true (is_claimed (uid));

  /* All processes of that uid on this machine are the sandbox: at least four of the command, the agent and bwrap. */
  pids = test_list_processes ();
  for (guint i = 0; i < pids->len; i++)
    {
      pid_t            pid = g_array_index (pids, pid_t, i);
      g_autofree char *status = NULL;

      if (test_read_status (pid, "Uid", 10) != uid)
        continue;
      n_found++;
      assert_ids (pid, "Uid", uid);
      assert_ids (pid, "Gid", uid);
      status = test_read_proc (pid, "status", NULL);
      g_assert_nonnull (strstr (status, "\nGroups:\t \n"));
    }
  g_assert_cmpuint (n_found, >=, 6);
  {
    g_autoptr (GArray) all = test_list_processes ();

    for (guint i = 0; i < all->len; i++)
      if (test_read_status (g_array_index (all, pid_t, i), "PPid", 10) == getpid ())
        assert_ids (g_array_index (all, pid_t, i), "Uid", uid);
  }
  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_true (sandbox_process_wait (process, NULL, &error));
}

static void
test_uid_of_session (TestSandbox  *self,
                     gconstpointer unused)
{
  char          *workspaces[2] = { test_make_workspace (), test_make_workspace () };
  char          *markers[2] = { test_marker_new (), test_marker_new () };
  SandboxHandle *handles[2] = { NULL, NULL };
  guint          uids[2] = { 0, 0 };

  g_test_summary ("Two sessions have two uids; each is claimed as long as its session lives, and free afterwards");

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("./guest", "hold", markers[i], NULL);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (GError) error = NULL;

      handles[i] = test_create (self->backend, workspaces[i], &error);
      g_assert_no_error (error);
      process = sandbox_session_spawn (sandbox_handle_get_session (handles[i]), command, NULL, &error);
      g_assert_no_error (error);
      uids[i] = find_uid (markers[i]);
      g_assert_cmpuint (uids[i], !=, 0);
      g_assert_true (is_claimed (uids[i]));
    }
  g_assert_cmpuint (uids[0], !=, uids[1]);
  g_assert_cmpuint (test_count_claims (), ==, 3);

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_true (sandbox_handle_stop (handles[i], NULL, &error));
      g_assert_cmpuint (test_marker_count (markers[i]), ==, 0);
      g_assert_cmpuint (test_count_claims (), ==, 2 - i);
      g_clear_object (&handles[i]);
      test_remove_tree (workspaces[i]);
      g_free (workspaces[i]);
      g_free (markers[i]);
    }
}

static void
test_owners (void)
{
  const struct
  {
    uid_t uid;
    gid_t gid;
  } owners[] = { { 0, 0 }, { 1000, 1000 }, { 1000, 100 }, { 0, 100 }, { 65534, 65534 } };

  g_test_summary ("Below a directory of root's with mode 0700, a workspace of whatever owner works, and its files stay the owner's");

  for (guint i = 0; i < G_N_ELEMENTS (owners); i++)
    {
      g_autofree char *top = g_dir_make_tmp ("sandbox-identity-XXXXXX", NULL);
      TestSandbox      self = { .workspace = g_build_filename (top, "workspace", NULL), .registry = sandbox_registry_new () };
      struct stat      info;
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (stat (top, &info), ==, 0);
      g_assert_cmpuint (info.st_mode & 07777, ==, 0700);
      g_assert_cmpuint (info.st_uid, ==, 0);
      g_assert_cmpint (g_mkdir (self.workspace, 0755), ==, 0);
      g_assert_cmpint (chown (self.workspace, owners[i].uid, owners[i].gid), ==, 0);
      test_install_program (self.workspace, "guest", TEST_GUEST);

      self.backend = test_new_backend (self.registry);
      self.handle = test_create (self.backend, self.workspace, &error);
      g_assert_no_error (error);
      self.session = sandbox_handle_get_session (self.handle);
      check_files (&self, owners[i].uid, owners[i].gid);
      assert_owner (top, "workspace", owners[i].uid, owners[i].gid);
      test_sandbox_tear_down (&self, NULL);
      test_remove_tree (top);
    }
}

static void
test_files_of_others (TestSandbox  *self,
                      gconstpointer unused)
{
  g_autofree char *readable = g_build_filename (self->workspace, "readable", NULL);
  g_autofree char *hidden = g_build_filename (self->workspace, "hidden", NULL);
  g_autofree char *told = NULL;

  g_test_summary ("Files of other users in a workspace are to its commands what they are to any user");

  g_assert_true (g_file_set_contents (readable, "read me", -1, NULL));
  g_assert_true (g_file_set_contents (hidden, "not me", -1, NULL));
  g_assert_cmpint (chmod (readable, 0644), ==, 0);
  g_assert_cmpint (chmod (hidden, 0600), ==, 0);
  g_assert_cmpint (chown (readable, 1234, 1234), ==, 0);
  g_assert_cmpint (chown (hidden, 1234, 1234), ==, 0);

  told = test_sh (self, "cat readable; cat hidden 2>/dev/null || echo -n ' no'; (echo x >readable) 2>/dev/null || echo -n ' no';"
                        "chmod 666 readable 2>/dev/null || echo -n ' no'; chown 1000 readable 2>/dev/null || echo -n ' no'; rm readable && echo ' gone'");
  g_assert_cmpstr (told, ==, "read me no no no no gone\n");
}

/* ---- What a profile can ask for ---- */

static SandboxHandle *
create_with (SandboxBackend *backend,
             const char     *workspace,
             SandboxProfile *profile,
             GError        **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_workspace_path (options, workspace);

  return sandbox_backend_create (backend, options, NULL, error);
}

static void
assert_refused (SandboxBackend *backend,
                const char     *workspace,
                SandboxProfile *profile,
                int             code,
                const char     *words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxHandle) handle = create_with (backend, workspace, profile, &error);

  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, code);
  if (strstr (error->message, words) == NULL)
    g_error ("“%s” does not say “%s”", error->message, words);
}

/* Replaces the session by one of @profile. */
static void
recreate (TestSandbox    *self,
          SandboxProfile *profile)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_handle_stop (self->handle, NULL, &error));
  g_clear_object (&self->handle);
  self->handle = create_with (self->backend, self->workspace, profile, &error);
  g_assert_no_error (error);
  self->session = sandbox_handle_get_session (self->handle);
}

static guint
find_uid_of_session (TestSandbox *self)
{
  g_autofree char *marker = test_marker_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("./guest", "family", marker, NULL);
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  guint uid = 0;

  process = sandbox_session_spawn (self->session, command, NULL, &error);
  g_assert_no_error (error);
  uid = find_uid (marker);
  g_assert_true (sandbox_process_kill (process, &error));
  g_assert_true (sandbox_process_wait (process, NULL, &error));

  return uid;
}

/* The gap that a report has of @profile, or NULL where it is full. */
static char *
probe_gap (SandboxBackend *backend,
           SandboxProfile *profile)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxReport) report = sandbox_backend_probe (backend, profile, NULL, &error);
  const char *const *gaps = NULL;

  g_assert_no_error (error);
  gaps = sandbox_report_get_gaps (report);
  if (sandbox_report_get_grade (report) == SANDBOX_GRADE_FULL)
    return NULL;
  if (sandbox_report_get_grade (report) == SANDBOX_GRADE_UNAVAILABLE)
    return g_strdup (sandbox_report_get_reason (report));

  return g_strjoinv ("\n", (char **) gaps);
}

static char *
plan (TestSandbox    *self,
      SandboxProfile *profile)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autoptr (GError) error = NULL;
  char *text = NULL;

  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_workspace_path (options, self->workspace);
  text = sandbox_backend_plan (self->backend, command, options, &error);
  g_assert_no_error (error);

  return text;
}

static void
test_asked_unprivileged (TestSandbox  *self,
                         gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();

  g_test_summary ("A host that is not root is itself by every name, and refuses to be anybody else");

  for (int identity = SANDBOX_IDENTITY_AUTO; identity <= SANDBOX_IDENTITY_HOST; identity++)
    {
      g_autofree char *gap = NULL;

      sandbox_profile_set_identity (profile, identity);
      recreate (self, profile);
      g_assert_cmpuint (find_uid_of_session (self), ==, geteuid ());
      gap = probe_gap (self->backend, profile);
      g_assert_cmpstr (gap, ==, NULL);
    }
  sandbox_profile_set_identity (profile, SANDBOX_IDENTITY_OWNER);
  assert_refused (self->backend, "/usr", profile, SANDBOX_ERROR_NOT_SUPPORTED, "belongs to uid 0");

  sandbox_profile_set_identity (profile, SANDBOX_IDENTITY_AUTO);
  sandbox_profile_set_launcher_uid (profile, (int) geteuid ());
  sandbox_profile_set_launcher_gid (profile, (int) getegid ());
  recreate (self, profile);
  g_assert_cmpuint (find_uid_of_session (self), ==, geteuid ());
  sandbox_profile_set_launcher_gid (profile, (int) getegid () + 1);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "is not who this program is");
  sandbox_profile_set_launcher_gid (profile, (int) getegid ());
  sandbox_profile_set_launcher_uid (profile, (int) geteuid () + 1);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "only root could become it");
}

static void
test_asked_owner (TestSandbox  *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autofree char *gap = NULL;
  g_autofree char *guest = g_build_filename (self->workspace, "guest", NULL);
  struct stat      info;

  g_test_summary ("As the owner of the workspace commands run whoever that is but root, in a directory that only root enters too");

  sandbox_profile_set_identity (profile, SANDBOX_IDENTITY_OWNER);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "belongs to root (0:0)");
  g_assert_cmpint (chown (self->workspace, OTHER_ID, 0), ==, 0);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "belongs to root (12345:0)");
  assert_refused (self->backend, NULL, profile, SANDBOX_ERROR_NOT_SUPPORTED, "is for a workspace-path");

  g_assert_cmpint (chown (self->workspace, OTHER_ID, OTHER_ID), ==, 0);
  g_assert_cmpint (chown (guest, OTHER_ID, OTHER_ID), ==, 0);
  g_assert_cmpint (stat (self->workspace, &info), ==, 0);
  g_assert_cmpuint (info.st_mode & 07777, ==, 0700);
  recreate (self, profile);
  g_assert_cmpuint (find_uid_of_session (self), ==, OTHER_ID);
  g_assert_cmpuint (test_count_claims (), ==, 0);
  check_files (self, OTHER_ID, OTHER_ID);
  gap = probe_gap (self->backend, profile);
  g_assert_nonnull (gap);
  g_assert_nonnull (strstr (gap, "share the limits, keyrings and signals"));
}

static void
test_asked_owner_below (void)
{
  g_autofree char *top = g_dir_make_tmp ("sandbox-identity-XXXXXX", NULL);
  TestSandbox      self = { .workspace = g_build_filename (top, "workspace", NULL), .registry = sandbox_registry_new () };
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("Commands that are the owner, or the launcher, come to a workspace below a directory that only root may enter");

  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpint (g_mkdir (self.workspace, 0755), ==, 0);
      g_assert_cmpint (chown (self.workspace, 1000, 100), ==, 0);
      test_install_program (self.workspace, "guest", TEST_GUEST);
      sandbox_profile_set_identity (profile, i == 0 ? SANDBOX_IDENTITY_OWNER : SANDBOX_IDENTITY_AUTO);
      sandbox_profile_set_launcher_uid (profile, i == 0 ? -1 : 1000);
      sandbox_profile_set_launcher_gid (profile, i == 0 ? -1 : 100);
      self.backend = test_new_backend (self.registry);
      self.handle = create_with (self.backend, self.workspace, profile, &error);
      g_assert_no_error (error);
      self.session = sandbox_handle_get_session (self.handle);
      check_files (&self, 1000, 100);
      g_assert_true (sandbox_handle_stop (self.handle, NULL, &error));
      g_clear_object (&self.handle);
      g_clear_object (&self.backend);
      test_remove_tree (self.workspace);
    }
  g_object_unref (self.registry);
  g_free (self.workspace);
  test_remove_tree (top);
}

static void
test_asked_launcher (TestSandbox  *self,
                     gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autofree char *gap = NULL;

  g_test_summary ("With a launcher everything that a root host starts is that user and group, and the files stay their owner's");

  sandbox_profile_set_launcher_uid (profile, OTHER_ID);
  sandbox_profile_set_launcher_gid (profile, OTHER_ID);
  recreate (self, profile);
  g_assert_cmpuint (find_uid_of_session (self), ==, OTHER_ID);
  g_assert_cmpuint (test_count_claims (), ==, 0);
  check_files (self, 0, 0);
  gap = probe_gap (self->backend, profile);
  g_assert_nonnull (gap);
  g_assert_nonnull (strstr (gap, "All sessions of that launcher share"));

  /* One of the library's own is as good. */
  {
    g_autoptr (GError) error = NULL;
    g_autoptr (SandboxHandle) handle = create_with (self->backend, NULL, profile, &error);
    const char *const argv[] = { "sh", "-c", "echo x >made && stat -c %u made", NULL };
    g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
    g_autoptr (SandboxResult) result = NULL;

    g_assert_no_error (error);
    result = sandbox_session_run (sandbox_handle_get_session (handle), command, NULL, &error);
    g_assert_no_error (error);
    test_assert_output (result, "1000\n");
    g_assert_true (sandbox_handle_delete (handle, NULL, &error));
  }
}

static void
test_asked_root (TestSandbox  *self,
                 gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *gap = NULL;
  g_autofree char *told = NULL;

  g_test_summary ("Case 2: root runs commands as root only when it is asked to; then the kernel's files are out of reach all the same, and "
                  "a limit that does not hold for root is refused");

  sandbox_profile_set_identity (profile, SANDBOX_IDENTITY_HOST);
  recreate (self, profile);
  g_assert_cmpuint (find_uid_of_session (self), ==, 0);
  check_files (self, 0, 0);
  gap = probe_gap (self->backend, profile);
  g_assert_nonnull (gap);
  g_assert_nonnull (strstr (gap, "counts neither processes"));

  {
    g_autofree char *planned = plan (self, profile);

    g_assert_nonnull (strstr (planned, "\"host\" : \"caller\""));
    g_assert_true (g_regex_match_simple ("\"--remount-ro\",\\s*\"/proc\"", planned, 0, 0));
  }

  /* Not one file of /proc opens for writing, and what only root reads there is empty of words. */
  told = test_sh (self, "for file in $(find /proc -maxdepth 8 -type f ! -path '/proc/[0-9]*' -perm /222); do true 2>/dev/null >>$file && echo written $file; done;"
                        "for file in $(find /proc -maxdepth 1 -type f ! -perm /004); do true 2>/dev/null <$file && echo read $file; done;"
                        "true 2>/dev/null >>/proc/self/oom_score_adj && echo written; [ $(find /proc/sys -type f -perm /222 | wc -l) -gt 100 ] || echo few");
  g_assert_cmpstr (told, ==, "");

  sandbox_limits_set_processes (limits, 10);
  sandbox_command_set_limits (command, limits);
  result = sandbox_session_run (self->session, command, NULL, &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "“processes”"));
  sandbox_profile_set_limits (profile, limits);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "“processes”");
}

static void
test_asked_root_for_other (TestSandbox  *self,
                           gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autofree char *guest = g_build_filename (self->workspace, "guest", NULL);

  g_test_summary ("Commands that are root write the workspace of another owner as that owner");

  g_assert_cmpint (chown (self->workspace, OTHER_ID, OTHER_ID), ==, 0);
  g_assert_cmpint (chown (guest, OTHER_ID, OTHER_ID), ==, 0);
  sandbox_profile_set_identity (profile, SANDBOX_IDENTITY_HOST);
  recreate (self, profile);
  check_files (self, OTHER_ID, OTHER_ID);
}

/* Neither from the start, nor later, nor as a plan; what there was stays. */
static void
assert_doors_refused (TestSandbox    *self,
                      SandboxProfile *profile)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxCommand) command = test_command_new ("true", NULL);
  g_autoptr (GError) error = NULL;

  sandbox_network_policy_add_origin (policy, "http://allowed.sandbox.test", NULL, &error);
  g_assert_no_error (error);
  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_network (options, policy);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (SandboxHandle) handle = NULL;
      g_autofree char *text = NULL;

      if (i == 0)
        handle = sandbox_backend_create (self->backend, options, NULL, &error);
      else if (i == 1)
        text = sandbox_backend_plan (self->backend, command, options, &error);
      else
        g_assert_false (sandbox_session_set_network_policy (self->session, policy, NULL, &error));
      g_assert_null (handle);
      g_assert_null (text);
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
      g_assert_nonnull (strstr (error->message, "door to a gateway"));
      g_clear_error (&error);
    }
  g_free (test_sh (self, "true"));
}

static void
test_set_user_id (TestSandbox  *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxMount) protection = sandbox_mount_new (NULL, "/workspace/guest", SANDBOX_MOUNT_MODE_READ_ONLY);
  g_autoptr (SandboxMount) closed = NULL;
  g_autofree char *directory = g_dir_make_tmp ("sandbox-bwrap-XXXXXX", NULL);
  g_autofree char *inner = g_build_filename (directory, "inner", NULL);
  g_autofree char *bwrap = g_build_filename (directory, "bwrap", NULL);
  g_autofree char *guest = g_build_filename (self->workspace, "guest", NULL);
  g_autofree char *gap = NULL;
  g_autofree char *told = NULL;
  GListStore      *mounts = NULL;

  g_test_summary ("Case 12: a set-user-ID bwrap is used where a launcher asks for it, and refuses by name what it cannot give");

  test_install_program (directory, "bwrap", "/usr/bin/bwrap");
  g_assert_cmpint (chmod (bwrap, 04755), ==, 0);
  g_object_set (self->backend, "executable", bwrap, NULL);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_UNAVAILABLE, "launcher-uid");

  sandbox_profile_set_launcher_uid (profile, OTHER_ID);
  sandbox_profile_set_launcher_gid (profile, OTHER_ID);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "cannot mount it for the launcher");
  assert_refused (self->backend, NULL, profile, SANDBOX_ERROR_NOT_SUPPORTED, "cannot mount it for the launcher");
  g_assert_cmpint (chown (self->workspace, OTHER_ID, OTHER_ID), ==, 0);
  g_assert_cmpint (chown (guest, OTHER_ID, OTHER_ID), ==, 0);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "“tmp-bytes” and “shm-bytes”");
  sandbox_limits_set_tmp_bytes (limits, 0);
  sandbox_profile_set_limits (profile, limits);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "“tmp-bytes” and “shm-bytes”");
  sandbox_limits_set_shm_bytes (limits, 0);
  gap = probe_gap (self->backend, profile);
  g_assert_nonnull (gap);
  g_assert_nonnull (strstr (gap, "bwrap has root's rights while it builds"));

  recreate (self, profile);
  g_assert_cmpuint (find_uid_of_session (self), ==, OTHER_ID);
  check_files (self, OTHER_ID, OTHER_ID);
  told = test_sh (self, "unshare -U true 2>/dev/null && echo namespace; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | sort | uniq | tr -s '\\t\\n' ' '; "
                        "for file in $(find /proc -maxdepth 8 -type f ! -path '/proc/[0-9]*' -perm /222); do true 2>/dev/null >>$file && echo written $file; done;"
                        "true 2>/dev/null </proc/keys && echo keys; [ -e /dev/pts/ptmx ] && echo terminals; true");
  g_assert_cmpstr (told, ==,
                   "CapAmb: 0000000000000000 CapBnd: 0000000000000000 CapEff: 0000000000000000 CapInh: 0000000000000000 "
                   "CapPrm: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 ");
  g_free (g_steal_pointer (&told));

  told = plan (self, profile);
  g_assert_null (strstr (told, "\"--cap-add\""));
  g_assert_null (strstr (told, "\"--size\""));
  g_assert_nonnull (strstr (told, "\"host\" : \"launcher\""));

  assert_doors_refused (self, profile);
  mounts = G_LIST_STORE (sandbox_profile_get_mounts (profile));
  sandbox_profile_add_mount (profile, protection);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "cannot protect");
  g_list_store_remove_all (mounts);
  g_assert_cmpint (g_mkdir (inner, 0755), ==, 0);
  closed = sandbox_mount_new (inner, "/closed", SANDBOX_MOUNT_MODE_READ_ONLY);
  sandbox_profile_add_mount (profile, closed);
  assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED, "cannot mount “/closed”");

  test_remove_tree (directory);
}

/* A bwrap that says it is another version; a script cannot be set-user-ID, but nothing goes by what it really is. */
static void
test_set_user_id_version (TestSandbox  *self,
                          gconstpointer unused)
{
  static const struct
  {
    const char *says;
    const char *words; /* NULL: it is taken */
  } versions[] = {
    { "bubblewrap 0.11.0", "0.11.2 is safe" },
    { "bubblewrap 0.11.1", "0.11.2 is safe" },
    { "bubblewrap 0.11.2", NULL },
    { "bubblewrap 0.10.0", NULL },
    { "bubblewrap 1.0", NULL },
    { "something else", "does not say its version" },
    { "", "does not say its version" },
  };
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autofree char *directory = g_dir_make_tmp ("sandbox-bwrap-XXXXXX", NULL);
  g_autofree char *bwrap = g_build_filename (directory, "bwrap", NULL);

  g_test_summary ("A set-user-ID bwrap of a version that gives users too much is refused, and so is one that does not say its version");

  g_assert_cmpint (chmod (directory, 0755), ==, 0);
  sandbox_profile_set_launcher_uid (profile, OTHER_ID);
  sandbox_profile_set_launcher_gid (profile, OTHER_ID);
  g_object_set (self->backend, "executable", bwrap, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (versions); i++)
    {
      g_autofree char *script = g_strdup_printf ("#!/bin/sh\necho '%s'\n", versions[i].says);

      g_assert_true (g_file_set_contents (bwrap, script, -1, NULL));
      g_assert_cmpint (chmod (bwrap, 04755), ==, 0);
      assert_refused (self->backend, self->workspace, profile, SANDBOX_ERROR_NOT_SUPPORTED,
                      versions[i].words != NULL ? versions[i].words : "cannot mount it for the launcher");
    }
  test_remove_tree (directory);
}

/* Another host on this machine: tells whether it gets a session, and holds it until its input ends. */
static int
other_host (const char *directory,
            const char *first,
            const char *last)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxBackend) backend = sandbox_registry_create_backend (registry, "bubblewrap", directory, &error);
  g_autoptr (SandboxHandle) handle = NULL;

  g_assert_no_error (error);
  g_object_set (backend, "first-uid", (guint) atoi (first), "last-uid", (guint) atoi (last), NULL);
  handle = test_create (backend, NULL, &error);
  g_print ("%s\n", handle != NULL ? "had" : error->message);
  if (handle != NULL)
    g_assert_true (sandbox_handle_delete (handle, NULL, &error));

  return 0;
}

static char *
ask_other_host (guint first,
                guint last)
{
  g_autofree char *directory = g_dir_make_tmp ("sandbox-state-XXXXXX", NULL);
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *first_text = g_strdup_printf ("%u", first);
  g_autofree char *last_text = g_strdup_printf ("%u", last);
  const char      *argv[] = { program, "--other-host", directory, first_text, last_text, NULL };
  char            *output = NULL;
  int              status = -1;
  g_autoptr (GError) error = NULL;

  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
  test_remove_tree (directory);

  return output;
}

static void
test_range (TestSandbox  *self,
            gconstpointer unused)
{
  /* the first is for files; an account has the third, and two are left */
  const guint    first = 65530, last = 65535;
  SandboxHandle *handles[6] = { NULL };
  g_autoptr (SandboxHandle) kept = NULL;
  g_autoptr (SandboxBackend) backend = NULL;
  g_autofree char *directory = g_dir_make_tmp ("sandbox-state-XXXXXX", NULL);
  g_autofree char *told = NULL;
  g_autoptr (GError) error = NULL;
  guint n_had = 0;

  g_test_summary ("The range of uids can be chosen, holds for files too, and is one for all hosts of the machine, whatever their state directories");

  g_object_set (self->backend, "first-uid", last, "last-uid", first, NULL);
  handles[0] = test_create (self->backend, self->workspace, &error);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "“first-uid” 65535 is not below"));
  g_clear_error (&error);

  backend = sandbox_registry_create_backend (self->registry, "bubblewrap", directory, &error);
  g_assert_no_error (error);
  g_object_set (backend, "first-uid", first, "last-uid", last, NULL);
  kept = test_create (backend, NULL, &error);
  g_assert_no_error (error);
  n_had = 1;
  for (guint i = 0; i < G_N_ELEMENTS (handles); i++)
    {
      g_clear_error (&error);
      handles[i] = test_create (backend, self->workspace, &error);
      if (handles[i] == NULL)
        break;
      n_had++;
    }
  /* 65531 to 65535 but for the overflow uid, and 65533 where a test user has an account of that number */
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
  g_assert_nonnull (strstr (error->message, "no uid from 65531 to 65535 is free"));
  g_assert_cmpuint (n_had, >=, 2);
  g_assert_cmpuint (n_had, <=, 4);

  told = ask_other_host (first, last);
  g_assert_nonnull (strstr (told, "no uid from 65531 to 65535 is free"));
  g_free (g_steal_pointer (&told));
  g_assert_true (sandbox_handle_stop (handles[0], NULL, NULL));
  told = ask_other_host (first, last);
  g_assert_cmpstr (told, ==, "had\n");

  {
    const char *const argv[] = { "sh", "-c", "echo x >made", NULL };
    g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
    g_autoptr (SandboxResult) result = sandbox_session_run (sandbox_handle_get_session (kept), command, NULL, NULL);
    g_autoptr (SandboxState) state = sandbox_handle_capture_state (kept, NULL);
    g_autofree char *sessions = g_build_filename (directory, "bubblewrap", "sessions", sandbox_state_get_session_id (state), "files", "workspace", NULL);

    test_assert_exited (result, 0);
    assert_owner (sessions, "made", first, first);
  }
  for (guint i = 0; i < n_had - 1; i++)
    {
      g_assert_true (sandbox_handle_stop (handles[i], NULL, NULL));
      g_clear_object (&handles[i]);
    }
  g_assert_true (sandbox_handle_delete (kept, NULL, NULL));
  test_remove_tree (directory);
}

static void
add (const char *path,
     void (*test) (TestSandbox *self, gconstpointer unused))
{
  g_test_add (path, TestSandbox, NULL, test_sandbox_set_up, test, test_sandbox_tear_down);
}

int
main (int    argc,
      char **argv)
{
  if (argc == 5 && strcmp (argv[1], "--other-host") == 0)
    return other_host (argv[2], argv[3], argv[4]);

  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  add ("/identity/own-files", test_own_files);
  add ("/identity/case-92-set-id", test_case_92);
  if (geteuid () == 0)
    {
      add ("/identity/never-root", test_never_root);
      add ("/identity/uid-of-session", test_uid_of_session);
      g_test_add_func ("/identity/owners", test_owners);
      add ("/identity/files-of-others", test_files_of_others);
      add ("/identity/asked-owner", test_asked_owner);
      g_test_add_func ("/identity/asked-owner-below", test_asked_owner_below);
      add ("/identity/asked-launcher", test_asked_launcher);
      add ("/identity/asked-root", test_asked_root);
      add ("/identity/asked-root-for-other", test_asked_root_for_other);
      add ("/identity/set-user-id", test_set_user_id);
      add ("/identity/set-user-id-version", test_set_user_id_version);
      add ("/identity/range", test_range);
    }
  else
    {
      add ("/identity/unprivileged", test_unprivileged);
      add ("/identity/asked-unprivileged", test_asked_unprivileged);
    }

  return g_test_run ();
}
