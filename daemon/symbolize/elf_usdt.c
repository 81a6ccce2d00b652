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

static bool parse(Elf *elf, const char *desc, size_t size, struct elf_usdt_probe *ret)
{
	size_t at = sizeof(struct place);
	struct place place;

	if (size < sizeof(place))
		return false;
	memcpy(&place, desc, sizeof(place));
	ret->provider = text_at(desc, size, &at);
	ret->name = ret->provider ? text_at(desc, size, &at) : NULL;
	if (!ret->name)
		return false;
	ret->args = text_at(desc, size, &at);
	if (!ret->args)
		ret->args = "";
	move(elf, &place);
	ret->pc = place.pc;
	ret->offset = offset_of(elf, place.pc, PF_X, 1);
	ret->semaphore = place.semaphore ? offset_of(elf, place.semaphore, PF_W, 2) : 0;
	return true;
}

/* "PROVIDER:NAME" */
static bool is_called(const struct elf_usdt_probe *p, const char *wanted)
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

void elf_usdt_each(Elf *elf, elf_usdt_fn *fn, void *ctx)
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
		struct elf_usdt_probe p;

		if (note.n_type == NOTE_PROBE && note.n_namesz == sizeof(OWNER) &&
		    memcmp(bytes + name_at, OWNER, sizeof(OWNER)) == 0 &&
		    parse(elf, bytes + desc_at, note.n_descsz, &p))
			fn(ctx, &p);
	}
}

/* Names that are looked for. */
struct wanted {
	const char *names;
	size_t stride, n;
	uint64_t *offsets;
};

static void match(void *ctx, const struct elf_usdt_probe *p)
{
	const struct wanted *w = ctx;

	for (size_t i = 0; i < w->n; i++) {
		const char *name = w->names + i * w->stride;
		const char *site = behind(ELF_USDT_SITE, name);
		const char *semaphore = behind(ELF_USDT_SEMAPHORE, name);

		if (w->offsets[i])
			continue;
		if (site && is_called(p, site))
			w->offsets[i] = p->offset;
		else if (semaphore && is_called(p, semaphore))
			w->offsets[i] = p->semaphore;
	}
}

size_t elf_usdt(Elf *elf, const char *names, size_t stride, size_t n, uint64_t *ret_offsets)
{
	struct wanted wanted = { names, stride, n, ret_offsets };
	size_t n_probes = 0;

	for (size_t i = 0; i < n; i++)
		n_probes += behind(ELF_USDT_SITE, names + i * stride) ||
			    behind(ELF_USDT_SEMAPHORE, names + i * stride);
	if (n_probes > 0)
		elf_usdt_each(elf, match, &wanted);
	return n_probes;
}
