/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Names and values of the host for a session, of type a{ss}: at most so many, and each name once. */
#define SANDBOX_MAX_LABELS 64
#define SANDBOX_MAX_LABEL_NAME_BYTES 128
#define SANDBOX_MAX_LABEL_VALUE_BYTES 1024

/* LIMIT or INVALID. */
gboolean sandbox_labels_validate (GVariant *labels,
                                  GError  **error);

G_END_DECLS
