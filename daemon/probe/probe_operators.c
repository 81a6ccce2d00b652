/* SPDX-License-Identifier: Apache-2.0 */
/* probe_operators.c - the operators of a probe's expressions. */
#include <stdio.h>
#include <string.h>

#include "probe/probe_compile_impl.h"
#include "probes_numbers.h"

static const struct probe_node *node_at(const struct compiler *c, uint8_t i)
{
	return &c->tree.nodes[i];
}

/* ---- numbers ---- */

static bool is_comparison(uint8_t code)
{
	return code >= PROBES_EQ && code <= PROBES_GE;
}

/* Of numbers shorter than 8 bytes all values are those of a signed one of 8. */
static bool is_unsigned(const struct compiler *c, const struct cvalue *v)
{
	struct probe_type_entry type = cc_type(c, &v->type);

	return type.size == 8 && !(type.flags & PROBE_TYPE_IS_SIGNED);
}

/*
 * A negative number and one that is never negative: what C makes of it where that has a
 * meaning, else a mistake.
 */
static bool check_sign(struct compiler *c, const struct probe_node *node, const struct cvalue *v,
		       struct cvalue *number)
{
	struct probe_type_entry type = cc_type(c, &v->type);
	bool is_signed = type.flags & PROBE_TYPE_IS_SIGNED;

	if (!is_comparison(node->code) || number->where != CVALUE_CONSTANT ||
	    (int64_t)number->number >= 0 || is_unsigned(c, number) || is_signed)
		return true;
	if (v->where == CVALUE_CONSTANT)
		return true;
	if ((node->code == PROBES_EQ || node->code == PROBES_NE) && type.size >= 4) {
		if (type.size == 4)
			number->number = (uint32_t)number->number;
		return true;
	}
	return cc_refuse(
		c, node,
		"this compares with a negative number what is never negative; write (long) "
		"or (int) before it to take it as signed");
}

static bool is_pointer(const struct compiler *c, const struct cvalue *v)
{
	return cc_type(c, &v->type).kind == PROBE_KIND_POINTER;
}

/* The bytes that a pointer moves by one; 0: nobody knows. */
static uint64_t stride(const struct compiler *c, const struct ctype *type)
{
	struct ctype target;

	if (!cc_target(c, type, &target))
		return 0;
	if (cc_type(c, &target).kind == PROBE_KIND_VOID)
		return 1;
	return cc_type(c, &target).size;
}

static bool scale(struct compiler *c, const struct probe_node *node, struct cvalue *v, uint64_t by)
{
	if (by == 0)
		return cc_refuse(c, node, "how large what this points to is, is not known");
	if (v->where == CVALUE_CONSTANT) {
		v->number *= by;
		return true;
	}
	return by == 1 || cc_emit_imm(c, PROBES_MUL, v->reg, v->reg, (int64_t)by);
}

/* left op right, both loaded, into `reg`. */
static bool emit_binary(struct compiler *c, const struct probe_node *node, struct cvalue *left,
			struct cvalue *right, bool is_signed, uint8_t reg)
{
	struct probes_insn insn = { .op = node->code,
				    .dst = reg,
				    .flags = is_signed ? PROBES_SIGNED : 0 };

	if (left->where == CVALUE_CONSTANT && right->where == CVALUE_CONSTANT) {
		left->number = probes_calculate(node->code, left->number, right->number, is_signed);
		return true;
	}
	if (!cc_load_register(c, node, left, reg))
		return false;
	insn.a = left->reg;
	if (right->where == CVALUE_CONSTANT) {
		insn.flags |= PROBES_IMM;
		insn.imm = (int64_t)right->number;
	} else {
		insn.b = right->reg;
	}
	left->reg = reg;
	return cc_emit(c, &insn);
}

/* Pointers move by what they point to; the difference of two counts that. */
static bool pointer_arithmetic(struct compiler *c, const struct probe_node *node,
			       struct cvalue *left, struct cvalue *right, uint8_t reg)
{
	uint64_t by = stride(c, is_pointer(c, left) ? &left->type : &right->type);
	struct ctype type = is_pointer(c, left) ? left->type : right->type;

