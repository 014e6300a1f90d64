/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-channel-private.h"

#include "sandbox-agent-filter-private.h"
#include "sandbox-agent-group-private.h"
#include "sandbox-agent-protocol.h"
#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-gateway.h"
#include "sandbox-worker-private.h"
#include "sandbox-workspace-path.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* So much of what a launcher says is kept. */
#define WORDS_MAX 512
/* So much can be unread by an agent that makes slots, as the kernel counts: some ten requests. */
#define UNREAD_MAX 4096

/**
 * SandboxAgentChannel:
 *
 * The way to one agent: process 1 of a sandbox that waits for its command.
 *
 * A [class@Sandbox.AgentDriver] makes one for each command: a socket of type `SOCK_SEQPACKET` whose other
 * end the agent has, and what the agent has to prepare. The end of the socket is the end of the sandbox.
 *
 * Since: 1.0
 */

struct _SandboxAgentChannel
{
  GObject parent_instance;

  int                      socket_fd; /* like the pidfd and what it says, gone in a forked child */
  SandboxAgentChannelFlags flags;
  SandboxFilter            filter;
  char                    *workspace_target;
  guint64                  workspace_device;
  guint64                  workspace_inode;
  GArray                  *mounts;      /* of SandboxAgentChannelMount */
  GArray                  *rules;       /* of SandboxAgentChannelRule */
  gsize                    rules_size;  /* bytes of their paths, with what ends them */
  int                      launcher_fd; /* pidfd of our child */
  int                      words_fd;    /* what it says */
  int                      lock_fd;     /* what the agent holds as long as it lives; watched */
  guint                    uid;         /* of the commands, or G_MAXUINT for that of the host */
  guint                    gid;
  SandboxAgentGroup       *group; /* nullable */
  siginfo_t                launcher_end;
  GArray                  *memories; /* of SandboxAgentChannelMemory */
  SandboxAgentChannel     *sandbox;  /* of a slot: the channel of the sandbox that it is in */
  SandboxAgentDoors       *doors;    /* nullable */
};

G_STATIC_ASSERT (SANDBOX_AGENT_CHANNEL_MAX_MOUNTS == SANDBOX_AGENT_N_MOUNTS_MAX);
G_STATIC_ASSERT (SANDBOX_AGENT_CHANNEL_MAX_MEMORIES == SANDBOX_AGENT_N_MEMORIES_MAX);
G_STATIC_ASSERT (SANDBOX_AGENT_CHANNEL_MAX_RULES == SANDBOX_AGENT_N_RULES_MAX);
G_STATIC_ASSERT (SANDBOX_AGENT_CHANNEL_MAX_RULES_SIZE == SANDBOX_AGENT_RULES_SIZE_MAX);
/* One spelling on both sides */
G_STATIC_ASSERT (__builtin_strcmp (SANDBOX_GATEWAY_PATH, SANDBOX_AGENT_DOOR) == 0);
G_STATIC_ASSERT (SANDBOX_GATEWAY_PORT == SANDBOX_AGENT_DOOR_PORT);
G_STATIC_ASSERT (__builtin_strcmp (SANDBOX_AGENT_CHANNEL_OVERLAY_LOWER, SANDBOX_AGENT_OVERLAY_LOWER) == 0);
G_STATIC_ASSERT (__builtin_strcmp (SANDBOX_AGENT_CHANNEL_OVERLAY_BASE, SANDBOX_AGENT_OVERLAY_BASE) == 0);
G_STATIC_ASSERT (SANDBOX_AGENT_ACCESS_LIST == (int) SANDBOX_AGENT_RULE_LIST);
G_STATIC_ASSERT (SANDBOX_AGENT_ACCESS_READ == (int) SANDBOX_AGENT_RULE_READ);
G_STATIC_ASSERT (SANDBOX_AGENT_ACCESS_PROC == (int) SANDBOX_AGENT_RULE_PROC);
G_STATIC_ASSERT (SANDBOX_AGENT_ACCESS_WRITE == (int) SANDBOX_AGENT_RULE_WRITE);
G_STATIC_ASSERT (SANDBOX_AGENT_ACCESS_DEVICE == (int) SANDBOX_AGENT_RULE_DEVICE);
G_STATIC_ASSERT (SANDBOX_AGENT_ACCESS_OPTIONAL == (int) SANDBOX_AGENT_RULE_OPTIONAL);

