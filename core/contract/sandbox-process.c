/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-process-private.h"

#include "sandbox-capture-private.h"
#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-push-stream-private.h"
#include "sandbox-result-private.h"
#include "sandbox-worker-private.h"

#include <gio/gfiledescriptorbased.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib-unix.h>
#include <signal.h>
#include <sys/wait.h>

/**
 * SandboxProcess:
 *
 * A command that runs in a sandbox.
 *
 * Three ends are kept apart: the command has *exited* (its status is known), its output is *drained*
 * (both streams have ended), everything that it started is *gone*. [method@Sandbox.Process.wait]
 * and [property@Sandbox.Process:result] speak of the last of them.
 *
 * Nothing is said of an end but what the kernel said; where that is unknown, the outcome is
 * %SANDBOX_OUTCOME_LOST.
 *
 * Hosts get processes from [method@Sandbox.Session.spawn]. Drivers derive a class, implement
 * [vfunc@Sandbox.Process.kill] and, where they can, [vfunc@Sandbox.Process.send_signal], hand over the
 * streams with [method@Sandbox.Process.set_streams] or push the output, and report the ends with
 * [method@Sandbox.Process.set_exited] and [method@Sandbox.Process.set_gone], from any thread.
 *
 * Since: 1.0
 */

/* A stream that something else still holds open is closed so long after everything is gone; later when the
 * machine is too busy to read what there is, but not for ever: who holds it may also write. */
#define DRAIN_AFTER_GONE_MS 250
#define DRAIN_LIMIT_MS 5000
/* What the command has left behind is killed so long after its own end. */
#define KILL_AFTER_EXIT_MS 250
/* A driver that cannot prove the end so long after a kill does not keep the caller waiting; what the
 * command holds (its admission) stays taken until it can. */
#define GIVE_UP_AFTER_KILL_MS 5000

/* Order of ends: exited, gone; `lost` stands for an exit that nobody saw. Set under the lock, by
 * any thread; timers are sources of the worker and hold a reference. */
typedef struct
{
  char *id;
  guint generation;

  GMutex         lock; /* guards what follows */
  GOutputStream *input;
  GInputStream  *output;
  GInputStream  *errors;
  int            pipes[2]; /* which are no streams yet; or -1 */
  gboolean       has_streams;
  gboolean       pushes;

  SandboxCommand    *command;
  SandboxDispatcher *dispatcher;
  gboolean           thread_safe;

  gboolean       exited;
  gboolean       gone;
  gboolean       released; /* gone, and what was kept until then is free */
  gboolean       given_up;
  int            wait_status;
  guint64        user_time_us;
  guint64        system_time_us;
  guint64        peak_memory_bytes;
  gint64         started_us; /* monotonic */
  gint64         ended_us;
  gboolean       has_reason;
  SandboxOutcome reason;
  guint64        limit_value;
  guint64        limit_peak;

  SandboxCapture *capture;
  gboolean        drained;
  SandboxResult  *result;
  gboolean        result_current; /* nothing has happened since it was made */
  GSList         *old_results;    /* handed out without a reference, so they stay */

  GSource   *deadline;
  GSource   *grace;
  GSource   *settle;
  GSource   *give_up;
  GSource   *drain;
  GSource   *drain_limit;
  GPtrArray *waiters; /* SandboxWaiter */

  GSList *kept; /* SandboxKept */
} SandboxProcessPrivate;

typedef struct
{
  gpointer       data;
  GDestroyNotify notify;
} SandboxKept;

typedef struct
{
  GTask   *task;
  GSource *watch;
  gboolean collects;
} SandboxWaiter;

/* What a waiter's cancellation needs; the waiter itself may be answered at any time. */
typedef struct
{
  SandboxProcess *process;
  GTask          *task;
} SandboxWatch;

typedef enum
{
  PROP_ID = 1,
  PROP_STDIN,
  PROP_STDOUT,
  PROP_STDERR,
  PROP_RESULT,
} SandboxProcessProps;

static GParamSpec *properties[PROP_RESULT + 1];

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (SandboxProcess, sandbox_process, G_TYPE_OBJECT)

static void
sandbox_waiter_free (gpointer data)
{
  SandboxWaiter *waiter = data;

  if (waiter->watch != NULL)
    {
      g_source_destroy (waiter->watch);
      g_source_unref (waiter->watch);
    }
  g_clear_object (&waiter->task);
  g_free (waiter);
}

static void
sandbox_kept_free (gpointer data)
{
  SandboxKept *kept = data;

  kept->notify (kept->data);
  g_free (kept);
}

static void
sandbox_watch_free (gpointer data)
{
  SandboxWatch *watch = data;

  g_object_unref (watch->task);
  g_object_unref (watch->process);
  g_free (watch);
}

/* A timer of the worker; it keeps the process alive until it is cleared. */
static void
sandbox_process_arm_locked (SandboxProcess *self,
                            GSource       **source,
                            guint           ms,
                            GSourceFunc     func)
{
  if (*source != NULL)
    return;

  *source = g_timeout_source_new (ms);
  g_source_set_callback (*source, func, g_object_ref (self), g_object_unref);
  g_source_attach (*source, sandbox_get_worker_context ());
}

