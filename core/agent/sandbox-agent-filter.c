/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-filter-private.h"

#include "sandbox-agent-protocol.h"
#include "sandbox-error.h"
#include "sandbox-fd-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Numbers from 424 on are the same on every architecture. */
#define NR_FCHMODAT2 452 /* libseccomp 2.5 does not know it by name */
/* The newest call that was known when this was written (mseal); what comes later does not exist. */
#define NR_NEWEST 462
/* Of those above only fchmodat2 is for the strict filter. */
#define NR_NEWEST_STRICT 450

/* Of the numbers of x32, a second set of calls on x86-64 */
#define X32_BIT 0x40000000u

#define N_UNASSIGNED 2

G_STATIC_ASSERT (sizeof (struct sock_filter) == SANDBOX_AGENT_INSTRUCTION_SIZE);

typedef struct
{
  uint32_t     token;
  unsigned int unassigned[N_UNASSIGNED][2]; /* first and last number of what no call has, or gets by accident; 0: no more */
} SandboxAgentFilterArchitecture;

static const SandboxAgentFilterArchitecture architectures[] = {
  { SCMP_ARCH_X86_64, { { 335, 423 } } },
  { SCMP_ARCH_AARCH64, { { 244, 259 }, { 295, 423 } } },
};

/* A filter in the making. */
typedef struct
{
  const SandboxAgentFilterArchitecture *architecture;
  SandboxFilter                         kind;
  gboolean                              forbid_set_id;
  SandboxAgentFilterPart                part;
  scmp_filter_ctx                       rules;
} SandboxAgentFilterBuilder;

/* Programs ask for these and do without them, so they get the answer of a kernel that has none. */
static const char *const absent_calls[] = {
  "clone3", /* its flags lie in memory, where a filter cannot look */
  "io_uring_setup", "io_uring_enter", "io_uring_register",
  "io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents", /* how many there are is the machine's */
  "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
  "memfd_secret"
};

/* clang-format off */
static const char *const denied_calls[] = {
  /* the view and the namespaces */
  "mount", "umount", "umount2", "pivot_root", "chroot", "unshare", "setns",
  /* keys are not in any namespace */
  "add_key", "request_key", "keyctl",
  /* other processes, and the kernel's inner life */
  "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp",
  "bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "syslog",
  /* files by handle go around every directory permission */
  "name_to_handle_at", "open_by_handle_at", "fanotify_init",
  /* the machine */
  "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module",
  "query_module", "get_kernel_syms", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "nfsservctl",
  "vhangup", "sethostname", "setdomainname",
  "settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex",
  /* old or rare entries that have been holes before */
  "uselib", "ustat", "sysfs", "_sysctl", "modify_ldt", "vm86", "vm86old", "iopl", "ioperm",
  "move_pages", "migrate_pages", "mbind", "set_mempolicy", "set_mempolicy_home_node", "get_mempolicy",
};
/* clang-format on */

/* What the agent makes slots with, and is refused to commands, or allowed them with some arguments only. */
static const char *const making_calls[] = {
  "clone", "mount", "open_tree", "move_mount", "mount_setattr", "fsopen", "fsconfig", "fsmount", "openat2", "capset", "prlimit64"
};

/* What a debugger does to processes that it may trace anyway. */
static const char *const debugger_calls[] = { "ptrace", "process_vm_readv", "process_vm_writev", "kcmp" };

/* clang-format off */
/* All that the strict filter allows, within the rules of the default one: no keys, no change of user, no change of
 * limits and priorities, no asynchronous I/O of the kernel's, no message queues, no way to other processes' memory. */
