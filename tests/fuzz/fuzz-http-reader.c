/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as what a guest sends over one connection. However they are cut, the same is read; and what is read of a head
 * is what a reader finds there that forgives everything, so no two can differ over it. The same bytes as the chunks of an answer: what
 * is well formed for a guest is so for an origin. */

#include <stdint.h>
#include <string.h>

#include "../common/test-http.h"

int LLVMFuzzerTestOneInput (const uint8_t *data,
                            size_t         size);

/* The values of all lines that anybody may take for @name: whatever ends the lines, whatever stands around the name. */
static GPtrArray *
find_values (const char *head,
             gsize       size,
             const char *name)
{
  g_autofree char *text = g_strndup (head, size);
  g_auto (GStrv) lines = g_strsplit_set (text, "\r\n", -1);
  GPtrArray *values = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      char *colon = strchr (lines[i], ':');

      if (colon == NULL)
        continue;
      *colon = '\0';
      if (g_ascii_strcasecmp (g_strstrip (lines[i]), name) == 0)
        g_ptr_array_add (values, g_strdup (g_strstrip (colon + 1)));
    }

  return values;
}

static void
check_passing (const char            *bytes,
               gsize                  size,
               const SandboxHttpHead *head)
{
  for (guint i = 0; i < head->n_headers; i++)
    {
      g_autoptr (GPtrArray) values = find_values (bytes, size, head->headers[i].name);

      g_assert_cmpuint (values->len, ==, 1);
      g_assert_cmpstr (g_ptr_array_index (values, 0), ==, head->headers[i].value);
      for (guint j = 0; j < i; j++)
        g_assert_cmpstr (head->headers[i].name, !=, head->headers[j].name);
    }
}

