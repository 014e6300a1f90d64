/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A session with an allow list, the upstream that it leads to, and what a guest says to the doors of its gateway.
 *
 * TEST_DOOR is the path of the program of tests/attack/probes/door.c; it is in each workspace as "door".
 */
#pragma once

#include "test-sandbox.h"
#include "test-resolver.h"
#include "test-upstream.h"

#define TEST_UNIX_DOOR "unix:" SANDBOX_GATEWAY_PATH
#define TEST_TCP_DOOR "tcp:" G_STRINGIFY (SANDBOX_GATEWAY_PORT)

static const char *const test_doors[] = { TEST_UNIX_DOOR, TEST_TCP_DOOR };

/* What the policy adds to each request, and what no guest may ever see. */
#define TEST_CREDENTIAL "marker-of-the-credential"

typedef struct
{
  TestSandbox   sandbox;
  TestUpstream *upstream; /* http://allowed.test:PORT */
  GMutex        lock;
  GPtrArray    *denied;   /* "ORIGIN REASON" */
  GPtrArray    *requests; /* "METHOD ORIGIN STATUS REQUEST-BYTES RESPONSE-BYTES" */
  GPtrArray    *errors;   /* messages */
} TestGateway;

static void
test_gateway_denied_cb (SandboxSession *session,
                        const char     *origin,
                        const char     *reason,
                        gpointer        user_data)
{
  TestGateway *self = user_data;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  g_ptr_array_add (self->denied, g_strdup_printf ("%s %s", origin, reason));
}

static void
test_gateway_request_cb (SandboxSession *session,
                         const char     *method,
                         const char     *origin,
                         guint           status,
                         guint64         request_bytes,
                         guint64         response_bytes,
                         guint64         time_us,
                         gpointer        user_data)
{
  TestGateway *self = user_data;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  g_ptr_array_add (self->requests, g_strdup_printf ("%s %s %u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, method, origin, status,
                                                    request_bytes, response_bytes));
}

static void
test_gateway_error_cb (SandboxBackend *backend,
                       const GError   *error,
                       gpointer        user_data)
{
  TestGateway *self = user_data;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  g_ptr_array_add (self->errors, g_strdup (error->message));
}

static inline guint
test_gateway_count (TestGateway *self,
                    GPtrArray   *array)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  return array->len;
}

static inline void
test_gateway_set_up (TestGateway  *self,
                     gconstpointer unused)
{
  g_mutex_init (&self->lock);
  self->denied = g_ptr_array_new_with_free_func (g_free);
  self->requests = g_ptr_array_new_with_free_func (g_free);
  self->errors = g_ptr_array_new_with_free_func (g_free);
  test_resolver_set ("allowed.test", "127.0.0.1");
  test_resolver_set ("second.test", "127.0.0.1");
  self->upstream = test_upstream_new ("127.0.0.1", NULL);
  test_sandbox_set_up (&self->sandbox, NULL);
  test_install_program (self->sandbox.workspace, "door", TEST_DOOR);
  g_signal_connect (self->sandbox.session, "network-denied", G_CALLBACK (test_gateway_denied_cb), self);
  g_signal_connect (self->sandbox.session, "network-request", G_CALLBACK (test_gateway_request_cb), self);
  g_signal_connect (self->sandbox.backend, "gateway-error", G_CALLBACK (test_gateway_error_cb), self);
}

static inline void
test_gateway_tear_down (TestGateway  *self,
                        gconstpointer unused)
{
  if (self->sandbox.handle != NULL)
    g_signal_handlers_disconnect_by_data (self->sandbox.session, self);
  g_signal_handlers_disconnect_by_data (self->sandbox.backend, self);
  test_sandbox_tear_down (&self->sandbox, NULL);
  g_clear_pointer (&self->upstream, test_upstream_free);
  g_ptr_array_unref (self->denied);
  g_ptr_array_unref (self->requests);
  g_ptr_array_unref (self->errors);
  g_mutex_clear (&self->lock);
}

/* An allow list of what the tests have: names of their own, which lead to this machine, and credentials in clear text. */
static inline SandboxNetworkPolicy *
test_policy_new (void)
{
  SandboxNetworkPolicy *policy = sandbox_network_policy_new_allow_list ();

  sandbox_network_policy_set_loopback_door (policy, TRUE);
  sandbox_network_policy_set_allow_private_addresses (policy, TRUE);
  sandbox_network_policy_set_allow_plain_credentials (policy, TRUE);

  return policy;
}

