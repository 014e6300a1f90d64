/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bench-gateway [--json] [--rounds N]
 * bench-gateway --serve SOCKET ORIGIN
 *
 * What it costs to ask an origin through the gateway, against nginx and a small node program that do the same: let requests through
 * to one HTTP server on the loopback device, with a few of their headers and a credential. Each proxy is a process of its own, reached
 * over a Unix socket; the server is another nginx. What is compared takes turns.
 *
 * With --serve it is the host of a gateway whose door is at SOCKET, until its standard input ends; for a profiler.
 *
 * The table says which rows missed their bar, and then the exit status is 1.
 */

#include <sandbox-glib.h>

#include "bench-rows.h"
#include "bench-time.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREDENTIAL "Bearer of-the-benchmark"
#define SMALL_BYTES 1024
#define LARGE_BYTES (64 * 1024 * 1024)
#define MANY 16 /* as a policy lets through at once */
#define READ_BYTES (256 * 1024)
#define WARM_UP_US (3 * G_USEC_PER_SEC) /* what node has compiled by then */
#define TURN_US (G_USEC_PER_SEC / 2)
#define SHORT_TURNS 20
#define START_US (10 * G_USEC_PER_SEC)

/* ---- The gateway, and what it takes to have one ------------------------------------------------------------------------ */

/* A sandbox without an inside: its door is at a path of the host. */
#define DOOR_TYPE_DRIVER (door_driver_get_type ())
G_DECLARE_FINAL_TYPE (DoorDriver, door_driver, DOOR, DRIVER, GObject)

struct _DoorDriver
{
  GObject parent_instance;
};

static const char *door_path;

static gboolean
door_driver_set_network_policy (SandboxDriver        *driver,
                                SandboxNetworkPolicy *policy,
                                SandboxRequest       *request,
                                GError              **error)
{
  sandbox_request_return_done (request);

  return TRUE;
}

static gboolean
door_driver_set_gateway (SandboxDriver  *driver,
                         SandboxGateway *gateway,
                         SandboxRequest *request,
                         GError        **error)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  g_autoptr (GSocket) door = NULL;
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_strlcpy (address.sun_path, door_path, sizeof address.sun_path);
  bench_check (fd >= 0 && bind (fd, (struct sockaddr *) &address, sizeof address) == 0 && listen (fd, 128) == 0, door_path, NULL);
  door = g_socket_new_from_fd (fd, error);
  if (door == NULL)
    return FALSE;

  sandbox_gateway_add_door (gateway, door);
  sandbox_request_return_done (request);

  return TRUE;
}

static gboolean
door_driver_close (SandboxDriver  *driver,
                   SandboxRequest *request,
                   GError        **error)
{
  sandbox_request_return_done (request);

  return TRUE;
}

static void
door_driver_iface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = TRUE;
  iface->set_network_policy = door_driver_set_network_policy;
  iface->set_gateway = door_driver_set_gateway;
  iface->close = door_driver_close;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (DoorDriver, door_driver, G_TYPE_OBJECT, G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, door_driver_iface_init))

static void
door_driver_class_init (DoorDriverClass *klass)
{
}

static void
door_driver_init (DoorDriver *self)
{
}

#define DOOR_TYPE_BACKEND (door_backend_get_type ())
G_DECLARE_FINAL_TYPE (DoorBackend, door_backend, DOOR, BACKEND, SandboxBackend)

struct _DoorBackend
{
  SandboxBackend parent_instance;
};

G_DEFINE_FINAL_TYPE (DoorBackend, door_backend, SANDBOX_TYPE_BACKEND)

static gboolean
door_backend_create_driver (SandboxBackend       *backend,
                            SandboxCreateOptions *options,
                            SandboxWorkspace     *workspace,
                            SandboxRequest       *request,
                            GError              **error)
{
  g_autoptr (GObject) driver = g_object_new (DOOR_TYPE_DRIVER, NULL);

  sandbox_request_return_object (request, driver);

  return TRUE;
}

static void
door_backend_class_init (DoorBackendClass *klass)
{
  SANDBOX_BACKEND_CLASS (klass)->create_driver = door_backend_create_driver;
}

static void
door_backend_init (DoorBackend *self)
{
}

