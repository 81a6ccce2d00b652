/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_candidates.h - where a function may begin and what it may be called,
 * gathered from all places in a file that say so. elf_symbols.c weighs them.
 */
#ifndef ELF_CANDIDATES_H
#define ELF_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

#define MAX_SYMTAB_BYTES (256u << 20) /* 11 million symbols */
#define MAX_STRTAB_BYTES (512u << 20)

struct elf_candidate {
	uint64_t start, end; /* end == start: has no size */
	uint64_t section_end;
	const char *name; /* in memory of the Elf that it is from */
	uint8_t binding;
	bool is_plt;
	bool is_ifunc; /* chooses a function when it is loaded */
	bool is_label; /* has no type: a function written in assembler, or a place in one */
};

struct elf_candidates {
	struct elf_candidate *list;
	size_t n, cap;
};

/* 0 or -ENOMEM. */
int elf_candidates_add(struct elf_candidates *cs, const struct elf_candidate *c);
void elf_candidates_done(struct elf_candidates *cs);

/*
 * Each adds what `elf`, which must stay open, has to offer; nothing is no error,
 * nor is a broken table. Fails with -EFBIG (beyond the caps) or -ENOMEM.
 */
int elf_symtab_candidates(Elf *elf, GElf_Word type, struct elf_candidates *cs);
int elf_plt_candidates(Elf *elf, struct elf_candidates *cs);
int go_pclntab_candidates(Elf *elf, struct elf_candidates *cs);

/* A symbol table with its strings, each of which ends inside. */
struct elf_symtab {
	Elf_Data *syms;
	const char *strings;
	size_t n, n_terminated; /* symbols; bytes of strings up to their last NUL */
};

/* -ENOEXEC: broken; -EFBIG. */
int elf_symtab_read(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct elf_symtab *ret);
/* NULL: it has none. */
const char *elf_symtab_name(const struct elf_symtab *st, const GElf_Sym *sym);

#endif
