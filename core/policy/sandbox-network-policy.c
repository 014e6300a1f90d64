/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-network-policy-private.h"

#include "sandbox-enums.h"
#include "sandbox-error.h"
#include "sandbox-origin-private.h"

#define MAX_ORIGINS 256
#define MAX_HEADERS 64
#define MAX_HEADER_NAME_BYTES 256
#define MAX_HEADER_VALUE_BYTES 8192

/* One origin with what the gateway adds; immutable, so copies of a policy share it. */
typedef struct
{
  SandboxOrigin origin;
  GVariant     *headers; /* a{ss} in the order of their names, or NULL */
} SandboxNetworkRule;

/**
 * SandboxNetworkPolicy:
 *
 * What reaches the network from a sandbox.
 *
 * An allow list names origins: scheme, host and port, all exact. The commands have no network;
 * they send their requests to the gateway, which asks the origin in their place and adds the
 * headers of the policy. These headers are never seen inside.
 *
 * ```c
 * g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
 * const char *origin = "https://api.example.com";
 *
 * if (!sandbox_network_policy_add_origin (policy, origin, NULL, &error))
 *   return FALSE;
 * ```
 *
 * An allow list without an origin is the same as a policy that denies everything.
 *
 * Since: 1.0
 */
struct _SandboxNetworkPolicy
{
  GObject parent_instance;

  gboolean           frozen;
  SandboxNetworkMode mode;
  GPtrArray         *rules;
  guint64            max_request_bytes;
  guint64            max_response_bytes;
  guint              max_requests;
  guint              timeout_ms;
  gboolean           loopback_door;
  GTlsDatabase      *tls_database;
  gboolean           allow_private_addresses;
  gboolean           allow_plain_credentials;
};

typedef enum
{
  PROP_MODE = 1,
  PROP_MAX_REQUEST_BYTES,
  PROP_MAX_RESPONSE_BYTES,
  PROP_MAX_REQUESTS,
  PROP_TIMEOUT_MS,
  PROP_LOOPBACK_DOOR,
  PROP_TLS_DATABASE,
  PROP_ALLOW_PRIVATE_ADDRESSES,
  PROP_ALLOW_PLAIN_CREDENTIALS,
} SandboxNetworkPolicyProps;

static GParamSpec *properties[PROP_ALLOW_PLAIN_CREDENTIALS + 1];

G_DEFINE_FINAL_TYPE (SandboxNetworkPolicy, sandbox_network_policy, G_TYPE_OBJECT)

static void
sandbox_network_rule_clear (gpointer data)
{
  SandboxNetworkRule *self = data;

  g_clear_pointer (&self->headers, g_variant_unref);
}

static void
sandbox_network_rule_unref (gpointer data)
{
  g_atomic_rc_box_release_full (data, sandbox_network_rule_clear);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SandboxNetworkRule, sandbox_network_rule_unref)

static gboolean
sandbox_network_rule_has_plain_credentials (const SandboxNetworkRule *self)
{
  return self->headers != NULL && !self->origin.tls && !self->origin.loopback;
}

static void
sandbox_network_policy_finalize (GObject *object)
{
  SandboxNetworkPolicy *self = SANDBOX_NETWORK_POLICY (object);

  g_ptr_array_unref (self->rules);
  g_clear_object (&self->tls_database);

  G_OBJECT_CLASS (sandbox_network_policy_parent_class)->finalize (object);
}

static void
sandbox_network_policy_get_property (GObject    *object,
                                     guint       prop_id,
                                     GValue     *value,
                                     GParamSpec *pspec)
{
  SandboxNetworkPolicy *self = SANDBOX_NETWORK_POLICY (object);

  switch ((SandboxNetworkPolicyProps) prop_id)
    {
    case PROP_MODE:
      g_value_set_enum (value, sandbox_network_policy_get_mode (self));
      break;

    case PROP_MAX_REQUEST_BYTES:
      g_value_set_uint64 (value, sandbox_network_policy_get_max_request_bytes (self));
      break;

    case PROP_MAX_RESPONSE_BYTES:
      g_value_set_uint64 (value, sandbox_network_policy_get_max_response_bytes (self));
      break;

    case PROP_MAX_REQUESTS:
      g_value_set_uint (value, sandbox_network_policy_get_max_requests (self));
      break;

    case PROP_TIMEOUT_MS:
      g_value_set_uint (value, sandbox_network_policy_get_timeout_ms (self));
      break;

    case PROP_LOOPBACK_DOOR:
      g_value_set_boolean (value, sandbox_network_policy_get_loopback_door (self));
      break;

    case PROP_TLS_DATABASE:
      g_value_set_object (value, sandbox_network_policy_get_tls_database (self));
      break;

    case PROP_ALLOW_PRIVATE_ADDRESSES:
      g_value_set_boolean (value, sandbox_network_policy_get_allow_private_addresses (self));
      break;

    case PROP_ALLOW_PLAIN_CREDENTIALS:
      g_value_set_boolean (value, sandbox_network_policy_get_allow_plain_credentials (self));
      break;
    }
}

