/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The programs that people use, in a sandbox with an allow list, against a real server behind the gateway: nginx on the
 * loopback of the host, started by the test with files of its own. They know nothing of us but http_proxy or the socket.
 */
#include "../common/test-certificates.h"
#include "../common/test-gateway.h"

/* What the server asks for below /git and /private, and what no guest has. */
#define PASSWORD "password-of-the-server"

typedef struct
{
  TestGateway  gateway;
  char        *directory;
  guint16      port;        /* http://site.test:PORT */
  guint16      secure_port; /* https://secure.test:PORT */
  GSubprocess *nginx;
  GSubprocess *cgi;
} Clients;

static guint16
find_port (void)
{
  g_autoptr (GSocket) socket = test_socket_listen ("127.0.0.1", 0);
  guint16 port = test_socket_get_port (socket);

  g_socket_close (socket, NULL);

  return port;
}

static char *
new_configuration (Clients *self)
{
  GString *text = g_string_new ("daemon off;\nmaster_process off;\nworker_rlimit_nofile 1024;\n");

  g_string_append_printf (text, "pid %1$s/nginx.pid;\nerror_log %1$s/error.log;\nevents { worker_connections 256; }\nhttp {\n"
                                "  access_log %1$s/access.log;\n  default_type application/octet-stream;\n"
                                "  types { text/html html; application/json json; text/plain txt; }\n"
                                "  client_body_temp_path %1$s/body;\n  fastcgi_temp_path %1$s/fastcgi;\n  proxy_temp_path %1$s/proxy;\n"
                                "  scgi_temp_path %1$s/scgi;\n  uwsgi_temp_path %1$s/uwsgi;\n  client_max_body_size 64m;\n",
                          self->directory);
  g_string_append_printf (text, "  server {\n    listen 127.0.0.1:%u;\n    listen 127.0.0.1:%u ssl;\n    root %s/www;\n"
                                "    ssl_certificate secure.pem;\n    ssl_certificate_key secure.key;\n"
                                "    location /simple/ { index index.html; }\n    location /npm/ { index index.json; absolute_redirect off; }\n"
                                "    location = /npm/sample { alias %s/www/npm/sample/index.json; default_type application/json; }\n"
                                "    location = /told { default_type text/plain; return 200 \"$request_method $http_user_agent $scheme $http_x_guest\\n\"; }\n"
                                "    location = /moved { return 302 /hello; }\n"
                                "    location /private/ { auth_basic private; auth_basic_user_file users; }\n",
                          self->port, self->secure_port, self->directory, self->directory);
  g_string_append_printf (text, "    location ~ ^/git(/.*)$ {\n      auth_basic git;\n      auth_basic_user_file users;\n"
                                "      fastcgi_pass unix:%1$s/cgi.sock;\n"
                                "      fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;\n"
                                "      fastcgi_param GIT_PROJECT_ROOT %1$s/git;\n      fastcgi_param GIT_HTTP_EXPORT_ALL \"\";\n"
                                "      fastcgi_param PATH_INFO $1;\n      fastcgi_param QUERY_STRING $query_string;\n"
                                "      fastcgi_param REQUEST_METHOD $request_method;\n      fastcgi_param CONTENT_TYPE $content_type;\n"
                                "      fastcgi_param CONTENT_LENGTH $content_length;\n      fastcgi_param REMOTE_USER $remote_user;\n"
                                "      fastcgi_param REMOTE_ADDR $remote_addr;\n    }\n  }\n}\n",
                          self->directory);

  return g_string_free (text, FALSE);
}

static void
wait_for_port (guint16 port)
{
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new_from_string ("127.0.0.1", port);
  gint64 end = g_get_monotonic_time () + TEST_LIMIT_US;

  g_socket_client_set_enable_proxy (client, FALSE);
  for (;;)
    {
      g_autoptr (GSocketConnection) connection = g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), NULL, NULL);

      if (connection != NULL)
        return;
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_usleep (10000);
    }
}

static GSubprocess *
start_server (const char *const *argv)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_NONE);
  g_autoptr (GError) error = NULL;
  GSubprocess *server = NULL;

  g_subprocess_launcher_set_child_setup (launcher, test_end_with_parent_cb, NULL, NULL);
  server = g_subprocess_launcher_spawnv (launcher, argv, &error);
  g_assert_no_error (error);

  return server;
}

