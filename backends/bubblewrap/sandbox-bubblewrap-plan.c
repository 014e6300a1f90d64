/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-plan.h"

#include <string.h>

/* A mask holds nothing. */
#define MASK_BYTES 4096

static const char *const program_roots[] = { "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };
static const char *const custom_roots[] = { NULL };
static const char *const minimal_roots[] = { "/usr", NULL };
static const char *const system_roots[] = { "/usr", "/etc", "/opt", "/app", NULL };
static const char *const system_masks[] = { "/data", "/home", "/root", "/var" };

/* Of the host's /etc for the minimal view: what programs need and what holds no secret. */
static const char *const minimal_etc[] = {
  "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/fonts",
  /* public certificates: Debian, Fedora, Arch */
  "/etc/ssl/certs", "/etc/pki/ca-trust/extracted", "/etc/pki/tls/certs", "/etc/ca-certificates/extracted",
  "/etc/ssl/openssl.cnf"
};

/* What they need beside it to reach the network by name. */
static const char *const network_etc[] = { "/etc/services", "/etc/protocols" };

static const char *const devices[] = {
  "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"
};

static const char *const device_links[][2] = {
  { "/dev/fd", "/proc/self/fd" },
  { "/dev/stdin", "/proc/self/fd/0" },
  { "/dev/stdout", "/proc/self/fd/1" },
  { "/dev/stderr", "/proc/self/fd/2" },
  { "/dev/ptmx", "pts/ptmx" },
};

static const struct
{
  const char           *target;
  SandboxBubblewrapFile file;
} generated[] = {
  { "/etc/passwd", SANDBOX_BUBBLEWRAP_FILE_PASSWD },
  { "/etc/group", SANDBOX_BUBBLEWRAP_FILE_GROUP },
  { "/etc/hosts", SANDBOX_BUBBLEWRAP_FILE_HOSTS },
  { "/etc/nsswitch.conf", SANDBOX_BUBBLEWRAP_FILE_NSSWITCH },
};

/* A plan in the making. */
typedef struct
{
  const SandboxBubblewrapPlanInput *input;
  GPtrArray                        *steps;
} SandboxBubblewrapPlanner;

static void
sandbox_bubblewrap_step_free (gpointer data)
{
  SandboxBubblewrapStep *step = data;

  g_free (step->target);
  g_free (step->source);
  g_free (step);
}

void
sandbox_bubblewrap_plan_free (SandboxBubblewrapPlan *self)
{
  g_ptr_array_unref (self->steps);
  g_free (self);
}

const char *const *
sandbox_bubblewrap_plan_get_roots (SandboxView view)
{
  switch (view)
    {
    case SANDBOX_VIEW_MINIMAL:
      return minimal_roots;

    case SANDBOX_VIEW_SYSTEM:
      return system_roots;

    case SANDBOX_VIEW_CUSTOM:
    default:
      return custom_roots;
    }
}

gboolean
sandbox_bubblewrap_plan_is_within (const char *path,
                                   const char *directory)
{
  gsize length = strlen (directory);

  return strncmp (path, directory, length) == 0 &&
         (directory[length - 1] == '/' || path[length] == '\0' || path[length] == '/');
}

gboolean
sandbox_bubblewrap_plan_is_protection (SandboxMount *mount)
{
  return sandbox_mount_get_source (mount) == NULL && sandbox_mount_get_mode (mount) == SANDBOX_MOUNT_MODE_READ_ONLY;
}

static gboolean
sandbox_bubblewrap_plan_fail (GError     **error,
                              SandboxError code,
                              const char  *target,
                              const char  *problem)
{
  g_set_error (error, SANDBOX_ERROR, code, "“%s” in the sandbox %s", target, problem);

  return FALSE;
}

static SandboxBubblewrapStep *
sandbox_bubblewrap_planner_add (SandboxBubblewrapPlanner *self,
                                SandboxBubblewrapStepKind kind,
                                const char               *target,
                                const char               *source)
{
  SandboxBubblewrapStep *step = g_new0 (SandboxBubblewrapStep, 1);

  step->kind = kind;
  step->target = g_strdup (target);
  step->source = g_strdup (source);
  step->bind = SANDBOX_BUBBLEWRAP_BIND_BY_PATH;
  step->read_only = TRUE;
  g_ptr_array_add (self->steps, step);

  return step;
}

static SandboxBubblewrapKind
sandbox_bubblewrap_planner_look (SandboxBubblewrapPlanner *self,
                                 const char               *path,
                                 char                    **link)
{
  return self->input->look (path, link, self->input->look_data);
}

/* The step that is at @target, or NULL; later ones count. */
static SandboxBubblewrapStep *
sandbox_bubblewrap_planner_find (SandboxBubblewrapPlanner *self,
                                 const char               *target)
{
  for (guint i = self->steps->len; i > 0; i--)
    {
      SandboxBubblewrapStep *step = self->steps->pdata[i - 1];

      if (g_str_equal (step->target, target))
        return step;
    }

  return NULL;
}

/* The nearest step above @target, or NULL for the root. */
static SandboxBubblewrapStep *
sandbox_bubblewrap_planner_find_above (SandboxBubblewrapPlanner *self,
                                       const char               *target)
{
  g_autofree char *above = g_strdup (target);

  for (char *slash = strrchr (above, '/'); slash != NULL && slash != above; slash = strrchr (above, '/'))
    {
      SandboxBubblewrapStep *step = NULL;

      *slash = '\0';
      if ((step = sandbox_bubblewrap_planner_find (self, above)) != NULL)
        return step;
    }

  return NULL;
}

/* ---- The views ---- */

/* A directory of the host at its own place; where it is a link, the same link. */
static void
sandbox_bubblewrap_planner_add_root (SandboxBubblewrapPlanner *self,
                                     const char               *path)
{
  g_autofree char *link = NULL;

  switch (sandbox_bubblewrap_planner_look (self, path, &link))
    {
    case SANDBOX_BUBBLEWRAP_KIND_DIRECTORY:
      sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_BIND, path, path)->is_directory = TRUE;
      break;

    case SANDBOX_BUBBLEWRAP_KIND_LINK:
      sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_LINK, path, link);
      break;

    case SANDBOX_BUBBLEWRAP_KIND_MISSING:
    case SANDBOX_BUBBLEWRAP_KIND_FILE:
    default:
      break;
    }
}

