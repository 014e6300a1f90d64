/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Both sides of the agent protocol; see the header. */
#include "sandbox-agent-protocol.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEADER_SIZE 8
#define N_RESOURCES 16

/* --- reading: an out-of-bounds read makes all later ones fail, so one check at the end suffices --- */

typedef struct
{
  const uint8_t *at;
  size_t         left;
  bool           bad;
} Reader;

static const uint8_t *
reader_take (Reader *self,
             size_t  size)
{
  const uint8_t *at = self->at;

  if (self->bad || size > self->left)
    {
      self->bad = true;
      return NULL;
    }
  self->at += size;
  self->left -= size;
  return at;
}

static uint64_t
reader_get (Reader  *self,
            unsigned size)
{
  const uint8_t *at = reader_take (self, size);
  uint64_t       value = 0;

  for (unsigned i = 0; at != NULL && i < size; i++)
    value |= (uint64_t) at[i] << (8 * i);
  return value;
}

static uint32_t
reader_get_u32 (Reader *self)
{
  return (uint32_t) reader_get (self, 4);
}

static const char *
reader_get_path (Reader *self)
{
  size_t         room = self->left < SANDBOX_AGENT_PATH_MAX ? self->left : SANDBOX_AGENT_PATH_MAX;
  const uint8_t *end = self->bad || room == 0 ? NULL : memchr (self->at, '\0', room);

  if (end == NULL)
    {
      self->bad = true;
      return "";
    }
  return (const char *) reader_take (self, (size_t) (end - self->at) + 1);
}

/* --- writing: the same, with room instead of content --- */

typedef struct
{
  uint8_t *at;
  size_t   left;
  bool     bad;
} Writer;

static void
writer_put_bytes (Writer     *self,
                  const void *bytes,
                  size_t      size)
{
  if (self->bad || size > self->left || (bytes == NULL && size > 0))
    {
      self->bad = true;
      return;
    }
  if (size > 0)
    memcpy (self->at, bytes, size);
  self->at += size;
  self->left -= size;
}

static void
writer_put (Writer  *self,
            uint64_t value,
            unsigned size)
{
  uint8_t bytes[8];

  for (unsigned i = 0; i < size; i++)
    bytes[i] = (uint8_t) (value >> (8 * i));
  writer_put_bytes (self, bytes, size);
}

static void
writer_put_path (Writer     *self,
                 const char *path)
{
  writer_put_bytes (self, path, path != NULL ? strlen (path) + 1 : 1);
}

/* --- the packets with a body --- */

static bool
is_mount_target (const char *path)
{
  return path[0] == '/' && path[1] != '\0';
}

/* The first of its kind, not read-only; where its layers are, BOUND says. */
static bool
is_overlay (const SandboxAgentSetup *setup,
            uint32_t                 index)
{
  for (uint32_t i = 0; i < index; i++)
    if ((setup->mounts[i].flags & SANDBOX_AGENT_MOUNT_OVERLAY) != 0)
      return false;
  return (setup->mounts[index].flags & ~(uint32_t) SANDBOX_AGENT_MOUNT_BOUND) == SANDBOX_AGENT_MOUNT_OVERLAY;
}

/* A read-only part of the workspace, of which the agent has the mount already. */
static bool
is_in_place (const SandboxAgentSetup *setup,
             const SandboxAgentMount *mount)
{
  size_t length = strlen (setup->workspace);

  return mount->flags == (SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY) &&
         strncmp (mount->target, setup->workspace, length) == 0 &&
         mount->target[length] == '/' && mount->target[length + 1] != '\0';
}

