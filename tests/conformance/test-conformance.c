/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What every driver must do below a session: test-conformance DRIVER. The same checks for all, each in both forms of
 * every call. What a driver cannot do it must refuse, and that is asserted: nothing is left out.
 *
 * A driver is one entry of the table at the end, with its own programs for the toys of memory-driver.h. */

#include <sandbox-glib.h>

#include "../common/test-disk.h"
#include "../common/test-helpers.h"
#include "memory-driver.h"

#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

typedef struct
{
  const char *name;

  /* Makes the backend; NULL for those of the registry */
  SandboxBackend *(*new_backend) (void);

  /* The toys of memory-driver.h as programs of this driver; NULL when they are its own */
  char **(*translate) (const char *const *argv);

  /* What it cannot do, and how it refuses; everything else it must do */
  gboolean     needs_workspace;
  gboolean     keeps; /* sessions of the library's own, over a template */
  gboolean     has_no_sandboxes;
  gboolean     refuses_allow_all;
  gboolean     refuses_allow_list;
  gboolean     refuses_limits;
  gboolean     refuses_plan;
  gboolean     has_no_stdin_pipe;
  gboolean     has_no_trees; /* nor streams to write to, and directories do not move */
  SandboxGrade least_grade;

  SandboxWorkspaceMode mode; /* if it keeps */
} Driver;

static const Driver *driver;
static const char   *state_directory; /* NULL: the default */

typedef struct
{
  gboolean         async;
  char            *workspace;
  SandboxRegistry *registry;
  SandboxBackend  *backend;
  SandboxTemplate *template;
  SandboxHandle  *handle;
  SandboxSession *session;
} Fixture;

/* Either form of a call: call (fixture, sandbox_session_read_bytes, session, &error, path, cancellable) */
#define call(fixture, function, object, error, ...)                      \
 ({                                                                      \
 __typeof__ (function (object, __VA_ARGS__, error)) call_value = 0;      \
                                                                         \
 if ((fixture)->async)                                                   \
  {                                                                      \
   g_autoptr (GAsyncResult) call_result = NULL;                          \
                                                                         \
   function##_async (object, __VA_ARGS__, test_result_cb, &call_result); \
   g_assert_null (call_result);                                          \
   test_wait (call_result != NULL);                                      \
   call_value = function##_finish (object, call_result, error);          \
  }                                                                      \
 else                                                                    \
  call_value = function (object, __VA_ARGS__, error);                    \
 call_value;                                                             \
 })

#define assert_ok(expression, error) \
 G_STMT_START                        \
 {                                   \
  gboolean ok_done = (expression);   \
                                     \
  g_assert_no_error (error);         \
  g_assert_true (ok_done);           \
 }                                   \
 G_STMT_END

#define assert_refused(expression, error, error_domain, error_code) \
 G_STMT_START                                                       \
 {                                                                  \
  gboolean refused_done = (expression) != 0;                        \
                                                                    \
  g_assert_false (refused_done);                                    \
  g_assert_error (error, error_domain, (int) (error_code));         \
  g_assert_cmpstr ((error)->message, !=, "");                       \
  g_clear_error (&(error));                                         \
 }                                                                  \
 G_STMT_END

static SandboxCommand *command (const char *first,
                                ...) G_GNUC_NULL_TERMINATED;

/* A toy of this driver */
static SandboxCommand *
command (const char *first,
         ...)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) toy = NULL;
  g_auto (GStrv) program = NULL;
  va_list words;

  va_start (words, first);
  for (const char *word = first; word != NULL; word = va_arg (words, const char *))
    g_strv_builder_add (builder, word);
  va_end (words);
  toy = g_strv_builder_end (builder);
  if (driver->translate != NULL)
    program = driver->translate ((const char *const *) toy);

  return sandbox_command_new ((const char *const *) (program != NULL ? program : toy));
}

/* @taken is taken, here and below. */
static SandboxResult *
run (Fixture        *fixture,
     SandboxCommand *taken)
{
  g_autoptr (SandboxCommand) mine = taken;
  g_autoptr (GError) error = NULL;
  SandboxResult *result = call (fixture, sandbox_session_run, fixture->session, &error, mine, NULL);

  g_assert_no_error (error);
  g_assert_nonnull (result);

  return result;
}

static SandboxProcess *
spawn (Fixture        *fixture,
       SandboxCommand *taken)
{
  g_autoptr (SandboxCommand) mine = taken;
  g_autoptr (GError) error = NULL;
  SandboxProcess *process = call (fixture, sandbox_session_spawn, fixture->session, &error, mine, NULL);

  g_assert_no_error (error);
  g_assert_nonnull (process);

  return process;
}

static void
assert_output (Fixture        *fixture,
               SandboxCommand *taken,
               const char     *output)
{
  g_autoptr (SandboxResult) result = run (fixture, taken);
  g_autoptr (GError) error = NULL;

  assert_ok (sandbox_result_check (result, &error), error);
  test_assert_bytes (sandbox_result_get_stdout (result), output);
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stderr (result)), ==, 0);
}

static void
assert_not_started (Fixture        *fixture,
                    SandboxCommand *taken,
                    SandboxError    code)
{
  g_autoptr (SandboxCommand) mine = taken;
  g_autoptr (GError) error = NULL;

  assert_refused (call (fixture, sandbox_session_run, fixture->session, &error, mine, NULL), error, SANDBOX_ERROR, code);
  assert_refused (call (fixture, sandbox_session_spawn, fixture->session, &error, mine, NULL), error, SANDBOX_ERROR, code);
}

static GBytes *
make_bytes (gsize size)
{
  char *data = g_malloc (MAX (size, 1));

  for (gsize i = 0; i < size; i++)
    data[i] = (char) (i * 7 + i / 256);

  return g_bytes_new_take (data, size);
}

/* ---- A session of the driver */

static SandboxBackend *
new_backend (SandboxRegistry *registry)
{
  g_autoptr (GError) error = NULL;
  SandboxBackend *backend = driver->new_backend != NULL ? driver->new_backend ()
                                                        : sandbox_registry_create_backend (registry, driver->keeps ? "bubblewrap" : driver->name, state_directory, &error);

  g_assert_no_error (error);
  g_assert_nonnull (backend);

  /* One of them without slots */
  if (driver->mode == SANDBOX_WORKSPACE_MODE_COPY)
    g_object_set (backend, "nested", FALSE, NULL);

  return backend;
}

static SandboxCreateOptions *
new_options (Fixture *fixture)
{
  SandboxCreateOptions *options = sandbox_create_options_new ();

  if (driver->needs_workspace)
    sandbox_create_options_set_workspace_path (options, fixture->workspace);
  if (driver->keeps)
    {
      sandbox_create_options_set_template_key (options, sandbox_template_get_key (fixture->template));
      sandbox_create_options_set_workspace_mode (options, driver->mode);
    }
  sandbox_create_options_set_max_file_bytes (options, 100000);

  return options;
}

static SandboxTemplate *
prewarm (SandboxBackend *backend)
{
  g_autoptr (SandboxFileSet) files = sandbox_file_set_new ();
  g_autoptr (GBytes) text = g_bytes_new_static ("text", 4);
  g_autoptr (GError) error = NULL;
  SandboxTemplate *template = NULL;

  sandbox_file_set_add (files, "d/f", text);
  sandbox_file_set_add (files, "file", text);
  template = sandbox_backend_prewarm (backend, "template", files, NULL, &error);
  g_assert_no_error (error);

  return template;
}

static void
backend_set_up (Fixture      *fixture,
                gconstpointer form)
{
  g_autoptr (GError) error = NULL;

  fixture->async = g_str_equal (form, "async");
  fixture->registry = sandbox_registry_new ();
  fixture->backend = new_backend (fixture->registry);
  if (driver->needs_workspace)
    fixture->workspace = g_dir_make_tmp ("conformance-XXXXXX", &error);
  g_assert_no_error (error);
  if (driver->keeps)
    fixture->template = prewarm (fixture->backend);
}

