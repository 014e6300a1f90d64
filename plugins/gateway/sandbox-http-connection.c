/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One connection of a guest: a request, its answer, the next request. What is known of the guest's side is in the
 * state; the origin's side is an exchange. Whatever is wrong closes the connection, so that nobody ever reads on from a place
 * that two sides could see differently.
 */

#include "sandbox-http-connection.h"

#include "sandbox-http-exchange.h"

#include <string.h>
#include <sys/socket.h>

#define HEAD_US (5 * G_USEC_PER_SEC)  /* for a head, from its first byte on */
#define IDLE_US (60 * G_USEC_PER_SEC) /* between requests; a guest that needs the room closes it earlier */
#define DRAIN_US (1 * G_USEC_PER_SEC)

#define INPUT_BYTES SANDBOX_HTTP_MAX_HEAD_BYTES

/* A body of up to so many bytes is complete before an origin is asked: one that comes slowly takes no room from others. */
#define EARLY_BODY_BYTES (64 * 1024)

/* An answer goes through one buffer: what it begins with, then pieces of the body, each between its chunk size and the end of
 * the line. A body of a known length that fits in is complete before the guest hears of it. */
#define OUTPUT_BYTES (128 * 1024)
#define CHUNK_SIZE_BYTES 7 /* "%05x\r\n" */
#define CHUNK_END_BYTES 2
#define CHUNK_LAST "0\r\n\r\n"

/* So much of an answer is passed on at once, before others have their turn. */
#define TURN_BYTES (1024 * 1024)

/* What a guest that is told off may still send, so that it reads why and does not see a reset first. */
#define DRAIN_BYTES (1024 * 1024)

#define DENIED "Sandbox network denied"
#define BUSY "Sandbox broker busy"
#define REFUSED "Sandbox request refused"
#define TOO_LARGE "Sandbox request too large"
#define UPSTREAM_FAILED "Sandbox upstream request failed"

typedef enum
{
  STATE_HEAD,   /* waits for a request, or for the rest of its head */
  STATE_BODY,   /* waits for a body, or for enough of it */
  STATE_ASKED,  /* the origin has been asked */
  STATE_ANSWER, /* its answer is being passed on */
  STATE_TEXT,   /* a text of our own is being said, after which the connection ends */
  STATE_DRAIN,  /* that was said; what the guest still sends is thrown away */
  STATE_CLOSED,
} State;

struct _SandboxHttpConnection
{
  grefcount           ref_count;
  SandboxHttpService *service; /* NULL once closed: it has let go of this */
  GSocket            *door;
  GSocket            *socket;
  State               state;
  gint64              since;
  GSource            *readable; /* each NULL when not waited for */
  GSource            *writable;
  GSource            *hangup;
  GSource            *upstream;
  GSource            *deadline;
  gint64              ends; /* monotonic */

  char    *input; /* NULL when empty */
  gsize    input_size;
  gsize    input_seen;
  gboolean input_ended; /* the guest says no more; it may still listen */
  gsize    n_drained;

  /* The request */
  gboolean               keep_alive;
  gboolean               can_chunk;
  gboolean               is_bodiless; /* the answer has no body, whatever its head says */
  SandboxHttpBody        body;
  gint64                 body_length; /* -1: it comes in chunks */
  gboolean               body_done;
  guint64                n_request;
  GByteArray            *early; /* of the body, before the origin is asked */
  SandboxHttpBodyStream *stream;
  gboolean               stream_hungry;
  gboolean               is_processing;
  SandboxHttpExchange   *exchange;
  gboolean               has_room; /* one of the session's requests is this */
  gint64                 judged;   /* monotonic */

  /* The answer */
  guint    status;
  gint64   left;        /* of a body of known length; -1: it goes out in chunks */
  gboolean is_unframed; /* its body ends with the connection of the origin */
  guint64  n_response;
  gboolean answer_begun; /* the guest has been sent some of it */
  gboolean answer_done;  /* all of it is in the output */
  char    *output;
  gsize    output_from; /* the bytes from here on */
  gsize    output_size; /* to here are to be sent */
};

/* A short request needs buffers for a moment only. They are so large that the allocator would give their memory back to the kernel
 * each time; so the thread keeps one of each for the next request. */
static char *spare_input;
static char *spare_output;

static void sandbox_http_connection_process (SandboxHttpConnection *self);
static void sandbox_http_connection_pump (SandboxHttpConnection *self);

static char *
take_buffer (char **spare,
             gsize  size)
{
  return *spare != NULL ? g_steal_pointer (spare) : g_malloc (size);
}

