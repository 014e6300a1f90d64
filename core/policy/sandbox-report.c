/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-report-private.h"

#include "sandbox-enums.h"
#include "sandbox-json-private.h"
#include "sandbox-report-step-private.h"

/**
 * SandboxReport:
 *
 * What a backend can enforce on this host, and how it found out.
 *
 * A backend makes it in its probe. It is for the host, and for the person who runs it: it may hold
 * paths of the host and must not be shown to a guest or a model.
 *
 * ```c
 * g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_UNAVAILABLE);
 * g_autoptr (SandboxReportStep) step = sandbox_report_step_new ("user namespaces", FALSE);
 *
 * sandbox_report_step_set_evidence (step, "unshare: Operation not permitted");
 * sandbox_report_add_step (report, step);
 * sandbox_report_set_reason (report, "This host refuses user namespaces");
 * ```
 *
 * Since: 1.0
 */
struct _SandboxReport
{
  GObject parent_instance;

  gboolean            frozen;
  SandboxGrade        grade;
  SandboxRestrictions restrictions;
  char              **gaps;
  char               *reason;
  GListStore         *steps;
};

typedef enum
{
  PROP_GRADE = 1,
  PROP_RESTRICTIONS,
  PROP_GAPS,
  PROP_REASON,
} SandboxReportProps;

static GParamSpec *properties[PROP_REASON + 1];

G_DEFINE_FINAL_TYPE (SandboxReport, sandbox_report, G_TYPE_OBJECT)

static void
sandbox_report_finalize (GObject *object)
{
  SandboxReport *self = SANDBOX_REPORT (object);

  g_strfreev (self->gaps);
  g_free (self->reason);
  g_clear_object (&self->steps);

  G_OBJECT_CLASS (sandbox_report_parent_class)->finalize (object);
}

static void
sandbox_report_get_property (GObject    *object,
                             guint       prop_id,
                             GValue     *value,
                             GParamSpec *pspec)
{
  SandboxReport *self = SANDBOX_REPORT (object);

  switch ((SandboxReportProps) prop_id)
    {
    case PROP_GRADE:
      g_value_set_enum (value, sandbox_report_get_grade (self));
      break;

    case PROP_RESTRICTIONS:
      g_value_set_flags (value, sandbox_report_get_restrictions (self));
      break;

    case PROP_GAPS:
      g_value_set_boxed (value, sandbox_report_get_gaps (self));
      break;

    case PROP_REASON:
      g_value_set_string (value, sandbox_report_get_reason (self));
      break;
    }
}

static void
sandbox_report_set_property (GObject      *object,
                             guint         prop_id,
                             const GValue *value,
                             GParamSpec   *pspec)
{
  SandboxReport *self = SANDBOX_REPORT (object);

  switch ((SandboxReportProps) prop_id)
    {
    case PROP_GRADE:
      sandbox_report_set_grade (self, g_value_get_enum (value));
      break;

    case PROP_RESTRICTIONS:
      sandbox_report_set_restrictions (self, g_value_get_flags (value));
      break;

    case PROP_GAPS:
      sandbox_report_set_gaps (self, g_value_get_boxed (value));
      break;

    case PROP_REASON:
      sandbox_report_set_reason (self, g_value_get_string (value));
      break;
    }
}

