/* SPDX-License-Identifier: Apache-2.0 */
/* perf_ring.c - one perf event on one CPU, and the ring buffer the kernel fills for it. */
#include "perf_ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4) /* Linux 6.0 */
#endif

struct perf_ring {
	int fd;
	struct perf_event_mmap_page *meta; /* first page of the mapping, then the data */
	size_t page_size, data_size;
	uint64_t n_lost_records; /* told by PERF_RECORD_LOST */
	bool reads_lost;
	bool is_borrowed; /* the mapping is the caller's */
	/* header.size is 16 bits: a record that wraps is joined here */
	_Alignas(8) uint8_t record[1 << 16];
};

static int map_pages(struct perf_ring *ring, size_t n_pages)
{
	for (;; n_pages /= 2) {
		void *map = mmap(NULL, (1 + n_pages) * ring->page_size, PROT_READ | PROT_WRITE,
				 MAP_SHARED, ring->fd, 0);

		if (map != MAP_FAILED) {
			ring->meta = map;
			ring->data_size = n_pages * ring->page_size;
			return 0;
		}
		if ((errno != EPERM && errno != ENOMEM) || n_pages == 1)
			return -errno;
	}
}

int perf_ring_open(const struct perf_event_attr *attr, int cpu, size_t n_pages,
		   struct perf_ring **ret)
{
	struct perf_event_attr own = *attr;
	struct perf_ring *ring;
	int r;

	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->page_size = (size_t)sysconf(_SC_PAGESIZE);
	ring->reads_lost = attr->read_format & PERF_FORMAT_LOST;

	ring->fd = (int)syscall(SYS_perf_event_open, &own, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0 && errno == EINVAL && ring->reads_lost) {
		/* Before Linux 6.0: the records of loss have to do. */
		own.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
		ring->reads_lost = false;
		ring->fd =
			(int)syscall(SYS_perf_event_open, &own, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	if (ring->fd < 0) {
		r = -errno;
		goto fail;
	}
	r = map_pages(ring, n_pages);
	if (r < 0)
		goto fail;

	*ret = ring;
	return 0;

fail:
	perf_ring_free(ring);
	return r;
}

int perf_ring_over(void *map, size_t n_pages, struct perf_ring **ret)
{
	struct perf_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	ring->fd = -1;
	ring->is_borrowed = true;
	ring->page_size = (size_t)sysconf(_SC_PAGESIZE);
	ring->meta = map;
	ring->data_size = n_pages * ring->page_size;
	*ret = ring;
	return 0;
}

void perf_ring_free(struct perf_ring *ring)
{
	if (!ring)
		return;
	if (ring->meta && !ring->is_borrowed)
		munmap(ring->meta, ring->page_size + ring->data_size);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring);
}

int perf_ring_fd(const struct perf_ring *ring)
{
	return ring->fd;
}

size_t perf_ring_pages(const struct perf_ring *ring)
{
	return ring->data_size / ring->page_size;
}

/*
 * The record at `pos`, joined if it wraps; NULL: what is there is none. A header
 * is 8 bytes, records are multiples of 8: a header never crosses the end.
 */
static const struct perf_event_header *record_at(struct perf_ring *ring, uint64_t pos,
						 uint64_t head)
{
	const uint8_t *data = (const uint8_t *)ring->meta + ring->page_size;
	size_t off = pos & (ring->data_size - 1);
	const struct perf_event_header *rec = (const void *)(data + off);
	size_t first = ring->data_size - off, size = rec->size;

	if (size < sizeof(*rec) || size % 8 || size > head - pos || size > ring->data_size)
		return NULL;
	if (size <= first)
		return rec;
	memcpy(ring->record, rec, first);
	memcpy(ring->record + first, data, size - first);
	return (const void *)ring->record;
}

static void note_loss(struct perf_ring *ring, const struct perf_event_header *rec)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} lost;

	if (rec->type != PERF_RECORD_LOST || rec->size < sizeof(lost))
		return;
	memcpy(&lost, rec, sizeof(lost));
	ring->n_lost_records += lost.lost;
}

int perf_ring_drain(struct perf_ring *ring, perf_record_fn *fn, void *ctx)
{
	uint64_t head = __atomic_load_n(&ring->meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->meta->data_tail;
	int r = 0;

	while (tail < head && r == 0) {
		const struct perf_event_header *rec = tail % 8 ? NULL : record_at(ring, tail, head);

		if (!rec) {
			tail = head; /* the ring starts anew */
			r = -EBADMSG;
			break;
		}
		note_loss(ring, rec);
		tail += rec->size;
		r = fn(rec, ctx);
	}
	__atomic_store_n(&ring->meta->data_tail, tail, __ATOMIC_RELEASE);
	return r;
}

uint64_t perf_ring_lost(struct perf_ring *ring)
{
	uint64_t values[8]; /* value, [enabled], [running], [id], lost: lost comes last */
	ssize_t n;

	if (!ring->reads_lost)
		return ring->n_lost_records;
	n = read(ring->fd, values, sizeof(values));
	if (n < (ssize_t)sizeof(values[0]))
		return ring->n_lost_records;
	return values[n / (ssize_t)sizeof(values[0]) - 1];
}
