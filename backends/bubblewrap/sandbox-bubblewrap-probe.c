/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-probe.h"

#include "sandbox-bubblewrap-fd.h"
#include "sandbox-bubblewrap-launch.h"
#include "sandbox-bubblewrap-program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* bwrap says its version at once; the kernel's part takes some ten milliseconds on a quiet machine. */
#define VERSION_LIMIT_US G_USEC_PER_SEC
#define PROBE_LIMIT_US (10 * G_USEC_PER_SEC)
#define PROBE_OUTPUT_MAX 4096

/* What a session holds open itself, and some for what its profile mounts. */
#define OPEN_FILES 48

/* When there is no sandbox without a step. */
typedef enum
{
  NEED_NEVER,
  NEED_ALWAYS,
  NEED_FOR_PROC,      /* where the profile insists on a procfs */
  NEED_UNLESS_ABSENT, /* where the kernel has it */
} StepNeed;

/* The steps of "sandbox-agent probe", in its order. */
typedef struct
{
  const char *name;
  const char *what; /* was tried */
  StepNeed    need;
  const char *limit; /* the sysctl below user. that bounds how many there are; nullable */
  const char *consequence;
  const char *remedy; /* NULL: as the switches for user namespaces stand */
} StepInfo;

#define NO_SESSION "No session can be created"
#define NO_NETWORK "Only sessions that have the host's network can be created"
#define ALLOW "A security module or the container forbids it: allow it there"
#define ALLOW_NETWORK "A security module or the container forbids configuring a network in user namespaces: allow it there"
#define ALLOW_MOUNT "A security module or the container forbids mounts in user namespaces: allow mount (2) there"
#define UNCOVER_PROC                                                                                                           \
 "Parts of /proc are covered here, as container engines do: start the container with an uncovered /proc (podman: unmask=ALL, " \
 "docker: systempaths=unconfined), or ask for a profile with “proc” auto or none"

/* clang-format off */
static const StepInfo step_infos[] = {
  { "user-namespace", "A user namespace of its own", NEED_ALWAYS, "max_user_namespaces",
    NO_SESSION, NULL },
  { "identity-map", "An identity in that namespace", NEED_ALWAYS, NULL,
    NO_SESSION, NULL },
  { "nested-user-namespace", "A user namespace in that namespace", NEED_NEVER, "max_user_namespaces",
    "Every command needs a bwrap of its own", ALLOW },
  { "host-name", "A host name of its own", NEED_ALWAYS, "max_uts_namespaces",
    NO_SESSION, ALLOW },
  { "ipc-namespace", "System V objects of its own", NEED_ALWAYS, "max_ipc_namespaces",
    NO_SESSION, ALLOW },
  { "cgroup-namespace", "A view of its own on control groups", NEED_ALWAYS, "max_cgroup_namespaces",
    NO_SESSION, ALLOW },
  { "network-namespace", "A network of its own", NEED_ALWAYS, "max_net_namespaces",
    NO_NETWORK, ALLOW_NETWORK },
  { "loopback", "A loopback device in that network", NEED_ALWAYS, NULL,
    NO_NETWORK, ALLOW_NETWORK },
  { "mount-namespace", "Mounts of its own that do not reach the host", NEED_ALWAYS, "max_mnt_namespaces",
    NO_SESSION, ALLOW_MOUNT },
  { "mounts", "A tmpfs and a read-only bind", NEED_ALWAYS, NULL,
    NO_SESSION, ALLOW_MOUNT },
  { "process-namespace", "Process numbers of its own", NEED_ALWAYS, "max_pid_namespaces",
    NO_SESSION, ALLOW },
  { "fresh-proc", "A /proc for these processes", NEED_FOR_PROC, NULL,
    "Only sessions whose profile has no /proc (proc none or self-exe) can be created", UNCOVER_PROC },
  { "forbid-user-namespaces", "Forbidding further user namespaces by the kernel", NEED_FOR_PROC, NULL,
    "Further user namespaces are forbidden by the filter alone", UNCOVER_PROC },
  { "filter", "A filter of system calls", NEED_ALWAYS, NULL,
    NO_SESSION, "Use a kernel with CONFIG_SECCOMP_FILTER" },
  { "landlock", "Rules of Landlock", NEED_UNLESS_ABSENT, NULL,
    "Commands are not held by Landlock beside the mounts",
    "Use a kernel from 5.19 on that was started with “landlock” in its list of security modules; where a filter of the container "
    "forbids Landlock, allow it there, or let it say that there is none (ENOSYS)" },
};
/* clang-format on */