static const char *const strict_calls[] = {
  /* files and directories */
  "access", "faccessat", "faccessat2", "open", "openat", "openat2", "creat", "close", "close_range",
  "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "getdents", "getdents64",
  "getcwd", "chdir", "fchdir", "mkdir", "mkdirat", "mknod", "mknodat", "rmdir", "link", "linkat", "symlink", "symlinkat",
  "readlink", "readlinkat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "truncate", "ftruncate", "fallocate",
  "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "umask",
  "utime", "utimes", "futimesat", "utimensat",
  "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr",
  "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
  "inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
  /* descriptors */
  "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek",
  "dup", "dup2", "dup3", "fcntl", "flock", "ioctl", "pipe", "pipe2", "sendfile", "splice", "tee", "vmsplice",
  "copy_file_range", "readahead", "fadvise64", "fsync", "fdatasync", "sync", "syncfs", "sync_file_range",
  "poll", "ppoll", "select", "pselect6",
  "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
  "eventfd", "eventfd2", "signalfd", "signalfd4", "timerfd_create", "timerfd_settime", "timerfd_gettime", "memfd_create",
  /* memory */
  "brk", "mmap", "munmap", "mprotect", "mremap", "msync", "madvise", "mincore", "membarrier",
  "mlock", "mlock2", "munlock", "mlockall", "munlockall", "pkey_alloc", "pkey_free", "pkey_mprotect",
  /* processes and threads */
  "fork", "vfork", "clone", "execve", "execveat", "exit", "exit_group", "wait4", "waitid",
  "getpid", "getppid", "gettid", "getpgid", "getpgrp", "setpgid", "getsid", "setsid",
  "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "capget", "setresuid", "setresgid",
  "prctl", "arch_prctl", "set_tid_address", "set_robust_list", "get_robust_list", "rseq", "futex", "futex_waitv",
  "pidfd_open", "pidfd_send_signal",
  "getrlimit", "prlimit64", "getrusage", "times", "sysinfo", "uname", "getcpu", "getpriority", "ioprio_get",
  "sched_yield", "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler",
  "sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval",
  /* a program may hold itself further */
  "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
  /* signals */
  "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "rt_sigreturn",
  "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack", "kill", "tkill", "tgkill", "pause", "restart_syscall",
  /* time */
  "alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
  "getitimer", "setitimer", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
  /* System V objects, of the sandbox's own namespace */
  "shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl",
  /* the network */
  "socket", "socketpair", "bind", "connect", "listen", "accept", "accept4", "shutdown", "getsockname", "getpeername",
  "getsockopt", "setsockopt", "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg",
  "getrandom",
};
/* clang-format on */

static const unsigned int new_namespaces[] = {
  CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET
};

static const unsigned int set_id_bits[] = { S_ISUID, S_ISGID };

static gboolean
sandbox_agent_filter_has_name (const char *const *names,
                               guint              n_names,
                               const char        *name)
{
  for (guint i = 0; i < n_names; i++)
    if (g_str_equal (names[i], name))
      return TRUE;

  return FALSE;
}

static gboolean
sandbox_agent_filter_allows_tracing (SandboxAgentFilterBuilder *self,
                                     const char                *name)
{
  return self->kind == SANDBOX_FILTER_DEBUGGER && sandbox_agent_filter_has_name (debugger_calls, G_N_ELEMENTS (debugger_calls), name);
}

/* Whether what there is to say of a call is said in this part. */
static gboolean
sandbox_agent_filter_has_part (SandboxAgentFilterBuilder *self,
                               const char                *name)
{
  return self->part == SANDBOX_AGENT_FILTER_WHOLE ||
         sandbox_agent_filter_has_name (making_calls, G_N_ELEMENTS (making_calls), name) == (self->part == SANDBOX_AGENT_FILTER_OF_SLOT);
}

/* A refusal with @error where all comparisons hold. A call that the architecture does not have needs no rule. Rules are
 * written by the numbers of this machine; libseccomp translates them. */