static void
start_servers (Clients *self)
{
  g_autofree char  *site = g_test_build_filename (G_TEST_DIST, "common", "make-site.py", NULL);
  g_autofree char  *url = g_strdup_printf ("http://site.test:%u/npm", self->port);
  g_autofree char  *line = g_strdup_printf ("python3 %s . %s", site, url);
  g_autofree char  *configuration = new_configuration (self);
  g_autofree char  *socket = g_strdup_printf ("unix:%s/cgi.sock", self->directory);
  g_autofree char  *path = g_build_filename (self->directory, "cgi.sock", NULL);
  g_autofree char  *log = g_build_filename (self->directory, "error.log", NULL);
  const char *const cgi[] = { "/usr/sbin/fcgiwrap", "-s", socket, NULL };
  const char *const nginx[] = { "/usr/sbin/nginx", "-p", self->directory, "-c", "nginx.conf", "-e", log, NULL };
  g_autoptr (GTlsCertificate) certificate = NULL;

  test_run_tool (self->directory, line);
  test_make_authority (self->directory);
  certificate = test_make_certificate (self->directory, "secure", "secure.test", TEST_LONG_AGO, TEST_FAR_AWAY);
  test_write_file (self->directory, "users", "user:{PLAIN}" PASSWORD "\n");
  test_write_file (self->directory, "nginx.conf", configuration);
  self->cgi = start_server (cgi);
  test_wait (g_file_test (path, G_FILE_TEST_EXISTS));
  self->nginx = start_server (nginx);
  wait_for_port (self->port);
}

static char *
new_basic (void)
{
  g_autofree char *encoded = g_base64_encode ((const guchar *) "user:" PASSWORD, strlen ("user:" PASSWORD));

  return g_strconcat ("Basic ", encoded, NULL);
}

static void
add_origin (SandboxNetworkPolicy *policy,
            const char           *scheme,
            const char           *host,
            guint16               port)
{
  g_autofree char *origin = g_strdup_printf ("%s://%s:%u", scheme, host, port);
  g_autofree char *value = new_basic ();
  g_autoptr (GError) error = NULL;
  GVariantBuilder headers;

  g_variant_builder_init (&headers, G_VARIANT_TYPE ("a{ss}"));
  g_variant_builder_add (&headers, "{ss}", "Authorization", value);
  sandbox_network_policy_add_origin (policy, origin, g_variant_builder_end (&headers), &error);
  g_assert_no_error (error);
}

static void
clients_set_up (Clients      *self,
                gconstpointer unused)
{
  g_autoptr (SandboxNetworkPolicy) policy = test_policy_new ();
  g_autoptr (GTlsDatabase) database = NULL;
  g_autofree char *authority = NULL;
  g_autoptr (GError) error = NULL;

  self->directory = g_dir_make_tmp ("clients-XXXXXX", &error);
  g_assert_no_error (error);
  self->port = find_port ();
  self->secure_port = find_port ();
  start_servers (self);
  test_gateway_set_up (&self->gateway, NULL);
  test_resolver_set ("site.test", "127.0.0.1");
  test_resolver_set ("secure.test", "127.0.0.1");
  authority = g_build_filename (self->directory, "ca.pem", NULL);
  database = g_tls_file_database_new (authority, &error);
  g_assert_no_error (error);
  add_origin (policy, "http", "site.test", self->port);
  add_origin (policy, "https", "secure.test", self->secure_port);
  sandbox_network_policy_set_tls_database (policy, database);
  sandbox_network_policy_set_max_request_bytes (policy, 16 * 1024 * 1024);
  sandbox_network_policy_set_max_response_bytes (policy, 16 * 1024 * 1024);
  test_gateway_use (&self->gateway, policy);
}

static void
clients_tear_down (Clients      *self,
                   gconstpointer unused)
{
  test_gateway_tear_down (&self->gateway, NULL);
  g_subprocess_force_exit (self->nginx);
  g_subprocess_force_exit (self->cgi);
  g_subprocess_wait (self->nginx, NULL, NULL);
  g_subprocess_wait (self->cgi, NULL, NULL);
  g_clear_object (&self->nginx);
  g_clear_object (&self->cgi);
  test_remove_tree (self->directory);
  g_clear_pointer (&self->directory, g_free);
}

/* Runs a script in the sandbox, with the origins as $SITE and $SECURE and a home of its own, and returns what it printed; it must
 * exit with 0, and have seen nothing of the password. */