void
sandbox_bubblewrap_probe_free (SandboxBubblewrapProbe *self)
{
  g_clear_pointer (&self->steps, g_ptr_array_unref);
  g_free (self);
}

static SandboxReportStep *
sandbox_bubblewrap_probe_add (SandboxBubblewrapProbe *self,
                              const char             *name,
                              gboolean                ok,
                              const char             *evidence)
{
  SandboxReportStep *step = sandbox_report_step_new (name, ok);

  sandbox_report_step_set_evidence (step, evidence);
  g_ptr_array_add (self->steps, step);

  return step;
}

static void
sandbox_bubblewrap_probe_add_failed (SandboxBubblewrapProbe *self,
                                     const char             *name,
                                     const char             *evidence,
                                     const char             *consequence,
                                     const char             *remedy,
                                     gboolean                needed)
{
  SandboxReportStep *step = sandbox_bubblewrap_probe_add (self, name, FALSE, evidence);

  sandbox_report_step_set_consequence (step, consequence);
  sandbox_report_step_set_remedy (step, remedy);
  if (needed && self->failed == NULL)
    self->failed = step;
}

/* ---- This program ------------------------------------------------------------------------------------------------ */

/* Whether a session's descriptors can be had, above the numbers that bwrap gets. */
static gboolean
sandbox_bubblewrap_probe_can_open_files (void)
{
  g_auto (SandboxBubblewrapFd) fd = open ("/", O_PATH | O_CLOEXEC);
  int   fds[OPEN_FILES];
  guint n_fds = 0;

  while (n_fds < OPEN_FILES && (fds[n_fds] = fcntl (fd, F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD)) >= 0)
    n_fds++;
  for (guint i = 0; i < n_fds; i++)
    close (fds[i]);

  return n_fds == OPEN_FILES;
}

/* Without these nothing else can be tried. */
static void
sandbox_bubblewrap_probe_look_at_host (SandboxBubblewrapProbe *self)
{
  g_autofree char *evidence = NULL;
  struct rlimit    limit = { 0 };

  if (access ("/proc/self/fd", F_OK) == 0)
    sandbox_bubblewrap_probe_add (self, "host-proc", TRUE, "This program finds itself in /proc");
  else
    sandbox_bubblewrap_probe_add_failed (self, "host-proc", "This program finds no /proc of its own", NO_SESSION, "Mount procfs on /proc", TRUE);

  getrlimit (RLIMIT_NOFILE, &limit);
  evidence = g_strdup_printf ("This program may have %" G_GUINT64_FORMAT " open files", (guint64) limit.rlim_cur);
  if (sandbox_bubblewrap_probe_can_open_files ())
    sandbox_bubblewrap_probe_add (self, "open-files", TRUE, evidence);
  else
    {
      g_autofree char *too_few = g_strconcat (evidence, ", which leaves too few for a session", NULL);

      sandbox_bubblewrap_probe_add_failed (self, "open-files", too_few, NO_SESSION,
                                           "Raise the limit of open files (RLIMIT_NOFILE, ulimit -n) to 1024", TRUE);
    }
}

/* ---- Running a program as the user who would --------------------------------------------------------------------- */

static void
sandbox_bubblewrap_probe_end_child (pid_t pid)
{
  /* It leads a session, and a process group, of its own. */
  kill (-pid, SIGKILL);
  kill (pid, SIGKILL);
  while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
    ;
}

/* What comes out of @fd before its end, the limit or the bound. */
static char *
sandbox_bubblewrap_probe_read (int    fd,
                               gint64 limit_us)
{
  const gint64 end = g_get_monotonic_time () + limit_us;
  GString     *text = g_string_new (NULL);

  while (text->len < PROBE_OUTPUT_MAX)
    {
      char          bytes[512];
      gint64        left_us = end - g_get_monotonic_time ();
      struct pollfd waited = { fd, POLLIN, 0 };
      gssize        size = 0;

      if (left_us <= 0 || poll (&waited, 1, (int) (left_us / 1000) + 1) == 0)
        break;
      size = read (fd, bytes, sizeof bytes);
      if (size < 0 && errno == EINTR)
        continue;
      if (size <= 0)
        break;
      g_string_append_len (text, bytes, size);
    }

  return g_string_free (text, FALSE);
}

