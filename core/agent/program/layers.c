/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What holds a command beside its namespaces: no rights to gain, rules for files, a filter for system calls. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAP_SETPCAP 8
/* NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each with its lock, and the lock of KEEP_CAPS */
#define SECUREBITS (0x03 | 0x0c | 0x20 | 0xc0)

#define LANDLOCK_VERSION 1 /* a flag: only ask */
#define LANDLOCK_PATH_BENEATH 1

#define ACCESS_EXECUTE (1u << 0)
#define ACCESS_WRITE_FILE (1u << 1)
#define ACCESS_READ_FILE (1u << 2)
#define ACCESS_READ_DIR (1u << 3)
#define ACCESS_TRUNCATE (1u << 14)
#define ACCESS_IOCTL_DEV (1u << 15)
#define ACCESS_OF_FILES (ACCESS_EXECUTE | ACCESS_WRITE_FILE | ACCESS_READ_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)

/* Abstract Unix sockets, and signals */
#define SCOPE_ALL 0x03

struct ruleset_attr
{
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

struct path_beneath_attr
{
  uint64_t allowed_access;
  int32_t  parent_fd;
} __attribute__ ((packed));

bool
agent_drop_privileges (int kept)
{
  uint32_t sets[6];

  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
      prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
      !agent_get_capabilities (sets))
    return false;
  /* without SETPCAP the bounding set must be empty already, and then the securebits would change nothing */
  if ((sets[0] & (1u << CAP_SETPCAP)) != 0 && prctl (PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0)
    return false;
  for (int capability = 0, held; (held = prctl (PR_CAPBSET_READ, capability, 0, 0, 0)) >= 0; capability++)
    if (held != 0 && prctl (PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
      return false;
  return agent_keep_capability (kept);
}

/* What a kernel of this version of Landlock can deny. The first version is of no use: it denies every rename from one
 * directory to another. TCP is never denied: the network is the sandbox's own, or all of it is allowed. */
static struct ruleset_attr
rules_get_handled (long version)
{
  struct ruleset_attr attr = { 0 };

  if (version >= 2)
    attr.handled_access_fs = ACCESS_TRUNCATE - 1;
  if (version >= 3)
    attr.handled_access_fs |= ACCESS_TRUNCATE;
  if (version >= 5)
    attr.handled_access_fs |= ACCESS_IOCTL_DEV;
  if (version >= 6)
    attr.scoped = SCOPE_ALL;
  return attr;
}

static uint64_t
rules_get_access (uint32_t flags)
{
  uint64_t access = 0;

  if ((flags & SANDBOX_AGENT_RULE_LIST) != 0)
    access |= ACCESS_READ_DIR;
  if ((flags & (SANDBOX_AGENT_RULE_READ | SANDBOX_AGENT_RULE_PROC)) != 0)
    access |= ACCESS_READ_DIR | ACCESS_READ_FILE | ACCESS_EXECUTE;
  /* what a shell does to write to such a file is to truncate it first */
  if ((flags & SANDBOX_AGENT_RULE_PROC) != 0)
    access |= ACCESS_WRITE_FILE | ACCESS_TRUNCATE;
  if ((flags & SANDBOX_AGENT_RULE_DEVICE) != 0)
    access |= ACCESS_READ_DIR | ACCESS_READ_FILE | ACCESS_WRITE_FILE | ACCESS_IOCTL_DEV;
  if ((flags & SANDBOX_AGENT_RULE_WRITE) != 0)
    access = UINT64_MAX;
  return access;
}

static bool
rules_add (int                     ruleset_fd,
           const SandboxAgentRule *rule,
           uint64_t                handled)
{
  struct path_beneath_attr beneath = { rules_get_access (rule->flags) & handled, agent_open_path (AT_FDCWD, rule->path, 0) };
  struct stat              found;
  int                      error = 0;

  if (beneath.parent_fd < 0)
    return (rule->flags & SANDBOX_AGENT_RULE_OPTIONAL) != 0 && errno == ENOENT;
  if (fstat (beneath.parent_fd, &found) < 0)
    error = errno;
  else if (!S_ISDIR (found.st_mode))
    beneath.allowed_access &= ACCESS_OF_FILES;
  if (error == 0 && beneath.allowed_access != 0 &&
      syscall (SYS_landlock_add_rule, ruleset_fd, LANDLOCK_PATH_BENEATH, &beneath, 0) < 0)
    error = errno;
  close (beneath.parent_fd);
  errno = error;
  return error == 0;
}

/* Those for what slots share, or the others. */
static bool
rules_add_some (const SandboxAgentSetup *setup,
                int                      ruleset_fd,
                uint64_t                 handled,
                bool                     shared,
                SandboxAgentFailed      *failed)
{
  for (uint32_t i = 0; i < setup->n_rules; i++)
    if (agent_slots_share (setup, setup->rules[i].path) == shared &&
        !rules_add (ruleset_fd, &setup->rules[i], handled))
      {
        *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_LANDLOCK, errno, i + 1 };
        return false;
      }
  return true;
}

static long
rules_get_version (void)
{
  return syscall (SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
}

bool
agent_rules_begin (const SandboxAgentSetup *setup,
                   int                     *ruleset_fd,
                   SandboxAgentFailed      *failed)
{
  struct ruleset_attr attr;
  long                version;

  *ruleset_fd = -1;
  if (setup->n_rules == 0)
    return true;

  version = rules_get_version ();
  /* not in this kernel, or not among its security modules: the host knows from its probe */
  if (version < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
    return true;
  attr = rules_get_handled (version);
  if (version >= 0 && attr.handled_access_fs == 0)
    return true;
  *ruleset_fd = version < 0 ? -1 : (int) syscall (SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
  if (*ruleset_fd < 0)
    {
      *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_LANDLOCK, errno, 0 };
      return false;
    }
  return rules_add_some (setup, *ruleset_fd, attr.handled_access_fs, true, failed);
}

bool
agent_rules_finish (const SandboxAgentSetup *setup,
                    int                      ruleset_fd,
                    SandboxAgentFailed      *failed)
{
  return ruleset_fd < 0 || rules_add_some (setup, ruleset_fd, rules_get_handled (rules_get_version ()).handled_access_fs, false, failed);
}

bool
agent_rules_enforce (int ruleset_fd)
{
  return ruleset_fd < 0 || syscall (SYS_landlock_restrict_self, ruleset_fd, 0) == 0;
}

bool
agent_filter_enforce (const struct agent_sock_fprog *filter)
{
  return prctl (PR_SET_SECCOMP, AGENT_SECCOMP_MODE_FILTER, filter, 0, 0) == 0;
}
