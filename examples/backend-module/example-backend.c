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

/* A real backend tries here what it needs of the host, and adds a step for each. */
static gboolean
example_backend_probe (SandboxBackend *backend,
                       SandboxProfile *profile,
                       SandboxRequest *request,
                       GError        **error)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_PARTIAL);
  g_autoptr (SandboxReportStep) step = sandbox_report_step_new ("memory", TRUE);

  sandbox_report_add_step (report, step);
  sandbox_report_add_gap (report, "No command can be run.");
  /* Nothing runs, so nothing gets out. */
  sandbox_report_set_restrictions (report,
                                   SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_WRITE_CONTAINED |
                                       SANDBOX_RESTRICTIONS_SECRETS_HIDDEN | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED);
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

  if (!example_driver_check_network (network, error))
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
