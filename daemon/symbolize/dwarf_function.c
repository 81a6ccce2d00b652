/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_function.c - the function of a probe: its parameters and variables, and where they are. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf_abi.h"
#include "dwarf_types_impl.h"
#include "probe/probe_registers.h"

#define MAX_DEPTH 64

static const struct probe_location nowhere = {
	.kind = PROBE_AT_NOTHING, .registers = { PROBE_NO_REGISTER, PROBE_NO_REGISTER }
};

/* ---- where it is ---- */

static uint64_t place_of(const struct dwarf_walk *w)
{
	return w->probe->vaddr + w->probe->offset;
}

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

/* A function that has the place in it. */
static bool find_below(Dwarf_Die *parent, uint64_t vaddr, unsigned depth, Dwarf_Die *ret)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram && dwarf_haspc(&die, vaddr) > 0) {
			*ret = die;
			return true;
		}
		if (may_hold_functions(tag) && dwarf_haschildren(&die) > 0 &&
		    find_below(&die, vaddr, depth + 1, ret))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool find_function(struct dwarf_walk *w, Dwarf_Die *ret)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (dwarf_get_units(w->file->dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		/* Of what is written in assembler nothing is said but that it is there. */
		if (dwarf_srclang(&unit) == DW_LANG_Mips_Assembler ||
		    dwarf_haspc(&unit, place_of(w)) <= 0)
			continue;
		w->unit = unit;
		w->has_unit = true;
		if (find_below(&unit, place_of(w), 0, ret))
			return true;
	}
	return false;
}

/* ---- locations ---- */

static uint16_t whole_register(unsigned number, struct probe_location *ret)
{
	uint16_t reg = probe_register_dwarf(PROBE_ARCH, number);

	if (reg == PROBE_NO_REGISTER && ret)
		ret->offset = PROBE_IN_VECTOR;
	return reg;
}

/* A register; then `*ret_number` is which. */
static bool is_register(const Dwarf_Op *op, unsigned *ret_number)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*ret_number = op->atom - DW_OP_reg0;
	else if (op->atom == DW_OP_regx && op->number < 256)
		*ret_number = (unsigned)op->number;
	else
		return false;
	return true;
}

static bool is_based(const Dwarf_Op *op, unsigned *ret_number, int64_t *ret_offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*ret_number = op->atom - DW_OP_breg0;
		*ret_offset = (int64_t)op->number;
		return true;
	}
	*ret_number = (unsigned)op->number;
	*ret_offset = (int64_t)op->number2;
	return op->atom == DW_OP_bregx && op->number < 256;
}

/* The address that call frame information gives to the frame, as register and offset. */
static bool frame_address(const struct dwarf_walk *w, unsigned *ret_number, int64_t *ret_offset)
{
	Dwarf_CFI *cfi = dwarf_getcfi_elf(w->file->elf);
	Dwarf_Frame *frame = NULL;
	bool found = false;
	Dwarf_Op *ops;
	size_t n;

	if (!cfi || dwarf_cfi_addrframe(cfi, place_of(w), &frame) != 0) {
		cfi = dwarf_getcfi(w->file->dwarf);
		if (!cfi || dwarf_cfi_addrframe(cfi, place_of(w), &frame) != 0)
			return false;
	}
	/* A register and an offset, with or without a stack's last word on it. */
	if (dwarf_frame_cfa(frame, &ops, &n) == 0 && n >= 1)
		found = is_based(&ops[0], ret_number, ret_offset) &&
			(n == 1 || (n == 2 && ops[1].atom == DW_OP_stack_value));
	free(frame);
	return found;
}

static bool frame_base(const struct dwarf_walk *w, Dwarf_Die *function, unsigned *ret_number,
		       int64_t *ret_offset)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, place_of(w), &ops, &n, 1) != 1 || n != 1)
		return false;
	*ret_offset = 0;
	if (ops[0].atom == DW_OP_call_frame_cfa)
		return frame_address(w, ret_number, ret_offset);
	return is_register(&ops[0], ret_number) || is_based(&ops[0], ret_number, ret_offset);
}

