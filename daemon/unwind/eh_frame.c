/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eh_frame.c - from the call frame information of an ELF file to an unwind table.
 *
 * All descriptions of code are collected, brought into the order of the file and
 * their programs run. .eh_frame comes first; .debug_frame fills what it leaves
 * (assembly code without exceptions, Go beside C).
 */
#include "eh_frame.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi_rules.h"
#include "elf_cfi.h"
#include "table_builder.h"

/* 80 MB of them. libLLVM has 95,000, libjvm 44,000. */
#define MAX_FDES (2u << 20)

/*
 * Between functions there is padding up to the next one's alignment, at most a
 * cache line. What is longer is code that nobody described.
 */
#define MAX_PADDING 64

/*
 * The dynamic linker's first instructions, and those of static programs, often
 * have no description, but nobody called them. They are few: 60 bytes in glibc.
 */
#define MAX_ENTRY_BYTES 256

/* One piece of code, by offset in the file. */
struct piece {
	uint64_t start, end;
	uint64_t vaddr; /* of the start */
	const struct cfi_cie *cie;
	uint32_t program, program_len;
};

struct maker {
	const struct cfi_machine *machine;
	struct elf_cfi elf;
	struct cfi_walk eh_walk, debug_walk;
	struct piece *pieces;
	size_t n, cap;
	uint64_t entry; /* offset in the file; 0: none */
	uint64_t entry_end;
	uint32_t flags;
	struct table_builder table;
};

/* ---- collecting ---- */

static int add_piece(struct maker *m, const struct piece *p)
{
	if (m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 1024;
		struct piece *grown = reallocarray(m->pieces, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->pieces = grown;
		m->cap = cap;
	}
	m->pieces[m->n++] = *p;
	return 0;
}

static int collect(struct maker *m, struct cfi_walk *w, const struct cfi_section *s, uint32_t flag)
{
	struct cfi_fde fde;
	uint64_t size;
	int r;

	if (s->len == 0)
		return 0;
	r = cfi_walk_init(w, m->machine, s);
	if (r < 0)
		return r;
	while ((r = cfi_walk_next(w, &fde)) > 0) {
		struct piece p = { .vaddr = fde.start,
				   .cie = fde.cie,
				   .program = fde.program,
				   .program_len = fde.program_len };

		if (!elf_cfi_offset(&m->elf, fde.start, &p.start, &size))
			continue; /* of code that the linker has removed */
		if (size > fde.end - fde.start)
			size = fde.end - fde.start;
		p.end = p.start + size;
		m->flags |= flag;
		if (m->n == MAX_FDES) {
			m->flags |= UNWIND_TABLE_CUT;
			break;
		}
		r = add_piece(m, &p);
		if (r < 0)
			return r;
	}
	if (w->n_damaged)
		m->flags |= UNWIND_TABLE_DAMAGED;
	return r < 0 ? r : 0;
}

static bool is_debug(const struct piece *p)
{
	return !p->cie->section->is_eh;
}

static int by_start(const void *pa, const void *pb)
{
	const struct piece *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (is_debug(a) != is_debug(b))
		return is_debug(a) ? 1 : -1;
	return a->program < b->program ? -1 : a->program > b->program;
}

/* Most linkers leave them in order. */
static void sort(struct maker *m)
{
	for (size_t i = 1; i < m->n; i++) {
		if (by_start(&m->pieces[i - 1], &m->pieces[i]) <= 0)
			continue;
		qsort(m->pieces, m->n, sizeof(*m->pieces), by_start);
		return;
	}
}

/*
 * Leaves at most one description for each place: of two that begin together the
 * first; else the one that begins later takes over, as in a binary search by
 * start (which is what other unwinders do), unless it is only of .debug_frame.
 */
static void untangle(struct maker *m)
{
	uint64_t eh_end = 0;
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct piece *p = &m->pieces[i], *last = n ? &m->pieces[n - 1] : NULL;

		if ((last && last->start == p->start) || (is_debug(p) && p->start < eh_end))
			continue;
		if (!is_debug(p) && eh_end < p->end)
			eh_end = p->end;
		if (last && last->end > p->start)
			last->end = p->start;
		m->pieces[n++] = *p;
	}
	m->n = n;
}

/* ---- rows ---- */

static int set_only(struct maker *m, uint64_t offset, enum unwind_cfa cfa)
{
	struct unwind_rule rule = { .cfa = (uint8_t)cfa };

	return table_builder_set(&m->table, offset, &rule);
}

