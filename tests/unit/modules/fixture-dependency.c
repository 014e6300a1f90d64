/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A library, not a module, that exports the symbol of one. */

#include <sandbox-glib.h>

SANDBOX_EXTERN int fixture_dependency (void);

int
fixture_dependency (void)
{
  return 0;
}

static GType
fixture_dependency_register (GTypeModule *module)
{
  g_assert_not_reached ();
}

SANDBOX_MODULE_DEFINE ("dependency-symbol", fixture_dependency_register)
