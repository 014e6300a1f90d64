/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The system call filters, evaluated as the kernel would: every kind, with and without the rule for set-id files, for both
 * architectures, whichever of them this machine has.
 */
#include "sandbox-agent-filter-private.h"
#include "sandbox-agent-protocol.h"
#include "sandbox-error.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>

#define NEWEST 462
#define FCHMODAT2 452
#define ALL_KINDS 7
#define DEFAULT (1 << SANDBOX_FILTER_DEFAULT)
#define STRICT (1 << SANDBOX_FILTER_STRICT)
#define DEBUGGER (1 << SANDBOX_FILTER_DEBUGGER)

static const guint32     architectures[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };
static const char *const architecture_names[] = { "x86-64", "arm64" };
static const char *const kind_names[] = { "default", "strict", "debugger" };

/* ---- The kernel's part --------------------------------------------------------------------------------------------- */

static guint32
evaluate (GBytes                    *program,
          const struct seccomp_data *data)
{
  gsize                     size = 0;
  const struct sock_filter *code = g_bytes_get_data (program, &size);
  const gsize               n = size / sizeof *code;
  guint32                   accumulator = 0;

  for (gsize at = 0; at < n; at++)
    {
      const struct sock_filter *one = &code[at];

      switch (one->code)
        {
        case BPF_LD | BPF_W | BPF_ABS:
          g_assert_cmpuint (one->k % 4, ==, 0);
          g_assert_cmpuint (one->k, <, sizeof *data);
          memcpy (&accumulator, (const char *) data + one->k, 4);
          break;
        case BPF_ALU | BPF_AND | BPF_K:
          accumulator &= one->k;
          break;
        case BPF_JMP | BPF_JA:
          at += one->k;
          break;
        case BPF_JMP | BPF_JEQ | BPF_K:
          at += accumulator == one->k ? one->jt : one->jf;
          break;
        case BPF_JMP | BPF_JGT | BPF_K:
          at += accumulator > one->k ? one->jt : one->jf;
          break;
        case BPF_JMP | BPF_JGE | BPF_K:
          at += accumulator >= one->k ? one->jt : one->jf;
          break;
        case BPF_JMP | BPF_JSET | BPF_K:
          at += (accumulator & one->k) != 0 ? one->jt : one->jf;
          break;
        case BPF_RET | BPF_K:
          return one->k;
        default:
          g_error ("instruction %#x", one->code);
        }
    }

  g_error ("the program has no end");
}

/* One filter */
typedef struct
{
  SandboxFilter kind;
  gboolean      forbid_set_id;
  guint         architecture; /* in the tables above */
  GBytes       *program;
  GBytes       *beside; /* nullable: the one of a slot, where the first is of its session */
} Filter;

/* Of several filters the one that allows least has its way, and a lower number allows less. */
static guint32
filter_evaluate (const Filter              *self,
                 const struct seccomp_data *data)
{
  const guint32 judged = evaluate (self->program, data);

  return self->beside != NULL ? MIN (judged, evaluate (self->beside, data)) : judged;
}

static guint32
filter_judge_number (const Filter  *self,
                     guint32        number,
                     const guint64 *arguments)
{
  struct seccomp_data data = { .nr = (int) number, .arch = architectures[self->architecture] };

  if (arguments != NULL)
    memcpy (data.args, arguments, sizeof data.args);

  return filter_evaluate (self, &data);
}

static void
filter_assert_number (const Filter  *self,
                      const char    *name,
                      guint32        number,
                      const guint64 *arguments,
                      int            error)
{
  const guint32 expected = error != 0 ? SECCOMP_RET_ERRNO | (guint32) error : SECCOMP_RET_ALLOW;
  const guint32 judged = filter_judge_number (self, number, arguments);

  if (judged != expected)
    g_error ("%s%s, %s: %s (%u; %#" G_GINT64_MODIFIER "x, %#" G_GINT64_MODIFIER "x, %#" G_GINT64_MODIFIER "x) is %#x instead of %#x",
             kind_names[self->kind], self->forbid_set_id ? " without set-id" : "", architecture_names[self->architecture], name, number,
             arguments != NULL ? arguments[0] : 0, arguments != NULL ? arguments[1] : 0, arguments != NULL ? arguments[2] : 0, judged, expected);
}

