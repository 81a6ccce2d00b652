/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_jit.c - what the worker does that reads perf maps and jitdump files.
 *
 * What it has read of a file is kept, most recently used first: only what was
 * added has to be read the next time.
 */
#include "files_jit.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "files_worker.h"
#include "jit/jit_map.h"
#include "jit_question.h"

struct kept {
	TAILQ_ENTRY(kept) link;
	uint64_t id;
	struct jit_reader *reader;
	size_t bytes;
	unsigned n_slices; /* of a reading that is not over */
};

TAILQ_HEAD(kept_list, kept);

/* There is one worker in a process. */
static struct {
	struct hash *by_id;
	struct kept_list list;
	size_t bytes;
} all = { .list = TAILQ_HEAD_INITIALIZER(all.list) };

static void forget(struct kept *k)
{
	hash_remove_u64(all.by_id, k->id);
	TAILQ_REMOVE(&all.list, k, link);
	assert(TAILQ_LAST(&all.list, kept_list) != k); /* for the analyzer */
	all.bytes -= k->bytes;
	jit_reader_free(k->reader);
	free(k);
}

static int add(uint64_t id, enum jit_format format, struct kept **ret)
{
	struct kept *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	k->id = id;
	r = jit_reader_new(format, &k->reader);
	if (r == 0)
		r = hash_set_u64(all.by_id, id, k);
	if (r < 0) {
		jit_reader_free(k->reader);
		free(k);
		return r;
	}
	TAILQ_INSERT_HEAD(&all.list, k, link);
	*ret = k;
	return 0;
}

static int get(uint64_t id, enum jit_format format, struct kept **ret)
{
	struct kept *k;

	if (!all.by_id && hash_new(&all.by_id) < 0)
		return -ENOMEM;
	k = hash_get_u64(all.by_id, id);
	if (!k)
		return add(id, format, ret);
	TAILQ_REMOVE(&all.list, k, link);
	TAILQ_INSERT_HEAD(&all.list, k, link);
	*ret = k;
	return 0;
}

static void account(struct kept *k)
{
	struct kept *old;

	all.bytes -= k->bytes;
	k->bytes = jit_reader_bytes(k->reader);
	all.bytes += k->bytes;
	while (all.bytes > FILES_KEEP_BYTES && (old = TAILQ_LAST(&all.list, kept_list)) != k)
		forget(old);
}

static int write_all(int fd, const void *data, size_t len, off_t at)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int write_table(int out_fd, const struct jit_map *map, struct jit_answer *a)
{
	void *table;
	int r;

	a->table_len = jit_map_table_size(map);
	a->flags |= JIT_ANSWER_TABLE;
	table = malloc(a->table_len);
	if (!table)
		return -ENOMEM;
	jit_map_write_table(map, table);
	r = write_all(out_fd, table, a->table_len, sizeof(*a));
	free(table);
	return r;
}

static int answer(int fd, int out_fd, struct kept *k, const struct files_request *req)
{
	const struct jit_read read = { .now_ns = req->generated.now_ns,
				       .since_ns = req->generated.since_ns,
				       .boot_offset_ns = req->generated.boot_offset_ns };
	const struct jit_map *map = jit_reader_map(k->reader);
	const uint64_t before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct jit_read_result result;
	struct jit_answer a = { 0 };
	int r;

	r = jit_reader_read(k->reader, fd, &read, &result);
	if (r < 0)
		return r;
	a.flags = (result.is_complete ? JIT_ANSWER_COMPLETE : 0) |
		  (result.is_too_large ? JIT_ANSWER_TOO_LARGE : 0);
	a.refusal = result.refusal;
	a.version = jit_map_version(map);
	a.n_bad = result.n_bad;
	a.n_over_cap = result.n_over_cap;
	k->n_slices = result.is_complete ? 0 : k->n_slices + 1;
	/* Of a long reading so far: after 1, 2, 4, 8 ... slices. */
	if ((k->n_slices & (k->n_slices - 1)) == 0 && a.version != req->generated.known)
		r = write_table(out_fd, map, &a);
	a.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
	return r < 0 ? r : write_all(out_fd, &a, sizeof(a), 0);
}

void files_jit_serve(const struct files_request *req, int fd, int out_fd,
		     struct files_writer *reply)
{
	struct files_reply_head head = { .file_id = req->file_id,
					 .seq = req->seq,
					 .status = FILES_GONE,
					 .kind = FILES_GENERATED };
	struct kept *k = NULL;
	uint64_t format = req->generated.format;
	int r = 0;

	if (fd >= 0 && out_fd >= 0 && (format == JIT_PERF_MAP || format == JIT_DUMP)) {
		r = get(req->file_id, (enum jit_format)format, &k);
		if (r == 0)
			r = answer(fd, out_fd, k, req);
		if (r == 0)
			head.status = FILES_OK;
		else
			head.status = r == -ENOMEM || r == -EFBIG ? FILES_TOO_LARGE : FILES_BROKEN;
		if (k)
			account(k);
	}
	files_reply_begin(reply, &head);
}
