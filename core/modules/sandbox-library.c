/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-library-private.h"

#include <dlfcn.h>
#include <gmodule.h>

#include "sandbox-backend.h"
#include "sandbox-gateway.h"
#include "sandbox-module.h"
#include "sandbox-trust-private.h"

#define SYMBOL "sandbox_module_descriptor"

/* One shared object of a module. It is opened, looked at and asked for its type once; what has been
 * opened stays, because types and threads outlive any unloading. One whose register function has run
 * stays in the table for ever, as GType refers to it. */
struct _SandboxLibrary
{
  GTypeModule parent_instance;

  char    *file;
  char    *name;
  GType    kind; /* what its manifest says that it makes */
  dev_t    device;
  ino_t    inode;
  gboolean registered;
  GType    type; /* G_TYPE_INVALID with error */
  GError  *error;
};

#define SANDBOX_TYPE_LIBRARY (sandbox_library_get_type ())
G_DECLARE_FINAL_TYPE (SandboxLibrary, sandbox_library, SANDBOX, LIBRARY, GTypeModule)

G_DEFINE_FINAL_TYPE (SandboxLibrary, sandbox_library, G_TYPE_TYPE_MODULE)

/* Recursive: a register function may look at registries. */
static GRecMutex  table_lock;
static GPtrArray *table; /* SandboxLibrary; guarded by table_lock */

static gboolean
sandbox_library_fail (SandboxLibrary *self,
                      const char     *format,
                      ...) G_GNUC_PRINTF (2, 3);

static gboolean
sandbox_library_fail (SandboxLibrary *self,
                      const char     *format,
                      ...)
{
  g_autofree char *display = g_filename_display_name (self->file);
  g_autofree char *reason = NULL;
  va_list          args;

  va_start (args, format);
  reason = g_strdup_vprintf (format, args);
  va_end (args);

  g_clear_error (&self->error);
  g_set_error (&self->error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, "Cannot load module %s: %s", display, reason);

  return FALSE;
}

/* A symbol is searched for in what the module links to as well, and what is found there says
 * nothing about the module. */
static gboolean
sandbox_library_owns (SandboxLibrary *self,
                      gconstpointer   symbol)
{
  Dl_info     info;
  struct stat st;

  return dladdr (symbol, &info) != 0 &&
         info.dli_fname != NULL &&
         stat (info.dli_fname, &st) == 0 &&
         st.st_dev == self->device &&
         st.st_ino == self->inode;
}

static gboolean
sandbox_library_check (SandboxLibrary                *self,
                       const SandboxModuleDescriptor *descriptor)
{
  if (descriptor->abi_version != SANDBOX_ABI_VERSION)
    return sandbox_library_fail (self, "it was built for ABI %u, and this is ABI %d",
                                 descriptor->abi_version, SANDBOX_ABI_VERSION);

  if (descriptor->struct_size != sizeof (SandboxModuleDescriptor))
    return sandbox_library_fail (self, "its descriptor has %u bytes, not %" G_GSIZE_FORMAT,
                                 descriptor->struct_size, sizeof (SandboxModuleDescriptor));

  if (g_strcmp0 (descriptor->name, self->name) != 0)
    return sandbox_library_fail (self, "it calls itself %s, and its manifest %s",
                                 descriptor->name != NULL ? descriptor->name : "nothing", self->name);

  if (descriptor->register_type == NULL)
    return sandbox_library_fail (self, "it has no register function");

  return TRUE;
}

static gboolean
sandbox_library_real_load (GTypeModule *type_module)
{
  SandboxLibrary *self = SANDBOX_LIBRARY (type_module);
  g_autoptr (GError) error = NULL;
  GModule *module = NULL;
  gpointer symbol = NULL;

  /* Not lazy: a symbol that is missing must show here, with its name. */
  module = g_module_open_full (self->file, G_MODULE_BIND_LOCAL, &error);
  if (module == NULL)
    return sandbox_library_fail (self, "%s", error->message);

  /* Before anything is found wrong, too: what the module links to may have registered types. */
  g_module_make_resident (module);

  if (!g_module_symbol (module, SYMBOL, &symbol) || symbol == NULL || !sandbox_library_owns (self, symbol))
    return sandbox_library_fail (self, "it has no " SYMBOL);

  if (!sandbox_library_check (self, symbol))
    return FALSE;

  self->registered = TRUE;
  self->type = ((const SandboxModuleDescriptor *) symbol)->register_type (type_module);

  return TRUE;
}

static void
sandbox_library_real_unload (GTypeModule *type_module)
{
}

