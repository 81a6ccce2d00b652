/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_expr.h - the grammar of a probe's expressions: from text to a tree.
 *
 * That of C's expressions without assignment and calls but for str(p) and
 * str(p, n), which read a string that ends with a NUL, or has n bytes at most.
 * Knows no types: probe_compile.c does.
 */
#ifndef PROBE_EXPR_H
#define PROBE_EXPR_H

#include "probe/probe_def.h"

#define PROBE_NODES	96 /* of one expression */
#define PROBE_NODE_NONE UINT8_MAX

enum probe_node_op {
	PROBE_NODE_NUMBER,   /* `number` */
	PROBE_NODE_TEXT,     /* `text`, `is_prefix` */
	PROBE_NODE_NAME,     /* `text`: an argument, a field, a constant, pid */
	PROBE_NODE_REGISTER, /* `text`: "rdi" */
	PROBE_NODE_CAST,     /* left; to `text` and `number` pointers */
	PROBE_NODE_MEMBER,   /* left . text */
	PROBE_NODE_ARROW,    /* left -> text */
	PROBE_NODE_INDEX,    /* left [ right ] */
	PROBE_NODE_DEREF,    /* * left */
	PROBE_NODE_ADDRESS,  /* & left */
	PROBE_NODE_STR,	     /* str(left), or str(left, right) */
	PROBE_NODE_NEGATE,
	PROBE_NODE_COMPLEMENT,
	PROBE_NODE_NOT,
	PROBE_NODE_BINARY, /* left and right; `code` says which */
	PROBE_NODE_AND,	   /* && */
	PROBE_NODE_OR,
};

struct probe_node {
	uint8_t op; /* enum probe_node_op */
	uint8_t left, right;
	uint8_t code; /* enum probes_op: PROBES_ADD to PROBES_GE */
	bool is_prefix;
	uint16_t at;   /* where it begins in the text */
	uint16_t text; /* in probe_tree.texts */
	uint64_t number;
};

struct probe_tree {
	const char *expr;
	struct probe_node nodes[PROBE_NODES];
	unsigned n;
	uint8_t root;
	char texts[2 * PROBE_EXPR_LEN]; /* names and strings, each with a NUL */
	size_t texts_len;
};

/* `expr` stays the caller's, for messages. -EINVAL, and `why` says what and where. */
int probe_expr_parse(const char *expr, struct probe_tree *ret, char why[PROBE_WHY_LEN]);
/* The same of one that is not looked at yet; whether it mentions retval. */
int probe_expr_check(const char *expr, bool *ret_retval, char why[PROBE_WHY_LEN]);
/* What a word is in an expression. */
#define PROBE_WORD_NAME	  'n'
#define PROBE_WORD_MEMBER 'm'
#define PROBE_WORD_TYPE	  't'

/*
 * Its words, appended to `dst`: what each is, the word, a NUL. Those that are there already
 * are not repeated. Returns the new length, at most `size`.
 */
size_t probe_expr_words(const struct probe_tree *tree, char *dst, size_t len, size_t size);

static inline const char *probe_node_text(const struct probe_tree *tree,
					  const struct probe_node *node)
{
	return tree->texts + node->text;
}

/* "EXPR", character N: ... */
__attribute__((format(printf, 4, 5))) int
probe_expr_refuse(const char *expr, unsigned at, char why[PROBE_WHY_LEN], const char *fmt, ...);

/* A number's type as C or we call it: "int", "unsigned long", "u8". False: it is no such. */
bool probe_builtin_type(const char *name, uint16_t *ret_size, bool *ret_signed, bool *ret_char);

#endif
