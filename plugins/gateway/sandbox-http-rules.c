/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-rules.h"

#include "sandbox-http-address.h"

#include <string.h>

/* A connection to an origin that nobody uses is closed after so long. */
#define IDLE_SECONDS 15

struct _SandboxHttpOrigin
{
  SandboxHttpRules *rules;   /* not owned */
  char             *name;    /* the policy's */
  GUri             *uri;     /* without a path */
  GVariant         *headers; /* nullable */
  GPtrArray        *sessions;
  GPtrArray        *idle; /* those of them that no exchange has; the one used last is the last */
};

struct _SandboxHttpRules
{
  gatomicrefcount       ref_count;
  SandboxNetworkPolicy *policy;
  GPtrArray            *origins;
  GHashTable           *by_host; /* each spelling that names one */
};

static void
sandbox_http_origin_end (SandboxHttpOrigin *self)
{
  for (guint i = 0; i < self->sessions->len; i++)
    soup_session_abort (g_ptr_array_index (self->sessions, i));
  g_ptr_array_set_size (self->idle, 0);
  g_ptr_array_set_size (self->sessions, 0);
}

static void
sandbox_http_origin_free (gpointer data)
{
  SandboxHttpOrigin *self = data;

  sandbox_http_origin_end (self);
  g_clear_pointer (&self->idle, g_ptr_array_unref);
  g_clear_pointer (&self->sessions, g_ptr_array_unref);
  g_clear_pointer (&self->headers, g_variant_unref);
  g_clear_pointer (&self->uri, g_uri_unref);
  g_clear_pointer (&self->name, g_free);
  g_free (self);
}

const char *
sandbox_http_origin_get_name (SandboxHttpOrigin *self)
{
  return self->name;
}

static guint16
sandbox_http_origin_get_port (SandboxHttpOrigin *self,
                              gboolean          *is_default)
{
  const guint16 usual = strcmp (g_uri_get_scheme (self->uri), "https") == 0 ? 443 : 80;
  const int     port = g_uri_get_port (self->uri);

  *is_default = port <= 0 || port == usual;

  return *is_default ? usual : (guint16) port;
}

/* The port may be said if it is that of the scheme, and must be if it is not. */
static void
sandbox_http_rules_add_spellings (SandboxHttpRules  *self,
                                  SandboxHttpOrigin *origin)
{
  const char      *host = g_uri_get_host (origin->uri);
  const gboolean   is_ipv6 = strchr (host, ':') != NULL;
  g_autofree char *name = g_strconcat (is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", NULL);
  gboolean         is_default = FALSE;
  const guint16    port = sandbox_http_origin_get_port (origin, &is_default);

  g_hash_table_insert (self->by_host, g_strdup_printf ("%s:%u", name, port), origin);
  if (is_default)
    g_hash_table_insert (self->by_host, g_steal_pointer (&name), origin);
}

SandboxHttpRules *
sandbox_http_rules_new (SandboxNetworkPolicy *policy,
                        GError              **error)
{
  g_autoptr (SandboxHttpRules) self = g_new0 (SandboxHttpRules, 1);
  g_auto (GStrv) names = NULL;

  g_atomic_ref_count_init (&self->ref_count);
  self->policy = g_object_ref (policy);
  self->origins = g_ptr_array_new_with_free_func (sandbox_http_origin_free);
  self->by_host = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (sandbox_network_policy_get_mode (policy) != SANDBOX_NETWORK_MODE_ALLOW_LIST)
    return g_steal_pointer (&self);

  names = sandbox_network_policy_dup_origins (policy);
  for (guint i = 0; names[i] != NULL; i++)
    {
      SandboxHttpOrigin *origin = g_new0 (SandboxHttpOrigin, 1);
      GVariant          *headers = sandbox_network_policy_get_headers (policy, names[i]);

      g_ptr_array_add (self->origins, origin);
      origin->sessions = g_ptr_array_new_with_free_func (g_object_unref);
      origin->idle = g_ptr_array_new ();
      origin->rules = self;
      origin->name = g_strdup (names[i]);
      origin->headers = headers != NULL ? g_variant_ref (headers) : NULL;
      origin->uri = g_uri_parse (names[i], SOUP_HTTP_URI_FLAGS, error);
      if (origin->uri == NULL)
        return NULL;
      if (strcmp (g_uri_get_scheme (origin->uri), "https") == 0 && !g_tls_backend_supports_tls (g_tls_backend_get_default ()))
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED,
                       "%s cannot be reached: this host has no TLS for GLib. Install glib-networking (apt install glib-networking, dnf install glib-networking)",
                       origin->name);
          return NULL;
        }
      sandbox_http_rules_add_spellings (self, origin);
    }

  return g_steal_pointer (&self);
}

