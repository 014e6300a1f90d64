/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the bubblewrap backend would do, without doing it: the host is a table here. */
#include <sandbox-glib.h>

#include "sandbox-bubblewrap-arguments.h"
#include "sandbox-bubblewrap-plan.h"
#include "sandbox-bubblewrap-rules.h"

#include <string.h>

typedef struct
{
  const char           *path;
  SandboxBubblewrapKind kind;
  const char           *link;
} HostFile;

#define DIRECTORY(path)                         \
 {                                              \
  path, SANDBOX_BUBBLEWRAP_KIND_DIRECTORY, NULL \
 }
#define FILE_AT(path)                      \
 {                                         \
  path, SANDBOX_BUBBLEWRAP_KIND_FILE, NULL \
 }
#define LINK(path, text)                   \
 {                                         \
  path, SANDBOX_BUBBLEWRAP_KIND_LINK, text \
 }

/* A host as Debian has it */
static const HostFile host[] = {
  DIRECTORY ("/usr"),
  LINK ("/bin", "usr/bin"),
  LINK ("/sbin", "usr/sbin"),
  LINK ("/lib", "usr/lib"),
  LINK ("/lib64", "usr/lib64"),
  DIRECTORY ("/usr/bin"),
  DIRECTORY ("/usr/local"),
  FILE_AT ("/usr/bin/node"),
  LINK ("/usr/bin/python3", "python3.11"),
  DIRECTORY ("/usr/src"),
  LINK ("/usr/tmp", "../var/tmp"),
  DIRECTORY ("/etc"),
  FILE_AT ("/etc/passwd"),
  FILE_AT ("/etc/group"),
  FILE_AT ("/etc/hosts"),
  FILE_AT ("/etc/ld.so.cache"),
  DIRECTORY ("/etc/alternatives"),
  LINK ("/etc/localtime", "/usr/share/zoneinfo/Etc/UTC"),
  LINK ("/etc/resolv.conf", "../run/resolver/stub.conf"),
  DIRECTORY ("/etc/ssl/certs"),
  DIRECTORY ("/etc/java-17-openjdk"),
  DIRECTORY ("/etc/fonts"),
  FILE_AT ("/etc/ssl/openssl.cnf"),
  FILE_AT ("/etc/services"),
  FILE_AT ("/etc/shadow"),
  DIRECTORY ("/etc/secrets"),
  DIRECTORY ("/opt"),
  DIRECTORY ("/opt/state"),
  DIRECTORY ("/srv/models/large"),
  FILE_AT ("/srv/models/small"),
};

static SandboxBubblewrapKind
look (const char *path,
      char      **link,
      gpointer    data)
{
  for (guint i = 0; i < G_N_ELEMENTS (host); i++)
    {
      if (!g_str_equal (host[i].path, path))
        continue;
      *link = g_strdup (host[i].link);
      return host[i].kind;
    }

  return SANDBOX_BUBBLEWRAP_KIND_MISSING;
}

/* A request with what most have. */
typedef struct
{
  SandboxBubblewrapPlanInput  input;
  SandboxProfile             *profile;
  SandboxBubblewrapPlanSource sources[80];
  guint                       n_sources;
} Request;

static void
request_init (Request    *self,
              SandboxView view)
{
  *self = (Request){ .profile = sandbox_profile_new () };
  sandbox_profile_set_view (self->profile, view);
  self->input = (SandboxBubblewrapPlanInput){
    .profile = self->profile,
    .proc = SANDBOX_PROC_MODE_FRESH,
    .resolver = "/run/resolver/stub.conf",
    .workspace_bind = SANDBOX_BUBBLEWRAP_BIND_BY_FD,
    .workspace_path = "/srv/work",
    .sources = self->sources,
    .look = look,
  };
}

static void
request_clear (Request *self)
{
  g_clear_object (&self->profile);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Request, request_clear)

static void
request_add (Request              *self,
             const char           *source,
             gboolean              is_directory,
             const char           *target,
             SandboxMountMode      mode,
             SandboxBubblewrapBind bind)
{
  g_autoptr (SandboxMount) mount = sandbox_mount_new (source, target, mode);

  sandbox_profile_add_mount (self->profile, mount);
  self->sources[self->n_sources++] = (SandboxBubblewrapPlanSource){ source, is_directory, bind };
}

static void
request_mount (Request    *self,
               const char *source,
               const char *target)
{
  request_add (self, source, TRUE, target, SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_FD);
}

static SandboxBubblewrapPlan *
request_plan (Request *self)
{
  g_autoptr (GError) error = NULL;
  SandboxBubblewrapPlan *plan = sandbox_bubblewrap_plan_new (&self->input, &error);

  g_assert_no_error (error);

  return plan;
}

static void
request_assert_refused (Request    *self,
                        int         code,
                        const char *words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SandboxBubblewrapPlan) plan = sandbox_bubblewrap_plan_new (&self->input, &error);

  g_assert_null (plan);
  g_assert_error (error, SANDBOX_ERROR, code);
  if (strstr (error->message, words) == NULL)
    g_error ("“%s” does not say “%s”", error->message, words);
}

/* The arguments from the first step on, blanks between them and each option on a line of its own. */
static char *
plan_to_text (const SandboxBubblewrapPlan *plan)
{
  const SandboxBubblewrapNamespaces namespaces = { .guest_uid = 1000, .guest_gid = 1000 };
  g_autoptr (GBytes) arguments = sandbox_bubblewrap_arguments_new (&namespaces, plan);
  GString    *text = g_string_new (NULL);
  gsize       size = 0;
  const char *data = g_bytes_get_data (arguments, &size);
  gboolean    begun = FALSE;

  for (const char *at = data; at < data + size; at += strlen (at) + 1)
    {
      if (begun)
        g_string_append_printf (text, "%s%s", g_str_has_prefix (at, "--") ? "\n" : " ", at);
      begun = begun || g_str_equal (at, "CAP_SETPCAP");
    }

  return g_string_free (text, FALSE);
}

