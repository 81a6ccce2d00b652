/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_trace.c - the reader of trace files and all checks, on any bytes.
 *
 * No crash, no hang, no memory without bounds; and whatever is found is
 * printable, since all of it goes to a terminal.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void examine(const struct trace_check *c)
{
	struct trace_summary s;
	uint64_t n_kinds = 0;
	char loss[256];

	for (enum check_kind k = 0; k < N_CHECK_KINDS; k++) {
		const struct check_finding *f = trace_check_finding(c, k);

		n_kinds += f->count > 0;
		if ((f->count > 0) != (f->n_examples > 0) || f->n_examples > f->count)
			abort();
		for (size_t i = 0; i < f->n_examples; i++) {
			const char *text = f->examples[i].text;

			if (!text_is_utf8(text, strlen(text)) || strchr(text, '\n') ||
			    strchr(text, '\x1b'))
				abort();
		}
	}
	trace_check_summary(c, &s);
	if (s.n_findings != n_kinds)
		abort();
	trace_check_loss(c, loss, sizeof(loss));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_check *c = NULL;
	struct trace_file *f = NULL;

	if (trace_file_open_memory(data, size, &f) == 0 && trace_check_new(&c) == 0) {
		trace_file_limit_block(f, 256 << 10);
		if (trace_check_file(c, f) == 0)
			examine(c);
	}
	trace_check_free(c);
	trace_file_free(f);
	return 0;
}