static void
sandbox_process_add_source_locked (GPtrArray *sources,
                                   GSource  **source)
{
  if (*source != NULL)
    g_ptr_array_add (sources, g_steal_pointer (source));
}

static void
sandbox_process_free_source (gpointer data)
{
  g_source_destroy (data);
  g_source_unref (data);
}

/* The limit that ended the command: what its driver told, or what the library itself holds it to. */
static guint64
sandbox_process_get_limit_locked (SandboxProcessPrivate *priv)
{
  if (priv->limit_value > 0 || !priv->has_reason || priv->command == NULL)
    return priv->limit_value;

  if (priv->reason == SANDBOX_OUTCOME_TIMED_OUT)
    return sandbox_command_get_timeout_ms (priv->command);

  return priv->reason == SANDBOX_OUTCOME_OUTPUT_LIMIT ? sandbox_command_get_max_output (priv->command) : 0;
}

static SandboxResult *
sandbox_process_build_result_locked (SandboxProcessPrivate *priv)
{
  SandboxResultFields fields = {
    .outcome = priv->has_reason ? priv->reason : priv->exited ? SANDBOX_OUTCOME_EXITED
                                                              : SANDBOX_OUTCOME_LOST,
    .wait_status = priv->exited ? priv->wait_status : -1,
    .wall_time_us = priv->ended_us - priv->started_us,
    .user_time_us = priv->user_time_us,
    .system_time_us = priv->system_time_us,
    .peak_memory_bytes = priv->peak_memory_bytes,
    .limit_value = sandbox_process_get_limit_locked (priv),
    .limit_peak = priv->limit_peak,
  };

  if (priv->capture != NULL)
    {
      fields.output = sandbox_capture_get_output (priv->capture);
      fields.errors = sandbox_capture_get_errors (priv->capture);
      fields.omitted_bytes = sandbox_capture_get_omitted (priv->capture);
      fields.truncated = fields.omitted_bytes > 0;
    }

  return sandbox_result_new (&fields);
}

/* Answers everybody who waits, once there is nothing left to wait for. */
static void
sandbox_process_check_finished (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  g_autoptr (GPtrArray) waiters = NULL;
  g_autoptr (GPtrArray) sources = g_ptr_array_new_with_free_func (sandbox_process_free_source);
  g_autoptr (SandboxResult) result = NULL;

  g_mutex_lock (&priv->lock);
  if (!(priv->released || priv->given_up) || (priv->capture != NULL && !priv->drained))
    {
      g_mutex_unlock (&priv->lock);
      return;
    }
  if (!priv->result_current)
    {
      if (priv->result != NULL)
        priv->old_results = g_slist_prepend (priv->old_results, priv->result);
      priv->result = sandbox_process_build_result_locked (priv);
      priv->result_current = TRUE;
    }
  result = g_object_ref (priv->result);
  waiters = g_steal_pointer (&priv->waiters);
  priv->waiters = g_ptr_array_new_with_free_func (sandbox_waiter_free);
  sandbox_process_add_source_locked (sources, &priv->drain);
  sandbox_process_add_source_locked (sources, &priv->drain_limit);
  sandbox_process_add_source_locked (sources, &priv->give_up);
  g_mutex_unlock (&priv->lock);

  for (guint i = 0; i < waiters->len; i++)
    {
      SandboxWaiter *waiter = waiters->pdata[i];

      if (g_cancellable_is_cancelled (g_task_get_cancellable (waiter->task)))
        g_task_return_error (waiter->task, sandbox_error_new_cancelled ());
      else if (waiter->collects)
        g_task_return_pointer (waiter->task, g_object_ref (result), g_object_unref);
      else
        g_task_return_boolean (waiter->task, TRUE);
    }
  /* They have the processor before what is left to be done here. */
  if (waiters->len > 0)
    g_thread_yield ();
}

static gboolean
sandbox_process_give_up_cb (gpointer user_data)
{
  SandboxProcess        *self = user_data;
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  SandboxCapture        *capture = NULL;

  g_mutex_lock (&priv->lock);
  priv->given_up = TRUE;
  priv->result_current = FALSE;
  if (priv->ended_us == 0)
    priv->ended_us = g_get_monotonic_time ();
  capture = priv->drained ? NULL : priv->capture;
  g_mutex_unlock (&priv->lock);

  g_debug ("Process %s is not proven to be gone %d ms after it was killed", priv->id, GIVE_UP_AFTER_KILL_MS);
  if (capture != NULL)
    sandbox_capture_cut (capture);
  sandbox_process_check_finished (self);

  return G_SOURCE_REMOVE;
}

