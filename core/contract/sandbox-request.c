/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-request-private.h"

#include "sandbox-driver-private.h"
#include "sandbox-error-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-process-private.h"
#include "sandbox-sync-private.h"
#include "sandbox-worker-private.h"

#include <string.h>

/* At least so long between two reports of how far a transfer has come. */
#define PROGRESS_INTERVAL_US (100 * 1000)

/**
 * SandboxRequest:
 *
 * One call to a driver or backend, waiting for its answer.
 *
 * Every function of [iface@Sandbox.Driver] and [class@Sandbox.Backend] gets a request, and answers
 * it exactly once with the `return_…` function of the right kind: at once, later, or from any
 * thread. Whoever drops the last reference without an answer has failed, and the caller is told so.
 *
 * When the caller has lost interest, or the time is up, [signal@Sandbox.Request::cancelled] is emitted.
 * An answer is welcome all the same; what it carries is disposed of (a process is killed, a stream
 * or a driver is closed).
 *
 * ```c
 * static gboolean
 * my_driver_read (SandboxDriver  *driver,
 *                 const char     *path,
 *                 guint64         offset,
 *                 guint64         max,
 *                 SandboxRequest *request,
 *                 GError        **error)
 * {
 *   g_autoptr (GBytes) bytes = my_driver_look_up (driver, path, offset, max, error);
 *
 *   if (bytes == NULL)
 *     return FALSE;
 *
 *   sandbox_request_return_bytes (request, bytes);
 *   return TRUE;
 * }
 * ```
 *
 * Since: 1.0
 */

/* OPEN → ANSWERED by the driver, or OPEN → ABANDONED by cancellation or time, and then perhaps → LATE.
 * Whoever leaves OPEN owns `task` or `func` from then on and drops it at once: a wrapper in a
 * garbage-collected language may keep the request itself for long. */
typedef enum
{
  STATE_OPEN,
  STATE_ANSWERED,
  STATE_ABANDONED,
  STATE_LATE,
} SandboxRequestState;

typedef struct
{
  guint64 bytes;
  guint64 files;
  guint64 skipped;
} SandboxProgress;

struct _SandboxRequest
{
  GObject parent_instance;

  GType         answer;
  GMainContext *context; /* of the call: the driver's thread, also below a synchronous one */
  GCancellable *cancellable;
  guint         time_limit_ms;
  guint         cancel_grace_ms;
  gboolean      may_block;
  gboolean      timed_by_worker;
  GThread      *thread; /* that of the call */
  guint         generation;

  SandboxProgressFunc progress_func;
  gpointer            progress_data;
  GDestroyNotify      progress_notify;

  GMutex              lock; /* guards what follows */
  SandboxRequestState state;
  gboolean            cancelled;
  GTask              *task;
  SandboxAnswerFunc   func;
  gpointer            func_data;
  gpointer            kept;
  GDestroyNotify      kept_notify;
  GSource            *deadline;
  GSource            *watch;
  SandboxProgress     progress; /* as the driver has told it */
  SandboxProgress     told;     /* as the caller knows it */
  gint64              told_at;
};