static int
sandbox_agent_filter_add_array (SandboxAgentFilterBuilder *self,
                                int                        error,
                                const char                *name,
                                unsigned int               n_comparisons,
                                const struct scmp_arg_cmp *comparisons)
{
  int result = 0;

  if (seccomp_syscall_resolve_name_arch (self->architecture->token, name) < 0 || !sandbox_agent_filter_has_part (self, name))
    return 0;

  result = seccomp_rule_add_array (self->rules, SCMP_ACT_ERRNO ((uint32_t) error), seccomp_syscall_resolve_name (name), n_comparisons, comparisons);

  return result == -EEXIST ? 0 : result;
}

static int
sandbox_agent_filter_add (SandboxAgentFilterBuilder *self,
                          int                        error,
                          const char                *name)
{
  return sandbox_agent_filter_add_array (self, error, name, 0, NULL);
}

/* A refusal when argument @argument has the bits of @mask as in @value. */
static int
sandbox_agent_filter_add_masked (SandboxAgentFilterBuilder *self,
                                 int                        error,
                                 const char                *name,
                                 unsigned int               argument,
                                 uint64_t                   mask,
                                 uint64_t                   value)
{
  const struct scmp_arg_cmp comparison = SCMP_CMP (argument, SCMP_CMP_MASKED_EQ, mask, value);

  return sandbox_agent_filter_add_array (self, error, name, 1, &comparison);
}

/* The same for 32 bits, where the kernel looks at no more. */
static int
sandbox_agent_filter_add_equal (SandboxAgentFilterBuilder *self,
                                int                        error,
                                const char                *name,
                                unsigned int               argument,
                                uint64_t                   value)
{
  return sandbox_agent_filter_add_masked (self, error, name, argument, 0xffffffffu, value);
}

/* The same for all values from @first to @last: of each block whose size is a power of two and which begins at a multiple of that, the bits
 * that all have are compared. A rule for each value would make a program several times as long, and the kernel takes its time for
 * that with every command. @other, if not NULL, holds as well. */
static int
sandbox_agent_filter_add_range (SandboxAgentFilterBuilder *self,
                                int                        error,
                                const char                *name,
                                unsigned int               argument,
                                uint64_t                   first,
                                uint64_t                   last,
                                const struct scmp_arg_cmp *other)
{
  int result = 0;

  while (result == 0 && first <= last)
    {
      uint64_t            size = 1;
      struct scmp_arg_cmp comparisons[2];
      unsigned int        n_comparisons = 0;

      while (first % (size * 2) == 0 && first + size * 2 - 1 <= last)
        size *= 2;
      if (other != NULL)
        comparisons[n_comparisons++] = *other;
      comparisons[n_comparisons++] = SCMP_CMP (argument, SCMP_CMP_MASKED_EQ, 0xffffffffu & ~(size - 1), first);
      result = sandbox_agent_filter_add_array (self, error, name, n_comparisons, comparisons);
      first += size;
    }

  return result;
}

/* Of the personalities only the usual one: the others turn off address randomisation and more. */
static int
sandbox_agent_filter_add_personality (SandboxAgentFilterBuilder *self)
{
  const struct scmp_arg_cmp unusual = SCMP_CMP (0, SCMP_CMP_NE, 0);
  int                       result = 0;

  if (self->kind != SANDBOX_FILTER_DEBUGGER)
    return sandbox_agent_filter_add_array (self, EPERM, "personality", 1, &unusual);

  /* A debugger asks (all bits are set) and turns off the randomisation (one bit is). A rule compares an argument once, so
   * what is not one of these is told by neighbours: going round, a set bit stands beside one that is not set. */
  for (unsigned int bit = 0; result == 0 && bit < 32; bit++)
    {
      unsigned int next = (bit + 1) % 32;

      if ((1u << bit) == ADDR_NO_RANDOMIZE)
        continue;
      if ((1u << next) == ADDR_NO_RANDOMIZE)
        next++;
      result = sandbox_agent_filter_add_masked (self, EPERM, "personality", 0, (1u << bit) | (1u << next), 1u << bit);
    }
  if (result == 0)
    result = sandbox_agent_filter_add_masked (self, EPERM, "personality", 0, 1 | ADDR_NO_RANDOMIZE, 1);

  return result;
}

