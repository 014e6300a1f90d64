/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What all programs that measure have in common. */
#pragma once

#include <glib.h>

double bench_now (void); /* in microseconds */

/* Ends the program unless it is @good; without an error by what errno says. */
void bench_check (gboolean      good,
                  const char   *what,
                  const GError *error);

/* What a program made itself, below a directory of its own. */
void bench_remove (const char *path);

/* Of times (double) */
void   bench_sort (GArray *times);
double bench_percentile (const GArray *times, /* sorted; NAN of none */
                         guint         percent);
