/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the gateway leads to, and what hostile origins answer there: cases 141 to 152 by their numbers. The origins are threads
 * of this test, which can be slow, rude or silent at each byte.
 */
#include "../common/test-certificates.h"
#include "../common/test-gateway.h"

#include <sys/resource.h>

/* ---- Where it leads to ---- */

static void
test_internal_addresses (TestGateway  *self,
                         gconstpointer unused)
{
  /* Of the public ones none is dialled: nobody has a way to that part of the address space. The first answer of each set is one. */
  static const char *const answers[] = { "127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1",
                                         "198.18.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "::ffff:127.0.0.1", "::127.0.0.1", "fe80::1", "fc00::1",
                                         "fec0::1", "ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::",
                                         "127.0.0.1,::1,10.0.0.1" };
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  guint n_errors;

  g_test_summary ("Case 141: a name that leads to an address of this machine or of a private network is not followed");

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, TEST_CREDENTIAL);
  sandbox_network_policy_set_allow_private_addresses (policy, FALSE);
  test_gateway_use (self, policy);
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    for (guint j = 0; j < G_N_ELEMENTS (test_doors); j++)
      {
        g_autoptr (TestAnswer) answer = NULL;

        test_resolver_set ("allowed.test", answers[i]);
        n_errors = test_gateway_count (self, self->errors);
        answer = test_gateway_ask (self, test_doors[j], TEST_GET, FALSE);
        g_assert_cmpuint (answer->status, ==, 502);
        test_assert_has_not (answer->bytes, "private");
        test_wait (test_gateway_count (self, self->errors) == n_errors + 1);
        test_assert_has (g_ptr_array_index (self->errors, n_errors), "private");
      }
  g_assert_cmpuint (test_upstream_count (self->upstream), ==, 0);
}

static void
test_changing_answers (TestGateway  *self,
                       gconstpointer unused)
{
  static const char *const answers[] = { "2e00::1;127.0.0.1", "2e00::1,127.0.0.1", "127.0.0.1,2e00::1", "127.0.0.1;2e00::1;127.0.0.1" };
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();

  g_test_summary ("Case 142: the address that was looked at is the one that is dialled, whatever the name leads to the next time");

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, TEST_CREDENTIAL);
  sandbox_network_policy_set_allow_private_addresses (policy, FALSE);
  sandbox_network_policy_set_timeout_ms (policy, 2000);
  test_gateway_use (self, policy);
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      test_resolver_set ("allowed.test", answers[i]);
      for (guint j = 0; j < 4; j++)
        {
          g_autoptr (TestAnswer) answer = test_gateway_ask (self, test_doors[j % 2], TEST_GET, FALSE);

          g_assert_true (answer->status == 502 || answer->status == 504);
        }
    }
  g_assert_cmpuint (test_upstream_count (self->upstream), ==, 0);
}

/* No connection of the upstream has seen more than one of these. */
static void
assert_never_together (TestUpstream      *upstream,
                       const char *const *words)
{
  g_mutex_lock (&upstream->lock);
  for (guint i = 0; i < upstream->connections->len; i++)
    {
      TestConnection *connection = g_ptr_array_index (upstream->connections, i);
      guint           n_found = 0;

      for (guint j = 0; words[j] != NULL; j++)
        n_found += strstr (connection->bytes->str, words[j]) != NULL ? 1 : 0;
      g_assert_cmpuint (n_found, <=, 1);
    }
  g_mutex_unlock (&upstream->lock);
}

static void
test_pools (TestGateway  *self,
            gconstpointer unused)
{
  static const char *const credentials[] = { "credential-one", "credential-two", "credential-three", "credential-of-another", NULL };
  TestGateway              second = { .upstream = self->upstream };
  g_autoptr (SandboxNetworkPolicy) other = test_policy_new ();
  g_autoptr (SandboxNetworkPolicy) none = test_policy_new ();

  g_test_summary ("Case 143: no request goes over a connection of another policy or session, or with its credential");

  test_upstream_set (self->upstream, TEST_UPSTREAM_TELL, "");
  test_sandbox_set_up (&second.sandbox, NULL);
  test_install_program (second.sandbox.workspace, "door", TEST_DOOR);
  g_mutex_init (&second.lock);
  test_policy_add (other, "http", "allowed.test", self->upstream->port, credentials[3]);
  test_policy_add (none, "http", "second.test", self->upstream->port, NULL);
  test_gateway_use (&second, other);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
      g_autofree char *told = g_strconcat ("Bearer ", credentials[i], NULL);

      test_policy_add (policy, "http", "allowed.test", self->upstream->port, credentials[i]);
      test_gateway_use (self, policy);
      for (guint j = 0; j < 4; j++)
        {
          guint            status = 0;
          g_autofree char *mine = test_gateway_get (self, test_doors[j % 2], "/", &status);
          g_autofree char *theirs = test_gateway_get (&second, test_doors[j % 2], "/", &status);

          g_assert_cmpstr (mine, ==, told);
          g_assert_cmpstr (theirs, ==, "Bearer credential-of-another");
        }
      if (i == 1)
        {
          guint            status = 0;
          g_autofree char *body = NULL;

          test_gateway_use (self, none);
          body = test_gateway_get (self, TEST_UNIX_DOOR, "/", &status);
          g_assert_cmpuint (status, ==, 403);
        }
    }
  assert_never_together (self->upstream, credentials);
  test_sandbox_tear_down (&second.sandbox, NULL);
  g_mutex_clear (&second.lock);
}

