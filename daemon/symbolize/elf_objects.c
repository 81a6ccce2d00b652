/* SPDX-License-Identifier: Apache-2.0 */
/* elf_objects.c - variables and functions of an ELF file by name. */
#include "elf_objects.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "elf_candidates.h"
#include "elf_file.h"
#include "elf_usdt.h"

/* Program headers looked at; a file can claim 65535. */
#define MAX_SEGMENTS 256

static size_t n_segments(Elf *elf)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) != 0)
		return 0;
	return n < MAX_SEGMENTS ? n : MAX_SEGMENTS;
}

int elf_text(Elf *elf, struct elf_text *ret)
{
	size_t n = n_segments(elf);
	GElf_Phdr ph;

	*ret = (struct elf_text){ 0 };
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && (ph.p_flags & PF_X) &&
		    ph.p_filesz > ret->size)
			*ret = (struct elf_text){ ph.p_offset, ph.p_filesz, ph.p_vaddr };
	return ret->size ? 0 : -ENOENT;
}

static bool find_in(Elf *elf, GElf_Word type, const char *name, uint64_t *ret_vaddr)
{
	struct elf_symtab st;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(elf, type, NULL, &sh);
	GElf_Sym sym;

	if (!scn || elf_symtab_read(elf, scn, &sh, &st) < 0)
		return false;
	for (size_t i = 0; i < st.n && gelf_getsym(st.syms, (int)i, &sym); i++) {
		const char *s;

		if ((GELF_ST_TYPE(sym.st_info) != STT_OBJECT &&
		     GELF_ST_TYPE(sym.st_info) != STT_FUNC) ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		s = elf_symtab_name(&st, &sym);
		if (s && strcmp(s, name) == 0) {
			*ret_vaddr = sym.st_value;
			return true;
		}
	}
	return false;
}

/* How many bytes the file has of what will be at `vaddr`, at most `max`, and where. */
static size_t in_file(Elf *elf, uint64_t vaddr, size_t max, uint64_t *ret_offset)
{
	size_t n = n_segments(elf);
	GElf_Phdr ph;

	for (size_t i = 0; i < n; i++) {
		uint64_t at;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || vaddr < ph.p_vaddr)
			continue;
		at = vaddr - ph.p_vaddr;
		if (at >= ph.p_filesz || ph.p_offset > INT64_MAX - at)
			continue;
		*ret_offset = ph.p_offset + at;
		return ph.p_filesz - at < max ? ph.p_filesz - at : max;
	}
	return 0;
}

int elf_object(Elf *elf, int fd, const char *name, void *dst, size_t max, uint64_t *ret_vaddr)
{
	uint64_t offset = 0;
	size_t len;
	ssize_t n;

	if (!find_in(elf, SHT_DYNSYM, name, ret_vaddr) &&
	    !find_in(elf, SHT_SYMTAB, name, ret_vaddr))
		return -ENOENT;
	len = in_file(elf, *ret_vaddr, max, &offset);
	n = len ? pread(fd, dst, len, (off_t)offset) : 0;
	return n > 0 ? (int)n : 0;
}

/* 0: no code of the file will be at `vaddr`. */
static uint64_t code_offset(Elf *elf, uint64_t vaddr)
{
	size_t n = n_segments(elf);
	GElf_Phdr ph;

	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && (ph.p_flags & PF_X) &&
		    vaddr >= ph.p_vaddr && vaddr - ph.p_vaddr < ph.p_filesz &&
		    ph.p_offset <= INT64_MAX - ph.p_filesz)
			return ph.p_offset + (vaddr - ph.p_vaddr);
	return 0;
}

static void find_functions(Elf *elf, GElf_Word type, const char *names, size_t stride, size_t n,
			   uint64_t *ret_offsets)
{
	struct elf_symtab st;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(elf, type, NULL, &sh);
	GElf_Sym sym;

	if (!scn || elf_symtab_read(elf, scn, &sh, &st) < 0)
		return;
	for (size_t i = 0; i < st.n && gelf_getsym(st.syms, (int)i, &sym); i++) {
		const char *s;

		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		s = elf_symtab_name(&st, &sym);
		for (size_t k = 0; s && k < n; k++)
			if (!ret_offsets[k] && strcmp(s, names + k * stride) == 0)
				ret_offsets[k] = code_offset(elf, sym.st_value);
	}
}

/* 0: it has none of that name. */
static uint64_t section_offset(Elf *elf, const char *name)
{
	GElf_Shdr sh;

	if (elf_file_section(elf, SHT_PROGBITS, name, &sh) ||
	    elf_file_section(elf, SHT_NOTE, name, &sh))
		return sh.sh_offset;
	return 0;
}

void elf_functions(Elf *elf, const char *names, size_t stride, size_t n, uint64_t *ret_offsets)
{
	memset(ret_offsets, 0, n * sizeof(*ret_offsets));
	if (gelf_getclass(elf) != ELFCLASS64)
		return;
	for (size_t k = 0; k < n; k++)
		if (names[k * stride] == '.')
			ret_offsets[k] = section_offset(elf, names + k * stride);
	if (elf_usdt(elf, names, stride, n, ret_offsets) == n)
		return; /* there may be many symbols */
	find_functions(elf, SHT_DYNSYM, names, stride, n, ret_offsets);
	find_functions(elf, SHT_SYMTAB, names, stride, n, ret_offsets);
}

/* Returns how many it has found. */
static size_t ints_in(Elf *elf, int fd, GElf_Word type, elf_wants_fn *wants, elf_int_fn *fn,
		      void *ctx)
{
	struct elf_symtab st;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(elf, type, NULL, &sh);
	GElf_Sym sym;
	size_t n = 0;

	if (!scn || elf_symtab_read(elf, scn, &sh, &st) < 0)
		return 0;
	for (size_t i = 0; i < st.n && gelf_getsym(st.syms, (int)i, &sym); i++) {
		const char *s;
		uint64_t offset;
		int32_t value;

		if (GELF_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_shndx == SHN_UNDEF)
			continue;
		s = elf_symtab_name(&st, &sym);
		if (!s || !wants(s))
			continue;
		/* What the file has not is zero in memory. */
		value = 0;
		if (in_file(elf, sym.st_value, sizeof(value), &offset) == sizeof(value) &&
		    pread(fd, &value, sizeof(value), (off_t)offset) != sizeof(value))
			continue;
		fn(ctx, s, value);
		n++;
	}
	return n;
}

void elf_ints(Elf *elf, int fd, elf_wants_fn *wants, elf_int_fn *fn, void *ctx)
{
	if (ints_in(elf, fd, SHT_DYNSYM, wants, fn, ctx) == 0)
		(void)ints_in(elf, fd, SHT_SYMTAB, wants, fn, ctx);
}
