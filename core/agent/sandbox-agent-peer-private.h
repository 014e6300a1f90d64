/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-agent-channel.h"
#include "sandbox-agent-protocol.h"

G_BEGIN_DECLS

/* The other end of a channel, from its first word to the proof of its end: an agent that is process 1 of something, and
 * the launcher that has made that, if there is one. On the worker, unless it says otherwise. */
typedef struct _SandboxAgentPeer SandboxAgentPeer;

/* What its user is told. Nothing of it is called by the functions below. */
typedef struct
{
  gboolean needs_launcher_end; /* it is not over before its launcher has ended */

  /* A packet, but for HELLO and LISTEN; FALSE: nothing more is expected. */
  gboolean (*heard) (gpointer            user,
                     SandboxAgentPacket *packet);

  /* Nothing will be said any more. The end of the socket is the end of the sandbox, whoever closed it. */
  void (*silent) (gpointer user);

  /* Why it has ended without a word and was not ready. */
  GError *(*explain) (gpointer user);

  /* Nothing of it can run any more; or that could not be proven of one that was told to end. */
  void (*over) (gpointer user);
} SandboxAgentPeerFuncs;

/* @notify drops @user when all of it is over, and the launcher has ended. @outer is what this one is in, and has been ready;
 * or it is NULL. */
SandboxAgentPeer *sandbox_agent_peer_new (SandboxAgentChannel         *channel,
                                          SandboxAgentPeer            *outer,
                                          const SandboxAgentPeerFuncs *funcs,
                                          gpointer                     user,
                                          GDestroyNotify               notify);

/* Listens from now on, and counts the time. */
void sandbox_agent_peer_watch (SandboxAgentPeer *self);

/* The last one may be dropped by any thread. */
SandboxAgentPeer *sandbox_agent_peer_ref (SandboxAgentPeer *self);
void              sandbox_agent_peer_unref (SandboxAgentPeer *self);

/* An agent that is gone already is told by its end, with the reason: FALSE and EPIPE. */
gboolean sandbox_agent_peer_send (SandboxAgentPeer         *self,
                                  const SandboxAgentPacket *packet);

/* Holds @fd, which is taken over, until the pidfd of process 1 may arrive, which needs one. */
void sandbox_agent_peer_take_spare (SandboxAgentPeer *self,
                                    int               fd);

/* It has been built, which is waited for no longer than 10 seconds. FALSE if it may not be ready now; it is killed then. */
gboolean sandbox_agent_peer_set_ready (SandboxAgentPeer *self);

/* It is ready, and has not been told to end. */
gboolean sandbox_agent_peer_is_ready (SandboxAgentPeer *self);

/* It is not ready yet, and nothing has come between. */
gboolean sandbox_agent_peer_is_building (SandboxAgentPeer *self);

gboolean sandbox_agent_peer_is_over (SandboxAgentPeer *self);

/* It will not be ready; @error is taken. The first reason stands, and is kept; nothing for what has been ready. */
void          sandbox_agent_peer_fail (SandboxAgentPeer *self,
                                       GError           *error);
const GError *sandbox_agent_peer_get_failure (SandboxAgentPeer *self);

/* Ends it, and does not wait for the proof for ever. */
void sandbox_agent_peer_end (SandboxAgentPeer *self);

/* Ends it, and waits. Once it is ready, from any thread. */
void sandbox_agent_peer_kill (SandboxAgentPeer *self);

/* Ends what is ready and has no launcher, and does not wait: it has been said that nothing but process 1 is left. What
 * remains to be told is told from within. With @follow the user is kept until process 1 has ended, too. */
void sandbox_agent_peer_finish (SandboxAgentPeer *self,
                                gboolean          follow);

/* Whether it has said HELLO: without, there was no process 1 that could read anything. */
gboolean sandbox_agent_peer_said_hello (SandboxAgentPeer *self);

/* Whether it may have read what was sent to it. Not one that ended before, by the word of the kernel, or that never said HELLO. */
gboolean sandbox_agent_peer_may_have_read (SandboxAgentPeer *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxAgentPeer, sandbox_agent_peer_unref)

G_END_DECLS
