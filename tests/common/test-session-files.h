/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The calls of a session's files against a hostile guest, for any session whose workspace is TOP/inside on this host, with
 * TOP/outside beside it: see test-outside.h. Who makes the links is the caller's business, a test or a real guest.
 */
#pragma once

#include "test-helpers.h"
#include "test-outside.h"

/* sandbox_session_NAME (session, …), synchronous or not. */
#define test_session_call(session, async, name, cancellable, error, ...)                             \
 ({                                                                                                  \
 g_autoptr (GAsyncResult) test_result = NULL;                                                        \
                                                                                                     \
 if (async)                                                                                          \
  {                                                                                                  \
   sandbox_session_##name##_async (session, __VA_ARGS__, cancellable, test_result_cb, &test_result); \
   g_assert_null (test_result);                                                                      \
   test_wait (test_result != NULL);                                                                  \
  }                                                                                                  \
 (async) ? sandbox_session_##name##_finish (session, test_result, error)                             \
         : sandbox_session_##name (session, __VA_ARGS__, cancellable, error);                        \
 })

/* ---- Every call that writes ---- */

typedef struct
{
  SandboxSession *session;
  gboolean        async;
  const char     *top;
  /* The guest makes a link, or for hard links somebody does who can see @target, a path of the host. */
  void (*put_link) (gpointer    guest,
                    const char *target,
                    const char *path);
  gpointer guest;
} TestWriter;

#define test_writer_call(self, name, error, ...) test_session_call ((self)->session, (self)->async, name, NULL, error, __VA_ARGS__)

#define test_writer_do(self, name, ...)                                             \
 ({                                                                                 \
 g_autoptr (GError) test_error = NULL;                                              \
 __auto_type test_answer = test_writer_call (self, name, &test_error, __VA_ARGS__); \
                                                                                    \
 g_assert_no_error (test_error);                                                    \
 test_answer;                                                                       \
 })

#define test_writer_refuse(self, code, name, ...)             \
 do                                                           \
  {                                                           \
   g_autoptr (GError) test_error = NULL;                      \
                                                              \
   test_writer_call (self, name, &test_error, __VA_ARGS__);   \
   g_assert_error (test_error, SANDBOX_ERROR, (int) (code));  \
   g_assert_null (strstr (test_error->message, (self)->top)); \
  }                                                           \
 while (0)

/* A directory of the host with a file "x" in it, to be imported. */
static inline GFile *
test_writer_make_source (TestWriter *self)
{
  g_autofree char *from = g_build_filename (self->top, "from", NULL);
  g_autofree char *file = g_build_filename (from, "x", NULL);

  g_assert_cmpint (g_mkdir_with_parents (from, 0755), ==, 0);
  g_assert_true (g_file_set_contents (file, "new", -1, NULL));

  return g_file_new_for_path (from);
}

static inline void
test_writer_write_stream (TestWriter *self,
                          const char *path)
{
  g_autoptr (GOutputStream) stream = test_writer_do (self, open_write, path);
  g_autoptr (GError) error = NULL;

  g_output_stream_write_all (stream, "new", 3, NULL, NULL, &error);
  g_assert_no_error (error);
  g_output_stream_close (stream, NULL, &error);
  g_assert_no_error (error);
}

