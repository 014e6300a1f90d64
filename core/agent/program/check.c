/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * As a command in a sandbox: makes every call that its filter must refuse, for real, and tells the errno of each: a line
 * "NAME ERRNO EXPECTED" on the standard output, the errno 0 for a call that went through; at last "end 0 0". It exits with 0
 * if all were refused as expected. The arguments are such that nothing comes of a call that is not refused.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALWAYS 7
#define UNLESS_DEBUGGED 3
#define STRICT 2

/* Of what the C library may be too old to know; the same everywhere. */
#define NR_IO_URING_SETUP 425
#define NR_OPEN_TREE 428
#define NR_CLONE3 435
#define NR_OPENAT2 437
#define NR_PIDFD_GETFD 438
#define NR_MOUNT_SETATTR 442
#define NR_QUOTACTL_FD 443
#define NR_MEMFD_SECRET 447
#define NR_SET_MEMPOLICY_HOME_NODE 450
#define NR_FCHMODAT2 452
#define NR_FIRST_UNKNOWN 463
#define X32_BIT 0x40000000

#define REQUEST_STI 0x5412
#define REQUEST_LINUX 0x541c
#define COMMAND_SETLEASE 1024
#define FAMILY_VSOCK 40
#define HIGH(value) (0xdead00000000 | (value))

typedef struct
{
  const char *name;
  int         error;
  long        number;
  unsigned    kinds; /* a bit for each SandboxFilter, in their order */
} CheckCall;

#define CALL(name, error, kinds)  \
 {                                \
#  name, error, SYS_##name, kinds \
 }

