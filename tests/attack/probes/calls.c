/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls that no guest may make, one line each: name and what became of it.
 *
 * calls kernel      namespaces, mounts, keys, other processes, devices, the machine
 * calls set-id      ways to a set-user-ID file, in the working directory
 * calls files       files of the kernel and of the agent, opened for writing or reading
 * calls terminal    typing into a terminal, by whatever descriptor
 * calls int80       a call by the gate of 32-bit programs (x86-64)
 * calls x32         a call of the x32 numbers (x86-64)
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers that are the same everywhere; the C library may be older than the calls. */
#define NR_OPEN_TREE 428
#define NR_MOVE_MOUNT 429
#define NR_FSOPEN 430
#define NR_FSCONFIG 431
#define NR_FSMOUNT 432
#define NR_FSPICK 433
#define NR_CLONE3 435
#define NR_OPENAT2 437
#define NR_PIDFD_GETFD 438
#define NR_MOUNT_SETATTR 442
#define NR_QUOTACTL_FD 443
#define NR_MEMFD_SECRET 447
#define NR_FCHMODAT2 452
#define NR_FIRST_UNKNOWN 463
#define NR_OPEN_TREE_ATTR 467
#define NR_IO_URING_SETUP 425
#define NR_IO_URING_ENTER 426
#define NR_IO_URING_REGISTER 427

#define KEYCTL_GET_KEYRING_ID 0
#define TIOCLINUX_REQUEST 0x541c

static void
tell (const char *name,
      long        result)
{
  static const struct
  {
    int         number;
    const char *name;
  } names[] = {
    { EPERM, "EPERM" },
    { ENOSYS, "ENOSYS" },
    { EACCES, "EACCES" },
    { EROFS, "EROFS" },
    { EAFNOSUPPORT, "EAFNOSUPPORT" },
    { EINVAL, "EINVAL" },
    { ENOENT, "ENOENT" },
    { EBADF, "EBADF" },
    { EFAULT, "EFAULT" },
    { EEXIST, "EEXIST" },
    { ENXIO, "ENXIO" },
    { ENOTTY, "ENOTTY" },
  };
  int error = errno;

  if (result >= 0)
    {
      printf ("%s done\n", name);
      return;
    }
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].number == error)
      {
        printf ("%s %s\n", name, names[i].name);
        return;
      }
  printf ("%s errno-%d\n", name, error);
}

#define TELL(call, ...) tell (#call, syscall (SYS_##call, __VA_ARGS__))

/* The child of a clone that should have failed must not print all this a second time. */
static void
tell_clone (const char   *name,
            unsigned long flags)
{
  long pid = syscall (SYS_clone, flags | 17 /* SIGCHLD */, 0, 0, 0, 0);

  if (pid == 0)
    _exit (0);
  tell (name, pid);
}

static void
tell_socket (const char *name,
             long        family,
             long        type,
             long        protocol)
{
  tell (name, syscall (SYS_socket, family, type, protocol));
}

static void
try_namespaces (void)
{
  static const struct
  {
    const char   *unshare_name;
    const char   *clone_name;
    unsigned long flag;
  } kinds[] = {
    { "unshare-user", "clone-user", 0x10000000 },
    { "unshare-mount", "clone-mount", 0x00020000 },
    { "unshare-pid", "clone-pid", 0x20000000 },
    { "unshare-network", "clone-network", 0x40000000 },
    { "unshare-ipc", "clone-ipc", 0x08000000 },
    { "unshare-uts", "clone-uts", 0x04000000 },
    { "unshare-cgroup", "clone-cgroup", 0x02000000 },
  };
  static const uint64_t clone3_arguments[8] = { 0x10000000, 0, 0, 0, 17, 0, 0, 0 };
  long                  pid;

  for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    {
      tell (kinds[i].unshare_name, syscall (SYS_unshare, kinds[i].flag));
      tell_clone (kinds[i].clone_name, kinds[i].flag);
    }
  tell ("unshare-time", syscall (SYS_unshare, 0x80));
  pid = syscall (NR_CLONE3, clone3_arguments, sizeof clone3_arguments);
  if (pid == 0)
    _exit (0);
  tell ("clone3", pid);
  TELL (setns, open ("/proc/self/ns/net", O_RDONLY), 0);
}

