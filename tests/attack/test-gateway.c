/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What hostile guests say to the gateway, at both doors: cases 111 to 137, and 152, by their numbers. The guest is a program that
 * sends the bytes that it is given; the upstream keeps every byte that it is sent. What origins answer is in test-origins.c.
 */
#include "../common/test-gateway.h"

/* How long a guest waits for what comes at once, and what stands for "at once" on a busy machine. */
#define READ_MS 4000

/* ---- Requests that are judged by their bytes alone ---- */

typedef enum
{
  REFUSED, /* a status of the 400s, the end of the connection, and nothing has left the host */
  BROKEN,  /* the same, but the upstream may have seen a part; never a whole request */
  PASSED,  /* 200, and the upstream was asked for @first_line */
  EITHER,  /* REFUSED, or PASSED as it was written */
} Expected;

typedef struct
{
  const char *bytes; /* "{A}": allowed.test:PORT, "{P}": PORT; the rest of the head is "\r\n" away */
  gsize       size;
  Expected    expected;
  const char *first_line; /* as the upstream sees it */
} Row;

#define ROW(bytes, ...)                  \
 {                                       \
  bytes, sizeof (bytes) - 1, __VA_ARGS__ \
 }
/* A request for "/" with these lines in place of, and beside, its Host */
#define HEADERS(lines, ...) ROW ("GET / HTTP/1.1\r\n" lines "Connection: close\r\n\r\n", __VA_ARGS__)
#define HOST(value, ...) HEADERS ("Host: " value "\r\n", __VA_ARGS__)
#define WITH(lines, ...) HEADERS ("Host: {A}\r\n" lines, __VA_ARGS__)
#define TARGET(target, ...) ROW ("GET " target " HTTP/1.1\r\nHost: {A}\r\nConnection: close\r\n\r\n", __VA_ARGS__)
#define FIRST(line, ...) ROW (line "\r\nHost: {A}\r\nConnection: close\r\n\r\n", __VA_ARGS__)
#define BODY(lines, body, ...) ROW ("POST /p HTTP/1.1\r\nHost: {A}\r\nConnection: close\r\n" lines "\r\n" body, __VA_ARGS__)
#define AGAIN "GET /again HTTP/1.1\r\nHost: {A}\r\n\r\n"

static gboolean
is_refused (TestAnswer *answer)
{
  return answer->status / 100 == 4 || answer->status == 505;
}

static void
check_row (TestGateway *self,
           const Row   *row,
           TestAnswer  *answer,
           guint        first,
           guint        n_before,
           const char  *where)
{
  g_autofree char *seen = test_upstream_get (self->upstream, first);
  g_autofree char *escaped = g_strescape (row->size < 2000 ? row->bytes : "…", NULL);
  gboolean         refused = is_refused (answer);
  gboolean         good;

  if (row->expected == PASSED || (row->expected == EITHER && !refused))
    {
      g_autofree char *wanted = g_strconcat (row->first_line != NULL ? row->first_line : "GET / HTTP/1.1", "\r\n", NULL);
      g_autoptr (GString) line = test_gateway_expand (self, wanted, strlen (wanted));

      good = answer->status == 200 && g_str_equal (test_answer_get_body (answer), "hello") && g_str_has_prefix (seen, line->str);
    }
  else
    good = refused && test_upstream_count_requests (self->upstream) == n_before && (row->expected == BROKEN || seen[0] == '\0');
  if (!good || test_answer_count (answer) != 1 || g_str_equal (answer->end, "late"))
    g_error ("%s: “%s” ended with “%s”, and the guest read “%s”, and the upstream “%s”", where, escaped, answer->end, answer->bytes, seen);
}

static void
check_rows (TestGateway *self,
            const Row   *rows,
            guint        n_rows)
{
  test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, TEST_OK_HEAD "Connection: close\r\nContent-Length: 5\r\n\r\nhello");

  for (guint i = 0; i < n_rows; i++)
    for (guint j = 0; j < G_N_ELEMENTS (test_doors); j++)
      {
        g_autoptr (GString) bytes = test_gateway_expand (self, rows[i].bytes, rows[i].size);
        g_autoptr (GString) script = g_string_new ("open 0\n");
        g_autoptr (GPtrArray) answers = NULL;
        guint first = test_upstream_count (self->upstream);
        guint n_before = test_upstream_count_requests (self->upstream);

        test_script_send_bytes (script, 0, bytes->str, bytes->len);
        g_string_append_printf (script, "read 0 %d\n", READ_MS);
        answers = test_gateway_run (self, test_doors[j], script);
        check_row (self, &rows[i], test_answers_get (answers, 0), first, n_before, test_doors[j]);
      }
}

/* A case that is nothing but rows */
typedef struct
{
  const char *path;
  const char *summary;
  const Row  *rows;
  guint       n_rows;
} Case;

#define CASE(number, words, summary)                                                                       \
 {                                                                                                         \
  "/gateway/" #number "-" words, "Case " #number ": " summary, rows_##number, G_N_ELEMENTS (rows_##number) \
 }

static const Row rows_112[] = {
  ROW ("GET http://evil.test/x HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET http://evil.test:{P}/x HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET https://allowed.test:444/ HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET https://{A}/ HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET http://second.test:{P}/ HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET http://{A}@evil.test/ HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET http://evil.test@{A}/ HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET http://{A}?x HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET http:///x HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET http:/{A}/x HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET ftp://{A}/x HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET {A}/x HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET http://{A}/x HTTP/1.1\r\nHost: evil.test\r\n\r\n", REFUSED),
  /* For clients that know only a proxy */
  ROW ("GET http://{A}/x?y HTTP/1.1\r\nHost: {A}\r\nConnection: close\r\n\r\n", PASSED, "GET /x?y HTTP/1.1"),
  ROW ("GET http://ALLOWED.test:{P}/x HTTP/1.1\r\nHost: allowed.TEST:{P}\r\nConnection: close\r\n\r\n", PASSED, "GET /x HTTP/1.1"),
};

static const Row rows_113[] = {
  HOST ("allowed.test@evil.test", REFUSED),
  HOST ("{A}@evil.test", REFUSED),
  HOST ("evil.test@{A}", REFUSED),
  HOST ("user:password@{A}", REFUSED),
  HOST ("@{A}", REFUSED),
  HOST ("{A}@", REFUSED),
};

static const Row rows_114[] = {
  HOST ("{A}, evil.test", REFUSED),
  HOST ("{A},evil.test", REFUSED),
  HOST ("{A} evil.test", REFUSED),
  HOST ("{A}\tevil.test", REFUSED),
  HOST ("allowed%2etest:{P}", REFUSED),
  HOST ("{A}%2eevil.test", REFUSED),
  HOST ("{A}/evil.test", REFUSED),
  HOST ("{A}/", REFUSED),
  HOST ("{A}?", REFUSED),
  HOST ("{A}#", REFUSED),
  HOST ("{A};", REFUSED),
  HOST ("\"{A}\"", REFUSED),
  HOST ("http://{A}", REFUSED),
  HOST ("", REFUSED),
  HOST ("\t", REFUSED),
  HOST (" ", REFUSED),
  HEADERS ("", REFUSED),
  HEADERS ("Host:\r\nHost: {A}\r\n", REFUSED),
  HEADERS ("Host: {A}\r\nHost: {A}\r\n", REFUSED),
  HEADERS ("Host: {A}\r\nhost: evil.test\r\n", REFUSED),
  HOST ("{A}", PASSED),
};

static const Row rows_115[] = {
  HOST ("{A}", PASSED),
  HOST ("allowed.test", REFUSED),
  HOST ("allowed.test:", REFUSED),
  HOST ("allowed.test:80", REFUSED),
  HOST ("allowed.test:0{P}", REFUSED),
  HOST ("allowed.test:00000{P}", REFUSED),
  HOST ("allowed.test:+{P}", REFUSED),
  HOST ("allowed.test:-{P}", REFUSED),
  HOST ("allowed.test: {P}", REFUSED),
  HOST ("allowed.test:{P}:", REFUSED),
  HOST ("allowed.test:{P}:{P}", REFUSED),
  HOST ("allowed.test:{P}x", REFUSED),
  HOST ("allowed.test:0x1000", REFUSED),
  HOST ("allowed.test:65979", REFUSED),
  HOST ("allowed.test:4294967376", REFUSED),
};

static const Row rows_116[] = {
  HOST ("ALLOWED.TEST:{P}", PASSED),
  HOST ("Allowed.Test:{P}", PASSED),
  HOST ("allowed.test.:{P}", REFUSED),
  HOST ("allowed.test..:{P}", REFUSED),
  HOST ("allowed.test.", REFUSED),
  HOST (".{A}", REFUSED),
  HOST ("allowed..test:{P}", REFUSED),
  HOST ("\xef\xbd\x81llowed.test:{P}", REFUSED),
  HOST ("allowed\xe3\x80\x82test:{P}", REFUSED),
  HOST ("\xc4\xb1"
        "allowed.test:{P}",
        REFUSED),
  HOST ("xn--llowed-2ye.test:{P}", REFUSED),
};

static const Row rows_118[] = {
  HOST ("notallowed.test:{P}", REFUSED),
  HOST ("allowed.test.evil:{P}", REFUSED),
  HOST ("evil-allowed.test:{P}", REFUSED),
  HOST ("evil.allowed.test:{P}", REFUSED),
  HOST ("allowed.tes:{P}", REFUSED),
  HOST ("allowed.testx:{P}", REFUSED),
  HOST ("llowed.test:{P}", REFUSED),
  HOST ("allowed-test:{P}", REFUSED),
};