static void
write_setup (Writer                  *writer,
             const SandboxAgentSetup *setup)
{
  writer_put (writer, setup->flags, 4);
  writer_put (writer, setup->n_mounts, 4);
  writer_put (writer, setup->n_rules, 4);
  writer_put (writer, setup->n_memories, 4);
  writer_put (writer, setup->n_instructions, 4);
  writer_put (writer, setup->n_slot_instructions, 4);
  writer_put (writer, setup->workspace_device, 8);
  writer_put (writer, setup->workspace_inode, 8);
  writer_put_path (writer, setup->workspace);
  for (uint32_t i = 0; i < setup->n_mounts && i < SANDBOX_AGENT_N_MOUNTS_MAX; i++)
    {
      writer_put (writer, setup->mounts[i].flags, 4);
      writer_put_path (writer, setup->mounts[i].target);
    }
  for (uint32_t i = 0; i < setup->n_rules && i < SANDBOX_AGENT_N_RULES_MAX; i++)
    {
      writer_put (writer, setup->rules[i].flags, 4);
      writer_put_path (writer, setup->rules[i].path);
    }
  for (uint32_t i = 0; i < setup->n_memories && i < SANDBOX_AGENT_N_MEMORIES_MAX; i++)
    {
      writer_put (writer, setup->memories[i].size, 8);
      writer_put_path (writer, setup->memories[i].target);
    }
  writer_put_bytes (writer, setup->filter, (size_t) setup->n_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE);
  writer_put_bytes (writer, setup->slot_filter, (size_t) setup->n_slot_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE);
}

static bool
read_rules (Reader            *reader,
            SandboxAgentSetup *setup)
{
  const uint32_t kinds = SANDBOX_AGENT_RULE_LIST | SANDBOX_AGENT_RULE_READ | SANDBOX_AGENT_RULE_PROC | SANDBOX_AGENT_RULE_WRITE |
                         SANDBOX_AGENT_RULE_DEVICE;
  size_t size = 0;

  for (uint32_t i = 0; i < setup->n_rules; i++)
    {
      SandboxAgentRule *rule = &setup->rules[i];

      rule->flags = reader_get_u32 (reader);
      rule->path = reader_get_path (reader);
      size += strlen (rule->path) + 1;
      if ((rule->flags & kinds) == 0 || (rule->flags & ~(kinds | SANDBOX_AGENT_RULE_OPTIONAL)) != 0 || rule->path[0] != '/')
        return false;
    }
  return size <= SANDBOX_AGENT_RULES_SIZE_MAX;
}

static bool
read_mounts (Reader            *reader,
             SandboxAgentSetup *setup,
             uint32_t          *n_fds)
{
  bool in_place = false;

  for (uint32_t i = 0; i < setup->n_mounts; i++)
    {
      SandboxAgentMount *mount = &setup->mounts[i];
      bool               good;

      mount->flags = reader_get_u32 (reader);
      mount->target = reader_get_path (reader);
      in_place = in_place || (mount->flags & SANDBOX_AGENT_MOUNT_IN_PLACE) != 0;
      if (in_place)
        good = is_in_place (setup, mount);
      else if ((mount->flags & SANDBOX_AGENT_MOUNT_OVERLAY) != 0)
        {
          good = is_overlay (setup, i) && is_mount_target (mount->target);
          *n_fds += (mount->flags & SANDBOX_AGENT_MOUNT_BOUND) != 0 ? 0 : 2;
        }
      else
        {
          good = (mount->flags & ~(uint32_t) SANDBOX_AGENT_MOUNT_READ_ONLY) == 0 && is_mount_target (mount->target);
          *n_fds += 1;
        }
      if (!good)
        return false;
    }
  return true;
}

static bool
read_memories (Reader            *reader,
               SandboxAgentSetup *setup)
{
  for (uint32_t i = 0; i < setup->n_memories; i++)
    {
      setup->memories[i].size = reader_get (reader, 8);
      setup->memories[i].target = reader_get_path (reader);
      if (!is_mount_target (setup->memories[i].target))
        return false;
    }
  return true;
}

