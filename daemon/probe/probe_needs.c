/* SPDX-License-Identifier: Apache-2.0 */
/* probe_needs.c - what must be known of a place so that a probe's expressions mean something. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe_expr.h"
#include "probe/probe_types.h"

static bool is_argument(const char *name)
{
	return strcmp(name, "retval") == 0 ||
	       (strncmp(name, "arg", 3) == 0 && isdigit((unsigned char)name[3]));
}

static bool is_own(const char *name)
{
	static const char *const words[] = { "pid", "tid", "cpu", "uid", "time" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], name) == 0)
			return true;
	return false;
}

static bool node_needs(const struct probe_tree *tree, const struct probe_node *node, bool has_notes)
{
	const char *text = probe_node_text(tree, node);
	bool is_signed, is_char;
	uint16_t size;

	switch (node->op) {
	case PROBE_NODE_CAST:
		return !probe_builtin_type(text, &size, &is_signed, &is_char) &&
		       strcmp(text, "void") != 0 && strcmp(text, "double") != 0 &&
		       strcmp(text, "float") != 0;
	case PROBE_NODE_MEMBER:
	case PROBE_NODE_ARROW:
		return true;
	case PROBE_NODE_NAME:
		return is_argument(text) ? !has_notes : !is_own(text);
	}
	return false;
}

/* `is_typed`: one register is all it takes. */
static bool needs(const char *expr, bool is_typed, bool has_notes)
{
	char why[PROBE_WHY_LEN];
	struct probe_tree tree;

	if (!expr[0] || probe_expr_parse(expr, &tree, why) < 0)
		return false;
	if (is_typed && tree.n == 1 && tree.nodes[0].op == PROBE_NODE_NAME &&
	    is_argument(probe_node_text(&tree, &tree.nodes[0])))
		return false;
	for (unsigned i = 0; i < tree.n; i++)
		if (node_needs(&tree, &tree.nodes[i], has_notes))
			return true;
	return false;
}

bool probe_needs_types(const struct probe_def *def, const struct probe_place *place)
{
	bool has_notes = place->kind == PROBE_USDT;
	bool r = needs(def->condition, false, has_notes) || needs(def->key, false, has_notes) ||
		 needs(def->counter.expr, def->counter.type != PROBE_TYPE_AUTO, has_notes);

	for (size_t i = 0; i < def->n_args && !r; i++)
		r = needs(def->args[i].expr, def->args[i].type != PROBE_TYPE_AUTO, has_notes);
	return r;
}

static size_t add_words(const char *expr, char *dst, size_t len, size_t size)
{
	char why[PROBE_WHY_LEN];
	struct probe_tree tree;

	if (!expr[0] || probe_expr_parse(expr, &tree, why) < 0)
		return len;
	return probe_expr_words(&tree, dst, len, size);
}

size_t probe_words(const struct probe_def *def, char *dst, size_t size)
{
	size_t len = 0;

	len = add_words(def->condition, dst, len, size);
	len = add_words(def->key, dst, len, size);
	len = add_words(def->counter.expr, dst, len, size);
	for (size_t i = 0; i < def->n_args; i++)
		len = add_words(def->args[i].expr, dst, len, size);
	return len;
}