typedef struct
{
  char   *target;
  guint32 flags;
  int     fds[2]; /* -1: none */
} SandboxAgentChannelMount;

typedef struct
{
  char              *path;
  SandboxAgentAccess access;
} SandboxAgentChannelRule;

typedef struct
{
  char   *target;
  guint64 size;
} SandboxAgentChannelMemory;

static void
sandbox_agent_channel_clear_memory (gpointer data)
{
  SandboxAgentChannelMemory *memory = data;

  g_free (memory->target);
}

static void
sandbox_agent_channel_clear_rule (gpointer data)
{
  SandboxAgentChannelRule *rule = data;

  g_free (rule->path);
}

static void
sandbox_agent_channel_clear_mount (gpointer data)
{
  SandboxAgentChannelMount *mount = data;

  g_free (mount->target);
  for (guint i = 0; i < G_N_ELEMENTS (mount->fds); i++)
    sandbox_clear_fd (&mount->fds[i]);
}

G_DEFINE_FINAL_TYPE (SandboxAgentChannel, sandbox_agent_channel, G_TYPE_OBJECT)

/* Waits for the launcher, which has ended. What is left of the process group that it led is killed before, as
 * long as the number cannot be somebody else's: a bwrap that is killed early leaves a child that waits for a
 * word from it, for ever. */
static gboolean
sandbox_agent_channel_reap (int        launcher_fd,
                            siginfo_t *end)
{
  siginfo_t seen = { 0 };

  if (waitid (P_PIDFD, launcher_fd, &seen, WEXITED | WNOHANG | WNOWAIT) == 0 && seen.si_pid > 0)
    kill (-seen.si_pid, SIGKILL);

  return waitid (P_PIDFD, launcher_fd, end, WEXITED | WNOHANG) == 0;
}

/* The launcher's pid as long as it has not been waited for, else -1. */
static pid_t
sandbox_agent_channel_get_launcher_pid (int launcher_fd)
{
  char path[64];
  char text[512];
  int  pid = -1;
  g_auto (SandboxFd) fd = -1;
  const char *line = NULL;
  ssize_t     size = 0;

  g_snprintf (path, sizeof path, "/proc/self/fdinfo/%d", launcher_fd);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  size = fd >= 0 ? read (fd, text, sizeof text - 1) : -1;
  if (size <= 0)
    return -1;
  text[size] = '\0';
  line = strstr (text, "\nPid:");
  if (line == NULL || sscanf (line, "\nPid: %d", &pid) != 1)
    return -1;

  return pid;
}

/* The launcher with its process group, if it leads one: a bwrap that is killed alone may leave a child that
 * waits for a word from it, and a host that ignores SIGCHLD could not find that any more. */
static void
sandbox_agent_channel_kill_launcher (int launcher_fd)
{
  pid_t pid = sandbox_agent_channel_get_launcher_pid (launcher_fd);

  if (pid > 1 && getpgid (pid) == pid)
    kill (-pid, SIGKILL);
  syscall (SYS_pidfd_send_signal, launcher_fd, SIGKILL, NULL, 0);
}

static gboolean
sandbox_agent_channel_reap_cb (int          fd,
                               GIOCondition condition,
                               gpointer     user_data)
{
  siginfo_t end = { 0 };

  sandbox_agent_channel_reap (fd, &end);

  return G_SOURCE_REMOVE;
}

static void
sandbox_agent_channel_close_cb (gpointer user_data)
{
  sandbox_close_fd (GPOINTER_TO_INT (user_data));
}