/* A link stands at "l": nothing is written to what it names, or below that. */
static inline void
test_writer_try_link (TestWriter *self,
                      const char *target)
{
  g_autoptr (GFile) source = test_writer_make_source (self);
  g_autoptr (GBytes) bytes = g_bytes_new_static ("new", 3);
  g_autoptr (GOutputStream) stream = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *imported = NULL;
  g_autofree char *out = g_build_filename (self->top, "out", NULL);
  g_autoptr (GFile) exported = g_file_new_for_path (out);

  g_test_message ("A link to %s", target);
  test_writer_do (self, write_text, "plain", "plain");
  test_writer_do (self, make_directory, "d");
  self->put_link (self->guest, target, "l");
  self->put_link (self->guest, target, "d/x");

  test_writer_refuse (self, SANDBOX_ERROR_PATH, write_bytes, "l", bytes);
  test_writer_refuse (self, SANDBOX_ERROR_PATH, write_text, "l", "new");
  test_writer_refuse (self, SANDBOX_ERROR_PATH, open_write, "l");
  test_writer_refuse (self, SANDBOX_ERROR_EXISTS, make_directory, "l");
  test_writer_refuse (self, SANDBOX_ERROR_EXISTS, move, "plain", "l");
  test_writer_refuse (self, SANDBOX_ERROR_PATH, import_directory, source, "l");
  test_writer_refuse (self, SANDBOX_ERROR_PATH, export_directory, "l", exported);

  test_writer_refuse (self, SANDBOX_ERROR_PATH, write_bytes, "l/x", bytes);
  test_writer_refuse (self, SANDBOX_ERROR_PATH, write_text, "l/sub/new", "new");
  test_writer_refuse (self, SANDBOX_ERROR_PATH, open_write, "l/x");
  test_writer_refuse (self, SANDBOX_ERROR_PATH, make_directory, "l/new");
  test_writer_refuse (self, SANDBOX_ERROR_PATH, move, "plain", "l/new");
  test_writer_refuse (self, SANDBOX_ERROR_PATH, move, "l/x", "taken");
  test_writer_refuse (self, SANDBOX_ERROR_PATH, remove_path, "l/x");
  test_writer_refuse (self, SANDBOX_ERROR_PATH, import_directory, source, "l/new");

  /* A file that comes in takes the place of a link. */
  test_writer_do (self, import_directory, source, "d");
  imported = test_writer_do (self, read_text, "d/x");
  g_assert_cmpstr (imported, ==, "new");

  /* A link that comes while a stream is open stays. */
  stream = test_writer_do (self, open_write, "s");
  g_assert_cmpint (g_output_stream_write (stream, "new", 3, NULL, NULL), ==, 3);
  self->put_link (self->guest, target, "s");
  g_assert_false (g_output_stream_close (stream, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);

  test_writer_do (self, remove_path, "l");
  test_writer_do (self, remove_path, "s");
  test_writer_do (self, remove_path, "d");
  test_writer_do (self, remove_path, "plain");
}

static inline void
test_writer_try_links (TestWriter *self)
{
  g_autofree char  *absolute = g_build_filename (self->top, "outside", NULL);
  const char *const targets[] = { "../outside", "../outside/secret", absolute, "nowhere", ".", "plain" };

  for (gsize i = 0; i < G_N_ELEMENTS (targets); i++)
    test_writer_try_link (self, targets[i]);
}

static inline void
test_writer_try_magic_links (TestWriter *self)
{
  const char *const targets[] = { "/proc/self/root", "/proc/self/cwd", "/proc/self/fd/0", "/proc/self/exe", "/proc/1/root" };

  for (gsize i = 0; i < G_N_ELEMENTS (targets); i++)
    test_writer_try_link (self, targets[i]);
}

static inline void
test_writer_try_hard_links (TestWriter *self)
{
  g_autoptr (GFile) source = test_writer_make_source (self);
  g_autoptr (GBytes) bytes = g_bytes_new_static ("new", 3);
  g_autofree char *outside = g_build_filename (self->top, "hard", NULL);

  g_assert_true (g_file_set_contents (outside, MARKER, -1, NULL));
  test_writer_do (self, make_directory, "d");
  for (guint i = 0; i < 6; i++)
    {
      g_autofree char *content = NULL;
      g_autofree char *left = NULL;

      self->put_link (self->guest, outside, "d/x");
      if (i == 0)
        test_writer_do (self, write_bytes, "d/x", bytes);
      else if (i == 1)
        test_writer_do (self, write_text, "d/x", "new");
      else if (i == 2)
        test_writer_write_stream (self, "d/x");
      else if (i == 3)
        test_writer_do (self, import_directory, source, "d");
      else if (i == 4)
        test_writer_refuse (self, SANDBOX_ERROR_EXISTS, make_directory, "d/x");
      else
        test_writer_do (self, move, "d/x", "d/y");
      if (i < 4)
        {
          content = test_writer_do (self, read_text, "d/x");
          g_assert_cmpstr (content, ==, "new");
        }
      test_writer_do (self, remove_path, i < 5 ? "d/x" : "d/y");
      g_assert_true (g_file_get_contents (outside, &left, NULL, NULL));
      g_assert_cmpstr (left, ==, MARKER);
    }
  test_writer_do (self, remove_path, "d");
}

/* ---- A guest that is quick ---- */

/* Somebody swaps d and d-link, f and f-link, d/e and d/e-link, t and d/t, t and t-link of the workspace all the time: where
 * there is a directory or a file there is soon a link to what is outside. What the calls say is counted. */
typedef struct
{
  SandboxSession *session;
  gboolean        async;
  const char     *top;
  guint           done;
  guint           refused;
} TestRace;

#define test_race_call(self, name, error, ...) test_session_call ((self)->session, (self)->async, name, NULL, error, __VA_ARGS__)

static inline void
test_race_note (TestRace *self,
                gboolean  done,
                GError  **error)
{
  g_assert_cmpint (done, ==, *error == NULL);
  g_assert_true (*error == NULL || (*error)->domain == SANDBOX_ERROR);
  if (done)
    self->done++;
  else
    self->refused++;
  g_clear_error (error);
}

static inline void
test_race_list (TestRace   *self,
                const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxListing) listing = test_race_call (self, list_directory, &error, path);
  guint n_entries = listing != NULL ? g_list_model_get_n_items (G_LIST_MODEL (listing)) : 0;

  for (guint i = 0; i < n_entries; i++)
    {
      g_autoptr (GFileInfo) info = g_list_model_get_item (G_LIST_MODEL (listing), i);

      /* A name that is only outside */
      g_assert_cmpstr (g_file_info_get_name (info), !=, "secret");
    }
  test_race_note (self, listing != NULL, &error);
}

