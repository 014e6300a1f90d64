/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "example-backend.h"

#include "example-driver.h"

struct _ExampleBackend
{
  SandboxBackend parent_instance;
};

/* clang-format off */
G_DEFINE_DYNAMIC_TYPE_EXTENDED (ExampleBackend, example_backend, SANDBOX_TYPE_BACKEND,
                                G_TYPE_FLAG_FINAL,
                                {})
/* clang-format on */

/* What is enforced here, and so all that may be promised: there is no network and nothing of the host, and files are in
 * memory. Of processes nothing is said, as there are none. */
#define EXAMPLE_RESTRICTIONS                                                   \
 (SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_WRITE_CONTAINED | \
  SANDBOX_RESTRICTIONS_SECRETS_HIDDEN)

/* What is not enforced is refused by name, and a profile as well: passing over what it asks for would promise it. */
static gboolean
example_backend_check (SandboxProfile     *profile,
                       SandboxRestrictions required,
                       GError            **error)
{
  SandboxRestrictions missing = required & ~EXAMPLE_RESTRICTIONS;
  g_autoptr (GFlagsClass) flags = NULL;
  g_autoptr (GString) names = NULL;

  if (profile != NULL)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "The example takes no profile");
      return FALSE;
    }

  if (missing == SANDBOX_RESTRICTIONS_NONE)
    return TRUE;

  flags = g_type_class_ref (SANDBOX_TYPE_RESTRICTIONS);
  names = g_string_new (NULL);
  for (guint i = 0; i < flags->n_values; i++)
    if ((missing & flags->values[i].value) != 0)
      g_string_append_printf (names, " %s", flags->values[i].value_nick);
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "The example does not enforce%s", names->str);

  return FALSE;
}

/* A real backend tries here what it needs of the host, and adds a step for each. */
static gboolean
example_backend_probe (SandboxBackend *backend,
                       SandboxProfile *profile,
                       SandboxRequest *request,
                       GError        **error)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_PARTIAL);
  g_autoptr (SandboxReportStep) step = sandbox_report_step_new ("memory", TRUE);

  if (!example_backend_check (profile, SANDBOX_RESTRICTIONS_NONE, error))
    return FALSE;

  sandbox_report_add_step (report, step);
  sandbox_report_add_gap (report, "No command can be run.");
  sandbox_report_set_restrictions (report, EXAMPLE_RESTRICTIONS);
  sandbox_request_return_object (request, G_OBJECT (report));

  return TRUE;
}

static gboolean
example_backend_create_driver (SandboxBackend       *backend,
                               SandboxCreateOptions *options,
                               SandboxWorkspace     *workspace,
                               SandboxRequest       *request,
                               GError              **error)
{
  SandboxNetworkPolicy *network = sandbox_create_options_get_network (options);
  g_autoptr (SandboxDriver) driver = NULL;

  if (workspace != NULL)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                           "The example keeps its files in memory and takes no workspace of the host");
      return FALSE;
    }

  if (!example_backend_check (sandbox_create_options_get_profile (options), sandbox_create_options_get_required (options), error) ||
      !example_driver_check_network (network, error))
    return FALSE;

  driver = g_object_new (EXAMPLE_TYPE_DRIVER, NULL);
  sandbox_request_return_object (request, G_OBJECT (driver));

  return TRUE;
}

static void
example_backend_class_init (ExampleBackendClass *klass)
{
  SandboxBackendClass *backend_class = SANDBOX_BACKEND_CLASS (klass);

  backend_class->probe = example_backend_probe;
  backend_class->create_driver = example_backend_create_driver;
}

static void
example_backend_class_finalize (ExampleBackendClass *klass)
{
}

static void
example_backend_init (ExampleBackend *self)
{
}

void
example_backend_register (GTypeModule *module)
{
  example_backend_register_type (module);
}
