/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bench-store [--json] [--rounds N]
 *
 * What it takes to store files and to make sessions of them, against `cp -a` of the same tree. The rows take turns, and
 * nothing is deleted before the end: a file system that has just freed much is slow for everybody after.
 */

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench-time.h"
#include "sandbox-file-set-private.h"
#include "sandbox-store-session-private.h"

#define FILES_PER_DIRECTORY 50
#define MEAN_SIZE 6134 /* 20,000 of them are 117 MiB */

typedef struct
{
  const char *top;
  guint       round;
} Bench;

/* How many microseconds something took. */
typedef double (*BenchFunc) (Bench *self);

typedef struct
{
  const char *name;
  const char *baseline;
  BenchFunc   func;
  guint       calls; /* in each round */
  double      bar;   /* what the ratio must not exceed */
  GArray     *times;
} BenchRow;

/* Files of many sizes, none like another, as in a project. */
static void
bench_make_tree (const char *path,
                 guint       n_files)
{
  GRand           *rand = g_rand_new_with_seed (n_files);
  g_autofree char *content = g_malloc (2 * MEAN_SIZE);

  for (guint i = 0; i < n_files; i++)
    {
      g_autofree char *directory = g_strdup_printf ("%s/part-%u/section-%u", path, i / FILES_PER_DIRECTORY / 10, i / FILES_PER_DIRECTORY);
      g_autofree char *file = g_strdup_printf ("%s/file-%u.txt", directory, i);
      gsize            size = (gsize) g_rand_int_range (rand, 0, 2 * MEAN_SIZE);

      for (gsize j = 0; j < size; j += 4)
        {
          guint32 word = g_rand_int (rand);

          memcpy (content + j, &word, MIN (size - j, 4));
        }
      bench_check (i % FILES_PER_DIRECTORY > 0 || g_mkdir_with_parents (directory, 0755) == 0, directory, NULL);
      bench_check (g_file_set_contents_full (file, content, (gssize) size, G_FILE_SET_CONTENTS_NONE, 0644, NULL), file, NULL);
    }
  g_rand_free (rand);
}

static char *
bench_get_tree (Bench *self,
                guint  n_files)
{
  return g_strdup_printf ("%s/tree-%u", self->top, n_files);
}

static double
bench_copy (Bench *self,
            guint  n_files)
{
  static guint     n_copies = 0;
  g_autofree char *tree = bench_get_tree (self, n_files);
  g_autofree char *copy = g_strdup_printf ("%s/copy-%u", self->top, n_copies++);
  const char      *argv[] = { "/bin/cp", "-a", tree, copy, NULL };
  g_autoptr (GError) error = NULL;
  double begin = bench_now ();
  int    status = -1;

  bench_check (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status, &error) && status == 0, "cp", error);

  return bench_now () - begin;
}

static double
bench_copy_20000 (Bench *self)
{
  return bench_copy (self, 20000);
}

static double
bench_copy_1000 (Bench *self)
{
  return bench_copy (self, 1000);
}

static SandboxStore *
bench_open_store (Bench *self)
{
  static SandboxStore *store = NULL;
  g_autofree char     *state = g_build_filename (self->top, "state", NULL);
  guint                owner = geteuid () == 0 ? 61184 : geteuid ();
  g_autoptr (GError) error = NULL;

  if (store == NULL)
    store = sandbox_store_new (state, "bench", owner, owner, NULL, NULL, &error);
  bench_check (store != NULL, "the store", error);

  return store;
}

static SandboxTemplate *
bench_store_tree (Bench      *self,
                  guint       n_files,
                  const char *name)
{
  g_autofree char *tree = bench_get_tree (self, n_files);
  g_autoptr (GFile) directory = g_file_new_for_path (tree);
  g_autoptr (SandboxFileSet) set = sandbox_file_set_new ();
  g_autoptr (SandboxFileSet) frozen = NULL;
  g_autoptr (GError) error = NULL;
  SandboxTemplate *made = NULL;

  bench_check (sandbox_file_set_add_directory (set, "project", directory, &error), "add_directory", error);
  frozen = sandbox_file_set_freeze (set);
  made = sandbox_store_prewarm (bench_open_store (self), name, frozen, NULL, NULL, NULL, &error);
  bench_check (made != NULL, "prewarm", error);

  return made;
}

/* With the walk over the tree, which cp makes, too */
static double
bench_prewarm (Bench *self)
{
  static guint     n_names = 0;
  g_autofree char *name = g_strdup_printf ("round %u", n_names++);
  double           begin = bench_now ();
  g_autoptr (SandboxTemplate) made = bench_store_tree (self, 20000, name);

  return bench_now () - begin;
}