static void
backend_tear_down (Fixture      *fixture,
                   gconstpointer form)
{
  g_clear_object (&fixture->template);
  test_wait (G_OBJECT (fixture->backend)->ref_count == 1);
  g_assert_finalize_object (fixture->backend);
  g_assert_finalize_object (fixture->registry);
  /* Every test leaves the workspace empty. */
  if (fixture->workspace != NULL)
    g_assert_cmpint (g_rmdir (fixture->workspace), ==, 0);
  g_clear_pointer (&fixture->workspace, g_free);
}

static void
session_set_up (Fixture      *fixture,
                gconstpointer form)
{
  g_autoptr (SandboxCreateOptions) options = NULL;
  g_autoptr (GError) error = NULL;

  backend_set_up (fixture, form);
  options = new_options (fixture);
  fixture->handle = call (fixture, sandbox_backend_create, fixture->backend, &error, options, NULL);
  g_assert_no_error (error);
  fixture->session = sandbox_handle_get_session (fixture->handle);
  /* As empty as others, but what was of the template is to be kept away from now on. */
  if (driver->keeps)
    {
      assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "d", NULL), error);
      assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "file", NULL), error);
    }
}

static void
session_tear_down (Fixture      *fixture,
                   gconstpointer form)
{
  g_autoptr (GError) error = NULL;

  assert_ok (call (fixture, sandbox_handle_stop, fixture->handle, &error, NULL), error);
  test_wait (G_OBJECT (fixture->handle)->ref_count == 1);
  g_assert_finalize_object (fixture->handle);
  backend_tear_down (fixture, form);
}

/* ---- The backend */

static void
test_probe (Fixture      *fixture,
            gconstpointer form)
{
  g_autoptr (SandboxProfile) profile = sandbox_profile_new ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("A probe tells what can be enforced, with or without a profile; that nothing can be is a report too");

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (SandboxReport) report = call (fixture, sandbox_backend_probe, fixture->backend, &error, i == 0 ? NULL : profile, NULL);
      g_autofree char *json = NULL;

      g_assert_no_error (error);
      g_assert_true (SANDBOX_IS_REPORT (report));
      json = sandbox_report_to_json (report);
      g_assert_true (g_str_has_prefix (json, "{"));
      if (driver->has_no_sandboxes)
        {
          g_assert_cmpint (sandbox_report_get_grade (report), ==, SANDBOX_GRADE_UNAVAILABLE);
          g_assert_nonnull (sandbox_report_get_reason (report));
          g_assert_cmpuint (sandbox_report_get_restrictions (report), ==, SANDBOX_RESTRICTIONS_NONE);
        }
      else
        g_assert_cmpint (sandbox_report_get_grade (report), <=, driver->least_grade);
    }
}

static void
test_probe_cancelled (Fixture      *fixture,
                      gconstpointer form)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (SandboxCreateOptions) options = new_options (fixture);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Cancelled calls of a backend are cancelled, whatever it can do");

  g_cancellable_cancel (cancellable);
  assert_refused (call (fixture, sandbox_backend_probe, fixture->backend, &error, NULL, cancellable),
                  error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_refused (call (fixture, sandbox_backend_create, fixture->backend, &error, options, cancellable),
                  error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
test_plan (Fixture      *fixture,
           gconstpointer form)
{
  g_autoptr (SandboxCommand) echo = command ("echo", "x", NULL);
  g_autoptr (SandboxCommand) nothing = memory_command ("", NULL);
  g_autoptr (SandboxCreateOptions) options = new_options (fixture);
  g_autoptr (GError) error = NULL;
  g_autofree char *plan = NULL;

  g_test_summary ("A backend tells its plans or refuses to");

  plan = sandbox_backend_plan (fixture->backend, echo, options, &error);
  if (driver->refuses_plan)
    assert_refused (plan != NULL, error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  else
    {
      g_assert_no_error (error);
      g_assert_true (g_str_has_prefix (plan, "{"));
    }
  assert_refused (sandbox_backend_plan (fixture->backend, nothing, options, &error), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
}

static void
test_create_refused (Fixture      *fixture,
                     gconstpointer form)
{
  g_autoptr (SandboxCreateOptions) options = new_options (fixture);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A backend that makes no sandboxes says so, and nothing runs");

  assert_refused (call (fixture, sandbox_backend_create, fixture->backend, &error, options, NULL),
                  error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
}

static SandboxNetworkPolicy *
new_allow_list (void)
{
  SandboxNetworkPolicy *policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (GError) error = NULL;

  assert_ok (sandbox_network_policy_add_origin (policy, "https://example.org", NULL, &error), error);

  return policy;
}

static void
test_create_network (Fixture      *fixture,
                     gconstpointer form)
{
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxNetworkPolicy) all = sandbox_network_policy_new_allow_all ();
  g_autoptr (SandboxNetworkPolicy) list = new_allow_list ();
  const struct
  {
    SandboxNetworkPolicy *policy;
    gboolean              refused;
  } cases[] = { { deny, FALSE }, { all, driver->refuses_allow_all }, { list, driver->refuses_allow_list } };

  g_test_summary ("A session is made with a policy that is enforced, or not at all");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SandboxCreateOptions) options = new_options (fixture);
      g_autoptr (SandboxHandle) handle = NULL;
      g_autoptr (GError) error = NULL;

      sandbox_create_options_set_network (options, cases[i].policy);
      handle = call (fixture, sandbox_backend_create, fixture->backend, &error, options, NULL);
      if (cases[i].refused)
        assert_refused (handle != NULL, error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
      else
        {
          g_assert_no_error (error);
          assert_ok (call (fixture, sandbox_handle_shutdown, handle, &error, NULL), error);
          test_wait (G_OBJECT (handle)->ref_count == 1);
        }
    }
}

/* ---- Files */

static void
test_files (Fixture      *fixture,
            gconstpointer form)
{
  static const char *const names[] = {
    "plain",
    "with space",
    "-rf",
    "--",
    ".hidden",
    "a\nb",
    "Größe €",
    "\\xff\\xfe",
    "q\"'$`;&",
    "deep/er/and/deeper",
    "*?[x]",
  };
  static const gsize sizes[] = { 0, 1, 4096, 65537, 100000 };
  g_autoptr (GError) error = NULL;

  g_test_summary ("What is written is read, under any name, of any size that is allowed, and replaced whole");

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *absolute = g_strconcat ("/workspace/", names[i], NULL);

      for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
        {
          g_autoptr (GBytes) bytes = make_bytes (sizes[k]);
          g_autoptr (GBytes) read = NULL;

          assert_ok (call (fixture, sandbox_session_write_bytes, fixture->session, &error, names[i], bytes, NULL), error);
          read = call (fixture, sandbox_session_read_bytes, fixture->session, &error, absolute, NULL);
          g_assert_no_error (error);
          g_assert_true (g_bytes_equal (read, bytes));
        }
      assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, names[i], NULL), error);
      assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, names[i], NULL),
                      error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
    }
  assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "deep", NULL), error);
}

