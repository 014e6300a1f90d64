/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-address.h"

#include <sandbox-glib.h>
#include <string.h>

/* ---- Classes of addresses ---- */

typedef struct
{
  guint8 prefix[16];
  guint8 bits;
} Network;

/* What the registries of special-purpose addresses of the IANA do not call globally reachable, and multicast. */
static const Network special_ipv4[] = {
  { { 0 }, 8 },             /* this network */
  { { 10 }, 8 },            /* private */
  { { 100, 64 }, 10 },      /* shared by customers of a provider */
  { { 127 }, 8 },           /* loopback */
  { { 169, 254 }, 16 },     /* link-local: also where clouds keep their secrets */
  { { 172, 16 }, 12 },      /* private */
  { { 192, 0, 0 }, 24 },    /* protocols */
  { { 192, 0, 2 }, 24 },    /* documentation */
  { { 192, 88, 99 }, 24 },  /* relays to IPv6 */
  { { 192, 168 }, 16 },     /* private */
  { { 198, 18 }, 15 },      /* benchmarks */
  { { 198, 51, 100 }, 24 }, /* documentation */
  { { 203, 0, 113 }, 24 },  /* documentation */
  { { 224 }, 3 },           /* multicast, reserved, broadcast */
};

/* Of IPv6 only 2000::/3 is in use; the rest of the table is what is special in there. */
static const Network global_ipv6 = { { 0x20 }, 3 };

static const Network special_ipv6[] = {
  { { 0x20, 0x01, 0x00 }, 23 },       /* protocols: Teredo, ORCHID, benchmarks */
  { { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation */
  { { 0x20, 0x02 }, 16 },             /* 6to4: an IPv4 address inside */
  { { 0x3f, 0xff, 0x00 }, 20 },       /* documentation */
};

static gboolean
network_has (const Network *self,
             const guint8  *bytes)
{
  const guint whole = self->bits / 8;
  const guint mask = (0xff00 >> (self->bits % 8)) & 0xff;

  return memcmp (self->prefix, bytes, whole) == 0 &&
         (self->bits % 8 == 0 || ((self->prefix[whole] ^ bytes[whole]) & mask) == 0);
}

static gboolean
is_special (const Network *networks,
            guint          n_networks,
            const guint8  *bytes)
{
  for (guint i = 0; i < n_networks; i++)
    {
      if (network_has (&networks[i], bytes))
        return TRUE;
    }

  return FALSE;
}

gboolean
sandbox_http_address_is_public (GInetAddress *address)
{
  const guint8 *bytes = g_inet_address_to_bytes (address);

  switch (g_inet_address_get_family (address))
    {
    case G_SOCKET_FAMILY_IPV4:
      return !is_special (special_ipv4, G_N_ELEMENTS (special_ipv4), bytes);

    case G_SOCKET_FAMILY_IPV6:
      return network_has (&global_ipv6, bytes) && !is_special (special_ipv6, G_N_ELEMENTS (special_ipv6), bytes);

    case G_SOCKET_FAMILY_INVALID:
    case G_SOCKET_FAMILY_UNIX:
    default:
      return FALSE;
    }
}

/* ---- What hands out those that may be dialled ---- */

#define SANDBOX_HTTP_TYPE_ENUMERATOR (sandbox_http_enumerator_get_type ())
G_DECLARE_FINAL_TYPE (SandboxHttpEnumerator, sandbox_http_enumerator, SANDBOX_HTTP, ENUMERATOR, GSocketAddressEnumerator)

struct _SandboxHttpEnumerator
{
  GSocketAddressEnumerator parent_instance;

  GSocketAddressEnumerator *all;
  char                     *host;
  gboolean                  any_handed_out;
  gboolean                  any_refused;
};

G_DEFINE_DYNAMIC_TYPE_EXTENDED (SandboxHttpEnumerator, sandbox_http_enumerator, G_TYPE_SOCKET_ADDRESS_ENUMERATOR, G_TYPE_FLAG_FINAL, {})

/* Looks at what was found. FALSE: another one is to be asked for. */
static gboolean
sandbox_http_enumerator_judge (SandboxHttpEnumerator *self,
                               GSocketAddress       **address,
                               GError               **error)
{
  if (*address == NULL)
    {
      if (!self->any_handed_out && self->any_refused && error != NULL && *error == NULL)
        g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED,
                     "%s leads to no public address, and the policy does not allow private ones", self->host);
      return TRUE;
    }

  if (G_IS_INET_SOCKET_ADDRESS (*address) &&
      sandbox_http_address_is_public (g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (*address))))
    {
      self->any_handed_out = TRUE;
      return TRUE;
    }

  self->any_refused = TRUE;
  g_clear_object (address);

  return FALSE;
}

static GSocketAddress *
sandbox_http_enumerator_next (GSocketAddressEnumerator *enumerator,
                              GCancellable             *cancellable,
                              GError                  **error)
{
  SandboxHttpEnumerator *self = SANDBOX_HTTP_ENUMERATOR (enumerator);
  GSocketAddress        *address = NULL;
  GError                *reason = NULL;

  do
    address = g_socket_address_enumerator_next (self->all, cancellable, &reason);
  while (!sandbox_http_enumerator_judge (self, &address, &reason));

  if (reason != NULL)
    g_propagate_error (error, reason);

  return address;
}

