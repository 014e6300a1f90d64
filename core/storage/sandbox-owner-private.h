/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <linux/capability.h>

G_BEGIN_DECLS

/* File work as somebody else, in one thread and for a moment: what is made belongs to that owner, and
 * the file capabilities of root are gone meanwhile. Only a root host does this, and only for an owner
 * that is not what the thread is already; for all others entering does nothing. */
typedef struct
{
  gboolean                      entered;
  int                           uid; /* what the thread was */
  int                           gid;
  struct __user_cap_data_struct capabilities[2];
} SandboxOwner;

gboolean sandbox_owner_enter (SandboxOwner *self,
                              guint         uid,
                              guint         gid,
                              GError      **error);

/* Keeps errno. */
void sandbox_owner_leave (SandboxOwner *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxOwner, sandbox_owner_leave)

G_END_DECLS
