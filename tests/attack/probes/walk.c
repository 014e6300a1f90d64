/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * walk MARKER [PATH]: walks everything that a guest can name, from the root down but not below PATH, and tells what should not be so, one line each:
 *
 * create PATH      a file could be made in this directory (it is removed again)
 * write PATH       this could be opened for writing
 * secret PATH      this could be read, though its mode says that not everybody may
 * marker N PATH    the marker N is in this name, in what the link leads to, or in the file; of a process's mem in its memory
 * special PATH     a socket, a pipe or a block device
 * walked N         the number of names, at the end
 *
 * Stdin has the time since which the markers exist, in seconds, and then the markers, each byte of them as two digits and
 * changed by MASK: so this program has them neither in its memory nor in its arguments. A file of a disk that was not
 * changed since then cannot have one and is not read; every other file that can be read is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MASK 0x55
/* What statfs() calls the kinds of file systems that keep times; musl has no headers of Linux. */
#define EXT4_MAGIC 0xef53
#define XFS_MAGIC 0x58465342
#define BTRFS_MAGIC 0x9123683e
#define OVERLAYFS_MAGIC 0x794c7630
#define TMPFS_MAGIC 0x01021994

#define N_MARKERS_MAX 16
#define MARKER_MAX 128
#define CHUNK (256 * 1024)
/* Enough of a file; some of the kernel's never end. */
#define FILE_MAX (64ull * 1024 * 1024)
#define KERNEL_FILE_MAX (1024 * 1024)

static uint8_t       markers[N_MARKERS_MAX][MARKER_MAX];
static size_t        marker_lengths[N_MARKERS_MAX];
static int           n_markers;
static long long     since;
static unsigned long n_names;
static const char   *left_out;
static uint8_t       chunk[CHUNK + MARKER_MAX];

static void
read_markers (void)
{
  static char line[2 * MARKER_MAX + 2];

  if (fgets (line, sizeof line, stdin) == NULL || (since = atoll (line)) <= 0)
    _exit (120);
  while (n_markers < N_MARKERS_MAX && fgets (line, sizeof line, stdin) != NULL)
    {
      size_t length = strspn (line, "0123456789abcdef") / 2;

      for (size_t i = 0; i < length; i++)
        {
          unsigned byte;

          if (sscanf (line + 2 * i, "%2x", &byte) != 1)
            _exit (121);
          markers[n_markers][i] = (uint8_t) byte;
        }
      marker_lengths[n_markers++] = length;
    }
}

/* A bit for each marker that is in these bytes. */
static unsigned
search (const uint8_t *bytes,
        size_t         size)
{
  unsigned found = 0;

  for (int i = 0; i < n_markers; i++)
    {
      const uint8_t *at = bytes;

      while ((at = memchr (at, markers[i][0] ^ MASK, size - (size_t) (at - bytes))) != NULL)
        {
          size_t n_equal = 1;

          while (n_equal < marker_lengths[i] && n_equal < size - (size_t) (at - bytes) && at[n_equal] == (markers[i][n_equal] ^ MASK))
            n_equal++;
          if (n_equal == marker_lengths[i])
            {
              found |= 1u << i;
              break;
            }
          at++;
        }
    }
  return found;
}

static void
tell_markers (unsigned    found,
              const char *path)
{
  for (int i = 0; i < n_markers; i++)
    if ((found & (1u << i)) != 0)
      printf ("marker %d %s\n", i, path);
}

/* The bytes from @start on, @most of them. */
static unsigned
search_descriptor (int      fd,
                   uint64_t start,
                   uint64_t most)
{
  unsigned found = 0;
  size_t   kept = 0; /* the end of what was searched: a marker may begin there */

  for (uint64_t done = 0; done < most;)
    {
      size_t  want = most - done < CHUNK ? (size_t) (most - done) : CHUNK;
      ssize_t got = pread (fd, chunk + kept, want, (off_t) (start + done));
      size_t  size;

      if (got <= 0)
        break;
      size = kept + (size_t) got;
      found |= search (chunk, size);
      done += (uint64_t) got;
      kept = size < MARKER_MAX ? size : MARKER_MAX;
      memmove (chunk, chunk + size - kept, kept);
    }
  return found;
}

