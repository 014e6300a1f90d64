/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_LIMITS (sandbox_limits_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxLimits, sandbox_limits, SANDBOX, LIMITS, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxLimits *sandbox_limits_new (void) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_limits_get_cpu_seconds (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_cpu_seconds (SandboxLimits *self,
                                     guint64        cpu_seconds);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_limits_get_address_space_bytes (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_address_space_bytes (SandboxLimits *self,
                                             guint64        address_space_bytes);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_limits_get_file_size_bytes (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_file_size_bytes (SandboxLimits *self,
                                         guint64        file_size_bytes);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_limits_get_processes (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_processes (SandboxLimits *self,
                                   guint64        processes);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_limits_get_open_files (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_open_files (SandboxLimits *self,
                                    guint64        open_files);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_limits_get_memory_bytes (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_memory_bytes (SandboxLimits *self,
                                      guint64        memory_bytes);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_limits_get_tasks (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_tasks (SandboxLimits *self,
                               guint64        tasks);

SANDBOX_AVAILABLE_IN_1_0
guint sandbox_limits_get_cpu_percent (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_cpu_percent (SandboxLimits *self,
                                     guint          cpu_percent);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_limits_get_tmp_bytes (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_tmp_bytes (SandboxLimits *self,
                                   guint64        tmp_bytes);

SANDBOX_AVAILABLE_IN_1_0
guint64 sandbox_limits_get_shm_bytes (SandboxLimits *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_limits_set_shm_bytes (SandboxLimits *self,
                                   guint64        shm_bytes);

G_END_DECLS
