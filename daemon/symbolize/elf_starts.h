/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_starts.h - do functions begin at these places of an ELF file?
 *
 * By its symbols, and for stripped ones by the table of .eh_frame_hdr, which has an
 * entry for each function. Runs in the unprivileged worker only.
 */
#ifndef ELF_STARTS_H
#define ELF_STARTS_H

#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

/* `ret[i]` is `offsets[i]`, an offset in the file, or 0: no, or nobody knows. */
void elf_starts(Elf *elf, int fd, const uint64_t *offsets, size_t n, uint64_t *ret);

#endif
