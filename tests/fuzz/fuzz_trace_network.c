/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace whose network is reported, as text and as JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_fuzz.h"
#include "text.h"
#include "trace_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_BYTES (64u << 20)

static void examine(const struct trace_index *ix)
{
	size_t n, n_args, n_parts;
	const struct trace_net *items = trace_index_network(ix, &n);
	const struct trace_net_part *parts = trace_index_net_parts(ix, &n_parts);

	trace_index_net_args(ix, &n_args);
	for (size_t i = 0; i < n; i++) {
		if (items[i].end_ns < items[i].begin_ns ||
		    (uint64_t)items[i].first_part + items[i].n_parts > n_parts ||
		    (uint64_t)items[i].first_arg + items[i].n_args > n_args ||
		    (items[i].process != TRACE_NONE &&
		     items[i].process >= trace_index_n_processes(ix)))
			abort();
		for (uint32_t k = 0; k < items[i].n_parts; k++)
			if (parts[items[i].first_part + k].end_ns <
			    parts[items[i].first_part + k].begin_ns)
				abort();
	}
}

static void report_all(const struct trace_index *ix, unsigned width)
{
	for (const struct report_mode *m = report_modes; m->run; m++) {
		struct report_options o = {
			.file = "fuzz", .mode = m, .max_rows = 3, .width = width
		};

		if (!m->needs_network)
			continue;
		report_fuzz(&o, ix);
		o.json = true;
		report_fuzz(&o, ix);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_index *ix;
	struct trace_file *f;

	if (trace_index_new(&ix) < 0)
		return 0;
	trace_index_limit(ix, MAX_BYTES);
	if (trace_index_want_network(ix) == 0 && trace_file_open_memory(data, size, &f) == 0) {
		trace_file_limit_block(f, 256 << 10);
		if (trace_index_read(ix, f) == 0) {
			examine(ix);
			report_all(ix, size ? data[size - 1] * 5u : 0);
		}
		trace_file_free(f);
	}
	trace_index_free(ix);
	return 0;
}
