/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-store-session-private.h"
#include "sandbox-worker-private.h"
#include "sandbox-workspace.h"

G_BEGIN_DECLS

/* A directory below which files are. An atomic rc box: whoever works on files has it until the end, whatever takes its
 * place meanwhile. */
typedef struct
{
  int      fd;      /* O_PATH; of a view not in a forked child */
  gboolean is_view; /* of an overlay that is mounted */
  guint    uid;     /* of a view: whom its files belong to, who is another one than on disk */
  guint    gid;
} SandboxWorkspaceRoot;

struct _SandboxWorkspace
{
  GObject parent_instance;

  SandboxWorkspaceRoot *directory; /* on disk; of an overlay what has been changed */
  char                 *path;
  char                 *state_directory; /* NULL for a directory of the host's own */
  guint                 uid;
  guint                 gid;
  int                   lower; /* of an overlay that is only tried, or -1 */
  int                   base;

  GMutex                lock;       /* guards what follows */
  SandboxWorkspaceRoot *root;       /* where files are read and changed; NULL for an overlay that is mounted nowhere yet */
  SandboxStoreSession  *session;    /* whose workspace it is; NULL for none, or once that is given up */
  gboolean              ended;      /* it has been */
  gboolean              mounts;     /* the overlay is being mounted: the view comes soon */
  gint64                mounts_end; /* nobody waits for that any longer then; monotonic */
  GCond                 mounted;    /* signalled when that has come to an end */
  GPtrArray            *queue;      /* of SandboxWorkspaceJob: what waits for it and holds no thread meanwhile */
  GSource              *queue_end;
  guint                 n_users; /* what is changing files, or has one of a view open */
  GPtrArray            *holders; /* of SandboxWorkspaceHolder: the latter */
};

/* The workspace of a session that is kept in the store below @state_directory. Takes the session, but not when it fails. */
SandboxWorkspace *sandbox_workspace_new_for_session (SandboxStoreSession *session,
                                                     const char          *state_directory,
                                                     GError             **error);

/* For a trial of overlays: one of these two, which stay the caller's, in a store at @state_directory. */
SandboxWorkspace *sandbox_workspace_new_for_layers (int         lower,
                                                    int         base,
                                                    const char *state_directory,
                                                    GError    **error);

/* Gives the session up, so that somebody else can have it: at once, or when the last change of files that is under way
 * has ended. Whatever comes after is STOPPED. May block. */
void sandbox_workspace_give_up (SandboxWorkspace *self);

/* The same, but hands the session to the caller; NULL when it has been given up. */
SandboxStoreSession *sandbox_workspace_steal_session (SandboxWorkspace *self);

void sandbox_workspace_root_unref (SandboxWorkspaceRoot *self);

/* Whom the files of @root belong to, and with whose rights they are changed. */
void sandbox_workspace_root_get_owner (SandboxWorkspaceRoot *root,
                                       SandboxWorkspace     *workspace,
                                       guint                *uid,
                                       guint                *gid);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxWorkspaceRoot, sandbox_workspace_root_unref)

/* Around all work on files: keeps the session until the end, and gives the directory. STOPPED when the session has been
 * given up, UNAVAILABLE for an overlay that is mounted nowhere. One that is being mounted is waited for, as long as @check,
 * which may be NULL, lets it. */
SandboxWorkspaceRoot *sandbox_workspace_enter (SandboxWorkspace     *self,
                                               SandboxContainedCheck check,
                                               gpointer              data,
                                               GError              **error);
void                  sandbox_workspace_leave (SandboxWorkspace     *self,
                                               SandboxWorkspaceRoot *root);

/* The same for the end of work that was begun in @root: UNAVAILABLE when the files are elsewhere by now. */
SandboxWorkspaceRoot *sandbox_workspace_return (SandboxWorkspace     *self,
                                                SandboxWorkspaceRoot *root,
                                                GError              **error);

/* For as long as @stream has a file of @root open. One of a view is work under way, which ends before the next mount. When
 * the session is given up, @revoke has to release it: nobody is to wait until somebody lets go of a stream. STOPPED when it
 * has been given up. */
SandboxWorkspaceRoot *sandbox_workspace_hold (SandboxWorkspace     *self,
                                              SandboxWorkspaceRoot *root,
                                              GObject              *stream,
                                              void (*revoke) (GObject *stream),
                                              GError **error);
void                  sandbox_workspace_release (SandboxWorkspace     *self,
                                                 SandboxWorkspaceRoot *root,
                                                 GObject              *stream);

/* What such a stream answers then. */
GError *sandbox_workspace_new_stopped (void);

/* One file operation. */
typedef struct _SandboxWorkspaceJob SandboxWorkspaceJob;

struct _SandboxWorkspaceJob
{
  /* Works as the owner of the workspace, unless it enters that itself. */
  gboolean (*run) (SandboxWorkspaceJob *self,
                   gpointer            *answer,
                   GError             **error);

  SandboxWorkspace     *workspace;
  SandboxRequest       *request;
  char                 *path; /* decoded */
  char                 *to;   /* decoded, or NULL */
  SandboxWorkspaceRoot *root; /* while it runs */
  gint64                end;  /* monotonic */
  gboolean              gives_object;
  gboolean              enters_itself;
  SandboxPool           pool;

  guint64 offset;
  guint64 max;
  GBytes *bytes;
  GFile  *directory;
  guint   mode;
  guint   flags;
};

/* Does what @job says, at once or in the pool. Everything in it is borrowed. */
gboolean sandbox_workspace_start (SandboxWorkspaceJob *job,
                                  const char          *path,
                                  const char          *to,
                                  GError             **error);

/* Takes @job, which is then freed in the end. */
void sandbox_workspace_job_push (SandboxWorkspaceJob *job);

/* As sandbox_workspace_enter () does, but for one that is in the pool: where that would wait, @job comes back to the pool
 * when it need not any more, and this is FALSE. */
gboolean sandbox_workspace_enter_or_queue (SandboxWorkspace      *self,
                                           SandboxWorkspaceJob   *job,
                                           SandboxWorkspaceRoot **root,
                                           GError               **error);

/* For SandboxContainedCheck. */
int sandbox_workspace_job_check (gpointer data);

G_END_DECLS
