/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-start.h"

#include "sandbox-bubblewrap-fd.h"
#include "sandbox-bubblewrap-rules.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What one start hands on. Nothing of it is held between two: what a session at rest holds counts where there are many. */
typedef struct
{
  int workspace_fd; /* of an overlay the directory that has its upper layer */
  int lower_fd;     /* of an overlay what is below, or -1 */
  int agent_socket;
  int words_fd;
  int group_fd; /* or -1 */
  int arguments_fd;
  int file_fds[SANDBOX_BUBBLEWRAP_N_FILES]; /* -1 for that of the agent */
} SandboxBubblewrapHanded;

static void
sandbox_bubblewrap_handed_init (SandboxBubblewrapHanded *handed)
{
  handed->workspace_fd = handed->lower_fd = handed->agent_socket = handed->words_fd = handed->group_fd = handed->arguments_fd = -1;
  for (guint i = 0; i < G_N_ELEMENTS (handed->file_fds); i++)
    handed->file_fds[i] = -1;
}

static void
sandbox_bubblewrap_handed_clear (SandboxBubblewrapHanded *handed)
{
  sandbox_bubblewrap_fd_clear (&handed->workspace_fd);
  sandbox_bubblewrap_fd_clear (&handed->lower_fd);
  sandbox_bubblewrap_fd_clear (&handed->agent_socket);
  sandbox_bubblewrap_fd_clear (&handed->words_fd);
  sandbox_bubblewrap_fd_clear (&handed->group_fd);
  sandbox_bubblewrap_fd_clear (&handed->arguments_fd);
  for (guint i = 0; i < G_N_ELEMENTS (handed->file_fds); i++)
    sandbox_bubblewrap_fd_clear (&handed->file_fds[i]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxBubblewrapHanded, sandbox_bubblewrap_handed_clear)

/* A file for bwrap alone, which reads it from its beginning. */
static int
sandbox_bubblewrap_start_new_file (const char *name,
                                   GBytes     *bytes)
{
  g_auto (SandboxBubblewrapFd) fd = memfd_create (name, MFD_CLOEXEC);
  gsize       size = 0;
  const void *data = g_bytes_get_data (bytes, &size);

  if (fd < 0 || pwrite (fd, data, size, 0) != (gssize) size)
    return -1;

  return fcntl (fd, F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD);
}

static gboolean
sandbox_bubblewrap_start_open_files (SandboxBubblewrapLaunch *launch,
                                     gboolean                 share_network,
                                     SandboxBubblewrapHanded *handed,
                                     GError                 **error)
{
  gboolean opened = FALSE;

  handed->arguments_fd = sandbox_bubblewrap_start_new_file ("arguments", launch->arguments[share_network ? 1 : 0]);
  opened = handed->arguments_fd >= 0;
  for (guint i = 0; opened && i < SANDBOX_BUBBLEWRAP_N_FILES; i++)
    if (launch->files[i] != NULL)
      {
        handed->file_fds[i] = sandbox_bubblewrap_start_new_file ("file", launch->files[i]);
        opened = handed->file_fds[i] >= 0;
      }
  if (!opened)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox could not be built (step: files): %s", g_strerror (errno));

  return opened;
}

/* What is at a step that binds something of the profile's, or the workspace. */
static SandboxBubblewrapSource
sandbox_bubblewrap_start_get_source (SandboxBubblewrapLaunch       *launch,
                                     const SandboxBubblewrapHanded *handed,
                                     const SandboxBubblewrapStep   *step)
{
  if (step->origin == SANDBOX_BUBBLEWRAP_ORIGIN_WORKSPACE)
    return (SandboxBubblewrapSource){ .fd = handed->workspace_fd, .map_fd = launch->identity->map_fd };

  return g_array_index (launch->sources->mounts, SandboxBubblewrapSource, step->index);
}

/* Of what others read too, one that is opened anew in the child, for an offset of its own */
static void
sandbox_bubblewrap_start_add_shared_file (posix_spawn_file_actions_t *actions,
                                          int                         fd,
                                          int                         number)
{
  char path[64];

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  posix_spawn_file_actions_addopen (actions, number, path, O_RDONLY, 0);
}

/* What bwrap gets, by number. All of it comes from above those numbers, so none is lost while they are filled. */
static void
sandbox_bubblewrap_start_add_descriptors (SandboxBubblewrapLaunch       *launch,
                                          const SandboxBubblewrapHanded *handed,
                                          posix_spawn_file_actions_t    *actions)
{
  posix_spawn_file_actions_addopen (actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2 (actions, handed->words_fd, 1);
  posix_spawn_file_actions_adddup2 (actions, handed->words_fd, 2);
  posix_spawn_file_actions_adddup2 (actions, handed->agent_socket, SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET);
  posix_spawn_file_actions_adddup2 (actions, launch->bwrap->fd, SANDBOX_BUBBLEWRAP_FD_BWRAP);
  posix_spawn_file_actions_adddup2 (actions, handed->arguments_fd, SANDBOX_BUBBLEWRAP_FD_ARGUMENTS);
  for (int i = 0; i < SANDBOX_BUBBLEWRAP_N_FILES; i++)
    if (i == SANDBOX_BUBBLEWRAP_FILE_AGENT)
      sandbox_bubblewrap_start_add_shared_file (actions, launch->agent->fd, SANDBOX_BUBBLEWRAP_FD_FILES + i);
    else
      posix_spawn_file_actions_adddup2 (actions, handed->file_fds[i], SANDBOX_BUBBLEWRAP_FD_FILES + i);
  for (guint i = 0; i < launch->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = launch->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_BIND && step->bind == SANDBOX_BUBBLEWRAP_BIND_BY_FD)
        posix_spawn_file_actions_adddup2 (actions, sandbox_bubblewrap_start_get_source (launch, handed, step).fd,
                                          SANDBOX_BUBBLEWRAP_FD_SLOTS + (int) step->slot);
    }
  /* The agent's own, closed before bwrap */
  if (handed->group_fd >= 0)
    posix_spawn_file_actions_adddup2 (actions, handed->group_fd, SANDBOX_BUBBLEWRAP_FD_SLOTS + (int) launch->plan->n_slots);
}

static gboolean
sandbox_bubblewrap_start_spawn (SandboxBubblewrapLaunch       *launch,
                                const SandboxBubblewrapHanded *handed,
                                pid_t                         *pid,
                                GError                       **error)
{
  SandboxBubblewrapIdentity *identity = launch->identity;
  g_autofree char           *parent = g_strdup_printf ("%d", (int) getpid ());
  g_autofree char           *uid = identity->uid == G_MAXUINT ? g_strdup ("-1") : g_strdup_printf ("%u", identity->uid);
  g_autofree char           *gid = identity->gid == G_MAXUINT ? g_strdup ("-1") : g_strdup_printf ("%u", identity->gid);
  g_autofree char           *program = g_strdup_printf ("%d", SANDBOX_BUBBLEWRAP_FD_BWRAP);
  g_autofree char           *keep = g_strdup_printf ("%u", SANDBOX_BUBBLEWRAP_FD_SLOTS + launch->plan->n_slots - SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET);
  g_autofree char           *group = g_strdup_printf ("%d", handed->group_fd < 0 ? -1 : (int) (SANDBOX_BUBBLEWRAP_FD_SLOTS + launch->plan->n_slots));
  g_autofree char           *arguments = g_strdup_printf ("%d", SANDBOX_BUBBLEWRAP_FD_ARGUMENTS);
  g_autofree char           *socket_number = g_strdup_printf ("%d", SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET);
  const char *const          argv[] = {
             "sandbox-agent", "launch", parent, uid, gid, program, keep, group,
             "bwrap", "--args", arguments, "--", SANDBOX_BUBBLEWRAP_AGENT, "init", socket_number, NULL
  };
  posix_spawn_file_actions_t actions;
  int                        failure = 0;

  posix_spawn_file_actions_init (&actions);
  sandbox_bubblewrap_start_add_descriptors (launch, handed, &actions);
  failure = sandbox_bubblewrap_program_spawn_agent (launch->agent->fd, &actions, argv, pid);
  posix_spawn_file_actions_destroy (&actions);
  if (failure == 0)
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The sandbox could not be built (step: launcher): the agent “%s” cannot be started: %s",
               launch->agent->path, g_strerror (failure));

  return FALSE;
}

