/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_symbols.h - the functions of one ELF file, and where they lie.
 *
 * Reads headers, notes, symbol and string tables with pread into memory of its
 * own: the file may change or shrink meanwhile. Knows no DWARF and no
 * demangling. Runs in the unprivileged worker only, since every byte of the
 * file may be hostile.
 */
#ifndef ELF_SYMBOLS_H
#define ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbols;

/*
 * The descriptors stay the caller's and are not needed afterwards. `debug_fd` is
 * the file's debug file (elf_debug_fits()), or -1. A file stripped of everything
 * gives an empty table. Fails with -ENOEXEC (no executable or library for this
 * machine's byte order, or broken), -EFBIG (tables beyond the caps), -ENOMEM,
 * or what pread says.
 */
int elf_symbols_load(int fd, int debug_fd, struct elf_symbols **ret);
void elf_symbols_free(struct elf_symbols *t);

size_t elf_symbols_count(const struct elf_symbols *t);
size_t elf_symbols_bytes(const struct elf_symbols *t); /* memory in use */

/* NULL and `*ret_len` 0: the file has none of a sensible length. */
const uint8_t *elf_symbols_build_id(const struct elf_symbols *t, size_t *ret_len);

/* False: no segment loads this offset of the file. */
bool elf_symbols_vaddr(const struct elf_symbols *t, uint64_t file_offset, uint64_t *ret);

/*
 * The name of the function that contains `vaddr`, as it stands in the file but
 * for stubs of the PLT, which are called "name@plt". NULL: none.
 */
const char *elf_symbols_find(const struct elf_symbols *t, uint64_t vaddr, uint64_t *ret_start);

#endif
