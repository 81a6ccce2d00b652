/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_meta.h - what a trace says about itself: clocks, machine, how it was
 * made, how complete it is.
 */
#ifndef TRACE_META_H
#define TRACE_META_H

#include <stdint.h>

#include "trace_writer.h"

/* The first packet of a trace, repeated every 10 s, after a suspend and at the end. */
int trace_meta_clocks(struct trace_writer *w);
/* The same in two steps, for a trace that is begun later than its first packet says. */
#define TRACE_N_CLOCKS 6
void trace_meta_read_clocks(uint64_t ns[TRACE_N_CLOCKS]);
int trace_meta_put_clocks(struct trace_writer *w, const uint64_t ns[TRACE_N_CLOCKS]);

/* TraceUuid and SystemInfo. */
int trace_meta_machine(struct trace_writer *w);

enum trace_milestone { TRACE_STARTED, TRACE_ALL_STARTED, TRACE_DISABLED };
int trace_meta_milestone(struct trace_writer *w, enum trace_milestone what, uint64_t time_ns);

/* Key and value pairs shown on the UI's overview page; string NULL: the number counts. */
struct trace_attribute {
	char key[64];
	char string[512];
	int64_t number;
	bool is_number;
};
int trace_meta_attributes(struct trace_writer *w, const struct trace_attribute *attrs, size_t n);

/*
 * FtraceStats: `dropped[cpu]` events of the ftrace-like sources lost so far;
 * once with `end` false and once with true.
 */
int trace_meta_ftrace_stats(struct trace_writer *w, const uint64_t *dropped, unsigned n_cpus,
			    bool end, uint64_t time_ns);

/* An instant on `track`: `n` events of `source` are missing from here. cpu -1: of several. */
int trace_meta_loss(struct trace_writer *w, uint64_t track, uint64_t time_ns, const char *source,
		    const char *reason, int cpu, uint64_t n);

/* TraceStats: per buffer (one per source) bytes and events lost. */
int trace_meta_stats(struct trace_writer *w, const uint64_t *lost, unsigned n_sources);

#endif
