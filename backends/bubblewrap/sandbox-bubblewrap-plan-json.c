/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-plan-json.h"

#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

static void
sandbox_bubblewrap_json_add_text (JsonBuilder *builder,
                                  const char  *name,
                                  const char  *text)
{
  g_autofree char *valid = text != NULL ? g_utf8_make_valid (text, -1) : NULL;

  if (name != NULL)
    json_builder_set_member_name (builder, name);
  if (valid != NULL)
    json_builder_add_string_value (builder, valid);
  else
    json_builder_add_null_value (builder);
}

static void
sandbox_bubblewrap_json_add_nick (JsonBuilder *builder,
                                  const char  *name,
                                  GType        type,
                                  int          value)
{
  g_autoptr (GEnumClass) klass = g_type_class_ref (type);

  sandbox_bubblewrap_json_add_text (builder, name, g_enum_get_value (klass, value)->value_nick);
}

static void
sandbox_bubblewrap_json_add_strings (JsonBuilder       *builder,
                                     const char        *name,
                                     const char *const *strings)
{
  json_builder_set_member_name (builder, name);
  json_builder_begin_array (builder);
  for (guint i = 0; strings != NULL && strings[i] != NULL; i++)
    sandbox_bubblewrap_json_add_text (builder, NULL, strings[i]);
  json_builder_end_array (builder);
}

static void
sandbox_bubblewrap_json_add_arguments (JsonBuilder *builder,
                                       GBytes      *arguments)
{
  gsize       size = 0;
  const char *data = g_bytes_get_data (arguments, &size);

  json_builder_set_member_name (builder, "arguments");
  json_builder_begin_array (builder);
  for (const char *at = data; at < data + size; at += strlen (at) + 1)
    sandbox_bubblewrap_json_add_text (builder, NULL, at);
  json_builder_end_array (builder);
}

