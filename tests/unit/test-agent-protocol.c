/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packets there and back, and everything that must be refused. */
#include "sandbox-agent-protocol.h"
#include "sandbox-fd-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_SIZE 8

static const guint8 filter[2 * SANDBOX_AGENT_INSTRUCTION_SIZE] = { 0x20, 0, 0, 0, 0, 0, 0, 0, 0x06, 0, 0, 0, 0, 0, 0xff, 0x7f };
static char         strings[] = "sh\0-c\0\0A=1\0B=";
static guint8       buffer[SANDBOX_AGENT_PACKET_MAX];

static SandboxAgentPacket
make_setup (void)
{
  return (SandboxAgentPacket){
    .type = SANDBOX_AGENT_SETUP,
    .n_fds = 3,
    .setup = {
        .flags = SANDBOX_AGENT_SETUP_FORBID_USERNS | SANDBOX_AGENT_SETUP_HOLD_LOCK,
        .workspace = "/workspace",
        .workspace_device = 0x1122334455667788,
        .workspace_inode = 0x99aabbccddeeff00,
        .n_mounts = 2,
        .mounts = { { "/workspace", 0 }, { "/data/set", SANDBOX_AGENT_MOUNT_READ_ONLY } },
        .n_rules = 2,
        .rules = { { "/", SANDBOX_AGENT_RULE_LIST }, { "/workspace", SANDBOX_AGENT_RULE_WRITE | SANDBOX_AGENT_RULE_OPTIONAL } },
        .n_instructions = 2,
        .filter = filter,
    },
  };
}

static SandboxAgentPacket
make_exec (void)
{
  return (SandboxAgentPacket){
    .type = SANDBOX_AGENT_EXEC,
    .n_fds = 3,
    .exec = {
        .deadline_us = G_GUINT64_CONSTANT (30000000),
        .cwd = "a/b",
        .n_limits = 2,
        .limits = { { 7, 1024 }, { 1, G_MAXUINT64 } },
        .argc = 3,
        .envc = 2,
        .strings_size = sizeof strings,
        .strings = strings,
    },
  };
}

/* A good packet of @type, encoded into buffer; its length. */
static gsize
encode_type (SandboxAgentType type,
             guint32         *n_fds)
{
  SandboxAgentPacket packet = { .type = type };

  switch (type)
    {
    case SANDBOX_AGENT_SETUP:
      packet = make_setup ();
      break;
    case SANDBOX_AGENT_EXEC:
      packet = make_exec ();
      break;
    case SANDBOX_AGENT_HELLO:
    case SANDBOX_AGENT_LISTEN:
    case SANDBOX_AGENT_READY:
    case SANDBOX_AGENT_ARM:
      packet.n_fds = 1;
      break;
    case SANDBOX_AGENT_FAILED:
      packet.failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_MOUNT, ENOENT, 5 };
      break;
    case SANDBOX_AGENT_EXITED:
      packet.exited = (SandboxAgentExited){ 9, SANDBOX_AGENT_EXITED_DEADLINE, 1, 2, 3, 4 };
      break;
    case SANDBOX_AGENT_SIGNAL:
      packet.signal.signum = 15;
      break;
    case SANDBOX_AGENT_STARTED:
    case SANDBOX_AGENT_BYE:
      break;
    }
  *n_fds = packet.n_fds;
  return sandbox_agent_encode (&packet, buffer, sizeof buffer);
}

static const SandboxAgentType types[] = {
  SANDBOX_AGENT_HELLO, SANDBOX_AGENT_SETUP, SANDBOX_AGENT_EXEC, SANDBOX_AGENT_STARTED, SANDBOX_AGENT_FAILED,
  SANDBOX_AGENT_EXITED, SANDBOX_AGENT_SIGNAL, SANDBOX_AGENT_BYE, SANDBOX_AGENT_LISTEN, SANDBOX_AGENT_READY,
  SANDBOX_AGENT_ARM
};

static gboolean
is_type (guint number)
{
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (types[i] == number)
      return TRUE;

  return FALSE;
}

static gboolean
is_from_host (SandboxAgentType type)
{
  return type == SANDBOX_AGENT_SETUP || type == SANDBOX_AGENT_EXEC || type == SANDBOX_AGENT_SIGNAL || type == SANDBOX_AGENT_BYE ||
         type == SANDBOX_AGENT_ARM;
}

static gboolean
is_from_agent (SandboxAgentType type)
{
  return type == SANDBOX_AGENT_BYE || !is_from_host (type);
}

/* Decodes from memory that ends where the packet does, so that a byte too far shows. */
static gboolean
decodes (SandboxAgentOrigin origin,
         gconstpointer      bytes,
         gsize              size,
         guint32            n_fds)
{
  g_autofree guint8 *exact = g_memdup2 (bytes, size);
  SandboxAgentPacket packet;

  return sandbox_agent_decode (origin, exact, size, n_fds, &packet);
}

static void
test_setup (void)
{
  SandboxAgentPacket packet = make_setup (), back;
  gsize              length = sandbox_agent_encode (&packet, buffer, sizeof buffer);

  g_assert_cmpuint (length, >, HEADER_SIZE);
  g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_HOST, buffer, length, 3, &back));
  g_assert_cmpuint (back.type, ==, SANDBOX_AGENT_SETUP);
  g_assert_cmpuint (back.setup.flags, ==, packet.setup.flags);
  g_assert_cmpstr (back.setup.workspace, ==, "/workspace");
  g_assert_cmphex (back.setup.workspace_device, ==, packet.setup.workspace_device);
  g_assert_cmphex (back.setup.workspace_inode, ==, packet.setup.workspace_inode);
  g_assert_cmpuint (back.setup.n_mounts, ==, 2);
  g_assert_cmpstr (back.setup.mounts[0].target, ==, "/workspace");
  g_assert_cmpuint (back.setup.mounts[0].flags, ==, 0);
  g_assert_cmpstr (back.setup.mounts[1].target, ==, "/data/set");
  g_assert_cmpuint (back.setup.mounts[1].flags, ==, SANDBOX_AGENT_MOUNT_READ_ONLY);
  g_assert_cmpuint (back.setup.n_rules, ==, 2);
  g_assert_cmpstr (back.setup.rules[0].path, ==, "/");
  g_assert_cmpuint (back.setup.rules[0].flags, ==, SANDBOX_AGENT_RULE_LIST);
  g_assert_cmpstr (back.setup.rules[1].path, ==, "/workspace");
  g_assert_cmpuint (back.setup.rules[1].flags, ==, SANDBOX_AGENT_RULE_WRITE | SANDBOX_AGENT_RULE_OPTIONAL);
  g_assert_cmpmem (back.setup.filter, back.setup.n_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE, filter, sizeof filter);
}