static void
sandbox_report_class_init (SandboxReportClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_report_finalize;
  object_class->get_property = sandbox_report_get_property;
  object_class->set_property = sandbox_report_set_property;

  /**
   * SandboxReport:grade:
   *
   * How much of what was asked for can be enforced.
   *
   * Since: 1.0
   */
  properties[PROP_GRADE] =
      g_param_spec_enum ("grade", NULL, NULL,
                         SANDBOX_TYPE_GRADE, SANDBOX_GRADE_UNAVAILABLE,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxReport:restrictions:
   *
   * The restrictions that are enforced.
   *
   * Since: 1.0
   */
  properties[PROP_RESTRICTIONS] =
      g_param_spec_flags ("restrictions", NULL, NULL,
                          SANDBOX_TYPE_RESTRICTIONS, SANDBOX_RESTRICTIONS_NONE,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxReport:gaps:
   *
   * What is missing or weaker than asked for, in plain words, one sentence each.
   *
   * Since: 1.0
   */
  properties[PROP_GAPS] =
      g_param_spec_boxed ("gaps", NULL, NULL,
                          G_TYPE_STRV,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxReport:reason:
   *
   * Why the grade is %SANDBOX_GRADE_UNAVAILABLE, in plain words.
   *
   * Since: 1.0
   */
  properties[PROP_REASON] =
      g_param_spec_string ("reason", NULL, NULL,
                           NULL,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_report_init (SandboxReport *self)
{
  self->grade = SANDBOX_GRADE_UNAVAILABLE;
  self->gaps = g_new0 (char *, 1);
  self->steps = g_list_store_new (SANDBOX_TYPE_REPORT_STEP);
}

/**
 * sandbox_report_new:
 * @grade: the grade
 *
 * Makes a report without restrictions, gaps and steps.
 *
 * Returns: (transfer full): the report
 *
 * Since: 1.0
 */
SandboxReport *
sandbox_report_new (SandboxGrade grade)
{
  return g_object_new (SANDBOX_TYPE_REPORT, "grade", grade, NULL);
}

/**
 * sandbox_report_get_grade:
 * @self: a report
 *
 * Gets the grade.
 *
 * Returns: the grade
 *
 * Since: 1.0
 */
SandboxGrade
sandbox_report_get_grade (SandboxReport *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT (self), SANDBOX_GRADE_UNAVAILABLE);

  return self->grade;
}

/**
 * sandbox_report_set_grade:
 * @self: a report
 * @grade: the grade
 *
 * Sets the grade. See [property@Sandbox.Report:grade].
 *
 * Since: 1.0
 */
void
sandbox_report_set_grade (SandboxReport *self,
                          SandboxGrade   grade)
{
  g_return_if_fail (SANDBOX_IS_REPORT (self));
  g_return_if_fail (!self->frozen);

  if (self->grade == grade)
    return;

  self->grade = grade;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_GRADE]);
}

/**
 * sandbox_report_get_restrictions:
 * @self: a report
 *
 * Gets the restrictions that are enforced.
 *
 * Returns: the restrictions
 *
 * Since: 1.0
 */
SandboxRestrictions
sandbox_report_get_restrictions (SandboxReport *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT (self), SANDBOX_RESTRICTIONS_NONE);

  return self->restrictions;
}

/**
 * sandbox_report_set_restrictions:
 * @self: a report
 * @restrictions: the restrictions
 *
 * Sets the restrictions that are enforced. See [property@Sandbox.Report:restrictions].
 *
 * Since: 1.0
 */
void
sandbox_report_set_restrictions (SandboxReport      *self,
                                 SandboxRestrictions restrictions)
{
  g_return_if_fail (SANDBOX_IS_REPORT (self));
  g_return_if_fail (!self->frozen);

  if (self->restrictions == restrictions)
    return;

  self->restrictions = restrictions;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_RESTRICTIONS]);
}

/**
 * sandbox_report_get_gaps:
 * @self: a report
 *
 * Gets what is missing.
 *
 * Returns: (transfer none) (array zero-terminated=1): the gaps, at least the final %NULL
 *
 * Since: 1.0
 */
const char *const *
sandbox_report_get_gaps (SandboxReport *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT (self), NULL);

  return (const char *const *) self->gaps;
}

/**
 * sandbox_report_set_gaps:
 * @self: a report
 * @gaps: (nullable) (array zero-terminated=1): the gaps, or %NULL for none
 *
 * Sets what is missing. See [property@Sandbox.Report:gaps].
 *
 * Since: 1.0
 */
void
sandbox_report_set_gaps (SandboxReport     *self,
                         const char *const *gaps)
{
  static const char *const none[] = { NULL };

  g_return_if_fail (SANDBOX_IS_REPORT (self));
  g_return_if_fail (!self->frozen);

  if (gaps == NULL)
    gaps = none;

  if (g_strv_equal ((const char *const *) self->gaps, gaps))
    return;

  g_strfreev (self->gaps);
  self->gaps = g_strdupv ((char **) gaps);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_GAPS]);
}

/**
 * sandbox_report_get_reason:
 * @self: a report
 *
 * Gets why nothing is available.
 *
 * Returns: (transfer none) (nullable): the reason
 *
 * Since: 1.0
 */
const char *
sandbox_report_get_reason (SandboxReport *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT (self), NULL);

  return self->reason;
}

/**
 * sandbox_report_set_reason:
 * @self: a report
 * @reason: (nullable): the reason
 *
 * Sets why nothing is available. See [property@Sandbox.Report:reason].
 *
 * Since: 1.0
 */
void
sandbox_report_set_reason (SandboxReport *self,
                           const char    *reason)
{
  g_return_if_fail (SANDBOX_IS_REPORT (self));
  g_return_if_fail (!self->frozen);

  if (g_strcmp0 (self->reason, reason) == 0)
    return;

  g_free (self->reason);
  self->reason = g_strdup (reason);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_REASON]);
}

/**
 * sandbox_report_add_gap:
 * @self: a report
 * @gap: what is missing, one sentence
 *
 * Adds to [property@Sandbox.Report:gaps].
 *
 * Since: 1.0
 */
void
sandbox_report_add_gap (SandboxReport *self,
                        const char    *gap)
{
  guint n_gaps;

  g_return_if_fail (SANDBOX_IS_REPORT (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (gap != NULL);

  n_gaps = g_strv_length (self->gaps);
  self->gaps = g_renew (char *, self->gaps, n_gaps + 2);
  self->gaps[n_gaps] = g_strdup (gap);
  self->gaps[n_gaps + 1] = NULL;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_GAPS]);
}

/**
 * sandbox_report_get_steps:
 * @self: a report
 *
 * Gets what was tried, in the order in which it was.
 *
 * Returns: (transfer none): a list of [class@Sandbox.ReportStep]
 *
 * Since: 1.0
 */
