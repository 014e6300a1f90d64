/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

#include "sandbox-bubblewrap-launch.h"

G_BEGIN_DECLS

#define SANDBOX_BUBBLEWRAP_TYPE_DRIVER (sandbox_bubblewrap_driver_get_type ())
G_DECLARE_FINAL_TYPE (SandboxBubblewrapDriver, sandbox_bubblewrap_driver, SANDBOX_BUBBLEWRAP, DRIVER, SandboxAgentDriver)

void sandbox_bubblewrap_driver_register (GTypeModule *module);

/* How commands share a sandbox of the session, if they do. */
typedef struct
{
  gboolean         nested;
  guint            n_armed;
  guint            idle_ms;
  SandboxIsolation isolation;
} SandboxBubblewrapSlots;

/* @policy is one that can be built; one that needs a gateway gets it before the driver is used, but to prove that a command runs.
 * Without a @control_group there are no limits that need one. */
SandboxDriver *sandbox_bubblewrap_driver_new (SandboxBubblewrapLaunch      *launch,
                                              SandboxWorkspace             *workspace,
                                              SandboxProfile               *profile,
                                              SandboxNetworkPolicy         *policy,
                                              SandboxRestrictions           required,
                                              SandboxControlGroup          *control_group,
                                              const SandboxBubblewrapSlots *slots);

/* The least that programs expect, and the profile's variables over it. */
char **sandbox_bubblewrap_driver_make_environment (SandboxProfile *profile);

G_END_DECLS
