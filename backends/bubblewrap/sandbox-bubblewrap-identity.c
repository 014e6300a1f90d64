/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-identity.h"

#include "sandbox-bubblewrap-fd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CLAIMS_WANTED SANDBOX_BUBBLEWRAP_CLAIMS " has to be a directory that this program can make, or open and write to"
#define MAP_MAX 340
#define UNCHANGED G_MAXUINT
/* Whom the kernel shows instead of somebody who is not mapped. */
#define OVERFLOW_ID 65534
/* What -1 was when ids had 16 bits, and is in file systems of that time. */
#define NOBODY_ID 65535

/* One line of a uid_map or gid_map. */
typedef struct
{
  guint64 inside;
  guint64 outside;
  guint64 count;
} IdRange;

void
sandbox_bubblewrap_identity_free (SandboxBubblewrapIdentity *self)
{
  sandbox_close_kept (&self->claim_fd);
  sandbox_bubblewrap_fd_clear (&self->map_fd);
  g_free (self->unmapped);
  g_free (self);
}

static gboolean
sandbox_bubblewrap_identity_fail (GError    **error,
                                  const char *what,
                                  int         errsv)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The sandbox could not be built (step: identity): %s: %s", what, g_strerror (errsv));

  return FALSE;
}

static GArray *
sandbox_bubblewrap_identity_read_map (const char *path,
                                      GError    **error)
{
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (IdRange));
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  g_autoptr (GError) unread = NULL;

  /* A file of the kernel's: small, and its form is fixed. */
  if (!g_file_get_contents (path, &text, NULL, &unread))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "The sandbox could not be built (step: identity): %s", unread->message);
      return NULL;
    }

  lines = g_strsplit (text, "\n", MAP_MAX + 1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      IdRange range;

      if (sscanf (lines[i], "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
                  &range.inside, &range.outside, &range.count) == 3)
        g_array_append_val (ranges, range);
    }

  return g_steal_pointer (&ranges);
}

static gboolean
sandbox_bubblewrap_identity_has_id (GArray *ranges,
                                    guint   id)
{
  for (guint i = 0; i < ranges->len; i++)
    {
      IdRange *range = &g_array_index (ranges, IdRange, i);

      if (id >= range->inside && id - range->inside < range->count)
        return TRUE;
    }

  return FALSE;
}

/* Whether what is called root here has the rights of one user only: in a user namespace of that user's. */
static gboolean
sandbox_bubblewrap_identity_is_pretended_root (GArray *ranges)
{
  return ranges->len == 1 &&
         g_array_index (ranges, IdRange, 0).count == 1 &&
         g_array_index (ranges, IdRange, 0).outside != 0;
}

/* The C library tells in several ways that there is none, of which a missing database is one. Any other error
 * counts as an account: an entry that does not fit is one. */
static gboolean
sandbox_bubblewrap_identity_is_found (int         error,
                                      const void *found)
{
  switch (error)
    {
    case 0:
      return found != NULL;

    case ENOENT:
    case ESRCH:
    case EBADF:
    case EPERM:
      return FALSE;

    default:
      return TRUE;
    }
}

static gboolean
sandbox_bubblewrap_identity_is_account (guint id)
{
  struct passwd  user;
  struct passwd *found_user = NULL;
  struct group   group;
  struct group  *found_group = NULL;
  char           buffer[4096];
  int            error = getpwuid_r (id, &user, buffer, sizeof buffer, &found_user);

  if (sandbox_bubblewrap_identity_is_found (error, found_user))
    return TRUE;
  error = getgrgid_r (id, &group, buffer, sizeof buffer, &found_group);

  return sandbox_bubblewrap_identity_is_found (error, found_group);
}

static int
sandbox_bubblewrap_identity_open_claims (GError **error)
{
  g_auto (SandboxBubblewrapFd) directory_fd = -1;
  struct stat info;

  if ((mkdir (SANDBOX_BUBBLEWRAP_CLAIMS, 0700) < 0 && errno != EEXIST) ||
      (directory_fd = open (SANDBOX_BUBBLEWRAP_CLAIMS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
      fstat (directory_fd, &info) < 0)
    {
      sandbox_bubblewrap_identity_fail (error, CLAIMS_WANTED, errno);
      return -1;
    }
  if (info.st_uid != 0 || (info.st_mode & 0077) != 0)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                           "The sandbox could not be built (step: identity): " SANDBOX_BUBBLEWRAP_CLAIMS " does not belong to root alone: "
                           "chown it to root and chmod it to 0700, or remove it");
      return -1;
    }

  return g_steal_fd (&directory_fd);
}

