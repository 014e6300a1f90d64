/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-gateway-relay-private.h"

#include "sandbox-backend-private.h"
#include "sandbox-session-private.h"

#include <string.h>

/* What waits for the host, of each kind, and how much of it a guest can have chosen. */
#define MAX_WAITING 256
/* A handler that waits in a synchronous call is told there what comes meanwhile, and no handler below that: a guest could have handlers
 * below handlers until there is no stack. So many things at a time, as all above it waits. */
#define MAX_DEPTH 2
#define TOLD_BELOW 8
#define MAX_ORIGIN_BYTES 512

typedef enum
{
  NEWS_REQUEST,
  NEWS_DENIED,
  NEWS_ERROR,
  N_NEWS,
} SandboxNewsKind;

typedef struct
{
  SandboxNewsKind kind;
  char           *origin;
  char           *text; /* method or reason */
  guint           status;
  guint64         request_bytes;
  guint64         response_bytes;
  guint64         time_us;
  GError         *error;
} SandboxNews;

struct _SandboxGatewayRelay
{
  gatomicrefcount    ref_count; /* also held by the handlers at the gateway */
  SandboxDispatcher *dispatcher;
  SandboxBell        bell;

  GMutex          lock;    /* guards what follows */
  SandboxSession *session; /* no references */
  SandboxBackend *backend;
  GQueue          waiting; /* SandboxNews */
  guint           n_waiting[N_NEWS];
  guint           n_left_out[N_NEWS];
  guint           n_telling; /* threads of the host, or calls below each other */
};

static void
sandbox_news_free (gpointer data)
{
  SandboxNews *news = data;

  g_free (news->origin);
  g_free (news->text);
  g_clear_error (&news->error);
  g_free (news);
}

