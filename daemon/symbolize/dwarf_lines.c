/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_lines.c - from an address to inlined functions and their source lines.
 *
 * A list of the units by address is made at once, from their heads; the
 * functions of a unit when the first address in it is asked for. libdw's own
 * search goes through the tree from its root each time.
 */
#include "dwarf_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdw.h>

#include "base/buf.h"
#include "dwarf_file.h"

/* How deep functions lie in namespaces, types and each other. */
#define MAX_DEPTH 64

/* As in elf_symbols.c: ranges that lie inside each other. */
#define MAX_NESTING 64

struct range {
	uint64_t lo, hi;
	uint64_t reach; /* the largest hi up to here */
	Dwarf_Off die;
	size_t unit; /* index; of a unit's range only */
};

struct ranges {
	struct buf items; /* struct range */
};

struct unit {
	Dwarf_Die die;
	bool is_indexed;
	struct ranges functions;
};

struct dwarf_lines {
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt;
	struct buf units;     /* struct unit */
	struct ranges ranges; /* of the units */
};

/* ---- ranges ---- */

static size_t n_ranges(const struct ranges *rs)
{
	return rs->items.len / sizeof(struct range);
}

static int add_range(struct ranges *rs, const struct range *range)
{
	/* What the linker has thrown away starts at 0, or ends before it starts. */
	if (range->lo == 0 || range->lo >= range->hi)
		return 0;
	return buf_append(&rs->items, range, sizeof(*range));
}

/* All ranges of a unit or function. */
static int add_ranges(struct ranges *rs, Dwarf_Die *die, size_t unit)
{
	struct range range = { .die = dwarf_dieoffset(die), .unit = unit };
	Dwarf_Addr base = 0, lo, hi;
	ptrdiff_t at = 0;
	int r = 0;

	while (r == 0 && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		range.lo = lo;
		range.hi = hi;
		r = add_range(rs, &range);
	}
	return r;
}

/* Outer ones first. */
static int by_start(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi > b->hi ? -1 : 1;
	return a->die < b->die ? -1 : a->die > b->die;
}

static void sort_ranges(struct ranges *rs)
{
	struct range *list = (struct range *)rs->items.data;
	size_t n = n_ranges(rs);
	uint64_t reach = 0;

	if (n > 0)
		qsort(list, n, sizeof(*list), by_start);
	for (size_t i = 0; i < n; i++) {
		if (reach < list[i].hi)
			reach = list[i].hi;
		list[i].reach = reach;
	}
}

/* The innermost one, or NULL. */
static const struct range *find_range(const struct ranges *rs, uint64_t addr)
{
	const struct range *list = (const struct range *)rs->items.data;
	size_t lo = 0, hi = n_ranges(rs);

	while (lo < hi) { /* the first one beyond addr */
		size_t mid = lo + (hi - lo) / 2;

		if (list[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t n = 0; lo > 0 && n < MAX_NESTING; n++) {
		const struct range *range = &list[--lo];

		if (range->reach <= addr)
			return NULL;
		if (range->hi > addr)
			return range;
	}
	return NULL;
}

/* ---- opening ---- */

static struct unit *unit_at(const struct dwarf_lines *d, size_t i)
{
	return (struct unit *)d->units.data + i;
}

static size_t n_units(const struct dwarf_lines *d)
{
	return d->units.len / sizeof(struct unit);
}

static int add_unit(struct dwarf_lines *d, const Dwarf_Die *die)
{
	struct unit unit = { .die = *die };
	int r = buf_append(&d->units, &unit, sizeof(unit));

	return r < 0 ? r : add_ranges(&d->ranges, &unit.die, n_units(d) - 1);
}

static int index_units(struct dwarf_lines *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	int r = 0;

	/* Not the units split off into other files: libdw would look for those. */
	while (r == 0 && dwarf_get_units(d->dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit)
			r = add_unit(d, &die);
	}
	if (r == 0)
		sort_ranges(&d->ranges);
	return r;
}

int dwarf_lines_load(int fd, int alt_fd, struct dwarf_lines **ret)
{
	struct dwarf_lines *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	r = dwarf_file_open(fd, false, &d->elf, &d->dwarf);
	if (r < 0)
		goto fail;
	if (alt_fd >= 0 && dwarf_file_is_alt(fd, alt_fd) &&
	    dwarf_file_open(alt_fd, false, &d->alt_elf, &d->alt) == 0)
		dwarf_setalt(d->dwarf, d->alt);
	r = index_units(d);
	if (r < 0)
		goto fail;
	*ret = d;
	return 0;

fail:
	dwarf_lines_free(d);
	return r;
}

void dwarf_lines_free(struct dwarf_lines *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < n_units(d); i++)
		buf_done(&unit_at(d, i)->functions.items);
	buf_done(&d->units);
	buf_done(&d->ranges.items);
	dwarf_end(d->dwarf);
	dwarf_end(d->alt);
	elf_end(d->elf);
	elf_end(d->alt_elf);
	free(d);
}

/* ---- the functions of a unit ---- */

/* What functions lie in: Rust has them in types, some languages in each other. */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return true;
	}
	return false;
}