static int
sandbox_agent_filter_add_base (SandboxAgentFilterBuilder *self)
{
  int result = 0;

  for (guint i = 0; result == 0 && i < G_N_ELEMENTS (absent_calls); i++)
    result = sandbox_agent_filter_add (self, ENOSYS, absent_calls[i]);
  for (guint i = 0; result == 0 && i < G_N_ELEMENTS (denied_calls); i++)
    if (!sandbox_agent_filter_allows_tracing (self, denied_calls[i]))
      result = sandbox_agent_filter_add (self, EPERM, denied_calls[i]);
  for (guint i = 0; result == 0 && i < G_N_ELEMENTS (new_namespaces); i++)
    result = sandbox_agent_filter_add_masked (self, EPERM, "clone", 0, new_namespaces[i], new_namespaces[i]);

  /* Typing into a terminal */
  if (result == 0)
    result = sandbox_agent_filter_add_equal (self, EPERM, "ioctl", 1, TIOCSTI);
  if (result == 0)
    result = sandbox_agent_filter_add_equal (self, EPERM, "ioctl", 1, TIOCLINUX);
  /* A lease makes whoever opens the file wait for the guest, the host too. */
  if (result == 0)
    result = sandbox_agent_filter_add_equal (self, EPERM, "fcntl", 1, F_SETLEASE);
  if (result == 0 && self->kind != SANDBOX_FILTER_STRICT)
    result = sandbox_agent_filter_add_personality (self);

  return result;
}

/* Whatever has a name and is not in the list. What has none is refused by number. */
static int
sandbox_agent_filter_add_strict (SandboxAgentFilterBuilder *self)
{
  const struct scmp_arg_cmp sets[] = { SCMP_CMP (1, SCMP_CMP_NE, RLIMIT_CORE), SCMP_CMP (2, SCMP_CMP_NE, 0) };
  const struct scmp_arg_cmp others[] = { SCMP_CMP (0, SCMP_CMP_NE, UINT32_MAX), SCMP_CMP (2, SCMP_CMP_NE, UINT32_MAX) };
  int                       result = 0;

  for (int number = 0; result == 0 && number <= NR_NEWEST_STRICT; number++)
    {
      char *name = seccomp_syscall_resolve_num_arch (self->architecture->token, number);

      if (name != NULL &&
          !sandbox_agent_filter_has_name (strict_calls, G_N_ELEMENTS (strict_calls), name) &&
          !sandbox_agent_filter_has_name (absent_calls, G_N_ELEMENTS (absent_calls), name))
        result = sandbox_agent_filter_add (self, EPERM, name);
      free (name);
    }
  /* Limits can be read by the call that sets them, and core dumps turned off, without which gpg does nothing. */
  if (result == 0)
    result = sandbox_agent_filter_add_array (self, EPERM, "prlimit64", G_N_ELEMENTS (sets), sets);
  /* For the effective id alone: posix_spawn () can be told to make it the real one, as make does. */
  for (guint i = 0; result == 0 && i < G_N_ELEMENTS (others); i++)
    {
      result = sandbox_agent_filter_add_array (self, EPERM, "setresuid", 1, &others[i]);
      if (result == 0)
        result = sandbox_agent_filter_add_array (self, EPERM, "setresgid", 1, &others[i]);
    }

  return result;
}

/* Sockets of other kinds reach drivers, the hypervisor or the host's network set-up. Families are
 * compared as the kernel does, by 32 bits; it has none from 64 on. */
