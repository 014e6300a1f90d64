/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-arguments.h"

#include <sandbox-glib.h>

#include <string.h>

/* Small files of the host that programs need and that hold no secret. */
static const char *const host_files[] = {
  "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"
};

/* What programs need beside them to reach the network by name, and securely. */
static const char *const network_files[] = {
  "/etc/resolv.conf", "/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/services", "/etc/protocols"
};

static const char *const devices[] = {
  "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"
};

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
sandbox_bubblewrap_arguments_add_file (GByteArray               *arguments,
                                       SandboxBubblewrapFdNumber number,
                                       const char               *mode,
                                       const char               *path)
{
  sandbox_bubblewrap_arguments_add (arguments, "--perms", mode, NULL);
  sandbox_bubblewrap_arguments_add_number (arguments, "--file", number);
  sandbox_bubblewrap_arguments_add (arguments, path, NULL);
}

static void
sandbox_bubblewrap_arguments_add_namespaces (GByteArray                  *arguments,
                                             const SandboxBubblewrapView *view)
{
  sandbox_bubblewrap_arguments_add (arguments,
                                    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts",
                                    "--unshare-cgroup-try", NULL);
  if (!view->share_network)
    sandbox_bubblewrap_arguments_add (arguments, "--unshare-net", NULL);
  sandbox_bubblewrap_arguments_add_number (arguments, "--uid", view->guest_uid);
  sandbox_bubblewrap_arguments_add_number (arguments, "--gid", view->guest_gid);
  /* The agent is process 1. Its capabilities, which it drops before any command runs: to mount the
   * workspace and a devpts, to forbid further user namespaces, to empty the bounding set. */
  sandbox_bubblewrap_arguments_add (arguments,
                                    "--hostname", "sandbox", "--die-with-parent", "--as-pid-1", "--clearenv",
                                    "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN",
                                    "--cap-add", "CAP_SYS_RESOURCE", "--cap-add", "CAP_SETPCAP", NULL);
}

static void
sandbox_bubblewrap_arguments_add_programs (GByteArray                  *arguments,
                                           const SandboxBubblewrapView *view)
{
  for (guint i = 0; i < view->n_roots; i++)
    {
      const SandboxBubblewrapRoot *root = &view->roots[i];

      if (root->link_target != NULL)
        sandbox_bubblewrap_arguments_add (arguments, "--symlink", root->link_target, root->path, NULL);
      else
        sandbox_bubblewrap_arguments_add (arguments, "--ro-bind", root->path, root->path, NULL);
    }

  sandbox_bubblewrap_arguments_add (arguments, "--dir", "/etc", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (host_files); i++)
    sandbox_bubblewrap_arguments_add (arguments, "--ro-bind-try", host_files[i], host_files[i], NULL);
  for (guint i = 0; view->share_network && i < G_N_ELEMENTS (network_files); i++)
    sandbox_bubblewrap_arguments_add (arguments, "--ro-bind-try", network_files[i], network_files[i], NULL);
  sandbox_bubblewrap_arguments_add_file (arguments, SANDBOX_BUBBLEWRAP_FD_PASSWD, "0444", "/etc/passwd");
  sandbox_bubblewrap_arguments_add_file (arguments, SANDBOX_BUBBLEWRAP_FD_GROUP, "0444", "/etc/group");
  sandbox_bubblewrap_arguments_add_file (arguments, SANDBOX_BUBBLEWRAP_FD_HOSTS, "0444", "/etc/hosts");
  sandbox_bubblewrap_arguments_add_file (arguments, SANDBOX_BUBBLEWRAP_FD_NSSWITCH, "0444", "/etc/nsswitch.conf");
}

/* The device nodes are bound one by one rather than by --dev: that would put the sandbox into a second user
 * namespace, in which the agent could not mount. The devpts is the agent's. */
static void
sandbox_bubblewrap_arguments_add_kernel (GByteArray                  *arguments,
                                         const SandboxBubblewrapView *view)
{
  sandbox_bubblewrap_arguments_add (arguments, "--proc", "/proc", "--tmpfs", "/dev", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (devices); i++)
    sandbox_bubblewrap_arguments_add (arguments, "--dev-bind", devices[i], devices[i], NULL);
  sandbox_bubblewrap_arguments_add (arguments,
                                    "--symlink", "/proc/self/fd", "/dev/fd",
                                    "--symlink", "/proc/self/fd/0", "/dev/stdin",
                                    "--symlink", "/proc/self/fd/1", "/dev/stdout",
                                    "--symlink", "/proc/self/fd/2", "/dev/stderr",
                                    "--dir", "/dev/pts", "--symlink", "pts/ptmx", "/dev/ptmx", NULL);
  sandbox_bubblewrap_arguments_add_number (arguments, "--size", view->shm_bytes);
  sandbox_bubblewrap_arguments_add (arguments, "--perms", "1777", "--tmpfs", "/dev/shm", NULL);
  sandbox_bubblewrap_arguments_add_number (arguments, "--size", view->tmp_bytes);
  sandbox_bubblewrap_arguments_add (arguments, "--perms", "1777", "--tmpfs", "/tmp", "--dir", "/run", NULL);
}

static void
sandbox_bubblewrap_arguments_add_workspace (GByteArray                  *arguments,
                                            const SandboxBubblewrapView *view)
{
  switch (view->bind)
    {
    case SANDBOX_BUBBLEWRAP_BIND_BY_AGENT:
      sandbox_bubblewrap_arguments_add (arguments, "--dir", SANDBOX_WORKSPACE_PATH, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_BIND_BY_FD:
      sandbox_bubblewrap_arguments_add_number (arguments, "--bind-fd", SANDBOX_BUBBLEWRAP_FD_WORKSPACE);
      sandbox_bubblewrap_arguments_add (arguments, SANDBOX_WORKSPACE_PATH, NULL);
      break;

    case SANDBOX_BUBBLEWRAP_BIND_BY_PATH:
      sandbox_bubblewrap_arguments_add (arguments, "--bind", view->workspace_path, SANDBOX_WORKSPACE_PATH, NULL);
      break;

    default:
      g_assert_not_reached ();
    }
}

GBytes *
sandbox_bubblewrap_arguments_new (const SandboxBubblewrapView *view)
{
  GByteArray *arguments = g_byte_array_new ();

  sandbox_bubblewrap_arguments_add_namespaces (arguments, view);
  sandbox_bubblewrap_arguments_add_programs (arguments, view);
  sandbox_bubblewrap_arguments_add_kernel (arguments, view);
  sandbox_bubblewrap_arguments_add_workspace (arguments, view);
  sandbox_bubblewrap_arguments_add_file (arguments, SANDBOX_BUBBLEWRAP_FD_AGENT, "0555", SANDBOX_BUBBLEWRAP_AGENT);
  /* Last, for everything before writes there: both are memory that a command could fill. */
  sandbox_bubblewrap_arguments_add (arguments, "--remount-ro", "/dev", "--remount-ro", "/", NULL);

  return g_byte_array_free_to_bytes (arguments);
}
