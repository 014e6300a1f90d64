/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib-unix.h>

#include "sandbox-worker.h"

G_BEGIN_DECLS

/* Runs @func on the worker: at once when called there, else soon. */
void sandbox_worker_invoke (GSourceFunc    func,
                            gpointer       data,
                            GDestroyNotify notify);

gboolean sandbox_worker_is_current (void);

/* Around a fork: waits until the worker and the threads of sandbox_serve_context () are in between two things, where they
 * hold no lock of anybody's, and keeps them there. After the first of them nobody may get at the worker or the pool
 * before the second, or the third. */
void sandbox_worker_pause (void);
void sandbox_worker_resume (void);
void sandbox_worker_resume_in_child (void);

/* A source of the worker, attached: calls @func when @fd can be read or has ended. */
GSource *sandbox_worker_watch_fd (int               fd,
                                  GUnixFDSourceFunc func,
                                  gpointer          data,
                                  GDestroyNotify    notify);

/* Whose end nobody can tell, such as that of removing a tree which a guest has made, does not keep others waiting. */
typedef enum
{
  SANDBOX_POOL_CALLS,    /* four threads */
  SANDBOX_POOL_REMOVALS, /* two */
  SANDBOX_POOL_ATTACHES, /* four: what the last owner of a session left is waited for */
  SANDBOX_N_POOLS,
} SandboxPool;

/* Runs @func (@data) in one of the library's pools, which is where file work goes that may block. Never for work that
 * waits for other work of the same pool. */
void sandbox_pool_push (SandboxPool pool,
                        GFunc       func,
                        gpointer    data);

G_END_DECLS