static int
sandbox_agent_filter_add_sockets (SandboxAgentFilterBuilder *self)
{
  const struct
  {
    const char *name;
    uint64_t    first, last;
  } families[] = {
    /* all but AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK */
    { "socket", AF_INET + 1, AF_INET6 - 1 },
    { "socket", AF_INET6 + 1, AF_NETLINK - 1 },
    { "socket", AF_NETLINK + 1, 63 },
    /* Pairs are for processes that know each other: all but AF_UNIX. */
    { "socketpair", AF_UNSPEC, AF_UNIX - 1 },
    { "socketpair", AF_UNIX + 1, 63 },
  };
  const struct scmp_arg_cmp netlink = SCMP_CMP (0, SCMP_CMP_MASKED_EQ, 0xffffffffu, AF_NETLINK);
  int                       result = 0;

  for (guint i = 0; result == 0 && i < G_N_ELEMENTS (families); i++)
    result = sandbox_agent_filter_add_range (self, EAFNOSUPPORT, families[i].name, 0, families[i].first, families[i].last, NULL);
  /* Of netlink only what getifaddrs () needs, which is the first of 32. */
  if (result == 0)
    result = sandbox_agent_filter_add_range (self, EAFNOSUPPORT, "socket", 2, NETLINK_ROUTE + 1, 31, &netlink);

  return result;
}

/* A file of an external workspace belongs to a user of the host: with such a bit, that user's rights would
 * belong to whoever runs it. The argument of openat2 () lies in memory, so that call does not exist. */
static int
sandbox_agent_filter_add_set_id (SandboxAgentFilterBuilder *self)
{
  const struct
  {
    const char  *name;
    unsigned int argument;
  } calls[] = {
    { "chmod", 1 }, { "fchmod", 1 }, { "fchmodat", 2 }, { "mknod", 1 }, { "mknodat", 2 }, { "mkdir", 1 }, { "mkdirat", 2 }, { "creat", 1 }
  };
  const struct
  {
    const char  *name;
    unsigned int flags;
  } opens[] = { { "open", 1 }, { "openat", 2 } };
  const uint64_t makes[] = { O_CREAT, O_TMPFILE & ~O_DIRECTORY };
  int            result = sandbox_agent_filter_add (self, ENOSYS, "openat2");

  for (guint bit = 0; bit < G_N_ELEMENTS (set_id_bits); bit++)
    {
      const unsigned int mask = set_id_bits[bit];

      for (guint i = 0; result == 0 && i < G_N_ELEMENTS (calls); i++)
        result = sandbox_agent_filter_add_masked (self, EPERM, calls[i].name, calls[i].argument, mask, mask);
      for (guint i = 0; i < G_N_ELEMENTS (opens); i++)
        for (guint make = 0; result == 0 && make < G_N_ELEMENTS (makes); make++)
          {
            const struct scmp_arg_cmp comparisons[] = {
              SCMP_CMP (opens[i].flags, SCMP_CMP_MASKED_EQ, makes[make], makes[make]),
              SCMP_CMP (opens[i].flags + 1, SCMP_CMP_MASKED_EQ, mask, mask),
            };

            result = sandbox_agent_filter_add_array (self, EPERM, opens[i].name, 2, comparisons);
          }
    }

  return result;
}

static void
sandbox_agent_filter_append (GByteArray               *program,
                             const struct sock_filter *instructions,
                             gsize                     n_instructions)
{
  g_byte_array_append (program, (const guint8 *) instructions, (guint) (n_instructions * sizeof instructions[0]));
}

