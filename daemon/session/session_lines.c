/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_lines.c - source lines and inlined functions of what a session has
 * sampled, as ModuleSymbols at the end of its trace.
 *
 * Asked for after the last event, so that reading DWARF costs the recording
 * nothing; the end of the trace waits for the answers, but not long.
 */
#include "clock.h"
#include "session_impl.h"
#include "symbolize/symbolizer.h"
#include "trace_lines.h"
#include "trace_writer.h"

/* How long the end of a recording waits. What is not known by then is left out. */
#define MAX_WAIT_NS (3 * NS_PER_SEC)

static void on_places(void *ctx, const struct source_place *places, size_t n)
{
	struct session *s = ctx;
	int r = s->error;

	if (r == 0)
		r = trace_lines_put(&s->told, s->writer, places, n);
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
	trace_lines_done(&s->told);
}
