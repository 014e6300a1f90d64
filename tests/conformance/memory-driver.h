/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sandbox-glib.h>

G_BEGIN_DECLS

/* A driver for tests that needs no sandbox: its files are in a hash table, its programs are toys that run in
 * a thread. It behaves as badly as it is told to.
 *
 * Programs, by argv[0]:
 *   echo WORD…            the words, a newline
 *   cat [FILE]            the input, or a file of the workspace; 1 when there is none
 *   pwd                   the working directory in the guest
 *   env NAME              a variable; 1 when it is not set
 *   exit N, signal N      that end
 *   flood OUT ERR         so many bytes to each stream, one stream after the other, the error output first
 *   interleave OUT ERR    the same in small turns
 *   yes                   writes until it is killed
 *   sleep MS              dies of TERM
 *   hang                  ignores TERM
 *   immortal              ignores KILL too, until memory_driver_release ()
 *   orphan WORD           writes the word and exits; something it started lives on until it is killed
 *   hold WORD             writes the word, is gone, and somebody else still holds its streams open
 *   vanish                gone without an exit
 *   lost                  the driver loses it
 *   limited               killed for its memory: a limit of 64 MiB, 65 MiB reached */
typedef enum
{
  MEMORY_ANSWER_NOW,
  MEMORY_ANSWER_IDLE,   /* from an idle source of the thread-default context */
  MEMORY_ANSWER_THREAD, /* from a thread of its own */
  MEMORY_ANSWER_HELD,   /* when the test says so, or never */
  MEMORY_ANSWER_TWICE,
  MEMORY_ANSWER_WRONG_TYPE,
  MEMORY_ANSWER_DROPPED,
  MEMORY_ANSWER_RAISE,  /* FALSE without an error, as after an exception */
  MEMORY_ANSWER_REFUSE, /* FALSE with SANDBOX_ERROR_DENIED */
  MEMORY_ANSWER_BOTH,   /* an answer, and FALSE as well */
} MemoryAnswer;

#define MEMORY_TYPE_DRIVER (memory_driver_get_type ())
G_DECLARE_DERIVABLE_TYPE (MemoryDriver, memory_driver, MEMORY, DRIVER, GObject)

struct _MemoryDriverClass
{
  GObjectClass parent_class;
};

/* Thread-safe, as only a driver in C can be */
MemoryDriver *memory_driver_new (void);

/* Called only in threads of the host, as a driver in another language is */
MemoryDriver *memory_driver_new_foreign (void);

/* Implements nothing at all */
SandboxDriver *memory_driver_new_empty (void);

/* A command with these words, up to a NULL */
SandboxCommand *memory_command (const char *first,
                                ...) G_GNUC_NULL_TERMINATED;

/* How the next requests are answered, whatever they are */
void memory_driver_set_answer (MemoryDriver *self,
                               MemoryAnswer  answer);

/* Whether programs push their output instead of writing it to pipes */
void memory_driver_set_pushes (MemoryDriver *self,
                               gboolean      pushes);

/* The held requests: how many, answer them in this thread, let go of them without an answer */
guint memory_driver_count_held (MemoryDriver *self);
void  memory_driver_answer_held (MemoryDriver *self);
void  memory_driver_drop_held (MemoryDriver *self);

/* What is alive: immortal programs end at memory_driver_release () */
guint memory_driver_count_live (MemoryDriver *self);
void  memory_driver_release (MemoryDriver *self);

/* Calls of functions of the driver or its processes: all, by name, and in other threads than these two */
guint memory_driver_count_calls (MemoryDriver *self,
                                 const char   *name);
guint memory_driver_count_calls_outside (MemoryDriver *self,
                                         GThread      *first,
                                         GThread      *second);

/* A backend that makes one driver after the other; `driver` of the last is kept for the test */
#define MEMORY_TYPE_BACKEND (memory_backend_get_type ())
G_DECLARE_FINAL_TYPE (MemoryBackend, memory_backend, MEMORY, BACKEND, SandboxBackend)

MemoryBackend *memory_backend_new (void);
void           memory_backend_set_foreign (MemoryBackend *self,
                                           gboolean       foreign);
void           memory_backend_set_pushes (MemoryBackend *self,
                                          gboolean       pushes);

/* How the requests of drivers to come are answered */
void memory_backend_set_driver_answer (MemoryBackend *self,
                                       MemoryAnswer   answer);

/* How the next requests of the backend itself are answered */
void memory_backend_set_answer (MemoryBackend *self,
                                MemoryAnswer   answer);
void memory_backend_answer_held (MemoryBackend *self);
void memory_backend_drop_held (MemoryBackend *self);

/* The driver that was made last */
MemoryDriver *memory_backend_get_driver (MemoryBackend *self);

G_END_DECLS
