/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-filter.h"

G_BEGIN_DECLS

/* A slot is made under one filter, without what the making needs, and in the end puts on another one, which has nothing but that: the
 * two of them are the whole. Most of the kernel's work for a filter is done once in a session that way, and not for each command. */
typedef enum
{
  SANDBOX_AGENT_FILTER_WHOLE,
  SANDBOX_AGENT_FILTER_OF_SESSION,
  SANDBOX_AGENT_FILTER_OF_SLOT,
  SANDBOX_AGENT_N_FILTERS,
} SandboxAgentFilterPart;

/* The system call filter of a command: what its programs do not need and the kernel would be exposed by.
 * Struct sock_filter after struct sock_filter, as the agent takes it. With @forbid_set_id nothing can be
 * made set-user-ID or set-group-ID: for files that others on the host can run. */
GBytes *sandbox_agent_filter_get (SandboxFilter          kind,
                                  gboolean               forbid_set_id,
                                  SandboxAgentFilterPart part,
                                  GError               **error);

/* The same for the architecture of an AUDIT_ARCH_… number. */
GBytes *sandbox_agent_filter_compile (SandboxFilter          kind,
                                      gboolean               forbid_set_id,
                                      SandboxAgentFilterPart part,
                                      guint32                architecture,
                                      GError               **error);

G_END_DECLS
