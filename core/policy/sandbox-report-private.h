/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-report.h"

G_BEGIN_DECLS

/* See sandbox_command_freeze (). */
SandboxReport *sandbox_report_freeze (SandboxReport *self);

G_END_DECLS