enum
{
  SIGNAL_CANCELLED,
  N_SIGNALS,
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (SandboxRequest, sandbox_request, G_TYPE_OBJECT)

/* A stream to write to is closed as cancelled: what it stands for is to stay as it was. */
static gboolean
sandbox_request_close_cb (gpointer stream)
{
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();

  g_cancellable_cancel (cancelled);
  if (G_IS_INPUT_STREAM (stream))
    g_input_stream_close_async (stream, G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  else if (G_IS_OUTPUT_STREAM (stream))
    g_output_stream_close_async (stream, G_PRIORITY_DEFAULT, cancelled, NULL, NULL);
  else
    g_io_stream_close_async (stream, G_PRIORITY_DEFAULT, NULL, NULL, NULL);

  return G_SOURCE_REMOVE;
}

/* What an answer needs to go away, by its kind. The thread that answers may have no main loop, so streams
 * are closed on the worker. */
static void
sandbox_request_dispose_answer (GType    type,
                                gpointer answer)
{
  if (answer == NULL)
    return;

  if (type == G_TYPE_BYTES)
    {
      g_bytes_unref (answer);
      return;
    }

  if (SANDBOX_IS_PROCESS (answer))
    sandbox_process_kill (answer, NULL);
  else if (SANDBOX_IS_DRIVER (answer))
    sandbox_driver_discard (answer);
  else if (G_IS_INPUT_STREAM (answer) || G_IS_OUTPUT_STREAM (answer) || G_IS_IO_STREAM (answer))
    sandbox_worker_invoke (sandbox_request_close_cb, g_object_ref (answer), g_object_unref);
  g_object_unref (answer);
}

static void
sandbox_request_clear_sources (SandboxRequest *self)
{
  g_autoptr (GSource) deadline = NULL;
  g_autoptr (GSource) watch = NULL;

  g_mutex_lock (&self->lock);
  deadline = g_steal_pointer (&self->deadline);
  watch = g_steal_pointer (&self->watch);
  g_mutex_unlock (&self->lock);

  if (deadline != NULL)
    g_source_destroy (deadline);
  if (watch != NULL)
    g_source_destroy (watch);
}

static gboolean
sandbox_request_progress_cb (gpointer user_data)
{
  SandboxRequest *self = user_data;
  SandboxProgress progress;
  gboolean        news = FALSE;

  g_mutex_lock (&self->lock);
  progress = self->progress;
  news = self->state <= STATE_ANSWERED && memcmp (&progress, &self->told, sizeof progress) != 0;
  self->told = progress;
  g_mutex_unlock (&self->lock);

  if (news)
    self->progress_func (self->progress_data, progress.bytes, progress.files, progress.skipped);

  return G_SOURCE_REMOVE;
}

/* In the thread of a synchronous call at once, as its context does not run while the driver works; else
 * by a source of the call's context. Never by g_main_context_invoke (), which might run it here. */
static void
sandbox_request_tell_progress (SandboxRequest *self)
{
  g_autoptr (GSource) source = NULL;

  if (self->may_block && self->thread == g_thread_self ())
    {
      sandbox_request_progress_cb (self);
      return;
    }

  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, sandbox_request_progress_cb, g_object_ref (self), g_object_unref);
  g_source_attach (source, self->context);
}

/* Gives the caller its answer; @answer and @error are taken. */
static void
sandbox_request_deliver (SandboxRequest   *self,
                         GTask            *task,
                         SandboxAnswerFunc func,
                         gpointer          func_data,
                         gpointer          answer,
                         GError           *error)
{
  if (func != NULL)
    {
      func (func_data, answer, error);
      if (answer != NULL && self->answer == G_TYPE_BYTES)
        g_bytes_unref (answer);
      else if (answer != NULL)
        g_object_unref (answer);
      g_clear_error (&error);
      return;
    }

  if (error != NULL)
    g_task_return_error (task, error);
  else if (self->answer == G_TYPE_NONE)
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_pointer (task, answer,
                           self->answer == G_TYPE_BYTES ? (GDestroyNotify) g_bytes_unref : g_object_unref);
  g_object_unref (task);
}

/* The sources hold no reference: the driver alone decides how long the request lives. */
static GWeakRef *
sandbox_request_new_weak (SandboxRequest *self)
{
  GWeakRef *weak = g_new (GWeakRef, 1);

  g_weak_ref_init (weak, self);

  return weak;
}

static void
sandbox_request_free_weak (gpointer data)
{
  g_weak_ref_clear (data);
  g_free (data);
}

static GSource *
sandbox_request_attach (SandboxRequest *self,
                        GMainContext   *context,
                        GSource        *source,
                        GSourceFunc     func)
{
  g_source_set_callback (source, func, sandbox_request_new_weak (self), sandbox_request_free_weak);
  g_source_attach (source, context);

  return source;
}

static gboolean
sandbox_request_tell_cancelled_cb (gpointer user_data)
{
  g_autoptr (SandboxRequest) self = g_weak_ref_get (user_data);

  if (self != NULL)
    g_signal_emit (self, signals[SIGNAL_CANCELLED], 0);

  return G_SOURCE_REMOVE;
}

/* From the worker, in the context of the call */
static void
sandbox_request_tell_cancelled (SandboxRequest *self)
{
  GSource *source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_unref (sandbox_request_attach (self, self->context, source, sandbox_request_tell_cancelled_cb));
}

/* The caller is told @error (taken) although the driver has not answered; FALSE when it just has. */
static gboolean
sandbox_request_abandon (SandboxRequest *self,
                         GError         *error)
{
  g_autoptr (SandboxRequest) keep = g_object_ref (self);
  GTask            *task = NULL;
  SandboxAnswerFunc func = NULL;
  gpointer          func_data = NULL;

  g_mutex_lock (&self->lock);
  if (self->state != STATE_OPEN)
    {
      g_mutex_unlock (&self->lock);
      g_error_free (error);
      return FALSE;
    }
  self->state = STATE_ABANDONED;
  self->cancelled = TRUE;
  task = g_steal_pointer (&self->task);
  func = g_steal_pointer (&self->func);
  func_data = g_steal_pointer (&self->func_data);
  g_mutex_unlock (&self->lock);

  sandbox_request_clear_sources (self);
  if (self->timed_by_worker)
    sandbox_request_tell_cancelled (self);
  sandbox_request_deliver (self, task, func, func_data, NULL, error);

  return TRUE;
}

/* The driver's answer; @answer and @error are taken. */
static void
sandbox_request_settle (SandboxRequest *self,
                        gpointer        answer,
                        GError         *error)
{
  g_autoptr (SandboxRequest) keep = g_object_ref (self);
  SandboxRequestState before;
  GTask              *task = NULL;
  SandboxAnswerFunc   func = NULL;
  gpointer            func_data = NULL;
  gpointer            kept = NULL;
  GDestroyNotify      kept_notify = NULL;
  gboolean            unwanted = FALSE;

  g_mutex_lock (&self->lock);
  before = self->state;
  if (before == STATE_OPEN)
    self->state = STATE_ANSWERED;
  else if (before == STATE_ABANDONED)
    self->state = STATE_LATE;
  if (before == STATE_OPEN || before == STATE_ABANDONED)
    {
      kept = g_steal_pointer (&self->kept);
      kept_notify = self->kept_notify;
      task = g_steal_pointer (&self->task);
      func = g_steal_pointer (&self->func);
      func_data = g_steal_pointer (&self->func_data);
      /* A cancelled call never gives a value; its own function looks after a late one. */
      unwanted = before == STATE_ABANDONED ||
                 (func == NULL && g_cancellable_is_cancelled (self->cancellable));
    }
  g_mutex_unlock (&self->lock);

  if (before == STATE_ANSWERED || before == STATE_LATE)
    {
      g_critical ("A request was answered twice");
      sandbox_request_dispose_answer (self->answer, answer);
      g_clear_error (&error);
      return;
    }

  sandbox_request_clear_sources (self);
  if (before == STATE_OPEN && error == NULL && self->progress_func != NULL)
    sandbox_request_tell_progress (self);

  if (kept != NULL && answer != NULL && g_type_is_a (self->answer, SANDBOX_TYPE_PROCESS))
    sandbox_process_keep (answer, g_steal_pointer (&kept), kept_notify);
  else if (kept != NULL)
    kept_notify (kept);

  if (unwanted)
    {
      sandbox_request_dispose_answer (self->answer, g_steal_pointer (&answer));
      g_clear_error (&error);
    }
  if (before == STATE_OPEN)
    sandbox_request_deliver (self, task, func, func_data, answer,
                             unwanted ? sandbox_error_new_cancelled () : error);
}

/* A request that nobody will answer any more, on its way to the caller. */
typedef struct
{
  GTask            *task;
  SandboxAnswerFunc func;
  gpointer          func_data;
  gpointer          kept;
  GDestroyNotify    kept_notify;
} SandboxDropped;

static gboolean
sandbox_request_dropped_cb (gpointer user_data)
{
  SandboxDropped *dropped = user_data;
  GError         *error = g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_FAILED,
                                               "The driver dropped the request without an answer");

