/* SPDX-License-Identifier: Apache-2.0 */
/* probe_words.c - the words of a probe's expressions, and of what is wrong with them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/probe_expr.h"

int probe_expr_refuse(const char *expr, unsigned at, char why[PROBE_WHY_LEN], const char *fmt, ...)
{
	size_t len;
	va_list ap;

	snprintf(why, PROBE_WHY_LEN, "\"%s\", character %u: ", expr, at + 1);
	len = strlen(why);
	va_start(ap, fmt);
	vsnprintf(why + len, PROBE_WHY_LEN - len, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int probe_expr_check(const char *expr, bool *ret_retval, char why[PROBE_WHY_LEN])
{
	struct probe_tree tree;
	int r = probe_expr_parse(expr, &tree, why);

	*ret_retval = false;
	for (unsigned i = 0; r == 0 && i < tree.n; i++)
		*ret_retval |= tree.nodes[i].op == PROBE_NODE_NAME &&
			       strcmp(probe_node_text(&tree, &tree.nodes[i]), "retval") == 0;
	return r;
}

static bool has_word(const char *words, size_t len, char role, const char *word)
{
	for (size_t at = 0; at < len; at += strlen(words + at) + 1)
		if (words[at] == role && strcmp(words + at + 1, word) == 0)
			return true;
	return false;
}

static char role_of(const struct probe_node *node)
{
	switch (node->op) {
	case PROBE_NODE_NAME:
		return PROBE_WORD_NAME;
	case PROBE_NODE_CAST:
		return PROBE_WORD_TYPE;
	case PROBE_NODE_MEMBER:
	case PROBE_NODE_ARROW:
		return PROBE_WORD_MEMBER;
	}
	return '\0';
}

size_t probe_expr_words(const struct probe_tree *tree, char *dst, size_t len, size_t size)
{
	for (unsigned i = 0; i < tree->n; i++) {
		const char *word = probe_node_text(tree, &tree->nodes[i]);
		char role = role_of(&tree->nodes[i]);
		size_t n;

		if (!role)
			continue;
		n = strlen(word) + 2;
		if (has_word(dst, len, role, word) || n > size - len)
			continue;
		dst[len] = role;
		memcpy(dst + len + 1, word, n - 1);
		len += n;
	}
	return len;
}

bool probe_builtin_type(const char *name, uint16_t *ret_size, bool *ret_signed, bool *ret_char)
{
	static const struct {
		const char *name;
		uint8_t size;
		bool is_signed, is_char;
	} types[] = {
		{ "char", 1, true, true },
		{ "signed char", 1, true, false },
		{ "unsigned char", 1, false, false },
		{ "short", 2, true, false },
		{ "unsigned short", 2, false, false },
		{ "int", 4, true, false },
		{ "signed", 4, true, false },
		{ "unsigned", 4, false, false },
		{ "unsigned int", 4, false, false },
		{ "long", 8, true, false },
		{ "unsigned long", 8, false, false },
		{ "long long", 8, true, false },
		{ "unsigned long long", 8, false, false },
		{ "s8", 1, true, false },
		{ "s16", 2, true, false },
		{ "s32", 4, true, false },
		{ "s64", 8, true, false },
		{ "u8", 1, false, false },
		{ "u16", 2, false, false },
		{ "u32", 4, false, false },
		{ "u64", 8, false, false },
		{ "int8_t", 1, true, false },
		{ "int16_t", 2, true, false },
		{ "int32_t", 4, true, false },
		{ "int64_t", 8, true, false },
		{ "uint8_t", 1, false, false },
		{ "uint16_t", 2, false, false },
		{ "uint32_t", 4, false, false },
		{ "uint64_t", 8, false, false },
		{ "size_t", 8, false, false },
		{ "ssize_t", 8, true, false },
		{ "intptr_t", 8, true, false },
		{ "uintptr_t", 8, false, false },
		{ "bool", 1, false, false },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(types[i].name, name) != 0)
			continue;
		*ret_size = types[i].size;
		*ret_signed = types[i].is_signed;
		*ret_char = types[i].is_char;
		return true;
	}
	return false;
}