/* clang-format off */
static const CheckCall check_calls[] = {
  { "clone3", ENOSYS, NR_CLONE3, ALWAYS },
  { "io_uring_setup", ENOSYS, NR_IO_URING_SETUP, ALWAYS },
  { "io_uring_enter", ENOSYS, NR_IO_URING_SETUP + 1, ALWAYS },
  { "io_uring_register", ENOSYS, NR_IO_URING_SETUP + 2, ALWAYS },
  { "open_tree", ENOSYS, NR_OPEN_TREE, ALWAYS },
  { "move_mount", ENOSYS, NR_OPEN_TREE + 1, ALWAYS },
  { "fsopen", ENOSYS, NR_OPEN_TREE + 2, ALWAYS },
  { "fsconfig", ENOSYS, NR_OPEN_TREE + 3, ALWAYS },
  { "fsmount", ENOSYS, NR_OPEN_TREE + 4, ALWAYS },
  { "fspick", ENOSYS, NR_OPEN_TREE + 5, ALWAYS },
  { "mount_setattr", ENOSYS, NR_MOUNT_SETATTR, ALWAYS },
  { "memfd_secret", ENOSYS, NR_MEMFD_SECRET, ALWAYS },
  { "first-unknown-call", ENOSYS, NR_FIRST_UNKNOWN, ALWAYS },
  { "far-unknown-call", ENOSYS, 100000, ALWAYS },
  CALL (io_setup, ENOSYS, ALWAYS), CALL (io_submit, ENOSYS, ALWAYS), CALL (io_getevents, ENOSYS, ALWAYS),
  CALL (mount, EPERM, ALWAYS), CALL (umount2, EPERM, ALWAYS), CALL (pivot_root, EPERM, ALWAYS), CALL (chroot, EPERM, ALWAYS),
  CALL (unshare, EPERM, ALWAYS), CALL (setns, EPERM, ALWAYS),
  CALL (add_key, EPERM, ALWAYS), CALL (request_key, EPERM, ALWAYS), CALL (keyctl, EPERM, ALWAYS),
  CALL (ptrace, EPERM, UNLESS_DEBUGGED), CALL (process_vm_readv, EPERM, UNLESS_DEBUGGED),
  CALL (process_vm_writev, EPERM, UNLESS_DEBUGGED), CALL (kcmp, EPERM, UNLESS_DEBUGGED),
  { "pidfd_getfd", EPERM, NR_PIDFD_GETFD, ALWAYS },
  CALL (bpf, EPERM, ALWAYS), CALL (perf_event_open, EPERM, ALWAYS), CALL (userfaultfd, EPERM, ALWAYS),
  CALL (lookup_dcookie, EPERM, ALWAYS), CALL (syslog, EPERM, ALWAYS),
  CALL (name_to_handle_at, EPERM, ALWAYS), CALL (open_by_handle_at, EPERM, ALWAYS), CALL (fanotify_init, EPERM, ALWAYS),
  CALL (kexec_load, EPERM, ALWAYS), CALL (init_module, EPERM, ALWAYS), CALL (finit_module, EPERM, ALWAYS),
  CALL (delete_module, EPERM, ALWAYS), CALL (reboot, EPERM, ALWAYS), CALL (swapon, EPERM, ALWAYS), CALL (swapoff, EPERM, ALWAYS),
  CALL (acct, EPERM, ALWAYS), CALL (quotactl, EPERM, ALWAYS), { "quotactl_fd", EPERM, NR_QUOTACTL_FD, ALWAYS },
  CALL (nfsservctl, EPERM, ALWAYS), CALL (vhangup, EPERM, ALWAYS), CALL (sethostname, EPERM, ALWAYS), CALL (setdomainname, EPERM, ALWAYS),
  CALL (settimeofday, EPERM, ALWAYS), CALL (clock_settime, EPERM, ALWAYS), CALL (clock_adjtime, EPERM, ALWAYS), CALL (adjtimex, EPERM, ALWAYS),
  CALL (move_pages, EPERM, ALWAYS), CALL (migrate_pages, EPERM, ALWAYS), CALL (mbind, EPERM, ALWAYS),
  CALL (set_mempolicy, EPERM, ALWAYS), CALL (get_mempolicy, EPERM, ALWAYS),
  { "set_mempolicy_home_node", EPERM, NR_SET_MEMPOLICY_HOME_NODE, ALWAYS },
#ifdef SYS_kexec_file_load
  CALL (kexec_file_load, EPERM, ALWAYS),
#endif
#ifdef __x86_64__
  CALL (create_module, EPERM, ALWAYS), CALL (query_module, EPERM, ALWAYS), CALL (get_kernel_syms, EPERM, ALWAYS),
  CALL (uselib, EPERM, ALWAYS), CALL (ustat, EPERM, ALWAYS), CALL (sysfs, EPERM, ALWAYS), CALL (_sysctl, EPERM, ALWAYS),
  CALL (modify_ldt, EPERM, ALWAYS), CALL (iopl, EPERM, ALWAYS), CALL (ioperm, EPERM, ALWAYS),
#endif
  CALL (setuid, EPERM, STRICT), CALL (setgid, EPERM, STRICT), CALL (setreuid, EPERM, STRICT), CALL (setregid, EPERM, STRICT),
  CALL (setfsuid, EPERM, STRICT), CALL (setfsgid, EPERM, STRICT), CALL (setgroups, EPERM, STRICT), CALL (capset, EPERM, STRICT),
  CALL (setrlimit, EPERM, STRICT), CALL (setpriority, EPERM, STRICT), CALL (ioprio_set, EPERM, STRICT),
  CALL (sched_setaffinity, EPERM, STRICT), CALL (sched_setattr, EPERM, STRICT), CALL (sched_setparam, EPERM, STRICT),
  CALL (sched_setscheduler, EPERM, STRICT), CALL (personality, EPERM, STRICT), CALL (mq_open, EPERM, STRICT),
};
/* clang-format on */

typedef struct
{
  const char *name;
  int         error;
  long        number;
  unsigned    kinds;
  long        arguments[4];
} CheckArguments;

