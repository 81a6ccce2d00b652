/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file.h - an ELF file through libelf, with the checks that libelf leaves out.
 *
 * Opened with ELF_C_READ, libelf reads each table when it is asked for, with
 * pread: the text of a large program is never touched, and a file that shrinks
 * meanwhile is an error rather than a signal. libelf believes sizes up to the
 * size of the file, which may be sparse: they are checked here before. Runs in
 * the unprivileged worker only, since every byte may be hostile.
 */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

#include "symbolizer.h"

/*
 * `fd` stays the caller's, and open as long as the Elf is. Ends with elf_end().
 * Fails with -ENOEXEC (no executable or library for this machine's byte order,
 * or broken), or what pread says.
 */
int elf_file_open(int fd, Elf **ret);
/* The same of an image in memory, which stays the caller's. */
int elf_file_open_image(void *image, size_t len, Elf **ret);

/* The first section of `type` (and `name`, unless NULL), or NULL. */
Elf_Scn *elf_file_section(Elf *elf, GElf_Word type, const char *name, GElf_Shdr *ret);
/* The content of a section of at most `max` bytes: -EFBIG, -ENOEXEC. */
int elf_file_data(Elf_Scn *scn, const GElf_Shdr *sh, uint64_t max, Elf_Data **ret);

/* From the notes, those of segments first. The length, or 0: none of a sensible length. */
size_t elf_file_build_id(Elf *elf, uint8_t dst[BUILD_ID_MAX]);

#endif
