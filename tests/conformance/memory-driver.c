/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "memory-driver.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKSPACE "/workspace"
#define CHUNK 4096

/* ---- Answers, as good or as bad as they are wanted */

typedef struct
{
  SandboxRequest *request;
  GBytes         *bytes;
  GObject        *object;
  GError         *error;
} MemoryReply;

typedef struct
{
  GMutex       lock;
  MemoryAnswer answer;
  GQueue       held; /* MemoryReply */
} MemoryReplies;

static void
memory_reply_free (gpointer data)
{
  MemoryReply *reply = data;

  g_clear_object (&reply->request);
  g_clear_pointer (&reply->bytes, g_bytes_unref);
  g_clear_object (&reply->object);
  g_clear_error (&reply->error);
  g_free (reply);
}

static void
memory_reply_give (MemoryReply *reply)
{
  if (reply->error != NULL)
    sandbox_request_return_error (reply->request, reply->error);
  else if (reply->bytes != NULL)
    sandbox_request_return_bytes (reply->request, reply->bytes);
  else if (reply->object != NULL)
    sandbox_request_return_object (reply->request, reply->object);
  else
    sandbox_request_return_done (reply->request);
}

static gboolean
memory_reply_idle_cb (gpointer data)
{
  memory_reply_give (data);

  return G_SOURCE_REMOVE;
}

static gpointer
memory_reply_thread (gpointer data)
{
  memory_reply_give (data);
  memory_reply_free (data);

  return NULL;
}

static void
memory_replies_init (MemoryReplies *self)
{
  g_mutex_init (&self->lock);
  g_queue_init (&self->held);
}

static void
memory_replies_clear (MemoryReplies *self)
{
  g_queue_clear_full (&self->held, memory_reply_free);
  g_mutex_clear (&self->lock);
}

static void
memory_replies_set (MemoryReplies *self,
                    MemoryAnswer   answer)
{
  g_mutex_lock (&self->lock);
  self->answer = answer;
  g_mutex_unlock (&self->lock);
}

static GList *
memory_replies_steal_held (MemoryReplies *self)
{
  GList *held = NULL;

  g_mutex_lock (&self->lock);
  held = self->held.head;
  g_queue_init (&self->held);
  g_mutex_unlock (&self->lock);

  return held;
}

static void
memory_replies_answer_held (MemoryReplies *self)
{
  GList *held = memory_replies_steal_held (self);

  for (GList *link = held; link != NULL; link = link->next)
    memory_reply_give (link->data);
  g_list_free_full (held, memory_reply_free);
}

/* Answers a request of a vfunc; the result is that of the vfunc. @bytes, @object and @failure are
 * taken. */
static gboolean
memory_replies_answer (MemoryReplies  *self,
                       SandboxRequest *request,
                       GBytes         *bytes,
                       gpointer        object,
                       GError         *failure,
                       GError        **error)
{
  MemoryReply *reply = g_new0 (MemoryReply, 1);
  MemoryAnswer answer;

  reply->request = g_object_ref (request);
  reply->bytes = bytes;
  reply->object = object;
  reply->error = failure;

  g_mutex_lock (&self->lock);
  answer = self->answer;
  if (answer == MEMORY_ANSWER_HELD)
    g_queue_push_tail (&self->held, g_steal_pointer (&reply));
  g_mutex_unlock (&self->lock);

  switch (answer)
    {
    case MEMORY_ANSWER_HELD:
      return TRUE;

    case MEMORY_ANSWER_NOW:
      memory_reply_give (reply);
      break;

    case MEMORY_ANSWER_IDLE:
      {
        g_autoptr (GSource) source = g_idle_source_new ();

        g_source_set_callback (source, memory_reply_idle_cb, g_steal_pointer (&reply), memory_reply_free);
        g_source_attach (source, g_main_context_get_thread_default ());
        return TRUE;
      }

    case MEMORY_ANSWER_THREAD:
      g_thread_unref (g_thread_new ("memory-reply", memory_reply_thread, g_steal_pointer (&reply)));
      return TRUE;

    case MEMORY_ANSWER_TWICE:
      memory_reply_give (reply);
      memory_reply_give (reply);
      break;

    case MEMORY_ANSWER_WRONG_TYPE:
      if (reply->bytes != NULL || reply->object != NULL)
        sandbox_request_return_done (request);
      else
        {
          g_autoptr (GBytes) wrong = g_bytes_new_static ("wrong", 5);

          sandbox_request_return_bytes (request, wrong);
        }
      break;

    case MEMORY_ANSWER_DROPPED:
      break;

    case MEMORY_ANSWER_RAISE:
      memory_reply_free (reply);
      return FALSE;

    case MEMORY_ANSWER_BOTH:
      memory_reply_give (reply);
      memory_reply_free (reply);
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED, "Answered and refused");
      return FALSE;

    case MEMORY_ANSWER_REFUSE:
      memory_reply_free (reply);
      g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED, "Refused");
      return FALSE;
    }

  memory_reply_free (reply);

  return TRUE;
}

/* ---- The driver's own state */

typedef struct
{
  char    *name;
  GThread *thread;
} MemoryCall;

typedef struct
{
  MemoryReplies replies;

  GMutex          lock;        /* guards what follows */
  GHashTable     *files;       /* path: GBytes */
  GHashTable     *directories; /* path */
  GPtrArray      *live;        /* MemoryProcess */
  GArray         *calls;       /* MemoryCall */
  SandboxRequest *closing;
  gboolean        closed;
  gboolean        pushes;
} MemoryDriverPrivate;

#define MEMORY_TYPE_PROCESS (memory_process_get_type ())
G_DECLARE_FINAL_TYPE (MemoryProcess, memory_process, MEMORY, PROCESS, SandboxProcess)

static void    memory_driver_interface_init (SandboxDriverInterface *iface);
static void    memory_driver_note (MemoryDriver *self,
                                   const char   *name);
static void    memory_driver_forget (MemoryDriver  *self,
                                     MemoryProcess *process);
