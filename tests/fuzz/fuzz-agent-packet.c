/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a packet, from either side, with any number of descriptors; and as packed strings. What is accepted must
 * encode to the very same bytes: so nothing is overlooked, and nothing has two spellings. */

#include "sandbox-agent-protocol.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_SIZE 8
#define N_STRINGS 512

int LLVMFuzzerTestOneInput (const uint8_t *data,
                            size_t         size);

static void
check (bool condition)
{
  if (!condition)
    abort ();
}

static void
check_strings (const char *bytes,
               size_t      size,
               uint32_t    argc,
               uint32_t    envc)
{
  static char *vector[2 * N_STRINGS + 2];
  static char  again[SANDBOX_AGENT_PACKET_MAX];
  char        *strings = malloc (size + 1);

  check (strings != NULL);
  if (size > 0)
    memcpy (strings, bytes, size);
  strings = realloc (strings, size > 0 ? size : 1);
  check (strings != NULL);
  if (sandbox_agent_unpack_strings (strings, size, argc, envc, vector))
    {
      check (vector[argc] == NULL && vector[argc + envc + 1] == NULL);
      check (sandbox_agent_pack_strings ((const char *const *) vector, (const char *const *) vector + argc + 1, again, sizeof again) == size);
      check (size == 0 || memcmp (again, bytes, size) == 0);
    }
  free (strings);
}

/* Everything that a pointer of a decoded packet leads to is read, for the sanitizer to judge. */
static void
check_contents (const SandboxAgentPacket *packet)
{
  size_t sum = 0;

  if (packet->type == SANDBOX_AGENT_SETUP)
    {
      check (packet->setup.n_mounts <= SANDBOX_AGENT_N_MOUNTS_MAX);
      check (strlen (packet->setup.workspace) < SANDBOX_AGENT_PATH_MAX);
      for (uint32_t i = 0; i < packet->setup.n_mounts; i++)
        {
          const SandboxAgentMount *mount = &packet->setup.mounts[i];

          check (mount->target[0] == '/' && strlen (mount->target) < SANDBOX_AGENT_PATH_MAX);
          check ((mount->flags & SANDBOX_AGENT_MOUNT_IN_PLACE) == 0 ||
                 strncmp (mount->target, packet->setup.workspace, strlen (packet->setup.workspace)) == 0);
        }
      check (packet->setup.n_rules <= SANDBOX_AGENT_N_RULES_MAX);
      for (uint32_t i = 0; i < packet->setup.n_rules; i++)
        check (packet->setup.rules[i].path[0] == '/' && strlen (packet->setup.rules[i].path) < SANDBOX_AGENT_PATH_MAX &&
               packet->setup.rules[i].flags != 0);
      check (packet->setup.n_memories <= SANDBOX_AGENT_N_MEMORIES_MAX);
      check (packet->setup.n_memories == 0 ||
             (packet->setup.flags & (SANDBOX_AGENT_SETUP_SLOTS | SANDBOX_AGENT_SETUP_SHARED)) == SANDBOX_AGENT_SETUP_SLOTS);
      for (uint32_t i = 0; i < packet->setup.n_memories; i++)
        check (packet->setup.memories[i].target[0] == '/' && strlen (packet->setup.memories[i].target) < SANDBOX_AGENT_PATH_MAX);
      check (packet->setup.n_instructions >= 1 && packet->setup.n_instructions <= SANDBOX_AGENT_N_INSTRUCTIONS_MAX);
      for (uint32_t i = 0; i < packet->setup.n_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE; i++)
        sum += packet->setup.filter[i];
      check ((packet->setup.n_slot_instructions >= 1) == ((packet->setup.flags & SANDBOX_AGENT_SETUP_SLOTS) != 0) &&
             packet->setup.n_slot_instructions <= SANDBOX_AGENT_N_SLOT_INSTRUCTIONS_MAX);
      for (uint32_t i = 0; i < packet->setup.n_slot_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE; i++)
        sum += packet->setup.slot_filter[i];
    }
  else if (packet->type == SANDBOX_AGENT_EXEC)
    {
      check (packet->exec.argc >= 1 && packet->exec.argc + (uint64_t) packet->exec.envc <= SANDBOX_AGENT_N_STRINGS_MAX);
      check (packet->exec.n_limits <= SANDBOX_AGENT_N_LIMITS_MAX);
      check (strlen (packet->exec.cwd) < SANDBOX_AGENT_PATH_MAX);
      check ((packet->exec.strings == NULL) == ((packet->exec.flags & SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD) != 0));
      if (packet->exec.strings != NULL)
        {
          check (packet->exec.strings[packet->exec.strings_size - 1] == '\0');
          if (packet->exec.argc <= N_STRINGS && packet->exec.envc <= N_STRINGS)
            check_strings (packet->exec.strings, packet->exec.strings_size, packet->exec.argc, packet->exec.envc);
        }
    }
  else if (packet->type == SANDBOX_AGENT_FAILED)
    check (sandbox_agent_step_to_string (packet->failed.step) != NULL && packet->failed.error > 0);
  check (sum <= (SANDBOX_AGENT_N_INSTRUCTIONS_MAX + SANDBOX_AGENT_N_SLOT_INSTRUCTIONS_MAX) * SANDBOX_AGENT_INSTRUCTION_SIZE * 255);
}

/* First byte: bit 0 who speaks, bit 1 strings instead of a packet, bit 2 with the right version and length put in, the
 * rest the number of descriptors. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  static uint8_t     again[SANDBOX_AGENT_PACKET_MAX];
  SandboxAgentPacket packet;
  uint8_t           *bytes;

  if (size < 3)
    return 0;
  if ((data[0] & 2) != 0)
    {
      check_strings ((const char *) data + 3, size - 3, data[1], data[2]);
      return 0;
    }

  size--;
  bytes = malloc (size);
  check (bytes != NULL);
  memcpy (bytes, data + 1, size);
  if ((data[0] & 4) != 0 && size >= HEADER_SIZE)
    {
      bytes[0] = SANDBOX_AGENT_VERSION;
      bytes[1] = 0;
      for (unsigned i = 0; i < 4; i++)
        bytes[4 + i] = (uint8_t) ((size - HEADER_SIZE) >> (8 * i));
    }
  if (sandbox_agent_decode ((data[0] & 1) != 0 ? SANDBOX_AGENT_FROM_AGENT : SANDBOX_AGENT_FROM_HOST,
                            bytes, size, data[0] >> 3, &packet))
    {
      check_contents (&packet);
      packet.n_fds = data[0] >> 3;
      check (sandbox_agent_encode (&packet, again, sizeof again) == size);
      check (memcmp (again, bytes, size) == 0);
      /* a buffer that is too small by one byte is not written to its end */
      check (sandbox_agent_encode (&packet, again, size - 1) == 0);
    }
  free (bytes);
  return 0;
}
