/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_parse.c - the entries of .eh_frame and .debug_frame.
 *
 * An entry is a length and that many bytes. Its first field tells what it is:
 * a CIE, or an FDE together with where its CIE lies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cfi.h"

/* Pointer encodings, of the Linux Standard Base 5, "DWARF Extensions". */
#define DW_EH_PE_absptr	  0x00
#define DW_EH_PE_uleb128  0x01
#define DW_EH_PE_udata2	  0x02
#define DW_EH_PE_udata4	  0x03
#define DW_EH_PE_udata8	  0x04
#define DW_EH_PE_signed	  0x08
#define DW_EH_PE_sleb128  0x09
#define DW_EH_PE_sdata2	  0x0a
#define DW_EH_PE_sdata4	  0x0b
#define DW_EH_PE_sdata8	  0x0c
#define DW_EH_PE_pcrel	  0x10
#define DW_EH_PE_textrel  0x20
#define DW_EH_PE_datarel  0x30
#define DW_EH_PE_aligned  0x50
#define DW_EH_PE_indirect 0x80
#define DW_EH_PE_omit	  0xff

#define POINTER_SIZE 8

/* Its CIEs have a pointer before the alignments, and nothing more. */
#define GCC2_AUGMENTATION "eh"

#define LENGTH_64 0xffffffff /* the length follows in 8 bytes */

/* A CIE takes 20 to 40 bytes. All together bound the work on a file made of nothing else. */
#define MAX_CIE_BYTES 4096
/* One for each object file, where the linker did not merge them. */
#define MAX_CIES 65536

/* ---- pointers ---- */

static uint64_t read_raw(struct cfi_reader *r, uint8_t format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_signed:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cfi_uint(r, POINTER_SIZE);
	case DW_EH_PE_uleb128:
		return cfi_uleb(r);
	case DW_EH_PE_udata2:
		return cfi_uint(r, 2);
	case DW_EH_PE_udata4:
		return cfi_uint(r, 4);
	case DW_EH_PE_sleb128:
		return (uint64_t)cfi_sleb(r);
	case DW_EH_PE_sdata2:
		return (uint64_t)cfi_int(r, 2);
	case DW_EH_PE_sdata4:
		return (uint64_t)cfi_int(r, 4);
	default:
		cfi_fail(r);
		return 0;
	}
}

/*
 * Relative to a function (0x40) a pointer can be only inside of an entry, where
 * nobody writes one; behind an indirection (0x80) there is what the dynamic
 * linker will write.
 */
uint64_t cfi_read_pointer(const struct cfi_section *s, struct cfi_reader *r, uint8_t encoding)
{
	uint64_t here = s->vaddr + (uint64_t)(r->p - s->bytes);

	if (encoding & DW_EH_PE_indirect) {
		cfi_fail(r);
		return 0;
	}
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		return read_raw(r, encoding & 0x0f);
	case DW_EH_PE_pcrel:
		return here + read_raw(r, encoding & 0x0f);
	case DW_EH_PE_textrel:
		return s->text_vaddr + read_raw(r, encoding & 0x0f);
	case DW_EH_PE_datarel:
		return s->got_vaddr + read_raw(r, encoding & 0x0f);
	case DW_EH_PE_aligned:
		(void)cfi_skip(r, -here & (POINTER_SIZE - 1));
		return cfi_uint(r, POINTER_SIZE);
	default:
		cfi_fail(r);
		return 0;
	}
}

/* One that is of no use to us. */
static void skip_pointer(const struct cfi_section *s, struct cfi_reader *r, uint8_t encoding)
{
	if (encoding == DW_EH_PE_omit)
		return;
	(void)cfi_read_pointer(s, r, encoding & (uint8_t)~DW_EH_PE_indirect);
}

/* ---- entries of both kinds ---- */

struct entry {
	struct cfi_reader body; /* after the id */
	bool is_cie;
	uint64_t cie_offset; /* of an FDE */
};