static void
test_in_place (void)
{
  static const struct
  {
    const char *target;
    guint32     flags;
    guint32     n_fds;
    gboolean    good;
  } mounts[] = {
    { "/workspace/.git", SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY, 2, TRUE },
    { "/workspace/.git", SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY, 3, FALSE },
    { "/workspace/.git", SANDBOX_AGENT_MOUNT_IN_PLACE, 2, FALSE },
    { "/workspace/.git", SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY | 4, 2, FALSE },
    { "/workspace", SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY, 2, FALSE },
    { "/workspace/", SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY, 2, FALSE },
    { "/workspaces/a", SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY, 2, FALSE },
    { "/etc", SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY, 2, FALSE },
  };
  SandboxAgentPacket packet;
  SandboxAgentPacket back;

  for (guint i = 0; i < G_N_ELEMENTS (mounts); i++)
    {
      gsize length = 0;

      packet = make_setup ();
      packet.setup.mounts[1] = (SandboxAgentMount){ mounts[i].target, mounts[i].flags };
      packet.n_fds = mounts[i].n_fds;
      length = sandbox_agent_encode (&packet, buffer, sizeof buffer);
      g_assert_cmpint (length > 0, ==, mounts[i].good);
      if (length == 0)
        continue;
      g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_HOST, buffer, length, mounts[i].n_fds, &back));
      g_assert_cmpstr (back.setup.mounts[1].target, ==, mounts[i].target);
      g_assert_cmpuint (back.setup.mounts[1].flags, ==, mounts[i].flags);
    }

  /* They come last, so that a descriptor has the number of its mount. */
  packet = make_setup ();
  packet.setup.mounts[0] = (SandboxAgentMount){ "/workspace/x", SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY };
  packet.n_fds = 2;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
}

static void
test_overlay (void)
{
  static const struct
  {
    guint32  flags;
    guint32  n_fds;
    gboolean good;
  } mounts[] = {
    { SANDBOX_AGENT_MOUNT_OVERLAY, 4, TRUE },
    { SANDBOX_AGENT_MOUNT_OVERLAY, 3, FALSE },
    { SANDBOX_AGENT_MOUNT_OVERLAY, 2, FALSE },
    { SANDBOX_AGENT_MOUNT_OVERLAY | SANDBOX_AGENT_MOUNT_BOUND, 2, TRUE },
    { SANDBOX_AGENT_MOUNT_OVERLAY | SANDBOX_AGENT_MOUNT_BOUND, 4, FALSE },
    { SANDBOX_AGENT_MOUNT_BOUND, 2, FALSE },
    { SANDBOX_AGENT_MOUNT_BOUND, 3, FALSE },
    { SANDBOX_AGENT_MOUNT_OVERLAY | SANDBOX_AGENT_MOUNT_READ_ONLY, 4, FALSE },
    { SANDBOX_AGENT_MOUNT_OVERLAY | SANDBOX_AGENT_MOUNT_IN_PLACE | SANDBOX_AGENT_MOUNT_READ_ONLY, 2, FALSE },
  };
  SandboxAgentPacket packet;
  SandboxAgentPacket back;

  for (guint i = 0; i < G_N_ELEMENTS (mounts); i++)
    {
      gsize length = 0;

      packet = make_setup ();
      packet.setup.mounts[0].flags = mounts[i].flags;
      packet.n_fds = mounts[i].n_fds;
      length = sandbox_agent_encode (&packet, buffer, sizeof buffer);
      g_assert_cmpint (length > 0, ==, mounts[i].good);
      if (length == 0)
        continue;
      g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_HOST, buffer, length, mounts[i].n_fds, &back));
      g_assert_cmpuint (back.setup.mounts[0].flags, ==, mounts[i].flags);
    }

  /* There is one workspace. */
  packet = make_setup ();
  packet.setup.mounts[0].flags = SANDBOX_AGENT_MOUNT_OVERLAY;
  packet.setup.mounts[1].flags = SANDBOX_AGENT_MOUNT_OVERLAY;
  packet.n_fds = 5;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
  packet.setup.mounts[1].target = "/";
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
}