static void
keep_buffer (char **spare,
             char **buffer)
{
  if (*spare == NULL)
    *spare = g_steal_pointer (buffer);
  g_clear_pointer (buffer, g_free);
}

static SandboxHttpConnection *
sandbox_http_connection_ref (SandboxHttpConnection *self)
{
  g_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_http_connection_unref (SandboxHttpConnection *self)
{
  if (!g_ref_count_dec (&self->ref_count))
    return;

  g_clear_object (&self->door);
  g_clear_object (&self->socket);
  keep_buffer (&spare_input, &self->input);
  keep_buffer (&spare_output, &self->output);
  g_clear_pointer (&self->early, g_byte_array_unref);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxHttpConnection, sandbox_http_connection_unref)

static void
clear_source (GSource **source)
{
  if (*source == NULL)
    return;

  g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

gboolean
sandbox_http_connection_is_busy (SandboxHttpConnection *self)
{
  return self->state == STATE_ASKED || self->state == STATE_ANSWER;
}

/* ---- The end of a request, and of the connection ---- */

/* The guest's account of it is over, however it ended. */
static void
sandbox_http_connection_account (SandboxHttpConnection *self)
{
  if (!self->has_room)
    return;

  self->has_room = FALSE;
  sandbox_http_service_release (self->service);
  sandbox_http_service_emit_answered (self->service, sandbox_http_exchange_get_method (self->exchange),
                                      sandbox_http_exchange_get_origin (self->exchange), self->status,
                                      self->n_request, self->n_response, (guint64) (g_get_monotonic_time () - self->judged));
}

static void
sandbox_http_connection_drop_exchange (SandboxHttpConnection *self)
{
  clear_source (&self->upstream);
  clear_source (&self->hangup);
  sandbox_http_connection_account (self);
  if (self->stream != NULL)
    {
      sandbox_http_body_stream_set_func (self->stream, NULL, NULL);
      sandbox_http_body_stream_finish (self->stream, g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "The request was given up"));
      g_clear_object (&self->stream);
    }
  if (self->exchange != NULL)
    {
      sandbox_http_exchange_cancel (self->exchange);
      g_clear_pointer (&self->exchange, sandbox_http_exchange_unref);
    }
}

void
sandbox_http_connection_close (SandboxHttpConnection *self)
{
  g_autoptr (SandboxHttpConnection) keep = sandbox_http_connection_ref (self);
  SandboxHttpService *service = self->service;

  if (self->state == STATE_CLOSED)
    return;

  sandbox_http_connection_drop_exchange (self);
  self->state = STATE_CLOSED;
  self->service = NULL;
  clear_source (&self->readable);
  clear_source (&self->writable);
  clear_source (&self->deadline);
  g_socket_close (self->socket, NULL);
  sandbox_http_service_forget (service, self);
}

/* ---- Sources ---- */

static void
sandbox_http_connection_unref_cb (gpointer data)
{
  sandbox_http_connection_unref (data);
}

static GSource *
sandbox_http_connection_attach (SandboxHttpConnection *self,
                                GSource               *source,
                                GSourceFunc            func)
{
  /* No callback runs the loop, but the loop has less to do when one might. */
  g_source_set_can_recurse (source, TRUE);
  g_source_set_callback (source, func, sandbox_http_connection_ref (self), sandbox_http_connection_unref_cb);
  g_source_attach (source, sandbox_http_service_get_context (self->service));

  return source;
}

/* Goes off at its ready time, and not again until that is set anew. A timeout source of GLib sets its own after each callback. */
static gboolean
timer_dispatch (GSource    *source,
                GSourceFunc func,
                gpointer    user_data)
{
  g_source_set_ready_time (source, -1);

  return func (user_data);
}

static GSourceFuncs timer_funcs = { .dispatch = timer_dispatch };

static gboolean sandbox_http_connection_readable_cb (GSocket     *socket,
                                                     GIOCondition condition,
                                                     gpointer     user_data);
static gboolean sandbox_http_connection_writable_cb (GSocket     *socket,
                                                     GIOCondition condition,
                                                     gpointer     user_data);
static gboolean sandbox_http_connection_hangup_cb (GSocket     *socket,
                                                   GIOCondition condition,
                                                   gpointer     user_data);
static gboolean sandbox_http_connection_deadline_cb (gpointer user_data);

/* Reading goes on as long as there is room; once the guest has said all, only that it goes away is waited for. */
static void
sandbox_http_connection_watch (SandboxHttpConnection *self)
{
  const gboolean wants = self->state != STATE_CLOSED && !self->input_ended && self->input_size < INPUT_BYTES;
  const gboolean waits = !wants && sandbox_http_connection_is_busy (self);

  if (wants && self->readable == NULL)
    self->readable = sandbox_http_connection_attach (self, g_socket_create_source (self->socket, G_IO_IN, NULL),
                                                     G_SOURCE_FUNC (sandbox_http_connection_readable_cb));
  else if (!wants)
    clear_source (&self->readable);

  if (waits && self->hangup == NULL)
    self->hangup = sandbox_http_connection_attach (self, g_socket_create_source (self->socket, G_IO_HUP | G_IO_ERR, NULL),
                                                   G_SOURCE_FUNC (sandbox_http_connection_hangup_cb));
  else if (!waits)
    clear_source (&self->hangup);
}

/* A timer that goes off too early is set anew then: that costs less than setting it with each request, which is most often later. */
static void
sandbox_http_connection_set_deadline (SandboxHttpConnection *self,
                                      gint64                 us)
{
  self->ends = g_get_monotonic_time () + us;
  if (self->deadline == NULL)
    self->deadline = sandbox_http_connection_attach (self, g_source_new (&timer_funcs, sizeof (GSource)), sandbox_http_connection_deadline_cb);
  else if (g_source_get_ready_time (self->deadline) >= 0 && g_source_get_ready_time (self->deadline) <= self->ends)
    return;
  g_source_set_ready_time (self->deadline, self->ends);
}

/* ---- Writing ---- */

typedef enum
{
  FLUSHED,
  BLOCKED, /* goes on when the guest reads */
  BROKEN,  /* the guest is gone, and the connection closed */
} Flush;

static Flush
sandbox_http_connection_flush (SandboxHttpConnection *self)
{
  while (self->output_from < self->output_size)
    {
      g_autoptr (GError) error = NULL;
      gssize n_sent = g_socket_send (self->socket, self->output + self->output_from, self->output_size - self->output_from, NULL, &error);

      if (n_sent < 0 && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
        {
          sandbox_http_connection_close (self);
          return BROKEN;
        }
      if (n_sent < 0)
        {
          if (self->writable == NULL)
            self->writable = sandbox_http_connection_attach (self, g_socket_create_source (self->socket, G_IO_OUT, NULL),
                                                             G_SOURCE_FUNC (sandbox_http_connection_writable_cb));
          return BLOCKED;
        }
      self->output_from += (gsize) n_sent;
      self->answer_begun = self->answer_begun || self->state == STATE_ANSWER;
    }

  clear_source (&self->writable);
  self->output_from = self->output_size = 0;

  return FLUSHED;
}

static void
sandbox_http_connection_put (SandboxHttpConnection *self,
                             const char            *bytes,
                             gsize                  size)
{
  if (self->output == NULL)
    self->output = take_buffer (&spare_output, OUTPUT_BYTES);
  g_assert (size <= OUTPUT_BYTES - self->output_size);
  memcpy (self->output + self->output_size, bytes, size);
  self->output_size += size;
}

/* Says no more, but lets the guest read what was said. */
static void
sandbox_http_connection_drain (SandboxHttpConnection *self)
{
  self->state = STATE_DRAIN;
  self->n_drained = self->input_size;
  self->input_size = 0;
  g_socket_shutdown (self->socket, FALSE, TRUE, NULL);
  if (self->input_ended)
    {
      sandbox_http_connection_close (self);
      return;
    }

  sandbox_http_connection_set_deadline (self, DRAIN_US);
  sandbox_http_connection_watch (self);
}

/* A text of our own, always the same for the same status, and the end. */
static void
sandbox_http_connection_say (SandboxHttpConnection *self,
                             guint                  status,
                             const char            *text)
{
  g_autofree char *answer = NULL;

  answer = g_strdup_printf ("HTTP/1.1 %u %s\r\nContent-Type: text/plain\r\nContent-Length: %" G_GSIZE_FORMAT "\r\nConnection: close\r\n\r\n%s",
                            status, soup_status_get_phrase (status), strlen (text), self->is_bodiless ? "" : text);
  self->status = status;
  sandbox_http_connection_drop_exchange (self);
  self->state = STATE_TEXT;
  self->output_from = self->output_size = 0;
  sandbox_http_connection_set_deadline (self, DRAIN_US);
  sandbox_http_connection_put (self, answer, strlen (answer));
  if (sandbox_http_connection_flush (self) == FLUSHED)
    sandbox_http_connection_drain (self);
}

/* The guest has asked for what it may not have. An answer that has begun is not mixed with another one. */
static void
sandbox_http_connection_deny (SandboxHttpConnection *self,
                              const char            *host,
                              guint                  status,
                              const char            *text,
                              const char            *reason)
{
  sandbox_http_service_emit_denied (self->service, host, reason);
  if (self->state == STATE_ANSWER && self->answer_begun)
    sandbox_http_connection_close (self);
  else
    sandbox_http_connection_say (self, status, text);
}

/* The origin has not answered well, and the guest is not told why. */
static void
sandbox_http_connection_fail (SandboxHttpConnection *self,
                              guint                  status,
                              const GError          *error)
{
  sandbox_http_service_emit_failed (self->service, error);
  sandbox_http_connection_say (self, status, UPSTREAM_FAILED);
}

/* ---- The answer ---- */

static void
sandbox_http_connection_answered (SandboxHttpConnection *self)
{
  const gboolean goes_on = self->keep_alive && self->body_done && !self->input_ended;

  clear_source (&self->upstream);
  clear_source (&self->hangup);
  sandbox_http_exchange_finish (self->exchange);
  sandbox_http_connection_account (self);
  if (!goes_on)
    {
      sandbox_http_connection_drop_exchange (self);
      sandbox_http_connection_drain (self);
      return;
    }

  g_clear_object (&self->stream);
  g_clear_pointer (&self->exchange, sandbox_http_exchange_unref);
  keep_buffer (&spare_output, &self->output);
  self->state = STATE_HEAD;
  self->is_bodiless = FALSE;
  self->since = g_get_monotonic_time ();
  sandbox_http_connection_set_deadline (self, self->input_size > 0 ? HEAD_US : IDLE_US);
  sandbox_http_connection_process (self);
}

static gboolean
sandbox_http_connection_upstream_cb (GObject *stream,
                                     gpointer user_data)
{
  SandboxHttpConnection *self = user_data;

  clear_source (&self->upstream);
  sandbox_http_connection_pump (self);

  return G_SOURCE_REMOVE;
}

/* Where the next piece of the body goes: what is before it in the buffer is said with it. */
static gssize
sandbox_http_connection_read_piece (SandboxHttpConnection *self,
                                    GError               **error)
{
  const gboolean chunks = self->left < 0;
  const gsize    before = chunks ? CHUNK_SIZE_BYTES : 0;
  const gsize    after = chunks ? CHUNK_END_BYTES + strlen (CHUNK_LAST) : 0;
  char          *piece = self->output + self->output_size + before;
  gsize          room = OUTPUT_BYTES - self->output_size - before - after;
  gssize         n_read = 0;

  if (!chunks)
    room = MIN (room, (guint64) self->left);
  n_read = sandbox_http_exchange_read (self->exchange, piece, room, error);
  if (n_read <= 0)
    return n_read;

  self->n_response += (gsize) n_read;
  if (chunks)
    {
      char size[CHUNK_SIZE_BYTES + 1];

      g_snprintf (size, sizeof size, "%05x\r\n", (guint) n_read);
      memcpy (piece - before, size, before);
      memcpy (piece + n_read, "\r\n", CHUNK_END_BYTES);
      self->output_size += before + (gsize) n_read + CHUNK_END_BYTES;
    }
  else
    {
      self->left -= n_read;
      self->output_size += (gsize) n_read;
    }

  return n_read;
}

/* Whether to read on before anything is said: what is left fits in, or it may be nothing but a head that broke off. */
static gboolean
sandbox_http_connection_can_wait (SandboxHttpConnection *self)
{
  if (self->answer_begun)
    return FALSE;

  return self->left > 0 ? (guint64) self->left <= OUTPUT_BYTES - self->output_size : self->is_unframed && self->n_response == 0;
}

/* The body came to no good end. Who was told a length, or waits for a last chunk, sees that. */
static void
sandbox_http_connection_cut (SandboxHttpConnection *self,
                             guint                  status,
                             const GError          *error)
{
  if (!self->answer_begun)
    {
      self->n_response = 0;
      sandbox_http_connection_fail (self, status, error);
      return;
    }

  sandbox_http_service_emit_failed (self->service, error);
  sandbox_http_connection_close (self);
}

/* A piece of the body, if there is one now; or its end. FALSE: the answer has been cut. */
static gboolean
sandbox_http_connection_fetch (SandboxHttpConnection *self,
                               gssize                *n_read)
{
  const guint64 most = sandbox_network_policy_get_max_response_bytes (sandbox_http_exchange_get_policy (self->exchange));
  g_autoptr (GError) error = NULL;

  *n_read = sandbox_http_connection_read_piece (self, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
    return TRUE;

  /* An answer that only its end of the connection ends, and that has nothing, is a head that broke off. */
  if (*n_read == 0 && (self->left > 0 || (self->is_unframed && self->n_response == 0)))
    g_set_error (&error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT, "%s broke off its answer", sandbox_http_exchange_get_origin (self->exchange));
  else if (self->n_response > most)
    g_set_error (&error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "%s answered with more than %" G_GUINT64_FORMAT " bytes",
                 sandbox_http_exchange_get_origin (self->exchange), most);
  if (error != NULL)
    {
      sandbox_http_connection_cut (self, SOUP_STATUS_BAD_GATEWAY, error);
      return FALSE;
    }

  if (*n_read == 0)
    sandbox_http_connection_put (self, CHUNK_LAST, strlen (CHUNK_LAST));
  self->answer_done = *n_read == 0 || self->left == 0;

  return TRUE;
}

/* Passes on what has come, until there is no more now, the guest does not read, or it is the turn of others. */
static void
sandbox_http_connection_pump (SandboxHttpConnection *self)
{
  gsize turn = 0;

  self->answer_done = self->left == 0;
  while (TRUE)
    {
      gssize n_read = 0;

      if (!self->answer_done)
        {
          if (!sandbox_http_connection_fetch (self, &n_read))
            return;
          if (n_read > 0 && sandbox_http_connection_can_wait (self))
            continue;
        }
      if (!sandbox_http_connection_can_wait (self) && sandbox_http_connection_flush (self) != FLUSHED)
        return;
      if (self->answer_done)
        {
          sandbox_http_connection_answered (self);
          return;
        }

      turn += n_read > 0 ? (gsize) n_read : TURN_BYTES;
      if (turn >= TURN_BYTES)
        {
          GSource *source = sandbox_http_exchange_create_source (self->exchange);

          /* There may be one already: what is not said to the guest yet has a source of its own, which comes here, too. */
          clear_source (&self->upstream);
          self->upstream = sandbox_http_connection_attach (self, source, G_SOURCE_FUNC (sandbox_http_connection_upstream_cb));
          return;
        }
    }
}

static void
sandbox_http_connection_begin_answer (SandboxHttpConnection *self)
{
  g_autoptr (GString) head = g_string_new (NULL);
  const gint64   length = sandbox_http_exchange_get_length (self->exchange);
  const guint    status = sandbox_http_exchange_get_status (self->exchange);
  const guint64  most = sandbox_network_policy_get_max_response_bytes (sandbox_http_exchange_get_policy (self->exchange));
  const gboolean has_length = status != SOUP_STATUS_NO_CONTENT && status != SOUP_STATUS_NOT_MODIFIED;
  g_autoptr (GError) error = NULL;

  self->is_bodiless = self->is_bodiless || !has_length;
  if (!self->is_bodiless && length > 0 && (guint64) length > most)
    g_set_error (&error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "%s has an answer of %" G_GINT64_FORMAT " bytes, of at most %" G_GUINT64_FORMAT,
                 sandbox_http_exchange_get_origin (self->exchange), length, most);
  else if (!self->is_bodiless && length < 0 && !self->can_chunk)
    g_set_error (&error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "%s does not say how long its answer is, and the guest speaks HTTP/1.0",
                 sandbox_http_exchange_get_origin (self->exchange));
  if (error != NULL)
    {
      sandbox_http_connection_fail (self, SOUP_STATUS_BAD_GATEWAY, error);
      return;
    }

  self->status = status;
  self->keep_alive = self->keep_alive && self->body_done;
  self->left = self->is_bodiless ? 0 : length;
  self->is_unframed = !self->is_bodiless && sandbox_http_exchange_is_unframed (self->exchange);
  g_string_append_printf (head, "HTTP/1.1 %u %s\r\n", status, soup_status_get_phrase (status));
  sandbox_http_exchange_append_headers (self->exchange, head);
  if (has_length && length >= 0)
    g_string_append_printf (head, "Content-Length: %" G_GINT64_FORMAT "\r\n", length);
  else if (has_length && self->can_chunk)
    g_string_append (head, "Transfer-Encoding: chunked\r\n");
  if (!self->keep_alive)
    g_string_append (head, "Connection: close\r\n");
  g_string_append (head, "\r\n");
  self->state = STATE_ANSWER;
  self->answer_begun = FALSE;
  sandbox_http_connection_put (self, head->str, head->len);
  sandbox_http_connection_pump (self);
}

static void
sandbox_http_connection_answer_cb (SandboxHttpExchange *exchange,
                                   const GError        *error,
                                   gpointer             data)
{
  g_autoptr (SandboxHttpConnection) self = sandbox_http_connection_ref (data);

  if (error != NULL)
    sandbox_http_connection_fail (self, g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT) ? SOUP_STATUS_GATEWAY_TIMEOUT : SOUP_STATUS_BAD_GATEWAY, error);
  else
    sandbox_http_connection_begin_answer (self);
  if (self->state != STATE_CLOSED)
    sandbox_http_connection_watch (self);
}

/* ---- The request ---- */

static void
sandbox_http_connection_hungry_cb (gpointer data)
{
  SandboxHttpConnection *self = data;

  self->stream_hungry = TRUE;
  sandbox_http_connection_process (self);
}

static void
sandbox_http_connection_ask (SandboxHttpConnection *self)
{
  if (!sandbox_http_service_has_room (self->service))
    {
      sandbox_http_connection_say (self, SOUP_STATUS_SERVICE_UNAVAILABLE, BUSY);
      return;
    }

  sandbox_http_service_take (self->service);
  self->has_room = TRUE;
  self->state = STATE_ASKED;
  if (self->body_done && self->n_request > 0)
    {
      g_autoptr (GBytes) bytes = g_byte_array_free_to_bytes (g_steal_pointer (&self->early));

      sandbox_http_exchange_set_bytes (self->exchange, bytes);
    }
  else if (!self->body_done)
    {
      self->stream = sandbox_http_body_stream_new ();
      sandbox_http_body_stream_push (self->stream, (const char *) self->early->data, self->early->len);
      self->stream_hungry = FALSE;
      sandbox_http_body_stream_set_func (self->stream, sandbox_http_connection_hungry_cb, self);
      sandbox_http_exchange_set_stream (self->exchange, self->stream, self->body_length);
    }
  g_clear_pointer (&self->early, g_byte_array_unref);
  sandbox_http_exchange_send (self->exchange, sandbox_http_connection_answer_cb, self);
}

static void
sandbox_http_connection_too_large (SandboxHttpConnection *self)
{
  sandbox_http_connection_deny (self, NULL, SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE, TOO_LARGE, "the request is larger than the policy allows");
}

/* A head is complete: the only place where it is decided who is asked. */
static void
sandbox_http_connection_judge (SandboxHttpConnection *self,
                               const SandboxHttpHead *head)
{
  SandboxHttpRules     *rules = sandbox_http_service_get_rules (self->service);
  SandboxHttpOrigin    *origin = rules != NULL ? sandbox_http_rules_lookup (rules, head->host) : NULL;
  SandboxNetworkPolicy *policy = NULL;

  self->judged = g_get_monotonic_time ();
  self->is_bodiless = head->method == SANDBOX_HTTP_METHOD_HEAD;
  if (origin == NULL)
    {
      sandbox_http_connection_deny (self, head->host, SOUP_STATUS_FORBIDDEN, DENIED, "the policy does not list the host");
      return;
    }

  policy = sandbox_http_rules_get_policy (rules);
  if (head->framing == SANDBOX_HTTP_BODY_LENGTH && head->length > sandbox_network_policy_get_max_request_bytes (policy))
    {
      sandbox_http_connection_too_large (self);
      return;
    }
  if (!sandbox_http_service_has_room (self->service))
    {
      sandbox_http_connection_say (self, SOUP_STATUS_SERVICE_UNAVAILABLE, BUSY);
      return;
    }

  self->keep_alive = head->keep_alive;
  self->can_chunk = head->minor > 0;
  self->body_length = head->framing == SANDBOX_HTTP_BODY_CHUNKED ? -1 : (gint64) head->length;
  self->body_done = FALSE;
  self->n_request = self->n_response = 0;
  self->status = 0;
  self->early = g_byte_array_new ();
  sandbox_http_body_init (&self->body, head->framing, head->length);
  sandbox_http_service_hold (self->service);
  self->exchange = sandbox_http_exchange_new (rules, origin, head, sandbox_http_service_unhold, self->service);
  self->state = STATE_BODY;
  sandbox_http_connection_set_deadline (self, (gint64) sandbox_network_policy_get_timeout_ms (policy) * 1000);
  if (head->expects_continue)
    {
      const char *go_on = "HTTP/1.1 100 Continue\r\n\r\n";

      sandbox_http_connection_put (self, go_on, strlen (go_on));
      sandbox_http_connection_flush (self);
    }
}

static void
sandbox_http_connection_use_input (SandboxHttpConnection *self,
                                   gsize                  used)
{
  self->input_size -= used;
  memmove (self->input, self->input + used, self->input_size);
}

/* Whether there may be more to do. */
static gboolean
sandbox_http_connection_process_head (SandboxHttpConnection *self)
{
  SandboxHttpHead    head;
  SandboxHttpRefusal refusal;
  gsize              used = 0;

  if (self->input_size == 0)
    {
      keep_buffer (&spare_input, &self->input);
      return FALSE;
    }

  switch (sandbox_http_head_parse (self->input, self->input_size, &self->input_seen, &head, &used, &refusal))
    {
    case SANDBOX_HTTP_PARSE_MORE:
      return FALSE;

    case SANDBOX_HTTP_PARSE_REFUSED:
      sandbox_http_connection_deny (self, NULL, refusal.status, refusal.status == SOUP_STATUS_FORBIDDEN ? DENIED : REFUSED, refusal.reason);
      return FALSE;

    case SANDBOX_HTTP_PARSE_HEAD:
    default:
      sandbox_http_connection_judge (self, &head);
      if (self->state != STATE_BODY)
        return FALSE;
      sandbox_http_connection_use_input (self, used);
      return TRUE;
    }
}

/* The same, for the body: all of it that has come. It may have to wait for who reads it. */
static gboolean
sandbox_http_connection_process_body (SandboxHttpConnection *self)
{
  SandboxNetworkPolicy *policy = sandbox_http_exchange_get_policy (self->exchange);
  g_autoptr (GByteArray) pushed = NULL;
  gsize           n_used = 0;
  SandboxHttpStep step = SANDBOX_HTTP_BODY_DATA;

  if (self->body_done || (self->stream != NULL && !self->stream_hungry))
    return FALSE;

  /* However small the chunks are, what has come goes on in one piece. */
  pushed = g_byte_array_new ();
  while (step == SANDBOX_HTTP_BODY_DATA)
    {
      const char *data = NULL;
      gsize       n_data = 0;
      gsize       used = 0;

      step = sandbox_http_body_step (&self->body, self->input != NULL ? self->input + n_used : "", self->input_size - n_used, &used, &data, &n_data);
      n_used += used;
      if (step == SANDBOX_HTTP_BODY_DATA)
        {
          self->n_request += n_data;
          if (self->n_request > sandbox_network_policy_get_max_request_bytes (policy))
            {
              sandbox_http_connection_too_large (self);
              return FALSE;
            }
          g_byte_array_append (self->stream != NULL ? pushed : self->early, (const guint8 *) data, (guint) n_data);
        }
    }
  if (step == SANDBOX_HTTP_BODY_BAD)
    {
      sandbox_http_connection_deny (self, NULL, SOUP_STATUS_BAD_REQUEST, REFUSED, "the body is not well formed");
      return FALSE;
    }

  if (n_used > 0)
    sandbox_http_connection_use_input (self, n_used);
  if (pushed->len > 0)
    {
      self->stream_hungry = FALSE;
      sandbox_http_body_stream_push (self->stream, (const char *) pushed->data, pushed->len);
      if (self->state == STATE_CLOSED)
        return FALSE;
    }
  if (step == SANDBOX_HTTP_BODY_END)
    {
      self->body_done = TRUE;
      if (self->stream != NULL)
        sandbox_http_body_stream_finish (self->stream, NULL);
    }
  if (self->state == STATE_BODY && (self->body_done || self->early->len >= EARLY_BODY_BYTES))
    sandbox_http_connection_ask (self);

  return FALSE;
}

/* Does what can be done with what the guest has sent. */
static void
sandbox_http_connection_process (SandboxHttpConnection *self)
{
  g_autoptr (SandboxHttpConnection) keep = sandbox_http_connection_ref (self);
  gboolean more = !self->is_processing;

  /* Who reads the body may ask for more of it while it is given some. */
  if (!more)
    return;

  self->is_processing = TRUE;

  while (more)
    {
      switch (self->state)
        {
        case STATE_HEAD:
          more = sandbox_http_connection_process_head (self);
          break;

        case STATE_BODY:
        case STATE_ASKED:
        case STATE_ANSWER:
          more = sandbox_http_connection_process_body (self);
          break;

        case STATE_TEXT:
        case STATE_DRAIN:
        case STATE_CLOSED:
        default:
          more = FALSE;
          break;
        }
    }

  self->is_processing = FALSE;
  /* Who has gone before the request was complete wants no answer. */
  if (self->input_ended && (self->state == STATE_HEAD || self->state == STATE_BODY ||
                            ((self->state == STATE_ASKED || self->state == STATE_ANSWER) && !self->body_done && self->stream_hungry)))
    sandbox_http_connection_close (self);
  else if (self->state != STATE_CLOSED)
    sandbox_http_connection_watch (self);
}

/* ---- What happens at the socket ---- */

static gboolean
sandbox_http_connection_readable_cb (GSocket     *socket,
                                     GIOCondition condition,
                                     gpointer     user_data)
{
  SandboxHttpConnection *self = user_data;
  g_autoptr (GError) error = NULL;
  const gboolean is_first = self->state == STATE_HEAD && self->input_size == 0;
  gssize         n_read = 0;

  if (self->input == NULL)
    self->input = take_buffer (&spare_input, INPUT_BYTES);
  n_read = g_socket_receive (socket, self->input + self->input_size, INPUT_BYTES - self->input_size, NULL, &error);
  if (n_read < 0 && g_error_matches (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
    return G_SOURCE_CONTINUE;
  if (n_read < 0)
    {
      sandbox_http_connection_close (self);
      return G_SOURCE_REMOVE;
    }

  if (self->state == STATE_DRAIN)
    {
      self->n_drained += (gsize) n_read;
      if (n_read == 0 || self->n_drained > DRAIN_BYTES)
        sandbox_http_connection_close (self);
      return self->state != STATE_CLOSED;
    }

  self->input_ended = n_read == 0;
  self->input_size += (gsize) n_read;
  if (is_first)
    {
      self->since = g_get_monotonic_time ();
      sandbox_http_connection_set_deadline (self, HEAD_US);
    }
  sandbox_http_connection_process (self);

  return self->readable != NULL;
}

static gboolean
sandbox_http_connection_writable_cb (GSocket     *socket,
                                     GIOCondition condition,
                                     gpointer     user_data)
{
  SandboxHttpConnection *self = user_data;

  if (sandbox_http_connection_flush (self) != FLUSHED)
    return self->writable != NULL;

  if (self->state == STATE_TEXT)
    sandbox_http_connection_drain (self);
  else if (self->state == STATE_ANSWER && self->answer_done)
    sandbox_http_connection_answered (self);
  else if (self->state == STATE_ANSWER)
    sandbox_http_connection_pump (self);

  return G_SOURCE_REMOVE;
}

/* It cannot be answered any more. */
static gboolean
sandbox_http_connection_hangup_cb (GSocket     *socket,
                                   GIOCondition condition,
                                   gpointer     user_data)
{
  sandbox_http_connection_close (user_data);

  return G_SOURCE_REMOVE;
}

static gboolean
sandbox_http_connection_deadline_cb (gpointer user_data)
{
  SandboxHttpConnection *self = user_data;
  g_autoptr (GError) error = NULL;

  if (g_get_monotonic_time () < self->ends)
    {
      g_source_set_ready_time (self->deadline, self->ends);
      return G_SOURCE_CONTINUE;
    }

  clear_source (&self->deadline);
  switch (self->state)
    {
    case STATE_BODY:
      sandbox_http_connection_deny (self, NULL, SOUP_STATUS_REQUEST_TIMEOUT, REFUSED, "the body did not come in time");
      break;

    case STATE_ASKED:
      g_set_error (&error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "%s did not answer in time", sandbox_http_exchange_get_origin (self->exchange));
      sandbox_http_connection_fail (self, SOUP_STATUS_GATEWAY_TIMEOUT, error);
      break;

    case STATE_ANSWER:
      g_set_error (&error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "%s did not complete its answer in time", sandbox_http_exchange_get_origin (self->exchange));
      sandbox_http_connection_cut (self, SOUP_STATUS_GATEWAY_TIMEOUT, error);
      break;

    case STATE_HEAD:
    case STATE_TEXT:
    case STATE_DRAIN:
    case STATE_CLOSED:
    default:
      sandbox_http_connection_close (self);
      break;
    }

  return G_SOURCE_REMOVE;
}

SandboxHttpConnection *
sandbox_http_connection_new (SandboxHttpService *service,
                             GSocket            *door,
                             GSocket            *socket)
{
  SandboxHttpConnection *self = g_new0 (SandboxHttpConnection, 1);

  g_ref_count_init (&self->ref_count);
  self->service = service;
  self->door = g_object_ref (door);
  self->socket = g_object_ref (socket);
  self->since = g_get_monotonic_time ();
  self->state = STATE_HEAD;
  g_socket_set_blocking (socket, FALSE);
  sandbox_http_connection_set_deadline (self, HEAD_US);
  sandbox_http_connection_watch (self);

  return self;
}

GSocket *
sandbox_http_connection_get_door (SandboxHttpConnection *self)
{
  return self->door;
}

gint64
sandbox_http_connection_get_since (SandboxHttpConnection *self)
{
  return self->since;
}
