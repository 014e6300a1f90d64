/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-contained-private.h"
#include "sandbox-file-set-private.h"
#include "sandbox-template.h"

G_BEGIN_DECLS

/* What stays on disk of one backend, in a directory of which the host is the only user:
 *
 *   STATE/BACKEND/templates/KEY/   tree/ and template.json
 *   STATE/BACKEND/sessions/ID/     lease, alive, state.json and files/: workspace/, or upper/ and work/ over a template
 *   STATE/BACKEND/aside/NAME/      what is being made or removed, and NAME.lock beside it, locked by whoever does that
 *   STATE/BACKEND/reserve          an empty file, for the lock of a removal when the disk is full
 *
 * Nothing is made or removed in its place: it is renamed there whole, or away from there first. So whatever stands in
 * templates and sessions is complete, whoever is killed when. What is left in aside by the dead is collected by the
 * living; the lock tells them apart.
 *
 * Several objects and processes may use one directory at once. All calls may block, and may be made in any thread. */
typedef struct _SandboxStore SandboxStore;

#define SANDBOX_STORE_TREE "tree"
#define SANDBOX_STORE_TEMPLATE_FILE "template.json"
#define SANDBOX_STORE_FILES "files"
#define SANDBOX_STORE_UPPER "upper"
#define SANDBOX_STORE_WORK "work"

/* @state_directory is absolute and is made when it is missing; NULL for a private one, which goes with the store. One
 * that others could change or look into is DENIED, with the reason. What is stored for guests belongs to @uid and @gid,
 * which are the host's own unless the host is root. What the dead have left aside is collected until @check ends that. */
SandboxStore *sandbox_store_new (const char           *state_directory,
                                 const char           *backend,
                                 guint                 uid,
                                 guint                 gid,
                                 SandboxContainedCheck check,
                                 gpointer              data,
                                 GError              **error);
SandboxStore *sandbox_store_ref (SandboxStore *self);
void          sandbox_store_unref (SandboxStore *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxStore, sandbox_store_unref)

const char *sandbox_store_get_path (SandboxStore *self); /* of STATE */
const char *sandbox_store_get_backend (SandboxStore *self);
int         sandbox_store_get_templates (SandboxStore *self); /* descriptors of the directories, of the store */
int         sandbox_store_get_sessions (SandboxStore *self);
void        sandbox_store_get_owner (SandboxStore *self,
                                     guint        *uid,
                                     guint        *gid);

/* Whether the state directory goes with the store; then its sessions go with their owner, too. */
gboolean sandbox_store_is_private (SandboxStore *self);

/* One directory aside. */
typedef struct _SandboxStoreWork SandboxStoreWork;

SandboxStoreWork *sandbox_store_work_new (SandboxStore *store,
                                          GError      **error);
int               sandbox_store_work_get_fd (SandboxStoreWork *self);

/* Moves it to the directory @target as @name, and frees it; FALSE without an error when there is one already. */
gboolean sandbox_store_work_publish (SandboxStoreWork *self,
                                     int               target,
                                     const char       *name,
                                     GError          **error);

/* Removes it. */
void sandbox_store_work_free (SandboxStoreWork *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxStoreWork, sandbox_store_work_free)

/* Moves the entry @name of @directory aside and removes it; TRUE when it was not there. After an error in the removal,
 * or when @check ends it, the rest stays aside for a collector. */
gboolean sandbox_store_discard (SandboxStore         *self,
                                int                   directory,
                                const char           *name,
                                SandboxContainedCheck check,
                                gpointer              data,
                                GError              **error);

/* Removes what the dead have left aside. Not an error when some of it cannot be removed; gives how many were. */
guint sandbox_store_collect (SandboxStore         *self,
                             SandboxContainedCheck check,
                             gpointer              data);

/* How much of a template has been gone over. */
typedef void (*SandboxStoreProgress) (guint64  files,
                                      guint64  bytes,
                                      gpointer data);

/* Makes sure that there is a template of these files, and gives it. @files is frozen. @progress, which may be NULL, is
 * called at most every 100 ms, and once at the end. Its numbers begin anew when there was a template of the same name
 * to compare with, and it was another one. */