#define CHUNKED "5\r\nhello\r\n0\r\n\r\n"

static const Row rows_119[] = {
  BODY ("Transfer-Encoding: chunked\r\n", CHUNKED, PASSED, "POST /p HTTP/1.1"),
  BODY ("Transfer-Encoding: Chunked\r\n", CHUNKED, EITHER, "POST /p HTTP/1.1"),
  BODY ("transfer-encoding: chunked\r\n", CHUNKED, PASSED, "POST /p HTTP/1.1"),
  BODY ("Transfer-Encoding: xchunked\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: chunkedx\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: chunked, identity\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: identity, chunked\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: gzip, chunked\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: identity\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: gzip\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding:\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: \tchunked\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: \x0b"
        "chunked\r\n",
        CHUNKED,
        REFUSED),
  BODY ("Transfer-Encoding: chunked;x=y\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding : chunked\r\n", CHUNKED, REFUSED),
  BODY ("Transfer-Encoding: chunked\r\nContent-Length: 15\r\n", CHUNKED, REFUSED),
  BODY ("Content-Length: 15\r\nTransfer-Encoding: chunked\r\n", CHUNKED, REFUSED),
  BODY ("Content-Length: 15\r\nTransfer-Encoding: identity\r\n", CHUNKED, REFUSED),
  ROW ("POST /p HTTP/1.0\r\nHost: {A}\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKED, REFUSED),
};

static const Row rows_120[] = {
  BODY ("Content-Length: 5\r\n", "hello", PASSED, "POST /p HTTP/1.1"),
  BODY ("Content-Length: 0\r\n", "", PASSED, "POST /p HTTP/1.1"),
  BODY ("Content-Length: +5\r\n", "hello", REFUSED),
  BODY ("Content-Length: -1\r\n", "hello", REFUSED),
  BODY ("Content-Length: 5,5\r\n", "hello", REFUSED),
  BODY ("Content-Length: 5, 5\r\n", "hello", REFUSED),
  BODY ("Content-Length: 5x\r\n", "hello", REFUSED),
  BODY ("Content-Length: 0x5\r\n", "hello", REFUSED),
  BODY ("Content-Length: 5.0\r\n", "hello", REFUSED),
  BODY ("Content-Length: 5 5\r\n", "hello", REFUSED),
  BODY ("Content-Length:\r\n", "hello", REFUSED),
  BODY ("Content-Length: 12345678901234567890\r\n", "hello", REFUSED),
  BODY ("Content-Length: 18446744073709551621\r\n", "hello", REFUSED),
  BODY ("Content-Length: 5\r\nContent-Length: 5\r\n", "hello", REFUSED),
  BODY ("Content-Length: 5\r\ncontent-length: 6\r\n", "hello", REFUSED),
  BODY ("Content-Length : 5\r\n", "hello", REFUSED),
};

#define CHUNKS(body, expected, ...) \
 ROW ("POST /p HTTP/1.1\r\nHost: {A}\r\nTransfer-Encoding: chunked\r\n\r\n" body AGAIN, expected, ##__VA_ARGS__)

static const Row rows_121[] = {
  CHUNKS ("0x5\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("-5\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("+5\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS (" 5\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("5 \r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("5\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("5\r\nhello\n0\r\n\r\n", BROKEN),
  CHUNKS ("5\r\nhello\r\n0\n\n", BROKEN),
  CHUNKS ("5\r\nhello\r\n0\r\n\n", BROKEN),
  CHUNKS ("5;x\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("5;x\n0\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("5;x=\"\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("5\r\nhellohello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("5\r\nhell\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("5\r\nhelloXX0\r\n\r\n", BROKEN),
  CHUNKS ("5h\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("ffffffffffffffff\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("10000000000000000\r\nhello\r\n0\r\n\r\n", BROKEN),
  CHUNKS ("00000000000000005\r\nhello\r\n0\r\n\r\n", BROKEN),
};

static const Row rows_122[] = {
  ROW ("GET / HTTP/1.1\nHost: {A}\n\n", REFUSED),
  ROW ("GET / HTTP/1.1\r\nHost: {A}\n\r\n", REFUSED),
  ROW ("GET / HTTP/1.1\r\nHost: {A}\r\n\n", REFUSED),
  ROW ("GET / HTTP/1.1\r\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET / HTTP/1.1\rHost: {A}\r\n\r\n", REFUSED),
  ROW ("\r\nGET / HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW (" GET / HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET / HTTP/1.1\r\n Host: {A}\r\n\r\n", REFUSED),
  ROW ("GET / HTTP/1.1\r\n X: y\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET  / HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET /  HTTP/1.1\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET / HTTP/1.1 \r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET /\r\nHost: {A}\r\n\r\n", REFUSED),
  ROW ("GET\r\nHost: {A}\r\n\r\n", REFUSED),
  WITH ("Accept: a\rb\r\n", REFUSED),
  WITH ("Accept: a\r\n b\r\n", REFUSED),
  WITH ("Accept: a\r\n\tb\r\n", REFUSED),
  WITH ("Accept : a\r\n", REFUSED),
  WITH ("Accept\t: a\r\n", REFUSED),
  WITH (": a\r\n", REFUSED),
  WITH ("Accept\r\n", REFUSED),
  WITH ("Acc ept: a\r\n", REFUSED),
  WITH ("Acc\x01"
        "ept: a\r\n",
        REFUSED),
  WITH ("Acc\xc3\xa4pt: a\r\n", REFUSED),
  WITH ("Accept: a\0b\r\n", REFUSED),
  WITH ("Acc\0ept: a\r\n", REFUSED),
  WITH ("Accept: a\x01"
        "b\r\n",
        REFUSED),
  WITH ("Accept: a\x7f"
        "b\r\n",
        REFUSED),
  WITH ("X-Dropped: a\0b\r\n", REFUSED),
  WITH ("X-Dropped: a\rb\r\n", REFUSED),
  WITH ("X(Dropped): a\r\n", REFUSED),
  WITH ("Accept: a\r\nAccept: b\r\n", REFUSED),
};

static const Row rows_124[] = {
  WITH ("Upgrade: websocket\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n", REFUSED),
  ROW ("GET / HTTP/1.1\r\nHost: {A}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", REFUSED),
  ROW ("GET / HTTP/1.1\r\nHost: {A}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", REFUSED),
  ROW ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", REFUSED),
  FIRST ("GET / HTTP/1.9", REFUSED),
  FIRST ("GET / HTTP/2.0", REFUSED),
  FIRST ("GET / HTTP/0.9", REFUSED),
  FIRST ("GET / HTTP/1.10", REFUSED),
  FIRST ("GET / http/1.1", REFUSED),
  FIRST ("GET / ICAP/1.0", REFUSED),
  ROW ("GET /\r\n", REFUSED),
  ROW ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", REFUSED),
  ROW ("SSH-2.0-OpenSSH\r\n", REFUSED),
  ROW ("\x05\x01\x00", REFUSED),
};

static const Row rows_125[] = {
  FIRST ("CONNECT {A} HTTP/1.1", REFUSED),
  FIRST ("CONNECT allowed.test:443 HTTP/1.1", REFUSED),
  FIRST ("CONNECT / HTTP/1.1", REFUSED),
  FIRST ("OPTIONS * HTTP/1.1", REFUSED),
  FIRST ("GET * HTTP/1.1", REFUSED),
};

static const Row rows_127[] = {
  FIRST ("get / HTTP/1.1", REFUSED),
  FIRST ("FOO / HTTP/1.1", REFUSED),
  FIRST ("GETX / HTTP/1.1", REFUSED),
  FIRST ("GE / HTTP/1.1", REFUSED),
  FIRST ("G\tET / HTTP/1.1", REFUSED),
  FIRST ("GET\t/ HTTP/1.1", REFUSED),
  FIRST ("G\0T / HTTP/1.1", REFUSED),
  FIRST ("TRACE / HTTP/1.1", REFUSED),
  FIRST ("TRACK / HTTP/1.1", REFUSED),
  FIRST ("PROPFIND / HTTP/1.1", REFUSED),
  FIRST ("/ HTTP/1.1", REFUSED),
  FIRST ("DELETE /d HTTP/1.1", PASSED, "DELETE /d HTTP/1.1"),
  FIRST ("OPTIONS /o HTTP/1.1", PASSED, "OPTIONS /o HTTP/1.1"),
};

static const Row rows_128[] = {
  TARGET ("//evil.test/x", EITHER, "GET //evil.test/x HTTP/1.1"),
  TARGET ("///x", EITHER, "GET ///x HTTP/1.1"),
  TARGET ("/\\evil.test", EITHER, "GET /\\evil.test HTTP/1.1"),
  TARGET ("\\\\evil.test\\x", REFUSED),
  TARGET ("@evil.test/x", REFUSED),
  TARGET (":80/x", REFUSED),
  TARGET ("evil.test/x", REFUSED),
  TARGET ("?", REFUSED),
  TARGET ("?x", REFUSED),
  TARGET ("#", REFUSED),
  TARGET ("/x#frag", REFUSED),
  TARGET ("/x%23frag", PASSED, "GET /x%23frag HTTP/1.1"),
  TARGET ("/a/../../b", PASSED, "GET /a/../../b HTTP/1.1"),
  TARGET ("/./a/.//b/", PASSED, "GET /./a/.//b/ HTTP/1.1"),
  TARGET ("/%00", PASSED, "GET /%00 HTTP/1.1"),
  TARGET ("/%", PASSED, "GET /% HTTP/1.1"),
  TARGET ("/%zz", PASSED, "GET /%zz HTTP/1.1"),
  TARGET ("/?", PASSED, "GET /? HTTP/1.1"),
  TARGET ("/??x?/", PASSED, "GET /??x?/ HTTP/1.1"),
  TARGET ("/x?http://evil.test/", PASSED, "GET /x?http://evil.test/ HTTP/1.1"),
  TARGET ("/a\0b", REFUSED),
  TARGET ("/a\x01"
          "b",
          REFUSED),
  TARGET ("/a\x7f"
          "b",
          REFUSED),
  TARGET ("/a\tb", REFUSED),
  TARGET ("/a b", REFUSED),
  TARGET ("/a\xc3\xa4", REFUSED),
};

static const Row rows_129[] = {
  TARGET ("/a%2Fb?x=%26y&z=a+b%20c", PASSED, "GET /a%2Fb?x=%26y&z=a+b%20c HTTP/1.1"),
  TARGET ("/a%252e", PASSED, "GET /a%252e HTTP/1.1"),
  TARGET ("/%2e%2e/%2E", PASSED, "GET /%2e%2e/%2E HTTP/1.1"),
  TARGET ("/a;b=c,d!$&'()*+:@-._~|^`{}\"<>[]", PASSED, "GET /a;b=c,d!$&'()*+:@-._~|^`{}\"<>[] HTTP/1.1"),
  TARGET ("/%41%c3%A4%FF", PASSED, "GET /%41%c3%A4%FF HTTP/1.1"),
  TARGET ("/x?a=%0d%0aX:%20y", PASSED, "GET /x?a=%0d%0aX:%20y HTTP/1.1"),
};

static const Row rows_135[] = {
  BODY ("Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n", "5\r\nhello\r\n0\r\nAuthorization: x\r\n\r\n", BROKEN),
  BODY ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\nAuthorization: x\r\n\r\n", BROKEN),
  BODY ("Transfer-Encoding: chunked\r\n", "0\r\nHost: evil.test\r\n\r\n", BROKEN),
};

/* What was published against libsoup, as far as it comes from a client */
static const Row rows_152[] = {
  BODY ("Content-Length: 5\r\nContent-Length: 0\r\n", "hello", REFUSED),
  BODY ("Content-Length: 0\r\nContent-Length: 44\r\n", "GET /smuggled HTTP/1.1\r\nHost: evil.test\r\n\r\n", REFUSED),
  HOST ("allowed.test\r\n:{P}", REFUSED),
  HOST ("allowed.test%0d%0aX-Injected:y:{P}", REFUSED),
  TARGET ("/x%0d%0aHost:%20evil.test", PASSED, "GET /x%0d%0aHost:%20evil.test HTTP/1.1"),
  TARGET ("http://[::1%25lo\r\nX: y]/", REFUSED),
  WITH ("Range: bytes=0-,0-,0-,0-,0-,0-,0-,0-\r\n", EITHER),
  WITH ("Content-Type: multipart/form-data; boundary=\r\n", EITHER),
  WITH ("Content-Type: a/b;;;===;\"\\\r\n", EITHER),
  WITH ("Cookie: a=b; $Path=\"/\r\n", EITHER),
  WITH ("Authorization: Digest realm=\"\r\n", EITHER),
  WITH ("If-Modified-Since: Thu, 99 Foo 99999999999999999999 99:99:99 GMT\r\n", EITHER),
  HEADERS ("Host: {A}\r\nTransfer-Encoding: chunked\0\r\n", REFUSED),
};

static const Case cases[] = {
  CASE (112, "absolute-form", "a target of another authority is refused, and one of its own is understood"),
  CASE (113, "user", "a user in Host is refused"),
  CASE (114, "lists", "lists and blanks in Host are refused, and so is a second one"),
  CASE (115, "ports", "a port that is not written as the origin writes it is refused"),
  CASE (116, "spelling", "case makes no difference; dots and letters that look alike are refused"),
  CASE (118, "look-alikes", "what begins or ends as an origin is none"),
  CASE (119, "transfer-encoding", "anything but a single chunked in HTTP/1.1 is refused"),
  CASE (120, "content-length", "anything but one plain number is refused at once"),
  CASE (121, "chunks", "a chunk that is not plain ends the connection, and nothing after it is read"),
  CASE (122, "lines", "line ends, blanks and control bytes that are not plain are refused"),
  CASE (124, "upgrade", "other protocols and versions are refused"),
  CASE (125, "connect", "tunnels and asterisks are refused"),
  CASE (127, "methods", "methods are of a fixed set"),
  CASE (128, "targets", "a target never changes the authority, and arrives as it was written"),
  CASE (129, "escapes", "the upstream sees the very bytes of a target"),
  CASE (135, "trailers", "trailers are refused"),
  CASE (152, "known-holes", "what was published against libsoup is refused, or passed as it is"),
};

static void
test_case (TestGateway  *self,
           gconstpointer data)
{
  const Case *the_case = data;

  g_test_summary (the_case->summary);

  test_gateway_use_upstream (self);
  check_rows (self, the_case->rows, the_case->n_rows);
  g_assert_cmpuint (test_gateway_count (self, self->errors), ==, 0);
}

/* ---- Requests ---- */

static void
test_number_forms (TestGateway  *self,
                   gconstpointer unused)
{
  static const char *const others[] = { "2130706433:%u", "0x7f.1:%u", "0x7f000001:%u", "127.1:%u", "127.0.0.01:%u", "0177.0.0.1:%u",
                                        "[::ffff:127.0.0.1]:%u", "[::ffff:7f00:1]:%u", "[::1]:%u", "[::1%%25lo]:%u", "[127.0.0.1]:%u",
                                        "127.0.0.1.:%u", "localhost:%u", "127.0.0.1%%00:%u", "127.0.0.2:%u" };
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("Case 117: an address is matched as the policy writes it, and in no other form");

  sandbox_network_policy_set_loopback_door (policy, TRUE);
  test_policy_add (policy, "http", "127.0.0.1", self->upstream->port, TEST_CREDENTIAL);
  test_gateway_use (self, policy);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autofree char *right = g_strdup_printf ("GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", self->upstream->port);
      g_autoptr (TestAnswer) answer = NULL;
      guint n_before;

      for (guint j = 0; j < G_N_ELEMENTS (others); j++)
        {
          g_auto (GStrv) parts = g_strsplit (others[j], "%u", 2);
          g_autofree char *text = g_strdup_printf ("GET / HTTP/1.1\r\nHost: %s{P}\r\n\r\n", parts[0]);
          g_autoptr (TestAnswer) refused = test_gateway_ask (self, test_doors[i], text, TRUE);

          if (!is_refused (refused))
            g_error ("“%s” was answered with “%s”", text, refused->bytes);
        }
      n_before = test_upstream_count_requests (self->upstream);
      answer = test_gateway_ask (self, test_doors[i], right, FALSE);
      g_assert_cmpuint (answer->status, ==, 200);
      g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, n_before + 1);
    }
  g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, G_N_ELEMENTS (test_doors));
}

static void
test_default_port (TestGateway  *self,
                   gconstpointer unused)
{
  static const char *const right[] = { "secure.test", "secure.test:443", "SECURE.test:443" };
  static const char *const wrong[] = { "secure.test:0443", "secure.test:", "secure.test:80", "secure.test:65979", "secure.test:4430" };
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("Case 115: the port of the scheme may be left out, or be written as it is");

  /* Nobody listens there, which is no refusal. */
  test_resolver_set ("secure.test", "127.77.77.77");
  sandbox_network_policy_add_origin (policy, "https://secure.test", NULL, &error);
  g_assert_no_error (error);
  test_gateway_use (self, policy);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      for (guint j = 0; j < G_N_ELEMENTS (right); j++)
        {
          g_autofree char *text = g_strdup_printf ("GET / HTTP/1.1\r\nHost: %s\r\n\r\n", right[j]);
          g_autoptr (TestAnswer) answer = test_gateway_ask (self, test_doors[i], text, FALSE);

          g_assert_cmpuint (answer->status, ==, 502);
        }
      for (guint j = 0; j < G_N_ELEMENTS (wrong); j++)
        {
          g_autofree char *text = g_strdup_printf ("GET / HTTP/1.1\r\nHost: %s\r\n\r\n", wrong[j]);
          g_autoptr (TestAnswer) answer = test_gateway_ask (self, test_doors[i], text, TRUE);

          g_assert_true (is_refused (answer));
        }
    }
}

static void
test_second_request (TestGateway  *self,
                     gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) other = test_policy_new ();

  g_test_summary ("Case 123: each request of a connection is judged alone, and one after a change of the policy by the new one");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (GString) good = test_gateway_expand (self, TEST_GET, strlen (TEST_GET));
      g_autoptr (GString) script = g_string_new ("open 0\n");
      g_autoptr (GString) together = g_string_new ("open 0\n");
      g_autoptr (GPtrArray) answers = NULL;
      g_autoptr (GPtrArray) pipelined = NULL;
      guint n_before = test_upstream_count_requests (self->upstream);

      test_script_send (script, 0, good->str);
      g_string_append (script, "answer 0 10000\n");
      test_script_send (script, 0, good->str);
      g_string_append (script, "answer 0 10000\n");
      test_script_send (script, 0, "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n");
      test_script_send (script, 0, good->str);
      g_string_append (script, "read 0 10000\n");
      answers = test_gateway_run (self, test_doors[i], script);
      g_assert_cmpuint (test_answers_get (answers, 0)->status, ==, 200);
      g_assert_cmpuint (test_answers_get (answers, 1)->status, ==, 200);
      g_assert_true (is_refused (test_answers_get (answers, 2)));
      g_assert_cmpuint (test_answer_count (test_answers_get (answers, 2)), ==, 1);
      g_assert_cmpstr (test_answers_get (answers, 2)->end, !=, "late");
      g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, n_before + 2);

      /* All of them at once */
      test_script_send (together, 0, good->str);
      test_script_send (together, 0, "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n");
      test_script_send (together, 0, good->str);
      g_string_append (together, "answer 0 10000\nread 0 10000\n");
      pipelined = test_gateway_run (self, test_doors[i], together);
      g_assert_cmpuint (test_answers_get (pipelined, 0)->status, ==, 200);
      g_assert_true (is_refused (test_answers_get (pipelined, 1)));
      g_assert_cmpuint (test_answer_count (test_answers_get (pipelined, 1)), ==, 1);
      g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, n_before + 3);
    }

  test_policy_add (other, "http", "second.test", self->upstream->port, NULL);
  test_gateway_use (self, other);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (TestAnswer) refused = test_gateway_ask (self, test_doors[i], TEST_GET, TRUE);
      g_autoptr (TestAnswer) passed = test_gateway_ask (self, test_doors[i], "GET / HTTP/1.1\r\nHost: second.test:{P}\r\n\r\n", FALSE);

      g_assert_true (is_refused (refused));
      g_assert_cmpuint (passed->status, ==, 200);
    }
}

static void
test_echo (TestGateway  *self,
           gconstpointer unused)
{
  g_autofree char *seen = NULL;

  g_test_summary ("Case 126: TRACE is refused, and what an upstream repeats in its headers does not come to the guest");

  test_gateway_use_upstream (self);
  test_upstream_set (self->upstream, TEST_UPSTREAM_ECHO, "");
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (TestAnswer) trace = test_gateway_ask (self, test_doors[i], "TRACE / HTTP/1.1\r\nHost: {A}\r\n\r\n", TRUE);
      g_autoptr (TestAnswer) options = test_gateway_ask (self, test_doors[i], "OPTIONS / HTTP/1.1\r\nHost: {A}\r\n\r\n", FALSE);

      g_assert_true (is_refused (trace));
      g_assert_cmpuint (options->status, ==, 200);
      test_assert_has_not (options->bytes, TEST_CREDENTIAL);
      test_assert_has_not (options->bytes, "authorization");
    }
  g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, G_N_ELEMENTS (test_doors));
  seen = test_upstream_get (self->upstream, 0);
  test_assert_has (seen, TEST_CREDENTIAL);
}