static void
sandbox_agent_channel_finalize (GObject *object)
{
  SandboxAgentChannel *self = SANDBOX_AGENT_CHANNEL (object);

  sandbox_fork_close (&self->socket_fd);
  sandbox_fork_close (&self->words_fd);
  sandbox_fork_close (&self->lock_fd);
  g_array_unref (self->mounts);
  g_array_unref (self->rules);
  g_array_unref (self->memories);
  g_free (self->workspace_target);

  /* Nobody waits for the launcher any more, but our child has to be reaped. */
  if (self->launcher_fd >= 0 && self->launcher_end.si_pid == 0)
    {
      g_autoptr (GSource) source = NULL;
      int launcher_fd;

      sandbox_fork_lock ();
      launcher_fd = sandbox_fork_steal (&self->launcher_fd);
      sandbox_fork_unlock ();
      sandbox_agent_channel_kill_launcher (launcher_fd);
      source = sandbox_worker_watch_fd (launcher_fd, sandbox_agent_channel_reap_cb,
                                        GINT_TO_POINTER (launcher_fd), sandbox_agent_channel_close_cb);
    }
  sandbox_fork_close (&self->launcher_fd);
  g_clear_object (&self->group);
  g_clear_object (&self->sandbox);
  g_clear_pointer (&self->doors, sandbox_agent_doors_unref);

  G_OBJECT_CLASS (sandbox_agent_channel_parent_class)->finalize (object);
}

static void
sandbox_agent_channel_class_init (SandboxAgentChannelClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = sandbox_agent_channel_finalize;
}

static void
sandbox_agent_channel_init (SandboxAgentChannel *self)
{
  self->socket_fd = -1;
  self->workspace_target = g_strdup (SANDBOX_WORKSPACE_PATH);
  self->mounts = g_array_new (FALSE, FALSE, sizeof (SandboxAgentChannelMount));
  g_array_set_clear_func (self->mounts, sandbox_agent_channel_clear_mount);
  self->rules = g_array_new (FALSE, FALSE, sizeof (SandboxAgentChannelRule));
  g_array_set_clear_func (self->rules, sandbox_agent_channel_clear_rule);
  self->memories = g_array_new (FALSE, FALSE, sizeof (SandboxAgentChannelMemory));
  g_array_set_clear_func (self->memories, sandbox_agent_channel_clear_memory);
  self->launcher_fd = -1;
  self->words_fd = -1;
  self->lock_fd = -1;
  self->uid = G_MAXUINT;
  self->gid = G_MAXUINT;
}

/**
 * sandbox_agent_channel_new_take_fd:
 * @socket_fd: the host's end of a `SOCK_SEQPACKET` socket; it is closed with the channel
 * @flags: what the agent prepares
 *
 * Makes a channel over a socket to an agent, which need not have started yet.
 *
 * Returns: (transfer full): a channel
 *
 * Since: 1.0
 */
SandboxAgentChannel *
sandbox_agent_channel_new_take_fd (int                      socket_fd,
                                   SandboxAgentChannelFlags flags)
{
  SandboxAgentChannel *self = NULL;

  g_return_val_if_fail (socket_fd >= 0, NULL);

  self = g_object_new (SANDBOX_TYPE_AGENT_CHANNEL, NULL);
  self->flags = flags;
  sandbox_fork_lock ();
  self->socket_fd = socket_fd;
  sandbox_fork_watch (&self->socket_fd);
  sandbox_fork_unlock ();

  return self;
}