SandboxTemplate *sandbox_store_prewarm (SandboxStore         *self,
                                        const char           *name,
                                        SandboxFileSet       *files,
                                        SandboxContainedCheck check,
                                        SandboxStoreProgress  progress,
                                        gpointer              data,
                                        GError              **error);

/* Compares all of a stored template with its key: CORRUPT, with the name of what is not as it was made; NOT_FOUND. */
SandboxTemplate *sandbox_store_verify (SandboxStore         *self,
                                       const char           *key,
                                       SandboxContainedCheck check,
                                       gpointer              data,
                                       GError              **error);

/* All of them (SandboxTemplate), sorted by key; whether they are as they were made is not looked at. Damaged ones are
 * left out. */
GPtrArray *sandbox_store_list_templates (SandboxStore         *self,
                                         SandboxContainedCheck check,
                                         gpointer              data,
                                         GError              **error);

/* TRUE when there is none. Sessions that have copies of its files keep them. BUSY when there is a session that sees them
 * through an overlay, in use or not, or when one is being made. */
gboolean sandbox_store_delete_template (SandboxStore         *self,
                                        const char           *key,
                                        SandboxContainedCheck check,
                                        gpointer              data,
                                        GError              **error);

/* Between the parts of the store */

/* What a template has, once it was found to be what its key says. It does not change; the stored files may. */
typedef struct
{
  char           *path;
  SandboxFileKind kind;
  char           *target; /* of a link */

  /* Of a file: whoever changes it afterwards changes one of these. */
  guint64         inode;
  guint64         size;
  struct timespec changed;
} SandboxStoredEntry;

typedef struct
{
  gatomicrefcount    ref_count;
  char              *name;
  SandboxStoredEntry list;    /* of its file, which is as old as the template: another one has another */
  GArray            *entries; /* SandboxStoredEntry, in the order of sandbox_file_set_list () */
} SandboxStoredTemplate;

SandboxStoredTemplate *sandbox_stored_template_new_verified (SandboxStore         *store,
                                                             const char           *key,
                                                             SandboxContainedCheck check,
                                                             gpointer              data,
                                                             GError              **error);
SandboxStoredTemplate *sandbox_stored_template_ref (SandboxStoredTemplate *self);
void                   sandbox_stored_template_unref (SandboxStoredTemplate *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxStoredTemplate, sandbox_stored_template_unref)

/* The file is one that was read with the template, and has not been touched since. */
gboolean sandbox_stored_entry_is_same (const SandboxStoredEntry *self,
                                       const struct stat        *st);

/* Verified the first time that a store is asked for it; CORRUPT, NOT_FOUND. */
SandboxStoredTemplate *sandbox_store_get_template (SandboxStore         *self,
                                                   const char           *key,
                                                   SandboxContainedCheck check,
                                                   gpointer              data,
                                                   GError              **error);
void                   sandbox_store_forget_template (SandboxStore          *self,
                                                      const char            *key,
                                                      SandboxStoredTemplate *stored);

/* The files of a template, to the empty directory @target. With @reflink they share their content where that works,
 * and with @strict it has to. *@stale is TRUE when it fails because the template is not what it was when it was verified. */
typedef struct
{
  SandboxStore          *store;
  const char            *key;
  SandboxStoredTemplate *stored;
  int                    target;
  gboolean               reflink;
  gboolean               strict;
  SandboxContainedCheck  check;
  gpointer               data;
  gboolean               stale;
} SandboxStoreCopy;

gboolean sandbox_store_copy (SandboxStoreCopy *self,
                             GError          **error);

/* Whether files in @directory, where two are made for a moment, can share their content with others of the store. */
gboolean sandbox_store_can_reflink (SandboxStore *self,
                                    int           directory);

/* Overlays
 *
 * A session of that mode has no files but those that it has changed: an agent shows them in its sandbox over the tree of
 * the template, which is never written to. */

