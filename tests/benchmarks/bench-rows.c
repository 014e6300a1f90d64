/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bench-rows.h"
#include "bench-time.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
bench_row_free (gpointer data)
{
  BenchRow *row = data;

  g_array_unref (row->times);
  g_free (row->name);
  g_free (row);
}

GPtrArray *
bench_rows_new (void)
{
  return g_ptr_array_new_with_free_func (bench_row_free);
}

BenchRow *
bench_rows_add (GPtrArray  *rows,
                char       *name_taken,
                const char *baseline)
{
  BenchRow *row = g_new0 (BenchRow, 1);

  row->name = name_taken;
  row->baseline = baseline;
  row->times = g_array_new (FALSE, FALSE, sizeof (double));
  row->value = row->ratio = row->at_most = row->at_least = NAN;
  g_ptr_array_add (rows, row);

  return row;
}

BenchRow *
bench_rows_find (GPtrArray  *rows,
                 const char *name)
{
  for (guint i = 0; i < rows->len; i++)
    {
      BenchRow *row = g_ptr_array_index (rows, i);

      if (strcmp (row->name, name) == 0)
        return row;
    }

  return NULL;
}

/* Of values for rows that have them, else of median times */
void
bench_rows_finish (GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    {
      BenchRow *row = g_ptr_array_index (rows, i);

      bench_sort (row->times);
    }

  for (guint i = 0; i < rows->len; i++)
    {
      BenchRow *row = g_ptr_array_index (rows, i);
      BenchRow *baseline = row->baseline != NULL ? bench_rows_find (rows, row->baseline) : NULL;

      if (baseline == NULL || !isnan (row->ratio))
        continue;
      if (row->unit != NULL)
        row->ratio = row->value / baseline->value;
      else
        row->ratio = bench_percentile (row->times, 50) / bench_percentile (baseline->times, 50);
    }
}

/* A difference may come out below nothing, and then it says nothing of what is compared with it. */
static gboolean
bench_row_is_measured (const BenchRow *row)
{
  return row->baseline == NULL || isnan (row->ratio) || row->ratio > 0;
}

static gboolean
bench_row_is_kept (const BenchRow *row)
{
  double judged = row->baseline != NULL ? row->ratio : row->value;

  return bench_row_is_measured (row) && !(judged > row->at_most) && !(judged < row->at_least);
}

static void
bench_row_print_number (const char *key,
                        double      number)
{
  if (isnan (number))
    printf (", \"%s\": null", key);
  else
    printf (", \"%s\": %.3f", key, number);
}

void
bench_rows_print_json (GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    {
      const BenchRow *row = g_ptr_array_index (rows, i);

      printf ("%s\n  {\"name\": \"%s\", \"baseline\": ", i > 0 ? "," : "[", row->name);
      if (row->baseline != NULL)
        printf ("\"%s\"", row->baseline);
      else
        printf ("null");
      bench_row_print_number ("ratio", row->ratio);
      bench_row_print_number ("p50_us", bench_percentile (row->times, 50));
      bench_row_print_number ("p95_us", bench_percentile (row->times, 95));
      if (row->unit != NULL)
        {
          bench_row_print_number ("value", row->value);
          printf (", \"unit\": \"%s\"", row->unit);
        }
      printf ("}");
    }
  printf ("\n]\n");
}

static void
bench_row_print_limits (const BenchRow *row)
{
  const char *verdict = bench_row_is_kept (row) ? "kept" : bench_row_is_measured (row) ? "MISSED"
                                                                                       : "no measurement";
  const char *separator = row->baseline != NULL ? ", " : "";

  if (!isnan (row->at_most))
    printf ("%sat most %.2f", separator, row->at_most);
  if (!isnan (row->at_most) && !isnan (row->at_least))
    separator = " and ";
  if (!isnan (row->at_least))
    printf ("%sat least %.2f", separator, row->at_least);
  if (!isnan (row->at_most) || !isnan (row->at_least))
    printf (": %s", verdict);
}

guint
bench_rows_print_table (GPtrArray *rows,
                        guint      rounds)
{
  guint n_missed = 0;

  printf ("%u rounds, as uid %u; times in microseconds\n\n", rounds, (guint) getuid ());
  printf ("%-30s %10s %10s %12s %-8s %8s  %s\n", "row", "p50", "p95", "value", "", "ratio", "of");
  for (guint i = 0; i < rows->len; i++)
    {
      const BenchRow *row = g_ptr_array_index (rows, i);

      printf ("%-30s", row->name);
      if (row->times->len > 0)
        printf (" %10.1f %10.1f", bench_percentile (row->times, 50), bench_percentile (row->times, 95));
      else
        printf (" %10s %10s", "", "");
      if (row->unit != NULL)
        printf (" %12.1f %-8s", row->value, row->unit);
      else
        printf (" %12s %-8s", "", "");
      if (row->baseline != NULL)
        printf (" %8.3f  %s", row->ratio, row->baseline);
      else
        printf (" %8s  ", "");
      bench_row_print_limits (row);
      printf ("\n");
      n_missed += !bench_row_is_kept (row);
    }

  return n_missed;
}
