/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_ring.h - one perf event on one CPU, and the ring buffer the kernel
 * fills for it. Knows nothing about what the records mean.
 */
#ifndef PERF_RING_H
#define PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct perf_ring;

/* `rec` is whole and valid only during the call. Return non-zero to stop before the next. */
typedef int perf_record_fn(const struct perf_event_header *rec, void *ctx);

/*
 * Opens `attr` on `cpu` for all processes. `n_pages` must be a power of two;
 * it is halved, down to one, while the kernel refuses the memory (-EPERM past
 * RLIMIT_MEMLOCK). Fails with -EACCES (no CAP_PERFMON) or -ENODEV (CPU
 * offline); on failure `*ret` is untouched.
 */
int perf_ring_open(const struct perf_event_attr *attr, int cpu, size_t n_pages,
		   struct perf_ring **ret);
void perf_ring_free(struct perf_ring *ring); /* takes NULL */

/*
 * A ring without an event, over `map` of the caller's: a struct
 * perf_event_mmap_page on a page of its own, then `n_pages` of data. For tests.
 */
int perf_ring_over(void *map, size_t n_pages, struct perf_ring **ret);

/* For the event loop. The ring keeps ownership. */
int perf_ring_fd(const struct perf_ring *ring);
size_t perf_ring_pages(const struct perf_ring *ring);

/*
 * Returns what `fn` returned last, 0 when empty, or -EBADMSG for a torn record:
 * then all that waited is skipped.
 */
int perf_ring_drain(struct perf_ring *ring, perf_record_fn *fn, void *ctx);

/*
 * Records lost so far. Exact with PERF_FORMAT_LOST in attr.read_format (Linux
 * 6.0 and newer), else what PERF_RECORD_LOST records have said.
 */
uint64_t perf_ring_lost(struct perf_ring *ring);

#endif
