/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-command.h"
#include "sandbox-process.h"
#include "sandbox-sync-private.h"

G_BEGIN_DECLS

/* As sandbox_process_set_streams (), with pipes that are not blocking, which are taken: they become streams when somebody asks for
 * those, and otherwise are read as they are. */
void sandbox_process_take_pipes (SandboxProcess *self,
                                 GOutputStream  *stdin_stream,
                                 int             pipes[2]);

/* The session layer takes charge of a started process: time limit and grace of the frozen @command
 * from now on, kills by way of @dispatcher unless the driver is @thread_safe. Once. */
void sandbox_process_attach (SandboxProcess    *self,
                             SandboxCommand    *command,
                             SandboxDispatcher *dispatcher,
                             gboolean           thread_safe);

/* What it was attached with; NULL before. */
SandboxCommand    *sandbox_process_get_command (SandboxProcess *self);
SandboxDispatcher *sandbox_process_get_dispatcher (SandboxProcess *self);

/* STOPPED in a forked child, where nobody may do anything about a command of the parent's. */
gboolean sandbox_process_check_own (SandboxProcess *self,
                                    GError        **error);

gboolean sandbox_process_is_gone (SandboxProcess *self);

/* The driver's kill, in this thread. */
gboolean sandbox_process_call_kill (SandboxProcess *self,
                                    GError        **error);

/* Answers @task (taken) with TRUE when everything of the command is gone. */
void sandbox_process_wait_with_task (SandboxProcess *self,
                                     GTask          *task);

/* Keeps @data until the process is gone; at once if it is. */
void sandbox_process_keep (SandboxProcess *self,
                           gpointer        data,
                           GDestroyNotify  notify);

/* Kills everything of the command for this reason. The first reason stands, and none comes after the
 * command's own end, but for an output that was too large. */
void sandbox_process_end (SandboxProcess *self,
                          SandboxOutcome  reason);

/* The session stopped while the command was starting, and its driver may have killed it already: unless it
 * has exited by itself, it ended because it was stopped. */
void sandbox_process_end_stopped (SandboxProcess *self);

/* TERM, and after the grace KILL; a grace of 0 kills at once. */
void sandbox_process_terminate (SandboxProcess *self,
                                SandboxOutcome  reason,
                                guint           grace_ms);

/* Captures the output and answers @task (taken) with a SandboxResult when everything is over. A
 * cancelled task ends the command, and is answered when that is dead. */
void sandbox_process_collect (SandboxProcess *self,
                              GTask          *task);

G_END_DECLS
