/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-reader.h"

#include <string.h>

/* Guests are hostile, and what two readers of HTTP understand differently is how a request is smuggled past one of them.
 * So there is one way to write each thing here, and no repair: a byte that is neither printable ASCII nor part of a CRLF
 * has no place in a head; a line that may say something about the end of the message stands once at most.
 *
 * The first fault by position decides. The method and the first line are judged as soon as they are there, so that
 * who speaks another protocol hears it at once; the other lines when the head is complete. */

#define MAX_HEADERS 64
#define MAX_METHOD_BYTES 7
#define MAX_HOST_BYTES 255
#define MAX_LENGTH_DIGITS 18
#define MAX_CHUNK_DIGITS 16

/* Of an answer: so much stands beside the chunks at most, and as much again as there is in them. */
#define MAX_SKIPPED_BYTES 4096

/* What is known by name. Each stands once at most, but for Connection; the first nine are passed on. */
typedef enum
{
  NAME_ACCEPT,
  NAME_ACCEPT_LANGUAGE,
  NAME_CONTENT_ENCODING,
  NAME_CONTENT_TYPE,
  NAME_GIT_PROTOCOL,
  NAME_IF_MODIFIED_SINCE,
  NAME_IF_NONE_MATCH,
  NAME_RANGE,
  NAME_USER_AGENT,
  NAME_CONNECTION,
  NAME_CONTENT_LENGTH,
  NAME_EXPECT,
  NAME_HOST,
  NAME_HTTP2_SETTINGS,
  NAME_TRANSFER_ENCODING,
  NAME_UPGRADE,
  NAME_OTHER,
} SandboxHttpName;

G_STATIC_ASSERT (NAME_USER_AGENT + 1 == SANDBOX_HTTP_N_PASSING);

static const char *const names[NAME_OTHER] = {
  [NAME_ACCEPT] = "accept",
  [NAME_ACCEPT_LANGUAGE] = "accept-language",
  [NAME_CONTENT_ENCODING] = "content-encoding",
  [NAME_CONTENT_TYPE] = "content-type",
  [NAME_GIT_PROTOCOL] = "git-protocol",
  [NAME_IF_MODIFIED_SINCE] = "if-modified-since",
  [NAME_IF_NONE_MATCH] = "if-none-match",
  [NAME_RANGE] = "range",
  [NAME_USER_AGENT] = "user-agent",
  [NAME_CONNECTION] = "connection",
  [NAME_CONTENT_LENGTH] = "content-length",
  [NAME_EXPECT] = "expect",
  [NAME_HOST] = "host",
  [NAME_HTTP2_SETTINGS] = "http2-settings",
  [NAME_TRANSFER_ENCODING] = "transfer-encoding",
  [NAME_UPGRADE] = "upgrade",
};

static const char *const methods[] = {
  [SANDBOX_HTTP_METHOD_GET] = "GET",
  [SANDBOX_HTTP_METHOD_HEAD] = "HEAD",
  [SANDBOX_HTTP_METHOD_POST] = "POST",
  [SANDBOX_HTTP_METHOD_PUT] = "PUT",
  [SANDBOX_HTTP_METHOD_PATCH] = "PATCH",
  [SANDBOX_HTTP_METHOD_DELETE] = "DELETE",
  [SANDBOX_HTTP_METHOD_OPTIONS] = "OPTIONS",
};

/* What is said in lines and needed until the head is whole */
typedef struct
{
  char       *target;
  gsize       n_target;
  const char *authority; /* of an absolute-form target, else NULL */
  gsize       n_authority;
  gboolean    is_1_0;
  guint       stood; /* a bit for each name */
  gboolean    close;
  gboolean    keep_alive;
} SandboxHttpLines;

const char *
sandbox_http_method_to_string (SandboxHttpMethod method)
{
  g_return_val_if_fail (method < G_N_ELEMENTS (methods), NULL);

  return methods[method];
}

static gboolean
sandbox_http_refuse (SandboxHttpRefusal *refusal,
                     guint               status,
                     const char         *reason)
{
  refusal->status = status;
  refusal->reason = reason;

  return FALSE;
}

