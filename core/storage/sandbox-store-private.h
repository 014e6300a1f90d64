/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-contained-private.h"
#include "sandbox-file-set-private.h"
#include "sandbox-template.h"

G_BEGIN_DECLS

/* What stays on disk of one backend, in a directory of which the host is the only user:
 *
 *   STATE/BACKEND/templates/KEY/   tree/ and template.json
 *   STATE/BACKEND/sessions/ID/
 *   STATE/BACKEND/aside/NAME/      what is being made or removed, and NAME.lock beside it, locked by whoever does that
 *
 * Nothing is made or removed in its place: it is renamed there whole, or away from there first. So whatever stands in
 * templates and sessions is complete, whoever is killed when. What is left in aside by the dead is collected by the
 * living; the lock tells them apart.
 *
 * Several objects and processes may use one directory at once. All calls may block, and may be made in any thread. */
typedef struct _SandboxStore SandboxStore;

#define SANDBOX_STORE_TREE "tree"
#define SANDBOX_STORE_TEMPLATE_FILE "template.json"

/* @state_directory is absolute and is made when it is missing; NULL for a private one, which goes with the store. One
 * that others could change or look into is DENIED, with the reason. What is stored for guests belongs to @uid and @gid,
 * which are the host's own unless the host is root. */
SandboxStore *sandbox_store_new (const char *state_directory,
                                 const char *backend,
                                 guint       uid,
                                 guint       gid,
                                 GError    **error);
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

/* Makes sure that there is a template of these files, and gives it. @files is frozen. */
SandboxTemplate *sandbox_store_prewarm (SandboxStore         *self,
                                        const char           *name,
                                        SandboxFileSet       *files,
                                        SandboxContainedCheck check,
                                        gpointer              data,
                                        GError              **error);

/* Compares all of a stored template with its key: CORRUPT, with the name of what is not as it was made; NOT_FOUND. */
SandboxTemplate *sandbox_store_verify (SandboxStore         *self,
                                       const char           *key,
                                       SandboxContainedCheck check,
                                       gpointer              data,
                                       GError              **error);

gboolean sandbox_store_delete_template (SandboxStore         *self,
                                        const char           *key,
                                        SandboxContainedCheck check,
                                        gpointer              data,
                                        GError              **error);

/* Between the parts of the store */

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
