/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-registry-private.h"

#include "sandbox-backend-info-private.h"
#include "sandbox-backend-private.h"
#include "sandbox-error.h"
#include "sandbox-fork-private.h"
#include "sandbox-library-private.h"
#include "sandbox-manifest-private.h"
#include "sandbox-trust-private.h"

/**
 * SandboxRegistry:
 *
 * The backends there are.
 *
 * A registry is a list of [class@Sandbox.BackendInfo], the highest priority first. It finds modules by their
 * manifests: in the folders of the environment variable `SANDBOX_MODULE_PATH`, in that of the library, and in
 * those added by [method@Sandbox.Registry.add_search_path]. The first of a name counts. Listing loads no code.
 *
 * ```c
 * SandboxRegistry *registry = sandbox_registry_get_default ();
 * g_autoptr (SandboxBackend) backend = NULL;
 *
 * backend = sandbox_registry_create_backend (registry, NULL, NULL, &error);
 * ```
 *
 * Nothing is loaded from a folder or a file that anybody but its owner can write to, or that belongs to
 * neither root nor the user. `SANDBOX_MODULE_PATH` takes absolute paths, separated by colons; it is
 * ignored, as `SANDBOX_BACKEND` is, in a program with rights that its caller has not.
 *
 * It may be used in any thread. It changes only in the methods that add something, and says so in the
 * thread that called them.
 *
 * Since: 1.0
 */
struct _SandboxRegistry
{
  GObject parent_instance;

  guint      generation;
  GRecMutex  adding; /* held while something is added and announced; recursive for the sake of handlers */
  GMutex     lock;
  GPtrArray *infos;   /* SandboxBackendInfo, sorted; guarded by lock */
  GString   *looked;  /* the folders that were looked into; guarded by lock */
  GString   *refused; /* why others were not; guarded by lock */
};

static GType
sandbox_registry_get_item_type (GListModel *model)
{
  return SANDBOX_TYPE_BACKEND_INFO;
}

static guint
sandbox_registry_get_n_items (GListModel *model)
{
  SandboxRegistry *self = SANDBOX_REGISTRY (model);
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  return self->infos->len;
}

static gpointer
sandbox_registry_get_item (GListModel *model,
                           guint       position)
{
  SandboxRegistry *self = SANDBOX_REGISTRY (model);
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  return position < self->infos->len ? g_object_ref (g_ptr_array_index (self->infos, position)) : NULL;
}

static void
sandbox_registry_list_model_init (GListModelInterface *iface)
{
  iface->get_item_type = sandbox_registry_get_item_type;
  iface->get_n_items = sandbox_registry_get_n_items;
  iface->get_item = sandbox_registry_get_item;
}

/* clang-format off */
G_DEFINE_FINAL_TYPE_WITH_CODE (SandboxRegistry, sandbox_registry, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, sandbox_registry_list_model_init))
/* clang-format on */

static void
sandbox_registry_finalize (GObject *object)
{
  SandboxRegistry *self = SANDBOX_REGISTRY (object);

  g_ptr_array_unref (self->infos);
  g_string_free (self->looked, TRUE);
  g_string_free (self->refused, TRUE);
  g_mutex_clear (&self->lock);
  g_rec_mutex_clear (&self->adding);

  G_OBJECT_CLASS (sandbox_registry_parent_class)->finalize (object);
}

static void
sandbox_registry_class_init (SandboxRegistryClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = sandbox_registry_finalize;
}

static void
sandbox_registry_init (SandboxRegistry *self)
{
  self->generation = sandbox_fork_get_generation ();
  g_rec_mutex_init (&self->adding);
  g_mutex_init (&self->lock);
  self->infos = g_ptr_array_new_with_free_func (g_object_unref);
  self->looked = g_string_new (NULL);
  self->refused = g_string_new (NULL);
}

