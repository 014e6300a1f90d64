/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-profile-private.h"

#define MIB (G_GUINT64_CONSTANT (1024) * 1024)

/* 0 of a limit is unset, but for those of memory. Nothing here needs a control group. */
typedef struct
{
  const char         *name;
  SandboxView         view;
  gboolean            workspace_read_only;
  SandboxProcMode     proc;
  SandboxFilter       filter;
  SandboxRestrictions required;
  guint64             cpu_seconds;
  guint64             address_space_bytes;
  guint64             file_size_bytes;
  guint64             processes;
  guint64             open_files;
  guint64             tmp_bytes;
  guint64             shm_bytes;
  const char         *environment[8];
} SandboxPreset;

static const SandboxPreset presets[] = {
  {
      .name = "agent",
      .view = SANDBOX_VIEW_MINIMAL,
      .proc = SANDBOX_PROC_MODE_AUTO,
      .filter = SANDBOX_FILTER_DEFAULT,
      .required = SANDBOX_RESTRICTIONS_WRITE_CONTAINED | SANDBOX_RESTRICTIONS_SECRETS_HIDDEN | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED,
      .processes = 1024,
      .open_files = 4096,
      .tmp_bytes = 1024 * MIB,
      .shm_bytes = 64 * MIB,
      .environment = { "LANG=C.UTF-8", "PAGER=cat", "GIT_TERMINAL_PROMPT=0" },
  },
  {
      .name = "build",
      .view = SANDBOX_VIEW_SYSTEM,
      .proc = SANDBOX_PROC_MODE_AUTO,
      .filter = SANDBOX_FILTER_DEBUGGER,
      .required = SANDBOX_RESTRICTIONS_WRITE_CONTAINED | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED,
      .processes = 4096,
      .open_files = 16384,
      .tmp_bytes = 4096 * MIB,
      .shm_bytes = 256 * MIB,
      .environment = { "LANG=C.UTF-8", "PAGER=cat", "GIT_TERMINAL_PROMPT=0" },
  },
  {
      .name = "inspect",
      .view = SANDBOX_VIEW_MINIMAL,
      .workspace_read_only = TRUE,
      .proc = SANDBOX_PROC_MODE_AUTO,
      .filter = SANDBOX_FILTER_STRICT,
      .required = SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_WRITE_CONTAINED |
                  SANDBOX_RESTRICTIONS_SECRETS_HIDDEN | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED,
      .cpu_seconds = 60,
      .file_size_bytes = 64 * MIB,
      .processes = 64,
      .open_files = 256,
      .tmp_bytes = 64 * MIB,
      .shm_bytes = 16 * MIB,
      /* what would write beside what it reads */
      .environment = { "LANG=C.UTF-8", "PAGER=cat", "HOME=/tmp", "GIT_OPTIONAL_LOCKS=0", "PYTHONDONTWRITEBYTECODE=1" },
  },
  {
      .name = "converter",
      .view = SANDBOX_VIEW_MINIMAL,
      .proc = SANDBOX_PROC_MODE_NONE,
      .filter = SANDBOX_FILTER_STRICT,
      .required = SANDBOX_RESTRICTIONS_NETWORK_DENIED | SANDBOX_RESTRICTIONS_WRITE_CONTAINED |
                  SANDBOX_RESTRICTIONS_SECRETS_HIDDEN | SANDBOX_RESTRICTIONS_PROCESS_CONTAINED,
      .cpu_seconds = 120,
      .address_space_bytes = 4096 * MIB,
      .file_size_bytes = 512 * MIB,
      .processes = 64,
      .open_files = 256,
      .tmp_bytes = 512 * MIB,
      .shm_bytes = 16 * MIB,
      .environment = { "LANG=C.UTF-8", "HOME=/tmp" },
  },
};

