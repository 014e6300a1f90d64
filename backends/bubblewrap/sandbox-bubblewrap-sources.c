/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-sources.h"

#include "sandbox-bubblewrap-fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define RESOLVER "/etc/resolv.conf"
#define SETTINGS_DIRECTORY "/etc"
#define MAX_SETTINGS 16
#define SECRETS_DIRECTORY "/etc"
/* A directory that is deeper is hidden as a whole. */
#define SECRETS_LEVELS 16
#define MAX_SECRETS 128
#define PROC_DIRECTORY "/proc"

static void
sandbox_bubblewrap_source_clear (gpointer data)
{
  SandboxBubblewrapSource *source = data;

  sandbox_bubblewrap_fd_clear (&source->fd);
  sandbox_bubblewrap_fd_clear (&source->map_fd);
  free (source->path);
}

void
sandbox_bubblewrap_sources_free (SandboxBubblewrapSources *self)
{
  g_array_unref (self->mounts);
  g_clear_pointer (&self->host_mounts, g_ptr_array_unref);
  g_strfreev (self->settings);
  g_strfreev (self->secrets);
  g_strfreev (self->proc_secrets);
  g_free (self->state_directory);
  free (self->resolver);
  g_free (self);
}

static gboolean
sandbox_bubblewrap_source_fail (GError     **error,
                                SandboxError code,
                                const char  *path,
                                const char  *problem)
{
  g_set_error (error, SANDBOX_ERROR, code, "“%s” of this host %s", path, problem);

  return FALSE;
}

static SandboxError
sandbox_bubblewrap_source_get_code (int errsv)
{
  return errsv == ENOENT || errsv == ENOTDIR ? SANDBOX_ERROR_NOT_FOUND
         : errsv == EACCES                   ? SANDBOX_ERROR_DENIED
                                             : SANDBOX_ERROR_UNAVAILABLE;
}

/* Whether commands that run as @identity have these rights, of 7. They are in no other group than their own. */
static gboolean
sandbox_bubblewrap_source_allows (const struct stat         *info,
                                  SandboxBubblewrapIdentity *identity,
                                  mode_t                     rights)
{
  mode_t mode = info->st_mode;

  if (identity != NULL && info->st_uid == identity->uid)
    mode >>= 6;
  else if (identity != NULL && info->st_gid == identity->gid)
    mode >>= 3;

  return (mode & rights) == rights;
}

/* Whether bwrap, run as @identity, comes to @path by name. */
static gboolean
sandbox_bubblewrap_source_is_reachable (const char                *path,
                                        SandboxBubblewrapIdentity *identity)
{
  g_autofree char *above = g_strdup (path);
  struct stat      info;

  for (char *slash = strrchr (above, '/'); slash != NULL; slash = strrchr (above, '/'))
    {
      *slash = '\0';
      if (stat (above[0] != '\0' ? above : "/", &info) < 0 || !sandbox_bubblewrap_source_allows (&info, identity, 1))
        return FALSE;
    }

  return TRUE;
}

/* ---- What is mounted on this host -------------------------------------------------------------------------------- */

typedef struct
{
  char    *device; /* number of the file system */
  char    *root;   /* which directory of it */
  char    *target; /* is mounted here */
  gboolean is_proc;
} SandboxBubblewrapHostMount;

static void
sandbox_bubblewrap_host_mount_free (gpointer data)
{
  SandboxBubblewrapHostMount *mount = data;

  g_free (mount->device);
  g_free (mount->root);
  g_free (mount->target);
  g_free (mount);
}

/* In the order in which they were made: of several at one place the last counts. */
static GPtrArray *
sandbox_bubblewrap_sources_read_mounts (GError **error)
{
  g_autoptr (GPtrArray) mounts = g_ptr_array_new_with_free_func (sandbox_bubblewrap_host_mount_free);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL))
    {
      sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_UNAVAILABLE, "/proc/self/mountinfo", "cannot be read");
      return NULL;
    }
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) words = g_strsplit (lines[i], " ", -1);
      const char                 *type = strstr (lines[i], " - ");
      SandboxBubblewrapHostMount *mount = NULL;

      if (g_strv_length (words) < 7 || type == NULL)
        continue;
      mount = g_new (SandboxBubblewrapHostMount, 1);
      mount->device = g_strdup (words[2]);
      mount->root = g_strcompress (words[3]);
      mount->target = g_strcompress (words[4]);
      mount->is_proc = g_str_has_prefix (type + 3, "proc ");
      g_ptr_array_add (mounts, mount);
    }

  return g_steal_pointer (&mounts);
}

