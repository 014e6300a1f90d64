/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-service.h"

#include "sandbox-http-connection.h"
#include "sandbox-http-ticket.h"

#include <fcntl.h>
#include <unistd.h>

/* Connections that wait for a request or its body, beside those whose requests the policy limits. Who comes then takes the place
 * of the one that has waited for the longest time. */
#define MAX_WAITING 32

/* As many as come at once find room to wait for the thread. */
#define ACCEPTED_PER_TURN 16

/* A host that has no descriptor left for guests looks again so much later. */
#define RETRY_MS 50

struct _SandboxHttpService
{
  gatomicrefcount ref_count;
  GWeakRef        gateway;
  GMainContext   *context; /* of the thread, which has it as long as the process lives */

  SandboxHttpRules *rules; /* NULL: nothing is let through */
  GPtrArray        *doors;
  GPtrArray        *connections;
  guint             n_requests;
  guint             n_exchanges;
  gboolean          is_closed;
  GPtrArray        *closers; /* requests that wait for the last exchange */
};

typedef struct
{
  SandboxHttpService *service; /* not owned: it owns this */
  GSocket            *socket;
  GSource            *source;
  gboolean            was_told; /* that guests wait at it */
} Door;

/* ---- The thread ---- */

/* Of one process: a forked child does not have the thread, and makes its own for its own gateways. */
typedef struct
{
  pid_t         pid;
  GMainContext *context;
} Thread;

static Thread *known;

static GMainContext *
sandbox_http_service_begin (void)
{
  Thread *found = g_atomic_pointer_get (&known);
  Thread *made = NULL;

  if (found != NULL && found->pid == getpid ())
    return found->context;

  made = g_new (Thread, 1);
  *made = (Thread){ getpid (), g_main_context_new () };
  if (g_atomic_pointer_compare_and_exchange (&known, found, made))
    {
      /* What libsoup and GIO begin in there ends in there. */
      sandbox_serve_context (made->context, "sandbox-gateway");
      return made->context;
    }

  /* Another one was faster. */
  g_main_context_unref (made->context);
  g_free (made);

  return ((Thread *) g_atomic_pointer_get (&known))->context;
}

/* ---- The service ---- */

static void door_free (gpointer data);

