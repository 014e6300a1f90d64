/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-exchange.h"

#include "sandbox-http-ticket.h"

#include <string.h>

/* What a guest may see of an answer beside its status, its body and the length of that. */
static const char *const passing_headers[] = {
  "Content-Type",
  "Content-Range",
  "Accept-Ranges",
  "ETag",
  "Last-Modified",
  "Cache-Control",
};

/* Longer ones are left out: the head of an answer is bounded. */
#define MAX_VALUE_BYTES 4096

#define MAX_INFORMED 16

#define MAX_LENGTH_DIGITS 18

/* From the name of an origin to the end of its handshake, at most; and how often it is looked whether others wait for that */
#define CONNECT_LOOKS 10
#define CONNECT_LOOK_MS 1000

struct _SandboxHttpExchange
{
  gatomicrefcount    ref_count;
  SandboxHttpRules  *rules; /* keeps @origin */
  SandboxHttpOrigin *origin;
  SoupSession       *session;
  gboolean           is_open; /* it has a connection */
  SoupMessage       *message;
  GCancellable      *cancellable;
  guint              n_informed;
  SandboxHttpTicket  ticket;   /* from the wish to ask until the origin hears the request */
  GSource           *deadline; /* of a connection that comes about; NULL otherwise */
  guint              n_looks;
  GInputStream      *body;       /* of the answer; NULL before it, and after its end */
  gboolean           has_chunks; /* which are read here */
  SandboxHttpBody    chunks;
  gboolean           chunks_done;
  GSocket           *unfinished; /* to the origin, while the body of the request goes through it */
  GError            *refusal;    /* what is wrong with the origin or its answer, whatever libsoup makes of it */

  SandboxHttpExchangeFunc func; /* NULL: nobody waits */
  gpointer                data;

  GDestroyNotify released;
  gpointer       released_data;
};

