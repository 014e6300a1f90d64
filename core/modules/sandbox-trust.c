/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-trust-private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "sandbox-error.h"
#include "sandbox-file-trust-private.h"

gboolean
sandbox_trust_is_secure (void)
{
  return getauxval (AT_SECURE) != 0;
}

const char *
sandbox_trust_variable (const char *value,
                        gboolean    secure)
{
  if (secure || value == NULL || *value == '\0')
    return NULL;

  return value;
}

char **
sandbox_trust_split_path (const char *value)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) parts = g_strsplit (value != NULL ? value : "", ":", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    if (*parts[i] != '\0')
      g_strv_builder_add (builder, parts[i]);

  return g_strv_builder_end (builder);
}

/* The code is MODULE whatever the reason: it is a module that cannot be had. */
static gboolean
sandbox_trust_fail (GError    **error,
                    const char *path,
                    const char *reason)
{
  g_autofree char *display = g_filename_display_name (path);

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, "Nothing is loaded from %s: %s", display, reason);

  return FALSE;
}

/* Who owns a folder above, or can write to it, can put another in the place of the one below. Only with the
 * sticky bit, as /tmp has it, others can write there and yet not do that. A group is trusted here: whole
 * homes belong to a user's own. */
static gboolean
sandbox_trust_ancestors (const char *real,
                         GError    **error)
{
  g_autofree char *folder = g_strdup (real);

  while (!g_str_equal (folder, "/"))
    {
      struct stat st;
      char       *parent = g_path_get_dirname (folder);

      g_free (folder);
      folder = parent;
      if (stat (folder, &st) != 0)
        return sandbox_trust_fail (error, folder, g_strerror (errno));
      if (sandbox_file_trust_is_foreign (folder, &st, geteuid ()) ||
          ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0))
        return sandbox_trust_fail (error, real, "a folder above it could be changed by others");
    }

  return TRUE;
}

gboolean
sandbox_trust_directory (const char *path,
                         GError    **error)
{
  const char *reason = NULL;
  char       *real = NULL;
  gboolean    trusted = FALSE;
  struct stat st;

  /* Another one depends on where the program stands. */
  if (!g_path_is_absolute (path))
    return sandbox_trust_fail (error, path, "the path is not absolute");

  if (stat (path, &st) != 0)
    return sandbox_trust_fail (error, path, g_strerror (errno));

  if (!S_ISDIR (st.st_mode))
    return sandbox_trust_fail (error, path, g_strerror (ENOTDIR));

  reason = sandbox_file_trust_refuse (path, &st, geteuid ());
  if (reason != NULL)
    return sandbox_trust_fail (error, path, reason);

  real = realpath (path, NULL);
  if (real == NULL)
    return sandbox_trust_fail (error, path, g_strerror (errno));
  trusted = sandbox_trust_ancestors (real, error);
  free (real);

  return trusted;
}

char *
sandbox_trust_file (const char  *path,
                    struct stat *st,
                    GError     **error)
{
  g_autofree char *file = NULL;
  g_autofree char *directory = NULL;
  char            *real = realpath (path, NULL);
  const char      *reason = NULL;
  struct stat      found;

  if (real == NULL)
    {
      sandbox_trust_fail (error, path, g_strerror (errno));
      return NULL;
    }

  file = g_strdup (real);
  free (real);
  directory = g_path_get_dirname (file);
  if (!sandbox_trust_directory (directory, error))
    {
      g_autofree char *display = g_filename_display_name (path);

      g_prefix_error (error, "%s: ", display);
      return NULL;
    }

  if (stat (file, &found) != 0)
    reason = g_strerror (errno);
  else if (!S_ISREG (found.st_mode))
    reason = "it is not a regular file";
  else
    reason = sandbox_file_trust_refuse (file, &found, geteuid ());

  if (reason != NULL)
    {
      sandbox_trust_fail (error, file, reason);
      return NULL;
    }

  *st = found;

  return g_steal_pointer (&file);
}