SandboxHttpService *
sandbox_http_service_new (SandboxGateway *gateway)
{
  SandboxHttpService *self = g_new0 (SandboxHttpService, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_weak_ref_init (&self->gateway, gateway);
  self->context = sandbox_http_service_begin ();
  self->doors = g_ptr_array_new_with_free_func (door_free);
  self->connections = g_ptr_array_new ();
  self->closers = g_ptr_array_new_with_free_func (g_object_unref);

  return self;
}

GMainContext *
sandbox_http_service_get_context (SandboxHttpService *self)
{
  return self->context;
}

SandboxHttpService *
sandbox_http_service_ref (SandboxHttpService *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_http_service_unref (SandboxHttpService *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_assert (self->connections->len == 0);
  g_clear_pointer (&self->doors, g_ptr_array_unref);
  g_clear_pointer (&self->connections, g_ptr_array_unref);
  g_clear_pointer (&self->closers, g_ptr_array_unref);
  g_clear_pointer (&self->rules, sandbox_http_rules_unref);
  g_weak_ref_clear (&self->gateway);
  g_free (self);
}

SandboxHttpRules *
sandbox_http_service_get_rules (SandboxHttpService *self)
{
  return self->rules;
}

gboolean
sandbox_http_service_has_room (SandboxHttpService *self)
{
  return self->n_requests < sandbox_network_policy_get_max_requests (sandbox_http_rules_get_policy (self->rules));
}

void
sandbox_http_service_take (SandboxHttpService *self)
{
  self->n_requests++;
}

void
sandbox_http_service_release (SandboxHttpService *self)
{
  self->n_requests--;
}

void
sandbox_http_service_hold (SandboxHttpService *self)
{
  sandbox_http_service_ref (self);
  self->n_exchanges++;
}

static void
sandbox_http_service_answer_closers (SandboxHttpService *self)
{
  if (self->n_exchanges > 0)
    return;

  for (guint i = 0; i < self->closers->len; i++)
    sandbox_request_return_done (g_ptr_array_index (self->closers, i));
  g_ptr_array_set_size (self->closers, 0);
}

void
sandbox_http_service_unhold (gpointer data)
{
  SandboxHttpService *self = data;

  self->n_exchanges--;
  sandbox_http_service_answer_closers (self);
  sandbox_http_service_unref (self);
}

/* ---- What it has to say ---- */

void
sandbox_http_service_emit_answered (SandboxHttpService *self,
                                    const char         *method,
                                    const char         *origin,
                                    guint               status,
                                    guint64             request_bytes,
                                    guint64             response_bytes,
                                    guint64             time_us)
{
  g_autoptr (SandboxGateway) gateway = g_weak_ref_get (&self->gateway);

  if (gateway != NULL)
    sandbox_gateway_emit_answered (gateway, method, origin, status, request_bytes, response_bytes, time_us);
}

void
sandbox_http_service_emit_denied (SandboxHttpService *self,
                                  const char         *origin,
                                  const char         *reason)
{
  g_autoptr (SandboxGateway) gateway = g_weak_ref_get (&self->gateway);

  if (gateway != NULL)
    sandbox_gateway_emit_denied (gateway, origin, reason);
}

void
sandbox_http_service_emit_failed (SandboxHttpService *self,
                                  const GError       *error)
{
  g_autoptr (SandboxGateway) gateway = g_weak_ref_get (&self->gateway);

  if (gateway != NULL)
    sandbox_gateway_emit_failed (gateway, error);
}

/* ---- Connections ---- */

void
sandbox_http_service_forget (SandboxHttpService    *self,
                             SandboxHttpConnection *connection)
{
  if (g_ptr_array_remove_fast (self->connections, connection))
    sandbox_http_connection_unref (connection);
}

/* Those that came in at @door, or that are busy; all of them with neither. */
static void
sandbox_http_service_close_connections (SandboxHttpService *self,
                                        GSocket            *door)
{
  for (guint i = self->connections->len; i > 0; i--)
    {
      SandboxHttpConnection *connection = g_ptr_array_index (self->connections, i - 1);

      if (door == NULL || sandbox_http_connection_get_door (connection) == door)
        sandbox_http_connection_close (connection);
    }
}

static void
sandbox_http_service_make_room (SandboxHttpService *self)
{
  SandboxHttpConnection *oldest = NULL;
  guint                  n_waiting = 0;

  for (guint i = 0; i < self->connections->len; i++)
    {
      SandboxHttpConnection *connection = g_ptr_array_index (self->connections, i);

      if (sandbox_http_connection_is_busy (connection))
        continue;
      n_waiting++;
      if (oldest == NULL || sandbox_http_connection_get_since (connection) < sandbox_http_connection_get_since (oldest))
        oldest = connection;
    }
  if (n_waiting >= MAX_WAITING)
    sandbox_http_connection_close (oldest);
}

/* ---- Doors ---- */

static void
door_unwatch (Door *self)
{
  if (self->source != NULL)
    g_source_destroy (self->source);
  g_clear_pointer (&self->source, g_source_unref);
}

static void
door_free (gpointer data)
{
  Door *self = data;

  door_unwatch (self);
  g_clear_object (&self->socket);
  g_free (self);
}

static void door_watch (Door *self);

static gboolean
door_retry_cb (gpointer user_data)
{
  door_watch (user_data);

  return G_SOURCE_REMOVE;
}

static void
door_attach (Door       *self,
             GSource    *source,
             GSourceFunc func)
{
  door_unwatch (self);
  self->source = source;
  g_source_set_callback (source, func, self, NULL);
  g_source_attach (source, self->service->context);
}

/* Whether the next descriptor, which gets the lowest number that is free, leaves those that connections to origins need. */
static gboolean
door_may_accept (Door *self)
{
  const int      fd = fcntl (g_socket_get_fd (self->socket), F_DUPFD_CLOEXEC, 0);
  const gboolean may = fd >= 0 && (guint) fd < sandbox_http_ticket_get_reserve ();

  if (fd >= 0)
    close (fd);

  return may;
}

static void
door_tell_waiting (Door *self)
{
  g_autoptr (GError) error = g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "Commands wait for the gateway, as this process has too few descriptors left");

  if (!self->was_told)
    sandbox_http_service_emit_failed (self->service, error);
  self->was_told = TRUE;
}

static gboolean
door_accept_cb (GSocket     *socket,
                GIOCondition condition,
                gpointer     user_data)
{
  Door               *self = user_data;
  SandboxHttpService *service = self->service;

  for (guint i = 0; i < ACCEPTED_PER_TURN; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GSocket) accepted = NULL;

      if (door_may_accept (self))
        accepted = g_socket_accept (socket, NULL, &error);
      if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
        break;
      if (accepted == NULL)
        {
          door_tell_waiting (self);
          door_attach (self, g_timeout_source_new (RETRY_MS), door_retry_cb);
          return G_SOURCE_REMOVE;
        }
      self->was_told = FALSE;
      sandbox_http_service_make_room (service);
      g_ptr_array_add (service->connections, sandbox_http_connection_new (service, self->socket, accepted));
    }

  return G_SOURCE_CONTINUE;
}

static void
door_watch (Door *self)
{
  door_attach (self, g_socket_create_source (self->socket, G_IO_IN, NULL), G_SOURCE_FUNC (door_accept_cb));
}

void
sandbox_http_service_add_door (SandboxHttpService *self,
                               GSocket            *door)
{
  Door *added = NULL;

  if (self->is_closed)
    return;

  added = g_new0 (Door, 1);
  added->service = self;
  added->socket = g_object_ref (door);
  g_socket_set_blocking (door, FALSE);
  g_ptr_array_add (self->doors, added);
  door_watch (added);
}

void
sandbox_http_service_remove_door (SandboxHttpService *self,
                                  GSocket            *door)
{
  for (guint i = 0; i < self->doors->len; i++)
    {
      Door *removed = g_ptr_array_index (self->doors, i);

      if (removed->socket != door)
        continue;

      sandbox_http_service_close_connections (self, door);
      g_socket_close (door, NULL);
      g_ptr_array_remove_index_fast (self->doors, i);
      return;
    }
}

/* ---- Policy and end ---- */

void
sandbox_http_service_set_rules (SandboxHttpService *self,
                                SandboxHttpRules   *rules)
{
  g_autoptr (SandboxHttpRules) old = g_steal_pointer (&self->rules);

  /* One that has said nothing yet would be judged by the new rules, but nobody is to rely on that. */
  sandbox_http_service_close_connections (self, NULL);
  if (old != NULL)
    sandbox_http_rules_end (old);
  self->rules = rules != NULL && !self->is_closed ? sandbox_http_rules_ref (rules) : NULL;
}

void
sandbox_http_service_close (SandboxHttpService *self,
                            SandboxRequest     *request)
{
  self->is_closed = TRUE;
  sandbox_http_service_set_rules (self, NULL);
  for (guint i = 0; i < self->doors->len; i++)
    g_socket_close (((Door *) g_ptr_array_index (self->doors, i))->socket, NULL);
  g_ptr_array_set_size (self->doors, 0);
  if (request != NULL)
    g_ptr_array_add (self->closers, g_object_ref (request));
  sandbox_http_service_answer_closers (self);
}
