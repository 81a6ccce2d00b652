/* SPDX-License-Identifier: Apache-2.0 */
/* elf_symtab.c - functions of the symbol tables, .symtab or .dynsym. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf_candidates.h"
#include "elf_file.h"

int elf_candidates_add(struct elf_candidates *cs, const struct elf_candidate *c)
{
	if (cs->n == cs->cap) {
		size_t cap = cs->cap ? cs->cap * 2 : 1024;
		struct elf_candidate *grown = reallocarray(cs->list, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		cs->list = grown;
		cs->cap = cap;
	}
	cs->list[cs->n++] = *c;
	return 0;
}

void elf_candidates_done(struct elf_candidates *cs)
{
	free(cs->list);
	*cs = (struct elf_candidates){ 0 };
}

int elf_symtab_read(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct elf_symtab *ret)
{
	size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Scn *str_scn;
	Elf_Data *strings = NULL;
	GElf_Shdr str_sh;
	const char *end;
	int r;

	str_scn = elf_getscn(elf, sh->sh_link);
	if (!str_scn || !gelf_getshdr(str_scn, &str_sh) || str_sh.sh_type != SHT_STRTAB || !entry)
		return -ENOEXEC;
	r = elf_file_data(scn, sh, MAX_SYMTAB_BYTES, &ret->syms);
	if (r == 0)
		r = elf_file_data(str_scn, &str_sh, MAX_STRTAB_BYTES, &strings);
	if (r < 0 || !strings)
		return r < 0 ? r : -ENOEXEC;
	ret->n = ret->syms->d_size / entry;
	ret->strings = strings->d_buf;
	end = strings->d_size ? memrchr(strings->d_buf, 0, strings->d_size) : NULL;
	ret->n_terminated = end ? (size_t)(end - ret->strings) : 0;
	return 0;
}

const char *elf_symtab_name(const struct elf_symtab *st, const GElf_Sym *sym)
{
	if (sym->st_name >= st->n_terminated || !st->strings[sym->st_name])
		return NULL;
	return st->strings + sym->st_name;
}

/* What bounds a symbol without a size, by index of the section. */
struct section {
	uint64_t end;
	bool is_code;
};

static int read_sections(Elf *elf, struct section **ret, size_t *ret_n)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t n;

	if (elf_getshdrnum(elf, &n) != 0)
		return -ENOEXEC;
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	*ret_n = n;
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_addr <= UINT64_MAX - sh.sh_size)
			(*ret)[elf_ndxscn(scn)] = (struct section){
				.end = sh.sh_addr + sh.sh_size,
				.is_code = sh.sh_flags & SHF_EXECINSTR,
			};
	return 0;
}

/*
 * Of what has no type only global names in code count: a local one is a place
 * to jump to within a function (and "$x" of arm64 is no name at all).
 */
static bool is_function(const GElf_Sym *sym, const struct section *section, bool *ret_label)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		*ret_label = false;
		return true;
	case STT_NOTYPE:
		*ret_label = true;
		return section->is_code && GELF_ST_BIND(sym->st_info) != STB_LOCAL &&
		       sym->st_value < section->end;
	}
	return false;
}

static int add_functions(Elf *elf, const struct elf_symtab *st, struct elf_candidates *cs)
{
	struct section *sections;
	size_t n_sections;
	int r;

	r = read_sections(elf, &sections, &n_sections);
	if (r < 0)
		return r;
	for (size_t i = 0; i < st->n && r == 0; i++) {
		struct elf_candidate c = { 0 };
		GElf_Sym sym;

		if (!gelf_getsym(st->syms, (int)i, &sym))
			break;
		c.name = elf_symtab_name(st, &sym);
		if (!c.name || sym.st_shndx == SHN_UNDEF || sym.st_shndx >= n_sections ||
		    !is_function(&sym, &sections[sym.st_shndx], &c.is_label))
			continue;
		c.start = sym.st_value;
		c.section_end = sections[sym.st_shndx].end;
		c.binding = GELF_ST_BIND(sym.st_info);
		c.is_ifunc = GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC;
		if (__builtin_add_overflow(sym.st_value, sym.st_size, &c.end))
			continue;
		r = elf_candidates_add(cs, &c);
	}
	free(sections);
	return r;
}

int elf_symtab_candidates(Elf *elf, GElf_Word type, struct elf_candidates *cs)
{
	struct elf_symtab st;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(elf, type, NULL, &sh);
	int r;

	if (!scn)
		return 0;
	r = elf_symtab_read(elf, scn, &sh, &st);
	if (r == 0)
		r = add_functions(elf, &st, cs);
	return r == -ENOEXEC ? 0 : r; /* a broken table is no worse than none */
}