static void
check_head (const char            *bytes,
            gsize                  size,
            const SandboxHttpHead *head)
{
  g_autoptr (GPtrArray) hosts = find_values (bytes, size, "host");
  g_autoptr (GPtrArray) lengths = find_values (bytes, size, "content-length");
  g_autoptr (GPtrArray) codings = find_values (bytes, size, "transfer-encoding");
  g_autoptr (GPtrArray) upgrades = find_values (bytes, size, "upgrade");
  g_autofree char *text = g_strndup (bytes, size);
  g_autofree char *line = NULL;

  g_assert_cmpuint (strlen (text), ==, size);
  g_assert_true (g_str_is_ascii (text));

  g_assert_cmpuint (hosts->len, ==, 1);
  g_assert_cmpint (g_ascii_strcasecmp (g_ptr_array_index (hosts, 0), head->host), ==, 0);
  g_assert_cmpuint (strspn (head->host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]"), ==, strlen (head->host));
  g_assert_cmpuint (upgrades->len, ==, 0);

  g_assert_cmpuint (lengths->len, ==, head->framing == SANDBOX_HTTP_BODY_LENGTH ? 1 : 0);
  if (lengths->len > 0)
    {
      g_autofree char *length = g_strdup_printf ("%" G_GUINT64_FORMAT, head->length);

      g_assert_cmpstr (g_ptr_array_index (lengths, 0), ==, length);
    }
  g_assert_cmpuint (codings->len, ==, head->framing == SANDBOX_HTTP_BODY_CHUNKED ? 1 : 0);
  if (codings->len > 0)
    g_assert_cmpstr (g_ptr_array_index (codings, 0), ==, "chunked");

  g_assert_true (head->target[0] == '/');
  g_assert_null (strpbrk (head->target, "# \r\n"));
  line = g_strndup (text, strcspn (text, "\r\n"));
  if (strstr (line, " http://") == NULL)
    {
      g_autofree char *first = g_strdup_printf ("%s %s HTTP/1.%u", sandbox_http_method_to_string (head->method), head->target, head->minor);

      g_assert_cmpstr (line, ==, first);
    }
  else
    {
      const char      *target = strchr (line, ' ') + 1;
      const char      *authority = target + strlen ("http://");
      g_autofree char *name = g_strndup (authority, strcspn (authority, "/ "));

      g_assert_true (g_str_has_prefix (target, "http://"));
      g_assert_cmpint (g_ascii_strcasecmp (name, head->host), ==, 0);
    }

  check_passing (bytes, size, head);
}

/* What was read as a head, written in our own way, is read as the same. */
static void
check_again (const SandboxHttpHead *head)
{
  GString           *text = g_string_new (NULL);
  GString           *before = g_string_new (NULL);
  GString           *after = g_string_new (NULL);
  SandboxHttpHead    again;
  SandboxHttpRefusal refusal;
  gsize              seen = 0;
  gsize              used;

  g_string_printf (text, "%s %s HTTP/1.%u\r\nHost: %s\r\n", sandbox_http_method_to_string (head->method), head->target, head->minor, head->host);
  g_string_append_printf (text, "Connection: %s\r\n", head->keep_alive ? "keep-alive" : "close");
  if (head->expects_continue)
    g_string_append (text, "Expect: 100-continue\r\n");
  if (head->framing == SANDBOX_HTTP_BODY_LENGTH)
    g_string_append_printf (text, "Content-Length: %" G_GUINT64_FORMAT "\r\n", head->length);
  else if (head->framing == SANDBOX_HTTP_BODY_CHUNKED)
    g_string_append (text, "Transfer-Encoding: chunked\r\n");
  for (guint i = 0; i < head->n_headers; i++)
    g_string_append_printf (text, "%s: %s\r\n", head->headers[i].name, head->headers[i].value);
  g_string_append (text, "\r\n");

  /* With the few words that we add, it may be too long. */
  if (text->len <= SANDBOX_HTTP_MAX_HEAD_BYTES)
    {
      test_http_write_head (before, head);
      g_assert_cmpint (sandbox_http_head_parse (text->str, text->len, &seen, &again, &used, &refusal), ==, SANDBOX_HTTP_PARSE_HEAD);
      g_assert_cmpuint (used, ==, text->len);
      test_http_write_head (after, &again);
      g_assert_cmpstr (before->str, ==, after->str);
    }

  g_string_free (text, TRUE);
  g_string_free (before, TRUE);
  g_string_free (after, TRUE);
}

static void
check_chunks (const char *bytes,
              gsize       size)
{
  g_autofree char *strict = test_http_read_body (SANDBOX_HTTP_BODY_CHUNKED, bytes, size, TEST_HTTP_WHOLE);
  g_autofree char *whole = test_http_read_body (SANDBOX_HTTP_BODY_CHUNKED_ANSWER, bytes, size, TEST_HTTP_WHOLE);
  g_autofree char *single = test_http_read_body (SANDBOX_HTTP_BODY_CHUNKED_ANSWER, bytes, size, TEST_HTTP_SINGLE);

  g_assert_cmpstr (whole, ==, single);
  if (g_str_has_suffix (strict, ">"))
    g_assert_cmpstr (strict, ==, whole);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autofree char   *whole = test_http_read ((const char *) data, size, TEST_HTTP_WHOLE);
  g_autofree char   *single = test_http_read ((const char *) data, size, TEST_HTTP_SINGLE);
  g_autofree char   *pieces = test_http_read ((const char *) data, size, MAX (size * 2654435761u, 2));
  g_autofree char   *buffer = g_malloc (MAX (size, 1));
  SandboxHttpHead    head;
  SandboxHttpRefusal refusal;
  gsize              seen = 0;
  gsize              used;

  g_assert_cmpstr (whole, ==, single);
  g_assert_cmpstr (whole, ==, pieces);

  check_chunks ((const char *) data, size);
  if (size > 0)
    memcpy (buffer, data, size);
  if (sandbox_http_head_parse (buffer, size, &seen, &head, &used, &refusal) == SANDBOX_HTTP_PARSE_HEAD)
    {
      check_head ((const char *) data, used, &head);
      check_again (&head);
    }

  return 0;
}