static void
sandbox_network_policy_set_property (GObject      *object,
                                     guint         prop_id,
                                     const GValue *value,
                                     GParamSpec   *pspec)
{
  SandboxNetworkPolicy *self = SANDBOX_NETWORK_POLICY (object);

  switch ((SandboxNetworkPolicyProps) prop_id)
    {
    case PROP_MODE:
      self->mode = g_value_get_enum (value);
      break;

    case PROP_MAX_REQUEST_BYTES:
      sandbox_network_policy_set_max_request_bytes (self, g_value_get_uint64 (value));
      break;

    case PROP_MAX_RESPONSE_BYTES:
      sandbox_network_policy_set_max_response_bytes (self, g_value_get_uint64 (value));
      break;

    case PROP_MAX_REQUESTS:
      sandbox_network_policy_set_max_requests (self, g_value_get_uint (value));
      break;

    case PROP_TIMEOUT_MS:
      sandbox_network_policy_set_timeout_ms (self, g_value_get_uint (value));
      break;

    case PROP_LOOPBACK_DOOR:
      sandbox_network_policy_set_loopback_door (self, g_value_get_boolean (value));
      break;

    case PROP_TLS_DATABASE:
      sandbox_network_policy_set_tls_database (self, g_value_get_object (value));
      break;

    case PROP_ALLOW_PRIVATE_ADDRESSES:
      sandbox_network_policy_set_allow_private_addresses (self, g_value_get_boolean (value));
      break;

    case PROP_ALLOW_PLAIN_CREDENTIALS:
      sandbox_network_policy_set_allow_plain_credentials (self, g_value_get_boolean (value));
      break;
    }
}