static void
test_memories (void)
{
  static const struct
  {
    guint32     flags;
    guint32     n_memories;
    const char *target;
    gboolean    good;
  } memories[] = {
    { SANDBOX_AGENT_SETUP_SLOTS, 0, "/tmp", TRUE },
    { SANDBOX_AGENT_SETUP_SLOTS, 1, "/tmp", TRUE },
    { SANDBOX_AGENT_SETUP_SLOTS, SANDBOX_AGENT_N_MEMORIES_MAX, "/tmp", TRUE },
    { SANDBOX_AGENT_SETUP_SLOTS, SANDBOX_AGENT_N_MEMORIES_MAX + 1, "/tmp", FALSE },
    { SANDBOX_AGENT_SETUP_SLOTS, G_MAXUINT32, "/tmp", FALSE },
    { SANDBOX_AGENT_SETUP_SLOTS, 1, "/", FALSE },
    { SANDBOX_AGENT_SETUP_SLOTS, 1, "tmp", FALSE },
    { SANDBOX_AGENT_SETUP_SLOTS, 1, "", FALSE },
    { SANDBOX_AGENT_SETUP_SLOTS | SANDBOX_AGENT_SETUP_SHARED, 0, "/tmp", TRUE },
    { SANDBOX_AGENT_SETUP_SLOTS | SANDBOX_AGENT_SETUP_SHARED, 1, "/tmp", FALSE },
    { SANDBOX_AGENT_SETUP_SLOTS | SANDBOX_AGENT_SETUP_LATE_FILTER, 1, "/tmp", TRUE },
    { SANDBOX_AGENT_SETUP_SHARED, 0, "/tmp", FALSE },
    { SANDBOX_AGENT_SETUP_LATE_FILTER, 0, "/tmp", FALSE },
    { 0, 1, "/tmp", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (memories); i++)
    {
      SandboxAgentPacket packet = make_setup ();
      SandboxAgentPacket back;
      gsize              length = 0;

      packet.setup.flags |= memories[i].flags;
      packet.setup.n_slot_instructions = (memories[i].flags & SANDBOX_AGENT_SETUP_SLOTS) != 0;
      packet.setup.slot_filter = filter + SANDBOX_AGENT_INSTRUCTION_SIZE;
      packet.setup.n_memories = memories[i].n_memories;
      for (guint j = 0; j < SANDBOX_AGENT_N_MEMORIES_MAX; j++)
        packet.setup.memories[j] = (SandboxAgentMemory){ memories[i].target, j + 1 };
      length = sandbox_agent_encode (&packet, buffer, sizeof buffer);
      g_assert_cmpint (length > 0, ==, memories[i].good);
      if (length == 0)
        continue;
      g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_HOST, buffer, length, packet.n_fds, &back));
      g_assert_cmpuint (back.setup.n_memories, ==, memories[i].n_memories);
      for (guint j = 0; j < back.setup.n_memories; j++)
        {
          g_assert_cmpstr (back.setup.memories[j].target, ==, memories[i].target);
          g_assert_cmpuint (back.setup.memories[j].size, ==, j + 1);
        }
      g_assert_cmpmem (back.setup.filter, back.setup.n_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE, filter, sizeof filter);
      g_assert_cmpmem (back.setup.slot_filter, back.setup.n_slot_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE,
                       filter + SANDBOX_AGENT_INSTRUCTION_SIZE, packet.setup.n_slot_instructions * SANDBOX_AGENT_INSTRUCTION_SIZE);
    }
}

static void
test_rules (void)
{
  static const struct
  {
    const char *path;
    guint32     flags;
    gboolean    good;
  } rules[] = {
    { "/usr", SANDBOX_AGENT_RULE_READ, TRUE },
    { "/", SANDBOX_AGENT_RULE_LIST | SANDBOX_AGENT_RULE_READ | SANDBOX_AGENT_RULE_PROC | SANDBOX_AGENT_RULE_WRITE | SANDBOX_AGENT_RULE_DEVICE, TRUE },
    { "/usr", 0, FALSE },
    { "/usr", SANDBOX_AGENT_RULE_OPTIONAL, FALSE },
    { "/usr", SANDBOX_AGENT_RULE_READ | 64, FALSE },
    { "usr", SANDBOX_AGENT_RULE_READ, FALSE },
    { "", SANDBOX_AGENT_RULE_READ, FALSE },
  };
  SandboxAgentPacket packet;
  SandboxAgentPacket back;

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    {
      gsize length = 0;

      packet = make_setup ();
      packet.setup.rules[1] = (SandboxAgentRule){ rules[i].path, rules[i].flags };
      length = sandbox_agent_encode (&packet, buffer, sizeof buffer);
      g_assert_cmpint (length > 0, ==, rules[i].good);
      if (length == 0)
        continue;
      g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_HOST, buffer, length, packet.n_fds, &back));
      g_assert_cmpstr (back.setup.rules[1].path, ==, rules[i].path);
      g_assert_cmpuint (back.setup.rules[1].flags, ==, rules[i].flags);
    }

  packet = make_setup ();
  packet.setup.n_rules = SANDBOX_AGENT_N_RULES_MAX + 1;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
  packet.setup.n_rules = G_MAXUINT32;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
}

/* @n_rules rules whose paths have @size bytes in all. */
static gboolean
takes_rules (guint n_rules,
             gsize size)
{
  SandboxAgentPacket packet = make_setup ();
  g_autofree char   *usual = g_malloc0 (size / n_rules);
  g_autofree char   *last = g_malloc0 (size - (n_rules - 1) * (size / n_rules));

  memset (usual, '/', size / n_rules - 1);
  memset (last, '/', size - (n_rules - 1) * (size / n_rules) - 1);
  packet.setup.n_rules = n_rules;
  for (guint i = 0; i < n_rules; i++)
    packet.setup.rules[i] = (SandboxAgentRule){ i + 1 < n_rules ? usual : last, SANDBOX_AGENT_RULE_READ };

  return sandbox_agent_encode (&packet, buffer, sizeof buffer) > 0;
}

static void
test_rules_size (void)
{
  g_assert_true (takes_rules (SANDBOX_AGENT_N_RULES_MAX, SANDBOX_AGENT_RULES_SIZE_MAX));
  g_assert_false (takes_rules (SANDBOX_AGENT_N_RULES_MAX, SANDBOX_AGENT_RULES_SIZE_MAX + 1));
  g_assert_true (takes_rules (8, SANDBOX_AGENT_RULES_SIZE_MAX));
  g_assert_false (takes_rules (7, SANDBOX_AGENT_RULES_SIZE_MAX)); /* a path is bounded too */
}

