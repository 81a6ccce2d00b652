/* SPDX-License-Identifier: Apache-2.0 */
/* report_completeness.h - how many of the stacks that are meant are whole. */
#ifndef REPORT_COMPLETENESS_H
#define REPORT_COMPLETENESS_H

#include "report.h"
#include "stack_end.h"

#define COMPLETENESS_MAX_REASONS 256 /* an index has no more */

struct completeness_row {
	uint32_t process;			/* not in that of all */
	uint64_t n_samples, n_whole, n_without; /* without: STACK_NONE */
	uint64_t *reasons;			/* samples by number of the reason */
};

struct completeness {
	struct completeness_row all;
	struct completeness_row *processes; /* that have samples; where most is missing first */
	size_t n_processes;
	uint64_t n_reasons_said;
	uint64_t *counts;
};

int completeness_count(const struct report *r, struct completeness *ret);
void completeness_done(struct completeness *c);

#endif
