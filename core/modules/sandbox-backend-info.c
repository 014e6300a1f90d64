/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-backend-info-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox-backend.h"
#include "sandbox-error.h"
#include "sandbox-fd-private.h"
#include "sandbox-gateway.h"
#include "sandbox-library-private.h"
#include "sandbox-manifest-private.h"
#include "sandbox-trust-private.h"

#define KIND_BACKEND "backend"
#define KIND_GATEWAY "gateway"

/**
 * SandboxBackendInfo:
 *
 * What a registry knows of a module, without having loaded it.
 *
 * All but [property@Sandbox.BackendInfo:load-error] stays as it is. It may be used in any thread.
 *
 * Since: 1.0
 */
struct _SandboxBackendInfo
{
  GObject parent_instance;

  char *name;
  char *description;
  char *kind;
  char *file;
  char *library;
  int   priority;

  /* Set once, in any thread */
  GType   type;
  GError *load_error;
};

typedef enum
{
  PROP_NAME = 1,
  PROP_DESCRIPTION,
  PROP_PRIORITY,
  PROP_KIND,
  PROP_FILE,
  PROP_LOAD_ERROR,
} SandboxBackendInfoProps;

static GParamSpec *properties[PROP_LOAD_ERROR + 1];

G_DEFINE_FINAL_TYPE (SandboxBackendInfo, sandbox_backend_info, G_TYPE_OBJECT)

static void
sandbox_backend_info_finalize (GObject *object)
{
  SandboxBackendInfo *self = SANDBOX_BACKEND_INFO (object);

  g_free (self->name);
  g_free (self->description);
  g_free (self->kind);
  g_free (self->file);
  g_free (self->library);
  g_clear_error (&self->load_error);

  G_OBJECT_CLASS (sandbox_backend_info_parent_class)->finalize (object);
}

static void
sandbox_backend_info_get_property (GObject    *object,
                                   guint       prop_id,
                                   GValue     *value,
                                   GParamSpec *pspec)
{
  SandboxBackendInfo *self = SANDBOX_BACKEND_INFO (object);

  switch ((SandboxBackendInfoProps) prop_id)
    {
    case PROP_NAME:
      g_value_set_string (value, sandbox_backend_info_get_name (self));
      break;

    case PROP_DESCRIPTION:
      g_value_set_string (value, sandbox_backend_info_get_description (self));
      break;

    case PROP_PRIORITY:
      g_value_set_int (value, sandbox_backend_info_get_priority (self));
      break;

    case PROP_KIND:
      g_value_set_string (value, sandbox_backend_info_get_kind (self));
      break;

    case PROP_FILE:
      g_value_set_string (value, sandbox_backend_info_get_file (self));
      break;

    case PROP_LOAD_ERROR:
      g_value_set_boxed (value, sandbox_backend_info_get_load_error (self));
      break;
    }
}

