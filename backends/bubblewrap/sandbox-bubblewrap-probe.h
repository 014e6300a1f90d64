/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

/* What this kernel and this bwrap let a user do, step by step, each really tried by an agent that is this user.
 * It explains an end that a trial of the whole has come to; it never decides one. */
typedef struct
{
  GPtrArray         *steps;       /* of SandboxReportStep, in the order of building */
  SandboxReportStep *failed;      /* the first without which there is no sandbox; borrowed, nullable */
  gboolean           set_user_id; /* bwrap has root's rights while it builds */
} SandboxBubblewrapProbe;

/* @uid and @gid are the commands' on the host, G_MAXUINT for the host's own. Blocks, for ten seconds at the most. */
SandboxBubblewrapProbe *sandbox_bubblewrap_probe_new (const char     *executable,
                                                      guint           uid,
                                                      guint           gid,
                                                      SandboxProfile *profile);
/* What a command found when it made each call that its filter must refuse (see "sandbox-agent check"), as a step "filter". NULL
 * where it has not come to the end. *@missed gets the names of those that were not refused as they must, or NULL. */
SandboxReportStep *sandbox_bubblewrap_probe_judge_filter (const char *text,
                                                          char      **missed);
void               sandbox_bubblewrap_probe_free (SandboxBubblewrapProbe *self);

/* What bwrap says it is, or NULL. Blocks, for a second at the most. */
char *sandbox_bubblewrap_probe_ask_version (int   agent_fd,
                                            int   bwrap_fd,
                                            guint uid,
                                            guint gid);

/* What bwrap and the agent are by their files: another when one of them was replaced or changed. */
char *sandbox_bubblewrap_probe_stamp (const char *executable);

/* What is told of an error that building ended with: the step that explains it, and what to do. */
GError *sandbox_bubblewrap_probe_explain (SandboxBubblewrapProbe *self,
                                          const GError           *error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxBubblewrapProbe, sandbox_bubblewrap_probe_free)

G_END_DECLS