static gboolean
sandbox_http_equal (const char *text,
                    gsize       length,
                    const char *word)
{
  return strlen (word) == length && g_ascii_strncasecmp (text, word, length) == 0;
}

static SandboxHttpName
sandbox_http_name_lookup (const char *text,
                          gsize       length)
{
  for (guint i = 0; i < NAME_OTHER; i++)
    if (sandbox_http_equal (text, length, names[i]))
      return i;

  return NAME_OTHER;
}

/* Without waiting for the end of a line, which may never come. */
static SandboxHttpParse
sandbox_http_read_method (const char         *bytes,
                          gsize               size,
                          SandboxHttpMethod  *method,
                          SandboxHttpRefusal *refusal)
{
  gsize length = 0;

  while (length < size && length <= MAX_METHOD_BYTES && g_ascii_isalpha (bytes[length]))
    length++;

  if (length <= MAX_METHOD_BYTES)
    {
      if (length == size)
        return SANDBOX_HTTP_PARSE_MORE;

      if (length == 0 || bytes[length] != ' ')
        {
          sandbox_http_refuse (refusal, 400, "the request does not begin as one of HTTP");
          return SANDBOX_HTTP_PARSE_REFUSED;
        }
    }

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    {
      if (strlen (methods[i]) == length && memcmp (bytes, methods[i], length) == 0)
        {
          *method = i;
          return SANDBOX_HTTP_PARSE_HEAD;
        }
    }

  sandbox_http_refuse (refusal, 405, "the request has a method that is not passed on");
  return SANDBOX_HTTP_PARSE_REFUSED;
}

/* Goes on behind the end of the line in which @at is. */
static SandboxHttpParse
sandbox_http_scan_line (const char         *bytes,
                        gsize               size,
                        gsize              *at,
                        SandboxHttpRefusal *refusal)
{
  size = MIN (size, SANDBOX_HTTP_MAX_HEAD_BYTES);

  for (gsize i = *at; i < size; i++)
    {
      gboolean after_cr = i > 0 && bytes[i - 1] == '\r';

      if (after_cr && bytes[i] == '\n')
        {
          *at = i + 1;
          return SANDBOX_HTTP_PARSE_HEAD;
        }
      else if (after_cr || bytes[i] == '\n')
        sandbox_http_refuse (refusal, 400, "the request has a line that does not end in CRLF");
      else if (bytes[i] != '\r' && (bytes[i] < ' ' || bytes[i] > '~'))
        sandbox_http_refuse (refusal, 400, "the request has a byte in its head that is not printable ASCII");
      else
        continue;

      return SANDBOX_HTTP_PARSE_REFUSED;
    }

  *at = size;
  if (size < SANDBOX_HTTP_MAX_HEAD_BYTES)
    return SANDBOX_HTTP_PARSE_MORE;

  sandbox_http_refuse (refusal, 431, "the request has a head of more than 16 KiB");

  return SANDBOX_HTTP_PARSE_REFUSED;
}

/* The target and the version, behind the method: "/path HTTP/1.1". */
static gboolean
sandbox_http_read_target (char               *text,
                          gsize               length,
                          SandboxHttpLines   *lines,
                          SandboxHttpRefusal *refusal)
{
  static const char scheme[] = "http://";
  char             *space = memchr (text, ' ', length);
  const char       *version;
  gsize             n_version;

  if (space == NULL)
    return sandbox_http_refuse (refusal, 400, "the request has a first line without a version");

  version = space + 1;
  n_version = length - (version - text);
  if (n_version != strlen ("HTTP/1.1") || memcmp (version, "HTTP/", strlen ("HTTP/")) != 0)
    return sandbox_http_refuse (refusal, 400, "the request has a first line that does not end in a version");
  if (memcmp (version, "HTTP/1.1", n_version) != 0 && memcmp (version, "HTTP/1.0", n_version) != 0)
    return sandbox_http_refuse (refusal, 505, "the request has a version other than HTTP/1.1 and HTTP/1.0");

  lines->is_1_0 = version[n_version - 1] == '0';
  lines->target = text;
  lines->n_target = space - text;
  lines->authority = NULL;
  lines->n_authority = 0;

  if (memchr (text, '#', lines->n_target) != NULL)
    return sandbox_http_refuse (refusal, 400, "the request has a target with a fragment");

  /* From a client that knows only http_proxy. */
  if (lines->n_target > strlen (scheme) && memcmp (text, scheme, strlen (scheme)) == 0)
    {
      lines->authority = text + strlen (scheme);
      lines->target = memchr (lines->authority, '/', space - lines->authority);
      if (lines->target == NULL)
        lines->target = space; /* nothing, which means / */
      lines->n_authority = lines->target - lines->authority;
      lines->n_target = space - lines->target;

      return TRUE;
    }

  if (lines->n_target == 0 || text[0] != '/')
    return sandbox_http_refuse (refusal, 400, "the request has a target that is neither a path nor begins with http://");

  return TRUE;
}

