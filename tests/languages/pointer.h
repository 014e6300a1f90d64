/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <memory>

/* What a host in C++ may hold things of GLib in */
struct Unref
{
  void
  operator() (gpointer object) const
  {
    g_object_unref (object);
  }

  void
  operator() (GBytes *bytes) const
  {
    g_bytes_unref (bytes);
  }

  void
  operator() (char *text) const
  {
    g_free (text);
  }
};

template <typename T>
using Pointer = std::unique_ptr<T, Unref>;
