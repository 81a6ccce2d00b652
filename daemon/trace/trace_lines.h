/* SPDX-License-Identifier: Apache-2.0 */
/* trace_lines.h - source lines and inlined functions of frames, at the end of a trace. */
#ifndef TRACE_LINES_H
#define TRACE_LINES_H

#include <stddef.h>
#include <stdint.h>

struct hash;
struct source_place;
struct trace_writer;

/* Zero at first. */
struct trace_lines {
	struct hash *told; /* by module and address */
	uint64_t n;	   /* locations that were put */
};

/* Places of one module, as lines_query_new() gives them; none of them twice. */
int trace_lines_put(struct trace_lines *lines, struct trace_writer *w,
		    const struct source_place *places, size_t n);
void trace_lines_done(struct trace_lines *lines);

#endif