/* FALSE where the architecture has no such call. */
static gboolean
filter_assert (const Filter  *self,
               const char    *name,
               const guint64 *arguments,
               int            error)
{
  int number = g_str_equal (name, "fchmodat2") ? FCHMODAT2 : seccomp_syscall_resolve_name_arch (architectures[self->architecture], name);

  if (number == __NR_SCMP_ERROR)
    g_error ("no architecture has %s", name);
  if (number < 0)
    return FALSE;
  filter_assert_number (self, name, (guint32) number, arguments, error);

  return TRUE;
}

static GBytes *
filter_compile (const Filter          *self,
                SandboxAgentFilterPart part)
{
  g_autoptr (GError) error = NULL;
  GBytes *program = sandbox_agent_filter_compile (self->kind, self->forbid_set_id, part, architectures[self->architecture], &error);

  g_assert_no_error (error);

  return program;
}

/* Calls @test with each filter there is, in one and in two. */
static void
with_each (void (*test) (const Filter *filter))
{
  for (guint i = 0; i < 24; i++)
    {
      const gboolean divided = i / 12 == 1;
      Filter         filter = { .kind = (SandboxFilter) (i % 3), .forbid_set_id = i / 3 % 2 == 1, .architecture = i / 6 % 2 };

      filter.program = filter_compile (&filter, divided ? SANDBOX_AGENT_FILTER_OF_SESSION : SANDBOX_AGENT_FILTER_WHOLE);
      filter.beside = divided ? filter_compile (&filter, SANDBOX_AGENT_FILTER_OF_SLOT) : NULL;
      test (&filter);
      g_bytes_unref (filter.program);
      g_clear_pointer (&filter.beside, g_bytes_unref);
    }
}

/* ---- What must be refused ------------------------------------------------------------------------------------------ */

typedef struct
{
  const char *name;
  int         error;
  guint       kinds; /* that refuse it whatever its arguments are */
} Entry;

