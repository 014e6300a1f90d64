/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-agent-channel.h"
#include "sandbox-agent-doors-private.h"

G_BEGIN_DECLS

int sandbox_agent_channel_get_socket (SandboxAgentChannel *self);

/* Gives a stream's descriptor to whom the commands are. */
gboolean sandbox_agent_channel_own_fd (SandboxAgentChannel *self,
                                       int                  fd);

/* The control group of the sandbox, or NULL. */
SandboxAgentGroup *sandbox_agent_channel_get_group (SandboxAgentChannel *self);

/* Whether the other end makes slots, and is no slot itself. */
gboolean sandbox_agent_channel_has_slots (SandboxAgentChannel *self);

/* How many doors it has inside. */
guint sandbox_agent_channel_get_n_doors (SandboxAgentChannel *self);

/* To whom the other end's doors are given; NULL: to nobody. Once, before anything is heard from there. */
void               sandbox_agent_channel_set_doors (SandboxAgentChannel *self,
                                                    SandboxAgentDoors   *doors);
SandboxAgentDoors *sandbox_agent_channel_get_doors (SandboxAgentChannel *self);

/* Once the other end has read what it is to prepare: keeps what it has not read short, so that it is asked for some slots at
 * a time. */
void sandbox_agent_channel_limit_unread (SandboxAgentChannel *self);

/* Has a slot made: a channel to it, which may be used at once, whatever becomes of the slot. The sandbox lives as long as
 * channels to slots do. G_IO_ERROR_WOULD_BLOCK: not before the socket can be written to. */
SandboxAgentChannel *sandbox_agent_channel_arm (SandboxAgentChannel *self,
                                                GError             **error);

/* Whether its end has come already; that of its sandbox comes before that of a slot. */
gboolean sandbox_agent_channel_is_dead (SandboxAgentChannel *self);

/* Whether something that it has said is yet to be read. */
gboolean sandbox_agent_channel_has_news (SandboxAgentChannel *self);

/* Sends what the sandbox is prepared with. Once, first; a slot has been prepared already. */
gboolean sandbox_agent_channel_send_setup (SandboxAgentChannel *self,
                                           GError             **error);

/* What the other end has not said by now it never will: it ends when it tries to. What it has said can still be read. From
 * then on the socket hangs up when nobody has the other end any more. */
void sandbox_agent_channel_silence (SandboxAgentChannel *self);

/* Leaves it to the agent to end the sandbox, as it does when it has lost its host. */
void sandbox_agent_channel_hang_up (SandboxAgentChannel *self);

/* Ends the sandbox, however far it has come. From any thread. */
void sandbox_agent_channel_kill (SandboxAgentChannel *self);

/* Calls @func on the worker once the launcher has ended; reaps it. FALSE if there is none. */
gboolean sandbox_agent_channel_watch_launcher (SandboxAgentChannel *self,
                                               GSourceFunc          func,
                                               gpointer             data,
                                               GDestroyNotify       notify);

/* Whether the launcher has ended by a signal, and so does not say why there is no sandbox. */
gboolean sandbox_agent_channel_launcher_was_killed (SandboxAgentChannel *self);

/* How the launcher ended, for a message: "exit status 1", and what it said, bounded and made harmless. Only
 * evidence: nothing is decided by it. */
char *sandbox_agent_channel_describe_end (SandboxAgentChannel *self);

/* The error for a sandbox that is gone without a word, before or after its HELLO. */
GError *sandbox_agent_channel_make_end_error (SandboxAgentChannel *self,
                                              gboolean             said_hello);

G_END_DECLS
