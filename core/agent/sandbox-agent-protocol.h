/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the library and the agent say to each other. Neither GLib nor an allocation here: the agent (static, musl), the
 * library and the fuzzer compile the same file.
 *
 * One packet is one message of a SOCK_SEQPACKET socket: a header of 8 bytes {version u16, type u16, length u32}, then
 * `length` bytes of body; descriptors travel beside it (SCM_RIGHTS). Integers are little-endian, strings end in NUL.
 * The order of a conversation with a sandbox for one command:
 *
 *   host -> agent   SETUP  EXEC  SIGNAL*  BYE?        SETUP and EXEC may be sent at once, before HELLO
 *   agent -> host   HELLO  (FAILED | LISTEN?  STARTED  EXITED)  BYE?
 *
 * The agent ends after FAILED, EXITED and BYE, at the end of the socket, and at any packet that is malformed or out of
 * order; with it ends the whole sandbox, because it is process 1 there. "All dead" is what the pidfd in HELLO tells, or
 * ALONE in EXITED. From EXEC until STARTED only the end of the socket is noticed: what is said meanwhile is heard then.
 *
 * With a sandbox for many commands, SLOTS in SETUP:
 *
 *   host -> agent   SETUP  ARM*  BYE?                 ARM may be sent at once
 *   agent -> host   HELLO  (FAILED | LISTEN?  READY)  BYE?
 *
 * Each ARM brings a socket. Over it a slot, a namespace of processes for one command, holds the conversation of a sandbox
 * for one command whose SETUP is done: HELLO, which says that it is armed, EXEC, and so on. After an EXITED that says ALONE a
 * slot ends when it is killed, or at the end of its socket. What is wrong there ends the slot, and what ends this agent ends
 * all slots.
 *
 * With DOOR in SETUP the agent says LISTEN, once, before any guest code runs. What it hands out are sockets that listen inside
 * the sandbox; it keeps neither of them.
 *
 * In launch mode the only packet is a FAILED before bwrap runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SANDBOX_AGENT_VERSION 1

#define SANDBOX_AGENT_PACKET_MAX (96 * 1024)                /* header and body; a socket takes about 200 KiB at once */
#define SANDBOX_AGENT_INLINE_MAX (64 * 1024)                /* argv and environment inside EXEC; above: by memfd */
#define SANDBOX_AGENT_STRINGS_MAX (2 * 1024 * 1024 + 65536) /* argv and environment in a memfd */
#define SANDBOX_AGENT_N_STRINGS_MAX 262144                  /* argc + envc */
#define SANDBOX_AGENT_PATH_MAX 4096                         /* a path with its NUL */
#define SANDBOX_AGENT_N_MOUNTS_MAX 8
#define SANDBOX_AGENT_N_RULES_MAX 96
#define SANDBOX_AGENT_RULES_SIZE_MAX (32 * 1024) /* the paths of all rules with their NULs */
#define SANDBOX_AGENT_N_LIMITS_MAX 16
#define SANDBOX_AGENT_N_INSTRUCTIONS_MAX 1024
#define SANDBOX_AGENT_N_SLOT_INSTRUCTIONS_MAX 128
#define SANDBOX_AGENT_INSTRUCTION_SIZE 8 /* sizeof (struct sock_filter) */
#define SANDBOX_AGENT_N_FDS_MAX 16
#define SANDBOX_AGENT_N_MEMORIES_MAX 4
#define SANDBOX_AGENT_N_DOORS_MAX 2
/* Where bwrap has put the two layers of an overlay when the host cannot give descriptors of them. */
#define SANDBOX_AGENT_OVERLAY_LOWER "/run/sandbox-lower"
#define SANDBOX_AGENT_OVERLAY_BASE "/run/sandbox-base"
/* Where the doors are. The directory is there already, and empty; the agent covers it by one that nobody can change. */
#define SANDBOX_AGENT_DOOR_DIRECTORY "/run/sandbox-glib"
#define SANDBOX_AGENT_DOOR SANDBOX_AGENT_DOOR_DIRECTORY "/gateway.sock"
#define SANDBOX_AGENT_DOOR_PORT 3128 /* of 127.0.0.1 */