/* clang-format off */
static const CheckArguments check_arguments[] = {
  { "personality-read-implies-exec", EPERM, SYS_personality, ALWAYS, { 0x0400000 } },
  { "personality-no-randomize", EPERM, SYS_personality, UNLESS_DEBUGGED, { 0x0040000 } },
  { "prlimit64-open-files", EPERM, SYS_prlimit64, STRICT, { 0, 7, -1, 0 } },
  { "setresuid-real", EPERM, SYS_setresuid, STRICT, { 0, 0xffffffff, 0xffffffff } },
  { "setresgid-real", EPERM, SYS_setresgid, STRICT, { 0, 0xffffffff, 0xffffffff } },
  { "ioctl-sti", EPERM, SYS_ioctl, ALWAYS, { -1, REQUEST_STI } },
  { "ioctl-sti-64-bit", EPERM, SYS_ioctl, ALWAYS, { -1, HIGH (REQUEST_STI) } },
  { "ioctl-linux", EPERM, SYS_ioctl, ALWAYS, { -1, REQUEST_LINUX } },
  { "fcntl-lease", EPERM, SYS_fcntl, ALWAYS, { -1, COMMAND_SETLEASE } },
  { "socket-vsock-64-bit", EAFNOSUPPORT, SYS_socket, ALWAYS, { HIGH (FAMILY_VSOCK), SOCK_STREAM } },
  { "socket-netlink-netfilter", EAFNOSUPPORT, SYS_socket, ALWAYS, { AF_NETLINK, SOCK_RAW, 12 } },
  { "socketpair-inet", EAFNOSUPPORT, SYS_socketpair, ALWAYS, { AF_INET, SOCK_STREAM, 0, -1 } },
};

/* Of these the path or descriptor is no good. */
static const CheckArguments check_set_id[] = {
#ifdef SYS_chmod
  { "chmod-set-id", EPERM, SYS_chmod, ALWAYS, { -1, 04755 } },
  { "mknod-set-id", EPERM, SYS_mknod, ALWAYS, { -1, 0104755 } },
  { "mkdir-set-id", EPERM, SYS_mkdir, ALWAYS, { -1, 02755 } },
  { "creat-set-id", EPERM, SYS_creat, ALWAYS, { -1, 04755 } },
  { "open-set-id", EPERM, SYS_open, ALWAYS, { -1, O_CREAT | O_WRONLY, 04755 } },
#endif
  { "fchmod-set-id", EPERM, SYS_fchmod, ALWAYS, { -1, 02755 } },
  { "fchmodat-set-id", EPERM, SYS_fchmodat, ALWAYS, { -1, -1, 04755 } },
  { "fchmodat2-set-id", EPERM, NR_FCHMODAT2, ALWAYS, { -1, -1, 04755 } },
  { "mknodat-set-id", EPERM, SYS_mknodat, ALWAYS, { -1, -1, 0104755 } },
  { "mkdirat-set-id", EPERM, SYS_mkdirat, ALWAYS, { -1, -1, 02755 } },
  { "openat-set-id", EPERM, SYS_openat, ALWAYS, { -1, -1, O_CREAT | O_WRONLY, 04755 } },
  { "openat-tmpfile-set-id", EPERM, SYS_openat, ALWAYS, { -1, -1, O_TMPFILE | O_WRONLY, 02755 } },
  { "openat2", ENOSYS, NR_OPENAT2, ALWAYS, { -1, -1, -1, -1 } },
};

static const struct
{
  const char *name;
  long        flag;
} check_namespaces[] = {
  { "clone-user", 0x10000000 }, { "clone-mount", 0x00020000 }, { "clone-process", 0x20000000 }, { "clone-network", 0x40000000 },
  { "clone-ipc", 0x08000000 }, { "clone-uts", 0x04000000 }, { "clone-cgroup", 0x02000000 },
};
/* clang-format on */

static bool   check_failed;
static char   check_text[16384];
static size_t check_size;

