/* SPDX-License-Identifier: Apache-2.0 */
/* elf_usdt.c - where the USDT probes of an ELF file are. */
#include "elf_usdt.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "elf_file.h"

#define OWNER	     "stapsdt"
#define NOTE_PROBE   3
#define MAX_BYTES    (4 << 20) /* of notes */
#define MAX_SEGMENTS 256

/* What begins the content of a note of a 64-bit file. */
struct place {
	uint64_t pc, base, semaphore;
};

struct probe {
	struct place at;
	const char *provider, *name;
};

/* 0: in no segment with these flags. */
static uint64_t offset_of(Elf *elf, uint64_t vaddr, GElf_Word flags, uint64_t len)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(elf, &n) != 0)
		return 0;
	for (size_t i = 0; i < n && i < MAX_SEGMENTS; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    (ph.p_flags & flags) == flags && vaddr >= ph.p_vaddr && ph.p_filesz >= len &&
		    vaddr - ph.p_vaddr <= ph.p_filesz - len &&
		    ph.p_offset <= INT64_MAX - ph.p_filesz)
			return ph.p_offset + (vaddr - ph.p_vaddr);
	return 0;
}

/* Addresses are as of when it was linked; whoever moved it since has moved the base. */
static void move(Elf *elf, struct place *at)
{
	GElf_Shdr sh;

	if (!at->base || !elf_file_section(elf, SHT_PROGBITS, ".stapsdt.base", &sh))
		return;
	at->pc += sh.sh_addr - at->base;
	if (at->semaphore)
		at->semaphore += sh.sh_addr - at->base;
}

/* The NUL-ended text at `*at` of `size` bytes, behind which `*at` then is. */
static const char *text_at(const char *bytes, size_t size, size_t *at)
{
	const char *text = bytes + *at, *end = *at < size ? memchr(text, '\0', size - *at) : NULL;

	if (!end)
		return NULL;
	*at += (size_t)(end - text) + 1;
	return text;
}

static bool parse(const char *desc, size_t size, struct probe *ret)
{
	size_t at = sizeof(ret->at);

	if (size < sizeof(ret->at))
		return false;
	memcpy(&ret->at, desc, sizeof(ret->at));
	ret->provider = text_at(desc, size, &at);
	ret->name = ret->provider ? text_at(desc, size, &at) : NULL;
	return ret->name != NULL;
}

/* "PROVIDER:NAME" */
static bool is_called(const struct probe *p, const char *wanted)
{
	size_t len = strlen(p->provider);

	return strncmp(wanted, p->provider, len) == 0 && wanted[len] == ':' &&
	       strcmp(wanted + len + 1, p->name) == 0;
}

static const char *behind(const char *prefix, const char *name)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 ? name + len : NULL;
}

static void match(Elf *elf, const struct probe *p, const char *name, uint64_t *ret_offset)
{
	const char *site = behind(ELF_USDT_SITE, name);
	const char *semaphore = behind(ELF_USDT_SEMAPHORE, name);

	if (*ret_offset)
		return;
	if (site && is_called(p, site))
		*ret_offset = offset_of(elf, p->at.pc, PF_X, 1);
	else if (semaphore && p->at.semaphore && is_called(p, semaphore))
		*ret_offset = offset_of(elf, p->at.semaphore, PF_W, 2);
}

static void find(Elf *elf, const char *names, size_t stride, size_t n, uint64_t *ret_offsets)
{
	size_t next, name_at, desc_at;
	Elf_Data *data;
	GElf_Nhdr note;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(elf, SHT_NOTE, ".note.stapsdt", &sh);

	if (!scn || gelf_getclass(elf) != ELFCLASS64 ||
	    elf_file_data(scn, &sh, MAX_BYTES, &data) < 0)
		return;
	for (size_t at = 0; (next = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0;
	     at = next) {
		const char *bytes = data->d_buf;
		struct probe p;

		if (note.n_type != NOTE_PROBE || note.n_namesz != sizeof(OWNER) ||
		    memcmp(bytes + name_at, OWNER, sizeof(OWNER)) != 0 ||
		    !parse(bytes + desc_at, note.n_descsz, &p))
			continue;
		move(elf, &p.at);
		for (size_t i = 0; i < n; i++)
			match(elf, &p, names + i * stride, &ret_offsets[i]);
	}
}

size_t elf_usdt(Elf *elf, const char *names, size_t stride, size_t n, uint64_t *ret_offsets)
{
	size_t n_probes = 0;

	for (size_t i = 0; i < n; i++)
		n_probes += behind(ELF_USDT_SITE, names + i * stride) ||
			    behind(ELF_USDT_SEMAPHORE, names + i * stride);
	if (n_probes > 0)
		find(elf, names, stride, n, ret_offsets);
	return n_probes;
}
