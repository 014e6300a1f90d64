/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The digests of many files, which are read one after the other. With much to hash that is done in a thread of its own:
 * SHA-256 takes about as long as all that the kernel does to copy a file. All calls come from one thread. */
typedef struct _SandboxStoreHasher SandboxStoreHasher;

#define SANDBOX_STORE_HASHER_BUFFER_SIZE (64 * 1024)

SandboxStoreHasher *sandbox_store_hasher_new (guint n_files);

/* A buffer of that size to fill, which may take waiting. What is in it stays until the next call of this. */
char *sandbox_store_hasher_get_buffer (SandboxStoreHasher *self);

/* So much of it is the next of what @file has, and its last. */
void sandbox_store_hasher_put (SandboxStoreHasher *self,
                               guint               file,
                               gsize               size,
                               gboolean            is_last);

/* Waits for what has been put; nothing can be put afterwards. Each digest has SANDBOX_DIGEST_BYTES, and that of a file which
 * is not put is free to be filled. */
void    sandbox_store_hasher_finish (SandboxStoreHasher *self);
guint8 *sandbox_store_hasher_get_digest (SandboxStoreHasher *self,
                                         guint               file);

void sandbox_store_hasher_free (SandboxStoreHasher *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxStoreHasher, sandbox_store_hasher_free)

G_END_DECLS
