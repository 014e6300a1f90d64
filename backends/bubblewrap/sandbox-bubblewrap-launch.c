/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-launch.h"

#include "sandbox-bubblewrap-fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* What starts are made from lies above every number that one of them gets in bwrap. */
#define HIGH_FD 64

struct _SandboxBubblewrapLaunch
{
  gatomicrefcount ref_count;

  char                      *agent_path;
  int                        bwrap_fd;
  int                        agent_fd;
  int                        workspace_fd;
  int                        file_fds[4];      /* passwd, group, hosts, nsswitch.conf */
  int                        arguments_fds[2]; /* by share_network */
  guint64                    workspace_device;
  guint64                    workspace_inode;
  SandboxWorkspace          *workspace;
  SandboxBubblewrapIdentity *identity;
  SandboxBubblewrapBind      bind;
};

SandboxBubblewrapLaunch *
sandbox_bubblewrap_launch_ref (SandboxBubblewrapLaunch *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_bubblewrap_launch_unref (SandboxBubblewrapLaunch *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  sandbox_bubblewrap_fd_clear (&self->bwrap_fd);
  sandbox_bubblewrap_fd_clear (&self->agent_fd);
  sandbox_bubblewrap_fd_clear (&self->workspace_fd);
  for (guint i = 0; i < G_N_ELEMENTS (self->file_fds); i++)
    sandbox_bubblewrap_fd_clear (&self->file_fds[i]);
  for (guint i = 0; i < G_N_ELEMENTS (self->arguments_fds); i++)
    sandbox_bubblewrap_fd_clear (&self->arguments_fds[i]);
  g_clear_pointer (&self->identity, sandbox_bubblewrap_identity_free);
  g_clear_pointer (&self->agent_path, g_free);
  g_clear_object (&self->workspace);
  g_free (self);
}

SandboxBubblewrapBind
sandbox_bubblewrap_launch_get_bind (SandboxBubblewrapLaunch *self)
{
  return self->bind;
}

/* The program that is about to get a root's trust: named absolutely, a regular file that nobody else can
 * change, and executed by this very descriptor. */
static int
sandbox_bubblewrap_launch_open_program (const char *path,
                                        const char *what,
                                        GError    **error)
{
  g_auto (SandboxBubblewrapFd) fd = -1;
  int         high = -1;
  struct stat info;

  if (!g_path_is_absolute (path))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The %s “%s” is not given by an absolute path", what, path);
  else if ((fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0 || fstat (fd, &info) < 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The %s “%s” cannot be opened: %s", what, path, g_strerror (errno));
  else if (!S_ISREG (info.st_mode) || (info.st_mode & 0111) == 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The %s “%s” is not an executable file", what, path);
  else if ((info.st_uid != 0 && info.st_uid != geteuid ()) || (info.st_mode & 0022) != 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The %s “%s” could be changed by others", what, path);
  else if ((high = fcntl (fd, F_DUPFD_CLOEXEC, HIGH_FD)) < 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The %s “%s” cannot be held open: %s", what, path, g_strerror (errno));

  return high;
}

/* A device that has been replaced by a file would be writable for every sandbox. */
static gboolean
sandbox_bubblewrap_launch_check_devices (GError **error)
{
  static const struct
  {
    const char  *path;
    unsigned int major;
    unsigned int minor;
  } devices[] = {
    { "/dev/null", 1, 3 }, { "/dev/zero", 1, 5 }, { "/dev/full", 1, 7 }, { "/dev/random", 1, 8 }, { "/dev/urandom", 1, 9 }, { "/dev/tty", 5, 0 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (devices); i++)
    {
      struct stat info;

      if (lstat (devices[i].path, &info) < 0 || !S_ISCHR (info.st_mode) ||
          info.st_rdev != makedev (devices[i].major, devices[i].minor))
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                       "The sandbox could not be built (step: devices): “%s” is not the device of that name",
                       devices[i].path);
          return FALSE;
        }
    }

  return TRUE;
}

/* A file that nobody changes any more. */
static int
sandbox_bubblewrap_launch_new_file (const char *name,
                                    const char *text,
                                    gsize       size)
{
  g_auto (SandboxBubblewrapFd) fd = memfd_create (name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

  if (fd < 0 || write (fd, text, size) != (gssize) size ||
      fcntl (fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
    return -1;

  return fcntl (fd, F_DUPFD_CLOEXEC, HIGH_FD);
}

/* What programs look up about their user: the sandbox knows its own, root and nobody. */
static gboolean
sandbox_bubblewrap_launch_make_files (SandboxBubblewrapLaunch *self,
                                      SandboxProfile          *profile)
{
  guint             uid = sandbox_profile_get_guest_uid (profile);
  guint             gid = sandbox_profile_get_guest_gid (profile);
  g_autofree char  *user = uid != 0 ? g_strdup_printf ("sandbox:x:%u:%u:sandbox:" SANDBOX_WORKSPACE_PATH ":/bin/sh\n", uid, gid) : g_strdup ("");
  g_autofree char  *group = gid != 0 ? g_strdup_printf ("sandbox:x:%u:\n", gid) : g_strdup ("");
  g_autofree char  *passwd = g_strconcat ("root:x:0:0:root:" SANDBOX_WORKSPACE_PATH ":/bin/sh\n", user,
                                          "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", NULL);
  g_autofree char  *groups = g_strconcat ("root:x:0:\n", group, "nogroup:x:65534:\n", NULL);
  const char *const names[] = { "passwd", "group", "hosts", "nsswitch.conf" };
  const char *const texts[] = {
    passwd, groups,
    "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n"
  };

  for (guint i = 0; i < G_N_ELEMENTS (self->file_fds); i++)
    {
      self->file_fds[i] = sandbox_bubblewrap_launch_new_file (names[i], texts[i], strlen (texts[i]));
      if (self->file_fds[i] < 0)
        return FALSE;
    }

  return TRUE;
}

/* The sources are resolved here: in the sandbox every place is a directory or link of our own making. */
static gboolean
sandbox_bubblewrap_launch_make_arguments (SandboxBubblewrapLaunch *self,
                                          SandboxProfile          *profile)
{
  static const char *const paths[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };
  g_autoptr (SandboxLimits) limits = NULL;
  g_autoptr (GPtrArray) links = g_ptr_array_new_with_free_func (g_free);
  SandboxBubblewrapRoot roots[G_N_ELEMENTS (paths)];
  SandboxBubblewrapView view = {
    .bind = self->bind,
    .workspace_path = sandbox_workspace_get_path (self->workspace),
    .guest_uid = sandbox_profile_get_guest_uid (profile),
    .guest_gid = sandbox_profile_get_guest_gid (profile),
    .roots = roots,
  };

  if (sandbox_profile_get_limits (profile) != NULL)
    limits = g_object_ref (sandbox_profile_get_limits (profile));
  else
    limits = sandbox_limits_new ();
  view.tmp_bytes = sandbox_limits_get_tmp_bytes (limits);
  view.shm_bytes = sandbox_limits_get_shm_bytes (limits);

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      SandboxBubblewrapRoot *root = &roots[view.n_roots];

      if (!g_file_test (paths[i], G_FILE_TEST_IS_DIR))
        continue;
      root->path = paths[i];
      root->link_target = g_file_read_link (paths[i], NULL);
      if (root->link_target != NULL)
        g_ptr_array_add (links, root->link_target);
      view.n_roots++;
    }

  for (guint i = 0; i < G_N_ELEMENTS (self->arguments_fds); i++)
    {
      g_autoptr (GBytes) arguments = NULL;
      const char *data = NULL;
      gsize       size = 0;

      view.share_network = i == 1;
      arguments = sandbox_bubblewrap_arguments_new (&view);
      data = g_bytes_get_data (arguments, &size);
      self->arguments_fds[i] = sandbox_bubblewrap_launch_new_file ("arguments", data, size);
      if (self->arguments_fds[i] < 0)
        return FALSE;
    }

  return TRUE;
}

static int
sandbox_bubblewrap_launch_open_workspace (SandboxWorkspace *workspace,
                                          GError          **error)
{
  g_auto (SandboxBubblewrapFd) fd = sandbox_workspace_dup_fd (workspace, error);
  int high = -1;

  if (fd >= 0 && (high = fcntl (fd, F_DUPFD_CLOEXEC, HIGH_FD)) < 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The workspace cannot be held open: %s", g_strerror (errno));

  return high;
}

SandboxBubblewrapLaunch *
sandbox_bubblewrap_launch_new (const char           *executable,
                               SandboxWorkspace     *workspace,
                               SandboxProfile       *profile,
                               SandboxBubblewrapBind bind,
                               GError              **error)
{
  g_autoptr (SandboxBubblewrapLaunch) self = g_new0 (SandboxBubblewrapLaunch, 1);
  struct stat info;
  guint       owner = 0;
  guint       group = 0;

  g_atomic_ref_count_init (&self->ref_count);
  self->bwrap_fd = -1;
  self->agent_fd = -1;
  self->workspace_fd = -1;
  for (guint i = 0; i < G_N_ELEMENTS (self->file_fds); i++)
    self->file_fds[i] = -1;
  for (guint i = 0; i < G_N_ELEMENTS (self->arguments_fds); i++)
    self->arguments_fds[i] = -1;
  self->workspace = g_object_ref (workspace);

  if ((self->bwrap_fd = sandbox_bubblewrap_launch_open_program (executable, "program bwrap", error)) < 0 ||
      (self->agent_path = sandbox_get_agent_path (error)) == NULL ||
      (self->agent_fd = sandbox_bubblewrap_launch_open_program (self->agent_path, "agent", error)) < 0 ||
      !sandbox_bubblewrap_launch_check_devices (error) ||
      !sandbox_workspace_check (workspace, error) ||
      (self->workspace_fd = sandbox_bubblewrap_launch_open_workspace (workspace, error)) < 0 ||
      (self->identity = sandbox_bubblewrap_identity_new (workspace, error)) == NULL)
    return NULL;

  self->bind = self->identity->map_fd >= 0 ? SANDBOX_BUBBLEWRAP_BIND_BY_AGENT : bind;
  if (fstat (self->workspace_fd, &info) < 0 ||
      !sandbox_bubblewrap_launch_make_files (self, profile) ||
      !sandbox_bubblewrap_launch_make_arguments (self, profile))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "The sandbox could not be built (step: files): %s", g_strerror (errno));
      return NULL;
    }
  self->workspace_device = info.st_dev;
  self->workspace_inode = info.st_ino;

  /* What the host writes belongs to whom the files belong. */
  if (geteuid () == 0)
    {
      sandbox_workspace_get_owner (workspace, &owner, &group);
      sandbox_workspace_set_owner (workspace, owner, group);
    }

  return g_steal_pointer (&self);
}

/* Opened anew in the child, for an offset of its own. */
static void
sandbox_bubblewrap_launch_add_file (posix_spawn_file_actions_t *actions,
                                    int                         fd,
                                    int                         number)
{
  char path[64];

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  posix_spawn_file_actions_addopen (actions, number, path, O_RDONLY, 0);
}

/* What bwrap gets, by number. All of it comes from above those numbers, so none is lost while they are filled. */
static void
sandbox_bubblewrap_launch_add_descriptors (SandboxBubblewrapLaunch    *self,
                                           posix_spawn_file_actions_t *actions,
                                           int                         agent_socket,
                                           int                         words_fd,
                                           gboolean                    share_network)
{
  posix_spawn_file_actions_addopen (actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2 (actions, words_fd, 1);
  posix_spawn_file_actions_adddup2 (actions, words_fd, 2);
  posix_spawn_file_actions_adddup2 (actions, agent_socket, SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET);
  posix_spawn_file_actions_adddup2 (actions, self->bwrap_fd, SANDBOX_BUBBLEWRAP_FD_BWRAP);
  sandbox_bubblewrap_launch_add_file (actions, self->arguments_fds[share_network ? 1 : 0], SANDBOX_BUBBLEWRAP_FD_ARGUMENTS);
  sandbox_bubblewrap_launch_add_file (actions, self->agent_fd, SANDBOX_BUBBLEWRAP_FD_AGENT);
  for (guint i = 0; i < G_N_ELEMENTS (self->file_fds); i++)
    sandbox_bubblewrap_launch_add_file (actions, self->file_fds[i], SANDBOX_BUBBLEWRAP_FD_PASSWD + (int) i);
  if (self->bind == SANDBOX_BUBBLEWRAP_BIND_BY_FD)
    posix_spawn_file_actions_adddup2 (actions, self->workspace_fd, SANDBOX_BUBBLEWRAP_FD_WORKSPACE);
}

static gboolean
sandbox_bubblewrap_launch_spawn (SandboxBubblewrapLaunch *self,
                                 int                      agent_socket,
                                 int                      words_fd,
                                 gboolean                 share_network,
                                 pid_t                   *pid,
                                 GError                 **error)
{
  SandboxBubblewrapIdentity *identity = self->identity;
  g_autofree char           *parent = g_strdup_printf ("%d", (int) getpid ());
  g_autofree char           *uid = identity->uid == G_MAXUINT ? g_strdup ("-1") : g_strdup_printf ("%u", identity->uid);
  g_autofree char           *gid = identity->gid == G_MAXUINT ? g_strdup ("-1") : g_strdup_printf ("%u", identity->gid);
  g_autofree char           *program = g_strdup_printf ("%d", SANDBOX_BUBBLEWRAP_FD_BWRAP);
  const int                  end = self->bind == SANDBOX_BUBBLEWRAP_BIND_BY_FD ? SANDBOX_BUBBLEWRAP_FD_END : SANDBOX_BUBBLEWRAP_FD_WORKSPACE;
  g_autofree char           *keep = g_strdup_printf ("%d", end - SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET);
  g_autofree char           *arguments = g_strdup_printf ("%d", SANDBOX_BUBBLEWRAP_FD_ARGUMENTS);
  g_autofree char           *socket_number = g_strdup_printf ("%d", SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET);
  const char *const          argv[] = {
             "sandbox-agent", "launch", parent, uid, gid, program, keep,
             "bwrap", "--args", arguments, "--", SANDBOX_BUBBLEWRAP_AGENT, "init", socket_number, NULL
  };
  const char *const          environment[] = { NULL };
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t          attributes;
  sigset_t                   none;
  sigset_t                   all;
  int                        failure = 0;

  sigemptyset (&none);
  sigfillset (&all);
  posix_spawn_file_actions_init (&actions);
  posix_spawnattr_init (&attributes);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setsigdefault (&attributes, &all);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  sandbox_bubblewrap_launch_add_descriptors (self, &actions, agent_socket, words_fd, share_network);

  /* The agent's descriptor was verified, so that is what runs, whatever its path leads to by now. */
  {
    g_autofree char *agent = g_strdup_printf ("/proc/self/fd/%d", self->agent_fd);

    failure = posix_spawn (pid, agent, &actions, &attributes, (char *const *) argv, (char *const *) environment);
  }
  posix_spawn_file_actions_destroy (&actions);
  posix_spawnattr_destroy (&attributes);
  if (failure == 0)
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The sandbox could not be built (step: launcher): the agent “%s” cannot be started: %s",
               self->agent_path, g_strerror (failure));

  return FALSE;
}

/* Takes *@fd above the numbers that descriptors have in bwrap. */
static gboolean
sandbox_bubblewrap_launch_lift (int *fd)
{
  int high = -1;

  if (*fd >= SANDBOX_BUBBLEWRAP_FD_END)
    return TRUE;
  high = fcntl (*fd, F_DUPFD_CLOEXEC, HIGH_FD);
  if (high < 0)
    return FALSE;
  sandbox_bubblewrap_fd_clear (fd);
  *fd = high;

  return TRUE;
}

SandboxAgentChannel *
sandbox_bubblewrap_launch_start (SandboxBubblewrapLaunch *self,
                                 gboolean                 share_network,
                                 GError                 **error)
{
  g_autoptr (SandboxAgentChannel) channel = NULL;
  int      sockets[2] = { -1, -1 };
  int      words[2] = { -1, -1 };
  int      pid_fd = -1;
  int      mount_fd = -1;
  pid_t    pid = -1;
  gboolean spawned = FALSE;

  if (!sandbox_workspace_check (self->workspace, error))
    return NULL;
  if (self->bind == SANDBOX_BUBBLEWRAP_BIND_BY_AGENT &&
      (mount_fd = sandbox_bubblewrap_identity_mount (self->identity, self->workspace_fd, error)) < 0)
    return NULL;

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0 ||
      pipe2 (words, O_CLOEXEC | O_NONBLOCK) < 0 ||
      !sandbox_bubblewrap_launch_lift (&sockets[1]) || !sandbox_bubblewrap_launch_lift (&words[1]))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox could not be built (step: descriptors): %s", g_strerror (errno));
  else
    spawned = sandbox_bubblewrap_launch_spawn (self, sockets[1], words[1], share_network, &pid, error);
  sandbox_bubblewrap_fd_close (sockets[1]);
  sandbox_bubblewrap_fd_close (words[1]);

  /* Our own child, not yet waited for: the number is still its. */
  if (spawned)
    pid_fd = (int) syscall (SYS_pidfd_open, pid, 0);
  if (pid_fd >= 0)
    {
      channel = sandbox_agent_channel_new_take_fd (sockets[0],
                                                   SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_USERNS |
                                                       SANDBOX_AGENT_CHANNEL_FLAGS_PRIVATE_DEVPTS |
                                                       SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_SET_ID);
      sandbox_agent_channel_take_launcher (channel, pid_fd, words[0]);
      if (self->identity->uid != G_MAXUINT)
        sandbox_agent_channel_set_owner (channel, self->identity->uid, self->identity->gid);
      sandbox_agent_channel_set_workspace (channel, self->workspace_device, self->workspace_inode);
      if (mount_fd >= 0)
        sandbox_agent_channel_take_workspace_mount (channel, mount_fd);
      return g_steal_pointer (&channel);
    }

  if (spawned)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox could not be built (step: launcher): %s", g_strerror (errno));
  sandbox_bubblewrap_fd_close (sockets[0]);
  sandbox_bubblewrap_fd_close (words[0]);
  sandbox_bubblewrap_fd_close (mount_fd);

  return NULL;
}
