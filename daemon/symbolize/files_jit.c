/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_jit.c - what the worker does that reads of generated code: out of perf
 * maps and jitdump files, and out of the memory of JVMs.
 *
 * What it has read is kept, most recently used first: only what was added has to
 * be read the next time.
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
#include "hotspot/hotspot_memory.h"
#include "hotspot/hotspot_reader.h"
#include "jit/jit_map.h"
#include "jit_question.h"

_Static_assert(JIT_MAX_FRAMES >= HOTSPOT_MAX_HEAPS && JIT_WHY_MAX == HOTSPOT_WHY_MAX &&
		       FILES_OBJECTS_MAX >= HOTSPOT_N_SYMBOLS,
	       "what the reader gives fits into an answer");

struct kept {
	TAILQ_ENTRY(kept) link;
	uint64_t id;
	struct jit_reader *reader; /* of a file, or: */
	struct hotspot_reader *jvm;
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
	hotspot_reader_free(k->jvm);
	free(k);
}

static int add(uint64_t id, enum jit_format format, struct kept **ret)
{
	struct kept *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	k->id = id;
	if (format == JIT_HOTSPOT)
		r = hotspot_reader_new(&k->jvm);
	else
		r = jit_reader_new(format, &k->reader);
	if (r == 0)
		r = hash_set_u64(all.by_id, id, k);
	if (r < 0) {
		jit_reader_free(k->reader);
		hotspot_reader_free(k->jvm);
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
	k->bytes = k->jvm ? hotspot_reader_bytes(k->jvm) : jit_reader_bytes(k->reader);
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

/* ---- files ---- */

static int read_file(int fd, int out_fd, struct kept *k, const struct files_request *req,
		     struct jit_answer *a)
{
	const struct jit_read read = { .now_ns = req->generated.now_ns,
				       .since_ns = req->generated.since_ns,
				       .boot_offset_ns = req->generated.boot_offset_ns };
	const struct jit_map *map = jit_reader_map(k->reader);
	struct jit_read_result result;
	int r;

	r = jit_reader_read(k->reader, fd, &read, &result);
	if (r < 0)
		return r;
	a->flags = (result.is_complete ? JIT_ANSWER_COMPLETE : 0) |
		   (result.is_too_large ? JIT_ANSWER_TOO_LARGE : 0);
	a->refusal = result.refusal;
	a->version = jit_map_version(map);
	a->n_bad = result.n_bad;
	a->n_over_cap = result.n_over_cap;
	k->n_slices = result.is_complete ? 0 : k->n_slices + 1;
	/* Of a long reading so far: after 1, 2, 4, 8 ... slices. */
	if ((k->n_slices & (k->n_slices - 1)) == 0 && a->version != req->generated.known)
		r = write_table(out_fd, map, a);
	return r;
}

/* ---- JVMs ---- */

static ssize_t read_memory(void *ctx, void *dst, size_t len, uint64_t addr)
{
	return pread(*(const int *)ctx, dst, len, (off_t)addr);
}

static int write_frames(int out_fd, const struct hotspot_table *t, struct jit_answer *a)
{
	static const uint8_t zeroes[8];
	struct jit_frames_head head = { t->heap.start, t->heap.end, t->len };
	off_t at = (off_t)(sizeof(*a) + a->table_len + a->frames_len);
	size_t padding = -t->len & 7;
	int r;

	if (a->frames_len + sizeof(head) + t->len + padding > JIT_MAX_FRAMES_BYTES)
		return 0;
	r = write_all(out_fd, &head, sizeof(head), at);
	if (r == 0)
		r = write_all(out_fd, t->bytes, t->len, at + (off_t)sizeof(head));
	if (r == 0)
		r = write_all(out_fd, zeroes, padding, at + (off_t)(sizeof(head) + t->len));
	a->frames_len += sizeof(head) + t->len + padding;
	return r;
}

static int write_all_frames(int out_fd, const struct hotspot_reader *jvm, struct jit_answer *a)
{
	struct hotspot_table tables[HOTSPOT_MAX_HEAPS];
	static const uint8_t zeroes[8];
	size_t padding = -a->table_len & 7;
	int n, r;

	n = hotspot_reader_tables(jvm, tables);
	if (n <= 0)
		return n;
	r = write_all(out_fd, zeroes, padding, (off_t)(sizeof(*a) + a->table_len));
	a->frames_len = padding;
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = write_frames(out_fd, &tables[i], a);
		free(tables[i].bytes);
	}
	return r;
}

static int read_jvm(int fd, int out_fd, struct kept *k, const struct files_request *req,
		    struct jit_answer *a)
{
	const struct hotspot_read read = { .symbols = req->generated.symbols,
					   .since_ns = req->generated.since_ns,
					   .now_ns = req->generated.now_ns };
	struct hotspot_memory memory = { .read = read_memory, .ctx = &fd };
	struct hotspot_result result;
	int r;

	r = hotspot_reader_read(k->jvm, &memory, &read, &result);
	a->version = hotspot_reader_version(k->jvm);
	if (r == -EFAULT) {
		a->flags = JIT_ANSWER_COMPLETE | JIT_ANSWER_GONE;
		return 0;
	}
	if (r < 0)
		return r;
	a->flags = result.is_complete ? JIT_ANSWER_COMPLETE : 0;
	a->n_over_cap = result.is_over_cap;
	memcpy(a->why, result.why, sizeof(a->why));
	if (a->version != req->generated.known)
		r = write_table(out_fd, hotspot_reader_map(k->jvm), a);
	if (r == 0 && (a->flags & JIT_ANSWER_TABLE))
		r = write_all_frames(out_fd, k->jvm, a);
	return r;
}

/* ---- */

static int answer(int fd, int out_fd, struct kept *k, const struct files_request *req)
{
	const uint64_t before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct jit_answer a = { 0 };
	int r;

	r = k->jvm ? read_jvm(fd, out_fd, k, req, &a) : read_file(fd, out_fd, k, req, &a);
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

	if (fd >= 0 && out_fd >= 0 && format >= JIT_PERF_MAP && format <= JIT_HOTSPOT) {
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
