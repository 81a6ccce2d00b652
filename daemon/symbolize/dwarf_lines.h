/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_lines.h - from an address to the functions that were inlined there, and
 * their places in the source.
 *
 * libdw does the reading of DWARF, over descriptors only: it finds no file by a
 * name and asks no server. Runs in the unprivileged worker only, since every
 * byte may be hostile; what takes too long or too much memory ends the worker.
 */
#ifndef DWARF_LINES_H
#define DWARF_LINES_H

#include <stddef.h>
#include <stdint.h>

struct dwarf_lines;

/* Inlined calls at one place; what is deeper is left out. */
#define DWARF_MAX_FRAMES 64

/* Strings are valid as long as the struct dwarf_lines is. */
struct dwarf_frame {
	const char *function; /* linkage name if there is one; NULL: not known */
	const char *file;     /* NULL: not known */
	uint32_t line;	      /* 0: not known */
};

/*
 * `fd` has the DWARF; `alt_fd` is the file it shares with others (dwz), or -1;
 * one that is not the wanted one is not used. They stay the caller's, and open
 * as long as the result is. Fails with -ENOEXEC (no DWARF, or broken), -EFBIG
 * (beyond the caps) or -ENOMEM.
 */
int dwarf_lines_load(int fd, int alt_fd, struct dwarf_lines **ret);
void dwarf_lines_free(struct dwarf_lines *d); /* takes NULL */

/* How many frames there are at `vaddr`, the innermost one first; 0: nothing is known. */
size_t dwarf_lines_find(struct dwarf_lines *d, uint64_t vaddr,
			struct dwarf_frame frames[DWARF_MAX_FRAMES]);

#endif
