/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the reader of the gateway makes of a connection, as text; for its test and its fuzzer. */

#include <string.h>

#include "sandbox-http-reader.h"

/* How the bytes come in: at once, one by one, or else in pieces by a generator that begins with the number. */
#define TEST_HTTP_WHOLE 0
#define TEST_HTTP_SINGLE 1

static inline void
test_http_write_head (GString               *text,
                      const SandboxHttpHead *head)
{
  g_string_append_printf (text, "%s %s %s", sandbox_http_method_to_string (head->method), head->target, head->host);
  g_assert_cmpuint (head->minor, <=, 1);
  if (head->minor == 0)
    g_string_append (text, " 1.0");
  if (!head->keep_alive)
    g_string_append (text, " close");
  if (head->expects_continue)
    g_string_append (text, " continue");
  if (head->framing == SANDBOX_HTTP_BODY_LENGTH)
    g_string_append_printf (text, " %" G_GUINT64_FORMAT, head->length);
  else if (head->framing == SANDBOX_HTTP_BODY_CHUNKED)
    g_string_append (text, " chunked");
  g_assert_cmpuint (head->n_headers, <=, SANDBOX_HTTP_N_PASSING);
  for (guint i = 0; i < head->n_headers; i++)
    g_string_append_printf (text, " [%s: %s]", head->headers[i].name, head->headers[i].value);
}

/* Heads and bodies in turn, as in "GET /a name [accept: x] <body>", a line each; what was refused is "STATUS reason", and a
 * body that is broken "!"; "…" stands where more was wanted. */
static inline char *
test_http_read (const char *bytes,
                gsize       size,
                guint32     cut)
{
  GString         *text = g_string_new (NULL);
  g_autofree char *buffer = g_malloc (MAX (size, 1));
  SandboxHttpBody  body;
  gboolean         in_body = FALSE;
  gsize            begin = 0;
  gsize            end = 0;
  gsize            seen = 0;

  /* So that a look beyond what has come does not find what will come. */
  if (size > 0)
    memset (buffer, '~', size);

  for (;;)
    {
      gsize    used = 0;
      gboolean more;

      if (in_body)
        {
          const char     *data = NULL;
          gsize           n_data = 0;
          SandboxHttpStep step = sandbox_http_body_step (&body, buffer + begin, end - begin, &used, &data, &n_data);

          g_assert_cmpuint (used, <=, end - begin);
          more = step == SANDBOX_HTTP_BODY_MORE;
          if (more)
            g_assert_cmpuint (used, ==, end - begin);
          else if (step == SANDBOX_HTTP_BODY_DATA)
            {
              g_assert_true (n_data > 0 && data >= buffer + begin && data + n_data == buffer + begin + used);
              g_string_append_len (text, data, n_data);
            }
          else if (step == SANDBOX_HTTP_BODY_END)
            {
              g_string_append (text, ">\n");
              in_body = FALSE;
            }
          else
            {
              g_string_append (text, "!");
              break;
            }
        }
      else
        {
          SandboxHttpHead    head;
          SandboxHttpRefusal refusal;
          SandboxHttpParse   parse = sandbox_http_head_parse (buffer + begin, end - begin, &seen, &head, &used, &refusal);

          more = parse == SANDBOX_HTTP_PARSE_MORE;
          if (more)
            {
              g_assert_true (memcmp (buffer + begin, bytes + begin, end - begin) == 0);
              g_assert_cmpuint (seen, <=, end - begin);
              g_assert_cmpuint (end - begin, <, SANDBOX_HTTP_MAX_HEAD_BYTES);
            }
          else if (parse == SANDBOX_HTTP_PARSE_HEAD)
            {
              g_assert_cmpuint (used, <=, MIN (end - begin, SANDBOX_HTTP_MAX_HEAD_BYTES));
              g_assert_cmpuint (seen, ==, 0);
              g_assert_true (memcmp (bytes + begin + used - 4, "\r\n\r\n", 4) == 0);
              test_http_write_head (text, &head);
              g_string_append (text, " <");
              sandbox_http_body_init (&body, head.framing, head.length);
              in_body = TRUE;
            }
          else
            {
              g_string_append_printf (text, "%u %s", refusal.status, refusal.reason);
              break;
            }
        }

      begin += used;
      if (more)
        {
          gsize n = size - end;

          if (n == 0)
            {
              if (in_body || begin < end)
                g_string_append (text, "…");
              break;
            }
          if (cut != TEST_HTTP_WHOLE)
            {
              n = cut == TEST_HTTP_SINGLE ? 1 : MIN (n, 1 + (cut >> 16) % 64);
              if (cut != TEST_HTTP_SINGLE)
                cut = MAX (cut * 1664525 + 1013904223, 2);
            }
          memcpy (buffer + end, bytes + end, n);
          end += n;
        }
    }

  return g_string_free (text, FALSE);
}

/* The body with which @bytes begin, then ">", or "!" if it is broken, or "…" if more was wanted. Bytes come as in test_http_read(). */
static inline char *
test_http_read_body (SandboxHttpFraming framing,
                     const char        *bytes,
                     gsize              size,
                     guint32            cut)
{
  GString        *text = g_string_new (NULL);
  SandboxHttpBody body;
  SandboxHttpStep step = SANDBOX_HTTP_BODY_MORE;
  gsize           begin = 0;
  gsize           end = 0;

  sandbox_http_body_init (&body, framing, 0);
  while (step == SANDBOX_HTTP_BODY_DATA || (step == SANDBOX_HTTP_BODY_MORE && end < size))
    {
      const char      *data = NULL;
      gsize            n_data = 0;
      gsize            used = 0;
      g_autofree char *piece = NULL;

      if (step == SANDBOX_HTTP_BODY_MORE)
        end = cut == TEST_HTTP_WHOLE ? size : end + 1;
      /* a copy, so that a look beyond it is seen */
      piece = g_memdup2 (bytes + begin, end - begin);
      step = sandbox_http_body_step (&body, piece, end - begin, &used, &data, &n_data);
      g_assert_cmpuint (used, <=, end - begin);
      if (step == SANDBOX_HTTP_BODY_DATA)
        {
          g_assert_true (n_data > 0 && data >= piece && data + n_data == piece + used);
          g_string_append_len (text, data, (gssize) n_data);
        }
      begin += used;
    }
  g_string_append (text, step == SANDBOX_HTTP_BODY_END ? ">" : step == SANDBOX_HTTP_BODY_BAD ? "!"
                                                                                             : "…");

  return g_string_free (text, FALSE);
}
