/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-limits-private.h"

/**
 * SandboxLimits:
 *
 * Limits of resources for one command, or for every command of a profile.
 *
 * A limit that the sandbox cannot enforce is refused before anything starts.
 *
 * ```c
 * g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
 *
 * sandbox_limits_set_cpu_seconds (limits, 10);
 * sandbox_limits_set_processes (limits, 64);
 * sandbox_command_set_limits (command, limits);
 * ```
 *
 * Since: 1.0
 */
struct _SandboxLimits
{
  GObject parent_instance;

  gboolean frozen;
  guint64  cpu_seconds;
  guint64  address_space_bytes;
  guint64  file_size_bytes;
  guint64  processes;
  guint64  open_files;
  guint64  memory_bytes;
  guint64  tasks;
  guint    cpu_percent;
  guint64  tmp_bytes;
  guint64  shm_bytes;
};

typedef enum
{
  PROP_CPU_SECONDS = 1,
  PROP_ADDRESS_SPACE_BYTES,
  PROP_FILE_SIZE_BYTES,
  PROP_PROCESSES,
  PROP_OPEN_FILES,
  PROP_MEMORY_BYTES,
  PROP_TASKS,
  PROP_CPU_PERCENT,
  PROP_TMP_BYTES,
  PROP_SHM_BYTES,
} SandboxLimitsProps;

static GParamSpec *properties[PROP_SHM_BYTES + 1];

G_DEFINE_FINAL_TYPE (SandboxLimits, sandbox_limits, G_TYPE_OBJECT)

static void
sandbox_limits_get_property (GObject    *object,
                             guint       prop_id,
                             GValue     *value,
                             GParamSpec *pspec)
{
  SandboxLimits *self = SANDBOX_LIMITS (object);

  switch ((SandboxLimitsProps) prop_id)
    {
    case PROP_CPU_SECONDS:
      g_value_set_uint64 (value, sandbox_limits_get_cpu_seconds (self));
      break;

    case PROP_ADDRESS_SPACE_BYTES:
      g_value_set_uint64 (value, sandbox_limits_get_address_space_bytes (self));
      break;

    case PROP_FILE_SIZE_BYTES:
      g_value_set_uint64 (value, sandbox_limits_get_file_size_bytes (self));
      break;

    case PROP_PROCESSES:
      g_value_set_uint64 (value, sandbox_limits_get_processes (self));
      break;

    case PROP_OPEN_FILES:
      g_value_set_uint64 (value, sandbox_limits_get_open_files (self));
      break;

    case PROP_MEMORY_BYTES:
      g_value_set_uint64 (value, sandbox_limits_get_memory_bytes (self));
      break;

    case PROP_TASKS:
      g_value_set_uint64 (value, sandbox_limits_get_tasks (self));
      break;

    case PROP_CPU_PERCENT:
      g_value_set_uint (value, sandbox_limits_get_cpu_percent (self));
      break;

    case PROP_TMP_BYTES:
      g_value_set_uint64 (value, sandbox_limits_get_tmp_bytes (self));
      break;

    case PROP_SHM_BYTES:
      g_value_set_uint64 (value, sandbox_limits_get_shm_bytes (self));
      break;
    }
}

static void
sandbox_limits_set_property (GObject      *object,
                             guint         prop_id,
                             const GValue *value,
                             GParamSpec   *pspec)
{
  SandboxLimits *self = SANDBOX_LIMITS (object);

  switch ((SandboxLimitsProps) prop_id)
    {
    case PROP_CPU_SECONDS:
      sandbox_limits_set_cpu_seconds (self, g_value_get_uint64 (value));
      break;

    case PROP_ADDRESS_SPACE_BYTES:
      sandbox_limits_set_address_space_bytes (self, g_value_get_uint64 (value));
      break;

    case PROP_FILE_SIZE_BYTES:
      sandbox_limits_set_file_size_bytes (self, g_value_get_uint64 (value));
      break;

    case PROP_PROCESSES:
      sandbox_limits_set_processes (self, g_value_get_uint64 (value));
      break;

    case PROP_OPEN_FILES:
      sandbox_limits_set_open_files (self, g_value_get_uint64 (value));
      break;

    case PROP_MEMORY_BYTES:
      sandbox_limits_set_memory_bytes (self, g_value_get_uint64 (value));
      break;

    case PROP_TASKS:
      sandbox_limits_set_tasks (self, g_value_get_uint64 (value));
      break;

    case PROP_CPU_PERCENT:
      sandbox_limits_set_cpu_percent (self, g_value_get_uint (value));
      break;

    case PROP_TMP_BYTES:
      sandbox_limits_set_tmp_bytes (self, g_value_get_uint64 (value));
      break;

    case PROP_SHM_BYTES:
      sandbox_limits_set_shm_bytes (self, g_value_get_uint64 (value));
      break;
    }
}

