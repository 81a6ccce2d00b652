/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_types.c - the types that a probe's expressions reach. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "dwarf_file.h"
#include "dwarf_types_impl.h"

#define MAX_DEPTH   32	 /* types in types */
#define MAX_MEMBERS 1024 /* of one struct */
#define MAX_OTHERS  64	 /* members that are not mentioned, for messages */
#define MAX_DIMS    8

int dwarf_types_load(int fd, int alt_fd, struct dwarf_types **ret)
{
	struct dwarf_types *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	r = dwarf_file_open(fd, true, &d->elf, &d->dwarf);
	if (r < 0) {
		dwarf_types_free(d);
		return r;
	}
	if (alt_fd >= 0 && dwarf_file_is_alt(fd, alt_fd) &&
	    dwarf_file_open(alt_fd, false, &d->alt_elf, &d->alt) == 0)
		dwarf_setalt(d->dwarf, d->alt);
	*ret = d;
	return 0;
}

void dwarf_types_free(struct dwarf_types *d)
{
	if (!d)
		return;
	dwarf_end(d->dwarf);
	dwarf_end(d->alt);
	elf_end(d->elf);
	elf_end(d->alt_elf);
	free(d);
}

bool dwarf_wants(const struct dwarf_walk *w, char role, const char *name)
{
	const char *words = w->probe->words;

	for (size_t at = 0; name && at < w->probe->words_len;
	     at += strnlen(words + at, w->probe->words_len - at) + 1)
		if (words[at] == role && strcmp(words + at + 1, name) == 0)
			return true;
	return false;
}

uint32_t dwarf_string(struct dwarf_walk *w, const char *s)
{
	int r = s ? probe_types_add_string(w->types, s, strlen(s)) : 0;

	if (r == -ENOMEM)
		w->error = r;
	return r < 0 ? 0 : (uint32_t)r;
}

/* ---- entries ---- */

static uint32_t add(struct dwarf_walk *w, const void *die, const struct probe_type_entry *entry)
{
	int r = probe_types_add_type(w->types, entry);

	if (r == -ENOMEM)
		w->error = r;
	if (r < 0)
		return PROBE_NO_TYPE;
	if (die && w->n_known < DWARF_KNOWN) {
		w->known[w->n_known].die = die;
		w->known[w->n_known++].index = (uint32_t)r;
	}
	return (uint32_t)r;
}

static struct probe_type_entry *entry_at(struct dwarf_walk *w, uint32_t i)
{
	return probe_types_type(w->types, i);
}

static uint64_t size_of(Dwarf_Die *die)
{
	Dwarf_Word size;

	return dwarf_aggregate_size(die, &size) == 0 && size <= INT32_MAX ? size : 0;
}

uint32_t dwarf_void(struct dwarf_walk *w)
{
	return add(w, NULL,
		   &(struct probe_type_entry){ .kind = PROBE_KIND_VOID, .target = PROBE_NO_TYPE });
}

static uint32_t base_type(struct dwarf_walk *w, Dwarf_Die *die)
{
	struct probe_type_entry e = { .kind = PROBE_KIND_INT,
				      .size = size_of(die),
				      .target = PROBE_NO_TYPE };
	const char *name = dwarf_diename(die);
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	(void)dwarf_formudata(dwarf_attr_integrate(die, DW_AT_encoding, &attr), &encoding);
	switch (encoding) {
	case DW_ATE_boolean:
		e.kind = PROBE_KIND_BOOL;
		break;
	case DW_ATE_float:
		e.kind = e.size <= 8 ? PROBE_KIND_FLOAT : PROBE_KIND_OTHER;
		break;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		e.flags = PROBE_TYPE_IS_SIGNED;
		break;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
	case DW_ATE_address:
		break;
	default:
		e.kind = PROBE_KIND_OTHER;
	}
	/* One that is called otherwise is a number: unsigned char, uint8_t. */
	if (e.size == 1 && name && (strcmp(name, "char") == 0 || strcmp(name, "char8_t") == 0))
		e.flags |= PROBE_TYPE_IS_CHAR;
	e.name = dwarf_string(w, name);
	return add(w, die->addr, &e);
}

static uint32_t enumeration(struct dwarf_walk *w, Dwarf_Die *die)
{
	struct probe_type_entry e = { .kind = PROBE_KIND_ENUM,
				      .size = size_of(die),
				      .target = PROBE_NO_TYPE };
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;
	Dwarf_Die of;

	if (dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, &of) &&
	    dwarf_peel_type(&of, &of) == 0 &&
	    dwarf_formudata(dwarf_attr_integrate(&of, DW_AT_encoding, &attr), &encoding) == 0 &&
	    (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char))
		e.flags = PROBE_TYPE_IS_SIGNED;
	e.name = dwarf_string(w, dwarf_diename(die));
	dwarf_add_constants(w, die);
	return add(w, die->addr, &e);
}

