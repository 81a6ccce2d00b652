/* SPDX-License-Identifier: Apache-2.0 */
/* jit_table.c - the names of one process's generated code, flat. */
#include "jit_table.h"

#include <errno.h>
#include <string.h>

/*
 * Symbols replaced since the time in question that are looked at. Samples are
 * some seconds old at most: a compiler replaces hundreds in that time.
 */
#define MAX_PAST_STEPS 4096

static bool text_valid(const struct jit_table_head *h, uint32_t at, uint32_t len)
{
	return len <= JIT_MAX_NAME && at <= h->n_text && len <= h->n_text - at;
}

static bool symbol_valid(const struct jit_table_head *h, const struct jit_symbol *s)
{
	return s->start < s->end && s->end <= JIT_MAX_ADDR && s->base <= s->start &&
	       s->name_len > 0 && text_valid(h, s->name, s->name_len) &&
	       s->first_line <= h->n_lines && s->n_lines <= h->n_lines - s->first_line;
}

static bool symbols_valid(const struct jit_table *t)
{
	for (uint32_t i = 0; i < t->head.n_symbols; i++) {
		const struct jit_symbol *s = &t->symbols[i];

		if (!symbol_valid(&t->head, s) || (i > 0 && s[-1].end > s->start))
			return false;
	}
	for (uint32_t i = 0; i < t->head.n_past; i++) {
		const struct jit_symbol *s = &t->past[i];

		if (!symbol_valid(&t->head, s) || (i > 0 && s[-1].until_ns > s->until_ns))
			return false;
	}
	return true;
}

static bool lines_valid(const struct jit_table *t)
{
	for (uint32_t i = 0; i < t->head.n_lines; i++)
		if (!text_valid(&t->head, t->lines[i].file, t->lines[i].file_len))
			return false;
	return true;
}

int jit_table_check(const void *data, size_t len, struct jit_table *ret)
{
	const char *p = data;
	struct jit_table t;

	if (len < sizeof(t.head))
		return -EBADMSG;
	memcpy(&t.head, p, sizeof(t.head));
	if (t.head.magic != JIT_TABLE_MAGIC || t.head.n_symbols > JIT_MAX_SYMBOLS ||
	    t.head.n_past > JIT_MAX_PAST || t.head.n_lines > JIT_MAX_LINES ||
	    t.head.n_text > JIT_MAX_TEXT_BYTES || jit_table_size(&t.head) != len)
		return -EBADMSG;
	t.symbols = (const void *)(p + sizeof(t.head));
	t.past = t.symbols + t.head.n_symbols;
	t.lines = (const void *)(t.past + t.head.n_past);
	t.text = (const char *)(t.lines + t.head.n_lines);
	if (!symbols_valid(&t) || !lines_valid(&t))
		return -EBADMSG;
	*ret = t;
	return 0;
}

/* The last one that does not begin behind `pc`. */
static const struct jit_symbol *in_force(const struct jit_table *t, uint64_t pc)
{
	uint32_t lo = 0, hi = t->head.n_symbols;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->symbols[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 && pc < t->symbols[lo - 1].end ? &t->symbols[lo - 1] : NULL;
}

static const struct jit_symbol *replaced(const struct jit_table *t, uint64_t pc, uint64_t time_ns)
{
	uint32_t lo = 0, hi = t->head.n_past;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->past[mid].until_ns <= time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = lo; i < t->head.n_past && i - lo < MAX_PAST_STEPS; i++) {
		const struct jit_symbol *s = &t->past[i];

		if (s->start <= pc && pc < s->end && s->from_ns <= time_ns)
			return s;
	}
	return NULL;
}

static const struct jit_line *line_at(const struct jit_table *t, const struct jit_symbol *s,
				      uint64_t offset)
{
	uint32_t lo = 0, hi = s->n_lines;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->lines[s->first_line + mid].offset <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? &t->lines[s->first_line + lo - 1] : NULL;
}

bool jit_table_find(const struct jit_table *t, uint64_t pc, uint64_t time_ns, struct jit_name *ret)
{
	const struct jit_symbol *s = in_force(t, pc);
	const struct jit_line *line;

	if (!s || time_ns < s->from_ns)
		s = replaced(t, pc, time_ns);
	if (!s)
		return false;
	*ret = (struct jit_name){ .start = s->base,
				  .function = t->text + s->name,
				  .function_len = s->name_len };
	line = line_at(t, s, pc - s->base);
	if (line) {
		ret->start = s->base + line->offset;
		ret->file = line->file_len ? t->text + line->file : NULL;
		ret->file_len = line->file_len;
		ret->line = line->line;
	}
	return true;
}