/* Moves `*pos` behind the entry, in any case. -EBADMSG, or -ENODATA: an empty one. */
static int read_entry(const struct cfi_section *s, size_t *pos, struct entry *ret)
{
	struct cfi_reader r = { .p = s->bytes + *pos, .end = s->bytes + s->len };
	uint64_t len = cfi_uint(&r, 4), id, id_pos;
	unsigned id_size = 4;

	if (len == LENGTH_64) {
		len = cfi_uint(&r, 8);
		/* In .eh_frame the id has 4 bytes in any case. */
		id_size = s->is_eh ? 4 : 8;
	}
	if (r.bad || len > (uint64_t)(r.end - r.p)) {
		*pos = s->len;
		return -EBADMSG;
	}
	r.end = r.p + len;
	/* An empty one closes what one linker's start files have added; others may follow. */
	*pos = len == 0 && s->is_open ? s->len : (size_t)(r.end - s->bytes);
	if (len == 0)
		return -ENODATA;
	id_pos = (uint64_t)(r.p - s->bytes);
	id = cfi_uint(&r, id_size);
	if (r.bad)
		return -EBADMSG;
	if (s->is_eh) {
		ret->is_cie = id == 0;
		ret->cie_offset = id_pos - id; /* too large: before the section */
	} else {
		ret->is_cie = id == (id_size == 8 ? UINT64_MAX : UINT32_MAX);
		ret->cie_offset = id;
	}
	ret->body = r;
	return 0;
}

/* ---- CIEs ---- */

/*
 * 'z' first: the data has a length. 'P' a personality routine, 'L' the encoding
 * of each FDE's pointer to its exception table, 'R' that of its addresses, 'S' a
 * signal frame, 'B' and 'G' arm64's signed pointers and tagged stack.
 */
static int read_augmentation(struct cfi_cie *cie, struct cfi_reader *r, const char *augmentation)
{
	struct cfi_reader data;
	uint64_t len;

	if (!*augmentation || strcmp(augmentation, GCC2_AUGMENTATION) == 0)
		return 0;
	if (*augmentation != 'z')
		return -EBADMSG; /* nobody can tell where the program begins */
	cie->has_augmentation_data = true;
	len = cfi_uleb(r);
	data = *r;
	(void)cfi_skip(r, len);
	data.end = r->p;
	for (const char *c = augmentation + 1; *c; c++) {
		switch (*c) {
		case 'R':
			cie->pointer_encoding = (uint8_t)cfi_uint(&data, 1);
			break;
		case 'L':
			(void)cfi_skip(&data, 1);
			break;
		case 'P':
			skip_pointer(cie->section, &data, (uint8_t)cfi_uint(&data, 1));
			break;
		case 'S':
			cie->is_signal_frame = true;
			break;
		case 'B':
		case 'G':
			break;
		default:
			return -EBADMSG;
		}
	}
	return data.bad ? -EBADMSG : 0;
}

static int parse_cie(const struct cfi_machine *m, struct cfi_cie *cie, struct cfi_reader *r)
{
	uint8_t version = (uint8_t)cfi_uint(r, 1);
	const char *augmentation = (const char *)r->p;
	uint64_t address_size = POINTER_SIZE;
	const uint8_t *nul;

	if (version != 1 && version != 3 && version != 4)
		return -EBADMSG;
	nul = memchr(r->p, 0, (size_t)(r->end - r->p));
	if (!nul)
		return -EBADMSG;
	r->p = nul + 1;
	if (strcmp(augmentation, GCC2_AUGMENTATION) == 0)
		(void)cfi_skip(r, POINTER_SIZE);
	if (version == 4) {
		address_size = cfi_uint(r, 1);
		cie->segment_size = (uint8_t)cfi_uint(r, 1);
	}
	cie->code_align = cfi_uleb(r);
	cie->data_align = cfi_sleb(r);
	cie->ra_reg = version == 1 ? cfi_uint(r, 1) : cfi_uleb(r);
	if (read_augmentation(cie, r, augmentation) < 0 || r->bad || address_size != POINTER_SIZE ||
	    cie->segment_size > 8)
		return -EBADMSG;
	return cfi_run_initial(m, cie, r);
}

