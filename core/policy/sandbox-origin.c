/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-origin-private.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "sandbox-error.h"

#define MAX_NAME_BYTES 253
#define MAX_LABEL_BYTES 63
#define MAX_ORIGIN_BYTES 300

G_STATIC_ASSERT (MAX_NAME_BYTES < sizeof (((SandboxOrigin *) NULL)->host));
G_STATIC_ASSERT (INET6_ADDRSTRLEN + 2 < sizeof (((SandboxOrigin *) NULL)->host));

/* The readers below return %NULL, or the words that follow "The origin …". */

static const char *
sandbox_origin_read_ipv6 (const char    *text,
                          gsize          length,
                          SandboxOrigin *origin)
{
  struct in6_addr address;
  char            buffer[INET6_ADDRSTRLEN] = "";

  if (length < sizeof buffer)
    memcpy (buffer, text, length);

  if (inet_pton (AF_INET6, buffer, &address) != 1)
    return "has no IPv6 address between its brackets";

  /* A second way to write an IPv4 address would be a second origin of the same host. */
  if (IN6_IS_ADDR_V4MAPPED (&address) || IN6_IS_ADDR_V4COMPAT (&address))
    return "has an IPv4 address that is written as IPv6";

  if (IN6_IS_ADDR_UNSPECIFIED (&address))
    return "has the address that stands for none";

  inet_ntop (AF_INET6, &address, buffer, sizeof buffer);
  g_snprintf (origin->host, sizeof origin->host, "[%s]", buffer);
  origin->loopback = IN6_IS_ADDR_LOOPBACK (&address);

  return NULL;
}

/* A resolver takes a name that ends in a number for an address in one of several old notations. Only
 * four plain decimal numbers are taken here. */
static gboolean
sandbox_origin_is_number (const char *label)
{
  if (label[0] == '0' && label[1] == 'x')
    {
      for (label += 2; g_ascii_isxdigit (*label); label++)
        ;
    }
  else
    {
      for (; g_ascii_isdigit (*label); label++)
        ;
    }

  return *label == '\0';
}

static const char *
sandbox_origin_read_ipv4 (SandboxOrigin *origin)
{
  struct in_addr address;
  char           buffer[INET_ADDRSTRLEN];
  guint8         network;

  if (inet_pton (AF_INET, origin->host, &address) != 1 ||
      inet_ntop (AF_INET, &address, buffer, sizeof buffer) == NULL ||
      strcmp (origin->host, buffer) != 0)
    return "has a number for its host that is not a plain IPv4 address";

  network = ntohl (address.s_addr) >> 24;

  if (network == 0)
    return "has the address that stands for none";

  origin->loopback = network == 127;

  return NULL;
}

static const char *
sandbox_origin_read_name (const char    *text,
                          gsize          length,
                          SandboxOrigin *origin)
{
  gsize start = 0;

  if (length == 0)
    return "has no host";

  if (length > MAX_NAME_BYTES)
    return "has a host name that is too long";

  if (memchr (text, '*', length) != NULL)
    return "has a wildcard; name each host";

  if (text[length - 1] == '.')
    return "has a host name that ends in a dot";

  for (gsize i = 0; i <= length; i++)
    {
      if (i < length && text[i] != '.')
        {
          if (!g_ascii_isalnum (text[i]) && text[i] != '-')
            return "has a character in its host name that is no letter, digit, hyphen or dot";

          origin->host[i] = g_ascii_tolower (text[i]);
          continue;
        }

      if (i == start || i - start > MAX_LABEL_BYTES || text[start] == '-' || text[i - 1] == '-')
        return "has a host name with a part that is empty, too long, or begins or ends with a hyphen";

      if (i < length)
        {
          origin->host[i] = '.';
          start = i + 1;
        }
    }

  origin->host[length] = '\0';

  return sandbox_origin_is_number (origin->host + start) ? sandbox_origin_read_ipv4 (origin) : NULL;
}

static const char *
sandbox_origin_read_port (const char    *text,
                          SandboxOrigin *origin)
{
  guint port = 0;
  gsize digits = 0;

  for (; g_ascii_isdigit (text[digits]) && digits < 6; digits++)
    port = port * 10 + g_ascii_digit_value (text[digits]);

  if (digits == 0 || text[digits] != '\0' || text[0] == '0' || port > G_MAXUINT16)
    return "has a port that is not a plain number from 1 to 65535";

  origin->port = port;

  return NULL;
}

static const char *
sandbox_origin_read (const char    *text,
                     SandboxOrigin *origin)
{
  const char *host;
  const char *end;
  const char *problem;

  if (strlen (text) > MAX_ORIGIN_BYTES)
    return "is too long";

  for (const char *at = text; *at != '\0'; at++)
    {
      if (*at <= ' ' || *at > '~')
        return "has a character that is not printable ASCII; international names are written in "
               "their xn-- form";
    }

  if (g_str_has_prefix (text, "https://"))
    origin->tls = TRUE;
  else if (!g_str_has_prefix (text, "http://"))
    return "does not begin with http:// or https://";

  host = text + (origin->tls ? strlen ("https://") : strlen ("http://"));

  if (strchr (host, '@') != NULL)
    return "has a user name";

  if (strchr (host, '?') != NULL)
    return "has a query";

  if (strchr (host, '#') != NULL)
    return "has a fragment";

  if (strchr (host, '/') != NULL)
    return "has a path; leave out the slash after the host too";

  if (host[0] == '[')
    {
      end = strchr (host, ']');

      if (end == NULL)
        return "has a bracket that is not closed";

      problem = sandbox_origin_read_ipv6 (host + 1, end - host - 1, origin);
      end++;
    }
  else
    {
      end = host + strcspn (host, ":");
      problem = sandbox_origin_read_name (host, end - host, origin);
    }

  if (problem != NULL)
    return problem;

  if (*end == ':')
    return sandbox_origin_read_port (end + 1, origin);

  if (*end != '\0')
    return "has something after its host that is no port";

  origin->port = origin->tls ? 443 : 80;

  return NULL;
}

gboolean
sandbox_origin_parse (const char    *text,
                      SandboxOrigin *origin,
                      GError       **error)
{
  SandboxOrigin parsed = { 0 };
  const char   *problem = sandbox_origin_read (text, &parsed);

  if (problem != NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "The origin %s", problem);
      return FALSE;
    }

  *origin = parsed;

  return TRUE;
}

char *
sandbox_origin_to_string (const SandboxOrigin *origin)
{
  const char *scheme = origin->tls ? "https" : "http";

  if (origin->port == (origin->tls ? 443 : 80))
    return g_strdup_printf ("%s://%s", scheme, origin->host);

  return g_strdup_printf ("%s://%s:%u", scheme, origin->host, origin->port);
}
