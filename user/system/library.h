/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loads libraries that only some commands use when they are needed, because they take memory. A
 * static program contains them.
 */
#pragma once

#include <dlfcn.h>

#ifdef SENDPATH_STATIC
#define LIBRARY_LOAD(name)		((void *)(name))
#define LIBRARY_FIND(library, function) ((void)(library), function)
#else
#define LIBRARY_LOAD(name)		dlopen(name, RTLD_NOW | RTLD_LOCAL)
#define LIBRARY_FIND(library, function) ((typeof(function) *)dlsym(library, #function))
#endif
