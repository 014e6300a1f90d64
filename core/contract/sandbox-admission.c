/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-admission-private.h"

#include "sandbox-error.h"

struct _SandboxAdmission
{
  gatomicrefcount ref_count;
  GMutex          lock;
  guint           limit;
  guint           taken;
};

SandboxAdmission *
sandbox_admission_new (void)
{
  SandboxAdmission *self = g_new0 (SandboxAdmission, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_mutex_init (&self->lock);
  self->limit = SANDBOX_ADMISSION_DEFAULT;

  return self;
}

SandboxAdmission *
sandbox_admission_ref (SandboxAdmission *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_admission_unref (SandboxAdmission *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_mutex_clear (&self->lock);
  g_free (self);
}

guint
sandbox_admission_get_limit (SandboxAdmission *self)
{
  guint limit = 0;

  g_mutex_lock (&self->lock);
  limit = self->limit;
  g_mutex_unlock (&self->lock);

  return limit;
}

void
sandbox_admission_set_limit (SandboxAdmission *self,
                             guint             limit)
{
  g_mutex_lock (&self->lock);
  self->limit = limit;
  g_mutex_unlock (&self->lock);
}

gboolean
sandbox_admission_take (SandboxAdmission *self,
                        GError          **error)
{
  gboolean free_place = FALSE;
  guint    limit = 0;

  g_mutex_lock (&self->lock);
  limit = self->limit;
  free_place = self->taken < limit;
  if (free_place)
    self->taken++;
  g_mutex_unlock (&self->lock);

  if (!free_place)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY,
                 "All %u places of the backend (max-concurrent-commands) are taken", limit);

  return free_place;
}

void
sandbox_admission_give (SandboxAdmission *self)
{
  g_mutex_lock (&self->lock);
  g_assert (self->taken > 0);
  self->taken--;
  g_mutex_unlock (&self->lock);
}
