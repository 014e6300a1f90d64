/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An upstream in threads of the test: it keeps every byte that it is sent, connection by connection, and answers whatever
 * the test says. Plain sockets and one thread a connection, so that it can be slow, rude or silent at each of them.
 */
#pragma once

#include <gio/gio.h>
#include <string.h>

#include "test-helpers.h"

typedef enum
{
  /* Each request gets the answer, as long as the peer likes to go on. */
  TEST_UPSTREAM_ANSWER,
  /* The same, and then it closes the connection. */
  TEST_UPSTREAM_CLOSE,
  /* The same, and then it waits for the peer to close. */
  TEST_UPSTREAM_HOLD,
  /* One byte each 100 ms. */
  TEST_UPSTREAM_TRICKLE,
  /* The same bytes again and again. */
  TEST_UPSTREAM_ENDLESS,
  /* Answers with the headers that it was sent, each once more as one of its own. */
  TEST_UPSTREAM_ECHO,
  /* Answers with what it was sent as "Authorization". */
  TEST_UPSTREAM_TELL,
  /* The answer comes before the request has been read. */
  TEST_UPSTREAM_HASTY,
  /* To a POST, the last byte of the answer comes later than the rest. */
  TEST_UPSTREAM_LATE,
} TestUpstreamManner;

typedef struct
{
  GString *bytes;      /* all that came in */
  guint    n_requests; /* those that were complete */
  gboolean closed;     /* by the peer, or by us */
} TestConnection;

typedef struct
{
  GMutex             lock;
  GCancellable      *end;
  GSocket           *listener;
  GTlsCertificate   *certificate; /* NULL: no TLS */
  GThread           *thread;
  GPtrArray         *threads;     /* GThread */
  GPtrArray         *connections; /* TestConnection */
  GBytes            *answer;
  TestUpstreamManner manner;
  guint              delay_ms;  /* before the first byte of each answer */
  guint              most_open; /* at a time */
  guint16            port;
} TestUpstream;

#define TEST_UPSTREAM_LATE_US (700 * 1000)

#define TEST_OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
#define TEST_OK TEST_OK_HEAD "Content-Length: 5\r\n\r\nhello"

typedef struct
{
  TestUpstream   *upstream;
  GSocket        *socket;
  TestConnection *connection;
} TestUpstreamCall;

/* What a request says of its body, from the @head that ends with the blank line. */
static inline gboolean
test_upstream_body (const char *head,
                    gsize      *length)
{
  g_autofree char *lower = g_ascii_strdown (head, -1);
  const char      *found = strstr (lower, "\r\ncontent-length:");

  *length = found != NULL ? (gsize) g_ascii_strtoull (found + strlen ("\r\ncontent-length:"), NULL, 10) : 0;

  return strstr (lower, "\r\ntransfer-encoding:") != NULL;
}

/* Adds what comes; FALSE at the end of it. */
static inline gboolean
test_upstream_read (TestUpstreamCall *call,
                    GInputStream     *input)
{
  char   buffer[65536];
  gssize size = g_input_stream_read (input, buffer, sizeof buffer, call->upstream->end, NULL);

  if (size <= 0)
    return FALSE;
  g_mutex_lock (&call->upstream->lock);
  g_string_append_len (call->connection->bytes, buffer, size);
  g_mutex_unlock (&call->upstream->lock);

  return TRUE;
}

/* Reads one request, which begins at *@at of the connection's bytes, and moves that behind it. */
static inline gboolean
test_upstream_read_request (TestUpstreamCall *call,
                            GInputStream     *input,
                            gsize            *at,
                            char            **request)
{
  GString *bytes = call->connection->bytes;
  gsize    head = 0;
  gsize    end = 0;

  for (;;)
    {
      const char *blank = memmem (bytes->str + *at, bytes->len - *at, "\r\n\r\n", 4);

      if (blank != NULL)
        {
          g_autofree char *text = NULL;
          gsize            length = 0;
          gboolean         chunked;

          head = (gsize) (blank - bytes->str) + 4;
          text = g_strndup (bytes->str + *at, head - *at);
          chunked = test_upstream_body (text, &length);
          if (!chunked && bytes->len >= head + length)
            end = head + length;
          else if (chunked)
            {
              const char *last = memmem (bytes->str + head - 2, bytes->len - head + 2, "\r\n0\r\n\r\n", 7);

              end = last != NULL ? (gsize) (last - bytes->str) + 7 : 0;
            }
          if (end > 0)
            break;
        }
      if (!test_upstream_read (call, input))
        return FALSE;
    }
  *request = g_strndup (bytes->str + *at, end - *at);
  *at = end;
  g_mutex_lock (&call->upstream->lock);
  call->connection->n_requests++;
  g_mutex_unlock (&call->upstream->lock);

  return TRUE;
}