/* Where @path, which has no link in it, is in its file system, and in which. */
static char *
sandbox_bubblewrap_sources_locate (SandboxBubblewrapSources *self,
                                   const char               *path,
                                   const char              **device)
{
  const SandboxBubblewrapHostMount *best = NULL;

  for (guint i = 0; i < self->host_mounts->len; i++)
    {
      const SandboxBubblewrapHostMount *mount = self->host_mounts->pdata[i];

      if (sandbox_bubblewrap_plan_is_within (path, mount->target) &&
          (best == NULL || strlen (mount->target) >= strlen (best->target)))
        best = mount;
    }
  if (best == NULL)
    return NULL;
  *device = best->device;

  return g_build_filename (best->root, path + strlen (best->target), NULL);
}

/* A procfs shows the processes of the host, wherever it is mounted; a bind takes what is mounted below along. */
static gboolean
sandbox_bubblewrap_source_check_proc (SandboxBubblewrapSources *self,
                                      const char               *path,
                                      int                       fd,
                                      GError                  **error)
{
  struct statfs info;

  if (fstatfs (fd, &info) < 0)
    return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_UNAVAILABLE, path, g_strerror (errno));
  if (info.f_type == PROC_SUPER_MAGIC)
    return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_INVALID, path, "is of the host's procfs");

  for (guint i = 0; i < self->host_mounts->len; i++)
    {
      const SandboxBubblewrapHostMount *mount = self->host_mounts->pdata[i];

      if (mount->is_proc && sandbox_bubblewrap_plan_is_within (mount->target, path))
        return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_INVALID, path, "has a procfs of the host below it");
    }

  return TRUE;
}

static gboolean
sandbox_bubblewrap_source_is_same_tree (const char *device,
                                        const char *place,
                                        const char *other_device,
                                        const char *other,
                                        gboolean    may_be_inside)
{
  return g_str_equal (device, other_device) &&
         (sandbox_bubblewrap_plan_is_within (other, place) ||
          (!may_be_inside && sandbox_bubblewrap_plan_is_within (place, other)));
}

/* Whether @path shows the state directory by another name, because the same directory is mounted there or below. By
 * its own name it is refused, or hidden. @may_be_inside: a workspace, which may be in the state directory. */
static gboolean
sandbox_bubblewrap_sources_check_alias (SandboxBubblewrapSources *self,
                                        const char               *path,
                                        gboolean                  may_be_inside,
                                        GError                  **error)
{
  const char      *state = self->state_directory;
  const char      *state_device = NULL;
  const char      *device = NULL;
  g_autofree char *state_place = state != NULL ? sandbox_bubblewrap_sources_locate (self, state, &state_device) : NULL;
  g_autofree char *place = sandbox_bubblewrap_sources_locate (self, path, &device);
  gboolean         is_shown = FALSE;

  if (state_place == NULL || place == NULL)
    return TRUE;

  if (!sandbox_bubblewrap_plan_is_within (state, path) && !sandbox_bubblewrap_plan_is_within (path, state))
    is_shown = sandbox_bubblewrap_source_is_same_tree (device, place, state_device, state_place, may_be_inside);
  for (guint i = 0; !is_shown && i < self->host_mounts->len; i++)
    {
      const SandboxBubblewrapHostMount *mount = self->host_mounts->pdata[i];

      is_shown = sandbox_bubblewrap_plan_is_within (mount->target, path) &&
                 !sandbox_bubblewrap_plan_is_within (state, mount->target) &&
                 !sandbox_bubblewrap_plan_is_within (mount->target, state) &&
                 sandbox_bubblewrap_source_is_same_tree (mount->device, mount->root, state_device, state_place, FALSE);
    }

  return !is_shown || sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_INVALID, path,
                                                      "shows the state directory, which is mounted there by another name");
}

