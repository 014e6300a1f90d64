/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-gateway.h"

#include "sandbox-http-service.h"

struct _SandboxHttpGateway
{
  GObject parent_instance;

  SandboxHttpService *service;
};

static void sandbox_http_gateway_iface_init (SandboxGatewayInterface *iface);

/* clang-format off */
G_DEFINE_DYNAMIC_TYPE_EXTENDED (SandboxHttpGateway, sandbox_http_gateway, G_TYPE_OBJECT, G_TYPE_FLAG_FINAL,
                                G_IMPLEMENT_INTERFACE_DYNAMIC (SANDBOX_TYPE_GATEWAY, sandbox_http_gateway_iface_init))
/* clang-format on */

/* ---- Work for the thread ---- */

typedef struct
{
  SandboxHttpService *service;
  void (*func) (SandboxHttpService *service,
                gpointer            object,
                SandboxRequest     *request);
  gpointer        object; /* nullable */
  GDestroyNotify  notify;
  SandboxRequest *request; /* nullable */
} Work;

static void
work_free (gpointer data)
{
  Work *self = data;

  if (self->notify != NULL && self->object != NULL)
    self->notify (self->object);
  g_clear_object (&self->request);
  sandbox_http_service_unref (self->service);
  g_free (self);
}

static gboolean
work_cb (gpointer user_data)
{
  Work *self = user_data;

  self->func (self->service, self->object, self->request);

  return G_SOURCE_REMOVE;
}

/* In the order of the calls; @object is taken. */
static void
sandbox_http_gateway_post (SandboxHttpGateway *self,
                           void (*func) (SandboxHttpService *service,
                                         gpointer            object,
                                         SandboxRequest     *request),
                           gpointer        object,
                           GDestroyNotify  notify,
                           SandboxRequest *request)
{
  Work    *work = g_new0 (Work, 1);
  GSource *source = g_idle_source_new ();

  work->service = sandbox_http_service_ref (self->service);
  work->func = func;
  work->object = object;
  work->notify = notify;
  g_set_object (&work->request, request);
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, work_cb, work, work_free);
  g_source_attach (source, sandbox_http_service_get_context (work->service));
  g_source_unref (source);
}

/* ---- The interface ---- */

static void
set_rules (SandboxHttpService *service,
           gpointer            object,
           SandboxRequest     *request)
{
  sandbox_http_service_set_rules (service, object);
  sandbox_request_return_done (request);
}

static gboolean
sandbox_http_gateway_set_policy (SandboxGateway       *gateway,
                                 SandboxNetworkPolicy *policy,
                                 SandboxRequest       *request,
                                 GError              **error)
{
  SandboxHttpRules *rules = sandbox_http_rules_new (policy, error);

  if (rules == NULL)
    return FALSE;

  sandbox_http_gateway_post (SANDBOX_HTTP_GATEWAY (gateway), set_rules, rules, (GDestroyNotify) sandbox_http_rules_unref, request);

  return TRUE;
}

static void
add_door (SandboxHttpService *service,
          gpointer            object,
          SandboxRequest     *request)
{
  sandbox_http_service_add_door (service, object);
}

static void
sandbox_http_gateway_add_door (SandboxGateway *gateway,
                               GSocket        *door)
{
  sandbox_http_gateway_post (SANDBOX_HTTP_GATEWAY (gateway), add_door, g_object_ref (door), g_object_unref, NULL);
}

static void
remove_door (SandboxHttpService *service,
             gpointer            object,
             SandboxRequest     *request)
{
  sandbox_http_service_remove_door (service, object);
}

static void
sandbox_http_gateway_remove_door (SandboxGateway *gateway,
                                  GSocket        *door)
{
  sandbox_http_gateway_post (SANDBOX_HTTP_GATEWAY (gateway), remove_door, g_object_ref (door), g_object_unref, NULL);
}

static void
close_service (SandboxHttpService *service,
               gpointer            object,
               SandboxRequest     *request)
{
  sandbox_http_service_close (service, request);
}

static gboolean
sandbox_http_gateway_close (SandboxGateway *gateway,
                            SandboxRequest *request,
                            GError        **error)
{
  sandbox_http_gateway_post (SANDBOX_HTTP_GATEWAY (gateway), close_service, NULL, NULL, request);

  return TRUE;
}

static void
sandbox_http_gateway_iface_init (SandboxGatewayInterface *iface)
{
  iface->set_policy = sandbox_http_gateway_set_policy;
  iface->add_door = sandbox_http_gateway_add_door;
  iface->remove_door = sandbox_http_gateway_remove_door;
  iface->close = sandbox_http_gateway_close;
}

static void
sandbox_http_gateway_finalize (GObject *object)
{
  SandboxHttpGateway *self = SANDBOX_HTTP_GATEWAY (object);

  /* What nobody has closed is closed all the same. */
  sandbox_http_gateway_post (self, close_service, NULL, NULL, NULL);
  g_clear_pointer (&self->service, sandbox_http_service_unref);

  G_OBJECT_CLASS (sandbox_http_gateway_parent_class)->finalize (object);
}

static void
sandbox_http_gateway_class_init (SandboxHttpGatewayClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = sandbox_http_gateway_finalize;
}

static void
sandbox_http_gateway_class_finalize (SandboxHttpGatewayClass *klass)
{
}

static void
sandbox_http_gateway_init (SandboxHttpGateway *self)
{
  self->service = sandbox_http_service_new (SANDBOX_GATEWAY (self));
}

void
sandbox_http_gateway_register (GTypeModule *module)
{
  sandbox_http_gateway_register_type (module);
}