static GBytes *memory_driver_look_up (MemoryDriver *self,
                                      const char   *path);

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (MemoryDriver, memory_driver, G_TYPE_OBJECT,
                         G_ADD_PRIVATE (MemoryDriver)
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, memory_driver_interface_init))
/* clang-format on */

/* ---- Toy programs */

typedef enum
{
  MEMORY_END_NORMAL,
  MEMORY_END_ORPHAN,
  MEMORY_END_HOLD,
  MEMORY_END_VANISH,
  MEMORY_END_LOST,
  MEMORY_END_LIMITED,
} MemoryEnd;

typedef struct
{
  const char *name;
  int (*run) (MemoryProcess *self);
  MemoryEnd end;
  gboolean  ignores_term;
  gboolean  ignores_kill;
} MemoryProgram;

struct _MemoryProcess
{
  SandboxProcess parent_instance;

  MemoryDriver        *driver;
  const MemoryProgram *program;
  char               **argv;
  char               **environment;
  char                *cwd;
  GBytes              *input;
  gboolean             pushes;
  int                  in;     /* ends of the program, each -1 when there is none */
  int                  out[2]; /* stdout, stderr */
  int                  dying;  /* readable once a signal is to end it */

  GMutex lock; /* guards what follows */
  int    signum;
};

G_DEFINE_FINAL_TYPE (MemoryProcess, memory_process, SANDBOX_TYPE_PROCESS)