static SandboxHttpExchange *
sandbox_http_exchange_ref (SandboxHttpExchange *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_http_exchange_unref (SandboxHttpExchange *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_assert (self->deadline == NULL && !sandbox_http_ticket_is_waiting (&self->ticket));
  g_clear_object (&self->body);
  g_clear_error (&self->refusal);
  g_signal_handlers_disconnect_by_data (self->message, self);
  g_clear_object (&self->message);
  sandbox_http_origin_give_back_session (self->origin, g_steal_pointer (&self->session));
  g_clear_object (&self->cancellable);
  g_clear_pointer (&self->rules, sandbox_http_rules_unref);
  self->released (self->released_data);
  g_free (self);
}

/* Gives up what libsoup does for it; the first reason counts. */
static void
sandbox_http_exchange_refuse (SandboxHttpExchange *self,
                              GQuark               domain,
                              int                  code,
                              const char          *what)
{
  if (self->refusal == NULL)
    self->refusal = g_error_new (domain, code, "%s %s", sandbox_http_exchange_get_origin (self), what);
  g_cancellable_cancel (self->cancellable);
}

static void
sandbox_http_exchange_stop_deadline (SandboxHttpExchange *self)
{
  if (self->deadline != NULL)
    g_source_destroy (self->deadline);
  g_clear_pointer (&self->deadline, g_source_unref);
}

/* No connection comes about any more: there is one, new or not, or there will be none. */
static void
sandbox_http_exchange_settle (SandboxHttpExchange *self)
{
  sandbox_http_exchange_stop_deadline (self);
  sandbox_http_ticket_give_back (&self->ticket);
}

static gboolean
sandbox_http_exchange_deadline_cb (gpointer user_data)
{
  SandboxHttpExchange *self = user_data;

  if (++self->n_looks < CONNECT_LOOKS && !sandbox_http_ticket_is_in_the_way (&self->ticket))
    return G_SOURCE_CONTINUE;

  sandbox_http_exchange_refuse (self, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "took too long for a connection");
  sandbox_http_exchange_settle (self);

  return G_SOURCE_REMOVE;
}

static void
sandbox_http_exchange_start_deadline (SandboxHttpExchange *self)
{
  sandbox_http_exchange_stop_deadline (self);
  self->n_looks = 0;
  self->deadline = g_timeout_source_new (CONNECT_LOOK_MS);
  g_source_set_callback (self->deadline, sandbox_http_exchange_deadline_cb, self, NULL);
  g_source_attach (self->deadline, g_main_context_get_thread_default ());
}

/* What is wrong with a certificate, in the words of GIO */
static char *
sandbox_http_exchange_describe (GTlsCertificateFlags errors)
{
  g_autoptr (GFlagsClass) flags = g_type_class_ref (G_TYPE_TLS_CERTIFICATE_FLAGS);
  GString *text = g_string_new ("shows a certificate that is not accepted:");

  for (guint i = 0; i < flags->n_values; i++)
    {
      /* not the one that is all of them */
      if (g_bit_nth_msf (flags->values[i].value, -1) == g_bit_nth_lsf (flags->values[i].value, -1) && (errors & flags->values[i].value) != 0)
        g_string_append_printf (text, " %s", flags->values[i].value_nick);
    }

  return g_string_free (text, FALSE);
}

static void
sandbox_http_exchange_refuse_certificate (SandboxHttpExchange *self,
                                          GTlsCertificateFlags errors)
{
  g_autofree char *what = sandbox_http_exchange_describe (errors);

  sandbox_http_exchange_refuse (self, G_TLS_ERROR, G_TLS_ERROR_BAD_CERTIFICATE, what);
}

/* There is a connection, over which nothing has been said yet. One that takes up an earlier session of TLS asks nobody whether the
 * certificate is accepted, as if whoever made that session had trusted the same. And what TLS libraries still take by default is older
 * than what origins have to speak. */
static void
sandbox_http_exchange_check_tls (SandboxHttpExchange *self,
                                 GTlsConnection      *connection)
{
  const GTlsCertificateFlags errors = g_tls_connection_get_peer_certificate_errors (connection);

  if (errors != 0)
    sandbox_http_exchange_refuse_certificate (self, errors);
  if (g_tls_connection_get_peer_certificate (connection) == NULL)
    sandbox_http_exchange_refuse (self, G_TLS_ERROR, G_TLS_ERROR_BAD_CERTIFICATE, "shows no certificate");
  if (g_tls_connection_get_protocol_version (connection) < G_TLS_PROTOCOL_VERSION_TLS_1_2)
    sandbox_http_exchange_refuse (self, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED, "speaks no version of TLS from 1.2 on");
}

/* A new connection to the origin is coming about. */
static void
sandbox_http_exchange_network_event_cb (SoupMessage       *message,
                                        GSocketClientEvent event,
                                        GIOStream         *connection,
                                        gpointer           user_data)
{
  SandboxHttpExchange *self = user_data;
  const char *const    protocols[] = { "http/1.1", NULL };

  if (event == G_SOCKET_CLIENT_RESOLVING)
    {
      sandbox_http_exchange_start_deadline (self);
      /* Who was to have an open one has none, as that was closed meanwhile. */
      if (!sandbox_http_ticket_is_held (&self->ticket) && !sandbox_http_ticket_try (&self->ticket, sandbox_http_exchange_get_origin (self)))
        sandbox_http_exchange_refuse (self, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "has closed its connection, while too many others come about");
      else if (!sandbox_http_ticket_has_descriptors ())
        sandbox_http_exchange_refuse (self, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT, "is not asked, as this process has no descriptors left for a connection");
    }

  if (event == G_SOCKET_CLIENT_CONNECTED && G_IS_SOCKET_CONNECTION (connection))
    {
      GSocket *socket = g_socket_connection_get_socket (G_SOCKET_CONNECTION (connection));

      sandbox_http_origin_set_socket (self->session, socket);
      if (soup_message_query_flags (message, SOUP_MESSAGE_NEW_CONNECTION))
        g_set_object (&self->unfinished, socket);
    }

  /* The only way, in libsoup 3.2, to be spoken to in HTTP/1.1 by an origin that has HTTP/2, too */
  if (event == G_SOCKET_CLIENT_TLS_HANDSHAKING && G_IS_TLS_CONNECTION (connection))
    {
      g_tls_connection_set_advertised_protocols (G_TLS_CONNECTION (connection), protocols);
      /* An end that somebody on the way can bring about is none. */
      g_tls_connection_set_require_close_notify (G_TLS_CONNECTION (connection), TRUE);
    }

  if (event == G_SOCKET_CLIENT_TLS_HANDSHAKED && G_IS_TLS_CONNECTION (connection))
    sandbox_http_exchange_check_tls (self, G_TLS_CONNECTION (connection));
}

static void
sandbox_http_exchange_starting_cb (SoupMessage *message,
                                   gpointer     user_data)
{
  sandbox_http_exchange_settle (user_data);
}

static void
sandbox_http_exchange_wrote_body_cb (SoupMessage *message,
                                     gpointer     user_data)
{
  SandboxHttpExchange *self = user_data;

  g_clear_object (&self->unfinished);
}

/* libsoup takes numbers for a length that are none. */
static gboolean
length_is_plain (const char *text)
{
  const gsize n_digits = strspn (text, "0123456789");

  return n_digits > 0 && n_digits <= MAX_LENGTH_DIGITS && text[n_digits] == '\0';
}

/* Words before the answer, which is all that a guest hears of. One that would make something else of the connection is no answer,
 * and they have to end. */
static void
sandbox_http_exchange_informed_cb (SoupMessage *message,
                                   gpointer     user_data)
{
  SandboxHttpExchange *self = user_data;

  if (soup_message_get_status (message) == SOUP_STATUS_SWITCHING_PROTOCOLS || ++self->n_informed > MAX_INFORMED)
    sandbox_http_exchange_refuse (self, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "says other things instead of an answer");
}

/* The head of an answer has been read, and libsoup has not looked at it yet. What would have to be followed, unpacked or answered by
 * somebody who knows the host is no answer for a guest. */
static void
sandbox_http_exchange_got_head_cb (SoupMessage *message,
                                   GParamSpec  *pspec,
                                   gpointer     user_data)
{
  SandboxHttpExchange *self = user_data;
  const guint          status = soup_message_get_status (message);
  SoupMessageHeaders  *headers = soup_message_get_response_headers (message);
  const char          *encoding = soup_message_headers_get_list (headers, "Content-Encoding");
  const char          *transfer = soup_message_headers_get_list (headers, "Transfer-Encoding");
  const char          *length = soup_message_headers_get_list (headers, "Content-Length");
  const gboolean       has_body = soup_message_get_method (message) != SOUP_METHOD_HEAD && status != SOUP_STATUS_NO_CONTENT && status != SOUP_STATUS_NOT_MODIFIED;

  self->has_chunks = FALSE;
  if (status < 200)
    return;

  /* libsoup would ask again after a 421. */
  if (status > 599 || (status >= 300 && status < 400 && status != SOUP_STATUS_NOT_MODIFIED) || status == SOUP_STATUS_MISDIRECTED_REQUEST)
    sandbox_http_exchange_refuse (self, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "answered with a status that is not passed on");
  if (encoding != NULL && encoding[0] != '\0' && g_ascii_strcasecmp (encoding, "identity") != 0)
    sandbox_http_exchange_refuse (self, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "answered with an encoded body, which it was not asked for");
  /* libsoup takes a length in its place when it does not know it. */
  if (transfer != NULL && g_ascii_strcasecmp (transfer, "chunked") != 0)
    sandbox_http_exchange_refuse (self, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "answered with a transfer encoding that cannot be read here");
  if (length != NULL && !length_is_plain (length))
    {
      /* libsoup would say what it thinks of it on the host's standard error. */
      soup_message_headers_remove (headers, "Content-Length");
      sandbox_http_exchange_refuse (self, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "answered with a length that is none");
    }

  /* libsoup 3.2 takes the end of the connection for that of the answer if it comes between two chunks. So they are read here, from
   * a body that for libsoup ends with the connection. The price is that such a connection is used once. */
  if (has_body && soup_message_headers_get_encoding (headers) == SOUP_ENCODING_CHUNKED)
    {
      self->has_chunks = TRUE;
      sandbox_http_body_init (&self->chunks, SANDBOX_HTTP_BODY_CHUNKED_ANSWER, 0);
      soup_message_headers_remove (headers, "Transfer-Encoding");
      soup_message_headers_remove (headers, "Content-Length");
    }
}

SandboxHttpExchange *
sandbox_http_exchange_new (SandboxHttpRules      *rules,
                           SandboxHttpOrigin     *origin,
                           const SandboxHttpHead *head,
                           GDestroyNotify         released,
                           gpointer               data)
{
  SandboxHttpExchange *self = g_new0 (SandboxHttpExchange, 1);
  SoupMessageHeaders  *headers = NULL;

  g_atomic_ref_count_init (&self->ref_count);
  self->rules = sandbox_http_rules_ref (rules);
  self->origin = origin;
  self->session = sandbox_http_origin_take_session (origin, &self->is_open);
  self->message = sandbox_http_origin_new_message (origin, sandbox_http_method_to_string (head->method), head->target);
  self->cancellable = g_cancellable_new ();
  self->released = released;
  self->released_data = data;
  g_signal_connect (self->message, "network-event", G_CALLBACK (sandbox_http_exchange_network_event_cb), self);
  g_signal_connect (self->message, "starting", G_CALLBACK (sandbox_http_exchange_starting_cb), self);
  g_signal_connect (self->message, "wrote-body", G_CALLBACK (sandbox_http_exchange_wrote_body_cb), self);
  g_signal_connect (self->message, "notify::status-code", G_CALLBACK (sandbox_http_exchange_got_head_cb), self);
  g_signal_connect (self->message, "got-informational", G_CALLBACK (sandbox_http_exchange_informed_cb), self);

  headers = soup_message_get_request_headers (self->message);
  for (guint i = 0; i < head->n_headers; i++)
    soup_message_headers_append (headers, head->headers[i].name, head->headers[i].value);
  /* libsoup says so itself for some methods only. */
  if (head->framing == SANDBOX_HTTP_BODY_LENGTH && head->length == 0)
    soup_message_headers_append (headers, "Content-Length", "0");
  sandbox_http_origin_add_headers (origin, headers);

  return self;
}

const char *
sandbox_http_exchange_get_method (SandboxHttpExchange *self)
{
  return soup_message_get_method (self->message);
}

const char *
sandbox_http_exchange_get_origin (SandboxHttpExchange *self)
{
  return sandbox_http_origin_get_name (self->origin);
}

SandboxNetworkPolicy *
sandbox_http_exchange_get_policy (SandboxHttpExchange *self)
{
  return sandbox_http_rules_get_policy (self->rules);
}

/* An origin that does not read the body must not take it for another request: the connection is for this one alone. And on one that
 * was used before, and turns out to be closed, it might be sent a second time: a body is not. */
static void
sandbox_http_exchange_send_once (SandboxHttpExchange *self)
{
  soup_message_add_flags (self->message, SOUP_MESSAGE_NEW_CONNECTION);
  soup_message_headers_replace (soup_message_get_request_headers (self->message), "Connection", "close");
}

void
sandbox_http_exchange_set_bytes (SandboxHttpExchange *self,
                                 GBytes              *bytes)
{
  sandbox_http_exchange_send_once (self);
  soup_message_set_request_body_from_bytes (self->message, NULL, bytes);
}

void
sandbox_http_exchange_set_stream (SandboxHttpExchange   *self,
                                  SandboxHttpBodyStream *stream,
                                  gint64                 length)
{
  sandbox_http_exchange_send_once (self);
  soup_message_set_request_body (self->message, NULL, G_INPUT_STREAM (stream), (gssize) length);
}

static void
sandbox_http_exchange_closed_cb (GObject      *source,
                                 GAsyncResult *result,
                                 gpointer      user_data)
{
  g_input_stream_close_finish (G_INPUT_STREAM (source), result, NULL);
  sandbox_http_exchange_unref (user_data);
}

/* With a cancelled @cancellable nothing more is read, and the connection is closed: an unread stream would read on when it is
 * dropped, and block for it. */
static void
sandbox_http_exchange_close_body (SandboxHttpExchange *self,
                                  GCancellable        *cancellable)
{
  g_autoptr (GInputStream) body = g_steal_pointer (&self->body);

  if (body != NULL)
    g_input_stream_close_async (body, G_PRIORITY_DEFAULT, cancellable, sandbox_http_exchange_closed_cb,
                                sandbox_http_exchange_ref (self));
}

/* Tells whoever waits, once. */
static void
sandbox_http_exchange_tell (SandboxHttpExchange *self,
                            const GError        *error)
{
  SandboxHttpExchangeFunc func = g_steal_pointer (&self->func);

  func (self, error, self->data);
}

static void
sandbox_http_exchange_sent_cb (GObject      *source,
                               GAsyncResult *result,
                               gpointer      user_data)
{
  SandboxHttpExchange *self = user_data;
  g_autoptr (GError) error = NULL;

  self->body = soup_session_send_finish (SOUP_SESSION (source), result, &error);
  if (g_error_matches (error, G_TLS_ERROR, G_TLS_ERROR_BAD_CERTIFICATE))
    sandbox_http_exchange_refuse_certificate (self, soup_message_get_tls_peer_certificate_errors (self->message));
  else if (error != NULL)
    g_prefix_error (&error, "%s: ", sandbox_http_exchange_get_origin (self));
  sandbox_http_exchange_settle (self);
  if (self->func == NULL)
    sandbox_http_exchange_close_body (self, self->cancellable);
  else
    sandbox_http_exchange_tell (self, self->refusal != NULL ? self->refusal : error);
  sandbox_http_exchange_unref (self);
}

static void
sandbox_http_exchange_begin (gpointer data)
{
  SandboxHttpExchange *self = data;

  soup_session_send_async (self->session, self->message, G_PRIORITY_DEFAULT, self->cancellable, sandbox_http_exchange_sent_cb,
                           sandbox_http_exchange_ref (self));
}

void
sandbox_http_exchange_send (SandboxHttpExchange    *self,
                            SandboxHttpExchangeFunc func,
                            gpointer                data)
{
  self->func = func;
  self->data = data;
  if (self->is_open && !soup_message_query_flags (self->message, SOUP_MESSAGE_NEW_CONNECTION))
    sandbox_http_exchange_begin (self);
  else
    sandbox_http_ticket_take (&self->ticket, sandbox_http_exchange_get_origin (self), sandbox_http_exchange_begin, self);
}

void
sandbox_http_exchange_cancel (SandboxHttpExchange *self)
{
  self->func = NULL;
  if (sandbox_http_ticket_is_waiting (&self->ticket))
    sandbox_http_ticket_give_back (&self->ticket);
  /* libsoup ends in order what it has sent of the body, and the origin would take that for the whole. */
  if (self->unfinished != NULL)
    g_socket_shutdown (self->unfinished, TRUE, TRUE, NULL);
  g_cancellable_cancel (self->cancellable);
  sandbox_http_exchange_close_body (self, self->cancellable);
}

guint
sandbox_http_exchange_get_status (SandboxHttpExchange *self)
{
  return soup_message_get_status (self->message);
}

gint64
sandbox_http_exchange_get_length (SandboxHttpExchange *self)
{
  SoupMessageHeaders *headers = soup_message_get_response_headers (self->message);

  return soup_message_headers_get_encoding (headers) == SOUP_ENCODING_CONTENT_LENGTH ? soup_message_headers_get_content_length (headers) : -1;
}

gboolean
sandbox_http_exchange_is_unframed (SandboxHttpExchange *self)
{
  return !self->has_chunks && soup_message_headers_get_encoding (soup_message_get_response_headers (self->message)) == SOUP_ENCODING_EOF;
}

static gboolean
value_is_harmless (const char *value)
{
  gsize length = 0;

  for (; value[length] != '\0'; length++)
    {
      if (value[length] < ' ' || value[length] > '~')
        return FALSE;
    }

  return length > 0 && length <= MAX_VALUE_BYTES;
}

void
sandbox_http_exchange_append_headers (SandboxHttpExchange *self,
                                      GString             *lines)
{
  SoupMessageHeaders *headers = soup_message_get_response_headers (self->message);

  for (guint i = 0; i < G_N_ELEMENTS (passing_headers); i++)
    {
      const char *value = soup_message_headers_get_list (headers, passing_headers[i]);

      if (value != NULL && value_is_harmless (value))
        g_string_append_printf (lines, "%s: %s\r\n", passing_headers[i], value);
    }
}

GSource *
sandbox_http_exchange_create_source (SandboxHttpExchange *self)
{
  return g_pollable_input_stream_create_source (G_POLLABLE_INPUT_STREAM (self->body), NULL);
}

/* In place: the bytes of the body among the @size at @buffer. */
static gssize
sandbox_http_exchange_decode (SandboxHttpExchange *self,
                              char                *buffer,
                              gsize                size,
                              GError             **error)
{
  SandboxHttpStep step = SANDBOX_HTTP_BODY_DATA;
  gsize           from = 0;
  gsize           to = 0;

  while (step == SANDBOX_HTTP_BODY_DATA)
    {
      const char *data = NULL;
      gsize       n_data = 0;
      gsize       used = 0;

      step = sandbox_http_body_step (&self->chunks, buffer + from, size - from, &used, &data, &n_data);
      from += used;
      if (step == SANDBOX_HTTP_BODY_DATA)
        {
          memmove (buffer + to, data, n_data);
          to += n_data;
        }
    }
  if (step == SANDBOX_HTTP_BODY_BAD)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "%s answered with chunks that are not well formed",
                   sandbox_http_exchange_get_origin (self));
      return -1;
    }
  self->chunks_done = step == SANDBOX_HTTP_BODY_END;

  return (gssize) to;
}

