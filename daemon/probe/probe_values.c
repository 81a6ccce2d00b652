/* SPDX-License-Identifier: Apache-2.0 */
/* probe_values.c - types, and how values come into the registers of a probe's code. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/probe_compile_impl.h"
#include "probe/probe_registers.h"

#define DATA_LOC_OFFSET 0xffff /* the lower half; above it is the length */

bool cc_refuse(struct compiler *c, const struct probe_node *node, const char *fmt, ...)
{
	char text[PROBE_WHY_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)probe_expr_refuse(c->tree.expr, node ? node->at : 0, c->why, "%s", text);
	return false;
}

bool cc_emit(struct compiler *c, const struct probes_insn *insn)
{
	if (c->code->n + 1 >= PROBES_CODE) { /* one is for the end */
		snprintf(c->why, PROBE_WHY_LEN,
			 "it needs more than the %d instructions that a place has room for; leave "
			 "out arguments, or make two probes of it",
			 PROBES_CODE);
		c->is_whole = true;
		return false;
	}
	c->code->insns[c->code->n++] = *insn;
	return true;
}

bool cc_emit_imm(struct compiler *c, enum probes_op op, uint8_t dst, uint8_t a, int64_t imm)
{
	return cc_emit(
		c,
		&(struct probes_insn){
			.op = (uint8_t)op, .dst = dst, .a = a, .flags = PROBES_IMM, .imm = imm });
}

bool cc_emit_extend(struct compiler *c, uint8_t reg, unsigned size, bool is_signed)
{
	return size == 8 ||
	       cc_emit(c, &(struct probes_insn){ .op = PROBES_EXTEND,
						 .dst = reg,
						 .a = reg,
						 .size = (uint8_t)size,
						 .flags = is_signed ? PROBES_SIGNED : 0 });
}

bool cc_has_register(struct compiler *c, const struct probe_node *node, uint8_t reg)
{
	if (reg < PROBES_REGISTERS)
		return true;
	return cc_refuse(c, node, "this is nested too deeply; a probe has %d registers",
			 PROBES_REGISTERS);
}

/* ---- types ---- */

struct ctype ctype_of_kind(enum probe_type_kind kind, unsigned size)
{
	return (struct ctype){
		.index = PROBE_NO_TYPE,
		.own = { .kind = (uint8_t)kind, .size = size, .target = PROBE_NO_TYPE }
	};
}

struct ctype ctype_int(unsigned size, bool is_signed)
{
	struct ctype t = ctype_of_kind(PROBE_KIND_INT, size);

	t.own.flags = is_signed ? PROBE_TYPE_IS_SIGNED : 0;
	return t;
}

struct ctype ctype_in_table(uint32_t index)
{
	struct ctype t = ctype_of_kind(PROBE_KIND_VOID, 0);

	t.index = index;
	return t;
}

struct probe_type_entry cc_type(const struct compiler *c, const struct ctype *type)
{
	if (type->n_pointers)
		return (struct probe_type_entry){ .kind = PROBE_KIND_POINTER,
						  .size = 8,
						  .target = PROBE_NO_TYPE };
	if (type->index != PROBE_NO_TYPE)
		return *probe_types_type(c->types, type->index);
	return type->own;
}

bool cc_target(const struct compiler *c, const struct ctype *type, struct ctype *ret)
{
	struct probe_type_entry entry = cc_type(c, type);

	if (type->n_pointers) {
		*ret = *type;
		ret->n_pointers--;
		return true;
	}
	if ((entry.kind != PROBE_KIND_POINTER && entry.kind != PROBE_KIND_ARRAY) ||
	    entry.target == PROBE_NO_TYPE)
		return false;
	*ret = ctype_in_table(entry.target);
	return true;
}

const char *cc_type_name(const struct compiler *c, const struct ctype *type, char *dst, size_t size)
{
	static const char *const kinds[PROBE_KINDS] = {
		[PROBE_KIND_VOID] = "void",
		[PROBE_KIND_INT] = "a number",
		[PROBE_KIND_BOOL] = "a bool",
		[PROBE_KIND_FLOAT] = "a floating-point number",
		[PROBE_KIND_ENUM] = "an enum",
		[PROBE_KIND_POINTER] = "a pointer",
		[PROBE_KIND_ARRAY] = "an array",
		[PROBE_KIND_STRUCT] = "a struct",
		[PROBE_KIND_FUNCTION] = "a function",
		[PROBE_KIND_OTHER] = "something else",
	};
	struct probe_type_entry entry = cc_type(c, type);
	struct ctype target;

	if (entry.kind == PROBE_KIND_STRUCT && type->index != PROBE_NO_TYPE && entry.name)
		snprintf(dst, size, "struct %s", probe_types_string(c->types, entry.name));
	else if (entry.kind == PROBE_KIND_POINTER && cc_target(c, type, &target) &&
		 cc_type(c, &target).kind == PROBE_KIND_STRUCT)
		snprintf(dst, size, "a pointer to a struct");
	else
		snprintf(dst, size, "%s", kinds[entry.kind]);
	return dst;
}

