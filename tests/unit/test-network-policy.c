/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-error.h"
#include "sandbox-network-policy-private.h"
#include "sandbox-origin-private.h"
#include "sandbox-paths-private.h"
#include "value-checks.h"

/* A trust store that trusts nobody, for the property that holds one. */
#define TEST_TYPE_DATABASE (test_database_get_type ())
G_DECLARE_FINAL_TYPE (TestDatabase, test_database, TEST, DATABASE, GTlsDatabase)

struct _TestDatabase
{
  GTlsDatabase parent_instance;
};

G_DEFINE_FINAL_TYPE (TestDatabase, test_database, G_TYPE_TLS_DATABASE)

static void
test_database_class_init (TestDatabaseClass *klass)
{
}

static void
test_database_init (TestDatabase *self)
{
}

static void
assert_origins (SandboxNetworkPolicy *policy,
                const char           *wanted)
{
  g_auto (GStrv) origins = sandbox_network_policy_dup_origins (policy);
  g_autofree char *found = g_strjoinv (" ", origins);

  g_assert_cmpstr (found, ==, wanted);
}

/* Adds and checks that all is well. */
static void
add (SandboxNetworkPolicy *policy,
     const char           *origin,
     GVariant             *headers)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (sandbox_network_policy_add_origin (policy, origin, headers, &error));
  g_assert_no_error (error);
}

/* Adds and checks that it is refused with @code, and that the policy is what it was before. */
static void
refuse (SandboxNetworkPolicy *policy,
        const char           *origin,
        GVariant             *headers,
        int                   code)
{
  g_autoptr (SandboxNetworkPolicy) before = sandbox_network_policy_freeze (policy);
  g_autoptr (GVariant) taken = headers != NULL ? g_variant_ref_sink (headers) : NULL;
  g_autofree char *shown = g_strescape (origin, NULL);
  g_autoptr (GError) error = NULL;

  g_test_message ("%.200s", shown);
  g_assert_false (sandbox_network_policy_add_origin (policy, origin, taken, &error));
  g_assert_error (error, SANDBOX_ERROR, code);
  g_assert_true (sandbox_network_policy_equal (policy, before));
  g_assert_false (sandbox_network_policy_add_origin (policy, origin, taken, NULL));
  g_assert_true (sandbox_network_policy_equal (policy, before));
}

static void
test_modes (void)
{
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (SandboxNetworkPolicy) allow = sandbox_network_policy_new_allow_all ();
  g_autoptr (SandboxNetworkPolicy) list = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxNetworkPolicy) bare = g_object_new (SANDBOX_TYPE_NETWORK_POLICY, NULL);

  g_test_summary ("Three modes; what nobody chose denies; only a list has origins");

  g_assert_cmpint (sandbox_network_policy_get_mode (deny), ==, SANDBOX_NETWORK_MODE_DENY_ALL);
  g_assert_cmpint (sandbox_network_policy_get_mode (allow), ==, SANDBOX_NETWORK_MODE_ALLOW_ALL);
  g_assert_cmpint (sandbox_network_policy_get_mode (list), ==, SANDBOX_NETWORK_MODE_ALLOW_LIST);
  g_assert_cmpint (sandbox_network_policy_get_mode (bare), ==, SANDBOX_NETWORK_MODE_DENY_ALL);

  refuse (deny, "https://example.com", NULL, SANDBOX_ERROR_INVALID);
  refuse (allow, "https://example.com", NULL, SANDBOX_ERROR_INVALID);
  assert_origins (deny, "");
  assert_origins (list, "");
}

static void
test_defaults (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_deny_all ();

  g_test_summary ("A new policy has the documented limits");

  value_checks_defaults (G_OBJECT (policy));
  g_assert_cmpuint (sandbox_network_policy_get_max_request_bytes (policy), ==, 1048576);
  g_assert_cmpuint (sandbox_network_policy_get_max_response_bytes (policy), ==, 1048576);
  g_assert_cmpuint (sandbox_network_policy_get_max_requests (policy), ==, 16);
  g_assert_cmpuint (sandbox_network_policy_get_timeout_ms (policy), ==, 30000);
}

static void
test_round_trip (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (GObject) database = g_object_new (TEST_TYPE_DATABASE, NULL);

  g_test_summary ("Each property is read as it was set and notified once");

  value_checks_round_trip (G_OBJECT (policy), database);
}