static void
test_cookies (TestGateway  *self,
              gconstpointer unused)
{
  g_autofree char *seen = NULL;

  g_test_summary ("Case 144: a cookie comes neither to the guest nor back to the upstream");

  test_gateway_use_upstream (self);
  test_upstream_set (self->upstream, TEST_UPSTREAM_ANSWER, TEST_OK_HEAD "Set-Cookie: biscuit=1; Path=/\r\nSet-Cookie2: biscuit=2\r\nContent-Length: 5\r\n\r\nhello");
  for (guint i = 0; i < 6; i++)
    {
      g_autoptr (TestAnswer) answer = test_gateway_ask (self, test_doors[i % 2], TEST_GET, FALSE);

      g_assert_cmpuint (answer->status, ==, 200);
      test_assert_has_not (answer->bytes, "cookie");
      test_assert_has_not (answer->bytes, "biscuit");
      if (i == 3)
        test_gateway_use_upstream (self);
    }
  seen = test_upstream_get (self->upstream, 0);
  test_assert_has_not (seen, "cookie");
  test_assert_has_not (seen, "biscuit");
}

/* ---- What it answers ---- */

/* Every header that a guest is sent is one of those that DESIGN names, or frames the answer. */
static void
assert_known_headers (TestAnswer *answer)
{
  static const char *const known[] = { "Content-Type", "Content-Range", "Accept-Ranges", "ETag", "Last-Modified", "Cache-Control", "Content-Length",
                                       "Transfer-Encoding", "Connection" };
  const char              *blank = strstr (answer->bytes, "\r\n\r\n");
  g_autofree char         *head = NULL;
  g_auto (GStrv) lines = NULL;

  g_assert_nonnull (blank);
  head = g_strndup (answer->bytes, (gsize) (blank - answer->bytes));
  lines = g_strsplit (head, "\r\n", -1);
  for (guint i = 1; lines[i] != NULL; i++)
    {
      gboolean found = FALSE;

      for (const char *at = lines[i]; *at != '\0'; at++)
        g_assert_true (*at >= ' ' && *at <= '~');
      for (guint j = 0; j < G_N_ELEMENTS (known); j++)
        {
          gsize length = strlen (known[j]);

          found |= g_ascii_strncasecmp (lines[i], known[j], length) == 0 && lines[i][length] == ':';
        }
      if (!found)
        g_error ("The guest was sent “%s”", lines[i]);
    }
}

static void
test_response_headers (TestGateway  *self,
                       gconstpointer unused)
{
  static const char *const wild[] = { "ETag: a\rb\r\n", "ETag: a\r\n b\r\n", "ETag: a\001b\r\n", "ETag: \xff\r\n", "ETag : a\r\n", ": a\r\n", "ETag\r\n",
                                      "ETag: a\r\nETag: b\r\n", "Content-Type: text/html\r\nContent-Type: text/plain\r\n", "\r", "\n",
                                      "Cache-Control: a\nX: b\r\n" };
  g_autoptr (GString) many = g_string_new (TEST_OK_HEAD "Content-Length: 5\r\n");
  g_autoptr (GString) large = g_string_new (TEST_OK_HEAD "Content-Length: 5\r\nETag: ");
  const char *usual = TEST_OK_HEAD "Set-Cookie: a=b\r\nLocation: http://evil.test/\r\nRefresh: 0; url=http://evil.test/\r\nLink: <x>; rel=preload\r\n"
                                   "WWW-Authenticate: Basic\r\nProxy-Authenticate: Basic\r\nAlt-Svc: h3=\":443\"\r\nServer: x\r\nVia: x\r\nX-Secret: x\r\n"
                                   "Strict-Transport-Security: max-age=1\r\nAccess-Control-Allow-Origin: *\r\nKeep-Alive: timeout=5\r\nDate: x\r\n"
                                   "ETag: \"e\"\r\nCache-Control: no-store\r\nAccept-Ranges: bytes\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                   "Content-Length: 5\r\n\r\nhello";

  g_test_summary ("Case 145: of an answer only what DESIGN names comes to the guest, and nothing that is not plain");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < 500; i++)
    g_string_append_printf (many, "X-%u: y\r\n", i);
  g_string_append (many, "\r\nhello");
  for (guint i = 0; i < 1024 * 1024; i++)
    g_string_append_c (large, 'e');
  g_string_append (large, "\r\n\r\nhello");
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (TestAnswer) answer = NULL;
      g_autoptr (TestAnswer) of_many = NULL;
      g_autoptr (TestAnswer) of_large = NULL;

      test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, usual);
      answer = test_gateway_ask (self, test_doors[i], TEST_GET, FALSE);
      g_assert_cmpuint (answer->status, ==, 200);
      assert_known_headers (answer);
      test_assert_has (answer->bytes, "\"e\"");
      test_assert_has (answer->bytes, "no-store");
      test_assert_has (answer->bytes, "text/plain");
      test_assert_has (answer->bytes, "Sun, 06 Nov 1994 08:49:37 GMT");
      g_assert_cmpstr (test_answer_get_body (answer), ==, "hello");

      for (guint j = 0; j < G_N_ELEMENTS (wild); j++)
        {
          g_autofree char *text = g_strconcat (TEST_OK_HEAD, wild[j], "Content-Length: 5\r\n\r\nhello", NULL);
          g_autoptr (TestAnswer) one = NULL;

          test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, text);
          one = test_gateway_ask (self, test_doors[i], TEST_GET, FALSE);
          g_assert_cmpstr (one->end, ==, "whole");
          g_assert_true (one->status == 200 || one->status == 502);
          assert_known_headers (one);
        }

      test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, many->str);
      of_many = test_gateway_ask (self, test_doors[i], TEST_GET, FALSE);
      g_assert_true (of_many->status == 200 || of_many->status == 502);
      assert_known_headers (of_many);
      test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, large->str);
      of_large = test_gateway_ask (self, test_doors[i], TEST_GET, FALSE);
      g_assert_true (of_large->status == 200 || of_large->status == 502);
      g_assert_cmpuint (of_large->size, <, 65536);
      assert_known_headers (of_large);
    }
}

