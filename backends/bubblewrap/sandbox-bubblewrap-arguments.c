/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-arguments.h"

#include <string.h>

static void
sandbox_bubblewrap_arguments_add (GByteArray *arguments,
                                  ...) G_GNUC_NULL_TERMINATED;

static void
sandbox_bubblewrap_arguments_add (GByteArray *arguments,
                                  ...)
{
  const char *argument = NULL;
  va_list     list;

  va_start (list, arguments);
  while ((argument = va_arg (list, const char *)) != NULL)
    g_byte_array_append (arguments, (const guint8 *) argument, strlen (argument) + 1);
  va_end (list);
}

static void
sandbox_bubblewrap_arguments_add_number (GByteArray *arguments,
                                         const char *option,
                                         guint64     number)
{
  g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, number);

  sandbox_bubblewrap_arguments_add (arguments, option, text, NULL);
}

static void
sandbox_bubblewrap_arguments_add_namespaces (GByteArray                        *arguments,
                                             const SandboxBubblewrapNamespaces *namespaces)
{
  sandbox_bubblewrap_arguments_add (arguments,
                                    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts",
                                    "--unshare-cgroup-try", NULL);
  if (!namespaces->share_network)
    sandbox_bubblewrap_arguments_add (arguments, "--unshare-net", NULL);
  sandbox_bubblewrap_arguments_add_number (arguments, "--uid", namespaces->guest_uid);
  sandbox_bubblewrap_arguments_add_number (arguments, "--gid", namespaces->guest_gid);
  /* The agent is process 1. Its capabilities, which it drops before any command runs: to mount the
   * workspace and a devpts, to forbid further user namespaces, to empty the bounding set. */
  sandbox_bubblewrap_arguments_add (arguments,
                                    "--hostname", "sandbox", "--die-with-parent", "--as-pid-1", "--clearenv",
                                    "--cap-drop", "ALL", NULL);
  if (!namespaces->set_user_id)
    sandbox_bubblewrap_arguments_add (arguments,
                                      "--cap-add", "CAP_SYS_ADMIN",
                                      "--cap-add", "CAP_SYS_RESOURCE", "--cap-add", "CAP_SETPCAP", NULL);
  /* The kernel works in a directory that is closed to everybody, with the rights of who mounts the overlay. */
  if (namespaces->has_overlay)
    sandbox_bubblewrap_arguments_add (arguments, "--cap-add", "CAP_DAC_OVERRIDE", NULL);
}

static void
sandbox_bubblewrap_arguments_add_bind (GByteArray                  *arguments,
                                       const SandboxBubblewrapStep *step)
{
  switch (step->bind)
    {
    case SANDBOX_BUBBLEWRAP_BIND_BY_AGENT:
      /* Only the place for it. */
      if (!step->over && step->is_directory)
        sandbox_bubblewrap_arguments_add (arguments, "--dir", step->target, NULL);
      else if (!step->over)
        sandbox_bubblewrap_arguments_add (arguments, "--ro-bind", "/dev/null", step->target, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_BIND_BY_FD:
      sandbox_bubblewrap_arguments_add_number (arguments, step->read_only ? "--ro-bind-fd" : "--bind-fd",
                                               SANDBOX_BUBBLEWRAP_FD_SLOTS + step->slot);
      sandbox_bubblewrap_arguments_add (arguments, step->target, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_BIND_BY_PATH:
      if (step->optional)
        sandbox_bubblewrap_arguments_add (arguments, "--ro-bind-try", step->source, step->target, NULL);
      else
        sandbox_bubblewrap_arguments_add (arguments, step->read_only ? "--ro-bind" : "--bind",
                                          step->source, step->target, NULL);
      break;

    default:
      g_assert_not_reached ();
    }
}

static void
sandbox_bubblewrap_arguments_add_step (GByteArray                        *arguments,
                                       const SandboxBubblewrapNamespaces *namespaces,
                                       const SandboxBubblewrapStep       *step)
{
  switch (step->kind)
    {
    case SANDBOX_BUBBLEWRAP_STEP_DIRECTORY:
      sandbox_bubblewrap_arguments_add (arguments, "--dir", step->target, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_MEMORY:
      /* What is sealed holds nothing anyway; the sizes of the others have been looked at. */
      if (step->size > 0 && !namespaces->set_user_id)
        sandbox_bubblewrap_arguments_add_number (arguments, "--size", step->size);
      if (step->sticky)
        sandbox_bubblewrap_arguments_add (arguments, "--perms", "1777", NULL);
      sandbox_bubblewrap_arguments_add (arguments, "--tmpfs", step->target, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_LINK:
      sandbox_bubblewrap_arguments_add (arguments, "--symlink", step->source, step->target, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_BIND:
      sandbox_bubblewrap_arguments_add_bind (arguments, step);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_DEVICE:
      sandbox_bubblewrap_arguments_add (arguments, "--dev-bind", step->source, step->target, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_PROC:
      sandbox_bubblewrap_arguments_add (arguments, "--proc", step->target, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_GENERATED:
      sandbox_bubblewrap_arguments_add (arguments, "--perms",
                                        step->file == SANDBOX_BUBBLEWRAP_FILE_AGENT ? "0555" : "0444", NULL);
      sandbox_bubblewrap_arguments_add_number (arguments, step->over ? "--ro-bind-data" : "--file",
                                               SANDBOX_BUBBLEWRAP_FD_FILES + step->file);
      sandbox_bubblewrap_arguments_add (arguments, step->target, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_PROTECT:
      /* bwrap would follow links that commands made. */
      break;

    case SANDBOX_BUBBLEWRAP_STEP_NOTHING:
      /* Without device access on that mount it cannot even be opened. */
      sandbox_bubblewrap_arguments_add (arguments, "--ro-bind", "/dev/null", step->target, NULL);
      break;

    default:
      g_assert_not_reached ();
    }
}

GBytes *
sandbox_bubblewrap_arguments_new (const SandboxBubblewrapNamespaces *namespaces,
                                  const SandboxBubblewrapPlan       *plan)
{
  GByteArray *arguments = g_byte_array_new ();

  sandbox_bubblewrap_arguments_add_namespaces (arguments, namespaces);
  for (guint i = 0; i < plan->steps->len; i++)
    sandbox_bubblewrap_arguments_add_step (arguments, namespaces, plan->steps->pdata[i]);
  /* For the agent, which makes an overlay of them and then hides them. */
  if (namespaces->overlay_lower != NULL)
    {
      sandbox_bubblewrap_arguments_add (arguments, "--ro-bind", namespaces->overlay_lower, SANDBOX_AGENT_CHANNEL_OVERLAY_LOWER, NULL);
      sandbox_bubblewrap_arguments_add (arguments, "--bind", namespaces->overlay_base, SANDBOX_AGENT_CHANNEL_OVERLAY_BASE, NULL);
    }
  /* Last, for everything before writes there: it is all memory that a command could fill. */
  for (guint i = 0; i < plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = plan->steps->pdata[i];

      if (step->seal)
        sandbox_bubblewrap_arguments_add (arguments, "--remount-ro", step->target, NULL);
    }
  sandbox_bubblewrap_arguments_add (arguments, "--remount-ro", "/", NULL);

  return g_byte_array_free_to_bytes (arguments);
}
