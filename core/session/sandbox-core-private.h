/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-admission-private.h"
#include "sandbox-backend.h"
#include "sandbox-driver.h"
#include "sandbox-gateway.h"
#include "sandbox-handle.h"
#include "sandbox-process.h"
#include "sandbox-session.h"
#include "sandbox-storage-private.h"
#include "sandbox-sync-private.h"

G_BEGIN_DECLS

/* What a handle, its session and their live commands share. It is released when all of them are gone,
 * which never calls into a driver: closing is the handle's explicit act.
 *
 * LIVE → STOPPING → STOPPED → DELETED, never back. A delete may begin in any of them; it stops the session first. */
typedef struct _SandboxCore SandboxCore;

/* @options (frozen) and @backend are NULL for a session over a bare driver. @kept (taken) is NULL for one of which the
 * library keeps nothing. */
SandboxCore *sandbox_core_new (SandboxDriver        *driver,
                               SandboxBackend       *backend,
                               SandboxCreateOptions *options,
                               SandboxKeptSession   *kept,
                               SandboxDispatcher    *dispatcher);
SandboxCore *sandbox_core_ref (SandboxCore *self);
void         sandbox_core_unref (SandboxCore *self);

/* Constant from the start */
const char         *sandbox_core_get_id (SandboxCore *self);
SandboxDriver      *sandbox_core_get_driver (SandboxCore *self);
SandboxBackend     *sandbox_core_get_backend (SandboxCore *self); /* nullable */
SandboxDispatcher  *sandbox_core_get_dispatcher (SandboxCore *self);
guint64             sandbox_core_get_max_file_bytes (SandboxCore *self);
const char         *sandbox_core_get_workspace_target (SandboxCore *self); /* in the guest */
SandboxLimits      *sandbox_core_get_limits (SandboxCore *self);
SandboxKeptSession *sandbox_core_get_kept (SandboxCore *self);

/* NOT_SUPPORTED for a policy under which what the session was created with would not hold. */
gboolean sandbox_core_check_policy (SandboxCore          *self,
                                    SandboxNetworkPolicy *policy,
                                    GError              **error);

/* STOPPED in a forked child: every call of a session comes by here first, most in one of those below. */
gboolean sandbox_core_check_own (SandboxCore *self,
                                 GError     **error);

/* STOPPED once stopping has begun. */
gboolean sandbox_core_check_live (SandboxCore *self,
                                  GError     **error);

/* An admission: from before a command starts until everything of it is gone. */
typedef struct _SandboxTicket SandboxTicket;

SandboxTicket *sandbox_core_admit (SandboxCore *self,
                                   GError     **error);
void           sandbox_ticket_free (gpointer ticket);

/* A started command; it leaves the list when it is gone. FALSE when stopping has begun. */
gboolean   sandbox_core_add_process (SandboxCore    *self,
                                     SandboxProcess *process);
GPtrArray *sandbox_core_dup_processes (SandboxCore *self);

/* Calls @func in a thread in which the driver's functions may be called: on the worker, or in one of the host, of which
 * that of @context (NULL: home) is one. */
void sandbox_core_invoke_for_driver (SandboxCore   *self,
                                     GMainContext  *context,
                                     GSourceFunc    func,
                                     gpointer       data,
                                     GDestroyNotify notify);

/* A policy changes alone: BUSY while commands are alive, and commands are BUSY meanwhile. A stop cancels @cancellable. */
gboolean sandbox_core_begin_change (SandboxCore  *self,
                                    GCancellable *cancellable,
                                    GError      **error);
void     sandbox_core_end_change (SandboxCore *self);

/* The policy in force, NULL for deny all. Setting it tells the session when its gateway has come or gone. */
SandboxNetworkPolicy *sandbox_core_dup_policy (SandboxCore *self);
void                  sandbox_core_set_policy (SandboxCore          *self,
                                               SandboxNetworkPolicy *policy);

/* Where commands find the gateway, or NULL; and the variables that send them there. */
const char        *sandbox_core_get_gateway_path (SandboxCore *self);
const char *const *sandbox_core_get_proxy_variables (SandboxCore *self);

/* The gateway of the session: taken once, unless the session has been stopped. Dropped when nothing came of it, so that
 * there may be another, or when it is not known any more by which policy it judges: then there is none ever after. Both
 * close it. */
SandboxGateway *sandbox_core_dup_gateway (SandboxCore *self);
gboolean        sandbox_core_take_gateway (SandboxCore    *self,
                                           SandboxGateway *gateway,
                                           GError        **error);
void            sandbox_core_drop_gateway (SandboxCore *self,
                                           gboolean     for_ever);

/* For the stop, which closes it. */
SandboxGateway *sandbox_core_steal_gateway (SandboxCore *self);

/* To whom the signals of the gateway go; NULL before it goes away. */
void sandbox_core_set_session (SandboxCore    *self,
                               SandboxSession *session);

/* Told once, in any thread, with NULL or an error that it does not own. */
typedef void (*SandboxStopFunc) (gpointer      user_data,
                                 const GError *error);

/* Everybody who asks for the stop is told what became of it, now or when it is done. TRUE for the one who is to stop the
 * session, and to end with sandbox_core_set_stopped (), which takes @self and @error. */
gboolean sandbox_core_begin_stop (SandboxCore    *self,
                                  SandboxStopFunc func,
                                  gpointer        user_data);
void     sandbox_core_set_stopped (SandboxCore *self,
                                   GError      *error);

/* The same for a delete, but after a failure it may be tried again. The tasks, of which the first is that of who
 * deletes, have the session; @error is taken. */
gboolean sandbox_core_begin_delete (SandboxCore *self,
                                    GTask       *task);
void     sandbox_core_end_delete (SandboxCore *self,
                                  GTask       *task,
                                  GError      *error);
gboolean sandbox_core_is_deleting (SandboxCore *self);

/* Answers @task (taken) in its context, in which the last reference to what it has may go. */
void sandbox_core_answer_task (GTask        *task,
                               const GError *error);

SandboxPhase sandbox_core_get_phase (SandboxCore *self);

typedef void (*SandboxIdleFunc) (gpointer user_data,
                                 gboolean idle);

/* For the one who stops, on the worker: calls @func there, with whether no command is admitted and no policy is being changed
 * any more, when that is so or after @limit_ms. */
void sandbox_core_wait_idle (SandboxCore    *self,
                             SandboxIdleFunc func,
                             gpointer        user_data,
                             guint           limit_ms);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxCore, sandbox_core_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxTicket, sandbox_ticket_free)

G_END_DECLS
