/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * How commands come to their ends over agents that come to theirs: what is proven not to have run is tried again, what may
 * have run never is. The agents are this program's, with a real process for each that is process 1 of something.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox-agent-driver.h"
#include "sandbox-agent-protocol.h"
#include "sandbox-command-private.h"
#include "sandbox-gateway.h"
#include "sandbox-process-private.h"
#include "sandbox-request-private.h"
#include "sandbox-worker.h"
#include "sandbox-workspace-path.h"
#include "../common/test-helpers.h"

/* More than a sandbox is asked for at once */
#define N_STARTS 64

/* ---- A gateway that only tells what it was given ---- */

typedef struct _FakeGateway
{
  GObject parent_instance;

  GMutex     lock;
  GPtrArray *doors;
  guint      n_removed;
} FakeGateway;

typedef struct
{
  GObjectClass parent_class;
} FakeGatewayClass;

static void fake_gateway_iface_init (SandboxGatewayInterface *iface);

GType fake_gateway_get_type (void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FakeGateway, g_object_unref)
/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (FakeGateway, fake_gateway, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_GATEWAY, fake_gateway_iface_init))
/* clang-format on */

static void
fake_gateway_add_door (SandboxGateway *gateway,
                       GSocket        *door)
{
  FakeGateway *self = (FakeGateway *) gateway;

  g_mutex_lock (&self->lock);
  g_assert_false (g_ptr_array_find (self->doors, door, NULL));
  g_ptr_array_add (self->doors, g_object_ref (door));
  g_mutex_unlock (&self->lock);
}

static void
fake_gateway_remove_door (SandboxGateway *gateway,
                          GSocket        *door)
{
  FakeGateway *self = (FakeGateway *) gateway;

  g_mutex_lock (&self->lock);
  g_assert_true (g_ptr_array_remove (self->doors, door));
  self->n_removed++;
  g_mutex_unlock (&self->lock);
}

static void
fake_gateway_iface_init (SandboxGatewayInterface *iface)
{
  iface->add_door = fake_gateway_add_door;
  iface->remove_door = fake_gateway_remove_door;
}

static void
fake_gateway_finalize (GObject *object)
{
  FakeGateway *self = (FakeGateway *) object;

  g_ptr_array_unref (self->doors);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (fake_gateway_parent_class)->finalize (object);
}

static void
fake_gateway_class_init (FakeGatewayClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = fake_gateway_finalize;
}

static void
fake_gateway_init (FakeGateway *self)
{
  g_mutex_init (&self->lock);
  self->doors = g_ptr_array_new_with_free_func (g_object_unref);
}

static guint
fake_gateway_count (FakeGateway *self)
{
  guint count = 0;

  g_mutex_lock (&self->lock);
  count = self->doors->len;
  g_mutex_unlock (&self->lock);

  return count;
}

/* ---- A driver whose sandboxes are the test's ---- */

typedef struct
{
  SandboxAgentDriver parent_instance;

  SandboxAgentChannelFlags doors;    /* of each channel */
  GAsyncQueue             *sockets;  /* of int + 1: the other end of each channel */
  GPid                     launcher; /* of the next channel; 0: none */
} FakeDriver;

typedef struct
{
  SandboxAgentDriverClass parent_class;
} FakeDriverClass;

GType fake_driver_get_type (void);
G_DEFINE_TYPE (FakeDriver, fake_driver, SANDBOX_TYPE_AGENT_DRIVER)

static gboolean
fake_driver_open_channel (SandboxAgentDriver *driver,
                          SandboxRequest     *request,
                          GError            **error)
{
  FakeDriver *self = (FakeDriver *) driver;
  g_autoptr (SandboxAgentChannel) channel = NULL;
  int sockets[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), ==, 0);
  channel = sandbox_agent_channel_new_take_fd (sockets[0],
                                               self->doors | (sandbox_agent_driver_get_nested (driver) ? SANDBOX_AGENT_CHANNEL_FLAGS_SLOTS
                                                                                                       : SANDBOX_AGENT_CHANNEL_FLAGS_NONE));
  if (self->launcher != 0)
    sandbox_agent_channel_take_launcher (channel, (int) syscall (SYS_pidfd_open, self->launcher, 0), -1);
  g_async_queue_push (self->sockets, GINT_TO_POINTER (sockets[1] + 1));
  sandbox_request_return_object (request, G_OBJECT (channel));

  return TRUE;
}

static void
fake_driver_finalize (GObject *object)
{
  FakeDriver *self = (FakeDriver *) object;

  g_assert_cmpint (g_async_queue_length (self->sockets), ==, 0);
  g_async_queue_unref (self->sockets);

  G_OBJECT_CLASS (fake_driver_parent_class)->finalize (object);
}

static void
fake_driver_class_init (FakeDriverClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = fake_driver_finalize;
  SANDBOX_AGENT_DRIVER_CLASS (klass)->open_channel = fake_driver_open_channel;
}

static void
fake_driver_init (FakeDriver *self)
{
  self->sockets = g_async_queue_new ();
}

/* ---- The agents ---- */

typedef struct
{
  int   socket_fd;
  GPid  pid; /* its process 1; 0: none */
  char *buffer;
} Agent;

static Agent *
agent_new (int socket_fd)
{
  Agent *self = g_new0 (Agent, 1);

  self->socket_fd = socket_fd;
  self->buffer = g_malloc (SANDBOX_AGENT_PACKET_MAX);

  return self;
}

