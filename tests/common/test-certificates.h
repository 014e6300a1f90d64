/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An authority of a test's own, and certificates by it, good ones and bad ones; and the tools and servers that want them. */
#pragma once

#include <gio/gio.h>
#include <signal.h>
#include <sys/prctl.h>

#define TEST_LONG_AGO "20000101000000Z"
#define TEST_NOT_SO_LONG_AGO "20010101000000Z"
#define TEST_FAR_AWAY "21000101000000Z"

/* For a server that a test starts: it ends with the test, however that ends. */
static inline void
test_end_with_parent_cb (gpointer user_data)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

static inline void
test_run_tool (const char *directory,
               const char *line)
{
  g_auto (GStrv) argv = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *errors = NULL;
  int              status = -1;

  g_shell_parse_argv (line, NULL, &argv, &error);
  g_assert_no_error (error);
  g_spawn_sync (directory, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &errors, &status, &error);
  g_assert_no_error (error);
  if (status != 0)
    g_error ("“%s” failed: %s", line, errors);
}

static inline void
test_write_file (const char *directory,
                 const char *name,
                 const char *text)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* NAME.pem and NAME.key for @host, of the authority ca.pem in @directory; valid from @begin to @end. */
static inline GTlsCertificate *
test_make_certificate (const char *directory,
                       const char *name,
                       const char *host,
                       const char *begin,
                       const char *end)
{
  g_autofree char *extensions = g_strdup_printf ("subjectAltName=DNS:%s\nbasicConstraints=CA:FALSE\n", host);
  g_autofree char *ask_line = g_strdup_printf ("openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=%s -keyout %s.key -out %s.csr", host, name, name);
  g_autofree char *sign_line = g_strdup_printf ("openssl ca -batch -config ca.conf -notext -startdate %s -enddate %s -extfile %s.ext -in %s.csr -out %s.pem", begin, end,
                                                name, name, name);
  g_autofree char *extensions_name = g_strconcat (name, ".ext", NULL);
  g_autofree char *path = g_strdup_printf ("%s/%s.pem", directory, name);
  g_autofree char *key = g_strdup_printf ("%s/%s.key", directory, name);
  g_autoptr (GError) error = NULL;
  GTlsCertificate *certificate;

  test_write_file (directory, extensions_name, extensions);
  test_run_tool (directory, ask_line);
  test_run_tool (directory, sign_line);
  certificate = g_tls_certificate_new_from_files (path, key, &error);
  g_assert_no_error (error);

  return certificate;
}

static inline void
test_make_authority (const char *directory)
{
  test_write_file (directory, "index.txt", "");
  test_write_file (directory, "serial", "01\n");
  test_write_file (directory, "ca.conf", "[ca]\ndefault_ca=own\n[own]\ndir=.\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\ncertificate=ca.pem\n"
                                         "private_key=ca.key\ndefault_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n"
                                         "[req]\ndistinguished_name=dn\nx509_extensions=root\n[dn]\n[root]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\n");
  test_run_tool (directory, "openssl req -x509 -config ca.conf -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=the-authority-of-a-test"
                            " -keyout ca.key -out ca.pem");
}
