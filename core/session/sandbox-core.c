/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-core-private.h"

#include "sandbox-backend-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-gateway-relay-private.h"
#include "sandbox-network-policy-private.h"
#include "sandbox-network-private.h"
#include "sandbox-process-private.h"
#include "sandbox-random-private.h"
#include "sandbox-request-private.h"
#include "sandbox-session-private.h"
#include "sandbox-worker-private.h"
#include "sandbox-workspace-path.h"

#define SESSION_ID_BYTES 32
#define MAX_FILE_BYTES_DEFAULT 1048576

typedef enum
{
  CORE_LIVE,
  CORE_STOPPING,
  CORE_STOPPED,
  CORE_DELETED,
} SandboxCoreState;

struct _SandboxCore
{
  gatomicrefcount ref_count;
  guint           generation;

  char               *id;
  SandboxDriver      *driver;
  SandboxBackend     *backend;
  SandboxAdmission   *admission;
  SandboxDispatcher  *dispatcher;
  SandboxLimits      *limits;
  SandboxRestrictions required;
  guint64             max_file_bytes;
  char               *workspace_target;
  SandboxKeptSession *kept;

  GMutex           lock; /* guards what follows */
  SandboxCoreState state;
  guint            admitted;
  gboolean         changing;
  GCancellable    *change; /* of what is changing */
  GPtrArray       *processes;
  GPtrArray       *stop_waiters; /* SandboxStopWaiter */
  GError          *stop_error;   /* what became of the one stop */
  gboolean         deleting;
  GPtrArray       *delete_waiters; /* GTask */
  SandboxIdleFunc  idle_func;
  gpointer         idle_data;
  GSource         *idle_limit;

  SandboxSession       *session; /* no reference */
  SandboxNetworkPolicy *policy;  /* in force; NULL: deny all */
  const char           *gateway_path;
  SandboxGateway       *gateway;
  SandboxGatewayRelay  *relay;
  gboolean              gateway_lost;
};

typedef struct
{
  SandboxStopFunc func;
  gpointer        data;
} SandboxStopWaiter;

struct _SandboxTicket
{
  SandboxCore *core;
};

static char *
sandbox_core_make_id (void)
{
  char *id = g_malloc (2 * SESSION_ID_BYTES + 1);

  /* It never blocks or stops short once the kernel's pool is filled, which it is by now. */
  if (!sandbox_random_fill_digits (id, SESSION_ID_BYTES))
    g_error ("The kernel gives no random numbers");

  return id;
}

SandboxCore *
sandbox_core_new (SandboxDriver        *driver,
                  SandboxBackend       *backend,
                  SandboxCreateOptions *options,
                  SandboxKeptSession   *kept,
                  SandboxDispatcher    *dispatcher)
{
  SandboxCore    *self = g_new0 (SandboxCore, 1);
  SandboxProfile *profile = options != NULL ? sandbox_create_options_get_profile (options) : NULL;
  SandboxLimits  *limits = profile != NULL ? sandbox_profile_get_limits (profile) : NULL;

  g_atomic_ref_count_init (&self->ref_count);
  self->generation = sandbox_fork_get_generation ();
  g_mutex_init (&self->lock);
  self->id = kept != NULL ? g_strdup (sandbox_state_get_session_id (sandbox_kept_session_get_state (kept)))
                          : sandbox_core_make_id ();
  self->kept = kept;
  self->driver = g_object_ref (driver);
  self->dispatcher = sandbox_dispatcher_ref (dispatcher);
  self->max_file_bytes = options != NULL ? sandbox_create_options_get_max_file_bytes (options)
                                         : MAX_FILE_BYTES_DEFAULT;
  self->workspace_target = g_strdup (profile != NULL ? sandbox_profile_get_workspace_target (profile)
                                                     : SANDBOX_WORKSPACE_PATH);
  self->required = (options != NULL ? sandbox_create_options_get_required (options) : SANDBOX_RESTRICTIONS_NONE) |
                   (profile != NULL ? sandbox_profile_get_required (profile) : SANDBOX_RESTRICTIONS_NONE);
  self->policy = options != NULL && sandbox_create_options_get_network (options) != NULL
                     ? sandbox_network_policy_freeze (sandbox_create_options_get_network (options))
                     : NULL;
  g_set_object (&self->limits, limits);
  g_set_object (&self->backend, backend);
  self->admission = backend != NULL ? sandbox_admission_ref (sandbox_backend_get_admission (backend))
                                    : sandbox_admission_new ();
  self->processes = g_ptr_array_new_with_free_func (g_object_unref);
  self->stop_waiters = g_ptr_array_new_with_free_func (g_free);
  self->delete_waiters = g_ptr_array_new ();

  return self;
}