gboolean
sandbox_process_call_kill (SandboxProcess *self,
                           GError        **error)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_mutex_lock (&priv->lock);
  if (!priv->gone)
    sandbox_process_arm_locked (self, &priv->give_up, GIVE_UP_AFTER_KILL_MS, sandbox_process_give_up_cb);
  g_mutex_unlock (&priv->lock);

  return SANDBOX_PROCESS_GET_CLASS (self)->kill (self, error);
}

static gboolean
sandbox_process_kill_cb (gpointer user_data)
{
  sandbox_process_call_kill (user_data, NULL);

  return G_SOURCE_REMOVE;
}

/* The library's own kill, from whatever thread: code of the host's language runs in the host's. */
static void
sandbox_process_kill_somewhere (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  g_autoptr (SandboxDispatcher) dispatcher = NULL;

  g_mutex_lock (&priv->lock);
  if (!priv->thread_safe && priv->dispatcher != NULL)
    dispatcher = sandbox_dispatcher_ref (priv->dispatcher);
  if (!priv->gone)
    sandbox_process_arm_locked (self, &priv->give_up, GIVE_UP_AFTER_KILL_MS, sandbox_process_give_up_cb);
  g_mutex_unlock (&priv->lock);

  if (dispatcher == NULL)
    sandbox_process_call_kill (self, NULL);
  else
    sandbox_dispatcher_invoke (dispatcher, sandbox_process_kill_cb, g_object_ref (self), g_object_unref);
}

/* Returns whether there is anything left to end. */
static gboolean
sandbox_process_set_reason (SandboxProcess *self,
                            SandboxOutcome  reason)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  gboolean               alive = FALSE;

  g_mutex_lock (&priv->lock);
  alive = !priv->gone;
  if (!priv->has_reason && ((alive && !priv->exited) || reason == SANDBOX_OUTCOME_OUTPUT_LIMIT))
    {
      priv->has_reason = TRUE;
      priv->reason = reason;
    }
  g_mutex_unlock (&priv->lock);

  return alive;
}

void
sandbox_process_end (SandboxProcess *self,
                     SandboxOutcome  reason)
{
  if (sandbox_process_set_reason (self, reason))
    sandbox_process_kill_somewhere (self);
}

void
sandbox_process_end_stopped (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  gboolean               alive = FALSE;

  g_mutex_lock (&priv->lock);
  alive = !priv->gone;
  if (!priv->has_reason && !(priv->exited && WIFEXITED (priv->wait_status)))
    {
      priv->has_reason = TRUE;
      priv->reason = SANDBOX_OUTCOME_STOPPED;
    }
  g_mutex_unlock (&priv->lock);

  if (alive)
    sandbox_process_kill_somewhere (self);
}

static gboolean
sandbox_process_settle_cb (gpointer user_data)
{
  sandbox_process_kill_somewhere (user_data);

  return G_SOURCE_REMOVE;
}

void
sandbox_process_terminate (SandboxProcess *self,
                           SandboxOutcome  reason,
                           guint           grace_ms)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  if (!sandbox_process_set_reason (self, reason))
    return;

  if (grace_ms == 0 || !SANDBOX_PROCESS_GET_CLASS (self)->send_signal (self, SIGTERM, NULL))
    {
      sandbox_process_kill_somewhere (self);
      return;
    }

  g_mutex_lock (&priv->lock);
  if (!priv->gone)
    sandbox_process_arm_locked (self, &priv->grace, grace_ms, sandbox_process_settle_cb);
  g_mutex_unlock (&priv->lock);
}

static gboolean
sandbox_process_deadline_cb (gpointer user_data)
{
  sandbox_process_end (user_data, SANDBOX_OUTCOME_TIMED_OUT);

  return G_SOURCE_REMOVE;
}

void
sandbox_process_attach (SandboxProcess    *self,
                        SandboxCommand    *command,
                        SandboxDispatcher *dispatcher,
                        gboolean           thread_safe)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_mutex_lock (&priv->lock);
  priv->command = g_object_ref (command);
  priv->dispatcher = sandbox_dispatcher_ref (dispatcher);
  priv->thread_safe = thread_safe;
  /* A command that has ended before its driver handed it over is timed from its object on. */
  if (priv->ended_us == 0)
    priv->started_us = g_get_monotonic_time ();
  if (!priv->gone)
    sandbox_process_arm_locked (self, &priv->deadline, sandbox_command_get_timeout_ms (command),
                                sandbox_process_deadline_cb);
  g_mutex_unlock (&priv->lock);
}

gboolean
sandbox_process_check_own (SandboxProcess *self,
                           GError        **error)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  return sandbox_fork_check (priv->generation, "command", error);
}

gboolean
sandbox_process_is_gone (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  gboolean               gone = FALSE;

  g_mutex_lock (&priv->lock);
  gone = priv->gone;
  g_mutex_unlock (&priv->lock);

  return gone;
}

SandboxCommand *
sandbox_process_get_command (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  return priv->command;
}

SandboxDispatcher *
sandbox_process_get_dispatcher (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  return priv->dispatcher;
}