static void
memory_close (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

static gboolean
memory_process_is_dying (MemoryProcess *self)
{
  struct pollfd dying = { .fd = self->dying, .events = POLLIN };

  return poll (&dying, 1, 0) == 1;
}

/* Waits for @fd (-1 for nothing but the time); FALSE when the process dies. */
static gboolean
memory_process_poll (MemoryProcess *self,
                     int            fd,
                     short          events,
                     int            ms)
{
  struct pollfd fds[] = {
    { .fd = self->dying, .events = POLLIN },
    { .fd = fd, .events = events },
  };

  while (poll (fds, G_N_ELEMENTS (fds), ms) < 0)
    g_assert_cmpint (errno, ==, EINTR);

  return fds[0].revents == 0;
}

/* FALSE when the process dies or nobody wants its output. */
static gboolean
memory_process_write (MemoryProcess *self,
                      guint          stream,
                      const char    *data,
                      gsize          size)
{
  if (self->pushes)
    {
      g_autoptr (GBytes) bytes = g_bytes_new (data, size);

      if (memory_process_is_dying (self))
        return FALSE;
      return stream == 0 ? sandbox_process_push_stdout (SANDBOX_PROCESS (self), bytes)
                         : sandbox_process_push_stderr (SANDBOX_PROCESS (self), bytes);
    }

  while (size > 0)
    {
      ssize_t written = 0;

      if (!memory_process_poll (self, self->out[stream], POLLOUT, -1))
        return FALSE;
      written = write (self->out[stream], data, size);
      if (written < 0 && (errno == EAGAIN || errno == EINTR))
        continue;
      if (written < 0)
        return FALSE;
      data += written;
      size -= written;
    }

  return TRUE;
}

static gboolean
memory_process_write_bytes (MemoryProcess *self,
                            GBytes        *bytes)
{
  gsize       size = 0;
  const char *data = g_bytes_get_data (bytes, &size);

  for (gsize done = 0; done < size; done += MIN (CHUNK, size - done))
    if (!memory_process_write (self, 0, data + done, MIN (CHUNK, size - done)))
      return FALSE;

  return TRUE;
}

static int
memory_program_echo (MemoryProcess *self)
{
  g_autofree char *words = g_strjoinv (" ", self->argv + 1);
  g_autofree char *line = g_strconcat (words, "\n", NULL);

  memory_process_write (self, 0, line, strlen (line));

  return 0;
}

static int
memory_program_cat (MemoryProcess *self)
{
  char buffer[CHUNK];

  if (self->argv[1] != NULL)
    {
      g_autoptr (GBytes) bytes = memory_driver_look_up (self->driver, self->argv[1]);

      if (bytes == NULL)
        {
          memory_process_write (self, 1, "no such file\n", 13);
          return W_EXITCODE (1, 0);
        }
      memory_process_write_bytes (self, bytes);
      return 0;
    }

  if (self->input != NULL)
    memory_process_write_bytes (self, self->input);

  while (self->in >= 0 && memory_process_poll (self, self->in, POLLIN, -1))
    {
      ssize_t size = read (self->in, buffer, sizeof buffer);

      if (size < 0 && (errno == EAGAIN || errno == EINTR))
        continue;
      if (size <= 0 || !memory_process_write (self, 0, buffer, size))
        break;
    }

  return 0;
}

static int
memory_program_pwd (MemoryProcess *self)
{
  g_autofree char *line = g_str_equal (self->cwd, ".") ? g_strdup (WORKSPACE "\n")
                                                       : g_strconcat (WORKSPACE "/", self->cwd, "\n", NULL);

  memory_process_write (self, 0, line, strlen (line));

  return 0;
}

static int
memory_program_env (MemoryProcess *self)
{
  const char      *value = g_environ_getenv (self->environment, self->argv[1]);
  g_autofree char *line = g_strconcat (value != NULL ? value : "", "\n", NULL);

  if (value == NULL)
    return W_EXITCODE (1, 0);
  memory_process_write (self, 0, line, strlen (line));

  return 0;
}

static int
memory_program_exit (MemoryProcess *self)
{
  return W_EXITCODE (atoi (self->argv[1]), 0);
}

static int
memory_program_signal (MemoryProcess *self)
{
  return W_EXITCODE (0, atoi (self->argv[1]));
}

static int
memory_program_flood (MemoryProcess *self)
{
  gboolean turns = g_str_equal (self->argv[0], "interleave");
  guint64  left[] = {
     g_ascii_strtoull (self->argv[1], NULL, 10),
     g_ascii_strtoull (self->argv[2], NULL, 10),
  };
  char data[CHUNK];

  memset (data, 'x', sizeof data);
  for (guint stream = 1; left[0] + left[1] > 0; stream = turns ? 1 - stream : stream)
    {
      gsize part = MIN (turns ? 100 : sizeof data, left[stream]);

      if (part == 0)
        {
          stream = 1 - stream;
          turns = FALSE;
          continue;
        }
      if (!memory_process_write (self, stream, data, part))
        break;
      left[stream] -= part;
    }

  return 0;
}

static int
memory_program_yes (MemoryProcess *self)
{
  char data[CHUNK];

  memset (data, 'y', sizeof data);
  while (memory_process_write (self, 0, data, sizeof data))
    ;

  return 0;
}

static int
memory_program_sleep (MemoryProcess *self)
{
  memory_process_poll (self, -1, 0, self->argv[1] != NULL ? atoi (self->argv[1]) : -1);

  return 0;
}

static int
memory_program_word (MemoryProcess *self)
{
  if (self->argv[1] != NULL)
    memory_process_write (self, 0, self->argv[1], strlen (self->argv[1]));

  return 0;
}

static const MemoryProgram programs[] = {
  { "echo", memory_program_echo, MEMORY_END_NORMAL, FALSE, FALSE },
  { "cat", memory_program_cat, MEMORY_END_NORMAL, FALSE, FALSE },
  { "pwd", memory_program_pwd, MEMORY_END_NORMAL, FALSE, FALSE },
  { "env", memory_program_env, MEMORY_END_NORMAL, FALSE, FALSE },
  { "exit", memory_program_exit, MEMORY_END_NORMAL, FALSE, FALSE },
  { "signal", memory_program_signal, MEMORY_END_NORMAL, FALSE, FALSE },
  { "flood", memory_program_flood, MEMORY_END_NORMAL, FALSE, FALSE },
  { "interleave", memory_program_flood, MEMORY_END_NORMAL, FALSE, FALSE },
  { "yes", memory_program_yes, MEMORY_END_NORMAL, FALSE, FALSE },
  { "sleep", memory_program_sleep, MEMORY_END_NORMAL, FALSE, FALSE },
  { "hang", memory_program_sleep, MEMORY_END_NORMAL, TRUE, FALSE },
  { "immortal", memory_program_sleep, MEMORY_END_NORMAL, TRUE, TRUE },
  { "orphan", memory_program_word, MEMORY_END_ORPHAN, TRUE, FALSE },
  { "hold", memory_program_word, MEMORY_END_HOLD, FALSE, FALSE },
  { "vanish", memory_program_word, MEMORY_END_VANISH, FALSE, FALSE },
  { "lost", memory_program_word, MEMORY_END_LOST, FALSE, FALSE },
  { "limited", memory_program_word, MEMORY_END_LIMITED, FALSE, FALSE },
};

/* ---- A process: a thread, and what its driver reports of it */

static void
memory_process_finalize (GObject *object)
{
  MemoryProcess *self = MEMORY_PROCESS (object);

  memory_close (&self->in);
  memory_close (&self->out[0]);
  memory_close (&self->out[1]);
  memory_close (&self->dying);
  g_clear_pointer (&self->argv, g_strfreev);
  g_clear_pointer (&self->environment, g_strfreev);
  g_clear_pointer (&self->cwd, g_free);
  g_clear_pointer (&self->input, g_bytes_unref);
  g_clear_object (&self->driver);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (memory_process_parent_class)->finalize (object);
}

static void
memory_process_die (MemoryProcess *self,
                    int            signum)
{
  g_mutex_lock (&self->lock);
  if (self->signum == 0)
    self->signum = signum;
  g_mutex_unlock (&self->lock);
  eventfd_write (self->dying, 1);
}

static gboolean
memory_process_send_signal (SandboxProcess *process,
                            int             signum,
                            GError        **error)
{
  MemoryProcess *self = MEMORY_PROCESS (process);

  memory_driver_note (self->driver, "send_signal");
  if ((signum == SIGTERM || signum == SIGINT) && !self->program->ignores_term)
    memory_process_die (self, signum);
  else if (signum == SIGKILL && !self->program->ignores_kill)
    memory_process_die (self, signum);

  return TRUE;
}

static gboolean
memory_process_kill (SandboxProcess *process,
                     GError        **error)
{
  MemoryProcess *self = MEMORY_PROCESS (process);

  memory_driver_note (self->driver, "kill");
  if (!self->program->ignores_kill)
    memory_process_die (self, SIGKILL);

  return TRUE;
}

static void
memory_process_class_init (MemoryProcessClass *klass)
{
  GObjectClass        *object_class = G_OBJECT_CLASS (klass);
  SandboxProcessClass *process_class = SANDBOX_PROCESS_CLASS (klass);

  object_class->finalize = memory_process_finalize;
  process_class->send_signal = memory_process_send_signal;
  process_class->kill = memory_process_kill;
}

static void
memory_process_init (MemoryProcess *self)
{
  g_mutex_init (&self->lock);
  self->in = -1;
  self->out[0] = -1;
  self->out[1] = -1;
  self->dying = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  g_assert_cmpint (self->dying, >=, 0);
}

static void
memory_process_close_streams (MemoryProcess *self)
{
  memory_close (&self->in);
  memory_close (&self->out[0]);
  memory_close (&self->out[1]);
}

static void
memory_process_report_end (MemoryProcess *self,
                           int            status)
{
  SandboxProcess *process = SANDBOX_PROCESS (self);

  switch (self->program->end)
    {
    case MEMORY_END_NORMAL:
      memory_process_close_streams (self);
      sandbox_process_set_exited (process, status, 2000, 1000, 4096);
      sandbox_process_set_gone (process);
      break;

    case MEMORY_END_ORPHAN:
      sandbox_process_set_exited (process, status, 2000, 1000, 4096);
      memory_process_poll (self, -1, 0, -1);
      memory_process_close_streams (self);
      sandbox_process_set_gone (process);
      break;

    case MEMORY_END_HOLD:
      sandbox_process_set_exited (process, status, 2000, 1000, 4096);
      sandbox_process_set_gone (process);
      break;

    case MEMORY_END_VANISH:
      memory_process_close_streams (self);
      sandbox_process_set_gone (process);
      break;

    case MEMORY_END_LOST:
      memory_process_close_streams (self);
      sandbox_process_set_lost (process);
      break;

    case MEMORY_END_LIMITED:
      memory_process_close_streams (self);
      sandbox_process_set_outcome (process, SANDBOX_OUTCOME_MEMORY_LIMIT, 64 << 20, 65 << 20);
      sandbox_process_set_exited (process, W_EXITCODE (0, SIGKILL), 2000, 1000, 65 << 20);
      sandbox_process_set_gone (process);
      break;
    }
}

static gpointer
memory_process_thread (gpointer data)
{
  g_autoptr (MemoryProcess) self = data;
  sigset_t sigpipe;
  int      status = 0;

  sigemptyset (&sigpipe);
  sigaddset (&sigpipe, SIGPIPE);
  pthread_sigmask (SIG_BLOCK, &sigpipe, NULL);

  status = self->program->run (self);
  g_mutex_lock (&self->lock);
  if (self->signum != 0)
    status = W_EXITCODE (0, self->signum);
  g_mutex_unlock (&self->lock);

  memory_process_report_end (self, status);
  memory_driver_forget (self->driver, self);

  return NULL;
}

static void
memory_open_pipe (int *ends)
{
  if (pipe2 (ends, O_CLOEXEC) < 0)
    g_error ("No pipe: %s", g_strerror (errno));
}

/* The host's ends stay blocking: that is what a driver in a script hands out. */
static void
memory_process_make_pipes (MemoryProcess  *self,
                           SandboxCommand *command)
{
  g_autoptr (GOutputStream) input = NULL;
  g_autoptr (GInputStream) output = NULL;
  g_autoptr (GInputStream) errors = NULL;
  int ends[2];

  if (sandbox_command_wants_stdin_pipe (command))
    {
      memory_open_pipe (ends);
      self->in = ends[0];
      input = g_unix_output_stream_new (ends[1], TRUE);
    }

  memory_open_pipe (ends);
  output = g_unix_input_stream_new (ends[0], TRUE);
  self->out[0] = ends[1];
  memory_open_pipe (ends);
  errors = g_unix_input_stream_new (ends[0], TRUE);
  self->out[1] = ends[1];
  for (guint i = 0; i < G_N_ELEMENTS (self->out); i++)
    g_assert_cmpint (fcntl (self->out[i], F_SETFL, O_NONBLOCK), ==, 0);

  sandbox_process_set_streams (SANDBOX_PROCESS (self), input, output, errors);
}

static MemoryProcess *
memory_process_new (MemoryDriver        *driver,
                    const MemoryProgram *program,
                    SandboxCommand      *command,
                    gboolean             pushes)
{
  MemoryProcess *self = g_object_new (MEMORY_TYPE_PROCESS, NULL);
  GBytes        *input = sandbox_command_get_stdin (command);

  self->driver = g_object_ref (driver);
  self->program = program;
  self->argv = g_strdupv ((char **) sandbox_command_get_argv (command));
  self->environment = g_strdupv ((char **) sandbox_command_get_environment (command));
  self->cwd = g_strdup (sandbox_command_get_cwd (command));
  self->input = input != NULL ? g_bytes_ref (input) : NULL;
  self->pushes = pushes;
  if (!pushes)
    memory_process_make_pipes (self, command);

  return self;
}

/* ---- The driver */

static void
memory_call_clear (gpointer data)
{
  MemoryCall *call = data;

  g_free (call->name);
  g_thread_unref (call->thread);
}

static void
memory_driver_note (MemoryDriver *self,
                    const char   *name)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  MemoryCall           call = { g_strdup (name), g_thread_ref (g_thread_self ()) };

  g_mutex_lock (&priv->lock);
  g_array_append_val (priv->calls, call);
  g_mutex_unlock (&priv->lock);
}

