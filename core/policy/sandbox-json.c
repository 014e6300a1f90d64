/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-json-private.h"

#include "sandbox-error.h"
#include "sandbox-paths-private.h"

#include <errno.h>
#include <string.h>

#define MAX_LEVELS 16
/* No number that means something is longer. */
#define MAX_NUMBER_BYTES 64

/* The readers below go over one thing of the grammar from @at on. They return where it ends, or NULL with the
 * problem told. */
typedef struct
{
  const char *text;
  guint       levels;
  const char *problem;
  const char *place;
} SandboxJsonReader;

static const char *sandbox_json_read_value (SandboxJsonReader *self,
                                            const char        *at);

static const char *
sandbox_json_refuse (SandboxJsonReader *self,
                     const char        *at,
                     const char        *problem)
{
  self->problem = problem;
  self->place = at;

  return NULL;
}

static const char *
sandbox_json_skip (const char *at)
{
  return at + strspn (at, " \t\r\n");
}

static const char *
sandbox_json_read_unicode (SandboxJsonReader *self,
                           const char        *at)
{
  guint number = 0;

  for (guint i = 0; i < 4; i++)
    {
      int digit = g_ascii_xdigit_value (at[i]);

      if (digit < 0)
        return sandbox_json_refuse (self, at, "\\u without four hexadecimal digits");
      number = number << 4 | (guint) digit;
    }
  if (number == 0)
    return sandbox_json_refuse (self, at, "a NUL in a string");
  if (number >= 0xdc00 && number <= 0xdfff)
    return sandbox_json_refuse (self, at, "half of a surrogate pair");
  if (number >= 0xd800 && number <= 0xdbff)
    {
      guint low = 0;

      if (at[4] != '\\' || at[5] != 'u')
        return sandbox_json_refuse (self, at, "half of a surrogate pair");
      for (guint i = 6; i < 10; i++)
        {
          int digit = g_ascii_xdigit_value (at[i]);

          if (digit < 0)
            return sandbox_json_refuse (self, at, "\\u without four hexadecimal digits");
          low = low << 4 | (guint) digit;
        }
      if (low < 0xdc00 || low > 0xdfff)
        return sandbox_json_refuse (self, at, "half of a surrogate pair");
      return at + 10;
    }

  return at + 4;
}

static const char *
sandbox_json_read_string (SandboxJsonReader *self,
                          const char        *at)
{
  if (*at != '"')
    return sandbox_json_refuse (self, at, "something else where a string has to be");

  for (at++; *at != '"';)
    {
      if ((guchar) *at < 0x20)
        return sandbox_json_refuse (self, at, *at == '\0' ? "a string without an end" : "a control character in a string");
      if (*at++ != '\\')
        continue;
      if (*at == 'u')
        {
          if ((at = sandbox_json_read_unicode (self, at + 1)) == NULL)
            return NULL;
        }
      else if (*at == '\0' || strchr ("\"\\/bfnrt", *at) == NULL)
        return sandbox_json_refuse (self, at, "an unknown escape");
      else
        at++;
    }

  return at + 1;
}

static const char *
sandbox_json_read_number (SandboxJsonReader *self,
                          const char        *start)
{
  static const char *const digits = "0123456789";
  const char              *at = start + (*start == '-' ? 1 : 0);
  gsize                    length = strspn (at, digits);
  gboolean                 is_integer = TRUE;

  if (length == 0 || (length > 1 && *at == '0'))
    return sandbox_json_refuse (self, start, "something that is no value");
  at += length;
  if (*at == '.')
    {
      is_integer = FALSE;
      if ((length = strspn (at + 1, digits)) == 0)
        return sandbox_json_refuse (self, start, "a number without an end");
      at += length + 1;
    }
  if (*at == 'e' || *at == 'E')
    {
      is_integer = FALSE;
      at += at[1] == '+' || at[1] == '-' ? 2 : 1;
      if ((length = strspn (at, digits)) == 0)
        return sandbox_json_refuse (self, start, "a number without an end");
      at += length;
    }
  if (at - start > MAX_NUMBER_BYTES)
    return sandbox_json_refuse (self, start, "a number that is too long");
  if (is_integer)
    {
      errno = 0;
      (void) g_ascii_strtoll (start, NULL, 10);
      if (errno == ERANGE)
        return sandbox_json_refuse (self, start, "a number that is too large");
    }

  return at;
}

/* The members of an object or the elements of an array. */
static const char *
sandbox_json_read_list (SandboxJsonReader *self,
                        const char        *at,
                        gboolean           is_object)
{
  const char end = is_object ? '}' : ']';

  if (++self->levels > MAX_LEVELS)
    return sandbox_json_refuse (self, at, "too many levels");

  at = sandbox_json_skip (at + 1);
  while (*at != end)
    {
      if (is_object)
        {
          if ((at = sandbox_json_read_string (self, at)) == NULL)
            return NULL;
          at = sandbox_json_skip (at);
          if (*at != ':')
            return sandbox_json_refuse (self, at, "a name without a colon");
          at = sandbox_json_skip (at + 1);
        }
      if ((at = sandbox_json_read_value (self, at)) == NULL)
        return NULL;
      at = sandbox_json_skip (at);
      if (*at == end)
        break;
      if (*at != ',')
        return sandbox_json_refuse (self, at, "neither a comma nor an end");
      at = sandbox_json_skip (at + 1);
      if (*at == end)
        return sandbox_json_refuse (self, at, "a comma before the end");
    }
  self->levels--;

  return at + 1;
}

