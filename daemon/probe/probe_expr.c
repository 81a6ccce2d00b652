/* SPDX-License-Identifier: Apache-2.0 */
/* probe_expr.c - the grammar of a probe's expressions. */
#include "probe/probe_expr.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 24 /* of brackets and of what stands before a value */

struct parser {
	const char *expr;
	size_t at;
	struct probe_tree *tree;
	char *why;
	unsigned depth;
	bool failed;
};

/* The first complaint stands. */
#define FAIL(p, where, ...)                                                                     \
	((p)->failed ? 0                                                                        \
		     : (probe_expr_refuse((p)->expr, (unsigned)(where), (p)->why, __VA_ARGS__), \
			(p)->failed = true, 0),                                                 \
	 (uint8_t)PROBE_NODE_NONE)

static uint8_t parse_unary(struct parser *p);
static uint8_t parse_or(struct parser *p);

/* ---- words ---- */

static char peek(struct parser *p)
{
	while (isspace((unsigned char)p->expr[p->at]))
		p->at++;
	return p->expr[p->at];
}

static bool take(struct parser *p, const char *token)
{
	size_t len = strlen(token);

	(void)peek(p);
	if (strncmp(p->expr + p->at, token, len) != 0)
		return false;
	p->at += len;
	return true;
}

static bool begins_name(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

/* An identifier at `at`, with the "::" of C++ in it; 0: there is none. */
static size_t name_len(const char *s)
{
	size_t n = 0;

	if (!begins_name(*s))
		return 0;
	for (;;) {
		while (isalnum((unsigned char)s[n]) || s[n] == '_')
			n++;
		if (s[n] != ':' || s[n + 1] != ':' || !begins_name(s[n + 2]))
			return n;
		n += 2;
	}
}

static uint8_t add(struct parser *p, enum probe_node_op op, size_t at, uint8_t left, uint8_t right)
{
	struct probe_tree *t = p->tree;

	if (p->failed)
		return PROBE_NODE_NONE;
	if (t->n == PROBE_NODES)
		return FAIL(p, at, "this expression is too long; make two of it");
	t->nodes[t->n] = (struct probe_node){
		.op = (uint8_t)op, .at = (uint16_t)at, .left = left, .right = right
	};
	return (uint8_t)t->n++;
}

/* Each is no longer than the expression, and ends where another begins. */
static void set_text(struct parser *p, uint8_t node, const char *s, size_t len)
{
	struct probe_tree *t = p->tree;

	if (node == PROBE_NODE_NONE)
		return;
	if (len + 1 > sizeof(t->texts) - t->texts_len) {
		(void)FAIL(p, p->at, "this expression has too many names");
		return;
	}
	t->nodes[node].text = (uint16_t)t->texts_len;
	memcpy(t->texts + t->texts_len, s, len);
	t->texts[t->texts_len + len] = '\0';
	t->texts_len += len + 1;
}

/* What is not expected behind a value. */
static uint8_t stray(struct parser *p, const char *wanted)
{
	char c = peek(p);

	if (c == '=')
		return FAIL(p, p->at, "a probe changes nothing; to compare write ==");
	if (c == '?')
		return FAIL(p, p->at, "there is no ?: in a probe's expressions");
	if (wanted)
		return FAIL(p, p->at, "a %s is missing", wanted);
	return FAIL(p, p->at, "here an operator is expected, not \"%c\"", c);
}

/* ---- primaries ---- */

static uint8_t parse_number(struct parser *p)
{
	const char *s = p->expr + p->at;
	size_t at = p->at;
	uint8_t node;
	char *end;

	errno = 0;
	if (s[0] == '0' && (s[1] == 'b' || s[1] == 'B'))
		return FAIL(p, at, "numbers are decimal, 0x or octal");
	node = add(p, PROBE_NODE_NUMBER, at, PROBE_NODE_NONE, PROBE_NODE_NONE);
	if (node == PROBE_NODE_NONE)
		return node;
	p->tree->nodes[node].number = strtoull(s, &end, 0);
	if (errno)
		return FAIL(p, at, "this number has more than 64 bits");
	while (*end == 'u' || *end == 'U' || *end == 'l' || *end == 'L')
		end++;
	if (*end == '.')
		return FAIL(p, at, "numbers are whole: there is no floating point in a probe");
	if (isalnum((unsigned char)*end) || *end == '_')
		return FAIL(p, at, "this is neither a number nor a name");
	p->at += (size_t)(end - s);
	return node;
}

/* What stands behind a backslash, or -1. */
static int escaped(char c)
{
	static const char from[] = "nt0\\\"'*", to[] = "\n\t\0\\\"'*";
	const char *at = c ? strchr(from, c) : NULL;

	return at ? to[at - from] : -1;
}

/* 'x' */
static uint8_t parse_char(struct parser *p)
{
	const char *s = p->expr + p->at;
	uint8_t node = add(p, PROBE_NODE_NUMBER, p->at, PROBE_NODE_NONE, PROBE_NODE_NONE);
	int c = s[1] == '\\' ? escaped(s[2]) : (unsigned char)s[1];
	size_t len = s[1] == '\\' ? 2 : 1;

	if (!s[1] || c < 0 || s[1 + len] != '\'')
		return FAIL(p, p->at, "a character is one between two quotes: 'x'");
	p->at += len + 2;
	if (node != PROBE_NODE_NONE)
		p->tree->nodes[node].number = (uint64_t)c;
	return node;
}

/* "abc", or "abc*": what begins with it. */
static uint8_t parse_text(struct parser *p)
{
	uint8_t node = add(p, PROBE_NODE_TEXT, p->at, PROBE_NODE_NONE, PROBE_NODE_NONE);
	char text[PROBE_EXPR_LEN];
	size_t start = p->at++, n = 0;
	bool is_prefix = false;

	while (p->expr[p->at] && p->expr[p->at] != '"') {
		int c = (unsigned char)p->expr[p->at++];

		is_prefix = c == '*';
		if (c == '\\')
			c = escaped(p->expr[p->at++]);
		if (c <= 0)
			return FAIL(p, p->at - 2, "after \\ comes n, t, \\, \", ' or *");
		text[n++] = (char)c;
	}
	if (p->expr[p->at++] != '"')
		return FAIL(p, start, "this string does not end");
	n -= is_prefix;
	if (n >= PROBES_COMPARED)
		return FAIL(p, start, "a string that is compared with has at most %d bytes",
			    PROBES_COMPARED - 1);
	set_text(p, node, text, n);
	if (node != PROBE_NODE_NONE)
		p->tree->nodes[node].is_prefix = is_prefix;
	return node;
}

/* str(p), str(p, n) behind the word. */
static uint8_t parse_str(struct parser *p, size_t at, const char *word, size_t len)
{
	uint8_t left, right = PROBE_NODE_NONE;

	if (len != 3 || strncmp(word, "str", 3) != 0)
		return FAIL(p, at, "a probe calls no functions; there is str(p) alone");
	p->at++;
	left = parse_or(p);
	if (!p->failed && take(p, ","))
		right = parse_or(p);
	if (!p->failed && !take(p, ")"))
		return stray(p, ")");
	return add(p, PROBE_NODE_STR, at, left, right);
}

static uint8_t parse_named(struct parser *p)
{
	const char *s = p->expr + p->at;
	size_t at = p->at, dollar = *s == '$', len = name_len(s + dollar);
	enum probe_node_op op = dollar ? PROBE_NODE_REGISTER : PROBE_NODE_NAME;
	uint8_t node;

	if (len == 0)
		return FAIL(p, at, "behind $ comes the name of a register");
	p->at += dollar + len;
	if (!dollar && peek(p) == '(')
		return parse_str(p, at, s, len);
	node = add(p, op, at, PROBE_NODE_NONE, PROBE_NODE_NONE);
	set_text(p, node, s + dollar, len);
	return node;
}

static uint8_t parse_primary(struct parser *p)
{
	char c = peek(p);
	uint8_t node;

	if (isdigit((unsigned char)c))
		return parse_number(p);
	if (c == '\'')
		return parse_char(p);
	if (c == '"')
		return parse_text(p);
	if (c == '$' || begins_name(c))
		return parse_named(p);
	if (!take(p, "(")) {
		if (c)
			return FAIL(p, p->at, "here a value is expected, not \"%c\"", c);
		return FAIL(p, p->at, "here a value is expected");
	}
	node = parse_or(p);
	if (!p->failed && !take(p, ")"))
		return stray(p, ")");
	return node;
}

static uint8_t parse_member(struct parser *p, enum probe_node_op op, size_t at, uint8_t left)
{
	const char *s;
	size_t len;
	uint8_t node;

	(void)peek(p);
	s = p->expr + p->at;
	len = strcspn(s, ":");
	if (name_len(s) < len)
		len = name_len(s);
	if (len == 0)
		return FAIL(p, p->at, "here the name of a member is expected");
	p->at += len;
	node = add(p, op, at, left, PROBE_NODE_NONE);
	set_text(p, node, s, len);
	return node;
}

static uint8_t parse_postfix(struct parser *p)
{
	uint8_t node = parse_primary(p), index;

	while (!p->failed) {
		size_t at = (size_t)(peek(p), p->at);

		if (take(p, "->")) {
			node = parse_member(p, PROBE_NODE_ARROW, at, node);
		} else if (take(p, ".")) {
			node = parse_member(p, PROBE_NODE_MEMBER, at, node);
		} else if (take(p, "[")) {
			index = parse_or(p);
			if (!p->failed && !take(p, "]"))
				return stray(p, "]");
			node = add(p, PROBE_NODE_INDEX, at, node, index);
		} else {
			return node;
		}
	}
	return PROBE_NODE_NONE;
}

/* ---- casts ---- */

static bool is_word(const char *s, size_t len, const char *word)
{
	return len == strlen(word) && strncmp(s, word, len) == 0;
}

/* Words that make no difference to a type's name. */
static bool is_qualifier(const char *s, size_t len)
{
	static const char *const words[] = {
		"struct", "union", "class", "enum", "const", "volatile"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_word(s, len, words[i]))
			return true;
	return false;
}

struct cast {
	char name[PROBE_EXPR_LEN];
	unsigned n_pointers;
	bool is_sure; /* by its words it is one */
	size_t end;   /* behind the bracket */
};

/* "(struct gc *)" at the open bracket. False: it does not look like one. */
static bool read_cast(const struct parser *p, struct cast *ret)
{
	const char *s = p->expr, *c;
	size_t at = p->at + 1, len, n = 0;
	bool is_signed, is_char;
	uint16_t size;

	*ret = (struct cast){ 0 };
	for (;;) {
		while (isspace((unsigned char)s[at]))
			at++;
		len = name_len(s + at);
		if (len == 0)
			break;
		if (is_qualifier(s + at, len)) {
			ret->is_sure = true;
		} else {
			n += (size_t)snprintf(ret->name + n, sizeof(ret->name) - n, "%s%.*s",
					      n ? " " : "", (int)len, s + at);
		}
		at += len;
	}
	for (; s[at] == '*' || isspace((unsigned char)s[at]); at++)
		ret->n_pointers += s[at] == '*';
	if (n == 0 || s[at] != ')')
		return false;
	ret->end = at + 1;
	ret->is_sure |= ret->n_pointers > 0 || strcmp(ret->name, "void") == 0 ||
			probe_builtin_type(ret->name, &size, &is_signed, &is_char);
	if (ret->is_sure)
		return true;
	/* "(name) value": without the value the brackets are those of an expression. */
	c = s + ret->end + strspn(s + ret->end, " \t");
	return !strchr(ret->name, ' ') && (isalnum((unsigned char)*c) || strchr("_$(\"'", *c)) &&
	       *c;
}

static uint8_t parse_cast(struct parser *p, const struct cast *cast)
{
	size_t at = p->at;
	uint8_t node;

	p->at = cast->end;
	node = parse_unary(p);
	if (cast->n_pointers > 8)
		return FAIL(p, at, "these are too many stars");
	node = add(p, PROBE_NODE_CAST, at, node, PROBE_NODE_NONE);
	set_text(p, node, cast->name, strlen(cast->name));
	if (node != PROBE_NODE_NONE)
		p->tree->nodes[node].number = cast->n_pointers;
	return node;
}

/* ---- operators ---- */

static uint8_t parse_prefixed(struct parser *p)
{
	static const struct {
		char sign;
		enum probe_node_op op;
	} prefixes[] = { { '!', PROBE_NODE_NOT },
			 { '~', PROBE_NODE_COMPLEMENT },
			 { '-', PROBE_NODE_NEGATE },
			 { '*', PROBE_NODE_DEREF },
			 { '&', PROBE_NODE_ADDRESS } };
	char c = peek(p);
	size_t at = p->at;
	struct cast cast;
	uint8_t node;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (c != prefixes[i].sign)
			continue;
		p->at++;
		node = parse_unary(p);
		return add(p, prefixes[i].op, at, node, PROBE_NODE_NONE);
	}
	if (c == '(' && read_cast(p, &cast))
		return parse_cast(p, &cast);
	return parse_postfix(p);
}

