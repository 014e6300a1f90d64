/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define SANDBOX_INSIDE

#include "sandbox-enums.h"

#include "sandbox-error.h"
#include "sandbox-fork.h"
#include "sandbox-program.h"
#include "sandbox-version-macros.h"
#include "sandbox-worker.h"

#include "sandbox-command.h"
#include "sandbox-create-options.h"
#include "sandbox-file-set.h"
#include "sandbox-filter.h"
#include "sandbox-isolation.h"
#include "sandbox-limits.h"
#include "sandbox-listing.h"
#include "sandbox-mount.h"
#include "sandbox-network-policy.h"
#include "sandbox-profile.h"
#include "sandbox-report-step.h"
#include "sandbox-report.h"
#include "sandbox-restrictions.h"
#include "sandbox-result.h"
#include "sandbox-state.h"
#include "sandbox-template.h"
#include "sandbox-workspace-mode.h"
#include "sandbox-workspace-path.h"

#include "sandbox-backend.h"
#include "sandbox-driver.h"
#include "sandbox-gateway.h"
#include "sandbox-process.h"
#include "sandbox-request.h"

#include "sandbox-agent-channel.h"
#include "sandbox-agent-driver.h"
#include "sandbox-agent-group.h"
#include "sandbox-agent-path.h"
#include "sandbox-control-group.h"

#include "sandbox-workspace.h"

#include "sandbox-backend-calls.h"
#include "sandbox-handle.h"
#include "sandbox-session.h"

#include "sandbox-backend-info.h"
#include "sandbox-module.h"
#include "sandbox-registry.h"

#undef SANDBOX_INSIDE
