/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_debug.h - what a file itself knows about its symbols and its source, and
 * where the rest of that is said to be.
 *
 * Formats: the GDB manual, "Debugging Information in Separate Files"
 * (.gnu_debuglink, build ids); dwz(1) (.gnu_debugaltlink). Runs in the
 * unprivileged worker only.
 */
#ifndef ELF_DEBUG_H
#define ELF_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer.h"

#define DEBUG_LINK_MAX 255 /* bytes of a name; what is longer is none */

/* A name is what the file says: anything but empty of meaning and NUL. */
struct elf_debug {
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: none */
	uint8_t alt_build_id[BUILD_ID_MAX];
	uint8_t alt_build_id_len;
	bool has_symbols;	       /* .symtab: all functions, not only those exported */
	bool has_lines;		       /* .debug_info */
	uint32_t link_crc;	       /* of the debug file */
	char link[DEBUG_LINK_MAX + 1]; /* .gnu_debuglink: the base name; "": none */
	char alt[DEBUG_LINK_MAX + 1];  /* .gnu_debugaltlink: a path; "": none */
};

/* Fails as elf_file_open() does. What is missing or broken is left empty. */
int elf_debug_read(int fd, struct elf_debug *ret);

/*
 * Is `debug_fd` the debug file that `of` wants? With a build id on both sides
 * these say; else the checksum of its link does, which takes a second for each
 * gigabyte. `*ret` says what is in the debug file.
 */
bool elf_debug_fits(const struct elf_debug *of, int debug_fd, struct elf_debug *ret);

#endif
