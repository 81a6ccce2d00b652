/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_lines.c - source lines and inlined functions of what a session has
 * sampled, as ModuleSymbols at the end of its trace.
 *
 * Asked for after the last event, so that reading DWARF costs the recording
 * nothing; the end of the trace waits for the answers, but not long.
 */
#include <string.h>

#include "clock.h"
#include "hash.h"
#include "session_impl.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"
#include "trace_symbols.h"
#include "trace_writer.h"

/* How long the end of a recording waits. What is not known by then is left out. */
#define MAX_WAIT_NS (3 * NS_PER_SEC)

/*
 * Two files with one path and build id (in a container, or before and after an
 * upgrade) are one module to a reader. Without memory: said twice, no harm.
 */
static bool is_new(struct session *s, const struct location *loc)
{
	const struct module *m = loc->module;
	const uint64_t key[] = { hash_bytes(m->path, strlen(m->path), 0),
				 hash_bytes(m->build_id, m->build_id_len, 0), loc->rel_pc };

	if (!s->lines_told && hash_new(&s->lines_told) < 0)
		return true;
	if (hash_get(s->lines_told, key, sizeof(key)))
		return false;
	(void)hash_set(s->lines_told, key, sizeof(key), s);
	return true;
}

/*
 * The outermost one is the frame's own function: it keeps the name that it has
 * elsewhere in the trace, where there is one.
 */
static int add_place(struct trace_symbols *symbols, const struct source_place *place)
{
	struct trace_symbol_line lines[FILES_FRAMES_MAX];
	const struct location *loc = place->location;

	if (place->n == 0 || (place->n == 1 && loc->has_symbol && !place->frames[0].source_len))
		return 0; /* nothing that the frame does not say */
	for (size_t i = 0; i < place->n; i++) {
		const struct source_frame *f = &place->frames[i];

		lines[i] = (struct trace_symbol_line){ f->function, f->source, f->function_len,
						       f->source_len, f->line };
	}
	if (loc->has_symbol) {
		lines[place->n - 1].function = loc->function;
		lines[place->n - 1].function_len = strlen(loc->function);
	}
	return trace_symbols_add(symbols, loc->rel_pc, lines, place->n);
}

static int write_places(struct session *s, const struct source_place *places, size_t n)
{
	const struct module *m = places[0].location->module;
	TracePacket pkt = TRACE_PACKET__INIT;
	struct trace_symbols *symbols;
	int r;

	r = trace_symbols_new(m->path, m->build_id, m->build_id_len, &symbols);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++)
		if (is_new(s, places[i].location))
			r = add_place(symbols, &places[i]);
	pkt.module_symbols = trace_symbols_message(symbols);
	if (r == 0 && trace_symbols_count(symbols) > 0)
		r = trace_writer_put(s->writer, SEQ_SAMPLES, &pkt, 0);
	s->n_lines += trace_symbols_count(symbols);
	trace_symbols_free(symbols);
	return r;
}

static void on_places(void *ctx, const struct source_place *places, size_t n)
{
	struct session *s = ctx;
	int r = s->error;

	if (r == 0)
		r = write_places(s, places, n);
	if (r < 0)
		s->error = r;
}

int session_begin_lines(struct session *s, uint64_t now_ns)
{
	struct location *const *locs;
	size_t n = trace_writer_places(s->writer, &locs);
	int r;

	s->lines_until_ns = now_ns + MAX_WAIT_NS;
	trace_writer_source(s->writer, MAX_COLLECTORS - 1, s->stop_ns);
	r = n ? lines_query_new(s->env.symbolizer, locs, n, on_places, s, &s->lines) : 0;
	return r < 0 ? r : s->error;
}

bool session_lines_pending(const struct session *s, uint64_t now_ns)
{
	return s->lines && !lines_query_done(s->lines) && now_ns < s->lines_until_ns;
}

void session_end_lines(struct session *s)
{
	if (s->lines)
		s->n_lines_missed = lines_query_missed(s->lines);
	s->n_lines_missed += trace_writer_places_over(s->writer);
	lines_query_free(s->lines);
	s->lines = NULL;
	hash_free(s->lines_told);
	s->lines_told = NULL;
}
