/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_pclntab.c - the functions of a Go program, by the table that its runtime
 * needs and that stripping therefore leaves: .gopclntab.
 *
 * Format: "Go 1.2 Runtime Symbol Information" (golang.org/s/go12symtab); as
 * changed in Go 1.16, 1.18 and 1.20, in the comments of runtime/symtab.go
 * (pcHeader) and cmd/link/internal/ld/pcln.go. A header, a list of (address,
 * offset of what is known about the function), those functions, and the names.
 */
#include <elf.h>
#include <string.h>

#include "elf_candidates.h"
#include "elf_file.h"

#define MAX_TABLE_BYTES (512u << 20)
#define HEADER_BYTES	8 /* u32 magic, u16 0, u8 quantum, u8 size of a pointer; then words */

#define MAGIC_1_2  0xfffffffbu
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u /* other contents of a function, but none that we read */

struct pclntab {
	const uint8_t *data;
	size_t len, n_terminated; /* bytes up to the last NUL */
	unsigned word;		  /* bytes of a pointer */
	unsigned step;		  /* bytes of a field in the list of functions */
	uint64_t n, list;	  /* functions, and where their list is */
	uint64_t functions;	  /* what the offsets in the list are relative to */
	uint64_t names;
	uint64_t text; /* what the addresses in the list are relative to */
};

static bool read_uint(const struct pclntab *t, uint64_t off, unsigned size, uint64_t *ret)
{
	uint32_t small;

	if (off > t->len || t->len - off < size)
		return false;
	if (size == 4) {
		memcpy(&small, t->data + off, sizeof(small));
		*ret = small;
	} else {
		memcpy(ret, t->data + off, sizeof(*ret));
	}
	return true;
}

/* Word `i` behind the first eight bytes. */
static bool read_word(const struct pclntab *t, unsigned i, uint64_t *ret)
{
	return read_uint(t, HEADER_BYTES + (uint64_t)i * t->word, t->word, ret);
}

/*
 * In a position-independent program the linker leaves the start of the text to
 * a relocation, and the field may be 0.
 */
static uint64_t text_start(Elf *elf, uint64_t said)
{
	GElf_Shdr sh;

	if (said == 0 && elf_file_section(elf, SHT_PROGBITS, ".text", &sh))
		return sh.sh_addr;
	return said;
}

static bool read_header(struct pclntab *t, Elf *elf)
{
	uint64_t magic, text;

	if (!read_uint(t, 0, 4, &magic) || t->len < HEADER_BYTES)
		return false;
	t->word = t->data[7];
	t->step = t->word;
	if ((t->word != 4 && t->word != 8) || !read_word(t, 0, &t->n))
		return false;
	switch (magic) {
	case MAGIC_1_2:
		t->list = HEADER_BYTES + t->word;
		return true;
	case MAGIC_1_16:
		if (!read_word(t, 2, &t->names) || !read_word(t, 6, &t->functions))
			return false;
		break;
	case MAGIC_1_18:
	case MAGIC_1_20:
		if (!read_word(t, 2, &text) || !read_word(t, 3, &t->names) ||
		    !read_word(t, 7, &t->functions))
			return false;
		t->step = 4;
		t->text = text_start(elf, text);
		break;
	default:
		return false;
	}
	t->list = t->functions;
	return t->names < t->len && t->functions < t->len;
}

/* Function `i`, or for the end of the last one's, i = n. */
static bool read_address(const struct pclntab *t, uint64_t i, uint64_t *ret)
{
	if (i > t->len || !read_uint(t, t->list + i * 2 * t->step, t->step, ret))
		return false;
	*ret += t->text;
	return true;
}

/* Its name, in the table, or NULL. A function begins with its address and its name's offset. */
static const char *read_name(const struct pclntab *t, uint64_t i)
{
	uint64_t function, name;

	if (!read_uint(t, t->list + (i * 2 + 1) * t->step, t->step, &function) ||
	    function > t->len || t->functions + function > t->len ||
	    !read_uint(t, t->functions + function + t->step, 4, &name))
		return NULL;
	name += t->names;
	if (name >= t->n_terminated || !t->data[name])
		return NULL;
	return (const char *)t->data + name;
}

static int add_functions(const struct pclntab *t, struct elf_candidates *cs)
{
	struct elf_candidate c = { .binding = STB_GLOBAL };
	int r = 0;

	for (uint64_t i = 0; i < t->n && r == 0; i++) {
		if (!read_address(t, i, &c.start) || !read_address(t, i + 1, &c.end))
			break;
		c.name = read_name(t, i);
		if (c.name && c.end > c.start)
			r = elf_candidates_add(cs, &c);
	}
	return r;
}

int go_pclntab_candidates(Elf *elf, struct elf_candidates *cs)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	struct pclntab t = { 0 };
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	const char *end;
	GElf_Shdr sh;
	int r;

	for (size_t i = 0; i < 2 && !scn; i++)
		scn = elf_file_section(elf, SHT_PROGBITS, names[i], &sh);
	if (!scn)
		return 0;
	r = elf_file_data(scn, &sh, MAX_TABLE_BYTES, &data);
	if (r < 0 || data->d_size == 0)
		return 0; /* a broken table is no worse than none */
	t.data = data->d_buf;
	t.len = data->d_size;
	end = memrchr(t.data, 0, t.len);
	t.n_terminated = end ? (size_t)(end - (const char *)t.data) : 0;
	return read_header(&t, elf) ? add_functions(&t, cs) : 0;
}