static void
memory_driver_forget (MemoryDriver  *self,
                      MemoryProcess *process)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  g_autoptr (SandboxRequest) closing = NULL;
  g_autoptr (MemoryProcess) gone = NULL;
  guint index = 0;

  g_mutex_lock (&priv->lock);
  g_assert_true (g_ptr_array_find (priv->live, process, &index));
  gone = g_ptr_array_steal_index_fast (priv->live, index);
  if (priv->live->len == 0)
    closing = g_steal_pointer (&priv->closing);
  g_mutex_unlock (&priv->lock);

  if (closing != NULL)
    sandbox_request_return_done (closing);
}

static GBytes *
memory_driver_look_up (MemoryDriver *self,
                       const char   *path)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  GBytes              *bytes = NULL;

  g_mutex_lock (&priv->lock);
  bytes = g_hash_table_lookup (priv->files, path);
  if (bytes != NULL)
    g_bytes_ref (bytes);
  g_mutex_unlock (&priv->lock);

  return bytes;
}

static gboolean
memory_driver_answer (MemoryDriver   *self,
                      SandboxRequest *request,
                      GBytes         *bytes,
                      gpointer        object,
                      GError         *failure,
                      GError        **error)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);

  return memory_replies_answer (&priv->replies, request, bytes, object, failure, error);
}

static gboolean
memory_driver_check_open_locked (MemoryDriverPrivate *priv,
                                 GError             **error)
{
  if (priv->closed)
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_STOPPED, "The driver is closed");

  return !priv->closed;
}

/* Whether the parent of @path is a directory. With @make, it is made. */
static gboolean
memory_driver_check_parent_locked (MemoryDriverPrivate *priv,
                                   const char          *path,
                                   gboolean             make,
                                   GError             **error)
{
  g_autofree char *parent = g_path_get_dirname (path);

  if (g_hash_table_contains (priv->directories, parent))
    return TRUE;
  if (g_hash_table_contains (priv->files, parent))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH, "%s: not a directory", parent);
  else if (!make)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "%s: no such directory", parent);
  else if (memory_driver_check_parent_locked (priv, parent, TRUE, error))
    return g_hash_table_add (priv->directories, g_steal_pointer (&parent));

  return FALSE;
}