/**
 * sandbox_agent_channel_set_workspace:
 * @self: a channel
 * @target: the absolute path of the workspace in the guest
 * @device: the device number of the workspace directory
 * @inode: its inode number, or 0 to check nothing
 *
 * Sets which directory the agent must find as its workspace, and where. With another one it runs nothing.
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_set_workspace (SandboxAgentChannel *self,
                                     const char          *target,
                                     guint64              device,
                                     guint64              inode)
{
  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (target != NULL && target[0] == '/');

  g_free (self->workspace_target);
  self->workspace_target = g_strdup (target);
  self->workspace_device = device;
  self->workspace_inode = inode;
}

/**
 * sandbox_agent_channel_take_mount:
 * @self: a channel
 * @target: where, an absolute path in the guest; there has to be something of the same kind already
 * @mount_fd: a detached mount, which the channel takes over
 * @read_only: whether it becomes read-only
 *
 * Adds a mount that the agent attaches before any command runs, after those that were added before it.
 *
 * There are at most %SANDBOX_AGENT_CHANNEL_MAX_MOUNTS, and none comes after what is protected; see
 * [method@Sandbox.AgentChannel.protect].
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_take_mount (SandboxAgentChannel *self,
                                  const char          *target,
                                  int                  mount_fd,
                                  gboolean             read_only)
{
  SandboxAgentChannelMount mount = { NULL, read_only ? SANDBOX_AGENT_MOUNT_READ_ONLY : 0, { mount_fd, -1 } };

  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (target != NULL && target[0] == '/');
  g_return_if_fail (mount_fd >= 0);
  g_return_if_fail (self->mounts->len < SANDBOX_AGENT_CHANNEL_MAX_MOUNTS);

  mount.target = g_strdup (target);
  g_array_append_val (self->mounts, mount);
}

/**
 * sandbox_agent_channel_take_overlay:
 * @self: a channel
 * @target: where, an absolute path of a directory in the guest
 * @lower_fd: a detached mount of the directory whose files are seen, which the channel takes over; or -1
 * @base_fd: a detached mount of the directory that has `upper` and `work`, which the channel takes over; or -1
 *
 * Adds an overlay that the agent mounts before any command runs, after the mounts that were added before it. Nothing in
 * the sandbox reaches what it is made of afterwards.
 *
 * Where the two are -1, what builds the sandbox has put them at %SANDBOX_AGENT_CHANNEL_OVERLAY_LOWER and
 * %SANDBOX_AGENT_CHANNEL_OVERLAY_BASE in the guest.
 *
 * There is at most one. It counts as a mount, see [method@Sandbox.AgentChannel.take_mount].
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_take_overlay (SandboxAgentChannel *self,
                                    const char          *target,
                                    int                  lower_fd,
                                    int                  base_fd)
{
  SandboxAgentChannelMount mount = { NULL, SANDBOX_AGENT_MOUNT_OVERLAY, { lower_fd, base_fd } };

  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (target != NULL && target[0] == '/');
  g_return_if_fail ((lower_fd >= 0) == (base_fd >= 0));
  g_return_if_fail (self->mounts->len < SANDBOX_AGENT_CHANNEL_MAX_MOUNTS);

  if (lower_fd < 0)
    mount.flags |= SANDBOX_AGENT_MOUNT_BOUND;
  mount.target = g_strdup (target);
  g_array_append_val (self->mounts, mount);
}

/**
 * sandbox_agent_channel_take_launcher:
 * @self: a channel
 * @pid_fd: a pidfd of the child process that builds the sandbox, which the channel takes over
 * @words_fd: where what it says is read from, non-blocking, or -1
 *
 * Sets the child process that builds the sandbox. It is killed with the channel. When it has ended it is
 * reaped, and what is left of the process group that it led is killed.
 *
 * What it says goes into error messages as evidence; nothing is decided by it.
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_take_launcher (SandboxAgentChannel *self,
                                     int                  pid_fd,
                                     int                  words_fd)
{
  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (pid_fd >= 0);
  g_return_if_fail (self->launcher_fd < 0);

  sandbox_fork_lock ();
  self->launcher_fd = pid_fd;
  self->words_fd = words_fd;
  sandbox_fork_watch (&self->launcher_fd);
  sandbox_fork_watch (&self->words_fd);
  sandbox_fork_unlock ();
}

/**
 * sandbox_agent_channel_take_lock: (skip)
 * @self: a channel
 * @lock_fd: what [method@Sandbox.Workspace.lend_alive] gave, which the channel takes over; the place gets -1
 *
 * Has the agent hold a lock for as long as the sandbox lives, from before any command runs. Nothing in there can let go
 * of it.
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_take_lock (SandboxAgentChannel *self,
                                 int                 *lock_fd)
{
  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (lock_fd != NULL);
  g_return_if_fail (self->lock_fd < 0);

  /* No child is forked that would have it unseen. */
  sandbox_fork_lock ();
  self->lock_fd = sandbox_fork_steal (lock_fd);
  sandbox_fork_watch (&self->lock_fd);
  sandbox_fork_unlock ();
}

