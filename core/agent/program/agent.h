/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the agent. No allocation, no streams of stdio, no threads: what it needs lies in static memory or on the stack. */
#pragma once

#include "sandbox-agent-protocol.h"

#include <sys/types.h>

#define AGENT_EXIT_FAILURE 125

/* What the kernel's headers would say; musl-gcc does not see them. */
#define AGENT_RESOLVE_NO_XDEV 0x01
#define AGENT_RESOLVE_NO_MAGICLINKS 0x02
#define AGENT_RESOLVE_NO_SYMLINKS 0x04
#define AGENT_RESOLVE_BENEATH 0x08
#define AGENT_OPEN_TREE_CLONE 0x01
#define AGENT_RECURSIVE 0x8000
#define AGENT_TMPFS_MAGIC 0x01021994
#define AGENT_MOUNT_ATTR_RDONLY 0x01
#define AGENT_MOUNT_ATTR_NOSUID 0x02
#define AGENT_MOUNT_ATTR_NODEV 0x04
#define AGENT_MOVE_MOUNT_F_EMPTY_PATH 0x04
#define AGENT_MOVE_MOUNT_T_EMPTY_PATH 0x40
#define AGENT_CLOSE_RANGE_CLOEXEC 0x04
#define AGENT_SECCOMP_MODE_FILTER 2

struct agent_open_how
{
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};

struct agent_mount_attr
{
  uint64_t attr_set;
  uint64_t attr_clr;
  uint64_t propagation;
  uint64_t userns_fd;
};

struct agent_sock_filter
{
  uint16_t code;
  uint8_t  jt;
  uint8_t  jf;
  uint32_t k;
};

struct agent_sock_fprog
{
  unsigned short            len;
  struct agent_sock_filter *filter;
};

_Static_assert(sizeof (struct agent_sock_filter) == SANDBOX_AGENT_INSTRUCTION_SIZE, "an instruction of the protocol");

/* What all commands of a sandbox share, made by SETUP. */
typedef struct
{
  int                     workspace_fd; /* O_PATH */
  int                     ruleset_fd;   /* -1: none */
  struct agent_sock_fprog filter;
} AgentSession;

/* One command on its way to exec, or running. */
typedef struct
{
  pid_t leader;
  int   report_fd; /* ends when exec succeeded or the child died */
} AgentCommand;

/* common.c: failures leave errno */
/* default dispositions and the mask for all 64 signals, also those that libc keeps for itself */
bool agent_reset_signals (void);
bool agent_set_signal_mask (uint64_t blocked);
/* an O_PATH descriptor, reached without following any link */
int agent_open_path (int         directory_fd,
                     const char *path,
                     uint64_t    resolve);
/* empties one process's capability sets */
bool agent_clear_capabilities (void);
/* effective, permitted, inheritable; then the same for capabilities from 32 on */
bool agent_get_capabilities (uint32_t sets[6]);
bool agent_parse_number (const char *text,
                         long        minimum,
                         long        maximum,
                         long       *number);

/* layers.c: failures leave errno, or fill in @failed */
/* empties the capability sets, and nothing can be gained again by exec: not by set-id files, file capabilities or uid 0 */
bool agent_drop_privileges (void);
/* makes what commands may do with files; -1 where the kernel has no such thing or nothing was asked for */
bool agent_rules_prepare (const SandboxAgentSetup *setup,
                          int                     *ruleset_fd,
                          SandboxAgentFailed      *failed);
/* both bind the calling process, and all that it becomes */
bool agent_rules_enforce (int ruleset_fd);
bool agent_filter_enforce (const struct agent_sock_fprog *filter);

/* launch.c, init.c, probe.c, check.c: the modes; they do not return */
void agent_launch (int    argc,
                   char **argv) __attribute__ ((noreturn));
void agent_init (int    argc,
                 char **argv) __attribute__ ((noreturn));
void agent_probe (int argc) __attribute__ ((noreturn));
void agent_check (int    argc,
                  char **argv) __attribute__ ((noreturn));

/* session.c: carries out SETUP; false with @failed filled in */
bool agent_session_prepare (AgentSession             *self,
                            const SandboxAgentPacket *packet,
                            SandboxAgentFailed       *failed);

/* command.c: begins EXEC; then, once report_fd has ended, says whether the command runs */
bool agent_command_start (AgentCommand             *self,
                          const AgentSession       *session,
                          const SandboxAgentPacket *packet,
                          SandboxAgentFailed       *failed);
bool agent_command_has_started (AgentCommand       *self,
                                SandboxAgentFailed *failed);
