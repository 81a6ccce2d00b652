/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_report.c - the index of a trace and every way to report, on any bytes.
 *
 * No crash, no hang, no memory without bounds; numbers in the tables are within
 * them; and what is printed is text, since all of it goes to a terminal.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_fuzz.h"
#include "symbolize.h"
#include "text.h"
#include "trace_index.h"

#define MAX_MODES 16
#define SLICE	  "*e*"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void examine_stack(const struct trace_index *ix, uint32_t stack)
{
	size_t n_frames, n_functions, n_lines;
	const uint32_t *lines;
	const uint32_t *frames = trace_index_stack(ix, stack, &n_frames);

	must(n_frames > 0);
	for (size_t i = 0; i < n_frames; i++) {
		const uint32_t *functions = trace_index_frame(ix, frames[i], &n_functions);

		must(n_functions > 0);
		for (size_t k = 0; k < n_functions; k++)
			must(functions[k] < trace_index_n_functions(ix));
		lines = trace_index_frame_lines(ix, frames[i], &n_lines);
		must(n_lines == n_functions);
		for (size_t k = 0; k < n_lines; k++)
			must(trace_index_line(ix, lines[k])->function == functions[k]);
	}
}

static void examine(const struct trace_index *ix)
{
	const struct trace_facts *f = trace_index_facts(ix);
	size_t n, n_sources;
	const struct trace_sample *s = trace_index_samples(ix, &n);

	trace_index_sources(ix, &n_sources);
	must(f->start_ns <= f->end_ns);
	for (size_t i = 0; i < n; i++) {
		must(s[i].source < n_sources);
		must(s[i].thread < trace_index_n_threads(ix));
		must(s[i].ended < trace_index_n_reasons(ix));
		must(s[i].stack < trace_index_n_stacks(ix));
	}
	for (uint32_t i = 0; i < trace_index_n_stacks(ix); i++)
		examine_stack(ix, i);
	for (uint32_t i = 0; i < trace_index_n_threads(ix); i++)
		must(trace_index_thread(ix, i)->process < trace_index_n_processes(ix));
}

static void examine_slices(const struct trace_index *ix)
{
	const struct trace_slice *s;
	size_t n;

	s = trace_index_slices(ix, &n);
	for (size_t i = 0; i < n; i++) {
		must(s[i].begin_ns <= s[i].end_ns);
		must(trace_index_n_called(ix, s[i].name) > 0);
		must((s[i].thread == TRACE_NONE) == (s[i].owner == TRACE_SLICE_OF_NOBODY));
		must(s[i].thread == TRACE_NONE || s[i].thread < trace_index_n_threads(ix));
	}
}

/* What `tracectl symbolize` would ask about. */
static void examine_modules(const struct trace_index *ix)
{
	struct trace_modules ms;

	if (trace_modules_find(ix, &ms) < 0)
		return;
	for (size_t i = 0; i < trace_modules_count(&ms); i++) {
		const struct trace_module *m = trace_modules_at(&ms, i);

		must(m->path[0] && m->build_id_len <= BUILD_ID_MAX && trace_module_count(m) > 0);
		for (size_t k = 1; k < trace_module_count(m); k++)
			must(trace_module_address(m, k - 1)->address <
			     trace_module_address(m, k)->address);
	}
	trace_modules_done(&ms);
}

/* The last bytes choose among the options, so that all are met. */
static void report_all(const struct trace_index *ix, const uint8_t *data, size_t size)
{
	uint8_t pick = size > 8 ? data[size - 1] : 0;
	struct report_options o = {
		.file = "fuzz",
		.by = (enum report_by)(pick % 6),
		.inlined = pick & 8,
		.kernel = pick & 16,
		.by_total = pick & 32,
		.min_percent = pick & 64 ? 1 : 0,
		.max_depth = pick & 128 ? 3 : SIZE_MAX,
		.max_rows = 20,
		.width = pick & 64 ? 80 : 0,
		.slice = size > 8 && data[size - 2] & 1 ? SLICE : NULL,
		.has_from = pick & 2,
		.from_ns = 100000000,
	};

	for (int i = 0; i < MAX_MODES && report_modes[i].run; i++) {
		if (report_modes[i].needs_waits || report_modes[i].needs_gpu ||
		    report_modes[i].needs_network)
			continue;
		o.mode_arg = "*i*";
		o.mode = &report_modes[i];
		report_fuzz(&o, ix);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_index *ix = NULL;
	struct trace_file *f = NULL;
	size_t n;

	if (trace_file_open_memory(data, size, &f) == 0 && trace_index_new(&ix) == 0 &&
	    trace_index_want_slices(ix, SLICE) == 0) {
		trace_file_limit_block(f, 256 << 10);
		trace_index_limit(ix, 64 << 20);
		if (trace_index_read(ix, f) == 0) {
			examine(ix);
			examine_slices(ix);
			examine_modules(ix);
			trace_index_samples(ix, &n);
			if (n > 0)
				report_all(ix, data, size);
		}
	}
	trace_index_free(ix);
	trace_file_free(f);
	return 0;
}