SandboxHttpRules *
sandbox_http_rules_ref (SandboxHttpRules *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_http_rules_unref (SandboxHttpRules *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_clear_pointer (&self->by_host, g_hash_table_unref);
  g_clear_pointer (&self->origins, g_ptr_array_unref);
  g_clear_object (&self->policy);
  g_free (self);
}

void
sandbox_http_rules_end (SandboxHttpRules *self)
{
  g_hash_table_remove_all (self->by_host);
  for (guint i = 0; i < self->origins->len; i++)
    sandbox_http_origin_end (g_ptr_array_index (self->origins, i));
}

SandboxNetworkPolicy *
sandbox_http_rules_get_policy (SandboxHttpRules *self)
{
  return self->policy;
}

SandboxHttpOrigin *
sandbox_http_rules_lookup (SandboxHttpRules *self,
                           const char       *host)
{
  return g_hash_table_lookup (self->by_host, host);
}

SoupMessage *
sandbox_http_origin_new_message (SandboxHttpOrigin *self,
                                 const char        *method,
                                 const char        *target)
{
  const char      *query = strchr (target, '?');
  g_autofree char *path = query != NULL ? g_strndup (target, (gsize) (query - target)) : g_strdup (target);
  g_autoptr (GUri) uri = NULL;
  SoupMessage *message = NULL;

  uri = g_uri_build (SOUP_HTTP_URI_FLAGS, g_uri_get_scheme (self->uri), NULL, g_uri_get_host (self->uri), g_uri_get_port (self->uri),
                     path, query != NULL ? query + 1 : NULL, NULL);
  message = soup_message_new_from_uri (method, uri);
  soup_message_add_flags (message, SOUP_MESSAGE_NO_REDIRECT);
  /* No password is asked for. In a session without the feature, libsoup would read the bodies of 401 and 407 into memory. */
  soup_message_disable_feature (message, SOUP_TYPE_AUTH_MANAGER);

  return message;
}

void
sandbox_http_origin_add_headers (SandboxHttpOrigin  *self,
                                 SoupMessageHeaders *headers)
{
  GVariantIter iter;
  const char  *name = NULL;
  const char  *value = NULL;

  /* What is encoded could neither be looked at by the guest's limits nor be told from what is not. */
  soup_message_headers_replace (headers, "Accept-Encoding", "identity");
  if (self->headers == NULL)
    return;

  g_variant_iter_init (&iter, self->headers);
  while (g_variant_iter_next (&iter, "{&s&s}", &name, &value))
    soup_message_headers_replace (headers, name, value);
}

static SoupSession *
sandbox_http_origin_new_session (SandboxHttpOrigin *self)
{
  SandboxNetworkPolicy *policy = self->rules->policy;
  SoupSession          *session = NULL;
  g_autoptr (GSocketConnectable) address = NULL;
  gboolean is_default = FALSE;

  address = sandbox_http_address_new (g_uri_get_host (self->uri), sandbox_http_origin_get_port (self, &is_default),
                                      sandbox_network_policy_get_allow_private_addresses (policy));
  session = soup_session_new_with_options ("max-conns", 1,
                                           "max-conns-per-host", 1,
                                           "remote-connectable", address,
                                           "timeout", 0,
                                           "idle-timeout", IDLE_SECONDS,
                                           NULL);
  soup_session_set_proxy_resolver (session, NULL);
  if (sandbox_network_policy_get_tls_database (policy) != NULL)
    soup_session_set_tls_database (session, sandbox_network_policy_get_tls_database (policy));
  /* What is said is passed on as it is. */
  soup_session_remove_feature_by_type (session, SOUP_TYPE_CONTENT_DECODER);
  g_ptr_array_add (self->sessions, session);

  return session;
}

/* The socket of a session's connection, by this name */
#define SOCKET_DATA "sandbox-http-socket"

void
sandbox_http_origin_set_socket (SoupSession *session,
                                GSocket     *socket)
{
  g_object_set_data_full (G_OBJECT (session), SOCKET_DATA, g_object_ref (socket), g_object_unref);
}

/* Nothing is to be read of a connection that is at rest, unless its end. */
static gboolean
session_is_open (SoupSession *session)
{
  GSocket *socket = g_object_get_data (G_OBJECT (session), SOCKET_DATA);

  return socket != NULL && !g_socket_is_closed (socket) && g_socket_condition_check (socket, G_IO_IN | G_IO_HUP | G_IO_ERR) == 0;
}

/* A session looks at each of its connections and requests whenever one of them gets on. So each has one, and the requests that
 * come one after the other get the same, whose connection is still open. */
SoupSession *
sandbox_http_origin_take_session (SandboxHttpOrigin *self,
                                  gboolean          *is_open)
{
  for (guint i = self->idle->len; i > 0; i--)
    {
      *is_open = session_is_open (g_ptr_array_index (self->idle, i - 1));
      if (*is_open)
        return g_object_ref (g_ptr_array_steal_index (self->idle, i - 1));
    }

  *is_open = FALSE;
  if (self->idle->len > 0)
    return g_object_ref (g_ptr_array_steal_index (self->idle, self->idle->len - 1));

  return g_object_ref (sandbox_http_origin_new_session (self));
}

void
sandbox_http_origin_give_back_session (SandboxHttpOrigin *self,
                                       SoupSession       *session_taken)
{
  g_autoptr (SoupSession) session = session_taken;

  /* After the end there is none. */
  if (self->sessions->len == 0)
    return;

  if (self->idle->len < sandbox_network_policy_get_max_requests (self->rules->policy))
    g_ptr_array_add (self->idle, session);
  else
    g_ptr_array_remove_fast (self->sessions, session);
}