static void
test_range (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("A number out of its range is a critical and ignored");

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*max_requests*");
  sandbox_network_policy_set_max_requests (policy, 0);
  g_test_assert_expected_messages ();
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*max_requests*");
  sandbox_network_policy_set_max_requests (policy, 1025);
  g_test_assert_expected_messages ();
  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*timeout_ms*");
  sandbox_network_policy_set_timeout_ms (policy, 0);
  g_test_assert_expected_messages ();

  g_assert_cmpuint (sandbox_network_policy_get_max_requests (policy), ==, 16);
  g_assert_cmpuint (sandbox_network_policy_get_timeout_ms (policy), ==, 30000);
}

static void
test_origins (void)
{
  static const struct
  {
    const char *text;
    const char *canonical;
    gboolean    loopback;
  } rows[] = {
    { "https://example.com", "https://example.com" },
    { "http://example.com", "http://example.com" },
    { "https://EXAMPLE.Com", "https://example.com" },
    { "https://example.com:443", "https://example.com" },
    { "http://example.com:80", "http://example.com" },
    { "http://example.com:443", "http://example.com:443" },
    { "https://example.com:80", "https://example.com:80" },
    { "https://example.com:1", "https://example.com:1" },
    { "https://example.com:65535", "https://example.com:65535" },
    { "https://localhost", "https://localhost" },
    { "https://a-b.c1.x", "https://a-b.c1.x" },
    { "https://1.example", "https://1.example" },
    { "https://7zip.org", "https://7zip.org" },
    { "https://0xcafe.org", "https://0xcafe.org" },
    { "https://example.0xz", "https://example.0xz" },
    { "https://xn--bcher-kva.example", "https://xn--bcher-kva.example" },
    { "http://127.0.0.1", "http://127.0.0.1", TRUE },
    { "http://127.255.0.9:8080", "http://127.255.0.9:8080", TRUE },
    { "http://10.0.0.1", "http://10.0.0.1" },
    { "http://255.255.255.255", "http://255.255.255.255" },
    { "http://[::1]", "http://[::1]", TRUE },
    { "http://[::1]:80", "http://[::1]", TRUE },
    { "https://[2001:DB8:0:0:0:0:0:1]:8443", "https://[2001:db8::1]:8443" },
    { "https://[2001:db8::0.0.0.1]", "https://[2001:db8::1]" },
    { "https://[fe80::1]", "https://[fe80::1]" },
  };

  g_test_summary ("Behaviour 35: an origin is scheme, host and port, kept in one canonical form");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
      g_autoptr (GError) error = NULL;
      SandboxOrigin origin;

      g_test_message ("%s", rows[i].text);
      add (policy, rows[i].text, NULL);
      assert_origins (policy, rows[i].canonical);

      g_assert_true (sandbox_origin_parse (rows[i].text, &origin, &error));
      g_assert_no_error (error);
      g_assert_true (origin.loopback == rows[i].loopback);
    }
}

