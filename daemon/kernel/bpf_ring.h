/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_ring.h - the user's end of a BPF object's `ring` and `streams` maps
 * (bpf/common.bpf.h). Knows the head of a record and nothing of what follows.
 *
 * libbpf's ring_buffer__poll() runs until the ring is empty, so that a busy
 * ring starves everything else; this one stops at a time and at a number.
 */
#ifndef BPF_RING_H
#define BPF_RING_H

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

struct bpf_ring;
struct event_loop;

/* `ev` is valid only during the call; `len` >= sizeof(*ev) is checked. */
typedef void bpf_ring_fn(void *ctx, const struct event_hdr *ev, size_t len);

/*
 * Sets the size of `ring`; call between the skeleton's open and load. Rounds up
 * to a power of two of whole pages.
 */
int bpf_ring_resize(struct bpf_object *obj, size_t bytes);

/* Maps the ring of a loaded object, which must outlive it. */
int bpf_ring_open(struct bpf_object *obj, struct bpf_ring **ret);
void bpf_ring_free(struct bpf_ring *ring); /* takes NULL */

/*
 * A ring of no BPF object, over memory of the caller's: the consumer's position,
 * and the producer's page followed by twice the `size` bytes of data. For tests.
 */
int bpf_ring_over(unsigned long *consumer, const void *producer_map, size_t size,
		  struct bpf_ring **ret);

/*
 * Hands over records until one is younger than `horizon_ns`, or `budget` of
 * them, or the ring is empty. Returns the number handed over, or -EBADMSG when
 * what is there cannot be a record: then all that waited is skipped.
 */
int bpf_ring_drain(struct bpf_ring *ring, uint64_t horizon_ns, unsigned budget, bpf_ring_fn *fn,
		   void *ctx);

/* Readable when more than the object's `wakeup_bytes` wait. The ring keeps it. */
int bpf_ring_fd(const struct bpf_ring *ring);

/* The kernel's counters. -EINVAL for a stream or CPU that does not exist. */
int bpf_ring_count(struct bpf_ring *ring, unsigned stream, unsigned cpu, struct event_stream *ret);

#endif
