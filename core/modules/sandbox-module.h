/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)
# error "Only <sandbox-glib.h> can be included directly."
#endif

#include <glib-object.h>
#include "sandbox-version-macros.h"

G_BEGIN_DECLS

/**
 * SandboxModuleDescriptor: (skip)
 * @abi_version: %SANDBOX_ABI_VERSION of the headers that the module was built with
 * @struct_size: the size of this structure in bytes
 * @name: the name of the module, as in its manifest
 * @register_type: registers the types of the module, and returns that of its backend
 *
 * What a module exports, as the constant `sandbox_module_descriptor`.
 *
 * SANDBOX_MODULE_DEFINE() makes it. The loader calls nothing of the module before it has compared the
 * first three members; it calls @register_type once in a process, and the module is never unloaded.
 *
 * Since: 1.0
 */
typedef struct
{
  guint32     abi_version;
  guint32     struct_size;
  const char *name;
  GType (*register_type) (GTypeModule *module);
} SandboxModuleDescriptor;

/**
 * SANDBOX_MODULE_DEFINE: (skip)
 * @module_name: the name of the module, a string
 * @register_func: a function as [struct@Sandbox.ModuleDescriptor] describes it
 *
 * Makes a shared object a module.
 *
 * Once in it, without a semicolon. Beside the shared object goes the manifest, a key file with the name
 * of the module and the suffix `.sandbox-module`, in which every key is needed:
 *
 * ```ini
 * [Module]
 * Kind=backend
 * Name=example
 * Library=libsandbox-example.so
 * Abi=1
 * Priority=10
 * Description=What it does, in one line
 * ```
 *
 * Names are up to 64 of a-z, 0-9 and the dash. The highest priority is taken by hosts that name no
 * backend; one below 0 is taken only by name.
 *
 * The kind is `backend` for a class derived from [class@Sandbox.Backend], and `gateway` for one that implements
 * [iface@Sandbox.Gateway]; nobody names a gateway, so that one below 0 is never taken.
 *
 * ```c
 * static GType
 * example_module_register (GTypeModule *module)
 * {
 *   example_backend_register (module);
 *
 *   return EXAMPLE_TYPE_BACKEND;
 * }
 *
 * SANDBOX_MODULE_DEFINE ("example", example_module_register)
 * ```
 *
 * Since: 1.0
 */
#define SANDBOX_MODULE_DEFINE(module_name, register_func)                   \
 SANDBOX_EXTERN const SandboxModuleDescriptor sandbox_module_descriptor;    \
 const SandboxModuleDescriptor                sandbox_module_descriptor = { \
                  SANDBOX_ABI_VERSION,                                      \
                  sizeof (SandboxModuleDescriptor),                         \
                  module_name,                                              \
                  register_func,                                            \
 };

G_END_DECLS