typedef struct
{
  const char        *method;
  const char        *answer;
  TestUpstreamManner manner;
  guint              status;
  const char        *body; /* NULL: whatever */
} Answered;

static void
check_answered (TestGateway    *self,
                const Answered *rows,
                guint           n_rows)
{
  for (guint i = 0; i < n_rows; i++)
    for (guint j = 0; j < G_N_ELEMENTS (test_doors); j++)
      {
        g_autofree char *text = g_strdup_printf ("%s / HTTP/1.1\r\nHost: {A}\r\nConnection: close\r\n\r\n", rows[i].method);
        g_autoptr (TestAnswer) answer = NULL;

        test_upstream_set (self->upstream, rows[i].manner, rows[i].answer);
        answer = test_gateway_ask (self, test_doors[j], text, TRUE);
        if (answer->status != rows[i].status || test_answer_count (answer) != 1 || !g_str_equal (answer->end, "end") ||
            (rows[i].body != NULL && !g_str_has_suffix (answer->bytes, rows[i].body)))
          g_error ("%s was answered with “%s”, and the guest read “%s” until “%s”", rows[i].method, rows[i].answer, answer->bytes, answer->end);
        assert_known_headers (answer);
      }
}

static void
test_statuses (TestGateway  *self,
               gconstpointer unused)
{
  static const Answered rows[] = {
    { "GET", TEST_OK, TEST_UPSTREAM_CLOSE, 200, "\r\n\r\nhello" },
    { "GET", "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" TEST_OK, TEST_UPSTREAM_CLOSE, 200, "\r\n\r\nhello" },
    { "GET", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1 204 No Content\r\n\r\n", TEST_UPSTREAM_CLOSE, 204, "\r\n\r\n" },
    { "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 204, "\r\n\r\n" },
    { "GET", "HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\n\r\n", TEST_UPSTREAM_CLOSE, 304, "\r\n\r\n" },
    { "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", TEST_UPSTREAM_CLOSE, 304, "\r\n\r\n" },
    { "GET", "HTTP/1.1 301 Moved\r\nLocation: http://second.test/\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1 307 Temporary\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1 600 Odd\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1 99 Odd\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1 0200 Odd\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 404, "\r\n\r\nhello" },
    { "GET", "HTTP/1.1 421 Misdirected\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1 421 Misdirected\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", TEST_UPSTREAM_ANSWER, 502, NULL },
    { "GET", "HTTP/1.1 500 Broken\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 500, "\r\n\r\nhello" },
    { "GET", "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 401, "\r\n\r\nhello" },
    { "GET", "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 407, "\r\n\r\nhello" },
    { "GET", "HTTP/1.1 401 Who\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", TEST_UPSTREAM_CLOSE, 401, "5\r\nhello\r\n0\r\n\r\n" },
    { "GET", "HTTP/1.1 407 Who\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", TEST_UPSTREAM_CLOSE, 407, "5\r\nhello\r\n0\r\n\r\n" },
    { "GET", "HTTP/1.1 200 OK\r\n\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1 200 OK\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD, TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Content-Length: 10\r\nContent-Length: 2\r\n\r\nhe", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Content-Length: \r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Transfer-Encoding: gzip, chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Transfer-Encoding: chunked,\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Content-Length: 3\r\nTransfer-Encoding: gzip\r\n\r\nabc", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Content-Length: 00000000000000000005\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Content-Length: -2\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Content-Length: 9223372036854775808\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", TEST_UPSTREAM_CLOSE, 200, "\r\n\r\n" },
    { "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 200, "\r\n\r\n" },
    { "HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", TEST_UPSTREAM_CLOSE, 200, "\r\n\r\n" },
    { "GET", TEST_OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Content-Encoding: br\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", TEST_OK_HEAD "Content-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 200, "\r\n\r\nhello" },
    { "GET", TEST_OK_HEAD "Content-Encoding: \r\nContent-Length: 5\r\n\r\nhello", TEST_UPSTREAM_CLOSE, 200, "\r\n\r\nhello" },
    { "GET", "", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "hello", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "HTTP/1.1\r\n\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
    { "GET", "SSH-2.0-OpenSSH\r\n", TEST_UPSTREAM_CLOSE, 502, NULL },
  };
  const Answered endless = { "GET", "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", TEST_UPSTREAM_ENDLESS, 504, NULL };
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autofree char *seen = NULL;

  g_test_summary ("Case 146: statuses with rules of their own are framed as they must be, and those that would be followed are not passed on");

  test_gateway_use_upstream (self);
  check_answered (self, rows, G_N_ELEMENTS (rows));
  seen = test_upstream_get (self->upstream, 0);
  test_assert_has_not (seen, "/again");
  test_assert_has_not (seen, "second.test");

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, NULL);
  sandbox_network_policy_set_timeout_ms (policy, 1000);
  test_gateway_use (self, policy);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (TestAnswer) answer = NULL;

      test_upstream_set (self->upstream, endless.manner, endless.answer);
      answer = test_gateway_ask (self, test_doors[i], TEST_GET, FALSE);
      g_assert_true (answer->status == 504 || answer->status == 502);
      g_assert_cmpint (answer->ms, <, 5000);
    }
  test_wait (test_upstream_count_open (self->upstream) == 0);
}

static void
test_truncated (TestGateway  *self,
                gconstpointer unused)
{
  static const char *const cut[] = {
    TEST_OK_HEAD "Content-Length: 10\r\n\r\nhello",
    TEST_OK_HEAD "Content-Length: 10\r\n\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\n\r\na\r\nhello",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\n\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
    TEST_OK_HEAD "Content-Leng",
  };
  static const char *const whole[] = {
    TEST_OK_HEAD "Connection: close\r\n\r\nhello",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\nTrailer: ETag\r\n\r\n5 ;a=\"b\"\r\nhello\r\n0\r\nETag: x\r\nX-Y: z\r\n\r\n",
    "HTTP/1.0 200 OK\r\n\r\nhello",
  };

  g_test_summary ("Case 147: an answer that was cut off does not look complete, and one that ends with its connection is");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      for (guint j = 0; j < G_N_ELEMENTS (cut); j++)
        {
          g_autoptr (TestAnswer) answer = NULL;

          test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, cut[j]);
          answer = test_gateway_ask (self, test_doors[i], TEST_GET, FALSE);
          if (answer->status == 502 ? !g_str_equal (answer->end, "whole") : !g_str_equal (answer->end, "end") && !g_str_equal (answer->end, "reset"))
            g_error ("“%s” came to the guest as “%s”, until “%s”", cut[j], answer->bytes, answer->end);
        }
      for (guint j = 0; j < G_N_ELEMENTS (whole); j++)
        {
          g_autoptr (TestAnswer) answer = NULL;

          test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, whole[j]);
          answer = test_gateway_ask (self, test_doors[i], TEST_GET, FALSE);
          g_assert_cmpuint (answer->status, ==, 200);
          g_assert_cmpstr (answer->end, ==, "whole");
          test_assert_has (answer->bytes, "hello");
        }
    }
}

static void
test_response_bound (TestGateway  *self,
                     gconstpointer unused)
{
  g_test_summary ("Case 147: an answer beyond the bound fails where a guest sees it, and one at the bound is whole");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    for (guint j = 0; j < 6; j++)
      {
        const gsize size = 1048576 + j % 2;
        const guint status = i == 0 ? 200 : 401;
        g_autoptr (GString) text = g_string_new (i == 0 ? TEST_OK_HEAD : "HTTP/1.1 401 Who\r\n");
        g_autoptr (TestAnswer) answer = NULL;

        if (j / 2 == 0)
          g_string_append_printf (text, "Content-Length: %zu\r\n\r\n", size);
        else if (j / 2 == 1)
          g_string_append_printf (text, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", size);
        else
          g_string_append (text, "Connection: close\r\n\r\n");
        for (gsize k = 0; k < size; k++)
          g_string_append_c (text, (char) ('a' + k % 26));
        if (j / 2 == 1)
          g_string_append (text, "\r\n0\r\n\r\n");
        test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, text->str);
        answer = test_gateway_ask (self, test_doors[i], TEST_GET, FALSE);
        if (j % 2 == 0)
          {
            g_assert_cmpuint (answer->status, ==, status);
            g_assert_cmpstr (answer->end, ==, "whole");
            g_assert_cmpuint (answer->size, >, size);
          }
        else
          g_assert_true (answer->status == 502 || !g_str_equal (answer->end, "whole"));
      }
}

static void
test_slow_upstream (TestGateway  *self,
                    gconstpointer unused)
{
  static const Answered rows[] = {
    { "GET", "", TEST_UPSTREAM_HOLD, 504, NULL },
    { "GET", "HTTP/1.1 200 OK\r\nContent-", TEST_UPSTREAM_HOLD, 504, NULL },
    { "GET", TEST_OK, TEST_UPSTREAM_TRICKLE, 504, NULL },
    { "GET", "X-Y: zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\r\n", TEST_UPSTREAM_ENDLESS, 504, NULL },
    { "GET", TEST_OK_HEAD "Content-Length: 100\r\n\r\nhello", TEST_UPSTREAM_HOLD, 200, NULL },
    { "GET", TEST_OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", TEST_UPSTREAM_HOLD, 200, NULL },
    { "GET", TEST_OK_HEAD "\r\nhello", TEST_UPSTREAM_HOLD, 200, NULL },
  };
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();

  g_test_summary ("Case 148: a slow upstream has one time for all of it, and then its room is free");

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, NULL);
  sandbox_network_policy_set_timeout_ms (policy, 1000);
  sandbox_network_policy_set_max_requests (policy, 1);
  test_gateway_use (self, policy);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (guint j = 0; j < G_N_ELEMENTS (test_doors); j++)
      {
        g_autoptr (TestAnswer) answer = NULL;
        g_autoptr (TestAnswer) next = NULL;

        test_upstream_set (self->upstream, rows[i].manner, rows[i].answer);
        answer = test_gateway_ask (self, test_doors[j], TEST_GET, FALSE);
        g_assert_cmpint (answer->ms, <, 5000);
        if (answer->status == 200)
          g_assert_true (rows[i].status == 200 && (g_str_equal (answer->end, "end") || g_str_equal (answer->end, "reset")));
        else
          g_assert_true (answer->status == 504 || answer->status == 502);
        test_wait (test_upstream_count_open (self->upstream) == 0);

        test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, TEST_OK);
        next = test_gateway_ask (self, test_doors[j], TEST_GET, FALSE);
        g_assert_cmpuint (next->status, ==, 200);
      }
}

static void
test_later_deadline (TestGateway  *self,
                     gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (TestAnswer) answer = NULL;

  g_test_summary ("Case 148: a time that is longer than that for a head comes to its end as well");

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, NULL);
  sandbox_network_policy_set_timeout_ms (policy, 6000);
  test_gateway_use (self, policy);
  test_upstream_set (self->upstream, TEST_UPSTREAM_HOLD, "");
  answer = test_gateway_ask (self, TEST_UNIX_DOOR, TEST_GET, FALSE);
  g_assert_cmpuint (answer->status, ==, 504);
  g_assert_cmpint (answer->ms, >=, 5900);
}

static void
test_diagnostics (TestGateway  *self,
                  gconstpointer unused)
{
  static const char *const answers[] = { "HTTP/1.1 200 words-of-the-upstream\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 302 words-of-the-upstream\r\nLocation: x\r\n\r\n",
                                         "words-of-the-upstream\r\n\r\n", "HTTP/9.9 words-of-the-upstream\r\n\r\n", "HTTP/1.1 words-of-the-upstream\r\n\r\n",
                                         TEST_OK_HEAD "Content-Encoding: words-of-the-upstream\r\nContent-Length: 0\r\n\r\n" };
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (TestAnswer) unknown = NULL;

  g_test_summary ("Case 150: what went wrong is told to the host, and to the guest in a text that is always the same");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    for (guint j = 0; j < G_N_ELEMENTS (test_doors); j++)
      {
        guint n_errors = test_gateway_count (self, self->errors);
        g_autoptr (TestAnswer) answer = NULL;

        test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, answers[i]);
        answer = test_gateway_ask (self, test_doors[j], TEST_GET, FALSE);
        test_assert_has_not (answer->bytes, "words-of-the-upstream");
        g_assert_cmpuint (answer->status, ==, i == 0 ? 200 : 502);
        if (i > 0)
          {
            test_assert_has_not (answer->bytes, "allowed.test");
            test_assert_has_not (answer->bytes, "127.0.0.1");
            test_wait (test_gateway_count (self, self->errors) == n_errors + 1);
            test_assert_has_not (g_ptr_array_index (self->errors, n_errors), TEST_CREDENTIAL);
          }
      }

  /* A name that nobody knows */
  test_policy_add (policy, "http", "unknown.test", 80, TEST_CREDENTIAL);
  test_gateway_use (self, policy);
  unknown = test_gateway_ask (self, TEST_UNIX_DOOR, "GET / HTTP/1.1\r\nHost: unknown.test\r\n\r\n", FALSE);
  g_assert_cmpuint (unknown->status, ==, 502);
  test_assert_has_not (unknown->bytes, "unknown.test");
  test_assert_has_not (unknown->bytes, "address");
}