static void
sandbox_bubblewrap_planner_add_roots (SandboxBubblewrapPlanner *self,
                                      const char *const        *roots)
{
  for (guint i = 0; roots[i] != NULL; i++)
    sandbox_bubblewrap_planner_add_root (self, roots[i]);
  for (guint i = 0; i < G_N_ELEMENTS (program_roots); i++)
    sandbox_bubblewrap_planner_add_root (self, program_roots[i]);
}

static void
sandbox_bubblewrap_planner_add_etc (SandboxBubblewrapPlanner *self,
                                    const char               *path)
{
  g_autofree char       *link = NULL;
  SandboxBubblewrapStep *step = NULL;
  SandboxBubblewrapKind  kind = sandbox_bubblewrap_planner_look (self, path, &link);

  /* The same link costs no mount where it leads to what is there anyway. */
  if (kind == SANDBOX_BUBBLEWRAP_KIND_LINK && g_str_has_prefix (link, "/usr/"))
    sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_LINK, path, link);
  else if (kind != SANDBOX_BUBBLEWRAP_KIND_MISSING)
    {
      step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_BIND, path, path);
      step->is_directory = kind == SANDBOX_BUBBLEWRAP_KIND_DIRECTORY;
      step->optional = TRUE;
    }
}

static void
sandbox_bubblewrap_planner_add_minimal (SandboxBubblewrapPlanner *self)
{
  const SandboxBubblewrapPlanInput *input = self->input;

  sandbox_bubblewrap_planner_add_roots (self, sandbox_bubblewrap_plan_get_roots (SANDBOX_VIEW_MINIMAL));
  sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_DIRECTORY, "/etc", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (minimal_etc); i++)
    sandbox_bubblewrap_planner_add_etc (self, minimal_etc[i]);
  for (guint i = 0; input->settings != NULL && input->settings[i] != NULL; i++)
    sandbox_bubblewrap_planner_add_etc (self, input->settings[i]);
  for (guint i = 0; input->share_network && i < G_N_ELEMENTS (network_etc); i++)
    sandbox_bubblewrap_planner_add_etc (self, network_etc[i]);
  /* By its content: where the host's is a link, it leads to what is not here. */
  if (input->share_network && input->resolver != NULL)
    sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_BIND, "/etc/resolv.conf", input->resolver)->optional = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (generated); i++)
    sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_GENERATED, generated[i].target, NULL)->file = generated[i].file;
}