/* clang-format off */
static const Entry entries[] = {
  { "clone3", ENOSYS, ALL_KINDS }, { "io_uring_setup", ENOSYS, ALL_KINDS }, { "io_uring_enter", ENOSYS, ALL_KINDS },
  { "io_uring_register", ENOSYS, ALL_KINDS }, { "io_setup", ENOSYS, ALL_KINDS }, { "io_destroy", ENOSYS, ALL_KINDS },
  { "io_submit", ENOSYS, ALL_KINDS }, { "io_cancel", ENOSYS, ALL_KINDS }, { "io_getevents", ENOSYS, ALL_KINDS }, { "io_pgetevents", ENOSYS, ALL_KINDS }, { "open_tree", ENOSYS, ALL_KINDS }, { "move_mount", ENOSYS, ALL_KINDS },
  { "fsopen", ENOSYS, ALL_KINDS }, { "fsconfig", ENOSYS, ALL_KINDS }, { "fsmount", ENOSYS, ALL_KINDS },
  { "fspick", ENOSYS, ALL_KINDS }, { "mount_setattr", ENOSYS, ALL_KINDS }, { "memfd_secret", ENOSYS, ALL_KINDS },

  { "mount", EPERM, ALL_KINDS }, { "umount2", EPERM, ALL_KINDS }, { "pivot_root", EPERM, ALL_KINDS }, { "chroot", EPERM, ALL_KINDS },
  { "unshare", EPERM, ALL_KINDS }, { "setns", EPERM, ALL_KINDS },
  { "add_key", EPERM, ALL_KINDS }, { "request_key", EPERM, ALL_KINDS }, { "keyctl", EPERM, ALL_KINDS },
  { "bpf", EPERM, ALL_KINDS }, { "perf_event_open", EPERM, ALL_KINDS }, { "userfaultfd", EPERM, ALL_KINDS },
  { "ptrace", EPERM, DEFAULT | STRICT }, { "process_vm_readv", EPERM, DEFAULT | STRICT }, { "process_vm_writev", EPERM, DEFAULT | STRICT },
  { "kcmp", EPERM, DEFAULT | STRICT }, { "pidfd_getfd", EPERM, ALL_KINDS },
  { "open_by_handle_at", EPERM, ALL_KINDS }, { "name_to_handle_at", EPERM, ALL_KINDS },
  { "kexec_load", EPERM, ALL_KINDS }, { "kexec_file_load", EPERM, ALL_KINDS }, { "init_module", EPERM, ALL_KINDS },
  { "finit_module", EPERM, ALL_KINDS }, { "delete_module", EPERM, ALL_KINDS }, { "create_module", EPERM, ALL_KINDS },
  { "query_module", EPERM, ALL_KINDS }, { "get_kernel_syms", EPERM, ALL_KINDS }, { "reboot", EPERM, ALL_KINDS },
  { "swapon", EPERM, ALL_KINDS }, { "swapoff", EPERM, ALL_KINDS }, { "acct", EPERM, ALL_KINDS }, { "quotactl", EPERM, ALL_KINDS },
  { "quotactl_fd", EPERM, ALL_KINDS }, { "syslog", EPERM, ALL_KINDS }, { "nfsservctl", EPERM, ALL_KINDS },
  { "lookup_dcookie", EPERM, ALL_KINDS }, { "uselib", EPERM, ALL_KINDS }, { "ustat", EPERM, ALL_KINDS }, { "sysfs", EPERM, ALL_KINDS },
  { "_sysctl", EPERM, ALL_KINDS }, { "modify_ldt", EPERM, ALL_KINDS }, { "iopl", EPERM, ALL_KINDS }, { "ioperm", EPERM, ALL_KINDS },
  { "settimeofday", EPERM, ALL_KINDS }, { "clock_settime", EPERM, ALL_KINDS }, { "clock_adjtime", EPERM, ALL_KINDS },
  { "adjtimex", EPERM, ALL_KINDS }, { "sethostname", EPERM, ALL_KINDS }, { "setdomainname", EPERM, ALL_KINDS },
  { "vhangup", EPERM, ALL_KINDS }, { "fanotify_init", EPERM, ALL_KINDS }, { "move_pages", EPERM, ALL_KINDS },
  { "migrate_pages", EPERM, ALL_KINDS }, { "mbind", EPERM, ALL_KINDS }, { "set_mempolicy", EPERM, ALL_KINDS },
  { "set_mempolicy_home_node", EPERM, ALL_KINDS }, { "get_mempolicy", EPERM, ALL_KINDS },

  { "setuid", EPERM, STRICT }, { "setgid", EPERM, STRICT }, { "setreuid", EPERM, STRICT }, { "setregid", EPERM, STRICT },
  { "setfsuid", EPERM, STRICT }, { "setfsgid", EPERM, STRICT },
  { "setgroups", EPERM, STRICT }, { "capset", EPERM, STRICT },
  { "setrlimit", EPERM, STRICT }, { "setpriority", EPERM, STRICT }, { "ioprio_set", EPERM, STRICT },
  { "sched_setaffinity", EPERM, STRICT }, { "sched_setattr", EPERM, STRICT }, { "sched_setparam", EPERM, STRICT },
  { "sched_setscheduler", EPERM, STRICT }, { "personality", EPERM, STRICT },
  { "mq_open", EPERM, STRICT }, { "fanotify_mark", EPERM, STRICT },
  { "process_madvise", EPERM, STRICT }, { "process_mrelease", EPERM, STRICT }, { "remap_file_pages", EPERM, STRICT },
};

/* What every program is made of */
static const char *const needed[] = {
  "read", "write", "openat", "close", "newfstatat", "statx", "lseek", "mmap", "mprotect", "munmap", "brk", "rt_sigaction",
  "rt_sigprocmask", "rt_sigreturn", "pread64", "pwrite64", "readv", "writev", "faccessat", "faccessat2", "pipe2", "ppoll", "pselect6",
  "sched_yield", "mremap", "madvise", "dup", "dup3", "nanosleep", "clock_nanosleep", "clock_gettime", "getpid", "gettid", "sendto",
  "recvfrom", "sendmsg", "recvmsg", "connect", "bind", "listen", "accept4", "execve", "execveat", "exit", "exit_group", "wait4",
  "waitid", "kill", "tgkill", "uname", "flock", "fsync", "truncate", "ftruncate", "fallocate", "getdents64", "getcwd", "chdir",
  "fchdir", "renameat", "renameat2", "mkdirat", "unlinkat", "linkat", "symlinkat", "readlinkat", "fchmod", "fchmodat", "fchown",
  "fchownat", "umask", "getrusage", "sysinfo", "times", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getgroups", "setsid",
  "setpgid", "getsid", "prctl", "set_tid_address", "set_robust_list", "futex", "sched_getaffinity", "epoll_create1", "epoll_ctl",
  "epoll_pwait", "eventfd2", "signalfd4", "timerfd_create", "timerfd_settime", "inotify_init1", "inotify_add_watch", "getrandom",
  "memfd_create", "copy_file_range", "rseq", "close_range", "pidfd_open", "pidfd_send_signal", "membarrier", "mlock", "getxattr",
  "setxattr", "utimensat", "statfs", "sendfile", "splice", "shmget", "semget", "timer_create", "getcpu", "prlimit64", "sigaltstack",
  "landlock_create_ruleset", "seccomp", "fchmodat2",
  /* x86-64 alone */
  "open", "stat", "lstat", "access", "pipe", "fork", "vfork", "dup2", "poll", "select", "rename", "mkdir", "rmdir", "unlink", "link",
  "symlink", "readlink", "chmod", "chown", "arch_prctl", "time", "alarm", "getrlimit", "epoll_wait",
};
/* clang-format on */