static void
test_empty_bodies (TestGateway  *self,
                   gconstpointer unused)
{
  static const char *const methods[] = { "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };

  g_test_summary ("A body that a guest says to be empty is one for the upstream, whatever the method");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    for (guint j = 0; j < G_N_ELEMENTS (methods); j++)
      {
        g_autofree char *request = g_strdup_printf ("%s / HTTP/1.1\r\nHost: {A}\r\nContent-Length: 0\r\n\r\n", methods[j]);
        const guint      first = test_upstream_count (self->upstream);
        g_autoptr (TestAnswer) answer = NULL;
        g_autofree char *seen = NULL;

        test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, TEST_OK);
        answer = test_gateway_ask (self, test_doors[i], request, FALSE);
        g_assert_cmpuint (answer->status, ==, 200);
        seen = test_upstream_get (self->upstream, first);
        test_assert_has (seen, "\r\nContent-Length: 0\r\n");
      }
}

static void
test_expect (TestGateway  *self,
             gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();

  g_test_summary ("Case 130: who is refused is not told to go on, and a body that does not come ends in time");

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, NULL);
  sandbox_network_policy_set_timeout_ms (policy, 1000);
  test_gateway_use (self, policy);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      const char *denied = "POST / HTTP/1.1\r\nHost: evil.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
      const char *odd = "POST / HTTP/1.1\r\nHost: {A}\r\nExpect: 200-ok\r\nContent-Length: 5\r\n\r\n";
      const char *large = "POST / HTTP/1.1\r\nHost: {A}\r\nExpect: 100-continue\r\nContent-Length: 1048577\r\n\r\n";
      const char *never = "POST / HTTP/1.1\r\nHost: {A}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
      g_autoptr (GString) patient = test_gateway_expand (self, never, strlen (never));
      g_autoptr (GString) script = g_string_new ("open 0\n");
      g_autoptr (TestAnswer) first = test_gateway_ask (self, test_doors[i], denied, TRUE);
      g_autoptr (TestAnswer) second = test_gateway_ask (self, test_doors[i], odd, TRUE);
      g_autoptr (TestAnswer) third = test_gateway_ask (self, test_doors[i], large, TRUE);
      g_autoptr (TestAnswer) late = NULL;
      g_autoptr (GPtrArray) answers = NULL;
      guint n_before = test_upstream_count_requests (self->upstream);

      g_assert_true (is_refused (first) && is_refused (second));
      g_assert_cmpuint (third->status, ==, 413);
      g_assert_cmpuint (test_answer_count (first), ==, 1);
      g_assert_cmpuint (test_answer_count (third), ==, 1);

      late = test_gateway_ask (self, test_doors[i], never, TRUE);
      g_assert_cmpstr (late->end, !=, "late");
      g_assert_cmpint (late->ms, <, 6000);
      g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, n_before);

      test_script_send (script, 0, patient->str);
      g_string_append (script, "answer 0 800\n");
      test_script_send (script, 0, "hello");
      g_string_append (script, "answer 0 10000\n");
      answers = test_gateway_run (self, test_doors[i], script);
      g_assert_cmpuint (test_answers_get (answers, 0)->status, ==, 100);
      g_assert_cmpuint (test_answers_get (answers, 1)->status, ==, 200);
      g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, n_before + 1);
    }
}