static void
sandbox_library_finalize (GObject *object)
{
  SandboxLibrary *self = SANDBOX_LIBRARY (object);

  g_free (self->file);
  g_free (self->name);
  g_clear_error (&self->error);

  G_OBJECT_CLASS (sandbox_library_parent_class)->finalize (object);
}

static void
sandbox_library_class_init (SandboxLibraryClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = sandbox_library_finalize;
  G_TYPE_MODULE_CLASS (klass)->load = sandbox_library_real_load;
  G_TYPE_MODULE_CLASS (klass)->unload = sandbox_library_real_unload;
}

static void
sandbox_library_init (SandboxLibrary *self)
{
}

gboolean
sandbox_library_type_is_a (GType type,
                           GType kind)
{
  return G_TYPE_IS_OBJECT (type) && g_type_is_a (type, kind) && !G_TYPE_IS_ABSTRACT (type);
}

static const char *
sandbox_library_describe_kind (GType kind)
{
  return kind == SANDBOX_TYPE_GATEWAY ? "gateway" : "backend";
}

/* What is in the table under this file or this name, either of which may be NULL. */
static SandboxLibrary *
sandbox_library_find (const char *file,
                      const char *name)
{
  for (guint i = 0; table != NULL && i < table->len; i++)
    {
      SandboxLibrary *library = g_ptr_array_index (table, i);

      if (g_strcmp0 (library->file, file) == 0 || g_strcmp0 (library->name, name) == 0)
        return library;
    }

  return NULL;
}

static void
sandbox_library_check_type (SandboxLibrary *self)
{
  SandboxLibrary *other = NULL;

  for (guint i = 0; i < table->len; i++)
    {
      SandboxLibrary *library = g_ptr_array_index (table, i);

      if (library != self && library->type == self->type)
        other = library;
    }

  if (!sandbox_library_type_is_a (self->type, self->kind))
    sandbox_library_fail (self, "it makes %s, which is no %s",
                          self->type != G_TYPE_INVALID ? g_type_name (self->type) : "no type",
                          sandbox_library_describe_kind (self->kind));
  else if (other != NULL)
    sandbox_library_fail (self, "it makes %s, which belongs to %s", g_type_name (self->type), other->file);

  if (self->error != NULL)
    self->type = G_TYPE_INVALID;
}

static void
sandbox_library_open (SandboxLibrary *self)
{
  SandboxLibrary *other = sandbox_library_find (NULL, self->name);

  /* Before any of its code runs: GLib would find the second registration a bug of the program. */
  if (other != NULL)
    {
      sandbox_library_fail (self, "%s has been loaded from %s", self->name, other->file);
      return;
    }

  if (table == NULL)
    table = g_ptr_array_new_with_free_func (g_object_unref);
  g_ptr_array_add (table, g_object_ref (self));

  /* For a register function that asks for its own module */
  sandbox_library_fail (self, "it is being loaded");
  if (g_type_module_use (G_TYPE_MODULE (self)))
    {
      g_clear_error (&self->error);
      sandbox_library_check_type (self);
    }

  if (!self->registered)
    g_ptr_array_remove (table, self);
}

GType
sandbox_library_load (const char *path,
                      const char *name,
                      GType       kind,
                      GError    **error)
{
  g_autoptr (GRecMutexLocker) locker = NULL;
  g_autoptr (SandboxLibrary) self = NULL;
  g_autofree char *file = NULL;
  SandboxLibrary  *known = NULL;
  struct stat      st;

  file = sandbox_trust_file (path, &st, error);
  if (file == NULL)
    return G_TYPE_INVALID;

  locker = g_rec_mutex_locker_new (&table_lock);
  known = sandbox_library_find (file, NULL);
  if (known != NULL && g_strcmp0 (known->name, name) == 0)
    self = g_object_ref (known);
  else
    {
      self = g_object_new (SANDBOX_TYPE_LIBRARY, NULL);
      self->file = g_steal_pointer (&file);
      self->name = g_strdup (name);
      self->kind = kind;
      self->device = st.st_dev;
      self->inode = st.st_ino;
      g_type_module_set_name (G_TYPE_MODULE (self), name);
      sandbox_library_open (self);
    }

  /* Another manifest may say something else of the file. */
  if (self->error == NULL && self->kind != kind)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, "Cannot load module %s: it is a %s, and no %s", self->file,
                   sandbox_library_describe_kind (self->kind), sandbox_library_describe_kind (kind));
      return G_TYPE_INVALID;
    }
  if (self->error != NULL && error != NULL)
    *error = g_error_copy (self->error);

  return self->type;
}