static int
sandbox_registry_compare (gconstpointer a,
                          gconstpointer b)
{
  SandboxBackendInfo *one = *(SandboxBackendInfo *const *) a;
  SandboxBackendInfo *two = *(SandboxBackendInfo *const *) b;
  int                 first = sandbox_backend_info_get_priority (one);
  int                 second = sandbox_backend_info_get_priority (two);

  if (first != second)
    return first > second ? -1 : 1;

  return g_strcmp0 (sandbox_backend_info_get_name (one), sandbox_backend_info_get_name (two));
}

/* Takes @info unless there is one of its name. */
static gboolean
sandbox_registry_take (SandboxRegistry    *self,
                       SandboxBackendInfo *info)
{
  g_autoptr (GMutexLocker) locker = NULL;
  g_autoptr (SandboxBackendInfo) known = sandbox_registry_lookup (self, sandbox_backend_info_get_name (info));

  if (known != NULL)
    {
      g_debug ("%s has another file: %s", sandbox_backend_info_get_name (known), sandbox_backend_info_get_file (info));
      g_object_unref (info);
      return FALSE;
    }

  locker = g_mutex_locker_new (&self->lock);
  g_ptr_array_add (self->infos, info);
  g_ptr_array_sort (self->infos, sandbox_registry_compare);

  return TRUE;
}

/* A folder that is not looked into is not worth an error, until something is not found. */
static void
sandbox_registry_note_refused (SandboxRegistry *self,
                               const GError    *error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  g_debug ("%s", error->message);
  g_string_append_printf (self->refused, ". %s", error->message);
}

static void
sandbox_registry_note_looked (SandboxRegistry *self,
                              const char      *directory)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);
  g_autofree char *display = g_filename_display_name (directory);

  g_string_append_printf (self->looked, "%s%s", self->looked->len > 0 ? ", " : "", display);
}

/* Adds what is in a folder, and tells how many that were. A folder that is not to be trusted is as if
 * it were empty. */
static guint
sandbox_registry_scan (SandboxRegistry *self,
                       const char      *directory)
{
  g_autoptr (GDir) dir = NULL;
  g_autoptr (GError) error = NULL;
  const char *name = NULL;
  guint       added = 0;

  if (sandbox_trust_directory (directory, &error))
    dir = g_dir_open (directory, 0, &error);

  if (dir == NULL)
    {
      sandbox_registry_note_refused (self, error);
      return 0;
    }
  sandbox_registry_note_looked (self, directory);

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = NULL;

      if (*name == '.' || !g_str_has_suffix (name, SANDBOX_MANIFEST_SUFFIX))
        continue;

      path = g_build_filename (directory, name, NULL);
      if (sandbox_registry_take (self, sandbox_backend_info_new_for_manifest (path)))
        added++;
    }

  return added;
}

SandboxRegistry *
sandbox_registry_new_for_path (const char *const *directories)
{
  SandboxRegistry *self = g_object_new (SANDBOX_TYPE_REGISTRY, NULL);

  for (guint i = 0; directories[i] != NULL; i++)
    sandbox_registry_scan (self, directories[i]);

  return self;
}

gboolean
sandbox_registry_check_own (SandboxRegistry *self,
                            GError         **error)
{
  return sandbox_fork_check (self->generation, "registry", error);
}

static const char *
sandbox_registry_getenv (const char *variable)
{
  return sandbox_trust_variable (g_getenv (variable), sandbox_trust_is_secure ());
}

/**
 * sandbox_registry_new:
 *
 * Makes a registry, and looks which modules there are.
 *
 * Most programs want [func@Sandbox.Registry.get_default].
 *
 * Returns: (transfer full): a registry
 *
 * Since: 1.0
 */
SandboxRegistry *
sandbox_registry_new (void)
{
  g_autofree char *path = NULL;
  g_auto (GStrv) directories = NULL;
  const char *variable = sandbox_registry_getenv ("SANDBOX_MODULE_PATH");

  path = g_strconcat (variable != NULL ? variable : "", ":", SANDBOX_MODULES_DIR, NULL);
  directories = sandbox_trust_split_path (path);

  return sandbox_registry_new_for_path ((const char *const *) directories);
}