static void
test_exec (void)
{
  SandboxAgentPacket packet = make_exec (), back;
  gsize              length = sandbox_agent_encode (&packet, buffer, sizeof buffer);
  char              *vector[7];

  g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_HOST, buffer, length, 3, &back));
  g_assert_cmpuint (back.type, ==, SANDBOX_AGENT_EXEC);
  g_assert_cmpuint (back.exec.deadline_us, ==, 30000000);
  g_assert_cmpstr (back.exec.cwd, ==, "a/b");
  g_assert_cmpuint (back.exec.n_limits, ==, 2);
  g_assert_cmpuint (back.exec.limits[0].resource, ==, 7);
  g_assert_cmpuint (back.exec.limits[0].value, ==, 1024);
  g_assert_cmpuint (back.exec.limits[1].value, ==, G_MAXUINT64);
  g_assert_cmpmem (back.exec.strings, back.exec.strings_size, strings, sizeof strings);
  g_assert_true (sandbox_agent_unpack_strings ((char *) back.exec.strings, back.exec.strings_size, back.exec.argc, back.exec.envc, vector));
  g_assert_cmpstr (vector[0], ==, "sh");
  g_assert_cmpstr (vector[1], ==, "-c");
  g_assert_cmpstr (vector[2], ==, "");
  g_assert_null (vector[3]);
  g_assert_cmpstr (vector[4], ==, "A=1");
  g_assert_cmpstr (vector[5], ==, "B=");
  g_assert_null (vector[6]);

  packet.exec.flags = SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD;
  packet.exec.strings = NULL;
  packet.exec.strings_size = SANDBOX_AGENT_STRINGS_MAX;
  packet.n_fds = 4;
  length = sandbox_agent_encode (&packet, buffer, sizeof buffer);
  g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_HOST, buffer, length, 4, &back));
  g_assert_null (back.exec.strings);
  g_assert_cmpuint (back.exec.strings_size, ==, SANDBOX_AGENT_STRINGS_MAX);
}

static void
test_reports (void)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_FAILED, .failed = { SANDBOX_AGENT_STEP_RLIMIT, EPERM, 7 } }, back;
  gsize              length = sandbox_agent_encode (&packet, buffer, sizeof buffer);

  g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_AGENT, buffer, length, 0, &back));
  g_assert_cmpuint (back.failed.step, ==, SANDBOX_AGENT_STEP_RLIMIT);
  g_assert_cmpint (back.failed.error, ==, EPERM);
  g_assert_cmpuint (back.failed.detail, ==, 7);

  packet = (SandboxAgentPacket){ .type = SANDBOX_AGENT_EXITED, .exited = { 0x0300, SANDBOX_AGENT_EXITED_DEADLINE | SANDBOX_AGENT_EXITED_ALONE, 1, G_MAXUINT64, 1 << 20, 77 } };
  length = sandbox_agent_encode (&packet, buffer, sizeof buffer);
  g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_AGENT, buffer, length, 0, &back));
  g_assert_cmpint (back.exited.wait_status, ==, 0x0300);
  g_assert_cmpuint (back.exited.flags, ==, SANDBOX_AGENT_EXITED_DEADLINE | SANDBOX_AGENT_EXITED_ALONE);
  g_assert_cmpuint (back.exited.user_us, ==, 1);
  g_assert_cmpuint (back.exited.system_us, ==, G_MAXUINT64);
  g_assert_cmpuint (back.exited.peak_memory, ==, 1 << 20);
  g_assert_cmpuint (back.exited.wall_us, ==, 77);

  packet = (SandboxAgentPacket){ .type = SANDBOX_AGENT_SIGNAL, .signal = { 64 } };
  length = sandbox_agent_encode (&packet, buffer, sizeof buffer);
  g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_HOST, buffer, length, 0, &back));
  g_assert_cmpuint (back.signal.signum, ==, 64);
}

static void
test_largest (void)
{
  g_autofree char   *text = g_malloc (SANDBOX_AGENT_INLINE_MAX);
  g_autofree char   *path = g_malloc0 (SANDBOX_AGENT_PATH_MAX);
  g_autofree guint8 *program = g_malloc0 (SANDBOX_AGENT_N_INSTRUCTIONS_MAX * SANDBOX_AGENT_INSTRUCTION_SIZE);
  SandboxAgentPacket packet = make_exec (), back;
  char               rule_path[SANDBOX_AGENT_RULES_SIZE_MAX / SANDBOX_AGENT_N_RULES_MAX] = { 0 };

  g_test_summary ("What is valid always fits into SANDBOX_AGENT_PACKET_MAX");
  memset (text, 'x', SANDBOX_AGENT_INLINE_MAX);
  text[SANDBOX_AGENT_INLINE_MAX - 1] = '\0';
  memset (path, 'y', SANDBOX_AGENT_PATH_MAX - 1);
  packet.exec.cwd = path;
  packet.exec.argc = 1;
  packet.exec.envc = 0;
  packet.exec.strings = text;
  packet.exec.strings_size = SANDBOX_AGENT_INLINE_MAX;
  packet.exec.n_limits = SANDBOX_AGENT_N_LIMITS_MAX;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), >, SANDBOX_AGENT_INLINE_MAX);

  packet = make_setup ();
  path[0] = '/';
  packet.setup.workspace = path;
  packet.setup.n_mounts = SANDBOX_AGENT_N_MOUNTS_MAX;
  for (guint i = 0; i < SANDBOX_AGENT_N_MOUNTS_MAX; i++)
    packet.setup.mounts[i] = (SandboxAgentMount){ path, 0 };
  memset (rule_path, '/', sizeof rule_path - 1);
  packet.setup.n_rules = SANDBOX_AGENT_N_RULES_MAX;
  for (guint i = 0; i < SANDBOX_AGENT_N_RULES_MAX; i++)
    packet.setup.rules[i] = (SandboxAgentRule){ rule_path, SANDBOX_AGENT_RULE_READ };
  packet.setup.flags |= SANDBOX_AGENT_SETUP_SLOTS;
  packet.setup.n_memories = SANDBOX_AGENT_N_MEMORIES_MAX;
  for (guint i = 0; i < SANDBOX_AGENT_N_MEMORIES_MAX; i++)
    packet.setup.memories[i] = (SandboxAgentMemory){ path, G_MAXUINT64 };
  packet.setup.filter = program;
  packet.setup.n_instructions = SANDBOX_AGENT_N_INSTRUCTIONS_MAX;
  packet.setup.slot_filter = program;
  packet.setup.n_slot_instructions = SANDBOX_AGENT_N_SLOT_INSTRUCTIONS_MAX;
  packet.n_fds = SANDBOX_AGENT_N_MOUNTS_MAX + 1;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), >, SANDBOX_AGENT_N_MOUNTS_MAX * SANDBOX_AGENT_PATH_MAX);
  g_assert_true (sandbox_agent_decode (SANDBOX_AGENT_FROM_HOST, buffer,
                                       sandbox_agent_encode (&packet, buffer, sizeof buffer), packet.n_fds, &back));
  g_assert_cmpuint (strlen (back.setup.mounts[7].target), ==, SANDBOX_AGENT_PATH_MAX - 1);
}

