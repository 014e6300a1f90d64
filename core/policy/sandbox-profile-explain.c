/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-profile-private.h"

#include "sandbox-paths-private.h"

#include <string.h>

/* What views promise, place by place. That it is kept is for backends to see to; that this is what bubblewrap builds is
 * for a test. */
typedef struct
{
  const char *path;
  const char *text;  /* NULL: the host's own */
  gboolean    whole; /* it says the same of what is below; else nothing is there */
} SandboxPlace;

#define MADE "is made for the sandbox: no account and no host of this machine is in it. Commands can read it, and not change it."
#define ON_THE_WAY "is a directory of the sandbox's own, with what this host has of public certificates below it. Commands cannot make anything in it."
#define IF_NETWORK "is the host's, for sessions that have its network. Commands can read it, and not change it."
#define MASKED "is an empty directory in the system view, whatever the host has there. Commands can neither read what is there nor make anything."
#define CERTIFICATES                                                                                           \
 "is the host's, if it has one: public certificates of authorities, or what leads to them. Commands can read " \
 "it, and not change it."

static const SandboxPlace program_places[] = {
  { "/usr", NULL }, { "/bin", NULL }, { "/sbin", NULL }, { "/lib", NULL }, { "/lib32", NULL }, { "/lib64", NULL }, { "/libx32", NULL }
};

static const SandboxPlace minimal_places[] = {
  { "/etc", "is made for the sandbox: it has what programs need, and no secret of the host. Commands can read it, and not change it." },
  { "/etc/ssl", ON_THE_WAY },
  { "/etc/pki", ON_THE_WAY },
  { "/etc/passwd", MADE },
  { "/etc/group", MADE },
  { "/etc/hosts", MADE },
  { "/etc/nsswitch.conf", MADE },
  { "/etc/ld.so.cache", NULL },
  { "/etc/alternatives", NULL },
  { "/etc/localtime", NULL },
  { "/etc/fonts", NULL },
  { "/etc/ssl/openssl.cnf", NULL },
  { "/etc/ssl/certs", CERTIFICATES, TRUE },
  { "/etc/pki/ca-trust/extracted", CERTIFICATES, TRUE },
  { "/etc/pki/tls/certs", CERTIFICATES, TRUE },
  { "/etc/ca-certificates/extracted", CERTIFICATES, TRUE },
  { "/etc/services", IF_NETWORK },
  { "/etc/protocols", IF_NETWORK },
  { "/etc/resolv.conf", IF_NETWORK },
};

/* The settings of a Java runtime, whichever version. */
static const SandboxPlace java_place = { "/etc/java-*-openjdk", NULL };

static const SandboxPlace system_places[] = {
  { "/etc", NULL },
  { "/opt", NULL },
  { "/app", NULL },
  { "/etc/passwd", MADE },
  { "/etc/group", MADE },
  { "/etc/hosts", MADE },
  { "/etc/nsswitch.conf", MADE },
  { "/data", MASKED },
  { "/home", MASKED },
  { "/root", MASKED },
  { "/var", MASKED },
};

/* What every view has. */
static const SandboxPlace kernel_places[] = {
  { "/dev", "is a small directory of the sandbox's own, with null, zero, full, random, urandom, tty, pts and shm. Commands cannot make anything in it." },
  { "/dev/null", "is the device of that name. Commands can read and write it." },
  { "/dev/zero", "is the device of that name. Commands can read and write it." },
  { "/dev/full", "is the device of that name. Commands can read and write it." },
  { "/dev/random", "is the device of that name. Commands can read it." },
  { "/dev/urandom", "is the device of that name. Commands can read it." },
  { "/dev/tty", "is the terminal of the command, and cannot be opened where it has none." },
  { "/dev/ptmx", "makes terminals of the sandbox's own. Commands can read and write it." },
  { "/dev/pts", "is for the terminals of the sandbox, and has none of the host.", TRUE },
  { "/dev/fd", "is a link to /proc/self/fd." },
  { "/dev/stdin", "is a link to /proc/self/fd/0." },
  { "/dev/stdout", "is a link to /proc/self/fd/1." },
  { "/dev/stderr", "is a link to /proc/self/fd/2." },
  { "/run", "is an empty directory of the sandbox's own, but for its agent, the door to a gateway, what is mounted there, and where the resolv.conf of a host with links leads. Commands cannot make anything in it." },
  { "/run/sandbox-agent", "is the program that runs commands. Commands can read it, and not change it." },
  { "/run/sandbox-glib", "is a directory of the sandbox's own for the socket by which commands reach what a list of allowed origins names; without such a list it is empty. Commands cannot make anything in it." },
};