static char *
run_script (Clients    *self,
            const char *script)
{
  g_autofree char  *site = g_strdup_printf ("SITE=site.test:%u", self->port);
  g_autofree char  *secure = g_strdup_printf ("SECURE=secure.test:%u", self->secure_port);
  const char *const environment[] = { site, secure, "HOME=/tmp/home", "GIT_TERMINAL_PROMPT=0", NULL };
  g_autofree char  *whole = g_strconcat ("set -e; mkdir -p $HOME; ", script, NULL);
  g_autoptr (SandboxCommand) command = test_command_new ("sh", "-c", whole, NULL);
  g_autoptr (SandboxResult) result = NULL;
  g_autofree char *output = NULL;
  g_autofree char *errors = NULL;
  g_autofree char *basic = new_basic ();

  sandbox_command_set_environment (command, environment);
  sandbox_command_set_timeout_ms (command, 120000);
  result = test_run_command (&self->gateway.sandbox, command);
  output = sandbox_result_dup_stdout_text (result);
  errors = sandbox_result_dup_stderr_text (result);
  if (sandbox_result_get_outcome (result) != SANDBOX_OUTCOME_EXITED || sandbox_result_get_exit_status (result) != 0)
    g_error ("“%s” ended with outcome %d, status %d: %s%s", script, sandbox_result_get_outcome (result),
             sandbox_result_get_exit_status (result), output, errors);
  g_assert_null (strstr (output, PASSWORD));
  g_assert_null (strstr (output, basic));
  g_assert_null (strstr (errors, PASSWORD));
  g_assert_null (strstr (errors, basic));

  return g_steal_pointer (&output);
}

static void
assert_script (Clients    *self,
               const char *script,
               const char *expected)
{
  g_autofree char *output = run_script (self, script);

  g_assert_cmpstr (output, ==, expected);
}

static void
test_curl (Clients      *self,
           gconstpointer unused)
{
  g_test_summary ("curl reaches plain and TLS origins through both doors, and what is denied is denied");

  /* As in the guide: over the Unix door */
  assert_script (self, "curl -sS --fail --unix-socket " SANDBOX_GATEWAY_PATH " http://$SITE/hello", "hello from nginx\n");
  assert_script (self, "curl -sS --fail --noproxy '*' --unix-socket " SANDBOX_GATEWAY_PATH " http://$SECURE/hello", "hello from nginx\n");
  /* By the proxy that the environment names */
  assert_script (self, "echo $http_proxy $HTTP_PROXY", "http://127.0.0.1:3128 http://127.0.0.1:3128\n");
  assert_script (self, "curl -sS --fail http://$SITE/hello http://$SITE/private/hello", "hello from nginx\nhello from within\n");
  assert_script (self, "curl -sS --fail http://$SECURE/private/hello", "hello from within\n");
  assert_script (self, "curl -sS --fail -A agent -H 'X-Guest: no' http://$SITE/told http://$SECURE/told -X PUT -d x", "PUT agent http \nPUT agent https \n");
  assert_script (self, "curl -sS --fail -I http://$SITE/hello | tr -d '\\r' | grep -i '^content-length'", "Content-Length: 17\n");
  assert_script (self, "curl -sS --fail -r 6-9 -w ' %{http_code}' http://$SITE/hello", "from 206");
  assert_script (self, "curl -sSL -o /dev/null -w '%{http_code}\\n' http://$SITE/moved http://evil.test/ http://$SITE/none -o /dev/null -o /dev/null",
                 "502\n403\n404\n");
  /* A tunnel would be blind. */
  assert_script (self, "curl -s https://$SECURE/hello -x $http_proxy || echo no tunnel", "no tunnel\n");
  assert_script (self, "head -c 3000000 /dev/urandom >large; curl -sS --fail -T large http://$SITE/hello -o /dev/null -w '%{http_code}' || true", "405");
}

static void
test_python (Clients      *self,
             gconstpointer unused)
{
  g_test_summary ("Python's urllib and requests go through the loopback door");

  assert_script (self, "python3 -c \"import os, urllib.request as u; print(u.urlopen('http://' + os.environ['SITE'] + '/private/hello').read().decode(), end='')\"",
                 "hello from within\n");
  assert_script (self, "python3 -c \"import os, requests as r; s = r.Session(); print(*[s.get('http://' + os.environ[n] + '/private/hello').text for n in "
                       "('SITE', 'SECURE', 'SITE')], sep='', end='')\"",
                 "hello from within\nhello from within\nhello from within\n");
  assert_script (self, "python3 -c \"import os, requests as r; print(r.post('http://' + os.environ['SITE'] + '/told', data=iter([b'x' * 1000] * 100),"
                       " headers={'User-Agent': 'p'}).text, r.get('http://evil.test/').status_code)\"",
                 "POST p http \n 403\n");
}

