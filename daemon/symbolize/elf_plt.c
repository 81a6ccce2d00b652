/* SPDX-License-Identifier: Apache-2.0 */
/* elf_plt.c - the stubs through which calls go to other files, by what they lead to. */
#include <elf.h>
#include <string.h>

#include "elf_candidates.h"
#include "elf_file.h"

#define MAX_PLT_ENTRIES (1u << 20)
#define PLT_STUB_BYTES	16

/* What there is to name them by. */
struct plt {
	uint64_t addr, size, header_size;
	Elf_Data *relocs;
	size_t n;
	unsigned reloc_type;
	struct elf_symtab symtab;
};

/* x86-64 and arm64. False: no PLT, or none that we know the form of. */
static bool find_plt(Elf *elf, struct plt *ret)
{
	GElf_Shdr plt, rel, sh;
	Elf_Scn *rel_scn = elf_file_section(elf, SHT_RELA, ".rela.plt", &rel), *scn;
	GElf_Ehdr eh;
	size_t entry;

	if (!rel_scn || !gelf_getehdr(elf, &eh))
		return false;
	ret->reloc_type = eh.e_machine == EM_AARCH64 ? R_AARCH64_JUMP_SLOT : R_X86_64_JUMP_SLOT;
	ret->header_size = eh.e_machine == EM_AARCH64 ? 32 : 16;
	if (eh.e_machine != EM_AARCH64 && eh.e_machine != EM_X86_64)
		return false;
	if (elf_file_section(elf, SHT_PROGBITS, ".plt.sec", &plt))
		ret->header_size = 0;
	else if (!elf_file_section(elf, SHT_PROGBITS, ".plt", &plt))
		return false;
	ret->addr = plt.sh_addr;
	ret->size = plt.sh_size;

	scn = elf_getscn(elf, rel.sh_link);
	entry = gelf_fsize(elf, ELF_T_RELA, 1, EV_CURRENT);
	if (!scn || !entry || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM ||
	    elf_symtab_read(elf, scn, &sh, &ret->symtab) < 0 ||
	    elf_file_data(rel_scn, &rel, MAX_SYMTAB_BYTES, &ret->relocs) < 0)
		return false;
	ret->n = ret->relocs->d_size / entry;
	return ret->n <= MAX_PLT_ENTRIES;
}

/*
 * The linkers put the stubs in the order of their relocations, unless there are
 * other relocations between (IRELATIVE, TLSDESC). A wrong name would be worse
 * than none, so it must all fit.
 */
static bool plt_in_order(const struct plt *plt)
{
	GElf_Rela rela;

	if (plt->size != plt->header_size + plt->n * PLT_STUB_BYTES ||
	    plt->addr > UINT64_MAX - plt->size)
		return false;
	for (size_t i = 0; i < plt->n; i++)
		if (!gelf_getrela(plt->relocs, (int)i, &rela) ||
		    GELF_R_TYPE(rela.r_info) != plt->reloc_type)
			return false;
	return true;
}

int elf_plt_candidates(Elf *elf, struct elf_candidates *cs)
{
	struct plt plt = { 0 };
	int r = 0;

	if (!find_plt(elf, &plt) || !plt_in_order(&plt))
		return 0;
	for (size_t i = 0; i < plt.n && r == 0; i++) {
		struct elf_candidate c = { .is_plt = true };
		GElf_Rela rela;
		GElf_Sym sym;

		if (!gelf_getrela(plt.relocs, (int)i, &rela) ||
		    GELF_R_SYM(rela.r_info) >= plt.symtab.n ||
		    !gelf_getsym(plt.symtab.syms, (int)GELF_R_SYM(rela.r_info), &sym))
			continue;
		c.name = elf_symtab_name(&plt.symtab, &sym);
		c.start = plt.addr + plt.header_size + i * PLT_STUB_BYTES;
		c.end = c.start + PLT_STUB_BYTES;
		if (c.name)
			r = elf_candidates_add(cs, &c);
	}
	return r;
}