static inline void
test_policy_add (SandboxNetworkPolicy *policy,
                 const char           *scheme,
                 const char           *host,
                 guint16               port,
                 const char           *credential)
{
  g_autofree char *origin = g_strdup_printf ("%s://%s:%u", scheme, host, port);
  g_autofree char *value = credential != NULL ? g_strconcat ("Bearer ", credential, NULL) : NULL;
  g_autoptr (GError) error = NULL;
  GVariantBuilder headers;

  g_variant_builder_init (&headers, G_VARIANT_TYPE ("a{ss}"));
  if (value != NULL)
    g_variant_builder_add (&headers, "{ss}", "Authorization", value);
  sandbox_network_policy_add_origin (policy, origin, g_variant_builder_end (&headers), &error);
  g_assert_no_error (error);
}

static inline void
test_gateway_use (TestGateway          *self,
                  SandboxNetworkPolicy *policy)
{
  g_autoptr (GError) error = NULL;

  sandbox_session_set_network_policy (self->sandbox.session, policy, NULL, &error);
  g_assert_no_error (error);
}

/* The usual one: http://allowed.test:PORT with the credential. */
static inline void
test_gateway_use_upstream (TestGateway *self)
{
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, TEST_CREDENTIAL);
  test_gateway_use (self, policy);
}

/* ---- What the guest does ---- */

typedef struct
{
  guint  connection;
  char  *end; /* "whole", "end", "reset" or "late" */
  gsize  size;
  gint64 ms;     /* since the guest began */
  guint  status; /* 0: there was none */
  char  *bytes;  /* and a zero */
} TestAnswer;

static inline void
test_answer_free (TestAnswer *self)
{
  g_free (self->end);
  g_free (self->bytes);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TestAnswer, test_answer_free)

/* How many answers are in it */
static inline guint
test_answer_count (TestAnswer *answer)
{
  guint count = 0;

  for (const char *at = answer->bytes; (at = strstr (at, "HTTP/1.1 ")) != NULL; at++)
    count++;

  return count;
}

static inline const char *
test_answer_get_body (TestAnswer *self)
{
  const char *blank = strstr (self->bytes, "\r\n\r\n");

  return blank != NULL ? blank + 4 : "";
}

static inline TestAnswer *
test_answers_get (GPtrArray *answers,
                  guint      n)
{
  g_assert_cmpuint (n, <, answers->len);

  return g_ptr_array_index (answers, n);
}

static inline GPtrArray *
test_answers_new (const char *text,
                  gsize       size,
                  gboolean    only_counted)
{
  GPtrArray  *answers = g_ptr_array_new_with_free_func ((GDestroyNotify) test_answer_free);
  const char *end = size > 0 ? text + size : text; /* of nothing there may be no address */

  while (text < end)
    {
      TestAnswer      *answer = g_new0 (TestAnswer, 1);
      const char      *line_end = memchr (text, '\n', (gsize) (end - text));
      g_autofree char *line = NULL;
      g_auto (GStrv) words = NULL;

      g_assert_nonnull (line_end);
      line = g_strndup (text, (gsize) (line_end - text));
      words = g_strsplit (line, " ", -1);
      g_assert_cmpuint (g_strv_length (words), ==, 4);
      answer->connection = (guint) atoi (words[0]);
      answer->end = g_strdup (words[1]);
      answer->size = (gsize) g_ascii_strtoull (words[2], NULL, 10);
      answer->ms = g_ascii_strtoll (words[3], NULL, 10);
      text = line_end + 1;
      if (!only_counted)
        {
          g_assert_cmpuint (answer->size, <, (gsize) (end - text));
          answer->bytes = g_malloc0 (answer->size + 1);
          memcpy (answer->bytes, text, answer->size);
          text += answer->size;
          if (answer->size > 12 && (g_str_has_prefix (answer->bytes, "HTTP/1.1 ") || g_str_has_prefix (answer->bytes, "HTTP/1.0 ")))
            answer->status = (guint) atoi (answer->bytes + 9);
        }
      else
        answer->bytes = g_strdup ("");
      text++;
      g_ptr_array_add (answers, answer);
    }

  return answers;
}