/**
 * sandbox_agent_channel_protect:
 * @self: a channel
 * @target: an absolute path in the guest, below the workspace
 *
 * Has the agent make something read-only that the workspace has already, before any command runs. Neither it nor
 * a directory above it can be renamed or removed in the guest. Nothing runs when it is not there.
 *
 * It counts as a mount, and comes after all others.
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_protect (SandboxAgentChannel *self,
                               const char          *target)
{
  SandboxAgentChannelMount mount = { NULL, SANDBOX_AGENT_MOUNT_READ_ONLY | SANDBOX_AGENT_MOUNT_IN_PLACE, { -1, -1 } };

  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (target != NULL && target[0] == '/');
  g_return_if_fail (self->mounts->len < SANDBOX_AGENT_CHANNEL_MAX_MOUNTS);

  mount.target = g_strdup (target);
  g_array_append_val (self->mounts, mount);
}

/**
 * sandbox_agent_channel_add_memory:
 * @self: a channel with %SANDBOX_AGENT_CHANNEL_FLAGS_SLOTS
 * @target: the absolute path of a directory in the guest
 * @size: how many bytes it holds at most, or 0 for half of the memory
 *
 * Has each slot get an empty memory file system of its own there, which is gone with its command.
 *
 * There are at most %SANDBOX_AGENT_CHANNEL_MAX_MEMORIES, and none with %SANDBOX_AGENT_CHANNEL_FLAGS_SHARED.
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_add_memory (SandboxAgentChannel *self,
                                  const char          *target,
                                  guint64              size)
{
  SandboxAgentChannelMemory memory = { NULL, size };

  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (target != NULL && target[0] == '/');
  g_return_if_fail (sandbox_agent_channel_has_slots (self) && (self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_SHARED) == 0);
  g_return_if_fail (self->memories->len < SANDBOX_AGENT_CHANNEL_MAX_MEMORIES);

  memory.target = g_strdup (target);
  g_array_append_val (self->memories, memory);
}

/**
 * sandbox_agent_channel_add_rule:
 * @self: a channel
 * @path: an absolute path in the guest, no link in it
 * @access: what commands may do there and below
 *
 * Allows commands an access to files, by Landlock. What no rule allows is denied then; what a rule allows
 * still needs a mount that does.
 *
 * A rule is for whatever is at its path once the agent has made its mounts, wherever else that can be seen. Unless
 * @access has %SANDBOX_AGENT_ACCESS_OPTIONAL, no command runs when nothing is there. Without any rule, and on a
 * kernel that has no Landlock, the mounts alone count.
 *
 * There are at most %SANDBOX_AGENT_CHANNEL_MAX_RULES, and their paths have no more than
 * %SANDBOX_AGENT_CHANNEL_MAX_RULES_SIZE bytes in all.
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_add_rule (SandboxAgentChannel *self,
                                const char          *path,
                                SandboxAgentAccess   access)
{
  SandboxAgentChannelRule rule = { NULL, access };

  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (path != NULL && path[0] == '/');
  g_return_if_fail ((access & ~SANDBOX_AGENT_ACCESS_OPTIONAL) != 0);
  g_return_if_fail (self->rules->len < SANDBOX_AGENT_CHANNEL_MAX_RULES);
  g_return_if_fail (self->rules_size + strlen (path) + 1 <= SANDBOX_AGENT_CHANNEL_MAX_RULES_SIZE);

  rule.path = g_strdup (path);
  self->rules_size += strlen (path) + 1;
  g_array_append_val (self->rules, rule);
}

/**
 * sandbox_agent_channel_set_filter:
 * @self: a channel
 * @filter: which system calls commands can make
 *
 * Sets the filter of commands; without, it is %SANDBOX_FILTER_DEFAULT.
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_set_filter (SandboxAgentChannel *self,
                                  SandboxFilter        filter)
{
  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (filter >= SANDBOX_FILTER_DEFAULT && filter <= SANDBOX_FILTER_DEBUGGER);

  self->filter = filter;
}

/**
 * sandbox_agent_channel_set_owner:
 * @self: a channel
 * @uid: the uid of the commands on the host
 * @gid: their gid
 *
 * Sets who commands are on a host that is root. Their streams are made to belong to them, so that they can
 * open them again, as `/dev/stdout` does.
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_set_owner (SandboxAgentChannel *self,
                                 guint                uid,
                                 guint                gid)
{
  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));

  self->uid = uid;
  self->gid = gid;
}

/**
 * sandbox_agent_channel_take_group:
 * @self: a channel
 * @group: (transfer full): the control group of the sandbox
 *
 * Sets the control group that the child process which builds the sandbox has entered, before it started anything. It
 * goes with the channel, and whatever is in it then is killed.
 *
 * Since: 1.0
 */