static void
sandbox_network_policy_class_init (SandboxNetworkPolicyClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_network_policy_finalize;
  object_class->get_property = sandbox_network_policy_get_property;
  object_class->set_property = sandbox_network_policy_set_property;

  /**
   * SandboxNetworkPolicy:mode:
   *
   * What the policy lets through. An allow list without an origin is the same as
   * %SANDBOX_NETWORK_MODE_DENY_ALL.
   *
   * The default is %SANDBOX_NETWORK_MODE_DENY_ALL; the constructors set it.
   *
   * Since: 1.0
   */
  properties[PROP_MODE] =
      g_param_spec_enum ("mode", NULL, NULL,
                         SANDBOX_TYPE_NETWORK_MODE, SANDBOX_NETWORK_MODE_DENY_ALL,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxNetworkPolicy:max-request-bytes:
   *
   * How many bytes the body of a request may have.
   *
   * The default is 1048576, 1 MiB.
   *
   * Since: 1.0
   */
  properties[PROP_MAX_REQUEST_BYTES] =
      g_param_spec_uint64 ("max-request-bytes", NULL, NULL,
                           0, G_MAXINT64, 1048576,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxNetworkPolicy:max-response-bytes:
   *
   * How many bytes the body of a response may have.
   *
   * The default is 1048576, 1 MiB.
   *
   * Since: 1.0
   */
  properties[PROP_MAX_RESPONSE_BYTES] =
      g_param_spec_uint64 ("max-response-bytes", NULL, NULL,
                           0, G_MAXINT64, 1048576,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxNetworkPolicy:max-requests:
   *
   * How many requests may be under way at the same time.
   *
   * The default is 16.
   *
   * Since: 1.0
   */
  properties[PROP_MAX_REQUESTS] =
      g_param_spec_uint ("max-requests", NULL, NULL,
                         1, 1024, 16,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxNetworkPolicy:timeout-ms:
   *
   * How long one request may take, in milliseconds.
   *
   * The default is 30000, half a minute.
   *
   * Since: 1.0
   */
  properties[PROP_TIMEOUT_MS] =
      g_param_spec_uint ("timeout-ms", NULL, NULL,
                         1, G_MAXINT, 30000,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxNetworkPolicy:loopback-door:
   *
   * Whether the gateway is to be reached at port 3128 of the loopback of the sandbox as
   * well, for programs that only know `http_proxy`. It sets `http_proxy` and `HTTP_PROXY`.
   *
   * The default is %FALSE.
   *
   * Since: 1.0
   */
  properties[PROP_LOOPBACK_DOOR] =
      g_param_spec_boolean ("loopback-door", NULL, NULL,
                            FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxNetworkPolicy:tls-database:
   *
   * The certificates that upstream servers are checked with, or %NULL for those of the
   * host.
   *
   * The object is shared, not copied.
   *
   * The default is %NULL.
   *
   * Since: 1.0
   */
  properties[PROP_TLS_DATABASE] =
      g_param_spec_object ("tls-database", NULL, NULL,
                           G_TYPE_TLS_DATABASE,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxNetworkPolicy:allow-private-addresses:
   *
   * Whether an origin may lead to an address that is not public: loopback, link-local and
   * private networks.
   *
   * The default is %FALSE.
   *
   * Since: 1.0
   */
  properties[PROP_ALLOW_PRIVATE_ADDRESSES] =
      g_param_spec_boolean ("allow-private-addresses", NULL, NULL,
                            FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxNetworkPolicy:allow-plain-credentials:
   *
   * Whether [method@Sandbox.NetworkPolicy.add_origin] takes headers for an `http` origin
   * that is not a loopback address.
   *
   * It cannot be taken back while the policy has such an origin.
   *
   * The default is %FALSE.
   *
   * Since: 1.0
   */
  properties[PROP_ALLOW_PLAIN_CREDENTIALS] =
      g_param_spec_boolean ("allow-plain-credentials", NULL, NULL,
                            FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_network_policy_init (SandboxNetworkPolicy *self)
{
  self->mode = SANDBOX_NETWORK_MODE_DENY_ALL;
  self->rules = g_ptr_array_new_with_free_func (sandbox_network_rule_unref);
  self->max_request_bytes = 1048576;
  self->max_response_bytes = 1048576;
  self->max_requests = 16;
  self->timeout_ms = 30000;
}

static gboolean
sandbox_network_policy_has_plain_credentials (SandboxNetworkPolicy *self)
{
  for (guint i = 0; i < self->rules->len; i++)
    {
      if (sandbox_network_rule_has_plain_credentials (g_ptr_array_index (self->rules, i)))
        return TRUE;
    }

  return FALSE;
}

/**
 * sandbox_network_policy_new_deny_all:
 *
 * Makes a policy that lets nothing through.
 *
 * Returns: (transfer full): the policy
 *
 * Since: 1.0
 */
SandboxNetworkPolicy *
sandbox_network_policy_new_deny_all (void)
{
  return g_object_new (SANDBOX_TYPE_NETWORK_POLICY, "mode", SANDBOX_NETWORK_MODE_DENY_ALL, NULL);
}

/**
 * sandbox_network_policy_new_allow_all:
 *
 * Makes a policy that lets everything through: commands use the network of the host, its loopback
 * included, and no header is added.
 *
 * That is more than the internet. A command reaches every service that listens on the host's loopback or in the
 * host's networks and, where the kernel's Landlock cannot keep it from them, the abstract Unix sockets of the host, where a
 * desktop or a message bus may listen; it is to them a program of the user that it runs as.
 *
 * Returns: (transfer full): the policy
 *
 * Since: 1.0
 */
SandboxNetworkPolicy *
sandbox_network_policy_new_allow_all (void)
{
  return g_object_new (SANDBOX_TYPE_NETWORK_POLICY, "mode", SANDBOX_NETWORK_MODE_ALLOW_ALL, NULL);
}

/**
 * sandbox_network_policy_new_allow_list:
 *
 * Makes a policy that lets HTTP requests through to the origins that are added to it, and nothing
 * until then.
 *
 * Returns: (transfer full): the policy
 *
 * Since: 1.0
 */
SandboxNetworkPolicy *
sandbox_network_policy_new_allow_list (void)
{
  return g_object_new (SANDBOX_TYPE_NETWORK_POLICY, "mode", SANDBOX_NETWORK_MODE_ALLOW_LIST, NULL);
}

/**
 * sandbox_network_policy_get_mode:
 * @self: a policy
 *
 * Gets what the policy lets through.
 *
 * Returns: the mode
 *
 * Since: 1.0
 */
SandboxNetworkMode
sandbox_network_policy_get_mode (SandboxNetworkPolicy *self)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), SANDBOX_NETWORK_MODE_DENY_ALL);

  return self->mode;
}

/**
 * sandbox_network_policy_get_max_request_bytes:
 * @self: a policy
 *
 * Gets the limit of a request body.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_network_policy_get_max_request_bytes (SandboxNetworkPolicy *self)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), 0);

  return self->max_request_bytes;
}

/**
 * sandbox_network_policy_set_max_request_bytes:
 * @self: a policy
 * @max_request_bytes: bytes, up to %G_MAXINT64
 *
 * Sets the limit of a request body. See [property@Sandbox.NetworkPolicy:max-request-bytes].
 *
 * Since: 1.0
 */
void
sandbox_network_policy_set_max_request_bytes (SandboxNetworkPolicy *self,
                                              guint64               max_request_bytes)
{
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (max_request_bytes <= G_MAXINT64);

  if (self->max_request_bytes == max_request_bytes)
    return;

  self->max_request_bytes = max_request_bytes;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MAX_REQUEST_BYTES]);
}

/**
 * sandbox_network_policy_get_max_response_bytes:
 * @self: a policy
 *
 * Gets the limit of a response body.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_network_policy_get_max_response_bytes (SandboxNetworkPolicy *self)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), 0);

  return self->max_response_bytes;
}

/**
 * sandbox_network_policy_set_max_response_bytes:
 * @self: a policy
 * @max_response_bytes: bytes, up to %G_MAXINT64
 *
 * Sets the limit of a response body. See
 * [property@Sandbox.NetworkPolicy:max-response-bytes].
 *
 * Since: 1.0
 */
void
sandbox_network_policy_set_max_response_bytes (SandboxNetworkPolicy *self,
                                               guint64               max_response_bytes)
{
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (max_response_bytes <= G_MAXINT64);

  if (self->max_response_bytes == max_response_bytes)
    return;

  self->max_response_bytes = max_response_bytes;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MAX_RESPONSE_BYTES]);
}

/**
 * sandbox_network_policy_get_max_requests:
 * @self: a policy
 *
 * Gets how many requests may be under way.
 *
 * Returns: a count
 *
 * Since: 1.0
 */
guint
sandbox_network_policy_get_max_requests (SandboxNetworkPolicy *self)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), 0);

  return self->max_requests;
}

