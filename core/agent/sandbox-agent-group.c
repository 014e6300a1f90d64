/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-group-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-control-group-private.h"
#include "sandbox-error-private.h"
#include "sandbox-fd-private.h"
#include "sandbox-fork-private.h"
#include "sandbox-proc-private.h"
#include "sandbox-worker-private.h"

/* The kernel takes no larger number of tasks, and no share of more processors than a machine can have. */
#define TASKS_MAX 4194304
#define CPU_PERCENT_MAX (100 * 65536)
#define CPU_PERIOD_US 100000

/**
 * SandboxAgentGroup:
 *
 * The control group of one sandbox, below a [class@Sandbox.ControlGroup].
 *
 * The process that builds the sandbox enters it first, and so everything that comes of it is in there. The channel to
 * the agent takes it over, see [method@Sandbox.AgentChannel.take_group]; at its end the group is removed.
 *
 * Since: 1.0
 */

struct _SandboxAgentGroup
{
  GObject parent_instance;

  SandboxControlGroup *parent;
  SandboxLimits       *limits;
  char                *name;
  int                  directory_fd; /* locked, which says that its owner lives; like the other gone in a forked child */
  int                  procs_fd;
  guint                generation;
  gint                 ended; /* atomic */
};

G_DEFINE_FINAL_TYPE (SandboxAgentGroup, sandbox_agent_group, G_TYPE_OBJECT)

static void
sandbox_agent_group_dispose (GObject *object)
{
  sandbox_agent_group_end (SANDBOX_AGENT_GROUP (object));

  G_OBJECT_CLASS (sandbox_agent_group_parent_class)->dispose (object);
}

static void
sandbox_agent_group_finalize (GObject *object)
{
  SandboxAgentGroup *self = SANDBOX_AGENT_GROUP (object);

  sandbox_fork_close (&self->procs_fd);
  sandbox_fork_close (&self->directory_fd);
  g_clear_object (&self->parent);
  g_clear_object (&self->limits);
  g_free (self->name);

  G_OBJECT_CLASS (sandbox_agent_group_parent_class)->finalize (object);
}

static void
sandbox_agent_group_class_init (SandboxAgentGroupClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = sandbox_agent_group_dispose;
  object_class->finalize = sandbox_agent_group_finalize;
}

static void
sandbox_agent_group_init (SandboxAgentGroup *self)
{
  self->directory_fd = -1;
  self->procs_fd = -1;
  self->generation = sandbox_fork_get_generation ();
}

/* ---- Limits ----------------------------------------------------------------------------------------------------- */

static gboolean
sandbox_agent_group_write_limit (int         fd,
                                 const char *limit,
                                 const char *file,
                                 const char *text,
                                 GError    **error)
{
  if (sandbox_control_group_write (fd, file, text))
    return TRUE;

  g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE,
               "The limit “%s” cannot be set: %s: %s", limit, file, g_strerror (errno));

  return FALSE;
}