/* Takes an id that no account and no other session on this machine has; the lock goes with the process. */
static gboolean
sandbox_bubblewrap_identity_claim (SandboxBubblewrapIdentity    *self,
                                   const SandboxBubblewrapRange *range,
                                   guint                         owner,
                                   GArray                       *uids,
                                   GArray                       *gids,
                                   GError                      **error)
{
  const guint n_ids = range->last - range->first; /* without the first */
  guint       start = g_random_int_range (0, (gint32) n_ids);
  g_auto (SandboxBubblewrapFd) directory_fd = sandbox_bubblewrap_identity_open_claims (error);

  if (directory_fd < 0)
    return FALSE;

  for (guint i = 0; i < n_ids; i++)
    {
      guint            id = range->first + 1 + (start + i) % n_ids;
      g_autofree char *name = g_strdup_printf ("uid-%u", id);
      struct flock     lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
      g_auto (SandboxBubblewrapFd) claim_fd = -1;

      if (id == owner || id == OVERFLOW_ID || id == NOBODY_ID ||
          !sandbox_bubblewrap_identity_has_id (uids, id) ||
          !sandbox_bubblewrap_identity_has_id (gids, id))
        continue;

      claim_fd = openat (directory_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
      if (claim_fd < 0)
        return sandbox_bubblewrap_identity_fail (error, CLAIMS_WANTED, errno);
      if (fcntl (claim_fd, F_OFD_SETLK, &lock) < 0 || sandbox_bubblewrap_identity_is_account (id))
        continue;

      self->uid = id;
      self->gid = id;
      self->claim_fd = g_steal_fd (&claim_fd);
      sandbox_keep_from_children (&self->claim_fd);
      return TRUE;
    }

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The sandbox could not be built (step: identity): no uid from %u to %u is free, mapped here and without an account: "
               "stop sessions, or set the properties “first-uid” and “last-uid” of the backend to a larger range",
               range->first + 1, range->last);

  return FALSE;
}

/* What is on disk as @owner is @id in the mount; everything else stays as it is, so that files of others are
 * seen and handled as by any ordinary user. */
static char *
sandbox_bubblewrap_identity_make_map (GArray *own,
                                      guint   owner,
                                      guint   id)
{
  GString      *map = g_string_new (NULL);
  const guint   low = MIN (owner, id);
  const guint   high = MAX (owner, id);
  const guint64 cuts[] = { low, (guint64) low + 1, high, (guint64) high + 1 };

  g_string_append_printf (map, "%u %u 1\n", owner, id);
  for (guint i = 0; i < own->len; i++)
    {
      const IdRange *range = &g_array_index (own, IdRange, i);
      guint64        at = range->inside;
      const guint64  end = range->inside + range->count;

      for (guint cut = 0; cut <= G_N_ELEMENTS (cuts) && at < end; cut++)
        {
          guint64 next = cut < G_N_ELEMENTS (cuts) ? MIN (MAX (cuts[cut], at), end) : end;

          if (next > at && at != low && at != high)
            g_string_append_printf (map, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                                    at, at, next - at);
          at = next;
        }
    }

  return g_string_free (map, FALSE);
}

/* Shares our memory and must not touch it: raw calls only, which here leave no errno, and no signal reaches it
 * but KILL. Were it to outlive a host that is killed meanwhile, it would keep that one's descriptors. */
static int
sandbox_bubblewrap_identity_wait_for_kill (void *data)
{
  const pid_t parent = GPOINTER_TO_INT (data);

  syscall (SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (syscall (SYS_getppid) != parent)
    syscall (SYS_exit, 0);
  for (;;)
    syscall (SYS_ppoll, NULL, 0, NULL, NULL, 0);

  return 0;
}

static gboolean
sandbox_bubblewrap_identity_write_map (pid_t       pid,
                                       const char *file,
                                       const char *map)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/%s", (int) pid, file);
  g_auto (SandboxBubblewrapFd) fd = open (path, O_WRONLY | O_CLOEXEC);
  const gssize size = strlen (map);

  /* The kernel takes it in one write or not at all. */
  return fd >= 0 && write (fd, map, size) == size;
}