static bool
read_setup (Reader            *reader,
            SandboxAgentSetup *setup,
            uint32_t          *n_fds)
{
  const uint32_t known = SANDBOX_AGENT_SETUP_FORBID_USERNS | SANDBOX_AGENT_SETUP_HOLD_LOCK | SANDBOX_AGENT_SETUP_PRIVATE_DEVPTS |
                         SANDBOX_AGENT_SETUP_NO_PROC | SANDBOX_AGENT_SETUP_SHUT_PROC | SANDBOX_AGENT_SETUP_BOUND_NAMES |
                         SANDBOX_AGENT_SETUP_SLOTS | SANDBOX_AGENT_SETUP_SHARED | SANDBOX_AGENT_SETUP_LATE_FILTER |
                         SANDBOX_AGENT_SETUP_DOOR | SANDBOX_AGENT_SETUP_LOOPBACK_DOOR;
  const uint32_t of_slots = SANDBOX_AGENT_SETUP_SHARED | SANDBOX_AGENT_SETUP_LATE_FILTER;
  bool           slots, shared;

  setup->flags = reader_get_u32 (reader);
  setup->n_mounts = reader_get_u32 (reader);
  setup->n_rules = reader_get_u32 (reader);
  setup->n_memories = reader_get_u32 (reader);
  setup->n_instructions = reader_get_u32 (reader);
  setup->n_slot_instructions = reader_get_u32 (reader);
  setup->workspace_device = reader_get (reader, 8);
  setup->workspace_inode = reader_get (reader, 8);
  setup->workspace = reader_get_path (reader);
  if ((setup->flags & ~known) != 0 || !is_mount_target (setup->workspace) ||
      setup->n_mounts > SANDBOX_AGENT_N_MOUNTS_MAX || setup->n_rules > SANDBOX_AGENT_N_RULES_MAX ||
      setup->n_instructions == 0 || setup->n_instructions > SANDBOX_AGENT_N_INSTRUCTIONS_MAX ||
      setup->n_slot_instructions > SANDBOX_AGENT_N_SLOT_INSTRUCTIONS_MAX)
    return false;
  slots = (setup->flags & SANDBOX_AGENT_SETUP_SLOTS) != 0;
  shared = (setup->flags & SANDBOX_AGENT_SETUP_SHARED) != 0;
  if (slots != (setup->n_slot_instructions > 0))
    return false;
  if ((!slots && (setup->flags & of_slots) != 0) || setup->n_memories > (slots && !shared ? SANDBOX_AGENT_N_MEMORIES_MAX : 0))
    return false;
  if ((setup->flags & SANDBOX_AGENT_SETUP_LOOPBACK_DOOR) != 0 && (setup->flags & SANDBOX_AGENT_SETUP_DOOR) == 0)
    return false;
  *n_fds = (setup->flags & SANDBOX_AGENT_SETUP_HOLD_LOCK) != 0;
  if (!read_mounts (reader, setup, n_fds) || !read_rules (reader, setup) || !read_memories (reader, setup))
    return false;
  setup->filter = reader_take (reader, (size_t) setup->n_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE);
  setup->slot_filter = reader_take (reader, (size_t) setup->n_slot_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE);
  return true;
}

static void
write_exec (Writer                 *writer,
            const SandboxAgentExec *exec)
{
  writer_put (writer, exec->flags, 4);
  writer_put (writer, exec->n_limits, 4);
  writer_put (writer, exec->argc, 4);
  writer_put (writer, exec->envc, 4);
  writer_put (writer, exec->strings_size, 4);
  writer_put (writer, exec->deadline_us, 8);
  writer_put_path (writer, exec->cwd);
  for (uint32_t i = 0; i < exec->n_limits && i < SANDBOX_AGENT_N_LIMITS_MAX; i++)
    {
      writer_put (writer, exec->limits[i].resource, 4);
      writer_put (writer, exec->limits[i].value, 8);
    }
  if ((exec->flags & SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD) == 0)
    writer_put_bytes (writer, exec->strings, exec->strings_size);
}

