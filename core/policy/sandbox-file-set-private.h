/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-file-set.h"

G_BEGIN_DECLS

typedef enum
{
  SANDBOX_FILE_KIND_DIRECTORY,
  SANDBOX_FILE_KIND_FILE,
  SANDBOX_FILE_KIND_EXECUTABLE,
  SANDBOX_FILE_KIND_LINK,
} SandboxFileKind;

/* A directory of the host from which files of a set are read. */
typedef struct _SandboxFileSource SandboxFileSource;

/* One entry of the tree that a set describes; it never changes. */
typedef struct
{
  char           *path; /* bytes, relative to the workspace */
  SandboxFileKind kind;
  guint64         size;  /* of a file, as it was when it was added */
  GBytes         *bytes; /* of a file that was given as bytes; the target of a link */

  /* Of any other file: what to read it from when the set is used. Without a directory the path is absolute, and
   * links in it are the host's own. Below a directory no link is to be followed. */
  SandboxFileSource *source;
  char              *source_path;
} SandboxFileEntry;

/* A descriptor of the directory, good for openat (), or -1. It stays with the entry. */
int sandbox_file_entry_get_directory (const SandboxFileEntry *self);

/* See sandbox_command_freeze (). The content is shared, and read in any thread. */
SandboxFileSet *sandbox_file_set_freeze (SandboxFileSet *self);

/* What sandbox_file_set_add () could not tell. */
gboolean sandbox_file_set_validate (SandboxFileSet *self,
                                    GError        **error);

/* Every entry (const SandboxFileEntry *, of the set), each directory that stands in a path among them, in the order
 * of the bytes of their paths: a directory is in front of what it has. */
GPtrArray *sandbox_file_set_list (SandboxFileSet *self);

/* The key of a template, which is the SHA-256 of all that makes one template another. Entries are given in the order
 * of sandbox_file_set_list (), with the 32 bytes of the SHA-256 of a file's content or of a link's target, and none
 * for a directory. No two different templates give the same bytes to hash: what varies in length is preceded by its
 * length, what varies in number is followed by an end. */
typedef struct _SandboxTemplateKey SandboxTemplateKey;

#define SANDBOX_DIGEST_BYTES 32

SandboxTemplateKey *sandbox_template_key_new (const char *backend,
                                              const char *name);
void                sandbox_template_key_add (SandboxTemplateKey *self,
                                              const char         *path,
                                              SandboxFileKind     kind,
                                              const guint8       *digest);
char               *sandbox_template_key_end (SandboxTemplateKey *self); /* frees @self; 64 digits */
void                sandbox_template_key_free (SandboxTemplateKey *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxTemplateKey, sandbox_template_key_free)

G_END_DECLS