/* Of a process, whose maps are beside. */
static unsigned
search_memory (int directory_fd,
               int fd)
{
  int                maps_fd = openat (directory_fd, "maps", O_RDONLY | O_CLOEXEC);
  FILE              *maps = maps_fd >= 0 ? fdopen (maps_fd, "r") : NULL;
  unsigned long long start, end;
  unsigned           found = 0;
  char               line[PATH_MAX + 128];

  if (maps == NULL)
    return 0;
  while (fgets (line, sizeof line, maps) != NULL)
    if (sscanf (line, "%llx-%llx r", &start, &end) == 2)
      found |= search_descriptor (fd, start, end - start);
  fclose (maps);
  return found;
}

/* Whether its files say when they were changed. */
static bool
keeps_times (int directory_fd)
{
  static const long kinds[] = { EXT4_MAGIC, XFS_MAGIC, BTRFS_MAGIC, OVERLAYFS_MAGIC, TMPFS_MAGIC };
  struct statfs     found;

  if (fstatfs (directory_fd, &found) == 0)
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
      if ((long) found.f_type == kinds[i])
        return true;
  return false;
}

static void
walk_file (int                directory_fd,
           const char        *name,
           const char        *path,
           const struct stat *info,
           bool               has_times)
{
  const int flags = O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;
  int       fd = openat (directory_fd, name, O_WRONLY | flags);

  if (fd >= 0)
    {
      /* some of another process's files are refused only when something is written */
      if (strncmp (path, "/proc/1/", 8) != 0 || write (fd, "0", 1) >= 0)
        printf ("write %s\n", path);
      close (fd);
    }
  if (!S_ISREG (info->st_mode))
    return;

  fd = openat (directory_fd, name, O_RDONLY | flags);
  if (fd < 0)
    return;
  if ((info->st_mode & S_IROTH) == 0 && info->st_uid != getuid ())
    printf ("secret %s\n", path);
  if (!has_times && strcmp (name, "mem") == 0)
    tell_markers (search_memory (directory_fd, fd), path);
  else if (!has_times)
    tell_markers (search_descriptor (fd, 0, KERNEL_FILE_MAX), path);
  else if (info->st_ctim.tv_sec >= since)
    tell_markers (search_descriptor (fd, 0, FILE_MAX), path);
  close (fd);
}

static void
walk_link (int         directory_fd,
           const char *name,
           const char *path)
{
  char    target[PATH_MAX];
  ssize_t length = readlinkat (directory_fd, name, target, sizeof target);

  if (length > 0)
    tell_markers (search ((const uint8_t *) target, (size_t) length), path);
}

static void
try_create (int         directory_fd,
            const char *path)
{
  static const char name[] = ".walk-was-here";
  int               fd = openat (directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  if (fd < 0)
    return;
  printf ("create %s\n", path);
  close (fd);
  unlinkat (directory_fd, name, 0);
}

/* @path has room for PATH_MAX bytes; closes the descriptor. */
static void
walk_directory (int    fd,
                char  *path,
                size_t length)
{
  DIR                 *directory = fdopendir (fd);
  bool                 has_times = keeps_times (fd);
  const struct dirent *entry;

  if (directory == NULL)
    _exit (122);
  try_create (fd, length > 0 ? path : "/");
  while ((entry = readdir (directory)) != NULL)
    {
      const char *name = entry->d_name;
      size_t      name_length = strlen (name);
      struct stat info;

      if (strcmp (name, ".") == 0 || strcmp (name, "..") == 0 || fstatat (fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        continue;
      if (length + 1 + name_length >= PATH_MAX)
        _exit (123);
      path[length] = '/';
      memcpy (path + length + 1, name, name_length + 1);
      n_names++;
      tell_markers (search ((const uint8_t *) name, name_length), path);
      if (left_out != NULL && strcmp (path, left_out) == 0)
        continue;
      if (S_ISDIR (info.st_mode))
        {
          int below_fd = openat (fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

          if (below_fd >= 0)
            walk_directory (below_fd, path, length + 1 + name_length);
          else if ((below_fd = openat (fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) >= 0)
            {
              try_create (below_fd, path);
              close (below_fd);
            }
        }
      else if (S_ISLNK (info.st_mode))
        walk_link (fd, name, path);
      else
        {
          if (!S_ISREG (info.st_mode) && !S_ISCHR (info.st_mode))
            printf ("special %s\n", path);
          walk_file (fd, name, path, &info, has_times);
        }
      path[length] = '\0';
    }
  closedir (directory);
}

int
main (int    argc,
      char **argv)
{
  static char path[PATH_MAX];

  left_out = argc > 2 ? argv[2] : NULL;
  read_markers ();
  walk_directory (open ("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), path, 0);
  printf ("walked %lu\n", n_names);
  return 0;
}