SandboxCore *
sandbox_core_ref (SandboxCore *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

static void
sandbox_core_gateway_closed (gpointer      user_data,
                             gpointer      answer,
                             const GError *error)
{
  if (error != NULL)
    g_debug ("A gateway was not closed: %s", error->message);
  g_object_unref (user_data);
}

/* Nobody waits for it. @gateway and @relay are taken. */
static void
sandbox_core_close_gateway (SandboxGateway      *gateway,
                            SandboxGatewayRelay *relay)
{
  g_autoptr (SandboxRequest) request = NULL;
  GError  *error = NULL;
  gboolean taken = FALSE;

  sandbox_gateway_relay_close (relay);
  sandbox_gateway_relay_unref (relay);
  request = sandbox_request_new_internal (G_TYPE_NONE, NULL, sandbox_core_gateway_closed, gateway);
  taken = SANDBOX_GATEWAY_GET_IFACE (gateway)->close (gateway, request, &error);
  sandbox_request_dispatched (request, taken, error);
}

/* With the last reference. In a forked child the gateway's thread is not there, and it is left alone. */
static void
sandbox_core_release_gateway (SandboxCore *self)
{
  if (sandbox_fork_is_past (self->generation))
    return;

  if (self->gateway != NULL)
    {
      sandbox_core_close_gateway (g_steal_pointer (&self->gateway), g_steal_pointer (&self->relay));
      return;
    }

  /* One that the stop has closed */
  if (self->relay != NULL)
    sandbox_gateway_relay_close (self->relay);
  g_clear_pointer (&self->relay, sandbox_gateway_relay_unref);
}

void
sandbox_core_unref (SandboxCore *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_clear_pointer (&self->processes, g_ptr_array_unref);
  g_clear_pointer (&self->stop_waiters, g_ptr_array_unref);
  g_clear_pointer (&self->delete_waiters, g_ptr_array_unref);
  g_clear_error (&self->stop_error);
  g_clear_object (&self->driver);
  sandbox_core_release_gateway (self);
  g_clear_object (&self->policy);
  g_clear_object (&self->change);
  g_clear_pointer (&self->kept, sandbox_kept_session_free); /* after what may work in there */
  g_clear_object (&self->backend);
  g_clear_object (&self->limits);
  g_clear_pointer (&self->admission, sandbox_admission_unref);
  g_clear_pointer (&self->dispatcher, sandbox_dispatcher_unref);
  g_clear_pointer (&self->workspace_target, g_free);
  g_clear_pointer (&self->id, g_free);
  g_mutex_clear (&self->lock);
  g_free (self);
}

const char *
sandbox_core_get_id (SandboxCore *self)
{
  return self->id;
}

SandboxDriver *
sandbox_core_get_driver (SandboxCore *self)
{
  return self->driver;
}

SandboxBackend *
sandbox_core_get_backend (SandboxCore *self)
{
  return self->backend;
}

SandboxDispatcher *
sandbox_core_get_dispatcher (SandboxCore *self)
{
  return self->dispatcher;
}

guint64
sandbox_core_get_max_file_bytes (SandboxCore *self)
{
  return self->max_file_bytes;
}

const char *
sandbox_core_get_workspace_target (SandboxCore *self)
{
  return self->workspace_target;
}

SandboxLimits *
sandbox_core_get_limits (SandboxCore *self)
{
  return self->limits;
}

SandboxKeptSession *
sandbox_core_get_kept (SandboxCore *self)
{
  return self->kept;
}

gboolean
sandbox_core_check_policy (SandboxCore          *self,
                           SandboxNetworkPolicy *policy,
                           GError              **error)
{
  if ((self->required & SANDBOX_RESTRICTIONS_NETWORK_DENIED) == 0 ||
      (sandbox_network_policy_get_mode (policy) != SANDBOX_NETWORK_MODE_ALLOW_ALL &&
       !sandbox_network_policy_lists_origins (policy)))
    return TRUE;

  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
                       "The session was created with network-denied required, and this policy lets something through");

  return FALSE;
}