/* @program_fd with these arguments, by way of the agent, which takes the identity. NULL when it cannot be started. */
static char *
sandbox_bubblewrap_probe_run (int         agent_fd,
                              int         program_fd,
                              guint       uid,
                              guint       gid,
                              const char *argv0,
                              const char *argument,
                              gint64      limit_us)
{
  const gboolean    keep_id = uid == G_MAXUINT;
  g_autofree char  *parent = g_strdup_printf ("%d", (int) getpid ());
  g_autofree char  *uid_text = keep_id ? g_strdup ("-1") : g_strdup_printf ("%u", uid);
  g_autofree char  *gid_text = keep_id ? g_strdup ("-1") : g_strdup_printf ("%u", gid);
  const char *const argv[] = {
    "sandbox-agent", "launch", parent, uid_text, gid_text, "4", "2", "-1", argv0, argument, NULL
  };
  posix_spawn_file_actions_t actions;
  g_auto (SandboxBubblewrapFd) read_fd = -1;
  g_auto (SandboxBubblewrapFd) write_fd = -1;
  g_autofree char *text = NULL;
  int              ends[2] = { -1, -1 };
  pid_t            pid = -1;
  int              failure = 0;

  if (pipe2 (ends, O_CLOEXEC) < 0)
    return NULL;
  read_fd = ends[0];
  write_fd = fcntl (ends[1], F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD);
  failure = write_fd < 0 ? errno : 0;
  close (ends[1]);
  if (failure != 0)
    return NULL;

  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2 (&actions, write_fd, 1);
  posix_spawn_file_actions_addopen (&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen (&actions, 3, "/dev/null", O_RDWR, 0); /* there is nobody to tell */
  posix_spawn_file_actions_adddup2 (&actions, program_fd, 4);
  failure = sandbox_bubblewrap_program_spawn_agent (agent_fd, &actions, argv, &pid);
  posix_spawn_file_actions_destroy (&actions);
  if (failure != 0)
    return NULL;

  sandbox_bubblewrap_fd_clear (&write_fd);
  text = sandbox_bubblewrap_probe_read (read_fd, limit_us);
  sandbox_bubblewrap_probe_end_child (pid);

  return g_steal_pointer (&text);
}

/* ---- bwrap itself ------------------------------------------------------------------------------------------------- */

char *
sandbox_bubblewrap_probe_ask_version (int   agent_fd,
                                      int   bwrap_fd,
                                      guint uid,
                                      guint gid)
{
  g_autofree char *version = sandbox_bubblewrap_probe_run (agent_fd, bwrap_fd, uid, gid, "bwrap", "--version", VERSION_LIMIT_US);

  if (version == NULL)
    return NULL;
  g_strstrip (version);

  return g_strdup (g_str_is_ascii (version) && strlen (version) < 80 ? version : "");
}

static void
sandbox_bubblewrap_probe_look_at_bwrap (SandboxBubblewrapProbe *self,
                                        const char             *executable,
                                        int                     bwrap_fd,
                                        int                     agent_fd,
                                        guint                   uid,
                                        guint                   gid,
                                        gboolean                has_launcher)
{
  g_autofree char *evidence = g_strdup_printf ("“%s” is a program that only root or this user can change", executable);
  g_autofree char *version = NULL;

  sandbox_bubblewrap_probe_add (self, "bwrap", TRUE, evidence);

  version = sandbox_bubblewrap_probe_ask_version (agent_fd, bwrap_fd, uid, gid);
  if (version != NULL && version[0] != '\0')
    sandbox_bubblewrap_probe_add (self, "bwrap-version", TRUE, version);
  else if (version != NULL) /* else it is the agent's step that is told of */
    sandbox_bubblewrap_probe_add_failed (self, "bwrap-version", "It does not say what it is", NO_SESSION,
                                         "Install bubblewrap 0.8 or later, or set the property “executable” to it", TRUE);

  self->set_user_id = sandbox_bubblewrap_launch_has_set_user_id (bwrap_fd);
  if (!self->set_user_id)
    sandbox_bubblewrap_probe_add (self, "set-user-id", TRUE, "bwrap has no rights of its own");
  else
    sandbox_bubblewrap_probe_add_failed (self, "set-user-id", "bwrap is set-user-ID, or has capabilities of its own",
                                         "bwrap has root's rights while it builds a sandbox: an error in it is an error of root's",
                                         "Allow user namespaces to every user, and take the bit from bwrap: chmod u-s; "
                                         "or say by “launcher-uid” and “launcher-gid” of the profile that it is to be used so",
                                         !has_launcher);
}

/* ---- The kernel --------------------------------------------------------------------------------------------------- */

static int
sandbox_bubblewrap_probe_read_switch (const char *path)
{
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? atoi (text) : -1;
}

/* Why a user namespace is refused that the limits allow, by the kernel's switches. */
static const char *
sandbox_bubblewrap_probe_get_switch_remedy (void)
{
  if (sandbox_bubblewrap_probe_read_switch ("/proc/sys/kernel/unprivileged_userns_clone") == 0)
    return "As root: sysctl kernel.unprivileged_userns_clone=1";
  if (sandbox_bubblewrap_probe_read_switch ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
    return "Give bwrap an AppArmor profile that allows “userns”, or, as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0";

  return "User namespaces are forbidden here, by a chroot or by the container: enter the tree with pivot_root instead, or "
         "start the container with a seccomp profile that allows unshare (2)";
}

static char *
sandbox_bubblewrap_probe_make_remedy (const StepInfo *info,
                                      int             error)
{
  if (info->limit != NULL && (error == ENOSPC || error == EUSERS))
    return g_strdup_printf ("Too many are in use, or nested too deeply. As root: sysctl user.%s=15000; in a sandbox or container, "
                            "whoever started it has to allow more",
                            info->limit);

  return g_strdup (info->remedy != NULL ? info->remedy : sandbox_bubblewrap_probe_get_switch_remedy ());
}

/* What commands cannot do by Landlock, and what an older version misses. */
static char *
sandbox_bubblewrap_probe_describe_landlock (long version)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "Rules of Landlock: version %ld. Commands are held to the files that a session shows, ", version);
  g_string_append (text, version >= 3 ? "also in cutting them short; " : "but not in cutting short what they may open for writing; ");
  g_string_append (text, version >= 5 ? "they control no device but those of /dev; " : "devices can be controlled wherever they can be opened (from version 5 on: only those of /dev); ");
  g_string_append (text, version >= 6 ? "neither their signals nor their abstract sockets reach beyond a command"
                                      : "abstract sockets of the host can be reached with its network (from version 6 on: not)");

  return g_string_free (text, FALSE);
}