static void
test_in_flight (TestGateway  *self,
                gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 151: a policy stays while a command lives, and what it had begun ends with it");

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, "new-credential");
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (GString) request = test_gateway_expand (self, TEST_GET, strlen (TEST_GET));
      g_autoptr (GString) script = g_string_new ("open 0\n");
      g_autoptr (SandboxCommand) command = NULL;
      g_autoptr (SandboxProcess) process = NULL;
      guint            n_before = test_upstream_count_requests (self->upstream);
      guint            status = 0;
      g_autofree char *body = NULL;

      test_gateway_use_upstream (self);
      test_upstream_set (self->upstream, TEST_UPSTREAM_HOLD, "");
      test_script_send (script, 0, request->str);
      g_string_append (script, "read 0 50000\n");
      command = test_gateway_new_command (test_doors[i], script);
      process = sandbox_session_spawn (self->sandbox.session, command, NULL, &error);
      g_assert_no_error (error);
      test_wait (test_upstream_count_requests (self->upstream) > n_before);

      g_assert_false (sandbox_session_set_network_policy (self->sandbox.session, policy, NULL, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
      g_clear_error (&error);

      sandbox_process_kill (process, &error);
      g_assert_no_error (error);
      sandbox_process_wait (process, NULL, &error);
      g_assert_no_error (error);
      test_gateway_use (self, policy);
      test_wait (test_upstream_count_open (self->upstream) == 0);

      test_upstream_set (self->upstream, TEST_UPSTREAM_TELL, "");
      body = test_gateway_get (self, test_doors[i], "/", &status);
      g_assert_cmpstr (body, ==, "Bearer new-credential");
    }
}