/* Numbers from 0x100 on are reserved for the frames of a byte stream (no descriptors there). */
typedef enum
{
  SANDBOX_AGENT_HELLO = 1,   /* agent -> host; 1 descriptor: the pidfd of process 1 */
  SANDBOX_AGENT_SETUP = 2,   /* host -> agent; the descriptors of mounts that have one, then the lock if HOLD_LOCK is set */
  SANDBOX_AGENT_EXEC = 3,    /* host -> agent; stdin, stdout, stderr, then the memfd if STRINGS_IN_MEMFD is set */
  SANDBOX_AGENT_STARTED = 4, /* agent -> host; exec succeeded, the deadline runs from now on */
  SANDBOX_AGENT_FAILED = 5,  /* agent -> host; the command never ran */
  SANDBOX_AGENT_EXITED = 6,  /* agent -> host; the command's first process ended, the rest is being killed */
  SANDBOX_AGENT_SIGNAL = 7,  /* host -> agent; only after STARTED */
  SANDBOX_AGENT_BYE = 8,     /* host -> agent: end the sandbox now; agent -> host: done so */
  SANDBOX_AGENT_LISTEN = 9,  /* agent -> host, after a SETUP with DOOR; 1 descriptor: the door, with LOOPBACK_DOOR another one: that */
  /* Reserved: 10 CONNECT, a socket made inside and handed out. */
  SANDBOX_AGENT_READY = 11, /* agent -> host, after a SETUP with SLOTS; 1 descriptor: the workspace as the guest sees it, O_PATH */
  SANDBOX_AGENT_ARM = 12,   /* host -> agent, only after a SETUP with SLOTS; 1 descriptor: the slot's end of a SOCK_SEQPACKET pair */
} SandboxAgentType;

/* Who speaks: each side accepts only what the other one may say. */
typedef enum
{
  SANDBOX_AGENT_FROM_HOST,
  SANDBOX_AGENT_FROM_AGENT,
} SandboxAgentOrigin;

/* Where it failed; the errno comes with it. Numbers are part of the protocol: add at the end. */
typedef enum
{
  /* launch mode */
  SANDBOX_AGENT_STEP_LAUNCH = 1,      /* arguments, descriptors, session, limits */
  SANDBOX_AGENT_STEP_IDENTITY = 2,    /* groups, gid, uid, or they did not take */
  SANDBOX_AGENT_STEP_PARENT_GONE = 3, /* the host died meanwhile */
  SANDBOX_AGENT_STEP_EXEC_BWRAP = 4,  /* bwrap itself cannot be executed */
  /* SETUP */
  SANDBOX_AGENT_STEP_MOUNT = 5, /* detail: index of the mount; ENOENT also: its source has been removed */
  SANDBOX_AGENT_STEP_DEVPTS = 6,
  SANDBOX_AGENT_STEP_WORKSPACE = 7,          /* the workspace target is missing or no directory */
  SANDBOX_AGENT_STEP_WORKSPACE_IDENTITY = 8, /* ESTALE: another directory than expected; ENOENT: removed */
  SANDBOX_AGENT_STEP_USERNS_LIMIT = 9,       /* user namespaces could not be forbidden */
  SANDBOX_AGENT_STEP_CAPABILITIES = 10,      /* capabilities, bounding set, securebits, no_new_privs */
  /* EXEC */
  SANDBOX_AGENT_STEP_STRINGS = 11,     /* the memfd is not sealed, or does not hold what was announced */
  SANDBOX_AGENT_STEP_FORK = 12,        /* report page, report pipe, signals, fork */
  SANDBOX_AGENT_STEP_DESCRIPTORS = 13, /* detail: 0, 1, 2 */
  SANDBOX_AGENT_STEP_CHDIR = 14,       /* cwd: ENOENT, ENOTDIR, EACCES; ELOOP or EXDEV: it leads out or is a link */
  SANDBOX_AGENT_STEP_RLIMIT = 15,      /* detail: the resource */
  SANDBOX_AGENT_STEP_SECCOMP = 16,
  SANDBOX_AGENT_STEP_EXEC_NOT_FOUND = 17,   /* no such program */
  SANDBOX_AGENT_STEP_EXEC_INTERPRETER = 18, /* the program is there, its interpreter or loader is not */
  SANDBOX_AGENT_STEP_EXEC = 19,             /* EACCES, ENOEXEC, E2BIG, ENOMEM, … */
  /* SETUP: detail is the index of the rule from 1 on, 0 for all of them; EXEC: 0 */
  SANDBOX_AGENT_STEP_LANDLOCK = 20,
  /* launch mode */
  SANDBOX_AGENT_STEP_CONTROL_GROUP = 21, /* it cannot be entered */
  /* ARM, on the slot's socket */
  SANDBOX_AGENT_STEP_SLOT = 22, /* its namespaces, its process 1 */
  /* SETUP */
  SANDBOX_AGENT_STEP_DOOR = 23, /* detail: 0 the Unix socket, 1 the port */
  SANDBOX_AGENT_STEP_LAST = SANDBOX_AGENT_STEP_DOOR,
} SandboxAgentStep;