/**
 * sandbox_network_policy_set_max_requests:
 * @self: a policy
 * @max_requests: a count, from 1 to 1024
 *
 * Sets how many requests may be under way. See
 * [property@Sandbox.NetworkPolicy:max-requests].
 *
 * Since: 1.0
 */
void
sandbox_network_policy_set_max_requests (SandboxNetworkPolicy *self,
                                         guint                 max_requests)
{
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (max_requests >= 1 && max_requests <= 1024);

  if (self->max_requests == max_requests)
    return;

  self->max_requests = max_requests;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MAX_REQUESTS]);
}

/**
 * sandbox_network_policy_get_timeout_ms:
 * @self: a policy
 *
 * Gets the time limit of a request.
 *
 * Returns: milliseconds
 *
 * Since: 1.0
 */
guint
sandbox_network_policy_get_timeout_ms (SandboxNetworkPolicy *self)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), 0);

  return self->timeout_ms;
}

/**
 * sandbox_network_policy_set_timeout_ms:
 * @self: a policy
 * @timeout_ms: milliseconds, from 1 to %G_MAXINT
 *
 * Sets the time limit of a request. See [property@Sandbox.NetworkPolicy:timeout-ms].
 *
 * Since: 1.0
 */
void
sandbox_network_policy_set_timeout_ms (SandboxNetworkPolicy *self,
                                       guint                 timeout_ms)
{
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (timeout_ms >= 1 && timeout_ms <= G_MAXINT);

  if (self->timeout_ms == timeout_ms)
    return;

  self->timeout_ms = timeout_ms;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TIMEOUT_MS]);
}

