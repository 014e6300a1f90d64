/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The agent in real sandboxes: every end a command can have, and every way to make the agent let go of one.
 * A root host hands over an idmapped mount and gives up its uid; any other host binds the workspace by bwrap.
 */
#include "sandbox-agent-filter-private.h"
#include "sandbox-agent-protocol.h"
#include "sandbox-fd-private.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BWRAP "/usr/bin/bwrap"
#define GUEST_UID 61200
#define PATIENCE_MS 30000

enum
{
  FD_AGENT = 3,
  FD_ARGUMENTS,
  FD_BINARY,
  FD_BWRAP,
  FD_WORKSPACE,
  FD_END,
};

static const struct sock_filter filter_nothing[] = {
  BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* What a test wants otherwise; all zero is the usual. */
typedef struct
{
  const char *const        *argv;
  const char               *script; /* instead of argv: given to sh */
  const char *const        *envp;
  const char               *cwd;
  const char               *stdin_path;
  guint64                   deadline_us;
  SandboxAgentLimit         limit; /* value 0: none */
  const struct sock_filter *filter;
  guint                     n_instructions;
  const struct sock_filter *slot_filter; /* beside it */
  guint                     n_slot_instructions;
  guint32                   setup_flags; /* 0: forbid user namespaces, private devpts */
  const char               *workspace;
  guint64                   wrong_inode;
  guint32                   mount_flags;
  gboolean                  no_capabilities; /* neither for bwrap to give nor for the agent to need */
  gboolean                  no_die_with_parent;
  gboolean                  no_door_directory;
  gboolean                  no_packets; /* the test sends its own */
  gboolean                  strings_in_memfd;
  int                       strings_fd; /* > 0: this memfd instead of a good one */
  int                       lock_fd;    /* > 0 */
  const SandboxAgentRule   *rules;      /* end with a path that is NULL */
  const SandboxAgentMemory *memories;   /* end with a target that is NULL */
  const char               *layers;     /* a directory that holds "lower" and "base" of an overlay; instead of the workspace */
} Options;

typedef struct
{
  char *workspace;
  int   workspace_fd;
  int   mapping_fd; /* user namespace that maps the owner to GUEST_UID; root host only */
} Fixture;

typedef struct
{
  int                socket_fd;
  int                output_fd;
  int                words_fd; /* bwrap's stderr */
  int                pidfd;
  pid_t              bwrap;
  GString           *output;
  guint              n_packets;
  gboolean           hello;
  gboolean           started;
  gboolean           exited;
  gboolean           bye;
  gboolean           ended;
  gboolean           ready;   /* of a session that makes slots */
  int                view_fd; /* what came with that */
  guint              n_doors;
  int                doors[SANDBOX_AGENT_N_DOORS_MAX];
  SandboxAgentFailed failed;
  SandboxAgentExited end;
} Sandbox;

static guint8 buffer[SANDBOX_AGENT_PACKET_MAX];

static gboolean
host_is_root (void)
{
  return geteuid () == 0;
}

static const char *
agent_path (void)
{
  const char *path = g_getenv ("SANDBOX_AGENT_PATH");

  g_assert_nonnull (path);
  return path;
}

/* --- the fixture --- */

static int
open_mapping (uid_t owner)
{
  g_autofree char *map = g_strdup_printf ("%u %u 1", owner, GUEST_UID);
  g_autofree char *ns = NULL;
  int              ready[2], fd;
  pid_t            pid;
  char             byte;

  g_assert_cmpint (pipe2 (ready, O_CLOEXEC), ==, 0);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      if (unshare (CLONE_NEWUSER) == 0 && write (ready[1], "x", 1) == 1)
        pause ();
      _exit (1);
    }
  close (ready[1]);
  g_assert_cmpint (read (ready[0], &byte, 1), ==, 1);
  close (ready[0]);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *path = g_strdup_printf ("/proc/%d/%s", pid, i == 0 ? "uid_map" : "gid_map");

      fd = open (path, O_WRONLY | O_CLOEXEC);
      g_assert_cmpint (write (fd, map, strlen (map)), ==, strlen (map));
      close (fd);
    }
  ns = g_strdup_printf ("/proc/%d/ns/user", pid);
  fd = open (ns, O_RDONLY | O_CLOEXEC);
  g_assert_cmpint (fd, >=, 0);
  kill (pid, SIGKILL);
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  return fd;
}

static int
open_detached_mount (Fixture    *fixture,
                     int         directory_fd,
                     const char *name)
{
  struct mount_attr attributes = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (guint64) fixture->mapping_fd };
  int               fd = (int) syscall (SYS_open_tree, directory_fd, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (syscall (SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attributes, sizeof attributes), ==, 0);
  return fd;
}

static void
fixture_set_up (Fixture      *fixture,
                gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  fixture->workspace = g_dir_make_tmp ("agent-XXXXXX", &error);
  g_assert_no_error (error);
  fixture->workspace_fd = open (fixture->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (fixture->workspace_fd, >=, 0);
  fixture->mapping_fd = host_is_root () ? open_mapping (geteuid ()) : -1;
}

static void
fixture_tear_down (Fixture      *fixture,
                   gconstpointer unused)
{
  const char *const argv[] = { "rm", "-rf", fixture->workspace, NULL };
  g_autoptr (GError) error = NULL;

  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_free (fixture->workspace);
  sandbox_clear_fd (&fixture->workspace_fd);
  sandbox_clear_fd (&fixture->mapping_fd);
}

static void
fixture_write (Fixture    *fixture,
               const char *name,
               const char *text,
               mode_t      mode)
{
  g_autofree char *path = g_build_filename (fixture->workspace, name, NULL);
  g_autofree char *folder = g_path_get_dirname (path);
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_mkdir_with_parents (folder, 0755), ==, 0);
  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
  g_assert_cmpint (chmod (path, mode), ==, 0);
}

/* --- a sandbox --- */

static GByteArray *
make_arguments (const Options *options)
{
  static const char *const spaces[] = {
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--as-pid-1", "--clearenv", "--cap-drop", "ALL", NULL
  };
  static const char *const capabilities[] = {
    "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SYS_RESOURCE", "--cap-add", "CAP_SETPCAP", NULL
  };
  /* the directory that an overlay works in has mode 0 */
  static const char *const override[] = { "--cap-add", "CAP_DAC_OVERRIDE", NULL };
  static const char *const runtime[] = {
    "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
    "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin", "--proc", "/proc", NULL
  };
  static const char *const devices[] = {
    "--tmpfs", "/dev", "--dev-bind", "/dev/null", "/dev/null", "--dev-bind", "/dev/zero", "/dev/zero",
    "--dev-bind", "/dev/full", "/dev/full", "--dev-bind", "/dev/random", "/dev/random",
    "--dev-bind", "/dev/urandom", "/dev/urandom", "--dev-bind", "/dev/tty", "/dev/tty",
    "--dir", "/dev/pts", "--symlink", "pts/ptmx", "/dev/ptmx", "--dir", "/dev/shm", NULL
  };
  static const char *const no_devices[] = { "--dev", "/dev", "--disable-userns", NULL };
  static const char *const rest[] = {
    "--perms", "1777", "--tmpfs", "/dev/shm", "--perms", "1777", "--tmpfs", "/tmp", "--dir", "/run",
    "--dir", "/data/set", "--symlink", "set", "/data/link", NULL
  };
  static const char *const bound[] = { "--bind-fd", "7", "/workspace", NULL };
  static const char *const handed[] = { "--dir", "/workspace", NULL };
  static const char *const last[] = {
    "--perms", "0555", "--file", "5", "/run/sandbox-agent", "--remount-ro", "/dev", "--remount-ro", "/", NULL
  };
  static const char *const door_directory[] = { "--dir", "/run/sandbox-glib", NULL };
  static const char *const die[] = { "--die-with-parent", NULL };
  static const char *const none[] = { NULL };
  g_autofree char         *lower = g_strconcat (options->layers != NULL ? options->layers : "", "/lower", NULL);
  g_autofree char         *base = g_strconcat (options->layers != NULL ? options->layers : "", "/base", NULL);
  const char *const        layers[] = { "--ro-bind", lower, SANDBOX_AGENT_OVERLAY_LOWER, "--bind", base, SANDBOX_AGENT_OVERLAY_BASE, NULL };
  const char *const *const parts[] = {
    spaces,
    options->no_die_with_parent ? none : die,
    options->no_capabilities ? none : capabilities,
    options->layers != NULL ? override : none,
    runtime,
    options->no_capabilities ? no_devices : devices,
    rest,
    options->no_door_directory ? none : door_directory,
    host_is_root () ? handed : bound,
    options->layers != NULL && !host_is_root () ? layers : none,
    last,
  };
  GByteArray *bytes = g_byte_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    for (guint j = 0; parts[i][j] != NULL; j++)
      g_byte_array_append (bytes, (const guint8 *) parts[i][j], strlen (parts[i][j]) + 1);
  return bytes;
}

/* The agent in launch mode, with these descriptors from 0 on (all are closed here afterwards). */
static pid_t
spawn_launch (char *const *argv,
              const int   *fds,
              guint        n_fds)
{
  static char *const         environment[] = { NULL };
  posix_spawn_file_actions_t actions;
  pid_t                      pid;
  int                        high[FD_END];

  posix_spawn_file_actions_init (&actions);
  g_assert_cmpuint (n_fds, <=, FD_END);
  for (guint i = 0; i < n_fds; i++)
    {
      high[i] = fcntl (fds[i], F_DUPFD_CLOEXEC, 64);
      g_assert_cmpint (high[i], >=, 0);
      close (fds[i]);
      posix_spawn_file_actions_adddup2 (&actions, high[i], (int) i);
    }
  g_assert_cmpint (posix_spawn (&pid, agent_path (), &actions, NULL, argv, environment), ==, 0);
  posix_spawn_file_actions_destroy (&actions);
  for (guint i = 0; i < n_fds; i++)
    close (high[i]);
  return pid;
}

static int
open_or_die (const char *path,
             int         flags)
{
  int fd = open (path, flags | O_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  return fd;
}

static void
sandbox_send (Sandbox                  *self,
              const SandboxAgentPacket *packet)
{
  g_assert_true (sandbox_agent_send (self->socket_fd, packet, buffer, sizeof buffer));
}

static void
send_setup (Sandbox       *self,
            Fixture       *fixture,
            const Options *options)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_SETUP };
  g_auto (SandboxFd) mount_fd = -1;
  g_auto (SandboxFd) base_fd = -1;
  struct stat found;

  g_assert_cmpint (fstat (fixture->workspace_fd, &found), ==, 0);
  packet.setup = (SandboxAgentSetup){
    .flags = options->setup_flags,
    .workspace = options->workspace != NULL ? options->workspace : "/workspace",
    .workspace_device = found.st_dev,
    .workspace_inode = found.st_ino + options->wrong_inode,
    .n_instructions = options->filter != NULL ? options->n_instructions : G_N_ELEMENTS (filter_nothing),
    .filter = (const uint8_t *) (options->filter != NULL ? options->filter : filter_nothing),
  };
  if ((options->setup_flags & SANDBOX_AGENT_SETUP_SLOTS) != 0)
    {
      packet.setup.n_slot_instructions = options->slot_filter != NULL ? options->n_slot_instructions : G_N_ELEMENTS (filter_nothing);
      packet.setup.slot_filter = (const uint8_t *) (options->slot_filter != NULL ? options->slot_filter : filter_nothing);
    }
  if (options->setup_flags == 0 && !options->no_capabilities)
    packet.setup.flags = SANDBOX_AGENT_SETUP_FORBID_USERNS | SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS;
  if (options->layers != NULL)
    {
      packet.setup.workspace_inode = 0;
      packet.setup.n_mounts = 1;
      packet.setup.mounts[0] = (SandboxAgentMount){ "/workspace", SANDBOX_AGENT_MOUNT_OVERLAY };
      if (host_is_root ())
        {
          g_autofree char *lower = g_build_filename (options->layers, "lower", NULL);
          g_autofree char *base = g_build_filename (options->layers, "base", NULL);

          mount_fd = open_detached_mount (fixture, AT_FDCWD, lower);
          base_fd = open_detached_mount (fixture, AT_FDCWD, base);
          packet.fds[packet.n_fds++] = mount_fd;
          packet.fds[packet.n_fds++] = base_fd;
        }
      else
        packet.setup.mounts[0].flags |= SANDBOX_AGENT_MOUNT_BOUND;
    }
  else if (host_is_root () && !options->no_capabilities)
    {
      mount_fd = open_detached_mount (fixture, fixture->workspace_fd, "");
      packet.setup.n_mounts = 1;
      packet.setup.mounts[0] = (SandboxAgentMount){ "/workspace", options->mount_flags };
      packet.fds[packet.n_fds++] = mount_fd;
    }
  else if (host_is_root ())
    packet.setup.workspace_inode = 0;
  for (; options->rules != NULL && options->rules[packet.setup.n_rules].path != NULL; packet.setup.n_rules++)
    packet.setup.rules[packet.setup.n_rules] = options->rules[packet.setup.n_rules];
  for (; options->memories != NULL && options->memories[packet.setup.n_memories].target != NULL; packet.setup.n_memories++)
    packet.setup.memories[packet.setup.n_memories] = options->memories[packet.setup.n_memories];
  if (options->lock_fd > 0)
    {
      packet.setup.flags |= SANDBOX_AGENT_SETUP_HOLD_LOCK;
      packet.fds[packet.n_fds++] = options->lock_fd;
    }
  sandbox_send (self, &packet);
}

static void
send_exec (Sandbox       *self,
           const Options *options,
           int            output_fd)
{
  const char *const  shell[] = { "sh", "-c", options->script, NULL };
  const char *const  usual[] = { "PATH=/usr/bin:/bin", NULL };
  const char *const *argv = options->argv != NULL ? options->argv : shell;
  const char *const *envp = options->envp != NULL ? options->envp : usual;
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_EXEC, .n_fds = 3 };
  gsize              size = sandbox_agent_pack_strings (argv, envp, NULL, 0);
  g_autofree char   *strings = g_malloc (size);
  g_auto (SandboxFd) strings_fd = -1;
  g_auto (SandboxFd) stdin_fd = open_or_die (options->stdin_path != NULL ? options->stdin_path : "/dev/null", O_RDONLY);

  sandbox_agent_pack_strings (argv, envp, strings, size);
  packet.exec = (SandboxAgentExec){
    .deadline_us = options->deadline_us,
    .cwd = options->cwd != NULL ? options->cwd : "",
    .n_limits = options->limit.value != 0,
    .limits = { options->limit },
    .argc = g_strv_length ((char **) argv),
    .envc = g_strv_length ((char **) envp),
    .strings_size = (guint32) size,
    .strings = strings,
  };
  packet.fds[0] = stdin_fd;
  packet.fds[1] = packet.fds[2] = output_fd;
  if (options->strings_in_memfd || options->strings_fd > 0)
    {
      strings_fd = options->strings_fd > 0 ? dup (options->strings_fd) : sandbox_fd_new_sealed ("strings", strings, size);
      g_assert_cmpint (strings_fd, >=, 0);
      packet.exec.flags |= SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD;
      packet.exec.strings = NULL;
      packet.fds[packet.n_fds++] = strings_fd;
    }
  sandbox_send (self, &packet);
}

static Sandbox *
sandbox_start (Fixture       *fixture,
               const Options *options)
{
  g_autofree char *parent = g_strdup_printf ("%d", getpid ());
  g_autofree char *identity = g_strdup_printf ("%d", host_is_root () ? GUEST_UID : -1);
  g_autofree char *bwrap_fd = g_strdup_printf ("%d", FD_BWRAP);
  g_autofree char *keep = g_strdup_printf ("%d", host_is_root () ? FD_WORKSPACE - FD_AGENT : FD_END - FD_AGENT);
  char *const      argv[] = {
         (char *) "sandbox-agent", (char *) "launch", parent, identity, identity, bwrap_fd, keep, (char *) "-1",
         (char *) "bwrap", (char *) "--args", (char *) "4", (char *) "--", (char *) "/run/sandbox-agent", (char *) "init", (char *) "3", NULL
  };
  g_autoptr (GByteArray) arguments = make_arguments (options);
  Sandbox *self = g_new0 (Sandbox, 1);
  int      pair[2], output[2], words[2], fds[FD_END];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), ==, 0);
  g_assert_cmpint (pipe2 (output, O_CLOEXEC), ==, 0);
  g_assert_cmpint (pipe2 (words, O_CLOEXEC | O_NONBLOCK), ==, 0);
  self->socket_fd = pair[0];
  self->output_fd = output[0];
  self->words_fd = words[0];
  self->pidfd = -1;
  self->view_fd = -1;
  self->output = g_string_new (NULL);
  /* before anybody is there to read it */
  if (!options->no_packets)
    {
      send_setup (self, fixture, options);
      send_exec (self, options, output[1]);
    }
  close (output[1]);

  fds[0] = open_or_die ("/dev/null", O_RDONLY);
  fds[1] = open_or_die ("/dev/null", O_WRONLY);
  fds[2] = words[1];
  fds[FD_AGENT] = pair[1];
  fds[FD_ARGUMENTS] = sandbox_fd_new_sealed ("arguments", arguments->data, arguments->len);
  fds[FD_BINARY] = open_or_die (agent_path (), O_RDONLY);
  fds[FD_BWRAP] = open_or_die (BWRAP, O_PATH);
  if (!host_is_root ())
    fds[FD_WORKSPACE] = fcntl (fixture->workspace_fd, F_DUPFD_CLOEXEC, 3);
  self->bwrap = spawn_launch (argv, fds, host_is_root () ? FD_WORKSPACE : FD_END);
  return self;
}