/* The end of the socket comes before that of the process, as it does with the kernel. */
static void
agent_end (Agent *self)
{
  close (self->socket_fd);
  if (self->pid != 0)
    {
      kill (self->pid, SIGKILL);
      g_assert_cmpint (waitpid (self->pid, NULL, 0), ==, self->pid);
    }
  g_free (self->buffer);
  g_free (self);
}

static void
agent_send (Agent              *self,
            SandboxAgentPacket *packet)
{
  g_assert_true (sandbox_agent_send (self->socket_fd, packet, self->buffer, SANDBOX_AGENT_PACKET_MAX));
  sandbox_agent_packet_close_fds (packet);
}

static void
agent_begin (Agent              *self,
             SandboxAgentPacket *hello)
{
  const char *const argv[] = { "sleep", "1000", NULL };
  g_autoptr (GError) error = NULL;

  g_spawn_async (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &self->pid, &error);
  g_assert_no_error (error);
  *hello = (SandboxAgentPacket){ .type = SANDBOX_AGENT_HELLO, .n_fds = 1 };
  hello->fds[0] = (int) syscall (SYS_pidfd_open, self->pid, 0);
  g_assert_cmpint (hello->fds[0], >=, 0);
}

static void
agent_hello (Agent *self)
{
  SandboxAgentPacket packet;

  agent_begin (self, &packet);
  agent_send (self, &packet);
}

/* Its process 1 has been killed. */
static void
agent_wait_killed (Agent *self)
{
  test_wait (waitpid (self->pid, NULL, WNOHANG) == self->pid);
  self->pid = 0;
}

static void
agent_ready (Agent *self)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_READY, .n_fds = 1 };

  packet.fds[0] = dup (self->socket_fd);
  agent_send (self, &packet);
}

/* What the host says next; it is told to be of @type. */
static void
agent_expect (Agent              *self,
              SandboxAgentType    type,
              SandboxAgentPacket *packet)
{
  struct pollfd poll_fd = { self->socket_fd, POLLIN, 0 };

  g_assert_cmpint (poll (&poll_fd, 1, TEST_LIMIT_US / 1000), ==, 1);
  g_assert_cmpint (sandbox_agent_receive (self->socket_fd, SANDBOX_AGENT_FROM_HOST, self->buffer, SANDBOX_AGENT_PACKET_MAX, packet),
                   ==, SANDBOX_AGENT_RECEIVED);
  g_assert_cmpint (packet->type, ==, type);
}

static void
agent_wait (Agent *self)
{
  struct pollfd poll_fd = { self->socket_fd, POLLIN, 0 };

  g_assert_cmpint (poll (&poll_fd, 1, TEST_LIMIT_US / 1000), ==, 1);
}

static void
agent_read_exec (Agent *self)
{
  SandboxAgentPacket packet;

  agent_expect (self, SANDBOX_AGENT_EXEC, &packet);
  sandbox_agent_packet_close_fds (&packet);
}

/* The command runs to its end. */
static void
agent_run (Agent *self)
{
  SandboxAgentPacket started = { .type = SANDBOX_AGENT_STARTED };
  SandboxAgentPacket exited = { .type = SANDBOX_AGENT_EXITED, .exited = { .wait_status = 7 << 8 } };

  agent_read_exec (self);
  agent_send (self, &started);
  agent_send (self, &exited);
  agent_end (self);
}

/* ---- Commands ---- */

typedef struct
{
  FakeDriver     *driver;
  guint           descriptors;
  GCancellable   *cancellable; /* nullable */
  gboolean        has_input;
  SandboxProcess *process;
  GError         *error;
  gint            answered; /* atomic */
} Fixture;

static void
fixture_set_up (Fixture      *self,
                gconstpointer nested)
{
  /* What the library and this thread have for good is there already. */
  sandbox_get_worker_context ();
  g_main_context_iteration (NULL, FALSE);
  self->descriptors = test_count_descriptors ();
  self->driver = g_object_new (fake_driver_get_type (), "nested", nested != NULL, "armed-slots", 0, NULL);
}

static void
fixture_closed (gpointer      user_data,
                gpointer      answer,
                const GError *error)
{
  Fixture *self = user_data;

  g_assert_no_error (error);
  g_atomic_int_set (&self->answered, TRUE);
}

static void
fixture_tear_down (Fixture      *self,
                   gconstpointer nested)
{
  g_autoptr (SandboxRequest) request = sandbox_request_new_internal (G_TYPE_NONE, NULL, fixture_closed, self);

  self->answered = FALSE;
  g_assert_true (SANDBOX_DRIVER_GET_IFACE (self->driver)->close (SANDBOX_DRIVER (self->driver), request, NULL));
  sandbox_request_dispatched (request, TRUE, NULL);
  test_wait (g_atomic_int_get (&self->answered));
  g_clear_object (&self->process);
  g_clear_error (&self->error);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->driver);
  test_assert_descriptors (self->descriptors);
}

static void
fixture_started (gpointer      user_data,
                 gpointer      answer,
                 const GError *error)
{
  Fixture *self = user_data;

  g_assert_false (g_atomic_int_get (&self->answered));
  g_set_object (&self->process, answer);
  self->error = error != NULL ? g_error_copy (error) : NULL;
  g_atomic_int_set (&self->answered, TRUE);
}