static GBytes *
memory_driver_read_locked (MemoryDriverPrivate *priv,
                           const char          *path,
                           guint64              offset,
                           guint64              max,
                           GError             **error)
{
  GBytes *bytes = g_hash_table_lookup (priv->files, path);
  gsize   size = bytes != NULL ? g_bytes_get_size (bytes) : 0;

  if (!memory_driver_check_open_locked (priv, error))
    return NULL;
  if (bytes != NULL)
    return g_bytes_new_from_bytes (bytes, MIN (offset, size), MIN (max, size - MIN (offset, size)));

  if (g_hash_table_contains (priv->directories, path))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "%s: a directory", path);
  else if (memory_driver_check_parent_locked (priv, path, FALSE, error))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "%s: no such file", path);

  return NULL;
}

static gboolean
memory_driver_read (SandboxDriver  *driver,
                    const char     *path,
                    guint64         offset,
                    guint64         max,
                    SandboxRequest *request,
                    GError        **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  GBytes              *bytes = NULL;
  GError              *failure = NULL;

  memory_driver_note (self, "read");
  g_mutex_lock (&priv->lock);
  bytes = memory_driver_read_locked (priv, path, offset, max, &failure);
  g_mutex_unlock (&priv->lock);

  return memory_driver_answer (self, request, bytes, NULL, failure, error);
}

static void
memory_driver_write_locked (MemoryDriverPrivate *priv,
                            const char          *path,
                            GBytes              *bytes,
                            SandboxWriteFlags    flags,
                            GError             **error)
{
  if (!memory_driver_check_open_locked (priv, error))
    return;

  if (g_hash_table_contains (priv->directories, path))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_INVALID, "%s: a directory", path);
  else if ((flags & SANDBOX_WRITE_FLAGS_EXCLUSIVE) != 0 && g_hash_table_contains (priv->files, path))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS, "%s: exists", path);
  else if (memory_driver_check_parent_locked (priv, path, (flags & SANDBOX_WRITE_FLAGS_PARENTS) != 0, error))
    g_hash_table_replace (priv->files, g_strdup (path), g_bytes_ref (bytes));
}

static gboolean
memory_driver_write (SandboxDriver    *driver,
                     const char       *path,
                     GBytes           *bytes,
                     guint             mode,
                     SandboxWriteFlags flags,
                     SandboxRequest   *request,
                     GError          **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  GError              *failure = NULL;

  memory_driver_note (self, "write");
  g_mutex_lock (&priv->lock);
  memory_driver_write_locked (priv, path, bytes, flags, &failure);
  g_mutex_unlock (&priv->lock);

  return memory_driver_answer (self, request, NULL, NULL, failure, error);
}

static gboolean
memory_is_below (gpointer key,
                 gpointer value,
                 gpointer user_data)
{
  return g_str_has_prefix (key, user_data);
}

static void
memory_driver_remove_locked (MemoryDriverPrivate *priv,
                             const char          *path,
                             SandboxRemoveFlags   flags,
                             GError             **error)
{
  g_autofree char *below = g_strconcat (path, "/", NULL);

  if (!memory_driver_check_open_locked (priv, error) || g_hash_table_remove (priv->files, path))
    return;

  if (!g_hash_table_contains (priv->directories, path))
    {
      if ((flags & SANDBOX_REMOVE_FLAGS_MISSING_OK) == 0)
        g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "%s: not there", path);
      return;
    }

  if ((flags & SANDBOX_REMOVE_FLAGS_RECURSIVE) == 0 &&
      (g_hash_table_find (priv->files, memory_is_below, below) != NULL ||
       g_hash_table_find (priv->directories, memory_is_below, below) != NULL))
    {
      g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS, "%s: not empty", path);
      return;
    }

  g_hash_table_foreach_remove (priv->files, memory_is_below, below);
  g_hash_table_foreach_remove (priv->directories, memory_is_below, below);
  g_hash_table_remove (priv->directories, path);
}

static gboolean
memory_driver_remove (SandboxDriver     *driver,
                      const char        *path,
                      SandboxRemoveFlags flags,
                      SandboxRequest    *request,
                      GError           **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  GError              *failure = NULL;

  memory_driver_note (self, "remove");
  g_mutex_lock (&priv->lock);
  memory_driver_remove_locked (priv, path, flags, &failure);
  g_mutex_unlock (&priv->lock);

  return memory_driver_answer (self, request, NULL, NULL, failure, error);
}

/* The optional functions, but for streams to write to and whole trees: a driver that has some of them. */
static GFileInfo *
memory_driver_describe_locked (MemoryDriverPrivate *priv,
                               const char          *path,
                               GError             **error)
{
  GBytes          *bytes = g_hash_table_lookup (priv->files, path);
  g_autofree char *name = g_path_get_basename (path);
  GFileInfo       *info = NULL;

  if (bytes == NULL && !g_hash_table_contains (priv->directories, path))
    {
      if (memory_driver_check_parent_locked (priv, path, FALSE, error))
        g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "%s: not there", path);
      return NULL;
    }

  info = g_file_info_new ();
  g_file_info_set_name (info, name);
  g_file_info_set_display_name (info, name);
  g_file_info_set_file_type (info, bytes != NULL ? G_FILE_TYPE_REGULAR : G_FILE_TYPE_DIRECTORY);
  g_file_info_set_size (info, bytes != NULL ? g_bytes_get_size (bytes) : 0);

  return info;
}

static SandboxListing *
memory_driver_list_locked (MemoryDriverPrivate *priv,
                           const char          *path,
                           guint                max,
                           GError             **error)
{
  SandboxListing *listing = NULL;
  guint           count = 0;

  if (!g_hash_table_contains (priv->directories, path))
    {
      g_autoptr (GFileInfo) info = memory_driver_describe_locked (priv, path, error);

      if (info != NULL)
        g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH, "%s: not a directory", path);
      return NULL;
    }

  listing = sandbox_listing_new ();
  for (guint i = 0; i < 2; i++)
    {
      GHashTableIter iter;
      gpointer       key = NULL;

      g_hash_table_iter_init (&iter, i == 0 ? priv->files : priv->directories);
      while (g_hash_table_iter_next (&iter, &key, NULL))
        {
          g_autofree char *parent = g_path_get_dirname (key);
          g_autoptr (GFileInfo) info = NULL;

          if (!g_str_equal (parent, path) || g_str_equal (key, "."))
            continue;
          if (count++ == max)
            {
              sandbox_listing_set_truncated (listing, TRUE);
              return listing;
            }
          info = memory_driver_describe_locked (priv, key, NULL);
          sandbox_listing_add (listing, info);
        }
    }

  return listing;
}

