/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace whose GPU jobs and frames are reported, as text and as JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_fuzz.h"
#include "text.h"
#include "trace_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_BYTES (64u << 20)

static void report_all(const struct trace_index *ix)
{
	const struct trace_gpu_job *jobs;
	size_t n;

	jobs = trace_index_gpu_jobs(ix, &n);
	for (size_t i = 0; i < n; i++)
		if (jobs[i].end_ns < jobs[i].begin_ns ||
		    (jobs[i].stack != TRACE_NONE && jobs[i].stack >= trace_index_n_stacks(ix)))
			abort();
	for (const struct report_mode *m = report_modes; m->run; m++) {
		struct report_options o = { .file = "fuzz", .mode = m, .max_rows = 3 };

		if (!m->needs_gpu)
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
	if (trace_index_want_gpu(ix) == 0 && trace_file_open_memory(data, size, &f) == 0) {
		trace_file_limit_block(f, 256 << 10);
		if (trace_index_read(ix, f) == 0)
			report_all(ix);
		trace_file_free(f);
	}
	trace_index_free(ix);
	return 0;
}