void
sandbox_process_keep (SandboxProcess *self,
                      gpointer        data,
                      GDestroyNotify  notify)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  SandboxKept           *kept = g_new (SandboxKept, 1);

  kept->data = data;
  kept->notify = notify;

  g_mutex_lock (&priv->lock);
  if (!priv->gone)
    priv->kept = g_slist_prepend (priv->kept, g_steal_pointer (&kept));
  g_mutex_unlock (&priv->lock);

  if (kept != NULL)
    sandbox_kept_free (kept);
}

/* What a stream is to others whose output is being collected, or has been. */
static GInputStream *
sandbox_process_new_closed_stream (void)
{
  GInputStream *stream = g_memory_input_stream_new ();

  g_input_stream_close (stream, NULL, NULL);

  return stream;
}

/* Without descriptors of the driver, its pushes feed the streams. */
static void
sandbox_process_ensure_streams_locked (SandboxProcessPrivate *priv)
{
  if (priv->pipes[0] >= 0)
    {
      priv->output = g_unix_input_stream_new (g_steal_fd (&priv->pipes[0]), TRUE);
      priv->errors = g_unix_input_stream_new (g_steal_fd (&priv->pipes[1]), TRUE);
    }
  else if (priv->has_streams && priv->output == NULL)
    {
      priv->output = sandbox_process_new_closed_stream ();
      priv->errors = sandbox_process_new_closed_stream ();
    }
  if (priv->has_streams)
    return;

  priv->has_streams = TRUE;
  priv->pushes = TRUE;
  priv->output = G_INPUT_STREAM (sandbox_push_stream_new (priv->generation));
  priv->errors = G_INPUT_STREAM (sandbox_push_stream_new (priv->generation));
  if (priv->gone)
    {
      sandbox_push_stream_end (SANDBOX_PUSH_STREAM (priv->output));
      sandbox_push_stream_end (SANDBOX_PUSH_STREAM (priv->errors));
    }
}

static void
sandbox_process_full_cb (gpointer user_data)
{
  SandboxProcess        *self = user_data;
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  if (sandbox_command_get_output_limit_action (priv->command) == SANDBOX_OUTPUT_LIMIT_ACTION_KILL)
    sandbox_process_end (self, SANDBOX_OUTCOME_OUTPUT_LIMIT);
}

static void
sandbox_process_drained_cb (gpointer user_data)
{
  SandboxProcess        *self = user_data;
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_mutex_lock (&priv->lock);
  priv->drained = TRUE;
  priv->result_current = FALSE;
  g_mutex_unlock (&priv->lock);

  sandbox_process_check_finished (self);
}

static gboolean
sandbox_process_drain_cb (gpointer user_data)
{
  SandboxProcess        *self = user_data;
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  sandbox_capture_cut (priv->capture);

  return G_SOURCE_REMOVE;
}

/* Of low priority: what can be read is read first. */
static void
sandbox_process_arm_drain_locked (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  sandbox_process_arm_locked (self, &priv->drain, DRAIN_AFTER_GONE_MS, sandbox_process_drain_cb);
  g_source_set_priority (priv->drain, G_PRIORITY_LOW);
  sandbox_process_arm_locked (self, &priv->drain_limit, DRAIN_LIMIT_MS, sandbox_process_drain_cb);
}

static gboolean
sandbox_process_waiter_cancelled_cb (GCancellable *cancellable,
                                     gpointer      user_data)
{
  SandboxWatch          *watch = user_data;
  SandboxProcess        *self = watch->process;
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  SandboxWaiter         *found = NULL;
  gboolean               collects = FALSE;

  g_mutex_lock (&priv->lock);
  for (guint i = 0; i < priv->waiters->len && found == NULL; i++)
    {
      SandboxWaiter *waiter = priv->waiters->pdata[i];

      if (waiter->task != watch->task)
        continue;
      collects = waiter->collects;
      if (collects)
        break;
      found = g_ptr_array_steal_index_fast (priv->waiters, i);
    }
  g_mutex_unlock (&priv->lock);

  /* Who collects owns the command: it is answered when that is dead. */
  if (collects)
    sandbox_process_end (self, SANDBOX_OUTCOME_CANCELLED);
  if (found != NULL)
    {
      g_task_return_error (found->task, sandbox_error_new_cancelled ());
      sandbox_waiter_free (found);
    }

  return G_SOURCE_REMOVE;
}

static void
sandbox_process_add_waiter (SandboxProcess *self,
                            GTask          *task,
                            gboolean        collects)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  GCancellable          *cancellable = g_task_get_cancellable (task);
  SandboxWaiter         *waiter = g_new0 (SandboxWaiter, 1);

  g_task_set_check_cancellable (task, FALSE);
  waiter->task = task;
  waiter->collects = collects;
  if (cancellable != NULL)
    {
      SandboxWatch *watch = g_new (SandboxWatch, 1);

      watch->process = g_object_ref (self);
      watch->task = g_object_ref (task);
      waiter->watch = g_cancellable_source_new (cancellable);
      g_source_set_callback (waiter->watch, G_SOURCE_FUNC (sandbox_process_waiter_cancelled_cb),
                             watch, sandbox_watch_free);
    }

  g_mutex_lock (&priv->lock);
  g_ptr_array_add (priv->waiters, waiter);
  if (waiter->watch != NULL)
    g_source_attach (waiter->watch, g_task_get_context (task));
  g_mutex_unlock (&priv->lock);

  sandbox_process_check_finished (self);
}