static void
test_known_upstream_holes (TestGateway  *self,
                           gconstpointer unused)
{
  static const char *const answers[] = {
    TEST_OK_HEAD "Content-Length: 5\r\nContent-Length: 10\r\n\r\nhellohello",
    TEST_OK_HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nhello",
    TEST_OK_HEAD "Content-Length: -1\r\n\r\nhello",
    TEST_OK_HEAD "Content-Length: -2\r\n\r\nhello",
    TEST_OK_HEAD "Content-Length: 9223372036854775808\r\n\r\nhello",
    TEST_OK_HEAD "Content-Length: 5, -2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nhello",
    TEST_OK_HEAD "Content-Length: 99999999999999999999\r\n\r\nhello",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhello",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\n\r\n-1\r\nhello\r\n0\r\n\r\n",
    TEST_OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5;x=\xff\r\nhello\r\n0\r\nETag: x\r\n\r\n",
    TEST_OK_HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: a/b;=;=\"\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Disposition: x; filename*=%%\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Range: bytes 5-1/-3\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest realm=\"\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nSet-Cookie: ; Expires=x; Max-Age=99999999999999999999\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=\"\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200\r\n\r\n",
    "\0\0\0\0",
    "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
  };

  g_test_summary ("Case 152: what was published against libsoup's reader of answers is harmless, and no wrong length comes of it");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    for (guint j = 0; j < G_N_ELEMENTS (test_doors); j++)
      {
        g_autoptr (TestAnswer) answer = NULL;
        g_autoptr (TestAnswer) next = NULL;

        test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, answers[i]);
        answer = test_gateway_ask (self, test_doors[j], TEST_GET, FALSE);
        g_assert_cmpstr (answer->end, !=, "late");
        g_assert_true (answer->status == 200 || answer->status == 401 || answer->status == 502);
        assert_known_headers (answer);
        test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, TEST_OK);
        next = test_gateway_ask (self, test_doors[j], TEST_GET, FALSE);
        g_assert_cmpstr (test_answer_get_body (next), ==, "hello");
      }
}

