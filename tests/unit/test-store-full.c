/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A disk that has no room left, or no room for the name of another file. Each is the disk of a child of the test, in mounts
 * of its own. */

#include <errno.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>

#include "../common/test-disk.h"
#include "sandbox-store-session-private.h"
#include "store-fixture.h"

#define LARGE (512 * 1024)
#define MANY 40
#define SLACK 16 /* blocks that directories of the store may keep */

typedef struct
{
  const char *options; /* of a tmpfs */
  const char *size;    /* of an ext4 */
  const char *inodes;
  gboolean    by_number; /* filled by files, not by bytes */
} Disk;

static const Disk tmpfs_bytes = { .options = "size=4m,mode=0700" };
static const Disk tmpfs_files = { .options = "nr_inodes=256,mode=0700", .by_number = TRUE };
static const Disk ext4_bytes = { .size = "16m", .inodes = "512" };
static const Disk ext4_files = { .size = "16m", .inodes = "256", .by_number = TRUE };

static gboolean
mount_disk (const Disk *disk,
            const char *top,
            const char *place)
{
  g_autofree char *image = g_build_filename (top, "image", NULL);

  if (disk->options != NULL)
    return mount ("tmpfs", place, "tmpfs", 0, disk->options) == 0;

  return test_disk_mount_ext4 (image, place, disk->size, disk->inodes);
}

