/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Leave to make a connection to an origin. A host name that nobody answers for, or a handshake that is never answered, holds a thread
 * of GIO's and a handful of descriptors; so few connections come about at a time in this process, and to one origin still fewer, whoever
 * asks it. In the thread of the gateways. */
typedef struct
{
  /*< private >*/
  GList       link;             /* among those that wait, or those that have it */
  const char *origin;           /* its name, not owned */
  void (*func) (gpointer data); /* NULL once called */
  gpointer data;
} SandboxHttpTicket;

/* Calls @func as soon as there is room, which may be at once. */
void sandbox_http_ticket_take (SandboxHttpTicket *self,
                               const char        *origin,
                               void (*func) (gpointer data),
                               gpointer data);

/* The same at once or not at all. */
gboolean sandbox_http_ticket_try (SandboxHttpTicket *self,
                                  const char        *origin);

/* Whether this is waiting, so that @func is still to be called, or has it. */
gboolean sandbox_http_ticket_is_waiting (SandboxHttpTicket *self);
gboolean sandbox_http_ticket_is_held (SandboxHttpTicket *self);

/* Who waits does so no more, and who has it lets others have it. It may be neither. */
void sandbox_http_ticket_give_back (SandboxHttpTicket *self);

/* Whether it should be given back by who has had it for long, so that others get on. */
gboolean sandbox_http_ticket_is_in_the_way (SandboxHttpTicket *self);

/* Whether this process has the descriptors that all who have a ticket may need: GLib ends a process that has none for what it
 * does inside. */
gboolean sandbox_http_ticket_has_descriptors (void);

/* The number that a descriptor of a guest may not reach, so that those are left. */
guint sandbox_http_ticket_get_reserve (void);

G_END_DECLS
