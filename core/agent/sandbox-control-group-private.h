/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-control-group.h"

G_BEGIN_DECLS

/* So much of a file of the kernel's is looked at. */
#define SANDBOX_CONTROL_GROUP_TEXT_MAX 4096

/* Whether a limit is one that a control group holds, and the property's name of the first. */
const char *sandbox_control_group_find_limit (SandboxLimits *limits);

/* In the directory @fd (taken), whatever is mounted there. Removes what hosts left there that are dead. NULL when no
 * controller can be had. */
SandboxControlGroup *sandbox_control_group_new_for_fd (int         fd,
                                                       const char *path,
                                                       GError    **error);

/* Where the group of this process is seen, and the mount that shows it: from /proc/self/cgroup and /proc/self/mountinfo.
 * FALSE where there is none of version 2. */
gboolean sandbox_control_group_locate (const char *cgroup,
                                       const char *mountinfo,
                                       char      **path,
                                       char      **top);

/* Enables the controllers that @limits need, once each. Fails with NOT_SUPPORTED. */
gboolean sandbox_control_group_enable (SandboxControlGroup *self,
                                       SandboxLimits       *limits,
                                       GError             **error);

/* The directory, which the object holds open. */
int sandbox_control_group_get_fd (SandboxControlGroup *self);

/* The name of a group of this process, which nobody else takes; by errno. */
char    *sandbox_control_group_make_name (void);
gboolean sandbox_control_group_parse_name (const char *name,
                                           int        *pid,
                                           guint64    *start);

/* Of lines "KEY NUMBER", or of a file with one number. Nothing else counts. */
gboolean sandbox_control_group_parse_key (const char *text,
                                          const char *key,
                                          guint64    *value);
gboolean sandbox_control_group_parse_number (const char *text,
                                             guint64    *value);

/* Writes to a file that is there; by errno. */
gboolean sandbox_control_group_write (int         directory_fd,
                                      const char *file,
                                      const char *text);

G_END_DECLS
