/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-report-step.h"

G_BEGIN_DECLS

/* See sandbox_command_freeze (). */
SandboxReportStep *sandbox_report_step_freeze (SandboxReportStep *self);

G_END_DECLS