static void
fixture_spawn (Fixture *self)
{
  const char *const argv[] = { "true", NULL };
  g_autoptr (SandboxCommand) given = sandbox_command_new (argv);
  g_autoptr (SandboxCommand) command = sandbox_command_freeze_for_driver (given, SANDBOX_WORKSPACE_PATH, NULL, NULL, self->has_input);
  g_autoptr (SandboxRequest) request = sandbox_request_new_internal (SANDBOX_TYPE_PROCESS, self->cancellable, fixture_started, self);
  g_autoptr (GError) error = NULL;

  sandbox_request_set_limits (request, SANDBOX_REQUEST_TIME_LIMIT_MS, TEST_LIMIT_US / 1000);
  g_assert_true (SANDBOX_DRIVER_GET_IFACE (self->driver)->spawn (SANDBOX_DRIVER (self->driver), command, request, &error));
  g_assert_no_error (error);
  sandbox_request_dispatched (request, TRUE, NULL);
}

/* The agent of the next sandbox; it has read what to prepare, if that is not refused. */
static Agent *
fixture_next_silent (Fixture *self)
{
  gpointer socket_fd = g_async_queue_timeout_pop (self->driver->sockets, TEST_LIMIT_US);

  g_assert_nonnull (socket_fd);

  return agent_new (GPOINTER_TO_INT (socket_fd) - 1);
}

static Agent *
fixture_next (Fixture *self)
{
  Agent             *agent = fixture_next_silent (self);
  SandboxAgentPacket packet;

  agent_expect (agent, SANDBOX_AGENT_SETUP, &packet);
  sandbox_agent_packet_close_fds (&packet);
  agent_hello (agent);

  return agent;
}

static Agent *
fixture_next_ready (Fixture *self)
{
  Agent *agent = fixture_next (self);

  agent_ready (agent);

  return agent;
}

static Agent *
fixture_next_slot (Agent *sandbox)
{
  SandboxAgentPacket packet;

  agent_expect (sandbox, SANDBOX_AGENT_ARM, &packet);

  return agent_new (packet.fds[0]);
}

static void
fixture_assert_ran (Fixture *self)
{
  SandboxResult *result = NULL;

  test_wait (g_atomic_int_get (&self->answered));
  g_assert_no_error (self->error);
  test_wait ((result = sandbox_process_get_result (self->process)) != NULL);
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_EXITED);
  g_assert_cmpint (sandbox_result_get_exit_status (result), ==, 7);
}

static void
fixture_assert_lost (Fixture *self)
{
  SandboxResult *result = NULL;

  test_wait (g_atomic_int_get (&self->answered));
  g_assert_no_error (self->error);
  test_wait ((result = sandbox_process_get_result (self->process)) != NULL);
  g_assert_cmpint (sandbox_result_get_outcome (result), ==, SANDBOX_OUTCOME_LOST);
}

static void
fixture_assert_unavailable (Fixture *self)
{
  test_wait (g_atomic_int_get (&self->answered));
  g_assert_error (self->error, SANDBOX_ERROR, SANDBOX_ERROR_UNAVAILABLE);
}

/* No other slot was asked for, and no other sandbox. */
static void
fixture_assert_quiet (Fixture *self,
                      Agent   *sandbox)
{
  struct pollfd poll_fd = { sandbox->socket_fd, POLLIN, 0 };

  g_assert_cmpint (poll (&poll_fd, 1, 100), ==, 0);
  g_assert_cmpint (g_async_queue_length (self->driver->sockets), ==, 0);
}

static void
test_slot_unread (Fixture      *self,
                  gconstpointer nested)
{
  Agent *sandbox = NULL;
  Agent *slot = NULL;

  g_test_summary ("A command whose slot ends before it has read it runs in another one");

  fixture_spawn (self);
  sandbox = fixture_next_ready (self);
  slot = fixture_next_slot (sandbox);
  agent_hello (slot);
  agent_wait (slot);
  agent_end (slot);
  slot = fixture_next_slot (sandbox);
  agent_hello (slot);
  agent_run (slot);
  fixture_assert_ran (self);
  fixture_assert_quiet (self, sandbox);
  agent_end (sandbox);
}

static void
test_slot_mute (Fixture      *self,
                gconstpointer nested)
{
  Agent *sandbox = NULL;
  Agent *slot = NULL;

  g_test_summary ("So does one whose slot never said a word, twice; three times is enough, and says so");

  for (guint i = 2; i < 4; i++)
    {
      fixture_spawn (self);
      if (sandbox == NULL)
        sandbox = fixture_next_ready (self);
      for (guint j = 0; j < i; j++)
        agent_end (fixture_next_slot (sandbox));
      if (i == 2)
        {
          slot = fixture_next_slot (sandbox);
          agent_hello (slot);
          agent_run (slot);
          fixture_assert_ran (self);
          g_clear_object (&self->process);
          self->answered = FALSE;
        }
    }
  fixture_assert_unavailable (self);
  fixture_assert_quiet (self, sandbox);
  agent_end (sandbox);
}

static void
test_slot_read (Fixture      *self,
                gconstpointer nested)
{
  Agent *sandbox = NULL;
  Agent *slot = NULL;

  g_test_summary ("A command that was read may have run, whatever is not said: its end is LOST, and it never runs again");

  fixture_spawn (self);
  sandbox = fixture_next_ready (self);
  slot = fixture_next_slot (sandbox);
  agent_hello (slot);
  agent_read_exec (slot);
  agent_end (slot);
  fixture_assert_lost (self);
  fixture_assert_quiet (self, sandbox);
  agent_end (sandbox);
}

/* Cancels the start; nobody is told for as long as its agent may still become one. */
static void
fixture_cancel (Fixture *self)
{
  const gint64 end = g_get_monotonic_time () + 200 * G_TIME_SPAN_MILLISECOND;

  g_cancellable_cancel (self->cancellable);
  while (g_get_monotonic_time () < end)
    {
      g_main_context_iteration (NULL, FALSE);
      g_assert_false (g_atomic_int_get (&self->answered));
      g_usleep (1000);
    }
}