static void
assert_has (const char *text,
            const char *line)
{
  g_autofree char *whole = g_strconcat ("\n", line, "\n", NULL);
  g_autofree char *lines = g_strconcat (text, "\n", NULL);

  if (strstr (lines, whole) == NULL)
    g_error ("no “%s” in%s", line, text);
}

static void
assert_has_not (const char *text,
                const char *part)
{
  if (strstr (text, part) != NULL)
    g_error ("“%s” in%s", part, text);
}

#define KERNEL_DEV                                                                                                      \
 "\n--tmpfs /dev"                                                                                                       \
 "\n--symlink /proc/self/fd /dev/fd\n--dev-bind /dev/full /dev/full\n--dev-bind /dev/null /dev/null"                    \
 "\n--symlink pts/ptmx /dev/ptmx\n--dir /dev/pts\n--dev-bind /dev/random /dev/random"                                   \
 "\n--size 16777216\n--perms 1777\n--tmpfs /dev/shm"                                                                    \
 "\n--symlink /proc/self/fd/2 /dev/stderr\n--symlink /proc/self/fd/0 /dev/stdin\n--symlink /proc/self/fd/1 /dev/stdout" \
 "\n--dev-bind /dev/tty /dev/tty\n--dev-bind /dev/urandom /dev/urandom\n--dev-bind /dev/zero /dev/zero"
#define KERNEL_RUN "\n--dir /run\n--perms 0555\n--file 6 /run/sandbox-agent\n--dir /run/sandbox-glib"
#define KERNEL_TMP "\n--size 268435456\n--perms 1777\n--tmpfs /tmp"
#define SEALS "\n--remount-ro /dev\n--remount-ro /"

static void
test_minimal (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("The minimal view, to the letter");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  plan = request_plan (&request);
  text = plan_to_text (plan);
  g_assert_cmpstr (text, ==,
                   "\n--symlink usr/bin /bin" KERNEL_DEV
                   "\n--dir /etc\n--ro-bind-try /etc/alternatives /etc/alternatives"
                   "\n--ro-bind-try /etc/fonts /etc/fonts"
                   "\n--perms 0444\n--file 8 /etc/group\n--perms 0444\n--file 9 /etc/hosts"
                   "\n--ro-bind-try /etc/ld.so.cache /etc/ld.so.cache\n--symlink /usr/share/zoneinfo/Etc/UTC /etc/localtime"
                   "\n--perms 0444\n--file 10 /etc/nsswitch.conf\n--perms 0444\n--file 7 /etc/passwd"
                   "\n--ro-bind-try /etc/ssl/certs /etc/ssl/certs"
                   "\n--ro-bind-try /etc/ssl/openssl.cnf /etc/ssl/openssl.cnf"
                   "\n--symlink usr/lib /lib\n--symlink usr/lib64 /lib64\n--proc /proc" KERNEL_RUN
                   "\n--symlink usr/sbin /sbin" KERNEL_TMP "\n--ro-bind /usr /usr\n--bind-fd 11 /workspace" SEALS);
}

static void
test_minimal_with_network (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("With the host's network there is what resolves names, from where it really is");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  request.input.share_network = TRUE;
  plan = request_plan (&request);
  text = plan_to_text (plan);
  assert_has (text, "--ro-bind-try /run/resolver/stub.conf /etc/resolv.conf");
  assert_has (text, "--ro-bind-try /etc/services /etc/services");
}

static void
test_system (void)
{
  static const char *const secrets[] = { "/etc/secrets", "/etc/shadow", NULL };
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("The system view, to the letter: what exists of it, masks, and nothing secret");

  request_init (&request, SANDBOX_VIEW_SYSTEM);
  request.input.secrets = secrets;
  request.input.share_network = TRUE;
  plan = request_plan (&request);
  text = plan_to_text (plan);
  g_assert_cmpstr (text, ==,
                   "\n--symlink usr/bin /bin\n--dir /data" KERNEL_DEV
                   "\n--ro-bind /etc /etc"
                   "\n--perms 0444\n--ro-bind-data 8 /etc/group\n--perms 0444\n--ro-bind-data 9 /etc/hosts"
                   "\n--perms 0444\n--ro-bind-data 7 /etc/passwd"
                   "\n--size 4096\n--tmpfs /etc/secrets\n--ro-bind /dev/null /etc/shadow"
                   "\n--dir /home\n--symlink usr/lib /lib\n--symlink usr/lib64 /lib64\n--ro-bind /opt /opt\n--proc /proc"
                   "\n--dir /root\n--dir /run\n--ro-bind-try /run/resolver/stub.conf /run/resolver/stub.conf"
                   "\n--perms 0555\n--file 6 /run/sandbox-agent\n--dir /run/sandbox-glib"
                   "\n--symlink usr/sbin /sbin" KERNEL_TMP "\n--ro-bind /usr /usr\n--dir /var\n--bind-fd 11 /workspace"
                   "\n--remount-ro /dev\n--remount-ro /etc/secrets\n--remount-ro /");
}

static void
test_custom (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("The custom view has what its mounts bring and nothing else");

  request_init (&request, SANDBOX_VIEW_CUSTOM);
  request_mount (&request, "/srv/root/usr", "/usr");
  request_add (&request, "/srv/root/lib64", TRUE, "/lib64", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_PATH);
  plan = request_plan (&request);
  text = plan_to_text (plan);
  g_assert_cmpstr (text, ==,
                   KERNEL_DEV "\n--ro-bind /srv/root/lib64 /lib64\n--proc /proc" KERNEL_RUN KERNEL_TMP
                              "\n--ro-bind-fd 11 /usr\n--bind-fd 12 /workspace" SEALS);
}

