/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-result.h"

G_BEGIN_DECLS

typedef struct
{
  SandboxOutcome outcome;
  int            wait_status; /* as the kernel gave it, or -1 when it is unknown */
  GBytes        *output;      /* NULL is empty, here and below; borrowed */
  GBytes        *errors;
  gboolean       truncated;
  guint64        omitted_bytes;
  guint64        wall_time_us;
  guint64        user_time_us;
  guint64        system_time_us;
  guint64        peak_memory_bytes;
  guint64        limit_value;
  guint64        limit_peak;
} SandboxResultFields;

/* EXITED and SIGNALED are what the wait status says, or LOST when it says neither; a lost command has
 * no status. */
SandboxResult *sandbox_result_new (const SandboxResultFields *fields) G_GNUC_WARN_UNUSED_RESULT;

G_END_DECLS