static void
fixture_assert_cancelled (Fixture *self)
{
  test_wait (g_atomic_int_get (&self->answered));
  g_assert_error (self->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&self->error);
  g_clear_object (&self->cancellable);
  self->cancellable = g_cancellable_new ();
  self->answered = FALSE;
}

static void
test_slot_cancelled (Fixture      *self,
                     gconstpointer nested)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_HELLO, .n_fds = 1 };
  Agent             *sandbox = NULL;
  Agent             *slot = NULL;
  int                socket_fd = -1;

  g_test_summary ("A start that is cancelled before its slot is there comes to its end with the slot, which can say nothing any more");

  self->cancellable = g_cancellable_new ();
  fixture_spawn (self);
  sandbox = fixture_next_ready (self);
  agent_wait (sandbox);
  fixture_cancel (self);
  slot = fixture_next_slot (sandbox);
  packet.fds[0] = socket_fd = dup (sandbox->socket_fd);
  g_assert_false (sandbox_agent_send (slot->socket_fd, &packet, slot->buffer, SANDBOX_AGENT_PACKET_MAX));
  g_assert_cmpint (errno, ==, EPIPE);
  close (socket_fd);
  g_assert_false (g_atomic_int_get (&self->answered));
  agent_end (slot);
  fixture_assert_cancelled (self);

  /* One that is there is killed. */
  fixture_spawn (self);
  slot = fixture_next_slot (sandbox);
  agent_hello (slot);
  g_cancellable_cancel (self->cancellable);
  agent_wait_killed (slot);
  fixture_assert_cancelled (self);
  agent_end (slot);

  /* With the sandbox go those that it was still to make. */
  fixture_spawn (self);
  agent_wait (sandbox);
  fixture_cancel (self);
  agent_end (sandbox);
  fixture_assert_cancelled (self);
}

static void
test_slot_turns (Fixture      *self,
                 gconstpointer nested)
{
  Fixture starts[N_STARTS] = { { 0 } };
  guint   descriptors = 0;
  guint   n_asked = 0;
  Agent  *sandbox = NULL;
  g_autoptr (GPtrArray) slots = g_ptr_array_new ();

  g_test_summary ("A sandbox is asked for some slots at a time; the starts that come meanwhile take their turn, or are cancelled at once");

  for (guint i = 0; i < N_STARTS; i++)
    {
      starts[i].driver = self->driver;
      starts[i].cancellable = g_cancellable_new ();
      fixture_spawn (&starts[i]);
    }
  sandbox = fixture_next (self);
  descriptors = test_count_descriptors ();
  agent_ready (sandbox);
  agent_wait (sandbox);
  g_usleep (100 * G_TIME_SPAN_MILLISECOND);
  /* A socket and two pipes each */
  n_asked = (test_count_descriptors () - descriptors) / 3;
  g_test_message ("asked for %u of %u slots at once", n_asked, N_STARTS);
  g_assert_cmpuint (n_asked, >, 1);
  g_assert_cmpuint (n_asked, <, N_STARTS / 2);
  /* It is the last of those who wait. */
  g_cancellable_cancel (starts[N_STARTS - 1].cancellable);
  fixture_assert_cancelled (&starts[N_STARTS - 1]);
  for (guint i = 0; i < N_STARTS - 1; i++)
    g_ptr_array_add (slots, fixture_next_slot (sandbox));
  for (guint i = 0; i < N_STARTS - 1; i++)
    {
      agent_hello (slots->pdata[i]);
      agent_run (slots->pdata[i]);
    }
  for (guint i = 0; i < N_STARTS - 1; i++)
    fixture_assert_ran (&starts[i]);
  fixture_assert_quiet (self, sandbox);
  agent_end (sandbox);
  for (guint i = 0; i < N_STARTS; i++)
    {
      g_clear_object (&starts[i].process);
      g_clear_object (&starts[i].cancellable);
    }
}

/* More than all that run beside these tests send to each other: of those who send descriptors the kernel lets nobody have
 * more on their way than this limit, and counts all that the user has. */
#define N_DESCRIPTORS_MAX 4096

typedef struct
{
  struct rlimit limit;
  GArray       *taken;
} Descriptors;

/* From now on this program can open nothing. */
static void
descriptors_use_up (Descriptors *self)
{
  struct rlimit lower;

  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &self->limit), ==, 0);
  lower = self->limit;
  lower.rlim_cur = MIN (lower.rlim_cur, N_DESCRIPTORS_MAX);
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &lower), ==, 0);
  self->taken = g_array_new (FALSE, FALSE, sizeof (int));
  for (int taken = dup (STDIN_FILENO); taken >= 0; taken = dup (STDIN_FILENO))
    g_array_append_val (self->taken, taken);
  g_assert_cmpint (errno, ==, EMFILE);
}

static void
descriptors_give_back (Descriptors *self)
{
  for (guint i = 0; i < self->taken->len; i++)
    close (g_array_index (self->taken, int, i));
  g_clear_pointer (&self->taken, g_array_unref);
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &self->limit), ==, 0);
}