static bool
read_exec (Reader           *reader,
           SandboxAgentExec *exec,
           uint32_t         *n_fds)
{
  bool in_memfd;

  exec->flags = reader_get_u32 (reader);
  exec->n_limits = reader_get_u32 (reader);
  exec->argc = reader_get_u32 (reader);
  exec->envc = reader_get_u32 (reader);
  exec->strings_size = reader_get_u32 (reader);
  exec->deadline_us = reader_get (reader, 8);
  exec->cwd = reader_get_path (reader);
  in_memfd = (exec->flags & SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD) != 0;
  if ((exec->flags & ~(uint32_t) SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD) != 0 || exec->cwd[0] == '/' ||
      exec->n_limits > SANDBOX_AGENT_N_LIMITS_MAX ||
      exec->argc == 0 || exec->argc > SANDBOX_AGENT_N_STRINGS_MAX ||
      exec->envc > SANDBOX_AGENT_N_STRINGS_MAX - exec->argc ||
      exec->strings_size > (in_memfd ? SANDBOX_AGENT_STRINGS_MAX : SANDBOX_AGENT_INLINE_MAX))
    return false;
  for (uint32_t i = 0; i < exec->n_limits; i++)
    {
      exec->limits[i].resource = reader_get_u32 (reader);
      exec->limits[i].value = reader_get (reader, 8);
      if (exec->limits[i].resource >= N_RESOURCES)
        return false;
    }
  *n_fds = in_memfd ? 4 : 3;
  exec->strings = NULL;
  if (in_memfd)
    return true;
  exec->strings = (const char *) reader_take (reader, exec->strings_size);
  return exec->strings != NULL && sandbox_agent_unpack_strings ((char *) exec->strings, exec->strings_size, exec->argc, exec->envc, NULL);
}

static bool
read_failed (Reader             *reader,
             SandboxAgentFailed *failed)
{
  failed->step = reader_get_u32 (reader);
  failed->error = (int32_t) reader_get_u32 (reader);
  failed->detail = reader_get_u32 (reader);
  return failed->step >= 1 && failed->step <= SANDBOX_AGENT_STEP_LAST && failed->error > 0;
}

static bool
read_exited (Reader             *reader,
             SandboxAgentExited *exited)
{
  exited->wait_status = (int32_t) reader_get_u32 (reader);
  exited->flags = reader_get_u32 (reader);
  exited->user_us = reader_get (reader, 8);
  exited->system_us = reader_get (reader, 8);
  exited->peak_memory = reader_get (reader, 8);
  exited->wall_us = reader_get (reader, 8);
  return (exited->flags & ~(uint32_t) (SANDBOX_AGENT_EXITED_DEADLINE | SANDBOX_AGENT_EXITED_ALONE)) == 0;
}

/* --- packets --- */