static void
test_order (void)
{
  g_auto (Request) request;
  g_auto (Request) reverse;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autoptr (SandboxBubblewrapPlan) other = NULL;
  g_autofree char *text = NULL;
  g_autofree char *other_text = NULL;
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  g_test_summary ("What is above comes first, nothing is done twice, and the order of adding does not matter");

  request_init (&request, SANDBOX_VIEW_SYSTEM);
  request_add (&request, "/srv/a", TRUE, "/home/user/a", SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_BUBBLEWRAP_BIND_BY_PATH);
  request_add (&request, "/srv/models", TRUE, "/data/m", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_PATH);
  request_add (&request, "/srv/b", TRUE, "/data/m/large", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_PATH);
  request_init (&reverse, SANDBOX_VIEW_SYSTEM);
  request_add (&reverse, "/srv/b", TRUE, "/data/m/large", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_PATH);
  request_add (&reverse, "/srv/models", TRUE, "/data/m", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_PATH);
  request_add (&reverse, "/srv/a", TRUE, "/home/user/a", SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_BUBBLEWRAP_BIND_BY_PATH);

  plan = request_plan (&request);
  other = request_plan (&reverse);
  text = plan_to_text (plan);
  other_text = plan_to_text (other);
  g_assert_cmpstr (text, ==, other_text);
  /* Below a masked root only the bind is seen. */
  assert_has (text, "--dir /home\n--bind /srv/a /home/user/a");
  assert_has (text, "--dir /data\n--ro-bind /srv/models /data/m\n--ro-bind /srv/b /data/m/large");

  for (guint i = 0; i < plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = plan->steps->pdata[i];

      g_assert_true (g_hash_table_add (seen, step->target));
      for (guint j = i + 1; j < plan->steps->len; j++)
        {
          const SandboxBubblewrapStep *later = plan->steps->pdata[j];
          g_autofree char             *below = g_strconcat (later->target, "/", NULL);

          g_assert_false (g_str_has_prefix (step->target, below));
        }
    }
}

static void
test_instead_of_the_view (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("A mount is there instead of what the view has at its target and below");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  request_mount (&request, "/srv/etc", "/etc");
  request_mount (&request, "/srv/bin", "/bin");
  plan = request_plan (&request);
  text = plan_to_text (plan);
  assert_has (text, "--ro-bind-fd 12 /etc");
  assert_has (text, "--ro-bind-fd 11 /bin");
  assert_has_not (text, "/etc/");
  assert_has_not (text, "usr/bin /bin");
}

static void
test_masks (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("Masks: an empty place of our own, an empty read-only file system over a directory, nothing over a file");

  request_init (&request, SANDBOX_VIEW_SYSTEM);
  request_add (&request, NULL, FALSE, "/srv/private", SANDBOX_MOUNT_MODE_MASK, 0);
  request_add (&request, NULL, FALSE, "/usr/local", SANDBOX_MOUNT_MODE_MASK, 0);
  request_add (&request, NULL, FALSE, "/etc/services", SANDBOX_MOUNT_MODE_MASK, 0);
  request_mount (&request, "/srv/tool", "/usr/local/tool");
  plan = request_plan (&request);
  text = plan_to_text (plan);
  assert_has (text, "--dir /srv/private");
  assert_has (text, "--size 4096\n--tmpfs /usr/local\n--ro-bind-fd 11 /usr/local/tool");
  assert_has (text, "--ro-bind /dev/null /etc/services");
  assert_has (text, "--remount-ro /dev\n--remount-ro /usr/local\n--remount-ro /");
}

static void
test_state_directory (void)
{
  g_auto (Request) request;
  g_auto (Request) minimal;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autoptr (SandboxBubblewrapPlan) other = NULL;
  g_autofree char *text = NULL;
  g_autofree char *other_text = NULL;

  g_test_summary ("Case 1: a state directory below a directory that the view shows is hidden");

  request_init (&request, SANDBOX_VIEW_SYSTEM);
  request.input.state_directory = "/opt/state";
  plan = request_plan (&request);
  text = plan_to_text (plan);
  assert_has (text, "--ro-bind /opt /opt\n--size 4096\n--tmpfs /opt/state");
  assert_has (text, "--remount-ro /opt/state");

  /* What is made there later could not be hidden. */
  request.input.state_directory = "/opt/not-there-yet";
  request_assert_refused (&request, SANDBOX_ERROR_INVALID, "/opt/not-there-yet");

  request_init (&minimal, SANDBOX_VIEW_MINIMAL);
  minimal.input.state_directory = "/opt/state";
  other = request_plan (&minimal);
  other_text = plan_to_text (other);
  assert_has_not (other_text, "/opt");
}

