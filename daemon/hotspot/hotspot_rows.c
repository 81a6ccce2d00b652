/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_rows.c - how to unwind from the code of one blob of HotSpot's. */
#include "hotspot_rows.h"

#include <stdbool.h>
#include <string.h>

/* As large as a frame can be: 64 Ki stack slots, and something to spare. */
#define MAX_FRAME_WORDS (1 << 20)

/* Prologues are short; beyond this it is the method. */
#define MAX_PROLOGUE 512

bool hotspot_is_method(const char *name)
{
	return strcmp(name, "nmethod") == 0 || strcmp(name, "native nmethod") == 0;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

enum hotspot_kind hotspot_kind_of(const char *name, int32_t frame_size)
{
	if (strcmp(name, "Interpreter") == 0)
		return HOTSPOT_INTERPRETER;
	if (has_prefix(name, "StubRoutines"))
		return HOTSPOT_STUBS;
	return frame_size > 0 && frame_size < MAX_FRAME_WORDS ? HOTSPOT_COMPILED
							      : HOTSPOT_FRAMELESS;
}

/* ---- rules ---- */

/* The frame ends `size` bytes above sp; is the caller's rbp in it? */
static struct unwind_rule by_sp(int32_t size, bool has_fp)
{
	return (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
				     .cfa_off = size,
				     .fp = has_fp ? UNWIND_REG_CFA_OFF : UNWIND_REG_SAME,
				     .fp_off = has_fp ? -16 : 0,
				     .ra = UNWIND_REG_CFA_OFF,
				     .ra_off = -8 };
}

static struct unwind_rule by_fp(void)
{
	return (struct unwind_rule){ .cfa = UNWIND_CFA_FP,
				     .cfa_off = 16,
				     .fp = UNWIND_REG_CFA_OFF,
				     .fp_off = -16,
				     .ra = UNWIND_REG_CFA_OFF,
				     .ra_off = -8 };
}

/*
 * Below the frame pointer the interpreter keeps where its caller's stack ended:
 * an adapter may have moved the return address down, to make room for arguments.
 */
static struct unwind_rule interpreted(void)
{
	return (struct unwind_rule){ .cfa = UNWIND_CFA_DEREF_FP,
				     .cfa_off = -8,
				     .fp = UNWIND_REG_DEREF_FP,
				     .fp_off = 0,
				     .ra = UNWIND_REG_DEREF_FP,
				     .ra_off = 8 };
}

struct rows {
	struct hotspot_row *all;
	size_t n, max;
};

static void add(struct rows *rows, size_t at, struct unwind_rule rule)
{
	if (rows->n > 0 && rows->all[rows->n - 1].at == at)
		rows->n--;
	if (rows->n < rows->max)
		rows->all[rows->n++] = (struct hotspot_row){ (uint32_t)at, rule };
}

/* ---- instructions ---- */

static bool is_at(const struct hotspot_code *c, size_t at, const void *bytes, size_t n)
{
	return at <= c->n_bytes && n <= c->n_bytes - at && memcmp(c->bytes + at, bytes, n) == 0;
}

#define IS_AT(code, at, ...) \
	is_at(code, at, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* push %rbp; mov %rsp,%rbp, in both encodings of the second. */
static bool is_enter(const struct hotspot_code *c, size_t at)
{
	return IS_AT(c, at, 0x55, 0x48, 0x8b, 0xec) || IS_AT(c, at, 0x55, 0x48, 0x89, 0xe5);
}

/* sub (0xec) or add (0xc4) of a constant to %rsp: how long it is; 0: it is not. */
static size_t constant_to_sp(const struct hotspot_code *c, size_t at, uint8_t modrm,
			     int32_t *ret_value)
{
	if (IS_AT(c, at, 0x48, 0x83, modrm) && at + 4 <= c->n_bytes) {
		*ret_value = (int8_t)c->bytes[at + 3];
		return 4;
	}
	if (IS_AT(c, at, 0x48, 0x81, modrm) && at + 7 <= c->n_bytes) {
		memcpy(ret_value, c->bytes + at + 3, sizeof(*ret_value));
		return 7;
	}
	return 0;
}

/* mov %rbp,N(%rsp): how long. */
static size_t saves_fp(const struct hotspot_code *c, size_t at)
{
	if (IS_AT(c, at, 0x48, 0x89, 0x2c, 0x24))
		return 4;
	if (IS_AT(c, at, 0x48, 0x89, 0x6c, 0x24))
		return 5;
	return IS_AT(c, at, 0x48, 0x89, 0xac, 0x24) ? 8 : 0;
}

/* Behind the pop of rbp: where the return (or the jump away) ends, or the best guess. */
static size_t end_of_return(const struct hotspot_code *c, size_t at)
{
	size_t end = at;

	if (IS_AT(c, end, 0x49, 0x3b, 0xa7)) /* cmp N(%r15),%rsp: is a safepoint wanted? */
		end += 7;
	else if (IS_AT(c, end, 0x4d, 0x8b, 0x97)) /* mov N(%r15),%r10; test %eax,(%r10) */
		end += 10;
	else if (IS_AT(c, end, 0x85, 0x05)) /* test %eax,N(%rip) */
		end += 6;
	if (IS_AT(c, end, 0x0f, 0x87)) /* ja */
		end += 6;
	if (IS_AT(c, end, 0xc3))
		return end + 1;
	return IS_AT(c, end, 0xe9) ? end + 5 : end;
}

/* ---- frames of constant size ---- */

/* The instructions that make the frame, as far as they are found. Returns their end. */
static size_t add_prologue(const struct hotspot_code *c, int32_t size, struct rows *rows)
{
	size_t max = c->frame_complete >= 0 ? (size_t)c->frame_complete : MAX_PROLOGUE;
	int32_t value;

	for (size_t at = 0, n; at < max && at < c->n_bytes && at < MAX_PROLOGUE; at++) {
		n = constant_to_sp(c, at, 0xec, &value);
		if (n == 0)
			continue;
		if (value == size - 16) { /* push %rbp, perhaps mov %rsp,%rbp, sub */
			if (at >= 1 && c->bytes[at - 1] == 0x55)
				add(rows, at, by_sp(16, true));
			else if (at >= 4 && is_enter(c, at - 4))
				add(rows, at - 3, by_sp(16, true));
			return at + n;
		}
		if (value == size - 8) { /* sub, mov %rbp,N(%rsp) */
			add(rows, at + n, by_sp(size, false));
			return at + n + saves_fp(c, at + n);
		}
	}
	return c->frame_complete > 0 ? (size_t)c->frame_complete : 0;
}

/* add $N,%rsp; pop %rbp. `pop` is where that is. Returns where what undoes the frame begins. */
static size_t begin_of_epilogue(const struct hotspot_code *c, size_t pop, int32_t size)
{
	int32_t value;

	if (pop >= 4 && constant_to_sp(c, pop - 4, 0xc4, &value) == 4 && value == size - 16)
		return pop - 4;
	if (pop >= 7 && constant_to_sp(c, pop - 7, 0xc4, &value) == 7 && value == size - 16)
		return pop - 7;
	return pop;
}

static void add_compiled(const struct hotspot_code *c, struct rows *rows)
{
	int32_t size = c->frame_size * 8;
	size_t at;

	add(rows, 0, by_sp(8, false));
	at = add_prologue(c, size, rows);
	add(rows, at, by_sp(size, true));
	while (at < c->n_bytes) {
		const uint8_t *pop = memchr(c->bytes + at, 0x5d, c->n_bytes - at);
		size_t end;

		if (!pop)
			break;
		at = (size_t)(pop - c->bytes);
		if (begin_of_epilogue(c, at, size) == at && size != 16) {
			at++;
			continue;
		}
		end = end_of_return(c, at + 1);
		if (size == 16 && end == at + 1) { /* nothing but a byte */
			at++;
			continue;
		}
		add(rows, at, by_sp(16, true));
		add(rows, at + 1, by_sp(8, false));
		add(rows, end > at + 1 ? end : at + 2, by_sp(size, true));
		at = end > at + 1 ? end : at + 2;
	}
}

/* ---- the others ---- */

/* leave or pop %rbp, and a return; `*ret_end` is behind that. */
static bool is_leaving(const struct hotspot_code *c, size_t at, size_t *ret_end)
{
	size_t ret = at + 1;

	if (c->bytes[at] != 0xc9 && c->bytes[at] != 0x5d)
		return false;
	if (IS_AT(c, ret, 0xc5, 0xf8, 0x77)) /* vzeroupper */
		ret += 3;
	*ret_end = ret + 1;
	return IS_AT(c, ret, 0xc3);
}

/* By frame pointer, but for the instructions that set it up and give it back. */
static void add_by_fp(const struct hotspot_code *c, struct rows *rows)
{
	size_t end;

	for (size_t at = 0; at < c->n_bytes; at++) {
		if (is_enter(c, at)) {
			add(rows, at, by_sp(8, false));
			add(rows, at + 1, by_sp(16, true));
			add(rows, at + 4, by_fp());
			at += 3;
		} else if (is_leaving(c, at, &end)) {
			if (c->bytes[at] == 0x5d)
				add(rows, at, by_sp(16, true));
			add(rows, at + 1, by_sp(8, false));
			add(rows, end, by_fp());
			at = end - 1;
		}
	}
}

/* sub $8,%rsp before a call: C code wants the stack aligned. */
static bool is_aligning(const struct hotspot_code *c, size_t at)
{
	return IS_AT(c, at, 0x48, 0x83, 0xec, 0x08) &&
	       (IS_AT(c, at + 4, 0xe8) || IS_AT(c, at + 4, 0x49, 0xba)); /* or mov $N,%r10; call */
}

/* What it pushes first stays until it returns. */
static void add_frameless(const struct hotspot_code *c, struct rows *rows)
{
	bool has_fp = IS_AT(c, 0, 0x55);
	int32_t size = 8;
	size_t at = 0;

	add(rows, 0, by_sp(size, false));
	for (; at < c->n_bytes; at++) {
		if ((c->bytes[at] & 0xf8) == 0x50) { /* push */
			size += 8;
			add(rows, at + 1, by_sp(size, has_fp));
		} else if (IS_AT(c, at, 0x48, 0x8b, 0xef)) { /* mov %rdi,%rbp */
			at += 2;
		} else {
			break;
		}
	}
	for (; at < c->n_bytes; at++) {
		if (is_aligning(c, at))
			add(rows, at + 4, by_sp(size + 8, has_fp));
		else if (IS_AT(c, at, 0x48, 0x83, 0xc4, 0x08))
			add(rows, at + 4, by_sp(size, has_fp));
	}
}

static bool begins_with_enter(const struct hotspot_code *c)
{
	for (size_t at = 0; at < 64 && at < c->n_bytes; at++)
		if (is_enter(c, at))
			return true;
	return false;
}

size_t hotspot_rows(const struct hotspot_code *c, struct hotspot_row *ret, size_t max)
{
	struct rows rows = { .all = ret, .max = max };

	switch (c->kind) {
	case HOTSPOT_INTERPRETER:
		add(&rows, 0, interpreted());
		break;
	case HOTSPOT_STUBS:
		add(&rows, 0, by_fp());
		add_by_fp(c, &rows);
		break;
	default:
		if (c->kind == HOTSPOT_FRAMELESS ? is_enter(c, 0)
						 : !c->is_method && begins_with_enter(c)) {
			add(&rows, 0, by_sp(8, false));
			add_by_fp(c, &rows);
		} else if (c->kind == HOTSPOT_FRAMELESS) {
			add_frameless(c, &rows);
		} else {
			add_compiled(c, &rows);
		}
	}
	while (rows.n > 0 && ret[rows.n - 1].at >= c->size)
		rows.n--;
	return rows.n;
}