static inline void
test_race_describe (TestRace   *self,
                    const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GFileInfo) info = test_race_call (self, query_info, &error, path);

  if (info != NULL && g_file_info_get_file_type (info) == G_FILE_TYPE_REGULAR)
    g_assert_cmpint (g_file_info_get_size (info), !=, strlen (MARKER));
  test_race_note (self, info != NULL, &error);
}

static inline void
test_race_read (TestRace   *self,
                const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GInputStream) stream = test_race_call (self, open_read, &error, path);
  g_autofree char *text = NULL;

  if (stream != NULL)
    {
      char   buffer[100] = "";
      gssize size = g_input_stream_read (stream, buffer, sizeof buffer - 1, NULL, &error);

      g_assert_no_error (error);
      g_assert_cmpint (size, ==, 6);
      g_assert_cmpstr (buffer, ==, "inside");
    }
  test_race_note (self, stream != NULL, &error);

  text = test_race_call (self, read_text, &error, path);
  if (text != NULL)
    g_assert_cmpstr (text, ==, "inside");
  test_race_note (self, text != NULL, &error);
}

static inline void
test_race_write (TestRace   *self,
                 const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GOutputStream) stream = test_race_call (self, open_write, &error, path);
  gboolean done = stream != NULL && g_output_stream_write_all (stream, "inside", 6, NULL, NULL, &error) &&
                  g_output_stream_close (stream, NULL, &error);

  test_race_note (self, done, &error);
  test_race_note (self, test_race_call (self, write_text, &error, path, "inside"), &error);
}

static inline void
test_race_change (TestRace   *self,
                  const char *path,
                  const char *other)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *made = g_strconcat (path, "/made", NULL);

  test_race_note (self, test_race_call (self, make_directory, &error, made), &error);
  test_race_note (self, test_race_call (self, move, &error, made, other), &error);
  test_race_note (self, test_race_call (self, remove_path, &error, other), &error);
  test_race_note (self, test_race_call (self, remove_path, &error, made), &error);
}

static inline void
test_race_copy (TestRace   *self,
                GFile      *source,
                const char *path)
{
  g_autofree char *to = g_build_filename (self->top, "to", NULL);
  g_autofree char *secret = g_build_filename (to, "secret", NULL);
  g_autoptr (GFile) target = g_file_new_for_path (to);
  g_autoptr (GError) error = NULL;

  test_race_note (self, test_race_call (self, import_directory, &error, source, path), &error);
  test_race_note (self, test_race_call (self, export_directory, &error, path, target), &error);
  g_assert_false (g_file_test (secret, G_FILE_TEST_EXISTS));
  test_remove_tree (to);
}

/* Goes on for two seconds, or for as many as the environment says and then with 20,000 calls at least; and until both ends
 * have been seen, however slow the machine is. */
static inline void
test_race_run (TestRace *self)
{
  const char *const directories[] = { ".", "d", "d/e", "d-link", "d/t", "t/sub" };
  const char *const files[] = { "f", "d/x", "d/e/x", "d-link/x", "f-link", "d/t/x", "t/x" };
  const char       *seconds = g_getenv ("SANDBOX_TEST_RACE_SECONDS");
  const guint       wanted = seconds != NULL ? 20000 : 1;
  const gint64      span = (seconds != NULL ? g_ascii_strtoll (seconds, NULL, 10) : 2) * G_TIME_SPAN_SECOND;
  const gint64      begin = g_get_monotonic_time ();
  g_autofree char  *from = g_build_filename (self->top, "from", NULL);
  g_autofree char  *in_it = g_build_filename (from, "sub", NULL);
  g_autofree char  *a_file = g_build_filename (in_it, "x", NULL);
  g_autoptr (GFile) source = g_file_new_for_path (from);

  g_assert_cmpint (g_mkdir_with_parents (in_it, 0755), ==, 0);
  g_assert_true (g_file_set_contents (a_file, "inside", -1, NULL));
  while (g_get_monotonic_time () < begin + span || self->done + self->refused < wanted || self->done == 0 || self->refused == 0)
    {
      for (gsize i = 0; i < G_N_ELEMENTS (directories); i++)
        {
          test_race_list (self, directories[i]);
          test_race_describe (self, directories[i]);
          test_race_change (self, directories[i], directories[(i + 1) % G_N_ELEMENTS (directories)]);
          if (i > 0)
            test_race_copy (self, source, directories[i]);
        }
      for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
        {
          test_race_read (self, files[i]);
          test_race_write (self, files[i]);
          test_race_describe (self, files[i]);
        }
      g_assert_cmpint (g_get_monotonic_time (), <, begin + 10 * span + 2 * TEST_LIMIT_US);
    }
  g_test_message ("%u calls: %u did what they were asked for, %u were refused", self->done + self->refused, self->done, self->refused);
}