/* Neither shows the other. */
static gboolean
sandbox_bubblewrap_source_check_apart (const char *path,
                                       const char *other,
                                       const char *problem,
                                       GError    **error)
{
  if (other == NULL || (!sandbox_bubblewrap_plan_is_within (path, other) && !sandbox_bubblewrap_plan_is_within (other, path)))
    return TRUE;

  return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_INVALID, path, problem);
}

static gboolean
sandbox_bubblewrap_source_open (SandboxBubblewrapSource *source,
                                const char              *path,
                                struct stat             *info,
                                GError                 **error)
{
  g_auto (SandboxBubblewrapFd) fd = -1;

  source->path = realpath (path, NULL);
  if (source->path != NULL)
    fd = open (source->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0)
    source->fd = fcntl (fd, F_DUPFD_CLOEXEC, SANDBOX_BUBBLEWRAP_HIGH_FD);
  if (source->fd < 0 || fstat (source->fd, info) < 0)
    {
      int errsv = errno;

      g_autofree char *problem = g_strdup_printf ("cannot be opened: %s", g_strerror (errsv));

      return sandbox_bubblewrap_source_fail (error, sandbox_bubblewrap_source_get_code (errsv), path, problem);
    }
  if (!S_ISDIR (info->st_mode) && !S_ISREG (info->st_mode) && !S_ISSOCK (info->st_mode))
    return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_INVALID, path, "is neither a directory nor a file nor a socket");
  source->is_directory = S_ISDIR (info->st_mode);

  return TRUE;
}

/* How a host that is root hands it over: commands are somebody else. */
static gboolean
sandbox_bubblewrap_source_choose (SandboxBubblewrapSource   *source,
                                  const struct stat         *info,
                                  gboolean                   writable,
                                  SandboxBubblewrapIdentity *identity,
                                  GError                   **error)
{
  if (!writable)
    {
      if (!sandbox_bubblewrap_source_allows (info, identity, source->is_directory ? 5 : 4))
        return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_DENIED, source->path,
                                               "is not readable for every user, and so not for commands");
      if (!sandbox_bubblewrap_source_is_reachable (source->path, identity))
        source->bind = SANDBOX_BUBBLEWRAP_BIND_BY_AGENT;
      return TRUE;
    }

  if (identity != NULL && (info->st_uid != identity->uid || info->st_gid != identity->gid))
    {
      int mount_fd = -1;

      source->bind = SANDBOX_BUBBLEWRAP_BIND_BY_AGENT;
      source->map_fd = sandbox_bubblewrap_identity_open_map (identity, info->st_uid, info->st_gid, error);
      if (source->map_fd < 0)
        return FALSE;
      /* Whether it works depends on the file system. */
      mount_fd = sandbox_bubblewrap_identity_mount (source->map_fd, source->fd, FALSE, error);
      sandbox_bubblewrap_fd_close (mount_fd);
      return mount_fd >= 0;
    }
  if (identity == NULL || !sandbox_bubblewrap_source_is_reachable (source->path, identity))
    source->bind = SANDBOX_BUBBLEWRAP_BIND_BY_AGENT;

  return TRUE;
}

/* Where @path really is, or will be once it is made. */
static char *
sandbox_bubblewrap_sources_resolve (const char *path)
{
  g_autofree char *above = g_canonicalize_filename (path, NULL);
  g_autofree char *below = NULL;

  for (;;)
    {
      char *real = realpath (below != NULL ? above : path, NULL);
      char *slash = strrchr (above, '/');

      if (real != NULL || slash == NULL)
        {
          char *whole = below != NULL ? g_build_filename (real != NULL ? real : "/", below, NULL) : g_strdup (real);

          free (real);
          return whole;
        }
      real = g_build_filename (slash + 1, below, NULL);
      g_free (below);
      below = real;
      *slash = '\0';
    }
}

