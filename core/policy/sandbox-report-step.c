/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-report-step-private.h"

/**
 * SandboxReportStep:
 *
 * One thing that a backend tried to find out what this host can do.
 *
 * Backends make steps and add them to a [class@Sandbox.Report].
 *
 * Since: 1.0
 */
struct _SandboxReportStep
{
  GObject parent_instance;

  gboolean frozen;
  char    *name;
  gboolean ok;
  char    *evidence;
  char    *consequence;
  char    *remedy;
};

typedef enum
{
  PROP_NAME = 1,
  PROP_OK,
  PROP_EVIDENCE,
  PROP_CONSEQUENCE,
  PROP_REMEDY,
} SandboxReportStepProps;

static GParamSpec *properties[PROP_REMEDY + 1];

G_DEFINE_FINAL_TYPE (SandboxReportStep, sandbox_report_step, G_TYPE_OBJECT)

static void
sandbox_report_step_finalize (GObject *object)
{
  SandboxReportStep *self = SANDBOX_REPORT_STEP (object);

  g_free (self->name);
  g_free (self->evidence);
  g_free (self->consequence);
  g_free (self->remedy);

  G_OBJECT_CLASS (sandbox_report_step_parent_class)->finalize (object);
}

static void
sandbox_report_step_get_property (GObject    *object,
                                  guint       prop_id,
                                  GValue     *value,
                                  GParamSpec *pspec)
{
  SandboxReportStep *self = SANDBOX_REPORT_STEP (object);

  switch ((SandboxReportStepProps) prop_id)
    {
    case PROP_NAME:
      g_value_set_string (value, sandbox_report_step_get_name (self));
      break;

    case PROP_OK:
      g_value_set_boolean (value, sandbox_report_step_get_ok (self));
      break;

    case PROP_EVIDENCE:
      g_value_set_string (value, sandbox_report_step_get_evidence (self));
      break;

    case PROP_CONSEQUENCE:
      g_value_set_string (value, sandbox_report_step_get_consequence (self));
      break;

    case PROP_REMEDY:
      g_value_set_string (value, sandbox_report_step_get_remedy (self));
      break;
    }
}

static void
sandbox_report_step_set_property (GObject      *object,
                                  guint         prop_id,
                                  const GValue *value,
                                  GParamSpec   *pspec)
{
  SandboxReportStep *self = SANDBOX_REPORT_STEP (object);

  switch ((SandboxReportStepProps) prop_id)
    {
    case PROP_NAME:
      sandbox_report_step_set_name (self, g_value_get_string (value));
      break;

    case PROP_OK:
      sandbox_report_step_set_ok (self, g_value_get_boolean (value));
      break;

    case PROP_EVIDENCE:
      sandbox_report_step_set_evidence (self, g_value_get_string (value));
      break;

    case PROP_CONSEQUENCE:
      sandbox_report_step_set_consequence (self, g_value_get_string (value));
      break;

    case PROP_REMEDY:
      sandbox_report_step_set_remedy (self, g_value_get_string (value));
      break;
    }
}

static void
sandbox_report_step_class_init (SandboxReportStepClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_report_step_finalize;
  object_class->get_property = sandbox_report_step_get_property;
  object_class->set_property = sandbox_report_step_set_property;

  /**
   * SandboxReportStep:name:
   *
   * What was tried, in a word or two.
   *
   * Since: 1.0
   */
  properties[PROP_NAME] =
      g_param_spec_string ("name", NULL, NULL,
                           "",
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxReportStep:ok:
   *
   * Whether it worked.
   *
   * Since: 1.0
   */
  properties[PROP_OK] =
      g_param_spec_boolean ("ok", NULL, NULL,
                            FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxReportStep:evidence:
   *
   * What was seen: the call and its error, a version, a path.
   *
   * Since: 1.0
   */
  properties[PROP_EVIDENCE] =
      g_param_spec_string ("evidence", NULL, NULL,
                           NULL,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxReportStep:consequence:
   *
   * What follows from a step that failed.
   *
   * Since: 1.0
   */
  properties[PROP_CONSEQUENCE] =
      g_param_spec_string ("consequence", NULL, NULL,
                           NULL,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxReportStep:remedy:
   *
   * What the person who runs the host can do.
   *
   * Since: 1.0
   */
  properties[PROP_REMEDY] =
      g_param_spec_string ("remedy", NULL, NULL,
                           NULL,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_report_step_init (SandboxReportStep *self)
{
  self->name = g_strdup ("");
}

/**
 * sandbox_report_step_new:
 * @name: what was tried
 * @ok: whether it worked
 *
 * Makes a step.
 *
 * Returns: (transfer full): the step
 *
 * Since: 1.0
 */
SandboxReportStep *
sandbox_report_step_new (const char *name,
                         gboolean    ok)
{
  g_return_val_if_fail (name != NULL, NULL);

  return g_object_new (SANDBOX_TYPE_REPORT_STEP, "name", name, "ok", ok, NULL);
}

/**
 * sandbox_report_step_get_name:
 * @self: a step
 *
 * Gets what was tried.
 *
 * Returns: (transfer none): the name
 *
 * Since: 1.0
 */
const char *
sandbox_report_step_get_name (SandboxReportStep *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT_STEP (self), NULL);

  return self->name;
}

/**
 * sandbox_report_step_set_name:
 * @self: a step
 * @name: (nullable): the name
 *
 * Sets what was tried. See [property@Sandbox.ReportStep:name].
 *
 * Since: 1.0
 */
void
sandbox_report_step_set_name (SandboxReportStep *self,
                              const char        *name)
{
  g_return_if_fail (SANDBOX_IS_REPORT_STEP (self));
  g_return_if_fail (!self->frozen);

  if (name == NULL)
    name = "";

  if (g_strcmp0 (self->name, name) == 0)
    return;

  g_free (self->name);
  self->name = g_strdup (name);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_NAME]);
}

/**
 * sandbox_report_step_get_ok:
 * @self: a step
 *
 * Gets whether it worked.
 *
 * Returns: whether it worked
 *
 * Since: 1.0
 */
gboolean
sandbox_report_step_get_ok (SandboxReportStep *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT_STEP (self), FALSE);

  return self->ok;
}

/**
 * sandbox_report_step_set_ok:
 * @self: a step
 * @ok: whether it worked
 *
 * Sets whether it worked. See [property@Sandbox.ReportStep:ok].
 *
 * Since: 1.0
 */
void
sandbox_report_step_set_ok (SandboxReportStep *self,
                            gboolean           ok)
{
  g_return_if_fail (SANDBOX_IS_REPORT_STEP (self));
  g_return_if_fail (!self->frozen);

  if (self->ok == !!ok)
    return;

  self->ok = !!ok;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_OK]);
}