static gssize
sandbox_http_exchange_read_body (SandboxHttpExchange *self,
                                 char                *buffer,
                                 gsize                size,
                                 GError             **error)
{
  gssize n_read = g_pollable_input_stream_read_nonblocking (G_POLLABLE_INPUT_STREAM (self->body), buffer, size, NULL, error);

  if (n_read < 0)
    g_prefix_error (error, "%s: ", sandbox_http_exchange_get_origin (self));

  return n_read;
}

static gssize
sandbox_http_exchange_read_chunks (SandboxHttpExchange *self,
                                   char                *buffer,
                                   gsize                size,
                                   GError             **error)
{
  gssize n_read = 0;

  while (n_read == 0 && !self->chunks_done)
    {
      n_read = sandbox_http_exchange_read_body (self, buffer, size, error);
      if (n_read < 0)
        return -1;
      if (n_read == 0)
        {
          g_set_error (error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT, "%s broke off its answer", sandbox_http_exchange_get_origin (self));
          return -1;
        }
      n_read = sandbox_http_exchange_decode (self, buffer, (gsize) n_read, error);
    }

  return n_read;
}

gssize
sandbox_http_exchange_read (SandboxHttpExchange *self,
                            char                *buffer,
                            gsize                size,
                            GError             **error)
{
  if (self->has_chunks)
    return sandbox_http_exchange_read_chunks (self, buffer, size, error);

  return sandbox_http_exchange_read_body (self, buffer, size, error);
}

void
sandbox_http_exchange_finish (SandboxHttpExchange *self)
{
  char none = 0;

  /* Nobody can use such a connection again. */
  if (self->has_chunks)
    {
      g_cancellable_cancel (self->cancellable);
      sandbox_http_exchange_close_body (self, self->cancellable);
      return;
    }

  /* Only who reads the end itself leaves the connection as it may be used again. */
  g_pollable_input_stream_read_nonblocking (G_POLLABLE_INPUT_STREAM (self->body), &none, sizeof none, NULL, NULL);
  sandbox_http_exchange_close_body (self, NULL);
}