	if (is_pointer(c, left) && is_pointer(c, right)) {
		if (by == 0)
			return cc_refuse(c, node, "what these point to is not known");
		if (!emit_binary(c, node, left, right, true, reg))
			return false;
		left->type = ctype_int(8, true);
		return by == 1 ||
		       cc_emit(c, &(struct probes_insn){ .op = PROBES_DIV,
							 .dst = reg,
							 .a = reg,
							 .flags = PROBES_IMM | PROBES_SIGNED,
							 .imm = (int64_t)by });
	}
	if (!scale(c, node, is_pointer(c, left) ? right : left, by) ||
	    !emit_binary(c, node, left, right, false, reg))
		return false;
	left->type = type;
	return true;
}

static bool is_float(const struct compiler *c, const struct cvalue *v)
{
	return cc_type(c, &v->type).kind == PROBE_KIND_FLOAT;
}

static bool calculate(struct compiler *c, const struct probe_node *node, struct cvalue *left,
		      struct cvalue *right, uint8_t reg)
{
	bool is_signed;

	if (is_float(c, left) || is_float(c, right))
		return cc_refuse(c, node, "a probe cannot calculate with floating-point numbers");
	if ((node->code == PROBES_ADD && is_pointer(c, left) != is_pointer(c, right)) ||
	    (node->code == PROBES_SUB && is_pointer(c, left)))
		return pointer_arithmetic(c, node, left, right, reg);
	if ((node->code == PROBES_DIV || node->code == PROBES_MOD) &&
	    right->where == CVALUE_CONSTANT && right->number == 0)
		return cc_refuse(c, node, "this divides by 0");
	if (!check_sign(c, node, left, right) || !check_sign(c, node, right, left))
		return false;
	is_signed = !is_unsigned(c, left) && !is_unsigned(c, right);
	if (node->code == PROBES_SHR || node->code == PROBES_SHL)
		is_signed = !is_unsigned(c, left);
	if (!emit_binary(c, node, left, right, is_signed, reg))
		return false;
	left->type = is_comparison(node->code) ? ctype_of_kind(PROBE_KIND_BOOL, 1)
					       : ctype_int(8, is_signed);
	return true;
}

static bool eval_binary(struct compiler *c, const struct probe_node *node, struct cvalue *ret,
			uint8_t reg)
{
	struct cvalue right;

	if (!cc_eval(c, node->left, ret, reg))
		return false;
	if (node_at(c, node->right)->op == PROBE_NODE_TEXT && ret->where != CVALUE_LITERAL)
		return cc_eval(c, node->right, &right, reg) &&
		       cc_compare_text(c, node, ret, &right, reg);
	if (ret->where == CVALUE_LITERAL) {
		if (!cc_eval(c, node->right, &right, reg))
			return false;
		if (right.where == CVALUE_LITERAL)
			return cc_refuse(c, node, "both sides are strings that are written here");
		if (!cc_compare_text(c, node, &right, ret, reg))
			return false;
		*ret = right;
		return true;
	}
	if (!cc_load(c, node_at(c, node->left), ret, reg) ||
	    !cc_eval(c, node->right, &right, (uint8_t)(reg + 1)) ||
	    !cc_load(c, node_at(c, node->right), &right, (uint8_t)(reg + 1)))
		return false;
	ret->is_raw = false;
	return calculate(c, node, ret, &right, reg);
}

/* The right side is only computed if the left one does not settle it. */
static bool eval_logic(struct compiler *c, const struct probe_node *node, struct cvalue *ret,
		       uint8_t reg)
{
	uint8_t jump = node->op == PROBE_NODE_AND ? PROBES_JUMP_UNLESS : PROBES_JUMP_IF;
	uint32_t from;

	if (!cc_eval(c, node->left, ret, reg) ||
	    !cc_load_register(c, node_at(c, node->left), ret, reg) ||
	    !cc_emit_imm(c, PROBES_NE, reg, ret->reg, 0))
		return false;
	from = c->code->n;
	if (!cc_emit(c, &(struct probes_insn){ .op = jump, .a = reg }) ||
	    !cc_eval(c, node->right, ret, reg) ||
	    !cc_load_register(c, node_at(c, node->right), ret, reg) ||
	    !cc_emit_imm(c, PROBES_NE, reg, ret->reg, 0))
		return false;
	c->code->insns[from].imm = c->code->n - from - 1;
	*ret = (struct cvalue){ .where = CVALUE_REGISTER,
				.reg = reg,
				.type = ctype_of_kind(PROBE_KIND_BOOL, 1) };
	return true;
}