static int add_functions(struct unit *u, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int r = 0, more;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			r = add_ranges(&u->functions, &die, 0);
		if (r == 0 && may_hold_functions(tag) && dwarf_haschildren(&die) > 0)
			r = add_functions(u, &die, depth + 1);
		more = dwarf_siblingof(&die, &die);
	} while (r == 0 && more == 0);
	return r;
}

/* Without memory for them there are none. */
static void index_unit(struct unit *u)
{
	if (u->is_indexed)
		return;
	u->is_indexed = true;
	if (add_functions(u, &u->die, 0) < 0)
		u->functions.items.len = 0;
	sort_ranges(&u->functions);
}

/* ---- one address ---- */

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* The child of `*die` that `vaddr` lies in becomes `*die`. False: there is none. */
static bool go_down(Dwarf_Die *die, uint64_t vaddr)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return false;
	do {
		if (is_block(dwarf_tag(&child)) && dwarf_haspc(&child, vaddr) > 0) {
			*die = child;
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* The function and what is inlined at `vaddr`, outermost first. */
static size_t find_scopes(struct dwarf_lines *d, struct unit *u, uint64_t vaddr,
			  Dwarf_Die scopes[DWARF_MAX_FRAMES])
{
	const struct range *function = find_range(&u->functions, vaddr);
	unsigned depth = 0;
	Dwarf_Die die;
	size_t n = 0;

	if (!function || !dwarf_offdie(d->dwarf, function->die, &die))
		return 0;
	do {
		if (n == 0 || dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			scopes[n++] = die;
	} while (n < DWARF_MAX_FRAMES && depth++ < 4 * MAX_DEPTH && go_down(&die, vaddr));
	return n;
}

static const char *function_name(Dwarf_Die *die)
{
	static const unsigned linkage[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attr;
	const char *name;

	for (size_t i = 0; i < 2; i++) {
		if (!dwarf_attr_integrate(die, linkage[i], &attr))
			continue;
		name = dwarf_formstring(&attr);
		if (name && *name)
			return name;
	}
	return dwarf_diename(die);
}

/* Where `inlined` was called. */
static void call_place(struct unit *u, Dwarf_Die *inlined, struct dwarf_frame *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word value;
	size_t n_files;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &value) == 0 &&
	    value <= UINT32_MAX)
		ret->line = (uint32_t)value;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &value) == 0 &&
	    dwarf_getsrcfiles(&u->die, &files, &n_files) == 0 && value < n_files)
		ret->file = dwarf_filesrc(files, value, NULL, NULL);
}

static void own_place(struct unit *u, uint64_t vaddr, struct dwarf_frame *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, vaddr);
	int number;

	if (!line)
		return;
	ret->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		ret->line = (uint32_t)number;
}

size_t dwarf_lines_find(struct dwarf_lines *d, uint64_t vaddr,
			struct dwarf_frame frames[DWARF_MAX_FRAMES])
{
	const struct range *range = find_range(&d->ranges, vaddr);
	Dwarf_Die scopes[DWARF_MAX_FRAMES];
	struct unit *u;
	size_t n;

	if (!range)
		return 0;
	u = unit_at(d, range->unit);
	index_unit(u);
	n = find_scopes(d, u, vaddr, scopes);
	frames[0] = (struct dwarf_frame){ 0 };
	own_place(u, vaddr, &frames[0]);
	if (n == 0)
		return frames[0].file ? 1 : 0;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Die *scope = &scopes[n - 1 - i];

		frames[i].function = function_name(scope);
		if (i + 1 < n) {
			frames[i + 1] = (struct dwarf_frame){ 0 };
			call_place(u, scope, &frames[i + 1]);
		}
	}
	return n;
}