/**
 * sandbox_network_policy_get_loopback_door:
 * @self: a policy
 *
 * Gets whether the gateway listens on loopback too.
 *
 * Returns: whether it does
 *
 * Since: 1.0
 */
gboolean
sandbox_network_policy_get_loopback_door (SandboxNetworkPolicy *self)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), FALSE);

  return self->loopback_door;
}

/**
 * sandbox_network_policy_set_loopback_door:
 * @self: a policy
 * @loopback_door: whether it does
 *
 * Sets whether the gateway listens on loopback too. See
 * [property@Sandbox.NetworkPolicy:loopback-door].
 *
 * Since: 1.0
 */
void
sandbox_network_policy_set_loopback_door (SandboxNetworkPolicy *self,
                                          gboolean              loopback_door)
{
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (self));
  g_return_if_fail (!self->frozen);

  if (self->loopback_door == !!loopback_door)
    return;

  self->loopback_door = !!loopback_door;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LOOPBACK_DOOR]);
}

/**
 * sandbox_network_policy_get_tls_database:
 * @self: a policy
 *
 * Gets the certificates to trust.
 *
 * Returns: (transfer none) (nullable): the database
 *
 * Since: 1.0
 */
GTlsDatabase *
sandbox_network_policy_get_tls_database (SandboxNetworkPolicy *self)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), NULL);

  return self->tls_database;
}

/**
 * sandbox_network_policy_set_tls_database:
 * @self: a policy
 * @tls_database: (nullable): the database
 *
 * Sets the certificates to trust. See [property@Sandbox.NetworkPolicy:tls-database].
 *
 * Since: 1.0
 */
void
sandbox_network_policy_set_tls_database (SandboxNetworkPolicy *self,
                                         GTlsDatabase         *tls_database)
{
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (tls_database == NULL || G_IS_TLS_DATABASE (tls_database));

  if (!g_set_object (&self->tls_database, tls_database))
    return;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TLS_DATABASE]);
}

/**
 * sandbox_network_policy_get_allow_private_addresses:
 * @self: a policy
 *
 * Gets whether names may lead to private addresses.
 *
 * Returns: whether they may
 *
 * Since: 1.0
 */
gboolean
sandbox_network_policy_get_allow_private_addresses (SandboxNetworkPolicy *self)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), FALSE);

  return self->allow_private_addresses;
}

/**
 * sandbox_network_policy_set_allow_private_addresses:
 * @self: a policy
 * @allow_private_addresses: whether they may
 *
 * Sets whether names may lead to private addresses. See
 * [property@Sandbox.NetworkPolicy:allow-private-addresses].
 *
 * Since: 1.0
 */
void
sandbox_network_policy_set_allow_private_addresses (SandboxNetworkPolicy *self,
                                                    gboolean              allow_private_addresses)
{
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (self));
  g_return_if_fail (!self->frozen);

  if (self->allow_private_addresses == !!allow_private_addresses)
    return;

  self->allow_private_addresses = !!allow_private_addresses;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ALLOW_PRIVATE_ADDRESSES]);
}

/**
 * sandbox_network_policy_get_allow_plain_credentials:
 * @self: a policy
 *
 * Gets whether headers may travel in clear text.
 *
 * Returns: whether they may
 *
 * Since: 1.0
 */
gboolean
sandbox_network_policy_get_allow_plain_credentials (SandboxNetworkPolicy *self)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), FALSE);

  return self->allow_plain_credentials;
}

/**
 * sandbox_network_policy_set_allow_plain_credentials:
 * @self: a policy
 * @allow_plain_credentials: whether they may
 *
 * Sets whether headers may travel in clear text. See
 * [property@Sandbox.NetworkPolicy:allow-plain-credentials].
 *
 * Since: 1.0
 */
void
sandbox_network_policy_set_allow_plain_credentials (SandboxNetworkPolicy *self,
                                                    gboolean              allow_plain_credentials)
{
  g_return_if_fail (SANDBOX_IS_NETWORK_POLICY (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (allow_plain_credentials || !sandbox_network_policy_has_plain_credentials (self));

  if (self->allow_plain_credentials == !!allow_plain_credentials)
    return;

  self->allow_plain_credentials = !!allow_plain_credentials;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ALLOW_PLAIN_CREDENTIALS]);
}