static void
sandbox_hear (Sandbox *self)
{
  SandboxAgentPacket packet;

  switch (sandbox_agent_receive (self->socket_fd, SANDBOX_AGENT_FROM_AGENT, buffer, sizeof buffer, &packet))
    {
    case SANDBOX_AGENT_AGAIN:
      return;
    case SANDBOX_AGENT_END:
      self->ended = TRUE;
      return;
    case SANDBOX_AGENT_REJECTED:
      g_assert_not_reached ();
    case SANDBOX_AGENT_RECEIVED:
      break;
    }
  g_assert_false (self->bye);
  g_assert_false (self->exited);
  g_assert_cmpuint (self->failed.step, ==, 0);
  switch (packet.type)
    {
    case SANDBOX_AGENT_HELLO:
      g_assert_cmpuint (self->n_packets, ==, 0);
      self->hello = TRUE;
      self->pidfd = packet.fds[0];
      break;
    case SANDBOX_AGENT_STARTED:
      g_assert_true (self->hello);
      g_assert_false (self->started);
      self->started = TRUE;
      break;
    case SANDBOX_AGENT_FAILED:
      g_assert_false (self->started);
      self->failed = packet.failed;
      break;
    case SANDBOX_AGENT_EXITED:
      g_assert_true (self->started);
      self->exited = TRUE;
      self->end = packet.exited;
      if (self->bwrap == 0 && (self->end.flags & SANDBOX_AGENT_EXITED_ALONE) != 0)
        g_assert_cmpint (syscall (SYS_pidfd_send_signal, self->pidfd, SIGKILL, NULL, 0), ==, 0);
      break;
    case SANDBOX_AGENT_BYE:
      self->bye = TRUE;
      break;
    case SANDBOX_AGENT_LISTEN:
      g_assert_true (self->hello);
      g_assert_false (self->started || self->ready);
      g_assert_cmpuint (self->n_doors, ==, 0);
      for (; self->n_doors < packet.n_fds; self->n_doors++)
        self->doors[self->n_doors] = packet.fds[self->n_doors];
      break;
    case SANDBOX_AGENT_READY:
      g_assert_true (self->hello);
      g_assert_false (self->ready);
      self->ready = TRUE;
      self->view_fd = packet.fds[0];
      break;
    default:
      g_assert_not_reached ();
    }
  self->n_packets++;
}

static gboolean
is_readable (int fd,
             int timeout_ms)
{
  struct pollfd polled = { fd, POLLIN, 0 };

  return poll (&polled, 1, timeout_ms) == 1;
}

/* Serves socket and output until @flag is set, or all has ended. */
static void
sandbox_serve (Sandbox        *self,
               const gboolean *flag)
{
  gint64   limit = g_get_monotonic_time () + PATIENCE_MS * 1000;
  gboolean drained = FALSE;

  while (!(flag != NULL ? *flag || self->ended : self->ended && drained))
    {
      struct pollfd polled[] = { { self->ended ? -1 : self->socket_fd, POLLIN, 0 }, { drained ? -1 : self->output_fd, POLLIN, 0 } };
      char          bytes[4096];
      ssize_t       got;

      g_assert_cmpint (g_get_monotonic_time (), <, limit);
      g_assert_cmpint (poll (polled, 2, 1000), >=, 0);
      if (polled[0].revents != 0)
        sandbox_hear (self);
      if (polled[1].revents != 0)
        {
          got = read (self->output_fd, bytes, sizeof bytes);
          g_assert_cmpint (got, >=, 0);
          g_string_append_len (self->output, bytes, got);
          drained = got == 0;
        }
    }
}

/* Until the command has written that. */
static void
sandbox_wait_for_output (Sandbox    *self,
                         const char *text)
{
  while (strstr (self->output->str, text) == NULL)
    {
      char    bytes[64];
      ssize_t got;

      g_assert_true (is_readable (self->output_fd, PATIENCE_MS));
      got = read (self->output_fd, bytes, sizeof bytes);
      g_assert_cmpint (got, >, 0);
      g_string_append_len (self->output, bytes, got);
    }
}

/* To the very end: both ends of file, everything dead, bwrap waited for. */
static void
sandbox_finish (Sandbox *self)
{
  int status;

  sandbox_serve (self, NULL);
  if (self->pidfd >= 0)
    g_assert_true (is_readable (self->pidfd, PATIENCE_MS));
  g_assert_cmpint (waitpid (self->bwrap, &status, 0), ==, self->bwrap);
  if (!self->hello && self->failed.step == 0 && self->socket_fd >= 0)
    {
      char    words[1024];
      ssize_t got = read (self->words_fd, words, sizeof words - 1);

      g_test_message ("bwrap ended with %d: %.*s", status, (int) MAX (got, 0), words);
    }
}

static void
sandbox_free (Sandbox *self)
{
  sandbox_clear_fd (&self->socket_fd);
  sandbox_clear_fd (&self->output_fd);
  sandbox_clear_fd (&self->words_fd);
  sandbox_clear_fd (&self->pidfd);
  sandbox_clear_fd (&self->view_fd);
  for (guint i = 0; i < self->n_doors; i++)
    sandbox_clear_fd (&self->doors[i]);
  g_string_free (self->output, TRUE);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Sandbox, sandbox_free)

static Sandbox *
run (Fixture       *fixture,
     const Options *options)
{
  Sandbox *self = sandbox_start (fixture, options);

  sandbox_finish (self);
  g_assert_true (self->hello);
  return self;
}

static void
assert_ended (Fixture    *fixture,
              const char *script,
              int         wait_status)
{
  g_autoptr (Sandbox) sandbox = run (fixture, &(Options){ .script = script });

  g_assert_cmpuint (sandbox->failed.step, ==, 0);
  g_assert_true (sandbox->exited);
  g_assert_cmpint (sandbox->end.wait_status, ==, wait_status);
  g_assert_cmpuint (sandbox->end.flags & SANDBOX_AGENT_EXITED_DEADLINE, ==, 0);
}

static void
assert_output (Fixture       *fixture,
               const Options *options,
               const char    *output)
{
  g_autoptr (Sandbox) sandbox = run (fixture, options);

  g_assert_cmpuint (sandbox->failed.step, ==, 0);
  g_assert_true (sandbox->exited);
  g_assert_cmpstr (sandbox->output->str, ==, output);
  g_assert_cmpint (sandbox->end.wait_status, ==, 0);
}

static void
assert_failed (Fixture         *fixture,
               const Options   *options,
               SandboxAgentStep step,
               int              error,
               guint32          detail)
{
  g_autoptr (Sandbox) sandbox = run (fixture, options);

  g_assert_cmpstr (sandbox_agent_step_to_string (sandbox->failed.step), ==, sandbox_agent_step_to_string (step));
  g_assert_cmpint (sandbox->failed.error, ==, error);
  g_assert_cmpuint (sandbox->failed.detail, ==, detail);
  g_assert_false (sandbox->started);
  g_assert_cmpstr (sandbox->output->str, ==, "");
}

static void
assert_argv_failed (Fixture         *fixture,
                    const char      *program,
                    SandboxAgentStep step,
                    int              error)
{
  const char *const argv[] = { program, NULL };

  assert_failed (fixture, &(Options){ .argv = argv }, step, error, 0);
}

/* --- ends --- */

static void
test_exit (Fixture      *fixture,
           gconstpointer unused)
{
  const int codes[] = { 0, 1, 126, 127, 137, 255 };

  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    {
      g_autofree char *script = g_strdup_printf ("exit %d", codes[i]);

      assert_ended (fixture, script, codes[i] << 8);
    }
}

static void
test_signaled (Fixture      *fixture,
               gconstpointer unused)
{
  g_test_summary ("A signal is told as a signal, also KILL next to exit code 137, and nothing dumps core");
  assert_ended (fixture, "kill -TERM $$", SIGTERM);
  assert_ended (fixture, "kill -KILL $$", SIGKILL);
  assert_ended (fixture, "kill -SEGV $$", SIGSEGV);
  assert_ended (fixture, "kill -ABRT $$", SIGABRT);
}

static void
test_no_program (Fixture      *fixture,
                 gconstpointer unused)
{
  g_autofree char *long_name = g_strnfill (NAME_MAX + 1, 'x');

  fixture_write (fixture, "plain", "echo hi\n", 0644);
  fixture_write (fixture, "text", "echo hi\n", 0755);
  fixture_write (fixture, "script", "#!/nowhere/interpreter\n", 0755);
  fixture_write (fixture, "folder/file", "", 0644);
  g_assert_cmpint (symlinkat ("/nowhere", fixture->workspace_fd, "dangling"), ==, 0);

  assert_argv_failed (fixture, "no-such-program", SANDBOX_AGENT_STEP_EXEC_NOT_FOUND, ENOENT);
  assert_argv_failed (fixture, "/no/such/program", SANDBOX_AGENT_STEP_EXEC_NOT_FOUND, ENOENT);
  assert_argv_failed (fixture, "./plain/below", SANDBOX_AGENT_STEP_EXEC_NOT_FOUND, ENOTDIR);
  assert_argv_failed (fixture, "./dangling", SANDBOX_AGENT_STEP_EXEC_NOT_FOUND, ENOENT);
  assert_argv_failed (fixture, "", SANDBOX_AGENT_STEP_EXEC_NOT_FOUND, ENOENT);
  assert_argv_failed (fixture, "--ro-bind", SANDBOX_AGENT_STEP_EXEC_NOT_FOUND, ENOENT);
  assert_argv_failed (fixture, "./script", SANDBOX_AGENT_STEP_EXEC_INTERPRETER, ENOENT);
  assert_argv_failed (fixture, "./plain", SANDBOX_AGENT_STEP_EXEC, EACCES);
  assert_argv_failed (fixture, "./folder", SANDBOX_AGENT_STEP_EXEC, EACCES);
  assert_argv_failed (fixture, "/workspace/text", SANDBOX_AGENT_STEP_EXEC, ENOEXEC);
  assert_argv_failed (fixture, long_name, SANDBOX_AGENT_STEP_EXEC, ENAMETOOLONG);
}

static void
test_path_search (Fixture      *fixture,
                  gconstpointer unused)
{
  const char *const argv[] = { "tool", NULL };
  const char *const mine[] = { "PATH=/nowhere:/workspace/a:/workspace/b:/usr/bin", NULL };
  const char *const other[] = { "X=1", "PATH=/workspace/b", "PATH=/workspace/a", NULL };
  const char *const here[] = { "PATH=/nowhere::/usr/bin", NULL };
  const char *const nothing[] = { "PATH=/nowhere", NULL };
  const char *const no_path[] = { "XPATH=/workspace/b", NULL };
  const char *const denied[] = { "PATH=/workspace/denied:/nowhere", NULL };
  const char *const broken[] = { "PATH=/workspace/broken", NULL };
  const char *const text[] = { "PATH=/workspace/text:/workspace/b", NULL };
  const char *const true_argv[] = { "true", NULL };

  fixture_write (fixture, "a/tool", "#!/bin/sh\necho a\n", 0755);
  fixture_write (fixture, "b/tool", "#!/bin/sh\necho b\n", 0755);
  fixture_write (fixture, "tool", "#!/bin/sh\necho here\n", 0755);
  fixture_write (fixture, "denied/tool", "#!/bin/sh\n", 0644);
  fixture_write (fixture, "broken/tool", "#!/nowhere\n", 0755);
  fixture_write (fixture, "text/tool", "echo text\n", 0755);

  assert_output (fixture, &(Options){ .argv = argv, .envp = mine }, "a\n");
  assert_output (fixture, &(Options){ .argv = argv, .envp = other }, "b\n");
  assert_output (fixture, &(Options){ .argv = argv, .envp = here }, "here\n");
  assert_output (fixture, &(Options){ .argv = true_argv, .envp = no_path }, "");
  assert_failed (fixture, &(Options){ .argv = argv, .envp = nothing }, SANDBOX_AGENT_STEP_EXEC_NOT_FOUND, ENOENT, 0);
  assert_failed (fixture, &(Options){ .argv = argv, .envp = denied }, SANDBOX_AGENT_STEP_EXEC, EACCES, 0);
  assert_failed (fixture, &(Options){ .argv = argv, .envp = broken }, SANDBOX_AGENT_STEP_EXEC_INTERPRETER, ENOENT, 0);
  assert_failed (fixture, &(Options){ .argv = argv, .envp = text }, SANDBOX_AGENT_STEP_EXEC, ENOEXEC, 0);
  /* what may not be executed is passed over */
  {
    const char *const later[] = { "PATH=/workspace/denied:/workspace/b", NULL };

    assert_output (fixture, &(Options){ .argv = argv, .envp = later }, "b\n");
  }
}

static void
test_cwd (Fixture      *fixture,
          gconstpointer unused)
{
  fixture_write (fixture, "a/b/file", "", 0644);
  fixture_write (fixture, "closed/file", "", 0644);
  g_assert_cmpint (symlinkat ("/usr", fixture->workspace_fd, "out"), ==, 0);
  g_assert_cmpint (symlinkat ("a", fixture->workspace_fd, "in"), ==, 0);
  g_assert_cmpint (fchmodat (fixture->workspace_fd, "closed", 0, 0), ==, 0);

  assert_output (fixture, &(Options){ .script = "pwd" }, "/workspace\n");
  assert_output (fixture, &(Options){ .script = "pwd", .cwd = "." }, "/workspace\n");
  assert_output (fixture, &(Options){ .script = "pwd", .cwd = "a/b" }, "/workspace/a/b\n");
  assert_failed (fixture, &(Options){ .script = "pwd", .cwd = "gone" }, SANDBOX_AGENT_STEP_CHDIR, ENOENT, 0);
  assert_failed (fixture, &(Options){ .script = "pwd", .cwd = "a/b/file" }, SANDBOX_AGENT_STEP_CHDIR, ENOTDIR, 0);
  assert_failed (fixture, &(Options){ .script = "pwd", .cwd = "out" }, SANDBOX_AGENT_STEP_CHDIR, ELOOP, 0);
  assert_failed (fixture, &(Options){ .script = "pwd", .cwd = "in/b" }, SANDBOX_AGENT_STEP_CHDIR, ELOOP, 0);
  assert_failed (fixture, &(Options){ .script = "pwd", .cwd = ".." }, SANDBOX_AGENT_STEP_CHDIR, EXDEV, 0);
  assert_failed (fixture, &(Options){ .script = "pwd", .cwd = "a/../.." }, SANDBOX_AGENT_STEP_CHDIR, EXDEV, 0);
  assert_failed (fixture, &(Options){ .script = "pwd", .cwd = "closed" }, SANDBOX_AGENT_STEP_CHDIR, EACCES, 0);
  g_assert_cmpint (fchmodat (fixture->workspace_fd, "closed", 0700, 0), ==, 0);
}

/* --- argv and environment --- */

static void
test_strings (Fixture      *fixture,
              gconstpointer unused)
{
  const char *const argv[] = { "sh", "-c", "for a; do printf '[%s]' \"$a\"; done", "--", "", "a b", "\xff\x01", "--bind", "", NULL };
  const char *const env_argv[] = { "/usr/bin/env", NULL };
  const char *const envp[] = { "A=1", "EMPTY=", "LD_X=y z", NULL };
  const char *const no_envp[] = { NULL };

  assert_output (fixture, &(Options){ .argv = argv }, "[][a b][\xff\x01][--bind][]");
  assert_output (fixture, &(Options){ .argv = env_argv, .envp = envp }, "A=1\nEMPTY=\nLD_X=y z\n");
  assert_output (fixture, &(Options){ .argv = env_argv, .envp = no_envp }, "");
  assert_output (fixture, &(Options){ .argv = argv, .strings_in_memfd = TRUE }, "[][a b][\xff\x01][--bind][]");
}

