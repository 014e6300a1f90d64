/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-bubblewrap-rules.h"

#include <string.h>

/* Empty in the plan, for the devices there are the agent's. */
#define TERMINALS "/dev/pts"

static void
sandbox_bubblewrap_rule_clear (gpointer data)
{
  SandboxBubblewrapRule *rule = data;

  g_free (rule->path);
}

/* What @access comes to, with all that is a part of it. */
static SandboxAgentAccess
sandbox_bubblewrap_rules_widen (SandboxAgentAccess access)
{
  switch ((guint) access)
    {
    case SANDBOX_AGENT_ACCESS_READ:
      return SANDBOX_AGENT_ACCESS_READ | SANDBOX_AGENT_ACCESS_LIST;

    case SANDBOX_AGENT_ACCESS_WRITE:
      return SANDBOX_AGENT_ACCESS_WRITE | SANDBOX_AGENT_ACCESS_READ | SANDBOX_AGENT_ACCESS_LIST;

    default:
      return access;
    }
}

/* Whether a rule above allows as much already. */
static gboolean
sandbox_bubblewrap_rules_cover (GArray            *rules,
                                const char        *path,
                                SandboxAgentAccess access)
{
  for (guint i = 0; i < rules->len; i++)
    {
      const SandboxBubblewrapRule *rule = &g_array_index (rules, SandboxBubblewrapRule, i);

      if (sandbox_bubblewrap_plan_is_within (path, rule->path) &&
          (access & ~sandbox_bubblewrap_rules_widen (rule->access)) == 0)
        return TRUE;
    }

  return FALSE;
}

static void
sandbox_bubblewrap_rules_add (GArray            *rules,
                              const char        *path,
                              SandboxAgentAccess access,
                              gboolean           optional)
{
  SandboxBubblewrapRule rule = { NULL, access };

  if (sandbox_bubblewrap_rules_cover (rules, path, access))
    return;

  rule.path = g_strdup (path);
  if (optional)
    rule.access |= SANDBOX_AGENT_ACCESS_OPTIONAL;
  g_array_append_val (rules, rule);
}

/* What is read-only can be read: not only at @step, but in the directory below the root in which it is, for there is
 * nothing in there but what the plan has put there. So /etc of the minimal view takes one rule, not a dozen. */
static void
sandbox_bubblewrap_rules_add_readable (GArray                      *rules,
                                       const SandboxBubblewrapStep *step)
{
  const char      *end = strchr (step->target + 1, '/');
  g_autofree char *top = end != NULL ? g_strndup (step->target, (gsize) (end - step->target)) : g_strdup (step->target);

  sandbox_bubblewrap_rules_add (rules, top, SANDBOX_AGENT_ACCESS_READ, step->optional);
}

static void
sandbox_bubblewrap_rules_add_step (GArray                      *rules,
                                   const SandboxBubblewrapStep *step)
{
  switch (step->kind)
    {
    case SANDBOX_BUBBLEWRAP_STEP_BIND:
    case SANDBOX_BUBBLEWRAP_STEP_GENERATED:
    case SANDBOX_BUBBLEWRAP_STEP_MEMORY:
      /* memory that is sealed holds nothing but further steps */
      if (!step->read_only)
        sandbox_bubblewrap_rules_add (rules, step->target, SANDBOX_AGENT_ACCESS_WRITE, step->optional);
      else if (step->kind != SANDBOX_BUBBLEWRAP_STEP_MEMORY)
        sandbox_bubblewrap_rules_add_readable (rules, step);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_DEVICE:
      /* One by one, for a rule is for the device itself: also for the host's /dev/null that is a command's standard
       * input, when it is opened again by way of /dev/stdin. */
      sandbox_bubblewrap_rules_add (rules, step->target, SANDBOX_AGENT_ACCESS_DEVICE, FALSE);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_PROC:
      sandbox_bubblewrap_rules_add (rules, step->target, SANDBOX_AGENT_ACCESS_PROC, FALSE);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_DIRECTORY:
      if (g_str_equal (step->target, TERMINALS))
        sandbox_bubblewrap_rules_add (rules, step->target, SANDBOX_AGENT_ACCESS_DEVICE, FALSE);
      break;

    case SANDBOX_BUBBLEWRAP_STEP_LINK:
    case SANDBOX_BUBBLEWRAP_STEP_NOTHING:
    case SANDBOX_BUBBLEWRAP_STEP_PROTECT:
    default:
      break;
    }
}

GArray *
sandbox_bubblewrap_rules_new (const SandboxBubblewrapPlan *plan,
                              GError                     **error)
{
  g_autoptr (GArray) rules = g_array_new (FALSE, FALSE, sizeof (SandboxBubblewrapRule));
  gsize size = 0;

  g_array_set_clear_func (rules, sandbox_bubblewrap_rule_clear);
  sandbox_bubblewrap_rules_add (rules, "/", SANDBOX_AGENT_ACCESS_LIST, FALSE);
  for (guint i = 0; i < plan->steps->len; i++)
    sandbox_bubblewrap_rules_add_step (rules, plan->steps->pdata[i]);

  for (guint i = 0; i < rules->len; i++)
    size += strlen (g_array_index (rules, SandboxBubblewrapRule, i).path) + 1;
  if (rules->len > SANDBOX_AGENT_CHANNEL_MAX_RULES || size > SANDBOX_AGENT_CHANNEL_MAX_RULES_SIZE)
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT,
                   "The mounts are at %u places with %" G_GSIZE_FORMAT " bytes of paths; the limits are %d places and %d bytes",
                   rules->len, size, SANDBOX_AGENT_CHANNEL_MAX_RULES, SANDBOX_AGENT_CHANNEL_MAX_RULES_SIZE);
      return NULL;
    }

  return g_steal_pointer (&rules);
}
