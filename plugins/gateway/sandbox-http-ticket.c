/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox-http-ticket.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

/* Of this process, and to one origin */
#define MAX_TICKETS 32
#define MAX_TICKETS_PER_ORIGIN 8

/* GIO begins with ten threads, and has more only slowly. With more tickets than these, who takes long is in the way, but for so many
 * of each origin. */
#define FEW_TICKETS 8
#define FEW_TICKETS_PER_ORIGIN 2

/* Two sockets, the wakeup of a context, and that of who may cancel it */
#define DESCRIPTORS_PER_TICKET 4
/* Among so many numbers that is found, or there are too few. */
#define MAX_LOOKS 4096

typedef struct
{
  GQueue active;
  GQueue waiting;
} Tickets;

/* Of the thread, as a forked child begins with none */
static GPrivate tickets_key = G_PRIVATE_INIT (g_free);

static Tickets *
get_tickets (void)
{
  Tickets *tickets = g_private_get (&tickets_key);

  if (tickets == NULL)
    {
      tickets = g_new (Tickets, 1);
      *tickets = (Tickets){ G_QUEUE_INIT, G_QUEUE_INIT };
      g_private_set (&tickets_key, tickets);
    }

  return tickets;
}

static guint
count_tickets (const char *origin)
{
  guint count = 0;

  for (const GList *link = get_tickets ()->active.head; link != NULL; link = link->next)
    {
      if (strcmp (((const SandboxHttpTicket *) link->data)->origin, origin) == 0)
        count++;
    }

  return count;
}

gboolean
sandbox_http_ticket_is_waiting (SandboxHttpTicket *self)
{
  return self->func != NULL;
}

gboolean
sandbox_http_ticket_is_held (SandboxHttpTicket *self)
{
  return self->origin != NULL && self->func == NULL;
}

gboolean
sandbox_http_ticket_try (SandboxHttpTicket *self,
                         const char        *origin)
{
  g_assert (self->origin == NULL);
  if (get_tickets ()->active.length >= MAX_TICKETS || count_tickets (origin) >= MAX_TICKETS_PER_ORIGIN)
    return FALSE;

  *self = (SandboxHttpTicket){ .link.data = self, .origin = origin };
  g_queue_push_tail_link (&get_tickets ()->active, &self->link);

  return TRUE;
}

void
sandbox_http_ticket_take (SandboxHttpTicket *self,
                          const char        *origin,
                          void (*func) (gpointer data),
                          gpointer data)
{
  if (sandbox_http_ticket_try (self, origin))
    {
      func (data);
      return;
    }

  *self = (SandboxHttpTicket){ .link.data = self, .origin = origin, .func = func, .data = data };
  g_queue_push_tail_link (&get_tickets ()->waiting, &self->link);
}

/* The one that waits to which there are the fewest connections; of several the first. NULL: nobody may have one now. */
static SandboxHttpTicket *
sandbox_http_ticket_choose (void)
{
  Tickets           *tickets = get_tickets ();
  SandboxHttpTicket *chosen = NULL;
  guint              fewest = MAX_TICKETS_PER_ORIGIN;

  if (tickets->active.length >= MAX_TICKETS)
    return NULL;

  for (const GList *link = tickets->waiting.head; link != NULL && fewest > 0; link = link->next)
    {
      SandboxHttpTicket *ticket = link->data;
      const guint        count = count_tickets (ticket->origin);

      if (count >= fewest)
        continue;
      chosen = ticket;
      fewest = count;
    }

  return chosen;
}

void
sandbox_http_ticket_give_back (SandboxHttpTicket *self)
{
  Tickets           *tickets = get_tickets ();
  SandboxHttpTicket *next = NULL;
  void (*func) (gpointer data) = NULL;

  if (self->origin == NULL)
    return;

  g_queue_unlink (self->func != NULL ? &tickets->waiting : &tickets->active, &self->link);
  *self = (SandboxHttpTicket){ 0 };

  next = sandbox_http_ticket_choose ();
  if (next == NULL)
    return;

  g_queue_unlink (&tickets->waiting, &next->link);
  g_queue_push_tail_link (&tickets->active, &next->link);
  func = next->func;
  next->func = NULL;
  func (next->data);
}

gboolean
sandbox_http_ticket_is_in_the_way (SandboxHttpTicket *self)
{
  return get_tickets ()->active.length > FEW_TICKETS && count_tickets (self->origin) > FEW_TICKETS_PER_ORIGIN;
}

/* By asking for numbers from the highest on, which takes none from anybody, not even for a moment. */
gboolean
sandbox_http_ticket_has_descriptors (void)
{
  const guint   n_wanted = DESCRIPTORS_PER_TICKET * get_tickets ()->active.length;
  guint         n_free = 0;
  struct rlimit limit;

  if (getrlimit (RLIMIT_NOFILE, &limit) != 0)
    return FALSE;

  for (int i = 0, fd = (int) MIN (limit.rlim_cur, G_MAXINT) - 1; fd >= 0 && i < MAX_LOOKS && n_free < n_wanted; i++, fd--)
    {
      if (fcntl (fd, F_GETFD) < 0)
        n_free++;
    }

  return n_free >= n_wanted;
}

guint
sandbox_http_ticket_get_reserve (void)
{
  const rlim_t  most = DESCRIPTORS_PER_TICKET * MAX_TICKETS;
  struct rlimit limit;

  if (getrlimit (RLIMIT_NOFILE, &limit) != 0)
    return 0;

  return (guint) MIN (limit.rlim_cur - MIN (most, limit.rlim_cur / 4), G_MAXINT);
}