/* Tries whether the sandboxes of a backend can have an overlay of two such directories: NOT_SUPPORTED, with the reason. */
typedef gboolean (*SandboxStoreOverlayTry) (int      lower,
                                            int      base,
                                            gpointer data,
                                            GError **error);

/* Without it there are none. It is tried once, for the first session that could be one, and @data is used while sessions
 * are made. */
void sandbox_store_set_overlay (SandboxStore          *self,
                                SandboxStoreOverlayTry try_overlay,
                                gpointer               data);

/* NOT_SUPPORTED, with the reason. */
gboolean sandbox_store_can_overlay (SandboxStore *self,
                                    GError      **error);
gboolean sandbox_store_try_overlay (SandboxStore          *self,
                                    SandboxStoreOverlayTry try_overlay,
                                    gpointer               data,
                                    GError               **error);

/* Makes upper/ and work/ in the directory @base. By errno. */
gboolean sandbox_store_make_layers (SandboxStore *self,
                                    int           base);

/* Keeps a template, which is still the one that was @stored, from being deleted. Ends with sandbox_fork_close (@fd), which
 * must stay where it is. *@stale is TRUE when it fails because the template is another one, or none. */
gboolean sandbox_store_hold_template (SandboxStore          *self,
                                      const char            *key,
                                      SandboxStoredTemplate *stored,
                                      int                   *fd,
                                      gboolean              *stale,
                                      GError               **error);

/* The same the other way about, for one who is going to delete it: nobody holds it, no session of any process is made over it,
 * and none can be made before the end. BUSY. There may be no template. */
gboolean sandbox_store_lock_unused (SandboxStore *self,
                                    const char   *key,
                                    int          *fd,
                                    GError      **error);

/* Gives what @func makes of each name of @directory that is a key, sorted. One for which it fails is left out. */
typedef gboolean (*SandboxStoreListFunc) (SandboxStore *self,
                                          const char   *key,
                                          GPtrArray    *list,
                                          GError      **error);

GPtrArray *sandbox_store_list (SandboxStore         *self,
                               int                   directory,
                               SandboxStoreListFunc  func,
                               GCompareFunc          compare,
                               SandboxContainedCheck check,
                               gpointer              data,
                               GError              **error);

/* Whether @name in @parent is still what was opened as @fd. */
gboolean sandbox_store_is_there (int         parent,
                                 const char *name,
                                 int         fd);

/* Makes a file, and opens it for writing. By errno. */
int sandbox_store_make_file (int         directory,
                             const char *name,
                             guint       mode);

/* Opens a directory that we have just made, and gives it its mode, whatever the umask of the host made of that. By
 * errno. */
int sandbox_store_open_made (int         parent,
                             const char *name,
                             guint       mode);

/* Whether an error says that what is stored is not as it was made, or gone, and not that the host has failed to look. */
gboolean sandbox_store_is_damage (const GError *error);

/* Makes a directory that belongs to the owner of what is stored, and opens it. By errno. */
int sandbox_store_make_directory (SandboxStore *self,
                                  int           parent,
                                  const char   *name);

/* The modes that files of a template have. */
guint sandbox_store_get_mode (SandboxFileKind kind);

/* Reads all of @source, which may be -1 when there are @bytes instead; its SHA-256 goes to @digest, and its content to
 * @target unless that is -1. Adds to *@total and ends with EDQUOT when that is too much. Tells by errno. */
gboolean sandbox_store_read (int                   source,
                             GBytes               *bytes,
                             int                   target,
                             guint64              *total,
                             SandboxContainedCheck check,
                             gpointer              data,
                             guint8                digest[SANDBOX_DIGEST_BYTES]);

/* The directory in which the entries come that are worked on one after the other. */
typedef struct
{
  int   top;
  char *path; /* of the one that is open */
  int   fd;
} SandboxStorePlace;

/* By errno; -1, or a descriptor that stays with the place. *@name is the last name of @path. */
int  sandbox_store_place_open (SandboxStorePlace *self,
                               const char        *path,
                               const char       **name);
void sandbox_store_place_clear (SandboxStorePlace *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxStorePlace, sandbox_store_place_clear)

G_END_DECLS