static void
test_origins_refused (void)
{
  static const char *const rows[] = {
    "",
    "example.com",
    "//example.com",
    "https:",
    "https:/example.com",
    "https://",
    "HTTPS://example.com",
    " https://example.com",
    "https://example.com ",
    "https://exam ple.com",
    "https://example.com\n",
    "https://example.com\x7f",
    /* another scheme */
    "ftp://example.com",
    "ws://example.com",
    "file:///etc/passwd",
    "httpss://example.com",
    /* more than an origin */
    "https://user@example.com",
    "https://user:password@example.com",
    "https://@example.com",
    "https://example.com/",
    "https://example.com/path",
    "https://example.com?query",
    "https://example.com#fragment",
    "https://example.com\\@other.example",
    "https://example.com:443/",
    /* names */
    "https://.example.com",
    "https://example..com",
    "https://example.com.",
    "https://example.com..",
    "https://.",
    "https://-example.com",
    "https://example-.com",
    "https://exa_mple.com",
    "https://*.example.com",
    "https://*",
    "https://ex%61mple.com",
    "https://z\xc3\xbcrich.example",
    "https://\xef\xbd\x85xample.com",
    "https://example.com\xe3\x80\x82",
    "https://a123456789012345678901234567890123456789012345678901234567890123.com",
    /* ports */
    "https://example.com:",
    "https://example.com:0",
    "https://example.com:00443",
    "https://example.com:0443",
    "https://example.com:65536",
    "https://example.com:99999999999999999999",
    "https://example.com:+443",
    "https://example.com:-1",
    "https://example.com:44a",
    "https://example.com:443:443",
    "https://:443",
    /* numbers that a resolver takes for an address */
    "http://127.1",
    "http://2130706433",
    "http://0x7f000001",
    "http://0X7F.0.0.1",
    "http://127.0.0.0x1",
    "http://0177.0.0.1",
    "http://127.0.0.01",
    "http://127.0.0.256",
    "http://1.2.3.4.5",
    "http://127.0.0.1.",
    "http://example.1",
    "http://0x",
    "http://0.0.0.0",
    "http://0.1.2.3",
    /* IPv6 */
    "http://[",
    "http://[]",
    "http://[::1",
    "http://::1",
    "http://[::1]x",
    "http://[::1]:",
    "http://[::1]]",
    "http://[::1%25lo]",
    "http://[fe80::1%eth0]",
    "http://[::]",
    "http://[::ffff:127.0.0.1]",
    "http://[::ffff:7f00:1]",
    "http://[::127.0.0.1]",
    "http://[127.0.0.1]",
    "http://[1:2:3:4:5:6:7:8:9]",
    "http://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]",
  };
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("Behaviour 35, cases 116 and 139: everything else is refused and changes nothing");

  add (policy, "https://kept.example", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    refuse (policy, rows[i], NULL, SANDBOX_ERROR_INVALID);
  assert_origins (policy, "https://kept.example");
}

static void
test_origin_length (void)
{
  g_autoptr (GString) name = g_string_new ("https://");
  g_autofree char *long_text = g_strnfill (100000, 'a');
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("A host name of 253 characters with parts of 63 is the longest");

  for (guint i = 0; i < 3; i++)
    g_string_append (name, "a12345678901234567890123456789012345678901234567890123456789012.");
  g_string_append (name, "a123456789012345678901234567890123456789012345678901234567890");
  g_assert_cmpuint (name->len, ==, strlen ("https://") + 253);
  add (policy, name->str, NULL);
  assert_origins (policy, name->str);

  g_string_append (name, "1");
  refuse (policy, name->str, NULL, SANDBOX_ERROR_INVALID);
  refuse (policy, long_text, NULL, SANDBOX_ERROR_INVALID);
}

static void
test_origin_messages (void)
{
  static const char *const secret[] = {
    "https://user:hunter2@example.com",
    "https://example.com?token=hunter2",
    "https://example.com#hunter2",
    "https://example.com/hunter2",
    "hunter2",
  };
  SandboxOrigin origin = { .port = 42 };
  g_autoptr (GError) error = NULL;

  g_test_summary ("A message says what is wrong and repeats nothing that may be secret");

  for (guint i = 0; i < G_N_ELEMENTS (secret); i++)
    {
      g_assert_false (sandbox_origin_parse (secret[i], &origin, &error));
      g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID);
      g_assert_true (g_str_has_prefix (error->message, "The origin "));
      g_assert_null (strstr (error->message, "hunter2"));
      g_clear_error (&error);
    }

  g_assert_cmpuint (origin.port, ==, 42);
}

static void
test_one_origin_per_host (void)
{
  static const char *const rows[] = {
    "https://example.com",
    "http://example.com",
    "https://example.com:8443",
    "https://EXAMPLE.com",
    "https://[2001:db8:0::1]",
    "http://127.0.0.1:1",
  };
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("Case 139: a host has one origin, whatever its scheme, port or spelling");

  add (policy, "https://example.com", NULL);
  add (policy, "https://[2001:db8::1]:444", NULL);
  add (policy, "http://127.0.0.1", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    refuse (policy, rows[i], NULL, SANDBOX_ERROR_EXISTS);

  add (policy, "https://www.example.com", NULL);
  add (policy, "http://127.0.0.2", NULL);
}

static void
test_many_origins (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("A policy has 256 origins at the most");

  for (guint i = 0; i < 256; i++)
    {
      g_autofree char *origin = g_strdup_printf ("https://host%u.example", i);

      add (policy, origin, NULL);
    }

  refuse (policy, "https://one-more.example", NULL, SANDBOX_ERROR_LIMIT);
  refuse (policy, "https://host7.example", NULL, SANDBOX_ERROR_EXISTS);
}

static GVariant *
one_header (const char *name,
            const char *value)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
  g_variant_builder_add (&builder, "{ss}", name, value);

  return g_variant_builder_end (&builder);
}