typedef enum
{
  SANDBOX_AGENT_MOUNT_READ_ONLY = 1 << 0, /* nosuid and nodev are always set */
  SANDBOX_AGENT_MOUNT_IN_PLACE = 1 << 1,  /* no descriptor: what the workspace has at target already; always READ_ONLY */
  /* Two descriptors: what is to be below, then the directory that holds "upper" and "work". Nothing in the sandbox reaches
   * either of them afterwards. At most one of these, not READ_ONLY and not IN_PLACE. Needs CAP_DAC_OVERRIDE, because the
   * directory that an overlay works in has mode 0. */
  SANDBOX_AGENT_MOUNT_OVERLAY = 1 << 2,
  SANDBOX_AGENT_MOUNT_BOUND = 1 << 3, /* only with OVERLAY: no descriptors, the two are at OVERLAY_LOWER and OVERLAY_BASE */
} SandboxAgentMountFlags;

typedef enum
{
  SANDBOX_AGENT_SETUP_FORBID_USERNS = 1 << 0,  /* 0 to /proc/sys/user/max_user_namespaces; needs CAP_SYS_RESOURCE */
  SANDBOX_AGENT_SETUP_HOLD_LOCK = 1 << 1,      /* the last descriptor stays open as long as the sandbox lives */
  SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS = 1 << 2, /* a new devpts on /dev/pts (which must exist); needs CAP_SYS_ADMIN */
  SANDBOX_AGENT_SETUP_NO_PROC = 1 << 3,        /* /proc is no procfs; one is mounted there only for FORBID_USERNS */
  SANDBOX_AGENT_SETUP_SHUT_PROC = 1 << 4,      /* what of /proc is not about processes is read-only, keys are covered; needs CAP_SYS_ADMIN */
  SANDBOX_AGENT_SETUP_BOUND_NAMES = 1 << 5,    /* no more files in /tmp and /dev/shm than pages of memory; needs CAP_SYS_ADMIN */
  SANDBOX_AGENT_SETUP_SLOTS = 1 << 6,          /* many commands, each in a slot that ARM makes; needs CAP_SYS_ADMIN */
  SANDBOX_AGENT_SETUP_SHARED = 1 << 7,         /* only with SLOTS: they have /tmp, /dev/shm, terminals and System V objects in common */
  SANDBOX_AGENT_SETUP_LATE_FILTER = 1 << 8,    /* only with SLOTS: that of a slot refuses a change of limits, so each command puts it on itself */
  SANDBOX_AGENT_SETUP_DOOR = 1 << 9,           /* a Unix socket at AGENT_DOOR; needs CAP_SYS_ADMIN */
  SANDBOX_AGENT_SETUP_LOOPBACK_DOOR = 1 << 10, /* only with DOOR: AGENT_DOOR_PORT as well, in a network of the sandbox's own */
} SandboxAgentSetupFlags;

typedef enum
{
  SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD = 1 << 0, /* the 4th descriptor, sealed against write, grow and shrink */
} SandboxAgentExecFlags;

typedef enum
{
  SANDBOX_AGENT_EXITED_DEADLINE = 1 << 0, /* killed by the agent's own timer */
  SANDBOX_AGENT_EXITED_ALONE = 1 << 1,    /* the kernel says that process 1 has no child left, of whatever kind */
} SandboxAgentExitedFlags;