static uint32_t pointer(struct dwarf_walk *w, Dwarf_Die *die)
{
	struct probe_type_entry e = { .kind = PROBE_KIND_POINTER,
				      .size = 8,
				      .target = PROBE_NO_TYPE };
	uint32_t i = add(w, die->addr, &e), target;

	if (i == PROBE_NO_TYPE)
		return i;
	target = dwarf_hasattr_integrate(die, DW_AT_type) ? dwarf_type_of(w, die) : dwarf_void(w);
	entry_at(w, i)->target = target;
	return i;
}

/* ---- arrays ---- */

/* Of one dimension; 0: nobody knows. */
static uint32_t count_of(Dwarf_Die *subrange)
{
	Dwarf_Attribute attr;
	Dwarf_Word n;

	if (dwarf_formudata(dwarf_attr_integrate(subrange, DW_AT_count, &attr), &n) == 0)
		return n <= INT32_MAX ? (uint32_t)n : 0;
	if (dwarf_formudata(dwarf_attr_integrate(subrange, DW_AT_upper_bound, &attr), &n) == 0)
		return n < INT32_MAX ? (uint32_t)n + 1 : 0;
	return 0;
}

static uint32_t array(struct dwarf_walk *w, Dwarf_Die *die)
{
	uint32_t counts[MAX_DIMS], target, i = PROBE_NO_TYPE;
	uint64_t size;
	size_t n = 0;
	Dwarf_Die child;

	if (dwarf_child(die, &child) == 0)
		do {
			if (dwarf_tag(&child) == DW_TAG_subrange_type && n < MAX_DIMS)
				counts[n++] = count_of(&child);
		} while (dwarf_siblingof(&child, &child) == 0);
	target = dwarf_type_of(w, die);
	if (target == PROBE_NO_TYPE)
		return target;
	if (n == 0)
		counts[n++] = 0;
	while (n-- > 0) {
		size = entry_at(w, target)->size * counts[n];
		i = add(w, n == 0 ? die->addr : NULL,
			&(struct probe_type_entry){ .kind = PROBE_KIND_ARRAY,
						    .size = size <= INT32_MAX ? size : 0,
						    .target = target,
						    .count = counts[n] });
		if (i == PROBE_NO_TYPE)
			return i;
		target = i;
	}
	return i;
}

/* ---- structs ---- */

static bool number(Dwarf_Die *die, unsigned name, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr_integrate(die, name, &attr), &value) != 0)
		return false;
	*ret = value;
	return true;
}

/* DWARF 2 and 3 count bits from the other end. */
static void place_bits(Dwarf_Die *die, struct probe_member *m)
{
	uint64_t size, at, storage, bit;

	if (!number(die, DW_AT_bit_size, &size) || size == 0 || size > 64)
		return;
	if (number(die, DW_AT_data_bit_offset, &at)) {
		m->offset = at / 8;
		bit = at % 8;
	} else if (number(die, DW_AT_bit_offset, &at)) {
		if (!number(die, DW_AT_byte_size, &storage))
			storage = 4;
		bit = storage * 8 - at - size;
		m->offset += bit / 8;
		bit %= 8;
	} else {
		bit = 0;
	}
	m->bit_at = (uint8_t)bit;
	m->bit_size = (uint8_t)size;
}

static bool is_member(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	/* A static one of C++ is a variable. */
	return (tag == DW_TAG_member && !dwarf_hasattr(die, DW_AT_external)) ||
	       tag == DW_TAG_inheritance;
}

/* For a message. */
static bool is_near(const struct dwarf_walk *w, const char *name)
{
	const char *words = w->probe->words;

	for (size_t at = 0; at < w->probe->words_len;
	     at += strnlen(words + at, w->probe->words_len - at) + 1)
		if (words[at] == PROBE_WORD_MEMBER && nearest_is(words + at + 1, name))
			return true;
	return false;
}