/* ---- TLS ---- */

static void
test_certificates (TestGateway  *self,
                   gconstpointer unused)
{
  g_autofree char *directory = g_dir_make_tmp ("certificates-XXXXXX", NULL);
  g_autofree char *authority = g_build_filename (directory, "ca.pem", NULL);
  g_autoptr (GTlsCertificate) good = NULL;
  g_autoptr (GTlsCertificate) expired = NULL;
  g_autoptr (GTlsCertificate) of_another = NULL;
  g_autoptr (GTlsCertificate) unsigned_one = NULL;
  g_autoptr (GTlsDatabase) database = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *own = g_build_filename (directory, "own.pem", NULL);
  g_autofree char *own_key = g_build_filename (directory, "own.key", NULL);

  g_test_summary ("Case 149: an upstream whose certificate is not good is not asked, and the guest is not told why");

  test_make_authority (directory);
  good = test_make_certificate (directory, "good", "secure.test", TEST_LONG_AGO, TEST_FAR_AWAY);
  expired = test_make_certificate (directory, "expired", "secure.test", TEST_LONG_AGO, TEST_NOT_SO_LONG_AGO);
  of_another = test_make_certificate (directory, "another", "another.test", TEST_LONG_AGO, TEST_FAR_AWAY);
  test_run_tool (directory, "openssl req -x509 -config ca.conf -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=secure.test"
                            " -addext subjectAltName=DNS:secure.test -keyout own.key -out own.pem");
  unsigned_one = g_tls_certificate_new_from_files (own, own_key, &error);
  g_assert_no_error (error);
  database = g_tls_file_database_new (authority, &error);
  g_assert_no_error (error);
  test_resolver_set ("secure.test", "127.0.0.1");

  for (guint i = 0; i < 6; i++)
    {
      /* The last two: a good one without our authority, and no TLS at all */
      GTlsCertificate *const certificates[] = { good, expired, of_another, unsigned_one, good, NULL };
      g_autoptr (TestUpstream) upstream = test_upstream_new ("127.0.0.1", certificates[i]);
      g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
      g_autofree char *seen = NULL;

      test_policy_add (policy, "https", "secure.test", upstream->port, TEST_CREDENTIAL);
      if (i != 4)
        sandbox_network_policy_set_tls_database (policy, database);
      sandbox_network_policy_set_timeout_ms (policy, i == 5 ? 1000 : 20000);
      test_gateway_use (self, policy);
      for (guint j = 0; j < G_N_ELEMENTS (test_doors); j++)
        {
          g_autofree char *text = g_strdup_printf ("GET /tls HTTP/1.1\r\nHost: secure.test:%u\r\n\r\n", upstream->port);
          g_autoptr (TestAnswer) answer = NULL;
          guint n_errors = test_gateway_count (self, self->errors);

          answer = test_gateway_ask (self, test_doors[j], text, FALSE);
          /* The last waits for a request, and what it is sent is none. */
          g_assert_cmpuint (answer->status, ==, i == 0 ? 200 : i == 5 ? 504
                                                                      : 502);
          if (i == 0)
            continue;
          test_assert_has_not (answer->bytes, "certificate");
          test_assert_has_not (answer->bytes, "tls");
          test_wait (test_gateway_count (self, self->errors) == n_errors + 1);
        }
      seen = test_upstream_get (upstream, 0);
      g_assert_cmpuint (test_upstream_count_requests (upstream), ==, i == 0 ? 2 : 0);
      if (i == 0)
        test_assert_has (seen, TEST_CREDENTIAL);
      else
        test_assert_has_not (seen, TEST_CREDENTIAL);
    }
  test_gateway_use_upstream (self);
  test_remove_tree (directory);
}

/* A child that speaks one version of TLS only, at a port that it chooses. */
static GSubprocess *
start_server (const char *directory,
              const char *version,
              guint16    *port)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  g_autoptr (GDataInputStream) lines = NULL;
  g_autoptr (GError) error = NULL;
  GSubprocess *server = NULL;

  g_subprocess_launcher_set_cwd (launcher, directory);
  g_subprocess_launcher_set_child_setup (launcher, test_end_with_parent_cb, NULL, NULL);
  server = g_subprocess_launcher_spawn (launcher, &error, "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", "good.pem", "-key", "good.key", version,
                                        "-cipher", "ALL:@SECLEVEL=0", "-www", NULL);
  g_assert_no_error (error);
  lines = g_data_input_stream_new (g_subprocess_get_stdout_pipe (server));
  for (*port = 0; *port == 0;)
    {
      g_autofree char *line = g_data_input_stream_read_line (lines, NULL, NULL, &error);

      g_assert_no_error (error);
      g_assert_nonnull (line);
      if (g_str_has_prefix (line, "ACCEPT 127.0.0.1:"))
        *port = (guint16) atoi (line + strlen ("ACCEPT 127.0.0.1:"));
    }

  return server;
}

