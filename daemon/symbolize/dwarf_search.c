/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_search.c - types, constants and variables by their names. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "dwarf_types_impl.h"

#define MAX_UNITS 20000 /* looked into for one name; a browser has more */
#define MAX_DEPTH 8	/* of namespaces */
#define MAX_WORD  256

/* What a name may be of. */
enum sought { SOUGHT_TYPE, SOUGHT_DEFINITION, SOUGHT_VARIABLE, SOUGHT_CONSTANT };

static bool is_type(int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_typedef:
	case DW_TAG_base_type:
		return true;
	}
	return false;
}

static bool is_struct(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool is_enumerator(Dwarf_Die *enumeration, const char *name, Dwarf_Die *ret)
{
	if (dwarf_child(enumeration, ret) != 0)
		return false;
	do {
		const char *other = dwarf_diename(ret);

		if (dwarf_tag(ret) == DW_TAG_enumerator && other && strcmp(other, name) == 0)
			return true;
	} while (dwarf_siblingof(ret, ret) == 0);
	return false;
}

static bool is_sought(Dwarf_Die *die, enum sought sought)
{
	int tag = dwarf_tag(die);

	if (dwarf_hasattr_integrate(die, DW_AT_declaration))
		return false;
	if (sought == SOUGHT_VARIABLE)
		return tag == DW_TAG_variable && dwarf_hasattr(die, DW_AT_location);
	return sought == SOUGHT_TYPE ? is_type(tag) : is_struct(tag);
}

/* Below `parent`; `name` may have "::" in it. */
static bool find_below(Dwarf_Die *parent, const char *name, enum sought sought, unsigned depth,
		       Dwarf_Die *ret)
{
	const char *colon = strstr(name, "::");
	size_t len = colon ? (size_t)(colon - name) : strlen(name);
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *other;

		if (sought == SOUGHT_CONSTANT && tag == DW_TAG_enumeration_type) {
			if (is_enumerator(&die, name, ret))
				return true;
			continue;
		}
		if (!colon && (sought == SOUGHT_CONSTANT || !is_sought(&die, sought)))
			continue;
		other = dwarf_diename(&die);
		if (!other || strncmp(other, name, len) != 0 || other[len])
			continue;
		if (!colon) {
			*ret = die;
			return true;
		}
		if ((tag == DW_TAG_namespace || is_struct(tag)) &&
		    find_below(&die, colon + 2, sought, depth + 1, ret))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* In the function's unit, then in all. */
static bool find(struct dwarf_walk *w, const char *name, enum sought sought, Dwarf_Die *ret)
{
	Dwarf_CU *cu = NULL;
	unsigned n = 0;
	Dwarf_Die unit;

	if (w->has_unit && find_below(&w->unit, name, sought, 0, ret))
		return true;
	while (n++ < MAX_UNITS &&
	       dwarf_get_units(w->file->dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0)
		if (find_below(&unit, name, sought, 0, ret))
			return true;
	return false;
}

bool dwarf_definition(struct dwarf_walk *w, const char *name, Dwarf_Die *ret)
{
	return find(w, name, SOUGHT_DEFINITION, ret);
}

/* ---- constants ---- */

static void add_constant(struct dwarf_walk *w, Dwarf_Die *enumerator)
{
	struct probe_name n = { .type = PROBE_NO_TYPE, .is_constant = 1 };
	Dwarf_Attribute attr;
	Dwarf_Sword value;

	if (dwarf_formsdata(dwarf_attr(enumerator, DW_AT_const_value, &attr), &value) != 0)
		return;
	n.value = value;
	n.name = dwarf_string(w, dwarf_diename(enumerator));
	if (probe_types_add_name(w->types, &n) == -ENOMEM)
		w->error = -ENOMEM;
}

static bool has_name(const struct dwarf_walk *w, const char *name)
{
	for (uint32_t i = 0; i < probe_types_n_names(w->types); i++)
		if (strcmp(probe_types_string(w->types, probe_types_name(w->types, i)->name),
			   name) == 0)
			return true;
	return false;
}

void dwarf_add_constants(struct dwarf_walk *w, Dwarf_Die *enumeration)
{
	Dwarf_Die die;

	if (dwarf_child(enumeration, &die) != 0)
		return;
	do {
		const char *name = dwarf_diename(&die);

		if (dwarf_tag(&die) == DW_TAG_enumerator && dwarf_wants(w, PROBE_WORD_NAME, name) &&
		    !has_name(w, name))
			add_constant(w, &die);
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* ---- variables ---- */

static void add_variable(struct dwarf_walk *w, const char *name, Dwarf_Die *die)
{
	struct probe_value v = { .at = { .kind = PROBE_AT_PC,
					 .registers = { PROBE_NO_REGISTER, PROBE_NO_REGISTER } } };
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &ops, &n) != 0 ||
	    n != 1 || ops[0].atom != DW_OP_addr)
		return; /* of a thread, or optimized away */
	v.at.offset = (int64_t)(ops[0].number - (w->probe->vaddr + w->probe->offset));
	v.type = dwarf_type_of(w, die);
	v.name = dwarf_string(w, name);
	if (probe_types_add_value(w->types, &v) == -ENOMEM)
		w->error = -ENOMEM;
}

static bool has_value(const struct dwarf_walk *w, const char *name)
{
	for (uint32_t i = 0; i < probe_types_n_values(w->types); i++)
		if (strcmp(probe_types_string(w->types, probe_types_value(w->types, i)->name),
			   name) == 0)
			return true;
	return false;
}

/* ---- all ---- */

static bool is_own_word(const char *name)
{
	static const char *const words[] = { "retval", "pid",  "tid",	"cpu",	"uid",
					     "time",   "NULL", "false", "true", "nullptr" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], name) == 0)
			return true;
	return strncmp(name, "arg", 3) == 0 && name[3] >= '0' && name[3] <= '9';
}

static void add_type_name(struct dwarf_walk *w, const char *name, uint32_t type)
{
	struct probe_name n = { .type = type };

	n.name = dwarf_string(w, name);
	if (probe_types_add_name(w->types, &n) == -ENOMEM)
		w->error = -ENOMEM;
}

/* For a message: those of the function's unit that are called alike, of no type. */
static void offer_types(struct dwarf_walk *w, const char *name)
{
	struct nearest near = { .wanted = name };
	Dwarf_Die die;

	if (!w->has_unit || dwarf_child(&w->unit, &die) != 0)
		return;
	do {
		const char *other = is_type(dwarf_tag(&die)) ? dwarf_diename(&die) : NULL;

		if (other)
			nearest_offer(&near, other);
	} while (dwarf_siblingof(&die, &die) == 0);
	for (size_t i = 0; i < near.n; i++)
		add_type_name(w, near.names[i], PROBE_NO_TYPE);
}

static void find_type(struct dwarf_walk *w, const char *name)
{
	bool is_signed, is_char;
	uint16_t size;
	Dwarf_Die die;

	if (probe_builtin_type(name, &size, &is_signed, &is_char))
		return;
	if (find(w, name, SOUGHT_TYPE, &die))
		add_type_name(w, name, dwarf_type(w, &die));
	else if (strcmp(name, "void") != 0)
		offer_types(w, name);
}

static void find_value(struct dwarf_walk *w, const char *name)
{
	Dwarf_Die die;

	if (is_own_word(name) || has_value(w, name) || has_name(w, name))
		return;
	if (find(w, name, SOUGHT_VARIABLE, &die))
		add_variable(w, name, &die);
	else if (find(w, name, SOUGHT_CONSTANT, &die))
		add_constant(w, &die);
}

void dwarf_find_names(struct dwarf_walk *w)
{
	const struct files_probe *p = w->probe;
	size_t len;

	for (size_t at = 0; at < p->words_len; at += len + 1) {
		char word[MAX_WORD];

		len = strnlen(p->words + at, p->words_len - at);
		if (len < 2 || len > sizeof(word))
			continue;
		memcpy(word, p->words + at + 1, len - 1);
		word[len - 1] = '\0';
		if (p->words[at] == PROBE_WORD_TYPE)
			find_type(w, word);
		else if (p->words[at] == PROBE_WORD_NAME)
			find_value(w, word);
	}
}