static void
try_mounts (void)
{
  TELL (mount, "none", "/tmp", "tmpfs", 0, 0);
  TELL (umount2, "/tmp", 2);
  TELL (pivot_root, "/tmp", "/tmp");
  TELL (chroot, "/tmp");
  tell ("open_tree", syscall (NR_OPEN_TREE, -100, "/usr", 1));
  tell ("open_tree_attr", syscall (NR_OPEN_TREE_ATTR, -100, "/usr", 1, 0, 0));
  tell ("move_mount", syscall (NR_MOVE_MOUNT, -1, "", -100, "/tmp", 4));
  tell ("fsopen", syscall (NR_FSOPEN, "tmpfs", 0));
  tell ("fsconfig", syscall (NR_FSCONFIG, -1, 6, 0, 0, 0));
  tell ("fsmount", syscall (NR_FSMOUNT, -1, 0, 0));
  tell ("fspick", syscall (NR_FSPICK, -100, "/tmp", 0));
  tell ("mount_setattr", syscall (NR_MOUNT_SETATTR, -100, "/usr", 0, 0, 0));
}

static void
try_processes (void)
{
  char buffer[64];
  struct iovec_of_two
  {
    void  *base;
    size_t size;
  } local = { buffer, sizeof buffer };

  TELL (ptrace, 0, 0, 0, 0);
  tell ("ptrace-1", syscall (SYS_ptrace, 16, 1, 0, 0));
  TELL (process_vm_readv, 1, &local, 1, &local, 1, 0);
  TELL (process_vm_writev, 1, &local, 1, &local, 1, 0);
  tell ("pidfd_getfd", syscall (NR_PIDFD_GETFD, -1, 0, 0));
  TELL (kcmp, 1, 1, 0, 0, 0);
  TELL (keyctl, KEYCTL_GET_KEYRING_ID, -3, 0);
  TELL (add_key, "user", "name", "payload", 7, -3);
  TELL (request_key, "user", "name", 0, -3);
  TELL (bpf, 0, 0, 0);
  TELL (perf_event_open, 0, 0, -1, -1, 0);
  TELL (userfaultfd, 0);
  tell ("io_uring_setup", syscall (NR_IO_URING_SETUP, 8, 0));
  tell ("io_uring_enter", syscall (NR_IO_URING_ENTER, -1, 0, 0, 0, 0, 0));
  tell ("io_uring_register", syscall (NR_IO_URING_REGISTER, -1, 0, 0, 0));
  tell ("memfd_secret", syscall (NR_MEMFD_SECRET, 0));
  TELL (name_to_handle_at, -100, "/usr", 0, 0, 0);
  TELL (open_by_handle_at, -1, 0, 0);
  TELL (fanotify_init, 0, 0);
  TELL (personality, 0x0040000);
  tell ("capset", syscall (SYS_capset, (const uint32_t[]){ 0x20080522, 0 }, (const uint32_t[]){ ~0u, ~0u, 0, ~0u, ~0u, 0 }));
  tell ("setuid-0", setuid (0) == 0 ? 0 : (errno = errno == EINVAL ? EPERM : errno, -1));
  tell ("setgid-0", setgid (0) == 0 ? 0 : (errno = errno == EINVAL ? EPERM : errno, -1));
  tell ("securebits", prctl (PR_SET_SECUREBITS, 0, 0, 0, 0));
  tell ("lease", syscall (SYS_fcntl, 0, F_SETLEASE, F_RDLCK));
  tell ("unknown-call", syscall (NR_FIRST_UNKNOWN, 0, 0, 0, 0, 0, 0));
}