/**
 * sandbox_registry_get_default:
 *
 * Gets the registry of the process, which is made at the first call. A forked child has one of its own.
 *
 * Returns: (transfer none): the registry
 *
 * Since: 1.0
 */
SandboxRegistry *
sandbox_registry_get_default (void)
{
  static SandboxRegistry *known = NULL;
  SandboxRegistry        *registry = g_atomic_pointer_get (&known);
  SandboxRegistry        *made = NULL;

  if (registry != NULL && sandbox_registry_check_own (registry, NULL))
    return registry;

  /* Several threads may make one, and all but the first drop it again: no lock that a fork could find taken. */
  made = sandbox_registry_new ();
  if (g_atomic_pointer_compare_and_exchange (&known, registry, made))
    return made;
  g_object_unref (made);

  return g_atomic_pointer_get (&known);
}

/**
 * sandbox_registry_lookup:
 * @self: a registry
 * @name: the name of a module
 *
 * Gets what is known of a module.
 *
 * Returns: (transfer full) (nullable): the info, or %NULL when there is none of this name
 *
 * Since: 1.0
 */
SandboxBackendInfo *
sandbox_registry_lookup (SandboxRegistry *self,
                         const char      *name)
{
  g_autoptr (GMutexLocker) locker = NULL;

  g_return_val_if_fail (SANDBOX_IS_REGISTRY (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  locker = g_mutex_locker_new (&self->lock);
  for (guint i = 0; i < self->infos->len; i++)
    {
      SandboxBackendInfo *info = g_ptr_array_index (self->infos, i);

      if (g_strcmp0 (sandbox_backend_info_get_name (info), name) == 0)
        return g_object_ref (info);
    }

  return NULL;
}

/**
 * sandbox_registry_add_type:
 * @self: a registry
 * @name: up to 64 of a-z, 0-9 and the dash
 * @priority: the priority, see [property@Sandbox.BackendInfo:priority]
 * @type: a class derived from [class@Sandbox.Backend]
 * @error: return location for an error
 *
 * Adds a backend that is no module, such as one in Python or JavaScript.
 *
 * Fails with %SANDBOX_ERROR_INVALID when the name is none, or when no object of @type can be made or
 * would be a backend, and with %SANDBOX_ERROR_EXISTS when the name is taken.
 *
 * Returns: whether it was added
 *
 * Since: 1.0
 */
gboolean
sandbox_registry_add_type (SandboxRegistry *self,
                           const char      *name,
                           int              priority,
                           GType            type,
                           GError         **error)
{
  g_autoptr (GRecMutexLocker) locker = NULL;
  guint n_items;

  g_return_val_if_fail (SANDBOX_IS_REGISTRY (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);

  if (!sandbox_registry_check_own (self, error))
    return FALSE;

  if (!sandbox_manifest_name_is_valid (name))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "Cannot add backend %s: the name is not 1 to 64 of a-z, 0-9 and the dash", name);
      return FALSE;
    }

  if (!sandbox_library_type_is_a (type, SANDBOX_TYPE_BACKEND))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "Cannot add backend %s: its type is no class derived from SandboxBackend", name);
      return FALSE;
    }

  locker = g_rec_mutex_locker_new (&self->adding);
  if (!sandbox_registry_take (self, sandbox_backend_info_new_for_type (name, priority, type)))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS, "There is a backend %s already", name);
      return FALSE;
    }

  n_items = g_list_model_get_n_items (G_LIST_MODEL (self));
  g_list_model_items_changed (G_LIST_MODEL (self), 0, n_items - 1, n_items);

  return TRUE;
}

/**
 * sandbox_registry_add_search_path:
 * @self: a registry
 * @path: (type filename): an absolute path
 *
 * Adds the modules of a folder.
 *
 * Names that are there already stay what they are. A folder that does not exist, or from which nothing is
 * loaded because others could write to it, adds nothing.
 *
 * Since: 1.0
 */