void
sandbox_process_wait_with_task (SandboxProcess *self,
                                GTask          *task)
{
  sandbox_process_add_waiter (self, task, FALSE);
}

void
sandbox_process_collect (SandboxProcess *self,
                         GTask          *task)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  SandboxCapture        *capture = NULL;

  g_mutex_lock (&priv->lock);
  if (priv->pipes[0] < 0)
    sandbox_process_ensure_streams_locked (priv);
  if (priv->capture == NULL)
    {
      capture = sandbox_capture_new (priv->output, priv->errors,
                                     sandbox_command_get_max_output (priv->command),
                                     sandbox_process_full_cb, sandbox_process_drained_cb,
                                     g_object_ref (self), g_object_unref);
      sandbox_capture_take_pipes (capture, priv->pipes);
      priv->capture = capture;
      priv->result_current = FALSE;
      if (priv->gone)
        sandbox_process_arm_drain_locked (self);
    }
  g_mutex_unlock (&priv->lock);

  if (capture != NULL)
    sandbox_capture_start (capture);
  sandbox_process_add_waiter (self, task, TRUE);
}

static gboolean
sandbox_process_real_send_signal (SandboxProcess *self,
                                  int             signum,
                                  GError        **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "%s cannot send signals", G_OBJECT_TYPE_NAME (self));

  return FALSE;
}

static gboolean
sandbox_process_real_resize (SandboxProcess *self,
                             guint           rows,
                             guint           columns,
                             GError        **error)
{
  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED,
               "%s has no terminal", G_OBJECT_TYPE_NAME (self));

  return FALSE;
}

static gboolean
sandbox_process_real_kill (SandboxProcess *self,
                           GError        **error)
{
  return SANDBOX_PROCESS_GET_CLASS (self)->send_signal (self, SIGKILL, error);
}

static void
sandbox_process_get_property (GObject    *object,
                              guint       prop_id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  SandboxProcess *self = SANDBOX_PROCESS (object);

  switch ((SandboxProcessProps) prop_id)
    {
    case PROP_ID:
      g_value_set_string (value, sandbox_process_get_id (self));
      break;

    case PROP_STDIN:
      g_value_set_object (value, sandbox_process_get_stdin (self));
      break;

    case PROP_STDOUT:
      g_value_set_object (value, sandbox_process_get_stdout (self));
      break;

    case PROP_STDERR:
      g_value_set_object (value, sandbox_process_get_stderr (self));
      break;

    case PROP_RESULT:
      g_value_set_object (value, sandbox_process_get_result (self));
      break;
    }
}

static void
sandbox_process_finalize (GObject *object)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (SANDBOX_PROCESS (object));

  sandbox_fork_forget (object);
  /* A driver that lets go of a process it never reported gone gives its admission back here. */
  g_slist_free_full (g_steal_pointer (&priv->kept), sandbox_kept_free);
  g_clear_pointer (&priv->waiters, g_ptr_array_unref);
  g_clear_pointer (&priv->capture, sandbox_capture_unref);
  g_clear_pointer (&priv->dispatcher, sandbox_dispatcher_unref);
  g_clear_object (&priv->command);
  for (guint i = 0; i < G_N_ELEMENTS (priv->pipes); i++)
    sandbox_clear_fd (&priv->pipes[i]);
  g_clear_object (&priv->input);
  g_clear_object (&priv->output);
  g_clear_object (&priv->errors);
  g_clear_object (&priv->result);
  g_clear_slist (&priv->old_results, g_object_unref);
  g_clear_pointer (&priv->id, g_free);
  g_mutex_clear (&priv->lock);

  G_OBJECT_CLASS (sandbox_process_parent_class)->finalize (object);
}

