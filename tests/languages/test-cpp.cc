/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A host and a driver in C++17: the headers compile there, and everything is of use. */

#include <sandbox-glib.h>

#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "memory-driver.h"
#include "pointer.h"

namespace
{

class Error
{
public:
  ~Error ()
  {
    g_clear_error (&error);
  }

  GError **
  operator& ()
  {
    g_clear_error (&error);
    return &error;
  }

  bool
  is (GQuark domain, int code) const
  {
    return g_error_matches (error, domain, code);
  }

  GError *error = nullptr;
};

::testing::AssertionResult
NoError (const Error &error)
{
  if (error.error == nullptr)
    return ::testing::AssertionSuccess ();

  return ::testing::AssertionFailure () << error.error->message;
}

std::string
text_of (GBytes *bytes)
{
  gsize       size = 0;
  const char *data = static_cast<const char *> (g_bytes_get_data (bytes, &size));

  return size > 0 ? std::string (data, size) : std::string ();
}

SandboxCommand *
new_command (std::vector<const char *> argv)
{
  argv.push_back (nullptr);

  return sandbox_command_new (argv.data ());
}

/* ---- A driver in C++: files in a map, a program that echoes */

struct CppProcess
{
  SandboxProcess parent_instance;
};

struct CppProcessClass
{
  SandboxProcessClass parent_class;
};

GType cpp_process_get_type ();
G_DEFINE_TYPE (CppProcess, cpp_process, SANDBOX_TYPE_PROCESS)

gboolean
cpp_process_kill (SandboxProcess *, GError **)
{
  return TRUE;
}

void
cpp_process_class_init (CppProcessClass *klass)
{
  klass->parent_class.kill = cpp_process_kill;
}

void
cpp_process_init (CppProcess *)
{
}

struct CppDriver
{
  GObject                             parent_instance;
  std::map<std::string, std::string> *files;
};

struct CppDriverClass
{
  GObjectClass parent_class;
};

gboolean
cpp_driver_read (SandboxDriver *driver, const char *path, guint64 offset, guint64 max, SandboxRequest *request, GError **error)
{
  auto *self = reinterpret_cast<CppDriver *> (driver);
  auto  found = self->files->find (path);

  if (found == self->files->end ())
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "%s: no such file", path);
      return FALSE;
    }

  auto            part = found->second.substr (std::min<guint64> (offset, found->second.size ()), max);
  Pointer<GBytes> bytes (g_bytes_new (part.data (), part.size ()));
  sandbox_request_return_bytes (request, bytes.get ());

  return TRUE;
}

gboolean
cpp_driver_write (SandboxDriver *driver, const char *path, GBytes *bytes, guint, SandboxWriteFlags flags, SandboxRequest *request, GError **)
{
  EXPECT_EQ (flags, SANDBOX_WRITE_FLAGS_PARENTS);
  (*reinterpret_cast<CppDriver *> (driver)->files)[path] = text_of (bytes);
  sandbox_request_return_done (request);

  return TRUE;
}

gboolean
cpp_driver_spawn (SandboxDriver *, SandboxCommand *command, SandboxRequest *request, GError **)
{
  Pointer<SandboxProcess> process (SANDBOX_PROCESS (g_object_new (cpp_process_get_type (), nullptr)));

  for (const char *const *word = sandbox_command_get_argv (command) + 1; *word != nullptr; word++)
    {
      Pointer<GBytes> bytes (g_bytes_new (*word, strlen (*word)));

      EXPECT_TRUE (sandbox_process_push_stdout (process.get (), bytes.get ()));
    }
  sandbox_process_set_exited (process.get (), 0, 0, 0, 0);
  sandbox_process_set_gone (process.get ());
  sandbox_request_return_object (request, G_OBJECT (process.get ()));

  return TRUE;
}

void
cpp_driver_iface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = TRUE;
  iface->read = cpp_driver_read;
  iface->write = cpp_driver_write;
  iface->spawn = cpp_driver_spawn;
}

GType cpp_driver_get_type ();
G_DEFINE_TYPE_WITH_CODE (CppDriver, cpp_driver, G_TYPE_OBJECT, G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, cpp_driver_iface_init))

void
cpp_driver_finalize (GObject *object)
{
  delete reinterpret_cast<CppDriver *> (object)->files;
  G_OBJECT_CLASS (cpp_driver_parent_class)->finalize (object);
}

