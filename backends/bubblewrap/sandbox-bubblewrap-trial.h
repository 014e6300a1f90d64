/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

#include "sandbox-bubblewrap-driver.h"
#include "sandbox-bubblewrap-launch.h"
#include "sandbox-bubblewrap-probe.h"

G_BEGIN_DECLS

/* A driver in the making: what it needs is opened (which may block), and a command is run in it, in the best way
 * that works here. Where none does, and for a probe, each step is tried by itself. */
typedef struct _SandboxBubblewrapTrial SandboxBubblewrapTrial;

/* Called once, with a driver or with an error that names the step and what to do. Then @trial is gone. */
typedef void (*SandboxBubblewrapTrialFunc) (SandboxBubblewrapTrial *trial,
                                            SandboxDriver          *driver,
                                            const GError           *error);

struct _SandboxBubblewrapTrial
{
  /* what to build; @request is answered by @done */
  SandboxBackend            *backend;
  SandboxRequest            *request;
  char                      *executable;
  SandboxBubblewrapRange     range;
  SandboxWorkspace          *workspace;
  SandboxProfile            *profile;
  gboolean                   is_default; /* no profile was given */
  SandboxNetworkPolicy      *policy;     /* nullable */
  SandboxRestrictions        required;
  SandboxBubblewrapSlots     wanted;
  SandboxBubblewrapTrialFunc done;

  /* what came of it */
  SandboxBubblewrapManner  manner;
  SandboxBubblewrapSlots   slots;
  SandboxBubblewrapLaunch *launch;   /* nullable */
  SandboxDriver           *driver;   /* nullable */
  SandboxBubblewrapProbe  *probe;    /* nullable */
  SandboxReportStep       *identity; /* nullable */
  SandboxReportStep       *filter;   /* what came of the calls that it must refuse; nullable */
  SandboxReportStep       *control_groups;
  SandboxControlGroup     *control_group; /* nullable */

  /* its own */
  char           *stamp;     /* for a probe: what it looks at, as it was before */
  char           *directory; /* for a probe: a workspace that is removed at the end */
  GCancellable   *cancellable;
  GError         *error;
  GTaskThreadFunc blocking; /* what its thread does */
  gint64          began_us; /* the proof; monotonic */
  SandboxProcess *process;  /* of the proof; nullable */
  gboolean        checks;   /* it makes each call that its filter must refuse */
  guint           stamp_id; /* what it looks at */
  char            answer[8192];
};

/* All are copied or referenced, but @directory is taken; it, @profile and @policy may be NULL. */
void sandbox_bubblewrap_trial_begin (SandboxBackend               *backend,
                                     const char                   *executable,
                                     const SandboxBubblewrapRange *range,
                                     SandboxWorkspace             *workspace,
                                     SandboxProfile               *profile,
                                     SandboxNetworkPolicy         *policy,
                                     SandboxRestrictions           required,
                                     const SandboxBubblewrapSlots *slots,
                                     char                         *directory,
                                     SandboxBubblewrapTrialFunc    done,
                                     SandboxRequest               *request);

/* The best way to build what @profile wants. */
SandboxBubblewrapManner sandbox_bubblewrap_trial_get_manner (SandboxProfile *profile);

G_END_DECLS