static gboolean
sandbox_bubblewrap_start_add_overlay (SandboxBubblewrapLaunch       *launch,
                                      const SandboxBubblewrapHanded *handed,
                                      SandboxAgentChannel           *channel,
                                      GError                       **error)
{
  g_auto (SandboxBubblewrapFd) lower_fd = -1;
  g_auto (SandboxBubblewrapFd) base_fd = -1;

  if (launch->overlay_lower == NULL)
    {
      lower_fd = sandbox_bubblewrap_identity_mount (launch->identity->map_fd, handed->lower_fd, TRUE, error);
      if (lower_fd < 0)
        return FALSE;
      base_fd = sandbox_bubblewrap_identity_mount (launch->identity->map_fd, handed->workspace_fd, FALSE, error);
      if (base_fd < 0)
        return FALSE;
    }
  sandbox_agent_channel_take_overlay (channel, launch->workspace_target, g_steal_fd (&lower_fd), g_steal_fd (&base_fd));

  return TRUE;
}

/* What bwrap, which is not root, cannot come to. */
static gboolean
sandbox_bubblewrap_start_add_mounts (SandboxBubblewrapLaunch       *launch,
                                     const SandboxBubblewrapHanded *handed,
                                     SandboxAgentChannel           *channel,
                                     GError                       **error)
{
  for (guint i = 0; i < launch->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = launch->plan->steps->pdata[i];
      SandboxBubblewrapSource      source;
      int                          mount_fd = -1;

      if (step->kind != SANDBOX_BUBBLEWRAP_STEP_BIND || step->bind != SANDBOX_BUBBLEWRAP_BIND_BY_AGENT)
        continue;
      if (step->origin == SANDBOX_BUBBLEWRAP_ORIGIN_WORKSPACE && launch->has_overlay)
        {
          if (!sandbox_bubblewrap_start_add_overlay (launch, handed, channel, error))
            return FALSE;
          continue;
        }
      source = sandbox_bubblewrap_start_get_source (launch, handed, step);
      mount_fd = sandbox_bubblewrap_identity_mount (source.map_fd, source.fd, step->read_only, error);
      if (mount_fd < 0)
        return FALSE;
      sandbox_agent_channel_take_mount (channel, step->target, mount_fd, step->read_only);
    }

  /* The workspace has to be there before. */
  for (guint i = 0; i < launch->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = launch->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_PROTECT && !launch->manner.is_probe)
        sandbox_agent_channel_protect (channel, step->target);
    }

  return TRUE;
}