static const SandboxPlace *
sandbox_profile_find_place (const SandboxPlace *places,
                            gsize               n_places,
                            const char         *path,
                            const SandboxPlace *best)
{
  for (gsize i = 0; i < n_places; i++)
    if (sandbox_path_is_within (path, places[i].path) && (best == NULL || strlen (places[i].path) > strlen (best->path)))
      best = &places[i];

  return best;
}

static const SandboxPlace *
sandbox_profile_find_view_place (SandboxProfile *self,
                                 const char     *path)
{
  const SandboxPlace *place = NULL;

  if (sandbox_profile_get_view (self) != SANDBOX_VIEW_CUSTOM)
    place = sandbox_profile_find_place (program_places, G_N_ELEMENTS (program_places), path, place);
  if (sandbox_profile_get_view (self) == SANDBOX_VIEW_MINIMAL)
    place = sandbox_profile_find_place (minimal_places, G_N_ELEMENTS (minimal_places), path, place);
  if (sandbox_profile_get_view (self) == SANDBOX_VIEW_MINIMAL &&
      (g_pattern_match_simple (java_place.path, path) || g_pattern_match_simple ("/etc/java-*-openjdk/*", path)))
    place = &java_place;
  if (sandbox_profile_get_view (self) == SANDBOX_VIEW_SYSTEM)
    place = sandbox_profile_find_place (system_places, G_N_ELEMENTS (system_places), path, place);

  return place;
}

/* The mount of @self that has most of @path; one in the workspace does not count: it protects what is there. */
static SandboxMount *
sandbox_profile_ref_mount_at (SandboxProfile *self,
                              const char     *path)
{
  GListModel *mounts = sandbox_profile_get_mounts (self);
  g_autoptr (SandboxMount) best = NULL;

  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);
      const char *target = sandbox_mount_get_target (mount);

      if (target == NULL || !sandbox_path_is_within (path, target))
        continue;
      if (best == NULL || strlen (target) > strlen (sandbox_mount_get_target (best)))
        g_set_object (&best, mount);
    }

  return g_steal_pointer (&best);
}

/* Something of the profile that is below @path, so that there is a directory at @path; or NULL. */
static char *
sandbox_profile_dup_target_below (SandboxProfile *self,
                                  const char     *path)
{
  GListModel *mounts = sandbox_profile_get_mounts (self);

  if (sandbox_path_is_within (sandbox_profile_get_workspace_target (self), path))
    return g_strdup (sandbox_profile_get_workspace_target (self));
  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);

      if (sandbox_mount_get_target (mount) != NULL && sandbox_path_is_within (sandbox_mount_get_target (mount), path))
        return g_strdup (sandbox_mount_get_target (mount));
    }

  return NULL;
}

static char *
sandbox_profile_explain_workspace (SandboxProfile *self,
                                   const char     *path)
{
  const gsize length = strlen (sandbox_profile_get_workspace_target (self));
  const char *inside = path[length] == '/' ? path + length + 1 : ".";
  g_autoptr (SandboxMount) protection = sandbox_profile_ref_mount_at (self, path);
  g_autofree char *below = NULL;
  g_autofree char *shown = sandbox_path_display (inside);

  if (sandbox_profile_get_workspace_read_only (self))
    return g_strdup_printf ("is “%s” of the workspace. Commands can read it, and not change it, for the workspace is read-only.", shown);
  if (protection != NULL)
    {
      g_autofree char *target = sandbox_path_display (sandbox_mount_get_target (protection));

      return g_strdup_printf ("is “%s” of the workspace, protected by a mount at “%s”. Commands can read it, and not change it.", shown, target);
    }
  if (!g_str_equal (inside, ".") && (below = sandbox_profile_dup_target_below (self, path)) != NULL)
    {
      g_autofree char *target = sandbox_path_display (below);

      return g_strdup_printf ("is “%s” of the workspace. Commands can read and write in it, and not rename or remove it, "
                              "for “%s” below it is protected.",
                              shown, target);
    }

  return g_strdup_printf ("is “%s” of the workspace. Commands can read and write it, and so can the host.", shown);
}

