/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-request.h"

G_BEGIN_DECLS

/* How long a driver may take to answer when nothing else is said. */
#define SANDBOX_REQUEST_TIME_LIMIT_MS 30000

/* The internal end of a request: called once, in the thread that answers. At most one of @answer and
 * @error is set; neither means "done". Both belong to the caller. */
typedef void (*SandboxAnswerFunc) (gpointer      user_data,
                                   gpointer      answer,
                                   const GError *error);

/* @answer is G_TYPE_NONE for "done", G_TYPE_BYTES, or the type of an object. */
SandboxRequest *sandbox_request_new (gpointer            source_object,
                                     gpointer            source_tag,
                                     GType               answer,
                                     GCancellable       *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer            user_data);
SandboxRequest *sandbox_request_new_internal (GType             answer,
                                              GCancellable     *cancellable,
                                              SandboxAnswerFunc func,
                                              gpointer          user_data);

/* Before the vtable call: the time that the driver has, and how long a cancelled driver is waited for
 * (0: not at all) so that what it had begun is dead when the caller hears of the cancellation. */
void sandbox_request_set_limits (SandboxRequest *self,
                                 guint           time_limit_ms,
                                 guint           cancel_grace_ms);

/* Before the vtable call of an internal one without a cancellable: its time runs also while nobody runs the context of the
 * call, as another call may wait for its end below. */
void sandbox_request_set_timed_by_worker (SandboxRequest *self);

guint sandbox_request_get_time_limit_ms (SandboxRequest *self);

/* Before the vtable call, for a transfer: @func hears of sandbox_request_report_progress () in the context
 * of the call, ten times a second at most, and of the last numbers before the answer. */
typedef void (*SandboxProgressFunc) (gpointer user_data,
                                     guint64  bytes,
                                     guint64  files,
                                     guint64  skipped);
void sandbox_request_set_progress (SandboxRequest     *self,
                                   SandboxProgressFunc func,
                                   gpointer            user_data,
                                   GDestroyNotify      notify);

/* Keeps @data until the driver has answered or let go of the request, whatever the caller was told
 * meanwhile; an answer that is a process takes it over until that is gone. */
void sandbox_request_keep (SandboxRequest *self,
                           gpointer        data,
                           GDestroyNotify  notify);

/* After the vtable call: FALSE refuses with @error (taken), TRUE arms time limit and cancellation
 * if there is no answer yet. */
void sandbox_request_dispatched (SandboxRequest *self,
                                 gboolean        taken,
                                 GError         *error);

/* For the finish functions. */
gpointer sandbox_request_propagate_pointer (GAsyncResult *result,
                                            gpointer      source_object,
                                            gpointer      source_tag,
                                            GError      **error);
gboolean sandbox_request_propagate_done (GAsyncResult *result,
                                         gpointer      source_object,
                                         gpointer      source_tag,
                                         GError      **error);

G_END_DECLS
