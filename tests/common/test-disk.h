/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A disk of a test's own: a small one, to be filled, or one of a kind that the machine need not have. */
#pragma once

#include <fcntl.h>
#include <glib.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

/* A free loop device may be taken by somebody else before we have it. */
static inline gboolean
test_disk_attach (const char *image,
                  const char *place,
                  const char *type)
{
  int control = open ("/dev/loop-control", O_RDWR | O_CLOEXEC);

  for (int i = 0; i < 32; i++)
    {
      struct loop_config config = { .fd = (guint32) open (image, O_RDWR | O_CLOEXEC), .info.lo_flags = LO_FLAGS_AUTOCLEAR };
      g_autofree char   *path = g_strdup_printf ("/dev/loop%d", ioctl (control, LOOP_CTL_GET_FREE));
      int                device = open (path, O_RDWR | O_CLOEXEC);
      gboolean           ours = device >= 0 && ioctl (device, LOOP_CONFIGURE, &config) == 0;
      gboolean           mounted = ours && mount (path, place, type, 0, "") == 0;

      close (device);
      close ((int) config.fd);
      if (ours)
        return mounted;
    }

  return FALSE;
}

static inline void
test_disk_format (const char *const *argv)
{
  g_autoptr (GError) error = NULL;
  int status = -1;

  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
}

/* A new ext4 over @image, mounted at @place; needs root, and mounts of one's own. */
static inline gboolean
test_disk_mount_ext4 (const char *image,
                      const char *place,
                      const char *size,
                      const char *inodes)
{
  const char *argv[] = { "/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-N", inodes, image, size, NULL };

  test_disk_format (argv);

  return test_disk_attach (image, place, "ext4");
}

/* The same of a kind whose files can share their content. */
static inline gboolean
test_disk_mount_btrfs (const char *image,
                       const char *place)
{
  const char *argv[] = { "/sbin/mkfs.btrfs", "-q", image, NULL };
  int         fd = open (image, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (ftruncate (fd, 512 * 1024 * 1024), ==, 0);
  close (fd);
  test_disk_format (argv);

  return test_disk_attach (image, place, "btrfs");
}
