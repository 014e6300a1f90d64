/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-environment-private.h"

#include "sandbox-error.h"

/* The length of the name of a variable, or 0 when @entry is not NAME=value. */
static gsize
sandbox_environment_name_length (const char *entry)
{
  gsize length = 0;

  while (g_ascii_isalpha (entry[length]) || entry[length] == '_' ||
         (length > 0 && g_ascii_isdigit (entry[length])))
    length++;

  return entry[length] == '=' ? length : 0;
}

char **
sandbox_environment_merge (const char *const *base,
                           const char *const *changes)
{
  const char *const *const sources[] = { base, changes };
  g_autoptr (GPtrArray) merged = g_ptr_array_new ();
  g_autoptr (GHashTable) places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    {
      for (guint j = 0; sources[i] != NULL && sources[i][j] != NULL; j++)
        {
          const char      *entry = sources[i][j];
          g_autofree char *name = g_strndup (entry, strcspn (entry, "="));
          gpointer         place;

          if (g_hash_table_lookup_extended (places, name, NULL, &place))
            {
              g_free (merged->pdata[GPOINTER_TO_UINT (place)]);
              merged->pdata[GPOINTER_TO_UINT (place)] = g_strdup (entry);
            }
          else
            {
              g_hash_table_insert (places, g_steal_pointer (&name), GUINT_TO_POINTER (merged->len));
              g_ptr_array_add (merged, g_strdup (entry));
            }
        }
    }

  g_ptr_array_add (merged, NULL);

  return (char **) g_ptr_array_free (g_steal_pointer (&merged), FALSE);
}

/* Adds what @strings take in execve () to @total. */
static gboolean
sandbox_arguments_add_size (const char *const *strings,
                            const char        *what,
                            gsize             *total,
                            GError           **error)
{
  for (guint i = 0; strings != NULL && strings[i] != NULL; i++)
    {
      gsize size = strlen (strings[i]) + 1;

      if (size > SANDBOX_MAX_ARGUMENT_BYTES)
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                       "%s %u has %" G_GSIZE_FORMAT " bytes with its end, the limit is %d",
                       what, i, size, SANDBOX_MAX_ARGUMENT_BYTES);
          return FALSE;
        }

      *total += size + sizeof (guint64);
    }

  return TRUE;
}

gboolean
sandbox_arguments_validate (const char *const *argv,
                            const char *const *environment,
                            GError           **error)
{
  gsize total = 0;

  /* Only the number of an entry is told: an entry without a name may be a value that is secret. */
  for (guint i = 0; environment != NULL && environment[i] != NULL; i++)
    {
      if (sandbox_environment_name_length (environment[i]) == 0)
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                       "Environment entry %u is not NAME=value with a name of letters, digits and "
                       "underscores",
                       i);
          return FALSE;
        }
    }

  if (!sandbox_arguments_add_size (argv, "Argument", &total, error) ||
      !sandbox_arguments_add_size (environment, "Environment entry", &total, error))
    return FALSE;

  if (total > SANDBOX_MAX_ARGUMENTS_BYTES)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                   "The arguments and the environment take %" G_GSIZE_FORMAT
                   " bytes together, the limit is %d",
                   total, SANDBOX_MAX_ARGUMENTS_BYTES);
      return FALSE;
    }

  return TRUE;
}
