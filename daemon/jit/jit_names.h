/* SPDX-License-Identifier: Apache-2.0 */
/* jit_names.h - what the names that compilers give their code tell. */
#ifndef JIT_NAMES_H
#define JIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct jit_line_info;

/*
 * V8 (node, Chromium) puts the place of a function behind its name:
 * "LazyCompile:*main /srv/app.js:3", "JS:~read node:fs:410:12". The file
 * points into `name`.
 */
bool jit_name_source(const char *name, size_t len, struct jit_line_info *ret);

#endif
