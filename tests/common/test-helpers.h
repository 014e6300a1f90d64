/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <string.h>

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

static inline guint
test_count_threads (void)
{
  return test_count_entries ("/proc/self/task");
}

static inline void
test_assert_bytes (GBytes     *bytes,
                   const char *text)
{
  g_assert_nonnull (bytes);
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), text, strlen (text));
}