size_t
sandbox_agent_encode (const SandboxAgentPacket *packet,
                      void                     *buffer,
                      size_t                    size)
{
  bool from_agent = packet->type == SANDBOX_AGENT_HELLO || packet->type == SANDBOX_AGENT_STARTED ||
                    packet->type == SANDBOX_AGENT_FAILED || packet->type == SANDBOX_AGENT_EXITED ||
                    packet->type == SANDBOX_AGENT_LISTEN || packet->type == SANDBOX_AGENT_READY;
  Writer             writer = { buffer, size, false };
  Writer             header = { buffer, HEADER_SIZE, size < HEADER_SIZE };
  SandboxAgentPacket proof;
  size_t             length;

  writer_put (&writer, 0, HEADER_SIZE);
  switch (packet->type)
    {
    case SANDBOX_AGENT_SETUP:
      write_setup (&writer, &packet->setup);
      break;

    case SANDBOX_AGENT_EXEC:
      write_exec (&writer, &packet->exec);
      break;

    case SANDBOX_AGENT_FAILED:
      writer_put (&writer, packet->failed.step, 4);
      writer_put (&writer, (uint32_t) packet->failed.error, 4);
      writer_put (&writer, packet->failed.detail, 4);
      break;

    case SANDBOX_AGENT_EXITED:
      writer_put (&writer, (uint32_t) packet->exited.wait_status, 4);
      writer_put (&writer, packet->exited.flags, 4);
      writer_put (&writer, packet->exited.user_us, 8);
      writer_put (&writer, packet->exited.system_us, 8);
      writer_put (&writer, packet->exited.peak_memory, 8);
      writer_put (&writer, packet->exited.wall_us, 8);
      break;

    case SANDBOX_AGENT_SIGNAL:
      writer_put (&writer, packet->signal.signum, 4);
      break;

    case SANDBOX_AGENT_HELLO:
    case SANDBOX_AGENT_STARTED:
    case SANDBOX_AGENT_BYE:
    case SANDBOX_AGENT_LISTEN:
    case SANDBOX_AGENT_READY:
    case SANDBOX_AGENT_ARM:
      break;
    }
  if (writer.bad)
    return 0;

  length = size - writer.left;
  writer_put (&header, SANDBOX_AGENT_VERSION, 2);
  writer_put (&header, packet->type, 2);
  writer_put (&header, length - HEADER_SIZE, 4);
  /* what the other side would refuse is told here, where the mistake is */
  if (!sandbox_agent_decode (from_agent ? SANDBOX_AGENT_FROM_AGENT : SANDBOX_AGENT_FROM_HOST,
                             buffer, length, packet->n_fds, &proof))
    return 0;
  return length;
}

bool
sandbox_agent_decode (SandboxAgentOrigin  origin,
                      const void         *bytes,
                      size_t              size,
                      uint32_t            n_fds,
                      SandboxAgentPacket *packet)
{
  Reader             reader = { bytes, size, size > SANDBOX_AGENT_PACKET_MAX };
  uint16_t           version = (uint16_t) reader_get (&reader, 2);
  uint16_t           type = (uint16_t) reader_get (&reader, 2);
  uint32_t           length = reader_get_u32 (&reader);
  bool               from_host = origin == SANDBOX_AGENT_FROM_HOST;
  bool               good = false;
  uint32_t           n_fds_expected = 0;
  SandboxAgentPacket result;

  if (reader.bad || version != SANDBOX_AGENT_VERSION || length != reader.left)
    return false;

  result.type = type;
  result.left_unread = false;
  result.lost_fds = false;
  result.n_fds = 0;
  switch (type)
    {
    case SANDBOX_AGENT_HELLO:
      good = !from_host;
      n_fds_expected = 1;
      break;

    case SANDBOX_AGENT_SETUP:
      good = from_host && read_setup (&reader, &result.setup, &n_fds_expected);
      break;

    case SANDBOX_AGENT_EXEC:
      good = from_host && read_exec (&reader, &result.exec, &n_fds_expected);
      break;

    case SANDBOX_AGENT_STARTED:
      good = !from_host;
      break;

    case SANDBOX_AGENT_FAILED:
      good = !from_host && read_failed (&reader, &result.failed);
      break;

    case SANDBOX_AGENT_EXITED:
      good = !from_host && read_exited (&reader, &result.exited);
      break;

    case SANDBOX_AGENT_SIGNAL:
      result.signal.signum = reader_get_u32 (&reader);
      good = from_host && result.signal.signum >= 1 && result.signal.signum <= 64;
      break;

    case SANDBOX_AGENT_BYE:
      good = true;
      break;

    case SANDBOX_AGENT_LISTEN:
      good = !from_host && n_fds >= 1 && n_fds <= SANDBOX_AGENT_N_DOORS_MAX;
      n_fds_expected = n_fds;
      break;

    case SANDBOX_AGENT_READY:
      good = !from_host;
      n_fds_expected = 1;
      break;

    case SANDBOX_AGENT_ARM:
      good = from_host;
      n_fds_expected = 1;
      break;

    default:
      break;
    }
  if (!good || reader.bad || reader.left != 0 || n_fds != n_fds_expected)
    return false;
  *packet = result;
  return true;
}