  if (dropped->kept != NULL)
    dropped->kept_notify (g_steal_pointer (&dropped->kept));
  if (dropped->func != NULL)
    {
      dropped->func (dropped->func_data, NULL, error);
      g_error_free (error);
    }
  else
    g_task_return_error (dropped->task, error);

  return G_SOURCE_REMOVE;
}

static void
sandbox_request_dropped_free (gpointer data)
{
  SandboxDropped *dropped = data;

  g_clear_object (&dropped->task);
  g_free (dropped);
}

/* By a source of the worker and never in place: the last reference may go in a garbage collector, below which
 * no code of its language can run. */
static void
sandbox_request_drop (SandboxRequest *self)
{
  g_autoptr (GSource) source = g_idle_source_new ();
  SandboxDropped *dropped = g_new (SandboxDropped, 1);

  g_mutex_lock (&self->lock);
  self->state = STATE_ANSWERED;
  dropped->task = g_steal_pointer (&self->task);
  dropped->func = g_steal_pointer (&self->func);
  dropped->func_data = g_steal_pointer (&self->func_data);
  dropped->kept = g_steal_pointer (&self->kept);
  dropped->kept_notify = self->kept_notify;
  g_mutex_unlock (&self->lock);

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, sandbox_request_dropped_cb, dropped, sandbox_request_dropped_free);
  g_source_attach (source, sandbox_get_worker_context ());
}

