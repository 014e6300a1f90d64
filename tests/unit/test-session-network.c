/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How a policy comes into force, and how what the gateway tells reaches the host: over a driver, a backend and a gateway
 * that only write down what they are asked for. */

#include "sandbox-backend-calls.h"
#include "sandbox-backend-private.h"
#include "sandbox-handle.h"
#include "sandbox-session.h"

#include "../common/test-helpers.h"

#include <sys/wait.h>

/* ---- Answers, and what was asked, in order */

typedef enum
{
  ANSWER_NOW,
  ANSWER_THREAD, /* from a thread of its own */
  ANSWER_REFUSE,
  ANSWER_HELD,      /* when the test says so */
  ANSWER_CANCELLED, /* when the request is cancelled */
  ANSWER_DROPPED,
} Answer;

typedef enum
{
  ASKED_CREATE,
  ASKED_GATEWAY_POLICY,
  ASKED_GATEWAY_BACK, /* the policy after that one */
  ASKED_GATEWAY_CLOSE,
  ASKED_SET_GATEWAY,
  ASKED_DRIVER_POLICY,
  ASKED_SPAWN,
  N_ASKED,
} Asked;

typedef struct
{
  GMutex      lock;
  GString    *journal;
  GString    *variables; /* of the last command */
  Answer      answers[N_ASKED];
  GQueue      held;    /* SandboxRequest */
  GHashTable *threads; /* in which the driver was called */
  guint       n_gateways;
  guint       n_drivers;
  guint       n_policies; /* that the gateway was told */
  guint       back_at;    /* the number of the one that is meant to put it back */
  guint       n_aborted;  /* requests that a gateway tells of while it is closed */
  gboolean    has_no_module;
  gboolean    is_broken;
} Script;

static Script script;

static void
script_note (const char *format,
             ...) G_GNUC_PRINTF (1, 2);

static void
script_note (const char *format,
             ...)
{
  va_list args;

  va_start (args, format);
  g_mutex_lock (&script.lock);
  if (script.journal->len > 0)
    g_string_append (script.journal, ", ");
  g_string_append_vprintf (script.journal, format, args);
  g_mutex_unlock (&script.lock);
  va_end (args);
}

/* What has been asked since the last time */
#define assert_journal(text)                                 \
 G_STMT_START                                                \
 {                                                           \
  g_autofree char *asked_until_now = script_take_journal (); \
                                                             \
  g_assert_cmpstr (asked_until_now, ==, text);               \
 }                                                           \
 G_STMT_END

static char *
script_take_journal (void)
{
  char *text = NULL;

  g_mutex_lock (&script.lock);
  text = g_string_free (script.journal, FALSE);
  script.journal = g_string_new (NULL);
  g_mutex_unlock (&script.lock);

  return text;
}

static guint
script_count_held (void)
{
  guint held = 0;

  g_mutex_lock (&script.lock);
  held = script.held.length;
  g_mutex_unlock (&script.lock);

  return held;
}

static void
script_answer_held (void)
{
  g_autoptr (SandboxRequest) request = NULL;

  g_mutex_lock (&script.lock);
  request = g_queue_pop_head (&script.held);
  g_mutex_unlock (&script.lock);
  g_assert_nonnull (request);
  sandbox_request_return_done (request);
}

static void
script_refuse_held (void)
{
  g_autoptr (SandboxRequest) request = NULL;

  g_mutex_lock (&script.lock);
  request = g_queue_pop_head (&script.held);
  g_mutex_unlock (&script.lock);
  g_assert_nonnull (request);
  sandbox_request_return_failure (request, SANDBOX_ERROR_NETWORK_DENIED, "Not this one");
}

typedef struct
{
  SandboxRequest *request;
  GObject        *object;
} Reply;

static void
reply_give (Reply *reply)
{
  if (reply->object != NULL)
    sandbox_request_return_object (reply->request, reply->object);
  else
    sandbox_request_return_done (reply->request);
  g_clear_object (&reply->object);
  g_clear_object (&reply->request);
  g_free (reply);
}

static gpointer
reply_thread (gpointer data)
{
  reply_give (data);

  return NULL;
}

static void
reply_to_cancelled_cb (SandboxRequest *request,
                       gpointer        user_data)
{
  sandbox_request_return_failure (request, SANDBOX_ERROR_NETWORK_DENIED, "Not any more");
  g_object_unref (request);
}

/* The answer to one request, with @object (taken) or nothing in it; the result is that of the vfunc. */
static gboolean
script_answer (Asked           asked,
               SandboxRequest *request,
               gpointer        object,
               GError        **error)
{
  g_autoptr (GObject) answer = object;
  Reply *reply = NULL;

  switch (script.answers[asked])
    {
    case ANSWER_REFUSE:
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED, "Not this one");
      return FALSE;

    case ANSWER_HELD:
      g_mutex_lock (&script.lock);
      g_queue_push_tail (&script.held, g_object_ref (request));
      g_mutex_unlock (&script.lock);
      return TRUE;

    case ANSWER_CANCELLED:
      g_signal_connect (g_object_ref (request), "cancelled", G_CALLBACK (reply_to_cancelled_cb), NULL);
      return TRUE;

    case ANSWER_DROPPED:
      return TRUE;

    case ANSWER_NOW:
    case ANSWER_THREAD:
      break;
    }

  reply = g_new (Reply, 1);
  reply->request = g_object_ref (request);
  reply->object = g_steal_pointer (&answer);
  if (script.answers[asked] == ANSWER_NOW)
    reply_give (reply);
  else
    g_thread_unref (g_thread_new ("reply", reply_thread, reply));

  return TRUE;
}

static char *
describe_policy (SandboxNetworkPolicy *policy)
{
  g_auto (GStrv) origins = NULL;

  switch (sandbox_network_policy_get_mode (policy))
    {
    case SANDBOX_NETWORK_MODE_DENY_ALL:
      return g_strdup ("none");

    case SANDBOX_NETWORK_MODE_ALLOW_ALL:
      return g_strdup ("all");

    case SANDBOX_NETWORK_MODE_ALLOW_LIST:
      break;
    }
  origins = sandbox_network_policy_dup_origins (policy);

  return origins[0] != NULL ? g_strjoinv ("+", origins) : g_strdup ("empty");
}

/* ---- The gateway */

typedef struct
{
  GObject parent_instance;
} FakeGateway;

typedef struct
{
  GObjectClass parent_class;
} FakeGatewayClass;

GType       fake_gateway_get_type (void);
static void fake_gateway_interface_init (SandboxGatewayInterface *iface);

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (FakeGateway, fake_gateway, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_GATEWAY, fake_gateway_interface_init))
/* clang-format on */

static gboolean
fake_gateway_set_policy (SandboxGateway       *gateway,
                         SandboxNetworkPolicy *policy,
                         SandboxRequest       *request,
                         GError              **error)
{
  g_autofree char *text = describe_policy (policy);
  Asked            asked = ASKED_GATEWAY_POLICY;

  script_note ("gateway %s", text);
  if (++script.n_policies == script.back_at)
    asked = ASKED_GATEWAY_BACK;

  return script_answer (asked, request, NULL, error);
}

static void
fake_gateway_add_door (SandboxGateway *gateway,
                       GSocket        *door)
{
  g_assert_not_reached ();
}

static void
fake_gateway_remove_door (SandboxGateway *gateway,
                          GSocket        *door)
{
  g_assert_not_reached ();
}

static gboolean
fake_gateway_close (SandboxGateway *gateway,
                    SandboxRequest *request,
                    GError        **error)
{
  script_note ("gateway close");
  for (guint i = 0; i < script.n_aborted; i++)
    sandbox_gateway_emit_answered (gateway, "GET", "https://a.example", 0, 0, 0, 0);

  return script_answer (ASKED_GATEWAY_CLOSE, request, NULL, error);
}

static void
fake_gateway_interface_init (SandboxGatewayInterface *iface)
{
  iface->set_policy = fake_gateway_set_policy;
  iface->add_door = fake_gateway_add_door;
  iface->remove_door = fake_gateway_remove_door;
  iface->close = fake_gateway_close;
}

static void
fake_gateway_finalize (GObject *object)
{
  g_atomic_int_dec_and_test ((int *) &script.n_gateways);

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
  g_atomic_int_inc ((int *) &script.n_gateways);
}

/* ---- Drivers: with doors; called in threads of the host only; without doors */

typedef struct
{
  GObject         parent_instance;
  SandboxGateway *gateway;
} DoorDriver;

typedef struct
{
  GObjectClass parent_class;
} DoorDriverClass;

GType       door_driver_get_type (void);
static void door_driver_interface_init (SandboxDriverInterface *iface);

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (DoorDriver, door_driver, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, door_driver_interface_init))
/* clang-format on */

static void
door_driver_note (const char *format,
                  ...) G_GNUC_PRINTF (1, 2);