static void
check_tell (const char *name,
            int         error,
            int         expected)
{
  int size = snprintf (check_text + check_size, sizeof check_text - check_size, "%s %d %d\n", name, error, expected);

  if (size < 0 || (size_t) size >= sizeof check_text - check_size)
    _exit (AGENT_EXIT_FAILURE);
  check_size += (size_t) size;
  check_failed = check_failed || error != expected;
}

static void
check_table (const CheckArguments *table,
             size_t                n_entries,
             unsigned              kind)
{
  for (size_t i = 0; i < n_entries; i++)
    if ((table[i].kinds & kind) != 0)
      {
        const long *arguments = table[i].arguments;
        long        result = syscall (table[i].number, arguments[0], arguments[1], arguments[2], arguments[3], 0, 0);

        check_tell (table[i].name, result < 0 ? errno : 0, table[i].error);
      }
}

static void
check_clones (void)
{
  for (size_t i = 0; i < sizeof check_namespaces / sizeof check_namespaces[0]; i++)
    {
      long pid = syscall (SYS_clone, check_namespaces[i].flag | SIGCHLD, 0, 0, 0, 0);
      int  error = pid < 0 ? errno : 0;

      if (pid == 0)
        _exit (0);
      if (pid > 0)
        waitpid ((pid_t) pid, NULL, 0);
      check_tell (check_namespaces[i].name, error, EPERM);
    }
}

#ifdef __x86_64__
static int
check_by_gate (void)
{
  long result;

  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(20L /* getpid */)
                   : "memory", "r8", "r9", "r10", "r11");
  return result < 0 ? (int) -result : 0;
}

static int
check_by_x32 (void)
{
  return syscall (X32_BIT | SYS_getpid) < 0 ? errno : 0;
}

/* Calls by another door may be the end of the process: by this filter, by one around it, or by a kernel that has no such
 * door. */
static void
check_apart (const char *name,
             int (*call) (void),
             int expected)
{
  pid_t pid = fork ();
  int   status = 0;

  if (pid == 0)
    _exit (call () & 0xff);
  /* where a limit allows no process, there is nothing to try */
  if (pid > 0 && waitpid (pid, &status, 0) == pid)
    check_tell (name, WIFSIGNALED (status) ? expected : WEXITSTATUS (status), expected);
}
#endif

void
agent_check (int    argc,
             char **argv)
{
  static const char *const kinds[] = { "default", "strict", "debugger" };
  unsigned                 kind = 0;

  if (argc != 2)
    _exit (AGENT_EXIT_FAILURE);
  for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (strcmp (argv[0], kinds[i]) == 0)
      kind = 1u << i;
  if (kind == 0)
    _exit (AGENT_EXIT_FAILURE);

  for (size_t i = 0; i < sizeof check_calls / sizeof check_calls[0]; i++)
    if ((check_calls[i].kinds & kind) != 0)
      {
        long result = syscall (check_calls[i].number, -1L, -1L, -1L, -1L, -1L, -1L);

        check_tell (check_calls[i].name, result < 0 ? errno : 0, check_calls[i].error);
      }
  check_table (check_arguments, sizeof check_arguments / sizeof check_arguments[0], kind);
  for (long family = 0; family < 64; family++)
    if (family != AF_UNSPEC && family != AF_UNIX && family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
      {
        char name[32];
        long result = syscall (SYS_socket, family, SOCK_RAW, 0);

        snprintf (name, sizeof name, "socket-family-%ld", family);
        check_tell (name, result < 0 ? errno : 0, EAFNOSUPPORT);
      }
  if (strcmp (argv[1], "set-id") == 0)
    check_table (check_set_id, sizeof check_set_id / sizeof check_set_id[0], kind);
  check_clones ();
#ifdef __x86_64__
  check_apart ("32-bit-gate", check_by_gate, EPERM);
  check_apart ("x32-call", check_by_x32, ENOSYS);
#endif
  check_tell ("end", 0, 0);
  if (write (STDOUT_FILENO, check_text, check_size) != (ssize_t) check_size)
    _exit (AGENT_EXIT_FAILURE);
  _exit (check_failed ? 1 : 0);
}
