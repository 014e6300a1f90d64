/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the gateway reads from guests, by the cases of cases.list: what is taken, for what it is taken, and why the rest
 * is refused. Each input comes in at once, byte by byte and in pieces, which must make no difference. */

#include "../common/test-http.h"

#define HEAD_LIMIT "431 the request has a head of more than 16 KiB"
#define NOT_ASCII "400 the request has a byte in its head that is not printable ASCII"
#define NOT_CRLF "400 the request has a line that does not end in CRLF"
#define NOT_HTTP "400 the request does not begin as one of HTTP"
#define NO_METHOD "405 the request has a method that is not passed on"
#define NO_TARGET "400 the request has a target that is neither a path nor begins with http://"
#define NO_VERSION "400 the request has a first line without a version"
#define BAD_VERSION "400 the request has a first line that does not end in a version"
#define OTHER_VERSION "505 the request has a version other than HTTP/1.1 and HTTP/1.0"
#define FRAGMENT "400 the request has a target with a fragment"
#define FOREIGN "400 the request has a target that is not of its Host"
#define NO_HOST "400 the request has no Host"
#define HOST_NO_NAME "400 the request has a Host that is no name"
#define HOST_NO_ADDRESS "400 the request has a Host that is no address"
#define HOST_OTHER "400 the request has a Host that is neither a name nor an address"
#define HOST_PORT "400 the request has a Host with a port that is not plain"
#define HOST_LONG "400 the request has a Host that is too long"
#define TWICE "400 the request has a header twice that may stand once"
#define CODING "400 the request has a Transfer-Encoding that is not chunked"
#define CODING_BESIDE "400 the request has a Transfer-Encoding beside a length, or in HTTP/1.0"
#define LENGTH "400 the request has a Content-Length that is no plain number"
#define BLANK "400 the request has a line that begins with a blank"
#define NO_COLON "400 the request has a header without a colon"
#define NO_NAME "400 the request has a header without a name"
#define BAD_NAME "400 the request has a header with a name that is none"
#define PROTOCOL "400 the request asks for another protocol"
#define NAMES "400 the request has a Connection that names another header"
#define EXPECTS "417 the request expects what is not known"
#define USELESS "400 the request has a body with GET or HEAD"
#define MANY "431 the request has more than 64 headers"

#define HEAD "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\nHost: allowed\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define TAKEN_CHUNKED "POST / allowed chunked <"

/* The length of a literal, NULs and all. */
#define BYTES(literal) literal, sizeof literal - 1

typedef struct
{
  const char *input;
  gsize       size;
  const char *expected;
} Row;

static void
check (const char *input,
       gsize       size,
       const char *expected)
{
  const guint32 cuts[] = { TEST_HTTP_WHOLE, TEST_HTTP_SINGLE, 2, 77, 9999 };

  for (guint i = 0; i < G_N_ELEMENTS (cuts); i++)
    {
      g_autofree char *text = test_http_read (input, size, cuts[i]);

      g_assert_cmpstr (text, ==, expected);
    }
}