static void
test_slot_hidden (Fixture      *self,
                  gconstpointer nested)
{
  SandboxAgentPacket hello;
  Descriptors        descriptors;
  Agent             *sandbox = NULL;
  Agent             *slot = NULL;

  g_test_summary ("A command whose process 1 the host has no descriptor left for may run: the whole sandbox goes, and its end is LOST");

  self->has_input = TRUE;
  fixture_spawn (self);
  sandbox = fixture_next_ready (self);
  slot = fixture_next_slot (sandbox);
  agent_read_exec (slot);
  agent_begin (slot, &hello);
  descriptors_use_up (&descriptors);
  g_assert_true (sandbox_agent_send (slot->socket_fd, &hello, slot->buffer, SANDBOX_AGENT_PACKET_MAX));
  agent_wait_killed (sandbox);
  descriptors_give_back (&descriptors);
  sandbox_agent_packet_close_fds (&hello);
  fixture_assert_lost (self);
  agent_end (slot);
  agent_end (sandbox);
  g_clear_object (&self->process);

  /* Without an input one was kept. */
  self->has_input = FALSE;
  self->answered = FALSE;
  fixture_spawn (self);
  sandbox = fixture_next_ready (self);
  slot = fixture_next_slot (sandbox);
  agent_begin (slot, &hello);
  descriptors_use_up (&descriptors);
  g_assert_true (sandbox_agent_send (slot->socket_fd, &hello, slot->buffer, SANDBOX_AGENT_PACKET_MAX));
  g_usleep (50 * G_TIME_SPAN_MILLISECOND);
  descriptors_give_back (&descriptors);
  sandbox_agent_packet_close_fds (&hello);
  agent_run (slot);
  fixture_assert_ran (self);
  agent_end (sandbox);
}

static void
test_slot_hidden_idle (Fixture      *self,
                       gconstpointer nested)
{
  Descriptors descriptors;
  Agent      *sandbox = NULL;
  Agent      *slot = NULL;
  Agent      *armed = NULL;

  g_test_summary ("One that was not sent its command is told to end, and nobody else is harmed");

  g_clear_object (&self->driver);
  self->driver = g_object_new (fake_driver_get_type (), "nested", TRUE, "armed-slots", 1, NULL);
  fixture_spawn (self);
  sandbox = fixture_next_ready (self);
  slot = fixture_next_slot (sandbox);
  agent_hello (slot);
  agent_run (slot);
  fixture_assert_ran (self);
  g_clear_object (&self->process);
  armed = fixture_next_slot (sandbox);
  agent_hello (armed);

  self->answered = FALSE;
  descriptors_use_up (&descriptors);
  fixture_spawn (self);
  agent_expect (armed, SANDBOX_AGENT_BYE, &(SandboxAgentPacket){ .n_fds = 0 });
  descriptors_give_back (&descriptors);
  g_assert_false (g_atomic_int_get (&self->answered));
  agent_end (armed);
  test_wait (g_atomic_int_get (&self->answered));
  g_assert_nonnull (self->error);
  g_assert_nonnull (strstr (self->error->message, "streams"));
  g_clear_error (&self->error);

  armed = fixture_next_slot (sandbox);
  self->answered = FALSE;
  fixture_spawn (self);
  agent_hello (armed);
  agent_run (armed);
  fixture_assert_ran (self);
  agent_end (sandbox);
}

static void
test_hidden_alone (Fixture      *self,
                   gconstpointer nested)
{
  SandboxAgentPacket hello;
  Descriptors        descriptors;
  Agent             *agent = NULL;
  Agent             *silent = NULL;

  g_test_summary ("One that is in nothing is told to end, and its command's end is LOST when it has");

  self->has_input = TRUE;
  fixture_spawn (self);
  agent = fixture_next_silent (self);
  agent_expect (agent, SANDBOX_AGENT_SETUP, &(SandboxAgentPacket){ .n_fds = 0 });
  agent_read_exec (agent);
  agent_begin (agent, &hello);
  descriptors_use_up (&descriptors);
  g_assert_true (sandbox_agent_send (agent->socket_fd, &hello, agent->buffer, SANDBOX_AGENT_PACKET_MAX));
  agent_expect (agent, SANDBOX_AGENT_BYE, &(SandboxAgentPacket){ .n_fds = 0 });
  descriptors_give_back (&descriptors);
  sandbox_agent_packet_close_fds (&hello);
  test_wait (g_atomic_int_get (&self->answered));
  g_assert_no_error (self->error);
  g_assert_null (sandbox_process_get_result (self->process));
  agent_end (agent);
  fixture_assert_lost (self);
  g_clear_object (&self->process);

  /* Garbage after a HELLO, from somebody who has read the command */
  self->answered = FALSE;
  fixture_spawn (self);
  silent = fixture_next (self);
  agent_read_exec (silent);
  g_assert_cmpint (send (silent->socket_fd, "garbage", 7, MSG_NOSIGNAL), ==, 7);
  agent_wait_killed (silent);
  agent_end (silent);
  fixture_assert_lost (self);
}

static void
test_sandbox_dies (Fixture      *self,
                   gconstpointer nested)
{
  Agent *sandbox = NULL;
  Agent *slot = NULL;

  g_test_summary ("With a sandbox that dies go its slots: what they have not read runs in the next one");

  fixture_spawn (self);
  sandbox = fixture_next_ready (self);
  slot = fixture_next_slot (sandbox);
  agent_hello (slot);
  agent_wait (slot);
  close (sandbox->socket_fd);
  sandbox->socket_fd = -1;
  agent_end (slot);
  agent_end (sandbox);
  sandbox = fixture_next_ready (self);
  slot = fixture_next_slot (sandbox);
  agent_hello (slot);
  agent_run (slot);
  fixture_assert_ran (self);
  fixture_assert_quiet (self, sandbox);

  /* Nobody has a command in it when this one dies, and a command is the first to find that out. */
  agent_end (sandbox);
  g_clear_object (&self->process);
  self->answered = FALSE;
  fixture_spawn (self);
  sandbox = fixture_next_ready (self);
  slot = fixture_next_slot (sandbox);
  agent_hello (slot);
  agent_run (slot);
  fixture_assert_ran (self);
  agent_end (sandbox);
}

