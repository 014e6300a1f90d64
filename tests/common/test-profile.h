/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions of profiles, in real sandboxes. */
#pragma once

#include "test-sandbox.h"

static inline SandboxHandle *
test_create_for (TestSandbox    *self,
                 SandboxProfile *profile,
                 GError        **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();

  sandbox_create_options_set_workspace_path (options, self->workspace);
  sandbox_create_options_set_profile (options, profile);
  sandbox_create_options_set_isolation (options, TEST_ISOLATION);

  return sandbox_backend_create (self->backend, options, NULL, error);
}

/* Sets the session of @self up anew. */
static inline void
test_use_profile (TestSandbox    *self,
                  SandboxProfile *profile)
{
  g_autoptr (GError) error = NULL;

  if (self->handle != NULL)
    sandbox_handle_shutdown (self->handle, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&self->handle);
  self->handle = test_create_for (self, profile, &error);
  g_assert_no_error (error);
  self->session = sandbox_handle_get_session (self->handle);
}

static inline void
test_profile_set_up (TestSandbox  *self,
                     gconstpointer unused)
{
  self->workspace = test_make_workspace ();
  self->registry = sandbox_registry_new ();
  self->backend = test_new_backend (self->registry);
}

static inline void
test_profile_tear_down (TestSandbox  *self,
                        gconstpointer unused)
{
  if (self->handle != NULL)
    test_sandbox_tear_down (self, NULL);
  else
    {
      g_clear_object (&self->backend);
      g_clear_object (&self->registry);
      test_remove_tree (self->workspace);
      g_clear_pointer (&self->workspace, g_free);
    }
}

static inline void
test_add_mount (SandboxProfile  *profile,
                const char      *source,
                const char      *target,
                SandboxMountMode mode)
{
  g_autoptr (SandboxMount) mount = sandbox_mount_new (source, target, mode);

  sandbox_profile_add_mount (profile, mount);
}

static inline void
test_assert_sh (TestSandbox *self,
                const char  *script,
                const char  *output)
{
  g_autofree char *text = test_sh (self, script);

  g_assert_cmpstr (text, ==, output);
}

static inline void
test_assert_refused (TestSandbox    *self,
                     SandboxProfile *profile,
                     int             code,
                     const char     *words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxHandle) handle = test_create_for (self, profile, &error);

  g_assert_null (handle);
  g_assert_error (error, SANDBOX_ERROR, code);
  if (strstr (error->message, words) == NULL)
    g_error ("“%s” does not say “%s”", error->message, words);
}