static bool eval_unary(struct compiler *c, const struct probe_node *node, struct cvalue *ret,
		       uint8_t reg)
{
	static const struct {
		uint8_t code;
		int64_t with;
	} as[] = { [PROBE_NODE_NEGATE] = { PROBES_MUL, -1 },
		   [PROBE_NODE_COMPLEMENT] = { PROBES_XOR, -1 },
		   [PROBE_NODE_NOT] = { PROBES_EQ, 0 } };
	struct cvalue with = { .where = CVALUE_CONSTANT, .type = ctype_int(8, true) };
	struct probe_node binary = *node;

	if (!cc_eval(c, node->left, ret, reg) || !cc_load(c, node_at(c, node->left), ret, reg))
		return false;
	binary.code = as[node->op].code;
	with.number = (uint64_t)as[node->op].with;
	ret->is_raw = false;
	if (node->op != PROBE_NODE_NOT && is_pointer(c, ret))
		return cc_refuse(c, node, "this makes no sense of a pointer");
	return calculate(c, &binary, ret, &with, reg);
}

/* ---- memory ---- */

static bool cannot_follow(struct compiler *c, const struct probe_node *node, const struct cvalue *v)
{
	char text[PROBE_EXPR_LEN];

	if (v->is_raw)
		return cc_refuse(c, node,
				 "what this points to is not known: the type is not, without debug "
				 "information (DWARF); cast it, as in *(u64 *)arg0");
	if (is_pointer(c, v))
		return cc_refuse(c, node,
				 "what this points to is not known; cast it, as in "
				 "*(u64 *)p");
	return cc_refuse(c, node, "this is %s and no pointer",
			 cc_type_name(c, &v->type, text, sizeof(text)));
}

/* `v` becomes what it points to. */
static bool follow(struct compiler *c, const struct probe_node *node, struct cvalue *v, uint8_t reg)
{
	struct ctype target;

	if (v->where == CVALUE_STRING || v->where == CVALUE_LITERAL)
		return cc_refuse(c, node, "this is a string and no pointer");
	if (!cc_load_register(c, node, v, reg))
		return false;
	if (!is_pointer(c, v) || !cc_target(c, &v->type, &target) ||
	    cc_type(c, &target).kind == PROBE_KIND_VOID)
		return cannot_follow(c, node, v);
	*v = (struct cvalue){
		.where = CVALUE_MEMORY, .reg = v->reg, .type = target, .is_kernel = c->is_kernel
	};
	return true;
}

static bool eval_member(struct compiler *c, const struct probe_node *node, struct cvalue *ret,
			uint8_t reg)
{
	if (!cc_eval(c, node->left, ret, reg))
		return false;
	if (node->op == PROBE_NODE_ARROW) {
		if (cc_type(c, &ret->type).kind == PROBE_KIND_STRUCT && ret->where != CVALUE_STRING)
			return cc_refuse(c, node, "this is no pointer: write .%s",
					 probe_node_text(&c->tree, node));
		if (!follow(c, node, ret, reg))
			return false;
	}
	return cc_member(c, node, ret);
}

/* An element of an array that is part of something, by a number that is known. */
static bool eval_element(struct compiler *c, const struct probe_node *node, struct cvalue *v,
			 uint64_t i)
{
	struct probe_type_entry type = cc_type(c, &v->type);
	struct ctype element;

	if (type.count && i >= type.count)
		return cc_refuse(c, node, "this array has %u elements, from 0", type.count);
	if (!cc_target(c, &v->type, &element) || cc_type(c, &element).size == 0)
		return cc_refuse(c, node, "nothing is known of what is in this array");
	if (i > INT32_MAX / cc_type(c, &element).size)
		return cc_refuse(c, node, "this is too far away");
	v->offset += (int64_t)(i * cc_type(c, &element).size);
	v->type = element;
	return true;
}