static void
sandbox_bubblewrap_planner_add_mask (SandboxBubblewrapPlanner *self,
                                     const char               *target,
                                     SandboxBubblewrapKind     kind,
                                     SandboxBubblewrapOrigin   origin)
{
  SandboxBubblewrapStep *step = NULL;

  if (kind == SANDBOX_BUBBLEWRAP_KIND_DIRECTORY)
    {
      step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_MEMORY, target, NULL);
      step->size = MASK_BYTES;
      step->seal = TRUE;
    }
  else
    step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_NOTHING, target, NULL);
  step->mask = TRUE;
  step->over = TRUE;
  step->origin = origin;
}

static void
sandbox_bubblewrap_planner_add_system (SandboxBubblewrapPlanner *self)
{
  const SandboxBubblewrapPlanInput *input = self->input;

  sandbox_bubblewrap_planner_add_roots (self, sandbox_bubblewrap_plan_get_roots (SANDBOX_VIEW_SYSTEM));
  /* The root is empty and read-only, so an empty directory is all that hiding them takes. */
  for (guint i = 0; i < G_N_ELEMENTS (system_masks); i++)
    sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_DIRECTORY, system_masks[i], NULL)->mask = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (generated); i++)
    {
      g_autofree char       *link = NULL;
      SandboxBubblewrapStep *step = NULL;

      if (sandbox_bubblewrap_planner_look (self, generated[i].target, &link) != SANDBOX_BUBBLEWRAP_KIND_FILE)
        continue;
      step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_GENERATED, generated[i].target, NULL);
      step->file = generated[i].file;
      step->over = TRUE;
    }
  for (guint i = 0; input->secrets != NULL && input->secrets[i] != NULL; i++)
    {
      g_autofree char *link = NULL;

      sandbox_bubblewrap_planner_add_mask (self, input->secrets[i],
                                           sandbox_bubblewrap_planner_look (self, input->secrets[i], &link),
                                           SANDBOX_BUBBLEWRAP_ORIGIN_VIEW);
    }
  /* The link to it is in the host's /etc. */
  if (input->share_network && input->resolver != NULL &&
      sandbox_bubblewrap_planner_find_above (self, input->resolver) == NULL)
    sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_BIND, input->resolver, input->resolver)->optional = TRUE;
}

/* What every view has. The device nodes are bound one by one rather than by --dev: that would put the sandbox into
 * a second user namespace, in which the agent could not mount. The devpts is the agent's. */
