/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-report-step.h"
#include "sandbox-restrictions.h"
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxGrade:
 * @SANDBOX_GRADE_FULL: everything that was asked for is enforced
 * @SANDBOX_GRADE_PARTIAL: a sandbox can be made, with gaps
 * @SANDBOX_GRADE_UNAVAILABLE: no sandbox can be made
 *
 * How much of what was asked for a backend can enforce here.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_GRADE_FULL,
  SANDBOX_GRADE_PARTIAL,
  SANDBOX_GRADE_UNAVAILABLE,
} SandboxGrade;

#define SANDBOX_TYPE_REPORT (sandbox_report_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (SandboxReport, sandbox_report, SANDBOX, REPORT, GObject)

SANDBOX_AVAILABLE_IN_1_0
SandboxReport *sandbox_report_new (SandboxGrade grade) G_GNUC_WARN_UNUSED_RESULT;

SANDBOX_AVAILABLE_IN_1_0
SandboxGrade sandbox_report_get_grade (SandboxReport *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_set_grade (SandboxReport *self,
                               SandboxGrade   grade);

SANDBOX_AVAILABLE_IN_1_0
SandboxRestrictions sandbox_report_get_restrictions (SandboxReport *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_set_restrictions (SandboxReport      *self,
                                      SandboxRestrictions restrictions);

SANDBOX_AVAILABLE_IN_1_0
const char *const *sandbox_report_get_gaps (SandboxReport *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_set_gaps (SandboxReport     *self,
                              const char *const *gaps);

SANDBOX_AVAILABLE_IN_1_0
const char *sandbox_report_get_reason (SandboxReport *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_set_reason (SandboxReport *self,
                                const char    *reason);

SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_add_gap (SandboxReport *self,
                             const char    *gap);

SANDBOX_AVAILABLE_IN_1_0
GListModel *sandbox_report_get_steps (SandboxReport *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_report_add_step (SandboxReport     *self,
                              SandboxReportStep *step);

SANDBOX_AVAILABLE_IN_1_0
char *sandbox_report_to_json (SandboxReport *self);

G_END_DECLS
