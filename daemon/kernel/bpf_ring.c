/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_ring.c - the user's end of a BPF object's `ring` and `streams` maps.
 *
 * The layout is the kernel's ABI (Documentation/bpf/ringbuf.rst): one page
 * with the consumer's position, one with the producer's, then the data, mapped
 * twice in a row so that no record is ever split.
 */
#include "bpf_ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct bpf_ring {
	int fd, streams_fd;	     /* the BPF object keeps ownership */
	size_t page_size, size;	     /* of the data, a power of two */
	unsigned long *consumer;     /* position, on a page of its own */
	const uint8_t *producer_map; /* the producer's page, then twice the data */
	bool is_borrowed;	     /* the memory is the caller's */
	unsigned n_cpus;
	struct event_stream *counts; /* n_cpus, scratch for lookups */
};

int bpf_ring_resize(struct bpf_object *obj, size_t bytes)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "ring");
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	if (!map)
		return -ENOENT;
	while (size < bytes && size < (1u << 30))
		size *= 2;
	return bpf_map__set_max_entries(map, (uint32_t)size);
}

int bpf_ring_open(struct bpf_object *obj, struct bpf_ring **ret)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "ring");
	struct bpf_map *streams = bpf_object__find_map_by_name(obj, "streams");
	struct bpf_ring *ring;
	void *p;
	int n, r;

	if (!map || !streams)
		return -ENOENT;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->fd = bpf_map__fd(map);
	ring->streams_fd = bpf_map__fd(streams);
	ring->page_size = (size_t)sysconf(_SC_PAGESIZE);
	ring->size = bpf_map__max_entries(map);

	n = libbpf_num_possible_cpus();
	if (n < 0) {
		r = n;
		goto fail;
	}
	ring->n_cpus = (unsigned)n;
	ring->counts = calloc(ring->n_cpus, sizeof(*ring->counts));
	if (!ring->counts) {
		r = -ENOMEM;
		goto fail;
	}

	p = mmap(NULL, ring->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (p == MAP_FAILED) {
		r = -errno;
		goto fail;
	}
	ring->consumer = p;
	p = mmap(NULL, ring->page_size + 2 * ring->size, PROT_READ, MAP_SHARED, ring->fd,
		 (off_t)ring->page_size);
	if (p == MAP_FAILED) {
		r = -errno;
		goto fail;
	}
	ring->producer_map = p;

	*ret = ring;
	return 0;

fail:
	bpf_ring_free(ring);
	return r;
}

int bpf_ring_over(unsigned long *consumer, const void *producer_map, size_t size,
		  struct bpf_ring **ret)
{
	struct bpf_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	*ring = (struct bpf_ring){ .fd = -1,
				   .streams_fd = -1,
				   .page_size = (size_t)sysconf(_SC_PAGESIZE),
				   .size = size,
				   .consumer = consumer,
				   .producer_map = producer_map,
				   .is_borrowed = true };
	*ret = ring;
	return 0;
}

void bpf_ring_free(struct bpf_ring *ring)
{
	if (!ring)
		return;
	if (ring->producer_map && !ring->is_borrowed)
		munmap((void *)ring->producer_map, ring->page_size + 2 * ring->size);
	if (ring->consumer && !ring->is_borrowed)
		munmap(ring->consumer, ring->page_size);
	free(ring->counts);
	free(ring);
}

int bpf_ring_fd(const struct bpf_ring *ring)
{
	return ring->fd;
}

int bpf_ring_drain(struct bpf_ring *ring, uint64_t horizon_ns, unsigned budget, bpf_ring_fn *fn,
		   void *ctx)
{
	const unsigned long *producer = (const void *)ring->producer_map;
	const uint8_t *data = ring->producer_map + ring->page_size;
	unsigned long pos = __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE);
	unsigned n = 0;

	while (n < budget) {
		unsigned long end = __atomic_load_n(producer, __ATOMIC_ACQUIRE);
		const uint32_t *head = (const void *)(data + (pos & (ring->size - 1)));
		const struct event_hdr *ev = (const void *)(head + 2);
		uint32_t word, len;

		if (pos >= end)
			break;
		word = __atomic_load_n(head, __ATOMIC_ACQUIRE);
		len = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		if (word & BPF_RINGBUF_BUSY_BIT)
			break; /* still being written on another CPU */
		if (len > ring->size || len + BPF_RINGBUF_HDR_SZ > end - pos) {
			__atomic_store_n(ring->consumer, end, __ATOMIC_RELEASE);
			return -EBADMSG;
		}
		if (!(word & BPF_RINGBUF_DISCARD_BIT) && len >= sizeof(*ev)) {
			if (ev->time_ns > horizon_ns)
				break;
			fn(ctx, ev, len);
			n++;
		}
		pos += (len + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
		__atomic_store_n(ring->consumer, pos, __ATOMIC_RELEASE);
	}
	return (int)n;
}

int bpf_ring_count(struct bpf_ring *ring, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	uint32_t key = stream;

	if (cpu >= ring->n_cpus || bpf_map_lookup_elem(ring->streams_fd, &key, ring->counts) < 0)
		return -EINVAL;
	*ret = ring->counts[cpu];
	return 0;
}
