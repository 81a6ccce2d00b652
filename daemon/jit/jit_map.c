/* SPDX-License-Identifier: Apache-2.0 */
/* jit_map.c - where a process's generated code is, and was. */
#include "jit_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "jit_pieces.h"
#include "jit_table.h"
#include "jit_text.h"

/* Names and lines of what is gone are swept out when they take as much as the rest. */
#define MIN_SWEEP_TEXT	(1u << 20)
#define MIN_SWEEP_LINES (64u * 1024)

struct jit_map {
	struct jit_pieces pieces; /* in force */
	struct jit_symbol *past;
	uint32_t n_past, cap_past;
	struct jit_line *lines;
	uint32_t n_lines, cap_lines;
	struct jit_text *text;
	size_t sweep_text, sweep_lines; /* beyond these it is time to */
	uint64_t newest_ns, version;
};

int jit_map_new(struct jit_map **ret)
{
	struct jit_map *m = calloc(1, sizeof(*m));
	uint64_t seed = 0;
	int r;

	if (!m)
		return -ENOMEM;
	r = jit_text_new(&m->text);
	/* No other map, in another worker, has the same version. */
	if (r == 0 && (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed) ||
		       getrandom(&m->version, sizeof(m->version), GRND_NONBLOCK) < 0))
		r = -EIO;
	if (r < 0) {
		jit_map_free(m);
		return r;
	}
	jit_pieces_init(&m->pieces, seed);
	jit_map_clear(m);
	*ret = m;
	return 0;
}

void jit_map_free(struct jit_map *m)
{
	if (!m)
		return;
	jit_pieces_done(&m->pieces);
	free(m->past);
	free(m->lines);
	jit_text_free(m->text);
	free(m);
}

void jit_map_clear(struct jit_map *m)
{
	jit_pieces_clear(&m->pieces);
	m->n_past = m->n_lines = 0;
	m->newest_ns = 0;
	m->sweep_text = MIN_SWEEP_TEXT;
	m->sweep_lines = MIN_SWEEP_LINES;
	jit_text_clear(m->text);
	m->version++;
}

uint64_t jit_map_version(const struct jit_map *m)
{
	return m->version;
}

size_t jit_map_bytes(const struct jit_map *m)
{
	return sizeof(*m) + jit_pieces_bytes(&m->pieces) + m->cap_past * sizeof(*m->past) +
	       m->cap_lines * sizeof(*m->lines) + jit_text_bytes(m->text);
}

/* `at` with room for one more than `n`, perhaps elsewhere. NULL: out of memory, and it stays. */
static void *with_room(void *at, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t more = *cap ? 2 * *cap : 64;
	void *p;

	if (at && n < *cap)
		return at;
	p = realloc(at, more * size);
	if (p)
		*cap = more;
	return p;
}

/* ---- what is hidden ---- */

static void keep_past(struct jit_map *m, const struct jit_symbol *s, uint64_t time_ns)
{
	struct jit_symbol *past;

	if (s->from_ns >= time_ns)
		return;			 /* it was never in force */
	if (m->n_past == JIT_MAX_PAST) { /* the oldest matter least */
		m->n_past /= 2;
		memmove(m->past, m->past + JIT_MAX_PAST - m->n_past, m->n_past * sizeof(*m->past));
	}
	past = with_room(m->past, m->n_past, &m->cap_past, sizeof(*past));
	if (!past)
		return; /* a name less for what has just been replaced */
	m->past = past;
	m->past[m->n_past] = *s;
	m->past[m->n_past++].until_ns = time_ns;
}

struct retirement {
	struct jit_map *m;
	uint64_t time_ns;
	bool any;
};

static void retire(void *ctx, struct jit_symbol *s)
{
	struct retirement *r = ctx;

	keep_past(r->m, s, r->time_ns);
	r->any = true;
}

/* Pieces that reach over one of the ends go as a whole: there is no room to cut them. */
static void widen(struct jit_map *m, uint64_t *start, uint64_t *end)
{
	const struct jit_symbol *first = jit_pieces_below(&m->pieces, *start);
	const struct jit_symbol *last = jit_pieces_below(&m->pieces, *end);

	if (first && first->end > *start)
		*start = first->start;
	if (last && last->end > *end)
		*end = last->end;
}