/* Before any lock is taken: in a forked child somebody who is not there may have it. */
gboolean
sandbox_core_check_own (SandboxCore *self,
                        GError     **error)
{
  return sandbox_fork_check (self->generation, "session", error);
}

static gboolean
sandbox_core_check_live_locked (SandboxCore *self,
                                GError     **error)
{
  if (self->state == CORE_LIVE)
    return TRUE;

  g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The session has been stopped");

  return FALSE;
}

gboolean
sandbox_core_check_live (SandboxCore *self,
                         GError     **error)
{
  gboolean live = FALSE;

  if (!sandbox_core_check_own (self, error))
    return FALSE;

  g_mutex_lock (&self->lock);
  live = sandbox_core_check_live_locked (self, error);
  g_mutex_unlock (&self->lock);

  return live;
}

SandboxTicket *
sandbox_core_admit (SandboxCore *self,
                    GError     **error)
{
  SandboxTicket *ticket = NULL;

  g_mutex_lock (&self->lock);
  if (sandbox_core_check_live_locked (self, error))
    {
      if (self->changing)
        g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY,
                             "The network policy is being changed");
      else if (sandbox_admission_take (self->admission, error))
        {
          ticket = g_new (SandboxTicket, 1);
          ticket->core = sandbox_core_ref (self);
          self->admitted++;
        }
    }
  g_mutex_unlock (&self->lock);

  return ticket;
}

/* Answers who waits for the session to be idle. */
static void
sandbox_core_answer_idle (SandboxCore *self,
                          gboolean     anyway)
{
  g_autoptr (GSource) limit = NULL;
  SandboxIdleFunc func = NULL;
  gboolean        idle = FALSE;

  g_mutex_lock (&self->lock);
  idle = self->admitted == 0 && !self->changing;
  if (idle || anyway)
    {
      func = g_steal_pointer (&self->idle_func);
      limit = g_steal_pointer (&self->idle_limit);
    }
  g_mutex_unlock (&self->lock);

  if (limit != NULL)
    g_source_destroy (limit);
  if (func != NULL)
    func (self->idle_data, idle);
}

static gboolean
sandbox_core_answer_idle_cb (gpointer user_data)
{
  sandbox_core_answer_idle (user_data, FALSE);

  return G_SOURCE_REMOVE;
}

/* On the worker: a garbage collector may be freeing what was waited for, below which nobody can be answered. */
static void
sandbox_core_tell_idle (SandboxCore *self)
{
  if (!sandbox_fork_is_past (self->generation))
    sandbox_worker_invoke (sandbox_core_answer_idle_cb, sandbox_core_ref (self),
                           (GDestroyNotify) sandbox_core_unref);
}

void
sandbox_ticket_free (gpointer data)
{
  SandboxTicket *ticket = data;
  g_autoptr (SandboxCore) core = ticket->core;
  gboolean waited_for = FALSE;

  g_free (ticket);
  sandbox_admission_give (core->admission);
  g_mutex_lock (&core->lock);
  core->admitted--;
  waited_for = core->idle_func != NULL;
  g_mutex_unlock (&core->lock);

  if (waited_for)
    sandbox_core_tell_idle (core);
}

typedef struct
{
  SandboxCore    *core;
  SandboxProcess *process; /* not a reference: this is freed by it */
} SandboxListed;

static void
sandbox_core_forget_process (gpointer data)
{
  g_autofree SandboxListed *listed = data;
  g_autoptr (SandboxCore) core = listed->core;
  g_autoptr (SandboxProcess) process = NULL;
  guint index = 0;

  /* The last reference must not go under the lock. */
  g_mutex_lock (&core->lock);
  if (g_ptr_array_find (core->processes, listed->process, &index))
    process = g_ptr_array_steal_index_fast (core->processes, index);
  g_mutex_unlock (&core->lock);
}

gboolean
sandbox_core_add_process (SandboxCore    *self,
                          SandboxProcess *process)
{
  SandboxListed *listed = g_new (SandboxListed, 1);
  gboolean       live = FALSE;

  listed->core = sandbox_core_ref (self);
  listed->process = process;

  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->processes, g_object_ref (process));
  live = self->state == CORE_LIVE;
  g_mutex_unlock (&self->lock);

  sandbox_process_keep (process, listed, sandbox_core_forget_process);

  return live;
}

