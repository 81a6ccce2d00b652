/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system_libraries.h - libraries that the system has, where its dynamic linker looks for
 * them: so that the first call of the first process is seen.
 */
#ifndef SYSTEM_LIBRARIES_H
#define SYSTEM_LIBRARIES_H

#include <stdbool.h>

/* By the name of the file. */
typedef bool system_library_wanted_fn(void *ctx, const char *name);

/* `fd`, of a regular file, is taken over; `path` is for display. */
typedef void system_library_fn(void *ctx, int fd, const char *path);

/*
 * Calls `fn` for each wanted file in directories that only root can write to,
 * once for each of its names. `root` is "/" but for tests.
 */
void system_libraries_find(const char *root, system_library_wanted_fn *wanted,
			   system_library_fn *fn, void *ctx);

/* The same of programs, where they are looked for when one is called by its name. */
void system_programs_find(const char *root, system_library_wanted_fn *wanted, system_library_fn *fn,
			  void *ctx);

#endif
