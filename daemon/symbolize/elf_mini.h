/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_mini.h - the small symbol table that some distributions leave in a
 * stripped file: an ELF file with .symtab only, compressed by xz, in the section
 * .gnu_debugdata (the GDB manual, "MiniDebugInfo"). Runs in the worker only.
 */
#ifndef ELF_MINI_H
#define ELF_MINI_H

#include <gelf.h>

/*
 * `*ret_image` is the memory that `*ret` reads: free() it after elf_end(). Fails
 * with -ENOENT (no such section), -EFBIG (unpacked beyond the cap), -ENOEXEC
 * (not xz, or no ELF file inside) or -ENOMEM.
 */
int elf_mini_open(Elf *elf, void **ret_image, Elf **ret);

#endif