/* What a peer says that makes its answer from the request. */
static inline GBytes *
test_upstream_reflect (TestUpstreamManner manner,
                       const char        *request)
{
  g_auto (GStrv) lines = g_strsplit (request, "\r\n", -1);
  GString    *answer = g_string_new (TEST_OK_HEAD);
  const char *told = "";

  for (guint i = 1; lines[i] != NULL && lines[i][0] != '\0'; i++)
    {
      if (manner == TEST_UPSTREAM_ECHO)
        g_string_append_printf (answer, "X-Echo-%s\r\n%s\r\n", lines[i], lines[i]);
      else if (g_ascii_strncasecmp (lines[i], "Authorization: ", 15) == 0)
        told = lines[i] + 15;
    }
  g_string_append_printf (answer, "Content-Length: %zu\r\n\r\n%s", strlen (told), told);

  return g_string_free_to_bytes (answer);
}

static inline gboolean
test_upstream_send (TestUpstreamCall *call,
                    GOutputStream    *output,
                    GBytes           *answer,
                    gboolean          is_post)
{
  TestUpstreamManner manner = call->upstream->manner;
  gsize              size = 0;
  const char        *bytes = g_bytes_get_data (answer, &size);
  gboolean           done = TRUE;

  if (call->upstream->delay_ms > 0)
    {
      GPollFD poll_fd = { 0 };

      g_cancellable_make_pollfd (call->upstream->end, &poll_fd);
      g_poll (&poll_fd, 1, (int) call->upstream->delay_ms);
      g_cancellable_release_fd (call->upstream->end);
    }
  if (manner == TEST_UPSTREAM_LATE && is_post)
    {
      done = g_output_stream_write_all (output, bytes, size - 1, NULL, call->upstream->end, NULL);
      g_usleep (TEST_UPSTREAM_LATE_US);
      return done && g_output_stream_write_all (output, bytes + size - 1, 1, NULL, call->upstream->end, NULL);
    }
  if (manner != TEST_UPSTREAM_TRICKLE && manner != TEST_UPSTREAM_ENDLESS)
    return g_output_stream_write_all (output, bytes, size, NULL, call->upstream->end, NULL);
  for (gsize i = 0; done && i < size; i++)
    {
      if (manner == TEST_UPSTREAM_ENDLESS)
        {
          i = 0;
          done = g_output_stream_write_all (output, bytes, size, NULL, call->upstream->end, NULL);
        }
      else
        {
          g_usleep (100 * 1000);
          done = g_output_stream_write_all (output, bytes + i, 1, NULL, call->upstream->end, NULL);
        }
    }

  return done;
}

static inline void
test_upstream_talk (TestUpstreamCall *call,
                    GIOStream        *stream)
{
  GInputStream  *input = g_io_stream_get_input_stream (stream);
  GOutputStream *output = g_io_stream_get_output_stream (stream);
  gsize          at = 0;
  gboolean       more = TRUE;

  if (call->upstream->manner == TEST_UPSTREAM_HASTY)
    test_upstream_send (call, output, call->upstream->answer, FALSE);
  while (more)
    {
      g_autofree char *request = NULL;
      g_autoptr (GBytes) answer = NULL;

      if (!test_upstream_read_request (call, input, &at, &request) || call->upstream->manner == TEST_UPSTREAM_HASTY)
        return;
      g_mutex_lock (&call->upstream->lock);
      if (call->upstream->manner == TEST_UPSTREAM_ECHO || call->upstream->manner == TEST_UPSTREAM_TELL)
        answer = test_upstream_reflect (call->upstream->manner, request);
      else
        answer = g_bytes_ref (call->upstream->answer);
      g_mutex_unlock (&call->upstream->lock);
      more = test_upstream_send (call, output, answer, g_str_has_prefix (request, "POST")) && call->upstream->manner != TEST_UPSTREAM_CLOSE;
      while (more && call->upstream->manner == TEST_UPSTREAM_HOLD)
        more = test_upstream_read (call, input);
    }
}

static inline gpointer
test_upstream_call_thread (gpointer data)
{
  TestUpstreamCall *call = data;
  g_autoptr (GSocketConnection) connection = g_socket_connection_factory_create_connection (call->socket);
  g_autoptr (GIOStream) stream = NULL;

  if (call->upstream->certificate != NULL)
    {
      stream = g_tls_server_connection_new (G_IO_STREAM (connection), call->upstream->certificate, NULL);
      if (stream != NULL && g_tls_connection_handshake (G_TLS_CONNECTION (stream), call->upstream->end, NULL))
        test_upstream_talk (call, stream);
    }
  else
    test_upstream_talk (call, G_IO_STREAM (connection));
  g_mutex_lock (&call->upstream->lock);
  call->connection->closed = TRUE;
  g_mutex_unlock (&call->upstream->lock);
  /* What it had sent is not lost by what it has not read. */
  g_socket_shutdown (call->socket, FALSE, TRUE, NULL);
  if (stream != NULL)
    g_io_stream_close (stream, NULL, NULL);
  g_io_stream_close (G_IO_STREAM (connection), NULL, NULL);
  g_object_unref (call->socket);
  g_free (call);

  return NULL;
}

static inline void
test_connection_free (TestConnection *self)
{
  g_string_free (self->bytes, TRUE);
  g_free (self);
}