bool
sandbox_agent_send (int                       socket_fd,
                    const SandboxAgentPacket *packet,
                    void                     *buffer,
                    size_t                    size)
{
  union
  {
    struct cmsghdr header;
    char           bytes[CMSG_SPACE (sizeof packet->fds)];
  } control;
  struct iovec  iov = { buffer, 0 };
  struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
  ssize_t       sent;

  if (packet->n_fds > SANDBOX_AGENT_N_FDS_MAX || (iov.iov_len = sandbox_agent_encode (packet, buffer, size)) == 0)
    {
      errno = EMSGSIZE;
      return false;
    }
  if (packet->n_fds > 0)
    {
      memset (&control, 0, sizeof control);
      message.msg_control = &control;
      message.msg_controllen = CMSG_SPACE (packet->n_fds * sizeof (int));
      control.header.cmsg_level = SOL_SOCKET;
      control.header.cmsg_type = SCM_RIGHTS;
      control.header.cmsg_len = CMSG_LEN (packet->n_fds * sizeof (int));
      memcpy (CMSG_DATA (&control.header), packet->fds, packet->n_fds * sizeof (int));
    }
  do
    sent = sendmsg (socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent >= 0; /* a packet goes whole or not at all */
}

static void
close_fds (const int *fds,
           uint32_t   n_fds)
{
  for (uint32_t i = 0; i < n_fds; i++)
    if (fds[i] >= 0)
      close (fds[i]);
}

SandboxAgentReceipt
sandbox_agent_receive (int                 socket_fd,
                       SandboxAgentOrigin  origin,
                       void               *buffer,
                       size_t              size,
                       SandboxAgentPacket *packet)
{
  union
  {
    struct cmsghdr header;
    char           bytes[CMSG_SPACE (sizeof packet->fds)];
  } control;
  struct iovec  iov = { buffer, size };
  struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
  int           fds[SANDBOX_AGENT_N_FDS_MAX];
  uint32_t      n_fds = 0;
  bool          reset = false;
  ssize_t       got;

  /* When the other side ended without having read everything, that is told once, before its own last words. */
  do
    got = recvmsg (socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !reset && (reset = true))));
  packet->left_unread = reset;
  packet->lost_fds = false;
  if (got < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK ? SANDBOX_AGENT_AGAIN : SANDBOX_AGENT_END;

  for (struct cmsghdr *at = CMSG_FIRSTHDR (&message); at != NULL; at = CMSG_NXTHDR (&message, at))
    if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS)
      {
        /* the control buffer holds no more than N_FDS_MAX: what does not fit the kernel closes, and says CTRUNC */
        uint32_t n = (uint32_t) ((at->cmsg_len - CMSG_LEN (0)) / sizeof (int));

        for (uint32_t i = 0; i < n && n_fds < SANDBOX_AGENT_N_FDS_MAX; i++)
          memcpy (&fds[n_fds++], CMSG_DATA (at) + i * sizeof (int), sizeof (int));
      }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0)
    {
      if (got == 0 && n_fds == 0)
        return SANDBOX_AGENT_END;
      if (sandbox_agent_decode (origin, buffer, (size_t) got, n_fds, packet))
        {
          packet->left_unread = reset;
          packet->n_fds = n_fds;
          memcpy (packet->fds, fds, n_fds * sizeof (int));
          return SANDBOX_AGENT_RECEIVED;
        }
    }
  close_fds (fds, n_fds);
  packet->lost_fds = (message.msg_flags & MSG_CTRUNC) != 0;
  return SANDBOX_AGENT_REJECTED;
}

