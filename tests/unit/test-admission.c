/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-admission-private.h"

#include "sandbox-error.h"

#include <string.h>

static void
test_take (void)
{
  SandboxAdmission *admission = sandbox_admission_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("So many places are given out as there are, and one that is given back can be taken");

  g_assert_cmpuint (sandbox_admission_get_limit (admission), ==, 8);
  for (guint i = 0; i < 8; i++)
    g_assert_true (sandbox_admission_take (admission, &error));
  g_assert_no_error (error);

  g_assert_false (sandbox_admission_take (admission, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_assert_nonnull (strstr (error->message, "8 places"));
  g_assert_nonnull (strstr (error->message, "max-concurrent-commands"));
  g_assert_false (sandbox_admission_take (admission, NULL));

  sandbox_admission_give (admission);
  g_assert_true (sandbox_admission_take (admission, NULL));
  g_assert_false (sandbox_admission_take (admission, NULL));

  sandbox_admission_unref (admission);
}

static void
test_limit (void)
{
  SandboxAdmission *admission = sandbox_admission_new ();

  g_test_summary ("A lower limit takes no place away from who has one");

  sandbox_admission_set_limit (admission, 2);
  g_assert_true (sandbox_admission_take (admission, NULL));
  g_assert_true (sandbox_admission_take (admission, NULL));
  sandbox_admission_set_limit (admission, 1);
  g_assert_cmpuint (sandbox_admission_get_limit (admission), ==, 1);

  sandbox_admission_give (admission);
  g_assert_false (sandbox_admission_take (admission, NULL));
  sandbox_admission_give (admission);
  g_assert_true (sandbox_admission_take (admission, NULL));
  sandbox_admission_set_limit (admission, SANDBOX_ADMISSION_MAX);
  for (guint i = 1; i < SANDBOX_ADMISSION_MAX; i++)
    g_assert_true (sandbox_admission_take (admission, NULL));
  g_assert_false (sandbox_admission_take (admission, NULL));

  sandbox_admission_unref (admission);
}

#define THREADS 8
#define ROUNDS 20000

typedef struct
{
  SandboxAdmission *admission;
  int               inside;
  int               most;
} Crowd;

static gpointer
crowd_thread (gpointer data)
{
  Crowd *crowd = data;
  guint  taken = 0;

  for (guint i = 0; i < ROUNDS; i++)
    {
      int inside = 0;

      if (!sandbox_admission_take (crowd->admission, NULL))
        continue;
      taken++;
      inside = g_atomic_int_add (&crowd->inside, 1) + 1;
      if (inside > g_atomic_int_get (&crowd->most))
        g_atomic_int_set (&crowd->most, inside);
      g_atomic_int_add (&crowd->inside, -1);
      sandbox_admission_give (crowd->admission);
    }

  return GUINT_TO_POINTER (taken);
}

static void
test_crowd (void)
{
  Crowd    crowd = { sandbox_admission_new (), 0, 0 };
  GThread *threads[THREADS];
  guint    taken = 0;

  g_test_summary ("Threads that crowd in never get more places than there are, and lose none");

  sandbox_admission_set_limit (crowd.admission, 3);
  for (guint i = 0; i < THREADS; i++)
    threads[i] = g_thread_new ("crowd", crowd_thread, &crowd);
  for (guint i = 0; i < THREADS; i++)
    taken += GPOINTER_TO_UINT (g_thread_join (threads[i]));

  g_assert_cmpuint (taken, >, 0);
  g_assert_cmpint (crowd.most, <=, 3);
  for (guint i = 0; i < 3; i++)
    g_assert_true (sandbox_admission_take (crowd.admission, NULL));
  g_assert_false (sandbox_admission_take (crowd.admission, NULL));

  sandbox_admission_unref (crowd.admission);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/admission/take", test_take);
  g_test_add_func ("/admission/limit", test_limit);
  g_test_add_func ("/admission/crowd", test_crowd);

  return g_test_run ();
}