/* Headers that frame a message or belong to one connection: the gateway writes them itself. */
static gboolean
sandbox_network_policy_is_reserved_header (const char *name)
{
  static const char *const reserved[] = {
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
  };

  for (guint i = 0; i < G_N_ELEMENTS (reserved); i++)
    {
      if (g_ascii_strcasecmp (name, reserved[i]) == 0)
        return TRUE;
    }

  return FALSE;
}

static gboolean
sandbox_network_policy_is_token (const char *name)
{
  if (name[0] == '\0')
    return FALSE;

  for (const char *at = name; *at != '\0'; at++)
    {
      if (!g_ascii_isalnum (*at) && strchr ("!#$%&'*+-.^_`|~", *at) == NULL)
        return FALSE;
    }

  return TRUE;
}

/* Printable ASCII, without a blank at either end. */
static gboolean
sandbox_network_policy_is_field_value (const char *value)
{
  gsize length = strlen (value);

  for (gsize i = 0; i < length; i++)
    {
      if (value[i] < ' ' || value[i] > '~')
        return FALSE;
    }

  return length == 0 || (value[0] != ' ' && value[length - 1] != ' ');
}

/* Messages tell the name of a header at the most, never its value. */
static gboolean
sandbox_network_policy_check_header (const char *name,
                                     const char *value,
                                     GError    **error)
{
  if (strlen (name) > MAX_HEADER_NAME_BYTES || strlen (value) > MAX_HEADER_VALUE_BYTES)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                   "A header has more than %d bytes in its name or %d in its value",
                   MAX_HEADER_NAME_BYTES, MAX_HEADER_VALUE_BYTES);
      return FALSE;
    }

  if (!sandbox_network_policy_is_token (name))
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                           "A header has a name that HTTP does not allow");
      return FALSE;
    }

  if (sandbox_network_policy_is_reserved_header (name))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "The header “%s” is written by the gateway and cannot be set", name);
      return FALSE;
    }

  if (!sandbox_network_policy_is_field_value (value))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "The header “%s” has a value that is not printable ASCII, or begins or ends with "
                   "a blank",
                   name);
      return FALSE;
    }

  return TRUE;
}

static int
sandbox_network_policy_compare_names_cb (gconstpointer a,
                                         gconstpointer b)
{
  return g_ascii_strcasecmp (*(const char *const *) a, *(const char *const *) b);
}

/* Sets @sorted to the headers in the order of their names, or to NULL when there are none. */
static gboolean
sandbox_network_policy_check_headers (GVariant  *headers,
                                      GVariant **sorted,
                                      GError   **error)
{
  typedef struct
  {
    const char *name;
    const char *value;
  } Field;
  g_autoptr (GArray) fields = g_array_new (FALSE, FALSE, sizeof (Field));
  GVariantBuilder builder;
  GVariantIter    iter;
  Field           field;

  if (!g_variant_is_of_type (headers, G_VARIANT_TYPE ("a{ss}")))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "Headers have the type “a{ss}”, not “%s”", g_variant_get_type_string (headers));
      return FALSE;
    }

  if (g_variant_n_children (headers) > MAX_HEADERS)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                   "There are %" G_GSIZE_FORMAT " headers, the limit is %d",
                   g_variant_n_children (headers), MAX_HEADERS);
      return FALSE;
    }

  g_variant_iter_init (&iter, headers);

  while (g_variant_iter_next (&iter, "{&s&s}", &field.name, &field.value))
    {
      if (!sandbox_network_policy_check_header (field.name, field.value, error))
        return FALSE;

      g_array_append_val (fields, field);
    }

  if (fields->len == 0)
    {
      *sorted = NULL;
      return TRUE;
    }

  g_array_sort (fields, sandbox_network_policy_compare_names_cb);

  for (guint i = 1; i < fields->len; i++)
    {
      const char *name = g_array_index (fields, Field, i).name;

      if (g_ascii_strcasecmp (g_array_index (fields, Field, i - 1).name, name) == 0)
        {
          g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                       "The header “%s” is there twice", name);
          return FALSE;
        }
    }

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));

  for (guint i = 0; i < fields->len; i++)
    {
      const Field *next = &g_array_index (fields, Field, i);

      g_variant_builder_add (&builder, "{ss}", next->name, next->value);
    }

  *sorted = g_variant_ref_sink (g_variant_builder_end (&builder));

  return TRUE;
}

