/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-agent-channel.h"
#include "sandbox-agent-peer-private.h"

G_BEGIN_DECLS

/* The sandbox that the commands of a session share, with the slots that are armed in it: each is used once, by one
 * command. On the worker, all of it. */
typedef struct _SandboxAgentSlots SandboxAgentSlots;

/* It has become ready, there is room again for those who found none, or it has come to its end. */
typedef void (*SandboxAgentSlotsFunc) (SandboxAgentSlots *self,
                                       gpointer           data);

typedef struct
{
  guint    n_armed;   /* so many slots wait for commands */
  guint    idle_ms;   /* it rests after so long without any; 0: never */
  gboolean is_shared; /* what commands leave in there is kept: at rest it only has no slots */
} SandboxAgentSlotsManner;

/* Takes the sandbox at the other end of @channel from its first word on. */
SandboxAgentSlots *sandbox_agent_slots_new (SandboxAgentChannel           *channel,
                                            const SandboxAgentSlotsManner *manner,
                                            SandboxAgentSlotsFunc          func,
                                            gpointer                       data,
                                            GDestroyNotify                 notify);
SandboxAgentSlots *sandbox_agent_slots_ref (SandboxAgentSlots *self);
void               sandbox_agent_slots_unref (SandboxAgentSlots *self);

gboolean sandbox_agent_slots_is_ready (SandboxAgentSlots *self);

/* The other end of its channel. */
SandboxAgentPeer *sandbox_agent_slots_get_peer (SandboxAgentSlots *self);

/* Why it never became ready; NULL if it did. */
const GError *sandbox_agent_slots_get_failure (SandboxAgentSlots *self);

/* Whether it was being built and somebody killed it: the next one may well become ready. */
gboolean sandbox_agent_slots_was_killed (SandboxAgentSlots *self);

/* Looks whether it is dead already, which is heard of later, and ends it then. A slot that dies before its time may be the first sign. */
void sandbox_agent_slots_look (SandboxAgentSlots *self);

/* A descriptor of the workspace as the commands see it, once ready, and once; else -1. */
int sandbox_agent_slots_steal_view (SandboxAgentSlots *self);

/* A channel to a slot, armed or else made now; once ready. With @is_counted it is for a command with such a limit. Each
 * is given back by sandbox_agent_slots_release (). NULL without an error: it has come to its end, and another one is needed; or
 * there is something to wait for. */
SandboxAgentChannel *sandbox_agent_slots_take (SandboxAgentSlots *self,
                                               gboolean           is_counted,
                                               GError           **error);

/* Whether a limit of so many processes is held to the last one, by waiting and by making no slots meanwhile, which costs commands
 * some time. Of a larger one a few more or less are nothing. */
#define SANDBOX_AGENT_SLOTS_COUNTED_MAX 64

static inline gboolean
sandbox_agent_slots_is_counted (guint64 processes)
{
  return processes > 0 && processes <= SANDBOX_AGENT_SLOTS_COUNTED_MAX;
}

/* How many processes there are in the sandbox beside one slot and what commands run, when none is ending. With @is_counted, which is
 * said once for each such command, no slot is made from now on until sandbox_agent_slots_release_ending (): one that comes about
 * while the command makes its processes would leave it some too many. Without, it is as if no slot were missing. */
guint sandbox_agent_slots_count_others (SandboxAgentSlots *self,
                                        gboolean           is_counted);

/* A command has ended, and its answer is given: only now the slots that are missing are made, so that none waits for that. */
void sandbox_agent_slots_release (SandboxAgentSlots *self);

/* It has ended, but its agent has not: that is released later, and no command that is counted starts before. */
void sandbox_agent_slots_add_ending (SandboxAgentSlots *self);
void sandbox_agent_slots_release_ending (SandboxAgentSlots *self);

/* Ends it with everything that runs in there. */
void sandbox_agent_slots_end (SandboxAgentSlots *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxAgentSlots, sandbox_agent_slots_unref)

G_END_DECLS
