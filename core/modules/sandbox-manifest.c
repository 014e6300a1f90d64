/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-manifest-private.h"

#include <string.h>

#include "sandbox-error.h"
#include "sandbox-keys-private.h"

#define GROUP "Module"
#define MAX_LIBRARY 255

static const char *const known_keys[] = { "Kind", "Name", "Library", "Abi", "Priority", "Description", NULL };
static const char *const known_kinds[] = { "backend", "gateway", "tool", NULL };

void
sandbox_manifest_free (SandboxManifest *self)
{
  g_free (self->kind);
  g_free (self->name);
  g_free (self->library);
  g_free (self->description);
  g_free (self);
}

gboolean
sandbox_manifest_name_is_valid (const char *name)
{
  return sandbox_backend_name_is_valid (name);
}

/* GModule reads other suffixes as something else than a shared object. */
static gboolean
sandbox_manifest_library_is_valid (const char *library)
{
  return *library != '.' &&
         strchr (library, '/') == NULL &&
         strlen (library) <= MAX_LIBRARY &&
         g_str_has_suffix (library, ".so");
}

static gboolean
sandbox_manifest_fail (GError    **error,
                       const char *message)
{
  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, message);

  return FALSE;
}

/* The whole of what is shown to people: one line of text without anything that moves a cursor. */
static gboolean
sandbox_manifest_is_plain (const char *text)
{
  for (const char *at = text; *at != '\0'; at = g_utf8_next_char (at))
    if (g_unichar_iscntrl (g_utf8_get_char (at)))
      return FALSE;

  return *text != '\0';
}

static GKeyFile *
sandbox_manifest_open (const char *data,
                       gsize       size,
                       GError    **error)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autoptr (GError) cause = NULL;

  if (size > SANDBOX_MANIFEST_MAX_BYTES)
    sandbox_manifest_fail (error, "the manifest is larger than 64 KiB");
  else if (size == 0)
    sandbox_manifest_fail (error, "the manifest is empty");
  else if (!g_utf8_validate_len (data, size, NULL))
    sandbox_manifest_fail (error, "the manifest is not UTF-8 text");
  /* With the translations, else what is in the file would depend on the locale. */
  else if (!g_key_file_load_from_data (file, data, size, G_KEY_FILE_KEEP_TRANSLATIONS, &cause))
    sandbox_manifest_fail (error, cause->message);
  else
    return g_steal_pointer (&file);

  return NULL;
}

static gboolean
sandbox_manifest_check_keys (GKeyFile *file,
                             GError  **error)
{
  g_auto (GStrv) groups = g_key_file_get_groups (file, NULL);
  g_auto (GStrv) keys = NULL;

  for (guint i = 0; groups[i] != NULL; i++)
    if (g_strcmp0 (groups[i], GROUP) != 0)
      {
        g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, "the manifest has an unknown group [%s]", groups[i]);
        return FALSE;
      }

  keys = g_key_file_get_keys (file, GROUP, NULL, NULL);
  if (keys == NULL)
    return sandbox_manifest_fail (error, "the manifest has no group [" GROUP "]");

  for (guint i = 0; keys[i] != NULL; i++)
    if (!g_strv_contains (known_keys, keys[i]))
      {
        g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, "the manifest has an unknown key %s", keys[i]);
        return FALSE;
      }

  return TRUE;
}

/* A value that is there and that can be shown. */
static gboolean
sandbox_manifest_read (GKeyFile   *file,
                       const char *key,
                       char      **value,
                       GError    **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree char *text = g_key_file_get_string (file, GROUP, key, &cause);

  /* There may be both, a text and an error. */
  if (text == NULL || cause != NULL || !sandbox_manifest_is_plain (text))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, "the manifest has no good %s", key);
      return FALSE;
    }

  *value = g_steal_pointer (&text);

  return TRUE;
}

static gboolean
sandbox_manifest_read_abi (GKeyFile *file,
                           guint32  *abi,
                           GError  **error)
{
  g_autofree char *text = NULL;
  guint64          number;

  if (!sandbox_manifest_read (file, "Abi", &text, error))
    return FALSE;

  if (*text == '+' || !g_ascii_string_to_unsigned (text, 10, 1, G_MAXUINT32, &number, NULL))
    return sandbox_manifest_fail (error, "Abi is not a number from 1 on");

  *abi = number;

  return TRUE;
}

static gboolean
sandbox_manifest_read_priority (GKeyFile *file,
                                int      *priority,
                                GError  **error)
{
  g_autofree char *text = NULL;
  gint64           number;

  if (!sandbox_manifest_read (file, "Priority", &text, error))
    return FALSE;

  if (*text == '+' || !g_ascii_string_to_signed (text, 10, G_MININT, G_MAXINT, &number, NULL))
    return sandbox_manifest_fail (error, "Priority is not a number");

  *priority = number;

  return TRUE;
}

SandboxManifest *
sandbox_manifest_parse (const char *data,
                        gsize       size,
                        GError    **error)
{
  g_autoptr (SandboxManifest) self = g_new0 (SandboxManifest, 1);
  g_autoptr (GKeyFile) file = sandbox_manifest_open (data, size, error);

  if (file == NULL ||
      !sandbox_manifest_check_keys (file, error) ||
      !sandbox_manifest_read (file, "Kind", &self->kind, error) ||
      !sandbox_manifest_read (file, "Name", &self->name, error) ||
      !sandbox_manifest_read (file, "Library", &self->library, error) ||
      !sandbox_manifest_read (file, "Description", &self->description, error) ||
      !sandbox_manifest_read_abi (file, &self->abi, error) ||
      !sandbox_manifest_read_priority (file, &self->priority, error))
    return NULL;

  if (!g_strv_contains (known_kinds, self->kind))
    sandbox_manifest_fail (error, "Kind is none of backend, gateway and tool");
  else if (!sandbox_manifest_name_is_valid (self->name))
    sandbox_manifest_fail (error, "Name is not 1 to 64 of a-z, 0-9 and the dash");
  else if (!sandbox_manifest_library_is_valid (self->library))
    sandbox_manifest_fail (error, "Library is not the plain name of a .so file");
  else
    return g_steal_pointer (&self);

  return NULL;
}

int
sandbox_manifest_salvage_priority (const char *data,
                                   gsize       size)
{
  g_autoptr (GKeyFile) file = sandbox_manifest_open (data, size, NULL);
  g_autofree char *kind = file != NULL ? g_key_file_get_string (file, GROUP, "Kind", NULL) : NULL;
  int              priority = SANDBOX_MANIFEST_NO_PRIORITY;

  if (g_strcmp0 (kind, known_kinds[0]) == 0)
    sandbox_manifest_read_priority (file, &priority, NULL);

  return priority;
}
