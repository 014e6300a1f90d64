/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the names of a policy may lead. */
#include "../common/test-helpers.h"

#include "sandbox-http-address.h"

static void
test_public (void)
{
  const struct
  {
    const char *address;
    gboolean    is_public;
  } cases[] = {
    { "1.1.1.1", TRUE },
    { "9.255.255.255", TRUE },
    { "11.0.0.0", TRUE },
    { "100.63.255.255", TRUE },
    { "100.128.0.0", TRUE },
    { "172.15.255.255", TRUE },
    { "172.32.0.0", TRUE },
    { "192.167.255.255", TRUE },
    { "192.169.0.0", TRUE },
    { "198.17.255.255", TRUE },
    { "198.20.0.0", TRUE },
    { "223.255.255.255", TRUE },
    { "2606:4700:4700::1111", TRUE },
    { "2001:200::1", TRUE },
    { "2a00::1", TRUE },
    { "3fff:1000::1", TRUE },

    { "0.0.0.0", FALSE },
    { "0.1.2.3", FALSE },
    { "10.0.0.0", FALSE },
    { "10.255.255.255", FALSE },
    { "100.64.0.1", FALSE },
    { "100.127.255.255", FALSE },
    { "127.0.0.1", FALSE },
    { "127.255.255.255", FALSE },
    { "169.254.169.254", FALSE },
    { "172.16.0.1", FALSE },
    { "172.31.255.255", FALSE },
    { "192.0.0.8", FALSE },
    { "192.0.2.1", FALSE },
    { "192.168.0.1", FALSE },
    { "198.18.0.1", FALSE },
    { "198.19.255.255", FALSE },
    { "198.51.100.1", FALSE },
    { "203.0.113.1", FALSE },
    { "224.0.0.1", FALSE },
    { "240.0.0.1", FALSE },
    { "255.255.255.255", FALSE },
    { "::", FALSE },
    { "::1", FALSE },
    { "::ffff:127.0.0.1", FALSE },
    { "::ffff:1.1.1.1", FALSE },
    { "::7f00:1", FALSE },
    { "64:ff9b::7f00:1", FALSE },
    { "64:ff9b::101:101", FALSE },
    { "100::1", FALSE },
    { "2001::1", FALSE },
    { "2001:1ff::1", FALSE },
    { "2001:db8::1", FALSE },
    { "2002:7f00:1::1", FALSE },
    { "3fff:0fff::1", FALSE },
    { "fc00::1", FALSE },
    { "fd12:3456::1", FALSE },
    { "fe80::1", FALSE },
    { "fec0::1", FALSE },
    { "ff02::1", FALSE },
  };

  g_test_summary ("Case 141: which addresses are of the internet, at both ends of each range");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GInetAddress) address = g_inet_address_new_from_string (cases[i].address);

      g_assert_nonnull (address);
      g_test_message ("%s", cases[i].address);
      g_assert_true (sandbox_http_address_is_public (address) == cases[i].is_public);
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/http-address/public", test_public);

  return g_test_run ();
}