/**
 * sandbox_report_step_get_evidence:
 * @self: a step
 *
 * Gets what was seen.
 *
 * Returns: (transfer none) (nullable): the evidence
 *
 * Since: 1.0
 */
const char *
sandbox_report_step_get_evidence (SandboxReportStep *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT_STEP (self), NULL);

  return self->evidence;
}

/**
 * sandbox_report_step_set_evidence:
 * @self: a step
 * @evidence: (nullable): the evidence
 *
 * Sets what was seen. See [property@Sandbox.ReportStep:evidence].
 *
 * Since: 1.0
 */
void
sandbox_report_step_set_evidence (SandboxReportStep *self,
                                  const char        *evidence)
{
  g_return_if_fail (SANDBOX_IS_REPORT_STEP (self));
  g_return_if_fail (!self->frozen);

  if (g_strcmp0 (self->evidence, evidence) == 0)
    return;

  g_free (self->evidence);
  self->evidence = g_strdup (evidence);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_EVIDENCE]);
}

/**
 * sandbox_report_step_get_consequence:
 * @self: a step
 *
 * Gets what follows.
 *
 * Returns: (transfer none) (nullable): the consequence
 *
 * Since: 1.0
 */
const char *
sandbox_report_step_get_consequence (SandboxReportStep *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT_STEP (self), NULL);

  return self->consequence;
}

/**
 * sandbox_report_step_set_consequence:
 * @self: a step
 * @consequence: (nullable): the consequence
 *
 * Sets what follows. See [property@Sandbox.ReportStep:consequence].
 *
 * Since: 1.0
 */
void
sandbox_report_step_set_consequence (SandboxReportStep *self,
                                     const char        *consequence)
{
  g_return_if_fail (SANDBOX_IS_REPORT_STEP (self));
  g_return_if_fail (!self->frozen);

  if (g_strcmp0 (self->consequence, consequence) == 0)
    return;

  g_free (self->consequence);
  self->consequence = g_strdup (consequence);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_CONSEQUENCE]);
}

/**
 * sandbox_report_step_get_remedy:
 * @self: a step
 *
 * Gets what to do.
 *
 * Returns: (transfer none) (nullable): the remedy
 *
 * Since: 1.0
 */
const char *
sandbox_report_step_get_remedy (SandboxReportStep *self)
{
  g_return_val_if_fail (SANDBOX_IS_REPORT_STEP (self), NULL);

  return self->remedy;
}

/**
 * sandbox_report_step_set_remedy:
 * @self: a step
 * @remedy: (nullable): the remedy
 *
 * Sets what to do. See [property@Sandbox.ReportStep:remedy].
 *
 * Since: 1.0
 */
void
sandbox_report_step_set_remedy (SandboxReportStep *self,
                                const char        *remedy)
{
  g_return_if_fail (SANDBOX_IS_REPORT_STEP (self));
  g_return_if_fail (!self->frozen);

  if (g_strcmp0 (self->remedy, remedy) == 0)
    return;

  g_free (self->remedy);
  self->remedy = g_strdup (remedy);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_REMEDY]);
}

SandboxReportStep *
sandbox_report_step_freeze (SandboxReportStep *self)
{
  SandboxReportStep *copy;

  g_return_val_if_fail (SANDBOX_IS_REPORT_STEP (self), NULL);

  if (self->frozen)
    return g_object_ref (self);

  copy = sandbox_report_step_new (self->name, self->ok);
  copy->evidence = g_strdup (self->evidence);
  copy->consequence = g_strdup (self->consequence);
  copy->remedy = g_strdup (self->remedy);
  copy->frozen = TRUE;

  return copy;
}
