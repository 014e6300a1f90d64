/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What tests run in a sandbox where a shell would do more than they want, or less. Static: it needs nothing of the view.
 *
 * guest write N            N bytes to stdout, then the end at once
 * guest split N M          N bytes to stdout and M to stderr, in turns
 * guest argv [ARG...]      each argument in hexadecimal, one a line
 * guest fds                the descriptors it was started with, one a line: number and what it is
 * guest state              umask, working directory, signals blocked, ignored and caught, limits
 * guest hold MARKER        "ready", then nothing for ever; the marker is only there to be found in its arguments
 * guest family MARKER      the same with relatives: in sessions of their own, orphaned, stopped, deaf to signals
 * guest leave MARKER       such relatives, but the first process ends at once
 * guest swap               "ready", then swaps directories and files of the workspace for links, for ever
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK 4096

static char *self;

static void __attribute__ ((noreturn))
fail (const char *what)
{
  fprintf (stderr, "%s: %s\n", what, strerror (errno));
  _exit (120);
}

static void
write_bytes (int  fd,
             long count)
{
  char *bytes = malloc ((size_t) count + 1);

  if (bytes == NULL)
    fail ("memory");
  for (long i = 0; i < count; i++)
    bytes[i] = (char) ('a' + i % 26);
  for (long at = 0; at < count;)
    {
      ssize_t written = write (fd, bytes + at, (size_t) (count - at));

      if (written < 0)
        fail ("write");
      at += written;
    }
  free (bytes);
}

static void
split_bytes (long output,
             long errors)
{
  while (output > 0 || errors > 0)
    {
      long now = output < CHUNK ? output : CHUNK;

      write_bytes (1, now);
      output -= now;
      now = errors < CHUNK ? errors : CHUNK;
      write_bytes (2, now);
      errors -= now;
    }
}

static void
print_arguments (char **arguments)
{
  for (; *arguments != NULL; arguments++)
    {
      for (const char *at = *arguments; *at != '\0'; at++)
        printf ("%02x", (unsigned char) *at);
      putchar ('\n');
    }
}

static void
print_descriptors (void)
{
  DIR           *directory = opendir ("/proc/self/fd");
  struct dirent *entry;

  if (directory == NULL)
    fail ("/proc/self/fd");
  while ((entry = readdir (directory)) != NULL)
    {
      char    target[PATH_MAX];
      ssize_t length;

      if (entry->d_name[0] == '.' || atoi (entry->d_name) == dirfd (directory))
        continue;
      length = readlinkat (dirfd (directory), entry->d_name, target, sizeof target - 1);
      target[length > 0 ? length : 0] = '\0';
      printf ("%s %s\n", entry->d_name, target);
    }
  closedir (directory);
}

static void
print_state (void)
{
  FILE  *status = fopen ("/proc/self/status", "re");
  char   line[512];
  mode_t mask = umask (022);

  umask (mask);
  printf ("umask %03o\n", (unsigned) mask);
  printf ("cwd %s\n", getcwd (line, sizeof line) != NULL ? line : "?");
  if (status == NULL)
    fail ("/proc/self/status");
  while (fgets (line, sizeof line, status) != NULL)
    if (strncmp (line, "SigBlk", 6) == 0 || strncmp (line, "SigIgn", 6) == 0 || strncmp (line, "SigCgt", 6) == 0 ||
        strncmp (line, "SigPnd", 6) == 0 || strncmp (line, "ShdPnd", 6) == 0)
      fputs (line, stdout);
  fclose (status);
  for (int resource = 0; resource < 16; resource++)
    {
      struct rlimit limit;

      if (getrlimit (resource, &limit) == 0)
        printf ("limit %d %llu %llu\n", resource, (unsigned long long) limit.rlim_cur, (unsigned long long) limit.rlim_max);
    }
}

static void __attribute__ ((noreturn))
hold (void)
{
  if (write (1, "ready\n", 6) != 6)
    _exit (121);
  for (;;)
    pause ();
}

/* Becomes a program of its own, whose arguments can be found from outside; says so by the end of @ready_fd. */
static void __attribute__ ((noreturn))
become (const char *what,
        char       *marker)
{
  int null_fd = open ("/dev/null", O_RDWR);

  for (int i = 0; i < 3; i++)
    dup2 (null_fd, i);
  execl (self, "guest", what, marker, (char *) NULL);
  _exit (122);
}

static void
make_family (char *marker)
{
  int  ready[2];
  char end;

  if (pipe2 (ready, O_CLOEXEC) < 0)
    fail ("pipe");
  /* a session of its own, orphaned, and a stopped one; each deaf to what can be ignored */
  for (int i = 0; i < 3; i++)
    {
      pid_t pid = fork ();

      if (pid < 0)
        fail ("fork");
      if (pid > 0)
        continue;
      for (int signum = 1; signum < 32; signum++)
        signal (signum, SIG_IGN);
      if (i < 2)
        setsid ();
      if (i == 1 && fork () > 0)
        _exit (0);
      become (i == 2 ? "stop" : "hold", marker);
    }
  close (ready[1]);
  /* ends when each of them has its own program */
  if (read (ready[0], &end, 1) != 0)
    fail ("ready");
  close (ready[0]);
}

static void
exchange (int         first_directory,
          const char *first,
          int         second_directory,
          const char *second)
{
  syscall (SYS_renameat2, first_directory, first, second_directory, second, 2 /* RENAME_EXCHANGE */);
}

static void __attribute__ ((noreturn))
swap_names (void)
{
  int root = open (".", O_PATH | O_DIRECTORY);
  int inner = open ("d", O_PATH | O_DIRECTORY);

  if (root < 0 || inner < 0)
    fail ("open");
  puts ("ready");
  fflush (stdout);
  for (;;)
    {
      exchange (root, "d", root, "d-link");
      exchange (root, "f", root, "f-link");
      exchange (inner, "e", inner, "e-link");
      exchange (root, "t", inner, "t");
      exchange (root, "t", root, "t-link");
    }
}

int
main (int    argc,
      char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";

  self = realpath ("/proc/self/exe", NULL);
  if (strcmp (what, "write") == 0 && argc == 3)
    write_bytes (1, atol (argv[2]));
  else if (strcmp (what, "split") == 0 && argc == 4)
    split_bytes (atol (argv[2]), atol (argv[3]));
  else if (strcmp (what, "argv") == 0)
    print_arguments (argv + 2);
  else if (strcmp (what, "fds") == 0)
    print_descriptors ();
  else if (strcmp (what, "state") == 0)
    print_state ();
  else if (strcmp (what, "hold") == 0 && argc == 3)
    hold ();
  else if (strcmp (what, "stop") == 0 && argc == 3)
    {
      raise (SIGSTOP);
      hold ();
    }
  else if (strcmp (what, "family") == 0 && argc == 3)
    {
      make_family (argv[2]);
      hold ();
    }
  else if (strcmp (what, "leave") == 0 && argc == 3)
    make_family (argv[2]);
  else if (strcmp (what, "swap") == 0)
    swap_names ();
  else
    {
      fputs ("guest: unknown words\n", stderr);
      return 123;
    }
  return 0;
}