static int
serve (const char *path,
       const char *origin)
{
  g_autoptr (SandboxRegistry) registry = sandbox_registry_new ();
  g_autoptr (SandboxNetworkPolicy) policy = sandbox_network_policy_new_allow_list ();
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxBackend) backend = NULL;
  g_autoptr (SandboxHandle) handle = NULL;
  g_autoptr (GError) error = NULL;
  GVariantBuilder headers;
  char            byte;

  door_path = path;
  g_variant_builder_init (&headers, G_VARIANT_TYPE ("a{ss}"));
  g_variant_builder_add (&headers, "{ss}", "Authorization", CREDENTIAL);
  bench_check (sandbox_network_policy_add_origin (policy, origin, g_variant_builder_end (&headers), &error), origin, error);
  sandbox_network_policy_set_max_response_bytes (policy, 2 * (guint64) LARGE_BYTES);
  sandbox_create_options_set_network (options, policy);

  bench_check (sandbox_registry_add_type (registry, "door", 0, DOOR_TYPE_BACKEND, &error), "the backend", error);
  backend = sandbox_registry_create_backend (registry, "door", NULL, &error);
  bench_check (backend != NULL, "the backend", error);
  handle = sandbox_backend_create (backend, options, NULL, &error);
  bench_check (handle != NULL, "the gateway", error);

  while (read (STDIN_FILENO, &byte, 1) > 0)
    ;
  bench_check (sandbox_handle_shutdown (handle, NULL, &error), "the end of the gateway", error);

  return 0;
}

/* ---- Who is asked ------------------------------------------------------------------------------------------------------ */

typedef struct
{
  const char             *name;
  struct sockaddr_storage address;
  socklen_t               address_length;
  pid_t                   pid;
  int                     lifeline; /* its standard input */
} Target;

typedef enum
{
  DIRECT,
  GATEWAY,
  NGINX,
  NODE,
  N_TARGETS,
} TargetId;

typedef struct
{
  char      *top;
  guint      port;
  Target     targets[N_TARGETS];
  GPtrArray *rows;
  guint      rounds;
} Bench;

static const char server_configuration[] =
    "daemon off; master_process off; pid %s/server.pid; error_log stderr crit;\n"
    "events { worker_connections 256; }\n"
    "http {\n"
    "  access_log off; sendfile on; tcp_nodelay on; keepalive_requests 100000000;\n"
    "  client_body_temp_path %s/server-body; proxy_temp_path %s/server-proxy; fastcgi_temp_path %s/server-fastcgi;\n"
    "  uwsgi_temp_path %s/server-uwsgi; scgi_temp_path %s/server-scgi;\n"
    "  server { listen 127.0.0.1:%u; root %s/files; }\n"
    "}\n";

/* No file for what a guest does not read fast enough, as neither of the others has one. */
static const char proxy_configuration[] =
    "daemon off; master_process off; pid %s/proxy.pid; error_log stderr crit;\n"
    "events { worker_connections 256; }\n"
    "http {\n"
    "  access_log off; tcp_nodelay on; keepalive_requests 100000000;\n"
    "  client_body_temp_path %s/proxy-body; proxy_temp_path %s/proxy-proxy; fastcgi_temp_path %s/proxy-fastcgi;\n"
    "  uwsgi_temp_path %s/proxy-uwsgi; scgi_temp_path %s/proxy-scgi;\n"
    "  upstream server { server 127.0.0.1:%u; keepalive 32; keepalive_requests 100000000; }\n"
    "  server {\n"
    "    listen unix:%s/nginx.sock;\n"
    "    location / {\n"
    "      proxy_pass http://server; proxy_http_version 1.1; proxy_max_temp_file_size 0;\n"
    "      proxy_set_header Host $http_host; proxy_set_header Connection \"\"; proxy_set_header Accept-Encoding identity;\n"
    "      proxy_set_header Authorization \"" CREDENTIAL "\";\n"
    "    }\n"
    "  }\n"
    "}\n";