static void
test_old_protocol (TestGateway  *self,
                   gconstpointer unused)
{
  g_autofree char *directory = g_dir_make_tmp ("certificates-XXXXXX", NULL);
  g_autofree char *authority = g_build_filename (directory, "ca.pem", NULL);
  g_autoptr (GTlsCertificate) good = NULL;
  g_autoptr (GTlsDatabase) database = NULL;
  g_autoptr (GSubprocess) server = NULL;
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (TestAnswer) answer = NULL;
  g_autofree char *text = NULL;
  guint16          port = 0;

  g_test_summary ("Case 149: an upstream that knows no protocol of today is not asked");

  test_make_authority (directory);
  good = test_make_certificate (directory, "good", "secure.test", TEST_LONG_AGO, TEST_FAR_AWAY);
  database = g_tls_file_database_new (authority, NULL);
  test_resolver_set ("secure.test", "127.0.0.1");
  server = start_server (directory, "-tls1_1", &port);
  test_policy_add (policy, "https", "secure.test", port, TEST_CREDENTIAL);
  sandbox_network_policy_set_tls_database (policy, database);
  test_gateway_use (self, policy);
  text = g_strdup_printf ("GET / HTTP/1.1\r\nHost: secure.test:%u\r\n\r\n", port);
  answer = test_gateway_ask (self, TEST_UNIX_DOOR, text, FALSE);
  g_assert_cmpuint (answer->status, ==, 502);
  test_wait (test_gateway_count (self, self->errors) == 1);
  g_subprocess_force_exit (server);
  g_subprocess_wait (server, NULL, NULL);
  test_gateway_use_upstream (self);
  test_remove_tree (directory);
}

/* A host without any TLS, which is this program again */
static void
test_no_tls_host (TestGateway  *self,
                  gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (GError) error = NULL;
  guint            status = 0;
  g_autofree char *body = NULL;

  g_assert_false (g_tls_backend_supports_tls (g_tls_backend_get_default ()));
  test_gateway_use_upstream (self);
  test_policy_add (policy, "https", "secure.test", 443, TEST_CREDENTIAL);
  g_assert_false (sandbox_session_set_network_policy (self->sandbox.session, policy, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  test_assert_has (error->message, "TLS");
  /* The policy before is still there. */
  body = test_gateway_get (self, TEST_UNIX_DOOR, "/", &status);
  g_assert_cmpstr (body, ==, "hello");
}

static void
test_no_tls (void)
{
  g_autofree char *before = g_strdup (g_getenv ("GIO_USE_TLS"));

  g_test_summary ("Case 149: where the host has no TLS, a policy that needs it is refused");

  g_setenv ("GIO_USE_TLS", "dummy", TRUE);
  g_test_trap_subprocess ("/origins/149-no-tls/subprocess", 0, G_TEST_SUBPROCESS_DEFAULT);
  if (before != NULL)
    g_setenv ("GIO_USE_TLS", before, TRUE);
  else
    unsetenv ("GIO_USE_TLS");
  g_test_trap_assert_passed ();
}

/* ---- Connections that come about ---- */

/* The guest's requests of @origin at the connections from @first on */
static void
add_requests (GString    *script,
              const char *origin,
              guint       first,
              guint       n)
{
  g_autofree char *request = g_strdup_printf ("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", origin);

  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (script, "open %u\n", first + i);
      test_script_send (script, first + i, request);
    }
}

static void
test_unanswered_handshakes (TestGateway  *self,
                            gconstpointer unused)
{
  enum
  {
    N_ORIGINS = 6,
    /* GLib reads all of the host's certificates for each, which takes long where every access to memory is looked at. */
    N_REQUESTS = TEST_IS_SANITIZED ? 2 : 20,
    N_AT_ONCE = 8, /* to one origin */
  };
  TestUpstream *silent[N_ORIGINS];
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (GString) script = g_string_new (NULL);
  g_autoptr (GPtrArray) answers = NULL;
  g_autofree char *honest = g_strdup_printf ("allowed.test:%u", self->upstream->port);

  g_test_summary ("Origins that never answer a handshake delay nobody but who asks them, however many ask");

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, NULL);
  sandbox_network_policy_set_max_requests (policy, N_ORIGINS * N_REQUESTS + 1);
  sandbox_network_policy_set_timeout_ms (policy, 5000);
  for (guint i = 0; i < N_ORIGINS; i++)
    {
      g_autofree char *name = g_strdup_printf ("silent%u.test", i);
      g_autofree char *origin = NULL;

      test_resolver_set (name, "127.0.0.1");
      silent[i] = test_upstream_new ("127.0.0.1", NULL);
      test_upstream_set (silent[i], TEST_UPSTREAM_HOLD, "");
      test_policy_add (policy, "https", name, silent[i]->port, NULL);
      origin = g_strdup_printf ("%s:%u", name, silent[i]->port);
      add_requests (script, origin, i * N_REQUESTS, N_REQUESTS);
    }
  test_gateway_use (self, policy);

  g_string_append (script, "sleep 500\nopen 200\nread 200 1\n");
  add_requests (script, honest, 201, 1);
  g_string_append (script, "answer 201 20000\n");
  for (guint i = 0; i < N_ORIGINS * N_REQUESTS; i++)
    g_string_append_printf (script, "answer %u 20000\n", i);
  answers = test_gateway_run (self, TEST_UNIX_DOOR, script);
  g_assert_cmpuint (test_answers_get (answers, 1)->status, ==, 200);
  g_assert_cmpint (test_answers_get (answers, 1)->ms - test_answers_get (answers, 0)->ms, <, TEST_IS_SANITIZED ? 5000 : 2000);
  for (guint i = 2; i < answers->len; i++)
    g_assert_cmpuint (test_answers_get (answers, i)->status, ==, 504);
  for (guint i = 0; i < N_ORIGINS; i++)
    {
      /* Some that were closed it may not have seen yet when the next came. */
      g_assert_cmpuint (silent[i]->most_open, <=, 2 * N_AT_ONCE);
      test_wait (test_upstream_count_open (silent[i]) == 0);
      test_upstream_free (silent[i]);
    }
}