static void
door_driver_note (const char *format,
                  ...)
{
  g_autofree char *text = NULL;
  va_list          args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  script_note ("%s", text);
  g_mutex_lock (&script.lock);
  g_hash_table_add (script.threads, g_thread_self ());
  g_mutex_unlock (&script.lock);
}

static gboolean
door_driver_spawn (SandboxDriver  *driver,
                   SandboxCommand *command,
                   SandboxRequest *request,
                   GError        **error)
{
  const char *const *environment = sandbox_command_get_environment (command);
  g_autofree char   *variables = environment != NULL ? g_strjoinv (" ", (char **) environment) : NULL;

  g_mutex_lock (&script.lock);
  g_string_assign (script.variables, variables != NULL ? variables : "");
  g_mutex_unlock (&script.lock);

  return script_answer (ASKED_SPAWN, request, NULL, error);
}

static gboolean
door_driver_set_network_policy (SandboxDriver        *driver,
                                SandboxNetworkPolicy *policy,
                                SandboxRequest       *request,
                                GError              **error)
{
  g_autofree char *text = describe_policy (policy);

  door_driver_note ("driver %s", text);

  return script_answer (ASKED_DRIVER_POLICY, request, NULL, error);
}

static gboolean
door_driver_set_gateway (SandboxDriver  *driver,
                         SandboxGateway *gateway,
                         SandboxRequest *request,
                         GError        **error)
{
  DoorDriver *self = (DoorDriver *) driver;

  door_driver_note ("driver gateway");
  g_set_object (&self->gateway, gateway);

  return script_answer (ASKED_SET_GATEWAY, request, NULL, error);
}

static gboolean
door_driver_close (SandboxDriver  *driver,
                   SandboxRequest *request,
                   GError        **error)
{
  door_driver_note ("driver close");
  sandbox_request_return_done (request);

  return TRUE;
}

static void
door_driver_interface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = TRUE;
  iface->spawn = door_driver_spawn;
  iface->set_network_policy = door_driver_set_network_policy;
  iface->set_gateway = door_driver_set_gateway;
  iface->close = door_driver_close;
}

static void
door_driver_finalize (GObject *object)
{
  g_clear_object (&((DoorDriver *) object)->gateway);
  g_atomic_int_dec_and_test ((int *) &script.n_drivers);

  G_OBJECT_CLASS (door_driver_parent_class)->finalize (object);
}

static void
door_driver_class_init (DoorDriverClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = door_driver_finalize;
}

static void
door_driver_init (DoorDriver *self)
{
  g_atomic_int_inc ((int *) &script.n_drivers);
}

typedef DoorDriver      ForeignDriver;
typedef DoorDriverClass ForeignDriverClass;

GType foreign_driver_get_type (void);

static void
foreign_driver_interface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = FALSE;
}

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (ForeignDriver, foreign_driver, door_driver_get_type (),
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, foreign_driver_interface_init))
/* clang-format on */

static void
foreign_driver_class_init (ForeignDriverClass *klass)
{
}

static void
foreign_driver_init (ForeignDriver *self)
{
}

typedef DoorDriver      WalledDriver;
typedef DoorDriverClass WalledDriverClass;

GType walled_driver_get_type (void);

static void
walled_driver_interface_init (SandboxDriverInterface *iface)
{
  SandboxDriverInterface *fallback = g_type_default_interface_peek (SANDBOX_TYPE_DRIVER);

  iface->set_gateway = fallback->set_gateway;
}

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (WalledDriver, walled_driver, door_driver_get_type (),
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, walled_driver_interface_init))
/* clang-format on */

static void
walled_driver_class_init (WalledDriverClass *klass)
{
}

static void
walled_driver_init (WalledDriver *self)
{
}

/* ---- The backend */

typedef struct
{
  SandboxBackend parent_instance;
  GType          driver_type;
} DoorBackend;

typedef struct
{
  SandboxBackendClass parent_class;
} DoorBackendClass;

GType door_backend_get_type (void);

G_DEFINE_TYPE (DoorBackend, door_backend, SANDBOX_TYPE_BACKEND)

static gboolean
door_backend_create_driver (SandboxBackend       *backend,
                            SandboxCreateOptions *options,
                            SandboxWorkspace     *workspace,
                            SandboxRequest       *request,
                            GError              **error)
{
  script_note ("create");

  return script_answer (ASKED_CREATE, request, g_object_new (((DoorBackend *) backend)->driver_type, NULL), error);
}

static char *
door_backend_plan (SandboxBackend       *backend,
                   SandboxCommand       *command,
                   SandboxCreateOptions *options,
                   GError              **error)
{
  return g_strjoinv (" ", (char **) sandbox_command_get_environment (command));
}

static void
door_backend_class_init (DoorBackendClass *klass)
{
  SANDBOX_BACKEND_CLASS (klass)->create_driver = door_backend_create_driver;
  SANDBOX_BACKEND_CLASS (klass)->plan = door_backend_plan;
}

static void
door_backend_init (DoorBackend *self)
{
}

/* As a registry would */
static SandboxGateway *
make_gateway (gpointer data,
              GError **error)
{
  script_note ("make");
  if (script.has_no_module)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED, "Install one");
  else if (script.is_broken)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_MODULE, "It is broken");
  else
    return g_object_new (fake_gateway_get_type (), NULL);

  return NULL;
}

typedef struct
{
  SandboxBackend *backend;
  SandboxHandle  *handle;
  SandboxSession *session;
  SandboxGateway *gateway; /* of the test, once it has been fetched */
  guint           n_notified;
} Fixture;

static void
fixture_set_up (Fixture      *fixture,
                gconstpointer data)
{
  g_mutex_init (&script.lock);
  script = (Script){ .journal = g_string_new (NULL), .variables = g_string_new (NULL), .threads = g_hash_table_new (NULL, NULL) };
  fixture->backend = g_object_new (door_backend_get_type (), "name", "door", NULL);
  ((DoorBackend *) fixture->backend)->driver_type = data != NULL ? ((GType (*) (void)) data) () : door_driver_get_type ();
  sandbox_backend_set_gateway_func (fixture->backend, make_gateway, NULL, NULL);
}

static void
fixture_tear_down (Fixture      *fixture,
                   gconstpointer data)
{
  if (fixture->handle != NULL && sandbox_handle_get_phase (fixture->handle) == SANDBOX_PHASE_LIVE)
    g_assert_true (sandbox_handle_shutdown (fixture->handle, NULL, NULL));
  g_clear_object (&fixture->gateway);
  g_clear_object (&fixture->handle);
  test_wait (G_OBJECT (fixture->backend)->ref_count == 1);
  g_assert_finalize_object (fixture->backend);
  test_wait (g_atomic_int_get ((int *) &script.n_drivers) == 0);
  test_wait (g_atomic_int_get ((int *) &script.n_gateways) == 0);
  g_assert_cmpuint (script.held.length, ==, 0);
  g_string_free (script.journal, TRUE);
  g_string_free (script.variables, TRUE);
  g_hash_table_unref (script.threads);
}

/* A list of these, up to a NULL */
static SandboxNetworkPolicy *
list_of (const char *first,
         ...)
{
  SandboxNetworkPolicy *policy = sandbox_network_policy_new_allow_list ();
  va_list               origins;

  va_start (origins, first);
  for (const char *origin = first; origin != NULL; origin = va_arg (origins, const char *))
    g_assert_true (sandbox_network_policy_add_origin (policy, origin, NULL, NULL));
  va_end (origins);

  return policy;
}

/* @policy is taken. */
static SandboxHandle *
create (Fixture              *fixture,
        SandboxNetworkPolicy *policy,
        GError              **error)
{
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxNetworkPolicy) network = policy;

  sandbox_create_options_set_network (options, network);

  return sandbox_backend_create (fixture->backend, options, NULL, error);
}

static void
notify_cb (SandboxSession *session,
           GParamSpec     *pspec,
           gpointer        user_data)
{
  ((Fixture *) user_data)->n_notified++;
}

static void
fixture_create (Fixture              *fixture,
                SandboxNetworkPolicy *policy)
{
  g_autoptr (GError) error = NULL;

  fixture->handle = create (fixture, policy, &error);
  g_assert_no_error (error);
  fixture->session = sandbox_handle_get_session (fixture->handle);
  g_signal_connect (fixture->session, "notify::gateway-path", G_CALLBACK (notify_cb), fixture);
}

/* @policy is taken. */
static gboolean
change (Fixture              *fixture,
        SandboxNetworkPolicy *policy,
        GError              **error)
{
  gboolean changed = sandbox_session_set_network_policy (fixture->session, policy, NULL, error);

  g_object_unref (policy);

  return changed;
}

static void
assert_changes (Fixture              *fixture,
                SandboxNetworkPolicy *policy)
{
  g_autoptr (GError) error = NULL;
  gboolean changed = change (fixture, policy, &error);

  g_assert_no_error (error);
  g_assert_true (changed);
}