static SandboxNetworkRule *
sandbox_network_policy_lookup (SandboxNetworkPolicy *self,
                               const char           *host)
{
  for (guint i = 0; i < self->rules->len; i++)
    {
      SandboxNetworkRule *rule = g_ptr_array_index (self->rules, i);

      if (strcmp (rule->origin.host, host) == 0)
        return rule;
    }

  return NULL;
}

/**
 * sandbox_network_policy_add_origin:
 * @self: a policy made by [ctor@Sandbox.NetworkPolicy.new_allow_list]
 * @origin: `http` or `https` in lower case, a host and a port unless it is that of the scheme, such as
 *   `https://api.example.com` or `http://127.0.0.1:8080`
 * @headers: (nullable): names and values, of type `a{ss}`, that the gateway adds to each request, or
 *   %NULL for none; a floating one is consumed
 * @error: return location for an error
 *
 * Lets requests through to one origin.
 *
 * The host is a name or an address: letters, digits and hyphens, an international name in its
 * `xn--` form, an IPv4 address with four plain numbers, an IPv6 address in brackets. A user, a path
 * (a single slash too), a query, a fragment, a wildcard and a dot at the end are refused, and so
 * is a second origin of the same host, on another port or scheme too.
 *
 * At most 64 headers: each with a name and a value of printable ASCII without a blank at its ends, of
 * at most 256 and 8192 bytes. Headers that frame the message or belong to the connection are
 * refused. To change headers, make a new policy.
 *
 * On an error nothing has changed: %SANDBOX_ERROR_INVALID for an origin or header that is not as
 * described, or a policy that is no allow list; %SANDBOX_ERROR_EXISTS for another origin of the
 * host; %SANDBOX_ERROR_LIMIT for more than 256 origins and for headers beyond their bounds;
 * %SANDBOX_ERROR_NETWORK_DENIED for headers that would travel in clear text, unless
 * [property@Sandbox.NetworkPolicy:allow-plain-credentials] is set or the host is a loopback address.
 *
 * Returns: whether the origin was added
 *
 * Since: 1.0
 */
gboolean
sandbox_network_policy_add_origin (SandboxNetworkPolicy *self,
                                   const char           *origin,
                                   GVariant             *headers,
                                   GError              **error)
{
  g_autoptr (GVariant) taken = headers != NULL ? g_variant_ref_sink (headers) : NULL;
  g_autoptr (SandboxNetworkRule) rule = NULL;

  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), FALSE);
  g_return_val_if_fail (!self->frozen, FALSE);
  g_return_val_if_fail (origin != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (self->mode != SANDBOX_NETWORK_MODE_ALLOW_LIST)
    {
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                           "Only an allow list has origins");
      return FALSE;
    }

  rule = g_atomic_rc_box_new0 (SandboxNetworkRule);

  if (!sandbox_origin_parse (origin, &rule->origin, error) ||
      (taken != NULL && !sandbox_network_policy_check_headers (taken, &rule->headers, error)))
    return FALSE;

  if (sandbox_network_rule_has_plain_credentials (rule) && !self->allow_plain_credentials)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED,
                   "Headers for “%s” would travel in clear text; use https or allow plain credentials",
                   rule->origin.host);
      return FALSE;
    }

  if (sandbox_network_policy_lookup (self, rule->origin.host) != NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS,
                   "The policy has an origin of the host “%s” already", rule->origin.host);
      return FALSE;
    }

  if (self->rules->len >= MAX_ORIGINS)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                   "The policy has %d origins, more are not allowed", MAX_ORIGINS);
      return FALSE;
    }

  g_ptr_array_add (self->rules, g_steal_pointer (&rule));

  return TRUE;
}

/**
 * sandbox_network_policy_dup_origins:
 * @self: a policy
 *
 * Gets the origins of an allow list, in the order in which they were added and in canonical form:
 * lower case, without a port that is that of the scheme.
 *
 * Returns: (transfer full) (array zero-terminated=1): the origins, at least the final %NULL
 *
 * Since: 1.0
 */