static void
test_many_strings (Fixture      *fixture,
                   gconstpointer unused)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autofree char  *word = g_strnfill (999, 'w');
  g_autofree char  *huge = g_strnfill (128 * 1024 - 1, 'h');
  g_autofree char  *too_long = g_strnfill (128 * 1024, 't');
  const char *const long_argv[] = { "sh", "-c", "echo ${#1}", "--", huge, NULL };
  const char *const too_long_argv[] = { "true", too_long, NULL };

  g_ptr_array_add (argv, (gpointer) "sh");
  g_ptr_array_add (argv, (gpointer) "-c");
  g_ptr_array_add (argv, (gpointer) "echo $# ${#1} ${1500%w*}");
  g_ptr_array_set_size (argv, 3);
  ((const char **) argv->pdata)[2] = "echo $#";
  g_ptr_array_add (argv, (gpointer) "--");
  for (guint i = 0; i < 1900; i++)
    g_ptr_array_add (argv, word);
  g_ptr_array_add (argv, NULL);
  assert_output (fixture, &(Options){ .argv = (const char *const *) argv->pdata, .strings_in_memfd = TRUE }, "1900\n");
  assert_output (fixture, &(Options){ .argv = long_argv, .strings_in_memfd = TRUE }, "131071\n");
  assert_failed (fixture, &(Options){ .argv = too_long_argv, .strings_in_memfd = TRUE }, SANDBOX_AGENT_STEP_EXEC, E2BIG, 0);

  argv->pdata[argv->len - 1] = word;
  for (guint i = 0; i < 190; i++)
    g_ptr_array_add (argv, word);
  g_ptr_array_add (argv, NULL);
  assert_failed (fixture, &(Options){ .argv = (const char *const *) argv->pdata, .strings_in_memfd = TRUE }, SANDBOX_AGENT_STEP_EXEC, E2BIG, 0);
}

static void
test_bad_memfd (Fixture      *fixture,
                gconstpointer unused)
{
  const char true_strings[] = "sh\0-c\0true\0PATH=/usr/bin:/bin";
  const char short_strings[] = "sh\0-c\0true";
  const char other_strings[] = "sh\0-c\0trueXPATH=/usr/bin:/bin";
  const struct
  {
    const char *bytes;
    gsize       size;
    int         seals;
    int         error;
  } bad[] = {
    { true_strings, sizeof true_strings, 0, EBADMSG },
    { true_strings, sizeof true_strings, F_SEAL_GROW | F_SEAL_SHRINK, EBADMSG },
    { true_strings, sizeof true_strings, F_SEAL_WRITE | F_SEAL_SHRINK, EBADMSG },
    { true_strings, sizeof true_strings, F_SEAL_WRITE | F_SEAL_GROW, EBADMSG },
    { short_strings, sizeof short_strings, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK, EBADMSG },
    { other_strings, sizeof other_strings, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK, EBADMSG },
    { "", 0, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK, EBADMSG },
  };
  g_auto (SandboxFd) plain_fd = open_or_die ("/dev/null", O_RDONLY);

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_auto (SandboxFd) fd = memfd_create ("strings", MFD_CLOEXEC | MFD_ALLOW_SEALING);

      g_assert_cmpint (write (fd, bad[i].bytes, bad[i].size), ==, bad[i].size);
      g_assert_cmpint (fcntl (fd, F_ADD_SEALS, bad[i].seals), ==, 0);
      assert_failed (fixture, &(Options){ .script = "true", .strings_fd = fd }, SANDBOX_AGENT_STEP_STRINGS, bad[i].error, 0);
    }
  assert_failed (fixture, &(Options){ .script = "true", .strings_fd = plain_fd }, SANDBOX_AGENT_STEP_STRINGS, EINVAL, 0);
}

/* --- what the command finds --- */

static void
test_clean_process (Fixture      *fixture,
                    gconstpointer unused)
{
  sigset_t blocked, before;

  g_test_summary ("Signals, mask, umask, session, descriptors, capabilities: whatever the host has, the command starts clean");
  sigemptyset (&blocked);
  sigaddset (&blocked, SIGTERM);
  sigaddset (&blocked, SIGUSR1);
  sigaddset (&blocked, SIGRTMIN + 3);
  sigprocmask (SIG_BLOCK, &blocked, &before);
  signal (SIGINT, SIG_IGN);
  signal (SIGRTMAX, SIG_IGN);
  umask (077);

  assert_output (fixture,
                 &(Options){ .script = "grep -E '^(Sig(Pnd|Blk|Ign)|ShdPnd|Cap|NoNewPrivs|Seccomp|Uid|Gid)' /proc/self/status" },
                 "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n"
                 "SigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                 "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n"
                 "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  umask (022);
  signal (SIGINT, SIG_DFL);
  signal (SIGRTMAX, SIG_DFL);
  sigprocmask (SIG_SETMASK, &before, NULL);

  assert_output (fixture, &(Options){ .script = "umask; ulimit -Sc; ulimit -Hc" }, "0022\n0\n0\n");
  /* pid, process group, session: the same; no terminal */
  assert_output (fixture, &(Options){ .script = "read pid name state parent group session terminal rest </proc/$$/stat;"
                                                "echo $parent $((group - pid)) $((session - pid)) $terminal" },
                 "1 0 0 0\n");
}

static void
test_descriptors (Fixture      *fixture,
                  gconstpointer unused)
{
  const char *const argv[] = { "python3", "-c", "import os\nprint(sorted(int(f) for f in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + f)))", NULL };
  int               leaked[8];

  g_test_summary ("Nothing is inherited but the three streams, whatever the host has open without close-on-exec");
  for (guint i = 0; i < G_N_ELEMENTS (leaked); i++)
    leaked[i] = open (i % 2 == 0 ? "/etc/passwd" : "/", O_RDONLY);
  fixture_write (fixture, "input", "from stdin", 0644);
  {
    g_autofree char *input = g_build_filename (fixture->workspace, "input", NULL);

    assert_output (fixture, &(Options){ .argv = argv, .stdin_path = input }, "[0, 1, 2]\n");
    assert_output (fixture, &(Options){ .script = "cat; echo out; echo err >&2", .stdin_path = input }, "from stdinout\nerr\n");
  }
  assert_output (fixture, &(Options){ .argv = argv }, "[0, 1, 2]\n");
  assert_output (fixture, &(Options){ .script = "cat" }, "");
  for (guint i = 0; i < G_N_ELEMENTS (leaked); i++)
    close (leaked[i]);
}

static void
test_limits (Fixture      *fixture,
             gconstpointer unused)
{
  static const char *const fixed_limits = "echo $(sed -En 's/^Max (core file size|locked memory|msgqueue size|nice priority|realtime priority) +"
                                          "([0-9]+) +([0-9]+).*/\\2 \\3/p' /proc/self/limits)";
  struct rlimit            files;
  g_autofree char         *most = NULL;

  assert_output (fixture, &(Options){ .script = "ulimit -Sn; ulimit -Hn", .limit = { RLIMIT_NOFILE, 33 } }, "33\n33\n");
  /* fewer than the agent itself needs on the way */
  assert_output (fixture, &(Options){ .script = "echo $((1 + 1))", .limit = { RLIMIT_NOFILE, 4 } }, "2\n");
  assert_output (fixture, &(Options){ .script = "ulimit -c", .limit = { RLIMIT_CORE, 4096 } }, "0\n");
  /* never more than these, whatever is asked for and whatever the host has; less stays less */
  assert_output (fixture, &(Options){ .script = fixed_limits, .limit = { RLIMIT_MEMLOCK, 1 << 20 } }, "0 0 65536 65536 0 0 0 0 0 0\n");
  assert_output (fixture, &(Options){ .script = fixed_limits, .limit = { RLIMIT_MSGQUEUE, 819200 } }, "0 0 65536 65536 0 0 0 0 0 0\n");
  assert_output (fixture, &(Options){ .script = fixed_limits, .limit = { RLIMIT_MEMLOCK, 4096 } }, "0 0 4096 4096 0 0 0 0 0 0\n");
  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &files), ==, 0);
  most = g_strdup_printf ("%" G_GUINT64_FORMAT "\n", (guint64) files.rlim_max);
  assert_output (fixture, &(Options){ .script = "ulimit -Sn", .limit = { RLIMIT_NOFILE, G_GUINT64_CONSTANT (1) << 40 } }, most);
  {
    g_autoptr (Sandbox) sandbox = run (fixture, &(Options){ .script = "exec head -c 5000 /dev/zero >big", .limit = { RLIMIT_FSIZE, 4096 } });
    struct stat found;

    g_assert_cmpint (sandbox->end.wait_status, ==, SIGXFSZ);
    g_assert_cmpint (fstatat (fixture->workspace_fd, "big", &found, 0), ==, 0);
    g_assert_cmpint (found.st_size, ==, 4096);
  }
  {
    g_autoptr (Sandbox) sandbox = run (fixture, &(Options){ .script = "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done", .limit = { RLIMIT_NPROC, 4 } });

    g_assert_true (WIFEXITED (sandbox->end.wait_status));
    g_assert_cmpint (WEXITSTATUS (sandbox->end.wait_status), ==, 2);
    g_assert_nonnull (strstr (sandbox->output->str, "fork"));
  }
  /* also one under which the program cannot even be loaded is no reason to hang */
  {
    g_autoptr (Sandbox) sandbox = run (fixture, &(Options){ .script = "true", .limit = { RLIMIT_AS, 4096 } });

    g_assert_true (sandbox->failed.step == SANDBOX_AGENT_STEP_EXEC || (sandbox->exited && sandbox->end.wait_status != 0));
  }
}

static void
test_usage (Fixture      *fixture,
            gconstpointer unused)
{
  g_autoptr (Sandbox) idle = run (fixture, &(Options){ .script = "sleep 0.3" });
  g_autoptr (Sandbox) busy = run (fixture, &(Options){ .script = "head -c 60000000 /dev/zero | tail -n 1 | wc -c; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done" });

  g_assert_cmpuint (idle->end.wall_us, >=, 300000);
  g_assert_cmpuint (idle->end.wall_us, <, 20000000);
  g_assert_cmpuint (idle->end.user_us + idle->end.system_us, <, idle->end.wall_us);
  g_assert_cmpuint (busy->end.user_us, >, 20000);
  g_assert_cmpuint (busy->end.system_us, >, 0);
  g_assert_cmpuint (busy->end.peak_memory, >, 60000000);
  g_assert_cmpuint (busy->end.peak_memory, <, 600000000);
}

/* --- the filter --- */

#define LOAD_NUMBER BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr))
#define IF_NUMBER_RETURN(number, value)                \
 BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
     BPF_STMT (BPF_RET | BPF_K, (value))