static void
sandbox_bubblewrap_probe_add_result (SandboxBubblewrapProbe *self,
                                     const StepInfo         *info,
                                     int                     error,
                                     long                    value,
                                     SandboxProcMode         proc)
{
  /* A kernel without the thing is one matter, one that forbids it another. */
  const gboolean is_absent = error == ENOSYS || error == EOPNOTSUPP;
  const gboolean needed = info->need == NEED_ALWAYS || (info->need == NEED_FOR_PROC && proc == SANDBOX_PROC_MODE_FRESH) ||
                          (info->need == NEED_UNLESS_ABSENT && !is_absent);
  g_autofree char *evidence = error != 0   ? g_strdup_printf ("%s: %s (errno %d)", info->what, g_strerror (error), error)
                              : value != 0 ? sandbox_bubblewrap_probe_describe_landlock (value)
                                           : g_strdup_printf ("%s: given", info->what);
  g_autofree char *remedy = NULL;

  if (error == 0)
    {
      sandbox_bubblewrap_probe_add (self, info->name, TRUE, evidence);
      return;
    }

  remedy = sandbox_bubblewrap_probe_make_remedy (info, error);
  sandbox_bubblewrap_probe_add_failed (self, info->name, evidence, info->consequence, remedy, needed);
}

/* One line of the agent's: "NAME ERRNO VALUE". */
static gboolean
sandbox_bubblewrap_probe_parse (const char *line,
                                char      **name,
                                int        *error,
                                long       *value)
{
  g_auto (GStrv) words = g_strsplit (line, " ", 4);
  guint64 number = 0;
  gint64  other = 0;

  if (g_strv_length (words) != 3 ||
      !g_ascii_string_to_unsigned (words[1], 10, 0, 4095, &number, NULL) ||
      !g_ascii_string_to_signed (words[2], 10, 0, G_MAXINT, &other, NULL))
    return FALSE;

  *name = g_strdup (words[0]);
  *error = (int) number;
  *value = (long) other;

  return TRUE;
}