static void
sandbox_process_class_init (SandboxProcessClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = sandbox_process_get_property;
  object_class->finalize = sandbox_process_finalize;

  klass->send_signal = sandbox_process_real_send_signal;
  klass->resize = sandbox_process_real_resize;
  klass->kill = sandbox_process_real_kill;

  /**
   * SandboxProcess:id: (getter get_id)
   *
   * A name for the process, unique in this program.
   *
   * Since: 1.0
   */
  properties[PROP_ID] =
      g_param_spec_string ("id", NULL, NULL, NULL,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxProcess:stdin: (getter get_stdin)
   *
   * Where the input of the command is written to, or %NULL when it has none.
   *
   * Writing to a command that does not read any more is an error, never a signal.
   *
   * Since: 1.0
   */
  properties[PROP_STDIN] =
      g_param_spec_object ("stdin", NULL, NULL, G_TYPE_OUTPUT_STREAM,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxProcess:stdout: (getter get_stdout)
   *
   * Where the output of the command is read from.
   *
   * Since: 1.0
   */
  properties[PROP_STDOUT] =
      g_param_spec_object ("stdout", NULL, NULL, G_TYPE_INPUT_STREAM,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxProcess:stderr: (getter get_stderr)
   *
   * Where the error output of the command is read from; %NULL with a terminal.
   *
   * Since: 1.0
   */
  properties[PROP_STDERR] =
      g_param_spec_object ("stderr", NULL, NULL, G_TYPE_INPUT_STREAM,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxProcess:result: (getter get_result)
   *
   * How the command ended, or %NULL while anything of it is left.
   *
   * It carries output only after [method@Sandbox.Process.communicate]. It changes without a
   * notification, in a thread of the library: use [method@Sandbox.Process.wait_async].
   *
   * Since: 1.0
   */
  properties[PROP_RESULT] =
      g_param_spec_object ("result", NULL, NULL, SANDBOX_TYPE_RESULT,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_process_init (SandboxProcess *self)
{
  static guint64         counter; /* under no lock of an object */
  static GMutex          counter_lock;
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_mutex_lock (&counter_lock);
  priv->id = g_strdup_printf ("process-%" G_GUINT64_FORMAT, ++counter);
  g_mutex_unlock (&counter_lock);

  g_mutex_init (&priv->lock);
  priv->generation = sandbox_fork_get_generation ();
  priv->started_us = g_get_monotonic_time ();
  priv->wait_status = -1;
  priv->pipes[0] = -1;
  priv->pipes[1] = -1;
  priv->waiters = g_ptr_array_new_with_free_func (sandbox_waiter_free);
}

/**
 * sandbox_process_get_id: (get-property id)
 * @self: a process
 *
 * Gets the name of the process.
 *
 * Returns: (transfer none): the name
 *
 * Since: 1.0
 */
const char *
sandbox_process_get_id (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), NULL);

  return priv->id;
}

/**
 * sandbox_process_get_stdin: (get-property stdin)
 * @self: a process
 *
 * Gets where the input of the command is written to.
 *
 * Returns: (transfer none) (nullable): the stream, or %NULL when it has no input
 *
 * Since: 1.0
 */
GOutputStream *
sandbox_process_get_stdin (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), NULL);

  return priv->input;
}

/**
 * sandbox_process_get_stdout: (get-property stdout)
 * @self: a process
 *
 * Gets where the output of the command is read from.
 *
 * Returns: (transfer none): the stream
 *
 * Since: 1.0
 */
GInputStream *
sandbox_process_get_stdout (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), NULL);

  g_mutex_lock (&priv->lock);
  sandbox_process_ensure_streams_locked (priv);
  g_mutex_unlock (&priv->lock);

  return priv->output;
}

/**
 * sandbox_process_get_stderr: (get-property stderr)
 * @self: a process
 *
 * Gets where the error output of the command is read from.
 *
 * Returns: (transfer none) (nullable): the stream, or %NULL with a terminal
 *
 * Since: 1.0
 */
GInputStream *
sandbox_process_get_stderr (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), NULL);

  g_mutex_lock (&priv->lock);
  sandbox_process_ensure_streams_locked (priv);
  g_mutex_unlock (&priv->lock);

  return priv->errors;
}

/**
 * sandbox_process_get_result: (get-property result)
 * @self: a process
 *
 * Gets how the command ended.
 *
 * Returns: (transfer none) (nullable): the result, or %NULL while anything of the command is left
 *
 * Since: 1.0
 */
SandboxResult *
sandbox_process_get_result (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  SandboxResult         *result = NULL;

  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), NULL);

  g_mutex_lock (&priv->lock);
  result = priv->result;
  g_mutex_unlock (&priv->lock);

  return result;
}

/* A child of the host that has the one end of a pipe would keep the command from noticing that the other was closed. */
static void
sandbox_process_cover_stream (SandboxProcess *self,
                              gpointer        stream)
{
  if (G_IS_FILE_DESCRIPTOR_BASED (stream))
    sandbox_fork_cover (self, g_file_descriptor_based_get_fd (stream));
}

/**
 * sandbox_process_set_streams:
 * @self: a process
 * @stdin_stream: (nullable): where the host writes the input, or %NULL when there is none
 * @stdout_stream: where the host reads the output
 * @stderr_stream: (nullable): where the host reads the error output, or %NULL with a terminal
 *
 * Hands over the streams of the command. For drivers; once, before the process is returned.
 *
 * The streams are read in a thread of the library, and the descriptor of @stdin_stream, if it has one, is
 * made non-blocking. A forked child of the host gets none of their descriptors. A driver without descriptors uses [method@Sandbox.Process.push_stdout] instead.
 *
 * Since: 1.0
 */
