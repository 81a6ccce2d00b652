/* SPDX-License-Identifier: Apache-2.0 */
/* report_window.h - of what has a beginning and an end: what is meant by --from, --to, --pid,
 * --comm. */
#ifndef REPORT_WINDOW_H
#define REPORT_WINDOW_H

#include "report.h"

struct report_window {
	uint64_t from_ns, to_ns; /* CLOCK_BOOTTIME, as far as there is a recording */
};

void report_window_of(const struct report *r, struct report_window *ret);
bool report_window_has(const struct report_window *w, uint64_t begin_ns, uint64_t end_ns);
/* How much of it lies within. */
uint64_t report_window_part(const struct report_window *w, uint64_t begin_ns, uint64_t end_ns);
/* `name`: a string, of the process. */
bool report_window_is_meant(const struct report *r, int32_t pid, uint32_t name);

#endif
