/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-filter-private.h"

#include "sandbox-agent-protocol.h"
#include "sandbox-error.h"
#include "sandbox-fd-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Calls that libseccomp 2.5 does not know by name; the numbers are the same on every architecture. */
#define NR_FCHMODAT2 452
/* The newest call that was known when this was written (mseal); what comes later does not exist. */
#define NR_NEWEST 462

/* Programs ask for these and do without them, so they get the answer of a kernel that has none. */
static const char *const absent_calls[] = {
  "clone3", /* its flags lie in memory, where a filter cannot look */
  "io_uring_setup", "io_uring_enter", "io_uring_register",
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

static const unsigned int new_namespaces[] = {
  CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET
};

static const unsigned int set_id_bits[] = { S_ISUID, S_ISGID };

/* A call that this architecture does not have needs no rule. */
static int
sandbox_agent_filter_add (scmp_filter_ctx filter,
                          uint32_t        action,
                          const char     *name)
{
  int number = seccomp_syscall_resolve_name (name);
  int result = 0;

  if (number < 0)
    return 0;

  result = seccomp_rule_add (filter, action, number, 0);

  return result == -EEXIST ? 0 : result;
}

/* EPERM for @number when the bits of @mask are all set in argument @argument. */
static int
sandbox_agent_filter_add_bits (scmp_filter_ctx filter,
                               int             number,
                               unsigned int    argument,
                               uint64_t        mask)
{
  if (number < 0)
    return 0;

  return seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), number, 1,
                           SCMP_CMP (argument, SCMP_CMP_MASKED_EQ, mask, mask));
}

static int
sandbox_agent_filter_add_base (scmp_filter_ctx filter)
{
  int result = 0;

  for (guint i = 0; result == 0 && i < G_N_ELEMENTS (absent_calls); i++)
    result = sandbox_agent_filter_add (filter, SCMP_ACT_ERRNO (ENOSYS), absent_calls[i]);
  for (guint i = 0; result == 0 && i < G_N_ELEMENTS (denied_calls); i++)
    result = sandbox_agent_filter_add (filter, SCMP_ACT_ERRNO (EPERM), denied_calls[i]);
  for (guint i = 0; result == 0 && i < G_N_ELEMENTS (new_namespaces); i++)
    result = sandbox_agent_filter_add_bits (filter, SCMP_SYS (clone), 0, new_namespaces[i]);

  /* Typing into a terminal. The kernel looks at the low 32 bits of the request only. */
  if (result == 0)
    result = seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (ioctl), 1,
                               SCMP_CMP (1, SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCSTI));
  if (result == 0)
    result = seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (ioctl), 1,
                               SCMP_CMP (1, SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCLINUX));
  /* A lease makes whoever opens the file wait for the guest, the host too. */
  if (result == 0)
    result = seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (fcntl), 1,
                               SCMP_CMP (1, SCMP_CMP_MASKED_EQ, 0xffffffffu, F_SETLEASE));
  /* Only the usual personality: the others turn off address randomisation and more. */
  if (result == 0)
    result = seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (personality), 1,
                               SCMP_CMP (0, SCMP_CMP_NE, 0));

  return result;
}

/* Sockets of other kinds reach drivers, the hypervisor or the host's network set-up. Families are
 * compared as the kernel does, by 32 bits. */