static void
test_filter (Fixture      *fixture,
             gconstpointer unused)
{
  static const struct sock_filter no_mkdir[] = {
    LOAD_NUMBER,
    IF_NUMBER_RETURN (SYS_mkdirat, SECCOMP_RET_ERRNO | EPERM),
#ifdef SYS_mkdir
    IF_NUMBER_RETURN (SYS_mkdir, SECCOMP_RET_ERRNO | EPERM),
#endif
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  static const struct sock_filter no_exec[] = {
    LOAD_NUMBER,
    IF_NUMBER_RETURN (SYS_execve, SECCOMP_RET_ERRNO | EMEDIUMTYPE),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  static const struct sock_filter jumps_out[] = {
    LOAD_NUMBER,
    BPF_STMT (BPF_JMP | BPF_JA, 7),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  static const struct sock_filter no_return[] = { LOAD_NUMBER };
  static struct sock_filter       largest[SANDBOX_AGENT_N_INSTRUCTIONS_MAX];

  assert_output (fixture, &(Options){ .script = "mkdir /tmp/x || echo refused; mkdir /tmp/x 2>/dev/null || true", .filter = no_mkdir, .n_instructions = G_N_ELEMENTS (no_mkdir) },
                 "mkdir: cannot create directory '/tmp/x': Operation not permitted\nrefused\n");
  assert_failed (fixture, &(Options){ .script = "true", .filter = no_exec, .n_instructions = G_N_ELEMENTS (no_exec) }, SANDBOX_AGENT_STEP_EXEC, EMEDIUMTYPE, 0);
  assert_failed (fixture, &(Options){ .script = "true", .filter = jumps_out, .n_instructions = G_N_ELEMENTS (jumps_out) }, SANDBOX_AGENT_STEP_SECCOMP, EINVAL, 0);
  assert_failed (fixture, &(Options){ .script = "true", .filter = no_return, .n_instructions = 1 }, SANDBOX_AGENT_STEP_SECCOMP, EINVAL, 0);

  for (guint i = 0; i < G_N_ELEMENTS (largest); i++)
    largest[i] = (struct sock_filter) BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  assert_output (fixture, &(Options){ .script = "echo fine", .filter = largest, .n_instructions = G_N_ELEMENTS (largest) }, "fine\n");
}

static void
test_check (Fixture      *fixture,
            gconstpointer unused)
{
  static const char *const kinds[] = { "default", "strict", "debugger" };

  g_test_summary ("The agent's own look at its filter finds each filter whole, a lesser one wanting, and ends as it must");

  for (guint i = 0; i < 3 * G_N_ELEMENTS (kinds); i++)
    {
      const SandboxFilter has = (SandboxFilter) (i / G_N_ELEMENTS (kinds));
      const SandboxFilter wants = (SandboxFilter) (i % G_N_ELEMENTS (kinds));
      const char *const   argv[] = { "/run/sandbox-agent", "check", kinds[wants], "set-id", NULL };
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) filter = sandbox_agent_filter_get (has, TRUE, SANDBOX_AGENT_FILTER_WHOLE, &error);
      g_autoptr (Sandbox) sandbox = NULL;
      const gboolean good = wants == has || wants == SANDBOX_FILTER_DEBUGGER || (wants == SANDBOX_FILTER_DEFAULT && has == SANDBOX_FILTER_STRICT);
      gsize          size = 0;
      const void    *program = NULL;

      g_assert_no_error (error);
      program = g_bytes_get_data (filter, &size);
      sandbox = run (fixture, &(Options){ .argv = argv, .filter = program, .n_instructions = (guint) (size / SANDBOX_AGENT_INSTRUCTION_SIZE) });
      g_assert_true (sandbox->exited);
      if ((sandbox->end.wait_status == 0) != good)
        g_error ("%s as %s: %s", kinds[has], kinds[wants], sandbox->output->str);
      g_assert_true (g_str_has_suffix (sandbox->output->str, "\nend 0 0\n"));
      g_assert_cmpint (strstr (sandbox->output->str, "\nptrace 1 1\n") != NULL, ==, has != SANDBOX_FILTER_DEBUGGER && wants != SANDBOX_FILTER_DEBUGGER);
    }

  {
    const char *const argv[] = { "/run/sandbox-agent", "check", "default", "any", NULL };
    const char *const bad_argv[] = { "/run/sandbox-agent", "check", "other", "any", NULL };
    g_autoptr (Sandbox) sandbox = run (fixture, &(Options){ .argv = argv });
    g_autoptr (Sandbox) bad = run (fixture, &(Options){ .argv = bad_argv });

    g_assert_cmpint (sandbox->end.wait_status, ==, 1 << 8);
    g_assert_nonnull (strstr (sandbox->output->str, "personality-no-randomize 0 1\n"));
    g_assert_null (strstr (sandbox->output->str, "set-id"));
    g_assert_cmpint (bad->end.wait_status, ==, 125 << 8);
  }
}

/* --- Landlock --- */

#define NOWHERE \
 {              \
  NULL, 0       \
 }
/* What a shell and its tools need */
#define RULES_FOR_PROGRAMS                \
 { "/", SANDBOX_AGENT_RULE_LIST },        \
     { "/usr", SANDBOX_AGENT_RULE_READ }, \
 {                                        \
  "/dev/null", SANDBOX_AGENT_RULE_DEVICE  \
 }

static long
landlock_version (void)
{
  return syscall (SYS_landlock_create_ruleset, NULL, 0, 1);
}

/* @held with rules, and @free without any and where the kernel does not know them. */
static void
assert_held (Fixture                *fixture,
             const char             *script,
             const SandboxAgentRule *rules,
             const char             *held,
             const char             *free)
{
  assert_output (fixture, &(Options){ .script = script, .rules = rules }, landlock_version () >= 2 ? held : free);
  assert_output (fixture, &(Options){ .script = script }, free);
}

static void
test_rules (Fixture      *fixture,
            gconstpointer unused)
{
  static const SandboxAgentRule write[] = { RULES_FOR_PROGRAMS, { "/workspace", SANDBOX_AGENT_RULE_WRITE }, NOWHERE };
  static const SandboxAgentRule read[] = { RULES_FOR_PROGRAMS, { "/workspace", SANDBOX_AGENT_RULE_READ }, NOWHERE };
  static const SandboxAgentRule list[] = { RULES_FOR_PROGRAMS, NOWHERE };
  static const SandboxAgentRule proc[] = { RULES_FOR_PROGRAMS, { "/workspace", SANDBOX_AGENT_RULE_PROC }, NOWHERE };
  static const SandboxAgentRule device[] = { RULES_FOR_PROGRAMS, { "/workspace", SANDBOX_AGENT_RULE_DEVICE }, NOWHERE };
  static const SandboxAgentRule one_file[] = { RULES_FOR_PROGRAMS, { "/workspace/file", SANDBOX_AGENT_RULE_WRITE }, NOWHERE };

  g_test_summary ("Of what the mounts allow a command can do no more than the rules say");

  fixture_write (fixture, "file", "text\n", 0644);
  fixture_write (fixture, "tool", "#!/usr/bin/sh\necho ran\n", 0755);
  fixture_write (fixture, "a/file", "a\n", 0644);
  g_assert_cmpint (fchmodat (fixture->workspace_fd, ".", 0755, 0), ==, 0);

  /* nothing at all of the places that no rule is for, but that they are there */
  assert_held (fixture, "cat /run/sandbox-agent >/dev/null 2>&1 || echo read; (echo >/tmp/x) 2>/dev/null || echo write; head -c 1 /dev/zero >/dev/null 2>&1 || echo device;"
                        "cat /proc/self/status >/dev/null 2>&1 || echo proc; /run/sandbox-agent version 2>/dev/null; ls -d /tmp /run",
               write, "read\nwrite\ndevice\nproc\n/run\n/tmp\n", "1\n/run\n/tmp\n");
  /* everything where everything is allowed */
  assert_held (fixture, "echo x >new && mkdir d && mv a/file d/file && ln d/file a/file && ln -s x l && mkfifo f && ./tool && rm -r new d l f && : >>a/file && cat a/file",
               write, "ran\na\n", "ran\na\n");
  assert_held (fixture, "cat file && ./tool && ls a; (echo x >>file) 2>/dev/null || echo no; mkdir d 2>/dev/null || echo no; rm file 2>/dev/null || echo no; ln a/file b 2>/dev/null || echo no; rmdir d 2>/dev/null; rm -f b 2>/dev/null; (echo text >file) 2>/dev/null; true",
               read, "text\nran\nfile\nno\nno\nno\nno\n", "text\nran\nfile\n");
  assert_held (fixture, "ls a; cat file 2>/dev/null || echo no; ./tool 2>/dev/null || echo no", list, "file\nno\nno\n", "file\ntext\nran\n");
  assert_held (fixture, "echo text >file && cat file && ./tool; (echo >new) 2>/dev/null || echo no; rm -f new", proc, "text\nran\nno\n", "text\nran\n");
  assert_held (fixture, "echo text >>/workspace/file; sed -i d file 2>/dev/null || echo no; ./tool 2>/dev/null || echo no; echo text 1<>file", device, "no\nno\n", "ran\n");
  /* a rule for a file says nothing of what is beside it */
  assert_held (fixture, "echo text >file && cat file; cat tool >/dev/null 2>&1 || echo no", one_file, "text\nno\n", "text\n");
}

static void
test_rules_scope (Fixture      *fixture,
                  gconstpointer unused)
{
  static const SandboxAgentRule usual[] = { RULES_FOR_PROGRAMS, { "/proc", SANDBOX_AGENT_RULE_PROC }, { "/workspace", SANDBOX_AGENT_RULE_WRITE }, NOWHERE };
  static const char *const      script = "kill -0 1 2>/dev/null || echo not to the agent; { sleep 9 & kill $! && wait $!; } 2>/dev/null; echo $?";

  g_test_summary ("A command sends signals to its own processes only, where the kernel's Landlock knows of them");

  assert_output (fixture, &(Options){ .script = script, .rules = usual }, landlock_version () >= 6 ? "not to the agent\n143\n" : "143\n");
  assert_output (fixture, &(Options){ .script = script }, "143\n");
  /* what gives the access to /proc away is the name of a thread, which a shell truncates first */
  assert_output (fixture, &(Options){ .script = "echo name >/proc/self/comm && cat /proc/self/oom_score_adj", .rules = usual }, "0\n");
}

static void
test_rules_fail (Fixture      *fixture,
                 gconstpointer unused)
{
  static const SandboxAgentRule missing[] = { RULES_FOR_PROGRAMS, { "/nowhere", SANDBOX_AGENT_RULE_READ }, NOWHERE };
  static const SandboxAgentRule optional[] = { RULES_FOR_PROGRAMS, { "/nowhere", SANDBOX_AGENT_RULE_READ | SANDBOX_AGENT_RULE_OPTIONAL }, NOWHERE };
  static const SandboxAgentRule link[] = { RULES_FOR_PROGRAMS, { "/data/link", SANDBOX_AGENT_RULE_READ | SANDBOX_AGENT_RULE_OPTIONAL }, NOWHERE };
  static const SandboxAgentRule no_directory[] = { RULES_FOR_PROGRAMS, { "/dev/null/x", SANDBOX_AGENT_RULE_READ | SANDBOX_AGENT_RULE_OPTIONAL }, NOWHERE };

  g_test_summary ("A rule that cannot be made is the end, also an optional one if anything else than absence is why");

  if (landlock_version () >= 2)
    {
      assert_failed (fixture, &(Options){ .script = "true", .rules = missing }, SANDBOX_AGENT_STEP_LANDLOCK, ENOENT, 4);
      assert_failed (fixture, &(Options){ .script = "true", .rules = link }, SANDBOX_AGENT_STEP_LANDLOCK, ELOOP, 4);
      assert_failed (fixture, &(Options){ .script = "true", .rules = no_directory }, SANDBOX_AGENT_STEP_LANDLOCK, ENOTDIR, 4);
    }
  assert_output (fixture, &(Options){ .script = "echo ran", .rules = optional }, "ran\n");
}

/* --- SETUP --- */

static void
test_workspace (Fixture      *fixture,
                gconstpointer unused)
{
  g_autofree char *written = g_build_filename (fixture->workspace, "written", NULL);
  struct stat      found;

  assert_output (fixture, &(Options){ .script = "echo text >written; stat -c %u:%g written" }, "1000:1000\n");
  g_assert_cmpint (stat (written, &found), ==, 0);
  g_assert_cmpuint (found.st_uid, ==, geteuid ());
  g_assert_cmpuint (found.st_gid, ==, getegid ());

  assert_failed (fixture, &(Options){ .script = "true", .wrong_inode = 1 }, SANDBOX_AGENT_STEP_WORKSPACE_IDENTITY, ESTALE, 0);
  assert_failed (fixture, &(Options){ .script = "true", .workspace = "/data" }, SANDBOX_AGENT_STEP_WORKSPACE_IDENTITY, ESTALE, 0);
  assert_failed (fixture, &(Options){ .script = "true", .workspace = "/nowhere" }, SANDBOX_AGENT_STEP_WORKSPACE, ENOENT, 0);
  assert_failed (fixture, &(Options){ .script = "true", .workspace = "/data/link" }, SANDBOX_AGENT_STEP_WORKSPACE, ELOOP, 0);
  assert_failed (fixture, &(Options){ .script = "true", .workspace = "/run/sandbox-agent" }, SANDBOX_AGENT_STEP_WORKSPACE, ENOTDIR, 0);
}

static void
test_removed_workspace (Fixture      *fixture,
                        gconstpointer unused)
{
  g_autoptr (Sandbox) before = NULL;
  g_autoptr (Sandbox) between = sandbox_start (fixture, &(Options){ .no_packets = TRUE });

  g_test_summary ("A workspace that was removed before the start, or while bwrap was at work, is no place to run in");
  sandbox_serve (between, &between->hello);
  g_assert_true (between->hello);
  g_assert_cmpint (g_rmdir (fixture->workspace), ==, 0);
  send_setup (between, fixture, &(Options){ .script = NULL });
  sandbox_finish (between);
  g_assert_cmpuint (between->failed.step, ==, host_is_root () ? SANDBOX_AGENT_STEP_MOUNT : SANDBOX_AGENT_STEP_WORKSPACE_IDENTITY);
  g_assert_cmpint (between->failed.error, ==, ENOENT);

  before = sandbox_start (fixture, &(Options){ .script = "echo ran" });
  sandbox_finish (before);
  g_assert_cmpstr (before->output->str, ==, "");
  g_assert_false (before->started);
  if (host_is_root ())
    g_assert_cmpuint (before->failed.step, ==, SANDBOX_AGENT_STEP_MOUNT);
  else /* bwrap cannot even bind it */
    g_assert_false (before->hello);
}

static void
test_mounts (Fixture      *fixture,
             gconstpointer unused)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_SETUP, .n_fds = 1 };
  g_auto (SandboxFd) fd = -1;
  static const struct
  {
    const char *target;
    int         error;
  } bad[] = { { "/nowhere", ENOENT }, { "/data/link", ELOOP }, { "/data/link/x", ELOOP }, { "/data/set", EINVAL }, { "/run/sandbox-agent", EINVAL } };

  g_test_summary ("A mount that cannot be attached exactly where it belongs is the end");
  packet.setup = (SandboxAgentSetup){ .workspace = "/workspace", .n_mounts = 1, .n_instructions = 1, .filter = (const uint8_t *) filter_nothing };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .no_packets = TRUE });

      /* a directory that is no detached mount */
      g_assert_true (fd >= 0 || (fd = open_or_die ("/", O_PATH | O_DIRECTORY)) >= 0);
      packet.fds[0] = fd;
      packet.setup.mounts[0].target = bad[i].target;
      sandbox_send (sandbox, &packet);
      sandbox_finish (sandbox);
      g_assert_cmpuint (sandbox->failed.step, ==, SANDBOX_AGENT_STEP_MOUNT);
      g_assert_cmpint (sandbox->failed.error, ==, bad[i].error);
      g_assert_cmpuint (sandbox->failed.detail, ==, 0);
    }
}

static void
test_root_mounts (Fixture      *fixture,
                  gconstpointer unused)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_SETUP, .n_fds = 2 };

  fixture_write (fixture, "file", "text", 0600);
  assert_output (fixture, &(Options){ .script = "cat file; echo x 2>/dev/null >file || echo read-only", .mount_flags = SANDBOX_AGENT_MOUNT_READ_ONLY }, "textread-only\n");
  assert_output (fixture, &(Options){ .script = "grep ' /workspace ' /proc/self/mounts | cut -d' ' -f4 | cut -d, -f1-3" }, "rw,nosuid,nodev\n");

  packet.setup = (SandboxAgentSetup){
    .workspace = "/workspace",
    .n_mounts = 2,
    .mounts = { { "/workspace", 0 }, { "/data/set", SANDBOX_AGENT_MOUNT_READ_ONLY } },
    .n_instructions = 1,
    .filter = (const uint8_t *) filter_nothing,
  };
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .no_packets = TRUE });
      int output[2];

      packet.setup.mounts[1].target = i == 0 ? "/data/set" : "/data/missing";
      packet.fds[0] = open_detached_mount (fixture, fixture->workspace_fd, "");
      packet.fds[1] = open_detached_mount (fixture, fixture->workspace_fd, "");
      sandbox_send (sandbox, &packet);
      close (packet.fds[0]);
      close (packet.fds[1]);
      g_assert_cmpint (pipe2 (output, O_CLOEXEC), ==, 0);
      close (sandbox->output_fd);
      sandbox->output_fd = output[0];
      if (i == 0)
        send_exec (sandbox, &(Options){ .script = "cat /data/set/file; echo x 2>/dev/null >/data/set/file || echo no >file; cat /data/set/file" }, output[1]);
      close (output[1]);
      sandbox_finish (sandbox);
      if (i == 0)
        g_assert_cmpstr (sandbox->output->str, ==, "textno\n");
      else
        {
          g_assert_cmpuint (sandbox->failed.step, ==, SANDBOX_AGENT_STEP_MOUNT);
          g_assert_cmpuint (sandbox->failed.detail, ==, 1);
        }
    }
}

static void
test_namespaces (Fixture      *fixture,
                 gconstpointer unused)
{
  assert_output (fixture, &(Options){ .script = "unshare -U true 2>&1; cat /proc/sys/user/max_user_namespaces; echo 5 2>/dev/null >/proc/sys/user/max_user_namespaces || echo kept" },
                 "unshare: unshare failed: No space left on device\n0\nkept\n");
  /* Through a procfs of the agent's own, of which nothing is left. */
  assert_output (fixture, &(Options){ .script = "unshare -U true 2>&1; grep -c ' /proc ' /proc/self/mounts", .setup_flags = SANDBOX_AGENT_SETUP_FORBID_USERNS | SANDBOX_AGENT_SETUP_NO_PROC },
                 "unshare: unshare failed: No space left on device\n1\n");
  /* Of procfs what is about processes stays writable. */
  assert_output (fixture, &(Options){ .script = "grep -Eo '^[^ ]+ /proc/(sys|keys) [^ ]+ ro' /proc/self/mounts | cut -d' ' -f2; cat /proc/keys 2>/dev/null; echo name >/proc/self/comm && echo mine", .setup_flags = SANDBOX_AGENT_SETUP_FORBID_USERNS | SANDBOX_AGENT_SETUP_SHUT_PROC },
                 "/proc/sys\n/proc/keys\nmine\n");
  assert_output (fixture, &(Options){ .script = "touch /x /dev/x /run/x 2>/dev/null; ls -d /x /dev/x /run/x 2>/dev/null; python3 -c 'import pty; pty.spawn([\"tty\"])'" }, "/dev/pts/0\r\n");
}

static void
test_no_capabilities (Fixture      *fixture,
                      gconstpointer unused)
{
  g_test_summary ("Without any capability the agent still runs a command, unless it was asked for what needs one");
  assert_output (fixture, &(Options){ .script = "grep -c 'Cap.*0000000000000000' /proc/self/status; grep NoNew /proc/self/status", .no_capabilities = TRUE },
                 "5\nNoNewPrivs:\t1\n");
  assert_failed (fixture, &(Options){ .script = "true", .no_capabilities = TRUE, .setup_flags = SANDBOX_AGENT_SETUP_BOUND_NAMES },
                 SANDBOX_AGENT_STEP_MOUNT, EPERM, 0);
  assert_failed (fixture, &(Options){ .script = "true", .no_capabilities = TRUE, .setup_flags = SANDBOX_AGENT_SETUP_SHUT_PROC },
                 SANDBOX_AGENT_STEP_MOUNT, EPERM, 0);
  assert_failed (fixture, &(Options){ .script = "true", .no_capabilities = TRUE, .setup_flags = SANDBOX_AGENT_SETUP_FORBID_USERNS },
                 SANDBOX_AGENT_STEP_USERNS_LIMIT, EACCES, 0);
  assert_failed (fixture, &(Options){ .script = "true", .no_capabilities = TRUE, .setup_flags = SANDBOX_AGENT_SETUP_DOOR },
                 SANDBOX_AGENT_STEP_DOOR, EPERM, 0);
  assert_failed (fixture, &(Options){ .script = "true", .no_capabilities = TRUE, .setup_flags = SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS },
                 SANDBOX_AGENT_STEP_DEVPTS, EPERM, 0);
}

static void
test_lock (Fixture      *fixture,
           gconstpointer unused)
{
  g_autofree char *path = g_build_filename (fixture->workspace, "alive", NULL);
  g_auto (SandboxFd) reader = -1;
  g_auto (SandboxFd) writer = -1;
  g_autoptr (Sandbox) sandbox = NULL;
  struct flock read_lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
  struct flock write_lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

  fixture_write (fixture, "alive", "", 0644);
  reader = open_or_die (path, O_RDWR);
  writer = open_or_die (path, O_RDWR);
  g_assert_cmpint (fcntl (reader, F_OFD_SETLK, &read_lock), ==, 0);
  sandbox = sandbox_start (fixture, &(Options){ .script = "ls /proc/self/fd | wc -l; sleep 100", .lock_fd = reader });
  sandbox_clear_fd (&reader);
  sandbox_serve (sandbox, &sandbox->started);
  sandbox_wait_for_output (sandbox, "\n");
  g_assert_cmpint (fcntl (writer, F_OFD_SETLK, &write_lock), ==, -1);
  g_assert_cmpint (errno, ==, EAGAIN);
  sandbox_send (sandbox, &(SandboxAgentPacket){ .type = SANDBOX_AGENT_BYE });
  sandbox_finish (sandbox);
  g_assert_cmpint (fcntl (writer, F_OFD_SETLK, &write_lock), ==, 0);
  /* 0, 1, 2 and ls's own */
  g_assert_cmpstr (sandbox->output->str, ==, "4\n");
}

