/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-file-set-private.h"

#include <string.h>

/* Changes whenever what follows is encoded in another way. */
#define VERSION "sandbox-glib template 1"

struct _SandboxTemplateKey
{
  GChecksum *checksum;
};

static void
sandbox_template_key_put_number (SandboxTemplateKey *self,
                                 guint64             number)
{
  guint64 bytes = GUINT64_TO_BE (number);

  g_checksum_update (self->checksum, (const guchar *) &bytes, sizeof bytes);
}

static void
sandbox_template_key_put_string (SandboxTemplateKey *self,
                                 const char         *string)
{
  gsize length = strlen (string);

  sandbox_template_key_put_number (self, length);
  g_checksum_update (self->checksum, (const guchar *) string, (gssize) length);
}

SandboxTemplateKey *
sandbox_template_key_new (const char *backend,
                          const char *name)
{
  SandboxTemplateKey *self = g_new0 (SandboxTemplateKey, 1);

  self->checksum = g_checksum_new (G_CHECKSUM_SHA256);
  sandbox_template_key_put_string (self, VERSION);
  sandbox_template_key_put_string (self, backend);
  sandbox_template_key_put_string (self, name);

  return self;
}

/* A letter says what comes, and with it how much; 0 says that nothing does. */
void
sandbox_template_key_add (SandboxTemplateKey *self,
                          const char         *path,
                          SandboxFileKind     kind,
                          const guint8       *digest)
{
  static const guchar letters[] = {
    [SANDBOX_FILE_KIND_DIRECTORY] = 'd',
    [SANDBOX_FILE_KIND_FILE] = 'f',
    [SANDBOX_FILE_KIND_EXECUTABLE] = 'x',
    [SANDBOX_FILE_KIND_LINK] = 'l',
  };

  g_return_if_fail ((kind == SANDBOX_FILE_KIND_DIRECTORY) == (digest == NULL));

  g_checksum_update (self->checksum, &letters[kind], 1);
  sandbox_template_key_put_string (self, path);
  if (digest != NULL)
    g_checksum_update (self->checksum, digest, SANDBOX_DIGEST_BYTES);
}

void
sandbox_template_key_free (SandboxTemplateKey *self)
{
  g_checksum_free (self->checksum);
  g_free (self);
}

char *
sandbox_template_key_end (SandboxTemplateKey *self)
{
  const guchar end = 0;
  char        *key = NULL;

  g_checksum_update (self->checksum, &end, 1);
  key = g_strdup (g_checksum_get_string (self->checksum));
  sandbox_template_key_free (self);

  return key;
}