/* All members of it that are worth it; their types come later. Returns how many. */
static uint32_t add_members(struct dwarf_walk *w, Dwarf_Die *die, Dwarf_Die *dies, bool *ret_cut)
{
	uint32_t n = 0, n_others = 0;
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return 0;
	do {
		struct probe_member m = { .type = PROBE_NO_TYPE };
		const char *name = dwarf_diename(&child);
		bool wanted = !name || dwarf_tag(&child) == DW_TAG_inheritance ||
			      dwarf_wants(w, PROBE_WORD_MEMBER, name);
		int r;

		if (!is_member(&child))
			continue;
		if (n == MAX_MEMBERS ||
		    (!wanted && n_others++ >= MAX_OTHERS && !is_near(w, name))) {
			*ret_cut = true;
			continue;
		}
		if (number(&child, DW_AT_data_member_location, &m.offset) && m.offset > INT32_MAX)
			continue;
		place_bits(&child, &m);
		if (dwarf_tag(&child) == DW_TAG_member)
			m.name = dwarf_string(w, name);
		r = probe_types_add_member(w->types, &m);
		if (r < 0)
			break;
		dies[n++] = wanted ? child : (Dwarf_Die){ 0 };
	} while (dwarf_siblingof(&child, &child) == 0);
	return n;
}

static void resolve_members(struct dwarf_walk *w, uint32_t first, uint32_t n, Dwarf_Die *dies)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t type;

		if (!dies[i].addr)
			continue;
		type = dwarf_type_of(w, &dies[i]);
		((struct probe_member *)w->types->members.data)[first + i].type = type;
	}
}

static uint32_t structure(struct dwarf_walk *w, Dwarf_Die *die)
{
	struct probe_type_entry e = { .kind = PROBE_KIND_STRUCT, .target = PROBE_NO_TYPE };
	const void *known = die->addr;
	Dwarf_Die *dies, found;
	bool is_cut = false;
	uint32_t i, first, n;

	if (dwarf_hasattr_integrate(die, DW_AT_declaration) && dwarf_diename(die) &&
	    dwarf_definition(w, dwarf_diename(die), &found))
		die = &found;
	e.size = size_of(die);
	e.name = dwarf_string(w, dwarf_diename(die));
	i = add(w, known, &e);
	dies = i != PROBE_NO_TYPE ? calloc(MAX_MEMBERS, sizeof(*dies)) : NULL;
	if (!dies)
		return i;
	first = (uint32_t)(w->types->members.len / sizeof(struct probe_member));
	n = add_members(w, die, dies, &is_cut);
	entry_at(w, i)->first = first;
	entry_at(w, i)->n = n;
	entry_at(w, i)->flags = is_cut ? PROBE_TYPE_IS_CUT : 0;
	resolve_members(w, first, n, dies);
	free(dies);
	return i;
}

/* ---- all ---- */

static uint32_t by_tag(struct dwarf_walk *w, Dwarf_Die *type)
{
	struct probe_type_entry other = { .kind = PROBE_KIND_OTHER, .target = PROBE_NO_TYPE };

	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		return base_type(w, type);
	case DW_TAG_enumeration_type:
		return enumeration(w, type);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return pointer(w, type);
	case DW_TAG_array_type:
		return array(w, type);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return structure(w, type);
	case DW_TAG_unspecified_type:
		return dwarf_void(w);
	case DW_TAG_subroutine_type:
		other.kind = PROBE_KIND_FUNCTION;
		return add(w, type->addr, &other);
	}
	other.size = size_of(type);
	return add(w, type->addr, &other);
}

uint32_t dwarf_type(struct dwarf_walk *w, Dwarf_Die *type)
{
	Dwarf_Die peeled;
	uint32_t i;
	int r = dwarf_peel_type(type, &peeled);

	if (r != 0)
		return r > 0 ? dwarf_void(w) : PROBE_NO_TYPE;
	for (unsigned k = 0; k < w->n_known; k++)
		if (w->known[k].die == peeled.addr)
			return w->known[k].index;
	if (w->depth == MAX_DEPTH)
		return PROBE_NO_TYPE;
	w->depth++;
	i = by_tag(w, &peeled);
	w->depth--;
	return i;
}

uint32_t dwarf_type_of(struct dwarf_walk *w, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr))
		return dwarf_void(w);
	return dwarf_formref_die(&attr, &type) ? dwarf_type(w, &type) : PROBE_NO_TYPE;
}

int dwarf_types_find(struct dwarf_types *d, const struct files_probe *probe,
		     struct probe_types **ret)
{
	struct dwarf_walk *w = calloc(1, sizeof(*w));
	int r = w ? probe_types_new(&w->types) : -ENOMEM;

	if (r < 0) {
		free(w);
		return r;
	}
	w->file = d;
	w->probe = probe;
	r = dwarf_find_function(w);
	/* Without it there are the file's types all the same. */
	if (r == 0 || r == -ENOENT) {
		dwarf_find_names(w);
		w->types->flags |= PROBE_TYPES_HAS_TYPES;
		r = 0;
	}
	if (w->error)
		r = w->error;
	if (r == 0)
		*ret = w->types;
	else
		probe_types_free(w->types);
	free(w);
	return r;
}