static void
sandbox_http_enumerator_next_cb (GObject      *source,
                                 GAsyncResult *result,
                                 gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  SandboxHttpEnumerator *self = g_task_get_source_object (task);
  GSocketAddress        *address = NULL;
  GError                *error = NULL;

  address = g_socket_address_enumerator_next_finish (self->all, result, &error);
  if (!sandbox_http_enumerator_judge (self, &address, &error))
    {
      g_socket_address_enumerator_next_async (self->all, g_task_get_cancellable (task), sandbox_http_enumerator_next_cb, g_object_ref (task));
      return;
    }

  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, address, g_object_unref);
}

static void
sandbox_http_enumerator_next_async (GSocketAddressEnumerator *enumerator,
                                    GCancellable             *cancellable,
                                    GAsyncReadyCallback       callback,
                                    gpointer                  user_data)
{
  SandboxHttpEnumerator *self = SANDBOX_HTTP_ENUMERATOR (enumerator);
  GTask                 *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, sandbox_http_enumerator_next_async);
  g_socket_address_enumerator_next_async (self->all, cancellable, sandbox_http_enumerator_next_cb, task);
}

static GSocketAddress *
sandbox_http_enumerator_next_finish (GSocketAddressEnumerator *enumerator,
                                     GAsyncResult             *result,
                                     GError                  **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
sandbox_http_enumerator_finalize (GObject *object)
{
  SandboxHttpEnumerator *self = SANDBOX_HTTP_ENUMERATOR (object);

  g_clear_object (&self->all);
  g_clear_pointer (&self->host, g_free);

  G_OBJECT_CLASS (sandbox_http_enumerator_parent_class)->finalize (object);
}

static void
sandbox_http_enumerator_class_init (SandboxHttpEnumeratorClass *klass)
{
  GSocketAddressEnumeratorClass *enumerator_class = G_SOCKET_ADDRESS_ENUMERATOR_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = sandbox_http_enumerator_finalize;
  enumerator_class->next = sandbox_http_enumerator_next;
  enumerator_class->next_async = sandbox_http_enumerator_next_async;
  enumerator_class->next_finish = sandbox_http_enumerator_next_finish;
}

static void
sandbox_http_enumerator_class_finalize (SandboxHttpEnumeratorClass *klass)
{
}

static void
sandbox_http_enumerator_init (SandboxHttpEnumerator *self)
{
}

/* ---- The address ---- */

struct _SandboxHttpAddress
{
  GNetworkAddress parent_instance;

  gboolean any_address;
};

static void sandbox_http_address_iface_init (GSocketConnectableIface *iface);

/* As in the drivers: what a type of a module changes of an interface of its parent is added statically. */
static const GInterfaceInfo address_info = { (GInterfaceInitFunc) sandbox_http_address_iface_init, NULL, NULL };

/* clang-format off */
G_DEFINE_DYNAMIC_TYPE_EXTENDED (SandboxHttpAddress, sandbox_http_address, G_TYPE_NETWORK_ADDRESS, G_TYPE_FLAG_FINAL,
                                g_type_add_interface_static (g_define_type_id, G_TYPE_SOCKET_CONNECTABLE, &address_info))
/* clang-format on */

static GSocketAddressEnumerator *
sandbox_http_address_enumerate (GSocketConnectable *connectable)
{
  SandboxHttpAddress *self = SANDBOX_HTTP_ADDRESS (connectable);
  GNetworkAddress    *name = G_NETWORK_ADDRESS (connectable);
  g_autoptr (GSocketConnectable) fresh = NULL;
  SandboxHttpEnumerator *enumerator = NULL;

  /* One of its own, as it would keep what it has found */
  fresh = g_network_address_new (g_network_address_get_hostname (name), g_network_address_get_port (name));
  if (self->any_address)
    return g_socket_connectable_enumerate (fresh);

  enumerator = g_object_new (SANDBOX_HTTP_TYPE_ENUMERATOR, NULL);
  enumerator->all = g_socket_connectable_enumerate (fresh);
  enumerator->host = g_strdup (g_network_address_get_hostname (name));

  return G_SOCKET_ADDRESS_ENUMERATOR (enumerator);
}

static void
sandbox_http_address_iface_init (GSocketConnectableIface *iface)
{
  iface->enumerate = sandbox_http_address_enumerate;
  /* There is no way round by a proxy. */
  iface->proxy_enumerate = sandbox_http_address_enumerate;
}

static void
sandbox_http_address_class_init (SandboxHttpAddressClass *klass)
{
}

static void
sandbox_http_address_class_finalize (SandboxHttpAddressClass *klass)
{
}

static void
sandbox_http_address_init (SandboxHttpAddress *self)
{
}

void
sandbox_http_address_register (GTypeModule *module)
{
  sandbox_http_enumerator_register_type (module);
  sandbox_http_address_register_type (module);
}

GSocketConnectable *
sandbox_http_address_new (const char *host,
                          guint16     port,
                          gboolean    any_address)
{
  SandboxHttpAddress *self = g_object_new (SANDBOX_HTTP_TYPE_ADDRESS, "hostname", host, "port", (guint) port, NULL);

  self->any_address = any_address || g_hostname_is_ip_address (host);

  return G_SOCKET_CONNECTABLE (self);
}
