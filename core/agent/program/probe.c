/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tries, one by one, what bwrap and the agent ask of the kernel, as the user who would ask for it, and tells the errno
 * of each: a line "NAME ERRNO VALUE" on the standard output, and "end 0 0" when nothing was cut off. What needs a step
 * that failed is left out. All of it happens in children and in namespaces of their own; nothing stays.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every system has it, and in a mount namespace of our own it is ours to cover. */
#define PROBE_PLACE "/tmp"

static bool
probe_write (const char *path,
             const char *text)
{
  int  fd = open (path, O_WRONLY | O_CLOEXEC);
  bool good = fd >= 0 && write (fd, text, strlen (text)) == (ssize_t) strlen (text);
  int  error = errno;

  if (fd >= 0)
    close (fd);
  errno = error;
  return good;
}

/* True when it went well. One write, as other processes write to the same pipe. */
static bool
probe_tell (const char *name,
            bool        good,
            long        value)
{
  char line[128];
  int  error = good ? 0 : errno;
  int  size = snprintf (line, sizeof line, "%s %d %ld\n", name, error, value);

  if (write (STDOUT_FILENO, line, (size_t) size) != size)
    _exit (AGENT_EXIT_FAILURE);
  return good;
}

/* Runs @body in a process of its own. */
static void
probe_apart (void (*body) (void))
{
  pid_t pid = fork ();
  int   status;

  if (pid == 0)
    {
      body ();
      _exit (0);
    }
  if (pid < 0 || waitpid (pid, &status, 0) != pid || status != 0)
    _exit (AGENT_EXIT_FAILURE);
}

static bool
probe_map_identity (uid_t uid,
                    gid_t gid)
{
  char uid_map[64];
  char gid_map[64];

  snprintf (uid_map, sizeof uid_map, "0 %u 1", (unsigned) uid);
  snprintf (gid_map, sizeof gid_map, "0 %u 1", (unsigned) gid);
  return probe_write ("/proc/self/setgroups", "deny") &&
         probe_write ("/proc/self/uid_map", uid_map) &&
         probe_write ("/proc/self/gid_map", gid_map);
}

static bool
probe_mount (void)
{
  const unsigned long flags = MS_NOSUID | MS_NODEV;

  return mount ("tmpfs", PROBE_PLACE, "tmpfs", flags, "size=64k,mode=0755") == 0 &&
         mkdir (PROBE_PLACE "/usr", 0755) == 0 &&
         mount ("/usr", PROBE_PLACE "/usr", NULL, MS_BIND | MS_REC, NULL) == 0 &&
         mount ("none", PROBE_PLACE "/usr", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) == 0;
}

static bool
probe_raise_loopback (void)
{
  struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
  int          fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool         good = fd >= 0 && ioctl (fd, SIOCSIFFLAGS, &request) == 0;
  int          error = errno;

  if (fd >= 0)
    close (fd);
  errno = error;
  return good;
}

/* As process 1 of a process namespace, whose /proc is to be mounted. */
static void
probe_proc (void)
{
  if (probe_tell ("fresh-proc", mount ("proc", PROBE_PLACE, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0, 0))
    probe_tell ("forbid-user-namespaces", probe_write (PROBE_PLACE "/sys/user/max_user_namespaces", "0"), 0);
}

static void
probe_nested (void)
{
  probe_tell ("nested-user-namespace", unshare (CLONE_NEWUSER) == 0, 0);
}

static void
probe_namespaces (void)
{
  const uid_t uid = geteuid ();
  const gid_t gid = getegid ();

  if (!probe_tell ("user-namespace", unshare (CLONE_NEWUSER) == 0, 0) ||
      !probe_tell ("identity-map", probe_map_identity (uid, gid), 0))
    return;

  probe_apart (probe_nested);
  probe_tell ("host-name", unshare (CLONE_NEWUTS) == 0 && sethostname ("probe", 5) == 0, 0);
  probe_tell ("ipc-namespace", unshare (CLONE_NEWIPC) == 0, 0);
  /* bwrap does without it only where the kernel knows none. */
  if (access ("/proc/self/ns/cgroup", F_OK) == 0)
    probe_tell ("cgroup-namespace", unshare (CLONE_NEWCGROUP) == 0, 0);
  if (probe_tell ("network-namespace", unshare (CLONE_NEWNET) == 0, 0))
    probe_tell ("loopback", probe_raise_loopback (), 0);
  if (!probe_tell ("mount-namespace", unshare (CLONE_NEWNS) == 0 && mount (NULL, "/", NULL, MS_SILENT | MS_SLAVE | MS_REC, NULL) == 0, 0) ||
      !probe_tell ("mounts", probe_mount (), 0))
    return;
  if (probe_tell ("process-namespace", unshare (CLONE_NEWPID) == 0, 0))
    probe_apart (probe_proc);
}

static void
probe_filter (void)
{
  struct agent_sock_filter allow = { 0x06 /* return */, 0, 0, 0x7fff0000 /* allow */ };
  struct agent_sock_fprog  program = { 1, &allow };

  probe_tell ("filter",
              prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl (PR_SET_SECCOMP, AGENT_SECCOMP_MODE_FILTER, &program) == 0, 0);
}

void
agent_probe (int argc)
{
  long version;

  if (argc != 0)
    _exit (AGENT_EXIT_FAILURE);

  probe_apart (probe_namespaces);
  probe_apart (probe_filter);
  version = syscall (SYS_landlock_create_ruleset, NULL, 0, 1 /* the version, please */);
  /* the first version is not used */
  if (version == 1)
    errno = EOPNOTSUPP;
  probe_tell ("landlock", version > 1, version > 0 ? version : 0);
  probe_tell ("end", true, 0);
  _exit (0);
}