static void
check_entries (const Filter *filter)
{
  guint n_tried = 0;

  for (guint i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      static const guint64 all_bits[6] = { G_MAXUINT64, G_MAXUINT64, G_MAXUINT64, G_MAXUINT64, G_MAXUINT64, G_MAXUINT64 };
      const gboolean       refused = (entries[i].kinds & 1u << filter->kind) != 0;

      if (filter_assert (filter, entries[i].name, NULL, refused ? entries[i].error : 0))
        n_tried++;
      if (refused)
        filter_assert (filter, entries[i].name, all_bits, entries[i].error);
    }
  g_assert_cmpuint (n_tried, >=, 80);
  for (guint i = 0; i < G_N_ELEMENTS (needed); i++)
    filter_assert (filter, needed[i], NULL, 0);
  filter_assert (filter, "openat2", NULL, filter->forbid_set_id ? ENOSYS : 0);
}

static void
test_entries (void)
{
  g_test_summary ("Each call of the lists, by name, on each architecture that has it; and what programs need is let through");
  with_each (check_entries);
}

/* ---- Numbers ------------------------------------------------------------------------------------------------------- */

static void
check_numbers (const Filter *filter)
{
  static const guint32 newer[] = { NEWEST + 1, 467, 500, 512, 547, 1000, 0x3fffffff, 0x40000000, 0x40000000 + 39, 0x40000200, 0x7fffffff, 0x80000000, 0xffffffff };
  static const guint32 strangers[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_PPC64LE, 0, G_MAXUINT32 };
  gsize                size = g_bytes_get_size (filter->program);
  guint                n_allowed = 0;

  g_assert_cmpuint (size % SANDBOX_AGENT_INSTRUCTION_SIZE, ==, 0);
  g_assert_cmpuint (size / SANDBOX_AGENT_INSTRUCTION_SIZE, <=, SANDBOX_AGENT_N_INSTRUCTIONS_MAX);
  g_test_message ("%s%s, %s: %" G_GSIZE_FORMAT " instructions", kind_names[filter->kind], filter->forbid_set_id ? " without set-id" : "",
                  architecture_names[filter->architecture], size / SANDBOX_AGENT_INSTRUCTION_SIZE);

  /* also those of x32, which have a bit more */
  for (guint i = 0; i < G_N_ELEMENTS (newer); i++)
    filter_assert_number (filter, "a newer call", newer[i], NULL, ENOSYS);

  for (guint i = 0; i < G_N_ELEMENTS (strangers) + 1; i++)
    for (guint32 number = 0; number <= NEWEST + 100; number++)
      {
        struct seccomp_data data = { .nr = (int) number, .arch = i < G_N_ELEMENTS (strangers) ? strangers[i] : architectures[1 - filter->architecture] };

        g_assert_cmphex (filter_evaluate (filter, &data), ==, SECCOMP_RET_KILL_PROCESS);
      }

  /* Of the strict filter each number is looked at: no hole in the table is open. */
  for (guint32 number = 0; number <= NEWEST; number++)
    {
      char    *name = seccomp_syscall_resolve_num_arch (architectures[filter->architecture], (int) number);
      guint32  judged = filter_judge_number (filter, number, NULL);
      gboolean allowed = judged == SECCOMP_RET_ALLOW;

      n_allowed += allowed;
      if (!allowed)
        g_assert_true (judged == (SECCOMP_RET_ERRNO | EPERM) || judged == (SECCOMP_RET_ERRNO | ENOSYS) || judged == (SECCOMP_RET_ERRNO | EAFNOSUPPORT));
      if (allowed && filter->kind == SANDBOX_FILTER_STRICT && name == NULL && number != FCHMODAT2)
        g_error ("the strict filter allows %u, which has no name", number);
      if (number > 450 && number != FCHMODAT2 && filter->kind == SANDBOX_FILTER_STRICT)
        g_assert_cmphex (judged, ==, SECCOMP_RET_ERRNO | ENOSYS);
      free (name);
    }
  if (filter->kind == SANDBOX_FILTER_STRICT)
    g_assert_cmpuint (n_allowed, <, 260);
  else
    g_assert_cmpuint (n_allowed, >, filter->architecture == 0 ? 280 : 230);
}

