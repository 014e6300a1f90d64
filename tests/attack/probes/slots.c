/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a command leaves where later ones or its neighbours might find it, and what it finds of theirs.
 *
 * slots leave WORD    makes something of every kind under that name; prints each kind, and what came of it
 * slots look WORD     looks for them: each kind, and "here" or "absent"; then how much there is of what can be counted
 * slots hold WORD     the same as leave, opens a terminal, listens at a port of that name, prints "ready", and stays
 * slots meet WORD     connects to that port and prints what came of it
 * slots strike        does to each process number what could hurt, and prints what was not refused; then to all at once
 * slots spoil         the same to process 1 alone, and with what it may have of its limits and its share
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* More than a sandbox for one command ever has, and more than a test starts beside it */
#define LAST_PID 400

static key_t
get_key (const char *word)
{
  unsigned long key = 5381;

  for (; *word != '\0'; word++)
    key = key * 33 + (unsigned char) *word;
  return (key_t) (key % 0x7ffffff) + 1;
}

static void
tell (const char *kind,
      int         result,
      const char *fine)
{
  if (result >= 0)
    printf ("%s %s\n", kind, fine);
  else if (errno == ENOENT)
    printf ("%s absent\n", kind);
  else if (errno == EMFILE)
    printf ("%s refused\n", kind);
  else
    printf ("%s %s\n", kind, strerror (errno));
}

/* Opens or makes one thing of each kind under the name. */
static void
touch_all (const char *word,
           int         make,
           const char *fine)
{
  const int files = make ? O_CREAT | O_EXCL | O_RDWR : O_RDWR;
  const int objects = make ? IPC_CREAT | IPC_EXCL | 0600 : 0;
  char      path[512];

  snprintf (path, sizeof path, "/tmp/%s", word);
  tell ("tmp", open (path, files | O_CLOEXEC, 0600), fine);
  snprintf (path, sizeof path, "/dev/shm/%s", word);
  tell ("shm", open (path, files | O_CLOEXEC, 0600), fine);
  snprintf (path, sizeof path, "%s", word);
  tell ("workspace", open (path, files | O_CLOEXEC, 0600), fine);
  tell ("segment", shmget (get_key (word), make ? 4096 : 0, objects), fine);
  tell ("semaphore", semget (get_key (word), make ? 1 : 0, objects), fine);
  tell ("messages", msgget (get_key (word), objects), fine);
  snprintf (path, sizeof path, "/%s", word);
  tell ("queue", mq_open (path, files, 0600, NULL), fine);
}

static int
count_numbers (const char *path)
{
  DIR           *directory = opendir (path);
  struct dirent *entry;
  int            count = 0;

  if (directory == NULL)
    return -1;
  while ((entry = readdir (directory)) != NULL)
    count += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
  closedir (directory);
  return count;
}

static void
look (const char *word)
{
  struct shm_info segments = { 0 };
  struct msginfo  messages = { 0 };
  struct seminfo  semaphores = { 0 };

  touch_all (word, 0, "here");
  if (shmctl (0, SHM_INFO, (struct shmid_ds *) &segments) < 0 || msgctl (0, MSG_INFO, (struct msqid_ds *) &messages) < 0 ||
      semctl (0, 0, SEM_INFO, &semaphores) < 0)
    printf ("objects %s\n", strerror (errno));
  else
    printf ("objects %d\n", segments.used_ids + messages.msgpool + semaphores.semusz);
  printf ("terminals %d\n", count_numbers ("/dev/pts"));
  printf ("processes %d\n", count_numbers ("/proc"));
  printf ("pid %d\n", (int) getpid ());
}