static guint64
get_resident_kib (void)
{
  return (guint64) test_read_status (getpid (), "VmRSS", 10);
}

static void
test_bulk (TestGateway  *self,
           gconstpointer unused)
{
  const char *begins[] = { "GET / HTTP/1.1\r\nHost: {A}\r\nX: ", "GET / HTTP/1.1\r\nHost: {A}\r\n", "GET /", "", "GET / HTTP/1.1\r\nHost: {A}\r\n" };
  const char *middles[] = { "fill 0 71680\n", NULL, "fill 0 1048576\n", "fill 0 102400\n", NULL };
  const char *ends[] = { "\r\n\r\n", "\r\n", " HTTP/1.1\r\nHost: {A}\r\n\r\n", " / HTTP/1.1\r\nHost: {A}\r\n\r\n", "\r\n" };
  g_autoptr (GString) headers = g_string_new (NULL);
  guint64 before;

  g_test_summary ("Case 131: heads without measure are refused, and cost the host no memory");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < 10000; i++)
    g_string_append_printf (headers, "X-%u: y\r\n", i);
  before = get_resident_kib ();
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    for (guint j = 0; j < G_N_ELEMENTS (begins); j++)
      {
        g_autoptr (GString) begin = test_gateway_expand (self, begins[j], strlen (begins[j]));
        g_autoptr (GString) end = test_gateway_expand (self, ends[j], strlen (ends[j]));
        g_autoptr (GString) script = g_string_new ("open 0\n");
        g_autoptr (GPtrArray) answers = NULL;

        test_script_send (script, 0, begin->str);
        if (middles[j] != NULL)
          g_string_append (script, middles[j]);
        else
          test_script_send_bytes (script, 0, headers->str, j == 1 ? headers->len : strlen ("X-0: y\r\n") * 10 + strlen ("X-10: y\r\n") * 60);
        test_script_send (script, 0, end->str);
        g_string_append (script, "read 0 10000\n");
        answers = test_gateway_run (self, test_doors[i], script);
        g_assert_cmpstr (test_answers_get (answers, 0)->end, !=, "late");
        /* Bytes on their way may have taken the answer with them. */
        g_assert_true (is_refused (test_answers_get (answers, 0)) || g_str_equal (test_answers_get (answers, 0)->end, "reset"));
      }
  if (!TEST_IS_SANITIZED)
    g_assert_cmpuint (get_resident_kib (), <, before + 8192);
  g_assert_cmpuint (test_upstream_count (self->upstream), ==, 0);
}