void
sandbox_agent_channel_take_group (SandboxAgentChannel *self,
                                  SandboxAgentGroup   *group)
{
  g_return_if_fail (SANDBOX_IS_AGENT_CHANNEL (self));
  g_return_if_fail (SANDBOX_IS_AGENT_GROUP (group));
  g_return_if_fail (self->group == NULL);

  self->group = group;
}

SandboxAgentGroup *
sandbox_agent_channel_get_group (SandboxAgentChannel *self)
{
  return self->group;
}

gboolean
sandbox_agent_channel_own_fd (SandboxAgentChannel *self,
                              int                  fd)
{
  return self->uid == G_MAXUINT || fchown (fd, self->uid, self->gid) == 0;
}

int
sandbox_agent_channel_get_socket (SandboxAgentChannel *self)
{
  return self->socket_fd;
}

gboolean
sandbox_agent_channel_has_slots (SandboxAgentChannel *self)
{
  return (self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_SLOTS) != 0;
}

guint
sandbox_agent_channel_get_n_doors (SandboxAgentChannel *self)
{
  if ((self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_DOOR) == 0)
    return 0;

  return (self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_LOOPBACK_DOOR) != 0 ? 2 : 1;
}

void
sandbox_agent_channel_set_doors (SandboxAgentChannel *self,
                                 SandboxAgentDoors   *doors)
{
  self->doors = sandbox_agent_doors_ref (doors);
}

SandboxAgentDoors *
sandbox_agent_channel_get_doors (SandboxAgentChannel *self)
{
  return self->doors;
}

