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
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  add ("/identity/own-files", test_own_files);
  add ("/identity/case-92-set-id", test_case_92);
  if (geteuid () == 0)
    {
      add ("/identity/never-root", test_never_root);
      add ("/identity/uid-of-session", test_uid_of_session);
      g_test_add_func ("/identity/owners", test_owners);
      add ("/identity/files-of-others", test_files_of_others);
    }
  else
    add ("/identity/unprivileged", test_unprivileged);

  return g_test_run ();
}