static int
sandbox_bubblewrap_json_compare (gconstpointer a,
                                 gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
sandbox_bubblewrap_json_add_environment (JsonBuilder       *builder,
                                         const char *const *environment,
                                         const char *const *more)
{
  const char *const *const sources[] = { environment, more };
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *last = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    {
      for (guint j = 0; sources[i] != NULL && sources[i][j] != NULL; j++)
        g_ptr_array_add (names, g_strndup (sources[i][j], strcspn (sources[i][j], "=")));
    }
  g_ptr_array_sort (names, sandbox_bubblewrap_json_compare);

  json_builder_set_member_name (builder, "environment");
  json_builder_begin_array (builder);
  for (guint i = 0; i < names->len; i++)
    {
      if (g_strcmp0 (last, names->pdata[i]) != 0)
        sandbox_bubblewrap_json_add_text (builder, NULL, names->pdata[i]);
      last = names->pdata[i];
    }
  json_builder_end_array (builder);
}

static const char *
sandbox_bubblewrap_json_describe (const SandboxBubblewrapStep *step)
{
  if (step->mask)
    return "mask";

  switch (step->kind)
    {
    case SANDBOX_BUBBLEWRAP_STEP_DIRECTORY:
      return "directory";

    case SANDBOX_BUBBLEWRAP_STEP_MEMORY:
      return "memory";

    case SANDBOX_BUBBLEWRAP_STEP_LINK:
      return "link";

    case SANDBOX_BUBBLEWRAP_STEP_BIND:
      return step->read_only ? "read-only" : "read-write";

    case SANDBOX_BUBBLEWRAP_STEP_PROTECT:
      return "read-only";

    case SANDBOX_BUBBLEWRAP_STEP_DEVICE:
      return "device";

    case SANDBOX_BUBBLEWRAP_STEP_PROC:
      return "proc";

    case SANDBOX_BUBBLEWRAP_STEP_GENERATED:
      return "generated";

    case SANDBOX_BUBBLEWRAP_STEP_NOTHING:
    default:
      return "mask";
    }
}

static void
sandbox_bubblewrap_json_add_mounts (JsonBuilder                 *builder,
                                    const SandboxBubblewrapPlan *plan)
{
  json_builder_set_member_name (builder, "mounts");
  json_builder_begin_array (builder);
  for (guint i = 0; i < plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = plan->steps->pdata[i];

      json_builder_begin_object (builder);
      sandbox_bubblewrap_json_add_text (builder, "target", step->target);
      sandbox_bubblewrap_json_add_text (builder, "source", step->source);
      sandbox_bubblewrap_json_add_text (builder, "mode", sandbox_bubblewrap_json_describe (step));
      if (step->size > 0)
        {
          json_builder_set_member_name (builder, "bytes");
          json_builder_add_int_value (builder, (gint64) step->size);
        }
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
}

/* All of them, 0 for what is unset. */
static void
sandbox_bubblewrap_json_add_limits (JsonBuilder   *builder,
                                    SandboxLimits *set)
{
  g_autoptr (SandboxLimits) limits = set != NULL ? g_object_ref (set) : sandbox_limits_new ();
  guint                   n_properties = 0;
  g_autofree GParamSpec **properties = g_object_class_list_properties (G_OBJECT_GET_CLASS (limits), &n_properties);

  json_builder_set_member_name (builder, "limits");
  json_builder_begin_object (builder);
  for (guint i = 0; i < n_properties; i++)
    {
      g_auto (GValue) value = G_VALUE_INIT;
      g_auto (GValue) number = G_VALUE_INIT;

      g_value_init (&number, G_TYPE_INT64);
      g_object_get_property (G_OBJECT (limits), properties[i]->name, &value);
      g_value_transform (&value, &number);
      json_builder_set_member_name (builder, properties[i]->name);
      json_builder_add_int_value (builder, g_value_get_int64 (&number));
    }
  json_builder_end_object (builder);
}

static void
sandbox_bubblewrap_json_add_identity (JsonBuilder    *builder,
                                      SandboxProfile *profile)
{
  /* "session": a user of its own, claimed when the session is created. */
  const char *host = geteuid () != 0                                                    ? "caller"
                     : sandbox_profile_get_launcher_uid (profile) != -1                 ? "launcher"
                     : sandbox_profile_get_identity (profile) == SANDBOX_IDENTITY_OWNER ? "owner"
                     : sandbox_profile_get_identity (profile) == SANDBOX_IDENTITY_HOST  ? "caller"
                                                                                        : "session";

  json_builder_set_member_name (builder, "identity");
  json_builder_begin_object (builder);
  sandbox_bubblewrap_json_add_text (builder, "host", host);
  json_builder_set_member_name (builder, "guest-uid");
  json_builder_add_int_value (builder, sandbox_profile_get_guest_uid (profile));
  json_builder_set_member_name (builder, "guest-gid");
  json_builder_add_int_value (builder, sandbox_profile_get_guest_gid (profile));
  json_builder_end_object (builder);
}

static void
sandbox_bubblewrap_json_add_network (JsonBuilder             *builder,
                                     SandboxBubblewrapNetwork network)
{
  g_autofree char *port = g_strdup_printf ("127.0.0.1:%d", SANDBOX_GATEWAY_PORT);
  const char      *doors[3] = { NULL };
  const char      *name = "none";

  if (network == SANDBOX_BUBBLEWRAP_NETWORK_HOST)
    name = "host";
  if (sandbox_bubblewrap_network_has_door (network))
    {
      name = "gateway";
      doors[0] = SANDBOX_GATEWAY_PATH;
    }
  if (network == SANDBOX_BUBBLEWRAP_NETWORK_GATEWAY_LOOPBACK)
    doors[1] = port;
  sandbox_bubblewrap_json_add_text (builder, "network", name);
  sandbox_bubblewrap_json_add_strings (builder, "doors", doors);
}

char *
sandbox_bubblewrap_plan_to_json (const SandboxBubblewrapPlan *self,
                                 const char                  *executable,
                                 GBytes                      *arguments,
                                 SandboxCommand              *command,
                                 const char *const           *environment,
                                 SandboxProfile              *profile,
                                 SandboxBubblewrapNetwork     network)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  const char      *workspace = sandbox_profile_get_workspace_target (profile);
  const char      *cwd = sandbox_command_get_cwd (command);
  g_autofree char *directory = g_str_equal (cwd, ".") ? g_strdup (workspace) : g_strconcat (workspace, "/", cwd, NULL);

  json_builder_begin_object (builder);
  sandbox_bubblewrap_json_add_text (builder, "executable", executable);
  sandbox_bubblewrap_json_add_arguments (builder, arguments);
  sandbox_bubblewrap_json_add_strings (builder, "command", sandbox_command_get_argv (command));
  sandbox_bubblewrap_json_add_text (builder, "cwd", directory);
  sandbox_bubblewrap_json_add_environment (builder, environment, sandbox_command_get_environment (command));
  json_builder_set_member_name (builder, "timeout-ms");
  json_builder_add_int_value (builder, sandbox_command_get_timeout_ms (command));
  sandbox_bubblewrap_json_add_nick (builder, "view", SANDBOX_TYPE_VIEW, sandbox_profile_get_view (profile));
  sandbox_bubblewrap_json_add_nick (builder, "proc", SANDBOX_TYPE_PROC_MODE, sandbox_profile_get_proc (profile));
  sandbox_bubblewrap_json_add_nick (builder, "filter", SANDBOX_TYPE_FILTER, sandbox_profile_get_filter (profile));
  sandbox_bubblewrap_json_add_text (builder, "self-exe", sandbox_profile_get_self_exe (profile));
  sandbox_bubblewrap_json_add_mounts (builder, self);
  sandbox_bubblewrap_json_add_network (builder, network);
  sandbox_bubblewrap_json_add_limits (builder, sandbox_command_get_limits (command));
  sandbox_bubblewrap_json_add_identity (builder, profile);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);

  return json_to_string (root, TRUE);
}
