/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* Reads one object. Strict where json-glib is not: RFC 8259 and nothing beside it, UTF-8, no name twice in one
 * object, no NUL in a string, no more than 16 levels, no integer that does not fit 64 bits. LIMIT when @text
 * has more than @max_bytes, INVALID with the line for what is no such object; @what is its name in messages. */
JsonNode *sandbox_json_parse_object (const char *text,
                                     gsize       max_bytes,
                                     const char *what,
                                     GError    **error);

/* What json_to_string () gives, as JSON: that leaves one control character as it is. */
char *sandbox_json_print (JsonNode *node,
                          gboolean  pretty);

G_END_DECLS
