/* SPDX-License-Identifier: Apache-2.0 */
/* tracefs.h - the kernel's list of tracepoints, mounted anywhere or nowhere. */
#ifndef TRACEFS_H
#define TRACEFS_H

#include <stdint.h>

/*
 * The number of a tracepoint for perf_event_open(2). -ENOENT: this kernel has no
 * such tracepoint; -EACCES, -EPERM: tracefs is not mounted and may not be, or may
 * not be read.
 */
int tracefs_event_id(const char *system, const char *name, uint64_t *ret);

#endif