static uint8_t parse_unary(struct parser *p)
{
	uint8_t node;

	if (p->depth == MAX_DEPTH)
		return FAIL(p, p->at, "this is nested too deeply");
	p->depth++;
	node = parse_prefixed(p);
	p->depth--;
	return node;
}

/* By how tightly they bind; of those that begin alike the longer one first. */
static const struct operator
{
	const char *sign;
	uint8_t level;
	uint8_t code;
}
operators[] = {
	{ "||", 1, 0 },		 { "&&", 2, 0 },	  { "==", 6, PROBES_EQ },
	{ "!=", 6, PROBES_NE },	 { "<<", 8, PROBES_SHL }, { ">>", 8, PROBES_SHR },
	{ "<=", 7, PROBES_LE },	 { ">=", 7, PROBES_GE },  { "<", 7, PROBES_LT },
	{ ">", 7, PROBES_GT },	 { "|", 3, PROBES_OR },	  { "^", 4, PROBES_XOR },
	{ "&", 5, PROBES_AND },	 { "+", 9, PROBES_ADD },  { "-", 9, PROBES_SUB },
	{ "*", 10, PROBES_MUL }, { "/", 10, PROBES_DIV }, { "%", 10, PROBES_MOD },
};

static const struct operator* next_operator(struct parser *p)
{
	(void)peek(p);
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (strncmp(p->expr + p->at, operators[i].sign, strlen(operators[i].sign)) == 0)
			return &operators[i];
	return NULL;
}

