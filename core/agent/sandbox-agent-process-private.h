/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-agent-slots-private.h"
#include "sandbox-command.h"
#include "sandbox-process.h"
#include "sandbox-request.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_AGENT_PROCESS (sandbox_agent_process_get_type ())
G_DECLARE_FINAL_TYPE (SandboxAgentProcess, sandbox_agent_process, SANDBOX, AGENT_PROCESS, SandboxProcess)

/* It is proven that the command has not run, and what it was to run in has ended by itself. TRUE if @request is taken over. */
typedef gboolean (*SandboxAgentAgainFunc) (gpointer        user_data,
                                           SandboxRequest *request);

/* Sends @command to the agent of @channel, which is a slot of @slots or else @slots is NULL, and answers @request with the
 * process once its program runs. On the worker. @environment is the complete one of the command. @again is nullable. */
SandboxAgentProcess *sandbox_agent_process_start (SandboxAgentChannel  *channel,
                                                  SandboxAgentSlots    *slots,
                                                  SandboxCommand       *command,
                                                  const char *const    *environment,
                                                  SandboxRequest       *request,
                                                  SandboxAgentAgainFunc again,
                                                  gpointer              again_data,
                                                  GDestroyNotify        again_notify);

/* Ends it, however far it has come; the request is answered when nothing of it can run any more. From any
 * thread. */
void sandbox_agent_process_abort (SandboxAgentProcess *self);

G_END_DECLS