GPtrArray *
sandbox_core_dup_processes (SandboxCore *self)
{
  GPtrArray *processes = g_ptr_array_new_with_free_func (g_object_unref);

  if (!sandbox_core_check_own (self, NULL))
    return processes;

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->processes->len; i++)
    g_ptr_array_add (processes, g_object_ref (self->processes->pdata[i]));
  g_mutex_unlock (&self->lock);

  return processes;
}

void
sandbox_core_invoke_for_driver (SandboxCore   *self,
                                GMainContext  *context,
                                GSourceFunc    func,
                                gpointer       data,
                                GDestroyNotify notify)
{
  if (SANDBOX_DRIVER_GET_IFACE (self->driver)->thread_safe)
    sandbox_worker_invoke (func, data, notify);
  else
    sandbox_dispatcher_invoke_in (self->dispatcher, context, func, data, notify);
}

gboolean
sandbox_core_begin_change (SandboxCore  *self,
                           GCancellable *cancellable,
                           GError      **error)
{
  gboolean begun = FALSE;

  if (!sandbox_core_check_own (self, error))
    return FALSE;

  g_mutex_lock (&self->lock);
  if (sandbox_core_check_live_locked (self, error))
    {
      begun = self->admitted == 0 && !self->changing;
      if (begun)
        {
          self->changing = TRUE;
          self->change = g_object_ref (cancellable);
        }
      else
        g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY,
                             self->changing ? "The network policy is being changed"
                                            : "The network policy cannot change while commands are alive");
    }
  g_mutex_unlock (&self->lock);

  return begun;
}

void
sandbox_core_end_change (SandboxCore *self)
{
  g_autoptr (GCancellable) change = NULL;
  gboolean waited_for = FALSE;

  g_mutex_lock (&self->lock);
  self->changing = FALSE;
  change = g_steal_pointer (&self->change);
  waited_for = self->idle_func != NULL;
  g_mutex_unlock (&self->lock);

  if (waited_for)
    sandbox_core_tell_idle (self);
}

SandboxNetworkPolicy *
sandbox_core_dup_policy (SandboxCore *self)
{
  SandboxNetworkPolicy *policy = NULL;

  g_mutex_lock (&self->lock);
  g_set_object (&policy, self->policy);
  g_mutex_unlock (&self->lock);

  return policy;
}

static gboolean
sandbox_core_notify_path_cb (gpointer user_data)
{
  sandbox_session_notify_gateway_path (user_data);

  return G_SOURCE_REMOVE;
}

void
sandbox_core_set_policy (SandboxCore          *self,
                         SandboxNetworkPolicy *policy)
{
  g_autoptr (SandboxNetworkPolicy) old = NULL;
  g_autoptr (SandboxSession) told = NULL;
  const char *path = NULL;

  g_mutex_lock (&self->lock);
  old = self->policy;
  self->policy = g_object_ref (policy);
  path = self->gateway != NULL && sandbox_network_policy_lists_origins (policy) ? SANDBOX_GATEWAY_PATH : NULL;
  if (path != self->gateway_path)
    g_set_object (&told, self->session);
  self->gateway_path = path;
  g_mutex_unlock (&self->lock);

  if (told != NULL)
    sandbox_dispatcher_invoke (self->dispatcher, sandbox_core_notify_path_cb, g_steal_pointer (&told), g_object_unref);
}

const char *
sandbox_core_get_gateway_path (SandboxCore *self)
{
  const char *path = NULL;

  if (!sandbox_core_check_own (self, NULL))
    return NULL;

  g_mutex_lock (&self->lock);
  path = self->gateway_path;
  g_mutex_unlock (&self->lock);

  return path;
}

const char *const *
sandbox_core_get_proxy_variables (SandboxCore *self)
{
  gboolean proxied = FALSE;

  g_mutex_lock (&self->lock);
  proxied = self->gateway_path != NULL && sandbox_network_policy_get_loopback_door (self->policy);
  g_mutex_unlock (&self->lock);

  return proxied ? sandbox_network_proxy_variables : NULL;
}

SandboxGateway *
sandbox_core_dup_gateway (SandboxCore *self)
{
  SandboxGateway *gateway = NULL;

  g_mutex_lock (&self->lock);
  g_set_object (&gateway, self->gateway);
  g_mutex_unlock (&self->lock);

  return gateway;
}