static void
try_machine (void)
{
  static const long time_of_day[2] = { 1, 0 };

  TELL (kexec_load, 0, 0, 0, 0);
  TELL (init_module, 0, 0, "");
  TELL (finit_module, -1, "", 0);
  TELL (delete_module, "none", 0);
  TELL (reboot, 0, 0, 0, 0);
  TELL (swapon, "/tmp", 0);
  TELL (swapoff, "/tmp");
  TELL (acct, 0);
  TELL (quotactl, 0, 0, 0, 0);
  tell ("quotactl_fd", syscall (NR_QUOTACTL_FD, -1, 0, 0, 0));
  TELL (sethostname, "name", 4);
  TELL (setdomainname, "name", 4);
  TELL (settimeofday, time_of_day, 0);
  TELL (clock_settime, 0, time_of_day);
  TELL (adjtimex, 0);
  TELL (syslog, 3, 0, 0);
  TELL (mbind, 0, 0, 0, 0, 0, 0);
  TELL (set_mempolicy, 0, 0, 0);
#ifdef SYS_iopl
  TELL (iopl, 3);
  TELL (ioperm, 0, 1, 1);
  TELL (modify_ldt, 0, 0, 0);
#endif
}

/* The kernel looks at 32 bits of a family and of a request: what is above them must not help. */
static void
try_sockets (void)
{
  static const char character = 'x';

  tell_socket ("socket-packet", 17, SOCK_RAW, 0);
  tell_socket ("socket-key", 15, SOCK_RAW, 2);
  tell_socket ("socket-can", 29, SOCK_RAW, 1);
  tell_socket ("socket-rds", 21, SOCK_SEQPACKET, 0);
  tell_socket ("socket-tipc", 30, SOCK_STREAM, 0);
  tell_socket ("socket-bluetooth", 31, SOCK_RAW, 1);
  tell_socket ("socket-alg", 38, SOCK_SEQPACKET, 0);
  tell_socket ("socket-vsock", 40, SOCK_STREAM, 0);
  tell_socket ("socket-xdp", 44, SOCK_RAW, 0);
  tell_socket ("socket-vsock-64-bit", 0x100000028, SOCK_STREAM, 0);
  tell_socket ("socket-netfilter", 16, SOCK_RAW, 12);
  tell_socket ("socket-audit", 16, SOCK_RAW, 9);
  tell_socket ("socket-raw", 2, SOCK_RAW, 1);
  tell ("ioctl-sti", syscall (SYS_ioctl, 0, (unsigned long) TIOCSTI, &character));
  tell ("ioctl-sti-64-bit", syscall (SYS_ioctl, 0, 0xdead00005412, &character));
  tell ("ioctl-linux", syscall (SYS_ioctl, 0, (unsigned long) TIOCLINUX_REQUEST, &character));
}