static void
sandbox_backend_info_class_init (SandboxBackendInfoClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_backend_info_finalize;
  object_class->get_property = sandbox_backend_info_get_property;

  /**
   * SandboxBackendInfo:name:
   *
   * The name that [method@Sandbox.Registry.create_backend] takes.
   *
   * Since: 1.0
   */
  properties[PROP_NAME] =
      g_param_spec_string ("name", NULL, NULL, NULL,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxBackendInfo:description:
   *
   * What the module does, in one line, or %NULL when it does not say.
   *
   * Since: 1.0
   */
  properties[PROP_DESCRIPTION] =
      g_param_spec_string ("description", NULL, NULL, NULL,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxBackendInfo:priority:
   *
   * The higher, the sooner it is picked; below 0 it is never picked by itself.
   *
   * Since: 1.0
   */
  properties[PROP_PRIORITY] =
      g_param_spec_int ("priority", NULL, NULL, G_MININT, G_MAXINT, 0,
                        G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxBackendInfo:kind:
   *
   * What the module is: `backend`, `gateway` or `tool`; %NULL when its manifest is broken.
   *
   * Since: 1.0
   */
  properties[PROP_KIND] =
      g_param_spec_string ("kind", NULL, NULL, NULL,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxBackendInfo:file:
   *
   * The path of the manifest, or %NULL for what came by [method@Sandbox.Registry.add_type].
   *
   * Since: 1.0
   */
  properties[PROP_FILE] =
      g_param_spec_string ("file", NULL, NULL, NULL,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * SandboxBackendInfo:load-error:
   *
   * Why the module cannot be used, or %NULL as long as nothing is known against it.
   *
   * It is known from the start when the manifest is broken, and else after the first attempt to
   * load the module. Changes are notified in the thread that made that attempt.
   *
   * Since: 1.0
   */
  properties[PROP_LOAD_ERROR] =
      g_param_spec_boxed ("load-error", NULL, NULL, G_TYPE_ERROR,
                          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_backend_info_init (SandboxBackendInfo *self)
{
}

/* Up to one byte more than a manifest may have. */
static gboolean
sandbox_backend_info_read (const char *path,
                           GByteArray *bytes,
                           GError    **error)
{
  g_autofree char *file = NULL;
  g_auto (SandboxFd) fd = -1;
  struct stat st;

  file = sandbox_trust_file (path, &st, error);
  if (file == NULL)
    return FALSE;

  g_byte_array_set_size (bytes, SANDBOX_MANIFEST_MAX_BYTES + 1);
  fd = open (file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);

  for (gsize have = 0; fd >= 0;)
    {
      gssize n = read (fd, bytes->data + have, bytes->len - have);

      if (n > 0)
        have += n;
      else if (n == 0)
        {
          g_byte_array_set_size (bytes, have);
          return TRUE;
        }
      else if (errno != EINTR)
        break;
    }

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, "Cannot read %s: %s", path, g_strerror (errno));

  return FALSE;
}

static void
sandbox_backend_info_take_manifest (SandboxBackendInfo *self,
                                    SandboxManifest    *manifest)
{
  g_autofree char *directory = g_path_get_dirname (self->file);

  self->library = g_build_filename (directory, manifest->library, NULL);
  self->kind = g_steal_pointer (&manifest->kind);
  self->description = g_steal_pointer (&manifest->description);
  self->priority = manifest->priority;
}

static gboolean
sandbox_backend_info_parse (SandboxBackendInfo *self,
                            GByteArray         *bytes,
                            GError            **error)
{
  const char *data = (const char *) bytes->data;
  g_autoptr (SandboxManifest) manifest = sandbox_manifest_parse (data, bytes->len, error);

  if (manifest == NULL)
    {
      self->priority = sandbox_manifest_salvage_priority (data, bytes->len);
      return FALSE;
    }

  sandbox_backend_info_take_manifest (self, manifest);

  if (g_strcmp0 (manifest->name, self->name) != 0)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE,
                 "its Name is %s, which is not that of the file", manifest->name);
  else if (manifest->abi != SANDBOX_ABI_VERSION)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE,
                 "it is for ABI %u, and this is ABI %d", manifest->abi, SANDBOX_ABI_VERSION);
  else
    return TRUE;

  return FALSE;
}

SandboxBackendInfo *
sandbox_backend_info_new_for_manifest (const char *path)
{
  SandboxBackendInfo *self = g_object_new (SANDBOX_TYPE_BACKEND_INFO, NULL);
  g_autofree char    *base = g_path_get_basename (path);
  g_autofree char    *display = g_filename_display_name (path);
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  self->file = g_strdup (path);
  self->priority = SANDBOX_MANIFEST_NO_PRIORITY;
  if (g_str_has_suffix (base, SANDBOX_MANIFEST_SUFFIX))
    base[strlen (base) - strlen (SANDBOX_MANIFEST_SUFFIX)] = '\0';
  self->name = g_filename_display_name (base);

  if (sandbox_backend_info_read (self->file, bytes, &self->load_error) &&
      !sandbox_backend_info_parse (self, bytes, &self->load_error))
    g_prefix_error (&self->load_error, "Broken module %s: ", display);

  return self;
}

SandboxBackendInfo *
sandbox_backend_info_new_for_type (const char *name,
                                   int         priority,
                                   GType       type)
{
  SandboxBackendInfo *self = g_object_new (SANDBOX_TYPE_BACKEND_INFO, NULL);

  self->name = g_strdup (name);
  self->kind = g_strdup (KIND_BACKEND);
  self->priority = priority;
  self->type = type;

  return self;
}

gboolean
sandbox_backend_info_is_backend (SandboxBackendInfo *self)
{
  return self->kind == NULL || g_strcmp0 (self->kind, KIND_BACKEND) == 0;
}

gboolean
sandbox_backend_info_is_gateway (SandboxBackendInfo *self)
{
  return g_strcmp0 (self->kind, KIND_GATEWAY) == 0;
}

/* The first one is kept: callers may be looking at it. */
static void
sandbox_backend_info_keep_error (SandboxBackendInfo *self,
                                 GError             *error)
{
  if (g_atomic_pointer_compare_and_exchange (&self->load_error, NULL, error))
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LOAD_ERROR]);
  else
    g_error_free (error);
}

GType
sandbox_backend_info_load (SandboxBackendInfo *self,
                           GError            **error)
{
  GError *failure = NULL;
  GType   type = (GType) g_atomic_pointer_get (&self->type);

  if (type != G_TYPE_INVALID)
    return type;

  if (sandbox_backend_info_get_load_error (self) == NULL)
    {
      type = sandbox_library_load (self->library, self->name,
                                   sandbox_backend_info_is_gateway (self) ? SANDBOX_TYPE_GATEWAY : SANDBOX_TYPE_BACKEND,
                                   &failure);
      if (type != G_TYPE_INVALID)
        {
          g_atomic_pointer_set (&self->type, type);
          return type;
        }

      sandbox_backend_info_keep_error (self, failure);
    }

  if (error != NULL)
    *error = g_error_copy (sandbox_backend_info_get_load_error (self));

  return G_TYPE_INVALID;
}

/**
 * sandbox_backend_info_get_name:
 * @self: an info
 *
 * Gets the name by which the module is picked.
 *
 * Returns: (transfer none): the name; for a broken manifest that of its file
 *
 * Since: 1.0
 */
const char *
sandbox_backend_info_get_name (SandboxBackendInfo *self)
{
  g_return_val_if_fail (SANDBOX_IS_BACKEND_INFO (self), NULL);

  return self->name;
}

/**
 * sandbox_backend_info_get_description:
 * @self: an info
 *
 * Gets what the module does.
 *
 * Returns: (transfer none) (nullable): one line, or %NULL
 *
 * Since: 1.0
 */
const char *
sandbox_backend_info_get_description (SandboxBackendInfo *self)
{
  g_return_val_if_fail (SANDBOX_IS_BACKEND_INFO (self), NULL);

  return self->description;
}

/**
 * sandbox_backend_info_get_priority:
 * @self: an info
 *
 * Gets the priority. See [property@Sandbox.BackendInfo:priority].
 *
 * Returns: the priority; -1 for a manifest that is too broken to tell
 *
 * Since: 1.0
 */
int
sandbox_backend_info_get_priority (SandboxBackendInfo *self)
{
  g_return_val_if_fail (SANDBOX_IS_BACKEND_INFO (self), 0);

  return self->priority;
}

/**
 * sandbox_backend_info_get_kind:
 * @self: an info
 *
 * Gets what the module is.
 *
 * Returns: (transfer none) (nullable): `backend`, `gateway` or `tool`, or %NULL when the manifest is broken
 *
 * Since: 1.0
 */
const char *
sandbox_backend_info_get_kind (SandboxBackendInfo *self)
{
  g_return_val_if_fail (SANDBOX_IS_BACKEND_INFO (self), NULL);

  return self->kind;
}

/**
 * sandbox_backend_info_get_file:
 * @self: an info
 *
 * Gets the path of the manifest.
 *
 * Returns: (transfer none) (nullable) (type filename): the path, or %NULL when the backend came by
 *   [method@Sandbox.Registry.add_type]
 *
 * Since: 1.0
 */
const char *
sandbox_backend_info_get_file (SandboxBackendInfo *self)
{
  g_return_val_if_fail (SANDBOX_IS_BACKEND_INFO (self), NULL);

  return self->file;
}

/**
 * sandbox_backend_info_get_load_error:
 * @self: an info
 *
 * Gets why the module cannot be used. See [property@Sandbox.BackendInfo:load-error].
 *
 * Returns: (transfer none) (nullable): an error of the code %SANDBOX_ERROR_MODULE which lives as long as @self,
 *   or %NULL
 *
 * Since: 1.0
 */
const GError *
sandbox_backend_info_get_load_error (SandboxBackendInfo *self)
{
  g_return_val_if_fail (SANDBOX_IS_BACKEND_INFO (self), NULL);

  return g_atomic_pointer_get (&self->load_error);
}