GListModel *
sandbox_report_get_steps (SandboxReport *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT (self), NULL);

  return G_LIST_MODEL (self->steps);
}

/**
 * sandbox_report_add_step:
 * @self: a report
 * @step: what was tried
 *
 * Adds a copy of a step.
 *
 * Since: 1.0
 */
void
sandbox_report_add_step (SandboxReport     *self,
                         SandboxReportStep *step)
{
  g_autoptr (SandboxReportStep) frozen = NULL;

  g_return_if_fail (SANDBOX_IS_REPORT (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (SANDBOX_IS_REPORT_STEP (step));

  frozen = sandbox_report_step_freeze (step);
  g_list_store_append (self->steps, frozen);
}

/* Evidence may be anything that another program said; JSON is UTF-8. */
static void
sandbox_report_add_text (JsonBuilder *builder,
                         const char  *name,
                         const char  *text)
{
  g_autofree char *valid = text != NULL ? g_utf8_make_valid (text, -1) : NULL;

  if (name != NULL)
    json_builder_set_member_name (builder, name);

  if (valid != NULL)
    json_builder_add_string_value (builder, valid);
  else
    json_builder_add_null_value (builder);
}

static void
sandbox_report_add_restrictions (JsonBuilder        *builder,
                                 SandboxRestrictions restrictions)
{
  g_autoptr (GFlagsClass) klass = g_type_class_ref (SANDBOX_TYPE_RESTRICTIONS);

  json_builder_set_member_name (builder, "restrictions");
  json_builder_begin_array (builder);

  for (guint i = 0; i < klass->n_values; i++)
    {
      const GFlagsValue *flag = &klass->values[i];

      if (flag->value != 0 && (restrictions & flag->value) == flag->value)
        json_builder_add_string_value (builder, flag->value_nick);
    }

  json_builder_end_array (builder);
}

static void
sandbox_report_add_steps (JsonBuilder *builder,
                          GListModel  *steps)
{
  json_builder_set_member_name (builder, "steps");
  json_builder_begin_array (builder);

  for (guint i = 0; i < g_list_model_get_n_items (steps); i++)
    {
      g_autoptr (SandboxReportStep) step = g_list_model_get_item (steps, i);

      json_builder_begin_object (builder);
      sandbox_report_add_text (builder, "name", sandbox_report_step_get_name (step));
      json_builder_set_member_name (builder, "ok");
      json_builder_add_boolean_value (builder, sandbox_report_step_get_ok (step));
      sandbox_report_add_text (builder, "evidence", sandbox_report_step_get_evidence (step));
      sandbox_report_add_text (builder, "consequence", sandbox_report_step_get_consequence (step));
      sandbox_report_add_text (builder, "remedy", sandbox_report_step_get_remedy (step));
      json_builder_end_object (builder);
    }

  json_builder_end_array (builder);
}

/**
 * sandbox_report_to_json:
 * @self: a report
 *
 * Gets the report as JSON: an object with `grade`, `restrictions`, `gaps`, `reason` and `steps`, each
 * step with `name`, `ok`, `evidence`, `consequence` and `remedy`. What is unset is `null`.
 *
 * Returns: (transfer full): the text
 *
 * Since: 1.0
 */
char *
sandbox_report_to_json (SandboxReport *self)
{
  g_autoptr (JsonBuilder) builder = NULL;
  g_autoptr (JsonNode) root = NULL;
  g_autoptr (GEnumClass) klass = NULL;

  g_return_val_if_fail (SANDBOX_IS_REPORT (self), NULL);

  builder = json_builder_new ();
  klass = g_type_class_ref (SANDBOX_TYPE_GRADE);

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "grade");
  json_builder_add_string_value (builder, g_enum_get_value (klass, self->grade)->value_nick);
  sandbox_report_add_restrictions (builder, self->restrictions);
  json_builder_set_member_name (builder, "gaps");
  json_builder_begin_array (builder);

  for (guint i = 0; self->gaps[i] != NULL; i++)
    sandbox_report_add_text (builder, NULL, self->gaps[i]);

  json_builder_end_array (builder);
  sandbox_report_add_text (builder, "reason", self->reason);
  sandbox_report_add_steps (builder, G_LIST_MODEL (self->steps));
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);

  return sandbox_json_print (root, FALSE);
}

SandboxReport *
sandbox_report_freeze (SandboxReport *self)
{
  SandboxReport *copy;

  g_return_val_if_fail (SANDBOX_IS_REPORT (self), NULL);

  if (self->frozen)
    return g_object_ref (self);

  copy = sandbox_report_new (self->grade);
  copy->restrictions = self->restrictions;
  g_strfreev (copy->gaps);
  copy->gaps = g_strdupv (self->gaps);
  copy->reason = g_strdup (self->reason);

  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->steps)); i++)
    {
      g_autoptr (SandboxReportStep) step = g_list_model_get_item (G_LIST_MODEL (self->steps), i);

      g_list_store_append (copy->steps, step);
    }

  copy->frozen = TRUE;

  return copy;
}
