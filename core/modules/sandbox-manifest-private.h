/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define SANDBOX_MANIFEST_SUFFIX ".sandbox-module"
#define SANDBOX_MANIFEST_MAX_BYTES (64 * 1024)

/* What is broken, and does not tell its priority, is never picked by itself. */
#define SANDBOX_MANIFEST_NO_PRIORITY (-1)

/* What a module says of itself without being loaded. All members are set. */
typedef struct
{
  char   *kind;
  char   *name;
  char   *library;
  char   *description;
  guint32 abi;
  int     priority;
} SandboxManifest;

/* Pure: bytes in, a manifest or an error out. Every key is there and no other; the error does not
 * name the file, which is not known here. */
SandboxManifest *sandbox_manifest_parse (const char *data,
                                         gsize       size,
                                         GError    **error);
void             sandbox_manifest_free (SandboxManifest *self);

/* The priority in the manifest of a backend that is otherwise broken, so that it keeps its place: a
 * weaker one must not come in for it unnoticed. */
int sandbox_manifest_salvage_priority (const char *data,
                                       gsize       size);

/* Whether @name is 1 to 64 of a-z, 0-9 and the dash. */
gboolean sandbox_manifest_name_is_valid (const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxManifest, sandbox_manifest_free)

G_END_DECLS