/* Descriptors of this process until there are no more but @n. */
static GArray *
take_descriptors (guint n)
{
  GArray *fds = g_array_new (FALSE, FALSE, sizeof (int));
  int     fd = -1;

  while ((fd = dup (0)) >= 0)
    g_array_append_val (fds, fd);
  g_assert_cmpint (errno, ==, EMFILE);
  for (guint i = 0; i < n; i++)
    close (g_array_index (fds, int, fds->len - 1 - i));
  g_array_set_size (fds, fds->len - n);

  return fds;
}

static void
test_few_descriptors (TestGateway  *self,
                      gconstpointer unused)
{
  enum
  {
    N_MOST = 16,
  };
  g_autofree char *directory = g_dir_make_tmp ("certificates-XXXXXX", NULL);
  g_autofree char *authority = g_build_filename (directory, "ca.pem", NULL);
  g_autofree char *origin = NULL;
  g_autoptr (GSubprocess) server = NULL;
  g_autoptr (GTlsCertificate) good = NULL;
  g_autoptr (GTlsDatabase) database = NULL;
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  struct rlimit usual;
  struct rlimit few;
  guint16       port = 0;

  g_test_summary ("A host with few descriptors left, or none, asks no origin rather than being ended by a library in a handshake");

  test_make_authority (directory);
  good = test_make_certificate (directory, "good", "secure.test", TEST_LONG_AGO, TEST_FAR_AWAY);
  database = g_tls_file_database_new (authority, NULL);
  test_resolver_set ("secure.test", "127.0.0.1");
  server = start_server (directory, "-tls1_3", &port);
  origin = g_strdup_printf ("secure.test:%u", port);
  test_policy_add (policy, "https", "secure.test", port, NULL);
  sandbox_network_policy_set_tls_database (policy, database);
  test_gateway_use (self, policy);
  getrlimit (RLIMIT_NOFILE, &usual);
  few = (struct rlimit){ 512, usual.rlim_max };
  for (guint n = 0; n <= N_MOST; n++)
    {
      const guint n_before = test_gateway_count (self, self->requests);
      g_autoptr (GString) script = g_string_new (NULL);
      g_autoptr (GString) request = g_string_new (NULL);
      g_autoptr (SandboxCommand) command = NULL;
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (GArray) fds = NULL;
      g_autoptr (GError) error = NULL;

      g_string_append (script, "open 0\nsleep 300\n");
      g_string_append_printf (request, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", origin);
      test_script_send (script, 0, request->str);
      g_string_append (script, "answer 0 20000\n");
      command = test_gateway_new_command (TEST_UNIX_DOOR, script);
      process = sandbox_session_spawn (self->sandbox.session, command, NULL, &error);
      g_assert_no_error (error);
      g_usleep (200 * 1000);
      setrlimit (RLIMIT_NOFILE, &few);
      fds = take_descriptors (n);
      test_wait (test_gateway_count (self, self->requests) > n_before);
      for (guint i = 0; i < fds->len; i++)
        close (g_array_index (fds, int, i));
      setrlimit (RLIMIT_NOFILE, &usual);
      sandbox_process_wait (process, NULL, &error);
      g_assert_no_error (error);
      test_assert_exited (sandbox_process_get_result (process), 0);
    }
  g_assert_true (g_str_has_prefix (g_ptr_array_index (self->requests, 0), "GET https://secure.test:"));
  g_assert_nonnull (strstr (g_ptr_array_index (self->requests, 0), " 502 "));
  g_assert_nonnull (strstr (g_ptr_array_index (self->requests, N_MOST), " 200 "));
  g_subprocess_force_exit (server);
  g_subprocess_wait (server, NULL, NULL);
  test_gateway_use_upstream (self);
  test_remove_tree (directory);
}

static const struct
{
  const char *path;
  void (*func) (TestGateway  *self,
                gconstpointer unused);
} tests[] = {
  { "/origins/141-internal-addresses", test_internal_addresses },
  { "/origins/142-changing-answers", test_changing_answers },
  { "/origins/143-pools", test_pools },
  { "/origins/144-cookies", test_cookies },
  { "/origins/145-response-headers", test_response_headers },
  { "/origins/146-statuses", test_statuses },
  { "/origins/147-truncated", test_truncated },
  { "/origins/147-response-bound", test_response_bound },
  { "/origins/148-slow-upstream", test_slow_upstream },
  { "/origins/148-later-deadline", test_later_deadline },
  { "/origins/149-certificates", test_certificates },
  { "/origins/149-old-protocol", test_old_protocol },
  { "/origins/150-diagnostics", test_diagnostics },
  { "/origins/151-in-flight", test_in_flight },
  { "/origins/152-known-upstream-holes", test_known_upstream_holes },
  { "/origins/unanswered-handshakes", test_unanswered_handshakes },
  { "/origins/few-descriptors", test_few_descriptors },
  { "/origins/149-no-tls/subprocess", test_no_tls_host },
};

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].path, TestGateway, NULL, test_gateway_set_up, tests[i].func, test_gateway_tear_down);
  g_test_add_func ("/origins/149-no-tls", test_no_tls);

  return g_test_run ();
}
