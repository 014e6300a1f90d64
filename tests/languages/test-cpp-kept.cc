/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions that last, as a host in C++17 sees them, over bubblewrap. */

#include <sandbox-glib.h>

#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "pointer.h"

namespace
{

/* What a call gave, which must be something */
template <typename T>
T *
given (T *value, GError *error)
{
  EXPECT_EQ (error, nullptr) << error->message;
  g_clear_error (&error);

  return value;
}

void
answered_cb (GObject *, GAsyncResult *result, gpointer user_data)
{
  *static_cast<GAsyncResult **> (user_data) = static_cast<GAsyncResult *> (g_object_ref (result));
}

/* Waits for the answer of the other form of a call. */
template <typename Start>
Pointer<GAsyncResult>
answer (Start start)
{
  GAsyncResult *result = nullptr;

  start (answered_cb, &result);
  while (result == nullptr)
    g_main_context_iteration (nullptr, TRUE);

  return Pointer<GAsyncResult> (result);
}

class Kept : public ::testing::Test
{
protected:
  void
  SetUp () override
  {
    char *made = g_dir_make_tmp ("cpp-XXXXXX", nullptr);

    folder = made;
    g_free (made);
  }

  void
  TearDown () override
  {
    std::filesystem::remove_all (folder);
  }

  Pointer<SandboxBackend>
  new_backend ()
  {
    Pointer<SandboxRegistry> registry (sandbox_registry_new ());
    GError                  *error = nullptr;
    SandboxBackend          *backend = sandbox_registry_create_backend (registry.get (), "bubblewrap", (folder + "/state").c_str (), &error);

    return Pointer<SandboxBackend> (given (backend, error));
  }

  std::string folder;
};

TEST_F (Kept, Sync)
{
  GError                       *error = nullptr;
  Pointer<SandboxBackend>       backend = new_backend ();
  Pointer<SandboxFileSet>       files (sandbox_file_set_new ());
  Pointer<GBytes>               bytes (g_bytes_new_static ("bytes", 5));
  Pointer<SandboxCreateOptions> options (sandbox_create_options_new ());
  Pointer<SandboxCreateOptions> again (sandbox_create_options_new ());

  sandbox_file_set_add (files.get (), "f", bytes.get ());
  Pointer<SandboxTemplate> made (sandbox_backend_prewarm (backend.get (), "kit", files.get (), nullptr, &error));
  ASSERT_NE (made, nullptr) << error->message;
  EXPECT_FALSE (sandbox_template_get_reused (made.get ()));

  sandbox_create_options_set_template_key (options.get (), sandbox_template_get_key (made.get ()));
  Pointer<SandboxHandle> handle (sandbox_backend_create (backend.get (), options.get (), nullptr, &error));
  ASSERT_NE (handle, nullptr) << error->message;
  Pointer<SandboxState> captured (sandbox_handle_capture_state (handle.get (), &error));
  Pointer<char>         text (sandbox_state_to_json (captured.get ()));
  EXPECT_TRUE (sandbox_session_write_text (sandbox_handle_get_session (handle.get ()), "g", "kept", nullptr, nullptr));
  EXPECT_TRUE (sandbox_handle_stop (handle.get (), nullptr, nullptr));

  backend = new_backend ();
  Pointer<SandboxState> state (sandbox_state_new_from_json (text.get (), &error));
  ASSERT_NE (state, nullptr) << error->message;
  Pointer<GListModel> listed (sandbox_backend_list_sessions (backend.get (), nullptr, &error));
  ASSERT_NE (listed, nullptr) << error->message;
  EXPECT_EQ (g_list_model_get_n_items (listed.get ()), 1U);
  sandbox_create_options_set_state (again.get (), state.get ());
  handle.reset (sandbox_backend_create (backend.get (), again.get (), nullptr, &error));
  ASSERT_NE (handle, nullptr) << error->message;
  Pointer<char> read (sandbox_session_read_text (sandbox_handle_get_session (handle.get ()), "g", nullptr, nullptr));
  EXPECT_STREQ (read.get (), "kept");
  EXPECT_TRUE (sandbox_handle_delete (handle.get (), nullptr, nullptr));
  EXPECT_EQ (sandbox_handle_get_phase (handle.get ()), SANDBOX_PHASE_DELETED);
  EXPECT_TRUE (sandbox_backend_delete_template (backend.get (), sandbox_template_get_key (made.get ()), nullptr, nullptr));
}

TEST_F (Kept, Async)
{
  Pointer<SandboxBackend>       backend = new_backend ();
  Pointer<SandboxCreateOptions> options (sandbox_create_options_new ());

  auto                     result = answer ([&] (auto callback, auto data) { sandbox_backend_prewarm_async (backend.get (), "kit", nullptr, nullptr, callback, data); });
  Pointer<SandboxTemplate> made (sandbox_backend_prewarm_finish (backend.get (), result.get (), nullptr));
  ASSERT_NE (made, nullptr);
  sandbox_create_options_set_template_key (options.get (), sandbox_template_get_key (made.get ()));
  result = answer ([&] (auto callback, auto data) { sandbox_backend_create_async (backend.get (), options.get (), nullptr, callback, data); });
  Pointer<SandboxHandle> handle (sandbox_backend_create_finish (backend.get (), result.get (), nullptr));
  ASSERT_NE (handle, nullptr);
  Pointer<SandboxState> state (sandbox_handle_capture_state (handle.get (), nullptr));
  result = answer ([&] (auto callback, auto data) { sandbox_handle_stop_async (handle.get (), nullptr, callback, data); });
  EXPECT_TRUE (sandbox_handle_stop_finish (handle.get (), result.get (), nullptr));
  result = answer ([&] (auto callback, auto data) { sandbox_backend_list_sessions_async (backend.get (), nullptr, callback, data); });
  Pointer<GListModel> listed (sandbox_backend_list_sessions_finish (backend.get (), result.get (), nullptr));
  EXPECT_EQ (g_list_model_get_n_items (listed.get ()), 1U);
  result = answer ([&] (auto callback, auto data) { sandbox_backend_delete_session_async (backend.get (), state.get (), nullptr, callback, data); });
  EXPECT_TRUE (sandbox_backend_delete_session_finish (backend.get (), result.get (), nullptr));
  result = answer ([&] (auto callback, auto data) { sandbox_handle_delete_async (handle.get (), nullptr, callback, data); });
  EXPECT_TRUE (sandbox_handle_delete_finish (handle.get (), result.get (), nullptr));
  result = answer ([&] (auto callback, auto data) { sandbox_backend_delete_template_async (backend.get (), sandbox_template_get_key (made.get ()), nullptr, callback, data); });
  EXPECT_TRUE (sandbox_backend_delete_template_finish (backend.get (), result.get (), nullptr));
  result = answer ([&] (auto callback, auto data) { sandbox_backend_list_templates_async (backend.get (), nullptr, callback, data); });
  listed.reset (sandbox_backend_list_templates_finish (backend.get (), result.get (), nullptr));
  EXPECT_EQ (g_list_model_get_n_items (listed.get ()), 0U);
}

} // namespace

int
main (int argc, char **argv)
{
  ::testing::InitGoogleTest (&argc, argv);

  return RUN_ALL_TESTS ();
}