static void
test_every_truncation (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      SandboxAgentType   type = types[i];
      guint32            n_fds;
      gsize              length = encode_type (type, &n_fds);
      SandboxAgentOrigin origin = is_from_host (type) ? SANDBOX_AGENT_FROM_HOST : SANDBOX_AGENT_FROM_AGENT;

      g_assert_cmpuint (length, >=, HEADER_SIZE);
      g_assert_true (decodes (origin, buffer, length, n_fds));
      for (gsize cut = 0; cut < length; cut++)
        {
          g_assert_false (decodes (origin, buffer, cut, n_fds));
          /* also when the header says so */
          if (cut >= HEADER_SIZE)
            {
              guint32 body = GUINT32_TO_LE ((guint32) (cut - HEADER_SIZE));

              memcpy (buffer + 4, &body, 4);
              g_assert_false (decodes (origin, buffer, cut, n_fds));
              body = GUINT32_TO_LE ((guint32) (length - HEADER_SIZE));
              memcpy (buffer + 4, &body, 4);
            }
        }
    }
}

static void
test_trailing_bytes (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      SandboxAgentType   type = types[i];
      guint32            n_fds;
      gsize              length = encode_type (type, &n_fds);
      SandboxAgentOrigin origin = is_from_host (type) ? SANDBOX_AGENT_FROM_HOST : SANDBOX_AGENT_FROM_AGENT;
      guint32            body = GUINT32_TO_LE ((guint32) (length - HEADER_SIZE + 1));

      buffer[length] = 0;
      g_assert_false (decodes (origin, buffer, length + 1, n_fds));
      memcpy (buffer + 4, &body, 4);
      g_assert_false (decodes (origin, buffer, length + 1, n_fds));
      /* and a header that promises more than there is */
      g_assert_false (decodes (origin, buffer, length, n_fds));
    }
}

static void
test_wrong_version_type_direction_fds (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      SandboxAgentType   type = types[i];
      guint32            n_fds;
      gsize              length = encode_type (type, &n_fds);
      SandboxAgentOrigin origin = is_from_host (type) ? SANDBOX_AGENT_FROM_HOST : SANDBOX_AGENT_FROM_AGENT;

      g_assert_true (decodes (SANDBOX_AGENT_FROM_HOST, buffer, length, n_fds) == is_from_host (type));
      g_assert_true (decodes (SANDBOX_AGENT_FROM_AGENT, buffer, length, n_fds) == is_from_agent (type));
      for (guint32 n = 0; n <= SANDBOX_AGENT_N_FDS_MAX; n++)
        g_assert_true (decodes (origin, buffer, length, n) == (n == n_fds || (type == SANDBOX_AGENT_LISTEN && n == 2)));
      for (guint bit = 0; bit < 16; bit++)
        {
          buffer[bit / 8] ^= 1 << (bit % 8);
          g_assert_false (decodes (origin, buffer, length, n_fds));
          buffer[bit / 8] ^= 1 << (bit % 8);
        }
      for (guint other = 0; other < 0x300; other++)
        if (!is_type (other))
          {
            buffer[2] = other & 0xff;
            buffer[3] = other >> 8;
            g_assert_false (decodes (origin, buffer, length, n_fds));
          }
    }
}

static void
refuse_setup (SandboxAgentPacket packet)
{
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
}

static void
test_bad_setup (void)
{
  g_autofree char   *long_path = g_strnfill (SANDBOX_AGENT_PATH_MAX, '/');
  g_autofree guint8 *program = g_malloc0 ((SANDBOX_AGENT_N_INSTRUCTIONS_MAX + 1) * SANDBOX_AGENT_INSTRUCTION_SIZE);
  SandboxAgentPacket packet;

  for (guint bit = 11; bit < 32; bit++)
    {
      packet = make_setup ();
      packet.setup.flags |= 1u << bit;
      refuse_setup (packet);
    }
  packet = make_setup ();
  packet.setup.flags |= SANDBOX_AGENT_SETUP_LOOPBACK_DOOR;
  refuse_setup (packet);
  packet.setup.flags |= SANDBOX_AGENT_SETUP_DOOR;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), >, 0);
  for (guint bit = 1; bit < 32; bit++)
    {
      packet = make_setup ();
      packet.setup.mounts[1].flags = 1u << bit;
      refuse_setup (packet);
    }
  packet = make_setup ();
  packet.setup.n_instructions = 0;
  refuse_setup (packet);
  packet.setup.n_instructions = SANDBOX_AGENT_N_INSTRUCTIONS_MAX + 1;
  packet.setup.filter = program;
  refuse_setup (packet);
  packet.setup.n_instructions = G_MAXUINT32;
  refuse_setup (packet);
  packet = make_setup ();
  packet.setup.filter = NULL;
  refuse_setup (packet);
  packet = make_setup ();
  packet.setup.slot_filter = filter;
  packet.setup.n_slot_instructions = 1; /* without slots */
  refuse_setup (packet);
  packet.setup.flags |= SANDBOX_AGENT_SETUP_SLOTS;
  packet.setup.n_slot_instructions = 0;
  refuse_setup (packet);
  packet.setup.slot_filter = program;
  packet.setup.n_slot_instructions = SANDBOX_AGENT_N_SLOT_INSTRUCTIONS_MAX + 1;
  refuse_setup (packet);
  packet.setup.n_slot_instructions = G_MAXUINT32;
  refuse_setup (packet);
  packet.setup.slot_filter = NULL;
  packet.setup.n_slot_instructions = 1;
  refuse_setup (packet);
  packet = make_setup ();
  packet.setup.n_mounts = SANDBOX_AGENT_N_MOUNTS_MAX + 1;
  packet.n_fds = SANDBOX_AGENT_N_MOUNTS_MAX + 2;
  refuse_setup (packet);
  packet.setup.n_mounts = G_MAXUINT32;
  packet.n_fds = 0;
  refuse_setup (packet);

  for (guint i = 0; i < 2; i++)
    {
      const char *const bad[] = { "", "/", "workspace", "./x", long_path, NULL };

      for (guint j = 0; j < G_N_ELEMENTS (bad); j++)
        {
          packet = make_setup ();
          if (i == 0)
            packet.setup.workspace = bad[j];
          else
            packet.setup.mounts[1].target = bad[j];
          refuse_setup (packet);
        }
    }
  packet = make_setup ();
  packet.setup.flags &= ~SANDBOX_AGENT_SETUP_HOLD_LOCK;
  refuse_setup (packet); /* one descriptor too many */
  packet.n_fds = 2;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), >, 0);
}