static void
test_workspace (void)
{
  static const struct
  {
    const char           *target;
    gboolean              read_only;
    SandboxBubblewrapBind bind;
    const char           *line;
  } places[] = {
    { "/workspace", TRUE, SANDBOX_BUBBLEWRAP_BIND_BY_FD, "--ro-bind-fd 11 /workspace" },
    { "/workspace", FALSE, SANDBOX_BUBBLEWRAP_BIND_BY_PATH, "--bind /srv/work /workspace" },
    { "/workspace", TRUE, SANDBOX_BUBBLEWRAP_BIND_BY_PATH, "--ro-bind /srv/work /workspace" },
    { "/workspace", FALSE, SANDBOX_BUBBLEWRAP_BIND_BY_AGENT, "--dir /workspace" },
    { "/srv/work", FALSE, SANDBOX_BUBBLEWRAP_BIND_BY_FD, "--bind-fd 11 /srv/work" },
    { "/tmp/work", FALSE, SANDBOX_BUBBLEWRAP_BIND_BY_FD, "--tmpfs /tmp\n--bind-fd 11 /tmp/work" },
    { "/home", FALSE, SANDBOX_BUBBLEWRAP_BIND_BY_FD, "--bind-fd 11 /home" },
    { "/usr/src", FALSE, SANDBOX_BUBBLEWRAP_BIND_BY_FD, "--ro-bind /usr /usr\n--bind-fd 11 /usr/src" },
  };

  g_test_summary ("The workspace is where the profile says, readable or writable, however bwrap comes by it");

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_auto (Request) request;
      g_autoptr (SandboxBubblewrapPlan) plan = NULL;
      g_autofree char *text = NULL;

      request_init (&request, SANDBOX_VIEW_SYSTEM);
      sandbox_profile_set_workspace_target (request.profile, places[i].target);
      sandbox_profile_set_workspace_read_only (request.profile, places[i].read_only);
      request.input.workspace_bind = places[i].bind;
      plan = request_plan (&request);
      text = plan_to_text (plan);
      assert_has (text, places[i].line);
    }
}

static void
test_workspace_refused (void)
{
  static const struct
  {
    const char *target;
    int         code;
    const char *words;
  } places[] = {
    { "/usr/share/work", SANDBOX_ERROR_NOT_FOUND, "not there" },
    { "/usr/bin/node", SANDBOX_ERROR_INVALID, "no directory" },
    { "/usr/tmp", SANDBOX_ERROR_INVALID, "a link" },
    { "/lib/work", SANDBOX_ERROR_INVALID, "behind a link" },
  };

  g_test_summary ("A place for the workspace that cannot be made is refused");

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_auto (Request) request;

      request_init (&request, SANDBOX_VIEW_MINIMAL);
      sandbox_profile_set_workspace_target (request.profile, places[i].target);
      request_assert_refused (&request, places[i].code, places[i].words);
    }
}

static void
test_mounts_refused (void)
{
  static const struct
  {
    SandboxMountMode mode;
    gboolean         is_directory;
    const char      *target;
    int              code;
    const char      *words;
  } mounts[] = {
    { SANDBOX_MOUNT_MODE_READ_ONLY, TRUE, "/bin/tool", SANDBOX_ERROR_INVALID, "behind a link" },
    { SANDBOX_MOUNT_MODE_READ_ONLY, TRUE, "/usr/share/tool", SANDBOX_ERROR_NOT_FOUND, "not there" },
    { SANDBOX_MOUNT_MODE_READ_ONLY, TRUE, "/usr/tmp/tool", SANDBOX_ERROR_INVALID, "link" },
    { SANDBOX_MOUNT_MODE_READ_ONLY, TRUE, "/usr/bin/node", SANDBOX_ERROR_INVALID, "no directory" },
    { SANDBOX_MOUNT_MODE_READ_ONLY, FALSE, "/usr/local", SANDBOX_ERROR_INVALID, "is a directory" },
    { SANDBOX_MOUNT_MODE_READ_ONLY, FALSE, "/etc/ld.so.cache/x", SANDBOX_ERROR_INVALID, "not in a directory" },
    { SANDBOX_MOUNT_MODE_READ_ONLY, FALSE, "/etc/passwd/x", SANDBOX_ERROR_INVALID, "not in a directory" },
    { SANDBOX_MOUNT_MODE_MASK, FALSE, "/usr/share/settings", SANDBOX_ERROR_NOT_FOUND, "not there" },
    { SANDBOX_MOUNT_MODE_MASK, FALSE, "/usr/tmp", SANDBOX_ERROR_INVALID, "link" },
  };

  g_test_summary ("Cases 7, 91: mounts go to real places only, and what is not there cannot be masked");

  for (guint i = 0; i < G_N_ELEMENTS (mounts); i++)
    {
      g_auto (Request) request;

      g_test_message ("%s", mounts[i].target);
      request_init (&request, SANDBOX_VIEW_MINIMAL);
      request_add (&request, mounts[i].mode == SANDBOX_MOUNT_MODE_MASK ? NULL : "/srv/tool", mounts[i].is_directory,
                   mounts[i].target, mounts[i].mode, SANDBOX_BUBBLEWRAP_BIND_BY_FD);
      request_assert_refused (&request, mounts[i].code, mounts[i].words);
    }
}

/* Whether bwrap, which makes its root from nothing, would come through a link on its way to what @step makes. */
static gboolean
step_is_behind_link (const SandboxBubblewrapPlan *plan,
                     const SandboxBubblewrapStep *step)
{
  g_autofree char *above = g_strdup (step->target);

  for (char *slash = strrchr (above, '/'); slash != NULL && slash != above; slash = strrchr (above, '/'))
    {
      *slash = '\0';
      for (guint i = 0; i < plan->steps->len; i++)
        {
          const SandboxBubblewrapStep *other = plan->steps->pdata[i];
          g_autofree char             *link = NULL;
          g_autofree char             *path = NULL;

          if (!g_str_equal (other->target, above))
            continue;
          if (other->kind == SANDBOX_BUBBLEWRAP_STEP_LINK)
            return TRUE;
          if (other->kind != SANDBOX_BUBBLEWRAP_STEP_BIND)
            continue;
          /* A link makes itself; everything else there is put over something of the host. */
          path = g_strconcat (other->source, step->target + strlen (above), NULL);
          if (look (path, &link, NULL) == SANDBOX_BUBBLEWRAP_KIND_LINK)
            return TRUE;
        }
    }

  return FALSE;
}