/* --- how it ends otherwise --- */

static void
test_deadline (Fixture      *fixture,
               gconstpointer unused)
{
  static const char *const scripts[] = {
    "sleep 1000",
    "trap '' TERM INT HUP; setsid sleep 1000 & sleep 1000 & wait",
    "kill -STOP $$",
    "setsid sh -c 'kill -STOP $$' & kill -STOP $$",
    /* never so many at a time that the shell gives up */
    "exec >/dev/null 2>&1; i=0; while :; do (exit) & i=$((i + 1)); [ $i -lt 40 ] || { wait; i=0; }; done",
    "while :; do kill -CHLD 1; done",
  };

  for (guint i = 0; i < G_N_ELEMENTS (scripts); i++)
    {
      g_autoptr (Sandbox) sandbox = run (fixture, &(Options){ .script = scripts[i], .deadline_us = 300000, .limit = { RLIMIT_NPROC, 64 } });

      g_assert_true (sandbox->exited);
      g_assert_cmpint (sandbox->end.wait_status, ==, SIGKILL);
      g_assert_true ((sandbox->end.flags & SANDBOX_AGENT_EXITED_DEADLINE) != 0);
      g_assert_cmpuint (sandbox->end.wall_us, >=, 300000);
      g_assert_cmpuint (sandbox->end.wall_us, <, 10000000);
    }
  {
    g_autoptr (Sandbox) sandbox = run (fixture, &(Options){ .script = "kill -KILL $$", .deadline_us = 20000000 });

    g_assert_cmpint (sandbox->end.wait_status, ==, SIGKILL);
    g_assert_cmpuint (sandbox->end.flags, ==, SANDBOX_AGENT_EXITED_ALONE);
  }
}

static void
test_deadline_of_silent_host (Fixture      *fixture,
                              gconstpointer unused)
{
  g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .script = "sleep 1000", .deadline_us = 200000 });

  g_test_summary ("A host that reads nothing any more does not keep a command alive");
  sandbox_serve (sandbox, &sandbox->hello);
  g_assert_true (is_readable (sandbox->pidfd, PATIENCE_MS));
  sandbox_finish (sandbox);
  g_assert_true ((sandbox->end.flags & SANDBOX_AGENT_EXITED_DEADLINE) != 0);
}

static void
test_leftovers (Fixture      *fixture,
                gconstpointer unused)
{
  struct stat found;

  g_test_summary ("What outlives the command's first process dies with it, at once");
  assert_ended (fixture, "(setsid sh -c 'trap \"\" TERM HUP; sleep 2; echo late >late; sleep 1000' &) ; sleep 1000 & exit 7", 7 << 8);
  g_usleep (2500000);
  g_assert_cmpint (fstatat (fixture->workspace_fd, "late", &found, 0), ==, -1);
}

static void
test_alone (Fixture      *fixture,
            gconstpointer unused)
{
  /* The last three: a child of process 1 from the beginning, one that ends without SIGCHLD, one that is stopped */
  static const char *const left[] = {
    "setsid sleep 1000 >/dev/null 2>&1 &",
    "(sleep 1000 & sleep 1000 &) >/dev/null 2>&1",
    "exec python3 -c 'import ctypes, os\nif ctypes.CDLL (None).syscall (" G_STRINGIFY (SYS_clone) ", 0x8000, 0, 0, 0, 0) == 0: os.execlp (\"sleep\", \"sleep\", \"1000\")' >/dev/null 2>&1",
    "exec python3 -c 'import ctypes, os\nif ctypes.CDLL (None).syscall (" G_STRINGIFY (SYS_clone) ", 0, 0, 0, 0, 0) == 0: os.closerange (0, 9); ctypes.CDLL (None).pause ()' >/dev/null 2>&1",
    "sh -c 'kill -STOP $$' >/dev/null 2>&1 & sleep 0.1",
  };

  g_test_summary ("An agent says that nothing is left when nothing is left, and not when anything is");
  for (guint i = 0; i < 20; i++)
    {
      g_autoptr (Sandbox) sandbox = run (fixture, &(Options){ .script = i % 2 == 0 ? "exit 3" : "(true &); sleep 0.05; exit 3" });

      g_assert_cmpint (WEXITSTATUS (sandbox->end.wait_status), ==, 3);
      g_assert_cmpuint (sandbox->end.flags, ==, SANDBOX_AGENT_EXITED_ALONE);
    }
  for (guint i = 0; i < G_N_ELEMENTS (left); i++)
    {
      g_autoptr (Sandbox) sandbox = run (fixture, &(Options){ .script = left[i] });

      g_assert_true (sandbox->exited);
      g_assert_cmpuint (sandbox->end.flags, ==, 0);
    }
}

static void
test_end_of_socket (Fixture      *fixture,
                    gconstpointer unused)
{
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .script = i == 0 ? "sleep 1000" : "trap '' TERM; setsid sleep 1000 & kill -STOP $$" });
      gint64 before;

      sandbox_serve (sandbox, &sandbox->started);
      g_assert_true (sandbox->started);
      before = g_get_monotonic_time ();
      sandbox_clear_fd (&sandbox->socket_fd);
      g_assert_true (is_readable (sandbox->pidfd, PATIENCE_MS));
      g_assert_cmpint (g_get_monotonic_time () - before, <, 5000000);
      sandbox->ended = TRUE;
      sandbox_finish (sandbox);
    }
}

static void
test_early_end_of_socket (Fixture      *fixture,
                          gconstpointer unused)
{
  g_test_summary ("The host lets go at any moment before anything was said");
  for (guint i = 0; i < 20; i++)
    {
      g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .script = "sleep 1000" });

      g_usleep (i * 1000);
      sandbox_clear_fd (&sandbox->socket_fd);
      sandbox->ended = TRUE;
      sandbox_finish (sandbox);
    }
}

static void
test_bye (Fixture      *fixture,
          gconstpointer unused)
{
  const SandboxAgentPacket bye = { .type = SANDBOX_AGENT_BYE };

  {
    g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .no_packets = TRUE });

    sandbox_send (sandbox, &bye);
    sandbox_finish (sandbox);
    g_assert_true (sandbox->bye);
    g_assert_false (sandbox->started);
  }
  {
    g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .script = "sleep 1000" });

    sandbox_serve (sandbox, &sandbox->started);
    sandbox_send (sandbox, &bye);
    sandbox_finish (sandbox);
    g_assert_true (sandbox->bye);
    g_assert_false (sandbox->exited);
  }
}

static void
test_signals (Fixture      *fixture,
              gconstpointer unused)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_SIGNAL };
  g_autoptr (Sandbox) trapped = sandbox_start (fixture, &(Options){ .script = "exec 2>/dev/null; trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.05; done" });
  g_autoptr (Sandbox) group = sandbox_start (fixture, &(Options){ .script = "sleep 1000 | sleep 1000; echo after" });
  g_autoptr (Sandbox) stopped = sandbox_start (fixture, &(Options){ .script = "sleep 0.5; echo done" });

  g_test_summary ("A signal reaches the whole group of the command, and the command may catch it");
  sandbox_serve (trapped, &trapped->started);
  sandbox_wait_for_output (trapped, "ready\n");
  packet.signal.signum = SIGTERM;
  sandbox_send (trapped, &packet);
  sandbox_finish (trapped);
  g_assert_cmpstr (trapped->output->str, ==, "ready\ngot\n");
  g_assert_cmpint (trapped->end.wait_status, ==, 3 << 8);

  sandbox_serve (group, &group->started);
  sandbox_send (group, &packet);
  sandbox_finish (group);
  g_assert_cmpint (group->end.wait_status, ==, SIGTERM);
  g_assert_cmpstr (group->output->str, ==, "");

  sandbox_serve (stopped, &stopped->started);
  packet.signal.signum = SIGSTOP;
  sandbox_send (stopped, &packet);
  g_usleep (1000000);
  g_assert_false (is_readable (stopped->socket_fd, 0));
  packet.signal.signum = SIGCONT;
  sandbox_send (stopped, &packet);
  sandbox_finish (stopped);
  g_assert_cmpstr (stopped->output->str, ==, "done\n");
}

/* An exec of it hangs until that is closed. */
static int
fixture_lease (Fixture    *fixture,
               const char *name)
{
  int lease = -1;

  signal (SIGIO, SIG_IGN);
  fixture_write (fixture, name, "#!/bin/sh\nsleep 1000\n", 0755);
  lease = openat (fixture->workspace_fd, name, O_RDWR | O_CLOEXEC);
  g_assert_cmpint (fcntl (lease, F_SETLEASE, F_WRLCK), ==, 0);
  return lease;
}

static void
test_hanging_exec (Fixture      *fixture,
                   gconstpointer unused)
{
  const char *const argv[] = { "./leased", NULL };
  g_auto (SandboxFd) lease = -1;

  g_test_summary ("While exec hangs (here: on a lease) nothing counts as started, and the host can end it: what it says is heard later");
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (Sandbox) sandbox = NULL;

      lease = fixture_lease (fixture, "leased");
      sandbox = sandbox_start (fixture, &(Options){ .argv = argv, .deadline_us = 1 });
      sandbox_serve (sandbox, &sandbox->hello);
      g_assert_true (sandbox->hello);
      g_assert_false (is_readable (sandbox->socket_fd, 500));
      if (i == 0)
        {
          sandbox_clear_fd (&sandbox->socket_fd);
          sandbox->ended = TRUE;
        }
      else if (i == 1)
        g_assert_cmpint (syscall (SYS_pidfd_send_signal, sandbox->pidfd, SIGKILL, NULL, 0), ==, 0);
      else
        {
          sandbox_send (sandbox, &(SandboxAgentPacket){ .type = SANDBOX_AGENT_BYE });
          g_assert_false (is_readable (sandbox->pidfd, 500));
          sandbox_clear_fd (&lease);
        }
      g_assert_true (is_readable (sandbox->pidfd, 5000));
      sandbox_finish (sandbox);
      g_assert_true (sandbox->started == (i == 2));
      g_assert_false (sandbox->exited);
      sandbox_clear_fd (&lease);
    }
  signal (SIGIO, SIG_DFL);
}

static void
test_out_of_order (Fixture      *fixture,
                   gconstpointer unused)
{
  g_autoptr (Sandbox) exec_first = sandbox_start (fixture, &(Options){ .no_packets = TRUE });
  g_autoptr (Sandbox) setup_twice = sandbox_start (fixture, &(Options){ .no_packets = TRUE });
  g_autoptr (Sandbox) exec_twice = sandbox_start (fixture, &(Options){ .script = "sleep 1000" });
  g_autoptr (Sandbox) signal_first = sandbox_start (fixture, &(Options){ .no_packets = TRUE });
  g_auto (SandboxFd) null = open_or_die ("/dev/null", O_WRONLY);

  send_exec (exec_first, &(Options){ .script = "true" }, null);
  sandbox_finish (exec_first);
  g_assert_cmpuint (exec_first->n_packets, ==, 1);

  send_setup (setup_twice, fixture, &(Options){ .script = NULL });
  send_setup (setup_twice, fixture, &(Options){ .script = NULL });
  sandbox_finish (setup_twice);
  g_assert_cmpuint (setup_twice->n_packets, ==, 1);

  sandbox_serve (exec_twice, &exec_twice->started);
  send_exec (exec_twice, &(Options){ .script = "true" }, null);
  sandbox_finish (exec_twice);
  g_assert_cmpuint (exec_twice->n_packets, ==, 2);

  sandbox_send (signal_first, &(SandboxAgentPacket){ .type = SANDBOX_AGENT_SIGNAL, .signal = { SIGTERM } });
  sandbox_finish (signal_first);
  g_assert_cmpuint (signal_first->n_packets, ==, 1);
}

static void
test_garbage (Fixture      *fixture,
              gconstpointer unused)
{
  static const struct
  {
    const char *bytes;
    gsize       size;
  } garbage[] = {
    { "x", 1 },
    { "\1\0\10\0\0\0\0", 7 },
    { "\2\0\10\0\0\0\0\0", 8 },   /* version */
    { "\1\0\10\0\1\0\0\0", 8 },   /* length */
    { "\1\0\10\0\0\0\0\0\0", 9 }, /* trailing */
    { "\1\0\11\0\0\0\0\0", 8 },   /* LISTEN: reserved */
    { "\1\0\4\0\0\0\0\0", 8 },    /* STARTED: not from us */
    { "\1\0\2\0\4\0\0\0\0\0\0\0", 12 },
    { "\1\0\7\0\4\0\0\0\0\0\0\0", 12 }, /* signal 0 */
  };
  g_autofree char *big = g_malloc0 (SANDBOX_AGENT_PACKET_MAX + 100);

  for (guint i = 0; i <= 2 * G_N_ELEMENTS (garbage); i++)
    {
      gboolean running = i >= G_N_ELEMENTS (garbage);
      g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .script = "sleep 1000", .no_packets = !running });

      sandbox_serve (sandbox, running ? &sandbox->started : &sandbox->hello);
      if (i == 2 * G_N_ELEMENTS (garbage))
        g_assert_cmpint (send (sandbox->socket_fd, big, SANDBOX_AGENT_PACKET_MAX + 100, MSG_NOSIGNAL), ==, SANDBOX_AGENT_PACKET_MAX + 100);
      else
        g_assert_cmpint (send (sandbox->socket_fd, garbage[i % G_N_ELEMENTS (garbage)].bytes, garbage[i % G_N_ELEMENTS (garbage)].size, MSG_NOSIGNAL), >, 0);
      sandbox_finish (sandbox);
      g_assert_cmpuint (sandbox->n_packets, ==, running ? 2 : 1);
    }
}

/* --- the guest against the agent --- */

static void
test_attack_on_agent (Fixture      *fixture,
                      gconstpointer unused)
{
  assert_output (fixture, &(Options){ .script = "for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; sleep 0.2; echo alive" }, "alive\n");
  assert_output (fixture, &(Options){ .script = "for f in environ maps mem auxv stack syscall io fd fdinfo exe root cwd ns map_files; do"
                                                " if [ -L /proc/1/$f ]; then readlink /proc/1/$f; elif [ -d /proc/1/$f ]; then ls /proc/1/$f; else cat /proc/1/$f; fi >/dev/null 2>&1 && echo $f;"
                                                " done; tr '\\0' ' ' </proc/1/cmdline" },
                 "/run/sandbox-agent init 3 ");
  assert_output (fixture, &(Options){ .script = "echo x 2>/dev/null >>/run/sandbox-agent || echo no; rm -f /run/sandbox-agent 2>/dev/null || echo no;"
                                                "echo 1000 2>/dev/null >/proc/1/oom_score_adj || echo no" },
                 "no\nno\nno\n");
  {
    const char *const trace[] = { "python3", "-c",
                                  "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\n"
                                  "print(c.ptrace(16, 1, 0, 0), c.ptrace(0x4206, 1, 0, 0))\n"
                                  "p = os.pidfd_open(1)\nprint([c.syscall(438, p, i, 0) for i in range(8)])",
                                  NULL };

    assert_output (fixture, &(Options){ .argv = trace }, "-1 -1\n[-1, -1, -1, -1, -1, -1, -1, -1]\n");
  }
}

/* --- seen from the host --- */

static pid_t
pid_of_pidfd (int pidfd)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/fdinfo/%d", pidfd);
  g_autofree char *text = NULL;
  const char      *line;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  line = strstr (text, "\nPid:");
  g_assert_nonnull (line);
  return (pid_t) g_ascii_strtoll (line + 5, NULL, 10);
}

static void
assert_status_line (pid_t       pid,
                    const char *key,
                    guint64     value)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", pid);
  g_autofree char *text = NULL;
  g_autofree char *start = g_strdup_printf ("\n%s:", key);
  g_autofree char *line = NULL;
  g_auto (GStrv) fields = NULL;
  const char *found;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  found = strstr (text, start);
  g_assert_nonnull (found);
  line = g_strndup (found + strlen (start), strcspn (found + strlen (start), "\n"));
  fields = g_strsplit_set (g_strstrip (line), " \t", -1);
  for (guint i = 0; fields[i] != NULL; i++)
    if (*fields[i] != '\0')
      g_assert_cmpuint (g_ascii_strtoull (fields[i], NULL, g_str_has_prefix (key, "Cap") ? 16 : 10), ==, value);
}

