/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bench-time.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double
bench_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);

  return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

void
bench_check (gboolean      good,
             const char   *what,
             const GError *error)
{
  if (good)
    return;

  g_printerr ("%s: %s: %s\n", g_get_prgname (), what, error != NULL ? error->message : g_strerror (errno));
  exit (1);
}

static int
bench_remove_cb (const char        *path,
                 const struct stat *info,
                 int                kind,
                 struct FTW        *place)
{
  return remove (path);
}

void
bench_remove (const char *path)
{
  bench_check (nftw (path, bench_remove_cb, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0, path, NULL);
}

static int
bench_compare (gconstpointer a,
               gconstpointer b)
{
  double left = *(const double *) a;
  double right = *(const double *) b;

  return (left > right) - (left < right);
}

void
bench_sort (GArray *times)
{
  g_array_sort (times, bench_compare);
}

double
bench_percentile (const GArray *times,
                  guint         percent)
{
  return times->len > 0 ? g_array_index (times, double, (times->len - 1) * percent / 100) : NAN;
}
