/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-listing.h"

/**
 * SandboxListing:
 *
 * What is in a directory of a workspace: a list of [class@Gio.FileInfo], in no order.
 *
 * Each of them has
 *
 * - `standard::name`, in the form that paths of the session take, so that the entry can be asked for:
 *   bytes that are not UTF-8, and backslashes, are written `\xHH`;
 * - `standard::display-name`, which is the same, short and without anything that a terminal would act
 *   upon;
 * - `standard::type`: regular, directory, symbolic link, or special for all else;
 * - `standard::size`;
 * - `unix::mode`, `time::modified` and `time::modified-usec`, unless the entry may not be looked at;
 * - `standard::symlink-target` for a symbolic link, which nothing ever follows: in the form of names,
 *   and empty where it may not be read.
 *
 * A guest may change the directory at any time: what is listed may be gone, and something else may be
 * there.
 *
 * ```c
 * static void
 * show (SandboxListing *listing)
 * {
 *   guint n_entries = g_list_model_get_n_items (G_LIST_MODEL (listing));
 *
 *   for (guint i = 0; i < n_entries; i++)
 *     {
 *       g_autoptr (GFileInfo) info = g_list_model_get_item (G_LIST_MODEL (listing), i);
 *
 *       g_print ("%s\n", g_file_info_get_display_name (info));
 *     }
 *   if (sandbox_listing_get_truncated (listing))
 *     g_print ("and more\n");
 * }
 * ```
 *
 * Since: 1.0
 */
struct _SandboxListing
{
  GObject parent_instance;

  GPtrArray *entries; /* GFileInfo */
  gboolean   truncated;
};

typedef enum
{
  PROP_TRUNCATED = 1,
} SandboxListingProps;

static GParamSpec *properties[PROP_TRUNCATED + 1];

static void sandbox_listing_model_init (GListModelInterface *iface);

/* clang-format off */
G_DEFINE_FINAL_TYPE_WITH_CODE (SandboxListing, sandbox_listing, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, sandbox_listing_model_init))
/* clang-format on */

static GType
sandbox_listing_get_item_type (GListModel *model)
{
  return G_TYPE_FILE_INFO;
}

static guint
sandbox_listing_get_n_items (GListModel *model)
{
  return SANDBOX_LISTING (model)->entries->len;
}

static gpointer
sandbox_listing_get_item (GListModel *model,
                          guint       position)
{
  GPtrArray *entries = SANDBOX_LISTING (model)->entries;

  return position < entries->len ? g_object_ref (entries->pdata[position]) : NULL;
}

static void
sandbox_listing_model_init (GListModelInterface *iface)
{
  iface->get_item_type = sandbox_listing_get_item_type;
  iface->get_n_items = sandbox_listing_get_n_items;
  iface->get_item = sandbox_listing_get_item;
}

static void
sandbox_listing_get_property (GObject    *object,
                              guint       prop_id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  SandboxListing *self = SANDBOX_LISTING (object);

  switch ((SandboxListingProps) prop_id)
    {
    case PROP_TRUNCATED:
      g_value_set_boolean (value, sandbox_listing_get_truncated (self));
      break;
    }
}

static void
sandbox_listing_set_property (GObject      *object,
                              guint         prop_id,
                              const GValue *value,
                              GParamSpec   *pspec)
{
  SandboxListing *self = SANDBOX_LISTING (object);

  switch ((SandboxListingProps) prop_id)
    {
    case PROP_TRUNCATED:
      sandbox_listing_set_truncated (self, g_value_get_boolean (value));
      break;
    }
}

static void
sandbox_listing_finalize (GObject *object)
{
  SandboxListing *self = SANDBOX_LISTING (object);

  g_ptr_array_unref (self->entries);

  G_OBJECT_CLASS (sandbox_listing_parent_class)->finalize (object);
}

static void
sandbox_listing_class_init (SandboxListingClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = sandbox_listing_finalize;
  object_class->get_property = sandbox_listing_get_property;
  object_class->set_property = sandbox_listing_set_property;

  /**
   * SandboxListing:truncated:
   *
   * Whether there was more than a listing holds.
   *
   * Since: 1.0
   */
  properties[PROP_TRUNCATED] =
      g_param_spec_boolean ("truncated", NULL, NULL, FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_listing_init (SandboxListing *self)
{
  self->entries = g_ptr_array_new_with_free_func (g_object_unref);
}

/**
 * sandbox_listing_new:
 *
 * Makes an empty listing, for a driver to answer with.
 *
 * Returns: (transfer full): a listing
 *
 * Since: 1.0
 */
SandboxListing *
sandbox_listing_new (void)
{
  return g_object_new (SANDBOX_TYPE_LISTING, NULL);
}

/**
 * sandbox_listing_add:
 * @self: a listing
 * @info: an entry, with the attributes that [class@Sandbox.Listing] names
 *
 * Adds an entry.
 *
 * Since: 1.0
 */
void
sandbox_listing_add (SandboxListing *self,
                     GFileInfo      *info)
{
  g_return_if_fail (SANDBOX_IS_LISTING (self));
  g_return_if_fail (G_IS_FILE_INFO (info));

  g_ptr_array_add (self->entries, g_object_ref (info));
  g_list_model_items_changed (G_LIST_MODEL (self), self->entries->len - 1, 0, 1);
}

/**
 * sandbox_listing_get_truncated: (get-property truncated)
 * @self: a listing
 *
 * Tells whether there was more than a listing holds.
 *
 * Returns: whether entries are missing
 *
 * Since: 1.0
 */
gboolean
sandbox_listing_get_truncated (SandboxListing *self)
{
  g_return_val_if_fail (SANDBOX_IS_LISTING (self), FALSE);

  return self->truncated;
}

/**
 * sandbox_listing_set_truncated: (set-property truncated)
 * @self: a listing
 * @truncated: whether entries are missing
 *
 * Says that there was more than the driver was asked for.
 *
 * Since: 1.0
 */
void
sandbox_listing_set_truncated (SandboxListing *self,
                               gboolean        truncated)
{
  g_return_if_fail (SANDBOX_IS_LISTING (self));

  if (self->truncated == !!truncated)
    return;
  self->truncated = !!truncated;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TRUNCATED]);
}