static void
test_sandbox_unready (Fixture      *self,
                      gconstpointer nested)
{
  Agent *sandbox = NULL;
  Agent *slot = NULL;

  g_test_summary ("A sandbox that is killed while it is built is built again, twice");

  for (guint i = 2; i < 4; i++)
    {
      fixture_spawn (self);
      for (guint j = 0; j < i; j++)
        agent_end (fixture_next (self));
      if (i == 2)
        {
          sandbox = fixture_next_ready (self);
          slot = fixture_next_slot (sandbox);
          agent_hello (slot);
          agent_run (slot);
          fixture_assert_ran (self);
          g_clear_object (&self->process);
          self->answered = FALSE;
          agent_end (sandbox);
        }
    }
  fixture_assert_unavailable (self);
  g_assert_cmpint (g_async_queue_length (self->driver->sockets), ==, 0);
}

static void
test_sandbox_refused (Fixture      *self,
                      gconstpointer nested)
{
  SandboxAgentPacket failed = { .type = SANDBOX_AGENT_FAILED, .failed = { SANDBOX_AGENT_STEP_MOUNT, EPERM, 0 } };
  Agent             *sandbox = NULL;

  g_test_summary ("A sandbox that cannot be built is not tried again");

  fixture_spawn (self);
  agent_end (fixture_next_silent (self));
  fixture_assert_unavailable (self);

  g_clear_error (&self->error);
  self->answered = FALSE;
  fixture_spawn (self);
  sandbox = fixture_next (self);
  agent_send (sandbox, &failed);
  agent_end (sandbox);
  fixture_assert_unavailable (self);
  g_assert_nonnull (strstr (self->error->message, "step: mount"));
  g_assert_cmpint (g_async_queue_length (self->driver->sockets), ==, 0);
}

static void
test_alone (Fixture      *self,
            gconstpointer nested)
{
  Agent *agent = NULL;

  g_test_summary ("A sandbox for one command that dies before it has read it is UNAVAILABLE, and then LOST");

  fixture_spawn (self);
  agent = fixture_next (self);
  agent_wait (agent);
  agent_end (agent);
  fixture_assert_unavailable (self);
  g_clear_error (&self->error);

  self->answered = FALSE;
  fixture_spawn (self);
  agent = fixture_next (self);
  agent_read_exec (agent);
  agent_end (agent);
  fixture_assert_lost (self);
  g_clear_object (&self->process);

  self->answered = FALSE;
  fixture_spawn (self);
  agent_run (fixture_next (self));
  fixture_assert_ran (self);
  g_assert_cmpint (g_async_queue_length (self->driver->sockets), ==, 0);
}

static void
test_alone_launched (Fixture      *self,
                     gconstpointer nested)
{
  const char *const argv[] = { "sleep", "1000", NULL };
  const gint64      end = g_get_monotonic_time () + 50 * G_TIME_SPAN_MILLISECOND;
  g_autoptr (GError) error = NULL;
  Agent *agent = NULL;

  g_test_summary ("Why such a sandbox died is told by the end of its launcher, which comes last");

  g_spawn_async (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &self->driver->launcher, &error);
  g_assert_no_error (error);
  fixture_spawn (self);
  agent = fixture_next (self);
  agent_wait (agent);
  agent_end (agent);
  while (g_get_monotonic_time () < end)
    {
      g_assert_false (g_atomic_int_get (&self->answered));
      g_usleep (1000);
    }
  kill (self->driver->launcher, SIGKILL);
  fixture_assert_unavailable (self);
  g_assert_nonnull (strstr (self->error->message, "signal 9"));
}

/* ---- Doors ---- */

#define TWO_DOORS (SANDBOX_AGENT_CHANNEL_FLAGS_DOOR | SANDBOX_AGENT_CHANNEL_FLAGS_LOOPBACK_DOOR)

static int
door_new (int      family,
          int      type,
          gboolean listens)
{
  int fd = socket (family, type | SOCK_CLOEXEC, 0);

  g_assert_cmpint (fd, >=, 0);
  if (listens && family == AF_UNIX)
    {
      const sa_family_t any = AF_UNIX; /* a name that is nobody's */

      g_assert_cmpint (bind (fd, (const struct sockaddr *) &any, sizeof any), ==, 0);
    }
  if (listens)
    g_assert_cmpint (listen (fd, 1), ==, 0);

  return fd;
}

static void
agent_listen (Agent *self,
              guint  n_doors)
{
  SandboxAgentPacket packet = { .type = SANDBOX_AGENT_LISTEN, .n_fds = n_doors };

  for (guint i = 0; i < n_doors; i++)
    packet.fds[i] = door_new (i == 0 ? AF_UNIX : AF_INET, SOCK_STREAM, TRUE);
  agent_send (self, &packet);
}

/* It cannot be built after all. */
static void
agent_refuse (Agent *self)
{
  SandboxAgentPacket failed = { .type = SANDBOX_AGENT_FAILED, .failed = { SANDBOX_AGENT_STEP_MOUNT, EPERM, 0 } };

  agent_send (self, &failed);
  agent_end (self);
}

static void
fixture_gateway_set (gpointer      user_data,
                     gpointer      answer,
                     const GError *error)
{
  gint *set = user_data;

  g_assert_no_error (error);
  g_atomic_int_set (set, TRUE);
}

