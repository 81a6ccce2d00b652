/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_types_impl.h - shared by dwarf_types.c (the graph of types), dwarf_search.c (what has
 * a name) and dwarf_function.c (the function and its variables).
 */
#ifndef DWARF_TYPES_IMPL_H
#define DWARF_TYPES_IMPL_H

#include <elfutils/libdw.h>

#include "dwarf_types.h"
#include "files_protocol.h"
#include "probe/probe_expr.h"

#define DWARF_KNOWN 1024

struct dwarf_types {
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt;
};

/* One answer in the making. */
struct dwarf_walk {
	const struct dwarf_types *file;
	const struct files_probe *probe;
	struct probe_types *types;
	Dwarf_Die unit; /* of the function */
	bool has_unit;
	unsigned depth;
	int error; /* of memory; what is only too much is left out */
	struct {
		const void *die;
		uint32_t index;
	} known[DWARF_KNOWN];
	unsigned n_known;
};

/* Whether the expressions mention it as such. */
bool dwarf_wants(const struct dwarf_walk *w, char role, const char *name);
uint32_t dwarf_string(struct dwarf_walk *w, const char *s);
/* The type that `die` (a member, a variable, a typedef) is of; PROBE_NO_TYPE: there is no room. */
uint32_t dwarf_type_of(struct dwarf_walk *w, Dwarf_Die *die);
/* The same of a type itself. */
uint32_t dwarf_type(struct dwarf_walk *w, Dwarf_Die *type);
uint32_t dwarf_void(struct dwarf_walk *w);

/* ---- dwarf_search.c ---- */

/* What is declared without its content in one unit, and has it in another. */
bool dwarf_definition(struct dwarf_walk *w, const char *name, Dwarf_Die *ret);
/* The types that casts name; constants and variables of the program. */
void dwarf_find_names(struct dwarf_walk *w);
void dwarf_add_constants(struct dwarf_walk *w, Dwarf_Die *enumeration);

/* ---- dwarf_function.c ---- */

int dwarf_find_function(struct dwarf_walk *w);

#endif