void
sandbox_process_set_streams (SandboxProcess *self,
                             GOutputStream  *stdin_stream,
                             GInputStream   *stdout_stream,
                             GInputStream   *stderr_stream)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  gboolean               had_streams = FALSE;

  g_return_if_fail (SANDBOX_IS_PROCESS (self));
  g_return_if_fail (stdin_stream == NULL || G_IS_OUTPUT_STREAM (stdin_stream));
  g_return_if_fail (G_IS_INPUT_STREAM (stdout_stream));
  g_return_if_fail (stderr_stream == NULL || G_IS_INPUT_STREAM (stderr_stream));

  /* GIO would write a whole buffer to a blocking descriptor that can take a byte, and with it block a main
   * loop, or the worker, for as long as the command does not read. */
  if (G_IS_UNIX_OUTPUT_STREAM (stdin_stream))
    g_unix_set_fd_nonblocking (g_unix_output_stream_get_fd (G_UNIX_OUTPUT_STREAM (stdin_stream)), TRUE, NULL);

  g_mutex_lock (&priv->lock);
  had_streams = priv->has_streams;
  if (!had_streams)
    {
      priv->has_streams = TRUE;
      g_set_object (&priv->input, stdin_stream);
      g_set_object (&priv->output, stdout_stream);
      g_set_object (&priv->errors, stderr_stream);
    }
  g_mutex_unlock (&priv->lock);

  g_return_if_fail (!had_streams);

  sandbox_fork_lock ();
  sandbox_process_cover_stream (self, stdin_stream);
  sandbox_process_cover_stream (self, stdout_stream);
  sandbox_process_cover_stream (self, stderr_stream);
  sandbox_fork_unlock ();
}

void
sandbox_process_take_pipes (SandboxProcess *self,
                            GOutputStream  *stdin_stream,
                            int             pipes[2])
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  sandbox_fork_lock ();
  sandbox_process_cover_stream (self, stdin_stream);
  for (guint i = 0; i < G_N_ELEMENTS (priv->pipes); i++)
    sandbox_fork_cover (self, pipes[i]);
  sandbox_fork_unlock ();

  g_mutex_lock (&priv->lock);
  priv->has_streams = TRUE;
  g_set_object (&priv->input, stdin_stream);
  for (guint i = 0; i < G_N_ELEMENTS (priv->pipes); i++)
    priv->pipes[i] = g_steal_fd (&pipes[i]);
  g_mutex_unlock (&priv->lock);
}

static gboolean
sandbox_process_push (SandboxProcess *self,
                      GBytes         *bytes,
                      gboolean        to_errors)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  g_autoptr (SandboxPushStream) stream = NULL;

  g_mutex_lock (&priv->lock);
  sandbox_process_ensure_streams_locked (priv);
  if (priv->pushes)
    stream = SANDBOX_PUSH_STREAM (g_object_ref (to_errors ? priv->errors : priv->output));
  g_mutex_unlock (&priv->lock);

  g_return_val_if_fail (stream != NULL, FALSE);

  switch (sandbox_push_stream_push (stream, bytes))
    {
    case SANDBOX_PUSH_TAKEN:
      return TRUE;

    case SANDBOX_PUSH_UNWANTED:
      return FALSE;

    case SANDBOX_PUSH_FULL:
      sandbox_process_end (self, SANDBOX_OUTCOME_OUTPUT_LIMIT);
      return FALSE;

    default:
      g_assert_not_reached ();
    }
}

/**
 * sandbox_process_push_stdout:
 * @self: a process
 * @bytes: output of the command
 *
 * Appends to the output. For drivers that have no descriptor to hand out; from any thread.
 *
 * At most 16 MiB wait for a reader. A command that goes past that is killed with
 * %SANDBOX_OUTCOME_OUTPUT_LIMIT.
 *
 * Returns: whether more is wanted
 *
 * Since: 1.0
 */
gboolean
sandbox_process_push_stdout (SandboxProcess *self,
                             GBytes         *bytes)
{
  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), FALSE);
  g_return_val_if_fail (bytes != NULL, FALSE);

  return sandbox_process_push (self, bytes, FALSE);
}

/**
 * sandbox_process_push_stderr:
 * @self: a process
 * @bytes: error output of the command
 *
 * Appends to the error output. See [method@Sandbox.Process.push_stdout].
 *
 * Returns: whether more is wanted
 *
 * Since: 1.0
 */
gboolean
sandbox_process_push_stderr (SandboxProcess *self,
                             GBytes         *bytes)
{
  g_return_val_if_fail (SANDBOX_IS_PROCESS (self), FALSE);
  g_return_val_if_fail (bytes != NULL, FALSE);

  return sandbox_process_push (self, bytes, TRUE);
}

/**
 * sandbox_process_set_exited:
 * @self: a process
 * @wait_status: the raw status, as waitpid() gives it
 * @user_time_us: CPU time in user space, in microseconds; 0 when unknown
 * @system_time_us: CPU time in the kernel, in microseconds; 0 when unknown
 * @peak_memory_bytes: the largest resident set, in bytes; 0 when unknown
 *
 * Reports the end of the command itself. For drivers; from any thread, once.
 *
 * What the command has left behind may live on: [method@Sandbox.Process.set_gone] reports the rest.
 * When that does not follow soon, the process is told to kill it.
 *
 * Since: 1.0
 */
