/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The numbers that descriptors have in bwrap. */
typedef enum
{
  SANDBOX_BUBBLEWRAP_FD_AGENT_SOCKET = 3,
  SANDBOX_BUBBLEWRAP_FD_ARGUMENTS,
  SANDBOX_BUBBLEWRAP_FD_BWRAP,
  SANDBOX_BUBBLEWRAP_FD_AGENT,
  SANDBOX_BUBBLEWRAP_FD_PASSWD,
  SANDBOX_BUBBLEWRAP_FD_GROUP,
  SANDBOX_BUBBLEWRAP_FD_HOSTS,
  SANDBOX_BUBBLEWRAP_FD_NSSWITCH,
  SANDBOX_BUBBLEWRAP_FD_WORKSPACE, /* last: only where bwrap binds the workspace itself */
  SANDBOX_BUBBLEWRAP_FD_END,
} SandboxBubblewrapFdNumber;

/* Where the agent is in the sandbox. */
#define SANDBOX_BUBBLEWRAP_AGENT "/run/sandbox-agent"

typedef enum
{
  SANDBOX_BUBBLEWRAP_BIND_BY_AGENT, /* a mount handed over */
  SANDBOX_BUBBLEWRAP_BIND_BY_FD,    /* --bind-fd */
  SANDBOX_BUBBLEWRAP_BIND_BY_PATH,  /* --bind; the agent verifies what is there */
} SandboxBubblewrapBind;

/* A top-level directory of programs: on the host a directory, or a link into /usr. */
typedef struct
{
  const char *path;
  char       *link_target; /* NULL for a directory */
} SandboxBubblewrapRoot;

/* Everything that decides what bwrap is told. */
typedef struct
{
  SandboxBubblewrapBind        bind;
  const char                  *workspace_path; /* BIND_BY_PATH */
  gboolean                     share_network;
  guint                        guest_uid;
  guint                        guest_gid;
  guint64                      tmp_bytes;
  guint64                      shm_bytes;
  const SandboxBubblewrapRoot *roots;
  guint                        n_roots;
} SandboxBubblewrapView;

/* The arguments of bwrap, each with its NUL, as --args takes them. Pure. */
GBytes *sandbox_bubblewrap_arguments_new (const SandboxBubblewrapView *view);

G_END_DECLS