/* One of the sandbox's loopback, of this name's own port */
static int
open_socket (const char         *word,
             struct sockaddr_in *address)
{
  memset (address, 0, sizeof *address);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  address->sin_port = htons ((unsigned short) (10000 + get_key (word) % 20000));
  return socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void __attribute__ ((noreturn))
hold (const char *word)
{
  struct sockaddr_in address;
  int                socket_fd = open_socket (word, &address);

  touch_all (word, 1, "made");
  if (posix_openpt (O_RDWR | O_NOCTTY | O_CLOEXEC) < 0)
    printf ("terminal %s\n", strerror (errno));
  if (bind (socket_fd, (struct sockaddr *) &address, sizeof address) < 0 || listen (socket_fd, 8) < 0)
    printf ("socket %s\n", strerror (errno));
  printf ("ready\n");
  fflush (stdout);
  for (;;)
    pause ();
}

static void
meet (const char *word)
{
  struct sockaddr_in address;
  int                fd = open_socket (word, &address);

  puts (connect (fd, (struct sockaddr *) &address, sizeof address) == 0 ? "met" : strerror (errno));
}

static void
tell_done (pid_t       pid,
           const char *what,
           long        result)
{
  if (result >= 0)
    printf ("%d %s\n", (int) pid, what);
}

/* What opens or reads another process; process 1 is there, and nothing of this may be had of it either. */
static void
pry (pid_t pid)
{
  const char *const names[] = { "mem", "fd", "root", "cwd", "exe", "environ", "maps", "auxv", "syscall" };
  char              bytes[16];
  struct iovec      here = { bytes, sizeof bytes };
  struct iovec      there = { (void *) 0x400000, sizeof bytes };

  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
    {
      char path[64];
      int  fd;

      snprintf (path, sizeof path, "/proc/%d/%s", (int) pid, names[i]);
      fd = open (path, O_RDONLY | O_CLOEXEC);
      /* some of them may be opened, and not read */
      if (fd >= 0 && (i == 1 || i == 2 || i == 3 || i == 4 || read (fd, bytes, 1) > 0))
        printf ("%d %s\n", (int) pid, names[i]);
      if (fd >= 0)
        close (fd);
    }
  tell_done (pid, "attach", ptrace (PTRACE_ATTACH, pid, NULL, NULL));
  tell_done (pid, "seize", ptrace (PTRACE_SEIZE, pid, NULL, NULL));
  tell_done (pid, "readv", process_vm_readv (pid, &here, 1, &there, 1, 0));
  tell_done (pid, "writev", process_vm_writev (pid, &here, 1, &there, 1, 0));
}

static void
strike (void)
{
  const int signals[] = { 0, SIGSTOP, SIGTERM, SIGKILL };

  for (pid_t pid = 2; pid <= LAST_PID; pid++)
    {
      if (pid == getpid ())
        continue;
      for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
        {
          tell_done (pid, "signal", kill (pid, signals[i]));
          tell_done (-pid, "signal", kill (-pid, signals[i]));
        }
      tell_done (pid, "pidfd", syscall (SYS_pidfd_open, pid, 0));
      tell_done (pid, "priority", setpriority (PRIO_PROCESS, (id_t) pid, 19));
      tell_done (pid, "limits", prlimit (pid, RLIMIT_NOFILE, NULL, NULL));
      pry (pid);
    }
  pry (1);
  /* everybody else that this process may signal */
  kill (-1, SIGKILL);
  puts ("end");
}

static void
spoil (void)
{
  const struct rlimit      nothing = { 0, 0 };
  const struct sched_param share = { 0 };

  for (int signum = 1; signum <= 64; signum++)
    kill (1, signum);
  for (int resource = 0; resource < 16; resource++)
    prlimit (1, resource, &nothing, NULL);
  setpriority (PRIO_PROCESS, 1, 19);
  sched_setscheduler (1, 5 /* SCHED_IDLE */, &share);
  puts ("end");
}

int
main (int    argc,
      char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";

  if (strcmp (what, "leave") == 0 && argc == 3)
    touch_all (argv[2], 1, "made");
  else if (strcmp (what, "look") == 0 && argc == 3)
    look (argv[2]);
  else if (strcmp (what, "hold") == 0 && argc == 3)
    hold (argv[2]);
  else if (strcmp (what, "meet") == 0 && argc == 3)
    meet (argv[2]);
  else if (strcmp (what, "strike") == 0)
    strike ();
  else if (strcmp (what, "spoil") == 0)
    spoil ();
  else
    return 123;
  return 0;
}