void
sandbox_registry_add_search_path (SandboxRegistry *self,
                                  const char      *path)
{
  g_autoptr (GRecMutexLocker) locker = NULL;
  guint added;
  guint n_items;

  g_return_if_fail (SANDBOX_IS_REGISTRY (self));
  g_return_if_fail (path != NULL && g_path_is_absolute (path));

  locker = g_rec_mutex_locker_new (&self->adding);
  added = sandbox_registry_scan (self, path);
  n_items = g_list_model_get_n_items (G_LIST_MODEL (self));
  if (added > 0)
    g_list_model_items_changed (G_LIST_MODEL (self), 0, n_items - added, n_items);
}

/* With what there is instead, and where it was looked for */
static void
sandbox_registry_set_missing (SandboxRegistry *self,
                              SandboxError     code,
                              const char      *message,
                              GError         **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; i < self->infos->len; i++)
    g_string_append_printf (known, "%s%s", i > 0 ? ", " : "",
                            sandbox_backend_info_get_name (g_ptr_array_index (self->infos, i)));

  g_set_error (error, SANDBOX_ERROR, (int) code, "%s. Known: %s. Looked in: %s%s", message,
               known->len > 0 ? known->str : "nothing",
               self->looked->len > 0 ? self->looked->str : "no folder", self->refused->str);
}

static SandboxBackendInfo *
sandbox_registry_lookup_backend (SandboxRegistry *self,
                                 const char      *name,
                                 GError         **error)
{
  g_autoptr (SandboxBackendInfo) info = sandbox_registry_lookup (self, name);
  g_autofree char *message = NULL;

  if (info == NULL)
    {
      message = g_strdup_printf ("There is no backend “%s”", name);
      sandbox_registry_set_missing (self, SANDBOX_ERROR_NOT_FOUND, message, error);
      return NULL;
    }

  if (!sandbox_backend_info_is_backend (info))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "%s is no backend but a %s", name, sandbox_backend_info_get_kind (info));
      return NULL;
    }

  return g_steal_pointer (&info);
}

static void
sandbox_registry_add_unnamed (SandboxRegistry *self,
                              GPtrArray       *candidates)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  for (guint i = 0; i < self->infos->len; i++)
    {
      SandboxBackendInfo *info = g_ptr_array_index (self->infos, i);

      if (sandbox_backend_info_is_backend (info) && sandbox_backend_info_get_priority (info) >= 0)
        g_ptr_array_add (candidates, g_object_ref (info));
    }
}

GPtrArray *
sandbox_registry_dup_candidates (SandboxRegistry *self,
                                 GError         **error)
{
  g_autoptr (GPtrArray) candidates = g_ptr_array_new_with_free_func (g_object_unref);
  SandboxBackendInfo *info = NULL;
  const char         *name = sandbox_registry_getenv ("SANDBOX_BACKEND");

  if (name != NULL)
    {
      info = sandbox_registry_lookup_backend (self, name, error);
      if (info == NULL)
        {
          g_prefix_error (error, "SANDBOX_BACKEND: ");
          return NULL;
        }
      g_ptr_array_add (candidates, info);
    }
  else
    sandbox_registry_add_unnamed (self, candidates);

  if (candidates->len == 0)
    {
      sandbox_registry_set_missing (self, SANDBOX_ERROR_NOT_FOUND,
                                    "No backend is there that may be picked without its name; install one, such as bubblewrap", error);
      return NULL;
    }

  return g_steal_pointer (&candidates);
}

static SandboxBackendInfo *
sandbox_registry_dup_gateway_info (SandboxRegistry *self)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  for (guint i = 0; i < self->infos->len; i++)
    {
      SandboxBackendInfo *info = g_ptr_array_index (self->infos, i);

      if (sandbox_backend_info_is_gateway (info) && sandbox_backend_info_get_priority (info) >= 0)
        return g_object_ref (info);
    }

  return NULL;
}