static bool is_padding(uint64_t from, uint64_t to)
{
	uint64_t alignment = to & -to;

	return to - from < alignment && to - from < MAX_PADDING;
}

/* Between two descriptions; `to` is UINT64_MAX behind the last one. */
static int add_gap(struct maker *m, uint64_t from, uint64_t to)
{
	uint64_t entry_end = m->entry_end < to ? m->entry_end : to;
	int r;

	if (m->entry && m->entry >= from && m->entry < to) {
		r = set_only(m, from, UNWIND_CFA_NONE);
		if (r == 0)
			r = set_only(m, m->entry, UNWIND_CFA_END);
		if (r == 0 && entry_end < to)
			r = set_only(m, entry_end, UNWIND_CFA_NONE);
		return r;
	}
	return is_padding(from, to) ? 0 : set_only(m, from, UNWIND_CFA_NONE);
}

static int add_rows(struct maker *m, const struct piece *p)
{
	const struct cfi_fde fde = { .start = p->vaddr,
				     .end = p->vaddr + (p->end - p->start),
				     .cie = p->cie,
				     .program = p->program,
				     .program_len = p->program_len };
	const uint64_t to_offset = p->start - p->vaddr;
	struct unwind_rule rule;
	struct cfi_run run;
	int r;

	cfi_run_begin(&run, m->machine, &fde);
	while ((r = cfi_run_next(&run)) > 0) {
		cfi_rule(m->machine, run.cie, &run.state, &rule);
		r = table_builder_set(&m->table, run.start + to_offset, &rule);
		if (r < 0)
			return r;
	}
	if (r == 0)
		return 0;
	m->flags |= UNWIND_TABLE_DAMAGED;
	return set_only(m, run.start + to_offset, UNWIND_CFA_NONE);
}

static int add_all_rows(struct maker *m)
{
	uint64_t end = 0;
	int r = 0;

	for (size_t i = 0; i < m->n && r == 0; i++) {
		const struct piece *p = &m->pieces[i];

		if (p->start > end)
			r = add_gap(m, end, p->start);
		if (r == 0)
			r = add_rows(m, p);
		end = p->end;
	}
	return r == 0 && m->n > 0 ? add_gap(m, end, UINT64_MAX) : r;
}

/* ---- */

static void find_entry(struct maker *m)
{
	uint64_t size;

	if (!m->elf.entry || !elf_cfi_offset(&m->elf, m->elf.entry, &m->entry, &size))
		return;
	m->entry_end = m->entry + (size < MAX_ENTRY_BYTES ? size : MAX_ENTRY_BYTES);
}

static int make(struct maker *m, const struct elf_source *src, void **ret, size_t *ret_len)
{
	int r;

	r = elf_cfi_read(src, &m->elf);
	if (r < 0)
		return r;
	if (m->elf.machine != m->machine->elf_machine)
		return -ENOEXEC;
	if (m->elf.is_cut)
		m->flags |= UNWIND_TABLE_CUT;
	if (m->elf.is_damaged)
		m->flags |= UNWIND_TABLE_DAMAGED;
	find_entry(m);
	r = collect(m, &m->eh_walk, &m->elf.eh_frame, UNWIND_TABLE_EH_FRAME);
	if (r == 0)
		r = collect(m, &m->debug_walk, &m->elf.debug_frame, UNWIND_TABLE_DEBUG_FRAME);
	if (r < 0)
		return r;
	sort(m);
	untangle(m);
	r = add_all_rows(m);
	if (r < 0)
		return r;
	if (m->n == 0)
		m->flags |= UNWIND_TABLE_NO_CFI;
	return table_builder_finish(&m->table, m->flags, (uint32_t)m->n, ret, ret_len);
}

int eh_frame_table_of(const struct cfi_machine *machine, const struct elf_source *src, void **ret,
		      size_t *ret_len)
{
	struct maker m = { .machine = machine };
	int r = make(&m, src, ret, ret_len);

	table_builder_done(&m.table);
	free(m.pieces);
	cfi_walk_done(&m.eh_walk);
	cfi_walk_done(&m.debug_walk);
	elf_cfi_done(&m.elf);
	return r;
}

int eh_frame_table(int fd, void **ret, size_t *ret_len)
{
	const struct elf_source src = { .fd = fd };

	return eh_frame_table_of(cfi_machine_native(), &src, ret, ret_len);
}

int eh_frame_table_image(const void *image, size_t len, void **ret, size_t *ret_len)
{
	const struct elf_source src = { .fd = -1, .image = image, .len = len };

	return eh_frame_table_of(cfi_machine_native(), &src, ret, ret_len);
}