/* All operators that bind at least so tightly. */
static uint8_t parse_level(struct parser *p, unsigned level)
{
	uint8_t left = parse_unary(p), right;
	const struct operator* o;

	while (!p->failed && (o = next_operator(p)) && o->level >= level) {
		size_t at = p->at;

		p->at += strlen(o->sign);
		right = parse_level(p, o->level + 1u);
		left = add(p,
			   o->level == 1   ? PROBE_NODE_OR
			   : o->level == 2 ? PROBE_NODE_AND
					   : PROBE_NODE_BINARY,
			   at, left, right);
		if (left != PROBE_NODE_NONE)
			p->tree->nodes[left].code = o->code;
	}
	return left;
}

static uint8_t parse_or(struct parser *p)
{
	return parse_level(p, 1);
}

int probe_expr_parse(const char *expr, struct probe_tree *ret, char why[PROBE_WHY_LEN])
{
	struct parser p = { .expr = expr, .tree = ret, .why = why };

	ret->expr = expr;
	ret->n = 0;
	ret->texts_len = 0;
	if (strlen(expr) >= PROBE_EXPR_LEN) {
		snprintf(why, PROBE_WHY_LEN,
			 "\"%.100s...\": an expression has at most %d characters", expr,
			 PROBE_EXPR_LEN - 1);
		return -EINVAL;
	}
	ret->root = parse_or(&p);
	if (!p.failed && peek(&p))
		(void)stray(&p, NULL);
	return p.failed ? -EINVAL : 0;
}