static gboolean
sandbox_bubblewrap_sources_add (SandboxBubblewrapSources  *self,
                                SandboxMount              *mount,
                                SandboxBubblewrapIdentity *identity,
                                SandboxBubblewrapBind      bind,
                                GError                   **error)
{
  SandboxBubblewrapSource  empty = { .fd = -1, .map_fd = -1, .bind = bind };
  SandboxBubblewrapSource *source = NULL;
  const char              *path = sandbox_mount_get_source (mount);
  struct stat              info;

  g_array_append_val (self->mounts, empty);
  source = &g_array_index (self->mounts, SandboxBubblewrapSource, self->mounts->len - 1);
  if (path == NULL)
    return TRUE;

  if (!sandbox_bubblewrap_source_open (source, path, &info, error) ||
      !sandbox_bubblewrap_source_check_proc (self, source->path, source->fd, error) ||
      !sandbox_bubblewrap_source_check_apart (source->path, self->state_directory,
                                              "shows the state directory, or is in it", error) ||
      !sandbox_bubblewrap_source_check_apart (source->path, SANDBOX_BUBBLEWRAP_CLAIMS,
                                              "shows what this library keeps for all sessions", error) ||
      !sandbox_bubblewrap_sources_check_alias (self, source->path, FALSE, error))
    return FALSE;

  return geteuid () != 0 || (identity != NULL && identity->uid == G_MAXUINT) ||
         sandbox_bubblewrap_source_choose (source, &info, sandbox_mount_get_mode (mount) == SANDBOX_MOUNT_MODE_READ_WRITE,
                                           identity, error);
}

/* Whether @path, which has no link in it, is the directory @above or below it, by whatever name that is mounted. */
static gboolean
sandbox_bubblewrap_source_is_below (const char        *path,
                                    const struct stat *above)
{
  g_autofree char *at = g_strdup (path);

  for (;;)
    {
      struct stat info;
      char       *slash = strrchr (at, '/');

      if (stat (at[0] != '\0' ? at : "/", &info) < 0 || (info.st_dev == above->st_dev && info.st_ino == above->st_ino))
        return TRUE;
      if (slash == NULL)
        return FALSE;
      *slash = '\0';
    }
}

/* It may be in the state directory, and not the other way round. */
static gboolean
sandbox_bubblewrap_sources_check_workspace (SandboxBubblewrapSources *self,
                                            const char               *workspace_path,
                                            GError                  **error)
{
  const char *const kept[] = { self->state_directory, SANDBOX_BUBBLEWRAP_CLAIMS };
  g_autofree char  *workspace = sandbox_bubblewrap_sources_resolve (workspace_path);
  g_auto (SandboxBubblewrapFd) fd = open (workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat info;

  if (fd < 0)
    {
      sandbox_bubblewrap_source_fail (error, sandbox_bubblewrap_source_get_code (errno), workspace_path, "cannot be opened");
      return FALSE;
    }
  if (!sandbox_bubblewrap_source_check_proc (self, workspace, fd, error) ||
      !sandbox_bubblewrap_sources_check_alias (self, workspace, TRUE, error))
    return FALSE;

  /* A host that is root would hand over what all sandboxes, and the host, run. */
  if (fstat (fd, &info) < 0 || sandbox_bubblewrap_source_is_below ("/usr", &info) || sandbox_bubblewrap_source_is_below ("/etc", &info))
    return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_INVALID, workspace_path, "is of the system's own, and no workspace");

  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    {
      if (kept[i] != NULL && sandbox_bubblewrap_plan_is_within (kept[i], workspace))
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                       "The workspace “%s” has “%s” below it, which is for all sessions", workspace, kept[i]);
          return FALSE;
        }
    }

  return TRUE;
}

/* What commands can write they can also replace by a link to anything of the host: the next session would open that
 * instead. And what is read-only must not be writable by another way. */
static gboolean
sandbox_bubblewrap_sources_check_writable (SandboxBubblewrapSources *self,
                                           GListModel               *mounts,
                                           const char               *workspace_path,
                                           GError                  **error)
{
  g_autofree char *workspace = workspace_path != NULL ? sandbox_bubblewrap_sources_resolve (workspace_path) : NULL;
  struct stat      info;

  for (guint i = 0; i < self->mounts->len; i++)
    {
      const SandboxBubblewrapSource *source = &g_array_index (self->mounts, SandboxBubblewrapSource, i);

      if (source->fd < 0)
        continue;
      if (workspace != NULL && (stat (workspace, &info) < 0 || sandbox_bubblewrap_source_is_below (source->path, &info)))
        return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_INVALID, source->path,
                                               "is of the workspace, where commands could put something else in its place");
      for (guint j = 0; j < self->mounts->len; j++)
        {
          const SandboxBubblewrapSource *other = &g_array_index (self->mounts, SandboxBubblewrapSource, j);
          g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, j);

          if (other->fd < 0 || sandbox_mount_get_mode (mount) != SANDBOX_MOUNT_MODE_READ_WRITE)
            continue;
          if (fstat (other->fd, &info) < 0 || (i != j && sandbox_bubblewrap_source_is_below (source->path, &info)))
            return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_INVALID, source->path,
                                                   "is of a read-write mount, where commands could put something else in its place");
          if (workspace != NULL && sandbox_bubblewrap_source_is_below (workspace, &info))
            return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_INVALID, other->path,
                                                   "has the workspace in it, which commands would write by two ways");
        }
    }

  return TRUE;
}