/* A user namespace with these maps, held by nothing but the descriptor. */
static int
sandbox_bubblewrap_identity_open_namespace (const char *uid_map,
                                            const char *gid_map)
{
  static const gsize stack_size = 16384;
  g_autofree char   *stack = g_malloc (stack_size);
  g_autofree char   *path = NULL;
  g_auto (SandboxBubblewrapFd) fd = -1;
  sigset_t all;
  sigset_t before;
  pid_t    pid = -1;
  int      errsv = 0;
  char    *top = stack + stack_size - (guintptr) (stack + stack_size) % 16;

  /* Sharing the memory makes this as cheap for a host of any size; no exit signal, so the host's SIGCHLD
   * handler never hears of it. */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  pid = clone (sandbox_bubblewrap_identity_wait_for_kill, top, CLONE_VM | CLONE_NEWUSER,
               GINT_TO_POINTER (getpid ()));
  errsv = errno;
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (pid < 0)
    {
      errno = errsv;
      return -1;
    }

  path = g_strdup_printf ("/proc/%d/ns/user", (int) pid);
  if (sandbox_bubblewrap_identity_write_map (pid, "uid_map", uid_map) &&
      sandbox_bubblewrap_identity_write_map (pid, "gid_map", gid_map))
    fd = open (path, O_RDONLY | O_CLOEXEC);
  errsv = errno;

  kill (pid, SIGKILL);
  while (waitpid (pid, NULL, __WALL) < 0 && errno == EINTR)
    ;
  errno = errsv;

  return g_steal_fd (&fd);
}

