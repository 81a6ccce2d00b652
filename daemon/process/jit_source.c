/* SPDX-License-Identifier: Apache-2.0 */
/* jit_source.c - one file in which a process tells of its generated code. */
#include "process/jit_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "hotspot/hotspot_layout.h"
#include "log.h"
#include "process/jit_files.h"
#include "symbolize/jit_question.h"
#include "text.h"

/*
 * Between two readings of one file: they take the worker a twentieth of its time
 * at most. If the file is so large that this is too long for those who wait (one
 * of half a million functions), a tenth.
 */
#define MIN_INTERVAL_NS (250 * NS_PER_MS)
#define MAX_INTERVAL_NS NS_PER_SEC
#define INTERVAL_FACTOR 20
#define NO_WORKER_NS	(30 * NS_PER_SEC)
/* Of memory that did not change the last time: samples wait for so long. */
#define QUIET_INTERVAL_NS (500 * NS_PER_MS)

/* A JVM that begins is not ready at once; one that never is cannot be read. */
#define MAX_NOT_READY 20

/* Reading one file for the first time; a gigabyte of jitdump takes 512 slices. */
#define MAX_SLICES 4096

struct reading {
	struct jit_question q;
	struct jit_source *source; /* NULL: gone meanwhile, and `fd` is ours to close */
	int fd;
	struct jit_file_state state; /* as it was when this began */
	uint64_t began_ns;
	uint64_t version; /* of the table before */
	uint64_t cpu_ns;  /* of the worker, as it says */
	unsigned n_slices;
};

struct jit_source {
	struct symbolizer *sym;
	struct jit_source_config config;
	int fd;
	uint64_t id;
	struct jit_file_state state; /* as it was when what is known was read */
	bool was_read;
	uint64_t covered_ns; /* known is what was in the file up to here */
	uint64_t since_ns;   /* the last such moment, whether or not the table is still there */
	uint64_t next_ns;    /* not before */
	struct reading *reading;
	void *block;
	size_t block_len;
	struct jit_table table; /* in `block`, as are the frames */
	struct jit_frames frames;
	uint64_t symbols[HOTSPOT_N_SYMBOLS];
	unsigned n_not_ready;
	uint64_t n_readings;
	uint64_t version; /* the worker's, of `table` */
	uint64_t n_bad, n_over_cap;
	bool is_failed;
	struct jit_source_stats told;
};

static void on_done(struct jit_question *q, enum files_result result);