static void
sandbox_request_dispose (GObject *object)
{
  SandboxRequest *self = SANDBOX_REQUEST (object);

  /* In a forked child it is the copy of one that the parent answers: nobody waits for it, and what it keeps is not
   * to be let go of. */
  if (!sandbox_fork_is_past (self->generation))
    {
      if (self->state == STATE_OPEN)
        sandbox_request_drop (self);
      if (self->kept != NULL)
        self->kept_notify (g_steal_pointer (&self->kept));
    }
  sandbox_request_clear_sources (self);
  if (self->progress_notify != NULL)
    self->progress_notify (g_steal_pointer (&self->progress_data));
  self->progress_notify = NULL;
  g_clear_object (&self->cancellable);

  G_OBJECT_CLASS (sandbox_request_parent_class)->dispose (object);
}

static void
sandbox_request_finalize (GObject *object)
{
  SandboxRequest *self = SANDBOX_REQUEST (object);

  g_clear_pointer (&self->context, g_main_context_unref);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (sandbox_request_parent_class)->finalize (object);
}

static void
sandbox_request_class_init (SandboxRequestClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = sandbox_request_dispose;
  object_class->finalize = sandbox_request_finalize;

  /**
   * SandboxRequest::cancelled:
   * @self: a request
   *
   * Emitted when the caller has lost interest or the time is up: the work should end.
   *
   * It is emitted in the main context of the call. A request that was cancelled before its function
   * was called does not emit it.
   *
   * Since: 1.0
   */
  signals[SIGNAL_CANCELLED] =
      g_signal_new ("cancelled", SANDBOX_TYPE_REQUEST, G_SIGNAL_RUN_LAST, 0,
                    NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
sandbox_request_init (SandboxRequest *self)
{
  g_mutex_init (&self->lock);
  self->context = g_main_context_ref_thread_default ();
  self->may_block = sandbox_sync_is_below ();
  self->thread = g_thread_self ();
  self->generation = sandbox_fork_get_generation ();
  self->time_limit_ms = SANDBOX_REQUEST_TIME_LIMIT_MS;
}

SandboxRequest *
sandbox_request_new (gpointer            source_object,
                     gpointer            source_tag,
                     GType               answer,
                     GCancellable       *cancellable,
                     GAsyncReadyCallback callback,
                     gpointer            user_data)
{
  SandboxRequest *self = g_object_new (SANDBOX_TYPE_REQUEST, NULL);

  self->answer = answer;
  g_set_object (&self->cancellable, cancellable);
  self->task = g_task_new (source_object, cancellable, callback, user_data);
  g_task_set_source_tag (self->task, source_tag);
  /* The request decides, else a value raced by a cancellation would be lost with what it holds. */
  g_task_set_check_cancellable (self->task, FALSE);

  return self;
}

SandboxRequest *
sandbox_request_new_internal (GType             answer,
                              GCancellable     *cancellable,
                              SandboxAnswerFunc func,
                              gpointer          user_data)
{
  SandboxRequest *self = g_object_new (SANDBOX_TYPE_REQUEST, NULL);

  self->answer = answer;
  g_set_object (&self->cancellable, cancellable);
  self->func = func;
  self->func_data = user_data;

  return self;
}

void
sandbox_request_set_limits (SandboxRequest *self,
                            guint           time_limit_ms,
                            guint           cancel_grace_ms)
{
  self->time_limit_ms = time_limit_ms;
  self->cancel_grace_ms = cancel_grace_ms;
}

void
sandbox_request_set_timed_by_worker (SandboxRequest *self)
{
  g_assert (self->func != NULL && self->cancellable == NULL);
  self->timed_by_worker = TRUE;
}

guint
sandbox_request_get_time_limit_ms (SandboxRequest *self)
{
  return self->time_limit_ms;
}

void
sandbox_request_set_progress (SandboxRequest     *self,
                              SandboxProgressFunc func,
                              gpointer            user_data,
                              GDestroyNotify      notify)
{
  self->progress_func = func;
  self->progress_data = user_data;
  self->progress_notify = notify;
}

void
sandbox_request_keep (SandboxRequest *self,
                      gpointer        data,
                      GDestroyNotify  notify)
{
  self->kept = data;
  self->kept_notify = notify;
}

static gboolean
sandbox_request_grace_cb (gpointer user_data)
{
  g_autoptr (SandboxRequest) self = g_weak_ref_get (user_data);

  if (self != NULL)
    sandbox_request_abandon (self, sandbox_error_new_cancelled ());

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_request_cancelled_cb (GCancellable *cancellable,
                              gpointer      user_data)
{
  g_autoptr (SandboxRequest) self = g_weak_ref_get (user_data);
  gboolean wait = FALSE;

  if (self == NULL)
    return G_SOURCE_REMOVE;

  g_mutex_lock (&self->lock);
  if (self->state != STATE_OPEN)
    {
      g_mutex_unlock (&self->lock);
      return G_SOURCE_REMOVE;
    }
  self->cancelled = TRUE;
  wait = self->cancel_grace_ms > 0;
  if (wait)
    {
      g_source_destroy (self->deadline);
      g_source_unref (self->deadline);
      self->deadline = sandbox_request_attach (self, self->context, g_timeout_source_new (self->cancel_grace_ms),
                                               sandbox_request_grace_cb);
    }
  g_mutex_unlock (&self->lock);

  if (!wait)
    sandbox_request_abandon (self, sandbox_error_new_cancelled ());
  g_signal_emit (self, signals[SIGNAL_CANCELLED], 0);

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_request_deadline_cb (gpointer user_data)
{
  g_autoptr (SandboxRequest) self = g_weak_ref_get (user_data);

  if (self == NULL)
    return G_SOURCE_REMOVE;

  if (sandbox_request_abandon (self, g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                                                  "The driver did not answer within %u ms", self->time_limit_ms)) &&
      !self->timed_by_worker)
    g_signal_emit (self, signals[SIGNAL_CANCELLED], 0);

  return G_SOURCE_REMOVE;
}

void
sandbox_request_dispatched (SandboxRequest *self,
                            gboolean        taken,
                            GError         *error)
{
  if (!taken)
    {
      if (error == NULL)
        error = g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_FAILED,
                                     "The driver returned FALSE without an error, or raised an exception");
      sandbox_request_settle (self, NULL, error);
      return;
    }
  g_clear_error (&error);

  g_mutex_lock (&self->lock);
  if (self->state == STATE_OPEN)
    {
      self->deadline = sandbox_request_attach (self, self->timed_by_worker ? sandbox_get_worker_context () : self->context,
                                               g_timeout_source_new (self->time_limit_ms), sandbox_request_deadline_cb);
      /* A source, never g_cancellable_connect (): disconnecting inside the handler would deadlock. */
      if (self->cancellable != NULL)
        self->watch = sandbox_request_attach (self, self->context, g_cancellable_source_new (self->cancellable),
                                              G_SOURCE_FUNC (sandbox_request_cancelled_cb));
    }
  g_mutex_unlock (&self->lock);
}

/* An answer of the wrong kind is a fault of the driver; the caller gets an error for it. */
static gboolean
sandbox_request_check_kind (SandboxRequest *self,
                            GType           kind)
{
  if (kind == self->answer || g_type_is_a (kind, self->answer))
    return TRUE;

  g_critical ("A request for %s was answered with %s", g_type_name (self->answer), g_type_name (kind));
  sandbox_request_settle (self, NULL,
                          g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_FAILED,
                                       "The driver answered with %s where %s was asked for",
                                       g_type_name (kind), g_type_name (self->answer)));

  return FALSE;
}

/**
 * sandbox_request_return_done:
 * @self: a request
 *
 * Answers that the work is done.
 *
 * Since: 1.0
 */
void
sandbox_request_return_done (SandboxRequest *self)
{
  g_return_if_fail (SANDBOX_IS_REQUEST (self));

  if (sandbox_request_check_kind (self, G_TYPE_NONE))
    sandbox_request_settle (self, NULL, NULL);
}

/**
 * sandbox_request_return_bytes:
 * @self: a request
 * @bytes: the answer
 *
 * Answers with bytes.
 *
 * Since: 1.0
 */
void
sandbox_request_return_bytes (SandboxRequest *self,
                              GBytes         *bytes)
{
  g_return_if_fail (SANDBOX_IS_REQUEST (self));
  g_return_if_fail (bytes != NULL);

  if (sandbox_request_check_kind (self, G_TYPE_BYTES))
    sandbox_request_settle (self, g_bytes_ref (bytes), NULL);
}

/**
 * sandbox_request_return_object:
 * @self: a request
 * @object: the answer
 *
 * Answers with an object of the type that was asked for.
 *
 * Since: 1.0
 */
void
sandbox_request_return_object (SandboxRequest *self,
                               GObject        *object)
{
  g_return_if_fail (SANDBOX_IS_REQUEST (self));
  g_return_if_fail (G_IS_OBJECT (object));

  if (sandbox_request_check_kind (self, G_OBJECT_TYPE (object)))
    sandbox_request_settle (self, g_object_ref (object), NULL);
}

/**
 * sandbox_request_return_error:
 * @self: a request
 * @error: what went wrong
 *
 * Answers with an error.
 *
 * It should be of %SANDBOX_ERROR, or %G_IO_ERROR_CANCELLED after a cancellation.
 *
 * Since: 1.0
 */
void
sandbox_request_return_error (SandboxRequest *self,
                              const GError   *error)
{
  g_return_if_fail (SANDBOX_IS_REQUEST (self));
  g_return_if_fail (error != NULL);

  sandbox_request_settle (self, NULL, g_error_copy (error));
}

/**
 * sandbox_request_return_failure:
 * @self: a request
 * @code: the kind of error
 * @message: what was attempted, and what went wrong
 *
 * Answers with an error of %SANDBOX_ERROR.
 *
 * Since: 1.0
 */
void
sandbox_request_return_failure (SandboxRequest *self,
                                SandboxError    code,
                                const char     *message)
{
  g_return_if_fail (SANDBOX_IS_REQUEST (self));
  g_return_if_fail (message != NULL);

  sandbox_request_settle (self, NULL, g_error_new_literal (SANDBOX_ERROR, (int) code, message));
}

/**
 * sandbox_request_report_progress:
 * @self: a request
 * @bytes: how many bytes have been copied
 * @files: how many files and links have been copied
 * @skipped: how many things have been left out
 *
 * Tells how far an import or export has come.
 *
 * It may be called from any thread and as often as one likes: the host hears of it ten times a second
 * at most, and of the last numbers before the answer. Other requests have nobody to tell.
 *
 * Since: 1.0
 */
void
sandbox_request_report_progress (SandboxRequest *self,
                                 guint64         bytes,
                                 guint64         files,
                                 guint64         skipped)
{
  gint64   now = g_get_monotonic_time ();
  gboolean due = FALSE;

  g_return_if_fail (SANDBOX_IS_REQUEST (self));

  g_mutex_lock (&self->lock);
  self->progress = (SandboxProgress){ bytes, files, skipped };
  due = self->progress_func != NULL && self->state == STATE_OPEN && now - self->told_at >= PROGRESS_INTERVAL_US;
  if (due)
    self->told_at = now;
  g_mutex_unlock (&self->lock);

  if (due)
    sandbox_request_tell_progress (self);
}

/**
 * sandbox_request_is_cancelled:
 * @self: a request
 *
 * Tells whether the caller has lost interest.
 *
 * Returns: whether the work should end
 *
 * Since: 1.0
 */
gboolean
sandbox_request_is_cancelled (SandboxRequest *self)
{
  gboolean cancelled = FALSE;

  g_return_val_if_fail (SANDBOX_IS_REQUEST (self), FALSE);

  g_mutex_lock (&self->lock);
  cancelled = self->cancelled;
  g_mutex_unlock (&self->lock);

  return cancelled || g_cancellable_is_cancelled (self->cancellable);
}

/**
 * sandbox_request_may_block:
 * @self: a request
 *
 * Tells whether the caller waits in a synchronous call, so that short blocking work may be done
 * before the function returns.
 *
 * Returns: whether the function may block
 *
 * Since: 1.0
 */
gboolean
sandbox_request_may_block (SandboxRequest *self)
{
  g_return_val_if_fail (SANDBOX_IS_REQUEST (self), FALSE);

  return self->may_block;
}

gpointer
sandbox_request_propagate_pointer (GAsyncResult *result,
                                   gpointer      source_object,
                                   gpointer      source_tag,
                                   GError      **error)
{
  g_return_val_if_fail (g_task_is_valid (result, source_object), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, source_tag), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

gboolean
sandbox_request_propagate_done (GAsyncResult *result,
                                gpointer      source_object,
                                gpointer      source_tag,
                                GError      **error)
{
  g_return_val_if_fail (g_task_is_valid (result, source_object), FALSE);
  g_return_val_if_fail (g_async_result_is_tagged (result, source_tag), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}