/* ---- What a command finds ------------------------------------------------------------------------------------------ */

#define FAMILY "socket-family-"

/* What of these lines ended with @error, as it must (or with @error -1: not as it must), by name; counted in *@n. */
static char *
sandbox_bubblewrap_probe_name_calls (const char *const *lines,
                                     int                error,
                                     guint             *n)
{
  GString *names = g_string_new (NULL);
  guint    n_families = 0;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autofree char *name = NULL;
      int              seen = 0;
      long             expected = 0;

      if (!sandbox_bubblewrap_probe_parse (lines[i], &name, &seen, &expected) || g_str_equal (name, "end") ||
          (error >= 0 ? seen != error || seen != expected : seen == expected))
        continue;
      *n += 1;
      if (error >= 0 && g_str_has_prefix (name, FAMILY))
        n_families++;
      else
        g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", name);
    }
  if (n_families > 0)
    g_string_append_printf (names, ", sockets of %u families", n_families);

  return g_string_free (names, FALSE);
}

SandboxReportStep *
sandbox_bubblewrap_probe_judge_filter (const char *text,
                                       char      **missed)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint              n_refused = 0;
  guint              n_missed = 0;
  g_autofree char   *denied = sandbox_bubblewrap_probe_name_calls ((const char *const *) lines, EPERM, &n_refused);
  g_autofree char   *absent = sandbox_bubblewrap_probe_name_calls ((const char *const *) lines, ENOSYS, &n_refused);
  g_autofree char   *sockets = sandbox_bubblewrap_probe_name_calls ((const char *const *) lines, EAFNOSUPPORT, &n_refused);
  g_autofree char   *others = sandbox_bubblewrap_probe_name_calls ((const char *const *) lines, -1, &n_missed);
  g_autofree char   *evidence = NULL;
  SandboxReportStep *step = NULL;

  if (n_refused + n_missed == 0 || !g_str_has_suffix (text, "\nend 0 0\n"))
    return NULL;

  evidence = g_strdup_printf ("A command in the sandbox made %u calls that its filter has to refuse, and %u were refused. EPERM: %s. ENOSYS: %s. EAFNOSUPPORT: %s",
                              n_refused + n_missed, n_refused, denied, absent, sockets);
  step = sandbox_report_step_new ("filter", n_missed == 0);
  sandbox_report_step_set_evidence (step, evidence);
  if (n_missed > 0)
    {
      sandbox_report_step_set_evidence (step, others);
      sandbox_report_step_set_consequence (step, NO_SESSION);
      sandbox_report_step_set_remedy (step, "Use another kernel, and tell the authors of this library which one does not refuse these calls");
      *missed = g_steal_pointer (&others);
    }

  return step;
}

/* ---- Asking -------------------------------------------------------------------------------------------------------- */

static void
sandbox_bubblewrap_probe_ask_kernel (SandboxBubblewrapProbe *self,
                                     int                     agent_fd,
                                     guint                   uid,
                                     guint                   gid,
                                     SandboxProcMode         proc)
{
  g_autofree char *text = sandbox_bubblewrap_probe_run (agent_fd, agent_fd, uid, gid, "sandbox-agent", "probe", PROBE_LIMIT_US);
  g_auto (GStrv) lines = g_strsplit (text != NULL ? text : "", "\n", -1);
  gboolean ended = FALSE;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autofree char *name = NULL;
      int              error = 0;
      long             value = 0;

      if (!sandbox_bubblewrap_probe_parse (lines[i], &name, &error, &value))
        continue;
      ended = ended || g_str_equal (name, "end");
      for (guint j = 0; j < G_N_ELEMENTS (step_infos); j++)
        if (g_str_equal (step_infos[j].name, name))
          sandbox_bubblewrap_probe_add_result (self, &step_infos[j], error, value, proc);
    }

  if (!ended)
    sandbox_bubblewrap_probe_add_failed (self, "agent", "The agent did not come to the end of its trials", "What the kernel allows is not known in full",
                                         "Raise the limits of processes (RLIMIT_NPROC, ulimit -u) and of memory of this user", TRUE);
}