static const Row case_112[] = {
  { BYTES ("GET http://evil/x HTTP/1.1\r\nHost: allowed\r\n\r\n"), FOREIGN },
  { BYTES ("GET http://allowed/x HTTP/1.1\r\nHost: evil\r\n\r\n"), FOREIGN },
  { BYTES ("GET https://allowed:444/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET https://allowed/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET HTTP://allowed/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET ftp://allowed/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET http://allowed:80/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), FOREIGN },
  { BYTES ("GET http://allowed/ HTTP/1.1\r\nHost: allowed:80\r\n\r\n"), FOREIGN },
  { BYTES ("GET http://user@allowed/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), FOREIGN },
  { BYTES ("GET http://allowed@evil/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), FOREIGN },
  { BYTES ("GET http://allowed?x HTTP/1.1\r\nHost: allowed\r\n\r\n"), FOREIGN },
  { BYTES ("GET http://allowed\\@evil/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), FOREIGN },
  { BYTES ("GET http:///x HTTP/1.1\r\nHost: allowed\r\n\r\n"), FOREIGN },
  { BYTES ("GET http:// HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET http:/x HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET http://allowed/x#y HTTP/1.1\r\nHost: allowed\r\n\r\n"), FRAGMENT },
  { BYTES ("GET http://evil/x HTTP/1.1\r\n\r\n"), NO_HOST },
  { BYTES ("GET http://allowed/x?y=http://evil/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /x?y=http://evil/ allowed <>\n" },
  { BYTES ("GET http://ALLOWED:8080/ HTTP/1.1\r\nHost: Allowed:8080\r\n\r\n"), "GET / allowed:8080 <>\n" },
  { BYTES ("GET http://allowed HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET / allowed <>\n" },
  { BYTES ("GET http://allowed//evil/x HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET //evil/x allowed <>\n" },
  { BYTES ("GET http://[::1]:8080/ HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"), "GET / [::1]:8080 <>\n" },
};

static const Row case_113[] = {
  { BYTES (HEAD "Host: allowed@evil\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: evil@allowed\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: @allowed\r\n\r\n"), HOST_NO_NAME },
  { BYTES (HEAD "Host: user:pass@allowed\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed:80@evil\r\n\r\n"), HOST_PORT },
};

static const Row case_114[] = {
  { BYTES (HEAD "Host: allowed, evil\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: allowed,evil\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: allowed evil\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: allowed%2eevil\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: allowed/evil\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: http://allowed\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed?evil\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: \"allowed\"\r\n\r\n"), HOST_NO_NAME },
  { BYTES (HEAD "Host: *\r\n\r\n"), HOST_NO_NAME },
  { BYTES (HEAD "Host: \r\n\r\n"), HOST_NO_NAME },
  { BYTES (HEAD "Host:\r\n\r\n"), HOST_NO_NAME },
  { BYTES (HEAD "Host:\tallowed\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Host: allowed\t\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Host: allowed\tevil\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Host: allowed\r\nHost: evil\r\n\r\n"), TWICE },
  { BYTES (HEAD "Host: allowed\r\nhost: allowed\r\n\r\n"), TWICE },
  { BYTES (HEAD "\r\n"), NO_HOST },
  { BYTES (HEAD "Accept: */*\r\n\r\n"), NO_HOST },
  { BYTES (HEAD "X-Host: allowed\r\n\r\n"), NO_HOST },
  { BYTES ("GET / HTTP/1.0\r\n\r\n"), NO_HOST },
  { BYTES (HEAD "Host:allowed\r\n\r\n"), "GET / allowed <>\n" },
  { BYTES (HEAD "hOST:   allowed  \r\n\r\n"), "GET / allowed <>\n" },
};

static const Row case_115[] = {
  { BYTES (HEAD "Host: allowed:0443\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed:\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed:0\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed:65536\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed:65979\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed:4294967739\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed:+443\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed:-443\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed: 443\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed :443\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: allowed:443:443\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: allowed:0x1bb\r\n\r\n"), HOST_PORT },
  { BYTES (HEAD "Host: :443\r\n\r\n"), HOST_NO_NAME },
  { BYTES (HEAD "Host: :65979\r\n\r\n"), HOST_NO_NAME },
  { BYTES (HEAD "Host: allowed:443\r\n\r\n"), "GET / allowed:443 <>\n" },
  { BYTES (HEAD "Host: allowed:65535\r\n\r\n"), "GET / allowed:65535 <>\n" },
  { BYTES (HEAD "Host: allowed:1\r\n\r\n"), "GET / allowed:1 <>\n" },
  { BYTES (HEAD "Host: allowed:1080\r\n\r\n"), "GET / allowed:1080 <>\n" },
};

/* What is another name than the one allowed is told as it stands, for the policy to judge. */
static const Row case_116[] = {
  { BYTES (HEAD "Host: ALLOWED\r\n\r\n"), "GET / allowed <>\n" },
  { BYTES (HEAD "Host: allowed.\r\n\r\n"), "GET / allowed. <>\n" },
  { BYTES (HEAD "Host: allowed..\r\n\r\n"), "GET / allowed.. <>\n" },
  { BYTES (HEAD "Host: xn--llowed-4ga\r\n\r\n"), "GET / xn--llowed-4ga <>\n" },
  { BYTES (HEAD "Host: \357\275\201llowed\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Host: \303\240llowed\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Host: \300\201llowed\r\n\r\n"), NOT_ASCII },
};

static const Row case_117[] = {
  { BYTES (HEAD "Host: 127.0.0.1:8080\r\n\r\n"), "GET / 127.0.0.1:8080 <>\n" },
  { BYTES (HEAD "Host: 2130706433:8080\r\n\r\n"), "GET / 2130706433:8080 <>\n" },
  { BYTES (HEAD "Host: 0x7f.1:8080\r\n\r\n"), "GET / 0x7f.1:8080 <>\n" },
  { BYTES (HEAD "Host: [::FFFF:127.0.0.1]:8080\r\n\r\n"), "GET / [::ffff:127.0.0.1]:8080 <>\n" },
  { BYTES (HEAD "Host: [::1]\r\n\r\n"), "GET / [::1] <>\n" },
  { BYTES (HEAD "Host: [::1%25lo]\r\n\r\n"), HOST_NO_ADDRESS },
  { BYTES (HEAD "Host: [::1\r\n\r\n"), HOST_NO_ADDRESS },
  { BYTES (HEAD "Host: []\r\n\r\n"), HOST_NO_ADDRESS },
  { BYTES (HEAD "Host: [allowed]\r\n\r\n"), HOST_NO_ADDRESS },
  { BYTES (HEAD "Host: [::1]evil\r\n\r\n"), HOST_OTHER },
  { BYTES (HEAD "Host: ::1\r\n\r\n"), HOST_NO_NAME },
  { BYTES (HEAD "Host: a::1\r\n\r\n"), HOST_PORT },
};

static const Row case_118[] = {
  { BYTES (HEAD "Host: notallowed\r\n\r\n"), "GET / notallowed <>\n" },
  { BYTES (HEAD "Host: allowed.evil\r\n\r\n"), "GET / allowed.evil <>\n" },
  { BYTES (HEAD "Host: evil-allowed\r\n\r\n"), "GET / evil-allowed <>\n" },
  { BYTES (HEAD "Host: allowed_evil\r\n\r\n"), "GET / allowed_evil <>\n" },
};

static const Row case_119[] = {
  { BYTES (POST "Transfer-Encoding: xchunked\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: chunkedx\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: chunked, identity\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: gzip, chunked\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: chunked, chunked\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: chunked,\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: chunked;q=1\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: \"chunked\"\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: identity\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding:\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: cHuNkEd\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding: Chunked\r\n\r\n"), CODING },
  { BYTES (POST "Transfer-Encoding:\tchunked\r\n\r\n"), NOT_ASCII },
  { BYTES (POST "Transfer-Encoding: chunked\t\r\n\r\n"), NOT_ASCII },
  { BYTES (POST "Transfer-Encoding: \vchunked\r\n\r\n"), NOT_ASCII },
  { BYTES (POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), TWICE },
  { BYTES (POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"), TWICE },
  { BYTES ("POST / HTTP/1.0\r\nHost: allowed\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), CODING_BESIDE },
  { BYTES (POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), CODING_BESIDE },
  { BYTES (POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), CODING_BESIDE },
  { BYTES (POST "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), CODING_BESIDE },
  { BYTES (POST "transfer-encoding:chunked\r\n\r\n0\r\n\r\n"), TAKEN_CHUNKED ">\n" },
  /* Not that header, and dropped; then there is no body, and what follows is the next request. */
  { BYTES (POST "Transfer_Encoding: chunked\r\n\r\n0\r\n\r\n"), "POST / allowed <>\n" NOT_HTTP },
};

static const Row case_120[] = {
  { BYTES (HEAD "Host: allowed\r\nContent-Length: 5\r\n\r\nhello"), USELESS },
  { BYTES (HEAD "Host: allowed\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), USELESS },
  { BYTES ("HEAD / HTTP/1.1\r\nHost: allowed\r\nContent-Length: 1\r\n\r\nx"), USELESS },
  { BYTES (POST "Content-Length: +5\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: -1\r\n\r\n"), LENGTH },
  { BYTES (POST "Content-Length: -0\r\n\r\n"), LENGTH },
  { BYTES (POST "Content-Length: 5,5\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: 5, 5\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: 5 5\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: 5x\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: x5\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: 0x5\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: 05\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: 5.0\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: \"5\"\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length:\r\n\r\n"), LENGTH },
  { BYTES (POST "Content-Length:  \r\n\r\n"), LENGTH },
  { BYTES (POST "Content-Length: 18446744073709551621\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: 1000000000000000000\r\n\r\nhello"), LENGTH },
  { BYTES (POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"), TWICE },
  { BYTES (POST "Content-Length: 5\r\ncontent-length: 6\r\n\r\nhello"), TWICE },
  { BYTES (POST "Content-Length: 999999999999999999\r\n\r\nhello"), "POST / allowed 999999999999999999 <hello…" },
  { BYTES (POST "Content-Length: 5\r\n\r\nhello"), "POST / allowed 5 <hello>\n" },
  { BYTES (POST "Content-Length: 5\r\n\r\nhell"), "POST / allowed 5 <hell…" },
  { BYTES (POST "Content-Length: 0\r\n\r\n"), "POST / allowed 0 <>\n" },
  { BYTES (POST "Content-Length: 1\r\n\r\nx"), "POST / allowed 1 <x>\n" },
  { BYTES (POST "Content-Length: 5 \r\n\r\nhello" HEAD "Host: evil\r\n\r\n"), "POST / allowed 5 <hello>\nGET / evil <>\n" },
};

static const Row case_121[] = {
  { BYTES (CHUNKED "5\r\nhello\r\n0\r\n\r\n"), TAKEN_CHUNKED "hello>\n" },
  { BYTES (CHUNKED "1\r\nh\r\n0000000000000004\r\nello\r\n00\r\n\r\n"), TAKEN_CHUNKED "hello>\n" },
  { BYTES (CHUNKED "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n"), TAKEN_CHUNKED "01234567890123456789>\n" },
  { BYTES (CHUNKED "2\r\n\r\n\r\n0\r\n\r\n"), TAKEN_CHUNKED "\r\n>\n" },
  { BYTES (CHUNKED "0\r\n\r\n" HEAD "Host: evil\r\n\r\n"), TAKEN_CHUNKED ">\nGET / evil <>\n" },
  { BYTES (CHUNKED "0x3\r\nabc\r\n0\r\n\r\n" HEAD "Host: evil\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "-3\r\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "+3\r\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED " 3\r\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3 \r\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3\t\r\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3\rabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3\r\r\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3\r\nabc\n0\r\n\r\n"), TAKEN_CHUNKED "abc!" },
  { BYTES (CHUNKED "3\r\nabc0\r\n\r\n"), TAKEN_CHUNKED "abc!" },
  { BYTES (CHUNKED "3\r\nabcd\r\n0\r\n\r\n"), TAKEN_CHUNKED "abc!" },
  { BYTES (CHUNKED "3\r\nabc\rx0\r\n\r\n"), TAKEN_CHUNKED "abc!" },
  { BYTES (CHUNKED "3;x=y\r\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3;x=\ny\r\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3\r\nabc\r\n0;x\r\n\r\n"), TAKEN_CHUNKED "abc!" },
  { BYTES (CHUNKED "\r\nabc\r\n0\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "\r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "g\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3\r\nabc\r\n\r\n0\r\n\r\n"), TAKEN_CHUNKED "abc!" },
  { BYTES (CHUNKED "ffffffffffffffff\r\nabc"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "8000000000000000\r\nabc"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "10000000000000003\r\nabc"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "00000000000000003\r\nabc"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "7fffffffffffffff\r\nabc"), TAKEN_CHUNKED "abc…" },
  { BYTES (CHUNKED "0\r\nx"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "0\r\n\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "0\r\n\rx"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "0\n\n"), TAKEN_CHUNKED "!" },
  { BYTES (CHUNKED "3"), TAKEN_CHUNKED "…" },
  { BYTES (CHUNKED "3\r\nab"), TAKEN_CHUNKED "ab…" },
  { BYTES (CHUNKED "3\r\nabc\r\n0\r\n"), TAKEN_CHUNKED "abc…" },
};

static const Row case_122[] = {
  { BYTES ("GET / HTTP/1.1\nHost: allowed\n\n"), NOT_CRLF },
  { BYTES (HEAD "Host: allowed\n\r\n"), NOT_CRLF },
  { BYTES (HEAD "Host: allowed\r\n\n"), NOT_CRLF },
  { BYTES (HEAD "Host: allowed\r\r\n\r\n"), NOT_CRLF },
  { BYTES (HEAD "Host: allowed\rX: y\r\n\r\n"), NOT_CRLF },
  { BYTES (HEAD "Host: allowed\r\nX: a\rb\r\n\r\n"), NOT_CRLF },
  { BYTES (HEAD "Host: allowed\r\n\rX"), NOT_CRLF },
  { BYTES (HEAD "Host: allowed\r\nX: a\r\n b\r\n\r\n"), BLANK },
  { BYTES (HEAD "Host: allowed\r\nX: a\r\n\tb\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD " Host: allowed\r\nHost: allowed\r\n\r\n"), BLANK },
  { BYTES (HEAD " \r\nHost: allowed\r\n\r\n"), BLANK },
  { BYTES (HEAD "Host : allowed\r\n\r\n"), BAD_NAME },
  { BYTES (HEAD "Host: allowed\r\nX : y\r\n\r\n"), BAD_NAME },
  { BYTES (HEAD "Host: allowed\r\nContent-Length : 5\r\n\r\n"), BAD_NAME },
  { BYTES (HEAD "Host: allowed\r\nX Y: z\r\n\r\n"), BAD_NAME },
  { BYTES (HEAD "Host: allowed\r\n(X): z\r\n\r\n"), BAD_NAME },
  { BYTES (HEAD "Host: allowed\r\n\"X\": z\r\n\r\n"), BAD_NAME },
  { BYTES (HEAD "Host: allowed\r\n: z\r\n\r\n"), NO_NAME },
  { BYTES (HEAD "Host: allowed\r\nX\r\n\r\n"), NO_COLON },
  { BYTES (HEAD "Host: allowed\r\nX: a\0b\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Ho\0st: allowed\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Host: allowed\r\nX: a\001b\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Host: allowed\r\nX: a\177b\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Host: allowed\r\nX: a\033b\r\n\r\n"), NOT_ASCII },
  { BYTES (HEAD "Host: allowed\r\nX: \303\274\r\n\r\n"), NOT_ASCII },
  { BYTES ("\r\n" HEAD "Host: allowed\r\n\r\n"), NOT_HTTP },
  { BYTES ("\n"), NOT_HTTP },
  { BYTES (" " HEAD "Host: allowed\r\n\r\n"), NOT_HTTP },
  { BYTES ("GET  / HTTP/1.1\r\nHost: allowed\r\n\r\n"), BAD_VERSION },
  { BYTES ("GET /  HTTP/1.1\r\nHost: allowed\r\n\r\n"), BAD_VERSION },
  { BYTES ("GET / HTTP/1.1 \r\nHost: allowed\r\n\r\n"), BAD_VERSION },
  { BYTES ("GET /\tHTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_ASCII },
  { BYTES ("GET / a HTTP/1.1\r\nHost: allowed\r\n\r\n"), BAD_VERSION },
  { BYTES (HEAD "Host: allowed\r\nX:\r\nY: \r\nZ!#$%&'*+-.^_`|~9: ;\r\n\r\n"), "GET / allowed <>\n" },
  { BYTES (HEAD "Host: allowed\r\n"), "…" },
  { BYTES (HEAD "Host: allowed\r\n\r"), "…" },
};

static const Row case_123[] = {
  { BYTES (HEAD "Host: allowed\r\n\r\n" HEAD "Host: evil\r\n\r\n"), "GET / allowed <>\nGET / evil <>\n" },
  { BYTES (HEAD "Host: allowed\r\n\r\n\r\n" HEAD "Host: allowed\r\n\r\n"), "GET / allowed <>\n" NOT_HTTP },
  { BYTES (POST "Content-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\nHost: b\r\n\r\n"), "POST / allowed 3 <abc>\nGET / b 1.0 close <>\n" },
  { BYTES (CHUNKED "3\r\nabc\r\n0\r\n\r\n" HEAD "Host: b\r\nAccept: c\r\n\r\nHE"), TAKEN_CHUNKED "abc>\nGET / b [accept: c] <>\n…" },
};

static const Row case_124[] = {
  { BYTES (HEAD "Host: allowed\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), NAMES },
  { BYTES (HEAD "Host: allowed\r\nUpgrade: websocket\r\n\r\n"), PROTOCOL },
  { BYTES (HEAD "Host: allowed\r\nConnection: keep-alive, uPGRADE\r\n\r\n"), NAMES },
  { BYTES (HEAD "Host: allowed\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"), NAMES },
  { BYTES (HEAD "Host: allowed\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"), PROTOCOL },
  { BYTES ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), NO_METHOD },
  { BYTES ("GET / HTTP/1.9\r\nHost: allowed\r\n\r\n"), OTHER_VERSION },
  { BYTES ("GET / HTTP/2.0\r\nHost: allowed\r\n\r\n"), OTHER_VERSION },
  { BYTES ("GET / HTTP/0.9\r\nHost: allowed\r\n\r\n"), OTHER_VERSION },
  { BYTES ("GET / HTTP/1.1x\r\nHost: allowed\r\n\r\n"), BAD_VERSION },
  { BYTES ("GET / HTTP/11\r\nHost: allowed\r\n\r\n"), BAD_VERSION },
  { BYTES ("GET / http/1.1\r\nHost: allowed\r\n\r\n"), BAD_VERSION },
  { BYTES ("GET / HTTP/+1.1\r\nHost: allowed\r\n\r\n"), BAD_VERSION },
  { BYTES ("GET /\r\n"), NO_VERSION },
  { BYTES ("GET\r\n"), NOT_HTTP },
  { BYTES ("GET / \r\n"), BAD_VERSION },
  { BYTES ("\026\003\001\002\0\001\0\001\374\003\003"), NOT_HTTP },
  { BYTES ("SSH-2.0-x\r\n"), NOT_HTTP },
  { BYTES ("\005\001\0"), NOT_HTTP },
  { BYTES (HEAD "Host: allowed\r\nConnection: close\r\n\r\n"), "GET / allowed close <>\n" },
  { BYTES (HEAD "Host: allowed\r\nConnection: keep-alive\r\nProxy-Connection: close\r\n\r\n"), "GET / allowed <>\n" },
  { BYTES (HEAD "Host: allowed\r\nConnection: keep-alive\r\nConnection: Close\r\n\r\n"), "GET / allowed close <>\n" },
  { BYTES (HEAD "Host: allowed\r\nConnection: , TE,close,\r\nTE: trailers\r\n\r\n"), "GET / allowed close <>\n" },
  { BYTES (HEAD "Host: allowed\r\nConnection:\r\n\r\n"), "GET / allowed <>\n" },
  { BYTES (HEAD "Host: allowed\r\nConnection: closed\r\n\r\n"), "GET / allowed <>\n" },
  { BYTES (HEAD "Host: allowed\r\nConnection: close, host\r\n\r\n"), NAMES },
  { BYTES (HEAD "Host: allowed\r\nConnection: content-length\r\nContent-Length: 3\r\n\r\n"), NAMES },
  { BYTES (HEAD "Host: allowed\r\nConnection: Range\r\nRange: bytes=0-1\r\n\r\n"), NAMES },
  { BYTES ("GET / HTTP/1.0\r\nHost: allowed\r\nConnection: keep-alive\r\n\r\n"), "GET / allowed 1.0 <>\n" },
  { BYTES ("GET / HTTP/1.0\r\nHost: allowed\r\nConnection: keep-alive, close\r\n\r\n"), "GET / allowed 1.0 close <>\n" },
};

static const Row case_125[] = {
  { BYTES ("CONNECT allowed:443 HTTP/1.1\r\nHost: allowed:443\r\n\r\n"), NO_METHOD },
  { BYTES ("CONNECT / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("OPTIONS * HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET * HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET allowed:443 HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
};

static const Row case_126[] = {
  { BYTES ("TRACE / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("TRACK / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("OPTIONS / HTTP/1.1\r\nHost: allowed\r\nMax-Forwards: 0\r\n\r\n"), "OPTIONS / allowed <>\n" },
};

static const Row case_127[] = {
  { BYTES ("get / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("Get / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("FOO / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("GETT / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("GE / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("OPTIONSX / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("PROPFIND / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_METHOD },
  { BYTES ("GET\t/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_HTTP },
  { BYTES ("OPTIONS\t/ HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_HTTP },
  { BYTES ("PROPFIND"), NO_METHOD },
  { BYTES ("\tGET / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_HTTP },
  { BYTES ("GET\r\nX: / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_HTTP },
  { BYTES ("GET\0 / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_HTTP },
  { BYTES ("M-SEARCH / HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_HTTP },
  { BYTES ("G"), "…" },
  { BYTES ("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nPUT / HTTP/1.1\r\nHost: b\r\n\r\nPATCH / HTTP/1.1\r\nHost: c\r\n\r\nDELETE / HTTP/1.1\r\nHost: d\r\n\r\n"),
    "HEAD / a <>\nPUT / b <>\nPATCH / c <>\nDELETE / d <>\n" },
};

static const Row case_128[] = {
  { BYTES ("GET //evil/x HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET //evil/x allowed <>\n" },
  { BYTES ("GET /\\evil HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /\\evil allowed <>\n" },
  { BYTES ("GET /a/../../b HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /a/../../b allowed <>\n" },
  { BYTES ("GET /%00 HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /%00 allowed <>\n" },
  { BYTES ("GET /%zz?? HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /%zz?? allowed <>\n" },
  { BYTES ("GET /!\"$&'()*+,-.:;<=>?@[]^_`{|}~ HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /!\"$&'()*+,-.:;<=>?@[]^_`{|}~ allowed <>\n" },
  { BYTES ("GET /HTTP/1.1 HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /HTTP/1.1 allowed <>\n" },
  { BYTES ("GET @evil/x HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET evil/x HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET \\evil HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET ? HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET . HTTP/1.1\r\nHost: allowed\r\n\r\n"), NO_TARGET },
  { BYTES ("GET /x#frag HTTP/1.1\r\nHost: allowed\r\n\r\n"), FRAGMENT },
  { BYTES ("GET # HTTP/1.1\r\nHost: allowed\r\n\r\n"), FRAGMENT },
  { BYTES ("GET /\0 HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_ASCII },
  { BYTES ("GET /\001 HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_ASCII },
  { BYTES ("GET /\177 HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_ASCII },
  { BYTES ("GET /\303\274 HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_ASCII },
  { BYTES ("GET /\r HTTP/1.1\r\nHost: allowed\r\n\r\n"), NOT_CRLF },
};

static const Row case_129[] = {
  { BYTES ("GET /a%2Fb?x=%26y&z=a+b%20c HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /a%2Fb?x=%26y&z=a+b%20c allowed <>\n" },
  { BYTES ("GET /a%252e HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /a%252e allowed <>\n" },
  { BYTES ("GET http://allowed/a%2fb%2E%2e/%7E HTTP/1.1\r\nHost: allowed\r\n\r\n"), "GET /a%2fb%2E%2e/%7E allowed <>\n" },
};

static const Row case_130[] = {
  { BYTES (POST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"), "POST / allowed continue 5 <…" },
  { BYTES (POST "expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n"), "POST / allowed continue chunked <…" },
  { BYTES (POST "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n"), "POST / allowed 0 <>\n" },
  { BYTES (HEAD "Host: allowed\r\nExpect: 100-continue\r\n\r\n"), "GET / allowed <>\n" },
  { BYTES ("PUT / HTTP/1.0\r\nHost: allowed\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab"), "PUT / allowed 1.0 close 2 <ab>\n" },
  { BYTES (POST "Expect: 200-ok\r\nContent-Length: 5\r\n\r\n"), EXPECTS },
  { BYTES (POST "Expect: 100-continue, x\r\nContent-Length: 5\r\n\r\n"), EXPECTS },
  { BYTES (POST "Expect:\r\nContent-Length: 5\r\n\r\n"), EXPECTS },
  { BYTES (POST "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"), TWICE },
};

static const Row case_135[] = {
  { BYTES (CHUNKED "3\r\nabc\r\n0\r\nAuthorization: x\r\n\r\n"), TAKEN_CHUNKED "abc!" },
  { BYTES (CHUNKED "0\r\n \r\n\r\n"), TAKEN_CHUNKED "!" },
  { BYTES (POST "Trailer: Authorization\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), TAKEN_CHUNKED ">\n" },
};

/* What passes, and that nothing else does */
static const Row case_137[] = {
  { BYTES (HEAD "Host: allowed\r\nAuthorization: Bearer x\r\nCookie: a=b\r\nX-Api-Key: x\r\nProxy-Authorization: Basic x\r\n"
                "Forwarded: for=x\r\nX-Forwarded-For: x\r\nX-Forwarded-Host: evil\r\nX-Host: evil\r\nReferer: x\r\nOrigin: x\r\nAccept-Encoding: gzip\r\n"
                "Via: x\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\nAccept: a, b\r\n\r\n"),
    "GET / allowed [accept: a, b] <>\n" },
  { BYTES (HEAD "ACCEPT: a\r\nAccept-Language:b\r\nContent-Encoding: c  c\r\nContent-Type:  d \r\nGit-Protocol: version=2\r\nHost: allowed\r\n"
                "If-Modified-Since: Mon, 30 Nov 2026 15:00:00 GMT\r\nIf-None-Match: \"x\", W/\"y\"\r\nrange: bytes=0-1\r\nUser-Agent:\r\n\r\n"),
    "GET / allowed [accept: a] [accept-language: b] [content-encoding: c  c] [content-type: d] [git-protocol: version=2]"
    " [if-modified-since: Mon, 30 Nov 2026 15:00:00 GMT] [if-none-match: \"x\", W/\"y\"] [range: bytes=0-1] [user-agent: ] <>\n" },
  { BYTES (HEAD "Host: allowed\r\nAccept: a\r\nAccept: b\r\n\r\n"), TWICE },
  { BYTES (HEAD "Host: allowed\r\nUser-Agent: a\r\nuser-agent: a\r\n\r\n"), TWICE },
  { BYTES (HEAD "Host: allowed\r\nCookie: a\r\nCookie: b\r\n\r\n"), "GET / allowed <>\n" },
};

typedef struct
{
  const char *name;
  const Row  *rows;
  guint       n_rows;
} Table;

#define TABLE(name, rows)         \
 {                                \
  name, rows, G_N_ELEMENTS (rows) \
 }

static const Table tables[] = {
  TABLE ("case-112-absolute-form", case_112),
  TABLE ("case-113-user-info", case_113),
  TABLE ("case-114-host-lists", case_114),
  TABLE ("case-115-ports", case_115),
  TABLE ("case-116-spelling", case_116),
  TABLE ("case-117-numbers", case_117),
  TABLE ("case-118-look-alikes", case_118),
  TABLE ("case-119-transfer-encoding", case_119),
  TABLE ("case-120-content-length", case_120),
  TABLE ("case-121-chunks", case_121),
  TABLE ("case-122-lines", case_122),
  TABLE ("case-123-second-request", case_123),
  TABLE ("case-124-upgrade", case_124),
  TABLE ("case-125-connect", case_125),
  TABLE ("case-126-trace", case_126),
  TABLE ("case-127-methods", case_127),
  TABLE ("case-128-targets", case_128),
  TABLE ("case-129-percent", case_129),
  TABLE ("case-130-expect", case_130),
  TABLE ("case-135-trailers", case_135),
  TABLE ("case-137-passing", case_137),
};

static void
test_table (gconstpointer user_data)
{
  const Table *table = user_data;

  for (guint i = 0; i < table->n_rows; i++)
    {
      g_autofree char *shown = g_strescape (table->rows[i].input, NULL);

      g_test_message ("%u: %s", i, shown);
      check (table->rows[i].input, table->rows[i].size, table->rows[i].expected);
    }
}

static void
test_answer_chunks (void)
{
  static const struct
  {
    const char *bytes;
    const char *expected;
  } rows[] = {
    { "5\r\nhello\r\n0\r\n\r\nrest", "hello>" },
    { "5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n", "hello>" },
    { "5 \t\r\nhello\r\n0 \r\n\r\n", "hello>" },
    { "5;\xff\r\nhello\r\n0\r\n\r\n", "hello>" },
    { "0\r\nETag: x\r\nX: y\r\n\r\n", ">" },
    { "5;a\rb\r\nhello\r\n0\r\n\r\n", "!" },
    { "5;a\nhello\r\n0\r\n\r\n", "!" },
    { "5;a\001\r\nhello\r\n0\r\n\r\n", "!" },
    { "5\nhello\n0\n\n", "!" },
    { " 5\r\nhello\r\n0\r\n\r\n", "!" },
    { ";5\r\nhello\r\n0\r\n\r\n", "!" },
    { "0x5\r\nhello\r\n0\r\n\r\n", "!" },
    { "5\r\nhello;\r\n0\r\n\r\n", "hello!" },
    { "0\r\nETag: x\n\r\n", "!" },
    { "0\r\nETag: x\r\r\n", "!" },
    { "0\r\nETag: x\r\n", "…" },
    { "5;a", "…" },
  };
  g_autoptr (GString) extension = g_string_new ("5;");
  g_autoptr (GString) trailers = g_string_new ("0\r\n");
  g_autoptr (GString) many = g_string_new (NULL);
  g_autoptr (GString) fair = g_string_new (NULL);
  g_autofree char *long_extension = NULL;
  g_autofree char *many_extensions = NULL;
  g_autofree char *fair_extensions = NULL;
  g_autofree char *long_trailers = NULL;

  g_test_summary ("Of an answer, what stands beside the chunks is skipped as far as it is plain, and has an end");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (guint32 cut = TEST_HTTP_WHOLE; cut <= TEST_HTTP_SINGLE; cut++)
      {
        g_autofree char *text = test_http_read_body (SANDBOX_HTTP_BODY_CHUNKED_ANSWER, rows[i].bytes, strlen (rows[i].bytes), cut);

        g_assert_cmpstr (text, ==, rows[i].expected);
      }

  for (guint i = 0; i < 4097; i++)
    g_string_append_c (extension, 'x');
  long_extension = test_http_read_body (SANDBOX_HTTP_BODY_CHUNKED_ANSWER, extension->str, extension->len, TEST_HTTP_WHOLE);
  g_assert_cmpstr (long_extension, ==, "!");
  while (trailers->len < 8192)
    g_string_append (trailers, "X: y\r\n");
  long_trailers = test_http_read_body (SANDBOX_HTTP_BODY_CHUNKED_ANSWER, trailers->str, trailers->len, TEST_HTTP_WHOLE);
  g_assert_cmpstr (long_trailers, ==, "!");

  /* Much beside little, chunk after chunk, and no more beside the body than there is in it */
  for (guint i = 0; i < 3; i++)
    g_string_append_printf (many, "1;%*s\r\nx\r\n", 2000, "e");
  many_extensions = test_http_read_body (SANDBOX_HTTP_BODY_CHUNKED_ANSWER, many->str, many->len, TEST_HTTP_WHOLE);
  g_assert_cmpstr (many_extensions, ==, "xx!");
  for (guint i = 0; i < 1000; i++)
    g_string_append (fair, "a;12345678\r\n0123456789\r\n");
  g_string_append (fair, "0\r\n\r\n");
  fair_extensions = test_http_read_body (SANDBOX_HTTP_BODY_CHUNKED_ANSWER, fair->str, fair->len, TEST_HTTP_WHOLE);
  g_assert_cmpuint (strlen (fair_extensions), ==, 10001);
}

/* A request with @n headers beside Host, and then one more of a length that makes the whole @size bytes long. */
static GString *
make_bulk (guint n,
           gsize size)
{
  GString *text = g_string_new (HEAD "Host: allowed\r\n");

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "X-%u: y\r\n", i);

  if (size > 0)
    {
      g_string_append (text, "X: ");
      while (text->len + strlen ("\r\n\r\n") < size)
        g_string_append_c (text, 'y');
      g_string_append (text, "\r\n");
    }
  g_string_append (text, "\r\n");

  return text;
}

static void
test_bulk (void)
{
  const struct
  {
    guint       n;
    gsize       size;
    const char *expected;
  } rows[] = {
    { 63, 0, "GET / allowed <>\n" },
    { 64, 0, MANY },
    { 10000, 0, HEAD_LIMIT },
    { 0, SANDBOX_HTTP_MAX_HEAD_BYTES, "GET / allowed <>\n" },
    { 0, SANDBOX_HTTP_MAX_HEAD_BYTES + 1, HEAD_LIMIT },
    { 0, SANDBOX_HTTP_MAX_HEAD_BYTES + 2, HEAD_LIMIT },
    { 0, SANDBOX_HTTP_MAX_HEAD_BYTES + 3, HEAD_LIMIT },
    { 0, SANDBOX_HTTP_MAX_HEAD_BYTES + 4, HEAD_LIMIT },
    { 0, 70 * 1024, HEAD_LIMIT },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GString *text = make_bulk (rows[i].n, rows[i].size);

      check (text->str, text->len, rows[i].expected);
      g_string_free (text, TRUE);
    }
}

/* @before, @n times @byte, @after. */
static void
check_long (const char *before,
            char        byte,
            gsize       n,
            const char *after,
            const char *expected)
{
  GString *text = g_string_new (before);

  for (gsize i = 0; i < n; i++)
    g_string_append_c (text, byte);
  g_string_append (text, after);
  check (text->str, text->len, expected);
  g_string_free (text, TRUE);
}

static void
test_long (void)
{
  g_autofree char *name = g_strnfill (255, 'a');
  g_autofree char *taken = g_strdup_printf ("GET / %s:8080 <>\n", name);

  check_long ("GET /", 'a', 64 * 1024, " HTTP/1.1\r\nHost: allowed\r\n\r\n", HEAD_LIMIT);
  check_long ("GET /", 'a', 1024 * 1024, "", HEAD_LIMIT);
  check_long ("GET /", 'a', SANDBOX_HTTP_MAX_HEAD_BYTES, "", HEAD_LIMIT);
  check_long ("GET ", 'a', SANDBOX_HTTP_MAX_HEAD_BYTES - 5, "", "…");
  check_long ("GET ", 'a', SANDBOX_HTTP_MAX_HEAD_BYTES - 4, "", HEAD_LIMIT);
  check_long ("", 'G', 100 * 1024, "", NO_METHOD);
  check_long (HEAD "Host: ", 'a', 255, ":8080\r\n\r\n", taken);
  check_long (HEAD "Host: ", 'a', 256, "\r\n\r\n", HOST_LONG);
  check_long (HEAD "Host: [", 'a', 300, "]\r\n\r\n", HOST_LONG);
  check_long (CHUNKED "1;", 'a', 1024 * 1024, "", TAKEN_CHUNKED "!");
  check_long (CHUNKED, '0', 1024, "", TAKEN_CHUNKED "!");
}

/* Any pieces at all of what has everything in it */
static void
test_pieces (void)
{
  static const char input[] =
      "POST http://allowed:8080/a?b HTTP/1.1\r\nHost: ALLOWED:8080\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n20\r\n and a chunk that is 32 bytes lo\r\n0\r\n\r\n"
      "PUT /c HTTP/1.1\r\nHost: allowed\r\nUser-Agent: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nabcd"
      "GET /d HTTP/1.0\r\nHost: allowed\r\nConnection: close\r\n\r\nGET / HTTP/3.0\r\n";
  g_autofree char *whole = test_http_read (input, strlen (input), TEST_HTTP_WHOLE);

  g_assert_cmpstr (whole, ==,
                   "POST /a?b allowed:8080 chunked [content-type: text/plain] <hello and a chunk that is 32 bytes lo>\n"
                   "PUT /c allowed continue 4 [user-agent: x] <abcd>\nGET /d allowed 1.0 close <>\n" OTHER_VERSION);

  for (guint i = 0; i < 5000; i++)
    {
      g_autofree char *text = test_http_read (input, strlen (input), g_test_rand_int_range (2, G_MAXINT32));

      g_assert_cmpstr (text, ==, whole);
    }

  /* And of what ends anywhere: never more than of the whole. */
  for (gsize size = 0; size < strlen (input); size++)
    {
      g_autofree char *text = test_http_read (input, size, TEST_HTTP_WHOLE);
      g_autofree char *single = test_http_read (input, size, TEST_HTTP_SINGLE);

      g_assert_cmpstr (text, ==, single);
      if (g_str_has_suffix (text, "…"))
        text[strlen (text) - strlen ("…")] = '\0';
      g_assert_true (g_str_has_prefix (whole, text));
    }
}

static void
test_methods (void)
{
  for (guint i = SANDBOX_HTTP_METHOD_GET; i <= SANDBOX_HTTP_METHOD_OPTIONS; i++)
    {
      g_autofree char *input = g_strdup_printf ("%s / HTTP/1.1\r\nHost: a\r\n\r\n", sandbox_http_method_to_string (i));
      g_autofree char *expected = g_strdup_printf ("%s / a <>\n", sandbox_http_method_to_string (i));

      check (input, strlen (input), expected);
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (tables); i++)
    {
      g_autofree char *path = g_strconcat ("/http-reader/", tables[i].name, NULL);

      g_test_add_data_func (path, &tables[i], test_table);
    }
  g_test_add_func ("/http-reader/case-131-bulk", test_bulk);
  g_test_add_func ("/http-reader/case-131-long", test_long);
  g_test_add_func ("/http-reader/pieces", test_pieces);
  g_test_add_func ("/http-reader/methods", test_methods);
  g_test_add_func ("/http-reader/answer-chunks", test_answer_chunks);

  return g_test_run ();
}
