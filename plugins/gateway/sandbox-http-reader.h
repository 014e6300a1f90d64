/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* What a guest sends, read strictly: HTTP/1.1 (and 1.0) requests, over bytes that the caller has. No I/O, no allocation.
 * What it finds depends on the bytes alone, never on how they were cut into pieces on their way. */

typedef enum
{
  SANDBOX_HTTP_METHOD_GET,
  SANDBOX_HTTP_METHOD_HEAD,
  SANDBOX_HTTP_METHOD_POST,
  SANDBOX_HTTP_METHOD_PUT,
  SANDBOX_HTTP_METHOD_PATCH,
  SANDBOX_HTTP_METHOD_DELETE,
  SANDBOX_HTTP_METHOD_OPTIONS,
} SandboxHttpMethod;

const char *sandbox_http_method_to_string (SandboxHttpMethod method);

/* How the end of a body is known. */
typedef enum
{
  SANDBOX_HTTP_BODY_NONE,
  SANDBOX_HTTP_BODY_LENGTH,
  SANDBOX_HTTP_BODY_CHUNKED,
  SANDBOX_HTTP_BODY_CHUNKED_ANSWER, /* of an origin: what may stand beside the bytes of the body is skipped */
} SandboxHttpFraming;

typedef struct
{
  const char *name; /* constant, lower case */
  const char *value;
} SandboxHttpHeader;

/* As many headers as can be passed on; all others are dropped. */
#define SANDBOX_HTTP_N_PASSING 9

typedef struct
{
  SandboxHttpMethod  method;
  const char        *target; /* origin-form, as the guest wrote it */
  const char        *host;   /* lower case; with a port if one was written: 1…65535, without zeros in front */
  guint              minor;  /* of HTTP/1.x: 0 or 1 */
  gboolean           keep_alive;
  gboolean           expects_continue; /* there is a body, and the guest waits before it sends it */
  SandboxHttpFraming framing;
  guint64            length; /* with LENGTH; below 10^18 */
  guint              n_headers;
  SandboxHttpHeader  headers[SANDBOX_HTTP_N_PASSING];
} SandboxHttpHead;

/* What the guest is told, and constant text for the host. */
typedef struct
{
  guint       status;
  const char *reason;
} SandboxHttpRefusal;

/* The most that a head may have: when so many bytes are there, the answer is never MORE. */
#define SANDBOX_HTTP_MAX_HEAD_BYTES (16 * 1024)

typedef enum
{
  SANDBOX_HTTP_PARSE_MORE,
  SANDBOX_HTTP_PARSE_HEAD,
  SANDBOX_HTTP_PARSE_REFUSED,
} SandboxHttpParse;

/* Looks for a head at the beginning of the @size bytes at @buffer, which are untouched after MORE. On HEAD, strings have
 * been cut in place and point into @buffer, and @used bytes were the head. After REFUSED nothing that follows means
 * anything: the connection is to be closed. @seen says how far it looked before, 0 for a new head; HEAD puts it back to 0. */
SandboxHttpParse sandbox_http_head_parse (char               *buffer,
                                          gsize               size,
                                          gsize              *seen,
                                          SandboxHttpHead    *head,
                                          gsize              *used,
                                          SandboxHttpRefusal *refusal);

/* Where in a body the reader is; for the functions below only. */
typedef struct
{
  guint    state;
  gboolean is_answer;
  guint    n_digits;
  guint64  n_skipped;
  guint64  n_data;
  guint64  left;
} SandboxHttpBody;

void sandbox_http_body_init (SandboxHttpBody   *self,
                             SandboxHttpFraming framing,
                             guint64            length);

typedef enum
{
  SANDBOX_HTTP_BODY_MORE, /* all bytes are used, and the body goes on */
  SANDBOX_HTTP_BODY_DATA, /* bytes of the body; there may be more to do in the rest */
  SANDBOX_HTTP_BODY_END,
  SANDBOX_HTTP_BODY_BAD, /* 400; the connection is to be closed */
} SandboxHttpStep;

/* One step over @size bytes: @used of them are done with. With DATA, @data and @n_data are bytes of the body among these,
 * at least one. What comes after END belongs to the next head. */
SandboxHttpStep sandbox_http_body_step (SandboxHttpBody *self,
                                        const char      *bytes,
                                        gsize            size,
                                        gsize           *used,
                                        const char     **data,
                                        gsize           *n_data);

G_END_DECLS
