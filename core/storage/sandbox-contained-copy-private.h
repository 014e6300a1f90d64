/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sandbox-contained-private.h"

G_BEGIN_DECLS

typedef struct
{
  guint64 bytes;
  guint64 files;
  guint64 skipped;
} SandboxContainedCount;

/* A tree on its way between a workspace and a directory of the host. Of both sides only directories and
 * regular files are entered; a link that stays inside the tree is made again when it comes in, and left out
 * when it goes out, as is all else.
 *
 * The workspace's side is worked on as its owner, the other one as what the host is. */
typedef struct
{
  gboolean    out;    /* from the workspace to the host */
  int         source; /* both are directories */
  int         target;
  const char *path; /* that of the workspace's side, in it */
  guint       uid;  /* whose the workspace is */
  guint       gid;

  SandboxContainedCheck check;
  void (*progress) (const SandboxContainedCount *count,
                    gpointer                     data);
  gpointer data;

  SandboxContainedCount count;
} SandboxContainedCopy;

gboolean sandbox_contained_copy (SandboxContainedCopy *self,
                                 GError              **error);

G_END_DECLS