static char *
sandbox_profile_explain_mount (SandboxMount *mount,
                               const char   *path)
{
  const char      *target = sandbox_mount_get_target (mount);
  const char      *source = sandbox_mount_get_source (mount);
  g_autofree char *whole = g_strconcat (source != NULL ? source : "", path + strlen (target), NULL);
  g_autofree char *shown = sandbox_path_display (whole);
  g_autofree char *shown_target = sandbox_path_display (target);

  switch (sandbox_mount_get_mode (mount))
    {
    case SANDBOX_MOUNT_MODE_READ_WRITE:
      return g_strdup_printf ("is “%s” of the host, by a mount at “%s”. Commands can read and write it, on the host too.", shown, shown_target);

    case SANDBOX_MOUNT_MODE_MASK:
      return g_str_equal (path, target) ? g_strdup ("is hidden by a mask: commands find an empty directory, or a file that cannot be opened.")
                                        : g_strdup_printf ("is not there: the mask at “%s” hides it.", shown_target);

    case SANDBOX_MOUNT_MODE_READ_ONLY:
    default:
      return g_strdup_printf ("is “%s” of the host, by a mount at “%s”. Commands can read it, and not change it.", shown, shown_target);
    }
}

static char *
sandbox_profile_explain_proc (SandboxProfile *self,
                              const char     *path)
{
  const gboolean   is_top = g_str_equal (path, "/proc");
  g_autofree char *self_exe = NULL;

  switch (sandbox_profile_get_proc (self))
    {
    case SANDBOX_PROC_MODE_NONE:
      return g_strdup (is_top ? "is an empty directory: the profile has no procfs." : "is not there: the profile has no procfs.");

    case SANDBOX_PROC_MODE_SELF_EXE:
      if (is_top || g_str_equal (path, "/proc/self"))
        return g_strdup ("is a directory with nothing but /proc/self/exe below it: the profile has no procfs.");
      if (!g_str_equal (path, "/proc/self/exe"))
        return g_strdup ("is not there: the profile has nothing but /proc/self/exe.");
      self_exe = sandbox_path_display (sandbox_profile_get_self_exe (self) != NULL ? sandbox_profile_get_self_exe (self) : "");
      return g_strdup_printf ("is a link to “%s”, whatever program runs.", self_exe);

    case SANDBOX_PROC_MODE_AUTO:
      return g_strdup ("is of a procfs of the sandbox's own, with its processes only; where the host cannot mount one, it is not there.");

    case SANDBOX_PROC_MODE_FRESH:
    default:
      return g_strdup ("is of a procfs of the sandbox's own, with its processes only. Never is it the host's.");
    }
}

static char *
sandbox_profile_explain_memory (SandboxProfile *self,
                                const char     *path)
{
  SandboxLimits *set = sandbox_profile_get_limits (self);
  g_autoptr (SandboxLimits) limits = set != NULL ? g_object_ref (set) : sandbox_limits_new ();
  const gboolean   is_tmp = sandbox_path_is_within (path, "/tmp");
  guint64          bytes = is_tmp ? sandbox_limits_get_tmp_bytes (limits) : sandbox_limits_get_shm_bytes (limits);
  g_autofree char *size = bytes > 0 ? g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS) : NULL;

  return size != NULL ? g_strdup_printf ("is memory of the sandbox's own, %s at most. Commands can read and write it, and it ends with the sandbox.", size)
                      : g_strdup ("is memory of the sandbox's own, as much as the kernel gives. Commands can read and write it, and it ends with the sandbox.");
}

