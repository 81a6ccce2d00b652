/* SPDX-License-Identifier: Apache-2.0 */
/* report_fuzz.h - a report of any bytes, for the fuzzers of reports. */
#ifndef REPORT_FUZZ_H
#define REPORT_FUZZ_H

#include "report.h"
#include "trace_index.h"

/* Prints it, also what it complains of, into memory: text that does no terminal any harm, or
 * abort(). */
void report_fuzz(const struct report_options *o, const struct trace_index *ix);

#endif