/* Makes it lower case. */
static gboolean
sandbox_http_read_host (char               *host,
                        SandboxHttpRefusal *refusal)
{
  char *at = host;

  for (; *at != '\0'; at++)
    *at = g_ascii_tolower (*at);

  at = host;
  if (*at == '[')
    {
      for (at++; g_ascii_isxdigit (*at) || *at == ':' || *at == '.'; at++)
        ;
      if (at == host + 1 || *at != ']')
        return sandbox_http_refuse (refusal, 400, "the request has a Host that is no address");
      at++;
    }
  else
    {
      for (; g_ascii_isalnum (*at) || *at == '-' || *at == '.' || *at == '_'; at++)
        ;
      if (at == host)
        return sandbox_http_refuse (refusal, 400, "the request has a Host that is no name");
    }

  if (at - host > MAX_HOST_BYTES)
    return sandbox_http_refuse (refusal, 400, "the request has a Host that is too long");

  if (*at == ':')
    {
      guint port = 0;
      guint n_digits = 0;

      for (at++; g_ascii_isdigit (*at) && n_digits < 5 && (port > 0 || *at != '0'); at++, n_digits++)
        port = 10 * port + g_ascii_digit_value (*at);
      if (port == 0 || port > G_MAXUINT16 || *at != '\0')
        return sandbox_http_refuse (refusal, 400, "the request has a Host with a port that is not plain");
    }

  if (*at != '\0')
    return sandbox_http_refuse (refusal, 400, "the request has a Host that is neither a name nor an address");

  return TRUE;
}

static gboolean
sandbox_http_read_length (const char         *text,
                          guint64            *length,
                          SandboxHttpRefusal *refusal)
{
  guint n_digits;

  *length = 0;
  for (n_digits = 0; n_digits < MAX_LENGTH_DIGITS && g_ascii_isdigit (text[n_digits]); n_digits++)
    *length = 10 * *length + g_ascii_digit_value (text[n_digits]);

  if (n_digits == 0 || text[n_digits] != '\0' || (n_digits > 1 && text[0] == '0'))
    return sandbox_http_refuse (refusal, 400, "the request has a Content-Length that is no plain number");

  return TRUE;
}

/* A list of words. What it names is meant for this connection only, and would be dropped: it names nothing that counts. */
static gboolean
sandbox_http_read_connection (const char         *text,
                              SandboxHttpLines   *lines,
                              SandboxHttpRefusal *refusal)
{
  while (*text != '\0')
    {
      gsize length = strcspn (text, ", ");

      if (sandbox_http_equal (text, length, "close"))
        lines->close = TRUE;
      else if (sandbox_http_equal (text, length, "keep-alive"))
        lines->keep_alive = TRUE;
      else if (sandbox_http_name_lookup (text, length) != NAME_OTHER)
        return sandbox_http_refuse (refusal, 400, "the request has a Connection that names another header");

      text += length;
      text += strspn (text, ", ");
    }

  return TRUE;
}