void
cpp_driver_class_init (CppDriverClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = cpp_driver_finalize;
}

void
cpp_driver_init (CppDriver *self)
{
  self->files = new std::map<std::string, std::string>;
}

/* ---- A host, with a main context of its own for each test, and nothing left of it at the end */

class Host : public ::testing::Test
{
protected:
  void
  SetUp () override
  {
    context = g_main_context_new ();
    g_main_context_push_thread_default (context);
    backend.reset (SANDBOX_BACKEND (memory_backend_new ()));
    Pointer<SandboxCreateOptions> options (sandbox_create_options_new ());
    handle.reset (sandbox_backend_create (backend.get (), options.get (), nullptr, &error));
    ASSERT_TRUE (NoError (error));
    session = sandbox_handle_get_session (handle.get ());
    driver = memory_backend_get_driver (MEMORY_BACKEND (backend.get ()));
    g_object_add_weak_pointer (G_OBJECT (driver), reinterpret_cast<gpointer *> (&driver));
  }

  void
  TearDown () override
  {
    EXPECT_TRUE (sandbox_handle_shutdown (handle.get (), nullptr, &error));
    EXPECT_TRUE (NoError (error));
    handle.reset ();
    backend.reset ();
    EXPECT_TRUE (spin ([this] { return driver == nullptr; }));
    g_main_context_pop_thread_default (context);
    g_main_context_unref (context);
  }

  bool
  spin (const std::function<bool ()> &predicate)
  {
    auto end = std::chrono::steady_clock::now () + std::chrono::seconds (30);

    while (!predicate ())
      {
        if (std::chrono::steady_clock::now () > end)
          return false;
        if (!g_main_context_iteration (context, FALSE))
          std::this_thread::sleep_for (std::chrono::microseconds (200));
      }

    return true;
  }

  static void
  keep_cb (GObject *, GAsyncResult *result, gpointer user_data)
  {
    static_cast<Pointer<GAsyncResult> *> (user_data)->reset (G_ASYNC_RESULT (g_object_ref (result)));
  }

  GMainContext           *context = nullptr;
  Pointer<SandboxBackend> backend;
  Pointer<SandboxHandle>  handle;
  SandboxSession         *session = nullptr;
  MemoryDriver           *driver = nullptr;
  Error                   error;
};

TEST_F (Host, Files)
{
  Pointer<GBytes> bytes (g_bytes_new_static ("a\0b\377", 4));

  ASSERT_TRUE (sandbox_session_write_bytes (session, "dir/file", bytes.get (), nullptr, &error));
  Pointer<GBytes> read (sandbox_session_read_bytes (session, "dir/file", nullptr, &error));
  ASSERT_TRUE (NoError (error));
  EXPECT_TRUE (g_bytes_equal (read.get (), bytes.get ()));
  EXPECT_EQ (sandbox_session_read_text (session, "dir/file", nullptr, &error), nullptr);
  EXPECT_TRUE (error.is (SANDBOX_ERROR, SANDBOX_ERROR_INVALID));
  EXPECT_EQ (sandbox_session_read_text (session, "../x", nullptr, &error), nullptr);
  EXPECT_TRUE (error.is (SANDBOX_ERROR, SANDBOX_ERROR_PATH));
}

TEST_F (Host, Run)
{
  Pointer<SandboxCommand> command (new_command ({ "echo", "hello" }));
  Pointer<SandboxResult>  result (sandbox_session_run (session, command.get (), nullptr, &error));

  ASSERT_TRUE (NoError (error));
  EXPECT_EQ (text_of (sandbox_result_get_stdout (result.get ())), "hello\n");
  Pointer<char> text (sandbox_result_dup_stdout_text (result.get ()));
  EXPECT_STREQ (text.get (), "hello\n");
  EXPECT_TRUE (sandbox_result_check (result.get (), &error));
}

TEST_F (Host, RunAsynchronously)
{
  Pointer<SandboxCommand> command (new_command ({ "exit", "3" }));
  Pointer<GAsyncResult>   answer;

  sandbox_session_run_async (session, command.get (), nullptr, keep_cb, &answer);
  ASSERT_EQ (answer, nullptr);
  ASSERT_TRUE (spin ([&] { return answer != nullptr; }));
  Pointer<SandboxResult> result (sandbox_session_run_finish (session, answer.get (), &error));
  ASSERT_TRUE (NoError (error));
  EXPECT_EQ (sandbox_result_get_outcome (result.get ()), SANDBOX_OUTCOME_EXITED);
  EXPECT_EQ (sandbox_result_get_exit_status (result.get ()), 3);
  EXPECT_FALSE (sandbox_result_check (result.get (), &error));
  EXPECT_TRUE (error.is (SANDBOX_ERROR, SANDBOX_ERROR_FAILED));
}

