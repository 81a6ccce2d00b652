/* SPDX-License-Identifier: Apache-2.0 */
/* short_name.h - long names of functions, for people: without parameters and arguments. */
#ifndef SHORT_NAME_H
#define SHORT_NAME_H

#include <stddef.h>

/*
 * "std::map<int, long>::at(int const&) const" is "std::map<..>::at(..) const".
 * What is no C++ or Rust, or does not add up, stays as it is. Writes a string that
 * is no longer than `name` and returns its length; cut to `dst_size` - 1.
 */
size_t short_name(char *dst, size_t dst_size, const char *name);

/* "at(..) const" of "std::map<..>::at(..) const": for what short_name() has written. */
const char *short_name_last(const char *name);

#endif