/* Two registers, 8 bytes in each. */
static bool in_pieces(const Dwarf_Op *ops, size_t n, struct probe_location *ret)
{
	unsigned number, n_pieces = 0;

	for (size_t i = 0; i < n; i++) {
		if (n_pieces == 2)
			return false;
		if (ops[i].atom != DW_OP_piece) {
			if (i + 1 == n || !is_register(&ops[i], &number))
				return false;
			ret->registers[n_pieces] = whole_register(number, NULL);
			i++;
		}
		if (ops[i].atom != DW_OP_piece || (ops[i].number != 8 && i + 1 < n))
			return false;
		n_pieces++;
	}
	ret->kind = PROBE_AT_REGISTERS;
	return n_pieces > 0;
}

static void on_frame(const struct dwarf_walk *w, Dwarf_Die *function, int64_t offset,
		     struct probe_location *ret)
{
	int64_t base = 0;
	unsigned number;

	if (!frame_base(w, function, &number, &base))
		return;
	ret->registers[0] = whole_register(number, NULL);
	if (ret->registers[0] == PROBE_NO_REGISTER)
		return;
	ret->kind = PROBE_AT_MEMORY;
	ret->offset = base + offset;
}

/* One operation, perhaps with a "that is the value" behind it. */
static void by_operation(const struct dwarf_walk *w, Dwarf_Die *function, const Dwarf_Op *op,
			 bool is_value, struct probe_location *ret)
{
	unsigned number;
	int64_t offset;

	if (is_register(op, &number)) {
		ret->registers[0] = whole_register(number, ret);
		if (ret->registers[0] != PROBE_NO_REGISTER)
			ret->kind = PROBE_AT_REGISTERS;
	} else if (is_based(op, &number, &offset)) {
		ret->registers[0] = whole_register(number, NULL);
		if (ret->registers[0] == PROBE_NO_REGISTER || (is_value && offset))
			return;
		ret->kind = is_value ? PROBE_AT_REGISTERS : PROBE_AT_MEMORY;
		ret->offset = offset;
	} else if (is_value) {
		ret->kind = PROBE_AT_CONSTANT;
		if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
			ret->offset = op->atom - DW_OP_lit0;
		else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
			ret->offset = (int64_t)op->number;
		else
			ret->kind = PROBE_AT_NOTHING;
	} else if (op->atom == DW_OP_fbreg) {
		on_frame(w, function, (int64_t)op->number, ret);
	} else if (op->atom == DW_OP_addr) {
		ret->kind = PROBE_AT_PC;
		ret->offset = (int64_t)(op->number - place_of(w));
	}
}

static void by_dwarf(const struct dwarf_walk *w, Dwarf_Die *function, Dwarf_Die *variable,
		     struct probe_location *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Sword value;
	Dwarf_Op *ops;
	size_t n;

	*ret = nowhere;
	if (dwarf_formsdata(dwarf_attr_integrate(variable, DW_AT_const_value, &attr), &value) ==
	    0) {
		ret->kind = PROBE_AT_CONSTANT;
		ret->offset = value;
		return;
	}
	if (!dwarf_attr_integrate(variable, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, place_of(w), &ops, &n, 1) != 1 || n == 0)
		return;
	if (n == 1)
		by_operation(w, function, &ops[0], false, ret);
	else if (n == 2 && ops[1].atom == DW_OP_stack_value)
		by_operation(w, function, &ops[0], true, ret);
	else if (!in_pieces(ops, n, ret))
		*ret = nowhere;
}

/* ---- parameters ---- */

/* Where the convention of C does not say where they are. */
static bool is_unconventional(const struct dwarf_walk *w)
{
	static const char *const clones[] = { ".constprop.", ".isra.", ".part." };

	for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++)
		if (strstr(w->probe->symbol, clones[i]))
			return true;
	return w->has_unit && dwarf_srclang((Dwarf_Die *)&w->unit) == DW_LANG_Go;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, ret);
}

