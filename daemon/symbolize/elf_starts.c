/* SPDX-License-Identifier: Apache-2.0 */
/* elf_starts.c - do functions begin at these places of an ELF file? */
#include "elf_starts.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_candidates.h"
#include "elf_file.h"

#define MAX_SEGMENTS  256
#define MAX_HDR_BYTES (16u << 20) /* two million functions */

/* How .eh_frame_hdr is written everywhere: LSB 5, 10.6.2. */
#define HDR_VERSION    1
#define ENC_PCREL_S4   0x1b
#define ENC_UDATA4     0x03
#define ENC_DATAREL_S4 0x3b

struct hdr {
	uint8_t version, frame_enc, count_enc, table_enc;
	int32_t frame;
	uint32_t n;
};

/* Offsets relative to the header itself; sorted. */
struct entry {
	int32_t location, fde;
};

struct table {
	uint8_t *bytes;
	const struct entry *entries;
	size_t n;
	uint64_t vaddr; /* of the header */
};

static bool segment(Elf *elf, size_t i, GElf_Phdr *ret)
{
	size_t n;

	return elf_getphdrnum(elf, &n) == 0 && i < n && i < MAX_SEGMENTS &&
	       gelf_getphdr(elf, (int)i, ret);
}

/* Where the code at an offset in the file will be. */
static bool vaddr_of(Elf *elf, uint64_t offset, uint64_t *ret)
{
	GElf_Phdr ph;

	for (size_t i = 0; segment(elf, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) || offset < ph.p_offset ||
		    offset - ph.p_offset >= ph.p_filesz)
			continue;
		*ret = ph.p_vaddr + (offset - ph.p_offset);
		return true;
	}
	return false;
}

static void read_table(Elf *elf, int fd, struct table *ret)
{
	struct hdr hdr;
	GElf_Phdr ph;
	size_t i = 0;
	ssize_t len;

	while (segment(elf, i, &ph) && ph.p_type != PT_GNU_EH_FRAME)
		i++;
	if (!segment(elf, i, &ph) || ph.p_filesz < sizeof(hdr) || ph.p_filesz > MAX_HDR_BYTES)
		return;
	ret->bytes = malloc(ph.p_filesz);
	len = ret->bytes ? pread(fd, ret->bytes, ph.p_filesz, (off_t)ph.p_offset) : 0;
	if (len < (ssize_t)sizeof(hdr))
		return;
	memcpy(&hdr, ret->bytes, sizeof(hdr));
	if (hdr.version != HDR_VERSION || hdr.frame_enc != ENC_PCREL_S4 ||
	    hdr.count_enc != ENC_UDATA4 || hdr.table_enc != ENC_DATAREL_S4)
		return;
	ret->entries = (const void *)(ret->bytes + sizeof(hdr));
	ret->n = ((size_t)len - sizeof(hdr)) / sizeof(struct entry);
	if (ret->n > hdr.n)
		ret->n = hdr.n;
	ret->vaddr = ph.p_vaddr;
}

static bool in_table(const struct table *t, uint64_t vaddr)
{
	int64_t want = (int64_t)(vaddr - t->vaddr);
	size_t first = 0, n = t->n;

	while (n > 0) {
		size_t half = n / 2;
		int32_t at = t->entries[first + half].location;

		if (at == want)
			return true;
		if (at < want) {
			first += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return false;
}

static void find_symbols(Elf *elf, GElf_Word type, const uint64_t *vaddrs, size_t n, bool *found)
{
	struct elf_symtab st;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(elf, type, NULL, &sh);
	GElf_Sym sym;

	if (!scn || elf_symtab_read(elf, scn, &sh, &st) < 0)
		return;
	for (size_t i = 0; i < st.n && gelf_getsym(st.syms, (int)i, &sym); i++) {
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		for (size_t k = 0; k < n; k++)
			found[k] |= vaddrs[k] == sym.st_value;
	}
}

void elf_starts(Elf *elf, int fd, const uint64_t *offsets, size_t n, uint64_t *ret)
{
	uint64_t *vaddrs = calloc(n + 1, sizeof(*vaddrs));
	bool *found = calloc(n + 1, sizeof(*found));
	struct table table = { 0 };

	memset(ret, 0, n * sizeof(*ret));
	if (vaddrs && found && gelf_getclass(elf) == ELFCLASS64) {
		for (size_t i = 0; i < n; i++)
			(void)vaddr_of(elf, offsets[i], &vaddrs[i]);
		read_table(elf, fd, &table);
		find_symbols(elf, SHT_DYNSYM, vaddrs, n, found);
		find_symbols(elf, SHT_SYMTAB, vaddrs, n, found);
		for (size_t i = 0; i < n; i++)
			if (vaddrs[i] && (found[i] || in_table(&table, vaddrs[i])))
				ret[i] = offsets[i];
	}
	free(table.bytes);
	free(vaddrs);
	free(found);
}