void
sandbox_process_set_exited (SandboxProcess *self,
                            int             wait_status,
                            guint64         user_time_us,
                            guint64         system_time_us,
                            guint64         peak_memory_bytes)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  g_autoptr (GPtrArray) sources = g_ptr_array_new_with_free_func (sandbox_process_free_source);

  g_return_if_fail (SANDBOX_IS_PROCESS (self));

  g_mutex_lock (&priv->lock);
  if (!priv->exited && !priv->gone)
    {
      priv->exited = TRUE;
      priv->wait_status = wait_status;
      priv->user_time_us = user_time_us;
      priv->system_time_us = system_time_us;
      priv->peak_memory_bytes = peak_memory_bytes;
      priv->ended_us = g_get_monotonic_time ();
      sandbox_process_add_source_locked (sources, &priv->deadline);
      sandbox_process_add_source_locked (sources, &priv->grace);
      sandbox_process_arm_locked (self, &priv->settle, KILL_AFTER_EXIT_MS, sandbox_process_settle_cb);
    }
  g_mutex_unlock (&priv->lock);
}

/**
 * sandbox_process_set_outcome:
 * @self: a process
 * @outcome: why the command ends
 * @limit_value: the limit that was passed, in its own unit, or 0
 * @limit_peak: what was reached, in the same unit, or 0
 *
 * Reports a reason for the end that the wait status does not tell, such as a memory limit. For drivers
 * that have it from the kernel; before the process is gone. The first reason stands.
 *
 * Since: 1.0
 */
void
sandbox_process_set_outcome (SandboxProcess *self,
                             SandboxOutcome  outcome,
                             guint64         limit_value,
                             guint64         limit_peak)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_return_if_fail (SANDBOX_IS_PROCESS (self));

  g_mutex_lock (&priv->lock);
  if (!priv->has_reason && !priv->gone)
    {
      priv->has_reason = TRUE;
      priv->reason = outcome;
      priv->limit_value = limit_value;
      priv->limit_peak = limit_peak;
    }
  g_mutex_unlock (&priv->lock);
}

/**
 * sandbox_process_set_gone:
 * @self: a process
 *
 * Reports that everything of the command is dead. For drivers; from any thread, last.
 *
 * A command that is gone without having exited is lost: its outcome is %SANDBOX_OUTCOME_LOST unless the
 * library ended it.
 *
 * Since: 1.0
 */
void
sandbox_process_set_gone (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);
  g_autoptr (SandboxProcess) keep = NULL;
  g_autoptr (GPtrArray) sources = g_ptr_array_new_with_free_func (sandbox_process_free_source);
  GSList *kept = NULL;

  g_return_if_fail (SANDBOX_IS_PROCESS (self));

  keep = g_object_ref (self);

  g_mutex_lock (&priv->lock);
  if (priv->gone)
    {
      g_mutex_unlock (&priv->lock);
      return;
    }
  priv->gone = TRUE;
  priv->result_current = FALSE;
  if (priv->ended_us == 0)
    priv->ended_us = g_get_monotonic_time ();
  sandbox_process_add_source_locked (sources, &priv->deadline);
  sandbox_process_add_source_locked (sources, &priv->grace);
  sandbox_process_add_source_locked (sources, &priv->settle);
  sandbox_process_add_source_locked (sources, &priv->give_up);
  if (priv->capture != NULL && !priv->drained)
    sandbox_process_arm_drain_locked (self);
  if (priv->pushes)
    {
      sandbox_push_stream_end (SANDBOX_PUSH_STREAM (priv->output));
      sandbox_push_stream_end (SANDBOX_PUSH_STREAM (priv->errors));
    }
  kept = g_steal_pointer (&priv->kept);
  g_mutex_unlock (&priv->lock);

  /* Whoever is told of the end finds the place of the command free, whichever thread tells it. */
  g_slist_free_full (kept, sandbox_kept_free);
  g_mutex_lock (&priv->lock);
  priv->released = TRUE;
  g_mutex_unlock (&priv->lock);
  sandbox_process_check_finished (self);
}

/**
 * sandbox_process_set_lost:
 * @self: a process
 *
 * Reports that the driver has lost the command and will never know how it ended. For drivers; from any
 * thread. It stands for [method@Sandbox.Process.set_exited] and [method@Sandbox.Process.set_gone].
 *
 * Since: 1.0
 */
void
sandbox_process_set_lost (SandboxProcess *self)
{
  SandboxProcessPrivate *priv = sandbox_process_get_instance_private (self);

  g_return_if_fail (SANDBOX_IS_PROCESS (self));

  g_mutex_lock (&priv->lock);
  if (!priv->has_reason && !priv->exited && !priv->gone)
    {
      priv->has_reason = TRUE;
      priv->reason = SANDBOX_OUTCOME_LOST;
    }
  g_mutex_unlock (&priv->lock);

  sandbox_process_set_gone (self);
}
