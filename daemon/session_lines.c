/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_lines.c - source lines and inlined functions of what a session has
 * sampled, as ModuleSymbols at the end of its trace.
 *
 * Asked for after the last event, so that reading DWARF costs the recording
 * nothing; the end of the trace waits for the answers, but not long. A reader
 * takes only those that meet a frame: exactly the module's path and build id,
 * and the frame's address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "session_impl.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"
#include "text.h"
#include "trace_writer.h"

/* How long the end of a recording waits. What is not known by then is left out. */
#define MAX_WAIT_NS (3 * NS_PER_SEC)

/* One packet while it is made: some places of one module. */
struct symbols {
	ModuleSymbols msg;
	AddressSymbols addresses[FILES_BATCH_MAX], *address_ptrs[FILES_BATCH_MAX];
	Line lines[FILES_BATCH_MAX * FILES_FRAMES_MAX];
	Line *line_ptrs[FILES_BATCH_MAX * FILES_FRAMES_MAX];
	size_t n_lines;
	char *text; /* where strings are made: there is room for all */
};

/* Room for all strings of these places; of what is not UTF-8 each byte becomes three. */
static size_t text_room(const struct source_place *places, size_t n)
{
	size_t room = strlen(places[0].location->module->path) + 2;

	for (size_t i = 0; i < n; i++) {
		room += strlen(places[i].location->function) + 1;
		for (size_t j = 0; j < places[i].n; j++)
			room += 3 * places[i].frames[j].function_len +
				3 * places[i].frames[j].source_len + 2;
	}
	return room;
}

/* NULL for an empty one. */
static char *put_text(struct symbols *s, const char *text, size_t len)
{
	char *at = s->text;

	if (len == 0)
		return NULL;
	s->text += text_utf8(at, 3 * len + 1, text, len) + 1;
	return at;
}

/*
 * The outermost one is the frame's own function: it keeps the name that it has
 * elsewhere in the trace, where there is one.
 */
static void add_line(struct symbols *s, const struct source_frame *f, const struct location *own)
{
	Line *line = &s->lines[s->n_lines];

	line__init(line);
	if (own && own->has_symbol)
		line->function_name = put_text(s, own->function, strlen(own->function));
	else
		line->function_name = put_text(s, f->function, f->function_len);
	line->source_file_name = put_text(s, f->source, f->source_len);
	line->has_line_number = f->line != 0;
	line->line_number = f->line;
	s->line_ptrs[s->n_lines++] = line;
}

static void add_place(struct symbols *s, const struct source_place *place)
{
	AddressSymbols *a = &s->addresses[s->msg.n_address_symbols];

	if (place->n == 0)
		return;
	address_symbols__init(a);
	a->has_address = 1;
	a->address = place->location->rel_pc;
	a->lines = s->line_ptrs + s->n_lines;
	a->n_lines = place->n;
	for (size_t i = 0; i < place->n; i++)
		add_line(s, &place->frames[i], i + 1 == place->n ? place->location : NULL);
	s->address_ptrs[s->msg.n_address_symbols++] = a;
}

/* As the importer writes it: every path begins with a slash there. */
static void set_module(struct symbols *s, const struct module *m)
{
	s->msg.path = s->text;
	if (m->path[0] != '/')
		*s->text++ = '/';
	s->text += strlen(strcpy(s->text, m->path)) + 1;
	s->msg.has_build_id = m->build_id_len != 0;
	s->msg.build_id.data = (uint8_t *)m->build_id;
	s->msg.build_id.len = m->build_id_len;
}

static int write_places(struct session *s, const struct source_place *places, size_t n)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	struct symbols *sym = malloc(sizeof(*sym));
	char *text = malloc(text_room(places, n));
	int r = -ENOMEM;

	if (sym && text) {
		module_symbols__init(&sym->msg);
		sym->msg.address_symbols = sym->address_ptrs;
		sym->n_lines = 0;
		sym->text = text;
		set_module(sym, places[0].location->module);
		for (size_t i = 0; i < n; i++)
			add_place(sym, &places[i]);
		pkt.module_symbols = &sym->msg;
		r = sym->msg.n_address_symbols ? trace_writer_put(s->writer, SEQ_SAMPLES, &pkt, 0)
					       : 0;
		s->n_lines += sym->msg.n_address_symbols;
	}
	free(text);
	free(sym);
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
}