static void
test_body_bound (TestGateway  *self,
                 gconstpointer unused)
{
  g_test_summary ("Case 132: a body of a byte more than the bound is refused, and no upstream has seen it whole");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    for (guint j = 0; j < 4; j++)
      {
        const guint64    bound = 1048576;
        const gboolean   is_chunked = j >= 2;
        const gboolean   is_over = j % 2 == 0;
        const guint64    size = bound + (is_over ? 1 : 0);
        g_autofree char *framing = is_chunked ? g_strdup ("Transfer-Encoding: chunked") : g_strdup_printf ("Content-Length: %" G_GUINT64_FORMAT, size);
        g_autofree char *text = g_strdup_printf ("POST /b HTTP/1.1\r\nHost: {A}\r\nConnection: close\r\n%s\r\n\r\n", framing);
        g_autoptr (GString) head = test_gateway_expand (self, text, strlen (text));
        g_autoptr (GString) script = g_string_new ("open 0\n");
        g_autoptr (GPtrArray) answers = NULL;
        guint       n_before = test_upstream_count_requests (self->upstream);
        TestAnswer *answer;

        test_script_send (script, 0, head->str);
        g_string_append_printf (script, "%s 0 %" G_GUINT64_FORMAT "\n", is_chunked ? "chunks" : "fill", size);
        if (is_chunked)
          test_script_send (script, 0, "0\r\n\r\n");
        g_string_append (script, "read 0 30000\n");
        answers = test_gateway_run (self, test_doors[i], script);
        answer = test_answers_get (answers, 0);
        /* Bytes on their way may have taken the answer with them. */
        if (is_over ? answer->status != 413 && !g_str_equal (answer->end, "reset") : answer->status != 200)
          g_error ("It was answered with “%s”, until “%s”", answer->bytes, answer->end);
        g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, n_before + (is_over ? 0 : 1));
      }
}

/* When a guest is gone, the upstream hears of it at once from the Unix door. At the other the end of a guest that is gone
 * looks like that of one that only has said all, until it is sent something: so its time has to run out. */
#define VANISHED_TIMEOUT_MS 3000

static void
wait_for_vanished (TestGateway *self,
                   const char  *door)
{
  gint64 begun = g_get_monotonic_time ();

  test_wait (test_upstream_count_open (self->upstream) == 0);
  if (g_str_equal (door, TEST_UNIX_DOOR))
    g_assert_cmpint (g_get_monotonic_time () - begun, <, VANISHED_TIMEOUT_MS * 1000 / 2);
}

static void
use_short_time (TestGateway *self)
{
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, TEST_CREDENTIAL);
  sandbox_network_policy_set_timeout_ms (policy, VANISHED_TIMEOUT_MS);
  test_gateway_use (self, policy);
}

static void
test_concurrency (TestGateway  *self,
                  gconstpointer unused)
{
  g_test_summary ("Case 133: the seventeenth request is answered at once, and those that are given up leave their room");

  use_short_time (self);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (GString) request = test_gateway_expand (self, TEST_GET, strlen (TEST_GET));
      g_autoptr (GString) script = g_string_new (NULL);
      g_autoptr (GPtrArray) answers = NULL;

      test_upstream_set (self->upstream, TEST_UPSTREAM_HOLD, "");
      for (guint j = 0; j < 16; j++)
        {
          g_string_append_printf (script, "open %u\n", j);
          test_script_send (script, j, request->str);
        }
      g_string_append (script, "sleep 1000\nopen 16\n");
      test_script_send (script, 16, request->str);
      g_string_append (script, "answer 16 10000\n");
      for (guint j = 0; j < 16; j++)
        g_string_append_printf (script, "close %u\n", j);
      answers = test_gateway_run (self, test_doors[i], script);
      g_assert_cmpuint (test_answers_get (answers, 0)->status, ==, 503);
      wait_for_vanished (self, test_doors[i]);
      g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, (i + 1) * 16 + i * 16);

      /* There is room for as many again. */
      test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, TEST_OK);
      g_string_truncate (script, 0);
      for (guint j = 0; j < 16; j++)
        {
          g_string_append_printf (script, "open %u\n", j);
          test_script_send (script, j, request->str);
        }
      for (guint j = 0; j < 16; j++)
        g_string_append_printf (script, "answer %u 10000\n", j);
      g_clear_pointer (&answers, g_ptr_array_unref);
      answers = test_gateway_run (self, test_doors[i], script);
      for (guint j = 0; j < 16; j++)
        g_assert_cmpuint (test_answers_get (answers, j)->status, ==, 200);
    }
}

static void
test_vanishing (TestGateway  *self,
                gconstpointer unused)
{
  const char *get = "GET /v HTTP/1.1\r\nHost: {A}\r\n\r\n";
  const char *post = "POST /v HTTP/1.1\r\nHost: {A}\r\nContent-Length: 100\r\n\r\nhalf";
  const char *in_chunks = "POST /v HTTP/1.1\r\nHost: {A}\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n";
  g_autoptr (GString) large = g_string_new (TEST_OK_HEAD "Content-Length: 1000000\r\n\r\n");

  g_test_summary ("Case 134: a guest that goes away takes its request along; one that only ends its side is answered");

  use_short_time (self);
  for (guint i = 0; i < 1000000; i++)
    g_string_append_c (large, 'x');
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (GString) request = test_gateway_expand (self, get, strlen (get));
      g_autoptr (GString) body = test_gateway_expand (self, post, strlen (post));
      g_autoptr (GString) chunked = test_gateway_expand (self, in_chunks, strlen (in_chunks));
      g_autoptr (GString) script = g_string_new (NULL);
      g_autoptr (GPtrArray) answers = NULL;
      guint n_before;
      guint n_connections;

      /* Before, within and after its request, while it is answered, and half of it */
      test_upstream_set (self->upstream, TEST_UPSTREAM_HOLD, TEST_OK_HEAD "Content-Length: 100\r\n\r\nhalf");
      g_string_append (script, "open 0\nclose 0\nopen 0\n");
      test_script_send (script, 0, "GET /v HT");
      g_string_append (script, "close 0\nopen 0\n");
      test_script_send (script, 0, body->str);
      g_string_append (script, "close 0\nopen 0\n");
      test_script_send (script, 0, request->str);
      g_string_append (script, "close 0\nopen 0\n");
      test_script_send (script, 0, request->str);
      g_string_append (script, "read 0 300\nclose 0\n");
      answers = test_gateway_run (self, test_doors[i], script);
      g_assert_cmpstr (test_answers_get (answers, 0)->end, ==, "late");
      wait_for_vanished (self, test_doors[i]);

      /* Within a body that no length tells the end of: what has come of it is not the whole for the upstream either. */
      n_before = test_upstream_count_requests (self->upstream);
      n_connections = test_upstream_count (self->upstream);
      g_string_truncate (script, 0);
      g_string_append (script, "open 0\n");
      test_script_send (script, 0, chunked->str);
      g_string_append (script, "fill 0 131072\n");
      test_script_send (script, 0, "\r\n");
      g_string_append (script, "sleep 300\nclose 0\n");
      g_clear_pointer (&answers, g_ptr_array_unref);
      answers = test_gateway_run (self, test_doors[i], script);
      wait_for_vanished (self, test_doors[i]);
      g_assert_cmpuint (test_upstream_count (self->upstream), ==, n_connections + 1);
      g_assert_cmpuint (test_upstream_count_requests (self->upstream), ==, n_before);

      test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, large->str);
      g_string_truncate (script, 0);
      g_string_append (script, "open 0\n");
      test_script_send (script, 0, request->str);
      g_string_append (script, "sleep 50\nclose 0\nopen 0\n");
      test_script_send (script, 0, request->str);
      g_string_append (script, "end 0\nanswer 0 10000\n");
      g_clear_pointer (&answers, g_ptr_array_unref);
      answers = test_gateway_run (self, test_doors[i], script);
      g_assert_cmpuint (test_answers_get (answers, 0)->status, ==, 200);
      g_assert_cmpstr (test_answers_get (answers, 0)->end, ==, "whole");
      g_assert_cmpuint (strlen (test_answer_get_body (test_answers_get (answers, 0))), ==, 1000000);
      wait_for_vanished (self, test_doors[i]);
    }
}

static void
test_doors_of_others (TestGateway  *self,
                      gconstpointer unused)
{
  TestSandbox second = { NULL };
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *doors = NULL;

  g_test_summary ("Case 136: a door is inside its sandbox: neither the host nor another session can knock at it");

  g_socket_client_set_enable_proxy (client, FALSE);
  test_gateway_use_upstream (self);
  test_sandbox_set_up (&second, NULL);
  test_install_program (second.workspace, "door", TEST_DOOR);
  doors = test_sh (&second, "find / -type s 2>/dev/null; ./door tcp:3128 </dev/null && echo open 0 | ./door tcp:3128 2>&1 || echo refused");
  g_assert_cmpstr (doors, ==, "door: tcp:3128: Connection refused\nrefused\n");

  /* In a loop while sandboxes with doors come and go */
  test_policy_add (policy, "http", "allowed.test", self->upstream->port, NULL);
  for (guint i = 0; i < 20; i++)
    {
      g_autoptr (GSocketConnection) connection = NULL;
      g_autoptr (GSocketAddress) address = g_inet_socket_address_new_from_string ("127.0.0.1", SANDBOX_GATEWAY_PORT);

      test_gateway_use (self, policy);
      g_assert_false (g_file_test (SANDBOX_GATEWAY_PATH, G_FILE_TEST_EXISTS));
      connection = g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), NULL, &error);
      g_assert_null (connection);
      g_clear_error (&error);
      if (i % 2 == 0)
        test_gateway_use_upstream (self);
    }
  /* Nor is there a socket of it in the network of the host. */
  g_clear_pointer (&doors, g_free);
  g_assert_true (g_file_get_contents ("/proc/net/unix", &doors, NULL, NULL));
  g_assert_null (strstr (doors, "gateway.sock"));
  test_sandbox_tear_down (&second, NULL);
}

