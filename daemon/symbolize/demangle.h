/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - what a symbol is called in the language it was written in:
 * C++ (Itanium ABI), Rust (legacy and v0), D. Everything else stays as it is;
 * the part of a function that the compiler has split off keeps its suffix.
 *
 * Runs in the unprivileged worker only: names come from traced files.
 *
 * Stands on libiberty. Its demanglers (cp-, rust- and d-demangle.c) are LGPL-2.1+
 * with the exception that allows linking the compiled file into any program;
 * linked with this Apache-2.0 source, whoever has it can relink.
 */
#ifndef SYMBOLIZE_DEMANGLE_H /* libiberty has the shorter one */
#define SYMBOLIZE_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_MAX 1024 /* bytes of a name; what is longer ends in an ellipsis */

/*
 * Writes the readable form of `name` as a string of valid UTF-8 and returns its
 * length, at most DEMANGLE_MAX. C++ names have their parameters, Rust names
 * have neither parameters nor hash. A symbol version ("@@GLIBC_2.14") is left
 * out, the "@plt" of a stub stays.
 */
size_t demangle(char dst[DEMANGLE_MAX + 1], const char *name);

#endif
