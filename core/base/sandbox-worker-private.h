/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-worker.h"

G_BEGIN_DECLS

/* Runs @func on the worker: at once when called there, else soon. */
void sandbox_worker_invoke (GSourceFunc    func,
                            gpointer       data,
                            GDestroyNotify notify);

gboolean sandbox_worker_is_current (void);

/* Runs @func (@data) in the library's pool of four threads, which is where file work goes that may
 * block. Never for work that waits for other work of the pool. */
void sandbox_pool_push (GFunc    func,
                        gpointer data);

G_END_DECLS