static const char *
sandbox_json_read_value (SandboxJsonReader *self,
                         const char        *at)
{
  static const char *const words[] = { "true", "false", "null" };

  if (*at == '{' || *at == '[')
    return sandbox_json_read_list (self, at, *at == '{');
  if (*at == '"')
    return sandbox_json_read_string (self, at);
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      if (g_str_has_prefix (at, words[i]))
        return at + strlen (words[i]);
    }

  return sandbox_json_read_number (self, at);
}

/* NULL, or the problem. */
static const char *
sandbox_json_check (const char *text,
                    const char *what,
                    GError    **error)
{
  SandboxJsonReader reader = { .text = text };
  const char       *at = sandbox_json_skip (text);
  guint             line = 1;

  if (!g_utf8_validate (text, -1, &reader.place))
    reader.problem = "a byte that is not UTF-8";
  else if (*at != '{')
    sandbox_json_refuse (&reader, at, "something else where an object has to be");
  else if ((at = sandbox_json_read_value (&reader, at)) != NULL && *(at = sandbox_json_skip (at)) != '\0')
    sandbox_json_refuse (&reader, at, "something after the end");

  if (reader.problem == NULL)
    return NULL;

  for (at = text; at < reader.place; at++)
    line += *at == '\n' ? 1 : 0;
  if (*sandbox_json_skip (text) == '\0')
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The %s is no JSON: the text is empty", what);
  else
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The %s is no strict JSON: line %u has %s%s",
                 what, line, reader.problem, *reader.place == '\0' ? "; the text ends early" : "");

  return reader.problem;
}

typedef struct
{
  GHashTable *members; /* of each object that is being read, its names so far */
  char       *twice;   /* the first name that an object has twice */
} SandboxJsonNames;

static void
sandbox_json_names_clear (SandboxJsonNames *self)
{
  g_clear_pointer (&self->members, g_hash_table_unref);
  g_free (self->twice);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SandboxJsonNames, sandbox_json_names_clear)

/* json-glib keeps the last of several members of one name, and tells of each of them. */
static void
sandbox_json_member_cb (JsonParser *parser,
                        JsonObject *object,
                        const char *name,
                        gpointer    user_data)
{
  SandboxJsonNames *self = user_data;
  GHashTable       *names = g_hash_table_lookup (self->members, object);

  if (names == NULL)
    {
      names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      g_hash_table_insert (self->members, object, names);
    }
  if (!g_hash_table_add (names, g_strdup (name)) && self->twice == NULL)
    self->twice = sandbox_path_display (name);
}

static void
sandbox_json_object_end_cb (JsonParser *parser,
                            JsonObject *object,
                            gpointer    user_data)
{
  SandboxJsonNames *self = user_data;

  /* An object that is replaced is freed, and another one may then be in its place. */
  g_hash_table_remove (self->members, object);
}

JsonNode *
sandbox_json_parse_object (const char *text,
                           gsize       max_bytes,
                           const char *what,
                           GError    **error)
{
  g_auto (SandboxJsonNames) names = { NULL, NULL };
  g_autoptr (JsonParser) parser = NULL;
  g_autoptr (GError) failure = NULL;

  if (strnlen (text, max_bytes + 1) > max_bytes)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                   "The %s has more than %" G_GSIZE_FORMAT " bytes", what, max_bytes);
      return NULL;
    }
  if (sandbox_json_check (text, what, error) != NULL)
    return NULL;

  names.members = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_hash_table_unref);
  parser = json_parser_new_immutable ();
  g_signal_connect (parser, "object-member", G_CALLBACK (sandbox_json_member_cb), &names);
  g_signal_connect (parser, "object-end", G_CALLBACK (sandbox_json_object_end_cb), &names);
  if (!json_parser_load_from_data (parser, text, -1, &failure))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The %s is no strict JSON: %s", what, failure->message);
      return NULL;
    }
  if (names.twice != NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The %s has the name “%s” twice in one object", what, names.twice);
      return NULL;
    }

  return json_parser_steal_root (parser);
}

char *
sandbox_json_print (JsonNode *node,
                    gboolean  pretty)
{
  g_autofree char *text = json_to_string (node, pretty);
  GString         *fixed = NULL;

  /* json-glib does not escape U+001F. It stands nowhere but in a string. */
  if (strchr (text, 0x1f) == NULL)
    return g_steal_pointer (&text);
  fixed = g_string_new (text);
  g_string_replace (fixed, "\x1f", "\\u001f", 0);

  return g_string_free (fixed, FALSE);
}
