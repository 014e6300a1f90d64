/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The first line is an origin, each further line a header: its name, a colon, its value. What is taken
 * is canonical, and what is refused has changed nothing. */

#include <gio/gio.h>
#include <stdint.h>
#include <string.h>

#include "sandbox-error.h"
#include "sandbox-network-policy-private.h"
#include "sandbox-origin-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data,
                            size_t         size);

static void
check_origin (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *canonical = NULL;
  g_autofree char *again = NULL;
  SandboxOrigin    origin;
  SandboxOrigin    twin;

  if (!sandbox_origin_parse (text, &origin, &error))
    {
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      return;
    }

  g_assert_no_error (error);
  g_assert_cmpuint (origin.port, !=, 0);
  g_assert_cmpuint (strlen (origin.host), >, 0);
  g_assert_null (strpbrk (origin.host, "/?#@\\%* ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
  g_assert_true (g_str_is_ascii (origin.host));

  canonical = sandbox_origin_to_string (&origin);
  g_assert_true (sandbox_origin_parse (canonical, &twin, NULL));
  g_assert_true (origin.tls == twin.tls && origin.loopback == twin.loopback);
  g_assert_cmpuint (origin.port, ==, twin.port);
  g_assert_cmpstr (origin.host, ==, twin.host);
  again = sandbox_origin_to_string (&twin);
  g_assert_cmpstr (canonical, ==, again);
}

/* Lines from @lines on as headers; what GVariant cannot hold is left out. */
static GVariant *
read_headers (char **lines)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (lines[i], ":", 2);

      if (g_strv_length (parts) == 2 && g_utf8_validate (parts[0], -1, NULL) &&
          g_utf8_validate (parts[1], -1, NULL))
        g_variant_builder_add (&builder, "{ss}", parts[0], parts[1]);
    }

  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static void
check_policy (const char *text,
              char      **lines)
{
  g_autoptr (GVariant) headers = read_headers (lines);
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxNetworkPolicy) before = NULL;
  g_autoptr (SandboxNetworkPolicy) after = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) origins = NULL;

  g_assert_true (sandbox_network_policy_add_origin (policy, "https://kept.example", NULL, NULL));
  before = sandbox_network_policy_freeze (policy);

  if (!sandbox_network_policy_add_origin (policy, text, headers, &error))
    {
      g_assert_true (error->domain == SANDBOX_ERROR);
      g_assert_true (sandbox_network_policy_equal (policy, before));
      return;
    }

  g_assert_no_error (error);
  g_assert_false (sandbox_network_policy_equal (policy, before));
  after = sandbox_network_policy_freeze (policy);
  g_assert_true (sandbox_network_policy_equal (policy, after));

  origins = sandbox_network_policy_dup_origins (policy);
  g_assert_cmpuint (g_strv_length (origins), ==, 2);

  /* The same again, and its canonical form, are the same host. */
  g_assert_false (sandbox_network_policy_add_origin (policy, text, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);
  g_clear_error (&error);
  g_assert_false (sandbox_network_policy_add_origin (policy, origins[1], NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  /* Of empty input there is no first line. */
  if (lines[0] == NULL)
    {
      check_origin ("");
      return 0;
    }

  check_origin (lines[0]);
  check_policy (lines[0], lines + 1);

  return 0;
}
