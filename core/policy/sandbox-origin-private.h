/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* One origin in canonical form. */
typedef struct
{
  gboolean tls;
  gboolean loopback; /* a loopback address, not a name */
  guint16  port;
  char     host[256]; /* lower case; an IPv6 address in its brackets */
} SandboxOrigin;

/* Writes @origin on success only. SANDBOX_ERROR_INVALID says what is wrong with @text; the message shows
 * nothing that may be a secret. */
gboolean sandbox_origin_parse (const char    *text,
                               SandboxOrigin *origin,
                               GError       **error);

/* The form that parses to the same origin again: without a port when it is that of the scheme. */
char *sandbox_origin_to_string (const SandboxOrigin *origin);

G_END_DECLS