int
sandbox_bubblewrap_identity_mount (int      map_fd,
                                   int      source_fd,
                                   gboolean read_only,
                                   GError **error)
{
  struct mount_attr attributes = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
  g_auto (SandboxBubblewrapFd) mount_fd = -1;

  if (map_fd >= 0)
    {
      attributes.attr_set |= MOUNT_ATTR_IDMAP;
      attributes.userns_fd = map_fd;
    }
  if (read_only)
    attributes.attr_set |= MOUNT_ATTR_RDONLY;

  mount_fd = open_tree (source_fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
  if (mount_fd < 0 || mount_setattr (mount_fd, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
    {
      sandbox_bubblewrap_identity_fail (error, "the workspace or a mount of the profile cannot be mounted for another user", errno);
      return -1;
    }

  return g_steal_fd (&mount_fd);
}

int
sandbox_bubblewrap_identity_open_map (SandboxBubblewrapIdentity *self,
                                      guint                      owner,
                                      guint                      group,
                                      GError                   **error)
{
  g_autoptr (GArray) uids = sandbox_bubblewrap_identity_read_map ("/proc/self/uid_map", error);
  g_autoptr (GArray) gids = uids != NULL ? sandbox_bubblewrap_identity_read_map ("/proc/self/gid_map", error) : NULL;
  g_autofree char *uid_map = NULL;
  g_autofree char *gid_map = NULL;
  int              fd = -1;

  if (gids == NULL)
    return -1;

  uid_map = sandbox_bubblewrap_identity_make_map (uids, owner, self->uid);
  gid_map = sandbox_bubblewrap_identity_make_map (gids, group, self->gid);
  fd = sandbox_bubblewrap_identity_open_namespace (uid_map, gid_map);
  if (fd < 0)
    sandbox_bubblewrap_identity_fail (error, "a user namespace cannot be made", errno);

  return fd;
}

/* Of an overlay the directory that is written to. */
static int
sandbox_bubblewrap_identity_open_directory (SandboxWorkspace *workspace,
                                            GError          **error)
{
  g_auto (SandboxBubblewrapFd) lower_fd = -1;
  g_autoptr (GError) failure = NULL;
  int fd = -1;

  if (sandbox_workspace_dup_layers (workspace, &lower_fd, &fd, &failure))
    return fd;
  if (failure == NULL)
    return sandbox_workspace_dup_fd (workspace, error);
  g_propagate_error (error, g_steal_pointer (&failure));

  return -1;
}

/* Tries it on the very directory: whether it works depends on kernel, file system and capabilities. */
static gboolean
sandbox_bubblewrap_identity_map (SandboxBubblewrapIdentity *self,
                                 SandboxWorkspace          *workspace,
                                 GError                   **error)
{
  g_auto (SandboxBubblewrapFd) directory_fd = -1;
  g_auto (SandboxBubblewrapFd) mount_fd = -1;
  guint owner = 0;
  guint group = 0;

  sandbox_workspace_get_owner (workspace, &owner, &group);
  self->map_fd = sandbox_bubblewrap_identity_open_map (self, owner, group, error);
  if (self->map_fd < 0)
    return FALSE;

  directory_fd = sandbox_bubblewrap_identity_open_directory (workspace, error);
  if (directory_fd < 0)
    return FALSE;
  mount_fd = sandbox_bubblewrap_identity_mount (self->map_fd, directory_fd, FALSE, error);

  return mount_fd >= 0;
}

void
sandbox_bubblewrap_identity_get_storage (const SandboxBubblewrapRange *range,
                                         guint                        *uid,
                                         guint                        *gid)
{
  g_autoptr (GArray) uids = geteuid () == 0 ? sandbox_bubblewrap_identity_read_map ("/proc/self/uid_map", NULL) : NULL;

  if (uids == NULL || sandbox_bubblewrap_identity_is_pretended_root (uids))
    {
      *uid = geteuid ();
      *gid = getegid ();
    }
  else
    {
      *uid = range->first;
      *gid = range->first;
    }
}

void
sandbox_bubblewrap_identity_give_away (const char                   *directory,
                                       SandboxProfile               *profile,
                                       const SandboxBubblewrapRange *range)
{
  const gboolean has_launcher = profile != NULL && sandbox_profile_get_launcher_uid (profile) != -1;
  const guint    uid = has_launcher ? (guint) sandbox_profile_get_launcher_uid (profile) : range->first;
  const guint    gid = has_launcher ? (guint) sandbox_profile_get_launcher_gid (profile) : range->first;

  /* Where this is refused, the trial tells what else is. */
  if (geteuid () == 0 && lchown (directory, uid, gid) < 0)
    g_debug ("“%s” stays root's: %s", directory, g_strerror (errno));
}

SandboxReportStep *
sandbox_bubblewrap_identity_make_step (const SandboxBubblewrapIdentity *self,
                                       const GError                    *error)
{
  g_autoptr (SandboxReportStep) step = NULL;
  g_autofree char *evidence = NULL;
  const char      *consequence = NULL;
  const char      *remedy = NULL;

  if (self == NULL)
    {
      evidence = g_strdup (error->message);
      consequence = "No session can be created by this program, as root";
      remedy = "Give this program what the error names and CAP_SYS_ADMIN, or start it as an ordinary user";
    }
  else
    switch (self->who)
      {
      case SANDBOX_BUBBLEWRAP_WHO_SESSION:
        evidence = g_strdup ("Commands of each session run as a uid of their own, and their workspace is mounted for it");
        break;

      case SANDBOX_BUBBLEWRAP_WHO_OWNER:
        if (self->unmapped != NULL)
          {
            evidence = g_strdup_printf ("Commands run as the owner of their workspace: %s", self->unmapped);
            consequence = "Sessions over directories of one owner share a uid, and directories of root's are refused";
            remedy = "Give this program CAP_SYS_ADMIN, and a workspace on a file system that can be mounted with mapped owners";
            break;
          }
        evidence = g_strdup ("Commands run as the owner of their workspace, as the profile asks");
        consequence = "Commands share the limits, keyrings and signals of that user with all that runs as it";
        remedy = "Leave the “identity” of the profile at auto";
        break;

      case SANDBOX_BUBBLEWRAP_WHO_LAUNCHER:
        evidence = g_strdup_printf ("Commands run as the launcher, uid %u and gid %u, as the profile asks", self->uid, self->gid);
        consequence = "All sessions of that launcher share the limits, keyrings and signals of one user";
        remedy = "Leave “launcher-uid” and “launcher-gid” of the profile at -1";
        break;

      case SANDBOX_BUBBLEWRAP_WHO_ROOT:
        evidence = g_strdup ("Commands run as root, in a user namespace, as the profile asks");
        consequence = "The kernel counts neither processes nor pending signals of root, and what in it goes by the uid alone is open to commands";
        remedy = "Leave the “identity” of the profile at auto";
        break;

      case SANDBOX_BUBBLEWRAP_WHO_CALLER:
      default:
        evidence = g_strdup ("Commands run as the user of this program");
      }

  step = sandbox_report_step_new ("identity", consequence == NULL);
  sandbox_report_step_set_evidence (step, evidence);
  if (consequence != NULL)
    {
      sandbox_report_step_set_consequence (step, consequence);
      sandbox_report_step_set_remedy (step, remedy);
    }

  return g_steal_pointer (&step);
}

/* ---- What a profile can ask for -------------------------------------------------------------------------------- */

static gboolean
sandbox_bubblewrap_identity_refuse (GError    **error,
                                    const char *format,
                                    ...) G_GNUC_PRINTF (2, 3);

static gboolean
sandbox_bubblewrap_identity_refuse (GError    **error,
                                    const char *format,
                                    ...)
{
  g_autofree char *words = NULL;
  va_list          arguments;

  va_start (arguments, format);
  words = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, words);

  return FALSE;
}

/* A host without root's rights is nobody but itself. */
static gboolean
sandbox_bubblewrap_identity_check_caller (SandboxProfile *profile,
                                          guint           owner,
                                          GError        **error)
{
  const int uid = sandbox_profile_get_launcher_uid (profile);
  const int gid = sandbox_profile_get_launcher_gid (profile);

  if (uid != -1 && ((guint) uid != geteuid () || (guint) gid != getegid ()))
    return sandbox_bubblewrap_identity_refuse (error, "The launcher %d:%d is not who this program is (%u:%u), and only root could become it",
                                               uid, gid, (guint) geteuid (), (guint) getegid ());
  if (sandbox_profile_get_identity (profile) == SANDBOX_IDENTITY_OWNER && owner != geteuid ())
    return sandbox_bubblewrap_identity_refuse (error, "The workspace belongs to uid %u, and only root could run commands as its owner", owner);

  return TRUE;
}

/* The ids that the profile names, on a host that is root. */
static gboolean
sandbox_bubblewrap_identity_take (SandboxBubblewrapIdentity *self,
                                  SandboxBubblewrapWho       who,
                                  guint                      uid,
                                  guint                      gid,
                                  GArray                    *uids,
                                  GArray                    *gids,
                                  GError                   **error)
{
  if (!sandbox_bubblewrap_identity_has_id (uids, uid) || !sandbox_bubblewrap_identity_has_id (gids, gid))
    return sandbox_bubblewrap_identity_refuse (error, "Commands cannot be %u:%u: there is no such user in the user namespace of this program", uid, gid);

  self->who = who;
  self->uid = uid;
  self->gid = gid;

  return TRUE;
}

static gboolean
sandbox_bubblewrap_identity_take_owner (SandboxBubblewrapIdentity *self,
                                        SandboxWorkspace          *workspace,
                                        guint                      owner,
                                        guint                      group,
                                        GArray                    *uids,
                                        GArray                    *gids,
                                        GError                   **error)
{
  if (sandbox_workspace_get_state_directory (workspace) != NULL)
    return sandbox_bubblewrap_identity_refuse (error, "The “identity” owner is for a workspace-path: what this library keeps belongs to a user "
                                                      "that nothing runs as");
  if (owner == 0 || group == 0)
    return sandbox_bubblewrap_identity_refuse (error, "The workspace belongs to root (%u:%u), and the “identity” owner is never root", owner, group);

  return sandbox_bubblewrap_identity_take (self, SANDBOX_BUBBLEWRAP_WHO_OWNER, owner, group, uids, gids, error);
}

/* The workspace for the ids that were taken, when it is not theirs as it is. */
static gboolean
sandbox_bubblewrap_identity_fit (SandboxBubblewrapIdentity *self,
                                 SandboxWorkspace          *workspace,
                                 guint                      owner,
                                 guint                      group,
                                 gboolean                   can_mount,
                                 GError                   **error)
{
  if (owner == self->uid && group == self->gid)
    return TRUE;
  if (!can_mount)
    return sandbox_bubblewrap_identity_refuse (error, "The workspace belongs to %u:%u, and a set-user-ID bwrap cannot mount it for the launcher %u:%u",
                                               owner, group, self->uid, self->gid);

  return sandbox_bubblewrap_identity_map (self, workspace, error);
}

/* A user of the session's own, or where that cannot be the owner; never root. */
static gboolean
sandbox_bubblewrap_identity_choose (SandboxBubblewrapIdentity    *self,
                                    const SandboxBubblewrapRange *range,
                                    SandboxWorkspace             *workspace,
                                    guint                         owner,
                                    guint                         group,
                                    GArray                       *uids,
                                    GArray                       *gids,
                                    GError                      **error)
{
  g_autoptr (GError) unmapped = NULL;

  /* The files of all sessions would be that account's. */
  if (sandbox_bubblewrap_identity_is_account (range->first))
    return sandbox_bubblewrap_identity_refuse (error, "The “first-uid” %u belongs to an account: choose a range that nobody has", range->first);
  if (!sandbox_bubblewrap_identity_claim (self, range, owner, uids, gids, error))
    return FALSE;
  self->who = SANDBOX_BUBBLEWRAP_WHO_SESSION;
  if (sandbox_bubblewrap_identity_map (self, workspace, &unmapped))
    return TRUE;

  if (owner == 0 || group == 0)
    {
      g_propagate_prefixed_error (error, g_steal_pointer (&unmapped),
                                  "A workspace of root's would need its commands to run as root: ");
      return FALSE;
    }
  sandbox_close_kept (&self->claim_fd);
  sandbox_bubblewrap_fd_clear (&self->map_fd);
  self->who = SANDBOX_BUBBLEWRAP_WHO_OWNER;
  self->uid = owner;
  self->gid = group;
  self->unmapped = g_strdup (unmapped->message);

  return TRUE;
}

SandboxBubblewrapIdentity *
sandbox_bubblewrap_identity_new (SandboxWorkspace             *workspace,
                                 SandboxProfile               *profile,
                                 const SandboxBubblewrapRange *range,
                                 gboolean                      can_mount,
                                 GError                      **error)
{
  g_autoptr (SandboxBubblewrapIdentity) self = g_new0 (SandboxBubblewrapIdentity, 1);
  g_autoptr (GArray) uids = NULL;
  g_autoptr (GArray) gids = NULL;
  const SandboxIdentity wanted = sandbox_profile_get_identity (profile);
  const int             launcher = sandbox_profile_get_launcher_uid (profile);
  gboolean              good = FALSE;
  guint                 owner = 0;
  guint                 group = 0;

  self->uid = UNCHANGED;
  self->gid = UNCHANGED;
  self->claim_fd = -1;
  self->map_fd = -1;
  sandbox_workspace_get_owner (workspace, &owner, &group);
  if (geteuid () != 0)
    return sandbox_bubblewrap_identity_check_caller (profile, owner, error) ? g_steal_pointer (&self) : NULL;

  uids = sandbox_bubblewrap_identity_read_map ("/proc/self/uid_map", error);
  gids = uids != NULL ? sandbox_bubblewrap_identity_read_map ("/proc/self/gid_map", error) : NULL;
  if (gids == NULL)
    return NULL;
  if (sandbox_bubblewrap_identity_is_pretended_root (uids))
    return sandbox_bubblewrap_identity_check_caller (profile, owner, error) ? g_steal_pointer (&self) : NULL;

  if (launcher != -1)
    good = sandbox_bubblewrap_identity_take (self, SANDBOX_BUBBLEWRAP_WHO_LAUNCHER, (guint) launcher,
                                             (guint) sandbox_profile_get_launcher_gid (profile), uids, gids, error) &&
           sandbox_bubblewrap_identity_fit (self, workspace, owner, group, can_mount, error);
  else if (wanted == SANDBOX_IDENTITY_OWNER)
    good = sandbox_bubblewrap_identity_take_owner (self, workspace, owner, group, uids, gids, error);
  else if (wanted == SANDBOX_IDENTITY_HOST)
    good = sandbox_bubblewrap_identity_take (self, SANDBOX_BUBBLEWRAP_WHO_ROOT, 0, 0, uids, gids, error) &&
           sandbox_bubblewrap_identity_fit (self, workspace, owner, group, can_mount, error);
  else
    good = sandbox_bubblewrap_identity_choose (self, range, workspace, owner, group, uids, gids, error);

  return good ? g_steal_pointer (&self) : NULL;
}