void
sandbox_agent_packet_close_fds (SandboxAgentPacket *packet)
{
  close_fds (packet->fds, packet->n_fds);
  packet->n_fds = 0;
}

/* --- argv and environment --- */

static size_t
pack_vector (const char *const *vector,
             char              *buffer,
             size_t             size,
             size_t             used)
{
  for (size_t i = 0; vector != NULL && vector[i] != NULL; i++)
    {
      size_t length = strlen (vector[i]) + 1;

      if (buffer != NULL && used <= size && length <= size - used)
        memcpy (buffer + used, vector[i], length);
      used += length;
    }
  return used;
}

size_t
sandbox_agent_pack_strings (const char *const *argv,
                            const char *const *envp,
                            char              *buffer,
                            size_t             size)
{
  return pack_vector (envp, buffer, size, pack_vector (argv, buffer, size, 0));
}

bool
sandbox_agent_unpack_strings (char    *strings,
                              size_t   size,
                              uint32_t argc,
                              uint32_t envc,
                              char   **vector)
{
  uint64_t total = (uint64_t) argc + envc;
  size_t   n = 0;

  for (uint64_t i = 0; i < total; i++)
    {
      char *end = size > 0 ? memchr (strings, '\0', size) : NULL;

      if (end == NULL)
        return false;
      if (vector != NULL)
        {
          if (i == argc)
            vector[n++] = NULL;
          vector[n++] = strings;
        }
      size -= (size_t) (end + 1 - strings);
      strings = end + 1;
    }
  if (vector != NULL)
    {
      if (envc == 0)
        vector[n++] = NULL;
      vector[n] = NULL;
    }
  return size == 0;
}

const char *
sandbox_agent_step_to_string (uint32_t step)
{
  static const char *const names[SANDBOX_AGENT_STEP_LAST + 1] = {
    [SANDBOX_AGENT_STEP_LAUNCH] = "launch",
    [SANDBOX_AGENT_STEP_IDENTITY] = "change of identity",
    [SANDBOX_AGENT_STEP_PARENT_GONE] = "check of the parent",
    [SANDBOX_AGENT_STEP_EXEC_BWRAP] = "execution of bwrap",
    [SANDBOX_AGENT_STEP_MOUNT] = "mount",
    [SANDBOX_AGENT_STEP_DEVPTS] = "terminal devices",
    [SANDBOX_AGENT_STEP_WORKSPACE] = "workspace",
    [SANDBOX_AGENT_STEP_WORKSPACE_IDENTITY] = "check of the workspace",
    [SANDBOX_AGENT_STEP_USERNS_LIMIT] = "limit of user namespaces",
    [SANDBOX_AGENT_STEP_CAPABILITIES] = "drop of capabilities",
    [SANDBOX_AGENT_STEP_STRINGS] = "arguments and environment",
    [SANDBOX_AGENT_STEP_FORK] = "new process",
    [SANDBOX_AGENT_STEP_DESCRIPTORS] = "standard streams",
    [SANDBOX_AGENT_STEP_CHDIR] = "working directory",
    [SANDBOX_AGENT_STEP_RLIMIT] = "resource limit",
    [SANDBOX_AGENT_STEP_SECCOMP] = "system call filter",
    [SANDBOX_AGENT_STEP_EXEC_NOT_FOUND] = "program",
    [SANDBOX_AGENT_STEP_EXEC_INTERPRETER] = "interpreter of the program",
    [SANDBOX_AGENT_STEP_EXEC] = "execution of the program",
    [SANDBOX_AGENT_STEP_LANDLOCK] = "rules of Landlock",
    [SANDBOX_AGENT_STEP_CONTROL_GROUP] = "control group",
    [SANDBOX_AGENT_STEP_SLOT] = "place for a command",
    [SANDBOX_AGENT_STEP_DOOR] = "door to the gateway",
  };

  return step <= SANDBOX_AGENT_STEP_LAST && names[step] != NULL ? names[step] : "unknown step";
}
