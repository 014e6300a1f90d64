/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How one operation on files comes to be done: at once, or by the pool. */

#include "sandbox-workspace-private.h"

#include <errno.h>

#include "sandbox-error-private.h"
#include "sandbox-owner-private.h"
#include "sandbox-paths-private.h"
#include "sandbox-request-private.h"
#include "sandbox-workspace-path.h"

/* A guest can fill a directory as fast as we empty it. */
int
sandbox_workspace_job_check (gpointer data)
{
  SandboxWorkspaceJob *self = data;

  if (sandbox_request_is_cancelled (self->request))
    return ECANCELED;

  return g_get_monotonic_time () > self->end ? ETIMEDOUT : 0;
}

static gboolean
sandbox_workspace_job_work_as_owner (SandboxWorkspaceJob *self,
                                     gpointer            *answer,
                                     GError             **error)
{
  g_auto (SandboxOwner) owner = { FALSE };
  g_autoptr (GError) failure = NULL;
  guint uid, gid;

  if (sandbox_request_is_cancelled (self->request))
    {
      g_propagate_error (error, sandbox_error_new_cancelled ());
      return FALSE;
    }
  sandbox_workspace_root_get_owner (self->root, self->workspace, &uid, &gid);
  if (!self->enters_itself && !sandbox_owner_enter (&owner, uid, gid, error))
    return FALSE;
  if (self->run (self, answer, &failure))
    return TRUE;

  /* In a directory that has been removed nothing is ever found. */
  if (!g_error_matches (failure, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND) ||
      sandbox_workspace_check (self->workspace, error))
    g_propagate_error (error, g_steal_pointer (&failure));

  return FALSE;
}

/* The thread is itself again before anybody is told. Without a root that has been failed already. */
static gboolean
sandbox_workspace_job_work (SandboxWorkspaceJob *self,
                            gpointer            *answer,
                            GError             **error)
{
  gboolean done = FALSE;

  if (self->root == NULL)
    return FALSE;
  done = sandbox_workspace_job_work_as_owner (self, answer, error);
  sandbox_workspace_leave (self->workspace, g_steal_pointer (&self->root));

  return done;
}

/* @answer is taken. */
static void
sandbox_workspace_job_answer (SandboxWorkspaceJob *self,
                              gpointer             answer)
{
  if (answer == NULL)
    sandbox_request_return_done (self->request);
  else if (self->gives_object)
    {
      sandbox_request_return_object (self->request, answer);
      g_object_unref (answer);
    }
  else
    {
      sandbox_request_return_bytes (self->request, answer);
      g_bytes_unref (answer);
    }
}

static void
sandbox_workspace_job_pool_cb (gpointer data,
                               gpointer user_data)
{
  SandboxWorkspaceJob *self = data;
  gpointer             answer = NULL;
  g_autoptr (GError) error = NULL;
  gboolean done = FALSE;

  if (!sandbox_workspace_enter_or_queue (self->workspace, self, &self->root, &error))
    return;
  done = sandbox_workspace_job_work (self, &answer, &error);

  /* Before anybody is told, who may take the end of the call for the end of all that it holds. */
  g_clear_pointer (&self->bytes, g_bytes_unref);
  g_clear_object (&self->directory);
  g_clear_object (&self->workspace);
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->to, g_free);

  if (done)
    sandbox_workspace_job_answer (self, answer);
  else
    sandbox_request_return_error (self->request, error);
  g_object_unref (self->request);
  g_free (self);
}

void
sandbox_workspace_job_push (SandboxWorkspaceJob *self)
{
  sandbox_pool_push (self->pool, sandbox_workspace_job_pool_cb, self);
}

gboolean
sandbox_workspace_start (SandboxWorkspaceJob *job,
                         const char          *path,
                         const char          *to,
                         GError             **error)
{
  g_autofree char     *relative = sandbox_path_resolve (path, SANDBOX_WORKSPACE_PATH, error);
  g_autofree char     *relative_to = NULL;
  gpointer             answer = NULL;
  SandboxWorkspaceJob *queued = NULL;

  if (relative == NULL)
    return FALSE;
  if (to != NULL && (relative_to = sandbox_path_resolve (to, SANDBOX_WORKSPACE_PATH, error)) == NULL)
    return FALSE;

  job->path = relative;
  job->to = relative_to;
  job->end = g_get_monotonic_time () + sandbox_request_get_time_limit_ms (job->request) * G_TIME_SPAN_MILLISECOND;

  if (sandbox_request_may_block (job->request))
    {
      job->root = sandbox_workspace_enter (job->workspace, sandbox_workspace_job_check, job, error);
      if (!sandbox_workspace_job_work (job, &answer, error))
        return FALSE;
      sandbox_workspace_job_answer (job, answer);
      return TRUE;
    }

  queued = g_memdup2 (job, sizeof *job);
  queued->path = g_steal_pointer (&relative);
  queued->to = g_steal_pointer (&relative_to);
  g_object_ref (queued->workspace);
  g_object_ref (queued->request);
  if (queued->bytes != NULL)
    g_bytes_ref (queued->bytes);
  if (queued->directory != NULL)
    g_object_ref (queued->directory);
  sandbox_workspace_job_push (queued);

  return TRUE;
}