static void
assert_refused (Fixture              *fixture,
                SandboxNetworkPolicy *policy,
                int                   code)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (change (fixture, policy, &error));
  g_assert_error (error, SANDBOX_ERROR, code);
}

/* What a command would find in its environment */
static void
assert_variables (Fixture    *fixture,
                  const char *own,
                  const char *text)
{
  static const char *const argv[] = { "true", NULL };
  const char *const        environment[] = { own, NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (GError) error = NULL;

  if (own != NULL)
    sandbox_command_set_environment (command, environment);
  script.answers[ASKED_SPAWN] = ANSWER_REFUSE;
  g_assert_null (sandbox_session_run (fixture->session, command, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  g_assert_cmpstr (script.variables->str, ==, text);
}

/* ---- Coming into force */

static void
test_create (Fixture      *fixture,
             gconstpointer data)
{
  g_autofree char *path = NULL;

  g_test_summary ("A session that is created with a list has its gateway before anybody has the session, and ends it last");

  fixture_create (fixture, list_of ("https://a.example", NULL));
  assert_journal ("create, make, gateway https://a.example, driver gateway");
  g_object_get (fixture->session, "gateway-path", &path, NULL);
  g_assert_cmpstr (path, ==, "/run/sandbox-glib/gateway.sock");
  g_assert_cmpstr (sandbox_session_get_gateway_path (fixture->session), ==, path);

  g_assert_true (sandbox_handle_stop (fixture->handle, NULL, NULL));
  assert_journal ("driver close, gateway close");
}

static void
test_nothing (Fixture      *fixture,
              gconstpointer data)
{
  SandboxNetworkPolicy *policies[] = {
    NULL,
    sandbox_network_policy_new_deny_all (),
    sandbox_network_policy_new_allow_all (),
    list_of (NULL),
  };

  g_test_summary ("Without an origin there is no gateway: a list of nothing is as good as to deny all");

  for (guint i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      SandboxNetworkPolicy *empty = list_of (NULL);

      if (policies[i] != NULL)
        sandbox_network_policy_set_loopback_door (policies[i], TRUE);
      sandbox_network_policy_set_loopback_door (empty, TRUE);
      fixture_create (fixture, policies[i]);
      g_assert_null (sandbox_session_get_gateway_path (fixture->session));
      assert_variables (fixture, NULL, "");
      assert_changes (fixture, empty);
      assert_variables (fixture, NULL, "");
      g_assert_null (sandbox_session_get_gateway_path (fixture->session));
      g_assert_true (sandbox_handle_stop (fixture->handle, NULL, NULL));
      assert_journal ("create, driver empty, driver close");
      g_clear_object (&fixture->handle);
    }
}

static void
test_create_fails (Fixture      *fixture,
                   gconstpointer data)
{
  static const struct
  {
    Asked       asked;
    Answer      answer;
    int         code;
    const char *journal;
  } cases[] = {
    { N_ASKED, ANSWER_NOW, SANDBOX_ERROR_NETWORK_DENIED, "create, make, driver close" },
    { N_ASKED, ANSWER_REFUSE, SANDBOX_ERROR_MODULE, "create, make, driver close" },
    { ASKED_CREATE, ANSWER_REFUSE, SANDBOX_ERROR_NETWORK_DENIED, "create" },
    { ASKED_GATEWAY_POLICY, ANSWER_REFUSE, SANDBOX_ERROR_NETWORK_DENIED, "create, make, gateway https://a.example, gateway close, driver close" },
    { ASKED_GATEWAY_POLICY, ANSWER_DROPPED, SANDBOX_ERROR_FAILED, "create, make, gateway https://a.example, gateway close, driver close" },
    { ASKED_SET_GATEWAY, ANSWER_REFUSE, SANDBOX_ERROR_NETWORK_DENIED, "create, make, gateway https://a.example, driver gateway, gateway close, driver close" },
    { ASKED_SET_GATEWAY, ANSWER_DROPPED, SANDBOX_ERROR_FAILED, "create, make, gateway https://a.example, driver gateway, gateway close, driver close" },
  };

  g_test_summary ("Whatever goes wrong with the gateway of a new session, there is no session, and nothing of it is left");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      script.has_no_module = cases[i].asked == N_ASKED && cases[i].answer == ANSWER_NOW;
      script.is_broken = cases[i].asked == N_ASKED;
      if (cases[i].asked != N_ASKED)
        script.answers[cases[i].asked] = cases[i].answer;
      g_assert_null (create (fixture, list_of ("https://a.example", NULL), &error));
      g_assert_error (error, SANDBOX_ERROR, cases[i].code);
      test_wait (g_atomic_int_get ((int *) &script.n_drivers) == 0);
      test_wait (g_atomic_int_get ((int *) &script.n_gateways) == 0);
      assert_journal (cases[i].journal);
      if (cases[i].asked != N_ASKED)
        script.answers[cases[i].asked] = ANSWER_NOW;
    }
}

static void
test_create_cancelled (Fixture      *fixture,
                       gconstpointer data)
{
  static const Asked steps[] = { ASKED_GATEWAY_POLICY, ASKED_SET_GATEWAY };

  g_test_summary ("A create that is cancelled while the gateway is set up leaves nothing, and is told so at once");

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
      g_autoptr (SandboxNetworkPolicy) policy = list_of ("https://a.example", NULL);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GError) error = NULL;

      sandbox_create_options_set_network (options, policy);
      script.answers[steps[i]] = ANSWER_HELD;
      sandbox_backend_create_async (fixture->backend, options, cancellable, test_result_cb, &result);
      test_wait (script_count_held () == 1);
      g_cancellable_cancel (cancellable);
      test_wait (result != NULL);
      g_assert_null (sandbox_backend_create_finish (fixture->backend, result, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      script.answers[steps[i]] = ANSWER_NOW;
      script_answer_held ();
      g_clear_object (&result);
      test_wait (g_atomic_int_get ((int *) &script.n_drivers) == 0);
      test_wait (g_atomic_int_get ((int *) &script.n_gateways) == 0);
    }
}

static void
test_change (Fixture      *fixture,
             gconstpointer data)
{
  g_test_summary ("The gateway judges by a new policy before the driver enforces it; it is made once and given once");

  fixture_create (fixture, NULL);
  assert_journal ("create");
  assert_changes (fixture, list_of ("https://a.example", NULL));
  assert_journal ("make, gateway https://a.example, driver gateway, driver https://a.example");
  g_assert_nonnull (sandbox_session_get_gateway_path (fixture->session));
  g_assert_cmpuint (fixture->n_notified, ==, 1);

  assert_changes (fixture, list_of ("https://b.example", "http://c.example:81", NULL));
  assert_journal ("gateway https://b.example+http://c.example:81, driver https://b.example+http://c.example:81");
  g_assert_cmpuint (fixture->n_notified, ==, 1);

  assert_changes (fixture, sandbox_network_policy_new_deny_all ());
  assert_journal ("gateway none, driver none");
  g_assert_null (sandbox_session_get_gateway_path (fixture->session));
  g_assert_cmpuint (fixture->n_notified, ==, 2);

  assert_changes (fixture, sandbox_network_policy_new_allow_all ());
  assert_changes (fixture, list_of ("https://a.example", NULL));
  assert_journal ("gateway all, driver all, gateway https://a.example, driver https://a.example");
  g_assert_cmpuint (fixture->n_notified, ==, 3);
}

static void
test_change_threads (Fixture      *fixture,
                     gconstpointer data)
{
  g_test_summary ("It is the same when every answer comes from another thread");

  for (guint i = 0; i < N_ASKED; i++)
    script.answers[i] = ANSWER_THREAD;
  fixture_create (fixture, list_of ("https://a.example", NULL));
  assert_changes (fixture, list_of ("https://b.example", NULL));
  assert_changes (fixture, sandbox_network_policy_new_deny_all ());
  assert_journal ("create, make, gateway https://a.example, driver gateway, gateway https://b.example, driver https://b.example, "
                  "gateway none, driver none");
  g_assert_true (sandbox_handle_stop (fixture->handle, NULL, NULL));
  assert_journal ("driver close, gateway close");
}

static void
test_no_module (Fixture      *fixture,
                gconstpointer data)
{
  g_test_summary ("Where no gateway is to be had, the old policy stays, and the next try looks again");

  fixture_create (fixture, NULL);
  assert_journal ("create");
  script.has_no_module = TRUE;
  assert_refused (fixture, list_of ("https://a.example", NULL), SANDBOX_ERROR_NETWORK_DENIED);
  script.has_no_module = FALSE;
  script.is_broken = TRUE;
  assert_refused (fixture, list_of ("https://a.example", NULL), SANDBOX_ERROR_MODULE);
  assert_journal ("make, make");
  g_assert_null (sandbox_session_get_gateway_path (fixture->session));
  script.is_broken = FALSE;
  assert_changes (fixture, list_of ("https://a.example", NULL));
  assert_journal ("make, gateway https://a.example, driver gateway, driver https://a.example");
}

static void
test_bare (Fixture      *fixture,
           gconstpointer data)
{
  g_autoptr (SandboxDriver) driver = g_object_new (door_driver_get_type (), NULL);
  g_autoptr (SandboxSession) session = sandbox_session_new_for_driver (driver, NULL);
  g_autoptr (SandboxNetworkPolicy) policy = list_of ("https://a.example", NULL);
  g_autoptr (SandboxNetworkPolicy) deny = sandbox_network_policy_new_deny_all ();
  g_autoptr (GError) error = NULL;

  g_test_summary ("A session over a bare driver comes by no gateway, and says so");

  g_assert_false (sandbox_session_set_network_policy (session, policy, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  g_assert_nonnull (strstr (error->message, "DoorDriver"));
  g_assert_true (sandbox_session_set_network_policy (session, deny, NULL, NULL));
  assert_journal ("driver none");
}

static void
test_walled (Fixture      *fixture,
             gconstpointer data)
{
  SandboxNetworkPolicy *policy = list_of ("https://a.example", NULL);

  g_test_summary ("A driver without doors answers for itself: it gets the list, and nobody sends its commands to a gateway");

  sandbox_network_policy_set_loopback_door (policy, TRUE);
  fixture_create (fixture, g_object_ref (policy));
  assert_changes (fixture, policy);
  assert_variables (fixture, NULL, "");
  assert_journal ("create, driver https://a.example");
  g_assert_null (sandbox_session_get_gateway_path (fixture->session));
  script.answers[ASKED_DRIVER_POLICY] = ANSWER_REFUSE;
  assert_refused (fixture, list_of ("https://b.example", NULL), SANDBOX_ERROR_NETWORK_DENIED);
}

static void
test_foreign (Fixture      *fixture,
              gconstpointer data)
{
  g_autoptr (SandboxNetworkPolicy) policy = list_of ("https://b.example", NULL);
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("A driver of another language is called in threads of the host only, wherever the gateway answers");

  script.answers[ASKED_GATEWAY_POLICY] = ANSWER_THREAD;
  script.answers[ASKED_SET_GATEWAY] = ANSWER_THREAD;
  script.answers[ASKED_DRIVER_POLICY] = ANSWER_THREAD;
  fixture_create (fixture, NULL);
  assert_changes (fixture, list_of ("https://a.example", NULL));
  sandbox_session_set_network_policy_async (fixture->session, policy, NULL, test_result_cb, &result);
  test_wait (result != NULL);
  g_assert_true (sandbox_session_set_network_policy_finish (fixture->session, result, &error));
  g_assert_no_error (error);
  g_assert_true (sandbox_handle_stop (fixture->handle, NULL, NULL));
  assert_journal ("create, make, gateway https://a.example, driver gateway, driver https://a.example, "
                  "gateway https://b.example, driver https://b.example, driver close, gateway close");
  g_clear_object (&fixture->handle);
  fixture_create (fixture, list_of ("https://a.example", NULL));

  g_assert_cmpuint (g_hash_table_size (script.threads), ==, 1);
  g_assert_true (g_hash_table_contains (script.threads, g_thread_self ()));
}

/* ---- Refused */

static void
test_driver_refuses (Fixture      *fixture,
                     gconstpointer data)
{
  g_test_summary ("When the driver refuses a policy, the gateway goes back to the one in force");

  fixture_create (fixture, NULL);
  assert_journal ("create");
  script.answers[ASKED_DRIVER_POLICY] = ANSWER_REFUSE;
  assert_refused (fixture, list_of ("https://a.example", NULL), SANDBOX_ERROR_NETWORK_DENIED);
  assert_journal ("make, gateway https://a.example, driver gateway, driver https://a.example, gateway none");
  g_assert_null (sandbox_session_get_gateway_path (fixture->session));
  g_assert_cmpuint (fixture->n_notified, ==, 0);

  script.answers[ASKED_DRIVER_POLICY] = ANSWER_NOW;
  assert_changes (fixture, list_of ("https://b.example", NULL));
  assert_journal ("gateway https://b.example, driver https://b.example");
  script.answers[ASKED_DRIVER_POLICY] = ANSWER_DROPPED;
  assert_refused (fixture, sandbox_network_policy_new_allow_all (), SANDBOX_ERROR_FAILED);
  assert_journal ("gateway all, driver all, gateway https://b.example");
  g_assert_nonnull (sandbox_session_get_gateway_path (fixture->session));
  g_assert_cmpuint (fixture->n_notified, ==, 1);
}

static void
test_gateway_refuses (Fixture      *fixture,
                      gconstpointer data)
{
  g_test_summary ("What the gateway refuses, the driver never hears of");

  fixture_create (fixture, list_of ("https://a.example", NULL));
  assert_journal ("create, make, gateway https://a.example, driver gateway");
  script.answers[ASKED_GATEWAY_POLICY] = ANSWER_REFUSE;
  script.back_at = script.n_policies + 2;
  assert_refused (fixture, list_of ("https://b.example", NULL), SANDBOX_ERROR_NETWORK_DENIED);
  assert_journal ("gateway https://b.example, gateway https://a.example");
  g_assert_nonnull (sandbox_session_get_gateway_path (fixture->session));
}

static void
test_doors_refused (Fixture      *fixture,
                    gconstpointer data)
{
  g_test_summary ("When the driver does not take a gateway, another one is made for the next try");

  fixture_create (fixture, NULL);
  assert_journal ("create");
  script.answers[ASKED_SET_GATEWAY] = ANSWER_REFUSE;
  assert_refused (fixture, list_of ("https://a.example", NULL), SANDBOX_ERROR_NETWORK_DENIED);
  assert_journal ("make, gateway https://a.example, driver gateway, gateway close");
  script.answers[ASKED_SET_GATEWAY] = ANSWER_NOW;
  assert_changes (fixture, list_of ("https://a.example", NULL));
  assert_journal ("make, gateway https://a.example, driver gateway, driver https://a.example");
}

static void
test_lost (Fixture      *fixture,
           gconstpointer data)
{
  g_test_summary ("A gateway that does not go back to the policy in force is closed, and the session never has one again");

  fixture_create (fixture, list_of ("https://a.example", NULL));
  assert_journal ("create, make, gateway https://a.example, driver gateway");
  script.answers[ASKED_DRIVER_POLICY] = ANSWER_REFUSE;
  script.answers[ASKED_GATEWAY_BACK] = ANSWER_REFUSE;
  script.back_at = script.n_policies + 2;
  assert_refused (fixture, list_of ("https://b.example", NULL), SANDBOX_ERROR_NETWORK_DENIED);
  assert_journal ("gateway https://b.example, driver https://b.example, gateway https://a.example, gateway close");

  script.answers[ASKED_DRIVER_POLICY] = ANSWER_NOW;
  assert_refused (fixture, list_of ("https://a.example", NULL), SANDBOX_ERROR_NETWORK_DENIED);
  assert_journal ("make, gateway close");
  assert_changes (fixture, sandbox_network_policy_new_deny_all ());
  assert_journal ("driver none");
  g_assert_null (sandbox_session_get_gateway_path (fixture->session));
}

/* ---- Not alone */

static void
test_busy (Fixture      *fixture,
           gconstpointer data)
{
  static const char *const argv[] = { "true", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxNetworkPolicy) policy = list_of ("https://b.example", NULL);
  g_autoptr (GAsyncResult) running = NULL;
  g_autoptr (GAsyncResult) changing = NULL;
  g_autoptr (GError) error = NULL;

  g_test_summary ("While a command is alive the policy stays, and while it changes no command starts: nobody is asked");

  fixture_create (fixture, list_of ("https://a.example", NULL));
  assert_journal ("create, make, gateway https://a.example, driver gateway");
  script.answers[ASKED_SPAWN] = ANSWER_HELD;
  sandbox_session_run_async (fixture->session, command, NULL, test_result_cb, &running);
  test_wait (script_count_held () == 1);
  assert_refused (fixture, list_of ("https://b.example", NULL), SANDBOX_ERROR_BUSY);
  assert_journal ("");
  script_refuse_held ();
  test_wait (running != NULL);
  g_assert_null (sandbox_session_run_finish (fixture->session, running, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  g_clear_error (&error);

  script.answers[ASKED_GATEWAY_POLICY] = ANSWER_HELD;
  sandbox_session_set_network_policy_async (fixture->session, policy, NULL, test_result_cb, &changing);
  test_wait (script_count_held () == 1);
  assert_refused (fixture, list_of ("https://c.example", NULL), SANDBOX_ERROR_BUSY);
  g_assert_null (sandbox_session_run (fixture->session, command, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_BUSY);
  g_clear_error (&error);
  script.answers[ASKED_GATEWAY_POLICY] = ANSWER_NOW;
  script_answer_held ();
  test_wait (changing != NULL);
  g_assert_true (sandbox_session_set_network_policy_finish (fixture->session, changing, &error));
  g_assert_no_error (error);
  assert_journal ("gateway https://b.example, driver https://b.example");
}

static void
test_cancelled (Fixture      *fixture,
                gconstpointer data)
{
  static const struct
  {
    Asked       asked;
    gboolean    refuses; /* when it answers at last */
    const char *journal; /* from the cancellation on */
    gboolean    in_force;
  } cases[] = {
    { ASKED_GATEWAY_POLICY, FALSE, "gateway none", FALSE },
    { ASKED_GATEWAY_POLICY, TRUE, "gateway none", FALSE },
    { ASKED_DRIVER_POLICY, TRUE, "gateway none", FALSE },
    { ASKED_DRIVER_POLICY, FALSE, "", TRUE }, /* the driver was faster */
  };

  g_test_summary ("A change that is cancelled is told so at once; no command starts before it is known what is in force");

  fixture_create (fixture, list_of ("https://a.example", NULL));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SandboxNetworkPolicy) policy = list_of ("https://b.example", NULL);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GError) error = NULL;
      g_autofree char *journal = NULL;
      guint            n_notified = fixture->n_notified;

      assert_changes (fixture, sandbox_network_policy_new_deny_all ());
      n_notified = fixture->n_notified;
      script.answers[cases[i].asked] = ANSWER_HELD;
      sandbox_session_set_network_policy_async (fixture->session, policy, cancellable, test_result_cb, &result);
      test_wait (script_count_held () == 1);
      journal = script_take_journal ();
      g_cancellable_cancel (cancellable);
      test_wait (result != NULL);
      g_assert_false (sandbox_session_set_network_policy_finish (fixture->session, result, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      assert_refused (fixture, list_of ("https://c.example", NULL), SANDBOX_ERROR_BUSY);

      script.answers[cases[i].asked] = ANSWER_NOW;
      if (cases[i].refuses)
        script_refuse_held ();
      else
        script_answer_held ();
      assert_journal (cases[i].journal);
      g_assert_cmpint (sandbox_session_get_gateway_path (fixture->session) != NULL, ==, cases[i].in_force);
      test_run_for (1);
      g_assert_cmpuint (fixture->n_notified, ==, n_notified + (cases[i].in_force ? 1 : 0));
      assert_variables (fixture, NULL, "");
    }
}

static gpointer
cancel_thread (gpointer data)
{
  test_wait (script_count_held () == 1);
  g_cancellable_cancel (data);

  return NULL;
}

static void
test_cancelled_sync (Fixture      *fixture,
                     gconstpointer data)
{
  g_autoptr (SandboxNetworkPolicy) policy = list_of ("https://b.example", NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  GThread *thread = NULL;

  g_test_summary ("A synchronous change that is cancelled goes to its end without the thread that waited");

  fixture_create (fixture, list_of ("https://a.example", NULL));
  script.answers[ASKED_GATEWAY_POLICY] = ANSWER_HELD;
  thread = g_thread_new ("cancel", cancel_thread, cancellable);
  g_assert_false (sandbox_session_set_network_policy (fixture->session, policy, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_thread_join (thread);
  assert_refused (fixture, list_of ("https://c.example", NULL), SANDBOX_ERROR_BUSY);
  script.answers[ASKED_GATEWAY_POLICY] = ANSWER_NOW;
  script_answer_held ();
  assert_journal ("create, make, gateway https://a.example, driver gateway, gateway https://b.example, gateway https://a.example");
  assert_changes (fixture, list_of ("https://c.example", NULL));
}

static gpointer
answer_late_thread (gpointer data)
{
  g_usleep (100 * 1000);
  script_answer_held ();

  return NULL;
}

static void
test_stop (Fixture      *fixture,
           gconstpointer data)
{
  static const struct
  {
    Asked       asked;
    const char *journal;
  } cases[] = {
    { ASKED_GATEWAY_POLICY, "create, make, gateway https://a.example, driver close, gateway close" },
    { ASKED_SET_GATEWAY, "create, make, gateway https://a.example, driver gateway, driver close, gateway close" },
    { ASKED_DRIVER_POLICY, "create, make, gateway https://a.example, driver gateway, driver https://a.example, driver close, gateway close" },
  };

  g_test_summary ("A stop waits for the change that is under way, whose caller hears of the stop, and closes the gateway");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SandboxNetworkPolicy) policy = list_of ("https://a.example", NULL);
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GError) error = NULL;
      GThread *thread = NULL;

      fixture_create (fixture, NULL);
      script.answers[cases[i].asked] = ANSWER_HELD;
      sandbox_session_set_network_policy_async (fixture->session, policy, NULL, test_result_cb, &result);
      test_wait (script_count_held () == 1);
      script.answers[cases[i].asked] = ANSWER_NOW;
      thread = g_thread_new ("late", answer_late_thread, NULL);
      g_assert_true (sandbox_handle_stop (fixture->handle, NULL, &error));
      g_assert_no_error (error);
      g_thread_join (thread);
      assert_journal (cases[i].journal);

      test_wait (result != NULL);
      if (cases[i].asked == ASKED_DRIVER_POLICY)
        g_assert_true (sandbox_session_set_network_policy_finish (fixture->session, result, NULL));
      else
        {
          g_assert_false (sandbox_session_set_network_policy_finish (fixture->session, result, &error));
          g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED);
        }
      g_clear_object (&result);
      g_clear_object (&fixture->handle);
    }
}

static void
test_stop_fails (Fixture      *fixture,
                 gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_test_summary ("A gateway that is not closed makes the stop fail, once it has tried");

  fixture_create (fixture, list_of ("https://a.example", NULL));
  script.answers[ASKED_GATEWAY_CLOSE] = ANSWER_REFUSE;
  g_assert_false (sandbox_handle_stop (fixture->handle, NULL, &error));
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED);
  g_assert_cmpint (sandbox_handle_get_phase (fixture->handle), ==, SANDBOX_PHASE_STOPPED);
}

static void
test_dropped (Fixture      *fixture,
              gconstpointer data)
{
  g_test_summary ("A session that is dropped without a stop closes its gateway all the same, and never its driver");

  fixture_create (fixture, list_of ("https://a.example", NULL));
  assert_journal ("create, make, gateway https://a.example, driver gateway");
  g_clear_object (&fixture->handle);
  test_wait (g_atomic_int_get ((int *) &script.n_gateways) == 0);
  assert_journal ("gateway close");
}

/* ---- The environment */

static void
test_variables (Fixture      *fixture,
                gconstpointer data)
{
  static const char *const argv[] = { "true", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxCreateOptions) options = sandbox_create_options_new ();
  g_autoptr (SandboxNetworkPolicy) open = list_of ("https://a.example", NULL);
  g_autofree char *plan = NULL;

  g_test_summary ("Programs that know http_proxy only are sent to the loopback door, unless the command says otherwise");

  sandbox_network_policy_set_loopback_door (open, TRUE);
  fixture_create (fixture, list_of ("https://a.example", NULL));
  assert_variables (fixture, "A=b", "A=b");
  assert_changes (fixture, g_object_ref (open));
  assert_variables (fixture, NULL, "http_proxy=http://127.0.0.1:3128 HTTP_PROXY=http://127.0.0.1:3128");
  assert_variables (fixture, "A=b", "http_proxy=http://127.0.0.1:3128 HTTP_PROXY=http://127.0.0.1:3128 A=b");
  assert_variables (fixture, "http_proxy=mine", "http_proxy=mine HTTP_PROXY=http://127.0.0.1:3128");
  assert_variables (fixture, "HTTP_PROXY=", "http_proxy=http://127.0.0.1:3128 HTTP_PROXY=");
  assert_changes (fixture, sandbox_network_policy_new_deny_all ());
  assert_variables (fixture, NULL, "");

  sandbox_create_options_set_network (options, open);
  plan = sandbox_backend_plan (fixture->backend, command, options, NULL);
  g_assert_cmpstr (plan, ==, "http_proxy=http://127.0.0.1:3128 HTTP_PROXY=http://127.0.0.1:3128");
}

/* ---- What the gateway tells */

typedef struct
{
  guint    n_requests;
  guint    n_denied;
  guint    n_errors;
  GString *text;
  GThread *thread;
  GError  *error; /* the last one */
} Heard;

static void
heard_clear (Heard *self)
{
  g_string_free (self->text, TRUE);
  g_clear_error (&self->error);
}

static void
request_cb (SandboxSession *session,
            const char     *method,
            const char     *origin,
            guint           status,
            guint64         request_bytes,
            guint64         response_bytes,
            guint64         time_us,
            gpointer        user_data)
{
  Heard *heard = user_data;

  heard->thread = g_thread_self ();
  g_string_append_printf (heard->text, "%s %s %u %d %d %d;", method, origin, status, (int) request_bytes, (int) response_bytes, (int) time_us);
  g_atomic_int_inc ((int *) &heard->n_requests);
}

static void
denied_cb (SandboxSession *session,
           const char     *origin,
           const char     *reason,
           gpointer        user_data)
{
  Heard *heard = user_data;

  heard->thread = g_thread_self ();
  g_string_append_printf (heard->text, "%s %s;", origin != NULL ? origin : "?", reason);
  g_atomic_int_inc ((int *) &heard->n_denied);
}

static void
error_cb (SandboxBackend *backend,
          const GError   *error,
          gpointer        user_data)
{
  Heard *heard = user_data;

  heard->thread = g_thread_self ();
  g_string_append_printf (heard->text, "%s;", error->message);
  g_clear_error (&heard->error);
  heard->error = g_error_copy (error);
  g_atomic_int_inc ((int *) &heard->n_errors);
}

static void
fixture_listen (Fixture *fixture,
                Heard   *heard)
{
  heard->text = g_string_new (NULL);
  g_signal_connect (fixture->session, "network-request", G_CALLBACK (request_cb), heard);
  g_signal_connect (fixture->session, "network-denied", G_CALLBACK (denied_cb), heard);
  g_signal_connect (fixture->backend, "gateway-error", G_CALLBACK (error_cb), heard);
}

/* For the tests of what it tells */
static SandboxGateway *last_gateway;

static SandboxGateway *
make_known_gateway (gpointer data,
                    GError **error)
{
  last_gateway = g_object_new (fake_gateway_get_type (), NULL);

  return g_object_ref (last_gateway);
}

static gpointer
tell_thread (gpointer data)
{
  g_autoptr (GError) error = g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "No route");

  sandbox_gateway_emit_answered (data, "GET", "https://a.example", 200, 1, 2, 3);
  sandbox_gateway_emit_denied (data, "http://b.example", "not on the list");
  sandbox_gateway_emit_denied (data, NULL, "no host");
  sandbox_gateway_emit_failed (data, error);

  return NULL;
}

#define TOLD "GET https://a.example 200 1 2 3;http://b.example not on the list;? no host;No route;"

static void
told_set_up (Fixture      *fixture,
             gconstpointer data)
{
  GType driver_type = G_TYPE_INVALID;

  fixture_set_up (fixture, data);
  driver_type = ((DoorBackend *) fixture->backend)->driver_type;
  g_assert_finalize_object (fixture->backend);
  fixture->backend = g_object_new (door_backend_get_type (), "name", "door", NULL);
  ((DoorBackend *) fixture->backend)->driver_type = driver_type;
  sandbox_backend_set_gateway_func (fixture->backend, make_known_gateway, NULL, NULL);
  fixture_create (fixture, list_of ("https://a.example", NULL));
  fixture->gateway = g_steal_pointer (&last_gateway);
}

static void
test_told (Fixture      *fixture,
           gconstpointer data)
{
  Heard heard = { 0 };

  g_test_summary ("What happens in the gateway is told in order, in the context in which the session was made");

  fixture_listen (fixture, &heard);
  g_thread_join (g_thread_new ("gateway", tell_thread, fixture->gateway));
  g_assert_cmpuint (heard.text->len, ==, 0);
  test_wait (g_atomic_int_get ((int *) &heard.n_errors) == 1);
  g_assert_cmpstr (heard.text->str, ==, TOLD);
  g_assert_true (heard.thread == g_thread_self ());
  heard_clear (&heard);
}

typedef struct
{
  Fixture *fixture;
  Heard   *heard;
} Blocked;

static gpointer
tell_blocked_thread (gpointer data)
{
  Blocked *blocked = data;

  test_wait (script_count_held () == 1);
  tell_thread (blocked->fixture->gateway);
  while (g_atomic_int_get ((int *) &blocked->heard->n_errors) == 0)
    g_usleep (100);
  script_refuse_held ();

  return NULL;
}

static gpointer
run_thread (gpointer data)
{
  static const char *const argv[] = { "true", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);

  g_assert_null (sandbox_session_run (((Fixture *) data)->session, command, NULL, NULL));

  return g_thread_self ();
}

static void
test_told_blocked (Fixture      *fixture,
                   gconstpointer data)
{
  Heard    heard = { 0 };
  Blocked  blocked = { fixture, &heard };
  GThread *teller = NULL;
  gpointer runner = NULL;

  g_test_summary ("While a thread of the host waits in a call, it is told there: the call does not end before it has been");

  fixture_listen (fixture, &heard);
  script.answers[ASKED_SPAWN] = ANSWER_HELD;
  teller = g_thread_new ("gateway", tell_blocked_thread, &blocked);
  runner = run_thread (fixture);
  g_thread_join (teller);
  g_assert_cmpstr (heard.text->str, ==, TOLD);
  g_assert_true (heard.thread == runner);

  heard.n_errors = 0;
  teller = g_thread_new ("gateway", tell_blocked_thread, &blocked);
  runner = g_thread_join (g_thread_new ("host", run_thread, fixture));
  g_thread_join (teller);
  g_assert_true (heard.thread == runner);
  g_assert_true (runner != g_thread_self ());
  heard_clear (&heard);
}

static void
test_told_stragglers (Fixture      *fixture,
                      gconstpointer data)
{
  Heard heard = { 0 };

  g_test_summary ("What comes between the calls of a host without a main loop is told in the next one, the stop at the latest");

  fixture_listen (fixture, &heard);
  script.answers[ASKED_SPAWN] = ANSWER_REFUSE;
  for (guint i = 0; i < 300; i++)
    {
      sandbox_gateway_emit_answered (fixture->gateway, "GET", "https://a.example", 200, 0, 0, 0);
      g_assert_cmpuint (heard.n_requests, ==, i);
      run_thread (fixture);
      g_assert_cmpuint (heard.n_requests, ==, i + 1);
    }
  tell_thread (fixture->gateway);
  g_assert_true (sandbox_handle_stop (fixture->handle, NULL, NULL));
  g_assert_cmpuint (heard.n_errors, ==, 1);

  /* Nothing of the session is left in the context that nobody runs, once the worker has let go of it. */
  sandbox_gateway_emit_answered (fixture->gateway, "GET", "https://a.example", 200, 0, 0, 0);
  g_clear_object (&fixture->handle);
  for (guint i = 0; i < 10000 && g_main_context_pending (NULL); i++)
    g_usleep (1000);
  g_assert_false (g_main_context_pending (NULL));
  g_assert_cmpuint (heard.n_requests, ==, 301);
  heard_clear (&heard);
}

static guint n_debug;

static void
debug_cb (const char    *domain,
          GLogLevelFlags level,
          const char    *message,
          gpointer       user_data)
{
  if (strstr (message, user_data) != NULL)
    g_atomic_int_inc ((int *) &n_debug);
}

#define LEFT_OUT(requests, denied, errors) \
 "not told of " #requests " requests that were passed on, " #denied " that were refused and " #errors " errors;"

static void
test_bound (Fixture      *fixture,
            gconstpointer data)
{
  Heard heard = { 0 };
  guint handler = 0;

  g_test_summary ("However much a guest asks for, 256 things of a kind wait for the host; how many others there were is told last");

  fixture_listen (fixture, &heard);
  for (guint i = 0; i < 1000; i++)
    sandbox_gateway_emit_denied (fixture->gateway, "http://b.example", "not on the list");
  test_wait (heard.n_denied == 256);
  test_run_for (20);
  g_assert_cmpuint (heard.n_denied, ==, 256);
  g_assert_cmpuint (heard.n_errors, ==, 1);
  g_assert_true (g_str_has_suffix (heard.text->str, LEFT_OUT (0, 744, 0)));
  g_assert_error (heard.error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
  for (guint i = 0; i < 10; i++)
    sandbox_gateway_emit_denied (fixture->gateway, "http://b.example", "not on the list");
  test_wait (heard.n_denied == 266);
  test_run_for (20);
  g_assert_cmpuint (heard.n_denied, ==, 266);
  g_assert_cmpuint (heard.n_errors, ==, 1);

  /* In a debug output it is where nobody listens for errors. */
  g_signal_handlers_disconnect_by_data (fixture->backend, &heard);
  n_debug = 0;
  handler = g_log_set_handler ("Sandbox", G_LOG_LEVEL_DEBUG, debug_cb, (gpointer) "and 0 errors");
  for (guint i = 0; i < 257; i++)
    sandbox_gateway_emit_denied (fixture->gateway, "http://b.example", "not on the list");
  test_wait (heard.n_denied == 266 + 256);
  test_run_for (20);
  g_assert_cmpuint (heard.n_denied, ==, 266 + 256);
  g_assert_cmpuint (n_debug, ==, 1);
  g_log_remove_handler ("Sandbox", handler);
  heard_clear (&heard);
}

static void
test_rooms (Fixture      *fixture,
            gconstpointer data)
{
  g_autoptr (GError) error = g_error_new_literal (SANDBOX_ERROR, SANDBOX_ERROR_FAILED, "No route");
  Heard heard = { 0 };

  g_test_summary ("Refused requests push those that were passed on out of no log, nor do errors, whichever comes first");

  fixture_listen (fixture, &heard);
  for (guint i = 0; i < 300; i++)
    sandbox_gateway_emit_denied (fixture->gateway, NULL, "not well formed");
  for (guint i = 0; i < 256; i++)
    sandbox_gateway_emit_answered (fixture->gateway, "GET", "https://a.example", 200, 0, 0, 0);
  for (guint i = 0; i < 260; i++)
    sandbox_gateway_emit_failed (fixture->gateway, error);
  test_wait (heard.n_errors == 256 + 1);
  test_run_for (20);
  g_assert_cmpuint (heard.n_denied, ==, 256);
  g_assert_cmpuint (heard.n_requests, ==, 256);
  g_assert_cmpuint (heard.n_errors, ==, 256 + 1);
  g_assert_true (g_str_has_suffix (heard.text->str, LEFT_OUT (0, 44, 4)));

  for (guint i = 0; i < 258; i++)
    sandbox_gateway_emit_answered (fixture->gateway, "GET", "https://a.example", 200, 0, 0, 0);
  sandbox_gateway_emit_denied (fixture->gateway, NULL, "not well formed");
  test_wait (heard.n_denied == 257);
  test_run_for (20);
  g_assert_cmpuint (heard.n_denied, ==, 257);
  g_assert_cmpuint (heard.n_requests, ==, 256 + 256);
  g_assert_true (g_str_has_suffix (heard.text->str, LEFT_OUT (2, 0, 0)));
  heard_clear (&heard);
}

static void
fill_cb (SandboxSession *session,
         const char     *origin,
         const char     *reason,
         gpointer        user_data)
{
  Fixture *fixture = user_data;

  if (fixture->n_notified++ == 0)
    for (guint i = 0; i < 300; i++)
      sandbox_gateway_emit_denied (fixture->gateway, NULL, "another one");
}

static void
test_filled_by_handler (Fixture      *fixture,
                        gconstpointer data)
{
  Heard heard = { 0 };

  g_test_summary ("What finds no room while the host is being told is told of as well");

  fixture_listen (fixture, &heard);
  fixture->n_notified = 0;
  g_signal_connect (fixture->session, "network-denied", G_CALLBACK (fill_cb), fixture);
  sandbox_gateway_emit_denied (fixture->gateway, NULL, "the first one");
  test_wait (heard.n_denied == 257);
  test_run_for (20);
  g_assert_cmpuint (heard.n_denied, ==, 257);
  g_assert_cmpuint (heard.n_errors, ==, 1);
  g_assert_nonnull (strstr (heard.text->str, LEFT_OUT (0, 44, 0)));
  heard_clear (&heard);
}

typedef struct
{
  Fixture *fixture;
  guint    depth;
  guint    deepest;
  guint    told;
} Deep;

#define N_DEEP 1000

/* As a guest that asks and asks, and a host that does something about it */
static void
deep_cb (SandboxSession *session,
         const char     *origin,
         const char     *reason,
         gpointer        user_data)
{
  Deep *deep = user_data;

  deep->told++;
  deep->depth++;
  deep->deepest = MAX (deep->deepest, deep->depth);
  if (deep->told < N_DEEP)
    sandbox_gateway_emit_denied (deep->fixture->gateway, NULL, "and again");
  run_thread (deep->fixture);
  deep->depth--;
}

static void
test_deep (Fixture      *fixture,
           gconstpointer data)
{
  Deep deep = { fixture, 0, 0, 0 };

  g_test_summary ("Handlers that make calls are not called below each other without end");

  script.answers[ASKED_SPAWN] = ANSWER_REFUSE;
  g_signal_connect (fixture->session, "network-denied", G_CALLBACK (deep_cb), &deep);
  sandbox_gateway_emit_denied (fixture->gateway, NULL, "the first one");
  run_thread (fixture);
  test_wait (deep.told == N_DEEP);
  g_assert_cmpuint (deep.deepest, ==, 2);
  g_signal_handlers_disconnect_by_data (fixture->session, &deep);
}

static void
test_nobody_listens (Fixture      *fixture,
                     gconstpointer data)
{
  guint handler = 0;

  g_test_summary ("What nobody listens for is in the debug output, and waits nowhere");

  n_debug = 0;
  handler = g_log_set_handler ("Sandbox", G_LOG_LEVEL_DEBUG, debug_cb, (gpointer) "a.example: 200, 1 bytes out, 2 in");
  for (guint i = 0; i < 1000; i++)
    tell_thread (fixture->gateway);
  g_assert_cmpuint (n_debug, ==, 1000);
  g_log_remove_handler ("Sandbox", handler);
  while (g_main_context_iteration (NULL, FALSE))
    g_assert_not_reached ();
}

static void
test_odd_text (Fixture      *fixture,
               gconstpointer data)
{
  g_autofree char *longest = g_strnfill (20000, 'a');
  Heard            heard = { 0 };

  g_test_summary ("Text that a guest chose is UTF-8 and short when it reaches the host");

  fixture_listen (fixture, &heard);
  sandbox_gateway_emit_denied (fixture->gateway, "http://plain", "odd");
  sandbox_gateway_emit_denied (fixture->gateway, "http://\377\376", "odd");
  sandbox_gateway_emit_denied (fixture->gateway, longest, "odd");
  test_wait (g_atomic_int_get ((int *) &heard.n_denied) == 3);
  g_assert_true (g_utf8_validate (heard.text->str, -1, NULL));
  g_assert_cmpuint (heard.text->len, <, 1000);
  heard_clear (&heard);
}

static gpointer
tell_nested_thread (gpointer data)
{
  Fixture *fixture = data;

  test_wait (script_count_held () == 1);
  sandbox_gateway_emit_denied (fixture->gateway, NULL, "during a handler");
  while (g_atomic_int_get ((int *) &fixture->n_notified) < 2)
    g_usleep (100);
  script_refuse_held ();

  return NULL;
}

static void
nested_cb (SandboxSession *session,
           const char     *origin,
           const char     *reason,
           gpointer        user_data)
{
  Fixture *fixture = user_data;
  GThread *thread = NULL;

  if (g_atomic_int_add ((int *) &fixture->n_notified, 1) > 0)
    return;

  thread = g_thread_new ("gateway", tell_nested_thread, fixture);
  run_thread (fixture);
  g_thread_join (thread);
}

static void
test_handler_calls (Fixture      *fixture,
                    gconstpointer data)
{
  g_test_summary ("A handler may call the session, and is told of more while it waits there");

  script.answers[ASKED_SPAWN] = ANSWER_HELD;
  fixture->n_notified = 0;
  g_signal_connect (fixture->session, "network-denied", G_CALLBACK (nested_cb), fixture);
  sandbox_gateway_emit_denied (fixture->gateway, NULL, "before");
  test_wait (fixture->n_notified == 2);
}

/* ---- Calls in a handler that is told in a call */

typedef enum
{
  CALL_RUN,
  CALL_CHANGE,
  CALL_STOP,
  CALL_SHUTDOWN,
  CALL_DELETE,
  N_CALLS,
} Call;

typedef struct
{
  Fixture      *fixture;
  GCancellable *cancellable; /* of the outer call */
  Call          inner;
  guint         n_heard;
  guint         n_ended;
} Calls;

static gboolean
make_call (Calls        *calls,
           Call          call,
           GCancellable *cancellable,
           GError      **error)
{
  static const char *const argv[] = { "true", NULL };
  g_autoptr (SandboxCommand) command = sandbox_command_new (argv);
  g_autoptr (SandboxNetworkPolicy) policy = list_of ("https://b.example", NULL);
  g_autoptr (SandboxResult) result = NULL;
  Fixture *fixture = calls->fixture;

  switch (call)
    {
    case CALL_RUN:
      result = sandbox_session_run (fixture->session, command, cancellable, error);
      return result != NULL;

    case CALL_CHANGE:
      return sandbox_session_set_network_policy (fixture->session, policy, cancellable, error);

    case CALL_STOP:
      return sandbox_handle_stop (fixture->handle, NULL, error);

    case CALL_SHUTDOWN:
      return sandbox_handle_shutdown (fixture->handle, NULL, error);

    case CALL_DELETE:
      return sandbox_handle_delete (fixture->handle, NULL, error);

    case N_CALLS:
      break;
    }
  g_assert_not_reached ();
}

static void
calls_cb (SandboxSession *session,
          const char     *method,
          const char     *origin,
          guint           status,
          guint64         request_bytes,
          guint64         response_bytes,
          guint64         time_us,
          gpointer        user_data)
{
  Calls *calls = user_data;
  g_autoptr (GError) error = NULL;

  calls->n_heard++;
  script.answers[ASKED_SPAWN] = ANSWER_REFUSE;
  if (make_call (calls, calls->inner, NULL, &error))
    g_assert_cmpint (calls->inner, !=, CALL_RUN);
  else if (calls->inner == CALL_RUN || calls->inner == CALL_CHANGE)
    {
      g_assert_cmpuint (error->domain, ==, SANDBOX_ERROR);
      g_assert_true (error->code == SANDBOX_ERROR_BUSY || error->code == SANDBOX_ERROR_STOPPED ||
                     error->code == SANDBOX_ERROR_NETWORK_DENIED);
    }
  else
    g_assert_no_error (error);
  g_atomic_int_inc ((int *) &calls->n_ended);
}

/* Tells something during the outer call, which it ends when every handler has returned, or when one has waited long enough for
 * the outer call to be out of the way. */
static gpointer
calls_thread (gpointer data)
{
  Calls *calls = data;

  g_usleep (5 * 1000);
  for (guint i = 0; i < 3; i++)
    sandbox_gateway_emit_answered (calls->fixture->gateway, "GET", "https://a.example", 200, 0, 0, 0);
  for (guint i = 0; i < 100 && g_atomic_int_get ((int *) &calls->n_ended) < 3; i++)
    g_usleep (1000);
  g_cancellable_cancel (calls->cancellable);

  return NULL;
}

static void
test_handler_ends (gconstpointer data)
{
  g_test_summary ("Whatever a handler calls of the session, in whatever call it is told: the one ends, and then the other");

  for (guint i = 0; i < N_CALLS * N_CALLS; i++)
    {
      Fixture fixture = { 0 };
      Calls   calls = { .fixture = &fixture, .inner = i % N_CALLS };
      Call    outer = i / N_CALLS;
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GError) error = NULL;
      GThread *thread = NULL;
      gboolean done = FALSE;
      gint64   before = g_get_monotonic_time ();

      g_test_message ("%u in %u", calls.inner, outer);
      told_set_up (&fixture, data);
      script.n_aborted = 3;
      script.answers[ASKED_GATEWAY_CLOSE] = ANSWER_THREAD;
      script.answers[ASKED_SPAWN] = ANSWER_CANCELLED;
      if (outer == CALL_CHANGE)
        script.answers[ASKED_DRIVER_POLICY] = ANSWER_CANCELLED;
      calls.cancellable = cancellable;
      g_signal_connect (fixture.session, "network-request", G_CALLBACK (calls_cb), &calls);
      if (outer == CALL_RUN || outer == CALL_CHANGE)
        thread = g_thread_new ("gateway", calls_thread, &calls);

      done = make_call (&calls, outer, cancellable, &error);
      if (outer == CALL_RUN || outer == CALL_CHANGE)
        g_assert_false (done);
      else
        g_assert_no_error (error);
      g_assert_cmpuint (calls.n_heard, >=, 3);
      g_assert_cmpuint (calls.n_ended, ==, calls.n_heard);
      g_assert_cmpint (g_get_monotonic_time () - before, <, 4 * G_USEC_PER_SEC);

      if (thread != NULL)
        g_thread_join (thread);
      g_signal_handlers_disconnect_by_data (fixture.session, &calls);
      fixture_tear_down (&fixture, data);
    }
}

static void
drop_cb (SandboxSession *session,
         const char     *origin,
         const char     *reason,
         gpointer        user_data)
{
  Fixture *fixture = user_data;

  fixture->n_notified++;
  g_clear_object (&fixture->handle);
}

static void
test_handler_drops (Fixture      *fixture,
                    gconstpointer data)
{
  g_test_summary ("A handler may let go of everything, after which nothing is told any more");

  fixture->n_notified = 0;
  g_signal_connect (fixture->session, "network-denied", G_CALLBACK (drop_cb), fixture);
  for (guint i = 0; i < 10; i++)
    sandbox_gateway_emit_denied (fixture->gateway, NULL, "one of many");
  test_wait (fixture->handle == NULL);
  test_run_for (5);
  g_assert_cmpuint (fixture->n_notified, ==, 1);
  for (guint i = 0; i < 10; i++)
    sandbox_gateway_emit_denied (fixture->gateway, NULL, "too late");
  test_run_for (5);
  g_assert_cmpuint (fixture->n_notified, ==, 1);
}

typedef struct
{
  SandboxGateway *gateway;
  gboolean        ends;
} Teller;

static gpointer
tell_on_thread (gpointer data)
{
  Teller *teller = data;

  while (!g_atomic_int_get (&teller->ends))
    {
      tell_thread (teller->gateway);
      g_usleep (50);
    }

  return NULL;
}

static void
test_told_all_along (Fixture      *fixture,
                     gconstpointer data)
{
  Teller   teller = { fixture->gateway, FALSE };
  GThread *threads[2];
  Heard    heard = { 0 };

  g_test_summary ("A gateway that never stops telling disturbs no change, no stop and no end");

  fixture_listen (fixture, &heard);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("gateway", tell_on_thread, &teller);
  test_wait (g_atomic_int_get ((int *) &heard.n_requests) > 0);
  for (guint i = 0; i < 50; i++)
    {
      assert_changes (fixture, i % 2 == 0 ? list_of ("https://b.example", NULL) : sandbox_network_policy_new_deny_all ());
      g_main_context_iteration (NULL, FALSE);
    }
  g_assert_true (sandbox_handle_stop (fixture->handle, NULL, NULL));
  g_clear_object (&fixture->handle);
  g_signal_handlers_disconnect_by_data (fixture->backend, &heard);
  g_usleep (2000);
  g_atomic_int_set (&teller.ends, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  test_run_for (5);
  heard_clear (&heard);
}

static void
test_forked (Fixture      *fixture,
             gconstpointer data)
{
  Heard heard = { 0 };
  pid_t pid = 0;
  int   status = 0;

  g_test_summary ("A forked child has no gateway, and lets go of what it has of the session without touching it");

  fixture_listen (fixture, &heard);
  tell_thread (fixture->gateway);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      g_autoptr (SandboxNetworkPolicy) policy = list_of ("https://b.example", NULL);
      g_autoptr (GError) error = NULL;
      gboolean changed = FALSE;

      alarm (20);
      changed = sandbox_session_set_network_policy (fixture->session, policy, NULL, &error);
      if (changed || !g_error_matches (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED) ||
          sandbox_session_get_gateway_path (fixture->session) != NULL)
        _exit (1);
      g_clear_object (&fixture->handle);
      if (strstr (script.journal->str, "close") != NULL)
        _exit (2);
      /* Without a search for leaks, of what threads had that are not there */
      if (g_getenv ("SANDBOX_TEST_VALGRIND") != NULL)
        execlp ("true", "true", NULL);
      _exit (0);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
  test_wait (heard.n_errors == 1);
  g_assert_true (sandbox_handle_stop (fixture->handle, NULL, NULL));
  heard_clear (&heard);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

#define ADD(path, func) g_test_add ("/session-network/" path, Fixture, NULL, fixture_set_up, func, fixture_tear_down)
#define ADD_FOR(path, driver, func) \
 g_test_add ("/session-network/" path, Fixture, driver##_get_type, fixture_set_up, func, fixture_tear_down)
#define ADD_TOLD(path, func) g_test_add ("/session-network/" path, Fixture, NULL, told_set_up, func, fixture_tear_down)
  ADD ("create", test_create);
  ADD ("nothing", test_nothing);
  ADD ("create-fails", test_create_fails);
  ADD ("create-cancelled", test_create_cancelled);
  ADD ("change", test_change);
  ADD ("change-threads", test_change_threads);
  ADD ("no-module", test_no_module);
  ADD ("bare", test_bare);
  ADD_FOR ("walled", walled_driver, test_walled);
  ADD_FOR ("foreign", foreign_driver, test_foreign);
  ADD ("driver-refuses", test_driver_refuses);
  ADD ("gateway-refuses", test_gateway_refuses);
  ADD ("doors-refused", test_doors_refused);
  ADD ("lost", test_lost);
  ADD ("busy", test_busy);
  ADD ("cancelled", test_cancelled);
  ADD ("cancelled-sync", test_cancelled_sync);
  ADD ("stop", test_stop);
  ADD ("stop-fails", test_stop_fails);
  ADD ("dropped", test_dropped);
  ADD ("variables", test_variables);
  ADD_TOLD ("told", test_told);
  ADD_TOLD ("told-blocked", test_told_blocked);
  ADD_TOLD ("told-stragglers", test_told_stragglers);
  ADD_TOLD ("bound", test_bound);
  ADD_TOLD ("rooms", test_rooms);
  ADD_TOLD ("filled-by-handler", test_filled_by_handler);
  ADD_TOLD ("deep", test_deep);
  ADD_TOLD ("nobody-listens", test_nobody_listens);
  ADD_TOLD ("odd-text", test_odd_text);
  ADD_TOLD ("handler-calls", test_handler_calls);
  g_test_add_data_func ("/session-network/handler-ends", door_driver_get_type, test_handler_ends);
  g_test_add_data_func ("/session-network/handler-ends-foreign", foreign_driver_get_type, test_handler_ends);
  ADD_TOLD ("handler-drops", test_handler_drops);
  ADD_TOLD ("told-all-along", test_told_all_along);
  ADD_TOLD ("forked", test_forked);

  return g_test_run ();
}