static gboolean
sandbox_http_read_value (SandboxHttpName     name,
                         char               *value,
                         SandboxHttpLines   *lines,
                         SandboxHttpHead    *head,
                         SandboxHttpRefusal *refusal)
{
  if (name != NAME_CONNECTION && (lines->stood & (1u << name)) != 0)
    return sandbox_http_refuse (refusal, 400, "the request has a header twice that may stand once");
  lines->stood |= 1u << name;

  switch (name)
    {
    case NAME_CONNECTION:
      return sandbox_http_read_connection (value, lines, refusal);

    case NAME_CONTENT_LENGTH:
      head->framing = SANDBOX_HTTP_BODY_LENGTH;
      return sandbox_http_read_length (value, &head->length, refusal);

    case NAME_EXPECT:
      head->expects_continue = TRUE;
      return g_ascii_strcasecmp (value, "100-continue") == 0 ||
             sandbox_http_refuse (refusal, 417, "the request expects what is not known");

    case NAME_HOST:
      head->host = value;
      return sandbox_http_read_host (value, refusal);

    case NAME_TRANSFER_ENCODING:
      head->framing = SANDBOX_HTTP_BODY_CHUNKED;
      return strcmp (value, "chunked") == 0 ||
             sandbox_http_refuse (refusal, 400, "the request has a Transfer-Encoding that is not chunked");

    case NAME_HTTP2_SETTINGS:
    case NAME_UPGRADE:
      return sandbox_http_refuse (refusal, 400, "the request asks for another protocol");

    case NAME_ACCEPT:
    case NAME_ACCEPT_LANGUAGE:
    case NAME_CONTENT_ENCODING:
    case NAME_CONTENT_TYPE:
    case NAME_GIT_PROTOCOL:
    case NAME_IF_MODIFIED_SINCE:
    case NAME_IF_NONE_MATCH:
    case NAME_RANGE:
    case NAME_USER_AGENT:
      head->headers[head->n_headers++] = (SandboxHttpHeader){ names[name], value };
      return TRUE;

    case NAME_OTHER:
      break;
    }

  return TRUE;
}

static gboolean
sandbox_http_read_header (char               *line,
                          char               *end,
                          SandboxHttpLines   *lines,
                          SandboxHttpHead    *head,
                          SandboxHttpRefusal *refusal)
{
  char           *colon = memchr (line, ':', end - line);
  char           *value;
  SandboxHttpName name;

  if (line[0] == ' ')
    return sandbox_http_refuse (refusal, 400, "the request has a line that begins with a blank");
  if (colon == NULL)
    return sandbox_http_refuse (refusal, 400, "the request has a header without a colon");
  if (colon == line)
    return sandbox_http_refuse (refusal, 400, "the request has a header without a name");

  for (const char *at = line; at < colon; at++)
    if (!g_ascii_isalnum (*at) && strchr ("!#$%&'*+-.^_`|~", *at) == NULL)
      return sandbox_http_refuse (refusal, 400, "the request has a header with a name that is none");

  name = sandbox_http_name_lookup (line, colon - line);
  if (name == NAME_OTHER)
    return TRUE;

  for (value = colon + 1; value < end && *value == ' '; value++)
    ;
  while (end > value && end[-1] == ' ')
    end--;
  *end = '\0';

  return sandbox_http_read_value (name, value, lines, head, refusal);
}

/* What only all lines together tell. */
static gboolean
sandbox_http_read_whole (SandboxHttpLines   *lines,
                         SandboxHttpHead    *head,
                         SandboxHttpRefusal *refusal)
{
  gboolean has_length = (lines->stood & (1u << NAME_CONTENT_LENGTH)) != 0;

  if (head->host == NULL)
    return sandbox_http_refuse (refusal, 400, "the request has no Host");
  if (lines->authority != NULL && !sandbox_http_equal (lines->authority, lines->n_authority, head->host))
    return sandbox_http_refuse (refusal, 400, "the request has a target that is not of its Host");
  if ((lines->stood & (1u << NAME_TRANSFER_ENCODING)) != 0 && (has_length || lines->is_1_0))
    return sandbox_http_refuse (refusal, 400, "the request has a Transfer-Encoding beside a length, or in HTTP/1.0");

  /* A server that does not look for a body there takes it for the next request. */
  if ((head->method == SANDBOX_HTTP_METHOD_GET || head->method == SANDBOX_HTTP_METHOD_HEAD) &&
      (head->framing == SANDBOX_HTTP_BODY_CHUNKED || head->length > 0))
    return sandbox_http_refuse (refusal, 400, "the request has a body with GET or HEAD");

  head->minor = lines->is_1_0 ? 0 : 1;
  head->keep_alive = !lines->close && (lines->keep_alive || !lines->is_1_0);

  /* Who speaks 1.0 does not know of it, and without a body there is nothing to wait for. */
  if (lines->is_1_0 || head->framing == SANDBOX_HTTP_BODY_NONE || (has_length && head->length == 0))
    head->expects_continue = FALSE;

  if (lines->n_target == 0)
    head->target = "/";
  else
    {
      lines->target[lines->n_target] = '\0';
      head->target = lines->target;
    }

  return TRUE;
}

