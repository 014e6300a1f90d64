/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the agent. No allocation, no streams of stdio, no threads: what it needs lies in static memory or on the stack. */
#pragma once

#include "sandbox-agent-protocol.h"

#include <sys/stat.h>
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
#define AGENT_MOUNT_ATTR_NOEXEC 0x08
#define AGENT_MOVE_MOUNT_F_EMPTY_PATH 0x04
#define AGENT_MOVE_MOUNT_T_EMPTY_PATH 0x40
#define AGENT_CLOSE_RANGE_CLOEXEC 0x04
#define AGENT_SECCOMP_MODE_FILTER 2
#define AGENT_FSOPEN_CLOEXEC 0x01
#define AGENT_FSMOUNT_CLOEXEC 0x01
#define AGENT_FSCONFIG_SET_FLAG 0
#define AGENT_FSCONFIG_SET_STRING 1
#define AGENT_FSCONFIG_CMD_CREATE 6

#define AGENT_CAP_SYS_ADMIN 21

#define AGENT_TERMINALS "/dev/pts"

#define AGENT_NUMBER_SIZE 24

/* What of its memory a slot writes to is copied, page by page, while a command waits: what belongs together lies together. */
#define AGENT_PAGE_SIZE 4096
#define AGENT_PAGE_ALIGNED __attribute__ ((aligned (AGENT_PAGE_SIZE)))

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

/* What all commands of a sandbox share, made by SETUP. A slot has its own, made from that of the session. */
typedef struct
{
  SandboxAgentSetup       setup;        /* its pointers lead into the packet, which is kept */
  int                     workspace_fd; /* O_PATH */
  uint64_t                workspace_device;
  uint64_t                workspace_inode;
  int                     ruleset_fd;  /* -1: none */
  struct agent_sock_fprog filter;      /* what commands have, or the rest of it, if the session's process 1 has some of it */
  bool                    is_filtered; /* it binds process 1 of the command already, and so whatever that starts */
  uint32_t                n_doors;
  int                     doors[SANDBOX_AGENT_N_DOORS_MAX]; /* until they are handed out */
} AgentSession;

/* What of a slot needs no namespace of its own: made ahead, while nobody waits, for one slot; -1 for what that makes itself. */
typedef struct
{
  bool is_made;
  int  ruleset_fd; /* without the rules for what is the slot's own */
  int  memory_fds[SANDBOX_AGENT_N_MEMORIES_MAX];
  int  devpts_fd;
} AgentSupply;

#define AGENT_SUPPLY_NONE           \
 {                                  \
  false, -1, { -1, -1, -1, -1 }, -1 \
 }
_Static_assert(SANDBOX_AGENT_N_MEMORIES_MAX == 4, "as many as in AGENT_SUPPLY_NONE");

/* One command on its way to exec, or running. */
typedef struct
{
  pid_t leader;
  int   report_fd; /* ends when exec succeeded or the child died */
} AgentCommand;

typedef enum
{
  AGENT_COMMAND_FAILED,
  AGENT_COMMAND_BYE,      /* the host said that instead of EXEC */
  AGENT_COMMAND_REJECTED, /* it said something else, or nothing more */
  AGENT_COMMAND_RUNS,
} AgentCommandState;

/* common.c: failures leave errno */
/* default dispositions and the mask for all 64 signals, also those that libc keeps for itself */
bool agent_reset_signals (void);
bool agent_set_signal_mask (uint64_t blocked);
/* an O_PATH descriptor, reached without following any link */
int agent_open_path (int         directory_fd,
                     const char *path,
                     uint64_t    resolve);
/* closes all but @socket_fd and *@kept_fd (NULL or -1: none), which gets another number; 0 to 2 are held by something useless then,
 * so that no descriptor that arrives gets such a number */
bool agent_close_descriptors (int  socket_fd,
                              int *kept_fd);
/* @kept: the only one that stays, or -1; it must be one below 32 */
bool agent_keep_capability (int kept);
/* effective, permitted, inheritable; then the same for capabilities from 32 on */
bool agent_get_capabilities (uint32_t sets[6]);
bool agent_parse_number (const char *text,
                         long        minimum,
                         long        maximum,
                         long       *number);
/* all signals are blocked: a descriptor that tells of children that have ended, and of the end of the parent once that is
 * followed; then takes some of what there is, and ends with the parent */
