/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-labels-private.h"

#include <string.h>

#include "sandbox-error.h"

gboolean
sandbox_labels_validate (GVariant *labels,
                         GError  **error)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  GVariantIter iter;
  const char  *name;
  const char  *value;

  if (g_variant_n_children (labels) > SANDBOX_MAX_LABELS)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                   "There are %" G_GSIZE_FORMAT " labels, the limit is %d",
                   g_variant_n_children (labels), SANDBOX_MAX_LABELS);
      return FALSE;
    }

  g_variant_iter_init (&iter, labels);

  while (g_variant_iter_next (&iter, "{&s&s}", &name, &value))
    {
      if (strlen (name) > SANDBOX_MAX_LABEL_NAME_BYTES || strlen (value) > SANDBOX_MAX_LABEL_VALUE_BYTES)
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                       "A label has more than %d bytes in its name or %d in its value",
                       SANDBOX_MAX_LABEL_NAME_BYTES, SANDBOX_MAX_LABEL_VALUE_BYTES);
          return FALSE;
        }

      if (name[0] == '\0' || !g_hash_table_add (names, (gpointer) name))
        {
          g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                               name[0] == '\0' ? "A label has no name"
                                               : "Two labels have the same name");
          return FALSE;
        }
    }

  return TRUE;
}