static void
try_set_id (void)
{
  static const uint64_t how[3] = { O_CREAT | O_WRONLY, 04755, 0 };
  int                   fd = open ("mine", O_CREAT | O_RDWR, 0755);

  TELL (fchmod, fd, 04755);
  tell ("fchmod-group", syscall (SYS_fchmod, fd, 02755));
  TELL (fchmodat, -100, "mine", 04755);
  tell ("fchmodat2", syscall (NR_FCHMODAT2, -100, "mine", 04755, 0));
  tell ("mknodat", syscall (SYS_mknodat, -100, "made-1", S_IFREG | 04755, 0));
  tell ("mkdirat", syscall (SYS_mkdirat, -100, "made-2", 02775));
  tell ("openat", syscall (SYS_openat, -100, "made-3", O_CREAT | O_WRONLY, 04755));
  tell ("openat-tmpfile", syscall (SYS_openat, -100, ".", O_TMPFILE | O_WRONLY, 04755));
  tell ("openat2", syscall (NR_OPENAT2, -100, "made-4", how, sizeof how));
#ifdef SYS_chmod
  TELL (chmod, "mine", 04755);
  tell ("mknod", syscall (SYS_mknod, "made-5", S_IFREG | 04755, 0));
  tell ("mkdir", syscall (SYS_mkdir, "made-6", 02775));
  tell ("creat", syscall (SYS_creat, "made-7", 04755));
  tell ("open", syscall (SYS_open, "made-8", O_CREAT | O_WRONLY, 04755));
#endif
  tell ("mknod-device", mknod ("made-9", S_IFCHR | 0666, (dev_t) 0x103));
  tell ("file-capability", syscall (SYS_setxattr, "mine", "security.capability", "\1\0\0\2\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0));
}

static void
try_files (void)
{
  static const struct
  {
    const char *path;
    int         flags;
  } files[] = {
    { "/run/sandbox-agent", O_WRONLY },
    { "/proc/1/exe", O_WRONLY },
    { "/proc/1/mem", O_RDWR },
    { "/proc/1/environ", O_RDONLY },
    { "/proc/1/fd", O_RDONLY },
    { "/proc/1/root", O_RDONLY },
    { "/proc/1/cwd", O_RDONLY },
    { "/proc/1/maps", O_RDONLY },
    { "/proc/self/exe", O_WRONLY },
    { "/proc/sys/kernel/core_pattern", O_WRONLY },
    { "/proc/sys/kernel/hostname", O_WRONLY },
    { "/proc/sys/user/max_user_namespaces", O_WRONLY },
    { "/proc/sys/vm/drop_caches", O_WRONLY },
    { "/proc/sysrq-trigger", O_WRONLY },
    { "/proc/kcore", O_RDONLY },
    { "/proc/self/uid_map", O_WRONLY },
    { "/usr/bin/true", O_WRONLY },
    { "/etc/passwd", O_WRONLY },
    { "/etc/ld.so.cache", O_WRONLY },
    { "/new", O_WRONLY | O_CREAT },
    { "/dev/new", O_WRONLY | O_CREAT },
    { "/etc/new", O_WRONLY | O_CREAT },
    { "/run/new", O_WRONLY | O_CREAT },
    { "/usr/new", O_WRONLY | O_CREAT },
    { "/bin/new", O_WRONLY | O_CREAT },
  };

  for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++)
    {
      int fd = open (files[i].path, files[i].flags, 0644);

      /* some may be opened, and refuse what counts */
      if (fd >= 0 && (files[i].flags & O_ACCMODE) != O_RDONLY)
        {
          char byte = '\0';

          tell (files[i].path, write (fd, &byte, 1));
          close (fd);
        }
      else
        tell (files[i].path, fd);
    }
}

static void
try_terminal (void)
{
  static const char *const names[][2] = { { "sti-0", "linux-0" }, { "sti-1", "linux-1" }, { "sti-2", "linux-2" }, { "sti-tty", "linux-tty" } };
  static const char        character = 'x';

  for (int i = 0; i < 4; i++)
    {
      int fd = i < 3 ? i : open ("/dev/tty", O_RDWR | O_NOCTTY);

      tell (names[i][0], syscall (SYS_ioctl, fd, (unsigned long) TIOCSTI, &character));
      tell (names[i][1], syscall (SYS_ioctl, fd, (unsigned long) TIOCLINUX_REQUEST, "\3x"));
    }
}

#ifdef __x86_64__
static void
try_int80 (void)
{
  long result;

  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(20L /* getpid */)
                   : "memory", "r8", "r9", "r10", "r11");
  errno = result < 0 ? (int) -result : 0;
  tell ("int80", result < 0 ? -1 : result);
}
#endif

int
main (int    argc,
      char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";

  setvbuf (stdout, NULL, _IOLBF, 0);
  if (strcmp (what, "kernel") == 0)
    {
      try_namespaces ();
      try_mounts ();
      try_processes ();
      try_machine ();
      try_sockets ();
    }
  else if (strcmp (what, "set-id") == 0)
    try_set_id ();
  else if (strcmp (what, "files") == 0)
    try_files ();
  else if (strcmp (what, "terminal") == 0)
    try_terminal ();
#ifdef __x86_64__
  else if (strcmp (what, "int80") == 0)
    try_int80 ();
  else if (strcmp (what, "x32") == 0)
    tell ("x32", syscall (0x40000000 | SYS_getpid));
#endif
  else
    return 123;
  return 0;
}