static char *
sandbox_profile_explain_view (SandboxProfile     *self,
                              const SandboxPlace *place,
                              const char         *path)
{
  const char      *view = sandbox_profile_get_view (self) == SANDBOX_VIEW_SYSTEM ? "system" : "minimal";
  const gboolean   has_secrets = g_str_equal (place->path, "/etc");
  g_autofree char *shown = sandbox_path_display (path);

  if (place->text != NULL)
    {
      if (g_str_equal (path, place->path) || place->whole)
        return g_strdup (place->text);
      return g_strdup_printf ("is not there, and commands cannot make it: “%s” %s", place->path, place->text);
    }

  return g_strdup_printf ("is “%s” of the host, if it has one, by the %s view. Commands can read it%s, and not change it.%s",
                          shown, view, has_secrets ? " where every user can" : "",
                          has_secrets ? " What not every user can read is hidden." : "");
}

static char *
sandbox_profile_explain_place (SandboxProfile *self,
                               const char     *path)
{
  const SandboxPlace *place = NULL;
  g_autoptr (SandboxMount) mount = NULL;
  g_autofree char *below = NULL;
  g_autofree char *shown = NULL;

  if (sandbox_path_is_within (path, sandbox_profile_get_workspace_target (self)))
    return sandbox_profile_explain_workspace (self, path);
  if ((mount = sandbox_profile_ref_mount_at (self, path)) != NULL)
    return sandbox_profile_explain_mount (mount, path);
  if (sandbox_path_is_within (path, "/proc"))
    return sandbox_profile_explain_proc (self, path);
  if (sandbox_path_is_within (path, "/tmp") || sandbox_path_is_within (path, "/dev/shm"))
    return sandbox_profile_explain_memory (self, path);

  place = sandbox_profile_find_place (kernel_places, G_N_ELEMENTS (kernel_places), path, NULL);
  if (place == NULL)
    place = sandbox_profile_find_view_place (self, path);
  if (place != NULL && (place->text == NULL || place->whole || g_str_equal (path, place->path)))
    return sandbox_profile_explain_view (self, place, path);

  below = sandbox_profile_dup_target_below (self, path);
  if (below != NULL)
    {
      shown = sandbox_path_display (below);
      return g_strdup_printf ("is a directory of the sandbox's own, there for “%s”. Commands cannot make anything in it.", shown);
    }
  if (place != NULL)
    return sandbox_profile_explain_view (self, place, path);

  return g_strdup_printf ("is not there: neither the %s view nor a mount of the profile has it, and commands cannot make it.",
                          sandbox_profile_get_view (self) == SANDBOX_VIEW_SYSTEM    ? "system"
                          : sandbox_profile_get_view (self) == SANDBOX_VIEW_MINIMAL ? "minimal"
                                                                                    : "custom");
}

/**
 * sandbox_profile_explain:
 * @self: a profile
 * @path: an absolute path in the guest
 *
 * Tells in plain words what commands find at a path, by what of the profile, and whether they can change it.
 *
 * It goes by the profile alone and looks at nothing: whether the host has something at a place is not told, nor what this
 * host cannot build. For that there are [method@Sandbox.Backend.plan] and [method@Sandbox.Backend.probe].
 *
 * ```python
 * print(Sandbox.Profile.new_preset('agent').explain('/home/user/.ssh'))
 * # “/home/user/.ssh” is not there: neither the minimal view nor a mount of the profile has it, and commands cannot make it.
 * ```
 *
 * The words are for people and may change.
 *
 * Returns: (transfer full): one or a few sentences
 *
 * Since: 1.0
 */
char *
sandbox_profile_explain (SandboxProfile *self,
                         const char     *path)
{
  const char      *problem = NULL;
  g_autofree char *shown = NULL;
  g_autofree char *place = NULL;

  g_return_val_if_fail (SANDBOX_IS_PROFILE (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  shown = sandbox_path_display (path);
  if (g_str_equal (path, "/"))
    return g_strdup ("“/” is a directory of the sandbox's own. Commands can read it, and not make anything in it.");
  problem = sandbox_path_check_absolute (path);
  if (problem != NULL)
    return g_strdup_printf ("“%s” is no path of a sandbox: it %s.", shown, problem);

  place = sandbox_profile_explain_place (self, path);

  return g_strdup_printf ("“%s” %s", shown, place);
}
