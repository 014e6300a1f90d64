/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of programs that have more to tell than times, and the bars they are to keep. */
#pragma once

#include <glib.h>

/* Numbers that are not there are NAN. */
typedef struct
{
  char       *name;
  const char *baseline;
  GArray     *times; /* in microseconds */
  double      value;
  const char *unit; /* of the value; NULL for a row that is about times */
  double      ratio;
  double      at_most; /* the ratio, or without a baseline the value */
  double      at_least;
} BenchRow;

GPtrArray *bench_rows_new (void);
/* @baseline is not copied. */
BenchRow *bench_rows_add (GPtrArray  *rows,
                          char       *name_taken,
                          const char *baseline);
BenchRow *bench_rows_find (GPtrArray  *rows,
                           const char *name);
/* Before they are printed; sets the ratios that are not set. */
void  bench_rows_finish (GPtrArray *rows);
void  bench_rows_print_json (GPtrArray *rows);
guint bench_rows_print_table (GPtrArray *rows, /* how many bars were missed */
                              guint      rounds);