static FakeGateway *
fixture_set_gateway (Fixture *self)
{
  FakeGateway *gateway = g_object_new (fake_gateway_get_type (), NULL);
  gint         set = FALSE;
  g_autoptr (SandboxRequest) request = sandbox_request_new_internal (G_TYPE_NONE, NULL, fixture_gateway_set, &set);

  g_assert_true (SANDBOX_DRIVER_GET_IFACE (self->driver)->set_gateway (SANDBOX_DRIVER (self->driver), SANDBOX_GATEWAY (gateway), request, NULL));
  sandbox_request_dispatched (request, TRUE, NULL);
  test_wait (g_atomic_int_get (&set));

  return gateway;
}

static void
test_doors (Fixture      *self,
            gconstpointer nested)
{
  g_autoptr (FakeGateway) gateway = NULL;
  Agent *sandbox = NULL;

  g_test_summary ("A gateway gets the doors of a sandbox as long as it is there, and those that were there before it");

  self->driver->doors = TWO_DOORS;
  fixture_spawn (self);
  sandbox = fixture_next (self);
  agent_listen (sandbox, 2);
  if (nested != NULL)
    {
      Agent *slot = NULL;

      agent_ready (sandbox);
      slot = fixture_next_slot (sandbox);
      agent_hello (slot);
      agent_run (slot);
    }
  else
    {
      SandboxAgentPacket started = { .type = SANDBOX_AGENT_STARTED };

      agent_read_exec (sandbox);
      agent_send (sandbox, &started);
      test_wait (g_atomic_int_get (&self->answered));
    }

  gateway = fixture_set_gateway (self);
  g_assert_cmpuint (fake_gateway_count (gateway), ==, 2);
  agent_end (sandbox);
  test_wait (fake_gateway_count (gateway) == 0);
  test_wait (sandbox_process_get_result (self->process) != NULL);
  g_clear_object (&self->process);

  self->answered = FALSE;
  self->driver->doors = SANDBOX_AGENT_CHANNEL_FLAGS_DOOR;
  fixture_spawn (self);
  sandbox = fixture_next (self);
  agent_listen (sandbox, 1);
  test_wait (fake_gateway_count (gateway) == 1);
  agent_refuse (sandbox);
  fixture_assert_unavailable (self);
  g_clear_error (&self->error);
  test_wait (fake_gateway_count (gateway) == 0);
  g_assert_cmpuint (gateway->n_removed, ==, 3);
}

static void
test_bad_doors (Fixture      *self,
                gconstpointer nested)
{
  const struct
  {
    SandboxAgentChannelFlags wanted;
    guint                    n;
    int                      family;
    int                      type;
    gboolean                 listens;
  } bad[] = {
    { TWO_DOORS, 1, AF_UNIX, SOCK_STREAM, TRUE },
    { SANDBOX_AGENT_CHANNEL_FLAGS_DOOR, 2, AF_UNIX, SOCK_STREAM, TRUE },
    { SANDBOX_AGENT_CHANNEL_FLAGS_NONE, 1, AF_UNIX, SOCK_STREAM, TRUE },
    { SANDBOX_AGENT_CHANNEL_FLAGS_DOOR, 1, AF_INET, SOCK_STREAM, TRUE },
    { SANDBOX_AGENT_CHANNEL_FLAGS_DOOR, 1, AF_UNIX, SOCK_SEQPACKET, TRUE },
    { SANDBOX_AGENT_CHANNEL_FLAGS_DOOR, 1, AF_UNIX, SOCK_STREAM, FALSE },
    { TWO_DOORS, 2, AF_UNIX, SOCK_STREAM, TRUE },
    /* none at all, and one that is no door at all */
    { SANDBOX_AGENT_CHANNEL_FLAGS_DOOR, 0 },
    { SANDBOX_AGENT_CHANNEL_FLAGS_DOOR, 1, AF_UNSPEC },
  };
  g_autoptr (FakeGateway) gateway = fixture_set_gateway (self);

  g_test_summary ("A sandbox that does not hand out just the doors that it was asked for is none");

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      SandboxAgentPacket packet = { .type = SANDBOX_AGENT_LISTEN, .n_fds = bad[i].n };
      SandboxAgentPacket started = { .type = SANDBOX_AGENT_STARTED };
      Agent             *sandbox = NULL;

      self->driver->doors = bad[i].wanted;
      self->answered = FALSE;
      fixture_spawn (self);
      sandbox = fixture_next (self);
      for (guint j = 0; j < bad[i].n; j++)
        packet.fds[j] = bad[i].family == AF_UNSPEC ? dup (sandbox->socket_fd) : door_new (bad[i].family, bad[i].type, bad[i].listens);
      if (bad[i].n > 0)
        agent_send (sandbox, &packet);
      else if (nested != NULL)
        agent_ready (sandbox);
      else
        agent_send (sandbox, &started);
      agent_wait_killed (sandbox);
      agent_end (sandbox);
      fixture_assert_unavailable (self);
      g_assert_nonnull (strstr (self->error->message, "door"));
      g_clear_error (&self->error);
      g_assert_cmpuint (fake_gateway_count (gateway), ==, 0);
    }
  g_assert_cmpint (g_async_queue_length (self->driver->sockets), ==, 0);
}