static void
test_node (Clients      *self,
           gconstpointer unused)
{
  g_test_summary ("node's fetch, connected to either door, and its http with the origin as the host");

  /* A fetch takes no Host from its caller, but another way to connect. */
  assert_script (self, "node -e \"const net = require ('net'), hosts = [process.env.SITE, process.env.SECURE, 'evil.test'];"
                       "(async () => { await fetch ('data:,'); const Agent = globalThis[Symbol.for ('undici.globalDispatcher.1')].constructor;"
                       "  const doors = [{socketPath: '" SANDBOX_GATEWAY_PATH "'}, (options, done) => { const s = net.connect (3128, '127.0.0.1', () => done (null, s)); }];"
                       "  for (const connect of doors) { const dispatcher = new Agent ({connect});"
                       "    for (const host of hosts) { const a = await fetch ('http://' + host + '/private/hello', {dispatcher}); console.log (a.status, (await a.text ()).trim ()); } }"
                       "  process.exit (0); }) ()\"",
                 "200 hello from within\n200 hello from within\n403 Sandbox network denied\n"
                 "200 hello from within\n200 hello from within\n403 Sandbox network denied\n");
  assert_script (self, "node -e \"require ('http').get ({host: '127.0.0.1', port: 3128, path: '/private/hello', headers: {Host: process.env.SITE}},"
                       " answer => answer.pipe (process.stdout))\"",
                 "hello from within\n");
}

static void
test_git (Clients      *self,
          gconstpointer unused)
{
  g_autofree char *repository = g_build_filename (self->directory, "git", "repository.git", NULL);
  g_autofree char *line = g_strdup_printf ("git --git-dir=%s cat-file -e main:pushed", repository);

  g_test_summary ("git clones and pushes over http, and the password is the gateway's");

  assert_script (self, "git clone -q http://$SITE/git/repository.git cloned && cat cloned/file && wc -c <cloned/large", "from the server\n1048576\n");
  /* More than git sends in one piece: it goes out in chunks. */
  assert_script (self, "cd cloned && head -c 3000000 /dev/urandom >pushed && git add . && git -c user.name=g -c user.email=g@localhost commit -q -m second &&"
                       "git push -q origin HEAD:main && echo pushed",
                 "pushed\n");
  test_run_tool (self->directory, line);
  assert_script (self, "cd cloned && git fetch -q && git status -sb | head -1", "## main...origin/main\n");
  assert_script (self, "git clone -q http://$SECURE/git/repository.git again && ls again", "file\nlarge\npushed\n");
}

static void
test_pip (Clients      *self,
          gconstpointer unused)
{
  g_test_summary ("pip downloads from a plain index");

  assert_script (self, "python3 -m pip download -q --disable-pip-version-check --no-cache-dir --no-deps --index-url http://$SITE/simple --trusted-host site.test"
                       " -d out sample && ls out",
                 "sample-1.0-py3-none-any.whl\n");
}

static void
test_npm (Clients      *self,
          gconstpointer unused)
{
  g_test_summary ("npm installs from a plain registry");

  assert_script (self, "mkdir package && cd package && echo '{}' >package.json && npm install --silent --no-audit --no-fund --no-update-notifier"
                       " --registry http://$SITE/npm/ sample >&2 && node -p \"require ('sample')\"",
                 "42\n");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add ("/clients/curl", Clients, NULL, clients_set_up, test_curl, clients_tear_down);
  g_test_add ("/clients/python", Clients, NULL, clients_set_up, test_python, clients_tear_down);
  g_test_add ("/clients/node", Clients, NULL, clients_set_up, test_node, clients_tear_down);
  g_test_add ("/clients/git", Clients, NULL, clients_set_up, test_git, clients_tear_down);
  g_test_add ("/clients/pip", Clients, NULL, clients_set_up, test_pip, clients_tear_down);
  g_test_add ("/clients/npm", Clients, NULL, clients_set_up, test_npm, clients_tear_down);

  return g_test_run ();
}
