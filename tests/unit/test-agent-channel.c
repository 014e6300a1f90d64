/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a channel tells an agent to mount. */

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-agent-channel-private.h"
#include "sandbox-agent-protocol.h"
#include "../common/test-helpers.h"

typedef struct
{
  SandboxAgentChannel *channel;
  int                  agent_fd;
  char                *buffer;
  SandboxAgentPacket   packet;
} Fixture;

static void
fixture_set_up (Fixture      *self,
                gconstpointer flags)
{
  int sockets[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), ==, 0);
  self->channel = sandbox_agent_channel_new_take_fd (sockets[0], GPOINTER_TO_UINT (flags));
  self->agent_fd = sockets[1];
  self->buffer = g_malloc (SANDBOX_AGENT_PACKET_MAX);
}

static void
fixture_tear_down (Fixture      *self,
                   gconstpointer unused)
{
  sandbox_agent_packet_close_fds (&self->packet);
  g_assert_finalize_object (self->channel);
  g_free (self->buffer);
  close (self->agent_fd);
}

static int
open_directory (const char *path)
{
  int fd = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);

  return fd;
}

static void
assert_directory (int         fd,
                  const char *path)
{
  struct stat a, b;

  g_assert_cmpint (fstat (fd, &a), ==, 0);
  g_assert_cmpint (stat (path, &b), ==, 0);
  g_assert_true (a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

static void
receive (Fixture *self)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_agent_channel_send_setup (self->channel, &error));
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_agent_receive (self->agent_fd, SANDBOX_AGENT_FROM_HOST, self->buffer, SANDBOX_AGENT_PACKET_MAX, &self->packet),
                   ==, SANDBOX_AGENT_RECEIVED);
  g_assert_cmpint (self->packet.type, ==, SANDBOX_AGENT_SETUP);
}

static void
test_mounts (Fixture      *self,
             gconstpointer unused)
{
  const SandboxAgentMount *mounts = self->packet.setup.mounts;

  g_test_summary ("Mounts come in their order, an overlay with its two descriptors, lower first, and what is protected with none");

  sandbox_agent_channel_take_overlay (self->channel, "/workspace", open_directory ("/usr"), open_directory ("/"));
  sandbox_agent_channel_take_mount (self->channel, "/mnt", open_directory ("/dev"), TRUE);
  sandbox_agent_channel_protect (self->channel, "/workspace/.git");
  receive (self);

  g_assert_cmpuint (self->packet.setup.n_mounts, ==, 3);
  g_assert_cmpuint (self->packet.n_fds, ==, 3);
  g_assert_cmpstr (mounts[0].target, ==, "/workspace");
  g_assert_cmpuint (mounts[0].flags, ==, SANDBOX_AGENT_MOUNT_OVERLAY);
  assert_directory (self->packet.fds[0], "/usr");
  assert_directory (self->packet.fds[1], "/");
  g_assert_cmpuint (mounts[1].flags, ==, SANDBOX_AGENT_MOUNT_READ_ONLY);
  assert_directory (self->packet.fds[2], "/dev");
  g_assert_cmpuint (mounts[2].flags, ==, SANDBOX_AGENT_MOUNT_READ_ONLY | SANDBOX_AGENT_MOUNT_IN_PLACE);
}

static void
test_bound (Fixture      *self,
            gconstpointer unused)
{
  g_test_summary ("An overlay of what is in the guest already comes without descriptors");

  sandbox_agent_channel_take_overlay (self->channel, "/workspace", -1, -1);
  receive (self);

  g_assert_cmpuint (self->packet.setup.n_mounts, ==, 1);
  g_assert_cmpuint (self->packet.n_fds, ==, 0);
  g_assert_cmpuint (self->packet.setup.mounts[0].flags, ==, SANDBOX_AGENT_MOUNT_OVERLAY | SANDBOX_AGENT_MOUNT_BOUND);
}

static void
test_doors (Fixture      *self,
            gconstpointer flags)
{
  const gboolean has_port = (GPOINTER_TO_UINT (flags) & SANDBOX_AGENT_CHANNEL_FLAGS_LOOPBACK_DOOR) != 0;

  g_test_summary ("Doors are asked for, and counted, by the flags of the channel");

  receive (self);
  g_assert_cmpuint (self->packet.setup.flags, ==, SANDBOX_AGENT_SETUP_DOOR | (has_port ? SANDBOX_AGENT_SETUP_LOOPBACK_DOOR : 0));
  g_assert_cmpuint (sandbox_agent_channel_get_n_doors (self->channel), ==, has_port ? 2 : 1);
}

#define ADD(name, flags, function) \
 g_test_add ("/agent-channel/" name, Fixture, GUINT_TO_POINTER (flags), fixture_set_up, function, fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("mounts", SANDBOX_AGENT_CHANNEL_FLAGS_NONE, test_mounts);
  ADD ("bound", SANDBOX_AGENT_CHANNEL_FLAGS_NONE, test_bound);
  ADD ("door", SANDBOX_AGENT_CHANNEL_FLAGS_DOOR, test_doors);
  ADD ("doors", SANDBOX_AGENT_CHANNEL_FLAGS_DOOR | SANDBOX_AGENT_CHANNEL_FLAGS_LOOPBACK_DOOR, test_doors);

  return g_test_run ();
}