static void
test_late_doors (Fixture      *self,
                 gconstpointer nested)
{
  g_autoptr (FakeGateway) gateway = fixture_set_gateway (self);
  Agent *sandbox = NULL;

  g_test_summary ("No door is taken from a sandbox in which a command may have run, nor twice, nor from a slot");

  self->driver->doors = SANDBOX_AGENT_CHANNEL_FLAGS_DOOR;
  fixture_spawn (self);
  sandbox = fixture_next (self);
  agent_listen (sandbox, 1);
  if (nested != NULL)
    {
      Agent *slot = NULL;

      agent_ready (sandbox);
      slot = fixture_next_slot (sandbox);
      agent_hello (slot);
      agent_listen (slot, 1);
      agent_wait_killed (slot);
      agent_end (slot);
      fixture_assert_unavailable (self);
      g_assert_cmpuint (fake_gateway_count (gateway), ==, 1);
      agent_listen (sandbox, 1);
    }
  else
    {
      SandboxAgentPacket started = { .type = SANDBOX_AGENT_STARTED };

      agent_send (sandbox, &started);
      test_wait (g_atomic_int_get (&self->answered));
      g_assert_no_error (self->error);
      agent_listen (sandbox, 1);
    }
  agent_wait_killed (sandbox);
  agent_end (sandbox);
  test_wait (fake_gateway_count (gateway) == 0);
  g_assert_cmpuint (gateway->n_removed, ==, 1);
}

static void
test_hidden_doors (Fixture      *self,
                   gconstpointer nested)
{
  SandboxAgentPacket listen = { .type = SANDBOX_AGENT_LISTEN, .n_fds = 1 };
  g_autoptr (FakeGateway) gateway = fixture_set_gateway (self);
  Descriptors descriptors;
  Agent      *sandbox = NULL;

  g_test_summary ("Doors for which the host has no descriptors left end a sandbox; a command that may have been read there is LOST");

  self->driver->doors = SANDBOX_AGENT_CHANNEL_FLAGS_DOOR;
  fixture_spawn (self);
  sandbox = fixture_next (self);
  if (nested == NULL)
    agent_read_exec (sandbox);
  /* the HELLO is read */
  g_usleep (100 * 1000);
  listen.fds[0] = door_new (AF_UNIX, SOCK_STREAM, TRUE);
  descriptors_use_up (&descriptors);
  g_assert_true (sandbox_agent_send (sandbox->socket_fd, &listen, sandbox->buffer, SANDBOX_AGENT_PACKET_MAX));
  agent_wait_killed (sandbox);
  descriptors_give_back (&descriptors);
  sandbox_agent_packet_close_fds (&listen);
  agent_end (sandbox);
  if (nested == NULL)
    fixture_assert_lost (self);
  else
    {
      fixture_assert_unavailable (self);
      g_assert_nonnull (strstr (self->error->message, "can open no more files"));
    }
  g_assert_cmpuint (fake_gateway_count (gateway), ==, 0);
}

static void
test_mute_doors (Fixture      *self,
                 gconstpointer nested)
{
  Agent *sandbox = NULL;

  g_test_summary ("What becomes of a command that may have been read in a sandbox which ends before its doors come nobody knows: LOST");

  self->driver->doors = TWO_DOORS;
  fixture_spawn (self);
  sandbox = fixture_next (self);
  agent_read_exec (sandbox);
  agent_end (sandbox);
  fixture_assert_lost (self);
}

static void
test_forked_doors (Fixture      *self,
                   gconstpointer nested)
{
  g_autoptr (FakeGateway) gateway = fixture_set_gateway (self);
  Agent *sandbox = NULL;
  pid_t  pid;
  int    status = 0;

  g_test_summary ("A forked child of the host has no door");

  self->driver->doors = SANDBOX_AGENT_CHANNEL_FLAGS_DOOR;
  fixture_spawn (self);
  sandbox = fixture_next (self);
  agent_listen (sandbox, 1);
  test_wait (fake_gateway_count (gateway) == 1);
  pid = fork ();
  if (pid == 0)
    {
      int       listens = 0;
      socklen_t size = sizeof listens;

      _exit (getsockopt (g_socket_get_fd (gateway->doors->pdata[0]), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 ? 7 : 1);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 7 << 8);
  agent_refuse (sandbox);
  fixture_assert_unavailable (self);
  test_wait (fake_gateway_count (gateway) == 0);
}

#define NESTED GINT_TO_POINTER (TRUE)
#define ADD(name, nested, function) \
 g_test_add ("/agent-driver/" name, Fixture, nested, fixture_set_up, function, fixture_tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  ADD ("slot-unread", NESTED, test_slot_unread);
  ADD ("slot-mute", NESTED, test_slot_mute);
  ADD ("slot-read", NESTED, test_slot_read);
  ADD ("slot-cancelled", NESTED, test_slot_cancelled);
  ADD ("slot-turns", NESTED, test_slot_turns);
  ADD ("sandbox-dies", NESTED, test_sandbox_dies);
  ADD ("sandbox-unready", NESTED, test_sandbox_unready);
  ADD ("sandbox-refused", NESTED, test_sandbox_refused);
  ADD ("slot-hidden", NESTED, test_slot_hidden);
  ADD ("slot-hidden-idle", NESTED, test_slot_hidden_idle);
  ADD ("hidden-alone", NULL, test_hidden_alone);
  ADD ("alone", NULL, test_alone);
  ADD ("alone-launched", NULL, test_alone_launched);
  ADD ("doors", NESTED, test_doors);
  ADD ("doors-alone", NULL, test_doors);
  ADD ("bad-doors", NESTED, test_bad_doors);
  ADD ("bad-doors-alone", NULL, test_bad_doors);
  ADD ("late-doors", NESTED, test_late_doors);
  ADD ("late-doors-alone", NULL, test_late_doors);
  ADD ("hidden-doors", NESTED, test_hidden_doors);
  ADD ("hidden-doors-alone", NULL, test_hidden_doors);
  ADD ("mute-doors-alone", NULL, test_mute_doors);
  ADD ("forked-doors", NESTED, test_forked_doors);

  return g_test_run ();
}