/* What libseccomp cannot say stands before its rules: numbers that no name is known of. */
static void
sandbox_agent_filter_append_numbers (SandboxAgentFilterBuilder *self,
                                     GByteArray                *program)
{
  const struct sock_filter load[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, arch)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, self->architecture->token, 1, 0),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
  };
  const struct sock_filter newer[] = {
    /* Calls newer than this file answer as absent; numbers of x32 are that large too. */
    BPF_JUMP (BPF_JMP | BPF_JGT | BPF_K, NR_NEWEST, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
  };
  /* The half of the argument that counts comes first: both architectures are little-endian. */
  const struct sock_filter set_id[] = {
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, NR_FCHMODAT2, 0, 4),
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, args[2])),
    BPF_JUMP (BPF_JMP | BPF_JSET | BPF_K, S_ISUID | S_ISGID, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_filter strict[] = {
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, NR_FCHMODAT2, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_JUMP (BPF_JMP | BPF_JGT | BPF_K, NR_NEWEST_STRICT, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
  };

  sandbox_agent_filter_append (program, load, G_N_ELEMENTS (load));
  if (self->part == SANDBOX_AGENT_FILTER_OF_SLOT)
    return;

  sandbox_agent_filter_append (program, newer, G_N_ELEMENTS (newer));
  for (guint i = 0; i < N_UNASSIGNED && self->architecture->unassigned[i][0] > 0; i++)
    {
      const struct sock_filter unassigned[] = {
        BPF_JUMP (BPF_JMP | BPF_JGE | BPF_K, self->architecture->unassigned[i][0], 0, 2),
        BPF_JUMP (BPF_JMP | BPF_JGT | BPF_K, self->architecture->unassigned[i][1], 1, 0),
        BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      };

      sandbox_agent_filter_append (program, unassigned, G_N_ELEMENTS (unassigned));
    }
  if (self->forbid_set_id)
    sandbox_agent_filter_append (program, set_id, G_N_ELEMENTS (set_id));
  if (self->kind == SANDBOX_FILTER_STRICT)
    sandbox_agent_filter_append (program, strict, G_N_ELEMENTS (strict));
}

static gboolean
sandbox_agent_filter_is (const struct sock_filter *instruction,
                         unsigned int              code,
                         uint32_t                  operand)
{
  return instruction->code == code && instruction->k == operand;
}

/* How many instructions libseccomp begins with that look at the architecture, and at the numbers of x32, and load the number: all of that
 * has been done. Without them each call number takes a third less, and the kernel goes through a filter for all of them when it is put
 * on. */
static gsize
sandbox_agent_filter_count_head (const struct sock_filter *rules,
                                 gsize                     n_rules,
                                 uint32_t                  token)
{
  const uint32_t number = offsetof (struct seccomp_data, nr);
  gsize          end = 3;

  if (n_rules < 4 || !sandbox_agent_filter_is (&rules[0], BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, arch)) ||
      !sandbox_agent_filter_is (&rules[1], BPF_JMP | BPF_JEQ | BPF_K, token) || rules[1].jt != 0 ||
      !sandbox_agent_filter_is (&rules[2], BPF_LD | BPF_W | BPF_ABS, number))
    return 0;

  if (!sandbox_agent_filter_is (&rules[3], BPF_JMP | BPF_JGE | BPF_K, X32_BIT))
    return end;

  /* where those go that are not of x32 */
  end += 1 + rules[3].jf;

  return end < n_rules && sandbox_agent_filter_is (&rules[end], BPF_LD | BPF_W | BPF_ABS, number) ? end + 1 : 0;
}

static guint
sandbox_agent_filter_get_max (SandboxAgentFilterBuilder *self)
{
  return self->part == SANDBOX_AGENT_FILTER_OF_SLOT ? SANDBOX_AGENT_N_SLOT_INSTRUCTIONS_MAX : SANDBOX_AGENT_N_INSTRUCTIONS_MAX;
}