static void
test_destinations (void)
{
  static const SandboxView views[] = { SANDBOX_VIEW_MINIMAL, SANDBOX_VIEW_SYSTEM };
  static const char *const secrets[] = { "/etc/secrets", "/etc/shadow", NULL };

  g_test_summary ("Case 7: where /lib64 and others are links, bwrap gets them as links, and no place that is one or behind one");

  for (guint i = 0; i < 4 * G_N_ELEMENTS (views); i++)
    {
      g_auto (Request) request;
      g_autoptr (SandboxBubblewrapPlan) plan = NULL;
      guint n_links = 0;

      request_init (&request, views[i / 4]);
      request.input.share_network = (i & 1) != 0;
      request.input.secrets = secrets;
      request.input.state_directory = "/opt/state";
      if ((i & 2) != 0)
        request.input.proc = SANDBOX_PROC_MODE_NONE;
      request_mount (&request, "/srv/models/large", "/usr/local");
      request_mount (&request, "/srv/models/large", "/srv/models");
      request_add (&request, NULL, FALSE, "/usr/src", SANDBOX_MOUNT_MODE_MASK, 0);
      plan = request_plan (&request);
      for (guint j = 0; j < plan->steps->len; j++)
        {
          const SandboxBubblewrapStep *step = plan->steps->pdata[j];

          if (step_is_behind_link (plan, step))
            g_error ("%s is behind a link", step->target);
          n_links += step->kind == SANDBOX_BUBBLEWRAP_STEP_LINK && !g_str_has_prefix (step->target, "/dev/") ? 1 : 0;
        }
      g_assert_cmpuint (n_links, ==, views[i / 4] == SANDBOX_VIEW_MINIMAL ? 5 : 4);
    }
}

static void
test_protection (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;
  guint            n_found = 0;

  g_test_summary ("What is protected in the workspace is the agent's affair alone, and counts for its limit");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  request_add (&request, NULL, FALSE, "/workspace/.git/config", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_FD);
  plan = request_plan (&request);
  text = plan_to_text (plan);
  assert_has_not (text, ".git");
  for (guint i = 0; i < plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = plan->steps->pdata[i];

      n_found += step->kind == SANDBOX_BUBBLEWRAP_STEP_PROTECT && g_str_equal (step->target, "/workspace/.git/config") ? 1 : 0;
    }
  g_assert_cmpuint (n_found, ==, 1);

  for (guint i = 0; i < 8; i++)
    {
      g_autofree char *target = g_strdup_printf ("/workspace/%u", i);

      request_add (&request, NULL, FALSE, target, SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_FD);
    }
  request_assert_refused (&request, SANDBOX_ERROR_LIMIT, "the limit is 8");
}

static void
test_by_agent (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("What only the agent can mount has a place made for it, and there are no more than it takes");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  request.input.workspace_bind = SANDBOX_BUBBLEWRAP_BIND_BY_AGENT;
  request_add (&request, "/srv/a", TRUE, "/a", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_AGENT);
  request_add (&request, "/srv/b", FALSE, "/b", SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_BUBBLEWRAP_BIND_BY_AGENT);
  request_add (&request, "/srv/c", TRUE, "/usr/local", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_AGENT);
  plan = request_plan (&request);
  g_assert_cmpuint (plan->n_slots, ==, 0);
  text = plan_to_text (plan);
  assert_has (text, "--dir /a\n--ro-bind /dev/null /b");
  assert_has (text, "--dir /workspace");
  /* That place is the host's own. */
  assert_has_not (text, "/usr/local");

  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *target = g_strdup_printf ("/m%u", i);

      request_add (&request, "/srv/m", TRUE, target, SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_AGENT);
    }
  g_clear_pointer (&plan, sandbox_bubblewrap_plan_free);
  plan = request_plan (&request);
  request_add (&request, "/srv/m", TRUE, "/n", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_AGENT);
  request_assert_refused (&request, SANDBOX_ERROR_LIMIT, "the limit is 8");
}

static void
test_below_agent (void)
{
  g_auto (Request) request;

  g_test_summary ("Nothing of bwrap's comes below what the agent mounts later");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  request_add (&request, "/srv/models", TRUE, "/data", SANDBOX_MOUNT_MODE_READ_ONLY, SANDBOX_BUBBLEWRAP_BIND_BY_AGENT);
  request_mount (&request, "/srv/b", "/data/large");
  request_assert_refused (&request, SANDBOX_ERROR_NOT_SUPPORTED, "as a whole");
}

static void
test_proc (void)
{
  static const struct
  {
    const char *self_exe;
    int         code; /* -1: good */
  } files[] = {
    { "/usr/bin/node", -1 },
    { "/bin/node", -1 },
    { "/usr/bin/python3", -1 },
    { "/workspace/built", -1 },
    { "/usr/bin/missing", SANDBOX_ERROR_NOT_FOUND },
    { "/usr/bin", SANDBOX_ERROR_NOT_FOUND },
    { "/srv/program", SANDBOX_ERROR_NOT_FOUND },
  };
  g_auto (Request) none;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("Procfs: none is an empty directory, self-exe one link to a file that is there");

  request_init (&none, SANDBOX_VIEW_MINIMAL);
  none.input.proc = SANDBOX_PROC_MODE_NONE;
  plan = request_plan (&none);
  text = plan_to_text (plan);
  assert_has (text, "--dir /proc");
  assert_has_not (text, "--proc");

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_auto (Request) request;
      g_autoptr (SandboxBubblewrapPlan) linked = NULL;
      g_autofree char *linked_text = NULL;
      g_autofree char *line = g_strdup_printf ("--dir /proc\n--symlink %s /proc/self/exe", files[i].self_exe);

      g_test_message ("%s", files[i].self_exe);
      request_init (&request, SANDBOX_VIEW_MINIMAL);
      request.input.proc = SANDBOX_PROC_MODE_SELF_EXE;
      sandbox_profile_set_proc (request.profile, SANDBOX_PROC_MODE_SELF_EXE);
      sandbox_profile_set_self_exe (request.profile, files[i].self_exe);
      if (files[i].code >= 0)
        {
          request_assert_refused (&request, files[i].code, "self-exe");
          continue;
        }
      linked = request_plan (&request);
      linked_text = plan_to_text (linked);
      assert_has (linked_text, line);
      assert_has_not (linked_text, "--proc");
    }
}