static void
test_numbers (void)
{
  g_test_summary ("Newer numbers and those of x32 do not exist, other architectures are the end, and the strict list has no hole");
  with_each (check_numbers);
}

/* ---- Arguments ----------------------------------------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  guint64     arguments[6];
  int         error;
} Call;

#define HIGH(value) (G_GUINT64_CONSTANT (0xdead00000000) | (value))

static const Call calls[] = {
  { "clone", { 17 }, 0 },
  { "clone", { CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID }, 0 },
  { "clone", { CLONE_VM | CLONE_VFORK | 17 }, 0 },
  { "clone", { 0x80 | 17 }, 0 }, /* not a time namespace, but a part of a signal's number */
  { "clone", { CLONE_NEWUSER | 17 }, EPERM },
  { "clone", { CLONE_NEWNS | 17 }, EPERM },
  { "clone", { CLONE_NEWPID | 17 }, EPERM },
  { "clone", { CLONE_NEWNET | 17 }, EPERM },
  { "clone", { CLONE_NEWIPC | 17 }, EPERM },
  { "clone", { CLONE_NEWUTS | 17 }, EPERM },
  { "clone", { CLONE_NEWCGROUP | 17 }, EPERM },
  { "clone", { HIGH (CLONE_NEWUSER) }, EPERM },
  { "clone", { CLONE_NEWUSER | CLONE_NEWNS | CLONE_VM }, EPERM },

  { "ioctl", { 0, TCGETS }, 0 },
  { "ioctl", { 0, TIOCSTI }, EPERM },
  { "ioctl", { 0, HIGH (TIOCSTI) }, EPERM },
  { "ioctl", { 0, TIOCLINUX }, EPERM },
  { "ioctl", { 0, HIGH (TIOCLINUX) }, EPERM },
  { "fcntl", { 0, F_SETFL }, 0 },
  { "fcntl", { 0, F_OFD_SETLK }, 0 },
  { "fcntl", { 0, F_SETLEASE }, EPERM },
  { "fcntl", { 0, HIGH (F_SETLEASE) }, EPERM },

  { "socket", { AF_UNSPEC }, 0 },
  { "socket", { AF_UNIX, SOCK_STREAM }, 0 },
  { "socket", { AF_INET, SOCK_DGRAM, 17 }, 0 },
  { "socket", { AF_INET6, SOCK_STREAM, 6 }, 0 },
  { "socket", { AF_NETLINK, SOCK_RAW, 0 }, 0 },
  { "socket", { AF_NETLINK, SOCK_RAW, 12 }, EAFNOSUPPORT },
  { "socket", { AF_NETLINK, SOCK_RAW, HIGH (16) }, EAFNOSUPPORT },
  { "socket", { HIGH (AF_NETLINK), SOCK_RAW, 9 }, EAFNOSUPPORT },
  { "socket", { AF_PACKET }, EAFNOSUPPORT },
  { "socket", { AF_VSOCK }, EAFNOSUPPORT },
  { "socket", { HIGH (AF_VSOCK) }, EAFNOSUPPORT },
  { "socket", { AF_ALG }, EAFNOSUPPORT },
  { "socket", { AF_BLUETOOTH }, EAFNOSUPPORT },
  { "socket", { AF_CAN }, EAFNOSUPPORT },
  { "socket", { AF_XDP }, EAFNOSUPPORT },
  { "socketpair", { AF_UNIX }, 0 },
  { "socketpair", { AF_INET }, EAFNOSUPPORT },
  { "socketpair", { HIGH (AF_TIPC) }, EAFNOSUPPORT },
};