static gboolean
memory_driver_list (SandboxDriver  *driver,
                    const char     *path,
                    guint           max,
                    SandboxRequest *request,
                    GError        **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  SandboxListing      *listing = NULL;
  GError              *failure = NULL;

  memory_driver_note (self, "list");
  g_mutex_lock (&priv->lock);
  listing = memory_driver_list_locked (priv, path, max, &failure);
  g_mutex_unlock (&priv->lock);

  return memory_driver_answer (self, request, NULL, listing, failure, error);
}

static gboolean
memory_driver_query_info (SandboxDriver  *driver,
                          const char     *path,
                          SandboxRequest *request,
                          GError        **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  GFileInfo           *info = NULL;
  GError              *failure = NULL;

  memory_driver_note (self, "query_info");
  g_mutex_lock (&priv->lock);
  info = memory_driver_describe_locked (priv, path, &failure);
  g_mutex_unlock (&priv->lock);

  return memory_driver_answer (self, request, NULL, info, failure, error);
}

static gboolean
memory_driver_make_directory (SandboxDriver  *driver,
                              const char     *path,
                              SandboxRequest *request,
                              GError        **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  GError              *failure = NULL;

  memory_driver_note (self, "make_directory");
  g_mutex_lock (&priv->lock);
  if (g_hash_table_contains (priv->files, path) || g_hash_table_contains (priv->directories, path))
    g_set_error (&failure, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS, "%s: exists", path);
  else if (memory_driver_check_parent_locked (priv, path, TRUE, &failure))
    g_hash_table_add (priv->directories, g_strdup (path));
  g_mutex_unlock (&priv->lock);

  return memory_driver_answer (self, request, NULL, NULL, failure, error);
}

/* Files only */
static void
memory_driver_move_locked (MemoryDriverPrivate *priv,
                           const char          *from,
                           const char          *to,
                           GError             **error)
{
  g_autoptr (GFileInfo) source = memory_driver_describe_locked (priv, from, error);
  GBytes *bytes = g_hash_table_lookup (priv->files, from);

  if (source == NULL)
    return;
  if (g_hash_table_contains (priv->files, to) || g_hash_table_contains (priv->directories, to))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_EXISTS, "%s: exists", to);
  else if (bytes == NULL)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "%s: a directory, which is not moved here", from);
  else if (memory_driver_check_parent_locked (priv, to, FALSE, error))
    {
      g_hash_table_insert (priv->files, g_strdup (to), g_bytes_ref (bytes));
      g_hash_table_remove (priv->files, from);
    }
}

static gboolean
memory_driver_move (SandboxDriver  *driver,
                    const char     *from,
                    const char     *to,
                    SandboxRequest *request,
                    GError        **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  GError              *failure = NULL;

  memory_driver_note (self, "move");
  g_mutex_lock (&priv->lock);
  memory_driver_move_locked (priv, from, to, &failure);
  g_mutex_unlock (&priv->lock);

  return memory_driver_answer (self, request, NULL, NULL, failure, error);
}

static gboolean
memory_driver_open_read (SandboxDriver  *driver,
                         const char     *path,
                         SandboxRequest *request,
                         GError        **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  g_autoptr (GBytes) bytes = NULL;
  GError *failure = NULL;

  memory_driver_note (self, "open_read");
  g_mutex_lock (&priv->lock);
  bytes = memory_driver_read_locked (priv, path, 0, G_MAXUINT64, &failure);
  g_mutex_unlock (&priv->lock);

  return memory_driver_answer (self, request, NULL, bytes != NULL ? g_memory_input_stream_new_from_bytes (bytes) : NULL,
                               failure, error);
}

static const MemoryProgram *
memory_find_program (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    if (g_str_equal (programs[i].name, name))
      return &programs[i];

  return NULL;
}

static MemoryProcess *
memory_driver_spawn_locked (MemoryDriver   *self,
                            SandboxCommand *command,
                            GError        **error)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  const char          *name = sandbox_command_get_argv (command)[0];
  const MemoryProgram *program = memory_find_program (name);
  const char          *cwd = sandbox_command_get_cwd (command);
  MemoryProcess       *process = NULL;

  if (!memory_driver_check_open_locked (priv, error))
    return NULL;

  if (sandbox_command_get_limits (command) != NULL || sandbox_command_get_terminal (command))
    g_set_error_literal (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "No limits and no terminals here");
  else if (program == NULL && g_hash_table_contains (priv->files, name))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_DENIED, "%s: not executable", name);
  else if (program == NULL)
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "%s: no such program", name);
  else if (g_hash_table_contains (priv->files, cwd))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_PATH, "%s: not a directory", cwd);
  else if (!g_hash_table_contains (priv->directories, cwd))
    g_set_error (error, SANDBOX_ERROR, SANDBOX_ERROR_NOT_FOUND, "%s: no such directory", cwd);
  else
    {
      process = memory_process_new (self, program, command, priv->pushes);
      g_ptr_array_add (priv->live, g_object_ref (process));
    }

  return process;
}

static gboolean
memory_driver_spawn (SandboxDriver  *driver,
                     SandboxCommand *command,
                     SandboxRequest *request,
                     GError        **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  MemoryProcess       *process = NULL;
  GError              *failure = NULL;

  memory_driver_note (self, "spawn");
  g_mutex_lock (&priv->lock);
  process = memory_driver_spawn_locked (self, command, &failure);
  g_mutex_unlock (&priv->lock);

  if (process != NULL)
    g_thread_unref (g_thread_new ("memory-process", memory_process_thread, g_object_ref (process)));

  return memory_driver_answer (self, request, NULL, process, failure, error);
}