static void
test_limits (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxLimits) limits = sandbox_limits_new ();
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("Case 2: memory file systems have the sizes of the profile, everything else of memory is read-only");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  sandbox_limits_set_tmp_bytes (limits, 1000);
  sandbox_limits_set_shm_bytes (limits, 2000);
  sandbox_profile_set_limits (request.profile, limits);
  plan = request_plan (&request);
  text = plan_to_text (plan);
  assert_has (text, "--size 1000\n--perms 1777\n--tmpfs /tmp");
  assert_has (text, "--size 2000\n--perms 1777\n--tmpfs /dev/shm");
  for (guint i = 0; i < plan->steps->len; i++)
    {
      const SandboxBubblewrapStep *step = plan->steps->pdata[i];

      if (step->kind == SANDBOX_BUBBLEWRAP_STEP_MEMORY)
        g_assert_true (step->seal || step->size > 0);
    }
}

static void
test_namespaces (void)
{
  SandboxBubblewrapNamespaces namespaces = { .guest_uid = 7, .guest_gid = 8 };
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;

  g_test_summary ("Every namespace is unshared, the network's unless it is the host's; everything but three capabilities is dropped");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  plan = request_plan (&request);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GBytes) arguments = NULL;
      GString    *text = g_string_new (NULL);
      gsize       size = 0;
      const char *data = NULL;

      namespaces.share_network = i == 1;
      arguments = sandbox_bubblewrap_arguments_new (&namespaces, plan);
      data = g_bytes_get_data (arguments, &size);
      for (const char *at = data; at < data + size; at += strlen (at) + 1)
        g_string_append_printf (text, "%s ", at);
      g_assert_true (g_str_has_prefix (text->str,
                                       i == 1 ? "--unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try --uid 7 --gid 8 "
                                              : "--unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try --unshare-net --uid 7 --gid 8 "));
      g_assert_nonnull (strstr (text->str, "--die-with-parent --as-pid-1 --clearenv --cap-drop ALL --cap-add CAP_SYS_ADMIN "
                                           "--cap-add CAP_SYS_RESOURCE --cap-add CAP_SETPCAP "));
      g_string_free (text, TRUE);
    }
}

static void
test_set_user_id (void)
{
  static const char *const          secrets[] = { "/proc/kcore", "/proc/keys", NULL };
  const SandboxBubblewrapNamespaces namespaces = { .guest_uid = 7, .guest_gid = 8, .set_user_id = TRUE };
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autoptr (SandboxBubblewrapPlan) without = NULL;
  g_autoptr (GBytes) arguments = NULL;
  g_autofree char *text = NULL;
  g_autofree char *text_without = NULL;
  gsize            size = 0;
  const char      *data = NULL;

  g_test_summary ("A set-user-ID bwrap is asked for no capability and no size, and a procfs that nobody else shuts is read-only");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  request.input.seal_proc = TRUE;
  request.input.proc_secrets = secrets;
  plan = request_plan (&request);
  arguments = sandbox_bubblewrap_arguments_new (&namespaces, plan);
  data = g_bytes_get_data (arguments, &size);
  for (const char *at = data; at < data + size; at += strlen (at) + 1)
    {
      g_assert_cmpstr (at, !=, "--cap-add");
      g_assert_cmpstr (at, !=, "--size");
    }
  text = plan_to_text (plan);
  assert_has (text, "--ro-bind /dev/null /proc/kcore");
  assert_has (text, "--ro-bind /dev/null /proc/keys");
  g_assert_nonnull (strstr (strstr (text, "--ro-bind /dev/null /proc/keys"), "--remount-ro /proc\n"));

  request.input.proc = SANDBOX_PROC_MODE_NONE;
  without = request_plan (&request);
  text_without = plan_to_text (without);
  assert_has_not (text_without, "/proc/k");
  assert_has_not (text_without, "--remount-ro /proc");
}

static void
test_overlay (void)
{
  SandboxBubblewrapNamespaces namespaces = { .guest_uid = 7, .guest_gid = 8, .has_overlay = TRUE };
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;

  g_test_summary ("An agent that mounts an overlay has the right that the kernel needs for it, and finds the layers where nothing can be made any more");

  request_init (&request, SANDBOX_VIEW_MINIMAL);
  request.input.workspace_bind = SANDBOX_BUBBLEWRAP_BIND_BY_AGENT;
  plan = request_plan (&request);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GBytes) arguments = NULL;
      GString    *text = g_string_new (NULL);
      gsize       size = 0;
      const char *data = NULL;

      namespaces.overlay_lower = i == 1 ? "/state/tree" : NULL;
      namespaces.overlay_base = i == 1 ? "/state/files" : NULL;
      arguments = sandbox_bubblewrap_arguments_new (&namespaces, plan);
      data = g_bytes_get_data (arguments, &size);
      for (const char *at = data; at < data + size; at += strlen (at) + 1)
        g_string_append_printf (text, "%s ", at);
      g_assert_nonnull (strstr (text->str, "--cap-add CAP_SETPCAP --cap-add CAP_DAC_OVERRIDE "));
      g_assert_nonnull (strstr (text->str, "--dir /workspace "));
      g_assert_true ((strstr (text->str, "/state/") != NULL) == (i == 1));
      if (i == 1)
        g_assert_nonnull (strstr (strstr (text->str, "--ro-bind /state/tree /run/sandbox-lower --bind /state/files /run/sandbox-base "), "--remount-ro / "));
      g_string_free (text, TRUE);
    }
}

