/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>
#include "sandbox-driver.h"
#include "sandbox-fd-private.h"
#include "sandbox-listing.h"

G_BEGIN_DECLS

/* Files below one directory, which a hostile guest changes in every way while we look at it.
 *
 * @root is a descriptor of the directory, and O_PATH is enough. A path is what sandbox_path_resolve ()
 * returns: the bytes of a relative path, "." for the root itself. No call follows a link of any kind,
 * passes a mount point, or ends outside the directory, whatever is renamed meanwhile.
 *
 * Errors name the path as the guest knows it, never one of the host. */

GBytes  *sandbox_contained_read (int         root,
                                 const char *path,
                                 guint64     offset,
                                 guint64     max,
                                 GError    **error);
gboolean sandbox_contained_write (int               root,
                                  const char       *path,
                                  gconstpointer     data,
                                  gsize             size,
                                  guint             mode,
                                  SandboxWriteFlags flags,
                                  GError          **error);

/* Asked between any two entries: 0, or the errno to end with, ECANCELED or ETIMEDOUT. */
typedef int (*SandboxContainedCheck) (gpointer data);

gboolean sandbox_contained_remove (int                   root,
                                   const char           *path,
                                   SandboxRemoveFlags    flags,
                                   SandboxContainedCheck check,
                                   gpointer              data,
                                   GError              **error);

SandboxListing *sandbox_contained_list (int                   root,
                                        const char           *path,
                                        guint                 max,
                                        SandboxContainedCheck check,
                                        gpointer              data,
                                        GError              **error);
GFileInfo      *sandbox_contained_query_info (int         root,
                                              const char *path,
                                              GError    **error);
gboolean        sandbox_contained_make_directory (int         root,
                                                  const char *path,
                                                  GError    **error);
gboolean        sandbox_contained_move (int         root,
                                        const char *from,
                                        const char *to,
                                        GError    **error);

/* What these are made of. Without a GError they tell by errno. */

/* Opens @path below the directory @dirfd. @flags never make or truncate anything. */
int sandbox_contained_open (int         dirfd,
                            const char *path,
                            int         flags);

/* The directory in which the last name of a path stands. */
typedef struct
{
  int         fd;    /* to be used; the root itself for a path of one name */
  int         owned; /* to be closed, or -1 */
  const char *name;  /* within the path */
} SandboxContainedParent;

/* Opens it; with @make, missing directories are made with mode 0755. */
gboolean sandbox_contained_open_parent (SandboxContainedParent *self,
                                        int                     root,
                                        const char             *path,
                                        gboolean                make);

static inline void
sandbox_contained_parent_clear (SandboxContainedParent *self)
{
  sandbox_clear_fd (&self->owned);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxContainedParent, sandbox_contained_parent_clear)

/* Both as statx () told with STATX_TYPE and STATX_MNT_ID. */
gboolean sandbox_contained_same_mount (const struct statx *a,
                                       const struct statx *b);

/* Opens a regular file for reading, and nothing else even for a moment; @what is for the message. */
int sandbox_contained_open_file (int          root,
                                 const char  *path,
                                 const char  *what,
                                 struct stat *st,
                                 GError     **error);

/* Sets the error of anything that is no regular file. */
gboolean sandbox_contained_check_regular (const struct stat *st,
                                          const char        *what,
                                          int                root,
                                          const char        *path,
                                          GError           **error);

/* Makes one directory, of mode 0755 whatever the umask of the host. */
gboolean sandbox_contained_make_directory_at (int         dirfd,
                                              const char *name);

/* A file is written under a name that nobody knows, and then takes its place. */
#define SANDBOX_CONTAINED_TEMPORARY_SIZE 48

/* What stands there already: it must be a file, and its mode is kept; *@mode is that for a new one. */
gboolean sandbox_contained_look_at_target (const SandboxContainedParent *parent,
                                           int                           root,
                                           const char                   *path,
                                           gboolean                      exclusive,
                                           guint                        *mode,
                                           GError                      **error);

/* A descriptor of a new file, for which publish or drop follows. */
int  sandbox_contained_make_temporary (int  dirfd,
                                       char name[SANDBOX_CONTAINED_TEMPORARY_SIZE]);
void sandbox_contained_drop_temporary (int         dirfd,
                                       const char *name);

/* Takes @fd. A file that does not come to its place is gone. */
gboolean sandbox_contained_publish (int         dirfd,
                                    int         fd,
                                    const char *temporary,
                                    const char *name,
                                    mode_t      mode,
                                    gboolean    exclusive);

/* Whether a name is one of a file that is being written now, which is nobody's business. */
gboolean sandbox_contained_is_temporary (const char *name);

/* Whether the host may write a file up to this size. */
gboolean sandbox_contained_fits (guint64 end);
gboolean sandbox_contained_write_all (int         fd,
                                      const char *data,
                                      gsize       size);

/* Sets the mode of what an O_PATH descriptor stands for, which fchmod () cannot. */
gboolean sandbox_contained_chmod (int    fd,
                                  mode_t mode);

/* A path or name of the guest as it may stand in a message: printable, escaped, not too long. */
char *sandbox_contained_display (const char *bytes);

/* "Cannot WHAT “PATH”: why", with the part of the path that is in the way where there is one.
 * @prefix is the path of the directory @dirfd, NULL for the root. */
void sandbox_contained_set_error (GError    **error,
                                  int         errsv,
                                  const char *what,
                                  int         dirfd,
                                  const char *prefix,
                                  const char *path);

/* Atomic: walks every path name by name. Set once openat2 () has turned out to be missing, and by tests. */
extern int sandbox_contained_always_walk;

G_END_DECLS
