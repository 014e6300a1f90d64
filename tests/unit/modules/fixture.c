/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A small module of a backend, or of a gateway, in which one thing is wrong where meson.build says so:
 *
 *   FIXTURE_GATEWAY                            it makes a gateway
 *   FIXTURE_HOLLOW                             which cannot be closed
 *   FIXTURE_ABI, FIXTURE_SIZE, FIXTURE_NAME    what the descriptor says
 *   FIXTURE_REGISTER                           the register function
 *   FIXTURE_NO_DESCRIPTOR                      there is none
 *   FIXTURE_UNRESOLVED                         a symbol that exists nowhere
 *   FIXTURE_INIT                               GModule's own hook refuses
 */

#include <gmodule.h>
#include <sandbox-glib.h>

#ifndef FIXTURE_ABI
# define FIXTURE_ABI SANDBOX_ABI_VERSION
#endif
#ifndef FIXTURE_SIZE
# define FIXTURE_SIZE sizeof (SandboxModuleDescriptor)
#endif
#ifndef FIXTURE_REGISTER
# define FIXTURE_REGISTER fixture_register
#endif

/* The type is named after the fixture. */
#define FixtureBackend FIXTURE_TYPE
#define FixtureBackendClass FIXTURE_CLASS

#ifdef FIXTURE_GATEWAY

typedef struct
{
  GObject parent_instance;
} FixtureBackend;

typedef struct
{
  GObjectClass parent_class;
} FixtureBackendClass;

GType fixture_backend_get_type (void);

static gboolean
fixture_gateway_set_policy (SandboxGateway       *gateway,
                            SandboxNetworkPolicy *policy,
                            SandboxRequest       *request,
                            GError              **error)
{
  sandbox_request_return_done (request);

  return TRUE;
}

static void
fixture_gateway_use_door (SandboxGateway *gateway,
                          GSocket        *door)
{
}

G_GNUC_UNUSED static gboolean
fixture_gateway_close (SandboxGateway *gateway,
                       SandboxRequest *request,
                       GError        **error)
{
  sandbox_request_return_done (request);

  return TRUE;
}

static void
fixture_gateway_interface_init (SandboxGatewayInterface *iface)
{
  iface->set_policy = fixture_gateway_set_policy;
  iface->add_door = fixture_gateway_use_door;
  iface->remove_door = fixture_gateway_use_door;
# ifndef FIXTURE_HOLLOW
  iface->close = fixture_gateway_close;
# endif
}

/* With the name of the type already expanded, which GLib pastes */
/* clang-format off */
# define FIXTURE_DEFINE_GATEWAY(Type)                                           \
  G_DEFINE_DYNAMIC_TYPE_EXTENDED (Type, fixture_backend, G_TYPE_OBJECT, 0,      \
                                  G_IMPLEMENT_INTERFACE_DYNAMIC (SANDBOX_TYPE_GATEWAY, fixture_gateway_interface_init))
FIXTURE_DEFINE_GATEWAY (FixtureBackend)
/* clang-format on */

#else

typedef struct
{
  SandboxBackend parent_instance;
} FixtureBackend;

typedef struct
{
  SandboxBackendClass parent_class;
} FixtureBackendClass;

GType fixture_backend_get_type (void);

G_DEFINE_DYNAMIC_TYPE (FixtureBackend, fixture_backend, SANDBOX_TYPE_BACKEND)

#endif

static void
fixture_backend_class_init (FixtureBackendClass *klass)
{
}

static void
fixture_backend_class_finalize (FixtureBackendClass *klass)
{
}

static void
fixture_backend_init (FixtureBackend *self)
{
}

G_GNUC_UNUSED static GType
fixture_register (GTypeModule *module)
{
  fixture_backend_register_type (module);

  return fixture_backend_get_type ();
}

G_GNUC_UNUSED static GType
fixture_register_nothing (GTypeModule *module)
{
  return G_TYPE_INVALID;
}

G_GNUC_UNUSED static GType
fixture_register_object (GTypeModule *module)
{
  return G_TYPE_OBJECT;
}

G_GNUC_UNUSED static GType
fixture_register_abstract (GTypeModule *module)
{
  return SANDBOX_TYPE_BACKEND;
}

/* The class of another module, which has been loaded before. */
G_GNUC_UNUSED static GType
fixture_register_foreign (GTypeModule *module)
{
  return g_type_from_name ("FixtureGood");
}

/* Asks for itself while it is being loaded. */
G_GNUC_UNUSED static GType
fixture_register_recursive (GTypeModule *module)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (GError) error = NULL;

  backend = sandbox_registry_create_backend (registry, FIXTURE_NAME, NULL, &error);
  g_assert_null (backend);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE);

  return fixture_register (module);
}

#ifdef FIXTURE_UNRESOLVED
void fixture_symbol_that_exists_nowhere (void);
void fixture_use (void);

G_MODULE_EXPORT void
fixture_use (void)
{
  fixture_symbol_that_exists_nowhere ();
}
#endif

#ifdef FIXTURE_INIT
const char *g_module_check_init (GModule *module);

G_MODULE_EXPORT const char *
g_module_check_init (GModule *module)
{
  return "this module does not want to";
}
#endif

#ifdef FIXTURE_DEPENDENCY
int fixture_dependency (void);
int fixture_use (void);

/* So that the linker keeps the dependency. */
G_MODULE_EXPORT int
fixture_use (void)
{
  return fixture_dependency ();
}
#endif

#ifndef FIXTURE_NO_DESCRIPTOR
SANDBOX_EXTERN const SandboxModuleDescriptor sandbox_module_descriptor;
const SandboxModuleDescriptor                sandbox_module_descriptor = {
                 FIXTURE_ABI,
                 FIXTURE_SIZE,
                 FIXTURE_NAME,
                 FIXTURE_REGISTER,
};
#endif