static SandboxLimits *
sandbox_profile_make_preset_limits (const SandboxPreset *preset)
{
  SandboxLimits *limits = sandbox_limits_new ();

  sandbox_limits_set_cpu_seconds (limits, preset->cpu_seconds);
  sandbox_limits_set_address_space_bytes (limits, preset->address_space_bytes);
  sandbox_limits_set_file_size_bytes (limits, preset->file_size_bytes);
  sandbox_limits_set_processes (limits, preset->processes);
  sandbox_limits_set_open_files (limits, preset->open_files);
  sandbox_limits_set_tmp_bytes (limits, preset->tmp_bytes);
  sandbox_limits_set_shm_bytes (limits, preset->shm_bytes);

  return limits;
}

/**
 * sandbox_profile_new_preset:
 * @name: `agent`, `build`, `inspect` or `converter`
 *
 * Makes a profile for one of four usual purposes. It can be changed like any other.
 *
 * | | `agent` | `build` | `inspect` | `converter` |
 * | --- | --- | --- | --- | --- |
 * | for | what a coding agent runs | compiling and testing a whole project | reading what must not change | one untrusted file in, one out |
 * | view | minimal | system | minimal | minimal |
 * | workspace | read and write | read and write | read only | read and write |
 * | proc | auto | auto | auto | none |
 * | filter | default | debugger | strict | strict |
 * | required | writes contained, secrets hidden, processes contained | writes and processes contained | all, so no network | all, so no network |
 * | CPU seconds of a process | – | – | 60 | 120 |
 * | address space of a process | – | – | – | 4 GiB |
 * | size of a file | – | – | 64 MiB | 512 MiB |
 * | processes and threads | 1024 | 4096 | 64 | 64 |
 * | open files of a process | 4096 | 16384 | 256 | 256 |
 * | `/tmp` | 1 GiB | 4 GiB | 64 MiB | 512 MiB |
 * | `/dev/shm` | 64 MiB | 256 MiB | 16 MiB | 16 MiB |
 * | environment | `LANG`, `PAGER`, `GIT_TERMINAL_PROMPT` | as `agent` | `LANG`, `PAGER`, `HOME=/tmp`, `GIT_OPTIONAL_LOCKS`, `PYTHONDONTWRITEBYTECODE` | `LANG`, `HOME=/tmp` |
 *
 * `agent` has the minimal view: git, compilers, Python and Node work with it as they are installed in `/usr`, and it
 * promises that secrets are hidden. `build` has the system view for toolchains in `/opt` and for what reads the host's `/etc`, which
 * costs that promise, and the debugger filter for tests under AddressSanitizer. `inspect` and `converter` have the strict filter; see [enum@Sandbox.Filter] for what does not run with it.
 *
 * A preset sets neither time nor output: those are of each command ([property@Sandbox.Command:timeout-ms],
 * [property@Sandbox.Command:max-output]). A mount of files that are no programs ends the promise that secrets are hidden: set
 * [property@Sandbox.Profile:required] without it then.
 *
 * None needs a control group. Where there is one, [property@Sandbox.Limits:memory-bytes] and
 * [property@Sandbox.Limits:tasks] are worth setting: what bounds one process does not bound all of them together, and `/tmp` is
 * memory.
 *
 * ```c
 * g_autoptr (SandboxProfile) profile = sandbox_profile_new_preset ("agent");
 *
 * sandbox_create_options_set_profile (options, profile);
 * ```
 *
 * Returns: (transfer full) (nullable): a profile, or %NULL when there is no preset of that name
 *
 * Since: 1.0
 */
SandboxProfile *
sandbox_profile_new_preset (const char *name)
{
  g_return_val_if_fail (name != NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (presets); i++)
    {
      g_autoptr (SandboxLimits) limits = NULL;

      if (!g_str_equal (presets[i].name, name))
        continue;

      limits = sandbox_profile_make_preset_limits (&presets[i]);

      return g_object_new (SANDBOX_TYPE_PROFILE,
                           "view", presets[i].view,
                           "workspace-read-only", presets[i].workspace_read_only,
                           "proc", presets[i].proc,
                           "filter", presets[i].filter,
                           "environment", presets[i].environment,
                           "limits", limits,
                           "required", presets[i].required,
                           NULL);
    }

  return NULL;
}