/* What the view shows of the host. */
static gboolean
sandbox_bubblewrap_sources_check_view (SandboxBubblewrapSources *self,
                                       SandboxView               view,
                                       GError                  **error)
{
  const char *const *roots = sandbox_bubblewrap_plan_get_roots (view);

  for (guint i = 0; roots[i] != NULL; i++)
    {
      g_autofree char *root = realpath (roots[i], NULL);
      g_auto (SandboxBubblewrapFd) fd = root != NULL ? open (root, O_PATH | O_CLOEXEC) : -1;

      if (fd >= 0 && (!sandbox_bubblewrap_source_check_proc (self, root, fd, error) ||
                      !sandbox_bubblewrap_sources_check_alias (self, root, FALSE, error)))
        return FALSE;
    }

  return TRUE;
}

/* What is to be protected has to be there; the agent finds out again, each time. Each name by itself, for a link could
 * lead anywhere. */
static gboolean
sandbox_bubblewrap_sources_check_protected (const char *workspace_path,
                                            const char *inside,
                                            GError    **error)
{
  g_auto (GStrv) names = g_strsplit (inside, "/", -1);
  g_auto (SandboxBubblewrapFd) fd = open (workspace_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat info;
  int         errsv = errno;

  for (guint i = 0; fd >= 0 && names[i] != NULL; i++)
    {
      int next = openat (fd, names[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);

      errsv = errno;
      sandbox_bubblewrap_fd_clear (&fd);
      fd = next;
      if (fd >= 0 && fstat (fd, &info) == 0 && S_ISLNK (info.st_mode))
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH,
                       "“%s” of the workspace cannot be protected: it is a link, or behind one", inside);
          return FALSE;
        }
    }
  if (fd >= 0 && fstat (fd, &info) == 0 && S_ISREG (info.st_mode) && info.st_nlink > 1)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "“%s” of the workspace cannot be protected: it has another name, by which it could be changed", inside);
      return FALSE;
    }
  if (fd >= 0)
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, sandbox_bubblewrap_source_get_code (errsv),
               "“%s” of the workspace cannot be protected, for it is not there: %s", inside, g_strerror (errsv));

  return FALSE;
}

/* What commands could read there and not every user of this host: of our own, or by one of our groups. */
static gboolean
sandbox_bubblewrap_sources_is_secret (const char                *path,
                                      const struct stat         *info,
                                      SandboxBubblewrapIdentity *identity)
{
  const mode_t rights = S_ISDIR (info->st_mode) ? 5 : 4;

  if ((info->st_mode & rights) == rights)
    return FALSE;
  if (geteuid () != 0 || (identity != NULL && identity->uid == G_MAXUINT))
    return access (path, S_ISDIR (info->st_mode) ? X_OK : R_OK) == 0;

  return sandbox_bubblewrap_source_allows (info, identity, S_ISDIR (info->st_mode) ? 1 : 4);
}

static void
sandbox_bubblewrap_sources_find_secrets (const char                *directory,
                                         guint                      levels,
                                         SandboxBubblewrapIdentity *identity,
                                         GPtrArray                 *secrets)
{
  g_autoptr (GDir) entries = g_dir_open (directory, 0, NULL);
  const char *name = NULL;

  while (entries != NULL && (name = g_dir_read_name (entries)) != NULL)
    {
      g_autofree char *path = g_build_filename (directory, name, NULL);
      struct stat      info;

      if (lstat (path, &info) < 0 || S_ISLNK (info.st_mode))
        continue;
      if (sandbox_bubblewrap_sources_is_secret (path, &info, identity) || (S_ISDIR (info.st_mode) && levels == 1))
        g_ptr_array_add (secrets, g_steal_pointer (&path));
      else if (S_ISDIR (info.st_mode))
        sandbox_bubblewrap_sources_find_secrets (path, levels - 1, identity, secrets);
    }
}

