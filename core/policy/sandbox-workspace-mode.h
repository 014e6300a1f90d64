/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxWorkspaceMode:
 * @SANDBOX_WORKSPACE_MODE_AUTO: the cheapest of the others that can be had here
 * @SANDBOX_WORKSPACE_MODE_OVERLAY: the session sees the files of its template, and keeps only what it changes
 * @SANDBOX_WORKSPACE_MODE_REFLINK: files of its own, which share their content on disk with the template until they
 *   are changed; the file system of the state directory must be able to do that
 * @SANDBOX_WORKSPACE_MODE_COPY: files of its own, copied when the session is made
 *
 * How a session comes by the files of its template.
 *
 * In no mode can a session change its template.
 *
 * An overlay is the cheapest for a template of many files, and chosen for more than 20 where the backend can mount one and
 * no command can need a sandbox of its own. Who asks for it where commands can have limits that need a control group has
 * commands with such limits refused.
 *
 * Programs notice it: a directory of the template cannot be renamed (`EXDEV`, so `mv` copies it), a file that was open for
 * reading when it was first changed still reads as it was, and hard links of the template's files part when they are
 * changed. The host notices it too: a stream that it has open on a file holds up a sandbox that has to be started anew,
 * after a rest or an end; after 5 seconds the command that needs it fails with %SANDBOX_ERROR_BUSY. Once the session has been
 * stopped, such a stream fails with %SANDBOX_ERROR_STOPPED. And as long as the session is there, its template cannot be
 * deleted.
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_WORKSPACE_MODE_AUTO,
  SANDBOX_WORKSPACE_MODE_OVERLAY,
  SANDBOX_WORKSPACE_MODE_REFLINK,
  SANDBOX_WORKSPACE_MODE_COPY,
} SandboxWorkspaceMode;

G_END_DECLS