static void
test_own_credentials (TestGateway  *self,
                      gconstpointer unused)
{
  const char *const dropped[] = { "Authorization: Basic guest-value", "Cookie: guest-value", "X-Api-Key: guest-value", "Proxy-Authorization: guest-value",
                                  "Forwarded: for=guest-value", "X-Forwarded-For: guest-value", "X-Forwarded-Host: guest-value", "X-Original-URL: /guest-value",
                                  "X-Host: guest-value", "Via: guest-value", "Origin: guest-value", "Referer: guest-value", "From: guest-value",
                                  "If-Match: guest-value", "Accept-Encoding: guest-value", "X-HTTP-Method-Override: guest-value", "Pragma: guest-value" };
  const char *const passed[] = { "Accept: text/x", "Accept-Language: xx", "Content-Type: text/y", "Content-Encoding: z", "Range: bytes=0-1",
                                 "If-None-Match: \"w\"", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", "Git-Protocol: version=2",
                                 "User-Agent: guest/1" };
  g_autoptr (GString) text = g_string_new ("POST / HTTP/1.1\r\nHost: {A}\r\nContent-Length: 0\r\n");

  g_test_summary ("Case 137: of a request only what DESIGN names passes, and the header of the policy is there once");

  for (guint i = 0; i < G_N_ELEMENTS (dropped); i++)
    g_string_append_printf (text, "%s\r\n", dropped[i]);
  for (guint i = 0; i < G_N_ELEMENTS (passed); i++)
    g_string_append_printf (text, "%s\r\n", passed[i]);
  g_string_append (text, "\r\n");
  test_gateway_use_upstream (self);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      guint first = test_upstream_count (self->upstream);
      g_autoptr (TestAnswer) answer = NULL;
      g_autofree char *seen = NULL;
      g_auto (GStrv) lines = NULL;
      const char *found = NULL;

      test_upstream_set (self->upstream, TEST_UPSTREAM_CLOSE, TEST_OK);
      answer = test_gateway_ask (self, test_doors[i], text->str, FALSE);
      g_assert_cmpuint (answer->status, ==, 200);
      seen = test_upstream_get (self->upstream, first);
      test_assert_has_not (seen, "guest-value");
      for (guint j = 0; j < G_N_ELEMENTS (passed); j++)
        {
          g_autofree char *line = g_strdup_printf ("\r\n%s\r\n", passed[j]);

          if (strcasestr (seen, line) == NULL)
            g_error ("“%s” is not in “%s”", passed[j], seen);
        }
      found = strstr (seen, "Authorization: Bearer " TEST_CREDENTIAL "\r\n");
      g_assert_nonnull (found);
      g_assert_null (strcasestr (found + 1, "authorization"));

      /* Beside those there is what frames the message and where it goes to. */
      lines = g_strsplit (seen, "\r\n", -1);
      for (guint j = 1; lines[j][0] != '\0'; j++)
        {
          const char *const others[] = { "Host:", "Connection:", "Content-Length:", "Accept-Encoding: identity", "Authorization:" };
          gboolean          known = FALSE;

          for (guint k = 0; k < G_N_ELEMENTS (others); k++)
            known |= g_ascii_strncasecmp (lines[j], others[k], strlen (others[k])) == 0;
          for (guint k = 0; k < G_N_ELEMENTS (passed); k++)
            known |= g_ascii_strcasecmp (lines[j], passed[k]) == 0;
          if (!known)
            g_error ("The upstream was sent “%s”", lines[j]);
        }
    }
}

static void
test_policies (TestGateway  *self,
               gconstpointer unused)
{
  static const char *const origins[] = { "http://allowed.test:%u/", "http://allowed.test:%u/x", "http://allowed.test:%u?x", "http://allowed.test:%u#x",
                                         "http://u@allowed.test:%u", "http://u:p@allowed.test:%u", "ftp://allowed.test:%u", "allowed.test:%u",
                                         "http://allowed.test.:%u", "http://*.test:%u", "https://second.test:%u", "http://second.test:%u",
                                         "http://second.test", "http://SECOND.test:%u", "http://\xef\xbd\x81llowed.test:%u" };
  static const char *const headers[][2] = {
    { "X", "a\rb" },
    { "X", "a\nb" },
    { "X", "a\r\nY: b" },
    { "X", "a\001"
           "b" },
    { "X", "a\177"
           "b" },
    { "X", " a" },
    { "X", "a " },
    { "X", "\xc3\xa4" },
    { "X:", "a" },
    { "X Y", "a" },
    { "", "a" },
    { "X\r\nY", "a" },
    { "Host", "a" },
    { "host", "a" },
    { "Connection", "a" },
    { "Content-Length", "1" },
    { "Transfer-Encoding", "chunked" },
    { "Proxy-Authorization", "a" },
    { "Proxy-Connection", "a" },
    { "Upgrade", "a" },
    { "Trailer", "a" },
    { "TE", "a" },
    { "Keep-Alive", "a" },
    { "Expect", "100-continue" },
  };
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (SandboxNetworkPolicy) plain = sandbox_network_policy_new_allow_list ();
  g_autoptr (GError) error = NULL;
  g_autofree char *large = g_strnfill (65536, 'a');
  g_auto (GStrv) left = NULL;

  g_test_summary ("Cases 116, 138, 139, 140: what cannot be enforced is refused when a policy is made, which then lets through what it did before");

  test_policy_add (policy, "http", "second.test", self->upstream->port, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (origins); i++)
    {
      g_auto (GStrv) parts = g_strsplit (origins[i], "%u", 2);
      g_autofree char *origin = parts[1] != NULL ? g_strdup_printf ("%s%u%s", parts[0], self->upstream->port, parts[1]) : g_strdup (parts[0]);

      g_assert_false (sandbox_network_policy_add_origin (policy, origin, NULL, &error));
      g_assert_nonnull (error);
      g_clear_error (&error);
    }
  for (guint i = 0; i <= G_N_ELEMENTS (headers) + 1; i++)
    {
      g_autofree char *origin = g_strdup_printf ("http://allowed.test:%u", self->upstream->port);
      GVariantBuilder  builder;

      g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
      if (i < G_N_ELEMENTS (headers))
        {
          /* Nothing of Unicode but UTF-8 comes this far. */
          g_variant_builder_add (&builder, "{ss}", headers[i][0], headers[i][1]);
        }
      else if (i == G_N_ELEMENTS (headers))
        g_variant_builder_add (&builder, "{ss}", "X", large);
      else
        {
          g_variant_builder_add (&builder, "{ss}", "X-Same", "a");
          g_variant_builder_add (&builder, "{ss}", "x-same", "b");
        }
      if (sandbox_network_policy_add_origin (policy, origin, g_variant_builder_end (&builder), &error))
        g_error ("Header %u was taken", i);
      g_assert_nonnull (error);
      g_clear_error (&error);
    }
  {
    GVariantBuilder builder;

    g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
    g_variant_builder_add (&builder, "{ss}", "Authorization", TEST_CREDENTIAL);
    g_assert_false (sandbox_network_policy_add_origin (plain, "http://example.org", g_variant_builder_end (&builder), &error));
    g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
    test_assert_has_not (error->message, TEST_CREDENTIAL);
  }

  left = sandbox_network_policy_dup_origins (policy);
  g_assert_cmpuint (g_strv_length (left), ==, 1);
  test_gateway_use (self, policy);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (TestAnswer) refused = test_gateway_ask (self, test_doors[i], TEST_GET, TRUE);
      g_autoptr (TestAnswer) passed = test_gateway_ask (self, test_doors[i], "GET / HTTP/1.1\r\nHost: second.test:{P}\r\n\r\n", FALSE);

      g_assert_true (is_refused (refused));
      g_assert_cmpuint (passed->status, ==, 200);
    }
}

/* ---- Many at once, and for long ---- */

static void
test_full_guest (TestGateway  *self,
                 gconstpointer unused)
{
  enum
  {
    /* Around what fits in between two sockets here, in answers */
    N_FEWEST = 262,
    N_CONNECTIONS = 32,
    N_ROUNDS = 3, /* as it is a matter of moments */
  };
  g_autoptr (GString) get = test_gateway_expand (self, TEST_GET, strlen (TEST_GET));
  g_autoptr (GString) script = g_string_new (NULL);
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  guint            status = 0;
  g_autofree char *body = NULL;

  g_test_summary ("A guest that does not read, is told to go on, and goes in the middle of an answer, ends nobody else");

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, NULL);
  sandbox_network_policy_set_max_requests (policy, 2 * N_CONNECTIONS);
  test_gateway_use (self, policy);
  test_upstream_set (self->upstream, TEST_UPSTREAM_LATE, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
  for (guint i = 0; i < N_CONNECTIONS; i++)
    {
      g_autofree char *post = g_strdup_printf ("POST / HTTP/1.1\r\nHost: allowed.test:%u\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", self->upstream->port);
      g_autoptr (GString) text = g_string_new (NULL);

      for (guint j = 0; j < N_FEWEST + i; j++)
        g_string_append (text, get->str);
      g_string_append (text, post);
      g_string_append_printf (script, "open %u\n", i);
      test_script_send (script, i, text->str);
    }
  g_string_append (script, "sleep 1000\n");
  /* It reads all, and goes while the last byte of the last answer is to come. */
  for (guint i = 0; i < N_CONNECTIONS; i++)
    g_string_append_printf (script, "count %u 20\nclose %u\n", i, i);
  for (guint i = 0; i < N_ROUNDS; i++)
    {
      g_autoptr (GPtrArray) answers = test_gateway_run (self, TEST_UNIX_DOOR, script);

      g_assert_cmpuint (answers->len, ==, N_CONNECTIONS);
      g_usleep (2 * TEST_UPSTREAM_LATE_US);
    }
  body = test_gateway_get (self, TEST_UNIX_DOOR, "/", &status);
  g_assert_cmpstr (body, ==, "abc");
}

