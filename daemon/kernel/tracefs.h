/* SPDX-License-Identifier: Apache-2.0 */
/* tracefs.h - the kernel's list of tracepoints, mounted anywhere or nowhere. */
#ifndef TRACEFS_H
#define TRACEFS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The number of a tracepoint for perf_event_open(2). -ENOENT: this kernel has no
 * such tracepoint; -EACCES, -EPERM: tracefs is not mounted and may not be, or may
 * not be read.
 */
int tracefs_event_id(const char *system, const char *name, uint64_t *ret);

/*
 * The text of a tracepoint's `format` file, NUL-terminated. -E2BIG: it is longer
 * than `size`. Otherwise as above.
 */
int tracefs_event_format(const char *system, const char *name, char *ret, size_t size);

/* Offers the tracepoints of a system, "SYSTEM:NAME", or if there is no such, the systems. */
struct nearest;
void tracefs_offer(const char *system, struct nearest *near);

#endif
