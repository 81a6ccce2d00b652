/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eh_frame.h - from the call frame information of an ELF file to an unwind table.
 *
 * Formats: DWARF 5 section 6.4 (.debug_frame), Linux Standard Base 5 "Exception
 * Frames" (.eh_frame, .eh_frame_hdr). Every byte of the file may be hostile.
 * Runs in the unprivileged worker; pure but for pread.
 */
#ifndef EH_FRAME_H
#define EH_FRAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads `fd` with pread (it may shrink meanwhile) and makes the table, in the
 * form of unwind_table.h, in memory that the caller frees. A file without CFI
 * gives a table with no rows and UNWIND_TABLE_NO_CFI. Fails with -ENOEXEC (no
 * executable or library for this machine, or its headers are broken), -EFBIG,
 * -ENOMEM, or what pread says.
 */
int eh_frame_table(int fd, void **ret, size_t *ret_len);

/* The same of an image in memory (the vDSO), in which offset in the file == offset in memory. */
int eh_frame_table_image(const void *image, size_t len, void **ret, size_t *ret_len);

struct cfi_machine;
struct elf_source;

/* The same of either, for a machine that need not be this one. */
int eh_frame_table_of(const struct cfi_machine *machine, const struct elf_source *src, void **ret,
		      size_t *ret_len);

#endif