static int
sandbox_bubblewrap_sources_compare (gconstpointer a,
                                    gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static gboolean
sandbox_bubblewrap_sources_add_secrets (SandboxBubblewrapSources  *self,
                                        SandboxBubblewrapIdentity *identity,
                                        GError                   **error)
{
  g_autoptr (GPtrArray) secrets = g_ptr_array_new_with_free_func (g_free);

  sandbox_bubblewrap_sources_find_secrets (SECRETS_DIRECTORY, SECRETS_LEVELS, identity, secrets);
  if (secrets->len > MAX_SECRETS)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
                   "The system view cannot be had here: %u places in %s would have to be hidden, the limit is %d",
                   secrets->len, SECRETS_DIRECTORY, MAX_SECRETS);
      return FALSE;
    }
  g_ptr_array_sort (secrets, sandbox_bubblewrap_sources_compare);
  g_ptr_array_add (secrets, NULL);
  self->secrets = (char **) g_ptr_array_free (g_steal_pointer (&secrets), FALSE);

  return TRUE;
}

/* A Java runtime in /usr is nothing but links without them. */
static char **
sandbox_bubblewrap_sources_find_settings (void)
{
  g_autoptr (GDir) entries = g_dir_open (SETTINGS_DIRECTORY, 0, NULL);
  g_autoptr (GPtrArray) settings = g_ptr_array_new_with_free_func (g_free);
  const char *name = NULL;

  while (entries != NULL && settings->len < MAX_SETTINGS && (name = g_dir_read_name (entries)) != NULL)
    if (g_str_has_prefix (name, "java-") && g_str_has_suffix (name, "-openjdk"))
      g_ptr_array_add (settings, g_build_filename (SETTINGS_DIRECTORY, name, NULL));
  g_ptr_array_sort (settings, sandbox_bubblewrap_sources_compare);
  g_ptr_array_add (settings, NULL);

  return (char **) g_ptr_array_free (g_steal_pointer (&settings), FALSE);
}

void
sandbox_bubblewrap_sources_seal_proc (SandboxBubblewrapSources *self)
{
  g_autoptr (GDir) entries = g_dir_open (PROC_DIRECTORY, 0, NULL);
  g_autoptr (GStrvBuilder) secrets = g_strv_builder_new ();
  const char *name = NULL;

  while (entries != NULL && (name = g_dir_read_name (entries)) != NULL)
    {
      g_autofree char *path = g_build_filename (PROC_DIRECTORY, name, NULL);
      struct stat      info;

      if (lstat (path, &info) == 0 && S_ISREG (info.st_mode) &&
          ((info.st_mode & 0004) == 0 || g_str_equal (name, "keys") || g_str_equal (name, "key-users")))
        g_strv_builder_add (secrets, path);
    }
  g_strfreev (self->proc_secrets);
  self->proc_secrets = g_strv_builder_end (secrets);
  self->seal_proc = TRUE;
}

SandboxBubblewrapSources *
sandbox_bubblewrap_sources_new (SandboxProfile            *profile,
                                const char                *workspace_path,
                                const char                *state_directory,
                                SandboxBubblewrapIdentity *identity,
                                SandboxBubblewrapBind      bind,
                                GError                   **error)
{
  g_autoptr (SandboxBubblewrapSources) self = g_new0 (SandboxBubblewrapSources, 1);
  GListModel *mounts = sandbox_profile_get_mounts (profile);
  const gsize inside = strlen (sandbox_profile_get_workspace_target (profile)) + 1;

  self->mounts = g_array_new (FALSE, FALSE, sizeof (SandboxBubblewrapSource));
  g_array_set_clear_func (self->mounts, sandbox_bubblewrap_source_clear);
  self->state_directory = state_directory != NULL ? sandbox_bubblewrap_sources_resolve (state_directory) : NULL;
  self->resolver = realpath (RESOLVER, NULL);
  /* A plan only has no identity. */
  if (identity == NULL && geteuid () == 0 && sandbox_profile_get_identity (profile) == SANDBOX_IDENTITY_HOST)
    sandbox_bubblewrap_sources_seal_proc (self);

  self->host_mounts = sandbox_bubblewrap_sources_read_mounts (error);
  if (self->host_mounts == NULL || !sandbox_bubblewrap_sources_check_view (self, sandbox_profile_get_view (profile), error) ||
      (workspace_path != NULL && !sandbox_bubblewrap_sources_check_workspace (self, workspace_path, error)))
    return NULL;

  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);

      if (!sandbox_bubblewrap_sources_add (self, mount, identity, bind, error) ||
          (workspace_path != NULL && sandbox_bubblewrap_plan_is_protection (mount) &&
           !sandbox_bubblewrap_sources_check_protected (workspace_path, sandbox_mount_get_target (mount) + inside, error)))
        return NULL;
    }
  if (!sandbox_bubblewrap_sources_check_writable (self, mounts, workspace_path, error))
    return NULL;
  if (sandbox_profile_get_view (profile) == SANDBOX_VIEW_MINIMAL)
    self->settings = sandbox_bubblewrap_sources_find_settings ();
  if (sandbox_profile_get_view (profile) == SANDBOX_VIEW_SYSTEM &&
      !sandbox_bubblewrap_sources_add_secrets (self, identity, error))
    return NULL;

  return g_steal_pointer (&self);
}

