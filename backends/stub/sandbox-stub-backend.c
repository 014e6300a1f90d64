/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-stub-backend.h"

#define REASON "The stub backend makes no sandboxes; use another one, such as bubblewrap"

struct _SandboxStubBackend
{
  SandboxBackend parent_instance;
};

/* clang-format off */
G_DEFINE_DYNAMIC_TYPE_EXTENDED (SandboxStubBackend, sandbox_stub_backend, SANDBOX_TYPE_BACKEND,
                                G_TYPE_FLAG_FINAL,
                                {})
/* clang-format on */

static gboolean
sandbox_stub_backend_probe (SandboxBackend *backend,
                            SandboxProfile *profile,
                            SandboxRequest *request,
                            GError        **error)
{
  g_autoptr (SandboxReport) report = sandbox_report_new (SANDBOX_GRADE_UNAVAILABLE);

  sandbox_report_set_reason (report, REASON);
  sandbox_request_return_object (request, G_OBJECT (report));

  return TRUE;
}

static gboolean
sandbox_stub_backend_create_driver (SandboxBackend       *backend,
                                    SandboxCreateOptions *options,
                                    SandboxWorkspace     *workspace,
                                    SandboxRequest       *request,
                                    GError              **error)
{
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE, REASON);

  return FALSE;
}

static void
sandbox_stub_backend_class_init (SandboxStubBackendClass *klass)
{
  SandboxBackendClass *backend_class = SANDBOX_BACKEND_CLASS (klass);

  backend_class->probe = sandbox_stub_backend_probe;
  backend_class->create_driver = sandbox_stub_backend_create_driver;
}

static void
sandbox_stub_backend_class_finalize (SandboxStubBackendClass *klass)
{
}

static void
sandbox_stub_backend_init (SandboxStubBackend *self)
{
}

void
sandbox_stub_backend_register (GTypeModule *module)
{
  sandbox_stub_backend_register_type (module);
}