static void
test_headers (void)
{
  static const struct
  {
    const char *name;
    const char *value;
  } rows[] = {
    { "Authorization", "Bearer abc.def-123==" },
    { "x", "" },
    { "X-Odd!#$%&'*+-.^_`|~9", "a  b~!\"" },
    { "Cookie", "a=b; c=d" },
    { "Content-Type", "text/plain" },
    { "Hosts", "1" },
    { "Content-Length-2", "1" },
  };
  g_autoptr (SandboxNetworkPolicy) empty = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxNetworkPolicy) none = sandbox_network_policy_new_allow_list ();

  g_test_summary ("Behaviour 36: headers with token names and printable values are taken");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

      g_test_message ("%s", rows[i].name);
      add (policy, "https://example.com", one_header (rows[i].name, rows[i].value));
      assert_origins (policy, "https://example.com");
    }

  add (empty, "http://example.com", g_variant_new ("a{ss}", NULL));
  add (none, "http://example.com", NULL);
  g_assert_true (sandbox_network_policy_equal (empty, none));
}

static void
test_header_names_refused (void)
{
  static const char *const rows[] = {
    "",
    " ",
    "a b",
    " a",
    "a ",
    "a:",
    ":authority",
    "a\tb",
    "a\nb",
    "a\r",
    "a\"b",
    "a(b)",
    "a,b",
    "a/b",
    "a;b",
    "a<b",
    "a=b",
    "a>b",
    "a?b",
    "a@b",
    "a[b]",
    "a\\b",
    "a{b}",
    "\x01",
    "\x7f",
    "\xc3\xa9",
  };
  static const char *const reserved[] = {
    "host",
    "Host",
    "HOST",
    "connection",
    "Content-Length",
    "transfer-encoding",
    "Transfer-Encoding",
    "Proxy-Authorization",
    "proxy-connection",
    "UPGRADE",
    "Trailer",
    "te",
    "TE",
    "Keep-Alive",
    "expect",
  };
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("Behaviour 36, case 138: no name that is not a token, none that frames or routes");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    refuse (policy, "https://example.com", one_header (rows[i], "x"), SANDBOX_ERROR_INVALID);
  for (guint i = 0; i < G_N_ELEMENTS (reserved); i++)
    refuse (policy, "https://example.com", one_header (reserved[i], "x"), SANDBOX_ERROR_INVALID);
  assert_origins (policy, "");
}

static void
test_header_values_refused (void)
{
  static const char *const rows[] = {
    " a",
    "a ",
    " ",
    "\ta",
    "a\tb",
    "a\r\nHost: b",
    "a\r",
    "a\n",
    "\n",
    "a\x01",
    "\x1f",
    "\x7f",
    "\xc3\xa9",
    "a\xe2\x80\xa8",
  };
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("Behaviour 36, case 138: no value but printable ASCII, no blank at its ends");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    refuse (policy, "https://example.com", one_header ("Authorization", rows[i]), SANDBOX_ERROR_INVALID);
  assert_origins (policy, "");

  g_assert_false (sandbox_network_policy_add_origin (policy, "https://example.com",
                                                     one_header ("Authorization", "hunter2\n"), &error));
  g_assert_nonnull (strstr (error->message, "Authorization"));
  g_assert_null (strstr (error->message, "hunter2"));
}

static void
test_header_bounds (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
  g_autofree char *name = g_strnfill (257, 'n');
  g_autofree char *value = g_strnfill (8193, 'v');

  g_test_summary ("Case 138: names have 256 bytes at the most, values 8192, and there are 64 of them");

  refuse (policy, "https://a.example", one_header (name, "v"), SANDBOX_ERROR_LIMIT);
  refuse (policy, "https://a.example", one_header ("n", value), SANDBOX_ERROR_LIMIT);
  name[256] = '\0';
  value[8192] = '\0';
  add (policy, "https://a.example", one_header (name, value));

  for (guint count = 64; count <= 65; count++)
    {
      GVariantBuilder builder;

      g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
      for (guint i = 0; i < count; i++)
        {
          g_autofree char *one = g_strdup_printf ("x-%u", i);

          g_variant_builder_add (&builder, "{ss}", one, "v");
        }

      if (count == 64)
        add (policy, "https://b.example", g_variant_builder_end (&builder));
      else
        refuse (policy, "https://c.example", g_variant_builder_end (&builder), SANDBOX_ERROR_LIMIT);
    }
}