/* What commands may do at a path and below, beside what the mounts allow. */
typedef enum
{
  SANDBOX_AGENT_RULE_LIST = 1 << 0,     /* list directories */
  SANDBOX_AGENT_RULE_READ = 1 << 1,     /* that, read files and execute them */
  SANDBOX_AGENT_RULE_PROC = 1 << 2,     /* that, and write to files that are there */
  SANDBOX_AGENT_RULE_WRITE = 1 << 3,    /* everything */
  SANDBOX_AGENT_RULE_DEVICE = 1 << 4,   /* list, read, write, and ioctl */
  SANDBOX_AGENT_RULE_OPTIONAL = 1 << 5, /* nothing need be there */
} SandboxAgentRuleFlags;

typedef struct
{
  const char *path;  /* absolute */
  uint32_t    flags; /* SandboxAgentRuleFlags; at least one beside OPTIONAL */
} SandboxAgentRule;

typedef struct
{
  const char *target; /* absolute, not "/"; exists already */
  uint32_t    flags;  /* SandboxAgentMountFlags */
} SandboxAgentMount;

/* An empty file system in memory, which each slot gets anew. */
typedef struct
{
  const char *target; /* absolute, not "/"; exists already */
  uint64_t    size;   /* bytes; 0: what the kernel thinks right */
} SandboxAgentMemory;

/* What the commands of one sandbox share. */
typedef struct
{
  uint32_t           flags;            /* SandboxAgentSetupFlags */
  const char        *workspace;        /* absolute path of the workspace in the guest; cwd is below it */
  uint64_t           workspace_device; /* st_dev and st_ino that must be found there; inode 0: not checked */
  uint64_t           workspace_inode;
  uint32_t           n_mounts;
  SandboxAgentMount  mounts[SANDBOX_AGENT_N_MOUNTS_MAX];     /* attached in order: detached ones, with a descriptor each, before those IN_PLACE */
  uint32_t           n_rules;                                /* 0: commands are not held by Landlock */
  SandboxAgentRule   rules[SANDBOX_AGENT_N_RULES_MAX];       /* what none of them allows is denied, as far as the kernel's Landlock goes */
  uint32_t           n_memories;                             /* only with SLOTS and without SHARED */
  SandboxAgentMemory memories[SANDBOX_AGENT_N_MEMORIES_MAX]; /* mode 1777, nosuid, nodev; names as BOUND_NAMES says */
  uint32_t           n_instructions;                         /* at least 1: there is no running without a filter */
  const uint8_t     *filter;                                 /* struct sock_filter[n_instructions], any alignment; with SLOTS it binds whatever makes them, too */
  uint32_t           n_slot_instructions;                    /* only with SLOTS, and then at least 1 */
  const uint8_t     *slot_filter;                            /* in the same way: what a slot puts on beside it, once it is made */
} SandboxAgentSetup;

typedef struct
{
  uint32_t resource; /* RLIMIT_… of the kernel, below 16 */
  uint64_t value;    /* soft and hard (of CPU seconds, one more); a lower hard limit that is in force stays */
} SandboxAgentLimit;

typedef struct
{
  uint32_t          flags;       /* SandboxAgentExecFlags */
  uint64_t          deadline_us; /* from STARTED on; 0: none */
  const char       *cwd;         /* below the workspace, no link in it; "" or ".": the workspace itself */
  uint32_t          n_limits;
  SandboxAgentLimit limits[SANDBOX_AGENT_N_LIMITS_MAX]; /* the core size is always 0, whatever is asked */
  uint32_t          argc;                               /* at least 1; argv[0] without a slash is looked up in PATH of the environment */
  uint32_t          envc;
  uint32_t          strings_size; /* bytes of argv and environment, wherever they are */
  const char       *strings;      /* see sandbox_agent_pack_strings(); NULL with STRINGS_IN_MEMFD */
} SandboxAgentExec;

typedef struct
{
  uint32_t step;   /* SandboxAgentStep */
  int32_t  error;  /* errno, never 0 */
  uint32_t detail; /* as the step says, else 0 */
} SandboxAgentFailed;