static SandboxGatewayRelay *
sandbox_gateway_relay_ref (SandboxGatewayRelay *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_gateway_relay_unref (gpointer relay)
{
  SandboxGatewayRelay *self = relay;

  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_queue_clear_full (&self->waiting, sandbox_news_free);
  sandbox_dispatcher_unref (self->dispatcher);
  g_mutex_clear (&self->lock);
  g_free (self);
}

static void
sandbox_gateway_relay_closure_unref (gpointer  data,
                                     GClosure *closure)
{
  sandbox_gateway_relay_unref (data);
}

void
sandbox_gateway_relay_set_session (SandboxGatewayRelay *self,
                                   SandboxSession      *session)
{
  g_mutex_lock (&self->lock);
  self->session = session;
  g_mutex_unlock (&self->lock);
}

void
sandbox_gateway_relay_set_backend (SandboxGatewayRelay *self,
                                   SandboxBackend      *backend)
{
  g_mutex_lock (&self->lock);
  self->backend = backend;
  g_mutex_unlock (&self->lock);
}

void
sandbox_gateway_relay_close (SandboxGatewayRelay *self)
{
  g_mutex_lock (&self->lock);
  self->session = NULL;
  self->backend = NULL;
  g_queue_clear_full (&self->waiting, sandbox_news_free);
  memset (self->n_waiting, 0, sizeof self->n_waiting);
  memset (self->n_left_out, 0, sizeof self->n_left_out);
  g_mutex_unlock (&self->lock);

  sandbox_dispatcher_silence (self->dispatcher, &self->bell);
}

/* The next one, with who is to tell it; both are NULL when there is nobody any more. */
static SandboxNews *
sandbox_gateway_relay_pop (SandboxGatewayRelay *self,
                           SandboxSession     **session,
                           SandboxBackend     **backend)
{
  SandboxNews *news = NULL;

  g_mutex_lock (&self->lock);
  news = g_queue_pop_head (&self->waiting);
  if (news != NULL)
    self->n_waiting[news->kind]--;
  g_set_object (session, self->session);
  g_set_object (backend, self->backend);
  g_mutex_unlock (&self->lock);

  return news;
}

static void
sandbox_news_tell (SandboxNews    *self,
                   SandboxSession *session,
                   SandboxBackend *backend)
{
  switch (self->kind)
    {
    case NEWS_REQUEST:
      if (session != NULL)
        sandbox_session_emit_network_request (session, self->text, self->origin, self->status,
                                              self->request_bytes, self->response_bytes, self->time_us);
      break;

    case NEWS_DENIED:
      if (session != NULL)
        sandbox_session_emit_network_denied (session, self->origin, self->text);
      break;

    case NEWS_ERROR:
      if (backend != NULL)
        sandbox_backend_emit_gateway_error (backend, self->error);
      break;

    case N_NEWS:
      g_assert_not_reached ();
    }
}

/* Of what found no room. It needs none itself, so no guest keeps it from the host. */
static void
sandbox_gateway_relay_tell_left_out (SandboxGatewayRelay *self)
{
  guint n[N_NEWS];
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  g_mutex_lock (&self->lock);
  memcpy (n, self->n_left_out, sizeof n);
  memset (self->n_left_out, 0, sizeof n);
  g_set_object (&backend, self->backend);
  g_mutex_unlock (&self->lock);

  if (n[NEWS_REQUEST] == 0 && n[NEWS_DENIED] == 0 && n[NEWS_ERROR] == 0)
    return;

  error = g_error_new (SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                       "The host did not keep up, and was not told of %u requests that were passed on, %u that were refused and %u errors",
                       n[NEWS_REQUEST], n[NEWS_DENIED], n[NEWS_ERROR]);
  g_debug ("%s", error->message);
  if (backend != NULL)
    sandbox_backend_emit_gateway_error (backend, error);
}

static void
sandbox_gateway_relay_deliver_cb (gpointer user_data);

static void
sandbox_gateway_relay_ring (SandboxGatewayRelay *self)
{
  if (!sandbox_dispatcher_ring (self->dispatcher, &self->bell, sandbox_gateway_relay_deliver_cb,
                                sandbox_gateway_relay_ref (self), sandbox_gateway_relay_unref))
    sandbox_gateway_relay_unref (self);
}

/* In a thread of the host. What comes meanwhile has to wait for the next turn, so that a guest does not keep it here. */
static void
sandbox_gateway_relay_deliver_cb (gpointer user_data)
{
  SandboxGatewayRelay *self = user_data;
  guint                n = 0;
  gboolean             is_deep = FALSE;
  gboolean             more = FALSE;

  g_mutex_lock (&self->lock);
  n = self->n_telling == 0 ? self->waiting.length : MIN (self->waiting.length, TOLD_BELOW);
  is_deep = self->n_telling == MAX_DEPTH;
  if (!is_deep)
    self->n_telling++;
  g_mutex_unlock (&self->lock);
  /* Who is telling goes on. */
  if (is_deep)
    return;

  for (; n > 0; n--)
    {
      g_autoptr (SandboxSession) session = NULL;
      g_autoptr (SandboxBackend) backend = NULL;
      SandboxNews *news = sandbox_gateway_relay_pop (self, &session, &backend);

      if (news == NULL)
        break;
      sandbox_news_tell (news, session, backend);
      sandbox_news_free (news);
    }
  sandbox_gateway_relay_tell_left_out (self);

  g_mutex_lock (&self->lock);
  self->n_telling--;
  more = self->waiting.length > 0;
  g_mutex_unlock (&self->lock);
  if (more)
    sandbox_gateway_relay_ring (self);
}

/* @news is taken. */
static void
sandbox_gateway_relay_push (SandboxGatewayRelay *self,
                            SandboxNews         *news)
{
  gboolean room = FALSE;

  g_mutex_lock (&self->lock);
  room = self->n_waiting[news->kind] < MAX_WAITING;
  if (room)
    g_queue_push_tail (&self->waiting, news);
  /* Whoever takes something out looks for what found no room. */
  (room ? self->n_waiting : self->n_left_out)[news->kind]++;
  g_mutex_unlock (&self->lock);

  if (room)
    sandbox_gateway_relay_ring (self);
  else
    sandbox_news_free (news);
}

/* Whether the host listens. Under the lock, as long as which neither of the two can go away. */
static gboolean
sandbox_gateway_relay_is_wanted (SandboxGatewayRelay *self,
                                 SandboxNewsKind      kind)
{
  gboolean wanted = FALSE;

  g_mutex_lock (&self->lock);
  switch (kind)
    {
    case NEWS_REQUEST:
      wanted = self->session != NULL && sandbox_session_wants_network_requests (self->session);
      break;

    case NEWS_DENIED:
      wanted = self->session != NULL && sandbox_session_wants_network_denied (self->session);
      break;

    case NEWS_ERROR:
      wanted = self->backend != NULL && sandbox_backend_wants_gateway_errors (self->backend);
      break;

    case N_NEWS:
      g_assert_not_reached ();
    }
  g_mutex_unlock (&self->lock);

  return wanted;
}

static SandboxNews *
sandbox_news_new (SandboxNewsKind kind,
                  const char     *origin,
                  const char     *text)
{
  SandboxNews *self = g_new0 (SandboxNews, 1);

  self->kind = kind;
  self->origin = origin != NULL ? g_utf8_make_valid (origin, strnlen (origin, MAX_ORIGIN_BYTES)) : NULL;
  self->text = g_strdup (text);

  return self;
}

static void
sandbox_gateway_relay_answered_cb (SandboxGateway *gateway,
                                   const char     *method,
                                   const char     *origin,
                                   guint           status,
                                   guint64         request_bytes,
                                   guint64         response_bytes,
                                   guint64         time_us,
                                   gpointer        user_data)
{
  SandboxGatewayRelay *self = user_data;
  SandboxNews         *news = NULL;

  if (!sandbox_gateway_relay_is_wanted (self, NEWS_REQUEST))
    {
      g_debug ("%s %s: %u, %" G_GUINT64_FORMAT " bytes out, %" G_GUINT64_FORMAT " in, %" G_GUINT64_FORMAT " us",
               method, origin, status, request_bytes, response_bytes, time_us);
      return;
    }

  news = sandbox_news_new (NEWS_REQUEST, origin, method);
  news->status = status;
  news->request_bytes = request_bytes;
  news->response_bytes = response_bytes;
  news->time_us = time_us;
  sandbox_gateway_relay_push (self, news);
}

static void
sandbox_gateway_relay_denied_cb (SandboxGateway *gateway,
                                 const char     *origin,
                                 const char     *reason,
                                 gpointer        user_data)
{
  SandboxGatewayRelay *self = user_data;

  if (sandbox_gateway_relay_is_wanted (self, NEWS_DENIED))
    sandbox_gateway_relay_push (self, sandbox_news_new (NEWS_DENIED, origin, reason));
  else
    g_debug ("A request to %.*s was refused: %s", MAX_ORIGIN_BYTES, origin != NULL ? origin : "somebody", reason);
}

static void
sandbox_gateway_relay_failed_cb (SandboxGateway *gateway,
                                 const GError   *error,
                                 gpointer        user_data)
{
  SandboxGatewayRelay *self = user_data;
  SandboxNews         *news = NULL;

  if (!sandbox_gateway_relay_is_wanted (self, NEWS_ERROR))
    {
      g_debug ("A request through the gateway failed: %s", error->message);
      return;
    }

  news = sandbox_news_new (NEWS_ERROR, NULL, NULL);
  news->error = g_error_copy (error);
  sandbox_gateway_relay_push (self, news);
}

static void
sandbox_gateway_relay_listen (SandboxGatewayRelay *self,
                              SandboxGateway      *gateway,
                              const char          *signal,
                              GCallback            callback)
{
  g_signal_connect_data (gateway, signal, callback, sandbox_gateway_relay_ref (self),
                         sandbox_gateway_relay_closure_unref, G_CONNECT_DEFAULT);
}

SandboxGatewayRelay *
sandbox_gateway_relay_new (SandboxGateway    *gateway,
                           SandboxDispatcher *dispatcher)
{
  SandboxGatewayRelay *self = g_new0 (SandboxGatewayRelay, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_mutex_init (&self->lock);
  g_queue_init (&self->waiting);
  self->dispatcher = sandbox_dispatcher_ref (dispatcher);
  sandbox_gateway_relay_listen (self, gateway, "answered", G_CALLBACK (sandbox_gateway_relay_answered_cb));
  sandbox_gateway_relay_listen (self, gateway, "denied", G_CALLBACK (sandbox_gateway_relay_denied_cb));
  sandbox_gateway_relay_listen (self, gateway, "failed", G_CALLBACK (sandbox_gateway_relay_failed_cb));

  return self;
}
