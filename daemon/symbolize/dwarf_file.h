/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_file.h - a file's DWARF, through libdw and over descriptors only.
 *
 * Runs in the unprivileged worker only, since every byte may be hostile; what takes too long
 * or too much memory ends the worker.
 */
#ifndef DWARF_FILE_H
#define DWARF_FILE_H

#include <stdbool.h>

#include <elfutils/libdw.h>

/*
 * `fd` stays the caller's, and open as long as the result is: dwarf_end(), then elf_end(),
 * also of `*ret_elf` alone when this fails and it is not NULL. Fails with -ENOEXEC (no DWARF,
 * or broken), -EFBIG (beyond the caps). `with_locations`: also what says where variables are.
 */
int dwarf_file_open(int fd, bool with_locations, Elf **ret_elf, Dwarf **ret);
/* Is `alt_fd` the file that the link of `fd` names, which several share (dwz)? */
bool dwarf_file_is_alt(int fd, int alt_fd);

#endif
