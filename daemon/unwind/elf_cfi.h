/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_cfi.h - where an ELF file has its code, and the sections that describe its
 * call frames.
 *
 * 64 bits, little endian. Everything is bounded before it is read: a file may
 * be sparse, and claim what it likes.
 */
#ifndef ELF_CFI_H
#define ELF_CFI_H

#include "cfi.h"

/* Of one section; libLLVM has 5 MB, the largest browsers 30 MB. */
#define ELF_CFI_MAX_BYTES (64u << 20)

/* Executable ones; two is much. */
#define ELF_CFI_MAX_SEGMENTS 64

/* A file, or its image in memory. */
struct elf_source {
	int fd; /* used without an image */
	const uint8_t *image;
	uint64_t len;
};

struct elf_segment {
	uint64_t vaddr, offset, size; /* size: what the file has of it */
};

struct elf_cfi {
	uint16_t machine;
	uint64_t entry; /* vaddr; 0: none */
	struct elf_segment segments[ELF_CFI_MAX_SEGMENTS];
	size_t n_segments;
	struct cfi_section eh_frame, debug_frame; /* len 0: not there. Bytes are the object's */
	bool is_cut;				  /* a section is larger than we read */
	bool is_damaged;			  /* or could not be read */
};

/* -ENOEXEC: none that can be executed or loaded, or its headers are broken. Or what pread says. */
int elf_cfi_read(const struct elf_source *src, struct elf_cfi *ret);
void elf_cfi_done(struct elf_cfi *e);

/* Where an address of code lies in the file. `*ret_size` is what follows in the segment. */
bool elf_cfi_offset(const struct elf_cfi *e, uint64_t vaddr, uint64_t *ret_offset,
		    uint64_t *ret_size);

#endif
