/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libsoup/soup.h>
#include <sandbox-glib.h>

G_BEGIN_DECLS

/* A policy, ready to judge requests by: one generation. Everything that comes of it, connections to the origins too, goes with
 * it. In the thread of the gateways, but for _new (). */
typedef struct _SandboxHttpRules SandboxHttpRules;

/* One origin of it. */
typedef struct _SandboxHttpOrigin SandboxHttpOrigin;

/* @policy is frozen. NETWORK_DENIED for what this host cannot do. */
SandboxHttpRules *sandbox_http_rules_new (SandboxNetworkPolicy *policy,
                                          GError              **error);
SandboxHttpRules *sandbox_http_rules_ref (SandboxHttpRules *self);
void              sandbox_http_rules_unref (SandboxHttpRules *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxHttpRules, sandbox_http_rules_unref)

/* Closes the connections to the origins: the end of the generation, which exchanges that are being cancelled may outlive. */
void sandbox_http_rules_end (SandboxHttpRules *self);

SandboxNetworkPolicy *sandbox_http_rules_get_policy (SandboxHttpRules *self);

/* @host as a Host header says it, in lower case. NULL: it is not allowed. The origin belongs to @self. */
SandboxHttpOrigin *sandbox_http_rules_lookup (SandboxHttpRules *self,
                                              const char       *host);

/* As the policy writes it. */
const char *sandbox_http_origin_get_name (SandboxHttpOrigin *self);

/* A message for @target, which comes from a guest and stays as it is. */
SoupMessage *sandbox_http_origin_new_message (SandboxHttpOrigin *self,
                                              const char        *method,
                                              const char        *target);

/* Puts in what the policy adds, in place of what the guest said of the same name. */
void sandbox_http_origin_add_headers (SandboxHttpOrigin  *self,
                                      SoupMessageHeaders *headers);

/* What one message is sent with, and then the next one, if the policy is still in force. Whether it has an open connection is known when
 * the socket of that was set. */
SoupSession *sandbox_http_origin_take_session (SandboxHttpOrigin *self,
                                               gboolean          *is_open);
void         sandbox_http_origin_give_back_session (SandboxHttpOrigin *self,
                                                    SoupSession       *session_taken);
void         sandbox_http_origin_set_socket (SoupSession *session,
                                             GSocket     *socket);

G_END_DECLS
