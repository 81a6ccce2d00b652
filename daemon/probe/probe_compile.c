/* SPDX-License-Identifier: Apache-2.0 */
/* probe_compile.c - from a probe's expressions to code, and what becomes of their values. */
#include "probe/probe_compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe_compile_impl.h"

/* The complaint says of which part of the probe it is. */
static void name_part(struct compiler *c)
{
	char text[PROBE_WHY_LEN];
	int len;

	if (c->is_whole)
		return;
	snprintf(text, sizeof(text), "%s", c->why);
	len = snprintf(c->why, PROBE_WHY_LEN, "%s: ", c->what);
	snprintf(c->why + len, PROBE_WHY_LEN - (size_t)len, "%s", text);
}

static bool begin(struct compiler *c, const char *what, const char *expr, struct cvalue *ret)
{
	c->what = what;
	return probe_expr_parse(expr, &c->tree, c->why) == 0 && cc_eval(c, c->tree.root, ret, 0);
}

static const struct probe_node *root(const struct compiler *c)
{
	return &c->tree.nodes[c->tree.root];
}

/* A number, for the condition or a key. */
static bool put_number(struct compiler *c, const char *what, const char *expr, enum probes_op op)
{
	struct cvalue v;

	return begin(c, what, expr, &v) && cc_load_register(c, root(c), &v, 0) &&
	       cc_emit(c, &(struct probes_insn){ .op = (uint8_t)op, .a = v.reg });
}

/* ---- types that are not said ---- */

static enum probe_type type_by_expr(const struct compiler *c, const struct cvalue *v)
{
	struct probe_type_entry type = cc_type(c, &v->type);

	if (cc_is_text(c, v))
		return PROBE_TYPE_TEXT;
	switch (type.kind) {
	case PROBE_KIND_BOOL:
		return PROBE_TYPE_BOOL;
	case PROBE_KIND_FLOAT:
		return PROBE_TYPE_FLOAT;
	case PROBE_KIND_POINTER:
	case PROBE_KIND_ARRAY:
	case PROBE_KIND_FUNCTION:
		return PROBE_TYPE_POINTER;
	}
	return type.flags & PROBE_TYPE_IS_SIGNED ? PROBE_TYPE_SIGNED : PROBE_TYPE_UNSIGNED;
}

/* ---- arguments ---- */

static bool put_text(struct compiler *c, const struct probe_arg *arg, struct cvalue *v)
{
	struct probes_insn insn = { .op = PROBES_EMIT_TEXT };

	if (!cc_text(c, root(c), v, 0))
		return false;
	cc_text_insn(v, &insn);
	insn.imm = v->max ? v->max : PROBES_TEXT;
	if (arg->size && (!v->max || arg->size < v->max))
		insn.imm = arg->size;
	return cc_emit(c, &insn);
}

/* As many bytes as its author wants. */
static bool convert(struct compiler *c, enum probe_type type, unsigned size, struct cvalue *v)
{
	struct probe_type_entry from = cc_type(c, &v->type);

	if (type == PROBE_TYPE_FLOAT && from.kind != PROBE_KIND_FLOAT && !v->is_raw)
		return cc_refuse(c, root(c),
				 "this is no floating-point number; of memory cast its "
				 "address: *(double *)p");
	if (type == PROBE_TYPE_FLOAT && from.kind == PROBE_KIND_FLOAT && from.size != size)
		return cc_refuse(c, root(c), "this is a floating-point number of %llu bytes: f%llu",
				 (unsigned long long)from.size, (unsigned long long)from.size * 8);
	if (type != PROBE_TYPE_FLOAT && from.kind == PROBE_KIND_FLOAT)
		return cc_refuse(c, root(c), "this is a floating-point number: its type is f%llu",
				 (unsigned long long)from.size * 8);
	if (type == PROBE_TYPE_BOOL)
		return cc_emit_imm(c, PROBES_NE, v->reg, v->reg, 0);
	if (type == PROBE_TYPE_FLOAT || size == 8)
		return true;
	return cc_emit_extend(c, v->reg, size, type == PROBE_TYPE_SIGNED);
}

/* `*ret_type`, `*ret_size`: what it became. */
static bool put_value(struct compiler *c, const struct probe_arg *arg, enum probes_op op,
		      enum probe_type *ret_type, uint8_t *ret_size)
{
	enum probe_type type = arg->type;
	unsigned size = arg->size;
	struct cvalue v;

	if (!begin(c, arg->name, arg->expr, &v))
		return false;
	if (type == PROBE_TYPE_AUTO)
		type = type_by_expr(c, &v);
	*ret_type = type;
	*ret_size = 0;
	if (type == PROBE_TYPE_TEXT) {
		if (op == PROBES_COUNTER)
			return cc_refuse(c, root(c), "a counter is a number, and this is a string");
		return put_text(c, arg, &v);
	}
	if (!cc_load_register(c, root(c), &v, 0))
		return false;
	if (size == 0)
		size = (unsigned)cc_type(c, &v.type).size;
	if (type == PROBE_TYPE_FLOAT && op == PROBES_COUNTER)
		return cc_refuse(c, root(c), "a counter is a whole number");
	*ret_size = (uint8_t)size;
	return convert(c, type, size, &v) &&
	       cc_emit(c, &(struct probes_insn){ .op = (uint8_t)op, .a = v.reg });
}

static bool put_args(struct compiler *c, enum probes_point point)
{
	struct probe_code *code = c->code;
	uint8_t size;

	if (c->def->counter.name[0] &&
	    (!c->def->has_end || c->def->counter.at_end == (point == PROBES_FINISH)) &&
	    !put_value(c, &c->def->counter, PROBES_COUNTER, &code->counter_type, &size))
		return false;
	for (size_t i = 0; i < c->def->n_args; i++) {
		if (c->def->has_end && c->def->args[i].at_end != (point == PROBES_FINISH))
			continue;
		code->arg[code->n_values] = (uint8_t)i;
		if (!put_value(c, &c->def->args[i], PROBES_EMIT, &code->type[code->n_values],
			       &code->size[code->n_values]))
			return false;
		code->n_values++;
	}
	return true;
}

int probe_compile(const struct probe_def *def, enum probes_point point,
		  const struct probe_types *types, struct probe_code *ret, char why[PROBE_WHY_LEN])
{
	struct compiler *c = calloc(1, sizeof(*c));
	bool ok = true;

	if (!c)
		return -ENOMEM;
	*ret = (struct probe_code){ 0 };
	c->def = def;
	c->place = point == PROBES_FINISH ? &def->end : &def->at;
	c->types = types;
	c->code = ret;
	c->why = why;
	c->what = "its place";
	c->is_kernel = c->place->kind >= PROBE_TRACEPOINT;
	if (def->condition[0] && point != PROBES_FINISH)
		ok = put_number(c, "condition", def->condition, PROBES_FILTER);
	if (ok && def->key[0])
		ok = put_number(c, "key", def->key, PROBES_KEY);
	ok = ok && put_args(c, point);
	if (ok)
		ret->insns[ret->n++] = (struct probes_insn){ .op = PROBES_END };
	else
		name_part(c);
	free(c);
	return ok ? 0 : -EINVAL;
}