static double
bench_create (Bench *self)
{
  static SandboxTemplate *made = NULL;
  g_autoptr (SandboxStoreSession) session = NULL;
  g_autoptr (GError) error = NULL;
  double begin;

  if (made == NULL)
    made = bench_store_tree (self, 1000, "small");
  begin = bench_now ();
  session = sandbox_store_session_new (bench_open_store (self), sandbox_template_get_key (made), SANDBOX_WORKSPACE_MODE_COPY, NULL, NULL, NULL, &error);
  bench_check (session != NULL, "a session", error);

  return bench_now () - begin;
}

static BenchRow rows[] = {
  { "cp-a-20000", NULL, bench_copy_20000, 1, 0 },
  { "prewarm-20000", "cp-a-20000", bench_prewarm, 1, 1.5 },
  { "cp-a-1000", NULL, bench_copy_1000, 4, 0 },
  { "create-1000", "cp-a-1000", bench_create, 4, 1.3 },
};

static double
bench_ratio (const BenchRow *row)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows) && row->baseline != NULL; i++)
    if (strcmp (rows[i].name, row->baseline) == 0)
      return bench_percentile (row->times, 50) / bench_percentile (rows[i].times, 50);

  return 0;
}

static guint
bench_print (gboolean json,
             guint    rounds)
{
  guint n_missed = 0;

  if (!json)
    printf ("%u rounds, as uid %u; times in microseconds\n\n%-22s %10s %10s %8s  %s\n", rounds, (guint) getuid (), "row", "p50", "p95", "ratio", "of");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const BenchRow *row = &rows[i];
      double          ratio = bench_ratio (row);
      gboolean        kept = row->bar <= 0 || ratio <= row->bar;

      n_missed += kept ? 0 : 1;
      if (json)
        printf ("%s\n  {\"name\": \"%s\", \"baseline\": %s%s%s, \"ratio\": ", i > 0 ? "," : "[", row->name, row->baseline != NULL ? "\"" : "",
                row->baseline != NULL ? row->baseline : "null", row->baseline != NULL ? "\"" : "");
      if (json && ratio > 0)
        printf ("%.3f, ", ratio);
      else if (json)
        printf ("null, ");
      if (json)
        {
          printf ("\"p50_us\": %.1f, \"p95_us\": %.1f}", bench_percentile (row->times, 50), bench_percentile (row->times, 95));
          continue;
        }
      printf ("%-22s %10.1f %10.1f", row->name, bench_percentile (row->times, 50), bench_percentile (row->times, 95));
      if (ratio > 0)
        printf (" %8.3f  %s, at most %.2f: %s", ratio, row->baseline, row->bar, kept ? "kept" : "MISSED");
      printf ("\n");
    }
  if (json)
    printf ("\n]\n");

  return n_missed;
}

int
main (int    argc,
      char **argv)
{
  gboolean           json = FALSE;
  int                rounds = 7;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print the rows as JSON", NULL },
    { "rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "How often each row is measured (7)", "N" },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *top = NULL;
  Bench            self = { NULL };
  guint            n_missed = 0;

  g_option_context_add_main_entries (context, entries, NULL);
  bench_check (g_option_context_parse (context, &argc, &argv, &error), "options", error);
  bench_check (rounds > 0, "options", NULL);
  top = g_dir_make_tmp ("sandbox-bench-XXXXXX", &error);
  bench_check (top != NULL, "a directory", error);
  self.top = top;
  {
    g_autofree char *large = bench_get_tree (&self, 20000);
    g_autofree char *small = bench_get_tree (&self, 1000);

    bench_make_tree (large, 20000);
    bench_make_tree (small, 1000);
    sync ();
  }

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    rows[i].times = g_array_new (FALSE, FALSE, sizeof (double));
  for (int round = -1; round < rounds; round++)
    for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
      {
        /* Each round begins with another row: none always follows the same one. */
        BenchRow *row = &rows[((guint) (round + 1) + i) % G_N_ELEMENTS (rows)];

        for (guint call = 0; call < row->calls; call++)
          {
            double time = row->func (&self);

            if (round >= 0)
              g_array_append_val (row->times, time);
          }
      }
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    bench_sort (rows[i].times);
  n_missed = bench_print (json, (guint) rounds);
  bench_remove (top);

  return !json && n_missed > 0 ? 1 : 0;
}