static void
refuse_exec (SandboxAgentPacket packet)
{
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
}

static void
test_bad_exec (void)
{
  g_autofree char   *much = g_malloc0 (SANDBOX_AGENT_INLINE_MAX + 1);
  g_autofree char   *long_path = g_strnfill (SANDBOX_AGENT_PATH_MAX, 'x');
  SandboxAgentPacket packet;

  for (guint bit = 1; bit < 32; bit++)
    {
      packet = make_exec ();
      packet.exec.flags = 1u << bit;
      refuse_exec (packet);
    }
  packet = make_exec ();
  packet.exec.argc = 0;
  packet.exec.envc = 5;
  refuse_exec (packet);
  packet = make_exec ();
  packet.exec.argc = 4;
  refuse_exec (packet);
  packet = make_exec ();
  packet.exec.envc = 1;
  refuse_exec (packet);
  packet.exec.envc = G_MAXUINT32 - 2; /* argc + envc wraps round */
  refuse_exec (packet);
  packet = make_exec ();
  packet.exec.argc = G_MAXUINT32;
  packet.exec.envc = 6;
  refuse_exec (packet);
  packet = make_exec ();
  packet.exec.strings_size--; /* the last NUL is missing */
  refuse_exec (packet);
  packet = make_exec ();
  packet.exec.strings = NULL;
  refuse_exec (packet);
  packet = make_exec ();
  packet.exec.strings = much;
  packet.exec.strings_size = SANDBOX_AGENT_INLINE_MAX + 1;
  packet.exec.argc = SANDBOX_AGENT_INLINE_MAX + 1;
  packet.exec.envc = 0;
  refuse_exec (packet);
  packet.exec.strings_size = packet.exec.argc = SANDBOX_AGENT_INLINE_MAX;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), >, 0);

  packet = make_exec ();
  packet.exec.flags = SANDBOX_AGENT_EXEC_STRINGS_IN_MEMFD;
  refuse_exec (packet); /* no fourth descriptor */
  packet.n_fds = 4;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), >, 0);
  packet.exec.strings_size = SANDBOX_AGENT_STRINGS_MAX + 1;
  refuse_exec (packet);

  packet = make_exec ();
  packet.exec.n_limits = SANDBOX_AGENT_N_LIMITS_MAX + 1;
  refuse_exec (packet);
  packet = make_exec ();
  packet.exec.limits[1].resource = 16;
  refuse_exec (packet);
  packet = make_exec ();
  packet.exec.cwd = "/etc";
  refuse_exec (packet);
  packet.exec.cwd = long_path;
  refuse_exec (packet);
  packet.exec.cwd = NULL;
  refuse_exec (packet);
}

static void
test_bad_small_packets (void)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_SIGNAL };
  const guint32      signals[] = { 0, 65, G_MAXUINT32 };

  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      packet.signal.signum = signals[i];
      g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
    }
  packet = (SandboxAgentPacket){ .type = SANDBOX_AGENT_FAILED, .failed = { SANDBOX_AGENT_STEP_LAST + 1, EPERM, 0 } };
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
  packet.failed.step = 0;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
  packet.failed = (SandboxAgentFailed){ SANDBOX_AGENT_STEP_EXEC, 0, 0 };
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
  packet.failed.error = -1;
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
  packet = (SandboxAgentPacket){ .type = SANDBOX_AGENT_EXITED, .exited = { .flags = 4 } };
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
  packet = (SandboxAgentPacket){ .type = 99 };
  g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, 0);
}

static void
test_small_buffer (void)
{
  g_test_summary ("Nothing is written behind the end of a buffer that is too small");
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      SandboxAgentType   type = types[i];
      SandboxAgentPacket packet = type == SANDBOX_AGENT_SETUP ? make_setup () : make_exec ();
      guint32            n_fds;
      gsize              length = encode_type (type, &n_fds);

      if (type != SANDBOX_AGENT_SETUP && type != SANDBOX_AGENT_EXEC)
        packet = (SandboxAgentPacket){ .type = type, .n_fds = n_fds, .failed = { 1, 1, 0 } };
      if (type == SANDBOX_AGENT_EXITED)
        packet.exited.flags = 0;
      for (gsize size = 0; size < length; size++)
        {
          g_autofree guint8 *small = g_malloc (size + 1);

          small[size] = 0xaa;
          g_assert_cmpuint (sandbox_agent_encode (&packet, small, size), ==, 0);
          g_assert_cmphex (small[size], ==, 0xaa);
        }
    }
}

static void
test_strings (void)
{
  const char *const argv[] = { "a", "", "bc", NULL };
  const char *const envp[] = { "X=", NULL };
  const char *const none[] = { NULL };
  char              packed[9];
  char             *vector[6];

  g_assert_cmpuint (sandbox_agent_pack_strings (argv, envp, NULL, 0), ==, 9);
  g_assert_cmpuint (sandbox_agent_pack_strings (argv, envp, packed, sizeof packed), ==, 9);
  g_assert_cmpmem (packed, sizeof packed, "a\0\0bc\0X=", 9);
  g_assert_cmpuint (sandbox_agent_pack_strings (argv, NULL, NULL, 0), ==, 6);
  g_assert_cmpuint (sandbox_agent_pack_strings (NULL, none, NULL, 0), ==, 0);
  packed[8] = 'z';
  g_assert_cmpuint (sandbox_agent_pack_strings (argv, envp, packed, 8), ==, 9);
  g_assert_cmpint (packed[8], ==, 'z');
  packed[8] = '\0';

  g_assert_true (sandbox_agent_unpack_strings (packed, 9, 3, 1, vector));
  g_assert_cmpstr (vector[2], ==, "bc");
  g_assert_null (vector[3]);
  g_assert_cmpstr (vector[4], ==, "X=");
  g_assert_null (vector[5]);
  g_assert_true (sandbox_agent_unpack_strings (packed, 9, 4, 0, vector));
  g_assert_cmpstr (vector[3], ==, "X=");
  g_assert_null (vector[4]);
  g_assert_null (vector[5]);
  g_assert_false (sandbox_agent_unpack_strings (packed, 9, 3, 2, NULL));
  g_assert_false (sandbox_agent_unpack_strings (packed, 9, 3, 0, vector));
  g_assert_false (sandbox_agent_unpack_strings (packed, 8, 3, 1, vector));
  g_assert_false (sandbox_agent_unpack_strings (packed, 0, 1, 0, vector));
  g_assert_true (sandbox_agent_unpack_strings (packed, 0, 0, 0, vector));
}

