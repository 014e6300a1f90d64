/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <ftw.h>
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
# define TEST_IS_SANITIZED 1
#elif defined(__has_feature)
# if __has_feature(address_sanitizer)
#  define TEST_IS_SANITIZED 1
# endif
#endif
#ifndef TEST_IS_SANITIZED
# define TEST_IS_SANITIZED 0
#endif

/* Whether ./dev test does all of it once more as well: this run is under sanitizers or valgrind, or of another user. */
static inline gboolean
test_is_again (void)
{
  return TEST_IS_SANITIZED || g_getenv ("SANDBOX_TEST_AGAIN") != NULL || g_getenv ("SANDBOX_TEST_VALGRIND") != NULL;
}

/* What is done at @n random moments: fewer will do in a run that comes again, as the moments are new ones each time. */
static inline guint
test_rounds (guint n)
{
  return test_is_again () ? n / 4 : n;
}

/* What waits in a test fails after so long, far above what a busy machine needs. */
#define TEST_LIMIT_US (30 * G_USEC_PER_SEC)

/* Runs this thread's main context until @condition holds. */
#define test_wait(condition)                                                      \
 do                                                                               \
  {                                                                               \
   gint64 test_end = g_get_monotonic_time () + TEST_LIMIT_US;                     \
                                                                                  \
   while (!(condition))                                                           \
    {                                                                             \
     g_assert_cmpint (g_get_monotonic_time (), <, test_end);                      \
     if (!g_main_context_iteration (g_main_context_get_thread_default (), FALSE)) \
      g_usleep (200);                                                             \
    }                                                                             \
  }                                                                               \
 while (0)

/* For GAsyncReadyCallback: keeps the result in the GAsyncResult * that it is given. Answered twice is a
 * failure. */
static inline void
test_result_cb (GObject      *object,
                GAsyncResult *result,
                gpointer      user_data)
{
  GAsyncResult **kept = user_data;

  g_assert_null (*kept);
  *kept = g_object_ref (result);
}

/* Runs this thread's main context for a while. */
static inline void
test_run_for (guint ms)
{
  gint64 end = g_get_monotonic_time () + ms * 1000;

  while (g_get_monotonic_time () < end)
    if (!g_main_context_iteration (g_main_context_get_thread_default (), FALSE))
      g_usleep (200);
}

static inline guint
test_count_entries (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  guint count = 0;

  g_assert_nonnull (dir);
  while (g_dir_read_name (dir) != NULL)
    count++;

  return count;
}

static inline guint
test_count_descriptors (void)
{
  return test_count_entries ("/proc/self/fd");
}

/* No more than @most of them are left. An earlier test may have been releasing its own when they were counted, in
 * threads that nobody can wait for: so it may be fewer, and it may take a moment. */
static inline void
test_assert_descriptors (guint most)
{
  test_wait (test_count_descriptors () <= most);
}

static inline guint
test_count_threads (void)
{
  return test_count_entries ("/proc/self/task");
}

static inline gboolean
test_threads_wait (void)
{
  g_autoptr (GDir) tasks = g_dir_open ("/proc/self/task", 0, NULL);
  const char *name = NULL;
  gboolean    all = TRUE;

  g_assert_nonnull (tasks);
  while (all && (name = g_dir_read_name (tasks)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/proc/self/task", name, "stat", NULL);
      g_autofree char *text = NULL;

      if (atoi (name) == gettid ())
        continue;
      /* One that has ended in between is no hindrance. */
      all = !g_file_get_contents (path, &text, NULL, NULL) || g_str_has_prefix (strrchr (text, ')'), ") S");
    }

  return all;
}

/* Returns when every other thread waits for something: seen twice, as one may have waited for another. */
static inline void
test_wait_for_threads (void)
{
  gint64 end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC;
  guint  seen = 0;

  while (seen < 2)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      seen = test_threads_wait () ? seen + 1 : 0;
      if (seen == 0)
        g_usleep (500);
    }
}

static inline void
test_assert_bytes (GBytes     *bytes,
                   const char *text)
{
  g_assert_nonnull (bytes);
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), text, strlen (text));
}

static inline int
test_remove_cb (const char        *path,
                const struct stat *info,
                int                kind,
                struct FTW        *place)
{
  return remove (path);
}

/* Whether @path is below the directory for temporary files, whatever links and dots there are in it. */
static inline gboolean
test_is_temporary (const char *path)
{
  g_autofree char *parent = g_path_get_dirname (path);
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *real_parent = realpath (parent, NULL);
  g_autofree char *top = realpath (g_get_tmp_dir (), NULL);
  gsize            length = top != NULL ? strlen (top) : 0;

  return g_path_is_absolute (path) && length > 1 && real_parent != NULL && strncmp (real_parent, top, length) == 0 &&
         (real_parent[length] == '\0' || real_parent[length] == '/') &&
         !g_str_equal (name, ".") && !g_str_equal (name, "..");
}

/* The tests run as root too: a mistake in one of them must not cost anybody a file. */
static inline void
test_remove_tree (const char *path)
{
  if (!test_is_temporary (path))
    g_error ("%s is not below %s: not removed", path, g_get_tmp_dir ());
  nftw (path, test_remove_cb, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