static void
sandbox_limits_class_init (SandboxLimitsClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = sandbox_limits_get_property;
  object_class->set_property = sandbox_limits_set_property;

  /**
   * SandboxLimits:cpu-seconds:
   *
   * Processor time of each process, in seconds (RLIMIT_CPU); 0 is no limit.
   *
   * It counts for every process by itself: a command that starts eight may use eight times as much, and what bounds all of
   * them is [property@Sandbox.Limits:cpu-percent] with the time limit of the command. At the limit a process gets
   * SIGXCPU, which ends it with %SANDBOX_OUTCOME_CPU_LIMIT if it is the command's first; one that goes on all the same is
   * killed a second later.
   *
   * The default is 0.
   *
   * Since: 1.0
   */
  properties[PROP_CPU_SECONDS] =
      g_param_spec_uint64 ("cpu-seconds", NULL, NULL,
                           0, G_MAXINT64, 0,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxLimits:address-space-bytes:
   *
   * Address space of each process, in bytes (RLIMIT_AS); 0 is no limit.
   *
   * It counts what a process has mapped, not what it uses. Runtimes such as those of Java, Go, JavaScript (node) and
   * .NET map many gigabytes of which they use little, and fail to start under a limit that looks large enough; so do
   * programs with sanitizers. What is meant is mostly [property@Sandbox.Limits:memory-bytes]. A program that was refused
   * memory by this limit gets ENOMEM and ends as it will: there is no outcome for that.
   *
   * The default is 0.
   *
   * Since: 1.0
   */
  properties[PROP_ADDRESS_SPACE_BYTES] =
      g_param_spec_uint64 ("address-space-bytes", NULL, NULL,
                           0, G_MAXINT64, 0,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxLimits:file-size-bytes:
   *
   * The size to which a process may let a file grow, in bytes (RLIMIT_FSIZE); 0 is no
   * limit.
   *
   * A process that goes on gets SIGXFSZ, which ends it with %SANDBOX_OUTCOME_FILE_SIZE_LIMIT if it is the command's
   * first. The file keeps what it had.
   *
   * The default is 0.
   *
   * Since: 1.0
   */
  properties[PROP_FILE_SIZE_BYTES] =
      g_param_spec_uint64 ("file-size-bytes", NULL, NULL,
                           0, G_MAXINT64, 0,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxLimits:processes:
   *
   * Processes and threads of the user of the sandbox (RLIMIT_NPROC); 0 is no limit.
   *
   * The kernel (from Linux 5.14 on) counts by user and user namespace, and each sandbox has a namespace of its own. So
   * each command is counted by itself where it has a sandbox for itself; commands of one session that run in it at a
   * time are counted together where they share one, see `SandboxBubblewrapBackend:nested`. One process of the sandbox
   * counts too, and where commands share a sandbox a limit above 64 may be off by five for a moment: room for other
   * commands is made and removed meanwhile. A smaller one is never exceeded: no room is
   * made while such a command runs, and others take a little longer to start. At the limit no other can be made (EAGAIN), and the
   * command ends as it will: there is no outcome for that.
   *
   * The default is 0.
   *
   * Since: 1.0
   */
  properties[PROP_PROCESSES] =
      g_param_spec_uint64 ("processes", NULL, NULL,
                           0, G_MAXINT64, 0,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxLimits:open-files:
   *
   * Open descriptors of each process (RLIMIT_NOFILE); 0 is no limit. At the limit no other can be opened (EMFILE); there
   * is no outcome for that.
   *
   * The default is 0.
   *
   * Since: 1.0
   */
  properties[PROP_OPEN_FILES] =
      g_param_spec_uint64 ("open-files", NULL, NULL,
                           0, G_MAXINT64, 0,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxLimits:memory-bytes:
   *
   * Memory of all processes together, in bytes (cgroup); 0 is no limit.
   *
   * What is written to `/tmp` and `/dev/shm` counts, as does what the kernel keeps for them and the two small processes of
   * the sandbox itself, about two megabytes. Nothing goes to a swap instead. When it is used up the whole sandbox is
   * killed, with %SANDBOX_OUTCOME_MEMORY_LIMIT.
   *
   * It needs a control group that is delegated to the host, see [class@Sandbox.ControlGroup], and is refused without.
   *
   * The default is 0.
   *
   * Since: 1.0
   */
  properties[PROP_MEMORY_BYTES] =
      g_param_spec_uint64 ("memory-bytes", NULL, NULL,
                           0, G_MAXINT64, 0,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxLimits:tasks:
   *
   * Processes and threads of the whole tree (cgroup); 0 is no limit.
   *
   * At the limit no other can be made (EAGAIN). A command that fails after that has happened ends with
   * %SANDBOX_OUTCOME_TASKS_LIMIT.
   *
   * It needs a control group that is delegated to the host, see [class@Sandbox.ControlGroup], and is refused without.
   *
   * The default is 0.
   *
   * Since: 1.0
   */
  properties[PROP_TASKS] =
      g_param_spec_uint64 ("tasks", NULL, NULL,
                           0, G_MAXINT64, 0,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxLimits:cpu-percent:
   *
   * Processor time of the whole tree per time, in percent of one processor (cgroup); 200
   * is two processors, 0 is no limit.
   *
   * Nothing ends at it: the tree gets no more.
   *
   * It needs a control group that is delegated to the host, see [class@Sandbox.ControlGroup], and is refused without.
   *
   * The default is 0.
   *
   * Since: 1.0
   */
  properties[PROP_CPU_PERCENT] =
      g_param_spec_uint ("cpu-percent", NULL, NULL,
                         0, G_MAXINT, 0,
                         G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxLimits:tmp-bytes:
   *
   * Size of the `/tmp` of the sandbox, in bytes, for a profile: a command with another size is refused. 0 leaves it to the kernel. It has no more files than pages of memory.
   *
   * The default is 268435456, 256 MiB.
   *
   * Since: 1.0
   */
  properties[PROP_TMP_BYTES] =
      g_param_spec_uint64 ("tmp-bytes", NULL, NULL,
                           0, G_MAXINT64, 268435456,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * SandboxLimits:shm-bytes:
   *
   * Size of the `/dev/shm` of the sandbox (System V shared memory does not count), in bytes, for a profile: a command with another size is refused. 0 leaves it to the kernel. It has no more files than pages of memory.
   *
   * The default is 16777216, 16 MiB.
   *
   * Since: 1.0
   */
  properties[PROP_SHM_BYTES] =
      g_param_spec_uint64 ("shm-bytes", NULL, NULL,
                           0, G_MAXINT64, 16777216,
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, G_N_ELEMENTS (properties), properties);
}

static void
sandbox_limits_init (SandboxLimits *self)
{
  self->tmp_bytes = 268435456;
  self->shm_bytes = 16777216;
}

/**
 * sandbox_limits_new:
 *
 * Makes an object without a limit but the sizes of `/tmp` and `/dev/shm`.
 *
 * Returns: (transfer full): the limits
 *
 * Since: 1.0
 */
SandboxLimits *
sandbox_limits_new (void)
{
  return g_object_new (SANDBOX_TYPE_LIMITS, NULL);
}

/**
 * sandbox_limits_get_cpu_seconds:
 * @self: a limits object
 *
 * Gets the limit of processor time of each process.
 *
 * Returns: seconds
 *
 * Since: 1.0
 */
guint64
sandbox_limits_get_cpu_seconds (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->cpu_seconds;
}

/**
 * sandbox_limits_set_cpu_seconds:
 * @self: a limits object
 * @cpu_seconds: seconds, or 0 for no limit
 *
 * Sets the limit of processor time of each process. See
 * [property@Sandbox.Limits:cpu-seconds].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_cpu_seconds (SandboxLimits *self,
                                guint64        cpu_seconds)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (cpu_seconds <= G_MAXINT64);

  if (self->cpu_seconds == cpu_seconds)
    return;

  self->cpu_seconds = cpu_seconds;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_CPU_SECONDS]);
}

/**
 * sandbox_limits_get_address_space_bytes:
 * @self: a limits object
 *
 * Gets the limit of address space of each process.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_limits_get_address_space_bytes (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->address_space_bytes;
}

/**
 * sandbox_limits_set_address_space_bytes:
 * @self: a limits object
 * @address_space_bytes: bytes, or 0 for no limit
 *
 * Sets the limit of address space of each process. See
 * [property@Sandbox.Limits:address-space-bytes].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_address_space_bytes (SandboxLimits *self,
                                        guint64        address_space_bytes)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (address_space_bytes <= G_MAXINT64);

  if (self->address_space_bytes == address_space_bytes)
    return;

  self->address_space_bytes = address_space_bytes;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ADDRESS_SPACE_BYTES]);
}

/**
 * sandbox_limits_get_file_size_bytes:
 * @self: a limits object
 *
 * Gets the limit of the size of a written file.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_limits_get_file_size_bytes (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->file_size_bytes;
}

/**
 * sandbox_limits_set_file_size_bytes:
 * @self: a limits object
 * @file_size_bytes: bytes, or 0 for no limit
 *
 * Sets the limit of the size of a written file. See
 * [property@Sandbox.Limits:file-size-bytes].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_file_size_bytes (SandboxLimits *self,
                                    guint64        file_size_bytes)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (file_size_bytes <= G_MAXINT64);

  if (self->file_size_bytes == file_size_bytes)
    return;

  self->file_size_bytes = file_size_bytes;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_FILE_SIZE_BYTES]);
}

/**
 * sandbox_limits_get_processes:
 * @self: a limits object
 *
 * Gets the limit of processes of the user.
 *
 * Returns: a count
 *
 * Since: 1.0
 */
guint64
sandbox_limits_get_processes (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->processes;
}

/**
 * sandbox_limits_set_processes:
 * @self: a limits object
 * @processes: a count, or 0 for no limit
 *
 * Sets the limit of processes of the user. See [property@Sandbox.Limits:processes].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_processes (SandboxLimits *self,
                              guint64        processes)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (processes <= G_MAXINT64);

  if (self->processes == processes)
    return;

  self->processes = processes;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_PROCESSES]);
}

/**
 * sandbox_limits_get_open_files:
 * @self: a limits object
 *
 * Gets the limit of open files of each process.
 *
 * Returns: a count
 *
 * Since: 1.0
 */
guint64
sandbox_limits_get_open_files (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->open_files;
}

/**
 * sandbox_limits_set_open_files:
 * @self: a limits object
 * @open_files: a count, or 0 for no limit
 *
 * Sets the limit of open files of each process. See [property@Sandbox.Limits:open-files].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_open_files (SandboxLimits *self,
                               guint64        open_files)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (open_files <= G_MAXINT64);

  if (self->open_files == open_files)
    return;

  self->open_files = open_files;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_OPEN_FILES]);
}

/**
 * sandbox_limits_get_memory_bytes:
 * @self: a limits object
 *
 * Gets the limit of memory of the whole tree.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_limits_get_memory_bytes (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->memory_bytes;
}

/**
 * sandbox_limits_set_memory_bytes:
 * @self: a limits object
 * @memory_bytes: bytes, or 0 for no limit
 *
 * Sets the limit of memory of the whole tree. See [property@Sandbox.Limits:memory-bytes].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_memory_bytes (SandboxLimits *self,
                                 guint64        memory_bytes)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (memory_bytes <= G_MAXINT64);

  if (self->memory_bytes == memory_bytes)
    return;

  self->memory_bytes = memory_bytes;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MEMORY_BYTES]);
}

/**
 * sandbox_limits_get_tasks:
 * @self: a limits object
 *
 * Gets the limit of tasks of the whole tree.
 *
 * Returns: a count
 *
 * Since: 1.0
 */
guint64
sandbox_limits_get_tasks (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->tasks;
}

/**
 * sandbox_limits_set_tasks:
 * @self: a limits object
 * @tasks: a count, or 0 for no limit
 *
 * Sets the limit of tasks of the whole tree. See [property@Sandbox.Limits:tasks].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_tasks (SandboxLimits *self,
                          guint64        tasks)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (tasks <= G_MAXINT64);

  if (self->tasks == tasks)
    return;

  self->tasks = tasks;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TASKS]);
}

/**
 * sandbox_limits_get_cpu_percent:
 * @self: a limits object
 *
 * Gets the share of processor time of the whole tree.
 *
 * Returns: percent
 *
 * Since: 1.0
 */
guint
sandbox_limits_get_cpu_percent (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->cpu_percent;
}

/**
 * sandbox_limits_set_cpu_percent:
 * @self: a limits object
 * @cpu_percent: percent, or 0 for no limit
 *
 * Sets the share of processor time of the whole tree. See
 * [property@Sandbox.Limits:cpu-percent].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_cpu_percent (SandboxLimits *self,
                                guint          cpu_percent)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (cpu_percent <= G_MAXINT);

  if (self->cpu_percent == cpu_percent)
    return;

  self->cpu_percent = cpu_percent;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_CPU_PERCENT]);
}

/**
 * sandbox_limits_get_tmp_bytes:
 * @self: a limits object
 *
 * Gets the size of `/tmp`.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_limits_get_tmp_bytes (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->tmp_bytes;
}

/**
 * sandbox_limits_set_tmp_bytes:
 * @self: a limits object
 * @tmp_bytes: bytes, or 0 to leave it to the kernel
 *
 * Sets the size of `/tmp`. See [property@Sandbox.Limits:tmp-bytes].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_tmp_bytes (SandboxLimits *self,
                              guint64        tmp_bytes)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (tmp_bytes <= G_MAXINT64);

  if (self->tmp_bytes == tmp_bytes)
    return;

  self->tmp_bytes = tmp_bytes;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TMP_BYTES]);
}

/**
 * sandbox_limits_get_shm_bytes:
 * @self: a limits object
 *
 * Gets the size of `/dev/shm`.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
guint64
sandbox_limits_get_shm_bytes (SandboxLimits *self)
{
  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), 0);

  return self->shm_bytes;
}

/**
 * sandbox_limits_set_shm_bytes:
 * @self: a limits object
 * @shm_bytes: bytes, or 0 to leave it to the kernel
 *
 * Sets the size of `/dev/shm`. See [property@Sandbox.Limits:shm-bytes].
 *
 * Since: 1.0
 */
void
sandbox_limits_set_shm_bytes (SandboxLimits *self,
                              guint64        shm_bytes)
{
  g_return_if_fail (SANDBOX_IS_LIMITS (self));
  g_return_if_fail (!self->frozen);
  g_return_if_fail (shm_bytes <= G_MAXINT64);

  if (self->shm_bytes == shm_bytes)
    return;

  self->shm_bytes = shm_bytes;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SHM_BYTES]);
}

SandboxLimits *
sandbox_limits_freeze (SandboxLimits *self)
{
  SandboxLimits *copy;

  g_return_val_if_fail (SANDBOX_IS_LIMITS (self), NULL);

  if (self->frozen)
    return g_object_ref (self);

  copy = sandbox_limits_new ();
  copy->cpu_seconds = self->cpu_seconds;
  copy->address_space_bytes = self->address_space_bytes;
  copy->file_size_bytes = self->file_size_bytes;
  copy->processes = self->processes;
  copy->open_files = self->open_files;
  copy->memory_bytes = self->memory_bytes;
  copy->tasks = self->tasks;
  copy->cpu_percent = self->cpu_percent;
  copy->tmp_bytes = self->tmp_bytes;
  copy->shm_bytes = self->shm_bytes;
  copy->frozen = TRUE;

  return copy;
}

/* What @limits does not set, @defaults does. The sizes that a sandbox has anyway count as not set. */
SandboxLimits *
sandbox_limits_merge (SandboxLimits *limits,
                      SandboxLimits *defaults)
{
  g_autoptr (SandboxLimits) usual = sandbox_limits_new ();
  SandboxLimits *merged = sandbox_limits_new ();

  merged->cpu_seconds = limits->cpu_seconds != 0 ? limits->cpu_seconds : defaults->cpu_seconds;
  merged->address_space_bytes = limits->address_space_bytes != 0 ? limits->address_space_bytes : defaults->address_space_bytes;
  merged->file_size_bytes = limits->file_size_bytes != 0 ? limits->file_size_bytes : defaults->file_size_bytes;
  merged->processes = limits->processes != 0 ? limits->processes : defaults->processes;
  merged->open_files = limits->open_files != 0 ? limits->open_files : defaults->open_files;
  merged->memory_bytes = limits->memory_bytes != 0 ? limits->memory_bytes : defaults->memory_bytes;
  merged->tasks = limits->tasks != 0 ? limits->tasks : defaults->tasks;
  merged->cpu_percent = limits->cpu_percent != 0 ? limits->cpu_percent : defaults->cpu_percent;
  merged->tmp_bytes = limits->tmp_bytes != usual->tmp_bytes ? limits->tmp_bytes : defaults->tmp_bytes;
  merged->shm_bytes = limits->shm_bytes != usual->shm_bytes ? limits->shm_bytes : defaults->shm_bytes;
  merged->frozen = TRUE;

  return merged;
}