/* Kept, so that the next FDE has it at once. */
static int load_cie(struct cfi_walk *w, uint64_t offset, const struct cfi_cie **ret)
{
	struct cfi_cie *cie;
	struct entry e;
	size_t pos = offset;
	int r;

	if (offset >= w->section->len || hash_count(w->cies) >= MAX_CIES ||
	    read_entry(w->section, &pos, &e) < 0 || !e.is_cie || pos - offset > MAX_CIE_BYTES)
		return -EBADMSG;
	cie = calloc(1, sizeof(*cie));
	if (!cie)
		return -ENOMEM;
	cie->section = w->section;
	r = parse_cie(w->machine, cie, &e.body);
	if (r == 0)
		r = hash_set_u64(w->cies, offset + 1, cie);
	if (r < 0) {
		free(cie);
		return r;
	}
	*ret = cie;
	return 0;
}

static int find_cie(struct cfi_walk *w, uint64_t offset, const struct cfi_cie **ret)
{
	int r = 0;

	if (!w->last_cie || w->last_cie_offset != offset) {
		*ret = hash_get_u64(w->cies, offset + 1);
		if (!*ret)
			r = load_cie(w, offset, ret);
		if (r < 0)
			return r;
		w->last_cie = *ret;
		w->last_cie_offset = offset;
	}
	*ret = w->last_cie;
	return 0;
}

/* ---- FDEs ---- */

/* -ENODATA: of code that the linker has removed. */
static int parse_fde(struct cfi_walk *w, struct entry *e, struct cfi_fde *ret)
{
	const struct cfi_section *s = w->section;
	struct cfi_reader *r = &e->body;
	const struct cfi_cie *cie;
	uint64_t size;
	int err;

	err = find_cie(w, e->cie_offset, &cie);
	if (err < 0)
		return err;
	(void)cfi_skip(r, cie->segment_size);
	ret->start = cfi_read_pointer(s, r, cie->pointer_encoding);
	size = read_raw(r, cie->pointer_encoding & 0x0f);
	if (cie->has_augmentation_data)
		(void)cfi_skip(r, cfi_uleb(r));
	if (r->bad || __builtin_add_overflow(ret->start, size, &ret->end))
		return -EBADMSG;
	ret->cie = cie;
	ret->program = (uint32_t)(r->p - s->bytes);
	ret->program_len = (uint32_t)(r->end - r->p);
	return ret->start == 0 || size == 0 ? -ENODATA : 0;
}

int cfi_walk_init(struct cfi_walk *w, const struct cfi_machine *m, const struct cfi_section *s)
{
	*w = (struct cfi_walk){ .machine = m, .section = s };
	if (s->len > UINT32_MAX)
		return -EFBIG;
	return hash_new(&w->cies);
}

void cfi_walk_done(struct cfi_walk *w)
{
	size_t pos = 0, len;
	const void *key;
	void *cie;

	if (!w->cies)
		return;
	while (hash_next(w->cies, &pos, &key, &len, &cie))
		free(cie);
	hash_free(w->cies);
	w->cies = NULL;
}

int cfi_walk_next(struct cfi_walk *w, struct cfi_fde *ret)
{
	while (w->pos < w->section->len) {
		struct entry e;
		int r = read_entry(w->section, &w->pos, &e);

		if (r == 0 && e.is_cie)
			continue;
		if (r == 0)
			r = parse_fde(w, &e, ret);
		if (r == 0)
			return 1;
		if (r == -ENOMEM)
			return r;
		w->n_damaged += r == -EBADMSG;
	}
	return 0;
}
