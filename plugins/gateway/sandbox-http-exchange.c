/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-exchange.h"

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

struct _SandboxHttpExchange
{
  gatomicrefcount       ref_count;
  SandboxHttpRules     *rules; /* keeps @origin */
  SandboxHttpOrigin    *origin;
  SoupSession          *session;
  SoupMessage          *message;
  GCancellable         *cancellable;
  guint                 n_informed;
  GInputStream         *body; /* of the answer; NULL before it, and after its end */
  GPollableInputStream *raw;  /* below @body, when its chunks are read here */
  SandboxHttpBody       chunks;
  gboolean              raw_done;
  GSocket              *unfinished; /* to the origin, while the body of the request goes through it */
  GError               *refusal;    /* why the origin was not asked */

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

  g_clear_object (&self->body);
  g_signal_handlers_disconnect_by_data (self->message, self);
  g_clear_object (&self->message);
  sandbox_http_origin_give_back_session (self->origin, g_steal_pointer (&self->session));
  g_clear_object (&self->cancellable);
  g_clear_pointer (&self->rules, sandbox_http_rules_unref);
  self->released (self->released_data);
  g_free (self);
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

  if (event == G_SOCKET_CLIENT_CONNECTED && G_IS_SOCKET_CONNECTION (connection) && soup_message_query_flags (message, SOUP_MESSAGE_NEW_CONNECTION))
    g_set_object (&self->unfinished, g_socket_connection_get_socket (G_SOCKET_CONNECTION (connection)));

  /* The only way, in libsoup 3.2, to be spoken to in HTTP/1.1 by an origin that has HTTP/2, too */
  if (event == G_SOCKET_CLIENT_TLS_HANDSHAKING && G_IS_TLS_CONNECTION (connection))
    {
      g_tls_connection_set_advertised_protocols (G_TLS_CONNECTION (connection), protocols);
      /* An end that somebody on the way can bring about is none. */
      g_tls_connection_set_require_close_notify (G_TLS_CONNECTION (connection), TRUE);
    }

  /* What TLS libraries still take by default is older than what origins have to speak. Nothing has been said yet. */
  if (event == G_SOCKET_CLIENT_TLS_HANDSHAKED && G_IS_TLS_CONNECTION (connection) && self->refusal == NULL &&
      g_tls_connection_get_protocol_version (G_TLS_CONNECTION (connection)) < G_TLS_PROTOCOL_VERSION_TLS_1_2)
    {
      g_set_error (&self->refusal, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED, "%s speaks no version of TLS from 1.2 on",
                   sandbox_http_exchange_get_origin (self));
      g_cancellable_cancel (self->cancellable);
    }
}

static void
sandbox_http_exchange_wrote_body_cb (SoupMessage *message,
                                     gpointer     user_data)
{
  SandboxHttpExchange *self = user_data;

  g_clear_object (&self->unfinished);
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
  self->session = sandbox_http_origin_take_session (origin);
  self->message = sandbox_http_origin_new_message (origin, sandbox_http_method_to_string (head->method), head->target);
  self->cancellable = g_cancellable_new ();
  self->released = released;
  self->released_data = data;
  g_signal_connect (self->message, "network-event", G_CALLBACK (sandbox_http_exchange_network_event_cb), self);
  g_signal_connect (self->message, "wrote-body", G_CALLBACK (sandbox_http_exchange_wrote_body_cb), self);

  headers = soup_message_get_request_headers (self->message);
  for (guint i = 0; i < head->n_headers; i++)
    soup_message_headers_append (headers, head->headers[i].name, head->headers[i].value);
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

static GPollableInputStream *sandbox_http_exchange_find_raw (SandboxHttpExchange *self);

/* libsoup takes numbers for a length that are none. */
static gboolean
length_is_plain (const char *text)
{
  const gsize n_digits = strspn (text, "0123456789");

  return n_digits > 0 && n_digits <= MAX_LENGTH_DIGITS && text[n_digits] == '\0';
}

/* What would have to be followed, unpacked or answered by somebody who knows the host is no answer for a guest. */
static gboolean
sandbox_http_exchange_check (SandboxHttpExchange *self,
                             GError             **error)
{
  const guint         status = soup_message_get_status (self->message);
  SoupMessageHeaders *headers = soup_message_get_response_headers (self->message);
  const char         *encoding = soup_message_headers_get_list (headers, "Content-Encoding");
  const char         *length = soup_message_headers_get_list (headers, "Content-Length");

  if (status < 200 || status > 599 || (status >= 300 && status < 400 && status != SOUP_STATUS_NOT_MODIFIED))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "%s answered with status %u, which is not passed on",
                 sandbox_http_exchange_get_origin (self), status);
  else if (length != NULL && !length_is_plain (length))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "%s answered with a length that is none", sandbox_http_exchange_get_origin (self));
  else if (encoding != NULL && g_ascii_strcasecmp (encoding, "identity") != 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "%s answered with an encoded body, which it was not asked for",
                 sandbox_http_exchange_get_origin (self));
  else if (soup_message_headers_get_encoding (headers) == SOUP_ENCODING_CHUNKED)
    {
      self->raw = sandbox_http_exchange_find_raw (self);
      sandbox_http_body_init (&self->chunks, SANDBOX_HTTP_BODY_CHUNKED, 0);
      if (self->raw == NULL)
        g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "%s answered in chunks, which cannot be read here", sandbox_http_exchange_get_origin (self));
      return self->raw != NULL;
    }
  else
    return TRUE;

  return FALSE;
}

