/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <gio/gio.h>
#include "sandbox-agent-channel.h"
#include "sandbox-control-group.h"
#include "sandbox-driver.h"
#include "sandbox-isolation.h"
#include "sandbox-limits.h"

G_BEGIN_DECLS

/**
 * SANDBOX_AGENT_DRIVER_MAX_ARMED_SLOTS:
 *
 * How many slots of a session can wait for commands.
 *
 * Since: 1.0
 */
#define SANDBOX_AGENT_DRIVER_MAX_ARMED_SLOTS 16

#define SANDBOX_TYPE_AGENT_DRIVER (sandbox_agent_driver_get_type ())
SANDBOX_AVAILABLE_IN_1_0
G_DECLARE_DERIVABLE_TYPE (SandboxAgentDriver, sandbox_agent_driver, SANDBOX, AGENT_DRIVER, GObject)

/**
 * SandboxAgentDriverClass:
 * @parent_class: the parent
 * @open_channel: opens a way to an agent
 * @take_view: is told where the workspace of a session is mounted
 *
 * What a driver over agents adds to [class@Sandbox.AgentDriver].
 *
 * Since: 1.0
 */
struct _SandboxAgentDriverClass
{
  GObjectClass parent_class;

  /**
   * SandboxAgentDriverClass::open_channel:
   * @self: a driver
   * @request: answered with a [class@Sandbox.AgentChannel]
   * @error: return location for an error
   *
   * Opens a way to one agent that waits for its command. Called in any thread.
   *
   * Returns: whether the request was taken
   *
   * Since: 1.0
   */
  gboolean (*open_channel) (SandboxAgentDriver *self,
                            SandboxRequest     *request,
                            GError            **error);

  /**
   * SandboxAgentDriverClass::take_view: (skip)
   * @self: a driver
   * @fd: a descriptor of the workspace directory as the commands see it, opened with `O_PATH`, which is taken over; -1 when
   *   no sandbox came of it
   *
   * A sandbox with slots has been built, and no command has run in it yet; or it could not be. Called on the worker of the
   * library.
   *
   * The descriptor keeps what is mounted there, also beyond the end of the sandbox. Without this function it is closed.
   *
   * Since: 1.0
   */
  void (*take_view) (SandboxAgentDriver *self,
                     int                 fd);

  /*< private >*/
  gpointer _reserved[7];
};

/**
 * SandboxAgentDriverEndedFunc:
 * @self: the driver
 * @user_data: data of the caller
 *
 * Called on the worker of the library, see [func@Sandbox.get_worker_context], when a sandbox has come to its end.
 *
 * Since: 1.0
 */
typedef void (*SandboxAgentDriverEndedFunc) (SandboxAgentDriver *self,
                                             gpointer            user_data);

SANDBOX_AVAILABLE_IN_1_0
const char *const *sandbox_agent_driver_get_environment (SandboxAgentDriver *self);
SANDBOX_AVAILABLE_IN_1_0
SandboxLimits *sandbox_agent_driver_get_limits (SandboxAgentDriver *self);
SANDBOX_AVAILABLE_IN_1_0
SandboxControlGroup *sandbox_agent_driver_get_control_group (SandboxAgentDriver *self);
SANDBOX_AVAILABLE_IN_1_0
SandboxLimits *sandbox_agent_driver_get_channel_limits (SandboxAgentDriver *self,
                                                        SandboxRequest     *request);

SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_agent_driver_check_limits (SandboxLimits       *limits,
                                            SandboxControlGroup *group,
                                            GError             **error);
SANDBOX_AVAILABLE_IN_1_0
gboolean sandbox_agent_driver_get_nested (SandboxAgentDriver *self);
SANDBOX_AVAILABLE_IN_1_0
guint sandbox_agent_driver_get_armed_slots (SandboxAgentDriver *self);
SANDBOX_AVAILABLE_IN_1_0
guint sandbox_agent_driver_get_idle_ms (SandboxAgentDriver *self);
SANDBOX_AVAILABLE_IN_1_0
SandboxIsolation sandbox_agent_driver_get_isolation (SandboxAgentDriver *self);
SANDBOX_AVAILABLE_IN_1_0
void sandbox_agent_driver_end_sandbox (SandboxAgentDriver         *self,
                                       SandboxAgentDriverEndedFunc func,
                                       gpointer                    user_data);

G_END_DECLS