static void
test_identity (Fixture      *fixture,
               gconstpointer unused)
{
  g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .script = "sleep 1000" });
  g_autofree char *path = NULL;
  g_autofree char *text = NULL;
  const guint64    uid = host_is_root () ? GUEST_UID : geteuid ();
  const guint64    gid = host_is_root () ? GUEST_UID : getegid ();
  pid_t            agent, command;

  sandbox_serve (sandbox, &sandbox->started);
  agent = pid_of_pidfd (sandbox->pidfd);
  path = g_strdup_printf ("/proc/%d/task/%d/children", agent, agent);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  command = (pid_t) g_ascii_strtoll (text, NULL, 10);
  g_assert_cmpint (command, >, 1);
  for (guint i = 0; i < 2; i++)
    {
      pid_t pid = i == 0 ? agent : command;

      assert_status_line (pid, "Uid", uid);
      assert_status_line (pid, "Gid", gid);
      assert_status_line (pid, "CapPrm", 0);
      assert_status_line (pid, "CapBnd", 0);
      assert_status_line (pid, "NoNewPrivs", 1);
      if (host_is_root ())
        assert_status_line (pid, "Groups", G_MAXUINT64); /* none */
    }
  /* the agent holds its socket, the placeholders, signals, timer and workspace, and nothing of bwrap's */
  if (host_is_root ())
    {
      g_autofree char *fd_path = g_strdup_printf ("/proc/%d/fd", agent);
      g_autoptr (GDir) dir = g_dir_open (fd_path, 0, NULL);
      const char *name;
      guint       n = 0;

      while ((name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *link = g_build_filename (fd_path, name, NULL);
          g_autofree char *target = g_file_read_link (link, NULL);

          g_assert_false (target == NULL || g_str_has_prefix (target, "pipe:") || strstr (target, "memfd") != NULL);
          n++;
        }
      g_assert_cmpuint (n, ==, 7);
    }
  sandbox_send (sandbox, &(SandboxAgentPacket){ .type = SANDBOX_AGENT_BYE });
  sandbox_finish (sandbox);
}

static void
test_death_of_host (Fixture      *fixture,
                    gconstpointer unused)
{
  g_test_summary ("A killed host takes its sandboxes along: by the end of the socket alone, and by the death signal alone");
  for (guint i = 0; i < 2; i++)
    {
      g_auto (SandboxFd) pidfd = -1;
      int   told[2], copy[2];
      pid_t host, agent;

      g_assert_cmpint (pipe2 (told, O_CLOEXEC), ==, 0);
      g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, copy), ==, 0);
      host = fork ();
      g_assert_cmpint (host, >=, 0);
      if (host == 0)
        {
          Sandbox *sandbox = sandbox_start (fixture, &(Options){ .script = "setsid sleep 1000 & trap '' TERM; sleep 1000", .no_die_with_parent = i == 0 });

          sandbox_serve (sandbox, &sandbox->started);
          if (i == 1)
            {
              /* our parent keeps the socket open, so only the death signal is left */
              SandboxAgentPacket hello = { .type = SANDBOX_AGENT_HELLO, .n_fds = 1, .fds = { sandbox->socket_fd } };

              g_assert_true (sandbox_agent_send (copy[1], &hello, buffer, sizeof buffer));
            }
          agent = pid_of_pidfd (sandbox->pidfd);
          g_assert_cmpint (write (told[1], &agent, sizeof agent), ==, sizeof agent);
          pause ();
          _exit (0);
        }
      close (told[1]);
      close (copy[1]);
      g_assert_cmpint (read (told[0], &agent, sizeof agent), ==, sizeof agent);
      pidfd = (int) syscall (SYS_pidfd_open, agent, 0);
      g_assert_cmpint (pidfd, >=, 0);
      if (i == 1)
        {
          SandboxAgentPacket hello;

          g_assert_cmpint (sandbox_agent_receive (copy[0], SANDBOX_AGENT_FROM_AGENT, buffer, sizeof buffer, &hello), ==, SANDBOX_AGENT_RECEIVED);
          kill (host, SIGKILL);
          g_assert_true (is_readable (pidfd, 5000));
          sandbox_agent_packet_close_fds (&hello);
        }
      else
        {
          kill (host, SIGKILL);
          g_assert_true (is_readable (pidfd, 5000));
        }
      g_assert_cmpint (waitpid (host, NULL, 0), ==, host);
      close (told[0]);
      close (copy[0]);
    }
}

/* --- launch --- */

/* Runs launch with these arguments (and an end of a socket as 3, @program as 4); what it said. */
static SandboxAgentFailed
launch (const char *parent,
        const char *uid,
        const char *gid,
        const char *exec_fd,
        const char *keep,
        const char *group,
        const char *program)
{
  char *const argv[] = {
    (char *) "sandbox-agent", (char *) "launch", (char *) parent, (char *) uid, (char *) gid, (char *) exec_fd, (char *) keep,
    (char *) group, (char *) "x", NULL
  };
  const int          fds[] = { open_or_die ("/dev/null", O_RDONLY), open_or_die ("/dev/null", O_WRONLY), open_or_die ("/dev/null", O_WRONLY), 0, open_or_die (program, O_RDONLY) };
  int                all[G_N_ELEMENTS (fds)], pair[2], status;
  SandboxAgentPacket packet = { .type = 0 };
  pid_t              pid;

  memcpy (all, fds, sizeof fds);
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), ==, 0);
  all[3] = pair[1];
  pid = spawn_launch (argv, all, G_N_ELEMENTS (all));
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 125 << 8);
  g_assert_cmpint (sandbox_agent_receive (pair[0], SANDBOX_AGENT_FROM_AGENT, buffer, sizeof buffer, &packet), ==, SANDBOX_AGENT_RECEIVED);
  g_assert_cmpuint (packet.type, ==, SANDBOX_AGENT_FAILED);
  close (pair[0]);
  return packet.failed;
}

static void
assert_launch_failed (SandboxAgentFailed failed,
                      SandboxAgentStep   step,
                      int                error)
{
  g_assert_cmpstr (sandbox_agent_step_to_string (failed.step), ==, sandbox_agent_step_to_string (step));
  g_assert_cmpint (failed.error, ==, error);
}

