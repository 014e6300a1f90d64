/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-registry-private.h"

#include "sandbox-backend-calls.h"
#include "sandbox-enums.h"
#include "sandbox-error.h"
#include "sandbox-sync-private.h"

/* A search: the candidates are made and probed one after the other. The steps stand last to first. */
typedef struct
{
  GPtrArray          *candidates; /* SandboxBackendInfo */
  guint               next;
  SandboxRestrictions required;
  char               *state_directory;
  SandboxBackend     *backend; /* the one that is being probed */
  GString            *reasons;
  gboolean            works; /* one makes sandboxes, though not of the kind that is required */
} SandboxSearch;

static void sandbox_registry_find_next (GTask *task);

static void
sandbox_search_free (gpointer data)
{
  SandboxSearch *search = data;

  g_clear_pointer (&search->candidates, g_ptr_array_unref);
  g_clear_object (&search->backend);
  g_free (search->state_directory);
  g_string_free (search->reasons, TRUE);
  g_free (search);
}

/* Why the candidate that was tried last is not the one. */
static void
sandbox_search_refuse (SandboxSearch *search,
                       const char    *reason)
{
  SandboxBackendInfo *info = g_ptr_array_index (search->candidates, search->next - 1);

  g_string_append_printf (search->reasons, "%s%s: %s",
                          search->reasons->len > 0 ? "; " : "", sandbox_backend_info_get_name (info), reason);
  g_clear_object (&search->backend);
}

static void
sandbox_search_refuse_for_lack (SandboxSearch      *search,
                                SandboxRestrictions lacking)
{
  g_autoptr (GFlagsClass) flags = g_type_class_ref (SANDBOX_TYPE_RESTRICTIONS);
  g_autoptr (GString) reason = g_string_new ("it does not enforce");

  for (guint i = 0; i < flags->n_values; i++)
    if (flags->values[i].value != 0 && (lacking & flags->values[i].value) == flags->values[i].value)
      g_string_append_printf (reason, " %s", flags->values[i].value_nick);

  search->works = TRUE;
  sandbox_search_refuse (search, reason->str);
}

static void
sandbox_registry_probed_cb (GObject      *object,
                            GAsyncResult *result,
                            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (SandboxReport) report = NULL;
  g_autoptr (GError) error = NULL;
  SandboxSearch      *search = g_task_get_task_data (task);
  SandboxRestrictions lacking;
  const char         *reason = NULL;

  report = sandbox_backend_probe_finish (SANDBOX_BACKEND (object), result, &error);
  if (g_task_return_error_if_cancelled (task))
    return;

  if (report == NULL)
    sandbox_search_refuse (search, error->message);
  else if (sandbox_report_get_grade (report) == SANDBOX_GRADE_UNAVAILABLE)
    {
      reason = sandbox_report_get_reason (report);
      sandbox_search_refuse (search, reason != NULL ? reason : "no sandbox can be made here");
    }
  else if ((lacking = search->required & ~sandbox_report_get_restrictions (report)) != 0)
    sandbox_search_refuse_for_lack (search, lacking);
  else
    {
      g_task_return_pointer (task, g_steal_pointer (&search->backend), g_object_unref);
      return;
    }

  sandbox_registry_find_next (task);
}

static void
sandbox_registry_find_next (GTask *task)
{
  SandboxRegistry *self = g_task_get_source_object (task);
  SandboxSearch   *search = g_task_get_task_data (task);

  while (search->next < search->candidates->len)
    {
      g_autoptr (GError) error = NULL;

      search->backend = sandbox_registry_make (self, g_ptr_array_index (search->candidates, search->next++),
                                               search->state_directory, &error);
      if (search->backend != NULL)
        {
          sandbox_backend_probe_async (search->backend, NULL, g_task_get_cancellable (task),
                                       sandbox_registry_probed_cb, g_object_ref (task));
          return;
        }

      sandbox_search_refuse (search, error->message);
    }

  g_task_return_new_error (task, SANDBOX_ERROR,
                           search->works ? SANDBOX_ERROR_NOT_SUPPORTED : SANDBOX_ERROR_UNAVAILABLE,
                           "No backend does what is required here: %s", search->reasons->str);
}

/**
 * sandbox_registry_find_backend_async:
 * @self: a registry
 * @required: what the sandbox has to keep from its commands
 * @state_directory: (nullable) (type filename): see [method@Sandbox.Registry.create_backend]
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async) (closure user_data): called with the backend
 * @user_data: data for @callback
 *
 * Finds a backend that works on this host and enforces what is required, by probing.
 *
 * They are tried by priority, without those below 0; if the environment variable `SANDBOX_BACKEND` names one, it is
 * the only one that is tried.
 *
 * Fails with %SANDBOX_ERROR_NOT_FOUND when there is none to try, with %SANDBOX_ERROR_UNAVAILABLE when none works
 * here, and with %SANDBOX_ERROR_NOT_SUPPORTED when some work, but do not enforce what is required. The message
 * tells what was wrong with each.
 *
 * Since: 1.0
 */
void
sandbox_registry_find_backend_async (SandboxRegistry    *self,
                                     SandboxRestrictions required,
                                     const char         *state_directory,
                                     GCancellable       *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer            user_data)
{
  g_autoptr (GTask) task = NULL;
  SandboxSearch *search = NULL;
  GError        *error = NULL;

  g_return_if_fail (SANDBOX_IS_REGISTRY (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, sandbox_registry_find_backend_async);
  if (g_task_return_error_if_cancelled (task))
    return;

  search = g_new0 (SandboxSearch, 1);
  search->required = required;
  search->state_directory = g_strdup (state_directory);
  search->reasons = g_string_new (NULL);
  g_task_set_task_data (task, search, sandbox_search_free);

  search->candidates = sandbox_registry_check_own (self, &error) ? sandbox_registry_dup_candidates (self, &error) : NULL;
  if (search->candidates == NULL)
    g_task_return_error (task, error);
  else
    sandbox_registry_find_next (task);
}

/**
 * sandbox_registry_find_backend_finish:
 * @self: a registry
 * @result: the result
 * @error: return location for an error
 *
 * Finishes [method@Sandbox.Registry.find_backend_async].
 *
 * Returns: (transfer full): the backend
 *
 * Since: 1.0
 */
SandboxBackend *
sandbox_registry_find_backend_finish (SandboxRegistry *self,
                                      GAsyncResult    *result,
                                      GError         **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, sandbox_registry_find_backend_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * sandbox_registry_find_backend:
 * @self: a registry
 * @required: what the sandbox has to keep from its commands
 * @state_directory: (nullable) (type filename): see [method@Sandbox.Registry.create_backend]
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Finds a backend that works on this host. See [method@Sandbox.Registry.find_backend_async].
 *
 * Returns: (transfer full): the backend
 *
 * Since: 1.0
 */
SandboxBackend *
sandbox_registry_find_backend (SandboxRegistry    *self,
                               SandboxRestrictions required,
                               const char         *state_directory,
                               GCancellable       *cancellable,
                               GError            **error)
{
  g_auto (SandboxSync) sync = SANDBOX_SYNC_INIT;

  g_return_val_if_fail (SANDBOX_IS_REGISTRY (self), NULL);

  sandbox_sync_begin (&sync, NULL);
  sandbox_registry_find_backend_async (self, required, state_directory, cancellable, sandbox_sync_cb, &sync);

  return sandbox_registry_find_backend_finish (self, sandbox_sync_wait (&sync), error);
}