static void
test_header_twice (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("Case 138: one header twice is refused, in another case too");

  refuse (policy, "https://a.example", g_variant_new_parsed ("{'x-a': '1', 'x-b': '2', 'X-A': '1'}"), SANDBOX_ERROR_INVALID);
  refuse (policy, "https://a.example", g_variant_new_parsed ("{'x-a': '1', 'x-a': '1'}"), SANDBOX_ERROR_INVALID);
  assert_origins (policy, "");
}

static void
test_header_type (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("Headers of another type are refused, not guessed");

  refuse (policy, "https://a.example", g_variant_new_parsed ("{'x-a': <'1'>}"), SANDBOX_ERROR_INVALID);
  refuse (policy, "https://a.example", g_variant_new_string ("x-a: 1"), SANDBOX_ERROR_INVALID);
}

static void
test_all_or_nothing (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxNetworkPolicy) before = NULL;

  g_test_summary ("Case 138: one bad header refuses the origin with all of its headers");

  add (policy, "https://a.example", one_header ("x-a", "1"));
  before = sandbox_network_policy_freeze (policy);
  refuse (policy, "https://b.example", g_variant_new_parsed ("{'x-a': '1', 'host': 'c.example', 'x-b': '2'}"), SANDBOX_ERROR_INVALID);
  g_assert_true (sandbox_network_policy_equal (policy, before));
  add (policy, "https://b.example", NULL);
  g_assert_false (sandbox_network_policy_equal (policy, before));
}

static void
test_plain_credentials (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();

  g_test_summary ("Case 140: headers in clear text only to a loopback address, or when allowed");

  refuse (policy, "http://a.example", one_header ("x-a", "1"), SANDBOX_ERROR_NETWORK_DENIED);
  refuse (policy, "http://a.example:443", one_header ("x-a", "1"), SANDBOX_ERROR_NETWORK_DENIED);
  refuse (policy, "http://localhost", one_header ("x-a", "1"), SANDBOX_ERROR_NETWORK_DENIED);
  refuse (policy, "http://10.0.0.1", one_header ("x-a", "1"), SANDBOX_ERROR_NETWORK_DENIED);
  add (policy, "http://127.0.0.1:8080", one_header ("x-a", "1"));
  add (policy, "http://[::1]", one_header ("x-a", "1"));
  add (policy, "https://a.example", one_header ("x-a", "1"));
  add (policy, "http://b.example", NULL);

  /* Loopback and https do not need it. */
  sandbox_network_policy_set_allow_plain_credentials (policy, TRUE);
  sandbox_network_policy_set_allow_plain_credentials (policy, FALSE);
  sandbox_network_policy_set_allow_plain_credentials (policy, TRUE);
  add (policy, "http://c.example", one_header ("x-a", "1"));

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*has_plain_credentials*");
  sandbox_network_policy_set_allow_plain_credentials (policy, FALSE);
  g_test_assert_expected_messages ();
  g_assert_true (sandbox_network_policy_get_allow_plain_credentials (policy));
}

static void
test_freeze (void)
{
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (GObject) database = g_object_new (TEST_TYPE_DATABASE, NULL);
  g_autoptr (SandboxNetworkPolicy) frozen = NULL;
  g_autoptr (SandboxNetworkPolicy) again = NULL;
  g_autoptr (GVariant) headers = g_variant_ref_sink (one_header ("x-a", "1"));

  g_test_summary ("A frozen copy has the same values, origins and headers, and stays so");

  value_checks_round_trip (G_OBJECT (policy), database);
  add (policy, "https://a.example", headers);
  add (policy, "https://b.example", NULL);
  frozen = sandbox_network_policy_freeze (policy);
  g_assert_true (frozen != policy);
  value_checks_same (G_OBJECT (policy), G_OBJECT (frozen));
  g_assert_true (sandbox_network_policy_equal (policy, frozen));
  value_checks_frozen (G_OBJECT (frozen), database);

  g_test_expect_message ("Sandbox", G_LOG_LEVEL_CRITICAL, "*frozen*");
  g_assert_false (sandbox_network_policy_add_origin (frozen, "https://c.example", NULL, NULL));
  g_test_assert_expected_messages ();

  add (policy, "https://c.example", NULL);
  assert_origins (frozen, "https://a.example https://b.example");

  again = sandbox_network_policy_freeze (frozen);
  g_assert_true (again == frozen);
}