/* Tells whoever waits, once. */
static void
sandbox_http_exchange_tell (SandboxHttpExchange *self,
                            const GError        *error)
{
  SandboxHttpExchangeFunc func = g_steal_pointer (&self->func);

  func (self, error, self->data);
}

/* Words before the answer, which is all that a guest hears of. One that would make something else of the connection is no answer,
 * and they have to end. */
static void
sandbox_http_exchange_informed_cb (SoupMessage *message,
                                   gpointer     user_data)
{
  SandboxHttpExchange *self = user_data;
  g_autoptr (GError) error = NULL;

  if (self->func == NULL || (soup_message_get_status (message) != SOUP_STATUS_SWITCHING_PROTOCOLS && ++self->n_informed <= MAX_INFORMED))
    return;

  g_set_error (&error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "%s says %u instead of an answer", sandbox_http_exchange_get_origin (self),
               soup_message_get_status (message));
  sandbox_http_exchange_tell (self, error);
}

static void
sandbox_http_exchange_sent_cb (GObject      *source,
                               GAsyncResult *result,
                               gpointer      user_data)
{
  SandboxHttpExchange *self = user_data;
  g_autoptr (GError) error = NULL;

  self->body = soup_session_send_finish (SOUP_SESSION (source), result, &error);
  if (self->func == NULL)
    sandbox_http_exchange_close_body (self, self->cancellable);
  else
    {
      if (error == NULL)
        sandbox_http_exchange_check (self, &error);
      sandbox_http_exchange_tell (self, error);
    }
  sandbox_http_exchange_unref (self);
}

void
sandbox_http_exchange_send (SandboxHttpExchange    *self,
                            SandboxHttpExchangeFunc func,
                            gpointer                data)
{
  self->func = func;
  self->data = data;
  g_signal_connect (self->message, "got-informational", G_CALLBACK (sandbox_http_exchange_informed_cb), self);
  soup_session_send_async (self->session, self->message, G_PRIORITY_DEFAULT, self->cancellable, sandbox_http_exchange_sent_cb,
                           sandbox_http_exchange_ref (self));
}

void
sandbox_http_exchange_cancel (SandboxHttpExchange *self)
{
  self->func = NULL;
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
  return soup_message_headers_get_encoding (soup_message_get_response_headers (self->message)) == SOUP_ENCODING_EOF;
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
  return g_pollable_input_stream_create_source (self->raw != NULL ? self->raw : G_POLLABLE_INPUT_STREAM (self->body), NULL);
}

/* Where the chunks of an answer come from, which are read here: libsoup 3.2 takes the end of the connection for that of the answer if
 * it comes between two of them. The price is that such a connection is used once. NULL if libsoup is not as this knows it. */
static GPollableInputStream *
sandbox_http_exchange_find_raw (SandboxHttpExchange *self)
{
  GInputStream *stream = self->body;

  while (G_IS_FILTER_INPUT_STREAM (stream))
    {
      const gboolean is_decoder = g_str_equal (G_OBJECT_TYPE_NAME (stream), "SoupBodyInputStream");

      stream = g_filter_input_stream_get_base_stream (G_FILTER_INPUT_STREAM (stream));
      if (is_decoder && G_IS_POLLABLE_INPUT_STREAM (stream))
        return G_POLLABLE_INPUT_STREAM (stream);
    }

  return NULL;
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
  self->raw_done = step == SANDBOX_HTTP_BODY_END;

  return (gssize) to;
}

static gssize
sandbox_http_exchange_read_raw (SandboxHttpExchange *self,
                                char                *buffer,
                                gsize                size,
                                GError             **error)
{
  gssize n_read = 0;

  while (n_read == 0 && !self->raw_done)
    {
      n_read = g_pollable_input_stream_read_nonblocking (self->raw, buffer, size, NULL, error);
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
  if (self->raw != NULL)
    return sandbox_http_exchange_read_raw (self, buffer, size, error);

  return g_pollable_input_stream_read_nonblocking (G_POLLABLE_INPUT_STREAM (self->body), buffer, size, NULL, error);
}

void
sandbox_http_exchange_finish (SandboxHttpExchange *self)
{
  char none = 0;

  /* Nobody can use such a connection again. */
  if (self->raw != NULL)
    {
      g_cancellable_cancel (self->cancellable);
      sandbox_http_exchange_close_body (self, self->cancellable);
      return;
    }

  /* Only who reads the end itself leaves the connection as it may be used again. */
  g_pollable_input_stream_read_nonblocking (G_POLLABLE_INPUT_STREAM (self->body), &none, sizeof none, NULL, NULL);
  sandbox_http_exchange_close_body (self, NULL);
}