/* A mount of the profile's in the place of a memory file system is the host's. */
static gboolean
sandbox_bubblewrap_start_owns_memory (SandboxBubblewrapLaunch *launch)
{
  for (guint i = 0; i < launch->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = launch->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_BIND && (g_str_equal (step->target, "/tmp") || g_str_equal (step->target, "/dev/shm")))
        return FALSE;
    }

  return TRUE;
}

/* The memory file systems that commands can write to. */
static void
sandbox_bubblewrap_start_add_memories (SandboxBubblewrapLaunch *launch,
                                       SandboxAgentChannel     *channel)
{
  for (guint i = 0; i < launch->plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = launch->plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_MEMORY && step->sticky)
        sandbox_agent_channel_add_memory (channel, step->target, step->size);
    }
}

SandboxAgentChannel *
sandbox_bubblewrap_start (SandboxBubblewrapLaunch            *launch,
                          const SandboxBubblewrapStartManner *manner,
                          GError                            **error)
{
  SandboxAgentGroup *group = manner->group;
  g_autoptr (SandboxAgentChannel) channel = NULL;
  g_auto (SandboxBubblewrapHanded) handed;
  int                      sockets[2] = { -1, -1 };
  int                      words[2] = { -1, -1 };
  int                      pid_fd = -1;
  int                      lock_fd = -1;
  pid_t                    pid = -1;
  gboolean                 spawned = FALSE;
  SandboxAgentChannelFlags flags = SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_SET_ID;

  sandbox_bubblewrap_handed_init (&handed);
  /* Without capabilities the agent mounts and forbids nothing. */
  if (!launch->set_user_id)
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_PRIVATE_DEVPTS | SANDBOX_AGENT_CHANNEL_FLAGS_SHUT_PROC;
  if (!launch->set_user_id && sandbox_bubblewrap_start_owns_memory (launch))
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_BOUND_NAMES;
  if (launch->manner.forbid_userns && !launch->set_user_id)
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_USERNS;
  /* or one that is read-only */
  if (launch->manner.proc != SANDBOX_PROC_MODE_FRESH || launch->sources->seal_proc)
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_NO_PROC;
  if (sandbox_bubblewrap_network_has_door (manner->network))
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_DOOR;
  if (manner->network == SANDBOX_BUBBLEWRAP_NETWORK_GATEWAY_LOOPBACK)
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_LOOPBACK_DOOR;
  if (manner->slots)
    flags |= SANDBOX_AGENT_CHANNEL_FLAGS_SLOTS | (manner->is_shared ? SANDBOX_AGENT_CHANNEL_FLAGS_SHARED : 0);

  if (!sandbox_workspace_check (launch->workspace, error) ||
      !sandbox_bubblewrap_sources_check (launch->sources, error) ||
      !sandbox_bubblewrap_launch_open_workspace (launch, &handed.workspace_fd, &handed.lower_fd, error) ||
      !sandbox_bubblewrap_start_open_files (launch, manner->network == SANDBOX_BUBBLEWRAP_NETWORK_HOST, &handed, error) ||
      !sandbox_workspace_lend_alive (launch->workspace, &lock_fd, error))
    return NULL;

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0 ||
      pipe2 (words, O_CLOEXEC | O_NONBLOCK) < 0 ||
      (handed.agent_socket = fcntl (sockets[1], F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD)) < 0 ||
      (handed.words_fd = fcntl (words[1], F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD)) < 0 ||
      (group != NULL && (handed.group_fd = fcntl (sandbox_agent_group_get_fd (group), F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD)) < 0))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox could not be built (step: descriptors): %s", g_strerror (errno));
  else
    spawned = sandbox_bubblewrap_start_spawn (launch, &handed, &pid, error);
  /* Their end is told by the last who has them. */
  sandbox_bubblewrap_fd_close (sockets[1]);
  sandbox_bubblewrap_fd_close (words[1]);
  sandbox_bubblewrap_fd_clear (&handed.agent_socket);
  sandbox_bubblewrap_fd_clear (&handed.words_fd);

  /* Our own child, not yet waited for: the number is still its. */
  if (spawned)
    pid_fd = (int) syscall (SYS_pidfd_open, pid, 0);
  if (pid_fd >= 0)
    {
      channel = sandbox_agent_channel_new_take_fd (sockets[0], flags);
      sandbox_agent_channel_take_launcher (channel, pid_fd, words[0]);
      sandbox_agent_channel_take_lock (channel, &lock_fd);
      if (group != NULL)
        sandbox_agent_channel_take_group (channel, g_object_ref (group));
      if (launch->identity->uid != G_MAXUINT)
        sandbox_agent_channel_set_owner (channel, launch->identity->uid, launch->identity->gid);
      sandbox_agent_channel_set_workspace (channel, launch->workspace_target, launch->workspace_device, launch->workspace_inode);
      sandbox_agent_channel_set_filter (channel, launch->filter);
      if (manner->slots && !manner->is_shared)
        sandbox_bubblewrap_start_add_memories (launch, channel);
      for (guint i = 0; i < launch->rules->len; i++)
        {
          const SandboxBubblewrapRule *rule = &g_array_index (launch->rules, SandboxBubblewrapRule, i);

          sandbox_agent_channel_add_rule (channel, rule->path, rule->access);
        }
      /* On failure the channel ends what has been started. */
      return sandbox_bubblewrap_start_add_mounts (launch, &handed, channel, error) ? g_steal_pointer (&channel) : NULL;
    }

  if (spawned)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The sandbox could not be built (step: launcher): %s", g_strerror (errno));
  sandbox_bubblewrap_fd_close (sockets[0]);
  sandbox_bubblewrap_fd_close (words[0]);
  sandbox_workspace_return_alive (&lock_fd);

  return NULL;
}