static void
test_slow_guests (TestGateway  *self,
                  gconstpointer unused)
{
  g_test_summary ("40 connections that are slow or half open delay an honest request by less than 2 s");

  test_gateway_use_upstream (self);
  for (guint i = 0; i < G_N_ELEMENTS (test_doors); i++)
    {
      g_autoptr (GString) request = test_gateway_expand (self, TEST_GET, strlen (TEST_GET));
      g_autoptr (GString) script = g_string_new (NULL);
      g_autoptr (GPtrArray) answers = NULL;
      gint64 begun;

      /* Nothing, half a line, half a head, half a body */
      for (guint j = 0; j < 40; j++)
        {
          g_string_append_printf (script, "open %u\n", j);
          if (j % 4 == 1)
            test_script_send (script, j, "GET / HT");
          else if (j % 4 == 2)
            test_script_send_bytes (script, j, request->str, request->len - 2);
          else if (j % 4 == 3)
            {
              g_autofree char *half = g_strdup_printf ("POST / HTTP/1.1\r\nHost: allowed.test:%u\r\nContent-Length: 10\r\n\r\nhalf", self->upstream->port);

              test_script_send (script, j, half);
            }
          if (j % 8 > 4)
            g_string_append_printf (script, "end %u\n", j);
        }
      g_string_append (script, "sleep 300\nopen 99\nread 0 1\nopen 100\n");
      test_script_send (script, 100, request->str);
      g_string_append (script, "answer 100 10000\n");
      answers = test_gateway_run (self, test_doors[i], script);
      begun = test_answers_get (answers, 0)->ms;
      g_assert_cmpuint (test_answers_get (answers, 1)->status, ==, 200);
      g_assert_cmpint (test_answers_get (answers, 1)->ms - begun, <, 2000);
    }
}

/* @n requests at each of @n_connections, whose answers say what the upstream was sent; all must be @told. */
static void
transfer (TestGateway *self,
          const char  *door,
          guint        n_connections,
          guint        n,
          const char  *told)
{
  g_autoptr (GString) request = test_gateway_expand (self, TEST_GET, strlen (TEST_GET));
  g_autoptr (GString) script = g_string_new (NULL);
  g_autoptr (GPtrArray) answers = NULL;

  for (guint i = 0; i < n_connections; i++)
    g_string_append_printf (script, "open %u\n", i);
  for (guint j = 0; j < n; j++)
    {
      for (guint i = 0; i < n_connections; i++)
        test_script_send (script, i, request->str);
      for (guint i = 0; i < n_connections; i++)
        g_string_append_printf (script, "answer %u 20000\n", i);
    }
  answers = test_gateway_run (self, door, script);
  g_assert_cmpuint (answers->len, ==, n * n_connections);
  for (guint i = 0; i < answers->len; i++)
    g_assert_cmpstr (test_answer_get_body (test_answers_get (answers, i)), ==, told);
}

static SandboxNetworkPolicy *
new_generation (TestGateway *self,
                guint        generation,
                char       **told)
{
  SandboxNetworkPolicy *policy = test_policy_new ();
  g_autofree char      *credential = g_strdup_printf ("generation-%u", generation);

  test_policy_add (policy, "http", "allowed.test", self->upstream->port, credential);
  *told = g_strconcat ("Bearer ", credential, NULL);

  return policy;
}

/* A command in the midst of its transfers, killed or left to its session's end. */
static SandboxProcess *
begin_transfers (TestGateway *self,
                 const char  *door)
{
  g_autoptr (GString) request = test_gateway_expand (self, TEST_GET, strlen (TEST_GET));
  g_autoptr (GString) script = g_string_new ("open 0\nopen 1\n");
  g_autoptr (SandboxCommand) command = NULL;
  g_autoptr (GError) error = NULL;
  SandboxProcess *process = NULL;

  for (guint i = 0; i < 2000; i++)
    {
      test_script_send (script, i % 2, request->str);
      g_string_append_printf (script, "answer %u 20000\n", i % 2);
    }
  command = test_gateway_new_command (door, script);
  process = sandbox_session_spawn (self->sandbox.session, command, NULL, &error);
  g_assert_no_error (error);

  return process;
}

static void
begin_anew (TestGateway          *self,
            SandboxNetworkPolicy *policy)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (GError) error = NULL;

  g_signal_handlers_disconnect_by_data (self->sandbox.session, self);
  g_assert_true (sandbox_handle_shutdown (self->sandbox.handle, NULL, &error));
  g_clear_object (&self->sandbox.handle);
  sandbox_create_options_set_workspace_path (options, self->sandbox.workspace);
  sandbox_create_options_set_isolation (options, TEST_ISOLATION);
  sandbox_create_options_set_network (options, policy);
  self->sandbox.handle = sandbox_backend_create (self->sandbox.backend, options, NULL, &error);
  g_assert_no_error (error);
  self->sandbox.session = sandbox_handle_get_session (self->sandbox.handle);
}

static void
test_transfers (TestGateway  *self,
                gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) nothing = sandbox_network_policy_new_deny_all ();
  const guint n_rounds = test_rounds (26);
  guint       descriptors = 0;
  guint       threads = 0;
  guint       generation = 0;

  g_test_summary ("1,000 transfers while policies change, commands are killed and sessions stop leave nothing, and no answer is of an old policy");

  test_upstream_set (self->upstream, TEST_UPSTREAM_TELL, "");
  for (guint i = 0; i < n_rounds; i++)
    {
      g_autofree char *told = NULL;
      g_autoptr (SandboxNetworkPolicy) policy = new_generation (self, generation++, &told);
      g_autoptr (SandboxProcess) process = NULL;
      g_autoptr (GError) error = NULL;

      if (i % 4 == 3)
        begin_anew (self, policy);
      else
        test_gateway_use (self, policy);
      transfer (self, TEST_UNIX_DOOR, 4, 5, told);
      transfer (self, TEST_TCP_DOOR, 10, 2, told);
      process = begin_transfers (self, test_doors[i % 2]);
      g_usleep (g_random_int_range (0, 20000));
      if (i % 4 != 2)
        {
          sandbox_process_kill (process, &error);
          g_assert_no_error (error);
          sandbox_process_wait (process, NULL, &error);
          g_assert_no_error (error);
        }
      if (i == 4 || i + 1 == n_rounds)
        {
          if (i % 4 == 2)
            begin_anew (self, policy);
          test_gateway_use (self, nothing);
          test_wait (test_upstream_count_open (self->upstream) == 0);
          g_free (test_sh (&self->sandbox, "true"));
          test_wait_for_threads ();
        }
      if (i == 4)
        {
          descriptors = test_count_descriptors ();
          threads = test_count_threads ();
        }
      else if (i % 4 == 2)
        {
          /* The command is still at it. */
          g_clear_object (&process);
          begin_anew (self, policy);
        }
    }
  test_assert_nothing_left (descriptors + TEST_N_ARMED_FDS);
  test_wait (test_count_threads () <= threads);
}

/* ---- A host that is killed, which is this program again ---- */

static void G_GNUC_NORETURN
host_main (const char *workspace,
           const char *port,
           const char *marker)
{
  TestUpstream     upstream = { .port = (guint16) atoi (port) };
  TestGateway      self = { .upstream = &upstream };
  g_autofree char *script = g_strdup_printf ("./guest hold %s >/dev/null & exec ./door " TEST_UNIX_DOOR, marker);
  g_autoptr (GString) request = test_gateway_expand (&self, TEST_GET, strlen (TEST_GET));
  g_autoptr (GString) input = g_string_new ("open 0\n");
  g_autoptr (GError) error = NULL;

  g_mutex_init (&self.lock);
  test_resolver_set ("allowed.test", "127.0.0.1");
  self.sandbox.workspace = (char *) workspace;
  self.sandbox.registry = sandbox_registry_new ();
  self.sandbox.backend = test_new_backend (self.sandbox.registry);
  self.sandbox.handle = test_create (self.sandbox.backend, workspace, &error);
  g_assert_no_error (error);
  self.sandbox.session = sandbox_handle_get_session (self.sandbox.handle);
  for (guint i = 0; i < 200; i++)
    {
      test_script_send (input, 0, request->str);
      g_string_append (input, "answer 0 20000\n");
    }
  g_print ("ready\n");
  for (;;)
    {
      g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", script, NULL);
      g_autoptr (GBytes) bytes = g_bytes_new (input->str, input->len);
      g_autoptr (SandboxResult) result = NULL;

      test_gateway_use_upstream (&self);
      sandbox_command_set_stdin (command, bytes);
      result = test_run_command (&self.sandbox, command);
      test_assert_exited (result, 0);
    }
}