int  agent_watch_signals (void);
bool agent_follow_parent (void);
void agent_take_signals (int signals_fd);
/* ends process 1 when nothing else is left: the kernel would close its descriptors, and with them the lock that says that the
 * sandbox is alive, before it kills the others */
void agent_end (void) __attribute__ ((noreturn));
/* has memory there before it is needed; what is in it is lost */
void agent_touch (void  *memory,
                  size_t size);
void agent_format_number (uint64_t number,
                          char     text[AGENT_NUMBER_SIZE]);

/* layers.c: failures leave errno, or fill in @failed */
/* empties the capability sets but for @kept, as above; nothing can be gained by exec: not by set-id files, file
 * capabilities or uid 0 */
bool agent_drop_privileges (int kept);
/* makes what commands may do with files, but for what slots do not share; -1 where the kernel has no such thing or nothing was asked for */
bool agent_rules_begin (const SandboxAgentSetup *setup,
                        int                     *ruleset_fd,
                        SandboxAgentFailed      *failed);
/* adds the rest, in the slot */
bool agent_rules_finish (const SandboxAgentSetup *setup,
                         int                      ruleset_fd,
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

/* init.c: process 1 of one command, from HELLO on; SETUP is done */
void agent_init_command (AgentSession *session,
                         int           socket_fd) __attribute__ ((noreturn));

/* session.c: carries out SETUP; false with @failed filled in */
bool agent_session_prepare (AgentSession             *self,
                            const SandboxAgentPacket *packet,
                            SandboxAgentFailed       *failed);
/* O_PATH; with an inode that is not 0 no other directory than that */
int agent_session_open_workspace (const char         *path,
                                  uint64_t            device,
                                  uint64_t            inode,
                                  struct stat        *found,
                                  SandboxAgentFailed *failed);

/* binds process 1 of a session by what all of its slots have; READY comes after that */
bool agent_session_enforce (const AgentSession *self);

/* slot.c: READY, then a slot for each ARM */
void agent_slots (AgentSession *session,
                  int           socket_fd,
                  int           children_fd) __attribute__ ((noreturn));

/* supply.c: whether what is at a path is made with each slot; whether it is the same for all of them, whatever commands do */
bool agent_slot_owns (const SandboxAgentSetup *setup,
                      const char              *path);
bool agent_slots_share (const SandboxAgentSetup *setup,
                        const char              *path);
void agent_supply_make (AgentSupply             *self,
                        const SandboxAgentSetup *setup);
void agent_supply_drop (AgentSupply *self);

/* mounts.c: failures leave errno */
bool agent_mount_attach (int                      mount_fd,
                         const SandboxAgentMount *mount);
bool agent_mount_overlay (const SandboxAgentMount *mount,
                          const int                fds[2]);
bool agent_mount_proc (void);
/* what of /proc is not about processes becomes read-only */
bool agent_mount_shut_proc (void);
/* new and in no place, or -1; then in its place, also one that the guest could have changed the way to; @mount_fd is closed */
int  agent_mount_new_devpts (void);
int  agent_mount_new_memory (const SandboxAgentMemory *memory,
                             bool                      bound_names);
bool agent_mount_place (int         mount_fd,
                        const char *target);
bool agent_mount_bound_names (const char *directory);
/* an empty directory in memory for @n_names files that take no room; then nobody makes, changes or removes one any more */
bool agent_mount_names (const char *target,
                        uint64_t    n_names);
bool agent_mount_close (const char *target);

/* doors.c: makes what the setup asks for, where no guest can change it; false with @failed filled in */
bool agent_doors_make (AgentSession       *session,
                       SandboxAgentFailed *failed);
/* LISTEN, if there are any; the host alone has them then */
bool agent_doors_hand_out (AgentSession *session,
                           int           socket_fd);

/* command.c: limits process 1, and so whatever it starts, to what no command gets more of; on failure @resource is which */
bool agent_command_limit (uint32_t *resource);
/* starts the process of the command, which hears what the host says next; then, once report_fd has ended, what became of it:
 * FAILED with @failed filled in, RUNS with what EXEC asked for */
bool              agent_command_prepare (AgentCommand       *self,
                                         const AgentSession *session,
                                         int                 socket_fd);
AgentCommandState agent_command_look (AgentCommand            *self,
                                      SandboxAgentFailed      *failed,
                                      const SandboxAgentExec **exec);