/* ---- loads ---- */

static bool is_size(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* The bytes a bit field is in, as a size that can be loaded; 0: they are too many. */
static unsigned field_bytes(const struct cvalue *v)
{
	unsigned bits = v->bit_at + v->bit_size, size = 1;

	while (size * 8 < bits)
		size *= 2;
	return size <= 8 ? size : 0;
}

/* The instruction that loads `size` bytes of it. */
static bool fetch(struct compiler *c, const struct cvalue *v, unsigned size, bool is_signed,
		  uint8_t reg)
{
	struct probes_insn insn = { .dst = reg,
				    .a = v->reg,
				    .size = (uint8_t)size,
				    .imm = v->offset,
				    .flags = is_signed ? PROBES_SIGNED : 0 };
	unsigned at = (unsigned)v->offset % 8;

	if (v->where == CVALUE_MEMORY) {
		insn.op = PROBES_LOAD;
		insn.flags |= v->is_kernel ? PROBES_KERNEL : 0;
		return cc_emit(c, &insn);
	}
	if (v->where == CVALUE_RECORD) {
		insn.op = PROBES_FIELD;
		return cc_emit(c, &insn);
	}
	insn = (struct probes_insn){ .op = PROBES_REGISTER,
				     .dst = reg,
				     .imm = v->at.registers[v->offset / 8] };
	at = at * 8 + v->at.shift;
	return cc_emit(c, &insn) && (at == 0 || cc_emit_imm(c, PROBES_SHR, reg, reg, at)) &&
	       cc_emit_extend(c, reg, size, is_signed);
}

static bool check_pieces(struct compiler *c, const struct probe_node *node, const struct cvalue *v,
			 unsigned size)
{
	if (v->where != CVALUE_PIECES)
		return true;
	if (v->offset < 0 || v->offset >= 16 || v->offset % 8 + size > 8 ||
	    v->at.registers[v->offset / 8] == PROBE_NO_REGISTER)
		return cc_refuse(c, node,
				 "this part is in a register of floating-point numbers, which a "
				 "probe cannot read");
	return true;
}

static bool load_bits(struct compiler *c, const struct probe_node *node, struct cvalue *v,
		      bool is_signed, uint8_t reg)
{
	unsigned size = field_bytes(v);
	struct probes_insn shift = { .op = PROBES_SHR,
				     .dst = reg,
				     .a = reg,
				     .imm = 64 - v->bit_size,
				     .flags = (uint8_t)(PROBES_IMM |
							(is_signed ? PROBES_SIGNED : 0)) };

	if (!size)
		return cc_refuse(c, node, "this bit field lies across more than 8 bytes");
	return check_pieces(c, node, v, size) && fetch(c, v, size, false, reg) &&
	       cc_emit_imm(c, PROBES_SHL, reg, reg, 64 - v->bit_at - v->bit_size) &&
	       cc_emit(c, &shift);
}

/* An array is the address of its first element. */
static bool load_array(struct compiler *c, const struct probe_node *node, struct cvalue *v,
		       uint8_t reg)
{
	struct ctype element;

	if (!cc_target(c, &v->type, &element))
		return cc_refuse(c, node, "nothing is known of what is in this array");
	if (!cc_address(c, node, v, reg))
		return false;
	v->type = element;
	v->type.n_pointers++;
	return true;
}

bool cc_load(struct compiler *c, const struct probe_node *node, struct cvalue *v, uint8_t reg)
{
	struct probe_type_entry type = cc_type(c, &v->type);
	bool is_signed = type.flags & PROBE_TYPE_IS_SIGNED;

	if (v->where == CVALUE_LITERAL)
		return cc_refuse(c, node, "a string can only be compared with: str(p) == \"text\"");
	if (v->where == CVALUE_STRING)
		return cc_refuse(c, node, "this is a string, and here a number is expected");
	if (type.kind == PROBE_KIND_STRUCT)
		return cc_refuse(c, node,
				 "this is a struct; name a member of it, or write & before "
				 "it for its address");
	if (v->where == CVALUE_CONSTANT || v->where == CVALUE_REGISTER)
		return true;
	if (!cc_has_register(c, node, reg))
		return false;
	if (type.kind == PROBE_KIND_ARRAY)
		return load_array(c, node, v, reg);
	if (type.kind == PROBE_KIND_VOID || type.kind == PROBE_KIND_OTHER || !is_size(type.size))
		return cc_refuse(c, node,
				 "this has %llu bytes and is no number; a probe can read those of "
				 "1, 2, 4 and 8",
				 (unsigned long long)type.size);
	if (v->bit_size ? !load_bits(c, node, v, is_signed, reg)
			: !check_pieces(c, node, v, (unsigned)type.size) ||
				  !fetch(c, v, (unsigned)type.size, is_signed, reg))
		return false;
	v->where = CVALUE_REGISTER;
	v->reg = reg;
	return true;
}

bool cc_load_register(struct compiler *c, const struct probe_node *node, struct cvalue *v,
		      uint8_t reg)
{
	if (!cc_load(c, node, v, reg))
		return false;
	if (v->where == CVALUE_CONSTANT) {
		if (!cc_has_register(c, node, reg) ||
		    !cc_emit_imm(c, PROBES_CONST, reg, 0, (int64_t)v->number))
			return false;
		v->where = CVALUE_REGISTER;
		v->reg = reg;
	}
	return true;
}

bool cc_address(struct compiler *c, const struct probe_node *node, struct cvalue *v, uint8_t reg)
{
	if (!cc_has_register(c, node, reg))
		return false;
	if (v->bit_size)
		return cc_refuse(c, node, "a bit field has no address");
	if (v->where == CVALUE_MEMORY) {
		if (v->offset && !cc_emit_imm(c, PROBES_ADD, reg, v->reg, v->offset))
			return false;
	} else if (v->where == CVALUE_RECORD && c->place->kind == PROBE_TRACEPOINT) {
		if (!cc_emit_imm(c, PROBES_RECORD, reg, 0, v->offset))
			return false;
		v->is_kernel = true;
	} else {
		return cc_refuse(c, node, "this has no address: it is not in memory");
	}
	v->where = CVALUE_REGISTER;
	v->reg = reg;
	v->offset = 0;
	v->type.n_pointers++;
	return true;
}

/* ---- places ---- */

static bool place_nowhere(struct compiler *c, const struct probe_node *node, int64_t reason)
{
	if (reason == PROBE_IN_VECTOR)
		return cc_refuse(c, node,
				 "%s is in a register of floating-point numbers, which a probe "
				 "cannot read",
				 probe_node_text(&c->tree, node));
	return cc_refuse(c, node, "where %s is here cannot be told: it was optimized away",
			 probe_node_text(&c->tree, node));
}

/* The address is computed, but for an offset. */
static bool place_memory(struct compiler *c, const struct probe_location *at, uint8_t reg)
{
	struct probes_insn add = {
		.op = PROBES_ADD, .dst = reg, .a = reg, .b = (uint8_t)(reg + 1)
	};

	if (at->registers[0] == PROBE_NO_REGISTER) {
		if (!cc_emit_imm(c, PROBES_CONST, reg, 0, 0))
			return false;
	} else if (!cc_emit(c, &(struct probes_insn){ .op = PROBES_REGISTER,
						      .dst = reg,
						      .imm = at->registers[0] })) {
		return false;
	}
	if (at->registers[1] == PROBE_NO_REGISTER)
		return true;
	return cc_emit(c, &(struct probes_insn){ .op = PROBES_REGISTER,
						 .dst = add.b,
						 .imm = at->registers[1] }) &&
	       (at->shift == 0 || cc_emit_imm(c, PROBES_SHL, add.b, add.b, at->shift)) &&
	       cc_emit(c, &add);
}

static bool place_data_loc(struct compiler *c, const struct probe_location *at, uint8_t reg)
{
	struct probes_insn add = {
		.op = PROBES_ADD, .dst = reg, .a = reg, .b = (uint8_t)(reg + 1)
	};

	return cc_emit(c,
		       &(struct probes_insn){
			       .op = PROBES_FIELD, .dst = reg, .size = 4, .imm = at->offset }) &&
	       cc_emit_imm(c, PROBES_AND, reg, reg, DATA_LOC_OFFSET) &&
	       cc_emit_imm(c, PROBES_RECORD, add.b, 0, 0) && cc_emit(c, &add);
}

bool cc_place(struct compiler *c, const struct probe_node *node, const struct probe_location *at,
	      struct ctype type, struct cvalue *ret, uint8_t reg)
{
	struct probe_location pc = { .registers = { probe_arch_pc(PROBE_ARCH),
						    PROBE_NO_REGISTER } };

	*ret = (struct cvalue){ .type = type,
				.reg = reg,
				.at = *at,
				.offset = at->offset,
				.is_kernel = c->is_kernel,
				.where = CVALUE_MEMORY };
	switch (at->kind) {
	case PROBE_AT_REGISTERS:
		ret->where = CVALUE_PIECES;
		ret->offset = 0;
		return true;
	case PROBE_AT_CONSTANT:
		ret->where = CVALUE_CONSTANT;
		ret->number = (uint64_t)at->offset;
		return true;
	case PROBE_AT_FIELD:
		ret->where = CVALUE_RECORD;
		return true;
	case PROBE_AT_NOTHING:
		return place_nowhere(c, node, at->offset);
	}
	if (!cc_has_register(c, node, (uint8_t)(reg + 1)))
		return false;
	if (at->kind == PROBE_AT_MEMORY)
		return place_memory(c, at, reg);
	if (at->kind == PROBE_AT_PC)
		return place_memory(c, &pc, reg);
	ret->offset = 0;
	ret->is_kernel = true;
	return place_data_loc(c, at, reg);
}
