/* SPDX-License-Identifier: Apache-2.0 */
/* elf_file.c - an ELF file through libelf, with the checks that libelf leaves out. */
#include "elf_file.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MAX_NOTE_BYTES (64u << 10)

union header {
	unsigned char ident[EI_NIDENT];
	Elf32_Ehdr h32;
	Elf64_Ehdr h64;
};

/*
 * libelf itself would convert a foreign byte order, and reserve memory for as
 * many sections as section 0 claims where the header says "too many to tell".
 */
static int check_header(const union header *h, size_t len)
{
	const unsigned char native = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	bool uncounted;
	uint16_t type;

	if (len < sizeof(h->h32) || memcmp(h->ident, ELFMAG, SELFMAG) != 0 ||
	    h->ident[EI_DATA] != native)
		return -ENOEXEC;
	if (h->ident[EI_CLASS] == ELFCLASS64 && len >= sizeof(h->h64)) {
		type = h->h64.e_type;
		uncounted = h->h64.e_shnum == 0 && h->h64.e_shoff != 0;
	} else if (h->ident[EI_CLASS] == ELFCLASS32) {
		type = h->h32.e_type;
		uncounted = h->h32.e_shnum == 0 && h->h32.e_shoff != 0;
	} else {
		return -ENOEXEC;
	}
	return (type == ET_EXEC || type == ET_DYN) && !uncounted ? 0 : -ENOEXEC;
}

static int take(Elf *elf, Elf **ret)
{
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return -ENOEXEC;
	}
	*ret = elf;
	return 0;
}

int elf_file_open(int fd, Elf **ret)
{
	union header h = { 0 };
	ssize_t n = pread(fd, &h, sizeof(h), 0);
	int r;

	if (n < 0)
		return -errno;
	(void)elf_version(EV_CURRENT); /* fails only for a version it does not have */
	r = check_header(&h, (size_t)n);
	return r < 0 ? r : take(elf_begin(fd, ELF_C_READ, NULL), ret);
}

int elf_file_open_image(void *image, size_t len, Elf **ret)
{
	union header h = { 0 };
	int r;

	(void)elf_version(EV_CURRENT);
	memcpy(&h, image, len < sizeof(h) ? len : sizeof(h));
	r = check_header(&h, len);
	return r < 0 ? r : take(elf_memory(image, len), ret);
}

Elf_Scn *elf_file_section(Elf *elf, GElf_Word type, const char *name, GElf_Shdr *ret)
{
	size_t names = 0;
	Elf_Scn *scn = NULL;

	if (name && elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *s;

		if (!gelf_getshdr(scn, ret) || ret->sh_type != type)
			continue;
		if (!name)
			return scn;
		s = elf_strptr(elf, names, ret->sh_name);
		if (s && strcmp(s, name) == 0)
			return scn;
	}
	return NULL;
}

int elf_file_data(Elf_Scn *scn, const GElf_Shdr *sh, uint64_t max, Elf_Data **ret)
{
	if (sh->sh_size > max)
		return -EFBIG;
	*ret = elf_getdata(scn, NULL);
	if (!*ret || (!(*ret)->d_buf && (*ret)->d_size > 0))
		return -ENOEXEC;
	return 0;
}

/* ---- notes ---- */

static size_t find_build_id(Elf_Data *data, uint8_t dst[BUILD_ID_MAX])
{
	size_t next, name_off, desc_off;
	GElf_Nhdr note;

	for (size_t off = 0; (next = gelf_getnote(data, off, &note, &name_off, &desc_off)) > 0;
	     off = next) {
		const char *bytes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(bytes + name_off, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0)
			continue;
		if (note.n_descsz < BUILD_ID_MIN || note.n_descsz > BUILD_ID_MAX)
			continue;
		memcpy(dst, bytes + desc_off, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

static size_t read_notes(Elf *elf, uint64_t offset, uint64_t size, uint64_t align,
			 uint8_t dst[BUILD_ID_MAX])
{
	Elf_Data *data;

	if (size > MAX_NOTE_BYTES || offset > INT64_MAX)
		return 0;
	data = elf_getdata_rawchunk(elf, (int64_t)offset, size,
				    align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	return data && data->d_buf ? find_build_id(data, dst) : 0;
}

size_t elf_file_build_id(Elf *elf, uint8_t dst[BUILD_ID_MAX])
{
	Elf_Scn *scn = NULL;
	size_t n, len = 0;
	GElf_Phdr ph;
	GElf_Shdr sh;

	if (elf_getphdrnum(elf, &n) == 0)
		for (size_t i = 0; i < n && len == 0; i++)
			if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_NOTE)
				len = read_notes(elf, ph.p_offset, ph.p_filesz, ph.p_align, dst);
	/* Notes that no segment covers; in a debug file the segments' content is gone. */
	while (len == 0 && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE)
			len = read_notes(elf, sh.sh_offset, sh.sh_size, sh.sh_addralign, dst);
	return len;
}
