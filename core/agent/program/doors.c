/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The doors: sockets that listen inside, and at which the host's gateway answers. They are there before any guest code, and
 * who hears there has been decided then: no guest can take their places.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* So many may have connected and not been taken by the gateway. */
#define DOOR_BACKLOG 128

static bool
door_fail (SandboxAgentFailed *failed,
           uint32_t            detail)
{
  *failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_DOOR, errno, detail };
  return false;
}

static bool
door_listen (AgentSession          *session,
             const struct sockaddr *address,
             socklen_t              size)
{
  const int fd = socket (address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

  if (fd < 0)
    return false;
  session->doors[session->n_doors++] = fd;
  /* for a Unix socket, whose name is made with it: the user of the commands alone */
  return fchmod (fd, 0600) == 0 && bind (fd, address, size) == 0 && listen (fd, DOOR_BACKLOG) == 0;
}

bool
agent_doors_make (AgentSession       *session,
                  SandboxAgentFailed *failed)
{
  static const struct sockaddr_un path = { AF_UNIX, SANDBOX_AGENT_DOOR };
  const struct sockaddr_in        port = { .sin_family = AF_INET, .sin_port = htons (SANDBOX_AGENT_DOOR_PORT), .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };

  if ((session->setup.flags & SANDBOX_AGENT_SETUP_DOOR) == 0)
    return true;
  if (!agent_mount_names (SANDBOX_AGENT_DOOR_DIRECTORY, 1) ||
      !door_listen (session, (const struct sockaddr *) &path, sizeof path) ||
      !agent_mount_close (SANDBOX_AGENT_DOOR_DIRECTORY))
    return door_fail (failed, 0);
  if ((session->setup.flags & SANDBOX_AGENT_SETUP_LOOPBACK_DOOR) != 0 &&
      !door_listen (session, (const struct sockaddr *) &port, sizeof port))
    return door_fail (failed, 1);
  return true;
}

bool
agent_doors_hand_out (AgentSession *session,
                      int           socket_fd)
{
  static char        bytes[64];
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_LISTEN, .n_fds = session->n_doors };
  bool               good;

  if (session->n_doors == 0)
    return true;
  for (uint32_t i = 0; i < session->n_doors; i++)
    packet.fds[i] = session->doors[i];
  good = sandbox_agent_send (socket_fd, &packet, bytes, sizeof bytes);
  for (uint32_t i = 0; i < session->n_doors; i++)
    close (session->doors[i]);
  session->n_doors = 0;
  return good;
}