gboolean
sandbox_bubblewrap_sources_check (SandboxBubblewrapSources *self,
                                  GError                  **error)
{
  for (guint i = 0; i < self->mounts->len; i++)
    {
      const SandboxBubblewrapSource *source = &g_array_index (self->mounts, SandboxBubblewrapSource, i);
      struct stat                    found;
      struct stat                    wanted;

      if (source->fd < 0 || source->bind != SANDBOX_BUBBLEWRAP_BIND_BY_PATH)
        continue;
      if (lstat (source->path, &found) < 0 || fstat (source->fd, &wanted) < 0 ||
          found.st_dev != wanted.st_dev || found.st_ino != wanted.st_ino)
        return sandbox_bubblewrap_source_fail (error, SANDBOX_ERROR_UNAVAILABLE, source->path, "is not what it was any more");
    }

  return TRUE;
}

static SandboxBubblewrapKind
sandbox_bubblewrap_sources_look (const char *path,
                                 char      **link,
                                 gpointer    data)
{
  struct stat info;

  if (lstat (path, &info) < 0)
    return SANDBOX_BUBBLEWRAP_KIND_MISSING;
  if (S_ISDIR (info.st_mode))
    return SANDBOX_BUBBLEWRAP_KIND_DIRECTORY;
  if (!S_ISLNK (info.st_mode))
    return SANDBOX_BUBBLEWRAP_KIND_FILE;

  *link = g_file_read_link (path, NULL);

  return *link != NULL ? SANDBOX_BUBBLEWRAP_KIND_LINK : SANDBOX_BUBBLEWRAP_KIND_MISSING;
}

SandboxBubblewrapPlan *
sandbox_bubblewrap_sources_plan (SandboxBubblewrapSources *self,
                                 SandboxProfile           *profile,
                                 SandboxProcMode           proc,
                                 gboolean                  share_network,
                                 SandboxBubblewrapBind     workspace_bind,
                                 const char               *workspace_path,
                                 GError                  **error)
{
  g_autofree SandboxBubblewrapPlanSource *sources = g_new0 (SandboxBubblewrapPlanSource, self->mounts->len + 1);
  SandboxBubblewrapPlanInput              input = {
                 .profile = profile,
                 .share_network = share_network,
                 .proc = proc,
                 .state_directory = self->state_directory,
                 .resolver = self->resolver,
                 .settings = (const char *const *) self->settings,
                 .secrets = (const char *const *) self->secrets,
                 .seal_proc = self->seal_proc,
                 .proc_secrets = (const char *const *) self->proc_secrets,
                 .workspace_bind = workspace_bind,
                 .workspace_path = workspace_path,
                 .sources = sources,
                 .look = sandbox_bubblewrap_sources_look,
  };

  for (guint i = 0; i < self->mounts->len; i++)
    {
      const SandboxBubblewrapSource *source = &g_array_index (self->mounts, SandboxBubblewrapSource, i);

      sources[i] = (SandboxBubblewrapPlanSource){ source->path, source->is_directory, source->bind };
    }

  return sandbox_bubblewrap_plan_new (&input, error);
}
