/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-store-hasher-private.h"

#include "sandbox-file-set-private.h"

/* A power of two. The thread is woken when half of them are filled: for each small file that would cost more than it
 * is worth. */
#define N_SLOTS 32
#define N_WAKE (N_SLOTS / 2)

typedef struct
{
  guint    file;
  gsize    size;
  gboolean is_last;
} SandboxStoreSlot;

struct _SandboxStoreHasher
{
  guint8    *digests;
  char      *buffers;
  GChecksum *checksum;
  GThread   *thread; /* NULL as long as there has been little */

  /* Guarded by the lock, but for the slots that are filled: those are the thread's. */
  GMutex           lock;
  GCond            work;
  GCond            room;
  SandboxStoreSlot slots[N_SLOTS];
  guint            first;
  guint            n_filled;
  gboolean         ends;
};

SandboxStoreHasher *
sandbox_store_hasher_new (guint n_files)
{
  SandboxStoreHasher *self = g_new0 (SandboxStoreHasher, 1);

  self->digests = g_malloc0_n (n_files, SANDBOX_DIGEST_BYTES);
  self->buffers = g_malloc (N_SLOTS * SANDBOX_STORE_HASHER_BUFFER_SIZE);
  self->checksum = g_checksum_new (G_CHECKSUM_SHA256);
  g_mutex_init (&self->lock);
  g_cond_init (&self->work);
  g_cond_init (&self->room);

  return self;
}

static char *
sandbox_store_hasher_peek_buffer (SandboxStoreHasher *self,
                                  guint               slot)
{
  return self->buffers + (gsize) slot * SANDBOX_STORE_HASHER_BUFFER_SIZE;
}

/* The first slot that is filled. Not locked. */
static void
sandbox_store_hasher_hash (SandboxStoreHasher *self,
                           guint               first)
{
  const SandboxStoreSlot *slot = &self->slots[first];
  gsize                   digest_size = SANDBOX_DIGEST_BYTES;

  g_checksum_update (self->checksum, (const guchar *) sandbox_store_hasher_peek_buffer (self, first), (gssize) slot->size);
  if (!slot->is_last)
    return;
  g_checksum_get_digest (self->checksum, self->digests + (gsize) slot->file * SANDBOX_DIGEST_BYTES, &digest_size);
  g_checksum_reset (self->checksum);
}

/* Until there is nothing left. Locked. */
static void
sandbox_store_hasher_drain (SandboxStoreHasher *self)
{
  while (self->n_filled > 0)
    {
      const guint first = self->first;

      g_mutex_unlock (&self->lock);
      sandbox_store_hasher_hash (self, first);
      g_mutex_lock (&self->lock);
      self->first = (first + 1) % N_SLOTS;
      if (self->n_filled-- == N_WAKE)
        g_cond_signal (&self->room);
    }
}

static gpointer
sandbox_store_hasher_thread (gpointer data)
{
  SandboxStoreHasher *self = data;

  g_mutex_lock (&self->lock);
  for (;;)
    {
      sandbox_store_hasher_drain (self);
      if (self->ends)
        break;
      g_cond_wait (&self->work, &self->lock);
    }
  g_mutex_unlock (&self->lock);

  return NULL;
}

char *
sandbox_store_hasher_get_buffer (SandboxStoreHasher *self)
{
  guint slot;

  g_mutex_lock (&self->lock);
  while (self->n_filled == N_SLOTS)
    g_cond_wait (&self->room, &self->lock);
  slot = (self->first + self->n_filled) % N_SLOTS;
  g_mutex_unlock (&self->lock);

  return sandbox_store_hasher_peek_buffer (self, slot);
}

void
sandbox_store_hasher_put (SandboxStoreHasher *self,
                          guint               file,
                          gsize               size,
                          gboolean            is_last)
{
  g_mutex_lock (&self->lock);
  self->slots[(self->first + self->n_filled) % N_SLOTS] = (SandboxStoreSlot){ file, size, is_last };
  if (++self->n_filled == N_WAKE)
    {
      if (self->thread == NULL)
        self->thread = g_thread_try_new ("sandbox-hash", sandbox_store_hasher_thread, self, NULL);
      if (self->thread == NULL)
        sandbox_store_hasher_drain (self);
      else
        g_cond_signal (&self->work);
    }
  g_mutex_unlock (&self->lock);
}

void
sandbox_store_hasher_finish (SandboxStoreHasher *self)
{
  g_mutex_lock (&self->lock);
  self->ends = TRUE;
  if (self->thread == NULL)
    sandbox_store_hasher_drain (self);
  else
    g_cond_signal (&self->work);
  g_mutex_unlock (&self->lock);
  g_clear_pointer (&self->thread, g_thread_join);
}

guint8 *
sandbox_store_hasher_get_digest (SandboxStoreHasher *self,
                                 guint               file)
{
  return self->digests + (gsize) file * SANDBOX_DIGEST_BYTES;
}

void
sandbox_store_hasher_free (SandboxStoreHasher *self)
{
  sandbox_store_hasher_finish (self);
  g_cond_clear (&self->room);
  g_cond_clear (&self->work);
  g_mutex_clear (&self->lock);
  g_checksum_free (self->checksum);
  g_free (self->buffers);
  g_free (self->digests);
  g_free (self);
}