/* What a gateway would speak to upstreams with. No sandbox needs it. */
static void
sandbox_bubblewrap_probe_look_at_tls (SandboxBubblewrapProbe *self)
{
  GTlsBackend     *backend = g_tls_backend_get_default ();
  g_autofree char *evidence = NULL;

  if (!g_tls_backend_supports_tls (backend))
    {
      sandbox_bubblewrap_probe_add_failed (self, "tls", "GIO has no TLS backend", "No https origin can be allowed to sessions one by one",
                                           "Install glib-networking (apt install glib-networking, dnf install glib-networking)", FALSE);
      return;
    }

  evidence = g_strdup_printf ("GIO has the TLS backend %s", G_OBJECT_TYPE_NAME (backend));
  sandbox_bubblewrap_probe_add (self, "tls", TRUE, evidence);
}

SandboxBubblewrapProbe *
sandbox_bubblewrap_probe_new (const char     *executable,
                              guint           uid,
                              guint           gid,
                              SandboxProfile *profile)
{
  SandboxBubblewrapProbe *self = g_new0 (SandboxBubblewrapProbe, 1);
  g_autoptr (GError) error = NULL;
  g_autofree char *agent_path = NULL;
  g_autoptr (SandboxBubblewrapProgram) agent = NULL;
  g_autoptr (SandboxBubblewrapProgram) bwrap = NULL;

  self->steps = g_ptr_array_new_with_free_func (g_object_unref);
  sandbox_bubblewrap_probe_look_at_host (self);
  if (self->failed != NULL)
    return self;

  if ((agent_path = sandbox_get_agent_path (&error)) == NULL ||
      (agent = sandbox_bubblewrap_program_new (agent_path, "agent", &error)) == NULL)
    {
      sandbox_bubblewrap_probe_add_failed (self, "agent", error->message, NO_SESSION, "Install the whole of sandbox-glib, as root or as this user", TRUE);
      return self;
    }

  bwrap = sandbox_bubblewrap_program_new (executable, "program bwrap", &error);
  if (bwrap != NULL)
    sandbox_bubblewrap_probe_look_at_bwrap (self, executable, bwrap->fd, agent->fd, uid, gid, sandbox_profile_get_launcher_uid (profile) != -1);
  else
    sandbox_bubblewrap_probe_add_failed (self, "bwrap", error->message, NO_SESSION,
                                         "Install bubblewrap (apt install bubblewrap, dnf install bubblewrap), or set the property “executable” to "
                                         "the absolute path of one that belongs to root or to this user",
                                         TRUE);
  sandbox_bubblewrap_probe_ask_kernel (self, agent->fd, uid, gid, sandbox_profile_get_proc (profile));
  sandbox_bubblewrap_probe_look_at_tls (self);

  return self;
}

static void
sandbox_bubblewrap_probe_add_stamp (GString    *stamp,
                                    const char *path)
{
  struct stat info;

  if (path == NULL || stat (path, &info) < 0)
    g_string_append (stamp, "none\n");
  else
    g_string_append_printf (stamp, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %o %u %" G_GINT64_FORMAT " %ld %s\n",
                            (guint64) info.st_dev, (guint64) info.st_ino, (guint) info.st_mode, (guint) info.st_uid,
                            (gint64) info.st_mtim.tv_sec, info.st_mtim.tv_nsec, path);
}

char *
sandbox_bubblewrap_probe_stamp (const char *executable)
{
  g_autofree char *agent_path = sandbox_get_agent_path (NULL);
  GString         *stamp = g_string_new (NULL);

  sandbox_bubblewrap_probe_add_stamp (stamp, executable);
  sandbox_bubblewrap_probe_add_stamp (stamp, agent_path);

  return g_string_free (stamp, FALSE);
}

GError *
sandbox_bubblewrap_probe_explain (SandboxBubblewrapProbe *self,
                                  const GError           *error)
{
  const char *evidence = self->failed != NULL ? sandbox_report_step_get_evidence (self->failed) : NULL;

  if (evidence == NULL)
    return g_error_copy (error);

  if (g_str_equal (evidence, error->message))
    return g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE, "%s. %s", evidence, sandbox_report_step_get_remedy (self->failed));

  return g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE, "The sandbox could not be built (step: %s): %s. %s. (%s)",
                      sandbox_report_step_get_name (self->failed), evidence,
                      sandbox_report_step_get_remedy (self->failed), error->message);
}