static inline guint
test_upstream_count_open_locked (TestUpstream *self)
{
  guint count = 0;

  for (guint i = 0; i < self->connections->len; i++)
    count += ((TestConnection *) g_ptr_array_index (self->connections, i))->closed ? 0 : 1;

  return count;
}

static inline gpointer
test_upstream_thread (gpointer data)
{
  TestUpstream *self = data;

  for (;;)
    {
      GSocket          *socket = g_socket_accept (self->listener, self->end, NULL);
      TestUpstreamCall *call = NULL;

      if (socket == NULL)
        return NULL;
      call = g_new0 (TestUpstreamCall, 1);
      call->upstream = self;
      call->socket = socket;
      call->connection = g_new0 (TestConnection, 1);
      call->connection->bytes = g_string_new (NULL);
      g_mutex_lock (&self->lock);
      g_ptr_array_add (self->connections, call->connection);
      self->most_open = MAX (self->most_open, test_upstream_count_open_locked (self));
      g_ptr_array_add (self->threads, g_thread_new ("upstream", test_upstream_call_thread, call));
      g_mutex_unlock (&self->lock);
    }
}

static inline GSocket *
test_socket_listen (const char *address,
                    guint16     port)
{
  g_autoptr (GSocketAddress) bound = g_inet_socket_address_new_from_string (address, port);
  g_autoptr (GError) error = NULL;
  GSocket *socket = g_socket_new (g_socket_address_get_family (bound), G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, &error);

  g_assert_no_error (error);
  g_socket_bind (socket, bound, TRUE, &error);
  g_assert_no_error (error);
  g_socket_set_listen_backlog (socket, 512);
  g_socket_listen (socket, &error);
  g_assert_no_error (error);

  return socket;
}

static inline guint16
test_socket_get_port (GSocket *socket)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSocketAddress) address = g_socket_get_local_address (socket, &error);

  g_assert_no_error (error);

  return g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (address));
}

/* At a port of its own of @address; with TLS if there is a @certificate. */
static inline TestUpstream *
test_upstream_new (const char      *address,
                   GTlsCertificate *certificate)
{
  TestUpstream *self = g_new0 (TestUpstream, 1);

  g_mutex_init (&self->lock);
  self->end = g_cancellable_new ();
  self->certificate = certificate != NULL ? g_object_ref (certificate) : NULL;
  self->connections = g_ptr_array_new_with_free_func ((GDestroyNotify) test_connection_free);
  self->threads = g_ptr_array_new ();
  self->answer = g_bytes_new_static (TEST_OK, strlen (TEST_OK));
  self->listener = test_socket_listen (address, 0);
  self->port = test_socket_get_port (self->listener);
  self->thread = g_thread_new ("upstream", test_upstream_thread, self);

  return self;
}

static inline void
test_upstream_free (TestUpstream *self)
{
  g_cancellable_cancel (self->end);
  g_thread_join (self->thread);
  for (guint i = 0; i < self->threads->len; i++)
    g_thread_join (g_ptr_array_index (self->threads, i));
  g_ptr_array_unref (self->threads);
  g_ptr_array_unref (self->connections);
  g_socket_close (self->listener, NULL);
  g_clear_object (&self->listener);
  g_clear_object (&self->certificate);
  g_clear_object (&self->end);
  g_bytes_unref (self->answer);
  g_mutex_clear (&self->lock);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TestUpstream, test_upstream_free)

static inline void
test_upstream_set_bytes (TestUpstream      *self,
                         TestUpstreamManner manner,
                         GBytes            *answer)
{
  g_mutex_lock (&self->lock);
  g_bytes_unref (self->answer);
  self->answer = g_bytes_ref (answer);
  self->manner = manner;
  g_mutex_unlock (&self->lock);
}

static inline void
test_upstream_set (TestUpstream      *self,
                   TestUpstreamManner manner,
                   const char        *answer)
{
  g_autoptr (GBytes) bytes = g_bytes_new (answer, strlen (answer));

  test_upstream_set_bytes (self, manner, bytes);
}

/* All that came in since @first connections had, one connection after the other. */
static inline char *
test_upstream_get (TestUpstream *self,
                   guint         first)
{
  GString *text = g_string_new (NULL);

  g_mutex_lock (&self->lock);
  for (guint i = first; i < self->connections->len; i++)
    {
      TestConnection *connection = g_ptr_array_index (self->connections, i);

      g_string_append_len (text, connection->bytes->str, (gssize) connection->bytes->len);
    }
  g_mutex_unlock (&self->lock);

  return g_string_free (text, FALSE);
}

static inline guint
test_upstream_count (TestUpstream *self)
{
  guint count;

  g_mutex_lock (&self->lock);
  count = self->connections->len;
  g_mutex_unlock (&self->lock);

  return count;
}

static inline guint
test_upstream_count_open (TestUpstream *self)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  return test_upstream_count_open_locked (self);
}

/* The requests that came in complete */
static inline guint
test_upstream_count_requests (TestUpstream *self)
{
  guint count = 0;

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->connections->len; i++)
    count += ((TestConnection *) g_ptr_array_index (self->connections, i))->n_requests;
  g_mutex_unlock (&self->lock);

  return count;
}