static inline SandboxCommand *
test_gateway_new_command (const char *door,
                          GString    *script)
{
  SandboxCommand *command = test_command_new ("./door", door, NULL);
  g_autoptr (GBytes) input = g_bytes_new (script->str, script->len);

  sandbox_command_set_stdin (command, input);
  sandbox_command_set_max_output (command, 8 * 1024 * 1024);
  sandbox_command_set_timeout_ms (command, 60000);

  return command;
}

/* Does at @door what @script says; what was read comes back in the order in which it was asked for. */
static inline GPtrArray *
test_gateway_run (TestGateway *self,
                  const char  *door,
                  GString     *script)
{
  g_autoptr (SandboxCommand) command = test_gateway_new_command (door, script);
  g_autoptr (SandboxResult) result = test_run_command (&self->sandbox, command);
  g_autofree char *errors = sandbox_result_dup_stderr_text (result);
  GBytes          *output = sandbox_result_get_stdout (result);

  g_assert_cmpstr (errors, ==, "");
  test_assert_exited (result, 0);

  return test_answers_new (g_bytes_get_data (output, NULL), g_bytes_get_size (output), strstr (script->str, "\ncount ") != NULL);
}

static inline void
test_script_send_bytes (GString    *script,
                        guint       connection,
                        const char *bytes,
                        gsize       size)
{
  g_string_append_printf (script, "send %u %zu\n", connection, size);
  g_string_append_len (script, bytes, (gssize) size);
  g_string_append_c (script, '\n');
}

static inline void
test_script_send (GString    *script,
                  guint       connection,
                  const char *text)
{
  test_script_send_bytes (script, connection, text, strlen (text));
}

/* A request as the tests write it: "{A}" is allowed.test:PORT of the upstream, "{P}" that PORT. */
#define TEST_GET "GET / HTTP/1.1\r\nHost: {A}\r\n\r\n"

static inline GString *
test_gateway_expand (TestGateway *self,
                     const char  *bytes,
                     gsize        size)
{
  GString         *expanded = g_string_new (NULL);
  g_autofree char *port = g_strdup_printf ("%u", self->upstream->port);

  for (gsize i = 0; i < size; i++)
    {
      if (size - i >= 3 && memcmp (bytes + i, "{A}", 3) == 0)
        g_string_append_printf (expanded, "allowed.test:%s", port);
      else if (size - i >= 3 && memcmp (bytes + i, "{P}", 3) == 0)
        g_string_append (expanded, port);
      else
        {
          g_string_append_c (expanded, bytes[i]);
          continue;
        }
      i += 2;
    }

  return expanded;
}

/* The text of @format at connection 0, and one answer or, if @all, what comes until the end */
static inline TestAnswer *
test_gateway_ask (TestGateway *self,
                  const char  *door,
                  const char  *text,
                  gboolean     all)
{
  g_autoptr (GString) bytes = test_gateway_expand (self, text, strlen (text));
  g_autoptr (GString) script = g_string_new ("open 0\n");
  g_autoptr (GPtrArray) answers = NULL;

  test_script_send (script, 0, bytes->str);
  g_string_append (script, all ? "read 0 20000\n" : "answer 0 20000\n");
  answers = test_gateway_run (self, door, script);

  return g_ptr_array_steal_index (answers, 0);
}

/* An honest request at a connection of its own. */
static inline char *
test_gateway_get (TestGateway *self,
                  const char  *door,
                  const char  *target,
                  guint       *status)
{
  g_autoptr (GString) script = g_string_new ("open 0\n");
  g_autofree char *request = g_strdup_printf ("GET %s HTTP/1.1\r\nHost: allowed.test:%u\r\nConnection: close\r\n\r\n", target,
                                              self->upstream->port);
  g_autoptr (GPtrArray) answers = NULL;

  test_script_send (script, 0, request);
  g_string_append (script, "answer 0 20000\n");
  answers = test_gateway_run (self, door, script);
  *status = test_answers_get (answers, 0)->status;

  return g_strdup (test_answer_get_body (test_answers_get (answers, 0)));
}

/* ---- What may be in a text ---- */

static inline void
test_assert_has (const char *text,
                 const char *word)
{
  if (strstr (text, word) == NULL)
    g_error ("“%s” is not in “%s”", word, text);
}

static inline void
test_assert_has_not (const char *text,
                     const char *word)
{
  if (strcasestr (text, word) != NULL)
    g_error ("“%s” is in “%s”", word, text);
}