/* Hides what is there. Returns whether something was. */
static bool clear_range(struct jit_map *m, uint64_t start, uint64_t end, uint64_t time_ns)
{
	const struct jit_symbol *last = jit_pieces_below(&m->pieces, end);
	struct retirement r = { .m = m, .time_ns = time_ns };

	if (!last || last->end <= start)
		return false; /* as a rule */
	if (m->pieces.n + 3 > JIT_MAX_SYMBOLS)
		widen(m, &start, &end);
	jit_pieces_cut(&m->pieces, start);
	jit_pieces_cut(&m->pieces, end);
	jit_pieces_take(&m->pieces, start, end, retire, &r);
	return r.any;
}

void jit_map_forget(struct jit_map *m, uint64_t time_ns)
{
	uint32_t n = 0;

	while (n < m->n_past && m->past[n].until_ns < time_ns)
		n++;
	m->n_past -= n;
	if (n > 0)
		memmove(m->past, m->past + n, m->n_past * sizeof(*m->past));
}

/* ---- sweeping ---- */

struct sweep {
	struct jit_map *m;
	struct jit_text *text;
	struct jit_line *lines;
	uint32_t n_lines;
	uint32_t line_from, line_to; /* of the last symbol: pieces of one code share them */
	int error;
};

static uint32_t move_text(struct sweep *s, uint32_t at, uint32_t len)
{
	struct jit_text_ref ref = { 0 };
	int r = jit_text_add(s->text, jit_text_data(s->m->text) + at, len, &ref);

	if (r < 0)
		s->error = r;
	return ref.at;
}

static void move_symbol(void *ctx, struct jit_symbol *symbol)
{
	struct sweep *s = ctx;
	uint32_t from = symbol->first_line;

	symbol->name = move_text(s, symbol->name, symbol->name_len);
	if (symbol->n_lines == 0) {
		symbol->first_line = 0;
		return;
	}
	if (s->n_lines > 0 && from == s->line_from) {
		symbol->first_line = s->line_to;
		return;
	}
	if (symbol->n_lines > s->m->n_lines - s->n_lines) { /* pieces far apart: copied twice */
		symbol->first_line = symbol->n_lines = 0;
		return;
	}
	s->line_from = from;
	s->line_to = symbol->first_line = s->n_lines;
	for (uint32_t i = 0; i < symbol->n_lines; i++) {
		struct jit_line line = s->m->lines[from + i];

		line.file = move_text(s, line.file, line.file_len);
		s->lines[s->n_lines++] = line;
	}
}

/* Names and lines that nothing refers to any more go. -ENOMEM: the map is empty then. */
static int sweep(struct jit_map *m)
{
	struct sweep s = { .m = m };
	int r;

	r = jit_text_new(&s.text);
	if (r < 0)
		return r;
	s.lines = malloc((m->n_lines + 1) * sizeof(*s.lines));
	if (!s.lines) {
		jit_text_free(s.text);
		return -ENOMEM;
	}
	jit_pieces_each(&m->pieces, move_symbol, &s);
	for (uint32_t i = 0; i < m->n_past; i++)
		move_symbol(&s, &m->past[i]);
	jit_text_free(m->text);
	free(m->lines);
	m->text = s.text;
	m->lines = s.lines;
	m->cap_lines = m->n_lines + 1;
	m->n_lines = s.n_lines;
	if (s.error < 0)
		jit_map_clear(m);
	m->sweep_text = 2 * jit_text_len(m->text) + MIN_SWEEP_TEXT;
	m->sweep_lines = 2 * (size_t)m->n_lines + MIN_SWEEP_LINES;
	return s.error;
}

static int sweep_if_due(struct jit_map *m)
{
	if (jit_text_len(m->text) < m->sweep_text && m->n_lines < m->sweep_lines)
		return 0;
	return sweep(m);
}

/* ---- changes ---- */

static bool range_valid(uint64_t start, uint64_t size)
{
	return size > 0 && start < JIT_MAX_ADDR && size <= JIT_MAX_ADDR - start;
}

static uint64_t advance(struct jit_map *m, uint64_t time_ns)
{
	if (m->newest_ns < time_ns)
		m->newest_ns = time_ns;
	m->version++;
	return m->newest_ns;
}

