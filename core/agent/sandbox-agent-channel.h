/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-agent-group.h"
#include "sandbox-filter.h"
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxAgentChannelFlags:
 * @SANDBOX_AGENT_CHANNEL_FLAGS_NONE: nothing
 * @SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_USERNS: the agent forbids further user namespaces
 * @SANDBOX_AGENT_CHANNEL_FLAGS_PRIVATE_DEVPTS: the agent mounts a devpts of its own on `/dev/pts`
 * @SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_SET_ID: commands cannot make files set-user-ID or set-group-ID; for
 *   workspaces whose files belong to a user of the host
 * @SANDBOX_AGENT_CHANNEL_FLAGS_NO_PROC: the sandbox has no procfs, and gets none
 * @SANDBOX_AGENT_CHANNEL_FLAGS_SHUT_PROC: of `/proc` commands can write what is about processes and nothing else, and the
 *   keys of their user are not shown
 * @SANDBOX_AGENT_CHANNEL_FLAGS_BOUND_NAMES: the memory file systems `/tmp` and `/dev/shm` have no more files than pages
 * @SANDBOX_AGENT_CHANNEL_FLAGS_SLOTS: the agent runs any number of commands, each in a slot: in namespaces of its own, used once
 * @SANDBOX_AGENT_CHANNEL_FLAGS_SHARED: the slots share `/tmp`, `/dev/shm`, terminals and System V IPC of the sandbox; only with
 *   %SANDBOX_AGENT_CHANNEL_FLAGS_SLOTS
 * @SANDBOX_AGENT_CHANNEL_FLAGS_DOOR: the sandbox has a door to the gateway at %SANDBOX_GATEWAY_PATH; there has to be a directory for
 *   it that is empty. No command runs without it, and [class@Sandbox.AgentDriver] gives it to the gateway
 * @SANDBOX_AGENT_CHANNEL_FLAGS_LOOPBACK_DOOR: another one at %SANDBOX_GATEWAY_PORT of a loopback that is the sandbox's own; only with
 *   %SANDBOX_AGENT_CHANNEL_FLAGS_DOOR
 *
 * What an agent prepares before it starts a command.
 *
 * Since: 1.0
 */
typedef enum /*< flags >*/
{
  SANDBOX_AGENT_CHANNEL_FLAGS_NONE = 0,
  SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_USERNS = 1 << 0,
  SANDBOX_AGENT_CHANNEL_FLAGS_PRIVATE_DEVPTS = 1 << 1,
  SANDBOX_AGENT_CHANNEL_FLAGS_FORBID_SET_ID = 1 << 2,
  SANDBOX_AGENT_CHANNEL_FLAGS_NO_PROC = 1 << 3,
  SANDBOX_AGENT_CHANNEL_FLAGS_SHUT_PROC = 1 << 4,
  SANDBOX_AGENT_CHANNEL_FLAGS_BOUND_NAMES = 1 << 5,
  SANDBOX_AGENT_CHANNEL_FLAGS_SLOTS = 1 << 6,
  SANDBOX_AGENT_CHANNEL_FLAGS_SHARED = 1 << 7,
  SANDBOX_AGENT_CHANNEL_FLAGS_DOOR = 1 << 8,
  SANDBOX_AGENT_CHANNEL_FLAGS_LOOPBACK_DOOR = 1 << 9,
} SandboxAgentChannelFlags;

/**
 * SandboxAgentAccess:
 * @SANDBOX_AGENT_ACCESS_NONE: nothing
 * @SANDBOX_AGENT_ACCESS_LIST: list directories
 * @SANDBOX_AGENT_ACCESS_READ: list directories, read files and execute them
 * @SANDBOX_AGENT_ACCESS_PROC: that, and write to files that are there; for a procfs
 * @SANDBOX_AGENT_ACCESS_WRITE: everything
 * @SANDBOX_AGENT_ACCESS_DEVICE: list directories, read, write and control devices, but execute nothing
 * @SANDBOX_AGENT_ACCESS_OPTIONAL: no access; nothing need be at the path
 *
 * What a command may do with the files at a path and below.
 *
 * Since: 1.0
 */
