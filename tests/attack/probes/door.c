/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client that says to a door of the gateway exactly what it is told to, at many connections if need be, and prints what
 * comes back: door unix:PATH, or door tcp:PORT. What it does comes from stdin, a line each; a connection is a number:
 *
 * open N               connects
 * send N SIZE          sends the SIZE bytes that follow the line
 * fill N COUNT         sends so many bytes
 * chunks N COUNT       sends so many chunks of one byte
 * end N                sends nothing more: half of it is closed
 * close N              closes it
 * sleep MS             waits
 * read N MS            prints what comes until the end, for so long at most
 * answer N MS          prints one answer: its head, and the body that the head announces
 * count N MS           is read, but prints only how much it was
 *
 * Each of the last three prints a line "N END SIZE TIME" and the bytes, with END one of "whole" (an answer), "end", "reset"
 * and "late", and TIME in milliseconds since the program began.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS 256
#define CHUNK 65536

static int   sockets[MAX_CONNECTIONS];
static char *answers[MAX_CONNECTIONS]; /* read beyond the end of an answer */
static long  n_answers[MAX_CONNECTIONS];

static void __attribute__ ((noreturn))
fail (const char *what)
{
  fprintf (stderr, "door: %s: %s\n", what, strerror (errno));
  _exit (120);
}

static long
now_ms (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);

  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int