static void
check_arguments (const Filter *filter)
{
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    filter_assert (filter, calls[i].name, calls[i].arguments, calls[i].error);
  for (guint64 family = 0; family < 64; family++)
    {
      const guint64 arguments[6] = { family };

      filter_assert (filter, "socket", arguments,
                     family == AF_UNSPEC || family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK ? 0 : EAFNOSUPPORT);
    }
}

static void
test_arguments (void)
{
  g_test_summary ("Where arguments decide, they are compared as the kernel does: by 32 bits");
  with_each (check_arguments);
}

static void
check_personality (const Filter *filter)
{
  static const guint32 unusual[] = {
    ADDR_NO_RANDOMIZE, READ_IMPLIES_EXEC, ADDR_COMPAT_LAYOUT, MMAP_PAGE_ZERO, UNAME26, PER_LINUX32, ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC,
    0xffffffff, 0xfffbffff, 0x7fffffff, 0xfffffffe, 0x80000000, 0xfffdffff, 0x00020000, 0x00080000
  };
  const gboolean is_debugger = filter->kind == SANDBOX_FILTER_DEBUGGER;

  filter_assert (filter, "personality", NULL, filter->kind == SANDBOX_FILTER_STRICT ? EPERM : 0);
  for (guint i = 0; i < G_N_ELEMENTS (unusual); i++)
    {
      const guint64 arguments[6] = { unusual[i] };
      const guint64 high[6] = { HIGH (unusual[i]) };
      const int     error = is_debugger && (unusual[i] == ADDR_NO_RANDOMIZE || unusual[i] == 0xffffffff) ? 0 : EPERM;

      filter_assert (filter, "personality", arguments, error);
      filter_assert (filter, "personality", high, error);
    }
  for (guint bit = 0; bit < 32; bit++)
    {
      const guint64 one[6] = { 1u << bit };
      const guint64 all_but_one[6] = { ~(1u << bit) };

      filter_assert (filter, "personality", one, is_debugger && 1u << bit == ADDR_NO_RANDOMIZE ? 0 : EPERM);
      filter_assert (filter, "personality", all_but_one, EPERM);
    }
}

static void
test_personality (void)
{
  g_test_summary ("Of personalities there is the usual one; a debugger may ask for it and turn off the randomisation of addresses");
  with_each (check_personality);
}

static void
check_limits (const Filter *filter)
{
  const guint64 reads[6] = { 0, 7, 0, 0x7fff0000 };
  const guint64 sets[6] = { 0, 7, 0x7fff0000, 0 };
  const guint64 sets_high[6] = { 0, 7, HIGH (0), 0 };
  const guint64 no_core[6] = { 0, 4, 0x7fff0000, 0 };
  const guint64 high_core[6] = { 0, HIGH (4), 0x7fff0000, 0 };

  filter_assert (filter, "prlimit64", reads, 0);
  filter_assert (filter, "prlimit64", sets, filter->kind == SANDBOX_FILTER_STRICT ? EPERM : 0);
  filter_assert (filter, "prlimit64", sets_high, filter->kind == SANDBOX_FILTER_STRICT ? EPERM : 0);
  filter_assert (filter, "prlimit64", no_core, 0);
  filter_assert (filter, "prlimit64", high_core, filter->kind == SANDBOX_FILTER_STRICT ? EPERM : 0);
}

static void
test_limits (void)
{
  g_test_summary ("With the strict filter limits can be read and not set, but for that of core dumps");
  with_each (check_limits);
}

static void
check_ids (const Filter *filter)
{
  static const char *const names[] = { "setresuid", "setresgid" };
  static const guint64     changes[][6] = {
        { 0, 0, 0 }, { 1000, 1000, 1000 }, { G_MAXUINT32, 1000, 1000 }, { 1000, 1000, G_MAXUINT32 }, { 0, G_MAXUINT32, 0 }, { G_MAXUINT64, 0, G_MAXUINT64 }
  };
  static const guint64 effective[6] = { G_MAXUINT32, 1000, G_MAXUINT32 };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      for (guint j = 0; j < G_N_ELEMENTS (changes); j++)
        filter_assert (filter, names[i], changes[j], filter->kind == SANDBOX_FILTER_STRICT ? EPERM : 0);
      filter_assert (filter, names[i], effective, 0);
    }
}

static void
test_ids (void)
{
  g_test_summary ("With the strict filter a process can set its effective ids, as posix_spawn () does, but no other");
  with_each (check_ids);
}