static int
sandbox_agent_filter_add_sockets (scmp_filter_ctx filter)
{
  int result = 0;

  for (uint64_t family = 0; result == 0 && family < 64; family++)
    {
      if (family == AF_UNSPEC || family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
        continue;
      result = seccomp_rule_add (filter, SCMP_ACT_ERRNO (EAFNOSUPPORT), SCMP_SYS (socket), 1,
                                 SCMP_CMP (0, SCMP_CMP_MASKED_EQ, 0xffffffffu, family));
    }
  /* Pairs are for processes that know each other: of one kind. */
  for (uint64_t family = 0; result == 0 && family < 64; family++)
    if (family != AF_UNIX)
      result = seccomp_rule_add (filter, SCMP_ACT_ERRNO (EAFNOSUPPORT), SCMP_SYS (socketpair), 1,
                                 SCMP_CMP (0, SCMP_CMP_MASKED_EQ, 0xffffffffu, family));
  /* Of netlink only what getifaddrs () needs. */
  for (uint64_t protocol = 1; result == 0 && protocol < 32; protocol++)
    result = seccomp_rule_add (filter, SCMP_ACT_ERRNO (EAFNOSUPPORT), SCMP_SYS (socket), 2,
                               SCMP_CMP (0, SCMP_CMP_MASKED_EQ, 0xffffffffu, AF_NETLINK),
                               SCMP_CMP (2, SCMP_CMP_MASKED_EQ, 0xffffffffu, protocol));

  return result;
}

/* A file of an external workspace belongs to a user of the host: with such a bit, that user's rights would
 * belong to whoever runs it. The argument of openat2 () lies in memory, so that call does not exist. */
static int
sandbox_agent_filter_add_set_id (scmp_filter_ctx filter)
{
  const struct
  {
    int          number;
    unsigned int argument;
  } calls[] = {
    { seccomp_syscall_resolve_name ("chmod"), 1 },
    { seccomp_syscall_resolve_name ("fchmod"), 1 },
    { seccomp_syscall_resolve_name ("fchmodat"), 2 },
    { NR_FCHMODAT2, 2 },
    { seccomp_syscall_resolve_name ("mknod"), 1 },
    { seccomp_syscall_resolve_name ("mknodat"), 2 },
    { seccomp_syscall_resolve_name ("mkdir"), 1 },
    { seccomp_syscall_resolve_name ("mkdirat"), 2 },
    { seccomp_syscall_resolve_name ("creat"), 1 },
  };
  const struct
  {
    int          number;
    unsigned int flags;
  } opens[] = {
    { seccomp_syscall_resolve_name ("open"), 1 },
    { seccomp_syscall_resolve_name ("openat"), 2 },
  };
  const uint64_t makes[] = { O_CREAT, O_TMPFILE & ~O_DIRECTORY };
  int            result = sandbox_agent_filter_add (filter, SCMP_ACT_ERRNO (ENOSYS), "openat2");

  for (guint bit = 0; bit < G_N_ELEMENTS (set_id_bits); bit++)
    {
      for (guint i = 0; result == 0 && i < G_N_ELEMENTS (calls); i++)
        result = sandbox_agent_filter_add_bits (filter, calls[i].number, calls[i].argument, set_id_bits[bit]);
      for (guint i = 0; i < G_N_ELEMENTS (opens); i++)
        for (guint make = 0; result == 0 && opens[i].number >= 0 && make < G_N_ELEMENTS (makes); make++)
          result = seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), opens[i].number, 2,
                                     SCMP_CMP (opens[i].flags, SCMP_CMP_MASKED_EQ, makes[make], makes[make]),
                                     SCMP_CMP (opens[i].flags + 1, SCMP_CMP_MASKED_EQ, set_id_bits[bit], set_id_bits[bit]));
    }

  return result;
}

/* Calls newer than this file answer as absent; their place is before the rules, which libseccomp cannot
 * say. Numbers of x32 are that large too. */
static GBytes *
sandbox_agent_filter_finish (scmp_filter_ctx filter,
                             GError        **error)
{
  const struct sock_filter newer[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JGT | BPF_K, NR_NEWEST, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
  };
  g_auto (SandboxFd) fd = memfd_create ("sandbox-filter", MFD_CLOEXEC);
  g_autoptr (GByteArray) program = g_byte_array_new ();
  struct stat info;
  int         result = fd < 0 ? -errno : seccomp_export_bpf (filter, fd);

  if (result == 0 && fstat (fd, &info) == 0)
    {
      g_byte_array_append (program, (const guint8 *) newer, sizeof newer);
      g_byte_array_set_size (program, sizeof newer + info.st_size);
      if (pread (fd, program->data + sizeof newer, info.st_size, 0) == info.st_size && info.st_size > 0 &&
          program->len % SANDBOX_AGENT_INSTRUCTION_SIZE == 0 &&
          program->len / SANDBOX_AGENT_INSTRUCTION_SIZE <= SANDBOX_AGENT_N_INSTRUCTIONS_MAX)
        return g_byte_array_free_to_bytes (g_steal_pointer (&program));
    }

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The system call filter cannot be written: %s", g_strerror (result != 0 ? -result : EIO));

  return NULL;
}

static GBytes *
sandbox_agent_filter_compile (gboolean forbid_set_id,
                              GError **error)
{
  scmp_filter_ctx filter = seccomp_init (SCMP_ACT_ALLOW);
  GBytes         *program = NULL;
  int             result = -ENOMEM;

  if (filter != NULL)
    result = seccomp_attr_set (filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (result == 0)
    result = seccomp_attr_set (filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (result == 0)
    result = sandbox_agent_filter_add_base (filter);
  if (result == 0)
    result = sandbox_agent_filter_add_sockets (filter);
  if (result == 0 && forbid_set_id)
    result = sandbox_agent_filter_add_set_id (filter);

  if (result == 0)
    program = sandbox_agent_filter_finish (filter, error);
  else
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                 "The system call filter cannot be built: %s", g_strerror (-result));
  if (filter != NULL)
    seccomp_release (filter);

  return program;
}

GBytes *
sandbox_agent_filter_get (gboolean forbid_set_id,
                          GError **error)
{
  static GBytes *programs[2];
  static GMutex  lock;
  GBytes        *program = NULL;

  g_mutex_lock (&lock);
  if (programs[forbid_set_id] == NULL)
    programs[forbid_set_id] = sandbox_agent_filter_compile (forbid_set_id, error);
  if (programs[forbid_set_id] != NULL)
    program = g_bytes_ref (programs[forbid_set_id]);
  g_mutex_unlock (&lock);

  return program;
}