static gboolean
memory_driver_set_network_policy (SandboxDriver        *driver,
                                  SandboxNetworkPolicy *policy,
                                  SandboxRequest       *request,
                                  GError              **error)
{
  MemoryDriver *self = MEMORY_DRIVER (driver);
  GError       *failure = NULL;

  memory_driver_note (self, "set_network_policy");
  if (sandbox_network_policy_get_mode (policy) != SANDBOX_NETWORK_MODE_DENY_ALL)
    g_set_error_literal (&failure, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED, "There is no network here");

  return memory_driver_answer (self, request, NULL, NULL, failure, error);
}

static gboolean
memory_driver_close (SandboxDriver  *driver,
                     SandboxRequest *request,
                     GError        **error)
{
  MemoryDriver        *self = MEMORY_DRIVER (driver);
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  gboolean             waits = FALSE;

  memory_driver_note (self, "close");
  g_mutex_lock (&priv->lock);
  priv->closed = TRUE;
  for (guint i = 0; i < priv->live->len; i++)
    {
      MemoryProcess *process = priv->live->pdata[i];

      if (!process->program->ignores_kill)
        memory_process_die (process, SIGKILL);
    }
  waits = priv->live->len > 0 && priv->closing == NULL;
  if (waits)
    priv->closing = g_object_ref (request);
  g_mutex_unlock (&priv->lock);

  return waits ? TRUE : memory_driver_answer (self, request, NULL, NULL, NULL, error);
}

static void
memory_driver_interface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = TRUE;
  iface->read = memory_driver_read;
  iface->write = memory_driver_write;
  iface->remove = memory_driver_remove;
  iface->spawn = memory_driver_spawn;
  iface->set_network_policy = memory_driver_set_network_policy;
  iface->close = memory_driver_close;
  iface->list = memory_driver_list;
  iface->query_info = memory_driver_query_info;
  iface->make_directory = memory_driver_make_directory;
  iface->move = memory_driver_move;
  iface->open_read = memory_driver_open_read;
}

static void
memory_driver_finalize (GObject *object)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (MEMORY_DRIVER (object));

  g_clear_pointer (&priv->files, g_hash_table_unref);
  g_clear_pointer (&priv->directories, g_hash_table_unref);
  g_clear_pointer (&priv->live, g_ptr_array_unref);
  g_clear_pointer (&priv->calls, g_array_unref);
  g_clear_object (&priv->closing);
  memory_replies_clear (&priv->replies);
  g_mutex_clear (&priv->lock);

  G_OBJECT_CLASS (memory_driver_parent_class)->finalize (object);
}

static void
memory_driver_class_init (MemoryDriverClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = memory_driver_finalize;
}

static void
memory_driver_init (MemoryDriver *self)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);

  memory_replies_init (&priv->replies);
  g_mutex_init (&priv->lock);
  priv->files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_bytes_unref);
  priv->directories = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_add (priv->directories, g_strdup ("."));
  priv->live = g_ptr_array_new_with_free_func (g_object_unref);
  priv->calls = g_array_new (FALSE, FALSE, sizeof (MemoryCall));
  g_array_set_clear_func (priv->calls, memory_call_clear);
}

MemoryDriver *
memory_driver_new (void)
{
  return g_object_new (MEMORY_TYPE_DRIVER, NULL);
}

/* The same, without the word that it may be called from any thread */
typedef MemoryDriver      MemoryForeignDriver;
typedef MemoryDriverClass MemoryForeignDriverClass;

static void
memory_foreign_driver_interface_init (SandboxDriverInterface *iface)
{
  iface->thread_safe = FALSE;
}

GType memory_foreign_driver_get_type (void);

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (MemoryForeignDriver, memory_foreign_driver, MEMORY_TYPE_DRIVER,
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, memory_foreign_driver_interface_init))
/* clang-format on */

static void
memory_foreign_driver_class_init (MemoryForeignDriverClass *klass)
{
}

static void
memory_foreign_driver_init (MemoryForeignDriver *self)
{
}

MemoryDriver *
memory_driver_new_foreign (void)
{
  return g_object_new (memory_foreign_driver_get_type (), NULL);
}

typedef GObject      MemoryEmptyDriver;
typedef GObjectClass MemoryEmptyDriverClass;

static void
memory_empty_driver_interface_init (SandboxDriverInterface *iface)
{
}

GType memory_empty_driver_get_type (void);

/* clang-format off */
G_DEFINE_TYPE_WITH_CODE (MemoryEmptyDriver, memory_empty_driver, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (SANDBOX_TYPE_DRIVER, memory_empty_driver_interface_init))
/* clang-format on */

static void
memory_empty_driver_class_init (MemoryEmptyDriverClass *klass)
{
}

static void
memory_empty_driver_init (MemoryEmptyDriver *self)
{
}

SandboxDriver *
memory_driver_new_empty (void)
{
  return g_object_new (memory_empty_driver_get_type (), NULL);
}

SandboxCommand *
memory_command (const char *first,
                ...)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) argv = NULL;
  va_list words;

  va_start (words, first);
  for (const char *word = first; word != NULL; word = va_arg (words, const char *))
    g_strv_builder_add (builder, word);
  va_end (words);
  argv = g_strv_builder_end (builder);

  return sandbox_command_new ((const char *const *) argv);
}

void
memory_driver_set_answer (MemoryDriver *self,
                          MemoryAnswer  answer)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);

  memory_replies_set (&priv->replies, answer);
}

void
memory_driver_set_pushes (MemoryDriver *self,
                          gboolean      pushes)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);

  g_mutex_lock (&priv->lock);
  priv->pushes = pushes;
  g_mutex_unlock (&priv->lock);
}

guint
memory_driver_count_held (MemoryDriver *self)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  guint                held = 0;

  g_mutex_lock (&priv->replies.lock);
  held = priv->replies.held.length;
  g_mutex_unlock (&priv->replies.lock);

  return held;
}