static void
test_freeze_outlives (void)
{
  SandboxNetworkPolicy *policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxNetworkPolicy) frozen = NULL;

  g_test_summary ("A frozen copy keeps its origins when the policy it was made from is gone");

  add (policy, "https://a.example", one_header ("x-a", "1"));
  frozen = sandbox_network_policy_freeze (policy);
  g_assert_finalize_object (policy);
  assert_origins (frozen, "https://a.example");
}

static void
test_equal (void)
{
  g_autoptr (SandboxNetworkPolicy) a = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxNetworkPolicy) b = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();

  g_test_summary ("Policies are equal that let through the same, in whatever order it was said");

  g_assert_true (sandbox_network_policy_equal (a, b));
  g_assert_false (sandbox_network_policy_equal (a, deny));

  add (a, "https://a.example", g_variant_new_parsed ("{'x-a': '1', 'x-b': '2'}"));
  add (a, "https://b.example:443", NULL);
  g_assert_false (sandbox_network_policy_equal (a, b));
  add (b, "https://B.example", NULL);
  g_assert_false (sandbox_network_policy_equal (a, b));
  add (b, "https://a.example", g_variant_new_parsed ("{'x-b': '2', 'x-a': '1'}"));
  g_assert_true (sandbox_network_policy_equal (a, b));
  g_assert_true (sandbox_network_policy_equal (b, a));

  sandbox_network_policy_set_timeout_ms (b, 1);
  g_assert_false (sandbox_network_policy_equal (a, b));
  sandbox_network_policy_set_timeout_ms (a, 1);
  g_assert_true (sandbox_network_policy_equal (a, b));

  add (a, "https://c.example", one_header ("x-a", "1"));
  add (b, "https://c.example", one_header ("x-a", "2"));
  g_assert_false (sandbox_network_policy_equal (a, b));
}

static void
test_equal_parts (void)
{
  static const char *const other[] = { "http://a.example", "https://a.example:444", "https://b.example" };

  g_test_summary ("Another scheme, port, host or header makes another policy");

  for (guint i = 0; i < G_N_ELEMENTS (other); i++)
    {
      g_autoptr (SandboxNetworkPolicy) a = sandbox_network_policy_new_allow_list ();
      g_autoptr (SandboxNetworkPolicy) b = sandbox_network_policy_new_allow_list ();

      add (a, "https://a.example", NULL);
      add (b, other[i], NULL);
      g_assert_false (sandbox_network_policy_equal (a, b));
    }

  {
    g_autoptr (SandboxNetworkPolicy) a = sandbox_network_policy_new_allow_list ();
    g_autoptr (SandboxNetworkPolicy) b = sandbox_network_policy_new_allow_list ();

    add (a, "https://a.example", NULL);
    add (b, "https://a.example", one_header ("x-a", "1"));
    g_assert_false (sandbox_network_policy_equal (a, b));
    g_assert_false (sandbox_network_policy_equal (b, a));
  }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/network-policy/modes", test_modes);
  g_test_add_func ("/network-policy/defaults", test_defaults);
  g_test_add_func ("/network-policy/round-trip", test_round_trip);
  g_test_add_func ("/network-policy/range", test_range);
  g_test_add_func ("/network-policy/origins", test_origins);
  g_test_add_func ("/network-policy/origins-refused", test_origins_refused);
  g_test_add_func ("/network-policy/origin-length", test_origin_length);
  g_test_add_func ("/network-policy/origin-messages", test_origin_messages);
  g_test_add_func ("/network-policy/one-origin-per-host", test_one_origin_per_host);
  g_test_add_func ("/network-policy/many-origins", test_many_origins);
  g_test_add_func ("/network-policy/headers", test_headers);
  g_test_add_func ("/network-policy/header-names-refused", test_header_names_refused);
  g_test_add_func ("/network-policy/header-values-refused", test_header_values_refused);
  g_test_add_func ("/network-policy/header-bounds", test_header_bounds);
  g_test_add_func ("/network-policy/header-twice", test_header_twice);
  g_test_add_func ("/network-policy/header-type", test_header_type);
  g_test_add_func ("/network-policy/all-or-nothing", test_all_or_nothing);
  g_test_add_func ("/network-policy/plain-credentials", test_plain_credentials);
  g_test_add_func ("/network-policy/freeze", test_freeze);
  g_test_add_func ("/network-policy/freeze-outlives", test_freeze_outlives);
  g_test_add_func ("/network-policy/equal", test_equal);
  g_test_add_func ("/network-policy/equal-parts", test_equal_parts);

  return g_test_run ();
}