/* Of the highest priority, and never another one in its place: which one it is decides what gets through. */
static SandboxGateway *
sandbox_registry_make_gateway (gpointer data,
                               GError **error)
{
  SandboxRegistry *self = data;
  g_autoptr (SandboxBackendInfo) info = NULL;
  g_autoptr (SandboxGateway) gateway = NULL;
  SandboxGatewayInterface *iface = NULL;
  GType                    type = G_TYPE_INVALID;

  if (!sandbox_registry_check_own (self, error))
    return NULL;

  info = sandbox_registry_dup_gateway_info (self);
  if (info == NULL)
    {
      sandbox_registry_set_missing (self, SANDBOX_ERROR_NETWORK_DENIED,
                                    "A list of origins needs a gateway; install one, such as http-gateway, which belongs to this library",
                                    error);
      return NULL;
    }
  type = sandbox_backend_info_load (info, error);
  if (type == G_TYPE_INVALID)
    return NULL;
  gateway = g_object_new (type, NULL);
  iface = SANDBOX_GATEWAY_GET_IFACE (gateway);
  if (iface->set_policy == NULL || iface->add_door == NULL || iface->remove_door == NULL || iface->close == NULL)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, "%s is no gateway: it lacks a function of the interface",
                   g_type_name (type));
      return NULL;
    }

  return g_steal_pointer (&gateway);
}

SandboxBackend *
sandbox_registry_make (SandboxRegistry    *self,
                       SandboxBackendInfo *info,
                       const char         *state_directory,
                       GError            **error)
{
  GType           type = sandbox_backend_info_load (info, error);
  SandboxBackend *backend = NULL;

  if (type == G_TYPE_INVALID)
    return NULL;

  backend = g_object_new (type,
                          "name", sandbox_backend_info_get_name (info),
                          "state-directory", state_directory,
                          NULL);
  sandbox_backend_set_gateway_func (backend, sandbox_registry_make_gateway, g_object_ref (self), g_object_unref);

  return backend;
}

/**
 * sandbox_registry_create_backend:
 * @self: a registry
 * @name: (nullable): the name of a backend, or %NULL for the one to use here
 * @state_directory: (nullable) (type filename): the host directory for templates and sessions, or %NULL for a
 *   private one that is removed with the sessions
 * @error: return location for an error
 *
 * Makes a backend, and loads its module if that has not been done.
 *
 * Without a name it is the one that the environment variable `SANDBOX_BACKEND` names, or else the one of the
 * highest priority that is not below 0. The backend is not probed: whether it works here is told by
 * [method@Sandbox.Backend.probe] and by each create.
 *
 * Fails with %SANDBOX_ERROR_NOT_FOUND when there is no such backend, or none to be picked without a name, with
 * %SANDBOX_ERROR_INVALID when the module of this name is no backend, and with %SANDBOX_ERROR_MODULE when it is broken.
 * Another one is never taken in its place.
 *
 * Returns: (transfer full): the backend
 *
 * Since: 1.0
 */
SandboxBackend *
sandbox_registry_create_backend (SandboxRegistry *self,
                                 const char      *name,
                                 const char      *state_directory,
                                 GError         **error)
{
  g_autoptr (SandboxBackendInfo) info = NULL;
  g_autoptr (GPtrArray) candidates = NULL;

  g_return_val_if_fail (SANDBOX_IS_REGISTRY (self), NULL);

  if (!sandbox_registry_check_own (self, error))
    return NULL;

  if (name != NULL)
    info = sandbox_registry_lookup_backend (self, name, error);
  else
    {
      candidates = sandbox_registry_dup_candidates (self, error);
      info = candidates != NULL ? g_object_ref (g_ptr_array_index (candidates, 0)) : NULL;
    }

  return info != NULL ? sandbox_registry_make (self, info, state_directory, error) : NULL;
}