static GBytes *
sandbox_agent_filter_finish (SandboxAgentFilterBuilder *self,
                             GError                   **error)
{
  g_auto (SandboxFd) fd = memfd_create ("sandbox-filter", MFD_CLOEXEC);
  g_autoptr (GByteArray) program = g_byte_array_new ();
  g_autofree struct sock_filter *rules = NULL;
  struct stat                    info;
  int                            result = fd < 0 ? -errno : seccomp_export_bpf (self->rules, fd);

  sandbox_agent_filter_append_numbers (self, program);
  if (result == 0 && fstat (fd, &info) == 0)
    {
      const gsize n_rules = (gsize) info.st_size / sizeof rules[0];
      gsize       n_head = 0;

      rules = g_malloc ((gsize) info.st_size);
      if (info.st_size > 0 && (gsize) info.st_size % sizeof rules[0] == 0 && pread (fd, rules, (gsize) info.st_size, 0) == info.st_size)
        {
          n_head = sandbox_agent_filter_count_head (rules, n_rules, self->architecture->token);
          sandbox_agent_filter_append (program, rules + n_head, n_rules - n_head);
          if (program->len / SANDBOX_AGENT_INSTRUCTION_SIZE <= sandbox_agent_filter_get_max (self))
            return g_byte_array_free_to_bytes (g_steal_pointer (&program));
        }
    }

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The system call filter cannot be written: %s", g_strerror (result != 0 ? -result : EIO));

  return NULL;
}

/* The filter is for one architecture: this one, or for a test another. */
static int
sandbox_agent_filter_set_architecture (SandboxAgentFilterBuilder *self)
{
  const uint32_t native = seccomp_arch_native ();
  int            result = 0;

  if (self->architecture->token != native)
    {
      result = seccomp_arch_add (self->rules, self->architecture->token);
      if (result == 0)
        result = seccomp_arch_remove (self->rules, native);
    }

  return result;
}

GBytes *
sandbox_agent_filter_compile (SandboxFilter          kind,
                              gboolean               forbid_set_id,
                              SandboxAgentFilterPart part,
                              guint32                architecture,
                              GError               **error)
{
  SandboxAgentFilterBuilder self = { NULL, kind, forbid_set_id, part, NULL };
  GBytes                   *program = NULL;
  int                       result = -ENOMEM;

  for (guint i = 0; i < G_N_ELEMENTS (architectures); i++)
    if (architectures[i].token == architecture)
      self.architecture = &architectures[i];
  if (self.architecture == NULL)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                           "There is no system call filter for this architecture, only for x86-64 and arm64");
      return NULL;
    }

  self.rules = seccomp_init (SCMP_ACT_ALLOW);
  if (self.rules != NULL)
    result = seccomp_attr_set (self.rules, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (result == 0)
    result = seccomp_attr_set (self.rules, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (result == 0)
    result = sandbox_agent_filter_set_architecture (&self);
  if (result == 0 && kind == SANDBOX_FILTER_STRICT)
    result = sandbox_agent_filter_add_strict (&self);
  if (result == 0)
    result = sandbox_agent_filter_add_base (&self);
  if (result == 0)
    result = sandbox_agent_filter_add_sockets (&self);
  if (result == 0 && forbid_set_id)
    result = sandbox_agent_filter_add_set_id (&self);

  if (result == 0)
    program = sandbox_agent_filter_finish (&self, error);
  else
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The system call filter cannot be built: %s", g_strerror (-result));
  if (self.rules != NULL)
    seccomp_release (self.rules);

  return program;
}

GBytes *
sandbox_agent_filter_get (SandboxFilter          kind,
                          gboolean               forbid_set_id,
                          SandboxAgentFilterPart part,
                          GError               **error)
{
  static GBytes *programs[SANDBOX_FILTER_DEBUGGER + 1][2][SANDBOX_AGENT_N_FILTERS];
  static GMutex  lock;
  GBytes       **known = &programs[kind][forbid_set_id ? 1 : 0][part];
  GBytes        *program = NULL;

  g_mutex_lock (&lock);
  if (*known == NULL)
    *known = sandbox_agent_filter_compile (kind, forbid_set_id, part, seccomp_arch_native (), error);
  if (*known != NULL)
    program = g_bytes_ref (*known);
  g_mutex_unlock (&lock);

  return program;
}