gboolean
sandbox_core_take_gateway (SandboxCore    *self,
                           SandboxGateway *gateway,
                           GError        **error)
{
  SandboxGatewayRelay *relay = sandbox_gateway_relay_new (gateway, self->dispatcher);
  gboolean             taken = FALSE;

  sandbox_gateway_relay_set_backend (relay, self->backend);

  g_mutex_lock (&self->lock);
  if (sandbox_core_check_live_locked (self, error))
    {
      taken = !self->gateway_lost;
      if (!taken)
        g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED,
                             "The gateway of the session has failed; no origin can be reached in it any more");
    }
  if (taken)
    {
      sandbox_gateway_relay_set_session (relay, self->session);
      self->gateway = g_object_ref (gateway);
      self->relay = g_steal_pointer (&relay);
    }
  g_mutex_unlock (&self->lock);

  if (!taken)
    sandbox_core_close_gateway (g_object_ref (gateway), relay);

  return taken;
}

void
sandbox_core_drop_gateway (SandboxCore *self,
                           gboolean     for_ever)
{
  SandboxGateway      *gateway = NULL;
  SandboxGatewayRelay *relay = NULL;

  g_mutex_lock (&self->lock);
  gateway = g_steal_pointer (&self->gateway);
  if (gateway != NULL)
    relay = g_steal_pointer (&self->relay);
  if (for_ever)
    self->gateway_lost = TRUE;
  g_mutex_unlock (&self->lock);

  if (gateway != NULL)
    sandbox_core_close_gateway (gateway, relay);
}

SandboxGateway *
sandbox_core_steal_gateway (SandboxCore *self)
{
  SandboxGateway *gateway = NULL;

  g_mutex_lock (&self->lock);
  gateway = g_steal_pointer (&self->gateway);
  g_mutex_unlock (&self->lock);

  return gateway;
}

void
sandbox_core_set_session (SandboxCore    *self,
                          SandboxSession *session)
{
  if (!sandbox_core_check_own (self, NULL))
    return;

  g_mutex_lock (&self->lock);
  self->session = session;
  if (self->relay != NULL)
    sandbox_gateway_relay_set_session (self->relay, session);
  g_mutex_unlock (&self->lock);
}

typedef struct
{
  GTask  *task;
  GError *error;
} SandboxAnswer;

static gboolean
sandbox_core_answer_cb (gpointer user_data)
{
  SandboxAnswer *answer = user_data;

  if (answer->error != NULL)
    g_task_return_error (answer->task, g_steal_pointer (&answer->error));
  else
    g_task_return_boolean (answer->task, TRUE);

  return G_SOURCE_REMOVE;
}

static void
sandbox_core_answer_free (gpointer data)
{
  SandboxAnswer *answer = data;

  g_object_unref (answer->task);
  g_clear_error (&answer->error);
  g_free (answer);
}

void
sandbox_core_answer_task (GTask        *task,
                          const GError *error)
{
  g_autoptr (GMainContext) context = g_main_context_ref (g_task_get_context (task));
  g_autoptr (GSource) source = g_idle_source_new ();
  SandboxAnswer *answer = g_new (SandboxAnswer, 1);

  answer->task = task;
  answer->error = error != NULL ? g_error_copy (error) : NULL;
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, sandbox_core_answer_cb, answer, sandbox_core_answer_free);
  g_source_attach (source, context);
}

gboolean
sandbox_core_begin_stop (SandboxCore    *self,
                         SandboxStopFunc func,
                         gpointer        user_data)
{
  g_autoptr (GCancellable) change = NULL;
  g_autoptr (GError) error = NULL;
  SandboxStopWaiter *waiter = NULL;
  gboolean           begun = FALSE;
  gboolean           stopped = FALSE;

  if (!sandbox_core_check_own (self, &error))
    {
      func (user_data, error);
      return FALSE;
    }

  g_mutex_lock (&self->lock);
  begun = self->state == CORE_LIVE;
  stopped = self->state >= CORE_STOPPED;
  if (begun)
    {
      self->state = CORE_STOPPING;
      g_set_object (&change, self->change);
    }
  if (!stopped)
    {
      waiter = g_new (SandboxStopWaiter, 1);
      waiter->func = func;
      waiter->data = user_data;
      g_ptr_array_add (self->stop_waiters, waiter);
    }
  g_mutex_unlock (&self->lock);

  if (change != NULL)
    g_cancellable_cancel (change);
  if (stopped)
    func (user_data, self->stop_error); /* which is set once */

  return begun;
}

