/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_objects.h - variables, and functions, of an ELF file by name: where they will lie, and
 * what is in them before the program runs.
 *
 * Runs in the unprivileged worker only, since every byte of the file may be
 * hostile.
 */
#ifndef ELF_OBJECTS_H
#define ELF_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

/* The segment that most of the program's code is in. */
struct elf_text {
	uint64_t offset, size; /* in the file */
	uint64_t vaddr;
};

/* -ENOENT: there is none. */
int elf_text(Elf *elf, struct elf_text *ret);

/*
 * Finds the variable or function `name`, in .dynsym or else in .symtab, and reads the first
 * `max` bytes of its segment from there with pread from `fd`, as many as the
 * file has. Returns how many, or -ENOENT: no such variable.
 */
int elf_object(Elf *elf, int fd, const char *name, void *dst, size_t max, uint64_t *ret_vaddr);

/*
 * Where in the file the code of functions begins: of `n` names, one each `stride`
 * bytes. 0 for those that it has not, in .dynsym or else in .symtab, that are chosen
 * at load time (IFUNC), or that lie in no segment of code; and for all of a 32-bit file.
 * A name with a dot in front is a section's: what made the file shows in those. USDT probes
 * have names, too (elf_usdt.h).
 */
void elf_functions(Elf *elf, const char *names, size_t stride, size_t n, uint64_t *ret_offsets);

/*
 * Calls `fn` with each variable in .dynsym, or in .symtab if that has none, whose name
 * `wants`: with its value as an int, before the program runs.
 */
typedef int elf_wants_fn(const char *name);
typedef void elf_int_fn(void *ctx, const char *name, int32_t value);
void elf_ints(Elf *elf, int fd, elf_wants_fn *wants, elf_int_fn *fn, void *ctx);

#endif