/* As the guest does. */
static void
fill (SandboxStoreSession *session,
      gboolean             by_number)
{
  int     workspace = sandbox_store_session_get_workspace (session);
  char    block[4096];
  int     n = 0;
  int     fd = -1;
  ssize_t size = 0;

  memset (block, 'x', sizeof block);
  if (by_number)
    {
      do
        {
          g_autofree char *name = g_strdup_printf ("filler-%d", n++);

          fd = openat (workspace, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
          if (fd >= 0)
            close (fd);
        }
      while (fd >= 0);
      g_assert_cmpint (errno, ==, ENOSPC);
      return;
    }

  fd = openat (workspace, "filler", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  g_assert_cmpint (fd, >=, 0);
  do
    size = write (fd, block, sizeof block);
  while (size > 0);
  g_assert_cmpint (errno, ==, ENOSPC);
  close (fd);
}

static void
get_room (const char *path,
          gint64     *blocks,
          gint64     *files)
{
  struct statvfs room;

  g_assert_cmpint (statvfs (path, &room), ==, 0);
  *blocks = (gint64) room.f_bfree;
  *files = (gint64) room.f_ffree;
}

static SandboxFileSet *
make_much (void)
{
  SandboxFileSet  *much = sandbox_file_set_new ();
  g_autofree char *data = g_malloc0 (LARGE);
  g_autoptr (GBytes) large = g_bytes_new (data, LARGE);
  g_autoptr (GBytes) small = g_bytes_new (data, 1);

  sandbox_file_set_add (much, "large", large);
  for (guint i = 0; i < MANY; i++)
    {
      g_autofree char *path = g_strdup_printf ("many/%u", i);

      sandbox_file_set_add (much, path, small);
    }

  return much;
}

static void
assert_kept (SandboxStoreSession *session)
{
  g_autoptr (GBytes) bytes = sandbox_contained_read (sandbox_store_session_get_workspace (session), "kept", 0, 1024, NULL);

  test_assert_bytes (bytes, "text");
}

/* What needs room is refused, and leaves all as it was. */
static void
assert_refused (Fixture             *fixture,
                SandboxStoreSession *session,
                const char          *key,
                SandboxFileSet      *much)
{
  g_autofree char *data = g_malloc0 (LARGE);
  g_autofree char *path = sandbox_store_session_dup_workspace_path (session);
  guint            n_entries = test_count_entries (path);
  g_autoptr (GError) error = NULL;

  g_assert_null (sandbox_store_prewarm (fixture->store, "much", much, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  g_assert_null (sandbox_store_session_new (fixture->store, key, SANDBOX_WORKSPACE_MODE_AUTO, NULL, NULL, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  g_assert_cmpuint (count_templates (fixture), ==, 1);
  g_assert_cmpuint (count_sessions (fixture), ==, 1);
  g_assert_cmpuint (count_aside (fixture), ==, 0);

  g_assert_false (sandbox_contained_write (sandbox_store_session_get_workspace (session), "kept", data, LARGE, 0644,
                                           SANDBOX_WRITE_FLAGS_NONE, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  assert_kept (session);
  g_assert_cmpuint (test_count_entries (path), ==, n_entries);
}

static void
use_full_disk (const char *state,
               gboolean    by_number)
{
  Fixture         fixture = { .state = (char *) state, .store = open_store (state, "backend") };
  SandboxFileSet *files = make_files ();
  g_autoptr (SandboxFileSet) much = make_much ();
  g_autoptr (SandboxTemplate) made = prewarm (fixture.store, files);
  g_autoptr (SandboxTemplate) second = NULL;
  g_autoptr (SandboxState) left = NULL;
  g_autoptr (GPtrArray) list = NULL;
  g_autoptr (GError) error = NULL;
  SandboxStoreSession *session = NULL;
  const char          *key = sandbox_template_get_key (made);
  gint64               blocks, n_files, blocks_now, n_files_now;

  get_room (state, &blocks, &n_files);
  session = sandbox_store_session_new (fixture.store, key, SANDBOX_WORKSPACE_MODE_AUTO, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_contained_write (sandbox_store_session_get_workspace (session), "kept", "text", 4, 0644,
                                          SANDBOX_WRITE_FLAGS_NONE, &error));
  left = g_object_ref (sandbox_store_session_get_state (session));
  fill (session, by_number);
  assert_refused (&fixture, session, key, much);

  /* Stop, come back in another store, list */
  sandbox_store_session_free (session);
  sandbox_store_unref (fixture.store);
  fixture.store = open_store (state, "backend");
  session = sandbox_store_session_attach (fixture.store, left, NULL, NULL, &error);
  g_assert_no_error (error);
  assert_kept (session);
  assert_refused (&fixture, session, key, much);
  list = sandbox_store_list_sessions (fixture.store, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (list->len, ==, 1);

  /* Deletion makes room. */
  g_assert_true (sandbox_store_session_delete (session, NULL, NULL, &error));
  g_assert_no_error (error);
  sandbox_store_session_free (session);
  g_assert_cmpuint (count_sessions (&fixture), ==, 0);
  g_assert_cmpuint (count_aside (&fixture), ==, 0);
  get_room (state, &blocks_now, &n_files_now);
  g_assert_cmpint (blocks_now, >=, blocks - SLACK);
  g_assert_cmpint (n_files_now, ==, n_files);
  assert_sound (fixture.store, key);
  second = sandbox_store_prewarm (fixture.store, "much", much, NULL, NULL, NULL, &error);
  g_assert_no_error (error);

  /* And once more, by the state alone: what was lent for that has come back. */
  session = sandbox_store_session_new (fixture.store, key, SANDBOX_WORKSPACE_MODE_AUTO, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  fill (session, by_number);
  g_set_object (&left, sandbox_store_session_get_state (session));
  sandbox_store_session_free (session);
  g_assert_true (sandbox_store_delete_session (fixture.store, left, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_store_delete_template (fixture.store, sandbox_template_get_key (second), NULL, NULL, &error));
  g_assert_no_error (error);
  get_room (state, &blocks_now, &n_files_now);
  g_assert_cmpint (n_files_now, ==, n_files);
  sandbox_store_unref (fixture.store);
  free_files (files);
}

static void
test_full (Fixture      *fixture,
           gconstpointer data)
{
  const Disk      *disk = data;
  g_autofree char *place = g_build_filename (fixture->top, "disk", NULL);
  pid_t            child;

  g_test_summary ("On a full disk errors are clean, what is there stays, and one can stop, come back and delete, which makes room (case 108)");

  g_assert_cmpint (g_mkdir (place, 0700), ==, 0);
  child = fork ();
  if (child == 0)
    {
      g_autofree char *state = g_build_filename (place, "state", NULL);

      prctl (PR_SET_PDEATHSIG, SIGKILL);
      if (!enter_namespace () || !mount_disk (disk, fixture->top, place))
        g_error ("No disk: %s", g_strerror (errno));
      use_full_disk (state, disk->by_number);
      child_end ();
    }
  child_wait (child);
}

#define ADD(path, disk) g_test_add ("/store-full/" path, Fixture, &disk, fixture_set_up, test_full, fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("tmpfs/bytes", tmpfs_bytes);
  ADD ("tmpfs/files", tmpfs_files);
  if (geteuid () == 0)
    {
      ADD ("ext4/bytes", ext4_bytes);
      ADD ("ext4/files", ext4_files);
    }

  return g_test_run ();
}