static void
test_launch_fails (Fixture      *fixture,
                   gconstpointer unused)
{
  g_autofree char *parent = g_strdup_printf ("%d", getpid ());
  g_autofree char *text = g_build_filename (fixture->workspace, "text", NULL);
  g_autofree char *not_executable = g_build_filename (fixture->workspace, "plain", NULL);

  fixture_write (fixture, "text", "no program\n", 0755);
  fixture_write (fixture, "plain", "no program\n", 0644);
  assert_launch_failed (launch (parent, "-1", "-1", "4", "2", "-1", text), SANDBOX_AGENT_STEP_EXEC_BWRAP, ENOEXEC);
  assert_launch_failed (launch (parent, "-1", "-1", "4", "2", "-1", not_executable), SANDBOX_AGENT_STEP_EXEC_BWRAP, EACCES);
  assert_launch_failed (launch (parent, "-1", "-1", "4", "2", "-1", "/usr"), SANDBOX_AGENT_STEP_EXEC_BWRAP, EACCES);
  assert_launch_failed (launch ("1", "-1", "-1", "4", "2", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_PARENT_GONE, ESRCH);

  if (!host_is_root ())
    assert_launch_failed (launch (parent, "61200", "61200", "4", "2", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_IDENTITY, EPERM);
  /* arguments that make no sense */
  assert_launch_failed (launch (parent, "-2", "-1", "4", "2", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EINVAL);
  assert_launch_failed (launch (parent, "x", "-1", "4", "2", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EINVAL);
  assert_launch_failed (launch (parent, "4294967295", "-1", "4", "2", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EINVAL);
  assert_launch_failed (launch (parent, "-1", "-1", "5", "2", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EINVAL);
  assert_launch_failed (launch (parent, "-1", "-1", "2", "2", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EINVAL);
  assert_launch_failed (launch (parent, "-1", "-1", "4", "0", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EINVAL);
  assert_launch_failed (launch (parent, "-1", "-1", "4", "3", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EBADF);
  assert_launch_failed (launch ("0", "-1", "-1", "4", "2", "-1", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EINVAL);
  assert_launch_failed (launch (parent, "-1", "-1", "4", "2", "-2", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EINVAL);
  assert_launch_failed (launch (parent, "-1", "-1", "4", "2", "4", "/usr/bin/true"), SANDBOX_AGENT_STEP_LAUNCH, EINVAL);
  /* a control group that cannot be entered */
  assert_launch_failed (launch (parent, "-1", "-1", "4", "2", "5", "/usr/bin/true"), SANDBOX_AGENT_STEP_CONTROL_GROUP, EBADF);
}

static void
test_refuses_elsewhere (Fixture      *fixture,
                        gconstpointer unused)
{
  static const char *const calls[][4] = {
    { "sandbox-agent", "init", "3", NULL },
    { "sandbox-agent", "init", NULL, NULL },
    { "sandbox-agent", "launch", NULL, NULL },
    { "sandbox-agent", "other", NULL, NULL },
    { "sandbox-agent", NULL, NULL, NULL },
  };

  g_test_summary ("Outside a sandbox, where kill (-1) would be a disaster, and without arguments it does nothing");
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      int   status;
      pid_t pid;
      char *environment[] = { NULL };

      g_assert_cmpint (posix_spawn (&pid, agent_path (), NULL, NULL, (char *const *) calls[i], environment), ==, 0);
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      g_assert_cmpint (status, ==, 125 << 8);
    }
}

#define ADD(name, function) \
 g_test_add ("/agent-program/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

/* --- slots --- */

#define SLOTS (SANDBOX_AGENT_SETUP_SLOTS | SANDBOX_AGENT_SETUP_FORBID_USERNS | SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS | \
               SANDBOX_AGENT_SETUP_SHUT_PROC | SANDBOX_AGENT_SETUP_BOUND_NAMES)

static const SandboxAgentMemory fresh[] = { { "/tmp", 1 << 20 }, { "/dev/shm", 0 }, { NULL, 0 } };

/* A sandbox for many commands. */
static Sandbox *
session_start (Fixture       *fixture,
               const Options *options)
{
  Options  own = *options;
  Sandbox *self = NULL;

  own.no_packets = TRUE;
  if (own.setup_flags == 0)
    own.setup_flags = SLOTS;
  if ((own.setup_flags & SANDBOX_AGENT_SETUP_SHARED) == 0)
    own.memories = fresh;
  self = sandbox_start (fixture, &own);
  send_setup (self, fixture, &own);
  sandbox_serve (self, &self->ready);
  if (!self->ready)
    g_test_message ("%s: %s, %u", sandbox_agent_step_to_string (self->failed.step), g_strerror (self->failed.error), self->failed.detail);
  return self;
}

static void
slot_exec (Sandbox       *self,
           const Options *options)
{
  int output[2];

  g_assert_cmpint (pipe2 (output, O_CLOEXEC), ==, 0);
  self->output_fd = output[0];
  send_exec (self, options, output[1]);
  close (output[1]);
}

/* A slot is served as a sandbox for one command, which has no bwrap of its own. With @options its EXEC is there before it is. */
static Sandbox *
slot_new (Sandbox       *session,
          const Options *options)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_ARM, .n_fds = 1 };
  Sandbox           *self = g_new0 (Sandbox, 1);
  int                pair[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), ==, 0);
  self->socket_fd = pair[0];
  self->output_fd = self->words_fd = self->pidfd = self->view_fd = -1;
  self->output = g_string_new (NULL);
  if (options != NULL)
    slot_exec (self, options);
  packet.fds[0] = pair[1];
  sandbox_send (session, &packet);
  close (pair[1]);
  return self;
}

static Sandbox *
slot_run (Sandbox       *session,
          const Options *options)
{
  Sandbox *self = slot_new (session, NULL);

  sandbox_serve (self, &self->hello);
  g_assert_cmpuint (self->failed.step, ==, 0);
  g_assert_true (self->hello);
  slot_exec (self, options);
  sandbox_serve (self, NULL);
  g_assert_true (is_readable (self->pidfd, PATIENCE_MS));
  return self;
}

static void
assert_slot_output (Sandbox    *session,
                    const char *script,
                    const char *output)
{
  g_autoptr (Sandbox) slot = slot_run (session, &(Options){ .script = script });

  g_assert_cmpstr (sandbox_agent_step_to_string (slot->failed.step), ==, sandbox_agent_step_to_string (0));
  g_assert_true (slot->exited);
  g_assert_cmpstr (slot->output->str, ==, output);
}

static void
session_finish (Sandbox *self)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_BYE };

  sandbox_send (self, &packet);
  sandbox_finish (self);
  g_assert_true (self->bye);
}

/* --- doors --- */

/* Says what it can do to the socket, which is nothing, and what it gets from it. */
#define DOOR_SCRIPT                                                                                                         \
 "find / -type s 2>/dev/null\n"                                                                                             \
 "cd /run/sandbox-glib && for c in 'unlink gateway.sock' 'mv gateway.sock x' 'touch x' 'mkdir x' 'chmod 777 gateway.sock' " \
 "'chmod 777 .' 'ln /proc/self/exe gateway.sock' 'mount -o remount,rw /run/sandbox-glib' 'umount /run/sandbox-glib' "       \
 "'mv /run/sandbox-glib /run/x' 'rmdir /run/sandbox-glib'; do $c 2>/dev/null && echo \"$c\"; done\n"                        \
 "ls -la | tail -n +4 | tr -s ' ' | cut -d ' ' -f 1,2,9; cd /\n"                                                            \
 "python3 -c 'import os, socket\n"                                                                                          \
 "for a in (\"/run/sandbox-glib/gateway.sock\", (\"127.0.0.1\", 3128)):\n"                                                  \
 "  try:\n"                                                                                                                 \
 "    s = socket.socket (socket.AF_UNIX if type (a) == str else socket.AF_INET); s.connect (a); print (s.recv (9))\n"       \
 "  except OSError as e: print (e.strerror)\n"                                                                              \
 "for o in (0, 1):\n"                                                                                                       \
 "  for h in (\"127.0.0.1\", \"\"):\n"                                                                                      \
 "    s = socket.socket (); s.setsockopt (socket.SOL_SOCKET, (socket.SO_REUSEADDR, socket.SO_REUSEPORT)[o], 1)\n"           \
 "    try: s.bind ((h, 3128)); s.listen (); print (\"taken\")\n"                                                            \
 "    except OSError as e: pass\n"                                                                                          \
 "'"

/* Answers one who knocks at each. */
static void
doors_serve (Sandbox *self)
{
  for (guint i = 0; i < self->n_doors; i++)
    {
      g_auto (SandboxFd) fd = -1;
      int       listens = 0;
      int       flags = fcntl (self->doors[i], F_GETFL);
      socklen_t size = sizeof listens;

      g_assert_cmpint (getsockopt (self->doors[i], SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), ==, 0);
      g_assert_cmpint (listens, ==, 1);
      g_assert_cmpint (flags & O_NONBLOCK, !=, 0);
      g_assert_true (is_readable (self->doors[i], PATIENCE_MS));
      fd = accept4 (self->doors[i], NULL, NULL, SOCK_CLOEXEC);
      g_assert_cmpint (fd, >=, 0);
      g_assert_cmpint (send (fd, i == 0 ? "path" : "port", 4, MSG_NOSIGNAL), ==, 4);
    }
}

#define DOOR_PATH "/run/sandbox-glib/gateway.sock\n"
#define DOOR_FILE "srw------- 1 gateway.sock\n"

static void
test_doors (Fixture      *fixture,
            gconstpointer unused)
{
  static const struct
  {
    guint32     flags;
    guint       n_doors;
    const char *output;
  } doors[] = {
    { 0, 0, "No such file or directory\nConnection refused\ntaken\ntaken\ntaken\ntaken\n" },
    { SANDBOX_AGENT_SETUP_DOOR, 1, "b'path'\nConnection refused\ntaken\ntaken\ntaken\ntaken\n" },
    { SANDBOX_AGENT_SETUP_DOOR | SANDBOX_AGENT_SETUP_LOOPBACK_DOOR, 2, "b'path'\nb'port'\n" },
  };

  g_test_summary ("The doors that are asked for are there before the command, which can connect to them and change nothing");

  for (guint i = 0; i < G_N_ELEMENTS (doors); i++)
    {
      g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .script = DOOR_SCRIPT, .setup_flags = doors[i].flags | SANDBOX_AGENT_SETUP_FORBID_USERNS });

      sandbox_serve (sandbox, &sandbox->started);
      g_assert_cmpuint (sandbox->failed.step, ==, 0);
      g_assert_cmpuint (sandbox->n_doors, ==, doors[i].n_doors);
      doors_serve (sandbox);
      sandbox_finish (sandbox);
      if (doors[i].n_doors > 0)
        {
          g_assert_true (g_str_has_prefix (sandbox->output->str, DOOR_PATH DOOR_FILE));
          g_string_erase (sandbox->output, 0, strlen (DOOR_PATH DOOR_FILE));
        }
      g_assert_cmpstr (sandbox->output->str, ==, doors[i].output);
    }
}

static void
test_doors_of_slots (Fixture      *fixture,
                     gconstpointer unused)
{
  static const guint32 manners[] = { SLOTS, SLOTS | SANDBOX_AGENT_SETUP_SHARED };

  g_test_summary ("All slots of a sandbox have the same doors, which are handed out once; the agents keep none of them");

  for (guint i = 0; i < G_N_ELEMENTS (manners); i++)
    {
      const Options options = { .script = DOOR_SCRIPT };
      g_autoptr (Sandbox) session = session_start (fixture, &(Options){ .setup_flags = manners[i] | SANDBOX_AGENT_SETUP_DOOR | SANDBOX_AGENT_SETUP_LOOPBACK_DOOR });
      g_autoptr (Sandbox) last = NULL;

      g_assert_cmpuint (session->n_doors, ==, 2);
      for (guint j = 0; j < 2; j++)
        {
          g_autoptr (Sandbox) slot = slot_new (session, &options);

          sandbox_serve (slot, &slot->started);
          doors_serve (session);
          sandbox_serve (slot, NULL);
          g_assert_cmpstr (slot->output->str, ==, DOOR_PATH DOOR_FILE "b'path'\nb'port'\n");
        }
      for (guint j = 0; j < session->n_doors; j++)
        sandbox_clear_fd (&session->doors[j]);
      last = slot_run (session, &options);
      g_assert_true (g_str_has_prefix (last->output->str, DOOR_PATH DOOR_FILE "Connection refused\nConnection refused\n"));
      session_finish (session);
    }
}

static void
test_no_place_for_doors (Fixture      *fixture,
                         gconstpointer unused)
{
  g_test_summary ("Where the directory for it is missing nothing runs");

  assert_failed (fixture, &(Options){ .script = "true", .setup_flags = SANDBOX_AGENT_SETUP_DOOR, .no_door_directory = TRUE },
                 SANDBOX_AGENT_STEP_DOOR, ENOENT, 0);
}

/* The number of a process that a pidfd leads to. */
static pid_t
pidfd_get_pid (int pidfd)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/fdinfo/%d", pidfd);
  g_autofree char *text = NULL;
  const char      *at = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  at = strstr (text, "Pid:");
  g_assert_nonnull (at);
  return (pid_t) strtol (at + strlen ("Pid:"), NULL, 10);
}

static int
strcmp_indirect (gconstpointer a,
                 gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* What a process has open, sorted; a host that is not root is not told. */
static char *
list_descriptors (int pidfd)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/fd", pidfd_get_pid (pidfd));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);

  g_assert_nonnull (dir);
  for (const char *name = g_dir_read_name (dir); name != NULL; name = g_dir_read_name (dir))
    {
      g_autofree char *link = g_build_filename (path, name, NULL);
      char            *target = g_file_read_link (link, NULL);

      g_assert_nonnull (target);
      target[strcspn (target, ":")] = '\0';
      g_ptr_array_add (names, target);
    }
  g_ptr_array_sort (names, strcmp_indirect);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (" ", (char **) names->pdata);
}

/* Some time. A session's process 1 that has made what it can of the next slot has a directory for each memory file system and for the
 * terminals, beside what it had. */
static void
assert_descriptors (int         pidfd,
                    const char *expected)
{
  const gint64     end = g_get_monotonic_time () + PATIENCE_MS * 1000;
  g_autofree char *open = list_descriptors (pidfd);

  while (!g_str_equal (open, expected) && g_get_monotonic_time () < end)
    {
      g_usleep (1000);
      g_free (open);
      open = list_descriptors (pidfd);
    }
  g_assert_cmpstr (open, ==, expected);
}

static void
test_slots (Fixture      *fixture,
            gconstpointer unused)
{
  g_autoptr (Sandbox) session = NULL;
  struct stat seen, found;

  g_test_summary ("Each command finds what is its own empty, whatever the one before has left there");
  session = session_start (fixture, &(Options){ 0 });
  g_assert_cmpint (fstat (session->view_fd, &seen), ==, 0);
  g_assert_cmpint (fstat (fixture->workspace_fd, &found), ==, 0);
  g_assert_cmpuint (seen.st_ino, ==, found.st_ino);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *lines = g_strdup_printf ("/workspace\n%u\n", i + 1);

      assert_slot_output (session,
                          "ls -A /tmp /dev/shm; echo $$; echo /proc/[0-9]*; ls /dev/pts; ipcs -q -m | grep -c 0x; ipcmk -Q >/dev/null; ipcmk -M 1 >/dev/null;"
                          "touch /tmp/x /dev/shm/x; (setsid sleep 1000 >/dev/null 2>&1 &)",
                          "/dev/shm:\n\n/tmp:\n2\n/proc/1 /proc/2\nptmx\n0\n");
      assert_slot_output (session, "pwd; echo x >> file; wc -l < file", lines);
    }
  assert_slot_output (session, "exec 2>/dev/null; head -c 2M /dev/zero > /tmp/big || echo full; rm /tmp/big; seq 1000 | (cd /tmp; xargs touch) || echo named",
                      "full\nnamed\n");
  assert_slot_output (session, "exec 2>/dev/null; (echo 1 > /proc/sys/kernel/domainname) || echo no; cat /proc/keys; mount -t tmpfs x /tmp || echo no", "no\nno\n");
  session_finish (session);
}

static void
test_slots_at_dispatch (Fixture      *fixture,
                        gconstpointer unused)
{
  const char *const nothing[] = { "/nothing", NULL };
  const char *const leased[] = { "./leased", NULL };
  g_auto (SandboxFd) lease = fixture_lease (fixture, "leased");
  g_autoptr (Sandbox) session = session_start (fixture, &(Options){ 0 });
  g_autoptr (Sandbox) good = slot_new (session, &(Options){ .script = "echo here" });
  g_autoptr (Sandbox) bad = slot_new (session, &(Options){ .argv = nothing });
  g_autoptr (Sandbox) hanging = slot_new (session, &(Options){ .argv = leased });

  g_test_summary ("A slot that finds its command waiting says first of all how to follow it, whatever becomes of that");
  sandbox_serve (good, NULL);
  g_assert_true (good->exited);
  g_assert_cmpstr (good->output->str, ==, "here\n");
  g_assert_true (is_readable (good->pidfd, PATIENCE_MS));
  sandbox_serve (bad, NULL);
  g_assert_cmpstr (sandbox_agent_step_to_string (bad->failed.step), ==, sandbox_agent_step_to_string (SANDBOX_AGENT_STEP_EXEC_NOT_FOUND));
  g_assert_true (bad->hello);
  sandbox_serve (hanging, &hanging->hello);
  g_assert_false (hanging->started);
  sandbox_clear_fd (&hanging->socket_fd);
  g_assert_true (is_readable (hanging->pidfd, PATIENCE_MS));
  session_finish (session);
}

static void
test_shared_slots (Fixture      *fixture,
                   gconstpointer unused)
{
  g_autoptr (Sandbox) session = session_start (fixture, &(Options){ .setup_flags = SLOTS | SANDBOX_AGENT_SETUP_SHARED });

  g_test_summary ("Commands that share keep /tmp, /dev/shm and System V objects, but not their processes");
  assert_slot_output (session, "ls /tmp /dev/shm; touch /tmp/x /dev/shm/y; ipcmk -Q >/dev/null; (setsid sleep 1000 >/dev/null 2>&1 &)", "/dev/shm:\n\n/tmp:\n");
  assert_slot_output (session, "ls /tmp /dev/shm; ipcs -q | grep -c 0x; echo /proc/[0-9]*", "/dev/shm:\ny\n\n/tmp:\nx\n1\n/proc/1 /proc/2\n");
  session_finish (session);
}

static void
test_slot_is_bare (Fixture      *fixture,
                   gconstpointer unused)
{
  const char *const status = "grep -h -e ^Cap -e ^NoNewPrivs -e ^Seccomp: /proc/1/status /proc/self/status | sort -u | tr -d '\\t'; echo /proc/self/fd/*";
  const char *const bare = "CapAmb:0000000000000000\nCapBnd:0000000000000000\nCapEff:0000000000000000\nCapInh:0000000000000000\n"
                           "CapPrm:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3\n"; /* the last is the shell's own, for looking */
  g_auto (SandboxFd) lock_fd = sandbox_fd_new_sealed ("lock", "", 0);
  g_autoptr (Sandbox) session = session_start (fixture, &(Options){ .lock_fd = lock_fd });
  g_autoptr (Sandbox) slot = slot_new (session, NULL);

  g_test_summary ("Neither process 1 of a slot nor its command has any right, or a descriptor of the session's");
  assert_slot_output (session, status, bare);
  assert_slot_output (session, "exec 2>/dev/null; cat /proc/1/environ || ls /proc/1/fd || ls /proc/1/root/ || readlink /proc/1/ns/mnt || kill -9 1; echo $?; ls -d /proc/2",
                      "0\n/proc/2\n");
  sandbox_serve (slot, &slot->hello);
  if (host_is_root ())
    {
      g_autofree char *of_session = list_descriptors (session->pidfd);

      assert_descriptors (slot->pidfd, "/ / / /workspace anon_inode anon_inode pipe socket");
      g_assert_nonnull (strstr (of_session, "/memfd"));
    }
  else
    {
      g_autofree char *path = g_strdup_printf ("/proc/%d/fd", pidfd_get_pid (slot->pidfd));

      g_assert_null (g_dir_open (path, 0, NULL));
    }
  session_finish (session);
  g_assert_true (is_readable (slot->pidfd, PATIENCE_MS));
}

static void
test_slots_apart (Fixture      *fixture,
                  gconstpointer unused)
{
  g_autoptr (Sandbox) session = session_start (fixture, &(Options){ 0 });
  g_autoptr (Sandbox) first = slot_new (session, NULL);
  g_autoptr (Sandbox) second = slot_new (session, NULL);

  g_test_summary ("Commands at the same time see nothing of each other, nor of what makes slots");
  sandbox_serve (first, &first->hello);
  sandbox_serve (second, &second->hello);
  g_assert_cmpint (mkfifoat (fixture->workspace_fd, "go", 0666), ==, 0);
  slot_exec (first, &(Options){ .script = "echo up; read x < /workspace/go; cat /tmp/mine" });
  slot_exec (second, &(Options){ .script = "touch /tmp/mine; echo /proc/[0-9]*; kill -9 -1; echo end" });
  sandbox_serve (second, NULL);
  /* it killed itself, or was too late to */
  g_assert_true (g_str_has_prefix (second->output->str, "/proc/1 /proc/2\n"));
  g_assert_false (first->exited);
  g_assert_false (is_readable (first->pidfd, 0));
  session_finish (session);
  g_assert_true (is_readable (first->pidfd, PATIENCE_MS));
}

static void
test_slot_ends (Fixture      *fixture,
                gconstpointer unused)
{
  const int                     codes[] = { 0, 1, 255 };
  static const SandboxAgentRule rules[] = {
    { "/", SANDBOX_AGENT_RULE_READ }, { "/dev", SANDBOX_AGENT_RULE_DEVICE }, { NULL, 0 }
  };
  g_autoptr (Sandbox) session = session_start (fixture, &(Options){ .rules = rules });
  g_autoptr (Sandbox) signaled = slot_new (session, NULL);
  g_autoptr (Sandbox) late = NULL;
  g_autoptr (Sandbox) lost = NULL;
  g_autoptr (Sandbox) limited = NULL;

  g_test_summary ("A command in a slot ends, fails and is ended as one in a sandbox of its own");
  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    {
      g_autofree char *script = g_strdup_printf ("(setsid sleep 1000 &) ; exit %d", codes[i]);
      g_autoptr (Sandbox) slot = slot_run (session, &(Options){ .script = script });

      g_assert_true (slot->exited);
      g_assert_cmpint (WEXITSTATUS (slot->end.wait_status), ==, codes[i]);
    }
  /* EXEC that waits for the slot to be armed; signals go where rules let commands send none. The shell may tell of its sleep. */
  slot_exec (signaled, &(Options){ .script = "exec 2>/dev/null; trap 'echo got; exit 3' TERM; echo up; while :; do sleep 0.01; done" });
  sandbox_wait_for_output (signaled, "up");
  sandbox_serve (signaled, &signaled->started);
  sandbox_send (signaled, &(SandboxAgentPacket){ .type = SANDBOX_AGENT_SIGNAL, .signal = { SIGTERM } });
  sandbox_serve (signaled, NULL);
  g_assert_cmpstr (signaled->output->str, ==, "up\ngot\n");
  g_assert_cmpint (WEXITSTATUS (signaled->end.wait_status), ==, 3);
  late = slot_run (session, &(Options){ .script = "sleep 1000 & wait", .deadline_us = 100000 });
  g_assert_true (late->exited);
  g_assert_true ((late->end.flags & SANDBOX_AGENT_EXITED_DEADLINE) != 0);
  lost = slot_run (session, &(Options){ .script = "true", .cwd = "none" });
  g_assert_cmpuint (lost->failed.step, ==, SANDBOX_AGENT_STEP_CHDIR);
  g_assert_cmpint (lost->failed.error, ==, ENOENT);
  limited = slot_run (session, &(Options){ .script = "ulimit -Hn; ulimit -Sc", .limit = { RLIMIT_NOFILE, 64 } });
  g_assert_cmpstr (limited->output->str, ==, "64\n0\n");
  session_finish (session);
}

/* Ends @slot by the bytes of a packet; @session goes on. */
static void
assert_slot_ends_by (Sandbox                  *session,
                     const SandboxAgentPacket *packet)
{
  g_autoptr (Sandbox) slot = slot_new (session, NULL);

  sandbox_serve (slot, &slot->hello);
  g_assert_true (slot->hello);
  if (packet != NULL)
    sandbox_send (slot, packet);
  else
    g_assert_cmpint (send (slot->socket_fd, "garbage", 7, MSG_NOSIGNAL), ==, 7);
  sandbox_serve (slot, &slot->ended);
  g_assert_cmpuint (slot->n_packets, ==, 1);
  g_assert_true (is_readable (slot->pidfd, PATIENCE_MS));
}

static void
test_slot_garbage (Fixture      *fixture,
                   gconstpointer unused)
{
  g_autoptr (Sandbox) session = session_start (fixture, &(Options){ 0 });
  g_autoptr (Sandbox) other = slot_new (session, NULL);
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_SIGNAL, .signal = { SIGTERM } };

  g_test_summary ("A packet that is malformed or out of order ends the slot, and nothing else");
  sandbox_serve (other, &other->hello);
  assert_slot_ends_by (session, NULL);
  assert_slot_ends_by (session, &packet);
  packet = (SandboxAgentPacket){ .type = SANDBOX_AGENT_ARM, .n_fds = 1, .fds = { session->socket_fd } };
  assert_slot_ends_by (session, &packet);
  packet = (SandboxAgentPacket){
    .type = SANDBOX_AGENT_SETUP, .setup = { .workspace = "/workspace", .n_instructions = 1, .filter = (const uint8_t *) filter_nothing }
  };
  assert_slot_ends_by (session, &packet);
  slot_exec (other, &(Options){ .script = "echo well" });
  sandbox_serve (other, NULL);
  g_assert_cmpstr (other->output->str, ==, "well\n");
  session_finish (session);
}

static void
assert_session_ends_by (Fixture                  *fixture,
                        gconstpointer             bytes,
                        gsize                     size,
                        const SandboxAgentPacket *packet)
{
  g_autoptr (Sandbox) session = session_start (fixture, &(Options){ 0 });
  g_autoptr (Sandbox) slot = slot_new (session, NULL);

  sandbox_serve (slot, &slot->hello);
  slot_exec (slot, &(Options){ .script = "echo up; sleep 1000" });
  sandbox_wait_for_output (slot, "up");
  if (packet != NULL)
    sandbox_send (session, packet);
  else if (size > 0)
    g_assert_cmpint (send (session->socket_fd, bytes, size, MSG_NOSIGNAL), ==, size);
  else
    g_assert_cmpint (shutdown (session->socket_fd, SHUT_RDWR), ==, 0);
  sandbox_finish (session);
  g_assert_true (is_readable (slot->pidfd, PATIENCE_MS));
  sandbox_serve (slot, NULL);
  g_assert_false (slot->exited);
}

