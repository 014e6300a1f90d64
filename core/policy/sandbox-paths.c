/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-paths-private.h"

#include "sandbox-error.h"

/* What the kernel takes: a path of 4096 bytes with its end, a name of 255. */
#define MAX_PATH_BYTES 4095
#define MAX_NAME_BYTES 255
#define MAX_DISPLAY_CHARACTERS 80

static void
sandbox_path_append_escape (GString *string,
                            guint8   byte)
{
  const char digits[] = "0123456789abcdef";
  const char escape[] = { '\\', 'x', digits[byte >> 4], digits[byte & 15] };

  g_string_append_len (string, escape, sizeof escape);
}

char *
sandbox_path_escape (const char *bytes)
{
  GString *escaped;

  g_return_val_if_fail (bytes != NULL, NULL);

  /* Most have nothing to escape. */
  if (strchr (bytes, '\\') == NULL && g_utf8_validate (bytes, -1, NULL))
    return g_strdup (bytes);

  escaped = g_string_sized_new (strlen (bytes));

  while (*bytes != '\0')
    {
      const char *invalid;

      g_utf8_validate (bytes, -1, &invalid);

      for (; bytes < invalid; bytes++)
        {
          if (*bytes == '\\')
            sandbox_path_append_escape (escaped, '\\');
          else
            g_string_append_c (escaped, *bytes);
        }

      if (*bytes != '\0')
        sandbox_path_append_escape (escaped, *bytes++);
    }

  return g_string_free (escaped, FALSE);
}

char *
sandbox_path_display (const char *path)
{
  GString *shown;
  guint    n_characters = 0;

  g_return_val_if_fail (path != NULL, NULL);

  shown = g_string_new (NULL);

  for (; *path != '\0' && n_characters < MAX_DISPLAY_CHARACTERS; n_characters++)
    {
      gunichar    character = g_utf8_get_char_validated (path, -1);
      const char *next = (gint32) character < 0 ? path + 1 : g_utf8_next_char (path);

      if ((gint32) character >= 0 && g_unichar_isprint (character))
        g_string_append_len (shown, path, next - path);
      else
        {
          for (const char *at = path; at < next; at++)
            sandbox_path_append_escape (shown, *at);
        }

      path = next;
    }

  if (*path != '\0')
    g_string_append (shown, "…");

  return g_string_free (shown, FALSE);
}

static int
sandbox_path_hex_value (char digit)
{
  if (g_ascii_isdigit (digit))
    return digit - '0';

  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The functions below return %NULL, or the words that follow "The path …". */

/* Writes to @decoded. An escape is only right where sandbox_path_escape () would have written it; that
 * is what keeps two spellings of one file apart, and hidden slashes and dots out. */
static const char *
sandbox_path_decode (const char *path,
                     GString    *decoded)
{
  static const char *const wrong = "has a backslash that does not stand for one byte which is not UTF-8, "
                                   "or for a backslash, as in \\x5c";
  g_autofree char         *escaped = NULL;

  for (const char *at = path; *at != '\0'; at++)
    {
      int high;
      int low;

      if (*at != '\\')
        {
          g_string_append_c (decoded, *at);
          continue;
        }

      if (at[1] != 'x' || (high = sandbox_path_hex_value (at[2])) < 0 ||
          (low = sandbox_path_hex_value (at[3])) < 0 || (high == 0 && low == 0))
        return wrong;

      g_string_append_c (decoded, high << 4 | low);
      at += 3;
    }

  escaped = sandbox_path_escape (decoded->str);

  return strcmp (escaped, path) == 0 ? NULL : wrong;
}

static const char *
sandbox_path_check_names (const char *bytes)
{
  for (const char *name = bytes;; name++)
    {
      gsize length = strcspn (name, "/");

      if (length == 0)
        return name[0] == '\0' ? "ends in a slash" : "has an empty part";

      if (length > MAX_NAME_BYTES)
        return "has a part of more than 255 bytes";

      if (length == 1 && name[0] == '.')
        return "has a part that is a single dot";

      if (length == 2 && name[0] == '.' && name[1] == '.')
        return "leads upwards";

      name += length;

      if (*name == '\0')
        return NULL;
    }
}

const char *
sandbox_path_check_absolute (const char *path)
{
  if (strlen (path) > MAX_PATH_BYTES)
    return "is too long";

  if (!g_utf8_validate (path, -1, NULL))
    return "is not UTF-8";

  if (path[0] != '/')
    return "is not absolute";

  if (path[1] == '\0')
    return "is the root";

  return sandbox_path_check_names (path + 1);
}

gboolean
sandbox_path_is_within (const char *path,
                        const char *directory)
{
  gsize length = strlen (directory);

  return strncmp (path, directory, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

gboolean
sandbox_path_link_stays_inside (const char *directory,
                                const char *target)
{
  int depth = 0;

  if (target[0] == '/' || target[0] == '\0')
    return FALSE;

  for (const char *at = strcmp (directory, ".") == 0 ? "" : directory; *at != '\0'; at += strspn (at, "/"))
    {
      depth++;
      at += strcspn (at, "/");
    }
  for (const char *at = target; *at != '\0'; at += strspn (at, "/"))
    {
      gsize length = strcspn (at, "/");

      if (length == 2 && at[0] == '.' && at[1] == '.')
        depth--;
      else if (length != 1 || at[0] != '.')
        depth++;
      if (depth < 0)
        return FALSE;
      at += length;
    }

  return TRUE;
}

/* Writes the bytes relative to the workspace to @relative. */
static const char *
sandbox_path_read (const char *path,
                   const char *workspace_target,
                   GString    *relative)
{
  const char *problem;
  gsize       target_length = strlen (workspace_target);

  if (path[0] == '\0')
    return "is empty";

  /* The escaped form of a byte is four times as long. This bounds the work for what comes next. */
  if (strlen (path) > target_length + 1 + 4 * MAX_PATH_BYTES)
    return "is too long";

  if (!g_utf8_validate (path, -1, NULL))
    return "is not UTF-8; such a byte is written as in \\xff";

  if (path[0] == '/')
    {
      if (strncmp (path, workspace_target, target_length) != 0 ||
          (path[target_length] != '\0' && path[target_length] != '/'))
        return "is absolute and not below the workspace";

      path += target_length;

      if (path[0] == '\0')
        {
          g_string_append_c (relative, '.');
          return NULL;
        }

      path++;
    }
  else if (strcmp (path, ".") == 0)
    {
      g_string_append_c (relative, '.');
      return NULL;
    }

  problem = sandbox_path_decode (path, relative);

  if (problem != NULL)
    return problem;

  if (relative->len > MAX_PATH_BYTES)
    return "is too long";

  return sandbox_path_check_names (relative->str);
}

char *
sandbox_path_resolve (const char *path,
                      const char *workspace_target,
                      GError    **error)
{
  GString         *relative;
  const char      *problem;
  g_autofree char *shown = NULL;

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (workspace_target != NULL && workspace_target[0] == '/', NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  relative = g_string_new (NULL);
  problem = sandbox_path_read (path, workspace_target, relative);

  if (problem == NULL)
    return g_string_free (relative, FALSE);

  g_string_free (relative, TRUE);
  shown = sandbox_path_display (path);
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH, "The path “%s” %s", shown, problem);

  return NULL;
}