static bool eval_index(struct compiler *c, const struct probe_node *node, struct cvalue *ret,
		       uint8_t reg)
{
	const struct probe_node *right = node_at(c, node->right);
	struct probe_node add = *node;
	struct cvalue index;
	uint8_t next = (uint8_t)(reg + 1);

	add.code = PROBES_ADD;
	if (!cc_eval(c, node->left, ret, reg))
		return false;
	if (right->op == PROBE_NODE_NUMBER && cc_type(c, &ret->type).kind == PROBE_KIND_ARRAY &&
	    ret->where != CVALUE_STRING)
		return eval_element(c, node, ret, right->number);
	if (!cc_load(c, node, ret, reg))
		return false;
	if (!is_pointer(c, ret))
		return cannot_follow(c, node, ret);
	if (!cc_eval(c, node->right, &index, next) || !cc_load(c, right, &index, next))
		return false;
	if (is_pointer(c, &index) || is_float(c, &index))
		return cc_refuse(c, right, "an element is counted by a whole number");
	return pointer_arithmetic(c, &add, ret, &index, reg) && follow(c, node, ret, reg);
}

static bool eval_address(struct compiler *c, const struct probe_node *node, struct cvalue *ret,
			 uint8_t reg)
{
	if (!cc_eval(c, node->left, ret, reg))
		return false;
	if (ret->where == CVALUE_STRING || ret->where == CVALUE_LITERAL)
		return cc_refuse(c, node, "a string that is read has no address");
	return cc_address(c, node, ret, reg);
}

/* ---- casts ---- */

static bool eval_cast(struct compiler *c, const struct probe_node *node, struct cvalue *ret,
		      uint8_t reg)
{
	struct probe_type_entry to;
	struct ctype type;
	bool is_signed;

	if (!cc_eval(c, node->left, ret, reg) || !cc_cast_type(c, node, &type))
		return false;
	to = cc_type(c, &type);
	if (to.kind == PROBE_KIND_STRUCT || to.kind == PROBE_KIND_ARRAY ||
	    to.kind == PROBE_KIND_VOID || to.kind == PROBE_KIND_FUNCTION ||
	    to.kind == PROBE_KIND_OTHER)
		return cc_refuse(c, node, "a cast is to a number or to a pointer: (%s *)",
				 probe_node_text(&c->tree, node));
	if (!cc_load(c, node, ret, reg))
		return false;
	if (is_float(c, ret) != (to.kind == PROBE_KIND_FLOAT))
		return cc_refuse(c, node, "a probe cannot turn floating-point numbers into others");
	is_signed = to.flags & PROBE_TYPE_IS_SIGNED;
	if (ret->where == CVALUE_CONSTANT) {
		ret->number = probes_extend(ret->number, (unsigned)to.size, is_signed);
	} else if (to.size < 8) {
		if (!cc_emit_extend(c, ret->reg, (unsigned)to.size, is_signed))
			return false;
	}
	ret->type = type;
	ret->is_raw = false;
	return true;
}

/* ---- all ---- */

bool cc_eval(struct compiler *c, uint8_t i, struct cvalue *ret, uint8_t reg)
{
	const struct probe_node *node = node_at(c, i);

	switch ((enum probe_node_op)node->op) {
	case PROBE_NODE_NUMBER:
		*ret = (struct cvalue){ .where = CVALUE_CONSTANT,
					.number = node->number,
					.type = ctype_int(8, node->number <= INT64_MAX) };
		return true;
	case PROBE_NODE_TEXT:
		*ret = (struct cvalue){ .where = CVALUE_LITERAL,
					.node = node,
					.type = ctype_of_kind(PROBE_KIND_OTHER, 0) };
		return true;
	case PROBE_NODE_NAME:
		return cc_name(c, node, ret, reg);
	case PROBE_NODE_REGISTER:
		return cc_register(c, node, ret, reg);
	case PROBE_NODE_CAST:
		return eval_cast(c, node, ret, reg);
	case PROBE_NODE_MEMBER:
	case PROBE_NODE_ARROW:
		return eval_member(c, node, ret, reg);
	case PROBE_NODE_INDEX:
		return eval_index(c, node, ret, reg);
	case PROBE_NODE_DEREF:
		return cc_eval(c, node->left, ret, reg) && follow(c, node, ret, reg);
	case PROBE_NODE_ADDRESS:
		return eval_address(c, node, ret, reg);
	case PROBE_NODE_STR:
		return cc_str(c, node, ret, reg);
	case PROBE_NODE_NEGATE:
	case PROBE_NODE_COMPLEMENT:
	case PROBE_NODE_NOT:
		return eval_unary(c, node, ret, reg);
	case PROBE_NODE_BINARY:
		return eval_binary(c, node, ret, reg);
	case PROBE_NODE_AND:
	case PROBE_NODE_OR:
		return eval_logic(c, node, ret, reg);
	}
	return false;
}