typedef struct
{
  int32_t  wait_status; /* as waitpid() gave it */
  uint32_t flags;       /* SandboxAgentExitedFlags */
  uint64_t user_us;     /* the command and those of its descendants that have been waited for */
  uint64_t system_us;
  uint64_t peak_memory; /* bytes: the largest of these processes */
  uint64_t wall_us;     /* from STARTED on */
} SandboxAgentExited;

typedef struct
{
  uint32_t signum; /* 1 to 64; goes to the process group of the command's first process */
} SandboxAgentSignal;

/* A decoded packet; its pointers lead into the bytes it was decoded from. HELLO, STARTED, BYE, LISTEN, READY and ARM have no body. */
typedef struct
{
  SandboxAgentType type;
  bool             left_unread; /* told with whatever is received, also an end: the other side ended before it had read everything */
  bool             lost_fds;    /* told with what is rejected: its descriptors did not all arrive, as this side has no more */
  uint32_t         n_fds;
  int              fds[SANDBOX_AGENT_N_FDS_MAX];
  union
  {
    SandboxAgentSetup  setup;
    SandboxAgentExec   exec;
    SandboxAgentFailed failed;
    SandboxAgentExited exited;
    SandboxAgentSignal signal;
  };
} SandboxAgentPacket;

typedef enum
{
  SANDBOX_AGENT_RECEIVED, /* a good packet; its descriptors (close-on-exec) are the caller's */
  SANDBOX_AGENT_AGAIN,    /* nothing there now */
  SANDBOX_AGENT_END,      /* the other side is gone */
  SANDBOX_AGENT_REJECTED, /* malformed, truncated or not for us; its descriptors are closed: end the conversation */
} SandboxAgentReceipt;

/* Writes the packet of @packet's type (its fds are only counted). Returns its length; 0 when it does not fit or when
 * the other side would reject it. @buffer of SANDBOX_AGENT_PACKET_MAX bytes always suffices for what is valid. */
size_t sandbox_agent_encode (const SandboxAgentPacket *packet,
                             void                     *buffer,
                             size_t                    size);

/* Strict: version, type and direction, exact lengths, counts, known flags, NULs, and that @n_fds fits the type. Touches
 * no descriptor; sets @packet (without fds) only on success. */
bool sandbox_agent_decode (SandboxAgentOrigin  origin,
                           const void         *bytes,
                           size_t              size,
                           uint32_t            n_fds,
                           SandboxAgentPacket *packet);

/* Encodes into @buffer and sends with @packet's descriptors, which stay open here. Never blocks, raises no SIGPIPE.
 * On failure errno is set: EPIPE or ECONNRESET when the other side is gone (what it said before, a FAILED perhaps, can
 * still be received), EAGAIN when it does not read, EMSGSIZE when the packet cannot be encoded. */
bool sandbox_agent_send (int                       socket_fd,
                         const SandboxAgentPacket *packet,
                         void                     *buffer,
                         size_t                    size);

/* Receives one packet from @origin into @buffer, which must live as long as @packet's pointers are used; @size is
 * SANDBOX_AGENT_PACKET_MAX. Never blocks. That the other side left something unread is told once, first of all. */
SandboxAgentReceipt sandbox_agent_receive (int                 socket_fd,
                                           SandboxAgentOrigin  origin,
                                           void               *buffer,
                                           size_t              size,
                                           SandboxAgentPacket *packet);

/* Closes what @packet still holds. To keep a descriptor, copy it and put -1 in its place. */
void sandbox_agent_packet_close_fds (SandboxAgentPacket *packet);

/* The bytes for EXEC or its memfd: the strings of @argv, then of @envp (either may be NULL: none), each with its NUL.
 * Returns the size needed; @buffer is complete when @size is at least that. */
size_t sandbox_agent_pack_strings (const char *const *argv,
                                   const char *const *envp,
                                   char              *buffer,
                                   size_t             size);

/* The way back: fills @vector (@argc + @envc + 2 entries) with argv, NULL, environment, NULL. False unless @strings
 * holds exactly that many. */
bool sandbox_agent_unpack_strings (char    *strings,
                                   size_t   size,
                                   uint32_t argc,
                                   uint32_t envc,
                                   char   **vector);

/* In words for a message: "mount", "working directory", …; never NULL. */
const char *sandbox_agent_step_to_string (uint32_t step);
