/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Takes as much of something as there is, tells how much that was and why there was no more, and keeps trying.
 *
 * bomb processes          processes that make processes
 * bomb threads            threads of one process
 * bomb memory             memory that is written to, with three children that do the same
 * bomb bytes PATH         a file that grows
 * bomb names DIRECTORY    empty files
 * bomb descriptors        open files of one process
 * bomb time N             processor time, by N processes
 *
 * With a last argument "once" it ends when there is no more, and with a number after so many.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY_STEP (1024 * 1024)

static bool          once;
static unsigned long most = -1ul;

static void
tell (const char   *what,
      unsigned long count,
      int           error)
{
  printf ("%s %lu %s\n", what, count,
          error == EAGAIN   ? "EAGAIN"
          : error == ENOMEM ? "ENOMEM"
          : error == ENOSPC ? "ENOSPC"
          : error == EFBIG  ? "EFBIG"
          : error == EMFILE ? "EMFILE"
          : error == EDQUOT ? "EDQUOT"
          : error == 0      ? "no-error"
                            : strerror (error));
  fflush (stdout);
}

static void
bomb_processes (void)
{
  unsigned long count = 0;
  int           error = 0;

  if (once)
    {
      for (;;)
        {
          pid_t pid = fork ();

          if (pid == 0)
            for (;;)
              pause ();
          if (pid < 0)
            break;
          count++;
        }
      error = errno;
      tell ("processes", count, error);
      return;
    }
  tell ("processes", 0, 0);
  for (;;)
    if (fork () < 0)
      usleep (1000);
}

static void *
thread_run (void *unused)
{
  for (;;)
    if (once)
      pause ();
    else
      usleep (100);
  return unused;
}

static void
bomb_threads (void)
{
  unsigned long  count = 0;
  pthread_attr_t attributes;
  pthread_t      thread;
  bool           told = false;

  pthread_attr_init (&attributes);
  pthread_attr_setstacksize (&attributes, 16384);
  for (;;)
    {
      int error = pthread_create (&thread, &attributes, thread_run, NULL);

      if (error == 0)
        {
          count++;
          continue;
        }
      if (!told)
        tell ("threads", count, error);
      told = true;
      if (once)
        return;
      usleep (1000);
    }
}

static void
bomb_memory (void)
{
  unsigned long count = 0;
  bool          told = false;

  for (int i = 0; i < 3 && !once; i++)
    if (fork () == 0)
      break;
  for (;;)
    {
      void *memory = mmap (NULL, MEMORY_STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

      if (memory != MAP_FAILED)
        {
          memset (memory, 'x', MEMORY_STEP);
          count += MEMORY_STEP;
          continue;
        }
      if (!told)
        tell ("memory", count, errno);
      told = true;
      if (once)
        return;
      usleep (1000);
    }
}

static void
bomb_bytes (const char *path)
{
  static char   bytes[65536];
  unsigned long count = 0;
  bool          told = false;
  int           fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

  if (fd < 0)
    tell ("open", 0, errno);
  memset (bytes, 'x', sizeof bytes);
  while (fd >= 0)
    {
      ssize_t written = write (fd, bytes, sizeof bytes);

      if (written > 0)
        {
          count += (unsigned long) written;
          continue;
        }
      if (!told)
        tell ("bytes", count, errno);
      told = true;
      if (once)
        return;
      usleep (1000);
    }
}

static void
bomb_names (const char *directory)
{
  unsigned long count = 0;
  bool          told = false;

  if (chdir (directory) < 0)
    {
      tell ("chdir", 0, errno);
      return;
    }
  for (;;)
    {
      char name[32];
      int  fd;

      snprintf (name, sizeof name, "n%lu", count);
      fd = count < most ? open (name, O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;
      if (fd >= 0)
        {
          close (fd);
          count++;
          continue;
        }
      if (!told)
        tell ("names", count, count < most ? errno : 0);
      told = true;
      if (once)
        return;
      usleep (1000);
    }
}

static void
bomb_descriptors (void)
{
  unsigned long count = 3;

  while (dup (0) >= 0)
    count++;
  tell ("descriptors", count, errno);
}

static void
bomb_time (int n_processes)
{
  for (int i = 1; i < n_processes; i++)
    if (fork () == 0)
      break;
  for (volatile unsigned long i = 0;; i++)
    ;
}

int
main (int    argc,
      char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  bool        has_path = strcmp (what, "bytes") == 0 || strcmp (what, "names") == 0;

  if (has_path && argc < 3)
    return 123;
  if (argc > (has_path ? 3 : 2) && (strcmp (argv[argc - 1], "once") == 0 || has_path))
    once = true;
  if (once && strcmp (argv[argc - 1], "once") != 0)
    most = strtoul (argv[argc - 1], NULL, 10);
  /* the end of a file is no end for who does not want one */
  if (!once)
    signal (SIGXFSZ, SIG_IGN);
  if (strcmp (what, "processes") == 0)
    bomb_processes ();
  else if (strcmp (what, "threads") == 0)
    bomb_threads ();
  else if (strcmp (what, "memory") == 0)
    bomb_memory ();
  else if (strcmp (what, "bytes") == 0)
    bomb_bytes (argv[2]);
  else if (strcmp (what, "names") == 0)
    bomb_names (argv[2]);
  else if (strcmp (what, "descriptors") == 0)
    bomb_descriptors ();
  else if (strcmp (what, "time") == 0)
    bomb_time (argc > 2 ? atoi (argv[2]) : 1);
  else
    return 123;
  return 0;
}