char **
sandbox_network_policy_dup_origins (SandboxNetworkPolicy *self)
{
  char **origins;

  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), NULL);

  origins = g_new0 (char *, self->rules->len + 1);

  for (guint i = 0; i < self->rules->len; i++)
    {
      const SandboxNetworkRule *rule = g_ptr_array_index (self->rules, i);

      origins[i] = sandbox_origin_to_string (&rule->origin);
    }

  return origins;
}

/**
 * sandbox_network_policy_get_headers:
 * @self: a policy
 * @origin: one of [method@Sandbox.NetworkPolicy.dup_origins]
 *
 * Gets what is added to each request to an origin: for gateways. These are secrets.
 *
 * Returns: (transfer none) (nullable): an `a{ss}` of names and values, or %NULL if there are none
 *
 * Since: 1.0
 */
GVariant *
sandbox_network_policy_get_headers (SandboxNetworkPolicy *self,
                                    const char           *origin)
{
  const SandboxNetworkRule *rule = NULL;
  SandboxOrigin             parsed;

  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), NULL);
  g_return_val_if_fail (origin != NULL, NULL);

  if (!sandbox_origin_parse (origin, &parsed, NULL))
    return NULL;
  rule = sandbox_network_policy_lookup (self, parsed.host);

  return rule != NULL && rule->origin.tls == parsed.tls && rule->origin.port == parsed.port ? rule->headers : NULL;
}

SandboxNetworkPolicy *
sandbox_network_policy_freeze (SandboxNetworkPolicy *self)
{
  SandboxNetworkPolicy *copy;

  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), NULL);

  if (self->frozen)
    return g_object_ref (self);

  copy = g_object_new (SANDBOX_TYPE_NETWORK_POLICY, "mode", self->mode, NULL);

  for (guint i = 0; i < self->rules->len; i++)
    g_ptr_array_add (copy->rules, g_atomic_rc_box_acquire (g_ptr_array_index (self->rules, i)));

  copy->max_request_bytes = self->max_request_bytes;
  copy->max_response_bytes = self->max_response_bytes;
  copy->max_requests = self->max_requests;
  copy->timeout_ms = self->timeout_ms;
  copy->loopback_door = self->loopback_door;
  g_set_object (&copy->tls_database, self->tls_database);
  copy->allow_private_addresses = self->allow_private_addresses;
  copy->allow_plain_credentials = self->allow_plain_credentials;
  copy->frozen = TRUE;

  return copy;
}

gboolean
sandbox_network_policy_lists_origins (SandboxNetworkPolicy *self)
{
  return self->mode == SANDBOX_NETWORK_MODE_ALLOW_LIST && self->rules->len > 0;
}

static gboolean
sandbox_network_rule_equal (const SandboxNetworkRule *self,
                            const SandboxNetworkRule *other)
{
  if (self->origin.tls != other->origin.tls || self->origin.port != other->origin.port ||
      strcmp (self->origin.host, other->origin.host) != 0)
    return FALSE;

  if (self->headers == NULL || other->headers == NULL)
    return self->headers == other->headers;

  return g_variant_equal (self->headers, other->headers);
}

gboolean
sandbox_network_policy_equal (SandboxNetworkPolicy *self,
                              SandboxNetworkPolicy *other)
{
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (self), FALSE);
  g_return_val_if_fail (SANDBOX_IS_NETWORK_POLICY (other), FALSE);

  if (self->mode != other->mode ||
      self->rules->len != other->rules->len ||
      self->max_request_bytes != other->max_request_bytes ||
      self->max_response_bytes != other->max_response_bytes ||
      self->max_requests != other->max_requests ||
      self->timeout_ms != other->timeout_ms ||
      self->loopback_door != other->loopback_door ||
      self->tls_database != other->tls_database ||
      self->allow_private_addresses != other->allow_private_addresses ||
      self->allow_plain_credentials != other->allow_plain_credentials)
    return FALSE;

  /* The order in which they were added makes no difference: a host has one origin. */
  for (guint i = 0; i < self->rules->len; i++)
    {
      const SandboxNetworkRule *rule = g_ptr_array_index (self->rules, i);
      const SandboxNetworkRule *twin = sandbox_network_policy_lookup (other, rule->origin.host);

      if (twin == NULL || !sandbox_network_rule_equal (rule, twin))
        return FALSE;
    }

  return TRUE;
}