void
sandbox_agent_channel_limit_unread (SandboxAgentChannel *self)
{
  const int size = UNREAD_MAX;

  setsockopt (self->socket_fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

SandboxAgentChannel *
sandbox_agent_channel_arm (SandboxAgentChannel *self,
                           GError             **error)
{
  SandboxAgentPacket   packet = { .type = SANDBOX_AGENT_ARM, .n_fds = 1 };
  SandboxAgentChannel *slot = NULL;
  char                 buffer[64];
  int                  sockets[2];
  gboolean             sent = FALSE;

  /* No child is forked that would keep a slot from its end. */
  sandbox_fork_lock ();
  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
    {
      sandbox_fork_unlock ();
      sandbox_set_error_from_errno (error, errno, "Cannot make a socket for a command");
      return NULL;
    }
  slot = g_object_new (SANDBOX_TYPE_AGENT_CHANNEL, NULL);
  slot->socket_fd = sockets[0];
  sandbox_fork_watch (&slot->socket_fd);
  packet.fds[0] = sockets[1];
  sent = sandbox_agent_send (self->socket_fd, &packet, buffer, sizeof buffer);
  sandbox_fork_unlock ();
  if (!sent && errno == EAGAIN)
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK, "The sandbox of the session has to make other slots first");
  else if (!sent)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox of the session cannot be asked for a slot: %s", g_strerror (errno));
  sandbox_close_fd (sockets[1]);
  slot->sandbox = g_object_ref (self);
  slot->uid = self->uid;
  slot->gid = self->gid;
  if (!sent)
    g_clear_object (&slot);

  return slot;
}

gboolean
sandbox_agent_channel_is_dead (SandboxAgentChannel *self)
{
  struct pollfd polls[] = { { self->socket_fd, 0, 0 }, { self->sandbox != NULL ? self->sandbox->socket_fd : -1, 0, 0 } };

  return poll (polls, G_N_ELEMENTS (polls), 0) != 0;
}

gboolean
sandbox_agent_channel_has_news (SandboxAgentChannel *self)
{
  struct pollfd polled = { self->socket_fd, POLLIN, 0 };

  return poll (&polled, 1, 0) > 0 && (polled.revents & POLLIN) != 0;
}

gboolean
sandbox_agent_channel_send_setup (SandboxAgentChannel *self,
                                  GError             **error)
{
  const gboolean slots = sandbox_agent_channel_has_slots (self);
  const gboolean forbid_set_id = (self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_SET_ID) != 0;
  g_autoptr (GBytes) filter = NULL;
  g_autoptr (GBytes) slot_filter = NULL;
  g_autofree char   *buffer = NULL;
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_SETUP };
  gsize              size = 0;

  if (self->sandbox != NULL)
    return TRUE;

  filter = sandbox_agent_filter_get (self->filter, forbid_set_id, slots ? SANDBOX_AGENT_FILTER_OF_SESSION : SANDBOX_AGENT_FILTER_WHOLE, error);
  if (filter != NULL && slots)
    slot_filter = sandbox_agent_filter_get (self->filter, forbid_set_id, SANDBOX_AGENT_FILTER_OF_SLOT, error);
  if (filter == NULL || (slots && slot_filter == NULL))
    return FALSE;

  if ((self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_USERNS) != 0)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_FORBID_USERNS;
  if ((self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_PRIVATE_DEVPTS) != 0)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS;
  if ((self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_NO_PROC) != 0)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_NO_PROC;
  if ((self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_SHUT_PROC) != 0)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_SHUT_PROC;
  if ((self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_BOUND_NAMES) != 0)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_BOUND_NAMES;
  if (slots)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_SLOTS;
  /* That kind leaves nobody to set limits, which a slot does for its command. */
  if (slots && self->filter == SANDBOX_FILTER_STRICT)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_LATE_FILTER;
  if ((self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_SHARED) != 0)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_SHARED;
  if ((self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_DOOR) != 0)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_DOOR;
  if ((self->flags & SANDBOX_AGENT_CHANNEL_FLAGS_LOOPBACK_DOOR) != 0)
    packet.setup.flags |= SANDBOX_AGENT_SETUP_LOOPBACK_DOOR;
  packet.setup.workspace = self->workspace_target;
  packet.setup.workspace_device = self->workspace_device;
  packet.setup.workspace_inode = self->workspace_inode;
  packet.setup.filter = g_bytes_get_data (filter, &size);
  packet.setup.n_instructions = size / SANDBOX_AGENT_INSTRUCTION_SIZE;
  if (slots)
    {
      packet.setup.slot_filter = g_bytes_get_data (slot_filter, &size);
      packet.setup.n_slot_instructions = size / SANDBOX_AGENT_INSTRUCTION_SIZE;
    }
  packet.setup.n_mounts = self->mounts->len;
  for (guint i = 0; i < self->mounts->len; i++)
    {
      const SandboxAgentChannelMount *mount = &g_array_index (self->mounts, SandboxAgentChannelMount, i);

      packet.setup.mounts[i].target = mount->target;
      packet.setup.mounts[i].flags = mount->flags;
      for (guint j = 0; j < G_N_ELEMENTS (mount->fds); j++)
        if (mount->fds[j] >= 0)
          packet.fds[packet.n_fds++] = mount->fds[j];
    }
  packet.setup.n_memories = self->memories->len;
  for (guint i = 0; i < self->memories->len; i++)
    {
      const SandboxAgentChannelMemory *memory = &g_array_index (self->memories, SandboxAgentChannelMemory, i);

      packet.setup.memories[i] = (SandboxAgentMemory){ memory->target, memory->size };
    }
  packet.setup.n_rules = self->rules->len;
  for (guint i = 0; i < self->rules->len; i++)
    {
      const SandboxAgentChannelRule *rule = &g_array_index (self->rules, SandboxAgentChannelRule, i);

      packet.setup.rules[i] = (SandboxAgentRule){ rule->path, rule->access };
    }
  if (self->lock_fd >= 0)
    {
      packet.setup.flags |= SANDBOX_AGENT_SETUP_HOLD_LOCK;
      packet.fds[packet.n_fds++] = self->lock_fd;
    }

  buffer = g_malloc (SANDBOX_AGENT_PACKET_MAX);
  /* An agent that is gone already is told by the end of the socket, with the reason. */
  if (!sandbox_agent_send (self->socket_fd, &packet, buffer, SANDBOX_AGENT_PACKET_MAX) &&
      errno != EPIPE && errno != ECONNRESET)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "The agent cannot be told what to prepare: %s", g_strerror (errno));
      return FALSE;
    }
  g_array_set_size (self->mounts, 0);
  /* It is the agent's alone, or is on its way there: nobody else keeps the session from its next owner. */
  sandbox_fork_close (&self->lock_fd);

  return TRUE;
}

void
sandbox_agent_channel_silence (SandboxAgentChannel *self)
{
  shutdown (self->socket_fd, SHUT_RD);
}