SandboxHttpParse
sandbox_http_head_parse (char               *buffer,
                         gsize               size,
                         gsize              *seen,
                         SandboxHttpHead    *head,
                         gsize              *used,
                         SandboxHttpRefusal *refusal)
{
  SandboxHttpMethod method;
  SandboxHttpParse  parse;
  SandboxHttpLines  lines = { NULL };
  char             *first_end = memchr (buffer, '\n', *seen);
  char             *target;
  guint             n_headers = 0;

  parse = sandbox_http_read_method (buffer, size, &method, refusal);
  if (parse != SANDBOX_HTTP_PARSE_HEAD)
    return parse;
  target = buffer + strlen (methods[method]) + 1;

  do
    {
      parse = sandbox_http_scan_line (buffer, size, seen, refusal);
      if (parse != SANDBOX_HTTP_PARSE_HEAD)
        return parse;

      if (first_end == NULL)
        {
          first_end = buffer + *seen - 1;
          if (!sandbox_http_read_target (target, first_end - 1 - target, &lines, refusal))
            return SANDBOX_HTTP_PARSE_REFUSED;
        }
    }
  while (buffer[*seen - 3] != '\n');

  /* Judged in an earlier call, if not in this one. */
  if (lines.target == NULL && !sandbox_http_read_target (target, first_end - 1 - target, &lines, refusal))
    return SANDBOX_HTTP_PARSE_REFUSED;

  memset (head, 0, sizeof *head);
  head->method = method;

  for (char *line = first_end + 1; *line != '\r';)
    {
      char *end = memchr (line, '\r', buffer + *seen - line);

      if (++n_headers > MAX_HEADERS)
        {
          sandbox_http_refuse (refusal, 431, "the request has more than 64 headers");
          return SANDBOX_HTTP_PARSE_REFUSED;
        }
      if (!sandbox_http_read_header (line, end, &lines, head, refusal))
        return SANDBOX_HTTP_PARSE_REFUSED;
      line = end + strlen ("\r\n");
    }

  if (!sandbox_http_read_whole (&lines, head, refusal))
    return SANDBOX_HTTP_PARSE_REFUSED;

  *used = *seen;
  *seen = 0;

  return SANDBOX_HTTP_PARSE_HEAD;
}

/* ---- Bodies */

typedef enum
{
  BODY_LENGTH_DATA,
  BODY_CHUNK_SIZE,
  BODY_CHUNK_EXTENSION,
  BODY_CHUNK_SIZE_LF,
  BODY_CHUNK_DATA,
  BODY_CHUNK_DATA_CR,
  BODY_CHUNK_DATA_LF,
  BODY_LAST_CR,
  BODY_LAST_LF,
  BODY_TRAILER,
  BODY_TRAILER_LF,
  BODY_DONE,
  BODY_BROKEN,
} SandboxHttpBodyState;

void
sandbox_http_body_init (SandboxHttpBody   *self,
                        SandboxHttpFraming framing,
                        guint64            length)
{
  *self = (SandboxHttpBody){ .state = BODY_DONE, .is_answer = framing == SANDBOX_HTTP_BODY_CHUNKED_ANSWER };

  if (framing == SANDBOX_HTTP_BODY_CHUNKED || self->is_answer)
    self->state = BODY_CHUNK_SIZE;
  else if (framing == SANDBOX_HTTP_BODY_LENGTH && length > 0)
    {
      self->state = BODY_LENGTH_DATA;
      self->left = length;
    }
}