static void
sandbox_bubblewrap_planner_add_kernel (SandboxBubblewrapPlanner *self)
{
  SandboxLimits *limits = sandbox_profile_get_limits (self->input->profile);
  g_autoptr (SandboxLimits) defaults = sandbox_limits_new ();
  SandboxBubblewrapStep *step = NULL;

  if (limits == NULL)
    limits = defaults;

  switch (self->input->proc)
    {
    case SANDBOX_PROC_MODE_NONE:
      sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_DIRECTORY, "/proc", NULL);
      break;

    case SANDBOX_PROC_MODE_SELF_EXE:
      sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_DIRECTORY, "/proc", NULL);
      sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_LINK, "/proc/self/exe",
                                      sandbox_profile_get_self_exe (self->input->profile));
      break;

    case SANDBOX_PROC_MODE_FRESH:
    case SANDBOX_PROC_MODE_AUTO:
    default:
      sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_PROC, "/proc", NULL)->seal = self->input->seal_proc;
      for (guint i = 0; self->input->seal_proc && self->input->proc_secrets != NULL && self->input->proc_secrets[i] != NULL; i++)
        sandbox_bubblewrap_planner_add_mask (self, self->input->proc_secrets[i], SANDBOX_BUBBLEWRAP_KIND_FILE,
                                             SANDBOX_BUBBLEWRAP_ORIGIN_VIEW);
    }

  sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_MEMORY, "/dev", NULL)->seal = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (devices); i++)
    sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_DEVICE, devices[i], devices[i]);
  for (guint i = 0; i < G_N_ELEMENTS (device_links); i++)
    sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_LINK, device_links[i][0], device_links[i][1]);
  sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_DIRECTORY, "/dev/pts", NULL);

  step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_MEMORY, "/dev/shm", NULL);
  step->size = sandbox_limits_get_shm_bytes (limits);
  step->sticky = TRUE;
  step->read_only = FALSE;
  step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_MEMORY, "/tmp", NULL);
  step->size = sandbox_limits_get_tmp_bytes (limits);
  step->sticky = TRUE;
  step->read_only = FALSE;

  sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_DIRECTORY, "/run", NULL);
  step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_GENERATED, SANDBOX_BUBBLEWRAP_AGENT, NULL);
  step->file = SANDBOX_BUBBLEWRAP_FILE_AGENT;
  /* For the door to a gateway; it stays empty where there is none. */
  sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_DIRECTORY, SANDBOX_BUBBLEWRAP_DOORS, NULL);
}

/* Of a directory that the view shows, the host's own state is no part. What is not there yet could not be hidden. */
static gboolean
sandbox_bubblewrap_planner_hide_state (SandboxBubblewrapPlanner *self,
                                       GError                  **error)
{
  const char            *state = self->input->state_directory;
  SandboxBubblewrapStep *above = NULL;
  g_autofree char       *link = NULL;

  if (state == NULL)
    return TRUE;
  if ((above = sandbox_bubblewrap_planner_find (self, state)) == NULL)
    above = sandbox_bubblewrap_planner_find_above (self, state);
  if (above == NULL || above->kind != SANDBOX_BUBBLEWRAP_STEP_BIND)
    return TRUE;
  if (sandbox_bubblewrap_planner_look (self, state, &link) != SANDBOX_BUBBLEWRAP_KIND_DIRECTORY)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID,
                   "The state directory “%s” is where this view shows the host, and it has to be made before it can be hidden there",
                   state);
      return FALSE;
    }
  sandbox_bubblewrap_planner_add_mask (self, state, SANDBOX_BUBBLEWRAP_KIND_DIRECTORY, SANDBOX_BUBBLEWRAP_ORIGIN_VIEW);

  return TRUE;
}

/* ---- What the profile adds ---- */

/* What a view has where the profile wants something else. */
static void
sandbox_bubblewrap_planner_drop (SandboxBubblewrapPlanner *self,
                                 const char               *target)
{
  for (guint i = self->steps->len; i > 0; i--)
    {
      SandboxBubblewrapStep *step = self->steps->pdata[i - 1];

      if (step->origin == SANDBOX_BUBBLEWRAP_ORIGIN_VIEW && sandbox_bubblewrap_plan_is_within (step->target, target))
        g_ptr_array_remove_index (self->steps, i - 1);
    }
}

/* Finds out what is at @target of the host's before anything is mounted there. FALSE with an error where nothing
 * can be mounted. *@kind is MISSING where the sandbox has no directory of the host, and the place is made. */