gboolean
sandbox_agent_group_write_limits (int            fd,
                                  SandboxLimits *limits,
                                  GError       **error)
{
  const guint64 memory = sandbox_limits_get_memory_bytes (limits);
  const guint64 tasks = sandbox_limits_get_tasks (limits);
  const guint64 percent = sandbox_limits_get_cpu_percent (limits);

  if (memory > 0)
    {
      g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, memory);

      /* Nothing goes to a swap instead, and what is killed is killed as a whole. */
      if (!sandbox_agent_group_write_limit (fd, "memory-bytes", "memory.max", text, error) ||
          !sandbox_agent_group_write_limit (fd, "memory-bytes", "memory.swap.max", "0", error) ||
          !sandbox_agent_group_write_limit (fd, "memory-bytes", "memory.oom.group", "1", error))
        return FALSE;
    }
  if (tasks > 0)
    {
      g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, MIN (tasks, TASKS_MAX - SANDBOX_AGENT_GROUP_OWN_TASKS) + SANDBOX_AGENT_GROUP_OWN_TASKS);

      if (!sandbox_agent_group_write_limit (fd, "tasks", "pids.max", text, error))
        return FALSE;
    }
  if (percent > 0)
    {
      g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT " %d", MIN (percent, CPU_PERCENT_MAX) * (CPU_PERIOD_US / 100), CPU_PERIOD_US);

      if (!sandbox_agent_group_write_limit (fd, "cpu-percent", "cpu.max", text, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
sandbox_agent_group_open (SandboxAgentGroup *self)
{
  int parent_fd = sandbox_control_group_get_fd (self->parent);

  /* No child is forked that would hold the lock unseen. */
  sandbox_fork_lock ();
  self->directory_fd = openat (parent_fd, self->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  self->procs_fd = self->directory_fd >= 0 ? openat (self->directory_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
  sandbox_fork_watch (&self->directory_fd);
  sandbox_fork_watch (&self->procs_fd);
  sandbox_fork_unlock ();

  return self->procs_fd >= 0 && flock (self->directory_fd, LOCK_SH | LOCK_NB) == 0;
}

/**
 * sandbox_agent_group_new:
 * @parent: where
 * @limits: the limits; those that are for single processes are left aside
 * @error: return location for an error
 *
 * Makes a group with these limits, for backends, on the worker.
 *
 * Fails with %SANDBOX_ERROR_NOT_SUPPORTED when one of them cannot be held there, and with
 * %SANDBOX_ERROR_UNAVAILABLE when it cannot be made now.
 *
 * Returns: (transfer full): the group
 *
 * Since: 1.0
 */
SandboxAgentGroup *
sandbox_agent_group_new (SandboxControlGroup *parent,
                         SandboxLimits       *limits,
                         GError             **error)
{
  g_autoptr (SandboxAgentGroup) self = NULL;
  g_autofree char *name = NULL;

  g_return_val_if_fail (SANDBOX_IS_CONTROL_GROUP (parent), NULL);
  g_return_val_if_fail (SANDBOX_IS_LIMITS (limits), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!sandbox_control_group_check_limits (parent, limits, error) || !sandbox_control_group_enable (parent, limits, error))
    return NULL;

  self = g_object_new (SANDBOX_TYPE_AGENT_GROUP, NULL);
  self->parent = g_object_ref (parent);
  self->limits = g_object_ref (limits);
  name = sandbox_control_group_make_name ();
  if (name != NULL && mkdirat (sandbox_control_group_get_fd (parent), name, 0755) == 0)
    self->name = g_steal_pointer (&name); /* from now on it is removed at the end */
  if (self->name == NULL || !sandbox_agent_group_open (self))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE, "No control group can be made in “%s”: %s",
                   sandbox_control_group_get_path (parent), g_strerror (errno));
      return NULL;
    }
  if (!sandbox_agent_group_write_limits (self->directory_fd, limits, error))
    return NULL;

  return g_steal_pointer (&self);
}

/**
 * sandbox_agent_group_get_fd:
 * @self: a group
 *
 * Gets the descriptor of its file `cgroup.procs`: a process that writes `0` there enters the group.
 *
 * Returns: a descriptor that the group keeps; -1 in a forked child
 *
 * Since: 1.0
 */
int
sandbox_agent_group_get_fd (SandboxAgentGroup *self)
{
  g_return_val_if_fail (SANDBOX_IS_AGENT_GROUP (self), -1);

  return self->procs_fd;
}

/* ---- Evidence --------------------------------------------------------------------------------------------------- */

static gboolean
sandbox_agent_group_read_key (int         fd,
                              const char *file,
                              const char *key,
                              guint64    *value)
{
  char text[SANDBOX_CONTROL_GROUP_TEXT_MAX];

  return sandbox_proc_read (fd, file, text, sizeof text) && sandbox_control_group_parse_key (text, key, value);
}

/* A kernel that does not tell has let it come as far as the limit: that is why it acted. */
static guint64
sandbox_agent_group_read_peak (int         fd,
                               const char *file,
                               guint64     limit)
{
  char    text[SANDBOX_CONTROL_GROUP_TEXT_MAX];
  guint64 peak = 0;

  return sandbox_proc_read (fd, file, text, sizeof text) && sandbox_control_group_parse_number (text, &peak) ? peak : limit;
}

gboolean
sandbox_agent_group_judge (int             fd,
                           SandboxLimits  *limits,
                           gboolean        failed,
                           SandboxOutcome *outcome,
                           guint64        *limit_value,
                           guint64        *limit_peak)
{
  const guint64 memory = sandbox_limits_get_memory_bytes (limits);
  const guint64 tasks = sandbox_limits_get_tasks (limits);
  guint64       count = 0;

  /* Each time that the group has filled its own limit "oom" is counted here. Killed it may be for others', too. */
  if (memory > 0 && sandbox_agent_group_read_key (fd, "memory.events", "oom_kill", &count) && count > 0 &&
      sandbox_agent_group_read_key (fd, "memory.events", "oom", &count) && count > 0)
    {
      *outcome = SANDBOX_OUTCOME_MEMORY_LIMIT;
      *limit_value = memory;
      *limit_peak = sandbox_agent_group_read_peak (fd, "memory.peak", memory);
      return TRUE;
    }

  if (tasks > 0 && failed && sandbox_agent_group_read_key (fd, "pids.events", "max", &count) && count > 0)
    {
      const guint64 peak = sandbox_agent_group_read_peak (fd, "pids.peak", tasks + SANDBOX_AGENT_GROUP_OWN_TASKS);

      /* Before Linux 6.11 it counts too when a group above is full. */
      if (peak < tasks + SANDBOX_AGENT_GROUP_OWN_TASKS)
        return FALSE;
      *outcome = SANDBOX_OUTCOME_TASKS_LIMIT;
      *limit_value = tasks;
      *limit_peak = peak - SANDBOX_AGENT_GROUP_OWN_TASKS;
      return TRUE;
    }

  return FALSE;
}

gboolean
sandbox_agent_group_find_outcome (SandboxAgentGroup *self,
                                  gboolean           failed,
                                  SandboxOutcome    *outcome,
                                  guint64           *limit_value,
                                  guint64           *limit_peak)
{
  return self->directory_fd >= 0 &&
         sandbox_agent_group_judge (self->directory_fd, self->limits, failed, outcome, limit_value, limit_peak);
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

void
sandbox_agent_group_kill (SandboxAgentGroup *self)
{
  if (!sandbox_fork_is_past (self->generation) && self->directory_fd >= 0 &&
      !sandbox_control_group_write (self->directory_fd, "cgroup.kill", "1"))
    g_debug ("The control group “%s” cannot be killed: %s", self->name, g_strerror (errno));
}

/* A group that is not empty yet */
typedef struct
{
  SandboxControlGroup *parent;
  char                *name;
  int                  events_fd;
  guint                generation;
} SandboxAgentGroupRest;

static void
sandbox_agent_group_rest_free (gpointer data)
{
  SandboxAgentGroupRest *rest = data;

  g_object_unref (rest->parent);
  g_free (rest->name);
  sandbox_close_fd (rest->events_fd);
  g_free (rest);
}

static gboolean
sandbox_agent_group_remove (SandboxControlGroup *parent,
                            const char          *name)
{
  return unlinkat (sandbox_control_group_get_fd (parent), name, AT_REMOVEDIR) == 0 || errno != EBUSY;
}

static gboolean
sandbox_agent_group_rest_cb (int          fd,
                             GIOCondition condition,
                             gpointer     user_data)
{
  SandboxAgentGroupRest *rest = user_data;
  char                   text[SANDBOX_CONTROL_GROUP_TEXT_MAX];

  /* What changes after this reading is told anew. */
  if (sandbox_fork_is_past (rest->generation) || pread (fd, text, sizeof text, 0) <= 0 ||
      sandbox_agent_group_remove (rest->parent, rest->name))
    return G_SOURCE_REMOVE;

  return G_SOURCE_CONTINUE;
}

static void
sandbox_agent_group_watch_rest (SandboxAgentGroup *self)
{
  int fd = openat (self->directory_fd, "cgroup.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  g_autoptr (GSource) source = NULL;
  SandboxAgentGroupRest *rest = NULL;

  /* The next program of this library finds it. */
  if (fd < 0)
    return;

  rest = g_new (SandboxAgentGroupRest, 1);
  rest->parent = g_object_ref (self->parent);
  rest->name = g_strdup (self->name);
  rest->events_fd = fd;
  rest->generation = self->generation;
  source = g_unix_fd_source_new (fd, G_IO_PRI);
  g_source_set_callback (source, G_SOURCE_FUNC (sandbox_agent_group_rest_cb), rest, sandbox_agent_group_rest_free);
  g_source_attach (source, sandbox_get_worker_context ());
}

void
sandbox_agent_group_end (SandboxAgentGroup *self)
{
  if (self->parent == NULL || self->name == NULL || sandbox_fork_is_past (self->generation) ||
      !g_atomic_int_compare_and_exchange (&self->ended, FALSE, TRUE))
    return;

  if (sandbox_agent_group_remove (self->parent, self->name))
    return;
  sandbox_agent_group_kill (self);
  if (!sandbox_agent_group_remove (self->parent, self->name))
    sandbox_agent_group_watch_rest (self);
}