/*
 * Optimized code says where they are when it begins; other code speaks of the stack, where
 * they are not yet.
 */
static void place_parameter(const struct dwarf_walk *w, Dwarf_Die *function, Dwarf_Die *die,
			    const struct probe_location *by_abi, struct probe_location *ret)
{
	by_dwarf(w, function, die, ret);
	if (w->probe->offset || (w->probe->flags & FILES_PROBE_USDT) ||
	    ret->kind == PROBE_AT_REGISTERS)
		return;
	*ret = is_unconventional(w) ? nowhere : *by_abi;
}

static void add_parameter(struct dwarf_walk *w, Dwarf_Die *function, Dwarf_Die *die,
			  struct dwarf_abi *abi)
{
	struct probe_value v = { .name = dwarf_string(w, dwarf_diename(die)) };
	struct probe_location by_abi;
	Dwarf_Die type;
	bool has_type = type_of(die, &type);

	dwarf_abi_next(abi, has_type ? &type : NULL, &by_abi);
	place_parameter(w, function, die, &by_abi, &v.at);
	v.type = has_type ? dwarf_type(w, &type) : PROBE_NO_TYPE;
	if (probe_types_add_value(w->types, &v) >= 0)
		w->types->n_args++;
}

static void add_parameters(struct dwarf_walk *w, Dwarf_Die *function)
{
	struct dwarf_abi abi = { .by_reference = dwarf_srclang(&w->unit) == DW_LANG_Rust };
	Dwarf_Die die, type;

	dwarf_abi_begin(&abi, type_of(function, &type) ? &type : NULL);
	if (dwarf_child(function, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_formal_parameter)
			add_parameter(w, function, &die, &abi);
		else if (tag == DW_TAG_unspecified_parameters)
			w->types->flags |= PROBE_TYPES_VARIADIC;
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void add_return(struct dwarf_walk *w, Dwarf_Die *function)
{
	struct probe_value v = { 0 };
	bool is_address;
	Dwarf_Die type;
	int r;

	if (!type_of(function, &type))
		return;
	dwarf_abi_return(&type, &v.at, &is_address);
	v.type = dwarf_type(w, &type);
	r = probe_types_add_value(w->types, &v);
	if (r >= 0)
		w->types->retval = (uint32_t)r;
}

/* ---- variables ---- */

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Those of the blocks around the place, inner ones first. */
static void add_locals(struct dwarf_walk *w, Dwarf_Die *function, Dwarf_Die *block, unsigned depth)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(block, &die) != 0)
		return;
	do {
		if (is_block(dwarf_tag(&die)) && dwarf_haspc(&die, place_of(w)) > 0)
			add_locals(w, function, &die, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
	if (dwarf_child(block, &die) != 0)
		return;
	do {
		const char *name = dwarf_diename(&die);
		struct probe_value v = { 0 };
		int tag = dwarf_tag(&die);

		if ((tag != DW_TAG_variable &&
		     (tag != DW_TAG_formal_parameter || !(w->probe->flags & FILES_PROBE_USDT))) ||
		    !dwarf_wants(w, PROBE_WORD_NAME, name))
			continue;
		by_dwarf(w, function, &die, &v.at);
		v.type = dwarf_type_of(w, &die);
		v.name = dwarf_string(w, name);
		(void)probe_types_add_value(w->types, &v);
	} while (dwarf_siblingof(&die, &die) == 0);
}

int dwarf_find_function(struct dwarf_walk *w)
{
	bool is_usdt = w->probe->flags & FILES_PROBE_USDT;
	Dwarf_Die function;

	if (!find_function(w, &function))
		return -ENOENT;
	if (!is_usdt) {
		add_parameters(w, &function);
		add_return(w, &function);
		w->types->flags |= PROBE_TYPES_FUNCTION;
		w->types->function = dwarf_string(w, w->probe->symbol);
	}
	if (is_usdt || w->probe->offset)
		add_locals(w, &function, &function, 0);
	if (!is_usdt && !w->probe->offset)
		w->types->flags |= PROBE_TYPES_AT_ENTRY;
	return w->error;
}