/* What sandbox_profile_explain () must say of a step. */
static const char *
get_explanation (const SandboxBubblewrapStep *step)
{
  if (step->mask)
    return step->origin == SANDBOX_BUBBLEWRAP_ORIGIN_PROFILE ? "is hidden by a mask" : "is an empty directory in the system view";

  switch (step->kind)
    {
    case SANDBOX_BUBBLEWRAP_STEP_MEMORY:
      return step->read_only ? "is a small directory of the sandbox's own" : "is memory of the sandbox's own";

    case SANDBOX_BUBBLEWRAP_STEP_LINK:
      return g_str_has_prefix (step->target, "/dev/") ? "Commands|is a link to" : "of the host|is the host's";

    case SANDBOX_BUBBLEWRAP_STEP_BIND:
      return step->origin == SANDBOX_BUBBLEWRAP_ORIGIN_WORKSPACE ? "of the workspace"
             : step->read_only                                   ? "and not change it"
                                                                 : "read and write it, on the host too";

    case SANDBOX_BUBBLEWRAP_STEP_DEVICE:
      return "is the device of that name|is the terminal of the command";

    case SANDBOX_BUBBLEWRAP_STEP_PROC:
      return "is of a procfs of the sandbox's own";

    case SANDBOX_BUBBLEWRAP_STEP_GENERATED:
      return step->file == SANDBOX_BUBBLEWRAP_FILE_AGENT ? "is the program that runs commands" : "is made for the sandbox";

    case SANDBOX_BUBBLEWRAP_STEP_NOTHING:
      return "is hidden by a mask";

    case SANDBOX_BUBBLEWRAP_STEP_PROTECT:
      return "protected by a mount";

    case SANDBOX_BUBBLEWRAP_STEP_DIRECTORY:
    default:
      return "made for the sandbox|of the sandbox's own|has none of the host";
    }
}

static void
test_explain (void)
{
  static const SandboxView views[] = { SANDBOX_VIEW_MINIMAL, SANDBOX_VIEW_SYSTEM, SANDBOX_VIEW_CUSTOM };
  static const char *const settings[] = { "/etc/java-17-openjdk", NULL };

  g_test_summary ("What profiles explain is what is planned, step by step");

  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    {
      g_auto (Request) request = { 0 };
      g_autoptr (SandboxMount) hooks = sandbox_mount_new (NULL, "/workspace/.git/hooks", SANDBOX_MOUNT_MODE_READ_ONLY);
      g_autoptr (SandboxBubblewrapPlan) plan = NULL;

      request_init (&request, views[i]);
      request.input.share_network = views[i] == SANDBOX_VIEW_MINIMAL;
      request.input.settings = settings;
      request_mount (&request, "/srv/models/large", "/models/large");
      request_add (&request, "/srv/cache", TRUE, "/cache", SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_BUBBLEWRAP_BIND_BY_FD);
      request_add (&request, NULL, FALSE, "/models/large-hidden", SANDBOX_MOUNT_MODE_MASK, SANDBOX_BUBBLEWRAP_BIND_BY_FD);
      sandbox_profile_add_mount (request.profile, hooks);
      request.n_sources++;
      plan = request_plan (&request);
      for (guint j = 0; j < plan->steps->len; j++)
        {
          const SandboxBubblewrapStep *step = plan->steps->pdata[j];
          g_autofree char             *text = sandbox_profile_explain (request.profile, step->target);
          g_auto (GStrv) words = g_strsplit (get_explanation (step), "|", -1);
          gboolean said = FALSE;

          for (guint k = 0; words[k] != NULL; k++)
            said = said || strstr (text, words[k]) != NULL;
          if (!said || strstr (text, "is not there") != NULL)
            g_error ("“%s” does not say one of “%s”", text, get_explanation (step));
        }
    }
}

/* One rule a line, by the names of its access. */
static char *
plan_to_rules (const SandboxBubblewrapPlan *plan)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) rules = sandbox_bubblewrap_rules_new (plan, &error);
  GString *text = g_string_new (NULL);

  g_assert_no_error (error);
  for (guint i = 0; i < rules->len; i++)
    {
      const SandboxBubblewrapRule *rule = &g_array_index (rules, SandboxBubblewrapRule, i);
      g_autofree char             *access = g_flags_to_string (SANDBOX_TYPE_AGENT_ACCESS, rule->access);

      g_string_append_printf (text, "%s %s\n", rule->path, access);
    }

  return g_string_free (text, FALSE);
}

#define RULE_READ " SANDBOX_AGENT_ACCESS_READ\n"
#define RULE_PERHAPS " SANDBOX_AGENT_ACCESS_READ | SANDBOX_AGENT_ACCESS_OPTIONAL\n"
#define RULE_WRITE " SANDBOX_AGENT_ACCESS_WRITE\n"
#define RULE_DEVICE " SANDBOX_AGENT_ACCESS_DEVICE\n"
#define RULES_DEV \
 "/dev/full" RULE_DEVICE "/dev/null" RULE_DEVICE "/dev/pts" RULE_DEVICE "/dev/random" RULE_DEVICE "/dev/shm" RULE_WRITE "/dev/tty" RULE_DEVICE "/dev/urandom" RULE_DEVICE "/dev/zero" RULE_DEVICE
#define RULE_ROOT "/ SANDBOX_AGENT_ACCESS_LIST\n"
#define RULE_PROC "/proc SANDBOX_AGENT_ACCESS_PROC\n"

