/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-agent-doors-private.h"

#include "sandbox-fd-private.h"
#include "sandbox-fork-private.h"

#include <sys/socket.h>

typedef struct
{
  gpointer owner;
  GSocket *socket;
} SandboxAgentDoor;

struct _SandboxAgentDoors
{
  gatomicrefcount ref_count;

  GArray         *doors;   /* of SandboxAgentDoor */
  SandboxGateway *gateway; /* nullable */
};

/* It is closed with its last reference, or by the gateway, which may be about to accept somebody. */
static void
sandbox_agent_door_clear (gpointer data)
{
  SandboxAgentDoor *door = data;

  sandbox_fork_forget (door->socket);
  g_object_unref (door->socket);
}

SandboxAgentDoors *
sandbox_agent_doors_new (void)
{
  SandboxAgentDoors *self = g_new0 (SandboxAgentDoors, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->doors = g_array_new (FALSE, FALSE, sizeof (SandboxAgentDoor));
  g_array_set_clear_func (self->doors, sandbox_agent_door_clear);

  return self;
}

SandboxAgentDoors *
sandbox_agent_doors_ref (SandboxAgentDoors *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
sandbox_agent_doors_unref (SandboxAgentDoors *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_array_unref (self->doors);
  g_clear_object (&self->gateway);
  g_free (self);
}

void
sandbox_agent_doors_set_gateway (SandboxAgentDoors *self,
                                 SandboxGateway    *gateway)
{
  for (guint i = 0; self->gateway != NULL && i < self->doors->len; i++)
    sandbox_gateway_remove_door (self->gateway, g_array_index (self->doors, SandboxAgentDoor, i).socket);
  g_set_object (&self->gateway, gateway);
  for (guint i = 0; self->gateway != NULL && i < self->doors->len; i++)
    sandbox_gateway_add_door (self->gateway, g_array_index (self->doors, SandboxAgentDoor, i).socket);
}

/* An agent is trusted with nothing, not even with the right kind of descriptor. */
static GSocket *
sandbox_agent_door_take (int  *fd,
                         guint index)
{
  g_autoptr (GSocket) socket = g_socket_new_from_fd (*fd, NULL);
  const GSocketFamily family = index == 0 ? G_SOCKET_FAMILY_UNIX : G_SOCKET_FAMILY_IPV4;
  gint                listens = 0;

  if (socket == NULL)
    return NULL;

  /* A forked child of the host that lived on would keep it. */
  sandbox_fork_lock ();
  sandbox_fork_cover (socket, g_steal_fd (fd));
  sandbox_fork_unlock ();
  if (g_socket_get_family (socket) == family && g_socket_get_socket_type (socket) == G_SOCKET_TYPE_STREAM &&
      g_socket_get_option (socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, NULL) && listens)
    return g_steal_pointer (&socket);

  sandbox_fork_forget (socket);

  return NULL;
}

gboolean
sandbox_agent_doors_add (SandboxAgentDoors  *self,
                         gpointer            owner,
                         SandboxAgentPacket *packet,
                         guint               n_doors)
{
  if (packet->n_fds != n_doors)
    return FALSE;

  for (guint i = 0; i < n_doors; i++)
    {
      SandboxAgentDoor door = { owner, sandbox_agent_door_take (&packet->fds[i], i) };

      if (door.socket == NULL)
        return FALSE;
      g_array_append_val (self->doors, door);
      if (self->gateway != NULL)
        sandbox_gateway_add_door (self->gateway, door.socket);
    }

  return TRUE;
}

void
sandbox_agent_doors_remove (SandboxAgentDoors *self,
                            gpointer           owner)
{
  for (guint i = self->doors->len; i > 0; i--)
    {
      const SandboxAgentDoor *door = &g_array_index (self->doors, SandboxAgentDoor, i - 1);

      if (door->owner != owner)
        continue;
      if (self->gateway != NULL)
        sandbox_gateway_remove_door (self->gateway, door->socket);
      g_array_remove_index_fast (self->doors, i - 1);
    }
}