TEST_F (Host, Cancel)
{
  Pointer<SandboxCommand> command (new_command ({ "hang" }));
  Pointer<GCancellable>   cancellable (g_cancellable_new ());
  std::thread             thread ([&] {
    std::this_thread::sleep_for (std::chrono::milliseconds (50));
    g_cancellable_cancel (cancellable.get ());
  });

  EXPECT_EQ (sandbox_session_run (session, command.get (), cancellable.get (), &error), nullptr);
  EXPECT_TRUE (error.is (G_IO_ERROR, G_IO_ERROR_CANCELLED));
  thread.join ();
  EXPECT_TRUE (spin ([this] { return memory_driver_count_live (driver) == 0; }));
}

TEST_F (Host, Process)
{
  Pointer<SandboxCommand> command (new_command ({ "cat" }));
  Pointer<SandboxProcess> process (sandbox_session_spawn (session, command.get (), nullptr, &error));
  Pointer<GBytes>         input (g_bytes_new_static ("fed", 3));

  ASSERT_TRUE (NoError (error));
  Pointer<GListModel> listed (sandbox_session_list_processes (session));
  EXPECT_EQ (g_list_model_get_n_items (listed.get ()), 1u);
  Pointer<SandboxResult> result (sandbox_process_communicate (process.get (), input.get (), nullptr, &error));
  ASSERT_TRUE (NoError (error));
  EXPECT_EQ (text_of (sandbox_result_get_stdout (result.get ())), "fed");
  EXPECT_TRUE (sandbox_process_wait (process.get (), nullptr, &error));
}

TEST_F (Host, Enumerations)
{
  auto *outcomes = static_cast<GEnumClass *> (g_type_class_ref (SANDBOX_TYPE_OUTCOME));

  EXPECT_STREQ (g_enum_get_value (outcomes, SANDBOX_OUTCOME_TIMED_OUT)->value_nick, "timed-out");
  g_type_class_unref (outcomes);
}

using HostDeathTest = Host;

TEST_F (HostDeathTest, Misuse)
{
  EXPECT_DEATH (sandbox_session_read_bytes (session, nullptr, nullptr, nullptr), "path != NULL");
}

TEST (OwnDriver, FilesAndCommands)
{
  Error                   error;
  Pointer<SandboxDriver>  driver (SANDBOX_DRIVER (g_object_new (cpp_driver_get_type (), nullptr)));
  Pointer<SandboxSession> session (sandbox_session_new_for_driver (driver.get (), &error));
  Pointer<SandboxCommand> command (new_command ({ "say", "one", "two" }));

  ASSERT_TRUE (NoError (error));
  EXPECT_TRUE (sandbox_session_write_text (session.get (), "file", "text", nullptr, &error));
  Pointer<char> text (sandbox_session_read_text (session.get (), "/workspace/file", nullptr, &error));
  EXPECT_STREQ (text.get (), "text");
  EXPECT_EQ (sandbox_session_read_text (session.get (), "other", nullptr, &error), nullptr);
  EXPECT_TRUE (error.is (SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND));
  Pointer<SandboxResult> result (sandbox_session_run (session.get (), command.get (), nullptr, &error));
  ASSERT_TRUE (NoError (error));
  EXPECT_EQ (text_of (sandbox_result_get_stdout (result.get ())), "onetwo");
  EXPECT_FALSE (sandbox_session_remove_path (session.get (), "file", nullptr, &error));
  EXPECT_TRUE (error.is (SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED));
}

} // namespace

int
main (int argc, char **argv)
{
  ::testing::InitGoogleTest (&argc, argv);
  /* The library has threads, which a plain fork would lose. */
  GTEST_FLAG_SET (death_test_style, "threadsafe");
  g_log_set_always_fatal (static_cast<GLogLevelFlags> (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING | G_LOG_FATAL_MASK));

  return RUN_ALL_TESTS ();
}