typedef enum /*< flags >*/
{
  SANDBOX_AGENT_ACCESS_NONE = 0,
  SANDBOX_AGENT_ACCESS_LIST = 1 << 0,
  SANDBOX_AGENT_ACCESS_READ = 1 << 1,
  SANDBOX_AGENT_ACCESS_PROC = 1 << 2,
  SANDBOX_AGENT_ACCESS_WRITE = 1 << 3,
  SANDBOX_AGENT_ACCESS_DEVICE = 1 << 4,
  SANDBOX_AGENT_ACCESS_OPTIONAL = 1 << 5,
} SandboxAgentAccess;

/**
 * SANDBOX_AGENT_CHANNEL_MAX_MOUNTS:
 *
 * How many mounts an agent takes.
 *
 * Since: 1.0
 */
#define SANDBOX_AGENT_CHANNEL_MAX_MOUNTS 8

/**
 * SANDBOX_AGENT_CHANNEL_MAX_MEMORIES:
 *
 * How many memory file systems each slot of an agent has of its own.
 *
 * Since: 1.0
 */
#define SANDBOX_AGENT_CHANNEL_MAX_MEMORIES 4

/**
 * SANDBOX_AGENT_CHANNEL_MAX_RULES:
 *
 * How many rules for files an agent takes.
 *
 * Since: 1.0
 */
#define SANDBOX_AGENT_CHANNEL_MAX_RULES 96

/**
 * SANDBOX_AGENT_CHANNEL_MAX_RULES_SIZE:
 *
 * How many bytes the paths of all rules for files may have, each with one more for its end.
 *
 * Since: 1.0
 */
#define SANDBOX_AGENT_CHANNEL_MAX_RULES_SIZE 32768

/**
 * SANDBOX_AGENT_CHANNEL_OVERLAY_LOWER:
 *
 * Where an agent finds the directory whose files an overlay shows, when it gets no descriptor of it.
 *
 * Since: 1.0
 */
#define SANDBOX_AGENT_CHANNEL_OVERLAY_LOWER "/run/sandbox-lower"

/**
 * SANDBOX_AGENT_CHANNEL_OVERLAY_BASE:
 *
 * Where an agent finds the directory that has `upper` and `work`, when it gets no descriptor of it.
 *
 * Since: 1.0
 */
#define SANDBOX_AGENT_CHANNEL_OVERLAY_BASE "/run/sandbox-base"

#define SANDBOX_TYPE_AGENT_CHANNEL (sandbox_agent_channel_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxAgentChannel, sandbox_agent_channel, SANDBOX, AGENT_CHANNEL, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxAgentChannel *sandbox_agent_channel_new_take_fd (int                      socket_fd,
                                                        SandboxAgentChannelFlags flags) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_set_workspace (SandboxAgentChannel *self,
                                          const char          *target,
                                          guint64              device,
                                          guint64              inode);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_take_mount (SandboxAgentChannel *self,
                                       const char          *target,
                                       int                  mount_fd,
                                       gboolean             read_only);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_take_overlay (SandboxAgentChannel *self,
                                         const char          *target,
                                         int                  lower_fd,
                                         int                  base_fd);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_add_memory (SandboxAgentChannel *self,
                                       const char          *target,
                                       guint64              size);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_protect (SandboxAgentChannel *self,
                                    const char          *target);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_add_rule (SandboxAgentChannel *self,
                                     const char          *path,
                                     SandboxAgentAccess   access);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_set_filter (SandboxAgentChannel *self,
                                       SandboxFilter        filter);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_set_owner (SandboxAgentChannel *self,
                                      guint                uid,
                                      guint                gid);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_take_launcher (SandboxAgentChannel *self,
                                          int                  pid_fd,
                                          int                  words_fd);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_take_lock (SandboxAgentChannel *self,
                                      int                 *lock_fd);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_channel_take_group (SandboxAgentChannel *self,
                                       SandboxAgentGroup   *group);

G_END_DECLS