static void
check_set_id (const Filter *filter)
{
  static const struct
  {
    const char *name;
    guint       argument;
    guint64     flags; /* in the argument before */
  } makes[] = {
    { "chmod", 1, 0 }, { "fchmod", 1, 0 }, { "fchmodat", 2, 0 }, { "fchmodat2", 2, 0 }, { "mknod", 1, 0 }, { "mknodat", 2, 0 }, { "mkdir", 1, 0 }, { "mkdirat", 2, 0 }, { "creat", 1, 0 }, { "open", 2, O_CREAT | O_WRONLY }, { "openat", 3, O_CREAT | O_WRONLY }, { "open", 2, 020000000 | O_WRONLY }, { "openat", 3, 020000000 | O_WRONLY }
  };
  static const guint64 modes[] = { 04755, 02755, 06777, 04000, 02000, HIGH (04755) };
  static const guint64 fine[] = { 0, 0644, 0755, 01777, 0777 };

  for (guint i = 0; i < G_N_ELEMENTS (makes); i++)
    {
      guint64 arguments[6] = { 0 };

      if (makes[i].flags != 0)
        arguments[makes[i].argument - 1] = makes[i].flags;
      for (guint j = 0; j < G_N_ELEMENTS (modes); j++)
        {
          arguments[makes[i].argument] = modes[j];
          filter_assert (filter, makes[i].name, arguments, filter->forbid_set_id ? EPERM : 0);
        }
      for (guint j = 0; j < G_N_ELEMENTS (fine); j++)
        {
          arguments[makes[i].argument] = fine[j];
          filter_assert (filter, makes[i].name, arguments, 0);
        }
      if (makes[i].flags == 0)
        continue;
      /* without one that makes a file, the mode is whatever lies there */
      arguments[makes[i].argument - 1] = O_RDWR | O_TRUNC | O_APPEND;
      arguments[makes[i].argument] = 04755;
      filter_assert (filter, makes[i].name, arguments, 0);
    }
}

static void
test_set_id (void)
{
  g_test_summary ("Case 92: no call makes a set-id file where that is forbidden, and all make any other");
  with_each (check_set_id);
}

static void
test_unsupported (void)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("There is no filter for other architectures, so nothing runs there");
  g_assert_null (sandbox_agent_filter_compile (SANDBOX_FILTER_DEFAULT, FALSE, SANDBOX_AGENT_FILTER_WHOLE, AUDIT_ARCH_PPC64LE, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
}

static void
test_shared (void)
{
  g_autoptr (GBytes) first = sandbox_agent_filter_get (SANDBOX_FILTER_STRICT, TRUE, SANDBOX_AGENT_FILTER_WHOLE, NULL);
  g_autoptr (GBytes) second = sandbox_agent_filter_get (SANDBOX_FILTER_STRICT, TRUE, SANDBOX_AGENT_FILTER_WHOLE, NULL);
  g_autoptr (GBytes) other = sandbox_agent_filter_get (SANDBOX_FILTER_STRICT, FALSE, SANDBOX_AGENT_FILTER_WHOLE, NULL);
  g_autoptr (GBytes) part = sandbox_agent_filter_get (SANDBOX_FILTER_STRICT, TRUE, SANDBOX_AGENT_FILTER_OF_SLOT, NULL);
  g_autoptr (GBytes) debugger = sandbox_agent_filter_get (SANDBOX_FILTER_DEBUGGER, TRUE, SANDBOX_AGENT_FILTER_WHOLE, NULL);

  g_test_summary ("Each filter is made once");
  g_assert_true (first == second);
  g_assert_false (g_bytes_equal (first, other));
  g_assert_false (g_bytes_equal (first, part));
  g_assert_false (g_bytes_equal (first, debugger));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent-filter/entries", test_entries);
  g_test_add_func ("/agent-filter/numbers", test_numbers);
  g_test_add_func ("/agent-filter/arguments", test_arguments);
  g_test_add_func ("/agent-filter/personality", test_personality);
  g_test_add_func ("/agent-filter/limits", test_limits);
  g_test_add_func ("/agent-filter/ids", test_ids);
  g_test_add_func ("/agent-filter/set-id", test_set_id);
  g_test_add_func ("/agent-filter/unsupported", test_unsupported);
  g_test_add_func ("/agent-filter/shared", test_shared);

  return g_test_run ();
}