static const char node_program[] =
    "const http = require('http');\n"
    "const [socket, port] = process.argv.slice(2);\n"
    "const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });\n"
    "const up = ['accept', 'content-type', 'range', 'user-agent'];\n"
    "const down = ['content-type', 'content-length', 'content-range', 'accept-ranges', 'etag', 'last-modified', 'cache-control'];\n"
    "const pick = (headers, names) => Object.fromEntries(names.filter(name => name in headers).map(name => [name, headers[name]]));\n"
    "http.createServer((request, response) => {\n"
    "  const headers = { ...pick(request.headers, up), host: `127.0.0.1:${port}`, 'accept-encoding': 'identity', authorization: '" CREDENTIAL "' };\n"
    "  const asked = http.request({ host: '127.0.0.1', port, agent, method: request.method, path: request.url, headers }, answer => {\n"
    "    response.writeHead(answer.statusCode, pick(answer.headers, down));\n"
    "    answer.pipe(response);\n"
    "  });\n"
    "  asked.on('error', () => response.destroy());\n"
    "  request.pipe(asked);\n"
    "}).listen(socket);\n";

static void
bench_child_cb (gpointer user_data)
{
  /* They end with this program, however it ends. */
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

static void
bench_start (Target            *target,
             const char *const *argv)
{
  g_autoptr (GError) error = NULL;
  gboolean started = g_spawn_async_with_pipes (NULL, (char **) argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH, bench_child_cb, NULL,
                                               &target->pid, &target->lifeline, NULL, NULL, &error);

  bench_check (started, argv[0], error);
}

static void
bench_end (Target *target)
{
  close (target->lifeline);
  kill (target->pid, SIGTERM);
  bench_check (waitpid (target->pid, NULL, 0) == target->pid, target->name, NULL);
}

static int
bench_connect (const Target *target)
{
  int fd = socket (target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int one = 1;

  bench_check (fd >= 0, "a socket", NULL);
  if (connect (fd, (const struct sockaddr *) &target->address, target->address_length) < 0)
    {
      close (fd);
      return -1;
    }
  if (target->address.ss_family == AF_INET)
    bench_check (setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "TCP_NODELAY", NULL);

  return fd;
}

static void
bench_wait_for (const Target *target)
{
  double begin = bench_now ();
  int    fd = -1;

  while ((fd = bench_connect (target)) < 0)
    {
      bench_check (waitpid (target->pid, NULL, WNOHANG) == 0 && bench_now () - begin < START_US, target->name, NULL);
      g_usleep (10000);
    }
  close (fd);
}

static void
bench_set_path (Bench      *self,
                Target     *target,
                const char *name)
{
  struct sockaddr_un *address = (struct sockaddr_un *) &target->address;

  address->sun_family = AF_UNIX;
  g_snprintf (address->sun_path, sizeof address->sun_path, "%s/%s", self->top, name);
  target->address_length = sizeof *address;
}

/* A port that was free a moment ago. */
static void
bench_choose_port (Bench *self)
{
  struct sockaddr_in *address = (struct sockaddr_in *) &self->targets[DIRECT].address;
  socklen_t           length = sizeof *address;
  int                 fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  bench_check (fd >= 0 && bind (fd, (struct sockaddr *) address, length) == 0 && getsockname (fd, (struct sockaddr *) address, &length) == 0, "a port", NULL);
  close (fd);
  self->port = ntohs (address->sin_port);
  self->targets[DIRECT].address_length = length;
}

static void
bench_write (Bench      *self,
             const char *name,
             const char *content,
             gssize      size)
{
  g_autofree char *path = g_build_filename (self->top, name, NULL);
  g_autoptr (GError) error = NULL;

  bench_check (g_file_set_contents (path, content, size, &error), path, error);
}

static void
bench_start_all (Bench      *self,
                 const char *program)
{
  const char      *top = self->top;
  g_autofree char *path = g_strconcat (g_getenv ("PATH"), ":/usr/sbin:/sbin", NULL);
  g_autofree char *files = g_build_filename (top, "files", NULL);
  g_autofree char *large = g_malloc (LARGE_BYTES);
  g_autofree char *server = NULL;
  g_autofree char *proxy = NULL;
  g_autofree char *server_path = g_build_filename (top, "server.conf", NULL);
  g_autofree char *proxy_path = g_build_filename (top, "proxy.conf", NULL);
  g_autofree char *node_path = g_build_filename (top, "proxy.js", NULL);
  g_autofree char *node_socket = g_build_filename (top, "node.sock", NULL);
  g_autofree char *gateway_socket = g_build_filename (top, "gateway.sock", NULL);
  g_autofree char *port = NULL;
  g_autofree char *origin = NULL;

  g_setenv ("PATH", path, TRUE);
  bench_choose_port (self);
  bench_set_path (self, &self->targets[GATEWAY], "gateway.sock");
  bench_set_path (self, &self->targets[NGINX], "nginx.sock");
  bench_set_path (self, &self->targets[NODE], "node.sock");
  port = g_strdup_printf ("%u", self->port);
  origin = g_strdup_printf ("http://127.0.0.1:%u", self->port);

  for (gsize i = 0; i < LARGE_BYTES; i++)
    large[i] = (char) ('a' + i % 23);
  bench_check (g_mkdir_with_parents (files, 0755) == 0, files, NULL);
  bench_write (self, "files/small", large, SMALL_BYTES);
  bench_write (self, "files/large", large, LARGE_BYTES);
  server = g_strdup_printf (server_configuration, top, top, top, top, top, top, self->port, top);
  bench_write (self, "server.conf", server, -1);
  proxy = g_strdup_printf (proxy_configuration, top, top, top, top, top, top, self->port, top);
  bench_write (self, "proxy.conf", proxy, -1);
  bench_write (self, "proxy.js", node_program, -1);

  bench_start (&self->targets[DIRECT], (const char *const[]){ "nginx", "-p", top, "-c", server_path, NULL });
  bench_start (&self->targets[NGINX], (const char *const[]){ "nginx", "-p", top, "-c", proxy_path, NULL });
  bench_start (&self->targets[NODE], (const char *const[]){ "node", node_path, node_socket, port, NULL });
  bench_start (&self->targets[GATEWAY], (const char *const[]){ program, "--serve", gateway_socket, origin, NULL });
  for (guint i = 0; i < N_TARGETS; i++)
    bench_wait_for (&self->targets[i]);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------------ */

typedef struct
{
  double begin;
  gsize  n_head;
  gint64 left; /* of the body; -1 in the head */
  char   head[4096];
} Answer;

static void
bench_send (int         fd,
            Answer     *answer,
            const char *request)
{
  answer->begin = bench_now ();
  answer->n_head = 0;
  answer->left = -1;
  bench_check (send (fd, request, strlen (request), MSG_NOSIGNAL) == (gssize) strlen (request), "to ask", NULL);
}

/* Whether all of it is there. */
static gboolean
bench_receive (int           fd,
               Answer       *answer,
               char         *buffer,
               const Target *target)
{
  static const char length[] = "content-length: ";
  gssize            n_read = recv (fd, buffer, READ_BYTES, 0);
  const char       *line = NULL;
  char             *end = NULL;
  gsize             n_taken = 0;

  bench_check (n_read > 0, target->name, NULL);
  if (answer->left < 0)
    {
      n_taken = MIN ((gsize) n_read, sizeof answer->head - 1 - answer->n_head);
      memcpy (answer->head + answer->n_head, buffer, n_taken);
      answer->n_head += n_taken;
      answer->head[answer->n_head] = '\0';
      end = strstr (answer->head, "\r\n\r\n");
      if (end == NULL)
        return FALSE;

      n_taken -= answer->n_head - (gsize) (end + 4 - answer->head);
      *end = '\0';
      if (!g_str_has_prefix (answer->head, "HTTP/1.1 200 "))
        g_printerr ("%s: %s\n", target->name, answer->head);
      bench_check (g_str_has_prefix (answer->head, "HTTP/1.1 200 "), target->name, NULL);
      for (line = answer->head; line != NULL; line = strchr (line, '\n'))
        {
          line += line[0] == '\n';
          if (g_ascii_strncasecmp (line, length, strlen (length)) == 0)
            answer->left = (gint64) g_ascii_strtoull (line + strlen (length), NULL, 10);
        }
      bench_check (answer->left >= 0, "an answer without a length", NULL);
    }
  answer->left -= n_read - (gssize) n_taken;
  bench_check (answer->left >= 0, "an answer that is longer than it said", NULL);

  return answer->left == 0;
}

/* Asks over @n_connections at once, each for so long that @us have gone by, once at least. Adds what each answer took to @times, and
 * returns how many there were in a second. */
static double
bench_ask (Bench        *self,
           const Target *target,
           const char   *file,
           guint         n_connections,
           double        us,
           GArray       *times)
{
  g_autofree char   *request = g_strdup_printf ("GET /%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n", file, self->port);
  g_autofree char   *buffer = g_malloc (READ_BYTES);
  g_autofree Answer *answers = g_new0 (Answer, n_connections);
  struct pollfd     *polled = g_newa (struct pollfd, n_connections);
  double             begin = bench_now ();
  guint              n_answers = 0;
  guint              n_open = n_connections;

  for (guint i = 0; i < n_connections; i++)
    {
      polled[i] = (struct pollfd){ bench_connect (target), POLLIN, 0 };
      bench_check (polled[i].fd >= 0, target->name, NULL);
      bench_send (polled[i].fd, &answers[i], request);
    }

  while (n_open > 0)
    {
      bench_check (poll (polled, n_connections, -1) > 0, "poll", NULL);
      for (guint i = 0; i < n_connections; i++)
        {
          double now;

          if (polled[i].revents == 0 || !bench_receive (polled[i].fd, &answers[i], buffer, target))
            continue;

          now = bench_now ();
          answers[i].begin = now - answers[i].begin;
          g_array_append_val (times, answers[i].begin);
          n_answers++;
          if (now - begin < us)
            bench_send (polled[i].fd, &answers[i], request);
          else
            {
              close (polled[i].fd);
              polled[i].fd = -1;
              n_open--;
            }
        }
    }

  return n_answers / (bench_now () - begin) * G_USEC_PER_SEC;
}

static void
bench_warm_up (Bench *self)
{
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; i < N_TARGETS; i++)
    {
      bench_ask (self, &self->targets[i], "small", MANY, WARM_UP_US, times);
      bench_ask (self, &self->targets[i], "large", 1, 0, times);
    }
}

/* ---- Rows -------------------------------------------------------------------------------------------------------------- */

static BenchRow *
bench_add (Bench      *self,
           TargetId    target,
           const char *what,
           const char *unit,
           const char *baseline)
{
  BenchRow *row = bench_rows_add (self->rows, g_strdup_printf ("%s-%s", self->targets[target].name, what), baseline);

  row->unit = unit;

  return row;
}

static double
bench_median (GArray *values)
{
  bench_sort (values);

  return bench_percentile (values, 50);
}

/* One request after the other: how long it takes, and how much of that is the proxy. */
static void
bench_measure_latency (Bench *self)
{
  BenchRow *rows[N_TARGETS];
  double    direct;
  BenchRow *added;

  rows[DIRECT] = bench_add (self, DIRECT, "get", NULL, NULL);
  rows[NGINX] = bench_add (self, NGINX, "get", NULL, "direct-get");
  rows[NODE] = bench_add (self, NODE, "get", NULL, "direct-get");
  rows[GATEWAY] = bench_add (self, GATEWAY, "get", NULL, "direct-get");
  /* In many short turns, as it is a matter of chance for each of them whether both ends share a processor. */
  for (guint turn = 0; turn < self->rounds * SHORT_TURNS; turn++)
    for (guint i = 0; i < N_TARGETS; i++)
      bench_ask (self, &self->targets[i], "small", 1, TURN_US / SHORT_TURNS, rows[i]->times);

  direct = bench_median (rows[DIRECT]->times);
  added = bench_add (self, NGINX, "get-added", "us", NULL);
  added->value = bench_median (rows[NGINX]->times) - direct;
  added = bench_add (self, GATEWAY, "get-added", "us", "nginx-get-added");
  added->value = bench_median (rows[GATEWAY]->times) - direct;
  added->at_most = 3;
}

static void
bench_measure_throughput (Bench *self)
{
  BenchRow *rows[N_TARGETS];
  GArray   *rates[N_TARGETS];

  rows[DIRECT] = bench_add (self, DIRECT, "get-16", "/s", NULL);
  rows[NGINX] = bench_add (self, NGINX, "get-16", "/s", "direct-get-16");
  rows[NODE] = bench_add (self, NODE, "get-16", "/s", "direct-get-16");
  rows[GATEWAY] = bench_add (self, GATEWAY, "get-16", "/s", "node-get-16");
  rows[GATEWAY]->at_least = 0.7;
  for (guint i = 0; i < N_TARGETS; i++)
    rates[i] = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint round = 0; round < self->rounds; round++)
    for (guint i = 0; i < N_TARGETS; i++)
      {
        double rate = bench_ask (self, &self->targets[i], "small", MANY, TURN_US, rows[i]->times);

        g_array_append_val (rates[i], rate);
      }

  for (guint i = 0; i < N_TARGETS; i++)
    {
      rows[i]->value = bench_median (rates[i]);
      g_array_unref (rates[i]);
    }
}

static void
bench_measure_body (Bench *self)
{
  BenchRow *rows[N_TARGETS];

  rows[DIRECT] = bench_add (self, DIRECT, "64m", "MiB/s", NULL);
  rows[NGINX] = bench_add (self, NGINX, "64m", "MiB/s", "direct-64m");
  rows[NODE] = bench_add (self, NODE, "64m", "MiB/s", "direct-64m");
  rows[GATEWAY] = bench_add (self, GATEWAY, "64m", "MiB/s", "nginx-64m");
  rows[GATEWAY]->at_least = 0.8;
  for (guint round = 0; round < self->rounds; round++)
    for (guint i = 0; i < N_TARGETS; i++)
      bench_ask (self, &self->targets[i], "large", 1, 0, rows[i]->times);

  for (guint i = 0; i < N_TARGETS; i++)
    rows[i]->value = LARGE_BYTES / bench_median (rows[i]->times) * G_USEC_PER_SEC / (1024 * 1024);
}

/* In MiB */
static double
bench_read_memory (const Target *target,
                   const char   *key)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int) target->pid);
  g_autofree char *status = NULL;
  g_autoptr (GError) error = NULL;
  const char *line;

  bench_check (g_file_get_contents (path, &status, NULL, &error), path, error);
  line = strstr (status, key);
  bench_check (line != NULL, key, NULL);

  return g_ascii_strtoull (line + strlen (key), NULL, 10) / 1024.0;
}