int jit_source_new(struct symbolizer *sym, int fd, const struct jit_source_config *config,
		   struct jit_source **ret)
{
	static uint64_t last_id;
	struct jit_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->sym = sym;
	s->config = *config;
	if (config->symbols)
		memcpy(s->symbols, config->symbols, sizeof(s->symbols));
	s->fd = fd;
	s->id = ++last_id;
	r = jit_files_state(fd, &s->state);
	if (r < 0) {
		jit_source_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void jit_source_drop_table(struct jit_source *s)
{
	if (s->block)
		munmap(s->block, s->block_len);
	s->block = NULL;
	s->block_len = 0;
	s->table = (struct jit_table){ 0 };
	s->frames = (struct jit_frames){ 0 };
	s->version = 0;
	s->was_read = false;
	s->covered_ns = 0;
}

void jit_source_free(struct jit_source *s)
{
	if (!s)
		return;
	jit_source_drop_table(s);
	if (s->reading) {
		s->reading->source = NULL;
		s->reading->fd = s->fd;
	} else {
		close(s->fd);
	}
	free(s);
}

/* ---- reading ---- */

static void reading_free(struct reading *r)
{
	if (r->q.batch.second_fd >= 0)
		close(r->q.batch.second_fd);
	if (!r->source)
		close(r->fd);
	free(r);
}

/* The worker writes to a file of its own each time. */
static int new_output(void)
{
	int fd = memfd_create("jit", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

static void ask(struct jit_source *s, struct reading *r)
{
	s->reading = r;
	r->q.batch.generated.known = s->version;
	r->q.batch.generated.now_ns = boot_ns();
	symbolizer_ask_generated(s->sym, &r->q);
}

static int begin(struct jit_source *s, uint64_t now_ns, const struct jit_file_state *state)
{
	struct reading *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->source = s;
	r->state = *state;
	r->began_ns = now_ns;
	r->version = s->version;
	r->q.done = on_done;
	r->q.batch.generated = (struct files_generated){
		.format = s->config.format,
		.since_ns = s->since_ns,
		.boot_offset_ns = (int64_t)asleep_ns() - s->config.timens_ns,
	};
	memcpy(r->q.batch.generated.symbols, s->symbols, sizeof(s->symbols));
	r->q.batch.file_id = s->id;
	r->q.batch.fd = s->fd;
	r->q.batch.second_fd = new_output();
	if (r->q.batch.second_fd < 0) {
		int err = r->q.batch.second_fd;

		reading_free(r);
		return err;
	}
	s->n_readings++;
	ask(s, r);
	return 0;
}

/* Nobody changes it any more; it is not larger than the largest table. */
static int map_output(int fd, void **ret, size_t *ret_len)
{
	struct stat st;
	void *p;

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ||
	    fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size == 0 || (uint64_t)st.st_size > JIT_ANSWER_MAX)
		return -EBADMSG;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	*ret_len = (size_t)st.st_size;
	return 0;
}

static void give_up(struct jit_source *s, const char *why)
{
	static const char *const what[] = { [JIT_PERF_MAP] = "its perf map",
					    [JIT_DUMP] = "its jitdump file",
					    [JIT_HOTSPOT] = "the code of its JVM" };

	s->is_failed = true;
	log_info("process %u: %s is not read on: %s; its generated code stays without names",
		 s->config.tgid, what[s->config.format], why);
}

/* The process has told what there is, and may tell anything. */
static void say_lacks(struct jit_source *s, const char *what)
{
	char text[JIT_WHY_MAX], why[JIT_WHY_MAX + 64];

	(void)text_printable(text, sizeof(text), what, strlen(what));
	snprintf(why, sizeof(why), "this JVM does not say where %s is", text);
	give_up(s, why);
}

static const char *refusal_text(uint32_t refusal)
{
	switch (refusal) {
	case JITDUMP_NOT_ONE:
		return "it is no jitdump file of version 1";
	case JITDUMP_BYTE_ORDER:
		return "it has the byte order of another machine";
	case JITDUMP_MACHINE:
		return "it is about code for another kind of processor";
	case JITDUMP_ARCH_TIMESTAMP:
		return "its times are not of the monotonic clock (tell the program to use that)";
	default:
		return "it has a broken record";
	}
}

/* Takes over the mapping. */
static int take_answer(struct jit_source *s, struct reading *r, void *block, size_t len,
		       bool *ret_complete)
{
	struct jit_answer a;
	struct jit_table table;
	struct jit_frames frames;

	if (jit_answer_check(block, len, &a, &table, &frames) < 0) {
		munmap(block, len);
		return -EBADMSG;
	}
	*ret_complete = a.flags & JIT_ANSWER_COMPLETE;
	r->cpu_ns += a.cpu_ns < MAX_INTERVAL_NS ? a.cpu_ns : MAX_INTERVAL_NS;
	s->n_bad = a.n_bad;
	s->n_over_cap = a.n_over_cap;
	if (a.flags & JIT_ANSWER_TABLE) {
		jit_source_drop_table(s);
		s->block = block;
		s->block_len = len;
		s->table = table;
		s->frames = frames;
		s->version = a.version;
	} else {
		munmap(block, len);
		if (*ret_complete && a.version != s->version && !(a.flags & JIT_ANSWER_GONE))
			return -ESTALE; /* the table was dropped meanwhile */
	}
	if ((a.flags & JIT_ANSWER_GONE) && !s->block && ++s->n_not_ready == MAX_NOT_READY)
		give_up(s, "its code cache cannot be found");
	if (a.why[0])
		say_lacks(s, a.why);
	else if (a.refusal && !s->is_failed)
		give_up(s, refusal_text(a.refusal));
	else if ((a.flags & JIT_ANSWER_TOO_LARGE) && *ret_complete && !s->is_failed)
		give_up(s, "it is too large");
	return 0;
}

static void finish(struct jit_source *s, struct reading *r)
{
	uint64_t interval_ns = MAX_INTERVAL_NS;

	if (r->cpu_ns < MAX_INTERVAL_NS / INTERVAL_FACTOR)
		interval_ns = r->cpu_ns * INTERVAL_FACTOR;
	if (interval_ns < MIN_INTERVAL_NS)
		interval_ns = MIN_INTERVAL_NS;
	if (s->config.format == JIT_HOTSPOT && s->version == r->version &&
	    interval_ns < QUIET_INTERVAL_NS)
		interval_ns = QUIET_INTERVAL_NS;
	s->state = r->state;
	s->was_read = true;
	s->covered_ns = s->since_ns = r->began_ns;
	s->next_ns = boot_ns() + interval_ns;
}

/* True: there is more of the file, and it is asked for. */
static bool read_on(struct jit_source *s, struct reading *r)
{
	int fd = ++r->n_slices < MAX_SLICES ? new_output() : -EFBIG;

	if (fd < 0)
		return false;
	close(r->q.batch.second_fd);
	r->q.batch.second_fd = fd;
	ask(s, r);
	return true;
}

/* Of the worker; `*ret_complete`: else there is more in the file. */
static int receive(struct jit_source *s, struct reading *r, bool *ret_complete)
{
	void *block = NULL;
	size_t len = 0;
	int err;

	err = map_output(r->q.batch.second_fd, &block, &len);
	if (err == 0)
		err = take_answer(s, r, block, len, ret_complete);
	if (err == -EBADMSG)
		symbolizer_distrust_generated(s->sym);
	return err;
}

/* Returns whether the reading goes on. */
static bool take_result(struct jit_source *s, struct reading *r, enum files_result result)
{
	bool is_complete = true;
	int err;

	switch (result) {
	case FILES_RESULT_OK:
		err = receive(s, r, &is_complete);
		if (err == 0 && !is_complete && read_on(s, r))
			return true;
		if (err == 0)
			finish(s, r);
		else if (err == -EBADMSG)
			give_up(s, "the worker that read it talks nonsense");
		else
			s->next_ns = boot_ns() + MIN_INTERVAL_NS; /* it is we who could not */
		return false;
	case FILES_RESULT_NO_WORKER:
		s->next_ns = boot_ns() + NO_WORKER_NS;
		return false;
	case FILES_RESULT_KILLER:
		give_up(s, "the worker that read it died or hung");
		return false;
	default:
		give_up(s, "it cannot be read");
		return false;
	}
}

static void on_done(struct jit_question *q, enum files_result result)
{
	struct reading *r = (struct reading *)q;
	struct jit_source *s = r->source;
	bool is_other;

	if (!s) {
		reading_free(r);
		return;
	}
	s->reading = NULL;
	if (take_result(s, r, result))
		return;
	is_other = s->version != r->version;
	reading_free(r);
	s->config.changed(s->config.ctx, s, is_other);
}

static bool same_content(const struct jit_file_state *a, const struct jit_file_state *b)
{
	return a->size == b->size && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
}

bool jit_source_is_current(struct jit_source *s, uint64_t time_ns)
{
	struct jit_file_state state;
	uint64_t now_ns;

	if (time_ns <= s->covered_ns || s->is_failed)
		return true;
	if (s->reading)
		return false;
	now_ns = boot_ns();
	if (jit_files_state(s->fd, &state) < 0) {
		give_up(s, "it is gone");
		return true;
	}
	if (s->was_read && s->config.format != JIT_HOTSPOT && same_content(&state, &s->state)) {
		s->covered_ns = s->since_ns = now_ns;
		return true;
	}
	if (now_ns < s->next_ns)
		return false;
	if (begin(s, now_ns, &state) < 0)
		s->next_ns = now_ns + MIN_INTERVAL_NS;
	/* Answered already: there is no worker. */
	return time_ns <= s->covered_ns || s->is_failed;
}

/* ---- questions ---- */

bool jit_source_find(const struct jit_source *s, uint64_t pc, uint64_t time_ns,
		     struct jit_name *ret)
{
	return s->block && jit_table_find(&s->table, pc, time_ns, ret);
}

const struct jit_frames *jit_source_frames(const struct jit_source *s)
{
	return s->frames.n ? &s->frames : NULL;
}

uint64_t jit_source_reading_for(const struct jit_source *s, uint64_t time_ns)
{
	bool is_in_this = s->reading && time_ns <= s->reading->began_ns;

	return s->n_readings + !is_in_this;
}

bool jit_source_is_failed(const struct jit_source *s)
{
	return s->is_failed;
}

uint64_t jit_source_newest(const struct jit_source *s)
{
	return s->table.head.newest_ns;
}

bool jit_source_is_file(const struct jit_source *s, const struct jit_file_state *state)
{
	return s->state.dev == state->dev && s->state.ino == state->ino;
}

size_t jit_source_bytes(const struct jit_source *s)
{
	return s->block_len;
}

void jit_source_take_stats(struct jit_source *s, struct jit_source_stats *ret)
{
	/* The worker counts from its own beginning: another one may have counted less. */
	*ret = (struct jit_source_stats){ .is_failed = s->is_failed && !s->told.is_failed };
	if (s->n_bad > s->told.n_bad)
		ret->n_bad = s->n_bad - s->told.n_bad;
	if (s->n_over_cap > s->told.n_over_cap)
		ret->n_over_cap = s->n_over_cap - s->told.n_over_cap;
	s->told = (struct jit_source_stats){ s->n_bad, s->n_over_cap, s->is_failed };
}