static void
test_rules (void)
{
  g_test_summary ("The rules of Landlock for each view, to the letter: one for each place below which all is alike");

  for (guint i = 0; i < 3; i++)
    {
      static const SandboxView views[] = { SANDBOX_VIEW_MINIMAL, SANDBOX_VIEW_SYSTEM, SANDBOX_VIEW_CUSTOM };
      static const char *const wanted[] = {
        RULE_ROOT RULES_DEV "/etc" RULE_PERHAPS RULE_PROC "/run" RULE_READ "/tmp" RULE_WRITE "/usr" RULE_READ "/workspace" RULE_WRITE,
        RULE_ROOT RULES_DEV "/etc" RULE_READ "/opt" RULE_READ RULE_PROC "/run" RULE_READ "/tmp" RULE_WRITE "/usr" RULE_READ "/workspace" RULE_WRITE,
        RULE_ROOT RULES_DEV                                   RULE_PROC "/run" RULE_READ "/tmp" RULE_WRITE "/workspace" RULE_WRITE,
      };
      g_auto (Request) request;
      g_autoptr (SandboxBubblewrapPlan) plan = NULL;
      g_autofree char *text = NULL;

      request_init (&request, views[i]);
      plan = request_plan (&request);
      text = plan_to_rules (plan);
      g_assert_cmpstr (text, ==, wanted[i]);
    }
}

static void
test_rules_of_mounts (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autofree char *text = NULL;

  g_test_summary ("What is mounted read-only shares a rule with what is beside it, what can be written has one of its own, masks and links none");

  request_init (&request, SANDBOX_VIEW_SYSTEM);
  request.input.proc = SANDBOX_PROC_MODE_NONE;
  sandbox_profile_set_workspace_target (request.profile, "/srv/work");
  sandbox_profile_set_workspace_read_only (request.profile, TRUE);
  request_mount (&request, "/srv/models", "/srv/models");
  request_mount (&request, "/srv/models/large", "/home/user/large");
  request_add (&request, "/srv/models/small", FALSE, "/home/user/small", SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_BUBBLEWRAP_BIND_BY_AGENT);
  request_add (&request, "/srv/models/large", TRUE, "/opt/state", SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_BUBBLEWRAP_BIND_BY_FD);
  request_add (&request, NULL, FALSE, "/usr/local", SANDBOX_MOUNT_MODE_MASK, SANDBOX_BUBBLEWRAP_BIND_BY_PATH);
  plan = request_plan (&request);
  text = plan_to_rules (plan);
  g_assert_cmpstr (text, ==,
                   RULE_ROOT RULES_DEV "/etc" RULE_READ "/home" RULE_READ "/home/user/small" RULE_WRITE "/opt" RULE_READ "/opt/state" RULE_WRITE
                                       "/run" RULE_READ "/srv" RULE_READ "/tmp" RULE_WRITE "/usr" RULE_READ);
}

static void
test_too_many_rules (void)
{
  g_auto (Request) request;
  g_autoptr (SandboxBubblewrapPlan) plan = NULL;
  g_autoptr (GArray) rules = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *longest = g_strnfill (200, 'x');

  g_test_summary ("More than an agent takes is refused before anything starts");

  request_init (&request, SANDBOX_VIEW_CUSTOM);
  for (guint i = 0; i < 64; i++)
    {
      g_autofree char *target = g_strdup_printf ("/srv/%s/%s/%s/%u", longest, longest, longest, i);

      request_add (&request, "/srv/models", TRUE, target, SANDBOX_MOUNT_MODE_READ_WRITE, SANDBOX_BUBBLEWRAP_BIND_BY_FD);
    }
  plan = request_plan (&request);
  rules = sandbox_bubblewrap_rules_new (plan, &error);
  g_assert_null (rules);
  g_assert_error (error, SANDBOX_ERROR, SANDBOX_ERROR_LIMIT);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);

  g_test_add_func ("/bubblewrap-plan/minimal", test_minimal);
  g_test_add_func ("/bubblewrap-plan/minimal-with-network", test_minimal_with_network);
  g_test_add_func ("/bubblewrap-plan/system", test_system);
  g_test_add_func ("/bubblewrap-plan/custom", test_custom);
  g_test_add_func ("/bubblewrap-plan/order", test_order);
  g_test_add_func ("/bubblewrap-plan/instead-of-the-view", test_instead_of_the_view);
  g_test_add_func ("/bubblewrap-plan/masks", test_masks);
  g_test_add_func ("/bubblewrap-plan/state-directory", test_state_directory);
  g_test_add_func ("/bubblewrap-plan/workspace", test_workspace);
  g_test_add_func ("/bubblewrap-plan/workspace-refused", test_workspace_refused);
  g_test_add_func ("/bubblewrap-plan/mounts-refused", test_mounts_refused);
  g_test_add_func ("/bubblewrap-plan/destinations", test_destinations);
  g_test_add_func ("/bubblewrap-plan/protection", test_protection);
  g_test_add_func ("/bubblewrap-plan/by-agent", test_by_agent);
  g_test_add_func ("/bubblewrap-plan/below-agent", test_below_agent);
  g_test_add_func ("/bubblewrap-plan/proc", test_proc);
  g_test_add_func ("/bubblewrap-plan/limits", test_limits);
  g_test_add_func ("/bubblewrap-plan/namespaces", test_namespaces);
  g_test_add_func ("/bubblewrap-plan/set-user-id", test_set_user_id);
  g_test_add_func ("/bubblewrap-plan/overlay", test_overlay);
  g_test_add_func ("/bubblewrap-plan/explain", test_explain);
  g_test_add_func ("/bubblewrap-plan/rules", test_rules);
  g_test_add_func ("/bubblewrap-plan/rules-of-mounts", test_rules_of_mounts);
  g_test_add_func ("/bubblewrap-plan/too-many-rules", test_too_many_rules);

  return g_test_run ();
}