static void
test_text (Fixture      *fixture,
           gconstpointer form)
{
  g_autoptr (GBytes) latin = g_bytes_new_static ("a\377b", 3);
  g_autoptr (GBytes) with_nul = g_bytes_new_static ("a\0b", 3);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  g_autofree char *empty = NULL;

  g_test_summary ("Text is UTF-8 without NUL, or an error; an empty file is an empty text");

  assert_ok (call (fixture, sandbox_session_write_text, fixture->session, &error, "t", "Größe €\n", NULL), error);
  text = call (fixture, sandbox_session_read_text, fixture->session, &error, "t", NULL);
  g_assert_no_error (error);
  g_assert_cmpstr (text, ==, "Größe €\n");
  assert_ok (call (fixture, sandbox_session_write_text, fixture->session, &error, "t", "", NULL), error);
  empty = call (fixture, sandbox_session_read_text, fixture->session, &error, "t", NULL);
  g_assert_no_error (error);
  g_assert_cmpstr (empty, ==, "");

  assert_ok (call (fixture, sandbox_session_write_bytes, fixture->session, &error, "t", latin, NULL), error);
  assert_refused (call (fixture, sandbox_session_read_text, fixture->session, &error, "t", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  assert_ok (call (fixture, sandbox_session_write_bytes, fixture->session, &error, "t", with_nul, NULL), error);
  assert_refused (call (fixture, sandbox_session_read_text, fixture->session, &error, "t", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "t", NULL), error);
}

static void
test_file_refusals (Fixture      *fixture,
                    gconstpointer form)
{
  static const char *const paths[] = { "", "/", "/etc/passwd", "..", "../x", "a/../b", "./a", "a//b", "a/", "\\x41" };
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  g_autoptr (GBytes) large = make_bytes (100001);
  g_autoptr (GError) error = NULL;

  g_test_summary ("Each refusal of a file call has its own code");

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, paths[i], NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      assert_refused (call (fixture, sandbox_session_write_bytes, fixture->session, &error, paths[i], bytes, NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      assert_refused (call (fixture, sandbox_session_remove_path, fixture->session, &error, paths[i], NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
    }

  assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, "missing", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, "missing/below", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  assert_refused (call (fixture, sandbox_session_write_bytes, fixture->session, &error, "large", large, NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);

  assert_ok (call (fixture, sandbox_session_write_bytes, fixture->session, &error, "dir/file", bytes, NULL), error);
  assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, "dir", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, ".", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  assert_refused (call (fixture, sandbox_session_write_bytes, fixture->session, &error, "dir", bytes, NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  assert_refused (call (fixture, sandbox_session_write_bytes, fixture->session, &error, ".", bytes, NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, "dir/file/below", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  assert_refused (call (fixture, sandbox_session_write_bytes, fixture->session, &error, "dir/file/below", bytes, NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);

  assert_refused (call (fixture, sandbox_session_remove_path, fixture->session, &error, ".", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  assert_refused (call (fixture, sandbox_session_remove_path, fixture->session, &error, "/workspace", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "dir", NULL), error);
  assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "dir", NULL), error);
  assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, "dir/file", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

static void
assert_info (GFileInfo  *info,
             const char *name,
             GFileType   type,
             goffset     size)
{
  g_assert_cmpstr (g_file_info_get_name (info), ==, name);
  g_assert_cmpint (g_file_info_get_file_type (info), ==, type);
  if (type == G_FILE_TYPE_REGULAR)
    g_assert_cmpint (g_file_info_get_size (info), ==, size);
}

static void
test_directories (Fixture      *fixture,
                  gconstpointer form)
{
  SandboxSession *session = fixture->session;
  g_autoptr (GError) error = NULL;
  g_autoptr (GFileInfo) file = NULL;
  g_autoptr (GFileInfo) directory = NULL;
  g_autoptr (SandboxListing) listing = NULL;
  g_autoptr (SandboxListing) empty = NULL;
  g_autoptr (SandboxListing) again = NULL;
  g_autofree char *moved = NULL;
  guint            seen = 0;

  g_test_summary ("Directories are made, listed, described and changed by moves, and every refusal has its code");

  assert_ok (call (fixture, sandbox_session_make_directory, session, &error, "a/b", NULL), error);
  assert_ok (call (fixture, sandbox_session_write_text, session, &error, "a/f", "four", NULL), error);
  listing = call (fixture, sandbox_session_list_directory, session, &error, "a", NULL);
  g_assert_no_error (error);
  g_assert_false (sandbox_listing_get_truncated (listing));
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (listing)), ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GFileInfo) info = g_list_model_get_item (G_LIST_MODEL (listing), i);
      gboolean is_file = g_str_equal (g_file_info_get_name (info), "f");

      assert_info (info, is_file ? "f" : "b", is_file ? G_FILE_TYPE_REGULAR : G_FILE_TYPE_DIRECTORY, 4);
      seen |= is_file ? 1 : 2;
    }
  g_assert_cmpuint (seen, ==, 3);
  empty = call (fixture, sandbox_session_list_directory, session, &error, "a/b", NULL);
  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (empty)), ==, 0);

  file = call (fixture, sandbox_session_query_info, session, &error, "/workspace/a/f", NULL);
  g_assert_no_error (error);
  assert_info (file, "f", G_FILE_TYPE_REGULAR, 4);
  directory = call (fixture, sandbox_session_query_info, session, &error, "a", NULL);
  g_assert_no_error (error);
  assert_info (directory, "a", G_FILE_TYPE_DIRECTORY, 0);

  assert_ok (call (fixture, sandbox_session_move, session, &error, "a/f", "a/b/g", NULL), error);
  moved = call (fixture, sandbox_session_read_text, session, &error, "a/b/g", NULL);
  g_assert_no_error (error);
  g_assert_cmpstr (moved, ==, "four");
  if (driver->has_no_trees)
    assert_refused (call (fixture, sandbox_session_move, session, &error, "a", "c", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  else
    {
      assert_refused (call (fixture, sandbox_session_move, session, &error, "a", "a/b/c", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      assert_ok (call (fixture, sandbox_session_move, session, &error, "a", "c", NULL), error);
      assert_ok (call (fixture, sandbox_session_move, session, &error, "c", "a", NULL), error);
    }

  assert_refused (call (fixture, sandbox_session_list_directory, session, &error, "missing", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  assert_refused (call (fixture, sandbox_session_list_directory, session, &error, "a/b/g", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  assert_refused (call (fixture, sandbox_session_query_info, session, &error, "a/f", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  assert_refused (call (fixture, sandbox_session_query_info, session, &error, "a/b/g/x", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  assert_refused (call (fixture, sandbox_session_make_directory, session, &error, "a/b", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);
  assert_refused (call (fixture, sandbox_session_make_directory, session, &error, "a/b/g/x", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  assert_refused (call (fixture, sandbox_session_move, session, &error, "missing", "x", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  assert_refused (call (fixture, sandbox_session_move, session, &error, "a/b/g", "missing/x", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  assert_refused (call (fixture, sandbox_session_move, session, &error, "a/b/g", "a/b", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);
  assert_refused (call (fixture, sandbox_session_move, session, &error, ".", "x", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
  assert_refused (call (fixture, sandbox_session_move, session, &error, "a", "../x", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);

  assert_ok (call (fixture, sandbox_session_remove_path, session, &error, "a", NULL), error);
  again = call (fixture, sandbox_session_list_directory, session, &error, ".", NULL);
  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (again)), ==, 0);
}

static void
test_streams (Fixture      *fixture,
              gconstpointer form)
{
  SandboxSession *session = fixture->session;
  g_autoptr (GInputStream) input = NULL;
  g_autoptr (GOutputStream) output = NULL;
  g_autoptr (GBytes) large = make_bytes (3 << 20);
  g_autoptr (GBytes) read = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *small = NULL;

  g_test_summary ("Streams know no bound of the session, and a file is replaced when its stream is closed");

  assert_ok (call (fixture, sandbox_session_write_text, session, &error, "f", "old", NULL), error);
  input = call (fixture, sandbox_session_open_read, session, &error, "f", NULL);
  g_assert_no_error (error);
  read = g_input_stream_read_bytes (input, 100, NULL, &error);
  g_assert_no_error (error);
  test_assert_bytes (read, "old");
  assert_ok (g_input_stream_close (input, NULL, &error), error);
  assert_refused (call (fixture, sandbox_session_open_read, session, &error, "missing", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
  assert_refused (call (fixture, sandbox_session_open_read, session, &error, ".", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
  assert_refused (call (fixture, sandbox_session_open_write, session, &error, "../f", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);

  output = call (fixture, sandbox_session_open_write, session, &error, "f", NULL);
  if (driver->has_no_trees)
    assert_refused (output != NULL, error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  else
    {
      g_autoptr (GInputStream) back = NULL;
      g_autoptr (GChecksum) expected = g_checksum_new (G_CHECKSUM_SHA256);
      g_autoptr (GChecksum) found = g_checksum_new (G_CHECKSUM_SHA256);
      guchar buffer[65536];
      gssize size = 0;

      g_assert_no_error (error);
      assert_ok (g_output_stream_write_all (output, g_bytes_get_data (large, NULL), g_bytes_get_size (large), NULL, NULL, &error), error);
      small = call (fixture, sandbox_session_read_text, session, &error, "f", NULL);
      g_assert_cmpstr (small, ==, "old");
      assert_ok (g_output_stream_close (output, NULL, &error), error);
      assert_refused (call (fixture, sandbox_session_read_bytes, session, &error, "f", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
      back = call (fixture, sandbox_session_open_read, session, &error, "f", NULL);
      g_assert_no_error (error);
      g_checksum_update (expected, g_bytes_get_data (large, NULL), g_bytes_get_size (large));
      while ((size = g_input_stream_read (back, buffer, sizeof buffer, NULL, &error)) > 0)
        g_checksum_update (found, buffer, size);
      g_assert_no_error (error);
      g_assert_cmpstr (g_checksum_get_string (found), ==, g_checksum_get_string (expected));
    }
  assert_ok (call (fixture, sandbox_session_remove_path, session, &error, "f", NULL), error);
}

static void
test_trees (Fixture      *fixture,
            gconstpointer form)
{
  SandboxSession *session = fixture->session;
  g_autoptr (GError) error = NULL;
  g_autofree char *top = g_dir_make_tmp ("conformance-XXXXXX", &error);
  g_autofree char *from = g_build_filename (top, "from", NULL);
  g_autofree char *inner = g_build_filename (from, "inner", NULL);
  g_autofree char *file = g_build_filename (inner, "file", NULL);
  g_autofree char *to = g_build_filename (top, "to", NULL);
  g_autofree char *copied = g_build_filename (to, "inner", NULL);
  g_autofree char *copied_file = g_build_filename (copied, "file", NULL);
  g_autofree char *text = NULL;
  g_autofree char *content = NULL;
  g_autoptr (GFile) source = g_file_new_for_path (from);
  g_autoptr (GFile) target = g_file_new_for_path (to);

  g_test_summary ("Whole directories come in and go out, or the driver refuses");

  g_assert_no_error (error);
  g_assert_cmpint (g_mkdir_with_parents (inner, 0755), ==, 0);
  assert_ok (g_file_set_contents (file, "in a tree", -1, &error), error);

  if (driver->has_no_trees)
    {
      assert_refused (call (fixture, sandbox_session_import_directory, session, &error, source, "dir", NULL),
                      error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
      assert_refused (call (fixture, sandbox_session_export_directory, session, &error, ".", target, NULL),
                      error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
      g_assert_false (g_file_test (to, G_FILE_TEST_EXISTS));
    }
  else
    {
      assert_ok (call (fixture, sandbox_session_import_directory, session, &error, source, "dir", NULL), error);
      text = call (fixture, sandbox_session_read_text, session, &error, "dir/inner/file", NULL);
      g_assert_no_error (error);
      g_assert_cmpstr (text, ==, "in a tree");
      assert_ok (call (fixture, sandbox_session_export_directory, session, &error, "dir", target, NULL), error);
      assert_ok (g_file_get_contents (copied_file, &content, NULL, &error), error);
      g_assert_cmpstr (content, ==, "in a tree");
      assert_refused (call (fixture, sandbox_session_export_directory, session, &error, "dir", target, NULL),
                      error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);
      assert_refused (call (fixture, sandbox_session_import_directory, session, &error, source, "../dir", NULL),
                      error, SANDBOX_ERROR, SANDBOX_ERROR_PATH);
      assert_ok (call (fixture, sandbox_session_remove_path, session, &error, "dir", NULL), error);
      g_assert_cmpint (g_unlink (copied_file), ==, 0);
      g_assert_cmpint (g_rmdir (copied), ==, 0);
      g_assert_cmpint (g_rmdir (to), ==, 0);
    }

  g_assert_cmpint (g_unlink (file), ==, 0);
  g_assert_cmpint (g_rmdir (inner), ==, 0);
  g_assert_cmpint (g_rmdir (from), ==, 0);
  g_assert_cmpint (g_rmdir (top), ==, 0);
}

static void
test_files_cancelled (Fixture      *fixture,
                      gconstpointer form)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxCommand) echo = command ("echo", NULL);
  g_autoptr (GError) error = NULL;

  g_test_summary ("A call that is cancelled from the start does nothing");

  g_cancellable_cancel (cancellable);
  assert_refused (call (fixture, sandbox_session_write_bytes, fixture->session, &error, "f", bytes, cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_refused (call (fixture, sandbox_session_write_text, fixture->session, &error, "f", "x", cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, "f", cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_refused (call (fixture, sandbox_session_read_text, fixture->session, &error, "f", cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_refused (call (fixture, sandbox_session_remove_path, fixture->session, &error, "f", cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_refused (call (fixture, sandbox_session_run, fixture->session, &error, echo, cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_refused (call (fixture, sandbox_session_spawn, fixture->session, &error, echo, cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_refused (call (fixture, sandbox_session_set_network_policy, fixture->session, &error, policy, cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, "f", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND);
}

/* ---- Commands */

static void
test_run (Fixture      *fixture,
          gconstpointer form)
{
  static const char *const environment[] = { "COLOUR=blue", "EMPTY=", NULL };
  g_autoptr (GBytes) input = g_bytes_new_static ("from\0the host", 13);
  g_autoptr (SandboxResult) copied = NULL;
  g_autoptr (SandboxResult) unset = NULL;
  g_autoptr (SandboxResult) missing = NULL;
  g_autoptr (GError) error = NULL;
  SandboxCommand *taken = NULL;

  g_test_summary ("A command gets its words, environment, directory and input, and sees the files of the host's calls");

  assert_output (fixture, command ("echo", "", "two  words", "$HOME", "Größe", NULL), " two  words $HOME Größe\n");

  taken = command ("env", "COLOUR", NULL);
  sandbox_command_set_environment (taken, environment);
  assert_output (fixture, taken, "blue\n");
  taken = command ("env", "EMPTY", NULL);
  sandbox_command_set_environment (taken, environment);
  assert_output (fixture, taken, "\n");
  unset = run (fixture, command ("env", "SANDBOX_MODULE_PATH", NULL));
  g_assert_cmpint (sandbox_result_get_exit_status (unset), ==, 1);

  assert_ok (call (fixture, sandbox_session_write_text, fixture->session, &error, "here/file", "in a file", NULL), error);
  assert_output (fixture, command ("pwd", NULL), "/workspace\n");
  for (guint i = 0; i < 2; i++)
    {
      taken = command ("pwd", NULL);
      sandbox_command_set_cwd (taken, i == 0 ? "here" : "/workspace/here");
      assert_output (fixture, taken, "/workspace/here\n");
    }
  assert_output (fixture, command ("cat", "here/file", NULL), "in a file");

  taken = command ("cat", NULL);
  sandbox_command_set_stdin (taken, input);
  copied = run (fixture, taken);
  g_assert_true (g_bytes_equal (sandbox_result_get_stdout (copied), input));
  assert_output (fixture, command ("cat", NULL), "");

  missing = run (fixture, command ("cat", "nowhere", NULL));
  g_assert_cmpint (sandbox_result_get_exit_status (missing), ==, 1);
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (missing)), ==, 0);
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stderr (missing)), >, 0);

  assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "here", NULL), error);
}

static void
test_ends (Fixture      *fixture,
           gconstpointer form)
{
  static const char *const statuses[] = { "0", "1", "126", "127", "255" };
  static const int         signals[] = { SIGTERM, SIGKILL, SIGSEGV };

  g_test_summary ("Every status and every signal comes back as what it is");

  for (guint i = 0; i < G_N_ELEMENTS (statuses); i++)
    {
      g_autoptr (SandboxResult) result = run (fixture, command ("exit", statuses[i], NULL));
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_EXITED);
      g_assert_cmpint (sandbox_result_get_exit_status (result), ==, atoi (statuses[i]));
      g_assert_cmpint (sandbox_result_get_signal (result), ==, 0);
      g_assert_cmpuint (sandbox_result_get_wall_time_us (result), >, 0);
      if (i == 0)
        assert_ok (sandbox_result_check (result, &error), error);
      else
        assert_refused (sandbox_result_check (result, &error), error, SANDBOX_ERROR, SANDBOX_ERROR_FAILED);
    }

  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      g_autofree char *number = g_strdup_printf ("%d", signals[i]);
      g_autoptr (SandboxResult) result = run (fixture, command ("signal", number, NULL));

      g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_SIGNALED);
      g_assert_cmpint (sandbox_result_get_signal (result), ==, signals[i]);
      g_assert_cmpint (sandbox_result_get_exit_status (result), ==, -1);
    }
}

static void
test_not_started (Fixture      *fixture,
                  gconstpointer form)
{
  g_autofree char *huge = g_strnfill (200 * 1024, 'x');
  g_autoptr (GError) error = NULL;
  SandboxCommand *taken = NULL;

  g_test_summary ("What does not start is an error that says why, and its place is free again");

  sandbox_backend_set_max_concurrent_commands (fixture->backend, 1);
  assert_not_started (fixture, memory_command ("", NULL), SANDBOX_ERROR_INVALID);
  assert_not_started (fixture, command ("echo", huge, NULL), SANDBOX_ERROR_LIMIT);
  assert_not_started (fixture, memory_command ("no-such-program", NULL), SANDBOX_ERROR_NOT_FOUND);
  assert_not_started (fixture, memory_command ("--ro-bind", "/", "/h", NULL), SANDBOX_ERROR_NOT_FOUND);
  assert_ok (call (fixture, sandbox_session_write_text, fixture->session, &error, "script", "#!/bin/sh\necho ran\n", NULL), error);
  assert_not_started (fixture, memory_command (driver->translate != NULL ? "./script" : "script", NULL), SANDBOX_ERROR_DENIED);

  taken = command ("pwd", NULL);
  sandbox_command_set_cwd (taken, "missing");
  assert_not_started (fixture, taken, SANDBOX_ERROR_NOT_FOUND);
  taken = command ("pwd", NULL);
  sandbox_command_set_cwd (taken, "script");
  assert_not_started (fixture, taken, SANDBOX_ERROR_PATH);
  taken = command ("pwd", NULL);
  sandbox_command_set_cwd (taken, "/etc");
  assert_not_started (fixture, taken, SANDBOX_ERROR_PATH);

  taken = command ("echo", NULL);
  sandbox_command_set_terminal (taken, TRUE);
  assert_not_started (fixture, taken, SANDBOX_ERROR_NOT_SUPPORTED);
  assert_output (fixture, command ("echo", "free", NULL), "free\n");
  assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "script", NULL), error);
}

static void
test_limits (Fixture      *fixture,
             gconstpointer form)
{
  g_autoptr (SandboxLimits) files = sandbox_limits_new ();
  g_autoptr (SandboxLimits) memory = sandbox_limits_new ();
  g_autoptr (SandboxCommand) hungry = command ("sh", "-c", "head -c 200M /dev/zero | tail -c 150M | wc -c", NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autoptr (GError) error = NULL;
  SandboxCommand *taken = command ("echo", "limited", NULL);

  g_test_summary ("A limit is enforced or refused, never passed over");

  sandbox_limits_set_open_files (files, 64);
  sandbox_command_set_limits (taken, files);
  if (driver->refuses_limits)
    assert_not_started (fixture, taken, SANDBOX_ERROR_NOT_SUPPORTED);
  else
    assert_output (fixture, taken, "limited\n");

  sandbox_limits_set_memory_bytes (memory, 64 << 20);
  taken = command ("echo", NULL);
  if (driver->refuses_limits)
    {
      sandbox_command_set_limits (taken, memory);
      assert_not_started (fixture, taken, SANDBOX_ERROR_NOT_SUPPORTED);
      return;
    }

  /* Only where a control group is delegated to this program can it be had. */
  g_object_unref (taken);
  sandbox_command_set_limits (hungry, memory);
  result = call (fixture, sandbox_session_run, fixture->session, &error, hungry, NULL);
  if (result == NULL)
    g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  else
    g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_MEMORY_LIMIT);
}

static void
test_output (Fixture      *fixture,
             gconstpointer form)
{
  static const struct
  {
    const char *output;
    const char *errors;
    guint       over;
  } cases[] = {
    { "99999", "0", 0 },
    { "100000", "0", 0 },
    { "100001", "0", 1 },
    { "0", "100001", 1 },
    { "50000", "50000", 0 },
    { "50001", "50000", 1 },
    { "1", "99999", 0 },
  };
  g_autoptr (SandboxResult) endless = NULL;
  SandboxCommand *taken = NULL;

  g_test_summary ("Both streams come whole and apart, up to one bound that is exact to the byte");

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++)
    {
      guint    k = i / 2;
      gboolean truncates = i % 2 == 1;
      g_autoptr (SandboxResult) result = NULL;
      gsize output = atoi (cases[k].output);
      gsize errors = atoi (cases[k].errors);

      taken = command ("flood", cases[k].output, cases[k].errors, NULL);
      sandbox_command_set_max_output (taken, 100000);
      if (truncates)
        sandbox_command_set_output_limit_action (taken, SANDBOX_OUTPUT_LIMIT_ACTION_TRUNCATE);
      result = run (fixture, taken);
      g_assert_cmpint (sandbox_result_get_outcome (result), ==,
                       cases[k].over > 0 && !truncates ? SANDBOX_OUTCOME_OUTPUT_LIMIT : SANDBOX_OUTCOME_EXITED);
      g_assert_cmpint (sandbox_result_get_truncated (result), ==, cases[k].over > 0);
      g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (result)) + g_bytes_get_size (sandbox_result_get_stderr (result)),
                        ==, output + errors - cases[k].over);
      if (cases[k].over == 0 || truncates)
        g_assert_cmpuint (sandbox_result_get_omitted_bytes (result), ==, cases[k].over);
      if (cases[k].over == 0)
        g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (result)), ==, output);
    }

  taken = command ("yes", NULL);
  sandbox_command_set_max_output (taken, 65536);
  endless = run (fixture, taken);
  g_assert_cmpint (sandbox_result_get_outcome (endless), ==, SANDBOX_OUTCOME_OUTPUT_LIMIT);
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (endless)), ==, 65536);
}

static void
test_large (Fixture      *fixture,
            gconstpointer form)
{
  g_autoptr (GBytes) input = make_bytes (5 << 20);
  g_autoptr (SandboxResult) copied = NULL;
  g_autoptr (SandboxResult) unread = NULL;
  SandboxCommand *taken = command ("cat", NULL);

  g_test_summary ("Five megabytes go in and come out at once; input that is not read is no error");

  sandbox_command_set_stdin (taken, input);
  sandbox_command_set_max_output (taken, 6 << 20);
  copied = run (fixture, taken);
  g_assert_true (g_bytes_equal (sandbox_result_get_stdout (copied), input));

  taken = command ("echo", "ok", NULL);
  sandbox_command_set_stdin (taken, input);
  unread = run (fixture, taken);
  g_assert_cmpint (sandbox_result_get_exit_status (unread), ==, 0);
  test_assert_bytes (sandbox_result_get_stdout (unread), "ok\n");
}

static void
test_time (Fixture      *fixture,
           gconstpointer form)
{
  g_autoptr (SandboxResult) timed = NULL;
  g_autoptr (SandboxResult) left = NULL;
  SandboxCommand *taken = command ("hang", NULL);
  gint64          before = g_get_monotonic_time ();

  g_test_summary ("A command that takes too long is killed with all that it is; what it leaves behind keeps nobody");

  sandbox_command_set_timeout_ms (taken, 300);
  timed = run (fixture, taken);
  g_assert_cmpint (sandbox_result_get_outcome (timed), ==, SANDBOX_OUTCOME_TIMED_OUT);
  g_assert_cmpuint (sandbox_result_get_limit_value (timed), ==, 300);
  g_assert_cmpint (g_get_monotonic_time () - before, >=, 290000);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 10 * G_USEC_PER_SEC);

  before = g_get_monotonic_time ();
  left = run (fixture, command ("orphan", "hi", NULL));
  g_assert_cmpint (sandbox_result_get_outcome (left), ==, SANDBOX_OUTCOME_EXITED);
  test_assert_bytes (sandbox_result_get_stdout (left), "hi");
  g_assert_cmpint (g_get_monotonic_time () - before, <, 5 * G_USEC_PER_SEC);
}

static gpointer
cancel_thread (gpointer data)
{
  g_usleep (200000);
  g_cancellable_cancel (data);

  return NULL;
}

static void
test_run_cancelled (Fixture      *fixture,
                    gconstpointer form)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (SandboxCommand) hang = command ("hang", NULL);
  g_autoptr (GListModel) left = NULL;
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("cancel", cancel_thread, cancellable);
  gint64   before = g_get_monotonic_time ();

  g_test_summary ("A cancelled run is CANCELLED, soon, and its command is dead");

  assert_refused (call (fixture, sandbox_session_run, fixture->session, &error, hang, cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 10 * G_USEC_PER_SEC);
  g_thread_join (thread);
  left = sandbox_session_list_processes (fixture->session);
  g_assert_cmpuint (g_list_model_get_n_items (left), ==, 0);
}

/* ---- Processes */

static void
test_spawn (Fixture      *fixture,
            gconstpointer form)
{
  g_autoptr (SandboxProcess) process = spawn (fixture, driver->has_no_stdin_pipe ? command ("sleep", "500", NULL)
                                                                                 : command ("cat", NULL));
  g_autoptr (GListModel) listed = sandbox_session_list_processes (fixture->session);
  g_autoptr (SandboxProcess) first = g_list_model_get_item (listed, 0);
  g_autoptr (GListModel) left = NULL;
  g_autoptr (GError) error = NULL;
  char  buffer[16];
  gsize size = 0;

  g_test_summary ("A spawned command is listed, has its streams, and tells its end");

  g_assert_cmpuint (g_list_model_get_n_items (listed), ==, 1);
  g_assert_true (first == process);
  g_assert_cmpstr (sandbox_process_get_id (process), !=, "");
  g_assert_nonnull (sandbox_process_get_stderr (process));
  if (driver->has_no_stdin_pipe)
    g_assert_null (sandbox_process_get_stdin (process));
  else
    {
      g_assert_null (sandbox_process_get_result (process));
      assert_ok (g_output_stream_write_all (sandbox_process_get_stdin (process), "ping", 4, NULL, NULL, &error), error);
      g_assert_cmpint (g_input_stream_read (sandbox_process_get_stdout (process), buffer, sizeof buffer, NULL, &error), ==, 4);
      g_assert_cmpmem (buffer, 4, "ping", 4);
      assert_ok (g_output_stream_close (sandbox_process_get_stdin (process), NULL, &error), error);
    }
  assert_ok (g_input_stream_read_all (sandbox_process_get_stdout (process), buffer, sizeof buffer, &size, NULL, &error), error);
  g_assert_cmpuint (size, ==, 0);

  assert_ok (call (fixture, sandbox_process_wait, process, &error, NULL), error);
  assert_ok (call (fixture, sandbox_process_wait, process, &error, NULL), error);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpint (sandbox_result_get_exit_status (sandbox_process_get_result (process)), ==, 0);
  left = sandbox_session_list_processes (fixture->session);
  g_assert_cmpuint (g_list_model_get_n_items (left), ==, 0);
}

static void
test_communicate (Fixture      *fixture,
                  gconstpointer form)
{
  g_autoptr (GBytes) input = make_bytes (1 << 20);
  g_autoptr (SandboxProcess) cat = NULL;
  g_autoptr (SandboxProcess) nothing = NULL;
  g_autoptr (SandboxProcess) deaf = NULL;
  g_autoptr (SandboxResult) copied = NULL;
  g_autoptr (SandboxResult) empty = NULL;
  g_autoptr (SandboxResult) unread = NULL;
  g_autoptr (GError) error = NULL;
  SandboxCommand *taken = command ("cat", NULL);

  g_test_summary ("A command is fed, heard and waited for in one call");

  sandbox_command_set_max_output (taken, 2 << 20);
  cat = spawn (fixture, taken);
  if (driver->has_no_stdin_pipe)
    {
      assert_refused (call (fixture, sandbox_process_communicate, cat, &error, input, NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      copied = call (fixture, sandbox_process_communicate, cat, &error, NULL, NULL);
      g_assert_no_error (error);
      g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (copied)), ==, 0);
      return;
    }

  copied = call (fixture, sandbox_process_communicate, cat, &error, input, NULL);
  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (sandbox_result_get_stdout (copied), input));
  nothing = spawn (fixture, command ("cat", NULL));
  empty = call (fixture, sandbox_process_communicate, nothing, &error, NULL, NULL);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (sandbox_result_get_stdout (empty)), ==, 0);
  deaf = spawn (fixture, command ("sleep", "100", NULL));
  unread = call (fixture, sandbox_process_communicate, deaf, &error, input, NULL);
  g_assert_no_error (error);
  g_assert_cmpint (sandbox_result_get_exit_status (unread), ==, 0);
}

static void
test_signal (Fixture      *fixture,
             gconstpointer form)
{
  g_autoptr (SandboxProcess) termed = spawn (fixture, command ("sleep", NULL));
  g_autoptr (SandboxProcess) killed = spawn (fixture, command ("hang", NULL));
  g_autoptr (GError) error = NULL;

  g_test_summary ("Signals reach the command; a kill always does; what has ended is told so");

  assert_ok (sandbox_process_send_signal (termed, SIGTERM, &error), error);
  assert_ok (call (fixture, sandbox_process_wait, termed, &error, NULL), error);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (termed)), ==, SANDBOX_OUTCOME_SIGNALED);
  g_assert_cmpint (sandbox_result_get_signal (sandbox_process_get_result (termed)), ==, SIGTERM);
  assert_refused (sandbox_process_send_signal (termed, SIGTERM, &error), error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);

  assert_refused (sandbox_process_resize (killed, 30, 90, &error), error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED);
  assert_ok (sandbox_process_kill (killed, &error), error);
  assert_ok (call (fixture, sandbox_process_wait, killed, &error, NULL), error);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (killed)), ==, SANDBOX_OUTCOME_SIGNALED);
  g_assert_cmpint (sandbox_result_get_signal (sandbox_process_get_result (killed)), ==, SIGKILL);
  assert_ok (sandbox_process_kill (killed, &error), error);
}

static void
test_stop_process (Fixture      *fixture,
                   gconstpointer form)
{
  SandboxCommand *stubborn_command = command ("hang", NULL);
  g_autoptr (SandboxProcess) polite = spawn (fixture, command ("sleep", NULL));
  g_autoptr (SandboxProcess) stubborn = NULL;
  g_autoptr (GError) error = NULL;
  gint64 before = 0;

  g_test_summary ("A stop asks first and kills after the grace");

  assert_ok (call (fixture, sandbox_process_stop, polite, &error, NULL), error);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (polite)), ==, SANDBOX_OUTCOME_STOPPED);

  sandbox_command_set_kill_grace_ms (stubborn_command, 300);
  stubborn = spawn (fixture, stubborn_command);
  /* A program that has not come to ignoring TERM yet dies of it. */
  g_usleep (200000);
  before = g_get_monotonic_time ();
  assert_ok (call (fixture, sandbox_process_stop, stubborn, &error, NULL), error);
  g_assert_cmpint (g_get_monotonic_time () - before, >=, 290000);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 10 * G_USEC_PER_SEC);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (stubborn)), ==, SANDBOX_OUTCOME_STOPPED);
}

static void
test_wait_cancelled (Fixture      *fixture,
                     gconstpointer form)
{
  g_autoptr (SandboxProcess) process = spawn (fixture, command ("sleep", NULL));
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("cancel", cancel_thread, cancellable);

  g_test_summary ("A cancelled wait ends at once and leaves the command alone; a cancelled communicate ends it");

  assert_refused (call (fixture, sandbox_process_wait, process, &error, cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_null (sandbox_process_get_result (process));
  g_thread_join (thread);

  g_cancellable_reset (cancellable);
  thread = g_thread_new ("cancel", cancel_thread, cancellable);
  assert_refused (call (fixture, sandbox_process_communicate, process, &error, NULL, cancellable), error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_thread_join (thread);
  g_assert_nonnull (sandbox_process_get_result (process));
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_CANCELLED);
}

static void
test_both_forms (Fixture      *fixture,
                 gconstpointer form)
{
  g_autoptr (SandboxProcess) process = spawn (fixture, command ("sleep", "100", NULL));
  Fixture other = *fixture;
  g_autoptr (GError) error = NULL;

  g_test_summary ("What one form of a call has started, the other waits for");

  other.async = !fixture->async;
  assert_ok (call (&other, sandbox_process_wait, process, &error, NULL), error);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_EXITED);
}

static void
test_many (Fixture      *fixture,
           gconstpointer form)
{
  SandboxProcess *processes[3];
  g_autoptr (GError) error = NULL;

  g_test_summary ("As many commands live at once as there are places, and the next one the moment that one is gone");

  sandbox_backend_set_max_concurrent_commands (fixture->backend, G_N_ELEMENTS (processes));
  for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
    processes[i] = spawn (fixture, command ("sleep", NULL));
  assert_not_started (fixture, command ("echo", NULL), SANDBOX_ERROR_BUSY);
  assert_ok (call (fixture, sandbox_session_write_text, fixture->session, &error, "f", "files need no place", NULL), error);
  assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "f", NULL), error);

  assert_ok (sandbox_process_kill (processes[1], &error), error);
  assert_ok (call (fixture, sandbox_process_wait, processes[1], &error, NULL), error);
  assert_output (fixture, command ("echo", "next", NULL), "next\n");
  for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
    {
      assert_ok (sandbox_process_kill (processes[i], &error), error);
      assert_ok (call (fixture, sandbox_process_wait, processes[i], &error, NULL), error);
      g_object_unref (processes[i]);
    }
}

/* ---- Policies */

static void
test_policies (Fixture      *fixture,
               gconstpointer form)
{
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxNetworkPolicy) all = sandbox_network_policy_new_allow_all ();
  g_autoptr (SandboxNetworkPolicy) list = new_allow_list ();
  g_autoptr (SandboxProcess) process = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A policy is enforced or refused, and never changed below a live command");

  assert_ok (call (fixture, sandbox_session_set_network_policy, fixture->session, &error, deny, NULL), error);
  if (driver->refuses_allow_all)
    assert_refused (call (fixture, sandbox_session_set_network_policy, fixture->session, &error, all, NULL),
                    error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  else
    assert_ok (call (fixture, sandbox_session_set_network_policy, fixture->session, &error, all, NULL), error);
  assert_output (fixture, command ("echo", "still", NULL), "still\n");
  if (driver->refuses_allow_list)
    assert_refused (call (fixture, sandbox_session_set_network_policy, fixture->session, &error, list, NULL),
                    error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  else
    assert_ok (call (fixture, sandbox_session_set_network_policy, fixture->session, &error, list, NULL), error);
  assert_output (fixture, command ("echo", "alive", NULL), "alive\n");

  process = spawn (fixture, command ("sleep", NULL));
  assert_refused (call (fixture, sandbox_session_set_network_policy, fixture->session, &error, deny, NULL),
                  error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  assert_ok (sandbox_process_kill (process, &error), error);
  assert_ok (call (fixture, sandbox_process_wait, process, &error, NULL), error);
  assert_ok (call (fixture, sandbox_session_set_network_policy, fixture->session, &error, deny, NULL), error);
}

/* ---- Stopping */

static void
test_stop (Fixture      *fixture,
           gconstpointer form)
{
  g_autoptr (SandboxProcess) first = spawn (fixture, command ("sleep", NULL));
  g_autoptr (SandboxProcess) second = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (GError) error = NULL;
  SandboxCommand *taken = command ("hang", NULL);

  g_test_summary ("A stopped session has no commands and takes no calls; stopping it again is fine");

  sandbox_command_set_kill_grace_ms (taken, 100);
  second = spawn (fixture, taken);
  g_assert_cmpint (sandbox_handle_get_phase (fixture->handle), ==, SANDBOX_PHASE_LIVE);
  assert_ok (call (fixture, sandbox_handle_stop, fixture->handle, &error, NULL), error);
  g_assert_cmpint (sandbox_handle_get_phase (fixture->handle), ==, SANDBOX_PHASE_STOPPED);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (first)), ==, SANDBOX_OUTCOME_STOPPED);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (second)), ==, SANDBOX_OUTCOME_STOPPED);

  assert_refused (call (fixture, sandbox_session_write_bytes, fixture->session, &error, "f", bytes, NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  assert_refused (call (fixture, sandbox_session_read_bytes, fixture->session, &error, "f", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  assert_refused (call (fixture, sandbox_session_remove_path, fixture->session, &error, "f", NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  assert_refused (call (fixture, sandbox_session_set_network_policy, fixture->session, &error, deny, NULL), error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
  assert_not_started (fixture, command ("echo", NULL), SANDBOX_ERROR_STOPPED);
  assert_ok (call (fixture, sandbox_handle_stop, fixture->handle, &error, NULL), error);
  assert_ok (call (fixture, sandbox_handle_shutdown, fixture->handle, &error, NULL), error);
}

static void
test_shutdown (Fixture      *fixture,
               gconstpointer form)
{
  g_autoptr (SandboxProcess) process = spawn (fixture, command ("hang", NULL));
  g_autoptr (GError) error = NULL;

  g_test_summary ("A shutdown kills at once");

  assert_ok (call (fixture, sandbox_handle_shutdown, fixture->handle, &error, NULL), error);
  g_assert_cmpint (sandbox_result_get_outcome (sandbox_process_get_result (process)), ==, SANDBOX_OUTCOME_STOPPED);
}

static void
test_flat (Fixture      *fixture,
           gconstpointer form)
{
  guint descriptors = 0;
  guint threads = 0;
  guint count = driver->translate != NULL || g_getenv ("SANDBOX_TEST_VALGRIND") != NULL ? 24 : 150;

  g_test_summary ("Many calls of every kind leave no descriptor and no thread");

  for (guint i = 0; i < count; i++)
    {
      g_autoptr (SandboxProcess) process = spawn (fixture, command ("sleep", NULL));
      g_autoptr (GError) error = NULL;

      assert_output (fixture, command ("echo", "x", NULL), "x\n");
      assert_not_started (fixture, memory_command ("no-such-program", NULL), SANDBOX_ERROR_NOT_FOUND);
      assert_ok (call (fixture, sandbox_session_write_text, fixture->session, &error, "f", "x", NULL), error);
      g_free (call (fixture, sandbox_session_read_text, fixture->session, &error, "f", NULL));
      assert_ok (call (fixture, sandbox_session_remove_path, fixture->session, &error, "f", NULL), error);
      assert_ok (sandbox_process_kill (process, &error), error);
      assert_ok (call (fixture, sandbox_process_wait, process, &error, NULL), error);
      if (i == count / 3)
        {
          test_run_for (100);
          descriptors = test_count_descriptors ();
          threads = test_count_threads ();
        }
    }
  test_assert_descriptors (descriptors);
  test_wait (test_count_threads () <= threads + 1);
}

/* ---- The drivers */

static SandboxBackend *
new_memory (void)
{
  return SANDBOX_BACKEND (memory_backend_new ());
}

static SandboxBackend *
new_memory_push (void)
{
  MemoryBackend *backend = memory_backend_new ();

  memory_backend_set_pushes (backend, TRUE);

  return SANDBOX_BACKEND (backend);
}

static SandboxBackend *
new_memory_foreign (void)
{
  MemoryBackend *backend = memory_backend_new ();

  memory_backend_set_foreign (backend, TRUE);

  return SANDBOX_BACKEND (backend);
}

static SandboxBackend *
new_memory_later (void)
{
  MemoryBackend *backend = memory_backend_new ();

  memory_backend_set_answer (backend, MEMORY_ANSWER_IDLE);
  memory_backend_set_driver_answer (backend, MEMORY_ANSWER_IDLE);

  return SANDBOX_BACKEND (backend);
}

static SandboxBackend *
new_memory_threads (void)
{
  MemoryBackend *backend = memory_backend_new ();

  memory_backend_set_answer (backend, MEMORY_ANSWER_THREAD);
  memory_backend_set_driver_answer (backend, MEMORY_ANSWER_THREAD);

  return SANDBOX_BACKEND (backend);
}

/* The toys in the words of a POSIX system */
static char **
translate_to_posix (const char *const *argv)
{
  const char      *toy = argv[0];
  g_autofree char *script = NULL;

  if (g_str_equal (toy, "env"))
    {
      const char *const words[] = { "printenv", argv[1], NULL };

      return g_strdupv ((char **) words);
    }

  if (g_str_equal (toy, "exit"))
    script = g_strdup_printf ("exit %s", argv[1]);
  else if (g_str_equal (toy, "signal"))
    script = g_strdup_printf ("kill -%s $$", argv[1]);
  else if (g_str_equal (toy, "flood"))
    script = g_strdup_printf ("head -c %s /dev/zero >&2; head -c %s /dev/zero", argv[2], argv[1]);
  else if (g_str_equal (toy, "sleep"))
    script = g_strdup_printf ("exec sleep %.3f", argv[1] != NULL ? atoi (argv[1]) / 1000.0 : 1000.0);
  else if (g_str_equal (toy, "hang"))
    script = g_strdup ("trap '' TERM; while :; do sleep 1; done");
  else if (g_str_equal (toy, "orphan"))
    script = g_strdup_printf ("printf %%s %s; sleep 1000 &", argv[1]);
  else
    return g_strdupv ((char **) argv);

  {
    const char *const words[] = { "sh", "-c", script, NULL };

    return g_strdupv ((char **) words);
  }
}

static const Driver drivers[] = {
  {
      .name = "memory",
      .new_backend = new_memory,
      .refuses_allow_all = TRUE,
      .refuses_allow_list = TRUE,
      .refuses_limits = TRUE,
      .has_no_trees = TRUE,
      .least_grade = SANDBOX_GRADE_PARTIAL,
  },
  {
      .name = "memory-push",
      .new_backend = new_memory_push,
      .refuses_allow_all = TRUE,
      .refuses_allow_list = TRUE,
      .refuses_limits = TRUE,
      .has_no_trees = TRUE,
      .has_no_stdin_pipe = TRUE,
      .least_grade = SANDBOX_GRADE_PARTIAL,
  },
  {
      .name = "memory-foreign",
      .new_backend = new_memory_foreign,
      .refuses_allow_all = TRUE,
      .refuses_allow_list = TRUE,
      .refuses_limits = TRUE,
      .has_no_trees = TRUE,
      .least_grade = SANDBOX_GRADE_PARTIAL,
  },
  {
      .name = "memory-later",
      .new_backend = new_memory_later,
      .refuses_allow_all = TRUE,
      .refuses_allow_list = TRUE,
      .refuses_limits = TRUE,
      .has_no_trees = TRUE,
      .least_grade = SANDBOX_GRADE_PARTIAL,
  },
  {
      .name = "memory-threads",
      .new_backend = new_memory_threads,
      .refuses_allow_all = TRUE,
      .refuses_allow_list = TRUE,
      .refuses_limits = TRUE,
      .has_no_trees = TRUE,
      .least_grade = SANDBOX_GRADE_PARTIAL,
  },
  {
      .name = "stub",
      .has_no_sandboxes = TRUE,
      .refuses_plan = TRUE,
  },
  {
      .name = "bubblewrap",
      .translate = translate_to_posix,
      .needs_workspace = TRUE,
      .refuses_allow_list = !TEST_HAS_GATEWAY,
      .least_grade = SANDBOX_GRADE_FULL,
  },
  {
      .name = "bubblewrap-copy",
      .translate = translate_to_posix,
      .keeps = TRUE,
      .mode = SANDBOX_WORKSPACE_MODE_COPY,
      .refuses_allow_list = !TEST_HAS_GATEWAY,
      .least_grade = SANDBOX_GRADE_FULL,
  },
  {
      .name = "bubblewrap-reflink",
      .translate = translate_to_posix,
      .keeps = TRUE,
      .mode = SANDBOX_WORKSPACE_MODE_REFLINK,
      .refuses_allow_list = !TEST_HAS_GATEWAY,
      .least_grade = SANDBOX_GRADE_FULL,
  },
  {
      .name = "bubblewrap-overlay",
      .translate = translate_to_posix,
      .keeps = TRUE,
      .mode = SANDBOX_WORKSPACE_MODE_OVERLAY,
      .refuses_allow_list = !TEST_HAS_GATEWAY,
      .least_grade = SANDBOX_GRADE_FULL,
  },
};

static void
add (const char *name,
     void (*set_up) (Fixture *, gconstpointer),
     void (*test) (Fixture *, gconstpointer),
     void (*tear_down) (Fixture *, gconstpointer))
{
  static const char *const forms[] = { "sync", "async" };

  for (guint i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      g_autofree char *path = g_strdup_printf ("/%s/%s/%s", driver->name, name, forms[i]);

      g_test_add (path, Fixture, forms[i], set_up, test, tear_down);
    }
}

/* On a disk whose files can share their content, in mounts of this program's own. */
static int
run_on_disk (void)
{
  g_autofree char *top = g_dir_make_tmp ("sandbox-reflink-XXXXXX", NULL);
  g_autofree char *image = g_build_filename (top, "image", NULL);
  g_autofree char *disk = g_build_filename (top, "disk", NULL);
  int              status = 0;

  g_assert_cmpint (g_mkdir (disk, 0700), ==, 0);
  g_assert_cmpint (unshare (CLONE_NEWNS), ==, 0);
  g_assert_cmpint (mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL), ==, 0);
  g_assert_true (test_disk_mount_btrfs (image, disk));
  g_assert_cmpint (chmod (disk, 0700), ==, 0);
  state_directory = disk;
  status = g_test_run ();
  g_assert_cmpint (umount2 (disk, MNT_DETACH), ==, 0);
  g_assert_cmpint (g_unlink (image), ==, 0);
  g_assert_cmpint (g_rmdir (disk), ==, 0);
  g_assert_cmpint (g_rmdir (top), ==, 0);

  return status;
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (drivers) && argc == 2; i++)
    if (g_str_equal (drivers[i].name, argv[1]))
      driver = &drivers[i];
  if (driver == NULL)
    {
      g_printerr ("Usage: %s DRIVER, one of", argv[0]);
      for (guint i = 0; i < G_N_ELEMENTS (drivers); i++)
        g_printerr (" %s", drivers[i].name);
      g_printerr ("\n");
      return 2;
    }

  add ("probe", backend_set_up, test_probe, backend_tear_down);
  add ("probe-cancelled", backend_set_up, test_probe_cancelled, backend_tear_down);
  add ("plan", backend_set_up, test_plan, backend_tear_down);
  if (driver->has_no_sandboxes)
    {
      add ("create-refused", backend_set_up, test_create_refused, backend_tear_down);
      return g_test_run ();
    }

  add ("create-network", backend_set_up, test_create_network, backend_tear_down);
  add ("files", session_set_up, test_files, session_tear_down);
  add ("text", session_set_up, test_text, session_tear_down);
  add ("file-refusals", session_set_up, test_file_refusals, session_tear_down);
  add ("directories", session_set_up, test_directories, session_tear_down);
  add ("streams", session_set_up, test_streams, session_tear_down);
  add ("trees", session_set_up, test_trees, session_tear_down);
  add ("cancelled", session_set_up, test_files_cancelled, session_tear_down);
  add ("run", session_set_up, test_run, session_tear_down);
  add ("ends", session_set_up, test_ends, session_tear_down);
  add ("not-started", session_set_up, test_not_started, session_tear_down);
  add ("limits", session_set_up, test_limits, session_tear_down);
  add ("output", session_set_up, test_output, session_tear_down);
  add ("large", session_set_up, test_large, session_tear_down);
  add ("time", session_set_up, test_time, session_tear_down);
  add ("run-cancelled", session_set_up, test_run_cancelled, session_tear_down);
  add ("spawn", session_set_up, test_spawn, session_tear_down);
  add ("communicate", session_set_up, test_communicate, session_tear_down);
  add ("signal", session_set_up, test_signal, session_tear_down);
  add ("stop-process", session_set_up, test_stop_process, session_tear_down);
  add ("wait-cancelled", session_set_up, test_wait_cancelled, session_tear_down);
  add ("both-forms", session_set_up, test_both_forms, session_tear_down);
  add ("many", session_set_up, test_many, session_tear_down);
  add ("policies", session_set_up, test_policies, session_tear_down);
  add ("stop", session_set_up, test_stop, session_tear_down);
  add ("shutdown", session_set_up, test_shutdown, session_tear_down);
  add ("flat", session_set_up, test_flat, session_tear_down);

  return driver->mode == SANDBOX_WORKSPACE_MODE_REFLINK ? run_on_disk () : g_test_run ();
}
