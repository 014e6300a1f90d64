/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-restrictions.h"

#include "sandbox-bubblewrap-network.h"

/* Whether @path is of the programs of the host, which each view shows. */
static gboolean
sandbox_bubblewrap_restrictions_is_program (const char *path)
{
  static const char *const roots[] = { "/usr/", "/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/" };
  g_autofree char         *whole = g_strconcat (path, "/", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    {
      if (g_str_has_prefix (whole, roots[i]))
        return TRUE;
    }

  return FALSE;
}

SandboxRestrictions
sandbox_bubblewrap_restrictions_get (SandboxProfile       *profile,
                                     SandboxNetworkPolicy *policy)
{
  SandboxRestrictions restrictions = SANDBOX_RESTRICTIONS_WRITE_CONTAINED |
                                     SANDBOX_RESTRICTIONS_SECRETS_HIDDEN |
                                     SANDBOX_RESTRICTIONS_PROCESS_CONTAINED;
  GListModel *mounts = profile != NULL ? sandbox_profile_get_mounts (profile) : NULL;

  /* Of /etc and /opt it can only be said who may read them, not what is in there. */
  if (profile != NULL && sandbox_profile_get_view (profile) == SANDBOX_VIEW_SYSTEM)
    restrictions &= ~SANDBOX_RESTRICTIONS_SECRETS_HIDDEN;
  for (guint i = 0; mounts != NULL && i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);
      const char *source = sandbox_mount_get_source (mount);

      if (sandbox_mount_get_mode (mount) == SANDBOX_MOUNT_MODE_READ_WRITE)
        restrictions &= ~SANDBOX_RESTRICTIONS_WRITE_CONTAINED;
      if (source != NULL && !sandbox_bubblewrap_restrictions_is_program (source))
        restrictions &= ~SANDBOX_RESTRICTIONS_SECRETS_HIDDEN;
    }
  /* By way of a gateway they reach what the policy lists. */
  if (sandbox_bubblewrap_network_get (policy) == SANDBOX_BUBBLEWRAP_NETWORK_NONE)
    restrictions |= SANDBOX_RESTRICTIONS_NETWORK_DENIED;

  return restrictions;
}

/* By the names that profiles in JSON have for them */
static char *
sandbox_bubblewrap_restrictions_to_names (SandboxRestrictions restrictions)
{
  g_autoptr (GFlagsClass) flags = g_type_class_ref (SANDBOX_TYPE_RESTRICTIONS);
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < flags->n_values; i++)
    if ((restrictions & flags->values[i].value) != 0)
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", flags->values[i].value_nick);

  return g_string_free (g_steal_pointer (&names), FALSE);
}

/* What of @profile or @policy ends one of @missing; the first mount stands for all. */
static char *
sandbox_bubblewrap_restrictions_find_cause (SandboxRestrictions   missing,
                                            SandboxProfile       *profile,
                                            SandboxNetworkPolicy *policy)
{
  GListModel *mounts = sandbox_profile_get_mounts (profile);

  if ((missing & ~sandbox_bubblewrap_restrictions_get (NULL, policy)) != 0)
    return g_strdup ("the network policy");
  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (SandboxMount) mount = g_list_model_get_item (mounts, i);
      g_autoptr (SandboxProfile) alone = sandbox_profile_new ();

      sandbox_profile_add_mount (alone, mount);
      if ((missing & ~sandbox_bubblewrap_restrictions_get (alone, policy)) != 0)
        return g_strdup_printf ("the mount at “%s”", sandbox_mount_get_target (mount));
    }

  return g_strdup ("the system view");
}

gboolean
sandbox_bubblewrap_restrictions_check (SandboxRestrictions   required,
                                       SandboxProfile       *profile,
                                       SandboxNetworkPolicy *policy,
                                       GError              **error)
{
  SandboxRestrictions missing = required & ~sandbox_bubblewrap_restrictions_get (profile, policy);
  g_autofree char    *names = NULL;
  g_autofree char    *cause = NULL;

  if (missing == SANDBOX_RESTRICTIONS_NONE)
    return TRUE;

  names = sandbox_bubblewrap_restrictions_to_names (missing);
  cause = sandbox_bubblewrap_restrictions_find_cause (missing, profile, policy);
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "What is required cannot be enforced: %s, because of %s: leave out one of the two", names, cause);

  return FALSE;
}