open_door (const char *address)
{
  struct timeval     limit = { 10, 0 };
  struct sockaddr_un path = { .sun_family = AF_UNIX };
  struct sockaddr_in port = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  int                is_unix = strncmp (address, "unix:", 5) == 0;
  int                fd = socket (is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int                one = 1;

  if (fd < 0)
    fail ("socket");
  setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (is_unix)
    {
      strncpy (path.sun_path, address + 5, sizeof path.sun_path - 1);
      if (connect (fd, (struct sockaddr *) &path, sizeof path) < 0)
        fail (address);
    }
  else
    {
      port.sin_port = htons ((unsigned short) atoi (address + 4));
      setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      if (connect (fd, (struct sockaddr *) &port, sizeof port) < 0)
        fail (address);
    }

  return fd;
}

/* The other side may have closed it, which is no failure: what it said is read afterwards. */
static int
send_bytes (int         fd,
            const char *bytes,
            long        size)
{
  while (size > 0)
    {
      ssize_t sent = send (fd, bytes, (size_t) size, MSG_NOSIGNAL);

      if (sent < 0 && errno == EINTR)
        continue;
      if (sent < 0)
        return -1;
      bytes += sent;
      size -= sent;
    }

  return 0;
}

static void
send_many (int         fd,
           const char *unit,
           long        count)
{
  long  length = (long) strlen (unit);
  long  held = CHUNK / length;
  char *bytes = malloc ((size_t) (held * length));

  if (bytes == NULL)
    fail ("memory");
  for (long i = 0; i < held; i++)
    memcpy (bytes + i * length, unit, (size_t) length);
  while (count > 0)
    {
      long n = count < held ? count : held;

      if (send_bytes (fd, bytes, n * length) < 0)
        break;
      count -= n;
    }
  free (bytes);
}

/* How much of @bytes is one answer; 0 if it is not there yet, -1 if only the end of the connection tells. */
static long
find_answer (char *bytes,
             long  size)
{
  char *blank = memmem (bytes, (size_t) size, "\r\n\r\n", 4);
  char *field;
  long  head;
  int   status;

  if (blank == NULL)
    return 0;
  head = blank + 4 - bytes;
  status = size > 12 ? atoi (bytes + 9) : 0;
  if (status / 100 == 1 || status == 204 || status == 304)
    return head;
  *blank = '\0';
  field = strcasestr (bytes, "\r\nContent-Length:");
  if (field != NULL)
    {
      long length = atol (field + strlen ("\r\nContent-Length:"));

      *blank = '\r';
      return size >= head + length ? head + length : 0;
    }
  field = strcasestr (bytes, "\r\nTransfer-Encoding:");
  *blank = '\r';
  if (field == NULL)
    return -1;
  for (long at = head;;)
    {
      char *line = memmem (bytes + at, (size_t) (size - at), "\r\n", 2);
      long  length;

      if (line == NULL)
        return 0;
      length = strtol (bytes + at, NULL, 16);
      at = line + 2 - bytes + length + 2;
      if (at > size)
        return 0;
      if (length == 0)
        return at;
    }
}

static void
read_back (int  n,
           long limit_ms,
           int  one_answer,
           int  only_count,
           long start_ms)
{
  long        until = now_ms () + limit_ms;
  long        capacity = CHUNK;
  char       *bytes = malloc (CHUNK + 1);
  long        size = n_answers[n];
  long        total = size;
  long        whole = 0;
  const char *end = NULL;

  if (bytes == NULL)
    fail ("memory");
  if (size > 0)
    {
      bytes = realloc (bytes, (size_t) (size + CHUNK + 1));
      capacity = size + CHUNK;
      memcpy (bytes, answers[n], (size_t) size);
      n_answers[n] = 0;
    }
  while (end == NULL)
    {
      struct pollfd waiting = { .fd = sockets[n], .events = POLLIN };
      long          left = until - now_ms ();
      ssize_t       got;

      whole = one_answer && size > 0 ? find_answer (bytes, size) : 0;
      if (whole > 0)
        {
          end = "whole";
          break;
        }
      if (left <= 0 || poll (&waiting, 1, (int) left) == 0)
        {
          end = "late";
          break;
        }
      if (size == capacity)
        {
          capacity *= 2;
          bytes = realloc (bytes, (size_t) (capacity + 1));
          if (bytes == NULL)
            fail ("memory");
        }
      got = recv (sockets[n], bytes + size, (size_t) (capacity - size), 0);
      if (got < 0 && (errno == EINTR || errno == EAGAIN))
        continue;
      if (got <= 0)
        end = got == 0 ? "end" : "reset";
      else
        {
          total += got;
          size = only_count ? 0 : size + got;
        }
    }
  if (whole > 0 && whole < size)
    {
      answers[n] = realloc (answers[n], (size_t) (size - whole));
      n_answers[n] = size - whole;
      memcpy (answers[n], bytes + whole, (size_t) n_answers[n]);
      size = whole;
    }
  printf ("%d %s %ld %ld\n", n, end, only_count ? total : size, now_ms () - start_ms);
  if (!only_count)
    fwrite (bytes, 1, (size_t) size, stdout);
  fputs ("\n", stdout);
  fflush (stdout);
  free (bytes);
}

int
main (int    argc,
      char **argv)
{
  long  start_ms = now_ms ();
  char  word[32];
  char *bytes;
  int   n;
  long  number;

  if (argc != 2)
    return 123;
  while (scanf ("%31s", word) == 1)
    {
      if (strcmp (word, "sleep") == 0)
        {
          if (scanf ("%ld", &number) != 1)
            return 124;
          usleep ((useconds_t) number * 1000);
          continue;
        }
      if (scanf ("%d", &n) != 1 || n < 0 || n >= MAX_CONNECTIONS)
        return 124;
      if (strcmp (word, "open") == 0)
        sockets[n] = open_door (argv[1]);
      else if (strcmp (word, "close") == 0)
        close (sockets[n]);
      else if (strcmp (word, "end") == 0)
        shutdown (sockets[n], SHUT_WR);
      else if (scanf ("%ld", &number) != 1 || number < 0)
        return 124;
      else if (strcmp (word, "send") == 0)
        {
          bytes = malloc ((size_t) number + 1);
          if (bytes == NULL || getchar () != '\n' || fread (bytes, 1, (size_t) number, stdin) != (size_t) number)
            fail ("the bytes to send");
          send_bytes (sockets[n], bytes, number);
          free (bytes);
        }
      else if (strcmp (word, "fill") == 0)
        send_many (sockets[n], "a", number);
      else if (strcmp (word, "chunks") == 0)
        send_many (sockets[n], "1\r\na\r\n", number);
      else if (strcmp (word, "read") == 0)
        read_back (n, number, 0, 0, start_ms);
      else if (strcmp (word, "answer") == 0)
        read_back (n, number, 1, 0, start_ms);
      else if (strcmp (word, "count") == 0)
        read_back (n, number, 0, 1, start_ms);
      else
        return 125;
    }

  return 0;
}