void
sandbox_core_set_stopped (SandboxCore *self,
                          GError      *error)
{
  g_autoptr (GPtrArray) waiters = NULL;
  g_autoptr (GError) told = error != NULL ? g_error_copy (error) : NULL;

  g_mutex_lock (&self->lock);
  self->state = CORE_STOPPED;
  self->stop_error = error;
  waiters = g_steal_pointer (&self->stop_waiters);
  self->stop_waiters = g_ptr_array_new_with_free_func (g_free);
  g_mutex_unlock (&self->lock);

  /* Who waits has it too, and the last reference goes in their threads. */
  sandbox_core_unref (self);
  for (guint i = 0; i < waiters->len; i++)
    {
      SandboxStopWaiter *waiter = waiters->pdata[i];

      waiter->func (waiter->data, told);
    }
}

gboolean
sandbox_core_begin_delete (SandboxCore *self,
                           GTask       *task)
{
  gboolean begun = FALSE;
  gboolean deleted = FALSE;
  GError  *error = NULL;

  if (!sandbox_core_check_own (self, &error))
    {
      g_task_return_error (task, error);
      return FALSE;
    }

  g_mutex_lock (&self->lock);
  deleted = self->state == CORE_DELETED;
  begun = !deleted && !self->deleting;
  if (begun)
    self->deleting = TRUE;
  else if (!deleted)
    g_ptr_array_add (self->delete_waiters, g_object_ref (task));
  g_mutex_unlock (&self->lock);

  if (deleted)
    g_task_return_boolean (task, TRUE);

  return begun;
}

void
sandbox_core_end_delete (SandboxCore *self,
                         GTask       *task,
                         GError      *error)
{
  g_autoptr (GPtrArray) waiters = NULL;

  g_mutex_lock (&self->lock);
  self->deleting = FALSE;
  if (error == NULL)
    self->state = CORE_DELETED;
  waiters = g_steal_pointer (&self->delete_waiters);
  self->delete_waiters = g_ptr_array_new ();
  g_mutex_unlock (&self->lock);

  sandbox_core_answer_task (task, error);
  for (guint i = 0; i < waiters->len; i++)
    sandbox_core_answer_task (waiters->pdata[i], error);
  g_clear_error (&error);
}

gboolean
sandbox_core_is_deleting (SandboxCore *self)
{
  gboolean deleting = FALSE;

  g_mutex_lock (&self->lock);
  deleting = self->deleting;
  g_mutex_unlock (&self->lock);

  return deleting;
}

SandboxPhase
sandbox_core_get_phase (SandboxCore *self)
{
  SandboxPhase phase = SANDBOX_PHASE_LIVE;

  if (!sandbox_core_check_own (self, NULL))
    return SANDBOX_PHASE_STOPPED;

  g_mutex_lock (&self->lock);
  if (self->state == CORE_STOPPED)
    phase = SANDBOX_PHASE_STOPPED;
  else if (self->state == CORE_DELETED)
    phase = SANDBOX_PHASE_DELETED;
  g_mutex_unlock (&self->lock);

  return phase;
}

static gboolean
sandbox_core_idle_limit_cb (gpointer user_data)
{
  sandbox_core_answer_idle (user_data, TRUE);

  return G_SOURCE_REMOVE;
}

void
sandbox_core_wait_idle (SandboxCore    *self,
                        SandboxIdleFunc func,
                        gpointer        user_data,
                        guint           limit_ms)
{
  g_mutex_lock (&self->lock);
  g_assert (self->idle_func == NULL);
  self->idle_func = func;
  self->idle_data = user_data;
  self->idle_limit = g_timeout_source_new (limit_ms);
  g_source_set_callback (self->idle_limit, sandbox_core_idle_limit_cb,
                         sandbox_core_ref (self), (GDestroyNotify) sandbox_core_unref);
  g_source_attach (self->idle_limit, sandbox_get_worker_context ());
  g_mutex_unlock (&self->lock);

  sandbox_core_answer_idle (self, FALSE);
}