/* How much more a process ever had while it passed on 16 large bodies than it had before. */
static void
bench_measure_memory (Bench *self)
{
  static const TargetId order[] = { NGINX, NODE, GATEWAY };

  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    {
      const Target    *target = &self->targets[order[i]];
      BenchRow        *row = bench_add (self, order[i], "16-64m-memory", "MiB", NULL);
      g_autofree char *path = g_strdup_printf ("/proc/%d/clear_refs", (int) target->pid);
      double           before = bench_read_memory (target, "VmRSS:");
      int              fd = open (path, O_WRONLY | O_CLOEXEC);

      /* The peak begins anew. */
      bench_check (fd >= 0 && write (fd, "5", 1) == 1, path, NULL);
      close (fd);
      bench_ask (self, target, "large", MANY, 0, row->times);
      row->value = bench_read_memory (target, "VmHWM:") - before;
      if (order[i] == GATEWAY)
        row->at_most = 16;
    }
}

int
main (int    argc,
      char **argv)
{
  gboolean json = FALSE;
  int      rounds = 10;
  g_auto (GStrv) served = NULL;
  gboolean           serves = FALSE;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print the rows as JSON", NULL },
    { "rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "How often each proxy has its turn (10)", "N" },
    { "serve", 0, 0, G_OPTION_ARG_NONE, &serves, "Be the host of a gateway", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &served, NULL, "[SOCKET ORIGIN]" },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) rows = bench_rows_new ();
  g_autofree char *top = NULL;
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  Bench            self = { .rows = rows, .targets = { { "direct" }, { "gateway" }, { "nginx" }, { "node" } } };
  guint            n_missed = 0;

  g_option_context_add_main_entries (context, entries, NULL);
  bench_check (g_option_context_parse (context, &argc, &argv, &error), "options", error);
  bench_check (rounds > 0 && (served != NULL ? g_strv_length (served) : 0) == (serves ? 2 : 0), "options", NULL);
  if (serves)
    return serve (served[0], served[1]);

  top = g_dir_make_tmp ("sandbox-bench-XXXXXX", &error);
  bench_check (top != NULL, "a directory", error);
  self.top = top;
  self.rounds = (guint) rounds;

  bench_start_all (&self, program);
  bench_warm_up (&self);
  bench_measure_latency (&self);
  bench_measure_throughput (&self);
  bench_measure_body (&self);
  bench_measure_memory (&self);
  for (guint i = 0; i < N_TARGETS; i++)
    bench_end (&self.targets[i]);

  bench_rows_finish (rows);
  if (json)
    bench_rows_print_json (rows);
  else
    n_missed = bench_rows_print_table (rows, self.rounds);
  bench_remove (top);

  return n_missed > 0 ? 1 : 0;
}
