/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-file-trust-private.h"

#include <stdio.h>
#include <sys/statvfs.h>

/* Whether @uid is what the kernel shows here for users that this user namespace does not have. */
static gboolean
sandbox_file_trust_is_unmapped (uid_t uid)
{
  g_autofree char *overflow = NULL;
  g_autofree char *map = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents ("/proc/sys/kernel/overflowuid", &overflow, NULL, NULL) ||
      g_ascii_strtoull (overflow, NULL, 10) != uid ||
      !g_file_get_contents ("/proc/self/uid_map", &map, NULL, NULL))
    return FALSE;

  lines = g_strsplit (map, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      unsigned int inside = 0;
      unsigned int outside = 0;
      unsigned int count = 0;

      if (sscanf (lines[i], "%u %u %u", &inside, &outside, &count) == 3 && uid >= inside && uid - inside < count)
        return FALSE;
    }

  return TRUE;
}

gboolean
sandbox_file_trust_is_foreign (const char        *path,
                               const struct stat *st,
                               uid_t              user)
{
  struct statvfs mount;

  if (st->st_uid == 0 || st->st_uid == user)
    return FALSE;

  /* In a container that has no root of the host's, the system's files belong to nobody known. Whoever mounted
   * them read-only answers for them. */
  return !sandbox_file_trust_is_unmapped (st->st_uid) || statvfs (path, &mount) != 0 || (mount.f_flag & ST_RDONLY) == 0;
}

const char *
sandbox_file_trust_refuse (const char        *path,
                           const struct stat *st,
                           uid_t              user)
{
  if (sandbox_file_trust_is_foreign (path, st, user))
    return "it belongs to another user";

  /* With an access control list, the bits of the group are the most that it gives to anyone. */
  if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "others can write to it";

  return NULL;
}