void
sandbox_agent_channel_hang_up (SandboxAgentChannel *self)
{
  shutdown (self->socket_fd, SHUT_RDWR);
}

void
sandbox_agent_channel_kill (SandboxAgentChannel *self)
{
  /* Each way may be too early or not allowed: the agent ends when the socket does, the launcher's death takes along what
   * it has built, and a group all that is in it. The descriptors stay: others may be using them. */
  sandbox_agent_channel_hang_up (self);
  if (self->group != NULL)
    sandbox_agent_group_kill (self->group);
  if (self->launcher_fd >= 0)
    sandbox_agent_channel_kill_launcher (self->launcher_fd);
}

typedef struct
{
  SandboxAgentChannel *channel;
  GSourceFunc          func;
  gpointer             data;
  GDestroyNotify       notify;
} LauncherWatch;

static void
launcher_watch_free (gpointer data)
{
  LauncherWatch *watch = data;

  watch->notify (watch->data);
  g_object_unref (watch->channel);
  g_free (watch);
}

static gboolean
sandbox_agent_channel_launcher_ended_cb (int          fd,
                                         GIOCondition condition,
                                         gpointer     user_data)
{
  LauncherWatch *watch = user_data;

  /* A host that ignores SIGCHLD gets no status; that it is over is all that counts. */
  if (!sandbox_agent_channel_reap (fd, &watch->channel->launcher_end))
    watch->channel->launcher_end.si_pid = -1;
  watch->func (watch->data);

  return G_SOURCE_REMOVE;
}

gboolean
sandbox_agent_channel_watch_launcher (SandboxAgentChannel *self,
                                      GSourceFunc          func,
                                      gpointer             data,
                                      GDestroyNotify       notify)
{
  g_autoptr (GSource) source = NULL;
  LauncherWatch *watch = NULL;

  if (self->launcher_fd < 0)
    {
      notify (data);
      return FALSE;
    }

  watch = g_new (LauncherWatch, 1);
  watch->channel = g_object_ref (self);
  watch->func = func;
  watch->data = data;
  watch->notify = notify;
  source = sandbox_worker_watch_fd (self->launcher_fd, sandbox_agent_channel_launcher_ended_cb, watch, launcher_watch_free);

  return TRUE;
}

gboolean
sandbox_agent_channel_launcher_was_killed (SandboxAgentChannel *self)
{
  return self->launcher_end.si_pid > 0 && self->launcher_end.si_code != CLD_EXITED;
}

/* What somebody said, as one line of text. */
static char *
sandbox_agent_channel_read_words (SandboxAgentChannel *self)
{
  char             words[WORDS_MAX];
  ssize_t          size = self->words_fd >= 0 ? read (self->words_fd, words, sizeof words) : 0;
  g_autofree char *text = NULL;

  if (size <= 0)
    return NULL;

  text = g_utf8_make_valid (words, size);
  for (char *at = text; *at != '\0'; at = g_utf8_next_char (at))
    if (g_ascii_iscntrl (*at))
      *at = ' ';
  g_strstrip (text);

  return text[0] != '\0' ? g_steal_pointer (&text) : NULL;
}

char *
sandbox_agent_channel_describe_end (SandboxAgentChannel *self)
{
  g_autofree char *words = sandbox_agent_channel_read_words (self);
  g_autofree char *end = NULL;

  if (self->launcher_end.si_pid <= 0)
    end = g_strdup ("its end is unknown");
  else if (self->launcher_end.si_code == CLD_EXITED)
    end = g_strdup_printf ("exit status %d", self->launcher_end.si_status);
  else
    end = g_strdup_printf ("signal %d", self->launcher_end.si_status);

  return words != NULL ? g_strdup_printf ("%s; it said “%s”", end, words) : g_steal_pointer (&end);
}

GError *
sandbox_agent_channel_make_end_error (SandboxAgentChannel *self,
                                      gboolean             said_hello)
{
  g_autofree char *end = NULL;

  if (self->sandbox != NULL)
    return g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                                "The sandbox of the session ended before the command started");

  end = sandbox_agent_channel_describe_end (self);

  return g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                      said_hello ? "The sandbox ended before its command started (%s)"
                                 : "The sandbox could not be built (step: launcher): %s",
                      end);
}