/* A byte of what is skipped in an answer, in @state until its line ends: then @next. */
static SandboxHttpBodyState
sandbox_http_body_skip (SandboxHttpBody     *self,
                        char                 byte,
                        SandboxHttpBodyState state,
                        SandboxHttpBodyState next)
{
  if (byte == '\r')
    return next;

  return ((guchar) byte < ' ' && byte != '\t') || ++self->n_skipped > MAX_SKIPPED_BYTES + self->n_data ? BODY_BROKEN : state;
}

/* A byte of what stands between the bytes of the body. */
static SandboxHttpBodyState
sandbox_http_body_next (SandboxHttpBody *self,
                        char             byte)
{
  switch ((SandboxHttpBodyState) self->state)
    {
    case BODY_CHUNK_SIZE:
      if (byte == '\r' && self->n_digits > 0)
        return BODY_CHUNK_SIZE_LF;
      if (self->is_answer && self->n_digits > 0 && (byte == ';' || byte == ' ' || byte == '\t'))
        return BODY_CHUNK_EXTENSION;
      if (!g_ascii_isxdigit (byte) || self->n_digits == MAX_CHUNK_DIGITS)
        return BODY_BROKEN;
      self->left = self->left << 4 | (guint64) g_ascii_xdigit_value (byte);
      self->n_digits++;
      return BODY_CHUNK_SIZE;

    case BODY_CHUNK_EXTENSION:
      return sandbox_http_body_skip (self, byte, BODY_CHUNK_EXTENSION, BODY_CHUNK_SIZE_LF);

    case BODY_CHUNK_SIZE_LF:
      self->n_digits = 0;
      if (byte != '\n' || self->left > G_MAXINT64)
        return BODY_BROKEN;
      return self->left > 0 ? BODY_CHUNK_DATA : BODY_LAST_CR;

    case BODY_CHUNK_DATA_CR:
      return byte == '\r' ? BODY_CHUNK_DATA_LF : BODY_BROKEN;

    case BODY_CHUNK_DATA_LF:
      return byte == '\n' ? BODY_CHUNK_SIZE : BODY_BROKEN;

    case BODY_LAST_CR:
      if (byte == '\r')
        return BODY_LAST_LF;
      /* a trailer begins */
      return self->is_answer ? sandbox_http_body_skip (self, byte, BODY_TRAILER, BODY_BROKEN) : BODY_BROKEN;

    case BODY_LAST_LF:
      return byte == '\n' ? BODY_DONE : BODY_BROKEN;

    case BODY_TRAILER:
      return sandbox_http_body_skip (self, byte, BODY_TRAILER, BODY_TRAILER_LF);

    case BODY_TRAILER_LF:
      return byte == '\n' ? BODY_LAST_CR : BODY_BROKEN;

    case BODY_LENGTH_DATA:
    case BODY_CHUNK_DATA:
    case BODY_DONE:
    case BODY_BROKEN:
      break;
    }

  g_return_val_if_reached (BODY_BROKEN);
}

SandboxHttpStep
sandbox_http_body_step (SandboxHttpBody *self,
                        const char      *bytes,
                        gsize            size,
                        gsize           *used,
                        const char     **data,
                        gsize           *n_data)
{
  for (gsize at = 0;; at++)
    {
      *used = at;

      if (self->state == BODY_DONE)
        return SANDBOX_HTTP_BODY_END;
      if (self->state == BODY_BROKEN)
        return SANDBOX_HTTP_BODY_BAD;
      if (at == size)
        return SANDBOX_HTTP_BODY_MORE;

      if (self->state == BODY_LENGTH_DATA || self->state == BODY_CHUNK_DATA)
        {
          *data = bytes + at;
          *n_data = MIN (self->left, size - at);
          *used = at + *n_data;
          self->left -= *n_data;
          self->n_data += *n_data;
          if (self->left == 0)
            self->state = self->state == BODY_CHUNK_DATA ? BODY_CHUNK_DATA_CR : BODY_DONE;

          return SANDBOX_HTTP_BODY_DATA;
        }

      self->state = sandbox_http_body_next (self, bytes[at]);
    }
}