void
memory_driver_answer_held (MemoryDriver *self)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);

  memory_replies_answer_held (&priv->replies);
}

void
memory_driver_drop_held (MemoryDriver *self)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);

  g_list_free_full (memory_replies_steal_held (&priv->replies), memory_reply_free);
}

guint
memory_driver_count_live (MemoryDriver *self)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  guint                live = 0;

  g_mutex_lock (&priv->lock);
  live = priv->live->len;
  g_mutex_unlock (&priv->lock);

  return live;
}

void
memory_driver_release (MemoryDriver *self)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);

  g_mutex_lock (&priv->lock);
  for (guint i = 0; i < priv->live->len; i++)
    memory_process_die (priv->live->pdata[i], SIGKILL);
  g_mutex_unlock (&priv->lock);
}

guint
memory_driver_count_calls (MemoryDriver *self,
                           const char   *name)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  guint                calls = 0;

  g_mutex_lock (&priv->lock);
  for (guint i = 0; i < priv->calls->len; i++)
    if (name == NULL || g_str_equal (g_array_index (priv->calls, MemoryCall, i).name, name))
      calls++;
  g_mutex_unlock (&priv->lock);

  return calls;
}

guint
memory_driver_count_calls_outside (MemoryDriver *self,
                                   GThread      *first,
                                   GThread      *second)
{
  MemoryDriverPrivate *priv = memory_driver_get_instance_private (self);
  guint                calls = 0;

  g_mutex_lock (&priv->lock);
  for (guint i = 0; i < priv->calls->len; i++)
    {
      GThread *thread = g_array_index (priv->calls, MemoryCall, i).thread;

      if (thread != first && thread != second)
        calls++;
    }
  g_mutex_unlock (&priv->lock);

  return calls;
}

/* ---- The backend */

struct _MemoryBackend
{
  SandboxBackend parent_instance;

  MemoryReplies replies;
  MemoryDriver *driver;
  gboolean      foreign;
  gboolean      pushes;
  MemoryAnswer  driver_answer;
};

G_DEFINE_FINAL_TYPE (MemoryBackend, memory_backend, SANDBOX_TYPE_BACKEND)

static gboolean
memory_backend_probe (SandboxBackend *backend,
                      SandboxProfile *profile,
                      SandboxRequest *request,
                      GError        **error)
{
  MemoryBackend *self = MEMORY_BACKEND (backend);
  SandboxReport *report = sandbox_report_new (SANDBOX_GRADE_PARTIAL);

  sandbox_report_add_gap (report, "Toys need no walls");

  return memory_replies_answer (&self->replies, request, NULL, report, NULL, error);
}

static gboolean
memory_backend_create_driver (SandboxBackend       *backend,
                              SandboxCreateOptions *options,
                              SandboxWorkspace     *workspace,
                              SandboxRequest       *request,
                              GError              **error)
{
  MemoryBackend        *self = MEMORY_BACKEND (backend);
  SandboxNetworkPolicy *network = sandbox_create_options_get_network (options);
  g_autoptr (MemoryDriver) driver = NULL;
  GError *failure = NULL;

  if (workspace != NULL)
    g_set_error_literal (&failure, SANDBOX_ERROR, SANDBOX_ERROR_NOT_SUPPORTED, "No real files here");
  else if (network != NULL && sandbox_network_policy_get_mode (network) != SANDBOX_NETWORK_MODE_DENY_ALL)
    g_set_error_literal (&failure, SANDBOX_ERROR, SANDBOX_ERROR_NETWORK_DENIED, "There is no network here");
  else
    {
      driver = self->foreign ? memory_driver_new_foreign () : memory_driver_new ();
      memory_driver_set_pushes (driver, self->pushes);
      memory_driver_set_answer (driver, self->driver_answer);
      g_set_object (&self->driver, driver);
    }

  return memory_replies_answer (&self->replies, request, NULL, g_steal_pointer (&driver), failure, error);
}

static char *
memory_backend_plan (SandboxBackend       *backend,
                     SandboxCommand       *command,
                     SandboxCreateOptions *options,
                     GError              **error)
{
  return g_strdup_printf ("{\"program\":\"%s\"}", sandbox_command_get_argv (command)[0]);
}

static void
memory_backend_finalize (GObject *object)
{
  MemoryBackend *self = MEMORY_BACKEND (object);

  g_clear_object (&self->driver);
  memory_replies_clear (&self->replies);

  G_OBJECT_CLASS (memory_backend_parent_class)->finalize (object);
}

static void
memory_backend_class_init (MemoryBackendClass *klass)
{
  SandboxBackendClass *backend_class = SANDBOX_BACKEND_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = memory_backend_finalize;
  backend_class->probe = memory_backend_probe;
  backend_class->create_driver = memory_backend_create_driver;
  backend_class->plan = memory_backend_plan;
}

static void
memory_backend_init (MemoryBackend *self)
{
  memory_replies_init (&self->replies);
}

MemoryBackend *
memory_backend_new (void)
{
  return g_object_new (MEMORY_TYPE_BACKEND, "name", "memory", NULL);
}

void
memory_backend_set_foreign (MemoryBackend *self,
                            gboolean       foreign)
{
  self->foreign = foreign;
}

void
memory_backend_set_pushes (MemoryBackend *self,
                           gboolean       pushes)
{
  self->pushes = pushes;
}

void
memory_backend_set_driver_answer (MemoryBackend *self,
                                  MemoryAnswer   answer)
{
  self->driver_answer = answer;
}

void
memory_backend_set_answer (MemoryBackend *self,
                           MemoryAnswer   answer)
{
  memory_replies_set (&self->replies, answer);
}

void
memory_backend_answer_held (MemoryBackend *self)
{
  memory_replies_answer_held (&self->replies);
}

void
memory_backend_drop_held (MemoryBackend *self)
{
  g_list_free_full (memory_replies_steal_held (&self->replies), memory_reply_free);
}

MemoryDriver *
memory_backend_get_driver (MemoryBackend *self)
{
  return self->driver;
}
