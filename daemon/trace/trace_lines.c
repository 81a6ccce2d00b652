/* SPDX-License-Identifier: Apache-2.0 */
/* trace_lines.c - source lines and inlined functions, as ModuleSymbols. */
#include "trace_lines.h"

#include <string.h>

#include "hash.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"
#include "trace_symbols.h"
#include "trace_writer.h"

/*
 * Two files with one path and build id (in a container, or before and after an
 * upgrade) are one module to a reader. Without memory: said twice, no harm.
 */
static bool is_new(struct trace_lines *lines, const struct location *loc)
{
	const struct module *m = loc->module;
	const uint64_t key[] = { hash_bytes(m->path, strlen(m->path), 0),
				 hash_bytes(m->build_id, m->build_id_len, 0), loc->rel_pc };

	if (!lines->told && hash_new(&lines->told) < 0)
		return true;
	if (hash_get(lines->told, key, sizeof(key)))
		return false;
	(void)hash_set(lines->told, key, sizeof(key), lines);
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

int trace_lines_put(struct trace_lines *lines, struct trace_writer *w,
		    const struct source_place *places, size_t n)
{
	const struct module *m = places[0].location->module;
	TracePacket pkt = TRACE_PACKET__INIT;
	struct trace_symbols *symbols;
	int r;

	r = trace_symbols_new(m->path, m->build_id, m->build_id_len, &symbols);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++)
		if (is_new(lines, places[i].location))
			r = add_place(symbols, &places[i]);
	pkt.module_symbols = trace_symbols_message(symbols);
	if (r == 0 && trace_symbols_count(symbols) > 0)
		r = trace_writer_put(w, SEQ_SAMPLES, &pkt, 0);
	lines->n += trace_symbols_count(symbols);
	trace_symbols_free(symbols);
	return r;
}

void trace_lines_done(struct trace_lines *lines)
{
	hash_free(lines->told);
	lines->told = NULL;
}
