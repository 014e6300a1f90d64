/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the programs that measure commands have in common. */
#pragma once

#include <sandbox-glib.h>

#include "bench-time.h"

#include <sys/types.h>

/* What one call leaves to be done (namespaces to take down, slots to make) is not to fall on the next one that it is compared
 * with. How much of it there is, is what the throughput of bench-scale shows. */
#define BENCH_SETTLE_US 10000

/* How the backend under test makes room for a command. */
typedef enum
{
  BENCH_ARMED,     /* made beforehand */
  BENCH_DISPATCH,  /* made in the sandbox of the session when the command comes */
  BENCH_ONE_BWRAP, /* a sandbox of its own */
  BENCH_N_MODES,
} BenchMode;

typedef struct _BenchBare BenchBare;

void            bench_wait (pid_t pid);
double          bench_spawn_true (void);
SandboxBackend *bench_new_backend (BenchMode   mode,
                                   const char *state);
SandboxBackend *bench_new_default_backend (const char *state);
double          bench_run_true (SandboxSession *session);
BenchBare      *bench_bare_new (const char *workspace);
double          bench_bare_run (BenchBare *self);
void            bench_bare_free (BenchBare *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchBare, bench_bare_free)
