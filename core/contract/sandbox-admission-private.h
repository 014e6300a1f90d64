/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define SANDBOX_ADMISSION_DEFAULT 8
#define SANDBOX_ADMISSION_MAX 1024

/* How many commands may be alive at once: one counter for all sessions of a backend object. A place is
 * taken before anything starts and given back when everything of the command is gone. */
typedef struct _SandboxAdmission SandboxAdmission;

SandboxAdmission *sandbox_admission_new (void);
SandboxAdmission *sandbox_admission_ref (SandboxAdmission *self);
void              sandbox_admission_unref (SandboxAdmission *self);

guint sandbox_admission_get_limit (SandboxAdmission *self);
void  sandbox_admission_set_limit (SandboxAdmission *self,
                                   guint             limit);

/* BUSY when every place is taken. */
gboolean sandbox_admission_take (SandboxAdmission *self,
                                 GError          **error);
void     sandbox_admission_give (SandboxAdmission *self);

G_END_DECLS