static void
test_killed_host (TestGateway  *self,
                  gconstpointer unused)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *marker = test_marker_new ();
  g_autofree char *port = g_strdup_printf ("%u", self->upstream->port);

  g_test_summary ("A host that is killed in the midst of transfers leaves neither guests nor connections");

  for (guint i = 0; i < test_rounds (12); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GSubprocess) host = g_subprocess_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error, program, "--host", self->sandbox.workspace, port, marker, NULL);
      guint n_before = test_upstream_count_requests (self->upstream);

      g_assert_no_error (error);
      test_wait (test_upstream_count_requests (self->upstream) > n_before);
      g_usleep (g_random_int_range (0, 50000));
      g_subprocess_force_exit (host);
      g_assert_true (g_subprocess_wait (host, NULL, &error));
      test_marker_assert_gone (marker);
      test_wait (test_upstream_count_open (self->upstream) == 0);
    }
}

/* ---- Where the credential is not ---- */

/* As in probes/walk.c */
#define MASK 0x55

static GBytes *
new_walk_input (void)
{
  GString *input = g_string_new (NULL);

  g_string_append_printf (input, "%" G_GINT64_FORMAT "\n", g_get_real_time () / G_USEC_PER_SEC - 3600);
  for (const char *at = TEST_CREDENTIAL; *at != '\0'; at++)
    g_string_append_printf (input, "%02x", (guint8) *at ^ MASK);
  g_string_append_c (input, '\n');

  return g_string_free_to_bytes (input);
}

static int
look_into_cb (const char        *path,
              const struct stat *info,
              int                kind,
              struct FTW        *place)
{
  g_autofree char *text = NULL;
  gsize            size = 0;

  if (kind == FTW_F && S_ISREG (info->st_mode))
    {
      g_assert_true (g_file_get_contents (path, &text, &size, NULL));
      if (test_bytes_have (text, size, TEST_CREDENTIAL))
        g_error ("The credential is in %s", path);
    }

  return 0;
}

static void
write_program (TestSandbox *self,
               const char  *name,
               const char  *source)
{
  g_autofree char *program = NULL;
  g_autofree char *script = g_strdup_printf ("chmod 755 %s", name);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;
  gsize size = 0;

  g_assert_true (g_file_get_contents (source, &program, &size, NULL));
  bytes = g_bytes_new (program, size);
  g_assert_true (sandbox_session_write_bytes (self->session, name, bytes, NULL, &error));
  g_free (test_sh (self, script));
}

/* The host; what it prints and logs is looked through by the test. */
static void
test_credential_host (void)
{
  g_autofree char *directory = g_dir_make_tmp ("credential-XXXXXX", NULL);
  g_autofree char *place = g_build_filename (directory, "state", NULL);
  g_autoptr (TestUpstream) upstream = test_upstream_new ("127.0.0.1", NULL);
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxCommand) walk = test_command_new ("./walk", "marker-of-the-guest", "/usr", NULL);
  g_autoptr (SandboxCommand) held = NULL;
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (SandboxState) state = NULL;
  g_autoptr (GBytes) input = new_walk_input ();
  g_autoptr (GString) script = g_string_new ("open 0\n");
  g_autoptr (GString) request = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char  *output = NULL;
  g_autofree char  *json = NULL;
  g_autofree char  *seen = NULL;
  TestGateway       self = { .upstream = upstream };
  const char *const answers[] = { TEST_OK, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n", "no answer", "" };

  g_mutex_init (&self.lock);
  test_resolver_set ("allowed.test", "127.0.0.1");
  test_policy_add (policy, "http", "allowed.test", upstream->port, TEST_CREDENTIAL);
  self.sandbox.registry = sandbox_registry_new ();
  self.sandbox.backend = sandbox_registry_create_backend (self.sandbox.registry, "bubblewrap", place, &error);
  g_assert_no_error (error);
  g_object_set (self.sandbox.backend, "nested", TEST_NESTED, NULL);
  sandbox_create_options_set_network (options, policy);
  self.sandbox.handle = sandbox_backend_create (self.sandbox.backend, options, NULL, &error);
  g_assert_no_error (error);
  self.sandbox.session = sandbox_handle_get_session (self.sandbox.handle);
  write_program (&self.sandbox, "door", TEST_DOOR);
  write_program (&self.sandbox, "walk", TEST_WALK);
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    for (guint j = 0; j < G_N_ELEMENTS (test_doors); j++)
      {
        g_autoptr (TestAnswer) answer = NULL;
        g_autoptr (TestAnswer) denied = NULL;

        test_upstream_set (upstream, TEST_UPSTREAM_CLOSE, answers[i]);
        answer = test_gateway_ask (&self, test_doors[j], TEST_GET, FALSE);
        g_assert_cmpuint (answer->status, ==, i == 0 ? 200 : i == 2 ? 500
                                                                    : 502);
        denied = test_gateway_ask (&self, test_doors[j], "GET /?query HTTP/1.1\r\nHost: evil.test\r\n\r\n", TRUE);
        g_assert_true (is_refused (denied));
      }
  seen = test_upstream_get (upstream, 0);
  test_assert_has (seen, TEST_CREDENTIAL);

  /* While a request is under way, with everything that a guest has around it then */
  test_upstream_set (upstream, TEST_UPSTREAM_HOLD, "");
  request = test_gateway_expand (&self, TEST_GET, strlen (TEST_GET));
  test_script_send (script, 0, request->str);
  g_string_append (script, "read 0 60000\n");
  held = test_gateway_new_command (TEST_TCP_DOOR, script);
  process = sandbox_session_spawn (self.sandbox.session, held, NULL, &error);
  g_assert_no_error (error);
  test_wait (test_upstream_count_open (upstream) > 0);
  nftw (place, look_into_cb, 16, FTW_PHYS);
  sandbox_command_set_stdin (walk, input);
  sandbox_command_set_timeout_ms (walk, 120000);
  sandbox_command_set_max_output (walk, 16 * 1024 * 1024);
  result = test_run_command (&self.sandbox, walk);
  test_assert_exited (result, 0);
  output = sandbox_result_dup_stdout_text (result);
  test_assert_has (output, "\nwalked ");
  test_assert_has_not (output, "marker 0 ");

  state = sandbox_handle_capture_state (self.sandbox.handle, &error);
  g_assert_no_error (error);
  json = sandbox_state_to_json (state);
  test_assert_has_not (json, TEST_CREDENTIAL);
  sandbox_process_kill (process, &error);
  g_assert_no_error (error);
  sandbox_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (sandbox_handle_stop (self.sandbox.handle, NULL, &error));
  nftw (place, look_into_cb, 16, FTW_PHYS);
  g_assert_true (sandbox_handle_delete (self.sandbox.handle, NULL, &error));
  g_clear_object (&process);
  g_clear_object (&self.sandbox.handle);
  g_clear_object (&self.sandbox.backend);
  g_clear_object (&self.sandbox.registry);
  g_mutex_clear (&self.lock);
  test_remove_tree (directory);
}

static void
test_credential (void)
{
  g_autofree char *before = g_strdup (g_getenv ("G_MESSAGES_DEBUG"));

  g_test_summary ("Case 111: the header of a policy in use is in nothing that a guest can read, nor in a state, a file, a message or a log");

  g_setenv ("G_MESSAGES_DEBUG", "all", TRUE);
  g_test_trap_subprocess ("/gateway/credential/subprocess", 0, G_TEST_SUBPROCESS_DEFAULT);
  if (before != NULL)
    g_setenv ("G_MESSAGES_DEBUG", before, TRUE);
  else
    unsetenv ("G_MESSAGES_DEBUG"); /* g_unsetenv () says something at this level */
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout_unmatched ("*" TEST_CREDENTIAL "*");
  g_test_trap_assert_stderr_unmatched ("*" TEST_CREDENTIAL "*");
  g_test_trap_assert_stdout_unmatched ("*?query*");
  /* It was looked through: there are messages. */
  g_test_trap_assert_stdout ("*Sandbox-DEBUG*");
}

typedef struct
{
  const char *path;
  void (*func) (TestGateway  *self,
                gconstpointer data);
} Test;

static const Test tests[] = {
  { "/gateway/115-default-port", test_default_port },
  { "/gateway/116-policies", test_policies },
  { "/gateway/117-number-forms", test_number_forms },
  { "/gateway/123-second-request", test_second_request },
  { "/gateway/126-echo", test_echo },
  { "/gateway/130-expect", test_expect },
  { "/gateway/empty-bodies", test_empty_bodies },
  { "/gateway/131-bulk", test_bulk },
  { "/gateway/132-body-bound", test_body_bound },
  { "/gateway/133-concurrency", test_concurrency },
  { "/gateway/134-vanishing", test_vanishing },
  { "/gateway/136-doors-of-others", test_doors_of_others },
  { "/gateway/137-own-credentials", test_own_credentials },
  { "/gateway/full-guest", test_full_guest },
  { "/gateway/slow-guests", test_slow_guests },
  { "/gateway/transfers", test_transfers },
  { "/gateway/killed-host", test_killed_host },
};

int
main (int    argc,
      char **argv)
{
  if (argc == 5 && g_str_equal (argv[1], "--host"))
    host_main (argv[2], argv[3], argv[4]);

  g_test_init (&argc, &argv, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_test_add (cases[i].path, TestGateway, &cases[i], test_gateway_set_up, test_case, test_gateway_tear_down);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].path, TestGateway, NULL, test_gateway_set_up, tests[i].func, test_gateway_tear_down);
  g_test_add_func ("/gateway/credential", test_credential);
  g_test_add_func ("/gateway/credential/subprocess", test_credential_host);

  return g_test_run ();
}
