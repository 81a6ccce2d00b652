/* SPDX-License-Identifier: Apache-2.0 */
/* probe_strings.c - strings in a probe's expressions. */
#include <stdio.h>
#include <string.h>

#include "probe/probe_compile_impl.h"

static const struct probe_node *node_at(const struct compiler *c, uint8_t i)
{
	return &c->tree.nodes[i];
}

bool cc_is_text(const struct compiler *c, const struct cvalue *v)
{
	struct probe_type_entry type = cc_type(c, &v->type);
	struct ctype target;

	if (v->where == CVALUE_STRING)
		return true;
	if (v->where == CVALUE_LITERAL ||
	    (type.kind != PROBE_KIND_POINTER && type.kind != PROBE_KIND_ARRAY) ||
	    !cc_target(c, &v->type, &target))
		return false;
	type = cc_type(c, &target);
	return type.kind == PROBE_KIND_INT && (type.flags & PROBE_TYPE_IS_CHAR);
}

bool cc_text(struct compiler *c, const struct probe_node *node, struct cvalue *v, uint8_t reg)
{
	struct probe_type_entry type = cc_type(c, &v->type);
	bool is_kernel = c->is_kernel;
	unsigned max = 0;

	if (v->where == CVALUE_STRING)
		return true;
	if (type.kind == PROBE_KIND_ARRAY) {
		max = type.count;
		is_kernel |= v->is_kernel;
	}
	if (!cc_load_register(c, node, v, reg))
		return false;
	type = cc_type(c, &v->type);
	if (type.kind == PROBE_KIND_FLOAT || (type.kind != PROBE_KIND_POINTER && type.size != 8))
		return cc_refuse(c, node, "a string begins at a pointer, and this is none");
	v->where = CVALUE_STRING;
	v->is_kernel = is_kernel;
	v->max = max < PROBES_TEXT ? max : PROBES_TEXT;
	return true;
}

void cc_text_insn(const struct cvalue *v, struct probes_insn *insn)
{
	insn->a = v->reg;
	insn->b = v->is_sized ? (uint8_t)(v->reg + 1) : 0;
	insn->flags |=
		(uint8_t)((v->is_kernel ? PROBES_KERNEL : 0) | (v->is_sized ? PROBES_SIZED : 0));
}

/* Its length stands beside it. */
static bool size_text(struct compiler *c, const struct probe_node *node, struct cvalue *v,
		      uint8_t reg)
{
	const struct probe_node *right = node_at(c, node->right);
	struct cvalue n;

	if (!cc_eval(c, node->right, &n, reg) || !cc_load(c, right, &n, reg))
		return false;
	if (cc_type(c, &n.type).kind == PROBE_KIND_FLOAT ||
	    cc_type(c, &n.type).kind == PROBE_KIND_POINTER)
		return cc_refuse(c, right, "the length of a string is a whole number");
	v->is_sized = true;
	return cc_load_register(c, right, &n, reg);
}

bool cc_compare_text(struct compiler *c, const struct probe_node *node, struct cvalue *v,
		     const struct cvalue *literal, uint8_t reg)
{
	struct probes_insn insn = { .op = PROBES_TEXT_EQ,
				    .dst = reg,
				    .flags = literal->node->is_prefix ? PROBES_PREFIX : 0 };
	const char *text = probe_node_text(&c->tree, literal->node);

	if (node->code != PROBES_EQ && node->code != PROBES_NE)
		return cc_refuse(c, node, "strings are compared with == or !=");
	if (!cc_is_text(c, v) && !v->is_raw)
		return cc_refuse(c, node,
				 "what is compared with a string is one: str(p) if need be");
	if (c->n_texts == PROBES_TEXTS)
		return cc_refuse(c, node, "a probe compares with %d strings at most", PROBES_TEXTS);
	if (!cc_text(c, node, v, reg))
		return false;
	snprintf(c->code->texts[c->n_texts], PROBES_COMPARED, "%s", text);
	cc_text_insn(v, &insn);
	insn.imm = c->n_texts++;
	*v = (struct cvalue){ .where = CVALUE_REGISTER,
			      .reg = reg,
			      .type = ctype_of_kind(PROBE_KIND_BOOL, 1) };
	return cc_emit(c, &insn) &&
	       (node->code == PROBES_EQ || cc_emit_imm(c, PROBES_EQ, reg, reg, 0));
}

bool cc_str(struct compiler *c, const struct probe_node *node, struct cvalue *ret, uint8_t reg)
{
	if (!cc_eval(c, node->left, ret, reg))
		return false;
	if (ret->where == CVALUE_LITERAL)
		return cc_refuse(c, node, "this is a string already");
	return cc_text(c, node, ret, reg) &&
	       (node->right == PROBE_NODE_NONE || size_text(c, node, ret, (uint8_t)(reg + 1)));
}
