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

/* A source of the worker, attached: calls @func when @fd can be read or has ended. */
GSource *sandbox_worker_watch_fd (int               fd,
                                  GUnixFDSourceFunc func,
                                  gpointer          data,
                                  GDestroyNotify    notify);

/* Runs @func (@data) in the library's pool of four threads, which is where file work goes that may
 * block. Never for work that waits for other work of the pool. */
void sandbox_pool_push (GFunc    func,
                        gpointer data);

G_END_DECLS