static void
test_step_names (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint step = 1; step <= SANDBOX_AGENT_STEP_LAST; step++)
    {
      const char *name = sandbox_agent_step_to_string (step);

      g_assert_cmpstr (name, !=, sandbox_agent_step_to_string (0));
      g_assert_true (g_hash_table_add (seen, (gpointer) name));
    }
  g_assert_nonnull (sandbox_agent_step_to_string (G_MAXUINT32));
  g_assert_cmpstr (sandbox_agent_step_to_string (SANDBOX_AGENT_STEP_LAST + 1), ==, sandbox_agent_step_to_string (0));
}

/* --- over a socket --- */

static guint
count_fds (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
open_pair (SandboxFd *host,
           SandboxFd *agent)
{
  int pair[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), ==, 0);
  *host = pair[0];
  *agent = pair[1];
}

/* Sends any bytes with any number of descriptors. */
static void
send_raw (int           socket_fd,
          gconstpointer bytes,
          gsize         size,
          guint         n_fds)
{
  union
  {
    struct cmsghdr header;
    char           bytes[CMSG_SPACE (64 * sizeof (int))];
  } control = { 0 };
  struct iovec  iov = { (gpointer) bytes, size };
  struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

  if (n_fds > 0)
    {
      message.msg_control = &control;
      message.msg_controllen = CMSG_SPACE (n_fds * sizeof (int));
      control.header.cmsg_level = SOL_SOCKET;
      control.header.cmsg_type = SCM_RIGHTS;
      control.header.cmsg_len = CMSG_LEN (n_fds * sizeof (int));
      for (guint i = 0; i < n_fds; i++)
        memcpy (CMSG_DATA (&control.header) + i * sizeof (int), &socket_fd, sizeof (int));
    }
  g_assert_cmpint (sendmsg (socket_fd, &message, MSG_NOSIGNAL), ==, size);
}

static void
test_socket (void)
{
  g_auto (SandboxFd) host = -1;
  g_auto (SandboxFd) agent = -1;
  g_autofree guint8 *other = g_malloc (SANDBOX_AGENT_PACKET_MAX);
  SandboxAgentPacket packet = make_exec (), back;
  guint              before;

  open_pair (&host, &agent);
  before = count_fds ();
  g_assert_cmpint (sandbox_agent_receive (agent, SANDBOX_AGENT_FROM_HOST, other, SANDBOX_AGENT_PACKET_MAX, &back), ==, SANDBOX_AGENT_AGAIN);
  for (guint i = 0; i < 3; i++)
    packet.fds[i] = host;
  g_assert_true (sandbox_agent_send (host, &packet, buffer, sizeof buffer));
  g_assert_cmpint (sandbox_agent_receive (agent, SANDBOX_AGENT_FROM_HOST, other, SANDBOX_AGENT_PACKET_MAX, &back), ==, SANDBOX_AGENT_RECEIVED);
  g_assert_cmpuint (back.type, ==, SANDBOX_AGENT_EXEC);
  g_assert_cmpuint (back.n_fds, ==, 3);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpint (fcntl (back.fds[i], F_GETFD), ==, FD_CLOEXEC);
  g_assert_cmpuint (count_fds (), ==, before + 3);
  sandbox_clear_fd (&back.fds[1]);
  sandbox_agent_packet_close_fds (&back);
  g_assert_cmpuint (back.n_fds, ==, 0);
  g_assert_cmpuint (count_fds (), ==, before);

  packet.exec.argc = 99;
  g_assert_false (sandbox_agent_send (host, &packet, buffer, sizeof buffer));
  g_assert_cmpint (errno, ==, EMSGSIZE);

  sandbox_clear_fd (&host);
  g_assert_cmpint (sandbox_agent_receive (agent, SANDBOX_AGENT_FROM_HOST, other, SANDBOX_AGENT_PACKET_MAX, &back), ==, SANDBOX_AGENT_END);
  packet = (SandboxAgentPacket){ .type = SANDBOX_AGENT_STARTED };
  g_assert_false (sandbox_agent_send (agent, &packet, buffer, sizeof buffer));
  g_assert_cmpint (errno, ==, EPIPE);
}

static void
test_socket_full (void)
{
  g_auto (SandboxFd) host = -1;
  g_auto (SandboxFd) agent = -1;
  SandboxAgentPacket packet = make_exec ();

  g_test_summary ("A side that does not read never makes the other one wait");
  open_pair (&host, &agent);
  for (guint i = 0; i < 3; i++)
    packet.fds[i] = host;
  for (guint i = 0; sandbox_agent_send (host, &packet, buffer, sizeof buffer); i++)
    g_assert_cmpuint (i, <, 100000);
  g_assert_cmpint (errno, ==, EAGAIN);
}