static gboolean
sandbox_bubblewrap_planner_see (SandboxBubblewrapPlanner *self,
                                const char               *target,
                                gboolean                 *is_host,
                                SandboxBubblewrapKind    *kind,
                                GError                  **error)
{
  SandboxBubblewrapStep *above = sandbox_bubblewrap_planner_find_above (self, target);
  g_autofree char       *path = NULL;

  *is_host = FALSE;
  *kind = SANDBOX_BUBBLEWRAP_KIND_MISSING;
  if (above == NULL || above->kind == SANDBOX_BUBBLEWRAP_STEP_DIRECTORY || above->kind == SANDBOX_BUBBLEWRAP_STEP_MEMORY)
    return TRUE;
  if (above->kind == SANDBOX_BUBBLEWRAP_STEP_LINK)
    return sandbox_bubblewrap_plan_fail (error, SANDBOX_ERROR_INVALID, target, "is behind a link");
  if (above->kind != SANDBOX_BUBBLEWRAP_STEP_BIND || !above->is_directory)
    return sandbox_bubblewrap_plan_fail (error, SANDBOX_ERROR_INVALID, target, "is not in a directory");
  if (above->bind == SANDBOX_BUBBLEWRAP_BIND_BY_AGENT)
    return sandbox_bubblewrap_plan_fail (error, SANDBOX_ERROR_NOT_SUPPORTED, target,
                                         "is below a mount that the host can only hand over as a whole");

  /* Each name on the way, for bwrap would follow a link. */
  *is_host = TRUE;
  path = g_strconcat (above->source, target + strlen (above->target), NULL);
  for (char *slash = path + strlen (above->source); slash != NULL;)
    {
      g_autofree char *link = NULL;

      slash = strchr (slash + 1, '/');
      if (slash != NULL)
        *slash = '\0';
      *kind = sandbox_bubblewrap_planner_look (self, path, &link);
      if (slash != NULL)
        *slash = '/';
      if (*kind == SANDBOX_BUBBLEWRAP_KIND_LINK)
        return sandbox_bubblewrap_plan_fail (error, SANDBOX_ERROR_INVALID, target, "is a link, or behind one");
      if (*kind == SANDBOX_BUBBLEWRAP_KIND_MISSING)
        return sandbox_bubblewrap_plan_fail (error, SANDBOX_ERROR_NOT_FOUND, target,
                                             "would be in a directory of the host, and is not there");
    }

  return TRUE;
}

static gboolean
sandbox_bubblewrap_planner_add_mount (SandboxBubblewrapPlanner *self,
                                      SandboxMount             *mount,
                                      guint                     index,
                                      GError                  **error)
{
  const SandboxBubblewrapPlanSource *source = &self->input->sources[index];
  const char                        *target = sandbox_mount_get_target (mount);
  SandboxBubblewrapStep             *step = NULL;
  SandboxBubblewrapKind              kind = SANDBOX_BUBBLEWRAP_KIND_MISSING;
  gboolean                           is_host = FALSE;

  if (sandbox_bubblewrap_plan_is_protection (mount))
    {
      step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_PROTECT, target, NULL);
      step->origin = SANDBOX_BUBBLEWRAP_ORIGIN_WORKSPACE;
      step->index = index;
      return TRUE;
    }

  if (!sandbox_bubblewrap_planner_see (self, target, &is_host, &kind, error))
    return FALSE;

  if (sandbox_mount_get_mode (mount) == SANDBOX_MOUNT_MODE_MASK)
    {
      if (is_host)
        sandbox_bubblewrap_planner_add_mask (self, target, kind, SANDBOX_BUBBLEWRAP_ORIGIN_PROFILE);
      else
        {
          step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_DIRECTORY, target, NULL);
          step->origin = SANDBOX_BUBBLEWRAP_ORIGIN_PROFILE;
          step->mask = TRUE;
        }
      ((SandboxBubblewrapStep *) self->steps->pdata[self->steps->len - 1])->index = index;
      return TRUE;
    }

  if (is_host && source->is_directory != (kind == SANDBOX_BUBBLEWRAP_KIND_DIRECTORY))
    return sandbox_bubblewrap_plan_fail (error, SANDBOX_ERROR_INVALID, target,
                                         source->is_directory ? "is no directory of the host, and one should be mounted there"
                                                              : "is a directory of the host, and a file should be mounted there");

  step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_BIND, target, source->path);
  step->origin = SANDBOX_BUBBLEWRAP_ORIGIN_PROFILE;
  step->index = index;
  step->bind = source->bind;
  step->is_directory = source->is_directory;
  step->read_only = sandbox_mount_get_mode (mount) == SANDBOX_MOUNT_MODE_READ_ONLY;
  step->over = is_host;

  return TRUE;
}