static void
test_session_garbage (Fixture      *fixture,
                      gconstpointer unused)
{
  static char words[] = "true";
  g_auto (SandboxFd) null_fd = open_or_die ("/dev/null", O_RDWR);
  SandboxAgentPacket exec = {
    .type = SANDBOX_AGENT_EXEC, .n_fds = 3, .fds = { null_fd, null_fd, null_fd }, .exec = { .cwd = "", .argc = 1, .strings = words, .strings_size = sizeof words }
  };
  SandboxAgentPacket signal = { .type = SANDBOX_AGENT_SIGNAL, .signal = { SIGTERM } };
  SandboxAgentPacket arm = { .type = SANDBOX_AGENT_ARM, .n_fds = 1, .fds = { null_fd } };
  g_autofree char   *big = g_malloc0 (4096);

  g_test_summary ("The end of the session's socket, and a packet there that is malformed or out of order, end it with all slots");
  assert_session_ends_by (fixture, NULL, 0, NULL);
  assert_session_ends_by (fixture, "garbage", 7, NULL);
  assert_session_ends_by (fixture, big, 4096, NULL);
  assert_session_ends_by (fixture, NULL, 0, &exec);
  assert_session_ends_by (fixture, NULL, 0, &signal);

  /* ARM where there are no slots, or not yet */
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (Sandbox) sandbox = sandbox_start (fixture, &(Options){ .no_packets = TRUE });

      if (i == 0)
        send_setup (sandbox, fixture, &(Options){ 0 });
      sandbox_send (sandbox, &arm);
      sandbox_finish (sandbox);
      g_assert_cmpuint (sandbox->n_packets, ==, 1);
    }
}

/* Makes @session's process 1 the only one that its user may have there. Only that user may do so, or root with a right that it
 * does not have everywhere. */
static void
limit_processes (Sandbox *session)
{
  const struct rlimit few = { 1, 1 };
  const pid_t         target = pidfd_get_pid (session->pidfd);
  const pid_t         pid = fork ();
  int                 status = 0;

  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    _exit ((host_is_root () && (setresgid (GUEST_UID, GUEST_UID, GUEST_UID) < 0 || setresuid (GUEST_UID, GUEST_UID, GUEST_UID) < 0)) ||
           prlimit (target, RLIMIT_NPROC, &few, NULL) < 0);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
}

static void
assert_arm_fails (Sandbox         *session,
                  SandboxAgentStep step,
                  int              error,
                  guint32          detail)
{
  g_autoptr (Sandbox) slot = slot_new (session, NULL);

  sandbox_serve (slot, &slot->ended);
  g_assert_false (slot->hello);
  g_assert_cmpstr (sandbox_agent_step_to_string (slot->failed.step), ==, sandbox_agent_step_to_string (step));
  g_assert_cmpint (slot->failed.error, ==, error);
  g_assert_cmpuint (slot->failed.detail, ==, detail);
}

static void
test_arm_fails (Fixture      *fixture,
                gconstpointer unused)
{
  static const SandboxAgentMemory memories[] = { { "/tmp", 0 }, { "/workspace/cache", 0 }, { NULL, 0 } };
  static const SandboxAgentRule   rules[] = {
      { "/", SANDBOX_AGENT_RULE_READ }, { "/workspace/cache/rule", SANDBOX_AGENT_RULE_WRITE | SANDBOX_AGENT_RULE_OPTIONAL }, { "/workspace/there", SANDBOX_AGENT_RULE_WRITE }, { NULL, 0 }
  };
  g_autoptr (Sandbox) session = sandbox_start (fixture, &(Options){ .no_packets = TRUE });
  const guint32 n_mounts = host_is_root () ? 1 : 0;

  g_test_summary ("A slot that cannot be made says why on its own socket; the session goes on");
  send_setup (session, fixture, &(Options){ .setup_flags = SLOTS, .memories = memories, .rules = rules });
  sandbox_serve (session, &session->ready);
  g_assert_true (session->ready);
  assert_arm_fails (session, SANDBOX_AGENT_STEP_MOUNT, ENOENT, n_mounts + 2);
  /* what a command may have put there is not followed */
  g_assert_cmpint (symlinkat ("/usr", fixture->workspace_fd, "cache"), ==, 0);
  assert_arm_fails (session, SANDBOX_AGENT_STEP_MOUNT, ELOOP, n_mounts + 2);
  g_assert_cmpint (unlinkat (fixture->workspace_fd, "cache", 0), ==, 0);
  g_assert_cmpint (mkdirat (fixture->workspace_fd, "cache", 0755), ==, 0);
  assert_arm_fails (session, SANDBOX_AGENT_STEP_LANDLOCK, ENOENT, 3);
  g_assert_cmpint (mkdirat (fixture->workspace_fd, "there", 0755), ==, 0);
  assert_slot_output (session, "echo up", "up\n");

  limit_processes (session);
  assert_arm_fails (session, SANDBOX_AGENT_STEP_SLOT, EAGAIN, 0);
  session_finish (session);
}

static void
test_many_slots (Fixture      *fixture,
                 gconstpointer unused)
{
  g_autoptr (Sandbox) session = session_start (fixture, &(Options){ 0 });
  g_autoptr (Sandbox) last = NULL;
  g_autofree char *path = NULL;
  g_autofree char *children = NULL;
  gint64           limit = g_get_monotonic_time () + PATIENCE_MS * 1000;

  g_test_summary ("A hundred slots that were armed and let go of leave nothing");
  for (guint i = 0; i < 10; i++)
    {
      Sandbox *slots[10];

      for (guint j = 0; j < G_N_ELEMENTS (slots); j++)
        slots[j] = slot_new (session, NULL);
      for (guint j = 0; j < G_N_ELEMENTS (slots); j++)
        {
          if (j % 2 == 0)
            {
              sandbox_serve (slots[j], &slots[j]->hello);
              g_assert_true (slots[j]->hello);
            }
          sandbox_clear_fd (&slots[j]->socket_fd);
        }
      for (guint j = 0; j < G_N_ELEMENTS (slots); j++)
        {
          if (slots[j]->pidfd >= 0)
            g_assert_true (is_readable (slots[j]->pidfd, PATIENCE_MS));
          sandbox_free (slots[j]);
        }
    }
  last = slot_run (session, &(Options){ .script = "true" });
  g_assert_true (last->exited);
  path = g_strdup_printf ("/proc/%d/task/%d/children", pidfd_get_pid (session->pidfd), pidfd_get_pid (session->pidfd));
  do
    {
      g_clear_pointer (&children, g_free);
      g_assert_true (g_file_get_contents (path, &children, NULL, NULL));
      g_assert_cmpint (g_get_monotonic_time (), <, limit);
      g_usleep (1000);
    }
  while (children[0] != '\0');
  if (host_is_root ())
    assert_descriptors (session->pidfd, "/ / / / / / /workspace anon_inode socket");
  session_finish (session);
}

static void
test_supply (Fixture      *fixture,
             gconstpointer unused)
{
  static const SandboxAgentRule rules[] = {
    { "/", SANDBOX_AGENT_RULE_READ }, { "/dev", SANDBOX_AGENT_RULE_DEVICE }, { "/tmp", SANDBOX_AGENT_RULE_WRITE }, { "/dev/shm", SANDBOX_AGENT_RULE_WRITE }, { "/workspace/there", SANDBOX_AGENT_RULE_WRITE }, { NULL, 0 }
  };
  g_autoptr (Sandbox) session = NULL;

  g_test_summary ("A slot that was prepared for is as any other one: what is its own is there and empty, what is not it cannot change, and a rule "
                  "is for what is at its path by then");
  g_assert_cmpint (mkdirat (fixture->workspace_fd, "there", 0777), ==, 0);
  session = session_start (fixture, &(Options){ .rules = rules });
  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *old = g_strdup_printf ("old-%u", i);

      /* the next slot is prepared for, the one after it is not, or hardly */
      if (host_is_root ())
        assert_descriptors (session->pidfd, "/ / / / / / /workspace anon_inode anon_inode socket");
      else
        g_usleep (50000);
      for (guint j = 0; j < 2; j++)
        assert_slot_output (session,
                            "ls -A /tmp /dev/shm there; ls /dev/pts; touch /tmp/x /dev/shm/x there/x; ls -A /tmp /dev/shm; rm there/x; exec 2>/dev/null;"
                            "touch /workspace/x || echo no; touch /x || echo no; echo > /dev/null; (echo 1 > /proc/sys/kernel/domainname) || echo no",
                            "/dev/shm:\n\n/tmp:\n\nthere:\nptmx\n/dev/shm:\nx\n\n/tmp:\nx\nno\nno\nno\n");
      g_assert_cmpint (renameat (fixture->workspace_fd, "there", fixture->workspace_fd, old), ==, 0);
      g_assert_cmpint (mkdirat (fixture->workspace_fd, "there", 0777), ==, 0);
      g_assert_cmpint (fchmodat (fixture->workspace_fd, "there", 0777, 0), ==, 0);
    }
  if (host_is_root ())
    {
      g_autoptr (Sandbox) slot = NULL;

      assert_descriptors (session->pidfd, "/ / / / / / /workspace anon_inode anon_inode socket");
      slot = slot_new (session, NULL);
      sandbox_serve (slot, &slot->hello);
      assert_descriptors (slot->pidfd, "/ / / /workspace anon_inode anon_inode anon_inode pipe socket");
    }
  session_finish (session);
}

/* Of its process 1 */
static guint
count_filters (Sandbox *session)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", pidfd_get_pid (session->pidfd));
  g_autofree char *status = NULL;
  const char      *line = NULL;

  g_assert_true (g_file_get_contents (path, &status, NULL, NULL));
  line = strstr (status, "\nSeccomp_filters:\t");
  g_assert_nonnull (line);
  return (guint) g_ascii_strtoull (strchr (line, '\t') + 1, NULL, 10);
}

static void
test_slot_filters (Fixture      *fixture,
                   gconstpointer unused)
{
  g_test_summary ("Under each filter that there is a command in a slot gets its limits and its directory; what makes slots has one half of the filter");
  fixture_write (fixture, "a/b/file", "", 0644);
  for (guint i = 0; i < 6; i++)
    {
      const SandboxFilter kind = i / 2;
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) bytes = sandbox_agent_filter_get (kind, i % 2 == 1, SANDBOX_AGENT_FILTER_OF_SESSION, &error);
      g_autoptr (GBytes) beside = sandbox_agent_filter_get (kind, i % 2 == 1, SANDBOX_AGENT_FILTER_OF_SLOT, NULL);
      g_autoptr (Sandbox) session = NULL;
      g_autoptr (Sandbox) slot = NULL;
      gsize   size = 0;
      Options options = { .setup_flags = SLOTS };

      g_assert_no_error (error);
      options.filter = g_bytes_get_data (bytes, &size);
      options.n_instructions = size / sizeof (struct sock_filter);
      g_assert_nonnull (beside);
      options.slot_filter = g_bytes_get_data (beside, &size);
      options.n_slot_instructions = size / sizeof (struct sock_filter);
      if (kind == SANDBOX_FILTER_STRICT)
        options.setup_flags |= SANDBOX_AGENT_SETUP_LATE_FILTER;
      session = session_start (fixture, &options);
      slot = slot_run (session, &(Options){ .script = "pwd; ulimit -n; grep ^Seccomp_ /proc/self/status; ulimit -n 32 2>/dev/null || echo kept",
                                            .cwd = "a//./b/",
                                            .deadline_us = 10000000,
                                            .strings_in_memfd = TRUE,
                                            .limit = { RLIMIT_NOFILE, 64 } });
      g_assert_cmpstr (sandbox_agent_step_to_string (slot->failed.step), ==, sandbox_agent_step_to_string (0));
      g_assert_cmpstr (slot->output->str, ==, kind == SANDBOX_FILTER_STRICT ? "/workspace/a/b\n64\nSeccomp_filters:\t2\nkept\n" : "/workspace/a/b\n64\nSeccomp_filters:\t2\n");
      g_assert_cmpuint (count_filters (session), ==, 1);
      session_finish (session);
    }
}

static void
test_overlay (Fixture      *fixture,
              gconstpointer unused)
{
  g_autoptr (Sandbox) session = NULL;
  g_autoptr (Sandbox) probe = NULL;
  g_autofree char *below = g_build_filename (fixture->workspace, "lower", "file", NULL);
  g_autofree char *above = g_build_filename (fixture->workspace, "base", "upper", "file", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("Commands change an overlay; what is below it nobody in the sandbox can reach, not even its process 1");
  fixture_write (fixture, "lower/file", "old\n", 0644);
  fixture_write (fixture, "lower/folder/more", "", 0600);
  g_assert_cmpint (mkdirat (fixture->workspace_fd, "base", 0700), ==, 0);
  g_assert_cmpint (mkdirat (fixture->workspace_fd, "base/upper", 0755), ==, 0);
  g_assert_cmpint (mkdirat (fixture->workspace_fd, "base/work", 0755), ==, 0);
  session = session_start (fixture, &(Options){ .layers = fixture->workspace });
  g_assert_true (session->ready);
  g_assert_cmpint (faccessat (session->view_fd, "folder/more", F_OK, 0), ==, 0);

  assert_slot_output (session, "cat file; echo new >> file; rm -r folder; echo made > made; ls", "old\nfile\nmade\n");
  assert_slot_output (session, "cat file made", "old\nnew\nmade\n");
  g_assert_cmpint (faccessat (session->view_fd, "made", F_OK, 0), ==, 0);
  g_assert_cmpint (faccessat (session->view_fd, "folder", F_OK, 0), <, 0);
  g_assert_true (g_file_get_contents (below, &text, NULL, &error));
  g_assert_cmpstr (text, ==, "old\n");
  g_assert_cmpint (access (above, F_OK), ==, 0);
  /* of the session's own mounts a slot has copies */
  assert_slot_output (session, "grep -c -e ' /run/sandbox-[lb]' -e ' /workspace/' /proc/self/mountinfo; grep -c ' /workspace ' /proc/self/mountinfo;"
                               "cat /run/sandbox-lower/file /run/sandbox-base/upper/file 2>/dev/null",
                      host_is_root () ? "0\n1\n" : "0\n2\n");
  if (host_is_root ())
    {
      g_autofree char *path = g_strdup_printf ("/proc/%d/mountinfo", pidfd_get_pid (session->pidfd));
      g_autofree char *mounts = NULL;

      g_assert_true (g_file_get_contents (path, &mounts, NULL, &error));
      g_assert_null (strstr (mounts, fixture->workspace));
      assert_descriptors (session->pidfd, "/ / / / / / /workspace anon_inode socket");
    }
  session_finish (session);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("exit", test_exit);
  ADD ("signaled", test_signaled);
  ADD ("no-program", test_no_program);
  ADD ("path-search", test_path_search);
  ADD ("cwd", test_cwd);
  ADD ("strings", test_strings);
  ADD ("many-strings", test_many_strings);
  ADD ("bad-memfd", test_bad_memfd);
  ADD ("clean-process", test_clean_process);
  ADD ("descriptors", test_descriptors);
  ADD ("limits", test_limits);
  ADD ("usage", test_usage);
  ADD ("filter", test_filter);
  ADD ("check", test_check);
  ADD ("rules", test_rules);
  ADD ("rules-scope", test_rules_scope);
  ADD ("rules-fail", test_rules_fail);
  ADD ("workspace", test_workspace);
  ADD ("removed-workspace", test_removed_workspace);
  ADD ("mounts", test_mounts);
  if (host_is_root ())
    ADD ("root-mounts", test_root_mounts);
  ADD ("namespaces", test_namespaces);
  ADD ("no-capabilities", test_no_capabilities);
  ADD ("lock", test_lock);
  ADD ("slots", test_slots);
  ADD ("doors", test_doors);
  ADD ("doors-of-slots", test_doors_of_slots);
  ADD ("no-place-for-doors", test_no_place_for_doors);
  ADD ("slots-at-dispatch", test_slots_at_dispatch);
  ADD ("shared-slots", test_shared_slots);
  ADD ("slot-is-bare", test_slot_is_bare);
  ADD ("slots-apart", test_slots_apart);
  ADD ("slot-ends", test_slot_ends);
  ADD ("slot-garbage", test_slot_garbage);
  ADD ("session-garbage", test_session_garbage);
  ADD ("arm-fails", test_arm_fails);
  ADD ("many-slots", test_many_slots);
  ADD ("supply", test_supply);
  ADD ("slot-filters", test_slot_filters);
  ADD ("overlay", test_overlay);
  ADD ("deadline", test_deadline);
  ADD ("deadline-of-silent-host", test_deadline_of_silent_host);
  ADD ("leftovers", test_leftovers);
  ADD ("alone", test_alone);
  ADD ("end-of-socket", test_end_of_socket);
  ADD ("early-end-of-socket", test_early_end_of_socket);
  ADD ("bye", test_bye);
  ADD ("signals", test_signals);
  ADD ("hanging-exec", test_hanging_exec);
  ADD ("out-of-order", test_out_of_order);
  ADD ("garbage", test_garbage);
  ADD ("attack-on-agent", test_attack_on_agent);
  ADD ("identity", test_identity);
  ADD ("death-of-host", test_death_of_host);
  ADD ("launch-fails", test_launch_fails);
  ADD ("refuses-elsewhere", test_refuses_elsewhere);
  return g_test_run ();
}
