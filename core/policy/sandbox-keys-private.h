/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <string.h>

G_BEGIN_DECLS

/* Names under which things are stored: none leads anywhere else. */

#define SANDBOX_KEY_LENGTH 64
#define SANDBOX_BACKEND_NAME_MAX_LENGTH 64

/* The key of a template, the id of a session: 64 hexadecimal digits in lower case. */
static inline gboolean
sandbox_key_is_valid (const char *key)
{
  return key != NULL && strspn (key, "0123456789abcdef") == SANDBOX_KEY_LENGTH && key[SANDBOX_KEY_LENGTH] == '\0';
}

/* The name of a backend, or of another module: lower-case letters, digits and dashes. */
static inline gboolean
sandbox_backend_name_is_valid (const char *name)
{
  gsize length = name != NULL ? strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;

  return length > 0 && length <= SANDBOX_BACKEND_NAME_MAX_LENGTH && name[length] == '\0';
}

G_END_DECLS
