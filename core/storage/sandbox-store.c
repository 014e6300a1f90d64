/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-store-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-error-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-keys-private.h"
#include "sandbox-lease-private.h"
#include "sandbox-random-private.h"
#include "sandbox-store-temporary-private.h"

#define MAX_TRIES 32
#define NAME_BYTES 16
#define NAME_LENGTH (2 * NAME_BYTES)
#define LOCK_SUFFIX ".lock"

/* An empty file, which becomes a lock when the disk has no room for another one: what is deleted then makes room. */
#define RESERVE "reserve"

struct _SandboxStore
{
  gatomicrefcount ref_count;

  char *path;
  char *backend;
  guint uid;
  guint gid;
  pid_t pid;
  int   parent; /* of a private directory, which is removed in the end; or -1 */
  int   owner;  /* the lock of a private directory; or -1 */
  int   state;
  int   top; /* of this backend */
  int   templates;
  int   sessions;
  int   aside;

  SandboxStoreOverlayTry try_overlay; /* or NULL */
  gpointer               overlay_data;

  GMutex      lock;
  GHashTable *verified;    /* SandboxStoredTemplate by key */
  gboolean    overlays;    /* there are */
  char       *no_overlays; /* why not; neither before it was tried */
  int         reflinks;    /* atomic */
};

/* Whether the file system can let two files share their content */
enum
{
  REFLINKS_UNKNOWN,
  REFLINKS_NO,
  REFLINKS_YES,
};

struct _SandboxStoreWork
{
  SandboxStore *store;
  char          name[NAME_LENGTH + 1];
  char          lock_name[NAME_LENGTH + sizeof LOCK_SUFFIX];
  int           lock;
  int           fd;
  gboolean      is_reserve;
};