static void
test_last_words (void)
{
  g_auto (SandboxFd) host = -1;
  g_auto (SandboxFd) agent = -1;
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_BYE }, back;

  g_test_summary ("What the other side said before it ended is heard, although it left our packet unread");
  open_pair (&host, &agent);
  g_assert_true (sandbox_agent_send (host, &packet, buffer, sizeof buffer));
  packet = (SandboxAgentPacket){ .type = SANDBOX_AGENT_FAILED, .failed = { SANDBOX_AGENT_STEP_SECCOMP, EINVAL, 0 } };
  g_assert_true (sandbox_agent_send (agent, &packet, buffer, sizeof buffer));
  sandbox_clear_fd (&agent);
  g_assert_cmpint (sandbox_agent_receive (host, SANDBOX_AGENT_FROM_AGENT, buffer, sizeof buffer, &back), ==, SANDBOX_AGENT_RECEIVED);
  g_assert_cmpuint (back.failed.step, ==, SANDBOX_AGENT_STEP_SECCOMP);
  g_assert_cmpint (sandbox_agent_receive (host, SANDBOX_AGENT_FROM_AGENT, buffer, sizeof buffer, &back), ==, SANDBOX_AGENT_END);
}

static void
test_socket_rejects (void)
{
  g_autofree guint8 *big = g_malloc0 (SANDBOX_AGENT_PACKET_MAX + 1);
  const guint8       hello[HEADER_SIZE] = { SANDBOX_AGENT_VERSION, 0, SANDBOX_AGENT_HELLO, 0, 0, 0, 0, 0 };
  struct
  {
    gconstpointer bytes;
    gsize         size;
    guint         n_fds;
  } bad[] = {
    { hello, HEADER_SIZE, 0 },
    { hello, HEADER_SIZE, 2 },
    { hello, HEADER_SIZE, SANDBOX_AGENT_N_FDS_MAX },
    { hello, HEADER_SIZE, SANDBOX_AGENT_N_FDS_MAX + 1 }, /* MSG_CTRUNC */
    { hello, HEADER_SIZE, 64 },
    { hello, HEADER_SIZE - 1, 1 },
    { hello, 1, 1 },
    { hello, 0, 1 },
    { big, SANDBOX_AGENT_PACKET_MAX, 1 },
    { big, SANDBOX_AGENT_PACKET_MAX + 1, 1 }, /* MSG_TRUNC */
  };
  g_auto (SandboxFd) host = -1;
  g_auto (SandboxFd) agent = -1;
  SandboxAgentPacket packet;
  guint              before;

  g_test_summary ("A rejected packet leaves no descriptor behind");
  open_pair (&host, &agent);
  before = count_fds ();

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      send_raw (agent, bad[i].bytes, bad[i].size, bad[i].n_fds);
      g_assert_cmpint (sandbox_agent_receive (host, SANDBOX_AGENT_FROM_AGENT, buffer, sizeof buffer, &packet), ==, SANDBOX_AGENT_REJECTED);
      g_assert_cmpuint (count_fds (), ==, before);
    }
  send_raw (agent, hello, HEADER_SIZE, 1);
  g_assert_cmpint (sandbox_agent_receive (host, SANDBOX_AGENT_FROM_HOST, buffer, sizeof buffer, &packet), ==, SANDBOX_AGENT_REJECTED);
  g_assert_cmpuint (count_fds (), ==, before);
  send_raw (agent, hello, HEADER_SIZE, 1);
  g_assert_cmpint (sandbox_agent_receive (host, SANDBOX_AGENT_FROM_AGENT, buffer, sizeof buffer, &packet), ==, SANDBOX_AGENT_RECEIVED);
  sandbox_agent_packet_close_fds (&packet);
  g_assert_cmpuint (count_fds (), ==, before);
}

static void
test_every_bit (void)
{
  g_test_summary ("One flipped bit anywhere is refused, or decodes to something that encodes to just these bytes");
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      SandboxAgentType   type = types[i];
      guint32            n_fds;
      gsize              length = encode_type (type, &n_fds);
      g_autofree guint8 *bytes = g_memdup2 (buffer, length);
      SandboxAgentOrigin origin = is_from_host (type) ? SANDBOX_AGENT_FROM_HOST : SANDBOX_AGENT_FROM_AGENT;

      for (gsize bit = 0; bit < length * 8; bit++)
        for (guint32 n = 0; n < 5; n++)
          {
            SandboxAgentPacket packet;

            bytes[bit / 8] ^= 1 << (bit % 8);
            if (sandbox_agent_decode (origin, bytes, length, n, &packet))
              {
                packet.n_fds = n;
                g_assert_cmpuint (sandbox_agent_encode (&packet, buffer, sizeof buffer), ==, length);
                g_assert_cmpmem (buffer, length, bytes, length);
              }
            bytes[bit / 8] ^= 1 << (bit % 8);
          }
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent-protocol/setup", test_setup);
  g_test_add_func ("/agent-protocol/in-place", test_in_place);
  g_test_add_func ("/agent-protocol/overlay", test_overlay);
  g_test_add_func ("/agent-protocol/memories", test_memories);
  g_test_add_func ("/agent-protocol/rules", test_rules);
  g_test_add_func ("/agent-protocol/rules-size", test_rules_size);
  g_test_add_func ("/agent-protocol/exec", test_exec);
  g_test_add_func ("/agent-protocol/reports", test_reports);
  g_test_add_func ("/agent-protocol/largest", test_largest);
  g_test_add_func ("/agent-protocol/every-truncation", test_every_truncation);
  g_test_add_func ("/agent-protocol/trailing-bytes", test_trailing_bytes);
  g_test_add_func ("/agent-protocol/wrong-version-type-direction-fds", test_wrong_version_type_direction_fds);
  g_test_add_func ("/agent-protocol/bad-setup", test_bad_setup);
  g_test_add_func ("/agent-protocol/bad-exec", test_bad_exec);
  g_test_add_func ("/agent-protocol/bad-small-packets", test_bad_small_packets);
  g_test_add_func ("/agent-protocol/small-buffer", test_small_buffer);
  g_test_add_func ("/agent-protocol/strings", test_strings);
  g_test_add_func ("/agent-protocol/step-names", test_step_names);
  g_test_add_func ("/agent-protocol/every-bit", test_every_bit);
  g_test_add_func ("/agent-protocol/socket", test_socket);
  g_test_add_func ("/agent-protocol/socket-full", test_socket_full);
  g_test_add_func ("/agent-protocol/socket-rejects", test_socket_rejects);
  g_test_add_func ("/agent-protocol/last-words", test_last_words);
  return g_test_run ();
}
