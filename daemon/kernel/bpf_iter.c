/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_iter.c - runs a BPF iterator, and hands over the records that it writes. */
#include "bpf_iter.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Read at a time: some of the largest records, whose size fits into 16 bits. */
#define BATCH_BYTES 65536

/* Hands over the whole records of `data`. Returns the bytes of them, or -EBADMSG. */
static ssize_t hand_over(const char *data, size_t len, event_sink_fn *fn, void *fn_ctx)
{
	size_t at = 0;

	while (len - at >= sizeof(struct event_hdr)) {
		const struct event_hdr *ev = (const void *)(data + at);

		if (ev->size < sizeof(*ev) || ev->size > BATCH_BYTES / 2 || ev->size % 8)
			return -EBADMSG;
		if (ev->size > len - at)
			break;
		fn(fn_ctx, ev, ev->size);
		at += ev->size;
	}
	return (ssize_t)at;
}

int bpf_iter_read(int fd, event_sink_fn *fn, void *fn_ctx)
{
	_Alignas(8) char batch[BATCH_BYTES];
	size_t have = 0;

	for (;;) {
		ssize_t n = read(fd, batch + have, sizeof(batch) - have), whole;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return have ? -EBADMSG : 0;
		have += (size_t)n;
		whole = hand_over(batch, have, fn, fn_ctx);
		if (whole < 0)
			return (int)whole;
		have -= (size_t)whole;
		memmove(batch, batch + whole, have);
	}
}

int bpf_iter_run(struct bpf_link *link, event_sink_fn *fn, void *fn_ctx)
{
	int fd = bpf_iter_create(bpf_link__fd(link)), r;

	if (fd < 0)
		return -errno;
	r = bpf_iter_read(fd, fn, fn_ctx);
	close(fd);
	return r;
}