static int
sandbox_bubblewrap_mount_compare (gconstpointer a,
                                  gconstpointer b)
{
  return strcmp (sandbox_mount_get_target (*(SandboxMount *const *) a), sandbox_mount_get_target (*(SandboxMount *const *) b));
}

static gboolean
sandbox_bubblewrap_planner_add_mounts (SandboxBubblewrapPlanner *self,
                                       GError                  **error)
{
  GListModel *mounts = sandbox_profile_get_mounts (self->input->profile);
  g_autoptr (GPtrArray) sorted = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GHashTable) places = g_hash_table_new (NULL, NULL);
  guint n_by_agent = self->input->workspace_bind == SANDBOX_BUBBLEWRAP_BIND_BY_AGENT ? 1 : 0;

  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      SandboxMount *mount = g_list_model_get_item (mounts, i);

      g_ptr_array_add (sorted, mount);
      /* One mount may stand there twice only with one target, which no valid profile has. */
      g_hash_table_insert (places, mount, GUINT_TO_POINTER (i));
      if (sandbox_bubblewrap_plan_is_protection (mount) ||
          (sandbox_mount_get_mode (mount) != SANDBOX_MOUNT_MODE_MASK &&
           self->input->sources[i].bind == SANDBOX_BUBBLEWRAP_BIND_BY_AGENT))
        n_by_agent++;
      sandbox_bubblewrap_planner_drop (self, sandbox_mount_get_target (mount));
    }
  if (n_by_agent > SANDBOX_AGENT_CHANNEL_MAX_MOUNTS)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                   "There are %u mounts, with that of the workspace, that only the agent can make; the limit is %d",
                   n_by_agent, SANDBOX_AGENT_CHANNEL_MAX_MOUNTS);
      return FALSE;
    }

  g_ptr_array_sort (sorted, sandbox_bubblewrap_mount_compare);
  for (guint i = 0; i < sorted->len; i++)
    {
      guint index = GPOINTER_TO_UINT (g_hash_table_lookup (places, sorted->pdata[i]));

      if (!sandbox_bubblewrap_planner_add_mount (self, sorted->pdata[i], index, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
sandbox_bubblewrap_planner_add_workspace (SandboxBubblewrapPlanner *self,
                                          GError                  **error)
{
  const char            *target = sandbox_profile_get_workspace_target (self->input->profile);
  SandboxBubblewrapStep *step = NULL;
  SandboxBubblewrapKind  kind = SANDBOX_BUBBLEWRAP_KIND_MISSING;
  gboolean               is_host = FALSE;

  sandbox_bubblewrap_planner_drop (self, target);
  if (!sandbox_bubblewrap_planner_see (self, target, &is_host, &kind, error))
    return FALSE;
  if (is_host && kind != SANDBOX_BUBBLEWRAP_KIND_DIRECTORY)
    return sandbox_bubblewrap_plan_fail (error, SANDBOX_ERROR_INVALID, target,
                                         "is no directory of the host, and the workspace should be there");

  step = sandbox_bubblewrap_planner_add (self, SANDBOX_BUBBLEWRAP_STEP_BIND, target, self->input->workspace_path);
  step->origin = SANDBOX_BUBBLEWRAP_ORIGIN_WORKSPACE;
  step->bind = self->input->workspace_bind;
  step->is_directory = TRUE;
  step->read_only = sandbox_profile_get_workspace_read_only (self->input->profile);
  step->over = is_host;

  return TRUE;
}

/* A link to nothing would not say what is wrong. */
static gboolean
sandbox_bubblewrap_planner_check_self_exe (SandboxBubblewrapPlanner *self,
                                           GError                  **error)
{
  const char            *self_exe = sandbox_profile_get_self_exe (self->input->profile);
  const char            *workspace = sandbox_profile_get_workspace_target (self->input->profile);
  g_autofree char       *target = g_strdup (self_exe);
  g_autofree char       *path = NULL;
  g_autofree char       *link = NULL;
  SandboxBubblewrapStep *step = NULL;
  SandboxBubblewrapKind  kind = SANDBOX_BUBBLEWRAP_KIND_MISSING;

  /* What commands can change is their own affair. */
  if (self_exe == NULL || sandbox_bubblewrap_plan_is_within (self_exe, workspace))
    return TRUE;

  step = sandbox_bubblewrap_planner_find_above (self, target);
  if (step != NULL && step->kind == SANDBOX_BUBBLEWRAP_STEP_LINK)
    {
      /* /bin to usr/bin */
      char *real = g_strconcat (step->source[0] == '/' ? "" : "/", step->source, target + strlen (step->target), NULL);

      g_free (target);
      target = real;
      step = sandbox_bubblewrap_planner_find_above (self, target);
    }
  if (sandbox_bubblewrap_planner_find (self, target) != NULL)
    step = sandbox_bubblewrap_planner_find (self, target);

  if (step != NULL && step->kind == SANDBOX_BUBBLEWRAP_STEP_BIND)
    {
      path = g_strconcat (step->source, target + strlen (step->target), NULL);
      kind = sandbox_bubblewrap_planner_look (self, path, &link);
    }
  if (kind == SANDBOX_BUBBLEWRAP_KIND_FILE || kind == SANDBOX_BUBBLEWRAP_KIND_LINK)
    return TRUE;

  return sandbox_bubblewrap_plan_fail (error, SANDBOX_ERROR_NOT_FOUND, self_exe, "is the self-exe, and no file is there");
}

/* By name, so that what is above comes first; what came first stays before what is at the same place. */
static int
sandbox_bubblewrap_step_compare (gconstpointer a,
                                 gconstpointer b)
{
  const SandboxBubblewrapStep *first = *(SandboxBubblewrapStep *const *) a;
  const SandboxBubblewrapStep *second = *(SandboxBubblewrapStep *const *) b;
  int                          order = strcmp (first->target, second->target);

  return order != 0 ? order : (int) first->origin - (int) second->origin;
}

SandboxBubblewrapPlan *
sandbox_bubblewrap_plan_new (const SandboxBubblewrapPlanInput *input,
                             GError                          **error)
{
  g_autoptr (GPtrArray) steps = g_ptr_array_new_with_free_func (sandbox_bubblewrap_step_free);
  SandboxBubblewrapPlanner planner = { input, steps };
  SandboxBubblewrapPlan   *self = NULL;

  switch (sandbox_profile_get_view (input->profile))
    {
    case SANDBOX_VIEW_MINIMAL:
      sandbox_bubblewrap_planner_add_minimal (&planner);
      break;

    case SANDBOX_VIEW_SYSTEM:
      sandbox_bubblewrap_planner_add_system (&planner);
      break;

    case SANDBOX_VIEW_CUSTOM:
      break;

    default:
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "This view is unknown here");
      return NULL;
    }

  if (!sandbox_bubblewrap_planner_hide_state (&planner, error) ||
      !sandbox_bubblewrap_planner_add_mounts (&planner, error) ||
      !sandbox_bubblewrap_planner_add_workspace (&planner, error) ||
      (input->proc == SANDBOX_PROC_MODE_SELF_EXE && !sandbox_bubblewrap_planner_check_self_exe (&planner, error)))
    return NULL;

  /* Nothing of a profile can be at these places, so none of them is dropped. */
  sandbox_bubblewrap_planner_add_kernel (&planner);
  g_ptr_array_sort (steps, sandbox_bubblewrap_step_compare);

  self = g_new (SandboxBubblewrapPlan, 1);
  self->steps = g_steal_pointer (&steps);
  self->n_slots = 0;
  for (guint i = 0; i < self->steps->len; i++)
    {
      SandboxBubblewrapStep *step = self->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_BIND && step->bind == SANDBOX_BUBBLEWRAP_BIND_BY_FD)
        step->slot = self->n_slots++;
    }

  return self;
}
