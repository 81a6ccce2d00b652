/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_slices.h - the samples that lie in slices of a name (--slice).
 *
 * In a thread's slice are its own samples, in that of a process those of all its threads.
 * A slice inside of another one of those that are meant (a call that calls itself) is a
 * part of that one; a sample counts once, in however many it lies.
 */
#ifndef REPORT_SLICES_H
#define REPORT_SLICES_H

#include "json.h"
#include "report.h"

struct report_slices {
	bool *has; /* for each sample of the index: it lies in one of them */

	/* Those that are meant and not inside of another one; of each what lies between
	 * --from and --to. */
	uint64_t n_of_threads, n_of_processes, n_of_nobody;
	uint64_t n_inside; /* beside these */
	uint64_t n_unfinished, n_without_samples;
	uint64_t total_ns;
	uint64_t *durations; /* of all of these, the shortest first */
	size_t n;
};

/*
 * Sets `r->slices`, by which report_is_meant() goes from then on; what else decides which
 * samples are meant is set already. -ENOENT: there are no such slices, said on stderr.
 */
int report_slices_select(struct report *r);
void report_slices_free(struct report_slices *s); /* takes NULL */
/* That no sample lies in them, on stderr. */
void report_slices_complain(const struct report *r);
void report_slices_head(const struct report *r);
void report_slices_json(const struct report *r, struct json *j);

/* ---- report_slice_names.c ---- */

/* That there are no slices of the name, and which are near it, on stderr. */
void report_slice_names(const struct report *r);

#endif
