/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

#define SANDBOX_TYPE_REPORT_STEP (sandbox_report_step_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxReportStep, sandbox_report_step, SANDBOX, REPORT_STEP, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxReportStep *sandbox_report_step_new (const char *name,
                                            gboolean    ok) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_report_step_get_name (SandboxReportStep *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_step_set_name (SandboxReportStep *self,
                                   const char        *name);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_report_step_get_ok (SandboxReportStep *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_step_set_ok (SandboxReportStep *self,
                                 gboolean           ok);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_report_step_get_evidence (SandboxReportStep *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_step_set_evidence (SandboxReportStep *self,
                                       const char        *evidence);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_report_step_get_consequence (SandboxReportStep *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_step_set_consequence (SandboxReportStep *self,
                                          const char        *consequence);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_report_step_get_remedy (SandboxReportStep *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_step_set_remedy (SandboxReportStep *self,
                                     const char        *remedy);

G_END_DECLS
