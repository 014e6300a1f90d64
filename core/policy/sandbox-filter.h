/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxFilter:
 * @SANDBOX_FILTER_DEFAULT: all but the calls that no ordinary program needs, and that have let sandboxes be left
 * @SANDBOX_FILTER_STRICT: only the calls that ordinary programs are made of
 * @SANDBOX_FILTER_DEBUGGER: like %SANDBOX_FILTER_DEFAULT, but commands can trace each other, as `gdb` and `strace` do
 *
 * Which system calls commands can make.
 *
 * The default filter denies what reaches beyond a sandbox or has been a way out of one before: namespaces and mounts, keys,
 * other processes' memory, tracing, BPF, performance events, files by handle, memory policies, modules and clocks, terminal
 * injection, personalities, and sockets other than local ones, those of the internet and the routing part of netlink. For
 * `io_uring`, the kernel's older asynchronous I/O, `clone3`, the newer mount calls, `memfd_secret`, and whatever is newer than this library, programs get the
 * answer of a kernel that has none. Calls of another architecture are the end of the process.
 *
 * Without tracing, `gdb` and `strace` do not work, and the leak check of AddressSanitizer fails: use the debugger filter, or
 * `ASAN_OPTIONS=detect_leaks=0`.
 *
 * The debugger filter allows `ptrace`, `process_vm_readv`, `process_vm_writev`, `kcmp`, and a personality without address
 * randomisation again.
 *
 * The strict filter allows some 230 calls and denies all others, within the rules of the default one. git, gcc, make,
 * Python with threads and processes, Perl, SQLite, Node, Java, GnuPG and the usual tools run with it. What does not work:
 *
 * - changing priorities and processors: `nice`, `renice`, `ionice`, `chrt`, `taskset`, `os.nice ()`, `os.sched_setaffinity ()`
 *   (a program that is to be run by `nice` runs, with a warning)
 * - setting limits other than that of core dumps: `ulimit`, `prlimit`, `resource.setrlimit ()`
 * - changing users, even to the same one: `setpriv`, `os.setuid ()`; the effective ids can be set
 * - `setarch`, and everything else that asks for or sets a personality
 * - programs that insist on POSIX message queues
 *
 * Since: 1.0
 */
typedef enum
{
  SANDBOX_FILTER_DEFAULT,
  SANDBOX_FILTER_STRICT,
  SANDBOX_FILTER_DEBUGGER,
} SandboxFilter;

G_END_DECLS