static int add_lines(struct jit_map *m, const struct jit_code *code, struct jit_symbol *symbol)
{
	int r = 0;

	symbol->first_line = m->n_lines;
	for (size_t i = 0; i < code->n_lines && r == 0; i++) {
		const struct jit_line_info *info = &code->lines[i];
		struct jit_line *lines;
		struct jit_text_ref file;

		if (m->n_lines >= JIT_MAX_LINES)
			return -ENOSPC;
		lines = with_room(m->lines, m->n_lines, &m->cap_lines, sizeof(*lines));
		if (!lines)
			return -ENOMEM;
		m->lines = lines;
		r = jit_text_add(m->text, info->file, info->file_len, &file);
		if (r < 0)
			break;
		m->lines[m->n_lines++] = (struct jit_line){ .offset = info->offset,
							    .file = file.at,
							    .file_len = file.len,
							    .line = info->line };
		symbol->n_lines++;
	}
	return r;
}

int jit_map_add(struct jit_map *m, const struct jit_code *code)
{
	struct jit_symbol symbol = { .start = code->start,
				     .end = code->start + code->size,
				     .base = code->start,
				     .until_ns = UINT64_MAX };
	struct jit_text_ref name;
	bool hides;
	int r;

	if (!range_valid(code->start, code->size) || code->name_len == 0)
		return -EINVAL;
	r = sweep_if_due(m);
	if (r == 0)
		r = jit_pieces_reserve(&m->pieces);
	if (r < 0)
		return r;
	symbol.from_ns = advance(m, code->time_ns);
	hides = clear_range(m, symbol.start, symbol.end, symbol.from_ns);
	if (code->is_late && !hides)
		symbol.from_ns = 0;

	if (m->pieces.n >= JIT_MAX_SYMBOLS)
		return -ENOSPC;
	r = jit_text_add(m->text, code->name, code->name_len, &name);
	if (r == 0 && name.len == 0)
		r = -EINVAL; /* begins with a NUL */
	if (r < 0)
		return r;
	symbol.name = name.at;
	symbol.name_len = name.len;
	r = add_lines(m, code, &symbol); /* the name is good without them */
	jit_pieces_insert(&m->pieces, &symbol);
	return r;
}

int jit_map_move(struct jit_map *m, uint64_t from, uint64_t to, uint64_t size, uint64_t time_ns)
{
	const struct jit_symbol *old;
	struct jit_symbol symbol;
	int r;

	if (!range_valid(from, size) || !range_valid(to, size))
		return -EINVAL;
	old = jit_pieces_below(&m->pieces, from + 1);
	if (!old || old->start != from || old->base != from)
		return -ENOENT;
	symbol = *old;
	r = jit_pieces_reserve(&m->pieces);
	if (r < 0)
		return r;
	time_ns = advance(m, time_ns);
	(void)clear_range(m, from, from + size, time_ns);
	r = jit_pieces_reserve(&m->pieces);
	if (r < 0)
		return r;
	(void)clear_range(m, to, to + size, time_ns);
	if (m->pieces.n >= JIT_MAX_SYMBOLS)
		return -ENOSPC;
	symbol.start = symbol.base = to;
	symbol.end = to + size;
	symbol.from_ns = time_ns;
	jit_pieces_insert(&m->pieces, &symbol);
	return 0;
}

/* ---- the table ---- */

static struct jit_table_head make_head(const struct jit_map *m)
{
	return (struct jit_table_head){ .magic = JIT_TABLE_MAGIC,
					.n_symbols = m->pieces.n,
					.n_past = m->n_past,
					.n_lines = m->n_lines,
					.n_text = jit_text_len(m->text),
					.newest_ns = m->newest_ns };
}

size_t jit_map_table_size(const struct jit_map *m)
{
	struct jit_table_head head = make_head(m);

	return (size_t)jit_table_size(&head);
}

static void write_symbol(void *ctx, struct jit_symbol *symbol)
{
	uint8_t **p = ctx;

	memcpy(*p, symbol, sizeof(*symbol));
	*p += sizeof(*symbol);
}

void jit_map_write_table(const struct jit_map *m, void *dst)
{
	struct jit_table_head head = make_head(m);
	uint8_t *p = dst;

	memcpy(p, &head, sizeof(head));
	p += sizeof(head);
	jit_pieces_each(&m->pieces, write_symbol, &p);
	if (m->n_past)
		memcpy(p, m->past, m->n_past * sizeof(*m->past));
	p += m->n_past * sizeof(*m->past);
	if (m->n_lines)
		memcpy(p, m->lines, m->n_lines * sizeof(*m->lines));
	p += m->n_lines * sizeof(*m->lines);
	if (head.n_text)
		memcpy(p, jit_text_data(m->text), head.n_text);
}