/* NULL, or why nobody should keep anything in such a directory. */
static const char *
sandbox_store_refuse (const struct stat *st)
{
  if (!S_ISDIR (st->st_mode))
    return "it is no directory";
  if (st->st_uid != geteuid ())
    return "it belongs to another user";
  if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "others can write to it";
  if ((st->st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return "others can look into it, and its mode has to be 0700";

  return NULL;
}

int
sandbox_store_open_made (int         parent,
                         const char *name,
                         guint       mode)
{
  g_auto (SandboxFd) fd = openat (parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

  return fd >= 0 && sandbox_contained_chmod (fd, mode) ? openat (fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* Opens a directory of the store, making it when it is missing. @path is for messages. */
static int
sandbox_store_open_directory (int         parent,
                              const char *name,
                              const char *path,
                              GError    **error)
{
  g_auto (SandboxFd) fd = -1;
  gboolean    made = mkdirat (parent, name, 0700) == 0;
  const char *problem = NULL;
  struct stat st;

  if (!made && errno != EEXIST)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot make the state directory “%s”", path);
      return -1;
    }
  fd = made ? sandbox_store_open_made (parent, name, 0700)
            : openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
    problem = fstatat (parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK (st.st_mode) ? "it is a link" : "it is no directory";
  else if (fd < 0 || fstat (fd, &st) < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot open the state directory “%s”", path);
      return -1;
    }
  else
    problem = sandbox_store_refuse (&st);
  if (problem != NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED, "The state directory “%s” is not safe: %s", path, problem);
      return -1;
    }

  return g_steal_fd (&fd);
}

static gboolean
sandbox_store_open_below (SandboxStore *self,
                          int           parent,
                          const char   *name,
                          int          *fd,
                          GError      **error)
{
  g_autofree char *path = g_build_filename (self->path, self->backend, parent != self->state ? name : NULL, NULL);

  *fd = sandbox_store_open_directory (parent, name, path, error);

  return *fd >= 0;
}

static gboolean
sandbox_store_open_state (SandboxStore         *self,
                          const char           *state_directory,
                          SandboxContainedCheck check,
                          gpointer              data,
                          GError              **error)
{
  g_autofree char *directory = NULL;
  g_autofree char *name = NULL;
  g_auto (SandboxFd) parent = -1;
  int owner = -1;

  if (state_directory == NULL)
    {
      self->path = sandbox_store_make_temporary (&owner, check, data, error);
      if (self->path == NULL)
        return FALSE;
      sandbox_fork_lock ();
      self->owner = owner;
      sandbox_fork_watch (&self->owner);
      sandbox_fork_unlock ();
    }
  else if (!g_path_is_absolute (state_directory))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The state directory “%s” is not absolute", state_directory);
      return FALSE;
    }
  else
    self->path = g_canonicalize_filename (state_directory, NULL);

  directory = g_path_get_dirname (self->path);
  name = g_path_get_basename (self->path);
  if (g_mkdir_with_parents (directory, 0700) < 0 ||
      (parent = open (directory, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot make the state directory “%s”", self->path);
      return FALSE;
    }
  if (state_directory == NULL)
    self->parent = fcntl (parent, F_DUPFD_CLOEXEC, 0);
  self->state = sandbox_store_open_directory (parent, name, self->path, error);

  return self->state >= 0;
}

SandboxStore *
sandbox_store_new (const char           *state_directory,
                   const char           *backend,
                   guint                 uid,
                   guint                 gid,
                   SandboxContainedCheck check,
                   gpointer              data,
                   GError              **error)
{
  g_autoptr (SandboxStore) self = g_new0 (SandboxStore, 1);
  g_auto (SandboxFd) reserve = -1;

  g_return_val_if_fail (sandbox_backend_name_is_valid (backend), NULL);

  g_atomic_ref_count_init (&self->ref_count);
  self->backend = g_strdup (backend);
  self->uid = uid;
  self->gid = gid;
  self->pid = getpid ();
  self->parent = self->owner = self->state = self->top = self->templates = self->sessions = self->aside = -1;
  g_mutex_init (&self->lock);
  self->verified = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) sandbox_stored_template_unref);

  if (!sandbox_store_open_state (self, state_directory, check, data, error) ||
      !sandbox_store_open_below (self, self->state, backend, &self->top, error) ||
      !sandbox_store_open_below (self, self->top, "templates", &self->templates, error) ||
      !sandbox_store_open_below (self, self->top, "sessions", &self->sessions, error) ||
      !sandbox_store_open_below (self, self->top, "aside", &self->aside, error))
    return NULL;
  sandbox_store_collect (self, check, data);
  reserve = openat (self->top, RESERVE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (reserve < 0)
    g_debug ("There is no reserve in %s: %s", self->path, g_strerror (errno));

  return g_steal_pointer (&self);
}

SandboxStore *
sandbox_store_ref (SandboxStore *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_store_unref (SandboxStore *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  sandbox_clear_fd (&self->templates);
  sandbox_clear_fd (&self->sessions);
  sandbox_clear_fd (&self->aside);
  sandbox_clear_fd (&self->top);
  sandbox_clear_fd (&self->state);
  /* Not that of the process from which this one was forked. */
  if (self->parent >= 0 && self->pid == getpid ())
    {
      g_autofree char *name = g_path_get_basename (self->path);
      g_autoptr (GError) error = NULL;

      if (!sandbox_contained_remove (self->parent, name, SANDBOX_REMOVE_FLAGS_RECURSIVE | SANDBOX_REMOVE_FLAGS_MISSING_OK, NULL, NULL, &error))
        g_debug ("A private state directory stays: %s", error->message);
    }
  sandbox_clear_fd (&self->parent);
  sandbox_fork_close (&self->owner);
  g_hash_table_unref (self->verified);
  g_free (self->no_overlays);
  g_mutex_clear (&self->lock);
  g_free (self->path);
  g_free (self->backend);
  g_free (self);
}

gboolean
sandbox_store_is_private (SandboxStore *self)
{
  return self->parent >= 0;
}

const char *
sandbox_store_get_path (SandboxStore *self)
{
  return self->path;
}

const char *
sandbox_store_get_backend (SandboxStore *self)
{
  return self->backend;
}

int
sandbox_store_get_templates (SandboxStore *self)
{
  return self->templates;
}

int
sandbox_store_get_sessions (SandboxStore *self)
{
  return self->sessions;
}

void
sandbox_store_get_owner (SandboxStore *self,
                         guint        *uid,
                         guint        *gid)
{
  *uid = self->uid;
  *gid = self->gid;
}

void
sandbox_store_set_overlay (SandboxStore          *self,
                           SandboxStoreOverlayTry try_overlay,
                           gpointer               data)
{
  self->try_overlay = try_overlay;
  self->overlay_data = data;
}

gboolean
sandbox_store_can_overlay (SandboxStore *self,
                           GError      **error)
{
  g_autoptr (GError) failure = NULL;
  gboolean known = FALSE;
  gboolean can = FALSE;

  g_mutex_lock (&self->lock);
  can = self->overlays;
  known = can || self->no_overlays != NULL;
  if (self->no_overlays != NULL)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, self->no_overlays);
  g_mutex_unlock (&self->lock);
  if (known)
    return can;

  if (self->try_overlay != NULL)
    can = sandbox_store_try_overlay (self, self->try_overlay, self->overlay_data, &failure);
  else
    g_set_error_literal (&failure, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "This backend makes no overlays");

  /* What else went wrong may go right the next time. */
  g_mutex_lock (&self->lock);
  self->overlays = can || self->overlays;
  if (g_error_matches (failure, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED) && self->no_overlays == NULL)
    self->no_overlays = g_strdup (failure->message);
  g_mutex_unlock (&self->lock);
  if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));

  return can;
}

/* Whether it works is told by doing it, once for a store. */
gboolean
sandbox_store_can_reflink (SandboxStore *self,
                           int           directory)
{
  static const char block[512] = "";
  g_auto (SandboxFd) source = -1;
  g_auto (SandboxFd) target = -1;
  int known = g_atomic_int_get (&self->reflinks);

  if (known != REFLINKS_UNKNOWN)
    return known == REFLINKS_YES;

  source = openat (directory, "probe-source", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  target = openat (directory, "probe-target", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (source >= 0 && target >= 0 && sandbox_contained_write_all (source, block, sizeof block))
    known = ioctl (target, FICLONE, source) == 0 ? REFLINKS_YES : REFLINKS_NO;
  unlinkat (directory, "probe-source", 0);
  unlinkat (directory, "probe-target", 0);
  g_atomic_int_set (&self->reflinks, known);

  return known == REFLINKS_YES;
}

SandboxStoredTemplate *
sandbox_store_get_template (SandboxStore         *self,
                            const char           *key,
                            SandboxContainedCheck check,
                            gpointer              data,
                            GError              **error)
{
  SandboxStoredTemplate *stored = NULL;

  g_mutex_lock (&self->lock);
  stored = g_hash_table_lookup (self->verified, key);
  if (stored != NULL)
    sandbox_stored_template_ref (stored);
  g_mutex_unlock (&self->lock);
  if (stored != NULL)
    return stored;

  stored = sandbox_stored_template_new_verified (self, key, check, data, error);
  if (stored == NULL)
    return NULL;
  g_mutex_lock (&self->lock);
  g_hash_table_insert (self->verified, g_strdup (key), sandbox_stored_template_ref (stored));
  g_mutex_unlock (&self->lock);

  return stored;
}

void
sandbox_store_forget_template (SandboxStore          *self,
                               const char            *key,
                               SandboxStoredTemplate *stored)
{
  g_mutex_lock (&self->lock);
  if (g_hash_table_lookup (self->verified, key) == stored)
    g_hash_table_remove (self->verified, key);
  g_mutex_unlock (&self->lock);
}

static void
sandbox_store_work_open_lock (SandboxStoreWork *self,
                              int               flags)
{
  int errsv;

  sandbox_fork_lock ();
  self->lock = openat (self->store->aside, self->lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
  errsv = errno;
  sandbox_fork_watch (&self->lock);
  sandbox_fork_unlock ();
  errno = errsv;
}

/* Takes the lock of a new name; EEXIST when another name has to be tried. */
static gboolean
sandbox_store_work_lock (SandboxStoreWork *self,
                         gboolean          may_use_reserve)
{
  struct stat st;
  int         errsv;

  if (!sandbox_random_fill_digits (self->name, NAME_BYTES))
    return FALSE;
  g_snprintf (self->lock_name, sizeof self->lock_name, "%s" LOCK_SUFFIX, self->name);

  sandbox_store_work_open_lock (self, O_CREAT | O_EXCL);
  if (self->lock < 0 && (errno == ENOSPC || errno == EDQUOT) && may_use_reserve)
    {
      errsv = errno;
      self->is_reserve = renameat2 (self->store->top, RESERVE, self->store->aside, self->lock_name, RENAME_NOREPLACE) == 0;
      errno = errsv;
      if (self->is_reserve)
        sandbox_store_work_open_lock (self, 0);
    }
  if (self->lock < 0)
    return FALSE;
  /* Whatever the umask of the host: a collector writes to it to lock it. */
  if (fchmod (self->lock, 0600) < 0)
    return FALSE;

  /* A collector may have found it before it was locked, and takes it for one of the dead. */
  if (!sandbox_lease_lock (self->lock, F_WRLCK))
    errsv = errno == EAGAIN ? EEXIST : errno;
  else if (fstat (self->lock, &st) < 0)
    errsv = errno;
  else if (st.st_nlink == 0)
    errsv = EEXIST;
  else
    return TRUE;
  sandbox_fork_close (&self->lock);
  errno = errsv;

  return FALSE;
}

/* A name and its lock, and nothing of the name yet. By errno. */
static SandboxStoreWork *
sandbox_store_work_alloc (SandboxStore *store,
                          gboolean      may_use_reserve)
{
  g_autoptr (SandboxStoreWork) self = g_new0 (SandboxStoreWork, 1);
  int tries = 0;

  self->store = sandbox_store_ref (store);
  self->lock = self->fd = -1;
  while (!sandbox_store_work_lock (self, may_use_reserve))
    if (errno != EEXIST || ++tries == MAX_TRIES)
      {
        int errsv = errno;

        g_clear_pointer (&self, sandbox_store_work_free);
        errno = errsv;
        return NULL;
      }

  return g_steal_pointer (&self);
}

SandboxStoreWork *
sandbox_store_work_new (SandboxStore *store,
                        GError      **error)
{
  g_autoptr (SandboxStoreWork) self = sandbox_store_work_alloc (store, FALSE);

  if (self != NULL && mkdirat (store->aside, self->name, 0700) == 0)
    self->fd = sandbox_store_open_made (store->aside, self->name, 0700);
  if (self == NULL || self->fd < 0)
    {
      sandbox_set_error_from_errno (error, errno, "Cannot make a directory in “%s”", store->path);
      return NULL;
    }

  return g_steal_pointer (&self);
}

int
sandbox_store_work_get_fd (SandboxStoreWork *self)
{
  return self->fd;
}

/* What is left of it when the directory is gone from its place. */
static void
sandbox_store_work_end (SandboxStoreWork *self)
{
  if (self->lock >= 0 &&
      (!self->is_reserve ||
       renameat2 (self->store->aside, self->lock_name, self->store->top, RESERVE, RENAME_NOREPLACE) < 0))
    unlinkat (self->store->aside, self->lock_name, 0);
  sandbox_fork_close (&self->lock);
  sandbox_clear_fd (&self->fd);
  sandbox_store_unref (self->store);
  g_free (self);
}

/* Of an entry of aside. */
static gboolean
sandbox_store_remove_aside (SandboxStore         *self,
                            const char           *name,
                            SandboxContainedCheck check,
                            gpointer              data,
                            GError              **error)
{
  return sandbox_contained_remove (self->aside, name, SANDBOX_REMOVE_FLAGS_RECURSIVE | SANDBOX_REMOVE_FLAGS_MISSING_OK,
                                   check, data, error);
}

void
sandbox_store_work_free (SandboxStoreWork *self)
{
  g_autoptr (GError) error = NULL;

  /* What stays, stays with its lock free, for a collector. In a forked child there is no lock. */
  if (self->lock >= 0 && !sandbox_store_remove_aside (self->store, self->name, NULL, NULL, &error))
    {
      g_debug ("Something stays aside: %s", error->message);
      sandbox_fork_close (&self->lock);
    }
  sandbox_store_work_end (self);
}

gboolean
sandbox_store_work_publish (SandboxStoreWork *self,
                            int               target,
                            const char       *name,
                            GError          **error)
{
  if (renameat2 (self->store->aside, self->name, target, name, RENAME_NOREPLACE) == 0)
    {
      sandbox_store_work_end (self);
      return TRUE;
    }

  if (errno != EEXIST && errno != ENOTEMPTY)
    sandbox_set_error_from_errno (error, errno, "Cannot move a directory to its place in “%s”", self->store->path);
  sandbox_store_work_free (self);

  return FALSE;
}

gboolean
sandbox_store_discard (SandboxStore         *self,
                       int                   directory,
                       const char           *name,
                       SandboxContainedCheck check,
                       gpointer              data,
                       GError              **error)
{
  g_autoptr (SandboxStoreWork) work = sandbox_store_work_alloc (self, TRUE);
  int errsv = 0;

  if (work == NULL || renameat2 (directory, name, self->aside, work->name, RENAME_NOREPLACE) < 0)
    errsv = errno;
  if (work != NULL && errsv == ENOENT)
    return TRUE;
  if (errsv != 0)
    {
      sandbox_set_error_from_errno (error, errsv, "Cannot move a directory of “%s” aside", self->path);
      return FALSE;
    }

  if (sandbox_store_remove_aside (self, work->name, check, data, error))
    return TRUE;

  /* It is gone from its place; the rest is for a collector. */
  sandbox_fork_close (&work->lock);

  return FALSE;
}

/* Whether this was one of the dead, and is gone. */
static gboolean
sandbox_store_collect_one (SandboxStore         *self,
                           const char           *lock_name,
                           SandboxContainedCheck check,
                           gpointer              data)
{
  char        name[NAME_LENGTH + 1];
  struct stat st;
  gboolean    gone = FALSE;
  int         fd = -1;

  if (strlen (lock_name) != NAME_LENGTH + strlen (LOCK_SUFFIX) ||
      strspn (lock_name, "0123456789abcdef") != NAME_LENGTH ||
      strcmp (lock_name + NAME_LENGTH, LOCK_SUFFIX) != 0)
    return FALSE;
  memcpy (name, lock_name, NAME_LENGTH);
  name[NAME_LENGTH] = '\0';

  sandbox_fork_lock ();
  fd = openat (self->aside, lock_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  sandbox_fork_watch (&fd);
  sandbox_fork_unlock ();

  if (fd >= 0 && sandbox_lease_lock (fd, F_WRLCK) && fstat (fd, &st) == 0 && st.st_nlink > 0)
    gone = sandbox_store_remove_aside (self, name, check, data, NULL) && unlinkat (self->aside, lock_name, 0) == 0;
  sandbox_fork_close (&fd);

  return gone;
}

guint
sandbox_store_collect (SandboxStore         *self,
                       SandboxContainedCheck check,
                       gpointer              data)
{
  g_auto (SandboxFd) fd = openat (self->aside, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR                 *entries = fd >= 0 ? fdopendir (fd) : NULL;
  const struct dirent *entry = NULL;
  guint                n_gone = 0;

  if (entries == NULL)
    return 0;
  g_steal_fd (&fd);
  while ((check == NULL || check (data) == 0) && (entry = readdir (entries)) != NULL)
    n_gone += sandbox_store_collect_one (self, entry->d_name, check, data) ? 1 : 0;
  closedir (entries);

  return n_gone;
}

gboolean
sandbox_store_is_there (int         parent,
                        const char *name,
                        int         fd)
{
  struct stat mine;
  struct stat found;

  return fstat (fd, &mine) == 0 && fstatat (parent, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
         mine.st_dev == found.st_dev && mine.st_ino == found.st_ino;
}
