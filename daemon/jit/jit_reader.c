/* SPDX-License-Identifier: Apache-2.0 */
/* jit_reader.c - reads a perf map or a jitdump file, and reads on when there is more. */
#include "jit_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "jit_map.h"
#include "perf_map.h"

#define WINDOW_BYTES JITDUMP_WINDOW
/* In one go: 16 MiB, or as many jumps over code; and pieces of code, some microseconds each. */
#define MAX_WINDOWS 64
#define MAX_CHANGES 16384

/* Samples are some seconds old when they are asked about; these are enough. */
#define KEEP_PAST_NS (30 * NS_PER_SEC)

/* By these bytes it is known whether the file is still the one read before. */
#define MARK_BYTES 64

struct mark {
	uint64_t off;
	size_t len;
	uint8_t bytes[MARK_BYTES];
};

struct jit_reader {
	enum jit_format format;
	struct jit_map *map;
	struct perf_map text;
	struct jitdump dump;
	uint64_t off; /* read up to here */
	struct mark first, last;
	bool is_too_large;
	bool is_first; /* not at the end of the file yet, not even once */
	uint32_t n_restarts;
	uint8_t window[WINDOW_BYTES];
};

int jit_reader_new(enum jit_format format, struct jit_reader **ret)
{
	struct jit_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->format = format;
	r->is_first = true;
	jitdump_init(&r->dump);
	err = jit_map_new(&r->map);
	if (err < 0) {
		jit_reader_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void jit_reader_free(struct jit_reader *r)
{
	if (!r)
		return;
	jitdump_done(&r->dump);
	jit_map_free(r->map);
	free(r);
}

const struct jit_map *jit_reader_map(const struct jit_reader *r)
{
	return r->map;
}

size_t jit_reader_bytes(const struct jit_reader *r)
{
	return sizeof(*r) + jit_map_bytes(r->map);
}

/* ---- is it the same file? ---- */

static void set_mark(struct mark *m, uint64_t off, const uint8_t *data, size_t len)
{
	m->off = off;
	m->len = len < MARK_BYTES ? len : MARK_BYTES;
	memcpy(m->bytes, data, m->len);
}

static bool mark_holds(const struct mark *m, int fd)
{
	uint8_t bytes[MARK_BYTES];

	return m->len == 0 || (pread(fd, bytes, m->len, (off_t)m->off) == (ssize_t)m->len &&
			       memcmp(bytes, m->bytes, m->len) == 0);
}

/* What was read, between `off` and the new r->off. */
static void note_progress(struct jit_reader *r, const uint8_t *data, uint64_t off, uint64_t used)
{
	size_t tail = used < MARK_BYTES ? (size_t)used : MARK_BYTES;

	if (r->first.len == 0)
		set_mark(&r->first, off, data, (size_t)(used < MARK_BYTES ? used : MARK_BYTES));
	if (r->format == JIT_PERF_MAP)
		set_mark(&r->last, off + used - tail, data + used - tail, tail);
	else /* the record's head is there, its end may not be */
		set_mark(&r->last, off, data, tail);
}

static void start_anew(struct jit_reader *r)
{
	jit_map_clear(r->map);
	jitdump_done(&r->dump);
	jitdump_init(&r->dump);
	r->text = (struct perf_map){ .n_bad = r->text.n_bad, .n_over_cap = r->text.n_over_cap };
	r->off = 0;
	r->first.len = r->last.len = 0;
	r->is_too_large = false;
	r->is_first = true;
	r->n_restarts++;
}

/* ---- reading ---- */

/* Bytes used, 0: no more to be had now, or -errno. */
static int64_t take_text(struct jit_reader *r, size_t len)
{
	size_t used = perf_map_parse(&r->text, (const char *)r->window, len, r->map);

	if (used > 0)
		note_progress(r, r->window, r->off, used);
	return (int64_t)used;
}

static int64_t take_records(struct jit_reader *r, size_t len, uint64_t size)
{
	uint64_t used = 0;

	if (r->off == 0) {
		int64_t n = jitdump_begin(&r->dump, r->window, len);

		if (n < 0)
			return size < JITDUMP_HEADER_LEN ? 0 : n;
		note_progress(r, r->window, 0, JITDUMP_HEADER_LEN);
		return n;
	}
	while (used < len) {
		int64_t n = jitdump_take(&r->dump, r->window + used, len - (size_t)used,
					 size - r->off - used, r->map);

		if (n == -EAGAIN && used > 0)
			break;
		if (n <= 0)
			return used > 0 ? (int64_t)used : n == -EAGAIN ? 0 : n;
		note_progress(r, r->window + used, r->off + used,
			      (uint64_t)n < len - used ? (uint64_t)n : len - used);
		used += (uint64_t)n;
	}
	return (int64_t)used;
}

static int read_slice(struct jit_reader *r, int fd, uint64_t size, bool *ret_complete)
{
	const uint64_t version = jit_map_version(r->map);

	for (unsigned i = 0;
	     i < MAX_WINDOWS && r->off < size && jit_map_version(r->map) - version < MAX_CHANGES;
	     i++) {
		uint64_t left = size - r->off;
		ssize_t len = pread(fd, r->window, left < WINDOW_BYTES ? left : WINDOW_BYTES,
				    (off_t)r->off);
		int64_t used;

		if (len < 0)
			return -EIO;
		*ret_complete = true;
		if (len == 0)
			return 0;
		used = r->format == JIT_PERF_MAP ? take_text(r, (size_t)len)
						 : take_records(r, (size_t)len, size);
		if (used == -EBADMSG || used == 0)
			return 0;
		if (used < 0)
			return (int)used;
		r->off += (uint64_t)used;
		*ret_complete = r->off >= size;
	}
	return 0;
}

int jit_reader_read(struct jit_reader *r, int fd, const struct jit_read *read,
		    struct jit_read_result *ret)
{
	uint64_t size, max = r->format == JIT_DUMP ? JIT_MAX_DUMP_BYTES : JIT_MAX_PERF_MAP_BYTES;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st) < 0)
		return -EIO;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	size = (uint64_t)st.st_size;
	if (size < r->off || !mark_holds(&r->first, fd) || !mark_holds(&r->last, fd))
		start_anew(r);
	if (size > max) {
		size = max;
		r->is_too_large = true;
	}
	r->text.time_ns = read->since_ns;
	r->text.is_first = r->is_first;
	r->dump.now_ns = read->now_ns;
	r->dump.boot_offset_ns = read->boot_offset_ns;
	*ret = (struct jit_read_result){ .is_complete = true };
	if (r->dump.refusal == JITDUMP_FINE)
		err = read_slice(r, fd, size, &ret->is_complete);
	if (ret->is_complete)
		r->is_first = false;
	if (read->now_ns > KEEP_PAST_NS)
		jit_map_forget(r->map, read->now_ns - KEEP_PAST_NS);
	ret->is_too_large = r->is_too_large;
	ret->refusal = r->dump.refusal;
	ret->n_restarts = r->n_restarts;
	ret->n_bad = r->text.n_bad + r->dump.n_bad;
	ret->n_over_cap = r->text.n_over_cap + r->dump.n_over_cap;
	return err;
}
